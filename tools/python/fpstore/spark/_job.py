"""What the scripts of the three jobs share: options, reading, and a log line for each stage."""

import argparse
import logging
import time

LOG = logging.getLogger("fpstore.spark")

#: What `--format` may be.
FORMATS = ("parquet", "json", "csv", "orc")


def options(words, *, radius=3):
    """A parser with what every job takes."""
    parser = argparse.ArgumentParser(description=words)
    parser.add_argument(
        "--format",
        default="parquet",
        choices=FORMATS,
        help="of the input (default: parquet; json is lines)",
    )
    parser.add_argument(
        "-k",
        type=int,
        default=radius,
        help=f"the distance, in bits (default: {radius or 'what the recipe proposes'})",
    )
    return parser


def session(name):
    """The session that spark-submit has set up, and a report on it; log lines go to standard
    error."""
    from pyspark.sql import SparkSession

    from ._report import Report

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    spark = SparkSession.builder.appName(name).getOrCreate()
    return spark, Report(spark)


def read(spark, path, format):
    """The data frame of an input; of CSV with a header, and numbers as numbers."""
    reader = spark.read.format(format)
    if format == "csv":
        reader = reader.option("header", True).option("inferSchema", True)
    return reader.load(path)


class Clock:
    """Logs what each step of a job took, and at the end its stages."""

    def __init__(self, report):
        self.report, self.started = report, time.monotonic()

    def step(self, words):
        """Logs a step with the seconds since the last."""
        now = time.monotonic()
        LOG.info("%s: %.1f s", words, now - self.started)
        self.started = now

    def end(self):
        """Logs the stages: rows, bytes, seconds."""
        for line in str(self.report).splitlines():
            LOG.info("%s", line)
