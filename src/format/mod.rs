//! The byte layout of format version 1: the only home of offsets and magics.
//!
//! `format-spec/FORMAT.md` is the norm; a test of this module parses its tables and compares them
//! with the constants here. Decoding is pure: bytes in, a value or a [`Defect`] out. Nothing here
//! reads files, and nothing trusts a number before its rule was checked.

mod base;
mod deletions;
mod footer;
mod geometry;
mod ids;
mod log;
mod manifest;
mod names;
mod prefix;
mod section;
mod segment_entry;
mod table;

use std::path::Path;

pub(crate) use base::{
    BaseHeader, GROUP_BITS, GROUP_KEYS, KeyBits, MOST_KEY_BITS, MOST_ROWS, PartGeometry,
    PartHeader, TakenBits,
};
pub(crate) use deletions::{Deletion, Scope, decode_deletions, encode_deletions};
pub(crate) use footer::{Footer, follows};
pub(crate) use geometry::{Geometry, read_key};
pub(crate) use ids::{
    CHUNK_BYTES, GROUP_MARKS, IdsGeometry, IdsHeader, chunk_crc, digits, directory_crc,
};
pub(crate) use log::{
    Change, LogHeader, LogRecord, LogTag, LoggedId, LoggedOperation, Operation, RecordShape,
    Records, note, noted, promises, push_record, push_seal,
};
pub(crate) use manifest::{LogSection, MOST_NUMBERS, Manifest, WindowsSection};
pub(crate) use names::{
    GROUP_NAMES, GroupEntry, MOST_NAME_BYTES, NamesHeader, PAGE_NAME_GROUPS, PAGE_NAMES, PageEntry,
};
pub(crate) use prefix::{CRC_BYTES, FileKind, MOST_HEADER_BYTES};
pub use section::SkippedSection;
pub(crate) use segment_entry::{
    DeletionsEntry, IdsEntry, IndexKind, NamesEntry, SegmentEntry, TableEntry,
};
pub use table::{BitRange, Codec};
pub(crate) use table::{TableHeader, check_padding, is_block_bytes, is_identity, is_top, top_bits};

use crate::error::{Corruption, Error, Unsupported};
use crate::files::is_temporary_name;

/// Name of the manifest in the directory of a store.
pub(crate) const MANIFEST_NAME: &str = "manifest.fps";
/// Name of the file that writers lock.
pub(crate) const LOCK_NAME: &str = "lock";
/// What a writer that creates the lock writes into it, for people.
pub(crate) const LOCK_TEXT: &str = "\
A writer of this store locks this file while it runs. The system frees the lock when the writer
ends, however it ends: the file is never stale. Do not remove it.
";
/// Name of the manifest of a store that is not to be opened before all of it is there.
pub(crate) const MANIFEST_UNFINISHED: &str = ".tmp-fpstore-unfinished";
/// Name of a log until it has its header.
pub(crate) const LOG_TEMPORARY: &str = ".tmp-fpstore-log";
/// Name of the manifest until it is whole.
pub(crate) const MANIFEST_TEMPORARY: &str = ".tmp-fpstore-manifest";
/// The most bytes that a manifest has [MAN-1].
pub(crate) const MAX_MANIFEST_BYTES: u64 = 64 << 20;
/// Largest number of blocks of a table [FTR-1].
pub(crate) const MAX_BLOCKS: u64 = u32::MAX as u64;
/// Longest Huffman code, in bits [COD-2].
pub(crate) const MAX_CODE_BITS: u32 = 11;
/// The widths of the low column that the format knows [TAB-5].
pub(crate) const LOW_BITS: [u32; 7] = [0, 8, 16, 24, 32, 40, 48];

/// Planes of the widest column.
pub(crate) const MAX_PLANES: usize = LOW_BITS[LOW_BITS.len() - 1] as usize / 8;

/// The widths that a column of keys of so many bits can have.
pub(crate) fn low_widths(bits: u32) -> impl Iterator<Item = u32> + Clone {
    LOW_BITS.into_iter().filter(move |&width| width < bits)
}

/// Name of the file of table `table` of segment `segment`.
pub(crate) fn table_name(segment: u64, table: usize) -> String {
    format!("segment-{segment:016x}-table-{table:03}.fpt")
}

/// Name of the file of the ids of segment `segment`.
pub(crate) fn ids_name(segment: u64) -> String {
    format!("segment-{segment:016x}-ids.fpi")
}

/// Name of the file of the names of segment `segment`.
pub(crate) fn names_name(segment: u64) -> String {
    format!("segment-{segment:016x}-names.fpn")
}

/// Name of the base of segment `segment`.
pub(crate) fn base_name(segment: u64) -> String {
    format!("segment-{segment:016x}-base.fpb")
}

/// Name of the file of part table `part` of segment `segment`.
pub(crate) fn part_name(segment: u64, part: usize) -> String {
    format!("segment-{segment:016x}-part-{part:03}.fpp")
}

/// Name of the file of the deletions of segment `segment`.
pub(crate) fn deletions_name(segment: u64) -> String {
    format!("segment-{segment:016x}-deletions.fpd")
}

/// Name of the log with this number.
pub(crate) fn log_name(number: u64) -> String {
    format!("log-{number:016x}.fpl")
}

/// The number in the name of a log; `None` for any other name.
pub(crate) fn log_number(name: &str) -> Option<u64> {
    let number = name.strip_prefix("log-")?.strip_suffix(".fpl")?;
    let number = u64::from_str_radix(number, 16).ok()?;
    (log_name(number) == name).then_some(number)
}

/// The segment number in the name of a file of a segment; `None` for any other name.
pub(crate) fn segment_number(name: &str) -> Option<u64> {
    let (segment, file) = name.strip_prefix("segment-")?.split_once('-')?;
    let number = u64::from_str_radix(segment, 16).ok()?;
    let expected = match file.strip_prefix("table-").and_then(|file| file.strip_suffix(".fpt")) {
        Some(table) => table_name(number, table.parse().ok()?),
        None => match file.strip_prefix("part-").and_then(|file| file.strip_suffix(".fpp")) {
            Some(part) => part_name(number, part.parse().ok()?),
            None if file == "ids.fpi" => ids_name(number),
            None if file == "names.fpn" => names_name(number),
            None if file == "base.fpb" => base_name(number),
            None => deletions_name(number),
        },
    };
    (expected == name).then_some(number)
}

/// Whether `name` is one that a writer gives to the files it creates in a store.
pub(crate) fn is_writers_name(name: &str) -> bool {
    [MANIFEST_TEMPORARY, MANIFEST_UNFINISHED, LOG_TEMPORARY].contains(&name)
        || is_temporary_name(name)
        || segment_number(name).is_some()
        || log_number(name).is_some()
}

/// Rounds up to a multiple of 8.
pub(crate) const fn pad8(n: usize) -> usize {
    n.next_multiple_of(8)
}

/// A broken rule and where it was found; a file name makes it an [`Error`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Defect {
    offset: u64,
    what: What,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum What {
    Corrupt(Corruption),
    Unsupported(Unsupported),
}

impl Defect {
    /// The bytes at `offset` break a rule.
    pub(crate) fn corrupt(offset: usize, corruption: Corruption) -> Self {
        Self { offset: offset as u64, what: What::Corrupt(corruption) }
    }

    /// The bytes at `offset` use something unknown.
    pub(crate) fn unsupported(offset: usize, feature: Unsupported) -> Self {
        Self { offset: offset as u64, what: What::Unsupported(feature) }
    }

    /// The same, of bytes that stand so far behind the start of their file.
    pub(crate) fn moved(self, by: u64) -> Self {
        Self { offset: self.offset + by, ..self }
    }

    /// The error that names the file.
    pub(crate) fn in_file(self, path: &Path) -> Error {
        let (path, offset) = (path.to_path_buf(), self.offset);
        match self.what {
            What::Corrupt(corruption) => Error::Corrupt { path, offset, corruption },
            What::Unsupported(feature) => Error::Unsupported { path, offset, feature },
        }
    }
}

/// Declares the fields of one structure as ranges of bytes, and its length.
macro_rules! layout {
    ($(#[$doc:meta])* $name:ident: $($field:ident = $at:literal + $bytes:literal),* ; $end:literal) => {
        $(#[$doc])*
        // The description is whole, whether or not every field is read by name.
        #[allow(dead_code)]
        pub(crate) mod $name {
            use std::ops::Range;
            $(pub(crate) const $field: Range<usize> = $at..$at + $bytes;)*
            pub(crate) const END: usize = $end;
            #[cfg(test)]
            pub(crate) const FIELDS: &[(&str, Range<usize>)] = &[$((stringify!($field), $field)),*];
        }
    };
}

layout!(
    /// Section 4.1.
    header_prefix:
    MAGIC = 0 + 8, VERSION_MAJOR = 8 + 2, VERSION_MINOR = 10 + 2, HEADER_BYTES = 12 + 4; 16
);
layout!(
    /// Section 5.1.
    manifest_header:
    MAGIC = 0 + 8, VERSION_MAJOR = 8 + 2, VERSION_MINOR = 10 + 2, HEADER_BYTES = 12 + 4,
    FILE_BYTES = 16 + 8, SECTION_COUNT = 24 + 4, HEADER_CRC = 28 + 4; 32
);
layout!(
    /// Section 5.2.
    section_header:
    KIND = 0 + 4, FLAGS = 4 + 4, PAYLOAD_BYTES = 8 + 8, PAYLOAD_CRC = 16 + 4, HEADER_CRC = 20 + 4; 24
);
layout!(
    /// The STORE payload.
    store_section:
    FINGERPRINT_BITS = 0 + 2, PLANNED_RADIUS = 2 + 2, SEGMENT_COUNT = 4 + 4, NEXT_SEGMENT = 8 + 8,
    STORE_ID = 16 + 16, GENERATION = 32 + 8, NAME_KIND = 40 + 2, NAME_BYTES = 42 + 2,
    RESERVED = 44 + 4, WINDOW_SECONDS = 48 + 8; 56
);
layout!(
    /// The SEGMENT payload; the entries of its files follow.
    segment_section:
    SEGMENT_NUMBER = 0 + 8, COUNT = 8 + 8, SET_SUM = 16 + 16, SEQUENCE = 32 + 8, WINDOW = 40 + 8,
    TABLE_COUNT = 48 + 2, INDEX = 50 + 1, FURTHER = 51 + 1, RESERVED = 52 + 4; 56
);
layout!(
    /// What a SEGMENT payload says of a file.
    file_entry:
    FILE_BYTES = 0 + 8, HEADER_CRC = 8 + 4, END_CRC = 12 + 4; 16
);
layout!(
    /// The LOG payload.
    log_section:
    FIRST_LOG = 0 + 8, SEQUENCE = 8 + 8, FLAGS = 16 + 4, RESERVED = 20 + 4, WRITTEN_BYTES = 24 + 8,
    INSERTED_BYTES = 32 + 8, NEXT_ID = 40 + 8; 48
);
layout!(
    /// Section 6.2; the bit ranges follow.
    table_header:
    MAGIC = 0 + 8, VERSION_MAJOR = 8 + 2, VERSION_MINOR = 10 + 2, HEADER_BYTES = 12 + 4,
    FINGERPRINT_BITS = 16 + 2, CODEC = 18 + 1, LOW_BITS = 19 + 1, BLOCK_BYTES = 20 + 4,
    COUNT = 24 + 8, SET_SUM = 32 + 16, TABLE_NUMBER = 48 + 2, RANGE_COUNT = 50 + 2,
    CUT_BITS = 52 + 1, RESERVED = 53 + 3; 56
);
layout!(
    /// Section 6.3.
    table_footer:
    BLOCK_COUNT = 0 + 8, ROUTER_CRC = 8 + 4, CODES_CRC = 12 + 4, HISTOGRAM_CRC = 16 + 4,
    FOOTER_CRC = 20 + 4; 24
);
layout!(
    /// Section 6.4.
    block:
    BLOCK_CRC = 0 + 4, KEY_COUNT = 4 + 2, FIRST_KEY = 6 + 8; 14
);

layout!(
    /// Section 9.1.
    ids_header:
    MAGIC = 0 + 8, VERSION_MAJOR = 8 + 2, VERSION_MINOR = 10 + 2, HEADER_BYTES = 12 + 4,
    COUNT = 16 + 8, BLOCK_COUNT = 24 + 8, ID_COUNT = 32 + 8, TABLE_CRC = 40 + 4, ID_BITS = 44 + 1,
    RESERVED = 45 + 7, HEADER_CRC = 52 + 4; 56
);

layout!(
    /// Section 8.1; the rows follow.
    base_header:
    MAGIC = 0 + 8, VERSION_MAJOR = 8 + 2, VERSION_MINOR = 10 + 2, HEADER_BYTES = 12 + 4,
    FINGERPRINT_BITS = 16 + 2, PART_COUNT = 18 + 2, SET_SUM = 20 + 16, COUNT = 36 + 8,
    RESERVED = 44 + 16, HEADER_CRC = 60 + 4; 64
);
layout!(
    /// Section 8.2; starts, marks and rows follow.
    part_header:
    MAGIC = 0 + 8, VERSION_MAJOR = 8 + 2, VERSION_MINOR = 10 + 2, HEADER_BYTES = 12 + 4,
    FINGERPRINT_BITS = 16 + 2, PART_NUMBER = 18 + 2, START_BIT = 20 + 2, PART_BITS = 22 + 2,
    COUNT = 24 + 8, COINCIDENCES = 32 + 8, BASE_CRC = 40 + 4, KEY_BITS = 44 + 1,
    KEY_FORM = 45 + 1, RESERVED = 46 + 14, HEADER_CRC = 60 + 4; 64
);

layout!(
    /// Section 11.3; the deletions follow.
    deletions_header:
    MAGIC = 0 + 8, VERSION_MAJOR = 8 + 2, VERSION_MINOR = 10 + 2, HEADER_BYTES = 12 + 4,
    COUNT = 16 + 8, SEGMENT_NUMBER = 24 + 8, RESERVED = 32 + 4, HEADER_CRC = 36 + 4; 40
);
layout!(
    /// Section 11.3.
    deletion:
    FINGERPRINT = 0 + 8, ID = 8 + 8, SEQUENCE_AND_SCOPE = 16 + 8; 24
);
layout!(
    /// Section 11; the records follow.
    log_header:
    MAGIC = 0 + 8, VERSION_MAJOR = 8 + 2, VERSION_MINOR = 10 + 2, HEADER_BYTES = 12 + 4,
    STORE_ID = 16 + 16, LOG_NUMBER = 32 + 8, SEQUENCE = 40 + 8, FLAGS = 48 + 4, HEADER_CRC = 52 + 4; 56
);
layout!(
    /// Section 11; the payload follows, then padding and a CRC.
    log_record:
    HEADER_CRC = 0 + 4, PAYLOAD_BYTES = 4 + 4, FIRST_SEQUENCE = 8 + 8, DURABLE_SEQUENCE = 16 + 8,
    OPERATION_COUNT = 24 + 4, KIND = 28 + 1, RESERVED = 29 + 3; 32
);
layout!(
    /// Section 10.2; the pages follow.
    names_header:
    MAGIC = 0 + 8, VERSION_MAJOR = 8 + 2, VERSION_MINOR = 10 + 2, HEADER_BYTES = 12 + 4,
    NAME_COUNT = 16 + 8, NAME_BYTES = 24 + 8, DIRECTORY_BYTES = 32 + 8, CODE_LENGTHS = 40 + 128,
    RESERVED = 168 + 4, HEADER_CRC = 172 + 4; 176
);
layout!(
    /// Section 10.3; the first names of all pages follow the last entry.
    names_page:
    PAGE_END = 0 + 8, NAME_END = 8 + 8, FRONT_BYTES = 16 + 4, FRONT_CRC = 20 + 4; 24
);
layout!(
    /// Section 10.4.
    names_group:
    GROUP_END = 0 + 4, GROUP_CRC = 4 + 4; 8
);

#[cfg(test)]
#[path = "../../tests/it/spec.rs"]
#[allow(dead_code, missing_docs)]
mod spec;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{Corruption, NOT_A_STORE, Unsupported};

    #[test]
    fn the_offset_tables_of_the_document_are_those_of_the_code() {
        let code = [
            ("header-prefix", header_prefix::FIELDS, header_prefix::END),
            ("manifest-header", manifest_header::FIELDS, manifest_header::END),
            ("section-header", section_header::FIELDS, section_header::END),
            ("store-section", store_section::FIELDS, store_section::END),
            ("segment-section", segment_section::FIELDS, segment_section::END),
            ("file-entry", file_entry::FIELDS, file_entry::END),
            ("log-section", log_section::FIELDS, log_section::END),
            ("deletions-header", deletions_header::FIELDS, deletions_header::END),
            ("deletion", deletion::FIELDS, deletion::END),
            ("log-header", log_header::FIELDS, log_header::END),
            ("log-record", log_record::FIELDS, log_record::END),
            ("base-header", base_header::FIELDS, base_header::END),
            ("part-header", part_header::FIELDS, part_header::END),
            ("ids-header", ids_header::FIELDS, ids_header::END),
            ("names-header", names_header::FIELDS, names_header::END),
            ("names-page", names_page::FIELDS, names_page::END),
            ("names-group", names_group::FIELDS, names_group::END),
            ("table-header", table_header::FIELDS, table_header::END),
            ("table-footer", table_footer::FIELDS, table_footer::END),
            ("block", block::FIELDS, block::END),
        ];
        for (name, fields, end) in code {
            let mut expected: Vec<_> = fields
                .iter()
                .map(|(field, range)| {
                    (field.to_lowercase(), (range.start, Some(range.end - range.start)))
                })
                .collect();
            expected.push(("end".to_string(), (end, None)));
            expected.sort();
            let document: Vec<_> = spec::offsets(name).clone().into_iter().collect();
            assert_eq!(document, expected, "table {name} of the document");
        }
    }

    #[test]
    fn every_rule_of_the_document_has_an_error_and_every_error_a_rule() {
        let rules = [Corruption::RULES, Unsupported::RULES, &[NOT_A_STORE]].concat();
        let code: std::collections::BTreeSet<_> = rules.into_iter().map(str::to_string).collect();
        let document: std::collections::BTreeSet<String> = spec::rules().into_keys().collect();
        assert_eq!(code, document);
    }

    #[test]
    fn only_names_that_a_writer_gives_are_recognised_as_such() {
        assert!(is_writers_name(&table_name(0xab, 7)));
        assert!(is_writers_name(&ids_name(0xab)));
        assert!(is_writers_name(&names_name(0xab)));
        assert!(is_writers_name(&deletions_name(0xab)));
        assert!(is_writers_name(&base_name(0xab)));
        assert!(is_writers_name(&part_name(0xab, 254)));
        assert!(is_writers_name(&log_name(0xab)));
        assert_eq!(log_number(&log_name(u64::MAX)), Some(u64::MAX));
        assert_eq!(segment_number(&deletions_name(7)), Some(7));
        assert!(is_writers_name(MANIFEST_TEMPORARY));
        assert!(is_writers_name(".tmp-fpstore-0aZ9bY"));
        for foreign in [
            ".tmp-notes",
            ".tmp-manifest.fps",
            ".tmp-fpstore-",
            ".tmp-fpstore-notes",
            ".tmp-fpstore-notes-of-mine",
            ".tmp-fpstore-0aZ9b_",
            ".tmp-fpstore-manifest.fps",
            "segment-0000000000000001-table-+00.fpt",
            "segment-1-table-000.fpt",
            "segment-00000000000000AB-table-000.fpt",
            "segment-0000000000000001-table-000.fpt.bak",
            "segment-0000000000000001-ids.fpt",
            "segment-0000000000000001-ids.fpi.bak",
            "segment-1-ids.fpi",
            "segment-0000000000000001-names.fpi",
            "segment-0000000000000001-names.fpn.bak",
            "segment-0000000000000001-base.fpp",
            "segment-0000000000000001-base.fpb.bak",
            "segment-0000000000000001-part-0.fpp",
            "segment-0000000000000001-part-000.fpt",
            "segment-0000000000000001-deletions.fpi",
            "segment-0000000000000001-deletions.fpd.bak",
            "log-0000000000000001.fpl.bak",
            "log-00000000000000AB.fpl",
            "log-+000000000000001.fpl",
            "log-1.fpl",
            "photos",
            MANIFEST_NAME,
        ] {
            assert!(!is_writers_name(foreign), "{foreign}");
        }
    }
}
