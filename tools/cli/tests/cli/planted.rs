//! Files, links and pipes that others put where the tool is about to write, and what is not its own
//! to replace.

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::Scratch;

fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// A store with a pair, and a file that nobody may touch.
fn scratch() -> Scratch {
    let scratch = Scratch::new();
    scratch.pack("store", &[1, 3], "");
    scratch.write("victim", "precious");
    scratch
}

const PAIR: &str = "0000000000000001\t0000000000000003\t1\n";

fn names(scratch: &Scratch) -> Vec<String> {
    scratch.listing("").into_iter().map(|(name, _)| name).collect()
}

#[test]
fn a_link_under_the_name_of_a_part_is_not_followed() {
    let scratch = scratch();
    for planted in ["pairs.part", "pairs.resume.new", "pairs.resume"] {
        symlink(scratch.path("victim"), scratch.path(planted)).unwrap();
        let ran = scratch.run("join store -o pairs --quiet --force");
        if ran.code == Some(0) {
            assert_eq!(fs::read_to_string(scratch.path("pairs")).unwrap(), PAIR);
            fs::remove_file(scratch.path("pairs")).unwrap();
        }
        if scratch.path(planted).exists() {
            let ran = scratch.run("join store -o pairs --quiet --resume");
            match planted {
                "pairs.resume.new" => drop(ran.succeeds()),
                _ => ran.fails_naming(&[
                    planted,
                    "it is a symbolic link",
                    "put a file of yours there",
                ]),
            }
        }
        assert_eq!(fs::read(scratch.path("victim")).unwrap(), b"precious", "{planted}");
        for name in ["pairs", "pairs.part", "pairs.resume", "pairs.resume.new"] {
            let _ = fs::remove_file(scratch.path(name));
        }
    }
}

#[test]
fn a_part_that_is_no_file_of_ones_own_is_not_gone_on_with() {
    let scratch = scratch();
    let line = "join store -o pairs --quiet --resume";
    pipe(&scratch.path("pairs.part"));
    scratch.run_without_reading(line).fails_naming(&["pairs.part", "it is a named pipe"]);
    fs::remove_file(scratch.path("pairs.part")).unwrap();
    fs::hard_link(scratch.path("victim"), scratch.path("pairs.part")).unwrap();
    scratch.run(line).fails_naming(&["pairs.part", "it has a second name"]);
    fs::remove_file(scratch.path("pairs.part")).unwrap();
    // A file of the user's that just has this name.
    scratch.write("pairs.part", "mine");
    scratch.run(line).fails_with(
        "pairs.part: is there without the note of a join; name another output, or move it away",
    );
    assert_eq!(fs::read(scratch.path("pairs.part")).unwrap(), b"mine");
    // It is in nobody's way who does not want to go on.
    scratch.run("join store -o pairs --quiet").succeeds();
    scratch.run("merge-pairs pairs -o merged --quiet").succeeds();
    assert_eq!(fs::read(scratch.path("pairs.part")).unwrap(), b"mine");
    assert_eq!(fs::read(scratch.path("victim")).unwrap(), b"precious");
    assert_eq!(names(&scratch), ["merged", "pairs", "pairs.part", "store", "victim"]);
}

#[test]
fn an_output_that_comes_to_be_meanwhile_is_not_replaced() {
    let scratch = scratch();
    let mut command = scratch.command("merge-pairs - -o out --quiet");
    let mut child =
        command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the tool starts");
    // The output is claimed once the input says what it is.
    let mut input = child.stdin.take().unwrap();
    input.write_all(PAIR.as_bytes()).unwrap();
    wait_until(|| scratch.listing("").len() == 3);
    scratch.write("out", "of another process");
    drop(input);
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(stderr, "fpstore: out: has come to be meanwhile, and is not replaced\n");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(fs::read(scratch.path("out")).unwrap(), b"of another process");
    assert_eq!(names(&scratch), ["out", "store", "victim"]);
}

#[test]
fn what_a_killed_merge_left_goes_with_the_next_one() {
    let scratch = scratch();
    let mut command = scratch.command("merge-pairs - -o out --quiet");
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    // The output is claimed once the input says what it is.
    let mut input = child.stdin.take().unwrap();
    input.write_all(PAIR.as_bytes()).unwrap();
    wait_until(|| scratch.listing("").len() == 3);
    // While it runs, what it writes stays.
    scratch.write("pairs", PAIR);
    scratch.run("merge-pairs pairs -o other --quiet").succeeds();
    assert_eq!(scratch.listing("").len(), 5);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(scratch.listing("").len(), 5);
    scratch.run("merge-pairs pairs -o other --quiet --force").succeeds();
    assert_eq!(names(&scratch), ["other", "pairs", "store", "victim"]);
}

fn wait_until(done: impl Fn() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < Duration::from_secs(60), "it does not come to be");
        thread::sleep(Duration::from_millis(1));
    }
}
