//! What the tool advises works: commands that it prints run, options that it names exist, and what
//! a message says is to be done mends what it complains of.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::oracle::fingerprints;
use crate::{Ran, Scratch, hex, raw};

/// What stands between backquotes in a text and begins with the name of the tool.
fn commands(text: &str) -> Vec<String> {
    let quoted = text.split('`').skip(1).step_by(2);
    let one_line = |command: &str| command.split_whitespace().collect::<Vec<_>>().join(" ");
    quoted.map(one_line).filter(|command| command.starts_with("fpstore ")).collect()
}

/// The one command that a message prints.
#[track_caller]
fn printed(ran: &Ran) -> String {
    let found = commands(&ran.stderr);
    assert_eq!((ran.code, found.len()), (Some(2), 1), "{ran:#?}");
    found[0].clone()
}

/// All commands but `bench`, which is a program of its own.
fn subcommands(scratch: &Scratch) -> Vec<String> {
    let help = scratch.run("--help").succeeds().stdout;
    let (_, list) = help.split_once("Commands:\n").unwrap();
    let names = list.lines().take_while(|line| !line.is_empty());
    let names = names.filter_map(|line| line.split_whitespace().next());
    let mut names: Vec<String> = names.map(str::to_string).collect();
    names.retain(|name| name != "bench" && name != "help");
    assert!(names.len() > 20, "{names:?}");
    names.push("corpus dedup".to_string());
    names
}

/// All help texts, each with the command that it belongs to.
fn helps(scratch: &Scratch) -> Vec<(String, String)> {
    let own = |name: String| {
        let help = scratch.run(&format!("{name} --help")).succeeds().stdout;
        (name, help)
    };
    let mut helps: Vec<_> = subcommands(scratch).into_iter().map(own).collect();
    helps.push((String::new(), scratch.run("--help").succeeds().stdout));
    helps.push((String::new(), scratch.run("glossary").succeeds().stdout));
    helps
}

/// Sources of the tool, of its readers, and of errors of the library.
fn sources() -> Vec<(PathBuf, String)> {
    fn collect(directory: &Path, found: &mut Vec<(PathBuf, String)>) {
        for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
            let path = entry.path();
            match path.extension().and_then(|extension| extension.to_str()) {
                _ if path.is_dir() => collect(&path, found),
                Some("rs") => found.push((path.clone(), fs::read_to_string(&path).unwrap())),
                _ => {}
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    collect(&root.join("src"), &mut found);
    collect(&root.join("../records/src"), &mut found);
    collect(&root.join("../../src/error"), &mut found);
    found
}

/// Every command that is put together where the tool runs is held by one of these tests, or by that
/// which is named here.
#[test]
fn every_printed_command_is_known() {
    let known = [
        // `a_store_among_the_inputs_of_insert_is_appended`.
        ("insert/mod.rs", "fpstore pack {}"),
        // `a_damaged_store_is_repaired`.
        ("failure.rs", "fpstore repair {store}"),
        // plan.rs: `the_command_runs_as_it_is_printed_whatever_the_sample_is`.
        ("plan.rs", "fpstore pack {}"),
        ("plan/parts.rs", "fpstore pack {input}"),
    ];
    let mut found = BTreeSet::new();
    for (path, text) in sources() {
        for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
            for part in line.match_indices("fpstore ").map(|(at, _)| &line[at..]) {
                let words: Vec<&str> = part.split([' ', '"', '`', ';']).take(3).collect();
                if words.len() == 3 && words[2].starts_with('{') {
                    found.insert((path.clone(), words.join(" ")));
                }
            }
        }
    }
    for (path, command) in &found {
        let is_known = |&(file, text): &(&str, &str)| path.ends_with(file) && text == command;
        assert!(known.iter().any(is_known), "{}: {command}", path.display());
    }
    assert_eq!(found.len(), known.len(), "{found:?}");
}

/// Commands in help texts, and those that a message names without an input, are such that the tool
/// takes: with `--help` behind them it reads all that stands before.
#[cfg(unix)]
#[test]
fn commands_in_help_texts_are_such_that_the_tool_takes() {
    let scratch = Scratch::new();
    let faults = std::cell::RefCell::new(Vec::new());
    let takes = |command: &str, place: &str| {
        // An option that stands last may want a value; `$i` stands in a loop.
        let with = |end: &str| scratch.run_printed(&format!("i=0; {command}{end} --help"));
        let takes = |end: &&str| with(end).code == Some(0);
        if !["", " VALUE", " 64"].iter().any(takes) {
            faults.borrow_mut().push(format!("{place}: {command}: {}", with("").stderr));
        }
    };
    let mut count = 0;
    for (name, help) in helps(&scratch) {
        for command in commands(&help) {
            takes(&command, &name);
            count += 1;
        }
        // Examples, up to what explains them and to where a shell takes over.
        let joined = help.replace("\\\n", " ");
        for line in joined.lines().filter(|line| line.starts_with("  ")) {
            for (at, _) in line.match_indices("fpstore ") {
                let before = line[..at].trim_end();
                if !(before.is_empty() || before.ends_with(['|', ';', '(', '`'])) {
                    continue;
                }
                let mut quote = None;
                let end = line[at..].char_indices().find(|&(place, c)| {
                    match (quote, c) {
                        (None, '\'') => quote = Some(c),
                        (Some(_), '\'') => quote = None,
                        _ => {}
                    }
                    let rest = &line[at + place..];
                    quote.is_none() && ("|&;<>`".contains(c) || rest.starts_with("   "))
                });
                let command = &line[at..end.map_or(line.len(), |(place, _)| at + place)];
                // The list of commands, and words of a sentence.
                if command.split_whitespace().nth(1).is_some_and(|word| word != "bench") {
                    takes(command.trim_end(), &name);
                    count += 1;
                }
            }
        }
    }
    for (_, text) in sources() {
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        for command in code.flat_map(commands) {
            if !command.contains('{') && !command.starts_with("fpstore bench") {
                takes(&command, "a message");
                count += 1;
            }
        }
    }
    assert!(faults.borrow().is_empty(), "{:#?}", faults.borrow());
    assert!(count > 120, "{count}");
}

/// Options that any text of the tool names are there.
#[test]
fn every_option_that_is_named_exists() {
    let scratch = Scratch::new();
    let words = |text: &str| -> BTreeSet<String> {
        let starts = text.match_indices("--").map(|(at, _)| &text[at + 2..]);
        let word = |rest: &str| {
            let end =
                rest.find(|c: char| !(c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'));
            rest[..end.unwrap_or(rest.len())].trim_end_matches('-').to_string()
        };
        starts.map(word).filter(|word| word.len() > 1).collect()
    };
    let is_option = |line: &&str| {
        let line = line.trim_start();
        line.starts_with("--") || line.starts_with('-') && line.contains(", --")
    };
    let mut options = BTreeSet::new();
    for (_, help) in helps(&scratch) {
        let lines = help.lines().filter(is_option);
        options.extend(lines.filter_map(|line| words(line).into_iter().next()));
    }
    // Those of `bench`, of its neighbours, and of cargo.
    let of_others = ["quick", "output", "json", "features", "path", "no-default-features"];
    options.extend(of_others.map(str::to_string));
    assert!(options.len() > 80, "{options:?}");
    for (path, text) in sources() {
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for line in code.lines().filter(|line| !line.trim_start().starts_with("//")) {
            for word in words(line) {
                assert!(options.contains(&word), "{}: --{word}: {line}", path.display());
            }
        }
    }
    for (name, help) in helps(&scratch) {
        for word in words(&help) {
            assert!(options.contains(&word), "{name} --help: --{word}");
        }
    }
}

#[cfg(unix)]
#[test]
fn a_store_among_the_inputs_of_insert_is_appended() {
    let scratch = Scratch::new();
    let (living, packed) = ("it's living", "a pack");
    for (name, create) in [(living, true), (packed, false)] {
        let mut command =
            scratch.command(if create { "create --id-type none -q" } else { "pack in -q -o" });
        scratch.write("in", "0x7 0x9");
        Ran::new(name, command.arg(name).output().unwrap()).succeeds();
    }
    let mut insert = scratch.command("insert");
    let ran = Ran::new("insert", insert.args([living, packed]).output().unwrap());
    let command = printed(&ran);
    assert_eq!(command, r"fpstore pack 'a pack' --append 'it'\''s living'");
    scratch.run_printed(&command).succeeds();
    assert_eq!(scratch.dump_of(living), [7, 9]);
}

#[cfg(unix)]
#[test]
fn a_damaged_store_is_repaired() {
    let scratch = Scratch::new();
    let set = fingerprints(90, 3000);
    fs::create_dir(scratch.path("my stores")).unwrap();
    scratch.write("in", hex(&set));
    let store = "my stores/a";
    let mut pack = scratch.command("pack in -q --design halves -o");
    Ran::new("pack", pack.arg(store).output().unwrap()).succeeds();
    let table = scratch.path(store).join("segment-0000000000000001-table-001.fpt");
    let mut bytes = fs::read(&table).unwrap();
    bytes[5000] ^= 1;
    fs::write(&table, bytes).unwrap();
    let mut verify = scratch.command("verify");
    let ran = Ran::new("verify", verify.arg(store).output().unwrap());
    let command = printed(&ran);
    assert_eq!(command, "fpstore repair 'my stores/a' DEST");
    scratch.run_printed(&command).ends_with_code(0);
    assert_eq!(scratch.dump("DEST"), crate::oracle::sorted(&set));
    // From within the store as well.
    let mut verify = scratch.command("verify .");
    let ran = verify.current_dir(scratch.path(store)).output().unwrap();
    assert_eq!(printed(&Ran::new("verify .", ran)), "fpstore repair . DEST");
}

/// What is refused, a part of the message, and the same as the message advises.
const REMEDIES: &[(&str, &str, &str)] = &[
    ("pack in -o plain", "replace it (--force)", "pack in -o plain --force"),
    ("query plain 0x7 -o there", "give --force", "query plain 0x7 -o there --force"),
    ("backup plain copy", "give --incremental", "backup plain copy --incremental"),
    ("insert living in", "give --ids line or --id-column NAME", "insert living in --ids line"),
    ("insert living t.csv", "--id-column NAME", "insert living t.csv --id-column n"),
    ("insert bare in --ids line", "leave --ids and --id-column out", "insert bare in"),
    ("insert bare in --time 1d", "leave --time out, or create it with --window", "insert bare in"),
    ("pack in -o x1 --ids line --id-column n", "leave one of them out", "pack in -o x1 --ids line"),
    (
        "pack t.csv -o x2 --id-type text",
        "name it with --id-column",
        "pack t.csv -o x2 --id-type text --id-column n",
    ),
    ("pack numbered bare -o x3", "give --ids none", "pack numbered bare -o x3 --ids none"),
    ("pack in --append numbered", "give --ids line or", "pack in --append numbered --ids line"),
    ("pack in --append plain --ids line", "leave --ids", "pack in --append plain"),
    ("query plain", "give --from FILE", "query plain --from in"),
    ("query plain 0x7 --as parquet", "give -o FILE", "query plain 0x7 --as parquet -o x4"),
    ("query plain 0x7 --as count,any", "give --as any, json,any", "query plain 0x7 --as json,any"),
    ("query plain 0x7 --since 1d", "leave --since and --until out", "query plain 0x7"),
    ("query plain 0x7 --as json,header", "give --as tsv", "query plain 0x7 --as tsv,header"),
    ("dump plain --as ids", "leave ids out", "dump plain"),
    (
        "dump numbered --as u64le,ids",
        "give --as tsv, json or parquet",
        "dump numbered --as json,ids",
    ),
    ("join plain --as ids", "leave ids out", "join plain"),
    ("join numbered --as u64le,ids", "give --as tsv or parquet", "join numbered --as tsv,ids"),
    ("join plain --resume -o -", "give -o FILE", "join plain --resume -o x5"),
    ("dedup plain --as per-id -q", "leave per-id out", "dedup plain -q"),
    ("dedup plain --keep first -q", "pack it with --ids line", "dedup numbered --keep first -q"),
    ("delete bare", "name fingerprints after STORE", "delete bare 0x7"),
    ("delete bare 0x7 --id 1", "delete fingerprints as a whole", "delete bare 0x7"),
    ("expire bare --before 1d", "create it with --window", "create windows --window 1d"),
    ("plan", "give --n N", "plan --n 1000"),
    ("plan", "--sample FILE", "plan --sample in"),
    ("pack bad -o x6", "give --on-error skip", "pack bad -o x6 --on-error skip"),
    ("pack short -o x7", "give --format hex", "pack short -o x7 --format hex"),
    ("pack words -o x8", "give --format u64le", "pack words -o x8 --format u64le"),
    (
        "pack bare.csv -o x9",
        "give --format auto,no-header",
        "pack bare.csv -o x9 --format csv,no-header --fingerprint-column 2",
    ),
    ("merge-pairs pairs.u64", "give --format u64le", "merge-pairs pairs.u64 --format u64le"),
    (
        "fingerprint docs.jsonl -o x11.jsonl",
        "--recipe says how",
        "fingerprint docs.jsonl -o x11.jsonl --recipe simhash-64",
    ),
    (
        "fingerprint docs.jsonl --recipe simhash-64 -o x.odd",
        "give --as parquet, jsonl or raw",
        "fingerprint docs.jsonl --recipe simhash-64 -o x.odd --as jsonl",
    ),
    ("compare there", "give two files", "compare there there"),
    (
        "corpus dedup docs.jsonl -o x10 --recipe bands-20x6 -k 3",
        "leave it out",
        "corpus dedup docs.jsonl -o x10 --recipe bands-20x6",
    ),
];

#[test]
fn what_a_message_advises_works() {
    let scratch = Scratch::new();
    let set = fingerprints(91, 400);
    scratch.write("in", hex(&set));
    scratch.write("there", "in the way, as a text of some words, and a few more of them");
    scratch.write("t.csv", "n,fingerprint\n1,00000000000000aa\n2,00000000000000ab\n");
    scratch.write("bare.csv", "1,00000000000000aa\n2,00000000000000ab\n");
    scratch.write("bad", format!("{}zz\n", hex(&set)));
    scratch.write("short", format!("{}abc\n", hex(&set)));
    scratch.write("words", raw(&set));
    scratch.write("pairs.u64", raw(&[1, 3, 4, 5]));
    let text = "a text that is long enough for a fingerprint of it to be made of its words";
    scratch.write("docs.jsonl", format!("{{\"text\":\"{text}\"}}\n{{\"text\":\"{text}!\"}}\n"));
    for line in [
        "pack in -o plain -q",
        "pack in -o numbered --ids line -q",
        "create living -q",
        "create bare --id-type none -q",
        "backup plain copy -q",
    ] {
        scratch.run(line).succeeds();
    }
    let mut faults = Vec::new();
    for &(refused, advice, mended) in REMEDIES {
        if mended.contains("parquet") && !cfg!(feature = "parquet") {
            continue;
        }
        let (told, ran) = (scratch.run(refused), scratch.run(mended));
        let may_find_nothing = mended.starts_with("query") && ran.code == Some(1);
        if told.code != Some(2) || !told.stderr.contains(advice) {
            faults.push(told);
        } else if !may_find_nothing && ran.code != Some(0) {
            faults.push(ran);
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

/// A number of bytes that a message asks for is enough.
#[test]
fn memory_that_a_message_asks_for_is_enough() {
    let scratch = Scratch::new();
    scratch.write("near.u64", raw(&(0..1 << 10).collect::<Vec<u64>>()));
    scratch.write("far.u64", raw(&fingerprints(92, 300_000)));
    scratch.run("pack near.u64 -o near -q").succeeds();
    scratch.run("pack far.u64 -o far -q").succeeds();
    scratch.write("pairs.tsv", "0000000000000001\t0000000000000003\t1\n");
    let text = "a text that is long enough for a fingerprint of it to be made of its words";
    scratch.write("docs.jsonl", format!("{{\"text\":\"{text}\"}}\n"));
    for line in [
        "pack far.u64 -o again -q",
        "query near --from near.u64 -k 3 -o answers",
        "join far -q",
        "dedup far -q",
        "merge-pairs pairs.tsv -q",
        "corpus dedup docs.jsonl --recipe simhash-64 -o clean -q",
    ] {
        // A second thing may need more than the first.
        let (mut memory, mut asked) = ("100KiB".to_string(), 0);
        loop {
            let ran = scratch.run(&format!("{line} --memory {memory}"));
            if asked > 0 && ran.code == Some(0) {
                break;
            }
            assert!(ran.code == Some(2) && asked < 3, "{ran:#?}");
            let words: Vec<&str> = ran.stderr.split([' ', ',', ';', ')', '\n']).collect();
            let sizes = words.windows(2).filter(|pair| pair[1].ends_with("iB"));
            let size = sizes.map(|pair| pair.concat()).next_back();
            memory = size.unwrap_or_else(|| panic!("no size in {ran:#?}"));
            asked += 1;
        }
    }
}

#[cfg(unix)]
#[test]
fn the_uses_of_the_readme_print_what_stands_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let readme = fs::read_to_string(root.join("README.md")).unwrap();
    let scratch = Scratch::new();
    let mut uses = 0;
    for of_use in readme.split("<!-- use -->").skip(1) {
        let block = of_use.strip_prefix("\n```sh\n").unwrap().split("```").next().unwrap();
        // What a command prints stands behind it as a comment.
        let expected = block.lines().filter_map(|line| line.strip_prefix("# "));
        let expected: String = expected.map(|line| format!("{line}\n")).collect();
        let ran = scratch.run_printed(block);
        assert_eq!((ran.code, &ran.stdout), (Some(0), &expected), "{ran:#?}");
        uses += 1;
    }
    assert_eq!(uses, 3);
}

#[cfg(unix)]
#[test]
fn the_manual_shows_what_a_run_over_documents_prints() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let manual = fs::read_to_string(root.join("tools/cli/README.md")).unwrap();
    let (_, shown) = manual.split_once("<!-- corpus -->\n```sh\n").unwrap();
    let (commands, behind) = shown.split_once("```").unwrap();
    let (_, printed) = behind.split_once("```text\n").unwrap();
    let (expected, _) = printed.split_once("```").unwrap();
    let commands = commands.replace("tools/text", root.join("tools/text").to_str().unwrap());
    let ran = Scratch::new().run_printed(&commands);
    let lines = |text: &str| -> Vec<String> {
        text.lines().map(|line| line.trim_end().to_string()).collect()
    };
    // What was done is told on standard error.
    let shown = format!("{}{}", ran.stderr, ran.stdout);
    assert_eq!((ran.code, lines(&shown)), (Some(0), lines(expected)), "{ran:#?}");
}
