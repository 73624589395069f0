"""fpstore inside Apache Spark: fingerprints, near pairs, clusters and deduplication of data frames,
and stores in shards.

For PySpark 3.5 and 4. What Spark moves are columns of Arrow; all work on fingerprints is done by
native code in its Python workers.

In a data frame fingerprints of 32 bits are ``int``, of 64 ``bigint`` (their bits, whatever the sign
says), of 128 and 256 ``binary`` with the most significant byte first. Ids are ``bigint`` or
``string``. Rows without a fingerprint (null) are near nothing.

Everything is deterministic in its input, so that Spark may run a task again wherever it likes; ids
have to be the same then, so ``monotonically_increasing_id`` is none unless its result is written
first.

    from fpstore import spark as fps

    prints = fps.fingerprint(pages, text="body", recipe="simhash-64").persist()
    pairs = fps.near_pairs(prints, k=3, id="id")        # a, b, distance: each pair once
    fates = fps.dedup(pages, id="id", text="body")      # id, kept, distance, why
    shards = fps.pack_shards(prints, "s3://bucket/pages")
    found = fps.match(queries, "s3://bucket/pages", k=3)
"""

from ._dedup import dedup
from ._graph import clusters, components
from ._pairs import near_pairs
from ._report import Report
from ._shards import match, pack_shards
from ._text import fingerprint

__all__ = [
    "Report",
    "clusters",
    "components",
    "dedup",
    "fingerprint",
    "match",
    "near_pairs",
    "pack_shards",
]
