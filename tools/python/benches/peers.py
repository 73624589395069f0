r"""fpstore beside FAISS, usearch and datasketch, from Python on the same data, on one thread:
seconds to build, bytes in memory or on the disk, milliseconds per query (mean and 99th percentile
where queries are asked one by one), queries per second, recall of all matches within k.

    pip install faiss-cpu usearch datasketch
    python tools/python/benches/peers.py [--bits 64] [--count 20] [--radius 3]
    python tools/python/benches/peers.py --bits 256 --count 1e7 --radius 31 --clustered \
        --queries 200 --engines fpstore,flat,multi
    python tools/python/benches/peers.py --bits 256 --count 24 --nearest 10 --queries 100 \
        --engines fpstore,flat

--count is a number, or up to 40 its logarithm. With --clustered a third of the fingerprints lie in
clusters, within the radius of their centres, as in sets of image hashes; else all are uniform. Half
of the queries are stored ones with up to the radius of bits flipped; with --nearest all are random.
"""

import argparse
import ctypes
import os
import pathlib
import resource
import tempfile
import time

import fpstore
import numpy as np

ENGINES = ("fpstore", "flat", "multi", "usearch", "datasketch")

parser = argparse.ArgumentParser(
    description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
)
parser.add_argument("--bits", type=int, default=64, choices=[64, 128, 256])
parser.add_argument("--count", type=float, default=20)
parser.add_argument("--radius", type=int, default=3)
parser.add_argument("--queries", type=int, default=1000)
parser.add_argument(
    "--nearest", type=int, help="the nearest of so many instead of all within the radius"
)
parser.add_argument("--clustered", action="store_true")
parser.add_argument("--engines", default=",".join(ENGINES))
options = parser.parse_args()
engines = options.engines.split(",")

random = np.random.default_rng(2)
count = int(2**options.count if options.count <= 40 else options.count)
width, k = options.bits // 8, options.radius


def flipped(row, most):
    """A row with up to so many bits flipped."""
    row = row.copy()
    for bit in random.choice(options.bits, random.integers(0, most + 1), replace=False):
        row[bit // 8] ^= np.uint8(1 << (bit % 8))
    return row


rows = random.integers(0, 256, (count, width), dtype=np.uint8)
if options.clustered:
    # Clusters of 2 to 40, whose members have up to half the radius of bits flipped.
    done, third = 0, count // 3
    while done < third:
        size = min(int(random.integers(2, 41)), third - done)
        masks = (random.random((size, options.bits)) < k / 3 / options.bits).astype(np.uint8)
        rows[done : done + size] = rows[done] ^ np.packbits(masks, axis=1)
        done += size
    rows = rows[random.permutation(count)]
near = 0 if options.nearest else options.queries // 2
queries = random.integers(0, 256, (options.queries, width), dtype=np.uint8)
for number, stored in enumerate(random.integers(0, count, near)):
    queries[number] = flipped(rows[stored], k)
queries = queries[random.permutation(len(queries))]


def resident():
    """Bytes of memory of this process, without what was given back."""
    ctypes.CDLL(None).malloc_trim(0)
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def tell(name, build, size, times, found, expected):
    """A line of the table; `times` are the seconds of each query, or of all in one."""
    asked = len(queries) if len(times) == 1 else len(times)
    tail = f"{1e3 * np.percentile(times, 99):10.4f}" if len(times) > 1 else " " * 10
    mean = 1e3 * sum(times) / asked
    print(
        f"{name:36}{build:9.1f} s{size / count:9.1f} B/hash{mean:10.4f}{tail} ms"
        f"{asked / sum(times):12,.0f} queries/s   recall {found / max(expected, 1):.4f}",
        flush=True,
    )


def timed(ask, queries):
    """What each query gave, and its seconds."""
    found, times = [], []
    for query in queries:
        start = time.perf_counter()
        found.append(ask(query))
        times.append(time.perf_counter() - start)
    return found, times


def with_fpstore(name, in_memory=False, **how):
    with tempfile.TemporaryDirectory() as directory:
        start = time.perf_counter()
        fpstore.pack(directory + "/store", rows, k=k, **how)
        build = time.perf_counter() - start
        size = sum(file.stat().st_size for file in pathlib.Path(directory + "/store").iterdir())
        store = fpstore.open(directory + "/store", in_memory=in_memory)
        asked = [query.tobytes() for query in queries]

        def nearest(query):
            return store.nearest(query, options.nearest, options.bits)

        def within(query):
            return store.search(query, k)

        ask = nearest if options.nearest else within
        # Others have touched their memory when they have built; this is on a disk until somebody
        # asks.
        [ask(query) for query in asked]
        found, times = timed(ask, asked)
        distances = [sorted(far.tolist()) for _, far in found]
        number = sum(map(len, distances))
        tell(f"fpstore{name}, one by one", build, size, times, number, number)
        if not options.nearest:
            start = time.perf_counter()
            batch = int(store.search_batch(queries, k, threads=1)[0][-1])
            tell(f"fpstore{name}, batch", build, size, [time.perf_counter() - start], batch, number)
        return distances


def with_faiss(name, make, expected):
    """An index of FAISS: what it finds is compared query by query."""
    before, start = resident(), time.perf_counter()
    index = make()
    index.add(rows)
    build, size = time.perf_counter() - start, resident() - before

    def nearest(query):
        return index.search(query[None], options.nearest)[0][0].tolist()

    def within(query):
        # Its ranges leave the end out.
        return sorted(index.range_search(query[None], k + 1)[1].astype(int).tolist())

    ask = nearest if options.nearest else within
    ask(queries[0])
    found, times = timed(ask, queries)
    same = sum(len(one) for one, other in zip(found, expected) if one == other)
    tell(name, build, size, times, same, sum(map(len, expected)))


expected = with_fpstore("")
if options.bits > 64:
    assert with_fpstore(" in memory", in_memory=True) == expected
if options.bits == 64 and "fpstore" in engines:
    assert with_fpstore(" quarters", design="quarters", block_bytes=256) == expected

if {"flat", "multi"} & set(engines):
    try:
        import faiss
    except ImportError:
        print("faiss is not installed")
    else:
        faiss.omp_set_num_threads(1)
        if "flat" in engines:
            with_faiss(
                "faiss IndexBinaryFlat", lambda: faiss.IndexBinaryFlat(options.bits), expected
            )
        # By the pigeonhole a match has at most k / hashes flips in one of the hashes. As many
        # hashes as fit, for one flip or none less.
        numbers = sorted({max(options.bits // 16, 1), max(options.bits // 24, 1)})
        for hashes in numbers if "multi" in engines and not options.nearest else ():
            bits, flips = options.bits // hashes, k // hashes

            def make(hashes=hashes, bits=bits, flips=flips):
                index = faiss.IndexBinaryMultiHash(options.bits, hashes, bits)
                index.nflip = flips
                return index

            with_faiss(f"faiss MultiHash {hashes} x {bits}, {flips} flips", make, expected)

if "usearch" in engines and not options.nearest:
    try:
        from usearch.index import Index, MetricKind, ScalarKind
    except ImportError:
        print("usearch is not installed")
    else:
        before, start = resident(), time.perf_counter()
        index = Index(ndim=options.bits, metric=MetricKind.Hamming, dtype=ScalarKind.B1)
        index.add(np.arange(count), rows, threads=os.cpu_count())
        build, size = time.perf_counter() - start, resident() - before
        found, times = timed(lambda query: index.search(query, 16, threads=1), queries)
        number = sum(int((one.distances <= k).sum()) for one in found)
        tell("usearch HNSW, 16 nearest", build, size, times, number, sum(map(len, expected)))
        del index

if "datasketch" in engines and not options.nearest:
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
        build, size = time.perf_counter() - start, resident() - before
        build, size = build * count / some, size * count / some
        own = rows[:200].copy()
        own[:, 0] ^= np.uint8(1)
        found, times = timed(lambda query: index.query(sketch(query)), own)
        hits = sum(number in one for number, one in enumerate(found))
        tell(f"datasketch LSH (of {some:,}, scaled)", build, size, times, hits, 200)
