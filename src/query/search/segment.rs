//! Searches one segment.

use std::any::Any;
use std::mem;

use super::hot::HotRuns;
use super::tables::TableSearch;
use super::work::{Ask, SearchWork};
use crate::error::Result;
use crate::execution::Stop;
use crate::fingerprint::{Fingerprint, key_of, of_key};
use crate::multi_index::{Near, Probing};
use crate::segment::{Index, Segment, Tables};
use crate::snapshot::parts::Parts;
use crate::snapshot::union::Match;

/// A search in one segment after the other, and its buffers.
pub(super) struct SegmentSearch<F> {
    pub(super) tables: TableSearch,
    pub(super) probing: Probing,
    /// Of the segment at hand.
    rows: Vec<Near>,
    pub(super) matches: Vec<Match<F>>,
}

impl<F: Fingerprint> SegmentSearch<F> {
    pub(super) fn new() -> Self {
        Self {
            tables: TableSearch::new(),
            probing: Probing::default(),
            rows: Vec::new(),
            matches: Vec::new(),
        }
    }

    /// Forgets what the last search has found.
    pub(super) fn clear(&mut self) {
        self.matches.clear();
        self.tables.clear();
    }

    /// Whether the matches that were found are too many.
    pub(super) fn gives_up(&self, ask: Ask<F>) -> bool {
        self.matches.len() > ask.most
    }

    /// What the search has done so far.
    pub(super) fn work(&self) -> SearchWork {
        self.tables.work
    }

    /// Adds the matches of a segment, some perhaps several times.
    pub(super) fn search(
        &mut self,
        segment: &Segment<F>,
        ask: Ask<F>,
        cold: bool,
        stop: &Stop,
    ) -> Result<()> {
        match segment.index() {
            Index::Tables(tables) => {
                self.in_tables(ask, |search, ask| search.search(tables, ask, cold, stop))
            }
            Index::Parts(index) => {
                let Self { probing, rows, matches, .. } = self;
                probing.is_cold = cold;
                rows.clear();
                // Each part that finds a row gives it once, so what looks like too many may not be.
                let room = ask.most.saturating_sub(matches.len());
                probing.search(index, (ask.fingerprint, ask.k), stop, &mut |near| {
                    rows.push(near);
                    if rows.len() <= room.saturating_mul(2) {
                        return true;
                    }
                    once(rows);
                    rows.len() <= room
                })?;
                once(rows);
                for near in rows {
                    let fingerprint = index.base().row(near.row.into())?;
                    matches.push(Match { fingerprint, distance: near.distance });
                }
                self.count_probes();
                Ok(())
            }
        }
    }

    /// As [`Self::search`], looking at every fingerprint.
    pub(super) fn scan(&mut self, segment: &Segment<F>, ask: Ask<F>, stop: &Stop) -> Result<()> {
        match segment.index() {
            Index::Tables(tables) => {
                self.in_tables(ask, |search, ask| search.scan(tables, ask, stop))
            }
            Index::Parts(index) => {
                let Self { probing, matches, .. } = self;
                let mut fault = Ok(());
                probing.scan(index, (ask.fingerprint, ask.k), stop, &mut |near| {
                    match index.base().row(near.row.into()) {
                        Ok(fingerprint) => {
                            matches.push(Match { fingerprint, distance: near.distance });
                        }
                        Err(error) => fault = Err(error),
                    }
                    fault.is_ok() && matches.len() <= ask.most
                })?;
                self.count_probes();
                fault
            }
        }
    }

    /// Adds the matches that `search` finds in the keys of tables.
    fn in_tables(
        &mut self,
        ask: Ask<F>,
        search: impl FnOnce(&mut TableSearch, Ask) -> Result<()>,
    ) -> Result<()> {
        let Self { tables, matches, .. } = self;
        let mut of_keys = Ask { fingerprint: key_of(ask.fingerprint), k: ask.k, most: ask.most };
        if let Some(matches) = (matches as &mut dyn Any).downcast_mut() {
            // The same list: another one would take as much memory again.
            mem::swap(matches, &mut tables.matches);
            let done = search(tables, of_keys);
            mem::swap(matches, &mut tables.matches);
            return done;
        }
        tables.matches.clear();
        of_keys.most = ask.most.saturating_sub(matches.len());
        search(tables, of_keys)?;
        matches.extend(tables.matches.iter().map(|found| Match {
            fingerprint: of_key(found.fingerprint),
            distance: found.distance,
        }));
        Ok(())
    }

    /// Counts what was done in the base and the part tables of a segment.
    pub(super) fn count_probes(&mut self) {
        let (work, probing) = (&mut self.tables.work, &self.probing);
        work.groups_probed += probing.groups;
        work.rows_compared += probing.compared;
        work.full_scans += u64::from(probing.is_scan);
    }

    /// Adds the matches of what was written last, some perhaps several times.
    pub(super) fn search_tails(&mut self, parts: &Parts<F>, ask: Ask<F>) {
        parts.search_tails(ask.fingerprint, ask.k, |record| {
            let fingerprint = record.fingerprint;
            let distance = fingerprint.distance(ask.fingerprint);
            self.matches.push(Match { fingerprint, distance });
        });
    }
}

/// Bytes that a search of a segment may take, but for the matches, and 8 for each candidate block.
pub(super) fn most_bytes<F: Fingerprint>(segment: &Segment<F>) -> u64 {
    let of_tables = |tables: &Tables| tables.all().iter().map(super::tables::most_bytes).max();
    match segment.index() {
        // As long as the hot index is not complete, blocks are searched.
        Index::Tables(tables) => {
            let runs = if tables.hot().is_taken() { HotRuns::MOST_BYTES } else { 0 };
            let identity = tables.identity();
            let leads = if tables.has_short() { super::tables::lead_bytes(identity) } else { 0 };
            let of_filters = tables.all().iter().map(super::tables::filter_bytes).max();
            let filters = if tables.filter_slot().is_taken() { of_filters.unwrap_or(0) } else { 0 };
            of_tables(tables).unwrap_or(0) + runs + leads + filters
        }
        Index::Parts(_) => Probing::MOST_BYTES,
    }
}

/// Leaves each row once.
fn once(rows: &mut Vec<Near>) {
    rows.sort_unstable_by_key(|near| near.row);
    rows.dedup();
}
