"""Indexes of PDQ against brute force."""

import io
import random
import subprocess

import pytest

pytest.importorskip("threatexchange", reason="threatexchange is not installed")

from fpstore.threatexchange import PDQIndex, ServedPDQIndex


def flipped(random, signal, flips):
    bits = sum(1 << bit for bit in random.sample(range(256), flips))
    return f"{int(signal, 16) ^ bits:064x}"


def entries(random):
    """Signals of which several are equal, or near each other."""
    signals = [f"{random.randrange(16**64):064x}" for _ in range(300)]
    signals += [flipped(random, each, at % 40) for at, each in enumerate(signals)]
    return [(signal, {"number": number}) for number, signal in enumerate(signals + signals[:20])]


def expected(entries, query, threshold):
    distances = [(int(s, 16) ^ int(query, 16)).bit_count() for s, _ in entries]
    near = [(d, entry["number"]) for d, (_, entry) in zip(distances, entries) if d <= threshold]
    return sorted(near)


def found(index, query):
    matches = [(m.similarity_info.distance, m.metadata) for m in index.query(query)]
    assert [d for d, _ in matches] == sorted(d for d, _ in matches)
    return sorted((d, m["number"] if isinstance(m, dict) else int(m)) for d, m in matches)


@pytest.mark.parametrize("threshold", [0, 31, 52])
def test_an_index_finds_what_brute_force_does(threshold):
    source = random.Random(threshold)
    every = entries(source)
    index = PDQIndex(every[:400], threshold=threshold)
    for signal, entry in every[400:410]:
        index.add(signal, entry)
    index.add_all(every[410:])
    assert len(index) == len(every)
    stored = io.BytesIO()
    index.serialize(stored)
    stored.seek(0)
    loaded = PDQIndex.deserialize(stored)
    for signal, _ in every[::29]:
        for flips in (0, threshold, threshold + 1):
            query = flipped(source, signal, flips)
            assert found(index, query) == expected(every, query, threshold)
            assert found(loaded, query) == expected(every, query, threshold)
    index.dispose()
    assert found(loaded, every[0][0])


def test_an_index_begins_empty_and_takes_nothing_else():
    index = PDQIndex.build([])
    assert (len(index), index.query("0" * 64)) == (0, [])
    for wrong in ("", "0" * 32, "g" * 64, "0" * 65):
        with pytest.raises(ValueError, match="64 hexadecimal digits"):
            index.add(wrong, 1)
        with pytest.raises(ValueError, match="64 hexadecimal digits"):
            index.query(wrong)
    index.add("F" * 64, "upper case")
    assert [m.metadata for m in index.query("f" * 64)] == ["upper case"]


def test_a_served_index_finds_what_brute_force_does(tmp_path, program, serve):
    created = [program, "create", "live", "--bits", "256", "-k", "31", "--id-type", "text", "-q"]
    assert subprocess.run(created, cwd=tmp_path).returncode == 0
    source = random.Random(7)
    every = entries(source)
    one = ServedPDQIndex(serve("live", "--write"))
    one.add_all((signal, str(entry["number"])) for signal, entry in every[:-1])
    one.add(every[-1][0], str(every[-1][1]["number"]))
    stored = io.BytesIO()
    one.serialize(stored)
    stored.seek(0)
    other = ServedPDQIndex.deserialize(stored)
    for signal, _ in every[::43]:
        for flips in (0, 31, 32):
            query = flipped(source, signal, flips)
            assert found(other, query) == expected(every, query, 31)
