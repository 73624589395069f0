//! A second reader of the format: plain, slow, and written from `format-spec/FORMAT.md` alone.
//!
//! It shares no code with the library, and checks every rule of the document, the (verify) ones
//! included. It holds whole files in memory and decodes bit by bit, so it is no reader for large
//! stores.

pub mod block;
mod deletions;
mod ids;
pub mod living;
mod log;
mod manifest;
pub mod meaning;
pub mod mutation;
pub mod names;
mod prefix;
mod table;
mod wide;

use std::collections::BTreeSet;
use std::fmt::{self, Display};
use std::io;
use std::path::Path;

use byteorder::{ByteOrder, LittleEndian};

use living::{PlainDeletion, PlainInsertion};
use manifest::SegmentEntry;
use mutation::{Wrong, is, or};

/// The first rule that a store breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// The tag without brackets, such as `PRE-4`.
    pub rule: &'static str,
    /// The store is not corrupt, but uses what version 1 does not define.
    pub unsupported: bool,
    /// Where, what was found, and what was expected.
    pub detail: String,
}

impl Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.unsupported { "unsupported" } else { "corrupt" };
        write!(f, "[{}] {kind}: {}", self.rule, self.detail)
    }
}

impl std::error::Error for Rejection {}

type Checked<T> = Result<T, Rejection>;

/// A fingerprint of any width: its bytes, the most significant first.
pub type Bits = Vec<u8>;

/// A store, decoded.
#[derive(Clone, Debug)]
pub struct PlainStore {
    /// Bits of a fingerprint.
    pub bits: u16,
    pub planned_radius: u16,
    pub next_segment: u64,
    pub store_id: u128,
    pub generation: u64,
    pub segments: Vec<PlainSegment>,
    pub recipe: Option<String>,
    /// All names of its files and logs, ascending, each once, if its ids are names: these are
    /// places among them.
    pub names: Option<Vec<Vec<u8>>>,
    /// What its logs insert.
    pub insertions: Vec<PlainInsertion>,
    /// What its logs delete.
    pub deletions: Vec<PlainDeletion>,
    /// Whether its last log is torn.
    pub torn: bool,
    /// The kinds of sections that were skipped, and whether those who do not know them may edit the
    /// store.
    pub skipped: Vec<(u32, bool)>,
}

/// A segment, decoded.
#[derive(Clone, Debug)]
pub struct PlainSegment {
    pub number: u64,
    pub count: u64,
    /// Its sequence, 0 in a store that is not living.
    pub sequence: u64,
    /// Those that it brought along.
    pub deletions: Vec<PlainDeletion>,
    pub window: Option<u64>,
    pub tables: Vec<PlainTable>,
    /// The base, of a segment that has no tables.
    pub base: Option<PlainBase>,
    /// Those of each fingerprint, of a segment that has ids.
    pub ids: Option<Vec<Vec<u64>>>,
    /// Those that ids are numbers of, of a segment that has them.
    pub names: Option<Vec<Vec<u8>>>,
}

/// A table, decoded.
#[derive(Clone, Debug)]
pub struct PlainTable {
    /// Those of a fingerprint, and those of a key.
    pub whole_bits: u8,
    pub bits: u8,
    pub codec: u8,
    pub low_bits: u8,
    pub block_bytes: u32,
    /// The top: first bit and number of bits of each range.
    pub ranges: Vec<(u8, u8)>,
    /// By class, 0 for a class without a code.
    pub code_lengths: Vec<u8>,
    /// By class.
    pub histogram: Vec<u64>,
    pub router: Vec<u64>,
    /// The keys of each block.
    pub blocks: Vec<Vec<u64>>,
    /// The keys, un-permuted, ascending; of a short table with zeros for what is cut off.
    pub fingerprints: Vec<u64>,
}

/// A base with its part tables, decoded.
#[derive(Clone, Debug)]
pub struct PlainBase {
    pub rows: Vec<Bits>,
    pub parts: Vec<PlainPart>,
}

/// A part table, whose places are checked.
#[derive(Clone, Debug)]
pub struct PlainPart {
    /// The bits of its key.
    pub key: Vec<u32>,
    pub coincidences: u64,
}

/// Takes the fields of a structure in their order, so that no offset is repeated here.
///
/// Every caller has checked the length of the structure.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn bytes(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(count);
        self.0 = rest;
        taken
    }

    fn u8(&mut self) -> u8 {
        self.bytes(1)[0]
    }

    fn u16(&mut self) -> u16 {
        LittleEndian::read_u16(self.bytes(2))
    }

    fn u32(&mut self) -> u32 {
        LittleEndian::read_u32(self.bytes(4))
    }

    fn u64(&mut self) -> u64 {
        LittleEndian::read_u64(self.bytes(8))
    }

    /// A key of so many bits.
    fn key(&mut self, bits: u8) -> u64 {
        self.fingerprint(usize::from(bits / 8))
            .iter()
            .fold(0, |key, &byte| key << 8 | u64::from(byte))
    }

    /// A fingerprint of so many bytes.
    fn fingerprint(&mut self, bytes: usize) -> Bits {
        self.bytes(bytes).iter().rev().copied().collect()
    }

    fn u128(&mut self) -> u128 {
        LittleEndian::read_u128(self.bytes(16))
    }
}

fn corrupt(rule: &'static str, detail: String) -> Rejection {
    let unsupported = false;
    Rejection { rule, unsupported, detail }
}

/// Corrupt unless it holds.
fn require(holds: bool, rule: &'static str, detail: impl FnOnce() -> String) -> Checked<()> {
    let holds = holds || mutation::skips(rule);
    let unsupported = mutation::confuses(rule);
    holds.then_some(()).ok_or_else(|| Rejection { unsupported, ..corrupt(rule, detail()) })
}

/// Unsupported unless it holds.
fn support(holds: bool, rule: &'static str, detail: impl FnOnce() -> String) -> Checked<()> {
    let unsupported = !mutation::confuses(rule);
    require(holds, rule, detail).map_err(|e| Rejection { unsupported, ..e })
}

fn require_equal<T: PartialEq + fmt::Debug>(
    rule: &'static str,
    what: &str,
    found: T,
    expected: T,
) -> Checked<()> {
    require(found == expected, rule, || format!("{what} is {found:?}, expected {expected:?}"))
}

fn require_crc(rule: &'static str, what: &str, found: u32, expected: u32) -> Checked<()> {
    require(found == expected, rule, || {
        format!("{what} is {found:#010x}, expected {expected:#010x}")
    })
}

const CRC_TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut rest, mut bit) = (byte as u32, 0);
        while bit < 8 {
            rest = if rest & 1 == 1 { rest >> 1 ^ 0xEDB8_8320 } else { rest >> 1 };
            bit += 1;
        }
        table[byte] = rest;
        byte += 1;
    }
    table
};

/// CRC-32 of the concatenation of the parts (section 2).
pub fn crc(parts: &[&[u8]]) -> u32 {
    let bytes = parts.iter().flat_map(|part| part.iter());
    !bytes.fold(!0, |crc: u32, &byte| crc >> 8 ^ CRC_TABLE[(crc as u8 ^ byte) as usize])
}

/// Gives the bytes of a file by its name.
pub type Files<'a> = &'a dyn Fn(&str) -> io::Result<Vec<u8>>;

/// Reads the store in `dir` and checks every rule.
///
/// # Errors
///
/// As [`read_files`].
pub fn read_store(dir: &Path) -> Checked<PlainStore> {
    read_files(&|name| std::fs::read(dir.join(name)))
}

/// Reads a store and checks every rule.
///
/// # Errors
///
/// The first rule broken. A manifest that cannot be read is [DIR-1], another file that must exist
/// [DIR-2].
pub fn read_files(files: Files<'_>) -> Checked<PlainStore> {
    let file = read_file(files, "manifest.fps", "DIR-1")?;
    let manifest = manifest::read_manifest(&file)?;
    let entries = &manifest.segments[..];
    let entries = or(entries, Wrong::FirstSegmentOnly, &entries[..entries.len().min(1)]);
    // Section 2.2: all is opened before the contents of anything are looked at.
    let opened = entries.iter().map(|segment| open_segment(files, segment));
    let opened = opened.collect::<Checked<Vec<_>>>()?;
    let logs = manifest.log.map(|entry| log::read_logs(files, &entry, manifest.store_id));
    let mut logs = logs.transpose()?.unwrap_or_default();
    let segments = entries.iter().zip(&opened);
    let width = manifest.names.map_or(0, |(_, name_bytes)| name_bytes);
    let width = usize::from(width);
    let segments = segments.map(|(entry, opened)| read_segment(entry, opened, width));
    let mut segments = segments.collect::<Checked<Vec<_>>>()?;
    if manifest.window_seconds > 0 {
        let windows = segments.iter_mut().zip(entries);
        windows.for_each(|(segment, entry)| segment.window = Some(entry.window));
    }
    let names = manifest.names.is_some().then(|| number_names(&mut segments, &mut logs));
    Ok(PlainStore {
        bits: manifest.bits,
        planned_radius: manifest.planned_radius,
        next_segment: manifest.next_segment,
        store_id: manifest.store_id,
        generation: manifest.generation,
        segments,
        recipe: manifest.recipe,
        names,
        insertions: logs.insertions,
        deletions: logs.deletions,
        torn: logs.torn,
        skipped: manifest.skipped,
    })
}

/// Makes of ids, which are places in lists of each segment and of the logs, places in a list of
/// all.
fn number_names(segments: &mut [PlainSegment], logs: &mut log::Logs) -> Vec<Vec<u8>> {
    let of_segments = segments.iter().flat_map(|segment| segment.names.iter().flatten());
    let all: BTreeSet<Vec<u8>> = of_segments.chain(&logs.names).cloned().collect();
    let all: Vec<Vec<u8>> = all.into_iter().collect();
    // [NAM-13] says that there are such names.
    let place = |names: &[Vec<u8>], id: u64| {
        names
            .get(id as usize)
            .and_then(|name| all.binary_search(name).ok())
            .map_or(id, |at| at as u64)
    };
    for segment in segments {
        let Some(names) = &segment.names else { continue };
        let ids = segment.ids.iter_mut().flatten().flatten();
        ids.for_each(|id| *id = place(names, *id));
        if !is(Wrong::DeletedNumbersAnywhere) {
            let ids = segment.deletions.iter_mut().filter_map(|deletion| deletion.id.as_mut());
            ids.for_each(|id| *id = place(names, *id));
        }
    }
    let inserted = logs.insertions.iter_mut().filter_map(|insertion| insertion.id.as_mut());
    let deleted = logs.deletions.iter_mut().filter_map(|deletion| deletion.id.as_mut());
    inserted.chain(deleted).for_each(|id| *id = place(&logs.names, *id));
    all
}

fn read_file(files: Files<'_>, name: &str, rule: &'static str) -> Checked<Vec<u8>> {
    let file = files(name);
    require(file.is_ok(), rule, || format!("{name}: {:?}", file.as_ref().err()))?;
    Ok(file.unwrap_or_default())
}

/// The files of a segment, opened: each with its name.
struct Opened {
    tables: Vec<(String, table::OpenTable)>,
    base: Option<OpenedBase>,
    ids: Option<(String, ids::OpenIds)>,
    /// The names file, with its name.
    names: Option<(String, Vec<u8>)>,
    sequence: u64,
    deletions: Vec<PlainDeletion>,
}

struct OpenedBase {
    name: String,
    base: wide::OpenBase,
    parts: Vec<(String, wide::OpenPart)>,
}

impl OpenedBase {
    /// Opens the base and the part tables of a segment whose files have names that begin like this.
    fn open(files: Files<'_>, segment: &SegmentEntry, start: &str) -> Checked<Self> {
        let name = format!("{start}-base.fpb");
        let file = read_file(files, &name, "DIR-2")?;
        let base = wide::open_base(file, segment).map_err(in_file(&name))?;
        let mut parts: Vec<(String, wide::OpenPart)> = Vec::new();
        for number in 0..segment.tables.len() - 1 {
            let in_name = or(number, Wrong::PartsFrom1, number + 1);
            let in_hex = format!("{start}-part-{in_name:03x}.fpp");
            let name = or(format!("{start}-part-{in_name:03}.fpp"), Wrong::TablesInHex, in_hex);
            let file = read_file(files, &name, "DIR-2")?;
            let before: Vec<_> = parts.iter().map(|(_, part)| part).collect();
            let part = wide::open_part(file, segment, number, base.header_crc(), &before);
            let part = part.map_err(in_file(&name))?;
            parts.push((name, part));
        }
        Ok(Self { name, base, parts })
    }

    fn read(&self) -> Checked<PlainBase> {
        let rows = self.base.read().map_err(in_file(&self.name))?;
        let read =
            |(name, part): &(String, wide::OpenPart)| part.read(&rows).map_err(in_file(name));
        let parts = self.parts.iter().map(read).collect::<Checked<Vec<_>>>()?;
        Ok(PlainBase { rows, parts })
    }
}

fn open_segment(files: Files<'_>, segment: &SegmentEntry) -> Checked<Opened> {
    let start = match segment.number {
        number if is(Wrong::SegmentsInDecimal) => format!("segment-{number:016}"),
        number if is(Wrong::SegmentsInCapitals) => format!("segment-{number:016X}"),
        number => format!("segment-{number:016x}"),
    };
    let read = |name: &str| read_file(files, name, "DIR-2");
    let mut tables = Vec::new();
    let base = (segment.index == 1).then(|| OpenedBase::open(files, segment, &start));
    let base = base.transpose()?;
    for number in 0..if base.is_some() { 0 } else { segment.tables.len() } {
        let in_hex = format!("{start}-table-{number:03x}.fpt");
        let name = or(format!("{start}-table-{number:03}.fpt"), Wrong::TablesInHex, in_hex);
        let table = table::open_table(read(&name)?, segment, number).map_err(in_file(&name))?;
        tables.push((name, table));
    }
    let mut ids = None;
    if let Some(entry) = segment.ids.as_ref().filter(|_| !mutation::is_minimal()) {
        let name = format!("{start}-ids.fpi");
        let of_base = or(0, Wrong::BlocksInBase, segment.count.div_ceil(256));
        let blocks = tables.first().map_or(of_base, |(_, table)| table.block_count());
        let opened = ids::open_ids(read(&name)?, segment, entry, blocks);
        ids = Some((name.clone(), opened.map_err(in_file(&name))?));
    }
    let mut names = None;
    if segment.names.is_some() && !mutation::is_minimal() {
        let name = format!("{start}-names.fpn");
        names = Some((name.clone(), read(&name)?));
    }
    let mut sequence = segment.sequence;
    if segment.deletions.is_none() {
        sequence = or(sequence, Wrong::NoFileNoSequence, 0);
    }
    let mut deletions = Vec::new();
    if let Some(entry) = &segment.deletions {
        let name = format!("{start}-deletions.fpd");
        let read = deletions::read_deletions(&read(&name)?, entry, segment.bits);
        deletions = read.map_err(in_file(&name))?;
    }
    Ok(Opened { tables, base, ids, names, sequence, deletions })
}

fn read_segment(
    segment: &SegmentEntry,
    opened: &Opened,
    name_bytes: usize,
) -> Checked<PlainSegment> {
    let mut tables: Vec<PlainTable> = Vec::new();
    for (number, (name, table)) in opened.tables.iter().enumerate() {
        tables.push(table.read(segment, number, tables.first()).map_err(in_file(name))?);
    }
    let base = opened.base.as_ref().map(OpenedBase::read).transpose()?;
    let blocks = tables.iter().take(1).flat_map(|table| &table.blocks);
    let blocks: Vec<u64> = blocks.map(|keys| keys.len() as u64).collect();
    let read =
        |(name, ids): &(String, ids::OpenIds)| ids.read(segment, &blocks).map_err(in_file(name));
    let ids = opened.ids.as_ref().map(read).transpose()?;
    let mut all_names = None;
    if let Some((names, entry)) = opened.names.as_ref().zip(segment.names.as_ref()) {
        // What is too short for a count is rejected below.
        let count = names.1.get(16..24).map_or(u64::MAX, LittleEndian::read_u64);
        let deleted = opened.deletions.iter().filter_map(|deletion| deletion.id.as_ref());
        let deleted = deleted.filter(|_| !is(Wrong::DeletedNumbersFree));
        for &id in ids.iter().flatten().flatten().chain(deleted) {
            require(id < count, "NAM-13", || format!("id {id} of {count} names"))?;
        }
        let read = names::read_names(&names.1, entry).map_err(in_file(&names.0))?;
        let is_other = |name: &[u8]| match name.len() {
            length if is(Wrong::ShortNames) => length > name_bytes,
            length => length != name_bytes,
        };
        let other = read.iter().find(|name| name_bytes > 0 && is_other(name));
        require(other.is_none(), "NAM-14", || format!("{other:x?} has not {name_bytes} bytes"))?;
        all_names = Some(read);
    }
    Ok(PlainSegment {
        number: segment.number,
        count: segment.count,
        sequence: opened.sequence,
        deletions: opened.deletions.clone(),
        window: None,
        tables,
        base,
        ids,
        names: all_names,
    })
}

fn in_file(name: &str) -> impl Fn(Rejection) -> Rejection {
    move |e| Rejection { detail: format!("{name}: {}", e.detail), ..e }
}

/// The fingerprint of a key of a table.
pub fn fingerprint(table: &PlainTable, key: u64) -> u64 {
    let order = meaning::bit_order(table.whole_bits, &table.ranges);
    meaning::unpermute(key << (table.whole_bits - table.bits), &order)
}

/// The text that these bytes are, if they are UTF-8 (section 2.1).
fn text(bytes: &[u8]) -> Option<String> {
    let has = |piece: &[u8]| bytes.windows(piece.len()).any(|at| at == piece);
    let is_loose = is(Wrong::OverlongForms) && has(b"\xC0\xAF")
        || is(Wrong::Surrogates) && has(b"\xED\xA0\x80");
    match is_loose {
        true => Some(String::from_utf8_lossy(bytes).into_owned()),
        false => String::from_utf8(bytes.to_vec()).ok(),
    }
}

fn all_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| byte == 0)
}

#[test]
fn crc_has_the_check_value_of_the_document() {
    assert_eq!(crc(&[b"1234", b"", b"56789"]), 0xCBF4_3926);
}
