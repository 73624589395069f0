//! An input is a list of operations on a living store. After each look at it, it holds what a set
//! of pairs holds that was changed in the same way, and finds what brute force finds there.
#![no_main]

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use fpstore::{Durability, Store, StoreOptions, Writer, WriterOptions};
use fpstore_fuzz::{Numbers, directory};
use libfuzzer_sys::fuzz_target;

/// Pairs of a fingerprint and an id.
type Model = BTreeSet<(u64, u64)>;

/// Few fingerprints, near each other and far, so that operations meet.
fn fingerprint(byte: u8) -> u64 {
    let center = u64::from(byte >> 4).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    center ^ 1 << (byte & 7) ^ u64::from(byte >> 3 & 1) << 60
}

fn options() -> WriterOptions<u64> {
    WriterOptions::new().background(false).tail_records(64).durability(Durability::Eventual)
}

fuzz_target!(|input: &[u8]| {
    let path = directory().join("living");
    let _ = std::fs::remove_dir_all(&path);
    let store = StoreOptions::new().writer(options());
    let mut writer: Option<Writer> = Some(store.create(&path).expect("a store is created"));
    let (mut model, mut numbers) = (Model::new(), Numbers(input));
    for _ in 0..200 {
        if numbers.0.is_empty() {
            break;
        }
        if step(&mut writer, &mut model, &mut numbers, &path).is_break() {
            break;
        }
    }
    if let Some(writer) = &writer {
        check(writer, &model, 3);
    }
    drop(writer);
    let store: Store = Store::open(&path).expect("the store is sound");
    store.verify().expect("the store is sound");
    let left: Vec<u64> = store.iter().map(|found| found.expect("the store is sound")).collect();
    let expected: BTreeSet<u64> = model.iter().map(|&(fingerprint, _)| fingerprint).collect();
    assert!(left.iter().eq(&expected), "{left:x?} are not {expected:x?}");
});

fn step(
    writer: &mut Option<Writer>,
    model: &mut Model,
    numbers: &mut Numbers<'_>,
    path: &std::path::Path,
) -> ControlFlow<()> {
    let Some(open) = writer else { return ControlFlow::Break(()) };
    let (kind, byte, id) = (numbers.byte(), numbers.byte(), numbers.byte());
    let (fingerprint, id) = (fingerprint(byte), u64::from(id % 16));
    match kind % 16 {
        0..5 => {
            open.insert(fingerprint, id).expect("an insertion");
            model.insert((fingerprint, id));
        }
        5 => {
            let pairs: Vec<_> = (0..id).map(|i| (fingerprint ^ i << 20, i)).collect();
            open.insert_batch(&pairs).expect("an insertion");
            model.extend(pairs);
        }
        6 | 7 => {
            open.delete(fingerprint, id).expect("a deletion");
            model.remove(&(fingerprint, id));
        }
        8 => {
            open.delete_fingerprint(fingerprint).expect("a deletion");
            model.retain(|pair| pair.0 != fingerprint);
        }
        9 => {
            let mut deleted = open.delete_id(id).expect("a deletion");
            deleted.sort_unstable();
            let expected = model.iter().filter(|pair| pair.1 == id).map(|pair| pair.0);
            assert!(expected.eq(deleted), "delete_id");
            model.retain(|pair| pair.1 != id);
        }
        10 => open.flush().expect("a flush"),
        11 => open.merge().expect("a merge"),
        12 => open.merge_all().expect("a merge"),
        13 => {
            if let Some(open) = writer.take() {
                // Closed, or left as it is.
                if id.is_multiple_of(2) { open.close().expect("an end") } else { drop(open) }
            }
            *writer = Some(options().open(path).expect("the store is opened again"));
        }
        _ => check(open, model, u32::from(byte % 5)),
    }
    ControlFlow::Continue(())
}

fn check(writer: &Writer, model: &Model, k: u32) {
    let snapshot = writer.snapshot();
    let mut pairs = Vec::new();
    for found in snapshot.iter_with_ids::<u64>() {
        let (fingerprint, ids) = found.expect("the store is sound");
        pairs.extend(ids.map(|id| (fingerprint, id.expect("the store is sound"))));
    }
    assert!(pairs.iter().eq(model), "{pairs:x?} are not {model:x?}");
    for byte in [0u8, 17, 0x48, 0xFF] {
        let query = fingerprint(byte);
        let found = snapshot.search(query, k).expect("the store is sound");
        let mut found: Vec<u64> = found.iter().map(|found| found.fingerprint).collect();
        found.sort_unstable();
        let near: BTreeSet<u64> = model.iter().map(|pair| pair.0).collect();
        let near = near.into_iter().filter(|near| (near ^ query).count_ones() <= k);
        assert!(near.eq(found), "{query:x} within {k}");
    }
}
