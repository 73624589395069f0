//! Commands that are given again after an error, with other options or with inputs that were
//! mended.

use std::io::Write;

use super::*;

const DEDUP: &str = "corpus dedup --recipe simhash-64 --removed jsonl -q";

/// A line without a text among lines with one.
const BAD: &str = "{\"id\":1,\"text\":\"one two three four five six\"}\n{\"id\":2}\n";

#[test]
fn a_command_that_stopped_at_a_bad_record_is_given_again_as_its_message_advises() {
    let scratch = Scratch::new();
    scratch.write("a.jsonl", BAD);
    let line = format!("{DEDUP} a.jsonl --id-column id");
    scratch.run(&format!("{line} -o out")).fails_naming(&["a.jsonl: line 2", "--on-error skip"]);
    assert!(scratch.path("out/work.fpstore").exists());
    let ran = scratch.run(&format!("{line} -o out --on-error skip")).ends_with_code(0);
    assert!(ran.stderr.starts_with("fpstore: skipped: a.jsonl: line 2"), "{}", ran.stderr);
    assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    scratch.run(&format!("{line} -o whole --on-error skip")).ends_with_code(0);
    assert_eq!(tree(&scratch.path("out")), tree(&scratch.path("whole")));
    // Once there are results, they belong to their settings.
    scratch.run(&format!("{line} -o out")).fails_naming(&[
        "out: is the output of another command",
        "on_error (there \"skip\", here \"stop\")",
    ]);
    assert_eq!(tree(&scratch.path("out")), tree(&scratch.path("whole")));
}

#[test]
fn a_wrong_column_is_mended() {
    let scratch = Scratch::new();
    scratch.write("a.jsonl", BAD.lines().next().unwrap());
    for wrong in
        ["--text-column body", "--id-column name", "--keep max:rank", "-k 3 --keep priority:rank=1"]
    {
        let ran = scratch.run(&format!("{DEDUP} a.jsonl -o out {wrong}"));
        ran.fails_naming(&["a"]);
        let ran = scratch.run(&format!("{DEDUP} a.jsonl -o out"));
        ran.succeeds();
        let kept = fs::read_to_string(scratch.path("out/documents/a.jsonl")).unwrap();
        assert_eq!(kept.trim_end(), BAD.lines().next().unwrap(), "{wrong}");
        fs::remove_dir_all(scratch.path("out")).unwrap();
    }
    // Who looks is told why it starts at the beginning.
    scratch.run(&format!("{DEDUP} a.jsonl -o out --text-column body")).fails_naming(&["line 1"]);
    let line = DEDUP.replace(" -q", "");
    let ran = scratch.run(&format!("{line} a.jsonl -o out")).ends_with_code(0);
    let told = "fpstore: out: starts again, without results so far: text (there \"body\", here \
                \"text\")\n";
    assert!(ran.stderr.starts_with(told), "{}", ran.stderr);
}

#[test]
fn an_input_that_was_cut_is_fetched_again() {
    let scratch = Scratch::new();
    let texts = texts(21, 200, 30);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(jsonl(&texts).as_bytes()).unwrap();
    let whole = gzip.finish().unwrap();
    scratch.write("a.jsonl.gz", &whole[..whole.len() / 2]);
    let line = format!("{DEDUP} a.jsonl.gz");
    scratch.run(&format!("{line} -o out --checkpoint 0")).fails_naming(&["a.jsonl.gz"]);
    scratch.write("a.jsonl.gz", &whole);
    scratch.run(&format!("{line} -o out")).succeeds();
    scratch.run(&format!("{line} -o other")).succeeds();
    assert_eq!(tree(&scratch.path("out")), tree(&scratch.path("other")));
}

#[test]
fn a_command_with_too_little_memory_goes_on_with_more_and_changes_its_mind() {
    let scratch = Scratch::new();
    let texts = texts(22, 200, 30);
    scratch.write("a.jsonl", jsonl(&texts));
    let line = format!("{DEDUP} a.jsonl --id-column id");
    // Nothing is read in vain.
    let told = "memory cannot be 16 MiB: corpus dedup takes 32 MiB and 64 bytes for each document at least; \
                give more (--memory)";
    scratch.run(&format!("{line} -o out --memory 16MiB")).fails_with(told);
    assert!(!scratch.path("out").exists());
    // Read, but not decided.
    scratch
        .run(&format!("{line} -o out --memory 32MiB"))
        .fails_naming(&["to decide about 200 documents"]);
    let noted = fs::read_to_string(scratch.path("out/work.fpstore/state.json")).unwrap();
    assert!(noted.contains("\"stage\":\"Decide\""), "{noted}");
    scratch.run(&format!("{line} -o out -k 5")).succeeds();
    scratch.run(&format!("{line} -o other -k 5")).succeeds();
    assert_eq!(tree(&scratch.path("out")), tree(&scratch.path("other")));
}

#[test]
fn the_store_of_a_command_that_stopped_takes_what_the_next_one_adds() {
    let scratch = Scratch::new();
    scratch.write("a.jsonl", BAD);
    let line = format!("{DEDUP} a.jsonl --id-column id --against seen --add -o out");
    scratch.run(&line).fails_naming(&["line 2"]);
    scratch.run(&format!("{line} --on-error skip")).ends_with_code(0);
    assert_eq!(scratch.dump("seen").len(), 1);
}

#[test]
fn what_stands_beside_the_work_is_a_result_or_not_of_this_command() {
    let scratch = Scratch::new();
    scratch.write("a.jsonl", BAD);
    let line = format!("{DEDUP} a.jsonl -o out");
    scratch.run(&line).fails_naming(&["line 2"]);
    scratch.write("out/mine", "mine");
    scratch
        .run(&format!("{line} --on-error skip"))
        .fails_naming(&["out: is the output of another command", "name another directory"]);
    assert_eq!(fs::read(scratch.path("out/mine")).unwrap(), b"mine");
    // As the message advises.
    scratch.run(&format!("{DEDUP} a.jsonl -o next --on-error skip")).ends_with_code(0);
}

#[test]
fn a_result_that_was_deleted_is_missed() {
    let scratch = Scratch::new();
    scratch.write("a.jsonl", jsonl(&texts(23, 60, 30)));
    let line = "corpus dedup a.jsonl --id-column id -o out -q";
    for lost in ["out/documents/a.jsonl", "out/removed.jsonl"] {
        scratch.run(line).succeeds();
        let whole = tree(&scratch.path("out"));
        fs::remove_file(scratch.path(lost)).unwrap();
        scratch.run(line).fails_naming(&[lost, "is missing", "remove out and do it again"]);
        fs::remove_dir_all(scratch.path("out")).unwrap();
        scratch.run(line).succeeds();
        assert_eq!(tree(&scratch.path("out")), whole);
    }
    let line = format!("{line} --against seen --add").replace("out", "added");
    scratch.run(&line).succeeds();
    fs::remove_file(scratch.path("added/documents/a.jsonl")).unwrap();
    scratch.run(&line).fails_naming(&["added/documents/a.jsonl", "restore it from a copy"]);
}

#[test]
fn who_waits_adds_once_the_other_writer_is_gone() {
    let scratch = Scratch::new();
    scratch.write("a.jsonl", jsonl(&texts(24, 60, 30)));
    scratch.write("first.jsonl", BAD.lines().next().unwrap());
    let line = "corpus dedup a.jsonl --id-column id --against seen --add -q";
    scratch.run(&format!("{line} -o first").replace("a.jsonl", "first.jsonl")).succeeds();
    let path = scratch.path("seen");
    let options = || fpstore::WriterOptions::new().width::<[u64; 4]>();
    let writer = options().open(&path).unwrap();
    scratch.run(&format!("{line} -o out --wait 20ms")).fails_naming(&["seen"]);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(std::time::Duration::from_millis(200));
            writer.close().unwrap();
        });
        scratch.run(&format!("{line} -o out --wait 1h")).succeeds();
    });
    let ids = scratch.run("dump seen --as ids").succeeds().stdout;
    let ids = ids.lines().flat_map(|line| line.rsplit('\t').next().unwrap().split(','));
    assert_eq!(ids.count(), 1 + kept(&scratch, "out/documents/a.jsonl").len());
}

#[test]
fn the_table_of_what_is_removed_is_as_the_input_is() {
    let scratch = Scratch::new();
    let texts = texts(25, 120, 30);
    scratch.write("a.jsonl", jsonl(&texts));
    let rows = texts.iter().map(|text| format!("{},{}\n", text.id, text.text));
    scratch.write("a.csv", format!("id,text\n{}", rows.collect::<String>()));
    scratch.run("corpus dedup a.jsonl --id-column id -o json -q").succeeds();
    scratch.run("corpus dedup a.csv --id-column id -o csv -q").succeeds();
    let mut table = csv::Reader::from_path(scratch.path("csv/removed.csv")).unwrap();
    let found: Vec<BTreeMap<String, String>> = table.deserialize().map(Result::unwrap).collect();
    let expected = removed(&scratch, "json");
    assert!(expected.len() > 20);
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(&expected) {
        for column in ["cluster", "id", "kept", "matched", "distance", "why", "kept_in"] {
            let expected = expected[column].to_string();
            assert_eq!(found[column], expected.trim_matches('"'), "{column}");
        }
        assert_eq!(found["jaccard"], "");
    }
}
