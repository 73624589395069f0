//! Runs a real program in a directory of its own, and judges what it leaves. `crate::PROGRAM` is
//! the program; the tests of `fpstore-bench` share this file.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// A directory in which the tool runs, so that messages hold the names as they were given.
pub struct Scratch(TempDir);

impl Scratch {
    pub fn new() -> Self {
        Scratch(TempDir::with_prefix("fpstore-cli-").unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).unwrap();
    }

    /// The command of an argument line, in which white space separates and nothing quotes.
    pub fn command(&self, line: &str) -> Command {
        let mut command = Command::new(crate::PROGRAM);
        command.args(line.split_whitespace()).current_dir(self.0.path()).stdin(Stdio::null());
        command
    }

    pub fn run(&self, line: &str) -> Ran {
        Ran::new(line, self.command(line).output().unwrap())
    }

    /// Runs a line that the tool has printed, as it was printed, in a shell that finds the tool by
    /// its name.
    #[cfg(unix)]
    #[allow(dead_code, reason = "not all programs print some")]
    pub fn run_printed(&self, line: &str) -> Ran {
        let program = std::path::Path::new(crate::PROGRAM);
        let beside = program.parent().unwrap().display();
        let path = format!("{beside}:{}", std::env::var("PATH").unwrap_or_default());
        let mut command = Command::new("sh");
        command.arg("-c").arg(line).env("PATH", path);
        command.current_dir(self.0.path()).stdin(Stdio::null());
        Ran::new(line, command.output().unwrap())
    }

    /// Runs with so much address space, where the system can hold it to that.
    pub fn run_within(&self, kib: u64, line: &str) -> Ran {
        if !cfg!(unix) {
            return self.run(line);
        }
        let mut command = Command::new("sh");
        command.arg("-c").arg(format!("ulimit -v {kib} && exec \"$0\" \"$@\""));
        command.arg(crate::PROGRAM).args(line.split_whitespace());
        command.current_dir(self.0.path()).stdin(Stdio::null());
        Ran::new(line, command.output().unwrap())
    }

    /// Runs with `input` on standard input, through a pipe.
    pub fn run_with(&self, line: &str, input: &[u8]) -> Ran {
        let mut command = self.command(line);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_vec();
        // A tool that ends before it has read all of its input closes the pipe.
        let writer = thread::spawn(move || drop(stdin.write_all(&input)));
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        Ran::new(line, output)
    }

    /// Runs with a standard input that stays open and gives nothing: the tool must not wait for it.
    pub fn run_without_reading(&self, line: &str) -> Ran {
        let mut command = self.command(line);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdin = child.stdin.take().unwrap();
        let start = Instant::now();
        while child.try_wait().unwrap().is_none() {
            if start.elapsed() > Duration::from_secs(30) {
                child.kill().unwrap();
                panic!("`{line}` waits for its input");
            }
            thread::sleep(Duration::from_millis(5));
        }
        drop(stdin);
        Ran::new(line, child.wait_with_output().unwrap())
    }

    /// Packs `set` into the store `name`.
    pub fn pack(&self, name: &str, set: &[u64], options: &str) {
        let line = format!("pack - -o {name} --format u64le --quiet {options}");
        self.run_with(&line, &raw(set)).packs(set);
    }

    /// The fingerprints of the store `name`, as `dump` prints them.
    pub fn dump(&self, name: &str) -> Vec<u64> {
        unhex(&self.run(&format!("dump {name}")).succeeds().stdout)
    }

    /// The same of a name that has blanks.
    #[allow(dead_code, reason = "not all programs print some")]
    pub fn dump_of(&self, name: &str) -> Vec<u64> {
        let output = self.command("dump").arg(name).output().unwrap();
        unhex(&Ran::new(name, output).succeeds().stdout)
    }

    /// Names and lengths of everything in the directory `name`, sorted.
    pub fn listing(&self, name: &str) -> Vec<(String, u64)> {
        let entries = fs::read_dir(self.path(name)).unwrap().map(|entry| entry.unwrap());
        let mut listing: Vec<_> = entries
            .map(|e| (e.file_name().into_string().unwrap(), e.metadata().unwrap().len()))
            .collect();
        listing.sort();
        listing
    }

    /// The files of a store with their lengths. What is in `lock` means nothing.
    pub fn store_files(&self, name: &str) -> Vec<(String, u64)> {
        let mut files = self.listing(name);
        files.retain(|(name, _)| name != "lock");
        files
    }
}

/// What a run has left.
#[derive(Debug)]
pub struct Ran {
    #[expect(dead_code, reason = "failed assertions print it")]
    pub line: String,
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    pub fn new(line: &str, output: Output) -> Self {
        Ran {
            line: line.to_string(),
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    #[track_caller]
    pub fn ends_with_code(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }

    /// Exit code 0 and nothing on standard error.
    #[track_caller]
    pub fn succeeds(self) -> Self {
        assert_eq!(self.stderr, "", "{self:#?}");
        self.ends_with_code(0)
    }

    /// Exit code 0, and on standard error nothing but what the inputs of a pack were taken for.
    #[track_caller]
    #[allow(dead_code, reason = "not all programs pack")]
    pub fn packs_telling(self) -> Self {
        let is_told = |line: &str| {
            ["a list in ", "raw integers", "CSV", "TSV", "JSON lines", "Parquet", "Arrow", "a .npy"]
                .iter()
                .any(|format| line.contains(&format!(": {format}")))
        };
        assert!(!self.stderr.is_empty() && self.stderr.lines().all(is_told), "{self:#?}");
        self.ends_with_code(0)
    }

    /// As `succeeds`, of a pack of `set`; an empty one is warned of.
    #[track_caller]
    pub fn packs(self, set: &[u64]) -> Self {
        let warning = "the inputs hold no fingerprint, and the store is empty\n";
        assert!(!set.is_empty() || self.stderr.ends_with(warning), "{self:#?}");
        if set.is_empty() { self.ends_with_code(0) } else { self.succeeds() }
    }

    /// Exit code 2, nothing on standard output, and just this line on standard error.
    #[track_caller]
    pub fn fails_with(self, message: &str) {
        assert_eq!(self.stderr, format!("fpstore: {message}\n"), "{self:#?}");
        assert_eq!(self.stdout, "", "{self:#?}");
        self.ends_with_code(2);
    }

    /// Exit code 2, nothing on standard output, and one line on standard error with these parts.
    #[track_caller]
    pub fn fails_naming(self, parts: &[&str]) {
        assert!(self.stderr.starts_with("fpstore: "), "{self:#?}");
        assert_eq!(self.stderr.matches('\n').count(), 1, "{self:#?}");
        for part in parts {
            assert!(self.stderr.contains(part), "no {part:?} in {self:#?}");
        }
        assert_eq!(self.stdout, "", "{self:#?}");
        self.ends_with_code(2);
    }
}

pub fn raw(set: &[u64]) -> Vec<u8> {
    set.iter().flat_map(|fingerprint| fingerprint.to_le_bytes()).collect()
}

pub fn hex(set: &[u64]) -> String {
    set.iter().map(|fingerprint| format!("{fingerprint:016x}\n")).collect()
}

pub fn unhex(lines: &str) -> Vec<u64> {
    lines.lines().map(|line| u64::from_str_radix(line, 16).unwrap()).collect()
}
