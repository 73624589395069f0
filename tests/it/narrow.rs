//! Tables of 32 bits: every design, codec, block size, column width and radius against brute force
//! and the plain decoder, and stores that are damaged.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use fpstore::query::{BatchPlan, BatchSummary};
use fpstore::stats::{AccessPath, BitRange};
use fpstore::{
    Batch, Codec, Design, Error, Execution, Layout, Match, OpenOptions, Packer, Store,
    StoreOptions, WriterOptions,
};
use proptest::prelude::*;

use crate::damage::overwrite;
use crate::oracle;
use crate::sets::Random;

const PLANS: [BatchPlan; 2] = [BatchPlan::Search, BatchPlan::Sweep];

fn designs() -> impl Strategy<Value = Design> {
    let top = |start: u8, bits: u8| BitRange { start, bits };
    let overlapping = vec![vec![top(0, 9)], vec![top(20, 12), top(3, 5)], vec![top(31, 1)]];
    let overlapping = Design::from_tops_for(32, overlapping).unwrap();
    let widths = prop::collection::vec(1u32..=12, 1..=5);
    prop_oneof![
        6 => prop::sample::select(Design::NAMES)
            .prop_map(|name| Design::named_for(32, name).unwrap()),
        2 => widths.prop_filter_map("over 32 bits", |widths| {
            Design::from_widths_for(32, &widths).ok()
        }),
        1 => Just(overlapping),
    ]
}

/// Sets of every density, from scattered ones to whole ranges, and the ends.
fn sets() -> impl Strategy<Value = Vec<u32>> {
    (0..7, any::<u64>(), 0usize..3000).prop_map(|(kind, seed, count)| {
        let mut random = Random(seed);
        let start = random.next() as u32;
        let mut next = || random.next() as u32;
        match kind {
            0 => (0..count).map(|_| next()).collect(),
            1 => (0..count as u32).map(|i| start.wrapping_add(i)).collect(),
            // Half of all in a range.
            2 => (0..count).map(|_| start.wrapping_add(next() % (2 * count as u32))).collect(),
            // Of one upper half, or one lower.
            3 => (0..count).map(|_| start >> 16 << 16 | next() >> 16).collect(),
            4 => (0..count).map(|_| start >> 16 | next() >> 16 << 16).collect(),
            5 => vec![start; count],
            _ => vec![0, u32::MAX],
        }
    })
}

fn near(set: &BTreeSet<u32>, query: u32, k: u32) -> Vec<(u32, u32)> {
    let distances = set.iter().map(|&one| ((one ^ query).count_ones(), one));
    let mut near: Vec<_> = distances.filter(|&(distance, _)| distance <= k).collect();
    near.sort_unstable();
    near
}

fn pairs(found: &[Match<u32>]) -> Vec<(u32, u32)> {
    found.iter().map(|found| (found.distance, found.fingerprint)).collect()
}

/// The matches of each query.
fn batch(batch: Batch<u32>, queries: &[u32]) -> (Vec<Vec<(u32, u32)>>, BatchSummary) {
    let mut answers = vec![Vec::new(); queries.len()];
    let summary = batch.run(queries, |answer| answers[answer.query].extend(pairs(answer.matches)));
    (answers, summary.unwrap())
}

fn open(path: &Path) -> Store<u32> {
    OpenOptions::new().width::<u32>().open(path).unwrap()
}

/// Of the set, near it, and anywhere.
fn query(random: &mut Random, all: &[u32], k: u32) -> u32 {
    if all.is_empty() || random.next().is_multiple_of(4) {
        return random.next() as u32;
    }
    let one = all[random.next() as usize % all.len()];
    let flips = random.next() % u64::from(k.min(31) + 2);
    (0..flips).fold(one, |one, _| one ^ 1 << (random.next() % 32))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn searches_of_32_bits_are_exact(
        set in sets(), seed in any::<u64>(), design in designs(), size in 8u32..=13,
        codec in prop::option::of(prop::sample::select(&Codec::ALL[..])),
        low_bits in prop::option::of(prop::sample::select(vec![0u32, 8, 16, 24])),
        k in prop_oneof![4 => 0u32..8, 1 => 8u32..=33],
    ) {
        let temporary = tempfile::tempdir().unwrap();
        let path = temporary.path().join("store");
        let layout = Layout::new().design(design.clone()).codec(codec).low_bits(low_bits);
        let packer = Packer::new().width::<u32>().layout(layout.block_bytes(1 << size));
        packer.pack(&path, &set).unwrap();
        let set: BTreeSet<u32> = set.into_iter().collect();
        let all: Vec<u32> = set.iter().copied().collect();
        let plain = oracle::read_store(&path).unwrap();
        prop_assert_eq!(plain.segments[0].tables.len(), design.table_count());
        for table in &plain.segments[0].tables {
            prop_assert!(table.fingerprints.iter().copied().eq(all.iter().map(|&one| u64::from(one))));
        }
        let store = OpenOptions::new().width::<u32>().open(&path).unwrap();
        let listed: Vec<u32> = store.iter().collect::<Result<_, _>>().unwrap();
        prop_assert_eq!(&listed, &all);
        prop_assert_eq!(store.verify().unwrap().fingerprints, all.len() as u64);
        let stats = store.stats().unwrap();
        prop_assert_eq!(stats.segments[0].design.as_ref(), Some(&design));
        let mut random = Random(seed);
        let mut searcher = store.searcher();
        let forced = [Some(AccessPath::Tables), Some(AccessPath::Filters), None];
        searcher.force(forced[(seed % 3) as usize]);
        let queries: Vec<u32> = (0..24).map(|_| query(&mut random, &all, k)).collect();
        let expected: Vec<_> = queries.iter().map(|&query| near(&set, query, k)).collect();
        for plan in PLANS {
            let (answers, summary) = batch(store.batch(k).plan(plan), &queries);
            prop_assert_eq!(summary.plan, Some(plan));
            prop_assert_eq!(&answers, &expected, "{:?}", plan);
        }
        for (&query, near) in queries.iter().zip(&expected) {
            prop_assert_eq!(pairs(searcher.search(query, k).unwrap()), &near[..], "{:08x}", query);
            prop_assert_eq!(pairs(searcher.search_by_scan(query, k).unwrap()), &near[..]);
            prop_assert_eq!(searcher.any_within(query, k).unwrap(), !near.is_empty());
            let nearest = searcher.nearest(query, 3, k).unwrap();
            prop_assert_eq!(pairs(&nearest), &near[..near.len().min(3)]);
            prop_assert_eq!(store.contains(query).unwrap(), set.contains(&query));
        }
    }
}

/// 2^16 fingerprints: scattered, all of one upper half, and all of one lower half.
#[test]
fn sets_of_2_to_16_are_searched_exactly_in_every_design() {
    let temporary = tempfile::tempdir().unwrap();
    let mut random = Random(5);
    let scattered: Vec<u32> = (0..1 << 16).map(|_| random.next() as u32).collect();
    let upper: Vec<u32> = (0..1 << 16).map(|i| 0xABCD_0000 | i).collect();
    let lower: Vec<u32> = (0..1 << 16).map(|i| i << 16 | 0x1234).collect();
    for (number, set) in [scattered, upper, lower].into_iter().enumerate() {
        let all: BTreeSet<u32> = set.iter().copied().collect();
        for name in Design::NAMES.iter().copied().chain(["auto"]) {
            let path = temporary.path().join(format!("{name}-{number}"));
            let packer = Packer::new().width::<u32>();
            let packer = match Design::named_for(32, name) {
                Some(design) => packer.with_layout(|it| it.design(design).block_bytes(256)),
                None => packer,
            };
            packer.pack(&path, &set).unwrap();
            let store = open(&path);
            assert!(store.stats().unwrap().segments[0].base.is_none(), "tables are the default");
            let mut searcher = store.searcher();
            for k in [0, 1, 2, 3, 5, 8, 32] {
                for _ in 0..2 {
                    let query = query(&mut random, &set, k);
                    let found = pairs(searcher.search(query, k).unwrap());
                    assert_eq!(found, near(&all, query, k), "{name}, {query:08x}, k = {k}");
                }
            }
        }
    }
}

#[test]
fn many_queries_of_32_bits_are_not_searched_one_by_one() {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("store");
    let mut random = Random(8);
    let set: BTreeSet<u32> = (0..200_000).map(|_| random.next() as u32).collect();
    let all: Vec<u32> = set.iter().copied().collect();
    Packer::new().width::<u32>().pack(&path, &all).unwrap();
    // In a hot index they may be.
    let store = OpenOptions::new().width::<u32>().memory(0).open(&path).unwrap();
    let queries: Vec<u32> = (0..100_000).map(|_| query(&mut random, &all, 2)).collect();
    let searched = batch(store.batch(2).plan(BatchPlan::Search), &queries).0;
    assert_eq!(searched[7], near(&set, queries[7], 2));
    for plan in [BatchPlan::Search, BatchPlan::Sweep] {
        let (found, summary) = batch(store.batch(2).plan(plan), &queries);
        assert!(found == searched && summary.plan == Some(plan), "{summary:?}");
    }
    let (found, summary) = batch(store.batch(2), &queries);
    assert!(found == searched && summary.plan != Some(BatchPlan::Search), "{summary:?}");
    // What does not fit into memory comes in pieces. Of a query alone it is refused, or limited.
    let execution = Execution::new().memory(16 << 20);
    for plan in PLANS {
        let small = store.batch(2).plan(plan).execution(execution.clone());
        let (found, summary) = batch(small.clone(), &queries);
        assert!(found == searched && summary.pieces > 1, "{summary:?}");
        assert!(batch(small.ordered(false), &queries).0 == searched, "{plan:?}");
        let some = &queries[..2];
        let everything = store.batch(32).plan(plan).execution(execution.clone());
        let refused = everything.run(some, |_| ());
        assert!(matches!(refused, Err(Error::TooManyMatches { .. })), "{refused:?}");
        let mut answered = 0;
        let limited = everything.limit(1000).run(some, |answer| {
            let expected = near(&set, some[answer.query], 32);
            assert_eq!(answer.count as usize, expected.len());
            assert_eq!(pairs(answer.matches), expected[..1000]);
            answered += 1;
        });
        assert_eq!((limited.unwrap().queries, answered), (2, 2));
    }
}

#[test]
fn the_files_of_tables_of_32_bits_do_not_depend_on_the_memory() {
    let mut random = Random(6);
    let list: Vec<u32> =
        (0..400_000).map(|_| random.next() as u32 >> (random.next() % 4)).collect();
    let directory = tempfile::tempdir().unwrap();
    let files = |name: &str, execution: Execution| {
        let path = directory.path().join(name);
        let packer = Packer::new().width::<u32>().execution(execution);
        let summary = packer.pack(&path, &list).unwrap();
        assert!(summary.design().is_some());
        let mut files: Vec<_> = fs::read_dir(&path).unwrap().map(Result::unwrap).collect();
        files.sort_by_key(|file| file.file_name());
        let bytes = files.iter().map(|file| (file.file_name(), fs::read(file.path()).unwrap()));
        (summary.temporary_bytes, bytes.collect::<Vec<_>>())
    };
    let (temporary, in_memory) = files("memory", Execution::new());
    assert_eq!(temporary, 0);
    let (temporary, on_disk) = files("disk", Execution::new().memory(16 << 20));
    assert!(temporary > 0 && in_memory == on_disk);
}

#[test]
fn a_design_of_another_width_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let of_64 = Design::named("halves").unwrap();
    let of_32 = Design::named_for(32, "halves").unwrap();
    assert_eq!((of_32.bits(), of_32.to_string().as_str()), (32, "halves"));
    assert_ne!(of_64, of_32);
    let error = Packer::new()
        .width::<u32>()
        .layout(Layout::new().design(of_64))
        .pack(&path, [7u32])
        .unwrap_err();
    assert!(error.to_string().contains("halves, for 64 bits"), "{error}");
    let error = Packer::new().layout(Layout::new().design(of_32)).pack(&path, [7u64]).unwrap_err();
    assert!(error.to_string().contains("halves, for 32 bits"), "{error}");
    assert!(!path.exists());
    assert!(Design::named_for(128, "halves").is_none() && Design::read(32, "17,16").is_err());
}

/// Windows that are written, merged, deleted from and expire, all in tables.
#[test]
fn windows_of_tables_of_32_bits_are_searched_joined_and_expire() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let options = || WriterOptions::new().background(false).tail_records(64);
    let day = Duration::from_secs(86_400);
    let time = |window: u64| UNIX_EPOCH + day * window as u32;
    let store = StoreOptions::new().width::<u32>().ids(None).window(Some(day)).writer(options());
    let mut writer = store.create(&path).unwrap();
    let mut random = Random(14);
    let common: Vec<u32> = (0..200).map(|_| random.next() as u32).collect();
    let mut windows: Vec<BTreeSet<u32>> = vec![BTreeSet::new(); 5];
    for round in 0..10 {
        let window = round % 5;
        let set: Vec<u32> = (0..150).map(|_| query(&mut random, &common, 4)).collect();
        set.iter().for_each(|&one| writer.insert_at(one, (), time(window as u64)).unwrap());
        windows[window].extend(set);
        if round % 3 == 0 {
            let gone = *windows[window].iter().nth(11).unwrap();
            writer.delete_fingerprint(gone).unwrap();
            windows.iter_mut().for_each(|set| {
                set.remove(&gone);
            });
        }
        match round % 4 {
            0 => writer.flush().unwrap(),
            1 => writer.merge_all().unwrap(),
            2 => {
                writer.close().unwrap();
                writer = options().width::<u32>().open(&path).unwrap();
            }
            _ => {}
        }
    }
    let check = |windows: &[BTreeSet<u32>]| {
        let queries: Vec<u32> = common.iter().step_by(9).copied().collect();
        for (first, last) in [(0, 0), (1, 3), (2, 4), (0, 4)] {
            let span = time(first as u64)..time(last as u64 + 1);
            let snapshot = open(&path).snapshot().between(span).unwrap();
            let set: BTreeSet<u32> = windows[first..=last].iter().flatten().copied().collect();
            let expected: Vec<_> = queries.iter().map(|&query| near(&set, query, 3)).collect();
            for plan in PLANS {
                assert_eq!(batch(snapshot.batch(3).plan(plan), &queries).0, expected);
            }
            let all: Vec<u32> = set.iter().copied().collect();
            let pairs_of =
                |&one: &u32| near(&set, one, 2).into_iter().filter(move |pair| one < pair.1);
            let pairs: usize = all.iter().map(|one| pairs_of(one).count()).sum();
            assert_eq!(snapshot.self_join(2).pairs().unwrap().count(), pairs);
            assert_eq!(snapshot.iter().collect::<Result<Vec<_>, _>>().unwrap(), all);
        }
    };
    writer.flush().unwrap();
    check(&windows);
    let segments = open(&path).stats().unwrap().segments;
    assert!(segments.len() >= 5 && segments.iter().all(|segment| segment.base.is_none()));
    writer.expire(time(2)).unwrap();
    windows[..2].iter_mut().for_each(BTreeSet::clear);
    check(&windows);
    open(&path).verify().unwrap();
}

/// Every byte flipped: a right answer, or an error about the file.
#[test]
fn every_flipped_byte_of_tables_of_32_bits_is_answered_rightly_or_refused() {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("store");
    let mut random = Random(12);
    let set: BTreeSet<u32> = (0..90).map(|_| random.next() as u32).collect();
    let all: Vec<u32> = set.iter().copied().collect();
    let design = Design::named_for(32, "halves").unwrap();
    let packer = Packer::new()
        .width::<u32>()
        .layout(Layout::new().design(design).block_bytes(256).low_bits(Some(8)));
    packer.pack(&path, &all).unwrap();
    let queries: Vec<u32> = (0..10).map(|_| query(&mut random, &all, 3)).collect();
    let typed = |error: Error| {
        let (Error::Corrupt { .. } | Error::Unsupported { .. } | Error::NotAStore { .. }) = error
        else {
            panic!("{error}");
        };
    };
    let (mut at_open, mut later) = (0, 0);
    let files = fs::read_dir(&path).unwrap().map(|file| file.unwrap().path());
    // What is in `lock` means nothing.
    for file in files.filter(|file| !file.ends_with("lock")) {
        let good = fs::read(&file).unwrap();
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= if at % 2 == 0 { 1 << (at / 2 % 8) } else { 0xFF };
            overwrite(&file, &bad);
            let opened = OpenOptions::new().in_memory(true).width::<u32>().open(&path);
            let store = match opened {
                Ok(store) => store,
                Err(error) => {
                    typed(error);
                    at_open += 1;
                    continue;
                }
            };
            for &query in &queries {
                match store.search(query, 3) {
                    Ok(found) => assert_eq!(pairs(&found), near(&set, query, 3), "byte {at}"),
                    Err(error) => typed(error),
                }
            }
            match store.iter().collect::<Result<Vec<_>, _>>() {
                Ok(listed) => assert_eq!(listed, all),
                Err(error) => typed(error),
            }
            typed(store.verify().expect_err("verify looks at every byte"));
            later += 1;
        }
        overwrite(&file, &good);
    }
    assert!(at_open > 300 && later > 2000, "{at_open} at open, {later} later");
    open(&path).verify().unwrap();
}
