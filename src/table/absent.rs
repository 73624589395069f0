//! What of a table is not in memory, as far as the system tells, and what it is asked to read.

use std::ops::Range;

use super::Table;
use crate::block::Candidate;
use crate::mapped::Bytes;

/// Bytes between blocks to ask for with them, as disks count reads: 2^26 on a cold `single` take
/// 0.89 of the time, `halves` 0.88; with 64 KiB 1.27 and 1.15.
const BETWEEN: usize = 16 << 10;

/// Last keys of some pages.
const MANY_KEYS: usize = 1 << 12;

impl Table {
    /// The share of the file that the system would have to read first, by some pages all over it.
    pub(crate) fn absent_share(&self) -> f64 {
        const LOOKS: usize = 16;
        let place = |look| (2 * look + 1) * self.bytes().len() / (2 * LOOKS);
        let absent = (0..LOOKS).filter(|look| self.bytes().is_absent(place(*look))).count();
        absent as f64 / LOOKS as f64
    }

    /// Whether its file is mapped, so that the system may have to read blocks first.
    pub(crate) fn is_mapped(&self) -> bool {
        matches!(self.bytes(), Bytes::Mapped(_))
    }

    /// Whether the system would have to read the start of block `number` first. A system call.
    pub(crate) fn is_absent(&self, number: u64) -> bool {
        self.bytes().is_absent(self.geometry().block(number).start)
    }

    /// Asks the system for the last keys of many blocks, which are to be gone through: else their
    /// pages come one by one.
    pub(crate) fn will_need_last_keys(&self, blocks: &Range<u32>) {
        let router = self.geometry().router();
        let at = |block: u32| {
            let keys = block as usize * (router.len() / self.block_count().max(1) as usize);
            router.start + keys
        };
        if blocks.len() >= MANY_KEYS {
            self.bytes().will_need(at(blocks.start)..at(blocks.end));
        }
    }

    /// Asks the system for those candidate blocks that may not be in memory, all at once: with
    /// `all` for all of them, else for those that were not touched since the table was opened.
    /// One system call for each run of blocks, and what is [not far between](BETWEEN) them.
    pub(crate) fn will_need(&self, candidates: &[Candidate], all: bool) {
        let absent =
            |candidate: &&Candidate| all || !self.verified.contains(candidate.block as usize);
        let mut blocks = candidates.iter().filter(absent).map(|candidate| candidate.block);
        let Some(first) = blocks.next() else { return };
        let mut run = first..first + 1;
        let ask = |run: &Range<u32>| self.will_need_blocks(run.start.into()..run.end.into());
        let between = (BETWEEN / self.geometry().block_bytes as usize) as u32;
        for block in blocks {
            if block < run.end || block - run.end > between {
                ask(&run);
                run.start = block;
            }
            run.end = block + 1;
        }
        ask(&run);
    }
}
