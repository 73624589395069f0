//! Lines of a text, and JSON lines.

use std::io::BufRead;

use fpstore_records::{At, Problem, RecordProblem, Stream, skip_bom};

use super::piece::{Records, Span};
use super::reader::{LONGEST, PIECE_BYTES};

/// Reads lines, with their numbers.
pub struct Lines {
    stream: Stream,
    /// The number of the next line, from 1 on.
    pub line: u64,
}

impl Lines {
    /// The lines of a text. A byte order mark before the first one is no part of it.
    pub fn new(mut stream: Stream) -> Result<Self, Problem> {
        let mark = stream.piece()?.len() - skip_bom(stream.head()).len();
        stream.consume(mark);
        Ok(Self { stream, line: 1 })
    }

    /// Appends the next line with its end, and tells whether there was one. A record that begins at `start` may not become too long.
    pub fn append(&mut self, to: &mut Vec<u8>, start: usize) -> Result<bool, Problem> {
        let before = to.len();
        loop {
            let piece = self.stream.piece()?;
            if piece.is_empty() {
                self.line += u64::from(to.len() > before);
                return Ok(to.len() > before);
            }
            let end = memchr::memchr(b'\n', piece);
            let bytes = end.map_or(piece.len(), |end| end + 1);
            if to.len() - start + bytes > LONGEST {
                let problem = RecordProblem::Long { limit: LONGEST };
                return Err(Problem::Record(At::Line(self.line), problem));
            }
            to.extend_from_slice(&piece[..bytes]);
            self.stream.consume(bytes);
            if end.is_some() {
                self.line += 1;
                return Ok(true);
            }
        }
    }
}

/// Reads lines of JSON.
pub struct JsonLines {
    stream: Option<Stream>,
    lines: Option<Lines>,
}

impl JsonLines {
    /// The lines of a text.
    pub fn new(stream: Stream) -> Self {
        Self { stream: Some(stream), lines: None }
    }

    /// The next lines that are not blank.
    pub fn next(&mut self) -> Result<Option<Records>, Problem> {
        if let Some(stream) = self.stream.take() {
            self.lines = Some(Lines::new(stream)?);
        }
        let Some(lines) = &mut self.lines else { return Ok(None) };
        let mut bytes = Vec::with_capacity(PIECE_BYTES + PIECE_BYTES / 8);
        let mut spans = Vec::new();
        while bytes.len() < PIECE_BYTES {
            let (start, line) = (bytes.len(), lines.line);
            if !lines.append(&mut bytes, start)? {
                break;
            }
            match bytes[start..].iter().all(u8::is_ascii_whitespace) {
                true => bytes.truncate(start),
                false => spans.push(Span { end: bytes.len(), line }),
            }
        }
        Ok((!spans.is_empty()).then_some(Records::Json { bytes, spans }))
    }
}
