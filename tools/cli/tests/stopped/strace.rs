//! Runs the tool under `strace`, which tells the system calls that change files, and lets one of
//! them fail or kills the tool there.
//!
//! `strace` counts calls for each thread on its own, and only those of a path if it is told one. So
//! a call is named by its path wherever that is known beforehand: else the first of the threads
//! that comes to a number would hide the others. A stop can meet none where the order of a run is
//! another one.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use std::{fmt, fs};

use tempfile::NamedTempFile;

use crate::Scratch;
use crate::scratch::Ran;

/// Calls that change a file or a directory, or take a lock, by what they may fail with.
const OPENING: [&str; 3] = ["open", "openat", "creat"];
const FILLING: [&str; 14] = [
    "write",
    "pwrite64",
    "writev",
    "pwritev",
    "pwritev2",
    "ftruncate",
    "truncate",
    "fallocate",
    "fsync",
    "fdatasync",
    "sync_file_range",
    "msync",
    "copy_file_range",
    "sendfile",
];
const NAMING: [&str; 9] = [
    "rename",
    "renameat",
    "renameat2",
    "link",
    "linkat",
    "symlink",
    "symlinkat",
    "mkdir",
    "mkdirat",
];
const TAKING: [&str; 10] = [
    "unlink", "unlinkat", "rmdir", "flock", "chmod", "fchmod", "fchmodat", "chown", "fchown",
    "fchownat",
];
/// A kill there comes behind all that the command has done.
const END: &str = "exit_group";
/// The exit code of a program whose libraries cannot be loaded.
const NOT_LOADED: i32 = 127;
/// Longer than any of these commands takes on the slowest machine: it hangs.
const HANGS: Duration = Duration::from_secs(120);

/// What happens at a call, before it has taken effect. What stands after a call is what a kill at
/// the next one leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    Eio,
    Enospc,
    Kill,
}

pub const FAULTS: [Fault; 3] = [Fault::Eio, Fault::Enospc, Fault::Kill];

impl Fault {
    fn injection(self) -> &'static str {
        match self {
            Self::Eio => "error=EIO",
            Self::Enospc => "error=ENOSPC",
            Self::Kill => "signal=KILL",
        }
    }

    /// Whether a call can end so.
    fn fits(self, call: &str) -> bool {
        match self {
            Self::Kill => true,
            Self::Eio => call != END,
            Self::Enospc => call != END && !TAKING.contains(&call),
        }
    }
}

/// A call of the tool.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Call {
    name: String,
    /// What it is about, as a name in the scratch; `None` of a name that is another one each time.
    path: Option<String>,
    /// Which it is, from 1 on, among those of a thread with the same name and path.
    number: usize,
    /// Whether the first thread that comes to this number changes something: at a kill the others
    /// never come to it, and the tool would end while it is loaded.
    is_first: bool,
}

impl Call {
    /// Whether it gives a file its name, or takes it.
    pub fn names(&self) -> bool {
        NAMING.contains(&&*self.name) || self.name.starts_with("unlink")
    }

    /// The faults that it can meet.
    pub fn faults(&self) -> impl Iterator<Item = Fault> {
        let fits =
            |&fault: &Fault| fault.fits(&self.name) && (self.is_first || fault != Fault::Kill);
        FAULTS.into_iter().filter(fits)
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} of {}", self.name, self.number, self.path.as_deref().unwrap_or("all"))
    }
}

/// A call and what happens there.
#[derive(Clone, Debug)]
pub struct Stop {
    pub call: Call,
    pub fault: Fault,
}

/// Whether there is an `strace` that may trace; says so if not.
pub fn is_there() -> bool {
    let run = Command::new("strace").args(["-f", "-o", "/dev/null", "true"]).output();
    let reason = match run {
        Ok(output) if output.status.success() => return true,
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_string(),
        Err(error) => error.to_string(),
    };
    crate::tell(&format!("skipped, since there is no strace that may trace: {reason}"));
    false
}

/// The calls of a run without faults that change something in the scratch, and its end.
pub fn record(scratch: &Scratch, line: &str) -> Vec<Call> {
    let all = [&OPENING[..], &FILLING, &NAMING, &TAKING, &[END]].concat().join(",");
    let (ended, log) = run(scratch, line, &["-e", &format!("trace={all}")]);
    assert_eq!(ended.code, Some(0), "{line}: {ended:#?}");
    calls(&log, &scratch.path(""))
}

/// Runs a command that meets a fault; gives also what `strace` tells of the call, if there was one.
pub fn stop(scratch: &Scratch, line: &str, stop: &Stop) -> (Ran, Option<String>) {
    let Call { name, number, path, .. } = &stop.call;
    let trace = format!("trace={name}");
    let inject = format!("inject={name}:{}:when={number}", stop.fault.injection());
    let mut options = vec!["-e", &trace, "-e", &inject, "--quiet=attach,path-resolution"];
    let whole = path.as_ref().map(|path| scratch.path(path).display().to_string());
    for path in path.iter().chain(&whole) {
        options.extend(["-P", path.trim_end_matches("/.")]);
    }
    let (ended, log) = run(scratch, line, &options);
    // A call that a kill meets has no result.
    let killed = ended.code.is_none();
    let is_hit = |line: &&str| line.contains("(INJECTED)") || killed && line.ends_with("= ?");
    let hit = log.lines().rfind(is_hit).or(log.lines().last().filter(|_| killed));
    let hit = hit.filter(|_| !is_not_loaded(&ended)).map(str::to_string);
    (ended, hit)
}

/// Whether the fault has met the loading of the tool, so that it did not run at all.
pub fn is_not_loaded(ended: &Ran) -> bool {
    ended.code == Some(NOT_LOADED)
}

/// Runs a command under `strace`; gives also what that tells.
fn run(scratch: &Scratch, line: &str, options: &[&str]) -> (Ran, String) {
    let log = NamedTempFile::with_prefix("fpstore-strace-").unwrap();
    let mut command = Command::new("strace");
    command.args(["-f", "-y", "-o"]).arg(log.path()).args(options).arg(crate::PROGRAM);
    command.args(line.split_whitespace()).current_dir(scratch.path(""));
    command.env("TMPDIR", scratch.path("tmp")).stdin(Stdio::null());
    // A group of its own, so that the tool goes with it.
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn().unwrap();
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > HANGS {
            let group = format!("-{}", child.id());
            Command::new("kill").args(["-KILL", "--", &group]).status().unwrap();
            panic!("`{line}` hangs: {}", fs::read_to_string(log.path()).unwrap());
        }
        thread::sleep(Duration::from_millis(1));
    }
    let output = child.wait_with_output().unwrap();
    let killed = output.status.signal();
    assert!(killed.is_none_or(|signal| signal == 9), "{line}: {output:?}");
    (Ran::new(line, output), fs::read_to_string(log.path()).unwrap())
}

/// The calls of a trace that change something below `root`, each once.
fn calls(log: &str, root: &Path) -> Vec<Call> {
    let root = root.to_str().unwrap().trim_end_matches('/');
    let mut counts: HashMap<(&str, &str, Option<String>), usize> = HashMap::new();
    let (mut calls, mut others) = (BTreeMap::new(), HashSet::new());
    let mut opened = HashMap::new();
    for line in log.lines() {
        // Lines of signals, of exits and of calls that go on have another form.
        let Some((thread, rest)) = line.split_once(char::is_whitespace) else { continue };
        let Some((name, arguments)) = rest.trim_start().split_once('(') else { continue };
        if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            continue;
        }
        let paths = paths_below(root, name, arguments);
        let changes = name == END || !paths.is_empty() && changes(name, arguments);
        let mut number = 0;
        let path = paths.iter().rfind(|path| is_foreseen(path)).cloned();
        for counted in paths.into_iter().map(Some).chain([None]) {
            let count = counts.entry((thread, name, counted.clone())).or_default();
            *count += 1;
            if counted == path {
                number = *count;
            }
        }
        let place = (name, path, number);
        // A directory is opened only to sync it: the sync itself may hide behind that of a worker.
        let before = opened.insert(thread, place.clone());
        if let Some(before) = before.filter(|(_, path, _)| name == "fsync" && *path == place.1)
            && OPENING.contains(&before.0)
        {
            let is_first = others.remove(&before);
            calls.entry(before).or_insert(is_first);
        }
        if changes {
            calls.entry(place.clone()).or_insert(!others.contains(&place));
        } else {
            others.insert(place);
        }
    }
    let call = |((name, path, number), is_first): ((&str, Option<String>, usize), bool)| Call {
        name: name.to_string(),
        path,
        number,
        is_first,
    };
    calls.into_iter().map(call).collect()
}

/// Whether a call is to change something.
fn changes(name: &str, arguments: &str) -> bool {
    let writes = || ["O_CREAT", "O_WRONLY", "O_RDWR"].iter().any(|flag| arguments.contains(flag));
    !OPENING.contains(&name) || writes()
}

/// The paths of a call that are below `root`, where the tool runs, as names there.
fn paths_below(root: &str, name: &str, arguments: &str) -> Vec<String> {
    // What it gives is no argument.
    let arguments = arguments.rsplit_once(" = ").map_or(arguments, |(arguments, _)| arguments);
    let mut paths = Vec::new();
    let (mut rest, mut is_in_directory) = (arguments, false);
    while let Some(start) = rest.find(['<', '"']) {
        let is_opened = rest[start..].starts_with('<');
        let end = if is_opened { '>' } else { '"' };
        let (before, behind) = (&rest[..start], &rest[start + 1..]);
        let Some((path, behind)) = behind.split_once(end) else { break };
        // The directory in which the tool runs does not say what a call is about.
        let is_current = is_opened && before.ends_with("AT_FDCWD");
        if !is_current && (is_opened || !is_in_directory) {
            paths.extend(name_below(root, path, is_opened));
        }
        (is_in_directory, rest) = (is_opened && !is_current, behind);
        // What is written may look like a path, and of `rename` strace heeds the first path only.
        if FILLING.contains(&name) || name == "rename" {
            break;
        }
    }
    paths
}

/// The name of a path below `root`.
fn name_below(root: &str, path: &str, is_opened: bool) -> Option<String> {
    match path.strip_prefix(root) {
        Some("") => Some(".".to_string()),
        Some(name) => name.strip_prefix('/').map(str::to_string),
        None if is_opened || path.starts_with('/') => None,
        None => Some(path.to_string()),
    }
}

/// Whether a name is the same each time; those of temporary files are random but for one.
fn is_foreseen(name: &str) -> bool {
    !name.contains(".tmp") || name.ends_with(".tmp-fpstore-manifest")
}
