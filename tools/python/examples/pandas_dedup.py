"""Removes near duplicates from a data frame of pandas: one row of each cluster stays."""

import random
import tempfile

import fpstore
import numpy as np
import pandas as pd

words = random.Random(3)
texts = [" ".join(f"w{words.randrange(5000)}" for _ in range(200)) for _ in range(2000)]
# The same but for the last word.
texts += [text.rsplit(" ", 1)[0] + " end" for text in texts[:100]]
frame = pd.DataFrame({"page": np.arange(len(texts), dtype=np.uint64), "text": texts})

recipe = fpstore.Recipe("simhash-64")
fingerprints, places = recipe.fingerprints(frame["text"].tolist())

with tempfile.TemporaryDirectory() as directory:
    path = directory + "/pages"
    fpstore.pack(path, fingerprints, ids=places, k=3, recipe=str(recipe))
    clusters = fpstore.open(path).dedup().to_pandas().set_index("fingerprint")

rows = frame.loc[places].assign(cluster=clusters.loc[fingerprints, "cluster"].to_numpy())
kept = rows.drop_duplicates("cluster")
print(f"{len(frame)} rows, {len(kept)} of them stay")
assert 2000 <= len(kept) < 2020
