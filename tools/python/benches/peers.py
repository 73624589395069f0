"""fpstore beside FAISS, usearch and datasketch, from Python on the same data: seconds to build, bytes in memory or on the disk,
queries per second, recall of all matches within k.

    pip install faiss-cpu usearch datasketch
    python tools/python/benches/peers.py [--bits 64] [--count 20] [--radius 3]
"""

import argparse
import os
import pathlib
import resource
import tempfile
import time

import numpy as np

import fpstore

parser = argparse.ArgumentParser()
parser.add_argument("--bits", type=int, default=64, choices=[64, 128, 256])
parser.add_argument("--count", type=int, default=20)
parser.add_argument("--radius", type=int, default=3)
parser.add_argument("--queries", type=int, default=1000)
options = parser.parse_args()

random = np.random.default_rng(2)
count, width, k = 1 << options.count, options.bits // 8, options.radius
rows = random.integers(0, 256, (count, width), dtype=np.uint8)
queries = rows[random.integers(0, count, options.queries)].copy()
for query in queries:
    for bit in random.choice(options.bits, random.integers(0, k + 1), replace=False):
        query[bit // 8] ^= np.uint8(1 << (bit % 8))


def resident():
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def tell(name, build, size, seconds, found, expected):
    recall = found / max(expected, 1)
    print(
        f"{name:34}{build:9.1f} s{size / count:9.1f} B/hash{options.queries / seconds:12,.0f} queries/s   recall {recall:.4f}",
        flush=True,
    )


def with_fpstore(plan):
    with tempfile.TemporaryDirectory() as directory:
        start = time.perf_counter()
        fpstore.pack(directory + "/store", rows, k=k)
        build = time.perf_counter() - start
        size = sum(file.stat().st_size for file in pathlib.Path(directory + "/store").iterdir())
        store = fpstore.open(directory + "/store")
        store.search_batch(queries[:10], k, threads=1)
        start = time.perf_counter()
        if plan == "one by one":
            found = sum(len(store.search(query.tobytes(), k)[0]) for query in queries)
        else:
            found = int(store.search_batch(queries, k, threads=1)[0][-1])
        seconds = time.perf_counter() - start
        tell(f"fpstore, {plan}", build, size, seconds, found, found)
        return found


expected = with_fpstore("one by one")
assert with_fpstore("batch") == expected

try:
    import faiss
except ImportError:
    print("faiss is not installed")
else:
    faiss.omp_set_num_threads(1)
    for name, make in [
        ("faiss IndexBinaryFlat", lambda: faiss.IndexBinaryFlat(options.bits)),
        ("faiss IndexBinaryMultiHash", lambda: faiss.IndexBinaryMultiHash(options.bits, max(options.bits // 16, 4), 16)),
    ]:
        before, start = resident(), time.perf_counter()
        index = make()
        if "Multi" in name:
            # Flips in each hash, by the pigeonhole.
            index.nflip = k // index.nhash
        index.add(rows)
        build, size = time.perf_counter() - start, resident() - before
        start = time.perf_counter()
        # Its ranges leave the end out.
        limits, _, _ = index.range_search(queries, k + 1)
        tell(name, build, size, time.perf_counter() - start, int(limits[-1]), expected)
        del index

try:
    from usearch.index import Index, MetricKind, ScalarKind
except ImportError:
    print("usearch is not installed")
else:
    before, start = resident(), time.perf_counter()
    index = Index(ndim=options.bits, metric=MetricKind.Hamming, dtype=ScalarKind.B1)
    index.add(np.arange(count), rows, threads=os.cpu_count())
    build, size = time.perf_counter() - start, resident() - before
    start = time.perf_counter()
    matches = index.search(queries, 16, threads=1)
    seconds = time.perf_counter() - start
    tell("usearch HNSW, 16 nearest", build, size, seconds, int((matches.distances <= k).sum()), expected)

try:
    from datasketch import MinHash, MinHashLSH
except ImportError:
    print("datasketch is not installed")
else:
    # It has no Hamming index: positions of ones are its sets, and its bands guess.
    some = min(count, 1 << 14)
    before, start = resident(), time.perf_counter()
    index = MinHashLSH(threshold=0.85, num_perm=64)

    def sketch(row):
        one = MinHash(num_perm=64)
        one.update_batch([bytes([bit]) for bit in np.flatnonzero(np.unpackbits(row)) % 256])
        return one

    for number in range(some):
        index.insert(number, sketch(rows[number]))
    build, size = (time.perf_counter() - start) * count / some, (resident() - before) * count / some
    own = rows[:200].copy()
    own[:, 0] ^= np.uint8(1)
    start = time.perf_counter()
    found = sum(number in index.query(sketch(query)) for number, query in enumerate(own))
    seconds = (time.perf_counter() - start) * options.queries / 200
    tell(f"datasketch LSH (of {some:,}, scaled)", build, size, seconds, found, 200)
