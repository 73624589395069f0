//! Where an id map is written, and how it comes to be together with its store (section 2 of the
//! specification).

use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use fpstore::{IdMapTag, Store};

use super::{IdMap, MAGIC, MapError, MapWriter};

/// The name of a map until its store is there.
pub fn pending_path(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".new");
    PathBuf::from(name)
}

/// A map that is being written. Dropping it before [`Place::commit`] removes what was written, unless
/// the store is there and means it: a pack can fail behind that point, where it makes it durable.
pub struct Place {
    store: PathBuf,
    path: PathBuf,
    pending: PathBuf,
    /// Gone once the map is in its place.
    file: Option<File>,
}

impl Place {
    /// Checks that the map of the store at `store` may be written to `path`, and gets ready for it.
    /// Nothing at `path` is changed before [`Self::commit`], except that what a killed pack left
    /// is brought into place.
    pub fn claim(path: &Path, store: &Path, force: bool) -> Result<Self, MapError> {
        let pending = pending_path(path);
        let fail = |action| {
            let path = pending.clone();
            move |source| MapError::Io { path, action, source }
        };
        let parent = fs::canonicalize(parent(path)).map_err(fail("create the id map"))?;
        if fs::canonicalize(store).is_ok_and(|store| parent.starts_with(store)) {
            return Err(MapError::InStore(path.to_path_buf()));
        }
        let is_map = may_replace(path)?;
        may_replace(&pending)?;
        let mut open = File::options();
        open.read(true).write(true).create(true).truncate(false);
        let file = open.open(&pending).map_err(fail("create the id map"))?;
        match file.try_lock() {
            Ok(()) if is_file_at(&file, &pending) => {}
            // Another pack has just brought it into place.
            Ok(()) | Err(TryLockError::WouldBlock) => {
                return Err(MapError::Busy(path.to_path_buf()));
            }
            Err(TryLockError::Error(source)) => return Err(fail("lock the id map")(source)),
        }
        if is_meant(&pending, store) {
            let mut place =
                Self { store: store.into(), path: path.into(), pending, file: Some(file) };
            place.rename()?;
            drop(place);
            return Self::claim(path, store, force);
        }
        let pending = pending.clone();
        let place = Self { store: store.into(), path: path.into(), pending, file: Some(file) };
        if is_map && !force {
            return Err(MapError::Exists(path.to_path_buf()));
        }
        Ok(place)
    }

    /// Starts the map.
    pub fn writer(&self) -> Result<MapWriter, MapError> {
        let file = self.file.as_ref().ok_or(io::ErrorKind::NotFound.into());
        let start = |file: &File| {
            file.set_len(0)?;
            file.try_clone()
        };
        match file.and_then(start) {
            Ok(file) => MapWriter::new(file, &self.pending),
            Err(source) => {
                let path = self.pending.clone();
                Err(MapError::Io { path, action: "create the id map", source })
            }
        }
    }

    /// Ends the map, which is durable then; gives what the store must say of it.
    pub fn finish(&self, writer: MapWriter) -> Result<IdMapTag, MapError> {
        let (tag, _) = writer.finish()?;
        sync_directory(&self.pending)?;
        Ok(tag)
    }

    /// Gives the map its name, once the store is there.
    pub fn commit(mut self) -> Result<(), MapError> {
        self.rename()
    }

    fn rename(&mut self) -> Result<(), MapError> {
        // From here on the map is that of the store, under either name, and is not removed. The lock
        // lasts until it has its name.
        let _lock = self.file.take();
        fs::rename(&self.pending, &self.path).map_err(|source| MapError::Io {
            path: self.pending.clone(),
            action: "rename the id map, which stays under this name",
            source,
        })?;
        sync_directory(&self.path)
    }

    /// Where the map stands until its store is there.
    pub fn pending(&self) -> &Path {
        &self.pending
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.file.is_some() && !is_meant(&self.pending, &self.store) {
            let _ = fs::remove_file(&self.pending);
        }
    }
}

/// Whether there is a map at `path`, or nothing.
fn may_replace(path: &Path) -> Result<bool, MapError> {
    let fail = |source| MapError::Io { path: path.to_path_buf(), action: "look at it", source };
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(fail(error)),
    };
    if !metadata.is_file() {
        return Err(MapError::Foreign(path.to_path_buf()));
    }
    let mut magic = [0; MAGIC.len()];
    let mut file = File::open(path).map_err(fail)?;
    match io::Read::read_exact(&mut file, &mut magic) {
        Ok(()) if magic == MAGIC => Ok(true),
        // A pack that was killed at its start leaves it empty.
        _ if metadata.len() == 0 => Ok(true),
        Ok(()) => Err(MapError::Foreign(path.to_path_buf())),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            Err(MapError::Foreign(path.to_path_buf()))
        }
        Err(error) => Err(fail(error)),
    }
}

/// Whether the map at `path` is that of the store that stands at `store`.
fn is_meant(path: &Path, store: &Path) -> bool {
    let map = IdMap::open(path).ok();
    let store = Store::open(store).ok().and_then(|store| store.id_map());
    map.is_some_and(|map| store == Some(map.tag()))
}

/// The directory that `path` is in.
fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Makes the name of `path` durable.
#[cfg(unix)]
fn sync_directory(path: &Path) -> Result<(), MapError> {
    let parent = parent(path);
    let synced = File::open(parent).and_then(|directory| directory.sync_all());
    synced.map_err(|source| {
        let path = parent.to_path_buf();
        MapError::Io { path, action: "sync the directory", source }
    })
}

/// Elsewhere a directory cannot be opened.
#[cfg(not(unix))]
fn sync_directory(_path: &Path) -> Result<(), MapError> {
    Ok(())
}

/// Whether `file` is what stands at `path`.
#[cfg(unix)]
fn is_file_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    match (file.metadata(), fs::metadata(path)) {
        (Ok(file), Ok(there)) => identity(file) == identity(there),
        _ => false,
    }
}

/// Elsewhere a file that is open cannot be removed.
#[cfg(not(unix))]
fn is_file_at(_file: &File, path: &Path) -> bool {
    path.exists()
}
