//! The table of removed documents.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::choice::TableShape;
use crate::error::{Error, failure};

/// A row.
#[derive(Serialize)]
pub struct Row<'a> {
    /// The number of the cluster, in the order of the first documents that are removed.
    pub cluster: u64,
    /// The document that is removed.
    pub id: &'a str,
    /// The one that is kept instead.
    pub kept: &'a str,
    /// The one that it is near.
    pub matched: &'a str,
    /// By how much it differs from that.
    pub distance: u32,
    /// `exact` or `near`.
    pub why: &'a str,
    /// Where the kept one is: in the `input`, or in the `store` of the earlier corpus.
    pub kept_in: &'a str,
    /// The Jaccard similarity to the matched one, where it was checked.
    pub jaccard: Option<f32>,
}

/// The fields of a row.
const COLUMNS: [&str; 8] =
    ["cluster", "id", "kept", "matched", "distance", "why", "kept_in", "jaccard"];

/// The table while it is written.
pub enum Table {
    Jsonl(BufWriter<File>, PathBuf),
    Csv(Box<csv::Writer<File>>, PathBuf),
    #[cfg(feature = "parquet")]
    Parquet(Box<of_parquet::Rows>),
}

impl Table {
    /// Starts a table.
    pub fn new(
        shape: TableShape,
        file: File,
        path: &Path,
        k: Option<u32>,
        recipe: &str,
    ) -> Result<Self, Error> {
        match shape {
            TableShape::Jsonl => Ok(Self::Jsonl(BufWriter::new(file), path.to_path_buf())),
            TableShape::Csv => {
                let mut to = csv::WriterBuilder::new().has_headers(false).from_writer(file);
                // Of the fields in their order; without a row nothing else writes it.
                let header = to.write_record(COLUMNS).map_err(std::io::Error::from);
                header.map_err(failure(path, "write"))?;
                Ok(Self::Csv(Box::new(to), path.to_path_buf()))
            }
            #[cfg(feature = "parquet")]
            TableShape::Parquet => {
                Ok(Self::Parquet(Box::new(of_parquet::Rows::new(file, path, k, recipe)?)))
            }
            #[cfg(not(feature = "parquet"))]
            TableShape::Parquet => {
                let _ = (k, recipe);
                let what = "this was built without Parquet; take JSON lines";
                Err(Error::Setting(format!("removed.parquet: {what}")))
            }
        }
    }

    /// Writes a row.
    pub fn row(&mut self, row: &Row<'_>) -> Result<(), Error> {
        match self {
            Self::Jsonl(to, path) => {
                let line = serde_json::to_vec(row).map_err(std::io::Error::from);
                let written = line.and_then(|mut line| {
                    line.push(b'\n');
                    to.write_all(&line)
                });
                written.map_err(failure(path, "write"))
            }
            Self::Csv(to, path) => {
                to.serialize(row).map_err(std::io::Error::from).map_err(failure(path, "write"))
            }
            #[cfg(feature = "parquet")]
            Self::Parquet(table) => table.row(row),
        }
    }

    /// Passes on what is left.
    pub fn finish(self) -> Result<(), Error> {
        match self {
            Self::Jsonl(mut to, path) => to.flush().map_err(failure(&path, "write")),
            Self::Csv(mut to, path) => to.flush().map_err(failure(&path, "write")),
            #[cfg(feature = "parquet")]
            Self::Parquet(table) => table.finish(),
        }
    }
}

#[cfg(feature = "parquet")]
mod of_parquet {
    use std::sync::Arc;

    use arrow_array::builder::{Float32Builder, StringBuilder, UInt16Builder, UInt64Builder};
    use arrow_array::{ArrayRef, RecordBatch};
    use arrow_schema::{DataType, Field, Schema, SchemaRef};
    use parquet::arrow::ArrowWriter;
    use parquet::basic::Compression;
    use parquet::errors::ParquetError;
    use parquet::file::metadata::KeyValue;
    use parquet::file::properties::WriterProperties;

    use super::*;

    /// Rows that are handed on together.
    const BATCH_ROWS: usize = 1 << 13;
    /// Rows of a row group, which is in memory until it is whole, and bytes at which one ends
    /// before.
    const GROUP_ROWS: usize = 1 << 17;
    const GROUP_BYTES: usize = 8 << 20;

    /// Columns of strings: id, kept, matched, why, kept_in.
    const TEXTS: usize = 5;

    pub struct Rows {
        writer: ArrowWriter<File>,
        path: PathBuf,
        schema: SchemaRef,
        rows: usize,
        cluster: UInt64Builder,
        texts: [StringBuilder; TEXTS],
        distance: UInt16Builder,
        jaccard: Float32Builder,
    }

    impl Rows {
        pub fn new(file: File, path: &Path, k: Option<u32>, recipe: &str) -> Result<Self, Error> {
            let field = |name: &str, kind, is_nullable| Field::new(name, kind, is_nullable);
            let text = |name: &str| field(name, DataType::Utf8, true);
            let schema = Arc::new(Schema::new(vec![
                field("cluster", DataType::UInt64, false),
                text("id"),
                text("kept"),
                text("matched"),
                field("distance", DataType::UInt16, false),
                text("why"),
                text("kept_in"),
                field("jaccard", DataType::Float32, true),
            ]));
            let names: Vec<&str> =
                schema.fields().iter().map(|field| field.name().as_str()).collect();
            let mut notes = vec![("recipe", recipe.to_string())];
            notes.extend(k.map(|k| ("k", k.to_string())));
            notes.push(("columns", names.join(",")));
            let notes = notes.into_iter();
            let notes = notes.map(|(key, value)| KeyValue::new(format!("fpstore.{key}"), value));
            let properties = WriterProperties::builder()
                .set_compression(Compression::SNAPPY)
                .set_max_row_group_row_count(Some(GROUP_ROWS))
                .set_key_value_metadata(Some(notes.collect()))
                .build();
            let writer = ArrowWriter::try_new(file, schema.clone(), Some(properties));
            let writer = writer.map_err(|error| unwritten(path, error))?;
            Ok(Self {
                writer,
                path: path.to_path_buf(),
                schema,
                rows: 0,
                cluster: UInt64Builder::new(),
                texts: Default::default(),
                distance: UInt16Builder::new(),
                jaccard: Float32Builder::new(),
            })
        }

        pub fn row(&mut self, row: &Row<'_>) -> Result<(), Error> {
            let Row { cluster, id, kept, matched, distance, why, kept_in, jaccard } = *row;
            self.cluster.append_value(cluster);
            for (column, text) in self.texts.iter_mut().zip([id, kept, matched, why, kept_in]) {
                column.append_value(text);
            }
            self.distance.append_value(u16::try_from(distance).unwrap_or(u16::MAX));
            self.jaccard.append_option(jaccard);
            self.rows += 1;
            if self.rows >= BATCH_ROWS { self.pass_on() } else { Ok(()) }
        }

        fn pass_on(&mut self) -> Result<(), Error> {
            let [id, kept, matched, why, kept_in] =
                self.texts.each_mut().map(|column| Arc::new(column.finish()) as ArrayRef);
            let columns: Vec<ArrayRef> = vec![
                Arc::new(self.cluster.finish()),
                id,
                kept,
                matched,
                Arc::new(self.distance.finish()),
                why,
                kept_in,
                Arc::new(self.jaccard.finish()),
            ];
            self.rows = 0;
            let rows = RecordBatch::try_new(self.schema.clone(), columns).map_err(Into::into);
            let mut written = rows.and_then(|rows| self.writer.write(&rows));
            if written.is_ok() && self.writer.in_progress_size() > GROUP_BYTES {
                written = self.writer.flush();
            }
            written.map_err(|error| unwritten(&self.path, error))
        }

        pub fn finish(mut self) -> Result<(), Error> {
            self.pass_on()?;
            let finished = self.writer.finish();
            finished.map(drop).map_err(|error| unwritten(&self.path, error))
        }
    }

    fn unwritten(path: &Path, error: ParquetError) -> Error {
        failure(path, "write")(std::io::Error::other(error))
    }
}
