//! How a search goes among the kept keys of a segment.

use crate::costs::SearchCosts;
use crate::flips;
use crate::simd::Level;
use crate::table::KeptKeys;
use crate::thresholds::solver::Thresholds;

/// Keys of a row that are compared in the time that it takes to find a run and look into it, some 5 ns: with AVX-512 32 at a time, else one by one.
fn keys_of_a_run(level: Level) -> f64 {
    if level.is_avx512() { 96.0 } else { 24.0 }
}

/// Runs of a search at most: all are found before the first is compared, which takes 8 bytes and some ns for each.
pub(crate) const MOST_KEPT_RUNS: u32 = 1 << 14;

/// How a search within a radius goes among all keys.
pub(crate) struct KeptPlan {
    /// The tables whose runs it looks up; `None` if to compare all keys of one table takes less time.
    pub(crate) tables: Option<Vec<KeptTable>>,
    /// As many runs looked up would take the time that all of its runs and keys take, if keys are spread evenly.
    runs: f64,
    /// The same of a comparison of all keys of one table.
    whole_runs: f64,
}

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

impl KeptPlan {
    /// Of a search with these thresholds, if it has some. `tops` gives the tops of all tables as masks of keys of one of them.
    pub(super) fn new<'a>(
        (keys, level): (&[KeptKeys], Level),
        thresholds: Option<&Thresholds>,
        tops: impl Fn(usize) -> &'a [u64],
    ) -> Self {
        let count = keys.first().map_or(0, |keys| keys.all().len()) as f64;
        let keys_of_a_run = keys_of_a_run(level);
        let whole_runs = count / keys_of_a_run;
        let whole = Self { tables: None, runs: whole_runs, whole_runs };
        let Some(thresholds) = thresholds else { return whole };
        let used =
            || (0..).zip(thresholds).filter_map(|(at, flips)| flips.map(|flips| (at, flips)));
        let of_table = |(number, flips): (usize, u32)| {
            let tops = tops(number);
            let behind = used().filter(|(other, _)| *other > number);
            let behind = behind.map(|(other, flips)| (tops[other], flips)).collect();
            KeptTable { number, flips, own: tops[number], behind }
        };
        let ways = |(at, flips): (usize, u32)| flips::ways(keys[at].prefix_bits(), flips);
        let runs = used().map(ways).sum::<f64>();
        let is_short = is_short(runs, count, keys_of_a_run);
        if !is_short && used().any(|(_, flips)| flips > 0) {
            return whole;
        }
        let of_run = |at: usize| count / f64::from(keys[at].prefix_bits()).exp2();
        let compared = used().map(|(at, flips)| ways((at, flips)) * of_run(at)).sum::<f64>();
        let runs = runs + compared / keys_of_a_run;
        Self { tables: Some(used().map(of_table).collect()), runs, whole_runs }
    }

    /// Whether it takes more than half of the time that it takes to compare all keys of one table.
    pub(super) fn is_long(&self) -> bool {
        2.0 * self.runs > self.whole_runs
    }

    /// The predicted time, with a match.
    pub(super) fn search_ns(&self, c: &SearchCosts) -> f64 {
        let looked_into = self.tables.as_ref().map_or(1, Vec::len) as f64;
        c.query_ns + looked_into * c.kept_table_ns + self.runs * c.kept_run_ns
    }
}

/// Whether so many runs are few enough, and take less time than to compare all keys of a table.
fn is_short(runs: f64, count: f64, keys_of_a_run: f64) -> bool {
    runs <= f64::from(MOST_KEPT_RUNS) && runs * keys_of_a_run < count
}

#[cfg(test)]
mod tests {
    use super::{MOST_KEPT_RUNS, is_short};

    #[test]
    fn runs_are_looked_up_where_they_are_few_and_all_keys_many() {
        assert!(is_short(100.0, 2401.0, 24.0) && !is_short(100.0, 2400.0, 24.0));
        let most = f64::from(MOST_KEPT_RUNS);
        assert!(is_short(most, 1e12, 24.0) && !is_short(most + 1.0, 1e12, 24.0));
    }
}
