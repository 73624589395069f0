//! Exchanges of any shape against brute force.

use std::collections::BTreeSet;

use fpstore::query::Pair;
use fpstore::{Execution, Fingerprint};

use proptest::prelude::*;

use super::*;

/// The finalizer of splitmix64.
fn random(at: u64) -> u64 {
    let mixed = at.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ mixed >> 31
}

/// Fingerprints near a few centres, some of them repeated.
fn clustered<F: Fingerprint>(count: usize, seed: u64, centres: u64) -> Vec<F> {
    let random = |i: u64| random(seed ^ i << 12);
    let near = |i: u64| {
        let centre = random((1 << 40) + random(i) % centres);
        let mut own = F::Bytes::default();
        for (number, bytes) in (0u64..).zip(own.as_mut().chunks_mut(8)) {
            bytes.copy_from_slice(&random(centre ^ number << 44).to_be_bytes()[..bytes.len()]);
        }
        for flip in 0..random(i) >> 32 & 7 {
            let bit = (random(i) >> (8 * flip)) as usize % F::BITS as usize;
            own.as_mut()[bit / 8] ^= 1 << (bit % 8);
        }
        F::from_be_bytes(own)
    };
    (0..count as u64).map(near).collect()
}

fn brute_force<F: Fingerprint>(list: &[F], k: u32) -> Vec<Pair<F>> {
    let set: Vec<F> = list.iter().copied().collect::<BTreeSet<F>>().into_iter().collect();
    let pairs = set.iter().enumerate().flat_map(|(at, &a)| {
        set[at + 1..].iter().map(move |&b| Pair { a, b, distance: a.distance(b) })
    });
    pairs.filter(|pair| pair.distance <= k).collect()
}

/// Sends in pieces, joins every unit, and gives all pairs, sorted.
fn spread<F: Fingerprint>(exchange: &Exchange<F>, list: &[F]) -> Vec<Pair<F>> {
    let mut received = vec![[Vec::new(), Vec::new()]; exchange.unit_count()];
    for piece in list.chunks(150) {
        for table in 0..exchange.tables().table_count() {
            for (to, places) in exchange.send(table, piece).iter() {
                let sent = places.iter().map(|&place| piece[place as usize]);
                received[to.unit as usize][usize::from(to.side)].extend(sent);
                assert!((exchange.task(to.unit) as usize) < exchange.task_count());
            }
        }
    }
    let (mut pairs, execution) = (Vec::new(), Execution::new().threads(1));
    for (unit, [left, right]) in received.into_iter().enumerate() {
        let take = |some: &[Pair<F>]| pairs.extend_from_slice(some);
        exchange.join(unit as u32, left, right, &execution, take).unwrap();
    }
    pairs.sort_unstable();
    // Equal ones meet in one unit.
    let mut homes = vec![0; list.len()];
    let sent = exchange.send(0, list);
    for (to, places) in sent.iter().filter(|(to, _)| exchange.is_home(to.unit)) {
        assert_eq!(to.side, 0);
        places.iter().for_each(|&place| homes[place as usize] += 1);
    }
    assert!(homes.iter().all(|&count| count == 1));
    pairs
}

/// Every cell with more than `most` fingerprints, as a census would count them.
fn heavy<F: Fingerprint>(tables: &JoinTables<F>, list: &[F], most: u64) -> Vec<HeavyCell> {
    let mut heavy = Vec::new();
    for table in 0..tables.table_count() {
        let mut counts = vec![0u64; tables.cell_count(table)];
        list.iter().for_each(|&one| counts[tables.cell(table, one)] += 1);
        let cells = (0..).zip(counts).filter(|(_, count)| *count > most);
        heavy.extend(cells.map(|(cell, rows)| HeavyCell { table: table as u32, cell, rows }));
    }
    heavy
}

fn check<F: Fingerprint>(
    count: usize,
    seed: u64,
    centres: u64,
    (k, more): (u32, u32),
    tasks: u32,
    scale: u64,
) {
    let list = clustered::<F>(count, seed, centres);
    let tables = JoinTables::new(k, k + 1 + more).unwrap();
    // Counts that are said too high split cells further.
    let mut cells = heavy(&tables, &list, 6);
    cells.iter_mut().for_each(|cell| cell.rows *= scale);
    let exchange = Exchange::new(tables, count as u64, tasks, &cells).unwrap();
    assert_eq!(spread(&exchange, &list), brute_force(&list, k), "{} bits, {exchange:?}", F::BITS);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn all_units_together_give_each_pair_once(
        count in 0usize..400, seed in any::<u64>(), centres in 1u64..40, k in 0u32..6, more in 0u32..3,
        tasks in 1u32..60, scale in prop_oneof![Just(1u64), Just(3)],
    ) {
        check::<u64>(count, seed, centres, (k, more), tasks, scale);
        check::<u32>(count, seed, centres, (k, more), tasks, scale);
        check::<u128>(count / 2, seed, centres, (k, more), tasks, scale);
        check::<[u64; 4]>(count / 2, seed, centres, (k, more), tasks, scale);
    }
}

#[test]
fn a_radius_of_31_takes_32_tables_of_256_bits() {
    check::<[u64; 4]>(300, 7, 5, (31, 0), 64, 1);
}

#[test]
fn the_designs_of_the_paper_are_among_the_choices() {
    let of = |parts| JoinTables::<u64>::new(3, parts).unwrap();
    let shapes = [4, 5, 6].map(|parts| (of(parts).table_count(), of(parts).top_bits()));
    assert_eq!(shapes, [(4, 16), (10, 25), (20, 31)]);
}

#[test]
fn tables_and_tasks_that_cannot_be_are_refused() {
    for (k, parts) in [(3, 3), (3, 65), (8, 20), (64, 65)] {
        let error = JoinTables::<u64>::new(k, parts).unwrap_err().to_string();
        assert!(error.starts_with(&format!("parts cannot be {parts}: ")), "{error}");
    }
    let tables = JoinTables::<u64>::new(3, 4).unwrap();
    for (tasks, cell) in [(0, 0), (u32::MAX, 0), (1, 1 << 16)] {
        let heavy = HeavyCell { table: 3, cell, rows: 1 };
        assert!(Exchange::new(tables.clone(), 10, tasks, &[heavy]).is_err());
    }
    let exchange = Exchange::new(tables, 10, 4, &[]).unwrap();
    let (one, none) = (vec![1], Vec::new());
    assert!(exchange.join(4, one, none, &Execution::new(), |_| {}).is_err());
}

#[test]
fn counts_of_any_size_take_bounded_memory() {
    let all = (0..4).flat_map(|table| (0..100).map(move |cell| (table, cell)));
    let heavy: Vec<_> =
        all.map(|(table, cell)| HeavyCell { table, cell, rows: u64::MAX >> 16 }).collect();
    let tables = JoinTables::<u64>::new(3, 4).unwrap();
    let exchange = Exchange::new(tables, 1 << 20, 1 << 16, &heavy).unwrap();
    assert!(exchange.unit_count() <= (1 << 16) + (1 << 22));
    assert!(exchange.task_count() <= (1 << 16) + (1 << 20));
    assert!(exchange.split_count() > 100);
}

#[test]
fn a_cell_with_most_of_a_set_becomes_tasks_of_about_as_much_work() {
    for (rows, cell_rows) in [(1_000_000, 15_000), (1_000_000, 60_000), (1_000_000, 400_000)] {
        let tables = JoinTables::<u64>::new(3, 4).unwrap();
        let heavy = HeavyCell { table: 1, cell: 77, rows: cell_rows };
        let exchange = Exchange::new(tables, rows, 32, &[heavy]).unwrap();
        assert_eq!(exchange.split_count(), 1);
        let mut loads = exchange.loads().to_vec();
        loads.sort_by(f64::total_cmp);
        let (most, median) = (loads[loads.len() - 1], loads[loads.len() / 2]);
        assert!(most <= 2.0 * median, "{cell_rows}: {most} {median} of {}", loads.len());
        // Shares are received several times, so that it may be a little more than three times what
        // is wished.
        assert!((33..110).contains(&loads.len()), "{cell_rows}: {}", loads.len());
    }
}
