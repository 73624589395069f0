//! Reads the documents of an input, piece by piece.

use std::fs::File;
use std::sync::Arc;

use fpstore_records::rows::{LONGEST, Limits, Rows};
use fpstore_records::{Counter, Layout, Origin, Problem, Stream, stdin};

use super::document::{Piece, Wanted};
use super::inputs::Input;
use super::options::Kind;
use crate::error::Error;

/// Reads an input.
pub struct Documents {
    rows: Rows,
    origin: Origin,
    counter: Counter,
}

impl Documents {
    /// Opens an input. `memory` is what a page of Parquet may take.
    pub fn open(input: &Arc<Input>, wanted: &Wanted, memory: u64) -> Result<Self, Error> {
        let origin = input.origin();
        let file = match &origin {
            Origin::Stdin => stdin(),
            _ => File::open(&input.path),
        };
        let file = file.map_err(|error| origin.error(Problem::Open(error)))?;
        let opened = rows(input, origin.clone(), file, wanted, memory);
        let (rows, counter) = opened.map_err(|problem| origin.error(problem))?;
        let is_taken = |at: &usize| rows.wants()[*at].is_optional && rows.has(*at);
        let taken = (0..rows.wants().len()).find(is_taken);
        // Of JSON each record says for itself.
        match taken.filter(|_| input.kind != Kind::Jsonl) {
            Some(at) => {
                Err(Error::Taken { place: origin.id(), column: rows.wants()[at].name().into() })
            }
            None => Ok(Self { rows, origin, counter }),
        }
    }

    /// The next piece, which has at least one record; `None` at the end. The pieces of a file are
    /// always the same.
    pub fn next_piece(&mut self) -> Result<Option<Piece>, Error> {
        let piece = self.rows.next_piece().map_err(|problem| self.origin.error(problem))?;
        Ok(piece.map(Piece))
    }

    /// The line of the names of columns, as it stands in the file; empty for formats without one.
    pub fn header(&self) -> &[u8] {
        self.rows.header()
    }

    /// What separates the columns of CSV; `None` for other formats.
    pub(crate) fn delimiter(&self) -> Option<u8> {
        self.rows.delimiter()
    }

    /// Bytes that were read so far, compressed where the input is.
    pub fn bytes_read(&self) -> u64 {
        self.counter.bytes()
    }
}

fn rows(
    input: &Input,
    origin: Origin,
    file: File,
    wanted: &Wanted,
    memory: u64,
) -> Result<(Rows, Counter), Problem> {
    let wants = wanted.wants();
    if input.kind == Kind::Parquet {
        let counter = Counter::default();
        let rows = Rows::of_parquet(origin, file, memory, wants, counter.clone())?;
        return Ok((rows, counter));
    }
    let mut stream = Stream::new(file);
    let counter = stream.counter();
    let codec = match origin {
        Origin::Stdin => stream.codec()?,
        _ => input.codec,
    };
    if let Some(codec) = codec {
        let opened = stream.decompressed(codec);
        stream = opened.map_err(|error| Problem::from_io(error, counter.bytes()))?;
    }
    let layout = match input.kind {
        Kind::Jsonl => Layout::Jsonl,
        Kind::Csv => Layout::Delimited,
        Kind::Tsv => Layout::Tsv,
        Kind::Plain | Kind::Parquet => return Ok((Rows::whole(origin, stream, wants), counter)),
    };
    let limits = Limits { record_bytes: LONGEST, ..Limits::default() };
    Ok((Rows::of_text(origin, stream, layout, wants, limits, true)?, counter))
}
