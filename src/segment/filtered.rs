//! Which segments of a store have prefix filters: the smallest, as far as there is room.

use std::sync::Arc;

use super::{Index, Segment, Tables};
use crate::error::Result;
use crate::execution::Execution;
use crate::fingerprint::Fingerprint;

/// Builds filters for the smallest segments of a store, beside those that have some already, in up
/// to so many bytes. Segments with a hot index need none.
pub(crate) fn filter_smallest<F: Fingerprint>(
    segments: &[Arc<Segment<F>>],
    most: u64,
) -> Result<()> {
    let tables = segments.iter().filter_map(|segment| match segment.index() {
        Index::Tables(tables) => Some(tables),
        Index::Parts(_) => None,
    });
    let (filtered, others): (Vec<_>, Vec<_>) =
        tables.partition(|tables| tables.filters().is_some());
    let mut room = most.saturating_sub(filtered.iter().map(|tables| tables.filter_bytes()).sum());
    let wants = |tables: &&Tables| !tables.hot().is_taken() && !tables.tried_filters();
    let others = others.into_iter().filter(wants);
    let mut others: Vec<(u64, &Tables)> =
        others.map(|tables| (tables.most_filter_bytes(), tables)).collect();
    others.sort_by_key(|(bytes, _)| *bytes);
    let execution = Execution::new();
    for (bytes, tables) in others {
        if bytes > room {
            break;
        }
        execution.install(|| tables.build_filters())?;
        room = room.saturating_sub(tables.filter_bytes());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::costs::Costs;
    use crate::set_sum::term;
    use crate::store::{OpenOptions, Packer, Store};

    /// Packs so many fingerprints as one more segment.
    fn append(path: &Path, numbers: std::ops::Range<u64>) {
        let packer = Packer::new().design("halves".parse().unwrap()).append(path.exists());
        packer.pack(path, numbers.map(|i| term(i) as u64)).unwrap();
    }

    /// Of each segment the bytes of its filters.
    fn filter_bytes(store: &Store) -> Vec<u64> {
        store.snapshot().segments().iter().map(|segment| segment.filter_bytes()).collect()
    }

    #[test]
    fn the_smallest_segments_have_filters_as_far_as_there_is_room() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store");
        append(&path, 0..4000);
        append(&path, 4000..4100);
        append(&path, 4100..5100);
        let open = |bytes| {
            let options = OpenOptions::new().memory(0).filter_bytes(bytes);
            options.open(&path).unwrap()
        };
        let all = open(u64::MAX);
        let [large, small, middle] = filter_bytes(&all)[..] else { panic!("not three") };
        assert!(0 < small && small < middle && middle < large);
        assert_eq!(all.filter_bytes(), large + small + middle);
        let most = |place: usize| match all.snapshot().segments()[place].index() {
            super::Index::Tables(tables) => tables.most_filter_bytes(),
            super::Index::Parts(_) => 0,
        };
        let of = |bytes| filter_bytes(&open(bytes));
        assert_eq!(of(most(1) - 1), [0, 0, 0]);
        assert_eq!(of(most(1)), [0, small, 0]);
        assert_eq!(of(small + most(2) - 1), [0, small, 0]);
        assert_eq!(of(small + most(2)), [0, small, middle]);
        assert_eq!(of(small + middle + most(0)), [large, small, middle]);
        // What has filters keeps them, and what comes gets what is left.
        let store = open(small + most(2));
        append(&path, 5100..5600);
        assert!(store.refresh().unwrap());
        assert_eq!(filter_bytes(&store), [0, small, middle, 0]);
        let [_, _, _, last] = of(u64::MAX)[..] else { panic!("not four") };
        assert!(small < last && last < middle);
        let store = open(small + most(2) + last + 2000);
        assert_eq!(filter_bytes(&store), [0, small, middle, last]);
    }

    #[test]
    fn searches_with_filters_are_predicted_to_wait_less_for_the_disk() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store");
        let costs = Costs::default();
        for (design, k, most) in
            [("single", 3, 0.15), ("halves", 3, 0.5), ("single", 5, 1.0), ("single", 30, 1.0)]
        {
            let packer = Packer::new().design(design.parse().unwrap()).replace(true);
            packer.pack(&path, (0..1 << 17).map(|i| term(i) as u64)).unwrap();
            let disk_ns = |bytes| {
                let options = OpenOptions::new().memory(0).filter_bytes(bytes);
                options.open(&path).unwrap().snapshot().segments()[0].disk_ns(k, &costs)
            };
            let (plain, filtered) = (disk_ns(0), disk_ns(u64::MAX));
            assert!(filtered <= most * plain, "{design}, {k}: {filtered} of {plain}");
            assert!(filtered > 0.0 && (most < 1.0 || filtered == plain), "{design}, {k}");
            let ns = costs.disk.read_ns;
            assert!(filtered >= ns, "a match is read: {design}, {k}: {filtered} of {ns}");
        }
    }
}
