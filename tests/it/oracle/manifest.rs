//! The manifest (section 3).

use super::{Checked, Fields, all_zero, crc, require, require_crc, require_equal, support};

/// The STORE and SEGMENT sections.
pub struct Manifest {
    pub planned_radius: u16,
    pub next_segment: u64,
    pub segments: Vec<SegmentEntry>,
    pub id_map: Option<IdMapEntry>,
}

/// An ID_MAP payload.
#[derive(Clone, Copy, Debug)]
pub struct IdMapEntry {
    pub string_count: u64,
    pub file_bytes: u64,
    pub footer_crc: u32,
}

/// A SEGMENT payload.
pub struct SegmentEntry {
    pub number: u64,
    pub count: u64,
    pub set_sum: u128,
    pub tables: Vec<TableEntry>,
    pub ids: Option<IdsEntry>,
}

/// An IDS payload.
pub struct IdsEntry {
    pub file_bytes: u64,
    pub header_crc: u32,
    pub directory_crc: u32,
}

pub struct TableEntry {
    pub file_bytes: u64,
    pub header_crc: u32,
    pub footer_crc: u32,
}

/// Reads a manifest and checks [MAN-1] to [SEG-4], [IDS-1], [IDS-2] and [MAP-1] to [MAP-2].
pub fn read_manifest(file: &[u8]) -> Checked<Manifest> {
    let sections = read_sections(file)?;
    let first_is_store = sections.first().is_some_and(|section| section.kind == STORE);
    let stores = sections.iter().filter(|section| section.kind == STORE).count();
    require(first_is_store && stores == 1, "MAN-14", || {
        format!("{stores} STORE sections, first section is STORE: {first_is_store}")
    })?;
    let segments: Vec<&[u8]> = sections
        .iter()
        .filter(|section| section.kind == SEGMENT)
        .map(|section| section.payload)
        .collect();

    let payload = sections[0].payload;
    require_equal("STO-1", "payload_bytes", payload.len(), 16)?;
    let mut fields = Fields(payload);
    let (fingerprint_bits, planned_radius) = (fields.u16(), fields.u16());
    let (segment_count, next_segment) = (fields.u32(), fields.u64());
    support(fingerprint_bits == 64, "STO-2", || format!("fingerprint_bits is {fingerprint_bits}"))?;
    require(planned_radius <= 64, "STO-3", || format!("planned_radius is {planned_radius}"))?;
    require_equal("STO-4", "segment_count", segment_count as usize, segments.len())?;

    let mut entries: Vec<SegmentEntry> = Vec::new();
    let mut number_before = 0;
    for payload in segments {
        let segment = read_segment(payload, number_before, next_segment)?;
        number_before = segment.number;
        entries.push(segment);
    }
    let mut number_before = 0;
    for section in sections.iter().filter(|section| section.kind == IDS) {
        require_equal("IDS-1", "payload_bytes", section.payload.len(), 24)?;
        let mut fields = Fields(section.payload);
        let number = fields.u64();
        let segment = entries.iter_mut().find(|segment| segment.number == number);
        let segment = segment.filter(|_| number > number_before);
        require(segment.is_some(), "IDS-2", || format!("{number} after {number_before}"))?;
        let (file_bytes, header_crc, directory_crc) = (fields.u64(), fields.u32(), fields.u32());
        if let Some(segment) = segment {
            segment.ids = Some(IdsEntry { file_bytes, header_crc, directory_crc });
        }
        number_before = number;
    }
    let mut id_map = None;
    for section in sections.iter().filter(|section| section.kind == ID_MAP) {
        require_equal("MAP-1", "payload_bytes", section.payload.len(), 20)?;
        require(id_map.is_none(), "MAP-2", || "a second ID_MAP section".to_owned())?;
        let mut fields = Fields(section.payload);
        let (string_count, file_bytes, footer_crc) = (fields.u64(), fields.u64(), fields.u32());
        id_map = Some(IdMapEntry { string_count, file_bytes, footer_crc });
    }
    Ok(Manifest { planned_radius, next_segment, segments: entries, id_map })
}

const STORE: u32 = 1;
const SEGMENT: u32 = 2;
const IDS: u32 = 3;
const ID_MAP: u32 = 6;

struct Section<'a> {
    kind: u32,
    payload: &'a [u8],
}

/// [MAN-1] to [MAN-13]: all sections of known kind, and those to be skipped.
fn read_sections(file: &[u8]) -> Checked<Vec<Section<'_>>> {
    require(file.len() >= 32, "MAN-1", || format!("manifest of {} bytes", file.len()))?;
    let mut fields = Fields(&file[..32]);
    let magic = fields.bytes(8);
    let (major, _minor) = (fields.u16(), fields.u16());
    let (section_count, file_bytes) = (fields.u32(), fields.u64());
    let (reserved, header_crc) = (fields.u32(), fields.u32());
    require_equal("MAN-2", "magic", magic, b"\x89FPSM\r\n\x1A")?;
    require_crc("MAN-3", "header_crc", header_crc, crc(&[&file[..28]]))?;
    support(major == 1, "MAN-4", || format!("version_major is {major}"))?;
    support(reserved == 0, "MAN-5", || format!("reserved is {reserved:#x}"))?;
    require_equal("MAN-6", "file_bytes", file_bytes, file.len() as u64)?;

    let mut sections = Vec::new();
    let mut rest = &file[32..];
    for number in 1..=section_count {
        let (section, after) = read_section(rest, number)?;
        sections.push(section);
        rest = after;
    }
    require(rest.is_empty(), "MAN-7", || {
        format!("{} bytes after section {section_count}, the last", rest.len())
    })?;
    Ok(sections)
}

/// The section at the start of `bytes`, and what follows its padding.
fn read_section(bytes: &[u8], number: u32) -> Checked<(Section<'_>, &[u8])> {
    require(bytes.len() >= 24, "MAN-7", || format!("section {number}: its header is cut off"))?;
    let (header, body) = bytes.split_at(24);
    let mut fields = Fields(header);
    let (kind, flags) = (fields.u32(), fields.u32());
    let (payload_bytes, payload_crc, header_crc) = (fields.u64(), fields.u32(), fields.u32());
    let at = |what: &str| format!("section {number}: {what}");
    require_crc("MAN-8", &at("header_crc"), header_crc, crc(&[&header[..20]]))?;
    let padded = payload_bytes.checked_next_multiple_of(8);
    let inside = padded.is_some_and(|padded| padded <= body.len() as u64);
    require(inside, "MAN-7", || {
        at(&format!("payload_bytes is {payload_bytes}, with {} bytes left", body.len()))
    })?;
    let (body, after) = body.split_at(payload_bytes.next_multiple_of(8) as usize);
    let (payload, padding) = body.split_at(payload_bytes as usize);
    support(flags & 0xFFFE == 0, "MAN-9", || at(&format!("flags are {flags:#x}")))?;
    require_crc("MAN-10", &at("payload_crc"), payload_crc, crc(&[payload]))?;
    require(all_zero(padding), "MAN-11", || at(&format!("padding is {padding:x?}")))?;
    let critical = flags & 1 == 1;
    let must_be_critical = kind == STORE || kind == SEGMENT;
    let known = must_be_critical || kind == IDS || kind == ID_MAP;
    support(known || !critical, "MAN-12", || at(&format!("unknown critical kind {kind}")))?;
    require(!known || critical == must_be_critical, "MAN-13", || {
        at(&format!("kind {kind}, critical: {critical}"))
    })?;
    Ok((Section { kind, payload }, after))
}

fn read_segment(payload: &[u8], number_before: u64, next_segment: u64) -> Checked<SegmentEntry> {
    require(payload.len() >= 40, "SEG-1", || format!("payload_bytes is {}", payload.len()))?;
    let mut fields = Fields(payload);
    let (number, count, set_sum) = (fields.u64(), fields.u64(), fields.u128());
    let table_count = usize::from(fields.u16());
    let reserved = fields.bytes(6);
    require_equal("SEG-1", "payload_bytes", payload.len(), 40 + 16 * table_count)?;
    require((1..=256).contains(&table_count), "SEG-2", || format!("table_count is {table_count}"))?;
    support(all_zero(reserved), "SEG-3", || format!("reserved is {reserved:x?}"))?;
    require(number_before < number && number < next_segment, "SEG-4", || {
        format!("segment {number} after {number_before}, and next_segment is {next_segment}")
    })?;
    let mut entry = || TableEntry {
        file_bytes: fields.u64(),
        header_crc: fields.u32(),
        footer_crc: fields.u32(),
    };
    let tables = (0..table_count).map(|_| entry()).collect();
    Ok(SegmentEntry { number, count, set_sum, tables, ids: None })
}
