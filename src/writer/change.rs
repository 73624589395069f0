//! What a writer changes in the manifest, and the commit of it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::core::{Back, Core, windows_of};
use crate::error::{Error, Result};
use crate::format::{DeletionsEntry, MANIFEST_TEMPORARY, Manifest, SegmentEntry};
use crate::segment::{NewFiles, PackTimes};
use crate::snapshot::parts::Base;
use crate::storage::Storage;
use crate::store::commit::Commit;
use crate::store::standing::named;

/// A segment that comes.
pub(super) struct Added {
    pub(super) entry: SegmentEntry,
    /// What DELETIONS says of it.
    pub(super) deletions: DeletionsEntry,
    pub(super) window: u64,
}

/// What a commit changes.
#[derive(Default)]
pub(super) struct Changes {
    /// The numbers of segments that go.
    pub(super) removed: Vec<u64>,
    pub(super) added: Vec<Added>,
    /// The first log, and the last sequence of the segments, if these are others.
    pub(super) log: Option<(u64, u64)>,
    /// Logs whose operations are in segments by now.
    pub(super) flushed: usize,
}

/// Bytes that a manifest counts: all of logs, and others that were written.
struct Counted {
    log: u64,
    written: u64,
}

impl Changes {
    /// The manifest behind the changes.
    fn apply(self, before: &Manifest, back: &Back) -> Option<Manifest> {
        let window_of = windows_of(before);
        let mut manifest = before.clone();
        manifest.generation = before.generation.checked_add(1)?;
        manifest.next_segment = back.next_segment;
        manifest.segments.retain(|segment| !self.removed.contains(&segment.number));
        manifest.deletions.retain(|entry| !self.removed.contains(&entry.segment));
        let mut new_windows = HashMap::new();
        for Added { entry, deletions, window } in self.added {
            new_windows.insert(entry.number, window);
            manifest.segments.push(entry);
            manifest.deletions.push(deletions);
        }
        manifest.segments.sort_unstable_by_key(|segment| segment.number);
        manifest.deletions.sort_unstable_by_key(|entry| entry.segment);
        if let Some(windows) = &mut manifest.windows {
            let numbers = manifest.segments.iter().map(|segment| segment.number);
            let window =
                |number| new_windows.get(&number).copied().unwrap_or_else(|| window_of(number));
            windows.windows = numbers.map(window).collect();
        }
        if let Some((log, (first_log, sequence))) = manifest.log.as_mut().zip(self.log) {
            (log.first_log, log.sequence) = (first_log, sequence);
        }
        Some(manifest)
    }
}

impl<S: Storage> Core<S> {
    /// Commits changes, with the files that they need. What is seen changes with them.
    ///
    /// # Errors
    ///
    /// [`Error::Io`]: then nothing has changed, unless only the last sync failed.
    pub(super) fn commit(
        &self,
        files: NewFiles<S>,
        changes: Changes,
        back: &mut Back,
    ) -> Result<()> {
        let before = Arc::clone(&self.front().base);
        let flushed = changes.flushed;
        let used_up = || Error::NoSegmentNumber { path: self.path.clone() };
        let mut manifest = changes.apply(&before.manifest, back).ok_or_else(used_up)?;
        let counted = self.count_bytes(&mut manifest, flushed, back);
        let bytes = manifest.encode();
        // An attempt that failed may have left it.
        let _ = self.storage.remove(MANIFEST_TEMPORARY);
        back.in_use.extend(named(&manifest));
        back.in_use.sort_unstable();
        back.in_use.dedup();
        let times = &mut PackTimes::default();
        let mut prepared = Commit::prepare(files, back.in_use.clone(), &manifest, times)?;
        // Before it is visible: else the next commit would build on what is not there any more.
        let base = Base::open(&*self.storage, &bytes, Some(&before))?;
        prepared.show()?;
        // It is visible, whether or not that is durable.
        self.forget_bytes(counted, back);
        self.wrote(bytes.len() as u64);
        let published = prepared.finish();
        if let Some(names) = self.storage.names().ok().filter(|_| published.is_ok()) {
            // What could not be removed is tried again with the next commit.
            let names: HashSet<String> = names.into_iter().collect();
            back.in_use.retain(|name| names.contains(name));
        }
        self.front().adopt(Arc::new(base), flushed);
        published
    }

    /// Adds to a manifest what was written since the last commit, and what was inserted into so many logs that segments
    /// hold by now; gives what was written.
    fn count_bytes(&self, manifest: &mut Manifest, flushed: usize, back: &Back) -> Counted {
        let log = self.log().written_bytes;
        let written = self.written_bytes.load(Ordering::Relaxed);
        // Whoever inserted it may have ended since.
        let inserted = self.front().inserted_bytes(flushed);
        if let Some(section) = &mut manifest.log {
            let all = written.saturating_add(log.saturating_sub(back.log_bytes));
            section.written_bytes = section.written_bytes.saturating_add(all);
            section.inserted_bytes = section.inserted_bytes.saturating_add(inserted);
        }
        Counted { log, written }
    }

    /// What a manifest counts by now is not to be counted again.
    fn forget_bytes(&self, counted: Counted, back: &mut Back) {
        back.log_bytes = counted.log;
        self.written_bytes.fetch_sub(counted.written, Ordering::Relaxed);
    }
}
