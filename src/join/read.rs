//! Reads the fingerprints of a store in order, from any one on, and cuts it into shards.

use rayon::prelude::*;

use crate::error::Result;
use crate::segment::Segment;

/// Fingerprints that one task decodes.
const TASK_KEYS: u64 = 1 << 14;
/// Fewest blocks that one task decodes: they are decoded side by side.
const TASK_BLOCKS: u64 = 8;
/// Blocks of a segment that are looked at to cut a store into shards.
const SAMPLE: u64 = 1 << 16;

/// The fingerprints of some segments, ascending and each once.
pub(super) struct Scan<'a> {
    cursors: Vec<Cursor<'a>>,
}

/// A place in the identity table of a segment.
struct Cursor<'a> {
    segment: &'a Segment,
    start: u64,
    next_block: u64,
    keys: Vec<u64>,
    at: usize,
}

impl<'a> Scan<'a> {
    /// The fingerprints from `start` on.
    pub(super) fn new(segments: &'a [Segment], start: u64) -> Self {
        let cursor = |segment: &'a Segment| {
            let next_block = segment.identity().seek(start);
            Cursor { segment, start, next_block, keys: Vec::new(), at: 0 }
        };
        Self { cursors: segments.iter().map(cursor).collect() }
    }

    /// Appends up to `limit` of the next fingerprints that are not above `last` to `out`; tells
    /// whether there are more of these. Decodes with all threads of the current pool.
    pub(super) fn read(&mut self, last: u64, limit: usize, out: &mut Vec<u64>) -> Result<bool> {
        let mut left = limit;
        match &mut self.cursors[..] {
            [only] => loop {
                let ready = only.ready()?;
                let run = ready.partition_point(|&fingerprint| fingerprint <= last);
                if run == 0 {
                    return Ok(false);
                }
                let taken = run.min(left);
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
                left -= 1;
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
    fn ready(&mut self) -> Result<&[u64]> {
        if self.at == self.keys.len() {
            self.fill()?;
        }
        Ok(&self.keys[self.at..])
    }

    #[cold]
    fn fill(&mut self) -> Result<()> {
        let table = self.segment.identity();
        let blocks = table.block_count();
        self.keys.clear();
        self.at = 0;
        let of_block = (self.segment.count() / blocks.max(1)).max(1);
        let of_task = (TASK_KEYS / of_block).max(TASK_BLOCKS);
        let tasks = 2 * rayon::current_num_threads() as u64;
        let first = self.next_block;
        self.next_block = blocks.min(first.saturating_add(tasks * of_task));
        let tasks = (0..tasks).map(|task| blocks.min(first + task * of_task));
        let tasks: Vec<_> = tasks.map(|from| from..self.next_block.min(from + of_task)).collect();
        let decode = |numbers: std::ops::Range<u64>| {
            let mut keys = Vec::new();
            if !numbers.is_empty() {
                table.decode_blocks(numbers, &mut keys)?;
            }
            Ok(keys)
        };
        let decoded: Vec<Result<Vec<u64>>> = tasks.into_par_iter().map(decode).collect();
        for keys in decoded {
            self.keys.extend(keys?);
        }
        if first == table.seek(self.start) {
            self.at = self.keys.partition_point(|&key| key < self.start);
        }
        Ok(())
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
