//! A store that is open.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use fpstore::{Fingerprint, Match, Searcher, Snapshot};
use numpy::PyArray1;
use pyo3::exceptions::{PyOverflowError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::answers::{self, Answers};
use super::arrow::{self, ArrowStream};
use super::input::Given;
use super::run::How;
use super::width::{ByWidth, Width, for_width};
use super::{errors, ids, join, plan, value};

/// A store of fingerprints of one width.
pub struct Opened<F: Fingerprint> {
    pub store: fpstore::Store<F>,
    idle: Mutex<Idle<F>>,
}

/// Searchers that nobody uses now; they keep their buffers.
struct Idle<F: Fingerprint> {
    searchers: Vec<Searcher<F>>,
    /// How often the store showed something new; searchers of before see the old.
    refreshed: u64,
}

/// A store of any width.
pub type AnyStore = ByWidth<Opened<u32>, Opened<u64>, Opened<u128>, Opened<[u64; 4]>>;

impl<F: Fingerprint> Opened<F> {
    /// A store that was just opened.
    pub fn new(store: fpstore::Store<F>) -> Self {
        Self { store, idle: Mutex::new(Idle { searchers: Vec::new(), refreshed: 0 }) }
    }

    /// What the store holds now, as far as it is to be looked at.
    pub fn snapshot(&self) -> PyResult<Snapshot<F>> {
        self.see(&mut self.idle(), fpstore::Store::refresh_if_due)?;
        Ok(self.store.snapshot())
    }

    /// Looks at the store. Nobody takes a searcher meanwhile.
    fn see(
        &self,
        idle: &mut Idle<F>,
        look: impl FnOnce(&fpstore::Store<F>) -> fpstore::Result<bool>,
    ) -> PyResult<bool> {
        let changed = look(&self.store).map_err(errors::of)?;
        if changed {
            idle.searchers.clear();
            idle.refreshed += 1;
        }
        Ok(changed)
    }

    fn idle(&self) -> MutexGuard<'_, Idle<F>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows what was committed meanwhile.
    fn refresh(&self) -> PyResult<bool> {
        self.see(&mut self.idle(), fpstore::Store::refresh)
    }

    /// Searches with a searcher of its own.
    fn with_searcher<T>(
        &self,
        search: impl FnOnce(&mut Searcher<F>) -> fpstore::Result<T>,
    ) -> PyResult<T> {
        let (mut searcher, refreshed) = {
            let mut idle = self.idle();
            self.see(&mut idle, fpstore::Store::refresh_if_due)?;
            let searcher = idle.searchers.pop().unwrap_or_else(|| self.store.searcher());
            (searcher, idle.refreshed)
        };
        let found = search(&mut searcher).map_err(errors::of);
        let mut idle = self.idle();
        if idle.refreshed == refreshed {
            idle.searchers.push(searcher);
        }
        found
    }
}

/// How a store was opened: whether in memory, the bytes for what searches build, and the seconds
/// after which it is looked at again.
pub type Opening = (bool, Option<u64>, Option<f64>);

/// The path of a store, and how it was opened: what `_reopen` takes.
type ReopenArgs = (PathBuf, bool, Option<u64>, Option<f64>);

/// A store of fingerprints, from `fpstore.open`.
///
/// It can be shared by threads, used in forked processes, and pickled: what arrives opens the same
/// path. It shows what was committed when it was opened, or at the last `refresh`; with
/// `refresh_every` each query looks by itself where the last look is so old.
#[pyclass(frozen, module = "fpstore")]
pub struct Store {
    pub any: AnyStore,
    path: PathBuf,
    how: Opening,
}

impl Store {
    pub fn new(any: AnyStore, path: PathBuf, how: Opening) -> Self {
        Self { any, path, how }
    }

    /// The distance that is meant.
    fn k(&self, k: Option<u32>) -> PyResult<u32> {
        let (radius, bits) = (self.radius(), self.bits());
        match k {
            Some(k) if k > bits => Err(PyValueError::new_err(format!(
                "k is a number of bits, from 0 to {bits}, not {k}"
            ))),
            k => Ok(k.unwrap_or(radius)),
        }
    }
}

/// Fingerprints and distances, as two arrays.
pub fn matches<'py, F: Width>(
    py: Python<'py>,
    found: &[Match<F>],
) -> PyResult<Bound<'py, PyTuple>> {
    let fingerprints = F::array(py, found.iter().map(|one| one.fingerprint).collect())?;
    let distances: Vec<u16> = found.iter().map(|one| one.distance as u16).collect();
    (fingerprints, PyArray1::from_vec(py, distances)).into_pyobject(py)
}

#[pymethods]
impl Store {
    /// Where the store is.
    #[getter]
    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    /// Bits of a fingerprint: 32, 64, 128 or 256.
    #[getter]
    fn bits(&self) -> u32 {
        match &self.any {
            ByWidth::W32(_) => 32,
            ByWidth::W64(_) => 64,
            ByWidth::W128(_) => 128,
            ByWidth::W256(_) => 256,
        }
    }

    /// The distance that the store was planned for; searches take it where none is given.
    #[getter]
    fn radius(&self) -> u32 {
        for_width!(&self.any, one => one.store.radius())
    }

    /// How often the store was written so far.
    #[getter]
    fn generation(&self) -> u64 {
        for_width!(&self.any, one => one.store.generation())
    }

    /// Whether the fingerprints have ids.
    #[getter]
    fn has_ids(&self) -> bool {
        for_width!(&self.any, one => one.store.has_ids())
    }

    /// What the ids are: "number", "text", "uuid", "number128" or "bytes:N"; None if there are
    /// none.
    #[getter]
    fn id_kind(&self) -> Option<String> {
        for_width!(&self.any, one => one.store.id_kind()).map(ids::name_of)
    }

    /// The recipe by which the fingerprints were made of texts, as a line, or None.
    #[getter]
    fn recipe(&self) -> Option<String> {
        for_width!(&self.any, one => one.store.recipe())
    }

    fn __len__(&self) -> PyResult<usize> {
        let count = for_width!(&self.any, one => one.store.len());
        usize::try_from(count)
            .map_err(|_| PyOverflowError::new_err("there are more than a length can tell"))
    }

    fn __contains__(&self, fingerprint: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.contains(fingerprint)
    }

    fn __repr__(&self) -> String {
        let count = for_width!(&self.any, one => one.store.len());
        format!(
            "<fpstore.Store {:?}: {count} fingerprints of {} bits, k = {}>",
            self.path,
            self.bits(),
            self.radius()
        )
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, ReopenArgs)> {
        let open = py.import("fpstore")?.getattr("_reopen")?;
        let (in_memory, memory, refresh_every) = self.how;
        Ok((open, (self.path.clone(), in_memory, memory, refresh_every)))
    }

    /// Shows what was committed meanwhile; tells whether there was something.
    fn refresh(&self, py: Python<'_>) -> PyResult<bool> {
        for_width!(&self.any, one => py.detach(|| one.refresh()))
    }

    /// Whether a fingerprint is stored.
    fn contains(&self, fingerprint: &Bound<'_, PyAny>) -> PyResult<bool> {
        let py = fingerprint.py();
        for_width!(&self.any, one => {
            let fingerprint = value::fingerprint(fingerprint)?;
            py.detach(|| one.snapshot()?.contains(fingerprint).map_err(errors::of))
        })
    }

    /// All stored fingerprints within k of one, the nearest first, of equal distance the lesser
    /// first: their array, and a `uint16` array of distances. k is the store's radius unless it is
    /// given.
    #[pyo3(signature = (fingerprint, k=None))]
    fn search<'py>(
        &self,
        fingerprint: &Bound<'py, PyAny>,
        k: Option<u32>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let (py, k) = (fingerprint.py(), self.k(k)?);
        for_width!(&self.any, one => {
            let fingerprint = value::fingerprint(fingerprint)?;
            let found = py.detach(|| one.with_searcher(|searcher| Ok(searcher.search(fingerprint, k)?.to_vec())))?;
            matches(py, &found)
        })
    }

    /// The n nearest, of those within k; all distances unless it is given. As `search` gives them.
    #[pyo3(signature = (fingerprint, n, k=None))]
    fn nearest<'py>(
        &self,
        fingerprint: &Bound<'py, PyAny>,
        n: usize,
        k: Option<u32>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let (py, k) = (fingerprint.py(), self.k(k.or(Some(self.bits())))?);
        for_width!(&self.any, one => {
            let fingerprint = value::fingerprint(fingerprint)?;
            let found = py.detach(|| one.with_searcher(|searcher| searcher.nearest(fingerprint, n, k)))?;
            matches(py, &found)
        })
    }

    /// Whether anything is within k, which takes less time than `search`.
    #[pyo3(signature = (fingerprint, k=None))]
    fn any_within(&self, fingerprint: &Bound<'_, PyAny>, k: Option<u32>) -> PyResult<bool> {
        let (py, k) = (fingerprint.py(), self.k(k)?);
        for_width!(&self.any, one => {
            let fingerprint = value::fingerprint(fingerprint)?;
            py.detach(|| one.with_searcher(|searcher| searcher.any_within(fingerprint, k)))
        })
    }

    /// The ids of a fingerprint in ascending order: a `uint64` array of numbers, or a list of
    /// names, which are `str`, `uuid.UUID`, `int` or `bytes`; empty if it is not stored, or the
    /// store has no ids.
    fn ids<'py>(&self, fingerprint: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = fingerprint.py();
        let ids = for_width!(&self.any, one => {
            let fingerprint = value::fingerprint(fingerprint)?;
            py.detach(|| answers::ids_of(&one.snapshot()?, fingerprint))?
        });
        ids::all_to_python(py, ids)
    }

    /// All fingerprints in ascending order, as one array.
    fn fingerprints<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        for_width!(&self.any, one => {
            let all = How::default().run(py, |_| {
                one.snapshot()?.iter().collect::<fpstore::Result<Vec<_>>>().map_err(errors::of)
            })?;
            Width::array(py, all)
        })
    }

    /// Searches for many: (offsets, fingerprints, distances), where those of query i stand from
    /// `offsets[i]` to `offsets[i + 1]`, in the order of `search`. With `ids` two arrays more:
    /// id_offsets, ids, of each match. With `arrow` a stream of Arrow with a row for each match
    /// instead, in the same order, with the columns query (its row number), fingerprint, distance,
    /// and with `ids` a list of these.
    #[pyo3(signature = (queries, k=None, *, ids=false, arrow=false, limit=None, threads=0, memory=None, progress=None))]
    #[allow(clippy::too_many_arguments, reason = "they are options in Python")]
    fn search_batch<'py>(
        &self,
        py: Python<'py>,
        queries: &Bound<'py, PyAny>,
        k: Option<u32>,
        ids: bool,
        arrow: bool,
        limit: Option<usize>,
        threads: u16,
        memory: Option<u64>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let k = self.k(k)?;
        let given = Given::of(queries)?;
        let raw = given.raw()?;
        let how = How { threads, memory, progress, ..How::default() };
        for_width!(&self.any, one => {
            let snapshot = one.snapshot()?;
            let (running, execution) = how.start();
            let mut batch = snapshot.batch(k).execution(execution);
            if let Some(limit) = limit {
                batch = batch.limit(limit);
            }
            let cancelled = running.cancelled();
            let answers = running.finish(py, || {
                let mut answers = Answers::of(&batch, &raw)?;
                if ids {
                    answers.read_ids(&snapshot, threads, &cancelled)?;
                }
                Ok(answers)
            })?;
            match arrow {
                true => Ok(answers.into_arrow()?.into_pyobject(py)?.into_any()),
                false => Ok(answers.into_arrays(py)?.into_any()),
            }
        })
    }

    /// Pairs of stored fingerprints within k, each once, as a stream of Arrow with the columns a, b
    /// and distance.
    #[pyo3(signature = (k=None, *, threads=0, memory=None))]
    fn self_join(
        &self,
        k: Option<u32>,
        threads: u16,
        memory: Option<u64>,
    ) -> PyResult<ArrowStream> {
        let k = self.k(k)?;
        for_width!(&self.any, one => join::stream(one.snapshot()?.self_join(k), threads, memory))
    }

    /// Pairs of a fingerprint of this store and one of another within k, as `self_join` gives them.
    #[pyo3(signature = (other, k=None, *, threads=0, memory=None))]
    fn join(
        &self,
        other: &Store,
        k: Option<u32>,
        threads: u16,
        memory: Option<u64>,
    ) -> PyResult<ArrowStream> {
        let k = self.k(k)?;
        match (&self.any, &other.any) {
            (ByWidth::W32(a), ByWidth::W32(b)) => {
                join::stream(a.snapshot()?.join(b.snapshot()?, k), threads, memory)
            }
            (ByWidth::W64(a), ByWidth::W64(b)) => {
                join::stream(a.snapshot()?.join(b.snapshot()?, k), threads, memory)
            }
            (ByWidth::W128(a), ByWidth::W128(b)) => {
                join::stream(a.snapshot()?.join(b.snapshot()?, k), threads, memory)
            }
            (ByWidth::W256(a), ByWidth::W256(b)) => {
                join::stream(a.snapshot()?.join(b.snapshot()?, k), threads, memory)
            }
            _ => Err(PyValueError::new_err(format!(
                "a store of {} bits cannot be joined with one of {} bits",
                self.bits(),
                other.bits()
            ))),
        }
    }

    /// Clusters of near duplicates, and which fingerprint of each is kept: a stream of Arrow with
    /// the columns fingerprint, cluster, representative and kept, in the order of the fingerprints.
    /// `keep` is "smallest-id" or "central".
    #[pyo3(signature = (k=None, *, keep="smallest-id", threads=0, memory=None, progress=None))]
    fn dedup(
        &self,
        py: Python<'_>,
        k: Option<u32>,
        keep: &str,
        threads: u16,
        memory: Option<u64>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<ArrowStream> {
        let k = self.k(k)?;
        let keep = match keep {
            "smallest-id" => fpstore::query::Keep::SmallestId,
            "central" => fpstore::query::Keep::Central,
            other => {
                return Err(PyValueError::new_err(format!(
                    "keep is \"smallest-id\" or \"central\", not {other:?}"
                )));
            }
        };
        let how = How { threads, memory, progress, ..How::default() };
        for_width!(&self.any, one => {
            let clustering = one.snapshot()?.clusters(k).keep(keep);
            let clusters = how.run(py, |execution| clustering.execution(execution).run().map_err(errors::of))?;
            arrow::clusters(clusters)
        })
    }

    /// What the store is made of, as a dict: bits, radius, fingerprints, bytes, segments, each with
    /// the second since 1970 at which its window begins where the store has windows.
    fn stat<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let stats = for_width!(&self.any, one => py.detach(|| one.snapshot()?.stats().map_err(errors::of))?);
        plan::of_stats(py, &stats)
    }

    /// Reads every byte and checks it; gives what was checked, as a dict. Raises CorruptError.
    #[pyo3(signature = (*, threads=0, progress=None))]
    fn verify<'py>(
        &self,
        py: Python<'py>,
        threads: u16,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let how = How { threads, progress, ..How::default() };
        let report = for_width!(&self.any, one => {
            let snapshot = one.snapshot()?;
            how.run(py, |execution| snapshot.verify_with(&execution).map_err(errors::of))?
        });
        plan::of_report(py, &report)
    }
}
