//! Short tables where searches go by runs, and what else reads, writes and mends a store that has
//! some.

use std::ops::ControlFlow;

use fpstore::query::BatchPlan;
use fpstore::{Design, ErrorKind, Layout, Match, OpenOptions, Packer, Store, StoreOptions};

use crate::sets::{Random, brute_force, sorted, uniform_and_near};

/// Uniform fingerprints, and some near the first ones.
fn set(count: usize) -> Vec<u64> {
    uniform_and_near(count, 5, 100, 4)
}

fn packer(design: &str) -> Packer {
    let packer = Packer::new()
        .layout(Layout::new().design(design.parse::<Design>().unwrap()).block_bytes(512));
    packer.with_layout(|it| it.short_tables(true))
}

/// Bits of the keys of each table.
fn key_bits(store: &Store) -> Vec<u32> {
    let stats = store.stats().unwrap();
    stats.segments[0].tables.iter().map(|table| table.key_bits).collect()
}

#[test]
fn keys_have_the_bits_that_searches_need() {
    let temporary = tempfile::tempdir().unwrap();
    for (count, design, expected) in [
        (40_000, "quarters", [64, 32, 32, 32]),
        (300_000, "quarters", [64, 40, 40, 40]),
        (40_000, "32,8,12,12", [64, 32, 40, 40]),
        (40_000, "16,16,16,10", [64, 32, 32, 40]),
    ] {
        let path = temporary.path().join(format!("{count}-{design}"));
        packer(design).pack(&path, set(count)).unwrap();
        assert_eq!(key_bits(&Store::open(&path).unwrap()), expected, "{count} {design}");
    }
    let path = temporary.path().join("narrow");
    let narrow = Packer::new().width::<u32>().layout(Layout::new().short_tables(true));
    narrow
        .with_layout(|it| it.design(Design::read(32, "quarters").unwrap()))
        .pack(&path, 0..1000u32)
        .unwrap();
    let store = OpenOptions::new().width::<u32>().open(&path).unwrap();
    let stats = store.stats().unwrap();
    assert!(stats.segments[0].tables.iter().all(|table| table.key_bits == 32));
}

#[test]
fn searches_by_descents_and_in_hot_indexes_are_exact() {
    let temporary = tempfile::tempdir().unwrap();
    let set = set(200_000);
    let designs = ["quarters", "2of5", "32,16", "2of3+1of2", "halves"].map(|name| (name, 0));
    for (design, memory) in designs.into_iter().chain([("quarters", 24 << 20)]) {
        let path = temporary.path().join(format!("{design}-{memory}"));
        packer(design).pack(&path, set.iter().copied()).unwrap();
        let store = OpenOptions::new().memory(memory).open(&path).unwrap();
        let mut searcher = store.searcher();
        let mut random = Random(6);
        for i in 0..3000u32 {
            let k = if i % 8 == 0 { 5 } else { 3 };
            let stored = set[random.next() as usize % set.len()];
            let query = random.flip(stored, i % 6);
            let found = searcher.search(query, k).unwrap();
            // The first go by blocks, those at the end by the hot index where there is one.
            if !(100..=2800).contains(&i) {
                assert_eq!(found, brute_force(&set, query, k), "{design} {i}");
            }
        }
    }
}

#[test]
fn a_store_is_smaller_and_answers_as_one_with_whole_tables() {
    let temporary = tempfile::tempdir().unwrap();
    let set = set(30_000);
    let (short, whole) = (temporary.path().join("short"), temporary.path().join("whole"));
    let pairs =
        |set: &[u64]| set.iter().zip(0u64..).map(|(&one, id)| (one, id)).collect::<Vec<_>>();
    packer("quarters").pack_with_ids(&short, pairs(&set)).unwrap();
    packer("quarters")
        .with_layout(|it| it.short_tables(false))
        .pack_with_ids(&whole, pairs(&set))
        .unwrap();
    let (short, whole) = (Store::open(&short).unwrap(), Store::open(&whole).unwrap());
    assert_eq!(short.verify().unwrap().fingerprints, set.len() as u64);
    let bytes = |store: &Store| {
        let stats = store.stats().unwrap();
        stats.segments[0].tables.iter().map(|table| table.file_bytes).sum::<u64>()
    };
    assert!(bytes(&short) < bytes(&whole) * 3 / 4);
    let mut random = Random(9);
    let queries: Vec<u64> =
        (0..2000).map(|i| random.flip(set[i * 7 % set.len()], i as u32 % 5)).collect();
    for (k, plan) in [
        (0, BatchPlan::Search),
        (3, BatchPlan::Search),
        (3, BatchPlan::Sweep),
        (7, BatchPlan::Sweep),
        (12, BatchPlan::Search),
    ] {
        let answers = |store: &Store, plan| {
            let mut answers = vec![Vec::<Match>::new(); queries.len()];
            let summary = store.batch(k).plan(plan).run(&queries, |answer| {
                answers[answer.query].extend_from_slice(answer.matches);
                ControlFlow::Continue(())
            });
            assert_eq!(summary.unwrap().plan, Some(plan));
            answers
        };
        assert_eq!(answers(&short, plan), answers(&whole, BatchPlan::Search), "{k} {plan:?}");
    }
    let pairs = |store: &Store| {
        let pairs = store.self_join(3).pairs().unwrap().map(|pair| pair.map(|of| (of.a, of.b)));
        let mut pairs = pairs.collect::<Result<Vec<_>, _>>().unwrap();
        pairs.sort_unstable();
        pairs
    };
    assert_eq!(pairs(&short), pairs(&whole));
    let ids =
        |store: &Store| store.ids::<u64>(set[77]).unwrap().collect::<Result<Vec<_>, _>>().unwrap();
    assert_eq!(ids(&short), ids(&whole));
}

#[test]
fn a_pack_chooses_them_where_that_is_planned_and_tells_what_they_take() {
    let estimate = Packer::<u64>::new().estimate(1 << 24).unwrap();
    assert_eq!((estimate.design, estimate.short_tables), (Some("32,24".parse().unwrap()), true));
    assert!(estimate.store_bytes < 19 << 23);
    let chosen = |packer: Packer| {
        let estimate = packer.estimate(1 << 24).unwrap();
        (estimate.design.unwrap().to_string(), estimate.short_tables)
    };
    let whole = Packer::new().layout(Layout::new().design("halves".parse().unwrap()));
    assert_eq!(chosen(whole), ("halves".to_string(), false));
    assert_eq!(
        chosen(Packer::new().layout(Layout::new().low_bits(Some(32)))),
        ("halves".to_string(), false)
    );
    // Asked for short tables, there are some.
    let (design, short) = chosen(Packer::new().layout(Layout::new().short_tables(true)));
    assert!(short && design != "single", "{design}");
    // The estimate is that of what is packed.
    let temporary = tempfile::tempdir().unwrap();
    let set = set(300_000);
    for (design, low_bits) in [("32,16", Some(16)), ("32,24", None), ("quarters", None)] {
        let packer = packer(design).with_layout(|it| it.low_bits(low_bits));
        let estimate = packer.estimate(set.len() as u64).unwrap();
        let summary = packer.pack(temporary.path().join(design), set.iter().copied()).unwrap();
        let error = estimate.store_bytes as f64 / summary.bytes as f64 - 1.0;
        assert!(error.abs() < 0.01, "{design}: {error}");
    }
}

#[test]
fn of_sets_far_from_uniform_short_tables_take_no_more_than_whole_ones() {
    let temporary = tempfile::tempdir().unwrap();
    let consecutive: Vec<u64> = (0..100_000).collect();
    let mut random = Random(7);
    let below: Vec<u64> = sorted(&(0..100_000).map(|_| random.next() >> 32).collect::<Vec<_>>());
    for (name, set) in [("consecutive", consecutive), ("below 2^32", below)] {
        let bytes = |short| {
            let path = temporary.path().join(format!("{name}-{short}"));
            let packed = packer("quarters")
                .with_layout(|it| it.short_tables(short))
                .pack(&path, set.iter().copied());
            let store = Store::open(&path).unwrap();
            store.verify().unwrap();
            let found = store.search(set[5] ^ 3, 3).unwrap();
            assert_eq!(found, brute_force(&set, set[5] ^ 3, 3));
            packed.unwrap().bytes
        };
        let (short, whole) = (bytes(true), bytes(false));
        println!("{name}: {short} {whole}");
        assert!(short <= whole, "{name}: {short} {whole}");
    }
}

#[test]
fn what_cannot_be_short_is_refused() {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("store");
    let single = packer("single").pack(&path, [1u64, 2]);
    assert_eq!(single.unwrap_err().kind(), ErrorKind::InvalidInput);
    let parts =
        Packer::new().layout(Layout::new().parts(3).short_tables(true)).pack(&path, [1u64, 2]);
    assert_eq!(parts.unwrap_err().kind(), ErrorKind::InvalidInput);
    let wide =
        Packer::new().width::<u128>().layout(Layout::new().short_tables(true)).pack(&path, [1u128]);
    assert_eq!(wide.unwrap_err().kind(), ErrorKind::InvalidInput);
    assert!(!path.exists());
}

#[test]
fn merged_segments_have_short_tables_again() {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("store");
    let set = set(20_000);
    let options = StoreOptions::new()
        .layout(Layout::new().design("quarters".parse().unwrap()).short_tables(true));
    let writer = options.ids(None).create(&path).unwrap();
    for part in set.chunks(7000) {
        writer.insert_fingerprints(part).unwrap();
        writer.flush().unwrap();
    }
    writer.delete_fingerprints(&set[..500]).unwrap();
    writer.merge_all().unwrap();
    writer.close().unwrap();
    let store = Store::open(&path).unwrap();
    assert_eq!(store.stats().unwrap().segments.len(), 1);
    assert_eq!(key_bits(&store), [64, 32, 32, 32]);
    store.verify().unwrap();
    let mut random = Random(1);
    let mut searcher = store.searcher();
    for i in 0..300 {
        let query = random.flip(set[i * 66], i as u32 % 5);
        assert_eq!(searcher.search(query, 3).unwrap(), brute_force(&set[500..], query, 3));
    }
}
