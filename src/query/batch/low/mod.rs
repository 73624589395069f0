//! The low parts of the keys of adjacent blocks, which are compared without decoding a block.
//!
//! In a block with L > 0 the L least significant bits of each key but the first stand as byte
//! planes (section 5.1 of the specification). With L = 32, they are within 3 bits of those of a
//! query for one random key in 780,000; of wider columns no more are compared. So nearly all blocks that hold no match are never decoded.

mod compare;

use std::ops::Range;

use crate::costs::BatchCosts;
use crate::error::Result;
use crate::set_sum::term;
use crate::simd::Level;
use crate::table::Table;

pub(super) use compare::Shape;
use compare::{CHUNK, Chunk, FIRST, MAX_PLANES, Near, Task};

/// Entries after which no block is added: all planes stay in the first cache.
const ENTRIES: u32 = 4096;
/// Of so many pairs one may pass the comparison, and so many in any case.
const NEAR_SHARE: usize = 128;
const MAX_NEAR: usize = 64;

/// What is seen of a key that may be within k of a query.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sight {
    /// Number of the query among those that were compared.
    pub(super) query: usize,
    pub(super) block: u64,
    /// Number of the key in the block.
    pub(super) number: u32,
    /// The key in those bits that are visible without decoding; 0 in the others.
    pub(super) key: u64,
    pub(super) visible: u64,
}

/// The low parts of the keys of some adjacent blocks of a table, plane by plane.
pub(super) struct LowWindow<'a> {
    table: &'a Table,
    level: Level,
    shape: Shape,
    low_mask: u64,
    /// Number of the first block.
    start: u64,
    blocks: Vec<Block>,
    /// Number of entries: one for each key.
    entries: u32,
    /// Whole chunks; what stands behind the entries means nothing.
    planes: [Vec<u8>; MAX_PLANES],
    near: Vec<Near>,
}

/// A block in a window.
#[derive(Clone, Copy)]
struct Block {
    /// Its first entry.
    start: u32,
    first: u64,
    /// The leading bits in which all its keys agree.
    shared: u64,
}

impl<'a> LowWindow<'a> {
    /// A window on a table with L > 0, whose entries are compared as `shape` says.
    pub(super) fn new(table: &'a Table, level: Level, shape: Shape) -> Self {
        Self {
            table,
            level,
            shape,
            low_mask: low_mask(table, planes_of(table)),
            start: 0,
            blocks: Vec::new(),
            entries: 0,
            planes: Default::default(),
            near: Vec::new(),
        }
    }

    /// Moves the window to some of the `blocks` at their start, one at least, and gives these.
    pub(super) fn load(&mut self, blocks: Range<u64>) -> Result<Range<u64>> {
        let loaded = self.start..self.start + self.blocks.len() as u64;
        if loaded.contains(&blocks.start) && blocks.end <= loaded.end {
            return Ok(blocks);
        }
        (self.start, self.entries) = (blocks.start, 0);
        self.blocks.clear();
        for number in blocks.clone() {
            if self.entries >= ENTRIES {
                return Ok(blocks.start..number);
            }
            self.append(number)?;
        }
        Ok(blocks)
    }

    fn append(&mut self, number: u64) -> Result<()> {
        let column = self.table.low_parts(number)?;
        let others = column.keys as usize - 1;
        let differs = column.first ^ self.table.last_key(number);
        let shared = !(u64::MAX.checked_shr(differs.leading_zeros()).unwrap_or(0));
        self.blocks.push(Block { start: self.entries, first: column.first, shared });
        let at = self.entries as usize;
        // Room for a copy in whole chunks.
        let room = (at + 1 + others.next_multiple_of(CHUNK)).next_multiple_of(CHUNK);
        let first = low_of(self.table, column.first).to_le_bytes();
        for (plane, bytes) in self.planes.iter_mut().enumerate().take(planes_of(self.table)) {
            if bytes.len() < room {
                bytes.resize(room, 0);
            }
            bytes[at] = first[plane];
            copy(column.plane(plane), others, &mut bytes[at + 1..]);
        }
        self.entries += column.keys;
        Ok(())
    }

    /// Calls `seen`, in any order, with each key in the `blocks`, which are loaded, and each of
    /// `queries`, which are given by their low bits, that may be within the radius. Gives up, and
    /// returns false, where more pass than random keys would: low parts that are alike tell nothing.
    pub(super) fn compare(
        &mut self,
        blocks: Range<u64>,
        queries: &[u32],
        mut seen: impl FnMut(Sight),
    ) -> bool {
        let of = |block: u64| self.blocks.get((block - self.start) as usize);
        let Some(block) = of(blocks.start) else { return true };
        let entries = block.start..of(blocks.end).map_or(self.entries, |block| block.start);
        let first_chunk = entries.start as usize / CHUNK;
        let chunks = first_chunk..(entries.end as usize).div_ceil(CHUNK);
        let planes = self.planes.each_ref().map(|plane| -> &[Chunk] {
            plane.as_chunks().0.get(chunks.clone()).unwrap_or_default()
        });
        self.near.clear();
        let limit = MAX_NEAR + queries.len() * entries.len() / NEAR_SHARE;
        let ahead = self.table.blocks_ahead(blocks.end, blocks.end - blocks.start);
        let task = Task { queries, shape: self.shape, ahead, limit };
        compare::compare(self.level, &planes, &task, &mut self.near);
        if self.near.len() > limit {
            return false;
        }
        let loaded = &self.blocks[(blocks.start - self.start) as usize..];
        for near in &self.near {
            let entry = near.entry + (first_chunk * CHUNK) as u32;
            if !entries.contains(&entry) {
                continue;
            }
            let number = loaded.partition_point(|block| block.start <= entry) - 1;
            let block = &loaded[number];
            let visible =
                if entry == block.start { u64::MAX } else { block.shared | self.low_mask };
            let low = (0..planes_of(self.table)).fold(0, |low, plane| {
                low | u64::from(self.planes[plane][entry as usize]) << (8 * plane)
            });
            let low = low << self.table.geometry().pad_bits();
            seen(Sight {
                query: near.query as usize,
                block: blocks.start + number as u64,
                number: entry - block.start,
                key: (block.first & !self.low_mask | low) & visible,
                visible,
            });
        }
        true
    }
}

/// The low bits of a key that are compared.
pub(super) fn bits(table: &Table) -> u32 {
    8 * planes_of(table) as u32
}

/// The planes of a table that are compared: of a wider column hardly anything passes the first.
fn planes_of(table: &Table) -> usize {
    table.geometry().planes().min(MAX_PLANES)
}

/// The low bits of a key that stand in the first planes.
fn low_mask(table: &Table, planes: usize) -> u64 {
    let low = ((1 << table.geometry().low_bits) - 1) & ((1 << (8 * planes)) - 1);
    low << table.geometry().pad_bits()
}

/// The low bits of a key as entries are compared with them: a plane in each byte, and what comes behind.
#[inline]
pub(super) fn low_of(table: &Table, key: u64) -> u32 {
    (key >> table.geometry().pad_bits()) as u32
}

/// How the entries of a table with L > 0 are compared. Of the pairs that are handed on from the
/// table, none differs in more than `most` gives for a mask, and all differ within a mask for which
/// `differs` holds.
pub(super) fn shape(
    table: &Table,
    most: impl Fn(u64) -> u32,
    differs: impl Fn(u64) -> bool,
) -> Shape {
    let most_in = |planes| most(low_mask(table, planes));
    Shape::new(planes_of(table), most_in, differs(low_mask(table, FIRST)))
}

/// Nanoseconds per pair that is compared in a table with L > 0.
pub(super) fn pair_ns(table: &Table, level: Level, k: u32, costs: &BatchCosts) -> f64 {
    Shape::new(planes_of(table), |_| k, false).pair_ns(level, costs)
}

/// Queries of a comparison that is timed.
const TIMED: u32 = 64;

/// Nanoseconds of an instruction of a comparison at a level, of entries that stay in the first
/// cache. `time` tells how long some work takes.
pub(crate) fn instruction_ns(
    level: Level,
    time: impl FnOnce(&mut dyn FnMut() -> Result<()>) -> Result<f64>,
) -> Result<f64> {
    let shape = Shape::new(MAX_PLANES, |_| 3, false);
    let plane = |plane: u64| (0..u64::from(ENTRIES)).map(move |i| term(i << 8 | plane) as u8);
    let bytes: [Vec<u8>; MAX_PLANES] = std::array::from_fn(|i| plane(i as u64).collect());
    let planes = bytes.each_ref().map(|bytes| bytes.as_chunks().0);
    let queries: Vec<u32> = (0..TIMED).map(|i| term(u64::from(i)) as u32).collect();
    let task = Task { queries: &queries, shape, ahead: &[], limit: usize::MAX };
    let mut near = Vec::new();
    let ns = time(&mut || {
        near.clear();
        compare::compare(level, &planes, &task, &mut near);
        Ok(())
    })?;
    Ok(ns / f64::from(ENTRIES * TIMED) / shape.instructions() as f64)
}

/// Copies the first `count` bytes; may change `to` up to the end of their chunk.
#[inline(always)]
fn copy(from: &[u8], count: usize, to: &mut [u8]) {
    let whole = count.next_multiple_of(CHUNK);
    match (from.get(..whole), to.get_mut(..whole)) {
        (Some(from), Some(to)) => {
            let (from, to) = (from.as_chunks::<CHUNK>().0, to.as_chunks_mut::<CHUNK>().0);
            from.iter().zip(to).for_each(|(from, to)| *to = *from);
        }
        _ => to[..count].copy_from_slice(&from[..count]),
    }
}
