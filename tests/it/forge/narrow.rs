//! Tables of 32 bits that the library does not write.

use super::WrittenVector;
use super::bases::scattered;
use super::writer::{SegmentSpec, TableSpec};
use super::written::{GAP, XOR, good, narrow, segment, store};

/// So many scattered fingerprints of 32 bits.
fn small(count: usize) -> Vec<u64> {
    let mut all: Vec<u64> = scattered(count).iter().map(|one| one >> 32).collect();
    all.dedup();
    all
}

pub fn vectors() -> Vec<WrittenVector> {
    let tops = [vec![(0, 7)], vec![(20, 8), (3, 5)], vec![(31, 1), (0, 1), (9, 4)], vec![(1, 1)]];
    let apart = tops.map(|ranges| TableSpec { ranges, ..narrow(XOR, 8, 256, 17) });
    let with_ids = |from: u64| {
        let ids = (0..50).map(|i| vec![from + i, from + 100 + i]).collect();
        let tables = vec![narrow(GAP, 16, 256, 9)];
        SegmentSpec { ids: Some((ids, 12)), ..segment(small(50), tables) }
    };
    vec![
        good(
            "good-narrow-ranges-apart",
            "Tops of up to three ranges of 32 bits, apart and in any order.",
            store(vec![segment(small(60), apart.to_vec())]),
        ),
        good(
            "good-narrow-short-blocks",
            "Blocks of 32 bits that are not full, with ids.",
            store(vec![with_ids(7)]),
        ),
    ]
}
