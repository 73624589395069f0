//! `bench`: the program of that name is found, and gets what was given.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use crate::{PROGRAM, Ran, Scratch};

/// Runs a copy of the tool in a directory without the other program, and with `path` for PATH.
fn run(scratch: &Scratch, path: &str, arguments: &[&str]) -> Ran {
    fs::create_dir_all(scratch.path("bin")).unwrap();
    let program = scratch.path("bin/fpstore");
    if !program.exists() {
        fs::hard_link(PROGRAM, &program)
            .or_else(|_| fs::copy(PROGRAM, &program).map(drop))
            .unwrap();
    }
    let mut command = Command::new(program);
    command.args(arguments).env("PATH", path).current_dir(scratch.path("")).stdin(Stdio::null());
    Ran::new(&arguments.join(" "), command.output().unwrap())
}

/// A program that says who it is and what it was given, and ends with 1.
fn plant(scratch: &Scratch, name: &str) {
    let path = scratch.path(name).join("fpstore-bench");
    fs::create_dir_all(scratch.path(name)).unwrap();
    fs::write(&path, format!("#!/bin/sh\necho \"{name}:\"; printf '<%s>' \"$@\"; exit 1\n"))
        .unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn the_program_beside_the_tool_gets_all_arguments_and_then_the_one_in_the_path() {
    let scratch = Scratch::new();
    plant(&scratch, "path");
    let path = scratch.path("path").display().to_string();
    let arguments = ["bench", "--uniform", "2^10", "a b", "--", "-h"];
    let ran = run(&scratch, &path, &arguments).ends_with_code(1);
    assert_eq!(ran.stdout, "path:\n<--uniform><2^10><a b><--><-h>");
    plant(&scratch, "bin");
    for (arguments, expected) in [
        (&["bench", "compare", "x", "--json"][..], "bin:\n<compare><x><--json>"),
        (&["bench", "--help"], "bin:\n<--help>"),
        (&["bench"], "bin:\n<>"),
        (&["man", "bench", "compare"], "bin:\n<man><compare>"),
        (&["man", "-o", "pages"], "bin:\n<man><-o><pages>"),
    ] {
        assert_eq!(run(&scratch, &path, arguments).ends_with_code(1).stdout, expected);
    }
    assert!(scratch.path("pages/fpstore-pack.1").exists());
}

#[test]
fn without_the_program_one_line_says_how_to_get_it() {
    let scratch = Scratch::new();
    let path = scratch.path("nothing").display().to_string();
    run(&scratch, &path, &["bench", "in"]).fails_with(
        "bench: fpstore-bench is not there; install it (`cargo install --path tools/bench`), or put it \
         into PATH or beside fpstore",
    );
    let help = run(&scratch, &path, &["help", "bench"]).succeeds().stdout;
    assert!(help.contains("Usage: fpstore bench") && help.contains("cargo install"), "{help}");
    let page = run(&scratch, &path, &["man", "bench"]).succeeds().stdout;
    assert!(page.contains(".TH fpstore-bench 1"), "{page}");
}
