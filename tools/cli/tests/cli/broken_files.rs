//! Files that are cut, damaged, empty, or not what they are called; and columns that are not there.

use crate::oracle::fingerprints;
use crate::writers::{bzip2, delimited, gzip, jsonl, lz4, npy, npy_u64, xz, zstd};
use crate::{Scratch, hex, raw};

#[track_caller]
fn fails_with(name: &str, bytes: impl AsRef<[u8]>, options: &str, message: &str) {
    let scratch = Scratch::new();
    scratch.write(name, bytes);
    let line = format!("pack {name} -o store {options}");
    scratch.run(&line).fails_with(&format!("{name}: {message}"));
    assert!(!scratch.path("store").exists());
}

#[track_caller]
fn packs_as(name: &str, bytes: impl AsRef<[u8]>, options: &str, expected: &[u64]) {
    let scratch = Scratch::new();
    scratch.write(name, bytes);
    scratch.run(&format!("pack {name} -o store --quiet {options}")).packs(expected);
    assert_eq!(scratch.dump("store"), expected, "{name} {options}");
}

#[test]
fn sets_of_no_fingerprints_are_packed() {
    for (name, bytes) in [
        ("empty", Vec::new()),
        ("empty.jsonl", b"\n".to_vec()),
        ("empty.u64", Vec::new()),
        ("empty.npy", npy_u64(&[])),
        ("header.csv", b"url,fingerprint\n".to_vec()),
        ("header.tsv", b"url\tfingerprint".to_vec()),
        ("empty.gz", gzip(b"")),
        ("empty.zst", zstd(b"")),
        ("empty.bz2", bzip2(b"")),
        ("empty.xz", xz(b"")),
        ("empty.lz4", lz4(b"")),
    ] {
        packs_as(name, bytes, "", &[]);
    }
    packs_as("empty", "", "--format jsonl", &[]);
    packs_as("empty", "", "--format csv,no-header --fingerprint-column 1", &[]);
    #[cfg(feature = "arrow")]
    {
        use crate::writers::batches::{COLUMNS, batches, file, stream};
        for (_, column) in COLUMNS {
            let batches = batches(&[], column);
            packs_as("empty.arrow", file(&batches, None), "", &[]);
            packs_as("empty.arrows", stream(&batches, None), "", &[]);
            #[cfg(feature = "parquet")]
            {
                let compression = ::parquet::basic::Compression::SNAPPY;
                let bytes = crate::writers::batches::parquet(&batches, compression);
                packs_as("empty.parquet", bytes, "", &[]);
            }
        }
    }
}

#[test]
fn files_without_a_byte_that_need_some_are_refused() {
    let advice = "check the file, or give the --format that it has";
    for (name, format, what) in [
        ("a.npy", "npy", "a .npy array"),
        ("a.parquet", "parquet", "Parquet"),
        ("a.arrow", "arrow", "Arrow IPC"),
    ] {
        fails_with(name, "", "", &format!("is not {what}; {advice}"));
        fails_with("in", "", &format!("--format {format}"), &format!("is not {what}; {advice}"));
    }
    let no_header = "is empty, without even a header; write one, or give --format auto,no-header";
    fails_with("a.csv", "", "", no_header);
    fails_with("a.tsv", "", "", no_header);
    fails_with("in", "", "--format csv", no_header);
    for (name, codec) in [
        ("a.gz", "gzip"),
        ("a.u64.zst", "zstd"),
        ("a.bz2", "bzip2"),
        ("a.txt.xz", "xz"),
        ("a.csv.lz4", "lz4"),
    ] {
        let scratch = Scratch::new();
        scratch.write(name, "");
        let line = format!("pack {name} -o store --format auto,{codec}");
        scratch.run(&line).fails_naming(&[name, "cannot decompress", codec]);
    }
}

#[test]
fn content_that_is_not_what_the_name_says_is_not_taken_for_integers() {
    let set = fingerprints(80, 100);
    let advice = "check the file, or give the --format that it has";
    fails_with("a.parquet", raw(&set), "", &format!("is not Parquet; {advice}"));
    fails_with("a.npy", raw(&set), "", &format!("is not a .npy array; {advice}"));
    fails_with("a.csv", raw(&set), "", &format!("is not CSV; {advice}"));
    fails_with("a.arrow", hex(&set), "", &format!("is not Arrow IPC; {advice}"));
    let message = "is no gzip, as the name says, but something else, which is not read; fetch \
                   it again, or give the --format that it has";
    fails_with("a.gz", raw(&set), "", message);
    let mut sorted = set.clone();
    sorted.sort_unstable();
    sorted.dedup();
    packs_as("a.parquet", raw(&set), "--format u64le", &sorted);
    packs_as("a.gz", raw(&set), "--format u64le", &sorted);
    // A list is one, whatever it is called.
    packs_as("a.csv", hex(&set), "", &sorted);
}

#[test]
fn files_of_other_programs_are_told_by_name() {
    let scratch = Scratch::new();
    for (start, what) in [
        (&b"PK\x03\x04"[..], "a zip archive"),
        (b"SQLite format 3\0", "an SQLite database"),
        (b"Obj\x01", "an Avro file"),
        (b"\x89HDF\r\n\x1a\n", "an HDF5 file"),
    ] {
        let mut bytes = start.to_vec();
        bytes.resize(64, 0x80);
        scratch.write("in", &bytes);
        scratch.run("pack in -o store").fails_naming(&["in: is ", what, "--format u64le"]);
        scratch.run("pack in -o other --format u64le --quiet").succeeds();
        std::fs::remove_dir_all(scratch.path("other")).unwrap();
    }
}

#[test]
fn integers_that_begin_like_a_compressed_file_can_be_packed() {
    let set = [0xffff_ffff_0008_8b1f, 7];
    let scratch = Scratch::new();
    scratch.write("in", raw(&set));
    scratch.run("pack in -o store").fails_naming(&[
        "in: byte ",
        "cannot decompress gzip",
        "--format auto,uncompressed",
    ]);
    packs_as("in", raw(&set), " --format u64le,uncompressed", &[7, set[0]]);
}

#[test]
fn a_compressed_file_that_is_cut_is_refused() {
    let set = fingerprints(81, 20_000);
    let text = hex(&set);
    let compressed = [
        ("a.gz", gzip(text.as_bytes())),
        ("a.zst", zstd(text.as_bytes())),
        ("a.bz2", bzip2(text.as_bytes())),
        ("a.xz", xz(text.as_bytes())),
        ("a.lz4", lz4(text.as_bytes())),
    ];
    for (name, bytes) in compressed {
        for part in [1, 2, 3, 9] {
            let scratch = Scratch::new();
            scratch.write(name, &bytes[..bytes.len() * part / 10]);
            let line = format!("pack {name} -o store --on-error skip");
            scratch.run(&line).fails_naming(&[
                &format!("{name}: byte "),
                "cannot decompress",
                "cut or damaged: fetch it again",
            ]);
            assert!(!scratch.path("store").exists());
        }
    }
    let twice = gzip(&zstd(text.as_bytes()));
    fails_with("a.gz", twice, "", "is compressed twice; decompress the outer zstd first");
}

#[test]
fn members_and_frames_one_after_the_other_are_one_text() {
    packs_as("a.gz", [gzip(b"0x1\n0x"), gzip(b"2\n")].concat(), "", &[1, 2]);
    packs_as("a.zst", [zstd(b"0x1\n0x"), zstd(b"2\n")].concat(), "", &[1, 2]);
    packs_as("a.bz2", [bzip2(b"0x1\n0x"), bzip2(b"2\n")].concat(), "", &[1, 2]);
    packs_as("a.xz", [xz(b"0x1\n0x"), xz(b"2\n")].concat(), "", &[1, 2]);
    packs_as("a.lz4", [lz4(b"0x1\n0x"), lz4(b"2\n")].concat(), "", &[1, 2]);
}

#[test]
fn a_numpy_array_that_is_cut_or_of_another_kind_is_refused() {
    let bytes = npy_u64(&[1, 2, 3]);
    let cut = "a .npy array is cut or damaged";
    let advice = "fetch or write it again";
    let end = bytes.len();
    fails_with("a", &bytes[..end - 3], "", &format!("{cut}: it ends after 2 of 3 rows; {advice}"));
    fails_with("a", &bytes[..end - 24], "", &format!("{cut}: it ends after 0 of 3 rows; {advice}"));
    fails_with("a", &bytes[..60], "", &format!("{cut}: the header is not whole; {advice}"));
    let long = [&bytes[..], &[0]].concat();
    let more = "bytes follow after the 3 rows of which the header tells";
    fails_with("a", long, "", &format!("{cut}: {more}; {advice}"));
    let wanted = "holds no fingerprints; save uint64 of shape (n), or uint8 of shape (n, 8), or as many \
                  more as they have more bits";
    let floats = npy(&[1.0f64, 2.0], &[2]);
    let message = format!("a .npy array: an array of type \"<f8\" and shape (2) {wanted}");
    fails_with("a", floats, "", &message);
    let three = npy(&[1u64, 2, 3, 4, 5, 6], &[2, 3]);
    let message = format!("a .npy array: an array of type \"<u8\" and shape (2, 3) {wanted}");
    fails_with("a", three, "", &message);
}

#[test]
fn a_column_that_is_not_there_is_told_with_those_that_are() {
    let csv = delimited(&[1], b',', &["url", "key", "kind"], |x| x.to_string());
    let there = "there are \"url\", \"key\", \"kind\"; give";
    let open = format!("which column holds the fingerprints? {there} --fingerprint-column NAME");
    let missing = format!("no column \"hash\"; {there} one of them");
    fails_with("a", &csv, "", &open);
    fails_with("a", &csv, "--fingerprint-column hash", &missing);
    let twice = delimited(&[1], b',', &["key", "key", "kind"], |x| x.to_string());
    let message = "more than one column \"key\"; rename one of them";
    fails_with("a", twice, "--fingerprint-column key", message);
    let json = "{\"url\":1,\"key\":2,\"kind\":3}\n";
    fails_with(
        "a",
        json,
        "",
        "which column holds the fingerprints? there are \"url\", \"key\", \"kind\"; give \
         --fingerprint-column NAME",
    );
    #[cfg(feature = "arrow")]
    {
        use crate::writers::batches::{COLUMNS, batches, file};
        let bytes = file(&batches(&[1], COLUMNS[0].1), None);
        let there = "there are \"url\", \"fingerprint\", \"row\"; give one of them";
        let message = format!("no column \"hash\"; {there}");
        fails_with("a", bytes, "--fingerprint-column hash", &message);
    }
}

#[test]
fn a_table_without_header_asks_for_the_number_of_the_column() {
    let header = "looks like data, not like the name of a column; give --format auto,no-header and the number \
                  of the column, --fingerprint-column N";
    fails_with("a", "1,12\n2,13\n", "", &format!("line 1: \"1\" {header}"));
    let named = "--format csv --fingerprint-column phash";
    fails_with("a", "x,0x17\n", named, &format!("line 1: \"0x17\" {header}"));
    fails_with("a", "17\n18\n", "--format csv", &format!("line 1: \"17\" {header}"));
    packs_as("a", "1,12\n2,13\n", "--format auto,no-header --fingerprint-column 2", &[12, 13]);
    packs_as("a.tsv", "1\t12\n2\t13\n", "--format auto,no-header --fingerprint-column 1", &[1, 2]);
    // Numbers in columns are no list if the name says that they are columns.
    fails_with("a.tsv", "1\t12\n2\t13\n", "", &format!("line 1: \"1\" {header}"));
    let number = "without a header columns have numbers, here 1 to 2; give one of them";
    for column in ["0", "3", "phash"] {
        let options = format!("--format auto,no-header --fingerprint-column {column}");
        fails_with("a", "1,12\n", &options, &format!("column \"{column}\": {number}"));
    }
}

#[test]
fn digits_that_leave_it_open_ask_for_digits() {
    let digits = "up to here fingerprints are neither all hexadecimal (16 digits or 0x) nor all \
                  decimal; give --format auto,hex or auto,dec";
    let csv = "a,fingerprint\nx,12\ny,ff\n";
    let message = format!("line 3, column \"fingerprint\": \"ff\": {digits}");
    fails_with("a", csv, "", &message);
    packs_as("a", csv, "--format auto,hex", &[0x12, 0xff]);
    let json = "{\"fingerprint\":12}\n{\"fingerprint\":\"ff\"}\n{\"fingerprint\":\"12\"}\n";
    let message = format!("line 2, column \"fingerprint\": \"ff\": {digits}");
    fails_with("a", json, "", &message);
    // A number of JSON is one, however strings are written.
    packs_as("a", json, "--format auto,hex", &[12, 0x12, 0xff]);
    #[cfg(feature = "arrow")]
    {
        use crate::writers::batches::{batch, stream};
        let texts = arrow_array::StringArray::from(vec!["12", "ff"]);
        let bytes = stream(&[batch(2, std::sync::Arc::new(texts))], None);
        let message = format!("row 2, column \"fingerprint\": \"ff\": {digits}");
        fails_with("a", &bytes, "", &message);
        packs_as("a", &bytes, "--format auto,hex", &[0x12, 0xff]);
    }
}

#[test]
fn a_line_without_end_takes_no_memory() {
    let json = format!("{{\"a\":\"{}", "x".repeat(20 << 20));
    let long = "a record of more than 16777216 bytes; check the file and its --format";
    fails_with("a", json, "", &format!("line 1: {long}"));
    let csv = format!("a,fingerprint\n\"{}", "x".repeat(20 << 20));
    fails_with("a", csv, "", &format!("line 2: {long}"));
    let csv = "a,fingerprint\nb,1\n\"c,2\nd,3\n";
    let quote = "line 3: a quote is opened and never closed; close it, or double it";
    fails_with("a", csv, "", quote);
}

#[test]
fn utf_16_tables_are_told() {
    let text: Vec<u8> = "\u{feff}a,b\r\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let message = "byte 0: UTF-16 text; convert it to UTF-8, or give --format u64le if it is raw \
                   integers";
    fails_with("a.csv", &text, "", message);
    fails_with("a", &text, "--format csv", message);
}

#[test]
fn each_line_of_json_or_csv_from_a_pipe_is_answered_at_once() {
    let scratch = Scratch::new();
    scratch.pack("store", &[10], "");
    let line = "query store --from - --as count -k 0";
    for pieces in [
        [&b"{\"fingerprint\":10}\n"[..], b"{\"fingerprint\"", b":11}\n"],
        [b"url,fingerprint\nx,10\n", b"y,1", b"1\n"],
    ] {
        let mut talk = crate::pipes::Talk::start(&scratch, line);
        talk.say(pieces[0]);
        talk.hears("000000000000000a\t1");
        talk.say(pieces[1]);
        talk.say(pieces[2]);
        talk.hears("000000000000000b\t0");
        assert_eq!(talk.end(), (Some(0), String::new()));
    }
    assert_eq!(jsonl(&[1], |x| x.into()).iter().filter(|&&byte| byte == b'\n').count(), 1);
}

#[cfg(feature = "arrow")]
mod batches {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Float64Array, Int16Array, ListArray, types::Int64Type};

    use super::fails_with;
    use crate::Scratch;
    use crate::oracle::fingerprints;
    use crate::writers::batches::{COLUMNS, batch, batches, file, stream};

    #[test]
    fn other_types_are_told_with_those_that_are_read() {
        let columns: [(&str, ArrayRef); 3] = [
            ("Float64", Arc::new(Float64Array::from(vec![1.0]))),
            ("Int16", Arc::new(Int16Array::from(vec![1]))),
            (
                "List(Int64)",
                Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>([Some([Some(1)])])),
            ),
        ];
        for (kind, array) in columns {
            let batches = [batch(1, array)];
            let message = format!(
                "column \"fingerprint\" is of type {kind}; convert it to UInt64, Int64, \
                 FixedSizeBinary(8) or strings, or give another column"
            );
            fails_with("a", file(&batches, None), "", &message);
            #[cfg(feature = "parquet")]
            {
                let compression = ::parquet::basic::Compression::SNAPPY;
                let bytes = crate::writers::batches::parquet(&batches, compression);
                fails_with("a", bytes, "", &message);
            }
        }
    }

    #[test]
    fn a_file_or_stream_that_is_cut_is_refused() {
        let set = fingerprints(82, 30_000);
        let batches = batches(&set, COLUMNS[0].1);
        let scratch = Scratch::new();
        let file = file(&batches, None);
        let stream = stream(&batches, None);
        for (name, bytes, least) in [("a.arrow", &file, 8), ("a.arrows", &stream, 12)] {
            for cut in [least, 100, bytes.len() / 3, bytes.len() / 2] {
                scratch.write(name, &bytes[..cut]);
                let line = format!("pack {name} -o store --on-error skip");
                scratch.run(&line).fails_naming(&[
                    &format!("{name}: Arrow IPC is cut or damaged: byte "),
                    "ends inside of a message; fetch or write it again",
                ]);
            }
        }
        // Without its footer a file is cut, even if all messages are there.
        scratch.write("a.arrow", &file[..file.len() - 1]);
        scratch.run("pack a.arrow -o store").fails_naming(&["ends inside of a message"]);
        scratch.write("a.arrows", [&stream[..], b"more"].concat());
        scratch.run("pack a.arrows -o store").fails_naming(&["4 bytes follow after its end"]);
        assert!(!scratch.path("store").exists());
    }

    #[cfg(feature = "parquet")]
    #[test]
    fn parquet_that_is_cut_piped_or_compressed_again_is_refused() {
        let set = fingerprints(83, 30_000);
        let compression = ::parquet::basic::Compression::SNAPPY;
        let bytes = crate::writers::batches::parquet(&batches(&set, COLUMNS[0].1), compression);
        let scratch = Scratch::new();
        for cut in [4, 11, 100, bytes.len() / 2, bytes.len() - 1] {
            scratch.write("a.parquet", &bytes[..cut]);
            let line = "pack a.parquet -o store --on-error skip";
            scratch.run(line).fails_naming(&["a.parquet: Parquet is cut or damaged: "]);
        }
        scratch.run_with("pack - -o store", &bytes).fails_with(
            "standard input: Parquet is read from its end and cannot come through a pipe; give a \
             file",
        );
        let message = "Parquet inside gzip cannot be read; decompress it first";
        fails_with("a.parquet.gz", super::gzip(&bytes), "", message);
    }
}

#[cfg(not(feature = "parquet"))]
#[test]
fn a_reader_that_was_not_built_is_told() {
    let message = "is Parquet, and this fpstore was built without its reader; build it with \
                   default features, or convert the file";
    fails_with("a", "PAR1PAR1", "", message);
}

#[test]
fn a_column_that_is_written_otherwise_is_proposed() {
    let scratch = Scratch::new();
    let digits = "8f3ac41e09b7d264";
    scratch.write("in.csv", format!("Page_ID,pHash\n7,{digits}\n"));
    scratch.write("in.jsonl", format!("{{\"Page_ID\":7,\"pHash\":\"{digits}\"}}\n"));
    for (line, hint) in [
        (
            "in.csv --fingerprint-column phash",
            "no column \"phash\"; did you mean \"pHash\"? there are",
        ),
        ("in.csv --fingerprint-column p-hash", "did you mean \"pHash\"? "),
        ("in.csv --fingerprint-column pHash --id-column pageid", "did you mean \"Page_ID\"? "),
        ("in.jsonl --fingerprint-column PHASH", "is missing; did you mean \"pHash\"? fill it in"),
    ] {
        scratch.run(&format!("pack {line} -o store")).fails_naming(&[hint]);
    }
    let ran = scratch.run("pack in.csv --fingerprint-column hash -o store");
    assert!(!ran.stderr.contains("did you mean"), "{ran:?}");
}
