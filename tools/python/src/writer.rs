//! Stores that are written in place.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fpstore::{
    AsId, Durability, Fingerprint, Id, IdKind, StoreOptions, Verdict, WriterOptions, width_of,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::ids::{self, IdList};
use super::input::{self, Given};
use super::layout::{Wish, distance};
use super::store::{self};
use super::width::{ByWidth, Width, for_width};
use super::{errors, value};

type AnyWriter = ByWidth<Open<u32>, Open<u64>, Open<u128>, Open<[u64; 4]>>;

/// A writer, until it is closed.
struct Open<F: Fingerprint>(Mutex<Option<std::sync::Arc<fpstore::Writer<F>>>>);

impl<F: Fingerprint> Open<F> {
    fn new(writer: fpstore::Writer<F>) -> Self {
        Self(Mutex::new(Some(std::sync::Arc::new(writer))))
    }

    fn get(&self) -> PyResult<std::sync::Arc<fpstore::Writer<F>>> {
        let writer = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        writer.clone().ok_or_else(|| PyValueError::new_err("the writer is closed"))
    }
}

/// Inserts into a store, from `fpstore.create` or `fpstore.open_writer`. One process writes to a
/// store at a time; any number reads it, and sees what was committed at its next `Store.refresh`.
/// As a context manager it closes at the end.
#[pyclass(frozen, module = "fpstore")]
pub struct Writer {
    any: AnyWriter,
    radius: u32,
}

/// Creates an empty store, and gives its writer. `ids` is "number", the default, "text", "uuid",
/// "number128" or "bytes:N", or False for a store without ids.
#[pyfunction]
#[pyo3(signature = (path, *, bits=64, k=None, prefer="balanced", ids=None, window=None, design=None,
    block_bytes=None, recipe=None, durability="group"))]
#[allow(clippy::too_many_arguments, reason = "they are options in Python")]
pub fn create(
    py: Python<'_>,
    path: PathBuf,
    bits: u32,
    k: Option<u32>,
    prefer: &str,
    ids: Option<&Bound<'_, PyAny>>,
    window: Option<f64>,
    design: Option<&str>,
    block_bytes: Option<u32>,
    recipe: Option<&str>,
    durability: &str,
) -> PyResult<Writer> {
    let durability = durability_of(durability)?;
    let window = window.map(Duration::try_from_secs_f64).transpose();
    let window = window.map_err(|error| PyValueError::new_err(format!("window: {error}")))?;
    let layout = Wish { k, prefer, design, block_bytes }.layout(bits, recipe)?;
    let ids = match ids {
        None => Some(IdKind::Number),
        Some(ids) => match ids.extract::<bool>() {
            Ok(ids) => ids.then_some(IdKind::Number),
            Err(_) => Some(ids::kind_of(ids.extract()?)?),
        },
    };
    let mut options = StoreOptions::new().layout(layout).ids(ids).window(window);
    if let Some(recipe) = recipe {
        options = options.recipe(recipe);
    }
    fn of<F: Fingerprint>(
        options: &StoreOptions,
        durability: Durability,
        path: &PathBuf,
    ) -> PyResult<Open<F>> {
        let options = options
            .clone()
            .width::<F>()
            .writer(WriterOptions::new().durability(durability).width());
        options.create(path).map(Open::new).map_err(errors::of)
    }
    let any = py.detach(|| match bits {
        32 => of(&options, durability, &path).map(ByWidth::W32),
        64 => of(&options, durability, &path).map(ByWidth::W64),
        128 => of(&options, durability, &path).map(ByWidth::W128),
        256 => of(&options, durability, &path).map(ByWidth::W256),
        bits => Err(PyValueError::new_err(format!(
            "fingerprints have 32, 64, 128 or 256 bits, not {bits}"
        ))),
    })?;
    Ok(Writer { any, radius: distance(k, recipe) })
}

/// Opens a store for insertions and deletions, also a packed one.
#[pyfunction]
#[pyo3(signature = (path, *, durability="group"))]
pub fn open_writer(py: Python<'_>, path: PathBuf, durability: &str) -> PyResult<Writer> {
    let durability = durability_of(durability)?;
    fn of<F: Fingerprint>(durability: Durability, path: &PathBuf) -> PyResult<Open<F>> {
        let options = WriterOptions::new().durability(durability).width::<F>();
        options.open(path).map(Open::new).map_err(errors::of)
    }
    let any: PyResult<AnyWriter> = py.detach(|| match width_of(&path).map_err(errors::of)? {
        32 => of(durability, &path).map(ByWidth::W32),
        128 => of(durability, &path).map(ByWidth::W128),
        256 => of(durability, &path).map(ByWidth::W256),
        _ => of(durability, &path).map(ByWidth::W64),
    });
    let any = any?;
    let radius = for_width!(&any, one => one.get()?.snapshot().radius());
    Ok(Writer { any, radius })
}

fn durability_of(name: &str) -> PyResult<Durability> {
    match name {
        "immediate" => Ok(Durability::Immediate),
        "group" => Ok(Durability::Group),
        "eventual" => Ok(Durability::Eventual),
        other => Err(PyValueError::new_err(format!(
            "durability is \"immediate\", \"group\" or \"eventual\", not {other:?}"
        ))),
    }
}

#[pymethods]
impl Writer {
    /// Inserts a fingerprint with an id, or without where the store has none. Into the window of
    /// now, or of the time `at`, a `datetime` or seconds since 1970, where the store has windows.
    #[pyo3(signature = (fingerprint, id=None, *, at=None))]
    fn insert(
        &self,
        fingerprint: &Bound<'_, PyAny>,
        id: Option<&Bound<'_, PyAny>>,
        at: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let (py, at) = (fingerprint.py(), at.map(time).transpose()?);
        for_width!(&self.any, one => {
            let (writer, fingerprint) = (one.get()?, value::fingerprint(fingerprint)?);
            let id = id_of(&writer, id)?;
            let insert = || match at {
                Some(at) => writer.insert_at(fingerprint, &id, at),
                None => writer.insert(fingerprint, &id),
            };
            py.detach(insert).map_err(errors::of)
        })
    }

    /// Inserts an array of fingerprints, with an array of ids or without; all at one time, as
    /// `insert`.
    #[pyo3(signature = (fingerprints, ids=None, *, at=None))]
    fn insert_batch(
        &self,
        py: Python<'_>,
        fingerprints: &Bound<'_, PyAny>,
        ids: Option<&Bound<'_, PyAny>>,
        at: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        self.change(py, fingerprints, ids, Change::Insert(at.map(time).transpose()?))
    }

    /// Deletes an array of fingerprints with all their ids, or, with an array of ids, these pairs.
    #[pyo3(signature = (fingerprints, ids=None))]
    fn delete_batch(
        &self,
        py: Python<'_>,
        fingerprints: &Bound<'_, PyAny>,
        ids: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        self.change(py, fingerprints, ids, Change::Delete)
    }

    /// Deletes a fingerprint with all its ids, or with one of them.
    #[pyo3(signature = (fingerprint, id=None))]
    fn delete(
        &self,
        fingerprint: &Bound<'_, PyAny>,
        id: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let py = fingerprint.py();
        for_width!(&self.any, one => {
            let (writer, fingerprint) = (one.get()?, value::fingerprint(fingerprint)?);
            let id = id_of(&writer, id)?;
            let delete = || match &id {
                Some(id) => writer.delete(fingerprint, id),
                None => writer.delete_fingerprint(fingerprint),
            };
            py.detach(delete).map_err(errors::of)
        })
    }

    /// Deletes an id, whatever its fingerprints; gives how many these were. Reads all ids of the
    /// store.
    fn delete_id(&self, py: Python<'_>, id: &Bound<'_, PyAny>) -> PyResult<usize> {
        for_width!(&self.any, one => {
            let writer = one.get()?;
            let id = id_of(&writer, Some(id))?;
            let deleted = py.detach(|| writer.delete_id(&id)).map_err(errors::of)?;
            Ok(deleted.len())
        })
    }

    /// Inserts a fingerprint unless one is stored within k, in one step: None if it was inserted,
    /// else what is near, as `Store.search` gives it. `at` as for `insert`.
    #[pyo3(signature = (fingerprint, id=None, k=None, *, at=None))]
    fn check_and_insert<'py>(
        &self,
        fingerprint: &Bound<'py, PyAny>,
        id: Option<&Bound<'py, PyAny>>,
        k: Option<u32>,
        at: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let (py, k) = (fingerprint.py(), k.unwrap_or(self.radius));
        let at = at.map(time).transpose()?;
        for_width!(&self.any, one => {
            let (writer, fingerprint) = (one.get()?, value::fingerprint(fingerprint)?);
            let id = id_of(&writer, id)?;
            let check = || match at {
                Some(at) => writer.check_and_insert_at(fingerprint, &id, k, at),
                None => writer.check_and_insert(fingerprint, &id, k),
            };
            match py.detach(check).map_err(errors::of)? {
                Verdict::Inserted => Ok(None),
                Verdict::Near(near) => store::matches(py, &near).map(Some),
            }
        })
    }

    /// Makes what was written visible to other processes and, as `durability` says, durable.
    #[pyo3(signature = (durability="immediate"))]
    fn commit(&self, py: Python<'_>, durability: &str) -> PyResult<()> {
        let durability = durability_of(durability)?;
        for_width!(&self.any, one => {
            let writer = one.get()?;
            py.detach(|| writer.commit(durability)).map_err(errors::of)
        })
    }

    /// Makes segments of what stands in the log.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        for_width!(&self.any, one => {
            let writer = one.get()?;
            py.detach(|| writer.flush()).map_err(errors::of)
        })
    }

    /// Merges segments until there are few.
    fn merge(&self, py: Python<'_>) -> PyResult<()> {
        for_width!(&self.any, one => {
            let writer = one.get()?;
            py.detach(|| writer.merge()).map_err(errors::of)
        })
    }

    /// Commits, and lets others write. What is called afterwards raises ValueError.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        for_width!(&self.any, one => {
            let writer = one.0.lock().unwrap_or_else(PoisonError::into_inner).take();
            let Some(writer) = writer else { return Ok(()) };
            py.detach(|| match std::sync::Arc::try_unwrap(writer) {
                Ok(writer) => writer.close(),
                // Another thread is in the midst of a call; the last one closes it.
                Err(writer) => writer.commit(Durability::Immediate),
            })
            .map_err(errors::of)
        })
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_args))]
    fn __exit__(&self, py: Python<'_>, _args: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.close(py)
    }
}

/// An id as the store of a writer has it.
fn id_of<F: Fingerprint>(
    writer: &fpstore::Writer<F>,
    id: Option<&Bound<'_, PyAny>>,
) -> PyResult<Option<Id>> {
    let Some(id) = id else { return Ok(None) };
    let id = ids::of(id)?;
    Ok(Some(match writer.snapshot().id_kind() {
        Some(kind) => ids::fitted(id, kind),
        None => id,
    }))
}

#[derive(Clone, Copy)]
enum Change {
    /// At a time, or now.
    Insert(Option<SystemTime>),
    Delete,
}

/// A time: a `datetime`, or seconds since 1970.
fn time(value: &Bound<'_, PyAny>) -> PyResult<SystemTime> {
    let seconds: f64 = match value.hasattr("timestamp")? {
        true => value.call_method0("timestamp")?.extract()?,
        false => value.extract()?,
    };
    Duration::try_from_secs_f64(seconds)
        .ok()
        .and_then(|since| UNIX_EPOCH.checked_add(since))
        .ok_or_else(|| PyValueError::new_err(format!("at is a time from 1970 on, not {value}")))
}

impl Writer {
    fn change(
        &self,
        py: Python<'_>,
        fingerprints: &Bound<'_, PyAny>,
        ids: Option<&Bound<'_, PyAny>>,
        change: Change,
    ) -> PyResult<()> {
        let (given, ids) = (Given::of(fingerprints)?, ids.map(IdList::of).transpose()?);
        let raw = given.raw()?;
        let count: usize = raw.iter().map(|raw| raw.len()).sum();
        if let Some(ids) = ids.as_ref().filter(|ids| ids.len() != count) {
            return Err(PyValueError::new_err(format!(
                "there are {count} fingerprints and {} ids",
                ids.len()
            )));
        }
        for_width!(&self.any, one => {
            let writer = one.get()?;
            let ids = ids.map(|ids| ids.fitted(writer.snapshot().id_kind()));
            py.detach(|| changed(&writer, &raw, ids.as_ref(), change))
        })
    }
}

fn changed<F: Width>(
    writer: &fpstore::Writer<F>,
    raw: &[input::Raw<'_>],
    ids: Option<&IdList>,
    change: Change,
) -> PyResult<()> {
    fn with<F: Width, I: AsId>(
        writer: &fpstore::Writer<F>,
        pairs: &[(F, I)],
        change: Change,
    ) -> fpstore::Result<()> {
        match change {
            Change::Insert(None) => writer.insert_batch(pairs),
            Change::Insert(Some(at)) => writer.insert_batch_at(pairs, at),
            Change::Delete => writer.delete_batch(pairs),
        }
    }
    let all = input::together::<F>(raw)?;
    let fingerprints = all.iter().copied();
    let done = match (ids, change) {
        (None, Change::Insert(None)) => writer.insert_fingerprints(&all),
        (None, Change::Insert(Some(at))) => writer.insert_fingerprints_at(&all, at),
        (None, Change::Delete) => writer.delete_fingerprints(&all),
        (Some(IdList::Numbers(ids)), change) => {
            with(writer, &fingerprints.zip(ids.iter().copied()).collect::<Vec<_>>(), change)
        }
        (Some(IdList::Names(ids)), change) => {
            with(writer, &fingerprints.zip(ids).collect::<Vec<_>>(), change)
        }
    };
    done.map_err(errors::of)
}
