//! The manifest: what belongs to a store (section 3 of the specification).

use byteorder::{ByteOrder, LittleEndian as LE};

use super::{
    Defect, FileKind, IdMapTag, id_map_section, ids_section, manifest_header, pad8, section_header,
    segment_section, store_section, table_entry,
};
use crate::error::{Corruption, Unsupported};

const FILE: FileKind = FileKind {
    name: "manifest",
    magic: *b"\x89FPSM\r\n\x1a",
    header_bytes: manifest_header::END,
    fields_end: Some(manifest_header::SECTION_COUNT.end),
};
/// Flag of a section that a reader must understand.
const CRITICAL: u32 = 1;
/// Flag of a section that a writer must understand before it edits the store.
const FOR_WRITERS: u32 = 2;
const RESERVED_FLAGS: u32 = 0xFFFC;
const KIND_STORE: u32 = 1;
const KIND_SEGMENT: u32 = 2;
const KIND_IDS: u32 = 3;
/// Set aside; a store that has either is not read.
const KIND_DELETIONS: u32 = 4;
const KIND_LOG: u32 = 5;
const KIND_ID_MAP: u32 = 6;

/// The flags of a section of known kind, without the unused ones.
fn flags_of(kind: u32) -> Option<u32> {
    match kind {
        KIND_STORE | KIND_SEGMENT => Some(CRITICAL | FOR_WRITERS),
        KIND_IDS | KIND_ID_MAP => Some(FOR_WRITERS),
        _ => None,
    }
}

/// A decoded manifest.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Manifest {
    /// The radius that the store was planned for.
    pub(crate) radius: u16,
    /// The number of the next segment.
    pub(crate) next_segment: u64,
    /// Which store this is, in all its generations.
    pub(crate) store_id: u128,
    /// How many manifests the store has had, with this one.
    pub(crate) generation: u64,
    /// The segments, by ascending number.
    pub(crate) segments: Vec<SegmentEntry>,
    /// The map of the ids, where they are the numbers of strings.
    pub(crate) id_map: Option<IdMapTag>,
    /// Sections that were skipped. They are not encoded.
    pub(crate) skipped: Vec<SkippedSection>,
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
    /// Whether a program must know the kind before it edits the store: what it writes could contradict
    /// the section.
    pub writers_must_know: bool,
}

/// A segment as the manifest describes it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SegmentEntry {
    pub(crate) number: u64,
    pub(crate) count: u64,
    pub(crate) set_sum: u128,
    pub(crate) tables: Vec<TableEntry>,
    /// The ids, of a segment that has them.
    pub(crate) ids: Option<IdsEntry>,
}

/// An ids file as the manifest describes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct IdsEntry {
    pub(crate) file_bytes: u64,
    pub(crate) header_crc: u32,
    pub(crate) directory_crc: u32,
}

/// A table file as the manifest describes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TableEntry {
    pub(crate) file_bytes: u64,
    pub(crate) header_crc: u32,
    pub(crate) footer_crc: u32,
}

impl Manifest {
    /// The bytes of the manifest.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![0; manifest_header::END];
        let mut store = [0; store_section::END];
        LE::write_u16(&mut store[store_section::FINGERPRINT_BITS], 64);
        LE::write_u16(&mut store[store_section::PLANNED_RADIUS], self.radius);
        LE::write_u32(&mut store[store_section::SEGMENT_COUNT], self.segments.len() as u32);
        LE::write_u64(&mut store[store_section::NEXT_SEGMENT], self.next_segment);
        LE::write_u128(&mut store[store_section::STORE_ID], self.store_id);
        LE::write_u64(&mut store[store_section::GENERATION], self.generation);
        push_section(&mut bytes, KIND_STORE, &store);
        let mut sections = 1;
        for segment in &self.segments {
            push_section(&mut bytes, KIND_SEGMENT, &segment.encode());
            sections += 1;
        }
        for segment in &self.segments {
            if let Some(ids) = &segment.ids {
                push_section(&mut bytes, KIND_IDS, &ids.encode(segment.number));
                sections += 1;
            }
        }
        if let Some(id_map) = &self.id_map {
            push_section(&mut bytes, KIND_ID_MAP, &id_map.encode());
            sections += 1;
        }
        let file_bytes = bytes.len() as u64;
        let header = &mut bytes[..manifest_header::END];
        LE::write_u64(&mut header[manifest_header::FILE_BYTES], file_bytes);
        LE::write_u32(&mut header[manifest_header::SECTION_COUNT], sections);
        FILE.seal(header);
        bytes
    }

    /// Whether `bytes` start as a manifest does.
    pub(crate) fn has_magic(bytes: &[u8]) -> bool {
        bytes.starts_with(&FILE.magic)
    }

    /// Decodes and checks a manifest.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Defect> {
        let sections = decode_sections(bytes)?;
        let Some((store, rest)) =
            sections.split_first().filter(|(first, _)| first.kind == KIND_STORE)
        else {
            let corruption = Corruption::StoreSection { section: 0 };
            return Err(Defect::corrupt(manifest_header::END, corruption));
        };
        if let Some(second) = rest.iter().position(|section| section.kind == KIND_STORE) {
            let corruption = Corruption::StoreSection { section: second as u32 + 1 };
            return Err(Defect::corrupt(rest[second].at, corruption));
        }
        let segments = rest.iter().filter(|section| section.kind == KIND_SEGMENT);
        let store = StoreFields::decode(store, segments.clone().count() as u32)?;
        let mut entries: Vec<SegmentEntry> = Vec::new();
        for section in segments {
            let after = entries.last().map_or(0, |entry| entry.number);
            entries.push(SegmentEntry::decode(section, after, store.next_segment)?);
        }
        let mut after = 0;
        for section in rest.iter().filter(|section| section.kind == KIND_IDS) {
            after = IdsEntry::decode(section, after, &mut entries)?;
        }
        let mut id_map = None;
        for section in rest.iter().filter(|section| section.kind == KIND_ID_MAP) {
            let tag = IdMapTag::decode(section)?;
            if id_map.replace(tag).is_some() {
                return Err(Defect::corrupt(section.at, Corruption::IdMapTwice));
            }
            section.check_tail(id_map_section::END, "ID_MAP")?;
        }
        let skipped = rest.iter().filter(|section| flags_of(section.kind).is_none());
        let skipped = skipped.map(|section| SkippedSection {
            kind: section.kind,
            writers_must_know: section.flags & FOR_WRITERS != 0,
        });
        Ok(Self {
            radius: store.radius,
            next_segment: store.next_segment,
            store_id: store.store_id,
            generation: store.generation,
            segments: entries,
            id_map,
            skipped: skipped.collect(),
        })
    }
}

/// A section whose checksums are right.
struct Section<'a> {
    kind: u32,
    flags: u32,
    payload: &'a [u8],
    /// Offset of the payload.
    at: usize,
}

impl Section<'_> {
    /// Checks the tail of the payload, behind its fields [MAN-10].
    fn check_tail(&self, from: usize, name: &'static str) -> Result<(), Defect> {
        match self.payload.iter().skip(from).position(|&byte| byte != 0) {
            Some(place) => {
                let feature = Unsupported::PayloadTail { section: name };
                Err(Defect::unsupported(self.at + from + place, feature))
            }
            None => Ok(()),
        }
    }
}

impl SegmentEntry {
    fn encode(&self) -> Vec<u8> {
        let mut payload = vec![0; segment_section::END + table_entry::END * self.tables.len()];
        LE::write_u64(&mut payload[segment_section::SEGMENT_NUMBER], self.number);
        LE::write_u64(&mut payload[segment_section::COUNT], self.count);
        LE::write_u128(&mut payload[segment_section::SET_SUM], self.set_sum);
        LE::write_u16(&mut payload[segment_section::TABLE_COUNT], self.tables.len() as u16);
        LE::write_u16(&mut payload[segment_section::ENTRY_BYTES], table_entry::END as u16);
        let entries = payload[segment_section::END..].chunks_exact_mut(table_entry::END);
        for (entry, table) in entries.zip(&self.tables) {
            LE::write_u64(&mut entry[table_entry::FILE_BYTES], table.file_bytes);
            LE::write_u32(&mut entry[table_entry::HEADER_CRC], table.header_crc);
            LE::write_u32(&mut entry[table_entry::FOOTER_CRC], table.footer_crc);
        }
        payload
    }

    /// Decodes a segment that stands behind segment `after`.
    fn decode(section: &Section<'_>, after: u64, next_segment: u64) -> Result<Self, Defect> {
        let Section { payload, at, .. } = *section;
        let short = |expected: usize| {
            let corruption = Corruption::SegmentLength {
                found: payload.len() as u64,
                expected: expected as u64,
            };
            Defect::corrupt(at, corruption)
        };
        if payload.len() < segment_section::END {
            return Err(short(segment_section::END));
        }
        let found = LE::read_u16(&payload[segment_section::TABLE_COUNT]);
        let entry_bytes = LE::read_u16(&payload[segment_section::ENTRY_BYTES]);
        let end = segment_section::END + usize::from(entry_bytes) * usize::from(found);
        if payload.len() < end {
            return Err(short(end));
        }
        if !(1..=256).contains(&found) {
            let offset = at + segment_section::TABLE_COUNT.start;
            return Err(Defect::corrupt(offset, Corruption::TableCount { found }));
        }
        if payload[segment_section::RESERVED].iter().any(|&b| b != 0) {
            let offset = at + segment_section::RESERVED.start;
            return Err(Defect::unsupported(offset, Unsupported::SegmentReserved));
        }
        let number = LE::read_u64(&payload[segment_section::SEGMENT_NUMBER]);
        if number <= after || number >= next_segment {
            let corruption =
                Corruption::SegmentNumber { found: number, after, below: next_segment };
            return Err(Defect::corrupt(at, corruption));
        }
        if usize::from(entry_bytes) < table_entry::END || entry_bytes % 8 != 0 {
            let offset = at + segment_section::ENTRY_BYTES.start;
            return Err(Defect::corrupt(offset, Corruption::EntryBytes { found: entry_bytes }));
        }
        let entries = payload[segment_section::END..end].chunks_exact(entry_bytes.into());
        if entries.clone().any(|entry| entry[table_entry::END..].iter().any(|&byte| byte != 0)) {
            let feature = Unsupported::PayloadTail { section: "SEGMENT" };
            return Err(Defect::unsupported(at + segment_section::END, feature));
        }
        section.check_tail(end, "SEGMENT")?;
        let tables = entries
            .map(|entry| TableEntry {
                file_bytes: LE::read_u64(&entry[table_entry::FILE_BYTES]),
                header_crc: LE::read_u32(&entry[table_entry::HEADER_CRC]),
                footer_crc: LE::read_u32(&entry[table_entry::FOOTER_CRC]),
            })
            .collect();
        Ok(Self {
            number,
            count: LE::read_u64(&payload[segment_section::COUNT]),
            set_sum: LE::read_u128(&payload[segment_section::SET_SUM]),
            tables,
            ids: None,
        })
    }
}

impl IdsEntry {
    fn encode(&self, segment: u64) -> [u8; ids_section::END] {
        let mut payload = [0; ids_section::END];
        LE::write_u64(&mut payload[ids_section::SEGMENT_NUMBER], segment);
        LE::write_u64(&mut payload[ids_section::FILE_BYTES], self.file_bytes);
        LE::write_u32(&mut payload[ids_section::HEADER_CRC], self.header_crc);
        LE::write_u32(&mut payload[ids_section::DIRECTORY_CRC], self.directory_crc);
        payload
    }

    /// Decodes the ids of a segment behind segment `after`, and gives them to it. Gives its number.
    fn decode(
        section: &Section<'_>,
        after: u64,
        segments: &mut [SegmentEntry],
    ) -> Result<u64, Defect> {
        let Section { payload, at, .. } = *section;
        if payload.len() < ids_section::END {
            let (found, expected) = (payload.len() as u64, ids_section::END as u64);
            return Err(Defect::corrupt(at, Corruption::IdsSectionLength { found, expected }));
        }
        let found = LE::read_u64(&payload[ids_section::SEGMENT_NUMBER]);
        // [SEG-4]: they ascend.
        let segment = segments.binary_search_by_key(&found, |segment| segment.number);
        let Some(segment) = segment.ok().filter(|_| found > after) else {
            return Err(Defect::corrupt(at, Corruption::IdsSegment { found, after }));
        };
        section.check_tail(ids_section::END, "IDS")?;
        segments[segment].ids = Some(Self {
            file_bytes: LE::read_u64(&payload[ids_section::FILE_BYTES]),
            header_crc: LE::read_u32(&payload[ids_section::HEADER_CRC]),
            directory_crc: LE::read_u32(&payload[ids_section::DIRECTORY_CRC]),
        });
        Ok(found)
    }
}

impl IdMapTag {
    fn encode(&self) -> [u8; id_map_section::END] {
        let mut payload = [0; id_map_section::END];
        LE::write_u64(&mut payload[id_map_section::STRING_COUNT], self.string_count);
        LE::write_u64(&mut payload[id_map_section::FILE_BYTES], self.file_bytes);
        LE::write_u32(&mut payload[id_map_section::FOOTER_CRC], self.footer_crc);
        payload
    }

    fn decode(section: &Section<'_>) -> Result<Self, Defect> {
        let Section { payload, at, .. } = *section;
        if payload.len() < id_map_section::END {
            let (found, expected) = (payload.len() as u64, id_map_section::END as u64);
            return Err(Defect::corrupt(at, Corruption::IdMapSectionLength { found, expected }));
        }
        Ok(Self {
            string_count: LE::read_u64(&payload[id_map_section::STRING_COUNT]),
            file_bytes: LE::read_u64(&payload[id_map_section::FILE_BYTES]),
            footer_crc: LE::read_u32(&payload[id_map_section::FOOTER_CRC]),
        })
    }
}

/// Decodes all sections of known kind, and those to be skipped; checks that they fill the file.
fn decode_sections(bytes: &[u8]) -> Result<Vec<Section<'_>>, Defect> {
    let (header, _) = FILE.header(bytes)?;
    let stated = LE::read_u64(&header[manifest_header::FILE_BYTES]);
    if stated != bytes.len() as u64 {
        let corruption = Corruption::ManifestLength { stated, found: bytes.len() as u64 };
        return Err(Defect::corrupt(manifest_header::FILE_BYTES.start, corruption));
    }
    let section_count = LE::read_u32(&header[manifest_header::SECTION_COUNT]);
    let mut sections = Vec::new();
    let mut at = header.len();
    for section in 0..section_count {
        sections.push(decode_section(bytes, section, &mut at)?);
    }
    if at != bytes.len() {
        let left = (bytes.len() - at) as u64;
        let corruption = Corruption::SectionBounds { section: section_count, needed: 0, left };
        return Err(Defect::corrupt(at, corruption));
    }
    Ok(sections)
}

/// Decodes the section at `at` and moves `at` behind it.
fn decode_section<'a>(
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
    let set_aside = [KIND_DELETIONS, KIND_LOG].contains(&kind);
    let must_be = flags_of(kind);
    if set_aside || (must_be.is_none() && flags & CRITICAL != 0) {
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

/// The STORE payload.
struct StoreFields {
    radius: u16,
    next_segment: u64,
    store_id: u128,
    generation: u64,
}

impl StoreFields {
    /// Decodes the STORE payload of a manifest with `segments` segments.
    fn decode(section: &Section<'_>, segments: u32) -> Result<Self, Defect> {
        let Section { payload, at, .. } = *section;
        if payload.len() < store_section::END {
            let corruption = Corruption::StoreLength {
                found: payload.len() as u64,
                expected: store_section::END as u64,
            };
            return Err(Defect::corrupt(at, corruption));
        }
        let found = LE::read_u16(&payload[store_section::FINGERPRINT_BITS]);
        if found != 64 {
            return Err(Defect::unsupported(at, Unsupported::StoreFingerprintBits { found }));
        }
        let radius = LE::read_u16(&payload[store_section::PLANNED_RADIUS]);
        if radius > 64 {
            let offset = at + store_section::PLANNED_RADIUS.start;
            return Err(Defect::corrupt(offset, Corruption::PlannedRadius { found: radius }));
        }
        let stated = LE::read_u32(&payload[store_section::SEGMENT_COUNT]);
        if stated != segments {
            let offset = at + store_section::SEGMENT_COUNT.start;
            return Err(Defect::corrupt(
                offset,
                Corruption::SegmentCount { stated, found: segments },
            ));
        }
        let generation = LE::read_u64(&payload[store_section::GENERATION]);
        if generation == 0 {
            let offset = at + store_section::GENERATION.start;
            return Err(Defect::corrupt(offset, Corruption::Generation));
        }
        section.check_tail(store_section::END, "STORE")?;
        let next_segment = LE::read_u64(&payload[store_section::NEXT_SEGMENT]);
        let store_id = LE::read_u128(&payload[store_section::STORE_ID]);
        Ok(Self { radius, next_segment, store_id, generation })
    }
}

/// Appends a section: header, payload, padding.
fn push_section(bytes: &mut Vec<u8>, kind: u32, payload: &[u8]) {
    let mut header = [0; section_header::END];
    LE::write_u32(&mut header[section_header::KIND], kind);
    LE::write_u32(&mut header[section_header::FLAGS], flags_of(kind).unwrap_or(0));
    LE::write_u64(&mut header[section_header::PAYLOAD_BYTES], payload.len() as u64);
    LE::write_u32(&mut header[section_header::PAYLOAD_CRC], crc32fast::hash(payload));
    let crc = crc32fast::hash(&header[..section_header::HEADER_CRC.start]);
    LE::write_u32(&mut header[section_header::HEADER_CRC], crc);
    bytes.extend_from_slice(&header);
    bytes.extend_from_slice(payload);
    bytes.resize(pad8(bytes.len()), 0);
}
