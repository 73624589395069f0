"""What tests share: the tool and its server, and a Spark of its own, two workers in processes of
their own, as a cluster has them."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]


@pytest.fixture(scope="session")
def program():
    """The tool, as the tests of the workspace build it."""
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    found = [target / kind / "fpstore" for kind in ("debug", "release")]
    for each in found:
        if each.exists():
            return each
    pytest.skip(f"there is no {found[0]}; build it with cargo build -p fpstore-cli")


@pytest.fixture
def serve(tmp_path, program):
    """Starts a server of stores; gives its address."""
    running = []

    def start(*arguments):
        command = [program, "serve", "--listen", "127.0.0.1:0", "-q", *arguments]
        child = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
        running.append(child)
        line = child.stderr.readline().strip()
        assert "127.0.0.1:" in line, line
        return "http://127.0.0.1:" + line.rsplit(":", 1)[1]

    yield start
    for child in running:
        child.terminate()
        assert child.wait(20) == 0


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    """A session in `local-cluster` mode; tests that need it are skipped where there is no Java, or
    no pyspark."""
    pyspark = pytest.importorskip("pyspark", reason="pyspark is not installed")
    if not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        pytest.skip("there is no Java")
    from pyspark.sql import SparkSession

    # Executors are started from there; a pip installation has all that it takes.
    os.environ.setdefault("SPARK_HOME", str(pathlib.Path(pyspark.__file__).parent))
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    # What ends soon gains nothing from the second compiler: five of the tests took 115 s without,
    # 178 s with it.
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
