//! Short tables, whose keys are the first bits of permuted fingerprints (chapter 7 of the
//! specification). What a search finds in one are *leads*: where in the identity table a match may
//! stand.
//!
//! A table with whole keys repeats what the identity table holds. The bits that tell which
//! fingerprints share a top, and where these stand there, are less than half of it.

use super::Table;
use crate::block::Candidate;
use crate::router::Probe;

/// Keys of the identity table that begin alike: no others have the bits that a key of a short table
/// knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Lead {
    /// The bits, and zeros below.
    pub(crate) prefix: u64,
    /// Their number.
    pub(crate) bits: u32,
}

impl Table {
    /// Whether keys are only the first bits of permuted fingerprints.
    #[inline]
    pub(crate) fn is_short(&self) -> bool {
        self.header().is_short()
    }

    /// The bits of a word that are bits of its key.
    #[inline]
    pub(crate) fn key_mask(&self) -> u64 {
        u64::MAX << self.geometry().pad_bits()
    }

    /// The key of a fingerprint.
    #[inline]
    pub(crate) fn key(&self, fingerprint: u64) -> u64 {
        self.permutation().key(fingerprint) & self.key_mask()
    }

    /// Appends the blocks that can hold a key with this lead within `k` of the key `query`, with
    /// what is left of `k` above the column. `probes` is there for what it holds of memory.
    pub(crate) fn follow(
        &self,
        lead: Lead,
        (query, k): (u64, u32),
        probes: &mut Vec<Probe>,
        out: &mut Vec<Candidate>,
    ) {
        let behind = u64::MAX.checked_shr(lead.bits).unwrap_or(0);
        let column = u64::MAX.checked_shr(self.geometry().middle_bits()).unwrap_or(0);
        // Flips in the column are seen again.
        let flips = ((lead.prefix ^ query) & !behind & !column).count_ones();
        let Some(left) = k.checked_sub(flips) else { return };
        let path = lead.prefix | query & behind;
        probes.clear();
        self.follow_path((path, left), lead.bits, probes, out);
    }

    /// Different leads to blocks of this table, at most: to follow more takes as long as a scan.
    #[inline]
    pub(crate) fn most_leads(&self) -> usize {
        self.block_count() as usize / 4 + 16
    }

    /// How many bits of a fingerprint, from the first on, its key tells.
    pub(crate) fn lead_bits(&self) -> u32 {
        self.permutation().fingerprint(self.key_mask()).leading_ones()
    }
}
