"""A Spark of its own: two workers in processes of their own, as a cluster has them."""

import os
import pathlib
import shutil
import sys

import pytest


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    """A session in `local-cluster` mode; tests that need it are skipped where there is no Java, or no pyspark."""
    pyspark = pytest.importorskip("pyspark", reason="pyspark is not installed")
    if not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        pytest.skip("there is no Java")
    from pyspark.sql import SparkSession

    # Executors are started from there; a pip installation has all that it takes.
    os.environ.setdefault("SPARK_HOME", str(pathlib.Path(pyspark.__file__).parent))
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    # What ends soon gains nothing from the second compiler: five of the tests took 115 s without, 178 s with it.
    os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
    place = tmp_path_factory.mktemp("spark")
    options = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.local.dir": str(place),
        "spark.sql.warehouse.dir": str(place / "warehouse"),
        "spark.sql.shuffle.partitions": "2",
        "spark.shuffle.io.retryWait": "1s",
        "spark.executor.memory": "700m",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").appName("fpstore tests")
    for name, value in options.items():
        builder = builder.config(name, value)
    # Workers write their logs where they are started.
    before = os.getcwd()
    os.chdir(place)
    session = builder.getOrCreate()
    os.chdir(before)
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
