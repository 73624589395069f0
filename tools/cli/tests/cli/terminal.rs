//! What is drawn on a terminal: one line of progress, as wide as the terminal, that goes again.

use std::process::{Command, Stdio};

use crate::oracle::fingerprints;
use crate::{Scratch, raw};

/// What a shell command draws on a terminal of so many columns, which `script` gives it.
fn screen(scratch: &Scratch, columns: usize, line: &str) -> String {
    let tool = env!("CARGO_BIN_EXE_fpstore");
    let line = format!("stty cols {columns} rows 24; {}", line.replace("fpstore", tool));
    let mut command = Command::new("script");
    command.args(["-qec", &line, "/dev/null"]).current_dir(scratch.path(""));
    let output = command.stdin(Stdio::null()).output().unwrap();
    let screen = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{screen}");
    screen
}

/// The lines that were drawn one over the other, without what moves the cursor and colours.
fn frames(screen: &str) -> Vec<String> {
    let mut plain = String::new();
    let mut rest = screen.chars();
    while let Some(c) = rest.next() {
        match c {
            '\u{1b}' => {
                plain.push('\n');
                // `[`, parameters, and a letter.
                rest.by_ref().skip(1).find(|c| c.is_ascii_alphabetic());
            }
            '\r' => plain.push('\n'),
            c => plain.push(c),
        }
    }
    plain.lines().filter(|line| !line.trim().is_empty()).map(str::to_string).collect()
}

#[test]
fn progress_is_one_line_that_fits_terminals_of_all_widths() {
    let scratch = Scratch::new();
    scratch.write("in", raw(&fingerprints(11, 60_000)));
    for columns in [24, 40, 60, 80, 100, 120] {
        // The input ends late enough for a bar.
        let line = "(cat in; sleep 1) | fpstore pack - -o store --format u64le --force --json";
        let screen = screen(&scratch, columns, line);
        let frames = frames(&screen);
        assert!(screen.contains("{\"store\":\"store\",\"read\":60000,"), "{screen}");
        // What the input was taken for is a message, and none of the bar's.
        let is_drawn = |frame: &&String| !frame.starts_with('{') && !frame.starts_with("fpstore: ");
        let drawn: Vec<_> = frames.iter().filter(is_drawn).collect();
        assert!(drawn.iter().any(|frame| frame.starts_with("read ")), "{columns}: {drawn:#?}");
        for frame in &drawn {
            assert!(frame.chars().count() <= columns, "{columns}: {frame:?} wraps");
            let Some((_, behind)) = frame.split_once('[') else { continue };
            let cells = behind.find(']').unwrap();
            assert!(columns < 40 || cells >= 10, "{columns}: {frame:?} has no bar");
            // A number, perhaps with a fraction, has three digits.
            for number in behind.split(|c: char| !c.is_ascii_digit() && c != '.') {
                assert!(number.trim_matches('.').len() <= 4, "{columns}: {number} in {frame:?}");
            }
        }
    }
}

#[test]
fn work_that_is_done_at_once_draws_nothing() {
    let scratch = Scratch::new();
    scratch.write("pairs", "0000000000000001\t0000000000000003\t1\n");
    let line = "fpstore merge-pairs pairs -o merged --quiet --progress auto";
    assert_eq!(frames(&screen(&scratch, 80, line)), [""; 0]);
}

#[test]
fn a_quiet_pack_draws_nothing() {
    let scratch = Scratch::new();
    scratch.write("in", raw(&fingerprints(11, 1000)));
    let line = "(cat in; sleep 1) | fpstore pack - -o store --format u64le --quiet";
    assert_eq!(frames(&screen(&scratch, 80, line)), [""; 0]);
}
