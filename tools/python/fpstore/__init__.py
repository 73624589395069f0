"""A compressed on-disk store for near-duplicate fingerprints, with exact Hamming search.

A store holds fingerprints of 32, 64, 128 or 256 bits (SimHash of texts, perceptual hashes of
images) and answers exactly which of them lie within Hamming distance k of one.

    >>> import fpstore, numpy, tempfile
    >>> directory = tempfile.TemporaryDirectory()
    >>> path = directory.name + "/pages"
    >>> hashes = numpy.array([0b1011, 0b0011, 2**64 - 1], dtype=numpy.uint64)
    >>> fpstore.pack(path, hashes, k=3)["distinct"]
    3
    >>> store = fpstore.open(path)
    >>> fingerprints, distances = store.search(0b1010)
    >>> fingerprints.tolist(), distances.tolist()
    ([11, 3], [1, 2])

Arrays of fingerprints are ``uint32`` or ``uint64`` of shape (n,), and for 128 and 256 bits
``uint8`` of shape (n, bits / 8) with the most significant byte first. Whatever has
``__arrow_c_array__`` or ``__arrow_c_stream__`` (pyarrow, polars, pandas with Arrow, duckdb) is
taken as well: UInt32, UInt64, FixedSizeBinary. Arrays are read where they lie; what does
not lie in one piece is copied first. A single fingerprint is an ``int``, a number of numpy, or
``bytes``.

`dedup` says which of some texts are near duplicates, and `dedup_corpus` cleans files, Arrow streams
and data frames of them. `corpus_report` makes a page of HTML that shows what was removed of files,
and `corpus_decide` decides again about them with another distance, without reading them.

What one machine does not hold is joined, deduplicated and matched by Apache Spark: see
``fpstore.spark``. `Exchange` is what that is made of, for other frameworks that send rows by a key.
"""

from ._client import Client
from ._native import (
    ArrowStream,
    BusyError,
    Census,
    CorruptError,
    Deduplicated,
    DisplacedError,
    Error,
    Exchange,
    ExistsError,
    NotFoundError,
    Recipe,
    RecipeError,
    ResourceError,
    StoppedError,
    Store,
    UnsupportedError,
    Writer,
    corpus_decide,
    corpus_report,
    create,
    dedup,
    dedup_corpus,
    open,
    open_writer,
    pack,
    plan,
    simd_level,
)
from ._native import __version__ as __version__

__all__ = [
    "ArrowStream",
    "BusyError",
    "Census",
    "Client",
    "CorruptError",
    "Deduplicated",
    "DisplacedError",
    "Error",
    "Exchange",
    "ExistsError",
    "NotFoundError",
    "Recipe",
    "RecipeError",
    "ResourceError",
    "StoppedError",
    "Store",
    "UnsupportedError",
    "Writer",
    "corpus_decide",
    "corpus_report",
    "create",
    "dedup",
    "dedup_corpus",
    "open",
    "open_writer",
    "pack",
    "plan",
    "simd_level",
]


def _reopen(path, in_memory, memory, refresh_every):
    """Opens a store that was pickled."""
    return open(path, in_memory=in_memory, memory=memory, refresh_every=refresh_every)
