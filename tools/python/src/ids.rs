//! Ids from Python and to Python: numbers, text, UUIDs, keys.

use arrow_array::builder::{FixedSizeBinaryBuilder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, UInt64Array};
use arrow_schema::{ArrowError, DataType};
use fpstore::{Id, IdKind};
use numpy::{PyArray1, PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt, PyList, PyString};

use super::input::{self, Given};

/// Ids in the order in which they came.
#[derive(Clone, Debug)]
pub enum IdList {
    /// Integers of 64 bits.
    Numbers(Vec<u64>),
    /// Names.
    Names(Vec<Id>),
}

/// Some of a list.
#[derive(Clone, Copy)]
pub enum IdPart<'a> {
    /// Integers of 64 bits.
    Numbers(&'a [u64]),
    /// Names.
    Names(&'a [Id]),
}

impl IdList {
    /// Those of an array or a list: of uint64, of integers, `str`, `uuid.UUID` or `bytes`, or Arrow
    /// of UInt64, strings or FixedSizeBinary.
    ///
    /// # Errors
    ///
    /// `TypeError` and `ValueError`, which name the remedy.
    pub fn of(value: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(array) = value.cast::<PyUntypedArray>() {
            return match array.dtype().kind() {
                b'O' | b'U' => Self::of_each(&value.call_method0("tolist")?),
                b'i' | b'u' => {
                    if !array.is_empty() && value.call_method0("min")?.lt(0)? {
                        let least = value.call_method0("min")?;
                        return Err(negative(&least));
                    }
                    input::ids(&value.call_method1("astype", ("uint64",))?).map(Self::Numbers)
                }
                _ => input::ids(value).map(Self::Numbers),
            };
        }
        if value.hasattr("__arrow_c_array__")? || value.hasattr("__arrow_c_stream__")? {
            let Given::Arrow(chunks) = Given::of(value)? else { return Self::of_each(value) };
            return Self::of_arrow(&chunks);
        }
        if value.is_instance_of::<PyString>() || value.is_instance_of::<PyBytes>() {
            return Err(PyTypeError::new_err("ids are a list of these, and one is given"));
        }
        Self::of_each(value)
    }

    fn of_each(values: &Bound<'_, PyAny>) -> PyResult<Self> {
        let ids = values.try_iter()?.map(|value| of(&value?)).collect::<PyResult<Vec<Id>>>()?;
        let is_number = |id: &Id| matches!(id, Id::Number(_));
        if ids.iter().all(is_number) {
            let number = |id: &Id| if let Id::Number(number) = id { *number } else { 0 };
            return Ok(Self::Numbers(ids.iter().map(number).collect()));
        }
        let is_wide = ids.iter().any(|id| matches!(id, Id::Number128(_)));
        let wide = |id| match id {
            Id::Number(number) if is_wide => Id::Number128(number.into()),
            id => id,
        };
        Ok(Self::Names(ids.into_iter().map(wide).collect()))
    }

    fn of_arrow(chunks: &[ArrayRef]) -> PyResult<Self> {
        if let Some(chunk) = chunks.iter().find(|chunk| chunk.null_count() > 0) {
            return Err(PyValueError::new_err(format!(
                "the Arrow array of ids has {} nulls; fill them, or leave these rows out",
                chunk.null_count()
            )));
        }
        let numbers = |chunk: &ArrayRef| *chunk.data_type() == DataType::UInt64;
        if chunks.iter().all(numbers) {
            let values = chunks.iter().map(|chunk| chunk.as_primitive::<UInt64Type>().values());
            return Ok(Self::Numbers(values.flat_map(|values| values.iter().copied()).collect()));
        }
        if chunks.iter().all(|chunk| chunk.data_type().is_integer()) {
            return Self::of_integers(chunks);
        }
        let mut names = Vec::with_capacity(chunks.iter().map(|chunk| chunk.len()).sum());
        let text = |text: Option<&str>| Id::Text(text.unwrap_or_default().to_string());
        for chunk in chunks {
            match chunk.data_type() {
                DataType::Utf8 => names.extend(chunk.as_string::<i32>().iter().map(text)),
                DataType::LargeUtf8 => names.extend(chunk.as_string::<i64>().iter().map(text)),
                DataType::Utf8View => names.extend(chunk.as_string_view().iter().map(text)),
                DataType::FixedSizeBinary(_) => {
                    let keys = chunk.as_fixed_size_binary().iter();
                    names.extend(keys.map(|key| Id::Bytes(key.unwrap_or_default().to_vec())));
                }
                other => {
                    return Err(PyTypeError::new_err(format!(
                        "an Arrow array of type {other} has no ids: these are UInt64, strings or \
                         FixedSizeBinary"
                    )));
                }
            }
        }
        Ok(Self::Names(names))
    }

    /// Integers of any width and sign, none of them negative.
    fn of_integers(chunks: &[ArrayRef]) -> PyResult<Self> {
        let mut numbers = Vec::with_capacity(chunks.iter().map(|chunk| chunk.len()).sum());
        for chunk in chunks {
            let mut take = |number: i128| match u64::try_from(number) {
                Ok(number) => {
                    numbers.push(number);
                    Ok(())
                }
                Err(_) => Err(negative(&number)),
            };
            macro_rules! each {
                ($($of:ident)*) => {
                    $(if *chunk.data_type() == $of::DATA_TYPE {
                        let values = chunk.as_primitive::<$of>().values();
                        values.iter().try_for_each(|&number| take(number.into()))?;
                    })*
                };
            }
            each!(Int8Type Int16Type Int32Type Int64Type UInt8Type UInt16Type UInt32Type UInt64Type);
        }
        Ok(Self::Numbers(numbers))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Numbers(numbers) => numbers.len(),
            Self::Names(names) => names.len(),
        }
    }

    /// Those from `from` on, up to so many.
    pub fn part(&self, from: usize, count: usize) -> IdPart<'_> {
        match self {
            Self::Numbers(numbers) => IdPart::Numbers(&numbers[from..from + count]),
            Self::Names(names) => IdPart::Names(&names[from..from + count]),
        }
    }

    /// The same in a store with ids of this kind: keys of 16 bytes are UUIDs there, and numbers may
    /// be wider.
    pub fn fitted(self, kind: Option<IdKind>) -> Self {
        match (self, kind) {
            (Self::Numbers(numbers), Some(IdKind::Number128)) => {
                Self::Names(numbers.into_iter().map(|id| Id::Number128(id.into())).collect())
            }
            (Self::Names(names), Some(kind)) => {
                Self::Names(names.into_iter().map(|id| fitted(id, kind)).collect())
            }
            (list, _) => list,
        }
    }
}

fn negative(number: &dyn std::fmt::Display) -> PyErr {
    PyValueError::new_err(format!("{number} is no id: ids are 0 or greater, or names"))
}

/// An id as a store with ids of this kind has it.
pub fn fitted(id: Id, kind: IdKind) -> Id {
    match (id, kind) {
        (Id::Number(number), IdKind::Number128) => Id::Number128(number.into()),
        (Id::Bytes(bytes), IdKind::Uuid) => match bytes.as_slice().try_into() {
            Ok(uuid) => Id::Uuid(uuid),
            Err(_) => Id::Bytes(bytes),
        },
        (id, _) => id,
    }
}

/// One id.
///
/// # Errors
///
/// `TypeError` for what is none, `OverflowError` for integers of more than 128 bits.
pub fn of(value: &Bound<'_, PyAny>) -> PyResult<Id> {
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(Id::Text(text.to_str()?.to_string()));
    }
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return Ok(Id::Bytes(bytes.as_bytes().to_vec()));
    }
    if value.is_instance(&value.py().import("uuid")?.getattr("UUID")?)? {
        return Ok(Id::Uuid(value.getattr("bytes")?.extract()?));
    }
    if let Ok(number) = value.extract::<u64>() {
        return Ok(Id::Number(number));
    }
    if value.is_instance_of::<PyInt>() {
        return Ok(Id::Number128(value.extract()?));
    }
    let name = value.get_type().name()?;
    Err(PyTypeError::new_err(format!("an id is an int, str, uuid.UUID or bytes, not {name}")))
}

/// An id as Python has it.
pub fn to_python<'py>(py: Python<'py>, id: &Id) -> PyResult<Bound<'py, PyAny>> {
    Ok(match id {
        Id::Number(number) => number.into_pyobject(py)?.into_any(),
        Id::Text(text) => PyString::new(py, text).into_any(),
        Id::Uuid(bytes) => {
            let options = pyo3::types::PyDict::new(py);
            options.set_item("bytes", PyBytes::new(py, bytes))?;
            py.import("uuid")?.getattr("UUID")?.call((), Some(&options))?
        }
        Id::Number128(number) => number.into_pyobject(py)?.into_any(),
        Id::Bytes(bytes) => PyBytes::new(py, bytes).into_any(),
    })
}

/// Ids as Python has them: an array of uint64, or a list of names.
pub fn all_to_python<'py>(py: Python<'py>, ids: IdList) -> PyResult<Bound<'py, PyAny>> {
    match ids {
        IdList::Numbers(numbers) => Ok(PyArray1::from_vec(py, numbers).into_any()),
        IdList::Names(names) => {
            let names = names.iter().map(|id| to_python(py, id));
            Ok(PyList::new(py, names.collect::<PyResult<Vec<_>>>()?)?.into_any())
        }
    }
}

/// The type of a column of ids.
pub fn data_type(kind: IdKind) -> DataType {
    match kind {
        IdKind::Number => DataType::UInt64,
        IdKind::Uuid => DataType::FixedSizeBinary(16),
        IdKind::Bytes(bytes) => DataType::FixedSizeBinary(bytes.into()),
        // There is no type for integers of 128 bits.
        _ => DataType::Utf8,
    }
}

/// A column of ids of this kind.
///
/// # Errors
///
/// None in practice: all have the width of the column.
pub fn column(ids: &IdList, from: usize, to: usize, kind: IdKind) -> Result<ArrayRef, ArrowError> {
    let names = match ids {
        IdList::Numbers(numbers) => {
            let numbers = numbers[from..to].iter().copied();
            return Ok(std::sync::Arc::new(UInt64Array::from_iter_values(numbers)));
        }
        IdList::Names(names) => &names[from..to],
    };
    if let DataType::FixedSizeBinary(width) = data_type(kind) {
        let mut column = FixedSizeBinaryBuilder::with_capacity(names.len(), width);
        for name in names {
            match name {
                Id::Uuid(bytes) => column.append_value(bytes)?,
                Id::Bytes(bytes) => column.append_value(bytes)?,
                _ => column.append_null(),
            }
        }
        return Ok(std::sync::Arc::new(column.finish()));
    }
    let mut column = StringBuilder::new();
    for name in names {
        match name {
            Id::Text(text) => column.append_value(text),
            id => column.append_value(id.to_string()),
        }
    }
    Ok(std::sync::Arc::new(column.finish()))
}

/// A kind by its name.
///
/// # Errors
///
/// `ValueError` for others.
pub fn kind_of(name: &str) -> PyResult<IdKind> {
    let bytes = name.strip_prefix("bytes:").and_then(|bytes| bytes.parse().ok());
    match (name, bytes) {
        ("number", _) => Ok(IdKind::Number),
        ("text", _) => Ok(IdKind::Text),
        ("uuid", _) => Ok(IdKind::Uuid),
        ("number128", _) => Ok(IdKind::Number128),
        (_, Some(bytes)) => Ok(IdKind::Bytes(bytes)),
        _ => Err(PyValueError::new_err(format!(
            "ids are \"number\", \"text\", \"uuid\", \"number128\" or \"bytes:N\", not {name:?}"
        ))),
    }
}

/// The name of a kind.
pub fn name_of(kind: IdKind) -> String {
    match kind {
        IdKind::Number => "number".to_string(),
        IdKind::Text => "text".to_string(),
        IdKind::Uuid => "uuid".to_string(),
        IdKind::Number128 => "number128".to_string(),
        IdKind::Bytes(bytes) => format!("bytes:{bytes}"),
        other => other.to_string(),
    }
}
