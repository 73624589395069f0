//! What others put under the names of a store, or what only looks like a leftover.

use std::fs;
use std::path::Path;

use fpstore::{Corruption, Design, Error, Execution, Layout, OpenOptions, Packer, Store};

fn halves() -> Packer {
    Packer::new().layout(Layout::new().design(Design::named("halves").unwrap()).block_bytes(256))
}

#[test]
fn files_of_others_are_not_taken_for_what_a_stopped_pack_left() {
    for name in
        [".tmp-notes", ".tmp-manifest.fps", ".tmp-fpstore-notes", ".tmp-fpstore-notes-of-mine"]
    {
        let temporary = tempfile::tempdir().unwrap();
        let path = temporary.path();
        fs::write(path.join(name), "mine").unwrap();
        let error = Packer::new().replace(true).pack(path, [1]).unwrap_err();
        assert!(matches!(&error, Error::Foreign { entry, .. } if entry == name), "{error}");
        // Beside a store that is replaced it stays.
        fs::remove_file(path.join(name)).unwrap();
        Packer::new().pack(path, [1]).unwrap();
        fs::write(path.join(name), "mine").unwrap();
        Packer::new().replace(true).pack(path, [2]).unwrap();
        assert_eq!(fs::read(path.join(name)).unwrap(), b"mine");
    }
}

#[cfg(unix)]
#[test]
fn what_has_the_name_of_a_leftover_and_is_no_file_of_a_pack_stays() {
    use std::os::unix::fs::symlink;

    let temporary = tempfile::tempdir().unwrap();
    let (path, victim) = (temporary.path().join("store"), temporary.path().join("victim"));
    fs::write(&victim, "precious").unwrap();
    fs::create_dir(&path).unwrap();
    symlink(&victim, path.join(".tmp-fpstore-link01")).unwrap();
    let error = Packer::new().pack(&path, [1]).unwrap_err();
    assert!(matches!(&error, Error::Foreign { .. }), "{error}");
    fs::remove_file(path.join(".tmp-fpstore-link01")).unwrap();
    Packer::new().pack(&path, [1]).unwrap();
    symlink(&victim, path.join(".tmp-fpstore-link01")).unwrap();
    special::pipe(&path.join(".tmp-fpstore-pipe01"));
    special::pipe(&path.join("segment-0000000000000009-table-000.fpt"));
    // Of a process that has its temporaries here, and still runs.
    let running = fs::File::create(path.join(".tmp-fpstore-other1")).unwrap();
    running.lock().unwrap();
    Packer::new().replace(true).pack(&path, [2]).unwrap();
    for name in ["link01", "pipe01", "other1"] {
        fs::symlink_metadata(path.join(format!(".tmp-fpstore-{name}"))).unwrap();
    }
    fs::symlink_metadata(path.join("segment-0000000000000009-table-000.fpt")).unwrap();
    assert_eq!(fs::read(&victim).unwrap(), b"precious");
    running.unlock().unwrap();
    Packer::new().replace(true).pack(&path, [3]).unwrap();
    assert!(!path.join(".tmp-fpstore-other1").exists());
}

/// Files that are none. To open one of them must not wait for its other end.
#[cfg(unix)]
mod special {
    use std::path::Path;
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use rustix::fs::{CWD, Mode, mkfifoat};

    pub fn pipe(path: &Path) {
        mkfifoat(CWD, path, Mode::from(0o666)).unwrap();
    }

    /// What `work` gives, which must not hang.
    pub fn in_time<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
        let (send, receive) = mpsc::channel();
        thread::spawn(move || drop(send.send(work())));
        receive.recv_timeout(Duration::from_secs(60)).expect("it waits for the end of a pipe")
    }
}

#[cfg(unix)]
#[test]
fn pipes_and_directories_in_place_of_the_files_of_a_store_are_told_at_once() {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("store");
    for name in [
        "manifest.fps",
        "segment-0000000000000001-table-001.fpt",
        "segment-0000000000000001-ids.fpi",
    ] {
        for (put, word) in [
            (special::pipe as fn(&Path), "it is a named pipe, not a regular file; put a file"),
            (|path| fs::create_dir(path).unwrap(), "it is a directory, not a regular file"),
            (|path| std::os::unix::fs::symlink("/dev/zero", path).unwrap(), "it is a device"),
        ] {
            halves().pack_with_ids(&path, [(1, 1), (2, 2)]).unwrap();
            fs::remove_file(path.join(name)).unwrap();
            put(&path.join(name));
            for in_memory in [false, true] {
                let open = path.clone();
                let options = OpenOptions::new().in_memory(in_memory);
                let error = special::in_time(move || options.open(open)).unwrap_err();
                assert!(
                    matches!(&error, Error::Io { path: file, .. } if file.ends_with(name)),
                    "{error}"
                );
                assert!(error.to_string().contains(word), "{error}");
            }
            if name == "manifest.fps" {
                let again = path.clone();
                let pack = move || halves().replace(true).pack(again, [3]);
                let error = special::in_time(pack).unwrap_err();
                assert!(error.to_string().contains(word), "{error}");
            }
            fs::remove_dir_all(&path).unwrap();
        }
    }
}

#[cfg(unix)]
#[test]
fn a_planted_lock_is_neither_followed_nor_waited_for() {
    use std::os::unix::fs::symlink;

    let temporary = tempfile::tempdir().unwrap();
    let (path, nothing) = (temporary.path().join("store"), temporary.path().join("nothing"));
    let link = |lock: &Path| symlink(lock.with_file_name("../nothing"), lock).unwrap();
    for (put, word) in
        [(special::pipe as fn(&Path), "it is a named pipe"), (link, "it is a symbolic link")]
    {
        fs::create_dir(&path).unwrap();
        put(&path.join("lock"));
        let pack = path.clone();
        let error = special::in_time(move || Packer::new().pack(pack, [1])).unwrap_err();
        assert!(matches!(&error, Error::Io { path, .. } if path.ends_with("lock")), "{error}");
        assert!(error.to_string().contains(word), "{error}");
        assert!(!nothing.exists());
        fs::remove_dir_all(&path).unwrap();
    }
}

#[cfg(unix)]
#[test]
fn planted_temporaries_do_not_hang_a_pack_and_are_not_followed() {
    let temporary = tempfile::tempdir().unwrap();
    let (path, spills) = (temporary.path().join("store"), temporary.path().join("spills"));
    fs::create_dir(&spills).unwrap();
    let victim = temporary.path().join("victim");
    fs::write(&victim, "precious").unwrap();
    special::pipe(&spills.join(".tmp-fpstore-pipe01"));
    std::os::unix::fs::symlink(&victim, spills.join(".tmp-fpstore-link01")).unwrap();
    let packer =
        Packer::new().execution(Execution::new().memory(16 << 20).scratch_directory(&spills));
    let set = (0..1_500_000u64).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let summary = special::in_time(move || packer.pack(path, set)).unwrap();
    assert!(summary.temporary_bytes > 0);
    let names: Vec<_> = fs::read_dir(&spills).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    assert_eq!(fs::read(&victim).unwrap(), b"precious");
}

#[test]
fn a_manifest_that_is_too_long_is_not_read() {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("store");
    halves().pack(&path, [1]).unwrap();
    let manifest = fs::File::options().write(true).open(path.join("manifest.fps")).unwrap();
    // A sparse file, of more than any memory.
    manifest.set_len(1 << 43).unwrap();
    let error = Store::open(&path).unwrap_err();
    let limit = Corruption::ManifestLimit { most: 64 << 20 };
    assert!(matches!(&error, Error::Corrupt { corruption, .. } if *corruption == limit), "{error}");
    halves().replace(true).pack(&path, [2]).unwrap();
    assert_eq!(Store::open(&path).unwrap().len(), 1);
}
