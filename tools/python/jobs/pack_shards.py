"""Packs fingerprints as stores, one for each range of them.

    spark-submit pack_shards.py s3://bucket/prints s3://bucket/shards --id id

writes the stores and shards.json, which names them.
"""

from fpstore import spark as fps
from fpstore.spark import _job as job


def main(arguments=None):
    parser = job.options(__doc__)
    parser.add_argument("input")
    parser.add_argument("shards")
    parser.add_argument(
        "--fingerprint",
        default="fingerprint",
        help="the column of fingerprints (default: fingerprint)",
    )
    parser.add_argument("--id", help="the column of ids (default: the stores have none)")
    parser.add_argument("--count", type=int, help="how many shards (default: one for 2^26 rows)")
    parser.add_argument("--replace", action="store_true", help="replace the shards that are there")
    given = parser.parse_args(arguments)
    spark, report = job.session("fpstore pack_shards")
    clock = job.Clock(report)
    df = job.read(spark, given.input, given.format)
    manifest = fps.pack_shards(
        df,
        given.shards,
        given.fingerprint,
        given.id,
        k=given.k,
        shards=given.count,
        replace=given.replace,
        report=report,
    )
    shards = manifest["shards"]
    rows, size = (sum(shard[of] for shard in shards) for of in ("rows", "bytes"))
    clock.step(f"packed {rows} rows in {len(shards)} shards of {size} bytes")
    clock.end()


if __name__ == "__main__":
    main()
