"""Writes a file of Parquet for every type that pyarrow can write, in several ways, and compares
what `corpus dedup` made of them: schemas with their notes, logical types, and values."""

import datetime as dt
import decimal
import os
import sys
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq

# The sixth text is the first again.
KEPT = [0, 1, 2, 3, 4]
DAY = dt.date(2026, 11, 22)


def types():
    for bits in (8, 16, 32, 64):
        top = 2 ** (bits - 1)
        yield f"int{bits}", getattr(pa, f"int{bits}")(), [-top, top - 1, 0, None, 1, 2]
        yield f"uint{bits}", getattr(pa, f"uint{bits}")(), [0, 2 * top - 1, 1, None, 3, 2]
    yield "null", pa.null(), [None] * 6
    yield "bool", pa.bool_(), [True, False, None, True, False, True]
    for bits in (16, 32, 64):
        values = [1.5, float("nan"), float("inf"), None, -0.0, 2.0]
        yield f"float{bits}", getattr(pa, f"float{bits}")(), values
    texts = ["", 'a\u0000"\\,\n\t', "😀", None, "ü", "\ufeffx"]
    for name in ("string", "large_string", "string_view"):
        yield name, getattr(pa, name)(), texts
    bytes_ = [b"", b"\x00\xff", b"abc", None, b"d", b"e"]
    for name in ("binary", "large_binary", "binary_view"):
        yield name, getattr(pa, name)(), bytes_
    yield "fixed5", pa.binary(5), [b"12345", b"\x00" * 5, None, b"abcde", b"vwxyz", b"fghij"]
    yield "date32", pa.date32(), [DAY, None, dt.date(1, 1, 1), dt.date(9999, 12, 31), DAY, DAY]
    yield "date64", pa.date64(), [DAY, None, dt.date(1, 1, 1), dt.date(9999, 12, 31), DAY, DAY]
    for unit in ("s", "ms"):
        yield f"time32-{unit}", pa.time32(unit), [0, 86399, None, 1, 2, 3]
    for unit in ("us", "ns"):
        yield f"time64-{unit}", pa.time64(unit), [0, 86399999999, None, 1, 2, 3]
    times = [0, -1, None, 1795000000, 2, 3]
    for unit in ("s", "ms", "us", "ns"):
        for zone in (None, "UTC", "Europe/Berlin", "+05:30"):
            place = (zone or "none").replace("/", "-")
            yield f"timestamp-{unit}-{place}", pa.timestamp(unit, zone), times
        yield f"duration-{unit}", pa.duration(unit), times
    # Too far away for 64 bits of nanoseconds.
    late, early = dt.datetime(3000, 1, 1, 1, 2, 3, 4), dt.datetime(1, 1, 1)
    yield "far", pa.timestamp("us"), [late, early, None, dt.datetime(2026, 1, 1), None, None]
    for precision, scale in ((1, 0), (9, 2), (18, 6), (38, 10)):
        number = decimal.Decimal(7) / 10**scale
        numbers = [number, -number, None, number, number, number]
        yield f"decimal128-{precision}", pa.decimal128(precision, scale), numbers
    yield "decimal256", pa.decimal256(76, 20), [decimal.Decimal("1.5"), None] * 3
    if hasattr(pa, "decimal32"):
        yield "decimal32", pa.decimal32(9, 2), [decimal.Decimal("1.50"), None] * 3
        yield "decimal64", pa.decimal64(18, 2), [decimal.Decimal("1.50"), None] * 3
    yield "dictionary", pa.dictionary(pa.int8(), pa.string()), ["a", "b", None, "a", "", "c"]
    lists = [[1, None, 3], [], None, [4], [5, 6], [7]]
    for name in ("list_", "large_list", "list_view"):
        yield name, getattr(pa, name)(pa.int32()), lists
    yield "fixed_list", pa.list_(pa.int16(), 2), [[1, 2], None, [3, None], [4, 5], [6, 7], [8, 9]]
    struct = pa.struct([("a", pa.int8()), ("b", pa.list_(pa.string()))])
    structs = [
        {"a": 1, "b": ["x", None]},
        None,
        {"a": None, "b": []},
        {"a": 2, "b": None},
        {"a": 3, "b": []},
        {"a": 4, "b": ["y"]},
    ]
    yield "struct", struct, structs
    maps = [[("a", 1), ("b", None)], [], None, [("c", 2)], [], []]
    yield "map", pa.map_(pa.string(), pa.int32()), maps
    nested = [[[("k", structs[0])]], [], None, [[]], [None], [[("l", None)]]]
    yield "nested", pa.list_(pa.map_(pa.string(), struct)), nested
    if hasattr(pa, "uuid"):
        yield "uuid", pa.uuid(), [bytes(range(16)), None] * 3
    if hasattr(pa, "json_"):
        yield "json", pa.json_(), ['{"a": 1}', None] * 3
    if hasattr(pa, "bool8"):
        yield "bool8", pa.bool8(), [1, None, 0, 1, 1, 0]


WAYS = {
    "": {},
    "v1": {"version": "1.0", "compression": "gzip"},
    "plain": {"use_dictionary": False, "compression": "none", "data_page_version": "2.0"},
    "bare": {"store_schema": False, "compression": "zstd", "row_group_size": 2},
    "int96": {"use_deprecated_int96_timestamps": True, "compression": "lz4"},
}


def column(of, values):
    storage = of.storage_type if isinstance(of, pa.ExtensionType) else of
    if pa.types.is_duration(of):
        array = pa.array(values, pa.int64()).cast(of)
    else:
        array = pa.array(values, storage)
    return array if storage is of else pa.ExtensionArray.from_storage(of, array)


def texts(name):
    random = Random(name)
    texts = [" ".join(f"{random.getrandbits(40):x}" for _ in range(40)) for _ in KEPT]
    return [*texts, texts[0]]


def write():
    os.mkdir("in")
    for name, of, values in types():
        for way, options in WAYS.items():
            path = f"in/{name}.{way}.parquet"
            columns = {"id": pa.array(range(6)), "text": texts(path), "x": column(of, values)}
            table = pa.table(columns, metadata={"by": "me"})
            try:
                pq.write_table(table, path, **options)
            except (pa.ArrowException, NotImplementedError) as refusal:
                os.path.exists(path) and os.remove(path)
                print("cannot be written:", path, refusal, file=sys.stderr)


def logical(file):
    columns = map(file.schema.column, range(len(file.schema)))
    return [(each.path, str(each.logical_type)) for each in columns]


def same(a, b):
    # NaN is no equal of itself.
    if pa.types.is_dictionary(a.type):
        a, b = a.dictionary_decode(), b.dictionary_decode()
    return a.equals(b) or pa.types.is_floating(a.type) and str(a.to_pylist()) == str(b.to_pylist())


def compare():
    count = 0
    for name in sorted(os.listdir("in")):
        unit = "us" if name.startswith("far") else None
        before, after = (
            pq.ParquetFile(f"{place}/{name}", coerce_int96_timestamp_unit=unit)
            for place in ("in", "out/documents")
        )
        a, b = before.schema_arrow, after.schema_arrow
        if not a.equals(b, check_metadata=True):
            print(f"{name}: {a!r} became {b!r} {a.metadata} {b.metadata}")
        # Times of 96 bits have no logical type, and come out as what they are.
        if logical(before) != logical(after) and "int96" not in name:
            print(f"{name}: {logical(before)} became {logical(after)}")
        expected, found = before.read().slice(0, len(KEPT)), after.read()
        if not all(
            same(expected[x].combine_chunks(), found[x].combine_chunks())
            for x in ("id", "text", "x")
        ):
            print(f"{name}: {expected['x']} became {found['x']}")
        count += 1
    print(count, "files")


write() if sys.argv[1] == "write" else compare()
