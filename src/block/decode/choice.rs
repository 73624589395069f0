//! The choice of a decoder.

use super::decoder::Decode;
#[cfg(target_arch = "x86_64")]
use super::deposit::Deposit;
#[cfg(target_arch = "x86_64")]
use super::narrow::NarrowRuns;
use super::plain::Plain;
#[cfg(target_arch = "x86_64")]
use super::plain_avx2::PlainAvx2;
#[cfg(target_arch = "x86_64")]
use super::runs::SymbolRuns;
#[cfg(target_arch = "x86_64")]
use super::runs_avx2::ByRuns;
use super::stream::Code;
use crate::format::Codec;
use crate::simd::Level;

/// A decoder for what has been coded so.
pub(in crate::block) type Decoder = Box<dyn Decode>;

/// The fastest decoder with these instructions; `None` if there is nothing to decode, since the
/// code is not complete.
pub(in crate::block) fn decoder(code: &Code, level: Level) -> Option<Decoder> {
    let choose = match (code.codec, code.symbols.are_long()) {
        (Codec::Xor, true) => choose::<true, true>,
        (Codec::Xor, false) => choose::<true, false>,
        (Codec::Gap, true) => choose::<false, true>,
        (Codec::Gap, false) => choose::<false, false>,
    };
    code.symbols.is_complete().then(|| choose(code, level))
}

/// What is known here is not asked for at each key. Measured over all codecs and columns at the
/// densities of 2^26 and 2^40 uniform fingerprints: if `LONG` were always true, tables without long
/// raw bits would take 0% to 12% more time to decode, 10% where keys are decoded one by one; if
/// these were decoded by [`Plain`] where there is AVX2, up to 24% more.
#[cfg_attr(not(target_arch = "x86_64"), allow(unused_variables))]
fn choose<const XOR: bool, const LONG: bool>(code: &Code, level: Level) -> Decoder {
    match level {
        Level::Scalar(_) => Box::new(Plain::<XOR, LONG>),
        // The compiler takes NEON for granted, and shifts by what a register says: nothing is left
        // to do.
        #[cfg(target_arch = "aarch64")]
        Level::Neon(_) => Box::new(Plain::<XOR, LONG>),
        #[cfg(target_arch = "x86_64")]
        Level::Avx2(avx2) => match SymbolRuns::new(&code.symbols) {
            Some(runs) => Box::new(ByRuns::<XOR, LONG>::new(avx2, runs)),
            None => Box::new(PlainAvx2::<XOR, LONG>(avx2)),
        },
        #[cfg(target_arch = "x86_64")]
        Level::Avx512(avx512) => {
            let narrow = if XOR { None } else { NarrowRuns::new(&code.symbols) };
            match narrow.zip(SymbolRuns::new(&code.symbols)) {
                Some((narrow, runs)) => {
                    Box::new(Deposit::new(avx512, narrow, ByRuns::new(avx512.avx2(), runs)))
                }
                None => choose::<XOR, LONG>(code, Level::Avx2(avx512.avx2())),
            }
        }
    }
}
