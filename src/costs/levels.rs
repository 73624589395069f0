//! Constants of which there is one for each level of vector instructions.

use super::groups::{JoinCosts, SweepCosts};
use crate::simd::Level;

impl JoinCosts {
    /// A pair that is compared at a level, in nanoseconds.
    pub(crate) fn pair_ns(mut self, level: Level) -> f64 {
        *self.pair_ns_mut(level)
    }

    /// That constant.
    pub(crate) fn pair_ns_mut(&mut self, level: Level) -> &mut f64 {
        match level {
            Level::Scalar(_) => &mut self.pair_scalar_ns,
            #[cfg(target_arch = "x86_64")]
            Level::Avx2(_) => &mut self.pair_avx2_ns,
            #[cfg(target_arch = "x86_64")]
            Level::Avx512(_) => &mut self.pair_avx512_ns,
            // A machine has one of the two.
            #[cfg(target_arch = "aarch64")]
            Level::Neon(_) => &mut self.pair_avx2_ns,
        }
    }
}

impl SweepCosts {
    /// A fingerprint that is compared with 16 listed queries at a level, in nanoseconds.
    pub(crate) fn vector_ns(mut self, level: Level) -> f64 {
        *self.vector_ns_mut(level)
    }

    /// That constant.
    pub(crate) fn vector_ns_mut(&mut self, level: Level) -> &mut f64 {
        match level {
            Level::Scalar(_) => &mut self.vector_scalar_ns,
            #[cfg(target_arch = "x86_64")]
            Level::Avx2(_) => &mut self.vector_avx2_ns,
            #[cfg(target_arch = "x86_64")]
            Level::Avx512(_) => &mut self.vector_avx512_ns,
            #[cfg(target_arch = "aarch64")]
            Level::Neon(_) => &mut self.vector_avx2_ns,
        }
    }
}
