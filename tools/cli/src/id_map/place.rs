//! Where an id map is written, and how it comes to be together with its store (section 2 of the
//! specification).

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use fpstore::files::{self, Temporary, Visible};
use fpstore::{IdMapTag, Store};

use super::{IdMap, MAGIC, MapError, MapWriter};

/// The name of a map while its store comes to be.
pub fn pending_path(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".new");
    PathBuf::from(name)
}

/// A map that is being written, as a temporary file beside its place.
pub struct Place {
    names: Names,
    temporary: Temporary,
}

/// A map that is whole and stands under its pending name. Dropping it before [`Announced::commit`]
/// removes it, unless the store is there and means it: a pack can fail behind that point, where it
/// makes it durable.
pub struct Announced {
    names: Names,
    is_named: bool,
}

struct Names {
    store: PathBuf,
    path: PathBuf,
    pending: PathBuf,
    force: bool,
}

impl Place {
    /// Checks that the map of the store at `store` may be written to `path`, and gets ready for it.
    /// Nothing at `path` is changed before [`Announced::commit`], except that what a killed pack of
    /// this store left is brought into place.
    pub fn claim(path: &Path, store: &Path, force: bool) -> Result<Self, MapError> {
        let directory = files::parent(path);
        let parent = fs::canonicalize(directory).map_err(failure(path, "create the id map"))?;
        if fs::canonicalize(store).is_ok_and(|store| parent.starts_with(store)) {
            return Err(MapError::InStore(path.to_path_buf()));
        }
        let (store, path, pending) = (store.into(), path.into(), pending_path(path));
        let names = Names { store, path, pending, force };
        if is_meant(&names.pending, &names.store) {
            names.rename()?;
        }
        // Of a pack that was killed just before: no store can mean it.
        fpstore::with_unfinished_id_map(&names.store, |tag| {
            if IdMap::open(&names.pending).is_ok_and(|map| map.tag() == tag) {
                let _ = fs::remove_file(&names.pending);
            }
        });
        if fs::symlink_metadata(&names.pending).is_ok() {
            return Err(MapError::Pending(names.pending));
        }
        names.check()?;
        files::remove_dead(directory);
        let temporary = Temporary::create(directory, Visible::AsUsual);
        let temporary = temporary.map_err(failure(&names.path, "create the id map"))?;
        Ok(Self { names, temporary })
    }

    /// Starts the map.
    pub fn writer(&self) -> Result<MapWriter, MapError> {
        let path = &self.names.path;
        let file = self.temporary.file().try_clone().map_err(failure(path, "create the id map"))?;
        MapWriter::new(file, path)
    }

    /// Ends the map, which is durable then; gives what the store must say of it.
    pub fn finish(&self, writer: MapWriter) -> Result<IdMapTag, MapError> {
        Ok(writer.finish()?.0)
    }

    /// Gives the map its pending name, once its store is written and before that is visible.
    pub fn announce(self) -> Result<Announced, MapError> {
        let Self { names, temporary } = self;
        match temporary.persist(&names.pending, false) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(MapError::Pending(names.pending));
            }
            Err(error) => return Err(failure(&names.pending, "name the id map")(error)),
        }
        let announced = Announced { names, is_named: false };
        // Once more: whoever brings a map into place must hold the pending name for it, so that nobody
        // does from here on.
        announced.names.check()?;
        Ok(announced)
    }

    /// Where the map is written.
    pub fn temporary(&self) -> &Path {
        self.temporary.path()
    }
}

impl Announced {
    /// Gives the map its name, once the store is there.
    pub fn commit(mut self) -> Result<(), MapError> {
        // From here on the map is that of the store, under either name, and is not removed.
        self.is_named = true;
        self.names.rename()
    }
}

impl Drop for Announced {
    fn drop(&mut self) {
        if !self.is_named && !is_meant(&self.names.pending, &self.names.store) {
            let _ = fs::remove_file(&self.names.pending);
        }
    }
}

impl Names {
    /// Checks that a map may come to be here: nothing stands there, or nothing but the map of the
    /// store that is replaced as well. Any other map may be all that another store has.
    fn check(&self) -> Result<(), MapError> {
        let path = || self.path.clone();
        match fs::symlink_metadata(&self.path) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(failure(&self.path, "look at it")(error)),
        }
        let start = files::read_at_most(&self.path, MAGIC.len() as u64);
        let start = start.map_err(failure(&self.path, "look at it"))?;
        if start.is_empty() {
            return if self.force { Ok(()) } else { Err(MapError::Exists(path())) };
        }
        if !start.starts_with(&MAGIC) {
            return Err(MapError::Foreign(path()));
        }
        match IdMap::open(&self.path) {
            Err(error @ (MapError::Io { .. } | MapError::Version { .. })) => Err(error),
            // Whose map it was cannot be told.
            Err(_) => Err(MapError::OfOthers(path(), self.store.clone())),
            Ok(map) if !is_of(&map, &self.store) => {
                Err(MapError::OfOthers(path(), self.store.clone()))
            }
            Ok(_) if !self.force => Err(MapError::Exists(path())),
            Ok(_) => Ok(()),
        }
    }

    fn rename(&self) -> Result<(), MapError> {
        match fs::rename(&self.pending, &self.path) {
            Ok(()) => {}
            // Another pack into this store has found it, and done that.
            Err(error)
                if error.kind() == io::ErrorKind::NotFound && is_meant(&self.path, &self.store) => {
            }
            Err(error) => {
                let action = "rename the id map, which stays under this name";
                return Err(failure(&self.pending, action)(error));
            }
        }
        let directory = files::parent(&self.path);
        files::sync_directory(directory).map_err(failure(directory, "sync the directory"))
    }
}

fn failure(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> MapError {
    let path = path.to_path_buf();
    move |source| MapError::Io { path, action, source }
}

/// Whether the map at `path` is that of the store that stands at `store`.
fn is_meant(path: &Path, store: &Path) -> bool {
    IdMap::open(path).is_ok_and(|map| is_of(&map, store))
}

fn is_of(map: &IdMap, store: &Path) -> bool {
    Store::open(store).is_ok_and(|store| store.id_map() == Some(map.tag()))
}
