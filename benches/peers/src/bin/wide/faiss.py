"""Searches with the binary indexes of FAISS: by one thread, one query after the other, answers
compared."""

import math
import sys
import time
from pathlib import Path

import faiss
import numpy as np

directory, bits, what, number = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
faiss.omp_set_num_threads(1)
base = np.fromfile(directory / "set.bin", dtype=np.uint8).reshape(-1, bits // 8)
queries = np.fromfile(directory / "queries.bin", dtype=np.uint8).reshape(-1, bits // 8)
answers = (directory / "answers.txt").read_text().split("\n")


def memory():
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) * 1024
    return 0


def measure(name, index, search, most, note=""):
    times = []
    begun = time.perf_counter()
    for place in range(min(most, len(queries))):
        query = queries[place : place + 1]
        start = time.perf_counter()
        found = search(index, query)
        times.append((time.perf_counter() - start) * 1e6)
        if str(found) != answers[place]:
            sys.exit(f"{name}: query {place} has {found}, expected {answers[place]}")
        if time.perf_counter() - begun > 60:
            break
    times = np.sort(times)
    mean, median, late = times.mean(), times[len(times) // 2], times[len(times) * 99 // 100]
    print(
        f"{name:<44} mean {mean:>10.1f} us  p50 {median:>10.1f}  p99 {late:>10.1f}  "
        f"({len(times)}){note}",
        flush=True,
    )


def within(index, query):
    # FAISS counts distances below the radius.
    limits, _, _ = index.range_search(query, number + 1)
    return int(limits[1])


def nearest(index, query):
    distances, _ = index.search(query, number)
    return " ".join(str(distance) for distance in distances[0])


flat = faiss.IndexBinaryFlat(bits)
flat.add(base)
if what == "radius":
    measure(f"FAISS flat, within {number}", flat, within, 40)
    del flat
    # Exact where hashes * (flips + 1) is more than the radius.
    best = {}
    for flips in (0, 1, 2, 3):
        hashes = number // (flips + 1) + 1
        width = min(bits // hashes, 24)
        probes = sum(math.comb(width, flipped) for flipped in range(flips + 1))
        candidates = hashes * probes * len(base) / 2**width
        if hashes >= 2 and width >= 8 and candidates < len(base) / 4:
            best[(hashes, width, flips)] = hashes * probes + candidates
    for hashes, width, flips in sorted(best, key=best.get)[:2]:
        before = memory()
        start = time.perf_counter()
        index = faiss.IndexBinaryMultiHash(bits, hashes, width)
        index.nflip = flips
        index.add(base)
        built = time.perf_counter() - start
        each = (memory() - before) / len(base)
        note = f"  {each:.0f} bytes each, built in {built:.0f} s"
        name = f"FAISS multi-hash {hashes} x {width}, {flips} flips"
        measure(name, index, within, len(queries), note)
        del index
else:
    measure(f"FAISS flat, nearest {number}", flat, nearest, 20)
