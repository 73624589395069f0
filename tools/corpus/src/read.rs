//! The first pass: reads all documents, fingerprints them, and notes what is needed of each.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use fpstore::IdKind;
use fpstore_records::{InputError, RecordProblem, WhySkipped, excerpt, number_id};
use fpstore_text::Fingerprinter;
use rayon::ThreadPool;
use rayon::prelude::*;

use crate::choice::Keep;
use crate::documents::{Document, Inputs, Piece, Wanted};
use crate::error::Error;
use crate::ledger::{Batch, Ledger};
use crate::monitor::{Event, Monitor};
use crate::per_thread::PerThread;
use crate::rounds::{Message, each_round};
use crate::work::{Mark, Stage, Work};

/// Pieces for each thread that are fingerprinted together, so that those who are done wait little
/// for the others.
const TOGETHER: usize = 8;
/// Share of the time that may go into notes.
const NOTING: u32 = 20;
/// The most bytes of an id that is added to a store. A name has 65,535, of which some tell it from
/// others.
const LONGEST_ID: usize = 65_500;

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
    pub monitor: &'a Monitor,
}

impl Reading<'_> {
    /// Reads what was not read yet.
    pub fn run(
        &self,
        work: &mut Work,
        fingerprinter: &Fingerprinter,
        pool: &ThreadPool,
    ) -> Result<(), Error> {
        let mut ledger = Ledger::open(work, false)?;
        let fingerprinters = PerThread::new(pool.current_num_threads(), || fingerprinter.clone());
        let (mut noted, mut pause) = (Instant::now(), self.period);
        self.monitor.tell(Event::Start { bytes: self.inputs.bytes() });
        let start = (ledger.mark.file, ledger.mark.pieces);
        let round = TOGETHER * pool.current_num_threads();
        each_round(self.inputs, self.wanted, (round, self.memory), start, |messages, bytes| {
            let batches: Vec<Result<Option<Batch>, Error>> = pool.install(|| {
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
                            self.monitor.tell(Event::Skipped(batch.told.trim_end()));
                        }
                        ledger.append(&batch)?;
                    }
                    None => ledger.end_file()?,
                }
            }
            self.monitor.tell(Event::Read { bytes, documents: ledger.mark.documents });
            if noted.elapsed() >= pause {
                let before = Instant::now();
                let mark = ledger.sync()?;
                work.note(|state| state.read = mark)?;
                noted = Instant::now();
                pause = self.period.max((noted - before) * NOTING);
            }
            self.monitor.check()?;
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
    fn check_column(&self, read: &Mark) -> Result<(), Error> {
        let documents = read.documents - read.counts.skipped;
        match self.keep.column() {
            Some(column) if documents > 0 && read.counts.with_column == 0 => {
                Err(Error::NoColumn { keep: self.keep.to_string(), column, documents })
            }
            _ => Ok(()),
        }
    }

    /// Notes the documents of a piece.
    fn batch(&self, piece: &Piece, fingerprinter: &mut Fingerprinter) -> Result<Batch, Error> {
        let mut batch = Batch::default();
        if let Some((place, column)) = piece.taken() {
            return Err(Error::Taken { place, column: column.to_string() });
        }
        let id = self.wanted.id.as_deref();
        let noting = Noting { keep: self.keep, added: self.added, id, with_features: false };
        piece.documents(|document| {
            let document = match document {
                Ok(document) => document,
                Err(error) => return self.bad(&mut batch, error),
            };
            let number = batch.len();
            match noting.note(&mut batch, &document, fingerprinter) {
                Ok(()) => Ok(()),
                Err(problem) => self.bad(&mut batch, piece.error(number, problem)),
            }
        })?;
        Ok(batch)
    }

    fn bad(&self, batch: &mut Batch, error: InputError) -> Result<(), Error> {
        if !self.skips {
            return Err(error.into());
        }
        batch.skip(&format!("skipped: {}\n", one_line(&WhySkipped(&error).to_string())));
        Ok(())
    }
}

/// How a document is noted.
pub struct Noting<'a> {
    pub keep: &'a Keep,
    /// What the ids of the store are to which documents are added.
    pub added: Option<IdKind>,
    /// The column of the ids.
    pub id: Option<&'a str>,
    /// Whether the set of its features is noted too.
    pub with_features: bool,
}

impl Noting<'_> {
    /// Notes a document.
    pub fn note(
        &self,
        batch: &mut Batch,
        document: &Document<'_>,
        fingerprinter: &mut Fingerprinter,
    ) -> Result<(), RecordProblem> {
        let key = self.keep.key(document)?;
        if let (Some(column), Some(wanted)) = (self.id, wanted_of(self.added, &document.id)) {
            return Err(RecordProblem::Value {
                column: column.to_string(),
                found: format!("\"{}\"", excerpt(document.id.as_bytes())),
                wanted,
            });
        }
        batch.counts.with_column += u64::from(document.extra.is_some());
        let mut set = Vec::new();
        if document.text.is_empty() {
            batch.push_without_text(&document.id, key);
        } else {
            let (outcome, exact) = fingerprinter.fingerprint_with_exact(&document.text);
            batch.push(&document.id, key, exact, &outcome.found);
            batch.counts.text_bytes += document.text.len() as u64;
            batch.counts.invalid_utf8 += u64::from(outcome.invalid > 0);
            if self.with_features {
                fingerprinter.feature_set(&document.text, &mut set);
            }
        }
        if self.with_features {
            batch.push_features(&set);
        }
        Ok(())
    }
}

/// A message with everything escaped that would end its line.
fn one_line(message: &str) -> String {
    let mut line = String::new();
    for c in message.chars() {
        match c.is_control() {
            true => line.extend(c.escape_default()),
            false => line.push(c),
        }
    }
    line
}

/// What a document needs as id, where this one cannot be added.
fn wanted_of(added: Option<IdKind>, id: &str) -> Option<&'static str> {
    match added? {
        IdKind::Number if number_id::<u64>(id).is_none() => {
            Some("whole number of 64 bits without zeros in front, as the ids of the store are")
        }
        IdKind::Text if id.len() > LONGEST_ID => {
            Some("id of at most 65500 bytes, as a store of names has")
        }
        _ => None,
    }
}
