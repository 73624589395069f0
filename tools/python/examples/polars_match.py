"""Which of today's hashes are near one of yesterday's, in polars."""

import tempfile

import fpstore
import numpy as np
import polars as pl

random = np.random.default_rng(4)
yesterday = pl.DataFrame({"hash": random.integers(0, 2**64, 50_000, dtype=np.uint64)})
near = yesterday["hash"].to_numpy()[:20] ^ np.uint64(0b1001)
today = pl.DataFrame(
    {"hash": np.concatenate([near, random.integers(0, 2**64, 5_000, dtype=np.uint64)])}
)

with tempfile.TemporaryDirectory() as directory:
    path = directory + "/yesterday"
    fpstore.pack(path, yesterday["hash"], k=3)
    store = fpstore.open(path)
    offsets, fingerprints, distances = store.search_batch(today["hash"])

counts = np.diff(offsets.astype(np.int64))
matches = pl.DataFrame(
    {
        "hash": today["hash"].to_numpy().repeat(counts),
        "match": fingerprints,
        "distance": distances,
    }
)
print(matches)
assert matches.height == 20
