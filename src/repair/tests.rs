//! Repairs that are stopped.

use std::time::{Duration, SystemTime};

use super::*;
use crate::store::simulated::{Files, Simulated, open, stop_everywhere};
use crate::{Durability, Store, StoreOptions as Options, WriterOptions};

/// Saves what stands at `path` into a simulated directory.
fn repair(path: &Path, simulated: &Simulated) -> Result<()> {
    let (mut report, directory) = Directory::look(path)?;
    let found = Found::<u64>::read(directory, &mut report);
    let repair = Repair::new().execution(Execution::new().threads(1));
    let to = Path::new("simulated");
    let storage = Arc::new(simulated.clone());
    let saved = repair.execution.install(|| repair.save_into(&found, &mut report, to, storage))?;
    if saved.is_err() {
        // What the output does when it is given up.
        for name in simulated.names().unwrap_or_default() {
            let _ = simulated.remove(&name);
        }
    }
    assert!(saved.is_err() || report.is_whole());
    saved
}

/// A store of some windows, or without any, with records in segments and in the log.
fn store(path: &Path, window: Option<Duration>) {
    let writer = WriterOptions::new().background(false);
    let options = Options::new().window(window).writer(writer);
    let writer = options.create(path).unwrap();
    for day in 0..3u64 {
        let pairs: Vec<_> = (0..20).map(|at| (at << 40 | day, at)).collect();
        match window {
            Some(window) => {
                let time = SystemTime::now() - window * day as u32;
                writer.insert_batch_at(&pairs, time).unwrap();
            }
            None => writer.insert_batch(&pairs).unwrap(),
        }
        if day < 2 {
            writer.flush().unwrap();
        }
    }
    writer.delete_fingerprint(1).unwrap();
    writer.commit(Durability::Immediate).unwrap();
    writer.close().unwrap();
}

#[test]
fn a_repair_stopped_at_any_operation_leaves_no_store_or_all_that_was_saved() {
    for window in [None, Some(Duration::from_secs(100_000))] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store");
        store(&path, window);
        stop_everywhere(&Files::new(), |storage| repair(&path, storage), open);
        let saved = Simulated::default();
        repair(&path, &saved).unwrap();
        let all = |store: Store| store.iter().collect::<Result<Vec<_>>>().unwrap();
        assert_eq!(open(&saved.files()), Some(all(Store::open(&path).unwrap())));
    }
}

#[test]
fn a_store_is_not_repaired_into_itself() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    store(&path, None);
    std::fs::remove_file(path.join("manifest.fps")).unwrap();
    let names = || std::fs::read_dir(&path).unwrap().map(|at| at.unwrap().file_name());
    let before: Vec<_> = names().collect();
    let inside = path.join("saved");
    std::os::unix::fs::symlink(&path, directory.path().join("link")).unwrap();
    for to in [&path, &directory.path().join("link"), &inside] {
        let refused = Repair::new().run(&path, to);
        assert!(matches!(refused, Err(crate::Error::InvalidOption { .. })), "{refused:?}");
    }
    assert_eq!(names().collect::<Vec<_>>(), before);
}

#[test]
fn a_repair_that_fails_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let [path, to] = ["store", "saved"].map(|name| directory.path().join(name));
    store(&path, Some(Duration::from_secs(100_000)));
    let stopped = Execution::new().timeout(Duration::ZERO);
    assert!(Repair::new().execution(stopped).run(&path, &to).is_err());
    assert!(!to.exists());
    Repair::new().run(&path, &to).unwrap();
    let store = Store::open(&to).unwrap();
    store.verify().unwrap();
    assert_eq!(store.stats().unwrap().segments.len(), 3, "one for each window");
}
