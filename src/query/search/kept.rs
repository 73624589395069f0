//! Searches by runs in segments whose keys are kept decoded.

use std::ops::Range;

use super::ask::Ask;
use super::runs::tell_unless_behind;
use super::work::SearchWork;
use crate::block::within;
use crate::error::Result;
use crate::execution::Stop;
use crate::segment::{RunTable, Tables};
use crate::simd::Work;
use crate::snapshot::union::Match;
use crate::table::KeptKeys;

/// Keys of a run at most: of longer ones, a descent compares fewer.
const MOST_KEYS: usize = 1 << 14;

/// A run of a table.
pub(super) struct KeptRun {
    /// The query in the order of the table.
    query: u64,
    /// Numbers of keys.
    keys: Range<usize>,
}

/// A search in the kept keys of a segment.
pub(super) struct SearchingKept<'a> {
    /// A buffer.
    pub(super) runs: &'a mut Vec<KeptRun>,
    pub(super) segment: &'a Tables,
    pub(super) tables: &'a [RunTable],
    pub(super) keys: &'a [KeptKeys],
    pub(super) ask: Ask,
    pub(super) stop: &'a Stop,
    pub(super) matches: &'a mut Vec<Match>,
    pub(super) work: &'a mut SearchWork,
}

impl Work for SearchingKept<'_> {
    /// `None` where runs are too long.
    type Output = Option<Result<()>>;

    #[inline(always)]
    fn work(self) -> Self::Output {
        let Self { runs, segment, tables, keys, ask, stop, matches, work } = self;
        runs.clear();
        for of_table in tables {
            let query = segment.all()[of_table.number].permutation().key(ask.fingerprint);
            keys[of_table.number].prefetch(query);
            runs.push(KeptRun { query, keys: 0..0 });
        }
        for (of_table, run) in tables.iter().zip(&mut *runs) {
            run.keys = keys[of_table.number].run(run.query);
        }
        if runs.iter().any(|run| run.keys.len() > MOST_KEYS) {
            return None;
        }
        for (of_table, run) in tables.iter().zip(&*runs) {
            let KeptRun { query, keys: numbers } = run;
            let table = &segment.all()[of_table.number];
            let keys = keys[of_table.number].keys(numbers.clone());
            within(table.level(), keys, (*query, ask.k), |number| {
                tell_unless_behind(matches, ask, (table, of_table), keys[number], *query);
            });
            work.keys_compared += keys.len() as u64;
            if matches.len() > ask.most {
                break;
            }
        }
        Some(stop.check())
    }
}
