//! Help, version, wrong usage and completions.

use std::process::Command;

use crate::Scratch;

const SUBCOMMANDS: [&str; 11] = [
    "plan",
    "pack",
    "query",
    "join",
    "merge-pairs",
    "dedup",
    "stat",
    "verify",
    "dump",
    "bench",
    "completions",
];

#[test]
fn the_help_answers_with_examples_formats_and_exit_codes() {
    let scratch = Scratch::new();
    let help = scratch.run("--help").succeeds().stdout;
    for part in [
        "Examples:",
        "fpstore pack hashes.txt -o photos.fps",
        "fpstore query photos.fps 8f3ac41e09b7d265",
        "Formats of inputs",
        "\n  parquet  ",
        "gzip or zstd",
        "two's complement",
        "Exit codes:\n  0  done; `query`: something matched\n  1  `query`: nothing matched; `bench compare`: something got slower\n  2  an error",
    ] {
        assert!(help.contains(part), "no {part:?} in {help}");
    }
    for subcommand in SUBCOMMANDS {
        assert!(help.contains(&format!("\n  {subcommand} ")), "{subcommand}");
    }
    let short = scratch.run("-h").succeeds().stdout;
    assert!(short.lines().count() < help.lines().count());
    assert!(short.contains("`fpstore --help`"), "{short}");
}

#[test]
fn each_subcommand_has_help_that_fits_a_screen_of_100_columns() {
    let scratch = Scratch::new();
    for subcommand in SUBCOMMANDS {
        let help = scratch.run(&format!("{subcommand} --help")).succeeds().stdout;
        assert!(help.contains(&format!("Usage: fpstore {subcommand}")), "{help}");
        for line in help.lines() {
            assert!(line.chars().count() <= 100, "{line}");
        }
        assert_eq!(scratch.run(&format!("help {subcommand}")).succeeds().stdout, help);
    }
    let query = scratch.run("query --help").succeeds().stdout;
    assert!(query.contains("Exit codes: 0 if something matched, 1 if nothing did, 2 on an error"));
}

#[test]
fn the_example_of_the_json_shape_is_what_query_prints() {
    let scratch = Scratch::new();
    scratch.pack("store", &[0x8f3ac41e09b7d264], "");
    let printed = scratch.run("query store 8f3ac41e09b7d265 --output json").succeeds().stdout;
    assert!(scratch.run("query --help").succeeds().stdout.contains(printed.trim_end()));
}

#[test]
fn the_version_is_that_of_the_package() {
    let version = concat!("fpstore ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(Scratch::new().run("--version").succeeds().stdout, version);
}

#[test]
fn wrong_usage_exits_with_2_and_prints_no_result() {
    let scratch = Scratch::new();
    for line in [
        "",
        "nonsense",
        "pack",
        "pack in",
        "pack -o store",
        "query",
        "query store 0x1 --output xml",
        "query store 0x1 -k -1",
        "query store 0x1 -k x",
        "query store 0x1 --threads 1025",
        "stat",
        "stat a b",
        "verify",
        "dump store --output dec",
        "completions",
        "completions tcsh",
        "stat store --nonsense",
    ] {
        let ran = scratch.run(line);
        assert_ne!(ran.stderr, "", "{line}");
        assert_eq!(ran.stdout, "", "{line}");
        ran.ends_with_code(2);
    }
}

#[test]
fn completions_name_every_subcommand() {
    let scratch = Scratch::new();
    for (shell, mark) in [
        ("bash", "complete -F _fpstore"),
        ("zsh", "#compdef fpstore"),
        ("fish", "complete -c fpstore"),
    ] {
        let script = scratch.run(&format!("completions {shell}")).succeeds().stdout;
        assert!(script.contains(mark), "{shell}: {script}");
        for word in SUBCOMMANDS.iter().chain(&["block-bytes", "low-bits", "from", "threads"]) {
            assert!(script.contains(word), "{shell}: no {word}");
        }
    }
}

#[test]
fn bash_takes_its_completions_and_completes() {
    let scratch = Scratch::new();
    scratch.write("script", scratch.run("completions bash").succeeds().stdout);
    let ask = "source ./script && COMP_WORDS=(fpstore ver) COMP_CWORD=1 \
               && _fpstore fpstore ver fpstore && echo \"${COMPREPLY[@]}\"";
    let output =
        Command::new("bash").args(["-c", ask]).current_dir(scratch.path("")).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "verify\n");
}
