//! What `query`, `join`, `dedup` and `dump` have in common where they write tables: names of
//! columns, forms of fingerprints, the ids of queries, and Parquet.

use crate::Scratch;

/// Three documents, two of them near each other, and one fingerprint twice.
fn small(scratch: &Scratch) {
    let table = "fingerprint,url\n00000000000000ff,a\n00000000000000fe,\"b,c\"\n\
                 00000000000000ff,d\nff00000000000000,e\n";
    scratch.write("in.csv", table);
    scratch.run("pack in.csv -o store --quiet --id-column url").succeeds();
    scratch.write(
        "queries.csv",
        "name,hash\nx\ty,0x00ff\n\"z \"\"1\"\"\",ff00000000000001\nnone,7777777777777777\n",
    );
}

const QUERY: &str = "query store --from queries.csv --fingerprint-column hash --format auto,hex";

#[track_caller]
fn prints(scratch: &Scratch, line: &str, expected: &str) {
    let ran = scratch.run(line);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), (expected, ""), "{line}");
}

#[test]
fn queries_keep_their_own_ids_in_every_output() {
    let scratch = Scratch::new();
    small(&scratch);
    let query = format!("{QUERY} --query-id-column name -k 1");
    prints(
        &scratch,
        &written_as(&query, "tsv,header"),
        "query_id\tquery\tmatch\tdistance\tids\n\
         x\\ty\t00000000000000ff\t00000000000000ff\t0\ta,d\n\
         x\\ty\t00000000000000ff\t00000000000000fe\t1\tb\\,c\n\
         z \"1\"\tff00000000000001\tff00000000000000\t1\te\n",
    );
    prints(
        &scratch,
        &written_as(&query, "count,header"),
        "query_id\tquery\tmatches\nx\\ty\t00000000000000ff\t2\n\
         z \"1\"\tff00000000000001\t1\nnone\t7777777777777777\t0\n",
    );
    prints(
        &scratch,
        &format!("{query} --as json --limit-ids 0"),
        "{\"query\":\"00000000000000ff\",\"query_id\":\"x\\ty\",\"matches\":[\
         {\"fingerprint\":\"00000000000000ff\",\"distance\":0},\
         {\"fingerprint\":\"00000000000000fe\",\"distance\":1}]}\n\
         {\"query\":\"ff00000000000001\",\"query_id\":\"z \\\"1\\\"\",\"matches\":[\
         {\"fingerprint\":\"ff00000000000000\",\"distance\":1}]}\n\
         {\"query\":\"7777777777777777\",\"query_id\":\"none\",\"matches\":[]}\n",
    );
    // Queries among the arguments have none.
    prints(
        &scratch,
        "query store 0xfe --from queries.csv --fingerprint-column hash --format auto,hex \
         --query-id-column name --as count -k 0",
        "\t00000000000000fe\t1\nx\\ty\t00000000000000ff\t1\n\
         z \"1\"\tff00000000000001\t0\nnone\t7777777777777777\t0\n",
    );
    let input = std::fs::read(scratch.path("queries.csv")).unwrap();
    let line = format!("{query} --as count").replace("queries.csv", "-");
    let piped = scratch.run_with(&line, &input).succeeds().stdout;
    assert!(piped.starts_with("x\\ty\t00000000000000ff\t2\nz \"1\"\t"), "{piped}");
    scratch.write("list", "0xff\n");
    scratch
        .run("query store --from list --query-id-column name")
        .fails_naming(&["list: a list in hexadecimal digits has no columns of ids"]);
}

#[test]
fn ids_of_queries_stay_with_them_in_batches_of_every_size() {
    let scratch = Scratch::new();
    let set = crate::oracle::fingerprints(240, 3000);
    scratch.pack("store", &set, "");
    let rows: String = set.iter().map(|x| format!("{x:016x},n{x}\n")).collect();
    scratch.write("in.csv", format!("fingerprint,name\n{rows}"));
    for memory in ["", "--memory 16MiB"] {
        let line = format!("query store --from in.csv --query-id-column name -k 2 {memory}");
        let ran = scratch.run(&written_as(line, "u64")).succeeds();
        assert!(ran.stdout.lines().count() >= set.len());
        for row in ran.stdout.lines() {
            let fields: Vec<&str> = row.split('\t').collect();
            assert_eq!(fields[0].strip_prefix('n'), Some(fields[1]), "{memory}: {row}");
        }
    }
}

#[test]
fn fingerprints_are_written_as_hex_or_integers_everywhere() {
    let scratch = Scratch::new();
    small(&scratch);
    let (hex, unsigned, signed) =
        ("ff00000000000000", "18374686479671623680", "-72057594037927936");
    for (form, text) in [("hex", hex), ("u64", unsigned), ("i64", signed)] {
        let option = format!("--as {form}");
        let query = format!("query store {hex} --format auto,hex -k 0 --limit-ids 0 {option}");
        prints(&scratch, &query, &format!("{text}\t{text}\t0\n"));
        prints(&scratch, &written_as(&query, "count"), &format!("{text}\t1\n"));
        let json = format!(
            "{{\"query\":\"{text}\",\"matches\":[{{\"fingerprint\":\"{text}\",\"distance\":0}}]}}\n"
        );
        prints(&scratch, &written_as(&query, "json"), &json);
        for (line, part) in [
            ("dump store", format!("\n{text}\n")),
            ("dump store --as ids", format!("\n{text}\te\n")),
            ("dump store --as json", format!("{{\"fingerprint\":\"{text}\"}}\n")),
            ("dedup store -k 0 --quiet", format!("\n{text}\te\t2\t{text}\tkeep\n")),
            ("join store -k 64 --quiet", format!("\t{text}\t16\n")),
            ("join store -k 64 --quiet --as ids", format!("\t{text}\t16\ta,d\te\n")),
        ] {
            let ran = scratch.run(&written_as(line, form)).succeeds();
            assert!(ran.stdout.contains(&part), "{line} {option}: {}", ran.stdout);
        }
    }
    let dumped = scratch.run("dump store --as i64").succeeds().stdout;
    scratch.run_with("pack - -o again --quiet", dumped.as_bytes()).succeeds();
    assert_eq!(scratch.dump("again"), scratch.dump("store"));
}

#[test]
fn a_header_names_the_columns() {
    let scratch = Scratch::new();
    small(&scratch);
    for (line, names) in [
        ("query store 0xff", "query\tmatch\tdistance\tids"),
        ("query store 0xff --limit-ids 0", "query\tmatch\tdistance"),
        ("query store 0xff --as count", "query\tmatches"),
        ("dump store", "fingerprint"),
        ("dump store --as ids", "fingerprint\tids"),
        ("dedup store --quiet", "fingerprint\tids\tcluster\trepresentative\tkeep"),
        ("dedup store --quiet --as per-id", "fingerprint\tid\tcluster\trepresentative\tkeep"),
        ("join store --quiet", "a\tb\tdistance"),
        ("join store --quiet --as ids", "a\tb\tdistance\ta_ids\tb_ids"),
    ] {
        let plain = scratch.run(line).succeeds().stdout;
        prints(&scratch, &written_as(line, "header"), &format!("{names}\n{plain}"));
    }
    // A dump with a header is a table.
    scratch.write("table", scratch.run("dump store --as tsv,header").succeeds().stdout);
    scratch.run("pack table -o again --quiet").succeeds();
    assert_eq!(scratch.dump("again"), scratch.dump("store"));
    let line = "join store --quiet --as tsv,header,ids -o pairs";
    scratch.run(line).succeeds();
    scratch.run(&format!("{line} --resume --force")).succeeds();
    let merged = scratch.run("merge-pairs pairs --quiet").succeeds().stdout;
    assert_eq!(merged, scratch.run("join store --quiet --as ids").succeeds().stdout);
}

#[test]
fn options_of_tables_that_an_output_has_no_use_for_are_refused() {
    let scratch = Scratch::new();
    small(&scratch);
    for (line, message) in [
        ("query store 0xff --as json,header", "query: a header is for tsv; leave it out"),
        ("dump store --as u64le,header", "dump: a header is for tsv; leave it out"),
        ("dump store --as u64le,hex", "dump: u64le has one form"),
        ("join store --as u64le,i64", "join: u64le has one form"),
        ("dedup store --as json,header", "dedup: a header is for tsv"),
    ] {
        scratch.run(line).fails_naming(&[message]);
    }
    let what = match cfg!(feature = "parquet") {
        true => "parquet goes to a file; give -o FILE",
        false => "this fpstore was built without Parquet",
    };
    for command in ["query store 0xff", "dump store", "dedup store", "join store"] {
        scratch.run(&written_as(command, "parquet")).fails_naming(&[what]);
    }
}

#[cfg(feature = "parquet")]
mod parquet {
    use std::collections::BTreeMap;
    use std::fs;

    use ::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Int64Type, UInt8Type, UInt64Type};
    use arrow_array::{Array, ArrayRef};
    use arrow_schema::DataType;

    use super::{QUERY, small};
    use crate::Scratch;
    use crate::oracle::Random;

    /// A cell as TSV has it.
    fn cell(column: &ArrayRef, row: usize) -> String {
        if column.is_null(row) {
            return String::new();
        }
        match column.data_type() {
            DataType::UInt64 => column.as_primitive::<UInt64Type>().value(row).to_string(),
            DataType::Int64 => column.as_primitive::<Int64Type>().value(row).to_string(),
            DataType::UInt8 => column.as_primitive::<UInt8Type>().value(row).to_string(),
            DataType::Boolean => {
                if column.as_boolean().value(row) { "keep" } else { "drop" }.to_string()
            }
            DataType::Utf8 => column.as_string::<i32>().value(row).to_string(),
            DataType::List(_) => {
                let items = column.as_list::<i32>().value(row);
                (0..items.len()).map(|item| cell(&items, item)).collect::<Vec<_>>().join(",")
            }
            other => panic!("{other}"),
        }
    }

    /// The file as TSV with a header, its notes, and the rows of its row groups.
    fn read(scratch: &Scratch, name: &str) -> (String, BTreeMap<String, String>, Vec<i64>) {
        let file = fs::File::open(scratch.path(name)).unwrap();
        let builder = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
        let names: Vec<&str> =
            builder.schema().fields().iter().map(|f| f.name().as_str()).collect();
        let mut text = names.join("\t") + "\n";
        let metadata = builder.metadata().clone();
        let notes = metadata.file_metadata().key_value_metadata().unwrap().iter();
        let notes = notes.map(|note| (note.key.clone(), note.value.clone().unwrap())).collect();
        for batch in builder.build().unwrap() {
            let batch = batch.unwrap();
            for row in 0..batch.num_rows() {
                let cells: Vec<String> = batch.columns().iter().map(|c| cell(c, row)).collect();
                text.push_str(&(cells.join("\t") + "\n"));
            }
        }
        let groups = metadata.row_groups().iter().map(|group| group.num_rows()).collect();
        (text, notes, groups)
    }

    #[test]
    fn parquet_has_the_rows_of_tsv() {
        let scratch = Scratch::new();
        small(&scratch);
        scratch.write("plain.csv", "name,hash\nx,0x00ff\ny,ff00000000000001\n");
        let query = QUERY.replace("queries.csv", "plain.csv");
        let query = format!("{query} --query-id-column name -k 1");
        for line in [
            query.as_str(),
            "query store 0xff -k 1 --limit-ids 0",
            "dump store",
            "dump store --as ids",
            "dedup store --quiet",
            "dedup store --quiet --as per-id",
            "join store --quiet -k 64",
            "join store --quiet -k 64 --as ids",
            "join store store --quiet -k 64 --as ids",
        ] {
            for form in ["u64", "i64", "hex"] {
                let line = &crate::tables::written_as(line, form);
                let tsv =
                    scratch.run(&crate::tables::written_as(line, "tsv,header")).succeeds().stdout;
                // Strings need no escapes here.
                let tsv = tsv.replace("b\\,c", "b,c");
                scratch
                    .run(&format!("{} -o out --force", crate::tables::written_as(line, "parquet")))
                    .succeeds();
                let (rows, notes, _) = read(&scratch, "out");
                assert_eq!(rows, tsv, "{line}");
                assert_eq!(
                    notes["fpstore.columns"],
                    rows.lines().next().unwrap().replace('\t', ",")
                );
                assert!(notes["fpstore.store"].starts_with("store"), "{notes:?}");
                assert!(notes["fpstore.k"].parse::<u32>().is_ok(), "{notes:?}");
            }
        }
        assert_eq!(
            scratch.listing("").iter().filter(|(name, _)| name.ends_with(".part")).count(),
            0
        );
        // Without a form they are what Parquet has for them.
        scratch.run("dump store --as parquet -o out --force").succeeds();
        assert_eq!(read(&scratch, "out").0, "fingerprint\n254\n255\n18374686479671623680\n");
    }

    #[test]
    fn the_exit_code_of_a_query_is_the_same_with_parquet() {
        let scratch = Scratch::new();
        small(&scratch);
        let line = "query store 7777777777777777 -k 1 --as parquet -o";
        scratch.run(&format!("{line} none")).ends_with_code(1);
        assert_eq!(read(&scratch, "none").0, "query\tmatch\tdistance\tids\n");
        scratch
            .run(&format!("{line} none"))
            .fails_with("none: exists; name another file, or give --force");
        scratch.write("bad.csv", "fingerprint\n0x1\nx\n");
        scratch
            .run("query store --from bad.csv --as parquet -o out")
            .fails_naming(&["bad.csv: line 3"]);
        assert!(!scratch.path("out").exists() && !scratch.path("out.part").exists());
    }

    #[test]
    fn many_rows_go_into_row_groups_of_bounded_size() {
        let scratch = Scratch::new();
        let mut random = Random(241);
        let set: Vec<u64> = (0..300_000).map(|_| random.next()).collect();
        scratch.pack("store", &set, "");
        scratch.run("dump store --as parquet -o out").succeeds();
        let (rows, _, groups) = read(&scratch, "out");
        assert!(groups.len() > 1 && groups.iter().all(|&rows| rows <= 1 << 17), "{groups:?}");
        assert_eq!(
            rows.lines().skip(1).map(|row| row.parse().unwrap()).collect::<Vec<u64>>(),
            scratch.dump("store")
        );
        scratch.run("pack out -o again --quiet").succeeds();
        assert_eq!(scratch.dump("again"), scratch.dump("store"));
    }
}

/// A command whose rows are written so as well.
pub fn written_as(line: impl AsRef<str>, words: &str) -> String {
    let line = line.as_ref();
    match line.contains("--as ") {
        true => line.replace("--as ", &format!("--as {words},")),
        false => format!("{line} --as {words}"),
    }
}
