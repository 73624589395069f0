//! Parquet files. Only the columns that are asked for are read, page by page. Sizes that the file
//! states are checked before anything is made as large ([`pages`], [`thrift`], [`delta`]).

mod delta;
mod pages;
mod thrift;

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema};
use parquet::arrow::arrow_reader::ParquetRecordBatchReader;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::arrow::{ProjectionMask, parquet_to_arrow_field_levels};
use parquet::basic::Compression;
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};

use crate::error::Problem;
use crate::format::Container;
use crate::guard::guarded;
use crate::rows::Want;
use crate::rows::arrays::{Batches, Chosen};
use crate::stream::Counter;

pub use pages::Groups;

/// What stands behind the footer: its length, and the mark of the format.
const TAIL_BYTES: u64 = 8;
/// Rows that are taken in one piece: fewer where they are so long that they come to more than the
/// bytes, and hardly fewer than the least.
const PIECE_ROWS: usize = 8192;
const LEAST_ROWS: usize = 16;
const PIECE_BYTES: u64 = 4 << 20;
/// What a page has at most, where its column has more: usual writers end a page after 1 MiB.
const PAGE_BYTES: u64 = 2 << 20;

/// Reads columns of a file.
pub struct ParquetReader {
    batches: ParquetRecordBatchReader,
    /// What the footer says.
    metadata: Arc<ParquetMetaData>,
    /// Rows that were read, and all that there are.
    rows: u64,
    all_rows: u64,
    /// Bytes of the file.
    length: u64,
    counter: Counter,
    buffer_bytes: u64,
}

impl ParquetReader {
    /// Reads the footer, and chooses the columns. A page may take so much memory; how far reading
    /// has come is told by rows, since pages are read here and there in the file.
    pub fn open(
        mut file: File,
        memory: u64,
        wants: &[Want],
        counter: Counter,
    ) -> Result<(Self, Chosen), Problem> {
        let length = file.metadata().map_err(|error| Problem::Read(0, error))?.len();
        check_footer(&mut file, length).map_err(|error| damaged(0, error.to_string()))?;
        // Types are those of Parquet alone: what Arrow notes beside them is a message of its own.
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let footer = or_damaged(guarded(|| ArrowReaderMetadata::load(&file, options)), 0)?;
        let metadata = footer.metadata().clone();
        let all_rows = u64::try_from(metadata.file_metadata().num_rows()).unwrap_or(0);
        let fields: Fields = footer.schema().fields().iter().map(with_views).collect();
        let chosen = Chosen::new(&Schema::new(fields.clone()), wants).map_err(Problem::Column)?;
        check_compression(&metadata, &chosen.columns)?;
        let groups = Groups::new(file, metadata.clone(), memory);
        let rows = piece_rows(&metadata, &chosen.columns);
        let build = || {
            let mask = ProjectionMask::roots(footer.parquet_schema(), chosen.columns.clone());
            let parquet = footer.parquet_schema();
            let levels = parquet_to_arrow_field_levels(parquet, mask, Some(&fields))?;
            ParquetRecordBatchReader::try_new_with_row_groups(&levels, &groups, rows, None)
        };
        let batches = or_damaged(guarded(build), 0)?;
        let buffer_bytes = buffer_bytes(&metadata, &chosen.columns);
        let reader = Self { batches, metadata, rows: 0, all_rows, length, counter, buffer_bytes };
        Ok((reader, chosen))
    }
}

impl Batches for ParquetReader {
    fn next(&mut self) -> Result<Option<RecordBatch>, Problem> {
        let batches = &mut self.batches;
        let batch = or_damaged(guarded(|| batches.next().transpose()), self.rows)?;
        match &batch {
            Some(batch) => self.rows += batch.num_rows() as u64,
            None if self.rows != self.all_rows => {
                let cause = format!("{} rows instead of {}", self.rows, self.all_rows);
                return Err(damaged(0, cause));
            }
            None => {}
        }
        let share = (self.rows as f64 / self.all_rows.max(1) as f64).min(1.0);
        let bytes = if batch.is_some() { (self.length as f64 * share) as u64 } else { self.length };
        self.counter.reach(bytes);
        Ok(batch)
    }

    fn records(&self) -> Option<u64> {
        Some(self.all_rows)
    }

    fn note(&self, name: &str) -> Option<String> {
        let notes = self.metadata.file_metadata().key_value_metadata()?;
        let key = |key: &str| key.strip_prefix("fpstore.") == Some(name);
        notes.iter().find(|note| key(&note.key))?.value.clone()
    }

    fn buffer_bytes(&self) -> u64 {
        self.buffer_bytes
    }
}

/// Checks what the footer says of the schema, which its reader follows by recursion.
fn check_footer(file: &mut File, length: u64) -> io::Result<()> {
    let fail = |what: &str| Err(io::Error::new(io::ErrorKind::InvalidData, what));
    let Some(end) = length.checked_sub(TAIL_BYTES) else { return fail("it has no footer") };
    let mut tail = [0; TAIL_BYTES as usize];
    file.seek(SeekFrom::Start(end))?;
    file.read_exact(&mut tail)?;
    let [bytes, mark] = tail.as_chunks::<4>().0 else { return fail("it has no footer") };
    let bytes = u64::from(u32::from_le_bytes(*bytes));
    match end.checked_sub(bytes) {
        _ if mark != b"PAR1" => fail("it does not end as it should"),
        None => fail(&format!("a footer of {bytes} bytes, in a file of {length}")),
        Some(start) => {
            file.seek(SeekFrom::Start(start))?;
            thrift::check_footer(BufReader::new(file).take(bytes))
        }
    }
}

/// Texts and bytes as views, so that a value which many rows share is in memory once.
fn with_views(field: &FieldRef) -> FieldRef {
    let view = match field.data_type() {
        DataType::Utf8 | DataType::LargeUtf8 => DataType::Utf8View,
        DataType::Binary | DataType::LargeBinary => DataType::BinaryView,
        DataType::List(item) => DataType::List(with_views(item)),
        _ => return field.clone(),
    };
    Arc::new(Field::clone(field).with_data_type(view))
}

/// The bytes of these columns in a group of rows, each column by itself.
fn column_bytes(group: &RowGroupMetaData, columns: &[usize]) -> impl Iterator<Item = u64> {
    let leaves = group.columns().iter().enumerate();
    let root = |leaf: usize| group.schema_descr().get_column_root_idx(leaf);
    let read = leaves.filter(move |(leaf, _)| columns.contains(&root(*leaf)));
    read.map(|(_, column)| u64::try_from(column.uncompressed_size()).unwrap_or(0))
}

/// Rows of a piece, by how long those of the longest group are.
fn piece_rows(metadata: &ParquetMetaData, columns: &[usize]) -> usize {
    let mean = |group: &RowGroupMetaData| {
        let bytes = column_bytes(group, columns).fold(0, u64::saturating_add);
        bytes / u64::try_from(group.num_rows()).unwrap_or(0).max(1)
    };
    let mean = metadata.row_groups().iter().map(mean).max().unwrap_or(0);
    usize::try_from(PIECE_BYTES / mean.max(1)).unwrap_or(0).clamp(LEAST_ROWS, PIECE_ROWS)
}

/// Bytes that a reader of these columns takes: the metadata; and of each column, in the group of
/// rows where it is most, a page of the dictionary, and a page of data, compressed and not.
fn buffer_bytes(metadata: &ParquetMetaData, columns: &[usize]) -> u64 {
    let bytes_of = |group: &RowGroupMetaData| -> u64 {
        column_bytes(group, columns).map(|bytes| 3 * bytes.min(PAGE_BYTES)).sum()
    };
    let most = metadata.row_groups().iter().map(bytes_of).max().unwrap_or(0);
    most + metadata.memory_size() as u64
}

/// Fails if a column of those at these places is compressed in a way that is not read.
fn check_compression(metadata: &ParquetMetaData, places: &[usize]) -> Result<(), Problem> {
    let schema = metadata.file_metadata().schema_descr();
    for (number, column) in
        metadata.row_groups().iter().flat_map(|group| group.columns().iter().enumerate())
    {
        let name = match column.compression() {
            Compression::BROTLI(_) => "Brotli",
            Compression::LZO => "LZO",
            _ => continue,
        };
        if number < schema.num_columns() && places.contains(&schema.get_column_root_idx(number)) {
            let column = column.column_path();
            return Err(Problem::Header(
                Container::Parquet,
                format!(
                    "{column} is compressed by {name}, which is not read; write it again with ZSTD"
                ),
            ));
        }
    }
    Ok(())
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
