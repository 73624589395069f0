//! The mask of a key, and what takes its bits together without an instruction for that.

use crate::fingerprint::Fingerprint;

/// The ones of a mask.
#[derive(Clone, Debug)]
pub(crate) struct KeyMask<F> {
    pub(super) mask: F,
    /// For each byte of a fingerprint that has some of the bits, the most significant first.
    pub(super) bytes: Vec<KeyByte>,
}

/// What a byte of a fingerprint adds to a key.
#[derive(Clone, Debug)]
pub(super) struct KeyByte {
    /// Which byte, the most significant first.
    pub(super) number: usize,
    /// How many bits it adds, and for each of its values which ones.
    pub(super) bits: u32,
    pub(super) values: Box<[u8; 256]>,
}

impl<F: Fingerprint> KeyMask<F> {
    pub(super) fn new(mask: F) -> Self {
        let bytes = mask.to_be_bytes();
        let bytes = bytes.as_ref().iter().enumerate().filter(|(_, bits)| **bits != 0);
        let bytes = bytes.map(|(number, &bits)| KeyByte::new(number, bits));
        Self { mask, bytes: bytes.collect() }
    }
}

impl KeyByte {
    fn new(number: usize, mask: u8) -> Self {
        let value = |byte: u8| {
            let taken = (0..8).rev().filter(|bit| mask >> bit & 1 == 1);
            taken.fold(0, |value, bit| value << 1 | byte >> bit & 1)
        };
        let values = Box::new(std::array::from_fn(|byte| value(byte as u8)));
        Self { number, bits: mask.count_ones(), values }
    }
}
