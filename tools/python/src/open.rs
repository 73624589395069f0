//! Opening stores.

use std::path::PathBuf;

use fpstore::{OpenOptions, width_of};
use pyo3::prelude::*;

use super::errors;
use super::store::{AnyStore, Opened, Store};
use super::width::{ByWidth, Width};

/// Opens a store, of whatever width.
///
/// Takes the time to read some KiB, and checks them; with `in_memory` the files are read whole. Once searches have read the
/// smallest segments, they keep their fingerprints decoded, in up to `cache_bytes` of memory: 24 MiB where nothing is said, 0 for none.
///
/// For a store that memory does not hold: with `filter_bytes` the first bits of all keys are kept in up to so many bytes of memory, 1.3 to 1.45 for each fingerprint and
/// table, and searches read from the disk only where by these something may be near. Opening reads all tables for that. Where nothing is said, there are none.
///
/// Raises NotFoundError, CorruptError, UnsupportedError.
#[pyfunction]
#[pyo3(signature = (path, *, in_memory=false, cache_bytes=None, filter_bytes=0))]
pub fn open(
    py: Python<'_>,
    path: PathBuf,
    in_memory: bool,
    cache_bytes: Option<u64>,
    filter_bytes: u64,
) -> PyResult<Store> {
    let cache_bytes = cache_bytes.unwrap_or(OpenOptions::CACHE_BYTES);
    let how = OpenOptions::new().in_memory(in_memory).cache_bytes(cache_bytes);
    let how = how.filter_bytes(filter_bytes);
    let opened = py.detach(|| match width_of(&path).map_err(errors::of)? {
        32 => of_width(&path, how).map(ByWidth::W32),
        128 => of_width(&path, how).map(ByWidth::W128),
        256 => of_width(&path, how).map(ByWidth::W256),
        _ => of_width(&path, how).map(ByWidth::W64),
    });
    let opened: AnyStore = opened?;
    Ok(Store::new(opened, path, (in_memory, cache_bytes, filter_bytes)))
}

fn of_width<F: Width>(path: &PathBuf, how: OpenOptions) -> PyResult<Opened<F>> {
    Ok(Opened::new(how.width::<F>().open(path).map_err(errors::of)?))
}
