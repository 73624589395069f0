//! Opening stores.

use std::path::PathBuf;

use fpstore::{OpenOptions, width_of};
use pyo3::prelude::*;

use super::errors;
use super::store::{AnyStore, Opened, Store};
use super::width::{ByWidth, Width};

/// Opens a store, of whatever width.
///
/// Takes the time to read some KiB, and checks them; with `in_memory` the files are read whole.
///
/// Raises NotFoundError, CorruptError, UnsupportedError.
#[pyfunction]
#[pyo3(signature = (path, *, in_memory=false))]
pub fn open(py: Python<'_>, path: PathBuf, in_memory: bool) -> PyResult<Store> {
    let opened = py.detach(|| match width_of(&path).map_err(errors::of)? {
        32 => of_width(&path, in_memory).map(ByWidth::W32),
        128 => of_width(&path, in_memory).map(ByWidth::W128),
        256 => of_width(&path, in_memory).map(ByWidth::W256),
        _ => of_width(&path, in_memory).map(ByWidth::W64),
    });
    let opened: AnyStore = opened?;
    Ok(Store::new(opened, path, in_memory))
}

fn of_width<F: Width>(path: &PathBuf, in_memory: bool) -> PyResult<Opened<F>> {
    let store =
        OpenOptions::new().in_memory(in_memory).width::<F>().open(path).map_err(errors::of)?;
    Ok(Opened::new(store))
}
