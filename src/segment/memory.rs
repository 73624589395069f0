//! What the segments of a store have in memory, within one budget.
//!
//! The smallest have hot indexes: a search looks into all segments, and what it takes in a small
//! one is mostly the way to the keys. What is left buys prefix filters for the smallest of the
//! others, 1.3 to 1.45 bytes for each key in place of 32 to 48.

use std::sync::Arc;
use std::thread;

use super::{Index, Segment, Tables};
use crate::costs::Costs;
use crate::fingerprint::Fingerprint;
use crate::machine;
use crate::table::Table;

/// What a segment may have in memory.
#[derive(Clone, Copy)]
enum Want {
    HotIndex,
    Filters,
}

impl Want {
    /// Bytes that it takes at most; `None` where there can be none.
    fn most_bytes(self, tables: &Tables) -> Option<u64> {
        match self {
            Self::HotIndex => tables.hot().most_bytes(),
            Self::Filters => tables.filter_slot().most_bytes(),
        }
    }

    fn is_taken(self, tables: &Tables) -> bool {
        match self {
            Self::HotIndex => tables.hot().is_taken(),
            Self::Filters => tables.filter_slot().is_taken(),
        }
    }

    fn want(self, tables: &Tables) {
        match self {
            Self::HotIndex => tables.hot().want(),
            Self::Filters => tables.filter_slot().want(),
        }
    }
}

/// Has searches build hot indexes for the smallest segments of a store, and filters for the
/// smallest of the others, in up to `memory` bytes. What a segment has, or was to have, it keeps.
pub(crate) fn share_memory<F: Fingerprint>(segments: &[Arc<Segment<F>>], memory: u64) {
    let tables = segments.iter().filter_map(|segment| match segment.index() {
        Index::Tables(tables) => Some(tables),
        Index::Parts(_) => None,
    });
    let all: Vec<&Tables> = tables.collect();
    let taken = |want: Want| {
        let taken = all.iter().filter(|tables| want.is_taken(tables));
        taken.filter_map(|tables| want.most_bytes(tables)).sum::<u64>()
    };
    let mut room = memory.saturating_sub(taken(Want::HotIndex) + taken(Want::Filters));
    for want in [Want::HotIndex, Want::Filters] {
        let others = all
            .iter()
            .filter(|tables| !Want::HotIndex.is_taken(tables) && !Want::Filters.is_taken(tables));
        let mut others: Vec<(u64, &Tables)> =
            others.filter_map(|tables| Some((want.most_bytes(tables)?, *tables))).collect();
        others.sort_by_key(|(bytes, _)| *bytes);
        for (bytes, tables) in others {
            if bytes > room {
                break;
            }
            want.want(tables);
            room -= bytes;
        }
    }
}

/// The time that it takes to build the filters of these tables, in nanoseconds.
fn build_ns(tables: &[Table], costs: &Costs) -> f64 {
    let of_table = |table: &Table| {
        table.header().count as f64 * costs.search.filter_key_ns
            + table.file_bytes() as f64 * costs.disk.byte_ns
    };
    tables.iter().map(of_table).sum()
}

impl<F: Fingerprint> Segment<F> {
    /// Builds its filters now, whatever memory they take.
    pub(crate) fn build_filters(&self) {
        let Index::Tables(tables) = self.index() else { return };
        let slot = tables.filter_slot();
        if slot.begin() {
            slot.want();
            slot.build(tables.all(), &|| false);
        }
    }

    /// Counts time for which a search of it has waited for the disk, in nanoseconds. Once all have
    /// waited for as long as its filters take to build, a thread of its own builds them; it ends
    /// early when the segment is closed.
    pub(crate) fn waited(self: &Arc<Self>, ns: f64) {
        let Index::Tables(tables) = self.index() else { return };
        let slot = tables.filter_slot();
        if !slot.is_due(ns, || build_ns(tables.all(), Costs::shipped())) {
            return;
        }
        let segment = Arc::clone(self);
        let build = move || {
            if let Index::Tables(tables) = segment.index() {
                let is_closed = || Arc::strong_count(&segment) == 1;
                tables.filter_slot().build(tables.all(), &is_closed);
            }
        };
        let named = thread::Builder::new().name("fpstore filters".to_string());
        if machine::room_for_thread().and_then(|()| named.spawn(build)).is_err() {
            slot.give_up();
        }
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

    /// Bytes of the filters of a segment at most, and whether it has filters, or will have.
    fn filters(segment: &Segment) -> (u64, bool) {
        match segment.index() {
            Index::Tables(tables) => {
                let slot = tables.filter_slot();
                (slot.most_bytes().unwrap_or(0), slot.is_taken())
            }
            Index::Parts(_) => (0, false),
        }
    }

    #[test]
    fn what_hot_indexes_leave_is_for_the_filters_of_the_smallest_others() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store");
        append(&path, 0..40_000);
        append(&path, 40_000..40_100);
        append(&path, 40_100..60_000);
        let of = |memory| {
            let snapshot = OpenOptions::new().memory(memory).open(&path).unwrap().snapshot();
            let hot = snapshot.segments().iter().map(|segment| match segment.index() {
                Index::Tables(tables) => tables.hot().is_taken(),
                Index::Parts(_) => false,
            });
            let filters = snapshot.segments().iter().map(|segment| filters(segment));
            (hot.collect::<Vec<_>>(), filters.collect::<Vec<_>>())
        };
        let [(large, _), (small, _), (middle, _)] = of(0).1[..] else { panic!("not three") };
        assert!(small < middle && middle < large, "{small} {middle} {large}");
        let taken = vec![(large, false), (small, true), (middle, false)];
        assert_eq!(of(small), (vec![false; 3], taken));
        // A hot index of the small one, and of the others as many filters as there is room for.
        let hot_bytes = 4 * (832 + 576);
        for (memory, expected) in [
            (hot_bytes + middle - 1, [false, false, false]),
            (hot_bytes + middle, [false, false, true]),
            (hot_bytes + middle + large, [true, false, true]),
        ] {
            let (hot, filtered) = of(memory);
            assert_eq!(hot, [false, true, false]);
            assert_eq!(filtered.iter().map(|(_, taken)| *taken).collect::<Vec<_>>(), expected);
        }
        // All of them.
        assert_eq!(of(u64::MAX).0, [true; 3]);
        // What is in memory waits for nothing.
        let options = OpenOptions::new().in_memory(true).memory(hot_bytes + middle + large);
        let snapshot = options.open(&path).unwrap().snapshot();
        assert!(snapshot.segments().iter().all(|segment| filters(segment) == (0, false)));
    }

    #[test]
    fn filters_are_built_once_searches_have_waited_as_long_as_that_takes() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store");
        append(&path, 0..40_000);
        let open = |memory| OpenOptions::new().memory(memory).open(&path).unwrap().snapshot();
        let none = open(0);
        let most = filters(&none.segments()[0]).0;
        let has_filters = |segment: &Segment| match segment.index() {
            Index::Tables(tables) => tables.filter_slot().get().is_some(),
            Index::Parts(_) => false,
        };
        // Not where there is no room for them.
        none.segments()[0].waited(1e18);
        let snapshot = open(most);
        let segment = &snapshot.segments()[0];
        // 40,000 keys at 6 ns, and their bytes.
        segment.waited(100_000.0);
        segment.waited(100_000.0);
        let count = |segment| std::sync::Arc::strong_count(segment);
        assert_eq!((count(segment), has_filters(segment)), (1, false));
        segment.waited(1e6);
        while !has_filters(segment) {
            std::thread::yield_now();
        }
        assert!(!has_filters(&none.segments()[0]) && count(&none.segments()[0]) == 1);
    }

    #[test]
    fn a_segment_without_fingerprints_has_none() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store");
        Packer::new().pack(&path, [0u64; 0]).unwrap();
        assert_eq!(segments(&Store::open(&path).unwrap()), [(0, false)]);
    }
}
