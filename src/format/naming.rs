//! The NAMES section: what ids are, where they are no numbers, and the list of each segment
//! (section 3.6 of the specification).

use byteorder::{ByteOrder, LittleEndian as LE};

use super::living::Entries;
use super::section::Section;
use super::{Defect, NamesEntry, SegmentEntry, names_entry, names_section};
use crate::error::{Corruption, Unsupported};
use crate::id::IdKind;

const TEXT: u16 = 1;
const UUID: u16 = 2;
const NUMBER_128: u16 = 3;
const BYTES: u16 = 4;

/// The payload for a store with names of this kind.
pub(super) fn encode_names(kind: IdKind, segments: &[SegmentEntry]) -> Vec<u8> {
    let named: Vec<_> =
        segments.iter().filter_map(|at| Some((at.number, at.names.as_ref()?))).collect();
    let mut payload = vec![0; names_section::END + names_entry::END * named.len()];
    let (code, width) = match kind {
        // A store of numbers has no such section.
        IdKind::Number | IdKind::Text => (TEXT, 0),
        IdKind::Uuid => (UUID, 16),
        IdKind::Number128 => (NUMBER_128, 16),
        IdKind::Bytes(width) => (BYTES, width),
    };
    LE::write_u16(&mut payload[names_section::NAME_KIND], code);
    LE::write_u16(&mut payload[names_section::NAME_BYTES], width);
    LE::write_u32(&mut payload[names_section::ENTRY_COUNT], named.len() as u32);
    LE::write_u16(&mut payload[names_section::ENTRY_BYTES], names_entry::END as u16);
    let places = payload[names_section::END..].chunks_exact_mut(names_entry::END);
    for (place, (segment, entry)) in places.zip(named) {
        LE::write_u64(&mut place[names_entry::SEGMENT_NUMBER], segment);
        LE::write_u64(&mut place[names_entry::FILE_BYTES], entry.file_bytes);
        LE::write_u32(&mut place[names_entry::HEADER_CRC], entry.header_crc);
        LE::write_u32(&mut place[names_entry::DIRECTORY_CRC], entry.directory_crc);
    }
    payload
}

/// Decodes the section of a store with these segments, whose ids are known, and gives them their
/// lists.
pub(super) fn decode_names(
    section: &Section<'_>,
    before: Option<IdKind>,
    segments: &mut [SegmentEntry],
) -> Result<IdKind, Defect> {
    let Section { payload, at, .. } = *section;
    let fields = [names_section::ENTRY_COUNT, names_section::ENTRY_BYTES];
    let layout = (names_section::END, names_entry::END);
    let decoded = Entries::decode(section, "NAMES", fields, layout)?;
    if before.is_some() {
        return Err(Defect::corrupt(at, Corruption::NamesTwice));
    }
    let code = LE::read_u16(&payload[names_section::NAME_KIND]);
    let width = LE::read_u16(&payload[names_section::NAME_BYTES]);
    let is_reserved = payload[names_section::RESERVED].iter().any(|&byte| byte != 0);
    let kind = match code {
        TEXT => IdKind::Text,
        UUID => IdKind::Uuid,
        NUMBER_128 => IdKind::Number128,
        BYTES => IdKind::Bytes(width),
        _ => return Err(Defect::unsupported(at, Unsupported::NameKind { found: code })),
    };
    if is_reserved {
        let at = at + names_section::RESERVED.start;
        return Err(Defect::unsupported(at, Unsupported::NamesSectionReserved));
    }
    if usize::from(width) != kind.width().unwrap_or(0) || kind == IdKind::Bytes(0) {
        let at = at + names_section::NAME_BYTES.start;
        return Err(Defect::corrupt(at, Corruption::NameBytes { kind: code, found: width }));
    }
    let numbers =
        decoded.entries.iter().map(|entry| LE::read_u64(&entry[names_entry::SEGMENT_NUMBER]));
    let with_ids = segments.iter().filter(|segment| segment.ids.is_some());
    if !numbers.eq(with_ids.map(|segment| segment.number)) {
        return Err(Defect::corrupt(at, Corruption::NamesOfSegments));
    }
    decoded.check_tails(section)?;
    let with_ids = segments.iter_mut().filter(|segment| segment.ids.is_some());
    for (segment, entry) in with_ids.zip(&decoded.entries) {
        segment.names = Some(NamesEntry {
            file_bytes: LE::read_u64(&entry[names_entry::FILE_BYTES]),
            header_crc: LE::read_u32(&entry[names_entry::HEADER_CRC]),
            directory_crc: LE::read_u32(&entry[names_entry::DIRECTORY_CRC]),
        });
    }
    Ok(kind)
}
