//! What inputs are taken for, and inputs that are named twice.

use std::fs;
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::{Scratch, hex, raw};

#[test]
fn a_pack_tells_what_its_inputs_were_taken_for() {
    let scratch = Scratch::new();
    let mut zip = GzEncoder::new(Vec::new(), Compression::fast());
    zip.write_all(b"id;phash\n1;00000000000000a6\n").unwrap();
    for (name, bytes) in [
        ("a.txt", hex(&[1, 2]).into_bytes()),
        ("b.txt", b"17 18446744073709551615".to_vec()),
        ("c.csv.gz", zip.finish().unwrap()),
        ("d.jsonl", b"{\"n\":1,\"hash\":\"-9\"}\n".to_vec()),
        ("e.u64", raw(&[3, 1 << 60])),
        ("f.txt", hex(&[7]).into_bytes()),
        ("g.jsonl", b"{\"simhash\":77}\n".to_vec()),
    ] {
        scratch.write(name, bytes);
    }
    let ran = scratch.run("pack a.txt b.txt c.csv.gz d.jsonl e.u64 f.txt g.jsonl -o s");
    let told = "\
fpstore: a.txt and 1 more: a list in hexadecimal digits
fpstore: b.txt: a list in decimal digits
fpstore: c.csv.gz: CSV in gzip, fingerprints from column \"phash\" in hexadecimal digits
fpstore: d.jsonl: JSON lines, fingerprints from column \"hash\" in decimal digits
fpstore: e.u64: raw integers of 8 bytes
fpstore: g.jsonl: JSON lines, fingerprints from column \"simhash\"
";
    assert_eq!(ran.ends_with_code(0).stderr, told);
    scratch.run("pack a.txt -fo s -q").succeeds();
    let ran = scratch.run_with("pack - -fo s --json", b"0x1 0x2");
    assert_eq!(ran.stderr, "fpstore: standard input: a list in hexadecimal digits\n");
    // An error stays one line.
    scratch.write("bad.txt", hex(&[1; 9]) + "x\n");
    scratch.run("pack a.txt bad.txt -fo s").fails_naming(&["bad.txt: line 10"]);
}

#[test]
#[cfg(unix)]
fn an_input_that_is_named_twice_is_refused_by_both_names() {
    use std::os::unix::fs::symlink;

    let scratch = Scratch::new();
    let text = "{\"id\":1,\"text\":\"one two three four five six seven\"}\n";
    fs::create_dir_all(scratch.path("d/e")).unwrap();
    scratch.write("d/a.jsonl", text);
    scratch.write("d/e/a.jsonl", text);
    symlink("../a.jsonl", scratch.path("d/e/z.jsonl")).unwrap();
    scratch.write("h", hex(&[1, 2]));
    symlink("h", scratch.path("link")).unwrap();
    fs::hard_link(scratch.path("h"), scratch.path("hard")).unwrap();
    scratch.run("pack h -o s -q").succeeds();
    scratch.run("create living --id-type none -q").succeeds();
    scratch.run("join s -k 64 -o pairs -q").succeeds();
    for (line, names) in [
        ("pack h d/../h -o t", ["d/../h", "h"]),
        ("pack h link -o t", ["link", "h"]),
        ("pack s h ./s/ -o t", ["./s/", "s"]),
        ("insert living hard h", ["h", "hard"]),
        ("delete living --from h --from ./h", ["./h", "h"]),
        ("dedup s --pairs pairs --pairs d/../pairs", ["d/../pairs", "pairs"]),
        ("corpus dedup d --id-column id --recipe simhash-64 -o t", ["d/e/z.jsonl", "d/a.jsonl"]),
        (
            "fingerprint d/a.jsonl d/e/../a.jsonl --id-column id --recipe simhash-64 -o t",
            ["d/e/../a.jsonl", "d/a.jsonl"],
        ),
        ("evaluate d/a.jsonl ./d/a.jsonl --id-column id", ["./d/a.jsonl", "d/a.jsonl"]),
    ] {
        let [name, first] = names;
        let told = format!("{name}: is the same file as {first}; give one of them");
        scratch.run(line).fails_with(&told);
        assert!(!scratch.path("t").exists(), "{line}");
    }
    scratch.run("pack h h -o t").fails_with("h: is given twice; give it once");
    let mut command = scratch.command("pack h - -o t");
    command.stdin(fs::File::open(scratch.path("h")).unwrap());
    let ran = crate::Ran::new("pack h - -o t", command.output().unwrap());
    ran.fails_with("standard input: is the same file as h; give one of them");
    // Files that are alike are others.
    fs::remove_file(scratch.path("d/e/z.jsonl")).unwrap();
    scratch.run("corpus dedup d --id-column id --recipe simhash-64 -o t -q").succeeds();
}

#[test]
fn tables_whose_lines_end_with_carriage_returns_are_told_what_they_are() {
    let scratch = Scratch::new();
    let rows = |count: usize| {
        let row = |at: usize| format!("{at},{:016x},text {at}\r", 0xABCD_EF00 + at);
        format!("id,phash,text\r{}", (0..count).map(row).collect::<String>())
    };
    let told = "line 1: ends with a carriage return alone";
    for count in [1, 3, 10_000] {
        scratch.write("a.csv", rows(count));
        scratch.write("a.txt", rows(count));
        scratch.write("a.tsv", rows(count).replace(',', "\t"));
        scratch.write("a.jsonl", "{\"id\":1,\"text\":\"one two\"}\r".repeat(count + 1));
        for line in [
            "pack a.csv -o s",
            "pack a.txt -o s",
            "pack a.tsv -o s",
            "pack a.jsonl -o s",
            "pack a.csv -o s --format csv",
            "corpus dedup a.csv --id-column id --recipe simhash-64 -o c",
            "corpus dedup a.jsonl --id-column id --recipe simhash-64 -o d",
        ] {
            scratch.run(line).fails_naming(&[told, "`tr '\\r' '\\n'`"]);
            assert!(!scratch.path("s").exists(), "{line}");
            // A run without results would say that it starts again.
            let _ = fs::remove_dir_all(scratch.path("c"));
            let _ = fs::remove_dir_all(scratch.path("d"));
        }
    }
    // In a list they are white space, and before a line feed they belong to it.
    scratch.write("list", hex(&[1, 2]).replace('\n', "\r"));
    scratch.run("pack list -o s -q").succeeds();
    scratch.write("a.csv", "phash\r\n00000000000000ab\r");
    scratch.run("pack a.csv -fo s -q").succeeds();
    assert_eq!(scratch.dump("s"), [0xab]);
}

#[test]
fn digits_of_one_fingerprint_are_hexadecimal_beside_a_store_and_that_is_told() {
    let scratch = Scratch::new();
    scratch.run("create living --id-type none -q").succeeds();
    let told = |name: &str| {
        format!(
            "fpstore: warning: {name}: its fingerprints may be hexadecimal or decimal, and were \
             taken for hexadecimal; if they are decimal, give --format dec, or auto,dec for a \
             column\n"
        )
    };
    scratch.write("one", "2718281828459045\n");
    scratch.write("one.jsonl", "{\"hash\":\"3141592653589793\"}\n");
    let ran = scratch.run("insert living one one.jsonl -q").ends_with_code(0);
    assert_eq!(ran.stderr, told("one") + &told("one.jsonl"));
    assert_eq!(scratch.dump("living"), [0x2718281828459045, 0x3141592653589793]);
    let ran = scratch.run_with("query living --from - -k 0", b"2718281828459045");
    assert_eq!(ran.stdout, "2718281828459045\t2718281828459045\t0\n");
    assert_eq!(ran.stderr, told("standard input"));
    scratch.run_with("query living --from - -k 0 --format hex", b"2718281828459045").succeeds();
    scratch.run("delete living --from one --format dec -q").succeeds();
    let ran = scratch.run("delete living --from one -q").ends_with_code(0);
    assert_eq!(ran.stderr, told("one"));
    assert_eq!(scratch.dump("living"), [0x3141592653589793]);
    // What else is there tells them apart, and what has a name beside it is still asked for.
    scratch.run_with("insert living - -q", b"2718281828459045\n14142135623730950488\n").succeeds();
    assert!(scratch.dump("living").contains(&2718281828459045));
    scratch.run("pack one -o s").fails_with(
        "one: line 1, column 1: \"2718281828459045\" and those behind it may be hexadecimal or \
         decimal; give --format hex or --format dec",
    );
    scratch
        .run_with("insert living - -q", b"2718281828459045 1414213562373095\n3141592653589793 1\n")
        .fails_naming(&["line 1, column 1", "2 columns"]);
}

#[test]
fn other_widths_in_a_list_of_hexadecimal_digits_are_told_and_skipped() {
    for (bits, other) in [(256, 32), (256, 16), (128, 16), (64, 8)] {
        let scratch = Scratch::new();
        let full = |seed: u64| -> String {
            let digits = (0..bits / 16).map(|word| format!("{:016x}", seed * 0x9E37 + word));
            digits.collect::<String>()[..bits as usize / 4].to_string()
        };
        let short = &"f".repeat(other);
        for place in [0, 1, 5] {
            let mut lines: Vec<String> = (1..9).map(full).collect();
            lines.insert(place, short.clone());
            lines.push(format!("0x{short}"));
            scratch.write("list", lines.join("\n"));
            scratch.write("table.csv", format!("pdq,n\n{},1\n", lines.join(",1\n")));
            for (line, at) in [
                ("list --format hex", format!("list: line {}, column 1: ", place + 1)),
                (
                    "table.csv --format auto,hex",
                    format!("table.csv: line {}, column \"pdq\": ", place + 2),
                ),
            ] {
                let line = format!("pack {line} -fo s --bits {bits}");
                let why = format!("{other} digits, where most fingerprints have {}", bits / 4);
                scratch.run(&line).fails_naming(&[&at, &why, "0x in front", "--on-error skip"]);
                let ran = scratch.run(&format!("{line} --on-error skip -q")).ends_with_code(0);
                assert!(ran.stderr.contains("1 of 10 records skipped"), "{ran:?}");
                let dumped = scratch.run("dump s").succeeds().stdout;
                assert_eq!(dumped.lines().count(), 9, "{dumped}");
                let padded = format!("{short:0>width$}", width = bits as usize / 4);
                assert_eq!(dumped.matches(&padded).count(), 1, "that with 0x: {dumped}");
            }
        }
    }
    // Without a majority of all digits zeros are left out.
    let scratch = Scratch::new();
    scratch.write("list", "abc\n12\ndeadbeef\n0123456789abcdef\n");
    scratch.run("pack list --format hex -o s -q").succeeds();
    assert_eq!(scratch.dump("s"), [0x12, 0xabc, 0xdead_beef, 0x0123_4567_89ab_cdef]);
}
