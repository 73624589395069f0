//! A join that is spread over processes: what each of them sends, and what it does with what it
//! received.

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType;
use fpstore_spread::{HeavyCell, JoinTables};
use numpy::PyArray1;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use pyo3_arrow::PyRecordBatch;

use super::arrow::ArrowStream;
use super::errors;
use super::input::{self, Given};
use super::received::{self, Received, Units};
use super::sent;
use super::width::{ByWidth, Width, by_bits, for_width};

/// An exchange of any width.
type AnyExchange = ByWidth<
    fpstore_spread::Exchange<u32>,
    fpstore_spread::Exchange<u64>,
    fpstore_spread::Exchange<u128>,
    fpstore_spread::Exchange<[u64; 4]>,
>;

/// Makes what holds the type of one width hold it as that of any.
trait Any: Width {
    fn any(exchange: fpstore_spread::Exchange<Self>) -> AnyExchange;
}

impl Any for u32 {
    fn any(exchange: fpstore_spread::Exchange<Self>) -> AnyExchange {
        ByWidth::W32(exchange)
    }
}

impl Any for u64 {
    fn any(exchange: fpstore_spread::Exchange<Self>) -> AnyExchange {
        ByWidth::W64(exchange)
    }
}

impl Any for u128 {
    fn any(exchange: fpstore_spread::Exchange<Self>) -> AnyExchange {
        ByWidth::W128(exchange)
    }
}

impl Any for [u64; 4] {
    fn any(exchange: fpstore_spread::Exchange<Self>) -> AnyExchange {
        ByWidth::W256(exchange)
    }
}

/// Cells, as three arrays: table, cell, rows.
type Cells = (Vec<u32>, Vec<u32>, Vec<u64>);

/// What an exchange was made of: rows, k, bits, parts, tasks, heavy cells.
type Arguments = (u64, u32, u32, u32, u32, Cells);

/// A self-join that is spread over processes which know nothing of each other, such as the tasks of
/// a cluster.
///
/// Every fingerprint is sent to one *unit* of each table; what a *task* has received of its units
/// is joined by `pairs`. All tasks together give each pair within k once. Who sends and who joins
/// make an exchange of the same arguments (it can be pickled).
///
/// `rows` is about how many fingerprints there are, `tasks` about how many tasks are wished,
/// `parts` into how many parts the bits are cut (k + 1 unless it is given; more make more tables
/// with wider tops). `heavy` are cells with many fingerprints, as `Census.heavy` gives them: those
/// with too much work for one task are split.
#[pyclass(frozen, module = "fpstore")]
pub struct Exchange {
    any: AnyExchange,
    arguments: Arguments,
}

#[pymethods]
impl Exchange {
    #[new]
    #[pyo3(signature = (rows, k=3, *, bits=64, parts=None, tasks=64, heavy=None))]
    fn new(
        rows: u64,
        k: u32,
        bits: u32,
        parts: Option<u32>,
        tasks: u32,
        heavy: Option<Cells>,
    ) -> PyResult<Self> {
        let parts = parts.unwrap_or(k.saturating_add(1));
        let heavy = heavy.unwrap_or_default();
        let (of_tables, of_cells, of_rows) = &heavy;
        if of_tables.len() != of_cells.len() || of_tables.len() != of_rows.len() {
            return Err(PyValueError::new_err("heavy has arrays of different lengths"));
        }
        let cells = of_tables.iter().zip(of_cells).zip(of_rows);
        let cells: Vec<HeavyCell> =
            cells.map(|((&table, &cell), &rows)| HeavyCell { table, cell, rows }).collect();
        let any = by_bits!(bits, F => {
            JoinTables::<F>::new(k, parts)
                .and_then(|tables| fpstore_spread::Exchange::new(tables, rows, tasks, &cells))
                .map(<F as Any>::any)
                .map_err(errors::of)
        })?;
        Ok(Self { any, arguments: (rows, k, bits, parts, tasks, heavy) })
    }

    /// Makes an exchange of what `__reduce__` gives.
    #[staticmethod]
    fn _of(rows: u64, k: u32, bits: u32, parts: u32, tasks: u32, heavy: Cells) -> PyResult<Self> {
        Self::new(rows, k, bits, Some(parts), tasks, Some(heavy))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Arguments)> {
        Ok((slf.get_type().getattr("_of")?, slf.get().arguments.clone()))
    }

    /// Bits of a fingerprint.
    #[getter]
    fn bits(&self) -> u32 {
        self.arguments.2
    }

    /// The distance of pairs.
    #[getter]
    fn k(&self) -> u32 {
        self.arguments.1
    }

    /// The number of tables: so often a fingerprint is sent, if its cells are not split.
    #[getter]
    fn tables(&self) -> usize {
        for_width!(&self.any, one => one.tables().table_count())
    }

    /// Bits of the top of a table, the least of all.
    #[getter]
    fn top_bits(&self) -> u32 {
        for_width!(&self.any, one => one.tables().top_bits())
    }

    /// The number of tasks.
    #[getter]
    fn tasks(&self) -> usize {
        for_width!(&self.any, one => one.task_count())
    }

    /// How many cells are split.
    #[getter]
    fn splits(&self) -> usize {
        for_width!(&self.any, one => one.split_count())
    }

    /// About how many fingerprints are sent in all.
    #[getter]
    fn rows_sent(&self) -> u64 {
        for_width!(&self.any, one => one.rows_sent())
    }

    /// The work that is expected of each task, in fingerprints that it receives: a `float64` array.
    #[getter]
    fn loads<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        for_width!(&self.any, one => PyArray1::from_slice(py, one.loads()))
    }

    /// What is sent of fingerprints by one table: a stream of Arrow with a row for each unit, with
    /// the columns task (int32, who is to have it), lane (int32, the unit and a side of it), rows
    /// (int32) and data (binary). `ids` (`uint64`) go with the fingerprints. At most 2^31 bytes of
    /// data for one unit.
    #[pyo3(signature = (table, fingerprints, ids=None))]
    fn send(
        &self,
        py: Python<'_>,
        table: usize,
        fingerprints: &Bound<'_, PyAny>,
        ids: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<ArrowStream> {
        if table >= self.tables() {
            return Err(PyValueError::new_err(format!("there are {} tables", self.tables())));
        }
        let given = Given::of(fingerprints)?;
        let raw = given.raw()?;
        let ids = ids.map(input::ids).transpose()?;
        for_width!(&self.any, one => {
            let mut all = Vec::new();
            for raw in raw {
                all.extend_from_slice(&raw.list()?);
            }
            if ids.as_ref().is_some_and(|ids| ids.len() != all.len()) {
                return Err(PyValueError::new_err("there are not as many ids as fingerprints"));
            }
            py.detach(|| sent::stream(one, table, all, ids))
        })
    }

    /// Pairs within k of what a task has received: a stream of Arrow. `received` are the rows that
    /// were sent to it, as Arrow batches with the columns lane and data. The columns are a, b and
    /// distance: fingerprints, each pair of distinct ones once, the smaller first; or, if ids were
    /// sent (`ids`), of all pairs of records their ids, also of records with equal fingerprints.
    #[pyo3(signature = (received, *, ids=false))]
    fn pairs(&self, received: &Bound<'_, PyAny>, ids: bool) -> PyResult<ArrowStream> {
        let (mut units, mut held) = (Units::new(), Vec::new());
        for batch in received.try_iter()? {
            let batch: PyRecordBatch = batch?.extract()?;
            take(batch.as_ref(), held.len(), &mut units)?;
            held.push(data_of(batch.as_ref())?);
        }
        for_width!(&self.any, one => {
            received::stream(one.clone(), Received { units, held, ids })
        })
    }
}

fn column<'a>(batch: &'a RecordBatch, name: &str) -> PyResult<&'a ArrayRef> {
    batch.column_by_name(name).ok_or_else(|| {
        PyValueError::new_err(format!(
            "there is no column {name:?}; give the batches that were sent"
        ))
    })
}

fn take(batch: &RecordBatch, number: usize, units: &mut Units) -> PyResult<()> {
    let lanes = column(batch, "lane")?;
    let Some(lanes) = lanes.as_primitive_opt::<Int32Type>() else {
        return Err(PyTypeError::new_err(format!("lanes are Int32, not {}", lanes.data_type())));
    };
    for (row, &lane) in lanes.values().iter().enumerate() {
        let Ok(lane) = u32::try_from(lane) else {
            return Err(PyValueError::new_err(format!(
                "a lane cannot be {lane}; give what was sent"
            )));
        };
        units.entry(lane / 2).or_default().push((number, row, (lane % 2) as u8));
    }
    Ok(())
}

fn data_of(batch: &RecordBatch) -> PyResult<ArrayRef> {
    let data = column(batch, "data")?;
    match data.data_type() {
        DataType::Binary | DataType::LargeBinary => Ok(data.clone()),
        other => Err(PyTypeError::new_err(format!("data is Binary, not {other}"))),
    }
}

/// Counts fingerprints by the cells to which an `Exchange` of the same k, bits and parts sends
/// them.
///
/// Memory: 8 bytes per cell, at most 512 KiB per table.
#[pyclass(module = "fpstore")]
pub struct Census {
    bits: u32,
    k: u32,
    parts: u32,
    counts: Vec<Vec<u64>>,
    rows: u64,
}

#[pymethods]
impl Census {
    #[new]
    #[pyo3(signature = (k=3, *, bits=64, parts=None))]
    fn new(k: u32, bits: u32, parts: Option<u32>) -> PyResult<Self> {
        let parts = parts.unwrap_or(k.saturating_add(1));
        let counts = by_bits!(bits, F => {
            let tables = JoinTables::<F>::new(k, parts).map_err(errors::of)?;
            let cells = (0..tables.table_count()).map(|table| vec![0; tables.cell_count(table)]);
            Ok(cells.collect())
        })?;
        Ok(Self { bits, k, parts, counts, rows: 0 })
    }

    /// How many fingerprints were counted.
    #[getter]
    fn rows(&self) -> u64 {
        self.rows
    }

    /// Counts fingerprints.
    fn add(&mut self, fingerprints: &Bound<'_, PyAny>) -> PyResult<()> {
        let given = Given::of(fingerprints)?;
        let (k, parts) = (self.k, self.parts);
        for raw in given.raw()? {
            by_bits!(self.bits, F => {
                let tables = JoinTables::<F>::new(k, parts).map_err(errors::of)?;
                raw.each::<F>(&mut |piece| {
                    for (table, counts) in self.counts.iter_mut().enumerate() {
                        for &fingerprint in piece {
                            counts[tables.cell(table, fingerprint)] += 1;
                        }
                    }
                    Ok(())
                })
            })?;
            self.rows += raw.len() as u64;
        }
        Ok(())
    }

    /// Cells with at least this share of the fingerprints, and two at least: arrays of tables
    /// (`uint32`), cells (`uint32`) and rows (`uint64`).
    #[pyo3(signature = (share))]
    fn heavy<'py>(&self, py: Python<'py>, share: f64) -> PyResult<Bound<'py, PyTuple>> {
        let least = (self.rows as f64 * share).max(2.0);
        let (mut tables, mut cells, mut rows) = (Vec::new(), Vec::new(), Vec::new());
        for (table, counts) in (0u32..).zip(&self.counts) {
            for (cell, &count) in (0u32..).zip(counts) {
                if count as f64 >= least {
                    tables.push(table);
                    cells.push(cell);
                    rows.push(count);
                }
            }
        }
        let arrays = (PyArray1::from_vec(py, tables), PyArray1::from_vec(py, cells));
        (arrays.0, arrays.1, PyArray1::from_vec(py, rows)).into_pyobject(py)
    }
}
