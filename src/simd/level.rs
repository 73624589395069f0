//! The choice among the instruction sets.

#[cfg(target_arch = "x86_64")]
use super::avx2::Avx2;
#[cfg(target_arch = "x86_64")]
use super::avx512::Avx512;
use super::work::Work;

/// No vector instructions but those that the compiler takes for granted: every CPU has this level.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scalar;

/// An instruction set that the CPU has.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Level {
    Scalar(Scalar),
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512),
}

/// Evaluates an expression with the value that a [`Level`] holds. Its type is that of the
/// level, so a method of a trait is the one for these instructions.
macro_rules! by_level {
    ($level:expr, $set:ident => $value:expr) => {
        match $level {
            $crate::simd::Level::Scalar($set) => $value,
            #[cfg(target_arch = "x86_64")]
            $crate::simd::Level::Avx2($set) => $value,
            #[cfg(target_arch = "x86_64")]
            $crate::simd::Level::Avx512($set) => $value,
        }
    };
}
pub(crate) use by_level;

impl Level {
    /// Does some work with the instructions for bits that the CPU has: what the compiler takes for granted counts ones in a dozen of them.
    #[inline(always)]
    pub(crate) fn run<W: Work>(self, work: W) -> W::Output {
        match self {
            Self::Scalar(_) => work.work(),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(level) => level.run(work),
            // What else it has makes no difference to single words.
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(level) => level.avx2().run(work),
        }
    }

    /// Whether it is AVX-512.
    pub(crate) fn is_avx512(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        return matches!(self, Self::Avx512(_));
        #[cfg(not(target_arch = "x86_64"))]
        false
    }

    /// The best level that the CPU has.
    pub(crate) fn best() -> Self {
        Self::all().last().unwrap_or(Self::Scalar(Scalar))
    }

    /// Every level that the CPU has, the best last.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        let scalar = Some(Self::Scalar(Scalar));
        #[cfg(target_arch = "x86_64")]
        let levels = [scalar, Avx2::new().map(Self::Avx2), Avx512::new().map(Self::Avx512)];
        #[cfg(not(target_arch = "x86_64"))]
        let levels = [scalar];
        levels.into_iter().flatten()
    }

    /// What people call it.
    fn name(self) -> &'static str {
        match self {
            Self::Scalar(_) => "none",
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => "AVX2",
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => "AVX-512",
        }
    }
}

/// The SIMD instructions with which fpstore runs on this CPU: `AVX-512`, `AVX2` or `none`.
pub fn simd_level() -> &'static str {
    Level::best().name()
}
