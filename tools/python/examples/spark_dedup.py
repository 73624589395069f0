"""Removes near duplicates from texts with Spark. Needs pyspark and Java."""

import os
import pathlib
import shutil
import sys

try:
    import pyspark
except ImportError:
    sys.exit(print("pyspark is not installed: pip install pyspark"))
if not (shutil.which("java") or os.environ.get("JAVA_HOME")):
    sys.exit(print("there is no Java"))

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
os.environ.setdefault("SPARK_HOME", str(pathlib.Path(pyspark.__file__).parent))

from fpstore import spark as fps
from pyspark.sql import SparkSession

spark = SparkSession.builder.config("spark.ui.enabled", "false").getOrCreate()
pages = [
    "The harbour master counts the ships at dawn, and again at dusk, when the last of them is in.",
    "An entirely different page, which is about the price of apples and about nothing else at all.",
    "The harbour master counts the ships at dawn, and again at dusk, when the last of them is in!",
    "THE HARBOUR MASTER counts the ships at dawn, and again at dusk, when the last of them is in.",
]
df = spark.createDataFrame(list(enumerate(pages, 1)), "id bigint, text string")
fates = fps.dedup(df, text="text", recipe="simhash-64-chars", k=12)
for row in fates.orderBy("id").collect():
    removed = f"removed for {row.kept} ({row.why}, {row.distance} bits)"
    print(row.id, "kept" if row.why is None else removed)
