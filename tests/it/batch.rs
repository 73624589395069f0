//! Batches of searches against brute force, by every plan.

use std::ops::ControlFlow;

use fpstore::internals::Costs;
use fpstore::query::{Answer, BatchPlan, BatchSummary};
use fpstore::{Batch, Design, Error, Execution, Hex, Layout, Match, Packer, Store};
use proptest::prelude::*;

use crate::sets::{Random, brute_force, clustered, sorted};

const PLANS: [Option<BatchPlan>; 3] = [None, Some(BatchPlan::Search), Some(BatchPlan::Sweep)];

/// With these a sweep goes by lists: of so few queries and fingerprints it would join them.
fn listing() -> Costs {
    let is_of_lists = |line: &&str| line.starts_with("sweep.");
    let shipped = Costs::default().to_string();
    let names = shipped.lines().filter(is_of_lists).filter_map(|line| line.split_once(" = "));
    names.map(|(name, _)| format!("{name} = 0\n")).collect::<String>().parse().unwrap()
}

/// The answers to all queries, each of which is given once.
fn run(batch: &Batch, queries: &[u64]) -> (Vec<Vec<Match>>, BatchSummary) {
    let mut answers: Vec<Option<Vec<Match>>> = vec![None; queries.len()];
    let summary = batch.run(queries, |answer| {
        let Answer { query, matches, .. } = answer;
        assert_eq!(answer.count as usize, matches.len(), "{query}");
        let before = answers[query].replace(matches.to_vec());
        assert!(before.is_none(), "{query} comes again");
        ControlFlow::Continue(())
    });
    let answers = answers.into_iter().map(|answer| answer.expect("each is answered"));
    (answers.collect(), summary.unwrap())
}

fn with_plan(batch: Batch, plan: Option<BatchPlan>) -> Batch {
    match plan {
        Some(plan) => batch.plan(plan),
        None => batch,
    }
}

/// Stored ones, near ones, others, and some again.
fn queries(set: &[u64], count: usize, k: u32, random: &mut Random) -> Vec<u64> {
    let mut queries: Vec<u64> = Vec::new();
    for i in 0..count {
        let again = queries.get(i / 2).copied();
        queries.push(match (set.len(), i % 5) {
            (0, _) | (_, 0) => random.next(),
            (_, 1) => again.unwrap_or(0),
            (len, _) => {
                let stored = set[random.next() as usize % len];
                let flips = random.next() as u32 % (k.min(63) + 2);
                random.flip(stored, flips)
            }
        });
    }
    queries
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn batches_are_exact(
        count in 0usize..1500, asked in 0usize..200, seed in any::<u64>(), shift in 0u32..56,
        design in prop::sample::select(Design::NAMES), size in 8u32..=13,
        k in prop_oneof![6 => 0u32..=8, 1 => 9u32..=70], threads in 0usize..4, limit in 0usize..20,
    ) {
        let mut set = clustered(count, seed);
        set[count - count / 3..].iter_mut().for_each(|fp| *fp >>= shift);
        let set = sorted(&set);
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store");
        let design = Design::named(design).unwrap();
        let layout = Layout::new().design(design).block_bytes(1 << size);
        Packer::new().layout(layout).pack(&path, &set).unwrap();
        let store = Store::open(&path).unwrap();
        let queries = queries(&set, asked, k, &mut Random(seed));
        let expected: Vec<_> = queries.iter().map(|&query| brute_force(&set, query, k)).collect();
        let mut searcher = store.searcher();
        for (&query, near) in queries.iter().zip(&expected) {
            prop_assert_eq!(searcher.any_within(query, k).unwrap(), !near.is_empty());
            prop_assert_eq!(searcher.search(query, k).unwrap(), &near[..]);
        }
        let ways = PLANS.map(|plan| (plan, Costs::default()));
        for (plan, costs) in ways.into_iter().chain([(Some(BatchPlan::Sweep), listing())]) {
            let execution = Execution::new().threads(threads).costs(costs);
            let batch = with_plan(store.batch(k).execution(execution), plan);
            let (found, summary) = run(&batch, &queries);
            prop_assert_eq!(&found, &expected, "{:?}", plan);
            prop_assert_eq!(summary.queries as usize, queries.len());
            prop_assert_eq!(summary.matches as usize, expected.iter().map(Vec::len).sum::<usize>());
            // In order, and no more than the nearest.
            let mut next = 0;
            batch.clone().limit(limit).run(&queries, |answer| {
                assert_eq!(answer.query, next);
                let all = &expected[next];
                assert_eq!(answer.matches, &all[..limit.min(all.len())]);
                assert_eq!(answer.count as usize, all.len());
                next += 1;
                ControlFlow::Continue(())
            }).unwrap();
            prop_assert_eq!(next, queries.len());
            prop_assert_eq!(&run(&batch.ordered(false), &queries).0, &expected);
        }
    }
}

#[test]
fn what_does_not_fit_into_memory_is_answered_in_pieces() {
    let mut random = Random(9);
    // Every query has thousands of matches.
    let centre = random.next();
    let set: Vec<u64> = (0..6000).map(|i| random.flip(centre, i % 3)).collect();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let design = Design::named("quarters").unwrap();
    Packer::new().layout(Layout::new().design(design)).pack(&path, &set).unwrap();
    let set = sorted(&set);
    let store = Store::open(&path).unwrap();
    let near: Vec<u64> = (0..40).map(|i| random.flip(centre, i % 4)).collect();
    let expected: Vec<_> = near.iter().map(|&query| brute_force(&set, query, 5)).collect();
    let far: Vec<u64> = (0..50_000).map(|_| random.next()).collect();
    for ordered in [true, false] {
        let batch = store.batch(5).plan(BatchPlan::Sweep).ordered(ordered);
        let batch = batch.execution(Execution::new().memory(16 << 20));
        let (found, summary) = run(&batch, &near);
        assert!(found == expected && summary.pieces > 1, "{summary:?}");
        let (found, summary) = run(&batch, &far);
        assert!(found.iter().all(Vec::is_empty) && summary.pieces > 1, "{summary:?}");
    }
}

#[test]
fn more_matches_than_fit_are_refused_unless_they_are_limited() {
    let mut random = Random(10);
    let set = sorted(&(0..250_000).map(|_| random.next()).collect::<Vec<_>>());
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    Packer::new()
        .layout(Layout::new().design(Design::named("halves").unwrap()))
        .pack(&path, &set)
        .unwrap();
    let store = Store::open(&path).unwrap();
    let queries = [set[5], random.next(), set[7]];
    for k in [32, 64] {
        let expected: Vec<_> = queries.iter().map(|&query| brute_force(&set, query, k)).collect();
        for (plan, threads) in [(0, 1), (1, 1), (1, 2), (2, 1), (2, 2)] {
            let batch = |memory| {
                let execution = Execution::new().memory(memory).threads(threads);
                with_plan(store.batch(k), PLANS[plan]).execution(execution)
            };
            let refused = batch(16 << 20).run(&queries, |answer| -> () { panic!("{answer:?}") });
            let error = refused.map(drop).unwrap_err();
            let Error::TooManyMatches { query, matches, limit, needed, .. } = error else {
                panic!("{error}");
            };
            assert_eq!(query, Hex::of(queries[0]));
            assert_eq!((matches as usize, limit), (expected[0].len(), 16 << 20));
            // What would do does.
            let most = expected.iter().map(Vec::len).max().unwrap();
            let needed = needed + 64 * (most - expected[0].len()) as u64;
            assert_eq!(run(&batch(needed), &queries).0, expected, "{plan}");
            // Those that are not wanted are counted all the same.
            for limit in [0, 1, 1000, 90_000] {
                let mut next = 0;
                let limited = batch(16 << 20).limit(limit);
                let summary = limited.run(&queries, |answer| {
                    let all = &expected[answer.query];
                    assert_eq!((answer.query, answer.count as usize), (next, all.len()));
                    assert_eq!(answer.matches, &all[..limit.min(all.len())]);
                    next += 1;
                });
                assert_eq!((next, summary.unwrap().queries), (3, 3));
            }
            let mut taken = 0;
            let stopped = batch(16 << 20).limit(1000).run(&queries, |_| {
                taken += 1;
                ControlFlow::Break(())
            });
            assert!(stopped.unwrap().stopped && taken == 1);
        }
    }
}

#[test]
fn searches_side_by_side_are_handed_on_in_order() {
    let mut random = Random(11);
    // Queries with many matches follow such as have few, which are searched by the thousand.
    let centre = random.next();
    let mut set: Vec<u64> = (0..400).map(|i| random.flip(centre, i % 3)).collect();
    set.extend((0..2000).map(|_| random.next()));
    let set = sorted(&set);
    let few = (0..3000).map(|i| random.flip(set[i % set.len()] ^ 1 << 63, 1)).collect::<Vec<_>>();
    let many = (0..1500).map(|i| random.flip(centre, i % 2)).collect::<Vec<_>>();
    let queries = [few, many].concat();
    let expected: Vec<_> = queries.iter().map(|&query| brute_force(&set, query, 3)).collect();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    Packer::new().pack(&path, &set).unwrap();
    let store = Store::open(&path).unwrap();
    for threads in [1, 2, 3] {
        let batch =
            store.batch(3).plan(BatchPlan::Search).execution(Execution::new().threads(threads));
        let mut next = 0;
        let summary = batch.run(&queries, |answer| {
            assert_eq!((answer.query, answer.matches), (next, &expected[next][..]));
            next += 1;
            ControlFlow::Continue(())
        });
        assert_eq!(summary.unwrap().queries as usize, queries.len());
    }
}

#[test]
fn a_batch_stops_when_its_caller_does() {
    let set = sorted(&clustered(5000, 4));
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    Packer::new().pack(&path, &set).unwrap();
    let store = Store::open(&path).unwrap();
    for plan in PLANS {
        let mut answered = 0;
        let batch = with_plan(store.batch(3), plan);
        let summary = batch.run(&set, |answer| {
            answered = answer.query + 1;
            if answered == 70 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let summary = summary.unwrap();
        assert_eq!((answered, summary.queries, summary.stopped), (70, 70, true), "{plan:?}");
        let cancel = std::sync::Arc::new(true.into());
        let cancelled = batch.execution(Execution::new().cancel(cancel)).run(&set, |_| ());
        assert!(matches!(cancelled, Err(fpstore::Error::Cancelled)), "{plan:?}: {cancelled:?}");
    }
    let refused = store.batch(3).execution(Execution::new().memory(5)).run(&set, |_| ());
    assert!(refused.unwrap_err().to_string().contains("16 MiB"));
}

#[test]
fn few_queries_are_searched_and_many_are_not() {
    let mut random = Random(1);
    let set: Vec<u64> = (0..1 << 18).map(|_| random.next()).collect();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let design = Design::named("quarters").unwrap();
    Packer::new().layout(Layout::new().design(design).block_bytes(512)).pack(&path, &set).unwrap();
    let store = Store::open(&path).unwrap();
    let batch = |queries: &[u64]| {
        let found = store.batch(3).run(queries, |_| ());
        found.unwrap().plan
    };
    assert_eq!(batch(&set[..4]), Some(BatchPlan::Search));
    assert_ne!(batch(&set), Some(BatchPlan::Search));
    assert_eq!(batch(&[]), None);
}
