#!/usr/bin/env python3
r"""`fpstore corpus dedup` beside Python packages that remove near duplicates, on the same file in
the same run: one table.

    python3 -m venv venv && venv/bin/pip install rensa gaoya orjson zstandard
    cargo run --release -p fpstore-cli --example documents 200000 > corpus.jsonl.zst
    venv/bin/python tools/text/benches/corpus_peers.py corpus.jsonl.zst \
        --program target/release/fpstore

Each tool reads the file, makes word 3-grams, and writes what is kept to a file of the same kind, in
a process of its own; the tools take turns, in `--rounds` rounds, of which the best is shown. Time
is that of the processor, user and system, and by the clock; memory is the largest resident set. The
example's ids say which documents were planted, so that found is the share of those that are
removed; *wrong* are removed ones that are nobody's copy.

rensa hashes features that Python cuts (R-MinHash, 128 values, 16 bands), and its deduplicator keeps
the first of what agrees; gaoya cuts and hashes in Rust, on all cores (MinHash, 126 values of 32
bits, 21 bands of 6, Jaccard similarity of 0.7), and its index is asked before each batch is
inserted. Both hold their index in memory. Packages that are not installed are left out.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

BATCH = 4096
WORD = re.compile(r"\w+")


def batches(path):
    """Lines with their documents, so many at a time."""
    import io

    import orjson
    import zstandard

    with open(path, "rb") as file, zstandard.ZstdDecompressor().stream_reader(file) as stream:
        lines, documents = [], []
        for line in io.BufferedReader(stream, 1 << 20):
            lines.append(line)
            documents.append(orjson.loads(line))
            if len(lines) == BATCH:
                yield lines, documents
                lines, documents = [], []
        if lines:
            yield lines, documents


def write_kept(path, out, keeps):
    """Writes those lines for which `keeps`, called with documents of a batch, gives true."""
    import zstandard

    with (
        open(out, "wb") as file,
        zstandard.ZstdCompressor(3, threads=2).stream_writer(file) as stream,
    ):
        for lines, documents in batches(path):
            for line, kept in zip(lines, keeps(documents)):
                if kept:
                    stream.write(line)


def features(text):
    words = WORD.findall(text.lower())
    return [" ".join(words[i : i + 3]) for i in range(len(words) - 2)]


def run_rensa(path, out):
    import rensa

    deduplicator = rensa.RMinHashDeduplicator(0.7, num_perm=128, use_lsh=True, num_bands=16, seed=1)

    def keeps(documents):
        sets = [features(document["text"]) for document in documents]
        hashes = rensa.RMinHash.from_token_sets(sets, 128, 1)
        pairs = [(document["id"], one) for document, one in zip(documents, hashes)]
        return deduplicator.add_pairs(pairs)

    write_kept(path, out, keeps)


def run_gaoya(path, out):
    from gaoya.minhash import MinHashStringIndex

    index = MinHashStringIndex(32, 0.7, 21, 6, None, "word", True, (3, 3))
    number = 0

    def keeps(documents):
        nonlocal number
        texts = [document["text"] for document in documents]
        ids = list(range(number, number + len(texts)))
        number += len(texts)
        # What is near an earlier document of the same batch is found once the batch is in.
        index.par_bulk_insert_docs(ids, texts)
        found = index.par_bulk_query(texts)
        kept = [all(other >= own for other in near) for own, near in zip(ids, found)]
        for own, keep in zip(ids, kept):
            if not keep:
                index.remove(own)
        return kept

    write_kept(path, out, keeps)


PEERS = {"rensa": run_rensa, "gaoya": run_gaoya}


def is_there(name):
    command = [sys.executable, "-c", f"import {name}, orjson, zstandard"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def measured(command):
    """Runs a command; seconds by the clock, user and system seconds, and MiB."""
    start = time.perf_counter()
    child = subprocess.Popen(command)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"{command[0]} failed")
    return time.perf_counter() - start, usage.ru_utime, usage.ru_stime, usage.ru_maxrss / 1024


def names_of(path):
    """The kinds and ids of the documents of a file."""
    return {document["id"] for _, documents in batches(path) for document in documents}


def counts_of(names, kinds):
    """How many names there are of each kind."""
    return [sum(name.startswith(kind) for name in names) for kind in kinds]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", help="what the example `documents` has written")
    parser.add_argument("--program", metavar="FILE", default="fpstore")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument(
        "--recipe",
        action="append",
        help="of fpstore; again for several [default: onebit-256, simhash-64]",
    )
    parser.add_argument("--run", nargs=2, metavar=("PEER", "OUT"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.run:
        PEERS[arguments.run[0]](arguments.corpus, arguments.run[1])
        return
    everything = names_of(arguments.corpus)
    beside = os.path.dirname(os.path.abspath(arguments.corpus))
    with tempfile.TemporaryDirectory(dir=beside) as directory:
        tools = {}
        for recipe in arguments.recipe or ["onebit-256", "simhash-64"]:
            out = os.path.join(directory, recipe)
            kept = os.path.join(out, "documents", os.path.basename(arguments.corpus))
            options = ["--id-column", "id", "--quiet", "--recipe", recipe, "-o", out]
            command = [arguments.program, "corpus", "dedup", arguments.corpus, *options]
            tools[f"fpstore, {recipe}"] = (command, out, kept)
        for peer in filter(is_there, PEERS):
            out = os.path.join(directory, peer)
            command = [sys.executable, __file__, arguments.corpus, "--run", peer, out]
            tools[peer] = (command, out, out)
        best, found = {}, {}
        for _ in range(arguments.rounds):
            for name, (command, out, kept) in tools.items():
                figures = measured(command)
                if name not in best or figures[1] + figures[2] < best[name][1] + best[name][2]:
                    best[name] = figures
                removed = everything - names_of(kept)
                found[name] = counts_of(removed, ("equal", "near", "own"))
                shutil.rmtree(out) if os.path.isdir(out) else os.remove(out)
    planted = counts_of(everything, ("equal", "near"))
    print("| tool | user s | system s | clock s | MiB | equal found | near found | wrong |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for name, (clock, user, system, mib) in best.items():
        equal, near, own = found[name]
        shares = f"{100 * equal / planted[0]:.2f}% | {100 * near / planted[1]:.2f}%"
        print(
            f"| {name} | {user:.1f} | {system:.1f} | {clock:.1f} | {mib:.0f} | {shares} | {own} |"
        )
    print(f"\n{len(everything)} documents")


if __name__ == "__main__":
    main()
