//! What the name of an output leads to: inputs and stores, which are not written over; links, whose
//! targets are replaced; pipes, devices and descriptors, which are written through.
//!
//! No test names a device or a descriptor of the machine with `--force`: a tool that replaces what
//! a name leads to would take it away. Links in the directory of the test stand for them.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use crate::scratch::{Ran, Scratch};

const PAIR: &str = "0000000000000001\t0000000000000003\t1\n";

/// A store of 1 and 3, and queries of these.
fn scratch() -> Scratch {
    let scratch = Scratch::new();
    scratch.pack("store", &[1, 3], "");
    scratch.write("queries", "0x1\n0x3\n");
    scratch
}

fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

fn mode(scratch: &Scratch, name: &str) -> u32 {
    fs::metadata(scratch.path(name)).unwrap().permissions().mode() & 0o777
}

fn set_mode(scratch: &Scratch, name: &str, mode: u32) {
    fs::set_permissions(scratch.path(name), fs::Permissions::from_mode(mode)).unwrap();
}

fn read(scratch: &Scratch, name: &str) -> String {
    fs::read_to_string(scratch.path(name)).unwrap()
}

/// Runs a line of the shell, in which `$F` is the tool.
fn shell(scratch: &Scratch, line: &str) -> Ran {
    let mut command = Command::new("sh");
    command.arg("-c").arg(line).env("F", crate::PROGRAM).current_dir(scratch.path(""));
    Ran::new(line, command.stdin(Stdio::null()).output().unwrap())
}

#[test]
fn an_output_that_is_an_input_is_refused_under_every_name() {
    let scratch = scratch();
    scratch.write("docs.jsonl", "{\"id\":\"1\",\"text\":\"one two three\"}\n");
    scratch.write("pairs", PAIR);
    scratch.write("ids.csv", "key,fingerprint\na,0x1\nb,0x3\n");
    scratch.run("pack ids.csv -o named --id-column key --quiet").succeeds();
    fs::create_dir(scratch.path("in")).unwrap();
    scratch.write("in/a.jsonl", "{\"text\":\"one two three\"}\n");
    scratch.write("labels", "text_a,text_b,label\na b c d,a b c d,1\n");
    for (input, command) in [
        ("queries", "query store --from queries"),
        ("queries", "query store --from queries --as parquet"),
        ("pairs", "merge-pairs pairs"),
        ("pairs", "dedup store --pairs pairs"),
        ("docs.jsonl", "fingerprint docs.jsonl --recipe simhash-64 --as jsonl"),
        ("in/a.jsonl", "fingerprint in --recipe simhash-64 --as jsonl"),
        ("docs.jsonl", "fingerprint docs.jsonl --recipe imatch --make-table"),
        ("docs.jsonl", "evaluate docs.jsonl"),
        ("labels", "evaluate --pairs labels"),
    ] {
        if command.contains("parquet") && cfg!(not(feature = "parquet")) {
            continue;
        }
        let before = fs::read(scratch.path(input)).unwrap();
        symlink(scratch.path(input), scratch.path("link")).unwrap();
        fs::hard_link(scratch.path(input), scratch.path("hard")).unwrap();
        let option = match command.split(' ').next() {
            _ if command.ends_with("--make-table") => "",
            Some("fingerprint" | "evaluate") => "-o",
            _ => "-o",
        };
        for output in [input, &format!("./in/../{input}"), "link", "hard"] {
            let told = if output == input { "is an input" } else { "is the input" };
            scratch.run(&format!("{command} {option} {output} -f")).fails_naming(&[
                &format!("{output}: "),
                told,
                "name another file",
            ]);
        }
        assert_eq!(fs::read(scratch.path(input)).unwrap(), before, "{command}");
        fs::remove_file(scratch.path("link")).unwrap();
        fs::remove_file(scratch.path("hard")).unwrap();
    }
    // Nothing was begun.
    let names: Vec<_> = scratch.listing("").into_iter().map(|(name, _)| name).collect();
    let expected = ["docs.jsonl", "ids.csv", "in", "labels", "named", "pairs", "queries", "store"];
    assert_eq!(names, expected);
}

#[test]
fn an_input_is_refused_as_output_also_where_the_shell_opened_it() {
    let scratch = scratch();
    for line in [
        "\"$F\" query store --from - -o queries -f < queries",
        "\"$F\" query store --from queries >> queries",
        "\"$F\" query store --from - >> queries < queries",
        "\"$F\" merge-pairs queries --format tsv >> queries",
        "\"$F\" query store --from queries -o /dev/stdout >> queries",
    ] {
        shell(&scratch, line).fails_naming(&["is the input", "name another file"]);
        assert_eq!(read(&scratch, "queries"), "0x1\n0x3\n", "{line}");
    }
    scratch.run("create living --id-type none --quiet").succeeds();
    shell(&scratch, "\"$F\" insert living queries --unless-near >> queries")
        .fails_naming(&["standard output: is the input queries"]);
    assert!(scratch.dump("living").is_empty());
}

#[test]
fn an_output_in_a_store_is_refused() {
    let scratch = scratch();
    scratch.pack("other", &[5], "");
    scratch.write("pairs", PAIR);
    symlink(scratch.path("store"), scratch.path("way")).unwrap();
    symlink(scratch.path("store/manifest.fps"), scratch.path("link")).unwrap();
    symlink(scratch.path("store/new"), scratch.path("nowhere")).unwrap();
    let before = scratch.listing("store");
    for command in [
        "query store 0x1 -o",
        "dump store -o",
        "join store -o",
        "join store --resume -o",
        "join other store -o",
        "dedup store --pairs pairs -o",
    ] {
        for output in ["store/manifest.fps", "store/new", "way/new", "link", "nowhere"] {
            scratch.run(&format!("{command} {output} -f")).fails_naming(&[
                &format!("{output}: lies in the store "),
                "name a place elsewhere",
            ]);
        }
    }
    for (line, output) in [
        ("pack store -o store/sub", "store/sub"),
        ("pack other way/ -o store/sub", "store/sub"),
        ("repair store store/sub", "store/sub"),
        ("repair way store", "store"),
    ] {
        scratch.run(line).fails_naming(&[output, "lies in the store"]);
    }
    scratch.write("a.jsonl", "{\"text\":\"a\"}\n");
    scratch
        .run("corpus dedup a.jsonl --recipe simhash-64 --against store -o way/out")
        .fails_naming(&["way/out: lies in the store store"]);
    assert_eq!(scratch.listing("store"), before);
    assert_eq!(scratch.dump("store"), [1, 3]);
    // A file of another store is no affair of this command; it is one that exists.
    scratch.run("query store 0x1 -o other/manifest.fps").fails_naming(&["exists"]);
}

#[test]
fn a_link_stays_and_what_it_leads_to_is_replaced() {
    let scratch = scratch();
    scratch.write("pairs", PAIR);
    scratch.write("docs.jsonl", "{\"text\":\"one two three four\"}\n{\"text\":\"a b c d e\"}\n");
    fs::create_dir(scratch.path("far")).unwrap();
    for line in [
        "query store --from queries -o link -f",
        "dump store -o link -f",
        "join store --quiet -o link -f",
        "join store --quiet --resume -o link -f",
        "merge-pairs pairs --quiet -o link -f",
        "dedup store --quiet -o link -f",
        "fingerprint docs.jsonl --recipe simhash-64 --as jsonl -q -o link -f",
        "fingerprint docs.jsonl --recipe imatch -q --make-table link -f",
        "evaluate docs.jsonl --recipe simhash-64 -q -o link -f",
    ] {
        // Relative, and over a second link.
        symlink("far/second", scratch.path("link")).unwrap();
        symlink("target", scratch.path("far/second")).unwrap();
        scratch.write("far/target", "old");
        set_mode(&scratch, "far/target", 0o600);
        let ran = scratch.run(line);
        assert!(ran.code == Some(0) && ran.stderr.is_empty(), "{ran:#?}");
        for link in ["link", "far/second"] {
            let data = fs::symlink_metadata(scratch.path(link)).unwrap();
            assert!(data.is_symlink(), "{line}: {link}");
        }
        assert_ne!(fs::read(scratch.path("far/target")).unwrap(), b"old", "{line}");
        assert_eq!(mode(&scratch, "far/target"), 0o600, "{line}");
        // Nothing beside the link or the target.
        assert_eq!(scratch.listing("far").len(), 2, "{line}");
        fs::remove_file(scratch.path("link")).unwrap();
        fs::remove_dir_all(scratch.path("far")).unwrap();
        fs::create_dir(scratch.path("far")).unwrap();
    }
    // Without --force neither it nor a link that leads nowhere.
    symlink("far/none", scratch.path("link")).unwrap();
    scratch.run("dump store -o link").fails_naming(&["link: exists"]);
    scratch.run("dump store -o link -f").succeeds();
    assert_eq!(read(&scratch, "far/none"), "0000000000000001\n0000000000000003\n");
    scratch.run("dump store -o link").fails_naming(&["link: exists"]);
    symlink("round", scratch.path("round")).unwrap();
    scratch.run("dump store -o round -f").fails_naming(&["a link that leads to itself"]);
}

#[test]
fn a_file_that_is_replaced_keeps_its_permissions() {
    let scratch = scratch();
    scratch.write("pairs", "old");
    for bits in [0o600, 0o640, 0o664, 0o755] {
        set_mode(&scratch, "pairs", bits);
        scratch.run("join store --quiet -o pairs -f").succeeds();
        assert_eq!((mode(&scratch, "pairs"), &*read(&scratch, "pairs")), (bits, PAIR));
        scratch.run("join store --quiet -o pairs --resume -f").succeeds();
        assert_eq!(mode(&scratch, "pairs"), bits);
    }
    // Manual pages too.
    scratch.run("man -o man").succeeds();
    set_mode(&scratch, "man/fpstore.1", 0o600);
    fs::rename(scratch.path("man/fpstore.1"), scratch.path("page")).unwrap();
    symlink("../page", scratch.path("man/fpstore.1")).unwrap();
    scratch.run("man -o man").succeeds();
    assert_eq!(mode(&scratch, "page"), 0o600);
    assert!(fs::symlink_metadata(scratch.path("man/fpstore.1")).unwrap().is_symlink());
}

#[test]
fn a_file_that_is_replaced_keeps_its_owner_where_the_user_may_give_it() {
    let scratch = scratch();
    scratch.write("pairs", "old");
    let path = scratch.path("pairs");
    if std::os::unix::fs::chown(&path, Some(12345), Some(54321)).is_err() {
        println!("SKIPPED: only root can give a file to another user");
        return;
    }
    set_mode(&scratch, "pairs", 0o640);
    scratch.run("join store --quiet -o pairs -f").succeeds();
    let data = fs::metadata(&path).unwrap();
    assert_eq!((data.uid(), data.gid(), data.mode() & 0o777), (12345, 54321, 0o640));
    assert_eq!(read(&scratch, "pairs"), PAIR);
}

#[test]
fn what_is_written_is_as_private_as_what_it_replaces_before_it_is_whole() {
    let scratch = scratch();
    scratch.write("out", "old");
    set_mode(&scratch, "out", 0o600);
    let mut command = scratch.command("merge-pairs - -o out --quiet -f");
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(PAIR.as_bytes()).unwrap();
    let temporary = loop {
        let mut names = scratch.listing("").into_iter().map(|(name, _)| name);
        if let Some(name) = names.find(|name| name.starts_with(".tmp-fpstore-")) {
            break name;
        }
        thread::yield_now();
    };
    // It is created before it gets its permissions, and empty.
    while mode(&scratch, &temporary) != 0o600 {
        assert_eq!(fs::metadata(scratch.path(&temporary)).unwrap().len(), 0);
    }
    drop(input);
    assert!(child.wait().unwrap().success());
    assert_eq!((mode(&scratch, "out"), &*read(&scratch, "out")), (0o600, PAIR));
}

#[test]
fn pipes_are_written_through_and_stay() {
    let scratch = scratch();
    pipe(&scratch.path("pipe"));
    symlink("pipe", scratch.path("link")).unwrap();
    for (name, force) in [("pipe", ""), ("pipe", "-f"), ("link", ""), ("link", "-f")] {
        let path = scratch.path(name);
        let reader = thread::spawn(move || fs::read_to_string(path).unwrap());
        scratch.run(&format!("dump store -o {name} {force}")).succeeds();
        assert_eq!(reader.join().unwrap(), "0000000000000001\n0000000000000003\n");
        let kind = fs::symlink_metadata(scratch.path("pipe")).unwrap().file_type();
        assert!(kind.is_fifo());
    }
    assert!(fs::symlink_metadata(scratch.path("link")).unwrap().is_symlink());
    assert_eq!(scratch.listing("").len(), 4, "nothing beside them");
    scratch.run("join store -o pipe --resume").fails_with(
        "pipe: is no regular file, so that nobody can go on with it; leave --resume out",
    );
}

#[test]
fn a_pipe_whose_reader_goes_away_ends_the_tool_quietly() {
    let scratch = Scratch::new();
    let set: Vec<u64> = (0..100_000).collect();
    scratch.pack("store", &set, "");
    pipe(&scratch.path("pipe"));
    for output in ["tsv", "json", "u64le", "parquet"] {
        if output == "parquet" && cfg!(not(feature = "parquet")) {
            continue;
        }
        let path = scratch.path("pipe");
        let reader = thread::spawn(move || File::open(path).unwrap().read(&mut [0; 1]).unwrap());
        let line = format!("dump store -o pipe --as {output}");
        scratch.run(&line).succeeds();
        reader.join().unwrap();
    }
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_goes_through_a_pipe() {
    let scratch = scratch();
    pipe(&scratch.path("pipe"));
    scratch.run("dump store --as parquet -o file").succeeds();
    let path = scratch.path("pipe");
    let reader = thread::spawn(move || fs::read(path).unwrap());
    scratch.run("dump store --as parquet -o pipe").succeeds();
    assert_eq!(reader.join().unwrap(), fs::read(scratch.path("file")).unwrap());
    // To standard output only where that has a name: nobody wants it on a terminal.
    scratch.run("dump store --as parquet -o -").fails_naming(&["give -o FILE"]);
}

#[test]
fn devices_are_written_through_and_stay() {
    let scratch = scratch();
    symlink("/dev/null", scratch.path("null")).unwrap();
    scratch.run("dump store -o null").succeeds();
    assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    symlink("/dev/full", scratch.path("full")).unwrap();
    let ran = scratch.run("dump store -o full");
    ran.fails_naming(&["full: cannot write it", "free space there"]);
    let socket = std::os::unix::net::UnixListener::bind(scratch.path("socket")).unwrap();
    scratch.run("dump store -o socket -f").fails_naming(&["socket: ", "a device or a socket"]);
    drop(socket);
    assert!(fs::metadata(scratch.path("socket")).unwrap().file_type().is_socket());
}

#[cfg(target_os = "linux")]
#[test]
fn descriptors_are_written_where_they_stand() {
    let scratch = scratch();
    let rows = "0000000000000001\n0000000000000003\n";
    symlink("/proc/self/fd/1", scratch.path("my")).unwrap();
    symlink("/proc/self/fd/3", scratch.path("three")).unwrap();
    symlink("my", scratch.path("again")).unwrap();
    for (name, force) in [("my", ""), ("my", "-f"), ("again", "-f")] {
        scratch.write("out", "old");
        let inode = fs::metadata(scratch.path("out")).unwrap().ino();
        let line = format!("(echo head; \"$F\" dump store -o {name} {force}; echo tail) > out");
        shell(&scratch, &line).succeeds();
        assert_eq!(read(&scratch, "out"), format!("head\n{rows}tail\n"), "{name}");
        assert_eq!(fs::metadata(scratch.path("out")).unwrap().ino(), inode);
        // A pipe as well.
        let ran = shell(&scratch, &format!("\"$F\" dump store -o {name} {force} | cat"));
        assert_eq!(ran.succeeds().stdout, rows);
    }
    shell(&scratch, "(\"$F\" dump store -o three -f; echo tail >&3) 3> out").succeeds();
    let out = read(&scratch, "out");
    assert!(out.starts_with(rows) || out.starts_with("tail\n"), "{out}");
    shell(&scratch, "\"$F\" dump store -o three -f 3>> out").succeeds();
    assert!(read(&scratch, "out").ends_with(rows));
    // As a shell has it; without --force, so that a tool that replaces it is refused.
    shell(&scratch, "\"$F\" dump store -o /dev/stdout > out").succeeds();
    assert_eq!(read(&scratch, "out"), rows);
    // A file that another process has open gets the rows at its end.
    let mut open = OpenOptions::new().write(true).read(true).open(scratch.path("out")).unwrap();
    open.seek(SeekFrom::End(0)).unwrap();
    let number = std::os::fd::AsRawFd::as_raw_fd(&open.as_fd());
    symlink(format!("/proc/{}/fd/{number}", std::process::id()), scratch.path("theirs")).unwrap();
    scratch.run("dump store -o theirs -f").succeeds();
    assert_eq!(read(&scratch, "out"), format!("{rows}{rows}"));
    for link in ["my", "three", "again", "theirs"] {
        assert!(fs::symlink_metadata(scratch.path(link)).unwrap().is_symlink());
    }
}

#[test]
fn a_dash_is_standard_output() {
    let scratch = scratch();
    scratch.write("pairs", PAIR);
    scratch.write("docs.jsonl", "{\"text\":\"one two three four\"}\n{\"text\":\"a b c d e\"}\n");
    for line in [
        "query store --from queries",
        "dump store",
        "join store --quiet",
        "merge-pairs pairs --quiet",
        "dedup store --quiet",
    ] {
        let rows = scratch.run(line).succeeds().stdout;
        assert!(!rows.is_empty());
        for force in ["", "--force"] {
            let ran = scratch.run(&format!("{line} -o - {force}")).succeeds();
            assert_eq!(ran.stdout, rows, "{line}");
        }
    }
    for (line, option) in [
        ("fingerprint docs.jsonl --recipe simhash-64 --as jsonl -q", "-o"),
        ("fingerprint docs.jsonl --recipe simhash-64 --as raw -q", "-o"),
        ("fingerprint docs.jsonl --recipe imatch -q --least 1", "--make-table"),
    ] {
        scratch.run(&format!("{line} {option} file -f")).succeeds();
        let mut command = scratch.command(&format!("{line} {option} -"));
        let output = command.output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        assert_eq!(output.stdout, fs::read(scratch.path("file")).unwrap(), "{line}");
    }
    let ran = scratch.run("evaluate docs.jsonl --recipe simhash-64 -q -o -").succeeds();
    assert!(ran.stdout.starts_with("<!doctype html>") && ran.stdout.ends_with("</html>\n"));
    for line in [
        "fingerprint docs.jsonl --recipe simhash-64 --as jsonl -o - --json",
        "evaluate docs.jsonl --recipe simhash-64 -o - --json",
    ] {
        scratch.run(line).fails_naming(&["both go to standard output"]);
    }
    scratch.run("join store -o - --resume").fails_naming(&["--resume goes on with a file"]);
    assert!(!scratch.path("-").exists());
    // A file of that name has another spelling.
    scratch.run("dump store -o ./-").succeeds();
    assert!(scratch.path("-").exists());
}

#[cfg(target_os = "linux")]
#[test]
fn results_need_a_standard_output_that_is_open() {
    let scratch = scratch();
    scratch.write("pairs", PAIR);
    scratch.write("a.txt", "one two three four five");
    scratch.write("docs.jsonl", "{\"text\":\"one two three four\"}\n{\"text\":\"a b c d e\"}\n");
    scratch.run("create living --id-type none --quiet").succeeds();
    let told = "standard output: is closed, and takes no results; redirect it to a file (> FILE)";
    for line in [
        "query store 0x1",
        "query store 0x1 -o -",
        "query store 0x1 --as json",
        "dump store",
        "dump store -o /dev/stdout",
        "join store",
        "merge-pairs pairs",
        "dedup store",
        "stat store",
        "stat store --json",
        "verify store",
        "compare a.txt a.txt",
        "evaluate docs.jsonl --recipe simhash-64 -q",
        "fingerprint --list",
        "fingerprint docs.jsonl --recipe simhash-64 --as jsonl -q -o -",
        "insert living queries --unless-near",
        "plan --n 1e6",
        "pack queries -o p --dry-run",
        "glossary",
        "man",
        "completions bash",
        "--help",
        "query --help",
        "--version",
    ] {
        shell(&scratch, &format!("\"$F\" {line} >&-")).fails_with(told);
        // What a caller throws away on purpose is no error, however it is opened.
        for null in ["> /dev/null", "1<> /dev/null"] {
            let ran = shell(&scratch, &format!("\"$F\" {line} {null}"));
            assert_eq!(ran.code, Some(0), "{ran:#?}");
            if line.starts_with("fingerprint docs") || line.starts_with("pack") {
                let _ = fs::remove_dir_all(scratch.path("p"));
            }
        }
    }
    // A command that could not tell what it did does nothing.
    let before = scratch.listing("living");
    for line in [
        "pack queries -o new",
        "pack queries -o new --json --quiet",
        "pack queries --append living",
        "create new",
        "insert living queries",
        "delete living 0x1",
        "flush living",
        "merge living",
        "expire living --before 2020-01-01",
        "repair store new",
        "bench queries --quick",
    ] {
        shell(&scratch, &format!("\"$F\" {line} >&-")).fails_with(told);
    }
    assert_eq!(scratch.listing("living"), before);
    assert!(!scratch.path("new").exists());
    // What goes to a file needs none, nor does what tells nothing.
    shell(&scratch, "\"$F\" dump store -o out >&-").succeeds();
    shell(&scratch, "\"$F\" pack queries -o quiet --quiet >&-").succeeds();
    assert_eq!(read(&scratch, "out"), "0000000000000001\n0000000000000003\n");
}
