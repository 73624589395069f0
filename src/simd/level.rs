//! The choice among the instruction sets.

use std::sync::LazyLock;

#[cfg(target_arch = "x86_64")]
use super::avx2::Avx2;
#[cfg(target_arch = "x86_64")]
use super::avx512::Avx512;
#[cfg(target_arch = "aarch64")]
use super::neon::Neon;
use super::work::Work;

/// The variable of the environment that says how much is used of what the CPU has.
const VARIABLE: &str = "FPSTORE_SIMD";

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
    #[cfg(target_arch = "aarch64")]
    Neon(Neon),
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
            #[cfg(target_arch = "aarch64")]
            $crate::simd::Level::Neon($set) => $value,
        }
    };
}
pub(crate) use by_level;

impl Level {
    /// Does some work with the instructions for bits that the CPU has: what the compiler takes for
    /// granted counts ones in a dozen of them.
    #[inline(always)]
    pub(crate) fn run<W: Work>(self, work: W) -> W::Output {
        match self {
            Self::Scalar(_) => work.work(),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(level) => level.run(work),
            // What else it has makes no difference to single words.
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(level) => level.avx2().run(work),
            // The compiler takes NEON for granted.
            #[cfg(target_arch = "aarch64")]
            Self::Neon(_) => work.work(),
        }
    }

    /// Whether it is AVX-512.
    pub(crate) fn is_avx512(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        return matches!(self, Self::Avx512(_));
        #[cfg(not(target_arch = "x86_64"))]
        false
    }

    /// The level that is used: the best that the CPU has, or what the environment allows.
    pub(crate) fn best() -> Self {
        // What the environment says at first holds: files are packed and searched at one level.
        static BEST: LazyLock<Level> =
            LazyLock::new(|| Level::within(std::env::var(VARIABLE).ok().as_deref()));
        *BEST
    }

    /// The best level up to the one with this name; the best of all without a name, or with one
    /// that no level has.
    fn within(name: Option<&str>) -> Self {
        let rank =
            |name: &str| SIMD_LEVELS.iter().position(|level| level.eq_ignore_ascii_case(name));
        let most = name.and_then(rank).unwrap_or(SIMD_LEVELS.len());
        let allowed = Self::all().filter(|level| rank(level.key()).is_none_or(|rank| rank <= most));
        allowed.last().unwrap_or(Self::Scalar(Scalar))
    }

    /// Every level that the CPU has, the best last.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        let scalar = Some(Self::Scalar(Scalar));
        #[cfg(target_arch = "x86_64")]
        let levels = [scalar, Avx2::new().map(Self::Avx2), Avx512::new().map(Self::Avx512)];
        #[cfg(target_arch = "aarch64")]
        let levels = [scalar, Neon::new().map(Self::Neon)];
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
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
            #[cfg(target_arch = "aarch64")]
            Self::Neon(_) => "NEON",
        }
    }

    /// What the environment calls it.
    fn key(self) -> &'static str {
        match self {
            Self::Scalar(_) => "portable",
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => "avx2",
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => "avx512",
            #[cfg(target_arch = "aarch64")]
            Self::Neon(_) => "neon",
        }
    }
}

/// What `FPSTORE_SIMD` may be, in any case of letters.
///
/// The variable of the environment names the most that fpstore uses of what the CPU has; the CPU
/// need not have it. It is read once. Answers and files do not depend on it. A value that is none
/// of these has no effect in the library; the tool refuses it.
pub const SIMD_LEVELS: [&str; 4] = ["portable", "neon", "avx2", "avx512"];

/// The SIMD instructions with which fpstore runs on this CPU: `AVX-512`, `AVX2`, `NEON` or `none`.
/// [`SIMD_LEVELS`] says how to have it use less.
pub fn simd_level() -> &'static str {
    Level::best().name()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_names_the_most_that_is_used() {
        let all: Vec<&str> = Level::all().map(Level::key).collect();
        let best = all[all.len() - 1];
        assert_eq!(Level::within(None).key(), best);
        assert_eq!(Level::within(Some("sse9")).key(), best);
        assert_eq!(Level::within(Some("Portable")).key(), "portable");
        for name in &all {
            assert_eq!(Level::within(Some(name)).key(), *name);
        }
        // What the CPU lacks stands for what it has below.
        for name in SIMD_LEVELS {
            let rank = |name: &str| SIMD_LEVELS.iter().position(|level| *level == name);
            let found = Level::within(Some(name)).key();
            assert!(all.contains(&found) && rank(found) <= rank(name), "{name}: {found}");
        }
    }
}
