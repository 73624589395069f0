//! Matches, as C has them.

use fpstore::{Fingerprint, Match};

use crate::error::Result;
use crate::input::{self, Out};

/// A stored fingerprint near a query.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct fps_match {
    /// The stored fingerprint: its bytes, the most significant first. Behind those of the width
    /// stand zeros.
    pub fingerprint: [u8; 32],
    /// Its Hamming distance from the query, in bits.
    pub distance: u32,
}

impl fps_match {
    #[inline]
    pub(crate) fn new<F: Fingerprint>(found: &Match<F>) -> Self {
        let bytes = found.fingerprint.to_be_bytes();
        let mut fingerprint = [0; 32];
        fingerprint[..bytes.as_ref().len()].copy_from_slice(bytes.as_ref());
        Self { fingerprint, distance: found.distance }
    }
}

/// A buffer of the caller for matches.
pub(crate) struct Buffer {
    matches: *mut fps_match,
    capacity: usize,
    count: Out<usize>,
}

impl Buffer {
    /// Room for so many matches, which may be NULL where that is 0.
    ///
    /// # Safety
    ///
    /// Where the pointers are not null and aligned, so many matches, and a number, may be written
    /// there.
    #[inline]
    pub(crate) unsafe fn new(
        matches: *mut fps_match,
        capacity: usize,
        count: *mut usize,
    ) -> Result<Self> {
        // SAFETY: the caller vouches for it.
        let count = unsafe { Out::new(count, "count") }?;
        count.set(0);
        if capacity > 0 {
            // SAFETY: nothing is written yet.
            unsafe { Out::new(matches, "matches") }?;
            input::check_size::<fps_match>(capacity, "matches")?;
        }
        Ok(Self { matches, capacity, count })
    }

    /// How many matches there is room for.
    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Writes as many as there is room for, and how many there are.
    #[inline]
    pub(crate) fn fill<F: Fingerprint>(&self, found: &[Match<F>]) {
        for (place, found) in found.iter().take(self.capacity).enumerate() {
            // SAFETY: `place` is below the capacity, of which `new` was told that it may be
            // written.
            unsafe { self.matches.add(place).write(fps_match::new(found)) };
        }
        self.count.set(found.len());
    }
}
