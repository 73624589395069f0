//! When who writes is slowed, since what it wrote before is not in segments yet, or these are too
//! many.

use std::collections::HashSet;
use std::time::Duration;

use crate::fingerprint::Fingerprint;
use crate::format::Manifest;
use crate::snapshot::Snapshot;

/// The part of a generation that is filled without delay while the one before becomes a segment.
const FREE: f64 = 0.5;
/// The delay per operation when it is full.
const FULL_DELAY: Duration = Duration::from_micros(40);
/// Segments from which on each further one delays operations, by so much each. Of windows of time
/// each may have one more.
const MOST_SEGMENTS: u64 = 40;
const SEGMENT_DELAY: Duration = Duration::from_micros(2);
/// Delays are taken together up to so much, and no longer at once.
pub(super) const LEAST_DELAY: Duration = Duration::from_millis(1);
pub(super) const MOST_DELAY: Duration = Duration::from_millis(20);

/// How a writer is slowed while segments are written and merged slower than it writes. Nothing is
/// refused, and no call waits longer than a part of the memory takes to become a segment.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Slowing {
    /// Segments that merges could make fewer: all but one, or one per window of time.
    pub segments: u64,
    /// More of these than so many delay each insertion and deletion,
    pub free_segments: u64,
    /// each by so much.
    pub segment_delay: Duration,
    /// The part of the memory for records that is filled without delay while the records before are
    /// made a segment.
    pub free_memory: f64,
    /// The delay of each insertion and deletion where it is full; less in between, with the square.
    pub full_delay: Duration,
    /// Delays are taken together; a call waits no longer than this for them.
    pub most_delay: Duration,
    /// What the segments delay each insertion and deletion now.
    pub delay: Duration,
}

impl Slowing {
    /// The rule, for a store with so many segments to merge.
    fn with(segments: u64) -> Self {
        Self {
            segments,
            free_segments: MOST_SEGMENTS,
            segment_delay: SEGMENT_DELAY,
            free_memory: FREE,
            full_delay: FULL_DELAY,
            most_delay: MOST_DELAY,
            delay: of_segments(segments),
        }
    }
}

impl<F: Fingerprint> Snapshot<F> {
    /// When a writer of the store is slowed, and whether its segments do so now.
    pub fn slowing(&self) -> Slowing {
        Slowing::with(to_merge(&self.parts().base.manifest))
    }
}

/// Segments that merges could make fewer. There is always one, and in each window of time one.
pub(super) fn to_merge(manifest: &Manifest) -> u64 {
    let windows = manifest.windows.as_ref().map(|windows| {
        let distinct: HashSet<u64> = windows.windows.iter().copied().collect();
        distinct.len()
    });
    manifest.segments.len().saturating_sub(windows.unwrap_or(1)) as u64
}

fn of_segments(segments: u64) -> Duration {
    let surplus = segments.saturating_sub(MOST_SEGMENTS);
    SEGMENT_DELAY.saturating_mul(u32::try_from(surplus).unwrap_or(u32::MAX))
}

/// What an operation is delayed by, with so many segments to merge, while the memory is full to
/// this part and the records before are on their way into a segment: the fuller the memory the
/// longer, so that it is hardly ever full, and nobody waits long at once.
pub(super) fn delay(segments: u64, full_behind: Option<f64>) -> Duration {
    let behind = full_behind.unwrap_or(0.0) - FREE;
    let full = (behind / (1.0 - FREE)).clamp(0.0, 1.0);
    FULL_DELAY.mul_f64(full * full) + of_segments(segments)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_that_have_one_segment_each_slow_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let options = crate::WriterOptions::new().background(false);
        let options = crate::StoreOptions::new().ids(None).writer(options);
        let options = options.window(Some(Duration::from_secs(1)));
        let writer = options.create(directory.path().join("store")).unwrap();
        let windows = MOST_SEGMENTS + 10;
        let time = |seconds| std::time::UNIX_EPOCH + Duration::from_secs(seconds);
        for second in 0..windows {
            writer.insert_at(second, (), time(second)).unwrap();
        }
        writer.flush().unwrap();
        let slowing = writer.snapshot().slowing();
        assert_eq!((slowing.segments, slowing.delay), (0, Duration::ZERO));
        writer.insert_at(1000, (), time(0)).unwrap();
        writer.flush().unwrap();
        assert_eq!(writer.snapshot().slowing().segments, 1);
        assert_eq!(delay(MOST_SEGMENTS, Some(FREE)), Duration::ZERO);
        assert_eq!(delay(MOST_SEGMENTS + 3, None), 3 * SEGMENT_DELAY);
        assert_eq!(delay(0, Some(1.0)), FULL_DELAY);
    }
}
