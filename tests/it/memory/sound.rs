//! Sets of shapes that take much memory where it is not looked after.

use std::ops::ControlFlow;
use std::path::Path;

use fpstore::query::{BatchPlan, JoinEvent};
use fpstore::{Design, Error, Execution, Layout, Packer, Store};
use libtest_mimic::Trial;

use crate::sets::{Random, brute_force};
use crate::{LIMIT, MIB, THREADS, allowed, trial, within};

/// A set, and how it is packed.
struct Shape {
    name: &'static str,
    set: fn() -> Vec<u64>,
    design: &'static str,
    block_bytes: u32,
    low_bits: u32,
}

fn uniform(count: usize) -> Vec<u64> {
    let mut random = Random(1);
    let mut set: Vec<u64> = (0..count).map(|_| random.next()).collect();
    set.sort_unstable();
    set
}

/// Half a million keys in a block.
fn integers() -> Vec<u64> {
    (0..2_500_000).collect()
}

/// All begin with the same 16 bits, the top of a table.
fn one_prefix() -> Vec<u64> {
    let mut set: Vec<u64> = uniform(2_200_000).iter().map(|fp| fp >> 16 | 0xABCD << 48).collect();
    set.dedup();
    set
}

const SHAPES: [Shape; 4] = [
    Shape { name: "integers", set: integers, design: "quarters", block_bytes: 8192, low_bits: 0 },
    Shape {
        name: "one prefix",
        set: one_prefix,
        design: "quarters",
        block_bytes: 512,
        low_bits: 0,
    },
    Shape {
        name: "large blocks",
        set: || uniform(400_000),
        design: "halves",
        block_bytes: 8192,
        low_bits: 32,
    },
    Shape {
        name: "large blocks without a column",
        set: || uniform(400_000),
        design: "quarters",
        block_bytes: 8192,
        low_bits: 0,
    },
];

pub fn trials() -> Vec<Trial> {
    SHAPES
        .into_iter()
        .map(|shape| trial(&format!("memory is kept to for {}", shape.name), move || check(&shape)))
        .collect()
}

/// Joins of wide fingerprints: anywhere, all near one, and with equal values in most parts.
pub fn wide_trials() -> Vec<Trial> {
    let anywhere = |random: &mut Random, _: usize| std::array::from_fn(|_| random.next());
    let near_one = |random: &mut Random, _: usize| {
        let flips = 1 << (random.next() % 64) | 1 << (random.next() % 64);
        [1, 2, 3, 4 ^ flips]
    };
    let few_values = |random: &mut Random, at: usize| [at as u64, 0, 5 << (random.next() % 3), 7];
    type Fill = fn(&mut Random, usize) -> [u64; 4];
    let sets: [(&str, Fill, usize, u32); 3] = [
        ("anywhere", anywhere, 60_000, 8),
        ("near one", near_one, 2000, 3),
        ("alike", few_values, 60_000, 1),
    ];
    let check = |(name, fill, count, k): (&str, Fill, usize, u32)| {
        trial(&format!("memory is kept to for joins of wide fingerprints {name}"), move || {
            let mut random = Random(9);
            let set: Vec<[u64; 4]> = (0..count).map(|at| fill(&mut random, at)).collect();
            check_wide(&set, k);
        })
    };
    sets.into_iter().map(check).collect()
}

fn check_wide(set: &[[u64; 4]], k: u32) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let packer = Packer::new().width::<[u64; 4]>().layout(Layout::new().parts(4));
    let count = packer.pack(&path, set).unwrap().distinct;
    let mut pairs = Vec::new();
    for threads in THREADS {
        let store = fpstore::OpenOptions::new().width::<[u64; 4]>().open(&path).unwrap();
        let execution = || Execution::new().threads(threads).memory(LIMIT);
        let what = format!("self-join, {threads} threads");
        let join = store.self_join(k).execution(execution());
        let summary = within(allowed(threads), &what, || join.run(|_| ()).unwrap());
        assert_eq!(summary.fingerprints, count);
        pairs.push(summary.pairs);
        let what = format!("join of two, {threads} threads");
        let join = store.join(&store, k).execution(execution());
        let summary = within(allowed(threads), &what, || join.run(|_| ()).unwrap());
        assert_eq!(
            summary.pairs,
            2 * pairs[0] + count,
            "each pair both ways, and each with itself"
        );
    }
    assert!(pairs.iter().all(|&some| some == pairs[0]), "{pairs:?}");
}

fn check(shape: &Shape) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let set = (shape.set)();
    let design = Design::named(shape.design).unwrap();
    let packer = Packer::new().layout(Layout::new().design(design).block_bytes(shape.block_bytes));
    packer.with_layout(|it| it.low_bits(Some(shape.low_bits))).pack(&path, &set).unwrap();
    let mut random = Random(2);
    let queries: Vec<u64> = (0..12)
        .map(|i| {
            let stored = set[random.next() as usize % set.len()];
            random.flip(stored, i % 4)
        })
        .collect();
    searches(&path, &set, queries[1]);
    joins(&path, set.len());
    for threads in THREADS {
        batches(&path, &set, &queries, threads);
    }
    clusters(&path, set.len());
}

/// An open store; what it takes is not charged to what is done with it.
fn open(path: &Path) -> Store {
    Store::open(path).unwrap()
}

fn searches(path: &Path, set: &[u64], query: u64) {
    let store = open(path);
    let expected = brute_force(set, query, 3);
    let most = 14 * MIB;
    let found = within(most, "search", || store.search(query, 3).unwrap());
    assert_eq!(found, expected);
    let mut searcher = store.searcher();
    let found = within(most, "scan", || searcher.search_by_scan(query, 3).unwrap().len());
    assert_eq!(found, expected.len());
    let count = within(most, "iteration", || store.iter().count());
    assert_eq!(count, set.len());
}

fn joins(path: &Path, count: usize) {
    let mut pairs = Vec::new();
    for threads in THREADS {
        let store = open(path);
        let join = store.self_join(1).execution(Execution::new().threads(threads).memory(LIMIT));
        let what = format!("self-join, {threads} threads");
        let summary = within(allowed(threads), &what, || join.run(|_| ()).unwrap());
        assert_eq!(summary.fingerprints, count as u64);
        pairs.push(summary.pairs);
        let what = format!("join of two, {threads} threads");
        let join = store.join(&store, 0).execution(Execution::new().threads(threads).memory(LIMIT));
        let summary = within(allowed(threads), &what, || join.run(|_| ()).unwrap());
        assert_eq!(summary.pairs, count as u64);
        // One that is stopped reads nothing more: of two halves of the memory, the first was read.
        let join = store.self_join(1).execution(Execution::new().threads(threads).memory(LIMIT));
        let summary = join
            .run(|event| match event {
                JoinEvent::Pairs(_) => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            })
            .unwrap();
        assert!(!summary.stopped || summary.read <= 150_000, "{summary:?}");
    }
    assert!(pairs.iter().all(|&some| some == pairs[0]), "{pairs:?}");
}

fn batches(path: &Path, set: &[u64], queries: &[u64], threads: usize) {
    let store = open(path);
    let execution = || Execution::new().threads(threads).memory(LIMIT);
    for plan in [BatchPlan::Search, BatchPlan::Sweep] {
        let batch = |k| store.batch(k).plan(plan).execution(execution());
        let what = format!("batch, {plan:?}, {threads} threads");
        let mut counts = vec![0; queries.len()];
        within(allowed(threads), &what, || {
            batch(3).run(queries, |answer| counts[answer.query] += answer.matches.len()).unwrap()
        });
        for (&query, count) in queries.iter().zip(counts) {
            let near = set.iter().filter(|&&fp| (fp ^ query).count_ones() <= 3);
            assert_eq!(count, near.count(), "{what}");
        }
        // All match, far more than there is room for.
        let what = format!("{what}, of everything");
        let one = &queries[..1];
        let refused =
            within(allowed(threads), &what, || batch(64).run(one, |_| -> () { panic!("{what}") }));
        assert!(matches!(refused, Err(Error::TooManyMatches { .. })), "{refused:?}");
        for limit in [0, 20_000] {
            let mut found = (0, 0);
            let run = || {
                batch(64).limit(limit).run(one, |answer| {
                    found = (answer.matches.len(), answer.count as usize);
                })
            };
            within(allowed(threads), &what, run).unwrap();
            assert_eq!(found, (limit, set.len()), "{what}");
        }
    }
}

fn clusters(path: &Path, count: usize) {
    let store = open(path);
    // What is stated per fingerprint, and what is left for the join.
    let most = 18 * count as u64 + LIMIT;
    let clustering = store.clusters(1).execution(Execution::new().memory(most));
    let clusters = within(most, "clusters", || clustering.run());
    assert_eq!(clusters.unwrap().summary().fingerprints, count as u64);
}
