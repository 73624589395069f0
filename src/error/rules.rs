//! The rules of the format specification (`format-spec/FORMAT.md`) that a file can break.

use std::fmt;

/// Declares an enum with a variant for each rule: its fields, the tag of the rule, and the message,
/// which may use the fields.
macro_rules! rules {
    (
        $(#[$meta:meta])*
        $name:ident:
        $(
            $(#[$doc:meta])*
            $variant:ident $({ $($field:ident: $type:ty),* })? = $rule:literal, $message:literal;
        )*
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        #[allow(missing_docs)] // the fields are what the messages say
        pub enum $name {
            $($(#[$doc])* $variant $({ $($field: $type),* })?,)*
        }

        impl $name {
            /// The tags of all rules.
            #[cfg(test)]
            pub(crate) const RULES: &'static [&'static str] = &[$($rule),*];

            /// The tag of the rule in the specification, such as `BLK-4`.
            pub const fn rule(&self) -> &'static str {
                match self {
                    $(Self::$variant { .. } => $rule,)*
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "[{}] ", self.rule())?;
                match self {
                    $(Self::$variant $({ $($field),* })? => write!(f, $message),)*
                }
            }
        }

        impl std::error::Error for $name {}
    };
}

rules! {
    /// A broken rule of the format specification: the bytes are not what a writer wrote.
    Corruption:
    /// A table file that the manifest names is missing.
    TableMissing = "DIR-2", "this table file is missing";
    /// An ids file that the manifest names is missing.
    IdsMissing = "DIR-2", "this ids file is missing";
    /// A names file that the manifest names is missing.
    NamesMissing = "DIR-2", "this names file is missing";
    /// A deletions file that the manifest names is missing.
    DeletionsMissing = "DIR-2", "this deletions file is missing";
    /// The log that the manifest names is missing.
    LogMissing = "DIR-2", "this log is missing";
    /// A file is shorter than any header.
    NoHeader { file: &'static str, found: u64 } = "PRE-1", "the {file} has {found} bytes, the shortest header has 24";
    /// A file does not start with its magic.
    Magic { file: &'static str, found: [u8; 8] } = "PRE-2", "this is no fpstore {file}: the first bytes are {found:02x?}";
    /// The length of a header is impossible.
    HeaderLength { file: &'static str, found: u32, file_bytes: u64 } = "PRE-3", "the header of the {file} cannot have {found} bytes: they are a multiple of 8 from 24 to 65536, and the file has {file_bytes}";
    /// The CRC of a header is wrong.
    HeaderChecksum { file: &'static str, found: u32, computed: u32 } = "PRE-4", "header CRC of the {file} is {found:08x}, computed {computed:08x}";
    /// The manifest says another length than it has.
    ManifestLength { stated: u64, found: u64 } = "MAN-1", "the manifest states {stated} bytes and has {found}";
    /// A manifest is longer than any may be.
    ManifestLimit { most: u64 } = "MAN-1", "the manifest has more than {most} bytes";
    /// Sections and file do not end together, or one does not lie inside the file.
    SectionBounds { section: u32, needed: u64, left: u64 } = "MAN-2", "section {section} does not fit: {needed} bytes needed, {left} left";
    /// The CRC of a section header is wrong.
    SectionHeaderChecksum { section: u32, found: u32, computed: u32 } = "MAN-3", "header CRC of section {section} is {found:08x}, computed {computed:08x}";
    /// The CRC of a section's payload is wrong.
    SectionChecksum { section: u32, found: u32, computed: u32 } = "MAN-5", "payload CRC of section {section} is {found:08x}, computed {computed:08x}";
    /// The padding of a section is not zero.
    SectionPadding { section: u32 } = "MAN-6", "padding of section {section} is not zero";
    /// The flags of a section of known kind are wrong.
    SectionFlags { section: u32, kind: u32, found: u32, expected: u32 } = "MAN-8", "section {section} of kind {kind} has the flags {found:x}, not {expected:x}";
    /// The STORE section is not the first one, or not the only one.
    StoreSection { section: u32 } = "MAN-9", "the STORE section must be the first and the only one; section {section} breaks this";
    /// The planned radius is greater than the number of bits of a fingerprint.
    PlannedRadius { found: u16, bits: u16 } = "STO-2", "the planned radius is {found}, over {bits}";
    /// The generation is 0.
    Generation = "STO-4", "the generation is 0, the first is 1";
    /// The number of SEGMENT sections is not as stated.
    SegmentCount { stated: u32, found: u32 } = "STO-3", "{stated} segments stated, {found} found";
    /// A segment has no table, or too many.
    TableCount { found: u16 } = "SEG-2", "the segment has {found} tables, not 1 to 256";
    /// A segment with ids has no names in a store with names, or the other way round.
    SegmentNames { segment: u64, names: bool } = "SEG-5", "segment {segment} says of names: {names}, which its ids or the STORE section deny";
    /// A segment knows the future, or has deletions in a store without a log.
    SegmentSequence { segment: u64, sequence: u64 } = "SEG-6", "segment {segment} has the sequence {sequence}, above that of the log, or deletions without a log";
    /// Segment numbers do not ascend from 1 to below next_segment.
    SegmentNumber { found: u64, after: u64, below: u64 } = "SEG-4", "segment number {found} is not above {after} and below {below}";
    /// Names of a width that their kind does not have.
    NameBytes { kind: u16, found: u16 } = "STO-6", "names of kind {kind} cannot have {found} bytes each";
    /// The LOG section and the STORE section disagree.
    LogShape { flags: u32 } = "LGS-4", "the LOG section has flags {flags:x}, which say of names or windows what the STORE section denies";
    /// The number of an id that no name has.
    NameNumber { id: u64, names: u64 } = "NAM-13", "there is an id with the number {id}, and there are {names} names";
    /// A name has another length than the store says.
    NameWidth { name: u64, found: u64 } = "NAM-14", "name {name} has {found} bytes, which the NAMES section rules out";
    /// There is more than one LOG section.
    LogTwice = "LGS-1", "a second LOG section";
    /// The number of the first log, or the sequence, is impossible.
    LogNumbers { first_log: u64, sequence: u64 } = "LGS-2", "the first log is {first_log}, the sequence {sequence}: they are less than 2^62, and the former is not 0";
    /// A segment has ids in a store without, or the other way round.
    LogIds { segment: u64, ids: bool } = "LGS-3", "segment {segment} differs from the LOG section, which says of ids: {ids}";
    /// A deletions file has another length than the manifest says.
    DeletionsLength { found: u64, expected: u64 } = "FIL-1", "the deletions file has {found} bytes, the manifest says {expected}";
    /// The deletions file is not the one that the manifest means.
    DeletionsNotInManifest { found: u32, expected: u32 } = "FIL-2", "header CRC of the deletions file is {found:08x}, the manifest means {expected:08x}";
    /// The deletions are those of another segment.
    DeletionsSegment { found: u64, expected: u64 } = "DEL-1", "the deletions are those of segment {found}, not {expected}";
    /// The number of deletions contradicts the length of the file.
    DeletionCount { count: u64, file_bytes: u64 } = "DEL-2", "{count} deletions contradict a file of {file_bytes} bytes";
    /// The CRC of the deletions is wrong.
    DeletionsChecksum { found: u32, computed: u32 } = "FIL-3", "CRC of the deletions is {found:08x}, computed {computed:08x}";
    /// The deletions are not those that the manifest means.
    DeletionsFooterNotInManifest { found: u32, expected: u32 } = "FIL-4", "CRC of the deletions is {found:08x}, the manifest means {expected:08x}";
    /// Deletions do not ascend, or have an impossible sequence.
    DeletionOrder { deletion: u64 } = "DEL-3", "deletion {deletion} is not above the one before it, or its sequence is not of this store";
    /// The log is another one than expected.
    OtherLog { found: u64, sequence: u64, expected: u64, expected_sequence: u64 } = "LOG-1", "this is log {found} from sequence {sequence} on, of this store or another, or with other records, in the place of log {expected} from {expected_sequence} on";
    /// A part of the log that was durable is damaged.
    LogBroken { sequence: u64 } = "LOG-3", "the log is damaged where operation {sequence} stands, which was durable";
    /// A log goes on behind its end.
    LogAfterSeal = "LOG-4", "the log goes on behind the record that ends it";
    /// A log follows one that has no end.
    LogUnsealed { next: u64 } = "LOG-5", "log {next} holds operations, but this one before it does not end";
    /// A log ends before its first record could begin.
    LogShort { found: u64, least: u64 } = "LOG-8", "the log has {found} bytes, the least is {least}";
    /// A whole record makes no sense.
    LogOperations { sequence: u64 } = "LOG-6", "the record of operation {sequence} does not hold the operations that it states";
    /// A table file has another length than the manifest says.
    TableLength { found: u64, expected: u64 } = "FIL-1", "the table has {found} bytes, the manifest says {expected}";
    /// The file is too short for a table.
    TableTooShort { file_bytes: u64, least: u64 } = "TAB-1", "a table has at least {least} bytes, this one {file_bytes}";
    /// The table is not the one that the manifest means.
    HeaderNotInManifest { found: u32, expected: u32 } = "FIL-2", "table header CRC is {found:08x}, the manifest means a table with {expected:08x}";
    /// The block size is impossible.
    BlockBytes { found: u32 } = "TAB-6", "block size {found} is no power of two from 256 to 8192";
    /// The table has keys of another width than the store.
    TableWidth { found: u32, expected: u32 } = "TAB-7", "keys of {found} bits in a store of fingerprints of {expected} bits";
    /// The table stands in another table's place.
    TableNumber { found: u16, expected: u16 } = "TAB-7", "this is table {found} in the place of table {expected}";
    /// The table is one of another set.
    OtherSet { found_count: u64, expected_count: u64 } = "TAB-7", "count or set sum of the table ({found_count} fingerprints) differ from the segment's ({expected_count})";
    /// The bit ranges of the top are impossible.
    TopRanges = "TAB-8", "the bit ranges of the top are empty, overlap, leave the key, or do not fit the header";
    /// Table 0 is permuted.
    NotIdentity = "TAB-9", "table 0 is not in identity order";
    /// Table 0 does not have whole fingerprints.
    ShortIdentity = "TAB-9", "the keys of table 0 are cut";
    /// Padding behind the header is not zero.
    HeaderPadding = "TAB-10", "padding between the header and the blocks is not zero";
    /// The CRC of the footer is wrong.
    FooterChecksum { found: u32, computed: u32 } = "FIL-3", "footer CRC is {found:08x}, computed {computed:08x}";
    /// The footer is not the one that the manifest means.
    FooterNotInManifest { found: u32, expected: u32 } = "FIL-4", "footer CRC is {found:08x}, the manifest means a table with {expected:08x}";
    /// The number of blocks contradicts the count or the length of the file.
    BlockCount { blocks: u64, count: u64, file_bytes: u64 } = "FTR-1", "{blocks} blocks contradict {count} keys in a file of {file_bytes} bytes";
    /// The CRC of the router is wrong.
    RouterChecksum { found: u32, computed: u32 } = "RTR-1", "router CRC is {found:08x}, computed {computed:08x}";
    /// The router does not ascend.
    RouterOrder { block: u64 } = "RTR-2", "router entry {block} is not above the one before it";
    /// The CRC of the code lengths is wrong.
    CodesChecksum { found: u32, computed: u32 } = "COD-1", "CRC of the code lengths is {found:08x}, computed {computed:08x}";
    /// A code is longer than 11 bits, or padding is not zero.
    CodeLength { class: u32, found: u8 } = "COD-2", "code length {found} of class {class} is over 11, or padding is not zero";
    /// The code is not complete.
    IncompleteCode { codes: u32, count: u64 } = "COD-3", "the {codes} code lengths make no complete code for {count} keys";
    /// The CRC of the histogram is wrong.
    HistogramChecksum { found: u32, computed: u32 } = "HIS-1", "histogram CRC is {found:08x}, computed {computed:08x}";
    /// The histogram contradicts the count or the codes.
    HistogramSum { count: u64 } = "HIS-2", "the histogram contradicts the {count} keys or the code lengths";
    /// The histogram is not that of the keys.
    Histogram { class: u32, stated: u64, found: u64 } = "SET-3", "the histogram says {stated} keys of class {class}, there are {found}";
    /// The CRC of a block is wrong.
    BlockChecksum { block: u64, found: u32, computed: u32 } = "BLK-1", "CRC of block {block} is {found:08x}, computed {computed:08x}";
    /// A block has no keys, or more than its column has room for.
    KeyCount { block: u64, found: u32 } = "BLK-2", "block {block} cannot hold {found} keys";
    /// The stream holds bits that are no code.
    InvalidCode { block: u64, key: u32 } = "BLK-3", "key {key} of block {block} has no valid code";
    /// Codes and raw bits of a block run into each other.
    StreamOverrun { block: u64, key: u32 } = "BLK-4", "codes and raw bits of block {block} run into each other at key {key}";
    /// A class is not that of the step it codes.
    ImpossibleClass { block: u64, key: u32 } = "BLK-5", "the class of key {key} of block {block} does not fit the key before it";
    /// Keys do not ascend.
    KeyOrder { block: u64, key: u32 } = "BLK-6", "key {key} of block {block} is not above the one before it";
    /// Blocks do not ascend.
    BlockOrder { block: u64 } = "BLK-7", "block {block} begins at or below the end of the block before it";
    /// The last key of a block is not the router's.
    LastKey { block: u64, found: u64, expected: u64 } = "BLK-8", "block {block} ends with {found:016x}, the router says {expected:016x}";
    /// Padding of a block is not zero.
    BlockPadding { block: u64 } = "BLK-9", "padding of block {block} is not zero";
    /// A base or part file that the manifest names is missing.
    BaseMissing = "DIR-2", "this file of the segment is missing";
    /// A base or part file has another length than the manifest says.
    BaseLength { found: u64, expected: u64 } = "FIL-1", "the file has {found} bytes, the manifest says {expected}";
    /// The base or part file is not the one that the manifest means.
    BaseNotInManifest { found: u32, expected: u32 } = "FIL-2", "header CRC is {found:08x}, the manifest means {expected:08x}";
    /// The base does not say what the manifest says of its segment.
    BaseOfOtherSegment = "BAS-1", "width, number of parts, count or set sum of the base are not those of the manifest";
    /// There are not so many rows in a base.
    BaseCount { count: u64, file_bytes: u64 } = "BAS-2", "{count} rows do not fit a base file of {file_bytes} bytes, or are more than a base has";
    /// The CRC of the directory of a base or part file is wrong.
    BaseDirectoryChecksum { found: u32, computed: u32 } = "FIL-3", "directory CRC is {found:08x}, computed {computed:08x}";
    /// The directory of a base or part file is not the one that the manifest means.
    BaseDirectoryNotInManifest { found: u32, expected: u32 } = "FIL-4", "directory CRC is {found:08x}, the manifest means {expected:08x}";
    /// A chunk of a base or part file is damaged.
    BaseChunkChecksum { chunk: u64, found: u32, computed: u32 } = "FIL-5", "CRC of chunk {chunk} is {found:08x}, computed {computed:08x}";
    /// The rows of a base do not ascend.
    BaseOrder { row: u64 } = "BAS-3", "row {row} of the base is not greater than the one before it";
    /// The set sum of a base is not that of its rows.
    BaseSetSum = "BAS-4", "the set sum of the rows is not what the header says";
    /// A part table belongs to another base.
    PartOfOtherBase { part: u16 } = "PRT-2", "width, number, count or CRC of the base are not those of part {part} of this base";
    /// The parts do not cover the fingerprints one after the other.
    PartBits { start: u16, bits: u16, key: u8 } = "PRT-3", "a part of {bits} bits from bit {start} on, with keys of {key} bits, does not fit its place";
    /// The mask of a part does not have so many bits that are of no part before it.
    PartMask { part: u16, key: u8 } = "PRT-3", "the key mask of part {part} does not have {key} bits of its own, or its parts have ranges";
    /// A part table has another length than its header says.
    PartLength { count: u64, file_bytes: u64 } = "PRT-4", "a part table of {count} rows does not fit a file of {file_bytes} bytes";
    /// The marks of a group of keys are not what its start says.
    PartGroup { group: u64 } = "PRT-5", "the marks of group {group} do not fit the starts";
    /// A part table names a row that the base does not have.
    PartRow { row: u64, count: u64 } = "PRT-6", "row {row} of a base of {count}";
    /// A part table does not have each row under its key, in order.
    PartOrder { place: u64 } = "PRT-7", "the row at place {place} does not stand under its key, or not in order";
    /// The number of coincidences is not that of the keys.
    PartCoincidences { found: u64, computed: u64 } = "PRT-8", "{found} pairs of rows with equal keys are stated, {computed} are there";
    /// What fills the last words of a part table is not zero.
    PartPadding = "PRT-9", "padding of a part table is not zero";
    /// An ids file has another length than the manifest says.
    IdsLength { found: u64, expected: u64 } = "FIL-1", "the ids file has {found} bytes, the manifest says {expected}";
    /// The ids file is not the one that the manifest means.
    IdsNotInManifest { found: u32, expected: u32 } = "FIL-2", "header CRC of the ids file is {found:08x}, the manifest means {expected:08x}";
    /// The ids are those of another table.
    IdsOfOtherTable { found: u32, expected: u32 } = "IDS-1", "the ids are of a table with the header CRC {found:08x}, this one has {expected:08x}, or count or blocks differ";
    /// Number and width of the ids contradict the count or the length of the file.
    IdCount { ids: u64, bits: u8, count: u64, file_bytes: u64 } = "IDS-2", "{ids} ids of {bits} bits contradict {count} fingerprints in a file of {file_bytes} bytes";
    /// The CRC of the directory of an ids file is wrong.
    IdsDirectoryChecksum { found: u32, computed: u32 } = "FIL-3", "directory CRC of the ids file is {found:08x}, computed {computed:08x}";
    /// The directory is not the one that the manifest means.
    IdsDirectoryNotInManifest { found: u32, expected: u32 } = "FIL-4", "directory CRC of the ids file is {found:08x}, the manifest means {expected:08x}";
    /// The counts of marks are impossible.
    MarkCounts { group: u64 } = "IDS-3", "the count of marks before group {group} is impossible";
    /// The CRC of a chunk is wrong.
    ChunkChecksum { chunk: u64, found: u32, computed: u32 } = "FIL-5", "CRC of chunk {chunk} is {found:08x}, computed {computed:08x}";
    /// The rank of a block is not the number of keys before it.
    BlockRank { block: u64, found: u64, expected: u64 } = "IDS-4", "the rank of block {block} is {found}, not {expected}";
    /// The marks of a group contradict the directory, or the first id has none.
    Marks { group: u64 } = "IDS-5", "group {group} does not have the marks that the directory counts";
    /// The ids of a fingerprint do not ascend.
    IdOrder { id: u64 } = "IDS-6", "id {id} is not above the one before it, of the same fingerprint";
    /// Bits behind the entries of a part are not zero.
    IdsPadding = "IDS-7", "padding in the ids file is not zero";
    /// A table holds another number of keys than stated.
    SetCount { found: u64, expected: u64 } = "SET-1", "the table holds {found} keys, {expected} are stated";
    /// A table holds other fingerprints than stated.
    SetSum { found: u128, expected: u128 } = "SET-2", "the fingerprints of the table add up to {found:032x}, {expected:032x} is stated";
    /// A short table does not hold the first bits of all fingerprints.
    ShortSum { found: u128, expected: u128 } = "SET-4", "the keys of the short table add up to {found:032x}, those of the fingerprints to {expected:032x}";
    /// A names file has another length than the manifest says.
    NamesLength { found: u64, expected: u64 } = "FIL-1", "the names file has {found} bytes, the manifest says {expected}";
    /// The names file is not the one that the manifest means.
    NamesNotInManifest { found: u32, expected: u32 } = "FIL-2", "header CRC of the names file is {found:08x}, the manifest means {expected:08x}";
    /// The code of a byte is too long.
    NamesCodeLength { byte: u8, found: u8 } = "NAM-1", "byte {byte:02x} has a code of {found} bits";
    /// The codes of the bytes of names are not complete.
    NamesCode { codes: u32, names: u64 } = "NAM-1", "{codes} codes are not a complete code for {names} names";
    /// The directory of a names file does not fit.
    NamesDirectoryLength { found: u64, names: u64, file_bytes: u64 } = "NAM-2", "a directory of {found} bytes contradicts {names} names in a file of {file_bytes} bytes";
    /// The CRC of the directory of a names file is wrong.
    NamesDirectoryChecksum { found: u32, computed: u32 } = "FIL-3", "directory CRC of the names file is {found:08x}, computed {computed:08x}";
    /// The directory of a names file is not the one that the manifest means.
    NamesDirectoryNotInManifest { found: u32, expected: u32 } = "FIL-4", "directory CRC of the names file is {found:08x}, the manifest means {expected:08x}";
    /// A page of names does not fit its place.
    NamesPage { page: u64, end: u64, front: u32 } = "NAM-3", "page {page} of names cannot end at {end} and have a front of {front} bytes";
    /// The pages of names and their directory do not meet.
    NamesPagesEnd { found: u64, expected: u64 } = "NAM-3", "the pages of names end at {found}, the directory starts at {expected}";
    /// The first name of a page does not fit its place.
    NamesFirst { page: u64, end: u64 } = "NAM-3", "the first name of page {page} cannot end at {end} in the text of the directory";
    /// The CRC of the front of a page of names is wrong.
    NamesFrontChecksum { page: u64, found: u32, computed: u32 } = "NAM-4", "CRC of the front of page {page} is {found:08x}, computed {computed:08x}";
    /// A group of names does not fit its page.
    NamesGroup { group: u64, end: u32 } = "NAM-5", "group {group} of names cannot end at {end} of its page";
    /// The CRC of a group of names is wrong.
    NamesGroupChecksum { group: u64, found: u32, computed: u32 } = "NAM-6", "CRC of group {group} of names is {found:08x}, computed {computed:08x}";
    /// A list of names is not coded as it must be.
    NamesCoding { name: u64, fault: &'static str } = "NAM-7", "name {name} {fault}";
    /// A name takes over more than there is.
    NamesShared { name: u64 } = "NAM-8", "name {name} takes over more bytes than the name before it has";
    /// A name is too long.
    NamesTooLong { name: u64 } = "NAM-9", "name {name} has more than 65535 bytes";
    /// The names do not ascend.
    NamesOrder { name: u64 } = "NAM-10", "name {name} is not above the one before it, or does not take over all that is the same";
    /// The names have other lengths than stated.
    NamesBytes { found: u64, stated: u64 } = "NAM-11", "the names have {found} bytes, {stated} are stated";
    /// A name is no text.
    NamesUtf8 { name: u64 } = "NAM-12", "name {name} is no UTF-8";
}

impl Corruption {
    /// Whether a file is missing, which another process may have removed since the manifest was
    /// read.
    pub(crate) fn may_be_a_file_that_went(&self) -> bool {
        matches!(
            self,
            Self::TableMissing
                | Self::BaseMissing
                | Self::IdsMissing
                | Self::NamesMissing
                | Self::DeletionsMissing
                | Self::LogMissing
        )
    }

    /// Whether a log is wrong in a way in which it may look to who reads it while a writer begins.
    pub(crate) fn may_be_a_log_that_changed(&self) -> bool {
        matches!(self, Self::LogBroken { .. } | Self::LogUnsealed { .. } | Self::LogAfterSeal)
    }

    /// The number of the block that is broken, where it is one.
    pub(crate) fn block(&self) -> Option<u64> {
        match *self {
            Self::BlockChecksum { block, .. }
            | Self::KeyCount { block, .. }
            | Self::InvalidCode { block, .. }
            | Self::StreamOverrun { block, .. }
            | Self::ImpossibleClass { block, .. }
            | Self::KeyOrder { block, .. }
            | Self::BlockOrder { block }
            | Self::LastKey { block, .. }
            | Self::BlockPadding { block } => Some(block),
            _ => None,
        }
    }
}

rules! {
    /// Something sound that this version of the format does not define.
    Unsupported:
    /// A file of another major version.
    Version { file: &'static str, found: u16 } = "PRE-5", "{file} of format version {found}, this is a reader of version 1";
    /// The header of a file has another length than in version 1.
    HeaderLength { file: &'static str, found: u32 } = "PRE-6", "the header of the {file} has {found} bytes, which is not its length in version 1";
    /// Reserved bytes of a header are in use.
    HeaderReserved { file: &'static str } = "PRE-7", "reserved bytes of the header of the {file} are in use";
    /// A payload has another length than in version 1.
    PayloadLength { section: &'static str } = "MAN-10", "the {section} section has another length than its fields in version 1";
    /// Reserved bytes or flags of a payload are in use.
    Reserved { of: &'static str } = "MAN-11", "reserved bytes or flags of the {of} are in use";
    /// Reserved flags of a section are in use.
    SectionFlags { section: u32, flags: u32 } = "MAN-4", "section {section} has reserved flags {flags:08x}";
    /// A critical section of unknown kind.
    CriticalSection { section: u32, kind: u32 } = "MAN-7", "section {section}, of kind {kind}, must be understood, and is not";
    /// A section of unknown kind that a program must understand before it writes the store.
    WritersSection { kind: u32 } = "MAN-7", "a section of kind {kind} must be understood to write here, and is not";
    /// Fingerprints of another width than those that this version knows.
    StoreFingerprintBits { found: u16 } = "STO-1", "fingerprints of {found} bits, this is a reader of those with 32, 64, 128 and 256";
    /// A segment whose fingerprints are found in another way.
    Index { found: u8 } = "SEG-1", "index {found} of a segment is not known";
    /// Tables of fingerprints that are too wide for them.
    WideTables { bits: u16 } = "SEG-3", "a segment of fingerprints of {bits} bits has tables; it can only have a base";
    /// The key of a part is made in a way that this version does not know.
    KeyForm { found: u8 } = "PRT-1", "keys of the part file have the form {found}, which is unknown";
    /// Keys of another width than those that tables can have.
    TableFingerprintBits { found: u16 } = "TAB-2", "keys of {found} bits, this is a reader of those with 32 and 64";
    /// An unknown codec.
    Codec { found: u8 } = "TAB-4", "codec {found} is unknown";
    /// An unknown width of the low column.
    LowBits { found: u8 } = "TAB-5", "a low column of {found} bits is unknown";
    /// Keys of so many bits are not known.
    CutBits { found: u32, fingerprint_bits: u32 } = "TAB-3", "{found} bits are cut off from keys of {fingerprint_bits}";
    /// A kind of names that this version does not know.
    NameKind { found: u16 } = "STO-5", "names of kind {found}";
    /// Flags of a log that this version does not define.
    LogFlags { flags: u32 } = "LOG-2", "the log has flags {flags:08x}, which are unknown";
    /// A record of a kind that this version does not define.
    LogRecordKind { found: u8 } = "LOG-7", "a record of kind {found}, or with reserved bytes in use";
}
