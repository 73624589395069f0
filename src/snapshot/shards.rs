//! Cuts the fingerprints of a snapshot into ranges, by the last keys of blocks.

use std::sync::Arc;

use super::contents::Snapshot;
use crate::segment::Segment;

/// Blocks of a segment that are looked at to cut a snapshot into shards.
const SAMPLE: u64 = 1 << 16;

impl Snapshot {
    /// The number of fingerprints from `start` to `last`, about; a fingerprint counts once per segment.
    pub(crate) fn estimate(&self, start: u64, last: u64) -> u64 {
        let of_segment = |segment: &Arc<Segment>| {
            let table = segment.identity();
            let blocks = table.seek(last).saturating_add(1).min(table.block_count());
            let blocks = blocks.saturating_sub(table.seek(start));
            let count = u128::from(segment.count()) * u128::from(blocks);
            (count / u128::from(table.block_count().max(1))) as u64
        };
        self.segments().iter().map(of_segment).fold(0, u64::saturating_add)
    }

    /// The first and the last fingerprint that shard `index` of `count` may have. The shards are of
    /// about equal size, follow each other, and cover all fingerprints; `None` for a shard that has
    /// none. Equal stores have equal shards.
    pub(crate) fn shard(&self, index: u64, count: u64) -> Option<(u64, u64)> {
        // Last keys of blocks, each with what it stands for.
        let mut sample: Vec<(u64, u64)> = Vec::new();
        for segment in self.segments() {
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
}
