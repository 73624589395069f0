//! What reading from the disk adds to the plans of a batch.

use super::options::BatchPlan;
use crate::costs::{Costs, DiskCosts};
use crate::fingerprint::Fingerprint;
use crate::segment::Segment;
use crate::snapshot::Snapshot;

/// Bytes of a page.
const PAGE_BYTES: f64 = 4096.0;

/// The segments of a store of which some is not in memory.
pub(super) struct OnDisk(Vec<SegmentOnDisk>);

/// The tables of a segment.
#[derive(Clone, Copy, Debug)]
struct SegmentOnDisk {
    /// The share of them that would have to be read first.
    absent: f64,
    /// What a search takes on top if nothing is in memory.
    search_ns: f64,
    /// Bytes of the identity table, and of all.
    bytes: [f64; 2],
}

impl OnDisk {
    /// What `queries` within `k` meet. Looks which pages are in memory only where to read the store
    /// once may be faster than to search it.
    pub(super) fn new<F: Fingerprint>(
        snapshot: &Snapshot<F>,
        (queries, k): (u64, u32),
        costs: &Costs,
    ) -> Self {
        let of = |segment: &Segment<F>, absent| {
            let (search_ns, bytes) = (segment.disk_ns(k, costs), segment.read_bytes());
            SegmentOnDisk { absent, search_ns, bytes: bytes.map(|bytes| bytes as f64) }
        };
        let segments = || snapshot.segments().iter();
        let all = Self(segments().map(|segment| of(segment, 1.0)).collect());
        let ns = |plan| all.ns(plan, queries, &costs.disk);
        if ns(BatchPlan::Search) <= ns(BatchPlan::Sweep) {
            return Self(Vec::new());
        }
        Self(segments().map(|segment| of(segment, segment.absent_share())).collect())
    }

    /// What reading adds to a plan for so many queries at once, in nanoseconds.
    pub(super) fn ns(&self, plan: BatchPlan, queries: u64, costs: &DiskCosts) -> f64 {
        self.0.iter().map(|segment| segment.absent * segment.ns(plan, queries, costs)).sum()
    }
}

impl SegmentOnDisk {
    fn ns(&self, plan: BatchPlan, queries: u64, costs: &DiskCosts) -> f64 {
        let [identity, all] = self.bytes;
        let read_ns = |bytes| bytes * costs.byte_ns;
        match plan {
            BatchPlan::Search => {
                // No page is read twice.
                let pages = all / PAGE_BYTES * costs.read_ns / costs.reads_in_flight;
                (queries as f64 * self.search_ns).min(pages + read_ns(all))
            }
            BatchPlan::Sweep => read_ns(identity),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::Design;
    use crate::planning::Layout;
    use crate::store::{OpenOptions, Packer};

    #[test]
    fn many_searches_in_what_is_on_the_disk_take_longer_than_reading_it_once() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store");
        let set = (0..1u64 << 17).map(|i| crate::set_sum::term(i) as u64);
        Packer::new()
            .layout(Layout::new().design(Design::named("quarters").unwrap()))
            .pack(&path, set)
            .unwrap();
        let store = OpenOptions::new().width::<u64>().in_memory(true).open(&path).unwrap();
        let costs = Costs::default();
        let snapshot = store.snapshot();
        // It is in memory.
        let here = OnDisk::new(&snapshot, (100_000, 3), &costs);
        assert_eq!(here.ns(BatchPlan::Search, 100_000, &costs.disk), 0.0);
        let [segment] = &here.0[..] else { panic!("{} segments", here.0.len()) };
        let ns = |plan, queries| {
            let on_disk = OnDisk(vec![SegmentOnDisk { absent: 1.0, ..*segment }]);
            on_disk.ns(plan, queries, &costs.disk)
        };
        assert!(ns(BatchPlan::Search, 1) < ns(BatchPlan::Sweep, 1));
        assert!(ns(BatchPlan::Search, 1000) > 2.0 * ns(BatchPlan::Sweep, 1000));
        assert_eq!(ns(BatchPlan::Sweep, 1), ns(BatchPlan::Sweep, 1000));
        let half = OnDisk(vec![SegmentOnDisk { absent: 0.5, ..*segment }]);
        assert_eq!(2.0 * half.ns(BatchPlan::Sweep, 1, &costs.disk), ns(BatchPlan::Sweep, 1));
        // A few queries do not look.
        assert!(OnDisk::new(&snapshot, (1, 3), &costs).0.is_empty());
    }
}
