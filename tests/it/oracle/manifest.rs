//! The manifest (section 3).

use super::living::{self, DeletionsEntry, LogEntry, WindowsEntry};
use super::mutation::{Wrong, is, or};
use super::names::NamesEntry;
use super::prefix::{check_tail, read_header};
use super::{Checked, Fields, all_zero, crc, require, require_crc, require_equal, support};

/// What the sections say.
pub struct Manifest {
    pub bits: u16,
    pub planned_radius: u16,
    pub next_segment: u64,
    pub store_id: u128,
    pub generation: u64,
    pub segments: Vec<SegmentEntry>,
    /// name_kind and name_bytes, of a store with names.
    pub names: Option<(u16, u16)>,
    pub log: Option<LogEntry>,
    pub deletions: Option<Vec<DeletionsEntry>>,
    pub windows: Option<WindowsEntry>,
    /// Whether there is a LAYOUT section.
    pub layout: bool,
    pub recipe: Option<String>,
    /// Kind, and whether only those who know it may edit the store.
    pub skipped: Vec<(u32, bool)>,
}

/// A SEGMENT payload.
pub struct SegmentEntry {
    /// Those of a fingerprint of the store.
    pub bits: u16,
    /// 0 with tables, 1 with a base.
    pub index: u8,
    pub number: u64,
    pub count: u64,
    pub set_sum: u128,
    pub tables: Vec<TableEntry>,
    pub ids: Option<IdsEntry>,
    pub names: Option<NamesEntry>,
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

/// Reads a manifest and checks all rules of section 3.
pub fn read_manifest(file: &[u8]) -> Checked<Manifest> {
    let sections = read_sections(file)?;
    let first_is_store = sections.first().is_some_and(|section| section.kind == STORE);
    let stores = sections.iter().filter(|section| section.kind == STORE).count();
    require(first_is_store && stores == 1, "MAN-9", || {
        format!("{stores} STORE sections, first section is STORE: {first_is_store}")
    })?;
    let of_kind = |kind| sections.iter().filter(move |section| section.kind == kind);
    let mut manifest = read_store(sections[0].payload, of_kind(SEGMENT).count())?;
    for section in of_kind(SEGMENT) {
        let number_before = manifest.segments.last().map_or(0, |segment| segment.number);
        let segment = read_segment(section.payload, number_before, &manifest)?;
        manifest.segments.push(segment);
    }
    let mut number_before = 0;
    for (place, section) in of_kind(IDS).enumerate() {
        number_before = read_ids(section.payload, place, number_before, &mut manifest.segments)?;
    }
    for section in of_kind(NAMES) {
        living::read_names_section(section.payload, &mut manifest)?;
    }
    for section in of_kind(LOG) {
        manifest.log = Some(living::read_log_section(section.payload, &manifest)?);
    }
    for section in of_kind(DELETIONS) {
        let deletions = living::read_deletions_section(section.payload, &manifest)?;
        manifest.deletions = Some(deletions);
    }
    for section in of_kind(WINDOWS) {
        manifest.windows = Some(living::read_windows(section.payload, &manifest)?);
    }
    for section in of_kind(LAYOUT) {
        living::read_layout(section.payload, &manifest)?;
        manifest.layout = true;
    }
    for section in of_kind(RECIPE) {
        manifest.recipe = Some(read_recipe(section.payload, &manifest)?);
    }
    let skipped = sections.iter().filter(|section| known_flags(section.kind).is_none());
    manifest.skipped = skipped.map(|section| (section.kind, section.flags & 2 == 0)).collect();
    Ok(manifest)
}

pub fn at_least(rule: &'static str, payload: &[u8], bytes: usize) -> Checked<()> {
    let longer = is(Wrong::KnownTailRefused) && payload.len() > bytes;
    require(payload.len() >= bytes && !longer, rule, || {
        format!("payload_bytes is {}, the least is {bytes}", payload.len())
    })
}

/// [MAN-10].
pub fn payload_tail(payload: &[u8], from: usize) -> Checked<()> {
    let tail = &payload[from..];
    support(all_zero(tail), "MAN-10", || format!("the tail is {tail:x?}"))
}

/// Section 3.11.
fn read_recipe(payload: &[u8], manifest: &Manifest) -> Checked<String> {
    require(manifest.recipe.is_none(), "RCP-1", || "a second RECIPE section".to_owned())?;
    let most = or(4096, Wrong::RecipesTo4095, 4095);
    let text = std::str::from_utf8(payload).ok();
    let length = |text: &str| or(text.len(), Wrong::RecipeCharacters, text.chars().count());
    let text =
        text.filter(|text| (1..=most).contains(&length(text)) || is(Wrong::RecipeOfAnyLength));
    let is_control = |c: char| match c {
        _ if is(Wrong::RecipeWithControls) => false,
        '\u{80}'..='\u{9f}' => !is(Wrong::RecipeControlsOfAscii),
        c => c < ' ' || c == '\u{7f}',
    };
    let text = text.filter(|text| !text.contains(is_control));
    let text = text.filter(|text| text.is_ascii() || !is(Wrong::RecipeInAscii));
    require(text.is_some(), "RCP-2", || format!("{} bytes: {payload:x?}", payload.len()))?;
    Ok(text.unwrap_or_default().to_owned())
}

/// Section 3.3.
fn read_store(payload: &[u8], segments: usize) -> Checked<Manifest> {
    at_least("STO-1", payload, 40)?;
    let mut fields = Fields(payload);
    let (fingerprint_bits, planned_radius) = (fields.u16(), fields.u16());
    let (segment_count, next_segment) = (fields.u32(), fields.u64());
    let (store_id, generation) = (fields.u128(), fields.u64());
    let bits = fingerprint_bits;
    let known = [32, 64, 128, 256].contains(&bits);
    let known = or(known, Wrong::AnyWidthInEights, bits > 0 && bits.is_multiple_of(8));
    support(known, "STO-2", || format!("fingerprint_bits is {bits}"))?;
    let most = or(bits, Wrong::RadiusTo64, 64);
    require(planned_radius <= most, "STO-3", || format!("planned_radius is {planned_radius}"))?;
    require_equal("STO-4", "segment_count", segment_count as usize, segments)?;
    let generation = or(generation, Wrong::GenerationOf32Bits, u64::from(generation as u32));
    require(generation >= 1, "STO-5", || "generation is 0".to_owned())?;
    payload_tail(payload, 40)?;
    let next_segment = or(next_segment, Wrong::NextSegmentOf32Bits, u64::from(next_segment as u32));
    Ok(Manifest {
        bits,
        planned_radius,
        next_segment,
        store_id,
        generation,
        segments: Vec::new(),
        names: None,
        log: None,
        deletions: None,
        windows: None,
        layout: false,
        recipe: None,
        skipped: Vec::new(),
    })
}

/// Section 3.5. Gives the number of the segment.
fn read_ids(
    payload: &[u8],
    place: usize,
    number_before: u64,
    segments: &mut [SegmentEntry],
) -> Checked<u64> {
    at_least("IDS-1", payload, 24)?;
    let mut fields = Fields(payload);
    let number = fields.u64();
    let number = if is(Wrong::IdsInOrder) { segments[place].number } else { number };
    let segment = segments.iter_mut().find(|segment| segment.number == number);
    let is_new = segment.as_ref().is_some_and(|segment| segment.ids.is_none());
    let follows = or(number > number_before, Wrong::IdsAnyOrder, is_new);
    let segment = segment.filter(|_| follows);
    require(segment.is_some(), "IDS-2", || format!("{number} after {number_before}"))?;
    payload_tail(payload, 24)?;
    let (file_bytes, header_crc, directory_crc) = (fields.u64(), fields.u32(), fields.u32());
    if let Some(segment) = segment {
        segment.ids = Some(IdsEntry { file_bytes, header_crc, directory_crc });
    }
    Ok(number)
}

struct Section<'a> {
    kind: u32,
    flags: u32,
    payload: &'a [u8],
}

const STORE: u32 = 1;
const SEGMENT: u32 = 2;
const IDS: u32 = 3;
const DELETIONS: u32 = 4;
const LOG: u32 = 5;
const WINDOWS: u32 = 7;
const LAYOUT: u32 = 8;
const RECIPE: u32 = 9;
const NAMES: u32 = 10;

/// The flags *critical* and *writers* of a known kind.
fn known_flags(kind: u32) -> Option<u32> {
    match kind {
        LOG | DELETIONS if is(Wrong::LivingSkipped) => None,
        STORE | SEGMENT | LOG | DELETIONS | NAMES => Some(3),
        RECIPE if is(Wrong::RecipeUnknown) => None,
        IDS | WINDOWS | RECIPE => Some(2),
        LAYOUT => Some(0),
        _ => None,
    }
}

/// [PRE-1] to [MAN-8]: all sections of known kind, and those to be skipped.
fn read_sections(file: &[u8]) -> Checked<Vec<Section<'_>>> {
    let (header, _) = read_header(file, b'M', 32)?;
    check_tail(header, 28)?;
    let mut fields = Fields(&header[16..]);
    let (file_bytes, section_count) = (fields.u64(), fields.u32());
    require_equal("MAN-1", "file_bytes", file_bytes, file.len() as u64)?;

    let mut sections = Vec::new();
    let mut rest = &file[or(header.len(), Wrong::SectionsAt32, 32)..];
    for number in 1..=section_count {
        let (section, after) = read_section(rest, number)?;
        sections.push(section);
        rest = after;
    }
    require(rest.is_empty(), "MAN-2", || {
        format!("{} bytes after section {section_count}, the last", rest.len())
    })?;
    Ok(sections)
}

/// The section at the start of `bytes`, and what follows its padding.
fn read_section(bytes: &[u8], number: u32) -> Checked<(Section<'_>, &[u8])> {
    require(bytes.len() >= 24, "MAN-2", || format!("section {number}: its header is cut off"))?;
    let (header, body) = bytes.split_at(24);
    let mut fields = Fields(header);
    let (kind, flags) = (fields.u32(), fields.u32());
    let (payload_bytes, payload_crc, header_crc) = (fields.u64(), fields.u32(), fields.u32());
    let at = |what: &str| format!("section {number}: {what}");
    require_crc("MAN-3", &at("header_crc"), header_crc, crc(&[&header[..20]]))?;
    let multiple = or(8, Wrong::SectionsPaddedTo4, 4);
    let padded = payload_bytes.checked_next_multiple_of(multiple);
    let inside = padded.is_some_and(|padded| padded <= body.len() as u64);
    require(inside, "MAN-2", || {
        at(&format!("payload_bytes is {payload_bytes}, with {} bytes left", body.len()))
    })?;
    let (body, after) = body.split_at(payload_bytes.next_multiple_of(multiple) as usize);
    let (payload, padding) = body.split_at(payload_bytes as usize);
    let known = known_flags(kind);
    let reserved = if is(Wrong::WritersFlagReserved) && known.is_none() { 0xFFFE } else { 0xFFFC };
    let reserved = or(reserved, Wrong::UnusedFlagsRefused, 0xFFFF_FFFC);
    support(flags & reserved == 0, "MAN-4", || at(&format!("flags are {flags:#x}")))?;
    if !(is(Wrong::SkippedCrcIgnored) && known.is_none()) {
        require_crc("MAN-5", &at("payload_crc"), payload_crc, crc(&[payload]))?;
    }
    require(all_zero(padding), "MAN-6", || at(&format!("padding is {padding:x?}")))?;
    let critical = flags & 1 == 1;
    let critical = critical && !(is(Wrong::LivingSkipped) && (kind == DELETIONS || kind == LOG));
    let refused = known.is_none() && (critical || is(Wrong::UnknownRefused));
    support(!refused, "MAN-7", || at(&format!("kind {kind}, flags {flags:#x}")))?;
    let mask = or(3, Wrong::WritersFlagIgnored, 1);
    require(known.is_none_or(|known| (flags ^ known) & mask == 0), "MAN-8", || {
        at(&format!("kind {kind}, flags {flags:#x}"))
    })?;
    Ok((Section { kind, flags, payload }, after))
}

fn read_segment(
    payload: &[u8],
    number_before: u64,
    &Manifest { bits, next_segment, .. }: &Manifest,
) -> Checked<SegmentEntry> {
    require(payload.len() >= 40, "SEG-1", || format!("payload_bytes is {}", payload.len()))?;
    let mut fields = Fields(payload);
    let (number, count, set_sum) = (fields.u64(), fields.u64(), fields.u128());
    let (table_count, entry_bytes) = (usize::from(fields.u16()), usize::from(fields.u16()));
    let entry_bytes = or(entry_bytes, Wrong::EntriesOf16, 16);
    let (index, reserved) = (fields.u8(), fields.bytes(3));
    at_least("SEG-1", payload, 40 + entry_bytes * table_count)?;
    let most = or(256, Wrong::TablesTo255, 255);
    require((1..=most).contains(&table_count), "SEG-2", || format!("table_count {table_count}"))?;
    support(reserved == [0; 3], "SEG-3", || format!("reserved is {reserved:x?}"))?;
    support(index <= 1, "SEG-6", || format!("index is {index}"))?;
    let follows = number_before < number && number < next_segment;
    let follows = or(follows, Wrong::SegmentsAt1, number == number_before + 1);
    require(follows, "SEG-4", || {
        format!("segment {number} after {number_before}, and next_segment is {next_segment}")
    })?;
    let entries_fit = entry_bytes >= 16 && entry_bytes.is_multiple_of(8);
    require(entries_fit, "SEG-5", || format!("entry_bytes is {entry_bytes}"))?;
    require(index == 1 || bits <= 64, "SEG-7", || format!("tables of {bits} bits"))?;
    let mut tables = Vec::new();
    for _ in 0..table_count {
        let entry = fields.bytes(entry_bytes);
        if !is(Wrong::EntryTailIgnored) {
            payload_tail(entry, 16)?;
        }
        let mut fields = Fields(entry);
        tables.push(TableEntry {
            file_bytes: fields.u64(),
            header_crc: fields.u32(),
            footer_crc: fields.u32(),
        });
    }
    payload_tail(fields.0, 0)?;
    Ok(SegmentEntry { bits, index, number, count, set_sum, tables, ids: None, names: None })
}
