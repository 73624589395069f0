//! Rows of Parquet.

use std::borrow::Cow;
use std::fs::File;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use fpstore_records::{ColumnProblem, Counter, ParquetColumns, Problem, RecordProblem, integer};

use super::piece::{Document, Piece, Records, Source};
use super::reader::Wanted;
use crate::failure::Failure;

/// The places of the wanted columns in a batch.
pub struct RowColumns {
    text: usize,
    id: Option<usize>,
    extra: Option<usize>,
}

/// Reads the wanted columns.
pub struct Rows {
    columns: ParquetColumns,
    /// The number of the next row, from 1 on.
    next: u64,
    bytes: u64,
    counter: Counter,
}

impl Rows {
    /// Reads the footer.
    pub fn open(
        file: File,
        source: &Source,
        memory: u64,
        counter: Counter,
    ) -> Result<(Self, RowColumns), Failure> {
        let Wanted { text, id, extra } = &source.wanted;
        let names: Vec<&str> = [Some(text), id.as_ref(), extra.as_ref()]
            .into_iter()
            .flatten()
            .map(String::as_str)
            .collect();
        let bytes =
            file.metadata().map_err(|error| source.origin.error(Problem::Read(0, error)))?.len();
        let columns = ParquetColumns::open(&source.path, file, &names, memory)?;
        let schema = columns.schema();
        let error = |problem| source.origin.error(Problem::Column(problem));
        let place = |name: &String| {
            let missing = |_| {
                error(ColumnProblem::Missing {
                    name: name.clone(),
                    there: columns.names().to_vec(),
                })
            };
            schema.index_of(name).map_err(missing)
        };
        let of_type = |place: usize, fits: fn(&DataType) -> bool, wanted: &str| {
            let field = schema.field(place);
            let (name, found) = (field.name().clone(), field.data_type().to_string());
            match fits(field.data_type()) {
                true => Ok(place),
                false => Err(error(ColumnProblem::Type { name, found, wanted: wanted.into() })),
            }
        };
        let text = of_type(place(text)?, is_text, "strings")?;
        let id = id.as_ref().map(|id| of_type(place(id)?, is_id, "strings or whole numbers"));
        let extra =
            extra.as_ref().map(|name| of_type(place(name)?, is_value, "strings or numbers"));
        let chosen = RowColumns { text, id: id.transpose()?, extra: extra.transpose()? };
        Ok((Self { columns, next: 1, bytes, counter }, chosen))
    }

    /// The next rows.
    pub fn next(&mut self, source: &Arc<Source>) -> Result<Option<Piece>, Failure> {
        loop {
            let Some(batch) = self.columns.next_batch()? else {
                self.counter.reach(self.bytes);
                return Ok(None);
            };
            self.counter.reach((self.bytes as f64 * self.columns.share()) as u64);
            if batch.num_rows() > 0 {
                let first = self.next;
                self.next += batch.num_rows() as u64;
                return Ok(Some(Piece::new(source.clone(), Records::Rows { batch, first })));
            }
        }
    }
}

fn is_text(of: &DataType) -> bool {
    matches!(of, DataType::Utf8View | DataType::BinaryView)
}

fn is_id(of: &DataType) -> bool {
    of.is_integer() || *of == DataType::Utf8View
}

fn is_value(of: &DataType) -> bool {
    is_id(of) || matches!(of, DataType::Float32 | DataType::Float64 | DataType::Boolean)
}

/// The document of a row; `place` is the id of one that has none.
pub fn row<'a>(
    batch: &'a RecordBatch,
    index: usize,
    columns: &RowColumns,
    wanted: &Wanted,
    place: impl FnOnce() -> String,
) -> Result<Document<'a>, RecordProblem> {
    let text = batch.column(columns.text);
    let text = match text.data_type() {
        _ if text.is_null(index) => &[][..],
        DataType::Utf8View => text.as_string_view().value(index).as_bytes(),
        _ => text.as_binary_view().value(index),
    };
    let id = match (columns.id, &wanted.id) {
        (Some(column), Some(name)) => {
            let id = value(batch, column, index);
            id.ok_or_else(|| RecordProblem::Null { column: name.clone() })?
        }
        _ => Cow::Owned(place()),
    };
    let extra = columns.extra.and_then(|column| value(batch, column, index));
    Ok(Document { text: Cow::Borrowed(text), id, extra })
}

/// A value as it is printed; `None` for a null.
fn value(batch: &RecordBatch, column: usize, index: usize) -> Option<Cow<'_, str>> {
    let column = batch.column(column);
    if column.is_null(index) {
        return None;
    }
    Some(match column.data_type() {
        DataType::Utf8View => Cow::Borrowed(column.as_string_view().value(index)),
        DataType::Float32 => column.as_primitive::<Float32Type>().value(index).to_string().into(),
        DataType::Float64 => column.as_primitive::<Float64Type>().value(index).to_string().into(),
        DataType::Boolean => column.as_boolean().value(index).to_string().into(),
        _ => integer(column, index)?.to_string().into(),
    })
}
