from dataclasses import dataclass
from os import PathLike
from typing import Any, Literal

from pyspark.sql import DataFrame, SparkSession

from .. import Recipe

@dataclass(frozen=True)
class Task:
    stage: str
    partition: int
    rows_in: int
    rows_out: int
    bytes: int
    seconds: float
    cpu: float

@dataclass(frozen=True)
class Stage:
    name: str
    tasks: int
    rows_in: int
    rows_out: int
    bytes: int
    cpu: float
    longest: float
    median: float

class Report:
    predicted: dict[str, int | float]
    def __init__(self, spark: SparkSession) -> None: ...
    def tasks(self) -> list[Task]: ...
    def stages(self) -> list[Stage]: ...

def fingerprint(
    df: DataFrame,
    text: str = "text",
    recipe: Recipe | str = "simhash-64",
    *,
    column: str = "fingerprint",
) -> DataFrame: ...
def near_pairs(
    df: DataFrame,
    fingerprint: str = "fingerprint",
    k: int = 3,
    id: str | None = None,
    *,
    bits: Literal[32, 64, 128, 256] | None = None,
    parts: int | None = None,
    tasks: int | None = None,
    report: Report | None = None,
) -> DataFrame: ...
def clusters(
    pairs: DataFrame,
    kind: Literal["star", "components"] = "star",
    *,
    local_edges: int = ...,
    report: Report | None = None,
) -> DataFrame: ...
def components(
    pairs: DataFrame, *, local_edges: int = ..., report: Report | None = None
) -> DataFrame: ...
def dedup(
    df: DataFrame,
    *,
    id: str = "id",
    text: str | None = None,
    fingerprint: str | None = None,
    recipe: Recipe | str = "simhash-64",
    k: int | None = None,
    kind: Literal["star", "components"] = "star",
    bits: Literal[32, 64, 128, 256] | None = None,
    tasks: int | None = None,
    local_edges: int = ...,
    report: Report | None = None,
) -> DataFrame: ...
def pack_shards(
    df: DataFrame,
    path: str | PathLike[str],
    fingerprint: str = "fingerprint",
    id: str | None = None,
    *,
    k: int = 3,
    shards: int | None = None,
    bits: Literal[32, 64, 128, 256] | None = None,
    memory: int | None = None,
    replace: bool = False,
    report: Report | None = None,
) -> dict[str, Any]: ...
def match(
    df: DataFrame,
    shards: str | PathLike[str],
    k: int = 3,
    fingerprint: str = "fingerprint",
    *,
    bits: Literal[32, 64, 128, 256] | None = None,
    report: Report | None = None,
) -> DataFrame: ...
