//! What an index takes.

use super::MultiIndex;
use crate::fingerprint::Fingerprint;

/// The base and the part tables of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BaseStats {
    /// Bytes of the file that holds every fingerprint once.
    pub file_bytes: u64,
    /// The part tables.
    pub parts: Vec<PartStats>,
}

/// A part table.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PartStats {
    /// The bits that fingerprints are found by, ascending; bit 0 is the most significant one.
    pub key: Vec<u32>,
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Ordered pairs of different fingerprints that agree in these bits.
    pub coincidences: u64,
}

impl<F: Fingerprint> MultiIndex<F> {
    /// What it takes.
    pub(crate) fn stats(&self) -> BaseStats {
        let parts = self.parts.iter().map(|part| PartStats {
            key: part.keys.bits(),
            file_bytes: part.file.bytes.len() as u64,
            coincidences: part.header.coincidences,
        });
        BaseStats { file_bytes: self.base.file.bytes.len() as u64, parts: parts.collect() }
    }
}
