//! Stores whose ids are names: what they give is what a map of names gives.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use fpstore::maintenance::{Backup, Repair};
use fpstore::{
    Error, Execution, FromId, Id, IdKind, IdRef, Packer, Snapshot, Store, StoreOptions, Writer,
    WriterOptions,
};
use proptest::prelude::*;

/// For each fingerprint its names.
type Model = BTreeMap<u64, BTreeSet<String>>;

fn model_of(pairs: &[(u64, String)]) -> Model {
    let mut model = Model::new();
    for (fingerprint, name) in pairs {
        model.entry(*fingerprint).or_default().insert(name.clone());
    }
    model
}

/// What a snapshot holds, by going through it; look-ups must give the same.
fn held(snapshot: &Snapshot) -> Model {
    let mut model = Model::new();
    for entry in snapshot.iter_with_ids::<String>() {
        let (fingerprint, ids) = entry.unwrap();
        let ids: Vec<String> = ids.map(Result::unwrap).collect();
        assert!(ids.is_sorted_by(|one, next| one < next), "{ids:?}");
        let looked_up = snapshot.ids::<String>(fingerprint).unwrap().map(Result::unwrap);
        assert!(looked_up.eq(ids.iter().cloned()));
        let any = snapshot.ids::<Id>(fingerprint).unwrap().map(|id| id.unwrap().to_string());
        assert!(any.eq(ids.iter().cloned()));
        for name in &ids {
            assert!(snapshot.contains_id(fingerprint, name).unwrap());
            assert!(!snapshot.contains_id(fingerprint, name.clone() + "/").unwrap());
        }
        model.insert(fingerprint, ids.into_iter().collect());
    }
    model
}

fn names() -> impl Strategy<Value = String> {
    let hosts = prop::sample::select(vec!["https://a.example/", "https://b.example/", "", "é"]);
    (hosts, "[a-c\u{0}-\u{10}]{0,3}|[0-9]{1,3}").prop_map(|(host, rest)| format!("{host}{rest}"))
}

fn pairs() -> impl Strategy<Value = Vec<(u64, String)>> {
    prop::collection::vec((0u64..20, names()), 0..120)
}

/// `FPSTORE_SEQUENCES`, or some.
fn cases() -> u32 {
    let said = std::env::var("FPSTORE_SEQUENCES").ok();
    let usual = if cfg!(debug_assertions) { 48 } else { 256 };
    said.map_or(usual, |text| text.parse().expect("a number"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn a_packed_store_gives_the_names_that_it_was_given(pairs in pairs(), more in pairs()) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pages");
        let summary = Packer::new().ids(IdKind::Text).pack_with_ids(&path, pairs.clone()).unwrap();
        let expected = model_of(&pairs);
        let count: usize = expected.values().map(BTreeSet::len).sum();
        prop_assert_eq!(summary.ids, Some(count as u64));
        let store = Store::open(&path).unwrap();
        prop_assert_eq!(store.id_kind(), Some(IdKind::Text));
        prop_assert_eq!(held(&store.snapshot()), expected);
        store.verify().unwrap();
        // One more segment with a list of its own.
        Packer::new().append(true).ids(IdKind::Text).pack_with_ids(&path, more.clone()).unwrap();
        let store = Store::open(&path).unwrap();
        let all = [pairs, more].concat();
        prop_assert_eq!(held(&store.snapshot()), model_of(&all));
        // Each name by itself.
        let some: Vec<&String> = all.iter().map(|(_, name)| name).take(5).collect();
        let found = store.snapshot().with_ids(&some).unwrap();
        let is_first = |(place, name): &(usize, &&String)| !some[..*place].contains(name);
        for (place, name) in some.iter().enumerate().filter(is_first) {
            let of_name = found.iter().filter(|(_, at)| *at == place);
            let found = of_name.map(|(fingerprint, _)| *fingerprint);
            let expected = model_of(&all).into_iter().filter(|(_, names)| names.contains(*name));
            prop_assert!(found.eq(expected.map(|(fingerprint, _)| fingerprint)), "{}", name);
        }
        // A repair of a sound store loses nothing, with its manifest and without.
        let saved = directory.path().join("saved");
        let report = Repair::new().run(&path, &saved).unwrap();
        prop_assert!(report.is_whole(), "{:?}", report);
        prop_assert_eq!(held(&Store::open(&saved).unwrap().snapshot()), model_of(&all));
        fs::remove_file(path.join("manifest.fps")).unwrap();
        let saved = directory.path().join("saved-2");
        Repair::new().run(&path, &saved).unwrap();
        prop_assert_eq!(held(&Store::open(&saved).unwrap().snapshot()), model_of(&all));
    }

    #[test]
    fn a_living_store_holds_what_a_model_does(acts in acts()) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pages");
        let options = WriterOptions::new().background(false).tail_records(24);
        let mut writer =
            StoreOptions::new().ids(IdKind::Text).writer(options.clone()).create(&path).unwrap();
        let mut model = Model::new();
        for act in acts {
            perform(&mut writer, &mut model, act.clone());
            if let Act::Reopen = act {
                drop(writer);
                writer = options.open(&path).unwrap();
            }
            prop_assert_eq!(held(&writer.snapshot()), model.clone(), "{:?}", act);
        }
        writer.commit(fpstore::Durability::Immediate).unwrap();
        // Other processes see the same, and so do copies.
        let store = Store::open(&path).unwrap();
        prop_assert_eq!(held(&store.snapshot()), model.clone());
        store.verify().unwrap();
        let copy = directory.path().join("copy");
        Backup::new().run(&path, &copy).unwrap();
        prop_assert_eq!(held(&Store::open(&copy).unwrap().snapshot()), model.clone());
        writer.merge_all().unwrap();
        prop_assert_eq!(held(&writer.snapshot()), model.clone());
        let names: BTreeSet<&String> = model.values().flatten().collect();
        prop_assert_eq!(names_on_disk(&path), names.len() as u64);
    }
}

/// The number of names that the names files of a store hold, by their headers.
fn names_on_disk(path: &Path) -> u64 {
    let files = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    let named = files.filter(|path| path.to_string_lossy().ends_with("-names.fpn"));
    let count = |path| u64::from_le_bytes(fs::read(path).unwrap()[16..24].try_into().unwrap());
    named.map(count).sum()
}

#[derive(Clone, Debug)]
enum Act {
    Insert(Vec<(u64, String)>),
    CheckAndInsert(u64, String),
    Delete(u64, String),
    DeleteEverywhere(String),
    DeleteFingerprint(u64),
    Flush,
    Merge,
    MergeAll,
    Reopen,
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        4 => prop::collection::vec((0u64..20, names()), 1..12).prop_map(Act::Insert),
        2 => (0u64..20, names()).prop_map(|(one, name)| Act::CheckAndInsert(one, name)),
        3 => (0u64..20, names()).prop_map(|(fingerprint, name)| Act::Delete(fingerprint, name)),
        2 => names().prop_map(Act::DeleteEverywhere),
        1 => (0u64..20).prop_map(Act::DeleteFingerprint),
        2 => Just(Act::Flush),
        1 => Just(Act::Merge),
        1 => Just(Act::MergeAll),
        1 => Just(Act::Reopen),
    ];
    prop::collection::vec(act, 1..30)
}

fn perform(writer: &mut Writer, model: &mut Model, act: Act) {
    match act {
        Act::Insert(pairs) => {
            writer.insert_batch(&pairs).unwrap();
            for (fingerprint, name) in pairs {
                model.entry(fingerprint).or_default().insert(name);
            }
        }
        Act::CheckAndInsert(fingerprint, name) => {
            let is_near = model.keys().any(|stored| (stored ^ fingerprint).count_ones() <= 1);
            let verdict = writer.check_and_insert(fingerprint, &name, 1).unwrap();
            assert_eq!(verdict == fpstore::Verdict::Inserted, !is_near);
            if !is_near {
                model.entry(fingerprint).or_default().insert(name);
            }
        }
        Act::Delete(fingerprint, name) => {
            writer.delete(fingerprint, &name).unwrap();
            if let Some(names) = model.get_mut(&fingerprint) {
                names.remove(&name);
            }
        }
        Act::DeleteEverywhere(name) => {
            let had: Vec<u64> = writer.delete_id(&name).unwrap();
            let expected = model.iter().filter(|(_, names)| names.contains(&name));
            assert!(had.iter().eq(expected.map(|(fingerprint, _)| fingerprint)));
            for names in model.values_mut() {
                names.remove(&name);
            }
        }
        Act::DeleteFingerprint(fingerprint) => {
            writer.delete_fingerprint(fingerprint).unwrap();
            model.remove(&fingerprint);
        }
        Act::Flush => writer.flush().unwrap(),
        Act::Merge => writer.merge().unwrap(),
        Act::MergeAll => writer.merge_all().unwrap(),
        Act::Reopen => {}
    }
    model.retain(|_, names| !names.is_empty());
}

#[test]
fn ids_of_another_kind_are_refused_and_nothing_is_stored() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pages");
    let writer = StoreOptions::new().ids(IdKind::Text).create(&path).unwrap();
    assert!(matches!(writer.insert(1, 7), Err(Error::IdKinds { .. })));
    assert!(matches!(writer.insert(1, ()), Err(Error::MixedIds)));
    assert!(matches!(writer.delete(1, 7), Err(Error::IdKinds { .. })));
    let long = "x".repeat(65_536);
    assert!(matches!(writer.insert(1, &long), Err(Error::Name { bytes: 65_536, .. })));
    writer.insert(1, &long[1..]).unwrap();
    let snapshot = writer.snapshot();
    assert!(matches!(snapshot.ids::<u64>(1), Err(Error::IdKinds { .. })));
    assert!(matches!(snapshot.contains_id(1, 7), Err(Error::IdKinds { .. })));
    assert!(matches!(snapshot.iter_with_ids::<u64>().next(), Some(Err(Error::IdKinds { .. }))));
    assert_eq!(snapshot.ids::<String>(1).unwrap().next().unwrap().unwrap(), long[1..]);
    assert_eq!(snapshot.next_id(), None);
    let numbers = StoreOptions::new().create(directory.path().join("numbers")).unwrap();
    assert!(matches!(numbers.insert(1, "seven"), Err(Error::IdKinds { .. })));
    let mut session = Packer::new().start(directory.path().join("packed")).unwrap();
    session.extend_with_ids(&[(1, "a")]).unwrap();
    assert!(matches!(session.extend_with_ids(&[(1, 7)]), Err(Error::IdKinds { .. })));
    let packed = Packer::new().pack_with_ids(directory.path().join("packed"), [(1, "a")]);
    packed.unwrap();
    let append = Packer::new().append(true);
    let appended = append.pack_with_ids(directory.path().join("packed"), [(1, 7)]);
    assert!(matches!(appended, Err(Error::IdKinds { .. })));
}

/// Each kind, packed and living, beside the same ids as they were given.
#[test]
fn every_kind_comes_back_as_it_was_given_and_in_the_order_of_its_values() {
    let mut numbers: Vec<u128> =
        (0..500).map(|i: u128| i.wrapping_mul(0x9E37_79B9_7F4A_7C15 << 50)).collect();
    numbers.extend([0, 1, u128::MAX]);
    let uuids: Vec<[u8; 16]> = numbers.iter().map(|number| number.to_le_bytes()).collect();
    let keys: Vec<Vec<u8>> =
        numbers.iter().map(|number| number.to_le_bytes()[..5].to_vec()).collect();
    let cases: [(IdKind, Vec<IdRef>); 3] = [
        (IdKind::Number128, numbers.iter().map(|&number| IdRef::Number128(number)).collect()),
        (IdKind::Uuid, uuids.iter().map(|&uuid| IdRef::Uuid(uuid)).collect()),
        (IdKind::Bytes(5), keys.iter().map(|key| IdRef::Bytes(key)).collect()),
    ];
    for (kind, ids) in cases {
        let directory = tempfile::tempdir().unwrap();
        let (packed, living) = (directory.path().join("packed"), directory.path().join("living"));
        let pairs: Vec<(u64, IdRef)> = ids.iter().map(|&id| (77, id)).collect();
        Packer::new().pack_with_ids(&packed, pairs.iter().copied()).unwrap();
        let writer = StoreOptions::new().ids(kind).create(&living).unwrap();
        writer.insert_batch(&pairs).unwrap();
        let mut expected: Vec<Id> = ids.iter().map(IdRef::to_id).collect();
        expected.sort();
        expected.dedup();
        let check = |snapshot: Snapshot| {
            assert_eq!(snapshot.id_kind(), Some(kind));
            let found: Vec<Id> = snapshot.ids(77).unwrap().map(Result::unwrap).collect();
            assert_eq!(found, expected);
            assert!(!u64::takes(kind) && !String::takes(kind));
        };
        check(Store::open(&packed).unwrap().snapshot());
        check(writer.snapshot());
        writer.flush().unwrap();
        check(writer.snapshot());
        writer.close().unwrap();
        Store::open(&living).unwrap().verify().unwrap();
    }
}

#[test]
fn the_same_names_give_the_same_files_in_little_memory_and_in_any_order() {
    let directory = tempfile::tempdir().unwrap();
    let pairs: Vec<(u64, String)> = (0..200_000u64)
        .map(|i| {
            (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 8, format!("https://{}.example/{i}", i % 701))
        })
        .collect();
    let files = |name: &str, packer: Packer, pairs: &[(u64, String)]| {
        let path = directory.path().join(name);
        let pairs = pairs.iter().map(|(fingerprint, name)| (*fingerprint, name));
        let summary = packer.pack_with_ids(&path, pairs).unwrap();
        assert_eq!(summary.temporary_bytes > 0, name == "little");
        let mut files: Vec<_> = fs::read_dir(&path)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .map(|path| (path.file_name().unwrap().to_owned(), fs::read(&path).unwrap()))
            .collect();
        files.sort();
        files
    };
    let expected = files("memory", Packer::new(), &pairs);
    let little = Packer::new().execution(Execution::new().memory(16 << 20).threads(1));
    let mut turned = pairs.clone();
    turned.reverse();
    turned.extend_from_slice(&pairs[..100]);
    assert!(files("little", little, &turned) == expected);
    assert!(expected.iter().any(|(name, _)| name.to_string_lossy().ends_with("names.fpn")));
}

#[test]
fn names_go_with_their_windows() {
    use std::time::{Duration, UNIX_EPOCH};

    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("news");
    let day = Duration::from_secs(86_400);
    let writer = StoreOptions::new()
        .ids(IdKind::Text)
        .window(Some(day))
        .writer(WriterOptions::new().background(false))
        .create(&path)
        .unwrap();
    for number in 0..40u32 {
        let time = UNIX_EPOCH + number / 10 * day;
        writer.insert_at(u64::from(number % 7), format!("page {number}"), time).unwrap();
    }
    writer.delete(3, "page 24").unwrap();
    writer.flush().unwrap();
    // It hides something of an older segment, and outlives its own window.
    writer.delete(5, "page 33").unwrap();
    writer.flush().unwrap();
    writer.expire(UNIX_EPOCH + 2 * day).unwrap();
    let expected: Vec<(u64, String)> = (20..40u64)
        .filter(|&number| ![24, 33].contains(&number))
        .map(|number| (number % 7, format!("page {number}")))
        .collect();
    assert_eq!(held(&writer.snapshot()), model_of(&expected));
    let between = writer.snapshot().between(UNIX_EPOCH + 3 * day..UNIX_EPOCH + 4 * day).unwrap();
    assert_eq!(held(&between), model_of(&expected[9..]));
    writer.merge_all().unwrap();
    assert_eq!(held(&writer.snapshot()), model_of(&expected));
    assert_eq!(names_on_disk(&path), 18);
}

#[test]
fn of_a_cluster_the_least_name_is_kept_whatever_segments_hold_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pages");
    // Three clusters of four fingerprints that differ in one bit from the first, in two segments.
    let pair = |i: u64| (1 << (10 * (i % 3) + i / 3), format!("{}-{}", 97 - i * 7 % 12, i));
    let (first, second): (Vec<_>, Vec<_>) =
        (0..12).map(pair).partition(|(_, name)| name < &"90".to_string());
    Packer::new().pack_with_ids(&path, first.clone()).unwrap();
    Packer::new().append(true).pack_with_ids(&path, second.clone()).unwrap();
    let clusters = Store::open(&path).unwrap().snapshot().clusters(2).run().unwrap();
    assert_eq!(clusters.summary().documents, 12);
    let all = [first, second].concat();
    for at in clusters.iter() {
        let of_cluster =
            all.iter().filter(|(other, _)| clusters.get(*other).unwrap().cluster == at.cluster);
        let least = of_cluster.min_by_key(|(_, name)| name).unwrap();
        assert_eq!(at.representative, least.0);
    }
}
