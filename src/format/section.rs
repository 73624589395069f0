//! A section of the manifest: its header, and what readers and writers do with a kind that they do
//! not know (section 5.2 of the specification).

use std::ops::Range;

use byteorder::{ByteOrder, LittleEndian as LE};

use super::{Defect, pad8, section_header};
use crate::error::{Corruption, Unsupported};

/// Flag of a section that a reader must understand.
const CRITICAL: u32 = 1;
/// Flag of a section that a writer must understand before it edits the store.
const FOR_WRITERS: u32 = 2;
const RESERVED_FLAGS: u32 = 0xFFFC;
pub(super) const KIND_STORE: u32 = 1;
pub(super) const KIND_SEGMENT: u32 = 2;
pub(super) const KIND_LOG: u32 = 3;
pub(super) const KIND_LAYOUT: u32 = 4;
pub(super) const KIND_RECIPE: u32 = 5;

/// The flags of a section of known kind, without the unused ones.
pub(super) fn flags_of(kind: u32) -> Option<u32> {
    match kind {
        KIND_STORE | KIND_SEGMENT | KIND_LOG => Some(CRITICAL | FOR_WRITERS),
        KIND_RECIPE => Some(FOR_WRITERS),
        KIND_LAYOUT => Some(0),
        _ => None,
    }
}

/// A section of unknown kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UnknownSection {
    pub(super) kind: u32,
    pub(super) flags: u32,
    pub(super) payload: Vec<u8>,
}

impl UnknownSection {
    /// What users are told.
    pub(crate) fn skipped(&self) -> SkippedSection {
        let writers_must_know = self.flags & FOR_WRITERS != 0;
        SkippedSection { kind: self.kind, writers_must_know }
    }
}

/// A part of a store that this version of fpstore does not know and does not need: a section of the
/// manifest that a newer version wrote, told by [`Store::skipped_sections`].
///
/// [`Store::skipped_sections`]: crate::Store::skipped_sections
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SkippedSection {
    /// What it is, by a number of the format. Those from 2^31 on are for private use.
    pub kind: u32,
    /// Whether a program must know the kind before it edits the store: what it writes could
    /// contradict the section.
    pub writers_must_know: bool,
}

/// A section whose checksums are right.
pub(super) struct Section<'a> {
    pub(super) kind: u32,
    pub(super) flags: u32,
    pub(super) payload: &'a [u8],
    /// Offset of the payload.
    pub(super) at: usize,
}

impl Section<'_> {
    /// Checks that the payload has the length that this version gives it [MAN-10].
    pub(super) fn check_length(&self, bytes: usize, name: &'static str) -> Result<(), Defect> {
        match self.payload.len() == bytes {
            true => Ok(()),
            false => {
                Err(Defect::unsupported(self.at, Unsupported::PayloadLength { section: name }))
            }
        }
    }

    /// Checks reserved bytes of the payload, which is long enough [MAN-11].
    pub(super) fn check_reserved(
        &self,
        reserved: Range<usize>,
        of: &'static str,
    ) -> Result<(), Defect> {
        let used = self.payload[reserved.clone()].iter().any(|&byte| byte != 0);
        match used {
            true => {
                Err(Defect::unsupported(self.at + reserved.start, Unsupported::Reserved { of }))
            }
            false => Ok(()),
        }
    }
}

/// Decodes the section at `at` and moves `at` behind it.
pub(super) fn decode_section<'a>(
    bytes: &'a [u8],
    section: u32,
    at: &mut usize,
) -> Result<Section<'a>, Defect> {
    let start = *at;
    let rest = &bytes[start..];
    let bounds = |needed: u64| {
        let corruption = Corruption::SectionBounds { section, needed, left: rest.len() as u64 };
        Defect::corrupt(start, corruption)
    };
    let header =
        rest.get(..section_header::END).ok_or_else(|| bounds(section_header::END as u64))?;
    let found = LE::read_u32(&header[section_header::HEADER_CRC]);
    let computed = crc32fast::hash(&header[..section_header::HEADER_CRC.start]);
    if found != computed {
        let corruption = Corruption::SectionHeaderChecksum { section, found, computed };
        return Err(Defect::corrupt(start + section_header::HEADER_CRC.start, corruption));
    }
    let stated = LE::read_u64(&header[section_header::PAYLOAD_BYTES]);
    let payload_bytes = usize::try_from(stated)
        .ok()
        .filter(|&n| n <= rest.len() && section_header::END + pad8(n) <= rest.len())
        .ok_or_else(|| bounds(stated.saturating_add(section_header::END as u64)))?;
    let flags = LE::read_u32(&header[section_header::FLAGS]);
    if flags & RESERVED_FLAGS != 0 {
        let offset = start + section_header::FLAGS.start;
        return Err(Defect::unsupported(offset, Unsupported::SectionFlags { section, flags }));
    }
    let (payload, tail) = rest[section_header::END..].split_at(payload_bytes);
    let found = LE::read_u32(&header[section_header::PAYLOAD_CRC]);
    let computed = crc32fast::hash(payload);
    if found != computed {
        let corruption = Corruption::SectionChecksum { section, found, computed };
        return Err(Defect::corrupt(start + section_header::END, corruption));
    }
    let padding = pad8(payload_bytes) - payload_bytes;
    *at = start + section_header::END + payload_bytes + padding;
    if tail[..padding].iter().any(|&b| b != 0) {
        return Err(Defect::corrupt(*at - padding, Corruption::SectionPadding { section }));
    }
    let kind = LE::read_u32(&header[section_header::KIND]);
    let must_be = flags_of(kind);
    if must_be.is_none() && flags & CRITICAL != 0 {
        let feature = Unsupported::CriticalSection { section, kind };
        return Err(Defect::unsupported(start, feature));
    }
    let found = flags & (CRITICAL | FOR_WRITERS);
    if let Some(expected) = must_be.filter(|&expected| expected != found) {
        let corruption = Corruption::SectionFlags { section, kind, found, expected };
        return Err(Defect::corrupt(start, corruption));
    }
    Ok(Section { kind, flags, payload, at: start + section_header::END })
}

/// Appends a section of known kind: header, payload, padding.
pub(super) fn push_section(bytes: &mut Vec<u8>, kind: u32, payload: &[u8]) {
    push_section_with(bytes, (kind, flags_of(kind).unwrap_or(0)), payload);
}

/// Appends a section of any kind.
pub(super) fn push_section_with(bytes: &mut Vec<u8>, (kind, flags): (u32, u32), payload: &[u8]) {
    let mut header = [0; section_header::END];
    LE::write_u32(&mut header[section_header::KIND], kind);
    LE::write_u32(&mut header[section_header::FLAGS], flags);
    LE::write_u64(&mut header[section_header::PAYLOAD_BYTES], payload.len() as u64);
    LE::write_u32(&mut header[section_header::PAYLOAD_CRC], crc32fast::hash(payload));
    let crc = crc32fast::hash(&header[..section_header::HEADER_CRC.start]);
    LE::write_u32(&mut header[section_header::HEADER_CRC], crc);
    bytes.extend_from_slice(&header);
    bytes.extend_from_slice(payload);
    bytes.resize(pad8(bytes.len()), 0);
}
