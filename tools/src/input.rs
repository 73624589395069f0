//! Inputs: files, standard input and arguments as streams of fingerprints.

use std::fmt;
use std::fs::File;
use std::io::{self, Cursor, Read, Seek};
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::detect::{FormatArg, HEAD_BYTES, Verdict, judge, skip_bom};
use crate::parse::{Fault, Format, Place, RawParser, TextParser};

/// What is wrong with an input, and where it is.
#[derive(Debug)]
pub struct InputError {
    origin: Origin,
    problem: Problem,
}

/// Where fingerprints come from.
#[derive(Clone, Debug)]
enum Origin {
    File(PathBuf),
    Stdin,
    /// The arguments of the command; they are parsed as a text with one in each line.
    Arguments,
}

#[derive(Debug)]
enum Problem {
    Open(io::Error),
    Directory,
    Read(u64, io::Error),
    Fault(Place, Fault),
    CutRaw(u64),
    OpenFormat(Place, String),
    NoToken,
    Utf16,
    EmptyArgument(u64),
}

impl std::error::Error for InputError {}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = |place: &Place| match &self.origin {
            Origin::File(path) => {
                format!("{}: line {}, column {}", path.display(), place.line, place.column)
            }
            Origin::Stdin => {
                format!("standard input: line {}, column {}", place.line, place.column)
            }
            Origin::Arguments => format!("argument {}, character {}", place.line, place.column),
        };
        let origin = &self.origin;
        match &self.problem {
            Problem::Open(error) => write!(f, "{origin}: cannot open: {error}; check the path"),
            Problem::Directory => {
                write!(f, "{origin}: is a directory; give a file of fingerprints")
            }
            Problem::Read(at, error) => {
                write!(f, "{origin}: cannot read at byte {at}: {error}; copy it and try again")
            }
            Problem::Fault(at, fault) => write!(f, "{}: {fault}", place(at)),
            Problem::CutRaw(bytes) => write!(
                f,
                "{origin}: byte {}: the last fingerprint is cut: {bytes} bytes are no multiple of 8; \
                 complete the file, or give another --format than u64le",
                bytes - bytes % 8,
            ),
            Problem::OpenFormat(at, token) => write!(
                f,
                "{}: \"{}\": up to here fingerprints are neither all hexadecimal (16 digits or 0x) \
                 nor all decimal; give --format hex or --format dec",
                place(at),
                token.escape_debug(),
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

impl Origin {
    fn error(&self, problem: Problem) -> InputError {
        InputError { origin: self.clone(), problem }
    }
}

/// A stream of fingerprints. Memory: one buffer of 64 KiB.
pub struct Source {
    origin: Origin,
    reader: Box<dyn Read>,
    parser: Parser,
    buffer: Vec<u8>,
    /// Bytes that were read.
    offset: u64,
    ended: bool,
    /// Bytes of a regular file from where reading starts.
    length: Option<u64>,
    live: bool,
}

enum Parser {
    /// The first bytes are still to be read, and perhaps judged.
    Waiting(FormatArg),
    Text(TextParser),
    Raw(RawParser),
}

impl Source {
    /// Opens a file, or standard input where `path` is `-`.
    pub fn open(path: &Path, format: FormatArg) -> Result<Self, InputError> {
        let (origin, file) = if is_stdin(path) {
            (Origin::Stdin, stdin())
        } else {
            (Origin::File(path.to_path_buf()), File::open(path))
        };
        let (length, file) =
            file.and_then(with_length).map_err(|error| origin.error(Problem::Open(error)))?;
        if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
            return Err(origin.error(Problem::Directory));
        }
        Ok(Self::new(origin, Box::new(file), format, length))
    }

    /// Opens like `open`. A pipe, or whatever else is no regular file, gives its fingerprints as
    /// soon as they are there; its format is judged from what the first read brings.
    pub fn follow(path: &Path, format: FormatArg) -> Result<Self, InputError> {
        let source = Self::open(path, format)?;
        let live = source.length.is_none();
        Ok(Self { live, ..source })
    }

    /// Takes the arguments of a command as fingerprints in text.
    pub fn arguments(arguments: &[String], format: FormatArg) -> Result<Self, InputError> {
        let empty = |argument: &String| argument.trim().is_empty();
        if let Some(index) = arguments.iter().position(empty) {
            return Err(Origin::Arguments.error(Problem::EmptyArgument(index as u64 + 1)));
        }
        let text = Cursor::new(arguments.join("\n").into_bytes());
        Ok(Self::new(Origin::Arguments, Box::new(text), format, None))
    }

    fn new(origin: Origin, reader: Box<dyn Read>, format: FormatArg, length: Option<u64>) -> Self {
        Self {
            origin,
            reader,
            parser: Parser::Waiting(format),
            buffer: vec![0; HEAD_BYTES],
            offset: 0,
            ended: false,
            length,
            live: false,
        }
    }

    /// Whether each fingerprint may be waited for at the other end of a pipe.
    pub fn is_live(&self) -> bool {
        self.live
    }

    /// Bytes that are there to be read, if this is a regular file.
    pub fn length(&self) -> Option<u64> {
        self.length
    }

    /// Bytes that were read so far.
    pub fn bytes_read(&self) -> u64 {
        self.offset
    }

    /// Appends the fingerprints of the next piece of the input to `to`, and gives `false` at the
    /// end.
    ///
    /// # Errors
    /// Fingerprints before the faulty place have been appended.
    pub fn read(&mut self, to: &mut Vec<u64>) -> Result<bool, InputError> {
        let piece = match self.parser {
            Parser::Waiting(format) => self.start(format)?,
            _ => 0..self.fill(0)?,
        };
        let fault = |(place, fault)| self.origin.error(Problem::Fault(place, fault));
        match &mut self.parser {
            Parser::Text(parser) => {
                parser.feed(&self.buffer[piece], to).map_err(fault)?;
                if self.ended {
                    parser.finish(to).map_err(fault)?;
                }
            }
            Parser::Raw(parser) => {
                parser.feed(&self.buffer[piece], to);
                if let Some(bytes) = parser.cut().filter(|_| self.ended) {
                    return Err(self.origin.error(Problem::CutRaw(bytes)));
                }
            }
            Parser::Waiting(_) => {}
        }
        Ok(!self.ended)
    }

    /// Reads the first bytes, makes the parser, and gives the part of the buffer that is for it.
    fn start(&mut self, format: FormatArg) -> Result<Range<usize>, InputError> {
        let mut filled = 0;
        loop {
            filled += self.fill(filled)?;
            let full = self.ended || filled == HEAD_BYTES;
            if !full && !self.live {
                continue;
            }
            let verdict = match format.given() {
                Some(format) => Verdict::Clear(format),
                None => judge(&self.buffer[..filled], self.ended),
            };
            let problem = match verdict {
                Verdict::Clear(format) => {
                    let skipped = self.make_parser(format, filled)?;
                    return Ok(skipped..filled);
                }
                Verdict::TooShort if !full => continue,
                Verdict::TooShort => Problem::NoToken,
                Verdict::Utf16 => Problem::Utf16,
                Verdict::Open { place, token } => Problem::OpenFormat(place, token),
            };
            return Err(self.origin.error(problem));
        }
    }

    /// Gives the number of bytes before the first that is for the parser.
    fn make_parser(&mut self, format: Format, filled: usize) -> Result<usize, InputError> {
        if format == Format::U64le {
            self.parser = Parser::Raw(RawParser::default());
            return match self.length.filter(|bytes| bytes % 8 != 0) {
                // Told before any fingerprint is used.
                Some(bytes) => Err(self.origin.error(Problem::CutRaw(bytes))),
                None => Ok(0),
            };
        }
        self.parser = Parser::Text(TextParser::new(format));
        Ok(filled - skip_bom(&self.buffer[..filled]).len())
    }

    /// Reads once, to the buffer from `at` on, and gives the number of bytes.
    fn fill(&mut self, at: usize) -> Result<usize, InputError> {
        loop {
            match self.reader.read(&mut self.buffer[at..]) {
                Ok(bytes) => {
                    self.offset += bytes as u64;
                    self.ended = bytes == 0;
                    return Ok(bytes);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.origin.error(Problem::Read(self.offset, error))),
            }
        }
    }
}

/// Whether `path` means standard input.
pub fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

fn with_length(mut file: File) -> io::Result<(Option<u64>, File)> {
    let metadata = file.metadata()?;
    let length = match metadata.is_file() {
        true => Some(metadata.len().saturating_sub(file.stream_position()?)),
        false => None,
    };
    Ok((length, file))
}

/// Standard input without the buffer of `io::stdin`, and with the metadata of a file.
fn stdin() -> io::Result<File> {
    #[cfg(unix)]
    use std::os::fd::AsFd;
    #[cfg(windows)]
    use std::os::windows::io::AsHandle;

    #[cfg(unix)]
    let owned = io::stdin().as_fd().try_clone_to_owned()?;
    #[cfg(windows)]
    let owned = io::stdin().as_handle().try_clone_to_owned()?;
    Ok(owned.into())
}
