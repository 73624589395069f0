//! What format an input has, judged from its first bytes, and then from its name.
//!
//! A wrong guess would store wrong fingerprints without a word, so a guess is only made where the
//! formats exclude each other; everything else asks for an option.

use crate::input::format::Container;
use crate::input::text::Place;
use crate::input::token::{Format, is_padded_base64};

/// So many bytes of an input are judged at most.
pub const HEAD_BYTES: usize = 1 << 16;

/// How the bytes of an input are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Raw little-endian integers of so many bytes: words of fingerprints.
    Raw(usize),
    /// A list, separated by white space.
    List(Format),
    /// An array of NumPy.
    Npy,
    /// Columns separated by this byte.
    Delimited(u8),
    /// Columns separated by white space.
    Columns,
    /// JSON lines.
    Jsonl,
    /// Parquet.
    Parquet,
    /// Arrow IPC.
    Arrow,
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
    /// The token at this place makes it neither all hexadecimal nor all decimal, or may be something
    /// else than a fingerprint.
    Open { place: Place, token: String, columns: Option<Columns> },
    /// Something else that would pass for raw integers.
    Foreign(&'static str),
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

/// First bytes of what people take for fingerprints by mistake.
const FOREIGN: [(&[u8], &str); 8] = [
    (b"PK\x03\x04", "a zip archive (.npz, .xlsx or .zip)"),
    (b"\x04\x22\x4d\x18", "an lz4 file"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"Obj\x01", "an Avro file"),
    (b"ORC", "an ORC file"),
    (b"FEA1", "a Feather file of version 1"),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file"),
    (b"\x80\x04\x95", "a pickle of Python"),
];

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
    if is_utf16(head) {
        return Verdict::Utf16;
    }
    let named_binary = known.named.filter(|container| {
        matches!(container, Container::Parquet | Container::Arrow | Container::Npy)
    });
    if !is_text(head, complete) {
        if let Some(container) = known.named.filter(|named| !named.is_raw()) {
            return Verdict::IsNot(container);
        }
        return match FOREIGN.iter().find(|(magic, _)| head.starts_with(magic)) {
            Some((_, name)) => Verdict::Foreign(name),
            None => known.raw(),
        };
    }
    match named_binary {
        Some(container) => Verdict::IsNot(container),
        None => judge_text(skip_bom(head), complete, known),
    }
}

fn judge_text(text: &[u8], complete: bool, known: Known<'_>) -> Verdict {
    match text.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'{') => return Verdict::Clear(Layout::Jsonl),
        None if complete && known.named == Some(Container::Jsonl) => {
            return Verdict::Clear(Layout::Jsonl);
        }
        None if complete && text.is_empty() && known.named == Some(Container::Csv) => {
            return Verdict::Clear(Layout::Delimited(b','));
        }
        None if complete && text.is_empty() && known.named == Some(Container::Tsv) => {
            return Verdict::Clear(Layout::Delimited(b'\t'));
        }
        _ => {}
    }
    // A token that is cut at the end says nothing.
    let whole = match text.iter().rposition(u8::is_ascii_whitespace) {
        _ if complete => text.len(),
        Some(last) => last + 1,
        None => 0,
    };
    let list = judge_tokens(&text[..whole], complete, known.bits);
    let (first, is_whole) = first_line(text, complete);
    let column = known.column.unwrap_or("fingerprint");
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
    let is_table = delimiter.is_some() || named_table || trimmed(first) == column.as_bytes();
    match (is_table, is_whole) {
        (true, true) => Verdict::Clear(Layout::Delimited(delimiter.unwrap_or(b','))),
        (true, false) => Verdict::TooShort,
        (false, _) => match list {
            Verdict::Open { place, token, .. } => Verdict::Open {
                place,
                token,
                columns: columns(&text[..whole], complete, known.bits),
            },
            list => list,
        },
    }
}

/// Several lines with several decimal numbers each may be fingerprints with counts or ids beside them:
/// that is asked for.
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

/// The columns of a text, if each line has as many words, two at least. If the text goes on, its last
/// line may be cut.
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
pub fn layout(given: Container, head: &[u8], complete: bool) -> Verdict {
    let check = |is: bool, layout| match is {
        true => Verdict::Clear(layout),
        false => Verdict::IsNot(given),
    };
    let enough = complete || head.len() >= 12;
    match given {
        Container::U64le => Verdict::Clear(Layout::Raw(8)),
        Container::U32le => Verdict::Clear(Layout::Raw(4)),
        Container::Hex => Verdict::Clear(Layout::List(Format::Hex)),
        Container::Dec => Verdict::Clear(Layout::List(Format::Dec)),
        Container::Bin => Verdict::Clear(Layout::List(Format::Bin)),
        Container::Npy | Container::Parquet | Container::Arrow if !enough => Verdict::TooShort,
        Container::Npy => check(head.starts_with(NPY), Layout::Npy),
        Container::Parquet => check(head.starts_with(PARQUET), Layout::Parquet),
        // Old streams have no mark in front.
        Container::Arrow => check(!head.is_empty(), Layout::Arrow),
        Container::Csv | Container::Tsv | Container::Columns | Container::Jsonl
            if is_utf16(head) =>
        {
            Verdict::Utf16
        }
        Container::Columns => Verdict::Clear(Layout::Columns),
        Container::Tsv => Verdict::Clear(Layout::Delimited(b'\t')),
        Container::Jsonl => Verdict::Clear(Layout::Jsonl),
        Container::Csv => match first_line(skip_bom(head), complete) {
            (line, true) => {
                let delimiter = delimiter(line).filter(|&byte| byte != b'\t');
                Verdict::Clear(Layout::Delimited(delimiter.unwrap_or(b',')))
            }
            (_, false) => Verdict::TooShort,
        },
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
fn delimiter(line: &[u8]) -> Option<u8> {
    let mut quoted = false;
    let mut counts = [(0, b'\t'), (0, b';'), (0, b',')];
    for &byte in line {
        quoted ^= byte == b'"';
        for (count, delimiter) in &mut counts {
            *count += u32::from(byte == *delimiter && !quoted);
        }
    }
    let most = counts.into_iter().max()?;
    (most.0 > 0).then_some(most.1)
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

fn judge_tokens(text: &[u8], complete: bool, bits: u32) -> Verdict {
    let mut digits = Digits::new(bits);
    let mut last_of_width = None;
    for (line, text) in text.split(|&byte| byte == b'\n').enumerate() {
        let mut start = 0;
        for token in text.split(u8::is_ascii_whitespace) {
            let column = start + 1;
            start += token.len() + 1;
            if token.is_empty() {
                continue;
            }
            let place = Place { line: line as u64 + 1, column: column as u64 };
            if digits.is_open_after(token) {
                return Verdict::Open { place, token: excerpt(token), columns: None };
            }
            last_of_width = last_of_width.or(Some(place));
        }
    }
    match (digits.judged(), last_of_width) {
        (Judged::Width(bits), Some(place)) => Verdict::Width(place, bits),
        (Judged::Clear(format), _) => Verdict::Clear(Layout::List(format)),
        // White space and nothing else is an empty set in every text format.
        _ if complete => Verdict::Clear(Layout::List(Format::HexFull)),
        _ => Verdict::TooShort,
    }
}

/// Widths that texts may tell by all having so many digits, or so many bits.
const TELLING: [u32; 4] = [32, 64, 128, 256];

/// How texts are written, as far as those tell that were seen.
struct Digits {
    bits: u32,
    any: bool,
    all_hex: bool,
    all_dec: bool,
    all_bin: bool,
    all_base64: bool,
    /// Which of the other widths all of them have.
    widths: [bool; TELLING.len()],
}

impl Digits {
    fn new(bits: u32) -> Self {
        // Eight digits may be a number of 64 bits.
        let widths = TELLING.map(|other| other != bits && (other, bits) != (32, 64));
        Self {
            bits,
            any: false,
            all_hex: true,
            all_dec: true,
            all_bin: true,
            all_base64: false,
            widths,
        }
    }

    /// Looks at a text; whether there is no reading left.
    fn is_open_after(&mut self, text: &[u8]) -> bool {
        self.any = true;
        self.all_hex &= is_full_hex(text, self.bits);
        self.all_dec &= is_dec(text);
        self.all_bin &= is_bin(text, self.bits);
        for (all, width) in self.widths.iter_mut().zip(TELLING) {
            *all &= is_all_digits(text, width) || is_bin(text, width);
        }
        !self.all_hex
            && !self.all_dec
            && !self.all_bin
            && !self.all_base64
            && self.widths.iter().all(|all| !all)
    }

    fn judged(&self) -> Judged {
        let width = self.widths.iter().zip(TELLING).find(|(all, _)| **all);
        match (self.any, width) {
            (false, _) => Judged::Empty,
            _ if self.all_bin => Judged::Clear(Format::Bin),
            _ if self.all_hex => Judged::Clear(Format::HexFull),
            _ if self.all_base64 => Judged::Clear(Format::Base64),
            (_, Some((_, width))) => Judged::Width(width),
            _ => Judged::Clear(Format::Dec),
        }
    }
}

/// The text without the byte order mark that some editors put before UTF-8.
pub fn skip_bom(head: &[u8]) -> &[u8] {
    head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head)
}

/// Whether the first bytes of an input are a text; `complete` says that there are no more.
pub fn is_text(head: &[u8], complete: bool) -> bool {
    let utf8 = match std::str::from_utf8(head) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none() && !complete,
    };
    utf8 && !head.iter().any(|byte| byte.is_ascii_control() && !byte.is_ascii_whitespace())
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
    /// As fingerprints of so many bits.
    Width(u32),
}

/// How the texts of a column are written, by the rule of lists, or in base64.
pub fn judge_column<'a>(texts: impl IntoIterator<Item = &'a [u8]>, bits: u32) -> Judged {
    let mut digits = Digits::new(bits);
    for (index, text) in texts.into_iter().enumerate() {
        let is_base64 = is_padded_base64(text, bits);
        // What is wrong in any case says nothing.
        if text.is_empty() || !(is_dec(text) || is_hex(text) || is_base64) {
            continue;
        }
        digits.all_base64 = is_base64 && (digits.all_base64 || !digits.any);
        if digits.is_open_after(text) {
            return Judged::Open(index, excerpt(text));
        }
    }
    digits.judged()
}

/// Whether `text` is written like a fingerprint of so many bits, and not like the name of a column.
pub fn is_value(text: &[u8], bits: u32) -> bool {
    is_full_hex(text, bits) || is_dec(text)
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
