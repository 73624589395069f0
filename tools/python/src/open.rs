//! Opening stores.

use std::path::PathBuf;
use std::time::Duration;

use fpstore::{OpenOptions, width_of};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::errors;
use super::store::{AnyStore, Opened, Store};
use super::width::{ByWidth, Width};

/// Opens a store, of whatever width.
///
/// Takes the time to read some KiB, and checks them; with `in_memory` the files are read whole.
/// In up to `memory` bytes searches build what makes them faster: of the smallest segments hot
/// indexes, 32 bytes for each fingerprint of 64 bits; and once they wait for the disk, of the
/// smallest others prefix filters, 1.3 to 1.45 bytes for each fingerprint and table. Default: a
/// 64th of the memory of the machine, at least 24 MiB and at most 512 MiB; 0 builds nothing.
/// With `refresh_every=0.1` each query sees what others have committed up to 0.1 seconds before it;
/// a look where nothing was written takes 20 to 40 us. Default: only `Store.refresh` looks.
///
/// Raises NotFoundError, CorruptError, UnsupportedError.
#[pyfunction]
#[pyo3(signature = (path, *, in_memory=false, memory=None, refresh_every=None))]
pub fn open(
    py: Python<'_>,
    path: PathBuf,
    in_memory: bool,
    memory: Option<u64>,
    refresh_every: Option<f64>,
) -> PyResult<Store> {
    let mut how = OpenOptions::new().in_memory(in_memory);
    if let Some(seconds) = refresh_every {
        let time = Duration::try_from_secs_f64(seconds).map_err(|_| {
            let message = format!("refresh_every is a number of seconds from 0 on, not {seconds}");
            PyValueError::new_err(message)
        })?;
        how = how.refresh_every(time);
    }
    let how = memory.map_or(how, |memory| how.memory(memory));
    let opened = py.detach(|| match width_of(&path).map_err(errors::of)? {
        32 => of_width(&path, how).map(ByWidth::W32),
        128 => of_width(&path, how).map(ByWidth::W128),
        256 => of_width(&path, how).map(ByWidth::W256),
        _ => of_width(&path, how).map(ByWidth::W64),
    });
    let opened: AnyStore = opened?;
    Ok(Store::new(opened, path, (in_memory, memory, refresh_every)))
}

fn of_width<F: Width>(path: &PathBuf, how: OpenOptions) -> PyResult<Opened<F>> {
    Ok(Opened::new(how.width::<F>().open(path).map_err(errors::of)?))
}
