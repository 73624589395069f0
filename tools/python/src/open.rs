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
/// Searches build hot indexes of the smallest segments, in up to `memory` bytes: 32 for each
/// fingerprint of 64 bits. Default: a 64th of the memory of the machine, at least 24 MiB and at
/// most 512 MiB; 0 builds none.
///
/// For a store that memory does not hold: with `filter_bytes` the first bits of all keys are kept in up to so many bytes of memory, 1.3 to 1.45 for each fingerprint and
/// table, and searches read from the disk only where by these something may be near. Opening reads all tables for that. Where nothing is said, there are none.
///
/// Raises NotFoundError, CorruptError, UnsupportedError.
#[pyfunction]
#[pyo3(signature = (path, *, in_memory=false, memory=None, filter_bytes=0))]
pub fn open(
    py: Python<'_>,
    path: PathBuf,
    in_memory: bool,
    memory: Option<u64>,
    filter_bytes: u64,
) -> PyResult<Store> {
    let how = OpenOptions::new().in_memory(in_memory).filter_bytes(filter_bytes);
    let how = memory.map_or(how, |memory| how.memory(memory));
    let opened = py.detach(|| match width_of(&path).map_err(errors::of)? {
        32 => of_width(&path, how).map(ByWidth::W32),
        128 => of_width(&path, how).map(ByWidth::W128),
        256 => of_width(&path, how).map(ByWidth::W256),
        _ => of_width(&path, how).map(ByWidth::W64),
    });
    let opened: AnyStore = opened?;
    Ok(Store::new(opened, path, (in_memory, memory, filter_bytes)))
}

fn of_width<F: Width>(path: &PathBuf, how: OpenOptions) -> PyResult<Opened<F>> {
    Ok(Opened::new(how.width::<F>().open(path).map_err(errors::of)?))
}
