//! Creates stores that are written to, and makes such of others.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::settings::Settings;
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::format::{
    LogHeader, LogSection, LogTag, MANIFEST_NAME, MOST_NUMBERS, Manifest, RecordShape, log_name,
};
use crate::log::LogWriter;
use crate::segment::{NewFiles, PackTimes};
use crate::snapshot::parts::Base;
use crate::storage::Storage;
use crate::store::commit::Commit;
use crate::store::standing::Standing;

/// A number that no other store has.
pub(super) fn random_id() -> u128 {
    let random = || {
        let mut hasher = RandomState::new().build_hasher();
        hasher.write_u128(std::time::UNIX_EPOCH.elapsed().map_or(0, |time| time.as_nanos()));
        u128::from(hasher.finish())
    };
    random() << 64 | random()
}

/// Creates an empty store of which this is said in a directory that is locked.
pub(super) fn create<S: Storage>(
    path: &Path,
    storage: &Arc<S>,
    settings: &Settings,
    of_store: Manifest,
    shape: RecordShape,
) -> Result<()> {
    let standing = Standing::read(path, &**storage)?;
    standing.remove_leftovers(path, &**storage)?;
    let manifest =
        Manifest { next_segment: standing.next_segment, layout: settings.advice(), ..of_store };
    begin_log(path, storage, standing, manifest, (shape, 0))
}

/// Gives a log to the store that stands in a directory that is locked, unless it has one.
pub(super) fn enliven<F: Fingerprint, S: Storage>(path: &Path, storage: &Arc<S>) -> Result<()> {
    let bytes = storage.read(MANIFEST_NAME);
    let bytes = bytes.map_err(Error::io(path.join(MANIFEST_NAME), "read the manifest"))?;
    let manifest = Manifest::decode(&bytes);
    let manifest = manifest.map_err(|defect| defect.in_file(&path.join(MANIFEST_NAME)))?;
    if manifest.log.is_some() {
        return Ok(());
    }
    let base = Base::<F>::open(&**storage, &bytes, None, 0)?;
    let with_ids = base.segments.iter().filter(|segment| segment.id_column().is_some()).count();
    if with_ids > 0 && with_ids < base.segments.len() {
        return Err(Error::MixedIds);
    }
    let next_id = base.next_id();
    let ids = with_ids > 0;
    let names = base.manifest.names.filter(|_| ids);
    let shape = RecordShape { ids, names, windows: base.manifest.windows.is_some() };
    let standing = Standing::read(path, &**storage)?;
    standing.remove_leftovers(path, &**storage)?;
    let mut manifest = base.manifest.clone();
    // Packs of the same set have the same id, and each may take other insertions.
    manifest.store_id = random_id();
    let used_up = || Error::NoSegmentNumber { path: path.to_path_buf() };
    manifest.generation = manifest.generation.checked_add(1).ok_or_else(used_up)?;
    manifest.next_segment = standing.next_segment;
    begin_log(path, storage, standing, manifest, (shape, next_id))
}

/// Whether it is certain that a manifest is not the one that stands.
fn stands_without<S: Storage>(storage: &S, manifest: &Manifest) -> bool {
    match storage.read(MANIFEST_NAME) {
        Ok(bytes) => bytes != manifest.encode(),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

/// Commits a manifest with a log that holds nothing so far.
fn begin_log<S: Storage>(
    path: &Path,
    storage: &Arc<S>,
    standing: Standing,
    mut manifest: Manifest,
    (shape, next_id): (RecordShape, u64),
) -> Result<()> {
    // A number that no log of this store has had.
    let first_log = manifest.next_segment.max(standing.next_log);
    if first_log >= MOST_NUMBERS {
        return Err(Error::NoSegmentNumber { path: path.to_path_buf() });
    }
    let (written_bytes, inserted_bytes) = (0, 0);
    let section =
        LogSection { first_log, sequence: 0, shape, written_bytes, inserted_bytes, next_id };
    manifest.log = Some(section);
    let tag = LogTag { store_id: manifest.store_id, number: first_log };
    let log =
        LogWriter::resume(Arc::clone(storage), (tag, shape), (LogHeader::RECORDS_START, 0), 1);
    let files = NewFiles::new(path, Arc::clone(storage));
    let committed = log.and_then(|_| {
        let (before, mut in_use) = standing.replaced();
        in_use.push(log_name(first_log));
        let times = &mut PackTimes::default();
        Commit::prepare(files, (before, in_use), &manifest, times)?.publish()
    });
    if committed.is_err() && stands_without(&**storage, &manifest) {
        let _ = storage.remove(&log_name(first_log));
    }
    committed
}
