//! The answers of a batch: in CSR form as arrays of numpy, or as a stream of Arrow.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use arrow_array::{
    ArrayRef, LargeListArray, RecordBatch, RecordBatchIterator, UInt16Array, UInt64Array,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use fpstore::{Fingerprint, IdKind, Snapshot};
use numpy::PyArray1;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::arrow::{self, ArrowStream};
use super::errors;
use super::ids::{self, IdList};
use super::input::{self, Raw};
use super::width::Width;

/// Rows of a batch of Arrow.
const ROWS: usize = 1 << 16;
/// Fingerprints of which a thread reads the ids before it looks whether to go on.
const TOGETHER: usize = 256;

/// The answers of a batch in CSR form.
pub struct Answers<F> {
    offsets: Vec<u64>,
    fingerprints: Vec<F>,
    distances: Vec<u16>,
    ids: Option<Ids>,
}

/// The ids of some fingerprints in CSR form.
struct Ids {
    offsets: Vec<u64>,
    ids: IdList,
    kind: IdKind,
}

/// The ids of a fingerprint.
///
/// # Errors
///
/// Those of reading them.
pub fn ids_of<F: Fingerprint>(snapshot: &Snapshot<F>, fingerprint: F) -> PyResult<IdList> {
    let mut ids = Ids::new(snapshot);
    ids.read(snapshot, fingerprint)?;
    Ok(ids.ids)
}

impl<F: Width> Answers<F> {
    /// Answers all queries, which are planned together.
    ///
    /// # Errors
    ///
    /// Those of the batch, and of queries that have another width.
    pub fn of(batch: &fpstore::Batch<F>, raw: &[Raw<'_>]) -> PyResult<Self> {
        let queries = input::together::<F>(raw)?;
        let mut all = Self {
            offsets: Vec::with_capacity(queries.len() + 1),
            fingerprints: Vec::new(),
            distances: Vec::new(),
            ids: None,
        };
        all.offsets.push(0);
        let done = batch.run(&queries, |answer| {
            all.fingerprints.extend(answer.matches.iter().map(|one| one.fingerprint));
            all.distances.extend(answer.matches.iter().map(|one| one.distance as u16));
            all.offsets.push(all.fingerprints.len() as u64);
        });
        done.map_err(errors::of)?;
        Ok(all)
    }

    /// Reads the ids of all matches with so many threads, 0 for one for each core. Ends early where
    /// it is cancelled.
    ///
    /// # Errors
    ///
    /// Those of reading ids.
    pub fn read_ids(
        &mut self,
        snapshot: &Snapshot<F>,
        threads: u16,
        cancelled: &AtomicBool,
    ) -> PyResult<()> {
        let threads = match threads {
            0 => thread::available_parallelism().map_or(1, usize::from),
            threads => threads.into(),
        };
        let share = self.fingerprints.len().div_ceil(threads).max(TOGETHER);
        let parts: Vec<PyResult<Ids>> = thread::scope(|scope| {
            let start = |part| {
                let read = move || Ids::of(snapshot, part, cancelled);
                // This thread does what the system starts no other one for.
                thread::Builder::new().spawn_scoped(scope, read).map_err(|_| read())
            };
            let working: Vec<_> = self.fingerprints.chunks(share).map(start).collect();
            let panicked = |_| Err(PyRuntimeError::new_err("fpstore: a thread panicked"));
            let joined = working.into_iter().map(|one| match one {
                Ok(thread) => thread.join().unwrap_or_else(panicked),
                Err(read) => read,
            });
            joined.collect()
        });
        let mut all = Ids::new(snapshot);
        all.offsets.push(0);
        for part in parts {
            let (part, before) = (part?, all.ids.len() as u64);
            all.offsets.extend(part.offsets.iter().map(|end| before + end));
            match (&mut all.ids, part.ids) {
                (IdList::Numbers(all), IdList::Numbers(part)) => all.extend(part),
                (IdList::Names(all), IdList::Names(part)) => all.extend(part),
                // All are of one store.
                _ => {}
            }
        }
        self.ids = Some(all);
        Ok(())
    }

    /// As arrays of numpy: offsets, fingerprints, distances, and with ids their offsets and these.
    pub fn into_arrays(self, py: Python<'_>) -> PyResult<Bound<'_, PyTuple>> {
        let offsets = PyArray1::from_vec(py, self.offsets).into_any();
        let fingerprints = F::array(py, self.fingerprints)?;
        let distances = PyArray1::from_vec(py, self.distances).into_any();
        let mut all = vec![offsets, fingerprints, distances];
        if let Some(Ids { offsets, ids, .. }) = self.ids {
            let offsets = PyArray1::from_vec(py, offsets).into_any();
            all.extend([offsets, ids::all_to_python(py, ids)?]);
        }
        PyTuple::new(py, all)
    }

    /// As a stream of Arrow with a row for each match: the number of the query, fingerprint,
    /// distance, and with ids a list of these.
    pub fn into_arrow(self) -> PyResult<ArrowStream> {
        let mut fields = vec![
            Field::new("query", DataType::UInt64, false),
            Field::new("fingerprint", arrow::data_type::<F>(), false),
            Field::new("distance", DataType::UInt16, false),
        ];
        if let Some(ids) = &self.ids {
            let list = DataType::LargeList(Arc::new(id_field(ids.kind)));
            fields.push(Field::new("ids", list, false));
        }
        let schema: SchemaRef = Arc::new(Schema::new(fields));
        let own = Arc::clone(&schema);
        let count = self.fingerprints.len();
        let mut query = 0;
        let batches = (0..count).step_by(ROWS).map(move |from| {
            let to = count.min(from + ROWS);
            let mut queries = Vec::with_capacity(to - from);
            while queries.len() < to - from {
                let row = (from + queries.len()) as u64;
                // Those without matches are passed over.
                while self.offsets.get(query + 1).is_some_and(|&end| end <= row) {
                    query += 1;
                }
                let end = self.offsets.get(query + 1).map_or(to, |&end| to.min(end as usize));
                queries.resize(end - from, query as u64);
            }
            let mut columns: Vec<ArrayRef> = vec![
                Arc::new(UInt64Array::from(queries)),
                arrow::column(self.fingerprints[from..to].iter().copied())?,
                Arc::new(UInt16Array::from_iter_values(self.distances[from..to].iter().copied())),
            ];
            if let Some(ids) = &self.ids {
                columns.push(ids.list(from, to)?);
            }
            RecordBatch::try_new(Arc::clone(&own), columns)
        });
        ArrowStream::new(Box::new(RecordBatchIterator::new(batches, schema)))
    }
}

fn id_field(kind: IdKind) -> Field {
    Field::new("item", ids::data_type(kind), false)
}

impl Ids {
    /// None so far, of a store.
    fn new<F: Fingerprint>(snapshot: &Snapshot<F>) -> Self {
        let kind = snapshot.id_kind().unwrap_or(IdKind::Number);
        let ids = match kind.is_named() {
            true => IdList::Names(Vec::new()),
            false => IdList::Numbers(Vec::new()),
        };
        Self { offsets: Vec::new(), ids, kind }
    }

    /// Adds those of a fingerprint.
    fn read<F: Fingerprint>(&mut self, snapshot: &Snapshot<F>, fingerprint: F) -> PyResult<()> {
        match &mut self.ids {
            IdList::Numbers(all) => {
                for id in snapshot.ids(fingerprint).map_err(errors::of)? {
                    all.push(id.map_err(errors::of)?);
                }
            }
            IdList::Names(all) => {
                for id in snapshot.ids(fingerprint).map_err(errors::of)? {
                    all.push(id.map_err(errors::of)?);
                }
            }
        }
        Ok(())
    }

    /// Those of some fingerprints; `offsets` has no 0 at its start.
    fn of<F: Width>(
        snapshot: &Snapshot<F>,
        fingerprints: &[F],
        cancelled: &AtomicBool,
    ) -> PyResult<Self> {
        let mut all = Self::new(snapshot);
        all.offsets.reserve_exact(fingerprints.len());
        for some in fingerprints.chunks(TOGETHER) {
            if cancelled.load(Ordering::Relaxed) {
                break;
            }
            for &fingerprint in some {
                all.read(snapshot, fingerprint)?;
                all.offsets.push(all.ids.len() as u64);
            }
        }
        Ok(all)
    }

    /// Those of the matches `from..to`, as lists.
    fn list(&self, from: usize, to: usize) -> Result<ArrayRef, ArrowError> {
        let offsets = &self.offsets[from..=to];
        let (start, end) = (self.offsets[from], self.offsets[to]);
        let lengths = offsets.windows(2).map(|pair| (pair[1] - pair[0]) as usize);
        let values = ids::column(&self.ids, start as usize, end as usize, self.kind)?;
        let offsets = OffsetBuffer::from_lengths(lengths);
        let item = Arc::new(id_field(self.kind));
        let lists = LargeListArray::try_new(item, offsets, values, None)?;
        Ok(Arc::new(lists))
    }
}
