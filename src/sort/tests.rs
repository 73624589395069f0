//! The external sort against the sort in memory, with buffers of a few records.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::design::Design;
use crate::error::Result;
use crate::permute::Permutation;

fn create() -> Result<Memory> {
    Ok(Memory::default())
}

fn sorted_in_runs<R: crate::record::Record>(records: &[R], capacity: usize) -> Vec<R> {
    let mut sorter = Sorter::new(capacity);
    for piece in records.chunks(7) {
        let mut rest = sorter.fill(piece);
        while !rest.is_empty() {
            sorter.spill(&create).unwrap();
            rest = sorter.fill(rest);
        }
    }
    match sorter.finish(&create).unwrap() {
        Sorted::Memory(set, _) => {
            assert!(records.len() <= capacity);
            set
        }
        Sorted::Runs(runs) => {
            assert!(records.len() > capacity);
            let mut all = Vec::new();
            let mut sink = |records: &[R]| {
                assert!(records.len() <= capacity);
                all.extend_from_slice(records);
                Ok(())
            };
            runs.merge(&mut sink).unwrap();
            all
        }
    }
}

fn permuted_in_parts(set: &[u64], top: &[crate::format::BitRange], capacity: usize) -> Vec<u64> {
    let permutation = Permutation::new(top);
    let file = Memory::default();
    write(&file, set, 0).unwrap();
    let extent = Extent { at: 0, len: set.len() as u64 };
    let mut counts = Counts::new(permutation.top_bits());
    counts.add(set, |fp| permutation.key(fp));
    let mut buffers = Buffers { keys: vec![0; capacity], sorted: vec![0; capacity] };
    let mut seen = Vec::new();
    let mut parts = TableParts::new(
        (&|keys, at| read(&file, keys, at), extent),
        &permutation,
        &counts,
        &mut buffers,
        &create,
        &mut |piece| {
            seen.extend_from_slice(piece);
            Ok(())
        },
    )
    .unwrap();
    assert!(seen == set);
    let visits = [(); 2].map(|()| {
        let mut all = Vec::new();
        let mut sink = |keys: &[u64]| {
            assert!(keys.len() <= capacity);
            all.extend_from_slice(keys);
            Ok(())
        };
        parts.visit(&mut buffers, &create, &mut sink).unwrap();
        all
    });
    assert!(visits[0] == visits[1]);
    visits.into_iter().next().unwrap()
}

/// Uniform, narrow, and clustered fingerprints.
fn fingerprints() -> impl Strategy<Value = Vec<u64>> {
    let one = prop_oneof![
        3 => any::<u64>(),
        2 => 0u64..50,
        2 => any::<u64>().prop_map(|fp| fp << 40),
        1 => (0u64..1000).prop_map(|fp| fp << 20 | 0xABCD << 48),
    ];
    prop::collection::vec(one, 0..600)
}

proptest! {
    #[test]
    fn runs_merge_to_what_memory_sorts(records in fingerprints(), capacity in 8usize..200) {
        let expected: Vec<u64> = BTreeSet::from_iter(records.iter().copied()).into_iter().collect();
        prop_assert_eq!(sorted_in_runs(&records, capacity), expected);
    }

    #[test]
    fn runs_of_pairs_merge_by_fingerprint_and_id(records in fingerprints(), capacity in 8usize..200) {
        let pairs: Vec<[u64; 2]> =
            records.iter().enumerate().map(|(i, &fp)| [fp, i as u64 % 5]).collect();
        let expected: Vec<[u64; 2]> = BTreeSet::from_iter(pairs.iter().copied()).into_iter().collect();
        prop_assert_eq!(sorted_in_runs(&pairs, capacity), expected);
    }

    #[test]
    fn parts_give_the_table_that_memory_sorts(
        records in fingerprints(),
        capacity in 1usize..200,
        name in prop::sample::select(Design::NAMES),
        table in any::<prop::sample::Index>(),
    ) {
        let set: Vec<u64> = BTreeSet::from_iter(records).into_iter().collect();
        let design = Design::named(name).unwrap();
        let top = table.get(design.tops());
        let mut expected = vec![0; set.len()];
        sort_permuted(&set, &Permutation::new(top), &mut expected);
        prop_assert_eq!(permuted_in_parts(&set, top, capacity), expected);
    }
}

#[test]
fn ascending_and_descending_input_is_sorted_as_any_other() {
    let ascending: Vec<u64> = (0..5000).map(|i| i << 30).collect();
    let descending: Vec<u64> = ascending.iter().rev().copied().collect();
    for capacity in [10, 100, 999, 4999] {
        assert!(sorted_in_runs(&ascending, capacity) == ascending);
        assert!(sorted_in_runs(&descending, capacity) == ascending);
    }
}

#[test]
fn equal_tops_of_any_number_need_no_memory() {
    // All keys of the second half have the same top.
    let set: Vec<u64> = (0..3000u64).map(|i| i << 32 | 7).collect();
    let design = Design::named("halves").unwrap();
    let top = &design.tops()[1];
    let expected: Vec<u64> = (0..3000u64).map(|i| 7 << 32 | i).collect();
    assert!(permuted_in_parts(&set, top, 100) == expected);
}
