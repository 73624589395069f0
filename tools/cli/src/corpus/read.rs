//! The first pass: reads all documents, fingerprints them, and notes what is needed of each.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use fpstore_text::Fingerprinter;
use rayon::ThreadPool;
use rayon::prelude::*;

use super::choice::Keep;
use super::ledger::{Batch, Ledger};
use super::per_thread::PerThread;
use super::work::{Stage, Work};
use crate::documents::{Documents, Input, Inputs, Piece, Wanted};
use crate::failure::{Failure, one_line};
use crate::input::{InputError, RecordProblem, WhySkipped};
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
    /// Whether ids must be whole numbers.
    pub numeric: bool,
    pub skips: bool,
    pub memory: u64,
    /// The least time between two notes.
    pub period: Duration,
    pub progress: &'a Progress,
}

/// What the thread that reads hands on.
pub enum Message {
    Piece(Piece, u64),
    /// A file has ended.
    End,
    Failed(Failure),
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
        each_round(self, start, round, |messages, bytes| {
            let batches: Vec<Result<Option<Batch>, Failure>> = pool.install(|| {
                messages
                    .into_par_iter()
                    .map(|message| match message {
                        Message::Piece(piece, _) => {
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
                            self.progress.beside(|| eprint!("{}", batch.told));
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
        work.note(|state| {
            state.read = mark;
            state.stage = Stage::Decide;
        })
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
                Some(column) if self.numeric && document.id.parse::<u64>().is_err() => {
                    Err(RecordProblem::Value {
                        column: column.clone(),
                        found: format!("\"{}\"", document.id),
                        wanted: "whole number of 64 bits, as --add needs for ids",
                    })
                }
                _ => Ok(key),
            });
            let key = match key {
                Ok(key) => key,
                Err(problem) => return self.bad(&mut batch, piece.error(number, problem)),
            };
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

/// Reads pieces on a thread of its own, from a file and a piece of it on, and gives `take` so many of them together; with the bytes that
/// were read of all files.
pub fn each_round(
    reading: &Reading<'_>,
    start: (u64, u64),
    round: usize,
    mut take: impl FnMut(Vec<Message>, u64) -> Result<ControlFlow<()>, Failure>,
) -> Result<(), Failure> {
    let (inputs, wanted, memory) = (reading.inputs, reading.wanted, reading.memory);
    thread::scope(|scope| {
        let (sender, receiver) = sync_channel(round);
        scope.spawn(move || send_all(inputs, wanted, memory, start, &sender));
        let mut bytes = 0;
        loop {
            let messages = receive(&receiver, round, &mut bytes);
            if messages.is_empty() || take(messages, bytes)?.is_break() {
                return Ok(());
            }
        }
    })
}

fn receive(receiver: &Receiver<Message>, round: usize, bytes: &mut u64) -> Vec<Message> {
    let mut messages = Vec::with_capacity(round);
    while messages.len() < round {
        let Ok(message) = receiver.recv() else { break };
        if let Message::Piece(_, read) = message {
            *bytes = read;
        }
        messages.push(message);
    }
    messages
}

/// Ends early once nobody listens any more.
fn send_all(
    inputs: &Inputs,
    wanted: &Wanted,
    memory: u64,
    start: (u64, u64),
    to: &SyncSender<Message>,
) {
    let (file, mut passed) = (start.0 as usize, start.1);
    let mut before: u64 = inputs.files.iter().take(file).map(|input| input.bytes).sum();
    for input in inputs.files.iter().skip(file) {
        let sent = send(input, wanted, memory, (std::mem::take(&mut passed), before), to);
        if let Err(failure) = sent {
            let _ = to.send(Message::Failed(failure));
            return;
        }
        if to.send(Message::End).is_err() {
            return;
        }
        before += input.bytes;
    }
}

fn send(
    input: &Arc<Input>,
    wanted: &Wanted,
    memory: u64,
    (mut passed, before): (u64, u64),
    to: &SyncSender<Message>,
) -> Result<(), Failure> {
    let mut documents = Documents::open(input, wanted, memory)?;
    while let Some(piece) = documents.next_piece()? {
        if passed > 0 {
            passed -= 1;
            continue;
        }
        let bytes = before + documents.bytes_read();
        if to.send(Message::Piece(piece, bytes)).is_err() {
            return Ok(());
        }
    }
    Ok(())
}
