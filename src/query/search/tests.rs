//! Stores of several segments.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::*;
use crate::costs::Costs;
use crate::fingerprint::{key_of, of_key};
use crate::format::{MANIFEST_NAME, Manifest, ids_name, table_name};
use crate::planning::Layout;
use crate::segment::{AccessPath, Index, Segment};
use crate::store::{OpenOptions, Packer, Store};

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
    assert_eq!(store.ids::<u64>(1).unwrap().len(), 4, "of both segments");
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
    Packer::new().width::<u128>().layout(Layout::new().parts(8)).pack(&path, &set).unwrap();
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
    Packer::new().layout(Layout::new().parts(4)).pack(&path, set.iter().copied()).unwrap();
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

/// The tables of a segment.
fn tables<F: Fingerprint>(segment: &Segment<F>) -> &crate::segment::Tables {
    let Index::Tables(tables) = segment.index() else { panic!("no tables") };
    tables
}

/// Searches until the hot index of the first segment is complete; gives how many.
fn build_hot<F: Fingerprint>(store: &Store<F>, mut next: impl FnMut() -> F) -> usize {
    let snapshot = store.snapshot();
    let hot = tables(&snapshot.segments()[0]).hot();
    let mut searcher = snapshot.searcher();
    let mut searches = 0;
    while hot.index().is_none() {
        searcher.search(next(), 3).unwrap();
        searches += 1;
        assert!(searches < 1_000_000);
    }
    searches
}

#[test]
fn a_hot_index_is_there_once_searches_have_taken_the_time_that_it_costs() {
    let mut next = numbers(6);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let set: Vec<u64> = (0..60_000).map(|_| next()).collect();
    let layout = Layout::new().design("single".parse().unwrap()).block_bytes(256);
    Packer::new().layout(layout).pack(&path, set.iter().copied()).unwrap();
    let costs = &Costs::shipped().search;
    // Decoding counts the keys of all parts, which takes as long again.
    let cost_ns = 5.0 * costs.hot_build_ns * set.len() as f64;
    for k in [0, 3, 8, 20, 40] {
        let store = OpenOptions::new().memory(u64::MAX).open(&path).unwrap();
        let snapshot = store.snapshot();
        let (mut searcher, tables) = (snapshot.searcher(), tables(&snapshot.segments()[0]));
        let (mut spent_ns, mut search_ns) = (0.0, 0.0);
        while tables.hot().index().is_none() {
            search_ns = tables.search_ns(k, costs);
            searcher.search(next(), k).unwrap();
            spent_ns += search_ns;
            assert!(spent_ns < 1.1 * cost_ns + 2.0 * search_ns, "k = {k}: {spent_ns} {cost_ns}");
        }
        assert!(spent_ns > 0.9 * cost_ns - search_ns, "k = {k}: {spent_ns} {cost_ns}");
    }
}

#[test]
fn searches_in_hot_indexes_and_in_tables_find_what_brute_force_finds() {
    let mut next = numbers(5);
    let set = crowded_set(&mut next);
    let directory = tempfile::tempdir().unwrap();
    let layouts = [
        ("single", 4096, 32),
        ("quarters", 256, 48),
        ("thirds", 1024, 16),
        ("2of5", 512, 8),
        ("halves", 256, 32),
    ];
    for (design, block_bytes, low_bits) in layouts {
        let path = directory.path().join(design);
        let packer = Packer::new()
            .layout(Layout::new().design(design.parse().unwrap()).block_bytes(block_bytes));
        packer
            .with_layout(|it| it.low_bits(Some(low_bits)))
            .pack(&path, set.iter().copied())
            .unwrap();
        for memory in [0, u64::MAX] {
            let store = OpenOptions::new().memory(memory).open(&path).unwrap();
            let is_hot = memory > 0;
            if is_hot {
                let searches = build_hot(&store, &mut next);
                assert!(searches > 100, "{searches} searches");
                assert!(store.heap_bytes() >= 32 * set.len() as u64, "{}", store.heap_bytes());
            }
            let mut searcher = store.searcher();
            let queries = (0..300).map(|i| {
                let stored = set[(next() % set.len() as u64) as usize];
                match i % 4 {
                    0 => stored,
                    1 | 2 => (0..i / 4 % 4).fold(stored, |query, _| query ^ 1 << (next() % 64)),
                    _ => next(),
                }
            });
            let queries: Vec<u64> = queries.collect();
            let ends = [0, 1, u64::MAX, u64::MAX >> 1, 0x5A5A << 48];
            // No other part is equal than the first.
            let alike = (0..20).map(|i| (ALIKE | (3000 * i)) ^ (1 << 40 | 1 << 24 | 1 << 3));
            let mut found_some = 0;
            for (query, k) in queries
                .into_iter()
                .chain(ends)
                .chain(alike)
                .zip([3, 2, 3, 0, 3, 1].into_iter().cycle())
            {
                let near = |one: &&u64| (**one ^ query).count_ones() <= k;
                let of =
                    |one: &u64| Match { fingerprint: *one, distance: (one ^ query).count_ones() };
                let mut expected: Vec<Match> = set.iter().filter(near).map(of).collect();
                expected.sort_unstable_by_key(Match::order);
                let place = format!("{query:x}, {design}, k = {k}, {memory}");
                assert_eq!(searcher.search(query, k).unwrap(), expected, "{place}");
                let work = searcher.work();
                assert!(work.blocks_decoded <= work.blocks_scanned, "{place}: {work:?}");
                let unused = if is_hot { work.blocks_scanned } else { work.keys_compared };
                assert_eq!(unused, 0, "{place}: {work:?}");
                assert_eq!(searcher.any_within(query, k).unwrap(), !expected.is_empty(), "{place}");
                searcher.count_bytes(true);
                searcher.search(query, k).unwrap();
                let work = searcher.work();
                let bytes = work.bytes_touched;
                let blocks = u64::from(block_bytes) * work.blocks_scanned;
                assert!(
                    bytes <= blocks + blocks / 4 && (bytes > 0 || blocks == 0),
                    "{place}: {bytes}"
                );
                searcher.count_bytes(false);
                found_some += usize::from(!expected.is_empty());
            }
            assert!(found_some > 150, "{design}: {found_some}");
        }
    }
}

#[test]
fn damage_that_no_search_concerns_ends_the_building_of_a_hot_index_and_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let set: Vec<u64> = (0..50_000u64).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15)).collect();
    let packer =
        Packer::new().layout(Layout::new().design("quarters".parse().unwrap()).block_bytes(256));
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
    let store = OpenOptions::new().in_memory(true).open(&path).unwrap();
    let snapshot = store.snapshot();
    let (mut searcher, heap_bytes) = (store.searcher(), store.heap_bytes());
    let mut most = 0;
    for fingerprint in set.iter().copied().filter(|one| one >> 56 != greatest >> 56) {
        let found = searcher.search(fingerprint, 3).unwrap();
        assert_eq!(found[0], Match { fingerprint, distance: 0 });
        most = most.max(store.heap_bytes());
    }
    assert!(tables(&snapshot.segments()[0]).hot().index().is_none());
    // It was begun.
    assert!(most > heap_bytes + 32 * set.len() as u64);
    assert_eq!(store.heap_bytes(), heap_bytes);
    assert!(matches!(searcher.search(greatest, 3), Err(crate::Error::Corrupt { .. })));
}

#[test]
fn a_search_in_a_hot_index_stops_before_it_compares_keys() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let mut next = numbers(11);
    let set: BTreeSet<u64> = (0..5000).map(|_| next()).collect();
    let packer = Packer::new().layout(Layout::new().design("quarters".parse().unwrap()));
    packer.pack(&path, set.iter().copied()).unwrap();
    let store = Store::open(&path).unwrap();
    let snapshot = store.snapshot();
    build_hot(&store, &mut next);
    let mut searcher = store.searcher();
    // Within 3 by runs, within 20 all keys.
    for (k, runs) in [(3, true), (20, false)] {
        let ask = Ask { fingerprint: next(), k, most: usize::MAX };
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

/// A set of each width, and what makes a fingerprint of random words.
fn check_every_radius<F: Fingerprint>(
    seed: u64,
    of: impl Fn(&mut dyn FnMut() -> u64) -> F,
) -> [usize; 4] {
    let bits = F::BITS;
    let mut next = numbers(seed);
    let flip = |next: &mut dyn FnMut() -> u64, one: F, flips: u32| {
        (0..flips).fold(one, |one, _| {
            let bit = (next() % u64::from(bits)) as u32;
            of_key(key_of(one) ^ 1 << (63 - bit))
        })
    };
    let center = of(&mut next);
    let mut scattered: Vec<F> = (0..5000).map(|_| of(&mut next)).collect();
    scattered.extend((0..500).map(|_| flip(&mut next, center, 8)));
    // Of some all parts but the last are equal, of as many others all but the first: in the runs of
    // a query near these there are more than there are fingerprints.
    let mut crowded: Vec<F> = (0..2600).map(|_| of(&mut next)).collect();
    for mask in [!0 << (64 - bits + 16), !0 >> 16] {
        let center = key_of(of(&mut next));
        let near = (0..3700).map(|_| of_key::<F>(center & mask | key_of(of(&mut next)) & !mask));
        crowded.extend(near.collect::<Vec<_>>());
    }
    let directory = tempfile::tempdir().unwrap();
    let (mut equal, mut flipped, mut whole, mut crowds) = (0, 0, 0, 0);
    for (number, set) in [scattered, crowded].into_iter().enumerate() {
        let set: Vec<F> = set.into_iter().collect::<BTreeSet<_>>().into_iter().collect();
        let path = directory.path().join(number.to_string());
        Packer::new().width::<F>().pack(&path, set.iter().copied()).unwrap();
        let store = OpenOptions::new().width::<F>().open(&path).unwrap();
        build_hot(&store, || of(&mut next));
        let snapshot = store.snapshot();
        let index = tables(&snapshot.segments()[0]).hot().index().unwrap();
        assert!(index.fingerprints().iter().map(|&key| of_key::<F>(key)).eq(set.iter().copied()));
        let mut searcher = store.searcher();
        for k in [0, 1, 2, 3, 4, 5, 6, 8, 10, 14, 20, 33, 64].map(|k| bits.min(k)) {
            let claims = index.plan(k).unwrap().claims.as_ref();
            match claims {
                Some(claims) if claims.claims.iter().all(|claim| claim.flips == 0) => equal += 1,
                Some(_) => flipped += 1,
                None => whole += 1,
            }
            for i in 0..48 {
                let stored = set[(next() % set.len() as u64) as usize];
                let query = match i % 4 {
                    0 => of(&mut next),
                    _ => flip(&mut next, stored, i % 7),
                };
                let near = |one: &&F| one.distance(query) <= k;
                let mut expected: Vec<F> = set.iter().filter(near).copied().collect();
                expected.sort_unstable_by_key(|one| (one.distance(query), *one));
                let place = format!("{query:?}, {bits} bits, k = {k}");
                let found = searcher.search(query, k).unwrap().iter().map(|of| of.fingerprint);
                assert!(found.eq(expected.iter().copied()), "{place}");
                let work = searcher.work();
                assert_eq!((work.blocks_scanned, work.blocks_decoded), (0, 0), "{place}");
                assert!(work.keys_compared <= set.len() as u64, "{place}: {work:?}");
                let is_whole = work.keys_compared == set.len() as u64;
                assert_eq!(work.full_scans, u64::from(is_whole), "{place}: {work:?}");
                assert_eq!(work.runs_looked_up > 0, claims.is_some(), "{place}");
                crowds += usize::from(is_whole && claims.is_some());
                // Each match is reported once.
                searcher.search.clear();
                let ask = Ask { fingerprint: query, k, most: usize::MAX };
                searcher.run(ask, false).unwrap();
                assert_eq!(searcher.search.matches.len(), expected.len(), "{place}");
            }
        }
    }
    [equal, flipped, whole, crowds]
}

#[test]
fn a_hot_index_is_searched_within_every_radius() {
    let [equal, flipped, whole, crowds] = check_every_radius(9, |next| next());
    assert!(
        equal >= 4 && flipped >= 4 && whole >= 8 && crowds >= 3,
        "{equal} {flipped} {whole} {crowds}"
    );
    let [equal, flipped, whole, _] = check_every_radius(10, |next| next() as u32);
    assert!(equal >= 1 && flipped >= 1 && whole >= 8, "{equal} {flipped} {whole}");
}

#[test]
fn the_time_in_a_hot_index_is_predicted_before_there_is_one() {
    let directory = tempfile::tempdir().unwrap();
    let mut next = numbers(13);
    let path = directory.path().join("store");
    let costs = &crate::costs::Costs::shipped().search;
    for count in [500, 60_000] {
        let set: Vec<u64> = (0..count).map(|_| next()).collect();
        Packer::new().replace(true).pack(&path, set).unwrap();
        let store = Store::open(&path).unwrap();
        build_hot(&store, &mut next);
        let snapshot = store.snapshot();
        for k in [0, 3, 6, 8, 20] {
            let built = tables(&snapshot.segments()[0]).search_ns(k, costs);
            let planned = crate::planning::Planner::for_bits(64, count).radius(k).hot_ns().unwrap();
            assert!((0.8..1.25).contains(&(planned / built)), "{count} {k}: {planned} {built}");
        }
    }
    // More than any machine gives a store by default.
    assert_eq!(crate::planning::Planner::for_bits(64, 1 << 25).radius(3).hot_ns(), None);
    assert_eq!(crate::planning::Planner::for_bits(64, 0).radius(3).hot_ns(), None);
}

#[test]
fn a_search_is_explained_by_the_path_that_it_takes() {
    let directory = tempfile::tempdir().unwrap();
    let mut next = numbers(12);
    let set: Vec<u64> = (0..20_000).map(|_| next()).collect();
    let path = directory.path().join("tables");
    Packer::new().pack(&path, set.iter().copied()).unwrap();
    let explained = |store: &Store, k| {
        let mut searcher = store.searcher();
        let found = searcher.search(set[7], k).unwrap().len();
        let [of] = searcher.explain(set[7], k).unwrap()[..] else { panic!("not one segment") };
        assert_eq!((of.segment, of.fingerprints, of.matches), (1, set.len() as u64, found));
        assert!(of.predicted_ns > 0.0 && of.predicted_ns.is_finite() && of.ns > 0.0, "{of:?}");
        (of.path, of.work)
    };
    let store = OpenOptions::new().memory(0).open(&path).unwrap();
    let (way, work) = explained(&store, 3);
    assert_eq!((way, work.blocks_scanned > 0, work.full_scans), (AccessPath::Tables, true, 0));
    let (way, work) = explained(&store, 40);
    assert_eq!((way, work.full_scans), (AccessPath::Scan, 1));
    let store = Store::open(&path).unwrap();
    build_hot(&store, &mut next);
    let (way, work) = explained(&store, 3);
    assert_eq!((way, work.runs_looked_up, work.blocks_scanned), (AccessPath::HotIndex, 4, 0));
    let mut searcher = store.searcher();
    searcher.force(Some(AccessPath::Tables));
    let [of] = searcher.explain(set[7], 3).unwrap()[..] else { panic!("not one segment") };
    assert_eq!((of.path, of.work.runs_looked_up), (AccessPath::Tables, 0));
    // Of a base.
    let path = directory.path().join("base");
    let wide: Vec<u128> =
        (0..20_000).map(|_| u128::from(next()) << 64 | u128::from(next())).collect();
    Packer::new()
        .width::<u128>()
        .layout(Layout::new().k(8))
        .pack(&path, wide.iter().copied())
        .unwrap();
    let store = OpenOptions::new().width::<u128>().open(&path).unwrap();
    for (k, expected) in [(8, AccessPath::Parts), (64, AccessPath::Scan)] {
        let [of] = store.searcher().explain(wide[3], k).unwrap()[..] else { panic!("not one") };
        assert_eq!((of.path, of.work.full_scans), (expected, u64::from(k > 8)));
        assert!(of.work.rows_compared > 0 && of.matches > 0, "{of:?}");
    }
}

#[test]
fn where_short_tables_lead_everywhere_the_first_one_is_scanned() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let mut next = numbers(4);
    // All begin alike, but for few bits, and so do their keys in the tables of the later parts.
    let set: Vec<u64> = (0..4000).map(|_| next() & 0x1111 << 48 | next() & 0xFFFF).collect();
    let packer =
        Packer::new().layout(Layout::new().design("quarters".parse().unwrap()).short_tables(true));
    packer.with_layout(|it| it.block_bytes(256)).pack(&path, set.iter().copied()).unwrap();
    let store = OpenOptions::new().memory(0).open(&path).unwrap();
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
