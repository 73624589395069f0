//! Reads the documents of an input, piece by piece.

use std::fs::File;
use std::io::Read;
use std::sync::Arc;

use fpstore_records::{At, Codec, Counter, Origin, Problem, RecordProblem, Stream, stdin};

use super::delimited::DelimitedLines;
use super::inputs::{Input, Kind};
use super::lines::JsonLines;
use super::piece::{Piece, Records, Source};
#[cfg(feature = "parquet")]
use super::rows::Rows;
use crate::failure::Failure;

/// What a record may have; the lines of a piece come to little more than [`PIECE_BYTES`] otherwise.
pub(super) const LONGEST: usize = 1 << 29;
/// A piece ends with the record that reaches so many bytes.
pub(super) const PIECE_BYTES: usize = 1 << 18;

/// The columns that are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// That of the texts.
    pub text: String,
    /// That of the ids.
    pub id: Option<String>,
    /// Another one.
    pub extra: Option<String>,
}

/// Reads an input.
pub struct Documents {
    reader: Reader,
    source: Arc<Source>,
    counter: Counter,
}

enum Reader {
    Json(JsonLines),
    Delimited(DelimitedLines),
    #[cfg(feature = "parquet")]
    Rows(Box<Rows>),
    /// `None` once it was read.
    Plain(Option<Stream>),
}

impl Documents {
    /// Opens an input. `memory` is what a page of Parquet may take.
    pub fn open(input: &Arc<Input>, wanted: &Wanted, memory: u64) -> Result<Self, Failure> {
        let origin = input.origin();
        let file = match &origin {
            Origin::Stdin => stdin(),
            _ => File::open(&input.path),
        };
        let file = file.map_err(|error| origin.error(Problem::Open(error)))?;
        let mut source = Source::new(input, wanted);
        if input.kind == Kind::Parquet {
            return Self::open_rows(file, source, memory);
        }
        let mut stream = Stream::new(file);
        let counter = stream.counter();
        let mut codec = input.codec;
        if matches!(origin, Origin::Stdin) {
            codec = told_codec(&mut stream).map_err(|problem| origin.error(problem))?;
        }
        let opened = match codec {
            None => Ok(stream),
            Some(codec) => {
                let opened = stream.decompressed(codec);
                opened.map_err(|error| Problem::from_io(error, counter.bytes()))
            }
        };
        let stream = opened.map_err(|problem| origin.error(problem))?;
        let reader = match input.kind {
            Kind::Jsonl => Ok(Reader::Json(JsonLines::new(stream))),
            Kind::Csv | Kind::Tsv => {
                let lines = DelimitedLines::open(stream, input.kind, wanted);
                lines.map(|(lines, header)| {
                    source.header = Some(header);
                    Reader::Delimited(lines)
                })
            }
            Kind::Plain | Kind::Parquet => Ok(Reader::Plain(Some(stream))),
        };
        let reader = reader.map_err(|problem| origin.error(problem))?;
        Ok(Self { reader, source: Arc::new(source), counter })
    }

    #[cfg(feature = "parquet")]
    fn open_rows(file: File, mut source: Source, memory: u64) -> Result<Self, Failure> {
        let counter = Counter::default();
        let (rows, columns) = Rows::open(file, &source, memory, counter.clone())?;
        source.row_columns = Some(columns);
        Ok(Self { reader: Reader::Rows(Box::new(rows)), source: Arc::new(source), counter })
    }

    #[cfg(not(feature = "parquet"))]
    fn open_rows(_: File, source: Source, _: u64) -> Result<Self, Failure> {
        Err(source.origin.error(Problem::NotBuilt(fpstore_records::Container::Parquet)).into())
    }

    /// The next piece, which has at least one record; `None` at the end. The pieces of a file are always the same.
    pub fn next_piece(&mut self) -> Result<Option<Piece>, Failure> {
        let records = match &mut self.reader {
            Reader::Json(lines) => lines.next(),
            Reader::Delimited(lines) => lines.next(),
            #[cfg(feature = "parquet")]
            Reader::Rows(rows) => return rows.next(&self.source),
            Reader::Plain(stream) => match stream.take() {
                None => Ok(None),
                Some(stream) => whole(stream).map(|bytes| Some(Records::Plain { bytes })),
            },
        };
        let records = records.map_err(|problem| self.source.origin.error(problem))?;
        Ok(records.map(|records| Piece::new(self.source.clone(), records)))
    }

    /// The line of the names of columns, as it stands in the file; empty for formats without one.
    pub fn header(&self) -> &[u8] {
        self.source.header.as_ref().map_or(&[], |header| &header.line)
    }

    /// Bytes that were read so far, compressed where the input is.
    pub fn bytes_read(&self) -> u64 {
        self.counter.bytes()
    }
}

/// How a pipe is compressed, by its first bytes.
fn told_codec(stream: &mut Stream) -> Result<Option<Codec>, Problem> {
    while !stream.has_ended() && (stream.head().is_empty() || Codec::may_follow(stream.head())) {
        if let Some(codec) = Codec::judge(stream.head()) {
            return Ok(Some(codec));
        }
        stream.grow().map_err(|error| stream.problem(error))?;
    }
    Ok(Codec::judge(stream.head()))
}

fn whole(mut stream: Stream) -> Result<Vec<u8>, Problem> {
    let mut bytes = Vec::new();
    let read = (&mut stream).take(LONGEST as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| stream.problem(error))?;
    if bytes.len() > LONGEST {
        return Err(Problem::Record(At::Line(1), RecordProblem::Long { limit: LONGEST }));
    }
    Ok(bytes)
}
