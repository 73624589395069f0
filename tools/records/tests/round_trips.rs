//! Values of random tables come back from every format and compression as they went in, where they
//! are written by the libraries that others use. `PROPTEST_CASES=10000` runs as many tables.
#![cfg(feature = "parquet")]

use std::fs::{self, File};
use std::io::Cursor;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, UInt64Array};
use fpstore_records::rows::{Kind, Limits, Lookup, Rows, Want};
use fpstore_records::tsv::push_escaped;
use fpstore_records::{Codec, Counter, Encoder, Layout, Origin, Stream};
use proptest::prelude::*;

const NAMES: [&str; 5] = ["text", "id", "number", "small", "float"];
const MEMORY: u64 = 1 << 26;

/// A row of a table.
#[derive(Clone, Debug)]
struct Row {
    text: Option<String>,
    id: String,
    /// Digits of up to 128 bits, which Arrow has no plain type for.
    number: i128,
    small: (u64, i64),
    float: Option<f64>,
}

/// What was read of a row; `None` for nothing.
type Read = Vec<Option<String>>;

fn text() -> impl Strategy<Value = String> {
    let odd = prop::sample::select(vec![
        "\"", "\"\"", "'", ",", ";", "|", "\t", "\r", "\n", "\r\n", "\\", "\\t", "\\N", "\0",
        "\u{1}", "\u{7f}", "\u{85}", "\u{2028}", "\u{feff}", "😀", "é", "NULL", "null", "NaN", " ",
        "{", "[", "0x1", "-", "007",
    ]);
    let part = prop_oneof![
        odd.prop_map(String::from),
        any::<char>().prop_map(String::from),
        (0u8..32).prop_map(|byte| char::from(byte).to_string()),
        "[a-z0-9 ]{0,12}",
    ];
    prop::collection::vec(part, 0..6).prop_map(|parts| parts.concat())
}

fn row() -> impl Strategy<Value = Row> {
    let number = prop_oneof![any::<i128>(), any::<u64>().prop_map(i128::from), Just(-1), Just(0)];
    let float = prop_oneof![
        any::<f64>(),
        prop::sample::select(vec![f64::NAN, f64::INFINITY, -0.0, 1e300, 9007199254740993.0]),
    ];
    let values = (prop::option::of(text()), text(), number, any::<(u64, i64)>());
    (values, prop::option::of(float)).prop_map(|((text, id, number, small), float)| Row {
        text,
        id,
        number,
        small,
        float,
    })
}

fn all(rows: Rows) -> Vec<Read> {
    let (mut rows, mut all) = (rows, Vec::new());
    while let Some(piece) = rows.next_piece().unwrap() {
        let mut lookup = Lookup::default();
        for index in 0..piece.len() {
            let row = piece.row(index, &mut lookup).unwrap();
            let cell =
                |want: usize| row.cell(want).into_text().unwrap().map(|text| text.into_owned());
            all.push((0..piece.wants().len()).map(cell).collect());
        }
    }
    all
}

fn wants() -> Vec<Want> {
    let kinds = [Kind::Text, Kind::Id, Kind::Value, Kind::Value, Kind::Value];
    NAMES.into_iter().zip(kinds).map(|(name, kind)| Want::new(name, kind).or_none()).collect()
}

/// The fields of a table in text, of which none is a null.
fn fields(row: &Row) -> [String; 5] {
    let float = row.float.map_or(String::new(), |float| float.to_string());
    let text = row.text.clone().unwrap_or_default();
    [text, row.id.clone(), row.number.to_string(), row.small.1.to_string(), float]
}

fn csv(rows: &[Row], delimiter: u8, terminator: csv::Terminator) -> Vec<u8> {
    let mut writer = csv::WriterBuilder::new();
    let mut writer = writer.delimiter(delimiter).terminator(terminator).from_writer(Vec::new());
    writer.write_record(NAMES).unwrap();
    rows.iter().for_each(|row| writer.write_record(fields(row)).unwrap());
    writer.into_inner().unwrap()
}

fn tsv(rows: &[Row]) -> Vec<u8> {
    let mut bytes = NAMES.join("\t").into_bytes();
    for row in rows {
        bytes.push(b'\n');
        for (at, field) in fields(row).iter().enumerate() {
            bytes.extend((at > 0).then_some(b'\t'));
            push_escaped(&mut bytes, field);
        }
    }
    bytes
}

fn json(rows: &[Row]) -> Vec<u8> {
    let string = |text: &Option<String>| serde_json::to_string(text).unwrap();
    let line = |row: &Row| {
        let (text, id) = (string(&row.text), string(&Some(row.id.clone())));
        let float = row.float.filter(|float| float.is_finite());
        let float = serde_json::to_string(&float).unwrap();
        let Row { number, small, .. } = row;
        format!(
            "{{\"float\":{float},\"text\":{text} ,\"x\":[1,{{}}],\"id\":{id},\"number\":{number},\
             \"small\":{}}}\n",
            small.1
        )
    };
    rows.iter().map(line).collect::<String>().into_bytes()
}

fn batch(rows: &[Row]) -> RecordBatch {
    let texts: StringArray = rows.iter().map(|row| row.text.as_deref()).collect();
    let ids: StringArray = rows.iter().map(|row| Some(row.id.as_str())).collect();
    let numbers: UInt64Array = rows.iter().map(|row| Some(row.small.0)).collect();
    let small: Int64Array = rows.iter().map(|row| Some(row.small.1)).collect();
    let floats: Float64Array = rows.iter().map(|row| row.float).collect();
    let columns: [ArrayRef; 5] =
        [Arc::new(texts), Arc::new(ids), Arc::new(numbers), Arc::new(small), Arc::new(floats)];
    RecordBatch::try_from_iter(NAMES.into_iter().zip(columns)).unwrap()
}

/// The bytes behind a compression and out of it again.
fn stream(bytes: &[u8], codec: Option<Codec>) -> Stream {
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut encoder = Encoder::new(file.reopen().unwrap(), codec, 1).unwrap();
    encoder.write(bytes).unwrap();
    encoder.finish().unwrap();
    let mut stream = Stream::new(Cursor::new(fs::read(file.path()).unwrap()));
    assert_eq!(stream.codec().unwrap(), codec);
    match codec {
        Some(codec) => stream.decompressed(codec).unwrap(),
        None => stream,
    }
}

proptest! {
    #[test]
    fn values_come_back_as_they_are(
        rows in prop::collection::vec(row(), 1..8),
        codec in prop::sample::select(Codec::NAMES),
    ) {
        let codec = codec.1;
        let in_text: Vec<Read> =
            rows.iter().map(|row| fields(row).map(Some).to_vec()).collect();
        let of_text = |bytes: &[u8], layout| {
            let limits = Limits::default();
            all(Rows::of_text(Origin::Stdin, stream(bytes, codec), layout, wants(), limits, true).unwrap())
        };
        for (delimiter, terminator) in [
            (b',', csv::Terminator::Any(b'\n')),
            (b';', csv::Terminator::CRLF),
            (b'|', csv::Terminator::Any(b'\n')),
        ] {
            prop_assert_eq!(&of_text(&csv(&rows, delimiter, terminator), Layout::Delimited), &in_text);
        }
        prop_assert_eq!(&of_text(&tsv(&rows), Layout::Tsv), &in_text);
        let in_json: Vec<Read> = rows.iter().map(|row| {
            let float = row.float.filter(|float| float.is_finite());
            let [_, id, number, small, _] = fields(row);
            let float = float.map(|float| serde_json::to_string(&float).unwrap());
            vec![row.text.clone(), Some(id), Some(number), Some(small), float]
        }).collect();
        prop_assert_eq!(&of_text(&json(&rows), Layout::Jsonl), &in_json);

        let batch = batch(&rows);
        let in_arrow: Vec<Read> = rows.iter().map(|row| {
            let float = row.float.map(|float| float.to_string());
            let [number, small] = [row.small.0.to_string(), row.small.1.to_string()];
            vec![row.text.clone(), Some(row.id.clone()), Some(number), Some(small), float]
        }).collect();
        let schema = batch.schema();
        let mut file = arrow_ipc::writer::FileWriter::try_new(Vec::new(), &schema).unwrap();
        let mut messages = arrow_ipc::writer::StreamWriter::try_new(Vec::new(), &schema).unwrap();
        file.write(&batch).unwrap();
        messages.write(&batch).unwrap();
        for bytes in [file.into_inner().unwrap(), messages.into_inner().unwrap()] {
            let rows = Rows::of_arrow(Origin::Stdin, stream(&bytes, codec), MEMORY, wants());
            prop_assert_eq!(&all(rows.unwrap()), &in_arrow);
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut writer =
            parquet::arrow::ArrowWriter::try_new(file.reopen().unwrap(), schema, None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        let opened = File::open(file.path()).unwrap();
        let rows = Rows::of_parquet(Origin::Stdin, opened, MEMORY, wants(), Counter::default());
        prop_assert_eq!(&all(rows.unwrap()), &in_arrow);
    }
}
