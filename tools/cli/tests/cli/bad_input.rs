//! Bad input: one line that names file, place and remedy, exit code 2, and nothing written.

use std::fs;

use crate::oracle::fingerprints;
use crate::{Scratch, hex, raw};

/// What may be done about a record.
const SKIP: &str = ", or give --on-error skip";

#[track_caller]
fn pack_fails_with(input: impl AsRef<[u8]>, options: &str, message: &str) {
    let scratch = Scratch::new();
    scratch.write("in", &input);
    scratch.run(&format!("pack in -o store {options}")).fails_with(&format!("in: {message}"));
    assert!(!scratch.path("store").exists());
    scratch
        .run_with(&format!("pack - -o store {options}"), input.as_ref())
        .fails_with(&format!("standard input: {message}"));
    assert!(!scratch.path("store").exists());
}

#[test]
fn raw_input_that_is_no_multiple_of_8_bytes() {
    let advice = "are no multiple of 8; complete the file, or give another --format than u64le";
    let cut = |bytes| format!("the last fingerprint is cut: {bytes} bytes {advice}");
    pack_fails_with(&raw(&[1, 2])[..13], "--format u64le", &format!("byte 8: {}", cut(13)));
    pack_fails_with(b"1234567", "--format u64le", &format!("byte 0: {}", cut(7)));
    let long = raw(&fingerprints(40, 30_000));
    pack_fails_with(&long[..239_999], "--format u64le", &format!("byte 239992: {}", cut(239_999)));
}

#[test]
fn raw_query_file_that_is_no_multiple_of_8_bytes_is_refused_before_any_answer() {
    let scratch = Scratch::new();
    scratch.pack("store", &[1], "");
    scratch.write("queries.u64", &raw(&[1, 2])[..15]);
    scratch
        .run("query store --from queries.u64")
        .fails_naming(&["queries.u64: byte 8: ", "multiple of 8"]);
    // A pipe is answered as it comes; the end is still an error.
    let ran = scratch.run_with("query store --from - -k 0 --format u64le", &raw(&[1, 2])[..15]);
    assert!(ran.stderr.starts_with("fpstore: standard input: byte 8: "), "{ran:?}");
    assert_eq!(ran.stdout, "0000000000000001\t0000000000000001\t0\n");
    ran.ends_with_code(2);
}

#[test]
fn a_bad_hexadecimal_digit() {
    let message = |byte| {
        format!(
            "'{byte}' is no hexadecimal digit; separate fingerprints by white space, or give \
             another --format"
        )
    };
    let place =
        |line, column, byte| format!("line {line}, column {column}: {}{SKIP}", message(byte));
    pack_fails_with("12\nab\n  1g\n", "--format hex", &place(3, 4, "g"));
    pack_fails_with("12,13\n", "--format hex", &place(1, 3, ","));
    pack_fails_with("0x0x1", "--format hex", &place(1, 4, "x"));
    pack_fails_with("-1", "--format hex", &place(1, 1, "-"));
    pack_fails_with("1\né", "--format hex", &place(2, 1, "\\xc3"));
    // Auto judges the first 64 KiB; the fault stands behind them.
    let good = hex(&fingerprints(41, 10_000));
    pack_fails_with(format!("{good}000000000000000z\n"), "", &place(10_001, 16, "z"));
}

#[test]
fn a_bad_decimal_digit() {
    let message = |byte| {
        format!(
            "'{byte}' is no decimal digit; separate fingerprints by white space, or give another --format"
        )
    };
    let place =
        |line, column, byte| format!("line {line}, column {column}: {}{SKIP}", message(byte));
    pack_fails_with("12\n1a\n", "--format dec", &place(2, 2, "a"));
    pack_fails_with("1-2\n", "--format dec", &place(1, 2, "-"));
    pack_fails_with("+2\n", "--format dec", &place(1, 1, "+"));
    pack_fails_with("2.5\n", "--format dec", &place(1, 2, "."));
    pack_fails_with(format!("{}NULL\n", "7\n".repeat(40_000)), "", &place(40_001, 1, "N"));
}

#[test]
fn a_value_over_64_bits() {
    let dec = "the value is over 64 bits; give -9223372036854775808 to 18446744073709551615";
    pack_fails_with("1\n18446744073709551616\n", "", &format!("line 2, column 1: {dec}{SKIP}"));
    pack_fails_with("1 -9223372036854775809\n", "", &format!("line 1, column 3: {dec}{SKIP}"));
    pack_fails_with("9".repeat(30), "", &format!("line 1, column 1: {dec}{SKIP}"));
    let hex = "more than 16 hexadecimal digits; a fingerprint has at most 64 bits";
    pack_fails_with("0x10000000000000000", "", &format!("line 1, column 1: {hex}{SKIP}"));
    pack_fails_with(
        "\n 11112222333344445",
        "--format hex",
        &format!("line 2, column 2: {hex}{SKIP}"),
    );
    // Not even a line of a megabyte is more than one line of message.
    pack_fails_with("a".repeat(1 << 20), "--format hex", &format!("line 1, column 1: {hex}{SKIP}"));
}

#[test]
fn a_sign_or_prefix_without_digits() {
    let message = "no digits follow; complete or remove it";
    pack_fails_with("1 0x\n", "--format hex", &format!("line 1, column 3: {message}{SKIP}"));
    pack_fails_with("1\n-\n", "--format dec", &format!("line 2, column 1: {message}{SKIP}"));
}

#[test]
fn a_missing_input() {
    let scratch = Scratch::new();
    let message = "none: cannot open: No such file or directory (os error 2); check the path";
    scratch.run("pack none -o store").fails_with(message);
    assert!(!scratch.path("store").exists());
    scratch.pack("store", &[1], "");
    scratch.run("query store --from none").fails_with(message);
}

#[test]
fn a_missing_second_input_is_told_before_the_first_is_read() {
    let scratch = Scratch::new();
    scratch.write("faulty", "x");
    scratch.run("pack faulty none -o store --format hex").fails_naming(&["none: cannot open"]);
}

#[test]
fn a_directory_as_input() {
    let scratch = Scratch::new();
    fs::create_dir(scratch.path("dir")).unwrap();
    let message = "dir: is a directory; give a file of fingerprints";
    scratch.run("pack dir -o store").fails_with(message);
    scratch.pack("store", &[1], "");
    scratch.run("query store --from dir").fails_with(message);
}

#[test]
fn standard_input_twice() {
    let scratch = Scratch::new();
    scratch
        .run_with("pack - - -o store", b"1")
        .fails_with("standard input: can be read only once; give `-` once");
}

#[test]
fn a_missing_or_foreign_store() {
    let scratch = Scratch::new();
    fs::create_dir(scratch.path("foreign")).unwrap();
    scratch.write("foreign/me.jpg", "dear");
    scratch.write("file", "dear");
    for store in ["none", "foreign", "file"] {
        for line in ["query {} 0x1", "stat {}", "verify {}", "dump {}"] {
            let line = line.replace("{}", store);
            scratch.run(&line).fails_naming(&[&format!("fpstore: {store}: "), "[DIR-1]", "; give"]);
        }
    }
    assert_eq!(scratch.listing("foreign"), [("me.jpg".to_string(), 4)]);
}

#[test]
fn a_path_with_a_line_end_keeps_the_message_on_one_line() {
    let scratch = Scratch::new();
    let output = scratch.command("dump").arg("no\nstore").output().unwrap();
    crate::Ran::new("dump", output).fails_naming(&["fpstore: no\\nstore: "]);
}

#[test]
fn an_output_whose_parent_is_missing_or_a_file() {
    let scratch = Scratch::new();
    scratch.write("in", "0x1");
    scratch.run("pack in -o in/store").fails_naming(&["in/store"]);
    assert_eq!(fs::read(scratch.path("in")).unwrap(), b"0x1");
}
