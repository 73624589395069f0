//! Stops a pack at every one of its file operations, and opens what a crash there can leave.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use super::Store;
use super::options::Packer;
use super::pack::Packing;
use super::simulated::{
    Fault, Files, Kept, Simulated, Step, Survives, moments, open, stop_everywhere,
};
use crate::design::Design;
use crate::error::Error;
use crate::planning::Layout;

fn packer() -> Packer {
    Packer::new().layout(Layout::new().design(Design::named("thirds").unwrap()).block_bytes(256))
}

fn pack(storage: &Simulated, set: &[u64]) -> Result<(), Error> {
    pack_within(storage, set, usize::MAX)
}

fn packing(storage: &Simulated, capacity: usize) -> Result<Packing<u64, Simulated>, Error> {
    Packing::within(packer(), Path::new("simulated"), Arc::new(storage.clone()), capacity)
}

/// As [`pack_within`], with one to three ids for each fingerprint.
fn pack_with_ids(storage: &Simulated, set: &[u64], capacity: usize) -> Result<(), Error> {
    let pairs: Vec<(u64, u64)> =
        set.iter().flat_map(|&fp| (0..1 + fp % 3).map(move |id| (fp, fp % 1000 + id))).collect();
    let mut packing = packing(storage, capacity)?;
    packing.extend_with_ids(&pairs)?;
    packing.finish().map(drop)
}

/// Packs with room for `capacity` fingerprints, twice.
fn pack_within(storage: &Simulated, set: &[u64], capacity: usize) -> Result<(), Error> {
    let mut packing = packing(storage, capacity)?;
    packing.extend(set)?;
    packing.finish().map(drop)
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
    let pack = |storage: &Simulated| pack(storage, &new_set(), capacity);
    let spills = capacity < usize::MAX;
    for (place, before, old) in befores() {
        println!("{place}");
        assert_eq!(open(&before), old);
        let (steps, _) = moments(&before, pack);
        let kinds: HashSet<_> = steps.iter().map(std::mem::discriminant).collect();
        // Create, write, sync, rename, sync of the directory; remove where there is an older store
        // or a temporary file, and write to that.
        let removes = usize::from(old.is_some() || spills);
        assert_eq!(kinds.len(), 5 + removes + usize::from(spills));
        stop_everywhere(&before, pack, open);
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
