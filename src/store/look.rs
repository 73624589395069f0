//! Looks at the manifest of a store without opening it.

use std::fs;
use std::io;
use std::path::Path;

use crate::error::{Corruption, Error, Result};
use crate::files;
use crate::format::{Defect, MANIFEST_NAME, MAX_MANIFEST_BYTES, Manifest};

/// The width of the fingerprints of the store in the directory `path`, in bits: what
/// [`OpenOptions::width`](crate::OpenOptions::width) must be. Reads
/// the manifest only.
///
/// # Errors
///
/// [`Error::NotAStore`] if there is none, [`Error::Corrupt`] or [`Error::Unsupported`] for what its manifest holds,
/// [`Error::Io`] if it cannot be read.
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

/// By which recipe the fingerprints of the store in the directory `path` were made, if it says so. Reads the manifest only.
///
/// # Errors
///
/// As [`width_of`].
pub fn recipe_of(path: impl AsRef<Path>) -> Result<Option<String>> {
    Ok(manifest_of(path.as_ref())?.recipe)
}

/// What the manifest in the directory `path` says.
pub(crate) fn manifest_of(path: &Path) -> Result<Manifest> {
    let manifest = Manifest::decode(&read_manifest(path)?);
    manifest.map_err(|defect| defect.in_file(&path.join(MANIFEST_NAME)))
}

/// Reads the manifest in the directory `path`.
pub(super) fn read_manifest(path: &Path) -> Result<Vec<u8>> {
    let manifest = path.join(MANIFEST_NAME);
    let read = files::read_at_most(&manifest, MAX_MANIFEST_BYTES);
    let bytes = read.map_err(|source| {
        let found = match (source.kind(), fs::metadata(path)) {
            (io::ErrorKind::NotFound | io::ErrorKind::NotADirectory, Ok(metadata)) => {
                if metadata.is_dir() {
                    "the directory has no manifest.fps (a pack that was stopped leaves none)"
                } else {
                    "this is a file, not a directory"
                }
            }
            (_, Err(error)) if error.kind() == io::ErrorKind::NotFound => "there is nothing here",
            _ => return Error::io(&manifest, "read the manifest")(source),
        };
        Error::NotAStore { path: path.to_path_buf(), found }
    })?;
    if bytes.len() as u64 > MAX_MANIFEST_BYTES {
        let corruption = Corruption::ManifestLimit { most: MAX_MANIFEST_BYTES };
        return Err(Defect::corrupt(0, corruption).in_file(&manifest));
    }
    Ok(bytes)
}
