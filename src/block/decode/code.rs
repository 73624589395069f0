//! How the keys of a table are coded.

use super::symbols::Symbols;
use crate::format::{Codec, Geometry};

/// What every decoder of a table needs to know.
#[derive(Debug)]
pub(in crate::block) struct Code {
    pub(in crate::block) codec: Codec,
    /// Width L of the low column.
    pub(in crate::block) low_bits: u32,
    /// Zeros above a middle in its word, 64 - M.
    pub(in crate::block) above_middle: u32,
    pub(in crate::block) symbols: Symbols,
}

impl Code {
    pub(in crate::block) fn new(codec: Codec, geometry: &Geometry, code_lengths: &[u8]) -> Self {
        // A middle alone has as many zeros above it as a key has bits below its middle.
        let (low_bits, above_middle) = (geometry.low_bits, geometry.below_middle());
        let symbols = Symbols::new(code_lengths, geometry.middle_bits());
        Self { codec, low_bits, above_middle, symbols }
    }

    /// Number of byte planes of the column.
    #[inline(always)]
    pub(in crate::block) fn planes(&self) -> usize {
        self.low_bits as usize / 8
    }
}
