//! Help, version, wrong usage and completions.

use std::process::Command;

use crate::{PROGRAM, Scratch};

const SUBCOMMANDS: [&str; 26] = [
    "plan",
    "pack",
    "create",
    "insert",
    "delete",
    "flush",
    "merge",
    "expire",
    "backup",
    "repair",
    "query",
    "join",
    "merge-pairs",
    "dedup",
    "fingerprint",
    "compare",
    "evaluate",
    "corpus",
    "stat",
    "verify",
    "dump",
    "serve",
    "bench",
    "glossary",
    "man",
    "completions",
];

/// Those of `corpus`.
const CORPUS: [&str; 3] = ["corpus dedup", "corpus report", "corpus decide"];

/// Three screens.
const MOST_LINES: usize = 120;

/// All but the one that is a program of its own.
fn own() -> impl Iterator<Item = &'static str> {
    SUBCOMMANDS.into_iter().filter(|name| *name != "bench")
}

#[test]
fn the_help_answers_with_examples_formats_and_exit_codes() {
    let scratch = Scratch::new();
    let help = scratch.run("--help").succeeds().stdout;
    for part in [
        "Examples:",
        "fpstore pack hashes.txt -o photos.fps",
        "fpstore query photos.fps 8f3ac41e09b7d265",
        "Formats of inputs",
        "\n  parquet, arrow  ",
        "xz or lz4",
        "two's complement",
        "Exit codes:\n  0  done; `query`: something matched; `serve`: a signal ended it\n  1  `query`: nothing matched; `bench compare`: something got slower;\n     `repair`: something was lost\n  2  an error",
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
    for subcommand in own().chain(CORPUS) {
        let help = scratch.run(&format!("{subcommand} --help")).succeeds().stdout;
        assert!(help.contains(&format!("Usage: fpstore {subcommand}")), "{help}");
        for line in help.lines() {
            assert!(line.chars().count() <= 100, "{line}");
        }
        // Notes are made for 80 columns, so that no terminal breaks them.
        let notes = help.split_once("\nExamples:").map_or("", |(_, notes)| notes);
        for line in notes.lines().filter(|line| !line.starts_with(['{', ' '])) {
            assert!(line.chars().count() <= 80, "{line}");
        }
        assert_eq!(scratch.run(&format!("help {subcommand}")).succeeds().stdout, help);
    }
    let query = scratch.run("query --help").succeeds().stdout;
    assert!(query.contains("Exit codes: 0 if something matched, 1 if nothing did, 2 on an error"));
}

/// Of `-h` only what most people need; all others stand in `--help`, those about the layout of
/// stores under a heading of their own.
#[test]
fn the_short_help_shows_a_dozen_options_at_most_and_the_long_one_fills_three_screens() {
    let scratch = Scratch::new();
    let options = |help: &str| -> Vec<String> {
        // What explains an option stands farther to the right.
        let starts = |line: &&str| {
            let text = line.trim_start();
            text.starts_with('-') && (2..=6).contains(&(line.len() - text.len()))
        };
        let lines = help.lines().take_while(|line| !line.starts_with("Examples:"));
        let lines = lines.filter(starts).map(str::trim_start);
        let name = |line: &str| {
            let mut words = line.split([' ', ',']).filter(|word| word.starts_with('-'));
            let short = words.next().unwrap_or_default();
            words.next().filter(|_| !short.starts_with("--")).unwrap_or(short).to_string()
        };
        lines.map(name).collect()
    };
    for subcommand in own().chain(CORPUS) {
        let lines = scratch.run(&format!("{subcommand} --help")).succeeds().stdout.lines().count();
        assert!(lines <= MOST_LINES, "{subcommand}: {lines}");
        let short = options(&scratch.run(&format!("{subcommand} -h")).succeeds().stdout);
        let long = options(&scratch.run(&format!("{subcommand} --help")).succeeds().stdout);
        assert!(short.len() <= 12, "{subcommand}: {} options: {short:?}", short.len());
        assert!(short.iter().all(|option| long.contains(option)), "{subcommand}: {short:?}");
    }
    // Those of all commands stand once.
    let help = scratch.run("--help").succeeds().stdout;
    let (_, globals) = help.split_once("\nOptions of all commands:\n").unwrap();
    for option in ["--threads", "--memory", "--tmp-dir", "--progress", "--quiet", "--json"] {
        assert!(globals.contains(option), "{option}");
    }
    for subcommand in ["pack", "create", "plan"] {
        let help = scratch.run(&format!("{subcommand} --help")).succeeds().stdout;
        let (_, experts) = help.split_once("\nLayout, for experts:\n").unwrap();
        assert!(experts.contains("--block-bytes "), "{help}");
        let short = scratch.run(&format!("{subcommand} -h")).succeeds().stdout;
        assert!(short.contains("--prefer ") && !short.contains("--block-bytes"), "{short}");
    }
}

#[test]
fn the_example_of_the_json_shape_is_what_query_prints() {
    let scratch = Scratch::new();
    scratch.pack("store", &[0x8f3ac41e09b7d264], "");
    let printed = scratch.run("query store 8f3ac41e09b7d265 --as json").succeeds().stdout;
    assert!(scratch.run("query --help").succeeds().stdout.contains(printed.trim_end()));
}

#[test]
fn the_version_is_that_of_the_package_and_at_length_says_what_was_built() {
    let scratch = Scratch::new();
    let version = concat!("fpstore ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(scratch.run("-V").succeeds().stdout, version);
    let long = scratch.run("--version").succeeds().stdout;
    assert!(long.starts_with(version), "{long}");
    let value = |name: &str| {
        let line = long.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_else(|| panic!("{long}")).trim().to_string()
    };
    let features: Vec<&str> = [
        ("arrow", cfg!(feature = "arrow")),
        ("parquet", cfg!(feature = "parquet")),
        ("serve", cfg!(feature = "serve")),
    ]
    .iter()
    .filter_map(|&(name, is_on)| is_on.then_some(name))
    .collect();
    let features = if features.is_empty() { "none".to_string() } else { features.join(", ") };
    assert_eq!(value("features:"), features);
    // As the system lists it; a machine without these has no such line.
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let has = |flag: &str| cpu.split_whitespace().any(|word| word == flag);
    let most = std::env::var("FPSTORE_SIMD").unwrap_or_default();
    let level = match (has("avx512_vbmi2") && has("avx512_bitalg"), has("avx2") && has("bmi2")) {
        _ if most == "portable" => "none",
        _ if cfg!(target_arch = "aarch64") => "NEON",
        (true, _) if most != "avx2" => "AVX-512",
        (_, true) => "AVX2",
        _ => "none",
    };
    assert_eq!(value("SIMD:"), level);
    assert!(!value("commit:").is_empty() && value("compiler:").starts_with("rustc "), "{long}");
}

#[test]
fn the_environment_says_how_much_is_used_of_the_cpu() {
    let run = |level: &str| {
        Command::new(PROGRAM).arg("--version").env("FPSTORE_SIMD", level).output().unwrap()
    };
    for level in ["portable", "PORTABLE"] {
        let version = String::from_utf8(run(level).stdout).unwrap();
        assert!(version.contains("SIMD:     none\n"), "{version}");
    }
    // What the CPU lacks is no mistake.
    assert!(["neon", "avx2", "avx512"].map(run).iter().all(|ran| ran.status.success()));
    let refused = run("sse9");
    assert_eq!((refused.status.code(), &refused.stdout[..]), (Some(2), &b""[..]));
    let told = String::from_utf8(refused.stderr).unwrap();
    let expected = "fpstore: FPSTORE_SIMD is \"sse9\"; set it to one of portable, neon, avx2, avx512, or unset it\n";
    assert_eq!(told, expected);
}

#[test]
fn wrong_usage_exits_with_2_and_prints_no_result() {
    let scratch = Scratch::new();
    for line in [
        "nonsense",
        "pack",
        "pack in",
        "pack -o store",
        "query",
        "query store 0x1 --as xml",
        "query store 0x1 -k x",
        "query store 0x1 --threads 1025",
        "query store --ouptut json",
        "stat",
        "stat a b",
        "verify",
        "dump store --as dec",
        "completions",
        "completions tcsh",
        "stat store --nonsense",
        "man nonsense",
    ] {
        // One line, as of every other error, and the way to help.
        scratch.run(line).fails_naming(&["fpstore: ", " --help`"]);
    }
    scratch.run("query store --as xml").fails_with(
        "invalid value 'xml' for '--as <tsv|json|count|parquet[,WORD]>': \"xml\" is none of tsv, \
         json, count, parquet, header, hex, u64, i64, any; see `fpstore query --help`",
    );
    // No command at all is a question.
    let ran = scratch.run("");
    assert!(
        ran.stdout.is_empty() && ran.stderr.contains("Usage: fpstore [OPTIONS] <COMMAND>"),
        "{ran:?}"
    );
    ran.ends_with_code(2);
}

#[test]
fn a_distance_out_of_range_is_refused_alike_everywhere() {
    let scratch = Scratch::new();
    scratch.pack("store", &[1, 2], "");
    scratch.write("in", "0x1");
    for (command, name) in [
        ("query store 0x1", "query"),
        ("dedup store", "dedup"),
        ("join store", "join"),
        ("pack in -o other", "pack"),
        ("plan --n 5", "plan"),
    ] {
        for radius in ["-1", "65", "4294967299", "x"] {
            let ran = scratch.run(&format!("{command} -k {radius}"));
            let value = format!("fpstore: invalid value '{radius}' for '-k <K");
            // What is a number is compared with the width, where stores have any.
            let most = match (name, radius) {
                (_, "-1" | "4294967299" | "x") => "those of a fingerprint",
                _ => "64",
            };
            let rule = format!(
                "': a distance is a whole number of bits, from 0 to {most}; see `fpstore {name} \
                 --help`\n"
            );
            assert!(ran.stderr.starts_with(&value) && ran.stderr.ends_with(&rule), "{ran:#?}");
            ran.ends_with_code(2);
        }
    }
}

#[test]
fn short_options_stand_for_the_long_ones_on_all_commands() {
    let scratch = Scratch::new();
    for command in own() {
        let help = scratch.run(&format!("{command} --help")).succeeds().stdout;
        for (long, short) in [("--threads ", "-j, "), ("--quiet", "-q, "), ("--force", "-f, ")] {
            for line in help.lines().filter(|line| line.trim_start().starts_with('-')) {
                let has = line.contains(long) && !line.contains("--progress");
                assert!(
                    !has || line.contains(&format!("{short}{}", long.trim())),
                    "{command}: {line}"
                );
            }
        }
    }
    scratch.write("in", "0x1");
    scratch.run("pack in -o store -q -j 1").succeeds();
    scratch.run("pack in -o store -qf -j2").succeeds();
    scratch.run("verify store -q").succeeds();
    scratch.run("dedup store -q -j 1 -o out").succeeds();
    scratch.run("dedup store -q -j 1 -o out").fails_naming(&["out", "--force"]);
    scratch.run("join store -q -j 1 -o out -f").succeeds();
}

#[test]
fn manual_pages_hold_what_the_help_does() {
    let scratch = Scratch::new();
    scratch.run("man -o deep/man1").succeeds();
    let mut pages: Vec<String> =
        scratch.listing("deep/man1").into_iter().map(|(name, _)| name).collect();
    pages.retain(|name| !name.starts_with("fpstore-bench-"));
    let mut expected: Vec<String> =
        SUBCOMMANDS.iter().map(|command| format!("fpstore-{command}.1")).collect();
    expected.push("fpstore.1".to_string());
    expected
        .extend(["decide", "dedup", "report"].map(|command| format!("fpstore-corpus-{command}.1")));
    expected.sort();
    assert_eq!(pages, expected);
    for (line, name) in [("man", "fpstore"), ("man pack", "fpstore-pack")] {
        let page = scratch.run(line).succeeds().stdout;
        let written =
            std::fs::read_to_string(scratch.path(&format!("deep/man1/{name}.1"))).unwrap();
        assert_eq!(page, written);
        let title = format!(".TH {name} 1  \"fpstore {}\" fpstore", env!("CARGO_PKG_VERSION"));
        assert!(page.contains(&title), "{page}");
    }
    // Lines whose columns line up stay as they are, whatever they begin with.
    let page = scratch.run("man pack").succeeds().stdout;
    let notes = page.split_once(".SH NOTES\n.nf\n").unwrap().1;
    assert!(notes.contains("fpstore pack hashes.txt \\-o photos.fps\n"), "{notes}");
    assert!(!notes.contains("\n'"), "no line is a request");
    let page = scratch.run("man dedup").succeeds().stdout;
    assert!(page.contains("awk \\-F \\(aq\\et\\(aq"), "{page}");
}

#[test]
fn the_glossary_explains_the_words_and_is_a_topic_of_help() {
    let scratch = Scratch::new();
    let glossary = scratch.run("glossary").succeeds().stdout;
    for word in [
        "fingerprint",
        "k, radius",
        "table",
        "design",
        "top",
        "block",
        "router",
        "low bits, L",
        "short table",
        "codec",
        "class",
        "segment",
        "bound",
        "warm, cold",
        "representative",
    ] {
        assert!(glossary.contains(&format!("\n  {word} ")), "no {word}");
    }
    assert!(glossary.lines().all(|line| line.chars().count() <= 80));
    assert!(scratch.run("help glossary").succeeds().stdout.contains(glossary.trim_end()));
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
        for word in SUBCOMMANDS.iter().chain(&["block-bytes", "design", "from", "threads"]) {
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
