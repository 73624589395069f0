//! Checks every byte of a table, and says what can be read of a damaged one.

use super::reader::{Described, Found, Table};
use crate::access::ReadFiles;
use crate::block::{BlockReader, OVERHANG};
use crate::codec::profile;
use crate::error::{Corruption, Error, Result};
use crate::format::{Defect, Geometry, SegmentEntry, check_padding, follows};
use crate::mapped::Bytes;
use crate::permute::Permutation;
use crate::{set_sum, tasks};

/// Blocks that one task checks.
const CHUNK_BLOCKS: u64 = 1024;

/// What the keys of some adjacent blocks amount to.
struct Tally {
    keys: u64,
    /// Of the fingerprints, or of the keys of a short table.
    sum: u128,
    /// Of the keys that short tables have for these fingerprints.
    short_sums: Vec<u128>,
    histogram: Vec<u64>,
}

impl Table {
    /// Checks all that opening the table did not: padding, the histogram, every block with its CRC,
    /// its codes, its order, its last key, and that the fingerprints are the stated set. Decodes
    /// all keys, shared by the threads of the current pool, and tells how many of them are done;
    /// stops with the error that this gives. Gives the sums of the keys that these short tables are
    /// to have.
    pub(crate) fn verify(
        &self,
        short: &[&Table],
        done: &(dyn Fn(u64) -> Result<()> + Sync),
    ) -> Result<Vec<u128>> {
        let tally = self.verify_keys(short, done)?;
        let (found, expected) = (tally.sum, self.header.set_sum);
        if found != expected {
            return Err(self.set_error(Corruption::SetSum { found, expected }));
        }
        self.verify_histogram(&tally.histogram)?;
        Ok(tally.short_sums)
    }

    /// As [`Self::verify`], of a short table, whose keys are to have this sum.
    pub(crate) fn verify_short(
        &self,
        expected: u128,
        done: &(dyn Fn(u64) -> Result<()> + Sync),
    ) -> Result<()> {
        let tally = self.verify_keys(&[], done)?;
        self.verify_histogram(&tally.histogram)?;
        match tally.sum == expected {
            true => Ok(()),
            false => Err(self.set_error(Corruption::ShortSum { found: tally.sum, expected })),
        }
    }

    /// The error for a rule that the table as a whole breaks.
    fn set_error(&self, corruption: Corruption) -> Error {
        Defect::corrupt(self.geometry().block(0).start, corruption).in_file(self.path())
    }

    /// Checks that this is the histogram that is stated.
    fn verify_histogram(&self, histogram: &[u64]) -> Result<()> {
        let stated = self.histogram()?;
        let differ = |(_, (stated, found)): &(usize, (&u64, &u64))| stated != found;
        let Some((class, (&stated, &found))) =
            stated.iter().zip(histogram).enumerate().find(differ)
        else {
            return Ok(());
        };
        let corruption = Corruption::Histogram { class: class as u32, stated, found };
        let at = self.geometry().histogram().start;
        Err(Defect::corrupt(at, corruption).in_file(self.path()))
    }

    /// Checks all but the sum, and the histogram.
    fn verify_keys(
        &self,
        short: &[&Table],
        done: &(dyn Fn(u64) -> Result<()> + Sync),
    ) -> Result<Tally> {
        let fail = |defect: Defect| defect.in_file(self.path());
        let geometry = self.geometry();
        check_padding(self.bytes()).map_err(fail)?;
        self.histogram()?;
        let chunks = self.block_count().div_ceil(CHUNK_BLOCKS);
        let empty = || {
            let (short_sums, histogram) = (vec![0; short.len()], vec![0; geometry.classes()]);
            Tally { keys: 0, sum: 0, short_sums, histogram }
        };
        // Chunks are merged in order, so the error is that of the first broken block.
        let verify = |chunk| {
            // Once it is to stop, no further chunk is decoded.
            done(0)?;
            let tally = self.verify_chunk(chunk, short, empty())?;
            done(tally.keys)?;
            Ok(tally)
        };
        let mut total = empty();
        for tally in tasks::map(0..chunks, verify) {
            let tally = tally?;
            total.keys += tally.keys;
            total.sum = total.sum.wrapping_add(tally.sum);
            let sums = total.short_sums.iter_mut().zip(&tally.short_sums);
            sums.for_each(|(a, b)| *a = a.wrapping_add(*b));
            total.histogram.iter_mut().zip(&tally.histogram).for_each(|(a, b)| *a += b);
        }
        let header = &self.header;
        if total.keys != header.count {
            let corruption = Corruption::SetCount { found: total.keys, expected: header.count };
            return Err(self.set_error(corruption));
        }
        Ok(total)
    }

    fn verify_chunk(&self, chunk: u64, short: &[&Table], mut tally: Tally) -> Result<Tally> {
        let allows_equal = self.is_short();
        let blocks = chunk * CHUNK_BLOCKS..self.block_count().min((chunk + 1) * CHUNK_BLOCKS);
        let mut before = blocks.start.checked_sub(1).map(|block| self.last_key(block));
        let mut keys = Vec::new();
        for number in blocks {
            let fail = |corruption| -> Error { self.block_error(number, corruption) };
            let block = self.checked_block(number).map_err(fail)?;
            let padding = match self.block_reader().decode_strictly(&block, allows_equal, &mut keys)
            {
                Ok(()) => None,
                Err(padding @ Corruption::BlockPadding { .. }) => Some(padding),
                Err(corruption) => return Err(fail(corruption)),
            };
            if before.is_some_and(|before| !follows(before, keys[0], allows_equal)) {
                return Err(fail(Corruption::BlockOrder { block: number }));
            }
            let (found, expected) = (keys[keys.len() - 1], self.last_key(number));
            if found != expected {
                return Err(fail(Corruption::LastKey { block: number, found, expected }));
            }
            if let Some(padding) = padding {
                return Err(fail(padding));
            }
            self.tally(before, &keys, short, &mut tally);
            before = Some(found);
        }
        Ok(tally)
    }

    /// Adds the keys of one block, which follow the key `before`.
    fn tally(&self, before: Option<u64>, keys: &[u64], short: &[&Table], tally: &mut Tally) {
        let (pad, below) = (self.geometry().pad_bits(), self.geometry().below_middle());
        let is_short = self.is_short();
        let mut u = before;
        for &key in keys {
            let fingerprint = self.permutation().fingerprint(key);
            let summed = if is_short { key } else { fingerprint };
            tally.sum = tally.sum.wrapping_add(set_sum::term(summed >> pad));
            for (table, sum) in short.iter().zip(&mut tally.short_sums) {
                let key = table.key(fingerprint) >> table.geometry().pad_bits();
                *sum = sum.wrapping_add(set_sum::term(key));
            }
            if let Some(u) = u {
                let class = profile::class(self.header.codec, below, u >> below, key >> below);
                tally.histogram[class as usize] += 1;
            }
            u = Some(key);
        }
        tally.keys += keys.len() as u64;
    }
}

/// A table of which header, codes and footer are sound, so that its blocks can be read one by one.
/// Its router is not needed, and not looked at.
pub(crate) struct SalvageTable {
    bytes: Bytes,
    header_crc: u32,
    geometry: Geometry,
    permutation: Permutation,
    blocks: BlockReader,
    is_short: bool,
}

impl SalvageTable {
    /// Opens table `number` of a segment of fingerprints of so many bits.
    ///
    /// # Errors
    ///
    /// As [`Table::open_all`](super::Table::open_all), but for the router.
    pub(crate) fn open(
        files: &dyn ReadFiles,
        segment: &SegmentEntry,
        number: usize,
        bits: u32,
    ) -> Result<Self> {
        let found = Found::open(files, segment.number, number)?;
        let table = found.describe(segment, (number, bits))?;
        let Described { bytes, header, header_crc, geometry, code_lengths, .. } = table;
        let permutation = Permutation::new(&header.top);
        let blocks = BlockReader::new(header.codec, geometry, &code_lengths);
        let is_short = header.is_short();
        Ok(Self { bytes, header_crc, geometry, permutation, blocks, is_short })
    }

    /// Whether it is [short](super::Table::is_short), so that no fingerprints can be read of it.
    pub(crate) fn is_short(&self) -> bool {
        self.is_short
    }

    /// Number of blocks.
    pub(crate) fn block_count(&self) -> u64 {
        self.geometry.block_count
    }

    /// The fingerprints of a block, in the order of the table; `None` if it is damaged.
    pub(crate) fn block(&self, number: u64, keys: &mut Vec<u64>) -> Option<()> {
        keys.clear();
        let at = self.geometry.block(number);
        let bytes = self.bytes.get(at.start..at.end + OVERHANG)?;
        let own = &bytes[..bytes.len() - OVERHANG];
        self.geometry.check_block_crc(self.header_crc, number, own).ok()?;
        let view = self.blocks.view(number, bytes).ok()?;
        self.blocks.decode_strictly(&view, self.is_short, keys).ok()?;
        keys.iter_mut().for_each(|key| *key = self.permutation.fingerprint(*key));
        Some(())
    }
}
