//! Programs in C: built with the library as it is installed, and run, also under what finds errors
//! in memory.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use super::built::{command, compile, header, prefix, run};
use super::header::functions;

const EXAMPLE: &str = "examples/pages.c";
const EVERY: &str = "tests/every.c";
const ASAN: [&str; 2] = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];

/// Runs a program with an empty directory as its argument.
fn with_directory(mut program: Command) -> String {
    let directory = tempfile::tempdir().unwrap();
    run(program.arg(directory.path()))
}

fn is_there(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}

#[test]
fn the_example_says_what_its_document_says() {
    let output = with_directory(command(compile(EXAMPLE, "pages", &[])));
    for line in [
        "packed 20000 fingerprints in",
        "within 3 bits: 1\n  538454127b096493 at distance 2\n",
        "the two nearest: 2\n  538454127b096493 at distance 2\n",
        "  page 7\n",
        "near the second page: 1\n  9e3779b97f4a7c15 at distance 1\n",
        "the third page is new\n1 page before, 2 now\n  https://b.example/\n",
    ] {
        assert!(output.contains(line), "{line:?} is missing in\n{output}");
    }
}

#[test]
fn programs_are_clean_under_address_sanitizer() {
    for (source, name) in [(EXAMPLE, "pages-asan"), (EVERY, "every-asan")] {
        let mut program = command(compile(source, name, &ASAN));
        // What is not freed is an error, too.
        program.env("ASAN_OPTIONS", "detect_leaks=1:exitcode=23");
        with_directory(program);
    }
    // The sanitizer is there, and finds a handle that was not freed.
    let leak = compile(EVERY, "leak-asan", &[&ASAN[..], &["-DLEAK"]].concat());
    let directory = tempfile::tempdir().unwrap();
    let mut leak = command(leak);
    leak.env("ASAN_OPTIONS", "detect_leaks=1:exitcode=23").arg(directory.path());
    let output = leak.output().unwrap();
    assert_eq!(output.status.code(), Some(23), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stderr).contains("detected memory leaks"));
}

#[test]
fn programs_are_clean_under_valgrind() {
    if !is_there("valgrind") {
        println!("skipped: there is no valgrind");
        return;
    }
    // AddressSanitizer sees the other one too; it takes half a minute here.
    let all = std::env::var_os("FPSTORE_VALGRIND").is_some_and(|wish| wish == "all");
    let programs = [(EXAMPLE, "pages-valgrind"), (EVERY, "every-valgrind")];
    for (source, name) in programs.into_iter().take(1 + usize::from(all)) {
        let directory = tempfile::tempdir().unwrap();
        let mut valgrind = command("valgrind");
        valgrind.args(["-q", "--error-exitcode=23", "--leak-check=full"]);
        valgrind.args(["--errors-for-leak-kinds=definite,indirect"]);
        valgrind.arg(compile(source, name, &[])).arg(directory.path());
        if source == EVERY {
            valgrind.arg("few");
        }
        run(&mut valgrind);
    }
}

#[test]
fn a_program_can_be_linked_with_the_archive() {
    let program = prefix().with_file_name("pages-static");
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let libraries = ["-lgcc_s", "-lutil", "-lrt", "-lpthread", "-lm", "-ldl"];
    let mut cc = Command::new("cc");
    cc.arg("-o").arg(&program).arg(package.join(EXAMPLE));
    cc.arg("-I").arg(prefix().join("include")).arg(prefix().join("lib/libfpstore.a"));
    run(cc.args(libraries));
    with_directory(Command::new(program));
}

#[test]
fn the_header_is_for_cpp_as_well() {
    if !is_there("c++") {
        println!("skipped: there is no compiler for C++");
        return;
    }
    let mut cpp = Command::new("c++");
    cpp.args(["-std=c++11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only"]);
    run(cpp.args(["-x", "c++"]).arg(prefix().join("include/fpstore.h")));
}

#[test]
fn the_library_exports_what_the_header_declares_and_each_symbol_has_a_version() {
    let library = prefix().join("lib/libfpstore.so.0");
    let symbols = run(Command::new("nm").args(["-D", "--defined-only"]).arg(&library));
    let exported: BTreeSet<String> = symbols
        .lines()
        .filter_map(|line| line.rsplit(' ').next())
        .filter(|name| !name.starts_with("FPSTORE_"))
        .map(String::from)
        .collect();
    let declared = functions(&header()).into_iter().map(|name| format!("{name}@@FPSTORE_0.1"));
    assert_eq!(exported, declared.collect());
    let dynamic = run(Command::new("readelf").arg("-d").arg(&library));
    assert!(dynamic.contains("soname: [libfpstore.so.0]"), "{dynamic}");
}
