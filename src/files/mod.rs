//! Files that appear whole, locks, and what stopped processes leave behind.
//!
//! Everything of this project that writes a file goes through here, the tool included, so that four
//! promises are kept in one place:
//!
//! * A result appears under its name whole and durable, or not at all. It is written as a
//!   [`Temporary`] beside its place, synced, renamed, and the directory is synced.
//! * Nobody can plant a file, a link or a pipe under a name that is about to be written.
//!   Temporaries have random names and are created exclusively. Where a name must be known
//!   beforehand ([`Lock`]), what stands there is opened without following links and without
//!   waiting, must be a regular file ([`open_own`]: of this user, under this name alone), and must
//!   still stand there once it is locked.
//! * A name that a user gives may be a link, a device or a pipe ([`Destination`]): the file behind
//!   a link is replaced, and keeps its permissions ([`keep_permissions`]); what is no regular file
//!   is written through and never replaced.
//! * Only what a killed process left is removed ([`remove_dead`]): names of the exact shape that is
//!   generated here, on regular files that nobody holds locked.
//!
//! The module is public for the packages of this project, and promises nothing to others. It knows
//! nothing of stores.

mod aligned;
mod destination;
mod directory;
mod lock;
mod permissions;
mod positioned;
mod temporary;

use std::fmt;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

pub(crate) use aligned::Aligned;
pub use destination::{Destination, Through, put};
pub use directory::{DirectoryHandle, DirectoryId};
pub use lock::{Lock, LockedFile, is_file_locked, is_locked};
pub use permissions::{Ownership, keep_permissions};
pub use positioned::{read_exact_at, write_all_at};
pub use temporary::{TEMPORARY_PREFIX, Temporary, is_temporary_name, nameless, remove_dead};

/// Why a file is not used: what stands at a path is of a kind that is never read or written. The
/// [source](io::Error::get_ref) of the errors of this module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unfit(&'static str);

impl Unfit {
    const PIPE: Self = Self("it is a named pipe, not a regular file");
    const DIRECTORY: Self = Self("it is a directory, not a regular file");
    const LINK: Self = Self("it is a symbolic link, not a regular file");
    const OTHER: Self = Self("it is a device or a socket, not a regular file");

    /// What to do about `error`, if it is one of these.
    pub fn remedy(error: &io::Error) -> Option<&'static str> {
        error.get_ref()?.downcast_ref::<Self>()?;
        Some("put a file of yours there, or name another place")
    }
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Unfit {}

impl From<Unfit> for io::Error {
    fn from(unfit: Unfit) -> Self {
        io::Error::new(io::ErrorKind::InvalidInput, unfit)
    }
}

/// Opens the regular file at `path` for reading. Follows links; never waits for the other end of a
/// pipe.
///
/// # Errors
///
/// [`Unfit`] for what is no regular file, else those of the system.
pub fn open_regular(path: &Path) -> io::Result<File> {
    // Looked at before it is opened, since to open a pipe or a device is felt at its other end.
    check_kind(&fs::metadata(path)?)?;
    let file = without_waiting(OpenOptions::new().read(true), true).open(path)?;
    check_kind(&file.metadata()?)?;
    Ok(file)
}

/// Opens the regular file at `path` for reading and writing, if it belongs to this user and has
/// this name alone. Follows no link at the end of `path`, and never waits.
///
/// # Errors
///
/// [`Unfit`] for anything else that stands there, else those of the system.
pub fn open_own(path: &Path) -> io::Result<File> {
    let file = open_unfollowed(path)?;
    check_own(&file.metadata()?)?;
    Ok(file)
}

/// As [`open_own`], whoever the file belongs to.
fn open_unfollowed(path: &Path) -> io::Result<File> {
    check_kind(&fs::symlink_metadata(path)?)?;
    let file = without_waiting(OpenOptions::new().read(true).write(true), false).open(path)?;
    check_kind(&file.metadata()?)?;
    Ok(file)
}

/// The bytes of the regular file at `path`, if it has at most `most` of them, else the first
/// `most + 1`: a longer answer says that the file is too long.
///
/// # Errors
///
/// As [`open_regular`].
pub fn read_at_most(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    read_at_most_of(open_regular(path), most)
}

/// As [`read_at_most`], of a file that was opened.
///
/// # Errors
///
/// That of opening it; those of the system.
pub fn read_at_most_of(file: io::Result<File>, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file?.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Puts a file with these bytes at `path`, whole and durable, in place of a regular file or of a
/// link. For names that the project makes up, where a link was planted; [`put`] follows those that
/// users give.
///
/// # Errors
///
/// [`Unfit`] where anything else stands there, else those of the system.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(data) if !data.file_type().is_symlink() => check_kind(&data)?,
        _ => {}
    }
    let temporary = Temporary::create(parent(path))?;
    io::Write::write_all(&mut temporary.file(), bytes)?;
    temporary.persist(path, true)
}

/// Whether `file` is what stands at `path`, and not behind a link there.
#[cfg(unix)]
pub fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |metadata: Metadata| (metadata.dev(), metadata.ino());
    match (file.metadata(), fs::symlink_metadata(path)) {
        (Ok(file), Ok(there)) => identity(file) == identity(there),
        _ => false,
    }
}

/// Elsewhere a file that is open cannot be removed.
#[cfg(not(unix))]
pub fn is_at(_file: &File, path: &Path) -> bool {
    path.exists()
}

/// Fails where `file` does not stand at `path` any more: another file must not get its name.
fn check_is_at(file: &File, path: &Path) -> io::Result<()> {
    if is_at(file, path) {
        return Ok(());
    }
    let what = format!("{} was removed or exchanged meanwhile", path.display());
    Err(io::Error::new(io::ErrorKind::NotFound, what))
}

/// The directory that `path` is in.
pub fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Gives a file another name in its directory, in place of what stands there, and makes that
/// durable.
///
/// # Errors
///
/// Those of the system. The file has its new name then, if only the last sync failed.
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)?;
    sync_directory(parent(to))
}

/// Makes the names in a directory durable.
///
/// # Errors
///
/// Those of the system.
pub fn sync_directory(directory: &Path) -> io::Result<()> {
    // Only Unix lets a directory be opened and synced; elsewhere the file system orders renames
    // itself.
    if cfg!(unix) { File::open(directory)?.sync_all() } else { Ok(()) }
}

/// Makes `open` return at once whatever it meets, and refuse a link unless it is to `follow` it.
#[cfg(unix)]
fn without_waiting(open: &mut OpenOptions, follow: bool) -> &mut OpenOptions {
    use rustix::fs::OFlags;
    use std::os::unix::fs::OpenOptionsExt;
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let flags = if follow { flags } else { flags | OFlags::NOFOLLOW };
    open.custom_flags(flags.bits() as i32)
}

/// Elsewhere there are no named pipes among files.
#[cfg(not(unix))]
fn without_waiting(open: &mut OpenOptions, _follow: bool) -> &mut OpenOptions {
    open
}

fn check_kind(data: &Metadata) -> Result<(), Unfit> {
    let kind = data.file_type();
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        if kind.is_fifo() {
            return Err(Unfit::PIPE);
        }
    }
    match () {
        () if kind.is_file() => Ok(()),
        () if kind.is_dir() => Err(Unfit::DIRECTORY),
        () if kind.is_symlink() => Err(Unfit::LINK),
        () => Err(Unfit::OTHER),
    }
}

#[cfg(unix)]
fn check_own(data: &Metadata) -> Result<(), Unfit> {
    use std::os::unix::fs::MetadataExt;
    match () {
        () if data.uid() != rustix::process::geteuid().as_raw() => {
            Err(Unfit("it belongs to another user"))
        }
        () if data.nlink() > 1 => Err(Unfit("it has a second name (a hard link)")),
        () => Ok(()),
    }
}

#[cfg(not(unix))]
fn check_own(_data: &Metadata) -> Result<(), Unfit> {
    Ok(())
}

#[cfg(all(test, unix))]
mod tests;
