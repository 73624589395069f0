//! CSV, TSV, and columns separated by white space.

use std::io::{self, Read};

use csv::ByteRecord;
use fpstore::Fingerprint;

use crate::column::TextColumn;
use crate::detect::{excerpt, is_value};
use crate::error::{At, ColumnProblem, Problem, RecordProblem};
use crate::options::Options;
use crate::reader::{IdWish, Reader, Sink, choose_column, text_id};
use crate::stream::Stream;
use crate::tsv;

/// A record may have so many bytes; more would be a quote that is never closed.
const MAX_RECORD_BYTES: usize = 1 << 24;
/// Records that are taken in one piece.
const PIECE_RECORDS: usize = 4096;
/// Bytes of the records from which the digits are judged.
const JUDGED_BYTES: usize = 1 << 20;
/// Stands behind the input, on a line of its own. Inside of a field it shows an open quote, at which
/// the input would else seem to end well.
const END: &str = "\u{1}end of input\u{1}";

/// What stands between columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Separator {
    /// One such byte, which quotes may enclose.
    Byte(u8),
    /// One tab, by the grammar of `tsv`.
    Tab,
    /// Spaces and tabs, any number, also at both ends of a line. Nothing quotes.
    WhiteSpace,
}

/// Reads columns.
pub struct DelimitedReader {
    reader: csv::Reader<Ended>,
    options: Options,
    /// Records that are taken in one piece.
    together: usize,
    /// Whether backslashes stand before what would separate.
    escapes: bool,
    /// The columns, once the header was read.
    columns: Option<Columns>,
    record: ByteRecord,
    /// The line on which it begins.
    line: u64,
    ended: bool,
}

struct Columns {
    fingerprint: usize,
    texts: TextColumn,
    id: Option<(usize, IdWish)>,
    fields: usize,
}

impl DelimitedReader {
    /// A reader; `live` gives each record as soon as it is there.
    pub fn new(stream: Stream, separator: Separator, options: Options, live: bool) -> Self {
        let (delimiter, squeeze) = match separator {
            Separator::Byte(delimiter) => (delimiter, None),
            Separator::Tab => (b'\t', None),
            Separator::WhiteSpace => (b'\t', Some(Squeeze::default())),
        };
        let ended = Ended { stream, squeeze, end: None, returns: None, last: 0, since_record: 0 };
        let reader = csv::ReaderBuilder::new()
            .delimiter(delimiter)
            .quoting(matches!(separator, Separator::Byte(_)))
            .has_headers(false)
            .flexible(true)
            .buffer_capacity(1 << 16)
            .from_reader(ended);
        let together = if live { 1 } else { PIECE_RECORDS };
        let record = ByteRecord::new();
        let escapes = separator == Separator::Tab;
        Self { reader, options, together, escapes, columns: None, record, line: 0, ended: false }
    }

    /// Reads the next record, and tells whether there is one.
    fn next(&mut self) -> Result<bool, Problem> {
        self.reader.get_mut().since_record = 0;
        if self.ended {
            return Ok(false);
        }
        let line = self.reader.position().line();
        match self.reader.read_byte_record(&mut self.record) {
            Ok(true) => {}
            Ok(false) => self.ended = true,
            Err(error) => {
                return Err(match error.into_kind() {
                    csv::ErrorKind::Io(error) if error.kind() == io::ErrorKind::FileTooLarge => {
                        let limit = MAX_RECORD_BYTES;
                        Problem::Record(At::Line(line), RecordProblem::Long { limit })
                    }
                    csv::ErrorKind::Io(error) => self.reader.get_ref().stream.problem(error),
                    _ => Problem::Record(At::Line(line), RecordProblem::Utf8),
                });
            }
        }
        let end = self.record.iter().next_back().filter(|last| last.ends_with(END.as_bytes()));
        // The reader tells the line behind what it has taken: the first of two bytes that end a line, and lines in quotes.
        let quoted = self.record.as_slice().iter().filter(|byte| **byte == b'\n').count() as u64;
        let is_behind = end.is_none() && !self.reader.get_ref().returns.unwrap_or(true);
        let taken = quoted + u64::from(is_behind);
        self.line = self.reader.position().line().saturating_sub(taken);
        match end {
            Some(last) if self.record.len() == 1 && last == END.as_bytes() => self.ended = true,
            Some(_) => {
                return Err(Problem::Record(self.at(), RecordProblem::OpenQuote));
            }
            None if self.escapes => tsv::unescape(&mut self.record),
            None => {}
        }
        Ok(!self.ended)
    }

    /// The place of the record that was read.
    fn at(&self) -> At {
        At::Line(self.line)
    }

    /// Reads the header, or the first record where there is none. Gives that record.
    fn start(&mut self, bits: u32) -> Result<Option<(At, ByteRecord)>, Problem> {
        if !self.next()? {
            return match self.options.header {
                true => Err(Problem::Column(ColumnProblem::NoHeader)),
                false => Ok(None),
            };
        }
        let names: Vec<String> = self
            .record
            .iter()
            .map(|name| String::from_utf8_lossy(name.trim_ascii()).into_owned())
            .collect();
        let columns = match self.options.header {
            true => Columns::named(&names, &self.options, bits),
            false => Columns::numbered(names.len(), &self.options),
        };
        self.columns = Some(columns.map_err(Problem::Column)?);
        Ok((!self.options.header).then(|| (self.at(), self.record.clone())))
    }

    /// Reads the first records, judges the digits from them, and appends them.
    fn read_judging<F: Fingerprint>(&mut self, to: &mut Sink<'_, F>) -> Result<bool, Problem> {
        let mut first = Vec::new();
        let mut bytes = 0;
        if self.columns.is_none() {
            first.extend(self.start(F::BITS)?);
        }
        while first.len() < self.together && bytes < JUDGED_BYTES && self.next()? {
            bytes += self.record.as_slice().len();
            first.push((self.at(), self.record.clone()));
        }
        let Some(columns) = &mut self.columns else { return Ok(false) };
        let index = columns.fingerprint;
        columns.texts.judge::<F>(
            first.iter().map(|(at, record)| (*at, record.get(index).unwrap_or_default())),
        )?;
        for (at, record) in &first {
            to.take(*at, columns.take(record))?;
        }
        Ok(!self.ended)
    }
}

impl<F: Fingerprint> Reader<F> for DelimitedReader {
    fn read(&mut self, to: &mut Sink<'_, F>) -> Result<bool, Problem> {
        if self.columns.as_ref().is_none_or(|columns| !columns.texts.is_judged()) {
            return self.read_judging(to);
        }
        for _ in 0..self.together {
            if !self.next()? {
                return Ok(false);
            }
            let at = self.at();
            if let Some(columns) = &self.columns {
                to.take(at, columns.take(&self.record))?;
            }
        }
        Ok(true)
    }
}

impl Columns {
    fn named(names: &[String], options: &Options, bits: u32) -> Result<Self, ColumnProblem> {
        let data = names.iter().find(|name| is_value(name.as_bytes(), bits));
        let is_data = |problem| match data {
            Some(token) => ColumnProblem::HeaderIsData { token: excerpt(token.as_bytes()) },
            None => problem,
        };
        let fingerprint = choose_column(options.column.as_deref(), names).map_err(is_data)?;
        if options.column.is_none() && is_value(names[fingerprint].as_bytes(), bits) {
            let token = excerpt(names[fingerprint].as_bytes());
            return Err(ColumnProblem::HeaderIsData { token });
        }
        let id = |wish: &IdWish| Ok((choose_column(Some(&wish.column), names)?, wish.clone()));
        Ok(Self {
            fingerprint,
            texts: TextColumn::new(names[fingerprint].clone(), options.digits),
            id: options.ids.as_ref().map(id).transpose()?,
            fields: names.len(),
        })
    }

    fn numbered(columns: usize, options: &Options) -> Result<Self, ColumnProblem> {
        let index = |name: &str| match name.parse() {
            Ok(number) if (1..=columns).contains(&number) => Ok(number - 1),
            _ => Err(ColumnProblem::Number { name: name.to_string(), columns }),
        };
        let name = match &options.column {
            Some(name) => name.clone(),
            None if columns == 1 => "1".to_string(),
            None => {
                let there = (1..=columns).map(|number| number.to_string()).collect();
                return Err(ColumnProblem::Open { there });
            }
        };
        let id = |wish: &IdWish| Ok((index(&wish.column)?, wish.clone()));
        Ok(Self {
            fingerprint: index(&name)?,
            texts: TextColumn::new(name, options.digits),
            id: options.ids.as_ref().map(id).transpose()?,
            fields: columns,
        })
    }

    fn take<'a, F: Fingerprint>(
        &self,
        record: &'a ByteRecord,
    ) -> Result<(F, Option<crate::records::Id<'a>>), RecordProblem> {
        // A comma without quotes would move all columns behind it.
        if record.len() != self.fields {
            return Err(RecordProblem::Fields { found: record.len(), header: self.fields });
        }
        let fingerprint =
            self.texts.fingerprint(record.get(self.fingerprint).unwrap_or_default())?;
        let Some((index, wish)) = &self.id else { return Ok((fingerprint, None)) };
        let id = std::str::from_utf8(record.get(*index).unwrap_or_default())
            .map_err(|_| RecordProblem::Utf8)?;
        Ok((fingerprint, Some(text_id(id, wish)?)))
    }
}

/// An input with `END` behind it, of which no record may take too much.
struct Ended {
    stream: Stream,
    /// Makes a tab of white space.
    squeeze: Option<Squeeze>,
    /// What of the end was not read yet; `None` before.
    end: Option<Vec<u8>>,
    /// Whether a carriage return stands before the end of a line, once the first was read.
    returns: Option<bool>,
    /// The last byte that was read before that.
    last: u8,
    since_record: usize,
}

impl Read for Ended {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if self.since_record > MAX_RECORD_BYTES {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let mut bytes = match &mut self.squeeze {
            None => self.stream.read(to)?,
            Some(squeeze) => squeeze.read(&mut self.stream, to)?,
        };
        if bytes == 0 {
            // The last line ends as the others do.
            let line_end = if self.returns == Some(true) { "\r\n" } else { "\n" };
            let end = self.end.get_or_insert_with(|| [line_end, END].concat().into_bytes());
            bytes = to.len().min(end.len());
            to[..bytes].copy_from_slice(&end[..bytes]);
            end.drain(..bytes);
        }
        if self.returns.is_none() {
            let read = &to[..bytes];
            let end = read.iter().position(|byte| *byte == b'\n');
            let before = |end: usize| end.checked_sub(1).map_or(self.last, |before| read[before]);
            self.returns = end.map(|end| before(end) == b'\r');
            self.last = read.last().copied().unwrap_or(self.last);
        }
        self.since_record += bytes;
        Ok(bytes)
    }
}

/// Makes one tab of the spaces and tabs between two words, and none of those at the ends of a line.
#[derive(Default)]
struct Squeeze {
    /// Whether a word of this line was read, and whether white space behind it.
    in_line: bool,
    behind_word: bool,
}

impl Squeeze {
    /// Reads some bytes, which are 0 only at the end. `to` has room for two at least.
    fn read(&mut self, from: &mut Stream, to: &mut [u8]) -> io::Result<usize> {
        loop {
            // A tab may be due from the last time, so that what is written is one byte more.
            let read = from.read(&mut to[1..])?;
            let mut written = 0;
            for at in 1..=read {
                let byte = to[at];
                match byte {
                    b' ' | b'\t' => {
                        self.behind_word = self.in_line;
                        continue;
                    }
                    b'\r' | b'\n' => self.in_line = false,
                    _ => {
                        if self.behind_word {
                            to[written] = b'\t';
                            written += 1;
                        }
                        self.in_line = true;
                    }
                }
                self.behind_word = false;
                to[written] = byte;
                written += 1;
            }
            if written > 0 || read == 0 {
                return Ok(written);
            }
        }
    }
}
