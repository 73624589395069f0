"""Indexes of PDQ for the ``threatexchange`` package, over a store: of this process, or of a server.

    from fpstore.threatexchange import PDQIndex          # in place of its own
    index = PDQIndex.build([("f8f8f0cee0f4a84f...", {"list": "a"})])
    index.query("f8f8f0cee0f4a84f...")

All that is within the threshold is found, at any size. `ServedPDQIndex` is the same over a store of
``fpstore serve``, which many processes share, so that nobody reloads anything; what it knows of an
entry is the id of the record.
"""

import itertools
import pathlib
import re
import tempfile

import numpy
from threatexchange.signal_type.index import (
    IndexMatchUntyped,
    SignalSimilarityInfoWithIntDistance,
    SignalTypeIndex,
)

from . import Client, _native

__all__ = ["PDQIndex", "ServedPDQIndex"]

#: Bits of a PDQ.
BITS = 256
#: The distance up to which two PDQ are of the same picture.
THRESHOLD = 31
# Entries that are taken together.
_AT_ONCE = 1 << 16

_PDQ = re.compile("[0-9a-fA-F]{64}")


def _bytes(signal):
    if not _PDQ.fullmatch(signal):
        raise ValueError(f"{signal!r} is no PDQ: these are 64 hexadecimal digits")
    return bytes.fromhex(signal)


def _pieces(entries):
    """Entries in lists of some, with their fingerprints as rows."""
    entries = iter(entries)
    while some := list(itertools.islice(entries, _AT_ONCE)):
        digits = b"".join(_bytes(signal) for signal, _ in some)
        yield numpy.frombuffer(digits, numpy.uint8).reshape(-1, BITS // 8), [e for _, e in some]


def _match(distance, entry):
    return IndexMatchUntyped(SignalSimilarityInfoWithIntDistance(int(distance)), entry)


class PDQIndex(SignalTypeIndex):
    """An index of PDQ in a store of its own, which goes with it.

    Entries may be anything; the store has their numbers. Memory: what they take, and what the store
    keeps for searches. Files: some 70 bytes for each PDQ, below `tempfile.gettempdir`.
    """

    def __init__(self, entries=(), *, threshold=THRESHOLD):
        super().__init__()
        self.threshold = threshold
        self._entries = []
        self._directory = tempfile.TemporaryDirectory(prefix="fpstore-pdq-")
        self._path = pathlib.Path(self._directory.name, "index")
        self._writer = None
        pieces = ((rows, self._take(some)) for rows, some in _pieces(entries))
        first = next(pieces, None)
        if first is None:
            _native.create(self._path, bits=BITS, k=threshold, ids="number").close()
        else:
            _native.pack(self._path, itertools.chain([first], pieces), k=threshold, bits=BITS)
        self._store = _native.open(self._path)

    @classmethod
    def build(cls, entries):
        """An index of these entries: pairs of a PDQ and of what is known of it."""
        return cls(entries)

    @classmethod
    def get_match_threshold(cls):
        """The distance up to which entries are found, where no other was given."""
        return THRESHOLD

    def __len__(self):
        return len(self._entries)

    def _take(self, entries):
        start = len(self._entries)
        self._entries.extend(entries)
        return numpy.arange(start, len(self._entries), dtype=numpy.uint64)

    def query(self, query):
        """The entries within the threshold, the nearest first."""
        found, distances = self._store.search(_bytes(query), self.threshold)
        return [
            _match(distance, self._entries[number])
            for fingerprint, distance in zip(found, distances)
            for number in self._store.ids(fingerprint.tobytes())
        ]

    def add(self, signal_str, entry):
        """Adds an entry; others of the same PDQ stay."""
        self.add_all([(signal_str, entry)])

    def add_all(self, entries):
        """Adds entries; searches find them when this returns."""
        for rows, some in _pieces(entries):
            if self._writer is None:
                self._writer = _native.open_writer(self._path, durability="eventual")
            self._writer.insert_batch(rows, self._take(some))
        if self._writer is not None:
            self._writer.commit("eventual")
            self._store.refresh()

    def dispose(self):
        """Deletes the store; the index cannot be used any more."""
        if self._writer is not None:
            self._writer.close()
        self._writer = self._store = None
        self._directory.cleanup()

    # A pickle has the PDQ of each entry, and the store is made of them again.

    def __getstate__(self):
        signals = [None] * len(self._entries)
        fingerprints = self._store.fingerprints()
        for fingerprint in fingerprints:
            digits = fingerprint.tobytes()
            for number in self._store.ids(digits):
                signals[number] = digits.hex()
        return {"threshold": self.threshold, "entries": list(zip(signals, self._entries))}

    def __setstate__(self, state):
        self.__init__(state["entries"], threshold=state["threshold"])


class ServedPDQIndex(SignalTypeIndex):
    """An index of PDQ in a store of ``fpstore serve``, for which it takes the same as `Client`.

    What is known of an entry is its id: a store of text takes any string. All processes see what
    one adds at once. A pickle has the address and no token: set `client` after loading it where
    the server wants one.
    """

    def __init__(self, url, store=None, *, threshold=THRESHOLD, **options):
        super().__init__()
        self.threshold = threshold
        self.client = Client(url, store, **options)
        self._place = (url, self.client.name)
        if self.client.bits != BITS:
            name, bits = self.client.name, self.client.bits
            raise ValueError(f"fingerprints of {name} have {bits} bits, not {BITS}")

    def __len__(self):
        return len(self.client)

    def query(self, query):
        """The ids of the entries within the threshold, the nearest first."""
        rows = numpy.frombuffer(_bytes(query), numpy.uint8).reshape(1, -1)
        found = self.client.search_batch(rows, self.threshold, ids=True)
        _, _, distances, offsets, ids = found
        return [
            _match(distance, entry)
            for place, distance in enumerate(distances)
            for entry in ids[int(offsets[place]) : int(offsets[place + 1])]
        ]

    @classmethod
    def build(cls, entries):
        raise NotImplementedError("the entries are those of the server: give its address, then add")

    def add(self, signal_str, entry):
        """Adds an entry, which is the id of the record."""
        self.client.insert(_bytes(signal_str), entry)

    def add_all(self, entries):
        """Adds entries; they are on the disk of the server when this returns."""
        for rows, some in _pieces(entries):
            self.client.insert_batch(rows, some)

    def __getstate__(self):
        return {"threshold": self.threshold, "place": self._place}

    def __setstate__(self, state):
        self.threshold, self._place = state["threshold"], state["place"]
        self.client = Client(*self._place)
