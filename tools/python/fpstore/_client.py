"""A store that ``fpstore serve`` holds, over HTTP."""

import http.client
import json
import select
import threading
import time
import urllib.parse
import uuid

import numpy

from ._native import BusyError, Error, NotFoundError, ResourceError, StoppedError, UnsupportedError

# Fingerprints of a request: some 64 KiB of digits, so that no limit of a server is met.
_AT_ONCE = 1000
# What the largest answer takes, and no more is read of anybody who is not this server.
_MOST_ANSWER = 1 << 30


class Client:
    """A store of a server, with the calls of `Store` and of `Writer`.

    ``url`` is that of the server, such as ``http://127.0.0.1:7878``; ``store`` the name of one of
    its stores, which may be left out where there is one only. ``token`` is one of the tokens that
    the server was started with. A call that takes longer than ``timeout`` seconds is a
    ``StoppedError``; until then it goes again where the server has too much to do.

    Any number of threads may use a client: each has a connection of its own. Searches see what was
    committed before they came; writes are on the disk when they return, or with
    ``durability="eventual"`` with the system. A search with more matches than the server gives is a
    ``ResourceError``, never a part of them.
    """

    def __init__(self, url, store=None, *, token=None, timeout=30.0, durability="immediate"):
        parts = urllib.parse.urlsplit(url if "//" in url else "//" + url, scheme="http")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{url!r} is no address; give one such as http://127.0.0.1:7878")
        if durability not in ("immediate", "eventual"):
            raise ValueError(f"durability {durability!r}; give immediate or eventual")
        self._secure, self._base = parts.scheme == "https", parts.path.rstrip("/")
        self._host, self._port = parts.hostname, parts.port
        self._token, self._timeout = token, timeout
        self._durable = "disk" if durability == "immediate" else "system"
        self._threads = threading.local()
        if store is None:
            stores = self._ask("GET", "/v1/stores")["stores"]
            if len(stores) != 1:
                names = ", ".join(sorted(each["name"] for each in stores))
                raise ValueError(f"{url} has several stores; name one of them: {names}")
            store = stores[0]["name"]
        self._path = "/v1/stores/" + urllib.parse.quote(store, safe="")
        self.name = store
        stat = self.stat()
        self._bits, self._radius, self._recipe = stat["bits"], stat["k"], stat.get("recipe")
        self._kind = None if stat["ids"] == "none" else stat["ids"]

    def __repr__(self):
        return f"<fpstore.Client of {self.name!r} at {self._host}:{self._port or ''}>"

    @property
    def bits(self):
        """The width of fingerprints."""
        return self._bits

    @property
    def radius(self):
        """The distance of searches that say none."""
        return self._radius

    @property
    def recipe(self):
        """How fingerprints were made, if the store knows."""
        return self._recipe

    @property
    def has_ids(self):
        """Whether records have ids."""
        return self._kind is not None

    @property
    def id_kind(self):
        """What ids are: ``"number"``, ``"text"``, ``"uuid"``, ``"number128"`` or ``"bytes"``."""
        return self._kind

    @property
    def generation(self):
        """The number of the state that is served."""
        return self.stat()["generation"]

    def __len__(self):
        return self.stat()["fingerprints"]

    def __contains__(self, fingerprint):
        return self.contains(fingerprint)

    def stat(self):
        """What is stored: ``fingerprints``, ``bytes``, ``segments``, ``generation`` and more."""
        return self._ask("GET", self._path)

    def contains(self, fingerprint):
        """Whether a fingerprint is stored."""
        return self.any_within(fingerprint, 0)

    def search(self, fingerprint, k=None):
        """Fingerprints and distances of what is within ``k``, by distance, then by value."""
        answer = self._post("search", fingerprint=self._digits(fingerprint), k=k, ids=False)
        return self._arrays(self._all(answer))

    def any_within(self, fingerprint, k=None):
        """Whether anything is within ``k``."""
        digits = self._digits(fingerprint)
        return bool(self._post("search", fingerprint=digits, k=k, ids=False, limit=1)["matches"])

    def nearest(self, fingerprint, n, k=None):
        """Fingerprints and distances of the ``n`` nearest of those within ``k``, or within the
        greatest distance that the server allows, which is ``stat()["most_k"]``."""
        digits = self._digits(fingerprint)
        answer = self._post("nearest", fingerprint=digits, count=n, k=k, ids=False)
        return self._arrays(answer["matches"])

    def ids(self, fingerprint):
        """The ids of a fingerprint in ascending order; none if it is not stored."""
        answer = self._post("search", fingerprint=self._digits(fingerprint), k=0, ids=True)
        found = [each for match in self._all(answer) for each in self._ids_of(match)]
        return numpy.array(found, numpy.uint64) if self._kind in (None, "number") else found

    def search_batch(self, queries, k=None, *, ids=False, limit=None):
        """Searches for many, as `Store.search_batch`: offsets, fingerprints, distances, and with
        ``ids`` id_offsets and ids of each match."""
        digits, answers = self._all_digits(queries), []
        for start in range(0, len(digits), _AT_ONCE):
            some = digits[start : start + _AT_ONCE]
            more = self._post("search-batch", fingerprints=some, k=k, ids=ids, limit=limit)
            answers.extend(more["answers"])
        if limit is None:
            matches = [self._all(answer) for answer in answers]
        else:
            matches = [answer["matches"] for answer in answers]
        offsets = numpy.zeros(len(matches) + 1, numpy.uint64)
        numpy.cumsum([len(some) for some in matches], out=offsets[1:])
        every = [match for some in matches for match in some]
        if not ids:
            return (offsets, *self._arrays(every))
        lists = [self._ids_of(match) for match in every]
        id_offsets = numpy.zeros(len(lists) + 1, numpy.uint64)
        numpy.cumsum([len(some) for some in lists], out=id_offsets[1:])
        flat = [each for some in lists for each in some]
        if self._kind in (None, "number"):
            flat = numpy.array(flat, numpy.uint64)
        return (offsets, *self._arrays(every), id_offsets, flat)

    def check_and_insert(self, fingerprint, id=None, k=None):
        """Inserts a record if nothing is within ``k``, and gives ``None``; else what is near."""
        answer = self._post(
            "check-and-insert",
            fingerprint=self._digits(fingerprint),
            id=self._id(id),
            k=k,
            ids=False,
            durable=self._durable,
        )
        return None if answer["inserted"] else self._arrays(self._all(answer))

    def insert(self, fingerprint, id=None):
        """Inserts a record."""
        self._write("insert", [(self._digits(fingerprint), id)])

    def insert_batch(self, fingerprints, ids=None):
        """Inserts records. If a call fails, a part of them may be there."""
        self._write("insert", self._records(fingerprints, ids))

    def delete(self, fingerprint, id=None):
        """Deletes a record, or a fingerprint with all of its ids."""
        self._write("delete", [(self._digits(fingerprint), id)])

    def delete_batch(self, fingerprints, ids=None):
        """Deletes records, or fingerprints with all of their ids."""
        self._write("delete", self._records(fingerprints, ids))

    def close(self):
        """Closes the connection of this thread."""
        connection = getattr(self._threads, "connection", None)
        if connection is not None:
            connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # Values.

    def _digits(self, fingerprint):
        if isinstance(fingerprint, numpy.ndarray):
            if fingerprint.ndim != 1 or fingerprint.dtype not in (numpy.uint8, numpy.uint64):
                raise ValueError("a row of uint8 or of uint64 is one fingerprint, nothing else")
            words = fingerprint.dtype == numpy.uint64
            fingerprint = (fingerprint.astype(">u8") if words else fingerprint).tobytes()
        if isinstance(fingerprint, memoryview) and fingerprint.itemsize > 1:
            raise ValueError("a memoryview of bytes is one fingerprint, not one of larger items")
        if isinstance(fingerprint, (bytes, bytearray, memoryview)):
            if 8 * len(fingerprint) != self._bits:
                count = len(fingerprint)
                raise ValueError(f"{count} bytes, and fingerprints have {self._bits} bits")
            return bytes(fingerprint).hex()
        number = fingerprint.__index__()
        if not 0 <= number < 1 << self._bits:
            raise ValueError(f"{number} has no place in the {self._bits} bits of a fingerprint")
        return f"{number:0{self._bits // 4}x}"

    def _all_digits(self, fingerprints):
        arrow = ("__arrow_c_array__", "__arrow_c_stream__")
        if any(hasattr(fingerprints, each) for each in arrow):
            import pyarrow

            if not isinstance(fingerprints, (pyarrow.Array, pyarrow.ChunkedArray)):
                fingerprints = pyarrow.chunked_array(fingerprints)
            fingerprints = fingerprints.to_pylist()
        if isinstance(fingerprints, numpy.ndarray) and fingerprints.ndim == 1:
            fingerprints = fingerprints.tolist()
        return [self._digits(each) for each in fingerprints]

    def _records(self, fingerprints, ids):
        digits = self._all_digits(fingerprints)
        if ids is None:
            return [(each, None) for each in digits]
        if hasattr(ids, "to_pylist"):
            ids = ids.to_pylist()
        ids = list(ids)
        if len(ids) != len(digits):
            raise ValueError(f"{len(digits)} fingerprints and {len(ids)} ids; give as many of both")
        return list(zip(digits, ids))

    def _id(self, value):
        if value is None or isinstance(value, str):
            return value
        if isinstance(value, (bytes, bytearray, memoryview)):
            return bytes(value).hex()
        if isinstance(value, uuid.UUID):
            return str(value)
        # All are strings on the way: other languages have numbers of 53 bits.
        return str(value.__index__())

    def _ids_of(self, match):
        if match.get("more_ids"):
            raise ResourceError(
                f"{match['fingerprint']} has more ids than the server gives; start it with a "
                "larger --most-matches"
            )
        of_text = {
            "text": str,
            "uuid": uuid.UUID,
            "bytes": bytes.fromhex,
        }.get(self._kind, int)
        return [of_text(each) for each in match.get("ids", ())]

    def _all(self, answer):
        if answer["more"]:
            raise ResourceError(
                f"more than {len(answer['matches'])} matches, which the server gives at most; ask "
                "for a smaller k, or start it with a larger --most-matches"
            )
        return answer["matches"]

    def _arrays(self, matches):
        digits = "".join(match["fingerprint"] for match in matches)
        if self._bits <= 64:
            kind = ">u8" if self._bits == 64 else ">u4"
            found = numpy.frombuffer(bytes.fromhex(digits), kind).astype(kind[1:])
        else:
            found = numpy.frombuffer(bytes.fromhex(digits), numpy.uint8)
            found = found.reshape(-1, self._bits // 8).copy()
        return found, numpy.array([match["distance"] for match in matches], numpy.uint16)

    def _write(self, what, records):
        for start in range(0, len(records), _AT_ONCE):
            some = []
            for digits, value in records[start : start + _AT_ONCE]:
                some.append({"fingerprint": digits})
                if value is not None:
                    some[-1]["id"] = self._id(value)
            self._post(what, records=some, durable=self._durable)

    # Requests.

    def _post(self, what, **fields):
        fields = {name: value for name, value in fields.items() if value is not None}
        # Numbers of numpy are no numbers to JSON.
        body = json.dumps(fields, default=lambda number: number.__index__()).encode()
        return self._ask("POST", f"{self._path}/{what}", body)

    def _connection(self, left):
        connection = getattr(self._threads, "connection", None)
        if connection is None:
            kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
            connection = self._threads.connection = kind(self._host, self._port)
        # A server closes what asks nothing for long. It must be known before a write is sent: it
        # cannot be told afterwards whether it was done.
        if connection.sock is not None and select.select([connection.sock], [], [], 0)[0]:
            connection.close()
        connection.timeout = left
        if connection.sock is not None:
            connection.sock.settimeout(left)
        return connection

    def _ask(self, method, path, body=None):
        end = time.monotonic() + self._timeout
        headers = {"Content-Type": "application/json"} if body is not None else {}
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        while True:
            left = end - time.monotonic()
            if left <= 0:
                raise StoppedError(f"{method} {path}: no answer within {self._timeout} s")
            connection = self._connection(left)
            try:
                connection.request(method, self._base + path, body, headers)
                response = connection.getresponse()
                content = response.read(_MOST_ANSWER + 1)
            except TimeoutError as error:
                connection.close()
                message = f"{method} {path}: no answer within {self._timeout} s"
                raise StoppedError(message) from error
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                place = f"{self._host}:{self._port or (443 if self._secure else 80)}"
                raise Error(f"{method} {path}: {place}: {error or type(error).__name__}") from error
            if len(content) > _MOST_ANSWER:
                connection.close()
                raise Error(f"{method} {path}: an answer of more than 1 GiB: ask for less at once")
            if response.status == 200:
                try:
                    return json.loads(content)
                except ValueError as error:
                    raise Error(f"{method} {path}: no JSON: is this `fpstore serve`?") from error
            wait = response.getheader("Retry-After")
            # It was refused before it was begun.
            if response.status == 429 and end - time.monotonic() > float(wait or 1):
                time.sleep(float(wait or 1))
                continue
            raise self._refused(response.status, content)

    @staticmethod
    def _refused(status, content):
        try:
            message = json.loads(content)["error"]["message"]
        except (ValueError, KeyError, TypeError):
            return Error(f"status {status}, and nothing that says why: is this `fpstore serve`?")
        kinds = {
            400: ValueError,
            401: PermissionError,
            403: PermissionError,
            404: NotFoundError,
            408: StoppedError,
            413: ValueError,
            422: ResourceError,
            429: BusyError,
            503: BusyError,
        }
        return kinds.get(status, UnsupportedError if status == 405 else Error)(message)
