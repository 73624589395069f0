//! The nearest ones against brute force, where they are far and many are as far.

use std::collections::BTreeSet;
use std::time::{Duration, UNIX_EPOCH};

use fpstore::{Fingerprint, Layout, OpenOptions, Packer, Store, StoreOptions, WriterOptions};

use crate::widths::{Random, matches, pairs};

/// Seconds of a window.
const WINDOW: u64 = 3600;

/// A store of several segments and a tail, some of it deleted, and windows of it.
fn check<F: Fingerprint>(seed: u64, parts: Option<u16>) {
    let directory = tempfile::tempdir().unwrap();
    let options = WriterOptions::new().background(false);
    let mut options =
        StoreOptions::new().width::<F>().ids(None).layout(Layout::new().k(12)).writer(options);
    if let Some(parts) = parts {
        options = options.with_layout(|it| it.parts(parts));
    }
    let options = options.window(Some(Duration::from_secs(WINDOW)));
    let writer = options.create(directory.path().join("store")).unwrap();
    let time = |window: u64| UNIX_EPOCH + Duration::from_secs(window * WINDOW);
    let mut random = Random(seed);
    let mut windows: Vec<BTreeSet<F>> = Vec::new();
    let query: F = random.fingerprint();
    for window in 0..4 {
        // Uniform ones, and some at every distance, so that there are ties everywhere.
        let mut set: BTreeSet<F> = (0..3000).map(|_| random.fingerprint()).collect();
        set.extend((0..300).map(|at| random.near(query, at % u64::from(F::BITS / 2))));
        set.iter().for_each(|&one| writer.insert_at(one, (), time(window)).unwrap());
        // The last one stays in the tail.
        if window < 3 {
            writer.flush().unwrap();
        }
        windows.push(set);
    }
    let all: BTreeSet<F> = windows.iter().flatten().copied().collect();
    let gone: Vec<F> = matches(&all, query, F::BITS).iter().step_by(3).map(|one| one.1).collect();
    for &one in &gone {
        writer.delete_fingerprint(one).unwrap();
        windows.iter_mut().for_each(|set| {
            set.remove(&one);
        });
    }
    let opposite = query.to_be_bytes();
    let opposite: Vec<u8> = opposite.as_ref().iter().map(|byte| !byte).collect();
    let mut bytes = F::Bytes::default();
    bytes.as_mut().copy_from_slice(&opposite);
    let queries = [query, gone[0], F::from_be_bytes(bytes), random.fingerprint()];
    for is_merged in [false, true] {
        if is_merged {
            writer.merge_all().unwrap();
        }
        for (first, last) in [(0, 3), (1, 2), (3, 3)] {
            let set: BTreeSet<F> = windows[first..=last].iter().flatten().copied().collect();
            let (from, to) = (time(first as u64), time(last as u64 + 1));
            let snapshot = writer.snapshot().between(from..to).unwrap();
            for query in queries {
                let expected = matches(&set, query, F::BITS);
                for count in [1, 7, 10, 500, 4000, 100_000] {
                    let expected = &expected[..count.min(expected.len())];
                    let found = snapshot.nearest(query, count, F::BITS).unwrap();
                    assert_eq!(pairs(&found), expected, "{count} of {first}..={last}");
                    let k = expected.last().map_or(0, |last| last.0).saturating_sub(1);
                    let nearer = expected.iter().take_while(|one| one.0 <= k).count();
                    let found = snapshot.nearest(query, count, k).unwrap();
                    assert_eq!(pairs(&found), expected[..nearer], "{count} within {k}");
                }
            }
        }
    }
}

#[test]
fn the_nearest_are_exact_however_far_they_are() {
    check::<u64>(1, None);
    check::<u64>(2, Some(4));
    check::<u128>(3, Some(8));
    check::<[u64; 4]>(4, Some(12));
    check::<[u64; 4]>(5, None);
}

#[test]
fn what_is_far_takes_one_scan_of_tables_whose_radius_narrows() {
    let directory = tempfile::tempdir().unwrap();
    let mut random = Random(6);
    let set: BTreeSet<u64> = (0..200_000).map(|_| random.fingerprint()).collect();
    for (design, is_hot) in [("single", false), ("single", true), ("quarters", true)] {
        let path = directory.path().join(design);
        let packer =
            Packer::new().layout(Layout::new().design(design.parse().unwrap())).replace(true);
        packer.pack(&path, set.iter().copied()).unwrap();
        let options = OpenOptions::new().memory(if is_hot { u64::MAX } else { 0 });
        let store: Store = options.open(&path).unwrap();
        let mut searcher = store.snapshot().searcher();
        if is_hot {
            // These build the hot index.
            (0..100_000).for_each(|_| assert!(searcher.search(random.fingerprint(), 3).is_ok()));
        }
        for _ in 0..4 {
            let query: u64 = random.fingerprint();
            let found = searcher.nearest(query, 10, 64).unwrap();
            assert_eq!(pairs(&found), matches(&set, query, 64)[..10]);
            let work = searcher.work();
            assert_eq!((work.full_scans, work.blocks_scanned == 0), (1, is_hot), "{work:?}");
            assert!(!is_hot || work.keys_compared >= set.len() as u64, "{work:?}");
        }
        // Near ones need none.
        let stored = *set.iter().nth(1234).unwrap();
        assert_eq!(searcher.nearest(stored, 1, 64).unwrap()[0].fingerprint, stored);
        assert_eq!(searcher.work().full_scans, 0);
    }
}
