//! Values in columns of Arrow.

use std::borrow::Cow;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Schema};

use super::want::{Kind, Want, places};
use crate::cell::Cell;
use crate::error::{ColumnProblem, Problem};
use crate::tsv::push_escaped;

/// Reads batches of rows, of whose columns the wanted ones are left.
pub trait Batches: Send {
    /// The next rows, or a message without any; `None` behind the last.
    fn next(&mut self) -> Result<Option<RecordBatch>, Problem>;

    /// The number of all rows, where something before them tells it.
    fn records(&self) -> Option<u64> {
        None
    }

    /// What is noted beside the rows under a name.
    fn note(&self, _: &str) -> Option<String> {
        None
    }

    /// What whoever reads it should know, as soon as it is clear.
    fn warning(&self) -> Option<&'static str> {
        None
    }

    /// Bytes of memory that it takes beside a piece, where these are more than some buffers.
    fn buffer_bytes(&self) -> u64 {
        0
    }
}

/// The value in a row of a column.
pub fn cell(array: &ArrayRef, row: usize) -> Cell<'_> {
    if array.is_null(row) {
        return Cell::Null;
    }
    if let Some(dictionary) = array.as_any_dictionary_opt() {
        // Keys were checked when the array was made.
        let key = integer(dictionary.keys(), row).and_then(|key| key.try_into().ok());
        let key = key.filter(|&key: &usize| key < dictionary.values().len());
        return key.map_or(Cell::Null, |key| cell(dictionary.values(), key));
    }
    let text = |text| Cell::Text(Cow::Borrowed(text));
    match array.data_type() {
        DataType::Utf8 => text(array.as_string::<i32>().value(row)),
        DataType::LargeUtf8 => text(array.as_string::<i64>().value(row)),
        DataType::Utf8View => text(array.as_string_view().value(row)),
        DataType::FixedSizeBinary(_) => Cell::Binary(array.as_fixed_size_binary().value(row)),
        DataType::Binary => Cell::Binary(array.as_binary::<i32>().value(row)),
        DataType::LargeBinary => Cell::Binary(array.as_binary::<i64>().value(row)),
        DataType::BinaryView => Cell::Binary(array.as_binary_view().value(row)),
        DataType::Float32 => {
            Cell::Plain(array.as_primitive::<Float32Type>().value(row).to_string().into())
        }
        DataType::Float64 => {
            Cell::Plain(array.as_primitive::<Float64Type>().value(row).to_string().into())
        }
        DataType::Boolean => Cell::Plain(array.as_boolean().value(row).to_string().into()),
        DataType::List(_) => ids(&array.as_list::<i32>().value(row)),
        DataType::Decimal128(_, 0) => Cell::Wide(array.as_primitive::<Decimal128Type>().value(row)),
        _ => match integer(array, row) {
            Some(number) => match u64::try_from(number) {
                Ok(number) => Cell::Number(number),
                Err(_) => Cell::Negative(number as i64),
            },
            None => Cell::Other("a value of this type"),
        },
    }
}

/// A list of ids as TSV has it.
fn ids(values: &ArrayRef) -> Cell<'static> {
    let mut list = Vec::new();
    for row in 0..values.len() {
        if row > 0 {
            list.push(b',');
        }
        match cell(values, row) {
            Cell::Text(id) => push_escaped(&mut list, &id),
            Cell::Number(id) => list.extend_from_slice(id.to_string().as_bytes()),
            Cell::Null => return Cell::Other("a list with a null"),
            Cell::Negative(_) => return Cell::Other("a list with a negative number"),
            _ => return Cell::Other("a list of other values than strings and whole numbers"),
        }
    }
    Cell::Bytes(Cow::Owned(list))
}

/// The integer in a row, which is not null, if the column has some.
fn integer(array: &dyn Array, row: usize) -> Option<i128> {
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

/// Bits of the fingerprints of a type; the inner `None` where values tell, the outer one where it
/// has none.
pub fn bits_of(data_type: &DataType) -> Option<Option<u32>> {
    match data_type {
        DataType::UInt64 | DataType::Int64 => Some(Some(64)),
        DataType::UInt32 | DataType::Int32 => Some(Some(32)),
        &DataType::FixedSizeBinary(bytes @ (4 | 8 | 16 | 32)) => Some(Some(8 * bytes as u32)),
        DataType::Dictionary(_, values) => is_text(values).then_some(None),
        other => (is_binary(other) || is_text(other)).then_some(None),
    }
}

/// The wanted columns of a schema: their places where only these are left of it, and the places of
/// these.
pub struct Chosen {
    /// What is wanted, with the names that the columns have.
    pub wants: Vec<Want>,
    /// The places among the chosen columns.
    pub places: Vec<Option<usize>>,
    /// Their types.
    pub types: Vec<Option<DataType>>,
    /// The chosen columns, ascending.
    pub columns: Vec<usize>,
}

impl Chosen {
    /// Chooses the columns, which must be of types that fit.
    pub fn new(schema: &Schema, wants: &[Want]) -> Result<Self, ColumnProblem> {
        let names: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
        let (mut wants, all) = (wants.to_vec(), places(wants, &names)?);
        for (want, place) in wants.iter_mut().zip(&all) {
            let Some(place) = *place else { continue };
            let (name, field) = (&names[place], schema.field(place));
            check(want.kind, name, field.data_type())?;
            want.name = Some(name.clone());
            want.is_uuid = field.extension_type_name() == Some("arrow.uuid");
        }
        let mut columns: Vec<usize> = all.iter().copied().flatten().collect();
        columns.sort_unstable();
        columns.dedup();
        let data_type = |place: &Option<usize>| Some(schema.field((*place)?).data_type().clone());
        let types = all.iter().map(data_type).collect();
        let place = |place: Option<usize>| columns.binary_search(&place?).ok();
        let places = all.into_iter().map(place).collect();
        Ok(Self { wants, places, types, columns })
    }
}

/// Fails unless values of a type are what is wanted.
fn check(kind: Kind, name: &str, data_type: &DataType) -> Result<(), ColumnProblem> {
    let inner = match data_type {
        DataType::Dictionary(_, values) => values,
        other => other,
    };
    let is_id = |of: &DataType| of.is_integer() || is_text(of);
    let wanted = match kind {
        Kind::Fingerprint(bits) => match bits_of(data_type) {
            Some(Some(found)) if found != bits => {
                return Err(ColumnProblem::Width { name: name.to_string(), found, wanted: bits });
            }
            Some(_) => return Ok(()),
            None => {
                let bytes = format!("FixedSizeBinary({}) or strings", bits / 8);
                match bits {
                    32 | 64 => format!("UInt{bits}, Int{bits}, {bytes}"),
                    _ => bytes,
                }
            }
        },
        Kind::AnyFingerprint if bits_of(data_type).is_some() => return Ok(()),
        Kind::AnyFingerprint => "integers, bytes or strings".to_string(),
        Kind::Text if is_text(inner) || is_binary(inner) => return Ok(()),
        Kind::Text => "strings".to_string(),
        Kind::Id if is_id(inner) => return Ok(()),
        Kind::Id => "integers or strings".to_string(),
        Kind::Key if is_id(inner) || is_key(inner) => return Ok(()),
        Kind::Key => "integers, strings, UUIDs or bytes".to_string(),
        Kind::Value if is_id(inner) || is_number(inner) => return Ok(()),
        Kind::Value => "strings or numbers".to_string(),
        Kind::Ids => match inner {
            DataType::List(item) if is_id(item.data_type()) => return Ok(()),
            _ => "lists of integers or of strings".to_string(),
        },
    };
    Err(ColumnProblem::Type { name: name.to_string(), found: data_type.to_string(), wanted })
}

fn is_number(of: &DataType) -> bool {
    matches!(of, DataType::Float32 | DataType::Float64 | DataType::Boolean)
}

/// Whether values are strings.
pub fn is_text(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

/// Whether values are bytes, or integers of more than 64 bits.
fn is_key(of: &DataType) -> bool {
    matches!(of, DataType::FixedSizeBinary(_) | DataType::Decimal128(_, 0)) || is_binary(of)
}

fn is_binary(of: &DataType) -> bool {
    matches!(of, DataType::Binary | DataType::LargeBinary | DataType::BinaryView)
}
