#!/usr/bin/env python3
"""Throughput beside Python packages, on the same texts in the same run: one table.

    python3 -m venv venv && venv/bin/pip install simhash==2.1.2 datasketch rensa gaoya
    venv/bin/python tools/text/benches/peers.py [--english FILE] [--chinese FILE] [--program FILE]

Each FILE has a text per line. Without one, texts of some 2 KB are made: of the words of this
crate's documentation, and of a Chinese paragraph, in the order of a generator with a fixed seed.
Packages that are not installed are left out. MB is a million bytes of UTF-8; the figure is the best
of three rounds, on one core, then on two: threads here, processes for Python. All make features of
three words in a row, of the same words (for Chinese, four characters), so that Python spends its
time on them too: that is what its users do. What `datasketch` and `rensa` take without the features
is in a row of its own.
"""

import argparse
import json
import multiprocessing
import os
import random
import re
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROUNDS = 3
WORD = re.compile(r"\w+")

CHINESE = (
    "港务长每天黎明数一次船，黄昏再数一次。没有人要求他这样做；到下一个港口有三点五海里，而他睡得不好。一共有四十一艘，其中一艘昨天还不在。"
    "潮汐表摊开在他的桌子上，那艘船叫什么名字？它已经被重新漆过两次了。文档的指纹是一个数字，两个文档越相似，它们的指纹相差的位数就越少。"
    "特征是相邻的几个词或者几个字符，每个特征都有一个权重，权重可以是它出现的次数，也可以是它在语料库中的稀有程度。"
)


def made(words, join, per_text, count):
    """Texts whose words have the frequencies of real ones."""
    draw = random.Random(1)

    def word(i):
        return words[i % len(words)] if i % 3 == 0 else draw.choice(words)

    return [join.join(word(i) for i in range(per_text)) for _ in range(count)]


def texts_of(path, language):
    if path:
        with open(path, encoding="utf-8") as file:
            return [line.rstrip("\n") for line in file if line.strip()]
    if language == "English":
        with open(os.path.join(HERE, "..", "GRAMMAR.md"), encoding="utf-8") as file:
            words = [word for word in file.read().split() if word.isascii()]
        return made(words, " ", 400, 500)
    return made(list(CHINESE), "", 700, 500)


def features(text, chinese):
    if chinese:
        letters = "".join(WORD.findall(text.lower()))
        return [letters[i : i + 4] for i in range(len(letters) - 3)]
    words = WORD.findall(text.lower())
    return [" ".join(words[i : i + 3]) for i in range(len(words) - 2)]


def peers():
    """Name, whether it takes features ready made, and what makes a signature of a text or of its
    features."""
    found = []
    try:
        from simhash import Simhash

        found.append(("simhash 2.1.2, its own features", False, lambda text: Simhash(text).value))
        found.append(("simhash 2.1.2, same features", True, lambda of: Simhash(of).value))
    except ImportError:
        pass
    try:
        from datasketch import MinHash

        def datasketch(of):
            minhash = MinHash(num_perm=128)
            minhash.update_batch([feature.encode() for feature in of])
            return minhash.hashvalues

        found.append(("datasketch MinHash, 128", True, datasketch))
    except ImportError:
        pass
    try:
        import rensa

        for kind in ("RMinHash", "CMinHash"):
            make = getattr(rensa, kind, None)
            if make is None:
                continue

            def minima(of, make=make):
                minhash = make(num_perm=128, seed=1)
                minhash.update(of)
                return minhash.digest()

            found.append((f"rensa {kind}, 128", True, minima))
    except ImportError:
        pass
    try:
        from gaoya.simhash import SimHashStringIndex

        # It gives no signatures, so what is measured is an index that takes the texts.
        index = {
            True: SimHashStringIndex(64, 6, 3, "word", True, (3, 3)),
            False: SimHashStringIndex(64, 6, 3, "char", True, (4, 4)),
        }

        def insert(of):
            return index[of.isascii()].insert_document(1, of)

        found.append(("gaoya SimHash, inserted in its index", False, insert))
    except ImportError:
        pass
    return found


PEERS = peers()


def run_peer(arguments):
    """All texts once; seconds."""
    index, texts, chinese, ready = arguments
    _, takes_features, sign = PEERS[index]
    if takes_features and ready:
        texts = [features(text, chinese) for text in texts]
    start = time.perf_counter()
    for text in texts:
        sign(text if ready or not takes_features else features(text, chinese))
    return time.perf_counter() - start


def rate(index, texts, chinese, ready, pool):
    size = sum(len(text.encode()) for text in texts) / 1e6
    one = min(run_peer((index, texts, chinese, ready)) for _ in range(ROUNDS))
    halves = [(index, texts[half::2], chinese, ready) for half in range(2)]
    two = min(max(pool.map(run_peer, halves, chunksize=1)) for _ in range(ROUNDS))
    return size / one, size / two


def own(texts, program):
    """What the example `throughput` says: (recipe, MB/s, MB/s on two threads)."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
        file.write("\n".join(text.replace("\n", " ") for text in texts))
        file.flush()
        cargo = "cargo run -q --release --locked -p fpstore-text --example throughput".split()
        command = [os.path.abspath(program)] if program else cargo
        settings = dict(os.environ, FPSTORE_TEXTS=file.name, FPSTORE_THREADS="2", FPSTORE_JSON="1")
        run = subprocess.run(
            command, env=settings, cwd=HERE, capture_output=True, text=True, check=False
        )
    if run.returncode:
        sys.exit(f"the example throughput failed: {run.stderr.strip()}")
    rows = [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]
    return [(row["recipe"], row["one"], row["threads"]) for row in rows]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--english", metavar="FILE")
    parser.add_argument("--chinese", metavar="FILE")
    parser.add_argument(
        "--program",
        metavar="FILE",
        help="the example `throughput`, built; else cargo builds and runs it",
    )
    arguments = parser.parse_args()
    print(f"| {'texts':8} | {'what':46} | {'MB/s, one core':>14} | {'two':>8} | {'times':>5} |")
    print("| --- | --- | --- | --- | --- |")
    with multiprocessing.Pool(2) as pool:
        for language, path in (("English", arguments.english), ("Chinese", arguments.chinese)):
            texts = texts_of(path, language)
            rows = own(texts, arguments.program)
            for index, (name, takes_features, _) in enumerate(PEERS):
                for ready in (False, True) if takes_features else (False,):
                    what = f"{name}, without features" if ready else name
                    rows.append((what, *rate(index, texts, language == "Chinese", ready, pool)))
            for name, one, two in rows:
                print(
                    f"| {language:8} | {name:46} | {one:14.1f} | {two:8.1f} | {two / one:5.2f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
