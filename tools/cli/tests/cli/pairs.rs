//! Pairs in Parquet: from `join` through `merge-pairs` and `dedup`, and back.

use std::fs;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray, UInt8Array, UInt64Array};
use parquet::basic::Compression;

use crate::Scratch;
use crate::oracle::fingerprints;
use crate::writers::batches::parquet;

fn written(columns: Vec<(&str, ArrayRef)>) -> Vec<u8> {
    parquet(&[RecordBatch::try_from_iter(columns).unwrap()], Compression::SNAPPY)
}

fn a_and_b() -> Vec<(&'static str, ArrayRef)> {
    let column = |set: [u64; 2]| Arc::new(UInt64Array::from(set.to_vec())) as ArrayRef;
    vec![("a", column([1, u64::MAX - 1])), ("b", column([3, u64::MAX]))]
}

#[test]
fn pairs_in_parquet_are_merged_like_those_in_tsv() {
    let scratch = Scratch::new();
    let set = fingerprints(230, 3000);
    let table: String = std::iter::once("fingerprint,url\n".to_string())
        .chain(set.iter().enumerate().map(|(row, x)| format!("{x:016x},\"u,{row}\tx\"\n")))
        .collect();
    scratch.write("in.csv", table);
    scratch.run("pack in.csv -o store --quiet --id-column url").succeeds();
    for ids in ["", ",ids"] {
        let join = "join store -k 5 --quiet --force";
        scratch.run(&format!("{join} --as tsv{ids} -o whole")).succeeds();
        scratch.run("merge-pairs whole -o merged --force --quiet").succeeds();
        let whole = fs::read_to_string(scratch.path("merged")).unwrap();
        assert!(whole.lines().count() > 100);
        for forms in ["", ",i64", ",hex"] {
            for shard in 0..2 {
                let line = format!("{join} --as parquet{ids}{forms} --shard {shard}/2");
                scratch.run(&format!("{line} -o {shard}.parquet")).succeeds();
            }
            let line = "merge-pairs 0.parquet 1.parquet 0.parquet --quiet";
            assert!(scratch.run(&format!("{line} --as tsv")).succeeds().stdout == whole);
            // And once more, as what the first file is.
            scratch.run(&format!("{line} -o again.parquet --force")).succeeds();
            let again = "merge-pairs again.parquet --as tsv --quiet";
            assert!(scratch.run(again).succeeds().stdout == whole, "{ids}, {forms}");
            let clusters = scratch.run("dedup store -k 5 --quiet").succeeds().stdout;
            let line = "dedup store -k 5 --quiet --pairs 1.parquet --pairs 0.parquet";
            assert!(scratch.run(line).succeeds().stdout == clusters);
        }
    }
    scratch
        .run("merge-pairs 0.parquet")
        .fails_with("merge-pairs: parquet goes to a file; give -o FILE");
    scratch
        .run("merge-pairs merged --as parquet -o out")
        .fails_naming(&["merged: ids in TSV may be numbers or strings; join with --as parquet"]);
    scratch.run("pack in.csv -o numbered --quiet --ids line").succeeds();
    scratch.run("join numbered --as parquet,ids -o numbers --quiet -k 5").succeeds();
    scratch.run("merge-pairs 0.parquet numbers -o out").fails_naming(&["are not of one kind"]);
    assert!(!scratch.path("out").exists());
}

#[test]
fn parquet_that_other_programs_wrote_is_read_by_the_names_of_its_columns() {
    let scratch = Scratch::new();
    let rows = "0000000000000001\t0000000000000003\t1\nfffffffffffffffe\tffffffffffffffff\t1\n";
    let [(_, a), (_, b)] = &a_and_b()[..] else { panic!() };
    let signed: ArrayRef = Arc::new(Int64Array::from(vec![3, -1]));
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["0000000000000001", "fffffffffffffffe"]));
    let more: ArrayRef = Arc::new(StringArray::from(vec!["x", "y"]));
    for columns in [
        a_and_b(),
        vec![("b", b.clone()), ("more", more.clone()), ("a", a.clone())],
        vec![("a", texts), ("b", signed)],
    ] {
        scratch.write("pairs", written(columns));
        let ran = scratch.run("merge-pairs pairs --as tsv --quiet").succeeds();
        assert_eq!(ran.stdout, rows);
    }
}

#[test]
fn parquet_that_holds_no_pairs_is_refused_with_its_place() {
    let scratch = Scratch::new();
    scratch.pack("store", &[1, 3], "");
    let [(_, a), _] = &a_and_b()[..] else { panic!() };
    let nulls: ArrayRef = Arc::new(UInt64Array::from(vec![Some(3), None]));
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["0000000000000003", "3"]));
    let distances: ArrayRef = Arc::new(UInt8Array::from(vec![1, 2]));
    let with = |name, column: &ArrayRef| {
        let columns = a_and_b().into_iter().filter(|(other, _)| *other != name);
        columns.chain([(name, column.clone())]).collect()
    };
    for (columns, what) in [
        (vec![("a", a.clone())], "columns: there is no \"b\"; give files that `join"),
        (with("b", &distances), "columns: \"b\" is of type UInt8"),
        (with("a_ids", &distances), "columns: \"a_ids\" is of type UInt8"),
        (with("b", &nulls), "row 2: \"b\" is no fingerprint"),
        (with("b", &texts), "row 2: \"b\" is no fingerprint"),
        (with("distance", &distances), "row 2: the distance is not that of these fingerprints"),
    ] {
        scratch.write("bad", written(columns));
        for line in ["merge-pairs bad -o out", "dedup store --pairs bad -o out"] {
            scratch.run(line).fails_naming(&["bad: ", what]);
        }
    }
    let bytes = written(a_and_b());
    scratch.write("bad", &bytes[..bytes.len() - 1]);
    scratch.run("merge-pairs bad -o out").fails_naming(&["bad: Parquet is cut or damaged"]);
    scratch.run_with("merge-pairs - -o out", &bytes).fails_naming(&["cannot come through a pipe"]);
    assert!(!scratch.path("out").exists());
}
