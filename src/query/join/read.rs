//! Reads the fingerprints of a store in order, from any one on, and cuts it into shards.

use std::collections::VecDeque;
use std::ops::Range;

use rayon::prelude::*;

use super::engine::Output;
use crate::error::Result;
use crate::memory;
use crate::segment::Segment;

/// Fingerprints that one task decodes, and those that it decodes at most, unless a single block
/// holds more.
const TASK_KEYS: u64 = 1 << 14;
const MOST_TASK_KEYS: u64 = 1 << 15;
/// Fewest blocks that one task decodes, if they are not too many fingerprints: they are decoded side
/// by side.
const TASK_BLOCKS: u64 = 8;
/// Tasks of a thread that are decoded together.
const TASKS: u64 = 2;
/// Fingerprints of several segments after which it is looked whether the join is to stop.
const LOOKED: usize = 1 << 14;
/// Blocks of a segment that are looked at to cut a store into shards.
const SAMPLE: u64 = 1 << 16;

/// The fingerprints of some segments, ascending and each once.
///
/// Memory: 512 KiB per thread of the current pool and segment, or 8 bytes for each key of the block
/// with most keys, whatever the headers of the tables claim.
pub(super) struct Scan<'a> {
    cursors: Vec<Cursor<'a>>,
}

/// A place in the identity table of a segment.
struct Cursor<'a> {
    segment: &'a Segment,
    start: u64,
    next_block: u64,
    /// Fingerprints that were decoded.
    decoded: u64,
    /// Those of some adjacent blocks each; of the first, up to `at` they are used up.
    chunks: VecDeque<Vec<u64>>,
    at: usize,
    /// Room for others.
    spare: Vec<Vec<u64>>,
}

impl<'a> Scan<'a> {
    /// The fingerprints from `start` on.
    pub(super) fn new(segments: &'a [Segment], start: u64) -> Self {
        let cursor = |segment: &'a Segment| Cursor {
            segment,
            start,
            next_block: segment.identity().seek(start),
            decoded: 0,
            chunks: VecDeque::new(),
            at: 0,
            spare: Vec::new(),
        };
        Self { cursors: segments.iter().map(cursor).collect() }
    }

    /// Appends up to `limit` of the next fingerprints that are not above `last` to `out`; tells
    /// whether there are more of these. Ends early, with any answer, once `output` is to stop.
    /// Decodes with all threads of the current pool.
    pub(super) fn read(
        &mut self,
        last: u64,
        limit: usize,
        out: &mut Vec<u64>,
        output: &Output,
    ) -> Result<bool> {
        let mut left = limit;
        match &mut self.cursors[..] {
            [only] => loop {
                if output.stopped() {
                    return Ok(false);
                }
                let ready = only.ready()?;
                let run = ready.partition_point(|&fingerprint| fingerprint <= last);
                if run == 0 {
                    return Ok(false);
                }
                let taken = run.min(left);
                memory::grow(out, taken, limit)?;
                out.extend_from_slice(&ready[..taken]);
                only.at += taken;
                left -= taken;
                if taken < run {
                    return Ok(true);
                }
            },
            several => loop {
                let mut least = None;
                for cursor in several.iter_mut() {
                    least = [least, cursor.ready()?.first().copied()].into_iter().flatten().min();
                }
                let Some(least) = least.filter(|&least| least <= last) else { return Ok(false) };
                if left == 0 {
                    return Ok(true);
                }
                if (limit - left).is_multiple_of(LOOKED) && output.stopped() {
                    return Ok(false);
                }
                left -= 1;
                memory::grow(out, 1, limit)?;
                out.push(least);
                // A fingerprint may stand in several segments.
                for cursor in several.iter_mut() {
                    if cursor.ready()?.first() == Some(&least) {
                        cursor.at += 1;
                    }
                }
            },
        }
    }
}

impl Cursor<'_> {
    /// Some of the next fingerprints, none at the end.
    #[inline]
    fn ready(&mut self) -> Result<&[u64]> {
        while self.chunks.front().is_none_or(|chunk| self.at >= chunk.len()) {
            self.at = 0;
            self.spare.extend(self.chunks.pop_front());
            if self.chunks.is_empty() && !self.fill()? {
                return Ok(&[]);
            }
        }
        Ok(self.chunks.front().map_or(&[], |chunk| &chunk[self.at..]))
    }

    /// Decodes the next blocks; false at the end.
    #[cold]
    fn fill(&mut self) -> Result<bool> {
        let table = self.segment.identity();
        let first = self.next_block;
        let tasks = self.tasks();
        self.spare.resize_with(tasks.len().max(self.spare.len()), Vec::new);
        let rooms = self.spare.drain(..tasks.len());
        let tasks: Vec<(Range<u64>, Vec<u64>)> = tasks.into_iter().zip(rooms).collect();
        let decode = |(numbers, mut keys): (Range<u64>, Vec<u64>)| {
            table.decode_blocks(numbers, &mut keys)?;
            Ok(keys)
        };
        let chunks: Vec<Result<Vec<u64>>> = tasks.into_par_iter().map(decode).collect();
        for keys in chunks {
            let keys = keys?;
            self.decoded += keys.len() as u64;
            self.chunks.push_back(keys);
        }
        if self.decoded > self.segment.count() {
            return Err(table.surplus_error(self.decoded));
        }
        if first == table.seek(self.start) {
            let chunk = self.chunks.front();
            self.at = chunk.map_or(0, |keys| keys.partition_point(|&key| key < self.start));
        }
        Ok(!self.chunks.is_empty())
    }

    /// The blocks that are decoded next, by one task each.
    fn tasks(&mut self) -> Vec<Range<u64>> {
        let table = self.segment.identity();
        let blocks = table.block_count();
        let of_block = (self.segment.count() / blocks.max(1)).max(1);
        let of_task = (TASK_KEYS / of_block).max(TASK_BLOCKS);
        let most_tasks = TASKS * rayon::current_num_threads() as u64;
        let (mut tasks, mut keys) = (Vec::new(), 0);
        while tasks.len() < most_tasks as usize && self.next_block < blocks {
            let start = self.next_block;
            let wanted = start..blocks.min(start.saturating_add(of_task));
            let (end, of_task) = table.blocks_within(wanted, MOST_TASK_KEYS);
            keys += of_task;
            if !tasks.is_empty() && keys > MOST_TASK_KEYS * most_tasks {
                break;
            }
            tasks.push(start..end);
            self.next_block = end;
        }
        tasks
    }
}

/// The number of fingerprints from `start` to `last`, about; a fingerprint counts once per segment.
pub(super) fn estimate(segments: &[Segment], start: u64, last: u64) -> u64 {
    let of_segment = |segment: &Segment| {
        let table = segment.identity();
        let blocks = table.seek(last).saturating_add(1).min(table.block_count());
        let blocks = blocks.saturating_sub(table.seek(start));
        let count = u128::from(segment.count()) * u128::from(blocks);
        (count / u128::from(table.block_count().max(1))) as u64
    };
    segments.iter().map(of_segment).fold(0, u64::saturating_add)
}

/// The first and the last fingerprint that shard `index` of `count` may have. The shards are of
/// about equal size, follow each other, and cover all fingerprints; `None` for a shard that has
/// none. Equal stores have equal shards.
pub(super) fn shard(segments: &[Segment], index: u64, count: u64) -> Option<(u64, u64)> {
    // Last keys of blocks, each with what it stands for.
    let mut sample: Vec<(u64, u64)> = Vec::new();
    for segment in segments {
        let table = segment.identity();
        let step = table.block_count().div_ceil(SAMPLE).max(1);
        let of_block = segment.count() / table.block_count().max(1);
        let ends = (step..=table.block_count()).step_by(step as usize);
        sample.extend(ends.map(|end| (table.last_key(end - 1), of_block.max(1) * step)));
    }
    sample.sort_unstable();
    let whole: u128 = sample.iter().map(|&(_, weight)| u128::from(weight)).sum();
    // The last fingerprint of the shards before number `index`.
    let before = |index: u64| {
        let wanted = whole * u128::from(index) / u128::from(count);
        let mut sum = 0;
        let end = sample.iter().find(|&&(_, weight)| {
            sum += u128::from(weight);
            sum >= wanted
        });
        end.map(|&(key, _)| key)
    };
    let start = match index {
        0 => 0,
        _ => before(index)?.checked_add(1)?,
    };
    let last = if index + 1 == count { u64::MAX } else { before(index + 1)? };
    (start <= last).then_some((start, last))
}
