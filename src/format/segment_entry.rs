//! What the manifest says of a segment: the SEGMENT section of the specification.

use byteorder::{ByteOrder, LittleEndian as LE};

use super::section::Section;
use super::{
    Defect, base_name, file_entry, ids_name, names_name, part_name, segment_section, table_name,
};
use crate::error::{Corruption, Unsupported};

/// The flags of further files, in the order of their entries.
const IDS: u8 = 1;
const NAMES: u8 = 2;
const DELETIONS: u8 = 4;

/// How the fingerprints of a segment are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum IndexKind {
    /// By tables that hold all of them, each in another order.
    #[default]
    Tables,
    /// By a base that holds them once, and tables of parts of their bits.
    Parts,
}

/// A segment as the manifest describes it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SegmentEntry {
    pub(crate) number: u64,
    pub(crate) count: u64,
    pub(crate) set_sum: u128,
    pub(crate) index: IndexKind,
    /// The tables; or the base, and then the part tables.
    pub(crate) tables: Vec<TableEntry>,
    /// The ids, of a segment that has them.
    pub(crate) ids: Option<IdsEntry>,
    /// The names that its ids are numbers of, of a store that has names.
    pub(crate) names: Option<NamesEntry>,
}

/// An ids file as the manifest describes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct IdsEntry {
    pub(crate) file_bytes: u64,
    pub(crate) header_crc: u32,
    pub(crate) directory_crc: u32,
}

/// A names file as the manifest describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NamesEntry {
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

/// What the manifest says of the deletions of a segment.
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
    /// Of a segment of which nothing is said.
    pub(super) fn none(segment: u64) -> Self {
        Self::without_file(segment, 0)
    }

    /// Of a segment that no deletions belong to.
    pub(crate) fn without_file(segment: u64, sequence: u64) -> Self {
        Self { segment, sequence, file_bytes: 0, header_crc: 0, footer_crc: 0 }
    }
}

/// A SEGMENT section: the segment, and what only stores that are written to, or have windows, need.
pub(super) struct SegmentSection {
    pub(super) segment: SegmentEntry,
    pub(super) deletions: DeletionsEntry,
    pub(super) window: u64,
}

/// The fields of an entry: length, header_crc, end_crc.
type Fields = (u64, u32, u32);

fn decode_entry(entry: &[u8]) -> Fields {
    (
        LE::read_u64(&entry[file_entry::FILE_BYTES]),
        LE::read_u32(&entry[file_entry::HEADER_CRC]),
        LE::read_u32(&entry[file_entry::END_CRC]),
    )
}

fn encode_entry((file_bytes, header_crc, end_crc): Fields) -> [u8; file_entry::END] {
    let mut entry = [0; file_entry::END];
    LE::write_u64(&mut entry[file_entry::FILE_BYTES], file_bytes);
    LE::write_u32(&mut entry[file_entry::HEADER_CRC], header_crc);
    LE::write_u32(&mut entry[file_entry::END_CRC], end_crc);
    entry
}

impl SegmentEntry {
    /// The names of its files, those of the index in the order of their entries.
    pub(crate) fn file_names(&self) -> impl Iterator<Item = String> {
        let number = self.number;
        let of_index = (0..self.tables.len()).map(move |file| match (self.index, file) {
            (IndexKind::Tables, table) => table_name(number, table),
            (IndexKind::Parts, 0) => base_name(number),
            (IndexKind::Parts, file) => part_name(number, file - 1),
        });
        let of_ids = self.ids.map(|_| ids_name(number));
        of_index.chain(of_ids).chain(self.names.map(|_| names_name(number)))
    }

    /// The payload, with the deletions of the segment and its window.
    pub(super) fn encode(&self, deletions: Option<&DeletionsEntry>, window: u64) -> Vec<u8> {
        let mut payload = vec![0; segment_section::END];
        LE::write_u64(&mut payload[segment_section::SEGMENT_NUMBER], self.number);
        LE::write_u64(&mut payload[segment_section::COUNT], self.count);
        LE::write_u128(&mut payload[segment_section::SET_SUM], self.set_sum);
        let sequence = deletions.map_or(0, |entry| entry.sequence);
        LE::write_u64(&mut payload[segment_section::SEQUENCE], sequence);
        LE::write_u64(&mut payload[segment_section::WINDOW], window);
        LE::write_u16(&mut payload[segment_section::TABLE_COUNT], self.tables.len() as u16);
        payload[segment_section::INDEX.start] = self.index as u8;
        for table in &self.tables {
            payload.extend(encode_entry((table.file_bytes, table.header_crc, table.footer_crc)));
        }
        let ids = self.ids.map(|ids| (ids.file_bytes, ids.header_crc, ids.directory_crc));
        let names = self.names.map(|at| (at.file_bytes, at.header_crc, at.directory_crc));
        let deletions = deletions.filter(|entry| entry.file_bytes > 0);
        let deletions = deletions.map(|at| (at.file_bytes, at.header_crc, at.footer_crc));
        for (flag, entry) in [(IDS, ids), (NAMES, names), (DELETIONS, deletions)] {
            if let Some(entry) = entry {
                payload[segment_section::FURTHER.start] |= flag;
                payload.extend(encode_entry(entry));
            }
        }
        payload
    }
}

impl SegmentSection {
    /// Decodes a segment of fingerprints of so many bits that stands behind segment `after`, in a
    /// store whose ids are names or not.
    pub(super) fn decode(
        section: &Section<'_>,
        after: u64,
        (bits, next_segment, are_names): (u16, u64, bool),
    ) -> Result<Self, Defect> {
        let Section { payload, at, .. } = *section;
        let wrong_length = Unsupported::PayloadLength { section: "SEGMENT" };
        if payload.len() < segment_section::END {
            return Err(Defect::unsupported(at, wrong_length));
        }
        let further = payload[segment_section::FURTHER.start];
        section.check_reserved(segment_section::RESERVED, "SEGMENT section")?;
        if further & !(IDS | NAMES | DELETIONS) != 0 {
            let at = at + segment_section::FURTHER.start;
            return Err(Defect::unsupported(at, Unsupported::Reserved { of: "SEGMENT section" }));
        }
        let index_at = at + segment_section::INDEX.start;
        let index = match payload[segment_section::INDEX.start] {
            0 => IndexKind::Tables,
            1 => IndexKind::Parts,
            found => return Err(Defect::unsupported(index_at, Unsupported::Index { found })),
        };
        let found = LE::read_u16(&payload[segment_section::TABLE_COUNT]);
        let entries = usize::from(found) + further.count_ones() as usize;
        if payload.len() != segment_section::END + file_entry::END * entries {
            return Err(Defect::unsupported(at, wrong_length));
        }
        if index == IndexKind::Tables && bits > 64 {
            return Err(Defect::unsupported(index_at, Unsupported::WideTables { bits }));
        }
        if !(1..=256).contains(&found) {
            let offset = at + segment_section::TABLE_COUNT.start;
            return Err(Defect::corrupt(offset, Corruption::TableCount { found }));
        }
        let number = LE::read_u64(&payload[segment_section::SEGMENT_NUMBER]);
        if number <= after || number >= next_segment {
            let corruption =
                Corruption::SegmentNumber { found: number, after, below: next_segment };
            return Err(Defect::corrupt(at, corruption));
        }
        let has_names = further & NAMES != 0;
        if has_names != (are_names && further & IDS != 0) {
            let offset = at + segment_section::FURTHER.start;
            let corruption = Corruption::SegmentNames { segment: number, names: has_names };
            return Err(Defect::corrupt(offset, corruption));
        }
        let entries = payload[segment_section::END..].chunks_exact(file_entry::END);
        let mut entries = entries.map(decode_entry);
        let tables = entries.by_ref().take(found.into());
        let tables = tables
            .map(|(file_bytes, header_crc, footer_crc)| TableEntry {
                file_bytes,
                header_crc,
                footer_crc,
            })
            .collect();
        // The length of the payload says that there are as many as flags.
        let mut next = |flag| (further & flag != 0).then(|| entries.next()).flatten();
        let ids = next(IDS).map(|(file_bytes, header_crc, directory_crc)| IdsEntry {
            file_bytes,
            header_crc,
            directory_crc,
        });
        let names = next(NAMES).map(|(file_bytes, header_crc, directory_crc)| NamesEntry {
            file_bytes,
            header_crc,
            directory_crc,
        });
        let sequence = LE::read_u64(&payload[segment_section::SEQUENCE]);
        let of_deletions = next(DELETIONS);
        if of_deletions.is_some_and(|(file_bytes, _, _)| file_bytes == 0) {
            // No file of this length has a header, and in memory it stands for none.
            let corruption = Corruption::NoHeader { file: "deletions file", found: 0 };
            return Err(Defect::corrupt(at, corruption));
        }
        let (file_bytes, header_crc, footer_crc) = of_deletions.unwrap_or_default();
        let segment = SegmentEntry {
            number,
            count: LE::read_u64(&payload[segment_section::COUNT]),
            set_sum: LE::read_u128(&payload[segment_section::SET_SUM]),
            index,
            tables,
            ids,
            names,
        };
        let deletions =
            DeletionsEntry { segment: number, sequence, file_bytes, header_crc, footer_crc };
        let window = LE::read_u64(&payload[segment_section::WINDOW]);
        Ok(Self { segment, deletions, window })
    }

    /// Checks what the segment says of deletions against the sequence of a LOG section.
    pub(super) fn check_deletions(
        &self,
        log: Option<u64>,
        section: &Section<'_>,
    ) -> Result<(), Defect> {
        let DeletionsEntry { segment, sequence, .. } = self.deletions;
        let has_file = section.payload[segment_section::FURTHER.start] & DELETIONS != 0;
        if sequence > log.unwrap_or(0) || (has_file && log.is_none()) {
            let offset = section.at + segment_section::SEQUENCE.start;
            let corruption = Corruption::SegmentSequence { segment, sequence };
            return Err(Defect::corrupt(offset, corruption));
        }
        Ok(())
    }
}
