//! Joins of fingerprints of every width against brute force: of one store and of two, with any part
//! tables, of several segments, with deletions and windows, of sets that spoil every plan.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, UNIX_EPOCH};

use fpstore::internals::Costs;
use fpstore::query::JoinEvent;
use fpstore::{
    Error, Execution, Fingerprint, Join, Layout, OpenOptions, Packer, Snapshot, StoreOptions,
    WriterOptions,
};
use proptest::prelude::*;

use crate::widths::Random;

/// Seconds of a window.
const WINDOW: u64 = 100;

/// What a set is like.
#[derive(Clone, Copy, Debug)]
enum Shape {
    /// Clusters of any size, and some that agree in half of their bits.
    Mixed,
    /// Each byte is one of two: every part has few values.
    FewValues,
    /// All near one.
    OneCluster,
    /// All agree but in 12 bits.
    AllEqual,
    /// Anywhere.
    Uniform,
}

fn set<F: Fingerprint>(random: &mut Random, shape: Shape, count: usize) -> BTreeSet<F> {
    let one: F = random.fingerprint();
    let mut bytes = one.to_be_bytes();
    let mut next = |random: &mut Random| match shape {
        Shape::FewValues => {
            bytes.as_mut().iter_mut().for_each(|byte| *byte = 0xA5 * random.below(2) as u8);
            F::from_be_bytes(bytes)
        }
        Shape::OneCluster => {
            let flips = random.below(u64::from(F::BITS) / 8);
            random.near(one, flips)
        }
        Shape::AllEqual => {
            let last = bytes.as_ref().len() - 2;
            let low = random.below(1 << 12) as u16;
            bytes.as_mut()[last..].copy_from_slice(&low.to_be_bytes());
            F::from_be_bytes(bytes)
        }
        _ => random.fingerprint(),
    };
    match shape {
        Shape::Mixed => random.set(count).into_iter().collect(),
        _ => (0..count).map(|_| next(random)).collect(),
    }
}

type Pairs<F> = Vec<(F, F, u32)>;

fn brute_force<F: Fingerprint>(a: &BTreeSet<F>, b: Option<&BTreeSet<F>>, k: u32) -> Pairs<F> {
    let of = |&one: &F| {
        let others = b.unwrap_or(a).iter().filter(move |&&other| b.is_some() || one < other);
        others.map(move |&other| (one, other, one.distance(other)))
    };
    a.iter().flat_map(of).filter(|&(_, _, distance)| distance <= k).collect()
}

fn run<F: Fingerprint>(join: &Join<F>) -> Pairs<F> {
    let mut pairs = Vec::new();
    let summary = join.run(|event| {
        if let JoinEvent::Pairs(some) = event {
            pairs.extend(some.iter().map(|pair| (pair.a, pair.b, pair.distance)));
        }
    });
    assert_eq!(summary.unwrap().pairs, pairs.len() as u64);
    pairs.sort_unstable();
    pairs
}

/// A store of several segments, from which every fifth fingerprint was deleted; some wait in the
/// log.
fn living<F: Fingerprint>(
    path: &Path,
    random: &mut Random,
    set: &mut BTreeSet<F>,
    parts: Option<u16>,
) -> Snapshot<F> {
    let writer = WriterOptions::new().background(false).tail_records(set.len() / 3 + 1);
    let mut options = StoreOptions::new().width::<F>().ids(None).writer(writer);
    if let Some(parts) = parts {
        options = options.with_layout(|it| it.parts(parts));
    }
    let writer = options.create(path).unwrap();
    let mut list: Vec<F> = set.iter().copied().collect();
    (1..list.len()).for_each(|at| list.swap(at, random.below(at as u64 + 1) as usize));
    list.chunks(64).for_each(|some| writer.insert_fingerprints(some).unwrap());
    for one in list.iter().step_by(5) {
        writer.delete_fingerprint(*one).unwrap();
        set.remove(one);
    }
    writer.snapshot()
}

/// Costs with which all that can be split is split, or nothing is.
fn costs(split: bool) -> Costs {
    let mut costs = Costs::default();
    let join = &mut costs.join;
    let pair_ns = if split { 2.0 } else { 0.001 };
    (join.pair_scalar_ns, join.pair_avx2_ns, join.pair_avx512_ns) = (pair_ns, pair_ns, pair_ns);
    if split {
        (join.part_ns, join.visit_near_ns, join.visit_far_ns) = (200.0, 0.1, 0.1);
    }
    costs
}

fn check<F: Fingerprint>(seed: u64, shape: Shape, parts: [Option<u16>; 2], k: u32) {
    let mut random = Random(seed);
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let count = random.below(300) as usize;
    let (mut a, mut b) = (set::<F>(&mut random, shape, count), set::<F>(&mut random, shape, 100));
    // Some stand in both.
    b.extend(a.iter().step_by(7));
    let one = living(&path("one"), &mut random, &mut a, parts[0]);
    let other = living(&path("other"), &mut random, &mut b, parts[1]);
    // Not more pairs than a test should take.
    let k = if a.len() * b.len() > 5_000 { k.min(F::BITS / 5) } else { k };
    let (within, between) = (brute_force(&a, None, k), brute_force(&a, Some(&b), k));
    for execution in [
        Execution::new(),
        Execution::new().threads(3).costs(costs(true)),
        Execution::new().threads(1).memory(16 << 20).costs(costs(true)),
        Execution::new().threads(2).costs(costs(false)),
    ] {
        let join = one.self_join(k).execution(execution.clone());
        assert_eq!(run(&join), within, "{} bits", F::BITS);
        let join = one.join(other.clone(), k).execution(execution);
        assert_eq!(run(&join), between, "{} bits", F::BITS);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4))]

    #[test]
    fn joins_of_every_width_are_exact(
        seed in any::<u64>(), k in prop_oneof![3 => 0u32..48, 1 => 48u32..=256],
        parts in (prop::option::of(0u16..12), prop::option::of(0u16..12)),
        shape in prop::sample::select(vec![
            Shape::Mixed, Shape::FewValues, Shape::OneCluster, Shape::AllEqual, Shape::Uniform,
        ]),
    ) {
        let parts = |most: u16| [parts.0, parts.1].map(|parts| parts.map(|parts| parts.min(most)));
        check::<u32>(seed, shape, parts(5), k.min(32) / 4);
        check::<u64>(seed, shape, parts(10), k.min(64) / 2);
        check::<u128>(seed, shape, parts(11), k.min(128));
        check::<[u64; 4]>(seed, shape, parts(11), k);
    }
}

#[test]
fn a_window_is_joined_by_itself() {
    let directory = tempfile::tempdir().unwrap();
    let options = WriterOptions::new().background(false);
    let options =
        StoreOptions::new().width::<u128>().ids(None).layout(Layout::new().k(20)).writer(options);
    let writer = options
        .window(Some(Duration::from_secs(WINDOW)))
        .create(directory.path().join("store"))
        .unwrap();
    let time = |window: u64| UNIX_EPOCH + Duration::from_secs(window * WINDOW);
    let mut random = Random(3);
    let mut windows: Vec<BTreeSet<u128>> = Vec::new();
    let common: Vec<u128> = random.set(300);
    for window in 0..4 {
        let set = common.iter().map(|&one| random.near(one, 12)).collect::<BTreeSet<_>>();
        set.iter().for_each(|&one| writer.insert_at(one, (), time(window)).unwrap());
        writer.flush().unwrap();
        windows.push(set);
    }
    for (first, last) in [(0, 0), (1, 2), (3, 3), (0, 3)] {
        let snapshot =
            writer.snapshot().between(time(first as u64)..time(last as u64 + 1)).unwrap();
        let set: BTreeSet<u128> = windows[first..=last].iter().flatten().copied().collect();
        assert_eq!(run(&snapshot.self_join(20)), brute_force(&set, None, 20));
    }
}

fn packed<F: Fingerprint>(directory: &Path, set: &BTreeSet<F>) -> Snapshot<F> {
    let path = directory.join("store");
    Packer::new()
        .width::<F>()
        .layout(Layout::new().k(31))
        .pack(&path, set.iter().copied())
        .unwrap();
    OpenOptions::new().width::<F>().open(&path).unwrap().snapshot()
}

/// Sets that all threads split together, on both sides: uniform ones, of which no two are near, and
/// some beside them.
fn planted<F: Fingerprint>(k: u32) {
    let mut random = Random(F::BITS.into());
    let far: BTreeSet<F> = (0..140_000).map(|_| random.fingerprint()).collect();
    let beside = far.iter().step_by(16).map(|&one| {
        let flips = random.below(u64::from(k) + 5);
        (one, random.near(one, flips))
    });
    let mut pairs: Pairs<F> = beside.map(|(one, near)| (one, near, one.distance(near))).collect();
    let near: Vec<F> = pairs.iter().map(|&(_, near, _)| near).collect();
    pairs.retain(|&(_, _, distance)| distance <= k);
    assert!(pairs.len() > 1000 && pairs.len() < near.len());
    let b: BTreeSet<F> =
        near.iter().copied().chain((0..70_000).map(|_| random.fingerprint())).collect();
    let directories = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let execution = || Execution::new().threads(4);
    let sorted = |mut pairs: Pairs<F>| {
        pairs.sort_unstable();
        pairs
    };

    let [left, right] = [(&directories[0], &far), (&directories[1], &b)]
        .map(|(directory, set)| packed(directory.path(), set));
    let join = left.join(right, k).execution(execution());
    assert_eq!(sorted(run(&join)), sorted(pairs.clone()));

    let all: BTreeSet<F> = far.union(&b).copied().collect();
    let directory = tempfile::tempdir().unwrap();
    let both = packed(directory.path(), &all);
    let expected = pairs.into_iter().map(|(a, b, distance)| (a.min(b), a.max(b), distance));
    let found = run(&both.self_join(k).execution(execution()));
    assert_eq!(sorted(found), sorted(expected.filter(|&(_, _, distance)| distance > 0).collect()));
}

#[test]
fn large_joins_find_what_was_planted() {
    planted::<u64>(3);
    planted::<u128>(12);
    planted::<[u64; 4]>(40);
}

#[test]
fn a_large_join_of_fingerprints_of_32_bits_is_exact() {
    let mut random = Random(32);
    let set: BTreeSet<u32> = (0..200_000).map(|_| random.fingerprint()).collect();
    let flipped = |&one: &u32| (0..32).map(move |bit| (one, one ^ 1 << bit, 1));
    let pairs = set.iter().flat_map(flipped).filter(|(a, b, _)| a < b && set.contains(b));
    let expected: BTreeSet<_> = pairs.collect();
    let directory = tempfile::tempdir().unwrap();
    let join = packed(directory.path(), &set).self_join(1).execution(Execution::new().threads(4));
    let found = run(&join);
    assert!(expected.len() > 20 && found.len() == expected.len());
    assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), expected);
}

#[test]
fn a_join_of_wide_fingerprints_stops_and_tells_how_far_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let mut random = Random(11);
    let set: BTreeSet<[u64; 4]> = random.set(40_000).into_iter().collect();
    let snapshot = packed(directory.path(), &set);
    let told = Arc::new(Mutex::new(Vec::new()));
    let tell = Arc::clone(&told);
    // One thread tells in order.
    let execution =
        Execution::new().threads(1).on_progress(move |at| tell.lock().unwrap().push(at));
    let summary = snapshot.self_join(31).execution(execution).run(|_| ()).unwrap();
    assert_eq!((summary.fingerprints, summary.stopped), (set.len() as u64, false));
    let told = std::mem::take(&mut *told.lock().unwrap());
    assert!(told.len() > 10 && told.is_sorted_by_key(|at| at.done), "{told:?}");
    assert!(told.iter().all(|at| at.total == set.len() as u64));
    assert_eq!(told.last().map(|at| at.done), Some(set.len() as u64));
    // The caller breaks.
    let summary = snapshot.self_join(31).run(|_| ControlFlow::Break(())).unwrap();
    assert!(summary.stopped && summary.ranges == 0);
    // Somebody else cancels it, once it is under way.
    let cancel = Arc::new(AtomicBool::new(false));
    let (flag, calls) = (Arc::clone(&cancel), AtomicU64::new(0));
    let execution = Execution::new().cancel(cancel).on_progress(move |_| {
        calls.fetch_add(1, Ordering::Relaxed);
        flag.store(true, Ordering::Relaxed);
    });
    let cancelled = snapshot.self_join(31).execution(execution).run(|_| ());
    assert!(matches!(cancelled, Err(Error::Cancelled)), "{cancelled:?}");
}
