//! Writes some rows of a file of Parquet again, with the same schema.

use std::fs::File;
use std::path::Path;

use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReaderBuilder, RowSelection, RowSelector};
use parquet::basic::Compression;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::properties::WriterProperties;

use super::inputs::Input;
use crate::failure::Failure;
use crate::input::{Container, Origin, Problem, guarded};
use crate::target::failure;

/// Rows that are in memory together, and bytes of them, by the mean of their group.
const BATCH_ROWS: u64 = 1024;
const BATCH_BYTES: u64 = 4 << 20;
/// Bytes at which a group of rows that is written ends, where those of the input are larger.
const GROUP_BYTES: usize = 64 << 20;
/// What Arrow notes of the schema, which is noted again.
const ARROW_SCHEMA: &str = "ARROW:schema";

/// Writes those rows of `input` for which `keeps` holds, each asked once, in order. Groups of rows stay groups, in the compression of
/// each column; what is noted about the file stays.
pub fn copy_rows(
    input: &Input,
    to: File,
    path: &Path,
    mut keeps: impl FnMut() -> bool,
) -> Result<File, Failure> {
    let origin = Origin::File(input.path.clone());
    let damaged = |cause: String| origin.error(Problem::Damaged(Container::Parquet, cause));
    let unwritten =
        |error: parquet::errors::ParquetError| failure(path, "write")(std::io::Error::other(error));
    let open = || File::open(&input.path).map_err(|error| origin.error(Problem::Open(error)));
    let builder = guarded(|| {
        ParquetRecordBatchReaderBuilder::try_new(open()?)
            .map_err(|error| origin.error(Problem::Damaged(Container::Parquet, error.to_string())))
    });
    let builder = builder.map_err(damaged)??;
    let (schema, metadata) = (builder.schema().clone(), builder.metadata().clone());
    let arrow = parquet::arrow::arrow_reader::ArrowReaderMetadata::try_new(
        metadata.clone(),
        Default::default(),
    )
    .map_err(|error| damaged(error.to_string()))?;
    let mut writer =
        ArrowWriter::try_new(to, schema, Some(properties(&metadata))).map_err(unwritten)?;
    for (number, group) in metadata.row_groups().iter().enumerate() {
        let rows = u64::try_from(group.num_rows()).unwrap_or(0);
        let selection = selection(rows, &mut keeps);
        if !selection.selects_any() {
            continue;
        }
        let bytes = u64::try_from(group.total_byte_size()).unwrap_or(0);
        let batch = (BATCH_BYTES / (bytes / rows.max(1)).max(1)).clamp(1, BATCH_ROWS);
        let batches = guarded(|| {
            ParquetRecordBatchReaderBuilder::new_with_metadata(open()?, arrow.clone())
                .with_row_groups(vec![number])
                .with_row_selection(selection)
                .with_batch_size(batch as usize)
                .build()
                .map_err(|error| {
                    origin.error(Problem::Damaged(Container::Parquet, error.to_string()))
                })
        });
        let mut batches = batches.map_err(damaged)??;
        while let Some(batch) = guarded(|| batches.next()).map_err(damaged)? {
            let batch = batch.map_err(|error| damaged(error.to_string()))?;
            writer.write(&batch).map_err(unwritten)?;
            if writer.in_progress_size() > GROUP_BYTES {
                writer.flush().map_err(unwritten)?;
            }
        }
        writer.flush().map_err(unwritten)?;
    }
    writer.into_inner().map_err(unwritten)
}

/// Which rows of a group are kept, in runs.
fn selection(rows: u64, keeps: &mut impl FnMut() -> bool) -> RowSelection {
    let mut runs: Vec<RowSelector> = Vec::new();
    for _ in 0..rows {
        let skip = !keeps();
        match runs.last_mut().filter(|run| run.skip == skip) {
            Some(run) => run.row_count += 1,
            None => runs.push(RowSelector { row_count: 1, skip }),
        }
    }
    runs.into()
}

/// How the input was written, as far as it tells.
fn properties(metadata: &ParquetMetaData) -> WriterProperties {
    let mut properties = WriterProperties::builder();
    for column in metadata.row_groups().first().map_or(&[][..], |group| group.columns()) {
        let compression = match column.compression() {
            // There is no writer for these here.
            Compression::BROTLI(_) | Compression::LZO => Compression::ZSTD(Default::default()),
            compression => compression,
        };
        properties = properties.set_column_compression(column.column_path().clone(), compression);
    }
    let noted = metadata.file_metadata().key_value_metadata().cloned().unwrap_or_default();
    let noted = noted.into_iter().filter(|note| note.key != ARROW_SCHEMA).collect();
    properties.set_key_value_metadata(Some(noted)).build()
}
