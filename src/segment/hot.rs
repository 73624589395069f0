//! Which segments of a store have a hot index: the smallest, as far as there is room. A search
//! looks into all segments, and what it takes in a small one is mostly the way to the keys.

use std::sync::Arc;

use super::{Index, Segment, Tables};
use crate::fingerprint::Fingerprint;

/// Has searches build hot indexes for the smallest segments of a store, beside those that have one
/// already, in up to so many bytes.
pub(crate) fn want_hot<F: Fingerprint>(segments: &[Arc<Segment<F>>], most: u64) {
    let tables = segments.iter().filter_map(|segment| match segment.index() {
        Index::Tables(tables) => tables.hot().most_bytes().map(|bytes| (bytes, tables)),
        Index::Parts(_) => None,
    });
    let is_taken = |(_, tables): &(u64, &Tables)| tables.hot().is_taken();
    let (taken, mut others): (Vec<_>, Vec<_>) = tables.partition(is_taken);
    let mut room = most.saturating_sub(taken.iter().map(|(bytes, _)| bytes).sum());
    others.sort_by_key(|(bytes, _)| *bytes);
    for (bytes, tables) in others {
        if bytes > room {
            break;
        }
        tables.hot().want();
        room -= bytes;
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Index, Segment};
    use crate::set_sum::term;
    use crate::store::{OpenOptions, Packer, Store};

    /// Packs so many fingerprints as one more segment.
    fn append(path: &Path, numbers: std::ops::Range<u64>) {
        let packer = Packer::new().append(path.exists());
        packer.pack(path, numbers.map(|i| term(i) as u64)).unwrap();
    }

    /// Of each segment its size, and whether it has a hot index, or will have.
    fn segments(store: &Store) -> Vec<(u64, bool)> {
        let is_taken = |segment: &Segment| match segment.index() {
            Index::Tables(tables) => tables.hot().is_taken(),
            Index::Parts(_) => false,
        };
        let snapshot = store.snapshot();
        snapshot.segments().iter().map(|segment| (segment.count(), is_taken(segment))).collect()
    }

    #[test]
    fn the_smallest_segments_have_hot_indexes_as_far_as_there_is_room() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store");
        append(&path, 0..4000);
        append(&path, 4000..4100);
        append(&path, 4100..5100);
        let open = |bytes| OpenOptions::new().memory(bytes).open(&path).unwrap();
        // 4 parts: keys of 8 bytes, and starts of 4 for 2^12, 2^7 or 2 prefixes and 2 more, in
        // whole lines of 64 bytes.
        let large = 4 * (32_000 + 16_448);
        let small = 4 * (832 + 576);
        let tiny = 4 * (64 + 64);
        let of = |bytes| segments(&open(bytes));
        assert_eq!(of(0), [(4000, false), (100, false), (1000, false)]);
        assert_eq!(of(small - 1), of(0));
        assert_eq!(of(small), [(4000, false), (100, true), (1000, false)]);
        assert_eq!(of(large), [(4000, false), (100, true), (1000, true)]);
        assert!(segments(&Store::open(&path).unwrap()).iter().all(|(_, taken)| *taken));
        // What has one keeps it, and what comes gets what is left.
        let middle = 4 * (8000 + 4160);
        let store = open(small + middle);
        assert_eq!(segments(&store)[1..], [(100, true), (1000, true)]);
        append(&path, 5100..5102);
        assert!(store.refresh().unwrap());
        assert_eq!(segments(&store)[1..], [(100, true), (1000, true), (2, false)]);
        assert_eq!(of(small + middle)[1..], [(100, true), (1000, false), (2, true)]);
        let store = open(small + middle + tiny);
        append(&path, 5102..5104);
        assert!(store.refresh().unwrap());
        assert_eq!(segments(&store)[1..], [(100, true), (1000, true), (2, true), (2, false)]);
        // In memory they take what was reckoned.
        let snapshot = store.snapshot();
        let mut searcher = snapshot.searcher();
        let bytes = |segment: &Segment| match segment.index() {
            Index::Tables(tables) => tables.hot().index().map_or(0, |index| index.bytes()),
            Index::Parts(_) => 0,
        };
        let kept = || snapshot.segments().iter().map(|of| bytes(of)).collect::<Vec<_>>();
        let mut searches = 0;
        while kept()[1..4].contains(&0) {
            searcher.search(term(searches) as u64, 3).unwrap();
            searches += 1;
            assert!(searches < 1_000_000, "{:?}", kept());
        }
        assert_eq!(kept(), [0, small, middle, tiny, 0]);
    }

    #[test]
    fn a_segment_without_fingerprints_has_none() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store");
        Packer::new().pack(&path, [0u64; 0]).unwrap();
        assert_eq!(segments(&Store::open(&path).unwrap()), [(0, false)]);
    }
}
