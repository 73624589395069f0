//! What the bits of a stream mean: a code, the class that it stands for, and the raw bits behind
//! it.

use super::lanes::LOAD_BITS;
use crate::format::MAX_CODE_BITS;
use crate::huffman;

/// Finds the symbol at the start of a bit string, by one look-up of its first 11 bits.
#[derive(Clone, Debug)]
pub(super) struct Symbols {
    entries: Box<[Symbol; 1 << MAX_CODE_BITS]>,
    is_complete: bool,
    per_load: usize,
}

/// A code and what follows it, in one word: from the least significant byte on
///
/// * bits of the code and of the raw bits; 0 where there is no code;
/// * bits of the code;
/// * raw bits;
/// * 1 if the middle differs from the one before it, 0 for the class *equal*.
///
/// A shift takes its distance from the least significant bits of a register, so the first byte,
/// which is all that the next look-up waits for, need not be cut out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Symbol(u32);

impl Symbols {
    /// The symbols of a table whose middles have `middle_bits` bits.
    pub(super) fn new(code_lengths: &[u8], middle_bits: u32) -> Self {
        let mut entries = Box::new([Symbol::default(); 1 << MAX_CODE_BITS]);
        let codes = huffman::codes(code_lengths).into_iter().enumerate();
        for (class, code) in codes.filter(|(_, code)| code.length > 0) {
            let raw_bits = middle_bits.saturating_sub(1 + class as u32) as u8;
            let differs = u8::from((class as u32) < middle_bits);
            let bytes = [code.length + raw_bits, code.length, raw_bits, differs];
            let symbol = Symbol(u32::from_le_bytes(bytes));
            for rest in 0..1usize << (MAX_CODE_BITS - u32::from(code.length)) {
                entries[rest << code.length | usize::from(code.bits)] = symbol;
            }
        }
        let is_complete = entries.iter().all(|symbol| symbol.total_bits() > 0);
        let per_load = per_load(&entries[..]);
        Self { entries, is_complete, per_load }
    }

    /// The symbol whose code starts at the least significant bit of `window`.
    #[inline(always)]
    pub(super) fn find(&self, window: u64) -> Symbol {
        self.entries[window as usize & ((1 << MAX_CODE_BITS) - 1)]
    }

    /// Whether there is no code at all.
    pub(super) fn is_empty(&self) -> bool {
        self.entries.iter().all(|symbol| symbol.total_bits() == 0)
    }

    /// How many symbols one load nearly always brings.
    pub(super) fn per_load(&self) -> usize {
        self.per_load
    }

    /// Whether every bit string starts with a code.
    pub(super) fn is_complete(&self) -> bool {
        self.is_complete
    }
}

/// The number of symbols whose bits together stay within a load, but for a tail of 2.5 standard
/// deviations. A symbol has the share of the entries that its code length gives it, which is about
/// how often it occurs.
fn per_load(entries: &[Symbol]) -> usize {
    let bits = |symbol: &Symbol| symbol.total_bits() as f64;
    let mean = entries.iter().map(bits).sum::<f64>() / entries.len() as f64;
    let variance = |symbol: &Symbol| (bits(symbol) - mean).powi(2);
    let variance = entries.iter().map(variance).sum::<f64>() / entries.len() as f64;
    let fits = |n: f64| n * mean + 2.5 * (n * variance).sqrt() <= LOAD_BITS as f64;
    (1..8).rev().find(|&n| fits(f64::from(n))).unwrap_or(1) as usize
}

impl Symbol {
    /// Bits of the code and of the raw bits; 0 where there is no code.
    #[inline(always)]
    pub(super) fn total_bits(self) -> usize {
        self.0 as usize & 0xFF
    }

    /// What is left of `window` behind the symbol, which is inside it.
    #[inline(always)]
    pub(super) fn skip(self, window: u64) -> u64 {
        window.wrapping_shr(self.0)
    }

    /// Adds up words of at most 4 symbols.
    #[inline(always)]
    pub(super) fn add_to(self, sum: u32) -> u32 {
        sum.wrapping_add(self.0)
    }

    /// The bits of all symbols in a sum, each of which was inside a window.
    #[inline(always)]
    pub(super) fn bits_of_sum(sum: u32) -> usize {
        sum as usize & 0xFF
    }

    /// Bits of the code.
    #[inline(always)]
    pub(super) fn code_bits(self) -> usize {
        (self.0 >> 8) as usize & 0xFF
    }

    /// `window`, which holds the symbol, from its raw bits on.
    #[inline(always)]
    pub(super) fn behind_code(self, window: u64) -> u64 {
        window.wrapping_shr(self.0 >> 8)
    }

    #[inline(always)]
    fn raw_bits(self) -> u32 {
        self.0 >> 16 & 0xFF
    }

    #[inline(always)]
    fn differs(self) -> u64 {
        u64::from(self.0 >> 24)
    }

    /// The raw bits at the start of `window`, which holds all of them.
    #[inline(always)]
    pub(super) fn raw(self, window: u64) -> u64 {
        window & ((1 << self.raw_bits()) - 1)
    }

    /// The middle that follows `u`, by the codec `gap`.
    #[inline(always)]
    pub(super) fn after_gap(self, u: u64, raw: u64) -> u64 {
        u.wrapping_add(self.differs() << self.raw_bits() | raw)
    }

    /// The middle that follows `u`, by the codec `xor`.
    #[inline(always)]
    pub(super) fn after_xor(self, u: u64, raw: u64) -> u64 {
        (u >> self.raw_bits() | self.differs()) << self.raw_bits() | raw
    }

    /// Other than 0 if the bit of `u` in which the codec `xor` says that the next middle differs is
    /// 1, which cannot be [BLK-5].
    #[inline(always)]
    pub(super) fn contradiction(self, u: u64) -> u64 {
        u >> self.raw_bits() & self.differs()
    }
}
