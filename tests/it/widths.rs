//! Stores of fingerprints of every width against brute force.

use std::collections::{BTreeMap, BTreeSet};

use fpstore::query::BatchPlan;
use fpstore::{
    Error, ErrorKind, Execution, Fingerprint, IdKind, Layout, Match, OpenOptions, Packer, Store,
    StoreOptions, Verdict, WriterOptions,
};
use proptest::prelude::*;

use crate::oracle;

/// The outputs of SplitMix64.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    pub fn fingerprint<F: Fingerprint>(&mut self) -> F {
        let mut bytes = F::Bytes::default();
        bytes.as_mut().iter_mut().for_each(|byte| *byte = self.next() as u8);
        F::from_be_bytes(bytes)
    }

    /// A fingerprint that differs in up to `flips` bits.
    pub fn near<F: Fingerprint>(&mut self, fingerprint: F, flips: u64) -> F {
        let mut bytes = fingerprint.to_be_bytes();
        for _ in 0..flips {
            let bit = self.below(F::BITS.into()) as usize;
            bytes.as_mut()[bit / 8] ^= 1 << (bit % 8);
        }
        F::from_be_bytes(bytes)
    }

    /// Clusters of any size, and some with bits that hardly differ.
    pub fn set<F: Fingerprint>(&mut self, count: usize) -> Vec<F> {
        let mut set: Vec<F> = Vec::new();
        let common: F = self.fingerprint();
        while set.len() < count {
            match self.below(4) {
                0 if !set.is_empty() => {
                    let one = set[self.below(set.len() as u64) as usize];
                    let flips = self.below(u64::from(F::BITS) / 6);
                    set.push(self.near(one, flips));
                }
                1 => {
                    // Agrees with others in its first bytes.
                    let mut bytes = self.fingerprint::<F>().to_be_bytes();
                    let agreeing = bytes.as_ref().len() / 2;
                    bytes.as_mut()[..agreeing]
                        .copy_from_slice(&common.to_be_bytes().as_ref()[..agreeing]);
                    set.push(F::from_be_bytes(bytes));
                }
                _ => set.push(self.fingerprint()),
            }
        }
        set
    }
}

/// The distance, bit by bit: shares nothing with what it checks.
fn distance<F: Fingerprint>(one: F, other: F) -> u32 {
    let (one, other) = (one.to_be_bytes(), other.to_be_bytes());
    let bytes = one.as_ref().iter().zip(other.as_ref());
    bytes.map(|(a, b)| (0..8).filter(|bit| (a >> bit ^ b >> bit) & 1 == 1).count() as u32).sum()
}

pub fn matches<F: Fingerprint>(set: &BTreeSet<F>, query: F, k: u32) -> Vec<(u32, F)> {
    let mut found: Vec<_> = set.iter().map(|&one| (distance(one, query), one)).collect();
    found.retain(|&(distance, _)| distance <= k);
    found.sort_unstable();
    found
}

pub fn pairs<F: Fingerprint>(found: &[Match<F>]) -> Vec<(u32, F)> {
    found.iter().map(|found| (found.distance, found.fingerprint)).collect()
}

fn open<F: Fingerprint>(path: &std::path::Path) -> Store<F> {
    OpenOptions::new().width::<F>().open(path).unwrap()
}

/// Packs and asks all that can be asked.
fn check<F: Fingerprint>(seed: u64, count: usize, parts: Option<u16>, with_ids: bool, k: u32) {
    let mut random = Random(seed);
    let list: Vec<F> = random.set(count);
    let set: BTreeSet<F> = list.iter().copied().collect();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let mut packer = Packer::new().width::<F>().layout(Layout::new().k(k.min(F::BITS)));
    if let Some(parts) = parts {
        packer = packer.with_layout(|it| it.parts(parts));
    }
    if random.below(3) == 0 {
        packer = packer.execution(Execution::new().memory(16 << 20));
    }
    let mut ids: BTreeMap<F, BTreeSet<u64>> = BTreeMap::new();
    let summary = if with_ids {
        let pairs: Vec<(F, u64)> = list.iter().map(|&one| (one, random.below(1000))).collect();
        for &(one, id) in &pairs {
            ids.entry(one).or_default().insert(id);
        }
        packer.pack_with_ids(&path, pairs).unwrap()
    } else {
        packer.pack(&path, &list).unwrap()
    };
    assert_eq!((summary.read, summary.distinct), (count as u64, set.len() as u64));
    let store = open::<F>(&path);
    assert_eq!(store.verify().unwrap().fingerprints, set.len() as u64);
    let stats = store.stats().unwrap();
    assert_eq!((stats.bits, stats.bytes), (F::BITS, summary.bytes));
    let all: Result<Vec<F>, Error> = store.iter().collect();
    assert_eq!(all.unwrap(), set.iter().copied().collect::<Vec<_>>());
    let mut searcher = store.searcher();
    for query in 0..12 {
        let query: F = match query % 3 {
            0 => random.fingerprint(),
            _ if list.is_empty() => F::default(),
            1 => list[random.below(list.len() as u64) as usize],
            _ => {
                let flips = random.below(u64::from(k) + 2);
                let one = list[random.below(list.len() as u64) as usize];
                random.near(one, flips)
            }
        };
        let some_k = random.below(u64::from(F::BITS) + 1) as u32;
        for k in [0, k, some_k] {
            let expected = matches(&set, query, k);
            assert_eq!(pairs(searcher.search(query, k).unwrap()), expected, "k = {k}");
            assert_eq!(pairs(searcher.search_by_scan(query, k).unwrap()), expected);
            assert_eq!(searcher.any_within(query, k).unwrap(), !expected.is_empty());
            for count in [0, 1, 3, 20] {
                let nearest = searcher.nearest(query, count, k).unwrap();
                let expected = &expected[..expected.len().min(count)];
                assert_eq!(pairs(&nearest), expected, "{count} nearest within {k}");
            }
        }
        let nearest = searcher.nearest(query, 5, u32::MAX).unwrap();
        let expected = matches(&set, query, F::BITS);
        assert_eq!(pairs(&nearest), expected[..expected.len().min(5)]);
        assert_eq!(store.contains(query).unwrap(), set.contains(&query));
        let stored: Result<Vec<u64>, Error> = store.ids::<u64>(query).unwrap().collect();
        let expected = ids.get(&query).into_iter().flatten().copied().collect::<Vec<_>>();
        assert_eq!(stored.unwrap(), expected);
        let behind: Result<Vec<F>, Error> = store.snapshot().iter_from(query).take(4).collect();
        assert_eq!(behind.unwrap(), set.range(query..).take(4).copied().collect::<Vec<_>>());
    }
    check_together(&mut random, &store, &set, k);
    for entry in store.iter_with_ids::<u64>() {
        let (one, stored) = entry.unwrap();
        let stored: Result<BTreeSet<u64>, Error> = stored.collect();
        assert_eq!(stored.unwrap(), ids.get(&one).cloned().unwrap_or_default());
    }
}

/// Batches, joins and clusters.
fn check_together<F: Fingerprint>(
    random: &mut Random,
    store: &Store<F>,
    set: &BTreeSet<F>,
    k: u32,
) {
    let k = k.min(F::BITS / 8);
    let some: Vec<F> = set.iter().copied().step_by(set.len() / 40 + 1).collect();
    let queries: Vec<F> = some.iter().map(|&one| random.near(one, u64::from(k))).collect();
    let expected: Vec<_> = queries.iter().map(|&query| matches(set, query, k)).collect();
    for plan in [BatchPlan::Search, BatchPlan::Sweep] {
        let mut answers = vec![Vec::new(); queries.len()];
        let summary = store.batch(k).plan(plan).run(&queries, |answer| {
            assert_eq!(answer.count, answer.matches.len() as u64);
            answers[answer.query] = pairs(answer.matches);
        });
        assert_eq!(summary.unwrap().queries, queries.len() as u64);
        assert_eq!(answers, expected, "{plan:?}");
    }
    if set.len() > 2000 {
        return;
    }
    let all: Vec<F> = set.iter().copied().collect();
    let mut expected = Vec::new();
    for (at, &a) in all.iter().enumerate() {
        expected.extend(all[at + 1..].iter().filter(|&&b| distance(a, b) <= k).map(|&b| (a, b)));
    }
    let found = |join: fpstore::Join<F>| {
        let found = join.pairs().unwrap().map(|pair| pair.map(|pair| (pair.a, pair.b)));
        let mut found: Vec<(F, F)> = found.collect::<Result<_, _>>().unwrap();
        found.sort_unstable();
        found
    };
    assert_eq!(found(store.self_join(k)), expected);
    let shards = (0..3).flat_map(|shard| found(store.self_join(k).shard(shard, 3)));
    assert_eq!(shards.collect::<BTreeSet<_>>(), expected.iter().copied().collect());
    let mut between: Vec<(F, F)> = expected.iter().flat_map(|&(a, b)| [(a, b), (b, a)]).collect();
    between.extend(all.iter().map(|&one| (one, one)));
    between.sort_unstable();
    assert_eq!(found(store.join(store, k)), between);
    let clusters = store.clusters(k).run().unwrap();
    let mut components: BTreeMap<F, F> = all.iter().map(|&one| (one, one)).collect();
    // Each takes over the least name of its neighbours until nothing changes.
    loop {
        let mut changed = false;
        for (a, b) in &expected {
            let least = components[a].min(components[b]);
            for one in [a, b] {
                changed |= components.insert(*one, least) != Some(least);
            }
        }
        if !changed {
            break;
        }
    }
    let names: BTreeSet<F> = components.values().copied().collect();
    assert_eq!(clusters.summary().clusters, names.len() as u64);
    for clustered in clusters.iter() {
        let same = components[&clustered.fingerprint] == components[&clustered.representative];
        assert!(
            same && names.iter().nth(clustered.cluster as usize)
                == components.get(&clustered.fingerprint)
        );
    }
}

/// A store that is written, read by its writer and by others, against a map.
fn check_living<F: Fingerprint>(seed: u64, with_ids: bool, parts: Option<u16>, k: u32) {
    let mut random = Random(seed);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let tail = 1 + random.below(300) as usize;
    let options = || WriterOptions::new().background(false).tail_records(tail);
    let mut create = StoreOptions::new()
        .width::<F>()
        .ids(with_ids.then_some(IdKind::Number))
        .layout(Layout::new().k(k))
        .writer(options());
    if let Some(parts) = parts {
        create = create.with_layout(|it| it.parts(parts));
    }
    let mut writer = create.create(&path).unwrap();
    let mut model: BTreeMap<F, BTreeSet<u64>> = BTreeMap::new();
    let all: Vec<F> = random.set(1500);
    let known = |random: &mut Random| all[random.below(all.len() as u64) as usize];
    for _ in 0..60 {
        match random.below(12) {
            0..5 => {
                let some: Vec<(F, u64)> =
                    (0..random.below(200)).map(|_| (known(&mut random), random.below(3))).collect();
                match with_ids {
                    true => writer.insert_batch(&some).unwrap(),
                    false => {
                        let some: Vec<F> = some.iter().map(|pair| pair.0).collect();
                        writer.insert_fingerprints(&some).unwrap();
                    }
                }
                for (one, id) in some {
                    model.entry(one).or_default().insert(if with_ids { id } else { 0 });
                }
            }
            5 => {
                let one = known(&mut random);
                writer.delete_fingerprint(one).unwrap();
                model.remove(&one);
            }
            6 if with_ids => {
                let (one, id) = (known(&mut random), random.below(3));
                writer.delete(one, id).unwrap();
                if let Some(ids) = model.get_mut(&one) {
                    ids.remove(&id);
                }
                model.retain(|_, ids| !ids.is_empty());
            }
            7 => {
                let one = known(&mut random);
                let one = random.near(one, u64::from(k));
                let set: BTreeSet<F> = model.keys().copied().collect();
                let near = matches(&set, one, k);
                let id = with_ids.then_some(9);
                match writer.check_and_insert(one, id, k).unwrap() {
                    Verdict::Near(found) => assert_eq!(pairs(&found), near),
                    Verdict::Inserted => {
                        assert!(near.is_empty());
                        model.entry(one).or_default().insert(id.unwrap_or(0));
                    }
                }
            }
            8 => writer.flush().unwrap(),
            9 => writer.merge().unwrap(),
            10 => writer.merge_all().unwrap(),
            _ => {
                writer.close().unwrap();
                writer = options().width::<F>().open(&path).unwrap();
            }
        }
    }
    writer.commit(fpstore::Durability::Immediate).unwrap();
    let set: BTreeSet<F> = model.keys().copied().collect();
    let reader = open::<F>(&path);
    for snapshot in [writer.snapshot(), reader.snapshot()] {
        for entry in snapshot.iter_with_ids::<u64>() {
            let (one, ids) = entry.unwrap();
            let ids: Result<BTreeSet<u64>, Error> = ids.collect();
            assert!(!with_ids || model.get(&one) == Some(&ids.unwrap()));
        }
        let stored: Result<Vec<F>, Error> = snapshot.iter().collect();
        assert_eq!(stored.unwrap(), set.iter().copied().collect::<Vec<_>>());
        for _ in 0..20 {
            let flips = random.below(u64::from(k) + 2);
            let query = known(&mut random);
            let query = random.near(query, flips);
            let expected = matches(&set, query, k);
            assert_eq!(pairs(&snapshot.search(query, k).unwrap()), expected);
            let nearest = pairs(&snapshot.nearest(query, 4, k).unwrap());
            assert_eq!(nearest, expected[..expected.len().min(4)]);
            assert_eq!(snapshot.contains(query).unwrap(), set.contains(&query));
        }
        snapshot.verify().unwrap();
    }
    check_together(&mut random, &reader, &set, k);
    // A copy holds the same.
    let copy = directory.path().join("copy");
    fpstore::maintenance::Backup::new().run(&path, &copy).unwrap();
    let copied: Result<Vec<F>, Error> = open::<F>(&copy).iter().collect();
    assert_eq!(copied.unwrap(), set.iter().copied().collect::<Vec<_>>());
    // Nothing is left of what was replaced.
    writer.merge_all().unwrap();
    writer.close().unwrap();
    let files = std::fs::read_dir(&path).unwrap().count();
    let segments = open::<F>(&path).stats().unwrap().segments;
    let of_segments = segments.iter().map(|segment| {
        let index = segment.base.as_ref().map_or(segment.tables.len(), |base| 1 + base.parts.len());
        index + usize::from(segment.ids.is_some())
    });
    // Manifest, lock, log.
    assert_eq!(files, 3 + of_segments.sum::<usize>());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn stores_of_every_width_live(
        seed in any::<u64>(), with_ids in any::<bool>(), parts in prop::option::of(1u16..12),
        k in 0u32..20,
    ) {
        let most = |most: u16| parts.map(|parts| parts.min(most));
        check_living::<u32>(seed, with_ids, most(5), k.min(4));
        check_living::<u64>(seed, with_ids, most(10), k.min(12));
        check_living::<u128>(seed, with_ids, most(21), k);
        check_living::<[u64; 4]>(seed, with_ids, parts, k);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn every_width_answers_as_brute_force_does(
        seed in any::<u64>(), count in 0usize..6000, parts in prop::option::of(0u16..12),
        with_ids in any::<bool>(), k in 0u32..48,
    ) {
        let most = |parts: Option<u16>, most: u16| parts.map(|parts| parts.min(most));
        check::<u32>(seed, count, most(parts, 5), with_ids, k.min(9));
        check::<u64>(seed, count, most(parts, 10), with_ids, k.min(20));
        check::<u128>(seed, count, parts, with_ids, k);
        check::<[u64; 4]>(seed, count, parts, with_ids, k);
    }
}

/// Fingerprints of which each run of `run` bits is mostly the same bit: adjacent bits tell little.
fn alike<F: Fingerprint>(seed: u64, count: usize, run: usize) -> Vec<F> {
    let mut random = Random(seed);
    let mut one = || {
        let mut bytes = F::Bytes::default();
        let mut is_one = false;
        for bit in 0..F::BITS as usize {
            is_one = match bit % run {
                0 => random.below(2) == 0,
                _ => is_one ^ (random.below(16) == 0),
            };
            bytes.as_mut()[bit / 8] |= u8::from(is_one) << (7 - bit % 8);
        }
        F::from_be_bytes(bytes)
    };
    (0..count).map(|_| one()).collect()
}

fn check_alike<F: Fingerprint>(seed: u64) {
    let list: Vec<F> = alike(seed, 9_000, 8);
    let set: BTreeSet<F> = list.iter().copied().collect();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("packed");
    let summary =
        Packer::new().width::<F>().layout(Layout::new().k(12)).pack(&path, &list).unwrap();
    let store = open::<F>(&path);
    let keys = |store: &Store<F>| -> Vec<Vec<u32>> {
        let segment = store.stats().unwrap().segments.remove(0);
        segment.base.unwrap().parts.into_iter().map(|part| part.key).collect()
    };
    let packed = keys(&store);
    assert_eq!(summary.parts(), Some(packed.len() as u16));
    // Bits of one run are hardly ever in the same key.
    let runs = |key: &Vec<u32>| key.iter().map(|bit| bit / 8).collect::<BTreeSet<_>>().len();
    assert!(packed.iter().all(|key| 4 * runs(key) >= 3 * key.len()), "{packed:?}");
    // The plain decoder sees the same keys, and the same rows.
    let plain = oracle::read_store(&path).unwrap().segments.remove(0).base.unwrap();
    assert!(plain.parts.iter().map(|part| &part.key).eq(&packed));
    assert!(
        plain.rows.iter().eq(set
            .iter()
            .map(|one| one.to_be_bytes().as_ref().to_vec())
            .collect::<Vec<_>>()
            .iter())
    );
    // Writers choose the same, whatever they merged it from.
    let live = directory.path().join("live");
    let options = WriterOptions::new().background(false).tail_records(2_000);
    let create =
        StoreOptions::new().width::<F>().ids(None).layout(Layout::new().k(12)).writer(options);
    let writer = create.create(&live).unwrap();
    list.chunks(1_000).for_each(|some| writer.insert_fingerprints(some).unwrap());
    writer.merge_all().unwrap();
    writer.close().unwrap();
    let live = open::<F>(&live);
    assert_eq!(keys(&live), packed);
    let mut random = Random(seed + 1);
    for at in 0..40 {
        let query = random.near(list[at * 200], at as u64);
        for k in [0, 5, 12, 31] {
            let expected = matches(&set, query, k);
            assert_eq!(pairs(&store.search(query, k).unwrap()), expected);
            assert_eq!(pairs(&live.search(query, k).unwrap()), expected);
        }
    }
    store.verify().unwrap();
    live.verify().unwrap();
}

#[test]
fn where_adjacent_bits_are_alike_keys_take_others() {
    check_alike::<u128>(3);
    check_alike::<[u64; 4]>(4);
}

#[test]
fn the_files_do_not_depend_on_the_memory() {
    do_not_depend_on_the_memory(&Random(5).set(300_000));
    do_not_depend_on_the_memory(&alike(6, 300_000, 8));
}

fn do_not_depend_on_the_memory(list: &[u128]) {
    let directory = tempfile::tempdir().unwrap();
    let files = |name: &str, execution: Execution| {
        let path = directory.path().join(name);
        let packer = Packer::new().width::<u128>().layout(Layout::new().k(8)).execution(execution);
        let summary = packer.pack(&path, list).unwrap();
        let mut files: Vec<_> = std::fs::read_dir(&path).unwrap().map(Result::unwrap).collect();
        files.sort_by_key(|file| file.file_name());
        let bytes =
            files.iter().map(|file| (file.file_name(), std::fs::read(file.path()).unwrap()));
        (summary.temporary_bytes, bytes.collect::<Vec<_>>())
    };
    let (temporary, in_memory) = files("memory", Execution::new());
    assert_eq!(temporary, 0);
    let (temporary, on_disk) = files("disk", Execution::new().memory(16 << 20));
    assert!(temporary > 0 && in_memory == on_disk);
}

#[test]
fn a_store_of_another_width_is_not_opened() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    Packer::new().width::<u128>().pack(&path, [7u128]).unwrap();
    let error = Store::open(&path).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    let text = error.to_string();
    assert!(text.contains("128") && text.contains("64") && text.contains("store"), "{text}");
    assert!(matches!(error, Error::Width { found: 128, expected: 64, .. }));
}

#[test]
fn what_a_width_cannot_have_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let wide = || Packer::new().width::<[u64; 4]>();
    let design = fpstore::Design::named("quarters").unwrap();
    for packer in [
        wide().with_layout(|it| it.design(design)),
        wide().with_layout(|it| it.block_bytes(512)),
        wide().with_layout(|it| it.k(257)),
        wide().with_layout(|it| it.parts(43)),
    ] {
        let error = packer.pack(&path, [[1; 4]]).unwrap_err();
        assert!(matches!(error, Error::InvalidOption { .. }), "{error}");
    }
    assert!(!path.exists());
}
