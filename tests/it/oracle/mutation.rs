//! Readers that are wrong in one place each, to test the vectors with.
//!
//! The plain decoder asks here wherever one of them reads the document otherwise. A wrong reader is
//! chosen for the thread that runs it; all others read as the document says.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static ACTIVE: Cell<Option<Mutation>> = const { Cell::new(None) };
}

/// What a reader does otherwise than the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutation {
    /// It does not check a rule.
    Skips(&'static str),
    /// It takes what the document calls unsupported for corrupt, by this rule, or the other way.
    Confuses(&'static str),
    /// It reads something else.
    Reads(Wrong),
    /// It is right, and reads what the document calls the minimal profile.
    Minimal,
}

macro_rules! wrong {
    ($($name:ident: $sentence:literal,)*) => {
        /// What a wrong reader does.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(clippy::enum_variant_names)]
        pub enum Wrong {
            $(#[doc = $sentence] $name,)*
        }

        impl Wrong {
            /// All of them, each with a sentence.
            pub const ALL: &[(Wrong, &'static str)] = &[$((Wrong::$name, $sentence),)*];
        }
    };
}

wrong! {
    // Section 4.1.
    MinorRefused: "version_minor must be 0",
    HeaderTo4096: "no header of any version is longer than 4096 bytes",
    VersionFirst: "version_major is checked before header_crc",
    // Section 5.
    SectionsPaddedTo4: "sections are padded to multiples of 4 bytes",
    UnknownRefused: "sections of unknown kind are refused, critical or not",
    LivingSkipped: "LOG is skipped",
    WritersFlagReserved: "the flag for writers is reserved",
    WritersFlagIgnored: "the flag for writers is not looked at in known sections",
    UnusedFlagsRefused: "unused flags must be 0",
    SkippedCrcIgnored: "payload_crc of a section that is skipped is not checked",
    TablesTo255: "a segment has at most 255 tables",
    SegmentsAt1: "segments are numbered 1, 2, 3, ... without gaps",
    NextSegmentOf32Bits: "next_segment has 32 bits",
    SegmentsInDecimal: "names of files have the segment number in decimal digits",
    SegmentsInCapitals: "names of files have the segment number in capital hexadecimal digits",
    TablesInHex: "names of files have the table number in hexadecimal digits",
    FirstSegmentOnly: "only the first segment is read",
    FirstIdsOnly: "ids of a fingerprint are those of the first segment that has some",
    GenerationOf32Bits: "generation has 32 bits",
    DeletionsWithoutLog: "a segment may have a deletions file in a store that is not living",
    FirstSequenceOnly: "only the sequence of the first segment is compared with that of LOG",
    SegmentSequenceSigned: "the sequence of a segment is signed",
    NamesFlagFree: "LOG may have the flag *names*, or lack it, whatever ids are",
    NamesFlagByKind: "LOG has the flag *names* where name_kind is not 0",
    WindowsFlagMissing: "LOG may lack the flag *windows* in a store with windows",
    // Section 6.
    RangesAsEnds: "the second byte of a range is its last bit",
    FirstRangeOnly: "only the first range of a top counts",
    RangesSorted: "ranges count in ascending order",
    RestDescending: "the bits outside of the top follow in descending order",
    RestFirst: "the bits outside of the top come first",
    PermutesForUnpermutes: "keys are permuted instead of un-permuted",
    NoEqualClass: "there are 64 - L classes",
    CodesPaddedTo16: "codes are padded to multiples of 16 bytes",
    HistogramBeforeCodes: "the histogram stands before the codes",
    RouterCrcAlone: "router_crc does not cover header_crc",
    CodesCrcAlone: "codes_crc does not cover header_crc",
    CodesCrcWithoutPadding: "codes_crc does not cover the padding",
    FooterCrcAlone: "footer_crc does not cover header_crc",
    RouterMayRepeat: "entries of the router may be equal",
    CodesTo10: "codes have at most 10 bits",
    CodesTo9: "codes have at most 9 bits",
    CodesTo12: "codes have at most 12 bits",
    SingleCodeOfAnyLength: "a single code may have any length",
    SingleCodeRefused: "a code must have two classes",
    RestOf64Bits: "a key has 64 bits, whatever W is",
    ClassesOf64: "there are 65 - L classes, whatever W is",
    RouterOf8: "entries of the router have 8 bytes, whatever W is",
    LargestOf64: "a block has no more keys than one with W = 64",
    TablesFrom4280: "a table has at least 4280 bytes, whatever W is",
    ColumnsOf32: "with W = 32 a column may have 32 bits",
    TopsIn64Bits: "ranges lie in 64 bits, whatever W is",
    CutIgnored: "cut_bits is taken for 0",
    LongTops: "a top may be longer than the keys",
    LowBitsToV: "low_bits is at most V",
    TableNumberOf8Bits: "table_number has 8 bits",
    ShortKeysOnce: "keys of a short table ascend strictly",
    ShortRouterOnce: "entries of the router of a short table ascend strictly",
    // Section 6.4.
    FirstKeysOf8: "first_key has 8 bytes, whatever W is",
    MiddlesOf64: "a middle has 64 - L bits, whatever W is",
    BlockNumberMod256: "the number of a block in its CRC has 8 bits",
    BlockNumberOf4: "the number of a block in its CRC has 4 bytes",
    BlockCrcAlone: "block_crc does not cover header_crc",
    BlockCrcWithoutNumber: "block_crc does not cover the number of the block",
    NoBitForEachKey: "a block may have more keys than bits",
    PlanesReversed: "the plane of the highest byte comes first",
    LowPartsTogether: "the low part of each key stands together",
    CodesFromTheTop: "stream bits are numbered from the most significant",
    CodesReversed: "the least significant bit of a code comes first",
    RawBitsReversed: "the most significant of the raw bits is at the lowest stream bit",
    RawBitsBehindCodes: "raw bits follow their code",
    RawBitsUpward: "the raw bits of the first key are the lowest",
    RawBitsOf32: "of the raw bits, 32 count",
    RawBitsOf56: "of the raw bits, 56 count",
    CodesReadRawBits: "a code may reach into the raw bits",
    EqualReadsRawBits: "the code of the class equal may reach into the raw bits",
    RawBitsReadCodes: "raw bits may reach into the codes",
    CutCodeIsNone: "a code that is cut off by the raw bits is no code",
    RawBitsReachOver: "the raw bits of a key may reach one bit into the codes",
    SingleCodeOfNoBits: "a single code takes no bit",
    CodesByClass: "codes of all lengths are given in the order of the classes",
    LongestCodesFirst: "the longest codes come first",
    CodesOfOnes: "codes are counted down from all ones",
    ClassOf64Bits: "a class counts zeros in 64 bits, not in M",
    GapWithoutTop: "the highest 1 of a gap is not added",
    GapWraps: "a gap may overflow M bits",
    XorOfRawBits: "the raw bits of `xor` are those of the delta",
    XorFlipsNothing: "the first bit that differs is 0 with `xor`",
    XorAnyBit: "the first bit that differs may be 1 in the key before, with `xor`",
    KeysOfFirst: "each key is coded from the first of its block",
    OtherCodec: "codec 1 is `gap` and 2 is `xor`",
    HistogramWithoutFirst: "the histogram leaves out the first key of each block",
    ShortBlocksInAnyOrder: "the first key of a block of a short table may be any",
    PaddingBehindCodes: "the stream of a block of one key is not looked at",
    BlocksMayTouch: "a block may begin with the last key of the one before",
    // Section 6.7.
    SumOf64Bits: "the upper half of set_sum is not checked",
    SumWithoutSecond: "the upper half of set_sum is computed with g as the lower half",
    SumOfKeys: "set_sum is that of the keys",
    SumOfTable0: "set_sum is checked in table 0 only",
    SumOfShort: "set_sum is that of short tables, too",
    LastBitsKept: "the last bits of permuted fingerprints are the keys of short tables",
    SumOfLeastWordsFirst: "the words of a fingerprint come into set_sum with the least significant first",
    SumOfLowerHalf: "the upper half of set_sum is that of the last word",
    // Section 9.
    RanksOfCount: "ranks have digits(count) bits",
    PartsOf4: "parts of the body are padded to multiples of 4 bytes",
    PartsOf1: "parts of the body are padded to whole bytes",
    MarksAlways: "there are always marks",
    MarksAtLast: "a mark stands at the last id of a fingerprint",
    MarksAsZeros: "a mark is 0 at the first id of a fingerprint",
    Groups16384: "a group has 16384 marks",
    Groups65536: "a group has 65536 marks",
    MarkCountsOf4: "entries of mark_counts have 4 bytes",
    MarkCountsThrough: "mark_counts include the marks of their group",
    LaterMarkCounts: "entries of mark_counts behind the first are not checked",
    MarksOfGroup0: "marks are counted in group 0 only",
    Chunks2048: "a chunk has 2048 bytes",
    Chunks8192: "a chunk has 8192 bytes",
    ChunkCrcWithoutNumber: "the CRC of a chunk does not cover its number",
    ChunkNumberOf4: "the number of a chunk in its CRC has 4 bytes",
    ChunkNumberMod256: "the number of a chunk in its CRC has 8 bits",
    ChunkCrcOfTable: "the CRC of a chunk covers header_crc of table 0",
    DirectoryCrcAlone: "directory_crc does not cover header_crc",
    ChunksFromStart: "chunks are counted from the start of the file",
    EntriesFromTheTop: "the most significant bit of an entry comes first",
    EntriesOf32Bits: "of an id, 32 bits count",
    EntriesOf57Bits: "ids are read from 8 bytes at a byte boundary",
    IdsTo63Bits: "ids have at most 63 bits",
    IdsNeedBits: "ids of 0 bits are refused",
    FullGroupsRefused: "the marks of a group are never all 1",
    RanksFromBlock1: "the rank of block 0 is not checked",
    TwoRanks: "ranks behind the second are not checked",
    IdsMayRepeat: "an id may stand twice for a fingerprint",
    PaddingOfIdsOnly: "only the padding behind the ids is checked",
    // LOG, windows and RECIPE.
    SegmentsBelowLog: "the sequence of a segment is less than that of LOG",
    NoFileNoSequence: "the sequence of a segment without a deletions file is 0",
    DeletionsBeforeNames: "the entry of the deletions file comes before that of the names file",
    FurtherFlagsFree: "reserved flags of further files are not looked at",
    LongPayloads: "a payload may be longer than its fields",
    WindowOf32Bits: "the window of a segment has 32 bits",
    WindowsFlagFree: "LOG may have the flag *windows* in a store without windows",
    OverlongForms: "overlong forms are UTF-8",
    Surrogates: "surrogates are UTF-8",
    LayoutIsText: "a LAYOUT section that is no text is refused",
    AdviceOnce: "a second LAYOUT or RECIPE section is refused",
    LastRecipe: "of two recipes the second counts",
    ByteOrderMarks: "a recipe may not begin with U+FEFF",
    LogSequenceOf32Bits: "sequence of LOG has 32 bits",
    LogNumbersTo63Bits: "first_log and sequence have 63 bits",
    LogFlagsSwapped: "the flags *ids* and *windows* are swapped",
    IdsWithoutFlag: "segments may have ids where the flag *ids* is 0",
    RecipeUnknown: "RECIPE is an unknown kind",
    RecipesTo4095: "a recipe has at most 4095 bytes",
    RecipeOfAnyLength: "a recipe may have any length, also none",
    RecipeCharacters: "the length of a recipe is its number of characters",
    RecipeWithControls: "a recipe may have control characters",
    RecipeControlsOfAscii: "control characters behind U+007F are not looked for in a recipe",
    RecipeInAscii: "a recipe has characters of ASCII only",
    // Section 11.3.
    DeletionsMod64: "the length that count gives is computed modulo 2^64",
    DeletionsCrcAlone: "footer_crc of a deletions file does not cover header_crc",
    WholeByIdOnly: "a deletion of id 0 is one of all ids",
    SequenceOf64Bits: "the bit 2^63 counts as part of the sequence",
    WholeLast: "the deletion of all ids comes after those of single ids",
    OneDeletionEach: "a fingerprint has one deletion at most",
    DeletionsMayRepeat: "a deletion may stand twice",
    DeletionsBelowEntry: "the sequence of a deletion is less than that of its segment",
    DeletionsOfAnySequence: "the sequences of deletions are not checked",
    // Section 11.
    LogsInDecimal: "names of logs have the number in decimal digits",
    FirstLogIs1: "the first log is log 1",
    FirstAtSequence: "the first log begins with the sequence of LOG",
    FirstLogOnly: "only the first log is read",
    SealNeedsNext: "the log behind a sealed one must exist",
    TornGoesOn: "reading goes on behind a log that is not sealed",
    EndIsSeal: "a log that ends with its file counts as sealed",
    NextMustBeMissing: "no log may follow one that is not sealed",
    NextByDurable: "a log may follow one that is not sealed if it calls nothing of that durable",
    RecordCrcWithoutStore: "header_crc of a record does not cover store_id",
    RecordCrcWithoutNumber: "header_crc of a record does not cover log_number",
    RecordNumberOf4: "log_number in header_crc of a record has 4 bytes",
    PayloadsBelow2To24: "a payload has less than 2^24 bytes",
    PayloadsOfAnyLength: "a payload may have any length",
    PayloadPaddedAlone: "a payload is padded to a multiple of 8 before its CRC",
    PayloadCrcAlone: "payload_crc does not cover header_crc",
    PayloadCrcWithoutPadding: "payload_crc does not cover the padding",
    RecordPaddingFree: "the padding of a record is not looked at",
    LogsWithoutNote: "a log may end before its first record could begin",
    NoteIgnored: "the note of a log says nothing",
    NoteBelow: "the note of a log calls more durable than it says",
    NoteAbove: "the note of a log calls less durable than it says",
    BrokenNoteRefused: "a note that is no record header makes a log corrupt",
    AnySequenceFollows: "any whole record is read on",
    SequencesMaySkip: "a whole record with a greater first_sequence is read on",
    SequencesOfLogsFree: "the sequence of a log is not checked",
    FlagsOfLogsFree: "the flags of a log are not compared with those of LOG",
    SequencesOfRecords: "all operations of a record have its first_sequence",
    SealTakesSequence: "a seal takes a number of the sequence",
    SealsCount: "operation_count of a seal is not looked at",
    EmptyRecords: "a record without operations may be no seal, and a seal may have some",
    PayloadRest: "bytes behind the operations of a record are passed over",
    OperationsWithIds: "insertions have an id, whatever the flag *ids* says",
    OperationsWithoutIds: "insertions have no id, whatever the flag *ids* says",
    OperationsWithoutWindows: "insertions have no window, whatever the flag *windows* says",
    DeletionsWithWindows: "deletions have a window where insertions have one",
    WindowBeforeId: "the window of an insertion stands before its id",
    WholeWithId: "deletions of all ids have an id",
    PairsAnywhere: "in a store without ids, a log may delete pairs",
    TornRefused: "a torn log is corrupt",
    DurableSigned: "durable_sequence is signed",
    FirstSigned: "first_sequence of a witness is signed",
    WitnessAt4: "a witness stands at a multiple of 4",
    WitnessInNote: "a witness may stand anywhere in the note",
    NextWithoutNote: "a witness of the next log stands behind its note, or is the note",
    NextCallsSome: "a witness of the next log calls some operation durable",
    WitnessIsAnyRecord: "any record behind a broken one makes a log corrupt",
    WitnessIsWhole: "a witness is a whole record",
    WitnessAnywhere: "a witness stands anywhere",
    WitnessBehindOnly: "what stands where a log ends is no witness",
    WitnessAbove: "a witness calls more durable than the broken operation",
    WitnessBelow: "a witness calls durable what stands before the broken operation",
    WitnessOfItself: "a witness may call itself durable",
    WitnessOfAnyKind: "a witness may have reserved bytes in use",
    HidesSame: "a deletion hides what has the same sequence",
    HidesAnySegment: "a deletion hides something in every segment",
    HidesOwnSegment: "a deletion in a file hides something in its own segment only",
    HidesByNumber: "a deletion in a file hides something in segments with lower numbers",
    LogHidesLogOnly: "a deletion in a log hides nothing in segments",
    LogHidesSegmentsOnly: "a deletion in a log hides nothing of the logs",
    LogHidesLater: "a deletion in a log hides what is inserted later, too",
    PairsAreWhole: "the deletion of a pair deletes the fingerprint",
    PairsWithoutIds: "in a store without ids, the deletion of a pair deletes the fingerprint",
    WholeIsIdZero: "the deletion of a fingerprint deletes the pair with id 0",
    GoneWithOneId: "a fingerprint of a segment is hidden with any of its ids",
    StaysWithoutIds: "a fingerprint of a segment stays when all its ids are hidden",
    // Section 8, and what it changes elsewhere.
    AnyWidthInEights: "fingerprint_bits may be any multiple of 8",
    RadiusTo64: "planned_radius is 64 at most, whatever W is",
    PartsFrom1: "names of part tables count from 1",
    BlocksInBase: "256 rows of a base are a block",
    LogFingerprintsOf8: "fingerprints of a log have 8 bytes, whatever W is",
    DeletionsOf24Bytes: "deletions have 24 bytes, whatever W is",
    BaseOfAnyWidth: "fingerprint_bits of a base is not looked at",
    BaseRowsAt64: "a body starts at byte 64, however long the header is",
    BaseChunks8192: "a chunk of a base or part table has 8192 bytes",
    BaseChunkCrcAlone: "the CRC of a chunk of a base or part table does not cover header_crc",
    BaseChunkCrcWithoutNumber: "the CRC of a chunk of a base or part table does not cover its number",
    BaseChunkNumberOf4: "the number of a chunk of a base or part table has 4 bytes in its CRC",
    BaseDirectoryCrcAlone: "directory_crc of a base or part table does not cover header_crc",
    RowsMostSignificantFirst: "rows stand with the most significant byte first",
    FirstRowsInAnyOrder: "rows 0 and 1 of a base are not compared",
    RowsMayRepeat: "rows of a base may be equal",
    PartCountFree: "part_count is not looked at",
    SumOfManifestFree: "set_sum of a base is not compared with the manifest",
    PartOfAnyWidth: "fingerprint_bits of a part table is not looked at",
    PartOfAnyNumber: "part_number is not looked at",
    PartOfAnyBase: "base_crc is not looked at",
    PartsAnywhere: "start_bit may be any bit",
    BitsBehindParts: "bits may be left behind the last part",
    KeysFrom7Bits: "keys have at least 7 bits",
    FormsMixed: "some parts may have masks and others ranges",
    MasksOverlap: "a bit may be in several masks",
    RangeBesideMask: "start_bit and part_bits are not looked at where there is a mask",
    PartBitsBesideMask: "part_bits is not looked at where there is a mask",
    MaskFromTheLeast: "bit 0 of a mask is its least significant bit",
    NoRowsInPart0OfMasks: "rows are not written in part table 0, whatever its key",
    KeysTo32Bits: "a key may have more bits than its part",
    KeysAtTheEnd: "the key is the last bits of its part",
    BitsFromTheLeast: "bits are numbered from the least significant",
    StartsOf64Bits: "starts have 64 bits",
    StartsOfMarks: "starts count marks, not rows",
    FirstStartByZeros: "the first start is known by the zeros of its group alone",
    StartsAnywhere: "the first start is not looked at",
    ZerosFree: "the zeros of a group are not counted",
    LastMarkFree: "the last mark of a group may be 1",
    MarksInverted: "a row has a 0, and a key ends with a 1",
    ZerosBeforeKeys: "the zero of a key stands before its rows",
    KeyGroupsOf32: "a group has 32 keys",
    KeyGroupsOf128: "a group has 128 keys",
    PiecesOf4: "starts, marks and rows are padded to multiples of 4 bytes",
    PiecesOf1: "starts, marks and rows are padded to whole bytes",
    PartEntriesFromTheTop: "the most significant bit of a start or row comes first",
    RowsOfCount: "rows have digits(count) bits",
    RowsOf32Bits: "rows have 32 bits",
    RowsInPart0: "part table 0 has rows",
    RowsUnderAnyKey: "rows are not compared with their keys",
    RowsInAnyOrder: "rows of one key may stand in any order, and twice",
    PairsOnce: "coincidences count each pair once",
    PaddingOfStartsOnly: "only the padding behind the starts is checked",
    // Section 10.
    LoggedLengthsOf4: "a name in a log has a length of 4 bytes",
    LoggedNamesOfAnyLength: "a name in a log may have any length",
    LoggedNamesOfAnyBytes: "a name in a log need not be UTF-8 where names are text",
    DeletedNumbersAnywhere: "a number in a deletions file is that of a name in every segment",
    NameGroupsOf32: "a group has 32 names",
    NameGroupsOf128: "a group has 128 names",
    NamePagesOf32: "a page has 32 groups of names",
    NamePagesOf128: "a page has 128 groups of names",
    NibblesSwapped: "the length of the code of an even byte stands in the higher bits",
    NamesDirectoryCrcAlone: "directory_crc of names does not cover header_crc",
    FrontCrcAlone: "front_crc does not cover header_crc",
    NameGroupCrcAlone: "group_crc of names does not cover header_crc",
    NamesNumberOf0: "no CRC of names covers the number of the page or group",
    NameGroupsInPage: "groups of names are numbered from 0 in each page",
    NamesEndInFile: "group_end of names is an offset in the file",
    NamesEndBehindFront: "group_end of names counts from the end of the front",
    NameCodesTo10: "codes of bytes have at most 10 bits",
    CodeOfOneName: "a single name may come with a code",
    HeadsFromFirst: "heads take over from the first name of their page",
    NamesFromHead: "names take over from the head of their group",
    HeadsInAnyOrder: "a head is not compared with the last name of the group before",
    HeadsShareLess: "shared of a head may be less than it can be",
    DeletedNumbersFree: "ids of deletions are not compared with name_count",
    ShortNames: "names may be shorter than name_bytes",
    SharesLess: "shared may be less than it can be",
    NamesOfAscii: "names are ASCII",
    NamesAreText: "all names are text",
    BytesBehindCodes: "bytes behind the codes of a list are ignored",
    NamePadding: "padding behind the codes of names is not looked at",
    NameCodesReversed: "the least significant bit of the code of a byte comes first",
    NamesTo65534: "names have at most 65,534 bytes",
    NameLengthsOf1: "shared and bits have one byte",
    NameLengthsOf2: "shared and bits have at most two bytes",
    NameLengthsOf4: "shared and bits may have four bytes",
    NameLengthsFromTheTop: "of shared and bits, the most significant bits come first",
    LongNameLengths: "shared and bits may have more bytes than they need",
}

/// Whether the reader of this thread is wrong in this way.
pub fn is(wrong: Wrong) -> bool {
    ACTIVE.get() == Some(Mutation::Reads(wrong))
}

/// Whether the reader of this thread has the minimal profile.
pub fn is_minimal() -> bool {
    ACTIVE.get() == Some(Mutation::Minimal)
}

/// What the document says, or what a wrong reader takes instead.
pub fn or<T>(right: T, wrong: Wrong, instead: T) -> T {
    if is(wrong) { instead } else { right }
}

/// Whether the reader of this thread does not check a rule.
pub fn skips(rule: &str) -> bool {
    matches!(ACTIVE.get(), Some(Mutation::Skips(skipped)) if skipped == rule)
}

/// Whether the reader of this thread takes one kind of rejection by a rule for the other.
pub fn confuses(rule: &str) -> bool {
    matches!(ACTIVE.get(), Some(Mutation::Confuses(confused)) if confused == rule)
}

/// Whether a wrong reader runs in this thread.
pub fn runs() -> bool {
    ACTIVE.get().is_some()
}

/// Runs a reader that is wrong; `None` if it panics.
pub fn run<T>(mutation: Mutation, read: impl FnOnce() -> T) -> Option<T> {
    ACTIVE.set(Some(mutation));
    let read = catch_unwind(AssertUnwindSafe(read));
    ACTIVE.set(None);
    read.ok()
}
