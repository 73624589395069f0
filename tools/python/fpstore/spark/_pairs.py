"""All pairs of near fingerprints of a data frame."""

import functools
import statistics

import numpy as np
import pyarrow as pa

from .._native import Census, Exchange
from . import _frames as frames
from ._report import stage

#: Bytes of fingerprints and ids that are sent together. What is sent of a partition must not depend
#: on the order of its rows, since Spark fails a job whose stage has another output when it runs
#: again: so rows are sorted here, and where a partition has more, by Spark before, which takes
#: several times as long.
TOGETHER_BYTES = 1 << 26
#: Bytes of fingerprints and ids that a task receives, about.
TASK_BYTES = 1 << 25
#: Share of the rows of a partition from which on a census tells of a cell. What is passed over is
#: less than twice this share of all.
TOLD_SHARE = 2.0**-14


def near_pairs(
    df, fingerprint="fingerprint", k=3, id=None, *, bits=None, parts=None, tasks=None, report=None
):
    """All pairs of rows whose fingerprints are within Hamming distance k, each once.

    Gives a, b and distance: of pairs of distinct fingerprints the two, the smaller first (as
    unsigned numbers, or bytes); or, with `id`, of all pairs of rows their ids, the smaller first,
    rows with equal fingerprints included (n equal ones are n (n - 1) / 2 pairs: `dedup` takes such
    rows together first). Rows of the same id and fingerprint count once. Ids are bigint or string.

    Every row is sent k + 1 times, once for each part of its bits (`parts`: more parts, more tables
    with wider tops); pairs are found inside a task and need no `distinct`. `df` is read twice, to
    count and to send: persist it if it costs much. `tasks` is about how many tasks join, for 32 MiB
    of rows each unless it is given. `bits` (128, 256) of binary fingerprints spares a look at the
    first one.
    """
    bits = frames.bits_of(df, fingerprint, bits)
    if id is not None and frames.are_names(df, id):
        numbers = frames.numbers_of(df.where(df[fingerprint].isNotNull()).select(id))
        rows = frames.numbered(df.select(id, fingerprint), [id], numbers)
        options = dict(bits=bits, parts=parts, tasks=tasks, report=report)
        pairs = near_pairs(rows, fingerprint, k, id, **options)
        return frames.named(pairs, ["a", "b"], numbers)
    # Wrong arguments are refused here, and not by a task.
    tables = Exchange(0, k, bits=bits, parts=parts, tasks=tasks or 1).tables
    rows = frames.without_nulls(df, fingerprint, id)
    exchange, longest = _plan(rows, (k, bits, parts), tables, tasks, report)
    together = TOGETHER_BYTES // _row_bytes(rows, bits)
    if longest > together:
        rows = rows.sortWithinPartitions(*rows.columns)
    count = exchange.tasks
    sender = _Sender(
        exchange, bits, together, keys_of_partitions(count), stage(report, "near_pairs: send")
    )
    sent = rows.mapInArrow(sender, "key int, lane int, rows int, data binary")
    kind = "bigint" if id is not None else frames.TYPES[bits]
    joiner = _Joiner(exchange, id is not None, stage(report, "near_pairs: join"))
    return sent.repartition(count, "key").mapInArrow(joiner, f"a {kind}, b {kind}, distance int")


def _row_bytes(rows, bits):
    """Bytes of a row as it is sent."""
    return bits // 8 + (8 if "id" in rows.columns else 0)


def _plan(rows, arguments, tables, tasks, report):
    """Counts the rows, and says who joins what, and how many rows the longest partition has."""
    from pyspark.sql import functions as F

    k, bits, parts = arguments
    row_bytes = _row_bytes(rows, bits)
    counter = _Counter(arguments, stage(report, "near_pairs: count"))
    counted = rows.select("fingerprint").mapInArrow(counter, "of int, cell int, rows bigint")
    sums = [F.sum("rows").alias("rows"), F.max("rows").alias("most")]
    cells = counted.groupBy("of", "cell").agg(*sums).collect()
    count = sum(row.rows for row in cells if row.of < 0)
    # What the partitions did not tell of.
    hidden = int(count * TOLD_SHARE)
    heavy = sorted(
        (row.of, row.cell, row.rows + hidden) for row in cells if row.of >= 0 and row.rows >= hidden
    )
    if tasks is None:
        by_size = -(-count * tables * row_bytes // TASK_BYTES)
        tasks = max(2 * frames.parallelism(rows.sparkSession), by_size)
    heavy = tuple(list(column) for column in zip(*heavy)) if heavy else None
    exchange = Exchange(count, k, bits=bits, parts=parts, tasks=tasks, heavy=heavy)
    if report is not None:
        report.predicted = _predicted(exchange, count, row_bytes)
    return exchange, max((row.most for row in cells if row.of < 0), default=0)


def _predicted(exchange, count, row_bytes):
    loads = exchange.loads.tolist()
    return {
        "rows_in": count,
        "rows_sent": exchange.rows_sent,
        "amplification": exchange.rows_sent / max(count, 1),
        "bytes": exchange.rows_sent * row_bytes,
        "tasks": exchange.tasks,
        "splits": exchange.splits,
        "skew": max(loads) / max(statistics.median(loads), 1.0),
    }


class _Counter:
    """Counts the cells of a partition, and tells of those with many rows."""

    def __init__(self, arguments, stage):
        self.arguments, self.stage = arguments, stage

    def __call__(self, batches):
        k, bits, parts = self.arguments
        census, task = Census(k, bits=bits, parts=parts), self.stage.task()
        for batch in batches:
            census.add(frames.native(batch.column("fingerprint"), bits))
        task.rows_in = census.rows
        tables, cells, rows = census.heavy(TOLD_SHARE)
        columns = [
            pa.array(np.append(tables, -1).astype(np.int32)),
            pa.array(np.append(cells, -1).astype(np.int32)),
            pa.array(np.append(rows.astype(np.int64), census.rows)),
        ]
        task.rows_out = len(rows)
        task.done()
        yield pa.RecordBatch.from_arrays(columns, ["of", "cell", "rows"])


class _Sender:
    """Sends the rows of a partition to the tasks that join them."""

    def __init__(self, exchange, bits, together, keys, stage):
        self.exchange, self.bits, self.together = exchange, bits, together
        self.keys, self.stage = keys, stage

    def __call__(self, batches):
        task = self.stage.task()
        pieces = frames.together(batches, self.together)
        for prints, ids in map(functools.partial(in_order, bits=self.bits), pieces):
            task.rows_in += len(prints)
            for table in range(self.exchange.tables):
                for batch in frames.read(self.exchange.send(table, prints, ids)):
                    keys = pa.array(self.keys[batch.column("task").to_numpy()])
                    task.rows_out += batch.column("rows").to_numpy().sum(dtype=int).item()
                    task.bytes += batch.column("data").nbytes
                    yield pa.RecordBatch.from_arrays(
                        [keys, *batch.columns[1:]], ["key", *batch.schema.names[1:]]
                    )
        task.done()


class _Joiner:
    """Joins what a task has received."""

    def __init__(self, exchange, ids, stage):
        self.exchange, self.ids, self.stage = exchange, ids, stage

    def __call__(self, batches):
        task, received = self.stage.task(), []
        for batch in batches:
            task.rows_in += batch.column("rows").to_numpy().sum(dtype=int).item()
            task.bytes += batch.column("data").nbytes
            received.append(batch.select(["lane", "data"]))
        for pairs in frames.read(self.exchange.pairs(received, ids=self.ids)):
            task.rows_out += pairs.num_rows
            a, b, distance = pairs.columns
            if not self.ids:
                a, b = frames.spark(a), frames.spark(b)
            yield pa.RecordBatch.from_arrays(
                [a, b, distance.cast(pa.int32())], ["a", "b", "distance"]
            )
        task.done()


def in_order(rows, bits):
    """The fingerprints of rows, and their ids if they have some, in an order that does not depend
    on that of the rows. Copies rows once, and with ids twice."""
    prints = np.concatenate(
        [frames.array(chunk, bits) for chunk in rows.column("fingerprint").chunks]
    )
    if "id" not in rows.column_names:
        if bits <= 64:
            prints.sort()
            return prints, None
        return prints[np.lexsort(_columns(prints, bits))], None
    ids = np.concatenate([frames.unsigned(chunk).to_numpy() for chunk in rows.column("id").chunks])
    order = np.argsort(prints) if bits <= 64 else None
    if order is None or (prints[order[1:]] == prints[order[:-1]]).any():
        order = np.lexsort([ids, *_columns(prints, bits)])
    prints = prints[order]
    return prints, ids[order]


def _columns(prints, bits):
    """Numbers by which fingerprints come in order, by the last one first."""
    return [prints] if bits <= 64 else list(prints.view(">u8").T[::-1])


def keys_of_partitions(count):
    """For each of so many partitions a number that Spark's hash partitioning sends there: Murmur3
    of 32 bits with the seed 42, modulo the count.

    Were it wrong, or another hash, tasks would share partitions, and the answer would be the same.
    """
    keys, missing, start = np.full(count, -1, dtype=np.int32), count, 0
    while missing:
        numbers = np.arange(start, start + 4 * count, dtype=np.int32)
        start += len(numbers)
        partitions = _murmur3(numbers.view(np.uint32)).view(np.int32).astype(np.int64) % count
        found, first = np.unique(partitions, return_index=True)
        new = keys[found] < 0
        keys[found[new]] = numbers[first[new]]
        missing -= int(new.sum())
    return keys


def _murmur3(numbers):
    def rotate(x, by):
        return (x << np.uint32(by)) | (x >> np.uint32(32 - by))

    mixed = rotate(numbers * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)
    hashed = rotate(np.uint32(42) ^ mixed, 13) * np.uint32(5) + np.uint32(0xE6546B64)
    hashed ^= np.uint32(4)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        hashed = (hashed ^ (hashed >> np.uint32(shift))) * np.uint32(factor)
    return hashed ^ (hashed >> np.uint32(16))
