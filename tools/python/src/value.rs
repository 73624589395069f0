//! A single fingerprint from Python.

use fpstore::Fingerprint;
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Reads a fingerprint: a whole number, also of numpy, or `bytes`, the most significant first.
///
/// # Errors
///
/// `TypeError`, `OverflowError` if it has too many bits, `ValueError` of another number of bytes.
pub fn fingerprint<F: Fingerprint>(value: &Bound<'_, PyAny>) -> PyResult<F> {
    let width = F::BITS as usize / 8;
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
        let what = "a fingerprint is a whole number, or bytes with the most significant first";
        return Err(PyTypeError::new_err(format!("{what}, not {}", value.get_type().name()?)));
    }
    let number = value.call_method0("__index__")?;
    let bytes =
        number.call_method1("to_bytes", (width, "big")).map_err(|_| too_large::<F>(value))?;
    let bytes = bytes.cast_into::<PyBytes>()?;
    F::from_be_slice(bytes.as_bytes()).ok_or_else(|| too_large::<F>(value))
}

fn too_large<F: Fingerprint>(value: &Bound<'_, PyAny>) -> PyErr {
    PyOverflowError::new_err(format!(
        "{value} is no fingerprint of {} bits: it is negative or has more",
        F::BITS
    ))
}
