//! Standard input and output as pipes: answers as soon as they can be, and a quiet end.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, PipeWriter, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::oracle::{fingerprints, tsv};
use crate::{Ran, Scratch, hex, raw};

/// A pipe that nobody reads from any more.
fn without_reader() -> PipeWriter {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer
}

/// A query that runs, with its ends of the pipes.
pub struct Talk {
    child: Child,
    stdin: ChildStdin,
    lines: mpsc::Receiver<String>,
}

impl Talk {
    pub fn start(scratch: &Scratch, line: &str) -> Self {
        let mut command = scratch.command(line);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdin = child.stdin.take().unwrap();
        let stdout = child.stdout.take().unwrap();
        Talk { child, stdin, lines: lines_of(stdout) }
    }

    pub fn say(&mut self, bytes: &[u8]) {
        self.stdin.write_all(bytes).unwrap();
        self.stdin.flush().unwrap();
    }

    #[track_caller]
    pub fn hears(&self, line: &str) {
        let heard = self.lines.recv_timeout(Duration::from_secs(30));
        assert_eq!(heard.expect("an answer while standard input is open"), line);
    }

    /// Closes standard input, and gives the exit code and what was written to standard error.
    pub fn end(self) -> (Option<i32>, String) {
        drop(self.stdin);
        let output = self.child.wait_with_output().unwrap();
        assert_eq!(self.lines.recv().ok(), None, "no further answer");
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    }
}

fn lines_of(stdout: ChildStdout) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(stdout).lines() {
            if sender.send(line.unwrap()).is_err() {
                break;
            }
        }
    });
    receiver
}

#[test]
fn each_line_of_a_pipe_is_answered_while_the_pipe_stays_open() {
    let scratch = Scratch::new();
    scratch.pack("store", &[1, 0xff00], "");
    let mut talk = Talk::start(&scratch, "query store --from - --as count -k 0");
    talk.say(b"0000000000000001\n");
    talk.hears("0000000000000001\t1");
    talk.say(b"0x2\n");
    talk.hears("0000000000000002\t0");
    talk.say(b"0xff00 0x1\r\n");
    talk.hears("000000000000ff00\t1");
    talk.hears("0000000000000001\t1");
    assert_eq!(talk.end(), (Some(0), String::new()));
}

#[test]
fn the_last_line_of_a_pipe_needs_no_line_end() {
    let scratch = Scratch::new();
    scratch.pack("store", &[1], "");
    let ran = scratch.run_with("query store --from - --as count", b"5\n1").succeeds();
    assert_eq!(ran.stdout, "0000000000000005\t1\n0000000000000001\t1\n");
}

#[test]
fn a_line_that_comes_in_pieces_is_answered_when_it_is_whole() {
    let scratch = Scratch::new();
    scratch.pack("store", &[10], "");
    let mut talk = Talk::start(&scratch, "query store --from - --as count -k 0");
    // The first read decides on the format, and must not do so by a token that is cut.
    for piece in [&b"\n"[..], b"1", b"0", b"\n"] {
        talk.say(piece);
        thread::sleep(Duration::from_millis(50));
    }
    talk.hears("000000000000000a\t1");
    for piece in [&b"1"[..], b"1\n1", b"0\n"] {
        talk.say(piece);
        thread::sleep(Duration::from_millis(50));
    }
    talk.hears("000000000000000b\t0");
    talk.hears("000000000000000a\t1");
    assert_eq!(talk.end(), (Some(0), String::new()));
}

#[test]
fn raw_integers_from_a_pipe_are_answered_one_by_one() {
    let scratch = Scratch::new();
    scratch.pack("store", &[10], "");
    {
        let line = "query store --from - --as count -k 0 --format u64le";
        let mut talk = Talk::start(&scratch, line);
        talk.say(&raw(&[10]));
        talk.hears("000000000000000a\t1");
        talk.say(&raw(&[11])[..3]);
        thread::sleep(Duration::from_millis(50));
        talk.say(&raw(&[11])[3..]);
        talk.hears("000000000000000b\t0");
        assert_eq!(talk.end(), (Some(0), String::new()));
    }
}

#[test]
fn a_named_pipe_is_answered_line_by_line() {
    let scratch = Scratch::new();
    scratch.pack("store", &[10], "");
    let status = Command::new("mkfifo").arg(scratch.path("fifo")).status().unwrap();
    assert!(status.success());
    let mut command = scratch.command("query store --from fifo -k 0 --as count");
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let lines = lines_of(child.stdout.take().unwrap());
    let mut fifo = OpenOptions::new().write(true).open(scratch.path("fifo")).unwrap();
    for _ in 0..2 {
        fifo.write_all(b"10\n").unwrap();
        let line = lines.recv_timeout(Duration::from_secs(30)).unwrap();
        assert_eq!(line, "000000000000000a\t1");
    }
    drop(fifo);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_named_pipe_can_be_packed() {
    let scratch = Scratch::new();
    let status = Command::new("mkfifo").arg(scratch.path("fifo")).status().unwrap();
    assert!(status.success());
    let mut child = scratch.command("pack fifo -o store --quiet").spawn().unwrap();
    let mut fifo = OpenOptions::new().write(true).open(scratch.path("fifo")).unwrap();
    fifo.write_all(b"10\n11\n").unwrap();
    drop(fifo);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(scratch.dump("store"), [10, 11]);
}

#[test]
fn a_pack_judges_all_of_the_first_64_kib_of_a_pipe_that_comes_in_pieces() {
    let scratch = Scratch::new();
    let mut command = scratch.command("pack - -o store --quiet");
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // The first piece alone is hexadecimal.
    for piece in ["1000000000000000\n", "17\n"] {
        stdin.write_all(piece.as_bytes()).unwrap();
        thread::sleep(Duration::from_millis(100));
    }
    drop(stdin);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(scratch.dump("store"), [17, 1_000_000_000_000_000]);
}

#[test]
fn a_long_pipe_is_answered_in_input_order() {
    let scratch = Scratch::new();
    let set = fingerprints(30, 1000);
    scratch.pack("store", &set, "");
    let queries = fingerprints(30, 20_000);
    let ran = scratch.run_with("query store --from -", hex(&queries).as_bytes()).succeeds();
    assert!(ran.stdout == tsv(&set, &queries, 3), "other rows");
}

#[test]
fn a_regular_file_on_standard_input_is_queried_and_packed() {
    let scratch = Scratch::new();
    let set = fingerprints(31, 500);
    scratch.write("in", hex(&set));
    let with_stdin = |line: &str| {
        let mut command = scratch.command(line);
        let output = command.stdin(File::open(scratch.path("in")).unwrap()).output().unwrap();
        Ran::new(line, output).succeeds().stdout
    };
    with_stdin("pack - -o store -q");
    assert_eq!(with_stdin("query store --from -"), tsv(&set, &set, 3));
}

#[test]
fn lines_before_a_faulty_one_are_answered() {
    let scratch = Scratch::new();
    scratch.pack("store", &[1], "");
    let message = "line 2, column 1: 'x' is no decimal digit; separate fingerprints by white space, \
                   or give another --format, or give --on-error skip\n";
    scratch.write("in", "1\nx\n1\n");
    let line = "query store --format dec --as count --from";
    for (ran, name) in [
        (scratch.run(&format!("{line} in")), "in"),
        (scratch.run_with(&format!("{line} -"), b"1\nx\n1\n"), "standard input"),
    ] {
        assert_eq!(ran.stderr, format!("fpstore: {name}: {message}"));
        assert_eq!(ran.stdout, "0000000000000001\t1\n");
        ran.ends_with_code(2);
    }
}

/// Runs with more output than a pipe holds, reads one line, and closes the pipe.
fn one_line_of(scratch: &Scratch, line: &str) -> Ran {
    let mut command = scratch.command(line);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut first = String::new();
    stdout.read_line(&mut first).unwrap();
    drop(stdout);
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    let code = child.wait().unwrap().code();
    Ran { line: line.to_string(), code, stdout: first, stderr }
}

#[test]
fn a_reader_that_goes_away_ends_the_tool_quietly() {
    let scratch = Scratch::new();
    let set = fingerprints(32, 20_000);
    scratch.pack("store", &set, "");
    scratch.write("queries", hex(&set));
    // Every query matches itself.
    for line in [
        "dump store",
        "dedup store --quiet",
        "join store -k 12 --quiet",
        "query store --from queries -k 0",
        "query store --from queries -k 0 --as count",
        "query store --from queries -k 0 --as json",
    ] {
        assert_ne!(one_line_of(&scratch, line).succeeds().stdout, "", "{line}");
    }
    // None matches: the code says so.
    let far: Vec<u64> = set.iter().map(|x| x.rotate_left(17) ^ 0x5555_aaaa).collect();
    scratch.write("far", hex(&far));
    let ran = one_line_of(&scratch, "query store --from far -k 0 --as count");
    assert_eq!(ran.stderr, "");
    ran.ends_with_code(1);
}

#[test]
fn output_closed_from_the_start_is_no_error() {
    let scratch = Scratch::new();
    scratch.pack("store", &[1], "");
    scratch.write("in", "0x1");
    for line in [
        "query store 0x1",
        "dump store",
        "dedup store --quiet",
        "stat store",
        "stat store --json",
        "verify store",
        "completions bash",
        "pack in -o other",
    ] {
        let output = scratch.command(line).stdout(without_reader()).output().unwrap();
        let ran = Ran::new(line, output).ends_with_code(0);
        assert!(ran.stderr.is_empty() || line.starts_with("pack"), "{ran:#?}");
    }
    assert_eq!(scratch.dump("other"), [1]);
}

#[test]
fn output_that_takes_no_more_is_an_error() {
    let scratch = Scratch::new();
    scratch.pack("store", &[1], "");
    scratch.write("in", "0x1");
    for line in [
        "query store 0x1",
        "dump store",
        "dump store --as u64le",
        "dedup store --quiet",
        "stat store",
        "verify store",
        "completions bash",
        "pack in -o other",
    ] {
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = scratch.command(line).stdout(full).output().unwrap();
        Ran::new(line, output).fails_with(
            "standard output: cannot write: No space left on device (os error 28); free space \
             there or choose another output",
        );
    }
}

#[test]
fn standard_error_that_takes_nothing_ends_no_work() {
    let scratch = Scratch::new();
    scratch.pack("store", &[1, 3, 0xFF00], "");
    scratch.write("in.csv", "id,fingerprint\n1,0000000000000001\n");
    scratch.write("pairs", "0000000000000001\t0000000000000003\t1\n");
    scratch.write("texts.txt", "one and two\n");
    scratch.run("create unnamed --recipe pdq/1 --quiet").succeeds();
    scratch.run("create living --id-type none --quiet").succeeds();
    for line in [
        "dedup store",
        "join store",
        "merge-pairs pairs",
        "fingerprint texts.txt --recipe simhash-64 --force -o out.jsonl",
        "insert living in.csv --unless-near",
        // It warns first that the input has no recipe.
        "insert unnamed in.csv --id-column id",
    ] {
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        for stderr in [Stdio::from(full), Stdio::from(without_reader())] {
            let output = scratch.command(line).stderr(stderr).output().unwrap();
            Ran::new(line, output).succeeds();
        }
    }
    assert_eq!(scratch.dump("unnamed"), [1]);
}

#[test]
fn what_is_inserted_does_not_hang_on_who_reads_the_rows() {
    let scratch = Scratch::new();
    let set = fingerprints(77, 50_000);
    scratch.write("in", raw(&set));
    scratch.run("create living --id-type none --quiet").succeeds();
    let line = "insert living in --format u64le -k 0 --unless-near";
    let output = scratch.command(line).stdout(without_reader()).output().unwrap();
    let ran = Ran::new(line, output).ends_with_code(0);
    assert!(ran.stderr.contains(" inserted, "), "{}", ran.stderr);
    let set: BTreeSet<u64> = set.into_iter().collect();
    assert!(scratch.dump("living").into_iter().eq(set));
}
