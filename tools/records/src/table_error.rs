//! What is wrong with a table, where, and what to do about it.

use std::fmt;

use crate::fault::Fault;

/// A record of a table, both counted from 1.
#[cfg_attr(not(feature = "arrow"), allow(dead_code, reason = "for readers that were not built"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// A line of a text.
    Line(u64),
    /// A row.
    Row(u64),
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            At::Line(line) => write!(f, "line {line}"),
            At::Row(row) => write!(f, "row {row}"),
        }
    }
}

/// Why a column cannot be used.
#[cfg_attr(not(feature = "arrow"), allow(dead_code, reason = "for readers that were not built"))]
#[allow(missing_docs, reason = "variants say what their fields are")]
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
    Type { name: String, found: String, wanted: String },
    /// Texts in the column are neither all hexadecimal nor all decimal, for fingerprints of so many
    /// bits.
    Digits { at: At, name: String, token: String, bits: u32 },
    /// Texts in the column are hexadecimal as well as decimal.
    Either { at: At, name: String, token: String },
    /// Fingerprints in the column have another width than the wanted one.
    Width { name: String, found: u32, wanted: u32 },
}

/// Why a record cannot be used.
#[allow(missing_docs, reason = "variants say what their fields are")]
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

/// What else to do where a text may be one of 32 bits.
pub fn advice_of_digits(token: &str, bits: u32) -> &'static str {
    match token.len() {
        8 if bits == u64::BITS => ", or `pack --bits 32` if all have 8 digits",
        _ => "",
    }
}

/// Fingerprints of so many bits, where others are wanted, and what to do.
pub struct OtherWidth(pub u32, pub u32);

impl fmt::Display for OtherWidth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(found, wanted) = self;
        write!(
            f,
            "fingerprints of {found} bits, where {wanted} are wanted; give others, or `pack --bits \
             {found}` to make a store of these"
        )
    }
}

impl ColumnProblem {
    /// Writes it, as a problem of an input.
    pub fn write(&self, f: &mut fmt::Formatter<'_>, origin: &dyn fmt::Display) -> fmt::Result {
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
                "{origin}: is empty, without even a header; write one, or give --format auto,no-header"
            ),
            ColumnProblem::HeaderIsData { token } => write!(
                f,
                "{origin}: line 1: \"{}\" looks like data, not like the name of a column; give \
                 --format auto,no-header and the number of the column, --fingerprint-column N",
                token.escape_debug()
            ),
            ColumnProblem::Type { name, found, wanted } => write!(
                f,
                "{origin}: column \"{}\" is of type {found}; convert it to {wanted}, or give \
                 another column",
                name.escape_debug()
            ),
            ColumnProblem::Digits { at, name, token, bits } => write!(
                f,
                "{origin}: {at}, column \"{}\": \"{}\": up to here fingerprints are neither all \
                 hexadecimal ({} digits or 0x) nor all decimal; give --format auto,hex or auto,dec{}",
                name.escape_debug(),
                token.escape_debug(),
                bits / 4,
                advice_of_digits(token, *bits),
            ),
            ColumnProblem::Either { at, name, token } => write!(
                f,
                "{origin}: {at}, column \"{}\": \"{token}\" and those behind it may be hexadecimal or \
                 decimal; give --format auto,hex or auto,dec",
                name.escape_debug(),
            ),
            ColumnProblem::Width { name, found, wanted } => write!(
                f,
                "{origin}: column \"{}\": {}",
                name.escape_debug(),
                OtherWidth(*found, *wanted)
            ),
        }
    }
}

/// The name among those that are there that differs from `name` in nothing but case and marks, of
/// which people remember one spelling and files have another.
pub fn like<'a>(name: &str, there: impl IntoIterator<Item = &'a String>) -> Option<&'a str> {
    let bare = |name: &str| -> String {
        name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    let wanted = bare(name);
    let mut there = there.into_iter().filter(|_| !wanted.is_empty());
    there.find(|there| bare(there) == wanted).map(String::as_str)
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
    /// Whether to skip the record is good advice: where the fault is one of this record alone, and
    /// not one of the options.
    pub fn may_be_skipped(&self) -> bool {
        match self {
            RecordProblem::Text { fault, .. } => {
                matches!(
                    fault,
                    Fault::HexDigit(_)
                        | Fault::DecDigit(_)
                        | Fault::NoDigits
                        | Fault::NotFull { .. }
                        | Fault::OtherWidth { .. }
                        | Fault::HexOverflow { .. }
                )
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
                write!(
                    f,
                    ": no JSON object: {cause}; give one object on each line, as `jq -c .` does"
                )
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
