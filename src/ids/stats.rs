//! What the ids of a segment take.

use super::reader::IdColumn;

/// The size of the ids of a segment and what they are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IdStats {
    /// Number of pairs of a fingerprint and an id.
    pub ids: u64,
    /// Number of fingerprints.
    pub fingerprints: u64,
    /// Bits of each id: those of the greatest one.
    pub id_bits: u32,
    /// Bytes of the ids themselves.
    pub id_bytes: u64,
    /// Bytes that tell which ids belong to which fingerprint: 0 where each has one.
    pub multiplicity_bytes: u64,
    /// Bytes that tell which fingerprints stand in which block.
    pub rank_bytes: u64,
    /// Bytes of the file; with header and checksums.
    pub file_bytes: u64,
}

impl IdStats {
    /// Bits of the file per fingerprint; 0 if there is none.
    pub fn bits_per_fingerprint(&self) -> f64 {
        self.bits_per(self.file_bytes)
    }

    /// Bits per fingerprint of all but the ids themselves; 0 if there is no fingerprint.
    pub fn overhead_bits_per_fingerprint(&self) -> f64 {
        self.bits_per(self.file_bytes - self.id_bytes)
    }

    fn bits_per(&self, bytes: u64) -> f64 {
        if self.fingerprints == 0 { 0.0 } else { 8.0 * bytes as f64 / self.fingerprints as f64 }
    }
}

impl IdColumn {
    /// What the ids take.
    pub(crate) fn stats(&self) -> IdStats {
        let geometry = &self.geometry;
        IdStats {
            ids: self.header.id_count,
            fingerprints: self.header.count,
            id_bits: self.header.id_bits.into(),
            id_bytes: geometry.ids.len() as u64,
            multiplicity_bytes: (geometry.marks.len() + geometry.mark_counts.len()) as u64,
            rank_bytes: geometry.ranks.len() as u64,
            file_bytes: self.file_bytes(),
        }
    }
}
