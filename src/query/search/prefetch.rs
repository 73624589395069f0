//! Asks for the bytes of candidate blocks before they are needed.

use super::descended::Descended;
use crate::block::Candidate;
use crate::segment::Tables;
use crate::table::Table;

/// Blocks of all tables together that are asked for ahead of the scan.
const AHEAD: usize = 8;
/// Blocks of all tables together whose pages are asked for before the first is scanned.
pub(super) const PAGES_AHEAD: usize = 64;
/// Bytes of a page, as far as is known here.
const PAGE_BYTES: usize = 4096;

/// Asks for the first candidates. Where the CPU has to look up the address of a page, a request
/// holds up all that follows, but several go on together if one comes right after the other; so
/// the first line of each page comes before all else.
pub(super) fn first(segment: &Tables, tables: &[Descended], candidates: &[Candidate]) {
    let mut start = 0;
    for &Descended { number, candidates_end, .. } in tables {
        let table = &segment.all()[number];
        let end = candidates_end.min(PAGES_AHEAD).max(start);
        pages(table, &candidates[start..end]);
        start = candidates_end;
    }
    let mut start = 0;
    for &Descended { number, candidates_end, .. } in tables {
        for &candidate in &candidates[start..candidates_end.min(AHEAD).max(start)] {
            segment.all()[number].prefetch_block(candidate);
        }
        start = candidates_end;
    }
}

/// Asks for the first line of each page in which one of the candidates begins.
pub(super) fn pages(table: &Table, candidates: &[Candidate]) {
    let mut last_page = None;
    for &candidate in candidates {
        let page = table.block_offset(candidate) / PAGE_BYTES;
        if last_page.replace(page) != Some(page) {
            table.prefetch_header(candidate);
        }
    }
}

/// Asks for candidates of all tables, one after the other, behind those that [`first`] has asked for.
pub(super) struct Ahead {
    /// The next candidate.
    candidate: usize,
    /// Its table, among those that are descended.
    table: usize,
}

impl Ahead {
    pub(super) fn new() -> Self {
        Self { candidate: AHEAD, table: 0 }
    }

    /// Asks for the next candidate.
    #[inline(always)]
    pub(super) fn prefetch(
        &mut self,
        segment: &Tables,
        tables: &[Descended],
        candidates: &[Candidate],
    ) {
        if let Some(&candidate) = candidates.get(self.candidate) {
            while tables[self.table].candidates_end <= self.candidate {
                self.table += 1;
            }
            segment.all()[tables[self.table].number].prefetch_block(candidate);
            self.candidate += 1;
        }
    }
}
