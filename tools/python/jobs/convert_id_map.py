"""Makes a store with names of a store of numbers and its id map.

    python convert_id_map.py STORE MAP DEST

MAP is what `pack --id-map` of an earlier version wrote. Stores keep names themselves now, and
nothing else reads id maps. STORE and MAP stay as they are.
Takes memory for all names and fingerprints.
"""

import argparse
import struct
import sys
import zlib

import numpy as np

import fpstore

MAGIC = b"\x89FPSN\r\n\x1a"
GROUP_STRINGS, PAGE_GROUPS = 64, 512
FOOTER = struct.Struct("<QQII")
ENTRY = struct.Struct("<QI")
BATCH = 1 << 16


class BadMap(Exception):
    """The map is damaged, or none."""


def require(holds, what):
    if not holds:
        raise BadMap(what)


def crc(*pieces):
    sum = 0
    for piece in pieces:
        sum = zlib.crc32(piece, sum)
    return sum


def read_map(file):
    """The strings of a map, in the order of their numbers. Every checksum is checked."""
    require(len(file) >= 48 and file[:8] == MAGIC, "it is no id map")
    version, header_bytes = struct.unpack_from("<H2xI", file, 8)
    require(version == 1 and 24 <= header_bytes <= len(file) - FOOTER.size, "its header is damaged")
    header, footer = file[:header_bytes], file[-FOOTER.size :]
    require(crc(header[:-4]).to_bytes(4, "little") == header[-4:], "the checksum of its header is wrong")
    count, text_bytes, directory_crc, footer_crc = FOOTER.unpack(footer)
    require(crc(header[-4:], footer[:-4]) == footer_crc, "the checksum of its footer is wrong")
    groups = -(-count // GROUP_STRINGS)
    pages = -(-groups // PAGE_GROUPS)
    body_end = len(file) - FOOTER.size - ENTRY.size * pages
    require(body_end >= header_bytes, "it is cut")
    directory = file[body_end : len(file) - FOOTER.size]
    require(crc(directory) == directory_crc, "the checksum of its directory is wrong")
    strings, start = [], header_bytes
    for page, (end, index_crc) in enumerate(ENTRY.iter_unpack(directory)):
        first = page * PAGE_GROUPS
        index_bytes = ENTRY.size * min(groups - first, PAGE_GROUPS)
        require(start + index_bytes < end <= body_end, f"page {page} does not fit")
        index = file[end - index_bytes : end]
        require(crc(page.to_bytes(8, "little"), index) == index_crc, f"the index of page {page} is damaged")
        group_start = start
        for number, (group_end, group_crc) in enumerate(ENTRY.iter_unpack(index), first):
            group_end += start
            require(group_start < group_end <= end - index_bytes, f"group {number} does not fit")
            group = file[group_start:group_end]
            require(crc(number.to_bytes(8, "little"), group) == group_crc, f"group {number} is damaged")
            read_group(group, min(count - number * GROUP_STRINGS, GROUP_STRINGS), strings)
            group_start = group_end
        start = end
    require(sum(map(len, strings)) == text_bytes, "its strings have another length than stated")
    return [string.decode() for string in strings]


def read_group(group, count, strings):
    at, before = 0, b""
    for _ in range(count):
        shared, at = read_length(group, at)
        rest, at = read_length(group, at)
        require(shared <= len(before) and at + rest <= len(group), f"string {len(strings)} is damaged")
        before = before[:shared] + group[at : at + rest]
        at += rest
        strings.append(before)
    require(at == len(group), f"bytes follow string {len(strings) - 1}")


def read_length(group, at):
    value = shift = 0
    while True:
        require(at < len(group) and shift < 63, "a length is cut")
        byte = group[at]
        value |= (byte & 127) << shift
        shift, at = shift + 7, at + 1
        if byte < 128:
            return value, at


def convert(store, map, dest):
    """Packs what the store holds into `dest`, with the strings of the map for its numbers."""
    with open(map, "rb") as file:
        strings = np.array(read_map(file.read()), dtype=object)
    store = fpstore.open(store)
    if store.id_kind != "number":
        raise fpstore.Error(f"{store.path}: its ids are {store.id_kind}, not numbers; it needs no conversion")

    def records():
        fingerprints = store.fingerprints()
        for first in range(0, len(fingerprints), BATCH):
            batch = fingerprints[first : first + BATCH]
            _, found, _, ends, ids = store.search_batch(batch, k=0, ids=True)
            if len(ids) and int(ids.max()) >= len(strings):
                raise BadMap(f"it has {len(strings)} strings, and the store an id {ids.max()}: it is the map of another store")
            yield np.repeat(found, np.diff(ends).astype(np.int64), axis=0), list(strings[ids])

    return fpstore.pack(dest, records(), k=store.radius, bits=store.bits, recipe=store.recipe)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("store", "map", "dest"):
        parser.add_argument(name, metavar=name.upper())
    given = parser.parse_args(arguments)
    try:
        summary = convert(given.store, given.map, given.dest)
    except BadMap as error:
        sys.exit(f"{given.map}: {error}")
    except (fpstore.Error, OSError) as error:
        sys.exit(str(error))
    print(f"{given.dest}: {summary['distinct']:,} fingerprints with {summary['ids']:,} names")


if __name__ == "__main__":
    main()
