//! Collects the blocks of all tables of a segment that can hold matches.

use std::cmp::Reverse;
use std::ops::Range;

use crate::block::{Candidate, Reading, Sieve};
use crate::cover::{self, Claim, Differs};
use crate::error::Result;
use crate::execution::Stop;
use crate::router::Probe;
use crate::segment::Tables;
use crate::table::{Lead, PrefixFilter, Table};

/// Blocks of all tables together that are asked for ahead of the scan.
pub(super) const BLOCKS_AHEAD: usize = 8;
/// Blocks that are decoded side by side.
pub(super) const LANES: u32 = 4;
/// Blocks of all tables together whose pages are asked for before the first is scanned.
pub(super) const PAGES_AHEAD: usize = 64;

/// Leads that are followed before it is looked whether to stop.
const FOLLOWED: usize = 64;

/// The candidate blocks of some tables of a segment.
pub(super) struct Descent {
    /// The tables that are descended.
    pub(super) tables: Vec<Descended>,
    probes: Vec<Probe>,
    /// Blocks, table by table.
    pub(super) candidates: Vec<Candidate>,
    /// The groups of a filter that are looked into, and what is found there.
    groups: Vec<u32>,
    leads: Vec<Lead>,
    /// Blocks that can hold matches by the router alone.
    routed: Vec<Candidate>,
    /// Of a scan, adjacent blocks that are decoded.
    pub(super) whole: Vec<Range<u32>>,
    pub(super) reading: Reading,
    /// Whether the CRC of all candidates is known to have been checked.
    pub(super) is_checked: bool,
}

impl Descent {
    pub(super) fn new() -> Self {
        Self {
            tables: Vec::new(),
            probes: Vec::new(),
            candidates: Vec::new(),
            groups: Vec::new(),
            leads: Vec::new(),
            routed: Vec::new(),
            whole: Vec::new(),
            reading: Reading::Parts,
            is_checked: false,
        }
    }

    /// Collects the blocks that can hold matches within `k`; false if a scan touches fewer. Where
    /// blocks may not be in memory, asks the system for all of them together: of a segment that is
    /// `cold` for every one.
    #[inline(always)]
    pub(super) fn descend(
        &mut self,
        segment: &Tables,
        fingerprint: u64,
        k: u32,
        cold: bool,
    ) -> bool {
        let Some(thresholds) = segment.thresholds(k) else { return false };
        self.reading = Reading::Parts;
        self.tables.clear();
        self.probes.clear();
        self.candidates.clear();
        self.whole.clear();
        for &number in segment.order() {
            let table = &segment.all()[number];
            let Some(threshold) = thresholds[number] else { continue };
            let query = table.key(fingerprint);
            table.probe(query, k, threshold, &mut self.probes);
            let probes_end = self.probes.len();
            self.tables.push(Descended { number, query, threshold, probes_end, candidates_end: 0 });
        }
        let scan_blocks = segment.identity().block_count() as usize;
        let mut probes_start = 0;
        for descended in &mut self.tables {
            let table = &segment.all()[descended.number];
            let start = self.candidates.len();
            let limit = scan_blocks.saturating_sub(start);
            let Descended { query, threshold, probes_end, .. } = *descended;
            let probes = &self.probes[probes_start..probes_end];
            if !table.descend((query, k, threshold), probes, limit, &mut self.candidates) {
                return false;
            }
            probes_start = probes_end;
            descended.candidates_end = self.candidates.len();
        }
        self.ask_for_blocks(segment, k, cold);
        true
    }

    /// As [`Self::descend`], of a segment that is cold, where filters tell which prefixes its
    /// tables have: not where there are too many.
    #[inline(always)]
    pub(super) fn descend_filtered(
        &mut self,
        segment: &Tables,
        filters: &[PrefixFilter],
        (fingerprint, k): (u64, u32),
        stop: &Stop,
    ) -> Result<bool> {
        let Some(thresholds) = segment.thresholds(k) else { return Ok(false) };
        self.reading = Reading::Parts;
        self.tables.clear();
        self.candidates.clear();
        self.whole.clear();
        let scan_blocks = segment.identity().block_count() as usize;
        for &number in segment.order() {
            let (table, filter) = (&segment.all()[number], &filters[number]);
            let Some(threshold) = thresholds[number] else { continue };
            let query = table.key(fingerprint);
            let (start, budget) = (self.candidates.len(), table.budget(k, threshold));
            let limit = scan_blocks.saturating_sub(start);
            let Self { groups, leads, probes, candidates, routed, .. } = self;
            leads.clear();
            routed.clear();
            let room = (table.most_leads(), stop);
            let is_told = filter.is_quick(budget, table.block_count())
                && filter.near(query, budget, room, groups, leads)?;
            // Leads tell nothing of a top that goes on behind their bits; the router may.
            let asks_router = !is_told || (threshold < k && filter.bits() < budget.top_bits);
            let is_routed = asks_router && {
                probes.clear();
                table.probe(query, k, threshold, probes);
                table.descend((query, k, threshold), probes, limit, routed)
            };
            match (is_told, is_routed) {
                (true, _) => follow_all(table, (query, k), leads, (probes, candidates), stop)?,
                (false, true) => candidates.append(routed),
                (false, false) => return Ok(false),
            }
            if is_told && is_routed {
                keep_common(candidates, start, routed);
            }
            if self.candidates.len() > scan_blocks {
                return Ok(false);
            }
            let candidates_end = self.candidates.len();
            self.tables.push(Descended { number, query, threshold, probes_end: 0, candidates_end });
        }
        self.ask_for_blocks(segment, k, true);
        Ok(true)
    }

    /// Takes the blocks of the identity table that can hold matches within `k` which [leads](Lead)
    /// lead to.
    pub(super) fn follow(
        &mut self,
        segment: &Tables,
        fingerprint: u64,
        k: u32,
        (leads, cold): (&[Lead], bool),
        stop: &Stop,
    ) -> Result<()> {
        let table = segment.identity();
        self.reading = Reading::Parts;
        self.probes.clear();
        self.candidates.clear();
        self.whole.clear();
        let out = (&mut self.probes, &mut self.candidates);
        follow_all(table, (fingerprint, k), leads, out, stop)?;
        self.take_identity(fingerprint, k);
        self.ask_for_blocks(segment, k, cold);
        Ok(())
    }

    /// Says that the candidates are those of the identity table alone.
    fn take_identity(&mut self, fingerprint: u64, k: u32) {
        self.tables.clear();
        self.tables.push(Descended {
            number: 0,
            query: fingerprint,
            threshold: k,
            probes_end: 0,
            candidates_end: self.candidates.len(),
        });
    }

    /// Asks for the first of the candidates, and where they may not be in memory, the system for
    /// all of them together.
    #[inline(always)]
    fn ask_for_blocks(&mut self, segment: &Tables, k: u32, cold: bool) {
        self.is_checked = true;
        let mut start = 0;
        for descended in &self.tables {
            let candidates = &self.candidates[start..descended.candidates_end];
            let table = &segment.all()[descended.number];
            let first = &candidates[..candidates.len().min(PAGES_AHEAD.saturating_sub(start))];
            table.sieve((descended.query, k), (start as u32, first), self.reading).prefetch_pages();
            let is_checked = table.is_checked(candidates);
            if cold || !is_checked {
                table.will_need(candidates, cold);
            }
            self.is_checked &= is_checked;
            start = descended.candidates_end;
        }
        self.sieves(segment, k, 0..BLOCKS_AHEAD).for_each(|(_, sieve)| sieve.prefetch_blocks());
    }

    /// Takes some adjacent blocks of the identity table instead: those that can hold matches. Where
    /// many keys of a column would survive, whole [groups](LANES) of blocks.
    #[inline(always)]
    pub(super) fn scan(&mut self, table: &Table, blocks: Range<u32>, fingerprint: u64, k: u32) {
        self.reading = Reading::Whole;
        self.is_checked = false;
        self.candidates.clear();
        self.whole.clear();
        let decodes_from = table.decodes_from();
        for start in blocks.clone().step_by(LANES as usize) {
            let group = start..blocks.end.min(start.saturating_add(LANES));
            let before = self.candidates.len();
            table.within(group.clone(), (fingerprint, k), &mut self.candidates);
            if self.candidates[before..].iter().any(|one| one.budget >= decodes_from) {
                self.candidates.truncate(before);
                match self.whole.last_mut() {
                    Some(last) if last.end == group.start => last.end = group.end,
                    _ => self.whole.push(group),
                }
            }
        }
        self.take_identity(fingerprint, k);
    }

    /// The place among [`Self::tables`], from `from` on, of the table that a candidate is of.
    #[inline]
    pub(super) fn table_of(&self, from: usize, candidate: u32) -> usize {
        let behind = self.tables[from..].iter();
        from + behind.take_while(|table| table.candidates_end <= candidate as usize).count()
    }

    /// Those of some candidates that are of each table.
    #[inline]
    pub(super) fn by_table(
        &self,
        candidates: Range<usize>,
    ) -> impl Iterator<Item = (&Descended, Range<usize>)> {
        let mut start = 0;
        self.tables.iter().filter_map(move |table| {
            let end = table.candidates_end;
            let of_table = start.max(candidates.start)..end.min(candidates.end);
            start = end;
            (!of_table.is_empty()).then_some((table, of_table))
        })
    }

    /// A query within k for those of some candidates that are of each table, and which table it is.
    #[inline]
    pub(super) fn sieves<'a>(
        &'a self,
        segment: &'a Tables,
        k: u32,
        candidates: Range<usize>,
    ) -> impl Iterator<Item = (usize, Sieve<'a>)> {
        self.by_table(candidates).map(move |(table, of_table)| {
            let candidates = (of_table.start as u32, &self.candidates[of_table]);
            let of_segment = &segment.all()[table.number];
            (table.number, of_segment.sieve((table.query, k), candidates, self.reading))
        })
    }

    /// The tables behind the one at `at`.
    #[inline]
    pub(super) fn behind<'a>(&'a self, segment: &'a Tables, at: usize) -> Behind<'a> {
        Behind { tables: &self.tables[at + 1..], tops: segment.tops(self.tables[at].number) }
    }

    /// Bytes of headers and columns that the candidates stand for, by the average number of keys in
    /// a block.
    pub(super) fn scanned_bytes(&self, segment: &Tables) -> u64 {
        let mut start = 0;
        let mut bytes = 0;
        for &Descended { number, candidates_end, .. } in &self.tables {
            let table = &segment.all()[number];
            let of_table = self.candidates[start..candidates_end].iter();
            bytes += of_table.map(|&candidate| table.scanned_bytes(candidate)).sum::<u64>();
            start = candidates_end;
        }
        bytes
    }
}

/// Appends the blocks of a table that can hold matches within `k` which leads lead to, each once,
/// ascending. `probes` is there for what it holds of memory.
fn follow_all(
    table: &Table,
    query: (u64, u32),
    leads: &[Lead],
    (probes, candidates): (&mut Vec<Probe>, &mut Vec<Candidate>),
    stop: &Stop,
) -> Result<()> {
    let start = candidates.len();
    for leads in leads.chunks(FOLLOWED) {
        stop.check()?;
        leads.iter().for_each(|&lead| table.follow(lead, query, probes, candidates));
    }
    unite(candidates, start);
    Ok(())
}

/// Unites the candidates from `start` on to which several leads have led; the largest budget is
/// that of all of them.
fn unite(candidates: &mut Vec<Candidate>, start: usize) {
    candidates[start..].sort_unstable_by_key(|one| (one.block, Reverse(one.budget)));
    let mut kept = start;
    for at in start..candidates.len() {
        if kept == start || candidates[kept - 1].block != candidates[at].block {
            candidates[kept] = candidates[at];
            kept += 1;
        }
    }
    candidates.truncate(kept);
}

/// Leaves of the candidates from `start` on those that are among `others`, too; both ascend.
fn keep_common(candidates: &mut Vec<Candidate>, start: usize, others: &[Candidate]) {
    let mut others = others.iter().peekable();
    let mut kept = start;
    for at in start..candidates.len() {
        let candidate = candidates[at];
        while others.next_if(|other| other.block < candidate.block).is_some() {}
        if let Some(other) = others.next_if(|other| other.block == candidate.block) {
            let budget = candidate.budget.min(other.budget);
            candidates[kept] = Candidate { budget, ..candidate };
            kept += 1;
        }
    }
    candidates.truncate(kept);
}

/// The tables behind a table.
#[derive(Clone, Copy)]
pub(super) struct Behind<'a> {
    tables: &'a [Descended],
    /// Of all tables, as masks of keys of that one.
    tops: &'a [u64],
}

impl Behind<'_> {
    /// Whether one of them finds, too, a key of the table before them which is within the radius
    /// and differs in these bits from the query: each is told by the last table that finds it.
    /// Where the bits of its top were not all seen, a table is taken not to find it.
    #[inline(always)]
    pub(super) fn find(self, differs: Differs) -> bool {
        let claim =
            |behind: &Descended| Claim { mask: self.tops[behind.number], flips: behind.threshold };
        !cover::reports(self.tables.iter().map(claim), differs)
    }
}

/// A table that a search descends.
pub(super) struct Descended {
    pub(super) number: usize,
    /// The query in the order of the table.
    pub(super) query: u64,
    pub(super) threshold: u32,
    /// The end of its probes and of its candidates among those of all tables.
    pub(super) probes_end: usize,
    pub(super) candidates_end: usize,
}
