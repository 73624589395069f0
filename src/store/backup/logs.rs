//! The logs of a backup.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use crate::access::{Access, InDirectory, ReadFiles};
use crate::error::{Error, Result};
use crate::files::{self, Temporary, Visible};
use crate::fingerprint::Fingerprint;
use crate::format::{Manifest, log_name};
use crate::log::{FollowedLog, Follower};

/// A log of the store that is copied, as far as its records are whole.
pub(super) struct WholeLog {
    number: u64,
    end: u64,
    /// What stands behind the end of a copy.
    mark: Vec<u8>,
}

/// The logs that a manifest leads to, the older first.
pub(super) fn logs_of<F: Fingerprint>(path: &Path, manifest: &Manifest) -> Result<Vec<WholeLog>> {
    let Some(section) = &manifest.log else { return Ok(Vec::new()) };
    let files = InDirectory { path, access: Access::Mapped };
    let logs = Follower::<F>::open(&files, section, manifest.store_id)?.into_logs();
    let whole = |log: &FollowedLog<F>| {
        let (number, end, mark) = (log.number(), log.end(), log.end_mark());
        WholeLog { number, end, mark }
    };
    Ok(logs.iter().map(whole).collect())
}

/// Refuses a copy that was written to, as far as its logs tell: they must be beginnings of those of the store, or of such as
/// segments hold by now.
pub(super) fn check_logs<F: Fingerprint>(
    (from, now): (&Path, &Manifest),
    (to, earlier): (&Path, &Manifest),
) -> Result<()> {
    let (Some(section), Some(section_now)) = (&earlier.log, &now.log) else { return Ok(()) };
    let copies = InDirectory { path: to, access: Access::Mapped };
    // Damage is no reason to refuse it: it is about to be replaced.
    let copied = Follower::<F>::salvage(&copies, section, earlier.store_id).0;
    let logs = InDirectory { path: from, access: Access::Mapped };
    let other = || Err(Error::OtherStore { path: to.to_path_buf() });
    for log in copied.into_logs() {
        if log.number() < section_now.first_log {
            if log.into_generation().next_sequence() > section_now.sequence + 1 {
                return other();
            }
            continue;
        }
        let name = log_name(log.number());
        let whole = |files: &InDirectory| match files.bytes_from(&name, 0) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            read => read.map_err(Error::io(files.path.join(&name), "read the log")),
        };
        let (copy, end) = (whole(&copies)?, log.end() as usize);
        if !whole(&logs)?.starts_with(&copy[..end.min(copy.len())]) {
            return other();
        }
    }
    Ok(())
}

/// A log at the output that has not its name yet.
pub(super) struct CopiedLog {
    temporary: Temporary,
    name: String,
    pub(super) bytes: u64,
}

impl WholeLog {
    /// Copies it beside its place; `None` if it is not there yet, as may be behind the last one.
    pub(super) fn copy(self, from: &Path, to: &Path) -> Result<Option<CopiedLog>> {
        let name = log_name(self.number);
        let (path, copied) = (from.join(&name), to.join(&name));
        let file = match files::open_regular(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && self.end == 0 => {
                return Ok(None);
            }
            opened => opened.map_err(Error::io(&path, "open the log"))?,
        };
        let copy = || -> io::Result<CopiedLog> {
            let temporary = Temporary::create(to, Visible::AsUsual)?;
            let bytes = copy_bytes(file, &mut temporary.file(), self.end)?;
            if bytes == self.end {
                temporary.file().write_all(&self.mark)?;
            }
            temporary.file().sync_all()?;
            Ok(CopiedLog { temporary, name, bytes })
        };
        copy().map(Some).map_err(Error::io(&copied, "copy the log"))
    }
}

impl CopiedLog {
    /// Brings it to its place.
    pub(super) fn publish(self, to: &Path) -> Result<()> {
        let path = to.join(&self.name);
        let place = || {
            self.temporary.persist(&path, true)?;
            files::sync_directory(to)
        };
        place().map_err(Error::io(&path, "copy the log"))
    }
}

/// Copies so many bytes of a file, or as many as it has.
pub(super) fn copy_bytes(from: File, to: &mut impl Write, most: u64) -> io::Result<u64> {
    io::copy(&mut from.take(most), to)
}
