"""Spark against numpy, and against the join of a single machine; executors are killed on the
way."""

import itertools
import os
import pathlib
import runpy
import signal
import sys

import fpstore
import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
DATA = pathlib.Path(__file__).parents[3] / "tests" / "data"
JOBS = pathlib.Path(__file__).parents[1] / "jobs"


def clustered(count, bits, seed, centres=20):
    """Fingerprints with up to three flips from some centres, as rows of bytes; some are
    repeated."""
    random = np.random.default_rng(seed)
    middles = random.integers(0, 256, (centres, bits // 8), dtype=np.uint8)
    rows = np.unpackbits(middles[random.integers(0, centres, count)], axis=1)
    for row in rows:
        row[random.integers(0, bits, random.integers(0, 4))] ^= 1
    return np.packbits(rows, axis=1)


def as_spark(rows):
    """Rows of bytes as Spark has them: numbers with a sign, or bytes."""
    width = rows.shape[1]
    if width > 8:
        return [bytes(row) for row in rows]
    kind = {4: ">i4", 8: ">i8"}[width]
    return np.ascontiguousarray(rows).view(kind).ravel().tolist()


def as_bytes(value, width):
    """What Spark has of a fingerprint, as bytes."""
    return bytes(value) if width > 8 else (value % 2 ** (8 * width)).to_bytes(width, "big")


def brute_force(rows, k):
    """Pairs of places within k, and their distance."""
    bits = np.unpackbits(rows, axis=1).astype(np.int32)
    ones = bits.sum(axis=1)
    distances = ones[:, None] + ones[None, :] - 2 * (bits @ bits.T)
    a, b = np.nonzero(np.triu(distances <= k, 1))
    return {(int(a), int(b), int(distances[a, b])) for a, b in zip(a, b)}


def frame(spark, rows, ids=True, nulls=0):
    """A data frame of fingerprints, with their places as ids."""
    kind = {4: "int", 8: "bigint"}.get(rows.shape[1], "binary")
    values = as_spark(rows) + [None] * nulls
    df = spark.createDataFrame(list(enumerate(values)), f"id bigint, fingerprint {kind}")
    return df.repartition(3) if ids else df.select("fingerprint").repartition(3)


def collected(df):
    return [tuple(row) for row in df.collect()]


def of_bytes(df, width):
    """Rows of two fingerprints and their distance, with the fingerprints as bytes."""
    return [
        (as_bytes(one, width), as_bytes(other, width), distance)
        for one, other, distance in collected(df)
    ]


@pytest.mark.parametrize("bits, k", [(32, 2), (64, 3), (128, 5), (256, 31)])
def test_near_pairs_of_every_width_are_those_of_brute_force(spark, monkeypatch, bits, k):
    from fpstore import spark as fps
    from fpstore.spark import _pairs

    rows = clustered(300, bits, seed=bits)
    expected = brute_force(rows, k)
    assert len(expected) > 500 and any(distance == 0 for *_, distance in expected)
    df = frame(spark, rows, nulls=3)
    found = collected(fps.near_pairs(df, k=k, id="id"))
    assert len(found) == len(set(found)) and set(found) == expected
    if bits in (64, 128):
        return
    # Without ids pairs of distinct fingerprints; sent in pieces of a few rows, for which Spark
    # sorts the partitions, and to more tasks.
    monkeypatch.setattr(_pairs, "TOGETHER_BYTES", 20 * bits // 8)
    monkeypatch.setattr(_pairs, "TASK_BYTES", 1 << 14)
    own = [bytes(row) for row in rows]
    distinct = {
        (min(own[a], own[b]), max(own[a], own[b]), distance)
        for a, b, distance in expected
        if distance
    }
    found = of_bytes(fps.near_pairs(df, k=k), bits // 8)
    assert len(found) == len(set(found)) and set(found) == distinct


def single_machine(directory, values, k):
    """The pairs of the join of one machine, sorted."""
    fpstore.pack(str(directory / "store"), values, k=k, replace=True)
    pairs = fpstore.open(str(directory / "store")).self_join(k).to_pyarrow()
    return sorted_pairs(*(pairs.column(name).to_numpy() for name in ("a", "b", "distance")))


def sorted_pairs(a, b, distance):
    order = np.lexsort((b, a))
    return a[order], b[order], distance[order]


def spread(pairs):
    pairs = pairs.toPandas()
    a, b = (pairs[name].to_numpy(copy=True).view(np.uint64) for name in ("a", "b"))
    return sorted_pairs(a, b, pairs["distance"].to_numpy())


def of_values(spark, values):
    import pandas

    return spark.createDataFrame(pandas.DataFrame({"fingerprint": values.view(np.int64)}))


def test_pairs_of_real_fingerprints_are_those_of_the_join_of_one_machine(spark, tmp_path):
    from fpstore import spark as fps

    values = np.fromfile(DATA / "devset-100k.u64", dtype=np.uint64)
    expected = single_machine(tmp_path, values, 3)
    report = fps.Report(spark)
    found = spread(fps.near_pairs(of_values(spark, values), k=3, report=report))
    assert len(expected[0]) > 30_000
    assert all(np.array_equal(one, other) for one, other in zip(expected, found))
    count, send, join = report.stages()
    assert count.rows_in == send.rows_in == len(values) and join.rows_out == len(expected[0])
    # What was predicted is what was sent.
    assert send.rows_out == join.rows_in == pytest.approx(report.predicted["rows_sent"], rel=0.02)
    assert join.bytes >= 8 * join.rows_in and "amplification" in str(report)


def test_a_cluster_of_tens_of_thousands_is_spread_over_tasks(spark, tmp_path):
    from fpstore import spark as fps

    flips = [
        sum(1 << bit for bit in some)
        for count in range(4)
        for some in itertools.combinations(range(64), count)
    ]
    cluster = np.array(flips, dtype=np.uint64) ^ np.uint64(0x0123_4567_89AB_CDEF)
    assert len(cluster) == 43_745
    others = np.random.default_rng(5).integers(0, 2**64, 150_000, dtype=np.uint64)
    values = np.concatenate([cluster, others])
    report = fps.Report(spark)
    # Within 1: the pairs within 3 are eight millions, of which a test has no need.
    found = spread(fps.near_pairs(of_values(spark, values), k=1, tasks=24, report=report))
    expected = single_machine(tmp_path, values, 1)
    assert all(np.array_equal(one, other) for one, other in zip(expected, found))
    assert report.predicted["splits"] >= 2 and report.predicted["skew"] <= 3
    received = sorted(task.rows_in for task in report.tasks() if task.stage == "near_pairs: join")
    # All of the cluster would be in one task of each table.
    assert len(received) <= 4 * 24 and received[-1] <= len(cluster) // 2


def path_and_tangle(seed):
    """Edges of a long way and of a random graph, with ids of both signs."""
    random = np.random.default_rng(seed)
    way = random.permutation(300) - 150
    tangle = random.integers(1000, 1400, (250, 2))
    edges = list(zip(way, way[1:])) + [tuple(edge) for edge in tangle]
    return [(int(min(edge)), int(max(edge)), 1) for edge in edges if edge[0] != edge[1]]


def naive_components(edges):
    label = {id: id for edge in edges for id in edge[:2]}
    changed = True
    while changed:
        changed = False
        for a, b, _ in edges:
            least = min(label[a], label[b])
            changed |= label[a] != least or label[b] != least
            label[a] = label[b] = least
    return label


def naive_stars(edges):
    near = {}
    for a, b, distance in edges:
        near.setdefault(a, {})[b] = distance
        near.setdefault(b, {})[a] = distance
    kept = {}
    for id in sorted(near):
        before = [other for other in sorted(near[id]) if other < id and kept[other] == (other, 0)]
        kept[id] = (before[0], near[id][before[0]]) if before else (id, 0)
    return kept


@pytest.mark.parametrize("local_edges", [1 << 22, 0])
def test_components_and_stars_are_those_of_naive_walks(spark, local_edges):
    from fpstore import spark as fps

    edges = path_and_tangle(seed=3)
    pairs = spark.createDataFrame(edges, "a bigint, b bigint, distance int").repartition(4)
    found = collected(fps.components(pairs, local_edges=local_edges))
    assert len(found) == len(dict(found)) and dict(found) == naive_components(edges)
    found = collected(fps.clusters(pairs, local_edges=local_edges))
    assert len(found) == len({row[0] for row in found})
    assert {id: (kept, distance) for id, kept, distance in found} == naive_stars(edges)
    if local_edges:
        kept = {id: kept for id, kept, _ in collected(fps.clusters(pairs, "components"))}
        assert kept == naive_components(edges)


WORDS = """
    harbour master counts ships dawn rope salt gull tide lamp stone wind crane cargo deck
""".split()


def texts(seed):
    """Texts, some the same but for case, some changed by a word, and some too short."""
    random = np.random.default_rng(seed)
    base = [" ".join(random.choice(WORDS, 60)) for _ in range(30)]
    all_of = ["", "Tide", "tide", None]
    for _ in range(150):
        words = base[random.integers(30)].split()
        for _ in range(random.integers(0, 3)):
            words[random.integers(60)] = random.choice(WORDS)
        text = " ".join(words)
        all_of.append(text.upper() if random.random() < 0.2 else text)
    return all_of


def naive_dedup(all_of, recipe, k):
    """As the words of `dedup` say it, document by document."""
    exact = {}
    fates, kept = {}, []
    for id, text in enumerate(all_of):
        prepared = " ".join((text or "").lower().split())
        if prepared in exact:
            fates[id] = (exact[prepared], 0, "exact")
            continue
        exact[prepared] = id
        print_of = recipe.fingerprint(text or "")
        near = []
        if print_of is not None:
            near = [(other, (print_of ^ before).bit_count()) for other, before in kept]
        near = [(other, distance) for other, distance in near if distance <= k]
        if near:
            fates[id] = (*near[0], "near")
            continue
        fates[id] = (id, None, None)
        if print_of is not None:
            kept.append((id, print_of))
    for id, (other, distance, why) in fates.items():
        if why == "exact":
            fates[id] = (fates[other][0], distance, why)
    return fates


@pytest.mark.parametrize("name", ["simhash-64-chars", "onebit-256"])
def test_dedup_of_texts_does_what_its_words_say(spark, name):
    from fpstore import spark as fps

    recipe, all_of = fpstore.Recipe(name), texts(seed=8)
    expected = naive_dedup(all_of, recipe, recipe.k)
    assert {why for *_, why in expected.values()} == {"exact", "near", None}
    df = spark.createDataFrame(list(enumerate(all_of)), "id bigint, text string").repartition(3)
    found = collected(fps.dedup(df, text="text", recipe=name))
    assert len(found) == len(all_of)
    assert {id: tuple(rest) for id, *rest in found} == expected


def test_dedup_of_fingerprints_keeps_the_first_of_equal_ones(spark):
    from fpstore import spark as fps

    rows = clustered(300, 64, seed=4)
    near = brute_force(rows, 2)
    stars = naive_stars(near)
    found = collected(fps.dedup(frame(spark, rows, nulls=2), fingerprint="fingerprint", k=2))
    assert {row[0] for row in found} == set(range(302))
    expected = {(id, stars.get(id, (id,))[0]) for id in range(302)}
    assert {(id, kept) for id, kept, *_ in found} == expected
    for id, kept, distance, why in found:
        assert (why == "near") == (id != kept) and (distance is None) == (why is None)


def test_fingerprints_of_texts_are_those_of_the_recipe(spark):
    from fpstore import spark as fps

    all_of = texts(seed=2)
    df = spark.createDataFrame([(text,) for text in all_of], "text string").repartition(2)
    for name in ("simhash-64", "onebit-256"):
        recipe = fpstore.Recipe(name)
        for text, found in collected(fps.fingerprint(df, "text", name)):
            if found is not None:
                found = int.from_bytes(as_bytes(found, recipe.bits // 8), "big")
            assert found == recipe.fingerprint(text or ""), text


def matches(stored, queries, k):
    """Query, fingerprint and distance, in order, by brute force."""
    stored, queries = ({bytes(row) for row in rows} for rows in (stored, queries))
    found = []
    for query, other in itertools.product(queries, stored):
        distance = (int.from_bytes(query, "big") ^ int.from_bytes(other, "big")).bit_count()
        if distance <= k:
            found.append((query, distance, other))
    return [(query, other, distance) for query, distance, other in sorted(found)]


@pytest.mark.parametrize("bits, k", [(32, 2), (64, 3), (256, 20)])
def test_shards_answer_as_brute_force_does(spark, tmp_path, bits, k):
    from fpstore import spark as fps

    rows = clustered(400, bits, seed=bits + 1)
    stored, queries = rows[:300], rows[250:]
    path = str(tmp_path / "shards") if bits == 64 else (tmp_path / "shards").as_uri()
    manifest = fps.pack_shards(frame(spark, stored), path, id="id", k=k, shards=3)
    shards = manifest["shards"]
    assert len(shards) == 3 and sum(shard["rows"] for shard in shards) == 300
    firsts = [shard["first"] for shard in shards]
    assert firsts == sorted(firsts)
    first = min(bytes(row) for row in stored)
    assert firsts[0] == first.hex()
    found = of_bytes(fps.match(frame(spark, queries), path, k), bits // 8)
    assert found == matches(stored, queries, k) and len(found) > 300
    one = fpstore.open(str(tmp_path / "shards" / shards[0]["name"]))
    places = {place for place, row in enumerate(stored) if bytes(row) == first}
    assert {int(id) for id in one.ids(first)} == places
    with pytest.raises(fpstore.ExistsError):
        fps.pack_shards(frame(spark, stored), path)
    again = fps.pack_shards(frame(spark, queries), path, k=k, shards=2, replace=True)
    left = {entry.name for entry in (tmp_path / "shards").iterdir()}
    assert left == {shard["name"] for shard in again["shards"]} | {"shards.json"}


def test_names_are_ids_wherever_numbers_are(spark, tmp_path):
    from fpstore import spark as fps
    from pyspark.sql import functions as F

    rows = clustered(300, 64, seed=77)
    df = frame(spark, rows)
    # In another order than the numbers, so that another one of a cluster is kept.
    names = [f"https://{place * 37 % 300:03}.example/ö" for place in range(300)]
    order = sorted(range(300), key=lambda place: names[place].encode())
    rank = {place: at for at, place in enumerate(order)}
    table = spark.createDataFrame(
        [(place, name, rank[place]) for place, name in enumerate(names)],
        "id bigint, name string, rank bigint",
    )
    df = df.join(table, "id").persist()
    pairs = fps.near_pairs(df, k=3, id="name")
    found = collected(pairs)
    expected = {
        (*sorted([names[a], names[b]], key=str.encode), distance)
        for a, b, distance in brute_force(rows, 3)
    }
    assert len(found) == len(set(found)) and set(found) == expected and len(found) > 500

    def of(fates):
        in_order = [names[place] for place in order]
        return {(in_order[row[0]], in_order[row[1]], *row[2:]) for row in fates.collect()}

    ranked = fps.near_pairs(df, k=3, id="rank").persist()
    for kind in ("star", "components"):
        assert set(collected(fps.clusters(pairs, kind))) == of(fps.clusters(ranked, kind))
    by_name = fps.dedup(df, id="name", fingerprint="fingerprint", k=3)
    assert set(collected(by_name)) == of(fps.dedup(df, id="rank", fingerprint="fingerprint", k=3))
    manifest = fps.pack_shards(df, str(tmp_path / "shards"), id="name", shards=2)
    stores = [fpstore.open(tmp_path / "shards" / shard["name"]) for shard in manifest["shards"]]
    held = {}
    for store in stores:
        assert store.id_kind == "text"
        for one in store.fingerprints().tolist():
            held[one] = store.ids(one)
    model = {}
    for row, name in zip(rows, names):
        model.setdefault(int.from_bytes(bytes(row), "big"), []).append(name)
    assert held == {one: sorted(all_of, key=str.encode) for one, all_of in model.items()}
    # A row without an id is told, and not passed over.
    some = df.withColumn("name", F.when(F.col("rank") > 5, F.col("name")))
    with pytest.raises(Exception, match="null"):
        fps.near_pairs(some, k=3, id="name").collect()


class Killing:
    """A report whose tasks kill their executor once in each stage, when they have done their
    work."""

    def __init__(self, directory):
        self.directory, self.predicted = directory, {}

    def _stage(self, name):
        return Killer(str(self.directory / name.replace(" ", "-").replace(":", "")))


class Killer:
    def __init__(self, mark):
        self.mark = mark

    def task(self):
        return self

    rows_in = rows_out = bytes = 0

    def done(self):
        try:
            os.close(os.open(self.mark, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return
        # This worker was forked by a daemon, whose parent is the executor.
        daemon = os.getppid()
        with open(f"/proc/{daemon}/stat") as stat:
            executor = int(stat.read().rsplit(")", 1)[1].split()[1])
        os.kill(executor, signal.SIGKILL)


@pytest.fixture
def by_value():
    """Workers cannot import this file, so that what is in it goes to them whole."""
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    yield
    cloudpickle.unregister_pickle_by_value(sys.modules[__name__])


def test_an_executor_killed_in_each_stage_changes_nothing(spark, tmp_path, by_value):
    from fpstore import spark as fps

    marks = tmp_path / "marks"
    marks.mkdir()
    rows = clustered(400, 64, seed=11)
    df, killing = frame(spark, rows), Killing(marks)
    assert set(collected(fps.near_pairs(df, k=3, id="id", report=killing))) == brute_force(rows, 3)
    edges = path_and_tangle(seed=9)
    pairs = spark.createDataFrame(edges, "a bigint, b bigint, distance int").repartition(4)
    found = collected(fps.clusters(pairs, local_edges=100, report=killing))
    assert {id: (kept, distance) for id, kept, distance in found} == naive_stars(edges)
    path = str(tmp_path / "shards")
    manifest = fps.pack_shards(df, path, k=3, shards=2, report=killing)
    left = {entry.name for entry in pathlib.Path(path).iterdir()}
    assert left == {shard["name"] for shard in manifest["shards"]} | {"shards.json"}
    assert of_bytes(fps.match(df, path, 3, report=killing), 8) == matches(rows, rows, 3)
    killed = sorted(mark.name for mark in marks.iterdir())
    assert killed == [
        "clusters-stars",
        "components-contract",
        "match-answer",
        "match-send",
        "near_pairs-count",
        "near_pairs-join",
        "near_pairs-send",
        "pack_shards-pack",
    ]


def test_wrong_arguments_say_what_would_be_right(spark, tmp_path):
    from fpstore import spark as fps

    row = (1, 2.0, "x", 5)
    df = spark.createDataFrame([row], "id bigint, share double, name string, narrow int")
    for call, error, words in [
        (lambda: fps.near_pairs(df), ValueError, "there is no column 'fingerprint'"),
        (lambda: fps.near_pairs(df, "share"), TypeError, "fingerprints are int"),
        (lambda: fps.near_pairs(df, "id", id="share"), TypeError, "ids are bigint or string"),
        (lambda: fps.near_pairs(df, "id", k=64), ValueError, "parts cannot be 65"),
        (lambda: fps.near_pairs(df, "id", bits=32), ValueError, "which is 64 bits"),
        (lambda: fps.fingerprint(df, "share"), TypeError, "texts are string"),
        (lambda: fps.dedup(df), ValueError, "give text, or fingerprint"),
        (lambda: fps.dedup(df, fingerprint="id"), ValueError, "give k"),
        (lambda: fps.match(df, tmp_path, 3, "id"), fpstore.NotFoundError, "pack_shards writes it"),
        (lambda: fps.clusters(df), ValueError, "there is no column 'a'"),
    ]:
        with pytest.raises(error, match=words):
            call()


def run_job(name, *arguments):
    runpy.run_path(str(JOBS / f"{name}.py"))["main"]([str(argument) for argument in arguments])


def test_the_jobs_clean_pack_and_match_and_log_their_stages(spark, tmp_path, caplog):
    import json

    caplog.set_level("INFO", "fpstore.spark")
    recipe, all_of = fpstore.Recipe("simhash-64-chars"), [text or "" for text in texts(seed=5)]
    # Names in another order than the numbers that they get.
    names = [f"page-{place * 37 % len(all_of):04}" for place in range(len(all_of))]
    (tmp_path / "in").mkdir()
    lines = [json.dumps({"name": name, "body": text}) for name, text in zip(names, all_of)]
    (tmp_path / "in" / "pages.json").write_text("\n".join(lines))
    order = sorted(range(len(all_of)), key=lambda place: names[place])
    fates = naive_dedup([all_of[place] for place in order], recipe, recipe.k)
    in_order = sorted(names)
    options = "--format json --id name --text body --recipe simhash-64-chars"
    run_job("dedup", tmp_path / "in", tmp_path / "out", *options.split())
    kept = spark.read.parquet(str(tmp_path / "out" / "kept"))
    assert sorted(kept.columns) == ["body", "name"]
    stay = {in_order[id] for id, (*_, why) in fates.items() if why is None}
    assert {row.name for row in kept.collect()} == stay
    removed = spark.read.parquet(str(tmp_path / "out" / "removed"))
    assert set(collected(removed)) == {
        (in_order[id], in_order[other], distance, why)
        for id, (other, distance, why) in fates.items()
        if why
    }
    said = [record.getMessage() for record in caplog.records]
    joins = [line for line in said if line.startswith("near_pairs: join: ")]
    assert any(all(of in line for of in ("rows in", "bytes", "s of CPU")) for line in joins)
    assert any("removed " in line and line.endswith(" s") for line in said)

    rows = clustered(300, 64, seed=6)
    frame(spark, rows).write.parquet(str(tmp_path / "prints"))
    run_job("pack_shards", tmp_path / "prints", tmp_path / "shards", "--id", "id", "--count", 2)
    run_job("match", tmp_path / "prints", tmp_path / "shards", tmp_path / "found", "-k", 3)
    found = spark.read.parquet(str(tmp_path / "found"))
    assert of_bytes(found, 8) == matches(rows, rows, 3)
    said = [record.getMessage() for record in caplog.records]
    for words in ("packed 300 rows in 2 shards", "match: answer"):
        assert any(line.startswith(words) for line in said)
