//! A plain writer of the format, for stores that the library does not write: blocks that are not
//! full, codes of its own choice, many segments, keys that stand twice.
//!
//! It writes what it is told, from the document, and shares no code with the library.

use std::collections::BTreeMap;

use super::wide_writer::{Wide, WideSpec};
use super::{MANIFEST, end, reseal_header, write};
use crate::oracle::block::canonical_codes;
use crate::oracle::crc;
use crate::oracle::meaning::{bit_order, permute, set_sum};
use crate::spec;

/// Files of a store by name.
pub type Files = BTreeMap<String, Vec<u8>>;

/// A table to write.
#[derive(Clone)]
pub struct TableSpec {
    /// Those of a key, and how many are cut off from it.
    pub bits: u8,
    pub cut: u8,
    /// 1 is `xor`, 2 is `gap`.
    pub codec: u8,
    pub low_bits: u32,
    pub block_bytes: usize,
    pub ranges: Vec<(u8, u8)>,
    /// Keys of a block at most.
    pub block_keys: usize,
    /// Lengths of the codes of classes that occur, by ascending class; all but equal if empty.
    pub lengths: Vec<u8>,
    /// As they are to stand, where they are not those of the fingerprints in order.
    pub keys: Option<Vec<u64>>,
}

/// A segment to write.
#[derive(Clone)]
pub struct SegmentSpec {
    pub number: u64,
    /// Ascending.
    pub fingerprints: Vec<u64>,
    pub tables: Vec<TableSpec>,
    /// Of a segment that has a base instead: the fingerprints are [widened](widen).
    pub wide: Option<WideSpec>,
    /// Those of each fingerprint, and the bits of each.
    pub ids: Option<(Vec<Vec<u64>>, u32)>,
}

/// What [`write_store`] is to write.
#[derive(Clone)]
pub struct StoreSpec {
    /// Those of a fingerprint.
    pub bits: u16,
    pub segments: Vec<SegmentSpec>,
    pub next_segment: u64,
    pub generation: u64,
}

/// The store_id of all stores that are written.
pub const STORE_ID: u128 = 0x0123_4567_89AB_CDEF << 64 | 7;

/// A store whose manifest is not yet put together.
#[derive(Clone)]
pub struct Parts {
    /// Kind, flags and payload of each section.
    pub sections: Vec<(u32, u32, Vec<u8>)>,
    /// All files but the manifest.
    pub files: Files,
}

/// Sets a field of a structure of the document, which starts at the start of `bytes`.
pub fn put(bytes: &mut [u8], table: &str, field: &str, value: u128) {
    let (offset, length) = spec::offsets(table)[field];
    let length = length.expect("a field has a length");
    bytes[offset..offset + length].copy_from_slice(&value.to_le_bytes()[..length]);
}

pub fn start_header(bytes: &mut [u8], table: &str, kind: u8) {
    bytes[..8].copy_from_slice(&[0x89, 0x46, 0x50, 0x53, kind, 0x0D, 0x0A, 0x1A]);
    put(bytes, table, "version_major", 1);
    put(bytes, table, "header_bytes", bytes.len() as u128);
}

/// The files of a store.
pub fn write_store(spec: &StoreSpec) -> Files {
    Parts::of(spec).assemble()
}

impl Parts {
    /// Sections and files of a store.
    pub fn of(spec: &StoreSpec) -> Self {
        let mut files = Files::new();
        let mut store = vec![0; end("store-section")];
        let radius = if spec.bits > 64 { 100 } else { 3 };
        put(&mut store, "store-section", "fingerprint_bits", spec.bits.into());
        put(&mut store, "store-section", "planned_radius", radius);
        put(&mut store, "store-section", "segment_count", spec.segments.len() as u128);
        put(&mut store, "store-section", "next_segment", spec.next_segment.into());
        put(&mut store, "store-section", "store_id", STORE_ID);
        put(&mut store, "store-section", "generation", spec.generation.into());
        let mut sections = vec![(1, 3, store)];
        sections
            .extend(spec.segments.iter().map(|segment| (2, 3, write_segment(segment, &mut files))));
        Self { sections, files }
    }

    /// The files, with the manifest.
    pub fn assemble(mut self) -> Files {
        let count = self.sections.len();
        let sections = self
            .sections
            .iter()
            .flat_map(|(kind, flags, payload)| section((*kind).into(), (*flags).into(), payload));
        let sections: Vec<u8> = sections.collect();
        let mut manifest = vec![0; end("manifest-header")];
        start_header(&mut manifest, "manifest-header", b'M');
        let bytes = manifest.len() + sections.len();
        put(&mut manifest, "manifest-header", "file_bytes", bytes as u128);
        put(&mut manifest, "manifest-header", "section_count", count as u128);
        reseal_header(&mut manifest);
        manifest.extend(sections);
        self.files.insert(MANIFEST.to_owned(), manifest);
        self.files
    }
}

fn section(kind: u128, flags: u128, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; end("section-header")];
    put(&mut bytes, "section-header", "kind", kind);
    put(&mut bytes, "section-header", "flags", flags);
    put(&mut bytes, "section-header", "payload_bytes", payload.len() as u128);
    put(&mut bytes, "section-header", "payload_crc", crc(&[payload]).into());
    let header_crc = crc(&[&bytes[..20]]);
    put(&mut bytes, "section-header", "header_crc", header_crc.into());
    bytes.extend(payload);
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    bytes
}

/// A field of up to 8 bytes of a structure, which starts at the start of `bytes`.
fn get(bytes: &[u8], table: &str, field: &str) -> u64 {
    let (offset, length) = spec::offsets(table)[field];
    super::read(&bytes[offset..offset + length.expect("a field has a length")])
}

/// Leaves out the LAYOUT section of a manifest, which a pack writes of what was said of the layout:
/// most vectors have none.
pub fn drop_layout(manifest: &mut Vec<u8>) {
    const LAYOUT: u64 = 4;
    let mut at = end("manifest-header");
    while at < manifest.len() {
        let header = &manifest[at..];
        let payload = get(header, "section-header", "payload_bytes") as usize;
        let bytes = (end("section-header") + payload).next_multiple_of(8);
        if get(header, "section-header", "kind") == LAYOUT {
            manifest.drain(at..at + bytes);
            let count = get(manifest, "manifest-header", "section_count");
            put(manifest, "manifest-header", "section_count", u128::from(count) - 1);
            let bytes = manifest.len() as u128;
            put(manifest, "manifest-header", "file_bytes", bytes);
            reseal_header(manifest);
            return;
        }
        at += bytes;
    }
}

/// Files of a segment that were written.
pub struct Written {
    /// That of the segment.
    pub payload: Vec<u8>,
    /// header_crc of table 0 or of the base.
    pub table_crc: u32,
    /// The number of the first key of each block of table 0.
    pub firsts: Vec<u64>,
}

/// Writes the files of a segment; gives its payload.
fn write_segment(segment: &SegmentSpec, files: &mut Files) -> Vec<u8> {
    let mut written = match &segment.wide {
        Some(spec) => Wide::of(spec, &segment.fingerprints).write(segment, files),
        None => write_tables(segment, files),
    };
    write_ids_of(segment, &mut written, files);
    written.payload
}

/// Writes the ids of a segment, if it has some, and adds their entry to its payload.
pub fn write_ids_of(segment: &SegmentSpec, written: &mut Written, files: &mut Files) {
    let Some((ids, bits)) = segment.ids.as_ref() else { return };
    let count = segment.fingerprints.len() as u64;
    let bytes = write_ids(ids, *bits, count, &written.firsts, written.table_crc);
    add_file(&mut written.payload, IDS, &bytes);
    files.insert(format!("segment-{:016x}-ids.fpi", segment.number), bytes);
}

/// The flags of further files of a segment.
pub const IDS: u8 = 1;
pub const NAMES: u8 = 2;
pub const DELETIONS: u8 = 4;

/// Adds the entry of a further file to the payload of a segment, with its flag.
pub fn add_file(payload: &mut Vec<u8>, flag: u8, file: &[u8]) {
    let (place, _) = spec::offsets("segment-section")["further"];
    payload[place] |= flag;
    payload.extend(entry_of_file(file));
}

/// What a SEGMENT payload says of a file.
pub fn entry_of_file(file: &[u8]) -> Vec<u8> {
    let end_of_header = super::header_bytes_of(file);
    let mut entry = vec![0; end("file-entry")];
    put(&mut entry, "file-entry", "file_bytes", file.len() as u128);
    let header_crc = super::read(&file[end_of_header - 4..end_of_header]);
    put(&mut entry, "file-entry", "header_crc", header_crc.into());
    put(&mut entry, "file-entry", "end_crc", super::read(&file[file.len() - 4..]).into());
    entry
}

fn write_tables(segment: &SegmentSpec, files: &mut Files) -> Written {
    let sum = set_sum(&segment.fingerprints);
    let start = format!("segment-{:016x}", segment.number);
    let mut payload = vec![0; end("segment-section")];
    put(&mut payload, "segment-section", "segment_number", segment.number.into());
    put(&mut payload, "segment-section", "count", segment.fingerprints.len() as u128);
    put(&mut payload, "segment-section", "set_sum", sum);
    put(&mut payload, "segment-section", "table_count", segment.tables.len() as u128);
    let mut first = None;
    for (number, table) in segment.tables.iter().enumerate() {
        let written = write_table(table, &segment.fingerprints, number, sum);
        payload.extend(entry_of_file(&written.bytes));
        files.insert(format!("{start}-table-{number:03}.fpt"), written.bytes);
        first.get_or_insert((written.header_crc, written.firsts));
    }
    let (table_crc, firsts) = first.expect("a segment has a table");
    Written { payload, table_crc, firsts }
}

struct WrittenTable {
    bytes: Vec<u8>,
    header_crc: u32,
    /// The number of the first key of each block.
    firsts: Vec<u64>,
}

fn write_table(table: &TableSpec, set: &[u64], number: usize, sum: u128) -> WrittenTable {
    let keys = keys_of(table, set);
    let mut bytes = table_header(table, set.len(), number, sum);
    let header_crc = u32::from_le_bytes(*bytes.last_chunk().expect("a header has a CRC"));
    bytes.resize(super::BLOCKS_START, 0);

    let class = |u: u64, v: u64| class_of(table, u >> table.low_bits, v >> table.low_bits);
    let classes = usize::from(table.bits) + 1 - table.low_bits as usize;
    let mut histogram = vec![0u64; classes];
    keys.windows(2).for_each(|pair| histogram[class(pair[0], pair[1])] += 1);
    let used: Vec<usize> = (0..classes).filter(|&class| histogram[class] > 0).collect();
    let mut lengths = vec![0; classes.next_multiple_of(8)];
    let chosen =
        if table.lengths.is_empty() { even_lengths(used.len()) } else { table.lengths.clone() };
    assert_eq!(chosen.len(), used.len(), "a length for each class that occurs: {used:?}");
    used.iter().zip(chosen).for_each(|(&class, length)| lengths[class] = length);
    let codes = canonical_codes(&lengths[..classes]);
    let codes = codes.into_iter().map(|(code, class)| (class, code)).collect();

    let (mut router, mut firsts, mut first) = (Vec::new(), Vec::new(), 0);
    for (number, block) in keys.chunks(table.block_keys).enumerate() {
        let mut written = write_block(table, block, &codes);
        let number = (number as u64).to_le_bytes();
        let block_crc = crc(&[&header_crc.to_le_bytes(), &number, &written[4..]]);
        write(&mut written[..4], block_crc.into());
        bytes.extend(written);
        let last = block.last().expect("a chunk is not empty").to_le_bytes();
        router.extend(&last[..usize::from(table.bits / 8)]);
        firsts.push(first);
        first += block.len() as u64;
    }
    let histogram: Vec<u8> = histogram.iter().flat_map(|keys| keys.to_le_bytes()).collect();
    let mut footer = vec![0; end("table-footer")];
    put(&mut footer, "table-footer", "block_count", firsts.len() as u128);
    for (part, field) in
        [(&router, "router_crc"), (&lengths, "codes_crc"), (&histogram, "histogram_crc")]
    {
        put(&mut footer, "table-footer", field, crc(&[&header_crc.to_le_bytes(), part]).into());
    }
    let footer_crc = crc(&[&header_crc.to_le_bytes(), &footer[..20]]);
    put(&mut footer, "table-footer", "footer_crc", footer_crc.into());
    bytes.extend([router, lengths, histogram, footer].concat());
    WrittenTable { bytes, header_crc, firsts }
}

/// The keys of a table, in the order in which they stand.
pub fn keys_of(table: &TableSpec, set: &[u64]) -> Vec<u64> {
    let order = bit_order(table.bits + table.cut, &table.ranges);
    table.keys.clone().unwrap_or_else(|| {
        let mut keys: Vec<u64> = set.iter().map(|&fp| permute(fp, &order) >> table.cut).collect();
        keys.sort_unstable();
        keys
    })
}

fn table_header(table: &TableSpec, count: usize, number: usize, sum: u128) -> Vec<u8> {
    let fields = end("table-header");
    let mut header = vec![0; (fields + 2 * table.ranges.len() + 4).next_multiple_of(8)];
    start_header(&mut header, "table-header", b'T');
    for (field, value) in [
        ("fingerprint_bits", (table.bits + table.cut).into()),
        ("cut_bits", table.cut.into()),
        ("codec", table.codec.into()),
        ("low_bits", table.low_bits.into()),
        ("block_bytes", table.block_bytes as u128),
        ("count", count as u128),
        ("set_sum", sum),
        ("table_number", number as u128),
        ("range_count", table.ranges.len() as u128),
    ] {
        put(&mut header, "table-header", field, value);
    }
    for (bytes, &(first, bits)) in header[fields..].chunks_mut(2).zip(&table.ranges) {
        bytes.copy_from_slice(&[first, bits]);
    }
    reseal_header(&mut header);
    header
}

/// The class of the middle `v` behind `u`.
fn class_of(table: &TableSpec, u: u64, v: u64) -> usize {
    let delta = match table.codec {
        1 => u ^ v,
        2 => v - u,
        other => panic!("codec {other}"),
    };
    delta.leading_zeros() as usize - (64 - usize::from(table.bits)) - table.low_bits as usize
}

/// Lengths of a complete code for so many classes, of two lengths at most.
fn even_lengths(classes: usize) -> Vec<u8> {
    if classes <= 1 {
        return vec![1; classes];
    }
    let longer = classes.next_power_of_two();
    let bits = longer.ilog2() as u8;
    let shorter = longer - classes;
    (0..classes).map(|place| if place < shorter { bits - 1 } else { bits }).collect()
}

/// A block without its CRC. Where codes and raw bits do not fit, they overlap.
fn write_block(table: &TableSpec, keys: &[u64], codes: &BTreeMap<usize, (u8, u32)>) -> Vec<u8> {
    let layout = "block";
    let mut block = vec![0; table.block_bytes];
    put(&mut block, layout, "key_count", keys.len() as u128);
    put(&mut block, layout, "first_key", keys[0].into());
    let (start, others) = (end(layout) - 8 + usize::from(table.bits / 8), keys.len() - 1);
    let planes = table.low_bits as usize / 8;
    for (place, key) in keys[1..].iter().enumerate() {
        for plane in 0..planes {
            block[start + plane * others + place] = key.to_le_bytes()[plane];
        }
    }
    let stream = &mut block[start + planes * others..];
    let mut set = |at: usize, bit: u64| stream[at / 8] |= (bit as u8) << (at % 8);
    let (mut position, mut raw) = (0, 8 * (table.block_bytes - start - planes * others));
    let middle_bits = usize::from(table.bits) - table.low_bits as usize;
    for pair in keys.windows(2) {
        let (u, v) = (pair[0] >> table.low_bits, pair[1] >> table.low_bits);
        let class = class_of(table, u, v);
        let (length, code) = codes[&class];
        for bit in (0..length).rev() {
            set(position, u64::from(code >> bit & 1));
            position += 1;
        }
        if class < middle_bits {
            let r = middle_bits - 1 - class;
            raw -= r;
            let rest = match table.codec {
                1 => v,
                2 => v - u,
                other => panic!("codec {other}"),
            };
            (0..r).for_each(|bit| set(raw + bit, rest >> bit & 1));
        }
    }
    block
}

/// The ids file.
fn write_ids(
    ids: &[Vec<u64>],
    id_bits: u32,
    count: u64,
    firsts: &[u64],
    table_crc: u32,
) -> Vec<u8> {
    let all: Vec<u64> = ids.concat();
    let mut header = vec![0; end("ids-header")];
    start_header(&mut header, "ids-header", b'I');
    put(&mut header, "ids-header", "count", count.into());
    put(&mut header, "ids-header", "block_count", firsts.len() as u128);
    put(&mut header, "ids-header", "id_count", all.len() as u128);
    put(&mut header, "ids-header", "table_crc", table_crc.into());
    put(&mut header, "ids-header", "id_bits", id_bits.into());
    reseal_header(&mut header);
    let header_crc: [u8; 4] = *header.last_chunk().expect("a header has a CRC");

    let marks: Vec<u64> =
        ids.iter().flat_map(|of_one| (0..of_one.len()).map(|i| u64::from(i == 0))).collect();
    let marks = if all.len() as u64 > count { marks } else { Vec::new() };
    let rank_bits = 64 - count.saturating_sub(1).leading_zeros();
    let body = [pack(firsts, rank_bits), pack(&marks, 1), pack(&all, id_bits)].concat();
    let (mut directory, mut before) = (Vec::new(), 0u64);
    for group in marks.chunks(32768) {
        directory.extend(before.to_le_bytes());
        before += group.iter().sum::<u64>();
    }
    for (number, chunk) in body.chunks(4096).enumerate() {
        directory.extend(crc(&[&header_crc, &(number as u64).to_le_bytes(), chunk]).to_le_bytes());
    }
    let directory_crc = crc(&[&header_crc, &directory]);
    [header, body, directory, directory_crc.to_le_bytes().to_vec()].concat()
}

/// Entries of `bits` bits in whole words.
pub fn pack(entries: &[u64], bits: u32) -> Vec<u8> {
    let mut bytes = vec![0; (entries.len() * bits as usize).div_ceil(64) * 8];
    for (number, &entry) in entries.iter().enumerate() {
        for bit in 0..bits as usize {
            let at = number * bits as usize + bit;
            bytes[at / 8] |= ((entry >> bit & 1) as u8) << (at % 8);
        }
    }
    bytes
}
