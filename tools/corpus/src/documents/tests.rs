//! What is read from files of all formats, and written again.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::error::Error;

/// Options as the command has them.
fn options(line: &str) -> DocumentOptions {
    let words: Vec<&str> = line.split_whitespace().collect();
    words.chunks(2).fold(DocumentOptions::new(), |options, words| match words {
        ["--text", column] => options.text(*column),
        ["--id", column] => options.id(*column),
        ["--format", "csv"] => options.kind(Kind::Csv),
        ["--format", "plain"] => options.kind(Kind::Plain),
        ["--format", "jsonl"] => options.kind(Kind::Jsonl),
        _ => panic!("{words:?}"),
    })
}

/// The id and the text of a document, or its fault.
type Told = Result<(String, Vec<u8>), String>;

/// The documents of one input.
fn read(input: &Arc<Input>, wanted: &Wanted) -> Result<Vec<Told>, Error> {
    let mut reader = Documents::open(input, wanted, 1 << 20)?;
    let mut all = Vec::new();
    while let Some(piece) = reader.next_piece()? {
        let before = all.len();
        let taken: Result<(), ()> = piece.documents(|document| {
            all.push(match document {
                Ok(Document { text, id, .. }) => Ok((id.into_owned(), text.into_owned())),
                Err(error) => Err(error.to_string()),
            });
            Ok(())
        });
        assert_eq!((taken, all.len() - before), (Ok(()), piece.len()));
    }
    Ok(all)
}

fn find(paths: &[PathBuf], line: &str) -> Inputs {
    Inputs::find(paths, &options(line)).unwrap()
}

fn written(directory: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = directory.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, bytes).unwrap();
    path
}

/// What a copy has of those records whose numbers `keeps` takes.
fn copied(input: &Arc<Input>, wanted: &Wanted, keeps: impl Fn(usize) -> bool) -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("copy");
    let mut copy = Copier::start(input, File::create(&path).unwrap(), &path, 2).unwrap();
    let mut reader = Documents::open(input, wanted, 1 << 20).unwrap();
    copy.bytes(reader.header()).unwrap();
    let mut number = 0;
    while let Some(piece) = reader.next_piece().unwrap() {
        copy.piece(&piece, || {
            number += 1;
            keeps(number - 1)
        })
        .unwrap();
    }
    copy.finish().unwrap();
    fs::read(&path).unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::stream::encode_all(bytes, 3).unwrap()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn lines_of_json_are_read_and_copied_byte_by_byte() {
    let directory = tempfile::tempdir().unwrap();
    let lines: Vec<String> = (0..40_000)
        .map(|i| {
            format!(
                "{{ \"n\":{{\"text\":1}}, \"id\":{i},\"text\":\"line \\u00e9 {i}\"}}{}",
                ["\n", "\r\n"][i % 2]
            )
        })
        .collect();
    let text = format!("\u{feff}{}\n \n{}", lines[..7].concat(), lines[7..].concat());
    for (name, bytes) in [
        ("a.jsonl", text.clone().into_bytes()),
        ("a.jsonl.zst", zstd(text.as_bytes())),
        ("a.ndjson.gz", gzip(text.as_bytes())),
    ] {
        let path = written(directory.path(), name, &bytes);
        let inputs = find(&[path], "--id id");
        let wanted = options("--id id").wanted(None);
        let documents = read(&inputs.files[0], &wanted).unwrap();
        assert_eq!(documents.len(), lines.len());
        assert_eq!(documents[17], Ok(("17".into(), "line é 17".into())), "{name}");
        let copy = copied(&inputs.files[0], &wanted, |number| number % 3 == 1);
        let copy = match inputs.files[0].codec {
            Some(fpstore_records::Codec::Zstd) => zstd::stream::decode_all(&copy[..]).unwrap(),
            Some(_) => {
                let mut text = Vec::new();
                let mut decoder = flate2::read::GzDecoder::new(&copy[..]);
                std::io::Read::read_to_end(&mut decoder, &mut text).unwrap();
                text
            }
            None => copy,
        };
        let expected: String = lines.iter().skip(1).step_by(3).map(String::as_str).collect();
        assert_eq!(copy, expected.into_bytes(), "{name}");
    }
}

#[test]
fn files_in_directories_come_by_name_and_keep_it() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("corpus");
    written(&root, "b/2.txt", b"second");
    written(&root, "b/10.txt.gz", &gzip(b"first"));
    written(&root, "a.md", b"\xffbytes");
    written(&root, ".hidden", b"no");
    written(&root, "c.unknown", b"plain as well");
    let inputs = find(std::slice::from_ref(&root), "");
    let wanted = options("").wanted(None);
    let names: Vec<&Path> = inputs.files.iter().map(|input| &*input.name).collect();
    assert_eq!(names, ["a.md", "b/10.txt.gz", "b/2.txt", "c.unknown"].map(Path::new));
    let texts: Vec<_> =
        inputs.files.iter().flat_map(|input| read(input, &wanted).unwrap()).collect();
    let (id, text) = texts[1].clone().unwrap();
    assert_eq!((id, &text[..]), (root.join("b/10.txt.gz").display().to_string(), &b"first"[..]));
    assert_eq!(texts[0].clone().unwrap().1, b"\xffbytes");
    // Where tables are meant, what may be none is passed over.
    let inputs = find(std::slice::from_ref(&root), "--text body");
    assert_eq!(
        inputs.passed_over,
        [(root.join("c.unknown"), "nothing tells its format".to_string())]
    );
    // Equal names are told apart.
    let other = written(&directory.path().join("other"), "a.md", b"another text");
    let again = find(&[other, root.clone()], "");
    assert_eq!(again.files[0].name, Path::new("1/a.md"));
    assert_eq!(again.files[1].name, Path::new("2/a.md"));
    // So is a file from a directory of that name.
    let file = written(directory.path(), "b", b"a file");
    let again = find(&[file, root.clone()], "");
    assert_eq!(again.files[0].name, Path::new("1/b"));
    assert_eq!(again.files[2].name, Path::new("2/b/10.txt.gz"));
}

#[test]
fn faults_name_file_line_and_remedy() {
    let directory = tempfile::tempdir().unwrap();
    let json = written(
        directory.path(),
        "a.jsonl",
        b"{\"text\":\"a\"}\n\n{\"text\":1}\n{\"txt\":\"b\"}\nx\n",
    );
    let wanted = options("").wanted(None);
    let faults = read(&find(std::slice::from_ref(&json), "").files[0], &wanted).unwrap();
    let fault = |at: usize| faults[at].clone().unwrap_err();
    let shown = json.display();
    assert_eq!(faults[0], Ok((format!("{shown}:1"), b"a".to_vec())));
    assert!(fault(1).starts_with(&format!("{shown}: line 3: ")), "{}", fault(1));
    assert!(fault(2).contains("line 4, column \"text\": is missing"), "{}", fault(2));
    assert!(fault(3).contains("line 5: no JSON object"), "{}", fault(3));

    let csv = written(directory.path(), "a.csv", b"id,text\n1,a\n2\n3,\"b\n");
    let inputs = find(&[csv], "");
    let failure = read(&inputs.files[0], &wanted).unwrap_err().to_string();
    assert!(failure.contains("line 4: a quote is opened and never closed"), "{failure}");
    let failure =
        read(&inputs.files[0], &options("--text body").wanted(None)).unwrap_err().to_string();
    assert!(failure.contains("no column \"body\"; there are \"id\", \"text\""), "{failure}");
    let cut = zstd(&[b'{'; 100_000]);
    let cut = written(directory.path(), "cut.jsonl.zst", &cut[..cut.len() / 2]);
    let failure = read(&find(&[cut], "").files[0], &wanted).unwrap_err().to_string();
    assert!(failure.contains("cannot decompress zstd"), "{failure}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Records of CSV are cut where the reader of CSV cuts them, whatever is in the fields, and a
    /// copy of all is the file.
    #[test]
    fn csv_is_cut_into_its_records(
        rows in prop::collection::vec(prop::collection::vec("[a\",;\n\r\u{e9} ]{0,6}", 3), 0..40),
        tabs in any::<bool>(),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let names = ["id", "text", "more"].map(str::to_string).to_vec();
        let all = std::iter::once(&names).chain(&rows);
        let bytes = if tabs {
            let escaped = |field: &String| {
                let mut to = Vec::new();
                fpstore_records::tsv::push_escaped(&mut to, field);
                to
            };
            let line = |row: &Vec<String>| {
                row.iter().map(escaped).collect::<Vec<_>>().join(&b"\t"[..])
            };
            all.flat_map(|row| [line(row), b"\n".to_vec()].concat()).collect()
        } else {
            let mut writer = csv::Writer::from_writer(Vec::new());
            all.for_each(|row| writer.write_record(row).unwrap());
            writer.into_inner().unwrap()
        };
        let path = written(directory.path(), if tabs { "a.tsv" } else { "a.csv" }, &bytes);
        let inputs = find(&[path], "");
        let wanted = options("").wanted(None);
        let texts: Vec<Vec<u8>> =
            read(&inputs.files[0], &wanted).unwrap().into_iter().map(|one| one.unwrap().1).collect();
        let expected: Vec<Vec<u8>> = rows.iter().map(|row| row[1].clone().into_bytes()).collect();
        prop_assert_eq!(texts, expected);
        prop_assert_eq!(copied(&inputs.files[0], &wanted, |_| true), bytes);
    }
}

#[test]
fn carriage_returns_end_no_record_of_csv() {
    let directory = tempfile::tempdir().unwrap();
    let bytes = b"id,text\n1,foo\rbar\n2,baz\r\n3,\"qux\r\n\"\r\n\r\n4,\"a\r\"\n\r5,b\r";
    let path = written(directory.path(), "a.csv", bytes);
    let inputs = find(&[path], "--id id");
    let wanted = options("--id id").wanted(None);
    let told: Vec<_> =
        read(&inputs.files[0], &wanted).unwrap().into_iter().map(Result::unwrap).collect();
    let expected: [(&str, &[u8]); 5] =
        [("1", b"foo\rbar"), ("2", b"baz"), ("3", b"qux\r\n"), ("4", b"a\r"), ("\r5", b"b")];
    assert_eq!(told, expected.map(|(id, text)| (id.to_string(), text.to_vec())));
    let copy = copied(&inputs.files[0], &wanted, |number| number % 2 == 0);
    assert_eq!(copy, b"id,text\n1,foo\rbar\n3,\"qux\r\n\"\r\n\r5,b\r");
}

#[cfg(feature = "parquet")]
#[test]
fn rows_of_parquet_are_copied_with_their_schema() {
    use arrow_array::{
        ArrayRef, Int64Array, ListArray, RecordBatch, StringArray, types::Int32Type,
    };
    use arrow_schema::{Field, Schema};
    use parquet::arrow::{ArrowWriter, arrow_reader::ParquetRecordBatchReaderBuilder};

    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.parquet");
    let rows = 5000;
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("id", Arc::new((0..rows as i64).collect::<Int64Array>())),
        (
            "text",
            Arc::new(
                (0..rows)
                    .map(|i| (i % 7 > 0).then(|| format!("text {i}")))
                    .collect::<StringArray>(),
            ),
        ),
        (
            "tags",
            Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(
                (0..rows).map(|i| Some(vec![Some(i), None])),
            )),
        ),
    ];
    let fields: Vec<Field> = columns
        .iter()
        .map(|(name, column)| Field::new(*name, column.data_type().clone(), *name != "id"))
        .collect();
    let noted = std::collections::HashMap::from([("made".to_string(), "here".to_string())]);
    let schema = Arc::new(Schema::new_with_metadata(fields, noted));
    let batch = RecordBatch::try_new(
        schema.clone(),
        columns.into_iter().map(|(_, column)| column).collect(),
    )
    .unwrap();
    let mut writer =
        ArrowWriter::try_new(File::create(&path).unwrap(), schema.clone(), None).unwrap();
    for from in (0..rows as usize).step_by(1000) {
        writer.write(&batch.slice(from, 1000)).unwrap();
        writer.flush().unwrap();
    }
    writer.close().unwrap();

    let inputs = find(&[path], "--id id");
    let documents = read(&inputs.files[0], &options("--id id").wanted(None)).unwrap();
    assert_eq!(documents[8], Ok(("8".into(), b"text 8".to_vec())));
    assert_eq!(documents[7], Ok(("7".into(), Vec::new())));
    assert_eq!(documents.len(), rows as usize);
    let keeps = |number: usize| number.is_multiple_of(3) || number > 4000;
    let to = directory.path().join("copy.parquet");
    let mut number = 0;
    let asked = || {
        number += 1;
        keeps(number - 1)
    };
    copy_rows(&inputs.files[0], 1 << 30, File::create(&to).unwrap(), &to, asked, None).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(&to).unwrap()).unwrap();
    assert_eq!(reader.schema(), &schema);
    let kept: Vec<i64> = reader
        .build()
        .unwrap()
        .flat_map(|batch| {
            let batch = batch.unwrap();
            let tags = batch.column(2).clone();
            let ids = arrow_array::cast::AsArray::as_primitive::<arrow_array::types::Int64Type>(
                batch.column(0),
            )
            .clone();
            assert_eq!(tags.len(), ids.len());
            ids.values().to_vec()
        })
        .collect();
    let expected: Vec<i64> =
        (0..rows as usize).filter(|&number| keeps(number)).map(|number| number as i64).collect();
    assert_eq!(kept, expected);
}

#[cfg(feature = "parquet")]
#[test]
fn logical_types_of_parquet_stay_as_they_are() {
    use arrow_array::{ArrayRef, FixedSizeBinaryArray, Int64Array, RecordBatch, StringArray};
    use parquet::arrow::ArrowWriter;
    use parquet::arrow::arrow_writer::ArrowWriterOptions;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::schema::parser::parse_message_type;
    use parquet::schema::types::SchemaDescriptor;

    let message = "message spark_schema {
        required int64 id;
        required binary text (UTF8);
        required fixed_len_byte_array(16) u (UUID);
        required binary j (JSON);
        required binary e (ENUM);
        required int64 n (TIMESTAMP(MILLIS, true));
    }";
    let schema = SchemaDescriptor::new(Arc::new(parse_message_type(message).unwrap()));
    let texts = || Arc::new(StringArray::from(vec!["one", "two"])) as ArrayRef;
    let numbers = || Arc::new(Int64Array::from(vec![1, -2])) as ArrayRef;
    let bytes = FixedSizeBinaryArray::try_from_iter([[7u8; 16], [9; 16]].into_iter()).unwrap();
    let columns = [
        ("id", numbers()),
        ("text", texts()),
        ("u", Arc::new(bytes)),
        ("j", texts()),
        ("e", texts()),
        ("n", numbers()),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.parquet");
    let options = ArrowWriterOptions::new().with_parquet_schema(schema);
    let file = File::create(&path).unwrap();
    let mut writer = ArrowWriter::try_new_with_options(file, batch.schema(), options).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();

    let inputs = find(std::slice::from_ref(&path), "");
    let to = directory.path().join("copy.parquet");
    copy_rows(&inputs.files[0], 1 << 30, File::create(&to).unwrap(), &to, || true, None).unwrap();
    let read = |path: &Path| SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let (before, after) = (read(&path), read(&to));
    let schema = |file: &SerializedFileReader<File>| {
        file.metadata().file_metadata().schema_descr().root_schema().clone()
    };
    assert_eq!(schema(&after), schema(&before));
    let rows = |file: &SerializedFileReader<File>| -> Vec<String> {
        file.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect()
    };
    assert_eq!(rows(&after), rows(&before));
    assert_eq!(rows(&after).len(), 2);
}

#[cfg(feature = "parquet")]
#[test]
fn rows_are_not_copied_with_pages_larger_than_the_memory() {
    use arrow_array::types::Int32Type;
    use arrow_array::{ArrayRef, Int64Array, ListArray, RecordBatch, StringArray};
    use parquet::arrow::ArrowWriter;
    use parquet::file::properties::WriterProperties;

    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.parquet");
    let long = "a long text of another column ".repeat(200_000);
    let list = |long: bool| {
        let count = if long { 20_000_000 } else { 3 };
        Some((0..count).map(|_| Some(7)).collect::<Vec<_>>())
    };
    for (name, other) in [
        ("page", Arc::new(StringArray::from(vec![&*long, "short"])) as ArrayRef),
        (
            "lists",
            Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>([list(true), list(false)])),
        ),
    ] {
        let columns = [
            ("id", Arc::new(Int64Array::from(vec![1, 2])) as ArrayRef),
            ("text", Arc::new(StringArray::from(vec!["one", "two"]))),
            ("other", other),
        ];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let properties = WriterProperties::builder().set_data_page_size_limit(1 << 26).build();
        let file = File::create(&path).unwrap();
        let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        let inputs = find(std::slice::from_ref(&path), "--id id");
        let to = directory.path().join("copy.parquet");
        let copy = |memory| {
            copy_rows(&inputs.files[0], memory, File::create(&to).unwrap(), &to, || true, None)
        };
        let told = copy(1 << 20).err().unwrap().to_string();
        assert!(told.contains("give more --memory"), "{name}: {told}");
        copy(1 << 30).unwrap();
    }
}
