//! Makes one answer of what the tables of several segments give, in any order and some of it several
//! times.
//!
//! Here and in the [cursor](super::cursor) it is decided which stored fingerprints a query sees: who
//! searches segments hands on nothing that has not come through one of the two.

use std::sync::Arc;

use rayon::prelude::*;

use crate::error::Result;
use crate::ids::Ids;
use crate::segment::Segment;
use crate::sort;

/// A stored fingerprint near a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Match {
    /// The stored fingerprint.
    pub fingerprint: u64,
    /// Its Hamming distance from the query, in bits.
    pub distance: u32,
}

impl Match {
    /// What matches are ordered by.
    #[inline]
    pub(crate) fn order(&self) -> (u32, u64) {
        (self.distance, self.fingerprint)
    }
}

/// Whether some segment holds a fingerprint.
pub(crate) fn holds(segments: &[Arc<Segment>], fingerprint: u64) -> Result<bool> {
    for segment in segments {
        let table = segment.identity();
        if table.contains(table.permutation().key(fingerprint))? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The ids that a fingerprint has in all segments.
pub(crate) fn ids_of(segments: &[Arc<Segment>], fingerprint: u64) -> Result<Ids> {
    let mut ids = Ids::default();
    for segment in segments {
        if let Some((column, numbers)) = segment.ids(fingerprint)? {
            ids.add(column, numbers);
        }
    }
    Ok(ids)
}

/// The matches of one query, each once, by distance, then by value.
#[inline]
pub(crate) fn of_matches(matches: &mut Vec<Match>) {
    matches.sort_unstable_by_key(Match::order);
    matches.dedup();
}

/// The matches of many queries, pairs of a query and a match: each once, by query, then by distance,
/// then by value. Sorts with all threads of the current pool.
pub(crate) fn of_pairs(pairs: &[[u64; 2]]) -> Vec<[u64; 2]> {
    let mut all = vec![[0; 2]; pairs.len()];
    let distinct = sort::sort_lists(&[pairs], &mut all);
    all.truncate(distinct);
    let of_queries = all.par_chunk_by_mut(|one, other| one[0] == other[0]);
    of_queries.for_each(|pairs| {
        pairs.sort_unstable_by_key(|&[query, found]| ((query ^ found).count_ones(), found));
    });
    all
}
