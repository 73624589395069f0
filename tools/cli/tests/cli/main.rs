//! Runs the real binary and holds it to its contract: what it prints where, and its exit codes.

mod bad_input;
mod bad_records;
mod bench;
mod broken_files;
mod browser;
mod crash;
mod dedup;
mod external;
mod formats;
mod help;
mod hostile;
mod id_map;
mod ids;
mod inputs;
mod join;
mod maintenance;
mod oracle;
mod pack;
#[cfg(feature = "parquet")]
mod pairs;
mod pipes;
mod plan;
#[cfg(unix)]
mod planted;
mod progress;
mod query;
mod report;
#[cfg(feature = "parquet")]
mod round_trips;
#[cfg(target_os = "linux")]
mod signals;
mod tables;
mod terminal;
mod writers;

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// A directory in which the tool runs, so that messages hold the names as they were given.
struct Scratch(TempDir);

impl Scratch {
    fn new() -> Self {
        Scratch(TempDir::with_prefix("fpstore-cli-").unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).unwrap();
    }

    /// The command of an argument line, in which white space separates and nothing quotes.
    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fpstore"));
        command.args(line.split_whitespace()).current_dir(self.0.path()).stdin(Stdio::null());
        command
    }

    fn run(&self, line: &str) -> Ran {
        Ran::new(line, self.command(line).output().unwrap())
    }

    /// Runs with so much address space, where the system can hold it to that.
    fn run_within(&self, kib: u64, line: &str) -> Ran {
        if !cfg!(unix) {
            return self.run(line);
        }
        let mut command = Command::new("sh");
        command.arg("-c").arg(format!("ulimit -v {kib} && exec \"$0\" \"$@\""));
        command.arg(env!("CARGO_BIN_EXE_fpstore")).args(line.split_whitespace());
        command.current_dir(self.0.path()).stdin(Stdio::null());
        Ran::new(line, command.output().unwrap())
    }

    /// Runs with `input` on standard input, through a pipe.
    fn run_with(&self, line: &str, input: &[u8]) -> Ran {
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
    fn run_without_reading(&self, line: &str) -> Ran {
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
    fn pack(&self, name: &str, set: &[u64], options: &str) {
        let line = format!("pack - -o {name} --format u64le --quiet {options}");
        self.run_with(&line, &raw(set)).packs(set);
    }

    /// The fingerprints of the store `name`, as `dump` prints them.
    fn dump(&self, name: &str) -> Vec<u64> {
        unhex(&self.run(&format!("dump {name}")).succeeds().stdout)
    }

    /// Names and lengths of everything in the directory `name`, sorted.
    fn listing(&self, name: &str) -> Vec<(String, u64)> {
        let entries = fs::read_dir(self.path(name)).unwrap().map(|entry| entry.unwrap());
        let mut listing: Vec<_> = entries
            .map(|e| (e.file_name().into_string().unwrap(), e.metadata().unwrap().len()))
            .collect();
        listing.sort();
        listing
    }
}

/// What a run has left.
#[derive(Debug)]
struct Ran {
    #[expect(dead_code, reason = "failed assertions print it")]
    line: String,
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Ran {
    fn new(line: &str, output: Output) -> Self {
        Ran {
            line: line.to_string(),
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    #[track_caller]
    fn ends_with_code(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }

    /// Exit code 0 and nothing on standard error.
    #[track_caller]
    fn succeeds(self) -> Self {
        assert_eq!(self.stderr, "", "{self:#?}");
        self.ends_with_code(0)
    }

    /// As `succeeds`, of a pack of `set`; an empty one is warned of.
    #[track_caller]
    fn packs(self, set: &[u64]) -> Self {
        let warning = "the inputs hold no fingerprint, and the store is empty\n";
        assert!(!set.is_empty() || self.stderr.ends_with(warning), "{self:#?}");
        if set.is_empty() { self.ends_with_code(0) } else { self.succeeds() }
    }

    /// Exit code 2, nothing on standard output, and just this line on standard error.
    #[track_caller]
    fn fails_with(self, message: &str) {
        assert_eq!(self.stderr, format!("fpstore: {message}\n"), "{self:#?}");
        assert_eq!(self.stdout, "", "{self:#?}");
        self.ends_with_code(2);
    }

    /// Exit code 2, nothing on standard output, and one line on standard error with these parts.
    #[track_caller]
    fn fails_naming(self, parts: &[&str]) {
        assert!(self.stderr.starts_with("fpstore: "), "{self:#?}");
        assert_eq!(self.stderr.matches('\n').count(), 1, "{self:#?}");
        for part in parts {
            assert!(self.stderr.contains(part), "no {part:?} in {self:#?}");
        }
        assert_eq!(self.stdout, "", "{self:#?}");
        self.ends_with_code(2);
    }
}

fn raw(set: &[u64]) -> Vec<u8> {
    set.iter().flat_map(|fingerprint| fingerprint.to_le_bytes()).collect()
}

fn hex(set: &[u64]) -> String {
    set.iter().map(|fingerprint| format!("{fingerprint:016x}\n")).collect()
}

fn unhex(lines: &str) -> Vec<u64> {
    lines.lines().map(|line| u64::from_str_radix(line, 16).unwrap()).collect()
}

/// Compares with a number that was printed in decimal, or computed in another way.
#[track_caller]
fn assert_is_near(printed: &serde_json::Value, expected: f64) {
    let number = printed.as_f64().unwrap();
    assert!((number / expected - 1.0).abs() < 1e-9, "{number} is not {expected}");
}
