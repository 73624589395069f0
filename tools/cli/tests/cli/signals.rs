//! Which signals stop a command, and what is left then.

use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::stoppable::{HEEDS, stoppable};
use crate::{Scratch, raw};

/// Commands that write, the start of their input, and they wait for more of it.
const WRITERS: [(&str, &str); 2] = [
    ("merge-pairs - -o out --progress none", PAIR),
    ("dedup store --pairs - -o out --progress none", PAIR),
];
const PAIR: &str = "0000000000000001\t0000000000000003\t1\n";

fn signal(child: &Child, name: &str) {
    let id = child.id().to_string();
    assert!(Command::new("kill").args([name, &id]).status().unwrap().success());
}

/// Starts the tool as `sh` does behind `before`, and waits until it has made its temporary file.
fn start(scratch: &Scratch, before: &str, (line, input): (&str, &str)) -> Child {
    let tool = env!("CARGO_BIN_EXE_fpstore");
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{before} {tool} {line}")]).current_dir(scratch.path(""));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.as_mut().unwrap().write_all(input.as_bytes()).unwrap();
    let start = Instant::now();
    let has_temporary =
        || scratch.listing("").iter().any(|(name, _)| name.starts_with(".tmp-fpstore-"));
    while !has_temporary() {
        assert!(start.elapsed() < Duration::from_secs(60), "{line}: no temporary file");
        thread::sleep(Duration::from_millis(1));
    }
    // It listens soon behind that.
    while !std::fs::read_to_string(format!("/proc/{}/status", child.id())).is_ok_and(listens) {
        assert!(start.elapsed() < Duration::from_secs(60), "{line}: does not listen");
        thread::sleep(Duration::from_millis(1));
    }
    child
}

/// Whether SIGTERM is caught.
fn listens(status: String) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
    u64::from_str_radix(mask.trim(), 16).unwrap() >> 14 & 1 == 1
}

fn names(scratch: &Scratch) -> Vec<String> {
    scratch.listing("").into_iter().map(|(name, _)| name).collect()
}

#[test]
fn hanging_up_stops_what_writes_and_leaves_nothing() {
    for writer in WRITERS {
        let line = writer.0;
        let scratch = Scratch::new();
        scratch.pack("store", &[1, 3], "");
        // A terminal that is closed sends two, and takes standard error with it.
        let mut child = start(&scratch, &format!("exec {HEEDS}"), writer);
        drop(child.stderr.take());
        signal(&child, "-HUP");
        let _ = Command::new("kill").args(["-HUP", &child.id().to_string()]).output();
        let mut stdin = child.stdin.take();
        let status = child.wait().unwrap();
        drop(stdin.take());
        assert_eq!(status.code(), Some(129), "{line}");
        assert_eq!(names(&scratch), ["store"], "{line}");
    }
    let scratch = Scratch::new();
    scratch.pack("store", &[1, 3], "");
    let mut child = start(&scratch, &format!("exec {HEEDS}"), WRITERS[0]);
    signal(&child, "-HUP");
    let stdin = child.stdin.take();
    let output = child.wait_with_output().unwrap();
    drop(stdin);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(stderr, "fpstore: stopped by SIGHUP; nothing was changed\n");
}

#[test]
fn signals_that_were_ignored_stay_ignored() {
    for (before, ignored) in
        [("trap '' INT; exec", "-INT"), ("trap '' HUP; exec", "-HUP"), ("exec nohup", "-HUP")]
    {
        let scratch = Scratch::new();
        scratch.pack("store", &[1, 3], "");
        let writer = WRITERS[1];
        let mut child = start(&scratch, before, writer);
        signal(&child, ignored);
        signal(&child, ignored);
        thread::sleep(Duration::from_millis(50));
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(PAIR.as_bytes()).unwrap();
        drop(stdin);
        assert_eq!(child.wait().unwrap().code(), Some(0), "{before}");
        assert_eq!(names(&scratch), ["out", "store"], "{before}");
        // The others stop it as ever.
        std::fs::remove_file(scratch.path("out")).unwrap();
        let mut child = start(&scratch, before, writer);
        signal(&child, "-TERM");
        let stdin = child.stdin.take();
        assert_eq!(child.wait().unwrap().code(), Some(143), "{before}");
        drop(stdin);
        assert_eq!(names(&scratch), ["store"], "{before}");
    }
}

#[test]
fn a_pack_that_is_hung_up_while_it_sorts_in_little_memory_leaves_nothing() {
    let scratch = Scratch::new();
    let line = "pack - -o store --format u64le --memory 16MiB --quiet";
    let mut command = stoppable(&scratch, line);
    let mut child = command.stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let set: Vec<u64> = (0..1_500_000u64).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15)).collect();
    stdin.write_all(&raw(&set)).unwrap();
    assert!(scratch.path("store").exists());
    signal(&child, "-HUP");
    assert_eq!(child.wait().unwrap().code(), Some(129));
    drop(stdin);
    assert_eq!(names(&scratch), [""; 0]);
}
