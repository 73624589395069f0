"""Stores in shards: one for each range of fingerprints, on any file system that pyarrow reads."""

import json
import posixpath
import tempfile
import uuid

import numpy as np
import pyarrow as pa
from pyarrow import fs as arrow_fs

from .. import _native
from . import _frames as frames
from ._pairs import keys_of_partitions
from ._report import stage

#: The file that names the shards of a directory. It is written last, so that what it names is
#: whole.
MANIFEST = "shards.json"
#: Rows of a shard, about, unless their number is given.
SHARD_ROWS = 1 << 26
#: Queries that are sent together.
TOGETHER = 1 << 20

_SHARD = "name string, first binary, rows bigint, distinct bigint, bytes bigint"


def pack_shards(
    df,
    path,
    fingerprint="fingerprint",
    id=None,
    *,
    k=3,
    shards=None,
    bits=None,
    memory=None,
    replace=False,
    report=None,
):
    """Packs fingerprints as one store for each range of them, and writes a manifest of these
    shards; gives the manifest as a dict.

    `path` is a directory, or a URI that pyarrow knows (s3, gs, hdfs, file). With `id` the stores
    have ids: numbers of a ``bigint``, names of a ``string``. A shard is packed in the temporary
    directory of its worker and copied under a name of its own; the manifest, which comes last,
    names those that count. So tasks may run twice, and what an earlier call wrote is replaced in
    one step (`replace`). `shards` is their number: one for 2^26 rows unless it is given.
    """
    bits = frames.bits_of(df, fingerprint, bits)
    names = id is not None and frames.are_names(df, id)
    filesystem, root = file_system(path)
    before = _manifest(filesystem, root)
    if before is not None and not replace:
        raise _native.ExistsError(f"{path}: there are shards already; replace=True packs them anew")
    rows = frames.without_nulls(df, fingerprint, id)
    if shards is None:
        shards = -(-max(rows.count(), 1) // SHARD_ROWS)
    filesystem.create_dir(root, recursive=True)
    ordered = rows.repartitionByRange(shards, frames.ordered("fingerprint", bits))
    packer = _Packer(
        path, bits, k, (id is not None, names), memory, stage(report, "pack_shards: pack")
    )
    packed = ordered.mapInArrow(packer, _SHARD).collect()
    packed.sort(key=lambda shard: bytes(shard.first))
    manifest = {
        "format": "fpstore shards",
        "version": 1,
        "bits": bits,
        "k": k,
        "ids": id is not None,
        "shards": [
            {
                "name": shard.name,
                "first": bytes(shard.first).hex(),
                "rows": shard.rows,
                "distinct": shard.distinct,
                "bytes": shard.bytes,
            }
            for shard in packed
        ],
    }
    _replace(filesystem, root, json.dumps(manifest, indent=1).encode())
    named = {shard["name"] for shard in manifest["shards"]}
    for other in filesystem.get_file_info(arrow_fs.FileSelector(root)):
        # What a call before, or a task that ran twice, left.
        if other.base_name.startswith("shard-") and other.base_name not in named:
            filesystem.delete_dir(other.path)
    return manifest


def match(df, shards, k=3, fingerprint="fingerprint", *, bits=None, report=None):
    """Stored fingerprints within k of those of a data frame: query, fingerprint and distance, each
    once, by query, distance and fingerprint.

    `shards` is the directory, or URI, that `pack_shards` wrote. Every shard is opened by one task,
    where it lies if that is a local path that the worker sees, else copied to its temporary
    directory first; all distinct queries are sent to it, and answered together.
    """
    from pyspark.sql import functions as F

    bits = frames.bits_of(df, fingerprint, bits)
    filesystem, root = file_system(shards)
    manifest = _manifest(filesystem, root)
    if manifest is None:
        raise _native.NotFoundError(f"{shards}: there is no {MANIFEST}; pack_shards writes it")
    if manifest["bits"] != bits:
        raise ValueError(f"the queries have {bits} bits, and the shards {manifest['bits']}")
    kind, names = frames.TYPES[bits], [shard["name"] for shard in manifest["shards"]]
    # In order, so that what is sent is the same if a task runs again.
    queries = frames.without_nulls(df, fingerprint).distinct().sortWithinPartitions("fingerprint")
    count = max(len(names), 1)
    asker = _Asker(keys_of_partitions(count)[: len(names)], bits, stage(report, "match: send"))
    asked = queries.mapInArrow(asker, "key int, shard int, data binary").repartition(count, "key")
    answerer = _Answerer(shards, names, bits, k, stage(report, "match: answer"))
    found = asked.mapInArrow(answerer, f"query {kind}, fingerprint {kind}, distance int")
    return found.orderBy(
        frames.ordered("query", bits), F.col("distance"), frames.ordered("fingerprint", bits)
    )


def file_system(path):
    """The file system of a path or URI, and the path in it."""
    path = str(path)
    if "://" in path:
        return arrow_fs.FileSystem.from_uri(path)
    return arrow_fs.LocalFileSystem(), path


def _manifest(filesystem, root):
    place = posixpath.join(root, MANIFEST)
    if filesystem.get_file_info(place).type != arrow_fs.FileType.File:
        return None
    with filesystem.open_input_stream(place) as file:
        manifest = json.loads(file.read())
    if manifest.get("format") != "fpstore shards" or manifest.get("version") != 1:
        raise _native.UnsupportedError(f"{place}: no manifest of shards that this version reads")
    return manifest


def _replace(filesystem, root, text):
    """Writes the manifest, so that it is seen whole or not at all."""
    place = posixpath.join(root, MANIFEST)
    temporary = f"{place}.{uuid.uuid4().hex}"
    with filesystem.open_output_stream(temporary) as file:
        file.write(text)
    filesystem.move(temporary, place)


class _Packer:
    """Packs a partition, and copies the store to its place."""

    def __init__(self, path, bits, k, ids, memory, stage):
        self.path, self.bits, self.k = path, bits, k
        self.ids, self.memory, self.stage = ids, memory, stage

    def __call__(self, batches):
        task, low = self.stage.task(), []

        def pieces():
            for batch in batches:
                if batch.num_rows == 0:
                    continue
                prints = frames.native(batch.column("fingerprint"), self.bits)
                task.rows_in += len(prints)
                low.append(_least(prints, self.bits))
                has_ids, are_names = self.ids
                if not has_ids:
                    yield prints
                elif are_names:
                    yield prints, batch.column("id")
                else:
                    yield prints, frames.unsigned(batch.column("id"))

        filesystem, root = file_system(self.path)
        name = f"shard-{uuid.uuid4().hex}"
        with tempfile.TemporaryDirectory(prefix="fpstore-") as directory:
            local = f"{directory}/{name}"
            summary = _native.pack(
                local, pieces(), k=self.k, bits=self.bits, threads=1, memory=self.memory
            )
            if not low:
                return
            place = posixpath.join(root, name)
            filesystem.create_dir(place, recursive=True)
            arrow_fs.copy_files(local, place, destination_filesystem=filesystem, use_threads=False)
        task.rows_out, task.bytes = summary["distinct"], summary["bytes"]
        values = [name, min(low), task.rows_in, summary["distinct"], summary["bytes"]]
        names = ["name", "first", "rows", "distinct", "bytes"]
        yield pa.RecordBatch.from_arrays([pa.array([value]) for value in values], names)
        task.done()


def _least(prints, bits):
    """The least of some fingerprints, as bytes."""
    if bits <= 64:
        return int(prints.to_numpy().min()).to_bytes(bits // 8, "big")
    return min(prints.to_pylist())


class _Asker:
    """Sends the queries of a partition to every shard."""

    def __init__(self, keys, bits, stage):
        self.keys, self.bits, self.stage = keys, bits, stage

    def __call__(self, batches):
        task = self.stage.task()
        for rows in frames.together(batches, TOGETHER):
            prints = frames.array(rows.column("fingerprint").combine_chunks(), self.bits)
            task.rows_in += len(prints)
            data = prints.tobytes()
            for shard, key in enumerate(self.keys.tolist()):
                task.rows_out += len(prints)
                task.bytes += len(data)
                columns = [
                    pa.array([key], pa.int32()),
                    pa.array([shard], pa.int32()),
                    pa.array([data], pa.binary()),
                ]
                yield pa.RecordBatch.from_arrays(columns, ["key", "shard", "data"])
        task.done()


class _Answerer:
    """Answers the queries that were sent to a shard."""

    def __init__(self, path, names, bits, k, stage):
        self.path, self.names, self.bits, self.k, self.stage = path, names, bits, k, stage

    def __call__(self, batches):
        task, asked = self.stage.task(), {}
        for batch in batches:
            for shard, data in zip(batch.column("shard").to_pylist(), batch.column("data")):
                asked.setdefault(shard, []).append(data.as_buffer())
                task.bytes += data.as_buffer().size
        for shard, pieces in asked.items():
            queries = self._queries(b"".join(pieces))
            task.rows_in += len(queries)
            for found in self._answer(self.names[shard], queries):
                task.rows_out += found.num_rows
                yield found
        task.done()

    def _queries(self, data):
        if self.bits <= 64:
            return np.frombuffer(data, dtype=np.uint32 if self.bits == 32 else np.uint64)
        return np.frombuffer(data, dtype=np.uint8).reshape(-1, self.bits // 8)

    def _answer(self, name, queries):
        filesystem, root = file_system(self.path)
        place = posixpath.join(root, name)
        with tempfile.TemporaryDirectory(prefix="fpstore-") as directory:
            if not isinstance(filesystem, arrow_fs.LocalFileSystem):
                local = f"{directory}/{name}"
                arrow_fs.LocalFileSystem().create_dir(local)
                arrow_fs.copy_files(place, local, source_filesystem=filesystem, use_threads=False)
                place = local
            store = _native.open(place)
            for start in range(0, len(queries), TOGETHER):
                some = queries[start : start + TOGETHER]
                offsets, prints, distances = store.search_batch(some, self.k, threads=1)
                asked = np.repeat(some, np.diff(offsets.astype(np.int64)), axis=0)
                distances = pa.array(distances).cast(pa.int32())
                columns = [self._column(asked), self._column(prints), distances]
                table = pa.table(columns, names=["query", "fingerprint", "distance"])
                yield from table.to_batches(max_chunksize=1 << 16)
            # Its files are mapped: their space comes back with the directory only if it is gone.
            del store

    def _column(self, values):
        if self.bits <= 64:
            return frames.spark(pa.array(values))
        kind, data = pa.binary(self.bits // 8), pa.py_buffer(np.ascontiguousarray(values))
        return pa.Array.from_buffers(kind, len(values), [None, data]).cast(pa.binary())
