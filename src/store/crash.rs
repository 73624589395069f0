//! Stops a pack at every one of its file operations, and opens what a crash there can leave.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::path::Path;

use super::intake::Intake;
use super::options::Packer;
use super::simulated::{Fault, Files, Kept, Simulated, State, Step, Survives};
use super::{OpenOptions, Store};
use crate::design::Design;
use crate::error::Error;

/// A directory with these files.
fn directory(files: &Files) -> Simulated {
    Simulated::new(State::of(files))
}

/// One whose operation `stop` fails, and all later ones as well if it `stays_down`, as after a kill.
fn failing(files: &Files, stop: usize, stays_down: bool) -> Simulated {
    let mut left = stop + 1;
    directory(files).with_plan(move |step| {
        if matches!(step, Step::Read(_)) || left == 0 {
            return Fault::None;
        }
        left -= 1;
        match (left, stays_down) {
            (0, true) => Fault::Down,
            (0, false) => Fault::Full,
            _ => Fault::None,
        }
    })
}

/// The operations of a pack, and what there was before each of them and at the end.
fn moments(
    before: &Files,
    pack: impl Fn(&Simulated) -> Result<(), Error>,
) -> (Vec<Step>, Vec<State>) {
    let storage = directory(before).with_memory();
    pack(&storage).unwrap();
    let (mut states, steps): (Vec<State>, Vec<Step>) = storage.take_moments().into_iter().unzip();
    states.push(storage.state());
    (steps, states)
}

/// What stands in a directory with these files.
fn open(files: &Files) -> Option<Vec<u64>> {
    let temporary = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        fs::write(temporary.path().join(name), bytes).unwrap();
    }
    match OpenOptions::new().in_memory(true).open(temporary.path()) {
        Ok(store) => {
            let report = store.verify().unwrap();
            assert_eq!(store.has_ids(), report.ids > 0);
            Some(store.iter().collect::<Result<_, _>>().unwrap())
        }
        Err(Error::NotAStore { .. }) => None,
        Err(error) => panic!("a half store: {error}"),
    }
}

fn packer() -> Packer {
    Packer::new().design(Design::named("thirds").unwrap()).block_bytes(256)
}

fn pack(storage: &Simulated, set: &[u64]) -> Result<(), Error> {
    pack_within(storage, set, usize::MAX)
}

/// As [`pack_within`], with one to three ids for each fingerprint.
fn pack_with_ids(storage: &Simulated, set: &[u64], capacity: usize) -> Result<(), Error> {
    let pairs: Vec<[u64; 2]> =
        set.iter().flat_map(|&fp| (0..1 + fp % 3).map(move |id| [fp, fp % 1000 + id])).collect();
    let mut intake = Intake::new(packer(), Path::new("simulated"), storage.clone(), capacity);
    let standing = intake.pack.clear()?;
    intake.admit(true)?;
    let mut rest = intake.fill_pairs(&pairs);
    while !rest.is_empty() {
        intake.spill(&standing)?;
        rest = intake.fill_pairs(rest);
    }
    intake.sort()?.write(standing)?.commit().map(|_| ())
}

/// Packs with room for `capacity` fingerprints, twice.
fn pack_within(storage: &Simulated, set: &[u64], capacity: usize) -> Result<(), Error> {
    let mut intake = Intake::new(packer(), Path::new("simulated"), storage.clone(), capacity);
    let standing = intake.pack.clear()?;
    intake.admit(false)?;
    let mut rest = intake.fill(set);
    while !rest.is_empty() {
        intake.spill(&standing)?;
        rest = intake.fill(rest);
    }
    intake.sort()?.write(standing)?.commit().map(|_| ())
}

/// Room for fewer fingerprints than the new set has.
const SMALL: usize = 150;
const OLD: [u64; 3] = [1, 2, 3];

fn new_set() -> Vec<u64> {
    (0..400u64).map(|i| i << 50 | i).collect()
}

/// The directory before: nothing, or an older store with what a stopped pack left beside it.
fn befores() -> [(&'static str, Files, Option<Vec<u64>>); 2] {
    let directory = Simulated::default();
    pack(&directory, &OLD).unwrap();
    let mut files = directory.files();
    files.insert(".tmp-fpstore-manifest".to_string(), vec![1, 2, 3]);
    files.insert("segment-0000000000000002-table-000.fpt".to_string(), vec![0; 100]);
    files.insert("segment-0000000000000002-ids.fpi".to_string(), vec![0; 100]);
    [("fresh", Files::new(), None), ("over an older store", files, Some(OLD.to_vec()))]
}

#[test]
fn a_pack_stopped_at_any_operation_leaves_no_store_or_the_old_one_or_the_new_one() {
    for capacity in [usize::MAX, SMALL] {
        stop_packs_at_any_operation(pack_within, capacity);
    }
}

#[test]
fn a_pack_with_ids_stopped_at_any_operation_leaves_no_store_or_the_old_one_or_the_new_one() {
    // Room for as many pairs as there are others for fingerprints, lest there be too many runs.
    for capacity in [usize::MAX, 4 * SMALL] {
        stop_packs_at_any_operation(pack_with_ids, capacity);
    }
}

type Pack = fn(&Simulated, &[u64], usize) -> Result<(), Error>;

fn stop_packs_at_any_operation(pack: Pack, capacity: usize) {
    let pack = |storage: &Simulated, set: &[u64]| pack(storage, set, capacity);
    let spills = capacity < usize::MAX;
    for (place, before, old) in befores() {
        let (steps, states) = moments(&before, |storage| pack(storage, &new_set()));
        let kinds: HashSet<_> = steps.iter().map(std::mem::discriminant).collect();
        // Create, write, sync, rename, sync of the directory; remove where there is an older store
        // or a temporary file, and write to that.
        let removes = usize::from(old.is_some() || spills);
        assert_eq!(kinds.len(), 5 + removes + usize::from(spills));
        let mut seen = [0, 0];
        for (stop, state) in states.iter().enumerate() {
            // An error at this operation: the pack cleans up as far as it can.
            for stays_down in [false, true] {
                let storage = failing(&before, stop, stays_down);
                let result = pack(&storage, &new_set());
                let found = open(&storage.files());
                let is_new = found.as_deref() == Some(&new_set()[..]);
                assert!(is_new || found == old, "{place}, stopped at {stop}: {found:?}");
                assert!(
                    is_new || result.is_err(),
                    "{place}, stopped at {stop}: success without a store"
                );
                if !stays_down && !is_new {
                    let names = |files: &Files| files.keys().cloned().collect::<BTreeSet<_>>();
                    let left = names(&storage.files());
                    assert!(
                        left.is_subset(&names(&before)),
                        "{place}, stopped at {stop}: {left:?} is left"
                    );
                }
            }
            // A power failure after it.
            for bits in 0..12 {
                let data = [Kept::Nothing, Kept::Half, Kept::All][bits / 4];
                let [names, renames] =
                    [1, 2].map(|bit| if bits & bit > 0 { Kept::All } else { Kept::Nothing });
                let survives = Survives { data, names, renames, seed: 0 };
                let found = open(&state.after_crash(survives).files());
                let is_new = found.as_deref() == Some(&new_set()[..]);
                assert!(
                    is_new || found == old,
                    "{place}, crash after {stop}, {survives:?}: {found:?}"
                );
                seen[usize::from(is_new)] += 1;
            }
        }
        println!("{place}: {} operations, crashes that left old and new: {seen:?}", steps.len());
        assert!(seen.iter().all(|&count| count > 0));
    }
}

#[test]
fn every_rename_stands_behind_the_syncs_that_it_needs() {
    for ((place, before, _), pack) in befores()
        .into_iter()
        .flat_map(|before| [pack_within, pack_with_ids].map(|p| (before.clone(), p as Pack)))
    {
        let (log, _) = moments(&before, |storage| pack(storage, &new_set(), usize::MAX));
        let renames: Vec<_> =
            (0..log.len()).filter(|&at| matches!(log[at], Step::Rename(..))).collect();
        assert_eq!(renames.len(), 1, "{place}: one rename makes the store visible");
        let (earlier, later) = log.split_at(renames[0]);
        let last = |wanted: &Step| earlier.iter().rposition(|step| step == wanted);
        let directory_synced = last(&Step::SyncDirectory).unwrap();
        for operation in earlier {
            if let Step::Write(name) = operation {
                let synced = last(&Step::Sync(name.clone())).unwrap();
                assert!(
                    last(operation).unwrap() < synced,
                    "{place}: {name} is written after its sync"
                );
                if name.ends_with(".fpt") || name.ends_with(".fpi") {
                    let created = last(&Step::Create(name.clone())).unwrap();
                    assert!(
                        created < directory_synced,
                        "{place}: the name of {name} is not durable"
                    );
                }
            }
        }
        assert_eq!(later[1], Step::SyncDirectory, "{place}: the rename is made durable at once");
        let removed = later[2..].iter().all(|operation| matches!(operation, Step::Remove(_)));
        assert!(removed, "{place}: old files go last: {later:?}");
    }
}

#[test]
fn a_pack_after_a_crash_leaves_nothing_behind() {
    let packs: [(Pack, usize); 4] = [
        (pack_within, usize::MAX),
        (pack_within, SMALL),
        (pack_with_ids, usize::MAX),
        (pack_with_ids, 4 * SMALL),
    ];
    for ((whole_pack, capacity), (place, before, _)) in
        packs.into_iter().flat_map(|packed| befores().map(|before| (packed, before)))
    {
        let (_, states) = moments(&before, |storage| whole_pack(storage, &new_set(), capacity));
        for (stop, state) in states.into_iter().enumerate() {
            let storage = Simulated::new(state.after_crash(Survives::all(Kept::All)));
            pack(&storage, &[7, 8]).unwrap();
            let files = storage.files();
            assert_eq!(open(&files), Some(vec![7, 8]), "{place}, after a crash at {stop}");
            assert_eq!(files.len(), 4, "{place}, after a crash at {stop}: {:?}", files.keys());
        }
    }
}

/// The check above can fail: without its sync, a table is found cut short.
#[test]
fn the_simulation_notices_a_missing_sync() {
    let without = |unwanted: fn(&Step) -> bool, survives: Survives| {
        let plan = move |step: &Step| if unwanted(step) { Fault::Lies } else { Fault::None };
        let storage = Simulated::default().with_plan(plan);
        pack(&storage, &new_set()).unwrap();
        let temporary = tempfile::tempdir().unwrap();
        for (name, bytes) in storage.state().after_crash(survives).files() {
            fs::write(temporary.path().join(name), bytes).unwrap();
        }
        Store::open(temporary.path()).is_ok()
    };
    let lost_data = Survives { data: Kept::Nothing, ..Survives::all(Kept::All) };
    assert!(without(|_| false, lost_data));
    let table_sync = |step: &Step| matches!(step, Step::Sync(name) if name.ends_with(".fpt"));
    assert!(!without(table_sync, lost_data));
    let lost_names = Survives { names: Kept::Nothing, ..Survives::all(Kept::All) };
    assert!(!without(|step| matches!(step, Step::SyncDirectory), lost_names));
}
