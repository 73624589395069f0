//! The directory itself.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::state::{Files, State};
use crate::access::ReadFiles;
use crate::error::{Displacement, Error, Result};
use crate::files::DirectoryHandle;
use crate::mapped::Bytes;
use crate::sort::Spill;
use crate::storage::Storage;

/// An operation on a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Read(String),
    Create(String),
    Open(String),
    Rewrite(String),
    Write(String),
    WriteAt(String),
    Sync(String),
    Rename(String, String),
    SyncDirectory,
    Remove(String),
}

/// What happens to an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nothing: it succeeds.
    None,
    /// It fails. Of a write some bytes are written all the same; a sync does not try again to write
    /// those that it has failed to.
    Io,
    /// As [`Fault::Io`], and after a sync programs do not see these bytes any more either.
    Forgets,
    /// There is no room.
    Full,
    /// It says that it succeeded, and does nothing.
    Lies,
    /// It fails, and so does all that comes later: the machine has stopped, or the program.
    Down,
}

/// Says what happens to each operation.
pub(crate) type Plan = Box<dyn FnMut(&Step) -> Fault + Send>;

/// A directory in memory. Clones are the same one.
#[derive(Clone, Default)]
pub(crate) struct Simulated {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Default)]
struct Inner {
    state: State,
    plan: Option<Plan>,
    is_down: bool,
    has_failed_to_sync: bool,
    /// Whether it is not what its writer has locked any more.
    is_displaced: bool,
    /// The operations that change something, and what there was before each.
    moments: Option<Vec<(State, Step)>>,
    spills: usize,
}

/// A file that is written.
pub(crate) struct SimulatedFile {
    directory: Simulated,
    name: String,
    inode: u64,
    at: usize,
    is_temporary: bool,
}

impl Inner {
    /// What is to happen to an operation; whether it is to be carried out.
    fn begin(&mut self, step: Step) -> io::Result<Fault> {
        if self.is_down {
            return Err(io::Error::other("down"));
        }
        let fault = self.plan.as_mut().map_or(Fault::None, |plan| plan(&step));
        if fault == Fault::Down {
            self.is_down = true;
            return Err(io::Error::other("down"));
        }
        if let Some(moments) = self.moments.as_mut().filter(|_| !matches!(step, Step::Read(_))) {
            moments.push((self.state.clone(), step));
        }
        Ok(fault)
    }

    /// As [`Self::begin`], of an operation that happens as a whole or not at all.
    fn whole(&mut self, step: Step) -> io::Result<bool> {
        match self.begin(step)? {
            Fault::None => Ok(true),
            Fault::Lies => Ok(false),
            fault => Err(fault.error()),
        }
    }
}

impl Fault {
    fn error(self) -> io::Error {
        match self {
            Self::Full => io::ErrorKind::StorageFull.into(),
            _ => io::Error::other("input/output error"),
        }
    }
}

impl Simulated {
    /// A directory in this state.
    pub(crate) fn new(state: State) -> Self {
        Self { inner: Arc::new(Mutex::new(Inner { state, ..Inner::default() })) }
    }

    /// The same that fails as is planned.
    pub(crate) fn with_plan(self, plan: impl FnMut(&Step) -> Fault + Send + 'static) -> Self {
        self.set_plan(Some(Box::new(plan)));
        self
    }

    /// The same that remembers all states between its operations.
    pub(crate) fn with_memory(self) -> Self {
        self.inner().moments = Some(Vec::new());
        self
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fails from now on as is planned.
    pub(crate) fn set_plan(&self, plan: Option<Plan>) {
        let before = std::mem::replace(&mut self.inner().plan, plan);
        drop(before);
    }

    /// Whether a sync has failed.
    pub(crate) fn has_failed_to_sync(&self) -> bool {
        self.inner().has_failed_to_sync
    }

    /// From now on another directory stands at its path.
    pub(crate) fn displace(&self) {
        self.inner().is_displaced = true;
    }

    /// Whether it has stopped.
    pub(crate) fn is_down(&self) -> bool {
        self.inner().is_down
    }

    /// What there is now.
    pub(crate) fn state(&self) -> State {
        self.inner().state.clone()
    }

    /// Changes what there is.
    pub(crate) fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.inner().state);
    }

    /// The operations since this was asked last, and what there was before each.
    pub(crate) fn take_moments(&self) -> Vec<(State, Step)> {
        self.inner().moments.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// The files as a program sees them.
    pub(crate) fn files(&self) -> Files {
        self.inner().state.files()
    }

    fn open(&self, name: &str, inode: u64, at: usize) -> SimulatedFile {
        let directory = self.clone();
        SimulatedFile { directory, name: name.to_string(), inode, at, is_temporary: false }
    }

    fn bytes_of(&self, name: &str) -> io::Result<Arc<Vec<u8>>> {
        let mut inner = self.inner();
        match inner.begin(Step::Read(name.to_string()))? {
            Fault::None | Fault::Lies => {}
            fault => return Err(fault.error()),
        }
        inner.state.bytes(name).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl Write for SimulatedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut inner = self.directory.inner();
        let fault = inner.begin(Step::Write(self.name.clone()))?;
        let written = match fault {
            Fault::None => bytes,
            Fault::Lies => &[],
            _ => &bytes[..bytes.len() / 2],
        };
        inner.state.write(self.inode, self.at, written);
        if !matches!(fault, Fault::None | Fault::Lies) {
            return Err(fault.error());
        }
        self.at += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Spill for SimulatedFile {
    fn write_at(&self, bytes: &[u8], at: u64) -> Result<()> {
        let mut inner = self.directory.inner();
        if inner.whole(Step::WriteAt(self.name.clone())).map_err(Error::io(&self.name, "write"))? {
            inner.state.write(self.inode, at as usize, bytes);
        }
        Ok(())
    }

    fn read_at(&self, bytes: &mut [u8], at: u64) -> Result<()> {
        let file = self.directory.bytes_of(&self.name).map_err(Error::io(&self.name, "read"))?;
        bytes.copy_from_slice(&file[at as usize..][..bytes.len()]);
        Ok(())
    }
}

impl Drop for SimulatedFile {
    fn drop(&mut self) {
        if self.is_temporary {
            let _ = self.directory.remove(&self.name);
        }
    }
}

impl ReadFiles for Simulated {
    fn bytes(&self, name: &str) -> io::Result<Bytes> {
        Ok(Bytes::Owned(self.bytes_of(name)?.to_vec()))
    }

    fn bytes_from(&self, name: &str, start: u64) -> io::Result<Vec<u8>> {
        let bytes = self.bytes_of(name)?;
        Ok(bytes.get(start as usize..).unwrap_or_default().to_vec())
    }

    fn path(&self, name: &str) -> PathBuf {
        PathBuf::from(name)
    }
}

impl Storage for Simulated {
    type File = SimulatedFile;
    type Spill = SimulatedFile;

    fn check_held(&self) -> Result<()> {
        match self.inner().is_displaced {
            true => {
                let (path, by) = (PathBuf::from("simulated"), Displacement::Replaced);
                Err(Error::Displaced { path, by })
            }
            false => Ok(()),
        }
    }

    fn link(&self, _from: &DirectoryHandle, _name: &str) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn names(&self) -> io::Result<Vec<String>> {
        let mut inner = self.inner();
        match inner.begin(Step::Read(String::new()))? {
            Fault::None | Fault::Lies => Ok(inner.state.names()),
            fault => Err(fault.error()),
        }
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        Ok(self.bytes_of(name)?.to_vec())
    }

    fn create(&self, name: &str) -> io::Result<SimulatedFile> {
        let mut inner = self.inner();
        if inner.state.bytes(name).is_some() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        inner.whole(Step::Create(name.to_string()))?;
        let inode = inner.state.create(name);
        Ok(self.open(name, inode, 0))
    }

    fn spill(&self) -> Result<SimulatedFile> {
        let number = {
            let mut inner = self.inner();
            inner.spills += 1;
            inner.spills
        };
        let name = format!(".tmp-fpstore-{number:06}");
        let mut file = self.create(&name).map_err(Error::io(&name, "create"))?;
        file.is_temporary = true;
        Ok(file)
    }

    fn open_at(&self, name: &str, at: u64) -> io::Result<SimulatedFile> {
        let mut inner = self.inner();
        inner.whole(Step::Open(name.to_string()))?;
        let inode = inner.state.inode(name).ok_or(io::ErrorKind::NotFound)?;
        Ok(self.open(name, inode, at as usize))
    }

    fn rewrite(&self, name: &str, bytes: &[u8]) -> io::Result<SimulatedFile> {
        let mut inner = self.inner();
        let is_done = inner.whole(Step::Rewrite(name.to_string()))?;
        let inode = inner.state.inode(name).ok_or(io::ErrorKind::NotFound)?;
        if is_done {
            inner.state.write(inode, 0, bytes);
            inner.state.cut(inode, bytes.len());
        }
        Ok(self.open(name, inode, bytes.len()))
    }

    fn sync(&self, file: &mut SimulatedFile) -> io::Result<()> {
        let mut inner = self.inner();
        match inner.begin(Step::Sync(file.name.clone()))? {
            Fault::None => inner.state.sync(file.inode),
            Fault::Lies => {}
            fault => {
                inner.has_failed_to_sync = true;
                inner.state.give_up(file.inode, fault == Fault::Forgets);
                return Err(fault.error());
            }
        }
        Ok(())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut inner = self.inner();
        inner.whole(Step::Rename(from.to_string(), to.to_string()))?;
        if inner.state.rename(from, to) { Ok(()) } else { Err(io::ErrorKind::NotFound.into()) }
    }

    fn sync_directory(&self) -> io::Result<()> {
        let mut inner = self.inner();
        if inner.whole(Step::SyncDirectory)? {
            inner.state.sync_names();
        }
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut inner = self.inner();
        inner.whole(Step::Remove(name.to_string()))?;
        if inner.state.remove(name) { Ok(()) } else { Err(io::ErrorKind::NotFound.into()) }
    }

    fn remove_leftover(&self, name: &str) -> io::Result<()> {
        match self.remove(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }
}
