"""Clusters of pairs: connected components, and stars."""

import pyarrow as pa

from .._native import components as native_components
from .._native import stars as native_stars
from . import _frames as frames
from ._report import stage

#: Edges that one task takes at once: some 250 MB while it contracts them.
LOCAL_EDGES = 1 << 22


def clusters(pairs, kind="star", *, local_edges=LOCAL_EDGES, report=None):
    """Which ids of near pairs are kept, as `fpstore corpus dedup` decides it: id, kept and distance
    for each id that is in a pair.

    `kept` is the id that stays in the place of this one, or itself, and `distance` by how much the
    two differ (null where that is not known).

    * ``"star"``: in the order of the ids, an id is kept unless it is near one that is kept before
      it; else the first of these stays in its place.
    * ``"components"``: ids that are linked are a cluster, and the least of them is kept.

    `pairs` are those of `near_pairs` with ids, bigint or string: a, b, distance. All edges of one
    component are decided by one task, which takes 60 bytes for each: where components grow as large
    as the memory of a task, k is too large for that corpus. Up to `local_edges` edges are decided
    by a single task in any case.
    """
    if kind not in ("star", "components"):
        raise ValueError(f'kind is "star" or "components", not {kind!r}')
    if any([frames.are_names(pairs, column) for column in ("a", "b")]):
        numbers = frames.numbers_of(pairs.select("a").union(pairs.select("b")))
        rows = frames.numbered(pairs, ["a", "b"], numbers)
        decided = clusters(rows, kind, local_edges=local_edges, report=report)
        return frames.named(decided, ["id", "kept"], numbers)
    if kind == "components":
        from pyspark.sql import functions as F

        roots = components(pairs, local_edges=local_edges, report=report)
        unknown = F.lit(None).cast("int")
        return roots.select("id", F.col("component").alias("kept"), unknown.alias("distance"))
    pairs = pairs.select("a", "b", "distance").persist()
    try:
        if pairs.count() <= local_edges:
            whole = pairs.repartition(1)
        else:
            roots = components(pairs, local_edges=local_edges, report=report)
            rooted = pairs.join(roots, pairs.a == roots.id)
            whole = rooted.select("a", "b", "distance", "component").repartition("component")
        decide = _Stars(stage(report, "clusters: stars"))
        decided = whole.mapInArrow(decide, "id bigint, kept bigint, distance int")
        # The pairs are needed until this has been computed.
        decided = decided.persist()
        decided.count()
        return decided
    finally:
        pairs.unpersist()


def components(pairs, *, local_edges=LOCAL_EDGES, report=None):
    """The connected components of a graph with the edges a, b: id and component, the least id in
    it, for each id that is in an edge.

    Works in rounds. In each the edges come together twice, by either end (a large star) and by the
    greater one (a small star), and each time a task contracts all that it has: every id of a
    component of its edges is linked to the least id there. Rounds are some for each doubling of the
    longest way. What is left goes to one task, once it is no more than `local_edges`.
    """
    from pyspark.sql import functions as F

    contract = _Contract(stage(report, "components: contract"), local_edges)
    edges = pairs.select("a", "b").mapInArrow(contract, "a bigint, b bigint").persist()
    before = last = None
    while True:
        now = edges.agg(F.count("a"), F.bit_xor(F.xxhash64("a", "b"))).first()
        if last is not None:
            last.unpersist()
        if now == before:
            break
        if now[0] <= local_edges:
            edges = edges.repartition(1).mapInArrow(contract, "a bigint, b bigint")
            break
        ends = edges.union(edges.select(F.col("b").alias("a"), F.col("a").alias("b")))
        large = ends.repartition("a").mapInArrow(contract, "a bigint, b bigint")
        small = large.repartition("a").mapInArrow(contract, "a bigint, b bigint").persist()
        before, last, edges = now, edges, small
    # An edge for each id but the least one of its component.
    others = edges.select(F.col("a").alias("id"), F.col("b").alias("component")).distinct()
    roots = others.select(F.col("component").alias("id"), "component").distinct()
    return others.union(roots)


class _Contract:
    """Links every id of a component of a partition to its least one; a is the greater one of an
    edge."""

    def __init__(self, stage, most):
        self.stage, self.most = stage, most

    def __call__(self, batches):
        task, held = self.stage.task(), None
        for rows in frames.together(batches, self.most):
            task.rows_in += rows.num_rows
            rows = rows.select(["a", "b"])
            held = _contracted(rows if held is None else pa.concat_tables([held, rows]))
        if held is not None:
            task.rows_out = held.num_rows
            yield from held.to_batches(max_chunksize=1 << 16)
        task.done()


def _contracted(rows):
    a, b = (frames.unsigned(rows.column(name).combine_chunks()) for name in ("a", "b"))
    ids, roots = native_components(a, b)
    linked = ids != roots
    return pa.table({"a": ids[linked], "b": roots[linked]})


class _Stars:
    """Decides about all components of a partition."""

    def __init__(self, stage):
        self.stage = stage

    def __call__(self, batches):
        task, rows = self.stage.task(), [batch.select(["a", "b", "distance"]) for batch in batches]
        if not rows:
            return
        rows = pa.Table.from_batches(rows)
        task.rows_in = rows.num_rows
        a, b = (frames.unsigned(rows.column(name).combine_chunks()) for name in ("a", "b"))
        distances = rows.column("distance").combine_chunks().view(pa.uint32())
        ids, kept, distances = native_stars(a, b, distances)
        distances = pa.array(distances).cast(pa.int32())
        decided = pa.table({"id": ids, "kept": kept, "distance": distances})
        task.rows_out = decided.num_rows
        yield from decided.to_batches(max_chunksize=1 << 16)
        task.done()
