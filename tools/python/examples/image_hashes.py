"""Matches 256-bit hashes of images (as PDQ gives them, threshold 31) against a list of known
ones."""

import tempfile

import fpstore
import numpy as np

random = np.random.default_rng(6)
known = random.integers(0, 256, (20_000, 32), dtype=np.uint8)
# A picture that was scaled: 20 bits differ.
seen = known[123].copy()
for bit in random.choice(256, 20, replace=False):
    seen[bit // 8] ^= np.uint8(1 << (bit % 8))

with tempfile.TemporaryDirectory() as directory:
    path = directory + "/known"
    fpstore.pack(path, known, ids=np.arange(len(known), dtype=np.uint64), k=31)
    store = fpstore.open(path)
    fingerprints, distances = store.search(seen.tobytes())
    ids = store.ids(fingerprints[0].tobytes())

print(f"picture {ids[0]} is {distances[0]} bits away")
assert (ids[0], distances[0]) == (123, 20)
