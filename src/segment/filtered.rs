//! Has the prefix filters of a segment built.

use std::sync::Arc;
use std::thread;

use super::{Index, Segment};
use crate::costs::Costs;
use crate::fingerprint::Fingerprint;
use crate::machine;
use crate::table::Table;

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
