//! Fingerprints as bytes of an output, which are read again as they are.

use fpstore::Fingerprint;

/// Appends a fingerprint as it is printed everywhere: in all of its hexadecimal digits, lower-case.
pub fn push_hex<F: Fingerprint>(to: &mut Vec<u8>, fingerprint: F) {
    let digit = |value: u8| b"0123456789abcdef"[usize::from(value & 15)];
    let bytes = fingerprint.to_be_bytes();
    to.extend(bytes.as_ref().iter().flat_map(|&byte| [digit(byte >> 4), digit(byte)]));
}

/// Appends the words of a fingerprint as raw integers, the most significant first.
pub fn push_words<F: Fingerprint>(to: &mut Vec<u8>, fingerprint: F) {
    for word in fingerprint.to_be_bytes().as_ref().chunks(8) {
        to.extend(word.iter().rev());
    }
}

/// The same as a string.
pub fn hex<F: Fingerprint>(fingerprint: F) -> String {
    let mut digits = Vec::new();
    push_hex(&mut digits, fingerprint);
    String::from_utf8_lossy(&digits).into_owned()
}
