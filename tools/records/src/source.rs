//! Files, standard input and arguments as streams of records.

use std::fs::File;
use std::io::{self, Cursor, Seek, Write};
use std::path::Path;

use fpstore::Fingerprint;

use crate::codec::{Codec, MAGIC_BYTES};
use crate::detect::{Known, Layout, Taken, Verdict, judge, layout};
use crate::error::{InputError, Origin, Problem};
use crate::format::{Container, Hint};
use crate::options::Options;
use crate::reader::{Reader, Sink};
use crate::records::Records;
use crate::rows::{Limits, PIECE_BYTES, Rows, is_ended_by_returns};
use crate::stream::{Counter, Stream};
use crate::table::{TableReader, wants};
use crate::text::Place;
use crate::token::{self, Format};
use crate::write::hex;
use crate::{list, npy, raw};

/// A stream of records.
pub struct Source<F = u64> {
    origin: Origin,
    options: Options,
    hint: Hint,
    state: State<F>,
    /// How the bytes are read, and decompressed, once that is judged.
    judged: Option<(Layout, Option<Codec>)>,
    counter: Counter,
    /// Bytes of a regular file from where reading starts.
    length: Option<u64>,
    /// The regular file, if reading starts at its first byte.
    #[cfg_attr(
        not(feature = "parquet"),
        allow(dead_code, reason = "for readers that were not built")
    )]
    file: Option<File>,
    live: bool,
    /// Whether hexadecimal digits must be all, or have `0x` in front.
    is_full: bool,
    /// Whether digits were taken for hexadecimal that may be decimal.
    is_either: bool,
    has_warned: bool,
}

enum State<F> {
    /// The first bytes are still to be read, and perhaps judged.
    Waiting(Stream),
    Reading(Box<dyn Reader<F>>),
    Failed,
}

impl<F: Fingerprint> Source<F> {
    /// Opens a file, or standard input where `path` is `-`.
    pub fn open(path: &Path, options: &Options) -> Result<Self, InputError> {
        let (origin, hint, file) = if is_stdin(path) {
            (Origin::Stdin, Hint::default(), stdin())
        } else {
            (Origin::File(path.to_path_buf()), Hint::new(path), File::open(path))
        };
        let (length, whole, file) =
            file.and_then(with_length).map_err(|error| origin.error(Problem::Open(error)))?;
        if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
            return Err(origin.error(Problem::Directory));
        }
        let whole = match whole {
            true => Some(file.try_clone().map_err(|error| origin.error(Problem::Open(error)))?),
            false => None,
        };
        let source = Self::new(origin, Stream::new(file), options);
        Ok(Self { hint, length, file: whole, ..source })
    }

    /// Opens like `open`. A pipe, or whatever else is no regular file, gives its records as soon as
    /// they are there; its format is judged from what the first read brings.
    pub fn follow(path: &Path, options: &Options) -> Result<Self, InputError> {
        let source = Self::open(path, options)?;
        let live = source.length.is_none();
        Ok(Self { live, ..source })
    }

    /// Takes the arguments of a command as fingerprints in text.
    pub fn arguments(arguments: &[String], options: &Options) -> Result<Self, InputError> {
        let empty = |argument: &String| argument.trim().is_empty();
        if let Some(index) = arguments.iter().position(empty) {
            return Err(Origin::Arguments.error(Problem::EmptyArgument(index as u64 + 1)));
        }
        // A hash that was cut when it was copied is no other one with zeros in front.
        let is_full = options.format != Some(Container::Hex);
        let options = options.for_arguments();
        let written = |argument: &String| match token::parse::<F>(argument.as_bytes(), Format::Bin)
        {
            // All binary digits are more than there are of any other kind.
            Ok(fingerprint) if options.format == Some(Container::Hex) => hex(fingerprint),
            _ => argument.clone(),
        };
        let lines: Vec<String> = arguments.iter().map(written).collect();
        let text = Stream::new(Cursor::new(lines.join("\n").into_bytes()));
        Ok(Self { is_full, ..Self::new(Origin::Arguments, text, &options) })
    }

    /// Takes bytes that are in memory already; messages call them by `name`.
    pub fn in_memory(
        name: &str,
        bytes: impl AsRef<[u8]> + Send + 'static,
        options: &Options,
    ) -> Self {
        Self::new(Origin::File(name.into()), Stream::new(Cursor::new(bytes)), options)
    }

    pub(crate) fn new(origin: Origin, stream: Stream, options: &Options) -> Self {
        Self {
            origin,
            options: options.clone(),
            hint: Hint::default(),
            counter: stream.counter(),
            state: State::Waiting(stream),
            judged: None,
            length: None,
            file: None,
            live: false,
            is_full: false,
            is_either: false,
            has_warned: false,
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

    /// Bytes that were read so far, compressed where the input is.
    pub fn bytes_read(&self) -> u64 {
        self.counter.bytes()
    }

    /// Appends the records of the next piece of the input to `to`, and gives `false` at the end.
    ///
    /// # Errors
    /// Records before the faulty place have been appended.
    pub fn read(&mut self, to: &mut Records<F>) -> Result<bool, InputError> {
        self.begin()?;
        let State::Reading(reader) = &mut self.state else { return Ok(false) };
        let skip = self.options.skip;
        let mut sink = Sink { records: to, origin: &self.origin, skip };
        let more = reader.read(&mut sink).map_err(|problem| self.origin.error(problem))?;
        if let Some(warning) = reader.warning().filter(|_| !self.has_warned) {
            self.has_warned = true;
            // Nothing can be done if standard error is closed.
            let _ = writeln!(io::stderr(), "fpstore: warning: {}: {warning}", self.origin);
        }
        Ok(more)
    }

    /// Whether it says that its fingerprints have another width, and which. Reads its first piece.
    pub fn told_width(&mut self) -> Option<u32> {
        let mut first = Records::default();
        // Other faults are told when it is read.
        self.read(&mut first).err()?.told_width()
    }

    /// Bytes of memory that the reader of this input takes beside its pieces, where these are many.
    pub fn buffer_bytes(&mut self) -> Result<u64, InputError> {
        self.begin()?;
        match &self.state {
            State::Reading(reader) => Ok(reader.buffer_bytes()),
            _ => Ok(0),
        }
    }

    /// The number of all its records, where something before them tells it.
    pub fn records(&mut self) -> Result<Option<u64>, InputError> {
        self.begin()?;
        match &self.state {
            State::Reading(reader) => Ok(reader.records()),
            _ => Ok(None),
        }
    }

    /// By which recipe its fingerprints were made, where it says so.
    pub fn recipe(&mut self) -> Result<Option<String>, InputError> {
        self.begin()?;
        match &self.state {
            State::Reading(reader) => Ok(reader.recipe()),
            _ => Ok(None),
        }
    }

    /// What it is taken for, once its first piece was read.
    pub fn taken(&self) -> Option<Taken<'_>> {
        let (State::Reading(reader), Some((layout, codec))) = (&self.state, self.judged) else {
            return None;
        };
        Some(Taken { layout, codec, column: reader.column() })
    }

    fn begin(&mut self) -> Result<(), InputError> {
        if let State::Waiting(_) = self.state {
            self.state = match std::mem::replace(&mut self.state, State::Failed) {
                State::Waiting(stream) => State::Reading(self.start(stream)?),
                other => other,
            };
        }
        Ok(())
    }

    /// Reads the first bytes, and makes the reader for them.
    fn start(&mut self, stream: Stream) -> Result<Box<dyn Reader<F>>, InputError> {
        let (layout, stream, codec) = self.judge(stream).map_err(|p| self.origin.error(p))?;
        self.judged = Some((layout, codec));
        self.reader(layout, stream, codec).map_err(|problem| self.origin.error(problem))
    }

    fn judge(&mut self, mut stream: Stream) -> Result<(Layout, Stream, Option<Codec>), Problem> {
        let given = match self.origin {
            Origin::Arguments => Some(None),
            _ => self.options.compression,
        };
        let told = |head: &[u8]| Codec::judge(head).is_some() || head.len() >= MAGIC_BYTES;
        while given.is_none() && !told(stream.head()) && !stream.has_ended() {
            grow(&mut stream)?;
            if self.live && !Codec::may_follow(stream.head()) {
                break;
            }
        }
        let codec = given.unwrap_or_else(|| Codec::judge(stream.head()));
        if let Some(codec) = codec {
            stream = decompressed(stream, codec)?;
        }
        loop {
            let twice = codec.and(Codec::judge(stream.head()));
            let complete = stream.has_ended();
            if !complete && !stream.is_full() && (!self.live || stream.head().is_empty()) {
                grow(&mut stream)?;
                continue;
            }
            if let Some(codec) = twice {
                return Err(Problem::Twice(codec));
            }
            let problem = match self.verdict(&stream, codec) {
                Verdict::Clear(layout) => return Ok((layout, stream, codec)),
                Verdict::TooShort if !stream.is_full() => {
                    grow(&mut stream)?;
                    continue;
                }
                Verdict::TooShort if is_ended_by_returns(stream.head()) => Problem::CarriageReturns,
                Verdict::TooShort => Problem::NoToken,
                Verdict::Utf16 => Problem::Utf16,
                Verdict::Open { place, token, columns } => {
                    Problem::OpenFormat { place, token, columns, bits: F::BITS }
                }
                Verdict::Either { .. } if self.options.prefers_hex => {
                    self.is_either = true;
                    return Ok((Layout::List(Format::HexFull), stream, codec));
                }
                Verdict::Either { place, token } => Problem::EitherFormat(place, token),
                Verdict::Width(Place { line, column }, found) => {
                    let place = match self.origin {
                        Origin::Arguments => format!("argument {line}, character {column}"),
                        _ => format!("line {line}, column {column}"),
                    };
                    Problem::Width { place, found, wanted: F::BITS }
                }
                Verdict::Foreign(name, remedy) => Problem::Foreign(name, remedy),
                Verdict::JsonArray => Problem::JsonArray,
                Verdict::NoText(place, byte) => Problem::NoText(place, byte, F::BITS),
                Verdict::IsNot(container) => Problem::IsNot(container),
            };
            return Err(problem);
        }
    }

    fn verdict(&self, stream: &Stream, codec: Option<Codec>) -> Verdict {
        let (head, complete) = (stream.head(), stream.has_ended());
        match self.options.format {
            Some(given) => layout(given, head, complete, F::BITS),
            None => {
                let column = self.options.column.as_deref();
                let known = Known { named: self.hint.container, column, bits: F::BITS };
                match judge(head, complete, known) {
                    // The name says that they should be compressed.
                    Verdict::Clear(Layout::Raw(_)) | Verdict::NoText(..)
                        if codec.is_none() && self.hint.codec.is_some() =>
                    {
                        let name = match self.hint.codec {
                            Some(Codec::Zstd) => "no zstd, as the name says, but something else",
                            Some(Codec::Bzip2) => "no bzip2, as the name says, but something else",
                            Some(Codec::Xz) => "no xz, as the name says, but something else",
                            Some(Codec::Lz4) => "no lz4, as the name says, but something else",
                            _ => "no gzip, as the name says, but something else",
                        };
                        Verdict::Foreign(name, "fetch it again, or give the --format that it has")
                    }
                    verdict => verdict,
                }
            }
        }
    }

    fn reader(
        &mut self,
        layout: Layout,
        stream: Stream,
        codec: Option<Codec>,
    ) -> Result<Box<dyn Reader<F>>, Problem> {
        let options = &self.options;
        if let Layout::Raw(_) | Layout::List(_) | Layout::Npy = layout
            && options.ids.is_some()
        {
            return Err(Problem::NoIds(layout.container()));
        }
        Ok(match layout {
            Layout::Raw(word) if word != raw::word_bytes::<F>() => {
                let place = format!("--format u{}le", 8 * word);
                return Err(Problem::Width { place, found: 8 * word as u32, wanted: F::BITS });
            }
            Layout::Raw(_) => {
                let length = self.length.filter(|_| codec.is_none());
                Box::new(raw::RawReader::<F>::new(stream, length, options.byte_order)?)
            }
            Layout::List(Format::Hex | Format::HexMostly) if self.is_full => {
                Box::new(list::ListReader::<F>::new(stream, Format::HexFull, false))
            }
            Layout::List(format) => {
                Box::new(list::ListReader::<F>::new(stream, format, self.is_either))
            }
            Layout::Npy => Box::new(npy::NpyReader::<F>::new(stream, options.bytes())?),
            Layout::Delimited | Layout::Tsv | Layout::Columns | Layout::Jsonl => {
                let piece_bytes = if self.live { 1 } else { PIECE_BYTES };
                let limits = Limits { piece_bytes, ..Limits::default() };
                let (origin, wants) = (self.origin.clone(), wants(options, F::BITS));
                let rows = Rows::of_text(origin, stream, layout, wants, limits, options.header)?;
                Box::new(TableReader::new(rows, options))
            }
            Layout::Arrow => {
                let (origin, wants) = (self.origin.clone(), wants(options, F::BITS));
                let rows = Rows::of_arrow(origin, stream, options.memory, wants)?;
                Box::new(TableReader::new(rows, options))
            }
            Layout::Parquet => match (self.file.take(), codec) {
                (_, Some(codec)) => return Err(Problem::Compressed(Container::Parquet, codec)),
                (None, None) => return Err(Problem::Pipe(Container::Parquet)),
                (Some(file), None) => {
                    // From here on, rows are what is counted.
                    self.counter = Counter::default();
                    let (origin, counter) = (self.origin.clone(), self.counter.clone());
                    let wants = wants(options, F::BITS);
                    let rows = Rows::of_parquet(origin, file, options.memory, wants, counter)?;
                    Box::new(TableReader::new(rows, options))
                }
            },
        })
    }
}

fn grow(stream: &mut Stream) -> Result<(), Problem> {
    stream.grow().map_err(|error| stream.problem(error))
}

fn decompressed(stream: Stream, codec: Codec) -> Result<Stream, Problem> {
    let counter = stream.counter();
    stream.decompressed(codec).map_err(|error| Problem::from_io(error, counter.bytes()))
}

/// Whether `path` means standard input.
pub fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

/// The bytes of a regular file from here on, and whether these are all.
fn with_length(mut file: File) -> io::Result<(Option<u64>, bool, File)> {
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Ok((None, false, file));
    }
    let start = file.stream_position()?;
    Ok((Some(metadata.len().saturating_sub(start)), start == 0, file))
}

/// Standard input without the buffer of `io::stdin`, and with the metadata of a file.
pub fn stdin() -> io::Result<File> {
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
