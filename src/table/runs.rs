//! Reads the runs of a table.

use std::ops::Range;

use super::Table;
use crate::block::{BlockView, KeyPlace, LANES, MAX_PLANES, NearKeys, OVERHANG, RunSieve};
use crate::error::Result;

impl Table {
    /// A query within `k`, as a key, for the keys of a run of this table, whose blocks have all been checked. Leaves out keys that do not
    /// differ in the bits of one of `unless`, bits of the planes of the column.
    #[inline(always)]
    pub(crate) fn run_sieve<'a>(
        &'a self,
        query: (u64, u32),
        run: &Range<KeyPlace>,
        unless: &'a [[u8; MAX_PLANES]],
    ) -> RunSieve<'a> {
        self.block_reader().run_sieve(self.bytes(), query, run, (unless, self.keys_per_block))
    }

    /// Bytes of the blocks of a run that [`Self::run_sieve`] reads: headers, and columns by the average number of keys in a
    /// block.
    pub(crate) fn run_bytes(&self, run: &Range<KeyPlace>) -> u64 {
        let blocks = run.end.block - run.start.block;
        let keys = u64::from(blocks) * self.keys_per_block as u64 + u64::from(run.end.number);
        let keys = keys.saturating_sub(run.start.number.into());
        let headers = u64::from(blocks + u32::from(run.end.number > 0));
        headers * self.geometry().column_at() as u64 + keys * self.geometry().planes() as u64
    }

    /// Calls `found` with keys of a block of the run of `query`, where the prefix is all that the column does not show.
    #[inline(always)]
    pub(crate) fn shown_keys(
        &self,
        near: NearKeys,
        query: u64,
        found: impl FnMut(u64),
    ) -> Result<()> {
        let shown = self.block_reader().shown(self.bytes(), near, query, found);
        shown.map_err(|corruption| self.block_error(near.block.into(), corruption))
    }

    /// Decodes some blocks that need not be adjacent into `keys`, and gives the number of keys of each.
    pub(crate) fn decode_apart(
        &self,
        numbers: [u32; LANES],
        keys: &mut Vec<u64>,
    ) -> Result<[usize; LANES]> {
        let mut blocks = [(0, BlockView::NONE); LANES];
        let mut end = 0;
        for (block, number) in blocks.iter_mut().zip(numbers) {
            let at = self.geometry().block(number.into());
            *block = (at.start, self.block(number.into())?);
            end = end.max(at.end);
        }
        // What stands behind them is not needed next.
        let bytes = &self.bytes()[..end + OVERHANG];
        self.block_reader().decode(bytes, &blocks, keys).map_err(|corruption| {
            self.block_error(corruption.block().unwrap_or_default(), corruption)
        })?;
        Ok(blocks.map(|(_, block)| block.keys as usize))
    }
}
