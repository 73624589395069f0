//! Builds a hot index from the identity table, a little at a time.
//!
//! First the blocks of the table are decoded, which gives the keys of the first part, and the keys
//! of each run of every part are counted. Then the fingerprints are distributed to the runs of one
//! part after the other.

use super::{HotIndex, Layout};
use crate::costs::SearchCosts;
use crate::error::Result;
use crate::table::Table;

/// Keys of a step at least, and at most: the fewest take some microseconds.
pub(super) const LEAST_STEP: usize = 1 << 8;
pub(super) const MOST_STEP: usize = 1 << 14;
/// Blocks of a step at most.
const STEP_BLOCKS: u64 = 64;

/// An index that is not complete.
pub(super) struct HotBuild {
    index: HotIndex,
    state: State,
    /// The keys of some blocks.
    keys: Vec<u64>,
}

enum State {
    /// The blocks before this one are decoded; they hold so many keys.
    Decoding { block: u64, keys: usize },
    /// All parts before this one are complete, and in it the fingerprints before this one are in
    /// their runs.
    Distributing { part: usize, fingerprint: usize },
}

/// How far a step has come.
pub(super) enum Outcome {
    More(Box<HotBuild>),
    Complete(HotIndex),
}

impl HotBuild {
    /// Takes room for an index of this layout.
    pub(super) fn start(layout: Layout) -> Result<Box<Self>> {
        let index = HotIndex::with_room(layout)?;
        let state = State::Decoding { block: 0, keys: 0 };
        Ok(Box::new(Self { index, state, keys: Vec::new() }))
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> u64 {
        self.index.bytes()
    }

    /// The next block that is decoded, unless all are.
    pub(super) fn next_block(&self) -> Option<u64> {
        match self.state {
            State::Decoding { block, .. } => Some(block),
            State::Distributing { .. } => None,
        }
    }

    /// Keys that are in their places, of all parts together.
    pub(super) fn keys_done(&self) -> u64 {
        match self.state {
            State::Decoding { keys, .. } => keys as u64,
            State::Distributing { part, fingerprint } => {
                (part * self.index.count() + fingerprint) as u64
            }
        }
    }

    /// The time that a key of a step takes, in nanoseconds.
    pub(super) fn key_ns(&self, c: &SearchCosts) -> f64 {
        let of_part = c.hot_build_ns + c.missing(self.bytes() as f64) * c.hot_build_dram_ns;
        // While blocks are decoded, the keys of all parts are counted.
        of_part * if self.next_block().is_some() { 2.0 } else { 1.0 }
    }

    /// Takes the next `step` keys or so. `None` if the table does not hold as many as it says.
    ///
    /// # Errors
    ///
    /// As [`Table::decode_blocks`].
    pub(super) fn step(mut self: Box<Self>, table: &Table, step: usize) -> Result<Option<Outcome>> {
        let count = self.index.count();
        match self.state {
            State::Decoding { block, keys } => {
                let end = table.block_count().min(block + STEP_BLOCKS);
                let (end, _) = table.blocks_within(block..end, step as u64);
                table.decode_blocks(block..end, &mut self.keys)?;
                let found = keys + self.keys.len();
                if found > count {
                    return Ok(None);
                }
                self.count(keys);
                self.state = State::Decoding { block: end, keys: found };
                if end == table.block_count() {
                    if found < count {
                        return Ok(None);
                    }
                    self.find_starts();
                    self.state = State::Distributing { part: 1, fingerprint: 0 };
                }
            }
            State::Distributing { part, fingerprint } if part < self.index.layout.parts() => {
                let end = count.min(fingerprint + step);
                self.distribute(part, fingerprint..end);
                self.state = match end == count {
                    true => State::Distributing { part: part + 1, fingerprint: 0 },
                    false => State::Distributing { part, fingerprint: end },
                };
            }
            State::Distributing { .. } => {
                self.index.run_keys = run_keys(&self.index);
                return Ok(Some(Outcome::Complete(self.index)));
            }
        }
        Ok(Some(Outcome::More(self)))
    }

    /// Writes the decoded keys, of which the first has this number, into the first part, and counts
    /// the keys of runs: those with prefix p in place p + 1 of the first part, and in p + 2 of the
    /// others.
    fn count(&mut self, first: usize) {
        let HotIndex { layout, memory, .. } = &mut self.index;
        let at = layout.keys(0).start + first * size_of::<u64>();
        let keys = &mut memory[at..at + self.keys.len() * size_of::<u64>()];
        keys.copy_from_slice(bytemuck::cast_slice(&self.keys));
        let shift = u64::BITS - layout.prefix_bits;
        for part in 0..layout.parts() {
            let starts: &mut [u32] = bytemuck::cast_slice_mut(&mut memory[layout.starts(part)]);
            let behind = if part == 0 { 1 } else { 2 };
            for &fingerprint in &self.keys {
                starts[(Layout::key(part as u32, fingerprint) >> shift) as usize + behind] += 1;
            }
        }
    }

    /// Adds up the counts: the first part then has its starts, and the others have the start of run
    /// p in place p + 1.
    fn find_starts(&mut self) {
        let HotIndex { layout, memory, .. } = &mut self.index;
        for part in 0..layout.parts() {
            let starts: &mut [u32] = bytemuck::cast_slice_mut(&mut memory[layout.starts(part)]);
            let mut sum = 0;
            for start in starts {
                sum += *start;
                *start = sum;
            }
        }
    }

    /// Writes the keys of some fingerprints to their runs of a part. What place p + 1 of its
    /// directory says moves from the start of run p to its end, which is the start of run p + 1.
    fn distribute(&mut self, part: usize, fingerprints: std::ops::Range<usize>) {
        let HotIndex { layout, memory, .. } = &mut self.index;
        let (before, own) = memory.split_at_mut(layout.keys(part).start);
        let (keys, starts) = own.split_at_mut(layout.keys_bytes);
        let all: &[u64] = bytemuck::cast_slice(&before[layout.keys(0)]);
        let keys: &mut [u64] = bytemuck::cast_slice_mut(keys);
        let starts: &mut [u32] = bytemuck::cast_slice_mut(&mut starts[..layout.starts_bytes]);
        let shift = u64::BITS - layout.prefix_bits;
        for &fingerprint in &all[fingerprints] {
            let key = Layout::key(part as u32, fingerprint);
            let start = &mut starts[(key >> shift) as usize + 1];
            keys[*start as usize] = key;
            *start += 1;
        }
    }
}

/// For each part, the keys of the run that a fingerprint of the index is in, on average.
fn run_keys(index: &HotIndex) -> Vec<f64> {
    let of_part = |part| {
        let runs = index.parts().get(part).starts[..=1 << index.layout.prefix_bits].windows(2);
        let squares: f64 = runs.map(|run| f64::from(run[1] - run[0]).powi(2)).sum();
        squares / index.count() as f64
    };
    (0..index.layout.parts()).map(of_part).collect()
}
