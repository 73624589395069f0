//! Counting by feature.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Features are hashes already.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Identity(u64);

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {}

    // The map takes the highest bits for one purpose and the lowest for another.
    fn write_u64(&mut self, value: u64) {
        self.0 = value.wrapping_mul(crate::hash::BASE);
    }
}

/// How often each feature is there.
pub(crate) type Counts = HashMap<u64, u64, BuildHasherDefault<Identity>>;
