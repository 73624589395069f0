//! What the codes of a stream mean: the class that a code stands for, and how many raw bits belong
//! to it.

use super::bits::LOAD_BITS;
use crate::codec::huffman;
use crate::format::MAX_CODE_BITS;

/// Bit strings that are looked up.
pub(super) const ENTRIES: usize = 1 << MAX_CODE_BITS;

/// Finds the symbol at the start of a bit string, by one look-up of its first 11 bits.
#[derive(Clone, Debug)]
pub(in crate::block) struct Symbols {
    entries: Box<[Symbol; ENTRIES]>,
    is_complete: bool,
    are_long: bool,
}

/// [`Symbols`] in a loop.
#[derive(Clone, Copy)]
pub(super) struct SymbolTable<'a>(&'a [Symbol; ENTRIES]);

impl SymbolTable<'_> {
    /// The symbol whose code starts at the least significant bit of `window`.
    #[inline(always)]
    pub(super) fn find(self, window: u64) -> Symbol {
        self.0[window as usize % ENTRIES]
    }
}

/// A code and its raw bits, in one word: from the least significant byte on
///
/// * bits of the code; 0 where there is no code;
/// * raw bits;
/// * 63 less the raw bits;
/// * 1 if the middle differs from the one before it, 0 for the class *equal*.
///
/// A shift takes its distance from the least significant bits of a register, so the first byte,
/// which is all that the next look-up waits for, need not be cut out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::block) struct Symbol(u32);

impl Symbols {
    /// The symbols of a table whose middles have `middle_bits` bits.
    pub(in crate::block) fn new(code_lengths: &[u8], middle_bits: u32) -> Self {
        let mut entries = Box::new([Symbol::default(); ENTRIES]);
        let codes = huffman::codes(code_lengths).into_iter().enumerate();
        for (class, code) in codes.filter(|(_, code)| code.length > 0) {
            let raw_bits = middle_bits.saturating_sub(1 + class as u32) as u8;
            let differs = u8::from((class as u32) < middle_bits);
            let bytes = [code.length, raw_bits, 63 - raw_bits, differs];
            let symbol = Symbol(u32::from_le_bytes(bytes));
            for rest in 0..1usize << (MAX_CODE_BITS - u32::from(code.length)) {
                entries[rest << code.length | usize::from(code.bits)] = symbol;
            }
        }
        let is_complete = entries.iter().all(|symbol| symbol.code_bits() > 0);
        let are_long = entries.iter().any(|symbol| symbol.raw_bits() > LOAD_BITS);
        Self { entries, is_complete, are_long }
    }

    pub(super) fn table(&self) -> SymbolTable<'_> {
        SymbolTable(&self.entries)
    }

    /// The symbol whose code starts at the least significant bit of `window`.
    #[inline(always)]
    pub(in crate::block) fn find(&self, window: u64) -> Symbol {
        self.table().find(window)
    }

    /// Whether some code has more raw bits than one load is sure to bring.
    pub(super) fn are_long(&self) -> bool {
        self.are_long
    }

    /// Whether there is no code at all.
    pub(in crate::block) fn is_empty(&self) -> bool {
        self.entries.iter().all(|symbol| symbol.code_bits() == 0)
    }

    /// Whether every bit string starts with a code.
    pub(in crate::block) fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// The share of the codes in the bits of the stream, in 256ths. A symbol has the share of the
    /// entries that its code length gives it, which is about how often it occurs.
    pub(in crate::block) fn code_share(&self) -> usize {
        let sum = |bits: fn(Symbol) -> usize| self.entries.iter().map(|&s| bits(s)).sum::<usize>();
        let (codes, raw) = (sum(Symbol::code_bits), sum(Symbol::raw_bits));
        (256 * codes).checked_div(codes + raw).unwrap_or(0)
    }
}

impl Symbol {
    /// Bits of the code; 0 where there is no code.
    #[inline(always)]
    pub(in crate::block) fn code_bits(self) -> usize {
        self.0 as usize & 0xFF
    }

    /// What is left of `window` behind the code, which is inside it.
    #[inline(always)]
    pub(super) fn skip_code(self, window: u64) -> u64 {
        window.wrapping_shr(self.0)
    }

    /// Bits that belong to the code.
    #[inline(always)]
    pub(in crate::block) fn raw_bits(self) -> usize {
        (self.0 >> 8) as usize & 0xFF
    }

    #[inline(always)]
    pub(super) fn differs(self) -> u64 {
        u64::from(self.0 >> 24)
    }

    /// The raw bits, which are the most significant ones of `window`.
    #[inline(always)]
    pub(super) fn raw(self, window: u64) -> u64 {
        (window >> 1).wrapping_shr(self.0 >> 16)
    }

    /// The middle that follows `u`, by the codec `gap`.
    #[inline(always)]
    pub(in crate::block) fn after_gap(self, u: u64, raw: u64) -> u64 {
        u.wrapping_add(self.differs() << self.raw_bits() | raw)
    }

    /// The middle that follows `u`, by the codec `xor`.
    #[inline(always)]
    pub(in crate::block) fn after_xor(self, u: u64, raw: u64) -> u64 {
        u & (u64::MAX << self.raw_bits()) | (self.differs() << self.raw_bits() | raw)
    }

    /// Other than 0 if the bit of `u` in which the codec `xor` says that the next middle differs is
    /// 1, which cannot be [BLK-5].
    #[inline(always)]
    pub(in crate::block) fn contradiction(self, u: u64) -> u64 {
        u >> self.raw_bits() & self.differs()
    }
}
