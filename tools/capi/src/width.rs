//! Values for fingerprints of every width.

/// The same of every width.
pub(crate) enum ByWidth<A, B, C, D> {
    W32(A),
    W64(B),
    W128(C),
    W256(D),
}

/// Calls `$body` with what a [`ByWidth`] holds.
macro_rules! for_width {
    ($any:expr, $one:ident => $body:expr) => {
        match $any {
            $crate::width::ByWidth::W32($one) => $body,
            $crate::width::ByWidth::W64($one) => $body,
            $crate::width::ByWidth::W128($one) => $body,
            $crate::width::ByWidth::W256($one) => $body,
        }
    };
}

/// Puts the result of `$body` into the variant of the same width.
macro_rules! map_width {
    ($any:expr, $one:ident => $body:expr) => {
        match $any {
            $crate::width::ByWidth::W32($one) => $crate::width::ByWidth::W32($body),
            $crate::width::ByWidth::W64($one) => $crate::width::ByWidth::W64($body),
            $crate::width::ByWidth::W128($one) => $crate::width::ByWidth::W128($body),
            $crate::width::ByWidth::W256($one) => $crate::width::ByWidth::W256($body),
        }
    };
}

/// A [`ByWidth`] with `$body` for so many bits, in which `$f` is the type of fingerprints.
macro_rules! by_bits {
    ($bits:expr, $f:ident => $body:expr) => {
        match $bits {
            32 => {
                type $f = u32;
                Ok($crate::width::ByWidth::W32($body))
            }
            64 => {
                type $f = u64;
                Ok($crate::width::ByWidth::W64($body))
            }
            128 => {
                type $f = u128;
                Ok($crate::width::ByWidth::W128($body))
            }
            256 => {
                type $f = [u64; 4];
                Ok($crate::width::ByWidth::W256($body))
            }
            bits => Err($crate::error::Failure::input(format!(
                "bits cannot be {bits}: fingerprints have 32, 64, 128 or 256"
            ))),
        }
    };
}

pub(crate) use {by_bits, for_width, map_width};
