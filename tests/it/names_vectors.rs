//! The test vectors of `format-spec/names`, read by the plain decoder. Tests of the library read
//! them too.
//!
//! `FPSTORE_BLESS=1 cargo test --test it names_vectors` writes them anew.

use std::fs;
use std::path::{Path, PathBuf};

use fpstore::{IdKind, Packer};

use crate::forge::{entry_of, names};
use crate::oracle::names::read_names;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("format-spec/names")
}

/// A line for each name: hexadecimal digits, where a byte that stands 40 times or more is a piece
/// such as `79*65535`.
fn lines(names: &[Vec<u8>]) -> String {
    let line = |name: &Vec<u8>| {
        let pieces = name.chunk_by(|a, b| a == b).map(|run| match run.len() {
            40.. => format!(" {:02x}*{} ", run[0], run.len()),
            _ => run.iter().map(|byte| format!("{byte:02x}")).collect(),
        });
        pieces.collect::<String>().trim().to_owned() + "\n"
    };
    names.iter().map(line).collect()
}

/// What the manifest says of each.
fn entries() -> String {
    let line = |vector: crate::forge::NamesVector| {
        let (name, entry) = (vector.name, vector.entry);
        let kind = if entry.text { "text" } else { "bytes" };
        let (file_bytes, header, directory) =
            (entry.file_bytes, entry.header_crc, entry.directory_crc);
        format!("{name} {file_bytes} {header:08x} {directory:08x} {kind}\n")
    };
    names().into_iter().map(line).collect()
}

fn readme() -> String {
    let mut text = String::from(
        "# Test vectors of names files\n\n\
         `good-NAME.fpn` holds the names in the lines of `good-NAME.hex`, in hexadecimal digits:\n\
         pieces with a space between them, of which `79*200` is the byte 79 two hundred times;\n\
         `bad-*` are rejected as corrupt and `unsupported-*` as unsupported, by the rule in the name.\n\
         `entries.txt` has a line for each: its name, and what the manifest says of it, which is\n\
         length, header_crc, directory_crc, and whether names are text. This file is written by the\n\
         test that checks it.\n\n\
         | vector | what it is | rule |\n| --- | --- | --- |\n",
    );
    for vector in names() {
        text += &format!("| {} | {} | {} |\n", vector.name, vector.sentence, vector.rule);
    }
    text
}

#[test]
fn committed_names_files_are_as_the_document_says() {
    let root = root();
    let bless = std::env::var_os("FPSTORE_BLESS").is_some();
    if bless {
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(&root).unwrap();
        fs::write(root.join("README.md"), readme()).unwrap();
        fs::write(root.join("entries.txt"), entries()).unwrap();
    }
    let mut files = vec!["README.md".to_owned(), "entries.txt".to_owned()];
    let mut wrong = Vec::new();
    for vector in names() {
        let path = root.join(format!("{}.fpn", vector.name));
        let list = root.join(format!("{}.hex", vector.name));
        if bless {
            fs::write(&path, &vector.file).unwrap();
            if vector.rule.is_empty() {
                fs::write(&list, lines(&vector.names)).unwrap();
            }
        }
        let committed = fs::read(&path).unwrap_or_default();
        assert!(committed == vector.file, "{} (FPSTORE_BLESS=1 writes it)", vector.name);
        files.push(format!("{}.fpn", vector.name));
        match read_names(&vector.file, &vector.entry) {
            Ok(names) => {
                let is_right = vector.rule.is_empty() && names == vector.names;
                let listed = fs::read_to_string(&list).unwrap_or_default();
                if !is_right || listed != lines(&names) {
                    wrong.push(format!("{} is read", vector.name));
                }
                files.push(format!("{}.hex", vector.name));
            }
            Err(rejection) => {
                let kind = if rejection.unsupported { "unsupported" } else { "bad" };
                let (group, number) = rejection.rule.split_once('-').unwrap();
                let start = format!("{kind}-{}-{number:0>2}-", group.to_lowercase());
                if rejection.rule != vector.rule || !vector.name.starts_with(&start) {
                    wrong.push(format!("{}: {rejection}", vector.name));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(fs::read_to_string(root.join("README.md")).unwrap(), readme());
    assert_eq!(fs::read_to_string(root.join("entries.txt")).unwrap(), entries());
    let mut found: Vec<String> = fs::read_dir(&root)
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    found.sort();
    files.sort();
    assert_eq!(found, files, "nothing else lies there");
}

/// What the library writes is what the document says.
#[test]
fn the_plain_decoder_reads_the_names_of_a_packed_store() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pages");
    for count in [0, 1, 2, 64, 65, 4096, 4097, 9000] {
        let mut names: Vec<String> =
            (0..count).map(|n: u64| format!("https://{}.example/{n}?é", n * n % 97)).collect();
        let pairs = names.iter().zip(0u64..).map(|(name, number)| (number % 50, name.clone()));
        let packer = Packer::new().ids(IdKind::Text).replace(true);
        packer.pack_with_ids(&path, pairs).unwrap();
        names.sort();
        let files = fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path());
        let of_names = files.filter(|file| file.extension().is_some_and(|end| end == "fpn"));
        let of_names: Vec<PathBuf> = of_names.collect();
        let mut found = Vec::new();
        for file in &of_names {
            let file = fs::read(file).unwrap();
            found.extend(read_names(&file, &entry_of(&file, true)).unwrap());
        }
        let names: Vec<Vec<u8>> = names.into_iter().map(String::into_bytes).collect();
        assert!(found == names, "{count}: {} in {} files", found.len(), of_names.len());
    }
}
