//! Backups, beside a writer and after failures.

use std::fs;
use std::path::PathBuf;

use super::*;
use crate::format::LogHeader;
use crate::store::simulated::{Files, Simulated, open, stop_everywhere};
use crate::{Durability, Packer, Store, StoreOptions, Writer, WriterOptions};

fn writer(path: &Path) -> Writer {
    let options = WriterOptions::new().background(false);
    StoreOptions::new().ids(None).writer(options).create(path).unwrap()
}

fn all(path: &Path) -> Vec<u64> {
    let store = Store::open(path).unwrap();
    store.verify().unwrap();
    store.iter().collect::<Result<_>>().unwrap()
}

#[test]
fn a_backup_of_a_store_that_is_written_is_a_state_of_it_and_the_next_ships_what_is_new() {
    let directory = tempfile::tempdir().unwrap();
    let (path, to) = (directory.path().join("store"), directory.path().join("copy"));
    let writer = writer(&path);
    writer.insert_fingerprints(&[1, 2, 3]).unwrap();
    writer.flush().unwrap();
    writer.insert_fingerprints(&[4]).unwrap();
    writer.commit(Durability::Eventual).unwrap();
    let backup = || Backup::new().copy(true);
    let first = backup().run(&path, &to).unwrap();
    assert_eq!((first.segments, first.files, first.linked, first.kept), (1, 1, 0, 0));
    assert!(first.log_bytes > 0);
    assert_eq!(all(&to), [1, 2, 3, 4]);
    assert!(matches!(backup().run(&path, &to), Err(Error::Exists { .. })));
    let again = backup().incremental(true).run(&path, &to).unwrap();
    assert_eq!((again.files, again.kept), (0, 1));
    writer.delete_fingerprint(1).unwrap();
    writer.flush().unwrap();
    writer.insert_fingerprints(&[5]).unwrap();
    writer.commit(Durability::Immediate).unwrap();
    let second = Backup::new().incremental(true).run(&path, &to).unwrap();
    assert_eq!((second.segments, second.files, second.kept), (2, 2, 1));
    assert_eq!(all(&to), [2, 3, 4, 5]);
    writer.merge_all().unwrap();
    backup().incremental(true).run(&path, &to).unwrap();
    writer.close().unwrap();
    assert_eq!(all(&to), [2, 3, 4, 5]);
    let mut names: Vec<_> = fs::read_dir(&to).unwrap().map(|at| at.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names.len(), 4, "one table, one log, the manifest, the lock: {names:?}");
    // The copy takes insertions, and is no earlier state then.
    let writer = Store::open_writer(&to).unwrap();
    writer.insert_fingerprints(&[6]).unwrap();
    writer.flush().unwrap();
    writer.close().unwrap();
    let refused = backup().incremental(true).run(&path, &to);
    assert!(matches!(refused, Err(Error::OtherStore { .. })), "{refused:?}");
}

#[test]
fn damage_to_the_end_of_a_copied_log_and_its_loss_are_told_from_a_crash() {
    let directory = tempfile::tempdir().unwrap();
    let (path, to) = (directory.path().join("store"), directory.path().join("copy"));
    let writer = writer(&path);
    writer.insert_fingerprints(&[1, 2]).unwrap();
    writer.commit(Durability::Eventual).unwrap();
    Backup::new().run(&path, &to).unwrap();
    writer.close().unwrap();
    let mut files = fs::read_dir(&to).unwrap().map(|at| at.unwrap().path());
    let log = files.find(|at| at.extension().is_some_and(|end| end == "fpl")).unwrap();
    let sound = fs::read(&log).unwrap();
    let mut damaged = sound.clone();
    *damaged.last_mut().unwrap() ^= 1;
    fs::write(&log, damaged).unwrap();
    assert_eq!(Store::open(&to).unwrap_err().rule(), Some("LOG-3"));
    fs::write(&log, &sound[..LogHeader::RECORDS_START]).unwrap();
    assert_eq!(Store::open(&to).unwrap_err().rule(), Some("LOG-3"));
    fs::write(&log, "").unwrap();
    assert_eq!(Store::open(&to).unwrap_err().rule(), Some("PRE-1"));
}

/// A copy with a record in its first log, of a store that has made a segment of it and another log
/// since.
fn old_copy(directory: &Path) -> (PathBuf, PathBuf) {
    let (path, to) = (directory.join("store"), directory.join("copy"));
    let writer = writer(&path);
    writer.insert_fingerprints(&[1, 2]).unwrap();
    writer.commit(Durability::Immediate).unwrap();
    Backup::new().copy(true).run(&path, &to).unwrap();
    writer.flush().unwrap();
    writer.insert_fingerprints(&[3]).unwrap();
    writer.commit(Durability::Immediate).unwrap();
    (path, to)
}

#[test]
fn a_backup_that_fails_or_stops_anywhere_leaves_a_state_of_the_store() {
    let directory = tempfile::tempdir().unwrap();
    let (path, to) = old_copy(directory.path());
    let backup = Backup::new().copy(true).incremental(true);
    let mut files = fs::read_dir(&path).unwrap().map(|at| at.unwrap().path());
    let table = files.find(|at| at.extension().is_some_and(|end| end == "fpt")).unwrap();
    let sound = fs::read(&table).unwrap();
    let mut damaged = sound.clone();
    damaged[20] ^= 1;
    fs::write(&table, damaged).unwrap();
    assert!(matches!(backup.run(&path, &to), Err(Error::Corrupt { .. })));
    assert_eq!(all(&to), [1, 2]);
    fs::write(&table, sound).unwrap();
    backup.run(&path, &to).unwrap();
    assert_eq!(all(&to), [1, 2, 3]);
}

/// Makes a backup of what stands at `path` in a simulated directory.
fn back_up(path: &Path, incremental: bool, storage: &Simulated) -> Result<()> {
    let (directory, bytes) = open_directory(path)?;
    let backup = Backup::new().copy(true).incremental(incremental);
    let to = Path::new("simulated");
    backup.stage((&directory, &bytes), to, &Arc::new(storage.clone()))?.publish().map(drop)
}

#[test]
fn a_backup_stopped_at_any_operation_leaves_no_store_or_the_old_one_or_the_new_one() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let writer = writer(&path);
    writer.insert_fingerprints(&[1, 2, 3]).unwrap();
    writer.flush().unwrap();
    writer.insert_fingerprints(&[4]).unwrap();
    writer.commit(Durability::Immediate).unwrap();
    stop_everywhere(&Files::new(), |storage| back_up(&path, false, storage), open);
    let earlier = Simulated::default();
    back_up(&path, false, &earlier).unwrap();
    assert_eq!(open(&earlier.files()), Some(vec![1, 2, 3, 4]));
    // Only the log has grown; then a segment more; then all is merged, and deletions apply.
    writer.insert_fingerprints(&[5]).unwrap();
    writer.commit(Durability::Immediate).unwrap();
    let incremental = |storage: &Simulated| back_up(&path, true, storage);
    stop_everywhere(&earlier.files(), incremental, open);
    writer.delete_fingerprint(1).unwrap();
    writer.flush().unwrap();
    writer.insert_fingerprints(&[6]).unwrap();
    writer.commit(Durability::Immediate).unwrap();
    stop_everywhere(&earlier.files(), incremental, open);
    writer.merge_all().unwrap();
    stop_everywhere(&earlier.files(), incremental, open);
    incremental(&earlier).unwrap();
    assert_eq!(open(&earlier.files()), Some(vec![2, 3, 4, 5, 6]));
}

#[test]
fn what_a_stopped_backup_left_is_not_taken_for_a_log_by_who_writes_to_the_copy() {
    let directory = tempfile::tempdir().unwrap();
    let (path, to) = old_copy(directory.path());
    // Stopped before the manifest: the new log is there, and stays as after a kill.
    let (handle, bytes) = open_directory(&path).unwrap();
    let target = Target::lock(&to, true).unwrap();
    let storage = Arc::new(Directory::held(target.hold(), None));
    let staged = Backup::new().copy(true).incremental(true).stage((&handle, &bytes), &to, &storage);
    let logs = || {
        let names = fs::read_dir(&to).unwrap().map(|at| at.unwrap().file_name());
        names.filter(|name| name.to_string_lossy().ends_with(".fpl")).collect::<Vec<_>>()
    };
    let staged = staged.unwrap();
    assert_eq!(logs().len(), 2);
    std::mem::forget(staged);
    drop((storage, target));
    assert_eq!(all(&to), [1, 2]);
    // The lock goes with the file, which was forgotten.
    let copy = directory.path().join("after the kill");
    fs::create_dir(&copy).unwrap();
    for entry in fs::read_dir(&to).unwrap().map(|entry| entry.unwrap()) {
        fs::copy(entry.path(), copy.join(entry.file_name())).unwrap();
    }
    let options = WriterOptions::new().background(false).tail_records(2);
    let writer = options.open(&copy).unwrap();
    (10..20).for_each(|at| writer.insert_fingerprints(&[at]).unwrap());
    writer.close().unwrap();
    assert_eq!(all(&copy), [1, 2].into_iter().chain(10..20).collect::<Vec<_>>());
}

#[test]
fn a_store_is_not_backed_up_into_itself() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    Packer::new().pack(&path, [1u64]).unwrap();
    for to in [path.join("copy"), path.join("deep/copy"), path.join("../store/copy")] {
        let refused = Backup::new().run(&path, &to);
        assert!(matches!(refused, Err(Error::InvalidOption { .. })), "{refused:?}");
    }
    assert_eq!(fs::read_dir(&path).unwrap().count(), 3);
}

#[test]
fn a_packed_copy_is_an_earlier_state_of_a_store_that_was_written_to_since() {
    let directory = tempfile::tempdir().unwrap();
    let [path, to, twin] = ["store", "copy", "twin"].map(|name| directory.path().join(name));
    Packer::new().pack(&path, [1u64, 2]).unwrap();
    Packer::new().pack(&twin, [1u64, 2]).unwrap();
    Backup::new().run(&path, &to).unwrap();
    let insert = |path: &Path, fingerprint| {
        let writer = Store::open_writer(path).unwrap();
        writer.insert_fingerprints(&[fingerprint]).unwrap();
        writer.close().unwrap();
    };
    insert(&path, 3);
    insert(&twin, 4);
    Backup::new().incremental(true).run(&path, &to).unwrap();
    assert_eq!(all(&to), [1, 2, 3]);
    // Two packs of the same set are two stores from the first insertion on.
    let refused = Backup::new().incremental(true).run(&twin, &to);
    assert!(matches!(refused, Err(Error::OtherStore { .. })), "{refused:?}");
    let ids = [&path, &twin].map(|path| Store::open(path).unwrap().id());
    assert_ne!(ids[0], ids[1]);
    for entry in fs::read_dir(&path).unwrap().map(|entry| entry.unwrap()) {
        if entry.file_name().to_string_lossy().ends_with(".fpl") {
            fs::copy(entry.path(), twin.join(entry.file_name())).unwrap();
        }
    }
    assert_eq!(Store::open(&twin).unwrap_err().rule(), Some("LOG-1"));
}

#[test]
fn a_copy_that_was_written_to_is_not_replaced() {
    for flushed in [false, true] {
        let directory = tempfile::tempdir().unwrap();
        let (path, to) = old_copy(directory.path());
        if flushed {
            Backup::new().incremental(true).run(&path, &to).unwrap();
        }
        let copy = Store::open_writer(&to).unwrap();
        copy.insert_fingerprints(&[7, 8]).unwrap();
        copy.close().unwrap();
        let before = all(&to);
        let refused = Backup::new().incremental(true).run(&path, &to);
        assert!(matches!(refused, Err(Error::OtherStore { .. })), "{refused:?}");
        assert_eq!(all(&to), before);
    }
}

#[test]
fn what_cannot_be_told_to_be_an_earlier_state_is_not_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let (path, to) = old_copy(directory.path());
    let manifest = to.join(MANIFEST_NAME);
    let sound = fs::read(&manifest).unwrap();
    // Damaged, and of a version to come.
    for (at, value) in [(100, sound[100] ^ 1), (8, 2)] {
        let mut other = sound.clone();
        other[at] = value;
        fs::write(&manifest, &other).unwrap();
        let before = fs::read_dir(&to).unwrap().count();
        let refused = Backup::new().incremental(true).run(&path, &to);
        assert!(matches!(refused, Err(Error::OtherStore { .. })), "{refused:?}");
        assert_eq!(
            (fs::read(&manifest).unwrap(), fs::read_dir(&to).unwrap().count()),
            (other, before)
        );
    }
}

#[test]
fn another_store_is_not_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let (path, to) = (directory.path().join("store"), directory.path().join("other"));
    Packer::new().pack(&path, [1u64]).unwrap();
    Packer::new().pack(&to, [2u64]).unwrap();
    let refused = Backup::new().incremental(true).run(&path, &to);
    assert!(matches!(refused, Err(Error::OtherStore { .. })), "{refused:?}");
    for incremental in [false, true] {
        let refused = Backup::new().incremental(incremental).run(&path, &path);
        assert!(matches!(refused, Err(Error::InvalidOption { .. })), "{refused:?}");
    }
    assert_eq!((all(&to), all(&path)), (vec![2], vec![1]));
    let missing = Backup::new().run(directory.path().join("none"), directory.path().join("x"));
    assert!(matches!(missing, Err(Error::NotAStore { .. })), "{missing:?}");
    assert!(!directory.path().join("x").exists());
}
