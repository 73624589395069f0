//! Cuts the fingerprints of a snapshot into ranges, by the last keys of blocks.

use std::sync::Arc;

use super::contents::Snapshot;
use crate::error::Result;
use crate::fingerprint::{Fingerprint, greatest, successor};
use crate::segment::Segment;

/// Blocks of a segment that are looked at to cut a snapshot into shards.
const SAMPLE: u64 = 1 << 16;

impl<F: Fingerprint> Snapshot<F> {
    /// The number of fingerprints from `start` to `last`, about; a fingerprint counts once per
    /// segment.
    pub(crate) fn estimate(&self, start: F, last: F) -> u64 {
        let of_segment = |segment: &Arc<Segment<F>>| {
            let rows = segment.rows();
            // Damage shows when it is read.
            let seek = |fingerprint| rows.seek(fingerprint).unwrap_or(0);
            let blocks = seek(last).saturating_add(1).min(rows.block_count());
            let blocks = blocks.saturating_sub(seek(start));
            let count = u128::from(segment.count()) * u128::from(blocks);
            (count / u128::from(rows.block_count().max(1))) as u64
        };
        self.segments().iter().map(of_segment).fold(0, u64::saturating_add)
    }

    /// The first and the last fingerprint that shard `index` of `count` may have. The shards are of
    /// about equal size, follow each other, and cover all fingerprints; `None` for a shard that has
    /// none. Equal stores have equal shards.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`](crate::Error::Corrupt) if what is looked at is damaged.
    pub(crate) fn shard(&self, index: u64, count: u64) -> Result<Option<(F, F)>> {
        // Last keys of blocks, each with what it stands for.
        let mut sample: Vec<(F, u64)> = Vec::new();
        for segment in self.segments() {
            let rows = segment.rows();
            let step = rows.block_count().div_ceil(SAMPLE).max(1);
            let of_block = segment.count() / rows.block_count().max(1);
            for end in (step..=rows.block_count()).step_by(step as usize) {
                sample.push((rows.last(end - 1)?, of_block.max(1) * step));
            }
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
            0 => Some(F::default()),
            _ => before(index).and_then(successor),
        };
        let last = if index + 1 == count { Some(greatest()) } else { before(index + 1) };
        Ok(start.zip(last).filter(|(start, last)| start <= last))
    }
}
