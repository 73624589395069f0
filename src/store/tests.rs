//! Packs in little memory against packs in memory.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;

use super::options::{PackSummary, Packer};
use super::pack::Packing;
use crate::design::Design;
use crate::error::Result;
use crate::execution::{Execution, Phase};
use crate::format::LOCK_NAME;
use crate::planning::Layout;
use crate::storage::{Directory, Hold};

/// Packs with room for `capacity` fingerprints, twice; gives the summary and the files.
fn pack(
    packer: &Packer,
    set: &[u64],
    capacity: usize,
) -> Result<(PackSummary, BTreeMap<String, Vec<u8>>)> {
    let temporary = tempfile::tempdir().unwrap();
    let mut packing = packing(packer, temporary.path(), capacity)?;
    packing.extend(set)?;
    Ok((packing.finish()?, files(temporary.path())))
}

fn packing(packer: &Packer, path: &Path, capacity: usize) -> Result<Packing<u64, Directory>> {
    let storage = Directory::held(Arc::new(Hold::take(path)?), None);
    Packing::within(packer.clone(), path, Arc::new(storage), capacity)
}

/// As [`pack`], of pairs of a fingerprint and an id.
fn pack_pairs(
    packer: &Packer,
    pairs: &[[u64; 2]],
    capacity: usize,
) -> Result<(PackSummary, BTreeMap<String, Vec<u8>>)> {
    let temporary = tempfile::tempdir().unwrap();
    let mut packing = packing(packer, temporary.path(), capacity)?;
    let pairs: Vec<(u64, u64)> = pairs.iter().map(|&[fingerprint, id]| (fingerprint, id)).collect();
    packing.extend_with_ids(&pairs)?;
    Ok((packing.finish()?, files(temporary.path())))
}

fn files(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(path).unwrap().map(|entry| entry.unwrap());
    let entries = entries.filter(|entry| entry.file_name() != LOCK_NAME);
    entries.map(|e| (e.file_name().into_string().unwrap(), fs::read(e.path()).unwrap())).collect()
}

/// Uniform, dense and clustered fingerprints.
fn sets() -> impl Strategy<Value = Vec<u64>> {
    let one = prop_oneof![
        4 => any::<u64>(),
        1 => 0u64..300,
        1 => any::<u64>().prop_map(|fp| fp << 36),
        1 => (0u64..1000).prop_map(|fp| fp << 20 | 0xABCD << 48),
    ];
    prop::collection::vec(one, 0..2000)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_files_do_not_depend_on_the_memory(
        set in sets(),
        capacity in 8usize..1000,
        name in prop::sample::select([Design::NAMES, &["auto"]].concat()),
        block_bytes in prop::sample::select(vec![256u32, 512, 4096]),
    ) {
        let packer = match Design::named(name) {
            Some(design) => Packer::new().layout(Layout::new().design(design).block_bytes(block_bytes)),
            None => Packer::new(),
        };
        let (in_memory, expected) = pack(&packer, &set, usize::MAX).unwrap();
        let (spilled, found) = pack(&packer, &set, capacity).unwrap();
        prop_assert!(found == expected);
        prop_assert_eq!(spilled.tables, in_memory.tables);
        prop_assert_eq!((spilled.read, spilled.distinct), (in_memory.read, in_memory.distinct));
        prop_assert_eq!(in_memory.temporary_bytes, 0);
        let spills = set.len() > capacity;
        prop_assert_eq!(spilled.temporary_bytes > 0, spills);
    }

    #[test]
    fn the_files_of_ids_do_not_depend_on_the_memory(
        set in sets(),
        of_each in 1usize..20,
        most in prop::sample::select(vec![0u64, 1, 7, 1 << 20, u64::MAX]),
        capacity in 16usize..1000,
        name in prop::sample::select(&["single", "halves", "auto"][..]),
    ) {
        let packer = match Design::named(name) {
            Some(design) => Packer::new().layout(Layout::new().design(design).block_bytes(256)),
            None => Packer::new(),
        };
        // Some fingerprints come again, with another id or the same.
        let pairs: Vec<[u64; 2]> = set.iter().enumerate().map(|(i, fp)| {
            let of = set[i - i % of_each];
            [if fp % 3 == 0 { of } else { *fp }, fp.rotate_left(17) & most]
        }).collect();
        let (in_memory, expected) = pack_pairs(&packer, &pairs, usize::MAX).unwrap();
        let (spilled, found) = pack_pairs(&packer, &pairs, capacity).unwrap();
        prop_assert!(found == expected);
        prop_assert_eq!(&spilled.tables, &in_memory.tables);
        prop_assert_eq!((spilled.ids, spilled.id_bytes), (in_memory.ids, in_memory.id_bytes));
        prop_assert_eq!(in_memory.temporary_bytes, 0);
        prop_assert_eq!(spilled.temporary_bytes > 0, pairs.len() > (capacity / 2).max(8));
        // The tables are those of the fingerprints alone.
        let fingerprints: Vec<u64> = pairs.iter().map(|pair| pair[0]).collect();
        let (without, tables) = pack(&packer, &fingerprints, usize::MAX).unwrap();
        prop_assert_eq!((without.ids, without.id_bytes), (None, 0));
        let is_table = |name: &String| name.ends_with(".fpt");
        let tables: Vec<_> = tables.iter().filter(|(name, _)| is_table(name)).collect();
        prop_assert!(tables == found.iter().filter(|(name, _)| is_table(name)).collect::<Vec<_>>());
    }
}

#[test]
fn a_pack_that_is_cancelled_leaves_nothing() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("store");
    let set: Vec<u64> = (0..1_500_000u64).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15)).collect();
    // Cancelled at the n-th report of progress, until a pack ends before.
    let mut cancelled = 0;
    for n in (0..).step_by(7) {
        let (cancel, reports) = (Arc::new(AtomicBool::new(false)), AtomicU64::new(0));
        let flag = cancel.clone();
        let packer = Packer::new()
            .layout(Layout::new().design(Design::named("halves").unwrap()))
            .execution(Execution::new().memory(16 << 20).cancel(cancel).on_progress(move |_| {
                if reports.fetch_add(1, Ordering::Relaxed) == n {
                    flag.store(true, Ordering::Relaxed);
                }
            }));
        match packer.pack(&path, &set) {
            Err(crate::Error::Cancelled) => cancelled += 1,
            Err(error) => panic!("{error}"),
            Ok(summary) => {
                assert!(summary.temporary_bytes > 0);
                break;
            }
        }
        assert!(!path.exists(), "cancelled at report {n}");
    }
    assert!(cancelled > 2, "{cancelled}");
}

/// Panics at the n-th report of progress, until a pack ends before.
#[test]
fn a_pack_whose_progress_callback_panics_leaves_nothing() {
    use std::panic::{self, AssertUnwindSafe};
    use std::sync::atomic::{AtomicU64, Ordering};

    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("store");
    let set: Vec<u64> = (0..1_500_000u64).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15)).collect();
    for (memory, step) in [(16 << 20, 13), (1 << 30, 5)] {
        let mut panicked = 0;
        for n in (0..).step_by(step) {
            let reports = AtomicU64::new(0);
            let packer = Packer::new()
                .layout(Layout::new().design(Design::named("halves").unwrap()))
                .replace(true)
                .execution(Execution::new().memory(memory).on_progress(move |at| {
                    // Behind the commit there is a store.
                    let is_last = at.phase == Phase::Sync && at.done > 0;
                    if reports.fetch_add(1, Ordering::Relaxed) == n && !is_last {
                        panic!("of the callback, and expected");
                    }
                }));
            let pack = AssertUnwindSafe(|| packer.pack(&path, &set));
            let Ok(result) = panic::catch_unwind(pack) else {
                assert_eq!(fs::read_dir(temporary.path()).unwrap().count(), 0, "report {n}");
                panicked += 1;
                continue;
            };
            result.unwrap();
            break;
        }
        assert!(panicked > 2, "{panicked} within {memory}");
        fs::remove_dir_all(&path).unwrap();
    }
}

#[test]
fn a_session_whose_callback_panicked_takes_nothing_more() {
    use std::panic::{self, AssertUnwindSafe};

    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("store");
    let packer = Packer::new()
        .execution(Execution::new().memory(16 << 20).on_progress(|_| panic!("expected")));
    let mut session = packer.start(&path).unwrap();
    let set: Vec<u64> = (0..1_500_000).collect();
    panic::catch_unwind(AssertUnwindSafe(|| session.extend(&set))).unwrap_err();
    assert!(!path.exists(), "it waits for the session to go");
    assert!(matches!(session.extend(&[1]), Err(crate::Error::Ended)));
    assert!(matches!(session.finish(), Err(crate::Error::Ended)));
    assert!(!path.exists());
}
