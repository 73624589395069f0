//! What a name leads to that a result is to be written to.
//!
//! A name may be a link. Results replace the file that it leads to, and the link stays. What is no
//! regular file is never replaced: a device, a pipe, and a descriptor that a process has open
//! already, such as `/dev/stdout`, are written through, as a shell does it.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use super::{check_kind, parent};

/// Links that are followed at the most, as the kernel has it.
const MOST_LINKS: usize = 40;

/// What a name leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// A regular file that stands at this path, or may come to be there. All links at the end of
    /// the name are followed; without one, it is the name as it was given.
    File(PathBuf),
    /// What is written through.
    Through(Through),
}

/// A device, a pipe, or an open descriptor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Through {
    path: PathBuf,
    descriptor: Option<u32>,
}

impl Destination {
    /// Follows the links at the end of `path`.
    ///
    /// # Errors
    ///
    /// [`Unfit`](super::Unfit) for a directory and for a socket, else those of the system.
    pub fn of(path: &Path) -> io::Result<Self> {
        let mut place = path.to_path_buf();
        for _ in 0..MOST_LINKS {
            // Before the link is read: behind this one there is a file that has a name, or had one.
            if let Some(owner) = descriptor(&place) {
                let descriptor = match owner {
                    Descriptor::Own(number) => Some(number),
                    Descriptor::OfAnother => None,
                };
                return Ok(Self::Through(Through { path: place, descriptor }));
            }
            match fs::symlink_metadata(&place) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return Ok(Self::File(place));
                }
                Err(error) => return Err(error),
                Ok(data) if data.is_symlink() => {
                    let next = fs::read_link(&place)?;
                    place = parent(&place).join(next);
                }
                Ok(data) if data.is_file() => return Ok(Self::File(place)),
                Ok(data) if can_be_opened(&data) => {
                    return Ok(Self::Through(Through { path: place, descriptor: None }));
                }
                Ok(data) => {
                    check_kind(&data)?;
                    return Err(io::ErrorKind::InvalidInput.into());
                }
            }
        }
        Err(io::Error::other("it is a link that leads to itself"))
    }
}

impl Through {
    /// The number of the descriptor, if it is one of this process.
    pub fn descriptor(&self) -> Option<u32> {
        self.descriptor
    }

    /// Opens it for writing, where it stands. Waits for the reader of a named pipe.
    ///
    /// # Errors
    ///
    /// Those of the system.
    pub fn open(&self) -> io::Result<File> {
        if let Some(open) = self.descriptor.and_then(duplicate) {
            return Ok(open);
        }
        // A file that another process has open is not cut off.
        let is_file = fs::metadata(&self.path)?.is_file();
        OpenOptions::new().write(true).append(is_file).open(&self.path)
    }
}

/// Puts these bytes where `path` leads: in place of a regular file, with its permissions, or
/// through what is none.
///
/// # Errors
///
/// As [`replace`](super::replace) and [`Destination::of`].
pub fn put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    match Destination::of(path)? {
        Destination::File(place) => super::replace(&place, bytes),
        Destination::Through(through) => io::Write::write_all(&mut through.open()?, bytes),
    }
}

/// Whose descriptor a name stands for.
enum Descriptor {
    Own(u32),
    OfAnother,
}

/// The descriptor that `path` is the name of: in `/proc/PID/fd`, or in `/dev/fd` where that is a
/// directory of its own.
#[cfg(unix)]
fn descriptor(path: &Path) -> Option<Descriptor> {
    let number = path.file_name()?.to_str()?.parse().ok()?;
    let directory = fs::canonicalize(parent(path)).ok()?;
    let own = ["/proc/self/fd", "/proc/thread-self/fd", "/dev/fd"];
    let is_own = |own: &str| fs::canonicalize(own).is_ok_and(|own| own == directory);
    match own.into_iter().any(is_own) {
        true => Some(Descriptor::Own(number)),
        false if directory.starts_with("/proc") && directory.ends_with("fd") => {
            Some(Descriptor::OfAnother)
        }
        false => None,
    }
}

/// Elsewhere descriptors have no names.
#[cfg(not(unix))]
fn descriptor(_path: &Path) -> Option<Descriptor> {
    None
}

#[cfg(unix)]
fn can_be_opened(data: &fs::Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt;
    let kind = data.file_type();
    kind.is_fifo() || kind.is_char_device() || kind.is_block_device()
}

#[cfg(not(unix))]
fn can_be_opened(data: &fs::Metadata) -> bool {
    !data.is_dir()
}

/// The same open file once more, with the place in it that both share; `None` where the system does
/// not give it.
#[cfg(unix)]
fn duplicate(descriptor: u32) -> Option<File> {
    use std::os::fd::AsFd;
    let own = match descriptor {
        0 => io::stdin().as_fd().try_clone_to_owned(),
        1 => io::stdout().as_fd().try_clone_to_owned(),
        2 => io::stderr().as_fd().try_clone_to_owned(),
        other => return duplicate_of_others(other),
    };
    own.ok().map(File::from)
}

#[cfg(not(unix))]
fn duplicate(_descriptor: u32) -> Option<File> {
    None
}

/// Linux hands out a descriptor by its number without unsafe code, where the sandbox allows it.
#[cfg(target_os = "linux")]
fn duplicate_of_others(descriptor: u32) -> Option<File> {
    use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};
    let process = pidfd_open(getpid(), PidfdFlags::empty()).ok()?;
    let number = i32::try_from(descriptor).ok()?;
    let open = pidfd_getfd(process, number, PidfdGetfdFlags::empty()).ok()?;
    Some(File::from(open))
}

#[cfg(all(unix, not(target_os = "linux")))]
fn duplicate_of_others(_descriptor: u32) -> Option<File> {
    None
}
