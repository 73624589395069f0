//! The inputs that a command is given: what stands at their paths, and whether two paths are one.

use std::collections::HashMap;
use std::path::Path;

use fpstore_records::is_stdin;

use self::id::Id;
use crate::failure::Failure;

/// An input, for messages.
pub fn name_of(path: &Path) -> String {
    match is_stdin(path) {
        true => "standard input".to_string(),
        false => path.display().to_string(),
    }
}

/// Whether an input is a store, and no file.
pub fn is_store(path: &Path) -> bool {
    path.join("manifest.fps").is_file()
}

/// Refuses inputs of which one comes twice, by whatever names: each of its records would be a
/// duplicate of itself.
///
/// # Errors
///
/// [`Failure::Usage`], with both names.
pub fn check_once<P: AsRef<Path>>(inputs: &[P]) -> Result<(), Failure> {
    let mut seen: HashMap<Id, &Path> = HashMap::new();
    let mut has_stdin = false;
    for input in inputs.iter().map(AsRef::as_ref) {
        let id = match is_stdin(input) {
            true if std::mem::replace(&mut has_stdin, true) => {
                let message = "standard input: can be read only once; give `-` once";
                return Err(Failure::Usage(message.to_string()));
            }
            true => id::of_stdin(),
            false => id::at(input).filter(|_| input.is_file() || is_store(input)),
        };
        let Some(first) = id.and_then(|id| seen.insert(id, input)) else { continue };
        let (first, name) = (name_of(first), name_of(input));
        let message = match first == name {
            true => format!("{name}: is given twice; give it once"),
            false => format!("{name}: is the same file as {first}; give one of them"),
        };
        return Err(Failure::Usage(message));
    }
    Ok(())
}

/// What is the same for all names of a file.
#[cfg(unix)]
pub mod id {
    use std::fs::{self, File, Metadata};
    use std::io;
    use std::os::fd::{AsFd, BorrowedFd};
    use std::os::unix::fs::{FileTypeExt, MetadataExt};
    use std::path::Path;

    /// Device and inode.
    pub type Id = (u64, u64);

    /// That of whatever stands at `path`.
    pub fn at(path: &Path) -> Option<Id> {
        Some(of(&fs::metadata(path).ok()?))
    }

    /// That of the regular file or the named pipe at `path`. Terminals are read and written alike.
    pub fn of_file(path: &Path) -> Option<Id> {
        let data = fs::metadata(path).ok()?;
        (data.is_file() || data.file_type().is_fifo()).then(|| of(&data))
    }

    /// That of the regular file that is standard input.
    pub fn of_stdin() -> Option<Id> {
        of_open(io::stdin().as_fd())
    }

    /// That of the regular file that is standard output.
    pub fn of_stdout() -> Option<Id> {
        of_open(io::stdout().as_fd())
    }

    fn of_open(open: BorrowedFd<'_>) -> Option<Id> {
        let data = File::from(open.try_clone_to_owned().ok()?).metadata().ok()?;
        data.is_file().then(|| of(&data))
    }

    fn of(data: &Metadata) -> Id {
        (data.dev(), data.ino())
    }
}

/// Elsewhere it is the path without links, which standard input and output have not.
#[cfg(not(unix))]
pub mod id {
    use std::fs;
    use std::path::{Path, PathBuf};

    pub type Id = PathBuf;

    pub fn at(path: &Path) -> Option<Id> {
        fs::canonicalize(path).ok()
    }

    pub fn of_file(path: &Path) -> Option<Id> {
        at(path).filter(|_| path.is_file())
    }

    pub fn of_stdin() -> Option<Id> {
        None
    }

    pub fn of_stdout() -> Option<Id> {
        None
    }
}
