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

use crate::failure::Failure;
use crate::paths::id::{self, Id};
use crate::paths::{is_store, name_of};

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
        let input = name_of(input);
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
