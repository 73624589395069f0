//! Sweeps by any parts, against brute force.

use std::fs;
use std::ops::ControlFlow;

use proptest::prelude::*;

use super::super::tests::{near, random, set};
use super::part::{Part, Queries};
use super::turn::MOST_BITS;
use super::{SweepPlan, sweep_at};
use crate::costs::Costs;
use crate::error::{Corruption, Error, Result};
use crate::execution::{Execution, Stop};
use crate::fingerprint::{Fingerprint, key_of, of_key};
use crate::format::table_name;
use crate::planning::Layout;
use crate::query::join::{Message, Output};
use crate::query::search::tests::store_of_packed;
use crate::simd::Level;
use crate::snapshot::Snapshot;
use crate::store::{Packer, Store};
use crate::table::Table;

/// The pairs of keys of a query and a match that a sweep hands on, sorted.
fn pairs<F: Fingerprint>(
    level: Level,
    snapshot: &Snapshot<F>,
    queries: &[u64],
    k: u32,
    plan: &SweepPlan,
    threads: usize,
) -> Result<Vec<[u64; 2]>> {
    let pool = Execution::new().threads(threads).start_pool().unwrap();
    let mut pairs = Vec::new();
    let work = |output: &Output<F>| {
        sweep_at((level, f64::INFINITY), output, queries, snapshot, k, plan)
            .map(|done| assert!(done))
    };
    Output::run(&pool, &Stop::default(), work, |message| {
        if let Message::Pairs(some) = message {
            pairs.extend(some.iter().map(|pair| [key_of(pair.a), key_of(pair.b)]));
        }
        ControlFlow::Continue(())
    })?;
    pairs.sort_unstable();
    Ok(pairs)
}

/// Parts of about equal length with these thresholds.
fn parts<F: Fingerprint>(thresholds: &[u32], listed_bits: u32) -> Vec<Part> {
    let count = thresholds.len() as u32;
    let part = |(number, &most): (u32, &u32)| {
        let (start, end) = (number * F::BITS / count, (number + 1) * F::BITS / count);
        let bits = end - start;
        let listed_bits = listed_bits.min(bits);
        let cut_bits = if number == 0 { 64 } else { bits.min(listed_bits + listed_bits % 5 * 2) };
        Part { listed_bits, cut_bits, ..Part::of_range::<F>(start, bits, most) }
    };
    (0..).zip(thresholds).map(part).collect()
}

/// The top of a table; other segments may have to be turned for it.
fn of_table(table: &Table, most: u32, listed_bits: u32) -> Part {
    let part = Part::of_table(table, most);
    let cut_bits = part.bits.min(MOST_BITS);
    Part { listed_bits: listed_bits.min(cut_bits), cut_bits, ..part }
}

#[derive(Clone, Debug)]
struct Case {
    counts: [usize; 2],
    asked: usize,
    seed: u64,
    kind: usize,
    size: u32,
    by: By,
    listed_bits: u32,
    together: u64,
    threads: usize,
}

/// What a sweep goes by.
#[derive(Clone, Debug)]
enum By {
    /// Parts of about equal length with these thresholds, of segments in this design and in
    /// another.
    Ranges(Vec<u32>, &'static str),
    /// The tops of the tables of the first segment, in this design, within such a radius.
    Tops(&'static str, u32),
}

fn check<F: Fingerprint>(case: &Case) {
    let Case { counts, asked, seed, kind, size, ref by, listed_bits, together, threads } = *case;
    let (design, k) = match by {
        By::Ranges(thresholds, design) => {
            (design, thresholds.iter().map(|most| most + 1).sum::<u32>() - 1)
        }
        By::Tops(design, k) => (design, *k),
    };
    let key = |word: u64| key_of(of_key::<F>(word));
    let set = |count, seed| -> Vec<u64> { set(count, seed, kind).into_iter().map(key).collect() };
    // Some stand in both segments.
    let mut sets = [set(counts[0], seed), set(counts[1], seed + 1)];
    let both = sets[0].iter().step_by(3).copied().collect::<Vec<_>>();
    sets[1].extend(both);
    let directory = tempfile::tempdir().unwrap();
    let store = store_of_packed::<F>(&directory.path().join("store"), 2, |number, path| {
        let design = if number == 0 { design } else { "halves" };
        let design = crate::Design::read(F::BITS, design).unwrap();
        let packer =
            Packer::new().width::<F>().layout(Layout::new().block_bytes(1 << size).design(design));
        packer.pack(path, sets[number].iter().map(|&key| of_key::<F>(key))).unwrap();
    });
    let all = sets.concat();
    let query = |i: u64| {
        let one = all[random(seed + i) as usize % all.len()];
        key(near(one, u64::from(k) + 2, seed ^ i))
    };
    let mut queries: Vec<u64> = (0..asked as u64).map(query).collect();
    queries.extend([0, key(u64::MAX), key(seed)]);
    queries.sort_unstable();
    queries.dedup();
    let mut expected: Vec<[u64; 2]> = Vec::new();
    for set in &mut sets {
        set.sort_unstable();
        set.dedup();
        for &query in &queries {
            let within = set.iter().filter(|&&stored| (stored ^ query).count_ones() <= k);
            expected.extend(within.map(|&stored| [query, stored]));
        }
    }
    expected.sort_unstable();
    let snapshot = store.snapshot();
    let parts = match by {
        By::Ranges(thresholds, _) => parts::<F>(thresholds, listed_bits),
        // No thresholds where a scan is less work.
        By::Tops(_, k) => snapshot.segments()[0].thresholds(*k).map_or_else(
            || vec![Part { cut_bits: 64, ..Part::of_range::<F>(0, F::BITS, *k) }],
            |tables| {
                tables.iter().map(|(table, most)| of_table(table, *most, listed_bits)).collect()
            },
        ),
    };
    let plan = SweepPlan { parts, together };
    for level in Level::all() {
        let found = pairs(level, &store.snapshot(), &queries, k, &plan, threads).unwrap();
        assert!(found == expected, "{level:?}: {} of {} pairs", found.len(), expected.len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn sweeps_by_any_parts_find_each_pair_of_a_segment_once(
        counts in [1usize..3000, 1usize..300], asked in 0usize..400, seed in any::<u64>(),
        kind in 0usize..5, size in 8u32..=13,
        by in prop_oneof![
            (prop::collection::vec(0u32..=3, 1..=3), prop::sample::select(&["single", "thirds"][..]))
                .prop_map(|(thresholds, design)| By::Ranges(thresholds, design)),
            (prop::sample::select(crate::Design::NAMES), 0u32..=6)
                .prop_map(|(design, k)| By::Tops(design, k)),
        ],
        listed_bits in 0u32..12, together in prop_oneof![Just(1 << 20), 1u64..2000],
        threads in 1usize..=3,
    ) {
        let case = Case { counts, asked, seed, kind, size, by, listed_bits, together, threads };
        check::<u64>(&case);
        check::<u32>(&case);
    }
}

#[test]
fn long_lists_and_dense_groups_are_cut_until_they_can_be_compared() {
    // All begin with the same bits, and end with others, or the other way round; more queries than
    // a list holds.
    let case = |kind| Case {
        counts: [10_000, 1000],
        asked: 17_000,
        seed: 49,
        kind,
        size: 10,
        by: By::Ranges(vec![1], "single"),
        listed_bits: 3,
        together: 1 << 20,
        threads: 2,
    };
    for kind in [2, 3] {
        check::<u64>(&case(kind));
        check::<u32>(&case(kind));
    }
}

#[test]
fn plans_cover_their_radius_with_parts_that_follow_each_other() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_of_packed::<u64>(&directory.path().join("store"), 1, |_, path| {
        Packer::new().pack(path, (0..100).map(random)).unwrap();
    });
    for k in 0..=20 {
        for queries in [0, 1, 1000, 1 << 20, u64::MAX] {
            let best = SweepPlan::best(&store.snapshot(), queries, k, 1 << 20, Costs::shipped());
            let Some((ns, plan)) = best else {
                assert!(k > 3 || queries == u64::MAX, "{k}");
                continue;
            };
            assert!(ns.is_finite() && ns > 0.0);
            assert_eq!(plan.parts.iter().map(|part| part.most + 1).sum::<u32>(), k + 1);
            let mut next = 0;
            for part in &plan.parts {
                assert_eq!(
                    part.turn(u64::MAX >> next) >> (64 - part.bits),
                    u64::MAX >> (64 - part.bits)
                );
                assert_eq!(part.turn_back(u64::MAX << (64 - part.bits)).leading_zeros(), next);
                next += part.bits;
            }
            assert_eq!(next, 64);
        }
    }
}

#[test]
fn queries_with_equal_bits_are_told() {
    let part = Part { listed_bits: 8, cut_bits: 16, ..Part::of_range::<u64>(32, 32, 1) };
    let skew = |keys: Vec<u64>| Queries::new(&keys, &part).skew();
    let uniform: Vec<u64> = (0..1 << 18).map(random).collect();
    assert!((0.5..2.0).contains(&skew(uniform.clone())));
    assert!((0.5..2.0).contains(&skew(uniform[..100].to_vec())));
    assert_eq!(skew(Vec::new()), 0.0);
    // Half of them in every second value, or a tenth in one.
    assert!(skew(uniform.iter().map(|key| key | 1 << 16).collect()) < 3.0);
    let alike = |(i, key): (usize, &u64)| if i % 10 == 0 { key >> 32 << 32 } else { *key };
    assert!(skew(uniform.iter().enumerate().map(alike).collect()) > 100.0);
}

#[test]
fn a_damaged_block_of_any_table_that_is_read_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let mut set: Vec<u64> = (0..20_000).map(random).collect();
    let packer =
        Packer::new().layout(Layout::new().design("quarters".parse().unwrap()).block_bytes(512));
    packer.pack(&path, set.iter().copied()).unwrap();
    set.sort_unstable();
    for table in 0..4 {
        let file = path.join(table_name(1, table));
        let whole = fs::read(&file).unwrap();
        let snapshot = Store::open(&path).unwrap().snapshot();
        let tables = snapshot.segments()[0].thresholds(3).unwrap();
        let parts = tables.iter().map(|(table, most)| of_table(table, *most, 8)).collect();
        let plan = SweepPlan { parts, together: 1 << 20 };
        let sweep = |snapshot| pairs(Level::best(), snapshot, &set, 3, &plan, 2);
        assert!(sweep(&snapshot).unwrap().len() >= set.len());
        let mut bytes = whole.clone();
        bytes[tables[table].0.geometry().block(3).start + 100] ^= 16;
        fs::write(&file, bytes).unwrap();
        let found = sweep(&Store::open(&path).unwrap().snapshot());
        let Err(Error::Corrupt { corruption, .. }) = found else { panic!("{table}: {found:?}") };
        assert!(matches!(corruption, Corruption::BlockChecksum { block: 3, .. }), "{corruption}");
        fs::write(&file, whole).unwrap();
    }
}
