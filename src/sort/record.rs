//! What is sorted.

use bytemuck::Pod;

/// Something that is sorted: a fingerprint, or a fingerprint and an id. Its order begins with the
/// fingerprint. In temporary files it stands as it does in memory.
pub(crate) trait Record: Pod + Ord + Send + Sync {
    /// Bytes of a record, in memory and in temporary files.
    const BYTES: usize = size_of::<Self>();

    /// The fingerprint.
    fn fingerprint(&self) -> u64;
}

impl Record for u64 {
    #[inline(always)]
    fn fingerprint(&self) -> u64 {
        *self
    }
}

/// A fingerprint and an id.
impl Record for [u64; 2] {
    #[inline(always)]
    fn fingerprint(&self) -> u64 {
        self[0]
    }
}
