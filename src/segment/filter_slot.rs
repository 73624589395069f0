//! The place of the prefix filters of a segment: wanted, under construction, or complete.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use crate::table::{PrefixFilter, Table};

/// The filters of all tables of a segment, once searches have waited for the disk. Any number of
/// threads may use them.
pub(crate) struct FilterSlot {
    /// `None` where all is read into memory, so that no search waits.
    most_bytes: Option<u64>,
    /// `None` if they cannot be built.
    filters: OnceLock<Option<Vec<PrefixFilter>>>,
    /// Whether they are to be built once searches have waited for so long as that takes.
    is_wanted: AtomicBool,
    is_begun: AtomicBool,
    /// The time that searches have waited, in nanoseconds.
    waited_ns: AtomicU64,
}

impl FilterSlot {
    pub(super) fn new(tables: &[Table]) -> Self {
        let is_mapped = tables.iter().any(Table::is_mapped);
        Self {
            most_bytes: is_mapped.then(|| tables.iter().map(PrefixFilter::most_bytes).sum()),
            filters: OnceLock::new(),
            is_wanted: AtomicBool::new(false),
            is_begun: AtomicBool::new(false),
            waited_ns: AtomicU64::new(0),
        }
    }

    /// Bytes that they take at most; `None` if there can be none, or they could not be built.
    pub(super) fn most_bytes(&self) -> Option<u64> {
        let has_failed = self.is_begun.load(Relaxed) && !self.is_wanted.load(Relaxed);
        self.most_bytes.filter(|_| !has_failed)
    }

    /// Has them built once searches wait.
    pub(super) fn want(&self) {
        self.is_wanted.store(self.most_bytes.is_some(), Relaxed);
    }

    /// Whether they are there, or will be.
    pub(crate) fn is_taken(&self) -> bool {
        self.is_wanted.load(Relaxed)
    }

    /// The filters of all tables, once they are complete.
    #[inline(always)]
    pub(crate) fn get(&self) -> Option<&[PrefixFilter]> {
        self.filters.get()?.as_deref()
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> u64 {
        self.get().unwrap_or_default().iter().map(PrefixFilter::heap_bytes).sum()
    }

    /// Counts time for which a search has waited for the disk. Whether it is now the caller's turn
    /// to have them built: all have waited for as long as that takes.
    pub(super) fn is_due(&self, ns: f64, build_ns: impl FnOnce() -> f64) -> bool {
        if !self.is_wanted.load(Relaxed) || self.is_begun.load(Relaxed) {
            return false;
        }
        let ns = ns as u64;
        let waited = self.waited_ns.fetch_add(ns, Relaxed).saturating_add(ns);
        waited as f64 >= build_ns() && self.begin()
    }

    /// Has them not built after all.
    pub(super) fn give_up(&self) {
        self.is_wanted.store(false, Relaxed);
    }

    /// Whether they are not being built, so that the caller may.
    pub(super) fn begin(&self) -> bool {
        self.most_bytes.is_some() && !self.is_begun.swap(true, Relaxed)
    }

    /// Builds them, with the threads of the current pool, unless `gives_up` comes true meanwhile.
    /// Where a block is damaged there are none.
    pub(super) fn build(&self, tables: &[Table], gives_up: &(dyn Fn() -> bool + Sync)) {
        let build = || tables.iter().map(|table| PrefixFilter::of(table, gives_up)).collect();
        if self.filters.get_or_init(build).is_none() {
            self.give_up();
        }
    }
}
