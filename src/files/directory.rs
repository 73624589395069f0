//! A directory that is held open.
//!
//! Every operation goes to the directory that was opened, whatever its path leads to by now: a link
//! that is flipped or a directory that is moved never sends a write to another place. Links in the
//! path are followed once, when it is opened.
//!
//! On systems without such calls (all but Unix) the operations go by the path, and
//! [`DirectoryHandle::is_at_path`] cannot tell a directory that was replaced. Windows itself
//! refuses to move a directory in which a file is open, which the lock of a writer is.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

#[cfg(unix)]
use unix as system;

/// What a directory is, whatever its path: device and inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirectoryId(u64, u64);

/// A directory that is open.
#[derive(Debug)]
pub struct DirectoryHandle {
    /// As it was given, for messages.
    path: PathBuf,
    /// The same from the root on, since the process may change its own directory.
    absolute: PathBuf,
    #[cfg(unix)]
    file: File,
}

impl DirectoryHandle {
    /// Opens the directory at `path`. Follows links.
    ///
    /// # Errors
    ///
    /// Those of the system; [`io::ErrorKind::NotADirectory`] where something else stands there.
    pub fn open(path: &Path) -> io::Result<Self> {
        let absolute = std::path::absolute(path)?;
        #[cfg(unix)]
        let file = system::open_directory(&absolute)?;
        #[cfg(not(unix))]
        if !std::fs::metadata(&absolute)?.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(Self {
            path: path.to_path_buf(),
            absolute,
            #[cfg(unix)]
            file,
        })
    }

    /// Its path as it was given, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether anything stands at its path.
    pub fn is_path_taken(&self) -> bool {
        self.absolute.exists()
    }

    /// The path of a file in it, for messages.
    pub fn path_of(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

#[cfg(unix)]
mod unix {
    use std::fs::{self, File, Metadata, TryLockError};
    use std::io;
    use std::os::fd::AsFd;
    use std::os::unix::fs::MetadataExt;
    use std::path::Path;

    use rustix::fs::{
        AtFlags, Dir, FileType, Mode, OFlags, linkat, openat, renameat, statat, unlinkat,
    };
    use rustix::io::retry_on_intr;

    use super::super::{Unfit, check_kind};
    use super::{DirectoryHandle, DirectoryId};

    /// Whoever the user's mask lets read and write new files.
    const NEW_FILE: Mode = Mode::from_raw_mode(0o666);

    pub(super) fn open_directory(path: &Path) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let open = |flags| retry_on_intr(|| rustix::fs::open(path, flags, Mode::empty()));
        match open(flags) {
            // Its files can be opened by who may search it, and no more.
            #[cfg(target_os = "linux")]
            Err(rustix::io::Errno::ACCESS) => {
                Ok(File::from(open(OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC)?))
            }
            opened => Ok(File::from(opened?)),
        }
    }

    fn id(data: &Metadata) -> DirectoryId {
        DirectoryId(data.dev(), data.ino())
    }

    impl DirectoryHandle {
        /// What it is.
        ///
        /// # Errors
        ///
        /// Those of the system.
        pub fn id(&self) -> io::Result<DirectoryId> {
            Ok(id(&self.file.metadata()?))
        }

        /// Whether its path leads to it still.
        ///
        /// # Errors
        ///
        /// Those of the system, but for [`io::ErrorKind::NotFound`].
        pub fn is_at_path(&self) -> io::Result<bool> {
            match fs::metadata(&self.absolute) {
                Ok(there) => Ok(id(&there) == self.id()?),
                Err(error) => match error.kind() {
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Ok(false),
                    _ => Err(error),
                },
            }
        }

        /// Locks the directory itself against other processes until [`Self::unlock`]; false if
        /// another one holds it. Where the file system has no such locks, there is none.
        pub fn try_lock(&self) -> bool {
            !matches!(self.file.try_lock(), Err(TryLockError::WouldBlock))
        }

        /// Gives the lock up.
        pub fn unlock(&self) {
            let _ = self.file.unlock();
        }

        fn open_at(&self, name: &str, flags: OFlags, mode: Mode) -> io::Result<File> {
            let flags = flags | OFlags::CLOEXEC;
            let opened = retry_on_intr(|| openat(self.file.as_fd(), name, flags, mode));
            Ok(File::from(opened?))
        }

        /// Opens the regular file `name` for reading. Follows links; never waits for the other end
        /// of a pipe.
        ///
        /// # Errors
        ///
        /// [`Unfit`] for what is no regular file, else those of the system.
        pub fn open_regular(&self, name: &str) -> io::Result<File> {
            self.open_checked(name, OFlags::RDONLY, AtFlags::empty())
        }

        /// Opens the regular file `name` for reading and writing. Follows no link, and never waits.
        ///
        /// # Errors
        ///
        /// As [`Self::open_regular`].
        pub fn open_unfollowed(&self, name: &str) -> io::Result<File> {
            self.open_checked(name, OFlags::RDWR | OFlags::NOFOLLOW, AtFlags::SYMLINK_NOFOLLOW)
        }

        fn open_checked(&self, name: &str, flags: OFlags, at: AtFlags) -> io::Result<File> {
            // Looked at before it is opened: to open a pipe or a device is felt at its other end.
            let there = statat(self.file.as_fd(), name, at)?;
            match FileType::from_raw_mode(there.st_mode) {
                FileType::RegularFile => {}
                FileType::Fifo => return Err(Unfit::PIPE.into()),
                FileType::Directory => return Err(Unfit::DIRECTORY.into()),
                FileType::Symlink => return Err(Unfit::LINK.into()),
                _ => return Err(Unfit::OTHER.into()),
            }
            let file =
                self.open_at(name, flags | OFlags::NONBLOCK | OFlags::NOCTTY, Mode::empty())?;
            check_kind(&file.metadata()?)?;
            Ok(file)
        }

        /// Creates the file `name`, which must not exist, for reading and writing.
        ///
        /// # Errors
        ///
        /// Those of the system.
        pub fn create_new(&self, name: &str) -> io::Result<File> {
            self.open_at(name, OFlags::RDWR | OFlags::CREATE | OFlags::EXCL, NEW_FILE)
        }

        /// As [`Self::create_new`], of a file that only this user may read.
        ///
        /// # Errors
        ///
        /// Those of the system.
        pub(crate) fn create_private(&self, name: &str) -> io::Result<File> {
            self.open_at(
                name,
                OFlags::RDWR | OFlags::CREATE | OFlags::EXCL,
                Mode::RUSR | Mode::WUSR,
            )
        }

        /// Whether `file` is what stands under `name`.
        ///
        /// # Errors
        ///
        /// Those of the system, but for [`io::ErrorKind::NotFound`].
        pub fn has(&self, name: &str, file: &File) -> io::Result<bool> {
            let there = match statat(self.file.as_fd(), name, AtFlags::SYMLINK_NOFOLLOW) {
                Err(rustix::io::Errno::NOENT) => return Ok(false),
                there => there?,
            };
            let file = file.metadata()?;
            // The types of the fields differ from system to system.
            #[allow(clippy::unnecessary_cast)]
            let there = (there.st_dev as u64, there.st_ino as u64);
            Ok((file.dev(), file.ino()) == there)
        }

        /// Whether it is certain that nothing stands under `name`.
        pub fn lacks(&self, name: &str) -> bool {
            let there = statat(self.file.as_fd(), name, AtFlags::SYMLINK_NOFOLLOW);
            matches!(there, Err(rustix::io::Errno::NOENT))
        }

        /// Whether a regular file stands under `name`.
        pub fn has_regular(&self, name: &str) -> bool {
            let there = statat(self.file.as_fd(), name, AtFlags::SYMLINK_NOFOLLOW);
            there.is_ok_and(|there| FileType::from_raw_mode(there.st_mode).is_file())
        }

        /// The names of all that is in it.
        ///
        /// # Errors
        ///
        /// Those of the system.
        pub fn names(&self) -> io::Result<Vec<String>> {
            let mut names = Vec::new();
            for entry in Dir::read_from(self.file.as_fd())? {
                let entry = entry?;
                let name = entry.file_name().to_string_lossy();
                if name != "." && name != ".." {
                    names.push(name.into_owned());
                }
            }
            Ok(names)
        }

        /// Renames a file in it, in place of another if there is one.
        ///
        /// # Errors
        ///
        /// Those of the system.
        pub fn rename(&self, from: &str, to: &str) -> io::Result<()> {
            Ok(renameat(self.file.as_fd(), from, self.file.as_fd(), to)?)
        }

        /// Gives a file of another directory the same name in this one as well.
        ///
        /// # Errors
        ///
        /// Those of the system.
        pub fn link(&self, from: &Self, name: &str) -> io::Result<()> {
            let flags = AtFlags::SYMLINK_FOLLOW;
            Ok(linkat(from.file.as_fd(), name, self.file.as_fd(), name, flags)?)
        }

        /// Removes a file.
        ///
        /// # Errors
        ///
        /// Those of the system.
        pub fn remove(&self, name: &str) -> io::Result<()> {
            Ok(unlinkat(self.file.as_fd(), name, AtFlags::empty())?)
        }

        /// Makes the names in it durable.
        ///
        /// # Errors
        ///
        /// Those of the system.
        pub fn sync(&self) -> io::Result<()> {
            self.file.sync_all()
        }
    }
}

#[cfg(not(unix))]
impl DirectoryHandle {
    /// What it is.
    pub fn id(&self) -> io::Result<DirectoryId> {
        Ok(DirectoryId(0, 0))
    }

    /// Whether its path leads to a directory.
    pub fn is_at_path(&self) -> io::Result<bool> {
        Ok(self.absolute.is_dir())
    }

    /// There are no locks of directories.
    pub fn try_lock(&self) -> bool {
        true
    }

    /// There are no locks of directories.
    pub fn unlock(&self) {}

    /// Opens the regular file `name` for reading.
    pub fn open_regular(&self, name: &str) -> io::Result<File> {
        super::open_regular(&self.absolute.join(name))
    }

    /// Opens the regular file `name` for reading and writing.
    pub fn open_unfollowed(&self, name: &str) -> io::Result<File> {
        super::open_unfollowed(&self.absolute.join(name))
    }

    /// Creates the file `name`, which must not exist, for reading and writing.
    pub fn create_new(&self, name: &str) -> io::Result<File> {
        let mut options = std::fs::OpenOptions::new();
        options.read(true).write(true).create_new(true).open(self.absolute.join(name))
    }

    /// Whether something stands under `name`: a file that is open cannot be removed.
    pub fn has(&self, name: &str, file: &File) -> io::Result<bool> {
        Ok(super::is_at(file, &self.absolute.join(name)))
    }

    /// Whether it is certain that nothing stands under `name`.
    pub fn lacks(&self, name: &str) -> bool {
        let there = std::fs::symlink_metadata(self.absolute.join(name));
        there.is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
    }

    /// Whether a regular file stands under `name`.
    pub fn has_regular(&self, name: &str) -> bool {
        std::fs::symlink_metadata(self.absolute.join(name)).is_ok_and(|data| data.is_file())
    }

    /// The names of all that is in it.
    pub fn names(&self) -> io::Result<Vec<String>> {
        let entries = std::fs::read_dir(&self.absolute)?;
        entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
    }

    /// Renames a file in it, in place of another if there is one.
    pub fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        std::fs::rename(self.absolute.join(from), self.absolute.join(to))
    }

    /// Gives a file of another directory the same name in this one as well.
    pub fn link(&self, from: &Self, name: &str) -> io::Result<()> {
        std::fs::hard_link(from.absolute.join(name), self.absolute.join(name))
    }

    /// Removes a file.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        std::fs::remove_file(self.absolute.join(name))
    }

    /// The file system orders renames itself.
    pub fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::io::{Read, Write};
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn operations_go_to_the_directory_that_was_opened_wherever_it_is() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        fs::create_dir(at("one")).unwrap();
        fs::create_dir(at("two")).unwrap();
        symlink(at("one"), at("current")).unwrap();
        let handle = DirectoryHandle::open(&at("current")).unwrap();
        assert!(handle.is_at_path().unwrap());
        fs::remove_file(at("current")).unwrap();
        assert!(!handle.is_at_path().unwrap(), "nothing stands there");
        symlink(at("two"), at("current")).unwrap();
        assert!(!handle.is_at_path().unwrap(), "another one stands there");
        handle.create_new("a").unwrap().write_all(b"text").unwrap();
        handle.rename("a", "b").unwrap();
        handle.sync().unwrap();
        let mut text = String::new();
        handle.open_regular("b").unwrap().read_to_string(&mut text).unwrap();
        assert_eq!((text.as_str(), handle.names().unwrap()), ("text", vec!["b".to_string()]));
        assert!(at("one/b").exists() && fs::read_dir(at("two")).unwrap().next().is_none());
        let other = DirectoryHandle::open(&at("two")).unwrap();
        other.link(&handle, "b").unwrap();
        assert!(other.has("b", &handle.open_regular("b").unwrap()).unwrap());
        assert!(other.has_regular("b") && !other.lacks("b") && other.lacks("a"));
        handle.remove("b").unwrap();
        assert!(!handle.has_regular("b") && at("two/b").exists());
    }

    #[test]
    fn what_is_no_directory_or_no_regular_file_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        fs::write(at("file"), "x").unwrap();
        let error = DirectoryHandle::open(&at("file")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotADirectory);
        let handle = DirectoryHandle::open(root.path()).unwrap();
        symlink(at("file"), at("link")).unwrap();
        assert!(handle.open_regular("link").is_ok() && !handle.has_regular("link"));
        let error = handle.open_unfollowed("link").unwrap_err();
        assert!(error.to_string().contains("symbolic link"), "{error}");
        fs::create_dir(at("inner")).unwrap();
        assert!(handle.open_regular("inner").unwrap_err().to_string().contains("a directory"));
        assert_eq!(handle.create_new("file").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    }

    #[test]
    fn a_directory_is_locked_by_one_at_a_time() {
        let root = tempfile::tempdir().unwrap();
        let [one, two] = [(); 2].map(|()| DirectoryHandle::open(root.path()).unwrap());
        assert!(one.try_lock() && !two.try_lock());
        // What a process that is being started has, for a moment.
        let _inherited = one.file.try_clone().unwrap();
        one.unlock();
        assert!(two.try_lock());
    }
}
