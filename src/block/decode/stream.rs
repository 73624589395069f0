//! The stream of a block: codes go from its start onward, raw bits from its end backward.
//!
//! ```text
//! | code 1 | code 2 | code 3 |  -->  zeros  <--  | raw bits 3 | raw bits 2 | raw bits 1 |
//!                            ^ codes             ^ raws end: the place behind key 3
//! ```
//!
//! Here are places in it, loads of bits, and what codes mean: their class, and how many raw bits
//! belong to it. Loads are memory-safe for any place: what lies outside of the bytes is 0.

use byteorder::{ByteOrder, LittleEndian as LE};

use crate::codec::huffman;
use crate::format::{Codec, Geometry, MAX_CODE_BITS};

/// Blocks that are decoded together.
pub(crate) const LANES: usize = 4;

/// A block that is being decoded.
pub(in crate::block) struct Lane<'a> {
    pub(in crate::block) column: &'a [u8],
    /// Room for its keys. The first one is there.
    pub(in crate::block) keys: &'a mut [u64],
    /// Where the next key begins; in the end, behind the last key.
    pub(in crate::block) place: Place,
}

/// A place in a stream, behind one of its keys.
#[derive(Clone, Copy, Debug)]
pub(in crate::block) struct Place {
    /// Where the next code begins, in bits.
    pub(in crate::block) codes: usize,
    /// Where the next raw bits end, in bits, less [`LOAD_BITS`] modulo 2^64: the load that brings
    /// them starts in the byte of this bit.
    pub(in crate::block) raws: usize,
    /// The middle of the key.
    pub(in crate::block) middle: u64,
}

impl Place {
    /// Before the second key of a block with the stream `start..end`, in bits.
    pub(in crate::block) fn new(start: usize, end: usize, middle: u64) -> Self {
        Self { codes: start, raws: end.wrapping_sub(LOAD_BITS), middle }
    }

    /// Where the next raw bits end, in bits. May wrap around in a stream that is broken.
    pub(in crate::block) fn raws_end(&self) -> usize {
        self.raws.wrapping_add(LOAD_BITS)
    }

    /// Whether codes and raw bits up to here have not run into each other, and the middle has its
    /// bits. Gaps add up, so one that leaves them shows in the last.
    #[inline(always)]
    pub(super) fn is_sound(&self, code: &Code) -> bool {
        // Even where each key takes as many bits as it can, none of the two leaves 62 bits.
        self.codes as isize <= self.raws_end() as isize
            && self.middle.leading_zeros() >= code.above_middle
    }
}

/// What the streams of all lanes stand in.
#[derive(Clone, Copy)]
pub(in crate::block) struct Streams<'a> {
    pub(in crate::block) code: &'a Code,
    /// What the blocks stand in.
    pub(in crate::block) bytes: &'a [u8],
    /// What will be decoded next, and is asked for meanwhile.
    pub(in crate::block) next: &'a [u8],
}

/// Bits that a load at any bit of a byte is sure to bring.
pub(in crate::block) const LOAD_BITS: usize = 57;
/// Codes that one load of codes is sure to bring: 5 times 11 bits.
pub(super) const LOADED_CODES: usize = 5;

/// At least 57 bits of the stream from bit `at` of `bytes` on, the first one least significant; 0
/// behind the end of `bytes`.
#[inline(always)]
pub(in crate::block) fn load(bytes: &[u8], at: usize) -> u64 {
    match bytes.get(at / 8..at / 8 + 8) {
        Some(word) => LE::read_u64(word) >> (at % 8),
        None => 0,
    }
}

/// The codes from bit `at` on, at least 57 bits, and a bit 1 in front that tells [`used`] how many
/// bits of them were shifted out.
#[inline(always)]
pub(super) fn window(bytes: &[u8], at: usize) -> u64 {
    load(bytes, at) | 1 << 63
}

/// How many bits were shifted out of a [`window`].
#[inline(always)]
pub(super) fn used(window: u64) -> usize {
    window.leading_zeros() as usize
}

/// At least 57 bits of the stream up to bit `end - LOAD_BITS = raws`, the last one most
/// significant; 0 outside of `bytes`.
#[inline(always)]
pub(super) fn load_back(bytes: &[u8], raws: usize) -> u64 {
    match bytes.get(raws / 8..raws / 8 + 8) {
        Some(word) => LE::read_u64(word) << (!raws % 8),
        None => 0,
    }
}

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

/// Joins middles with their low parts.
pub(super) trait Assemble: Copy {
    /// Joins the middles of all keys of a lane but the first, which stand in their places, with
    /// their low parts from so many planes.
    fn assemble(self, lane: &mut Lane<'_>, planes: usize);
}

/// Joins plane by plane.
#[derive(Clone, Copy)]
pub(super) struct Bytewise;

impl Assemble for Bytewise {
    #[inline]
    fn assemble(self, lane: &mut Lane<'_>, planes: usize) {
        let keys = &mut lane.keys[1..];
        if planes == 0 || keys.is_empty() {
            return;
        }
        for key in &mut *keys {
            *key <<= 8 * planes;
        }
        for (plane, bytes) in lane.column.chunks_exact(keys.len()).take(planes).enumerate() {
            for (key, byte) in keys.iter_mut().zip(bytes) {
                *key |= u64::from(*byte) << (8 * plane);
            }
        }
    }
}
