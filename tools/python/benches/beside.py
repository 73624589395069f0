"""Python beside Rust: the same work on the same data in turns, medians of several rounds and their
ratio.

    cargo build --release --example beside_python
    python tools/python/benches/beside.py [--count 22] [--rounds 5]

--count is the logarithm of the number of fingerprints. The package must be a release build:
`pip install ./tools/python`.
"""

import argparse
import pathlib
import statistics
import subprocess
import tempfile
import time

import fpstore
import numpy as np

parser = argparse.ArgumentParser()
parser.add_argument("--count", type=int, default=22)
parser.add_argument("--rounds", type=int, default=5)
parser.add_argument("--rust", default="target/release/examples/beside_python")
options = parser.parse_args()

random = np.random.default_rng(1)
hashes = random.integers(0, 2**64, 1 << options.count, dtype=np.uint64)
queries = hashes[random.integers(0, len(hashes), 1_000_000)] ^ (
    np.uint64(1) << random.integers(0, 64, 1_000_000, dtype=np.uint64)
)


def pack(path):
    fpstore.pack(path, hashes, k=3, replace=True)


def batch(path):
    fpstore.open(path).search_batch(queries, 3)


def search(path):
    store = fpstore.open(path)
    for query in ints:
        store.search(query, 3)


def join(path):
    import pyarrow as pa

    reader = pa.RecordBatchReader.from_stream(fpstore.open(path).self_join(6))
    join.pairs = sum(batch.num_rows for batch in reader)


ints = [int(query) for query in queries[:20_000]]
with tempfile.TemporaryDirectory() as directory:
    directory = pathlib.Path(directory)
    hashes.tofile(directory / "hashes.u64")
    queries.tofile(directory / "queries.u64")
    # Ever the same number in the low half, and few differences in the other: nearly all pairs of a
    # row are near.
    high = np.arange(1 << 15, dtype=np.uint64)[:, None] << np.uint64(40)
    dense = (high | np.arange(64, dtype=np.uint64)).reshape(-1)
    fpstore.pack(directory / "dense", np.unique(dense)[: 1 << 17], k=3)
    rust = subprocess.Popen(
        [options.rust, directory], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )

    def ask(line):
        rust.stdin.write(line + "\n")
        rust.stdin.flush()
        return float(rust.stdout.readline())

    for what, own, name, each in [
        ("pack", pack, "store", len(hashes)),
        ("batch", batch, "store", len(queries)),
        ("search", search, "store", len(ints)),
        ("join", join, "dense", None),
    ]:
        times = {"rust": [], "python": []}
        for _ in range(options.rounds):
            times["rust"].append(ask(f"{what} {name}"))
            start = time.perf_counter()
            own(directory / name)
            times["python"].append(time.perf_counter() - start)
        rust_time, python_time = (statistics.median(times[side]) for side in ["rust", "python"])
        each = each or join.pairs
        print(
            f"{what:8}{each:>12,}  rust {rust_time:8.3f} s {rust_time / each * 1e6:9.3f} us each   "
            f"python {python_time:8.3f} s {python_time / each * 1e6:9.3f} us each   "
            f"ratio {python_time / rust_time:.3f}"
        )
    rust.stdin.close()
