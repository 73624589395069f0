//! What a task of an exchange has received, and the pairs in it.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, UInt16Array};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use fpstore::query::Pair;
use fpstore::{Execution, Fingerprint};
use fpstore_spread::Exchange;
use pyo3::prelude::*;

use super::arrow::ArrowStream;
use super::join::{self, Hand, Pairs, ROWS};
use super::width::Width;

/// For each unit the places of what it received.
pub type Units = BTreeMap<u32, Vec<Place>>;

/// A batch, a row of it, and the side of a unit that it was sent to.
type Place = (usize, usize, u8);

/// What a task has received.
pub struct Received {
    pub units: Units,
    /// The data of each batch.
    pub held: Vec<ArrayRef>,
    /// Whether ids stand behind the fingerprints.
    pub ids: bool,
}

/// Joins it in the background, unit by unit.
///
/// Memory: what was received, and of one unit three times the fingerprints, or once the records and
/// three times the fingerprints.
pub fn stream<F: Width>(exchange: Exchange<F>, received: Received) -> PyResult<ArrowStream> {
    let schema = if received.ids { schema_of_ids() } else { join::schema::<F>() };
    let own = Arc::clone(&schema);
    join::background(&schema, move |hand| {
        let done = match received.ids {
            true => run(&exchange, &received, OfRecords::new(&exchange, IdPairs::new(own, hand))),
            false => run(&exchange, &received, OfFingerprints(Pairs::new(own, hand))),
        };
        if let Err(error) = done {
            hand.fail(error);
        }
    })
}

/// Both sides of a unit.
type Sides<F> = [Vec<F>; 2];

/// What is done with the units and their pairs.
trait Taking<F> {
    /// Starts a unit: gives its sides.
    fn begin(
        &mut self,
        received: &Received,
        unit: u32,
        places: &[Place],
    ) -> Result<Sides<F>, ArrowError>;

    /// Takes pairs of the unit; breaks if nobody reads any more.
    fn take(&mut self, pairs: &[Pair<F>]) -> ControlFlow<()>;

    /// Hands on the rest.
    fn finish(self);
}

fn run<F: Width>(
    exchange: &Exchange<F>,
    received: &Received,
    mut taking: impl Taking<F>,
) -> Result<(), ArrowError> {
    // A task of a cluster has one core.
    let execution = Execution::new().threads(1);
    for (&unit, places) in &received.units {
        let [left, right] = taking.begin(received, unit, places)?;
        let mut flow = ControlFlow::Continue(());
        let done = exchange.join(unit, left, right, &execution, |some| {
            flow = taking.take(some);
            flow
        });
        done.map_err(|error| ArrowError::ExternalError(Box::new(error)))?;
        if flow.is_break() {
            return Ok(());
        }
    }
    taking.finish();
    Ok(())
}

fn schema_of_ids() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("a", DataType::Int64, false),
        Field::new("b", DataType::Int64, false),
        Field::new("distance", DataType::UInt16, false),
    ]))
}

impl Received {
    /// The bytes at a place.
    fn data(&self, batch: usize, row: usize) -> &[u8] {
        let Some(held) = self.held.get(batch) else { return &[] };
        match held.data_type() {
            DataType::LargeBinary => held.as_binary::<i64>().value(row),
            _ => held.as_binary::<i32>().value(row),
        }
    }

    /// Calls `take` with the side, the fingerprints and the ids of each row of a unit.
    fn each<F: Fingerprint>(
        &self,
        places: &[Place],
        mut take: impl FnMut(u8, &mut dyn Iterator<Item = F>, &[u8]),
    ) -> Result<(), ArrowError> {
        let width = F::BITS as usize / 8;
        let record = if self.ids { width + 8 } else { width };
        for &(batch, row, side) in places {
            let data = self.data(batch, row);
            let count = data.len() / record;
            if count * record != data.len() {
                return Err(ArrowError::InvalidArgumentError(format!(
                    "{} bytes of data are no records of {record} bytes; were they sent by this exchange, and with ids?",
                    data.len()
                )));
            }
            let (own, ids) = data.split_at(count * width);
            take(side, &mut own.chunks_exact(width).filter_map(F::from_be_slice), ids);
        }
        Ok(())
    }
}

/// Hands on pairs of fingerprints as they are found.
struct OfFingerprints<'a, F>(Pairs<'a, F>);

impl<F: Width> Taking<F> for OfFingerprints<'_, F> {
    fn begin(
        &mut self,
        received: &Received,
        _: u32,
        places: &[Place],
    ) -> Result<Sides<F>, ArrowError> {
        let mut sides = Sides::default();
        received.each::<F>(places, |side, own, _| sides[usize::from(side)].extend(own))?;
        Ok(sides)
    }

    fn take(&mut self, pairs: &[Pair<F>]) -> ControlFlow<()> {
        self.0.push(pairs)
    }

    fn finish(self) {
        self.0.finish();
    }
}

/// Hands on the pairs of the records that have the fingerprints of a pair.
struct OfRecords<'a, F: Fingerprint> {
    exchange: &'a Exchange<F>,
    records: Records<F>,
    pairs: IdPairs<'a>,
    flow: ControlFlow<()>,
}

impl<'a, F: Fingerprint> OfRecords<'a, F> {
    fn new(exchange: &'a Exchange<F>, pairs: IdPairs<'a>) -> Self {
        Self { exchange, records: Records::new(Vec::new()), pairs, flow: ControlFlow::Continue(()) }
    }
}

impl<F: Fingerprint> Taking<F> for OfRecords<'_, F> {
    fn begin(
        &mut self,
        received: &Received,
        unit: u32,
        places: &[Place],
    ) -> Result<Sides<F>, ArrowError> {
        let (mut sides, mut all) = (Sides::default(), Vec::new());
        received.each::<F>(places, |side, own, ids| {
            for (fingerprint, id) in own.zip(ids.as_chunks().0) {
                sides[usize::from(side)].push(fingerprint);
                all.push((fingerprint, i64::from_be_bytes(*id)));
            }
        })?;
        self.records = Records::new(all);
        if self.exchange.is_home(unit) {
            self.flow = self.records.equal(&mut self.pairs);
        }
        Ok(sides)
    }

    fn take(&mut self, pairs: &[Pair<F>]) -> ControlFlow<()> {
        if self.flow.is_continue() {
            self.flow = pairs.iter().try_for_each(|pair| self.records.near(pair, &mut self.pairs));
        }
        self.flow
    }

    fn finish(self) {
        self.pairs.finish();
    }
}

/// Fingerprints with their ids, in order.
struct Records<F> {
    records: Vec<(F, i64)>,
    /// For each value of the leading bits where the records with it start; and the end.
    starts: Vec<usize>,
}

/// Records per entry of the directory, about.
const PER_ENTRY: usize = 4;

fn leading_bits(count: usize) -> u32 {
    (count / PER_ENTRY).checked_ilog2().unwrap_or(0).min(28)
}

fn entry<F: Fingerprint>(fingerprint: F, bits: u32) -> usize {
    fingerprint.bits(0, bits.min(F::BITS)) as usize
}

impl<F: Fingerprint> Records<F> {
    /// Those of a list, each once.
    fn new(mut records: Vec<(F, i64)>) -> Self {
        records.sort_unstable();
        records.dedup();
        let bits = leading_bits(records.len());
        let mut starts = Vec::with_capacity((1 << bits) + 1);
        for (place, (fingerprint, _)) in records.iter().enumerate() {
            starts.resize(starts.len().max(entry(*fingerprint, bits) + 1), place);
        }
        starts.resize((1 << bits) + 1, records.len());
        Self { records, starts }
    }

    /// The records of a fingerprint.
    fn of(&self, fingerprint: F) -> &[(F, i64)] {
        let at = entry(fingerprint, leading_bits(self.records.len()));
        let here = &self.records[self.starts[at]..self.starts[at + 1]];
        let from = here.partition_point(|(other, _)| *other < fingerprint);
        let count = here[from..].partition_point(|(other, _)| *other == fingerprint);
        &here[from..from + count]
    }

    /// The pairs of records of a pair of fingerprints.
    fn near(&self, pair: &Pair<F>, pairs: &mut IdPairs<'_>) -> ControlFlow<()> {
        for &(_, a) in self.of(pair.a) {
            for &(_, b) in self.of(pair.b) {
                pairs.push(a, b, pair.distance as u16)?;
            }
        }
        ControlFlow::Continue(())
    }

    /// The pairs of records with equal fingerprints.
    fn equal(&self, pairs: &mut IdPairs<'_>) -> ControlFlow<()> {
        for group in self.records.chunk_by(|one, other| one.0 == other.0) {
            for (number, &(_, a)) in group.iter().enumerate() {
                for &(_, b) in &group[number + 1..] {
                    pairs.push(a, b, 0)?;
                }
            }
        }
        ControlFlow::Continue(())
    }
}

/// Pairs of ids that are not handed on yet.
struct IdPairs<'a> {
    schema: SchemaRef,
    hand: &'a Hand,
    pairs: Vec<(i64, i64, u16)>,
}

impl<'a> IdPairs<'a> {
    fn new(schema: SchemaRef, hand: &'a Hand) -> Self {
        Self { schema, hand, pairs: Vec::with_capacity(ROWS) }
    }

    /// Adds one, the smaller id first. A record is in no pair with itself.
    fn push(&mut self, a: i64, b: i64, distance: u16) -> ControlFlow<()> {
        if a != b {
            self.pairs.push((a.min(b), a.max(b), distance));
        }
        match self.pairs.len() == ROWS {
            true => self.hand_on(),
            false => ControlFlow::Continue(()),
        }
    }

    fn finish(mut self) {
        if !self.pairs.is_empty() {
            // It is the last in any case.
            let _: ControlFlow<()> = self.hand_on();
        }
    }

    fn hand_on(&mut self) -> ControlFlow<()> {
        let a = Int64Array::from_iter_values(self.pairs.iter().map(|pair| pair.0));
        let b = Int64Array::from_iter_values(self.pairs.iter().map(|pair| pair.1));
        let distance = UInt16Array::from_iter_values(self.pairs.iter().map(|pair| pair.2));
        self.pairs.clear();
        let columns: Vec<ArrayRef> = vec![Arc::new(a), Arc::new(b), Arc::new(distance)];
        self.hand.on(RecordBatch::try_new(Arc::clone(&self.schema), columns))
    }
}
