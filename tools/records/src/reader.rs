//! What all readers have in common: where they put records, and what they do about bad ones.

use fpstore::Fingerprint;

use crate::error::{Origin, Problem};
use crate::records::{Id, Records};
use crate::token::Format;

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
    hexadecimal; if they are decimal, give --format dec, or auto,dec for a column";

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
