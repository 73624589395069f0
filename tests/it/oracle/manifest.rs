//! The manifest (section 5).

use super::living::{self, DeletionsEntry, LogEntry};
use super::mutation::{Wrong, is, is_minimal, or};
use super::names::NamesEntry;
use super::prefix::read_header;
use super::{Checked, Fields, all_zero, crc, require, require_crc, require_equal, support, text};

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
    /// 0 without windows.
    pub window_seconds: u64,
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
    pub sequence: u64,
    pub deletions: Option<DeletionsEntry>,
    pub window: u64,
}

/// What is said of an ids file.
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

/// Reads a manifest and checks all rules of section 5.
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
    for section in of_kind(LOG) {
        manifest.log = Some(living::read_log_section(section.payload, &manifest)?);
    }
    let (living, most) = manifest.log.map_or((false, 0), |log| (true, log.sequence));
    let most = or(most, Wrong::SegmentsBelowLog, most.saturating_sub(1));
    let checked = or(manifest.segments.len(), Wrong::FirstSequenceOnly, 1);
    for SegmentEntry { number, sequence, deletions, .. } in manifest.segments.iter().take(checked) {
        let signed = *sequence as i64 <= most as i64;
        let fits = or(*sequence <= most, Wrong::SegmentSequenceSigned, signed);
        let may_delete = living || is(Wrong::DeletionsWithoutLog);
        let fits = fits && (may_delete || deletions.is_none());
        require(fits, "SEG-6", || format!("segment {number}, sequence {sequence} of {most}"))?;
    }
    for kind in [LAYOUT, RECIPE] {
        let once = of_kind(kind).count() < 2 || !is(Wrong::AdviceOnce);
        let is_text = |section: &&Section<'_>| text(section.payload).is_some();
        let is_text = kind != LAYOUT || of_kind(kind).all(|section| is_text(&section));
        // A right reader refuses neither.
        require(once && (is_text || !is(Wrong::LayoutIsText)), "MAN-8", || format!("kind {kind}"))?;
    }
    manifest.recipe = read_recipe(of_kind(RECIPE).map(|section| section.payload));
    let skipped = sections.iter().filter(|section| known_flags(section.kind).is_none());
    manifest.skipped = skipped.map(|section| (section.kind, section.flags & 2 == 0)).collect();
    Ok(manifest)
}

/// [MAN-10].
pub fn payload_length(payload: &[u8], bytes: usize) -> Checked<()> {
    let short = is(Wrong::LongPayloads) && payload.len() > bytes;
    support(payload.len() == bytes || short, "MAN-10", || {
        format!("payload_bytes is {}, not {bytes}", payload.len())
    })
}

/// [MAN-11].
pub fn payload_reserved(reserved: &[u8]) -> Checked<()> {
    support(all_zero(reserved), "MAN-11", || format!("reserved is {reserved:x?}"))
}

/// The recipe: what one section says, if it is a line.
fn read_recipe<'a>(payloads: impl Iterator<Item = &'a [u8]>) -> Option<String> {
    let mut payloads: Vec<&[u8]> = payloads.collect();
    if is(Wrong::LastRecipe) {
        payloads.drain(..payloads.len().saturating_sub(1));
    }
    let &[payload] = &payloads[..] else { return None };
    let most = or(4096, Wrong::RecipesTo4095, 4095);
    let length = |text: &str| or(text.len(), Wrong::RecipeCharacters, text.chars().count());
    let fits = |text: &String| (1..=most).contains(&length(text)) || is(Wrong::RecipeOfAnyLength);
    let is_control = |c: char| match c {
        _ if is(Wrong::RecipeWithControls) => false,
        '\u{80}'..='\u{9f}' => !is(Wrong::RecipeControlsOfAscii),
        c => c < ' ' || c == '\u{7f}',
    };
    let text = text(payload).filter(fits);
    let text = text.filter(|text| !text.contains(is_control));
    let text = text.filter(|text| text.is_ascii() || !is(Wrong::RecipeInAscii));
    text.filter(|text| !text.starts_with('\u{feff}') || !is(Wrong::ByteOrderMarks))
}

/// Section 5.3.
fn read_store(payload: &[u8], segments: usize) -> Checked<Manifest> {
    payload_length(payload, 56)?;
    payload_reserved(&payload[44..48])?;
    let mut fields = Fields(payload);
    let (fingerprint_bits, planned_radius) = (fields.u16(), fields.u16());
    let (segment_count, next_segment) = (fields.u32(), fields.u64());
    let (store_id, generation) = (fields.u128(), fields.u64());
    let (name_kind, name_bytes) = (fields.u16(), fields.u16());
    let (_reserved, window_seconds) = (fields.u32(), fields.u64());
    let bits = fingerprint_bits;
    let known = [32, 64, 128, 256].contains(&bits);
    let known = or(known, Wrong::AnyWidthInEights, bits > 0 && bits.is_multiple_of(8));
    let known = known && (bits <= 64 || !is_minimal());
    support(known, "STO-1", || format!("fingerprint_bits is {bits}"))?;
    support(name_kind <= 4, "STO-5", || format!("name_kind is {name_kind}"))?;
    let fits = match name_kind {
        0 | 1 => name_bytes == 0,
        2 | 3 => name_bytes == 16,
        _ => name_bytes > 0,
    };
    require(fits, "STO-6", || format!("name_bytes of kind {name_kind} is {name_bytes}"))?;
    let most = or(bits, Wrong::RadiusTo64, 64);
    require(planned_radius <= most, "STO-2", || format!("planned_radius is {planned_radius}"))?;
    require_equal("STO-3", "segment_count", segment_count as usize, segments)?;
    let generation = or(generation, Wrong::GenerationOf32Bits, u64::from(generation as u32));
    require(generation >= 1, "STO-4", || "generation is 0".to_owned())?;
    let next_segment = or(next_segment, Wrong::NextSegmentOf32Bits, u64::from(next_segment as u32));
    Ok(Manifest {
        bits,
        planned_radius,
        next_segment,
        store_id,
        generation,
        segments: Vec::new(),
        names: (name_kind > 0).then_some((name_kind, name_bytes)),
        log: None,
        window_seconds,
        recipe: None,
        skipped: Vec::new(),
    })
}

struct Section<'a> {
    kind: u32,
    flags: u32,
    payload: &'a [u8],
}

const STORE: u32 = 1;
const SEGMENT: u32 = 2;
const LOG: u32 = 3;
const LAYOUT: u32 = 4;
const RECIPE: u32 = 5;

/// The flags *critical* and *writers* of a known kind.
fn known_flags(kind: u32) -> Option<u32> {
    match kind {
        LOG if is(Wrong::LivingSkipped) => None,
        STORE | SEGMENT | LOG => Some(3),
        RECIPE if is(Wrong::RecipeUnknown) => None,
        RECIPE => Some(2),
        LAYOUT => Some(0),
        _ => None,
    }
}

/// [PRE-1] to [MAN-8]: all sections of known kind, and those to be skipped.
fn read_sections(file: &[u8]) -> Checked<Vec<Section<'_>>> {
    let (header, _) = read_header(file, b'M', 32)?;
    let mut fields = Fields(&header[16..]);
    let (file_bytes, section_count) = (fields.u64(), fields.u32());
    require_equal("MAN-1", "file_bytes", file_bytes, file.len() as u64)?;

    let mut sections = Vec::new();
    let mut rest = &file[header.len()..];
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
    let critical = critical && !(is(Wrong::LivingSkipped) && kind == LOG);
    let refused = known.is_none() && (critical || is(Wrong::UnknownRefused));
    support(!refused, "MAN-7", || at(&format!("kind {kind}, flags {flags:#x}")))?;
    let mask = or(3, Wrong::WritersFlagIgnored, 1);
    require(known.is_none_or(|known| (flags ^ known) & mask == 0), "MAN-8", || {
        at(&format!("kind {kind}, flags {flags:#x}"))
    })?;
    support(kind != LOG || !is_minimal(), "MAN-7", || at("it is living"))?;
    Ok((Section { kind, flags, payload }, after))
}

fn read_segment(
    payload: &[u8],
    number_before: u64,
    &Manifest { bits, next_segment, names, .. }: &Manifest,
) -> Checked<SegmentEntry> {
    support(payload.len() >= 56, "MAN-10", || format!("payload_bytes is {}", payload.len()))?;
    let mut fields = Fields(payload);
    let (number, count, set_sum) = (fields.u64(), fields.u64(), fields.u128());
    let (sequence, window) = (fields.u64(), fields.u64());
    let table_count = usize::from(fields.u16());
    let (index, further) = (fields.u8(), fields.u8());
    payload_reserved(fields.bytes(4))?;
    let further_known = or(further < 8, Wrong::FurtherFlagsFree, true);
    support(further_known, "MAN-11", || format!("further is {further:#x}"))?;
    let most = if is_minimal() { 0 } else { 1 };
    support(index <= most, "SEG-1", || format!("index is {index}"))?;
    let further_files = (further & 7).count_ones() as usize;
    payload_length(payload, 56 + 16 * (table_count + further_files))?;
    support(index == 1 || bits <= 64, "SEG-3", || format!("tables of {bits} bits"))?;
    let most = or(256, Wrong::TablesTo255, 255);
    require((1..=most).contains(&table_count), "SEG-2", || format!("table_count {table_count}"))?;
    let follows = number_before < number && number < next_segment;
    let follows = or(follows, Wrong::SegmentsAt1, number == number_before + 1);
    require(follows, "SEG-4", || {
        format!("segment {number} after {number_before}, and next_segment is {next_segment}")
    })?;
    let (has_ids, has_names, has_deletions) = match further {
        _ if is(Wrong::DeletionsBeforeNames) => (further & 1 > 0, further & 4 > 0, further & 2 > 0),
        _ => (further & 1 > 0, further & 2 > 0, further & 4 > 0),
    };
    require(has_names == (has_ids && names.is_some()), "SEG-5", || {
        format!("segment {number} has names: {has_names}, and ids: {has_ids}")
    })?;
    let mut entry = || (fields.u64(), fields.u32(), fields.u32());
    let tables = (0..table_count).map(|_| entry());
    let tables = tables
        .map(|(file_bytes, header_crc, footer_crc)| TableEntry {
            file_bytes,
            header_crc,
            footer_crc,
        })
        .collect();
    let ids = has_ids.then(&mut entry);
    let ids = ids.map(|(file_bytes, header_crc, directory_crc)| IdsEntry {
        file_bytes,
        header_crc,
        directory_crc,
    });
    let named = has_names.then(&mut entry);
    let text = names.is_some_and(|(kind, _)| kind == 1);
    let named = named.map(|(file_bytes, header_crc, directory_crc)| NamesEntry {
        file_bytes,
        header_crc,
        directory_crc,
        text,
    });
    let deletions = has_deletions.then(&mut entry);
    let deletions = deletions.map(|(file_bytes, header_crc, footer_crc)| DeletionsEntry {
        segment: number,
        sequence,
        file_bytes,
        header_crc,
        footer_crc,
    });
    let window = or(window, Wrong::WindowOf32Bits, u64::from(window as u32));
    Ok(SegmentEntry {
        bits,
        index,
        number,
        count,
        set_sum,
        tables,
        ids,
        names: named,
        sequence,
        deletions,
        window,
    })
}
