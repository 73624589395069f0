//! How a search goes among the kept keys of a segment.

use crate::flips;
use crate::simd::Level;
use crate::table::KeptKeys;
use crate::thresholds::solver::Thresholds;

/// Keys of a row that are compared in the time that it takes to find a run and look into it, some 10 ns: with AVX-512 eight at a time, else one by one.
fn keys_of_a_run(level: Level) -> f64 {
    if level.is_avx512() { 64.0 } else { 24.0 }
}

/// Runs of a search at most: all are found before the first is compared, which takes 32 bytes and some 10 ns for each.
pub(crate) const MOST_KEPT_RUNS: u32 = 1 << 14;

/// A table of a search among kept keys.
pub(crate) struct KeptTable {
    /// Its number in the segment.
    pub(crate) number: usize,
    /// How many bits of its top may differ, and so of the prefixes of its runs.
    pub(crate) flips: u32,
    /// Its top, and those of the tables of the search that come behind, as masks of keys of this one, with how many of their bits may differ.
    own: u64,
    behind: Vec<(u64, u32)>,
}

impl KeptTable {
    /// Whether this table tells of a key that differs from the query in these bits, of all tables of the search. One of them does where the thresholds hold.
    #[inline(always)]
    pub(crate) fn tells(&self, bits: u64) -> bool {
        let finds = |(top, flips): (u64, u32)| (bits & top).count_ones() <= flips;
        finds((self.own, self.flips)) && !self.behind.iter().copied().any(finds)
    }
}

/// The tables of a search with these thresholds among all keys; `None` if to compare all keys of a table takes less time. `tops` gives the tops of all tables as
/// masks of keys of one of them.
pub(super) fn plan<'a>(
    (keys, level): (&[KeptKeys], Level),
    thresholds: &Thresholds,
    tops: impl Fn(usize) -> &'a [u64],
) -> Option<Vec<KeptTable>> {
    let used = || (0..).zip(thresholds).filter_map(|(at, flips)| flips.map(|flips| (at, flips)));
    let of_table = |(number, flips): (usize, u32)| {
        let tops = tops(number);
        let behind = used().filter(|(other, _)| *other > number);
        let behind = behind.map(|(other, flips)| (tops[other], flips)).collect();
        KeptTable { number, flips, own: tops[number], behind }
    };
    let runs = |(at, flips): (usize, u32)| flips::ways(keys[at].prefix_bits(), flips);
    let runs = used().map(runs).sum::<f64>();
    let takes_less = runs * keys_of_a_run(level) < keys.first()?.all().len() as f64;
    ((takes_less && runs <= f64::from(MOST_KEPT_RUNS)) || !used().any(|(_, flips)| flips > 0))
        .then(|| used().map(of_table).collect())
}
