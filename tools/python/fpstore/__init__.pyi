from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from os import PathLike
from typing import Any, Literal, Protocol, TypeAlias, TypedDict, overload
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

__version__: str
simd_level: str

class _ArrowArray(Protocol):
    def __arrow_c_array__(self, requested_schema: object | None = ...) -> tuple[object, object]: ...

class _ArrowStream(Protocol):
    def __arrow_c_stream__(self, requested_schema: object | None = ...) -> object: ...

_Path: TypeAlias = str | PathLike[str]
_One: TypeAlias = int | np.integer[Any] | bytes | NDArray[np.uint8] | NDArray[np.uint64]
_Arrow: TypeAlias = _ArrowArray | _ArrowStream
_Many: TypeAlias = NDArray[np.uint64] | NDArray[np.uint32] | NDArray[np.uint8] | _Arrow
_Id: TypeAlias = int | str | UUID | bytes
_Ids: TypeAlias = NDArray[Any] | _Arrow | Sequence[_Id]
_Found: TypeAlias = tuple[NDArray[Any], NDArray[np.uint16]]
_Time: TypeAlias = datetime | float
_Progress: TypeAlias = Callable[[str, int, int], object]
_Durability: TypeAlias = Literal["immediate", "group", "eventual"]
_Prefer: TypeAlias = Literal["size", "balanced", "speed"]

class Error(Exception): ...
class NotFoundError(Error): ...
class CorruptError(Error): ...
class UnsupportedError(Error): ...
class ExistsError(Error): ...
class BusyError(Error): ...
class DisplacedError(Error): ...
class StoppedError(Error): ...
class ResourceError(Error): ...
class RecipeError(Error): ...

class PackSummary(TypedDict):
    read: int
    distinct: int
    ids: int | None
    bytes: int
    design: str | None
    block_bytes: int | None
    parts: int | None
    temporary_bytes: int

def pack(
    path: _Path,
    fingerprints: _Many | Iterator[_Many] | Iterator[tuple[_Many, _Ids]],
    ids: _Ids | None = None,
    *,
    k: int | None = None,
    prefer: _Prefer = "balanced",
    bits: Literal[32, 64, 128, 256] | None = None,
    design: str | None = None,
    block_bytes: int | None = None,
    recipe: str | None = None,
    replace: bool = False,
    append: bool = False,
    threads: int = 0,
    memory: int | None = None,
    tmp_dir: _Path | None = None,
    progress: _Progress | None = None,
) -> PackSummary: ...
def open(
    path: _Path,
    *,
    in_memory: bool = False,
    memory: int | None = None,
    refresh_every: float | None = None,
) -> Store: ...
def create(
    path: _Path,
    *,
    bits: Literal[32, 64, 128, 256] = 64,
    k: int | None = None,
    prefer: _Prefer = "balanced",
    ids: bool | str | None = None,
    window: float | None = None,
    design: str | None = None,
    block_bytes: int | None = None,
    recipe: str | None = None,
    durability: _Durability = "group",
) -> Writer: ...
def open_writer(path: _Path, *, durability: _Durability = "group") -> Writer: ...
def plan(
    n: int, k: int = 3, *, bits: Literal[32, 64, 128, 256] = 64, prefer: _Prefer = "balanced"
) -> list[dict[str, Any]]: ...

_Keep: TypeAlias = str
_Shape: TypeAlias = Literal["star", "components", "complete"]

def dedup(
    texts: Sequence[str] | Sequence[bytes] | _Arrow,
    *,
    recipe: str = "onebit-256",
    k: int | None = None,
    keep: _Keep = "first",
    clusters: _Shape = "star",
    verify: str | None = None,
    threads: int = 0,
    memory: int | None = None,
    progress: _Progress | None = None,
) -> Deduplicated: ...
@overload
def dedup_corpus(
    inputs: _Path | Sequence[_Path],
    *,
    recipe: str = "onebit-256",
    k: int | None = None,
    keep: _Keep = "first",
    clusters: _Shape = "star",
    verify: str | None = None,
    against: _Path | None = None,
    add: bool = False,
    text: str = "text",
    id: str | None = None,
    format: Literal["jsonl", "csv", "tsv", "parquet", "plain"] | None = None,
    skip_bad: bool = False,
    write: str = "kept",
    removed: Literal["parquet", "jsonl", "csv"] | None = None,
    output: _Path,
    threads: int = 0,
    memory: int | None = None,
    progress: _Progress | None = None,
) -> dict[str, Any]: ...
@overload
def dedup_corpus(
    inputs: _ArrowStream | Sequence[_ArrowStream],
    *,
    recipe: str = "onebit-256",
    k: int | None = None,
    keep: _Keep = "first",
    clusters: _Shape = "star",
    verify: str | None = None,
    against: _Path | None = None,
    add: bool = False,
    text: str = "text",
    id: str | None = None,
    threads: int = 0,
    memory: int | None = None,
    progress: _Progress | None = None,
) -> Deduplicated: ...
def corpus_decide(
    results: _Path,
    *,
    k: int | None = None,
    keep: _Keep | None = None,
    clusters: _Shape | None = None,
    threads: int = 0,
    memory: int | None = None,
    progress: _Progress | None = None,
) -> dict[str, Any]: ...
def corpus_report(
    results: _Path,
    *,
    threads: int = 0,
    memory: int | None = None,
    progress: _Progress | None = None,
) -> str: ...

class Deduplicated:
    @property
    def kept(self) -> NDArray[np.bool_]: ...
    @property
    def instead(self) -> NDArray[np.int64]: ...
    @property
    def matched(self) -> NDArray[np.int64]: ...
    @property
    def distance(self) -> NDArray[np.uint16]: ...
    @property
    def why(self) -> list[str]: ...
    @property
    def report(self) -> dict[str, Any]: ...
    def __len__(self) -> int: ...
    def __getitem__(self, index: int) -> tuple[bool, int | str, int, str]: ...
    def to_arrow(self) -> ArrowStream: ...

class ArrowStream:
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...
    def to_pyarrow(self) -> Any: ...
    def to_pandas(self) -> Any: ...
    def to_polars(self) -> Any: ...

class Store:
    @property
    def path(self) -> Any: ...
    @property
    def bits(self) -> int: ...
    @property
    def radius(self) -> int: ...
    @property
    def generation(self) -> int: ...
    @property
    def has_ids(self) -> bool: ...
    @property
    def id_kind(self) -> str | None: ...
    @property
    def recipe(self) -> str | None: ...
    def __len__(self) -> int: ...
    def __contains__(self, fingerprint: _One) -> bool: ...
    def refresh(self) -> bool: ...
    def contains(self, fingerprint: _One) -> bool: ...
    def search(self, fingerprint: _One, k: int | None = None) -> _Found: ...
    def nearest(self, fingerprint: _One, n: int, k: int | None = None) -> _Found: ...
    def any_within(self, fingerprint: _One, k: int | None = None) -> bool: ...
    def ids(self, fingerprint: _One) -> NDArray[np.uint64] | list[Any]: ...
    def fingerprints(self) -> NDArray[Any]: ...
    @overload
    def search_batch(
        self,
        queries: _Many,
        k: int | None = None,
        *,
        ids: bool = False,
        arrow: Literal[False] = False,
        limit: int | None = None,
        threads: int = 0,
        memory: int | None = None,
        progress: _Progress | None = None,
    ) -> tuple[Any, ...]: ...
    @overload
    def search_batch(
        self,
        queries: _Many,
        k: int | None = None,
        *,
        ids: bool = False,
        arrow: Literal[True],
        limit: int | None = None,
        threads: int = 0,
        memory: int | None = None,
        progress: _Progress | None = None,
    ) -> ArrowStream: ...
    def self_join(
        self, k: int | None = None, *, threads: int = 0, memory: int | None = None
    ) -> ArrowStream: ...
    def join(
        self, other: Store, k: int | None = None, *, threads: int = 0, memory: int | None = None
    ) -> ArrowStream: ...
    def dedup(
        self,
        k: int | None = None,
        *,
        keep: Literal["smallest-id", "central"] = "smallest-id",
        threads: int = 0,
        memory: int | None = None,
        progress: _Progress | None = None,
    ) -> ArrowStream: ...
    def stat(self) -> dict[str, Any]: ...
    def verify(self, *, threads: int = 0, progress: _Progress | None = None) -> dict[str, int]: ...

class Writer:
    def __enter__(self) -> Writer: ...
    def __exit__(self, *args: object) -> None: ...
    def insert(
        self, fingerprint: _One, id: _Id | None = None, *, at: _Time | None = None
    ) -> None: ...
    def insert_batch(
        self, fingerprints: _Many, ids: _Ids | None = None, *, at: _Time | None = None
    ) -> None: ...
    def delete(self, fingerprint: _One, id: _Id | None = None) -> None: ...
    def delete_batch(self, fingerprints: _Many, ids: _Ids | None = None) -> None: ...
    def delete_id(self, id: _Id) -> int: ...
    def check_and_insert(
        self,
        fingerprint: _One,
        id: _Id | None = None,
        k: int | None = None,
        *,
        at: _Time | None = None,
    ) -> _Found | None: ...
    def commit(self, durability: _Durability = "immediate") -> None: ...
    def flush(self) -> None: ...
    def merge(self) -> None: ...
    def close(self) -> None: ...

class Recipe:
    def __init__(self, recipe: str) -> None: ...
    @staticmethod
    def presets() -> list[tuple[str, str]]: ...
    @property
    def bits(self) -> int: ...
    @property
    def k(self) -> int | None: ...
    def fingerprint(self, text: str | bytes) -> int | None: ...
    @overload
    def fingerprints(
        self,
        texts: list[str] | list[bytes] | _Arrow,
        *,
        exact: Literal[False] = False,
        threads: int = 0,
        progress: _Progress | None = None,
    ) -> tuple[NDArray[Any], NDArray[np.uint64]]: ...
    @overload
    def fingerprints(
        self,
        texts: list[str] | list[bytes] | _Arrow,
        *,
        exact: Literal[True],
        threads: int = 0,
        progress: _Progress | None = None,
    ) -> tuple[NDArray[Any], NDArray[np.uint64], NDArray[np.uint8]]: ...

_Cells: TypeAlias = tuple[
    list[int] | NDArray[np.uint32], list[int] | NDArray[np.uint32], list[int] | NDArray[np.uint64]
]

class Census:
    def __init__(
        self, k: int = 3, *, bits: Literal[32, 64, 128, 256] = 64, parts: int | None = None
    ) -> None: ...
    @property
    def rows(self) -> int: ...
    def add(self, fingerprints: _Many) -> None: ...
    def heavy(
        self, share: float
    ) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint64]]: ...

class Exchange:
    def __init__(
        self,
        rows: int,
        k: int = 3,
        *,
        bits: Literal[32, 64, 128, 256] = 64,
        parts: int | None = None,
        tasks: int = 64,
        heavy: _Cells | None = None,
    ) -> None: ...
    @property
    def bits(self) -> int: ...
    @property
    def k(self) -> int: ...
    @property
    def tables(self) -> int: ...
    @property
    def top_bits(self) -> int: ...
    @property
    def tasks(self) -> int: ...
    @property
    def splits(self) -> int: ...
    @property
    def rows_sent(self) -> int: ...
    @property
    def loads(self) -> NDArray[np.float64]: ...
    def send(self, table: int, fingerprints: _Many, ids: _Ids | None = None) -> ArrowStream: ...
    def pairs(self, received: Iterable[_ArrowArray], *, ids: bool = False) -> ArrowStream: ...

class Client:
    name: str
    def __init__(
        self,
        url: str,
        store: str | None = None,
        *,
        token: str | None = None,
        timeout: float = 30.0,
        durability: Literal["immediate", "eventual"] = "immediate",
    ) -> None: ...
    def __enter__(self) -> Client: ...
    def __exit__(self, *args: object) -> None: ...
    @property
    def bits(self) -> int: ...
    @property
    def radius(self) -> int: ...
    @property
    def generation(self) -> int: ...
    @property
    def has_ids(self) -> bool: ...
    @property
    def id_kind(self) -> str | None: ...
    @property
    def recipe(self) -> str | None: ...
    def __len__(self) -> int: ...
    def __contains__(self, fingerprint: _One) -> bool: ...
    def contains(self, fingerprint: _One) -> bool: ...
    def search(self, fingerprint: _One, k: int | None = None) -> _Found: ...
    def nearest(self, fingerprint: _One, n: int, k: int | None = None) -> _Found: ...
    def any_within(self, fingerprint: _One, k: int | None = None) -> bool: ...
    def ids(self, fingerprint: _One) -> NDArray[np.uint64] | list[Any]: ...
    def search_batch(
        self, queries: _Many, k: int | None = None, *, ids: bool = False, limit: int | None = None
    ) -> tuple[Any, ...]: ...
    def stat(self) -> dict[str, Any]: ...
    def check_and_insert(
        self, fingerprint: _One, id: _Id | None = None, k: int | None = None
    ) -> _Found | None: ...
    def insert(self, fingerprint: _One, id: _Id | None = None) -> None: ...
    def insert_batch(self, fingerprints: _Many, ids: _Ids | None = None) -> None: ...
    def delete(self, fingerprint: _One, id: _Id | None = None) -> None: ...
    def delete_batch(self, fingerprints: _Many, ids: _Ids | None = None) -> None: ...
    def close(self) -> None: ...
