//! Some records of an input, and the documents in them.

use std::borrow::Cow;
use std::sync::Arc;

use csv::ByteRecord;
use fpstore_records::tsv;
use fpstore_records::{At, InputError, Origin, Problem, RecordProblem};

use super::delimited::{Header, Shape, parser};
use super::inputs::Input;
use super::json;
use super::reader::Wanted;
#[cfg(feature = "parquet")]
use super::rows::{RowColumns, row};

/// A document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document<'a> {
    /// Its text, which should be UTF-8. A null is an empty one.
    pub text: Cow<'a, [u8]>,
    /// Its id: what stands in the column of ids, or the path of the file with the line or row.
    pub id: Cow<'a, str>,
    /// What stands in the other column, unless that is nothing.
    pub extra: Option<Cow<'a, str>>,
}

/// What the pieces of an input share.
pub struct Source {
    pub origin: Origin,
    #[cfg(feature = "parquet")]
    pub path: std::path::PathBuf,
    pub wanted: Wanted,
    /// Of tables in text.
    pub header: Option<Header>,
    #[cfg(feature = "parquet")]
    pub row_columns: Option<RowColumns>,
}

impl Source {
    pub fn new(input: &Input, wanted: &Wanted) -> Self {
        Self {
            origin: input.origin(),
            #[cfg(feature = "parquet")]
            path: input.path.clone(),
            wanted: wanted.clone(),
            header: None,
            #[cfg(feature = "parquet")]
            row_columns: None,
        }
    }

    /// The error of a record.
    fn error(&self, at: At, problem: RecordProblem) -> InputError {
        self.origin.error(Problem::Record(at, problem))
    }

    /// The id of a document that has none.
    fn place(&self, at: At) -> String {
        match at {
            At::Line(number) | At::Row(number) => format!("{}:{number}", self.origin.id()),
        }
    }
}

/// Where a record ends in its piece, and the line where it begins.
pub struct Span {
    pub end: usize,
    pub line: u64,
}

/// Records as they stand in the file.
pub enum Records {
    Json {
        bytes: Vec<u8>,
        spans: Vec<Span>,
    },
    Delimited {
        bytes: Vec<u8>,
        spans: Vec<Span>,
    },
    #[cfg(feature = "parquet")]
    Rows {
        batch: arrow_array::RecordBatch,
        /// The number of the first one, from 1 on.
        first: u64,
    },
    Plain {
        bytes: Vec<u8>,
    },
}

/// Some records of an input, one after the other, with memory of their own.
pub struct Piece {
    source: Arc<Source>,
    records: Records,
}

impl Piece {
    pub(super) fn new(source: Arc<Source>, records: Records) -> Self {
        Self { source, records }
    }

    /// The number of records.
    pub fn len(&self) -> usize {
        match &self.records {
            Records::Json { spans, .. } | Records::Delimited { spans, .. } => spans.len(),
            #[cfg(feature = "parquet")]
            Records::Rows { batch, .. } => batch.num_rows(),
            Records::Plain { .. } => 1,
        }
    }

    /// Whether it has none, which no piece of a reader is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What it takes of memory.
    pub fn bytes(&self) -> usize {
        match &self.records {
            Records::Json { bytes, spans } | Records::Delimited { bytes, spans } => {
                bytes.capacity() + spans.capacity() * size_of::<Span>()
            }
            #[cfg(feature = "parquet")]
            Records::Rows { batch, .. } => batch.get_array_memory_size(),
            Records::Plain { bytes } => bytes.capacity(),
        }
    }

    /// The error of a record of this piece, by its place in it.
    pub(crate) fn error(&self, index: usize, problem: RecordProblem) -> InputError {
        let at = match &self.records {
            Records::Json { spans, .. } | Records::Delimited { spans, .. } => {
                At::Line(spans.get(index).map_or(0, |span| span.line))
            }
            #[cfg(feature = "parquet")]
            Records::Rows { first, .. } => At::Row(first + index as u64),
            Records::Plain { .. } => At::Line(1),
        };
        self.source.error(at, problem)
    }

    /// The bytes of each record, with its line end; `None` where a record is no run of bytes.
    pub fn raw(&self) -> Option<impl Iterator<Item = &[u8]>> {
        let (bytes, ends) = match &self.records {
            Records::Json { bytes, spans } | Records::Delimited { bytes, spans } => {
                (bytes, spans.iter().map(|span| span.end).collect())
            }
            Records::Plain { bytes } => (bytes, vec![bytes.len()]),
            #[cfg(feature = "parquet")]
            Records::Rows { .. } => return None,
        };
        let mut start = 0;
        Some(ends.into_iter().map(move |end| {
            let record = &bytes[start..end];
            start = end;
            record
        }))
    }

    /// Gives `take` the document of each record in order, or why it has none.
    pub fn documents<E>(
        &self,
        mut take: impl FnMut(Result<Document<'_>, InputError>) -> Result<(), E>,
    ) -> Result<(), E> {
        let source = &*self.source;
        match &self.records {
            Records::Json { spans, .. } => {
                let lines = self.raw().into_iter().flatten();
                for (line, span) in lines.zip(spans) {
                    let at = At::Line(span.line);
                    let parsed = json::document(line, &source.wanted, || source.place(at));
                    take(parsed.map_err(|problem| source.error(at, problem)))?;
                }
                Ok(())
            }
            Records::Delimited { bytes, spans } => self.delimited(bytes, spans, take),
            #[cfg(feature = "parquet")]
            Records::Rows { batch, first } => {
                let Some(columns) = &source.row_columns else { return Ok(()) };
                for index in 0..batch.num_rows() {
                    let at = At::Row(first + index as u64);
                    let parsed = row(batch, index, columns, &source.wanted, || source.place(at));
                    take(parsed.map_err(|problem| source.error(at, problem)))?;
                }
                Ok(())
            }
            Records::Plain { bytes } => {
                let id = Cow::Owned(source.origin.id());
                take(Ok(Document { text: Cow::Borrowed(bytes), id, extra: None }))
            }
        }
    }

    fn delimited<E>(
        &self,
        bytes: &[u8],
        spans: &[Span],
        mut take: impl FnMut(Result<Document<'_>, InputError>) -> Result<(), E>,
    ) -> Result<(), E> {
        let source = &*self.source;
        let Some(header) = &source.header else { return Ok(()) };
        let (mut parser, mut record) = (parser(bytes, header.shape), ByteRecord::new());
        for (span, raw) in spans.iter().zip(self.raw().into_iter().flatten()) {
            let at = At::Line(span.line);
            let read = parser.read_byte_record(&mut record).unwrap_or(false);
            // A record that its reader ends elsewhere would shift all that follow.
            let ends = read && parser.position().byte() == span.end as u64;
            let mut returns = returns(raw);
            if header.shape == Shape::Tsv {
                // Before a carriage return is one of a field.
                if std::mem::take(&mut returns) {
                    without_return(&mut record);
                }
                tsv::unescape(&mut record);
            }
            let fields = Fields { record: &record, returns };
            let parsed = match record.len() {
                _ if !ends => Err(RecordProblem::OpenQuote),
                found if found != header.columns => {
                    Err(RecordProblem::Fields { found, header: header.columns })
                }
                _ => fields.document(header, &source.wanted, || source.place(at)),
            };
            take(parsed.map_err(|problem| source.error(at, problem)))?;
        }
        Ok(())
    }
}

/// Whether a record ends with a carriage return that is of its line end.
fn returns(raw: &[u8]) -> bool {
    raw.strip_suffix(b"\n").unwrap_or(raw).ends_with(b"\r")
}

/// Takes the carriage return of the line end from the last field.
fn without_return(record: &mut ByteRecord) {
    let mut plain = ByteRecord::with_capacity(record.as_slice().len(), record.len());
    for (place, field) in record.iter().enumerate() {
        let last = place + 1 == record.len();
        plain.push_field(field.strip_suffix(b"\r").filter(|_| last).unwrap_or(field));
    }
    *record = plain;
}

/// The fields of a record of CSV.
#[derive(Clone, Copy)]
struct Fields<'a> {
    record: &'a ByteRecord,
    /// Whether a carriage return stands behind the last one.
    returns: bool,
}

impl<'a> Fields<'a> {
    fn field(self, place: usize) -> &'a [u8] {
        let field = self.record.get(place).unwrap_or_default();
        match self.returns && place + 1 == self.record.len() {
            true => field.strip_suffix(b"\r").unwrap_or(field),
            false => field,
        }
    }

    fn text(self, place: usize) -> Result<&'a str, RecordProblem> {
        std::str::from_utf8(self.field(place)).map_err(|_| RecordProblem::Utf8)
    }

    fn document(
        self,
        header: &Header,
        wanted: &Wanted,
        place: impl FnOnce() -> String,
    ) -> Result<Document<'a>, RecordProblem> {
        let id = match (header.id, &wanted.id) {
            (Some(index), Some(column)) => match self.text(index)? {
                "" => return Err(RecordProblem::Null { column: column.clone() }),
                id => Cow::Borrowed(id),
            },
            _ => Cow::Owned(place()),
        };
        let extra = header.extra.map(|index| self.text(index)).transpose()?;
        let extra = extra.filter(|extra| !extra.is_empty()).map(Cow::Borrowed);
        Ok(Document { text: Cow::Borrowed(self.field(header.text)), id, extra })
    }
}
