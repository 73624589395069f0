//! A plain writer of bases and part tables.

use std::collections::BTreeMap;

use super::writer::{Files, SegmentSpec, Written, entry_of_file, pack, put, start_header};
use super::{end, reseal_header};
use crate::oracle::crc;
use crate::oracle::meaning::term;

/// How a segment with a base is laid out.
#[derive(Clone)]
pub struct WideSpec {
    pub bits: u16,
    /// Bits of each part, and of its key.
    pub parts: Vec<(u16, u8)>,
    /// The bits of the key of each part in place of the first of a range; none for ranges.
    pub masks: Vec<Vec<usize>>,
}

/// A fingerprint of any width of a number, in whose order they are: the least significant byte
/// first. Of 32 bits it is the number; of more than 64 the words behind the first one are others.
pub fn widen(number: u64, bits: u16) -> Vec<u8> {
    if bits < 64 {
        return number.to_le_bytes()[..usize::from(bits / 8)].to_vec();
    }
    let words = 0..u64::from(bits / 64);
    let word = |place: u64| match place {
        0 => number,
        _ => (number ^ place << 9).wrapping_mul(0x9E37_79B9_7F4A_7C15),
    };
    words.rev().flat_map(|place| word(place).to_le_bytes()).collect()
}

/// As [`widen`], with the most significant byte first.
pub fn wide_bits(number: u64, bits: u16) -> Vec<u8> {
    widen(number, bits).into_iter().rev().collect()
}

/// A file in the making.
#[derive(Clone)]
pub struct BodyFile {
    layout: &'static str,
    pub header: Vec<u8>,
    pub body: Vec<u8>,
}

impl BodyFile {
    fn new(layout: &'static str, kind: u8, fields: &[(&str, u128)], body: Vec<u8>) -> Self {
        let mut header = vec![0; end(layout)];
        start_header(&mut header, layout, kind);
        fields.iter().for_each(|&(field, value)| put(&mut header, layout, field, value));
        Self { layout, header, body }
    }

    /// Sets a field of the header.
    pub fn put(&mut self, field: &str, value: u128) {
        put(&mut self.header, self.layout, field, value);
    }

    /// Makes the header longer by a tail of zeros.
    pub fn lengthen(&mut self, bytes: usize) {
        self.header.resize(self.header.len() + bytes, 0);
        self.put("header_bytes", self.header.len() as u128);
        // Where the checksum of the shorter one would stand.
        self.header[60..64].fill(0);
    }

    /// The file with its checksums, and what an entry says of it.
    fn seal(&mut self) -> (Vec<u8>, Vec<u8>) {
        reseal_header(&mut self.header);
        let header_crc: [u8; 4] = *self.header.last_chunk().expect("a header has a CRC");
        let chunks = self.body.chunks(4096).enumerate();
        let chunk_crcs = chunks.flat_map(|(number, chunk)| {
            crc(&[&header_crc, &(number as u64).to_le_bytes(), chunk]).to_le_bytes()
        });
        let chunk_crcs: Vec<u8> = chunk_crcs.collect();
        let directory_crc = crc(&[&header_crc, &chunk_crcs]).to_le_bytes();
        let bytes = [&self.header[..], &self.body, &chunk_crcs, &directory_crc].concat();
        let entry = entry_of_file(&bytes);
        (bytes, entry)
    }
}

/// The base and the part tables of a segment, before their checksums are made.
#[derive(Clone)]
pub struct Wide {
    pub base: BodyFile,
    pub parts: Vec<BodyFile>,
    /// What base_crc of the part tables differs in from that of the base.
    pub base_crc_flips: u32,
    /// What the manifest says of the segment.
    pub count: u64,
    pub set_sum: u128,
    pub index: u8,
}

/// The key of a row, of which the least significant byte comes first.
fn key_of(row: &[u8], bits: &[usize]) -> u64 {
    let bit = |number: usize| {
        let weight = 8 * row.len() - 1 - number;
        u64::from(row[weight / 8] >> (weight % 8) & 1)
    };
    bits.iter().fold(0, |key, &number| key << 1 | bit(number))
}

/// The set sum of rows, of which the least significant byte comes first.
pub fn sum_of(rows: &[Vec<u8>]) -> u128 {
    let term = |row: &Vec<u8>| term(&row.iter().rev().copied().collect::<Vec<_>>());
    rows.iter().fold(0, |sum: u128, row| sum.wrapping_add(term(row)))
}

/// A part table of rows that stand under their keys, which are made of these bits.
fn part(rows: &[Vec<u8>], number: usize, bits: &[usize], has_rows: bool) -> BodyFile {
    let key_bits = bits.len();
    let mut by_key: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for (number, row) in rows.iter().enumerate() {
        by_key.entry(key_of(row, bits)).or_default().push(number as u64);
    }
    let (mut starts, mut marks, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
    for key in 0..1u64 << key_bits {
        if key % 64 == 0 {
            starts.push(numbers.len() as u64);
        }
        let rows = by_key.remove(&key).unwrap_or_default();
        marks.extend(rows.iter().map(|_| 1).chain([0]));
        numbers.extend(rows);
    }
    let mut pairs = 0;
    for run in marks.split(|&mark| mark == 0) {
        pairs += run.len() * run.len().saturating_sub(1);
    }
    let row_bits = match has_rows {
        false => 0,
        true => u64::BITS - (rows.len() as u64).saturating_sub(1).leading_zeros(),
    };
    let body = [pack(&starts, 32), pack(&marks, 1), pack(&numbers, row_bits)].concat();
    let width = rows.first().map_or(0, |row| 8 * row.len());
    let fields = [
        ("fingerprint_bits", width as u128),
        ("part_number", number as u128),
        ("count", rows.len() as u128),
        ("coincidences", pairs as u128),
        ("key_bits", key_bits as u128),
    ];
    BodyFile::new("part-header", b'P', &fields, body)
}

/// A part table with a mask of so many bits.
fn masked_part(rows: &[Vec<u8>], number: usize, bits: u16, key: &[usize]) -> BodyFile {
    let mut part = part(rows, number, key, true);
    part.lengthen(usize::from(bits / 8).next_multiple_of(8));
    part.put("key_form", 1);
    for bit in key {
        let weight = usize::from(bits) - 1 - bit;
        part.header[60 + weight / 8] |= 1 << (weight % 8);
    }
    part
}

impl Wide {
    pub fn of(spec: &WideSpec, numbers: &[u64]) -> Self {
        let rows: Vec<Vec<u8>> = numbers.iter().map(|&one| widen(one, spec.bits)).collect();
        Self::of_rows(spec, &rows)
    }

    /// Of rows with the least significant byte first.
    pub fn of_rows(spec: &WideSpec, rows: &[Vec<u8>]) -> Self {
        let (count, set_sum) = (rows.len() as u64, sum_of(rows));
        let fields = [
            ("fingerprint_bits", spec.bits.into()),
            ("part_count", spec.parts.len() as u128),
            ("set_sum", set_sum),
            ("count", count.into()),
        ];
        let base = BodyFile::new("base-header", b'B', &fields, rows.concat());
        let mut start = 0;
        let mut parts = Vec::new();
        for (number, &(bits, key_bits)) in spec.parts.iter().enumerate() {
            let mut part = match spec.masks.get(number) {
                Some(key) => masked_part(rows, number, spec.bits, key),
                None => {
                    let from = usize::from(start);
                    let key: Vec<usize> = (from..from + usize::from(key_bits)).collect();
                    let mut part = part(rows, number, &key, number > 0);
                    part.put("start_bit", start.into());
                    part.put("part_bits", bits.into());
                    part
                }
            };
            part.put("fingerprint_bits", spec.bits.into());
            parts.push(part);
            start += bits;
        }
        Self { base, parts, base_crc_flips: 0, count, set_sum, index: 1 }
    }

    /// Adds the files to those of a store; gives the payload of the segment.
    pub fn write(mut self, segment: &SegmentSpec, files: &mut Files) -> Written {
        let start = format!("segment-{:016x}", segment.number);
        let mut payload = vec![0; end("segment-section")];
        for (field, value) in [
            ("segment_number", segment.number.into()),
            ("count", self.count.into()),
            ("set_sum", self.set_sum),
            ("table_count", 1 + self.parts.len() as u128),
            ("index", self.index.into()),
        ] {
            put(&mut payload, "segment-section", field, value);
        }
        let (bytes, entry) = self.base.seal();
        files.insert(format!("{start}-base.fpb"), bytes);
        payload.extend(entry);
        let base_crc: [u8; 4] = *self.base.header.last_chunk().expect("a header has a CRC");
        let base_crc = u32::from_le_bytes(base_crc);
        for (number, part) in self.parts.iter_mut().enumerate() {
            part.put("base_crc", (base_crc ^ self.base_crc_flips).into());
            let (bytes, entry) = part.seal();
            files.insert(format!("{start}-part-{number:03}.fpp"), bytes);
            payload.extend(entry);
        }
        Written { payload, table_crc: base_crc, firsts: Vec::new() }
    }
}
