//! Id maps: the strings whose numbers are the ids of a store, in a file of their own.
//!
//! The format is that of `format-spec/ID-MAP.md`, to whose rules the tags refer. A map is written
//! front to back in constant memory, and a string is read by its number without the others.

mod error;
mod place;
mod reader;
#[cfg(test)]
mod tests;
mod writer;

pub use error::MapError;
pub use place::{Announced, Place};
pub use reader::{IdMap, MapReader};
pub use writer::MapWriter;

use std::ops::Range;

const MAGIC: [u8; 8] = *b"\x89FPSN\r\n\x1a";
const VERSION_MAJOR: u16 = 1;
const VERSION_MINOR: u16 = 0;

/// Strings of a group.
pub const GROUP_STRINGS: u64 = 64;
/// Groups of a page.
const PAGE_GROUPS: u64 = 512;

/// Section 1.1. A header may be longer; its CRC always stands at its end.
mod header {
    use super::Range;
    pub const MAGIC: Range<usize> = 0..8;
    pub const VERSION_MAJOR: Range<usize> = 8..10;
    pub const VERSION_MINOR: Range<usize> = 10..12;
    pub const HEADER_BYTES: Range<usize> = 12..16;
    pub const RESERVED: Range<usize> = 16..20;
    pub const CRC: Range<usize> = 20..24;
    pub const END: usize = 24;
}

/// Section 1.2.
mod footer {
    use super::Range;
    pub const STRING_COUNT: Range<usize> = 0..8;
    pub const TEXT_BYTES: Range<usize> = 8..16;
    pub const DIRECTORY_CRC: Range<usize> = 16..20;
    pub const CRC: Range<usize> = 20..24;
    pub const END: usize = 24;
}

/// Sections 1.3 and 1.4: where something ends, and a CRC.
pub const ENTRY_BYTES: usize = 12;

fn entry(end: u64, crc: u32) -> [u8; ENTRY_BYTES] {
    let mut bytes = [0; ENTRY_BYTES];
    bytes[..8].copy_from_slice(&end.to_le_bytes());
    bytes[8..].copy_from_slice(&crc.to_le_bytes());
    bytes
}

/// The entries of a directory or of an index.
fn entries(bytes: &[u8]) -> impl Iterator<Item = (u64, u32)> {
    bytes.chunks_exact(ENTRY_BYTES).map(|entry| (u64_at(entry, 0..8), u32_at(entry, 8..12)))
}

/// The CRC of page or group `number`.
fn numbered_crc(number: u64, bytes: &[u8]) -> u32 {
    crc(&[&number.to_le_bytes(), bytes])
}

/// The CRC of a concatenation.
fn crc(parts: &[&[u8]]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    parts.iter().for_each(|part| hasher.update(part));
    hasher.finalize()
}

/// An integer of 8 bytes; 0 where the range has fewer.
fn u64_at(bytes: &[u8], range: Range<usize>) -> u64 {
    bytes[range].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// An integer of 4 bytes; 0 where the range has fewer.
fn u32_at(bytes: &[u8], range: Range<usize>) -> u32 {
    bytes[range].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}
