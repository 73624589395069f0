//! The test vectors of the format: committed stores, read by the library and by the plain decoder.
//!
//! `FPSTORE_BLESS=1 cargo test --test it vectors` writes them anew, from what the library packs and
//! [`forge`](crate::forge) damages. Without it, a test fails where the committed files are not
//! byte for byte what that gives.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use fpstore::{Codec, Design, Error, Execution, Fingerprint, Layout, OpenOptions, Packer, Store};

use crate::forge::{self, BaseSpec, Forge, SegmentSpec};
use crate::oracle::{self, Bits};
use crate::sets::sorted;

/// Files of a vector by name.
pub type Files = BTreeMap<String, Vec<u8>>;

pub struct Vector {
    pub name: String,
    sentence: String,
    /// The rule that is broken; empty for a good one.
    rule: String,
    pub files: Files,
    /// The fingerprints, of a good one.
    fingerprints: Vec<Bits>,
    /// The ids of each of them, of a good one that has ids.
    ids: Option<Vec<Vec<u64>>>,
    /// The windows of each of them, of a good one that has windows.
    windows: Option<Vec<Vec<u64>>>,
    /// What ids are places in, of a good one whose ids are names.
    names: Option<Vec<Vec<u8>>>,
}

impl Vector {
    /// What a whole reader does with it.
    fn kind(&self) -> &'static str {
        match self.name.split_once('-') {
            Some(("good", _)) => "read",
            Some(("unsupported", _)) => "unsupported",
            _ => "corrupt",
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("format-spec/vectors")
}

fn read_files(directory: &Path) -> Files {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap());
    let file = |entry: fs::DirEntry| {
        (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())
    };
    entries.map(file).collect()
}

pub fn pack(spec: &BaseSpec, path: &Path) {
    match spec.bits {
        32 => pack_as(spec, path, |fingerprint| fingerprint as u32),
        _ => pack_as(spec, path, |fingerprint| fingerprint),
    }
}

fn pack_as<F: Fingerprint>(spec: &BaseSpec, path: &Path, own: impl Fn(u64) -> F + Copy) {
    let packer = Packer::new()
        .width::<F>()
        .layout(
            Layout::new()
                .design(Design::read(spec.bits.into(), spec.design).unwrap())
                .codec(Some(spec.codec.parse().unwrap()))
                .block_bytes(spec.block_bytes)
                .low_bits(Some(spec.low_bits)),
        )
        .execution(Execution::new().threads(1));
    match &spec.ids {
        None => packer.pack(path, spec.fingerprints.iter().map(|&one| own(one))).unwrap(),
        Some(ids) => {
            let each = spec.fingerprints.iter().zip(ids);
            let pairs = each.flat_map(|(&fp, ids)| ids.iter().map(move |&id| (own(fp), id)));
            packer.pack_with_ids(path, pairs).unwrap()
        }
    };
    finish(path);
}

/// Leaves what a vector has of a packed store.
fn finish(path: &Path) {
    fs::remove_file(path.join("lock")).unwrap();
    let manifest = path.join(forge::MANIFEST);
    let mut bytes = fs::read(&manifest).unwrap();
    forge::writer::drop_layout(&mut bytes);
    fs::write(manifest, bytes).unwrap();
}

/// Packs a segment with a base and ids.
fn pack_wide<F: Fingerprint>(segment: &SegmentSpec, path: &Path) {
    let parts = segment.wide.as_ref().map_or(0, |wide| wide.parts.len());
    let (ids, _) = segment.ids.as_ref().unwrap();
    let pairs = segment.rows().into_iter().zip(ids).flat_map(|(row, ids)| {
        let row = F::from_be_slice(&row).unwrap();
        ids.iter().map(move |&id| (row, id))
    });
    let packer = Packer::new().width::<F>().layout(Layout::new().k(3).parts(parts as u16));
    packer.execution(Execution::new().threads(1)).pack_with_ids(path, pairs).unwrap();
    finish(path);
}

/// The vectors of every width that the library packs.
fn packed_wide(directory: &Path) -> Vec<Vector> {
    let mut vectors = Vec::new();
    for forge::PackedSpec { name, sentence, segment } in forge::packed_specs() {
        let path = directory.join(name);
        match segment.wide.as_ref().map(|wide| wide.bits) {
            Some(32) => pack_wide::<u32>(&segment, &path),
            Some(64) => pack_wide::<u64>(&segment, &path),
            Some(128) => pack_wide::<u128>(&segment, &path),
            _ => pack_wide::<[u64; 4]>(&segment, &path),
        }
        vectors.push(Vector {
            name: name.to_string(),
            sentence: sentence.to_string(),
            rule: String::new(),
            files: read_files(&path),
            fingerprints: segment.rows(),
            ids: segment.ids.map(|(ids, _)| ids),
            windows: None,
            names: None,
        });
    }
    vectors
}

#[test]
fn the_plain_writer_writes_the_bases_part_tables_and_ids_that_the_library_writes() {
    let temporary = tempfile::tempdir().unwrap();
    let packed = packed_wide(temporary.path());
    for (vector, spec) in packed.iter().zip(forge::packed_specs()) {
        let mut segment = spec.segment;
        // As many bits as the greatest id has.
        let (ids, bits) = segment.ids.as_mut().unwrap();
        let greatest = ids.iter().flatten().max().unwrap();
        *bits = u64::BITS - greatest.leading_zeros();
        let mut plain = forge::changed_wide(&segment, |_| {}).assemble();
        let mut files = vector.files.clone();
        // They have another store_id.
        assert!(plain.remove("manifest.fps").is_some() && files.remove("manifest.fps").is_some());
        assert!(plain == files, "{}", vector.name);
    }
}

/// The fingerprints of a store in order.
fn all_bits(spec: &BaseSpec) -> Vec<Bits> {
    let unused = 8 - usize::from(spec.bits / 8);
    sorted(&spec.fingerprints).iter().map(|one| one.to_be_bytes()[unused..].to_vec()).collect()
}

/// The ids of each fingerprint in order.
fn ascending(ids: Option<Vec<Vec<u64>>>) -> Option<Vec<Vec<u64>>> {
    ids.map(|ids| ids.iter().map(|ids| sorted(ids)).collect())
}

/// All vectors, made anew.
pub fn vectors() -> Vec<Vector> {
    let temporary = tempfile::tempdir().unwrap();
    let mut packed = 0;
    let mut pack = |spec: &BaseSpec| {
        packed += 1;
        let path = temporary.path().join(packed.to_string());
        pack(spec, &path);
        path
    };
    let mut vectors = Vec::new();
    for (name, sentence, spec) in forge::good_specs() {
        vectors.push(Vector {
            name: name.to_string(),
            sentence: sentence.to_string(),
            rule: String::new(),
            files: read_files(&pack(&spec)),
            fingerprints: all_bits(&spec),
            ids: ascending(spec.ids),
            windows: None,
            names: None,
        });
    }
    vectors.extend(packed_wide(temporary.path()));
    let mut bases = BTreeMap::new();
    for case in forge::good_variants().into_iter().chain(forge::cases()) {
        let spec = forge::base_spec(case.base);
        let base = bases.entry(case.base).or_insert_with(|| pack(&spec));
        let mut forge = Forge::load(base).unwrap();
        (case.damage)(&mut forge);
        vectors.push(Vector {
            name: case.name.to_string(),
            sentence: case.sentence.to_string(),
            rule: case.rule.to_string(),
            files: forge.files,
            fingerprints: if case.rule.is_empty() { all_bits(&spec) } else { vec![] },
            ids: ascending(spec.ids).filter(|_| case.rule.is_empty()),
            windows: None,
            names: case.name.starts_with("good-names").then(forge::names_of_case),
        });
    }
    for vector in forge::written() {
        let forge::WrittenVector { name, rule, sentence, files, fingerprints, ids, windows, names } =
            vector;
        let (name, rule, sentence) = (name.to_string(), rule.to_string(), sentence.to_string());
        vectors.push(Vector { name, sentence, rule, files, fingerprints, ids, windows, names });
    }
    vectors.sort_by(|a, b| a.name.cmp(&b.name));
    vectors
}

/// Both readers see the same fields.
fn compare<F: Fingerprint>(plain: &oracle::PlainStore, store: &Store<F>) {
    let stats = store.stats().unwrap();
    assert_eq!(u32::from(plain.bits), stats.bits);
    assert_eq!(u32::from(plain.planned_radius), stats.radius);
    assert_eq!((plain.store_id, plain.generation), (store.id(), store.generation()));
    assert_eq!(plain.recipe, store.recipe());
    let skipped = store.skipped_sections();
    let skipped = skipped.iter();
    let skipped: Vec<_> =
        skipped.map(|section| (section.kind, !section.writers_must_know)).collect();
    assert_eq!(plain.skipped, skipped);
    assert!(plain.segments.iter().all(|segment| segment.number < plain.next_segment));
    assert_eq!(plain.segments.len(), stats.segments.len());
    for (plain, stats) in plain.segments.iter().zip(&stats.segments) {
        assert_eq!((plain.number, plain.count), (stats.number, stats.count));
        assert_eq!(plain.base.is_some(), stats.base.is_some());
        for (plain, stats) in plain.base.iter().zip(&stats.base) {
            let parts = plain.parts.iter().map(|part| (&part.key, part.coincidences));
            let of_stats = stats.parts.iter().map(|part| (&part.key, part.coincidences));
            assert!(parts.eq(of_stats));
        }
        assert_eq!(plain.tables.len(), stats.tables.len());
        for (plain, stats) in plain.tables.iter().zip(&stats.tables) {
            let codec = match plain.codec {
                1 => Codec::Xor,
                2 => Codec::Gap,
                other => panic!("codec {other}"),
            };
            assert_eq!((codec, u32::from(plain.low_bits)), (stats.codec, stats.low_bits));
            assert_eq!(
                (plain.block_bytes, plain.router.len() as u64),
                (stats.block_bytes, stats.blocks)
            );
            assert_eq!(
                (&plain.code_lengths, &plain.histogram),
                (&stats.code_lengths, &stats.histogram)
            );
            let top: Vec<_> = stats.top.iter().map(|range| (range.start, range.bits)).collect();
            assert_eq!(plain.ranges, top);
        }
    }
}

fn hex_lines(fingerprints: &[Bits]) -> String {
    let line = |one: &Bits| one.iter().map(|byte| format!("{byte:02x}")).collect::<String>() + "\n";
    fingerprints.iter().map(line).collect()
}

fn id_lines(ids: &[Vec<u64>]) -> String {
    let line = |ids: &Vec<u64>| ids.iter().map(u64::to_string).collect::<Vec<_>>().join(" ") + "\n";
    ids.iter().map(line).collect()
}

/// Both readers give these ids for these fingerprints, or none; and both, and a search, find all
/// that is near.
fn compare_ids<F: Fingerprint>(vector: &Vector, plain: &oracle::PlainStore, store: &Store<F>) {
    assert_eq!(plain.names, vector.names, "{}", vector.name);
    let (names, plain) = (&vector.names, plain.ids());
    assert_eq!(store.has_ids(), vector.ids.is_some(), "{}", vector.name);
    for (i, fingerprint) in vector.fingerprints.iter().enumerate() {
        let expected = vector.ids.as_ref().map_or(vec![], |ids| ids[i].clone());
        let own = F::from_be_slice(fingerprint).unwrap();
        if let Some(names) = names {
            let found: Vec<Vec<u8>> = store.ids(own).unwrap().map(Result::unwrap).collect();
            let expected = expected.iter().map(|&id| names[id as usize].clone());
            assert!(found.into_iter().eq(expected), "{}: {fingerprint:x?}", vector.name);
        } else {
            let found: Vec<u64> = store.ids(own).unwrap().map(Result::unwrap).collect();
            assert_eq!(found, expected, "{}: {fingerprint:x?}", vector.name);
        }
        let by_plain = plain.get(fingerprint).map_or(vec![], |ids| ids.iter().copied().collect());
        assert_eq!(by_plain, expected, "{}: {fingerprint:x?}", vector.name);
    }
    let all: Vec<F> =
        vector.fingerprints.iter().map(|one| F::from_be_slice(one).unwrap()).collect();
    for &query in all.iter().step_by(all.len() / 4 + 1) {
        for k in [0, 3, F::BITS / 3] {
            let near = all.iter().filter(|one| one.distance(query) <= k).count();
            assert_eq!(store.search(query, k).unwrap().len(), near, "{} within {k}", vector.name);
        }
    }
}

/// Calls a function of a width with the width that a store has.
macro_rules! by_width {
    ($path:expr, $function:ident($($argument:expr),*)) => {
        match Store::open($path) {
            Err(Error::Width { found: 32, .. }) => $function::<u32>($($argument),*),
            Err(Error::Width { found: 128, .. }) => $function::<u128>($($argument),*),
            Err(Error::Width { found: 256, .. }) => $function::<[u64; 4]>($($argument),*),
            _ => $function::<u64>($($argument),*),
        }
    };
}

/// What the library says of a store: opened, verified and listed.
pub fn library(path: &Path) -> Result<Vec<Bits>, Error> {
    by_width!(path, library_of(path))
}

fn library_of<F: Fingerprint>(path: &Path) -> Result<Vec<Bits>, Error> {
    let store = OpenOptions::new().width::<F>().open(path)?;
    store.verify()?;
    store.iter().map(|one| one.map(|one| one.to_be_bytes().as_ref().to_vec())).collect()
}

fn compare_with<F: Fingerprint>(path: &Path, vector: &Vector, plain: &oracle::PlainStore) {
    let store = OpenOptions::new().width::<F>().open(path).unwrap();
    compare(plain, &store);
    compare_ids(vector, plain, &store);
}

/// The reason that an error gives, and whether it is *unsupported*.
pub fn reason(error: &Error) -> (String, bool) {
    match error {
        Error::Corrupt { corruption, .. } => (corruption.to_string(), false),
        Error::Unsupported { feature, .. } => (feature.to_string(), true),
        Error::NotAStore { found, .. } => (format!("[DIR-1] {found}"), false),
        other => panic!("not an error about the store: {other}"),
    }
}

/// What a reader of the minimal profile does with a vector.
fn minimal(vector: &Vector) -> &'static str {
    let missing = || std::io::Error::from(std::io::ErrorKind::NotFound);
    let file = |name: &str| vector.files.get(name).cloned().ok_or_else(missing);
    let found =
        oracle::mutation::run(oracle::mutation::Mutation::Minimal, || oracle::read_files(&file));
    match found.expect("a right reader does not panic") {
        Ok(store) => {
            let is_good = vector.rule.is_empty();
            assert!(!is_good || store.fingerprints() == vector.fingerprints, "{}", vector.name);
            "read"
        }
        Err(found) if found.unsupported => "unsupported",
        Err(_) => "corrupt",
    }
}

fn readme(vectors: &[Vector]) -> String {
    let mut text = String::from(
        "# Test vectors of format version 1\n\n\
         One store per directory. `good-*` are read, and `good-NAME.hex` lists their fingerprints, `good-NAME.ids` their ids, `good-NAME.names` what these are numbers of, `good-NAME.windows` their windows; `bad-*` are rejected\n\
         as corrupt and `unsupported-*` as unsupported, by a reader that checks every rule. *message* is what fpstore says of it, from\n\
         the tag of the rule on; the program puts the file and the byte before it. `-before-` in a name: of two defects, the one to report.\n\
         *minimal* is what a reader of the minimal profile does, where that is another thing.\n\
         This file is written by the test that checks it.\n\n\
         | vector | what it is | message | minimal |\n| --- | --- | --- | --- |\n",
    );
    for vector in vectors {
        let message = if vector.rule.is_empty() {
            String::new()
        } else {
            // That there is one is for the test to say.
            let error = library(&root().join(&vector.name)).err();
            error.map_or_else(String::new, |error| {
                format!("`{}`", reason(&error).0.replace('|', "\\|"))
            })
        };
        let minimal = minimal(vector);
        let minimal = if vector.kind() == minimal { "" } else { minimal };
        text += &format!("| {} | {} | {message} | {minimal} |\n", vector.name, vector.sentence);
    }
    text
}

fn bless(vectors: &[Vector]) {
    let root = root();
    let _ = fs::remove_dir_all(&root);
    for vector in vectors {
        let directory = root.join(&vector.name);
        fs::create_dir_all(&directory).unwrap();
        for (name, bytes) in &vector.files {
            fs::write(directory.join(name), bytes).unwrap();
        }
        if vector.rule.is_empty() {
            let list = root.join(format!("{}.hex", vector.name));
            fs::write(list, hex_lines(&vector.fingerprints)).unwrap();
        }
        if let Some(ids) = &vector.ids {
            fs::write(root.join(format!("{}.ids", vector.name)), id_lines(ids)).unwrap();
        }
        if let Some(names) = &vector.names {
            fs::write(root.join(format!("{}.names", vector.name)), hex_lines(names)).unwrap();
        }
        if let Some(windows) = &vector.windows {
            fs::write(root.join(format!("{}.windows", vector.name)), id_lines(windows)).unwrap();
        }
    }
    fs::write(root.join("README.md"), readme(vectors)).unwrap();
}

/// The plain decoder by itself, which needs no file that is committed.
#[test]
fn the_plain_decoder_reads_what_the_vectors_hold_and_names_the_rules_that_they_break() {
    let mut wrong = Vec::new();
    for vector in vectors() {
        let missing = || std::io::Error::from(std::io::ErrorKind::NotFound);
        let file = |name: &str| vector.files.get(name).cloned().ok_or_else(missing);
        let found = match oracle::read_files(&file) {
            Ok(_) if !vector.rule.is_empty() => "is read".to_string(),
            Ok(store) => {
                let lists = |lists: &Option<Vec<Vec<u64>>>| {
                    let all = vector.fingerprints.iter().zip(lists.iter().flatten());
                    let all = all.filter(|(_, list)| !list.is_empty());
                    all.map(|(fp, list)| (fp.clone(), list.iter().copied().collect())).collect()
                };
                let held = (store.fingerprints(), store.ids(), store.windows());
                let expected =
                    (vector.fingerprints.clone(), lists(&vector.ids), lists(&vector.windows));
                let is_torn = vector.name.starts_with("good-torn-");
                if held == expected && store.torn == is_torn {
                    continue;
                }
                format!("holds {held:x?}, not {expected:x?}")
            }
            Err(found) => {
                let unsupported = vector.name.starts_with("unsupported-");
                if found.rule == vector.rule && found.unsupported == unsupported {
                    continue;
                }
                found.to_string()
            }
        };
        wrong.push(format!("{}: {found}", vector.name));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn committed_vectors_are_what_the_library_packs_and_both_readers_agree_on_them() {
    let vectors = vectors();
    let root = root();
    if std::env::var_os("FPSTORE_BLESS").is_some() {
        bless(&vectors);
    }
    let mut rejected = 0;
    for vector in &vectors {
        let directory = root.join(&vector.name);
        let same = directory.is_dir() && read_files(&directory) == vector.files;
        assert!(
            same,
            "{}: the committed files are others (FPSTORE_BLESS=1 writes them)",
            vector.name
        );
        let (plain, library) = (oracle::read_store(&directory), library(&directory));
        if vector.rule.is_empty() {
            let list = fs::read_to_string(root.join(format!("{}.hex", vector.name))).unwrap();
            assert_eq!(list, hex_lines(&vector.fingerprints), "{}", vector.name);
            let plain = plain.unwrap_or_else(|error| panic!("{}: {error}", vector.name));
            assert_eq!(plain.fingerprints(), vector.fingerprints, "{}", vector.name);
            let listed = library.unwrap_or_else(|error| panic!("{}: {error}", vector.name));
            assert_eq!(listed, vector.fingerprints, "{}", vector.name);
            by_width!(&directory, compare_with(&directory, vector, &plain));
            if let Some(ids) = &vector.ids {
                let list = fs::read_to_string(root.join(format!("{}.ids", vector.name))).unwrap();
                assert_eq!(list, id_lines(ids), "{}", vector.name);
            }
            if let Some(names) = &vector.names {
                let list = fs::read_to_string(root.join(format!("{}.names", vector.name))).unwrap();
                assert_eq!(list, hex_lines(names), "{}", vector.name);
            }
        } else {
            let plain = plain.expect_err(&vector.name);
            let (message, unsupported) = reason(&library.expect_err(&vector.name));
            assert_eq!(plain.rule, vector.rule, "{}: {plain}", vector.name);
            let tag = format!("[{}] ", vector.rule);
            assert!(message.starts_with(&tag), "{}: {message}", vector.name);
            assert_eq!(plain.unsupported, unsupported, "{}", vector.name);
            assert_eq!(vector.name.starts_with("unsupported-"), unsupported, "{}", vector.name);
            rejected += 1;
        }
    }
    println!("{} good vectors, {rejected} to be rejected", vectors.len() - rejected);
    assert_eq!(fs::read_to_string(root.join("README.md")).unwrap(), readme(&vectors));
    // Nothing else lies there.
    let lists = vectors.iter().filter(|v| v.rule.is_empty()).count();
    let ids = vectors.iter().filter(|v| v.ids.is_some()).count();
    let windows = vectors.iter().filter(|v| v.windows.is_some()).count();
    let names = vectors.iter().filter(|v| v.names.is_some()).count();
    let expected = vectors.len() + lists + ids + windows + names + 1;
    assert_eq!(fs::read_dir(&root).unwrap().count(), expected);
}
