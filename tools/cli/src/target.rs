//! Files of results, which appear when they are whole.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use fpstore::files::{self, Lock, Owner, Temporary, Unfit, Visible};

use crate::failure::{Failure, signal_name};
use crate::interrupt::Stopper;
use crate::output::{Output, say};
use crate::progress::Progress;

/// Where results go.
#[derive(clap::Args)]
pub struct TargetArgs {
    /// Write to this file, which appears when it is whole, instead of standard output
    #[arg(long, value_name = "FILE")]
    pub to: Option<PathBuf>,

    /// Replace FILE if it exists
    #[arg(short, long, requires = "to")]
    pub force: bool,
}

impl TargetArgs {
    /// Claims the file, if one is given.
    pub fn claim(&self) -> Result<Option<Target>, Failure> {
        self.to.as_ref().map(|path| Target::claim(path, self.force)).transpose()
    }
}

/// A file that is being written, and does not have its name yet. Dropping it before [`Target::commit`]
/// removes what was written, unless another process is to go on with it.
pub struct Target {
    path: PathBuf,
    force: bool,
    /// Gone once it has its name.
    written: Option<Written>,
}

/// The file until it has its name.
enum Written {
    /// Nobody needs to find it again. What a killed process left goes with the next one.
    Temporary(Temporary),
    /// FILE.part, which another process goes on with.
    Part(Lock),
}

impl Target {
    /// Checks that a file may come to be at `path`, and creates a temporary one beside it.
    pub fn claim(path: &Path, force: bool) -> Result<Self, Failure> {
        check(path, force)?;
        let directory = files::parent(path);
        files::remove_dead(directory);
        let temporary = Temporary::create(directory, Visible::AsUsual);
        let temporary = temporary.map_err(failure(path, "create"))?;
        Ok(Self::new(path, force, Written::Temporary(temporary)))
    }

    /// As [`Self::claim`], of a file that can be gone on with: FILE.part, created here, or left by a
    /// process that was stopped, with what it wrote. It stays until it is whole.
    pub fn claim_part(path: &Path, force: bool) -> Result<Self, Failure> {
        check(path, force)?;
        // Such as the note that a process was writing when it was killed.
        files::remove_dead(files::parent(path));
        Self::lock_part(path, force)
    }

    /// Takes FILE.part, and checks again: whoever held it before may have finished since.
    fn lock_part(path: &Path, force: bool) -> Result<Self, Failure> {
        let part = part_of(path);
        let lock = Lock::take(&part, Owner::Me).map_err(failure(&part, "use"))?;
        let target = Self::new(path, force, Written::Part(lock.ok_or_else(|| busy(path))?));
        match check(path, force) {
            Ok(()) => Ok(target),
            Err(failure) => {
                // Created just now. What was written is not for us to remove.
                if let (0, Some(Written::Part(lock))) = (target.len()?, target.written) {
                    let _ = lock.remove();
                }
                Err(failure)
            }
        }
    }

    fn new(path: &Path, force: bool, written: Written) -> Self {
        Self { path: path.to_path_buf(), force, written: Some(written) }
    }

    /// Whether what was written stays if it does not become whole.
    fn stays(&self) -> bool {
        matches!(self.written, Some(Written::Part(_)))
    }

    /// The name that it will have.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The name until it is whole.
    pub fn part(&self) -> &Path {
        match &self.written {
            Some(Written::Temporary(temporary)) => temporary.path(),
            Some(Written::Part(lock)) => lock.path(),
            None => &self.path,
        }
    }

    fn open(&self) -> io::Result<&File> {
        match &self.written {
            Some(Written::Temporary(temporary)) => Ok(temporary.file()),
            Some(Written::Part(lock)) => Ok(lock.file()),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// The file behind its first `bytes`; what follows them is cut off.
    pub fn file(&self, bytes: u64) -> Result<File, Failure> {
        use std::io::{Seek, SeekFrom};
        let open = self.open().and_then(|file| {
            file.set_len(bytes)?;
            let mut file = file.try_clone()?;
            file.seek(SeekFrom::Start(bytes))?;
            Ok(file)
        });
        open.map_err(failure(&self.path, "write"))
    }

    /// Bytes that are there.
    pub fn len(&self) -> Result<u64, Failure> {
        let data = self.open().and_then(File::metadata);
        Ok(data.map_err(failure(self.part(), "look at"))?.len())
    }

    /// Makes durable what was passed on.
    pub fn sync(&self) -> Result<(), Failure> {
        self.open().and_then(File::sync_data).map_err(failure(&self.path, "write"))
    }

    /// Gives the file its name, once all is written and passed on. What has come to stand there
    /// meanwhile is replaced only where that is wanted.
    pub fn commit(mut self) -> Result<(), Failure> {
        let named = match self.written.take() {
            Some(Written::Temporary(temporary)) => temporary.persist(&self.path, self.force),
            Some(Written::Part(lock)) => lock.persist(&self.path, self.force),
            None => return Ok(()),
        };
        match named {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(usage(&self.path, "has come to be meanwhile, and is not replaced"))
            }
            named => named.map(drop).map_err(failure(&self.path, "name")),
        }
    }
}

/// Where a file that can be gone on with is written.
pub fn part_of(path: &Path) -> PathBuf {
    beside(path, ".part")
}

/// Removes what a process that was stopped left beside `path`, once it is given up.
pub fn remove_part(path: &Path) -> Result<(), Failure> {
    let part = part_of(path);
    match Lock::take_existing(&part, Owner::Me) {
        Ok(Some(lock)) => lock.remove().map_err(failure(&part, "remove")),
        Ok(None) => Err(busy(path)),
        // What is no file of a join is left alone.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) if Unfit::remedy(&error).is_some() => Ok(()),
        Err(error) => Err(failure(&part, "remove")(error)),
    }
}

/// Checks that a file may come to be at `path`.
fn check(path: &Path, force: bool) -> Result<(), Failure> {
    match fs::metadata(path) {
        Ok(data) if data.is_dir() => return Err(usage(path, "is a directory; name a file")),
        Ok(data) if !data.is_file() => {
            let message = "is no regular file; leave --to out, and redirect the output";
            return Err(usage(path, message));
        }
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(failure(path, "look at")(error));
        }
        _ => {}
    }
    // A link that leads nowhere stands there as well.
    if !force && fs::symlink_metadata(path).is_ok() {
        return Err(usage(path, "exists; name another file, or give --force"));
    }
    Ok(())
}

fn busy(path: &Path) -> Failure {
    usage(path, "is being written by another process; wait for it, or stop it")
}

fn usage(path: &Path, message: &str) -> Failure {
    Failure::Usage(format!("{}: {message}", path.display()))
}

/// An output to the target, or to standard output.
pub fn output(target: Option<&Target>) -> Result<Output, Failure> {
    Ok(match target {
        Some(target) => Output::file(target.file(0)?, target.path()),
        None => Output::stdout(),
    })
}

/// From now on a signal ends the process, and removes what was written to the target, unless it is
/// to be kept.
pub fn watch(
    stopper: &Stopper,
    progress: &Progress,
    target: Option<&Target>,
) -> Result<(), Failure> {
    let progress = progress.clone();
    let part = target.map(|target| (target.part().to_path_buf(), target.stays()));
    stopper.watch(move |signal| {
        let rest = match &part {
            Some((_, true)) => "give the same command again to go on",
            Some((part, false)) => {
                // Destructors do not run.
                let _ = fs::remove_file(part);
                "nothing was changed"
            }
            None => "the output is not whole",
        };
        progress.finish();
        say!("fpstore: stopped by {}; {rest}", signal_name(signal));
    })
}

/// The path with `suffix` behind its name.
pub fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

/// A failure to do something with a file.
pub fn failure(path: &Path, action: &'static str) -> impl Fn(io::Error) -> Failure {
    let path = path.to_path_buf();
    move |source| Failure::File { path: path.clone(), action, source }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn who_waited_for_a_part_does_not_take_or_follow_the_finished_result() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pairs");
        let claimed = |force| Target::claim_part(&path, force).map_err(|failure| failure.line());
        let first = claimed(false).unwrap();
        first.file(0).unwrap().write_all(b"whole").unwrap();
        assert!(claimed(false).err().unwrap().contains("is being written by another process"));
        // A second process has found nothing under the name, and the first one finishes before that
        // takes FILE.part.
        check(&path, false).unwrap();
        first.commit().unwrap();
        let failure = Target::lock_part(&path, false).err().unwrap();
        assert!(failure.line().contains("exists"), "{}", failure.line());
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        assert!(!part_of(&path).exists(), "nothing is left of the attempt");
        // By force another result is written, and the first one stays until that is whole.
        let second = Target::lock_part(&path, true).unwrap();
        second.file(0).unwrap().write_all(b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        second.commit().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
    }
}
