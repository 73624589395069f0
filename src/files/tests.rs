//! What is planted under a name, and what only looks like a leftover.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use rustix::fs::{CWD, Mode, mkfifoat};
use tempfile::TempDir;

use super::*;

fn fifo(path: &Path) {
    mkfifoat(CWD, path, Mode::from(0o666)).unwrap();
}

/// A directory with one of each of what is no regular file of one's own, named by it.
fn zoo() -> TempDir {
    let zoo = tempfile::tempdir().unwrap();
    let at = |name: &str| zoo.path().join(name);
    fifo(&at("pipe"));
    fs::create_dir(at("directory")).unwrap();
    fs::write(at("victim"), "precious").unwrap();
    symlink(at("victim"), at("link")).unwrap();
    symlink(at("nothing"), at("dangling")).unwrap();
    fs::write(at("twice"), "precious").unwrap();
    fs::hard_link(at("twice"), at("hard")).unwrap();
    zoo
}

#[track_caller]
fn assert_unfit<T>(result: io::Result<T>, word: &str) {
    let Err(error) = result else { panic!("it was opened") };
    assert!(Unfit::remedy(&error).is_some(), "{error}");
    assert!(error.to_string().contains(word), "{error}");
}

#[test]
fn only_regular_files_are_read_and_pipes_are_not_waited_for() {
    let zoo = zoo();
    assert_unfit(open_regular(&zoo.path().join("pipe")), "a named pipe");
    assert_unfit(open_regular(&zoo.path().join("directory")), "a directory");
    assert_unfit(open_regular(Path::new("/dev/null")), "a device");
    assert_unfit(read_at_most(&zoo.path().join("pipe"), 10), "a named pipe");
    // Stores may be made of links.
    assert_eq!(read_at_most(&zoo.path().join("link"), 100).unwrap(), b"precious");
    assert_eq!(read_at_most(&zoo.path().join("link"), 3).unwrap(), b"prec");
}

#[test]
fn what_is_planted_under_a_known_name_is_neither_followed_nor_taken() {
    let zoo = zoo();
    for (name, word) in [
        ("pipe", "a named pipe"),
        ("directory", "a directory"),
        ("link", "a symbolic link"),
        ("dangling", "a symbolic link"),
        ("hard", "a second name"),
    ] {
        let path = zoo.path().join(name);
        assert_unfit(Lock::take(&path), word);
        assert_unfit(Lock::take_existing(&path), word);
    }
    assert!(!zoo.path().join("nothing").exists());
    if rustix::process::geteuid().is_root() {
        let theirs = zoo.path().join("theirs");
        fs::write(&theirs, "").unwrap();
        std::os::unix::fs::chown(&theirs, Some(12345), None).unwrap();
        assert_unfit(Lock::take(&theirs), "another user");
    } else {
        println!("SKIPPED: only root can give a file to another user");
    }
}

#[test]
fn dead_temporaries_go_and_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let alive = Temporary::create(directory.path()).unwrap();
    let outside = tempfile::tempdir().unwrap();
    let victim = outside.path().join("victim");
    fs::write(&victim, "precious").unwrap();
    fs::write(at(".tmp-fpstore-dead01"), "of a killed pack").unwrap();
    fs::write(at(".tmp-notes"), "mine").unwrap();
    fs::write(at(".tmp-fpstore-my-notes"), "mine").unwrap();
    fifo(&at(".tmp-fpstore-pipe01"));
    symlink(&victim, at(".tmp-fpstore-link01")).unwrap();
    fs::hard_link(&victim, at(".tmp-fpstore-hard01")).unwrap();
    fs::create_dir(at(".tmp-fpstore-dir001")).unwrap();
    remove_dead(directory.path());
    let entries = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap());
    let mut left: Vec<_> = entries.map(|e| e.file_name().into_string().unwrap()).collect();
    left.sort();
    let mut expected = vec![
        alive.path().file_name().unwrap().to_str().unwrap(),
        ".tmp-fpstore-dir001",
        ".tmp-fpstore-hard01",
        ".tmp-fpstore-link01",
        ".tmp-fpstore-my-notes",
        ".tmp-fpstore-pipe01",
        ".tmp-notes",
    ];
    expected.sort();
    assert_eq!(left, expected);
    assert_eq!(fs::read(&victim).unwrap(), b"precious");
    // Nor was it locked on the way.
    assert!(!is_locked(&victim));
}

#[test]
fn a_temporary_becomes_a_file_or_goes() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("result");
    let create = || {
        let temporary = Temporary::create(directory.path()).unwrap();
        io::Write::write_all(&mut temporary.file(), b"new").unwrap();
        assert!(is_temporary_name(temporary.path().file_name().unwrap().to_str().unwrap()));
        assert!(is_locked(temporary.path()));
        temporary
    };
    drop(create());
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    create().persist(&path, false).unwrap();
    let error = create().persist(&path, false).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    create().persist(&path, true).unwrap();
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    // Other users may read it as any file that this user makes.
    let usual = directory.path().join("usual");
    fs::write(&usual, "").unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
    assert_eq!(mode(&path), mode(&usual));
    // Not even where what was written is exchanged.
    let robbed = create();
    fs::remove_file(robbed.path()).unwrap();
    fs::write(robbed.path(), "planted").unwrap();
    robbed.persist(&path, true).unwrap_err();
    assert_eq!(fs::read(&path).unwrap(), b"new");
}

#[test]
fn replacing_takes_the_place_of_a_link_and_refuses_a_pipe() {
    let zoo = zoo();
    let link = zoo.path().join("link");
    replace(&link, b"new").unwrap();
    assert_eq!(fs::read(zoo.path().join("victim")).unwrap(), b"precious");
    assert_eq!(fs::read(&link).unwrap(), b"new");
    assert!(fs::symlink_metadata(&link).unwrap().is_file());
    assert_unfit(replace(&zoo.path().join("pipe"), b"new"), "a named pipe");
    assert!(fs::metadata(zoo.path().join("pipe")).unwrap().file_type().is_fifo());
    assert_eq!(fs::metadata(&link).unwrap().nlink(), 1);
}

#[test]
fn a_name_leads_to_a_file_behind_all_links_or_to_what_is_written_through() {
    let zoo = zoo();
    let at = |name: &str| zoo.path().join(name);
    let of = |name: &str| Destination::of(&at(name));
    let file = |name: &str| Destination::File(at(name));
    symlink("link", at("second")).unwrap();
    symlink("round", at("round")).unwrap();
    assert_eq!(of("victim").unwrap(), file("victim"));
    assert_eq!(of("absent").unwrap(), file("absent"));
    assert_eq!(of("second").unwrap(), file("victim"));
    assert_eq!(of("dangling").unwrap(), file("nothing"));
    assert_unfit(of("directory"), "a directory");
    assert!(of("round").unwrap_err().to_string().contains("leads to itself"));
    assert!(matches!(of("pipe").unwrap(), Destination::Through(_)));
    for (name, target) in [("null", "/dev/null"), ("own", "/dev/fd/1"), ("theirs", "/proc/1/fd/1")]
    {
        if !Path::new(target).parent().unwrap().exists() {
            println!("SKIPPED: {target} is of Linux");
            continue;
        }
        symlink(target, at(name)).unwrap();
        let Destination::Through(through) = of(name).unwrap() else { panic!("{name} is a file") };
        let own = if name == "own" { Some(1) } else { None };
        assert_eq!(through.descriptor(), own, "{name}");
    }
    put(&at("second"), b"new").unwrap();
    assert_eq!(fs::read(at("victim")).unwrap(), b"new");
    put(&at("null"), b"lost").unwrap();
    for name in ["second", "link", "null"] {
        assert!(fs::symlink_metadata(at(name)).unwrap().is_symlink(), "{name}");
    }
}

#[test]
fn what_takes_the_place_of_a_file_lets_nobody_do_more() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("result");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    for (bits, kept) in [(0o600, 0o600), (0o664, 0o664), (0o444, 0o444), (0o4755, 0o755)] {
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(bits)).unwrap();
        replace(&path, b"new").unwrap();
        assert_eq!(mode(&path), kept, "{bits:o}");
        let lock = Lock::take(&directory.path().join("part")).unwrap().unwrap();
        lock.persist(&path, true).unwrap();
        assert_eq!(mode(&path), kept, "{bits:o}");
        fs::remove_file(&path).unwrap();
    }
    // What is not replaced has the mode of new files, and a link there has none to give.
    let usual = directory.path().join("usual");
    fs::write(&usual, "").unwrap();
    symlink(&usual, &path).unwrap();
    fs::set_permissions(&usual, fs::Permissions::from_mode(0o600)).unwrap();
    replace(&path, b"new").unwrap();
    assert_ne!(mode(&path), 0o600);
    if !rustix::process::geteuid().is_root() {
        println!("SKIPPED: only root can give a file to another group");
        return;
    }
    // The group of the old file, which this one does not get, could write it; others could read it.
    let theirs = directory.path().join("theirs");
    fs::write(&theirs, "old").unwrap();
    std::os::unix::fs::chown(&theirs, Some(12345), Some(54321)).unwrap();
    fs::set_permissions(&theirs, fs::Permissions::from_mode(0o664)).unwrap();
    let part = Lock::take(&directory.path().join("part")).unwrap().unwrap();
    keep_permissions(part.file(), &theirs, Ownership::Kept).unwrap();
    assert_eq!(mode(part.path()), 0o644);
    fs::set_permissions(&theirs, fs::Permissions::from_mode(0o440)).unwrap();
    keep_permissions(part.file(), &theirs, Ownership::Kept).unwrap();
    assert_eq!(mode(part.path()), 0o600, "who goes on with it can write it");
    fs::set_permissions(&theirs, fs::Permissions::from_mode(0o664)).unwrap();
    keep_permissions(part.file(), &theirs, Ownership::Given).unwrap();
    let data = fs::metadata(part.path()).unwrap();
    assert_eq!((data.uid(), data.gid(), mode(part.path())), (12345, 54321, 0o664));
}
