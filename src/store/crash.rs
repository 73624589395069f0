//! Stops a pack at every one of its file operations, and rebuilds what a crash there can leave.
//!
//! [`Simulated`] is a directory in memory that logs its operations. From a prefix of the log,
//! [`after_crash`] makes the directory that a file system may show after a power failure: what was
//! not synced may be lost or kept, separately for the bytes of files and for names.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::intake::Intake;
use super::options::Packer;
use super::{OpenOptions, Store};
use crate::design::Design;
use crate::error::Error;
use crate::sort::Spill;
use crate::storage::Storage;

type Files = BTreeMap<String, Vec<u8>>;

#[derive(Clone, Debug, PartialEq)]
enum Operation {
    Create(String),
    Write(String, Vec<u8>),
    WriteAt(String, u64, Vec<u8>),
    Sync(String),
    Rename(String, String),
    SyncDirectory,
    Remove(String),
}

/// A directory in memory, which fails from one of its operations on.
#[derive(Clone, Default)]
struct Simulated {
    before: Files,
    log: Arc<Mutex<Vec<Operation>>>,
    /// Number of operations that still succeed.
    left: Arc<AtomicUsize>,
    /// Whether the operations after the one that fails fail as well, as after a kill.
    stays_down: bool,
    failed: Arc<AtomicBool>,
    spills: Arc<AtomicUsize>,
}

struct SimulatedFile {
    directory: Simulated,
    name: String,
    is_temporary: bool,
}

impl Simulated {
    fn new(before: &Files, operations: usize, stays_down: bool) -> Self {
        let left = Arc::new(AtomicUsize::new(operations));
        Self { before: before.clone(), left, stays_down, ..Self::default() }
    }

    fn perform(&self, operation: Operation) -> io::Result<()> {
        let mut log = self.log.lock().unwrap();
        if self.failed.load(Ordering::Relaxed) {
            if self.stays_down {
                return Err(io::Error::other("down"));
            }
        } else if self.left.load(Ordering::Relaxed) == 0 {
            self.failed.store(true, Ordering::Relaxed);
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        } else {
            self.left.fetch_sub(1, Ordering::Relaxed);
        }
        log.push(operation);
        Ok(())
    }

    /// The files as a program sees them.
    fn files(&self) -> Files {
        after_crash(
            &self.before,
            &self.log.lock().unwrap(),
            Survives { data: Data::All, names: true, renames: true },
        )
    }
}

impl Write for SimulatedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.directory.perform(Operation::Write(self.name.clone(), bytes.to_vec()))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Spill for SimulatedFile {
    fn write_at(&self, bytes: &[u8], at: u64) -> Result<(), Error> {
        let operation = Operation::WriteAt(self.name.clone(), at, bytes.to_vec());
        self.directory.perform(operation).map_err(Error::io(&self.name, "write"))
    }

    fn read_at(&self, bytes: &mut [u8], at: u64) -> Result<(), Error> {
        let file = self.directory.read(&self.name).map_err(Error::io(&self.name, "read"))?;
        bytes.copy_from_slice(&file[at as usize..][..bytes.len()]);
        Ok(())
    }
}

impl Drop for SimulatedFile {
    fn drop(&mut self) {
        if self.is_temporary {
            let _ = self.directory.remove(&self.name);
        }
    }
}

impl Storage for Simulated {
    type File = SimulatedFile;
    type Spill = SimulatedFile;

    fn names(&self) -> io::Result<Vec<String>> {
        Ok(self.files().into_keys().collect())
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        self.files().remove(name).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn create(&self, name: &str) -> io::Result<SimulatedFile> {
        if self.files().contains_key(name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        self.perform(Operation::Create(name.to_string()))?;
        Ok(SimulatedFile { directory: self.clone(), name: name.to_string(), is_temporary: false })
    }

    fn spill(&self) -> Result<SimulatedFile, Error> {
        let name = format!(".tmp-fpstore-{:06}", self.spills.fetch_add(1, Ordering::Relaxed));
        let file = self.create(&name).map_err(Error::io(&name, "create"))?;
        Ok(SimulatedFile { is_temporary: true, directory: file.directory.clone(), name })
    }

    fn sync(&self, file: &mut SimulatedFile) -> io::Result<()> {
        self.perform(Operation::Sync(file.name.clone()))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.perform(Operation::Rename(from.to_string(), to.to_string()))
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.perform(Operation::SyncDirectory)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.perform(Operation::Remove(name.to_string()))
    }

    fn remove_leftover(&self, name: &str) -> io::Result<()> {
        self.remove(name)
    }
}

/// What a crash keeps of the bytes that were not synced.
#[derive(Clone, Copy, Debug)]
enum Data {
    None,
    Half,
    All,
}

/// What a crash keeps of that which was not synced.
#[derive(Clone, Copy, Debug)]
struct Survives {
    /// The bytes of files.
    data: Data,
    /// Names that were created or removed.
    names: bool,
    /// Renames.
    renames: bool,
}

/// The files after `log` and a crash.
fn after_crash(before: &Files, log: &[Operation], survives: Survives) -> Files {
    // Files by the number of their creation: what was written, and how much of it is synced.
    let mut contents: Vec<(Vec<u8>, usize)> =
        before.values().map(|bytes| (bytes.clone(), bytes.len())).collect();
    let mut visible: BTreeMap<String, usize> =
        before.keys().enumerate().map(|(number, name)| (name.clone(), number)).collect();
    let mut durable = visible.clone();
    for operation in log {
        match operation {
            Operation::Create(name) => {
                visible.insert(name.clone(), contents.len());
                if survives.names {
                    durable.insert(name.clone(), contents.len());
                }
                contents.push((Vec::new(), 0));
            }
            Operation::Write(name, bytes) => contents[visible[name]].0.extend(bytes),
            Operation::WriteAt(name, at, written) => {
                let (bytes, _) = &mut contents[visible[name]];
                let end = *at as usize + written.len();
                if bytes.len() < end {
                    bytes.resize(end, 0);
                }
                bytes[*at as usize..end].copy_from_slice(written);
            }
            Operation::Sync(name) => {
                let (bytes, synced) = &mut contents[visible[name]];
                *synced = bytes.len();
            }
            Operation::Rename(from, to) => {
                let number = visible.remove(from).unwrap();
                visible.insert(to.clone(), number);
                if survives.renames {
                    durable.remove(from);
                    durable.insert(to.clone(), number);
                }
            }
            Operation::SyncDirectory => durable = visible.clone(),
            Operation::Remove(name) => {
                visible.remove(name);
                if survives.names {
                    durable.remove(name);
                }
            }
        }
    }
    let bytes_of = |number: usize| {
        let (bytes, synced) = &contents[number];
        let kept = match survives.data {
            Data::None => *synced,
            Data::Half => synced + (bytes.len() - synced) / 2,
            Data::All => bytes.len(),
        };
        bytes[..kept].to_vec()
    };
    durable.into_iter().map(|(name, number)| (name, bytes_of(number))).collect()
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
    let directory = Simulated::new(&Files::new(), usize::MAX, false);
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
        let whole = Simulated::new(&before, usize::MAX, false);
        pack(&whole, &new_set()).unwrap();
        let log = whole.log.lock().unwrap().clone();
        let kinds: HashSet<_> = log.iter().map(std::mem::discriminant).collect();
        // Create, write, sync, rename, sync of the directory; remove where there is an older store
        // or a temporary file, and write to that.
        let removes = usize::from(old.is_some() || spills);
        assert_eq!(kinds.len(), 5 + removes + usize::from(spills));
        let mut seen = [0, 0];
        for stop in 0..=log.len() {
            // An error at this operation: the pack cleans up as far as it can.
            for stays_down in [false, true] {
                let storage = Simulated::new(&before, stop, stays_down);
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
                let data = [Data::None, Data::Half, Data::All][bits / 4];
                let survives = Survives { data, names: bits & 1 > 0, renames: bits & 2 > 0 };
                let found = open(&after_crash(&before, &log[..stop], survives));
                let is_new = found.as_deref() == Some(&new_set()[..]);
                assert!(
                    is_new || found == old,
                    "{place}, crash after {stop}, {survives:?}: {found:?}"
                );
                seen[usize::from(is_new)] += 1;
            }
        }
        println!("{place}: {} operations, crashes that left old and new: {seen:?}", log.len());
        assert!(seen.iter().all(|&count| count > 0));
    }
}

#[test]
fn every_rename_stands_behind_the_syncs_that_it_needs() {
    for ((place, before, _), pack) in befores()
        .into_iter()
        .flat_map(|before| [pack_within, pack_with_ids].map(|p| (before.clone(), p as Pack)))
    {
        let storage = Simulated::new(&before, usize::MAX, false);
        pack(&storage, &new_set(), usize::MAX).unwrap();
        let log = storage.log.lock().unwrap();
        let renames: Vec<_> =
            (0..log.len()).filter(|&at| matches!(log[at], Operation::Rename(..))).collect();
        assert_eq!(renames.len(), 1, "{place}: one rename makes the store visible");
        let (earlier, later) = log.split_at(renames[0]);
        let last = |wanted: &Operation| earlier.iter().rposition(|operation| operation == wanted);
        let directory_synced = last(&Operation::SyncDirectory).unwrap();
        for operation in earlier {
            if let Operation::Write(name, _) = operation {
                let synced = last(&Operation::Sync(name.clone())).unwrap();
                assert!(
                    last(operation).unwrap() < synced,
                    "{place}: {name} is written after its sync"
                );
                if name.ends_with(".fpt") || name.ends_with(".fpi") {
                    let created = last(&Operation::Create(name.clone())).unwrap();
                    assert!(
                        created < directory_synced,
                        "{place}: the name of {name} is not durable"
                    );
                }
            }
        }
        assert_eq!(
            later[1],
            Operation::SyncDirectory,
            "{place}: the rename is made durable at once"
        );
        let removed = later[2..].iter().all(|operation| matches!(operation, Operation::Remove(_)));
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
        let whole = Simulated::new(&before, usize::MAX, false);
        whole_pack(&whole, &new_set(), capacity).unwrap();
        let log = whole.log.lock().unwrap().clone();
        for stop in 0..=log.len() {
            let survives = Survives { data: Data::All, names: true, renames: true };
            let crashed = after_crash(&before, &log[..stop], survives);
            let storage = Simulated::new(&crashed, usize::MAX, false);
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
    let storage = Simulated::new(&Files::new(), usize::MAX, false);
    pack(&storage, &new_set()).unwrap();
    let without = |unwanted: fn(&Operation) -> bool| -> Vec<Operation> {
        storage
            .log
            .lock()
            .unwrap()
            .iter()
            .filter(|operation| !unwanted(operation))
            .cloned()
            .collect()
    };
    let opens = |log: &[Operation], survives| {
        let temporary = tempfile::tempdir().unwrap();
        for (name, bytes) in after_crash(&Files::new(), log, survives) {
            fs::write(temporary.path().join(name), bytes).unwrap();
        }
        Store::open(temporary.path()).is_ok()
    };
    let lost_data = Survives { data: Data::None, names: true, renames: true };
    assert!(opens(&without(|_| false), lost_data));
    let table_sync = |op: &Operation| matches!(op, Operation::Sync(name) if name.ends_with(".fpt"));
    assert!(!opens(&without(table_sync), lost_data));
    let lost_names = Survives { data: Data::All, names: false, renames: true };
    let renamed = |op: &Operation| matches!(op, Operation::SyncDirectory);
    assert!(!opens(&without(renamed), lost_names));
}
