//! Help, wrong usage, manual pages and completions.

use crate::scratch::Scratch;

#[test]
fn the_help_is_that_of_a_subcommand_of_the_tool() {
    let scratch = Scratch::new();
    let help = scratch.run("--help").succeeds().stdout;
    assert!(help.contains("Usage: fpstore bench [OPTIONS]"), "{help}");
    assert!(help.contains("fpstore bench hashes.txt --output report"), "{help}");
    for line in help.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
    let short = scratch.run("-h").succeeds().stdout;
    assert!(short.lines().count() < help.lines().count());
    let version = scratch.run("--version").succeeds().stdout;
    assert!(version.starts_with("fpstore") && version.contains("compiler: rustc "), "{version}");
    scratch.run("compare one").fails_with(
        "the following required arguments were not provided: <AFTER>; see `fpstore bench compare \
         --help`",
    );
    scratch.run("in -k 65").fails_with(
        "invalid value '65' for '-k <K>': a distance is a whole number of bits, from 0 to 64; see \
         `fpstore bench --help`",
    );
}

#[test]
fn manual_pages_and_completions_are_those_of_a_subcommand() {
    let scratch = Scratch::new();
    scratch.run("man -o man1").succeeds();
    for (line, name) in [("man", "fpstore-bench"), ("man compare", "fpstore-bench-compare")] {
        let page = scratch.run(line).succeeds().stdout;
        let written = std::fs::read_to_string(scratch.path(&format!("man1/{name}.1"))).unwrap();
        assert_eq!(page, written);
        let title = format!(".TH {name} 1  \"fpstore {}\" fpstore", env!("CARGO_PKG_VERSION"));
        assert!(page.contains(&title), "{page}");
    }
    let script = scratch.run("completions bash").succeeds().stdout;
    assert!(script.contains("fpstore-bench") && script.contains("--block-bytes"), "{script}");
}
