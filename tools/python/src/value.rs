//! A single fingerprint from Python.

use fpstore::Fingerprint;
use numpy::{PyReadonlyArray1, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Reads a fingerprint: a whole number, also of numpy, `bytes`, the most significant first, or a
/// row of an array: `uint8` of shape (bits / 8,), `uint64` of shape (bits / 64,).
///
/// # Errors
///
/// `TypeError`, `OverflowError` if it has too many bits, `ValueError` of another number of bytes.
pub fn fingerprint<F: Fingerprint>(value: &Bound<'_, PyAny>) -> PyResult<F> {
    let width = F::BITS as usize / 8;
    // Those without dimensions are numbers.
    if let Ok(array) = value.cast::<PyUntypedArray>()
        && array.ndim() > 0
    {
        return of_row(array);
    }
    if let Ok(number) = value.extract::<u64>() {
        let mut bytes = F::Bytes::default();
        let all = bytes.as_mut();
        let own = all.len().min(8);
        let number_bytes = number.to_be_bytes();
        if number_bytes[..8 - own].iter().any(|&byte| byte != 0) {
            return Err(too_large::<F>(value));
        }
        let from = all.len() - own;
        all[from..].copy_from_slice(&number_bytes[8 - own..]);
        return Ok(F::from_be_bytes(bytes));
    }
    if let Ok(bytes) = value.cast::<PyBytes>() {
        let bytes = bytes.as_bytes();
        return F::from_be_slice(bytes).ok_or_else(|| {
            PyValueError::new_err(format!(
                "a fingerprint of {} bits has {width} bytes, not {}",
                F::BITS,
                bytes.len()
            ))
        });
    }
    if !value.hasattr("__index__")? {
        let what = "a fingerprint is a whole number, bytes with the most significant first, or a row of an array";
        return Err(PyTypeError::new_err(format!("{what}, not {}", value.get_type().name()?)));
    }
    let number = value.call_method0("__index__")?;
    let bytes =
        number.call_method1("to_bytes", (width, "big")).map_err(|_| too_large::<F>(value))?;
    let bytes = bytes.cast_into::<PyBytes>()?;
    F::from_be_slice(bytes.as_bytes()).ok_or_else(|| too_large::<F>(value))
}

/// Reads a row of an array of fingerprints.
fn of_row<F: Fingerprint>(array: &Bound<'_, PyUntypedArray>) -> PyResult<F> {
    let bytes: Vec<u8> = if let Ok(bytes) = array.extract::<PyReadonlyArray1<'_, u8>>() {
        bytes.as_array().to_vec()
    } else if let Ok(words) = array.extract::<PyReadonlyArray1<'_, u64>>() {
        words.as_array().iter().flat_map(|word| word.to_be_bytes()).collect()
    } else {
        Vec::new()
    };
    F::from_be_slice(&bytes).ok_or_else(|| {
        let words = match F::BITS / 64 {
            0 => String::new(),
            words => format!(", or uint64 of shape ({words},)"),
        };
        let what = format!(
            "an array of dtype {} and shape {:?} is no fingerprint of {} bits: that is a number, \
             bytes, or a row of uint8 of shape ({},){words}",
            array.dtype(),
            array.shape(),
            F::BITS,
            F::BITS / 8
        );
        match array.ndim() {
            1 => PyValueError::new_err(what),
            _ => PyValueError::new_err(format!("{what}; search_batch takes many")),
        }
    })
}

fn too_large<F: Fingerprint>(value: &Bound<'_, PyAny>) -> PyErr {
    PyOverflowError::new_err(format!(
        "{value} is no fingerprint of {} bits: it is negative or has more",
        F::BITS
    ))
}
