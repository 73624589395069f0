//! What merging all segments of a store would bring.

use std::collections::BTreeMap;

use super::settings::Settings;
use crate::costs::Costs;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::multi_index::{self, PartLayout};
use crate::planning::{IndexLayout, Planner};
use crate::query::batch::BatchPlan;
use crate::snapshot::Snapshot;

/// What [`Writer::merge_all`](crate::Writer::merge_all) would bring, as predicted.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct FullMerge {
    /// Segments then.
    pub segments: u64,
    /// Bytes of their files then. What is stored several times, or deleted, counts as if it stayed.
    pub bytes: u64,
    /// Nanoseconds of a search now, in memory and on one thread, within the radius of the store.
    pub search_ns_now: f64,
    /// The same then.
    pub search_ns: f64,
}

impl<F: Fingerprint> Snapshot<F> {
    /// What merging all segments would bring. Reads nothing; what stands in no segment yet does not
    /// count.
    ///
    /// # Errors
    ///
    /// As [`Planner::best`](crate::plan::Planner::best); whatever layout a store remembers is no
    /// reason.
    pub fn full_merge(&self) -> Result<FullMerge> {
        let base = &self.parts().base;
        let settings = Settings::of_store::<F>(&base.manifest);
        let mut by_window: BTreeMap<u64, u64> = BTreeMap::new();
        for (place, segment) in base.segments.iter().enumerate() {
            let count = by_window.entry(base.manifest.window(place)).or_default();
            *count = count.saturating_add(segment.count());
        }
        let now = self.batch(self.radius()).predicted(BatchPlan::Search, 1);
        let id_bytes = base.segments.iter().filter_map(|segment| segment.id_column());
        let mut then = FullMerge {
            segments: by_window.len() as u64,
            bytes: id_bytes.map(|ids| ids.file_bytes()).fold(0, u64::saturating_add),
            search_ns_now: now.unwrap_or(f64::INFINITY),
            search_ns: 0.0,
        };
        // Many windows are of about one size.
        let mut planned: BTreeMap<u64, (u64, f64)> = BTreeMap::new();
        for count in by_window.into_values() {
            let (bytes, ns) = match planned.get(&count) {
                Some(&known) => known,
                None => self.planned(&settings, count)?,
            };
            planned.insert(count, (bytes, ns));
            then.bytes = then.bytes.saturating_add(bytes);
            then.search_ns += ns;
        }
        Ok(then)
    }

    /// Bytes and time of a search of a segment of so many fingerprints.
    fn planned(&self, settings: &Settings, count: u64) -> Result<(u64, f64)> {
        let layout = match settings.layout_of_pack((count, Costs::shipped()), Ok)? {
            IndexLayout::Tables(layout) => layout,
            IndexLayout::Parts(PartLayout { count: parts, .. }) => {
                let bytes = multi_index::file_bytes(F::BITS, parts, count);
                return Ok((bytes, multi_index::predict(F::BITS, parts, count, self.radius())));
            }
        };
        let planner = Planner::for_bits(F::BITS, count)
            .radius(self.radius())
            .designs([layout.design])
            .block_bytes(Some(layout.block_bytes))
            .codec(layout.codec)
            .low_bits(layout.low_bits)
            .short_tables(layout.short_tables)
            .matches(1.0)
            .costs(*Costs::shipped());
        let plan = planner.best()?;
        Ok(plan.map_or((0, 0.0), |plan| (plan.store_bytes, plan.warm_ns)))
    }
}
