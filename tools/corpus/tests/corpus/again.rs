//! Results that are decided again come out as if all had been read again.

use std::collections::BTreeMap;

use fpstore_corpus::{Stored, Written};

use super::*;

/// All files of some results.
fn tree(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let (mut files, mut open) = (BTreeMap::new(), vec![root.to_path_buf()]);
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
                continue;
            }
            let name = path.strip_prefix(root).unwrap().display().to_string();
            files.insert(name, fs::read(path).unwrap());
        }
    }
    files
}

/// As the results were decided.
fn stored(results: &Path) -> Dedup {
    let settings = Stored::settings(results).unwrap();
    let one = Fingerprinter::new(&settings.recipe.parse().unwrap()).unwrap();
    Dedup::stored(&settings, one).unwrap().threads(2)
}

#[track_caller]
fn check_same(found: &Path, expected: &Path) {
    let (found, expected) = (tree(found), tree(expected));
    assert!(found.keys().eq(expected.keys()), "{:?} {:?}", found.keys(), expected.keys());
    for (name, bytes) in &found {
        assert!(expected[name] == *bytes, "{name} differs");
    }
}

#[test]
fn results_are_those_of_a_run_from_scratch() {
    let directory = tempfile::tempdir().unwrap();
    let all = texts(300);
    let input = directory.path().join("in");
    fs::create_dir(&input).unwrap();
    fs::write(input.join("a.jsonl"), jsonl(&all[..200])).unwrap();
    fs::write(input.join("b.jsonl"), jsonl(&all[200..])).unwrap();
    // Of plain files those go that are removed now.
    for (number, text) in all[190..210].iter().enumerate() {
        fs::write(input.join(format!("{number}.txt")), text).unwrap();
    }
    let plain = |dedup: &Dedup, output: &Path| {
        let options = DocumentOptions::new();
        let inputs = Inputs::find(std::slice::from_ref(&input), &options)?;
        dedup.files(&inputs, &options, output)
    };
    let first = by("onebit-256").k(20).unwrap();
    let jaccard: Verify = "jaccard:0.6".parse().unwrap();
    let (results, scratch) = (directory.path().join("out"), directory.path().join("scratch"));
    type Change = Box<dyn Fn(Dedup) -> Dedup>;
    let changes: [(Dedup, Vec<Change>); 3] = [
        (
            first.clone(),
            vec![
                Box::new(|dedup| dedup.k(48).unwrap()),
                Box::new(|dedup| dedup.keep(Keep::Longest)),
                Box::new(|dedup| dedup.clusters(Shape::Components).keep(Keep::SmallestId)),
                Box::new(|dedup| dedup.keep(Keep::Central).k(0).unwrap()),
            ],
        ),
        (first.clone().verify(jaccard), vec![Box::new(|dedup| dedup.k(60).unwrap())]),
        (by("minhash-128"), vec![Box::new(|dedup| dedup.clusters(Shape::Complete))]),
    ];
    for (from, changes) in changes {
        let (mut dedup, mut report) = (from.clone(), plain(&from, &results).unwrap());
        for change in changes {
            dedup = change(dedup);
            let again = change(stored(&results)).again(&results).unwrap();
            assert_ne!(again.counts.kept, report.counts.kept);
            plain(&dedup, &scratch).unwrap();
            check_same(&results, &scratch);
            fs::remove_dir_all(&scratch).unwrap();
            report = again;
        }
        fs::remove_dir_all(&results).unwrap();
    }
    // With what is said of all documents, and by a column.
    let annotated =
        first.write(Written::Annotated(String::new())).keep("max:rank".parse().unwrap());
    files(&annotated, &input.join("a.jsonl"), &results).unwrap();
    stored(&results).k(40).unwrap().again(&results).unwrap();
    files(&annotated.k(40).unwrap(), &input.join("a.jsonl"), &scratch).unwrap();
    check_same(&results, &scratch);
    // Nothing is noted of others.
    let error = stored(&results).keep(Keep::First).again(&results).err().unwrap().to_string();
    assert!(error.contains("was decided by max:rank"), "{error}");
    check_same(&results, &scratch);
    fs::write(input.join("a.jsonl"), jsonl(&all[..199])).unwrap();
    let error = stored(&results).k(41).unwrap().again(&results).err().unwrap().to_string();
    assert!(error.contains("have changed"), "{error}");
    check_same(&results, &scratch);
}

#[test]
fn who_is_stopped_while_deciding_again_is_gone_on_with() {
    let directory = tempfile::tempdir().unwrap();
    let input = directory.path().join("in.jsonl");
    fs::write(&input, jsonl(&texts(300))).unwrap();
    let (results, scratch) = (directory.path().join("out"), directory.path().join("scratch"));
    let dedup = by("simhash-64").checkpoint(Duration::ZERO);
    files(&dedup, &input, &results).unwrap();
    files(&dedup.clone().k(9).unwrap(), &input, &scratch).unwrap();
    let mut stops = 0;
    for number in 0..1000 {
        let again = stored(&results).k(9).unwrap().monitor(stopping_at(number));
        match again.again(&results) {
            Ok(_) => break,
            Err(error) => assert!(is_stopped(&error), "{error}"),
        }
        // There are no results that could be taken for whole.
        assert!(!results.join("report.json").exists() && Stored::open(&results).is_err());
        stops += 1;
    }
    assert!((2..1000).contains(&stops), "{stops}");
    check_same(&results, &scratch);
    // Again it is the same, and what is gone is missed.
    stored(&results).again(&results).unwrap();
    check_same(&results, &scratch);
    fs::remove_dir_all(results.join("notes.fpstore")).unwrap();
    let error = stored(&scratch).k(3).unwrap().again(&results).err().unwrap().to_string();
    assert!(error.contains("state.json: is missing"), "{error}");
    assert!(results.join("removed.jsonl").exists());
}

#[test]
fn who_is_killed_between_two_steps_is_gone_on_with() {
    let directory = tempfile::tempdir().unwrap();
    let input = directory.path().join("in.jsonl");
    fs::write(&input, jsonl(&texts(100))).unwrap();
    let path = |name: &str| directory.path().join(name);
    let (first, other) = (by("simhash-64"), by("simhash-64").k(9).unwrap());
    files(&first, &input, &path("first")).unwrap();
    files(&other, &input, &path("other")).unwrap();
    let (notes, work) = ("notes.fpstore", "work.fpstore");
    let state = |of: &str| fs::read_to_string(path(of).join(notes).join("state.json")).unwrap();
    let cleared = state("other").replace("\"Removed\"", "\"Clear\"");
    assert_ne!(cleared, state("other"));
    let results = ["report.json", "removed.jsonl", "documents/in.jsonl"];
    // Whether it was noted that it is to be decided again, what was removed since, and what was
    // moved.
    for (is_noted, lost, moved) in [
        (false, 0, None),
        (false, 0, Some("ids.column")),
        (true, 0, None),
        (true, 1, None),
        (true, 3, None),
    ] {
        let out = path("out");
        files(&first, &input, &out).unwrap();
        fs::rename(out.join(notes), out.join(work)).unwrap();
        fs::write(out.join(work).join("lock"), "").unwrap();
        if is_noted {
            fs::write(out.join(work).join("state.json"), &cleared).unwrap();
        }
        results[..lost].iter().for_each(|name| fs::remove_file(out.join(name)).unwrap());
        if let Some(name) = moved {
            fs::create_dir(out.join(notes)).unwrap();
            fs::rename(out.join(work).join(name), out.join(notes).join(name)).unwrap();
        }
        if lost == 0 {
            // The results are whole, and those of the first.
            files(&first, &input, &out).unwrap();
            assert!(!out.join(work).exists());
            assert_eq!(Stored::open(&out).unwrap().report().settings.k, Some(3));
        }
        stored(&out).k(9).unwrap().again(&out).unwrap();
        check_same(&out, &path("other"));
        fs::remove_dir_all(&out).unwrap();
    }
}

#[test]
fn what_was_added_to_a_store_is_not_decided_again() {
    let directory = tempfile::tempdir().unwrap();
    let input = directory.path().join("in.jsonl");
    fs::write(&input, jsonl(&texts(100))).unwrap();
    let results = directory.path().join("out");
    let store = directory.path().join("seen");
    files(&by("simhash-64").against(&store, true), &input, &results).unwrap();
    let before = tree(&results);
    let error = stored(&results).k(1).unwrap().again(&results).err().unwrap().to_string();
    assert!(error.contains("added to the store"), "{error}");
    assert!(tree(&results) == before);
}
