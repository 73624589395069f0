"""Texts, files, streams and frames without duplicates, as the command and the library for Rust find
them."""

import json
import pathlib
import random
import subprocess

import fpstore
import numpy as np
import pytest


def texts(count):
    """Texts of which a third are those before them, or nearly."""
    own, rng = [], random.Random(5)
    for _ in range(count):
        if own and rng.random() < 0.4:
            words = list(rng.choice(own))
            for _ in range(rng.randrange(3)):
                words[rng.randrange(len(words))] = f"w{rng.randrange(5000)}"
        else:
            words = [f"w{rng.randrange(5000)}" for _ in range(40)]
        own.append(words)
    return [" ".join(words) for words in own]


@pytest.fixture
def files(tmp_path):
    own = texts(600)
    rows = [{"id": f"d{i}", "rank": i % 7, "text": text} for i, text in enumerate(own)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return own, tmp_path


def rows_of(result, ids):
    """What stands in the table of removed documents."""
    columns = zip(ids, result.kept, result.instead, result.matched, result.distance, result.why)
    return [
        (id, ids[instead], ids[matched], int(distance), why)
        for id, kept, instead, matched, distance, why in columns
        if not kept
    ]


@pytest.mark.parametrize(
    "how",
    [
        {"recipe": "onebit-256", "k": 40},
        {"recipe": "onebit-256", "k": 40, "keep": "longest", "clusters": "components"},
        {"recipe": "bands-20x6", "keep": "central", "verify": "jaccard:0.7"},
    ],
)
def test_texts_files_and_frames_are_decided_alike(files, how):
    own, path = files
    ids = [f"d{i}" for i in range(len(own))]
    output = path / "out"
    report = fpstore.dedup_corpus(path / "a.jsonl", id="id", output=output, removed="jsonl", **how)
    lines = (path / "out/removed.jsonl").read_text().splitlines()
    removed = [json.loads(line) for line in lines]
    columns = ("id", "kept", "matched", "distance", "why")
    expected = [tuple(row[column] for column in columns) for row in removed]
    assert len(expected) > 100 and report["counts"]["kept"] == len(own) - len(expected)
    page = fpstore.corpus_report(output)
    assert page.startswith("<!DOCTYPE html>") and f"{len(expected)} of {len(own)} documents" in page
    lines = (path / "out/documents/a.jsonl").read_text().splitlines()
    kept = [json.loads(line)["id"] for line in lines]
    result = fpstore.dedup(own, **how)
    assert rows_of(result, ids) == expected
    assert [ids[i] for i in np.flatnonzero(result.kept)] == kept
    assert result.report["counts"] == report["counts"]
    # One by one, and as a table.
    for i in [0, -1, 300]:
        one = result[i]
        assert one[0] == result.kept[i] and one[3] == result.why[i]
        assert one[1] == (result.instead[i] if not one[0] else i % len(own))
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"body": own, "id": ids, "rank": [i % 7 for i in range(len(own))]})
    named = fpstore.dedup_corpus(table, text="body", id="id", **how)
    assert rows_of(named, ids) == expected
    answer = named.to_arrow().to_pyarrow()
    assert answer["kept"].to_pylist() == result.kept.tolist()
    assert [name for name in answer["instead"].to_pylist() if name] == [row[1] for row in expected]
    # Batch by batch, in several tables, and from pandas and polars.
    batches = table.slice(0, 250).to_batches(max_chunksize=100)
    stream = pa.RecordBatchReader.from_batches(table.schema, batches)
    parts = fpstore.dedup_corpus([stream, table.slice(250)], text="body", **how)
    assert rows_of(parts, ids) == expected
    pl = pytest.importorskip("polars")
    frame = pl.from_arrow(table)
    assert rows_of(fpstore.dedup_corpus(frame, text="body", **how), ids) == expected
    assert frame.filter(pl.Series(named.kept))["id"].to_list() == kept


def test_the_command_says_the_same(files, program):
    own, path = files
    options = "--id-column id --recipe onebit-256 --removed jsonl -q"
    line = f"{program} corpus dedup {path}/a.jsonl {options}"
    subprocess.run([*line.split(), "-o", path / "by-command"], check=True)
    fpstore.dedup_corpus(path / "a.jsonl", id="id", removed="jsonl", output=path / "by-python")
    for name in ["documents/a.jsonl", "removed.jsonl", "report.json", "report.txt"]:
        assert (path / "by-command" / name).read_bytes() == (path / "by-python" / name).read_bytes()


def test_the_best_of_a_cluster_goes_by_a_column(files):
    own, path = files
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"text": own, "rank": [float(i % 7) for i in range(len(own))]})
    how = {"recipe": "onebit-256", "k": 40, "keep": "max:rank"}
    fpstore.dedup_corpus(path / "a.jsonl", id="id", output=path / "out", removed="jsonl", **how)
    lines = (path / "out/removed.jsonl").read_text().splitlines()
    expected = [json.loads(line)["id"] for line in lines]
    result = fpstore.dedup_corpus(table, **how)
    assert [f"d{i}" for i in np.flatnonzero(~result.kept)] == expected
    with pytest.raises(ValueError, match="texts have no columns"):
        fpstore.dedup(own, keep="max:rank")


@pytest.mark.parametrize("recipe,k", [("onebit-256", 40), ("bands-20x6", None)])
def test_an_earlier_corpus_does_not_come_again(tmp_path, recipe, k):
    pa = pytest.importorskip("pyarrow")
    own = texts(400)
    tables = [
        pa.table({"text": own[from_:to], "id": [f"d{i}" for i in range(from_, to)]})
        for from_, to in [(0, 250), (250, 400)]
    ]
    how = {"recipe": recipe, "k": k, "id": "id", "against": tmp_path / "seen", "add": True}
    first, second = (fpstore.dedup_corpus(table, **how) for table in tables)
    assert "known" not in first.why and "known" in second.why
    place = second.why.index("known")
    kept, name, distance, why = second[place]
    assert (kept, why) == (False, "known") and second.instead[place] == -1
    assert first.kept[int(name[1:])] and distance <= (k or 19)
    again = fpstore.dedup_corpus(tables[1], **how)
    assert not again.kept.any()
    of_each, of_both = 1 if k else 20, int(first.kept.sum() + second.kept.sum())
    assert len(fpstore.open(tmp_path / "seen")) == of_each * of_both


def test_progress_is_told_and_what_it_raises_stops_the_work(files):
    own, _ = files
    seen = []

    def progress(phase, done, total):
        seen.append(phase)
        raise KeyboardInterrupt

    own = own * 60
    with pytest.raises(KeyboardInterrupt):
        fpstore.dedup(own, progress=progress)
    assert seen


def test_what_is_wrong_is_said(files):
    own, path = files
    with pytest.raises(fpstore.RecipeError):
        fpstore.dedup(own, recipe="onebit-255")
    with pytest.raises(ValueError, match="k = 300: is more than the bits"):
        fpstore.dedup(own, k=300)
    with pytest.raises(ValueError, match="keep=.*longest, first"):
        fpstore.dedup(own, keep="shortest")
    with pytest.raises(TypeError, match="not one str"):
        fpstore.dedup("text")
    with pytest.raises(TypeError, match="not int"):
        fpstore.dedup([1])
    with pytest.raises(ValueError, match="output"):
        fpstore.dedup_corpus(path / "a.jsonl")
    with pytest.raises(ValueError, match="against"):
        fpstore.dedup_corpus(path / "a.jsonl", add=True, output=path / "out")
    with pytest.raises(ValueError, match='no column "body"'):
        fpstore.dedup_corpus(pytest.importorskip("pyarrow").table({"text": own}), text="body")
    nulls = pytest.importorskip("pyarrow").table({"text": own[:2], "id": ["a", None]})
    with pytest.raises(ValueError, match="row 1: the id is null"):
        fpstore.dedup_corpus(nulls, id="id")
    with pytest.raises(ValueError, match="line 1"):
        fpstore.dedup_corpus(path / "a.jsonl", text="body", output=path / "out")
    fpstore.dedup_corpus(str(path / "a.jsonl"), output=path / "done")
    with pytest.raises(fpstore.ExistsError, match="keep"):
        fpstore.dedup_corpus(str(path / "a.jsonl"), output=path / "done", keep="longest")
    assert fpstore.dedup([]).kept.tolist() == [] and pathlib.Path(path / "done/report.txt").exists()


def test_all_documents_are_written_with_what_was_decided(files):
    own, path = files
    output = path / "out"
    fpstore.dedup_corpus(path / "a.jsonl", id="id", write="annotated", output=output)
    lines = (output / "documents/a.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    result = fpstore.dedup(own)
    assert [row["why"] for row in rows] == result.why
    assert [row["kept"] == row["id"] for row in rows] == result.kept.tolist()
    with pytest.raises(ValueError, match='write="all"'):
        fpstore.dedup_corpus(path / "a.jsonl", write="all", output=output)


def test_what_was_read_is_decided_again(files):
    _, path = files
    for output, k in [("out", 20), ("scratch", 40)]:
        fpstore.dedup_corpus(path / "a.jsonl", id="id", k=k, keep="longest", output=path / output)
    report = fpstore.corpus_decide(path / "out", k=40)
    assert report["settings"]["k"] == 40
    for name in ["documents/a.jsonl", "removed.jsonl", "report.json"]:
        assert (path / "out" / name).read_bytes() == (path / "scratch" / name).read_bytes()
    with pytest.raises(ValueError, match='clusters="chain"'):
        fpstore.corpus_decide(path / "out", clusters="chain")
