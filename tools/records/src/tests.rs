//! Readers at any bytes: they end, with records or with an error that tells the place.

use std::io::{Cursor, Write};
use std::path::Path;

use fpstore::IdKind;
use proptest::prelude::*;

use super::*;
use crate::records::Id;
use crate::wish::IdWish;

fn options(format: &str) -> Options {
    let named = Container::NAMES.iter().find(|(name, _)| *name == format);
    Options { format: named.map(|(_, format)| *format), ..Options::default() }
}

const FORMATS: [&str; 10] =
    ["auto", "u64le", "hex", "dec", "npy", "csv", "tsv", "jsonl", "arrow", "parquet"];

/// Reads all, as from a pipe and as from a file. Gives what was read, and whether all was sound.
fn read_all(bytes: &[u8], options: &Options) -> (Records, Result<(), String>) {
    let stream = Stream::new(Cursor::new(bytes.to_vec()));
    read(Source::new(Origin::Stdin, stream, options))
}

fn read(mut source: Source) -> (Records, Result<(), String>) {
    let mut records = Records::default();
    loop {
        match source.read(&mut records) {
            Ok(true) => {}
            Ok(false) => return (records, Ok(())),
            Err(error) => return (records, Err(error.to_string())),
        }
    }
}

/// Holds for every input: skipping finds at least as much, and an error names the input.
fn check(bytes: &[u8], format: &str) {
    let (stopped, result) = read_all(bytes, &options(format));
    let (skipping, skipped) = read_all(bytes, &Options { skip: true, ..options(format) });
    assert!(skipping.fingerprints.starts_with(&stopped.fingerprints), "{format}: {bytes:?}");
    assert_eq!(stopped.skipped.len(), 0);
    assert_eq!(
        skipping.next_number(),
        (skipping.fingerprints.len() + skipping.skipped.len()) as u64
    );
    if result.is_ok() {
        assert_eq!((skipping.skipped.len(), skipped.is_ok()), (0, true), "{format}: {bytes:?}");
    }
    for error in [result, skipped].into_iter().filter_map(Result::err) {
        assert!(error.starts_with("standard input: "), "{error}");
    }
}

/// Valid files of all formats, to be damaged.
fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = vec![
        b"0000000000000001\n00000000000000ff\n0x1\n".to_vec(),
        b"1 2\n-3\n18446744073709551615\n".to_vec(),
        b"url,fingerprint\n\"a,\"\"b\",0000000000000001\nc,0x2\n".to_vec(),
        b"fingerprint\turl\n1\tx\n-2\ty\n".to_vec(),
        b"{\"a\":[{}],\"fingerprint\":\"0000000000000001\"}\n{\"fingerprint\":2}\n".to_vec(),
    ];
    let mut npy = b"\x93NUMPY\x01\0v\0".to_vec();
    let header = "{'descr': '<u8', 'fortran_order': False, 'shape': (2,), }";
    npy.extend(format!("{header:<117}\n").bytes());
    npy.extend([1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(read_all(&npy, &options("")).0.fingerprints, [1, 2]);
    seeds.push(npy);
    #[cfg(feature = "arrow")]
    seeds.extend(batches::seeds());
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&seeds[0]).unwrap();
    seeds.push(gzip.finish().unwrap());
    seeds.push(zstd::encode_all(&seeds[1][..], 1).unwrap());
    seeds
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        format in prop::sample::select(&FORMATS[..]),
    ) {
        check(&bytes, format);
    }

    #[test]
    fn any_text_is_read_or_refused(
        text in "(\\PC|[0-9a-fx,;\t\n\"{}: -]){0,80}",
        format in prop::sample::select(&FORMATS[..]),
    ) {
        check(text.as_bytes(), format);
    }

    #[test]
    fn any_damage_is_read_or_refused(
        seed in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
        with in prop::collection::vec(any::<u8>(), 0..6),
        cut in prop::option::of(any::<prop::sample::Index>()),
        format in prop::sample::select(&FORMATS[..]),
    ) {
        let seeds = seeds();
        let mut bytes = seeds[seed.index(seeds.len())].clone();
        let at = at.index(bytes.len());
        for (to, with) in bytes[at..].iter_mut().zip(with) {
            *to = with;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len() + 1));
        }
        check(&bytes, "auto");
        check(&bytes, format);
        #[cfg(feature = "parquet")]
        batches::check_file(&bytes);
    }
}

/// Numbers, or texts.
fn wishing(numbers: bool) -> Option<IdWish> {
    Some(if numbers { IdWish::new("id", Some(IdKind::Number)) } else { IdWish::texts("id") })
}

/// The ids of an input, or its error.
fn ids(bytes: &[u8], numbers: bool) -> Result<Vec<(u64, String)>, String> {
    let mut options = options("");
    options.ids = wishing(numbers);
    let (records, result) = read_all(bytes, &options);
    result?;
    let id = |id: Option<Id<'_>>| match id {
        Some(Id::Number(number)) => format!("#{number}"),
        Some(id) => id.to_string(),
        None => panic!("no id"),
    };
    Ok(records.iter().map(|record| (record.fingerprint, id(record.id))).collect())
}

#[test]
fn ids_come_from_their_column() {
    let expected = |ids: [&str; 2]| -> Result<Vec<(u64, String)>, String> {
        Ok(vec![(1, ids[0].to_string()), (2, ids[1].to_string())])
    };
    let csv = b"fingerprint,id\n1,17\n2,18446744073709551615\n";
    let json =
        b"{\"id\":17,\"fingerprint\":1}\n{\"fingerprint\":2,\"id\":\"18446744073709551615\"}";
    for bytes in [&csv[..], json] {
        let numbers = expected(["#17", "#18446744073709551615"]);
        assert_eq!(ids(bytes, true), numbers);
        assert_eq!(ids(bytes, false), expected(["17", "18446744073709551615"]));
    }
    let csv = b"fingerprint,id\n1,http://x\n2,\n";
    assert_eq!(ids(csv, false), expected(["http://x", ""]));
    assert_eq!(
        ids(csv, true),
        Err("standard input: line 2, column \"id\": \"http://x\" is no number from 0 to \
             18446744073709551615 without zeros in front; correct it, or give --on-error skip"
            .to_string())
    );
    assert_eq!(
        ids(b"1\n2\n", true),
        Err("standard input: a list in decimal digits has no columns of ids; give a table or JSON"
            .to_string())
    );
    assert_eq!(
        ids(b"{\"fingerprint\":1}\n", true),
        Err("standard input: line 1, column \"id\": is missing; fill it in, or name another \
             column, or give --on-error skip"
            .to_string())
    );
}

#[test]
fn an_unknown_file_is_an_error_of_opening() {
    let error = Source::<u64>::open(Path::new("/none/of these"), &options("")).err().unwrap();
    assert!(error.to_string().starts_with("/none/of these: cannot open: "), "{error}");
}

#[cfg(feature = "arrow")]
mod batches {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray, UInt64Array};

    use super::*;

    fn batch() -> RecordBatch {
        RecordBatch::try_from_iter([
            ("fingerprint", Arc::new(UInt64Array::from(vec![1, 2])) as ArrayRef),
            ("id", Arc::new(Int64Array::from(vec![17, 18])) as ArrayRef),
            ("text", Arc::new(StringArray::from(vec!["0x1", "0x2"])) as ArrayRef),
        ])
        .unwrap()
    }

    fn stream() -> Vec<u8> {
        let schema = batch().schema();
        let mut writer = arrow_ipc::writer::StreamWriter::try_new(Vec::new(), &schema).unwrap();
        writer.write(&batch()).unwrap();
        writer.finish().unwrap();
        writer.into_inner().unwrap()
    }

    pub fn seeds() -> Vec<Vec<u8>> {
        let mut writer =
            arrow_ipc::writer::FileWriter::try_new(Vec::new(), &batch().schema()).unwrap();
        writer.write(&batch()).unwrap();
        writer.finish().unwrap();
        let mut seeds = vec![stream(), writer.into_inner().unwrap()];
        #[cfg(feature = "parquet")]
        seeds.push(parquet_bytes());
        for seed in &mut seeds {
            assert!(!seed.is_empty());
        }
        seeds
    }

    #[cfg(feature = "parquet")]
    fn parquet_bytes() -> Vec<u8> {
        let schema = batch().schema();
        let mut writer = ::parquet::arrow::ArrowWriter::try_new(Vec::new(), schema, None).unwrap();
        writer.write(&batch()).unwrap();
        writer.into_inner().unwrap()
    }

    #[cfg(feature = "parquet")]
    fn read_file(bytes: &[u8], options: &Options) -> (Records, Result<(), String>) {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        read(Source::open(file.path(), options).unwrap())
    }

    /// A file may be Parquet, which a pipe may not.
    #[cfg(feature = "parquet")]
    pub fn check_file(bytes: &[u8]) {
        let of_texts =
            Options { column: Some("text".to_string()), skip: true, ..Options::default() };
        for options in [Options::default(), of_texts] {
            let (records, result) = read_file(bytes, &options);
            if result.is_ok() && bytes == parquet_bytes() {
                assert_eq!(records.fingerprints, [1, 2]);
            }
        }
    }

    #[test]
    fn ids_come_from_their_column() {
        let expected = vec![(1, "#17".to_string()), (2, "#18".to_string())];
        assert_eq!(ids(&stream(), true), Ok(expected));
        let expected = vec![(1, "17".to_string()), (2, "18".to_string())];
        assert_eq!(ids(&stream(), false), Ok(expected));
        #[cfg(feature = "parquet")]
        {
            let mut options = Options { column: Some("text".to_string()), ..Options::default() };
            options.ids = wishing(true);
            let (records, result) = read_file(&parquet_bytes(), &options);
            result.unwrap();
            let ids: Vec<_> =
                records.iter().map(|record| (record.fingerprint, record.id)).collect();
            assert_eq!(ids, [(1, Some(Id::Number(17))), (2, Some(Id::Number(18)))]);
        }
    }
}
