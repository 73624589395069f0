//! Short tables that the library does not write, and those that are wrong.

use super::WrittenVector;
use super::bases::scattered;
use super::writer::{SegmentSpec, StoreSpec, TableSpec, keys_of};
use super::written::{GAP, XOR, bad, good, narrow, segment, store, table};

/// A table with keys of so many bits of 64, and one range as its top.
fn short(bits: u8, range: (u8, u8), of: TableSpec) -> TableSpec {
    TableSpec { bits, cut: 64 - bits, ranges: vec![range], ..of }
}

/// Scattered fingerprints, and some that differ only in bits which short keys leave out.
fn alike() -> Vec<u64> {
    let mut all = scattered(40);
    let near = all.iter().take(6).flat_map(|&one| (1..6).map(move |bits| one ^ bits << 2));
    all.extend(near.collect::<Vec<_>>());
    all.sort_unstable();
    all.dedup();
    all
}

/// A segment of these fingerprints with one table behind the first.
fn with(fingerprints: Vec<u64>, behind: TableSpec) -> StoreSpec {
    store(vec![segment(fingerprints, vec![table(GAP, 24, 256, 20), behind])])
}

pub fn vectors() -> Vec<WrittenVector> {
    let range = (32, 16);
    let widths = [
        short(32, range, table(GAP, 16, 256, 9)),
        short(40, (20, 9), table(XOR, 0, 256, 11)),
        short(48, (48, 16), table(XOR, 32, 512, 13)),
        short(56, (40, 24), table(GAP, 48, 256, 7)),
    ];
    let tables = std::iter::once(table(GAP, 40, 256, 7)).chain(widths.clone()).collect();
    let ids = (0..alike().len() as u64).map(|i| vec![3 * i, 3 * i + 1]).collect();
    let all_widths = SegmentSpec { ids: Some((ids, 9)), ..segment(alike(), tables) };
    let mut others = alike();
    others[3] ^= 1 << 30;
    let of_others = TableSpec { keys: Some(keys_of(&widths[0], &others)), ..widths[0].clone() };
    let of_table_0 = short(40, (0, 16), table(GAP, 8, 256, 9));
    // Two keys that differ in the column alone.
    let descending = |block_keys| {
        let of = short(40, range, table(XOR, 8, 256, block_keys));
        let set = vec![0x1111_0000_2222_3333, 0x1111_0100_2222_3333, 0x1111_0200_2222_4444];
        let mut keys = keys_of(&of, &set);
        keys.swap(1, 2);
        with(set, TableSpec { keys: Some(keys), ..of })
    };
    // As many low bits as a key has: all middles are equal.
    let all_low = TableSpec { low_bits: 40, ..short(40, range, table(XOR, 0, 256, 9)) };
    let in_order = short(40, (0, 16), table(XOR, 8, 256, 2));
    let four = vec![1 << 56, 2 << 56, 3 << 56, 4 << 56];
    let mut keys = keys_of(&in_order, &four);
    keys.swap(1, 2);
    let next_below = with(four, TableSpec { keys: Some(keys), ..in_order });
    let narrow = TableSpec { bits: 24, cut: 8, ..narrow(XOR, 8, 256, 9) };
    vec![
        good(
            "good-short-tables",
            "Short tables with keys of 32, 40, 48 and 56 bits, some of them equal, also across blocks; with ids.",
            store(vec![all_widths]),
        ),
        good(
            "good-short-router-repeats",
            "Blocks of one key in a short table, of which three are equal: so are entries of the router.",
            with(
                vec![0x1111_0000_2222_3333, 0x1111_0000_2222_3334, 0x1111_0000_2222_3335, 1 << 63],
                short(40, (0, 16), table(GAP, 8, 256, 1)),
            ),
        ),
        good(
            "good-short-one",
            "A single fingerprint, in a whole table and in a short one.",
            with(vec![0x0123_4567_89AB_CDEF], short(32, range, table(XOR, 8, 256, 9))),
        ),
        good(
            "good-short-none",
            "The empty set, in a whole table and in a short one.",
            with(vec![], short(56, range, table(XOR, 48, 256, 9))),
        ),
        bad(
            "bad-tab-09-short",
            "TAB-9",
            "Table 0 is short.",
            StoreSpec { bits: 64, ..store(vec![segment(alike(), vec![of_table_0])]) },
        ),
        bad(
            "unsupported-tab-03-24",
            "TAB-3",
            "Keys of 24 bits.",
            with(scattered(9), short(24, range, table(GAP, 8, 256, 9))),
        ),
        bad(
            "unsupported-tab-03-44",
            "TAB-3",
            "Keys of 44 bits.",
            with(scattered(9), short(44, range, table(GAP, 8, 256, 9))),
        ),
        bad(
            "unsupported-tab-03-narrow",
            "TAB-3",
            "8 bits are cut off from keys of 32.",
            StoreSpec { bits: 32, ..store(vec![segment(vec![1, 2, 3], vec![narrow])]) },
        ),
        bad(
            "unsupported-tab-05-low-bits-40-of-40",
            "TAB-5",
            "low_bits is 40 in a short table with keys of 40 bits.",
            with(scattered(9), all_low),
        ),
        bad(
            "bad-set-04-other-fingerprint",
            "SET-4",
            "A key of the short table is that of another fingerprint.",
            with(alike(), of_others),
        ),
        bad(
            "bad-blk-06-short-descends",
            "BLK-6",
            "A key of a short table is less than the one before it, in the column alone.",
            descending(9),
        ),
        bad(
            "bad-blk-07-short-next-below",
            "BLK-7",
            "A block of a short table begins with a key less than the last one of the block \
             before, and the router ascends.",
            next_below,
        ),
        bad(
            "bad-rtr-02-short-descends",
            "RTR-2",
            "The last key of a block of a short table is less than that of the block before.",
            descending(1),
        ),
        bad(
            "bad-tab-08-longer-than-keys",
            "TAB-8",
            "The top has 41 bits, the keys 40.",
            with(scattered(9), short(40, (20, 41), table(GAP, 8, 256, 9))),
        ),
    ]
}
