//! Values that come out as they went in, and inputs that are told from what they are not.

use std::fs;

use proptest::prelude::*;
use serde_json::Value;

use crate::{Ran, Scratch, raw};

/// The rows of `removed.jsonl` as pairs of the document that went and the one that stays.
fn removed(scratch: &Scratch, output: &str) -> Vec<[String; 2]> {
    let text = fs::read_to_string(scratch.path(output).join("removed.jsonl")).unwrap();
    let row = |line: &str| -> [String; 2] {
        let row: Value = serde_json::from_str(line).unwrap();
        ["id", "kept"].map(|name| row[name].as_str().unwrap().to_string())
    };
    text.lines().map(row).collect()
}

#[track_caller]
fn cleaned(scratch: &Scratch, options: &str) -> Ran {
    let ran =
        scratch.run(&format!("corpus dedup {options} --recipe simhash-64 --removed jsonl -q"));
    ran.ends_with_code(0)
}

#[test]
fn documents_are_kept_by_the_digits_of_the_file() {
    let scratch = Scratch::new();
    let pairs = [
        ("72057594037927937", "72057594037927936"),
        ("-72057594037927936", "-72057594037927937"),
        ("340282366920938463463374607431768", "340282366920938463463374607431767"),
        ("0.30000000000000000002", "0.30000000000000000001"),
        ("1e400", "9e399"),
    ];
    for (place, (greater, less)) in pairs.into_iter().enumerate() {
        let text = "the same words in both of the documents";
        let row =
            |id: &str, rank: &str| format!("{{\"id\":{id},\"text\":\"{text}\",\"r\":{rank}}}\n");
        scratch.write("a.jsonl", row("1", less) + &row("2", greater));
        scratch.write("a.csv", format!("id,text,r\n1,{text},{less}\n2,{text},{greater}\n"));
        for input in ["a.jsonl", "a.csv"] {
            let output = format!("{place}-{input}");
            cleaned(&scratch, &format!("{input} --id-column id --keep max:r -o max-{output}"));
            assert_eq!(removed(&scratch, &format!("max-{output}")), [["1", "2"]], "{greater}");
            cleaned(&scratch, &format!("{input} --id-column id --keep priority:r -o min-{output}"));
            assert_eq!(removed(&scratch, &format!("min-{output}")), [["2", "1"]], "{greater}");
        }
    }
}

#[test]
fn ids_stay_the_digits_that_they_are() {
    let scratch = Scratch::new();
    let ids = [
        "36893488147419103233",
        "36893488147419103234",
        "-18446744073709551617",
        "7",
        "7.0",
        "70e-1",
        "\"007\"",
    ];
    let rows = ids.map(|id| format!("{{\"k\":{id},\"text\":\"one two three four five six\"}}\n"));
    scratch.write("a.jsonl", rows.concat());
    let expected = ids.map(|id| id.trim_matches('"').to_string());
    scratch.run("fingerprint a.jsonl --id-column k --recipe simhash-64 -o f.jsonl -q").succeeds();
    let text = fs::read_to_string(scratch.path("f.jsonl")).unwrap();
    let found: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(found.iter().map(|row| row["id"].as_str().unwrap()).eq(&expected));
    cleaned(&scratch, "a.jsonl --id-column k --keep smallest-id -o o");
    // The negative one is the least of those that are written as whole numbers.
    assert!(removed(&scratch, "o").iter().all(|[_, kept]| *kept == expected[2]));
    assert_eq!(removed(&scratch, "o").len(), ids.len() - 1);
}

#[test]
fn numbers_with_zeros_in_front_are_no_ids_of_64_bits() {
    let scratch = Scratch::new();
    scratch.write("a.csv", "fingerprint,id\n00000000000000ff,7\n0000000000000fff,07\n");
    scratch.write("a.jsonl", "{\"fingerprint\":\"00000000000000ff\",\"id\":\"+7\"}\n");
    for (input, text) in [("a.csv", "\"07\""), ("a.jsonl", "\"+7\"")] {
        let ran = scratch.run(&format!("pack {input} -fo s --id-column id --id-type number"));
        ran.fails_naming(&[text, "without zeros in front"]);
        scratch.run(&format!("pack {input} -fo s --id-column id --id-type text -q")).succeeds();
    }
}

#[test]
fn numbers_in_messages_are_those_of_the_file() {
    let scratch = Scratch::new();
    for number in
        ["12297829382473034410.5", "1.2e19", "20000000000000000000", "-9300000000000000000"]
    {
        scratch.write("a.jsonl", format!("{{\"hash\": {number} }}\n"));
        let ran = scratch.run("pack a.jsonl -o s");
        ran.fails_naming(&["line 1", &format!(" {number} is no fingerprint"), "64 bits"]);
    }
    scratch.write("a.jsonl", "{\"hash\":1,\"id\":1e3}\n");
    scratch.run("pack a.jsonl -o s --id-column id --id-type number").fails_naming(&["1e3"]);
}

#[test]
fn quotes_in_tsv_are_text_and_escapes_mean_what_they_stand_for() {
    let scratch = Scratch::new();
    let tsv = "name\thash\n\"open\t00000000000000f1\nb\\tc\\\\d\t00000000000000f2\n\\x\"\t00000000000000f3\n";
    scratch.write("a.tsv", tsv);
    scratch.run("pack a.tsv -o s --id-column name -q").succeeds();
    let dumped = scratch.run("dump s --as ids").succeeds().stdout;
    assert_eq!(
        dumped,
        "00000000000000f1\t\"open\n00000000000000f2\tb\\tc\\\\d\n00000000000000f3\t\\\\x\"\n"
    );
    scratch
        .write("t.tsv", "id\ttext\n1\t\"one two three four five\n2\tone two\\nthree four five\n");
    let told = scratch.run("corpus dedup t.tsv --id-column id --recipe simhash-64 -o o");
    assert!(told.stderr.contains("documents                      2 "), "{told:?}");
    // Quotes enclose what is between tabs where it is said to be CSV.
    scratch.write("q.txt", "name\thash\n\"a\tb\"\t00000000000000f1\n");
    scratch.run("pack q.txt --format csv -fo s --id-column name -q").succeeds();
    assert_eq!(scratch.run("dump s --as ids").succeeds().stdout, "00000000000000f1\ta\\tb\n");
}

/// Texts with all that separates, quotes, escapes or ends something.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[\\x01-\\x1f\\x7f,;|\"'\\\\ \t]{1,2}",
        "[a-zA-Z0-9.:/-]{1,6}",
        Just("\\t".to_string()),
        Just("\u{1f600}é\u{202e}".to_string()),
        Just("NaN".to_string()),
        Just("-340282366920938463463374607431768211456".to_string()),
    ];
    prop::collection::vec(piece, 1..5).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..Default::default() })]

    /// Any ids through every writer and the reader of what it writes.
    #[test]
    fn ids_come_back_from_every_format(
        ids in prop::collection::vec(text(), 1..60), first in any::<u64>(),
    ) {
        let scratch = Scratch::new();
        let fingerprint = |row: usize| first.wrapping_add((row as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let objects: String = ids
            .iter()
            .enumerate()
            .map(|(row, id)| {
                let object = serde_json::json!({"fingerprint": fingerprint(row), "id": id});
                format!("{object}\n")
            })
            .collect();
        scratch.write("a.jsonl", objects);
        scratch.run("pack a.jsonl -o a --id-column id -q").succeeds();
        let dump = |name: &str| scratch.run(&format!("dump {name} --as json,ids")).stdout;
        let expected = scratch.run("dump a --as ids").succeeds().stdout;
        let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
        let csv = ids.iter().enumerate().map(|(row, id)| {
            format!("{},{:016x}\r\n", quoted(id), fingerprint(row))
        });
        scratch.write("b.csv", format!("id,fingerprint\r\n{}", csv.collect::<String>()));
        let dedup = "dedup a -k 0 -q --force";
        scratch.run(&format!("{dedup} --as tsv,header,per-id -o c.tsv")).succeeds();
        scratch.run(&format!("{dedup} --as parquet,per-id -o d.parquet")).succeeds();
        scratch.run(&format!("{dedup} --as tsv,header,u64,per-id -o e.tsv")).succeeds();
        for (input, options) in
            [("b.csv", ""), ("c.tsv", ""), ("d.parquet", ""), ("e.tsv", "--format auto,dec")]
        {
            let name = &input[..1];
            let pack = format!("pack {input} -fo {name} --id-column id {options} -q");
            scratch.run(&pack).succeeds();
            let found = scratch.run(&format!("dump {name} --as ids")).succeeds().stdout;
            // The ids of one fingerprint come in the order of the file.
            let sorted = |text: &str| {
                let mut rows: Vec<String> = text.lines().map(str::to_string).collect();
                rows.sort();
                rows
            };
            prop_assert_eq!(sorted(&found), sorted(&expected), "{} {}", input, dump("a"));
        }
    }
}

#[test]
fn what_is_no_table_is_called_by_its_name() {
    let scratch = Scratch::new();
    let mut tar = vec![0; 1024];
    tar[..4].copy_from_slice(b"name");
    tar[257..262].copy_from_slice(b"ustar");
    let bytes = |head: &[u8]| {
        let mut bytes = head.to_vec();
        bytes.resize(64, 0x9c);
        bytes
    };
    let wide = |text: &str| text.bytes().flat_map(|byte| [byte, 0]).collect::<Vec<u8>>();
    for (name, file, part) in [
        ("a.tar", tar.clone(), "a tar archive"),
        ("a.dat", bytes(b"\xff\xd8\xff\xe0"), "a JPEG picture"),
        ("b.dat", bytes(b"%PDF-1.7\n\xe2"), "a PDF document"),
        ("c.dat", bytes(b"\x7fELF\x02\x01"), "a program (ELF)"),
        ("d.dat", bytes(b"7z\xbc\xaf\x27\x1c"), "a 7z archive"),
        ("e.pkl", bytes(b"\x80\x05\x95\x20"), "a pickle"),
        ("f.bin", bytes(b"PK\x03\x04"), "a zip archive"),
        ("g.txt", wide("00ff00ff00ff00ff\r\n"), "UTF-16"),
        ("h.txt", b"00ff00ff00ff00ff\0ff00ff00ff00ff00\0".to_vec(), "NUL bytes"),
        ("i.dat", bytes(b"IxFI\x80\0\0\0"), "byte 0x80 is no text"),
        (
            "j.txt",
            b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n".to_vec(),
            "git lfs",
        ),
    ] {
        scratch.write(name, file);
        scratch.run(&format!("pack {name} -o s")).fails_naming(&[name, part]);
    }
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gzip, &tar).unwrap();
    scratch.write("a.tgz", gzip.finish().unwrap());
    scratch.run("pack a.tgz -o s").fails_naming(&["a tar archive"]);
    // Raw integers are read where the name or the user says so.
    let set = [0xff80_0000_0000_0000, 1 << 63, 255];
    for (name, options) in [("a.u64", ""), ("raw.dat", "--format u64le")] {
        scratch.write(name, raw(&set));
        scratch.run(&format!("pack {name} -fo s -q {options}")).succeeds();
        assert_eq!(scratch.dump("s").len(), set.len());
    }
    scratch.run("pack raw.dat -fo s").fails_naming(&["--format u64le"]);
    scratch
        .run("fingerprint a.dat --recipe simhash-64 -o f.jsonl")
        .fails_naming(&["JPEG", "no documents"]);
}

#[test]
fn raw_integers_have_the_byte_order_that_is_said() {
    let scratch = Scratch::new();
    let set = [0x0102_0304_0506_0708u64, 0xfffe_fdfc_fbfa_f9f8];
    scratch.write("big.u64", set.map(u64::to_be_bytes).concat());
    scratch.write("little.u64", set.map(u64::to_le_bytes).concat());
    for options in ["big.u64 --format auto,big", "little.u64"] {
        scratch.run(&format!("pack {options} -fo s -q")).succeeds();
        assert_eq!(scratch.dump("s"), set, "{options}");
    }
    let wide = 0x0102_0304_0506_0708_090a_0b0c_0d0e_0f10u128;
    scratch.write("wide.raw", wide.to_be_bytes());
    scratch.run("pack wide.raw --bits 128 --format auto,big -fo s -q").succeeds();
    assert_eq!(scratch.run("dump s").succeeds().stdout, format!("{wide:032x}\n"));
}

#[test]
fn json_that_is_no_lines_is_called_so() {
    let scratch = Scratch::new();
    let [a, b] = ["00000000000000ff", "ff00000000000000"];
    for (name, text, part) in [
        ("a.json", format!("[{{\"hash\":\"{a}\"}},{{\"hash\":\"{b}\"}}]\n"), "jq -c '.[]'"),
        ("b.json", format!("  [\n\"{a}\",\n\"{b}\"\n]\n"), "a JSON array"),
        ("c.txt", format!("[\"{a}\"]"), "a JSON array"),
        ("d.json", format!("{{\"x.png\":\"{a}\",\"y.png\":\"{b}\"}}"), "jq -c 'to_entries[]'"),
        ("e.jsonl", "{\"hash\":NaN}\n".to_string(), "NaN at byte 9 is no value of JSON"),
        ("f.jsonl", "{\"a\":-Infinity,\"hash\":1}\n".to_string(), "Infinity at byte 7"),
    ] {
        scratch.write(name, text);
        scratch.run(&format!("pack {name} -o s")).fails_naming(&[name, part]);
    }
    // What the message says can be done.
    scratch.write("e", format!("{{\"key\":\"x.png\",\"value\":\"{a}\"}}\n"));
    scratch.run("pack e -o s --fingerprint-column value --id-column key -q").succeeds();
}

#[test]
fn halves_of_surrogates_are_told_with_their_column() {
    let scratch = Scratch::new();
    scratch.write(
        "a.jsonl",
        "{\"\\udc00\":1,\"id\":\"x\\ud83dy\",\"text\":\"one two three four\",\"hash\":1}\n",
    );
    let parts = ["column \"id\"", "half of a pair of surrogates"];
    scratch.run("pack a.jsonl -o s --id-column id").fails_naming(&parts);
    scratch
        .run("fingerprint a.jsonl --id-column id --recipe simhash-64 -o f.jsonl")
        .fails_naming(&parts);
    scratch.run("pack a.jsonl -o s -q").succeeds();
    scratch.run("fingerprint a.jsonl --recipe simhash-64 -o f.jsonl -q").ends_with_code(0);
}

#[test]
fn what_is_short_near_the_start_is_told_and_left_out_as_later() {
    let scratch = Scratch::new();
    let [first, last] = ["c3".repeat(32), "5d".repeat(32)];
    let short = "0".repeat(32);
    scratch.write("a.txt", format!("{first}\n{short}\n{last}\n"));
    scratch.write("a.csv", format!("pdq,name\n{first},x\n{short},y\n{last},z\n"));
    for (input, place) in [("a.txt", "line 2"), ("a.csv", "line 3")] {
        for bits in ["", "--bits 256"] {
            let ran = scratch.run(&format!("pack {input} -fo s {bits}"));
            ran.fails_naming(&[place, "32 digits", "64 hexadecimal digits", "--on-error skip"]);
            let ran = scratch.run(&format!("pack {input} -fo s {bits} --on-error skip"));
            assert!(ran.stderr.contains(place) && ran.code == Some(0), "{ran:?}");
            let dumped = scratch.run("dump s").succeeds().stdout;
            assert_eq!(dumped, format!("{last}\n{first}\n"));
        }
    }
    for options in ["a.csv ", "a.txt --format hex"] {
        let ran = scratch.run(&format!("pack {options} -fo s -q --on-error skip --bits 64"));
        ran.fails_naming(&["256 bits", "pack --bits 256"]);
    }
}

#[test]
fn numbers_that_may_be_either_are_asked_for() {
    let scratch = Scratch::new();
    let set = [1_234_567_890_123_456u64, 9_876_543_210_123_456];
    let text: String = set.map(|number| format!("{number}\n")).concat();
    scratch.write("a.txt", &text);
    scratch.write("a.csv", format!("hash\n{text}"));
    scratch.run("pack a.txt -o s").fails_naming(&["--format hex or --format dec"]);
    scratch.run("pack a.csv -o s").fails_naming(&["--format auto,hex or auto,dec"]);
    scratch.run("pack a.txt --format dec -fo s -q").succeeds();
    assert_eq!(scratch.dump("s"), set);
    // No decimal number begins with a zero.
    scratch.write("b.txt", format!("0000000000000001\n{text}"));
    scratch.run("pack b.txt -fo s -q").succeeds();
    assert_eq!(scratch.dump("s"), [1, 0x1234_5678_9012_3456, 0x9876_5432_1012_3456]);
}

#[test]
fn what_no_column_asks_for_may_be_any_bytes() {
    let scratch = Scratch::new();
    scratch.write("a.csv", b"name,hash\ncaf\xe9,00000000000000f1\n\x1b[0m\x7f,00000000000000f2\n");
    scratch.run("pack a.csv -o s -q").succeeds();
    assert_eq!(scratch.dump("s"), [0xf1, 0xf2]);
    let ran = scratch.run("pack a.csv -o t --id-column name");
    ran.fails_naming(&["line 2", "UTF-8"]);
    scratch.write("b.txt", "name|hash\nx,y|00000000000000f1\n");
    scratch.run("pack b.txt -fo s -q").succeeds();
    assert_eq!(scratch.dump("s"), [0xf1]);
}

#[test]
#[cfg(unix)]
fn what_is_no_document_in_a_directory_is_passed_over() {
    let scratch = Scratch::new();
    fs::create_dir_all(scratch.path("d/e")).unwrap();
    scratch.write("d/a.jsonl", "{\"id\":1,\"text\":\"one two three four five six\"}\n");
    scratch.write("d/b.jsonl.part", "{\"id\":2,\"te");
    scratch.write("d/c.jsonl~", "x");
    scratch.write("d/info.json", "{\n  \"description\": \"a set\"\n}\n");
    scratch.write("d/list.json", "{\"splits\": []}\n");
    std::os::unix::fs::symlink("e", scratch.path("d/f")).unwrap();
    let ran = cleaned(&scratch, "d --id-column id -o o");
    assert!(removed(&scratch, "o").is_empty());
    for part in [
        "d/b.jsonl.part: is named as what is not complete",
        "d/c.jsonl~: ",
        "d/info.json: is JSON, and no object",
        "d/list.json: is JSON, and no object",
        "d/f: is a link to a directory",
    ] {
        assert!(ran.stderr.contains(part), "{part}: {ran:?}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn names_that_are_no_text_stay_apart() {
    use std::os::unix::ffi::OsStrExt;

    let scratch = Scratch::new();
    fs::create_dir(scratch.path("d")).unwrap();
    for name in [&b"a\xfe.txt"[..], b"a\xff.txt"] {
        let path = scratch.path("d").join(std::ffi::OsStr::from_bytes(name));
        fs::write(path, "one two three four five six").unwrap();
    }
    cleaned(&scratch, "d -o o");
    assert_eq!(removed(&scratch, "o"), [["d/a\\xff.txt", "d/a\\xfe.txt"]]);
}

#[test]
fn texts_come_through_a_pipe() {
    let scratch = Scratch::new();
    let texts = "{\"id\":\"x\",\"text\":\"one two three four five six\"}\n".repeat(3);
    let line = "fingerprint - --id-column id --recipe simhash-64 -o - -q";
    let rows = scratch.run_with(line, texts.as_bytes()).succeeds().stdout;
    assert_eq!(rows.lines().count(), 3);
    scratch.run("create s --id-type none -q").succeeds();
    scratch.run_with("insert s - -q", rows.as_bytes()).succeeds();
    assert_eq!(scratch.dump("s").len(), 1);
    let csv = "text\none two three four five six\n";
    scratch
        .run_with("fingerprint - --format csv --recipe simhash-64 -o - -q", csv.as_bytes())
        .succeeds();
    let parquet = scratch.run_with("fingerprint - --format parquet --recipe simhash-64 -o -", b"");
    parquet.fails_naming(&["pipe"]);
}

#[test]
fn short_texts_are_compared_exactly() {
    let scratch = Scratch::new();
    for (name, text) in [("a", "Owl"), ("b", "owl"), ("c", "cow"), ("d", "")] {
        scratch.write(name, text);
    }
    scratch.write("e", "a text that is long enough for features");
    for (other, verdict) in
        [("b", "equal"), ("c", "different"), ("d", "different"), ("e", "different")]
    {
        let told = scratch.run(&format!("compare a {other} --recipe simhash-64")).succeeds().stdout;
        assert!(told.contains(&format!("\nverdict     {verdict}: ")), "{told}");
    }
    scratch.run("compare d d --recipe simhash-64").succeeds();
}

#[test]
fn labels_that_say_both_are_refused_and_recall_of_nothing_is_none() {
    let scratch = Scratch::new();
    let text = |word: &str| format!("{word} runs over the hill and far away from here");
    let row = |id: &str| format!("{{\"id\":\"{id}\",\"text\":\"{}\"}}\n", text(id));
    scratch.write("t.jsonl", ["p", "q", "r"].map(row).concat());
    let evaluate = "evaluate t.jsonl --id-column id --recipe simhash-64 --pairs";
    scratch.write("both.csv", "a,b,label\np,q,1\nq,p,0\n");
    scratch.run(&format!("{evaluate} both.csv")).fails_naming(&["\"q\", \"p\"", "leave one"]);
    scratch.write("texts.csv", "text_a,text_b,label\nx y,z,0\nz,x y,yes\n");
    scratch.run("evaluate --pairs texts.csv --recipe simhash-64").fails_naming(&["leave one"]);
    scratch.write("none.csv", "a,b,label\np,q,0\n");
    let told = scratch.run(&format!("{evaluate} none.csv"));
    let told = told.ends_with_code(0);
    let row = told.stdout.lines().find(|line| line.contains("rule")).unwrap();
    assert!(row.split_whitespace().nth(3) == Some("-"), "{told:?}");
}

#[test]
fn compressed_pairs_are_read_and_zeros_behind_gzip_are_none() {
    let scratch = Scratch::new();
    let compressed = |bytes: &[u8]| {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut gzip, bytes).unwrap();
        gzip.finish().unwrap()
    };
    let set = [0xf0u64, 0xf1, 0xff00];
    scratch.pack("s", &set, "");
    let pairs = scratch.run("join s -k 64 -q").succeeds().stdout;
    scratch.write("p.gz", compressed(pairs.as_bytes()));
    assert_eq!(scratch.run("merge-pairs p.gz -q").succeeds().stdout, pairs);
    let [first, second] = ["00000000000000f0\n00000000000000f1\n", "000000000000ff00\n"];
    let members = [compressed(first.as_bytes()), compressed(second.as_bytes())].concat();
    for (zeros, behind) in [(0, ""), (1, ""), (70_000, ""), (512, "x")] {
        let file = [&members[..], &vec![0; zeros], behind.as_bytes()].concat();
        scratch.write("a.gz", file);
        let ran = scratch.run("pack a.gz -fo t -q");
        match behind {
            "" => {
                ran.succeeds();
                assert_eq!(scratch.dump("t"), set);
            }
            _ => ran.fails_naming(&["behind the zeros"]),
        }
    }
}

#[test]
#[cfg(feature = "parquet")]
fn pairs_that_a_file_says_are_others_or_not_all_are_refused() {
    let scratch = Scratch::new();
    let set: Vec<u64> = (0..300).map(|i| i << 55 | i).collect();
    scratch.pack("s", &set, "");
    fs::rename(scratch.path("s"), scratch.path("t")).unwrap();
    scratch.pack("s", &set, "");
    let join = "join s --as parquet --quiet -o";
    for (options, name) in [("-k 2", "two"), ("-k 3 --shard 0/2", "0"), ("-k 3 --shard 1/2", "1")] {
        scratch.run(&format!("{join} {name} {options}")).succeeds();
    }
    let whole = scratch.run("dedup s -k 3 --quiet").succeeds().stdout;
    let few = scratch.run("dedup s -k 3 --pairs two");
    few.fails_naming(&["two: holds pairs within 2", "within 3 are needed", "-k 2"]);
    scratch.run("dedup s -k 2 --pairs two -q").succeeds();
    scratch.run("dedup s -k 3 --pairs 1").fails_naming(&["shard 0/2"]);
    let both = scratch.run("dedup s -k 3 --pairs 0 --pairs 1 -q").succeeds();
    assert_eq!(both.stdout, whole);
    let other = scratch.run("dedup t -k 3 --pairs 0 --pairs 1 -q").ends_with_code(0);
    assert_eq!(other.stderr.matches("are those of s\n").count(), 2, "{other:?}");
}
