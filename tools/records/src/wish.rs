//! The ids that are wanted of records, and what a cell is as an id.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use crate::cell::Cell;
use crate::detect::excerpt;
use crate::error::RecordProblem;
use crate::records::Id;

/// Most bytes of a name that a store keeps.
const MOST_NAME_BYTES: usize = 65_535;

const WANTED: &str = "id, which is a whole number from 0 to 18446744073709551615 or a string";
const WANTED_NUMBER: &str = "number from 0 to 18446744073709551615 without zeros in front, which the \
                             first id was (names need --id-type text)";
const WANTED_STORED: &str = "number from 0 to 18446744073709551615 without zeros in front, which all \
                             ids of the store are (`fpstore create --ids text` makes one for names)";
const WANTED_NAME: &str = "name of at most 65535 bytes";
const WANTED_UUID: &str = "UUID, such as 123e4567-e89b-12d3-a456-426614174000";

/// The ids that are wanted.
#[derive(Clone, Debug)]
pub struct IdWish {
    /// Their column.
    pub column: String,
    /// What they are.
    kind: IdKind,
    /// What the first id decided, of all inputs that are read by this wish and its clones.
    decided: Arc<OnceLock<IdKind>>,
    /// Whether a store says what ids are.
    stored: bool,
}

/// What ids are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdKind {
    /// Numbers from 0 to 2^64 - 1.
    Number,
    /// Texts of any length; numbers are written in decimal digits.
    Text,
    /// Texts that a store can keep, which have up to 65,535 bytes.
    Name,
    /// UUIDs, in 32 hexadecimal digits with or without hyphens.
    Uuid,
    /// Numbers or names, as the first id is.
    Any,
}

/// An id, of which what is not borrowed from the row is owned.
pub(crate) enum OwnedId<'a> {
    Number(u64),
    Text(Cow<'a, str>),
    Uuid([u8; 16]),
}

impl OwnedId<'_> {
    /// The same, borrowed.
    pub(crate) fn borrow(&self) -> Id<'_> {
        match self {
            OwnedId::Number(number) => Id::Number(*number),
            OwnedId::Text(text) => Id::Text(text),
            OwnedId::Uuid(uuid) => Id::Uuid(*uuid),
        }
    }
}

impl IdWish {
    /// Ids of this kind in a column of this name.
    pub fn new(column: &str, kind: IdKind) -> Self {
        Self { column: column.to_string(), kind, decided: Arc::default(), stored: false }
    }

    /// The same, of the kind that the ids of a store are.
    pub fn of_store(column: &str, kind: IdKind) -> Self {
        Self { stored: true, ..Self::new(column, kind) }
    }

    /// The id that a cell is.
    pub(crate) fn id<'a>(&self, cell: Cell<'a>) -> Result<OwnedId<'a>, IdFault> {
        let is_number = match &cell {
            Cell::Number(number) if self.takes_numbers() => return Ok(OwnedId::Number(*number)),
            Cell::Plain(text) => text.starts_with(|c: char| c == '-' || c.is_ascii_digit()),
            cell => matches!(cell, Cell::Number(_) | Cell::Negative(_)),
        };
        if !is_number && cell.text().is_none() {
            return Err(IdFault::Refused(WANTED));
        }
        match cell.into_text() {
            Ok(Some(text)) => self.of_text(text),
            _ => Err(IdFault::Refused(WANTED)),
        }
    }

    /// Whether ids are numbers, which a number as the first of them decides.
    fn takes_numbers(&self) -> bool {
        match self.kind {
            IdKind::Any => *self.decided.get_or_init(|| IdKind::Number) == IdKind::Number,
            kind => kind == IdKind::Number,
        }
    }

    fn of_text<'a>(&self, text: Cow<'a, str>) -> Result<OwnedId<'a>, IdFault> {
        let kind = match self.kind {
            IdKind::Any => *self.decided.get_or_init(|| match number_id(text.trim()) {
                Some(_) => IdKind::Number,
                None => IdKind::Name,
            }),
            kind => kind,
        };
        let wanted = match kind {
            IdKind::Text => return Ok(OwnedId::Text(text)),
            IdKind::Name | IdKind::Any if text.len() <= MOST_NAME_BYTES => {
                return Ok(OwnedId::Text(text));
            }
            IdKind::Name | IdKind::Any => WANTED_NAME,
            IdKind::Number => match number_id(text.trim()) {
                Some(number) => return Ok(OwnedId::Number(number)),
                None if self.stored => WANTED_STORED,
                None if self.kind == IdKind::Any => WANTED_NUMBER,
                None => "number from 0 to 18446744073709551615 without zeros in front",
            },
            IdKind::Uuid => match uuid(text.trim()) {
                Some(uuid) => return Ok(OwnedId::Uuid(uuid)),
                None => WANTED_UUID,
            },
        };
        Err(IdFault::Text(RecordProblem::Value {
            column: self.column.clone(),
            found: format!("\"{}\"", excerpt(text.as_bytes())),
            wanted,
        }))
    }
}

/// Why a cell is no id.
pub(crate) enum IdFault {
    /// It is neither a number nor a text.
    Refused(&'static str),
    /// Its text is none.
    Text(RecordProblem),
}

/// The number that a text is, written in the one way in which it is printed: `007` is another id
/// than `7`.
pub fn number_id(text: &str) -> Option<u64> {
    let is_plain = text == "0" || !text.starts_with(['0', '+']);
    text.parse().ok().filter(|_| is_plain)
}

/// The UUID that a text of 32 hexadecimal digits is, with hyphens where they belong or with none.
pub fn uuid(text: &str) -> Option<[u8; 16]> {
    let bytes = text.as_bytes();
    let is_whole = match bytes.len() {
        36 => [8, 13, 18, 23].iter().all(|&at| bytes[at] == b'-'),
        length => length == 32,
    };
    let digits: Vec<u8> = bytes.iter().copied().filter(|&byte| byte != b'-').collect();
    if !is_whole || digits.len() != 32 || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let number = u128::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?;
    Some(number.to_be_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_are_read_with_hyphens_and_without() {
        let bytes = *b"\x12\x3e\x45\x67\xe8\x9b\x12\xd3\xa4\x56\x42\x66\x14\x17\x40\x00";
        assert_eq!(uuid("123e4567-e89b-12d3-a456-426614174000"), Some(bytes));
        assert_eq!(uuid("123E4567E89B12D3A456426614174000"), Some(bytes));
        for text in
            ["", "123e4567-e89b-12d3-a456-42661417400", "123e4567e-89b-12d3-a456-426614174000", "g"]
        {
            assert_eq!(uuid(text), None, "{text}");
        }
    }
}
