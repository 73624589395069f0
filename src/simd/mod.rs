//! Vector instructions: which of them the CPU has, and what the kernels share.
//!
//! This is the bottom of the house: nothing here imports anything else of the crate.
//!
//! A value of a type such as [`Avx2`] is the proof that the CPU has its instructions, since only
//! its `new` makes one, after a look at the CPU. [`Level`] is any of these values, and
//! [`Level::best`] the only place that chooses.
//!
//! A kernel is a trait in a file of its own. Each level implements it in one more file, named after
//! the level, and [`by_level!`] calls the implementation that belongs to a value. The one for
//! [`Scalar`] is the oracle: property tests compare each of [`Level::all`] with the definition.
//! Another instruction set is one more variant of [`Level`], a file of primitives here, and a file
//! for each kernel; the compiler names those that are missing.

#[cfg(target_arch = "x86_64")]
pub(crate) mod avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) mod avx512;
mod level;
#[cfg(target_arch = "aarch64")]
pub(crate) mod neon;
mod ones;
mod work;

#[cfg(target_arch = "x86_64")]
pub(crate) use avx2::Avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) use avx512::Avx512;
pub(crate) use level::{Level, Scalar, by_level};
pub use level::{SIMD_LEVELS, simd_level};
pub(crate) use ones::ones;
pub(crate) use work::Work;
