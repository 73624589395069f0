//! Good stores with bases and part tables.

use super::WrittenVector;
use super::bases::{scattered, steps};
use super::living_good::{Held, good_of, logs, small};
use super::living_writer::{LivingSpec, Op, living_parts, log};
use super::wide_writer::{Wide, WideSpec, wide_bits};
use super::writer::{Parts, SegmentSpec, write_ids_of};
use super::written::{GAP, good, segment, store, table};
use crate::oracle::Bits;
use Op::{Delete, DeleteAll, Insert};

/// A segment of so many bits.
pub fn wide(bits: u16, fingerprints: Vec<u64>, parts: Vec<(u16, u8)>) -> SegmentSpec {
    let wide = Some(WideSpec { bits, parts, masks: Vec::new() });
    SegmentSpec { wide, ..segment(fingerprints, vec![]) }
}

/// As [`wide`], with keys that are made of any bits.
pub fn masked(bits: u16, fingerprints: Vec<u64>, masks: Vec<Vec<usize>>) -> SegmentSpec {
    let parts = masks.iter().map(|key| (0, key.len() as u8)).collect();
    SegmentSpec { wide: Some(WideSpec { bits, parts, masks }), ..segment(fingerprints, vec![]) }
}

/// A segment of so many scattered fingerprints, with ids.
pub fn wide_segment(bits: u16, count: u64, parts: &[(u16, u8)]) -> SegmentSpec {
    let mut all: Vec<u64> = scattered(count as usize);
    if bits < 64 {
        all.iter_mut().for_each(|one| *one >>= 32);
    }
    let ids = (0..count).map(|i| (0..1 + i % 3).map(|id| 8 * i + id).collect()).collect();
    SegmentSpec { ids: Some((ids, 16)), ..wide(bits, all, parts.to_vec()) }
}

impl SegmentSpec {
    /// The fingerprints of a segment with a base.
    pub fn rows(&self) -> Vec<Bits> {
        let bits = self.wide.as_ref().expect("it has a base").bits;
        self.fingerprints.iter().map(|&one| wide_bits(one, bits)).collect()
    }
}

/// A store of one segment whose files differ from what they would be as `change` says.
pub fn changed(segment: &SegmentSpec, change: impl FnOnce(&mut Wide)) -> Parts {
    let spec = segment.wide.as_ref().expect("a segment with a base");
    let mut wide = Wide::of(spec, &segment.fingerprints);
    change(&mut wide);
    parts_of(segment, wide)
}

/// A store of one segment with these files.
pub fn parts_of(segment: &SegmentSpec, wide: Wide) -> Parts {
    // All but the segment is as it would be.
    let mut parts = Parts::of(&store(vec![segment.clone()]));
    let mut written = wide.write(segment, &mut parts.files);
    write_ids_of(segment, &mut written, &mut parts.files);
    parts.sections[1].2 = written.payload;
    parts
}

/// A vector that the library packs.
pub struct PackedSpec {
    pub name: &'static str,
    pub sentence: &'static str,
    pub segment: SegmentSpec,
}

/// Parts as the library cuts them.
fn even_parts(bits: u16, parts: u16, count: u64) -> Vec<(u16, u8)> {
    let digits = (u64::BITS - (count - 1).leading_zeros()) as u16;
    let start = |number: u16| (u32::from(bits) * u32::from(number) / u32::from(parts)) as u16;
    let widths = (0..parts).map(|number| start(number + 1) - start(number));
    widths.map(|width| (width, digits.clamp(6, width.min(32)) as u8)).collect()
}

/// Stores of every width that the library packs, with ids.
pub fn packed_specs() -> Vec<PackedSpec> {
    let spec = |name, sentence, bits, parts| {
        let segment = wide_segment(bits, 150, &even_parts(bits, parts, 150));
        PackedSpec { name, sentence, segment }
    };
    vec![
        spec(
            "good-wide-packed-32",
            "Fingerprints of 32 bits with ids, as fpstore packs them.",
            32,
            3,
        ),
        spec(
            "good-wide-packed-64",
            "Fingerprints of 64 bits with ids in part tables, as fpstore packs them.",
            64,
            5,
        ),
        spec(
            "good-wide-packed-128",
            "Fingerprints of 128 bits with ids, as fpstore packs them.",
            128,
            10,
        ),
        spec(
            "good-wide-packed-256",
            "Fingerprints of 256 bits with ids, as fpstore packs them.",
            256,
            7,
        ),
    ]
}

/// One or two ids of each.
fn with_ids(segment: SegmentSpec, from: u64) -> SegmentSpec {
    let of_one = |i: u64| (0..1 + i % 2).map(|id| from + 9 * i + 4 * id).collect();
    let ids = (0..segment.fingerprints.len() as u64).map(of_one).collect();
    SegmentSpec { ids: Some((ids, 10)), ..segment }
}

/// Those of which many agree in their first bits, and many more in the ones of part 1.
fn crowded() -> Vec<u64> {
    let mut all = steps(7 << 40, 1, 90);
    all.extend(steps(7 << 40 | 1 << 63, 1 << 20, 20));
    all.extend(scattered(20));
    all.sort_unstable();
    all
}

pub fn vectors() -> Vec<WrittenVector> {
    let mut vectors = widths();
    vectors.extend(masks());
    vectors.extend(shapes());
    vectors.extend(segments());
    vectors.extend(living());
    vectors
}

/// Keys of any bits, of every width.
fn masks() -> Vec<WrittenVector> {
    let every = |bits: usize, step: usize, from: usize, count: usize| -> Vec<usize> {
        (0..count).map(|number| from + step * number).filter(|&bit| bit < bits).collect()
    };
    let small = scattered(60).iter().map(|one| one >> 32).collect();
    vec![
        good(
            "good-wide-masks-32",
            "Keys of every third bit, and of the last ones that are left, of 32.",
            store(vec![masked(
                32,
                small,
                vec![every(32, 3, 0, 10), vec![22, 23, 25, 26, 28, 29, 31]],
            )]),
        ),
        good(
            "good-wide-masks-64",
            "Keys of even and of odd bits of 64.",
            store(vec![masked(64, scattered(60), vec![every(64, 2, 1, 7), every(64, 2, 0, 9)])]),
        ),
        good(
            "good-wide-masks-128",
            "One part table, whose key is made of bits of both words.",
            store(vec![masked(128, scattered(60), vec![every(128, 19, 3, 7)])]),
        ),
        good(
            "good-wide-masks-256",
            "Keys of bits of all words of 256 bits; bit 0 and bit 255 are among them.",
            store(vec![masked(
                256,
                scattered(200),
                vec![every(256, 36, 0, 8), every(256, 36, 3, 8), every(256, 28, 2, 9)],
            )]),
        ),
        good(
            "good-wide-masks-of-none",
            "Part tables with masks of a base without rows.",
            store(vec![masked(128, vec![], vec![every(128, 2, 0, 6), every(128, 2, 1, 6)])]),
        ),
    ]
}

fn widths() -> Vec<WrittenVector> {
    let small = scattered(60).iter().map(|one| one >> 32).collect();
    let annotated = vec![3, 1 << 40, 1 << 58 | 5, 1 << 59, u64::MAX];
    vec![
        good(
            "good-wide-annotated",
            "The store of 128 bits of which the document shows base and part table byte by byte.",
            store(vec![wide(128, annotated, vec![(64, 6), (64, 6)])]),
        ),
        good(
            "good-wide-32",
            "60 fingerprints of 32 bits in four parts.",
            store(vec![wide(32, small, vec![(8, 6), (9, 7), (8, 8), (7, 6)])]),
        ),
        good(
            "good-wide-64",
            "300 fingerprints of 64 bits in six parts.",
            store(vec![wide(
                64,
                scattered(300),
                vec![(10, 9), (11, 9), (11, 9), (10, 9), (11, 9), (11, 8)],
            )]),
        ),
        good(
            "good-wide-128",
            "100 fingerprints of 128 bits in three parts, with ids.",
            store(vec![with_ids(wide(128, scattered(100), vec![(40, 7), (8, 8), (80, 6)]), 5)]),
        ),
        good(
            "good-wide-256",
            "300 fingerprints of 256 bits in two parts: bodies of several chunks.",
            store(vec![wide(256, scattered(300), vec![(120, 14), (136, 13)])]),
        ),
        good(
            "good-wide-256-ids",
            "40 fingerprints of 256 bits in 42 parts, as many as keys of 6 bits allow, with ids.",
            store(vec![with_ids(
                wide(256, scattered(40), [vec![(6, 6); 41], vec![(10, 6)]].concat()),
                0,
            )]),
        ),
    ]
}

fn shapes() -> Vec<WrittenVector> {
    // 256 of 256 keys, one row each, and two of one key: the words of the marks are full.
    let full = steps(0, 1 << 56, 256);
    vec![
        good(
            "good-wide-empty",
            "The empty set of 128 bits, without parts.",
            store(vec![wide(128, vec![], vec![])]),
        ),
        good(
            "good-wide-empty-parts",
            "The empty set of 256 bits, in two parts: marks without rows.",
            store(vec![with_ids(wide(256, vec![], vec![(128, 6), (128, 7)]), 0)]),
        ),
        good(
            "good-wide-one",
            "One fingerprint of 32 bits in three parts: the numbers of rows have no bits.",
            store(vec![wide(32, vec![0xDEAD_BEEF], vec![(11, 6), (10, 6), (11, 7)])]),
        ),
        good(
            "good-wide-two",
            "The least and the greatest fingerprint of 64 bits in one part of all bits.",
            store(vec![wide(64, vec![0, u64::MAX], vec![(64, 7)])]),
        ),
        good(
            "good-wide-no-parts",
            "30 fingerprints of 256 bits without parts, with ids.",
            store(vec![with_ids(wide(256, scattered(30), vec![]), 60)]),
        ),
        good(
            "good-wide-crowded",
            "130 fingerprints of 64 bits, of which 90 have the same key in parts 0 and 1.",
            store(vec![wide(64, crowded(), vec![(20, 8), (24, 9), (20, 10)])]),
        ),
        good(
            "good-wide-full",
            "256 fingerprints of 64 bits, one of each key of part 0; and all of one key of part 1.",
            store(vec![wide(64, full, vec![(8, 8), (56, 6)])]),
        ),
    ]
}

fn segments() -> Vec<WrittenVector> {
    let all = scattered(50);
    let (one, other) = (all[..30].to_vec(), all[20..].to_vec());
    let first = SegmentSpec { number: 3, ..with_ids(wide(128, one.clone(), vec![(128, 7)]), 0) };
    let second = SegmentSpec { number: 171, ..wide(128, other.clone(), vec![(60, 6), (68, 9)]) };
    let with_tables = SegmentSpec { number: 1, ..segment(one, vec![table(GAP, 16, 256, 10)]) };
    let with_base = SegmentSpec { number: 2, ..wide(64, other, vec![(30, 6), (34, 6)]) };
    vec![
        good(
            "good-wide-segments",
            "Two segments of 128 bits with sets that overlap; one has ids.",
            store(vec![first, second]),
        ),
        good(
            "good-wide-and-tables",
            "Two segments of 64 bits, one with a table and one with a base.",
            store(vec![with_tables, with_base]),
        ),
    ]
}

/// A living store of 128 bits with ids: a segment with deletions, one hidden in part, and a log.
pub fn living_spec() -> LivingSpec {
    let base = |number, fingerprints: &[u64], ids: &[&[u64]]| {
        let of_tables = small(number, fingerprints, Some(ids));
        let wide = wide(128, fingerprints.to_vec(), vec![(64, 6), (64, 6)]).wide;
        SegmentSpec { tables: vec![], wide, ..of_tables }
    };
    let operations: &[&[Op]] = &[
        &[Insert(40, 2, 0), Insert(20, 7, 0), Delete(20, 1)],
        &[DeleteAll(30), Insert(50, 1, 0), DeleteAll(50)],
    ];
    LivingSpec {
        bits: 128,
        segments: vec![
            base(1, &[10, 20, 30], &[&[1], &[1, 2], &[3]]),
            base(2, &[10, 20], &[&[4], &[5]]),
        ],
        deletions: vec![(1, 10, vec![]), (2, 20, vec![(10, None, 15), (20, Some(2), 16)])],
        first_log: 1,
        sequence: 20,
        ids: true,
        logs: vec![log(operations, 0)],
        ..LivingSpec::default()
    }
}

fn living() -> Vec<WrittenVector> {
    let held: Held<'_> = &[(10, &[4], &[]), (20, &[5, 7], &[]), (40, &[2], &[])];
    let plain: &[&[Op]] =
        &[&[Insert(9, 0, 0), Insert(1 << 31, 0, 0)], &[DeleteAll(9), Insert(8, 0, 0)]];
    let of = |bits| LivingSpec { bits, ..logs(vec![log(plain, 0)]) };
    let windows = LivingSpec {
        windows: Some((3600, vec![])),
        ..LivingSpec {
            bits: 256,
            ..logs(vec![log(&[&[Insert(77, 0, 5), Insert(78, 0, 6), DeleteAll(78)]], 0)])
        }
    };
    vec![
        good_of(
            128,
            "good-living-wide",
            "A living store of 128 bits with ids: two bases, a deletions file and a log.",
            living_parts(&living_spec()),
            held,
        ),
        good_of(
            32,
            "good-living-wide-32",
            "A log of fingerprints of 32 bits, without ids.",
            living_parts(&of(32)),
            &[(8, &[], &[]), (1 << 31, &[], &[])],
        ),
        good_of(
            256,
            "good-living-wide-256",
            "A log of fingerprints of 256 bits with windows, without ids.",
            living_parts(&windows),
            &[(77, &[], &[5])],
        ),
    ]
}

#[test]
fn widened_numbers_keep_their_order() {
    for bits in [32, 64, 128, 256] {
        let numbers = [0, 1, 7, 1 << 20, (1 << 32) - 1];
        assert!(numbers.map(|number| wide_bits(number, bits)).is_sorted_by(|a, b| a < b));
    }
}
