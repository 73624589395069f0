//! JSON lines: an object on each line, of which one field is the fingerprint.

use std::borrow::Cow;
use std::fmt;
use std::io::BufRead;

use fpstore::Fingerprint;
use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};

use crate::cell::{Any, Cell, Name, Row, cause};
use crate::column::TextColumn;
use crate::detect::{excerpt, is_telling, is_value};
use crate::error::{At, ColumnProblem, Problem, RecordProblem};
use crate::options::Options;
use crate::reader::{IdKind, IdWish, Reader, Sink, choose_column, like, text_id};
use crate::records::Id;
use crate::stream::Stream;
use crate::token::{signed, unsigned};

/// A line may have so many bytes.
const MAX_LINE_BYTES: usize = 1 << 24;
/// Lines and bytes that are taken in one piece.
const PIECE_LINES: usize = 4096;
const PIECE_BYTES: usize = 1 << 20;

const WANTED: &str =
    "fingerprint, which is a whole number of 64 bits without point or exponent, or a string";
const WANTED_NARROW: &str =
    "fingerprint, which is a whole number of 32 bits without point or exponent, or a string";
const WANTED_WIDE: &str = "fingerprint, which is a string where it has more than 64 bits";
const WANTED_ID: &str = "id, which is a whole number from 0 to 18446744073709551615 or a string";

/// Reads objects.
pub struct JsonReader {
    stream: Stream,
    options: Options,
    /// Lines that are taken in one piece.
    together: usize,
    /// The column, once the first object was read.
    texts: Option<TextColumn>,
    line: Vec<u8>,
    lines: u64,
    ended: bool,
}

/// A record whose text is still to be parsed.
type Cells = (Cell<'static>, Option<Cell<'static>>);

impl JsonReader {
    /// A reader; `live` gives each record as soon as its line is there.
    pub fn new(stream: Stream, options: Options, live: bool) -> Self {
        let texts = options.column.as_ref().map(|name| TextColumn::new(name, options.digits));
        let together = if live { 1 } else { PIECE_LINES };
        Self { stream, options, together, texts, line: Vec::new(), lines: 0, ended: false }
    }

    /// Reads the next line that is not blank.
    fn next_line(&mut self) -> Result<bool, Problem> {
        loop {
            self.line.clear();
            self.lines += 1;
            loop {
                let piece = self.stream.piece()?;
                let end = piece.iter().position(|&byte| byte == b'\n');
                let bytes = end.map_or(piece.len(), |end| end + 1);
                self.ended = piece.is_empty();
                self.line.extend_from_slice(&piece[..bytes]);
                self.stream.consume(bytes);
                if self.line.len() > MAX_LINE_BYTES {
                    let problem = RecordProblem::Long { limit: MAX_LINE_BYTES };
                    return Err(Problem::Record(At::Line(self.lines), problem));
                }
                if end.is_some() || self.ended {
                    break;
                }
            }
            // So that what is cut is told at its last column.
            self.line.truncate(self.line.trim_ascii_end().len());
            if !self.line.is_empty() {
                return Ok(true);
            }
            if self.ended {
                return Ok(false);
            }
        }
    }

    /// The column; without a name it is told from the fields of the first object.
    fn choose(&mut self, bits: u32) -> Result<(), Problem> {
        if self.texts.is_some() {
            return Ok(());
        }
        // What is wrong with the line is told as of any other.
        if let Ok(Row(fields)) = serde_json::from_slice(&self.line) {
            let names = || fields.iter().map(|(name, _)| name.as_str());
            let index = choose_column(None, names()).map_err(|problem| match problem {
                ColumnProblem::Open { .. } if are_fingerprints(&fields, bits) => Problem::JsonMap,
                problem => Problem::Column(problem),
            })?;
            self.texts = Some(TextColumn::new(&*fields[index].0, self.options.digits));
        }
        Ok(())
    }

    fn cells(&self) -> Result<Cells, RecordProblem> {
        let Some(texts) = &self.texts else {
            return match serde_json::from_slice::<Row<'_>>(&self.line) {
                Err(error) => Err(self.problem(&error)),
                Ok(_) => Err(self.missing("fingerprint")),
            };
        };
        let id = self.options.ids.as_ref().map(|wish| wish.column.as_str());
        let mut reader = serde_json::Deserializer::from_slice(&self.line);
        let fields = Fields { fingerprint: texts.name(), id }.deserialize(&mut reader);
        let (fingerprint, id_cell) = fields
            .and_then(|cells| reader.end().map(|()| cells))
            .map_err(|error| self.problem(&error))?;
        let fingerprint = fingerprint.ok_or_else(|| self.missing(texts.name()))?.into_owned();
        let id = match id {
            None => None,
            Some(name) => Some(id_cell.ok_or_else(|| self.missing(name))?.into_owned()),
        };
        let texts_wanted = self.options.ids.as_ref().is_some_and(|ids| ids.kind == IdKind::Text);
        let id = match id {
            Some(Cell::Number(number)) if texts_wanted => {
                Some(Cell::Text(Cow::Owned(number.to_string())))
            }
            Some(Cell::Negative(number)) if texts_wanted => {
                Some(Cell::Text(Cow::Owned(number.to_string())))
            }
            Some(Cell::Plain(text)) if texts_wanted && is_number(&text) => Some(Cell::Text(text)),
            id => id,
        };
        Ok((fingerprint, id))
    }
}

impl JsonReader {
    /// The line has no such field, and perhaps one that is written nearly so.
    fn missing(&self, name: &str) -> RecordProblem {
        let fields = serde_json::from_slice(&self.line).map_or(Vec::new(), |Row(fields)| fields);
        let names: Vec<String> = fields.into_iter().map(|(name, _)| name).collect();
        let near = like(name, &names).map(String::from);
        RecordProblem::NoField { column: name.to_string(), near }
    }

    fn problem(&self, error: &serde_json::Error) -> RecordProblem {
        RecordProblem::Json(cause(error, &self.line))
    }
}

/// Whether an object is a map from names to fingerprints.
fn are_fingerprints(fields: &[(String, Cell<'_>)], bits: u32) -> bool {
    let is_one = |cell: &Cell<'_>| match cell {
        Cell::Text(text) => is_value(text.as_bytes(), bits) || is_telling(text.as_bytes()),
        _ => false,
    };
    fields.len() > 1 && fields.iter().all(|(_, cell)| is_one(cell))
}

impl<F: Fingerprint> Reader<F> for JsonReader {
    fn read(&mut self, to: &mut Sink<'_, F>) -> Result<bool, Problem> {
        let mut rows: Vec<(At, Result<Cells, RecordProblem>)> = Vec::new();
        let mut bytes = 0;
        let mut more = true;
        while rows.len() < self.together && bytes < PIECE_BYTES {
            more = self.next_line()?;
            if !more {
                break;
            }
            self.choose(F::BITS)?;
            bytes += self.line.len();
            rows.push((At::Line(self.lines), self.cells()));
        }
        if let Some(texts) = &mut self.texts {
            texts.judge::<F>(rows.iter().filter_map(|(at, row)| match row {
                Ok((Cell::Text(text), _)) => Some((*at, text.as_bytes())),
                _ => None,
            }))?;
        }
        for (at, row) in &rows {
            let record = match (row, &self.texts) {
                (Ok((fingerprint, id)), Some(texts)) => {
                    record(texts, fingerprint, id.as_ref(), self.options.ids.as_ref())
                }
                (Err(problem), _) => Err(problem.clone()),
                (Ok(_), None) => continue,
            };
            to.take(*at, record)?;
        }
        Ok(more)
    }
}

fn record<'a, F: Fingerprint>(
    texts: &TextColumn,
    fingerprint: &Cell<'_>,
    id: Option<&'a Cell<'_>>,
    wish: Option<&IdWish>,
) -> Result<(F, Option<Id<'a>>), RecordProblem> {
    let refused = |found| {
        let wanted = match F::BITS {
            u64::BITS => WANTED,
            u32::BITS => WANTED_NARROW,
            _ => WANTED_WIDE,
        };
        RecordProblem::Value { column: texts.name().to_string(), found, wanted }
    };
    let fingerprint = match fingerprint {
        Cell::Number(number) => unsigned(*number).ok_or_else(|| refused(number.to_string()))?,
        Cell::Negative(number) => signed(*number).ok_or_else(|| refused(number.to_string()))?,
        Cell::Text(text) => texts.fingerprint(text.as_bytes())?,
        Cell::Null => return Err(RecordProblem::Null { column: texts.name().to_string() }),
        Cell::Plain(_) | Cell::Other(_) => return Err(refused(fingerprint.to_string())),
    };
    let (Some(id), Some(wish)) = (id, wish) else { return Ok((fingerprint, None)) };
    let column = || wish.column.clone();
    let value = |found| RecordProblem::Value { column: column(), found, wanted: WANTED_ID };
    let id = match id {
        Cell::Number(number) => Id::Number(*number),
        Cell::Text(text) => text_id(text, wish)?,
        Cell::Null => return Err(RecordProblem::Null { column: column() }),
        Cell::Negative(_) | Cell::Plain(_) | Cell::Other(_) => return Err(value(id.to_string())),
    };
    Ok((fingerprint, Some(id)))
}

/// Whether it is no true or false.
fn is_number(plain: &str) -> bool {
    plain.starts_with(|first: char| first == '-' || first.is_ascii_digit())
}

/// Takes two fields of an object and passes over the others.
struct Fields<'n> {
    fingerprint: &'n str,
    id: Option<&'n str>,
}

type FoundCells<'de> = (Option<Cell<'de>>, Option<Cell<'de>>);

impl<'de> DeserializeSeed<'de> for Fields<'_> {
    type Value = FoundCells<'de>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Fields<'_> {
    type Value = FoundCells<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (mut fingerprint, mut id) = (None, None);
        while let Some(key) = map.next_key_seed(Name)? {
            let (is_fingerprint, is_id) = (
                *key == *self.fingerprint.as_bytes(),
                self.id.is_some_and(|id| *key == *id.as_bytes()),
            );
            if !is_fingerprint && !is_id {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            let cell = map.next_value_seed(Any)?;
            if is_fingerprint && fingerprint.replace(cell.clone()).is_some()
                || is_id && id.replace(cell).is_some()
            {
                return Err(de::Error::custom(format!("\"{}\" twice", excerpt(&key))));
            }
        }
        Ok((fingerprint, id))
    }
}
