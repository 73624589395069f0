//! Reads the file of one table, and what its header and its footer say of it.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::{io, thread};

use super::verified::Verified;
use crate::access::ReadFiles;
use crate::block::{
    BlockReader, BlockView, Candidate, OVERHANG, Reading, Sieve, Survivor, decodes_from, sift,
};
use crate::codec::huffman;
use crate::cover::Differs;
use crate::error::{Corruption, Error, Result};
use crate::format::{self, Defect, Footer, Geometry, SegmentEntry, TableHeader};
use crate::mapped::{self, Bytes};
use crate::permute::Permutation;
use crate::router::{Budget, LastKeys, Probe, Router};
use crate::simd::Level;

/// Routers of so many bytes together are read by several threads.
const SHARED_ROUTER_BYTES: usize = 1 << 20;

/// Blocks behind those that are decoded that the decoder may ask for.
const READ_AHEAD: u64 = 4;

/// An open table. Any number of threads may use it.
pub(crate) struct Table {
    path: PathBuf,
    bytes: Bytes,
    pub(super) header: TableHeader,
    pub(crate) header_crc: u32,
    pub(super) footer: Footer,
    pub(super) code_lengths: Vec<u8>,
    geometry: Geometry,
    permutation: Permutation,
    blocks: BlockReader,
    router: Router,
    /// Keys of an average block.
    pub(super) keys_per_block: usize,
    decodes_from: u32,
    /// Blocks whose CRC was found right.
    pub(super) verified: Verified,
}

impl Table {
    /// Opens all tables of a segment of fingerprints of so many bits. Reads and checks the headers,
    /// the footers, the code lengths and the routers; blocks are read when they are needed. What is
    /// read of all files is asked for together, and large routers are read by several threads.
    pub(crate) fn open_all(
        files: &dyn ReadFiles,
        segment: &SegmentEntry,
        bits: u32,
    ) -> Result<Vec<Self>> {
        let found: Vec<Found> = (0..segment.tables.len())
            .map(|number| Found::open(files, segment.number, number))
            .collect::<Result<_>>()?;
        let describe = |(number, found): (usize, Found)| found.describe(segment, (number, bits));
        let described: Vec<Described> =
            found.into_iter().enumerate().map(describe).collect::<Result<_>>()?;
        let mut router_bytes = 0;
        for table in &described {
            table.bytes.will_need(table.geometry.router());
            router_bytes += table.geometry.router().len();
        }
        if router_bytes < SHARED_ROUTER_BYTES || described.len() < 2 {
            return described.into_iter().map(Self::new).collect();
        }
        let threads = thread::available_parallelism().map_or(1, usize::from).min(described.len());
        let tables = Mutex::new(described.into_iter().enumerate());
        let next = || tables.lock().unwrap_or_else(PoisonError::into_inner).next();
        let work = || {
            let mine = std::iter::from_fn(next).map(|(number, table)| (number, Self::new(table)));
            mine.collect::<Vec<_>>()
        };
        let mut built = thread::scope(|scope| {
            let spawn = |_| thread::Builder::new().spawn_scoped(scope, work).ok();
            // Those that cannot be started leave their work to this one.
            let others: Vec<_> = (1..threads).filter_map(spawn).collect();
            let mut built = work();
            for other in others {
                built.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            }
            built
        });
        built.sort_unstable_by_key(|(number, _)| *number);
        built.into_iter().map(|(_, table)| table).collect()
    }

    /// Reads and checks the router.
    fn new(table: Described) -> Result<Self> {
        let Described { path, bytes, header, header_crc, footer, geometry, code_lengths } = table;
        let checked = footer.check_router(&bytes, (&geometry, header.is_short()), header_crc);
        checked.map_err(|defect| defect.in_file(&path))?;
        let keys_per_block = header.count.checked_div(footer.block_count).unwrap_or(0) as usize;
        let last_keys = LastKeys::new(geometry.bits, &bytes[geometry.router()]);
        let router = Router::new(last_keys, geometry.middle_bits());
        // Searches look only where tags are equal.
        bytes.are_random(geometry.router());
        Ok(Self {
            keys_per_block,
            decodes_from: decodes_from(geometry.low_bits, keys_per_block),
            path,
            permutation: Permutation::new(&header.top),
            blocks: BlockReader::new(header.codec, geometry, &code_lengths),
            router,
            verified: Verified::none_of(footer.block_count as usize),
            bytes,
            header,
            header_crc,
            footer,
            code_lengths,
            geometry,
        })
    }

    /// The path of the file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// What the header says.
    pub(crate) fn header(&self) -> &TableHeader {
        &self.header
    }

    /// The permutation from fingerprints to keys.
    pub(crate) fn permutation(&self) -> &Permutation {
        &self.permutation
    }

    /// Where everything stands in the file.
    pub(crate) fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// The bytes of the file.
    pub(super) fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Gets keys back from the blocks of this table.
    pub(super) fn block_reader(&self) -> &BlockReader {
        &self.blocks
    }

    /// Number of blocks.
    pub(crate) fn block_count(&self) -> u64 {
        self.geometry.block_count
    }

    /// Bytes of the table in the heap, besides the file where it is in memory.
    pub(crate) fn heap_bytes(&self) -> u64 {
        self.router.heap_bytes() + self.verified.heap_bytes()
    }

    /// Bytes of the file.
    pub(crate) fn file_bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// The last keys of all blocks.
    #[inline]
    pub(super) fn last_keys(&self) -> LastKeys<'_> {
        LastKeys::new(self.geometry.bits, &self.bytes[self.geometry.router()])
    }

    /// The last key of block `number`, by the router.
    #[inline]
    pub(crate) fn last_key(&self, number: u64) -> u64 {
        self.last_keys().get(number as usize)
    }

    /// The first block that holds a key from `key` on, by the router; the number of blocks if none
    /// does.
    pub(crate) fn seek(&self, key: u64) -> u64 {
        let (mut start, mut end) = (0, self.block_count());
        while start < end {
            let middle = start + (end - start) / 2;
            if self.last_key(middle) < key { start = middle + 1 } else { end = middle }
        }
        start
    }

    /// The error for a rule that block `number` breaks.
    pub(crate) fn block_error(&self, number: u64, corruption: Corruption) -> Error {
        Defect::corrupt(self.geometry.block(number).start, corruption).in_file(&self.path)
    }

    /// Block `number` and its overhang; checks its CRC.
    pub(super) fn checked_block(&self, number: u64) -> Result<BlockView<'_>, Corruption> {
        let at = self.geometry.block(number);
        let bytes = &self.bytes[at.start..at.end + OVERHANG];
        self.geometry.check_block_crc(self.header_crc, number, &bytes[..bytes.len() - OVERHANG])?;
        self.verified.insert(number as usize);
        self.blocks.view(number, bytes)
    }

    /// Block `number`, whose CRC is checked if no thread has done it since the table was opened.
    #[inline]
    pub(super) fn block(&self, number: u64) -> Result<BlockView<'_>> {
        let view = if self.verified.contains(number as usize) {
            let at = self.geometry.block(number);
            self.blocks.view(number, &self.bytes[at.start..at.end + OVERHANG])
        } else {
            self.checked_block(number)
        };
        view.map_err(|corruption| self.block_error(number, corruption))
    }

    /// The budget of a search within `k`, with `threshold` inside the top.
    #[inline]
    pub(crate) fn budget(&self, k: u32, threshold: u32) -> Budget {
        Budget {
            k,
            threshold: threshold.min(k),
            top_bits: self.permutation.top_bits(),
            middle_bits: self.geometry.middle_bits(),
        }
    }

    /// Appends the prefixes of the router's directory that lie within `k` of the key `query` and
    /// `threshold` inside the top, and asks for the tags of their blocks.
    #[inline(always)]
    pub(crate) fn probe(&self, query: u64, k: u32, threshold: u32, out: &mut Vec<Probe>) {
        self.router.probe(query, self.budget(k, threshold), out);
    }

    /// Appends the blocks behind `probes` that can hold a key within `k` of the key `query` and
    /// `threshold` inside the top. Gives up, and returns false, once there are more than `limit`.
    #[inline(always)]
    pub(crate) fn descend(
        &self,
        (query, k, threshold): (u64, u32, u32),
        probes: &[Probe],
        limit: usize,
        out: &mut Vec<Candidate>,
    ) -> bool {
        let budget = self.budget(k, threshold);
        self.router.descend(self.last_keys(), (query, budget), probes, limit, out)
    }

    /// Appends the blocks that can hold a key within `k` of the key `query` which has its first
    /// `bits` bits.
    pub(super) fn follow_path(
        &self,
        (query, k): (u64, u32),
        bits: u32,
        probes: &mut Vec<Probe>,
        out: &mut Vec<Candidate>,
    ) {
        let budget = Budget { top_bits: bits, ..self.budget(k, 0) };
        self.router.probe(query, budget, probes);
        self.router.descend(self.last_keys(), (query, budget), probes, usize::MAX, out);
    }

    /// Appends those of some blocks that can hold a key within `k` of the key `query`.
    #[inline(always)]
    pub(crate) fn within(&self, blocks: Range<u32>, query: (u64, u32), out: &mut Vec<Candidate>) {
        self.last_keys().within(blocks, query, self.geometry.middle_bits(), out);
    }

    /// The least budget with which so many keys of a block survive that a scan decodes it whole.
    #[inline]
    pub(crate) fn decodes_from(&self) -> u32 {
        self.decodes_from
    }

    /// Asks for a whole block, or the start of a large one.
    #[inline]
    pub(crate) fn prefetch_whole(&self, candidate: Candidate) {
        mapped::prefetch(&self.bytes[self.geometry.block(u64::from(candidate.block))]);
    }

    /// Bytes of a block that [`Self::sieve`] reads: the header, and of the average block as much of
    /// the column as is compared.
    #[inline]
    pub(crate) fn scanned_bytes(&self, candidate: Candidate) -> u64 {
        let planes = self.blocks.first_planes(candidate.budget);
        (self.geometry.column_at() + self.keys_per_block * planes) as u64
    }

    /// Bytes of the average block behind its column.
    pub(crate) fn stream_bytes(&self) -> u64 {
        let column = self.geometry.column_at() + self.keys_per_block * self.geometry.planes();
        u64::from(self.geometry.block_bytes).saturating_sub(column as u64)
    }

    /// Asks the system for these blocks.
    pub(crate) fn will_need_blocks(&self, numbers: Range<u64>) {
        let start = self.geometry.block(numbers.start).start;
        // The column of a short key fills nearly all of a block, so that its last comparison
        // reaches the page behind: to wait for that alone takes milliseconds, since the system then
        // reads much around it.
        let behind = if self.is_short() { OVERHANG } else { 0 };
        self.bytes.will_need(start..self.geometry.block(numbers.end).start + behind);
    }

    /// Whether the CRC of all these candidate blocks was checked since the table was opened.
    #[inline(always)]
    pub(crate) fn is_checked(&self, candidates: &[Candidate]) -> bool {
        self.verified.contains_all(candidates.iter().map(|candidate| candidate.block as usize))
    }

    /// Checks the CRC of those candidate blocks that no thread has checked since the table was
    /// opened.
    #[inline]
    pub(crate) fn check(&self, candidates: &[Candidate]) -> Result<()> {
        let blocks = candidates.iter().map(|candidate| u64::from(candidate.block));
        let mut unchecked = blocks.filter(|block| !self.verified.contains(*block as usize));
        unchecked.try_for_each(|block| self.block(block).map(drop))
    }

    /// A query within `k`, as a key, for candidate blocks that were [checked](Self::check). The
    /// first of them has this number among those of all tables.
    #[inline]
    pub(crate) fn sieve<'a>(
        &'a self,
        query: (u64, u32),
        candidates: (u32, &'a [Candidate]),
        reading: Reading,
    ) -> Sieve<'a> {
        self.blocks.sieve(&self.bytes, query, candidates, (reading, self.keys_per_block))
    }

    /// The instructions that blocks are read with.
    #[inline]
    pub(crate) fn level(&self) -> Level {
        self.blocks.level()
    }

    /// Of the survivors of a block keeps those that may still be within `budget`, by the whole
    /// column, and that `wants` wants, by the bits that differ. Asks for the stream up to the last
    /// of them.
    #[inline(always)]
    pub(crate) fn refine(
        &self,
        candidate: Candidate,
        query: u64,
        survivors: &[Survivor],
        mut wants: impl FnMut(Differs) -> bool,
        kept: &mut Vec<Survivor>,
    ) -> Result<()> {
        let block = self.block(u64::from(candidate.block))?;
        let before = kept.len();
        let refiner = self.blocks.refiner(&block, query);
        for &survivor in survivors {
            let differs = refiner.differs(candidate.budget, survivor.number);
            if differs.is_some_and(&mut wants) {
                kept.push(survivor);
            }
        }
        if let Some(last) = kept[before..].last() {
            self.blocks.prefetch_stream(&block, last.number);
        }
        Ok(())
    }

    /// Calls `found` with those of the `survivors` of a block, numbers of keys that ascend, that
    /// are within `k` of the key `query`. Decodes the block up to the last of them, into `scratch`.
    pub(crate) fn matches(
        &self,
        block: u32,
        query: (u64, u32),
        survivors: &[Survivor],
        scratch: &mut Vec<u64>,
        mut found: impl FnMut(u64),
    ) -> Result<()> {
        let survivors = survivors.iter().map(|survivor| survivor.number);
        let number = u64::from(block);
        self.blocks
            .matches(&self.block(number)?, query, survivors, scratch, |_, key| found(key))
            .map_err(|corruption| self.block_error(number, corruption))
    }

    /// Whether the table holds the key. Reads at most one block.
    pub(crate) fn contains(&self, key: u64) -> Result<bool> {
        Ok(self.position(key)?.is_some())
    }

    /// Where the table holds the key: number of the block, and number of the key in it. Reads at
    /// most one block, and decodes it up to the key.
    pub(crate) fn position(&self, key: u64) -> Result<Option<(u64, u64)>> {
        let Some(block) = self.router.find(self.last_keys(), key) else { return Ok(None) };
        let candidate = Candidate { block, budget: 0 };
        let candidates = [candidate];
        self.check(&candidates)?;
        let (mut survivors, mut kept) = (Vec::new(), Vec::new());
        let sieve = self.sieve((key, 0), (0, &candidates), Reading::Parts);
        sift(self.level(), [sieve].into_iter(), std::iter::empty(), &mut survivors)
            .map_err(|(_, corruption)| self.block_error(block.into(), corruption))?;
        self.refine(candidate, key, &survivors, |_| true, &mut kept)?;
        let number = u64::from(block);
        let mut at = None;
        let survivors = kept.iter().map(|survivor| survivor.number);
        self.blocks
            .matches(&self.block(number)?, (key, 0), survivors, &mut Vec::new(), |number, _| {
                at = Some(number);
            })
            .map_err(|corruption| self.block_error(number, corruption))?;
        Ok(at.map(|at| (number, u64::from(at))))
    }

    /// Number of keys of block `number`.
    pub(crate) fn key_count(&self, number: u64) -> Result<u32> {
        Ok(self.block(number)?.keys)
    }

    /// Of the blocks `numbers`, the end of the first ones that hold up to `most_keys` keys
    /// together, and the number of their keys; one block at least, if there are any. Goes by what
    /// the blocks say of themselves: they hold no more, whatever the header of the table claims.
    /// What they take in memory once they are decoded is bounded by this, and by that of a single
    /// block.
    pub(crate) fn blocks_within(&self, numbers: Range<u64>, most_keys: u64) -> (u64, u64) {
        let (mut end, mut keys) = (numbers.start, 0u64);
        for number in numbers {
            let at = self.geometry.block(number);
            // A count that breaks [BLK-2] is refused when the block is decoded.
            let more = u64::from(self.geometry.block_header(&self.bytes[at]).0);
            if keys > 0 && keys.saturating_add(more) > most_keys {
                break;
            }
            (end, keys) = (number + 1, keys.saturating_add(more));
        }
        (end, keys)
    }

    /// The error for a table that turns out to hold more keys than it states.
    pub(crate) fn surplus_error(&self, found: u64) -> Error {
        let corruption = Corruption::SetCount { found, expected: self.header.count };
        Defect::corrupt(self.geometry.block(0).start, corruption).in_file(&self.path)
    }

    /// Decodes the blocks `numbers` into `keys`.
    pub(crate) fn decode_blocks(&self, numbers: Range<u64>, keys: &mut Vec<u64>) -> Result<()> {
        let block_bytes = self.header.block_bytes as usize;
        let blocks = numbers.clone().enumerate();
        let blocks = blocks.map(|(i, number)| Ok((i * block_bytes, self.block(number)?)));
        let blocks = blocks.collect::<Result<Vec<_>>>()?;
        let start = self.geometry.block(numbers.start).start;
        // The blocks behind these will be asked for next, if any.
        let behind = (numbers.end + READ_AHEAD).min(self.block_count());
        let end = self.geometry.block(behind).start + OVERHANG;
        self.blocks.decode(&self.bytes[start..end], &blocks, keys).map_err(|corruption| {
            let number = corruption.block().unwrap_or(numbers.start);
            self.block_error(number, corruption)
        })
    }

    /// The histogram of classes, checked.
    pub(crate) fn histogram(&self) -> Result<Vec<u64>> {
        let count = self.header.count;
        self.footer
            .histogram(&self.bytes, &self.geometry, self.header_crc, count, &self.code_lengths)
            .map_err(|defect| defect.in_file(&self.path))
    }
}

/// Bytes at the ends of a file that hold the header, and histogram, code lengths and footer; and
/// some more.
const END_BYTES: usize = 4096;

/// The file of a table, of which nothing was read yet.
pub(super) struct Found {
    path: PathBuf,
    bytes: Bytes,
}

/// A table of which header, codes and footer are sound. The router was not looked at.
pub(super) struct Described {
    pub(super) path: PathBuf,
    pub(super) bytes: Bytes,
    pub(super) header: TableHeader,
    pub(super) header_crc: u32,
    pub(super) footer: Footer,
    pub(super) geometry: Geometry,
    pub(super) code_lengths: Vec<u8>,
}

impl Found {
    /// Finds table `number` of a segment, and asks the system for both ends of its file.
    pub(super) fn open(files: &dyn ReadFiles, segment: u64, number: usize) -> Result<Self> {
        let name = format::table_name(segment, number);
        let path = files.path(&name);
        match files.bytes(&name) {
            Ok(bytes) => {
                let length = bytes.len();
                bytes.will_need(0..length.min(END_BYTES));
                bytes.will_need(length.saturating_sub(END_BYTES)..length);
                Ok(Self { path, bytes })
            }
            Err(source) if source.kind() == io::ErrorKind::NotFound => {
                Err(Defect::corrupt(0, Corruption::TableMissing).in_file(&path))
            }
            Err(source) => Err(Error::io(&path, "open the table")(source)),
        }
    }

    /// Reads what describes the table, as number `number` of a segment of fingerprints of so many
    /// bits.
    pub(super) fn describe(
        self,
        segment: &SegmentEntry,
        (number, bits): (usize, u32),
    ) -> Result<Described> {
        let Self { path, bytes } = self;
        let describe = || {
            let (header, header_crc) = TableHeader::decode(&bytes, segment, number, bits)?;
            let footer = Footer::decode(&bytes, &header, header_crc, &segment.tables[number])?;
            let geometry = header.geometry(footer.block_count);
            let code_lengths = footer.code_lengths(&bytes, &geometry, header_crc)?;
            huffman::check_complete(&code_lengths, header.count)
                .map_err(|corruption| Defect::corrupt(geometry.codes().start, corruption))?;
            Ok((header, header_crc, footer, geometry, code_lengths))
        };
        let (header, header_crc, footer, geometry, code_lengths) =
            describe().map_err(|defect: Defect| defect.in_file(&path))?;
        Ok(Described { path, bytes, header, header_crc, footer, geometry, code_lengths })
    }
}
