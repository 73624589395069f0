//! What is wrong with an input, where, and what to do about it.

use std::fmt;
use std::io;
use std::path::PathBuf;

use fpstore::remedy_of_limit;

use crate::codec::{Codec, HEAD_BYTES, Undecodable};
use crate::detect::{Columns, is_value};
use crate::fault::Fault;
use crate::format::Container;
pub use crate::table_error::{At, ColumnProblem, RecordProblem};
use crate::table_error::{OtherWidth, advice_of_digits};
use crate::text::Place;

/// What is wrong with an input, and where it is.
#[derive(Debug)]
pub struct InputError {
    origin: Origin,
    // Apart, lest every result have room for it.
    problem: Box<Problem>,
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
#[allow(missing_docs, reason = "variants say what their fields are")]
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
    /// So many bytes of raw integers of `word` bytes, where a fingerprint takes `each`.
    CutRaw { bytes: u64, each: u32, word: u32 },
    /// Fingerprints of another width than the wanted one; the place that tells it.
    Width { place: String, found: u32, wanted: u32 },
    /// The token at this place leaves the format open. Lines may look like those of a table.
    OpenFormat { place: Place, token: String, columns: Option<Columns>, bits: u32 },
    /// The token at this place and all others may be hexadecimal or decimal.
    EitherFormat(Place, String),
    /// The lines of a table have carriage returns at their ends, and no line feeds.
    CarriageReturns,
    /// The first bytes hold no whole token.
    NoToken,
    /// UTF-16 text.
    Utf16,
    /// The argument with this number is empty.
    EmptyArgument(u64),
    /// Something else, with the name of it, and what to do with it.
    Foreign(&'static str, &'static str),
    /// An array of JSON.
    JsonArray,
    /// An object of JSON whose fields are all fingerprints.
    JsonMap,
    /// Neither text nor a format that tells what it is, for fingerprints of so many bits.
    NoText(Place, u8, u32),
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

impl std::error::Error for InputError {}

impl InputError {
    /// The width that the input tells, if that is what is wrong.
    pub fn told_width(&self) -> Option<u32> {
        match &*self.problem {
            Problem::Width { found, .. } | Problem::Column(ColumnProblem::Width { found, .. }) => {
                Some(*found)
            }
            _ => None,
        }
    }
}

impl Origin {
    /// Its name as an id: bytes of it that are no UTF-8 stand as `\xff`, so that two names never
    /// become one.
    pub fn id(&self) -> String {
        let Origin::File(path) = self else { return self.to_string() };
        let mut id = String::new();
        for chunk in path.as_os_str().as_encoded_bytes().utf8_chunks() {
            id.push_str(chunk.valid());
            id.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}")));
        }
        id
    }

    /// The error of this input.
    pub fn error(&self, problem: Problem) -> InputError {
        InputError { origin: self.clone(), problem: Box::new(problem) }
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

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f)?;
        match &*self.problem {
            Problem::Record(_, problem) if problem.may_be_skipped() => {
                f.write_str(", or give --on-error skip")
            }
            Problem::Token(..) if !matches!(self.origin, Origin::Arguments) => {
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
        match &*self.problem {
            Problem::Open(error) => {
                let remedy = remedy_of_limit(error).unwrap_or("check the path");
                write!(f, "{origin}: cannot open: {error}; {remedy}")
            }
            Problem::Directory => {
                write!(f, "{origin}: is a directory; give a file of fingerprints")
            }
            Problem::Read(at, error) => {
                let remedy = remedy_of_limit(error).unwrap_or("copy it and try again");
                write!(f, "{origin}: cannot read at byte {at}: {error}; {remedy}")
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
            Problem::CutRaw { bytes, each, word } => write!(
                f,
                "{origin}: byte {}: the last fingerprint is cut: {bytes} bytes are no multiple of \
                 {each}; complete the file, or give another --format than u{}le",
                bytes - bytes % u64::from(*each),
                8 * word,
            ),
            Problem::Width { place, found, wanted } if matches!(origin, Origin::Arguments) => {
                write!(
                    f,
                    "{place}: {} hexadecimal digits, which are {found} bits; give {} digits",
                    found / 4,
                    wanted / 4
                )
            }
            Problem::Width { place, found, wanted } => {
                write!(f, "{origin}: {place}: {}", OtherWidth(*found, *wanted))
            }
            Problem::OpenFormat { place: at, token, columns, bits } => {
                write!(f, "{}: \"{}\": ", place(at), token.escape_debug())?;
                match columns {
                    Some(columns) => columns.write(f),
                    None if is_hex_or_dec(token, *bits) => write_open_digits(f, token, *bits),
                    None => f.write_str(
                        "is neither hexadecimal nor decimal; give the --format that the file has, \
                         of those that `fpstore --help` lists",
                    ),
                }
            }
            Problem::EitherFormat(at, token) => write!(
                f,
                "{}: \"{token}\" and those behind it may be hexadecimal or decimal; give --format hex \
                 or --format dec",
                place(at)
            ),
            Problem::CarriageReturns => write!(
                f,
                "{origin}: line 1: ends with a carriage return alone, which ends no line of a table; \
                 convert the file, as `tr '\\r' '\\n'` does"
            ),
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
            Problem::Foreign(name, remedy) => {
                write!(f, "{origin}: is {name}, which is not read; {remedy}")
            }
            Problem::JsonArray => write!(
                f,
                "{origin}: is a JSON array; give one object on each line, as `jq -c '.[]'` writes \
                 them, and strings without their quotes, as `jq -r '.[]'` does"
            ),
            Problem::JsonMap => write!(
                f,
                "{origin}: line 1: is a map from names to fingerprints; give one object on each \
                 line, as `jq -c 'to_entries[]'` writes them, with --fingerprint-column value and \
                 --id-column key"
            ),
            Problem::NoText(at, byte, bits) => write!(
                f,
                "{}: byte {byte:#04x} is no text, and nothing else is known of the file; convert it, \
                 or give --format u{}le if it is raw integers, or the --format that it has",
                place(at),
                bits.min(&64)
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
fn write_open_digits(f: &mut fmt::Formatter<'_>, token: &str, bits: u32) -> fmt::Result {
    write!(
        f,
        "up to here fingerprints are neither all hexadecimal ({} digits or 0x) nor all decimal; give \
         --format hex or --format dec if all of them are that{}",
        bits / 4,
        advice_of_digits(token, bits),
    )
}

/// Whether it could be a fingerprint of a list, or the beginning of one.
fn is_hex_or_dec(token: &str, bits: u32) -> bool {
    is_value(token.as_bytes(), bits)
        || token.trim_end_matches('.').bytes().all(|b| b.is_ascii_hexdigit())
}

impl Columns {
    /// Says how to read them. No advice takes all of them for fingerprints where one may be a
    /// count.
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Columns { count, fingerprint } = self;
        write!(f, "each line has {count} columns, separated by white space; ")?;
        match fingerprint {
            Some((number, None)) => write!(
                f,
                "to take the fingerprints from column {number}, give --format columns,no-header \
                 --fingerprint-column {number}"
            ),
            Some((_, Some(name))) => write!(
                f,
                "to take the fingerprints from the column \"{name}\", give --format columns \
                 --fingerprint-column {name}",
                name = name.escape_debug()
            ),
            None => f.write_str(
                "give --format columns,no-header --fingerprint-column N, or --format hex or \
                 --format dec if all of them are fingerprints",
            ),
        }
    }
}
