//! Results as streams of Arrow.

use std::sync::Arc;

use arrow_array::builder::FixedSizeBinaryBuilder;
use arrow_array::{
    ArrayRef, BooleanArray, RecordBatch, RecordBatchIterator, RecordBatchReader, UInt32Array,
    UInt64Array,
};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use fpstore::Fingerprint;
use fpstore::query::Clusters;
use pyo3::prelude::*;
use pyo3_arrow::PyRecordBatchReader;

use super::width::Width;

/// Rows of a batch of clusters.
const ROWS: usize = 1 << 16;

/// A stream of Arrow, which can be read once: `pyarrow.table(stream)`, `polars.DataFrame(stream)`,
/// duckdb, or `pyarrow.RecordBatchReader.from_stream(stream)` for batch by batch. Whoever stops
/// reading stops the work.
#[pyclass(frozen, module = "fpstore")]
pub struct ArrowStream(Py<PyRecordBatchReader>);

impl ArrowStream {
    /// What a reader gives.
    pub fn new(reader: Box<dyn RecordBatchReader + Send>) -> PyResult<Self> {
        Python::attach(|py| Ok(Self(Py::new(py, PyRecordBatchReader::new(reader))?)))
    }
}

#[pymethods]
impl ArrowStream {
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.0.bind(py).call_method1("__arrow_c_stream__", (requested_schema,))
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.0.bind(py).call_method0("__arrow_c_schema__")
    }

    /// As a table of pyarrow.
    fn to_pyarrow<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("pyarrow")?.call_method1("table", (slf,))
    }

    /// As a data frame of pandas.
    fn to_pandas<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Self::to_pyarrow(slf)?.call_method0("to_pandas")
    }

    /// As a data frame of polars.
    fn to_polars<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("polars")?.call_method1("DataFrame", (slf,))
    }
}

/// The type of fingerprints.
pub fn data_type<F: Fingerprint>() -> DataType {
    match F::BITS {
        32 => DataType::UInt32,
        64 => DataType::UInt64,
        bits => DataType::FixedSizeBinary(bits as i32 / 8),
    }
}

/// A column of them.
///
/// # Errors
///
/// None in practice: the bytes have the width of the column.
pub fn column<F: Fingerprint>(
    list: impl ExactSizeIterator<Item = F>,
) -> Result<ArrayRef, ArrowError> {
    match F::BITS {
        32 => Ok(Arc::new(UInt32Array::from_iter_values(list.map(|one| one.bits(0, 32) as u32)))),
        64 => Ok(Arc::new(UInt64Array::from_iter_values(list.map(|one| one.bits(0, 64))))),
        bits => {
            let mut builder = FixedSizeBinaryBuilder::with_capacity(list.len(), bits as i32 / 8);
            for one in list {
                builder.append_value(one.to_be_bytes())?;
            }
            Ok(Arc::new(builder.finish()))
        }
    }
}

/// Clusters, some rows at a time.
pub fn clusters<F: Width>(clusters: Clusters<F>) -> PyResult<ArrowStream> {
    let schema: SchemaRef = Arc::new(Schema::new(vec![
        Field::new("fingerprint", data_type::<F>(), false),
        Field::new("cluster", DataType::UInt64, false),
        Field::new("representative", data_type::<F>(), false),
        Field::new("kept", DataType::Boolean, false),
    ]));
    let own = Arc::clone(&schema);
    let mut batches = Vec::new();
    let rows: Vec<_> = clusters.iter().collect();
    for rows in rows.chunks(ROWS) {
        let columns = column(rows.iter().map(|row| row.fingerprint)).and_then(|fingerprints| {
            let cluster = UInt64Array::from_iter_values(rows.iter().map(|row| row.cluster));
            let representatives = column(rows.iter().map(|row| row.representative))?;
            let kept = BooleanArray::from_iter(rows.iter().map(|row| Some(row.kept())));
            RecordBatch::try_new(
                Arc::clone(&own),
                vec![fingerprints, Arc::new(cluster), representatives, Arc::new(kept)],
            )
        });
        batches.push(columns);
    }
    ArrowStream::new(Box::new(RecordBatchIterator::new(batches, schema)))
}
