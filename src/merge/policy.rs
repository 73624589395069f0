//! Which segments are merged.
//!
//! In each window of time there is a largest segment and some smaller ones. Once the smaller ones
//! hold about as much as it does, all become one: so its size doubles from one such merge to the
//! next, and all of these together write each record twice. Meanwhile small ones are merged in
//! tiers (as in size-tiered compaction): [`FAN_IN`] of about the same size, with all that are
//! smaller. A search pays for each segment, whatever its size, so there are to be few; each record
//! is written once more per tier.
//!
//! A segment may have a limit of fingerprints (that of a base [BAS-2]). What would exceed it is not
//! merged: the largest ones stay as they are, and the rest is merged as if they were not there.

use std::collections::BTreeMap;

/// Segments of a tier that are merged.
pub(crate) const FAN_IN: usize = 4;
/// The smaller segments are merged with the largest once they hold this part of what it holds: a
/// little less than all, since segments differ in size somewhat.
const ENOUGH: f64 = 0.9;

/// What the policy looks at of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) number: u64,
    pub(crate) fingerprints: u64,
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

/// The segments of each window that are not too large to be merged with those below them, the
/// largest last.
fn by_window(segments: &[Candidate], most: u64) -> impl Iterator<Item = Vec<Candidate>> {
    windows(segments).map(move |mut of_window| {
        while fingerprints(&of_window) > most && of_window.len() > 1 {
            of_window.pop();
        }
        of_window
    })
}

fn windows(segments: &[Candidate]) -> impl Iterator<Item = Vec<Candidate>> {
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

fn fingerprints(segments: &[Candidate]) -> u64 {
    segments.iter().fold(0, |sum, segment| sum.saturating_add(segment.fingerprints))
}

fn numbers(segments: &[Candidate]) -> Vec<u64> {
    segments.iter().map(|segment| segment.number).collect()
}

/// The numbers of the segments to merge next, if there are any. A segment takes at most so many
/// fingerprints.
pub(crate) fn pick(segments: &[Candidate], base: u64, most: u64) -> Option<Vec<u64>> {
    by_window(segments, most).find_map(|of_window| {
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

/// The numbers of the segments to merge while nothing is written, and how many records that writes:
/// those of the window with the most segments, as far as there are several.
pub(crate) fn pick_idle(segments: &[Candidate], limit: u64) -> Option<(Vec<u64>, u64)> {
    let most = by_window(segments, limit).max_by_key(Vec::len)?;
    (most.len() > 1).then(|| (numbers(&most), records(&most)))
}

/// The numbers of the segments that become one if all are merged, window by window; in a window of
/// more fingerprints than a segment takes, several become full ones. Those that would be alone only
/// if `alone` says that they are to be written anew.
pub(crate) fn all(segments: &[Candidate], most: u64, alone: impl Fn(u64) -> bool) -> Vec<Vec<u64>> {
    let mut groups: Vec<Vec<Candidate>> = Vec::new();
    for of_window in windows(segments) {
        let mut group: Vec<Candidate> = Vec::new();
        for segment in of_window {
            let together = fingerprints(&group).saturating_add(segment.fingerprints);
            if together > most && !group.is_empty() {
                groups.push(std::mem::take(&mut group));
            }
            group.push(segment);
        }
        groups.push(group);
    }
    let several = |group: &Vec<Candidate>| group.len() > 1 || alone(group[0].number);
    groups.into_iter().filter(several).map(|group| numbers(&group)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(number: u64, records: u64, window: u64) -> Candidate {
        Candidate { number, fingerprints: records, records, window }
    }

    /// How often each record was written, and the most segments at a time.
    fn run(flushes: u64, base: u64) -> (f64, usize) {
        let (mut segments, mut next, mut written, mut most) = (Vec::new(), 1, 0, 0);
        for _ in 0..flushes {
            segments.push(segment(next, base, 0));
            next += 1;
            written += base;
            while let Some(picked) = pick(&segments, base, u64::MAX) {
                let is_picked = |segment: &Candidate| picked.contains(&segment.number);
                let records = segments.iter().filter(|s| is_picked(s)).map(|s| s.records).sum();
                segments.retain(|segment| !is_picked(segment));
                segments.push(segment(next, records, 0));
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
        let mut segments = vec![segment(1, 100, 0), segment(2, 50, 1), segment(3, 10, 0)];
        assert_eq!(pick(&segments, 10, u64::MAX), None);
        segments.push(segment(4, 49, 1));
        assert_eq!(pick(&segments, 10, u64::MAX), Some(vec![4, 2]));
        assert_eq!(all(&segments, u64::MAX, |_| false), [vec![3, 1], vec![4, 2]]);
        assert_eq!(all(&segments[..3], u64::MAX, |number| number == 2), [vec![3, 1], vec![2]]);
        assert_eq!(pick_idle(&segments[..3], u64::MAX), Some((vec![3, 1], 110)));
        assert_eq!(pick_idle(&segments[..2], u64::MAX), None);
    }

    #[test]
    fn a_full_tier_is_merged_with_all_that_is_smaller() {
        let segment = |number, records| segment(number, records, 0);
        let segments = [
            segment(1, 1000),
            segment(2, 9),
            segment(3, 10),
            segment(4, 10),
            segment(5, 1),
            segment(6, 10),
        ];
        assert_eq!(pick(&segments, 10, u64::MAX), Some(vec![5, 2, 3, 4, 6]));
        assert_eq!(pick(&segments[..4], 10, u64::MAX), None);
    }
    /// Segments that grow beyond what one takes: merging ends, loses nothing, and leaves as few as
    /// fit.
    #[test]
    fn no_merge_exceeds_what_a_segment_takes() {
        let (most, base) = (10_000, 100);
        let (mut segments, mut next) = (Vec::<Candidate>::new(), 1);
        let mut merge = |segments: &mut Vec<Candidate>, picked: &[u64]| {
            let is_picked = |at: &Candidate| picked.contains(&at.number);
            let merged: Vec<Candidate> =
                segments.iter().filter(|at| is_picked(at)).copied().collect();
            assert!(merged.len() > 1 && fingerprints(&merged) <= most, "{merged:?}");
            segments.retain(|at| !is_picked(at));
            segments.push(segment(1 << 40 | next, records(&merged), 0));
            next += 1;
        };
        for flush in 0..1000 {
            segments.push(segment(flush, base, 0));
            while let Some(picked) = pick(&segments, base, most) {
                merge(&mut segments, &picked);
            }
            assert_eq!(records(&segments), (flush + 1) * base);
            assert!(segments.len() as u64 <= 20 + 3 * flush * base / most, "{}", segments.len());
        }
        let mut idle = segments.clone();
        while let Some((picked, _)) = pick_idle(&idle, most) {
            merge(&mut idle, &picked);
        }
        for picked in all(&segments, most, |_| false) {
            merge(&mut segments, &picked);
        }
        assert_eq!(all(&segments, most, |_| false), Vec::<Vec<u64>>::new());
        for segments in [idle, segments] {
            assert_eq!(records(&segments), 100_000);
            assert!(segments.len() <= 20, "{}", segments.len());
        }
    }
}
