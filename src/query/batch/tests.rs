//! The sets that batches are tested with, and how they are planned.

use std::iter;
use std::sync::Arc;

use super::*;
use crate::execution::Execution;
use crate::fingerprint::Fingerprint;
use crate::planning::Layout;
use crate::segment::{Index, Segment};
use crate::store::{Packer, Store};

pub(super) fn random(i: u64) -> u64 {
    crate::set_sum::term(i) as u64
}

/// `of` with up to `most` bits flipped.
pub(super) fn near(of: u64, most: u64, seed: u64) -> u64 {
    (0..random(seed) % (most + 1)).fold(of, |fp, flip| fp ^ 1 << (random(seed + 1 + flip) & 63))
}

/// Fingerprints: anywhere, near a few others, with equal tops, with equal low bits, all at once.
pub(super) fn set(count: usize, seed: u64, kind: usize) -> Vec<u64> {
    let fingerprint = |i: u64| match (kind + usize::from(kind == 4) * i as usize) % 4 {
        0 => random(seed ^ i << 16),
        1 => near(random(seed ^ (i % 20) << 16), 8, i << 20),
        2 => random(seed ^ i << 16) >> (seed % 50),
        _ => random(seed ^ i << 16) << (seed % 50),
    };
    (0..count as u64).map(fingerprint).collect()
}

fn segments<F: Fingerprint>(store: &Store<F>) -> Vec<Arc<Segment<F>>> {
    store.snapshot().segments().to_vec()
}

#[test]
fn a_hot_index_makes_searches_the_plan_of_more_batches() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let set: Vec<u64> = (0..20_000).map(random).collect();
    Packer::new()
        .layout(Layout::new().design("quarters".parse().unwrap()))
        .pack(&path, set.iter().copied())
        .unwrap();
    let queries: Vec<u64> = (0..20_000).map(|i| near(set[i as usize], 3, i)).collect();
    let store = Store::open(&path).unwrap();
    let batch = store.batch(3).execution(Execution::new().threads(1));
    let of_query = |plan, count| batch.predicted(plan, count as u64).unwrap() / count as f64;
    let descent_ns = of_query(BatchPlan::Search, 1);
    // So many queries that it takes a little less to go through a table once than to descend for
    // each.
    let together = |&count: &usize| of_query(BatchPlan::Sweep, count) < 0.9 * descent_ns;
    let mut counts = iter::successors(Some(100), |count| Some(count + count / 4));
    let queries = &queries[..counts.find(together).unwrap()];
    let plan = || batch.run(queries, |_| ()).unwrap().plan.unwrap();
    assert_ne!(plan(), BatchPlan::Search);
    let mut searcher = store.searcher();
    let segments = segments(&store);
    let Index::Tables(tables) = segments[0].index() else { panic!("no tables") };
    for query in 0.. {
        if tables.hot().index().is_some() {
            break;
        }
        searcher.search(random(query), 3).unwrap();
        assert!(query < 1_000_000);
    }
    assert_eq!(plan(), BatchPlan::Search);
    let hot_ns = of_query(BatchPlan::Search, 1);
    assert!(hot_ns < descent_ns / 2.0, "{hot_ns} {descent_ns}");
    let wider = store.batch(8).predicted(BatchPlan::Search, 1).unwrap();
    let fresh = Store::open(&path).unwrap().batch(8).predicted(BatchPlan::Search, 1).unwrap();
    assert!(wider < fresh, "{wider} {fresh}");
}
