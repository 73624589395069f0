//! Records of texts as they stand in the file: lines, and rows of CSV that go over several.
//!
//! CSV is cut into records and fields here, and not by the crate `csv`: records are copied byte by
//! byte and split on several threads, for which their bytes must be known, and a quote that is
//! never closed must end in an error before it has swallowed the file. The tests compare both.

use std::io::BufRead;

use crate::detect::{Layout, delimiter};
use crate::error::{At, Problem, RecordProblem};
use crate::stream::Stream;

/// Where a record ends in its piece, and the line where it begins.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    pub end: usize,
    pub line: u64,
}

/// Reads records of a text.
pub struct Lines {
    stream: Stream,
    /// The number of the next line, from 1 on.
    line: u64,
    /// Whether the first line is to tell what separates the columns of CSV.
    judges: bool,
    /// That; `None` where nothing quotes.
    quoted: Option<u8>,
    /// Whether white space alone is no record.
    trims: bool,
    /// Bytes that a record may have.
    longest: usize,
}

impl Lines {
    /// A reader at the start of a text. A byte order mark is no part of it.
    pub fn new(mut stream: Stream, layout: Layout, longest: usize) -> Result<Self, Problem> {
        if is_ended_by_returns(stream.piece()?) {
            return Err(Problem::CarriageReturns);
        }
        stream.skip_mark();
        let trims = matches!(layout, Layout::Jsonl | Layout::Columns);
        let (judges, quoted) = (layout == Layout::Delimited, None);
        Ok(Self { stream, line: 1, judges, quoted, trims, longest })
    }

    /// What separates columns where quotes enclose.
    pub fn quoted(&self) -> Option<u8> {
        self.quoted
    }

    /// Appends the next record that is not blank, with its end, and tells whether there was one.
    pub fn append(&mut self, to: &mut Vec<u8>, spans: &mut Vec<Span>) -> Result<bool, Problem> {
        let start = to.len();
        loop {
            let line = self.line;
            if !self.append_record(to)? {
                return Ok(false);
            }
            let record = &to[start..];
            let is_blank = match self.trims {
                true => record.iter().all(u8::is_ascii_whitespace),
                false => record.iter().all(|byte| matches!(byte, b'\n' | b'\r')),
            };
            if !is_blank {
                spans.push(Span { end: to.len(), line });
                return Ok(true);
            }
            to.truncate(start);
        }
    }

    fn append_record(&mut self, to: &mut Vec<u8>) -> Result<bool, Problem> {
        let (start, line) = (to.len(), self.line);
        let mut quotes = Quotes::Start;
        loop {
            let from = to.len();
            if !self.append_line(to, start)? {
                return match quotes {
                    Quotes::Inside => {
                        Err(Problem::Record(At::Line(line), RecordProblem::OpenQuote))
                    }
                    _ => Ok(to.len() > start),
                };
            }
            if std::mem::take(&mut self.judges) {
                self.quoted = Some(delimiter(&to[from..]).unwrap_or(b','));
            }
            if let Some(delimiter) = self.quoted {
                quotes = quotes.behind(&to[from..], delimiter);
            }
            if quotes != Quotes::Inside {
                return Ok(true);
            }
        }
    }

    /// Appends the next line of a record that begins at `start`.
    fn append_line(&mut self, to: &mut Vec<u8>, start: usize) -> Result<bool, Problem> {
        let before = to.len();
        loop {
            let piece = self.stream.piece()?;
            if piece.is_empty() {
                self.line += u64::from(to.len() > before);
                return Ok(to.len() > before);
            }
            let end = memchr::memchr(b'\n', piece);
            let bytes = end.map_or(piece.len(), |end| end + 1);
            if to.len() - start + bytes > self.longest {
                let problem = RecordProblem::Long { limit: self.longest };
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

/// Whether carriage returns alone end the lines of a text, as far as its first bytes tell.
pub fn is_ended_by_returns(head: &[u8]) -> bool {
    let first = memchr::memchr(b'\r', head);
    let follows = first.and_then(|at| head.get(at + 1));
    follows.is_some() && memchr::memchr(b'\n', head).is_none()
}

/// Where in a record a byte stands, as far as quotes go: one opens at the start of a field only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quotes {
    /// At the start of a field.
    Start,
    /// In a field, not between quotes.
    Outside,
    /// Between quotes.
    Inside,
    /// Behind a quote that closes, unless another one follows.
    Behind,
}

impl Quotes {
    /// The place behind a line.
    fn behind(self, line: &[u8], delimiter: u8) -> Self {
        if self == Self::Start && memchr::memchr(b'"', line).is_none() {
            return Self::Outside;
        }
        line.iter().fold(self, |place, &byte| place.behind_byte(byte, delimiter))
    }

    fn behind_byte(self, byte: u8, delimiter: u8) -> Self {
        match (self, byte) {
            (Self::Start | Self::Behind, b'"') => Self::Inside,
            (Self::Inside, b'"') => Self::Behind,
            (Self::Inside, _) => Self::Inside,
            (_, byte) if byte == delimiter => Self::Start,
            _ => Self::Outside,
        }
    }
}

/// The fields of a record, which stand in it or, where quotes enclose one, in a copy.
#[derive(Default)]
pub struct Fields {
    spans: Vec<(usize, usize)>,
    /// The fields without their quotes.
    plain: Vec<u8>,
    is_plain: bool,
}

impl Fields {
    /// Splits a record at its separators.
    pub fn split(&mut self, record: &[u8], layout: Layout, quoted: Option<u8>) {
        let record = without_line_end(record);
        self.spans.clear();
        self.is_plain = false;
        let at = |part: &[u8]| {
            let start = part.as_ptr() as usize - record.as_ptr() as usize;
            (start, start + part.len())
        };
        match (layout, quoted) {
            (Layout::Columns, _) => {
                let words = record.split(u8::is_ascii_whitespace);
                self.spans.extend(words.filter(|word| !word.is_empty()).map(at));
            }
            (_, Some(delimiter)) if memchr::memchr(b'"', record).is_some() => {
                self.unquote(record, delimiter);
            }
            (_, quoted) => {
                let mut start = 0;
                for end in memchr::memchr_iter(quoted.unwrap_or(b'\t'), record) {
                    self.spans.push((start, end));
                    start = end + 1;
                }
                self.spans.push((start, record.len()));
            }
        }
    }

    /// Copies the fields without what quotes them.
    fn unquote(&mut self, record: &[u8], delimiter: u8) {
        self.plain.clear();
        self.is_plain = true;
        let (mut start, mut place) = (0, Quotes::Start);
        for &byte in record {
            let next = place.behind_byte(byte, delimiter);
            match (place, next) {
                (Quotes::Inside, Quotes::Inside) | (_, Quotes::Outside) => self.plain.push(byte),
                // Two stand for one.
                (Quotes::Behind, Quotes::Inside) => self.plain.push(byte),
                (_, Quotes::Start) => {
                    self.spans.push((start, self.plain.len()));
                    start = self.plain.len();
                }
                _ => {}
            }
            place = next;
        }
        self.spans.push((start, self.plain.len()));
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// A field of `record`, which was split.
    pub fn get<'a>(&'a self, record: &'a [u8], place: usize) -> &'a [u8] {
        let Some(&(start, end)) = self.spans.get(place) else { return &[] };
        let bytes = if self.is_plain { &self.plain[..] } else { record };
        bytes.get(start..end).unwrap_or_default()
    }
}

/// A line feed, and a carriage return before it, end a record.
fn without_line_end(record: &[u8]) -> &[u8] {
    let record = record.strip_suffix(b"\n").unwrap_or(record);
    record.strip_suffix(b"\r").unwrap_or(record)
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn records_end_where_the_reader_of_csv_ends_them() {
        for (line, inside) in [
            ("a,b\n", false),
            ("a,\"b\n", true),
            ("a,\"b\"\"\n", true),
            ("a,\"b\"\"\"\n", false),
            ("a,5\" disk\n", false),
            ("\"\n", true),
            ("\"a\"b\"\n", false),
        ] {
            assert_eq!(
                Quotes::Start.behind(line.as_bytes(), b',') == Quotes::Inside,
                inside,
                "{line}"
            );
        }
        assert_eq!(Quotes::Inside.behind(b"more\",x\n", b','), Quotes::Outside);
    }

    fn fields_of(line: &[u8]) -> Vec<Vec<u8>> {
        let mut fields = Fields::default();
        fields.split(line, Layout::Delimited, Some(b','));
        (0..fields.len()).map(|place| fields.get(line, place).to_vec()).collect()
    }

    proptest! {
        #[test]
        fn records_and_fields_are_those_of_the_crate(text in "([ab,;]|\"|\"\"|\n|\r\n|ü){0,40}") {
            let stream = Stream::new(Cursor::new(text.clone().into_bytes()));
            let mut lines = Lines::new(stream, Layout::Delimited, 1 << 20).unwrap();
            (lines.judges, lines.quoted) = (false, Some(b','));
            let (mut bytes, mut spans, mut found) = (Vec::new(), Vec::new(), Vec::new());
            let whole = loop {
                let start = bytes.len();
                match lines.append(&mut bytes, &mut spans) {
                    Ok(true) => found.push(fields_of(&bytes[start..])),
                    other => break other.is_ok(),
                }
            };
            let mut reader = csv::ReaderBuilder::new();
            let reader = reader.has_headers(false).flexible(true).from_reader(text.as_bytes());
            let expected = reader.into_byte_records().map(|record| {
                record.unwrap().iter().map(<[u8]>::to_vec).collect::<Vec<_>>()
            });
            let expected: Vec<_> = expected.collect();
            // What opens a quote that is never closed is the last record of the crate.
            let sound = if whole { expected.len() } else { expected.len() - 1 };
            assert_eq!(found, expected[..sound], "{text:?}");
        }
    }
}
