"""Removes exact and near duplicates from a corpus.

    spark-submit dedup.py s3://bucket/pages s3://bucket/clean --format json --text body

writes OUTPUT/kept (the rows that are kept, as Parquet) and OUTPUT/removed (id, kept, distance,
why).
"""

from fpstore import spark as fps
from fpstore.spark import _job as job


def main(arguments=None):
    parser = job.options(__doc__, radius=None)
    parser.add_argument("input")
    parser.add_argument("output")
    parser.add_argument(
        "--id", default="id", help="the column of ids, of which the smallest is kept (default: id)"
    )
    parser.add_argument("--text", help="the column of texts")
    parser.add_argument(
        "--fingerprint", help="the column of fingerprints, instead of texts; needs -k"
    )
    parser.add_argument(
        "--recipe",
        default="simhash-64",
        help="what makes fingerprints of texts (default: simhash-64)",
    )
    parser.add_argument(
        "--clusters",
        default="star",
        choices=("star", "components"),
        help="what a cluster is (default: star)",
    )
    given = parser.parse_args(arguments)
    if given.text is None and given.fingerprint is None:
        given.text = "text"
    spark, report = job.session("fpstore dedup")
    clock = job.Clock(report)
    df = job.read(spark, given.input, given.format)
    fates = fps.dedup(
        df,
        id=given.id,
        text=given.text,
        fingerprint=given.fingerprint,
        recipe=given.recipe,
        k=given.k,
        kind=given.clusters,
        report=report,
    )
    clock.step("found the clusters")
    fates = fates.persist()
    stay = fates.where("why is null").select(fates.id.alias(given.id))
    kept = df.join(stay, given.id, "left_semi")
    kept.write.mode("overwrite").parquet(f"{given.output}/kept")
    fates.where("why is not null").write.mode("overwrite").parquet(f"{given.output}/removed")
    counts = {row.why: row["count"] for row in fates.groupBy("why").count().collect()}
    wrote, exact, near = (counts.get(why, 0) for why in (None, "exact", "near"))
    clock.step(f"wrote {wrote} rows; removed {exact} exact and {near} near duplicates")
    clock.end()


if __name__ == "__main__":
    main()
