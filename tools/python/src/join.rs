//! Joins, whose pairs come as a stream.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use arrow_array::{RecordBatch, RecordBatchReader, UInt16Array};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use fpstore::query::{JoinEvent, Pair};
use fpstore::{Execution, Join};
use pyo3::prelude::*;

use super::arrow::{self, ArrowStream};
use super::errors;
use super::width::Width;

/// Pairs of a batch, at least.
pub const ROWS: usize = 1 << 16;
/// Batches that wait for the reader.
const WAITING: usize = 4;

/// Pairs, or why there are no more.
pub type Batch = Result<RecordBatch, ArrowError>;

struct PairStream {
    schema: SchemaRef,
    batches: Receiver<Batch>,
}

impl Iterator for PairStream {
    type Item = Batch;

    fn next(&mut self) -> Option<Batch> {
        self.batches.recv().ok()
    }
}

impl RecordBatchReader for PairStream {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

/// Where batches go.
pub struct Hand(SyncSender<Batch>);

impl Hand {
    /// Hands a batch on; breaks if nobody reads any more.
    pub fn on(&self, batch: Batch) -> ControlFlow<()> {
        match self.0.send(batch) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }

    /// Ends the stream with an error.
    pub fn fail(&self, error: impl std::error::Error + Send + Sync + 'static) {
        // Whoever read has gone, or has it.
        let _: ControlFlow<()> = self.on(Err(ArrowError::ExternalError(Box::new(error))));
    }
}

/// Starts work in the background whose batches are a stream. It goes on as they are read, and is to
/// end when nobody reads any more.
///
/// # Errors
///
/// `OSError` if there is no thread for it.
pub fn background(
    schema: &SchemaRef,
    work: impl FnOnce(&Hand) + Send + 'static,
) -> PyResult<ArrowStream> {
    let (send, batches) = sync_channel(WAITING);
    let name = "fpstore join".to_string();
    thread::Builder::new().name(name).spawn(move || work(&Hand(send)))?;
    ArrowStream::new(Box::new(PairStream { schema: Arc::clone(schema), batches }))
}

/// The columns of pairs of fingerprints.
pub fn schema<F: Width>() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("a", arrow::data_type::<F>(), false),
        Field::new("b", arrow::data_type::<F>(), false),
        Field::new("distance", DataType::UInt16, false),
    ]))
}

/// Starts a join in the background.
///
/// # Errors
///
/// Those of options, at once; what comes later comes out of the stream.
pub fn stream<F: Width>(join: Join<F>, threads: u16, memory: Option<u64>) -> PyResult<ArrowStream> {
    let mut execution = Execution::new().threads(threads.into());
    if let Some(bytes) = memory {
        execution = execution.memory(bytes);
    }
    let join = join.execution(execution);
    join.range().map_err(errors::of)?;
    let schema = schema::<F>();
    let own = Arc::clone(&schema);
    background(&schema, move |hand| {
        let mut pairs = Pairs::new(own, hand);
        let done = join.run(|event| match event {
            JoinEvent::Pairs(some) => pairs.push(some),
            _ => ControlFlow::Continue(()),
        });
        match done {
            Ok(_) => pairs.finish(),
            Err(error) => hand.fail(error),
        }
    })
}

/// Pairs of fingerprints that are not handed on yet.
pub struct Pairs<'a, F> {
    schema: SchemaRef,
    hand: &'a Hand,
    pairs: Vec<Pair<F>>,
}

impl<'a, F: Width> Pairs<'a, F> {
    /// None at first; `schema` is [`schema`].
    pub fn new(schema: SchemaRef, hand: &'a Hand) -> Self {
        Self { schema, hand, pairs: Vec::with_capacity(2 * ROWS) }
    }

    /// Adds some; breaks if nobody reads any more.
    pub fn push(&mut self, some: &[Pair<F>]) -> ControlFlow<()> {
        self.pairs.extend_from_slice(some);
        match self.pairs.len() >= ROWS {
            true => self.hand_on(),
            false => ControlFlow::Continue(()),
        }
    }

    /// Hands on the rest.
    pub fn finish(mut self) {
        if !self.pairs.is_empty() {
            // It is the last in any case.
            let _: ControlFlow<()> = self.hand_on();
        }
    }

    fn hand_on(&mut self) -> ControlFlow<()> {
        let batch = batch(&self.pairs, &self.schema);
        self.pairs.clear();
        self.hand.on(batch)
    }
}

fn batch<F: Width>(pairs: &[Pair<F>], schema: &SchemaRef) -> Batch {
    let a = arrow::column(pairs.iter().map(|pair| pair.a))?;
    let b = arrow::column(pairs.iter().map(|pair| pair.b))?;
    let distance = UInt16Array::from_iter_values(pairs.iter().map(|pair| pair.distance as u16));
    RecordBatch::try_new(Arc::clone(schema), vec![a, b, Arc::new(distance)])
}
