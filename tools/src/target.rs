//! Files of results, which appear when they are whole.

use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use crate::failure::{Failure, signal_name};
use crate::interrupt::Stopper;
use crate::output::Output;
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

/// A file that is being written, as FILE.part. Dropping it before [`Target::commit`] removes what
/// was written, unless it is to be [kept](Target::keep). What a killed process left is overwritten
/// by the next one.
pub struct Target {
    path: PathBuf,
    part: PathBuf,
    /// Locked; gone once it has its name.
    file: Option<File>,
    keep: bool,
}

impl Target {
    /// Checks that a file may come to be at `path`, and gets ready for it. What a killed process left
    /// is still in it.
    pub fn claim(path: &Path, force: bool) -> Result<Self, Failure> {
        let usage = |message: &str| Err(Failure::Usage(format!("{}: {message}", path.display())));
        match fs::metadata(path) {
            Ok(data) if data.is_dir() => return usage("is a directory; name a file"),
            Ok(data) if !data.is_file() => {
                return usage("is no regular file; leave --to out, and redirect the output");
            }
            Ok(_) if !force => return usage("exists; name another file, or give --force"),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failure(path, "look at")(error)),
        }
        let part = beside(path, ".part");
        let mut open = File::options();
        open.read(true).write(true).create(true).truncate(false);
        let file = open.open(&part).map_err(failure(&part, "create"))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return usage("is being written by another process; wait for it, or stop it");
            }
            Err(TryLockError::Error(source)) => return Err(failure(&part, "lock")(source)),
        }
        Ok(Self { path: path.to_path_buf(), part, file: Some(file), keep: false })
    }

    /// Whether what was written stays if it does not become whole.
    pub fn keep(&mut self, keep: bool) {
        self.keep = keep;
    }

    /// The name until it is whole.
    pub fn part(&self) -> &Path {
        &self.part
    }

    /// The file behind its first `bytes`; what follows them is cut off.
    pub fn file(&self, bytes: u64) -> Result<File, Failure> {
        use std::io::{Seek, SeekFrom};
        let file = self.file.as_ref().ok_or(io::ErrorKind::NotFound.into());
        let open = file.and_then(|file| {
            file.set_len(bytes)?;
            let mut file = file.try_clone()?;
            file.seek(SeekFrom::Start(bytes))?;
            Ok(file)
        });
        open.map_err(failure(&self.part, "write"))
    }

    /// Bytes that are there.
    pub fn len(&self) -> Result<u64, Failure> {
        Ok(fs::metadata(&self.part).map_err(failure(&self.part, "look at"))?.len())
    }

    /// Makes durable what was passed on.
    pub fn sync(&self) -> Result<(), Failure> {
        match &self.file {
            Some(file) => file.sync_data().map_err(failure(&self.part, "write")),
            None => Ok(()),
        }
    }

    /// Gives the file its name, once all is written and passed on.
    pub fn commit(mut self) -> Result<(), Failure> {
        self.sync()?;
        fs::rename(&self.part, &self.path).map_err(failure(&self.part, "rename"))?;
        self.file = None;
        sync_directory(&self.path)
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        if self.file.is_some() && !self.keep {
            let _ = fs::remove_file(&self.part);
        }
    }
}

/// An output to the target, or to standard output.
pub fn output(target: Option<&Target>) -> Result<Output, Failure> {
    Ok(match target {
        Some(target) => Output::file(target.file(0)?, target.part()),
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
    let part = target.map(|target| (target.part().to_path_buf(), target.keep));
    stopper.watch(move |signal| {
        progress.finish();
        let rest = match &part {
            Some((_, true)) => "give the same command again to go on",
            Some((part, false)) => {
                // Destructors do not run.
                let _ = fs::remove_file(part);
                "nothing was changed"
            }
            None => "the output is not whole",
        };
        eprintln!("fpstore: stopped by {}; {rest}", signal_name(signal));
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

/// Makes the name of `path` durable.
#[cfg(unix)]
pub fn sync_directory(path: &Path) -> Result<(), Failure> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new("."));
    let synced = File::open(parent).and_then(|directory| directory.sync_all());
    synced.map_err(failure(parent, "sync"))
}

/// Elsewhere a directory cannot be opened.
#[cfg(not(unix))]
pub fn sync_directory(_path: &Path) -> Result<(), Failure> {
    Ok(())
}
