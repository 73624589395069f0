"""Ids of every kind, as Python has them."""

import uuid

import fpstore
import numpy as np
import pyarrow
import pytest


def test_names_belong_to_their_fingerprints(tmp_path):
    rng = np.random.default_rng(11)
    prints = rng.integers(0, 500, 3000, dtype=np.uint64)
    names = [f"https://{i % 17}.example/{i % 2500}" for i in range(3000)]
    model = {}
    for one, name in zip(prints.tolist(), names):
        model.setdefault(one, set()).add(name)
    inputs = {
        "list": names,
        "numpy": np.array(names),
        "object": np.array(names, dtype=object),
        "arrow": pyarrow.array(names),
        "large": pyarrow.array(names, pyarrow.large_string()),
        "view": pyarrow.array(names, pyarrow.string_view()),
    }
    for kind, ids in inputs.items():
        fpstore.pack(tmp_path / kind, prints, ids)
        store = fpstore.open(tmp_path / kind)
        assert store.id_kind == "text"
        for one in range(0, 500, 7):
            assert store.ids(one) == sorted(model.get(one, ()))
    queries = np.unique(prints)[:50]
    offsets, found, _, id_offsets, ids = store.search_batch(queries, k=0, ids=True)
    lists = [ids[a:b] for a, b in zip(id_offsets, id_offsets[1:])]
    assert lists == [sorted(model[one]) for one in found.tolist()]
    table = store.search_batch(queries, k=0, ids=True, arrow=True).to_pyarrow()
    assert table.column("ids").to_pylist() == [sorted(model[one]) for one in queries.tolist()]
    # As they come, and as they go.
    with fpstore.create(tmp_path / "living", ids="text") as writer:
        writer.insert_batch(prints, names)
        writer.insert(7, "seven")
        assert writer.check_and_insert(7, "again", 0) is not None
        assert writer.delete_id("seven") == 1
        writer.delete(int(prints[0]), names[0])
        with pytest.raises(ValueError, match="numbers of 64 bits"):
            writer.insert(8, 8)
    model[int(prints[0])].discard(names[0])
    living = fpstore.open(tmp_path / "living")
    assert all(living.ids(one) == sorted(names) for one, names in model.items())


def test_integers_of_any_type_are_ids(tmp_path):
    prints = np.arange(3, dtype=np.uint64)
    for kind in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"):
        most = int(np.iinfo(kind).max)
        ids = np.array([0, 5, most], dtype=kind)
        for form, given in (("numpy", ids), ("arrow", pyarrow.array(ids))):
            path = tmp_path / f"{kind}-{form}"
            fpstore.pack(path, prints, given)
            store = fpstore.open(path)
            assert [store.ids(i).tolist() for i in range(3)] == [[0], [5], [most]]
        if kind.startswith("i"):
            for given in (ids - most, pyarrow.array(ids - most)):
                with pytest.raises(ValueError, match="-[0-9]+ is no id: ids are 0 or greater"):
                    fpstore.pack(tmp_path / f"negative-{kind}", prints, given)
    fpstore.pack(tmp_path / "none", np.zeros(0, np.uint64), np.zeros(0, np.int64))


def test_ids_of_every_kind_come_back(tmp_path):
    kinds = {
        "uuid": [uuid.UUID(int=i << 100 | 7) for i in (3, 1, 2)],
        "number128": [1 << 100, 3, (1 << 128) - 1],
        "bytes:3": [b"abc", b"\x00\x00\x00", b"\xff\x01\x02"],
        "number": [5, 0, 1 << 63],
    }
    for kind, ids in kinds.items():
        path = tmp_path / kind
        fpstore.pack(path, np.full(3, 9, dtype=np.uint64), ids)
        store = fpstore.open(path)
        assert (store.id_kind, list(store.ids(9))) == (kind, sorted(ids))
        with fpstore.create(tmp_path / f"{kind} living", ids=kind) as writer:
            for one in ids:
                writer.insert(9, one)
        living = fpstore.open(tmp_path / f"{kind} living")
        assert list(living.ids(9)) == sorted(ids)
        queries = np.array([9], dtype=np.uint64)
        arrow = living.search_batch(queries, ids=True, arrow=True).to_pyarrow()
        given = {"uuid": lambda one: one.bytes, "number128": str}.get(kind, lambda one: one)
        assert arrow.column("ids").to_pylist() == [[given(one) for one in sorted(ids)]]
    # Keys of 16 bytes are UUIDs where the store has those.
    with fpstore.open_writer(tmp_path / "uuid") as writer:
        more = pyarrow.array([uuid.UUID(int=5).bytes], pyarrow.binary(16))
        writer.insert_batch(np.array([4], dtype=np.uint64), more)
    assert fpstore.open(tmp_path / "uuid").ids(4) == [uuid.UUID(int=5)]
    with pytest.raises(TypeError, match="an id is an int, str, uuid.UUID or bytes"):
        fpstore.pack(tmp_path / "floats", np.zeros(1, dtype=np.uint64), [1.5])
    with pytest.raises(ValueError, match='ids are .*"text"'):
        fpstore.create(tmp_path / "other", ids="strings")
