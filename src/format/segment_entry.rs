//! What the manifest says of a segment (sections 3.4 and 3.5 of the specification).

use byteorder::{ByteOrder, LittleEndian as LE};

use super::section::Section;
use super::{
    Defect, base_name, ids_name, ids_section, names_name, part_name, segment_section, table_entry,
    table_name,
};
use crate::error::{Corruption, Unsupported};

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

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut payload = vec![0; segment_section::END + table_entry::END * self.tables.len()];
        LE::write_u64(&mut payload[segment_section::SEGMENT_NUMBER], self.number);
        LE::write_u64(&mut payload[segment_section::COUNT], self.count);
        LE::write_u128(&mut payload[segment_section::SET_SUM], self.set_sum);
        LE::write_u16(&mut payload[segment_section::TABLE_COUNT], self.tables.len() as u16);
        LE::write_u16(&mut payload[segment_section::ENTRY_BYTES], table_entry::END as u16);
        payload[segment_section::INDEX.start] = self.index as u8;
        let entries = payload[segment_section::END..].chunks_exact_mut(table_entry::END);
        for (entry, table) in entries.zip(&self.tables) {
            LE::write_u64(&mut entry[table_entry::FILE_BYTES], table.file_bytes);
            LE::write_u32(&mut entry[table_entry::HEADER_CRC], table.header_crc);
            LE::write_u32(&mut entry[table_entry::FOOTER_CRC], table.footer_crc);
        }
        payload
    }

    /// Decodes a segment of fingerprints of so many bits that stands behind segment `after`.
    pub(super) fn decode(
        section: &Section<'_>,
        after: u64,
        (bits, next_segment): (u16, u64),
    ) -> Result<Self, Defect> {
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
        let index = match payload[segment_section::INDEX.start] {
            0 => IndexKind::Tables,
            1 => IndexKind::Parts,
            found => {
                let at = at + segment_section::INDEX.start;
                return Err(Defect::unsupported(at, Unsupported::Index { found }));
            }
        };
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
        if index == IndexKind::Tables && bits > 64 {
            let offset = at + segment_section::INDEX.start;
            return Err(Defect::corrupt(offset, Corruption::WideTables { bits }));
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
            index,
            tables,
            ids: None,
            names: None,
        })
    }
}

impl IdsEntry {
    pub(super) fn encode(&self, segment: u64) -> [u8; ids_section::END] {
        let mut payload = [0; ids_section::END];
        LE::write_u64(&mut payload[ids_section::SEGMENT_NUMBER], segment);
        LE::write_u64(&mut payload[ids_section::FILE_BYTES], self.file_bytes);
        LE::write_u32(&mut payload[ids_section::HEADER_CRC], self.header_crc);
        LE::write_u32(&mut payload[ids_section::DIRECTORY_CRC], self.directory_crc);
        payload
    }

    /// Decodes the ids of a segment behind segment `after`, and gives them to it. Gives its number.
    pub(super) fn decode(
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
