//! Tails against lists of operations.

use std::ops::Range;

use proptest::prelude::*;

use super::writer::TailWriter;
use super::{Hidden, TailRecord};
use crate::format::{Change, Operation};
use crate::names::Naming;

/// What the first `count` operations leave, with windows in a range.
fn model(operations: &[Operation], windows: &Range<u64>) -> Vec<(u64, u64)> {
    let mut alive: Vec<Operation> = Vec::new();
    for operation in operations {
        match operation.change {
            Change::Insert => alive.push(*operation),
            Change::Delete => alive
                .retain(|old| (old.fingerprint, old.id) != (operation.fingerprint, operation.id)),
            Change::DeleteFingerprint => {
                alive.retain(|old| old.fingerprint != operation.fingerprint);
            }
        }
    }
    alive.retain(|old| windows.contains(&old.window));
    let mut pairs: Vec<_> = alive.iter().map(|old| (old.fingerprint, old.id)).collect();
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let change = prop_oneof![
        6 => Just(Change::Insert),
        1 => Just(Change::Delete),
        1 => Just(Change::DeleteFingerprint)
    ];
    // Near each other, or anywhere.
    let fingerprint = prop_oneof![
        (0u32..64, 0u32..64).prop_map(|(one, other)| 1u64 << one | 1 << other),
        any::<u64>(),
    ];
    let operation = (change, fingerprint, 0u64..4, 0u64..3);
    let operation = operation.prop_map(|(change, fingerprint, id, window)| Operation {
        change,
        fingerprint,
        id,
        window,
    });
    prop::collection::vec(operation, 0..400)
}

proptest! {
    #[test]
    fn a_view_is_what_its_operations_leave(
        operations in operations(),
        seen in 0usize..400,
        k in 0u32..=64,
        windows in (0u64..3, 0u64..4),
        capacity in 400usize..5000,
        indexed in 0u32..500,
    ) {
        let mut writer = TailWriter::new(7, capacity, None);
        let seen = seen.min(operations.len());
        writer.push(&operations[..seen]);
        let view = writer.view();
        writer.push(&operations[seen..]);
        // None of the records, some, or all.
        writer.index(indexed);
        prop_assert_eq!(view.next_sequence(), 7 + seen as u64);
        let windows = windows.0..windows.1;
        let view = view.within(windows.clone());
        let expected = model(&operations[..seen], &windows);
        let mut records: Vec<_> = view.records().map(|at| (at.fingerprint, at.id)).collect();
        records.sort_unstable();
        records.dedup();
        prop_assert_eq!(&records, &expected);
        for query in operations.iter().map(|at| at.fingerprint ^ 0b101).take(20) {
            let mut found = Vec::new();
            view.search(query, k, &mut |record| found.push((record.fingerprint, record.id)));
            found.sort_unstable();
            found.dedup();
            let near = |&&(stored, _): &&(u64, u64)| (stored ^ query).count_ones() <= k;
            let expected: Vec<_> = expected.iter().filter(near).copied().collect();
            prop_assert_eq!(found, expected);
        }
        for Operation { fingerprint, id, .. } in operations.iter().copied() {
            let later = |at: &Operation| at.fingerprint == fingerprint;
            let whole = |at: &Operation| later(at) && at.change == Change::DeleteFingerprint;
            let pair = |at: &Operation| later(at) && at.id == id && at.change == Change::Delete;
            let is_whole = operations[..seen].iter().any(whole);
            let hidden = view.hides(fingerprint, &Naming::Numbers).unwrap();
            prop_assert_eq!(hidden == Hidden::Whole, is_whole);
            let is_pair = is_whole || operations[..seen].iter().any(pair);
            let record = TailRecord { fingerprint, id, window: 0, operation: 0 };
            prop_assert_eq!(view.deletes(&record, &view), is_pair);
        }
    }
}

#[test]
fn a_full_tail_has_no_room_and_holds_all() {
    // All in one list of each part.
    let same = |id| Operation { change: Change::Insert, fingerprint: 5, id, window: 0 };
    for capacity in [1usize, 2, 3, 5, 64, 1000, 3000] {
        let mut writer = TailWriter::<u64>::new(1, capacity, None);
        for id in 0..capacity as u64 {
            assert_eq!(writer.room() as u64, capacity as u64 - id);
            writer.push(&[same(id)]);
        }
        assert_eq!(writer.room(), 0);
        for indexed in [0, 1, capacity / 2, capacity] {
            writer.index(indexed as u32);
            let mut found = Vec::new();
            writer.view().search(5, 3, &mut |record| found.push(record.id));
            found.sort_unstable();
            found.dedup();
            assert_eq!(found.len(), capacity);
        }
    }
}

/// What a reader looks at while others are added is what stood there when it began.
#[test]
fn readers_see_a_moment_while_a_writer_goes_on() {
    const COUNT: u64 = 4_000;
    let operation = |number: u64| {
        let fingerprint = (number % 97).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ number;
        let change = if number % 16 == 5 { Change::DeleteFingerprint } else { Change::Insert };
        Operation { change, fingerprint, id: number, window: 0 }
    };
    let writer = std::sync::Mutex::new(TailWriter::new(1, COUNT as usize, None));
    std::thread::scope(|scope| {
        for reader in 0..2 {
            let writer = &writer;
            scope.spawn(move || {
                let mut seen = 0;
                while seen < COUNT {
                    let view = writer.lock().unwrap().view();
                    seen = view.next_sequence() - 1;
                    let operations: Vec<Operation> = (0..seen).map(operation).collect();
                    let expected = model(&operations, &(0..1));
                    if reader == 0 {
                        let mut records: Vec<_> =
                            view.records().map(|at| (at.fingerprint, at.id)).collect();
                        records.sort_unstable();
                        assert_eq!(records, expected);
                        continue;
                    }
                    for query in operations.iter().rev().take(50).map(|at| at.fingerprint ^ 1) {
                        let mut found = Vec::new();
                        view.search(query, 3, &mut |at| found.push((at.fingerprint, at.id)));
                        found.sort_unstable();
                        found.dedup();
                        let near = |&&(stored, _): &&(u64, u64)| (stored ^ query).count_ones() <= 3;
                        assert_eq!(
                            found,
                            expected.iter().filter(near).copied().collect::<Vec<_>>()
                        );
                    }
                }
            });
        }
        for number in 0..COUNT {
            writer.lock().unwrap().push(&[operation(number)]);
        }
    });
}

#[test]
fn searches_index_what_they_look_at_and_one_search_does_not() {
    const COUNT: u64 = 20_000;
    let fingerprint = |id: u64| id.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut writer = TailWriter::<u64>::new(1, COUNT as usize, None);
    for id in 0..COUNT {
        let change = Change::Insert;
        writer.push(&[Operation { change, fingerprint: fingerprint(id), id, window: 0 }]);
    }
    let view = writer.view();
    let without = view.heap_bytes();
    let search = |id: u64| {
        let mut found = Vec::new();
        view.search(fingerprint(id) ^ 1, 1, &mut |record| found.push(record.id));
        found.dedup();
        assert_eq!(found, [id]);
    };
    let mut searches = 0;
    while writer.indexed() < COUNT as u32 - 64 {
        search(searches * 37 % COUNT);
        searches += 1;
        assert!(searches < 2000, "{} are indexed", writer.indexed());
    }
    assert!(searches > 100, "after {searches} searches all are indexed");
    assert!(view.heap_bytes() > without);
}
