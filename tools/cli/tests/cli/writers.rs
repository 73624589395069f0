//! Files of fingerprints as other programs write them: with the writers of the ecosystem.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).unwrap()
}

pub fn bzip2(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub fn xz(bytes: &[u8]) -> Vec<u8> {
    liblzma::encode_all(bytes, 1).unwrap()
}

pub fn lz4(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// An array of one dimension, or with `rows_of` bytes of two.
pub fn npy<T: npyz::AutoSerialize + Copy>(values: &[T], shape: &[u64]) -> Vec<u8> {
    use npyz::WriterBuilder;
    let mut bytes = Vec::new();
    let options = npyz::WriteOptions::new().default_dtype().shape(shape);
    let mut writer = options.writer(&mut bytes).begin_nd().unwrap();
    writer.extend(values.iter().copied()).unwrap();
    writer.finish().unwrap();
    bytes
}

pub fn npy_u64(set: &[u64]) -> Vec<u8> {
    npy(set, &[set.len() as u64])
}

pub fn npy_bytes(set: &[u64]) -> Vec<u8> {
    let bytes: Vec<u8> = set.iter().flat_map(|x| x.to_be_bytes()).collect();
    npy(&bytes, &[set.len() as u64, 8])
}

/// Three columns, of which the first needs quotes, or escapes between tabs, now and then, and the
/// last counts rows from 0 on.
pub fn delimited(
    set: &[u64],
    delimiter: u8,
    names: &[&str],
    digits: impl Fn(u64) -> String,
) -> Vec<u8> {
    let style =
        if delimiter == b'\t' { csv::QuoteStyle::Never } else { csv::QuoteStyle::Necessary };
    let mut writer =
        csv::WriterBuilder::new().delimiter(delimiter).quote_style(style).from_writer(Vec::new());
    writer.write_record(names).unwrap();
    for (row, &fingerprint) in set.iter().enumerate() {
        let name = match row % 50 {
            0 if delimiter == b'\t' => format!("\"say {row},\\nand;\\tgo"),
            0 => format!("say \"{row}\",\nand;\tgo"),
            _ => format!("page {row}"),
        };
        writer.write_record([&name, &digits(fingerprint), &row.to_string()]).unwrap();
    }
    writer.into_inner().unwrap()
}

/// Objects with the fingerprint between other fields; `row` counts them from 0 on.
pub fn jsonl(set: &[u64], value: impl Fn(u64) -> serde_json::Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (row, &fingerprint) in set.iter().enumerate() {
        let object = serde_json::json!({
            "a": [row, {"fingerprint": null}],
            "fingerprint": value(fingerprint),
            "row": row,
            "url": format!("http://x/\"{row}\""),
        });
        serde_json::to_writer(&mut bytes, &object).unwrap();
        bytes.push(b'\n');
    }
    bytes
}

#[cfg(feature = "arrow")]
pub mod batches {
    use std::sync::Arc;

    use arrow_array::types::Int32Type;
    use arrow_array::{
        ArrayRef, BinaryArray, DictionaryArray, FixedSizeBinaryArray, Int64Array, LargeStringArray,
        RecordBatch, StringArray, StringViewArray, UInt64Array,
    };
    use arrow_ipc::CompressionType;
    use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
    use arrow_schema::{Field, Schema};

    /// Rows of a batch: so few that a set has several.
    pub const ROWS: usize = 9000;

    /// A way to keep fingerprints in a column.
    pub type Column = fn(&[u64]) -> ArrayRef;

    pub const COLUMNS: [(&str, Column); 8] = [
        ("uint64", |set| Arc::new(UInt64Array::from(set.to_vec()))),
        ("int64", |set| Arc::new(set.iter().map(|&x| x as i64).collect::<Int64Array>())),
        ("fixed", |set| {
            let bytes = set.iter().map(|x| Some(x.to_be_bytes()));
            Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(bytes, 8).unwrap())
        }),
        ("binary", |set| {
            Arc::new(BinaryArray::from_iter_values(set.iter().map(|x| x.to_be_bytes())))
        }),
        ("hex", |set| Arc::new(StringArray::from_iter_values(set.iter().map(hex)))),
        ("large", |set| Arc::new(LargeStringArray::from_iter_values(set.iter().map(prefixed)))),
        ("view", |set| Arc::new(StringViewArray::from_iter_values(set.iter().map(hex)))),
        ("dictionary", |set| {
            let texts: Vec<String> = set.iter().map(hex).collect();
            Arc::new(texts.iter().map(String::as_str).collect::<DictionaryArray<Int32Type>>())
        }),
    ];

    fn hex(fingerprint: &u64) -> String {
        format!("{fingerprint:016x}")
    }

    fn prefixed(fingerprint: &u64) -> String {
        format!("0x{fingerprint:X}")
    }

    /// Batches of columns `url`, `fingerprint` and `row`, which counts from 0 on.
    pub fn batches(set: &[u64], column: Column) -> Vec<RecordBatch> {
        let chunks: Vec<&[u64]> =
            if set.is_empty() { vec![set] } else { set.chunks(ROWS).collect() };
        let starts = (0..).step_by(ROWS);
        chunks.into_iter().zip(starts).map(|(set, at)| behind(at, set.len(), column(set))).collect()
    }

    pub fn batch(rows: usize, fingerprints: ArrayRef) -> RecordBatch {
        behind(0, rows, fingerprints)
    }

    /// A batch behind `start` other rows.
    fn behind(start: usize, rows: usize, fingerprints: ArrayRef) -> RecordBatch {
        let rows = start..start + rows;
        let urls = rows.clone().map(|row| format!("http://x/{row}"));
        let urls = StringArray::from_iter_values(urls);
        let rows = Int64Array::from_iter_values(rows.map(|row| row as i64));
        let field =
            |name: &str, array: &ArrayRef| Field::new(name, array.data_type().clone(), true);
        let columns: [(&str, ArrayRef); 3] =
            [("url", Arc::new(urls)), ("fingerprint", fingerprints), ("row", Arc::new(rows))];
        let fields: Vec<Field> = columns.iter().map(|(name, array)| field(name, array)).collect();
        let arrays = columns.into_iter().map(|(_, array)| array).collect();
        RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap()
    }

    fn options(compression: Option<CompressionType>) -> IpcWriteOptions {
        IpcWriteOptions::default().try_with_compression(compression).unwrap()
    }

    pub fn file(batches: &[RecordBatch], compression: Option<CompressionType>) -> Vec<u8> {
        let schema = batches[0].schema();
        let mut writer =
            FileWriter::try_new_with_options(Vec::new(), &schema, options(compression)).unwrap();
        for batch in batches {
            writer.write(batch).unwrap();
        }
        writer.finish().unwrap();
        writer.into_inner().unwrap()
    }

    pub fn stream(batches: &[RecordBatch], compression: Option<CompressionType>) -> Vec<u8> {
        let schema = batches[0].schema();
        let mut writer =
            StreamWriter::try_new_with_options(Vec::new(), &schema, options(compression)).unwrap();
        for batch in batches {
            writer.write(batch).unwrap();
        }
        writer.finish().unwrap();
        writer.into_inner().unwrap()
    }

    #[cfg(feature = "parquet")]
    pub fn parquet(batches: &[RecordBatch], compression: parquet::basic::Compression) -> Vec<u8> {
        use parquet::arrow::ArrowWriter;
        use parquet::file::properties::WriterProperties;
        // Several row groups, which do not end where the batches do.
        let properties = WriterProperties::builder()
            .set_compression(compression)
            .set_max_row_group_row_count(Some(40_000))
            .build();
        let mut writer =
            ArrowWriter::try_new(Vec::new(), batches[0].schema(), Some(properties)).unwrap();
        for batch in batches {
            writer.write(batch).unwrap();
        }
        writer.into_inner().unwrap()
    }
}
