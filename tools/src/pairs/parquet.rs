//! Pairs as Parquet.

use std::fs::File;
use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringBuilder, UInt64Builder};
use arrow_array::{ArrayRef, RecordBatch, UInt8Array, UInt64Array};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

use crate::failure::Failure;
use crate::ids::IdPrinter;

/// Rows that are handed on together.
const BATCH_ROWS: usize = 1 << 13;
/// Values of ids at which that happens as well.
const BATCH_IDS: usize = 1 << 16;
/// Rows of a row group, which is in memory until it is whole, and bytes at which one ends before.
const GROUP_ROWS: usize = 1 << 17;
const GROUP_BYTES: usize = 8 << 20;

/// Writes pairs to a file of columns `a`, `b` (UInt64) and `distance` (UInt8), and with ids `a_ids`
/// and `b_ids`: lists of UInt64, or of strings where there are maps.
pub struct PairWriter<'a> {
    writer: ArrowWriter<File>,
    a: Vec<u64>,
    b: Vec<u64>,
    ids: Vec<(IdPrinter<'a>, IdColumn)>,
    id_count: usize,
}

/// The ids of one side.
enum IdColumn {
    Numbers(ListBuilder<UInt64Builder>),
    Strings(ListBuilder<StringBuilder>),
}

impl IdColumn {
    fn finish(&mut self) -> ArrayRef {
        match self {
            IdColumn::Numbers(lists) => Arc::new(lists.finish()),
            IdColumn::Strings(lists) => Arc::new(lists.finish()),
        }
    }
}

impl<'a> PairWriter<'a> {
    /// Starts the file; `ids` prints those of either side, if they are wanted.
    pub fn new(file: File, ids: Vec<IdPrinter<'a>>) -> Result<Self, Failure> {
        let column = |printer: &IdPrinter<'_>| match printer.has_strings() {
            true => IdColumn::Strings(ListBuilder::new(StringBuilder::new())),
            false => IdColumn::Numbers(ListBuilder::new(UInt64Builder::new())),
        };
        let mut ids: Vec<_> = ids.into_iter().map(|ids| (column(&ids), ids)).collect();
        let empty = batch(&[], &[], ids.iter_mut().map(|(column, _)| column.finish()))?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_max_row_group_row_count(Some(GROUP_ROWS))
            .build();
        let writer =
            ArrowWriter::try_new(file, empty.schema(), Some(properties)).map_err(failed)?;
        let ids = ids.into_iter().map(|(column, printer)| (printer, column)).collect();
        Ok(Self { writer, a: Vec::new(), b: Vec::new(), ids, id_count: 0 })
    }

    /// Writes a pair, sooner or later.
    pub fn push(&mut self, a: u64, b: u64) -> Result<(), Failure> {
        self.a.push(a);
        self.b.push(b);
        for ((printer, column), fingerprint) in self.ids.iter_mut().zip([a, b]) {
            let count = &mut self.id_count;
            match column {
                IdColumn::Numbers(lists) => {
                    printer.each(fingerprint, |id, _| {
                        *count += 1;
                        lists.values().append_value(id);
                        Ok(())
                    })?;
                    lists.append(true);
                }
                IdColumn::Strings(lists) => {
                    printer.each(fingerprint, |id, strings| {
                        *count += 1;
                        let string = strings.map_or(Ok(""), |strings| strings.string(id))?;
                        lists.values().append_value(string);
                        Ok(())
                    })?;
                    lists.append(true);
                }
            }
        }
        if self.a.len() >= BATCH_ROWS || self.id_count >= BATCH_IDS {
            self.pass_on()
        } else {
            Ok(())
        }
    }

    /// Bytes that were written to the file.
    pub fn written(&self) -> u64 {
        self.writer.bytes_written() as u64
    }

    fn pass_on(&mut self) -> Result<(), Failure> {
        let rows = batch(&self.a, &self.b, self.ids.iter_mut().map(|(_, ids)| ids.finish()))?;
        self.a.clear();
        self.b.clear();
        self.id_count = 0;
        self.writer.write(&rows).map_err(failed)?;
        if self.writer.in_progress_size() > GROUP_BYTES {
            self.writer.flush().map_err(failed)?;
        }
        Ok(())
    }

    /// Writes what is left, and the footer.
    pub fn finish(mut self) -> Result<u64, Failure> {
        self.pass_on()?;
        self.writer.finish().map_err(failed)?;
        Ok(self.written())
    }
}

fn batch(
    a: &[u64],
    b: &[u64],
    ids: impl Iterator<Item = ArrayRef>,
) -> Result<RecordBatch, Failure> {
    let distances = a.iter().zip(b).map(|(a, b)| super::distance(*a, *b) as u8);
    let columns: [(&str, ArrayRef); 3] = [
        ("a", Arc::new(UInt64Array::from(a.to_vec()))),
        ("b", Arc::new(UInt64Array::from(b.to_vec()))),
        ("distance", Arc::new(distances.collect::<UInt8Array>())),
    ];
    let columns = columns.into_iter().chain(["a_ids", "b_ids"].into_iter().zip(ids));
    let columns = columns.map(|(name, column)| (name, column, false));
    let rows = RecordBatch::try_from_iter_with_nullable(columns);
    rows.map_err(|error| failed(error.into()))
}

/// Only writing can fail.
fn failed(error: ParquetError) -> Failure {
    Failure::System(format!("--output parquet: cannot write: {error}; look at the disk"))
}
