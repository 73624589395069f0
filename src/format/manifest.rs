//! The manifest: what belongs to a store, what its ids are where they are no numbers, and what it
//! says of a store that is written to.

use byteorder::{ByteOrder, LittleEndian as LE};

use super::section::{
    KIND_LAYOUT, KIND_LOG, KIND_RECIPE, KIND_SEGMENT, KIND_STORE, Section, UnknownSection,
    decode_section, flags_of, push_section, push_section_with,
};
use super::segment_entry::{DeletionsEntry, SegmentEntry, SegmentSection};
use super::{Defect, FileKind, RecordShape, log_section, manifest_header, store_section};
use crate::error::{Corruption, Unsupported};
use crate::id::IdKind;
use crate::recipe;

const FILE: FileKind = FileKind {
    name: "manifest",
    magic: *b"\x89FPSM\r\n\x1a",
    header_bytes: manifest_header::END,
    reserved: Some(0..0),
};
/// A decoded manifest.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Manifest {
    /// Bits of a fingerprint.
    pub(crate) bits: u16,
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
    /// What ids are, of a store in which they are names.
    pub(crate) names: Option<IdKind>,
    /// The log, of a store that is written to.
    pub(crate) log: Option<LogSection>,
    /// Of segments up to which sequence deletions were applied, and their deletions files; others
    /// have neither.
    pub(crate) deletions: Vec<DeletionsEntry>,
    /// The windows of time, of a store that has them.
    pub(crate) windows: Option<WindowsSection>,
    /// What writers are to make of new segments.
    pub(crate) layout: Option<String>,
    /// How the fingerprints were made, where somebody has said so.
    pub(crate) recipe: Option<String>,
    /// Sections of unknown kind, as they are.
    pub(crate) unknown: Vec<UnknownSection>,
}

impl Manifest {
    /// The first manifest of a store without segments.
    pub(crate) fn empty(bits: u16, radius: u16, store_id: u128) -> Self {
        Self {
            bits,
            radius,
            next_segment: 1,
            store_id,
            generation: 1,
            segments: Vec::new(),
            names: None,
            log: None,
            deletions: Vec::new(),
            windows: None,
            layout: None,
            recipe: None,
            unknown: Vec::new(),
        }
    }

    /// The window of the segment at a place of the list; 0 if there are no windows.
    pub(crate) fn window(&self, place: usize) -> u64 {
        let windows = self.windows.as_ref().map(|section| &section.windows);
        windows.and_then(|windows| windows.get(place)).copied().unwrap_or(0)
    }

    /// The bytes of the manifest.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![0; manifest_header::END];
        let mut store = [0; store_section::END];
        LE::write_u16(&mut store[store_section::FINGERPRINT_BITS], self.bits);
        LE::write_u16(&mut store[store_section::PLANNED_RADIUS], self.radius);
        LE::write_u32(&mut store[store_section::SEGMENT_COUNT], self.segments.len() as u32);
        LE::write_u64(&mut store[store_section::NEXT_SEGMENT], self.next_segment);
        LE::write_u128(&mut store[store_section::STORE_ID], self.store_id);
        LE::write_u64(&mut store[store_section::GENERATION], self.generation);
        let (name_kind, name_bytes) = encode_names(self.names);
        LE::write_u16(&mut store[store_section::NAME_KIND], name_kind);
        LE::write_u16(&mut store[store_section::NAME_BYTES], name_bytes);
        let seconds = self.windows.as_ref().map_or(0, |windows| windows.seconds);
        LE::write_u64(&mut store[store_section::WINDOW_SECONDS], seconds);
        push_section(&mut bytes, KIND_STORE, &store);
        let mut sections = 1;
        for (place, segment) in self.segments.iter().enumerate() {
            let deletions = self.deletions.iter().find(|entry| entry.segment == segment.number);
            let payload = segment.encode(deletions, self.window(place));
            push_section(&mut bytes, KIND_SEGMENT, &payload);
            sections += 1;
        }
        if let Some(log) = &self.log {
            push_section(&mut bytes, KIND_LOG, &log.encode());
            sections += 1;
        }
        if let Some(layout) = &self.layout {
            push_section(&mut bytes, KIND_LAYOUT, layout.as_bytes());
            sections += 1;
        }
        if let Some(recipe) = &self.recipe {
            push_section(&mut bytes, KIND_RECIPE, recipe.as_bytes());
            sections += 1;
        }
        for UnknownSection { kind, flags, payload } in &self.unknown {
            push_section_with(&mut bytes, (*kind, *flags), payload);
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
        let of_kind = |kind| rest.iter().filter(move |section| section.kind == kind);
        let store = StoreFields::decode(store, of_kind(KIND_SEGMENT).count() as u32)?;
        let mut decoded: Vec<SegmentSection> = Vec::new();
        for section in of_kind(KIND_SEGMENT) {
            let after = decoded.last().map_or(0, |entry| entry.segment.number);
            let of_store = (store.bits, store.next_segment, store.names.is_some());
            decoded.push(SegmentSection::decode(section, after, of_store)?);
        }
        let segments: Vec<SegmentEntry> =
            decoded.iter().map(|entry| entry.segment.clone()).collect();
        let mut log = None;
        for section in of_kind(KIND_LOG) {
            let shape = (&segments[..], store.names, store.window_seconds > 0);
            log = Some(LogSection::decode(section, log.as_ref(), shape)?);
        }
        for (section, segment) in of_kind(KIND_SEGMENT).zip(&decoded) {
            segment.check_deletions(log.as_ref().map(|log: &LogSection| log.sequence), section)?;
        }
        let deletions = decoded.iter().map(|entry| entry.deletions);
        let deletions = deletions.filter(|entry| *entry != DeletionsEntry::none(entry.segment));
        let windows = (store.window_seconds > 0).then(|| WindowsSection {
            seconds: store.window_seconds,
            windows: decoded.iter().map(|entry| entry.window).collect(),
        });
        let layout = advice(rest, KIND_LAYOUT).filter(|text| !text.is_empty());
        let recipe = advice(rest, KIND_RECIPE).filter(|line| recipe::is_recipe(line));
        let unknown = rest.iter().filter(|section| flags_of(section.kind).is_none());
        let unknown = unknown.map(|section| UnknownSection {
            kind: section.kind,
            flags: section.flags,
            payload: section.payload.to_vec(),
        });
        Ok(Self {
            bits: store.bits,
            radius: store.radius,
            next_segment: store.next_segment,
            store_id: store.store_id,
            generation: store.generation,
            segments,
            names: store.names,
            log,
            deletions: deletions.collect(),
            windows,
            layout: layout.map(str::to_string),
            recipe: recipe.map(str::to_string),
            unknown: unknown.collect(),
        })
    }
}

/// The text of the only section of a kind that readers need not understand; `None` where there is
/// none, or several, or something else than text.
fn advice<'a>(sections: &[Section<'a>], kind: u32) -> Option<&'a str> {
    let mut of_kind = sections.iter().filter(|section| section.kind == kind);
    let section = of_kind.next()?;
    std::str::from_utf8(section.payload).ok().filter(|_| of_kind.next().is_none())
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

/// The STORE payload.
struct StoreFields {
    bits: u16,
    radius: u16,
    next_segment: u64,
    store_id: u128,
    generation: u64,
    names: Option<IdKind>,
    window_seconds: u64,
}

impl StoreFields {
    /// Decodes the STORE payload of a manifest with `segments` segments.
    fn decode(section: &Section<'_>, segments: u32) -> Result<Self, Defect> {
        let Section { payload, at, .. } = *section;
        section.check_length(store_section::END, "STORE")?;
        section.check_reserved(store_section::RESERVED, "STORE section")?;
        let bits = LE::read_u16(&payload[store_section::FINGERPRINT_BITS]);
        if ![32, 64, 128, 256].contains(&bits) {
            let feature = Unsupported::StoreFingerprintBits { found: bits };
            return Err(Defect::unsupported(at, feature));
        }
        let names = [store_section::NAME_KIND, store_section::NAME_BYTES];
        let [kind, width] = names.map(|field| LE::read_u16(&payload[field]));
        let names = decode_names((kind, width), at + store_section::NAME_KIND.start)?;
        let radius = LE::read_u16(&payload[store_section::PLANNED_RADIUS]);
        if radius > bits {
            let offset = at + store_section::PLANNED_RADIUS.start;
            return Err(Defect::corrupt(offset, Corruption::PlannedRadius { found: radius, bits }));
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
        let next_segment = LE::read_u64(&payload[store_section::NEXT_SEGMENT]);
        let store_id = LE::read_u128(&payload[store_section::STORE_ID]);
        let window_seconds = LE::read_u64(&payload[store_section::WINDOW_SECONDS]);
        Ok(Self { bits, radius, next_segment, store_id, generation, names, window_seconds })
    }
}

const NUMBERS: u16 = 0;
const TEXT: u16 = 1;
const UUID: u16 = 2;
const NUMBER_128: u16 = 3;
const BYTES: u16 = 4;

/// name_kind and name_bytes.
pub(super) fn encode_names(kind: Option<IdKind>) -> (u16, u16) {
    match kind {
        None | Some(IdKind::Number) => (NUMBERS, 0),
        Some(IdKind::Text) => (TEXT, 0),
        Some(IdKind::Uuid) => (UUID, 16),
        Some(IdKind::Number128) => (NUMBER_128, 16),
        Some(IdKind::Bytes(width)) => (BYTES, width),
    }
}

/// What ids are by name_kind and name_bytes, which stand at `at`; `None` for numbers.
pub(super) fn decode_names((code, width): (u16, u16), at: usize) -> Result<Option<IdKind>, Defect> {
    let kind = match code {
        NUMBERS => None,
        TEXT => Some(IdKind::Text),
        UUID => Some(IdKind::Uuid),
        NUMBER_128 => Some(IdKind::Number128),
        BYTES => Some(IdKind::Bytes(width)),
        _ => return Err(Defect::unsupported(at, Unsupported::NameKind { found: code })),
    };
    let expected = kind.and_then(|kind| kind.width()).unwrap_or(0);
    if usize::from(width) != expected || kind == Some(IdKind::Bytes(0)) {
        return Err(Defect::corrupt(at, Corruption::NameBytes { kind: code, found: width }));
    }
    Ok(kind)
}

/// Sequences and numbers of logs in the manifest are less [LGS-2]. No log is long enough to lead
/// from there to 2^63, so nothing overflows, and the bit of [`super::Deletion`] that stands for all
/// ids stays free.
pub(crate) const MOST_NUMBERS: u64 = 1 << 62;

/// The LOG section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogSection {
    /// The log with the first operation that segments do not hold.
    pub(crate) first_log: u64,
    /// The sequence of the last operation that segments hold.
    pub(crate) sequence: u64,
    pub(crate) shape: RecordShape,
    /// Bytes that were written to the store since it has a log.
    pub(crate) written_bytes: u64,
    /// Bytes of the records that were inserted since.
    pub(crate) inserted_bytes: u64,
    /// Greater than all ids that segments have held so far; 2^64 - 1 if none is left.
    pub(crate) next_id: u64,
}

/// The windows of time of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WindowsSection {
    /// The length of a window.
    pub(crate) seconds: u64,
    /// The window of each segment, in their order.
    pub(crate) windows: Vec<u64>,
}

impl LogSection {
    pub(super) fn encode(&self) -> [u8; log_section::END] {
        let mut payload = [0; log_section::END];
        LE::write_u64(&mut payload[log_section::FIRST_LOG], self.first_log);
        LE::write_u64(&mut payload[log_section::SEQUENCE], self.sequence);
        LE::write_u32(&mut payload[log_section::FLAGS], self.shape.flags());
        LE::write_u64(&mut payload[log_section::WRITTEN_BYTES], self.written_bytes);
        LE::write_u64(&mut payload[log_section::INSERTED_BYTES], self.inserted_bytes);
        LE::write_u64(&mut payload[log_section::NEXT_ID], self.next_id);
        payload
    }

    /// Decodes the LOG section of a store with these segments, with names or not, and windows or
    /// not.
    pub(super) fn decode(
        section: &Section<'_>,
        before: Option<&Self>,
        (segments, names, windows): (&[SegmentEntry], Option<IdKind>, bool),
    ) -> Result<Self, Defect> {
        let Section { payload, at, .. } = *section;
        section.check_length(log_section::END, "LOG")?;
        section.check_reserved(log_section::RESERVED, "LOG section")?;
        let flags = LE::read_u32(&payload[log_section::FLAGS]);
        let flags_at = at + log_section::FLAGS.start;
        if !RecordShape::knows(flags) {
            return Err(Defect::unsupported(flags_at, Unsupported::Reserved { of: "LOG section" }));
        }
        if before.is_some() {
            return Err(Defect::corrupt(at, Corruption::LogTwice));
        }
        let first_log = LE::read_u64(&payload[log_section::FIRST_LOG]);
        let sequence = LE::read_u64(&payload[log_section::SEQUENCE]);
        if !(1..MOST_NUMBERS).contains(&first_log) || sequence >= MOST_NUMBERS {
            return Err(Defect::corrupt(at, Corruption::LogNumbers { first_log, sequence }));
        }
        let ids = RecordShape::has_ids(flags);
        if let Some(other) = segments.iter().find(|segment| segment.ids.is_some() != ids) {
            let corruption = Corruption::LogIds { segment: other.number, ids };
            return Err(Defect::corrupt(flags_at, corruption));
        }
        let shape = RecordShape::of_flags(flags, names).filter(|shape| shape.windows == windows);
        let Some(shape) = shape else {
            return Err(Defect::corrupt(flags_at, Corruption::LogShape { flags }));
        };
        Ok(Self {
            first_log,
            sequence,
            shape,
            written_bytes: LE::read_u64(&payload[log_section::WRITTEN_BYTES]),
            inserted_bytes: LE::read_u64(&payload[log_section::INSERTED_BYTES]),
            next_id: LE::read_u64(&payload[log_section::NEXT_ID]),
        })
    }
}
