//! Words of ASCII, 64 bytes at a time.
//!
//! Each byte of a block becomes a bit in masks of letters, digits, and so on; the rules of
//! Unicode's word boundaries (UAX #29) for ASCII then are a few operations on 64 positions at once:
//!
//! ```text
//!   text       d o n ' t   p a y   3 . 5   . . .
//!   letters    1 1 1 0 1 0 1 1 1 0 0 0 0 0 0 0 0
//!   digits     0 0 0 0 0 0 0 0 0 0 1 0 1 0 0 0 0
//!   joins      0 0 0 1 0 0 0 0 0 0 0 1 0 0 0 0 0     MidLetter in letters, MidNum in digits
//!   word       1 1 1 1 1 0 1 1 1 0 1 1 1 0 0 0 0     all of them, and underscores
//!   edges      1 0 0 0 0 1 1 0 0 1 1 0 0 1 0 0 0     word ^ word shifted by one
//! ```
//!
//! Walking over the edges costs a branch for each word instead of one for each byte.

use super::sink::Sink;

const BLOCK: usize = 64;

/// What the bytes of a block are, a bit for each, the first the least significant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Masks {
    letters: u64,
    digits: u64,
    underscores: u64,
    // Between two letters these belong to the word: `:`, `.` and `'`.
    between_letters: u64,
    // And these between two digits: `,`, `;`, `.` and `'`.
    between_digits: u64,
}

/// Gives `sink` each word of `text`: what lies between two boundaries of UAX #29 and has a letter
/// or digit.
///
/// `text` must be ASCII; it stands at `offset` of the whole.
pub(super) fn words<S: Sink>(text: &[u8], offset: usize, sink: &mut S) {
    debug_assert!(text.is_ascii());
    if text.len() < 4 && !text.iter().any(u8::is_ascii_alphanumeric) {
        // Punctuation between ideographs.
        return;
    }
    let mut start = 0;
    let mut inside = 0;
    let mut before = Masks::default();
    let mut masks = masks_at(text, 0);
    for base in (0..text.len()).step_by(BLOCK) {
        let after = masks_at(text, base + BLOCK);
        let between = |kind: u64, before: u64, after: u64| {
            (kind << 1 | before >> 63) & (kind >> 1 | after << 63)
        };
        let word = masks.letters
            | masks.digits
            | masks.underscores
            | masks.between_letters & between(masks.letters, before.letters, after.letters)
            | masks.between_digits & between(masks.digits, before.digits, after.digits);
        let mut edges = word ^ (word << 1 | inside);
        if inside == 1 && edges != 0 {
            let end = base + edges.trailing_zeros() as usize;
            edges &= edges - 1;
            found(text, offset, (start, end), sink);
        }
        while edges != 0 {
            start = base + edges.trailing_zeros() as usize;
            edges &= edges - 1;
            if edges == 0 {
                break;
            }
            let end = base + edges.trailing_zeros() as usize;
            edges &= edges - 1;
            found(text, offset, (start, end), sink);
        }
        inside = word >> 63;
        before = masks;
        masks = after;
    }
    if inside == 1 {
        found(text, offset, (start, text.len()), sink);
    }
}

/// Gives `give` the letters and digits of `text`, which must be ASCII, and nothing else.
#[inline]
pub(crate) fn letters(text: &[u8], mut give: impl FnMut(u8)) {
    for base in (0..text.len()).step_by(BLOCK) {
        let masks = masks_at(text, base);
        let mut letters = masks.letters | masks.digits;
        while letters != 0 {
            give(text[base + letters.trailing_zeros() as usize]);
            letters &= letters - 1;
        }
    }
}

#[inline]
fn found<S: Sink>(text: &[u8], offset: usize, (start, end): (usize, usize), sink: &mut S) {
    let word = &text[start..end];
    // Underscores join words and are none.
    if word[0] != b'_' || word.iter().any(|byte| *byte != b'_') {
        sink.word(word, offset + start);
    }
}

#[inline]
fn masks_at(bytes: &[u8], at: usize) -> Masks {
    match bytes.get(at..).and_then(|rest| rest.first_chunk::<BLOCK>()) {
        Some(block) => masks(block),
        None if at >= bytes.len() => Masks::default(),
        None => {
            let mut block = [0; BLOCK];
            let rest = &bytes[at..];
            block[..rest.len()].copy_from_slice(rest);
            masks(&block)
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
use portable_masks as masks;

/// English runs 2.7 times as fast with this as byte by byte, and 1.25 times as fast as by
/// [`portable_masks`].
#[cfg(target_arch = "x86_64")]
#[inline]
fn masks(block: &[u8; BLOCK]) -> Masks {
    // SAFETY: Every x86-64 has SSE2.
    #[allow(unsafe_code)]
    unsafe {
        sse2_masks(block)
    }
}

/// The masks of a block, 8 bytes at a time in a register.
///
/// A byte below 0x80 carries into its own bit 7 when `0x80 - first` is added if it is at least
/// `first`; what is above `last` carries when `0x7f - last` is added. A product gathers the bits 7
/// of all bytes.
#[cfg_attr(target_arch = "x86_64", allow(dead_code, reason = "for other CPUs"))]
#[inline]
fn portable_masks(block: &[u8; BLOCK]) -> Masks {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let mut masks = Masks::default();
    let (lanes, _) = block.as_chunks::<8>();
    for (index, lane) in lanes.iter().enumerate() {
        let bytes = u64::from_le_bytes(*lane);
        let (low, ascii) = (bytes & (0x7f * EACH), !bytes & (0x80 * EACH));
        let within = |low: u64, first: u64, last: u64| {
            (low + (0x80 - first) * EACH) & !(low + (0x7f - last) * EACH) & ascii
        };
        let is = |byte: u8| within(low, u64::from(byte), u64::from(byte));
        let at = |bits: u64| ((bits >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * index);
        let both = is(b'.') | is(b'\'');
        masks.letters |= at(within(low | (0x20 * EACH), u64::from(b'a'), u64::from(b'z')));
        masks.digits |= at(within(low, u64::from(b'0'), u64::from(b'9')));
        masks.underscores |= at(is(b'_'));
        masks.between_letters |= at(both | is(b':'));
        masks.between_digits |= at(both | is(b',') | is(b';'));
    }
    masks
}

/// The masks of a block, 16 bytes at a time.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse2")]
#[inline]
fn sse2_masks(block: &[u8; BLOCK]) -> Masks {
    use core::arch::x86_64::{
        __m128i, _mm_cmpeq_epi8, _mm_min_epu8, _mm_movemask_epi8, _mm_or_si128, _mm_set1_epi8,
        _mm_sub_epi8,
    };
    let mut masks = Masks::default();
    let (lanes, _) = block.as_chunks::<16>();
    for (index, lane) in lanes.iter().enumerate() {
        let lane: __m128i = bytemuck::cast(*lane);
        let is = |byte: u8| _mm_cmpeq_epi8(lane, _mm_set1_epi8(byte as i8));
        // Whether `lane - first`, without sign, is at most `last - first`.
        let within = |lane, first: u8, last: u8| {
            let offset = _mm_sub_epi8(lane, _mm_set1_epi8(first as i8));
            _mm_cmpeq_epi8(_mm_min_epu8(offset, _mm_set1_epi8((last - first) as i8)), offset)
        };
        let at = |mask| u64::from(_mm_movemask_epi8(mask) as u16) << (16 * index);
        let both = _mm_or_si128(is(b'.'), is(b'\''));
        masks.letters |= at(within(_mm_or_si128(lane, _mm_set1_epi8(0x20)), b'a', b'z'));
        masks.digits |= at(within(lane, b'0', b'9'));
        masks.underscores |= at(is(b'_'));
        masks.between_letters |= at(_mm_or_si128(both, is(b':')));
        masks.between_digits |= at(_mm_or_si128(both, _mm_or_si128(is(b','), is(b';'))));
    }
    masks
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The masks of a block, byte by byte.
    fn plain_masks(block: &[u8; BLOCK]) -> Masks {
        let mut masks = Masks::default();
        for (index, byte) in block.iter().enumerate() {
            let at = |is: bool| u64::from(is) << index;
            masks.letters |= at(byte.is_ascii_alphabetic());
            masks.digits |= at(byte.is_ascii_digit());
            masks.underscores |= at(*byte == b'_');
            masks.between_letters |= at(matches!(byte, b':' | b'.' | b'\''));
            masks.between_digits |= at(matches!(byte, b',' | b';' | b'.' | b'\''));
        }
        masks
    }

    #[test]
    fn all_masks_see_what_single_bytes_are() {
        for first in 0..=255u8 {
            for step in [1, 3, 85] {
                let block = std::array::from_fn(|index| {
                    first.wrapping_add((index as u8).wrapping_mul(step))
                });
                assert_eq!(masks(&block), plain_masks(&block));
                assert_eq!(portable_masks(&block), plain_masks(&block));
            }
        }
    }
}
