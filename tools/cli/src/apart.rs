//! What an output must be apart from: the inputs of its command, and the stores that it reads or
//! writes.
//!
//! Every command that writes to a name hands over a [`Used`] with the name, so that nobody can
//! forget to look. Files are compared by device and inode: neither links nor other spellings hide
//! that two names are one file.

use std::fs;
use std::path::{Path, PathBuf};

use fpstore::files::Destination;
use fpstore_records::is_stdin;

use self::id::Id;
use crate::failure::Failure;
use crate::feed::is_store;
pub use id::{Id as FileId, of_file as file_id};

/// What a command uses, and nothing that it writes may be.
#[derive(Clone, Debug, Default)]
pub struct Used<'a> {
    files: Vec<&'a Path>,
    stores: Vec<&'a Path>,
}

impl<'a> Used<'a> {
    /// A command that reads nothing.
    pub fn nothing() -> Self {
        Self::default()
    }

    /// These files are read too; `-` is standard input. Those that are stores count as such.
    pub fn files<P: AsRef<Path> + ?Sized + 'a>(
        mut self,
        files: impl IntoIterator<Item = &'a P>,
    ) -> Self {
        for file in files.into_iter().map(AsRef::as_ref) {
            match !is_stdin(file) && is_store(file) {
                true => self.stores.push(file),
                false => self.files.push(file),
            }
        }
        self
    }

    /// These stores are read or written too.
    pub fn stores<P: AsRef<Path> + ?Sized + 'a>(
        mut self,
        stores: impl IntoIterator<Item = &'a P>,
    ) -> Self {
        self.stores.extend(stores.into_iter().map(AsRef::as_ref));
        self
    }

    /// Refuses `output`, the name of a file or of a directory that will be written, where it is an
    /// input or lies in a store.
    ///
    /// # Errors
    ///
    /// [`Failure::Usage`].
    pub fn check(&self, output: &Path) -> Result<(), Failure> {
        let name = output.display().to_string();
        self.check_inputs(&name, id::of_file(output))?;
        match Destination::of(output) {
            Ok(Destination::File(place)) => self.check_stores(&name, &place),
            // A device or a pipe is in no store.
            Ok(Destination::Through(_)) => Ok(()),
            Err(_) => self.check_stores(&name, output),
        }
    }

    /// Refuses standard output where it is redirected to an input: what is written there would be
    /// read again, or has been cut off already.
    ///
    /// # Errors
    ///
    /// [`Failure::Usage`].
    pub fn check_stdout(&self) -> Result<(), Failure> {
        self.check_inputs("standard output", id::of_stdout())
    }

    fn check_inputs(&self, name: &str, output: Option<Id>) -> Result<(), Failure> {
        let Some(output) = output else { return Ok(()) };
        let id = |input: &Path| if is_stdin(input) { id::of_stdin() } else { id::of_file(input) };
        let is_output = |input: &&&Path| id(input).as_ref() == Some(&output);
        let Some(input) = self.files.iter().find(is_output) else { return Ok(()) };
        let input = match is_stdin(input) {
            true => "standard input".to_string(),
            false => input.display().to_string(),
        };
        let what = match input == name {
            true => "is an input".to_string(),
            false => format!("is the input {input}"),
        };
        Err(Failure::Usage(format!(
            "{name}: {what}, which the output would replace; name another file"
        )))
    }

    fn check_stores(&self, name: &str, place: &Path) -> Result<(), Failure> {
        let around: Vec<Id> = around(place).iter().filter_map(|path| id::at(path)).collect();
        let is_around = |store: &&&Path| id::at(store).is_some_and(|id| around.contains(&id));
        match self.stores.iter().find(is_around) {
            Some(store) => Err(Failure::Usage(format!(
                "{name}: lies in the store {}, which this command uses; name a place elsewhere",
                store.display()
            ))),
            None => Ok(()),
        }
    }
}

/// What is the same for all names of a file.
#[cfg(unix)]
mod id {
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
mod id {
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

/// The path, and all directories around it, without links.
fn around(place: &Path) -> Vec<PathBuf> {
    // What does not exist yet is not in the way of what is around it.
    let mut place = std::path::absolute(place).unwrap_or_else(|_| place.to_path_buf());
    let there = loop {
        match fs::canonicalize(&place) {
            Ok(there) => break there,
            Err(_) if place.pop() => {}
            Err(_) => return Vec::new(),
        }
    };
    there.ancestors().map(Path::to_path_buf).collect()
}
