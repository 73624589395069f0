//! `query`: answers against brute force, their order and their shapes.

use serde_json::json;

use crate::oracle::{Random, fingerprints, matches, sorted, tsv};
use crate::{Scratch, hex, raw};

/// A store of 3000 fingerprints, and 300 queries of which most have matches.
fn store_and_queries(scratch: &Scratch, options: &str) -> (Vec<u64>, Vec<u64>) {
    let set = fingerprints(20, 3000);
    let mut random = Random(21);
    let queries = (0..300)
        .map(|i| match i % 4 {
            0 => random.next(),
            _ => {
                let base = set[random.below(3000) as usize];
                random.near(base, 5)
            }
        })
        .collect();
    scratch.pack("store", &set, options);
    (set, queries)
}

#[test]
fn tsv_rows_are_those_of_brute_force_at_every_distance() {
    let scratch = Scratch::new();
    for design in ["single", "halves", "22,21,21", "2of5"] {
        let (set, queries) = store_and_queries(&scratch, &format!("--force --design {design}"));
        scratch.write("queries", hex(&queries));
        for k in 0..=8 {
            let ran = scratch.run(&format!("query store --from queries -k {k}")).succeeds();
            assert_eq!(ran.stdout, tsv(&set, &queries, k), "{design}, k = {k}");
        }
    }
}

#[test]
fn explain_tells_how_each_segment_is_searched() {
    let scratch = Scratch::new();
    let set = fingerprints(24, 70_000);
    let (first, more) = set.split_at(50_000);
    scratch.pack("store", first, "--design halves");
    scratch.write("more", raw(more));
    scratch.run("pack more --format u64le --append store").ends_with_code(0);
    let query = set[5];
    let found = tsv(&set, &[query], 3).lines().count();
    let ran = scratch.run(&format!("query store {query:016x} -k 3 --explain")).succeeds();
    let lines: Vec<Vec<&str>> =
        ran.stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0], [&format!("{query:016x}"), "within", "3"]);
    assert_eq!(lines[1][..4], ["segment", "fingerprints", "path", "predicted"]);
    for (line, number, part) in [(&lines[2], "1", first), (&lines[3], "2", more)] {
        let count = line[1].replace(',', "").parse::<usize>().unwrap();
        assert_eq!((line[0], count, line[2]), (number, sorted(part).len(), "tables"));
    }
    let matches = |line: &[&str]| line.last().unwrap().parse::<usize>().unwrap();
    assert!(matches(&lines[2]) + matches(&lines[3]) >= found && found > 0 && lines.len() == 4);
    let ran = scratch.run("query store 0123456789abcdef -k 0 --explain").ends_with_code(1);
    assert_eq!(ran.stdout.lines().count(), 4);
    let ran = scratch.run(&format!("query store {query:016x} -k 40 --explain")).succeeds();
    assert!(ran.stdout.contains(" scan "), "{}", ran.stdout);
    scratch.write("queries", hex(&[query]));
    for other in ["--from queries", "--as any", "--nearest 3", "--as json"] {
        let line = format!("query store {query:016x} --explain {other}");
        let ran = scratch.run(&line).ends_with_code(2);
        assert!(ran.stderr.contains("--explain"), "{}", ran.stderr);
    }
}

#[test]
fn a_distance_of_64_matches_everything() {
    let scratch = Scratch::new();
    let set = fingerprints(22, 100);
    scratch.pack("store", &set, "");
    let ran = scratch.run("query store 0x0 -k 64").succeeds();
    assert_eq!(ran.stdout, tsv(&set, &[0], 64));
    assert_eq!(ran.stdout.lines().count(), sorted(&set).len());
}

#[test]
fn the_packed_radius_is_the_default_distance() {
    let scratch = Scratch::new();
    for (options, k) in [("-k 0", 0), ("-k 5", 5), ("", 3)] {
        let (set, queries) = store_and_queries(&scratch, &format!("--force {options}"));
        scratch.write("queries", hex(&queries));
        let ran = scratch.run("query store --from queries").succeeds();
        assert_eq!(ran.stdout, tsv(&set, &queries, k), "packed with {options:?}");
    }
}

#[test]
fn count_prints_a_row_for_each_query_in_input_order() {
    let scratch = Scratch::new();
    let (set, queries) = store_and_queries(&scratch, "");
    scratch.write("queries", hex(&queries));
    let rows: String = queries
        .iter()
        .map(|&query| format!("{query:016x}\t{}\n", matches(&set, query, 3).len()))
        .collect();
    assert!(rows.contains("\t0\n"), "some query must have no match");
    let ran = scratch.run("query store --from queries --as count").succeeds();
    assert_eq!(ran.stdout, rows);
}

#[test]
fn json_prints_an_object_for_each_query_in_input_order() {
    let scratch = Scratch::new();
    let (set, queries) = store_and_queries(&scratch, "");
    scratch.write("queries", hex(&queries));
    let ran = scratch.run("query store --from queries --as json -k 4").succeeds();
    assert_eq!(ran.stdout.lines().count(), queries.len());
    for (line, &query) in ran.stdout.lines().zip(&queries) {
        let found: Vec<_> = matches(&set, query, 4)
            .into_iter()
            .map(|(distance, x)| json!({"fingerprint": format!("{x:016x}"), "distance": distance}))
            .collect();
        let expected = json!({"query": format!("{query:016x}"), "matches": found});
        assert_eq!(serde_json::from_str::<serde_json::Value>(line).unwrap(), expected);
    }
}

#[test]
fn json_has_just_the_documented_bytes() {
    let scratch = Scratch::new();
    scratch.pack("store", &[10, 11], "");
    let ran = scratch.run("query store 0xa --as json -k 1").succeeds();
    let expected = "{\"query\":\"000000000000000a\",\"matches\":[\
                    {\"fingerprint\":\"000000000000000a\",\"distance\":0},\
                    {\"fingerprint\":\"000000000000000b\",\"distance\":1}]}\n";
    assert_eq!(ran.stdout, expected);
}

#[test]
fn threads_do_not_change_the_answers_or_their_order() {
    let scratch = Scratch::new();
    let set = fingerprints(23, 2000);
    scratch.pack("store", &set, "");
    let mut queries = fingerprints(23, 2000);
    Random(24).shuffle(&mut queries);
    // More than one chunk of 4096, and more than one read of 64 KiB.
    queries.extend(fingerprints(25, 12_000));
    scratch.write("queries", hex(&queries));
    let expected = tsv(&set, &queries, 3);
    for threads in ["--threads 1", "--threads 2", "--threads 7", ""] {
        let ran = scratch.run(&format!("query store --from queries {threads}")).succeeds();
        assert!(ran.stdout == expected, "other rows with {threads:?}");
    }
}

#[test]
fn a_query_given_twice_is_answered_twice() {
    let scratch = Scratch::new();
    scratch.pack("store", &[10], "");
    let ran = scratch.run("query store 0xa 0xa -k 0").succeeds();
    assert_eq!(ran.stdout, "000000000000000a\t000000000000000a\t0\n".repeat(2));
}

#[test]
fn arguments_come_before_the_queries_of_a_file() {
    let scratch = Scratch::new();
    scratch.pack("store", &[10, 200], "");
    scratch.write("queries", "200 13");
    let ran = scratch.run("query store 0xa --from queries -k 0 --as count").succeeds();
    assert_eq!(ran.stdout, "000000000000000a\t1\n00000000000000c8\t1\n000000000000000d\t0\n");
}

#[test]
fn arguments_are_hexadecimal_as_all_output_is() {
    let scratch = Scratch::new();
    scratch.pack("store", &[0x12, 0x1f, 12, u64::MAX, 0x1234567890123456, 1234567890123456], "");
    let first_column = |line: &str| -> Vec<String> {
        let ran = scratch.run(line).succeeds();
        ran.stdout.lines().map(|row| row[..16].to_string()).collect()
    };
    // Neither the number of digits nor another argument changes what one means.
    for (line, queries) in [
        ("0x12", vec![0x12]),
        ("0x1f", vec![0x1f]),
        ("0x12 0X1F 0x12", vec![0x12, 0x1f, 0x12]),
        ("1234567890123456", vec![0x1234567890123456]),
        ("1234567890123456 0x12", vec![0x1234567890123456, 0x12]),
        ("--format hex 12", vec![0x12]),
        // The format of a file says nothing of arguments.
        ("--format csv 0x12", vec![0x12]),
        ("--format dec 12 1234567890123456", vec![12, 1234567890123456]),
        ("--format dec -1 18", vec![u64::MAX, 0x12]),
    ] {
        let expected: Vec<String> =
            queries.iter().map(|query: &u64| format!("{query:016x}")).collect();
        assert_eq!(first_column(&format!("query store -k 0 {line}")), expected, "{line}");
    }
}

#[test]
fn a_faulty_argument_is_told_by_its_number() {
    let scratch = Scratch::new();
    scratch.pack("store", &[10], "");
    let dec = "correct it, or give --format dec if it is decimal";
    for (line, place, what) in [
        ("0xa 1g", "argument 2, character 2", "'g' is no hexadecimal digit"),
        ("-1", "argument 1, character 1", "'-' is no hexadecimal digit"),
        ("18446744073709551615", "argument 1, character 1", "more than 16 hexadecimal digits"),
    ] {
        scratch.run(&format!("query store {line}")).fails_with(&format!("{place}: {what}; {dec}"));
    }
    for command in ["query", "delete"] {
        scratch.run(&format!("{command} store 0x44 0044")).fails_with(
            "argument 2, character 1: 4 hexadecimal digits, where a fingerprint has 16; give all of \
             them, or 0x in front if zeros are left out",
        );
        scratch
            .run(&format!("{command} store 0x44 -"))
            .fails_with("argument 2: is no fingerprint; give --from - for standard input");
    }
    scratch.run("query store a --format hex -k 0").succeeds();
    scratch.run("query store 1 1f --format dec").fails_with(
        "argument 2, character 2: 'f' is no decimal digit; correct it, or leave --format dec out",
    );
    let mut command = scratch.command("query store 0xa");
    let output = command.arg("").output().unwrap();
    crate::Ran::new("an empty argument", output)
        .fails_with("argument 2: is empty; give a fingerprint");
    scratch.run("query store 12345678 --format u64le").fails_with(
        "argument 1: --format u64le is for bytes in a file; give --from FILE, or --format hex or \
         dec for arguments",
    );
}

#[test]
fn the_exit_code_says_whether_something_matched() {
    let scratch = Scratch::new();
    scratch.pack("store", &[0], "");
    for shape in ["tsv", "count", "json"] {
        let line = |query| format!("query store {query} --as {shape}");
        assert_eq!(scratch.run(&line("0x1")).ends_with_code(0).stderr, "");
        assert_eq!(scratch.run(&line("0xff")).ends_with_code(1).stderr, "");
        assert_eq!(scratch.run(&line("0xff 0x1")).ends_with_code(0).stderr, "");
    }
    scratch.run("query store zz").ends_with_code(2);
}

#[test]
fn without_fingerprints_query_says_what_to_do() {
    let scratch = Scratch::new();
    scratch.pack("store", &[0], "");
    scratch.run("query store").fails_with(
        "query: no fingerprints to look for; name some after STORE, or give --from FILE (--from - \
         for standard input)",
    );
}

#[test]
fn every_format_of_a_query_file_gives_the_same_answers() {
    let scratch = Scratch::new();
    let (set, queries) = store_and_queries(&scratch, "");
    let dec: String = queries.iter().map(|&query| format!("{}\n", query as i64)).collect();
    scratch.write("hex", hex(&queries));
    scratch.write("dec", dec);
    scratch.write("u64le", raw(&queries));
    for format in ["hex", "dec", "u64le"] {
        let judged = if format == "u64le" { format } else { "auto" };
        for option in [judged, format] {
            let line = format!("query store --from {format} --format {option}");
            assert_eq!(scratch.run(&line).succeeds().stdout, tsv(&set, &queries, 3), "{line}");
        }
    }
}

#[test]
fn files_of_queries_print_the_same_as_pipes() {
    let scratch = Scratch::new();
    let set = fingerprints(26, 5000);
    scratch.pack("store", &set, "--ids line");
    let mut queries = fingerprints(26, 9000);
    Random(27).shuffle(&mut queries);
    // Some come again.
    queries.extend_from_within(..500);
    scratch.write("queries.u64", raw(&queries));
    for k in [0, 3, 7] {
        for shape in ["tsv", "json", "count"] {
            let options = format!("--as {shape} -k {k} --format u64le");
            // A pipe is answered by what has arrived.
            let line = format!("query store --from - {options}");
            let expected = scratch.run_with(&line, &raw(&queries)).ends_with_code(0).stdout;
            for memory in ["", "--memory 16MiB"] {
                let line = format!("query store --from queries.u64 {options} {memory}");
                assert!(scratch.run(&line).succeeds().stdout == expected, "{line}");
            }
        }
        let no_ids = format!("query store --from queries.u64 -k {k} --limit-ids 0");
        assert!(scratch.run(&no_ids).succeeds().stdout == tsv(&set, &queries, k), "k = {k}");
    }
}

#[test]
fn more_matches_than_fit_are_refused_with_what_would_do() {
    let scratch = Scratch::new();
    let set = fingerprints(30, 150_000);
    scratch.pack("store", &set, "");
    scratch.write("queries", raw(&set[..1]));
    let line = "query store --from queries -k 64 --format u64le";
    let distinct = set.iter().collect::<std::collections::HashSet<_>>().len();
    let told = format!("query {:016x} has {distinct} matches, for which --memory is to be", set[0]);
    let ran = scratch.run(&format!("{line} --memory 16MiB")).ends_with_code(2);
    assert_eq!(ran.stdout, "");
    assert!(ran.stderr.contains(&told), "{}", ran.stderr);
    let words = ["--limit", "--as count"];
    assert!(words.iter().all(|word| ran.stderr.contains(word)), "{}", ran.stderr);
    // What is said to do does.
    let (_, needed) = ran.stderr.split_once("at least ").unwrap();
    let needed = needed.split(';').next().unwrap().replace(' ', "");
    let answered = scratch.run(&format!("{line} --memory {needed}")).succeeds();
    assert_eq!(answered.stdout.lines().count(), distinct);
    let nearest = scratch.run(&format!("{line} --memory 16MiB --limit 10")).succeeds();
    let first: Vec<&str> = answered.stdout.lines().take(10).collect();
    assert_eq!(nearest.stdout.lines().collect::<Vec<_>>(), first);
    let counted = scratch.run(&format!("{line} --memory 16MiB --as count")).succeeds();
    assert_eq!(counted.stdout, format!("{:016x}\t{distinct}\n", set[0]));
}

#[test]
fn more_queries_than_fit_are_answered_in_pieces_and_in_order() {
    let scratch = Scratch::new();
    let set = fingerprints(28, 2000);
    scratch.pack("store", &set, "");
    // A sixteenth of 16 MiB holds 131,072 of them.
    let mut random = Random(29);
    let queries: Vec<u64> = (0..300_000).map(|i| set[i % 2000] ^ random.below(2)).collect();
    scratch.write("queries.u64", raw(&queries));
    let line = "query store --from queries.u64 --memory 16MiB --as count -k 0";
    let stored: std::collections::HashSet<u64> = set.iter().copied().collect();
    let count = |query: &u64| format!("{query:016x}\t{}\n", u8::from(stored.contains(query)));
    let expected: String = queries.iter().map(count).collect();
    assert!(scratch.run(line).succeeds().stdout == expected);
    // Of a pipe a thirty-second of it may wait.
    let line = line.replace("--from queries.u64", "--from - --format u64le");
    assert!(scratch.run_with(&line, &raw(&queries)).succeeds().stdout == expected);
    let hex: String = queries.iter().map(|query| format!("{query:016x}\n")).collect();
    let line = line.replace("u64le", "csv,no-header");
    assert!(scratch.run_with(&line, hex.as_bytes()).succeeds().stdout == expected);
}

#[test]
fn a_pipe_is_answered_line_by_line() {
    let scratch = Scratch::new();
    scratch.pack("store", &[10], "");
    let line = "query store --from - --format hex --as count -k 1";
    assert_eq!(
        scratch.run_with(line, b"a\nb\nff\n").succeeds().stdout,
        "000000000000000a\t1\n000000000000000b\t1\n00000000000000ff\t0\n"
    );
}

#[test]
fn a_store_that_is_not_there_is_told_before_what_its_width_would_refuse() {
    let scratch = Scratch::new();
    for query in ["a".repeat(64), "1 -k 100".to_string()] {
        scratch.run(&format!("query nothing {query}")).fails_naming(&["nothing: "]);
    }
    scratch.run("create store --quiet").succeeds();
    scratch
        .run("create store")
        .fails_with("store: a store exists here already; choose another place, or remove it");
}
