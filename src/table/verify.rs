//! Checks every byte of a table.

use super::reader::Table;
use crate::codec::profile;
use crate::error::{Corruption, Error, Result};
use crate::format::{Defect, check_padding};
use crate::set_sum;
use crate::tasks;

/// Blocks that one task checks.
const CHUNK_BLOCKS: u64 = 1024;

/// What the keys of some adjacent blocks amount to.
struct Tally {
    keys: u64,
    sum: u128,
    histogram: Vec<u64>,
}

impl Table {
    /// Checks all that opening the table did not: padding, the histogram, every block with its CRC,
    /// its codes, its order, its last key, and that the fingerprints are the stated set. Decodes
    /// all keys, shared by the threads of the current pool, and tells how many of them are done; stops
    /// with the error that this gives.
    pub(crate) fn verify(&self, done: &(dyn Fn(u64) -> Result<()> + Sync)) -> Result<()> {
        let fail = |defect: Defect| defect.in_file(self.path());
        let geometry = self.geometry();
        check_padding(self.bytes()).map_err(fail)?;
        let stated = self.histogram()?;
        let chunks = self.block_count().div_ceil(CHUNK_BLOCKS);
        let empty = || Tally { keys: 0, sum: 0, histogram: vec![0; geometry.classes()] };
        // Chunks are merged in order, so the error is that of the first broken block.
        let verify = |chunk| {
            // Once it is to stop, no further chunk is decoded.
            done(0)?;
            let tally = self.verify_chunk(chunk, empty())?;
            done(tally.keys)?;
            Ok(tally)
        };
        let mut total = empty();
        for tally in tasks::map(0..chunks, verify) {
            let tally = tally?;
            total.keys += tally.keys;
            total.sum = total.sum.wrapping_add(tally.sum);
            total.histogram.iter_mut().zip(&tally.histogram).for_each(|(a, b)| *a += b);
        }
        let header = &self.header;
        if total.keys != header.count {
            let corruption = Corruption::SetCount { found: total.keys, expected: header.count };
            return Err(fail(Defect::corrupt(geometry.block(0).start, corruption)));
        }
        if total.sum != header.set_sum {
            let corruption = Corruption::SetSum { found: total.sum, expected: header.set_sum };
            return Err(fail(Defect::corrupt(geometry.block(0).start, corruption)));
        }
        for (class, (&stated, &found)) in stated.iter().zip(&total.histogram).enumerate() {
            if stated != found {
                let corruption = Corruption::Histogram { class: class as u32, stated, found };
                return Err(fail(Defect::corrupt(geometry.histogram().start, corruption)));
            }
        }
        Ok(())
    }

    fn verify_chunk(&self, chunk: u64, mut tally: Tally) -> Result<Tally> {
        let blocks = chunk * CHUNK_BLOCKS..self.block_count().min((chunk + 1) * CHUNK_BLOCKS);
        let mut before = blocks.start.checked_sub(1).map(|block| self.last_key(block));
        let mut keys = Vec::new();
        for number in blocks {
            let fail = |corruption| -> Error { self.block_error(number, corruption) };
            let block = self.checked_block(number).map_err(fail)?;
            let padding = match self.block_reader().decode_strictly(&block, &mut keys) {
                Ok(()) => None,
                Err(padding @ Corruption::BlockPadding { .. }) => Some(padding),
                Err(corruption) => return Err(fail(corruption)),
            };
            if before.is_some_and(|before| before >= keys[0]) {
                return Err(fail(Corruption::BlockOrder { block: number }));
            }
            let (found, expected) = (keys[keys.len() - 1], self.last_key(number));
            if found != expected {
                return Err(fail(Corruption::LastKey { block: number, found, expected }));
            }
            if let Some(padding) = padding {
                return Err(fail(padding));
            }
            self.tally(before, &keys, &mut tally);
            before = Some(found);
        }
        Ok(tally)
    }

    /// Adds the keys of one block, which follow the key `before`.
    fn tally(&self, before: Option<u64>, keys: &[u64], tally: &mut Tally) {
        let (pad, below) = (self.geometry().pad_bits(), self.geometry().below_middle());
        let mut u = before;
        for &key in keys {
            let fingerprint = self.permutation().fingerprint(key);
            tally.sum = tally.sum.wrapping_add(set_sum::term(fingerprint >> pad));
            if let Some(u) = u {
                let class = profile::class(self.header.codec, below, u >> below, key >> below);
                tally.histogram[class as usize] += 1;
            }
            u = Some(key);
        }
        tally.keys += keys.len() as u64;
    }
}
