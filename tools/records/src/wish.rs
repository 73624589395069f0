//! The ids that are wanted of records, and what a cell is as an id.

use std::borrow::Cow;
use std::str::FromStr;
use std::sync::{Arc, OnceLock};

use fpstore::IdKind;

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
                             ids of the store are (`fpstore create --id-type text` makes one for names)";
const WANTED_NAME: &str = "name of at most 65535 bytes";
const WANTED_UUID: &str = "UUID, such as 123e4567-e89b-12d3-a456-426614174000";
const WANTED_NUMBER128: &str = "number from 0 to 2^128 - 1 without zeros in front";
const WANTED_KEY: &str =
    "key of as many bytes, or of two hexadecimal digits for each, as all ids of the store have";
const WANTED_BYTES: &str = "value of bytes, of as many as the first id has";

/// The ids that are wanted.
#[derive(Clone, Debug)]
pub struct IdWish {
    /// Their column.
    pub column: String,
    wanted: Wanted,
    /// What the first id decided, of all inputs that are read by this wish and its clones.
    decided: Arc<OnceLock<IdKind>>,
    /// Whether a store says what ids are.
    stored: bool,
}

/// What ids are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    /// What a store can have as ids, of the kind of the first one.
    Any,
    /// Of this kind.
    Of(IdKind),
    /// Texts of any length; numbers are written in decimal digits.
    Texts,
}

/// An id, of which what is not borrowed from the row is owned.
pub(crate) enum OwnedId<'a> {
    Number(u64),
    Text(Cow<'a, str>),
    Uuid([u8; 16]),
    Number128(u128),
    Bytes(Cow<'a, [u8]>),
}

impl OwnedId<'_> {
    /// The same, borrowed.
    pub(crate) fn borrow(&self) -> Id<'_> {
        match self {
            OwnedId::Number(number) => Id::Number(*number),
            OwnedId::Text(text) => Id::Text(text),
            OwnedId::Uuid(uuid) => Id::Uuid(*uuid),
            OwnedId::Number128(number) => Id::Number128(*number),
            OwnedId::Bytes(bytes) => Id::Bytes(bytes),
        }
    }
}

impl IdWish {
    /// What a store can have as ids, in a column of this name. The first one decides of which kind
    /// all are, unless `kind` says it: UUIDs, integers of 128 bits and bytes where the column has
    /// such a type, numbers of 64 bits where it is one, else text.
    pub fn new(column: &str, kind: Option<IdKind>) -> Self {
        Self::wanting(column, kind.map_or(Wanted::Any, Wanted::Of))
    }

    /// The same, of the kind that the ids of a store are.
    pub fn of_store(column: &str, kind: IdKind) -> Self {
        Self { stored: true, ..Self::new(column, Some(kind)) }
    }

    /// Texts of any length, and numbers as their decimal digits.
    pub fn texts(column: &str) -> Self {
        Self::wanting(column, Wanted::Texts)
    }

    fn wanting(column: &str, wanted: Wanted) -> Self {
        Self { column: column.to_string(), wanted, decided: Arc::default(), stored: false }
    }

    /// The kind of all ids, which the first one decides where nobody has said it; `None` of texts.
    fn kind(&self, of_first: impl FnOnce() -> IdKind) -> Option<IdKind> {
        match self.wanted {
            Wanted::Any => Some(*self.decided.get_or_init(of_first)),
            Wanted::Of(kind) => Some(kind),
            Wanted::Texts => None,
        }
    }

    /// The id that a cell is, of a column of which the file says whether it has UUIDs.
    pub(crate) fn id<'a>(&self, cell: Cell<'a>, is_uuid: bool) -> Result<OwnedId<'a>, IdFault> {
        let is_number = match &cell {
            Cell::Number(number) if self.kind(|| IdKind::Number) == Some(IdKind::Number) => {
                return Ok(OwnedId::Number(*number));
            }
            Cell::Binary(bytes) => return self.of_bytes(bytes, is_uuid),
            Cell::Wide(number) => {
                let kind = self.kind(|| IdKind::Number128);
                match u128::try_from(*number) {
                    Ok(number) if kind == Some(IdKind::Number128) => {
                        return Ok(OwnedId::Number128(number));
                    }
                    _ => true,
                }
            }
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

    fn of_bytes<'a>(&self, bytes: &'a [u8], is_uuid: bool) -> Result<OwnedId<'a>, IdFault> {
        let uuid = <[u8; 16]>::try_from(bytes).ok();
        let kind = self.kind(|| match uuid {
            Some(_) if is_uuid => IdKind::Uuid,
            // Longer ones are refused below.
            _ => IdKind::Bytes(u16::try_from(bytes.len()).unwrap_or(0)),
        });
        match (kind, uuid) {
            (Some(IdKind::Uuid), Some(uuid)) => Ok(OwnedId::Uuid(uuid)),
            (Some(IdKind::Uuid), None) => Err(IdFault::Refused(WANTED_UUID)),
            (Some(IdKind::Bytes(width)), _) if usize::from(width) == bytes.len() && width > 0 => {
                Ok(OwnedId::Bytes(Cow::Borrowed(bytes)))
            }
            (Some(IdKind::Bytes(_)), _) if self.stored => Err(IdFault::Refused(WANTED_KEY)),
            (Some(IdKind::Bytes(_)), _) => Err(IdFault::Refused(WANTED_BYTES)),
            _ => Err(IdFault::Refused(WANTED)),
        }
    }

    fn of_text<'a>(&self, text: Cow<'a, str>) -> Result<OwnedId<'a>, IdFault> {
        let kind = self.kind(|| match number_id::<u64>(text.trim()) {
            Some(_) => IdKind::Number,
            None => IdKind::Text,
        });
        let wanted = match kind {
            None => return Ok(OwnedId::Text(text)),
            Some(IdKind::Text) if text.len() <= MOST_NAME_BYTES => return Ok(OwnedId::Text(text)),
            Some(IdKind::Text) => WANTED_NAME,
            Some(IdKind::Number) => match number_id(text.trim()) {
                Some(number) => return Ok(OwnedId::Number(number)),
                None if self.stored => WANTED_STORED,
                None if self.wanted == Wanted::Any => WANTED_NUMBER,
                None => "number from 0 to 18446744073709551615 without zeros in front",
            },
            Some(IdKind::Uuid) => match uuid(text.trim()) {
                Some(uuid) => return Ok(OwnedId::Uuid(uuid)),
                None => WANTED_UUID,
            },
            Some(IdKind::Number128) => match number_id(text.trim()) {
                Some(number) => return Ok(OwnedId::Number128(number)),
                None => WANTED_NUMBER128,
            },
            Some(IdKind::Bytes(width)) => match key(text.trim()) {
                Some(key) if key.len() == usize::from(width) => {
                    return Ok(OwnedId::Bytes(Cow::Owned(key)));
                }
                _ => WANTED_KEY,
            },
            // A kind of a later version of the library.
            Some(_) => WANTED,
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
pub fn number_id<N: FromStr>(text: &str) -> Option<N> {
    let is_plain = text == "0" || !text.starts_with(['0', '+']);
    text.parse().ok().filter(|_| is_plain)
}

/// The key that hexadecimal digits are, two for each byte.
pub fn key(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| Some(digit(pair[0])? << 4 | digit(*pair.get(1)?)?)).collect()
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
