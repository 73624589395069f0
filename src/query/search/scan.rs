//! Looks at the identity table of a segment from its start to its end.

use std::mem;
use std::ops::Range;

use super::hot::NarrowingHot;
use super::tables::TableSearch;
use super::work::Ask;
use crate::error::Result;
use crate::execution::Stop;
use crate::segment::Tables;
use crate::simd::Work;
use crate::snapshot::union::Match;

/// Blocks of a scan that are candidates at a time.
const SCANNED: usize = 1 << 16;
/// The first ones of a scan whose radius narrows: all of their keys may be within it.
const FIRST_SCANNED: u32 = 16;
/// Matches of some blocks behind which such a scan takes no more blocks at a time: its radius does
/// not narrow while what it finds is hidden.
const MANY_FOUND: usize = 1 << 16;

impl TableSearch {
    /// As [`Self::search`], in all blocks of the identity table.
    pub(super) fn scan(&mut self, segment: &Tables, ask: Ask, stop: &Stop) -> Result<()> {
        self.work.full_scans += 1;
        self.survivors.clear();
        self.leads.start(0);
        let (level, blocks) = (segment.identity().level(), segment.identity().block_count() as u32);
        for start in (0..blocks).step_by(SCANNED) {
            let part = start..blocks.min(start.saturating_add(SCANNED as u32));
            segment.identity().will_need_last_keys(&part);
            level.run(Scanning { search: self, segment, blocks: part, ask, stop })?;
            if self.gives_up(ask) {
                break;
            }
        }
        Ok(())
    }

    /// Looks at the identity table from its start to its end, within a radius that `take` narrows:
    /// it takes what was found in some blocks, and says how far the next may be.
    pub(super) fn scan_narrowing(
        &mut self,
        segment: &Tables,
        (fingerprint, mut k): (u64, u32),
        stop: &Stop,
        take: &mut dyn FnMut(&[Match]) -> Result<u32>,
    ) -> Result<()> {
        self.work.full_scans += 1;
        self.survivors.clear();
        self.leads.start(0);
        let (level, blocks) = (segment.identity().level(), segment.identity().block_count() as u32);
        if let Some(index) = segment.hot().index().filter(|_| self.uses.hot_index) {
            let fingerprints = index.fingerprints();
            let Self { matches, work, .. } = self;
            let query = fingerprint;
            let of = NarrowingHot { fingerprints, level, query, k, stop, matches, work, take };
            return level.run(of);
        }
        let (mut start, mut count) = (0, FIRST_SCANNED);
        while start < blocks {
            let end = blocks.min(start.saturating_add(count));
            self.matches.clear();
            let ask = Ask { fingerprint, k, most: usize::MAX };
            segment.identity().will_need_last_keys(&(start..end));
            level.run(Scanning { search: self, segment, blocks: start..end, ask, stop })?;
            k = take(&self.matches)?;
            start = end;
            if self.matches.len() < MANY_FOUND {
                count = count.saturating_mul(2).min(SCANNED as u32);
            }
        }
        self.matches.clear();
        Ok(())
    }
}

/// A scan of some blocks.
struct Scanning<'a> {
    search: &'a mut TableSearch,
    segment: &'a Tables,
    blocks: Range<u32>,
    ask: Ask,
    stop: &'a Stop,
}

impl Work for Scanning<'_> {
    type Output = Result<()>;

    #[inline(always)]
    fn work(self) -> Result<()> {
        let Self { search, segment, blocks, ask, stop } = self;
        search.descent.scan(segment.identity(), blocks, ask.fingerprint, ask.k);
        let whole = mem::take(&mut search.descent.whole);
        for blocks in &whole {
            search.decode_adjacent(
                segment,
                0,
                ask,
                blocks.start.into()..blocks.end.into(),
                stop,
            )?;
        }
        search.descent.whole = whole;
        search.search_candidates(segment, ask, stop)
    }
}
