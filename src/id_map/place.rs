//! Where an id map is written, and how it comes to be together with its store (section 2 of the
//! specification).

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::reader::{IdMap, pending_path, place_of};
use crate::error::{Error, IdMapProblem, Result};
use crate::files::{self, Ownership, Temporary};
use crate::format::ID_MAP_FILE;
use crate::store::{manifest_of, with_unfinished_id_map};

/// A map that is being written, as a temporary file beside its place.
#[derive(Debug)]
pub(super) struct MapPlace {
    names: Names,
    temporary: Temporary,
}

/// A map that is whole and stands under its pending name. Dropping it before [`Announced::commit`]
/// removes it, unless the store is there and means it: a pack can fail behind that point, where it
/// makes it durable.
pub(super) struct Announced {
    names: Names,
    is_named: bool,
}

#[derive(Debug)]
struct Names {
    store: PathBuf,
    path: PathBuf,
    pending: PathBuf,
    replace: bool,
}

impl MapPlace {
    /// Checks that the map of the store at `store` may be written to `path`, and gets ready for it.
    /// Nothing at `path` is changed before [`Announced::commit`], except that what a killed pack of
    /// this store left is brought into place.
    pub(super) fn claim(path: &Path, store: &Path, replace: bool) -> Result<Self> {
        // A link stays, and the map comes to be where it leads.
        let place = place_of(path);
        let path = place.as_path();
        let directory = files::parent(path);
        let parent = fs::canonicalize(directory).map_err(Error::io(path, "create the id map"))?;
        if fs::canonicalize(store).is_ok_and(|store| parent.starts_with(store)) {
            return Err(IdMapProblem::InStore.at(path));
        }
        let (store, path, pending) = (store.into(), path.into(), pending_path(path));
        let names = Names { store, path, pending, replace };
        if is_meant(&names.pending, &names.store) {
            names.rename()?;
        }
        // Of a pack that was killed just before: no store can mean it.
        with_unfinished_id_map(&names.store, |tag| {
            if IdMap::open(&names.pending).is_ok_and(|map| map.tag() == tag) {
                let _ = fs::remove_file(&names.pending);
            }
        });
        if fs::symlink_metadata(&names.pending).is_ok() {
            return Err(IdMapProblem::Pending.at(&names.pending));
        }
        names.check()?;
        files::remove_dead(directory);
        let temporary = Temporary::create(directory);
        let temporary = temporary.map_err(Error::io(&names.path, "create the id map"))?;
        Ok(Self { names, temporary })
    }

    /// Gives the map its pending name, once its store is written and before that is visible.
    pub(super) fn announce(self) -> Result<Announced> {
        let Self { names, temporary } = self;
        let file =
            temporary.file().try_clone().map_err(Error::io(&names.path, "name the id map"))?;
        // It gets its name by two renames, of which the second one replaces the old map.
        files::keep_permissions(temporary.file(), &names.path, Ownership::Given)
            .map_err(Error::io(&names.path, "keep the permissions of the old id map"))?;
        match temporary.persist(&names.pending, false) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(IdMapProblem::Pending.at(&names.pending));
            }
            Err(error) => {
                // It may have the name already: then nobody else could tell whose it is.
                if files::is_at(&file, &names.pending) {
                    let _ = fs::remove_file(&names.pending);
                }
                return Err(Error::io(&names.pending, "name the id map")(error));
            }
        }
        let announced = Announced { names, is_named: false };
        // Once more: whoever brings a map into place must hold the pending name for it, so that nobody
        // does from here on.
        announced.names.check()?;
        Ok(announced)
    }

    /// What is written.
    pub(super) fn file(&self) -> &File {
        self.temporary.file()
    }

    /// Where it is written.
    pub(super) fn temporary(&self) -> &Path {
        self.temporary.path()
    }

    /// Where it will be.
    pub(super) fn path(&self) -> &Path {
        &self.names.path
    }

    /// The store whose map it is.
    pub(super) fn store(&self) -> &Path {
        &self.names.store
    }
}

impl Announced {
    /// Gives the map its name, once the store is there.
    pub(super) fn commit(mut self) -> Result<()> {
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
    fn check(&self) -> Result<()> {
        let path = &self.path;
        let fail = || Error::io(path, "look at it");
        match fs::symlink_metadata(path) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(fail()(error)),
        }
        let magic = ID_MAP_FILE.magic;
        let start = files::read_at_most(path, magic.len() as u64).map_err(fail())?;
        let problem = match (start.is_empty(), start.starts_with(&magic)) {
            (true, _) if self.replace => return Ok(()),
            (true, _) => IdMapProblem::Exists,
            (false, false) => IdMapProblem::Foreign,
            (false, true) => match IdMap::open(path) {
                Err(error @ (Error::Io { .. } | Error::Unsupported { .. })) => return Err(error),
                Ok(map) if is_of(&map, &self.store) && self.replace => return Ok(()),
                Ok(map) if is_of(&map, &self.store) => IdMapProblem::Exists,
                // Whose map it was cannot be told, or it is that of another store.
                _ => IdMapProblem::OfOthers { store: self.store.clone() },
            },
        };
        Err(problem.at(path))
    }

    fn rename(&self) -> Result<()> {
        match files::rename(&self.pending, &self.path) {
            // Another pack into this store has found it, and done that.
            Err(error)
                if error.kind() == io::ErrorKind::NotFound && is_meant(&self.path, &self.store) =>
            {
                let directory = files::parent(&self.path);
                files::sync_directory(directory).map_err(Error::io(directory, "sync the directory"))
            }
            renamed => {
                let action = "rename the id map, which stays under this name";
                renamed.map_err(Error::io(&self.pending, action))
            }
        }
    }
}

/// Whether the map at `path` is that of the store that stands at `store`.
fn is_meant(path: &Path, store: &Path) -> bool {
    IdMap::open(path).is_ok_and(|map| is_of(&map, store))
}

fn is_of(map: &IdMap, store: &Path) -> bool {
    manifest_of(store).is_ok_and(|manifest| manifest.id_map == Some(map.tag()))
}
