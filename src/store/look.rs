//! Looks at the manifest of a store without opening it.

use std::io;
use std::path::Path;

use crate::error::{Corruption, Error, Result};
use crate::files::{self, DirectoryHandle};
use crate::format::{Defect, MANIFEST_NAME, MANIFEST_UNFINISHED, MAX_MANIFEST_BYTES, Manifest};

/// The width of the fingerprints of the store in the directory `path`, in bits: what
/// [`OpenOptions::width`](crate::OpenOptions::width) must be. Reads
/// the manifest only.
///
/// # Errors
///
/// [`Error::NotAStore`] if there is none, [`Error::Corrupt`] or [`Error::Unsupported`] for what its
/// manifest holds, [`Error::Io`] if it cannot be read.
///
/// # Examples
///
/// ```
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("store");
/// fpstore::Packer::new().width::<u128>().pack(&path, [7])?;
/// assert_eq!(fpstore::width_of(&path)?, 128);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn width_of(path: impl AsRef<Path>) -> Result<u32> {
    Ok(manifest_of(path.as_ref())?.bits.into())
}

/// By which recipe the fingerprints of the store in the directory `path` were made, if it says so.
/// Reads the manifest only.
///
/// # Errors
///
/// As [`width_of`].
pub fn recipe_of(path: impl AsRef<Path>) -> Result<Option<String>> {
    Ok(manifest_of(path.as_ref())?.recipe)
}

/// What the manifest in the directory `path` says.
fn manifest_of(path: &Path) -> Result<Manifest> {
    let manifest = Manifest::decode(&open_directory(path)?.1);
    manifest.map_err(|defect| defect.in_file(&path.join(MANIFEST_NAME)))
}

/// Opens the directory `path`, in which a store is to be read, and reads its manifest. What is read
/// behind it is of the same directory, whatever the path leads to by then.
pub(super) fn open_directory(path: &Path) -> Result<(DirectoryHandle, Vec<u8>)> {
    let not_a_store = |found| Error::NotAStore { path: path.to_path_buf(), found };
    let directory = DirectoryHandle::open(path).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => not_a_store("there is nothing here"),
        io::ErrorKind::NotADirectory if path.exists() => {
            not_a_store("this is a file, not a directory")
        }
        io::ErrorKind::NotADirectory => not_a_store("there is nothing here"),
        _ => Error::io(path, "open the directory")(source),
    })?;
    let bytes = read_manifest(&directory)?;
    Ok((directory, bytes))
}

/// Reads the manifest in a directory.
pub(super) fn read_manifest(directory: &DirectoryHandle) -> Result<Vec<u8>> {
    let name = directory.path_of(MANIFEST_NAME);
    let file = directory.open_regular(MANIFEST_NAME);
    let bytes = files::read_at_most_of(file, MAX_MANIFEST_BYTES);
    let bytes = bytes.map_err(|source| {
        if source.kind() != io::ErrorKind::NotFound {
            return Error::io(&name, "read the manifest")(source);
        }
        let found = match directory.has_regular(MANIFEST_UNFINISHED) {
            true => "what wrote here was stopped before it was done, and is to be run again",
            false => "the directory has no manifest.fps (a pack that was stopped leaves none)",
        };
        Error::NotAStore { path: directory.path().to_path_buf(), found }
    })?;
    if bytes.len() as u64 > MAX_MANIFEST_BYTES {
        let corruption = Corruption::ManifestLimit { most: MAX_MANIFEST_BYTES };
        return Err(Defect::corrupt(0, corruption).in_file(&name));
    }
    Ok(bytes)
}
