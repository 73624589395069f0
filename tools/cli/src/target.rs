//! Files of results, which appear when they are whole.
//!
//! A name may lead elsewhere: the file behind a link is replaced, and the link stays. Devices,
//! pipes and descriptors such as `/dev/stdout` are written through, with `--force` and without, as
//! a shell does it; nothing takes their place.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use fpstore::files::{self, Destination, Lock, Ownership, Temporary, Through, Unfit};
use fpstore_records::is_stdin;

use crate::apart::Used;
use crate::failure::{Failure, signal_name};
use crate::interrupt::Stopper;
use crate::output::{Output, check_stdout, say};
use crate::progress::Progress;

/// The descriptor of standard output.
const STDOUT: u32 = 1;

/// Where results go.
#[derive(clap::Args)]
pub struct TargetArgs {
    /// The file to write, which appears when it is whole [default: standard output, `-`]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Replace FILE if it exists
    #[arg(short, long, requires = "output")]
    pub force: bool,
}

impl TargetArgs {
    /// The file, if one is given: `-` is standard output.
    pub fn file(&self) -> Option<&Path> {
        self.output.as_deref().filter(|path| !is_stdin(path))
    }

    /// Claims the file, if one is given, or finds out whether standard output takes the results.
    /// `used` is what the command reads.
    pub fn claim(&self, used: &Used<'_>) -> Result<Option<Target>, Failure> {
        match self.file() {
            Some(path) => Target::claim(path, self.force, used).map(Some),
            None => {
                check_stdout()?;
                used.check_stdout()?;
                Ok(None)
            }
        }
    }
}

/// A file that is being written, and does not have its name yet. Dropping it before
/// [`Target::commit`] removes what was written, unless another process is to go on with it. Or what
/// is written through.
pub struct Target {
    /// The name as it was given.
    path: PathBuf,
    /// What it leads to.
    place: PathBuf,
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
    /// A device, a pipe, or a descriptor that is open: there is nothing to replace.
    Through(File),
}

impl Target {
    /// Checks that a file may come to be at `path`, and is none of those that are `used`; and
    /// creates a temporary one beside it. `-` is standard output.
    pub fn claim(path: &Path, force: bool, used: &Used<'_>) -> Result<Self, Failure> {
        if is_stdin(path) {
            used.check_stdout()?;
            return Self::stdout();
        }
        let place = match look(path, force, used)? {
            Destination::File(place) => place,
            Destination::Through(through) => return Self::through(path, &through),
        };
        let directory = files::parent(&place);
        files::remove_dead(directory);
        let temporary = Temporary::create(directory);
        let temporary = temporary.map_err(failure(path, "create"))?;
        // Nobody reads now what he may not read later.
        files::keep_permissions(temporary.file(), &place, Ownership::Kept)
            .map_err(failure(path, "create"))?;
        Ok(Self::new(path, place, force, Written::Temporary(temporary)))
    }

    /// As [`Self::claim`], of a file that can be gone on with: FILE.part, created here, or left by
    /// a process that was stopped, with what it wrote. It stays until it is whole.
    pub fn claim_part(path: &Path, force: bool, used: &Used<'_>) -> Result<Self, Failure> {
        let Destination::File(place) = look(path, force, used)? else {
            let what = "is no regular file, so that nobody can go on with it; leave --resume out";
            return Err(usage(path, what));
        };
        used.check(&part_of(&place))?;
        // Such as the note that a process was writing when it was killed.
        files::remove_dead(files::parent(&place));
        Self::lock_part(path, place, force)
    }

    /// Takes FILE.part, and checks again: whoever held it before may have finished since.
    fn lock_part(path: &Path, place: PathBuf, force: bool) -> Result<Self, Failure> {
        let part = part_of(&place);
        let lock = Lock::take(&part).map_err(failure(&part, "use"))?;
        let lock = lock.ok_or_else(|| busy(path))?;
        let target = Self::new(path, place, force, Written::Part(lock));
        let is_new = target.len()? == 0;
        match check(path, &target.place, force) {
            Ok(()) => {
                if let (true, Some(Written::Part(lock))) = (is_new, &target.written) {
                    files::keep_permissions(lock.file(), &target.place, Ownership::Kept)
                        .map_err(failure(&part, "create"))?;
                }
                Ok(target)
            }
            Err(failure) => {
                // Created just now. What was written is not for us to remove.
                if let (true, Some(Written::Part(lock))) = (is_new, target.written) {
                    let _ = lock.remove();
                }
                Err(failure)
            }
        }
    }

    fn through(path: &Path, through: &Through) -> Result<Self, Failure> {
        if through.descriptor() == Some(STDOUT) {
            check_stdout()?;
        }
        let open = through.open().map_err(failure(path, "open"))?;
        Ok(Self::new(path, path.to_path_buf(), false, Written::Through(open)))
    }

    /// Standard output.
    fn stdout() -> Result<Self, Failure> {
        check_stdout()?;
        let name = Path::new("standard output");
        #[cfg(unix)]
        {
            use std::os::fd::AsFd;
            let open = io::stdout().as_fd().try_clone_to_owned();
            let open = open.map(File::from).map_err(failure(name, "open"))?;
            Ok(Self::new(name, name.to_path_buf(), false, Written::Through(open)))
        }
        #[cfg(not(unix))]
        Err(usage(name, "cannot be written here by this command; name a file"))
    }

    fn new(path: &Path, place: PathBuf, force: bool, written: Written) -> Self {
        Self { path: path.to_path_buf(), place, force, written: Some(written) }
    }

    /// Whether what was written stays if it does not become whole.
    fn stays(&self) -> bool {
        matches!(self.written, Some(Written::Part(_)))
    }

    /// Whether rows appear on a terminal as they are written.
    fn is_terminal(&self) -> bool {
        matches!(&self.written, Some(Written::Through(file)) if file.is_terminal())
    }

    /// The name that it will have, as it was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where it comes to be, behind all links; `None` for what is written through.
    pub fn place(&self) -> Option<&Path> {
        match &self.written {
            Some(Written::Through(_)) => None,
            _ => Some(&self.place),
        }
    }

    /// The name until it is whole.
    pub fn part(&self) -> &Path {
        match &self.written {
            Some(Written::Temporary(temporary)) => temporary.path(),
            Some(Written::Part(lock)) => lock.path(),
            Some(Written::Through(_)) | None => &self.path,
        }
    }

    fn open(&self) -> io::Result<&File> {
        match &self.written {
            Some(Written::Temporary(temporary)) => Ok(temporary.file()),
            Some(Written::Part(lock)) => Ok(lock.file()),
            Some(Written::Through(file)) => Ok(file),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// The file behind its first `bytes`; what follows them is cut off. What is written through has
    /// no start and no end.
    pub fn file(&self, bytes: u64) -> Result<File, Failure> {
        use std::io::{Seek, SeekFrom};
        let open = self.open().and_then(|file| {
            if matches!(self.written, Some(Written::Through(_))) {
                return file.try_clone();
            }
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
            Some(Written::Temporary(temporary)) => temporary.persist(&self.place, self.force),
            Some(Written::Part(lock)) => lock.persist(&self.place, self.force),
            Some(Written::Through(_)) | None => return Ok(()),
        };
        match named {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(usage(&self.path, "has come to be meanwhile, and is not replaced"))
            }
            named => named.map_err(failure(&self.path, "name")),
        }
    }
}

/// Where a file called `path` comes to be; `None` where that is no regular file.
pub fn place_of(path: &Path) -> Option<PathBuf> {
    match Destination::of(path) {
        Ok(Destination::File(place)) => Some(place),
        _ => None,
    }
}

/// Where a file that can be gone on with is written.
pub fn part_of(path: &Path) -> PathBuf {
    beside(path, ".part")
}

/// Removes what a process that was stopped left beside `path`, once it is given up.
pub fn remove_part(path: &Path) -> Result<(), Failure> {
    let part = part_of(path);
    match Lock::take_existing(&part) {
        Ok(Some(lock)) => lock.remove().map_err(failure(&part, "remove")),
        Ok(None) => Err(busy(path)),
        // What is no file of a join is left alone.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) if Unfit::remedy(&error).is_some() => Ok(()),
        Err(error) => Err(failure(&part, "remove")(error)),
    }
}

/// What `path` leads to. Checks that it may be written, and that it is nothing that is `used`.
fn look(path: &Path, force: bool, used: &Used<'_>) -> Result<Destination, Failure> {
    let bytes = path.as_os_str().as_encoded_bytes();
    let is_directory = bytes.last() == Some(&b'/') || path.is_dir();
    if is_directory || path.file_name().is_none() {
        return Err(usage(path, "is a directory; name a file"));
    }
    used.check(path)?;
    let destination = Destination::of(path).map_err(failure(path, "use"))?;
    if let Destination::File(place) = &destination {
        check(path, place, force)?;
    }
    Ok(destination)
}

/// Checks that a file may come to be at `place`, or takes that of another one.
fn check(path: &Path, place: &Path, force: bool) -> Result<(), Failure> {
    match fs::symlink_metadata(place) {
        Ok(data) if data.is_dir() => return Err(usage(path, "is a directory; name a file")),
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

/// Whether the rows of a command appear on a terminal.
pub fn is_terminal(target: Option<&Target>) -> bool {
    target.map_or_else(|| io::stdout().is_terminal(), Target::is_terminal)
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
    // What is written through is as little whole as standard output, and stays where it is.
    let target = target.filter(|target| target.place().is_some());
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
        let used = Used::nothing();
        let claimed =
            |force| Target::claim_part(&path, force, &used).map_err(|failure| failure.line());
        let first = claimed(false).unwrap();
        first.file(0).unwrap().write_all(b"whole").unwrap();
        assert!(claimed(false).err().unwrap().contains("is being written by another process"));
        // A second process has found nothing under the name, and the first one finishes before that
        // takes FILE.part.
        check(&path, &path, false).unwrap();
        first.commit().unwrap();
        let failure = Target::lock_part(&path, path.clone(), false).err().unwrap();
        assert!(failure.line().contains("exists"), "{}", failure.line());
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        assert!(!part_of(&path).exists(), "nothing is left of the attempt");
        // By force another result is written, and the first one stays until that is whole.
        let second = Target::lock_part(&path, path.clone(), true).unwrap();
        second.file(0).unwrap().write_all(b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        second.commit().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
    }
}
