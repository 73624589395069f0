//! What is wrong with an input, where, and what to do about it.

use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::input::detect::{Columns, HEAD_BYTES, is_value};
use crate::input::format::Container;
use crate::input::reader::like;
use crate::input::stream::{Codec, Undecodable};
use crate::input::text::{Fault, Place};

/// What is wrong with an input, and where it is.
#[derive(Debug)]
pub struct InputError {
    origin: Origin,
    problem: Problem,
}

/// Where fingerprints come from.
#[derive(Clone, Debug)]
pub enum Origin {
    /// A file.
    File(PathBuf),
    /// Standard input.
    Stdin,
    /// The arguments of the command; they are parsed as a text with one in each line.
    Arguments,
}

/// What is wrong with an input.
#[allow(dead_code, reason = "features decide which readers are built")]
#[derive(Debug)]
pub enum Problem {
    /// It cannot be opened.
    Open(io::Error),
    /// It is a directory.
    Directory,
    /// It cannot be read from this byte on.
    Read(u64, io::Error),
    /// It cannot be decompressed; so many compressed bytes were read.
    Decompress(u64, Undecodable),
    /// It is compressed in a way in which it cannot be read.
    Compressed(Container, Codec),
    /// What was decompressed is compressed again.
    Twice(Codec),
    /// A token of a list is no fingerprint.
    Token(Place, Fault),
    /// Raw integers of so many bytes.
    CutRaw(u64),
    /// The token at this place leaves the format open. Lines may look like those of a table.
    OpenFormat(Place, String, Option<Columns>),
    /// The first bytes hold no whole token.
    NoToken,
    /// UTF-16 text.
    Utf16,
    /// The argument with this number is empty.
    EmptyArgument(u64),
    /// Something else, with the name of it.
    Foreign(&'static str),
    /// Bytes that are not what the name of the input, or the user, says.
    IsNot(Container),
    /// The tool was built without the reader.
    NotBuilt(Container),
    /// A reader that must jump in the file has none.
    Pipe(Container),
    /// Damaged or cut; in the words of its reader.
    Damaged(Container, String),
    /// The header says something that cannot be used.
    Header(Container, String),
    /// The format has no column of ids.
    NoIds(Container),
    /// The column of fingerprints, or of ids, cannot be told.
    Column(ColumnProblem),
    /// A record is not what it should be.
    Record(At, RecordProblem),
}

/// A record of a table, both counted from 1.
#[cfg_attr(not(feature = "arrow"), allow(dead_code, reason = "for readers that were not built"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// A line of a text.
    Line(u64),
    /// A row.
    Row(u64),
}

impl At {
    /// The place so many records behind this one.
    #[cfg_attr(
        not(feature = "arrow"),
        allow(dead_code, reason = "for readers that were not built")
    )]
    pub fn behind(self, records: usize) -> Self {
        match self {
            At::Line(line) => At::Line(line + records as u64),
            At::Row(row) => At::Row(row + records as u64),
        }
    }
}

/// Why a column cannot be used.
#[cfg_attr(not(feature = "arrow"), allow(dead_code, reason = "for readers that were not built"))]
#[derive(Debug)]
pub enum ColumnProblem {
    /// No column has the name; these are there.
    Missing { name: String, there: Vec<String> },
    /// No name was given, and none can be taken for granted.
    Open { there: Vec<String> },
    /// More than one column has the name.
    Twice { name: String },
    /// The number of a column of a table without header is 0, no number, or over so many columns.
    Number { name: String, columns: usize },
    /// There is no header.
    NoHeader,
    /// The first line looks like data.
    HeaderIsData { token: String },
    /// Values of this type are no fingerprints, or no ids.
    Type { name: String, found: String, wanted: &'static str },
    /// Texts in the column are neither all hexadecimal nor all decimal.
    Digits { at: At, name: String, token: String },
}

/// Why a record cannot be used.
#[derive(Clone, Debug)]
pub enum RecordProblem {
    /// A text that is no fingerprint.
    Text { column: String, token: String, fault: Fault },
    /// A value that is no fingerprint, or no id.
    Value { column: String, found: String, wanted: &'static str },
    /// Nothing stands there.
    Null { column: String },
    /// The record has no such field, and perhaps one of nearly that name.
    NoField { column: String, near: Option<String> },
    /// Another number of fields than the header.
    Fields { found: usize, header: usize },
    /// The line is no object of JSON, in the words of its reader.
    Json(String),
    /// The line is no text.
    Utf8,
    /// The quote that is open here is never closed.
    OpenQuote,
    /// The record has too many bytes.
    Long { limit: usize },
}

impl std::error::Error for InputError {}

impl Origin {
    /// The error of this input.
    pub fn error(&self, problem: Problem) -> InputError {
        InputError { origin: self.clone(), problem }
    }
}

impl Problem {
    /// What a failed read means, `at` bytes from the start of the input.
    pub fn from_io(error: io::Error, at: u64) -> Self {
        match error.downcast::<Undecodable>() {
            Ok(undecodable) => Problem::Decompress(at, undecodable),
            Err(error) => Problem::Read(at, error),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::File(path) => write!(f, "{}", path.display()),
            Origin::Stdin => f.write_str("standard input"),
            Origin::Arguments => f.write_str("arguments"),
        }
    }
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            At::Line(line) => write!(f, "line {line}"),
            At::Row(row) => write!(f, "row {row}"),
        }
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f)?;
        match &self.problem {
            Problem::Record(_, problem) if problem.may_be_skipped() => {
                f.write_str(", or give --on-error skip")
            }
            _ => Ok(()),
        }
    }
}

/// An error of a record that was skipped: without the advice to skip it.
pub struct WhySkipped<'a>(pub &'a InputError);

impl fmt::Display for WhySkipped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.write(f)
    }
}

impl InputError {
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let origin = &self.origin;
        let place = |place: &Place| match origin {
            Origin::Arguments => format!("argument {}, character {}", place.line, place.column),
            _ => format!("{origin}: line {}, column {}", place.line, place.column),
        };
        match &self.problem {
            Problem::Open(error) => write!(f, "{origin}: cannot open: {error}; check the path"),
            Problem::Directory => {
                write!(f, "{origin}: is a directory; give a file of fingerprints")
            }
            Problem::Read(at, error) => {
                write!(f, "{origin}: cannot read at byte {at}: {error}; copy it and try again")
            }
            Problem::Decompress(at, undecodable) => write!(
                f,
                "{origin}: byte {at}: cannot decompress {}: {}; {}",
                undecodable.codec, undecodable.cause, undecodable.advice,
            ),
            Problem::Compressed(container, codec) => write!(
                f,
                "{origin}: {container} inside {codec} cannot be read; decompress it first"
            ),
            Problem::Twice(codec) => {
                write!(f, "{origin}: is compressed twice; decompress the outer {codec} first")
            }
            Problem::Token(at, fault) => match origin {
                Origin::Arguments => write!(f, "{}: {}", place(at), fault.in_argument()),
                _ => write!(f, "{}: {fault}", place(at)),
            },
            Problem::CutRaw(bytes) => write!(
                f,
                "{origin}: byte {}: the last fingerprint is cut: {bytes} bytes are no multiple of 8; \
                 complete the file, or give another --format than u64le",
                bytes - bytes % 8,
            ),
            Problem::OpenFormat(at, token, columns) => {
                write!(f, "{}: \"{}\": ", place(at), token.escape_debug())?;
                match columns {
                    Some(columns) => columns.write(f),
                    None if is_hex_or_dec(token) => f.write_str(OPEN_DIGITS),
                    None => f.write_str(
                        "is neither hexadecimal nor decimal; give the --format that the file has, \
                         of those that `fpstore --help` lists",
                    ),
                }
            }
            Problem::NoToken => write!(
                f,
                "{origin}: no whole fingerprint in the first {HEAD_BYTES} bytes; give --format hex, \
                 dec or u64le if this is a list of fingerprints",
            ),
            Problem::Utf16 => write!(
                f,
                "{origin}: byte 0: UTF-16 text; convert it to UTF-8, or give --format u64le if it is \
                 raw integers",
            ),
            Problem::EmptyArgument(number) => {
                write!(f, "argument {number}: is empty; give a fingerprint")
            }
            Problem::Foreign(name) => write!(
                f,
                "{origin}: is {name}, which is not read; convert it, or give --format u64le if it \
                 is raw integers"
            ),
            Problem::IsNot(container) => write!(
                f,
                "{origin}: is not {container}; check the file, or give the --format that it has"
            ),
            Problem::NotBuilt(container) => write!(
                f,
                "{origin}: is {container}, and this fpstore was built without its reader; build it \
                 with default features, or convert the file"
            ),
            Problem::Pipe(container) => write!(
                f,
                "{origin}: {container} is read from its end and cannot come through a pipe; give a \
                 file"
            ),
            Problem::Damaged(container, cause) => write!(
                f,
                "{origin}: {container} is cut or damaged: {cause}; fetch or write it again"
            ),
            Problem::Header(container, cause) => write!(f, "{origin}: {container}: {cause}"),
            Problem::NoIds(container) => {
                write!(f, "{origin}: {container} has no columns of ids; give a table or JSON")
            }
            Problem::Column(problem) => problem.write(f, origin),
            Problem::Record(at, problem) => write!(f, "{origin}: {at}{problem}"),
        }
    }
}

/// Why a list is not read where its digits may be hexadecimal or decimal.
const OPEN_DIGITS: &str = "up to here fingerprints are neither all hexadecimal (16 digits or 0x) nor \
                           all decimal; give --format hex or --format dec if all of them are that";

/// Whether it could be a fingerprint of a list, or the beginning of one.
fn is_hex_or_dec(token: &str) -> bool {
    is_value(token.as_bytes()) || token.trim_end_matches('.').bytes().all(|b| b.is_ascii_hexdigit())
}

impl Columns {
    /// Says how to read them. No advice takes all of them for fingerprints where one may be a count.
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Columns { count, fingerprint } = self;
        write!(f, "each line has {count} columns, separated by white space; ")?;
        match fingerprint {
            Some((number, None)) => write!(
                f,
                "to take the fingerprints from column {number}, give --format columns --no-header \
                 --fingerprint-column {number}"
            ),
            Some((_, Some(name))) => write!(
                f,
                "to take the fingerprints from the column \"{name}\", give --format columns \
                 --fingerprint-column {name}",
                name = name.escape_debug()
            ),
            None => f.write_str(
                "give --format columns --no-header --fingerprint-column N, or --format hex or \
                 --format dec if all of them are fingerprints",
            ),
        }
    }
}

impl ColumnProblem {
    fn write(&self, f: &mut fmt::Formatter<'_>, origin: &Origin) -> fmt::Result {
        match self {
            ColumnProblem::Missing { name, there } => write!(
                f,
                "{origin}: no column \"{}\"; {}there {}; give one of them",
                name.escape_debug(),
                like(name, there).map_or(String::new(), did_you_mean),
                listed(there)
            ),
            ColumnProblem::Open { there } => write!(
                f,
                "{origin}: which column holds the fingerprints? there {}; give \
                 --fingerprint-column {}",
                listed(there),
                like("fingerprint", there)
                    .map_or("NAME".into(), |name| name.escape_debug().to_string())
            ),
            ColumnProblem::Twice { name } => write!(
                f,
                "{origin}: more than one column \"{}\"; rename one of them",
                name.escape_debug()
            ),
            ColumnProblem::Number { name, columns } => write!(
                f,
                "{origin}: column \"{}\": without a header columns have numbers, here 1 to \
                 {columns}; give one of them",
                name.escape_debug()
            ),
            ColumnProblem::NoHeader => write!(
                f,
                "{origin}: is empty, without even a header; write one, or give --no-header"
            ),
            ColumnProblem::HeaderIsData { token } => write!(
                f,
                "{origin}: line 1: \"{}\" looks like data, not like the name of a column; give \
                 --no-header and the number of the column, --fingerprint-column N",
                token.escape_debug()
            ),
            ColumnProblem::Type { name, found, wanted } => write!(
                f,
                "{origin}: column \"{}\" is of type {found}; convert it to {wanted}, or give \
                 another column",
                name.escape_debug()
            ),
            ColumnProblem::Digits { at, name, token } => write!(
                f,
                "{origin}: {at}, column \"{}\": \"{}\": up to here fingerprints are neither all \
                 hexadecimal (16 digits or 0x) nor all decimal; give --digits hex or --digits dec",
                name.escape_debug(),
                token.escape_debug()
            ),
        }
    }
}

fn did_you_mean(name: &str) -> String {
    format!("did you mean \"{}\"? ", name.escape_debug())
}

fn listed(names: &[String]) -> String {
    const SHOWN: usize = 12;
    if names.is_empty() {
        return "are none".to_string();
    }
    let shown = names.iter().take(SHOWN).map(|name| format!("\"{}\"", name.escape_debug()));
    let more = names.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("are {}{more}", shown.collect::<Vec<_>>().join(", "))
}

impl RecordProblem {
    /// Whether to skip the record is good advice: where the fault is one of this record alone, and not
    /// one of the options.
    fn may_be_skipped(&self) -> bool {
        match self {
            RecordProblem::Text { fault, .. } => {
                matches!(fault, Fault::HexDigit(_) | Fault::DecDigit(_) | Fault::NoDigits)
            }
            RecordProblem::OpenQuote | RecordProblem::Long { .. } => false,
            _ => true,
        }
    }
}

impl fmt::Display for RecordProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let column = |column: &String| format!(", column \"{}\"", column.escape_debug());
        match self {
            RecordProblem::Text { column: name, token, fault } => {
                let token = token.escape_debug();
                write!(f, "{}: \"{token}\": {}", column(name), fault.in_column())
            }
            RecordProblem::Value { column: name, found, wanted } => {
                write!(f, "{}: {found} is no {wanted}", column(name))?;
                f.write_str("; correct it")
            }
            RecordProblem::Null { column: name } => {
                write!(f, "{}: is null; fill it in", column(name))
            }
            RecordProblem::NoField { column: name, near } => {
                let near = near.as_deref().map_or(String::new(), did_you_mean);
                let advice = "fill it in, or name another column";
                write!(f, "{}: is missing; {near}{advice}", column(name))
            }
            RecordProblem::Fields { found, header } => {
                write!(f, ": {found} fields, where the first line has {header}; correct it")
            }
            RecordProblem::Json(cause) => {
                write!(f, ": no JSON object: {cause}; give one object on each line")
            }
            RecordProblem::Utf8 => f.write_str(": is no UTF-8 text; convert it"),
            RecordProblem::OpenQuote => {
                f.write_str(": a quote is opened and never closed; close it, or double it")
            }
            RecordProblem::Long { limit } => {
                write!(f, ": a record of more than {limit} bytes; check the file and its --format")
            }
        }
    }
}
