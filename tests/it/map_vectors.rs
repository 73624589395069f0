//! The test vectors of `format-spec/id-map`, read by the plain decoder. Tests of the command-line tool
//! read them too.
//!
//! `FPSTORE_BLESS=1 cargo test --test it map_vectors` writes them anew.

use std::fs;
use std::path::{Path, PathBuf};

use crate::forge::maps;
use crate::oracle::id_map::read_map;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("format-spec/id-map")
}

fn lines(strings: &[String]) -> String {
    strings.iter().map(|string| format!("{string}\n")).collect()
}

fn readme() -> String {
    let mut text = String::from(
        "# Test vectors of id maps\n\n\
         `good-NAME.idmap` holds the strings in the lines of `good-NAME.txt`; `bad-*` are rejected as corrupt and `unsupported-*` as unsupported,\n\
         by the rule in the name. This file is written by the test that checks it.\n\n\
         | vector | what it is | rule |\n| --- | --- | --- |\n",
    );
    for map in maps() {
        text += &format!("| {} | {} | {} |\n", map.name, map.sentence, map.rule);
    }
    text
}

#[test]
fn committed_id_maps_are_as_the_document_says() {
    let root = root();
    let mut names = vec!["README.md".to_owned()];
    for map in maps() {
        let path = root.join(format!("{}.idmap", map.name));
        let list = root.join(format!("{}.txt", map.name));
        if std::env::var_os("FPSTORE_BLESS").is_some() {
            fs::write(&path, &map.file).unwrap();
            fs::write(root.join("README.md"), readme()).unwrap();
            if map.rule.is_empty() {
                fs::write(&list, lines(&map.strings)).unwrap();
            }
        }
        assert!(fs::read(&path).unwrap() == map.file, "{} (FPSTORE_BLESS=1 writes it)", map.name);
        names.push(format!("{}.idmap", map.name));
        match read_map(&map.file) {
            Ok(strings) => {
                assert_eq!(map.rule, "", "{}", map.name);
                assert!(strings == map.strings, "{}", map.name);
                assert!(fs::read_to_string(&list).unwrap() == lines(&strings), "{}", map.name);
                names.push(format!("{}.txt", map.name));
            }
            Err(rejection) => {
                assert_eq!(rejection.rule, map.rule, "{}: {rejection}", map.name);
                let kind = if rejection.unsupported { "unsupported" } else { "bad" };
                let (group, number) = map.rule.split_once('-').unwrap();
                let start = format!("{kind}-{}-{number:0>2}-", group.to_lowercase());
                assert!(map.name.starts_with(&start), "{}: {rejection}", map.name);
            }
        }
    }
    assert_eq!(fs::read_to_string(root.join("README.md")).unwrap(), readme());
    let mut found: Vec<String> = fs::read_dir(&root)
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    found.sort();
    names.sort();
    assert_eq!(found, names, "nothing else lies there");
}
