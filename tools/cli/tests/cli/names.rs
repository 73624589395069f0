//! Names as ids: what goes in comes out, whatever they are, and one store has ids of one kind.

use serde_json::{Value, json};

use crate::Scratch;

/// Names that need care in some format.
const NAMES: [&str; 10] = [
    "",
    "https://a.example/?q=1&r=2",
    "a\tb",
    "x,y",
    "\"q\"",
    "back\\slash",
    "line\nend\r",
    "日本",
    "007",
    "123e4567-e89b-12d3-a456-426614174000",
];

/// A fingerprint for each name, far from all others.
fn fingerprint(number: usize) -> u64 {
    1 << (6 * number)
}

fn jsonl(names: &[&str]) -> String {
    let line = |(number, name): (usize, &&str)| {
        let object = json!({ "key": name, "fingerprint": format!("0x{:x}", fingerprint(number)) });
        format!("{object}\n")
    };
    names.iter().enumerate().map(line).collect()
}

/// The ids of each fingerprint of a store, in the order of these.
fn ids_of(scratch: &Scratch, store: &str) -> Vec<Vec<String>> {
    let dump = scratch.run(&format!("dump {store} --as json,ids")).succeeds().stdout;
    let ids = |line: &str| -> Vec<String> {
        let row: Value = serde_json::from_str(line).unwrap();
        row["ids"].as_array().unwrap().iter().map(|id| id.as_str().unwrap().into()).collect()
    };
    dump.lines().map(ids).collect()
}

fn each(names: &[&str]) -> Vec<Vec<String>> {
    names.iter().map(|name| vec![name.to_string()]).collect()
}

#[test]
fn names_come_back_in_every_shape() {
    let scratch = Scratch::new();
    scratch.write("in.jsonl", jsonl(&NAMES));
    scratch.run("pack in.jsonl -o store --id-column key --quiet").succeeds();
    assert_eq!(ids_of(&scratch, "store"), each(&NAMES));
    let escaped = [
        "",
        NAMES[1],
        "a\\tb",
        "x\\,y",
        "\"q\"",
        "back\\\\slash",
        "line\\nend\\r",
        "日本",
        "007",
        NAMES[9],
    ];
    let rows = |columns: fn(u64) -> String| -> String {
        let rows = escaped.iter().enumerate();
        rows.map(|(at, text)| format!("{}\t{text}\n", columns(fingerprint(at)))).collect()
    };
    let dump = scratch.run("dump store --as ids").succeeds().stdout;
    assert_eq!(dump, rows(|fp| format!("{fp:016x}")));
    let queries: String = (0..NAMES.len()).map(|at| format!(" 0x{:x}", fingerprint(at))).collect();
    let found = scratch.run(&format!("query store -k 0{queries}")).succeeds().stdout;
    assert_eq!(found, rows(|fp| format!("{fp:016x}\t{fp:016x}\t0")));
    let stat: Value =
        serde_json::from_str(&scratch.run("stat store --json").succeeds().stdout).unwrap();
    assert_eq!(stat["id_kind"], "text");
    assert!(stat["name_bytes"].as_u64().unwrap() > 0, "{stat}");
    assert!(scratch.run("stat store").succeeds().stdout.contains("\nids are text, in "));
    // Copies and what is repaired have the same.
    scratch.run("verify store -q").succeeds();
    scratch.run("backup store copy -q").succeeds();
    scratch.run("repair store saved").succeeds();
    for store in ["copy", "saved"] {
        assert_eq!(ids_of(&scratch, store), each(&NAMES), "{store}");
    }
}

#[test]
fn the_first_id_says_what_all_are() {
    let scratch = Scratch::new();
    let csv = |ids: [&str; 2]| format!("id,fingerprint\n{},0x1\n{},0x40\n", ids[0], ids[1]);
    // After a name, numbers are their digits.
    scratch.write("text.csv", csv(["page", "18446744073709551616"]));
    scratch.write("mixed.jsonl", "{\"id\":\"a\",\"hash\":1}\n{\"id\":7,\"hash\":64}\n");
    scratch.write("zeros.csv", csv(["007", "7"]));
    scratch.write("numbers.csv", csv(["7", "18446744073709551615"]));
    for (input, ids, kind) in [
        ("text.csv", ["page", "18446744073709551616"], "text"),
        ("mixed.jsonl", ["a", "7"], "text"),
        ("zeros.csv", ["007", "7"], "text"),
        ("numbers.csv", ["7", "18446744073709551615"], "numbers of 64 bits"),
    ] {
        scratch.run(&format!("pack {input} -fo store --id-column id -q")).succeeds();
        assert_eq!(ids_of(&scratch, "store"), each(&ids), "{input}");
        let stat = scratch.run("stat store --json").succeeds().stdout;
        assert_eq!(serde_json::from_str::<Value>(&stat).unwrap()["id_kind"], kind);
    }
    // After a number, a name is an error, also of the next file.
    scratch.write("bad.csv", csv(["7", "07"]));
    scratch.run("pack bad.csv -o bad --id-column id").fails_naming(&[
        "bad.csv: line 3, column \"id\": \"07\" is no number",
        "names need --id-type text",
    ]);
    scratch.run("pack numbers.csv text.csv -o bad --id-column id").fails_naming(&[
        "text.csv: line 2, column \"id\": \"page\" is no number",
        "names need --id-type text",
    ]);
    scratch.run("pack bad.csv -o told --id-column id --id-type text -q").succeeds();
    assert_eq!(ids_of(&scratch, "told"), each(&["7", "07"]));
}

#[test]
fn uuids_are_sixteen_bytes_and_nothing_else() {
    let scratch = Scratch::new();
    let uuid = "123e4567-e89b-12d3-a456-426614174000";
    scratch.write("in.csv", format!("id,fingerprint\n{},0x1\n", uuid.to_uppercase()));
    scratch.run("pack in.csv -o store --id-column id --id-type uuid -q").succeeds();
    assert_eq!(ids_of(&scratch, "store"), each(&[uuid]));
    scratch.write("bad.csv", "id,fingerprint\n123e4567,0x1\n");
    scratch
        .run("pack bad.csv -o bad --id-column id --id-type uuid")
        .fails_naming(&["bad.csv: line 2, column \"id\": \"123e4567\" is no UUID"]);
    scratch.run(&format!("delete store 0x1 --id {uuid} -q")).succeeds();
    assert_eq!(ids_of(&scratch, "store"), each(&[]));
}

#[test]
fn a_name_has_up_to_65535_bytes() {
    let scratch = Scratch::new();
    let longest = "n".repeat(65_535);
    scratch.write("in.jsonl", jsonl(&[&longest]));
    scratch.run("pack in.jsonl -o store --id-column key -q").succeeds();
    assert_eq!(ids_of(&scratch, "store"), each(&[&longest]));
    scratch.write("in.jsonl", jsonl(&[&format!("{longest}n")]));
    for command in
        ["pack in.jsonl -o longer", "pack in.jsonl --append store", "insert store in.jsonl"]
    {
        let parts = ["in.jsonl: line 1", "is no name of at most 65535 bytes"];
        scratch.run(&format!("{command} --id-column key")).fails_naming(&parts);
    }
}

#[test]
fn a_living_store_takes_and_deletes_names() {
    let scratch = Scratch::new();
    scratch.run("create store --id-type text -q").succeeds();
    scratch.write("in.jsonl", jsonl(&NAMES));
    scratch.run("insert store in.jsonl --id-column key -q").succeeds();
    let again = scratch.run("insert store in.jsonl --id-column key").succeeds().stdout;
    assert!(again.contains("0 records inserted, 10 stored already"), "{again}");
    assert_eq!(ids_of(&scratch, "store"), each(&NAMES));
    // A name of one fingerprint, from a file, and everywhere.
    scratch.run(&format!("delete store 0x{:x} --id x,y -q", fingerprint(3))).succeeds();
    scratch.write("gone.jsonl", jsonl(&NAMES[..2]));
    scratch.run("delete store --from gone.jsonl --id-column key -q").succeeds();
    scratch.run("delete store --id-everywhere 日本 -q").succeeds();
    let left: Vec<&str> = NAMES
        .iter()
        .enumerate()
        .filter(|(at, _)| ![0, 1, 3, 7].contains(at))
        .map(|(_, name)| *name)
        .collect();
    assert_eq!(ids_of(&scratch, "store"), each(&left));
    scratch.run("merge store --full -q").succeeds();
    assert_eq!(ids_of(&scratch, "store"), each(&left));
    let row =
        scratch.run("insert store gone.jsonl --id-column key --unless-near -k 0 -q").succeeds();
    assert!(row.stdout.starts_with("\t0000000000000001\tinserted\t\t\n"), "{row:?}");
    scratch.run("pack gone.jsonl --append store --id-column key -q").succeeds();
    scratch.run("verify store -q").succeeds();
}

#[test]
fn windows_of_names_expire() {
    let scratch = Scratch::new();
    scratch.run("create store --id-type text --window 1d -q").succeeds();
    for (name, time) in [("old", "2026-11-01"), ("new", "2026-11-20")] {
        scratch.write("in.csv", format!("id,fingerprint\n{name},0x1\n"));
        scratch.run(&format!("insert store in.csv --id-column id --time {time} -q")).succeeds();
    }
    assert_eq!(ids_of(&scratch, "store"), [["new", "old"].map(String::from)]);
    scratch.run("expire store --before 2026-11-10 -q").succeeds();
    assert_eq!(ids_of(&scratch, "store"), each(&["new"]));
}

#[test]
fn ids_of_two_kinds_do_not_go_together() {
    let scratch = Scratch::new();
    scratch.write("names.csv", "id,fingerprint\na,0x1\n");
    scratch.write("numbers.csv", "id,fingerprint\n7,0x40\n");
    scratch.run("pack names.csv -o names --id-column id -q").succeeds();
    scratch.run("pack numbers.csv -o numbers --id-column id -q").succeeds();
    scratch
        .run("pack names numbers -o both")
        .fails_naming(&["numbers: its ids are numbers of 64 bits, and those of names are text"]);
    scratch
        .run("pack names --append numbers")
        .fails_naming(&["names: its ids are text, and those of numbers are numbers of 64 bits"]);
    let parts = ["names.csv: line 2", "\"a\" is no number", "`fpstore create --id-type text`"];
    scratch.run("insert numbers names.csv --id-column id").fails_naming(&parts);
    scratch.run("pack names.csv --append numbers --id-column id").fails_naming(&parts);
    scratch
        .run("insert names numbers.csv --ids line")
        .fails_naming(&["names: its ids are text, and --ids line gives numbers"]);
    // Numbers are digits in a store of text.
    scratch.run("pack numbers.csv --append names --id-column id -q").succeeds();
    assert_eq!(ids_of(&scratch, "names"), each(&["a", "7"]));
    scratch.run("pack names -o copy -q").succeeds();
    assert_eq!(ids_of(&scratch, "copy"), each(&["a", "7"]));
    scratch
        .run("delete numbers 0x40 --id a")
        .fails_naming(&["--id: \"a\" is no id of the store, whose ids are numbers of 64 bits"]);
}

/// Columns whose types say what ids are: keys as their file has them are keys of the store.
#[cfg(feature = "parquet")]
mod typed {
    use std::collections::{BTreeSet, HashMap};
    use std::sync::Arc;

    use arrow_array::cast::AsArray;
    use arrow_array::{
        Array, ArrayRef, BinaryArray, Decimal128Array, FixedSizeBinaryArray, RecordBatch,
        UInt64Array,
    };
    use arrow_schema::{DataType, Field, Schema};
    use parquet::arrow::ArrowWriter;
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    use parquet::arrow::arrow_writer::ArrowWriterOptions;

    use super::*;

    const UUIDS: [[u8; 16]; 2] =
        [*b"\x12\x3e\x45\x67\xe8\x9b\x12\xd3\xa4\x56BfUD\x00\x00", [0xff; 16]];
    const KEYS: [[u8; 20]; 2] = [[0; 20], *b"a hash of 20 bytes\xff\x00"];
    const NUMBERS: [i128; 2] = [7, 99_999_999_999_999_999_999_999_999_999_999_999_999];

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// A column, what `stat` says of it, the kind as an option says it, and the ids as text.
    fn columns() -> Vec<(Field, ArrayRef, &'static str, &'static str, [String; 2])> {
        let uuid = HashMap::from([("ARROW:extension:name".into(), "arrow.uuid".into())]);
        let fixed = |width, all: &[&[u8]]| -> ArrayRef {
            let array = FixedSizeBinaryArray::try_from_iter(all.iter()).unwrap();
            assert_eq!(array.value_length(), width);
            Arc::new(array)
        };
        let of_uuid = Field::new("key", DataType::FixedSizeBinary(16), false).with_metadata(uuid);
        let numbers = Decimal128Array::from(NUMBERS.to_vec()).with_precision_and_scale(38, 0);
        let texts = |one: &str, other: &str| [one.to_string(), other.to_string()];
        vec![
            (
                of_uuid,
                fixed(16, &[&UUIDS[0], &UUIDS[1]]),
                "UUIDs",
                "uuid",
                texts(
                    "123e4567-e89b-12d3-a456-426655440000",
                    "ffffffff-ffff-ffff-ffff-ffffffffffff",
                ),
            ),
            (
                Field::new("key", DataType::FixedSizeBinary(20), false),
                fixed(20, &[&KEYS[0], &KEYS[1]]),
                "keys of 20 bytes",
                "key:20",
                KEYS.map(|key| hex(&key)),
            ),
            (
                Field::new("key", DataType::Binary, false),
                Arc::new(BinaryArray::from_iter_values(KEYS)),
                "keys of 20 bytes",
                "key:20",
                KEYS.map(|key| hex(&key)),
            ),
            (
                Field::new("key", DataType::Decimal128(38, 0), false),
                Arc::new(numbers.unwrap()),
                "numbers of 128 bits",
                "number128",
                NUMBERS.map(|number| number.to_string()),
            ),
        ]
    }

    /// The same rows in Parquet, with and without what Arrow says of them.
    fn files(field: &Field, array: &ArrayRef) -> Vec<Vec<u8>> {
        let prints = Field::new("fingerprint", DataType::UInt64, false);
        let schema = Arc::new(Schema::new(vec![prints, field.clone()]));
        let prints = Arc::new(UInt64Array::from(vec![fingerprint(0), fingerprint(1)]));
        let batch = RecordBatch::try_new(schema.clone(), vec![prints, array.clone()]).unwrap();
        let file = |skips| {
            let options = ArrowWriterOptions::new().with_skip_arrow_metadata(skips);
            let mut to = ArrowWriter::try_new_with_options(Vec::new(), schema.clone(), options);
            to.as_mut().unwrap().write(&batch).unwrap();
            to.unwrap().into_inner().unwrap()
        };
        [false, true].map(file).into()
    }

    #[test]
    fn keys_are_of_the_type_that_their_column_has() {
        for (field, array, told, kind, texts) in columns() {
            let expected: Vec<Vec<String>> = texts.iter().map(|text| vec![text.clone()]).collect();
            for file in files(&field, &array) {
                let scratch = Scratch::new();
                scratch.write("in.parquet", file);
                scratch.run("pack in.parquet -o packed --id-column key -q").succeeds();
                let stat = scratch.run("stat packed").succeeds().stdout;
                assert!(stat.contains(told), "{field:?}: {stat}");
                assert_eq!(ids_of(&scratch, "packed"), expected, "{field:?}");
                // And in a store that was created for such ids, by text as well.
                scratch.run(&format!("create living --id-type {kind} -q")).succeeds();
                scratch.run("insert living in.parquet --id-column key -q").succeeds();
                assert_eq!(ids_of(&scratch, "living"), expected, "{field:?}");
                scratch.write("gone.csv", format!("fingerprint,key\n0x1,{}\n", texts[0]));
                scratch.run("delete living --from gone.csv --id-column key -q").succeeds();
                assert_eq!(ids_of(&scratch, "living"), expected[1..], "{field:?}");
                let everywhere = format!("delete living --id-everywhere {} -q", texts[1]);
                scratch.run(&everywhere).succeeds();
                assert_eq!(ids_of(&scratch, "living"), each(&[]));
            }
        }
    }

    /// A column of a file, and its lists as one array where it has lists.
    fn column(path: &std::path::Path, name: &str) -> (Field, ArrayRef) {
        let file = std::fs::File::open(path).unwrap();
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap();
        let batch = reader.map(Result::unwrap).next().unwrap();
        let field = batch.schema().field_with_name(name).unwrap().clone();
        let array = batch.column_by_name(name).unwrap();
        match field.data_type() {
            DataType::List(item) => {
                (item.as_ref().clone(), array.as_list::<i32>().values().clone())
            }
            _ => (field, array.clone()),
        }
    }

    #[test]
    fn keys_come_out_of_the_type_that_they_went_in_with() {
        for (field, array, ..) in &columns()[..3] {
            let scratch = Scratch::new();
            scratch.write("in.parquet", &files(field, array)[0]);
            scratch.run("pack in.parquet -o store -k 1 --id-column key -q").succeeds();
            scratch.run("dump store --as parquet,ids -o dump.parquet").succeeds();
            scratch.write("all.txt", "0000000000000001\n0000000000000002\n");
            scratch
                .run("query store --from all.txt -k 64 --as parquet -o query.parquet")
                .succeeds();
            scratch.run("dedup store --as parquet -o ids.parquet -q").succeeds();
            scratch.run("dedup store --as parquet,per-id -o per-id.parquet -q").succeeds();
            let tables = [
                ("dump.parquet", "ids"),
                ("query.parquet", "ids"),
                ("ids.parquet", "ids"),
                ("per-id.parquet", "id"),
                ("per-id.parquet", "representative"),
            ];
            for (file, name) in tables {
                let (found, values) = column(&scratch.path(file), name);
                let width = array.as_fixed_size_binary_opt().map_or(20, |keys| keys.value_length());
                assert_eq!(found.data_type(), &DataType::FixedSizeBinary(width), "{file} {name}");
                let says = |field: &Field| field.extension_type_name().map(str::to_string);
                assert_eq!(says(&found), says(field), "{file} {name}");
                let values = values.as_fixed_size_binary();
                let keys: BTreeSet<&[u8]> =
                    (0..values.len()).map(|row| values.value(row)).collect();
                let expected: BTreeSet<&[u8]> = match array.as_fixed_size_binary_opt() {
                    Some(keys) => keys.iter().flatten().collect(),
                    None => array.as_binary::<i32>().iter().flatten().collect(),
                };
                assert_eq!(keys, expected, "{file} {name}");
            }
        }
    }

    #[test]
    fn keys_of_another_width_are_refused() {
        let scratch = Scratch::new();
        let field = Field::new("key", DataType::Binary, false);
        let array: ArrayRef = Arc::new(BinaryArray::from_iter_values([&b"four"[..], b"fives"]));
        scratch.write("in.parquet", &files(&field, &array)[0]);
        scratch.run("pack in.parquet -o store --id-column key -q").fails_naming(&[
            "row 2",
            "\"key\"",
            "a value of 5 bytes",
            "as many as the first id has",
        ]);
        scratch.run("create store --id-type key:4 -q").succeeds();
        scratch.run("insert store in.parquet --id-column key -q").fails_naming(&[
            "row 2",
            "a value of 5 bytes",
            "as all ids of the store have",
        ]);
        for (kind, wrong) in [("key:0", "key:0"), ("keys", "keys"), ("key:65536", "key:65536")] {
            scratch.run(&format!("create other --id-type {kind}")).fails_naming(&[wrong, "key:20"]);
        }
    }
}
