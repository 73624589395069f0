//! What a command takes of memory.

use std::fs;
use std::process::Command;
use std::thread;
use std::time::Duration;

/// Runs to its end, and gives the most anonymous memory that was seen, in KiB.
pub fn peak_of(command: &mut Command) -> u64 {
    let mut child = command.spawn().unwrap();
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id()));
        let text = status.unwrap_or_default();
        let anonymous = text.lines().find_map(|line| line.strip_prefix("RssAnon:"));
        let kib = anonymous.and_then(|line| line.split_whitespace().next()?.parse().ok());
        peak = peak.max(kib.unwrap_or(0u64));
        thread::sleep(Duration::from_millis(1));
    }
    assert!(child.wait().unwrap().success());
    peak
}
