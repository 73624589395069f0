//! Joins of stores with several segments, in ranges and shards, against brute force.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;

use super::*;
use crate::error::Error;
use crate::execution::Execution;
use crate::fingerprint::{Fingerprint, successor};
use crate::planning::Layout;
use crate::query::search::tests::store_of_segments;
use crate::store::{OpenOptions, Packer, Store};

/// Fingerprints near a few centres, and some anywhere.
pub(super) fn set<F: Fingerprint>(count: usize, seed: u64, centres: u64) -> Vec<F> {
    let random = |i: u64| crate::set_sum::term(seed ^ i << 12) as u64;
    let any = |i: u64| F::of_words(|number| random(i ^ (number as u64) << 44));
    let near = |i: u64| {
        let mut centre = any((1 << 40) + random(i) % centres).to_be_bytes();
        // Up to six flips.
        for flip in 0..random(i) >> 32 & 7 {
            let bit = (random(i) >> (8 * flip)) as usize % F::BITS as usize;
            centre.as_mut()[bit / 8] ^= 1 << (bit % 8);
        }
        F::from_be_bytes(centre)
    };
    (0..count as u64).map(|i| if i % 3 == 0 { any(i) } else { near(i) }).collect()
}

pub(super) fn brute_force<F: Fingerprint>(
    a: &BTreeSet<F>,
    b: Option<&BTreeSet<F>>,
    k: u32,
) -> Vec<Pair<F>> {
    let pair = |a: F, b: F| Pair { a, b, distance: a.distance(b) };
    let of_a = |&one: &F| {
        let others = b.unwrap_or(a).iter().filter(move |&&other| b.is_some() || one < other);
        others.map(move |&other| pair(one, other)).filter(|pair| pair.distance <= k)
    };
    a.iter().flat_map(of_a).collect()
}

/// The pairs of a join, sorted; checks that ranges follow each other and hold their pairs.
fn run<F: Fingerprint>(join: &Join<F>) -> Vec<Pair<F>> {
    let range = join.range().unwrap();
    let (mut pairs, mut of_range) = (Vec::new(), Vec::new());
    let mut next = range.as_ref().map(|range| *range.start());
    let mut events = 0;
    let summary = join.run(|event| {
        match event {
            JoinEvent::Pairs(some) => of_range.extend_from_slice(some),
            JoinEvent::Range(done) => {
                assert_eq!(Some(*done.start()), next);
                assert!(of_range.iter().all(|pair: &Pair<F>| done.contains(&pair.a)));
                next = successor(*done.end());
                pairs.append(&mut of_range);
                events += 1;
            }
        }
        ControlFlow::Continue(())
    });
    let summary = summary.unwrap();
    assert!(of_range.is_empty() && !summary.stopped);
    assert_eq!(next, range.and_then(|range| successor(*range.end())));
    assert_eq!((summary.pairs, summary.ranges), (pairs.len() as u64, events));
    pairs.sort_unstable();
    pairs
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn ranges_and_shards_give_each_pair_once(
        counts in (0usize..700, 0usize..500, 0usize..500), seed in any::<u64>(), centres in 1u64..30,
        k in prop_oneof![4 => 0u32..8, 1 => 8u32..=64], capacity in 2usize..2000,
        shards in 1u64..8, threads in 1usize..4, start in any::<u64>(),
    ) {
        let temporary = tempfile::tempdir().unwrap();
        let first: Vec<u64> = set(counts.0, seed, centres);
        // Some stand in both segments.
        let mut second = set(counts.1, seed + 1, centres);
        second.extend(first.iter().step_by(5));
        let other = set(counts.2, seed, centres);
        let one = store_of_segments(&temporary.path().join("one"), &[&first, &second]);
        let other_store = store_of_segments(&temporary.path().join("other"), &[&other]);
        let all: BTreeSet<u64> = first.into_iter().chain(second).collect();
        let other: BTreeSet<u64> = other.into_iter().collect();
        type Joins<'a> = [(&'a Store, Option<&'a BTreeSet<u64>>); 2];
        let joins: Joins<'_> = [(&one, None), (&other_store, Some(&other))];
        for (store, side) in joins {
            let join = match side {
                None => one.self_join(k),
                Some(_) => one.join(store, k),
            };
            let expected = brute_force(&all, side, k);
            let join = Join { capacity: Some(capacity), ..join.execution(Execution::new().threads(threads)) };
            let whole = run(&join);
            prop_assert_eq!(&whole, &expected);
            let of_shards = (0..shards).flat_map(|shard| run(&join.clone().shard(shard, shards)));
            let mut of_shards: Vec<Pair> = of_shards.collect();
            // Each is sorted, and the shards follow each other.
            prop_assert!(of_shards.is_sorted());
            of_shards.sort_unstable();
            prop_assert_eq!(&of_shards, &expected);
            let resumed = run(&join.clone().start(start));
            let behind = expected.iter().filter(|pair| pair.a >= start);
            prop_assert!(resumed.iter().eq(behind));
        }
    }
}

/// Joins of fingerprints of one width, in ranges and shards, of stores with different part tables.
fn check_width<F: Fingerprint>(
    (seed, centres): (u64, u64),
    counts: [usize; 2],
    k: u32,
    capacity: usize,
) {
    let temporary = tempfile::tempdir().unwrap();
    let sets = [0, 1].map(|side| set::<F>(counts[side], seed, centres).into_iter());
    let [a, b] = sets.map(Iterator::collect::<BTreeSet<F>>);
    let pack = |name: &str, set: &BTreeSet<F>, parts| {
        let path = temporary.path().join(name);
        let packer = Packer::new().width::<F>().layout(Layout::new().parts(parts));
        packer.pack(&path, set.iter().copied()).unwrap();
        OpenOptions::new().width::<F>().open(&path).unwrap()
    };
    let (store, other) = (pack("a", &a, 0), pack("b", &b, 3));
    let k = k * F::BITS / 256;
    let joins = [(store.self_join(k), None), (store.join(&other, k), Some(&b))];
    for (join, side) in joins {
        let join = Join { capacity: Some(capacity), ..join };
        let expected = brute_force(&a, side, k);
        assert_eq!(run(&join), expected, "{} bits", F::BITS);
        let mut of_shards: Vec<_> =
            (0..3).flat_map(|shard| run(&join.clone().shard(shard, 3))).collect();
        of_shards.sort_unstable();
        assert_eq!(of_shards, expected, "{} bits", F::BITS);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn ranges_of_every_width_give_each_pair_once(
        seed in any::<u64>(), centres in 1u64..30, counts in (0usize..500, 0usize..500),
        k in prop_oneof![4 => 0u32..40, 1 => 40u32..=256], capacity in 2usize..1500,
    ) {
        let counts = [counts.0, counts.1];
        check_width::<u32>((seed, centres), counts, k, capacity);
        check_width::<u64>((seed, centres), counts, k, capacity);
        check_width::<u128>((seed, centres), counts, k, capacity);
        check_width::<[u64; 4]>((seed, centres), counts, k, capacity);
    }
}

/// For each fingerprint of a set the least one that pairs lead to from it.
fn connected<F: Fingerprint>(set: &BTreeSet<F>, pairs: &[Pair<F>]) -> Vec<F> {
    let set: Vec<F> = set.iter().copied().collect();
    let mut near = vec![Vec::new(); set.len()];
    for pair in pairs {
        let [a, b] = [pair.a, pair.b].map(|one| set.binary_search(&one).unwrap());
        near[a].push(b);
        near[b].push(a);
    }
    let mut least: Vec<Option<F>> = vec![None; set.len()];
    for (start, &one) in set.iter().enumerate() {
        let mut reached = vec![start];
        while let Some(at) = reached.pop() {
            if least[at].is_none() {
                least[at] = Some(one);
                reached.extend(&near[at]);
            }
        }
    }
    least.into_iter().flatten().collect()
}

/// Checks that links connect what pairs do, and gives how many there are of both.
fn check_links<F: Fingerprint>(set: &BTreeSet<F>, k: u32, capacity: usize) -> (u64, usize) {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("store");
    Packer::new().width::<F>().pack(&path, set.iter().copied()).unwrap();
    let store = OpenOptions::new().width::<F>().open(&path).unwrap();
    let join = Join { capacity: Some(capacity), ..store.self_join(k).links() };
    let mut links = Vec::new();
    let summary = join.run(|event| {
        if let JoinEvent::Pairs(some) = event {
            links.extend_from_slice(some);
        }
    });
    for link in &links {
        assert!(link.a < link.b && link.distance <= k && link.a.distance(link.b) == link.distance);
    }
    let pairs = brute_force(set, None, k);
    assert_eq!(connected(set, &links), connected(set, &pairs), "{} bits", F::BITS);
    (summary.unwrap().pairs, pairs.len())
}

/// Fingerprints that differ from some centres in a few chosen bits, so that most are near each
/// other, and some anywhere.
fn crowds<F: Fingerprint>(count: usize, seed: u64, centres: u64, bits: u32) -> BTreeSet<F> {
    let random = |i: u64| crate::set_sum::term(seed ^ i << 12) as u64;
    let any = |i: u64| F::of_words(|number| random(i ^ (number as u64) << 44));
    let near = |i: u64| {
        let mut bytes = any((1 << 40) + random(i) % centres).to_be_bytes();
        for flip in (0..bits).filter(|flip| random(i) >> (16 + flip) & 1 == 1) {
            let bit = (random(seed ^ u64::from(flip)) % u64::from(F::BITS)) as usize;
            bytes.as_mut()[bit / 8] ^= 1 << (bit % 8);
        }
        F::from_be_bytes(bytes)
    };
    (0..count as u64).map(|i| if i % 9 == 0 { any(i) } else { near(i) }).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10))]

    #[test]
    fn links_connect_what_all_pairs_connect(
        seed in any::<u64>(), count in 0usize..800, centres in 1u64..4, bits in 1u32..24,
        k in 0u32..24, capacity in prop_oneof![Just(usize::MAX), 100usize..600],
    ) {
        check_links(&crowds::<u32>(count, seed, centres, bits), k / 2, capacity);
        check_links(&crowds::<u64>(count, seed, centres, bits), k, capacity);
        check_links(&crowds::<u128>(count, seed, centres, bits), k, capacity);
        check_links(&crowds::<[u64; 4]>(count, seed, centres, bits), k, capacity);
    }
}

/// All 1,024 values of ten bits are within 10 of each other, and most within 6.
#[test]
fn a_crowd_has_few_links() {
    let set: BTreeSet<u64> = (0..1u64 << 10).map(|value| value << 20 | 0xF0).collect();
    for (k, most) in [(10, 6), (6, 30)] {
        let (links, pairs) = check_links(&set, k, usize::MAX);
        assert!(links >= set.len() as u64 - 1 && links <= most * set.len() as u64, "{links}");
        assert!(pairs > 400 * set.len(), "{pairs}");
    }
}

#[test]
fn empty_stores_and_the_ends_of_the_space_are_joined() {
    let temporary = tempfile::tempdir().unwrap();
    let empty = store_of_segments(&temporary.path().join("empty"), &[&[], &[]]);
    let none = store_of_segments(&temporary.path().join("none"), &[]);
    let ends = store_of_segments(&temporary.path().join("ends"), &[&[0, u64::MAX], &[u64::MAX, 1]]);
    for store in [&empty, &none] {
        assert_eq!(run(&store.self_join(64)), []);
        assert_eq!(run(&store.join(&ends, 64)), []);
        assert_eq!(run(&ends.join(store, 64)), []);
    }
    let pair = |a, b, distance| Pair { a, b, distance };
    let expected = [pair(0, 1, 1), pair(0, u64::MAX, 64), pair(1, u64::MAX, 63)];
    for capacity in [2, 3, 1 << 20] {
        let join = Join { capacity: Some(capacity), ..ends.self_join(64) };
        assert_eq!(run(&join), expected);
        let join = Join { capacity: Some(capacity), ..ends.join(&ends, 0) };
        assert_eq!(run(&join), [pair(0, 0, 0), pair(1, 1, 0), pair(u64::MAX, u64::MAX, 0)]);
    }
    assert_eq!(ends.self_join(3).start(u64::MAX).range().unwrap(), Some(u64::MAX..=u64::MAX));
}

#[test]
fn a_join_stops_when_its_caller_does() {
    let temporary = tempfile::tempdir().unwrap();
    let set = set(3000, 1, 2);
    let store = store_of_segments(&temporary.path().join("store"), &[&set]);
    let mut taken = 0;
    let summary = store.self_join(12).run(|event| {
        taken += usize::from(matches!(event, JoinEvent::Pairs(_)));
        ControlFlow::Break(())
    });
    let summary = summary.unwrap();
    assert!(summary.stopped && taken == 1 && summary.ranges == 0, "{summary:?}");
    let cancel = Arc::new(AtomicBool::new(false));
    let cancelled =
        store.self_join(12).execution(Execution::new().cancel(cancel.clone())).run(|_| {
            cancel.store(true, Ordering::Relaxed);
            ControlFlow::Continue(())
        });
    assert!(matches!(cancelled, Err(Error::Cancelled)), "{cancelled:?}");
}

#[test]
fn a_join_that_has_ended_is_not_cancelled() {
    let temporary = tempfile::tempdir().unwrap();
    let store = store_of_segments(&temporary.path().join("store"), &[&set(3000, 1, 2)]);
    let cancel = Arc::new(AtomicBool::new(false));
    let execution = Execution::new().cancel(cancel.clone());
    let summary = store.self_join(3).execution(execution).run(|event| {
        // The last event.
        cancel.store(matches!(event, JoinEvent::Range(_)), Ordering::Relaxed);
    });
    assert_eq!(summary.unwrap().ranges, 1);
}

#[test]
fn options_that_cannot_be_are_refused() {
    let temporary = tempfile::tempdir().unwrap();
    let store = store_of_segments(&temporary.path().join("store"), &[&[1]]);
    let join = store.self_join(3);
    for (join, named) in [
        (join.clone().shard(2, 2), "shard"),
        (join.clone().shard(0, 0), "shard"),
        (join.clone().execution(Execution::new().memory(1000)), "memory"),
        (join.clone().execution(Execution::new().threads(5000)), "threads"),
    ] {
        match join.run(|_| ()) {
            Err(Error::InvalidOption { option, .. }) => assert_eq!(option, named),
            Err(Error::MemoryLimit { limit: 1000, .. }) => assert_eq!("memory", named),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn progress_ascends_to_the_number_of_fingerprints() {
    let temporary = tempfile::tempdir().unwrap();
    let set: BTreeSet<u64> = set(3000, 1, 2).into_iter().collect();
    let list: Vec<u64> = set.iter().copied().collect();
    let store = store_of_segments(&temporary.path().join("store"), &[&list]);
    let told = Arc::new(std::sync::Mutex::new(Vec::new()));
    let tell = told.clone();
    let join = store.self_join(3).execution(
        Execution::new().threads(1).on_progress(move |at| tell.lock().unwrap().push(at)),
    );
    let join = Join { capacity: Some(1000), ..join };
    join.run(|_| ()).unwrap();
    let told = told.lock().unwrap();
    assert!(told.is_sorted_by_key(|at| at.done), "{told:?}");
    let last = told.last().unwrap();
    assert_eq!((last.done, last.total), (set.len() as u64, set.len() as u64));
    assert!(told.iter().all(|at| at.done <= at.total));
}
