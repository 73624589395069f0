//! Ids against a map, and against the plain decoder.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::Instant;

use fpstore::{Design, Error, Execution, Layout, OpenOptions, Packer, Store};
use proptest::prelude::*;

use crate::forge::{self, Base, Forge};
use crate::oracle;
use crate::sets::{Random, clustered};
use crate::vectors;

type Map = BTreeMap<u64, BTreeSet<u64>>;

fn pairs(map: &Map) -> impl Iterator<Item = (u64, u64)> + '_ {
    map.iter().flat_map(|(&fp, ids)| ids.iter().map(move |&id| (fp, id)))
}

/// Fingerprints with ids of so many bits: one each, two, some, or thousands for a few.
fn maps() -> impl Strategy<Value = Map> {
    (0usize..400, any::<u64>(), 0u32..=64, 0u32..4).prop_map(|(count, seed, id_bits, shape)| {
        let mut random = Random(seed);
        let mask = u64::MAX.checked_shr(64 - id_bits).unwrap_or(0);
        let ids = |i: usize, random: &mut Random| {
            let wanted = match shape {
                0 => 1,
                1 => 2,
                2 => 1 + random.next() % 5,
                _ if i % 97 == 3 => 12_000,
                _ => 1,
            };
            (0..wanted).map(|_| random.next() & mask).collect()
        };
        let set = clustered(count, seed).into_iter().enumerate();
        set.map(|(i, fp)| (fp, ids(i, &mut random))).collect()
    })
}

fn check(store: &Store, map: &Map) {
    for (&fingerprint, expected) in map {
        let ids = store.ids::<u64>(fingerprint).unwrap();
        assert_eq!(ids.len(), expected.len() as u64, "{fingerprint:016x}");
        assert!(ids.map(Result::unwrap).eq(expected.iter().copied()), "{fingerprint:016x}");
        // A neighbour has its own ids or none.
        let other = fingerprint ^ 1;
        let expected = map.get(&other).map_or(0, |ids| ids.len() as u64);
        assert_eq!(store.ids::<u64>(other).unwrap().len(), expected, "{other:016x}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn ids_are_those_of_a_map(
        map in maps(), seed in any::<u64>(), size in 8u32..=13,
        design in prop::sample::select(Design::NAMES),
    ) {
        let temporary = tempfile::tempdir().unwrap();
        let path = temporary.path().join("store");
        // In any order, and some of them twice.
        let mut input: Vec<_> = pairs(&map).collect();
        input.extend_from_within(..input.len() / 7);
        let mut random = Random(seed);
        for i in (1..input.len()).rev() {
            input.swap(i, random.next() as usize % (i + 1));
        }
        let layout = Layout::new().design(Design::named(design).unwrap()).block_bytes(1 << size);
        let packer = Packer::new().layout(layout);
        let summary = packer.pack_with_ids(&path, input.iter().copied()).unwrap();
        let ids = pairs(&map).count() as u64;
        prop_assert_eq!((summary.read, summary.ids), (input.len() as u64, Some(ids)));
        prop_assert_eq!(summary.distinct, map.len() as u64);
        let plain = oracle::read_store(&path).unwrap().ids();
        let expected = map.iter().map(|(one, ids)| (one.to_be_bytes().to_vec(), ids.clone()));
        prop_assert!(plain == expected.collect());
        let store = OpenOptions::new().in_memory(seed % 2 == 0).open(&path).unwrap();
        prop_assert!(store.has_ids());
        check(&store, &map);
        prop_assert_eq!(store.verify().unwrap().ids, ids);
        let stats = store.stats().unwrap();
        prop_assert_eq!(stats.bytes, summary.bytes);
        let of_ids = stats.segments[0].ids.unwrap();
        prop_assert_eq!((of_ids.ids, of_ids.file_bytes), (ids, summary.id_bytes));
        let greatest = map.values().flatten().max().copied().unwrap_or(0);
        prop_assert_eq!(of_ids.id_bits, 64 - greatest.leading_zeros());
        // Fingerprints are found as without ids, in every table.
        for &fingerprint in map.keys().take(20) {
            let near = store.search(fingerprint ^ 1 << (seed % 64), 1).unwrap();
            prop_assert!(near.iter().any(|found| found.fingerprint == fingerprint));
        }
    }
}

/// Damage under right checksums: both readers name the same rule, and nothing panics.
#[test]
fn both_readers_agree_on_resealed_damage() {
    let temporary = tempfile::tempdir().unwrap();
    let mut random = Random(77);
    let mut rejected = BTreeMap::<String, u32>::new();
    for base in [Base::Ids, Base::OneId, Base::NoIds] {
        let spec = forge::base_spec(base);
        let path = temporary.path().join(format!("{base:?}"));
        vectors::pack(&spec, &path);
        for round in 0..2000 {
            let mut forge = Forge::load(&path).unwrap();
            let places = forge.unsealed_ids();
            for _ in 0..1 + round % 3 {
                let place = places[random.next() as usize % places.len()];
                forge.ids()[place] ^= 1 << (random.next() % 8);
            }
            forge.reseal_ids();
            let damaged = temporary.path().join("damaged");
            let _ = fs::remove_dir_all(&damaged);
            fs::create_dir(&damaged).unwrap();
            for (name, bytes) in &forge.files {
                fs::write(damaged.join(name), bytes).unwrap();
            }
            if let Ok(store) = OpenOptions::new().in_memory(true).open(&damaged) {
                for &fingerprint in &spec.fingerprints {
                    let _ = store.ids::<u64>(fingerprint).map(|ids| ids.take(100).count());
                }
            }
            let plain = oracle::read_store(&damaged).err().map(|rejection| rejection.rule);
            let library = vectors::library(&damaged).err().map(|error| vectors::reason(&error).0);
            let rule = library.as_ref().map(|message| &message[1..message.find(']').unwrap()]);
            assert_eq!(rule, plain, "{base:?}, round {round}: {library:?}");
            *rejected.entry(rule.unwrap_or("none").to_string()).or_default() += 1;
        }
    }
    println!("{rejected:?}");
    for rule in ["PRE-2", "PRE-5", "IDS-5", "IDS-1", "IDS-2", "IDS-3", "IDS-4", "IDS-5", "IDS-6"] {
        assert!(rejected.contains_key(rule), "{rule} in {rejected:?}");
    }
}

#[test]
fn a_fingerprint_with_two_million_ids_slows_no_other_one() {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("store");
    let set = clustered(20_000, 5);
    let (many, times) = (set[777], 2_000_000);
    let mut session =
        Packer::new().execution(Execution::new().memory(32 << 20)).start(&path).unwrap();
    for ids in (0..times).collect::<Vec<u64>>().chunks(100_000) {
        let pairs: Vec<_> = ids.iter().map(|&id| (many, 3 * id + 1)).collect();
        session.extend_with_ids(&pairs).unwrap();
    }
    session.extend_with_ids(&set.iter().copied().zip(0..).collect::<Vec<_>>()).unwrap();
    let summary = session.finish().unwrap();
    assert!(summary.temporary_bytes > 0);
    let store = Store::open(&path).unwrap();
    assert_eq!(store.verify().unwrap().ids, summary.ids.unwrap());
    let ids = store.ids::<u64>(many).unwrap();
    assert!(ids.len() >= times);
    assert!(ids.map(Result::unwrap).is_sorted_by(|a, b| a < b));
    let start = Instant::now();
    for (&fingerprint, line) in set.iter().zip(0..) {
        let ids = store.ids::<u64>(fingerprint).unwrap();
        if fingerprint == many {
            assert!(ids.len() >= times);
        } else {
            assert!(ids.map(Result::unwrap).any(|id| id == line), "line {line}");
        }
    }
    println!("{:?} per look-up", start.elapsed() / set.len() as u32);
    let stats = store.stats().unwrap().segments[0].ids.unwrap();
    // A bit for each id, and little else.
    assert!(stats.file_bytes - stats.id_bytes < times / 8 + 60_000, "{stats:?}");
}

#[test]
fn a_pack_has_ids_for_all_fingerprints_or_for_none() {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("store");
    for with_ids_first in [true, false] {
        let mut session = Packer::new().start(&path).unwrap();
        let mut extend = |with_ids: bool| match with_ids {
            true => session.extend_with_ids(&[(1, 2)]),
            false => session.extend(&[1]),
        };
        extend(with_ids_first).unwrap();
        let error = extend(!with_ids_first).unwrap_err();
        assert!(matches!(error, Error::MixedIds), "{error}");
        assert!(!path.exists());
    }
}

#[test]
fn a_store_without_ids_has_none_and_no_file_for_them() {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("store");
    Packer::new().pack(&path, [1, 2, 3]).unwrap();
    let store = Store::open(&path).unwrap();
    assert!(!store.has_ids() && store.ids::<u64>(1).unwrap().is_empty());
    assert!(!path.join("segment-0000000000000001-ids.fpi").exists());
    // A set without fingerprints may have ids.
    let empty = temporary.path().join("empty");
    Packer::new().pack_with_ids::<u64>(&empty, []).unwrap();
    let store = Store::open(&empty).unwrap();
    assert!(store.has_ids() && store.ids::<u64>(1).unwrap().is_empty());
}

#[test]
fn line_numbers_take_little_more_than_their_width() {
    let temporary = tempfile::tempdir().unwrap();
    let mut random = Random(1);
    let set: Vec<u64> = (0..1 << 20).map(|_| random.next()).collect();
    for (block_bytes, most) in [(256, 20.5), (512, 20.26), (1024, 20.14), (4096, 20.06)] {
        let path = temporary.path().join(block_bytes.to_string());
        let packer = Packer::new().layout(
            Layout::new().design(Design::named("single").unwrap()).block_bytes(block_bytes),
        );
        packer.pack_with_ids(&path, set.iter().copied().zip(0..)).unwrap();
        let store = Store::open(&path).unwrap();
        let stats = store.stats().unwrap().segments[0].ids.unwrap();
        let bits = stats.bits_per_fingerprint();
        println!("blocks of {block_bytes} bytes: {bits:.2} bits per fingerprint");
        assert!((20.0..most).contains(&bits), "blocks of {block_bytes} bytes: {bits} bits");
        for line in (0..set.len()).step_by(1009) {
            let ids: Vec<u64> =
                store.ids::<u64>(set[line]).unwrap().collect::<Result<_, _>>().unwrap();
            assert_eq!(ids, [line as u64]);
        }
    }
}
