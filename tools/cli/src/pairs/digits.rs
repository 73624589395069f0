//! Fingerprints in the digits of rows, as `join` writes them.

use fpstore::Fingerprint;
use fpstore_records::full_hex;

/// The fingerprint of all of its digits, in lower case.
pub fn digits<F: Fingerprint>(text: &[u8]) -> Option<F> {
    let is_own = text.len() == full_digits::<F>() && !text.iter().any(u8::is_ascii_uppercase);
    is_own.then(|| full_hex(text)).flatten()
}

/// Digits of a fingerprint.
pub const fn full_digits<F: Fingerprint>() -> usize {
    F::BITS as usize / 4
}

/// Bits of the fingerprint that a text is all the digits of.
pub fn told_bits(text: &[u8]) -> Option<u32> {
    match text.len() {
        8 => digits::<u32>(text).map(|_| 32),
        16 => digits::<u64>(text).map(|_| 64),
        32 => digits::<u128>(text).map(|_| 128),
        64 => digits::<[u64; 4]>(text).map(|_| 256),
        _ => None,
    }
}
