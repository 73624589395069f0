//! What all readers have in common: where they put records, and what they do about bad ones.

use fpstore::Fingerprint;

use crate::detect::excerpt;
use crate::error::{Origin, Problem, RecordProblem};
use crate::records::{Id, Records};
use crate::token::Format;

/// The ids that are wanted.
#[derive(Clone, Debug)]
pub struct IdWish {
    /// Their column.
    pub column: String,
    /// What they are.
    pub kind: IdKind,
}

impl IdWish {
    /// Ids of this kind in a column of this name.
    pub fn new(column: &str, kind: IdKind) -> Self {
        Self { column: column.to_string(), kind }
    }
}

/// What ids are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdKind {
    /// Numbers from 0 to 2^64 - 1.
    Number,
    /// Texts; numbers are written in decimal digits.
    Text,
}

/// The order of the bytes of a fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteOrder {
    /// As in the hexadecimal digits that are printed: the most significant byte first.
    Big,
    /// The least significant byte first.
    Little,
}

impl ByteOrder {
    /// The fingerprint of as many bytes as it has; `None` of another number.
    #[cfg_attr(
        not(feature = "arrow"),
        allow(dead_code, reason = "for readers that were not built")
    )]
    pub fn fingerprint<F: Fingerprint>(self, bytes: &[u8]) -> Option<F> {
        let mut own = F::Bytes::default();
        if own.as_ref().len() != bytes.len() {
            return None;
        }
        own.as_mut().copy_from_slice(bytes);
        if self == ByteOrder::Little {
            own.as_mut().reverse();
        }
        Some(F::from_be_bytes(own))
    }
}

/// What is said of digits that may be hexadecimal or decimal, where they are taken for these.
pub const TAKEN_FOR_HEX: &str = "its fingerprints may be hexadecimal or decimal, and were taken for \
    hexadecimal; if they are decimal, give --format dec, or --digits dec for a column";

/// Under this name a file of Parquet notes the recipe by which its fingerprints were made.
pub const RECIPE: &str = "recipe";

/// A reader of one format.
pub trait Reader<F>: Send {
    /// Appends the records of the next piece of the input, and gives `false` at the end.
    ///
    /// # Errors
    /// Records before the faulty place have been appended.
    fn read(&mut self, to: &mut Sink<'_, F>) -> Result<bool, Problem>;

    /// The number of all records, where something before them tells it.
    fn records(&self) -> Option<u64> {
        None
    }

    /// By which recipe the fingerprints were made, where the input says so.
    fn recipe(&self) -> Option<String> {
        None
    }

    /// The column of the fingerprints, where there are some, and how its texts are written.
    fn column(&self) -> Option<(&str, Option<Format>)> {
        None
    }

    /// What whoever reads it should know, as soon as it is clear.
    fn warning(&self) -> Option<&'static str> {
        None
    }

    /// Bytes of memory that it takes beside a piece, where these are more than some buffers.
    fn buffer_bytes(&self) -> u64 {
        0
    }
}

/// Where a reader puts its records.
pub struct Sink<'a, F> {
    /// The records so far, of this input and those before it.
    pub records: &'a mut Records<F>,
    /// The input.
    pub origin: &'a Origin,
    /// Whether faulty records are left out, or end the reading.
    pub skip: bool,
}

impl<F: Fingerprint> Sink<'_, F> {
    /// Appends a record.
    pub fn push(&mut self, fingerprint: F, id: Option<Id<'_>>) {
        if let Some(id) = id {
            self.records.ids.push(id);
        }
        self.records.fingerprints.push(fingerprint);
    }

    /// Leaves the next record out, or ends the reading.
    pub fn fault(&mut self, problem: Problem) -> Result<(), Problem> {
        match self.skip {
            true => {
                self.records.skip(self.origin.error(problem));
                Ok(())
            }
            false => Err(problem),
        }
    }
}

/// The id that a text is.
pub fn text_id<'a>(text: &'a str, wish: &IdWish) -> Result<Id<'a>, RecordProblem> {
    match wish.kind {
        IdKind::Text => Ok(Id::Text(text)),
        IdKind::Number => match number_id(text.trim()) {
            Some(number) => Ok(Id::Number(number)),
            None => Err(RecordProblem::Value {
                column: wish.column.clone(),
                found: format!("\"{}\"", excerpt(text.as_bytes())),
                wanted: "number from 0 to 18446744073709551615 without zeros in front (strings need \
                         --id-map)",
            }),
        },
    }
}

/// The number that a text is, written in the one way in which it is printed: `007` is another id
/// than `7`.
pub fn number_id(text: &str) -> Option<u64> {
    let is_plain = text == "0" || !text.starts_with(['0', '+']);
    text.parse().ok().filter(|_| is_plain)
}
