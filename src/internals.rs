//! What benchmarks and calibration measure one by one: the parts of a block's way (codes, encoding,
//! decoding, the scan of the column, the router), the comparisons of joins and batches, and the
//! lists of names; and the constants from which times are predicted.
//!
//! There only with the feature `internals`, which the benchmarks of this package and `fpstore
//! bench` switch on. It promises nothing to others.

use std::hint::black_box;
use std::ops::ControlFlow;
use std::sync::Arc;

use crate::block::{BlockReader, BlockWriter, Candidate, OVERHANG, Reading, Survivor, sift};
use crate::codec::huffman;
use crate::codec::profile::{Coding, Profile};
use crate::error::{Corruption, Result};
use crate::execution::Execution;
use crate::format::{Codec, Geometry};
use crate::names::NameColumn;
use crate::query::batch;
use crate::query::join::{self, Message, Output};
use crate::router::{self, LastKeys};
use crate::simd::Level;
use crate::snapshot::Snapshot;
use crate::store::Store;

pub use crate::costs::{Costs, DiskCosts, JoinCosts, PackCosts, SearchCosts, SweepCosts};

const HEADER_CRC: u32 = 0xC0FF_EE00;

/// The lengths of the Huffman codes of the classes of a histogram.
pub fn code_lengths(histogram: &[u64]) -> Vec<u8> {
    huffman::code_lengths(histogram)
}

/// A table in memory: its blocks behind room for a header, and how they are coded.
pub struct Blocks {
    codec: Codec,
    coding: Coding,
    block_bytes: usize,
    writer: BlockWriter,
    reader: BlockReader,
    starts: Vec<usize>,
    file: Vec<u8>,
    first_at: usize,
}

impl Blocks {
    /// Room for the blocks of `keys`, which ascend; [`Self::encode`] fills it.
    ///
    /// # Errors
    ///
    /// As [`Layout::low_bits`](crate::Layout::low_bits).
    pub fn new(keys: &[u64], codec: Codec, low_bits: u32, block_bytes: u32) -> Result<Self> {
        let coding = Profile::new(64, keys).choose(Some(codec), Some(low_bits))?;
        let geometry = |block_count| Geometry { bits: 64, block_bytes, low_bits, block_count };
        let writer = BlockWriter::new(&coding, geometry(0), HEADER_CRC);
        let starts = writer.cut(keys);
        let geometry = geometry(starts.len() as u64);
        let first_at = geometry.block(0).start;
        let block_bytes = block_bytes as usize;
        let file = vec![0; first_at + starts.len() * block_bytes + OVERHANG];
        let reader = BlockReader::new(codec, geometry, &coding.code_lengths);
        Ok(Self { codec, coding, block_bytes, writer, reader, starts, file, first_at })
    }

    /// The histogram of the classes.
    pub fn histogram(&self) -> &[u64] {
        &self.coding.histogram
    }

    /// The number of the first key of each block.
    pub fn starts(&self) -> &[usize] {
        &self.starts
    }

    /// Writes all blocks, of the keys of which this was made.
    pub fn encode(&mut self, keys: &[u64]) {
        let blocks = self.file[self.first_at..].chunks_exact_mut(self.block_bytes);
        for (number, out) in blocks.enumerate().take(self.starts.len()) {
            let end = self.starts.get(number + 1).copied().unwrap_or(keys.len());
            out.fill(0);
            self.writer.encode(number as u64, &keys[self.starts[number]..end], out);
        }
    }

    /// Gives all keys to `each`, some blocks at a time, as an iteration decodes them.
    ///
    /// # Errors
    ///
    /// The first broken rule.
    pub fn decode(&self, mut each: impl FnMut(&[u64])) -> Result<(), Corruption> {
        const BATCH: usize = 8;
        let mut keys = Vec::new();
        let numbers: Vec<usize> = (0..self.starts.len()).collect();
        for batch in numbers.chunks(BATCH) {
            let bytes = &self.file[self.first_at + batch[0] * self.block_bytes..];
            let view = |number: &usize| {
                let at = (number - batch[0]) * self.block_bytes;
                let block = &bytes[at..at + self.block_bytes + OVERHANG];
                Ok((at, self.reader.view(*number as u64, block)?))
            };
            let views: Vec<_> = batch.iter().map(view).collect::<Result<_, Corruption>>()?;
            self.reader.decode(bytes, &views, &mut keys)?;
            each(&keys);
        }
        Ok(())
    }

    /// Planes of the column that [`Self::sift`] compares.
    pub fn first_planes(&self, budget: u32) -> usize {
        self.reader.first_planes(budget)
    }

    /// What a scan of all blocks with this budget is asked for.
    pub fn candidates(&self, budget: u32) -> Candidates {
        let blocks = 0..self.starts.len() as u32;
        let all = blocks.map(|block| Candidate { block, budget }).collect();
        Candidates { all, budget, survivors: Vec::new() }
    }

    /// The number of keys that the scan of the candidates lets through.
    ///
    /// # Errors
    ///
    /// The first broken rule.
    pub fn sift(&self, query: u64, candidates: &mut Candidates) -> Result<usize, Corruption> {
        let Candidates { all, budget, survivors } = candidates;
        survivors.clear();
        let sieve = self.reader.sieve(&self.file, (query, *budget), (0, all), (Reading::Parts, 0));
        sift(self.reader.level(), [sieve].into_iter(), std::iter::empty(), survivors)
            .map_err(|(_, corruption)| corruption)?;
        Ok(survivors.len())
    }
}

/// Names what is measured.
impl std::fmt::Display for Blocks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, L = {}", self.codec, self.coding.low_bits)
    }
}

/// Blocks to scan, and the budget of each.
pub struct Candidates {
    all: Vec<Candidate>,
    budget: u32,
    survivors: Vec<Survivor>,
}

/// A router over last keys.
pub struct Router(router::Router);

impl Router {
    /// Of the last keys of all blocks, 8 bytes each.
    pub fn new(last_keys: &[u8]) -> Self {
        Self(router::Router::new(LastKeys::new(64, last_keys), 64))
    }

    /// The first block whose last key is not below `key`.
    #[inline]
    pub fn find(&self, last_keys: &[u8], key: u64) -> Option<u32> {
        self.0.find(LastKeys::new(64, last_keys), key)
    }
}

/// The list of names of a segment.
pub struct Names(Arc<NameColumn>);

impl Names {
    /// The lists of all segments of a snapshot, the oldest segment first.
    ///
    /// # Errors
    ///
    /// Those of reading.
    pub fn of(snapshot: &Snapshot) -> Result<Vec<Self>> {
        let settled = snapshot.settled()?;
        Ok(settled.segments().iter().filter_map(|part| part.names().cloned()).map(Self).collect())
    }

    /// Number of names.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// Bytes of the file.
    pub fn file_bytes(&self) -> u64 {
        self.0.file_bytes()
    }

    /// Bytes in the heap.
    pub fn heap_bytes(&self) -> u64 {
        self.0.heap_bytes()
    }

    /// Puts the name with this number in place of `name`.
    ///
    /// # Errors
    ///
    /// The first broken rule.
    pub fn name(&self, number: u64, name: &mut Vec<u8>) -> Result<()> {
        self.0.name(number, name)
    }

    /// The number of a name, if it is there.
    ///
    /// # Errors
    ///
    /// The first broken rule.
    pub fn find(&self, name: &[u8]) -> Result<Option<u64>> {
        self.0.find(name)
    }
}

/// Planes of a column that are compared first with a budget in blocks of this size, of a whole
/// table or of some blocks.
pub fn first_planes(whole: bool, budget: u32, block_bytes: u32) -> usize {
    let reading = if whole { Reading::Whole } else { Reading::Parts };
    reading.first_planes(budget, block_bytes)
}

/// The vector instructions of a level.
#[derive(Clone, Copy)]
pub struct Instructions(Level);

impl Instructions {
    /// Every level that the CPU has, the best last.
    pub fn all() -> impl Iterator<Item = Self> {
        Level::all().map(Self)
    }

    /// Keeps what was measured at this level: of a pair that a join compares, and of a vector in a
    /// sweep.
    pub fn keep(self, costs: &mut Costs, pair_ns: f64, vector_ns: f64) {
        *costs.join.pair_ns_mut(self.0) = pair_ns;
        *costs.sweep.vector_ns_mut(self.0) = vector_ns;
    }

    /// The number of pairs within `k` of one fingerprint of each list.
    pub fn compare(self, left: &[u64], right: &[u64], k: u32) -> u32 {
        let mut found = 0;
        join::between(self.0, left, right, k, |_, _| found += 1);
        found
    }

    /// Nanoseconds of a comparison of a key with the queries of a vector; `time` tells how long
    /// some work takes.
    ///
    /// # Errors
    ///
    /// Those of `time`.
    pub fn vector_ns(
        self,
        time: impl FnOnce(&mut dyn FnMut() -> Result<()>) -> Result<f64>,
    ) -> Result<f64> {
        batch::vector_ns(self.0, time)
    }
}

/// Joins queries with a store as it is read, all in one piece, with one thread.
///
/// # Errors
///
/// Those of reading.
pub fn join_as_read(store: &Store, queries: &[u64], k: u32, costs: &JoinCosts) -> Result<()> {
    let execution = Execution::new().threads(1);
    let snapshot = store.snapshot();
    let all = snapshot.len() as usize;
    let work = |output: &Output| join::stream(output, queries.to_vec(), &snapshot, k, all, costs);
    Output::run(&*execution.start_pool()?, execution.stop(), work, |message| {
        if let Message::Pairs(pairs) = message {
            black_box(pairs);
        }
        ControlFlow::Continue(())
    })
}

/// The predicted time of [`join_as_read`] of so many queries and fingerprints.
pub fn join_as_read_ns(queries: u64, count: u64, k: u32, costs: &JoinCosts) -> f64 {
    join::stream_ns::<u64>(queries, count, count, k, costs)
}
