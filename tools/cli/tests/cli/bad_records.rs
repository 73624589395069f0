//! Bad records: each is told with file and place, and ends the run or is skipped, as the user
//! wishes.

use crate::Scratch;
use crate::writers::{delimited, npy};

/// Packs a file that has bad records: without and with skipping them.
struct Bad<'a> {
    name: &'a str,
    bytes: Vec<u8>,
    options: &'a str,
    /// What is told of each, behind the name.
    told: &'a [&'a str],
    /// What is packed if they are skipped.
    packed: &'a [u64],
    /// All records.
    records: u64,
}

impl Bad<'_> {
    #[track_caller]
    fn check(&self) {
        let scratch = Scratch::new();
        let Bad { name, options, .. } = self;
        scratch.write(name, &self.bytes);
        let line = format!("pack {name} -o store --quiet {options}");
        scratch.run(&line).fails_with(&format!("{name}: {}", self.told[0]));
        assert!(!scratch.path("store").exists());

        let line = format!("pack {name} -o store {options} --on-error skip");
        let ran = scratch.run(&line);
        // Who skips needs no advice to.
        let lines: String = self
            .told
            .iter()
            .map(|told| told.strip_suffix(", or give --on-error skip").unwrap_or(told))
            .map(|told| format!("fpstore: skipped: {name}: {told}\n"))
            .collect();
        assert!(!lines.contains("skip\n"), "{lines}");
        let mut count =
            format!("fpstore: {} of {} records skipped\n", self.told.len(), self.records);
        if self.packed.is_empty() {
            count +=
                "fpstore: warning: store: the inputs hold no fingerprint, and the store is empty\n";
        }
        // Beside these, what the input was taken for.
        let format = format!("fpstore: {name}: ");
        let told = ran.stderr.split_inclusive('\n').filter(|line| !line.starts_with(&format));
        assert_eq!(told.collect::<String>(), lines + &count, "{ran:#?}");
        ran.ends_with_code(0);
        assert_eq!(scratch.dump("store"), self.packed);

        let ran = scratch.run(&format!("{line} --force --quiet"));
        assert_eq!(ran.stderr, count, "{ran:#?}");
        ran.ends_with_code(0);
    }
}

#[test]
fn in_lists() {
    Bad {
        name: "list",
        bytes: b"11\nx2 22\n 3 4g5\n0x12345678901234567\n44\n0x".to_vec(),
        options: "--format hex",
        told: &[
            "line 2, column 1: 'x' is no hexadecimal digit; separate fingerprints by white space, \
             or give another --format, or give --on-error skip",
            "line 3, column 5: 'g' is no hexadecimal digit; separate fingerprints by white space, \
             or give another --format",
            "line 4, column 1: more than 16 hexadecimal digits; a fingerprint has at most 64 bits",
            "line 6, column 1: no digits follow; complete or remove it",
        ],
        packed: &[0x3, 0x11, 0x22, 0x44],
        records: 8,
    }
    .check();
    let long = format!("{}NULL\n18446744073709551616\n8\n", "7\n".repeat(40_000));
    Bad {
        name: "list",
        bytes: long.into_bytes(),
        options: "",
        told: &[
            "line 40001, column 1: 'N' is no decimal digit; separate fingerprints by white space, \
             or give another --format, or give --on-error skip",
            "line 40002, column 1: the value is over 64 bits; give -9223372036854775808 to \
             18446744073709551615",
        ],
        packed: &[7, 8],
        records: 40_003,
    }
    .check();
}

#[test]
fn in_csv() {
    let text = "url,fingerprint\n\
                a,ffffffffffffffff\n\
                b,\n\
                \"c,\n2\",00000000000000zz\n\
                d,e,000000000000000f\n\
                f,0000000000000001\n\
                g\n\
                h,0x00000000000000000\n\
                i,12\n";
    for text in [text.to_string(), text.replace('\n', "\r\n")] {
        Bad {
            name: "in.csv",
            bytes: text.into_bytes(),
            options: "--format auto,hex",
            told: &[
                "line 3, column \"fingerprint\": is missing; fill it in, or name another column, or give \
                 --on-error skip",
                "line 4, column \"fingerprint\": \"00000000000000zz\": 'z' is no hexadecimal digit; \
                 correct it, or give --format auto,dec, or give --on-error skip",
                "line 6: 3 fields, where the first line has 2; correct it, or give --on-error skip",
                "line 8: 1 fields, where the first line has 2; correct it, or give --on-error skip",
                "line 9, column \"fingerprint\": \"0x00000000000000000\": more than 16 hexadecimal \
                 digits; a fingerprint has at most 64 bits",
            ],
            packed: &[1, 0x12, u64::MAX],
            records: 8,
        }
        .check();
    }
    // Empty lines count.
    for end in ["\n", "\r\n"] {
        let text = "id,fingerprint\n\n1,2\n\n\n3,z\n\"4\n\n\",5\n\n6,y".replace('\n', end);
        Bad {
            name: "in.csv",
            bytes: text.into_bytes(),
            options: "--format auto,hex",
            told: &[
                "line 6, column \"fingerprint\": \"z\": 'z' is no hexadecimal digit; correct it, or give \
                 --format auto,dec, or give --on-error skip",
                "line 11, column \"fingerprint\": \"y\": 'y' is no hexadecimal digit; correct it, or give \
                 --format auto,dec, or give --on-error skip",
            ],
            packed: &[2, 5],
            records: 4,
        }
        .check();
    }
    Bad {
        name: "in.tsv",
        bytes: b"a\tfingerprint\n1\t5\n2\tn/a\n3\t18446744073709551616\n4\t-1\n".to_vec(),
        options: "",
        told: &[
            "line 3, column \"fingerprint\": \"n/a\": 'n' is no decimal digit; correct it, or give \
             --format auto,hex, or give --on-error skip",
            "line 4, column \"fingerprint\": \"18446744073709551616\": the value is over 64 bits; \
             give -9223372036854775808 to 18446744073709551615",
        ],
        packed: &[5, u64::MAX],
        records: 4,
    }
    .check();
    // The digits are judged from the first records; others may not come later.
    let mut text = String::from("fingerprint\n");
    text.push_str(&"111111111111111a\n".repeat(5000));
    text.push_str("17\n2222222222222222\n");
    Bad {
        name: "in.csv",
        bytes: text.into_bytes(),
        options: "",
        told: &["line 5002, column \"fingerprint\": \"17\": 2 digits, after fingerprints of 16 \
                 hexadecimal digits; correct it, or give --format auto,hex if zeros in front are left out, \
                 or give --on-error skip"],
        packed: &[0x111111111111111a, 0x2222222222222222],
        records: 5002,
    }
    .check();
}

#[test]
fn in_json_lines() {
    let text = "{\"fingerprint\": 1}\n\
                {\"fingerprint\": \"00000000000000ff\", \"a\": [{}]}\n\
                {\"fingerprint\": null}\n\
                {\"url\": \"x\"}\n\
                \n\
                {\"fingerprint\": 1.5}\n\
                {\"fingerprint\": [1]}\n\
                {\"fingerprint\": {\"hex\": \"ff\"}}\n\
                {\"fingerprint\": true}\n\
                {\"fingerprint\": 18446744073709551616}\n\
                {\"fingerprint\": \"xyz\"}\n\
                {\"fingerprint\": 2\n\
                [3]\n\
                {\"fingerprint\": 4, \"fingerprint\": 5}\n\
                {\"fingerprint\": -1} x\n\
                {\"fingerprint\": -2}";
    let value = "is no fingerprint, which is a whole number of 64 bits without point or exponent, or a \
                 string; correct it, or give --on-error skip";
    let column = "column \"fingerprint\":";
    let json = |cause: &str| {
        format!(
            "no JSON object: {cause}; give one object on each line, as `jq -c .` does, or give --on-error skip"
        )
    };
    let told = [
        format!("line 3, {column} is null; fill it in, or give --on-error skip"),
        format!(
            "line 4, {column} is missing; fill it in, or name another column, or give --on-error skip"
        ),
        format!("line 6, {column} 1.5 {value}"),
        format!("line 7, {column} an array {value}"),
        format!("line 8, {column} an object {value}"),
        format!("line 9, {column} true {value}"),
        format!("line 10, {column} 18446744073709551616 {value}"),
        format!(
            "line 11, {column} \"xyz\": 'x' is no hexadecimal digit; correct it, or give --format \
             auto,dec, or give --on-error skip"
        ),
        format!("line 12: {}", json("EOF while parsing an object at byte 17")),
        format!("line 13: {}", json("invalid type: sequence, expected an object")),
        format!("line 14: {}", json("\"fingerprint\" twice at byte 36")),
        format!("line 15: {}", json("trailing characters at byte 21")),
    ];
    let told: Vec<&str> = told.iter().map(String::as_str).collect();
    Bad {
        name: "in.jsonl",
        bytes: text.as_bytes().to_vec(),
        options: "",
        told: &told,
        packed: &[1, 0xff, (-2i64) as u64],
        records: 15,
    }
    .check();
}

#[test]
fn in_record_numbers_of_several_inputs() {
    let scratch = Scratch::new();
    scratch.write("a", "0000000000000001\n0x0x\n");
    scratch.write("b.csv", "fingerprint\n5\n6\nx\n");
    let ran = scratch.run("pack a b.csv -o store --quiet --format auto --on-error skip");
    // Bytes of a list that are neither leave its format open, which no skipping helps.
    ran.fails_naming(&["a: line 2, column 1: \"0x0x\"", "is neither hexadecimal nor decimal"]);
    scratch.write("a", "0000000000000001\n0x11112222333344445\n");
    let ran = scratch.run("pack a b.csv -o store --quiet --on-error skip");
    assert_eq!(ran.stderr, "fpstore: 2 of 5 records skipped\n");
    assert_eq!(scratch.dump("store"), [1, 5, 6]);
}

#[test]
fn of_a_query_file_are_skipped_and_told() {
    let scratch = Scratch::new();
    scratch.pack("store", &[1], "");
    scratch.write("in.csv", "fingerprint\n0x1\n0xx\n0x2\n");
    let ran = scratch.run("query store --from in.csv --as count -k 0 --on-error skip");
    assert_eq!(ran.stdout, "0000000000000001\t1\n0000000000000002\t0\n");
    assert_eq!(
        ran.stderr,
        "fpstore: skipped: in.csv: line 3, column \"fingerprint\": \"0xx\": 'x' is no hexadecimal \
         digit; correct it, or give --format auto,dec\n\
         fpstore: 1 of 3 records skipped\n"
    );
    ran.ends_with_code(0);
    // What stands before a bad record is answered.
    let ran = scratch.run_with("query store --from - --as count -k 0", b"{\"a\":1}\n{\"a\":[]}\n");
    assert_eq!(ran.stdout, "0000000000000001\t1\n");
    assert!(ran.stderr.starts_with("fpstore: standard input: line 2, column \"a\": an array"));
    ran.ends_with_code(2);
}

#[cfg(feature = "arrow")]
mod in_batches {
    use std::sync::Arc;

    use arrow_array::types::Int32Type;
    use arrow_array::{
        ArrayRef, BinaryArray, DictionaryArray, Int64Array, StringArray, UInt64Array,
    };

    use super::Bad;
    use crate::writers::batches::{batch, file, stream};

    /// Two batches, so that rows are counted over both.
    fn check(column: impl Fn(usize) -> ArrayRef, told: &[&str], packed: &[u64], records: u64) {
        let batches = [0, 1].map(|part| {
            let array = column(part);
            batch(array.len(), array)
        });
        #[cfg_attr(not(feature = "parquet"), expect(unused_mut))]
        let mut files = vec![("in.arrow", file(&batches, None)), ("in", stream(&batches, None))];
        #[cfg(feature = "parquet")]
        {
            let compression = ::parquet::basic::Compression::SNAPPY;
            files.push(("in.parquet", crate::writers::batches::parquet(&batches, compression)));
        }
        for (name, bytes) in files {
            Bad { name, bytes, options: "", told, packed, records }.check();
        }
    }

    #[test]
    fn a_null() {
        let null = "column \"fingerprint\": is null; fill it in, or give --on-error skip";
        let told = [format!("row 2, {null}"), format!("row 5, {null}")];
        let told: Vec<&str> = told.iter().map(String::as_str).collect();
        let uint64 = |part: usize| -> ArrayRef {
            let parts = [vec![Some(1), None, Some(u64::MAX)], vec![Some(5), None]];
            Arc::new(UInt64Array::from(parts[part].clone()))
        };
        check(uint64, &told, &[1, 5, u64::MAX], 5);
        let int64 = |part: usize| -> ArrayRef {
            let parts = [vec![Some(-1), None, Some(1)], vec![Some(5), None]];
            Arc::new(Int64Array::from(parts[part].clone()))
        };
        check(int64, &told, &[1, 5, u64::MAX], 5);
    }

    #[test]
    fn a_text_that_is_none() {
        let texts = |part: usize| -> ArrayRef {
            let parts = [vec!["00000000000000aa", "x"], vec!["0xb", "ab"]];
            Arc::new(StringArray::from(parts[part].clone()))
        };
        let told = [
            "row 2, column \"fingerprint\": \"x\": 'x' is no hexadecimal digit; correct it, or \
             give --format auto,dec, or give --on-error skip",
            "row 4, column \"fingerprint\": \"ab\": 2 digits, after fingerprints of 16 hexadecimal \
             digits; correct it, or give --format auto,hex if zeros in front are left out, or give --on-error \
             skip",
        ];
        let batches = [0, 1].map(|part| batch(2, texts(part)));
        let bytes = stream(&batches, None);
        let packed = &[0xb, 0xaa];
        Bad { name: "in", bytes, options: "", told: &told, packed, records: 4 }.check();
        // A dictionary whose values are all null has none.
        let nulls = vec![None::<&str>; 2].into_iter().collect::<DictionaryArray<Int32Type>>();
        let bytes = stream(&[batch(2, Arc::new(nulls))], None);
        let null = "column \"fingerprint\": is null; fill it in, or give --on-error skip";
        let told = [format!("row 1, {null}"), format!("row 2, {null}")];
        let told: Vec<&str> = told.iter().map(String::as_str).collect();
        Bad { name: "in", bytes, options: "", told: &told, packed: &[], records: 2 }.check();
    }

    #[test]
    fn other_bytes_than_8() {
        let bytes = |part: usize| -> ArrayRef {
            let parts: [Vec<&[u8]>; 2] = [vec![b"\0\0\0\0\0\0\0\x01", b"1234567"], vec![b""]];
            Arc::new(BinaryArray::from_vec(parts[part].clone()))
        };
        let no = "is no fingerprint, which has 8; correct it, or give --on-error skip";
        let told = [
            format!("row 2, column \"fingerprint\": a value of 7 bytes {no}"),
            format!("row 3, column \"fingerprint\": a value of 0 bytes {no}"),
        ];
        let told: Vec<&str> = told.iter().map(String::as_str).collect();
        check(bytes, &told, &[1], 3);
    }
}

#[test]
fn what_is_wrong_with_a_whole_file_is_not_skipped() {
    let scratch = Scratch::new();
    let npy = npy(&[1u64, 2], &[2]);
    let csv = delimited(&[1], b',', &["a", "b", "c"], |x| x.to_string());
    for (bytes, part) in [
        (&npy[..npy.len() - 1], "ends after 1 of 2 rows"),
        (&csv[..], "which column"),
        (b"a,fingerprint\n\"1,2\n", "a quote is opened and never closed"),
    ] {
        scratch.write("in", bytes);
        scratch.run("pack in -o store --on-error skip").fails_naming(&["in: ", part]);
    }
}
