//! Makes one answer of what the tables of several segments give, in any order and some of it
//! several times.
//!
//! Here and in the [cursor](super::cursor) it is decided which stored fingerprints a query sees:
//! who searches segments hands on nothing that has not come through one of the two.

use std::ops::Range;
use std::sync::Arc;

use super::parts::Parts;
use crate::error::Result;
use crate::fingerprint::{Fingerprint, of_key};
use crate::id::IdRef;
use crate::ids::{IdColumn, IdRuns, Numbering};
use crate::sort;
use crate::tail::Hidden;
use crate::tasks;

/// Pairs of one task, or all of one query.
const TASK_PAIRS: usize = 1 << 12;

/// A stored fingerprint near a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Match<F = u64> {
    /// The stored fingerprint.
    pub fingerprint: F,
    /// Its Hamming distance from the query, in bits.
    pub distance: u32,
}

impl<F: Copy> Match<F> {
    /// What matches are ordered by.
    #[inline]
    pub(crate) fn order(&self) -> (u32, F) {
        (self.distance, self.fingerprint)
    }
}

/// Whether a snapshot holds a fingerprint.
pub(crate) fn holds<F: Fingerprint>(parts: &Parts<F>, fingerprint: F) -> Result<bool> {
    let mut is_in_tail = false;
    parts.search_tails(fingerprint, 0, |_| is_in_tail = true);
    if is_in_tail {
        return Ok(true);
    }
    for (place, segment) in parts.base.segments.iter().enumerate() {
        if !segment.rows().contains(fingerprint)? {
            continue;
        }
        if visible_in(parts, place, fingerprint)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a fingerprint that a segment holds is visible there.
pub(crate) fn visible_in<F: Fingerprint>(
    parts: &Parts<F>,
    segment: usize,
    fingerprint: F,
) -> Result<bool> {
    match parts.hidden(segment, fingerprint)? {
        Hidden::Nothing => Ok(true),
        Hidden::Whole => Ok(false),
        Hidden::Ids(hidden) => match parts.base.segments[segment].ids(fingerprint)? {
            Some((column, numbers)) => {
                Ok(column.find(numbers.clone(), &hidden)?.len() < len(&numbers))
            }
            None => Ok(true),
        },
    }
}

fn len(numbers: &Range<u64>) -> usize {
    usize::try_from(numbers.end - numbers.start).unwrap_or(usize::MAX)
}

/// The ids that a fingerprint has in all segments and tails.
pub(crate) fn ids_of<F: Fingerprint>(parts: &Parts<F>, fingerprint: F) -> Result<IdRuns> {
    let mut ids = IdRuns::default();
    for (place, segment) in parts.base.segments.iter().enumerate() {
        if let Some(numbers) = segment.ids(fingerprint)? {
            let numbering = Numbering::Of(segment.naming());
            add_ids(&mut ids, parts, (place, numbering), fingerprint, numbers)?;
        }
    }
    if parts.base.manifest.log.is_some_and(|log| log.shape.ids) {
        for (place, tail) in parts.tails.iter().enumerate() {
            let mut numbers = Vec::new();
            parts.search_tail(place, fingerprint, 0, |record| numbers.push(record.id));
            numbers.sort_unstable();
            numbers.dedup();
            let naming = tail.naming();
            naming.sort(&mut numbers);
            ids.add_list(numbers, naming);
        }
    }
    Ok(ids)
}

/// Whether a fingerprint has an id, in a segment or a tail.
pub(crate) fn holds_id<F: Fingerprint>(
    parts: &Parts<F>,
    fingerprint: F,
    id: IdRef<'_>,
) -> Result<bool> {
    let (number, name) = (id.number(), id.name());
    for (place, tail) in parts.tails.iter().enumerate() {
        let Some(id) = tail.naming().find((number, &name))? else { continue };
        let mut is_in_tail = false;
        parts.search_tail(place, fingerprint, 0, |record| is_in_tail |= record.id == id);
        if is_in_tail {
            return Ok(true);
        }
    }
    for (place, segment) in parts.base.segments.iter().enumerate() {
        let Some((column, numbers)) = segment.ids(fingerprint)? else { continue };
        let Some(id) = segment.naming().find((number, &name))? else { continue };
        let is_hidden = match parts.hidden(place, fingerprint)? {
            Hidden::Nothing => false,
            Hidden::Whole => true,
            Hidden::Ids(hidden) => hidden.contains(&id),
        };
        if !is_hidden && !column.find(numbers, &[id])?.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Adds those ids that `fingerprint` has in a segment and that are not hidden.
pub(crate) fn add_ids<F: Fingerprint>(
    ids: &mut IdRuns,
    parts: &Parts<F>,
    (segment, numbering): (usize, Numbering),
    fingerprint: F,
    (column, numbers): (&Arc<IdColumn>, Range<u64>),
) -> Result<()> {
    let hidden = match parts.hidden(segment, fingerprint)? {
        Hidden::Nothing => Vec::new(),
        Hidden::Whole => return Ok(()),
        Hidden::Ids(hidden) => column.find(numbers.clone(), &hidden)?,
    };
    ids.add(column, numbers, hidden, (segment, numbering));
    Ok(())
}

/// The matches of one query that are visible, each once, by distance, then by value.
#[inline]
pub(crate) fn of_matches<F: Fingerprint>(
    parts: &Parts<F>,
    matches: &mut Vec<Match<F>>,
) -> Result<()> {
    matches.sort_unstable_by_key(Match::order);
    matches.dedup();
    if parts.hides() { drop_hidden(parts, matches) } else { Ok(()) }
}

#[cold]
fn drop_hidden<F: Fingerprint>(parts: &Parts<F>, matches: &mut Vec<Match<F>>) -> Result<()> {
    let mut fault = None;
    matches.retain(|found| match is_visible(parts, found.fingerprint) {
        Ok(visible) => visible,
        Err(error) => {
            fault = Some(error);
            false
        }
    });
    fault.map_or(Ok(()), Err)
}

/// Whether a fingerprint that some segment holds is visible.
fn is_visible<F: Fingerprint>(parts: &Parts<F>, fingerprint: F) -> Result<bool> {
    if parts.touches(fingerprint) { holds(parts, fingerprint) } else { Ok(true) }
}

/// The matches of many queries that are visible, pairs of the keys of a query and a match: each
/// once, by query, then by distance, then by value. Sorts with all threads of the current pool.
pub(crate) fn of_pairs<F: Fingerprint>(
    parts: &Parts<F>,
    pairs: &[[u64; 2]],
) -> Result<Vec<[u64; 2]>> {
    let mut all = vec![[0; 2]; pairs.len()];
    let distinct = sort::sort_lists(&[pairs], &mut all);
    all.truncate(distinct);
    if parts.hides() {
        let visible = |pairs: &[[u64; 2]]| {
            let visible = pairs.iter().map(|&[_, found]| is_visible(parts, of_key(found)));
            visible.collect::<Result<Vec<bool>>>()
        };
        let visible = tasks::try_map(all.chunks(TASK_PAIRS), visible)?;
        let mut visible = visible.into_iter().flatten();
        all.retain(|_| visible.next().unwrap_or_default());
    }
    tasks::map(of_tasks(&mut all), |pairs| {
        for pairs in pairs.chunk_by_mut(|one, other| one[0] == other[0]) {
            pairs.sort_unstable_by_key(|&[query, found]| ((query ^ found).count_ones(), found));
        }
    });
    Ok(all)
}

/// Cuts pairs that ascend between queries, into what one task sorts.
fn of_tasks(mut pairs: &mut [[u64; 2]]) -> Vec<&mut [[u64; 2]]> {
    let mut tasks = Vec::new();
    while let Some(&[query, _]) = pairs.get(TASK_PAIRS.min(pairs.len()).saturating_sub(1)) {
        let end = pairs.partition_point(|pair| pair[0] <= query);
        let (task, rest) = std::mem::take(&mut pairs).split_at_mut(end);
        tasks.push(task);
        pairs = rest;
    }
    tasks
}
