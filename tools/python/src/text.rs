//! From texts to fingerprints.

use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_schema::DataType;
use fpstore::Execution;
use fpstore_text::{Fingerprint, Fingerprinter, Found, Signature};
use numpy::PyArray1;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};
use pyo3_arrow::input::AnyArray;
use rayon::prelude::*;

use super::errors::{self, RecipeError};
use super::run::How;
use super::width::{Width, by_bits};

/// Texts that one task takes.
const TASK: usize = 64;

/// A recipe: a line that fixes how texts become fingerprints, such as "simhash-64" or "onebit-256".
///
/// `str(recipe)` is the whole line; `Recipe.presets()` names those that have a short name. It must
/// be one that gives a single fingerprint of 64, 128 or 256 bits, and needs no table of a corpus.
/// Raises RecipeError.
#[pyclass(frozen, module = "fpstore")]
pub struct Recipe {
    recipe: fpstore_text::Recipe,
    idle: Mutex<Vec<Fingerprinter>>,
}

impl Recipe {
    fn with_fingerprinter<T>(&self, work: impl FnOnce(&mut Fingerprinter) -> T) -> PyResult<T> {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let one = idle().pop();
        let mut one = match one {
            Some(one) => one,
            None => Fingerprinter::new(&self.recipe).map_err(refused)?,
        };
        let done = work(&mut one);
        idle().push(one);
        Ok(done)
    }
}

pub fn refused(error: fpstore_text::Error) -> PyErr {
    RecipeError::new_err(error.to_string())
}

#[pymethods]
impl Recipe {
    #[new]
    fn new(recipe: &str) -> PyResult<Self> {
        let recipe = fpstore_text::Recipe::from_str(recipe).map_err(refused)?;
        if !matches!(recipe.rule(), fpstore_text::Rule::Within { .. }) {
            let what = "gives several values for a text, and a store takes one fingerprint";
            return Err(RecipeError::new_err(format!(
                "{recipe}: {what}; simhash-64 and onebit-256 give one"
            )));
        }
        let one = Fingerprinter::new(&recipe).map_err(refused)?;
        Ok(Self { recipe, idle: Mutex::new(vec![one]) })
    }

    /// The names of the recipes that have one, with their lines, as a list of pairs.
    #[staticmethod]
    fn presets() -> Vec<(&'static str, &'static str)> {
        fpstore_text::Recipe::presets().to_vec()
    }

    /// Bits of a fingerprint.
    #[getter]
    fn bits(&self) -> u32 {
        self.recipe.bits()
    }

    /// The distance within which texts count as near duplicates, as a proposal.
    #[getter]
    fn k(&self) -> Option<u32> {
        match self.recipe.rule() {
            fpstore_text::Rule::Within { k } => Some(k),
            _ => None,
        }
    }

    fn __str__(&self) -> String {
        self.recipe.to_string()
    }

    fn __repr__(&self) -> String {
        format!("fpstore.Recipe({:?})", self.recipe.to_string())
    }

    fn __reduce__<'py>(slf: Bound<'py, Self>) -> (Bound<'py, PyAny>, (String,)) {
        (slf.get_type().into_any(), (slf.get().recipe.to_string(),))
    }

    /// The fingerprint of a text (`str`, or `bytes` of UTF-8), or None if it has too few features
    /// for one.
    fn fingerprint<'py>(&self, text: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let (py, text) = (text.py(), bytes_of(text)?);
        let found = py.detach(|| self.with_fingerprinter(|one| bits_of(one, text).0))?;
        let Some(found) = found else { return Ok(None) };
        by_bits!(self.recipe.bits(), F => {
            as_number::<F>(found).map(|one| one.number(py)).transpose()
        })
    }

    /// Fingerprints of many texts: (fingerprints, indices), without the texts that have too few
    /// features for one; `indices` are the places of the others, `uint64`. Texts are a list of
    /// `str` or `bytes`, or an Arrow array of strings.
    ///
    /// With `exact` a third array, `uint8` of shape (texts, 16): a hash of each prepared text,
    /// which is the same for texts that differ in nothing that the recipe looks at, also of those
    /// without a fingerprint.
    #[pyo3(signature = (texts, *, exact=false, threads=0, progress=None))]
    fn fingerprints<'py>(
        &self,
        py: Python<'py>,
        texts: &Bound<'py, PyAny>,
        exact: bool,
        threads: u16,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let how = How { threads, progress, ..How::default() };
        let found = if let Ok(list) = texts.cast::<PyList>() {
            let items: Vec<Bound<'_, PyAny>> = list.iter().collect();
            let texts: Vec<&[u8]> = items.iter().map(bytes_of).collect::<PyResult<_>>()?;
            self.all(py, &how, &texts)?
        } else if texts.hasattr("__arrow_c_array__")? || texts.hasattr("__arrow_c_stream__")? {
            let array: AnyArray = texts.extract()?;
            let chunks: Result<Vec<_>, _> = array.into_reader()?.collect();
            let chunks = chunks.map_err(|error| PyValueError::new_err(error.to_string()))?;
            let mut all = Vec::new();
            for chunk in &chunks {
                texts_of(chunk.as_ref(), &mut all)?;
            }
            self.all(py, &how, &all)?
        } else {
            let given = texts.get_type().name()?.to_string();
            return Err(PyTypeError::new_err(format!(
                "texts are a list of str or bytes, or an Arrow array of strings, not {given}"
            )));
        };
        by_bits!(self.recipe.bits(), F => {
            let mut list = Vec::with_capacity(found.len());
            let mut places: Vec<u64> = Vec::with_capacity(found.len());
            for (place, (one, _)) in found.iter().enumerate() {
                let Some(one) = one else { continue };
                list.extend(as_number::<F>(*one));
                places.push(place as u64);
            }
            let (list, places) = (F::array(py, list)?, PyArray1::from_vec(py, places));
            if !exact {
                return (list, places).into_pyobject(py);
            }
            let exact = found.iter().map(|(_, exact)| *exact).collect();
            (list, places, <u128 as Width>::array(py, exact)?).into_pyobject(py)
        })
    }
}

impl Recipe {
    fn all(
        &self,
        py: Python<'_>,
        how: &How,
        texts: &[&[u8]],
    ) -> PyResult<Vec<(Option<Fingerprint>, u128)>> {
        how.run(py, |_| {
            let pool = Execution::new().threads(how.threads.into()).start_pool();
            let pool = pool.map_err(errors::of)?;
            pool.install(|| {
                let pieces = texts.par_chunks(TASK).map(|texts| {
                    self.with_fingerprinter(|one| {
                        texts.iter().map(|text| bits_of(one, text)).collect::<Vec<_>>()
                    })
                });
                Ok(pieces.collect::<PyResult<Vec<_>>>()?.into_iter().flatten().collect())
            })
        })
    }
}

/// The fingerprint of a text, and what it is compared exactly by.
fn bits_of(one: &mut Fingerprinter, text: &[u8]) -> (Option<Fingerprint>, u128) {
    let (outcome, exact) = one.fingerprint_with_exact(text);
    match outcome.found {
        Found::Signature(Signature::Bits(bits)) => (Some(bits), exact),
        _ => (None, exact),
    }
}

/// A fingerprint as a store of its width takes it.
fn as_number<F: Width>(found: Fingerprint) -> Option<F> {
    let bytes: Vec<u8> = found.bytes().collect();
    F::from_be_slice(&bytes)
}

pub fn bytes_of<'a>(text: &'a Bound<'_, PyAny>) -> PyResult<&'a [u8]> {
    if let Ok(text) = text.cast::<PyString>() {
        return Ok(text.to_str()?.as_bytes());
    }
    match text.cast::<PyBytes>() {
        Ok(bytes) => Ok(bytes.as_bytes()),
        Err(_) => {
            let given = text.get_type().name()?.to_string();
            Err(PyTypeError::new_err(format!("a text is str, or bytes of UTF-8, not {given}")))
        }
    }
}

/// The texts of an Arrow array; null is an empty one.
pub fn texts_of<'a>(chunk: &'a dyn Array, to: &mut Vec<&'a [u8]>) -> PyResult<()> {
    match chunk.data_type() {
        DataType::Utf8 => to.extend(
            chunk.as_string::<i32>().iter().map(|text| text.unwrap_or_default().as_bytes()),
        ),
        DataType::LargeUtf8 => {
            to.extend(
                chunk.as_string::<i64>().iter().map(|text| text.unwrap_or_default().as_bytes()),
            );
        }
        DataType::Utf8View => {
            to.extend(chunk.as_string_view().iter().map(|text| text.unwrap_or_default().as_bytes()))
        }
        DataType::Binary => {
            to.extend(chunk.as_binary::<i32>().iter().map(Option::unwrap_or_default))
        }
        DataType::LargeBinary => {
            to.extend(chunk.as_binary::<i64>().iter().map(Option::unwrap_or_default))
        }
        other => {
            return Err(PyTypeError::new_err(format!(
                "an Arrow array of type {other} has no texts"
            )));
        }
    }
    Ok(())
}
