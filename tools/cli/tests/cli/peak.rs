//! What a command takes of memory.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// What an optimized program has before it begins, in KiB: tables of addresses, mostly.
const OPTIMIZED: u64 = 1500;

/// Runs to its end, and gives the most anonymous memory that was seen, in KiB.
pub fn peak_of(command: &mut Command) -> u64 {
    let mut child = command.spawn().unwrap();
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        peak = peak.max(anonymous(&child));
        thread::sleep(Duration::from_millis(1));
    }
    assert!(child.wait().unwrap().success());
    peak
}

/// By how much a program that waits for its input exceeds what an optimized one has then, in KiB.
/// Without optimizations it has more tables of addresses.
pub fn excess_of(command: &mut Command) -> u64 {
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let (mut last, mut since) = (0, Instant::now());
    while last == 0 || since.elapsed() < Duration::from_millis(200) {
        assert!(child.try_wait().unwrap().is_none(), "it waits for its input");
        let now = anonymous(&child);
        if now != last {
            (last, since) = (now, Instant::now());
        }
        thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    last.saturating_sub(OPTIMIZED)
}

/// The anonymous memory that it has, in KiB.
fn anonymous(child: &Child) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id()));
    let text = status.unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    kib.unwrap_or(0)
}
