//! The good stores: those that a case damages, and those that are vectors themselves.
//!
//! All are small, since they are committed: at most a few hundred fingerprints.

/// What the library is to pack.
#[derive(Clone, Debug)]
pub struct BaseSpec {
    /// Those of a fingerprint: 32 or 64.
    pub bits: u16,
    /// Ascending, each once.
    pub fingerprints: Vec<u64>,
    /// `single`: one table; `halves`: two tables with the tops (0, 32) and (32, 32).
    pub design: &'static str,
    /// `xor` or `gap`.
    pub codec: &'static str,
    pub block_bytes: u32,
    pub low_bits: u32,
    /// Those of each fingerprint, in a store with ids.
    pub ids: Option<Vec<Vec<u64>>>,
}

impl BaseSpec {
    fn with_ids(self, ids: impl Fn(u64) -> Vec<u64>) -> Self {
        let ids = Some((0..self.fingerprints.len() as u64).map(ids).collect());
        Self { ids, ..self }
    }
}

/// The good stores that cases start from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Base {
    /// No fingerprint, no block, no code.
    Empty,
    /// One fingerprint: one block, no code.
    One,
    /// 1 and 2^63 + 1: the single class 0, whose bits are all of the second key.
    Two,
    /// Twelve scattered fingerprints: two tables of one block each and of equal length.
    Tiny,
    /// Eighty scattered fingerprints: two tables of several blocks and codes of several lengths.
    Blocks,
    /// 240 of the 256 values of one middle, without 230: a single class, "equal", of r = 0.
    Equal,
    /// Steps of 32 from 0 on: a single class of r = 5.
    Steps,
    /// A run that ends at the greatest key: a gap more overflows 64 bits.
    Top,
    /// A run of middles that ends at the greatest one, L = 8: a gap more overflows M = 56 bits.
    TopMiddle,
    /// The fingerprints of `Blocks`, each with one id.
    OneId,
    /// The fingerprints of `Tiny`, with one to three ids each, of 13 bits.
    Ids,
    /// The same with ids that are less than 70.
    FewIds,
    /// The empty set, with ids.
    NoIds,
    /// Three fingerprints with 33,001 ids together: two groups of marks.
    ManyIds,
    /// 300 scattered fingerprints of 32 bits: two tables of several blocks, L = 8.
    Narrow,
    /// A run of 32 bits that ends at the greatest key.
    NarrowTop,
}

/// What each base is.
pub fn base_spec(base: Base) -> BaseSpec {
    match base {
        Base::Empty => spec("single", "xor", 256, 0, vec![]),
        Base::One => spec("single", "xor", 256, 8, vec![0x0123_4567_89AB_CDEF]),
        Base::Two => spec("single", "xor", 256, 0, vec![1, (1 << 63) + 1]),
        Base::Tiny => spec("halves", "xor", 256, 16, scattered(12)),
        Base::Blocks => spec("halves", "gap", 256, 16, scattered(80)),
        Base::Equal => {
            let low = (0..230).chain(231..=240);
            spec("single", "xor", 256, 8, low.map(|low| 0xABCD_0000 + low).collect())
        }
        Base::Steps => spec("single", "gap", 256, 0, steps(0, 32, 8)),
        Base::Top => spec("single", "gap", 256, 0, steps(u64::MAX - 7, 1, 8)),
        Base::TopMiddle => spec("single", "gap", 256, 8, steps(0xFFFF_FFFF_FFFF_F800, 256, 8)),
        Base::OneId => base_spec(Base::Blocks).with_ids(|index| vec![1000 + 7 * index]),
        Base::Ids => base_spec(Base::Tiny)
            .with_ids(|index| (0..1 + index % 3).map(|id| 5000 + 10 * id + index).collect()),
        Base::FewIds => base_spec(Base::Tiny).with_ids(|index| {
            (0..1 + index % 3).map(|id| 20 * id + index).chain([69 - index]).collect()
        }),
        Base::ManyIds => {
            let counts = [20_000, 13_000, 1];
            spec("single", "xor", 256, 0, vec![3, 1 << 40, u64::MAX])
                .with_ids(|index| (0..counts[index as usize]).collect())
        }
        Base::NoIds => base_spec(Base::Empty).with_ids(|_| vec![]),
        Base::NarrowTop => {
            narrow(spec("single", "gap", 256, 0, steps(0xFFFF_FFF8 << 32, 1 << 32, 8)))
        }
        Base::Narrow => narrow(spec("halves", "gap", 256, 8, scattered(300))),
    }
}

fn spec(
    design: &'static str,
    codec: &'static str,
    block_bytes: u32,
    low_bits: u32,
    fingerprints: Vec<u64>,
) -> BaseSpec {
    BaseSpec { bits: 64, fingerprints, design, codec, block_bytes, low_bits, ids: None }
}

/// The same of 32 bits: the upper half of each.
fn narrow(spec: BaseSpec) -> BaseSpec {
    let fingerprints = spec.fingerprints.iter().map(|one| one >> 32).collect();
    BaseSpec { bits: 32, fingerprints: sorted(fingerprints), ..spec }
}

/// The sets of narrow stores that are vectors.
#[rustfmt::skip]
fn narrow_specs() -> Vec<(&'static str, &'static str, BaseSpec)> {
    let each = |codec, low_bits, block_bytes| narrow(spec("halves", codec, block_bytes, low_bits, scattered(200)));
    let ends = |codec, low_bits| narrow(spec("single", codec, 256, low_bits, vec![0, u64::MAX]));
    let powers = [0].into_iter().chain((32..64).map(|bit| 1 << bit)).collect();
    vec![
        ("good-narrow-empty-xor-l24", "The empty set of 32 bits, L = 24: no table has fewer bytes.", narrow(spec("single", "xor", 256, 24, vec![]))),
        ("good-narrow-ends-xor-l0", "0 and the greatest fingerprint of 32 bits.", ends("xor", 0)),
        ("good-narrow-ends-gap-l24", "0 and the greatest fingerprint of 32 bits, L = 24.", ends("gap", 24)),
        ("good-narrow-powers-xor-l0", "0 and all powers of two of 32 bits: every class once.", narrow(spec("quarters", "xor", 1024, 0, powers))),
        ("good-narrow-run-gap-l0", "A run of consecutive values of 32 bits: one block, exactly full, of 1969 keys.", narrow(spec("single", "gap", 256, 0, steps(7 << 40, 1 << 32, 1969)))),
        ("good-narrow-gap-l0-b256", "Scattered fingerprints of 32 bits (codec gap, L = 0, B = 256).", each("gap", 0, 256)),
        ("good-narrow-xor-l8-b256", "Scattered fingerprints of 32 bits (codec xor, L = 8, B = 256).", each("xor", 8, 256)),
        ("good-narrow-gap-l16-b1024", "Scattered fingerprints of 32 bits (codec gap, L = 16, B = 1024).", each("gap", 16, 1024)),
        ("good-narrow-xor-l24-b8192", "Scattered fingerprints of 32 bits (codec xor, L = 24, B = 8192).", each("xor", 24, 8192)),
        ("good-narrow-ids", "Fingerprints of 32 bits in ten tables, with ids.", narrow(spec("2of5", "gap", 256, 8, scattered(60))).with_ids(|index| (0..1 + index % 3).map(|id| 500 + 10 * id + index).collect())),
    ]
}

/// `count` values, each the one before plus `step`.
pub fn steps(first: u64, step: u64, count: u64) -> Vec<u64> {
    (0..count).map(|index| first + index * step).collect()
}

/// The first `count` values of a SplitMix64 sequence, sorted.
pub fn scattered(count: usize) -> Vec<u64> {
    let mut state = 0x5EED_u64;
    let mut next = || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let x = (state ^ state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ x >> 31
    };
    sorted((0..count).map(|_| next()).collect())
}

fn sorted(mut fingerprints: Vec<u64>) -> Vec<u64> {
    fingerprints.sort_unstable();
    fingerprints.dedup();
    fingerprints
}

/// Ten centres, each with `around` others that differ from it in one or two bits.
fn clustered(around: usize) -> Vec<u64> {
    let members = |centre: u64| {
        let flips = (0..around).map(move |i| 1 << (i * 7 % 64) | 1 << (i * 11 % 64));
        flips.map(move |flip: u64| centre ^ flip).chain([centre])
    };
    sorted(scattered(10).into_iter().flat_map(members).collect())
}

/// 0 and all powers of two: with `xor` and L = 0 every class occurs once.
fn powers() -> Vec<u64> {
    [0].into_iter().chain((0..64).map(|bit| 1 << bit)).collect()
}

/// Gaps of 2^r, as many of each as the Fibonacci numbers say: the deepest of all Huffman trees.
fn fibonacci() -> Vec<u64> {
    let (mut keys, mut key) = (vec![0], 0);
    let (mut now, mut next) = (1, 1);
    for r in 0..13 {
        for _ in 0..now {
            key += 1 << (40 - r);
            keys.push(key);
        }
        (now, next) = (next, now + next);
    }
    keys
}

macro_rules! good {
    ($set:literal, $design:literal, $codec:literal, $block:literal, $low:literal, $keys:expr, $what:literal) => {
        (
            concat!("good-", $set, "-", $codec, "-l", $low, "-b", $block),
            concat!(
                $what,
                " (design ",
                $design,
                ", codec ",
                $codec,
                ", L = ",
                $low,
                ", B = ",
                $block,
                ")."
            ),
            spec($design, $codec, $block, $low, $keys),
        )
    };
}

/// Good stores that are vectors: name, what it is in a sentence, and what to pack.
///
/// Together they have every codec with every L and with blocks of 256, 1024 and 8192 bytes. A full
/// block of 8192 bytes would take a thousand fingerprints, so there is none.
#[rustfmt::skip]
pub fn good_specs() -> Vec<(&'static str, &'static str, BaseSpec)> {
    let mut specs = wide_key_specs();
    specs.extend(narrow_specs());
    specs
}

#[rustfmt::skip]
fn wide_key_specs() -> Vec<(&'static str, &'static str, BaseSpec)> {
    vec![
        good!("empty", "single", "xor", 256, 0, vec![], "The empty set"),
        good!("empty", "halves", "gap", 8192, 32, vec![], "The empty set"),
        good!("empty", "single", "gap", 256, 48, vec![], "The empty set: no table of 64 bits has fewer bytes"),
        good!("one", "halves", "xor", 1024, 24, vec![0xDEAD_BEEF], "One fingerprint"),
        good!("one", "single", "gap", 256, 0, vec![u64::MAX], "One fingerprint"),
        good!("ends", "halves", "xor", 256, 0, vec![0, u64::MAX], "0 and the greatest fingerprint"),
        good!("ends", "halves", "gap", 8192, 0, vec![0, u64::MAX], "0 and the greatest fingerprint"),
        good!("ends", "single", "gap", 256, 32, vec![0, u64::MAX], "0 and the greatest fingerprint"),
        good!("annotated", "single", "xor", 256, 8, vec![0x1000, 0x1001, 0x1234, 0x5678, u64::MAX], "The store of which the document shows a table byte by byte"),
        good!("run", "halves", "xor", 256, 8, steps(0x7F80, 1, 600), "A run of consecutive values"),
        good!("run", "halves", "gap", 256, 16, steps(0xFF00, 1, 600), "A run of consecutive values"),
        good!("run", "single", "gap", 1024, 0, steps(u64::MAX - 599, 1, 600), "A run of consecutive values"),
        good!("full", "single", "gap", 256, 0, steps(9, 1 << 15, 244), "Two blocks, exactly full"),
        good!("full", "single", "gap", 256, 32, steps(9, 1 << 43, 90), "Two blocks, exactly full"),
        good!("full-and-one", "single", "gap", 256, 8, steps(9, 1 << 15, 245), "Two blocks, exactly full, and one of a single key"),
        good!("full", "single", "gap", 1024, 8, steps(9, 1 << 15, 506), "One block, exactly full"),
        good!("powers", "single", "xor", 1024, 0, powers(), "Every class once"),
        good!("powers", "halves", "gap", 1024, 16, powers(), "0 and all powers of two"),
        good!("fibonacci", "single", "gap", 256, 24, fibonacci(), "Gaps whose classes would take codes of more than 11 bits"),
        good!("clustered", "halves", "xor", 256, 16, clustered(30), "Clusters of near-duplicates"),
        good!("clustered", "halves", "xor", 256, 24, clustered(30), "Clusters of near-duplicates"),
        good!("clustered", "halves", "xor", 256, 32, clustered(30), "Clusters of near-duplicates"),
        good!("clustered", "quarters", "xor", 256, 40, clustered(30), "Clusters of near-duplicates"),
        good!("clustered", "quarters", "xor", 256, 48, clustered(30), "Clusters of near-duplicates"),
        good!("clustered", "quarters", "gap", 256, 40, clustered(30), "Clusters of near-duplicates"),
        good!("next", "single", "gap", 256, 48, steps(9, 1 << 48, 60), "Two blocks of keys whose middles are consecutive"),
        good!("clustered", "single", "xor", 1024, 40, clustered(30), "Clusters of near-duplicates"),
        good!("clustered", "single", "xor", 1024, 48, clustered(30), "Clusters of near-duplicates"),
        good!("clustered", "single", "gap", 1024, 40, clustered(30), "Clusters of near-duplicates"),
        good!("clustered", "single", "gap", 1024, 48, clustered(30), "Clusters of near-duplicates"),
        good!("clustered", "single", "xor", 1024, 8, clustered(30), "Clusters of near-duplicates"),
        good!("clustered", "single", "xor", 1024, 16, clustered(30), "Clusters of near-duplicates"),
        good!("clustered", "single", "xor", 1024, 32, clustered(30), "Clusters of near-duplicates"),
        good!("clustered", "single", "gap", 1024, 24, clustered(30), "Clusters of near-duplicates"),
        good!("clustered", "single", "gap", 1024, 32, clustered(30), "Clusters of near-duplicates"),
        good!("scattered", "single", "xor", 8192, 0, scattered(100), "Scattered fingerprints, all in one block"),
        good!("scattered", "single", "xor", 8192, 8, scattered(100), "Scattered fingerprints, all in one block"),
        good!("scattered", "single", "xor", 8192, 16, scattered(100), "Scattered fingerprints, all in one block"),
        good!("scattered", "single", "xor", 8192, 24, scattered(100), "Scattered fingerprints, all in one block"),
        good!("scattered", "single", "xor", 8192, 32, scattered(100), "Scattered fingerprints, all in one block"),
        good!("scattered", "single", "xor", 8192, 40, scattered(100), "Scattered fingerprints, all in one block"),
        good!("scattered", "single", "xor", 8192, 48, scattered(100), "Scattered fingerprints, all in one block"),
        good!("scattered", "single", "gap", 8192, 40, scattered(100), "Scattered fingerprints, all in one block"),
        good!("scattered", "single", "gap", 8192, 48, scattered(100), "Scattered fingerprints, all in one block"),
        good!("scattered", "single", "gap", 8192, 8, scattered(100), "Scattered fingerprints, all in one block"),
        good!("scattered", "single", "gap", 8192, 16, scattered(100), "Scattered fingerprints, all in one block"),
        good!("scattered", "single", "gap", 8192, 24, scattered(100), "Scattered fingerprints, all in one block"),
        good!("scattered", "single", "gap", 8192, 32, scattered(100), "Scattered fingerprints, all in one block"),
        ("good-ids-none", "The empty set, with ids.", base_spec(Base::NoIds)),
        ("good-ids-one-each", "One id for each fingerprint: no marks.", base_spec(Base::OneId)),
        ("good-ids-several", "One to three ids for each fingerprint.", base_spec(Base::Ids)),
        ("good-ids-zero", "The id 0 for each fingerprint: ids of 0 bits.", base_spec(Base::Blocks).with_ids(|_| vec![0])),
        good!("ten-tables", "2of5", "gap", 256, 24, scattered(60), "Ten tables with tops of two parts out of five"),
        good!("scattered", "halves", "xor", 4096, 24, scattered(100), "Blocks of 4096 bytes in two tables"),
        ("good-ids-greatest", "Ids of 64 bits.", base_spec(Base::Ids).with_ids(|index| vec![index, u64::MAX - index])),
    ]
}

#[test]
fn good_specs_have_every_codec_with_every_low_part_and_block_size() {
    for codec in fpstore::Codec::ALL.map(|codec| codec.to_string()) {
        for low_bits in [0, 8, 16, 24, 32, 40, 48] {
            for block_bytes in [256, 1024, 8192] {
                let wanted = (codec.as_str(), low_bits, block_bytes);
                let all = good_specs();
                let has = |spec: &BaseSpec| (spec.codec, spec.low_bits, spec.block_bytes) == wanted;
                assert!(all.iter().any(|(_, _, spec)| has(spec)), "no good store has {wanted:?}");
            }
        }
    }
}
