//! Stores of several segments.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::*;
use crate::format::{MANIFEST_NAME, Manifest, ids_name, table_name};
use crate::segment::{Found, Index};
use crate::store::{OpenOptions, Packer, Store};
use crate::table::Table;

/// Numbers without order, the same for the same seed.
fn numbers(mut random: u64) -> impl FnMut() -> u64 {
    move || {
        random = random.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        random ^ random >> 32
    }
}

/// A store whose segments are these sets.
pub(crate) fn store_of_segments(path: &Path, sets: &[&[u64]]) -> Store {
    store_of_packed(path, sets.len(), |set, part| {
        Packer::new().pack(part, sets[set]).unwrap();
    })
}

/// A store whose segments are those that `pack` writes.
pub(crate) fn store_of_packed<F: Fingerprint>(
    path: &Path,
    segments: usize,
    pack: impl Fn(usize, &Path),
) -> Store<F> {
    let mut whole = Manifest::empty(F::BITS as u16, 3, 1);
    fs::create_dir(path).unwrap();
    for set in 0..segments {
        let part = path.join("part");
        pack(set, &part);
        let manifest = Manifest::decode(&fs::read(part.join(MANIFEST_NAME)).unwrap()).unwrap();
        let mut segment = manifest.segments[0].clone();
        for table in 0..segment.tables.len() {
            let name = table_name(whole.next_segment, table);
            fs::rename(part.join(table_name(1, table)), path.join(name)).unwrap();
        }
        if segment.ids.is_some() {
            let name = ids_name(whole.next_segment);
            fs::rename(part.join(ids_name(1)), path.join(name)).unwrap();
        }
        segment.number = whole.next_segment;
        whole.segments.push(segment);
        whole.next_segment += 1;
        fs::remove_dir_all(part).unwrap();
    }
    fs::write(path.join(MANIFEST_NAME), whole.encode()).unwrap();
    OpenOptions::new().width().open(path).unwrap()
}

#[test]
fn a_match_in_one_segment_hides_none_with_the_same_low_bits_in_another() {
    let temporary = tempfile::tempdir().unwrap();
    // Alike but for bit 10, which both tables keep out of the low column of one of them.
    let (one, other) = (0x8000_0000_8000_0000, 0x8020_0000_8000_0000);
    let sets: [&[u64]; 2] = [&[1, one, u64::MAX], &[1, other, u64::MAX]];
    let store = store_of_segments(&temporary.path().join("store"), &sets);
    let pair = |fingerprint: u64, distance| Match { fingerprint, distance };
    assert_eq!(store.search(one, 2).unwrap(), [pair(one, 0), pair(other, 1)]);
    assert_eq!(store.search(other, 2).unwrap(), [pair(other, 0), pair(one, 1)]);
    // What stands in both is found once.
    assert_eq!(store.search(u64::MAX, 0).unwrap(), [pair(u64::MAX, 0)]);
    let all: Vec<u64> = store.iter().collect::<Result<_>>().unwrap();
    assert_eq!(all, [1, one, other, u64::MAX]);
}

#[test]
fn ids_are_those_of_all_segments_and_each_comes_once() {
    let temporary = tempfile::tempdir().unwrap();
    let pairs: [&[(u64, u64)]; 2] = [&[(1, 5), (1, 9), (2, 7)], &[(1, 6), (1, 9), (3, 0)]];
    let store: Store = store_of_packed(&temporary.path().join("store"), 3, |set, part| {
        match pairs.get(set) {
            Some(pairs) => Packer::new().pack_with_ids(part, pairs.iter().copied()).unwrap(),
            None => Packer::new().pack(part, [1, 4]).unwrap(),
        };
    });
    store.verify().unwrap();
    assert!(store.has_ids());
    let ids = |fp| store.ids(fp).unwrap().collect::<Result<Vec<u64>>>().unwrap();
    assert_eq!((ids(1), ids(2), ids(3)), (vec![5, 6, 9], vec![7], vec![0]));
    assert_eq!((ids(4), ids(5)), (vec![], vec![]));
    assert_eq!(store.ids(1).unwrap().len(), 4, "of both segments");
}

#[test]
fn work_in_bases_is_counted_for_each_search_by_itself() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let mut random = 3u64;
    let mut next = || {
        random = random.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        u128::from(random ^ random >> 32)
    };
    let set: Vec<u128> = (0..20_000).map(|_| next() << 64 | next()).collect();
    Packer::new().width::<u128>().parts(8).pack(&path, &set).unwrap();
    let store = crate::store::OpenOptions::new().width::<u128>().open(&path).unwrap();
    let mut searcher = store.searcher();
    let count = set.len() as u64;
    for _ in 0..2 {
        searcher.search(set[5], 7).unwrap();
        let work = searcher.work();
        assert!(work.full_scans == 0 && work.groups_probed >= 8, "{work:?}");
        assert!((1..count / 10).contains(&work.rows_compared), "{work:?}");
        let scan = SearchWork { full_scans: 1, rows_compared: count, ..Default::default() };
        searcher.search_by_scan(set[5], 7).unwrap();
        assert_eq!(searcher.work(), scan);
        // More than part tables are good for.
        searcher.search(set[5], 100).unwrap();
        assert_eq!(searcher.work(), scan);
        searcher.nearest(set[5], 1, 128).unwrap();
        let work = searcher.work();
        assert!(work.full_scans == 0 && (1..count / 10).contains(&work.rows_compared), "{work:?}");
        searcher.nearest(!set[5], 10, 128).unwrap();
        let work = searcher.work();
        assert!(work.full_scans == 1 && work.groups_probed > 0, "{work:?}");
        assert!((count..count / 8 * 9).contains(&work.rows_compared), "{work:?}");
    }
}

#[test]
fn matches_that_several_parts_find_count_once_against_a_limit() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let mut next = numbers(1);
    let center = next();
    // Three parts of four find these,
    let mut set: Vec<u64> = (0..1000).map(|low| center ^ low).collect();
    // and only the last one these: two bits differ in each of the others.
    set.extend((0..60).map(|at| {
        let two = |part: u64| (1 << (at % 8) | 1 << (8 + at / 8)) << part;
        center ^ two(16) ^ two(32) ^ two(48)
    }));
    set.extend((0..300_000).map(|_| next()));
    Packer::new().parts(4).pack(&path, set.iter().copied()).unwrap();
    let store = Store::open(&path).unwrap();
    let expected = {
        let near = |fingerprint: &&u64| (**fingerprint ^ center).count_ones() <= 7;
        let mut near: Vec<u64> = set.iter().filter(near).copied().collect();
        near.sort_unstable();
        near.dedup();
        near
    };
    assert!(expected.len() > 1000, "{}", expected.len());
    let mut searcher = store.searcher();
    let count = expected.len();
    for most in [0, 1, 30, 500, count - 1, count, count + 1, 2 * count, 3 * count, usize::MAX] {
        let found = searcher.search_up_to(center, 7, most).unwrap();
        let found = found.map(|found| {
            let mut found: Vec<u64> = found.iter().map(|found| found.fingerprint).collect();
            found.sort_unstable();
            found
        });
        assert_eq!(found, (most >= count).then(|| expected.clone()), "{most}");
    }
}

/// Uniform fingerprints, clusters of near ones, and many that begin alike.
fn crowded_set(next: &mut impl FnMut() -> u64) -> Vec<u64> {
    let mut set: Vec<u64> = (0..20_000).map(|_| next()).collect();
    for center in [next(), next()] {
        set.extend((0..1500).map(|_| center ^ (next() & next() & next() & next())));
    }
    // More than a search by runs takes.
    set.extend((0..90_000).map(|_| 0x5A5A << 48 | next() >> 16));
    // Blocks of which all keys begin alike up into the column.
    set.extend((0..20_000).map(|i| ALIKE | (3 * i)));
    set.extend([0, u64::MAX]);
    set.sort_unstable();
    set.dedup();
    set
}

const ALIKE: u64 = 0xABCD_1234_5678 << 16;

#[test]
fn searches_by_runs_find_what_others_find() {
    let mut next = numbers(5);
    let set = crowded_set(&mut next);
    let directory = tempfile::tempdir().unwrap();
    let layouts = [
        ("quarters", 3, 256, 32),
        ("quarters", 3, 256, 48),
        ("quarters", 3, 512, 40),
        ("quarters", 2, 1024, 24),
        ("thirds", 2, 1024, 48),
        ("2of5", 3, 512, 8),
        ("thirds", 2, 256, 16),
        ("halves", 1, 256, 32),
        ("single", 0, 4096, 32),
    ];
    let layouts = layouts.into_iter().flat_map(|layout| [(layout, false), (layout, true)]);
    for (number, ((design, k, block_bytes, low_bits), keeps_keys)) in layouts.enumerate() {
        let path = directory.path().join(number.to_string());
        let packer = Packer::new().design(design.parse().unwrap()).block_bytes(block_bytes);
        packer.low_bits(Some(low_bits)).pack(&path, set.iter().copied()).unwrap();
        let store = Store::open(&path).unwrap();
        let snapshot = store.snapshot();
        let Index::Tables(tables) = snapshot.segments()[0].index() else { panic!("no tables") };
        assert!(tables.run_plan(k).is_some() && tables.run_plan(12).is_none(), "{design}");
        if !keeps_keys {
            tables.keep_no_keys();
        }
        let mut searcher = store.searcher();
        // The first searches find out where runs start, or all keys.
        let mut searches = 0;
        while tables.runs().found().is_none() {
            searcher.search(next(), k).unwrap();
            searches += 1;
            assert!(searches < set.len(), "{design}");
        }
        assert!(searches > 1 && searches < set.len() / 50, "{searches} searches");
        assert_eq!(matches!(tables.runs().found(), Some(Found::Keys(_))), keeps_keys);
        let least_heap = if keeps_keys { set.len() * tables.all().len() * 8 } else { 1 << 14 };
        assert!(store.heap_bytes() > least_heap as u64, "{}", store.heap_bytes());
        let queries = (0..400).map(|i| {
            let stored = set[(next() % set.len() as u64) as usize];
            match i % 4 {
                0 => stored,
                1 | 2 => (0..i / 4 % 4).fold(stored, |query, _| query ^ 1 << (next() % 64)),
                _ => next(),
            }
        });
        let ends = [0, 1, u64::MAX, u64::MAX >> 1, 0x5A5A << 48];
        // No other quarter is equal than the first, and one that differs is inside the column, where all keys of a block agree.
        let alike = (0..20).map(|i| (ALIKE | (3000 * i)) ^ (1 << 40 | 1 << 24 | 1 << 3));
        let (mut found_some, mut found_undecoded) = (0, 0);
        for query in queries.chain(ends).chain(alike) {
            let near = |one: &&u64| (**one ^ query).count_ones() <= k;
            let of = |one: &u64| Match { fingerprint: *one, distance: (one ^ query).count_ones() };
            let mut expected: Vec<Match> = set.iter().filter(near).map(of).collect();
            expected.sort_unstable_by_key(Match::order);
            let place = format!("{query:x}, {design}, k = {k}, keeps keys: {keeps_keys}");
            assert_eq!(searcher.search(query, k).unwrap(), expected, "{place}");
            let work = searcher.work();
            assert_eq!(work.full_scans, 0, "{place}");
            assert!(work.blocks_decoded <= work.blocks_scanned, "{place}: {work:?}");
            let unused = if keeps_keys { work.blocks_scanned } else { work.keys_compared };
            assert_eq!(unused, 0, "{place}: {work:?}");
            let is_known = expected.is_empty() || work.keys_compared >= expected.len() as u64;
            assert!(!keeps_keys || is_known, "{place}: {work:?}");
            let is_undecoded = !expected.is_empty() && work.blocks_decoded == 0;
            found_undecoded += usize::from(is_undecoded);
            assert_eq!(searcher.any_within(query, k).unwrap(), !expected.is_empty(), "{place}");
            searcher.count_bytes(true);
            searcher.search(query, k).unwrap();
            let work = searcher.work();
            let bytes = work.bytes_touched;
            let blocks = u64::from(block_bytes) * work.blocks_scanned;
            assert!(bytes <= blocks + blocks / 4 && (bytes > 0 || blocks == 0), "{place}: {bytes}");
            searcher.count_bytes(false);
            found_some += usize::from(!expected.is_empty());
        }
        assert!(found_some > 150, "{design}: {found_some}");
        if keeps_keys {
            continue;
        }
        // The first key of a block needs no decoding anywhere; the keys of long runs, and where the disk was slow, are found by descents.
        let share = if low_bits == 48 { 0.2..=1.0 } else { 0.0..=0.1 };
        let undecoded = found_undecoded as f64 / found_some as f64;
        assert!(share.contains(&undecoded), "{design}, {low_bits}: {undecoded}");
    }
}

#[test]
fn damage_that_no_search_concerns_ends_the_search_for_runs_and_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let set: Vec<u64> = (0..50_000u64).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15)).collect();
    let packer = Packer::new().design("quarters".parse().unwrap()).block_bytes(256);
    packer.pack(&path, set.iter().copied()).unwrap();
    let file = path.join(table_name(1, 0));
    let mut bytes = fs::read(&file).unwrap();
    let greatest = set.iter().copied().max().unwrap();
    let store = Store::open(&path).unwrap();
    // The last one, so that much has been found before.
    let geometry = *store.snapshot().segments()[0].tables()[0].geometry();
    let block = geometry.block(geometry.block_count - 1);
    drop(store);
    bytes[block.start + 100] ^= 1;
    fs::write(&file, bytes).unwrap();
    // Neither where runs start is found, nor all keys.
    for cache_bytes in [0, u64::MAX] {
        let options = OpenOptions::new().in_memory(true).cache_bytes(cache_bytes);
        let store = options.open(&path).unwrap();
        let snapshot = store.snapshot();
        let Index::Tables(tables) = snapshot.segments()[0].index() else { panic!("no tables") };
        let (mut searcher, heap_bytes) = (store.searcher(), store.heap_bytes());
        for fingerprint in set.iter().copied().filter(|one| one >> 56 != greatest >> 56) {
            let found = searcher.search(fingerprint, 3).unwrap();
            assert_eq!(found[0], Match { fingerprint, distance: 0 });
        }
        assert!(tables.runs().found().is_none());
        assert_eq!(store.heap_bytes(), heap_bytes);
        assert!(matches!(searcher.search(greatest, 3), Err(crate::Error::Corrupt { .. })));
    }
}

#[test]
fn a_search_among_kept_keys_stops_before_it_compares_them() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let mut next = numbers(11);
    let set: BTreeSet<u64> = (0..5000).map(|_| next()).collect();
    let packer = Packer::new().design("quarters".parse().unwrap());
    packer.pack(&path, set.iter().copied()).unwrap();
    let store = Store::open(&path).unwrap();
    let snapshot = store.snapshot();
    let mut searcher = store.searcher();
    // Within 3 by runs, within 20 all keys.
    for (k, runs) in [(3, true), (20, false)] {
        let ask = Ask { fingerprint: next(), k, most: usize::MAX };
        while searcher.work().keys_compared == 0 {
            searcher.search(next(), 20).unwrap();
        }
        let due = Stop::at(Some(Instant::now()));
        searcher.search.clear();
        let search = &mut searcher.search;
        let stopped = search.search(&snapshot.segments()[0], ask, false, &due);
        assert!(matches!(stopped, Err(crate::Error::DeadlineExceeded)), "{k}");
        let work = searcher.work();
        assert_eq!((work.runs_looked_up > 0, work.full_scans), (runs, u64::from(!runs)));
        assert!(work.keys_compared <= if runs { 0 } else { 4096 }, "{work:?}");
    }
}

#[test]
fn kept_keys_are_searched_within_every_radius() {
    let mut next = numbers(9);
    let mut scattered: Vec<u64> = (0..5000).map(|_| next()).collect();
    let center = next();
    scattered.extend((0..500).map(|_| center ^ (next() & next() & next())));
    // One prefix and several tops, more than are left together.
    scattered.extend((0..600).map(|_| 0x5A58 << 48 | next() >> 13));
    // In the runs of several tables there are more than there are.
    let crowded = (0..6000).map(|_| center ^ (next() & next() & next() & next())).collect();
    let directory = tempfile::tempdir().unwrap();
    let (mut equal, mut flipped, mut whole, mut crowds) = (0, 0, 0, 0);
    let sets: [Vec<u64>; 2] = [scattered, crowded];
    let sets = sets.map(|set| set.into_iter().collect::<BTreeSet<_>>().into_iter().collect());
    let with_names = |set| crate::Design::NAMES.iter().map(move |name| (set, name));
    let cases = sets.iter().flat_map(|set: &Vec<u64>| with_names(set));
    for (number, (set, name)) in cases.enumerate() {
        let path = directory.path().join(number.to_string());
        let packer = Packer::new().design(name.parse().unwrap()).block_bytes(256);
        packer.pack(&path, set.iter().copied()).unwrap();
        let store = Store::open(&path).unwrap();
        let snapshot = store.snapshot();
        let Index::Tables(tables) = snapshot.segments()[0].index() else { panic!("no tables") };
        let mut searcher = store.searcher();
        let mut searches = 0;
        let keys = loop {
            if let Some(Found::Keys(keys)) = tables.runs().found() {
                break keys;
            }
            searcher.search(next(), 3).unwrap();
            searches += 1;
            assert!(searches < 10_000, "{name}");
        };
        for k in [0, 1, 2, 3, 4, 5, 6, 8, 10, 14, 20, 33, 64] {
            let plan = tables.kept_plan(k, keys).unwrap().tables.as_deref();
            match plan {
                Some(plan) if plan.iter().all(|of| of.flips == 0) => equal += 1,
                Some(_) => flipped += 1,
                None => whole += 1,
            }
            for i in 0..48 {
                let stored = set[(next() % set.len() as u64) as usize];
                let query = match i % 4 {
                    0 => next(),
                    _ => (0..i % 7).fold(stored, |query, _| query ^ 1 << (next() % 64)),
                };
                let near = |one: &&u64| (**one ^ query).count_ones() <= k;
                let mut expected: Vec<u64> = set.iter().filter(near).copied().collect();
                expected.sort_unstable_by_key(|one| ((one ^ query).count_ones(), *one));
                let place = format!("{query:x}, {name}, k = {k}");
                let found = searcher.search(query, k).unwrap().iter().map(|of| of.fingerprint);
                assert!(found.eq(expected.iter().copied()), "{place}");
                let work = searcher.work();
                assert_eq!((work.blocks_scanned, work.blocks_decoded), (0, 0), "{place}");
                assert!(work.keys_compared <= set.len() as u64, "{place}: {work:?}");
                let is_whole = work.keys_compared == set.len() as u64;
                assert_eq!(work.full_scans, u64::from(is_whole), "{place}: {work:?}");
                assert!(is_whole || plan.is_some(), "{place}");
                assert_eq!(work.runs_looked_up > 0, plan.is_some(), "{place}");
                crowds += usize::from(is_whole && plan.is_some());
                // No table tells of what another one does.
                searcher.search.clear();
                let ask = Ask { fingerprint: query, k, most: usize::MAX };
                searcher.run(ask, false).unwrap();
                assert_eq!(searcher.search.matches.len(), expected.len(), "{place}");
            }
        }
    }
    assert!(equal > 40 && flipped > 20 && whole > 80, "{equal} {flipped} {whole}");
    assert!(crowds > 30, "{crowds}");
}

#[test]
fn few_kept_keys_that_are_alike_are_compared_once() {
    // They have three quarters in common, so the runs of three tables hold all of them.
    let set: Vec<u64> = (0..20).map(|i| 0x1234_5678_9ABC_0000 | i << 11).collect();
    let directory = tempfile::tempdir().unwrap();
    let packer = Packer::new().design("quarters".parse().unwrap());
    packer.pack(directory.path(), set.iter().copied()).unwrap();
    let store = Store::open(directory.path()).unwrap();
    let mut searcher = store.searcher();
    for _ in 0..100 {
        let near = |one: &&u64| (**one ^ set[3]).count_ones() <= 3;
        assert_eq!(searcher.search(set[3], 3).unwrap().len(), set.iter().filter(near).count());
    }
    let work = searcher.work();
    assert_eq!((work.keys_compared, work.full_scans), (set.len() as u64, 1), "{work:?}");
    assert!(work.runs_looked_up > 0, "{work:?}");
}

#[test]
fn short_tables_are_searched_by_runs_and_by_keys_that_are_kept() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let mut next = numbers(3);
    let set: Vec<u64> = (0..60_000).map(|_| next()).collect();
    let packer = Packer::new().design("quarters".parse().unwrap()).short_tables(true);
    packer.pack(&path, set.iter().copied()).unwrap();
    for cache_bytes in [0, 24 << 20] {
        let store = OpenOptions::new().cache_bytes(cache_bytes).open(&path).unwrap();
        let snapshot = store.snapshot();
        let Index::Tables(tables) = snapshot.segments()[0].index() else { panic!("no tables") };
        assert!(tables.all()[1..].iter().all(Table::is_short));
        let mut searcher = snapshot.searcher();
        let mut searches = 0;
        while tables.runs().found().is_none() {
            searcher.search(set[searches], 3).unwrap();
            searches += 1;
        }
        let keeps = matches!(tables.runs().found(), Some(Found::Keys(_)));
        assert_eq!(keeps, cache_bytes > 0);
        for (i, &stored) in set[..400].iter().enumerate() {
            let query = (0..i % 5).fold(stored, |query, _| query ^ 1 << (next() % 64));
            for k in [3, 5] {
                let found = searcher.search(query, k).unwrap().to_vec();
                assert_eq!(searcher.search_by_scan(query, k).unwrap(), found, "{query:x} {k}");
            }
        }
    }
}

#[test]
fn where_short_tables_lead_everywhere_the_first_one_is_scanned() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let mut next = numbers(4);
    // All begin alike, but for few bits, and so do their keys in the tables of the later parts.
    let set: Vec<u64> = (0..4000).map(|_| next() & 0x1111 << 48 | next() & 0xFFFF).collect();
    let packer = Packer::new().design("quarters".parse().unwrap()).short_tables(true);
    packer.block_bytes(256).pack(&path, set.iter().copied()).unwrap();
    let store = OpenOptions::new().cache_bytes(0).open(&path).unwrap();
    let mut searcher = store.searcher();
    let mut scans = 0;
    for (i, one) in set.iter().step_by(40).enumerate() {
        for k in [3, 6, 9] {
            let found = searcher.search(one ^ (i as u64 & 7), k).unwrap().to_vec();
            scans += searcher.work().full_scans;
            assert_eq!(searcher.search_by_scan(one ^ (i as u64 & 7), k).unwrap(), found);
        }
    }
    assert!(scans > 0);
}
