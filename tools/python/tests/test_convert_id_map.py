"""A store with an id map, as earlier versions wrote them, becomes a store with names."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fpstore

HERE = Path(__file__).parent
OLD = HERE / "id-map"


def convert(store, map, dest):
    command = [sys.executable, HERE.parent / "jobs" / "convert_id_map.py", store, map, dest]
    return subprocess.run(command, capture_output=True, text=True)


def test_numbers_become_the_strings_of_the_map(tmp_path):
    ran = convert(OLD / "store", OLD / "ids.fpm", tmp_path / "new")
    assert ran.returncode == 0, ran.stderr
    strings = (OLD / "ids.txt").read_text().split("\n")
    fingerprints = [int(line, 16) for line in (OLD / "store.hex").read_text().split()]
    ids = [[int(id) for id in line.split()] for line in (OLD / "store.ids").read_text().splitlines()]
    new = fpstore.open(tmp_path / "new")
    new.verify()
    assert (new.id_kind, new.radius, len(new)) == ("text", fpstore.open(OLD / "store").radius, len(fingerprints))
    for fingerprint, numbers in zip(fingerprints, ids, strict=True):
        assert new.ids(fingerprint) == sorted({strings[number] for number in numbers}, key=str.encode)


@pytest.mark.parametrize("place", ["header", "footer", "group", "end"])
def test_a_damaged_map_is_refused(tmp_path, place):
    bytes = bytearray((OLD / "ids.fpm").read_bytes())
    at = {"header": 9, "footer": len(bytes) - 20, "group": 40, "end": None}[place]
    if at is None:
        del bytes[-1:]
    else:
        bytes[at] ^= 1
    (tmp_path / "map").write_bytes(bytes)
    ran = convert(OLD / "store", tmp_path / "map", tmp_path / "new")
    assert ran.returncode == 1 and str(tmp_path / "map") in ran.stderr and "Traceback" not in ran.stderr
    assert not (tmp_path / "new").exists()


def test_a_store_with_names_needs_no_conversion(tmp_path):
    fpstore.pack(tmp_path / "named", np.array([1, 2], dtype=np.uint64), ["one", "two"])
    ran = convert(tmp_path / "named", OLD / "ids.fpm", tmp_path / "new")
    assert ran.returncode == 1 and "needs no conversion" in ran.stderr


def test_a_store_that_has_a_map_is_read_as_numbers_and_not_written(tmp_path):
    shutil.copytree(OLD / "store", tmp_path / "store")
    store = fpstore.open(tmp_path / "store")
    assert store.id_kind == "number"
    with pytest.raises(fpstore.UnsupportedError):
        fpstore.open_writer(tmp_path / "store")
