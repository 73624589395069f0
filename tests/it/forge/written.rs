//! Vectors that the library does not write, by the plain [`writer`](super::writer).

use super::bases::{scattered, steps};
use super::names_writer::Name;
use super::wide_writer::wide_bits;
use super::writer::{Files, SegmentSpec, StoreSpec, TableSpec, write_store};

use crate::oracle::Bits;

/// A vector made of whole files.
pub struct WrittenVector {
    pub name: &'static str,
    /// The rule that it breaks; empty for a good one.
    pub rule: &'static str,
    pub sentence: &'static str,
    pub files: Files,
    /// The set of the store, of a good one.
    pub fingerprints: Vec<Bits>,
    /// The ids of each of them, of a good one that has ids.
    pub ids: Option<Vec<Vec<u64>>>,
    /// The windows of each of them, of a good one that has windows.
    pub windows: Option<Vec<Vec<u64>>>,
    /// What ids are places in, of a good one whose ids are names.
    pub names: Option<Vec<Name>>,
}

pub const XOR: u8 = 1;
pub const GAP: u8 = 2;

pub fn table(codec: u8, low_bits: u32, block_bytes: usize, block_keys: usize) -> TableSpec {
    let (ranges, lengths) = (vec![(0, 64)], Vec::new());
    TableSpec {
        bits: 64,
        cut: 0,
        codec,
        low_bits,
        block_bytes,
        ranges,
        block_keys,
        lengths,
        keys: None,
    }
}

/// Of 32 bits.
pub fn narrow(codec: u8, low_bits: u32, block_bytes: usize, block_keys: usize) -> TableSpec {
    TableSpec { bits: 32, ranges: vec![(0, 32)], ..table(codec, low_bits, block_bytes, block_keys) }
}

pub fn segment(fingerprints: Vec<u64>, tables: Vec<TableSpec>) -> SegmentSpec {
    SegmentSpec { number: 1, fingerprints, tables, wide: None, ids: None }
}

pub fn store(segments: Vec<SegmentSpec>) -> StoreSpec {
    let next_segment = segments.iter().map(|segment| segment.number).max().unwrap_or(0) + 1;
    let of_tables = |segment: &SegmentSpec| Some(segment.tables.first()?.bits.into());
    let of_wide = |segment: &SegmentSpec| segment.wide.as_ref().map(|wide| wide.bits);
    let bits = segments.iter().find_map(|segment| of_wide(segment).or(of_tables(segment)));
    let bits = bits.unwrap_or(64);
    StoreSpec { bits, segments, next_segment, generation: 1 }
}

pub fn good(name: &'static str, sentence: &'static str, spec: StoreSpec) -> WrittenVector {
    let mut all = std::collections::BTreeMap::<u64, Vec<u64>>::new();
    for segment in &spec.segments {
        for (place, &fingerprint) in segment.fingerprints.iter().enumerate() {
            let ids = segment.ids.iter().flat_map(|(ids, _)| ids[place].clone());
            all.entry(fingerprint).or_default().extend(ids);
        }
    }
    all.values_mut().for_each(|ids| {
        ids.sort_unstable();
        ids.dedup();
    });
    let has_ids = spec.segments.iter().any(|segment| segment.ids.is_some());
    let ids = has_ids.then(|| all.values().cloned().collect());
    let fingerprints = all.into_keys().map(|one| wide_bits(one, spec.bits)).collect();
    let files = write_store(&spec);
    WrittenVector { name, rule: "", sentence, files, fingerprints, ids, windows: None, names: None }
}

pub fn bad(
    name: &'static str,
    rule: &'static str,
    sentence: &'static str,
    spec: StoreSpec,
) -> WrittenVector {
    rejected(name, rule, sentence, write_store(&spec))
}

/// A vector of these files that is to be rejected.
pub fn rejected(
    name: &'static str,
    rule: &'static str,
    sentence: &'static str,
    files: Files,
) -> WrittenVector {
    let (fingerprints, ids, windows, names) = (Vec::new(), None, None, None);
    WrittenVector { name, rule, sentence, files, fingerprints, ids, windows, names }
}

/// All of them.
pub fn written() -> Vec<WrittenVector> {
    let mut vectors = tables();
    vectors.extend(codes());
    vectors.extend(segments());
    vectors.extend(whole_but_wrong());
    vectors.extend(super::living_good::vectors());
    vectors.extend(super::living_bad::vectors());
    vectors.extend(super::log_bad::vectors());
    vectors.extend(super::narrow::vectors());
    vectors.extend(super::short::vectors());
    vectors.extend(super::wide_good::vectors());
    vectors.extend(super::wide_bad::vectors());
    vectors
}

fn tables() -> Vec<WrittenVector> {
    let tops = [
        vec![(0, 20)],
        vec![(40, 8), (3, 5), (20, 10)],
        vec![(63, 1), (0, 1), (32, 7), (16, 3), (50, 9)],
        vec![(13, 13), (39, 12)],
        vec![(1, 1)],
    ];
    let apart = tops.map(|ranges| TableSpec { ranges, ..table(XOR, 8, 256, 17) });
    let two_blocks = TableSpec { lengths: vec![1, 2, 2], ..table(GAP, 0, 256, 3) };
    let many = (0..256).map(|number| TableSpec {
        ranges: if number == 0 { vec![(0, 64)] } else { vec![(number as u8 % 64, 1)] },
        ..table(GAP, 32, 256, 1)
    });
    vec![
        good(
            "good-annotated-gap-l0-b256",
            "The store of which the document shows two blocks, with the codec `gap`.",
            store(vec![segment(vec![0x10, 0x1B, 0x20, 0x2C, 0x2D], vec![two_blocks])]),
        ),
        good(
            "good-ranges-apart",
            "Tops of up to five ranges, apart and in any order: no permutation but that of table 0 \
             is its own inverse.",
            store(vec![segment(scattered(60), apart.to_vec())]),
        ),
        good(
            "good-256-tables",
            "The empty set in 256 tables, as many as a segment can have.",
            store(vec![segment(vec![], many.collect())]),
        ),
        good(
            "good-300-blocks",
            "300 blocks of one key each, which leaves them nearly empty.",
            store(vec![segment(steps(5, 1 << 40, 300), vec![table(GAP, 0, 256, 1)])]),
        ),
        good(
            "good-blocks-not-full",
            "Blocks of seven keys, though more would fit.",
            store(vec![segment(scattered(100), vec![table(XOR, 24, 1024, 7)])]),
        ),
    ]
}

fn codes() -> Vec<WrittenVector> {
    // Two gaps of each class.
    let gaps = |highest: u32| (0..=highest).flat_map(|r| [1u64 << r, (1 << r) + 1]);
    let keys = |highest: u32| {
        let mut keys = vec![7];
        gaps(highest).for_each(|gap| keys.push(keys[keys.len() - 1] + gap));
        keys
    };
    let comb = vec![11, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1];
    let deep = keys(11);
    let long = TableSpec { lengths: comb, ..table(GAP, 0, 1024, 1000) };
    let all = keys(61);
    vec![
        good(
            "good-codes-of-all-lengths",
            "Codes of 1 to 11 bits, each length for some class.",
            store(vec![segment(deep, vec![long])]),
        ),
        good(
            "good-codes-of-one-length",
            "62 classes with codes of 5 and 6 bits, which are not those that a Huffman tree gives.",
            store(vec![segment(all, vec![table(GAP, 0, 1024, 90)])]),
        ),
    ]
}

fn segments() -> Vec<WrittenVector> {
    let all = scattered(40);
    let (one, other, third) = (all[..20].to_vec(), all[15..30].to_vec(), all[25..].to_vec());
    let ids = |set: &[u64], from: u64, bits| {
        let of_one = |i: u64| (0..1 + i % 2).map(|id| from + 9 * i + 4 * id).collect();
        Some(((0..set.len() as u64).map(of_one).collect(), bits))
    };
    let first = SegmentSpec {
        number: 3,
        ids: ids(&one, 100, 9),
        ..segment(one.clone(), vec![table(XOR, 16, 256, 9)])
    };
    let second = SegmentSpec { number: 10, ..segment(other, vec![table(GAP, 0, 512, 9)]) };
    let halves = [(0, 32), (32, 32)];
    let halves = halves.map(|range| TableSpec { ranges: vec![range], ..table(GAP, 8, 1024, 100) });
    let third = SegmentSpec {
        number: 171,
        ids: ids(&third, 60, 11),
        ..segment(third.clone(), halves.to_vec())
    };
    let again = SegmentSpec {
        number: 4_294_967_297,
        ids: ids(&one, 103, 9),
        ..segment(one, vec![table(GAP, 24, 256, 30)])
    };
    let several = store(vec![first, second, third, again]);
    let wide = [57, 58, 59, 60, 61, 62, 63];
    let wide_ids = wide.map(|bits| SegmentSpec {
        number: u64::from(bits),
        ids: Some((vec![(1..=9).map(|i| (1 << bits) - 10 + i).collect()], bits)),
        ..segment(vec![u64::from(bits)], vec![table(XOR, 0, 256, 1)])
    });
    let three = |counts: [u64; 3]| SegmentSpec {
        ids: Some((counts.iter().map(|&count| (0..count).collect()).collect(), 15)),
        ..segment(vec![3, 1 << 40, u64::MAX], vec![table(XOR, 0, 256, 2)])
    };
    let (many, ones) = (three([20_000, 13_000, 1]), three([32_768, 1, 1]));
    let late = StoreSpec {
        generation: 1 << 32,
        ..store(vec![segment(vec![8], vec![table(XOR, 0, 256, 1)])])
    };
    vec![
        good(
            "good-several-segments",
            "Four segments with sets that overlap, of several designs and sizes of blocks; all but \
             the second have ids, and some fingerprints have other ids in each.",
            several,
        ),
        good(
            "good-ids-wide",
            "Seven segments, with ids of 57 to 63 bits.",
            store(wide_ids.to_vec()),
        ),
        good(
            "good-ids-marks-of-ones",
            "32,770 ids of three fingerprints: all marks of the second group are 1.",
            store(vec![ones]),
        ),
        good(
            "good-ids-many",
            "33,001 ids of three fingerprints: two groups of marks, 17 chunks.",
            store(vec![many]),
        ),
        good("good-late-generation", "The generation is 2^32.", late),
    ]
}

/// Stores in which all sums agree, and one rule is broken.
fn whole_but_wrong() -> Vec<WrittenVector> {
    let twice = |block_keys| {
        let keys = vec![0x1000, 0x1001, 0x1001, 0x2000];
        store(vec![segment(keys, vec![table(XOR, 8, 256, block_keys)])])
    };
    // A code of 1 bit and 5 raw bits each, in 1936 bits; all of these are 0.
    let zeros = segment(steps(0, 32, 324), vec![table(GAP, 0, 256, 324)]);
    // 149 codes of 1 bit and 12 raw bits each: 1937 bits, all of them 0.
    let one_missing = segment(steps(0, 1 << 12, 150), vec![table(GAP, 0, 256, 150)]);
    // As zeros, then gaps of 1; the raw bit under the last code is 1, as the code.
    let mut ones = steps(0, 32, 322);
    ones.push(ones[321] + 33);
    ones.extend(steps(ones[322] + 1, 1, 5));
    let ones = segment(ones, vec![table(GAP, 0, 256, 1000)]);
    // Codes of 1 and 2 bits; the last one has the first of its bits.
    let mut cut = steps(0, 32, 322);
    let last = cut[321];
    cut.extend([1, 2, 3, 5, 6].map(|more| last + more));
    // 113 codes of 2 bits, and 112 times 7 and once 14 raw bits, all 0, fill the stream. Then comes
    // a key with an equal middle, whose code is 0.
    let mut equal = vec![5, 5 + (1 << 22)];
    equal.extend(steps(5 + (1 << 22) + (1 << 15), 1 << 15, 112));
    equal.push(equal[113] + 1);
    let of_equal = TableSpec { lengths: vec![2, 2, 1], ..table(GAP, 8, 256, 1000) };
    let cut_code = TableSpec { lengths: vec![1, 2, 2], ..table(GAP, 0, 256, 1000) };
    vec![
        bad(
            "bad-blk-06-twice",
            "BLK-6",
            "A key stands twice in a block, and count, histogram and set_sum are made for that.",
            twice(4),
        ),
        bad(
            "bad-blk-07-twice",
            "BLK-7",
            "A key ends a block and begins the next one, and count, histogram and set_sum are made for \
             that. (The router repeats nothing: the last keys differ.)",
            twice(2),
        ),
        bad(
            "bad-blk-04-raw-bits-overlap",
            "BLK-4",
            "The raw bits of the last key reach into the codes. All of these bits are 0, as they should \
             be in either, and all else agrees.",
            store(vec![zeros]),
        ),
        bad(
            "bad-blk-04-one-bit-missing",
            "BLK-4",
            "The raw bits of the last key reach into its code by one bit. It is 0, as it should be \
             in either, and all else agrees.",
            store(vec![one_missing]),
        ),
        bad(
            "bad-blk-04-code-overlaps",
            "BLK-4",
            "The code of the last key is the lowest raw bit. It is 1, as it should be in either, and all \
             else agrees.",
            store(vec![ones]),
        ),
        bad(
            "bad-blk-04-equal-overlaps",
            "BLK-4",
            "The code of the last key, of the class equal, is the lowest raw bit. It is 0, as it should be \
             in either, and all else agrees.",
            store(vec![segment(equal, vec![of_equal])]),
        ),
        bad(
            "bad-blk-04-code-cut",
            "BLK-4",
            "The code of the last key has two bits, and one is left before the raw bits.",
            store(vec![segment(cut, vec![cut_code])]),
        ),
    ]
}
