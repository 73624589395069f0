"""Columns of Spark as the native half takes them, and back."""

import numpy as np
import pyarrow as pa

TYPES = {32: "int", 64: "bigint", 128: "binary", 256: "binary"}


def bits_of(df, column, bits):
    """The bits of the fingerprints of a column: as its type tells, or as is said, or of binary ones
    as the first shows."""
    from pyspark.sql import functions as F

    if column not in df.columns:
        raise ValueError(f"there is no column {column!r}; there are {', '.join(df.columns)}")
    kind = df.schema[column].dataType.simpleString()
    told = {"int": 32, "bigint": 64}.get(kind)
    if told is not None:
        if bits not in (None, told):
            raise ValueError(
                f"the column {column!r} is {kind}, which is {told} bits, and not {bits}"
            )
        return told
    if kind != "binary":
        raise TypeError(
            f"the column {column!r} is {kind}; fingerprints are int (32 bits), bigint (64) or "
            "binary (128, 256)"
        )
    if bits is None:
        first = df.where(F.col(column).isNotNull()).select(F.length(column)).first()
        bits = 8 * first[0] if first else 128
    if bits not in (128, 256):
        raise ValueError(
            f"the fingerprints in {column!r} have {bits} bits; binary ones have 128 or 256"
        )
    return bits


def are_names(df, column):
    """Whether ids are strings, and not bigint; refuses others."""
    if column not in df.columns:
        raise ValueError(f"there is no column {column!r}; there are {', '.join(df.columns)}")
    kind = df.schema[column].dataType.simpleString()
    if kind not in ("bigint", "string"):
        raise TypeError(
            f"the column {column!r} is {kind}; ids are bigint or string: cast them to one of these"
        )
    return kind == "string"


def numbers_of(names):
    """The names of a column with their numbers in order, from 0 on: name and number.

    The number of a name is how many are less, so that it does not depend on how Spark spreads them.
    They are persisted.
    """
    from pyspark.sql import functions as F

    names = names.toDF("name").where(F.col("name").isNotNull()).distinct().orderBy("name").persist()
    counts = names.select(F.spark_partition_id().alias("part")).groupBy("part").count().collect()
    first, number = {}, 0
    for part, count in sorted(map(tuple, counts)):
        first[part] = number
        number += count
    return names.mapInArrow(_Number(first), "name string, number bigint").persist()


class _Number:
    """Numbers the names of a partition."""

    def __init__(self, first):
        self.first = first

    def __call__(self, batches):
        from pyspark import TaskContext

        number = self.first.get(TaskContext.get().partitionId(), 0)
        for batch in batches:
            numbers = pa.array(np.arange(number, number + batch.num_rows))
            number += batch.num_rows
            yield pa.RecordBatch.from_arrays([batch.column(0), numbers], ["name", "number"])


def numbered(df, columns, numbers):
    """The same rows, with numbers in place of the names of these columns."""
    return _looked_up(df, columns, numbers, "name", "number")


def named(df, columns, numbers):
    """The same rows, with names in place of the numbers of these columns."""
    return _looked_up(df, columns, numbers, "number", "name")


def _looked_up(df, columns, numbers, given, wanted):
    from pyspark.sql import functions as F

    there = df.columns
    for column in columns:
        found = numbers.select(F.col(given).alias(column), F.col(wanted).alias("__found"))
        df = df.join(found, column, "left").drop(column).withColumnRenamed("__found", column)
    return df.select(*there)


def without_nulls(df, fingerprint, id=None):
    """The columns that are needed, of rows that have a fingerprint."""
    from pyspark.sql import functions as F

    columns = [F.col(fingerprint).alias("fingerprint")]
    if id is not None:
        columns.append(F.col(id).alias("id"))
    return df.where(F.col(fingerprint).isNotNull()).select(*columns)


def native(column, bits):
    """Fingerprints of a column of Spark, for the native half. Copies binary ones only."""
    if bits == 32:
        return column.view(pa.uint32())
    if bits == 64:
        return column.view(pa.uint64())
    return column.cast(pa.binary(bits // 8))


def array(column, bits):
    """As `native`, as an array of numpy: of shape (n,), or (n, bits / 8)."""
    if bits <= 64:
        return native(column, bits).to_numpy()
    column = native(column, bits)
    width = bits // 8
    data = np.frombuffer(column.buffers()[1], dtype=np.uint8)[column.offset * width :]
    return data[: len(column) * width].reshape(-1, width)


def unsigned(column):
    """Ids for the native half."""
    return column.view(pa.uint64())


def spark(column):
    """Fingerprints of the native half as a column of Spark."""
    if pa.types.is_uint32(column.type):
        return column.view(pa.int32())
    if pa.types.is_uint64(column.type):
        return column.view(pa.int64())
    return column.cast(pa.binary())


def ordered(column, bits):
    """A column by which rows come in the order of their fingerprints."""
    from pyspark.sql import functions as F

    if bits == 32:
        return F.col(column).bitwiseXOR(F.lit(-(2**31)).cast("int"))
    if bits == 64:
        return F.col(column).bitwiseXOR(F.lit(-(2**63)).cast("bigint"))
    return F.col(column)


def together(iterator, rows):
    """Joins batches to tables of at least so many rows, but for the last. Whoever takes one has it
    alone."""
    held, count = [], 0
    for batch in iterator:
        held.append(batch)
        count += batch.num_rows
        del batch
        if count >= rows:
            yield _table_of(held)
            count = 0
    if count:
        yield _table_of(held)


def _table_of(held):
    """Takes the batches out of a list."""
    table = pa.Table.from_batches(held)
    held.clear()
    return table


def read(stream):
    """The batches of a stream of the native half."""
    return pa.RecordBatchReader.from_stream(stream)


def parallelism(spark_session):
    """How many tasks run at the same time, as far as Spark tells."""
    try:
        return spark_session.sparkContext.defaultParallelism
    except Exception:  # Spark Connect has no context.
        return int(spark_session.conf.get("spark.sql.shuffle.partitions", "200"))
