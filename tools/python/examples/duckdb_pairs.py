"""Joins a store with itself, and asks the pairs in SQL while they come."""

import tempfile

import duckdb
import fpstore
import numpy as np
import pyarrow as pa

random = np.random.default_rng(5)
hashes = random.integers(0, 2**64, 100_000, dtype=np.uint64)
hashes = np.concatenate([hashes, hashes[:300] ^ np.uint64(1), hashes[:200] ^ np.uint64(6)])

with tempfile.TemporaryDirectory() as directory:
    path = directory + "/pages"
    fpstore.pack(path, hashes, k=3)
    pairs = pa.RecordBatchReader.from_stream(fpstore.open(path).self_join(k=3))
    by_distance = duckdb.sql(
        "SELECT distance, count(*) AS pairs FROM pairs GROUP BY distance ORDER BY distance"
    )
    rows = by_distance.fetchall()

print(rows)
assert rows == [(1, 300), (2, 200), (3, 200)]
