"""Finds what is stored in shards near fingerprints.

    spark-submit match.py s3://bucket/new s3://bucket/shards s3://bucket/found -k 3

writes query, fingerprint and distance, in order, as Parquet.
"""

from fpstore import spark as fps
from fpstore.spark import _job as job


def main(arguments=None):
    parser = job.options(__doc__)
    parser.add_argument("input")
    parser.add_argument("shards")
    parser.add_argument("output")
    parser.add_argument(
        "--fingerprint",
        default="fingerprint",
        help="the column of fingerprints (default: fingerprint)",
    )
    given = parser.parse_args(arguments)
    spark, report = job.session("fpstore match")
    clock = job.Clock(report)
    df = job.read(spark, given.input, given.format)
    found = fps.match(df, given.shards, given.k, given.fingerprint, report=report)
    found.write.mode("overwrite").parquet(given.output)
    clock.step(f"wrote {given.output}")
    clock.end()


if __name__ == "__main__":
    main()
