"""Which rows are duplicates of which."""

from .._native import Recipe
from . import _frames as frames
from ._graph import LOCAL_EDGES, clusters
from ._pairs import near_pairs
from ._text import prints_of


def dedup(
    df,
    *,
    id="id",
    text=None,
    fingerprint=None,
    recipe="simhash-64",
    k=None,
    kind="star",
    bits=None,
    tasks=None,
    local_edges=LOCAL_EDGES,
    report=None,
):
    """What becomes of each row: id, kept, distance and why, as `fpstore corpus dedup` decides it in
    the order of the ids (`--keep first`).

    `kept` is the id that stays in the place of this row; itself, if the row is kept. `why` is
    ``"exact"`` or ``"near"``, and null for rows that are kept. From texts (`text` and `recipe`),
    the first of rows with the same prepared text stands for the others; those with too few features
    for a fingerprint are compared only so. Then what is within k (the recipe's proposal, unless it
    is given) of a row that is kept is removed; see `clusters` for `kind`. From fingerprints
    (`fingerprint`, and k), there are no exact duplicates: equal fingerprints are near, with
    distance 0.

    Ids are distinct, bigint or string. What is kept of the rows is

        df.join(fates.where("why is null"), "id", "left_semi")

    `df` is read once, and once more for ids that are strings: fingerprints and clusters are
    persisted until ``spark.catalog.clearCache()``, or the end of the session.
    """
    from pyspark.sql import functions as F

    names = frames.are_names(df, id)
    if (text is None) == (fingerprint is None):
        raise ValueError("give text, or fingerprint")
    if names:
        numbers = frames.numbers_of(df.select(id))
        rows = frames.numbered(df.select(id, fingerprint if text is None else text), [id], numbers)
        what = dict(id=id, text=text, fingerprint=fingerprint, recipe=recipe, k=k, kind=kind)
        how = dict(bits=bits, tasks=tasks, local_edges=local_edges, report=report)
        return frames.named(dedup(rows, **what, **how), ["id", "kept"], numbers)
    if text is not None:
        recipe = recipe if isinstance(recipe, Recipe) else Recipe(recipe)
        k, bits = recipe.k if k is None else k, recipe.bits
        prints = prints_of(df, id, text, recipe).persist()
        firsts = prints.groupBy("exact").agg(F.min("id").alias("first"))
        documents = prints.join(firsts, "exact").select("id", "first", "fingerprint")
    else:
        if k is None:
            raise ValueError("give k: the distance of near duplicates, in bits")
        bits = frames.bits_of(df, fingerprint, bits)
        prints = df.select(F.col(id).alias("id"), F.col(fingerprint).alias("fingerprint")).persist()
        documents = prints.select("id", F.col("id").alias("first"), "fingerprint")
    signed = documents.where("id = first and fingerprint is not null")
    # Rows with equal fingerprints have the same fate: the first of them stands for all.
    heads = signed.groupBy("fingerprint").agg(F.min("id").alias("head")).persist()
    pairs = near_pairs(heads, "fingerprint", k, "head", bits=bits, tasks=tasks, report=report)
    stars = clusters(pairs, kind, local_edges=local_edges, report=report)
    stars = stars.select(F.col("id").alias("head"), F.col("kept").alias("star"), "distance")
    own = F.coalesce("star", "head")
    of_signed = (
        signed.join(heads, "fingerprint")
        .join(stars, "head", "left")
        .select(
            F.col("id").alias("first"),
            own.alias("kept"),
            # Those that a row stands for differ from it in nothing, and it from itself.
            F.when(own == F.col("head"), F.lit(0)).otherwise(F.col("distance")).alias("distance"),
        )
    )
    is_first, is_kept = F.col("id") == F.col("first"), F.col("id") == F.col("kept")
    fates = documents.select("id", "first").join(of_signed, "first", "left")
    fates = fates.withColumn("kept", F.coalesce("kept", "first"))
    distance = F.when(is_kept, F.lit(None)).when(is_first, F.col("distance")).otherwise(F.lit(0))
    why = F.when(~is_first, F.lit("exact")).when(~is_kept, F.lit("near"))
    return fates.select("id", "kept", distance.cast("int").alias("distance"), why.alias("why"))
