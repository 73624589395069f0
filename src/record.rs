//! What is sorted.

use bytemuck::Pod;

/// Something that is sorted: a fingerprint, or a fingerprint and an id. In temporary files it
/// stands as it does in memory.
pub trait Record: Pod + Ord + Send + Sync {
    /// Bytes of a record, in memory and in temporary files.
    const BYTES: usize = size_of::<Self>();

    /// What its order begins with: the first bits of the fingerprint.
    fn leading(&self) -> u64;
}

impl Record for u64 {
    #[inline(always)]
    fn leading(&self) -> u64 {
        *self
    }
}

impl Record for u32 {
    #[inline(always)]
    fn leading(&self) -> u64 {
        u64::from(*self)
    }
}

impl Record for u128 {
    #[inline(always)]
    fn leading(&self) -> u64 {
        (self >> 64) as u64
    }
}

/// Words of a fingerprint, and of one with an id.
macro_rules! words {
    ($($count:literal),*) => {$(
        impl Record for [u64; $count] {
            #[inline(always)]
            fn leading(&self) -> u64 {
                self[0]
            }
        }
    )*};
}

words!(2, 3, 4, 5);
