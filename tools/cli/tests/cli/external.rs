//! `pack --memory`: the same store, its temporaries, its progress, and signals.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::oracle::{Random, fingerprints};
use crate::stoppable::stoppable;
use crate::{Scratch, hex, raw};

/// More than fit into the least memory.
const COUNT: usize = 1_000_000;
const LITTLE: &str = "--memory 16MiB";

fn assert_same_files(scratch: &Scratch, a: &str, b: &str) {
    assert_eq!(scratch.listing(a), scratch.listing(b));
    for (name, _) in scratch.listing(a) {
        let read = |store| fs::read(scratch.path(store).join(&name)).unwrap();
        assert!(read(a) == read(b), "{name} of {a} and {b} differ");
    }
}

#[test]
fn the_store_does_not_depend_on_the_memory() {
    let scratch = Scratch::new();
    let mut set = fingerprints(70, COUNT);
    set.extend_from_within(..1000);
    scratch.write("in", hex(&set));
    scratch.run("pack in -o memory -q").succeeds();
    fs::create_dir(scratch.path("temporary")).unwrap();
    let line = format!("pack in -o little {LITTLE} --tmp-dir temporary --json");
    let summary: Value = serde_json::from_str(&scratch.run(&line).packs_telling().stdout).unwrap();
    assert_same_files(&scratch, "memory", "little");
    assert_eq!(scratch.listing("temporary"), []);
    let temporary = summary["temporary_bytes"].as_u64().unwrap();
    assert!(temporary > 0 && temporary <= 16 * set.len() as u64, "{temporary}");
    assert!(summary["seconds_of"]["sort"].as_f64().unwrap() > 0.0);
}

#[cfg(target_os = "linux")]
#[test]
fn the_process_stays_within_its_memory() {
    let scratch = Scratch::new();
    scratch.write("in", hex(&fingerprints(71, 3 * COUNT)));
    let mut waiting = scratch.command("pack - -o waiting --quiet");
    let excess = crate::peak::excess_of(&mut waiting) << 10;
    assert!(excess < 4 << 20, "{excess}");
    for (options, limit) in [("--threads 1", 16u64), ("--threads 2", 24), ("--threads 4", 32)] {
        let line = format!("pack in -o store --force --quiet --memory {limit}MiB {options}");
        let peak = (crate::peak::peak_of(&mut scratch.command(&line)) << 10) - excess;
        assert!(peak <= limit << 20, "{peak} bytes where {limit} MiB are allowed, {options}");
        assert!(peak > 4 << 20, "{peak} bytes are not what was measured");
    }
}

#[test]
fn a_dry_run_tells_what_the_pack_will_need_and_writes_nothing() {
    let scratch = Scratch::new();
    let mut random = Random(72);
    let uniform: Vec<u64> = (0..COUNT).map(|_| random.next()).collect();
    scratch.write("in", hex(&uniform));
    for (options, spills) in [("", false), (LITTLE, true)] {
        let line = format!("pack in -o store --json {options}");
        let told = scratch.run(&format!("{line} --dry-run")).succeeds().stdout;
        assert!(!scratch.path("store").exists());
        let told: Value = serde_json::from_str(&told).unwrap();
        let done: Value = serde_json::from_str(&scratch.run(&line).packs_telling().stdout).unwrap();
        let near = |told: &Value, done: &Value| {
            let (told, done) = (told.as_f64().unwrap(), done.as_f64().unwrap());
            assert!((told - done).abs() <= 0.02 * done, "{told} is told of {done}");
        };
        near(&told["fingerprints"], &done["read"]);
        near(&told["store_bytes"], &done["bytes"]);
        near(&told["temporary_bytes"], &done["temporary_bytes"]);
        assert_eq!(told["temporary_bytes"].as_u64().unwrap() > 0, spills);
        assert_eq!(told["memory_bytes"] == 16 << 20, spills);
        assert!(told["seconds"].as_f64().unwrap() > 0.0);
        fs::remove_dir_all(scratch.path("store")).unwrap();
    }
    let text = scratch.run("pack in -o store --dry-run").succeeds().stdout;
    for name in ["fingerprints", "design", "memory", "temporary disk", "store", "time"] {
        assert!(text.lines().any(|line| line.starts_with(name)), "{text}");
    }
    scratch.run_with("pack - -o store --dry-run", b"1").fails_naming(&["regular files"]);
}

#[test]
fn a_dry_run_counts_what_the_header_of_an_array_says() {
    let scratch = Scratch::new();
    let set = fingerprints(75, 200_000);
    let header = format!("{{'descr': '<u8', 'fortran_order': False, 'shape': ({},), }}", set.len());
    let mut npy = b"\x93NUMPY\x01\x00".to_vec();
    npy.extend((header.len() as u16).to_le_bytes());
    npy.extend(header.as_bytes());
    npy.extend(raw(&set));
    scratch.write("in.npy", npy);
    scratch.write("in.u64", raw(&set));
    for input in ["in.npy", "in.u64"] {
        let line = format!("pack {input} -o store --dry-run");
        let text = scratch.run(&line).succeeds().stdout;
        let exact = format!("fingerprints    {},000; what", set.len() / 1000);
        assert!(set.len().is_multiple_of(1000) && text.starts_with(&exact), "{text}");
        let told: Value =
            serde_json::from_str(&scratch.run(&format!("{line} --json")).succeeds().stdout)
                .unwrap();
        assert_eq!(told["fingerprints"], set.len());
    }
}

#[test]
fn a_dry_run_says_when_the_disk_is_too_small() {
    let scratch = Scratch::new();
    scratch.write("in", raw(&fingerprints(76, 200_000)));
    let Some(_mounted) = Tmpfs::mount(&scratch.path("small"), 1 << 20) else {
        println!("SKIPPED: a tmpfs cannot be mounted here; run as root");
        return;
    };
    let line = "pack in --format u64le --dry-run -o";
    for (store, fits) in [("store", true), ("small/store", false)] {
        let text = scratch.run(&format!("{line} {store}")).succeeds().stdout;
        let fault = text.lines().find(|line| line.starts_with("does not fit"));
        assert_eq!(fault.is_none(), fits, "{text}");
        assert!(fault.is_none_or(|fault| fault.contains("small needs ")), "{text}");
        let told = scratch.run(&format!("{line} {store} --json")).succeeds().stdout;
        let told: Value = serde_json::from_str(&told).unwrap();
        assert_eq!(told["fits"], fits, "{told}");
        assert!(fits || told["disk_free_bytes"].as_u64() < told["store_bytes"].as_u64(), "{told}");
    }
}

#[test]
fn progress_in_json_names_the_phases_with_rates_and_what_is_left() {
    let scratch = Scratch::new();
    scratch.write("in", hex(&fingerprints(73, COUNT)));
    let in_memory = ["read", "sort", "encode", "sync"];
    let spilled = ["read", "merge", "encode", "distribute", "count", "encode", "sync"];
    for (options, phases) in [("", &in_memory[..]), (LITTLE, &spilled[..])] {
        let line =
            format!("pack in -o store --force --quiet --progress json --design halves {options}");
        let ran = scratch.run(&line).ends_with_code(0);
        let lines: Vec<Value> =
            ran.stderr.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let mut seen: Vec<&str> =
            lines.iter().map(|line| line["phase"].as_str().unwrap()).collect();
        seen.dedup();
        assert_eq!(seen, phases, "{options}");
        let mut seconds = 0.0;
        for line in &lines {
            assert!(line["seconds"].as_f64().unwrap() >= seconds, "{line}");
            seconds = line["seconds"].as_f64().unwrap();
            let done_at_once = line["fingerprints_per_second"] == Value::Null;
            assert!(done_at_once || line["fingerprints_per_second"].is_f64(), "{line}");
            let is_last = line["done"] == line["total"];
            assert!(is_last || line["seconds_left"] != 0.0, "{line}");
            assert!(line["bytes_written"].as_u64().is_some(), "{line}");
        }
        let last = lines.last().unwrap();
        let files: u64 = scratch.listing("store").iter().map(|(_, bytes)| bytes).sum();
        assert!(last["bytes_written"].as_u64().unwrap() > files * 9 / 10, "{last}");
        let left: Vec<f64> =
            lines.iter().filter_map(|line| line["seconds_left"].as_f64()).collect();
        assert!(left.iter().all(|&left| left >= 0.0));
        assert!(left.last().unwrap() < &(0.5 * seconds.max(1.0)), "{last}");
    }
}

#[test]
fn sizes_and_directories_that_cannot_be_are_refused_before_any_input_is_read() {
    let scratch = Scratch::new();
    for (options, word) in [
        ("--memory 1MiB", "at least 16 MiB"),
        ("--memory much", "much"),
        ("--tmp-dir nowhere", "nowhere"),
    ] {
        let ran = scratch.run_without_reading(&format!("pack - -o store {options}"));
        assert!(ran.stderr.contains(word), "{ran:?}");
        ran.ends_with_code(2);
        assert!(!scratch.path("store").exists());
    }
}

#[test]
fn a_signal_stops_a_pack_that_waits_for_its_input() {
    let scratch = Scratch::new();
    for (signal, name, code) in [("-INT", "SIGINT", 130), ("-TERM", "SIGTERM", 143)] {
        let mut command = stoppable(&scratch, "pack - -o store --format hex");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdin = child.stdin.take().unwrap();
        thread::sleep(Duration::from_millis(300));
        Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        let start = Instant::now();
        while child.try_wait().unwrap().is_none() {
            if start.elapsed() > Duration::from_secs(30) {
                child.kill().unwrap();
                panic!("{name} does not stop it");
            }
            thread::sleep(Duration::from_millis(5));
        }
        drop(stdin);
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(stderr, format!("fpstore: stopped by {name}; nothing was changed\n"));
        assert_eq!(output.status.code(), Some(code));
        assert!(!scratch.path("store").exists());
    }
}

/// A small file system, for as long as it lives.
struct Tmpfs(PathBuf);

impl Tmpfs {
    fn mount(path: &Path, bytes: u64) -> Option<Self> {
        fs::create_dir(path).unwrap();
        let mut command = Command::new("mount");
        command.args(["-t", "tmpfs", "-o", &format!("size={bytes}"), "fpstore-test"]).arg(path);
        let is_mounted = command.stderr(Stdio::null()).status().is_ok_and(|s| s.success());
        is_mounted.then(|| Self(path.to_path_buf()))
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_is_one_clear_error_that_leaves_nothing() {
    let scratch = Scratch::new();
    scratch.write("in", hex(&fingerprints(74, COUNT)));
    // Full while runs, the set, parts or tables are written.
    for mib in [1, 6, 12, 17] {
        let Some(_mounted) = Tmpfs::mount(&scratch.path("small"), mib << 20) else {
            println!("SKIPPED: a tmpfs cannot be mounted here; run as root");
            return;
        };
        for line in [
            format!("pack in -o small/store --design quarters {LITTLE}"),
            format!("pack in -o store --tmp-dir small --design quarters {LITTLE}"),
        ] {
            let ran = scratch.run(&line);
            let fits = mib == 17 && line.contains("tmp-dir");
            if fits {
                fs::remove_dir_all(scratch.path("store")).unwrap();
                ran.packs_telling();
            } else {
                ran.fails_naming(&["small", "No space left", "free some space"]);
            }
            assert_eq!(scratch.listing("small"), [], "{line}, {mib} MiB");
            assert!(!scratch.path("store").exists(), "{line}, {mib} MiB");
        }
        drop(_mounted);
        fs::remove_dir(scratch.path("small")).unwrap();
    }
}

/// Whether a process has written to a temporary file in `directory`. Such files have no name.
#[cfg(target_os = "linux")]
fn has_spilled(process: u32, directory: &Path) -> bool {
    let open = fs::read_dir(format!("/proc/{process}/fd")).unwrap();
    open.flatten().any(|entry| {
        let path = entry.path();
        fs::read_link(&path).is_ok_and(|file| file.starts_with(directory))
            && fs::metadata(&path).is_ok_and(|data| data.len() > 0)
    })
}

#[cfg(target_os = "linux")]
#[test]
fn packs_with_temporaries_in_one_directory_do_not_disturb_each_other_and_leave_no_names() {
    let scratch = Scratch::new();
    let set = fingerprints(75, COUNT);
    scratch.write("in", raw(&set));
    fs::create_dir(scratch.path("temporary")).unwrap();
    let directory = scratch.path("temporary").canonicalize().unwrap();
    // The first waits for the rest of its input, with a run on the disk.
    let line = |store| format!("-o {store} --format u64le --quiet --tmp-dir temporary {LITTLE}");
    let mut command = scratch.command(&format!("pack - {}", line("slow")));
    let mut slow = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = slow.stdin.take().unwrap();
    std::io::Write::write_all(&mut stdin, &raw(&set)).unwrap();
    let start = Instant::now();
    while !has_spilled(slow.id(), &directory) {
        assert!(start.elapsed() < Duration::from_secs(60), "no run is written");
        thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(scratch.listing("temporary"), []);
    scratch.run(&format!("pack in {}", line("fast"))).succeeds();
    assert!(has_spilled(slow.id(), &directory));
    drop(stdin);
    let mut stderr = String::new();
    slow.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert!(slow.wait().unwrap().success(), "{stderr}");
    assert_same_files(&scratch, "slow", "fast");
    assert_eq!(scratch.listing("temporary"), []);
}
