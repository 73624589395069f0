//! Writes some rows of a file of Parquet again, with the same schema.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::{StringBuilder, UInt16Builder, UInt64Builder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use fpstore_records::{Container, Groups, Origin, Problem, guarded};
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, RowSelection, RowSelector,
};
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::arrow::{
    ARROW_SCHEMA_META_KEY, ArrowSchemaConverter, ArrowWriter, ProjectionMask, encode_arrow_schema,
    parquet_to_arrow_field_levels, parquet_to_arrow_schema,
};
use parquet::basic::Compression;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::properties::WriterProperties;
use parquet::schema::types::{SchemaDescriptor, Type};

use super::annotate::{Annotation, Further};
use super::inputs::Input;
use super::int96;
use crate::error::Error;
use crate::error::failure;

/// Rows that are in memory together, and bytes of them, by the mean of their group.
const BATCH_ROWS: u64 = 1024;
const BATCH_BYTES: u64 = 4 << 20;
/// Bytes at which a group of rows that is written ends, where those of the input are larger.
const GROUP_BYTES: usize = 64 << 20;

/// Writes those rows of `input` for which `keeps` holds, each asked once, in order, with further
/// columns where these are wanted. Groups of rows stay groups, in the compression of each column;
/// what is noted about the file stays. Pages may take so many bytes of `memory` as where texts are
/// read.
pub fn copy_rows(
    input: &Input,
    memory: u64,
    to: File,
    path: &Path,
    mut keeps: impl FnMut() -> bool,
    further: Option<&mut Further<'_>>,
) -> Result<File, Error> {
    let names = further.as_ref().map_or(&[][..], |further| further.names);
    let mut next = further.map(|further| &mut *further.next);
    let origin = Origin::File(input.path.clone());
    let damaged = |cause: String| origin.error(Problem::Damaged(Container::Parquet, cause));
    let unwritten =
        |error: parquet::errors::ParquetError| failure(path, "write")(std::io::Error::other(error));
    let open = || File::open(&input.path).map_err(|error| origin.error(Problem::Open(error)));
    // As the file has them, and not as Arrow had them before, which its note tells: seconds are
    // milliseconds there.
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let file = open()?;
    let arrow = guarded(|| ArrowReaderMetadata::load(&file, options.clone()));
    let arrow = arrow.map_err(damaged)?.map_err(|error| damaged(error.to_string()))?;
    let metadata = arrow.metadata().clone();
    let groups = Groups::to_copy(file, metadata.clone(), memory);
    let times =
        guarded(|| int96::in_microseconds(&groups).map_err(|error| damaged(error.to_string())));
    let columns = times.map_err(damaged)??.map_err(|column| {
        let what = format!(
            "\"{column}\" has times of 96 bits that neither microseconds nor nanoseconds hold; write \
             it as TIMESTAMP(MICROS)"
        );
        origin.error(Problem::Header(Container::Parquet, what))
    })?;
    let arrow = match columns.is_empty() {
        true => arrow,
        false => {
            let schema = int96::with_microseconds(arrow.schema(), &columns);
            ArrowReaderMetadata::try_new(metadata.clone(), options.with_schema(schema))
                .map_err(|error| damaged(error.to_string()))?
        }
    };
    let levels = parquet_to_arrow_field_levels(
        metadata.file_metadata().schema_descr(),
        ProjectionMask::all(),
        Some(arrow.schema().fields()),
    );
    let levels = levels.map_err(|error| damaged(error.to_string()))?;
    let whole = with_columns(arrow.schema(), names);
    let schema = written_schema(&arrow, &whole).map_err(|error| damaged(error.to_string()))?;
    let options = ArrowWriterOptions::new()
        .with_properties(properties(&metadata, names))
        .with_parquet_schema(schema)
        .with_skip_arrow_metadata(true);
    let writer = ArrowWriter::try_new_with_options(to, whole.clone(), options);
    let mut writer = writer.map_err(unwritten)?;
    for (number, group) in metadata.row_groups().iter().enumerate() {
        let rows = u64::try_from(group.num_rows()).unwrap_or(0);
        let selection = selection(rows, &mut keeps);
        if !selection.selects_any() {
            continue;
        }
        let bytes = u64::try_from(group.total_byte_size()).unwrap_or(0);
        let batch = (BATCH_BYTES / (bytes / rows.max(1)).max(1)).clamp(1, BATCH_ROWS);
        let (group, batch) = (groups.only(number), batch as usize);
        let batches = guarded(|| {
            ParquetRecordBatchReader::try_new_with_row_groups(
                &levels,
                &group,
                batch,
                Some(selection),
            )
        });
        let mut batches = batches.map_err(damaged)?.map_err(|error| damaged(error.to_string()))?;
        while let Some(batch) = guarded(|| batches.next()).map_err(damaged)? {
            let mut batch = batch.map_err(|error| damaged(error.to_string()))?;
            if let Some(next) = &mut next {
                let rows: Result<Vec<Annotation>, Error> =
                    (0..batch.num_rows()).map(|_| next()).collect();
                let columns = batch.columns().iter().cloned().chain(annotations(&rows?));
                let annotated = RecordBatch::try_new(whole.clone(), columns.collect());
                batch = annotated.map_err(|error| damaged(error.to_string()))?;
            }
            writer.write(&batch).map_err(unwritten)?;
            if writer.in_progress_size() > GROUP_BYTES {
                writer.flush().map_err(unwritten)?;
            }
        }
        writer.flush().map_err(unwritten)?;
    }
    writer.into_inner().map_err(unwritten)
}

/// A schema with the columns of annotations behind its own, where these have names.
fn with_columns(schema: &SchemaRef, names: &[String]) -> SchemaRef {
    let kinds =
        [DataType::UInt64, DataType::UInt64, DataType::Utf8, DataType::UInt16, DataType::Utf8];
    let columns = names.iter().zip(kinds);
    let columns = columns.map(|(name, kind)| Arc::new(Field::new(name, kind, false)));
    let fields: Vec<_> = schema.fields().iter().cloned().chain(columns).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// The columns of annotations.
fn annotations(rows: &[Annotation]) -> [ArrayRef; 5] {
    let (mut cluster, mut size) = (UInt64Builder::new(), UInt64Builder::new());
    let (mut kept, mut why) = (StringBuilder::new(), StringBuilder::new());
    let mut distance = UInt16Builder::new();
    for row in rows {
        cluster.append_value(row.cluster);
        size.append_value(row.cluster_size);
        kept.append_value(&row.kept);
        distance.append_value(u16::try_from(row.distance).unwrap_or(u16::MAX));
        why.append_value(row.why);
    }
    [
        Arc::new(cluster.finish()),
        Arc::new(size.finish()),
        Arc::new(kept.finish()),
        Arc::new(distance.finish()),
        Arc::new(why.finish()),
    ]
}

/// The schema of the file, with its UUIDs, JSON, times in UTC or not, and numbers of fields. Only
/// columns whose values are kept in another way here have a type that is made for them: times of 96
/// bits, and short decimals in bytes. Columns of `whole` behind those of the file follow.
fn written_schema(
    arrow: &ArrowReaderMetadata,
    whole: &Schema,
) -> parquet::errors::Result<SchemaDescriptor> {
    let file = arrow.metadata().file_metadata().schema_descr();
    let own = ArrowSchemaConverter::new().convert(whole)?;
    let added = whole.fields().len().saturating_sub(arrow.schema().fields().len());
    if file.num_columns() + added != own.num_columns() {
        return Ok(own);
    }
    let is_alike = |column: usize| {
        let (a, b) = (file.column(column), own.column(column));
        a.physical_type() == b.physical_type()
            && a.type_length() == b.type_length()
            && a.max_def_level() == b.max_def_level()
            && a.max_rep_level() == b.max_rep_level()
    };
    let mut fields = file.root_schema().get_fields().to_vec();
    for column in (0..file.num_columns()).filter(|&column| !is_alike(column)) {
        let root = file.get_column_root_idx(column);
        fields[root] = own.root_schema().get_fields()[root].clone();
    }
    fields.extend(own.root_schema().get_fields().iter().skip(fields.len()).cloned());
    let root = Type::group_type_builder(file.root_schema().name()).with_fields(fields).build()?;
    Ok(SchemaDescriptor::new(Arc::new(root)))
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

/// How the input was written, as far as it tells, with columns of these names more.
fn properties(metadata: &ParquetMetaData, names: &[String]) -> WriterProperties {
    let mut properties = WriterProperties::builder();
    for column in metadata.row_groups().first().map_or(&[][..], |group| group.columns()) {
        let compression = match column.compression() {
            // There is no writer for these here.
            Compression::BROTLI(_) | Compression::LZO => Compression::ZSTD(Default::default()),
            compression => compression,
        };
        properties = properties.set_column_compression(column.column_path().clone(), compression);
    }
    let file = metadata.file_metadata();
    let mut noted = file.key_value_metadata().cloned().unwrap_or_default();
    if !names.is_empty() {
        // What Arrow notes of the columns has to go with them.
        let schema = parquet_to_arrow_schema(file.schema_descr(), file.key_value_metadata());
        let schema =
            schema.map(|schema| encode_arrow_schema(&with_columns(&Arc::new(schema), names)));
        noted.retain(|note| note.key != ARROW_SCHEMA_META_KEY || schema.is_ok());
        for note in noted.iter_mut().filter(|note| note.key == ARROW_SCHEMA_META_KEY) {
            note.value = schema.as_ref().ok().cloned();
        }
    }
    properties.set_key_value_metadata(Some(noted)).build()
}
