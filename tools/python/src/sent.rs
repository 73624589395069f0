//! What is sent of fingerprints by one table of an exchange, some deliveries at a time.

use std::sync::Arc;

use arrow_array::builder::BinaryBuilder;
use arrow_array::{Int32Array, RecordBatch, RecordBatchIterator};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use fpstore::Fingerprint;
use fpstore_spread::{Exchange, Sent};
use pyo3::prelude::*;

use super::arrow::ArrowStream;

/// Bytes of a batch from which on the next delivery waits for the next batch.
const BATCH_BYTES: usize = 1 << 22;

/// The deliveries that are left.
struct Sending<F: Fingerprint> {
    exchange: Exchange<F>,
    fingerprints: Vec<F>,
    ids: Option<Vec<u64>>,
    sent: Sent,
    /// The first that is left.
    next: usize,
    schema: SchemaRef,
}

/// A stream of them.
///
/// Memory: what is given, 4 bytes for each fingerprint that is sent, and a batch.
pub fn stream<F: Fingerprint>(
    exchange: &Exchange<F>,
    table: usize,
    fingerprints: Vec<F>,
    ids: Option<Vec<u64>>,
) -> PyResult<ArrowStream> {
    let sent = exchange.send(table, &fingerprints);
    let field = |name, kind| Field::new(name, kind, false);
    let schema = Arc::new(Schema::new(vec![
        field("task", DataType::Int32),
        field("lane", DataType::Int32),
        field("rows", DataType::Int32),
        field("data", DataType::Binary),
    ]));
    let (exchange, own) = (exchange.clone(), Arc::clone(&schema));
    let batches = Sending { exchange, fingerprints, ids, sent, next: 0, schema: own };
    ArrowStream::new(Box::new(RecordBatchIterator::new(batches, schema)))
}

impl<F: Fingerprint> Iterator for Sending<F> {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let (mut tasks, mut lanes, mut rows) = (Vec::new(), Vec::new(), Vec::new());
        let (mut data, mut bytes, mut sum) = (BinaryBuilder::new(), Vec::new(), 0);
        for (to, places) in self.sent.iter().skip(self.next) {
            tasks.push(self.exchange.task(to.unit) as i32);
            lanes.push((2 * to.unit + u32::from(to.side)) as i32);
            rows.push(places.len() as i32);
            bytes.clear();
            for &place in places {
                bytes.extend_from_slice(self.fingerprints[place as usize].to_be_bytes().as_ref());
            }
            if let Some(ids) = &self.ids {
                places.iter().for_each(|&place| bytes.extend(ids[place as usize].to_be_bytes()));
            }
            sum += bytes.len();
            if i32::try_from(sum).is_err() {
                self.next = usize::MAX;
                let text = "more than 2^31 bytes go to one unit; send fewer together";
                return Some(Err(ArrowError::InvalidArgumentError(text.to_string())));
            }
            data.append_value(&bytes);
            if sum >= BATCH_BYTES {
                break;
            }
        }
        self.next = self.next.saturating_add(tasks.len());
        let [tasks, lanes, rows] =
            [tasks, lanes, rows].map(|list| Arc::new(Int32Array::from(list)));
        (!tasks.is_empty()).then(|| {
            let columns = vec![tasks as _, lanes as _, rows as _, Arc::new(data.finish()) as _];
            RecordBatch::try_new(Arc::clone(&self.schema), columns)
        })
    }
}
