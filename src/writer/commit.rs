//! The commits of a writer.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::core::{Back, Core};
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::format::{MANIFEST_TEMPORARY, Manifest};
use crate::hot_index;
use crate::segment::{NewFiles, PackTimes};
use crate::snapshot::parts::Base;
use crate::storage::Storage;
use crate::store::commit::Commit;
use crate::store::edit::Edit;
use crate::store::standing::{ManifestTag, named};

/// Bytes that a manifest counts: all of logs, and others that were written.
struct Counted {
    log: u64,
    written: u64,
}

impl<F: Fingerprint, S: Storage> Core<F, S> {
    /// Commits an edit, with the files that it needs, behind which segments hold so many of the
    /// oldest logs. What is seen changes with it.
    ///
    /// # Errors
    ///
    /// [`Error::Io`]: then nothing has changed, unless only the last sync failed.
    pub(super) fn commit(
        &self,
        files: NewFiles<S>,
        (edit, flushed): (Edit, usize),
        back: &mut Back,
    ) -> Result<()> {
        let before = Arc::clone(&self.front().base);
        let mut manifest = edit.apply(&before.manifest, back.next_segment, &self.path)?;
        let counted = self.count_bytes(&mut manifest, flushed, back);
        let bytes = manifest.encode();
        self.storage.check_held()?;
        // An attempt that failed may have left it.
        let _ = self.storage.remove(MANIFEST_TEMPORARY);
        back.in_use.extend(named(&manifest));
        back.in_use.sort_unstable();
        back.in_use.dedup();
        let times = &mut PackTimes::default();
        let mut prepared = Commit::prepare(
            files,
            (Some(ManifestTag::of(&before.bytes)), back.in_use.clone()),
            &manifest,
            times,
        )?;
        // Before it is visible: else the next commit would build on what is not there any more.
        let base = Base::open(&*self.storage, &bytes, Some(&before), hot_index::default_memory())?;
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

    /// Adds to a manifest what was written since the last commit, and what was inserted into so
    /// many logs that segments hold by now, with the ids that are taken; gives what was written.
    fn count_bytes(&self, manifest: &mut Manifest, flushed: usize, back: &Back) -> Counted {
        let log = self.logged_bytes.load(Ordering::Relaxed);
        let written = self.written_bytes.load(Ordering::Relaxed);
        // Whoever inserted it may have ended since.
        let (inserted, next_id) = {
            let front = self.front();
            (front.inserted_bytes(flushed), front.next_id(flushed))
        };
        if let Some(section) = &mut manifest.log {
            let all = written.saturating_add(log.saturating_sub(back.log_bytes));
            section.written_bytes = section.written_bytes.saturating_add(all);
            section.inserted_bytes = section.inserted_bytes.saturating_add(inserted);
            section.next_id = section.next_id.max(next_id);
        }
        Counted { log, written }
    }

    /// What a manifest counts by now is not to be counted again.
    fn forget_bytes(&self, counted: Counted, back: &mut Back) {
        back.log_bytes = counted.log;
        self.written_bytes.fetch_sub(counted.written, Ordering::Relaxed);
    }
}
