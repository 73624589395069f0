//! Searches by prefix filters, in stores of every kind that can have some.

use std::collections::BTreeSet;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use fpstore::query::BatchPlan;
use fpstore::stats::AccessPath;
use fpstore::{
    Durability, ErrorKind, Layout, Match, OpenOptions, Packer, Searcher, Store, StoreOptions,
};

use crate::forge::writer::{SegmentSpec, StoreSpec, TableSpec, write_store};
use crate::sets::{Random, brute_force, sorted, uniform_and_near};

/// Uniform fingerprints, and some near the first ones.
fn set(count: usize) -> Vec<u64> {
    uniform_and_near(count, 15, 20, 5)
}

fn packer(design: &str) -> Packer {
    Packer::new().layout(Layout::new().design(design.parse().unwrap()).block_bytes(512))
}

/// A searcher that goes by filters, or by tables alone.
fn searcher(store: &Store, path: AccessPath) -> Searcher {
    let mut searcher = store.searcher();
    searcher.force(Some(path));
    searcher
}

/// The paths of a search in the segments of a store.
fn paths(searcher: &mut Searcher, query: u64) -> Vec<AccessPath> {
    searcher.explain(query, 3).unwrap().iter().map(|segment| segment.path).collect()
}

#[test]
fn searches_by_filters_are_exact_and_look_into_fewer_blocks() {
    let temporary = tempfile::tempdir().unwrap();
    let set = set(60_000);
    for (design, short, least) in [
        ("single", false, 3.0),
        ("halves", false, 3.0),
        ("32,24", true, 1.5),
        ("2of5", true, 1.0),
        ("quarters", false, 1.0),
    ] {
        let path = temporary.path().join(design);
        packer(design)
            .with_layout(|it| it.short_tables(short))
            .pack(&path, set.iter().copied())
            .unwrap();
        let store = Store::open(&path).unwrap();
        let mut by_blocks = searcher(&store, AccessPath::Tables);
        let before = store.heap_bytes();
        let mut by_filters = searcher(&store, AccessPath::Filters);
        let tables = store.stats().unwrap().segments[0].tables.len() as u64;
        let of_key = (store.heap_bytes() - before) as f64 / (tables * set.len() as u64) as f64;
        assert!((1.25..1.5).contains(&of_key), "{of_key}");
        let mut random = Random(6);
        let mut blocks = [0; 2];
        for i in 0..400u32 {
            let k = [3, 3, 3, 0, 1, 5, 7, 64][i as usize % 8];
            let stored = set[random.next() as usize % set.len()];
            let query = if i % 5 == 0 { random.next() } else { random.flip(stored, i % 7) };
            let expected = brute_force(&set, query, k);
            assert_eq!(by_filters.search(query, k).unwrap(), expected, "{design} {i}");
            assert_eq!(by_filters.any_within(query, k).unwrap(), !expected.is_empty());
            by_filters.search(query, k).unwrap();
            by_blocks.search(query, k).unwrap();
            let [plain, filtered] = [by_blocks.work(), by_filters.work()];
            assert_eq!(plain.full_scans, filtered.full_scans, "{design} {i}");
            // A lead into a short table is followed only where that has the key.
            assert!(filtered.blocks_scanned <= plain.blocks_scanned, "{design} {i}");
            if k == 3 {
                blocks[0] += plain.blocks_scanned;
                blocks[1] += filtered.blocks_scanned;
            }
            let nearest = by_filters.nearest(query, 3, k).unwrap();
            assert_eq!(nearest, expected[..expected.len().min(3)], "{design} {i}");
        }
        let [by_blocks, by_filters] = blocks.map(|blocks| blocks as f64);
        assert!(by_blocks > least * by_filters, "{design}: {by_blocks} {by_filters}");
    }
}

#[test]
fn in_sets_far_from_uniform_they_ask_for_no_more_blocks_than_routers() {
    let temporary = tempfile::tempdir().unwrap();
    let mut random = Random(2);
    let set: Vec<u64> = (0..1 << 16).map(|_| random.next() & 0x0000_FFFF_0000_FFFF).collect();
    let set = sorted(&set);
    for (design, k) in [("3of6", 3), ("4x4", 2), ("4x4", 4), ("2of5", 3), ("halves", 5)] {
        let path = temporary.path().join(format!("{design}-{k}"));
        packer(design).pack(&path, set.iter().copied()).unwrap();
        let store = Store::open(&path).unwrap();
        let mut by_blocks = searcher(&store, AccessPath::Tables);
        let mut by_filters = searcher(&store, AccessPath::Filters);
        for i in 0..20 {
            let query = random.flip(set[i * 3000], i as u32 % 5);
            assert_eq!(by_filters.search(query, k).unwrap(), brute_force(&set, query, k));
            by_blocks.search(query, k).unwrap();
            let (plain, filtered) = (by_blocks.work(), by_filters.work());
            assert!(filtered.blocks_scanned <= plain.blocks_scanned, "{design} {k} {i}");
        }
    }
}

/// Writes a forged store of fingerprints of 32 bits with right checksums.
fn forge(path: &Path, fingerprints: Vec<u64>, keys: Vec<u64>, block: (usize, usize)) {
    let (block_bytes, block_keys) = block;
    let table = TableSpec {
        bits: 32,
        cut: 0,
        codec: 1,
        low_bits: 24,
        block_bytes,
        ranges: vec![(0, 32)],
        block_keys,
        lengths: vec![],
        keys: Some(keys),
    };
    let tables = vec![table];
    let segment = SegmentSpec { number: 1, fingerprints, tables, wide: None, ids: None };
    let files = write_store(&StoreSpec {
        bits: 32,
        segments: vec![segment],
        next_segment: 2,
        generation: 1,
    });
    fs::create_dir(path).unwrap();
    files.iter().for_each(|(name, bytes)| fs::write(path.join(name), bytes).unwrap());
}

#[test]
fn tables_with_other_keys_than_they_state_have_none() {
    let temporary = tempfile::tempdir().unwrap();
    // Of a store that has none, forced searches go by tables.
    let open = |path: &Path| {
        let store = OpenOptions::new().width::<u32>().memory(0).open(path).unwrap();
        let before = store.heap_bytes();
        store.searcher().force(Some(AccessPath::Filters));
        assert_eq!(store.heap_bytes(), before);
        assert!(store.verify().is_err());
        store
    };
    // Two keys descend inside the column.
    let path = temporary.path().join("descending");
    let mut keys: Vec<u64> = vec![0x0080_0000 | 1 << 15, 9 << 15];
    keys.extend((1..=62u64).map(|i| ((i / 3) << 24) | ((i % 3 + 1) << 15)));
    keys.extend((0..600u64).map(|i| 0xE000_0000 + (i << 16)));
    let mut ascending = keys.clone();
    ascending.sort_unstable();
    forge(&path, ascending, keys.clone(), (256, 32));
    let store = open(&path);
    assert_eq!(store.search(keys[63] as u32, 0).unwrap().len(), 1);
    // 50,000 keys where 200 are stated.
    let path = temporary.path().join("more");
    let keys: Vec<u64> = (0..50_000u64).map(|i| i << 16).collect();
    forge(&path, keys.iter().copied().step_by(250).collect(), keys, (4096, 500));
    assert!(!open(&path).search(0, 3).unwrap().is_empty());
}

#[test]
fn batches_by_filters_answer_as_others() {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("store");
    let set = set(20_000);
    packer("halves").pack(&path, set.iter().copied()).unwrap();
    let store = OpenOptions::new().memory(0).open(&path).unwrap();
    searcher(&store, AccessPath::Filters);
    let mut random = Random(8);
    let queries: Vec<u64> =
        (0..1000).map(|i| random.flip(set[i * 7 % set.len()], i as u32 % 5)).collect();
    for plan in [BatchPlan::Search, BatchPlan::Sweep] {
        let mut answers = vec![Vec::<Match>::new(); queries.len()];
        let run = store.batch(3).plan(plan).run(&queries, |answer| {
            answers[answer.query].extend_from_slice(answer.matches);
            ControlFlow::Continue(())
        });
        run.unwrap();
        for (query, answer) in queries.iter().zip(answers) {
            assert_eq!(answer, brute_force(&set, *query, 3), "{plan:?}");
        }
    }
}

#[test]
fn living_stores_are_searched_by_filters() {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("store");
    let all = set(12_000);
    let options =
        StoreOptions::new().layout(Layout::new().design("halves".parse().unwrap())).ids(None);
    let writer = options.create(&path).unwrap();
    let store = Store::open(&path).unwrap();
    let (mut held, mut random, mut by_filters) = (BTreeSet::new(), Random(4), 0);
    for (round, part) in all.chunks(3000).enumerate() {
        writer.insert_fingerprints(part).unwrap();
        held.extend(part.iter().copied());
        writer.flush().unwrap();
        if round == 2 {
            writer.merge_all().unwrap();
        }
        let gone: Vec<u64> = held.iter().step_by(9).copied().collect();
        writer.delete_fingerprints(&gone).unwrap();
        writer.commit(Durability::Group).unwrap();
        gone.iter().for_each(|one| assert!(held.remove(one)));
        assert!(store.refresh().unwrap());
        let mut searcher = searcher(&store, AccessPath::Filters);
        let went = paths(&mut searcher, all[0]);
        // Some segments are so small that they are scanned.
        let expected = [AccessPath::Filters, AccessPath::Scan];
        assert!(went.iter().all(|path| expected.contains(path)), "{went:?}");
        by_filters += went.iter().filter(|path| **path == AccessPath::Filters).count();
        let now: Vec<u64> = held.iter().copied().collect();
        for i in 0..200 {
            let query = random.flip(all[i * 57 % all.len()], i as u32 % 5);
            assert_eq!(searcher.search(query, 3).unwrap(), brute_force(&now, query, 3), "{round}");
        }
    }
    assert!(by_filters > 0);
}

#[test]
fn a_segment_with_a_damaged_block_has_none_and_says_so_where_it_is_searched() {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("store");
    let set = set(20_000);
    packer("single").pack(&path, set.iter().copied()).unwrap();
    let files = fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path());
    let table = files.into_iter().find(|path| path.extension() == Some("fpt".as_ref())).unwrap();
    let mut bytes = fs::read(&table).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&table, bytes).unwrap();
    let store = Store::open(&path).unwrap();
    let mut searcher = searcher(&store, AccessPath::Filters);
    let (mut good, mut bad) = (0, 0);
    for &one in &set {
        match searcher.search(one, 0) {
            Ok(found) => good += found.len(),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Corrupt);
                bad += 1;
            }
        }
    }
    assert!(good > set.len() / 2 && bad > 0);
    let query = set[0];
    assert_eq!(paths(&mut searcher, query), [AccessPath::Tables]);
}

#[test]
fn what_needs_no_filters_has_none() {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("store");
    packer("halves").pack(&path, set(5000)).unwrap();
    let store = OpenOptions::new().in_memory(true).open(&path).unwrap();
    assert_eq!(paths(&mut searcher(&store, AccessPath::Filters), 5), [AccessPath::Tables]);
    let path = temporary.path().join("wide");
    Packer::new().width::<u128>().pack(&path, (0..5000).map(|i| 1 << 100 | i)).unwrap();
    let store = OpenOptions::new().width::<u128>().open(&path).unwrap();
    let mut searcher_of_base = store.searcher();
    searcher_of_base.force(Some(AccessPath::Filters));
    assert_eq!(searcher_of_base.search(1 << 100, 0).unwrap().len(), 1);
    let path = temporary.path().join("empty");
    packer("halves").pack(&path, [0u64; 0]).unwrap();
    let store = Store::open(&path).unwrap();
    assert_eq!(searcher(&store, AccessPath::Filters).search(5, 3).unwrap(), []);
}
