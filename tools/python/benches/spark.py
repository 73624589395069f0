"""Spark on this machine: joins of growing sets, checked pair by pair against the join of one
machine, and beside what people do with Spark today.

    python spark.py scale 20 21 22 23 24     # near_pairs of 2^20 .. fingerprints: the table of
                                             # SPARK.md
    python spark.py peers 20 22 24           # near_pairs and a SQL join on four bands, and
                                             # MinHashLSH of 2^13: same data, same cluster
    python spark.py skew 20                  # 43,745 fingerprints within 3 flips of one among 2^20
    python spark.py batch 22 17 4            # 2^17 queries against 2^22 in 4 shards
    python spark.py devset FILE              # all fingerprints of a file of u64

Needs pyspark and Java; two executors of one core each, in processes of their own. Takes memory for
the set in one process, to check.
"""

import argparse
import itertools
import os
import pathlib
import statistics
import sys
import tempfile
import time

import fpstore
import numpy as np
import pyarrow as pa
import pyspark
from fpstore import spark as fps
from pyarrow import parquet
from pyspark.sql import SparkSession
from pyspark.sql import functions as F


def session(place, memory):
    """Two executors in processes of their own."""
    os.environ.setdefault("SPARK_HOME", str(pathlib.Path(pyspark.__file__).parent))
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.chdir(place)
    builder = SparkSession.builder.master(f"local-cluster[2,1,{memory}]")
    options = {
        "spark.executor.memory": f"{memory * 7 // 10}m",
        "spark.ui.enabled": "false",
        "spark.local.dir": place,
        "spark.driver.memory": "2g",
        "spark.ui.showConsoleProgress": "false",
    }
    for name, value in options.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    # Starts the workers.
    spark.range(100).repartition(2).mapInArrow(lambda batches: batches, "id bigint").count()
    return spark


def uniform(log2, seed=1):
    """Uniform fingerprints, of which a tenth is within three flips of another."""
    random = np.random.default_rng(seed)
    count = 1 << log2
    near = count // 10
    values = random.integers(0, 2**64, count, dtype=np.uint64)
    copies = values[random.integers(near, count, near)]
    for _ in range(3):
        flips = np.uint64(1) << random.integers(0, 64, near, dtype=np.uint64)
        copies ^= flips * random.integers(0, 2, near).astype(np.uint64)
    values[:near] = copies
    return random.permutation(values)


def stored(spark, place, name, values, pieces=8):
    """A data frame in Parquet files."""
    path = pathlib.Path(place) / name
    path.mkdir()
    for number, piece in enumerate(np.array_split(values, pieces)):
        ids = np.arange(len(piece)) + number * (len(values) // pieces + 1)
        table = pa.table({"id": pa.array(ids), "fingerprint": pa.array(piece.view(np.int64))})
        parquet.write_table(table, path / f"{number}.parquet")
    return spark.read.parquet(str(path))


def single(place, values, k):
    """The pairs of one machine, in order, and the seconds of pack and join with two threads."""
    started = time.monotonic()
    fpstore.pack(f"{place}/single", values, k=k, replace=True, threads=2)
    pairs = fpstore.open(f"{place}/single").self_join(k, threads=2).to_pyarrow()
    seconds = time.monotonic() - started
    return in_order(*(pairs.column(name).to_numpy() for name in ("a", "b", "distance"))), seconds


def in_order(a, b, distance):
    order = np.lexsort((b, a))
    return a[order], b[order], distance[order].astype(np.uint16)


def written(pairs, place, name):
    """Runs a join to Parquet; gives the seconds and the pairs in order."""
    started = time.monotonic()
    pairs.write.parquet(f"{place}/{name}")
    seconds = time.monotonic() - started
    table = parquet.read_table(f"{place}/{name}")
    columns = [table.column(of).to_numpy() for of in ("a", "b", "distance")]
    return in_order(columns[0].view(np.uint64), columns[1].view(np.uint64), columns[2]), seconds


def check(found, expected):
    if not all(np.array_equal(one, other) for one, other in zip(found, expected)):
        sys.exit("the pairs are not those of one machine")
    return len(expected[0])


def join(spark, place, values, k, **options):
    df, report = stored(spark, place, "input", values), fps.Report(spark)
    started = time.monotonic()
    pairs = fps.near_pairs(df, k=k, report=report, **options)
    counted = time.monotonic() - started
    found, seconds = written(pairs, place, "pairs")
    expected, alone = single(place, values, k)
    count = check(found, expected)
    print(
        f"{len(values):,} fingerprints, k = {k}: {count:,} pairs as on one machine; "
        f"{counted + seconds:.1f} s (one machine, pack and join: {alone:.1f} s)"
    )
    print(report)
    stages = {stage.name: stage for stage in report.stages()}
    sent, joined = stages["near_pairs: send"], stages["near_pairs: join"]
    count_ns = 1e9 * stages["near_pairs: count"].cpu / len(values) / 4
    send_ns, join_ns = 1e9 * sent.cpu / sent.rows_out, 1e9 * joined.cpu / joined.rows_in
    wall_ns = 2e9 * (counted + seconds) / sent.rows_out
    print(
        f"per row and table: count {count_ns:.1f} ns, send {send_ns:.1f} ns, "
        f"join {join_ns:.1f} ns; wall x 2 cores {wall_ns:.1f} ns"
    )
    tasks = [task for task in report.tasks() if task.stage == "near_pairs: join" and task.rows_in]
    for words, of in (("the clock", "seconds"), ("CPU", "cpu")):
        busy = sorted(getattr(task, of) for task in tasks)
        longest, median = busy[-1], statistics.median(busy)
        print(
            f"{len(tasks)} join tasks by {words}: longest {longest:.2f} s, "
            f"median {median:.2f} s, ratio {longest / median:.2f}",
            flush=True,
        )
    for task in sorted(tasks, key=lambda task: -task.seconds)[:3]:
        print(
            f"    {task.rows_in:,} rows, {task.rows_out:,} pairs: "
            f"{task.seconds:.2f} s by the clock, {task.cpu:.2f} s of CPU",
            flush=True,
        )


def scale(spark, place, sizes):
    for log2 in sizes:
        with tempfile.TemporaryDirectory(dir=place) as own:
            join(spark, own, uniform(log2), 3)


def skew(spark, place, sizes):
    flips = [
        sum(1 << bit for bit in some)
        for count in range(4)
        for some in itertools.combinations(range(64), count)
    ]
    cluster = np.array(flips, dtype=np.uint64) ^ np.uint64(0x0123_4567_89AB_CDEF)
    for log2 in sizes:
        with tempfile.TemporaryDirectory(dir=place) as own:
            values = np.concatenate([uniform(log2), cluster])
            join(spark, own, np.random.default_rng(2).permutation(values), 3, tasks=16)


def devset(spark, place, files):
    join(spark, place, np.fromfile(files[0], dtype=np.uint64), 3)


def bands(df):
    """What people write: four bands of 16 bits, and a join on them."""

    def band(number):
        value = F.shiftrightunsigned("fingerprint", 48 - 16 * number).bitwiseAND(0xFFFF)
        return F.struct(F.lit(number).alias("band"), value.alias("value"))

    values = F.array(*[band(number) for number in range(4)])
    rows = df.select("fingerprint", F.explode(values).alias("at"))
    rows = rows.select("fingerprint", "at.band", "at.value")
    one, other = rows.alias("one"), rows.alias("other")
    a, b = F.col("one.fingerprint"), F.col("other.fingerprint")
    distance = F.bit_count(a.bitwiseXOR(b))
    same = [F.col(f"one.{of}") == F.col(f"other.{of}") for of in ("band", "value")]
    near = one.join(other, [*same, a < b]).where(distance <= 3)
    return near.select(a.alias("a"), b.alias("b"), distance.alias("distance")).distinct()


def min_hash(df):
    """The bits of a fingerprint as a set of 64 of 128 elements: distance 3 is a Jaccard similarity
    of 61 in 67."""
    from pyspark.ml.feature import MinHashLSH
    from pyspark.ml.functions import array_to_vector

    def feature(at):
        has = F.getbit("fingerprint", F.floor(at / 2).cast("int")) == at % 2
        return F.when(has, 1.0).otherwise(0.0)

    bits = F.transform(F.sequence(F.lit(0), F.lit(127)), feature)
    vectors = df.select("fingerprint", array_to_vector(bits).alias("features"))
    lsh = MinHashLSH(inputCol="features", outputCol="hashes", numHashTables=4, seed=1)
    near = lsh.fit(vectors).approxSimilarityJoin(vectors, vectors, 6 / 67 + 1e-9)
    a, b = F.col("datasetA.fingerprint"), F.col("datasetB.fingerprint")
    distance = F.bit_count(a.bitwiseXOR(b))
    return near.where(a < b).select(a.alias("a"), b.alias("b"), distance.alias("distance"))


def peers(spark, place, sizes):
    # Executors that have just begun start workers and compile: not what is compared.
    with tempfile.TemporaryDirectory(dir=place) as own:
        df = stored(spark, own, "input", np.unique(uniform(16)))
        written(fps.near_pairs(df, k=3), own, "ours")
        written(bands(df), own, "bands")
    for log2, with_lsh in ((13, True), *((size, False) for size in sizes)):
        with tempfile.TemporaryDirectory(dir=place) as own:
            values = np.unique(uniform(log2))
            df = stored(spark, own, "input", values)
            expected, _ = single(own, values, 3)
            started = time.monotonic()
            found, _ = written(fps.near_pairs(df, k=3), own, "ours")
            seconds = time.monotonic() - started
            check(found, expected)
            rivals = [("SQL, four bands", bands)] + ([("MinHashLSH", min_hash)] if with_lsh else [])
            print(
                f"{len(values):,} fingerprints, {len(expected[0]):,} pairs within 3: "
                f"near_pairs {seconds:.1f} s, recall 1",
                flush=True,
            )
            for name, make in rivals:
                found, other = written(make(df), own, name.split(",")[0])
                # They compare numbers with a sign.
                a, b = np.minimum(found[0], found[1]), np.maximum(found[0], found[1])
                found = set(zip(a.tolist(), b.tolist()))
                pairs = list(zip(expected[0].tolist(), expected[1].tolist()))
                recall = sum(pair in found for pair in pairs) / len(pairs)
                print(
                    f"    {name}: {other:.1f} s ({other / seconds:.1f} times), recall {recall:.4f}",
                    flush=True,
                )


def batch(spark, place, sizes):
    stored_log2, queries_log2, shards = sizes
    values = uniform(stored_log2)
    df, report = stored(spark, place, "input", values), fps.Report(spark)
    started = time.monotonic()
    fps.pack_shards(df, f"{place}/shards", k=3, shards=shards, report=report)
    print(f"packed {len(values):,} in {shards} shards: {time.monotonic() - started:.1f} s")
    queries = values[: 1 << queries_log2] ^ np.uint64(0b101)
    asked = stored(spark, place, "queries", queries)
    started = time.monotonic()
    fps.match(asked, f"{place}/shards", 3, report=report).write.parquet(f"{place}/found")
    seconds = time.monotonic() - started
    found = parquet.read_table(f"{place}/found")
    fpstore.pack(f"{place}/single", values, k=3, threads=2)
    queries = np.unique(queries)
    offsets, others, far = fpstore.open(f"{place}/single").search_batch(queries, 3)
    expected = in_order(np.repeat(queries, np.diff(offsets.astype(np.int64))), others, far)
    a, b = (found.column(name).to_numpy().view(np.uint64) for name in ("query", "fingerprint"))
    answers = in_order(a, b, found.column("distance").to_numpy())
    if not all(np.array_equal(one, other) for one, other in zip(answers, expected)):
        sys.exit("the answers are not those of one machine")
    print(f"{len(queries):,} queries: {len(a):,} answers as on one machine, {seconds:.1f} s")
    for task in report.tasks():
        if task.stage == "match: answer" and task.rows_in:
            print(
                f"    a shard: {task.rows_in:,} queries, {task.rows_out:,} answers: "
                f"{task.seconds:.2f} s by the clock, {task.cpu:.2f} s of CPU"
            )
    print(report, flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    jobs = {"scale": scale, "peers": peers, "skew": skew, "batch": batch, "devset": devset}
    parser.add_argument("what", choices=tuple(jobs))
    parser.add_argument("arguments", nargs="*")
    parser.add_argument("--memory", type=int, default=2048, help="MiB of an executor")
    given = parser.parse_args()
    read = os.path.abspath if given.what == "devset" else int
    arguments = [read(argument) for argument in given.arguments]
    with tempfile.TemporaryDirectory(prefix="fpstore-spark-") as directory:
        cluster = session(directory, given.memory)
        jobs[given.what](cluster, directory, arguments)
        cluster.stop()
