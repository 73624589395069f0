//! What can go wrong, with the data that a caller needs to act on it.
//!
//! Every message is one line that names the file, the place, what was found and what to do next.
//! Each [`Corruption`] and [`Unsupported`] stands for one rule of the format specification
//! (`format-spec/FORMAT.md`), whose tag begins its message.

use std::io;
use std::path::{Path, PathBuf};

use crate::files::Unfit;

/// The result of every fallible operation of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Any failure of this crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused an operation on a file.
    #[error("{}: cannot {action}: {source}; {}", path.display(), remedy(source))]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What was tried, as a verb phrase.
        action: &'static str,
        /// The answer of the operating system.
        source: io::Error,
    },
    /// The directory holds no store.
    #[error("{}: [DIR-1] not a store: {found}; give the directory that `fpstore pack -o` wrote", path.display())]
    NotAStore {
        /// The path that was opened.
        path: PathBuf,
        /// What is there instead.
        found: &'static str,
    },
    /// A file of the store is not what a writer wrote.
    #[error("{}: corrupt at byte {offset}: {corruption}; restore the store from a copy or pack it again", path.display())]
    Corrupt {
        /// The damaged file.
        path: PathBuf,
        /// Offset in the file at which the broken rule was found.
        offset: u64,
        /// The broken rule.
        corruption: Corruption,
    },
    /// A file of the store is sound and uses something that this version does not know.
    #[error("{}: unsupported at byte {offset}: {feature}; read it with a newer version of fpstore", path.display())]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// Offset in the file of the field.
        offset: u64,
        /// What is not supported.
        feature: Unsupported,
    },
    /// The output of a pack is a store already, and replacing it was not asked for.
    #[error("{}: a store exists here already; choose another output, or replace it (--force)", path.display())]
    Exists {
        /// The directory.
        path: PathBuf,
    },
    /// The output of a pack holds something that is not a store. It is never replaced.
    #[error("{}: not a store, and not empty (it holds {entry:?}); choose a new or empty directory", path.display())]
    Foreign {
        /// The directory, or the file that stands in its place.
        path: PathBuf,
        /// One thing that was found there.
        entry: String,
    },
    /// Another writer holds the lock of the store.
    #[error("{}: another process is writing here; wait until it ends", path.display())]
    Busy {
        /// The directory.
        path: PathBuf,
    },
    /// The manifest of the store to be replaced says that all segment numbers or all generations are
    /// used up.
    #[error("{}: all segment numbers or generations are used up; write the store to another place", path.display())]
    NoSegmentNumber {
        /// The directory.
        path: PathBuf,
    },
    /// An option has a value that it cannot have.
    #[error("{option} cannot be {value}: {expected}")]
    InvalidOption {
        /// The option's name.
        option: &'static str,
        /// The value given.
        value: String,
        /// What it may be.
        expected: String,
    },
    /// The pack was asked to stop.
    #[error("stopped; nothing was changed")]
    Cancelled,
    /// A pack of so many fingerprints needs more memory than it was given.
    #[error(
        "{count} fingerprints need at least {} of memory; give more (--memory), or choose larger blocks",
        Bytes(*needed)
    )]
    Memory {
        /// Number of fingerprints.
        count: u64,
        /// Bytes that would do.
        needed: u64,
    },
    /// The system has not so much memory.
    #[error(
        "cannot get {bytes} bytes of memory; set a limit of memory, so that the work is done in pieces"
    )]
    OutOfMemory {
        /// Bytes that were asked for.
        bytes: u64,
    },
    /// The set needs more than the format allows.
    #[error(
        "{count} fingerprints need more than 2^32 - 1 blocks of {block_bytes} bytes; choose larger blocks"
    )]
    TooManyBlocks {
        /// Number of fingerprints.
        count: u64,
        /// Bytes per block.
        block_bytes: u32,
    },
}

/// What to do about an error of the operating system.
fn remedy(error: &io::Error) -> &'static str {
    if let Some(remedy) = Unfit::remedy(error) {
        return remedy;
    }
    match error.kind() {
        io::ErrorKind::NotFound => "check the path",
        io::ErrorKind::NotADirectory => "check the path: a part of it is a file",
        io::ErrorKind::PermissionDenied => "check the permissions",
        io::ErrorKind::ReadOnlyFilesystem => "choose a place that can be written to",
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free some space or choose another place"
        }
        _ => "check the disk and the file system, then try again",
    }
}

/// A number of bytes as messages say it, rounded up, so that giving as much is enough.
struct Bytes(u64);

impl std::fmt::Display for Bytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            bytes if bytes < 1 << 10 => write!(f, "{bytes} bytes"),
            bytes if bytes < 1 << 20 => write!(f, "{} KiB", bytes.div_ceil(1 << 10)),
            bytes if bytes < 100 << 30 => write!(f, "{} MiB", bytes.div_ceil(1 << 20)),
            bytes => write!(f, "{} GiB", bytes.div_ceil(1 << 30)),
        }
    }
}

impl Error {
    /// Refuses a limit of `memory` bytes, where `needed` would do for `what`.
    pub(crate) fn too_little_memory(memory: u64, what: &str, needed: u64) -> Self {
        let expected = format!("{what} at least {}; give more (--memory)", Bytes(needed));
        Error::InvalidOption { option: "memory", value: Bytes(memory).to_string(), expected }
    }

    /// Wraps an I/O error on `path`; meant for `map_err`.
    pub(crate) fn io(
        path: impl AsRef<Path>,
        action: &'static str,
    ) -> impl FnOnce(io::Error) -> Error {
        move |source| Error::Io { path: path.as_ref().to_path_buf(), action, source }
    }
}

/// A broken rule of the format specification: the bytes are not what a writer wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)] // the fields are what the messages say
pub enum Corruption {
    /// A table file that the manifest names is missing.
    #[error("[DIR-2] this table file is missing")]
    TableMissing,
    /// An ids file that the manifest names is missing.
    #[error("[DIR-2] this ids file is missing")]
    IdsMissing,
    /// A file is shorter than any header.
    #[error("[PRE-1] the {file} has {found} bytes, the shortest header has 24")]
    NoHeader { file: &'static str, found: u64 },
    /// A file does not start with its magic.
    #[error("[PRE-2] this is no fpstore {file}: the first bytes are {found:02x?}")]
    Magic { file: &'static str, found: [u8; 8] },
    /// The length of a header is impossible.
    #[error(
        "[PRE-3] the header of the {file} cannot have {found} bytes: they are a multiple of 8 from 24 to 65536, and the file has {file_bytes}"
    )]
    HeaderLength { file: &'static str, found: u32, file_bytes: u64 },
    /// The CRC of a header is wrong.
    #[error("[PRE-4] header CRC of the {file} is {found:08x}, computed {computed:08x}")]
    HeaderChecksum { file: &'static str, found: u32, computed: u32 },
    /// A header of this version is shorter than its fields.
    #[error("[PRE-6] the header of the {file} has {found} bytes, the least is {needed}")]
    HeaderTooShort { file: &'static str, found: u32, needed: u32 },
    /// The manifest says another length than it has.
    #[error("[MAN-1] the manifest states {stated} bytes and has {found}")]
    ManifestLength { stated: u64, found: u64 },
    /// A manifest is longer than any may be.
    #[error("[MAN-1] the manifest has more than {most} bytes")]
    ManifestLimit { most: u64 },
    /// Sections and file do not end together, or one does not lie inside the file.
    #[error("[MAN-2] section {section} does not fit: {needed} bytes needed, {left} left")]
    SectionBounds { section: u32, needed: u64, left: u64 },
    /// The CRC of a section header is wrong.
    #[error("[MAN-3] header CRC of section {section} is {found:08x}, computed {computed:08x}")]
    SectionHeaderChecksum { section: u32, found: u32, computed: u32 },
    /// The CRC of a section's payload is wrong.
    #[error("[MAN-5] payload CRC of section {section} is {found:08x}, computed {computed:08x}")]
    SectionChecksum { section: u32, found: u32, computed: u32 },
    /// The padding of a section is not zero.
    #[error("[MAN-6] padding of section {section} is not zero")]
    SectionPadding { section: u32 },
    /// The flags of a section of known kind are wrong.
    #[error("[MAN-8] section {section} of kind {kind} has the flags {found:x}, not {expected:x}")]
    SectionFlags { section: u32, kind: u32, found: u32, expected: u32 },
    /// The STORE section is not the first one, or not the only one.
    #[error(
        "[MAN-9] the STORE section must be the first and the only one; section {section} breaks this"
    )]
    StoreSection { section: u32 },
    /// The STORE payload has the wrong length.
    #[error("[STO-1] the STORE section has {found} bytes, the least is {expected}")]
    StoreLength { found: u64, expected: u64 },
    /// The planned radius is over 64.
    #[error("[STO-3] the planned radius is {found}, over 64")]
    PlannedRadius { found: u16 },
    /// The generation is 0.
    #[error("[STO-5] the generation is 0, the first is 1")]
    Generation,
    /// The number of SEGMENT sections is not as stated.
    #[error("[STO-4] {stated} segments stated, {found} found")]
    SegmentCount { stated: u32, found: u32 },
    /// A SEGMENT payload has the wrong length.
    #[error("[SEG-1] the SEGMENT section has {found} bytes, the least is {expected}")]
    SegmentLength { found: u64, expected: u64 },
    /// A segment has no table, or too many.
    #[error("[SEG-2] the segment has {found} tables, not 1 to 256")]
    TableCount { found: u16 },
    /// The entries of tables are too short.
    #[error("[SEG-5] an entry of a table has {found} bytes, not a multiple of 8 from 16 on")]
    EntryBytes { found: u16 },
    /// Segment numbers do not ascend from 1 to below next_segment.
    #[error("[SEG-4] segment number {found} is not above {after} and below {below}")]
    SegmentNumber { found: u64, after: u64, below: u64 },
    /// An IDS payload has the wrong length.
    #[error("[IDS-1] the IDS section has {found} bytes, the least is {expected}")]
    IdsSectionLength { found: u64, expected: u64 },
    /// An IDS section belongs to no segment, or its segment does not ascend.
    #[error("[IDS-2] the ids are of segment {found}, which is none, or not above {after}")]
    IdsSegment { found: u64, after: u64 },
    /// An ID_MAP payload has the wrong length.
    #[error("[MAP-1] the ID_MAP section has {found} bytes, the least is {expected}")]
    IdMapSectionLength { found: u64, expected: u64 },
    /// There is more than one ID_MAP section.
    #[error("[MAP-2] a second ID_MAP section")]
    IdMapTwice,
    /// An id is no number of a string of the id map.
    #[error("[MAP-3] id number {number} is {id}, the id map has {strings} strings")]
    IdBeyondMap { number: u64, id: u64, strings: u64 },
    /// A table file has another length than the manifest says.
    #[error("[TAB-1] the table has {found} bytes, the manifest says {expected}")]
    TableLength { found: u64, expected: u64 },
    /// The header reaches into the blocks, or the file is too short for a table.
    #[error(
        "[TAB-2] a table with a header of {header_bytes} bytes, at most 4096, and at least {least} in all cannot have {file_bytes} bytes"
    )]
    TableTooShort { header_bytes: u32, file_bytes: u64, least: u64 },
    /// The table is not the one that the manifest means.
    #[error(
        "[TAB-3] table header CRC is {found:08x}, the manifest means a table with {expected:08x}"
    )]
    HeaderNotInManifest { found: u32, expected: u32 },
    /// The block size is impossible.
    #[error("[TAB-8] block size {found} is no power of two from 256 to 65536")]
    BlockBytes { found: u32 },
    /// The table stands in another table's place.
    #[error("[TAB-9] this is table {found} in the place of table {expected}")]
    TableNumber { found: u16, expected: u16 },
    /// The table is one of another set.
    #[error(
        "[TAB-10] count or set sum of the table ({found_count} fingerprints) differ from the segment's ({expected_count})"
    )]
    OtherSet { found_count: u64, expected_count: u64 },
    /// The bit ranges of the top are impossible.
    #[error(
        "[TAB-11] the bit ranges of the top are empty, overlap, leave 64 bits, or do not fit the header"
    )]
    TopRanges,
    /// Table 0 is permuted.
    #[error("[TAB-12] table 0 is not in identity order")]
    NotIdentity,
    /// Padding behind the header is not zero.
    #[error("[TAB-13] padding between the header and the blocks is not zero")]
    HeaderPadding,
    /// The CRC of the footer is wrong.
    #[error("[FTR-1] footer CRC is {found:08x}, computed {computed:08x}")]
    FooterChecksum { found: u32, computed: u32 },
    /// The footer is not the one that the manifest means.
    #[error("[FTR-2] footer CRC is {found:08x}, the manifest means a table with {expected:08x}")]
    FooterNotInManifest { found: u32, expected: u32 },
    /// The number of blocks contradicts the count or the length of the file.
    #[error("[FTR-3] {blocks} blocks contradict {count} keys in a file of {file_bytes} bytes")]
    BlockCount { blocks: u64, count: u64, file_bytes: u64 },
    /// The CRC of the router is wrong.
    #[error("[RTR-1] router CRC is {found:08x}, computed {computed:08x}")]
    RouterChecksum { found: u32, computed: u32 },
    /// The router does not ascend.
    #[error("[RTR-2] router entry {block} is not above the one before it")]
    RouterOrder { block: u64 },
    /// The CRC of the code lengths is wrong.
    #[error("[COD-1] CRC of the code lengths is {found:08x}, computed {computed:08x}")]
    CodesChecksum { found: u32, computed: u32 },
    /// A code is longer than 11 bits, or padding is not zero.
    #[error("[COD-2] code length {found} of class {class} is over 11, or padding is not zero")]
    CodeLength { class: u32, found: u8 },
    /// The code is not complete.
    #[error("[COD-3] the {codes} code lengths make no complete code for {count} keys")]
    IncompleteCode { codes: u32, count: u64 },
    /// The CRC of the histogram is wrong.
    #[error("[HIS-1] histogram CRC is {found:08x}, computed {computed:08x}")]
    HistogramChecksum { found: u32, computed: u32 },
    /// The histogram contradicts the count or the codes.
    #[error("[HIS-2] the histogram contradicts the {count} keys or the code lengths")]
    HistogramSum { count: u64 },
    /// The histogram is not that of the keys.
    #[error("[SET-3] the histogram says {stated} keys of class {class}, there are {found}")]
    Histogram { class: u32, stated: u64, found: u64 },
    /// The CRC of a block is wrong.
    #[error("[BLK-1] CRC of block {block} is {found:08x}, computed {computed:08x}")]
    BlockChecksum { block: u64, found: u32, computed: u32 },
    /// A block has no keys, or more than its column has room for.
    #[error("[BLK-2] block {block} cannot hold {found} keys")]
    KeyCount { block: u64, found: u32 },
    /// The stream holds bits that are no code.
    #[error("[BLK-3] key {key} of block {block} has no valid code")]
    InvalidCode { block: u64, key: u32 },
    /// Codes and raw bits of a block run into each other.
    #[error("[BLK-4] codes and raw bits of block {block} run into each other at key {key}")]
    StreamOverrun { block: u64, key: u32 },
    /// A class is not that of the step it codes.
    #[error("[BLK-5] the class of key {key} of block {block} does not fit the key before it")]
    ImpossibleClass { block: u64, key: u32 },
    /// Keys do not ascend.
    #[error("[BLK-6] key {key} of block {block} is not above the one before it")]
    KeyOrder { block: u64, key: u32 },
    /// Blocks do not ascend.
    #[error("[BLK-7] block {block} begins at or below the end of the block before it")]
    BlockOrder { block: u64 },
    /// The last key of a block is not the router's.
    #[error("[BLK-8] block {block} ends with {found:016x}, the router says {expected:016x}")]
    LastKey { block: u64, found: u64, expected: u64 },
    /// Padding of a block is not zero.
    #[error("[BLK-9] padding of block {block} is not zero")]
    BlockPadding { block: u64 },
    /// An ids file has another length than the manifest says.
    #[error("[IDS-3] the ids file has {found} bytes, the manifest says {expected}")]
    IdsLength { found: u64, expected: u64 },
    /// The ids file is not the one that the manifest means.
    #[error("[IDS-4] header CRC of the ids file is {found:08x}, the manifest means {expected:08x}")]
    IdsNotInManifest { found: u32, expected: u32 },
    /// The ids are those of another table.
    #[error(
        "[IDS-6] the ids are of a table with the header CRC {found:08x}, this one has {expected:08x}, or count or blocks differ"
    )]
    IdsOfOtherTable { found: u32, expected: u32 },
    /// Number and width of the ids contradict the count or the length of the file.
    #[error(
        "[IDS-7] {ids} ids of {bits} bits contradict {count} fingerprints in a file of {file_bytes} bytes"
    )]
    IdCount { ids: u64, bits: u8, count: u64, file_bytes: u64 },
    /// The CRC of the directory of an ids file is wrong.
    #[error("[IDS-8] directory CRC of the ids file is {found:08x}, computed {computed:08x}")]
    IdsDirectoryChecksum { found: u32, computed: u32 },
    /// The directory is not the one that the manifest means.
    #[error(
        "[IDS-9] directory CRC of the ids file is {found:08x}, the manifest means {expected:08x}"
    )]
    IdsDirectoryNotInManifest { found: u32, expected: u32 },
    /// The counts of marks are impossible.
    #[error("[IDS-10] the count of marks before group {group} is impossible")]
    MarkCounts { group: u64 },
    /// The CRC of a chunk is wrong.
    #[error("[IDS-11] CRC of chunk {chunk} is {found:08x}, computed {computed:08x}")]
    ChunkChecksum { chunk: u64, found: u32, computed: u32 },
    /// The rank of a block is not the number of keys before it.
    #[error("[IDS-12] the rank of block {block} is {found}, not {expected}")]
    BlockRank { block: u64, found: u64, expected: u64 },
    /// The marks of a group contradict the directory, or the first id has none.
    #[error("[IDS-13] group {group} does not have the marks that the directory counts")]
    Marks { group: u64 },
    /// The ids of a fingerprint do not ascend.
    #[error("[IDS-14] id {id} is not above the one before it, of the same fingerprint")]
    IdOrder { id: u64 },
    /// Bits behind the entries of a part are not zero.
    #[error("[IDS-15] padding in the ids file is not zero")]
    IdsPadding,
    /// A table holds another number of keys than stated.
    #[error("[SET-1] the table holds {found} keys, {expected} are stated")]
    SetCount { found: u64, expected: u64 },
    /// A table holds other fingerprints than stated.
    #[error(
        "[SET-2] the fingerprints of the table add up to {found:032x}, {expected:032x} is stated"
    )]
    SetSum { found: u128, expected: u128 },
}

impl Corruption {
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

/// Something sound that this version of the format does not define.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)] // the fields are what the messages say
pub enum Unsupported {
    /// A file of another major version.
    #[error("[PRE-5] {file} of format version {found}, this is a reader of version 1")]
    Version { file: &'static str, found: u16 },
    /// The header of a file has fields that this version does not define.
    #[error("[PRE-7] the header of the {file} has more fields than version 1 defines")]
    HeaderTail { file: &'static str },
    /// Reserved flags of a section are in use.
    #[error("[MAN-4] section {section} has reserved flags {flags:08x}")]
    SectionFlags { section: u32, flags: u32 },
    /// A critical section of unknown kind, or one of deletions or of a log.
    #[error("[MAN-7] section {section}, of kind {kind}, must be understood, and is not")]
    CriticalSection { section: u32, kind: u32 },
    /// A payload has fields that this version does not define.
    #[error("[MAN-10] the {section} section has more fields than version 1 defines")]
    PayloadTail { section: &'static str },
    /// Fingerprints that do not have 64 bits.
    #[error("[STO-2] fingerprints of {found} bits, this is a reader of 64-bit ones")]
    StoreFingerprintBits { found: u16 },
    /// Reserved bytes of a segment are in use.
    #[error("[SEG-3] reserved bytes of the segment are in use")]
    SegmentReserved,
    /// Keys that do not have 64 bits.
    #[error("[TAB-5] keys of {found} bits, this is a reader of 64-bit ones")]
    TableFingerprintBits { found: u16 },
    /// An unknown codec.
    #[error("[TAB-6] codec {found} is unknown")]
    Codec { found: u8 },
    /// An unknown width of the low column.
    #[error("[TAB-7] a low column of {found} bits is unknown")]
    LowBits { found: u8 },
    /// Reserved bytes of the table header are in use.
    #[error("[TAB-4] reserved bytes of the table header are in use")]
    TableReserved,
    /// Reserved bytes of the header of an ids file are in use.
    #[error("[IDS-5] reserved bytes of the header of the ids file are in use")]
    IdsReserved,
}
