//! Which segments of a store keep their keys decoded, once searches have read them: the smallest, as far as there is room. A search looks into
//! all segments, and what it takes in a small one is mostly the way to the keys.

use std::sync::Arc;

use super::{Index, Segment, Tables};
use crate::fingerprint::Fingerprint;

/// Bytes that the keys of all segments of a store take together, where nothing else is said: of 750,000 in `quarters`. What the caches of the CPU do not hold gains
/// less: in all of it, a search of `quarters` within 6 takes 0.3 of the time of one in blocks, within 3 1.0 to 1.2.
pub(crate) const CACHE_BYTES: u64 = 24 << 20;

/// Has the smallest segments of a store keep their keys, beside those that do so already, in up to so many bytes.
pub(crate) fn keep_keys_of_smallest<F: Fingerprint>(segments: &[Arc<Segment<F>>], most: u64) {
    let tables = segments.iter().filter_map(|segment| match segment.index() {
        Index::Tables(tables) => tables.kept_bytes().map(|bytes| (bytes, tables)),
        Index::Parts(_) => None,
    });
    let keeps = |(_, tables): &(u64, &Tables)| tables.runs().keeps_keys();
    let (kept, mut others): (Vec<_>, Vec<_>) = tables.partition(keeps);
    let mut room = most.saturating_sub(kept.iter().map(|(bytes, _)| bytes).sum());
    others.sort_by_key(|(bytes, _)| *bytes);
    for (bytes, tables) in others {
        if bytes > room {
            break;
        }
        if tables.keep_keys() {
            room -= bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::Found;
    use super::{Index, Segment};
    use crate::set_sum::term;
    use crate::store::{OpenOptions, Packer, Store};

    /// Packs so many fingerprints as one more segment.
    fn append(path: &Path, numbers: std::ops::Range<u64>) {
        let packer = Packer::new().design("quarters".parse().unwrap()).append(true);
        packer.pack(path, numbers.map(|i| term(i) as u64)).unwrap();
    }

    /// Of each segment its size, and whether it keeps keys.
    fn segments(store: &Store) -> Vec<(u64, bool)> {
        let snapshot = store.snapshot();
        let keeps_keys = |segment: &Segment| match segment.index() {
            Index::Tables(tables) => tables.runs().keeps_keys(),
            Index::Parts(_) => false,
        };
        let segments = snapshot.segments().iter();
        segments.map(|segment| (segment.count(), keeps_keys(segment))).collect()
    }

    #[test]
    fn the_smallest_segments_keep_their_keys_as_far_as_there_is_room() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store");
        let packer = Packer::new().design("quarters".parse().unwrap());
        packer.pack(&path, (0..4000).map(|i| term(i) as u64)).unwrap();
        append(&path, 4000..4100);
        append(&path, 4100..5100);
        let open = |bytes| OpenOptions::new().cache_bytes(bytes).open(&path).unwrap();
        // 4 tables of 8 bytes, and 1024, 128 or 4 starts of 4, and one more, in whole lines of 64 bytes.
        let (large, small, tiny) = (4 * (8000 + 4160), 4 * (832 + 576), 4 * (64 + 64));
        let of = |bytes| segments(&open(bytes));
        assert_eq!(of(0), [(4000, false), (100, false), (1000, false)]);
        assert_eq!(of(small - 1), of(0));
        assert_eq!(of(small), [(4000, false), (100, true), (1000, false)]);
        assert_eq!(of(small + large - 1), of(small));
        assert_eq!(of(small + large), [(4000, false), (100, true), (1000, true)]);
        assert!(segments(&Store::open(&path).unwrap()).iter().all(|(_, keeps)| *keeps));
        // What is kept stays so, and what comes gets what is left.
        let store = open(small + large);
        append(&path, 5100..5102);
        assert!(store.refresh().unwrap());
        assert_eq!(segments(&store)[1..], [(100, true), (1000, true), (2, false)]);
        assert_eq!(of(small + large)[1..], [(100, true), (1000, false), (2, true)]);
        let store = open(small + large + tiny);
        append(&path, 5102..5104);
        assert!(store.refresh().unwrap());
        assert_eq!(segments(&store)[1..], [(100, true), (1000, true), (2, true), (2, false)]);
        // In memory they take what was reckoned.
        let snapshot = store.snapshot();
        let mut searcher = snapshot.searcher();
        let keys = |segment: &Segment| match segment.index() {
            Index::Tables(tables) => match tables.runs().found() {
                Some(Found::Keys(_)) => tables.runs().heap_bytes(),
                _ => 0,
            },
            Index::Parts(_) => 0,
        };
        let kept = || snapshot.segments().iter().map(|of| keys(of)).collect::<Vec<_>>();
        let mut searches = 0;
        while kept()[1..4].contains(&0) {
            searcher.search(term(searches) as u64, 3).unwrap();
            searches += 1;
            assert!(searches < 10_000, "{:?}", kept());
        }
        assert_eq!(kept(), [0, small, large, tiny, 0]);
    }

    #[test]
    fn a_segment_without_keys_keeps_none() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store");
        Packer::new().pack(&path, [0u64; 0]).unwrap();
        assert_eq!(segments(&Store::open(&path).unwrap()), [(0, false)]);
    }

    #[test]
    fn what_goes_by_starts_already_takes_no_room() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store");
        let packer = Packer::new().design("quarters".parse().unwrap());
        packer.pack(&path, (0..40_000).map(|i| term(i) as u64)).unwrap();
        let store = OpenOptions::new().cache_bytes(0).open(&path).unwrap();
        let snapshot = store.snapshot();
        let Index::Tables(tables) = snapshot.segments()[0].index() else { panic!("no tables") };
        let mut searcher = snapshot.searcher();
        let mut searches = 0;
        while tables.runs().found().is_none() {
            searcher.search(term(searches) as u64, 3).unwrap();
            searches += 1;
            assert!(searches < 10_000);
        }
        assert!(!tables.keep_keys() && !tables.runs().keeps_keys());
        assert!(matches!(tables.runs().found(), Some(Found::Starts(_))));
    }
}
