//! What a writer has in memory: the operations that no segment holds yet.

use std::collections::{BTreeSet, VecDeque};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::slowing::to_merge;
use crate::costs::Costs;
use crate::error::{Error, Result};
use crate::fingerprint::{Fingerprint, bytes_of};
use crate::format::{Change, LoggedOperation, RecordShape};
use crate::log::Pending;
use crate::query::search::Searcher;
use crate::snapshot::Snapshot;
use crate::snapshot::parts::Base;
use crate::tail::{Generation, TailView};

/// Bytes of a record of the log from which on the next one is begun.
const RECORD_BYTES: usize = 1 << 20;

/// Memory that names take from which on a generation is full, however few operations it has.
const MOST_NAME_MEMORY_BYTES: u64 = 1 << 28;

/// Windows of time that a store may have. Each has a segment of its own, so several files.
const MOST_WINDOWS: usize = 8192;

/// The operations that no segment holds yet.
pub(super) struct Front<F: Fingerprint> {
    shape: RecordShape,
    pub(super) base: Arc<Base<F>>,
    /// What logs hold that have their end, the older first. The oldest log is the first one of the
    /// manifest.
    pub(super) sealed: VecDeque<Generation<F>>,
    active: Generation<F>,
    /// Operations that a generation has room for.
    capacity: usize,
    /// What was not handed to the log so far.
    pending: VecDeque<Pending>,
    /// The windows of time of all that is stored, and of some that may be.
    windows: BTreeSet<u64>,
    /// For searches of the writer itself.
    searcher: Searcher<F>,
    /// The segments of the windows from one on, once a search was limited to these.
    recent: Option<(u64, Arc<Base<F>>)>,
    /// How long who writes is still to wait.
    pub(super) debt: Duration,
    /// Segments that merges could make fewer.
    pub(super) to_merge: u64,
}

impl<F: Fingerprint> Front<F> {
    /// Goes on with what stood in the logs.
    pub(super) fn new(
        base: Arc<Base<F>>,
        shape: RecordShape,
        capacity: usize,
        sealed: VecDeque<Generation<F>>,
        active: Generation<F>,
    ) -> Self {
        let searcher = searcher(Snapshot::new(Arc::clone(&base), Vec::new()));
        let of_base = base.manifest.windows.iter().flat_map(|section| &section.windows);
        let mut windows: BTreeSet<u64> = of_base.copied().collect();
        if shape.windows {
            let views = sealed.iter().chain([&active]).flat_map(Generation::views);
            views.for_each(|view| windows.extend(view.records().map(|record| record.window)));
        }
        Self {
            windows,
            to_merge: to_merge(&base.manifest),
            shape,
            base,
            sealed,
            active,
            capacity,
            pending: VecDeque::new(),
            searcher,
            recent: None,
            debt: Duration::ZERO,
        }
    }

    /// Whether so many more operations need a new generation. Deletions take memory, too.
    pub(super) fn is_full(&self, more: usize) -> bool {
        let operations = self.active.operations();
        let is_full = operations + more as u64 > self.capacity as u64;
        operations > 0 && (is_full || self.active.name_memory_bytes() >= MOST_NAME_MEMORY_BYTES)
    }

    /// How full the active generation is, from 0 to 1.
    pub(super) fn fullness(&self) -> f64 {
        self.active.operations() as f64 / self.capacity as f64
    }

    /// The sequence of the next operation.
    pub(super) fn next_sequence(&self) -> u64 {
        self.active.next_sequence()
    }

    /// Whether nothing is to be handed to the log.
    pub(super) fn is_handed_on(&self) -> bool {
        self.pending.is_empty()
    }

    /// Operations that no segment holds.
    pub(super) fn operations(&self) -> u64 {
        let sealed = self.sealed.iter().map(Generation::operations);
        sealed.sum::<u64>() + self.active.operations()
    }

    /// Whether there are operations that no segment holds, and no generation that is on its way.
    pub(super) fn has_operations(&self) -> bool {
        self.active.operations() > 0
    }

    /// Admits operations that are about to be added: their windows of time may not be too many.
    ///
    /// # Errors
    ///
    /// [`Error::TooMany`].
    pub(super) fn admit(
        &mut self,
        operations: &[LoggedOperation<'_, F>],
        path: &Path,
    ) -> Result<()> {
        if !self.shape.windows {
            return Ok(());
        }
        let mut last = None;
        for operation in operations.iter().filter(|operation| operation.change == Change::Insert) {
            let window = operation.window;
            if last.replace(window) == Some(window) || self.windows.contains(&window) {
                continue;
            }
            if self.windows.len() >= MOST_WINDOWS {
                let (path, most) = (path.to_path_buf(), MOST_WINDOWS as u64);
                return Err(Error::TooMany { path, what: "windows of time", most });
            }
            self.windows.insert(window);
        }
        Ok(())
    }

    /// Forgets windows before one.
    pub(super) fn forget_windows(&mut self, before: u64) {
        self.windows = self.windows.split_off(&before);
    }

    /// Adds operations: they are seen from now on, all together.
    pub(super) fn push(&mut self, operations: &[LoggedOperation<'_, F>]) {
        let sequence = self.active.next_sequence();
        let is_full = |pending: &Pending| pending.ends() || pending.bytes() >= RECORD_BYTES;
        if self.pending.back().is_none_or(is_full) {
            self.pending.push_back(Pending::new(sequence));
        }
        if let Some(pending) = self.pending.back_mut() {
            pending.push(operations, self.shape);
        }
        self.active.push(operations);
    }

    /// Ends the log, and begins a new generation.
    pub(super) fn seal(&mut self) {
        let sequence = self.active.next_sequence();
        if self.pending.back().is_none_or(Pending::ends) {
            self.pending.push_back(Pending::new(sequence));
        }
        if let Some(pending) = self.pending.back_mut() {
            pending.end();
        }
        let next = Generation::new(sequence, self.capacity, self.shape.names.is_some());
        let generation = std::mem::replace(&mut self.active, next);
        self.sealed.push_back(generation);
    }

    /// What is to be handed to the log.
    pub(super) fn take_pending(&mut self) -> VecDeque<Pending> {
        std::mem::take(&mut self.pending)
    }

    /// The same, without what comes behind the last log that has its end.
    pub(super) fn take_ended(&mut self) -> VecDeque<Pending> {
        let end = self.pending.iter().rposition(Pending::ends).map_or(0, |last| last + 1);
        self.pending.drain(..end).collect()
    }

    /// What is seen now.
    pub(super) fn snapshot(&self) -> Snapshot<F> {
        let sealed = self.sealed.iter().flat_map(Generation::views);
        let views = sealed.chain(self.active.views());
        let views: Vec<TailView<F>> = views.filter(|view| !view.is_empty()).collect();
        Snapshot::new(Arc::clone(&self.base), views)
    }

    /// A searcher of what is seen now: of all, or of the windows from one on.
    pub(super) fn searcher(&mut self, first_window: Option<u64>) -> &mut Searcher<F> {
        let now = match first_window {
            Some(first) => self.recent_snapshot(first),
            None => self.snapshot(),
        };
        self.searcher.turn_to(now);
        &mut self.searcher
    }

    /// What is seen now of the windows from `first` on.
    fn recent_snapshot(&mut self, first: u64) -> Snapshot<F> {
        let recent = self.recent.take().filter(|(since, _)| *since == first);
        let (_, base) = recent.unwrap_or_else(|| {
            let windows = self.base.manifest.windows.iter().flat_map(|section| &section.windows);
            let windows: Vec<u64> = windows.copied().collect();
            let is_recent = |place: usize| windows.get(place).is_some_and(|&at| at >= first);
            (first, Arc::new(self.base.restricted(is_recent)))
        });
        self.recent = Some((first, Arc::clone(&base)));
        let sealed = self.sealed.iter().flat_map(Generation::views);
        let views = sealed.chain(self.active.views()).filter(|view| !view.is_empty());
        Snapshot::new(base, views.map(|view| view.within(first..u64::MAX)).collect())
    }

    /// Bytes of the records that were inserted into so many of the oldest generations.
    pub(super) fn inserted_bytes(&self, generations: usize) -> u64 {
        let oldest = self.sealed.iter().take(generations);
        let views = oldest.flat_map(Generation::views);
        let insertions: u64 = views.map(|view| view.len()).sum();
        let of_id = if self.shape.ids && self.shape.names.is_none() { 8 } else { 0 };
        let of_window = if self.shape.windows { 8 } else { 0 };
        let oldest = self.sealed.iter().take(generations);
        let names: u64 = oldest.map(Generation::name_bytes).sum();
        insertions * (bytes_of::<F>() as u64 + of_id + of_window) + names
    }

    /// Greater than all ids that were inserted into so many of the oldest generations.
    pub(super) fn next_id(&self, generations: usize) -> u64 {
        let oldest = self.sealed.iter().take(generations);
        let views = oldest.flat_map(Generation::views);
        views.map(|view| view.next_id()).max().filter(|_| self.shape.ids).unwrap_or(0)
    }

    /// Sees other segments, with what the oldest logs held if so many are in them.
    pub(super) fn adopt(&mut self, base: Arc<Base<F>>, flushed: usize) {
        self.base = base;
        self.recent = None;
        self.to_merge = to_merge(&self.base.manifest);
        self.sealed.drain(..flushed.min(self.sealed.len()));
        // Lest it hold on to the files of segments that are gone.
        self.searcher.turn_to(Snapshot::new(Arc::clone(&self.base), Vec::new()));
    }
}

fn searcher<F: Fingerprint>(snapshot: Snapshot<F>) -> Searcher<F> {
    Searcher::new(snapshot, &Costs::shipped().disk)
}
