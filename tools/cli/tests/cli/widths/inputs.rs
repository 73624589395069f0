//! Inputs of every width, and what is written of them.

use std::fs;

use serde_json::json;

use super::{
    Bytes, WIDTHS, base64, binary, digits, holds, list, matches, pack, queries, raw, set, sorted,
};
use crate::{Scratch, writers};

/// A set in every form that texts, raw integers and arrays have: its name, the bytes, and the
/// options that it needs.
pub fn forms(set: &[Bytes]) -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let bits = 8 * set[0].len();
    let bytes: Vec<u8> = set.concat();
    let reversed: Vec<u8> = set.iter().flat_map(|one| one.iter().rev().copied()).collect();
    let column = |text: &dyn Fn(&Bytes) -> String| -> String {
        let rows = set.iter().map(|one| format!("x,{}\n", text(one)));
        ["url,fingerprint\n".to_string()].into_iter().chain(rows).collect()
    };
    let objects = |text: &dyn Fn(&Bytes) -> String| -> String {
        set.iter().map(|one| json!({"fingerprint": text(one)}).to_string() + "\n").collect()
    };
    let of_list = |text: &dyn Fn(&Bytes) -> String| -> String {
        set.iter().map(|one| text(one) + "\n").collect()
    };
    let shape = |each: usize| [set.len() as u64, (bits / each) as u64];
    let word = |one: &[u8]| one.iter().fold(0, |all, &byte| all << 8 | u64::from(byte));
    let words: Vec<u64> = bytes.chunks(8).map(word).collect();
    let halves: Vec<u32> = bytes.chunks(4).map(|one| word(one) as u32).collect();
    let raw_format = if bits == 32 { "--format u32le" } else { "--format u64le" };
    let mut inputs: Vec<(&'static str, Vec<u8>, &'static str)> = vec![
        ("hex", list(set).into(), ""),
        ("upper", list(set).to_uppercase().into(), ""),
        ("prefixed", of_list(&|one| format!("0x{}", digits(one))).into(), ""),
        ("binary", of_list(&binary).into(), ""),
        ("binary, given", of_list(&binary).into(), "--format bin"),
        ("csv", column(&digits).into(), ""),
        ("csv of bits", column(&binary).into(), ""),
        ("csv of base64", column(&|one| base64(one, true)).into(), ""),
        ("csv of bare base64", column(&|one| base64(one, false)).into(), "--format auto,base64"),
        ("json", objects(&digits).into(), ""),
        ("json of base64", objects(&|one| base64(one, true)).into(), ""),
        ("raw", raw(set), raw_format),
        ("npy of bytes", writers::npy(&bytes, &shape(8)), ""),
        ("npy of reversed bytes", writers::npy(&reversed, &shape(8)), "--format auto,little"),
        ("npy of halves", writers::npy(&halves, &shape(32)), ""),
    ];
    if bits > 32 {
        inputs.push(("npy of words", writers::npy(&words, &shape(64)), ""));
    } else {
        inputs.push(("flat npy", writers::npy(&halves, &[set.len() as u64]), ""));
        let signed: Vec<i32> = halves.iter().map(|&half| half as i32).collect();
        let text: String = signed.iter().map(|number| format!("{number}\n")).collect();
        inputs.push(("decimal", text.into(), ""));
        inputs.push(("npy of signed", writers::npy(&signed, &[set.len() as u64]), ""));
    }
    inputs
}

#[test]
fn every_input_of_every_width_is_read_alike() {
    let scratch = Scratch::new();
    for bits in WIDTHS {
        let set = set(bits as u64, bits, 300);
        for (name, input, options) in forms(&set) {
            let from = format!("{name}, {bits} bits");
            scratch.write("in", &input);
            let line = format!("pack in -o file -q -f --bits {bits} {options}");
            scratch.run(&line).succeeds();
            holds(&scratch, "file", &set, &from);
            let line = format!("pack - -o pipe -q -f --bits {bits} {options}");
            scratch.run_with(&line, &input).succeeds();
            holds(&scratch, "pipe", &set, &from);
        }
    }
}

#[cfg(feature = "parquet")]
#[test]
fn columns_of_bytes_tell_their_width_and_come_back() {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, FixedSizeBinaryArray, StringArray, UInt32Array};

    let scratch = Scratch::new();
    for bits in WIDTHS {
        let set = set(7 + bits as u64, bits, 200);
        let fixed = FixedSizeBinaryArray::try_from_iter(set.iter()).unwrap();
        let text = StringArray::from_iter_values(set.iter().map(|one| base64(one, true)));
        let mut columns: Vec<(ArrayRef, &str)> =
            vec![(Arc::new(fixed), ""), (Arc::new(text), "--bits")];
        if bits == 32 {
            let numbers = set.iter().map(|one| u32::from_be_bytes(one[..].try_into().unwrap()));
            columns.push((Arc::new(UInt32Array::from_iter_values(numbers)), ""));
        }
        for (column, given) in columns {
            let given = if given.is_empty() { String::new() } else { format!("--bits {bits}") };
            let batches = [writers::batches::batch(set.len(), column)];
            let compression = parquet::basic::Compression::SNAPPY;
            for file in [
                writers::batches::parquet(&batches, compression),
                writers::batches::file(&batches, None),
            ] {
                scratch.write("in", file);
                scratch.run(&format!("pack in -o store -q -f {given}")).succeeds();
                holds(&scratch, "store", &set, &format!("{bits} bits"));
            }
        }
        // What is written tells the width again, but for 8 digits.
        let given = if bits == 32 { "--bits 32" } else { "" };
        for (form, given) in [("", ""), (",hex", given)] {
            scratch.run(&format!("dump store --as parquet{form} -o out -f")).succeeds();
            scratch.run(&format!("pack out -o again -q -f {given}")).succeeds();
            holds(&scratch, "again", &set, &format!("{bits} bits as parquet{form}"));
        }
        let queries = queries(3, &set, 30);
        scratch.write("queries", list(&queries));
        let k = bits as u32 / 8;
        let line = format!("query store --from queries -k {k} --as parquet -o matches -f");
        scratch.run(&line).succeeds();
        scratch.run("pack matches -o matched -q -f --fingerprint-column match").succeeds();
        let found: Vec<Bytes> =
            queries.iter().flat_map(|query| matches(&set, query, k)).map(|(_, one)| one).collect();
        holds(&scratch, "matched", &found, &format!("{bits} bits, matches"));
    }
}

#[test]
fn inputs_tell_their_width_where_they_can() {
    let scratch = Scratch::new();
    for bits in [64, 128, 256] {
        let set = set(bits as u64, bits, 50);
        let csv: String = set.iter().map(|one| digits(one) + ",1\n").collect();
        let csv = format!("fingerprint,n\n{csv}");
        let bytes = writers::npy(&set.concat(), &[50, bits as u64 / 8]);
        for input in [list(&set).into_bytes(), csv.into_bytes(), bytes] {
            scratch.write("in", input);
            scratch.run("pack in -o store -q -f").succeeds();
            holds(&scratch, "store", &set, &format!("{bits} bits"));
        }
        // A store tells it, and so does the one that is added to.
        scratch.run("pack store -o copy -q -f").succeeds();
        holds(&scratch, "copy", &set, "a store");
        let more = super::set(5, bits, 40);
        scratch.write("more", list(&more));
        scratch.run("pack more --append copy -q").succeeds();
        holds(&scratch, "copy", &[set, more].concat(), "two segments");
        scratch.run("verify copy -q").succeeds();
    }
    let bytes = [1u8, 2, 3, 4];
    scratch.write("in", writers::npy(&bytes, &[1, 4]));
    scratch.run("pack in -o narrow -q").succeeds();
    assert_eq!(scratch.run("dump narrow").succeeds().stdout, "01020304\n");
}

#[test]
fn raw_words_come_back_as_they_went() {
    let scratch = Scratch::new();
    for bits in WIDTHS {
        let set = sorted(&set(9, bits, 100));
        let format = if bits == 32 { "u32le" } else { "u64le" };
        pack(&scratch, "store", &set, "-f");
        scratch.run(&format!("dump store --as {format} -o out -f")).succeeds();
        assert_eq!(fs::read(scratch.path("out")).unwrap(), raw(&set), "{bits} bits");
        scratch.run(&format!("pack out -o again -q -f --bits {bits} --format {format}")).succeeds();
        holds(&scratch, "again", &set, format);
        scratch.write("cut", &raw(&set)[1..]);
        let each = bits / 8;
        scratch
            .run(&format!("pack cut -o cut.fps --bits {bits} --format {format}"))
            .fails_naming(&["cut: byte ", &format!("no multiple of {each}; "), format]);
    }
}

#[test]
fn ids_and_their_strings_belong_to_fingerprints_of_every_width() {
    let scratch = Scratch::new();
    for bits in WIDTHS {
        let set = sorted(&set(31, bits, 50));
        let rows: String = set
            .iter()
            .enumerate()
            .map(|(row, one)| format!("page{row},{}\n", digits(one)))
            .collect();
        scratch.write("in.csv", format!("url,fingerprint\n{rows}"));
        let line = format!("pack in.csv -o store{bits} -q --bits {bits} --id-column url");
        scratch.run(&line).succeeds();
        let dumped = scratch.run(&format!("dump store{bits} --as ids")).succeeds().stdout;
        let expected =
            set.iter().enumerate().map(|(row, one)| format!("{}\tpage{row}\n", digits(one)));
        assert_eq!(dumped, expected.collect::<String>());
        let line = format!("query store{bits} {} -k 0", digits(&set[7]));
        let row = format!("{0}\t{0}\t0\tpage7\n", digits(&set[7]));
        assert_eq!(scratch.run(&line).succeeds().stdout, row);
        scratch.run(&format!("verify store{bits} -q")).succeeds();
    }
    // Ids of stores come along.
    scratch.write("numbers.csv", "id,fingerprint\n7,0123456789abcdef0123456789abcdef\n");
    scratch.run("pack numbers.csv -o numbers -q --id-column id").succeeds();
    scratch.run("pack numbers -o copy -q").succeeds();
    let dumped = scratch.run("dump copy --as ids").succeeds().stdout;
    assert_eq!(dumped, "0123456789abcdef0123456789abcdef\t7\n");
}
