//! Loads of bits from a stream: of codes onward from its start, of raw bits backward from its end.
//!
//! Memory-safe for any place: what lies outside of the bytes is 0.

use byteorder::{ByteOrder, LittleEndian as LE};

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
