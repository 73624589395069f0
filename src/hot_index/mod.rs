//! The hot index: all fingerprints of a segment in memory, decoded, in an order of their own for
//! each of some parts of their bits.
//!
//! It does not depend on what tables the segment has on disk, so that a store with one table is
//! searched as fast as one with many. A part is 16 adjacent bits. For each part the fingerprints
//! stand in the order of its value, turned so that the part comes first (*keys*), with a directory
//! from the first bits of the part to the first of its keys. A search within k looks up *runs*, the
//! keys with one prefix: those of the query, and of every way to flip as many bits as the part may
//! differ in ([`cover`](crate::cover)). It compares their keys as they stand.
//!
//! Fingerprints have up to 64 bits, in the highest of a word. An index takes 8 bytes for each
//! fingerprint and part, and 4 to 8 for the directory of each part: 48 bytes for a fingerprint of
//! 64 bits where there are few, 32 where there are many.

mod build;
mod plan;
mod slot;

use std::ops::Range;
use std::sync::OnceLock;

use memmap2::MmapMut;

pub(crate) use plan::{HotClaims, HotPlan, MOST_RUNS, uniform_ns};
pub(crate) use slot::HotSlot;

use crate::error::{Error, Result};
use crate::machine;
use crate::mapped;

/// The share of the memory of the machine that hot indexes of a store take where nothing else is
/// said, and bounds of it.
const MEMORY_SHARE: u64 = 64;
const LEAST_MEMORY: u64 = 24 << 20;
const MOST_MEMORY: u64 = 512 << 20;
/// Bits of a part.
const PART_BITS: u32 = 16;
/// Bytes of a line of the cache.
const LINE_BYTES: usize = 64;

/// The fingerprints of a segment, in memory. Any number of threads may use it.
pub(crate) struct HotIndex {
    layout: Layout,
    /// For each part its keys, and behind them its directory.
    memory: MmapMut,
    /// For each part, the keys of the run that a stored fingerprint is in, on average.
    run_keys: Vec<f64>,
    /// For each radius, once it was asked for.
    plans: Vec<OnceLock<HotPlan>>,
}

/// Where the keys and the directory of each part stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Layout {
    /// Bits of a fingerprint.
    bits: u32,
    count: usize,
    /// Bits of the prefixes of runs.
    prefix_bits: u32,
    /// Bytes of the keys of a part, and of its directory.
    keys_bytes: usize,
    starts_bytes: usize,
}

/// The parts of an index.
#[derive(Clone, Copy)]
pub(crate) struct Parts<'a> {
    layout: Layout,
    words: &'a [u64],
}

/// One part of the index.
#[derive(Clone, Copy)]
pub(crate) struct Part<'a> {
    number: u32,
    prefix_bits: u32,
    /// The keys, and what fills up their last line of the cache.
    keys: &'a [u64],
    /// The first key of each run, and behind the last one the number of keys.
    starts: &'a [u32],
}

impl Layout {
    /// Of so many fingerprints of so many bits; `None` if there are none, or more than an index can
    /// number.
    fn new(bits: u32, count: u64) -> Option<Self> {
        let few = u32::try_from(count).ok().filter(|count| *count > 0)?;
        // One to two prefixes for each key: real ones begin alike, and half as many take a tenth
        // longer.
        let prefix_bits = PART_BITS.min(few.ilog2() + 1);
        let lines = |bytes: usize| bytes.next_multiple_of(LINE_BYTES);
        let keys_bytes = lines(few as usize * size_of::<u64>());
        // One behind the last run, and one more that building needs.
        let starts_bytes = lines(((1 << prefix_bits) + 2) * size_of::<u32>());
        Some(Self { bits, count: few as usize, prefix_bits, keys_bytes, starts_bytes })
    }

    fn parts(self) -> usize {
        (self.bits / PART_BITS) as usize
    }

    /// Bytes of all parts.
    fn bytes(self) -> usize {
        self.parts() * (self.keys_bytes + self.starts_bytes)
    }

    #[inline(always)]
    fn keys(self, part: usize) -> Range<usize> {
        let start = part * (self.keys_bytes + self.starts_bytes);
        start..start + self.keys_bytes
    }

    #[inline(always)]
    fn starts(self, part: usize) -> Range<usize> {
        let start = self.keys(part).end;
        start..start + self.starts_bytes
    }

    /// The key of a fingerprint in a part: its distance to another one is that of the fingerprints.
    #[inline(always)]
    fn key(part: u32, fingerprint: u64) -> u64 {
        fingerprint.rotate_left(part * PART_BITS)
    }
}

/// Bytes that hot indexes of a store take where nothing else is said.
pub(crate) fn default_memory() -> u64 {
    static BYTES: OnceLock<u64> = OnceLock::new();
    // The machine does not change, and to ask reads files.
    *BYTES.get_or_init(|| {
        let total = machine::total_bytes().unwrap_or(0);
        (total / MEMORY_SHARE).clamp(LEAST_MEMORY, MOST_MEMORY)
    })
}

/// Bytes that an index of so many fingerprints of so many bits takes; `None` if there can be none.
pub(crate) fn index_bytes(bits: u32, count: u64) -> Option<u64> {
    Layout::new(bits, count).map(|layout| layout.bytes() as u64)
}

impl HotIndex {
    /// With room for what the layout says, all of it 0.
    fn with_room(layout: Layout) -> Result<Self> {
        let too_much = |_| Error::OutOfMemory { bytes: layout.bytes() as u64 };
        let memory = MmapMut::map_anon(layout.bytes()).map_err(too_much)?;
        // Where a search looks here and there into some MiB, each look waits for the place of its
        // page first: there are too many of 4 KiB. Advice that is not taken does no harm.
        #[cfg(target_os = "linux")]
        let _ = memory.advise(memmap2::Advice::HugePage);
        // A radius up to all bits of a word.
        let plans = (0..=u64::BITS).map(|_| OnceLock::new()).collect();
        Ok(Self { layout, memory, run_keys: Vec::new(), plans })
    }

    /// Number of fingerprints.
    pub(crate) fn count(&self) -> usize {
        self.layout.count
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> u64 {
        self.memory.len() as u64
    }

    /// Its parts.
    #[inline(always)]
    pub(crate) fn parts(&self) -> Parts<'_> {
        Parts { layout: self.layout, words: bytemuck::cast_slice(&self.memory) }
    }

    /// All fingerprints, in their order.
    pub(crate) fn fingerprints(&self) -> &[u64] {
        // In the first part nothing is turned.
        &self.parts().get(0).keys[..self.layout.count]
    }

    /// How a search within `k` goes; `None` for a radius over 64.
    #[inline]
    pub(crate) fn plan(&self, k: u32) -> Option<&HotPlan> {
        Some(self.plans.get(k as usize)?.get_or_init(|| HotPlan::new(self, k)))
    }
}

impl<'a> Parts<'a> {
    /// A part, of those that there are.
    // Not all of them at once: to write them down takes longer than some searches.
    #[inline(always)]
    pub(crate) fn get(self, number: usize) -> Part<'a> {
        let Self { layout, words } = self;
        let piece = |bytes: Range<usize>| &words[bytes.start / 8..bytes.end / 8];
        Part {
            number: number as u32,
            prefix_bits: layout.prefix_bits,
            keys: piece(layout.keys(number)),
            starts: bytemuck::cast_slice(piece(layout.starts(number))),
        }
    }
}

/// The fingerprint of a key of a part.
#[inline(always)]
pub(crate) fn fingerprint(part: usize, key: u64) -> u64 {
    key.rotate_right(part as u32 * PART_BITS)
}

impl<'a> Part<'a> {
    /// Bits of the prefix of a run.
    #[inline(always)]
    pub(crate) fn prefix_bits(self) -> u32 {
        self.prefix_bits
    }

    /// The key of a fingerprint.
    #[inline(always)]
    pub(crate) fn key(self, fingerprint: u64) -> u64 {
        Layout::key(self.number, fingerprint)
    }

    /// The prefix of a key.
    #[inline(always)]
    pub(crate) fn prefix(self, key: u64) -> usize {
        (key >> (u64::BITS - self.prefix_bits)) as usize
    }

    /// Asks for the start of a run.
    #[inline(always)]
    pub(crate) fn prefetch(self, prefix: usize) {
        mapped::prefetch_one(self.starts, prefix);
    }

    /// The numbers of the keys with a prefix. Asks for the first and the last of them.
    #[inline(always)]
    pub(crate) fn run(self, prefix: usize) -> Range<u32> {
        let run = self.starts[prefix]..self.starts[prefix + 1];
        mapped::prefetch_one(self.keys, run.start as usize);
        mapped::prefetch_one(self.keys, (run.end as usize).wrapping_sub(1));
        run
    }

    /// All keys, and what fills up the last line of the cache.
    #[inline(always)]
    pub(crate) fn lines(self) -> &'a [u64] {
        self.keys
    }
}

/// The bits of a part in a fingerprint.
fn part_mask(part: usize) -> u64 {
    !(u64::MAX >> PART_BITS) >> (part as u32 * PART_BITS)
}
