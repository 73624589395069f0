//! What format an input has, judged from its first bytes.
//!
//! A wrong guess would store wrong fingerprints without a word, so a guess is only made where the
//! formats exclude each other; everything else asks for `--format`.

use clap::ValueEnum;

use crate::parse::{Format, Place};

/// So many bytes of an input are judged at most.
pub const HEAD_BYTES: usize = 1 << 16;

/// The format that the user asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FormatArg {
    /// Judge from the first 64 KiB of each input
    Auto,
    /// Raw little-endian integers of 8 bytes
    U64le,
    /// Hexadecimal digits, separated by white space
    Hex,
    /// Decimal digits, signed or not, separated by white space
    Dec,
}

impl FormatArg {
    /// The format, unless it must be judged.
    pub fn given(self) -> Option<Format> {
        match self {
            FormatArg::Auto => None,
            FormatArg::U64le => Some(Format::U64le),
            FormatArg::Hex => Some(Format::Hex),
            FormatArg::Dec => Some(Format::Dec),
        }
    }
}

/// What the first bytes of an input say about its format.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    /// This is the format.
    Clear(Format),
    /// No whole fingerprint is there yet.
    TooShort,
    /// UTF-16 text, which is none of the formats and would pass for raw integers.
    Utf16,
    /// The token at this place makes it neither all hexadecimal nor all decimal.
    Open { place: Place, token: String },
}

/// Judges the first bytes of an input; `complete` says that there are no more.
pub fn judge(head: &[u8], complete: bool) -> Verdict {
    if is_utf16(head) {
        return Verdict::Utf16;
    }
    if !is_text(head, complete) {
        return Verdict::Clear(Format::U64le);
    }
    let head = skip_bom(head);
    // A token that is cut at the end says nothing.
    let whole = match head.iter().rposition(u8::is_ascii_whitespace) {
        _ if complete => head.len(),
        Some(last) => last + 1,
        None => 0,
    };
    judge_tokens(&head[..whole], complete)
}

fn judge_tokens(text: &[u8], complete: bool) -> Verdict {
    let (mut all_hex, mut all_dec, mut any) = (true, true, false);
    for (line, text) in text.split(|&byte| byte == b'\n').enumerate() {
        let mut start = 0;
        for token in text.split(u8::is_ascii_whitespace) {
            let column = start + 1;
            start += token.len() + 1;
            if token.is_empty() {
                continue;
            }
            any = true;
            all_hex &= is_hex16(token);
            all_dec &= is_dec(token);
            if !all_hex && !all_dec {
                let place = Place { line: line as u64 + 1, column: column as u64 };
                return Verdict::Open { place, token: excerpt(token) };
            }
        }
    }
    match (any, all_hex) {
        (true, true) => Verdict::Clear(Format::Hex16),
        (true, false) => Verdict::Clear(Format::Dec),
        // White space and nothing else is an empty set in every text format.
        (false, _) if complete => Verdict::Clear(Format::Hex16),
        (false, _) => Verdict::TooShort,
    }
}

/// The text without the byte order mark that some editors put before UTF-8.
pub fn skip_bom(head: &[u8]) -> &[u8] {
    head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head)
}

fn is_text(head: &[u8], complete: bool) -> bool {
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

fn is_hex16(token: &[u8]) -> bool {
    match token.strip_prefix(b"0x").or(token.strip_prefix(b"0X")) {
        Some(digits) => !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit),
        None => token.len() == 16 && token.iter().all(u8::is_ascii_hexdigit),
    }
}

fn is_dec(token: &[u8]) -> bool {
    let digits = token.strip_prefix(b"-").unwrap_or(token);
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}

fn excerpt(token: &[u8]) -> String {
    let text = String::from_utf8_lossy(token);
    match text.char_indices().nth(24) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.into_owned(),
    }
}
