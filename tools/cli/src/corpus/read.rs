//! The first pass: reads all documents, fingerprints them, and notes what is needed of each.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use fpstore::IdKind;
use fpstore_records::{InputError, RecordProblem, WhySkipped, excerpt, number_id};
use fpstore_text::Fingerprinter;
use rayon::ThreadPool;
use rayon::prelude::*;

use super::choice::Keep;
use super::ledger::{Batch, Ledger};
use super::per_thread::PerThread;
use super::rounds::{Message, each_round};
use super::work::{Mark, Stage, Work};
use crate::documents::{Inputs, Piece, Wanted};
use crate::failure::{Failure, one_line};
use crate::output::say;
use crate::progress::Progress;

/// Pieces for each thread that are fingerprinted together, so that those who are done wait little for the others.
const TOGETHER: usize = 8;
/// Share of the time that may go into notes.
const NOTING: u32 = 20;

/// How documents are read.
pub struct Reading<'a> {
    pub inputs: &'a Inputs,
    pub wanted: &'a Wanted,
    pub keep: &'a Keep,
    /// What the ids of the store are to which documents are added.
    pub added: Option<IdKind>,
    pub skips: bool,
    /// What a page of Parquet may take, and the pieces that are read together.
    pub memory: u64,
    /// The least time between two notes.
    pub period: Duration,
    pub progress: &'a Progress,
}

impl Reading<'_> {
    /// Reads what was not read yet.
    pub fn run(
        &self,
        work: &mut Work,
        fingerprinter: &Fingerprinter,
        pool: &ThreadPool,
    ) -> Result<(), Failure> {
        let mut ledger = Ledger::open(work)?;
        let fingerprinters = PerThread::new(pool.current_num_threads(), || fingerprinter.clone());
        let (mut noted, mut pause) = (Instant::now(), self.period);
        self.progress.start_reading(Some(self.inputs.bytes()));
        let start = (ledger.mark.file, ledger.mark.pieces);
        let round = TOGETHER * pool.current_num_threads();
        each_round(self.inputs, self.wanted, (round, self.memory), start, |messages, bytes| {
            let batches: Vec<Result<Option<Batch>, Failure>> = pool.install(|| {
                messages
                    .into_par_iter()
                    .map(|message| match message {
                        Message::Piece(piece) => {
                            fingerprinters.with(|own| self.batch(&piece, own)).map(Some)
                        }
                        Message::End => Ok(None),
                        Message::Failed(failure) => Err(failure),
                    })
                    .collect()
            });
            for batch in batches {
                match batch? {
                    Some(batch) => {
                        if !batch.told.is_empty() {
                            self.progress.beside(|| say!("{}", batch.told.trim_end()));
                        }
                        ledger.append(&batch)?;
                    }
                    None => ledger.end_file()?,
                }
            }
            self.progress.read(bytes, ledger.mark.documents);
            if noted.elapsed() >= pause {
                let before = Instant::now();
                let mark = ledger.sync()?;
                work.note(|state| state.read = mark)?;
                noted = Instant::now();
                pause = self.period.max((noted - before) * NOTING);
            }
            Ok(ControlFlow::Continue(()))
        })?;
        let mark = ledger.sync()?;
        self.check_column(&mark)?;
        work.note(|state| {
            state.read = mark;
            state.stage = Stage::Decide;
        })
    }

    /// Fails if no document has the column by which one is kept: the name is wrong.
    fn check_column(&self, read: &Mark) -> Result<(), Failure> {
        let documents = read.documents - read.counts.skipped;
        match self.keep.column() {
            Some(column) if documents > 0 && read.counts.with_column == 0 => {
                Err(Failure::Usage(format!(
                    "--keep {}: none of {documents} documents has a value in `{column}`; give the \
                     command again with a column that they have",
                    self.keep
                )))
            }
            _ => Ok(()),
        }
    }

    /// Notes the documents of a piece.
    fn batch(&self, piece: &Piece, fingerprinter: &mut Fingerprinter) -> Result<Batch, Failure> {
        let mut batch = Batch::default();
        piece.documents(|document| {
            let document = match document {
                Ok(document) => document,
                Err(error) => return self.bad(&mut batch, error),
            };
            let number = batch.len();
            let key = self.keep.key(&document).and_then(|key| match &self.wanted.id {
                Some(column) if wanted_of(self.added, &document.id).is_some() => {
                    Err(RecordProblem::Value {
                        column: column.clone(),
                        found: format!("\"{}\"", excerpt(document.id.as_bytes())),
                        wanted: wanted_of(self.added, &document.id).unwrap_or_default(),
                    })
                }
                _ => Ok(key),
            });
            let key = match key {
                Ok(key) => key,
                Err(problem) => return self.bad(&mut batch, piece.error(number, problem)),
            };
            batch.counts.with_column += u64::from(document.extra.is_some());
            if document.text.is_empty() {
                batch.push_without_text(&document.id, key);
                return Ok(());
            }
            let (outcome, exact) = fingerprinter.fingerprint_with_exact(&document.text);
            batch.push(&document.id, key, exact, &outcome.found);
            batch.counts.text_bytes += document.text.len() as u64;
            batch.counts.invalid_utf8 += u64::from(outcome.invalid > 0);
            Ok(())
        })?;
        Ok(batch)
    }

    fn bad(&self, batch: &mut Batch, error: InputError) -> Result<(), Failure> {
        if !self.skips {
            return Err(error.into());
        }
        batch.skip(&format!("fpstore: skipped: {}\n", one_line(&WhySkipped(&error).to_string())));
        Ok(())
    }
}

/// What a document needs as id, where this one cannot be added.
fn wanted_of(added: Option<IdKind>, id: &str) -> Option<&'static str> {
    match added? {
        IdKind::Number if number_id::<u64>(id).is_none() => Some(
            "whole number of 64 bits without zeros in front, as --add needs for ids of this store",
        ),
        IdKind::Text if id.len() > 65_535 => {
            Some("id of at most 65535 bytes, as --add needs in a store of names")
        }
        _ => None,
    }
}
