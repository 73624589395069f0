//! Parquet files. Only the columns that are asked for are read, page by page.

use std::fs::File;

use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};

use crate::input::batch::BatchColumns;
use crate::input::error::Problem;
use crate::input::format::Container;
use crate::input::guard::guarded;
use crate::input::reader::{Reader, Sink, Wishes};
use crate::input::stream::Counter;

/// Rows that are taken in one piece.
const PIECE_ROWS: usize = 8192;
/// What a page has at most, where its column has more: usual writers end a page after 1 MiB.
const PAGE_BYTES: u64 = 2 << 20;

/// Reads rows.
pub struct ParquetReader {
    batches: ParquetRecordBatchReader,
    columns: BatchColumns,
    /// Rows that were read, and all that there are.
    rows: u64,
    all_rows: u64,
    length: u64,
    counter: Counter,
    buffer_bytes: u64,
}

impl ParquetReader {
    /// Reads the footer, and chooses the columns.
    pub fn new(file: File, wishes: &Wishes, counter: Counter) -> Result<Self, Problem> {
        let length = file.metadata().map_err(|error| Problem::Read(0, error))?.len();
        let builder = or_damaged(guarded(|| ParquetRecordBatchReaderBuilder::try_new(file)), 0)?;
        let all_rows = u64::try_from(builder.metadata().file_metadata().num_rows()).unwrap_or(0);
        let columns = BatchColumns::new(builder.schema(), wishes).map_err(Problem::Column)?;
        let buffer_bytes = buffer_bytes(builder.metadata(), &columns.indexes());
        let mask = ProjectionMask::roots(builder.parquet_schema(), columns.indexes());
        let builder = builder.with_projection(mask).with_batch_size(PIECE_ROWS);
        let batches = or_damaged(guarded(|| builder.build()), 0)?;
        let columns = columns.projected();
        Ok(Self { batches, columns, rows: 0, all_rows, length, counter, buffer_bytes })
    }
}

/// Bytes that a reader of these columns takes: the metadata; and of each column, in the group of
/// rows where it is most, a page of the dictionary, and a page of data, compressed and not.
fn buffer_bytes(metadata: &ParquetMetaData, columns: &[usize]) -> u64 {
    let bytes_of = |group: &RowGroupMetaData| -> u64 {
        let leaves = group.columns().iter().enumerate();
        let root = |leaf: usize| group.schema_descr().get_column_root_idx(leaf);
        let read = leaves.filter(|(leaf, _)| columns.contains(&root(*leaf)));
        let bytes = read.map(|(_, column)| u64::try_from(column.uncompressed_size()).unwrap_or(0));
        bytes.map(|bytes| 3 * bytes.min(PAGE_BYTES)).sum()
    };
    let most = metadata.row_groups().iter().map(bytes_of).max().unwrap_or(0);
    most + metadata.memory_size() as u64
}

impl Reader for ParquetReader {
    fn records(&self) -> Option<u64> {
        Some(self.all_rows)
    }

    fn buffer_bytes(&self) -> u64 {
        self.buffer_bytes
    }

    fn read(&mut self, to: &mut Sink<'_>) -> Result<bool, Problem> {
        let batches = &mut self.batches;
        let Some(batch) = or_damaged(guarded(|| batches.next().transpose()), self.rows)? else {
            self.counter.reach(self.length);
            if self.rows != self.all_rows {
                let cause = format!("{} rows instead of {}", self.rows, self.all_rows);
                return Err(damaged(0, cause));
            }
            return Ok(false);
        };
        let columns = &mut self.columns;
        match guarded(|| columns.append(&batch, to)) {
            Ok(appended) => appended?,
            Err(cause) => return Err(damaged(self.rows, cause)),
        }
        self.rows += batch.num_rows() as u64;
        // Pages are read here and there in the file; rows tell better how far it is.
        let part = self.rows as f64 / self.all_rows.max(1) as f64;
        self.counter.reach((self.length as f64 * part.min(1.0)) as u64);
        Ok(true)
    }
}

fn or_damaged<T, E: std::fmt::Display>(
    result: Result<Result<T, E>, String>,
    rows: u64,
) -> Result<T, Problem> {
    match result {
        Ok(result) => result.map_err(|error| damaged(rows, error.to_string())),
        Err(cause) => Err(damaged(rows, cause)),
    }
}

fn damaged(rows: u64, cause: String) -> Problem {
    let cause = match rows {
        0 => cause,
        _ => format!("after row {rows}: {cause}"),
    };
    Problem::Damaged(Container::Parquet, cause)
}
