"""Fingerprints from texts."""

import numpy as np
import pyarrow as pa

from .._native import Recipe
from . import _frames as frames


def fingerprint(df, text="text", recipe="simhash-64", *, column="fingerprint"):
    """Adds a column of the fingerprints of texts; null where a text has too few features for one.

    `recipe` is a `fpstore.Recipe`, or the line or name of one; it gives the width. Texts are
    ``string`` or ``binary`` (UTF-8); null is an empty one.
    """
    recipe = recipe if isinstance(recipe, Recipe) else Recipe(recipe)
    _check_text(df, text)
    if column in df.columns:
        raise ValueError(f"there is a column {column!r} already; give another name")
    bits = recipe.bits

    def run(batches):
        for batch in batches:
            (made,) = columns(recipe, bits, batch.column(text), exact=False)
            yield pa.RecordBatch.from_arrays([*batch.columns, made], [*batch.schema.names, column])

    from pyspark.sql.types import StructField, StructType

    kinds = StructType([*df.schema.fields, StructField(column, _type(bits), True)])
    return df.mapInArrow(run, kinds)


def _check_text(df, text):
    if text not in df.columns:
        raise ValueError(f"there is no column {text!r}; there are {', '.join(df.columns)}")
    kind = df.schema[text].dataType.simpleString()
    if kind not in ("string", "binary"):
        raise TypeError(f"the column {text!r} is {kind}; texts are string or binary")


def _type(bits):
    from pyspark.sql import types

    return {32: types.IntegerType, 64: types.LongType}.get(bits, types.BinaryType)()


def columns(recipe, bits, texts, *, exact):
    """The fingerprints of texts as a column of Spark, with nulls; and what they are compared
    exactly by, if that is wanted."""
    made = recipe.fingerprints(texts, exact=exact, threads=1)
    places = made[1].astype(np.int64)
    if bits <= 64:
        kind = pa.int32() if bits == 32 else pa.int64()
        values = np.zeros(len(texts), dtype=np.uint32 if bits == 32 else np.uint64)
        values[places] = made[0]
        missing = np.ones(len(texts), dtype=bool)
        missing[places] = False
        signed = values.view(np.int32 if bits == 32 else np.int64)
        prints = pa.array(signed, type=kind, mask=missing)
    else:
        prints = pa.array(_rows(made[0]), type=pa.binary())
        back = np.full(len(texts), -1, dtype=np.int64)
        back[places] = np.arange(len(places))
        prints = prints.take(pa.array(back, mask=back < 0))
    if not exact:
        return (prints,)
    return prints, pa.array(_rows(made[2]), type=pa.binary())


def _rows(array):
    """The rows of an array of bytes."""
    count, width = array.shape
    data = pa.py_buffer(np.ascontiguousarray(array))
    return pa.Array.from_buffers(pa.binary(width), count, [None, data]).cast(pa.binary())


def prints_of(df, id, text, recipe):
    """Id, fingerprint and what is compared exactly, of each text."""
    bits = recipe.bits
    _check_text(df, text)

    def run(batches):
        for batch in batches:
            made = columns(recipe, bits, batch.column(text), exact=True)
            names = ["id", "fingerprint", "exact"]
            yield pa.RecordBatch.from_arrays([batch.column(id), *made], names)

    schema = f"id bigint, fingerprint {frames.TYPES[bits]}, exact binary"
    return df.select(id, text).mapInArrow(run, schema)
