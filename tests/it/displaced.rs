//! Stores whose path comes to lead elsewhere while they are written or read.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fpstore::maintenance::Backup;
use fpstore::{
    Displacement, Durability, Error, ErrorKind, Execution, OpenOptions, Packer, Phase, Store,
    StoreOptions, Writer, WriterOptions,
};
use tempfile::TempDir;

/// A directory with a store at `one`, to be written, and another one at `two`.
struct Stores {
    directory: TempDir,
}

impl Stores {
    fn new() -> Self {
        let stores = Self { directory: tempfile::tempdir().unwrap() };
        Packer::new().pack(stores.at("one"), [1u64, 2]).unwrap();
        Packer::new().pack(stores.at("two"), [10u64, 20]).unwrap();
        stores
    }

    fn at(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn rename(&self, from: &str, to: &str) {
        fs::rename(self.at(from), self.at(to)).unwrap();
    }

    /// A writer of the store at this path that has inserted 3, durably.
    fn writer(&self, name: &str) -> Writer {
        let options = WriterOptions::new().background(false);
        let writer = options.open(self.at(name)).unwrap();
        writer.insert_fingerprints(&[3]).unwrap();
        writer.commit(Durability::Immediate).unwrap();
        writer
    }
}

/// What a store holds, once all of it was checked.
fn held(path: &Path) -> Vec<u64> {
    let store = OpenOptions::new().in_memory(true).open(path).unwrap();
    store.verify().unwrap();
    store.iter().collect::<Result<_, _>>().unwrap()
}

#[track_caller]
fn assert_displaced<T>(result: Result<T, Error>, expected: Displacement) {
    match result {
        Err(error @ Error::Displaced { by, .. }) if by == expected => {
            assert_eq!(error.kind(), ErrorKind::Displaced);
        }
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("it was done"),
    }
}

/// A writer fails whatever it does, and what it acknowledged before is in its store.
fn assert_writer_stops(writer: Writer, expected: Displacement) {
    assert_displaced(writer.commit(Durability::Immediate), expected);
    writer.insert_fingerprints(&[4]).unwrap();
    assert_displaced(writer.commit(Durability::Immediate), expected);
    assert_displaced(writer.flush(), expected);
    assert_displaced(writer.merge_all(), expected);
    assert_displaced(writer.close(), expected);
}

#[test]
fn a_writer_whose_store_was_moved_stops() {
    let stores = Stores::new();
    let writer = stores.writer("one");
    stores.rename("one", "away");
    assert_writer_stops(writer, Displacement::Moved);
    assert_eq!(held(&stores.at("away")), [1, 2, 3]);
    assert!(!stores.at("one").exists());
}

#[test]
fn a_writer_whose_store_was_replaced_touches_neither() {
    let stores = Stores::new();
    let writer = stores.writer("one");
    stores.rename("one", "away");
    stores.rename("two", "one");
    let before = fs::read_dir(stores.at("one")).unwrap().count();
    assert_writer_stops(writer, Displacement::Replaced);
    assert_eq!(held(&stores.at("away")), [1, 2, 3]);
    assert_eq!(held(&stores.at("one")), [10, 20]);
    assert_eq!(fs::read_dir(stores.at("one")).unwrap().count(), before);
}

#[test]
fn a_writer_that_was_opened_by_a_link_stops_when_the_link_is_flipped() {
    let stores = Stores::new();
    symlink("one", stores.at("current")).unwrap();
    let writer = stores.writer("current");
    symlink("two", stores.at("next")).unwrap();
    stores.rename("next", "current");
    assert_writer_stops(writer, Displacement::Replaced);
    assert_eq!((held(&stores.at("one")), held(&stores.at("two"))), (vec![1, 2, 3], vec![10, 20]));
}

#[test]
fn a_writer_of_a_store_that_was_removed_acknowledges_nothing() {
    let stores = Stores::new();
    let writer = stores.writer("one");
    fs::remove_dir_all(stores.at("one")).unwrap();
    assert_writer_stops(writer, Displacement::Moved);
    assert!(!stores.at("one").exists());
}

#[test]
fn a_removed_lock_lets_no_second_writer_in_and_stops_the_first() {
    let stores = Stores::new();
    let writer = stores.writer("one");
    fs::remove_file(stores.at("one/lock")).unwrap();
    // The directory is locked as well.
    let second = Store::open_writer(stores.at("one"));
    assert!(matches!(second, Err(Error::Busy { .. })));
    let pack = Packer::new().replace(true).pack(stores.at("one"), [7u64]);
    assert!(matches!(pack, Err(Error::Busy { .. })));
    assert_writer_stops(writer, Displacement::Unlocked);
    let writer = stores.writer("one");
    writer.insert_fingerprints(&[5]).unwrap();
    writer.close().unwrap();
    assert_eq!(held(&stores.at("one")), [1, 2, 3, 5]);
}

#[test]
fn a_writer_goes_on_once_its_store_is_back() {
    let stores = Stores::new();
    let writer = stores.writer("one");
    stores.rename("one", "away");
    writer.insert_fingerprints(&[4]).unwrap();
    assert_displaced(writer.commit(Durability::Immediate), Displacement::Moved);
    stores.rename("away", "one");
    writer.commit(Durability::Immediate).unwrap();
    writer.flush().unwrap();
    writer.close().unwrap();
    assert_eq!(held(&stores.at("one")), [1, 2, 3, 4]);
}

#[test]
fn a_pack_that_loses_its_output_replaces_nothing() {
    for append in [false, true] {
        let stores = Arc::new(Stores::new());
        let seen = Arc::clone(&stores);
        let execution = Execution::new().on_progress(move |progress| {
            // All is written, and nothing is visible yet.
            if progress.phase == Phase::Sync && progress.done == 0 && seen.at("two").exists() {
                seen.rename("one", "away");
                seen.rename("two", "one");
            }
        });
        let packer = Packer::new().replace(!append).append(append).execution(execution);
        assert_displaced(packer.pack(stores.at("one"), [7u64]), Displacement::Replaced);
        assert_eq!((held(&stores.at("away")), held(&stores.at("one"))), (vec![1, 2], vec![10, 20]));
        // What it had written is gone.
        assert_eq!(fs::read_dir(stores.at("away")).unwrap().count(), 3);
    }
}

#[test]
fn a_manifest_that_another_program_wrote_is_not_replaced() {
    let stores = Stores::new();
    let writer = stores.writer("one");
    fs::copy(stores.at("two/manifest.fps"), stores.at("one/manifest.fps")).unwrap();
    writer.insert_fingerprints(&[4]).unwrap();
    assert_displaced(writer.flush(), Displacement::Rewritten);
    let manifests = ["one", "two"].map(|name| fs::read(stores.at(name).join("manifest.fps")));
    let [one, two] = manifests.map(Result::unwrap);
    assert_eq!(one, two);
}

#[test]
fn expired_windows_stay_in_a_store_that_was_moved() {
    let stores = Stores::new();
    let window = Some(std::time::Duration::from_secs(60));
    let writer = WriterOptions::new().background(false);
    let options = StoreOptions::new().ids(None).window(window).writer(writer);
    let writer = options.create(stores.at("windows")).unwrap();
    let then = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1000);
    writer.insert_fingerprints_at(&[1], then).unwrap();
    writer.flush().unwrap();
    stores.rename("windows", "away");
    assert_displaced(writer.expire(std::time::SystemTime::now()), Displacement::Moved);
    drop(writer);
    assert_eq!(held(&stores.at("away")), [1]);
}

/// Runs `read` while two stores change places, in one step or in two.
fn while_stores_change_places(stores: &Stores, mut read: impl FnMut()) {
    let stopped = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stopped.load(Ordering::Relaxed) {
                #[cfg(target_os = "linux")]
                {
                    use rustix::fs::{CWD, RenameFlags, renameat_with};
                    let [one, two] = ["one", "two"].map(|name| stores.at(name));
                    renameat_with(CWD, one, CWD, two, RenameFlags::EXCHANGE).unwrap();
                }
                std::thread::yield_now();
            }
        });
        (0..300).for_each(|_| read());
        stopped.store(true, Ordering::Relaxed);
    });
}

#[test]
fn readers_see_one_store_or_the_other_while_they_change_places() {
    let stores = Stores::new();
    // With logs, which are read behind the segments.
    for (name, more) in [("one", 3), ("two", 30)] {
        let writer = Store::open_writer(stores.at(name)).unwrap();
        writer.insert_fingerprints(&[more]).unwrap();
        writer.close().unwrap();
    }
    let sets = [vec![1, 2, 3], vec![10, 20, 30]];
    let follower = Store::open(stores.at("one")).unwrap();
    while_stores_change_places(&stores, || {
        let store = Store::open(stores.at("one")).unwrap();
        let set: Vec<u64> = store.iter().collect::<Result<_, _>>().unwrap();
        assert!(sets.contains(&set), "{set:?}");
        follower.refresh().unwrap();
        let set: Vec<u64> = follower.iter().collect::<Result<_, _>>().unwrap();
        assert!(sets.contains(&set), "{set:?}");
    });
}

#[test]
fn a_backup_is_of_one_store_while_two_change_places() {
    let stores = Stores::new();
    let sets = [vec![1, 2], vec![10, 20]];
    let mut number = 0;
    while_stores_change_places(&stores, || {
        number += 1;
        let to = stores.at(&format!("copy-{number}"));
        Backup::new().copy(number % 2 == 0).run(stores.at("one"), &to).unwrap();
        let set = held(&to);
        assert!(sets.contains(&set), "{set:?}");
        fs::remove_dir_all(to).unwrap();
    });
}
