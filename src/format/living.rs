//! The sections of a store that is written to: LOG, DELETIONS, WINDOWS, LAYOUT (sections 3.7 to 3.10
//! of the specification).

use std::ops::Range;

use byteorder::{ByteOrder, LittleEndian as LE};

use super::section::Section;
use super::{
    Defect, RecordShape, SegmentEntry, deletions_entry, deletions_section, log_section,
    window_entry, windows_section,
};
use crate::error::{Corruption, Unsupported};
use crate::id::IdKind;

/// Sequences and numbers of logs in the manifest are less [LGS-3]. No log is long enough to lead from there
/// to 2^63, so nothing overflows, and the bit of [`super::Deletion`] that stands for all ids stays free.
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

/// What DELETIONS says of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DeletionsEntry {
    pub(crate) segment: u64,
    /// No deletion up to this sequence hides anything of the segment.
    pub(crate) sequence: u64,
    /// Length of its deletions file; 0 if it has none.
    pub(crate) file_bytes: u64,
    pub(crate) header_crc: u32,
    pub(crate) footer_crc: u32,
}

impl DeletionsEntry {
    /// Of a segment that no deletions belong to.
    pub(crate) fn without_file(segment: u64, sequence: u64) -> Self {
        Self { segment, sequence, file_bytes: 0, header_crc: 0, footer_crc: 0 }
    }
}

/// The WINDOWS section.
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

    /// Decodes the LOG section of a store with these segments, whose ids are known.
    pub(super) fn decode(
        section: &Section<'_>,
        before: Option<&Self>,
        (segments, names): (&[SegmentEntry], Option<IdKind>),
    ) -> Result<Self, Defect> {
        let Section { payload, at, .. } = *section;
        if payload.len() < log_section::END {
            let (found, expected) = (payload.len() as u64, log_section::END as u64);
            return Err(Defect::corrupt(at, Corruption::LogSectionLength { found, expected }));
        }
        if before.is_some() {
            return Err(Defect::corrupt(at, Corruption::LogTwice));
        }
        let first_log = LE::read_u64(&payload[log_section::FIRST_LOG]);
        let sequence = LE::read_u64(&payload[log_section::SEQUENCE]);
        if !(1..MOST_NUMBERS).contains(&first_log) || sequence >= MOST_NUMBERS {
            return Err(Defect::corrupt(at, Corruption::LogNumbers { first_log, sequence }));
        }
        let flags = LE::read_u32(&payload[log_section::FLAGS]);
        let reserved = payload[log_section::RESERVED].iter().any(|&b| b != 0);
        let Some(shape) = RecordShape::of_flags(flags).filter(|_| !reserved) else {
            let offset = at + log_section::FLAGS.start;
            return Err(Defect::unsupported(offset, Unsupported::LogSectionFlags { flags }));
        };
        if let Some(other) = segments.iter().find(|segment| segment.ids.is_some() != shape.ids) {
            let offset = at + log_section::FLAGS.start;
            let corruption = Corruption::LogIds { segment: other.number, ids: shape.ids };
            return Err(Defect::corrupt(offset, corruption));
        }
        if shape.names != (shape.ids && names.is_some()) {
            let offset = at + log_section::FLAGS.start;
            return Err(Defect::corrupt(offset, Corruption::LogNames { names: shape.names }));
        }
        section.check_tail(log_section::END, "LOG")?;
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

impl DeletionsEntry {
    pub(super) fn encode_all(entries: &[Self]) -> Vec<u8> {
        let mut payload = vec![0; deletions_section::END + deletions_entry::END * entries.len()];
        LE::write_u32(&mut payload[deletions_section::ENTRY_COUNT], entries.len() as u32);
        LE::write_u16(&mut payload[deletions_section::ENTRY_BYTES], deletions_entry::END as u16);
        let places = payload[deletions_section::END..].chunks_exact_mut(deletions_entry::END);
        for (place, entry) in places.zip(entries) {
            LE::write_u64(&mut place[deletions_entry::SEGMENT_NUMBER], entry.segment);
            LE::write_u64(&mut place[deletions_entry::SEQUENCE], entry.sequence);
            LE::write_u64(&mut place[deletions_entry::FILE_BYTES], entry.file_bytes);
            LE::write_u32(&mut place[deletions_entry::HEADER_CRC], entry.header_crc);
            LE::write_u32(&mut place[deletions_entry::FOOTER_CRC], entry.footer_crc);
        }
        payload
    }

    /// Decodes a DELETIONS section of a store with this LOG section and these segments.
    pub(super) fn decode_all(
        section: &Section<'_>,
        before: Option<&[Self]>,
        log: Option<&LogSection>,
        segments: &[SegmentEntry],
    ) -> Result<Vec<Self>, Defect> {
        let payload = section.payload;
        let fields = [deletions_section::ENTRY_COUNT, deletions_section::ENTRY_BYTES];
        let layout = (deletions_section::END, deletions_entry::END);
        let entries = Entries::decode(section, "DELETIONS", fields, layout)?;
        let Some(log) = log.filter(|_| before.is_none()) else {
            return Err(Defect::corrupt(section.at, Corruption::DeletionsSection));
        };
        if payload[deletions_section::RESERVED].iter().any(|&b| b != 0) {
            let offset = section.at + deletions_section::RESERVED.start;
            return Err(Defect::unsupported(offset, Unsupported::DeletionsSectionReserved));
        }
        let mut decoded: Vec<Self> = Vec::new();
        for entry in &entries.entries {
            let segment = LE::read_u64(&entry[deletions_entry::SEGMENT_NUMBER]);
            let sequence = LE::read_u64(&entry[deletions_entry::SEQUENCE]);
            let after = decoded.last().map_or(0, |entry| entry.segment);
            let is_segment = segments.binary_search_by_key(&segment, |entry| entry.number).is_ok();
            if segment <= after || !is_segment || sequence > log.sequence {
                let corruption = Corruption::DeletionsEntry { segment, after, sequence };
                return Err(Defect::corrupt(section.at, corruption));
            }
            decoded.push(Self {
                segment,
                sequence,
                file_bytes: LE::read_u64(&entry[deletions_entry::FILE_BYTES]),
                header_crc: LE::read_u32(&entry[deletions_entry::HEADER_CRC]),
                footer_crc: LE::read_u32(&entry[deletions_entry::FOOTER_CRC]),
            });
        }
        entries.check_tails(section)?;
        Ok(decoded)
    }
}

impl WindowsSection {
    pub(super) fn encode(&self, segments: &[SegmentEntry]) -> Vec<u8> {
        let mut payload = vec![0; windows_section::END + window_entry::END * segments.len()];
        LE::write_u64(&mut payload[windows_section::WINDOW_SECONDS], self.seconds);
        LE::write_u32(&mut payload[windows_section::ENTRY_COUNT], segments.len() as u32);
        LE::write_u16(&mut payload[windows_section::ENTRY_BYTES], window_entry::END as u16);
        let places = payload[windows_section::END..].chunks_exact_mut(window_entry::END);
        for ((place, segment), window) in places.zip(segments).zip(&self.windows) {
            LE::write_u64(&mut place[window_entry::SEGMENT_NUMBER], segment.number);
            LE::write_u64(&mut place[window_entry::WINDOW], *window);
        }
        payload
    }

    /// Decodes a WINDOWS section of a store with these segments.
    pub(super) fn decode(
        section: &Section<'_>,
        before: Option<&Self>,
        segments: &[SegmentEntry],
    ) -> Result<Self, Defect> {
        let payload = section.payload;
        let fields = [windows_section::ENTRY_COUNT, windows_section::ENTRY_BYTES];
        let layout = (windows_section::END, window_entry::END);
        let decoded = Entries::decode(section, "WINDOWS", fields, layout)?;
        let entries = &decoded.entries;
        let seconds = LE::read_u64(&payload[windows_section::WINDOW_SECONDS]);
        if before.is_some() || seconds == 0 {
            return Err(Defect::corrupt(section.at, Corruption::WindowsSection { seconds }));
        }
        if payload[windows_section::RESERVED].iter().any(|&b| b != 0) {
            let offset = section.at + windows_section::RESERVED.start;
            return Err(Defect::unsupported(offset, Unsupported::WindowsReserved));
        }
        let numbers =
            entries.iter().map(|entry| LE::read_u64(&entry[window_entry::SEGMENT_NUMBER]));
        if !numbers.eq(segments.iter().map(|segment| segment.number)) {
            return Err(Defect::corrupt(section.at, Corruption::WindowsOfSegments));
        }
        decoded.check_tails(section)?;
        let windows = entries.iter().map(|entry| LE::read_u64(&entry[window_entry::WINDOW]));
        Ok(Self { seconds, windows: windows.collect() })
    }
}

/// The entries of a section.
pub(super) struct Entries<'a> {
    pub(super) entries: Vec<&'a [u8]>,
    /// Length of the fields of each.
    least: usize,
    /// Where they end in the payload.
    end: usize,
    /// The name of the section.
    name: &'static str,
}

impl<'a> Entries<'a> {
    /// Those of a section whose header has these fields, their number and length; header and entry are
    /// at least as long as `layout` says.
    pub(super) fn decode(
        section: &Section<'a>,
        name: &'static str,
        [count, bytes]: [Range<usize>; 2],
        (header_bytes, least): (usize, usize),
    ) -> Result<Self, Defect> {
        let Section { payload, at, .. } = *section;
        let short = |expected: u64| {
            let found = payload.len() as u64;
            Defect::corrupt(at, Corruption::EntriesLength { section: name, found, expected })
        };
        if payload.len() < header_bytes {
            return Err(short(header_bytes as u64));
        }
        let entry_count = u64::from(LE::read_u32(&payload[count]));
        let entry_bytes = LE::read_u16(&payload[bytes.clone()]);
        let end = header_bytes as u64 + entry_count * u64::from(entry_bytes);
        if (payload.len() as u64) < end {
            return Err(short(end));
        }
        if usize::from(entry_bytes) < least || entry_bytes % 8 != 0 {
            let corruption =
                Corruption::EntriesBytes { section: name, found: entry_bytes, least: least as u16 };
            return Err(Defect::corrupt(at + bytes.start, corruption));
        }
        let end = end as usize;
        let entries = payload[header_bytes..end].chunks_exact(usize::from(entry_bytes)).collect();
        Ok(Self { entries, least, end, name })
    }

    /// Checks the tails of entries and payload, which come last [MAN-10].
    pub(super) fn check_tails(&self, section: &Section<'_>) -> Result<(), Defect> {
        let is_zero = |entry: &&[u8]| entry[self.least..].iter().all(|&byte| byte == 0);
        if !self.entries.iter().all(is_zero) {
            let feature = Unsupported::PayloadTail { section: self.name };
            return Err(Defect::unsupported(section.at, feature));
        }
        section.check_tail(self.end, self.name)
    }
}
