//! Joins, whose pairs come as a stream.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use arrow_array::{RecordBatch, RecordBatchReader, UInt16Array};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use fpstore::{Execution, Join, JoinEvent, Pair};
use pyo3::prelude::*;

use super::arrow::{self, ArrowStream};
use super::errors;
use super::width::Width;

/// Pairs of a batch, at least.
const ROWS: usize = 1 << 16;
/// Batches that wait for the reader.
const WAITING: usize = 4;

type Batch = Result<RecordBatch, ArrowError>;

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

/// Starts a join in the background. It goes on as batches are read, and ends when nobody reads any more.
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
    let schema: SchemaRef = Arc::new(Schema::new(vec![
        Field::new("a", arrow::data_type::<F>(), false),
        Field::new("b", arrow::data_type::<F>(), false),
        Field::new("distance", DataType::UInt16, false),
    ]));
    let (send, batches) = sync_channel(WAITING);
    let own = Arc::clone(&schema);
    let name = "fpstore join".to_string();
    thread::Builder::new().name(name).spawn(move || run(&join, &own, &send))?;
    ArrowStream::new(Box::new(PairStream { schema, batches }))
}

fn run<F: Width>(join: &Join<F>, schema: &SchemaRef, send: &SyncSender<Batch>) {
    let mut pairs: Vec<Pair<F>> = Vec::with_capacity(2 * ROWS);
    let hand_on = |pairs: &mut Vec<Pair<F>>, least: usize| {
        if pairs.len() < least {
            return ControlFlow::Continue(());
        }
        let batch = batch(pairs, schema);
        pairs.clear();
        match send.send(batch) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    };
    let done = join.run(|event| {
        if let JoinEvent::Pairs(some) = event {
            pairs.extend_from_slice(some);
            return hand_on(&mut pairs, ROWS);
        }
        ControlFlow::Continue(())
    });
    let ended = match done {
        Ok(_) => hand_on(&mut pairs, 1),
        Err(error) => {
            drop(send.send(Err(ArrowError::ExternalError(Box::new(error)))));
            ControlFlow::Break(())
        }
    };
    // Whoever read has what there is, or has gone.
    let _: ControlFlow<()> = ended;
}

fn batch<F: Width>(pairs: &[Pair<F>], schema: &SchemaRef) -> Batch {
    let a = arrow::column(pairs.iter().map(|pair| pair.a))?;
    let b = arrow::column(pairs.iter().map(|pair| pair.b))?;
    let distance = UInt16Array::from_iter_values(pairs.iter().map(|pair| pair.distance as u16));
    RecordBatch::try_new(Arc::clone(schema), vec![a, b, Arc::new(distance)])
}
