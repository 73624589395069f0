//! Backups, beside a writer and after failures.

use std::fs;

use super::*;
use crate::{Durability, Packer, Store, StoreOptions, Writer, WriterOptions};

fn writer(path: &Path) -> Writer {
    let options = WriterOptions::new().background(false);
    StoreOptions::new().ids(false).writer(options).create(path).unwrap()
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
    let backup = Backup::new().copy(true);
    let first = backup.run(&path, &to).unwrap();
    assert_eq!((first.segments, first.files, first.linked, first.kept), (1, 1, 0, 0));
    assert!(first.log_bytes > 0);
    assert_eq!(all(&to), [1, 2, 3, 4]);
    assert!(matches!(backup.run(&path, &to), Err(Error::Exists { .. })));
    let again = backup.incremental(true).run(&path, &to).unwrap();
    assert_eq!((again.files, again.kept), (0, 1));
    writer.delete_fingerprint(1).unwrap();
    writer.flush().unwrap();
    writer.insert_fingerprints(&[5]).unwrap();
    writer.commit(Durability::Immediate).unwrap();
    let second = Backup::new().incremental(true).run(&path, &to).unwrap();
    assert_eq!((second.segments, second.files, second.kept), (2, 2, 1));
    assert_eq!(all(&to), [2, 3, 4, 5]);
    writer.merge_all().unwrap();
    backup.incremental(true).run(&path, &to).unwrap();
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
    let refused = backup.incremental(true).run(&path, &to);
    assert!(matches!(refused, Err(Error::OtherStore { .. })), "{refused:?}");
}

#[test]
fn damage_to_the_last_record_of_a_copied_log_is_told_from_a_crash() {
    let directory = tempfile::tempdir().unwrap();
    let (path, to) = (directory.path().join("store"), directory.path().join("copy"));
    let writer = writer(&path);
    writer.insert_fingerprints(&[1, 2]).unwrap();
    writer.commit(Durability::Eventual).unwrap();
    Backup::new().run(&path, &to).unwrap();
    writer.close().unwrap();
    let name = log_name(1);
    let mut log = fs::read(to.join(&name)).unwrap();
    assert_eq!(log, fs::read(path.join(&name)).unwrap());
    // In the payload of its only record.
    log[90] ^= 1;
    fs::write(to.join(&name), log).unwrap();
    assert_eq!(Store::open(&to).unwrap_err().rule(), Some("LOG-3"));
}

/// A copy with a record in its first log, of a store that has made a segment of it and another log since.
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
    let stage = || backup.stage(&path, &to, &read_manifest(&path).unwrap()).unwrap();
    drop(stage());
    assert_eq!(all(&to), [1, 2]);
    let mut files = fs::read_dir(&path).unwrap().map(|at| at.unwrap().path());
    let table = files.find(|at| at.extension().is_some_and(|end| end == "fpt")).unwrap();
    let sound = fs::read(&table).unwrap();
    let mut damaged = sound.clone();
    damaged[20] ^= 1;
    fs::write(&table, damaged).unwrap();
    assert!(matches!(backup.run(&path, &to), Err(Error::Corrupt { .. })));
    assert_eq!(all(&to), [1, 2]);
    fs::write(&table, sound).unwrap();
    // Stopped between the manifest and the log.
    let Staged { commit, logs, .. } = stage();
    commit.publish().unwrap();
    drop(logs);
    assert_eq!(all(&to), [1, 2]);
    assert_eq!(Store::open(&to).unwrap().stats().unwrap().segments.len(), 1);
    backup.run(&path, &to).unwrap();
    assert_eq!(all(&to), [1, 2, 3]);
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
fn another_store_is_not_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let (path, to) = (directory.path().join("store"), directory.path().join("other"));
    Packer::new().pack(&path, [1u64]).unwrap();
    Packer::new().pack(&to, [2u64]).unwrap();
    let refused = Backup::new().incremental(true).run(&path, &to);
    assert!(matches!(refused, Err(Error::OtherStore { .. })), "{refused:?}");
    let refused = Backup::new().incremental(true).run(&path, &path);
    assert!(matches!(refused, Err(Error::Exists { .. })), "{refused:?}");
    assert_eq!((all(&to), all(&path)), (vec![2], vec![1]));
    let missing = Backup::new().run(directory.path().join("none"), directory.path().join("x"));
    assert!(matches!(missing, Err(Error::NotAStore { .. })), "{missing:?}");
    assert!(!directory.path().join("x").exists());
}
