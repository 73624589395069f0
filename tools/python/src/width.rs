//! Fingerprints of every width, as Python and numpy have them.

use fpstore::Fingerprint;
use numpy::ndarray::Array2;
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;

/// Calls `$body` with what an enum with one variant for each width holds.
macro_rules! for_width {
    ($any:expr, $one:ident => $body:expr) => {
        match $any {
            $crate::width::ByWidth::W32($one) => $body,
            $crate::width::ByWidth::W64($one) => $body,
            $crate::width::ByWidth::W128($one) => $body,
            $crate::width::ByWidth::W256($one) => $body,
        }
    };
}

/// Calls `$body` with the type of fingerprints of so many bits.
macro_rules! by_bits {
    ($bits:expr, $f:ident => $body:expr) => {
        match $bits {
            32 => {
                type $f = u32;
                $body
            }
            64 => {
                type $f = u64;
                $body
            }
            128 => {
                type $f = u128;
                $body
            }
            256 => {
                type $f = [u64; 4];
                $body
            }
            bits => Err(pyo3::exceptions::PyValueError::new_err(format!(
                "fingerprints have 32, 64, 128 or 256 bits, not {bits}"
            ))),
        }
    };
}

pub(crate) use {by_bits, for_width};

/// The same of every width.
pub enum ByWidth<A, B, C, D> {
    W32(A),
    W64(B),
    W128(C),
    W256(D),
}

/// A width, with its type in numpy.
pub trait Width: Fingerprint {
    /// An array: `uint32` or `uint64` of shape (n,), of wider ones `uint8` of shape (n, bits / 8),
    /// the most significant byte first.
    fn array(py: Python<'_>, list: Vec<Self>) -> PyResult<Bound<'_, PyAny>>;

    /// Numbers of 32 bits as they are, if that is the width.
    fn of_u32(_: &[u32]) -> Option<&[Self]> {
        None
    }

    /// Numbers of 64 bits as they are, if that is the width.
    fn of_u64(_: &[u64]) -> Option<&[Self]> {
        None
    }

    /// A number.
    fn number(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>>;
}

impl Width for u32 {
    fn array(py: Python<'_>, list: Vec<Self>) -> PyResult<Bound<'_, PyAny>> {
        Ok(PyArray1::from_vec(py, list).into_any())
    }

    fn of_u32(list: &[u32]) -> Option<&[Self]> {
        Some(list)
    }

    fn number(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        Ok(self.into_pyobject(py)?.into_any())
    }
}

impl Width for u64 {
    fn array(py: Python<'_>, list: Vec<Self>) -> PyResult<Bound<'_, PyAny>> {
        Ok(PyArray1::from_vec(py, list).into_any())
    }

    fn of_u64(list: &[u64]) -> Option<&[Self]> {
        Some(list)
    }

    fn number(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        Ok(self.into_pyobject(py)?.into_any())
    }
}

impl Width for u128 {
    fn array(py: Python<'_>, list: Vec<Self>) -> PyResult<Bound<'_, PyAny>> {
        bytes(py, &list)
    }

    fn number(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        Ok(self.into_pyobject(py)?.into_any())
    }
}

impl Width for [u64; 4] {
    fn array(py: Python<'_>, list: Vec<Self>) -> PyResult<Bound<'_, PyAny>> {
        bytes(py, &list)
    }

    fn number(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        of_bytes(py, self.to_be_bytes().as_ref())
    }
}

/// The number that bytes are, the most significant first.
fn of_bytes<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    py.get_type::<pyo3::types::PyInt>().call_method1("from_bytes", (bytes, "big"))
}

fn bytes<'py, F: Fingerprint>(py: Python<'py>, list: &[F]) -> PyResult<Bound<'py, PyAny>> {
    let width = F::BITS as usize / 8;
    let mut all = Vec::with_capacity(list.len() * width);
    for fingerprint in list {
        all.extend_from_slice(fingerprint.to_be_bytes().as_ref());
    }
    let shaped = Array2::from_shape_vec((list.len(), width), all);
    let shaped =
        shaped.map_err(|error| pyo3::exceptions::PyValueError::new_err(error.to_string()))?;
    Ok(PyArray2::from_owned_array(py, shaped).into_any())
}
