//! Features of documents that are near another one, for checks of pairs on the texts.
//!
//! The features of a document take more than its text. So those of documents without neighbours,
//! which are most, are not noted; the inputs are read once more for the others.

use std::ops::ControlFlow;

use fpstore_text::Fingerprinter;
use rayon::ThreadPool;
use rayon::prelude::*;

use crate::choice::Verify;
use crate::column::{Column, Runs};
use crate::error::Error;
use crate::ledger::FEATURES;
use crate::near::{Index, Near};
use crate::per_thread::PerThread;
use crate::read::Reading;
use crate::rounds::{Message, each_round};
use crate::work::Work;

/// Pieces for each thread that are looked at together.
const TOGETHER: usize = 8;
/// Stands for documents whose features are not noted.
const NONE: u32 = u32::MAX;

/// The features of some documents.
pub struct Features {
    /// For each document the number of its run.
    numbers: Vec<u32>,
    runs: Runs,
}

impl Features {
    /// Reads the inputs again, and notes the features of those of `nodes` that have neighbours.
    pub fn note(
        index: &dyn Index,
        nodes: &[u32],
        documents: u32,
        reading: &Reading<'_>,
        work: &Work,
        fingerprinter: &Fingerprinter,
        pool: &ThreadPool,
    ) -> Result<Self, Error> {
        let with_neighbours: Vec<Option<u32>> = pool.install(|| {
            nodes
                .par_iter()
                .map(|&node| {
                    let mut near = Vec::new();
                    index.near(node, &mut near)?;
                    Ok((!near.is_empty()).then_some(node))
                })
                .collect::<Result<_, Error>>()
        })?;
        let mut numbers = vec![NONE; documents as usize];
        for node in with_neighbours.into_iter().flatten() {
            numbers[node as usize] = 0;
        }
        for (number, wanted) in (0..).zip(numbers.iter_mut().filter(|number| **number != NONE)) {
            *wanted = number;
        }
        let [ends_path, bytes_path] = FEATURES.map(|name| work.path(name));
        let mut ends = Column::open(ends_path.clone(), 0)?;
        let mut bytes = Column::open(bytes_path.clone(), 0)?;
        let threads = pool.current_num_threads();
        let own = PerThread::new(threads, || fingerprinter.clone());
        let mut first = 0usize;
        let most = (TOGETHER * threads, reading.memory);
        each_round(reading.inputs, reading.wanted, most, (0, 0), |messages, _| {
            reading.monitor.check()?;
            let mut pieces = Vec::new();
            for message in messages {
                match message {
                    Message::Piece(piece) => {
                        let records = piece.len();
                        pieces.push((first, piece));
                        first += records;
                    }
                    Message::End => {}
                    Message::Failed(failure) => return Err(failure),
                }
            }
            let sets: Vec<Vec<Vec<u64>>> = pool.install(|| {
                let sets = pieces.par_iter().map(|(first, piece)| {
                    let (mut sets, mut at) = (Vec::new(), *first);
                    // A record that is no document has no features to be noted.
                    let _: Result<(), ()> = piece.documents(|document| {
                        let is_wanted = numbers.get(at).is_some_and(|number| *number != NONE);
                        at += 1;
                        if let (true, Ok(document)) = (is_wanted, document) {
                            let mut set = Vec::new();
                            own.with(|own| own.feature_set(&document.text, &mut set));
                            sets.push(set);
                        }
                        Ok(())
                    });
                    sets
                });
                sets.collect()
            });
            for set in sets.iter().flatten() {
                let of_set: Vec<u8> = set.iter().flat_map(|value| value.to_le_bytes()).collect();
                bytes.append(&of_set)?;
                ends.append(&bytes.bytes().to_le_bytes())?;
            }
            Ok(ControlFlow::Continue(()))
        })?;
        ends.sync()?;
        bytes.sync()?;
        Ok(Self { numbers, runs: Runs::open(&ends_path, &bytes_path)? })
    }

    /// Those that were noted with all documents.
    pub fn noted(documents: u32, work: &Work) -> Result<Self, Error> {
        let [ends, bytes] = FEATURES.map(|name| work.path(name));
        Ok(Self { numbers: (0..documents).collect(), runs: Runs::open(&ends, &bytes)? })
    }

    /// Those of a document, ascending.
    pub fn of(&self, document: u32) -> Result<Vec<u64>, Error> {
        let number = self.numbers.get(document as usize).copied().unwrap_or(NONE);
        let mut bytes = Vec::new();
        if number != NONE {
            self.runs.read(number.into(), &mut bytes)?;
        }
        Ok(bytes.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect())
    }
}

/// An index whose pairs are checked on the features of the documents.
pub struct Verified<'a> {
    pub index: &'a dyn Index,
    pub features: &'a Features,
    pub verify: Verify,
}

impl Index for Verified<'_> {
    fn near(&self, document: u32, found: &mut Vec<Near>) -> Result<(), Error> {
        let start = found.len();
        self.index.near(document, found)?;
        if found.len() == start {
            return Ok(());
        }
        let own = self.features.of(document)?;
        let mut kept = start;
        for at in start..found.len() {
            let near = found[at];
            let other = self.features.of(near.document)?;
            if self.verify.passes(&own, &other) {
                let jaccard = fpstore_text::jaccard(&own, &other) as f32;
                found[kept] = Near { jaccard, ..near };
                kept += 1;
            }
        }
        found.truncate(kept);
        Ok(())
    }
}
