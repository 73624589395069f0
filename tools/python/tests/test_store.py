"""Stores against brute force in numpy, for every width."""

import datetime
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import fpstore
import numpy as np
import pytest

WIDTHS = [32, 64, 128, 256]


def uniform(seed, bits, count):
    """Random fingerprints as an array of bytes, some of them near others."""
    random = np.random.default_rng(seed)
    rows = random.integers(0, 256, (count, bits // 8), dtype=np.uint8)
    for i in range(count // 4):
        rows[count // 2 + i] = rows[i]
        for bit in random.integers(0, bits, random.integers(0, 6)):
            rows[count // 2 + i, bit // 8] ^= np.uint8(1 << (bit % 8))
    return rows


def native(rows):
    """As results have them."""
    bits = rows.shape[1] * 8
    if bits > 64:
        return np.ascontiguousarray(rows)
    return np.ascontiguousarray(rows).view(f">u{bits // 8}").astype(f"uint{bits}").reshape(-1)


def number(row):
    return int.from_bytes(bytes(row), "big")


def numbers_of(column):
    """The fingerprints of a column of Arrow as numbers."""
    return [one if isinstance(one, int) else number(one) for one in column.to_pylist()]


def distances(rows, row):
    return np.unpackbits(rows ^ row, axis=1).sum(axis=1)


def expected(rows, row, k):
    """(distance, number) of each match, in order."""
    far = distances(rows, row)
    return sorted({(int(far[i]), number(rows[i])) for i in np.flatnonzero(far <= k)})


def as_list(found):
    fingerprints, far = found
    assert far.dtype == np.uint16
    if fingerprints.ndim == 2:
        return [(int(d), number(row)) for row, d in zip(fingerprints, far)]
    return [(int(d), int(f)) for f, d in zip(fingerprints, far)]


@pytest.mark.parametrize("bits", WIDTHS)
def test_searches_are_exact(tmp_path, bits):
    rows = uniform(bits, bits, 2000)
    path = tmp_path / "store"
    summary = fpstore.pack(path, native(rows), k=bits // 16)
    assert summary["distinct"] == len({bytes(row) for row in rows})
    store = fpstore.open(path)
    assert (store.bits, store.radius, len(store)) == (bits, bits // 16, summary["distinct"])
    queries = np.concatenate([rows[:20], uniform(bits + 1, bits, 10)])
    for k in [0, 3, bits // 8]:
        wanted = [expected(rows, query, k) for query in queries]
        for query, want in zip(queries, wanted):
            assert as_list(store.search(number(query), k)) == want
            assert as_list(store.search(bytes(query), k)) == want
            assert store.any_within(number(query), k) == bool(want)
            assert as_list(store.nearest(number(query), 3, k)) == want[:3]
        for given in [native(queries), queries]:
            offsets, fingerprints, far = store.search_batch(given, k)
            assert offsets.dtype == np.uint64 and offsets[0] == 0
            for i, want in enumerate(wanted):
                part = slice(int(offsets[i]), int(offsets[i + 1]))
                assert as_list((fingerprints[part], far[part])) == want
    assert number(rows[3]) in store and bytes(rows[3]) in store
    assert np.array_equal(store.fingerprints(), np.unique(native(rows), axis=0))


@pytest.mark.parametrize("bits", WIDTHS)
def test_joins_and_clusters_are_exact(tmp_path, bits):
    rows = np.unique(uniform(bits, bits, 600), axis=0)
    fpstore.pack(tmp_path / "a", native(rows), k=4)
    fpstore.pack(tmp_path / "b", native(rows[:50]), k=4)
    a, b = fpstore.open(tmp_path / "a"), fpstore.open(tmp_path / "b")

    def pairs(table):
        ends = [numbers_of(table.column(name)) for name in ["a", "b"]]
        return sorted(zip(*ends, table.column("distance").to_pylist()))

    within = []
    for row in rows:
        far = distances(rows, row)
        within += [(number(row), number(rows[j]), int(far[j])) for j in np.flatnonzero(far <= 4)]
    ascending = sorted(pair for pair in within if pair[0] < pair[1])
    assert pairs(a.self_join(4).to_pyarrow()) == ascending
    some = {number(row) for row in rows[:50]}
    assert pairs(a.join(b, 4).to_pyarrow()) == sorted(pair for pair in within if pair[1] in some)

    table = a.dedup(4).to_pyarrow()
    assert table.num_rows == len(rows)
    assert table.column_names == ["fingerprint", "cluster", "representative", "kept"]
    fingerprints = numbers_of(table.column("fingerprint"))
    cluster = dict(zip(fingerprints, table.column("cluster").to_pylist()))
    assert all(cluster[x] == cluster[y] for x, y, _ in within)
    assert sum(table.column("kept").to_pylist()) == len(set(cluster.values()))


def test_ids_belong_to_their_fingerprints(tmp_path):
    hashes = np.array([7, 3, 7, 9], dtype=np.uint64)
    fpstore.pack(tmp_path / "store", hashes, ids=np.array([10, 11, 12, 13], dtype=np.uint64))
    store = fpstore.open(tmp_path / "store")
    assert store.has_ids
    assert store.ids(7).tolist() == [10, 12] and store.ids(8).tolist() == []
    queries = np.array([3, 9], dtype=np.uint64)
    _, fingerprints, _, id_offsets, ids = store.search_batch(queries, 2, ids=True)
    for i in range(len(fingerprints)):
        own = ids[int(id_offsets[i]) : int(id_offsets[i + 1])]
        assert own.tolist() == store.ids(fingerprints[i]).tolist()
    with pytest.raises(ValueError, match="4 fingerprints and 1 ids"):
        fpstore.pack(tmp_path / "other", hashes, ids=np.array([1], dtype=np.uint64))


@pytest.mark.parametrize("bits", WIDTHS)
def test_a_batch_as_arrow_is_the_batch_in_arrays(tmp_path, bits):
    rows = uniform(11, bits, 3000)
    ids = np.arange(3000, dtype=np.uint64) // np.uint64(2)
    fpstore.pack(tmp_path / "store", native(rows), ids=ids, k=4)
    store = fpstore.open(tmp_path / "store")
    # Of the queries in between many find nothing.
    queries = native(np.concatenate([uniform(12, bits, 500), rows[:1000], uniform(13, bits, 7)]))
    arrays = store.search_batch(queries, 4, ids=True, threads=3)
    offsets, fingerprints, far, id_offsets, own = arrays
    table = store.search_batch(queries, 4, ids=True, arrow=True).to_pyarrow()
    assert table.column_names == ["query", "fingerprint", "distance", "ids"]
    places = np.repeat(np.arange(len(queries)), np.diff(offsets.astype(int)))
    assert table.column("query").to_pylist() == places.tolist()
    plain = [bytes(one) for one in fingerprints] if bits > 64 else fingerprints.tolist()
    assert table.column("fingerprint").to_pylist() == plain
    assert table.column("distance").to_pylist() == far.tolist()
    lists = [own[a:b].tolist() for a, b in zip(id_offsets.astype(int), id_offsets.astype(int)[1:])]
    assert table.column("ids").to_pylist() == lists
    each = [store.ids(one if bits <= 64 else bytes(one)).tolist() for one in fingerprints]
    assert lists == each and max(map(len, lists)) > 1
    without = store.search_batch(queries, 4, arrow=True).to_pyarrow()
    assert without.equals(table.drop_columns("ids"))
    nothing = store.search_batch(queries[:0], 4, ids=True, arrow=True).to_pyarrow()
    assert nothing.num_rows == 0 and nothing.schema == table.schema


def test_large_answers_come_in_several_batches(tmp_path):
    """More matches of one query, and in all, than a batch of Arrow has rows."""
    low = np.arange(70_000, dtype=np.uint64)
    fpstore.pack(tmp_path / "store", low, ids=low[::-1].copy(), k=3)
    store = fpstore.open(tmp_path / "store")
    queries = np.array([2**63, 5, 2**63 + 2**40, 6], dtype=np.uint64)
    table = store.search_batch(queries, 17, ids=True, arrow=True).to_pyarrow()
    offsets, fingerprints, _, _, ids = store.search_batch(queries, 17, ids=True)
    assert table.num_rows == int(offsets[-1]) > 3 * 2**16 and table.column("query").num_chunks > 3
    places = np.repeat(np.arange(4), np.diff(offsets.astype(int)))
    assert np.array_equal(table.column("query").to_numpy(), places)
    assert np.array_equal(table.column("fingerprint").to_numpy(), fingerprints)
    assert table.column("ids").combine_chunks().values.to_pylist() == ids.tolist()
    assert np.array_equal(ids, 69_999 - fingerprints)


def test_chunks_are_packed_as_one_array(tmp_path):
    rows = native(uniform(5, 64, 5000))
    ids = np.arange(5000, dtype=np.uint64)
    fpstore.pack(tmp_path / "one", rows, ids=ids)
    pieces = ((rows[i : i + 700], ids[i : i + 700]) for i in range(0, 5000, 700))
    fpstore.pack(tmp_path / "many", pieces)
    one, many = fpstore.open(tmp_path / "one"), fpstore.open(tmp_path / "many")
    assert np.array_equal(one.fingerprints(), many.fingerprints())
    assert one.ids(int(rows[4999])).tolist() == many.ids(int(rows[4999])).tolist()
    empty = fpstore.pack(tmp_path / "none", iter([]), bits=256)
    assert empty["distinct"] == 0 and fpstore.open(tmp_path / "none").bits == 256


def test_arrow_is_read_and_written(tmp_path):
    pa = pytest.importorskip("pyarrow")
    rows = uniform(6, 256, 1000)
    parts = [[bytes(row) for row in part] for part in [rows[:300], rows[300:]]]
    column = pa.chunked_array([pa.array(part, pa.binary(32)) for part in parts])
    fpstore.pack(tmp_path / "wide", column, k=20)
    store = fpstore.open(tmp_path / "wide")
    assert np.array_equal(store.fingerprints(), np.unique(rows, axis=0))
    offsets, _, _ = store.search_batch(column.chunk(0).slice(5, 7), 0)
    assert len(offsets) == 8 and offsets[-1] == 7
    numbers = native(uniform(6, 64, 1000))
    ids = pa.array(np.arange(1000, dtype=np.uint64))
    fpstore.pack(tmp_path / "narrow", pa.array(numbers), ids=ids)
    assert np.array_equal(fpstore.open(tmp_path / "narrow").fingerprints(), np.unique(numbers))
    with pytest.raises(ValueError, match="1 nulls"):
        fpstore.pack(tmp_path / "x", pa.array([1, None], pa.uint64()))
    with pytest.raises(TypeError, match="give the column"):
        fpstore.pack(tmp_path / "x", pa.table({"fingerprint": numbers}))
    with pytest.raises(TypeError, match="type Utf8 has no fingerprints"):
        fpstore.pack(tmp_path / "x", pa.array(["a"]))


@pytest.mark.parametrize("bits", WIDTHS)
def test_a_row_of_an_array_is_a_fingerprint(tmp_path, bits):
    rows = uniform(7, bits, 600)
    path = tmp_path / "store"
    fpstore.pack(path, rows, k=3)
    store = fpstore.open(path)
    words = [] if bits < 64 else [rows.view(">u8").astype(np.uint64)]
    # Rows of arrays in other orders lie in pieces.
    for array in [rows, np.asfortranarray(rows), *words, *map(np.asfortranarray, words)]:
        for place in range(0, 600, 50):
            row = array[place]
            assert as_list(store.search(row, 5)) == expected(rows, rows[place], 5)
            assert as_list(store.nearest(row, 2)) == as_list(store.nearest(number(rows[place]), 2))
            assert store.contains(row) and row in store
    writer = fpstore.open_writer(path)
    new = rows[3] ^ 0xFF
    writer.insert(new)
    writer.delete(rows[4])
    writer.close()
    store.refresh()
    assert number(new) in store and number(rows[4]) not in store
    wide = np.zeros(2 * bits // 8, np.uint8)
    of_other_types = [rows[0].astype(np.uint16), rows[0].astype(float), np.zeros(5, np.uint64)]
    for bad in [rows, wide, rows[0][:-1], *of_other_types]:
        with pytest.raises(ValueError, match=f"is no fingerprint of {bits} bits"):
            store.search(bad, 3)
    if bits <= 64:
        # Without dimensions it is a number.
        scalar = np.array(number(rows[0]), np.uint64)
        assert number(rows[0]) in [one for _, one in as_list(store.search(scalar, 0))]


@pytest.mark.parametrize("bits", WIDTHS)
def test_arrays_in_pieces_are_copied(tmp_path, bits):
    rows = uniform(8, bits, 900)
    wider = np.concatenate([rows, rows], axis=1)
    ids = np.arange(1800, dtype=np.uint64)[::2]
    arrays = [
        np.asfortranarray(rows),
        rows[::-1],
        wider[:, bits // 8 :],
        np.repeat(rows, 2, axis=0)[::2],
    ]
    if bits >= 64:
        words = rows.view(">u8").astype(np.uint64)
        # In one piece, but at an odd address.
        behind = np.frombuffer(b"x" + words.tobytes(), np.uint8)[1:]
        arrays += [np.asfortranarray(words), behind.view(np.uint64).reshape(words.shape)]
    if bits <= 64:
        arrays.append(np.repeat(native(rows), 2)[::2])
    for number_of, array in enumerate(arrays):
        path = tmp_path / str(number_of)
        fpstore.pack(path, array, k=3, ids=ids)
        store = fpstore.open(path)
        assert np.array_equal(store.fingerprints(), np.unique(native(rows), axis=0))
        offsets, _, _ = store.search_batch(array[::3], 0)
        assert np.array_equal(offsets, np.arange(301))


def test_what_is_wrong_names_the_remedy(tmp_path):
    good = np.arange(10, dtype=np.uint64)
    path = tmp_path / "store"
    for bad, error, words in [
        (np.arange(10), TypeError, r"x\.view\('uint64'\)"),
        (np.arange(10, dtype=np.int32), TypeError, r"x\.view\('uint32'\)"),
        (np.arange(10, dtype=float), TypeError, r"x\.astype\('uint64'\)"),
        (good.astype(">u8"), TypeError, "byte order of the machine"),
        (np.zeros((4, 5), np.uint8), ValueError, r"shape \[4, 5\]"),
        (np.zeros((2, 2, 2), np.uint64), ValueError, "has no fingerprints"),
        ([1, 2], TypeError, r"numpy\.array\(list"),
        (None, TypeError, "NoneType"),
    ]:
        with pytest.raises(error, match=words):
            fpstore.pack(path, bad)
        assert not path.exists()
    with pytest.raises(ValueError, match="of 64 bits are given, and the store has 256"):
        fpstore.pack(path, good, bits=256)
    with pytest.raises(ValueError):
        fpstore.pack(path, good, design="nonsense")
    fpstore.pack(path, good)
    with pytest.raises(fpstore.ExistsError):
        fpstore.pack(path, good)
    store = fpstore.open(path)
    for one, error in [
        (-1, OverflowError),
        (2**64, OverflowError),
        (b"abc", ValueError),
        ("1", TypeError),
        (1.5, TypeError),
    ]:
        with pytest.raises(error):
            store.search(one)
    with pytest.raises(ValueError, match="from 0 to 64, not 65"):
        store.search(1, 65)
    with pytest.raises(fpstore.NotFoundError, match="nowhere"):
        fpstore.open(tmp_path / "nowhere")
    assert issubclass(fpstore.NotFoundError, fpstore.Error)


def test_damage_is_an_exception(tmp_path):
    path = tmp_path / "store"
    fpstore.pack(path, native(uniform(3, 64, 5000)))
    fpstore.open(path).verify()
    table = max(path.iterdir(), key=lambda file: file.stat().st_size)
    data = bytearray(table.read_bytes())
    data[len(data) // 2] ^= 1
    table.write_bytes(data)
    with pytest.raises(fpstore.CorruptError, match=table.name):
        fpstore.open(path).verify()


def test_a_writer_whose_store_was_moved(tmp_path):
    path, away = tmp_path / "store", tmp_path / "away"
    writer = fpstore.create(path, k=3)
    writer.insert(5, 1)
    writer.commit("immediate")
    path.rename(away)
    writer.insert(6, 2)
    with pytest.raises(fpstore.DisplacedError, match="moved"):
        writer.commit("immediate")
    del writer
    assert 5 in fpstore.open(away) and not path.exists()


def test_a_writer_and_its_readers(tmp_path):
    path = tmp_path / "living"
    rows = native(uniform(8, 64, 1000))
    with fpstore.create(path, k=3) as writer:
        writer.insert_batch(rows[:500], np.arange(500, dtype=np.uint64))
        writer.commit()
        store = fpstore.open(path)
        assert len(store) == len(np.unique(rows[:500]))
        near = writer.check_and_insert(int(rows[0]) ^ 1, 1000)
        assert (int(rows[0]), 1) in list(zip(near[0].tolist(), near[1].tolist()))
        assert writer.check_and_insert(0xFFFF0000FFFF0000, 1001) is None
        with pytest.raises(fpstore.BusyError):
            fpstore.open_writer(path)
        writer.delete(int(rows[1]))
        writer.delete_batch(rows[2:4])
        assert writer.delete_id(5) == 1
        writer.flush()
        writer.merge()
        assert store.search(0xFFFF0000FFFF0000, 0)[0].tolist() == []
        assert store.refresh() and not store.refresh()
        assert store.search(0xFFFF0000FFFF0000, 0)[0].tolist() == [0xFFFF0000FFFF0000]
        assert int(rows[1]) not in store and 0xFFFF0000FFFF0000 in store
        assert store.ids(0xFFFF0000FFFF0000).tolist() == [1001]
    with pytest.raises(ValueError, match="closed"):
        writer.insert(1, 1)
    with fpstore.open_writer(path, durability="immediate") as writer:
        writer.insert(5, 5)
    assert 5 in fpstore.open(path)
    assert fpstore.open(path).stat()["living"]["ids"]


def test_a_long_reader_sees_what_another_process_commits(tmp_path):
    path = tmp_path / "store"
    fpstore.create(path, k=3).close()
    store = fpstore.open(path, refresh_every=0.05)
    asleep = fpstore.open(path)
    write = """
import sys, fpstore
with fpstore.open_writer(sys.argv[1], durability="immediate") as writer:
    for line in sys.stdin:
        writer.insert(int(line), int(line))
        writer.commit()
        print("done", flush=True)
"""
    command = [sys.executable, "-c", write, str(path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, **pipes, text=True) as writer:
        for number in (1 << 20, 1 << 40, 1 << 60):
            queries = np.array([number], dtype=np.uint64)
            assert store.search(number, 0)[0].tolist() == []
            writer.stdin.write(f"{number}\n")
            writer.stdin.flush()
            assert writer.stdout.readline() == "done\n"
            time.sleep(0.06)
            # Whatever is asked first looks.
            if number == 1 << 20:
                assert store.search_batch(queries, 0)[1].tolist() == [number]
            elif number == 1 << 40:
                assert store.ids(number).tolist() == [number]
            assert store.search(number, 0)[0].tolist() == [number]
            assert asleep.search(number, 0)[0].tolist() == []
        writer.stdin.close()
        assert writer.wait() == 0
    for wrong in (-1, float("nan"), 1e300):
        with pytest.raises(ValueError, match="refresh_every is a number of seconds"):
            fpstore.open(path, refresh_every=wrong)


def test_insertions_have_a_time(tmp_path):
    with fpstore.create(tmp_path / "windows", k=3, window=3600.0) as writer:
        writer.insert(1, 1)
        writer.insert(1 << 20, 2, at=7200)
        writer.insert_batch(
            np.array([1 << 40], dtype=np.uint64),
            np.array([3], dtype=np.uint64),
            at=datetime.datetime.fromtimestamp(7300),
        )
        assert writer.check_and_insert(0xFFFF, 4, at=36_000.5) is None
        writer.flush()
        for wrong in (-1, 1e300, float("nan")):
            with pytest.raises(ValueError, match="at is a time from 1970 on"):
                writer.insert(5, 5, at=wrong)
        with pytest.raises(TypeError):
            writer.insert(5, 5, at="yesterday")
    segments = fpstore.open(tmp_path / "windows").stat()["segments"]
    begins = sorted(segment["window"] for segment in segments)
    assert begins[:2] == [7200, 36_000] and len(begins) == 3 and abs(begins[2] - time.time()) < 7200
    with fpstore.create(tmp_path / "none", k=3) as writer:
        with pytest.raises(ValueError, match="no windows"):
            writer.insert(1, 1, at=7200)


def test_stores_are_shared_by_threads_forks_and_pickles(tmp_path):
    rows = native(uniform(9, 64, 20_000))
    fpstore.pack(tmp_path / "store", rows)
    store = fpstore.open(tmp_path / "store")
    wanted = [store.search(int(row))[0].tolist() for row in rows[:200]]
    found = {}

    def work(name):
        found[name] = [store.search(int(row))[0].tolist() for row in rows[:200]]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert all(own == wanted for own in found.values()) and len(found) == 4
    copy = pickle.loads(pickle.dumps(store))
    assert copy.search(int(rows[0]))[0].tolist() == wanted[0]
    # How a store was opened comes with it.
    for how in [(False, 0, None), (True, 1 << 20, 0.5), (False, 1 << 30, 0.0)]:
        opened = fpstore.open(
            tmp_path / "store", in_memory=how[0], memory=how[1], refresh_every=how[2]
        )
        copy = pickle.loads(pickle.dumps(opened))
        assert copy.__reduce__()[1][1:] == how
        assert [copy.search(int(row))[0].tolist() for row in rows[:200]] == wanted
    child = os.fork()
    if child == 0:
        status = 1
        try:
            offsets, _, _ = store.search_batch(rows[:200])
            counts = np.diff(offsets.astype(int)).tolist()
            status = 0 if counts == [len(want) for want in wanted] else 1
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0


def test_progress_is_told_and_may_stop_the_work(tmp_path):
    rows = native(uniform(10, 64, 100_000))
    fpstore.pack(tmp_path / "store", rows)
    store = fpstore.open(tmp_path / "store")
    told = []
    while not told:
        # What is done within moments tells nothing.
        rows = np.concatenate([rows, rows])
        store.search_batch(rows, 12, limit=1, threads=1, progress=lambda *at: told.append(at))
    assert all(phase == "query" and done <= total for phase, done, total in told)

    def stop(*_):
        raise RuntimeError("enough")

    rows = np.concatenate([rows] * 8)
    with pytest.raises(RuntimeError, match="enough"):
        store.search_batch(rows, 12, limit=1, threads=1, progress=stop)


def test_ctrl_c_ends_a_long_call(tmp_path):
    rows = native(uniform(11, 64, 200_000))
    fpstore.pack(tmp_path / "store", rows, design="single")
    program = f"""
import fpstore, numpy, sys
store = fpstore.open({str(tmp_path / "store")!r})
print("ready", flush=True)
try:
    while True:
        store.search_batch(store.fingerprints(), 24, limit=1)
except KeyboardInterrupt:
    sys.exit(7)
"""

    # Who runs the tests may ignore the signal, as shells do for what they start in the background.
    def heed():
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    command = [sys.executable, "-c", program]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, preexec_fn=heed)
    process.stdout.readline()
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 7


def test_a_stream_that_nobody_reads_ends(tmp_path):
    rows = np.arange(200_000, dtype=np.uint64)
    fpstore.pack(tmp_path / "store", rows)
    store = fpstore.open(tmp_path / "store")
    before = threading.active_count()
    for _ in range(20):
        store.self_join(6)
    assert threading.active_count() == before


def test_plans_are_those_of_the_planner():
    for bits in WIDTHS:
        plans = fpstore.plan(10_000_000, 31 if bits == 256 else 3, bits=bits)
        assert sum(plan["recommended"] for plan in plans) == 1
        assert all(plan["bytes_per_fingerprint"] > bits / 64 for plan in plans)
        assert all(
            ("design" in plan) == (bits <= 64) and ("parts" in plan) == (bits > 64)
            for plan in plans
        )
    with pytest.raises(ValueError):
        fpstore.plan(10, 300, bits=256)


@pytest.mark.parametrize("bits", [32, 64])
def test_designs_are_those_of_the_width(tmp_path, bits):
    rows = uniform(14, bits, 2000)
    summary = fpstore.pack(tmp_path / "store", native(rows), design="halves", block_bytes=512)
    assert (summary["design"], summary["block_bytes"]) == ("halves", 512)
    store = fpstore.open(tmp_path / "store")
    assert as_list(store.search(int(native(rows)[3]), 3)) == expected(rows, rows[3], 3)
    with pytest.raises(ValueError, match="it is one of single, halves"):
        fpstore.pack(tmp_path / "other", native(rows), design="middles")


def test_short_tables_take_less_and_answer_the_same(tmp_path):
    rows = uniform(15, 64, 8000)
    whole = fpstore.pack(tmp_path / "whole", native(rows), design="quarters", block_bytes=512)
    short = fpstore.pack(tmp_path / "short", native(rows), design="quarters:short", block_bytes=512)
    assert short["distinct"] == whole["distinct"] and short["bytes"] < 0.75 * whole["bytes"]
    with fpstore.create(tmp_path / "living", ids=False, design="32,24:short") as writer:
        writer.insert_batch(native(rows))
        writer.flush()
    stores = [fpstore.open(tmp_path / name) for name in ["short", "living"]]
    queries = np.concatenate([rows[:20], uniform(16, 64, 10)])
    for k in [0, 3, 6, 12]:
        for query in queries:
            wanted = expected(rows, query, k)
            assert all(as_list(store.search(number(query), k)) == wanted for store in stores)
    assert stores[0].verify()["tables"] == 4
    assert stores[1].stat()["segments"][0]["design"] == "32,24"
    assert stores[1].stat()["bytes"] < 0.75 * whole["bytes"]
    for call in [
        lambda: fpstore.pack(tmp_path / "x", native(rows), design="parts:x"),
        lambda: fpstore.create(tmp_path / "x", bits=256, design="halves:short"),
        lambda: fpstore.pack(tmp_path / "x", native(rows), prefer="beauty"),
    ]:
        with pytest.raises(ValueError):
            call()
    assert not (tmp_path / "x").exists()


def test_the_defaults_are_enough_and_a_recipe_gives_its_distance(tmp_path):
    rows = uniform(17, 64, 20_000)
    fpstore.pack(tmp_path / "store", native(rows))
    assert fpstore.open(tmp_path / "store").stat()["radius"] == 3
    planned = []
    for prefer in ["size", "speed"]:
        # A hot index answers for so few, whatever the tables.
        summary = fpstore.pack(tmp_path / prefer, native(rows), prefer=prefer)
        assert summary["design"] == "single"
        best = [plan for plan in fpstore.plan(1 << 22, prefer=prefer) if plan["recommended"]]
        assert len(best) == 1
        planned.append(best[0]["store_bytes"])
    assert planned[0] < planned[1]
    wide = native(uniform(18, 256, 100))
    fpstore.pack(tmp_path / "by-recipe", wide, recipe="onebit-256")
    assert fpstore.open(tmp_path / "by-recipe").stat()["radius"] > 3
    fpstore.pack(tmp_path / "given", wide, recipe="onebit-256", k=5)
    assert fpstore.open(tmp_path / "given").stat()["radius"] == 5
    with fpstore.create(tmp_path / "living", bits=256, recipe="onebit-256") as writer:
        writer.insert_batch(wide, list(range(100)))
    assert fpstore.open(tmp_path / "living").stat()["radius"] > 3
