//! Id maps against a plain decoder that was written from the document, and against damage.

use std::fs::{self, File};
use std::io::{Seek, Write};
use std::path::Path;

use proptest::prelude::*;

use super::writer::StringWriter;
use super::{IdMap, IdMapWriter};
use crate::error::{Error, IdMapProblem};
use crate::format::{IdMapTag, numbered_crc};
use crate::store::{Packer, Store};

const GOOD: &[u8] = include_bytes!("../../format-spec/id-map/good.idmap");
const GOOD_STRINGS: &str = include_str!("../../format-spec/id-map/good.txt");

fn write(strings: &[String], path: &Path) -> IdMapTag {
    let mut writer = StringWriter::new(File::create(path).unwrap(), path).unwrap();
    for (string, number) in strings.iter().zip(0..) {
        assert_eq!(writer.push(string).unwrap(), number);
    }
    writer.finish().unwrap()
}

/// The strings of a map, by the document alone: a CRC, bit by bit, and no rule but those.
fn plain(file: &[u8]) -> Vec<Vec<u8>> {
    let int = |at: usize, bytes: usize| {
        file[at..at + bytes].iter().rev().fold(0u64, |n, &byte| n << 8 | u64::from(byte))
    };
    let check = |at: usize, bytes: &[u8]| assert_eq!(int(at, 4), u64::from(plain_crc(bytes)));
    assert_eq!(&file[..8], b"\x89FPSN\r\n\x1a");
    assert_eq!((int(8, 2), int(10, 2), int(12, 4)), (1, 0, 24));
    check(20, &file[..20]);
    let foot = file.len() - 24;
    check(foot + 20, &[&file[20..24], &file[foot..foot + 20]].concat());
    let (n, text_bytes) = (int(foot, 8) as usize, int(foot + 8, 8));
    let directory = foot - 12 * n.div_ceil(32768);
    check(foot + 16, &file[directory..foot]);
    let (mut strings, mut page_at) = (Vec::new(), 24);
    for page in 0..n.div_ceil(32768) {
        let entry = directory + 12 * page;
        let page_end = int(entry, 8) as usize;
        let groups = (n.div_ceil(64) - 512 * page).min(512);
        let index = page_end - 12 * groups;
        let numbered =
            |number: usize, bytes: &[u8]| [&(number as u64).to_le_bytes(), bytes].concat();
        check(entry + 8, &numbered(page, &file[index..page_end]));
        let mut at = page_at;
        for group in 0..groups {
            let end = page_at + int(index + 12 * group, 8) as usize;
            check(index + 12 * group + 8, &numbered(512 * page + group, &file[at..end]));
            let mut before = Vec::new();
            while at < end {
                let mut leb = || {
                    let (mut n, mut shift) = (0, 0);
                    loop {
                        n |= usize::from(file[at] & 127) << shift;
                        shift += 7;
                        at += 1;
                        if file[at - 1] < 128 {
                            break n;
                        }
                    }
                };
                let (shared, rest) = (leb(), leb());
                before.truncate(shared);
                before.extend_from_slice(&file[at..at + rest]);
                at += rest;
                strings.push(before.clone());
            }
            assert_eq!(at, end);
        }
        assert_eq!(at, index);
        page_at = page_end;
    }
    assert_eq!((page_at, strings.len()), (directory, n));
    assert_eq!(strings.iter().map(|s| s.len() as u64).sum::<u64>(), text_bytes);
    strings
}

fn plain_crc(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| crc >> 1 ^ if crc & 1 == 1 { 0xEDB8_8320 } else { 0 };
    !bytes.iter().fold(!0, |crc, &byte| (0..8).fold(crc ^ u32::from(byte), step))
}

#[test]
fn the_vector_is_read_and_written() {
    let strings: Vec<String> = GOOD_STRINGS.lines().map(str::to_string).collect();
    assert_eq!(strings.len(), 70);
    assert_eq!(plain(GOOD), strings.iter().map(|s| s.as_bytes()).collect::<Vec<_>>());
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("map");
    let tag = write(&strings, &path);
    assert!(fs::read(&path).unwrap() == GOOD);
    let map = IdMap::open(&path).unwrap();
    assert_eq!(map.tag(), tag);
    assert_eq!((tag.string_count, tag.file_bytes), (70, GOOD.len() as u64));
    map.verify().unwrap();
}

/// Whether the error says this of an id map.
fn is(error: &Error, problem: impl Fn(&IdMapProblem) -> bool) -> bool {
    matches!(error, Error::IdMap { problem: found, .. } if problem(found))
}

/// The rule that a map breaks, and whether it means unsupported.
fn rejection(path: &Path) -> Option<(&'static str, bool)> {
    let error = IdMap::open(path).and_then(|map| map.verify()).err()?;
    let unsupported = matches!(error, Error::Unsupported { .. });
    Some((error.rule().unwrap(), unsupported))
}

#[test]
fn all_vectors_are_read_or_rejected_by_the_rule_in_their_name() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("format-spec/id-map");
    let directory = tempfile::tempdir().unwrap();
    let (mut good, mut rejected) = (0, 0);
    for entry in fs::read_dir(&root).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|end| end != "idmap") {
            continue;
        }
        let name = path.file_stem().unwrap().to_str().unwrap();
        let Some((rule, unsupported)) = rejection(&path) else {
            let lines = fs::read_to_string(path.with_extension("txt")).unwrap();
            let map = IdMap::open(&path).unwrap();
            let mut reader = map.reader();
            assert_eq!(map.tag().string_count, lines.lines().count() as u64, "{name}");
            for (number, line) in lines.lines().enumerate() {
                assert_eq!(reader.string(number as u64).unwrap(), line, "{name}");
            }
            // What this program writes of the same strings, but for headers that it does not write.
            if !["good-long-header", "good-minor-7"].contains(&name) {
                let written = directory.path().join(name);
                write(&lines.lines().map(str::to_string).collect::<Vec<_>>(), &written);
                assert!(fs::read(&written).unwrap() == fs::read(&path).unwrap(), "{name}");
            }
            good += 1;
            continue;
        };
        let kind = if unsupported { "unsupported" } else { "bad" };
        let (group, number) = rule.split_once('-').unwrap();
        let start = format!("{kind}-{}-{number:0>2}-", group.to_lowercase());
        assert!(name.starts_with(&start), "{name} breaks {rule}, {kind}");
        rejected += 1;
    }
    assert!(good >= 7 && rejected >= 30, "{good} good, {rejected} rejected");
}

#[test]
fn another_map_of_the_same_strings_is_not_that_of_the_store() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("format-spec");
    let store = Store::open(root.join("vectors/good-ids-map")).unwrap();
    IdMap::of_store(root.join("id-map/good.idmap"), &store).unwrap();
    let error = IdMap::of_store(root.join("id-map/good-minor-7.idmap"), &store).err().unwrap();
    assert!(is(&error, |problem| matches!(problem, IdMapProblem::OfOtherStore { .. })), "{error}");
    assert_eq!(error.rule(), Some("IDM-3"));
    assert!(error.to_string().contains("[IDM-3]"), "{error}");
}

fn strings() -> impl Strategy<Value = Vec<String>> {
    let any = prop::collection::vec("(\\PC|\\PC{0,3}|https://é\\.example/[0-9]{1,3})", 0..300);
    (any, 1usize..4).prop_map(|(strings, times)| vec![strings; times].concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn strings_come_back_by_their_numbers(
        strings in strings(), places in prop::collection::vec(any::<prop::sample::Index>(), 50),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("map");
        write(&strings, &path);
        let file = fs::read(&path).unwrap();
        prop_assert_eq!(plain(&file), strings.iter().map(|s| s.as_bytes()).collect::<Vec<_>>());
        let map = IdMap::open(&path).unwrap();
        let mut reader = map.reader();
        for place in places.iter().filter(|_| !strings.is_empty()) {
            let number = place.index(strings.len());
            prop_assert_eq!(reader.string(number as u64).unwrap(), &strings[number]);
        }
        let error = reader.string(strings.len() as u64).unwrap_err();
        let (number, strings) = (strings.len() as u64, strings.len() as u64);
        let expected = IdMapProblem::NoString { number, strings };
        prop_assert!(is(&error, |problem| *problem == expected), "{}", error);
        map.verify().unwrap();
    }
}

#[test]
fn a_map_of_several_pages_is_read_in_any_order() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("map");
    let strings: Vec<String> = (0..70_001).map(|n| format!("key {:x}", n * 7919)).collect();
    write(&strings, &path);
    assert_eq!(plain(&fs::read(&path).unwrap()).len(), strings.len());
    let map = IdMap::open(&path).unwrap();
    let mut reader = map.reader();
    for step in 0..5000 {
        let number = step * 32_771 % strings.len();
        assert_eq!(reader.string(number as u64).unwrap(), strings[number]);
    }
    map.verify().unwrap();
}

/// Puts `bytes` into a file that is there: to write it anew each time would wait for the disk.
fn overwrite(mut file: &File, bytes: &[u8]) {
    file.rewind().unwrap();
    file.write_all(bytes).unwrap();
    file.set_len(bytes.len() as u64).unwrap();
}

#[test]
fn any_changed_bit_and_any_cut_is_found() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("map");
    let file = File::create(&path).unwrap();
    let check = |bytes: &[u8]| {
        overwrite(&file, bytes);
        IdMap::open(&path).and_then(|map| map.verify()).unwrap_err()
    };
    let mut rules = std::collections::BTreeSet::new();
    for bit in 0..8 * GOOD.len() {
        let mut bytes = GOOD.to_vec();
        bytes[bit / 8] ^= 1 << (bit % 8);
        match check(&bytes) {
            Error::Corrupt { corruption, .. } => rules.insert(corruption.rule()),
            error => panic!("bit {bit}: {error}"),
        };
    }
    let expected = ["IDM-2", "IDM-4", "IDM-6", "IDM-8", "PRE-2", "PRE-3", "PRE-4"];
    assert!(rules.iter().eq(&expected), "{rules:?}");
    for length in 0..GOOD.len() {
        let error = check(&GOOD[..length]);
        assert!(matches!(error, Error::Corrupt { .. }), "{length} bytes: {error}");
    }
}

/// Recomputes all checksums, from the groups up to the footer.
fn reseal(file: &mut [u8]) {
    let (index, directory, foot) = (GOOD.len() - 60, GOOD.len() - 36, GOOD.len() - 24);
    let first_end = usize::try_from(u64::from_le_bytes(*file[index..].first_chunk().unwrap()))
        .unwrap()
        .saturating_add(24);
    if (24..=index).contains(&first_end) {
        let crcs =
            [numbered_crc(0, &file[24..first_end]), numbered_crc(1, &file[first_end..index])];
        file[index + 8..index + 12].copy_from_slice(&crcs[0].to_le_bytes());
        file[index + 20..index + 24].copy_from_slice(&crcs[1].to_le_bytes());
    }
    let head_crc = crc32fast::hash(&file[..20]);
    file[20..24].copy_from_slice(&head_crc.to_le_bytes());
    let index_crc = numbered_crc(0, &file[index..directory]);
    file[directory + 8..directory + 12].copy_from_slice(&index_crc.to_le_bytes());
    let directory_crc = crc32fast::hash(&file[directory..foot]);
    file[foot + 16..foot + 20].copy_from_slice(&directory_crc.to_le_bytes());
    let footer_crc = crc32fast::hash(&[&file[20..24], &file[foot..foot + 20]].concat());
    file[foot + 20..].copy_from_slice(&footer_crc.to_le_bytes());
}

#[test]
fn damage_under_right_checksums_is_found_without_a_panic() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("map");
    let file = File::create(&path).unwrap();
    let mut whole = GOOD.to_vec();
    reseal(&mut whole);
    assert!(whole == GOOD, "the sums of the vector itself are right");
    let mut rules = std::collections::BTreeMap::<String, u32>::new();
    for bit in 0..8 * GOOD.len() {
        let mut bytes = GOOD.to_vec();
        bytes[bit / 8] ^= 1 << (bit % 8);
        reseal(&mut bytes);
        overwrite(&file, &bytes);
        let rule = match IdMap::open(&path).and_then(|map| map.verify()) {
            Ok(()) => "none",
            Err(error) => error.rule().unwrap_or_else(|| panic!("bit {bit}: {error}")),
        };
        *rules.entry(rule.to_string()).or_default() += 1;
    }
    println!("{rules:?}");
    for rule in [
        "none", "PRE-2", "PRE-3", "PRE-5", "PRE-7", "IDM-4", "IDM-5", "IDM-7", "IDM-9", "IDM-10",
        "IDM-11",
    ] {
        assert!(rules.contains_key(rule), "{rule} in {rules:?}");
    }
}

#[test]
fn long_strings_that_share_what_they_are_made_of_are_not_all_kept() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("map");
    // 64 strings of a MiB, of which the file holds one; then short ones, and some that go over the
    // limit in the middle of their group.
    let long = "x".repeat(1 << 20);
    let mut strings: Vec<String> = (0..64).map(|i| format!("{long}{i}")).collect();
    strings.extend((0..64).map(|i| i.to_string()));
    strings.extend((0..64).map(|i| format!("{}{i}", &long[..1 << 15])));
    write(&strings, &path);
    assert!(fs::metadata(&path).unwrap().len() < 3 << 20);
    let map = IdMap::open(&path).unwrap();
    map.verify().unwrap();
    let mut reader = map.reader();
    for number in [0, 63, 31, 64, 127, 1, 128, 191, 160, 159, 129, 65] {
        assert!(reader.string(number).unwrap() == strings[number as usize], "{number}");
        let bytes = reader.held_bytes();
        assert!(bytes <= 4 << 20, "{bytes} bytes are held for string {number}");
    }
}

#[test]
fn strings_in_any_order_are_right_and_what_is_kept_of_them_is_bounded() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("map");
    // Half as much again as what is kept.
    let strings: Vec<String> = (0..48_000u32).map(|i| format!("{i:a>1000}")).collect();
    write(&strings, &path);
    let mut reader = IdMap::open(&path).unwrap().reader();
    let mut most = 0;
    for at in 0..20_000 {
        let number = at * 7919 % strings.len();
        assert_eq!(reader.string(number as u64).unwrap(), strings[number]);
        most = most.max(reader.held_bytes());
    }
    assert!((28 << 20..33 << 20).contains(&most), "{most} bytes");
}

/// Packs two fingerprints and their strings; the directory of `map` is that of the store.
fn pack(store: &Path, map: &Path, replace: bool) -> crate::Result<()> {
    let mut writer = IdMapWriter::create(map, store, replace)?;
    let mut session = Packer::new().replace(replace).start(store)?;
    for (fingerprint, text) in [(7, "seven"), (4, "four"), (7, "sieben")] {
        session.extend_with_ids(&[(fingerprint, writer.push(text)?)])?;
    }
    writer.commit(session).map(drop)
}

#[test]
fn store_and_map_come_to_be_together_and_only_the_own_map_is_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    pack(&at("store"), &at("map"), false).unwrap();
    let map = IdMap::of_store(at("map"), &Store::open(at("store")).unwrap()).unwrap();
    assert_eq!((map.len(), map.string(2).unwrap().as_str()), (3, "sieben"));
    assert!(!map.is_empty() && map.path() == at("map"));
    let problem = |replace, store: &str, path: &str| match pack(&at(store), &at(path), replace) {
        Err(Error::IdMap { problem, .. }) => problem,
        other => panic!("{other:?}"),
    };
    assert_eq!(problem(false, "store", "map"), IdMapProblem::Exists);
    let store = at("other");
    assert_eq!(problem(true, "other", "map"), IdMapProblem::OfOthers { store });
    assert_eq!(problem(false, "store", "store/map"), IdMapProblem::InStore);
    fs::write(at("notes"), "mine").unwrap();
    assert_eq!(problem(true, "store", "notes"), IdMapProblem::Foreign);
    fs::write(at("new.new"), "mine").unwrap();
    assert_eq!(problem(true, "store", "new"), IdMapProblem::Pending);
    pack(&at("store"), &at("map"), true).unwrap();
    // What was open stays.
    assert_eq!(map.string(0).unwrap(), "seven");
    let mut left: Vec<_> =
        fs::read_dir(directory.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["map", "new.new", "notes", "store"]);
}

#[test]
fn a_session_of_another_store_does_not_get_the_map() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let mut writer = IdMapWriter::create(at("map"), at("store"), false).unwrap();
    let mut session = Packer::new().start(at("other")).unwrap();
    session.extend_with_ids(&[(1, writer.push("one").unwrap())]).unwrap();
    let error = writer.commit(session).unwrap_err();
    let expected = IdMapProblem::OtherSession { store: at("store") };
    assert!(is(&error, |problem| *problem == expected), "{error}");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn a_store_of_other_ids_means_no_map() {
    let directory = tempfile::tempdir().unwrap();
    let (store, map) = (directory.path().join("store"), directory.path().join("map"));
    write(&[], &map);
    Packer::new().pack(&store, [1u64]).unwrap();
    let error = IdMap::of_store(&map, &Store::open(&store).unwrap()).unwrap_err();
    assert!(is(&error, |problem| *problem == IdMapProblem::NotMeant), "{error}");
    let error = IdMap::open(directory.path()).unwrap_err();
    assert!(is(&error, |problem| *problem == IdMapProblem::Directory), "{error}");
}
