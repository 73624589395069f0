//! Which segments are merged.
//!
//! In each window of time there is a largest segment and some smaller ones. Once the smaller ones hold about as much
//! as it does, all become one: so its size doubles from one such merge to the next, and all of these together write
//! each record twice. Meanwhile small ones are merged in tiers (as in size-tiered compaction): [`FAN_IN`] of about
//! the same size, with all that are smaller. A search pays for each segment, whatever its size, so there are to be few;
//! each record is written once more per tier.

use std::collections::BTreeMap;

/// Segments of a tier that are merged.
const FAN_IN: usize = 4;
/// The smaller segments are merged with the largest once they hold this part of what it holds: a little less than
/// all, since segments differ in size somewhat.
const ENOUGH: f64 = 0.9;

/// What the policy looks at of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) number: u64,
    /// Fingerprints, or ids if these are more.
    pub(crate) records: u64,
    pub(crate) window: u64,
}

/// The tier of a segment, if the smallest ones have `base` records.
fn tier(records: u64, base: u64) -> u32 {
    // A merge loses duplicates and deletions, so a segment may be smaller than its parts.
    let mut limit = base.max(1).saturating_mul(FAN_IN as u64 / 2);
    let mut tier = 0;
    while records > limit && limit < u64::MAX {
        limit = limit.saturating_mul(FAN_IN as u64);
        tier += 1;
    }
    tier
}

fn by_window(segments: &[Candidate]) -> impl Iterator<Item = Vec<Candidate>> {
    let mut windows: BTreeMap<u64, Vec<Candidate>> = BTreeMap::new();
    for &segment in segments {
        windows.entry(segment.window).or_default().push(segment);
    }
    windows.into_values().map(|mut of_window| {
        // The largest last.
        of_window.sort_unstable_by_key(|segment| (segment.records, segment.number));
        of_window
    })
}

fn records(segments: &[Candidate]) -> u64 {
    segments.iter().fold(0, |sum, segment| sum.saturating_add(segment.records))
}

fn numbers(segments: &[Candidate]) -> Vec<u64> {
    segments.iter().map(|segment| segment.number).collect()
}

/// The numbers of the segments to merge next, if there are any.
pub(crate) fn pick(segments: &[Candidate], base: u64) -> Option<Vec<u64>> {
    by_window(segments).find_map(|of_window| {
        let (largest, smaller) = of_window.split_last()?;
        if !smaller.is_empty() && records(smaller) as f64 >= ENOUGH * largest.records as f64 {
            return Some(numbers(&of_window));
        }
        let tiers =
            smaller.chunk_by(|one, other| tier(one.records, base) == tier(other.records, base));
        // The highest one, so that nothing is written twice.
        let mut end = 0;
        let ends = tiers.map(|tier| {
            end += tier.len();
            (tier.len(), end)
        });
        let full = ends.filter(|(len, _)| *len >= FAN_IN).last();
        full.map(|(_, end)| numbers(&smaller[..end]))
    })
}

/// The numbers of the segments to merge while nothing is written, and how many records that writes: those of the window
/// with the most segments, as far as there are several.
pub(crate) fn pick_idle(segments: &[Candidate]) -> Option<(Vec<u64>, u64)> {
    let most = by_window(segments).max_by_key(Vec::len)?;
    (most.len() > 1).then(|| (numbers(&most), records(&most)))
}

/// The numbers of the segments that become one segment per window if all are merged, window by window; those
/// of windows with a single segment only if `alone` says that it is to be written anew.
pub(crate) fn all(segments: &[Candidate], alone: impl Fn(u64) -> bool) -> Vec<Vec<u64>> {
    let several = |of_window: &Vec<Candidate>| of_window.len() > 1 || alone(of_window[0].number);
    by_window(segments).filter(several).map(|of_window| numbers(&of_window)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often each record was written, and the most segments at a time.
    fn run(flushes: u64, base: u64) -> (f64, usize) {
        let (mut segments, mut next, mut written, mut most) = (Vec::new(), 1, 0, 0);
        for _ in 0..flushes {
            segments.push(Candidate { number: next, records: base, window: 0 });
            next += 1;
            written += base;
            while let Some(picked) = pick(&segments, base) {
                let is_picked = |segment: &Candidate| picked.contains(&segment.number);
                let records = segments.iter().filter(|s| is_picked(s)).map(|s| s.records).sum();
                segments.retain(|segment| !is_picked(segment));
                segments.push(Candidate { number: next, records, window: 0 });
                next += 1;
                written += records;
            }
            most = most.max(segments.len());
        }
        (written as f64 / (flushes * base) as f64, most)
    }

    #[test]
    fn records_are_written_a_few_times_and_segments_stay_few() {
        for flushes in [1u64, 2, 7, 8, 9, 15, 16, 17, 20, 33, 63, 64, 65, 500, 513, 4095, 4096] {
            let (written, segments) = run(flushes, 1000);
            // Flush, doublings, and tiers below the largest.
            let tiers = f64::from(flushes.ilog2()) / 2.0;
            assert!(written <= 3.0 + tiers, "{flushes}: {written}");
            assert!(segments as f64 <= 4.0 + 3.0 * tiers, "{flushes}: {segments}");
        }
    }

    #[test]
    fn only_segments_of_one_window_are_merged() {
        let segment = |number, records, window| Candidate { number, records, window };
        let mut segments = vec![segment(1, 100, 0), segment(2, 50, 1), segment(3, 10, 0)];
        assert_eq!(pick(&segments, 10), None);
        segments.push(segment(4, 49, 1));
        assert_eq!(pick(&segments, 10), Some(vec![4, 2]));
        assert_eq!(all(&segments, |_| false), [vec![3, 1], vec![4, 2]]);
        assert_eq!(all(&segments[..3], |number| number == 2), [vec![3, 1], vec![2]]);
        assert_eq!(pick_idle(&segments[..3]), Some((vec![3, 1], 110)));
        assert_eq!(pick_idle(&segments[..2]), None);
    }

    #[test]
    fn a_full_tier_is_merged_with_all_that_is_smaller() {
        let segment = |number, records| Candidate { number, records, window: 0 };
        let segments = [
            segment(1, 1000),
            segment(2, 9),
            segment(3, 10),
            segment(4, 10),
            segment(5, 1),
            segment(6, 10),
        ];
        assert_eq!(pick(&segments, 10), Some(vec![5, 2, 3, 4, 6]));
        assert_eq!(pick(&segments[..4], 10), None);
    }
}
