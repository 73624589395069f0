//! Windows of time: `--time`, `--since` and `--until`, `expire`.

use crate::Scratch;

const DAYS: [(&str, &str); 4] = [
    ("2026-01-01", "0x1 0x2"),
    ("2026-01-02T12:00:00Z", "0x3"),
    ("2026-01-03", "0x1 0x4"),
    ("1767484800", "0x5"),
];

/// A store of four days.
fn days() -> Scratch {
    let scratch = Scratch::new();
    let created = scratch.run("create store --window 1d").succeeds().stdout;
    assert_eq!(created, "store: created, empty, with ids, for k = 3, windows of 1 day\n");
    for (day, set) in DAYS {
        let line = format!("insert store - --ids line --time {day} -q");
        scratch.run_with(&line, set.as_bytes()).succeeds();
    }
    scratch
}

fn dump(scratch: &Scratch, times: &str) -> Vec<u64> {
    crate::unhex(&scratch.run(&format!("dump store {times}")).succeeds().stdout)
}

#[test]
fn what_is_looked_at_is_of_the_windows_that_are_asked_for() {
    let scratch = days();
    for flushed in [false, true] {
        if flushed {
            scratch.run("flush store -q").succeeds();
        }
        for (times, expected) in [
            ("", &[1, 2, 3, 4, 5][..]),
            ("--since 2026-01-03", &[1, 4, 5]),
            ("--since 2026-01-02T18:00:00Z --until 2026-01-03", &[3]),
            ("--until 2026-01-02", &[1, 2]),
            ("--since 2026-01-04", &[5]),
            ("--since 1h", &[]),
        ] {
            assert_eq!(dump(&scratch, times), expected, "{times}, flushed {flushed}");
        }
        let all = scratch.run("query store 0x1 -k 1 --limit-ids 0").succeeds().stdout;
        assert_eq!(all.lines().count(), 3, "{all}");
        let ran = scratch.run("query store 0x1 -k 1 --limit-ids 0 --since 2026-01-03").succeeds();
        assert_eq!(
            ran.stdout,
            "0000000000000001\t0000000000000001\t0\n0000000000000001\t0000000000000005\t1\n"
        );
        scratch.run("query store 0x2 -k 0 --since 2026-01-02").ends_with_code(1);
        let pairs = scratch.run("join store -k 1 -q --until 2026-01-03").succeeds().stdout;
        let mut pairs: Vec<&str> = pairs.lines().collect();
        pairs.sort_unstable();
        assert_eq!(
            pairs,
            ["0000000000000001\t0000000000000003\t1", "0000000000000002\t0000000000000003\t1"]
        );
        let clusters = scratch.run("dedup store -k 1 -q --since 2026-01-04").succeeds().stdout;
        assert_eq!(clusters.lines().count(), 1, "{clusters}");
    }
}

#[test]
fn what_is_older_is_no_reason_not_to_insert() {
    for flushed in [false, true] {
        let scratch = days();
        if flushed {
            scratch.run("flush store -q").succeeds();
        }
        // 2 and 3 are of the first two days, 4 of the third.
        let insert = |options: &str| {
            let line = format!("insert store - --ids line -k 0 --unless-near {options} -q");
            let stdout = scratch.run_with(&line, b"0x2 0x3 0x4 0x2").succeeds().stdout;
            stdout.lines().map(|row| row.split('\t').nth(2).unwrap().to_string()).collect()
        };
        let verdicts: Vec<String> = insert("--since 2026-01-05");
        assert_eq!(verdicts, ["inserted", "inserted", "inserted", "near"], "now is later");
        let verdicts: Vec<String> = insert("--since 2026-01-02 --time 2026-01-02");
        assert_eq!(verdicts, ["near"; 4]);
        assert_eq!(dump(&scratch, "--since 2026-01-05"), [2, 3, 4]);
        let all: Vec<String> = insert("");
        assert_eq!(all, ["near"; 4]);
    }
}

#[test]
fn a_store_without_windows_has_nothing_older() {
    let scratch = Scratch::new();
    scratch.run("create living --id-type none -q").succeeds();
    scratch.run_with("insert living - --unless-near --since 7d", b"0x1").fails_naming(&[
        "living: has no windows of time; leave --since out, or create it with --window",
    ]);
    scratch.run_with("insert living - --since 7d", b"0x1").fails_naming(&["--unless-near"]);
}

#[test]
fn expired_windows_are_gone_and_the_others_stay() {
    let scratch = days();
    scratch.run("flush store -q").succeeds();
    let told = scratch.run("expire store --before 2026-01-02T18:00:00Z").succeeds().stdout;
    let expected =
        "store: 1 window that ended before 2026-01-02T18:00:00Z dropped, with 2 fingerprints; ";
    assert!(told.starts_with(expected), "{told}");
    assert!(told.contains(" now, ") && told.contains(" before; "), "{told}");
    let told = scratch.run("expire store --before 2026-01-02T18:00:00Z").succeeds().stdout;
    let nothing = "store: no window ends before 2026-01-02T18:00:00Z; ";
    assert!(told.starts_with(nothing) && !told.contains("before 2026-01-02T18:00:00Z;,"), "{told}");
    assert!(!told.contains(" before; "), "nothing was written: {told}");
    assert_eq!(dump(&scratch, ""), [1, 3, 4, 5]);
    scratch.run("expire store --before 1d -q").succeeds();
    assert_eq!(dump(&scratch, ""), [0u64; 0]);
    scratch.run("verify store").succeeds();
}

#[test]
fn times_that_say_nothing_are_refused() {
    let scratch = days();
    scratch.run("dump store --since 2026-01-03 --until 2026-01-03").fails_naming(&["--until"]);
    scratch.run("query store 0x1 --since never").fails_naming(&["never", "300d"]);
    scratch.pack("packed", &[1, 2], "");
    for line in ["dump packed", "query packed 0x1", "join packed", "dedup packed"] {
        let ran = scratch.run(&format!("{line} --since 7d"));
        ran.fails_naming(&["packed: has no windows of time; leave --since and --until out"]);
    }
}

#[test]
fn times_before_1970_are_refused_alike() {
    let scratch = Scratch::new();
    scratch.write("queries", "0x1\n");
    scratch.run("create living --id-type none --quiet --window 1d").succeeds();
    for line in [
        "insert living queries --time",
        "query living 0x1 --since",
        "query living 0x1 --until",
        "dump living --since",
        "join living --until",
        "dedup living --since",
        "expire living --before",
        "pack queries --append living --time",
    ] {
        let told = |time: &str| {
            let ran = scratch.run(&format!("{line} {time}")).ends_with_code(2);
            ran.stderr.replace(time, "TIME")
        };
        let expected = told("1969-01-01");
        assert!(expected.contains("none is before 1970"), "{expected}");
        assert_eq!(told("99999999d"), expected);
    }
    assert!(scratch.dump("living").is_empty());
}
