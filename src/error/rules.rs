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
    /// A header of this version is shorter than its fields.
    HeaderTooShort { file: &'static str, found: u32, needed: u32 } = "PRE-6", "the header of the {file} has {found} bytes, the least is {needed}";
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
    /// The STORE payload has the wrong length.
    StoreLength { found: u64, expected: u64 } = "STO-1", "the STORE section has {found} bytes, the least is {expected}";
    /// The planned radius is greater than the number of bits of a fingerprint.
    PlannedRadius { found: u16, bits: u16 } = "STO-3", "the planned radius is {found}, over {bits}";
    /// The generation is 0.
    Generation = "STO-5", "the generation is 0, the first is 1";
    /// The number of SEGMENT sections is not as stated.
    SegmentCount { stated: u32, found: u32 } = "STO-4", "{stated} segments stated, {found} found";
    /// A SEGMENT payload has the wrong length.
    SegmentLength { found: u64, expected: u64 } = "SEG-1", "the SEGMENT section has {found} bytes, the least is {expected}";
    /// A segment has no table, or too many.
    TableCount { found: u16 } = "SEG-2", "the segment has {found} tables, not 1 to 256";
    /// The entries of tables are too short.
    EntryBytes { found: u16 } = "SEG-5", "an entry of a table has {found} bytes, not a multiple of 8 from 16 on";
    /// Segment numbers do not ascend from 1 to below next_segment.
    SegmentNumber { found: u64, after: u64, below: u64 } = "SEG-4", "segment number {found} is not above {after} and below {below}";
    /// An IDS payload has the wrong length.
    IdsSectionLength { found: u64, expected: u64 } = "IDS-1", "the IDS section has {found} bytes, the least is {expected}";
    /// An IDS section belongs to no segment, or its segment does not ascend.
    IdsSegment { found: u64, after: u64 } = "IDS-2", "the ids are of segment {found}, which is none, or not above {after}";
    /// A second NAMES section.
    NamesTwice = "NMS-1", "a second NAMES section";
    /// Names of a width that their kind does not have.
    NameBytes { kind: u16, found: u16 } = "NMS-4", "names of kind {kind} cannot have {found} bytes each";
    /// The entries of the NAMES section are not those of the segments with ids.
    NamesOfSegments = "NMS-5", "the entries of the NAMES section are not the segments with ids";
    /// The LOG section and the NAMES section disagree.
    LogNames { names: bool } = "LGS-6", "the LOG section says of names: {names}, which the other sections deny";
    /// The number of an id that no name has.
    NameNumber { id: u64, names: u64 } = "NMS-6", "there is an id with the number {id}, and there are {names} names";
    /// A name has another length than the store says.
    NameWidth { name: u64, found: u64 } = "NMS-7", "name {name} has {found} bytes, which the NAMES section rules out";
    /// A LOG payload has the wrong length.
    LogSectionLength { found: u64, expected: u64 } = "LGS-1", "the LOG section has {found} bytes, the least is {expected}";
    /// There is more than one LOG section.
    LogTwice = "LGS-2", "a second LOG section";
    /// The number of the first log, or the sequence, is impossible.
    LogNumbers { first_log: u64, sequence: u64 } = "LGS-3", "the first log is {first_log}, the sequence {sequence}: they are less than 2^62, and the former is not 0";
    /// A segment has ids in a store without, or the other way round.
    LogIds { segment: u64, ids: bool } = "LGS-5", "segment {segment} differs from the LOG section, which says of ids: {ids}";
    /// The entries of a section do not fit into it.
    EntriesLength { section: &'static str, found: u64, expected: u64 } = "DLS-1", "the {section} section has {found} bytes, the least is {expected}";
    /// The entries of a section are too short.
    EntriesBytes { section: &'static str, found: u16, least: u16 } = "DLS-2", "an entry of the {section} section has {found} bytes, not a multiple of 8 from {least} on";
    /// A second DELETIONS section, or one of a store without a log.
    DeletionsSection = "DLS-3", "a DELETIONS section without a LOG section, or a second one";
    /// An entry of DELETIONS belongs to no segment, does not ascend, or knows the future.
    DeletionsEntry { segment: u64, after: u64, sequence: u64 } = "DLS-5", "the deletions entry of segment {segment}, sequence {sequence}: there is no such segment, it is not above {after}, or the sequence is above that of the log";
    /// A second WINDOWS section, or windows without length.
    WindowsSection { seconds: u64 } = "WNS-1", "a second WINDOWS section, or one of windows of {seconds} seconds";
    /// The entries of WINDOWS are not those of the segments.
    WindowsOfSegments = "WNS-3", "the WINDOWS section does not have the segments of the store in their order";
    /// A second LAYOUT section, or one that is no text.
    LayoutSection = "LAY-1", "a second LAYOUT section, or one that is no UTF-8";
    /// There is more than one RECIPE section.
    RecipeTwice = "RCP-1", "a second RECIPE section";
    /// A RECIPE section is no line of text, or too long.
    RecipeLine { found: u64, most: u64 } = "RCP-2", "the RECIPE section of {found} bytes is no line of 1 to {most} bytes of UTF-8";
    /// A deletions file has another length than the manifest says.
    DeletionsLength { found: u64, expected: u64 } = "DEL-1", "the deletions file has {found} bytes, the manifest says {expected}";
    /// The deletions file is not the one that the manifest means.
    DeletionsNotInManifest { found: u32, expected: u32 } = "DEL-2", "header CRC of the deletions file is {found:08x}, the manifest means {expected:08x}";
    /// The deletions are those of another segment.
    DeletionsSegment { found: u64, expected: u64 } = "DEL-4", "the deletions are those of segment {found}, not {expected}";
    /// The number of deletions contradicts the length of the file.
    DeletionCount { count: u64, file_bytes: u64 } = "DEL-5", "{count} deletions contradict a file of {file_bytes} bytes";
    /// The CRC of the deletions is wrong.
    DeletionsChecksum { found: u32, computed: u32 } = "DEL-6", "CRC of the deletions is {found:08x}, computed {computed:08x}";
    /// The deletions are not those that the manifest means.
    DeletionsFooterNotInManifest { found: u32, expected: u32 } = "DEL-7", "CRC of the deletions is {found:08x}, the manifest means {expected:08x}";
    /// Deletions do not ascend, or have an impossible sequence.
    DeletionOrder { deletion: u64 } = "DEL-8", "deletion {deletion} is not above the one before it, or its sequence is not of this store";
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
    TableLength { found: u64, expected: u64 } = "TAB-1", "the table has {found} bytes, the manifest says {expected}";
    /// The header reaches into the blocks, or the file is too short for a table.
    TableTooShort { header_bytes: u32, file_bytes: u64, least: u64 } = "TAB-2", "a table with a header of {header_bytes} bytes, at most 4096, and at least {least} in all cannot have {file_bytes} bytes";
    /// The table is not the one that the manifest means.
    HeaderNotInManifest { found: u32, expected: u32 } = "TAB-3", "table header CRC is {found:08x}, the manifest means a table with {expected:08x}";
    /// The block size is impossible.
    BlockBytes { found: u32 } = "TAB-8", "block size {found} is no power of two from 256 to 65536";
    /// The table has keys of another width than the store.
    TableWidth { found: u32, expected: u32 } = "TAB-14", "keys of {found} bits in a store of fingerprints of {expected} bits";
    /// The table stands in another table's place.
    TableNumber { found: u16, expected: u16 } = "TAB-9", "this is table {found} in the place of table {expected}";
    /// The table is one of another set.
    OtherSet { found_count: u64, expected_count: u64 } = "TAB-10", "count or set sum of the table ({found_count} fingerprints) differ from the segment's ({expected_count})";
    /// The bit ranges of the top are impossible.
    TopRanges = "TAB-11", "the bit ranges of the top are empty, overlap, leave the key, or do not fit the header";
    /// Table 0 is permuted.
    NotIdentity = "TAB-12", "table 0 is not in identity order";
    /// Table 0 does not have whole fingerprints.
    ShortIdentity = "TAB-16", "the keys of table 0 are cut";
    /// Padding behind the header is not zero.
    HeaderPadding = "TAB-13", "padding between the header and the blocks is not zero";
    /// The CRC of the footer is wrong.
    FooterChecksum { found: u32, computed: u32 } = "FTR-1", "footer CRC is {found:08x}, computed {computed:08x}";
    /// The footer is not the one that the manifest means.
    FooterNotInManifest { found: u32, expected: u32 } = "FTR-2", "footer CRC is {found:08x}, the manifest means a table with {expected:08x}";
    /// The number of blocks contradicts the count or the length of the file.
    BlockCount { blocks: u64, count: u64, file_bytes: u64 } = "FTR-3", "{blocks} blocks contradict {count} keys in a file of {file_bytes} bytes";
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
    /// Tables of fingerprints that are too wide for them.
    WideTables { bits: u16 } = "SEG-7", "a segment of fingerprints of {bits} bits has tables; it can only have a base";
    /// A base or part file has another length than the manifest says.
    BaseLength { found: u64, expected: u64 } = "BAS-1", "the file has {found} bytes, the manifest says {expected}";
    /// The base or part file is not the one that the manifest means.
    BaseNotInManifest { found: u32, expected: u32 } = "BAS-2", "header CRC is {found:08x}, the manifest means {expected:08x}";
    /// The base does not say what the manifest says of its segment.
    BaseOfOtherSegment = "BAS-4", "width, number of parts, count or set sum of the base are not those of the manifest";
    /// There are not so many rows in a base.
    BaseCount { count: u64, file_bytes: u64 } = "BAS-5", "{count} rows do not fit a base file of {file_bytes} bytes, or are more than a base has";
    /// The CRC of the directory of a base or part file is wrong.
    BaseDirectoryChecksum { found: u32, computed: u32 } = "BAS-6", "directory CRC is {found:08x}, computed {computed:08x}";
    /// The directory of a base or part file is not the one that the manifest means.
    BaseDirectoryNotInManifest { found: u32, expected: u32 } = "BAS-7", "directory CRC is {found:08x}, the manifest means {expected:08x}";
    /// A chunk of a base or part file is damaged.
    BaseChunkChecksum { chunk: u64, found: u32, computed: u32 } = "BAS-8", "CRC of chunk {chunk} is {found:08x}, computed {computed:08x}";
    /// The rows of a base do not ascend.
    BaseOrder { row: u64 } = "BAS-9", "row {row} of the base is not greater than the one before it";
    /// The set sum of a base is not that of its rows.
    BaseSetSum = "BAS-10", "the set sum of the rows is not what the header says";
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
    IdsLength { found: u64, expected: u64 } = "IDS-3", "the ids file has {found} bytes, the manifest says {expected}";
    /// The ids file is not the one that the manifest means.
    IdsNotInManifest { found: u32, expected: u32 } = "IDS-4", "header CRC of the ids file is {found:08x}, the manifest means {expected:08x}";
    /// The ids are those of another table.
    IdsOfOtherTable { found: u32, expected: u32 } = "IDS-6", "the ids are of a table with the header CRC {found:08x}, this one has {expected:08x}, or count or blocks differ";
    /// Number and width of the ids contradict the count or the length of the file.
    IdCount { ids: u64, bits: u8, count: u64, file_bytes: u64 } = "IDS-7", "{ids} ids of {bits} bits contradict {count} fingerprints in a file of {file_bytes} bytes";
    /// The CRC of the directory of an ids file is wrong.
    IdsDirectoryChecksum { found: u32, computed: u32 } = "IDS-8", "directory CRC of the ids file is {found:08x}, computed {computed:08x}";
    /// The directory is not the one that the manifest means.
    IdsDirectoryNotInManifest { found: u32, expected: u32 } = "IDS-9", "directory CRC of the ids file is {found:08x}, the manifest means {expected:08x}";
    /// The counts of marks are impossible.
    MarkCounts { group: u64 } = "IDS-10", "the count of marks before group {group} is impossible";
    /// The CRC of a chunk is wrong.
    ChunkChecksum { chunk: u64, found: u32, computed: u32 } = "IDS-11", "CRC of chunk {chunk} is {found:08x}, computed {computed:08x}";
    /// The rank of a block is not the number of keys before it.
    BlockRank { block: u64, found: u64, expected: u64 } = "IDS-12", "the rank of block {block} is {found}, not {expected}";
    /// The marks of a group contradict the directory, or the first id has none.
    Marks { group: u64 } = "IDS-13", "group {group} does not have the marks that the directory counts";
    /// The ids of a fingerprint do not ascend.
    IdOrder { id: u64 } = "IDS-14", "id {id} is not above the one before it, of the same fingerprint";
    /// Bits behind the entries of a part are not zero.
    IdsPadding = "IDS-15", "padding in the ids file is not zero";
    /// A table holds another number of keys than stated.
    SetCount { found: u64, expected: u64 } = "SET-1", "the table holds {found} keys, {expected} are stated";
    /// A table holds other fingerprints than stated.
    SetSum { found: u128, expected: u128 } = "SET-2", "the fingerprints of the table add up to {found:032x}, {expected:032x} is stated";
    /// A short table does not hold the first bits of all fingerprints.
    ShortSum { found: u128, expected: u128 } = "SET-4", "the keys of the short table add up to {found:032x}, those of the fingerprints to {expected:032x}";
    /// A names file has another length than the manifest says.
    NamesLength { found: u64, expected: u64 } = "NAM-1", "the names file has {found} bytes, the manifest says {expected}";
    /// The names file is not the one that the manifest means.
    NamesNotInManifest { found: u32, expected: u32 } = "NAM-2", "header CRC of the names file is {found:08x}, the manifest means {expected:08x}";
    /// The code of a byte is too long.
    NamesCodeLength { byte: u8, found: u8 } = "NAM-4", "byte {byte:02x} has a code of {found} bits";
    /// The codes of the bytes of names are not complete.
    NamesCode { codes: u32, names: u64 } = "NAM-4", "{codes} codes are not a complete code for {names} names";
    /// The directory of a names file does not fit.
    NamesDirectoryLength { found: u64, names: u64, file_bytes: u64 } = "NAM-5", "a directory of {found} bytes contradicts {names} names in a file of {file_bytes} bytes";
    /// The CRC of the directory of a names file is wrong.
    NamesDirectoryChecksum { found: u32, computed: u32 } = "NAM-6", "directory CRC of the names file is {found:08x}, computed {computed:08x}";
    /// The directory of a names file is not the one that the manifest means.
    NamesDirectoryNotInManifest { found: u32, expected: u32 } = "NAM-7", "directory CRC of the names file is {found:08x}, the manifest means {expected:08x}";
    /// A page of names does not fit its place.
    NamesPage { page: u64, end: u64, front: u32 } = "NAM-8", "page {page} of names cannot end at {end} and have a front of {front} bytes";
    /// The pages of names and their directory do not meet.
    NamesPagesEnd { found: u64, expected: u64 } = "NAM-8", "the pages of names end at {found}, the directory starts at {expected}";
    /// The first name of a page does not fit its place.
    NamesFirst { page: u64, end: u64 } = "NAM-8", "the first name of page {page} cannot end at {end} in the text of the directory";
    /// The CRC of the front of a page of names is wrong.
    NamesFrontChecksum { page: u64, found: u32, computed: u32 } = "NAM-9", "CRC of the front of page {page} is {found:08x}, computed {computed:08x}";
    /// A group of names does not fit its page.
    NamesGroup { group: u64, end: u32 } = "NAM-10", "group {group} of names cannot end at {end} of its page";
    /// The CRC of a group of names is wrong.
    NamesGroupChecksum { group: u64, found: u32, computed: u32 } = "NAM-11", "CRC of group {group} of names is {found:08x}, computed {computed:08x}";
    /// A list of names is not coded as it must be.
    NamesCoding { name: u64, fault: &'static str } = "NAM-12", "name {name} {fault}";
    /// A name takes over more than there is.
    NamesShared { name: u64 } = "NAM-13", "name {name} takes over more bytes than the name before it has";
    /// A name is too long.
    NamesTooLong { name: u64 } = "NAM-14", "name {name} has more than 65535 bytes";
    /// The names do not ascend.
    NamesOrder { name: u64 } = "NAM-15", "name {name} is not above the one before it, or does not take over all that is the same";
    /// The names have other lengths than stated.
    NamesBytes { found: u64, stated: u64 } = "NAM-16", "the names have {found} bytes, {stated} are stated";
    /// A name is no text.
    NamesUtf8 { name: u64 } = "NAM-17", "name {name} is no UTF-8";
}

impl Corruption {
    /// Whether a file is missing, which another process may have removed since the manifest was read.
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
    /// The header of a file has fields that this version does not define.
    HeaderTail { file: &'static str } = "PRE-7", "the header of the {file} has more fields than version 1 defines";
    /// Reserved flags of a section are in use.
    SectionFlags { section: u32, flags: u32 } = "MAN-4", "section {section} has reserved flags {flags:08x}";
    /// A critical section of unknown kind.
    CriticalSection { section: u32, kind: u32 } = "MAN-7", "section {section}, of kind {kind}, must be understood, and is not";
    /// A section of unknown kind that a program must understand before it writes the store.
    WritersSection { kind: u32 } = "MAN-7", "a section of kind {kind} must be understood to write here, and is not";
    /// A payload has fields that this version does not define.
    PayloadTail { section: &'static str } = "MAN-10", "the {section} section has more fields than version 1 defines";
    /// Fingerprints of another width than those that this version knows.
    StoreFingerprintBits { found: u16 } = "STO-2", "fingerprints of {found} bits, this is a reader of those with 32, 64, 128 and 256";
    /// A segment whose fingerprints are found in another way.
    Index { found: u8 } = "SEG-6", "index {found} of a segment is not known";
    /// Reserved bytes of a segment are in use.
    SegmentReserved = "SEG-3", "reserved bytes of the segment are in use";
    /// Keys of another width than those that tables can have.
    TableFingerprintBits { found: u16 } = "TAB-5", "keys of {found} bits, this is a reader of those with 32 and 64";
    /// An unknown codec.
    Codec { found: u8 } = "TAB-6", "codec {found} is unknown";
    /// An unknown width of the low column.
    LowBits { found: u8 } = "TAB-7", "a low column of {found} bits is unknown";
    /// Reserved bytes of the table header are in use.
    TableReserved = "TAB-4", "reserved bytes of the table header are in use";
    /// Keys of so many bits are not known.
    CutBits { found: u32, fingerprint_bits: u32 } = "TAB-15", "{found} bits are cut off from keys of {fingerprint_bits}";
    /// A kind of names that this version does not know.
    NameKind { found: u16 } = "NMS-2", "names of kind {found}";
    /// Reserved bytes of the NAMES section are used.
    NamesSectionReserved = "NMS-3", "reserved bytes of the NAMES section are used";
    /// Flags of the LOG section that this version does not define.
    LogSectionFlags { flags: u32 } = "LGS-4", "the LOG section has flags {flags:08x}, or reserved bytes, that are unknown";
    /// Reserved bytes of the DELETIONS section are in use.
    DeletionsSectionReserved = "DLS-4", "reserved bytes of the DELETIONS section are in use";
    /// Reserved bytes of the WINDOWS section are in use.
    WindowsReserved = "WNS-2", "reserved bytes of the WINDOWS section are in use";
    /// Reserved bytes of the header of a deletions file are in use.
    DeletionsReserved = "DEL-3", "reserved bytes of the header of the deletions file are in use";
    /// Flags of a log that this version does not define.
    LogFlags { flags: u32 } = "LOG-2", "the log has flags {flags:08x}, which are unknown";
    /// A record of a kind that this version does not define.
    LogRecordKind { found: u8 } = "LOG-7", "a record of kind {found}, or with reserved bytes in use";
    /// Reserved bytes of the header of a base file are in use.
    BaseReserved = "BAS-3", "reserved bytes of the header of the base file are in use";
    /// Reserved bytes of the header of a part file are in use.
    PartReserved = "PRT-1", "key_form or reserved bytes of the header of the part file are unknown";
    /// Reserved bytes of the header of a names file are in use.
    NamesReserved = "NAM-3", "reserved bytes of the header of the names file are in use";
    /// Reserved bytes of the header of an ids file are in use.
    IdsReserved = "IDS-5", "reserved bytes of the header of the ids file are in use";
}
