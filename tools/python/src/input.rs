//! Many fingerprints from Python: arrays of numpy as they lie in memory, and whatever speaks Arrow.
//! Arrays that do not lie in one piece are copied.

use std::borrow::Cow;

use arrow_array::cast::AsArray;
use arrow_array::types::{UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use numpy::{PyReadonlyArrayDyn, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3_arrow::input::AnyArray;

use super::width::Width;

/// Fingerprints that are converted together.
const PIECE: usize = 1 << 16;

/// Numbers or bytes as they lie in memory.
#[derive(Clone, Copy)]
pub enum Raw<'a> {
    U32(&'a [u32]),
    U64(&'a [u64]),
    /// Of so many bytes each, the most significant first.
    Bytes(&'a [u8], usize),
    /// Of so many words each, the most significant first.
    Words(&'a [u64], usize),
}

/// What holds them.
pub enum Given<'py> {
    U32(PyReadonlyArrayDyn<'py, u32>),
    U64(PyReadonlyArrayDyn<'py, u64>),
    U8(PyReadonlyArrayDyn<'py, u8>, usize),
    Words(PyReadonlyArrayDyn<'py, u64>, usize),
    Arrow(Vec<ArrayRef>),
}

impl<'a> Raw<'a> {
    /// How many bits the fingerprints have.
    pub fn bits(self) -> u32 {
        match self {
            Self::U32(_) => 32,
            Self::U64(_) => 64,
            Self::Bytes(_, width) => 8 * width as u32,
            Self::Words(_, words) => 64 * words as u32,
        }
    }

    /// How many there are.
    pub fn len(self) -> usize {
        match self {
            Self::U32(list) => list.len(),
            Self::U64(list) => list.len(),
            Self::Bytes(bytes, width) => bytes.len() / width.max(1),
            Self::Words(list, words) => list.len() / words.max(1),
        }
    }

    /// Those from `from` on, up to so many.
    pub fn part(self, from: usize, count: usize) -> Self {
        let range = |each: usize| from * each..(from + count) * each;
        match self {
            Self::U32(list) => Self::U32(&list[range(1)]),
            Self::U64(list) => Self::U64(&list[range(1)]),
            Self::Bytes(bytes, width) => Self::Bytes(&bytes[range(width)], width),
            Self::Words(list, words) => Self::Words(&list[range(words)], words),
        }
    }

    /// Gives them to `take`, piece by piece; as they lie there, where the type is that of the
    /// width.
    ///
    /// # Errors
    ///
    /// `ValueError` for another width; those of `take`.
    pub fn each<F: Width>(self, take: &mut dyn FnMut(&[F]) -> PyResult<()>) -> PyResult<()> {
        self.check::<F>()?;
        if let Some(list) = self.as_it_is() {
            return take(list);
        }
        let mut piece = Vec::with_capacity(PIECE.min(self.len()));
        let mut from = 0;
        while from < self.len() {
            let part = self.part(from, PIECE.min(self.len() - from));
            piece.clear();
            match part {
                Self::Bytes(bytes, width) => {
                    piece.extend(bytes.chunks_exact(width).filter_map(F::from_be_slice))
                }
                Self::Words(list, words) => {
                    piece.extend(list.chunks_exact(words).filter_map(of_words::<F>))
                }
                Self::U32(_) | Self::U64(_) => {}
            }
            take(&piece)?;
            from += part.len();
        }
        Ok(())
    }

    /// All in one list: as they lie there, where the type is that of the width.
    ///
    /// # Errors
    ///
    /// As [`Self::each`].
    pub fn list<F: Width>(self) -> PyResult<Cow<'a, [F]>> {
        self.check::<F>()?;
        if let Some(list) = self.as_it_is() {
            return Ok(Cow::Borrowed(list));
        }
        let mut all = Vec::with_capacity(self.len());
        self.each::<F>(&mut |piece| {
            all.extend_from_slice(piece);
            Ok(())
        })?;
        Ok(Cow::Owned(all))
    }

    fn as_it_is<F: Width>(self) -> Option<&'a [F]> {
        match self {
            Self::U32(list) => F::of_u32(list),
            Self::U64(list) => F::of_u64(list),
            Self::Bytes(..) | Self::Words(..) => None,
        }
    }

    fn check<F: Width>(self) -> PyResult<()> {
        match self.bits() == F::BITS {
            true => Ok(()),
            false => Err(PyValueError::new_err(format!(
                "fingerprints of {} bits are given, and the store has {}",
                self.bits(),
                F::BITS
            ))),
        }
    }
}

/// All pieces in one list; one piece that has the type of the width stays where it lies.
///
/// # Errors
///
/// As [`Raw::each`].
pub fn together<'a, F: Width>(pieces: &[Raw<'a>]) -> PyResult<Cow<'a, [F]>> {
    if let [one] = pieces {
        return one.list();
    }
    let mut all = Vec::with_capacity(pieces.iter().map(|piece| piece.len()).sum());
    for piece in pieces {
        all.extend_from_slice(&piece.list::<F>()?);
    }
    Ok(Cow::Owned(all))
}

fn of_words<F: Width>(words: &[u64]) -> Option<F> {
    let mut bytes = F::Bytes::default();
    for (bytes, word) in bytes.as_mut().chunks_mut(8).zip(words) {
        bytes.copy_from_slice(&word.to_be_bytes());
    }
    Some(F::from_be_bytes(bytes))
}

impl<'py> Given<'py> {
    /// Takes an array of numpy, without a copy if it lies in one piece: `uint32` or `uint64` of
    /// shape (n,), `uint8` of shape (n, bits / 8), `uint64` of shape (n, bits / 64); or what has
    /// `__arrow_c_array__` or `__arrow_c_stream__`: UInt32, UInt64, FixedSizeBinary.
    ///
    /// # Errors
    ///
    /// `TypeError` for other types, `ValueError` for other shapes.
    pub fn of(value: &Bound<'py, PyAny>) -> PyResult<Self> {
        if let Ok(array) = value.cast::<PyUntypedArray>() {
            return Self::of_numpy(array);
        }
        if value.hasattr("__arrow_c_array__")? || value.hasattr("__arrow_c_stream__")? {
            let array: AnyArray = value.extract()?;
            let reader = array.into_reader()?;
            let chunks: Result<Vec<ArrayRef>, _> = reader.collect();
            let chunks = chunks.map_err(|error| PyValueError::new_err(error.to_string()))?;
            return Ok(Self::Arrow(chunks));
        }
        Err(PyTypeError::new_err(format!(
            "expected an array of numpy or an Arrow array of fingerprints, got {}; numpy.array(list, dtype=numpy.uint64) makes one of a list, series.to_numpy() of a series",
            value.get_type().name()?
        )))
    }

    fn of_numpy(array: &Bound<'py, PyUntypedArray>) -> PyResult<Self> {
        let (dtype, shape) = (array.dtype(), array.shape().to_vec());
        let in_one_piece = array.is_c_contiguous() && array.is_aligned();
        let value = match in_one_piece {
            true => array.as_any().clone(),
            false => array.call_method1("copy", ("C",))?,
        };
        match shape[..] {
            [_] => {
                if let Ok(list) = value.extract() {
                    return Ok(Self::U64(list));
                }
                if let Ok(list) = value.extract() {
                    return Ok(Self::U32(list));
                }
            }
            [_, columns] => {
                if let Ok(list) = value.extract() {
                    return match columns {
                        4 | 8 | 16 | 32 => Ok(Self::U8(list, columns)),
                        _ => Err(shape_error(&dtype.to_string(), &shape)),
                    };
                }
                if let Ok(list) = value.extract() {
                    return match columns {
                        1 | 2 | 4 => Ok(Self::Words(list, columns)),
                        _ => Err(shape_error(&dtype.to_string(), &shape)),
                    };
                }
            }
            _ => return Err(shape_error(&dtype.to_string(), &shape)),
        }
        let remedy = match dtype.to_string().as_str() {
            "int64" => "x.view('uint64') takes the bits as they are",
            "int32" => "x.view('uint32') takes the bits as they are",
            "object" => "numpy.array(x, dtype=numpy.uint64) makes numbers of 64 bits",
            _ => "x.astype('uint64') converts it, which copies",
        };
        Err(PyTypeError::new_err(format!(
            "an array of dtype {dtype} and shape {shape:?} has no fingerprints: these are uint32 or uint64 of shape (n,), or uint8 of \
             shape (n, bits / 8), in the byte order of the machine; {remedy}"
        )))
    }

    /// What lies there, in one piece or in several.
    ///
    /// # Errors
    ///
    /// `TypeError` and `ValueError` for Arrow arrays of other types, and with nulls.
    pub fn raw(&self) -> PyResult<Vec<Raw<'_>>> {
        match self {
            Self::U32(array) => Ok(vec![Raw::U32(array.as_slice()?)]),
            Self::U64(array) => Ok(vec![Raw::U64(array.as_slice()?)]),
            Self::U8(array, width) => Ok(vec![Raw::Bytes(array.as_slice()?, *width)]),
            Self::Words(array, words) => Ok(vec![Raw::Words(array.as_slice()?, *words)]),
            Self::Arrow(chunks) => chunks.iter().map(of_arrow).collect(),
        }
    }
}

fn of_arrow(chunk: &ArrayRef) -> PyResult<Raw<'_>> {
    if chunk.null_count() > 0 {
        let remedy = "fill them, or leave these rows out";
        return Err(PyValueError::new_err(format!(
            "the Arrow array has {} nulls; {remedy}",
            chunk.null_count()
        )));
    }
    match chunk.data_type() {
        DataType::UInt64 => Ok(Raw::U64(chunk.as_primitive::<UInt64Type>().values())),
        DataType::UInt32 => Ok(Raw::U32(chunk.as_primitive::<UInt32Type>().values())),
        DataType::FixedSizeBinary(width @ (4 | 8 | 16 | 32)) => {
            let (list, width) = (chunk.as_fixed_size_binary(), *width as usize);
            Ok(Raw::Bytes(&list.value_data()[..list.len() * width], width))
        }
        DataType::Struct(_) => Err(PyTypeError::new_err(
            "a table is given; give the column of fingerprints, such as table[\"fingerprint\"]",
        )),
        other => Err(PyTypeError::new_err(format!(
            "an Arrow array of type {other} has no fingerprints: these are UInt32, UInt64 or FixedSizeBinary of bits / 8"
        ))),
    }
}

fn shape_error(dtype: &str, shape: &[usize]) -> PyErr {
    PyValueError::new_err(format!(
        "an array of dtype {dtype} and shape {shape:?} has no fingerprints: these are uint32 or uint64 of shape (n,), or uint8 of \
         shape (n, bits / 8), or uint64 of shape (n, bits / 64)"
    ))
}

/// Ids from Python: an array of `uint64` of shape (n,), or an Arrow array of UInt64.
///
/// # Errors
///
/// `TypeError` and `ValueError`, which name the remedy.
pub fn ids(value: &Bound<'_, PyAny>) -> PyResult<Vec<u64>> {
    let given = Given::of(value)?;
    let mut all = Vec::new();
    for raw in given.raw()? {
        match raw {
            Raw::U64(list) => all.extend_from_slice(list),
            _ => return Err(PyTypeError::new_err("ids are an array of uint64 of shape (n,)")),
        }
    }
    Ok(all)
}

/// The width of what is given, unless it is said.
///
/// # Errors
///
/// `ValueError` if pieces differ.
pub fn bits(raw: &[Raw<'_>]) -> PyResult<u32> {
    let bits = raw.first().map_or(64, |raw| raw.bits());
    match raw.iter().find(|other| other.bits() != bits) {
        None => Ok(bits),
        Some(other) => Err(PyValueError::new_err(format!(
            "pieces of {bits} and of {} bits are given together",
            other.bits()
        ))),
    }
}
