//! One more segment for a store that stands there.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use super::edit::{Added, Edit, behind};
use super::standing::{Standing, check_writer};
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::format::{DeletionsEntry, Manifest, SegmentEntry};
use crate::id::IdKind;
use crate::log::Follower;
use crate::recipe;
use crate::storage::Storage;

/// What a segment is to be added to.
pub(super) struct Appending {
    before: Manifest,
    /// The window of time that the segment belongs to, if there are windows.
    window: Option<u64>,
}

/// What is added.
pub(super) struct Addition {
    pub(super) entry: SegmentEntry,
    /// Of its files.
    pub(super) bytes: u64,
    /// The ids, and the greatest of them.
    pub(super) ids: Option<(u64, u64)>,
    /// Of the names that the ids are, each counted once.
    pub(super) name_bytes: u64,
}

impl Appending {
    /// Looks at the store at `path`, which is locked. What is added is of the time `time`, made by
    /// `recipe`.
    ///
    /// # Errors
    ///
    /// [`Error::NotAStore`]; [`Error::Unsupported`] if a program must know more to write it;
    /// [`Error::Unflushed`] if there are operations in the log: deletions among them came before
    /// the segment, and would hide something of it; [`Error::Recipes`].
    pub(super) fn new<F: Fingerprint, S: Storage>(
        path: &Path,
        storage: &S,
        standing: &Standing,
        (time, recipe): (Option<SystemTime>, Option<&str>),
    ) -> Result<Self> {
        let found = "its manifest is damaged, or gone";
        let none = || Error::NotAStore { path: path.to_path_buf(), found };
        let before = standing.manifest.clone().ok_or_else(none)?;
        check_writer(&before, path)?;
        recipe::check_same(before.recipe.as_deref(), recipe, Some(path))?;
        if let Some(section) = &before.log {
            let logs: Follower<F> = Follower::open(storage, section, before.store_id)?;
            let last = logs.views().last().map(|view| view.next_sequence() - 1);
            let operations = last.unwrap_or(0).saturating_sub(section.sequence);
            if operations > 0 {
                return Err(Error::Unflushed { path: path.to_path_buf(), operations });
            }
        }
        let since = time.unwrap_or_else(SystemTime::now).duration_since(UNIX_EPOCH);
        let seconds = since.unwrap_or_default().as_secs();
        let window = before.windows.as_ref().map(|windows| seconds / windows.seconds.max(1));
        if window.is_none() && time.is_some() {
            return Err(Error::InvalidOption {
                option: "time",
                value: format!("{seconds} seconds since 1970"),
                expected: "the store has no windows of time".to_string(),
            });
        }
        Ok(Self { before, window })
    }

    /// The radius that the store was planned for.
    pub(super) fn radius(&self) -> u32 {
        self.before.radius.into()
    }

    /// What the ids of the store are, if it has some; before there is any, nobody knows.
    pub(super) fn id_kind(&self) -> IdKind {
        self.before.names.unwrap_or(IdKind::Number)
    }

    /// Whether what is added must have ids, or none; `None` where either will do.
    pub(super) fn with_ids(&self) -> Option<bool> {
        let of_segments = self.before.segments.first().map(|segment| segment.ids.is_some());
        self.before.log.map(|log| log.shape.ids).or(of_segments)
    }

    /// The manifest with one more segment; all else stays.
    ///
    /// # Errors
    ///
    /// [`Error::NoSegmentNumber`].
    pub(super) fn with(self, addition: Addition, path: &Path) -> Result<Manifest> {
        let Self { before, window } = self;
        let Addition { entry, bytes, ids, name_bytes } = addition;
        let records = ids.map_or(entry.count, |(ids, _)| ids);
        let next_segment = behind(entry.number, path)?;
        // All deletions so far came before it.
        let sequence = before.log.map_or(0, |log| log.sequence);
        let deletions = DeletionsEntry::without_file(entry.number, sequence);
        let added = vec![Added { entry, deletions, window: window.unwrap_or(0) }];
        let edit = Edit { added, ..Edit::default() };
        let mut manifest = edit.apply(&before, next_segment, path)?;
        if let Some(log) = &mut manifest.log {
            let numbers = ids.filter(|_| manifest.names.is_none());
            let of_id = if numbers.is_some() { 8 } else { 0 };
            let of_window = if log.shape.windows { 8 } else { 0 };
            let each = u64::from(manifest.bits) / 8 + of_id + of_window;
            log.written_bytes = log.written_bytes.saturating_add(bytes);
            let inserted = records.saturating_mul(each).saturating_add(name_bytes);
            log.inserted_bytes = log.inserted_bytes.saturating_add(inserted);
            let next_id = numbers.map_or(0, |(_, greatest)| greatest.saturating_add(1));
            log.next_id = log.next_id.max(next_id);
        }
        Ok(manifest)
    }
}

#[cfg(test)]
mod tests {
    use crate::planning::Layout;
    use std::time::Duration;

    use crate::{Error, Packer, Store, StoreOptions, WriterOptions};

    #[test]
    fn what_is_appended_stands_beside_what_was_there_and_is_not_hidden_by_earlier_deletions() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store");
        let writer = StoreOptions::new().create(&path).unwrap();
        writer.insert_batch(&[(1, 10), (2, 20), (3, 30)]).unwrap();
        writer.flush().unwrap();
        writer.delete(1, 10).unwrap();
        writer.delete_fingerprint(2).unwrap();
        writer.close().unwrap();
        let append = || Packer::new().append(true).pack_with_ids(&path, [(1, 10), (4, 40)]);
        match append() {
            Err(Error::Unflushed { operations: 2, .. }) => {}
            other => panic!("{other:?}"),
        }
        let writer = Store::open_writer(&path).unwrap();
        writer.flush().unwrap();
        writer.close().unwrap();
        let before = Store::open(&path).unwrap();
        append().unwrap();
        let store = Store::open(&path).unwrap();
        assert_eq!(store.iter().collect::<Result<Vec<_>, _>>().unwrap(), [1, 3, 4]);
        assert_eq!((store.id(), store.generation()), (before.id(), before.generation() + 1));
        assert_eq!(before.iter().count(), 1, "an open store stays as it was");
        assert!(before.refresh().unwrap());
        assert_eq!(before.iter().count(), 3);
        assert!(matches!(Packer::new().append(true).pack(&path, [5]), Err(Error::MixedIds)));
        // It is written as before, and deletions that come later hide what was appended.
        let writer = Store::open_writer(&path).unwrap();
        writer.delete_fingerprint(4).unwrap();
        writer.merge_all().unwrap();
        assert_eq!(writer.snapshot().iter().count(), 2);
        writer.close().unwrap();
        store.refresh().unwrap();
        store.verify().unwrap();
    }

    #[test]
    fn a_packed_store_gets_more_segments_and_one_with_windows_a_segment_of_its_time() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("packed");
        assert!(matches!(
            Packer::new().append(true).pack(&path, [1]),
            Err(Error::NotAStore { .. })
        ));
        Packer::new().layout(Layout::new().k(5)).pack(&path, [1u64, 2]).unwrap();
        Packer::new().append(true).pack(&path, [2u64, 3]).unwrap();
        let store = Store::open(&path).unwrap();
        assert_eq!(store.iter().collect::<Result<Vec<_>, _>>().unwrap(), [1, 2, 3]);
        assert_eq!((store.stats().unwrap().segments.len(), store.radius()), (2, 5));
        let time = std::time::UNIX_EPOCH + Duration::from_secs(1000);
        let packer = || Packer::new().append(true).append_at(Some(time));
        assert!(matches!(packer().pack(&path, [4]), Err(Error::InvalidOption { .. })));

        let path = directory.path().join("windows");
        let options = StoreOptions::new().ids(None).window(Some(Duration::from_secs(100)));
        let options = options.writer(WriterOptions::new().background(false));
        options.create(&path).unwrap().close().unwrap();
        packer().pack(&path, [7]).unwrap();
        Packer::new().append(true).pack(&path, [8]).unwrap();
        let store = Store::open(&path).unwrap();
        let then = store.snapshot().between(time..time + Duration::from_secs(1)).unwrap();
        assert_eq!(then.iter().collect::<Result<Vec<_>, _>>().unwrap(), [7]);
        assert_eq!(store.iter().count(), 2);
        store.verify().unwrap();
    }
}
