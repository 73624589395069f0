"""An exchange without any cluster: what is sent is kept in lists."""

import itertools
import pickle

import fpstore
import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")


def run(exchange, prints, ids=None, pieces=3):
    """Sends in pieces, joins task by task, and gives all pairs."""
    received = {}
    for some in np.array_split(np.arange(len(prints)), pieces):
        own = None if ids is None else ids[some]
        for table in range(exchange.tables):
            for batch in pa.RecordBatchReader.from_stream(exchange.send(table, prints[some], own)):
                for row, task in enumerate(batch.column("task").to_pylist()):
                    delivery = batch.slice(row, 1).select(["lane", "data"])
                    received.setdefault(task, []).append(delivery)
    assert max(received, default=0) < exchange.tasks
    pairs = []
    for batches in received.values():
        for batch in pa.RecordBatchReader.from_stream(exchange.pairs(batches, ids=ids is not None)):
            pairs += list(zip(*(column.to_pylist() for column in batch.columns)))
    return pairs


def some(count, seed):
    random = np.random.default_rng(seed)
    centres = random.integers(0, 2**64, 10, dtype=np.uint64)
    flips = np.uint64(1) << random.integers(0, 64, (3, count), dtype=np.uint64)
    return centres[random.integers(0, 10, count)] ^ flips[0] ^ flips[1] ^ flips[2]


def brute_force(prints, k):
    distances = np.bitwise_count(prints[:, None] ^ prints[None, :])
    a, b = np.nonzero(np.triu(distances <= k, 1))
    return {(int(i), int(j), int(distances[i, j])) for i, j in zip(a, b)}


def test_tasks_together_give_each_pair_once_also_of_heavy_cells():
    prints = np.concatenate([some(200, 1), some(40, 1)])
    ids = np.arange(240, dtype=np.uint64)
    census = fpstore.Census(4)
    census.add(prints)
    assert census.rows == 240
    for heavy in (None, census.heavy(0.02)):
        exchange = fpstore.Exchange(240, 4, tasks=20, heavy=heavy)
        assert (exchange.splits > 0) == (heavy is not None)
        assert len(exchange.loads) == exchange.tasks
        exchange = pickle.loads(pickle.dumps(exchange))
        found = run(exchange, prints, ids)
        assert len(found) == len(set(found)) and set(found) == brute_force(prints, 4)
        distinct = run(exchange, prints)
        expected = {
            (min(prints[a], prints[b]), max(prints[a], prints[b]), d)
            for a, b, d in brute_force(prints, 4)
            if d
        }
        assert len(distinct) == len(expected) and set(distinct) == expected


def test_the_comparisons_of_a_cluster_are_spread_over_tasks():
    flips = [
        sum(1 << bit for bit in places)
        for count in range(4)
        for places in itertools.combinations(range(64), count)
    ]
    cluster = np.array(flips, dtype=np.uint64) ^ np.uint64(0x0123_4567_89AB_CDEF)
    others = np.random.default_rng(5).integers(0, 2**64, 100_000, dtype=np.uint64)
    prints = np.concatenate([cluster, others])
    census = fpstore.Census(3)
    census.add(prints)
    exchange = fpstore.Exchange(len(prints), 3, tasks=24, heavy=census.heavy(2.0**-12))
    sent = {}
    for table in range(exchange.tables):
        for batch in pa.RecordBatchReader.from_stream(exchange.send(table, prints)):
            columns = [batch.column(name).to_pylist() for name in ("task", "lane", "rows")]
            for task, lane, rows in zip(*columns):
                sent.setdefault(task, {})[lane] = rows
    # All with all of a unit: of one lane, or of two that meet.
    of_split = [
        sum(rows * lanes.get(lane + 1, rows / 2) for lane, rows in lanes.items() if lane % 2 == 0)
        for lanes in sent.values()
        if len(lanes) > 1
    ]
    assert exchange.splits >= 4 and 24 < len(sent) <= 24 * 4
    assert len(of_split) > 24 and max(of_split) <= 3 * np.median(of_split)
    assert max(of_split) < len(cluster) ** 2 / 20


@pytest.mark.parametrize("tasks", [1, 40])
def test_what_is_sent_comes_in_batches(tasks):
    prints = np.random.default_rng(6).integers(0, 2**64, 1_500_000, dtype=np.uint64)
    ids = np.arange(len(prints), dtype=np.uint64)
    exchange = fpstore.Exchange(len(prints), 3, tasks=tasks)
    for table in range(exchange.tables):
        batches = list(pa.RecordBatchReader.from_stream(exchange.send(table, prints, ids)))
        sizes = [batch.column("data").nbytes for batch in batches]
        # As many as there are deliveries, or 4 MiB and the delivery that comes last.
        assert sum(sizes) >= 24_000_000
        if tasks == 1:
            assert len(batches) == 1
        else:
            assert len(batches) >= 3 and max(sizes) < 8 << 20
        got, lanes = [], []
        for batch in batches:
            lanes += batch.column("lane").to_pylist()
            columns = [batch.column(name).to_pylist() for name in ("rows", "data")]
            for rows, data in zip(*columns):
                numbers = np.frombuffer(data, dtype=">u8")
                got.append(numbers.reshape(2, rows).T)
        got = np.concatenate(got)
        got = got[np.argsort(got[:, 1])]
        assert len(set(lanes)) == len(lanes)
        assert np.array_equal(got[:, 0], prints) and np.array_equal(got[:, 1], ids)


def test_what_does_not_fit_is_refused():
    exchange, prints = fpstore.Exchange(10, 3), np.zeros(3, dtype=np.uint64)
    with pytest.raises(ValueError, match="there are 4 tables"):
        exchange.send(4, prints)
    with pytest.raises(ValueError, match="as many ids"):
        exchange.send(0, prints, prints[:2])
    with pytest.raises(ValueError, match="64 are given|of 64 bits"):
        fpstore.Exchange(10, 3, bits=128).send(0, prints)
    with pytest.raises(ValueError, match="parts cannot be 3"):
        fpstore.Exchange(10, 3, parts=3)
    with pytest.raises(ValueError, match="tasks cannot be 0"):
        fpstore.Exchange(10, 3, tasks=0)
    with pytest.raises(ValueError, match="no such cell"):
        fpstore.Exchange(10, 3, heavy=([9], [0], [5]))
    sent = list(pa.RecordBatchReader.from_stream(exchange.send(0, prints)))
    with pytest.raises(Exception, match="no records of 16 bytes"):
        pa.RecordBatchReader.from_stream(exchange.pairs(sent, ids=True)).read_all()
    with pytest.raises(ValueError, match='no column "lane"'):
        exchange.pairs([pa.record_batch({"data": [b""]})])
    lost = pa.record_batch({"lane": pa.array([1 << 20], pa.int32()), "data": pa.array([bytes(16)])})
    with pytest.raises(Exception, match="unit cannot be"):
        pa.RecordBatchReader.from_stream(exchange.pairs([lost])).read_all()
    lost = pa.record_batch({"lane": pa.array([-1], pa.int32()), "data": pa.array([bytes(8)])})
    with pytest.raises(ValueError, match="a lane cannot be -1"):
        exchange.pairs([lost])
