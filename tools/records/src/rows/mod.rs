//! Rows of tables: what JSON lines, CSV, TSV, Parquet and Arrow have in common.
//!
//! [`Rows`] gives [`Piece`]s: some hundred KiB of whole records as they stand in the file, or a
//! batch of rows. What is in them is looked up by whoever has the piece, on any thread, so that
//! reading costs one thread little, and records can be copied as they are. A command says which
//! columns it wants of each row ([`Want`]) and gets their values as [`Cell`]s.

#[cfg(feature = "arrow")]
pub mod arrays;
mod lines;
mod object;
mod want;

use std::borrow::Cow;
use std::fs::File;
use std::io::Read;
use std::sync::Arc;

#[cfg(feature = "arrow")]
use arrow_array::{Array, RecordBatch};
#[cfg(feature = "arrow")]
use arrow_schema::DataType;

use crate::cell::{Cell, Row as Object};
use crate::detect::{Layout, is_telling, is_value};
use crate::error::{At, ColumnProblem, InputError, Origin, Problem, RecordProblem};
#[cfg(not(feature = "parquet"))]
use crate::format::Container;
#[cfg(feature = "arrow")]
use crate::ipc::IpcReader;
#[cfg(feature = "parquet")]
use crate::parquet::ParquetReader;
use crate::stream::{Counter, Stream};
use crate::table_error::like;
use crate::tsv;
#[cfg(feature = "arrow")]
use arrays::{Batches, Chosen};
pub(crate) use lines::is_ended_by_returns;
use lines::{Fields, Lines, Span};
use want::{HexColumns, places, places_by_number, places_in_header};
pub use want::{Kind, Want};

/// A piece ends with the record that reaches so many bytes.
pub const PIECE_BYTES: usize = 1 << 18;
/// Bytes that a document may have, and another record of a text.
pub const LONGEST: usize = 1 << 29;
const RECORD_BYTES: usize = 1 << 24;

/// What is in memory of a text.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// A piece ends with the record that reaches so many bytes.
    pub piece_bytes: usize,
    /// A record may have so many bytes.
    pub record_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { piece_bytes: PIECE_BYTES, record_bytes: RECORD_BYTES }
    }
}

/// Reads rows.
pub struct Rows {
    from: From,
    shared: Arc<Shared>,
    /// Whether columns are chosen that had no name.
    is_chosen: bool,
    piece_bytes: usize,
}

enum From {
    /// Records of a text, and the first ones where they were looked at.
    Lines(Lines, Option<(Vec<u8>, Vec<Span>)>),
    /// A text that is one record; `None` once it was read.
    Whole(Option<Stream>),
    #[cfg(feature = "arrow")]
    Batches(Box<dyn Batches>, u64),
}

/// What the pieces of an input share.
#[derive(Debug)]
struct Shared {
    origin: Origin,
    layout: Layout,
    wants: Vec<Want>,
    /// The places of the wanted columns.
    places: Vec<Option<usize>>,
    /// What separates the columns of CSV.
    quoted: Option<u8>,
    /// The line of the names of columns, with its end.
    header: Vec<u8>,
    /// The number of columns of a table in text.
    columns: usize,
    /// The types of the wanted columns.
    #[cfg(feature = "arrow")]
    types: Vec<Option<DataType>>,
}

/// Records as they stand in the file, with memory of their own.
pub struct Piece {
    shared: Arc<Shared>,
    records: Records,
}

enum Records {
    Text(Vec<u8>, Vec<Span>),
    Whole(Vec<u8>),
    /// Rows, of which the first has this number, from 1 on.
    #[cfg(feature = "arrow")]
    Batch(RecordBatch, u64),
}

impl Rows {
    /// The rows of a text. `header` says whether the first line names the columns.
    pub fn of_text(
        origin: Origin,
        stream: Stream,
        layout: Layout,
        wants: Vec<Want>,
        limits: Limits,
        header: bool,
    ) -> Result<Self, Problem> {
        let mut lines = Lines::new(stream, layout, limits.record_bytes)?;
        let mut shared = Shared::new(origin, layout, wants);
        let mut first = None;
        if layout != Layout::Jsonl {
            let (mut bytes, mut spans) = (Vec::new(), Vec::new());
            lines.append(&mut bytes, &mut spans)?;
            shared.quoted = lines.quoted();
            let mut fields = Fields::default();
            fields.split(&bytes, layout, shared.quoted);
            shared.columns = if spans.is_empty() { 0 } else { fields.len() };
            let places = match (spans.pop(), header) {
                (None, true) => Err(ColumnProblem::NoHeader),
                (None, false) => Ok(vec![None; shared.wants.len()]),
                (Some(_), true) => {
                    let name = |place| shared.unescaped(fields.get(&bytes, place));
                    let names = (0..fields.len()).map(name);
                    let names = names.map(|name| String::from_utf8_lossy(name.trim_ascii()).into());
                    let names: Vec<String> = names.collect();
                    shared.header = bytes;
                    let mut chosen = places_in_header(&shared.wants, &names);
                    if let Err(ColumnProblem::Open { .. }) = chosen {
                        let (mut bytes, mut spans) = (Vec::new(), Vec::new());
                        while bytes.len() < limits.piece_bytes
                            && lines.append(&mut bytes, &mut spans)?
                        {}
                        if let Some(only) = shared.hex_column(&bytes, &spans) {
                            shared.name_unnamed(&names[only]);
                            chosen = places_in_header(&shared.wants, &names);
                        }
                        first = Some((bytes, spans));
                    }
                    chosen.inspect(|places| {
                        for (want, place) in shared.wants.iter_mut().zip(places) {
                            want.name = place.map_or(want.name.take(), |at| names.get(at).cloned());
                        }
                    })
                }
                (Some(span), false) => {
                    let places = places_by_number(&shared.wants, fields.len());
                    shared.name_unnamed("1");
                    first = Some((bytes, vec![span]));
                    places
                }
            };
            shared.places = places.map_err(Problem::Column)?;
        }
        let is_chosen = shared.wants.iter().all(|want| want.name.is_some());
        let from = From::Lines(lines, first);
        let piece_bytes = limits.piece_bytes;
        Ok(Self { from, shared: Arc::new(shared), is_chosen, piece_bytes })
    }

    /// A text that is one record of one column.
    pub fn whole(origin: Origin, stream: Stream, wants: Vec<Want>) -> Self {
        let shared = Arc::new(Shared::new(origin, Layout::Columns, wants));
        Self { from: From::Whole(Some(stream)), shared, is_chosen: true, piece_bytes: PIECE_BYTES }
    }

    /// The rows of a file of Parquet, of which a page may take so many bytes of memory.
    #[cfg(feature = "parquet")]
    pub fn of_parquet(
        origin: Origin,
        file: File,
        memory: u64,
        wants: Vec<Want>,
        counter: Counter,
    ) -> Result<Self, Problem> {
        let (batches, chosen) = ParquetReader::open(file, memory, &wants, counter)?;
        Ok(Self::of_batches(origin, Box::new(batches), Layout::Parquet, chosen))
    }

    /// Parquet is read by default features only.
    #[cfg(not(feature = "parquet"))]
    pub fn of_parquet(
        _: Origin,
        _: File,
        _: u64,
        _: Vec<Want>,
        _: Counter,
    ) -> Result<Self, Problem> {
        Err(Problem::NotBuilt(Container::Parquet))
    }

    /// The rows of a file or stream of Arrow, of which a message may take so many bytes of memory.
    #[cfg(feature = "arrow")]
    pub fn of_arrow(
        origin: Origin,
        stream: Stream,
        memory: u64,
        wants: Vec<Want>,
    ) -> Result<Self, Problem> {
        let (batches, chosen) = IpcReader::open(stream, memory, &wants)?;
        Ok(Self::of_batches(origin, Box::new(batches), Layout::Arrow, chosen))
    }

    /// Arrow is read by default features only.
    #[cfg(not(feature = "arrow"))]
    pub fn of_arrow(_: Origin, _: Stream, _: u64, _: Vec<Want>) -> Result<Self, Problem> {
        Err(Problem::NotBuilt(Container::Arrow))
    }

    /// The rows of batches, whose wanted columns are at these places.
    #[cfg(feature = "arrow")]
    fn of_batches(
        origin: Origin,
        batches: Box<dyn Batches>,
        layout: Layout,
        chosen: Chosen,
    ) -> Self {
        let Chosen { wants, places, types, .. } = chosen;
        let shared = Shared { places, types, ..Shared::new(origin, layout, wants) };
        let from = From::Batches(batches, 1);
        Self { from, shared: Arc::new(shared), is_chosen: true, piece_bytes: PIECE_BYTES }
    }

    /// The next piece, which has at least one record; `None` at the end. The pieces of a file are
    /// always the same.
    pub fn next_piece(&mut self) -> Result<Option<Piece>, Problem> {
        let records = match &mut self.from {
            From::Lines(lines, first) => {
                let (mut bytes, mut spans) = match first.take() {
                    Some(looked_at) => looked_at,
                    None => {
                        (Vec::with_capacity(self.piece_bytes + self.piece_bytes / 8), Vec::new())
                    }
                };
                while bytes.len() < self.piece_bytes && lines.append(&mut bytes, &mut spans)? {}
                if spans.is_empty() {
                    return Ok(None);
                }
                if !self.is_chosen {
                    let shared = Shared::clone(&self.shared).chosen_from(&bytes, &spans)?;
                    self.is_chosen = shared.wants.iter().all(|want| want.name.is_some());
                    self.shared = Arc::new(shared);
                }
                Records::Text(bytes, spans)
            }
            From::Whole(stream) => match stream.take() {
                Some(stream) => Records::Whole(whole(stream)?),
                None => return Ok(None),
            },
            #[cfg(feature = "arrow")]
            From::Batches(batches, number) => loop {
                let Some(batch) = batches.next()? else { return Ok(None) };
                if batch.num_rows() > 0 {
                    let first = *number;
                    *number += batch.num_rows() as u64;
                    break Records::Batch(batch, first);
                }
            },
        };
        Ok(Some(Piece { shared: self.shared.clone(), records }))
    }

    /// The columns that are wanted, by their names in the file as far as it is known.
    pub fn wants(&self) -> &[Want] {
        &self.shared.wants
    }

    /// Whether there is this one of the wanted columns; in JSON each row says for itself.
    pub fn has(&self, want: usize) -> bool {
        self.shared.layout == Layout::Jsonl || self.shared.places[want].is_some()
    }

    /// The type of a wanted column.
    #[cfg(feature = "arrow")]
    pub fn data_type(&self, want: usize) -> Option<&DataType> {
        self.shared.types.get(want)?.as_ref()
    }

    /// The number of columns of a table in text.
    pub fn columns(&self) -> usize {
        self.shared.columns
    }

    /// What is noted in the file under a name.
    pub fn note(&self, name: &str) -> Option<String> {
        #[cfg(not(feature = "arrow"))]
        let _ = name;
        match &self.from {
            #[cfg(feature = "arrow")]
            From::Batches(batches, _) => batches.note(name),
            _ => None,
        }
    }

    /// The line of the names of columns, as it stands in the file; empty for formats without one.
    pub fn header(&self) -> &[u8] {
        &self.shared.header
    }

    /// What separates the columns of CSV; `None` for formats where nothing quotes.
    pub fn delimiter(&self) -> Option<u8> {
        self.shared.quoted
    }

    /// The reader of batches, if these are some.
    #[cfg(feature = "arrow")]
    pub fn batches(&self) -> Option<&dyn Batches> {
        match &self.from {
            From::Batches(batches, _) => Some(&**batches),
            _ => None,
        }
    }
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

impl Clone for Shared {
    fn clone(&self) -> Self {
        Self {
            origin: self.origin.clone(),
            wants: self.wants.clone(),
            places: self.places.clone(),
            header: self.header.clone(),
            #[cfg(feature = "arrow")]
            types: self.types.clone(),
            ..*self
        }
    }
}

impl Shared {
    fn new(origin: Origin, layout: Layout, wants: Vec<Want>) -> Self {
        let places = vec![Some(0); wants.len()];
        Self {
            origin,
            layout,
            wants,
            places,
            quoted: None,
            header: Vec::new(),
            columns: 0,
            #[cfg(feature = "arrow")]
            types: Vec::new(),
        }
    }

    /// Names the columns that have none, by the first line that is an object.
    fn chosen_from(mut self, bytes: &[u8], spans: &[Span]) -> Result<Self, Problem> {
        let mut start = 0;
        for span in spans {
            let line = &bytes[start..span.end];
            start = span.end;
            // What is wrong with a line is told as of any other.
            let Ok(Object(fields)) = serde_json::from_slice(line) else { continue };
            let names: Vec<String> = fields.iter().map(|(name, _)| name.clone()).collect();
            let unnamed: Vec<Want> =
                self.wants.iter().filter(|want| want.name.is_none()).cloned().collect();
            let name = match places(&unnamed, &names) {
                Ok(places) => places[0].map(|place| &names[place]),
                Err(ColumnProblem::Open { there }) => {
                    match hex_field(&names, bytes, spans, self.bits()) {
                        Some(only) => Some(&names[only]),
                        None if are_fingerprints(&fields, self.bits()) => {
                            return Err(Problem::JsonMap);
                        }
                        None => return Err(Problem::Column(ColumnProblem::Open { there })),
                    }
                }
                Err(problem) => return Err(Problem::Column(problem)),
            };
            self.name_unnamed(name.map_or("", String::as_str));
            break;
        }
        Ok(self)
    }

    /// Gives a name to the wanted column of fingerprints that has none.
    fn name_unnamed(&mut self, name: &str) {
        for want in self.wants.iter_mut().filter(|want| want.name.is_none()) {
            want.name = Some(name.to_string());
        }
    }

    /// Bits of the fingerprints that are wanted.
    fn bits(&self) -> u32 {
        let bits = self.wants.iter().find_map(|want| match want.kind {
            Kind::Fingerprint(bits) => Some(bits),
            _ => None,
        });
        bits.unwrap_or(u64::BITS)
    }

    /// The only column of hexadecimal digits, as far as these records tell.
    fn hex_column(&self, bytes: &[u8], spans: &[Span]) -> Option<usize> {
        let (mut hex, mut fields, mut start) =
            (HexColumns::new(self.columns), Fields::default(), 0);
        for span in spans {
            let record = &bytes[start..span.end];
            start = span.end;
            fields.split(record, self.layout, self.quoted);
            if fields.len() == self.columns {
                (0..self.columns).for_each(|at| hex.take(at, Some(fields.get(record, at))));
            }
        }
        hex.only(self.bits())
    }

    fn unescaped<'a>(&self, field: &'a [u8]) -> Cow<'a, [u8]> {
        match self.layout {
            Layout::Tsv => tsv::unescaped(field),
            _ => Cow::Borrowed(field),
        }
    }
}

/// The only field of hexadecimal digits, as far as these lines tell.
fn hex_field(names: &[String], bytes: &[u8], spans: &[Span], bits: u32) -> Option<usize> {
    let (mut hex, mut start) = (HexColumns::new(names.len()), 0);
    for span in spans {
        let line = &bytes[start..span.end];
        start = span.end;
        let Ok(Object(fields)) = serde_json::from_slice(line) else { continue };
        for (at, name) in names.iter().enumerate() {
            let cell = fields.iter().find(|(other, _)| other == name);
            hex.take(at, cell.and_then(|(_, cell)| cell.text()));
        }
    }
    hex.only(bits)
}

/// Whether an object is a map from names to fingerprints.
fn are_fingerprints(fields: &[(String, Cell<'_>)], bits: u32) -> bool {
    let is_one =
        |cell: &Cell<'_>| cell.text().is_some_and(|text| is_value(text, bits) || is_telling(text));
    fields.len() > 1 && fields.iter().all(|(_, cell)| is_one(cell))
}

/// What a row is looked up with; one is enough for all rows of a piece.
#[derive(Default)]
pub struct Lookup<'a> {
    fields: Fields,
    cells: Vec<Cell<'a>>,
}

/// A row.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    shared: &'a Shared,
    values: Values<'a>,
}

#[derive(Clone, Copy)]
enum Values<'a> {
    /// The wanted fields of an object, and the line that it is.
    Cells(&'a [Cell<'a>], &'a [u8]),
    Fields(&'a Fields, &'a [u8]),
    Whole(&'a [u8]),
    #[cfg(feature = "arrow")]
    Batch(&'a RecordBatch, usize),
}

impl Piece {
    /// The number of records.
    pub fn len(&self) -> usize {
        match &self.records {
            Records::Text(_, spans) => spans.len(),
            Records::Whole(_) => 1,
            #[cfg(feature = "arrow")]
            Records::Batch(batch, _) => batch.num_rows(),
        }
    }

    /// Whether it has none, which no piece of a reader is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What it takes of memory.
    pub fn bytes(&self) -> usize {
        match &self.records {
            Records::Text(bytes, spans) => bytes.capacity() + spans.capacity() * size_of::<Span>(),
            Records::Whole(bytes) => bytes.capacity(),
            #[cfg(feature = "arrow")]
            Records::Batch(batch, _) => batch.get_array_memory_size(),
        }
    }

    /// The columns that are wanted.
    pub fn wants(&self) -> &[Want] {
        &self.shared.wants
    }

    /// The place of a record.
    pub fn at(&self, index: usize) -> At {
        match &self.records {
            Records::Text(_, spans) => At::Line(spans.get(index).map_or(0, |span| span.line)),
            Records::Whole(_) => At::Line(1),
            #[cfg(feature = "arrow")]
            Records::Batch(_, first) => At::Row(first + index as u64),
        }
    }

    /// The error of a record.
    pub fn error(&self, index: usize, problem: RecordProblem) -> InputError {
        self.shared.origin.error(Problem::Record(self.at(index), problem))
    }

    /// The id of a record that has none of its own: the name of the file and the place.
    pub fn place(&self, index: usize) -> String {
        let origin = self.shared.origin.id();
        match (&self.records, self.at(index)) {
            (Records::Whole(_), _) => origin,
            (_, At::Line(number) | At::Row(number)) => format!("{origin}:{number}"),
        }
    }

    /// The bytes of a record, with its line end; `None` where it is no run of bytes.
    pub fn raw(&self, index: usize) -> Option<&[u8]> {
        match &self.records {
            Records::Text(bytes, spans) => {
                let start = index.checked_sub(1).map_or(0, |before| spans[before].end);
                Some(&bytes[start..spans[index].end])
            }
            Records::Whole(bytes) => Some(bytes),
            #[cfg(feature = "arrow")]
            Records::Batch(..) => None,
        }
    }

    /// A row by its place in the piece.
    pub fn row<'r, 'p: 'r>(
        &'p self,
        index: usize,
        lookup: &'r mut Lookup<'p>,
    ) -> Result<Row<'r>, RecordProblem> {
        let shared = &*self.shared;
        let line = self.raw(index).unwrap_or_default();
        let values = match &self.records {
            Records::Text(..) if shared.layout == Layout::Jsonl => {
                // So that what is cut is told at its last column.
                let line = line.trim_ascii_end();
                object::cells(line, &shared.wants, &mut lookup.cells)?;
                Values::Cells(&lookup.cells, line)
            }
            Records::Text(..) => {
                lookup.fields.split(line, shared.layout, shared.quoted);
                let (found, header) = (lookup.fields.len(), shared.columns);
                // What separates would move all columns behind it.
                if found != header {
                    return Err(RecordProblem::Fields { found, header });
                }
                Values::Fields(&lookup.fields, line)
            }
            Records::Whole(bytes) => Values::Whole(bytes),
            #[cfg(feature = "arrow")]
            Records::Batch(batch, _) => Values::Batch(batch, index),
        };
        Ok(Row { shared, values })
    }

    /// The column of a wanted one, where all of it is at hand.
    #[cfg(feature = "arrow")]
    pub(crate) fn column(&self, want: usize) -> Option<&dyn Array> {
        match &self.records {
            Records::Batch(batch, _) => Some(batch.column(self.shared.places[want]?).as_ref()),
            _ => None,
        }
    }
}

impl<'a> Row<'a> {
    /// The value of a wanted column.
    pub fn cell(&self, want: usize) -> Cell<'a> {
        let place = self.shared.places[want];
        match (self.values, place) {
            (Values::Cells(cells, _), _) => cells[want].borrowed(),
            (Values::Whole(bytes), Some(0)) => Cell::Bytes(Cow::Borrowed(bytes)),
            (Values::Fields(fields, line), Some(place)) => {
                let field = fields.get(line, place);
                // Lists are taken apart before anything in them.
                match self.shared.wants[want].kind {
                    Kind::Ids => Cell::Bytes(Cow::Borrowed(field)),
                    _ => Cell::Bytes(self.shared.unescaped(field)),
                }
            }
            #[cfg(feature = "arrow")]
            (Values::Batch(batch, row), Some(place)) => arrays::cell(batch.column(place), row),
            _ => Cell::Missing,
        }
    }

    /// The name of a wanted column.
    pub fn name(&self, want: usize) -> &'a str {
        self.shared.wants[want].name()
    }

    /// Whether an empty field stands for none, as tables in text have it.
    pub fn has_no_nulls(&self) -> bool {
        matches!(self.values, Values::Fields(..))
    }

    /// What is wrong where a wanted column has nothing.
    pub fn missing(&self, want: usize) -> RecordProblem {
        let column = self.shared.wants[want].name().to_string();
        let near = match self.values {
            Values::Cells(_, line) => like(&column, &object::names(line)).map(String::from),
            _ => None,
        };
        RecordProblem::NoField { column, near }
    }

    /// What is wrong where a wanted column has something else.
    pub fn refused(&self, want: usize, wanted: &'static str) -> RecordProblem {
        let column = self.shared.wants[want].name().to_string();
        match self.cell(want) {
            Cell::Null => RecordProblem::Null { column },
            Cell::Missing => self.missing(want),
            Cell::Bytes(bytes) if std::str::from_utf8(&bytes).is_err() => RecordProblem::Utf8,
            cell => RecordProblem::Value { column, found: cell.to_string(), wanted },
        }
    }

    /// The id in a wanted column: a string, or a number in its digits.
    pub fn id(&self, want: usize) -> Result<Cow<'a, str>, RecordProblem> {
        const WANTED: &str = "id, which is a string or a number";
        match self.cell(want) {
            Cell::Binary(_) => Err(self.refused(want, WANTED)),
            cell => match cell.into_text() {
                Ok(Some(id)) => Ok(id),
                _ => Err(self.refused(want, WANTED)),
            },
        }
    }
}
