//! CSV and TSV, record by record as they stand in the file.

use csv::{ByteRecord, Terminator};
use fpstore_records::tsv;
use fpstore_records::{At, ColumnProblem, Problem, RecordProblem, Stream, delimiter};

use super::inputs::Kind;
use super::lines::Lines;
use super::piece::{Records, Span};
use super::reader::{PIECE_BYTES, Wanted};

/// What the first line says.
pub struct Header {
    /// The line itself, with its end.
    pub line: Vec<u8>,
    /// How columns are separated.
    pub shape: Shape,
    /// The number of columns.
    pub columns: usize,
    /// The places of those that are wanted.
    pub text: usize,
    pub id: Option<usize>,
    pub extra: Option<usize>,
}

/// How columns are separated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// By this byte, and quotes enclose it and line ends.
    Quoted(u8),
    /// By tabs, and nothing encloses them.
    Tsv,
}

/// Reads records.
pub struct DelimitedLines {
    lines: Lines,
    shape: Shape,
}

impl DelimitedLines {
    /// Reads the header.
    pub fn open(stream: Stream, kind: Kind, wanted: &Wanted) -> Result<(Self, Header), Problem> {
        let mut lines = Lines::new(stream)?;
        let mut line = Vec::new();
        // What separates columns is told by the first line, and where that ends by what separates columns only if a name holds a line end.
        let tabs = if kind == Kind::Tsv { Shape::Tsv } else { Shape::Quoted(b'\t') };
        let mut reader = Self { lines, shape: tabs };
        if !reader.append(&mut line)? {
            return Err(Problem::Column(ColumnProblem::NoHeader));
        }
        lines = reader.lines;
        let shape = match kind {
            Kind::Tsv => Shape::Tsv,
            _ => Shape::Quoted(delimiter(&line).unwrap_or(b',')),
        };
        let mut record = ByteRecord::new();
        parser(&line, shape).read_byte_record(&mut record).map_err(|error| {
            Problem::Record(At::Line(1), RecordProblem::Json(error.to_string()))
        })?;
        if shape == Shape::Tsv {
            tsv::unescape(&mut record);
        }
        let names: Vec<String> = record
            .iter()
            .map(|name| String::from_utf8_lossy(name.trim_ascii()).into_owned())
            .collect();
        let place = |name: &String| {
            let mut places = (0..names.len()).filter(|&place| names[place] == *name);
            match (places.next(), places.next()) {
                (Some(place), None) => Ok(place),
                (Some(_), Some(_)) => {
                    Err(Problem::Column(ColumnProblem::Twice { name: name.clone() }))
                }
                (None, _) => Err(Problem::Column(ColumnProblem::Missing {
                    name: name.clone(),
                    there: names.clone(),
                })),
            }
        };
        let header = Header {
            shape,
            columns: names.len(),
            text: place(&wanted.text)?,
            id: wanted.id.as_ref().map(place).transpose()?,
            extra: wanted.extra.as_ref().map(place).transpose()?,
            line,
        };
        Ok((Self { lines, shape }, header))
    }

    /// The next records.
    pub fn next(&mut self) -> Result<Option<Records>, Problem> {
        let mut bytes = Vec::with_capacity(PIECE_BYTES + PIECE_BYTES / 8);
        let mut spans = Vec::new();
        while bytes.len() < PIECE_BYTES {
            let line = self.lines.line;
            let start = bytes.len();
            if !self.append(&mut bytes)? {
                break;
            }
            // Lines without anything are no records.
            match bytes[start..].iter().all(|byte| matches!(byte, b'\n' | b'\r')) {
                true => bytes.truncate(start),
                false => spans.push(Span { end: bytes.len(), line }),
            }
        }
        Ok((!spans.is_empty()).then_some(Records::Delimited { bytes, spans }))
    }

    /// Appends the next record with its end, and tells whether there was one.
    fn append(&mut self, to: &mut Vec<u8>) -> Result<bool, Problem> {
        let (start, line) = (to.len(), self.lines.line);
        let mut quotes = Quotes::Start;
        loop {
            let from = to.len();
            if !self.lines.append(to, start)? {
                return match quotes {
                    Quotes::Inside => {
                        Err(Problem::Record(At::Line(line), RecordProblem::OpenQuote))
                    }
                    _ => Ok(to.len() > start),
                };
            }
            if let Shape::Quoted(delimiter) = self.shape {
                quotes = quotes.behind(&to[from..], delimiter);
            }
            if quotes != Quotes::Inside {
                return Ok(true);
            }
        }
    }
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
        line.iter().fold(self, |place, &byte| match (place, byte) {
            (Self::Start | Self::Behind, b'"') => Self::Inside,
            (Self::Inside, b'"') => Self::Behind,
            (Self::Inside, _) => Self::Inside,
            (_, byte) if byte == delimiter => Self::Start,
            _ => Self::Outside,
        })
    }
}

/// A reader of the records of a piece. It ends them at line feeds only, as their bytes are cut: the carriage return of a
/// line end is left in the last field.
pub fn parser(bytes: &[u8], shape: Shape) -> csv::Reader<&[u8]> {
    let (delimiter, quotes) = match shape {
        Shape::Quoted(delimiter) => (delimiter, true),
        Shape::Tsv => (b'\t', false),
    };
    csv::ReaderBuilder::new()
        .delimiter(delimiter)
        .quoting(quotes)
        .terminator(Terminator::Any(b'\n'))
        .has_headers(false)
        .flexible(true)
        .buffer_capacity(1 << 13)
        .from_reader(bytes)
}

#[cfg(test)]
mod tests {
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
}
