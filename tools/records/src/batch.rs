//! Record batches of Arrow, as they come from IPC and from Parquet.

use std::any::Any;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int8Type, Int16Type, Int32Type, Int64Type};
use arrow_array::types::{UInt8Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Schema};
use fpstore::Fingerprint;

use crate::column::TextColumn;
use crate::error::{ColumnProblem, Problem, RecordProblem};
use crate::options::Options;
use crate::reader::{ByteOrder, IdKind, IdWish, Sink, choose_column, text_id};
use crate::records::Id;
use crate::token::{signed, unsigned};

const WANTED_ID: &str = "integers or strings";

/// The columns that are read, by their place in the schema.
pub struct BatchColumns {
    fingerprint: usize,
    texts: TextColumn,
    byte_order: ByteOrder,
    id: Option<(usize, IdWish)>,
}

/// Rows and bytes of ids that are taken in one piece: a value that many rows share may be long.
const PIECE_ROWS: usize = 1 << 16;
const PIECE_BYTES: usize = 1 << 22;

/// A batch that is taken piece by piece.
#[derive(Default)]
pub struct Pieces {
    batch: Option<RecordBatch>,
    /// Rows that were taken.
    taken: usize,
}

/// An id, of which a number that must be a text is kept in digits.
enum OwnedId<'a> {
    Number(u64),
    Text(&'a str),
    Digits(String),
}

impl Pieces {
    /// All rows of a batch.
    pub fn of(batch: RecordBatch) -> Self {
        Self { batch: Some(batch), taken: 0 }
    }

    /// Whether no row is left.
    pub fn is_empty(&self) -> bool {
        self.batch.is_none()
    }

    /// Appends the records of the next rows; gives how many rows these are.
    pub fn append<F: Fingerprint>(
        &mut self,
        columns: &mut BatchColumns,
        to: &mut Sink<'_, F>,
    ) -> Result<usize, Problem> {
        let Some(batch) = &self.batch else { return Ok(0) };
        let from = self.taken;
        self.taken = columns.append(batch, from, to)?;
        if self.taken == batch.num_rows() {
            self.batch = None;
        }
        Ok(self.taken - from)
    }
}

impl BatchColumns {
    /// Chooses the columns; fingerprints have so many bits.
    pub fn new(schema: &Schema, options: &Options, bits: u32) -> Result<Self, ColumnProblem> {
        let names = || schema.fields().iter().map(|field| field.name().as_str());
        let fingerprint = choose_column(options.column.as_deref(), names())?;
        let refused = |index: usize, wanted: String| {
            let field = schema.field(index);
            let (name, found) = (field.name().clone(), field.data_type().to_string());
            ColumnProblem::Type { name, found, wanted }
        };
        match bits_of(schema.field(fingerprint).data_type()) {
            Some(Some(found)) if found != bits => {
                let name = schema.field(fingerprint).name().clone();
                return Err(ColumnProblem::Width { name, found, wanted: bits });
            }
            Some(_) => {}
            None => return Err(refused(fingerprint, wanted(bits))),
        }
        let id = match &options.ids {
            None => None,
            Some(wish) => {
                let index = choose_column(Some(&wish.column), names())?;
                if !is_ids(schema.field(index).data_type()) {
                    return Err(refused(index, WANTED_ID.to_string()));
                }
                Some((index, wish.clone()))
            }
        };
        Ok(Self {
            fingerprint,
            texts: TextColumn::new(schema.field(fingerprint).name(), options.digits),
            byte_order: options.bytes(),
            id,
        })
    }

    /// The place of the fingerprints.
    pub fn fingerprint(&self) -> usize {
        self.fingerprint
    }

    /// The places of the columns, ascending.
    pub fn indexes(&self) -> Vec<usize> {
        let mut indexes: Vec<usize> =
            self.id.iter().map(|(index, _)| *index).chain([self.fingerprint]).collect();
        indexes.sort_unstable();
        indexes.dedup();
        indexes
    }

    /// The same columns where only they are left of the schema.
    pub fn projected(mut self) -> Self {
        let indexes = self.indexes();
        let place = |index: usize| indexes.iter().position(|&i| i == index).unwrap_or(0);
        self.fingerprint = place(self.fingerprint);
        if let Some((index, _)) = &mut self.id {
            *index = place(*index);
        }
        self
    }

    /// Appends the records of a batch from row `from` on; gives the row up to which it came.
    fn append<F: Fingerprint>(
        &mut self,
        batch: &RecordBatch,
        from: usize,
        to: &mut Sink<'_, F>,
    ) -> Result<usize, Problem> {
        let array = batch.column(self.fingerprint).as_ref();
        let end = array.len().min(from.saturating_add(PIECE_ROWS));
        let fingerprints: &mut dyn Any = &mut to.records.fingerprints;
        if let Some(fingerprints) = fingerprints.downcast_mut::<Vec<u64>>()
            && self.id.is_none()
            && array.logical_null_count() == 0
        {
            // Whole columns of integers are copied.
            if let Some(array) = array.as_primitive_opt::<UInt64Type>() {
                fingerprints.extend_from_slice(&array.values()[from..end]);
                return Ok(end);
            }
            if let Some(array) = array.as_primitive_opt::<Int64Type>() {
                fingerprints.extend(array.values()[from..end].iter().map(|&x| x as u64));
                return Ok(end);
            }
        }
        let (keys, values) = match array.as_any_dictionary_opt() {
            Some(dictionary) => (Some(dictionary.keys()), dictionary.values().as_ref()),
            None => (None, array),
        };
        // Keys were checked when the array was made; only those of nulls lead nowhere.
        let place = |row: usize| match keys {
            Some(keys) => integer(keys, row).and_then(|key| key.try_into().ok()).unwrap_or(0),
            None => row,
        };
        if !self.texts.is_judged() {
            let first = to.row();
            let texts = (from..end).filter(|&row| array.is_valid(row)).filter_map(|row| {
                Some((first.behind(row - from), text(values, place(row))?.as_bytes()))
            });
            self.texts.judge::<F>(texts)?;
        }
        let ids_before = to.records.ids.bytes();
        for row in from..end {
            if to.records.ids.bytes() - ids_before > PIECE_BYTES {
                return Ok(row);
            }
            let at = to.row();
            let record = self.fingerprint_of(array, values, row, place).and_then(|fingerprint| {
                let id = self
                    .id
                    .as_ref()
                    .map(|(index, wish)| id(batch.column(*index).as_ref(), row, wish));
                Ok((fingerprint, id.transpose()?))
            });
            match record {
                Ok((fingerprint, id)) => to.push(fingerprint, id.as_ref().map(OwnedId::borrow)),
                Err(problem) => to.fault(Problem::Record(at, problem))?,
            }
        }
        Ok(end)
    }

    fn fingerprint_of<F: Fingerprint>(
        &self,
        array: &dyn Array,
        values: &dyn Array,
        row: usize,
        place: impl Fn(usize) -> usize,
    ) -> Result<F, RecordProblem> {
        let column = || self.texts.name().to_string();
        if array.is_null(row) {
            return Err(RecordProblem::Null { column: column() });
        }
        let row = place(row);
        if let Some(fingerprint) = integer_fingerprint(values, row) {
            return Ok(fingerprint);
        }
        if let Some(text) = text(values, row) {
            return self.texts.fingerprint(text.as_bytes());
        }
        let bytes = bytes(values, row).unwrap_or_default();
        self.byte_order.fingerprint(bytes).ok_or_else(|| RecordProblem::Value {
            column: column(),
            found: format!("a value of {} bytes", bytes.len()),
            wanted: match F::BITS {
                32 => "fingerprint, which has 4",
                64 => "fingerprint, which has 8",
                128 => "fingerprint, which has 16",
                _ => "fingerprint, which has 32",
            },
        })
    }
}

impl OwnedId<'_> {
    fn borrow(&self) -> Id<'_> {
        match self {
            OwnedId::Number(number) => Id::Number(*number),
            OwnedId::Text(text) => Id::Text(text),
            OwnedId::Digits(text) => Id::Text(text),
        }
    }
}

/// The fingerprint of an integer, which is not null; `None` of another type, and of another width.
pub fn integer_fingerprint<F: Fingerprint>(values: &dyn Array, row: usize) -> Option<F> {
    match values.data_type() {
        DataType::UInt64 => unsigned(values.as_primitive::<UInt64Type>().value(row)),
        DataType::Int64 => signed(values.as_primitive::<Int64Type>().value(row)),
        DataType::UInt32 => unsigned(values.as_primitive::<UInt32Type>().value(row).into()),
        DataType::Int32 => signed(values.as_primitive::<Int32Type>().value(row).into()),
        _ => None,
    }
}

/// Bits of the fingerprints of a type; the inner `None` where values tell, the outer one where it has none.
pub fn bits_of(data_type: &DataType) -> Option<Option<u32>> {
    match data_type {
        DataType::UInt64 | DataType::Int64 => Some(Some(64)),
        DataType::UInt32 | DataType::Int32 => Some(Some(32)),
        &DataType::FixedSizeBinary(bytes @ (4 | 8 | 16 | 32)) => Some(Some(8 * bytes as u32)),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => Some(None),
        DataType::Dictionary(_, values) => is_text(values).then_some(None),
        other => is_text(other).then_some(None),
    }
}

/// Types of fingerprints of so many bits.
fn wanted(bits: u32) -> String {
    let bytes = format!("FixedSizeBinary({}) or strings", bits / 8);
    match bits {
        32 | 64 => format!("UInt{bits}, Int{bits}, {bytes}"),
        _ => bytes,
    }
}

fn is_ids(data_type: &DataType) -> bool {
    data_type.is_integer() || is_text(data_type)
}

fn is_text(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

fn text(array: &dyn Array, row: usize) -> Option<&str> {
    match array.data_type() {
        DataType::Utf8 => Some(array.as_string::<i32>().value(row)),
        DataType::LargeUtf8 => Some(array.as_string::<i64>().value(row)),
        DataType::Utf8View => Some(array.as_string_view().value(row)),
        _ => None,
    }
}

fn bytes(array: &dyn Array, row: usize) -> Option<&[u8]> {
    match array.data_type() {
        DataType::FixedSizeBinary(_) => Some(array.as_fixed_size_binary().value(row)),
        DataType::Binary => Some(array.as_binary::<i32>().value(row)),
        DataType::LargeBinary => Some(array.as_binary::<i64>().value(row)),
        DataType::BinaryView => Some(array.as_binary_view().value(row)),
        _ => None,
    }
}

fn id<'a>(array: &'a dyn Array, row: usize, wish: &IdWish) -> Result<OwnedId<'a>, RecordProblem> {
    if array.is_null(row) {
        return Err(RecordProblem::Null { column: wish.column.clone() });
    }
    if let Some(text) = text(array, row) {
        return text_id(text, wish).map(|id| match id {
            Id::Number(number) => OwnedId::Number(number),
            Id::Text(text) => OwnedId::Text(text),
        });
    }
    let number = integer(array, row).unwrap_or(-1);
    match (wish.kind, u64::try_from(number)) {
        (IdKind::Text, _) => Ok(OwnedId::Digits(number.to_string())),
        (IdKind::Number, Ok(number)) => Ok(OwnedId::Number(number)),
        (IdKind::Number, Err(_)) => Err(RecordProblem::Value {
            column: wish.column.clone(),
            found: number.to_string(),
            wanted: "id, which is a number from 0 to 18446744073709551615",
        }),
    }
}

/// The integer in a row, if there is one.
pub fn integer(array: &dyn Array, row: usize) -> Option<i128> {
    if array.is_null(row) {
        return None;
    }
    Some(match array.data_type() {
        DataType::UInt8 => array.as_primitive::<UInt8Type>().value(row).into(),
        DataType::UInt16 => array.as_primitive::<UInt16Type>().value(row).into(),
        DataType::UInt32 => array.as_primitive::<UInt32Type>().value(row).into(),
        DataType::UInt64 => array.as_primitive::<UInt64Type>().value(row).into(),
        DataType::Int8 => array.as_primitive::<Int8Type>().value(row).into(),
        DataType::Int16 => array.as_primitive::<Int16Type>().value(row).into(),
        DataType::Int32 => array.as_primitive::<Int32Type>().value(row).into(),
        DataType::Int64 => array.as_primitive::<Int64Type>().value(row).into(),
        _ => return None,
    })
}
