//! What format an input has, judged from its first bytes, and then from its name.
//!
//! A wrong guess would store wrong fingerprints without a word, so a guess is only made where the
//! formats exclude each other; everything else asks for an option.

use std::fmt;

use crate::codec::{Codec, HEAD_BYTES, skip_bom};
use crate::format::Container;
use crate::text::Place;
use crate::token::{Format, is_padded_base64};

/// How the bytes of an input are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Raw little-endian integers of so many bytes: words of fingerprints.
    Raw(usize),
    /// A list, separated by white space.
    List(Format),
    /// An array of NumPy.
    Npy,
    /// Columns separated by a byte that the first line tells, with quotes.
    Delimited,
    /// Columns separated by tabs.
    Tsv,
    /// Columns separated by white space.
    Columns,
    /// JSON lines.
    Jsonl,
    /// Parquet.
    Parquet,
    /// Arrow IPC.
    Arrow,
}

impl Layout {
    /// The format that is read so.
    pub fn container(self) -> Container {
        match self {
            Layout::Raw(4) => Container::U32le,
            Layout::Raw(_) => Container::U64le,
            Layout::List(Format::Dec) => Container::Dec,
            Layout::List(Format::Bin) => Container::Bin,
            Layout::List(_) => Container::Hex,
            Layout::Npy => Container::Npy,
            Layout::Delimited => Container::Csv,
            Layout::Tsv => Container::Tsv,
            Layout::Columns => Container::Columns,
            Layout::Jsonl => Container::Jsonl,
            Layout::Parquet => Container::Parquet,
            Layout::Arrow => Container::Arrow,
        }
    }
}

/// What an input is taken for.
#[derive(Clone, Copy, Debug)]
pub struct Taken<'a> {
    /// How its bytes are read.
    pub layout: Layout,
    /// How they are compressed as a whole.
    pub codec: Option<Codec>,
    /// The column of the fingerprints, and how its texts are written.
    pub column: Option<(&'a str, Option<Format>)>,
}

impl fmt::Display for Taken<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.layout {
            Layout::Raw(bytes) => write!(f, "raw integers of {bytes} bytes")?,
            layout => write!(f, "{}", layout.container())?,
        }
        if let Some(codec) = self.codec {
            write!(f, " in {codec}")?;
        }
        let Some((name, format)) = self.column else { return Ok(()) };
        write!(f, ", fingerprints from column \"{}\"", name.escape_debug())?;
        match format {
            Some(Format::Hex | Format::HexMostly | Format::HexFull) => {
                f.write_str(" in hexadecimal digits")
            }
            Some(Format::Dec) => f.write_str(" in decimal digits"),
            Some(Format::Bin) => f.write_str(" in binary digits"),
            Some(Format::Base64) => f.write_str(" in base64"),
            None => Ok(()),
        }
    }
}

/// What the first bytes of an input say about its format.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    /// This is the format.
    Clear(Layout),
    /// More bytes are needed.
    TooShort,
    /// UTF-16 text, which is none of the formats and would pass for raw integers.
    Utf16,
    /// The token at this place makes it neither all hexadecimal nor all decimal, or may be
    /// something else than a fingerprint.
    Open { place: Place, token: String, columns: Option<Columns> },
    /// The token at this place, and all others, are all hexadecimal digits of a fingerprint as well
    /// as decimal ones.
    Either { place: Place, token: String },
    /// Something else, and what to do with it.
    Foreign(&'static str, &'static str),
    /// An array of JSON, whatever is in it.
    JsonArray,
    /// Neither text nor anything else that is known: the byte at this place.
    NoText(Place, u8),
    /// It is not this format, which the user or the name says.
    IsNot(Container),
    /// The token at this place, and all others, are those of fingerprints of so many bits.
    Width(Place, u32),
}

/// Lines of white space and as many words each, which may be a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns {
    /// Words of each line.
    pub count: usize,
    /// The number, from 1 on, of the first column of 16 hexadecimal digits each, and its name, if
    /// the first line holds names.
    pub fingerprint: Option<(usize, Option<String>)>,
}

/// What is known of an input beside its bytes.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// The format that the name of the file promises.
    pub named: Option<Container>,
    /// The column that the user names, if any: so it is a table.
    pub column: Option<&'a str>,
    /// Bits of a fingerprint.
    pub bits: u32,
}

impl Known<'_> {
    /// What is no text.
    fn raw(&self) -> Verdict {
        Verdict::Clear(Layout::Raw((self.bits.min(u64::BITS) / 8) as usize))
    }
}

const PARQUET: &[u8] = b"PAR1";
const ARROW_FILE: &[u8] = b"ARROW1\0\0";
const NPY: &[u8] = b"\x93NUMPY";

const EXTRACT: &str = "extract what is in it, or give --format u64le if it is raw integers";
const CONVERT: &str = "convert it, or give --format u64le if it is raw integers";
const DECOMPRESS: &str = "decompress it first, or give --format u64le if it is raw integers";
const NO_HASHES: &str =
    "give the fingerprints of such files, or give --format u64le if it is raw integers";

/// Bytes at a place, by which files are known that people take for fingerprints by mistake.
const FOREIGN: [(usize, &[u8], &str, &str); 27] = [
    (0, b"PK\x03\x04", "a zip archive (.npz, .xlsx, .pt or .zip)", EXTRACT),
    (257, b"ustar", "a tar archive", EXTRACT),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7z archive", EXTRACT),
    (0, b"Rar!\x1a\x07", "a RAR archive", EXTRACT),
    (0, b"!<arch>\n", "an ar archive", EXTRACT),
    (0, b"\x1f\x9d", "a file of compress (.Z)", DECOMPRESS),
    (0, b"\x89LZO\0\r\n\x1a\n", "an lzop file", DECOMPRESS),
    (0, b"LZIP", "an lzip file", DECOMPRESS),
    (0, b"\xff\x06\0\0sNaPpY", "a Snappy stream", DECOMPRESS),
    (0, b"SQLite format 3\0", "an SQLite database", CONVERT),
    (0, b"Obj\x01", "an Avro file", CONVERT),
    (0, b"ORC", "an ORC file", CONVERT),
    (0, b"FEA1", "a Feather file of version 1", CONVERT),
    (0, b"\x89HDF\r\n\x1a\n", "an HDF5 file", CONVERT),
    (0, b"CDF\x01", "a NetCDF file", CONVERT),
    (0, b"\x80\x02", "a pickle of Python, perhaps of PyTorch", CONVERT),
    (0, b"\x80\x03", "a pickle of Python", CONVERT),
    (0, b"\x80\x04\x95", "a pickle of Python", CONVERT),
    (0, b"\x80\x05\x95", "a pickle of Python", CONVERT),
    (0, b"\xff\xd8\xff", "a JPEG picture", NO_HASHES),
    (0, b"\x89PNG\r\n\x1a\n", "a PNG picture", NO_HASHES),
    (0, b"GIF8", "a GIF picture", NO_HASHES),
    (8, b"WEBP", "a WebP picture", NO_HASHES),
    (4, b"ftyp", "a video or picture (MP4, HEIC or AVIF)", NO_HASHES),
    (0, b"%PDF-", "a PDF document", NO_HASHES),
    (0, b"\x7fELF", "a program (ELF)", NO_HASHES),
    (
        0,
        b"version https://git-lfs.github.com/spec/",
        "a pointer of Git LFS and not the file itself",
        "fetch that with `git lfs pull`",
    ),
];

/// What the first bytes say that an input is, if nothing here reads it, and what to do with it.
pub fn foreign(head: &[u8]) -> Option<(&'static str, &'static str)> {
    let found = FOREIGN
        .iter()
        .find(|(at, magic, ..)| head.get(*at..).is_some_and(|rest| rest.starts_with(magic)));
    let is_nul_text =
        || head.contains(&0) && is_text_but(head, |byte| byte == 0) && !head.starts_with(&[0]);
    match found {
        Some(&(_, _, name, remedy)) => Some((name, remedy)),
        None if is_nul_text() => {
            Some(("text with NUL bytes in it", "replace them by line ends (`tr '\\0' '\\n'`)"))
        }
        None => None,
    }
}

/// Whether all bytes are printed or white space, or are allowed beside these.
fn is_text_but(head: &[u8], allowed: impl Fn(u8) -> bool) -> bool {
    head.iter().all(|&byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace() || allowed(byte))
}

/// Judges the first bytes of an input; `complete` says that there are no more.
pub fn judge(head: &[u8], complete: bool, known: Known<'_>) -> Verdict {
    let magics = [(PARQUET, Layout::Parquet), (ARROW_FILE, Layout::Arrow), (NPY, Layout::Npy)];
    for (magic, layout) in magics {
        if head.starts_with(magic) {
            return Verdict::Clear(layout);
        }
        if !complete && !head.is_empty() && magic.starts_with(head) {
            return Verdict::TooShort;
        }
    }
    match is_arrow_stream(head) {
        Some(true) => return Verdict::Clear(Layout::Arrow),
        None if !complete => return Verdict::TooShort,
        _ => {}
    }
    let is_raw = known.named.is_some_and(Container::is_raw);
    if is_utf16(head) || !is_raw && is_unmarked_utf16(head) {
        return Verdict::Utf16;
    }
    if let Some((name, remedy)) = foreign(head) {
        return Verdict::Foreign(name, remedy);
    }
    let is_text = is_text(head, complete);
    match known.named {
        Some(named @ (Container::Parquet | Container::Arrow | Container::Npy)) => {
            Verdict::IsNot(named)
        }
        Some(_) if is_raw && !is_text => known.raw(),
        // What is no text in it is told with its line, unless it stands in a column that nobody
        // asks for.
        Some(named @ (Container::Csv | Container::Tsv | Container::Jsonl)) if !is_text => {
            match is_nearly_text(head, complete) || is_nearly_table(head, complete) {
                true => layout(named, head, complete, known.bits),
                false => Verdict::IsNot(named),
            }
        }
        _ if !is_text && !is_nearly_table(head, complete) => no_text(head, complete),
        _ => judge_text(skip_bom(head), complete, known),
    }
}

/// Whether the first line is a text, and few bytes behind it are none.
fn is_nearly_text(head: &[u8], complete: bool) -> bool {
    let control = |byte: &&u8| byte.is_ascii_control() && !byte.is_ascii_whitespace();
    let (line, is_whole) = first_line(head, complete);
    is_whole && is_text(line, true) && head.iter().filter(control).count() <= head.len() / 16
}

/// Whether it begins as tables do, and only few bytes are those of no text.
fn is_nearly_table(head: &[u8], complete: bool) -> bool {
    let text = skip_bom(head);
    let is_object = text.trim_ascii_start().starts_with(b"{\"");
    is_object || is_nearly_text(head, complete) && delimiter(first_line(text, complete).0).is_some()
}

/// The place of the first byte that no text has.
fn no_text(head: &[u8], complete: bool) -> Verdict {
    let control = |byte: &u8| byte.is_ascii_control() && !byte.is_ascii_whitespace();
    let control = head.iter().position(control).unwrap_or(head.len());
    let at = match std::str::from_utf8(head) {
        Err(error) if error.error_len().is_some() || complete => error.valid_up_to().min(control),
        _ => control,
    };
    let line_start = head[..at].iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    let line = head[..at].iter().filter(|&&byte| byte == b'\n').count() as u64 + 1;
    let place = Place { line, column: (at - line_start) as u64 + 1 };
    Verdict::NoText(place, head.get(at).copied().unwrap_or_default())
}

fn judge_text(text: &[u8], complete: bool, known: Known<'_>) -> Verdict {
    match text.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'{') => return Verdict::Clear(Layout::Jsonl),
        Some(b'[') if !matches!(known.named, Some(Container::Csv | Container::Tsv)) => {
            return Verdict::JsonArray;
        }
        None if complete && known.named == Some(Container::Jsonl) => {
            return Verdict::Clear(Layout::Jsonl);
        }
        None if complete && text.is_empty() && known.named == Some(Container::Csv) => {
            return Verdict::Clear(Layout::Delimited);
        }
        None if complete && text.is_empty() && known.named == Some(Container::Tsv) => {
            return Verdict::Clear(Layout::Tsv);
        }
        _ => {}
    }
    // A token that is cut at the end says nothing.
    let whole = match text.iter().rposition(u8::is_ascii_whitespace) {
        _ if complete => text.len(),
        Some(last) => last + 1,
        None => 0,
    };
    let (list, likely) = judge_tokens(&text[..whole], complete, known.bits);
    let (first, is_whole) = first_line(text, complete);
    let is_name = |line: &[u8]| match known.column {
        Some(column) => line == column.as_bytes(),
        None => NAMES.iter().any(|name| line.eq_ignore_ascii_case(name.as_bytes())),
    };
    let named_table =
        known.named.is_some_and(|named| matches!(named, Container::Csv | Container::Tsv));
    match &list {
        // Numbers in columns pass for a list, unless somebody says that it is a table.
        Verdict::Clear(_) if known.column.is_some() && first.contains(&b'\t') => {}
        Verdict::Clear(_) if known.named == Some(Container::Tsv) && first.contains(&b'\t') => {}
        Verdict::Clear(Layout::List(Format::Dec)) => {
            return decimals(&text[..whole], complete, list, known.bits);
        }
        Verdict::Clear(_) => return list,
        Verdict::TooShort if !first.contains(&b',') => return list,
        Verdict::Open { .. } if known.named.is_some_and(Container::is_raw) => return known.raw(),
        _ => {}
    }
    let delimiter = delimiter(first);
    let is_table = delimiter.is_some() || named_table || is_name(trimmed(first));
    match (is_table, is_whole) {
        (true, true) if known.named == Some(Container::Tsv) => Verdict::Clear(Layout::Tsv),
        (true, true) => Verdict::Clear(match delimiter {
            Some(b'\t') if known.named != Some(Container::Csv) => Layout::Tsv,
            _ => Layout::Delimited,
        }),
        (true, false) => Verdict::TooShort,
        (false, _) => match list {
            Verdict::Open { place, token, .. } => {
                match (columns(&text[..whole], complete, known.bits), likely) {
                    // The few that are written otherwise are told one by one.
                    (None, Some(likely)) => likely,
                    (columns, _) => Verdict::Open { place, token, columns },
                }
            }
            list => list,
        },
    }
}

/// Several lines with several decimal numbers each may be fingerprints with counts or ids beside
/// them: that is asked for.
fn decimals(text: &[u8], complete: bool, list: Verdict, bits: u32) -> Verdict {
    let is_one_line = text.trim_ascii().split(|&byte| byte == b'\n').nth(1).is_none();
    match columns(text, complete, bits).filter(|_| !is_one_line) {
        Some(columns) => {
            let start = text.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(0);
            let before = &text[..start];
            let line = before.iter().filter(|&&byte| byte == b'\n').count();
            let column = before.iter().rev().take_while(|&&byte| byte != b'\n').count();
            let place = Place { line: line as u64 + 1, column: column as u64 + 1 };
            let word = text[start..].split(u8::is_ascii_whitespace).next().unwrap_or_default();
            Verdict::Open { place, token: excerpt(word), columns: Some(columns) }
        }
        None => list,
    }
}

/// The columns of a text, if each line has as many words, two at least. If the text goes on, its
/// last line may be cut.
fn columns(text: &[u8], complete: bool, bits: u32) -> Option<Columns> {
    let lines = text.split_inclusive(|&byte| byte == b'\n');
    let whole = lines.filter(|line| line.ends_with(b"\n") || complete);
    let words = |line| -> Vec<&[u8]> {
        <[u8]>::split(line, u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect()
    };
    let rows: Vec<_> = whole.map(words).filter(|words| !words.is_empty()).collect();
    let (first, rest) = rows.split_first()?;
    let count = first.len();
    if count < 2 || rest.iter().any(|row| row.len() != count) {
        return None;
    }
    let is_named = !first.iter().any(|word| is_value(word, bits)) && !rest.is_empty();
    let data = if is_named { rest } else { &rows[..] };
    let all_hex = |&column: &usize| data.iter().all(|row| is_full_hex(row[column], bits));
    let fingerprint = (0..count).find(all_hex).map(|column| {
        let name = is_named.then(|| String::from_utf8_lossy(first[column]).into_owned());
        (column + 1, name)
    });
    Some(Columns { count, fingerprint })
}

/// How the bytes of a format that is given are read.
pub fn layout(given: Container, head: &[u8], complete: bool, bits: u32) -> Verdict {
    let check = |is: bool, layout| match is {
        true => Verdict::Clear(layout),
        false => Verdict::IsNot(given),
    };
    let enough = complete || head.len() >= 12;
    match given {
        Container::U64le => Verdict::Clear(Layout::Raw(8)),
        Container::U32le => Verdict::Clear(Layout::Raw(4)),
        Container::Hex => match judge_tokens(head, complete, bits) {
            // Each would be told to have too many digits.
            (wide @ Verdict::Width(_, found), _) | (_, Some(wide @ Verdict::Width(_, found)))
                if found > bits && complete | (head.len() >= HEAD_BYTES) =>
            {
                wide
            }
            // Then no other number of digits is a value without the zeros in front.
            (Verdict::Clear(Layout::List(Format::HexFull)), _)
            | (_, Some(Verdict::Clear(Layout::List(Format::HexFull)))) => {
                Verdict::Clear(Layout::List(Format::HexMostly))
            }
            _ => Verdict::Clear(Layout::List(Format::Hex)),
        },
        Container::Dec => Verdict::Clear(Layout::List(Format::Dec)),
        Container::Bin => Verdict::Clear(Layout::List(Format::Bin)),
        Container::Npy | Container::Parquet | Container::Arrow if !enough => Verdict::TooShort,
        Container::Npy => check(head.starts_with(NPY), Layout::Npy),
        Container::Parquet => check(head.starts_with(PARQUET), Layout::Parquet),
        // Old streams have no mark in front.
        Container::Arrow => check(!head.is_empty(), Layout::Arrow),
        Container::Csv | Container::Tsv | Container::Columns | Container::Jsonl
            if is_utf16(head) || is_unmarked_utf16(head) =>
        {
            Verdict::Utf16
        }
        Container::Columns => Verdict::Clear(Layout::Columns),
        Container::Tsv => Verdict::Clear(Layout::Tsv),
        Container::Jsonl if skip_bom(head).trim_ascii_start().starts_with(b"[") => {
            Verdict::JsonArray
        }
        Container::Jsonl => Verdict::Clear(Layout::Jsonl),
        Container::Csv => Verdict::Clear(Layout::Delimited),
    }
}

/// The first line, without its end, and whether all of it is there.
fn first_line(text: &[u8], complete: bool) -> (&[u8], bool) {
    match text.iter().position(|&byte| byte == b'\n') {
        Some(end) => (&text[..end], true),
        None => (text, complete || text.len() + 8 >= HEAD_BYTES),
    }
}

fn trimmed(line: &[u8]) -> &[u8] {
    line.trim_ascii()
}

/// The byte that separates columns: the most frequent outside of quotes.
pub fn delimiter(line: &[u8]) -> Option<u8> {
    let mut quoted = false;
    let mut counts = [(0, b';'), (0, b','), (0, b'\t'), (0, b'|')];
    for &byte in line {
        quoted ^= byte == b'"';
        for (count, delimiter) in &mut counts {
            *count += u32::from(byte == *delimiter && !quoted);
        }
    }
    let most = counts.into_iter().map(|(count, _)| count).max().filter(|&most| most > 0)?;
    counts.into_iter().find(|(count, _)| *count == most).map(|(_, delimiter)| delimiter)
}

/// Whether this is the first message of a stream of Arrow: a mark, the length of the message, and
/// an offset inside it. `None` where more bytes are needed.
fn is_arrow_stream(head: &[u8]) -> Option<bool> {
    let word = |at: usize| Some(u32::from_le_bytes(*head.get(at..)?.first_chunk()?));
    if head.is_empty() || !head[..head.len().min(4)].iter().all(|&byte| byte == 0xff) {
        return Some(false);
    }
    let (length, root) = (word(4)?, word(8));
    if length == 0 || length % 8 != 0 || length > 1 << 24 {
        return Some(false);
    }
    Some((4..length).contains(&root?))
}

/// How the texts of a list are written: what all of them are, or which one leaves it open and what
/// most are.
fn judge_tokens(text: &[u8], complete: bool, bits: u32) -> (Verdict, Option<Verdict>) {
    let mut digits = Digits::new(bits, false);
    let mut first = Place { line: 1, column: 1 };
    let mut open = None;
    for (line, text) in text.split(|&byte| byte == b'\n').enumerate() {
        let mut start = 0;
        for token in text.split(u8::is_ascii_whitespace) {
            let place = Place { line: line as u64 + 1, column: start as u64 + 1 };
            start += token.len() + 1;
            if token.is_empty() {
                continue;
            }
            if digits.texts == 0 {
                first = place;
            }
            if digits.is_open_after(token) && open.is_none() {
                open = Some((place, token));
            }
        }
    }
    let verdict = |reading| match reading {
        Reading::Width(bits) => Verdict::Width(first, bits),
        Reading::Format(format) => Verdict::Clear(Layout::List(format)),
    };
    match (open, digits.judged()) {
        (Some((place, token)), _) => {
            let open = Verdict::Open { place, token: excerpt(token), columns: None };
            (open, digits.likely().map(verdict))
        }
        (None, Some(reading)) => (verdict(reading), None),
        // White space and nothing else is an empty set in every text format.
        _ if complete && digits.texts == 0 => (Verdict::Clear(Layout::List(Format::HexFull)), None),
        _ if digits.texts == 0 => (Verdict::TooShort, None),
        _ => {
            let token = text.trim_ascii_start().split(u8::is_ascii_whitespace).next();
            let token = excerpt(token.unwrap_or_default());
            let open = Verdict::Open { place: first, token: token.clone(), columns: None };
            (open, Some(Verdict::Either { place: first, token }))
        }
    }
}

/// Names by which columns of fingerprints are known.
pub const NAMES: [&str; 5] = ["fingerprint", "simhash", "phash", "pdq", "hash"];

/// Widths that texts may tell by all having so many digits, or so many bits.
const TELLING: [u32; 4] = [32, 64, 128, 256];

/// A way in which texts may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reading {
    /// In this way.
    Format(Format),
    /// As all digits of fingerprints of so many bits, which are not those that are wanted.
    Width(u32),
}

/// All of them; the first of those that fit is meant.
const READINGS: [Reading; 4 + TELLING.len()] = [
    Reading::Format(Format::Bin),
    Reading::Format(Format::HexFull),
    Reading::Format(Format::Base64),
    Reading::Width(TELLING[0]),
    Reading::Width(TELLING[1]),
    Reading::Width(TELLING[2]),
    Reading::Width(TELLING[3]),
    Reading::Format(Format::Dec),
];

/// How texts are written, as far as those tell that were seen.
struct Digits {
    bits: u32,
    with_base64: bool,
    texts: usize,
    /// How many of them each reading fits.
    fits: [usize; READINGS.len()],
    /// Which ones fit the first of them.
    first: [bool; READINGS.len()],
    /// Whether one begins with a zero, which no decimal number does.
    has_zeros: bool,
    /// Whether one is hexadecimal and not decimal, of whatever length.
    has_hex: bool,
}

impl Digits {
    /// No text yet. Base64 is for columns alone.
    fn new(bits: u32, with_base64: bool) -> Self {
        let (fits, first) = ([0; READINGS.len()], [false; READINGS.len()]);
        Self { bits, with_base64, texts: 0, fits, first, has_zeros: false, has_hex: false }
    }

    /// Looks at a text; whether there is no reading left that fits all.
    fn is_open_after(&mut self, text: &[u8]) -> bool {
        let bits = self.bits;
        let fits = READINGS.map(|reading| match reading {
            Reading::Format(Format::Bin) => is_bin(text, bits),
            Reading::Format(Format::Base64) => self.with_base64 && is_padded_base64(text, bits),
            Reading::Format(Format::Dec) => is_dec(text),
            Reading::Format(_) => is_full_hex(text, bits),
            // Eight digits may be a number of 64 bits.
            Reading::Width(width) if width == bits || (width, bits) == (32, 64) => false,
            Reading::Width(width) => is_all_digits(text, width) || is_bin(text, width),
        });
        if self.texts == 0 {
            self.first = fits;
        }
        self.texts += 1;
        self.has_zeros |= text.starts_with(b"0");
        self.has_hex |= is_hex(text) && !is_dec(text);
        for (count, fits) in self.fits.iter_mut().zip(fits) {
            *count += usize::from(fits);
        }
        !self.fits.contains(&self.texts)
    }

    /// What all texts are. Numbers of as many digits as hexadecimal ones have may be either.
    fn judged(&self) -> Option<Reading> {
        let of = |format| {
            let place = READINGS.iter().position(|&reading| reading == Reading::Format(format));
            place.is_some_and(|place| self.fits[place] == self.texts)
        };
        let is_either = of(Format::HexFull) && of(Format::Dec) && !of(Format::Bin);
        let has_numbers = self.bits <= u64::BITS && !self.has_zeros;
        if self.texts == 0 || is_either && has_numbers {
            return None;
        }
        let mut all = READINGS.into_iter().zip(self.fits);
        all.find(|(_, fits)| *fits == self.texts).map(|(reading, _)| reading)
    }

    /// What at least half of the texts are, and of several such the one that the first text is.
    fn likely(&self) -> Option<Reading> {
        let most = self.fits.into_iter().max().filter(|most| 2 * most >= self.texts)?;
        let with_most = || (0..READINGS.len()).filter(|&place| self.fits[place] == most);
        let only = |mut places: Box<dyn Iterator<Item = usize> + '_>| {
            places.next().filter(|_| places.next().is_none())
        };
        let place = only(Box::new(with_most()))
            .or_else(|| only(Box::new(with_most().filter(|&place| self.first[place]))))?;
        // Numbers beside digits of another kind may be these as well.
        let is_open = READINGS[place] == Reading::Format(Format::Dec) && self.has_hex;
        (!is_open).then_some(READINGS[place])
    }
}

/// Whether the first bytes of an input are a text; `complete` says that there are no more.
pub fn is_text(head: &[u8], complete: bool) -> bool {
    let utf8 = match std::str::from_utf8(head) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none() && !complete,
    };
    utf8 && !head.iter().any(|byte| byte.is_ascii_control() && !byte.is_ascii_whitespace())
}

/// UTF-16 of ASCII without a mark in front: every second byte is zero.
fn is_unmarked_utf16(head: &[u8]) -> bool {
    let half = |zero: usize| {
        let (mut zeros, mut texts) =
            (head.iter().skip(zero).step_by(2), head.iter().skip(1 - zero).step_by(2));
        zeros.all(|&byte| byte == 0)
            && texts.all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace())
    };
    head.len() >= 4 && (half(0) || half(1))
}

fn is_utf16(head: &[u8]) -> bool {
    let text =
        |zero: usize| head.len() >= 4 && head[2..].iter().skip(zero).step_by(2).all(|&b| b == 0);
    head.starts_with(&[0xff, 0xfe]) && text(1) || head.starts_with(&[0xfe, 0xff]) && text(0)
}

/// How texts are written.
pub enum Judged {
    /// In this way.
    Clear(Format),
    /// There are none.
    Empty,
    /// The one with this index leaves it open.
    Open(usize, String),
    /// All of them are hexadecimal as well as decimal.
    Either,
    /// As fingerprints of so many bits.
    Width(u32),
}

/// How the texts of a column are written, by the rule of lists, or in base64.
pub fn judge_column<'a>(texts: impl IntoIterator<Item = &'a [u8]>, bits: u32) -> Judged {
    let mut digits = Digits::new(bits, true);
    let mut open = None;
    for (index, text) in texts.into_iter().enumerate() {
        // What is wrong in any case says nothing.
        if text.is_empty() || !(is_dec(text) || is_hex(text) || is_padded_base64(text, bits)) {
            continue;
        }
        if digits.is_open_after(text) && open.is_none() {
            open = Some((index, text));
        }
    }
    let reading = match open {
        Some(_) => digits.likely(),
        None => digits.judged(),
    };
    match (reading, open) {
        (Some(Reading::Format(format)), _) => Judged::Clear(format),
        (Some(Reading::Width(bits)), _) => Judged::Width(bits),
        (None, Some((index, text))) => Judged::Open(index, excerpt(text)),
        (None, None) if digits.texts == 0 => Judged::Empty,
        (None, None) => Judged::Either,
    }
}

/// Whether `text` is written like a fingerprint of so many bits, and not like the name of a column.
pub fn is_value(text: &[u8], bits: u32) -> bool {
    is_full_hex(text, bits) || is_dec(text)
}

/// Whether these are all hexadecimal digits of a fingerprint of some width.
pub fn is_telling(text: &[u8]) -> bool {
    TELLING.iter().any(|&bits| is_all_digits(text, bits))
}

fn is_full_hex(token: &[u8], bits: u32) -> bool {
    match token.strip_prefix(b"0x").or(token.strip_prefix(b"0X")) {
        Some(digits) => !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit),
        None => is_all_digits(token, bits),
    }
}

/// Whether these are all hexadecimal digits of a fingerprint.
fn is_all_digits(token: &[u8], bits: u32) -> bool {
    token.len() == bits as usize / 4 && token.iter().all(u8::is_ascii_hexdigit)
}

/// Whether these are all binary digits of a fingerprint.
pub fn is_bin(token: &[u8], bits: u32) -> bool {
    token.len() == bits as usize && token.iter().all(|byte| b"01".contains(byte))
}

fn is_hex(token: &[u8]) -> bool {
    is_full_hex(token, 64) || token.iter().all(u8::is_ascii_hexdigit)
}

fn is_dec(token: &[u8]) -> bool {
    let digits = token.strip_prefix(b"-").unwrap_or(token);
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}

/// The text, or the beginning of a long one.
pub fn excerpt(token: &[u8]) -> String {
    let text = String::from_utf8_lossy(token);
    match text.char_indices().nth(24) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.into_owned(),
    }
}
