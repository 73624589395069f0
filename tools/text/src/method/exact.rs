//! The whole text, hashed: XXH3-64, XXH3-128, or the first bits of SHA-256.
//!
//! Where some bytes of a document were no UTF-8, its bytes are hashed as they are, since what was
//! replaced is lost in the text. No text can have the same bytes.

use sha2::{Digest, Sha256};
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use crate::fingerprint::{Fingerprint, Width};
use crate::recipe::TextHash;

/// What is hashed of a document whose text is `text`.
pub(crate) fn hashed<'a>(document: &'a [u8], text: &'a str, invalid: u64) -> &'a [u8] {
    if invalid > 0 { document } else { text.as_bytes() }
}

/// The hash by which documents with too few features are compared.
pub(crate) fn hash(bytes: &[u8]) -> u128 {
    xxh3_128(bytes)
}

/// The fingerprint of a whole text.
pub(crate) fn fingerprint(bytes: &[u8], width: Width, hash: TextHash) -> Option<Fingerprint> {
    match (hash, width) {
        (TextHash::Xxh3, Width::W64) => Some(xxh3_64(bytes).into()),
        (TextHash::Xxh3, _) => Some(xxh3_128(bytes).into()),
        (TextHash::Sha256, width) => {
            let digest: [u8; 32] = Sha256::digest(bytes).into();
            let (chunks, _) = digest[..width.bits() as usize / 8].as_chunks::<8>();
            let limbs: Vec<u64> =
                chunks.iter().rev().map(|chunk| u64::from_be_bytes(*chunk)).collect();
            Fingerprint::from_limbs(&limbs)
        }
    }
}
