//! Documents of many inputs, worked on by several threads, and what comes of it in the order of the
//! documents.
//!
//! While the pieces of one batch are worked on, the next batch is read and the results of the one
//! before are written. So there are pieces of two batches in memory.

use std::sync::{Mutex, PoisonError};

use fpstore_records::InputError;
use rayon::prelude::*;

use crate::documents::{DocumentArgs, Documents, Inputs, Piece, Wanted};
use crate::failure::Failure;
use crate::output::say;
use crate::progress::Progress;
use crate::threads;

/// A batch ends with the piece that reaches so many bytes, or with this many pieces for each
/// thread.
const BATCH_BYTES: usize = 16 << 20;
const BATCH_PIECES: usize = 8;

/// Reads the inputs, piece by piece.
struct Reading<'a> {
    inputs: &'a Inputs,
    wanted: Wanted,
    memory: u64,
    most_pieces: usize,
    /// The next file, and the one that is open.
    next: usize,
    open: Option<Documents>,
    bytes_before: u64,
    progress: &'a Progress,
}

impl Reading<'_> {
    /// The next pieces; none at the end.
    fn batch(&mut self) -> Result<Vec<Piece>, Failure> {
        let (mut pieces, mut bytes) = (Vec::new(), 0);
        while pieces.len() < self.most_pieces && bytes < BATCH_BYTES {
            let Some(piece) = self.piece()? else { break };
            bytes += piece.bytes();
            pieces.push(piece);
        }
        Ok(pieces)
    }

    fn piece(&mut self) -> Result<Option<Piece>, Failure> {
        loop {
            if let Some(open) = &mut self.open {
                if let Some(piece) = open.next_piece()? {
                    return Ok(Some(piece));
                }
                self.open = None;
                self.bytes_before += self.inputs.files[self.next - 1].bytes;
            }
            let Some(input) = self.inputs.files.get(self.next) else { return Ok(None) };
            self.open = Some(Documents::open(input, &self.wanted, self.memory)?);
            self.next += 1;
        }
    }

    /// Tells how much was read, and how many documents are done.
    fn tell(&self, done: u64) {
        let open = self.open.as_ref().map_or(0, Documents::bytes_read);
        self.progress.read(self.bytes_before + open, done);
    }
}

/// Tells bad records, where they are left out; else the first of them is the end.
pub fn tell(errors: Vec<InputError>, skips: bool, progress: &Progress) -> Result<(), Failure> {
    errors.into_iter().try_for_each(|error| match skips {
        true => {
            progress.beside(|| say!("fpstore: {error}"));
            Ok(())
        }
        false => Err(error.into()),
    })
}

/// How pieces are worked on.
pub struct Pieces<'a> {
    /// Where the documents are.
    pub inputs: &'a Inputs,
    /// Where they are in these.
    pub args: &'a DocumentArgs,
    /// Bytes that a page of Parquet may take.
    pub memory: u64,
    /// How many threads; 0 for one per core.
    pub threads: usize,
    /// Who is told.
    pub progress: &'a Progress,
}

impl Pieces<'_> {
    /// Gives each piece to `work`, on some thread, with what `worker` has made for that thread, and
    /// what comes of it to `take`, in the order of the documents. Gives the workers at the end.
    ///
    /// # Errors
    /// Those of reading and of `take`; what came before was taken.
    pub fn each<W: Send, T: Send>(
        self,
        mut worker: impl FnMut() -> W,
        work: impl Fn(&mut W, &Piece) -> T + Sync,
        mut take: impl FnMut(T) -> Result<(), Failure> + Send,
    ) -> Result<Vec<W>, Failure> {
        let pool = threads::start_pool(self.threads)?;
        let threads = pool.current_num_threads();
        let workers: Vec<Mutex<W>> = (0..threads).map(|_| Mutex::new(worker())).collect();
        let on_thread = |piece: &Piece| {
            let index = rayon::current_thread_index().unwrap_or(0) % threads;
            // Nobody else has that index, so that nobody waits.
            let mut worker = workers[index].lock().unwrap_or_else(PoisonError::into_inner);
            (piece.len() as u64, work(&mut worker, piece))
        };
        self.progress.start_reading(Some(self.inputs.bytes()));
        let mut reading = Reading {
            inputs: self.inputs,
            wanted: self.args.wanted(None),
            memory: self.memory,
            most_pieces: BATCH_PIECES * threads,
            next: 0,
            open: None,
            bytes_before: 0,
            progress: self.progress,
        };
        pool.install(|| {
            let (mut batch, mut results, mut done) = (reading.batch()?, Vec::new(), 0);
            while !batch.is_empty() || !results.is_empty() {
                let before = std::mem::take(&mut results);
                let (beside, now) = rayon::join(
                    || -> Result<Vec<Piece>, Failure> {
                        for (documents, result) in before {
                            done += documents;
                            take(result)?;
                        }
                        reading.tell(done);
                        // What is wrong with a later piece is told once all before it is written.
                        if batch.is_empty() { Ok(Vec::new()) } else { reading.batch() }
                    },
                    || batch.par_iter().map(on_thread).collect::<Vec<_>>(),
                );
                results = now;
                batch = match beside {
                    Ok(next) => next,
                    Err(failure) => {
                        results.drain(..).try_for_each(|(_, result)| take(result))?;
                        return Err(failure);
                    }
                };
            }
            Ok(())
        })?;
        let workers = workers.into_iter();
        Ok(workers
            .map(|worker| worker.into_inner().unwrap_or_else(PoisonError::into_inner))
            .collect())
    }
}
