//! The base and the part tables (section 8).

use super::manifest::{SegmentEntry, TableEntry};
use super::meaning::term;
use super::mutation::{Wrong, is, or};
use super::prefix::{check_length, check_reserved, read_header};
use super::{
    Bits, Checked, Fields, PlainPart, corrupt, crc, require, require_crc, require_equal, support,
};

/// A file with a body in chunks, opened.
struct Body {
    file: Vec<u8>,
    header_crc: u32,
    start: usize,
    bytes: usize,
    chunk_crcs: Vec<u32>,
}

/// A base whose header and directory are checked.
pub struct OpenBase {
    body: Body,
    bits: u16,
    set_sum: u128,
}

/// A part table whose header and directory are checked.
pub struct OpenPart {
    body: Body,
    /// The first bit behind the part; 0 where it has a mask.
    end: u32,
    /// The bits of the key, the most significant first.
    key: Vec<usize>,
    has_mask: bool,
    has_rows: bool,
    coincidences: u64,
    /// Bytes of starts, marks and rows.
    pieces: [usize; 3],
    row_bits: u32,
}

/// Checks that a header is the one that the manifest means; gives it, and its CRC.
fn read_file_header<'a>(file: &'a [u8], kind: u8, entry: &TableEntry) -> Checked<(&'a [u8], u32)> {
    require_equal("FIL-1", "length of the file", file.len() as u64, entry.file_bytes)?;
    let (header, header_crc) = read_header(file, kind, 64)?;
    require_crc("FIL-2", "header_crc", header_crc, entry.header_crc)?;
    Ok((header, header_crc))
}

/// Bytes of body, chunk_crcs and directory_crc.
fn with_directory(body: u128) -> u128 {
    body + 4 * body.div_ceil(chunk_bytes() as u128) + 4
}

fn chunk_bytes() -> usize {
    or(4096, Wrong::BaseChunks8192, 8192)
}

impl Body {
    /// [FIL-3] and [FIL-4], of a file whose length is right.
    fn open(
        file: Vec<u8>,
        (start, bytes): (usize, usize),
        header_crc: u32,
        entry: &TableEntry,
    ) -> Checked<Self> {
        let (rest, last) = file.split_at(file.len() - 4);
        let directory = &rest[start + bytes..];
        let bound = header_crc.to_le_bytes();
        let bound = or(&bound[..], Wrong::BaseDirectoryCrcAlone, &[]);
        let directory_crc = Fields(last).u32();
        require_crc("FIL-3", "directory_crc", directory_crc, crc(&[bound, directory]))?;
        require_crc("FIL-4", "directory_crc", directory_crc, entry.footer_crc)?;
        let mut fields = Fields(directory);
        let chunk_crcs = (0..directory.len() / 4).map(|_| fields.u32()).collect();
        Ok(Self { start, bytes, header_crc, chunk_crcs, file })
    }

    /// The body, whose chunks are checked.
    fn checked(&self) -> Checked<&[u8]> {
        let body = &self.file[self.start..][..self.bytes];
        for (number, chunk) in body.chunks(chunk_bytes()).enumerate() {
            let bytes = (number as u64).to_le_bytes();
            let bytes = or(&bytes[..], Wrong::BaseChunkCrcWithoutNumber, &[]);
            let bytes = or(bytes, Wrong::BaseChunkNumberOf4, &bytes[..bytes.len().min(4)]);
            let bound = self.header_crc.to_le_bytes();
            let bound = or(&bound[..], Wrong::BaseChunkCrcAlone, &[]);
            let computed = crc(&[bound, bytes, chunk]);
            require_crc("FIL-5", &format!("chunk {number}"), self.chunk_crcs[number], computed)?;
        }
        Ok(body)
    }
}

/// Checks all that applies when a base is opened.
pub fn open_base(file: Vec<u8>, segment: &SegmentEntry) -> Checked<OpenBase> {
    let entry = &segment.tables[0];
    let (header, header_crc) = read_file_header(&file, b'B', entry)?;
    check_reserved(&header[44..60])?;
    let mut fields = Fields(&header[16..]);
    let (bits, part_count) = (fields.u16(), fields.u16());
    let (set_sum, count) = (fields.u128(), fields.u64());
    let bits = or(bits, Wrong::BaseOfAnyWidth, segment.bits);
    require_equal("BAS-1", "fingerprint_bits", bits, segment.bits)?;
    let stated = or(usize::from(part_count) + 1, Wrong::PartCountFree, segment.tables.len());
    require_equal("BAS-1", "part_count", stated, segment.tables.len())?;
    require_equal("BAS-1", "count", count, segment.count)?;
    let of_manifest = or(segment.set_sum, Wrong::SumOfManifestFree, set_sum);
    require_equal("BAS-1", "set_sum", set_sum, of_manifest)?;
    let start = or(header.len(), Wrong::BaseRowsAt64, 64);
    let rows = u128::from(count) * u128::from(segment.bits / 8);
    let fits = count < 1 << 32 && start as u128 + with_directory(rows) == file.len() as u128;
    require(fits, "BAS-2", || format!("{count} rows in {} bytes", file.len()))?;
    let body = Body::open(file, (start, rows as usize), header_crc, entry)?;
    Ok(OpenBase { body, bits: segment.bits, set_sum })
}

impl OpenBase {
    /// Checks all that applies to the contents; gives the rows.
    pub fn read(&self) -> Checked<Vec<Bits>> {
        let body = self.body.checked()?;
        let row = |bytes: &[u8]| -> Bits {
            if is(Wrong::RowsMostSignificantFirst) {
                bytes.to_vec()
            } else {
                bytes.iter().rev().copied().collect()
            }
        };
        let rows: Vec<Bits> = body.chunks(usize::from(self.bits / 8)).map(row).collect();
        let compared = &rows[or(0, Wrong::FirstRowsInAnyOrder, 1).min(rows.len())..];
        let ascend = compared.is_sorted_by(|a, b| a < b || is(Wrong::RowsMayRepeat) && a == b);
        require(ascend, "BAS-3", || "the rows do not ascend".to_owned())?;
        let (mut sum, mut stated) =
            (rows.iter().fold(0, |sum: u128, row| sum.wrapping_add(term(row))), self.set_sum);
        if is(Wrong::SumOf64Bits) {
            (sum, stated) = (sum & u128::from(u64::MAX), stated & u128::from(u64::MAX));
        }
        require_equal("BAS-4", "set_sum", sum, stated)?;
        Ok(rows)
    }

    pub fn header_crc(&self) -> u32 {
        self.body.header_crc
    }
}

/// Checks all that applies when part table `number` is opened, behind others.
pub fn open_part(
    file: Vec<u8>,
    segment: &SegmentEntry,
    number: usize,
    base_crc: u32,
    before: &[&OpenPart],
) -> Checked<OpenPart> {
    let entry = &segment.tables[number + 1];
    let (header, header_crc) = read_file_header(&file, b'P', entry)?;
    let mut fields = Fields(&header[16..]);
    let (bits, part_number, start_bit, part_bits) =
        (fields.u16(), fields.u16(), fields.u16(), fields.u16());
    let (count, coincidences, stated_crc) = (fields.u64(), fields.u64(), fields.u32());
    let (key_bits, form) = (fields.u8(), fields.u8());
    support(form < 2, "PRT-1", || format!("key_form is {form}"))?;
    let mask_bytes = if form == 1 { usize::from(segment.bits / 8) } else { 0 };
    check_length(header, (64 + mask_bytes).next_multiple_of(8))?;
    check_reserved(&header[46..60])?;
    check_reserved(&header[60 + mask_bytes..header.len() - 4])?;
    let bits = or(bits, Wrong::PartOfAnyWidth, segment.bits);
    require_equal("PRT-2", "fingerprint_bits", bits, segment.bits)?;
    let part_number = or(usize::from(part_number), Wrong::PartOfAnyNumber, number);
    require_equal("PRT-2", "part_number", part_number, number)?;
    require_equal("PRT-2", "count", count, segment.count)?;
    let stated_crc = or(stated_crc, Wrong::PartOfAnyBase, base_crc);
    require_crc("PRT-2", "base_crc", stated_crc, base_crc)?;
    let least = or(6, Wrong::KeysFrom7Bits, 7);
    let has_mask = form == 1;
    let is_of_form = before.iter().all(|part| part.has_mask == has_mask);
    let is_of_form = is_of_form || is(Wrong::FormsMixed);
    let (end, key);
    if has_mask {
        let bytes = usize::from(segment.bits / 8);
        let mask = header[..header.len() - 4].get(60..60 + bytes).unwrap_or_default();
        let bit = |number: &usize| {
            let number = or(mask.len() * 8 - 1 - number, Wrong::MaskFromTheLeast, *number);
            mask[number / 8] >> (number % 8) & 1 == 1
        };
        let ones: Vec<usize> = (0..8 * mask.len()).filter(bit).collect();
        let mut others = before.iter().flat_map(|part| &part.key);
        let are_own = others.all(|bit| !ones.contains(bit)) || is(Wrong::MasksOverlap);
        let fits = (least..=32).contains(&key_bits.into()) && ones.len() == usize::from(key_bits);
        let part_bits = or(part_bits, Wrong::PartBitsBesideMask, 0);
        let has_no_range = (start_bit, part_bits) == (0, 0) || is(Wrong::RangeBesideMask);
        require(is_of_form && are_own && fits && has_no_range, "PRT-3", || {
            format!("a key of {key_bits} bits with the mask {mask:x?}")
        })?;
        (end, key) = (0, ones);
    } else {
        let all = u32::from(segment.bits);
        end = u32::from(start_bit) + u32::from(part_bits);
        let start = before.last().map_or(0, |part| part.end);
        let is_last = number + 2 == segment.tables.len();
        let ends = if is_last { end == all || is(Wrong::BitsBehindParts) } else { end < all };
        let starts = u32::from(start_bit) == start || is(Wrong::PartsAnywhere);
        let most = or(part_bits.min(32), Wrong::KeysTo32Bits, 32);
        let fits = (least..=most).contains(&key_bits.into());
        require(is_of_form && starts && ends && fits, "PRT-3", || {
            format!("{part_bits} bits from {start_bit} on, a key of {key_bits}, behind bit {start}")
        })?;
        let unused = usize::from(part_bits).saturating_sub(key_bits.into());
        let from = usize::from(start_bit) + or(0, Wrong::KeysAtTheEnd, unused);
        key = (from..from + usize::from(key_bits)).collect();
    }
    let unit = or(or(64, Wrong::PiecesOf4, 32), Wrong::PiecesOf1, 8);
    let words = |bits: u128| bits.div_ceil(unit) * (unit / 8);
    let keys = 1u128.checked_shl(key_bits.into()).unwrap_or(u128::MAX >> 64);
    let entries = u128::from(count);
    let row_bits = digits(or(count.saturating_sub(1), Wrong::RowsOfCount, count));
    let row_bits = or(row_bits, Wrong::RowsOf32Bits, 32);
    let has_rows = has_mask && !is(Wrong::NoRowsInPart0OfMasks);
    let has_rows = has_rows || number > 0 || is(Wrong::RowsInPart0);
    let row_bits = if has_rows { row_bits } else { 0 };
    let start_bits = or(32, Wrong::StartsOf64Bits, 64);
    let pieces = [
        words(start_bits * (keys / group_keys() as u128)),
        words(entries + keys),
        words(entries * u128::from(row_bits)),
    ];
    let from = or(header.len(), Wrong::BaseRowsAt64, 64);
    let bytes: u128 = pieces.iter().sum();
    let fits = from as u128 + with_directory(bytes) == file.len() as u128;
    require(fits, "PRT-4", || format!("{count} rows and {key_bits} bits, {} bytes", file.len()))?;
    let pieces = pieces.map(|bytes| bytes as usize);
    let body = Body::open(file, (from, bytes as usize), header_crc, entry)?;
    Ok(OpenPart { body, end, key, has_mask, has_rows, coincidences, pieces, row_bits })
}

fn group_keys() -> usize {
    or(or(64, Wrong::KeyGroupsOf32, 32), Wrong::KeyGroupsOf128, 128)
}

fn digits(x: u64) -> u32 {
    x.checked_ilog2().map_or(0, |log| log + 1)
}

/// Entry `number` of a stream of entries of so many bits.
fn entry_of(stream: &[u8], bits: u32, number: usize) -> u64 {
    (0..bits as usize).fold(0, |value, bit| {
        let at = number * bits as usize + bit;
        let shift = or(bit, Wrong::PartEntriesFromTheTop, bits as usize - 1 - bit);
        value | u64::from(stream[at / 8] >> (at % 8) & 1) << shift
    })
}

impl OpenPart {
    /// The key of a row.
    fn key(&self, row: &Bits) -> usize {
        let bit = |number: usize| {
            let place = or(number % 8, Wrong::BitsFromTheLeast, 7 - number % 8);
            let number = or(number, Wrong::BitsFromTheLeast, 8 * row.len() - 1 - number);
            usize::from(row[number / 8] >> (7 - place) & 1)
        };
        self.key.iter().fold(0, |key, &number| key << 1 | bit(number))
    }

    /// Checks all that applies to the contents, of a base with these rows.
    pub fn read(&self, rows: &[Bits]) -> Checked<PlainPart> {
        let body = self.body.checked()?;
        let [start_bytes, mark_bytes, _] = self.pieces;
        let (starts, rest) = body.split_at(start_bytes);
        let (marks, numbers) = rest.split_at(mark_bytes);
        let (count, keys) = (rows.len(), 1usize << self.key.len());
        let groups = keys / group_keys();
        let start_bits = or(32, Wrong::StartsOf64Bits, 64);
        let start = |group: usize| {
            let start = entry_of(starts, start_bits, group) as usize;
            or(start, Wrong::StartsOfMarks, start.wrapping_sub(group_keys() * group))
        };
        let mut coincidences = 0;
        for group in 0..groups {
            let from = if group == 0 && is(Wrong::StartsAnywhere) { 0 } else { start(group) };
            let to = if group + 1 < groups { start(group + 1) } else { count };
            let is_first = group > 0 || from == 0 || is(Wrong::FirstStartByZeros);
            let in_order = from <= to && to <= count && is_first;
            require(in_order, "PRT-5", || format!("group {group} has places {from} to {to}"))?;
            let bits = from + group * group_keys()..to + (group + 1) * group_keys();
            let one = or(1, Wrong::MarksInverted, 0);
            let marks: Vec<bool> = bits.map(|at| entry_of(marks, 1, at) == one).collect();
            let zeros = marks.iter().filter(|&&mark| !mark).count();
            let counted = zeros == group_keys() || is(Wrong::ZerosFree);
            let sound = counted && (marks.last() == Some(&false) || is(Wrong::LastMarkFree));
            let sound = sound || is(Wrong::ZerosBeforeKeys) || is(Wrong::MarksInverted);
            require(sound, "PRT-5", || format!("group {group} has {zeros} zeros"))?;
            coincidences += self.read_group(rows, numbers, (group, from), &marks)?;
        }
        let coincidences = or(coincidences, Wrong::PairsOnce, coincidences / 2);
        require_equal("PRT-8", "coincidences", self.coincidences, coincidences)?;
        let used = [groups * start_bits as usize, count + keys, count * self.row_bits as usize];
        let mut paddings = [starts, marks, numbers].into_iter().zip(used);
        let is_zero = |(piece, used): (&[u8], usize)| {
            (used..8 * piece.len()).all(|bit| entry_of(piece, 1, bit) == 0)
        };
        let all = or(3, Wrong::PaddingOfStartsOnly, 1);
        let is_zero = paddings.by_ref().take(all).all(is_zero);
        require(is_zero, "PRT-9", || "padding is not zero".to_owned())?;
        let key = self.key.iter().map(|&bit| bit as u32).collect();
        Ok(PlainPart { key, coincidences: self.coincidences })
    }

    /// [PRT-6] and [PRT-7] of a group whose first place is given; gives its coincidences.
    fn read_group(
        &self,
        rows: &[Bits],
        numbers: &[u8],
        (group, mut place): (usize, usize),
        marks: &[bool],
    ) -> Checked<u64> {
        let mut coincidences = 0;
        let mut runs = marks.split(|&mark| !mark);
        if is(Wrong::ZerosBeforeKeys) {
            runs.next();
        }
        for (key, run) in runs.take(group_keys()).enumerate() {
            let key = group * group_keys() + key;
            let places = place..place + run.len();
            place = places.end;
            let is_written = self.has_rows;
            let row_of = |place: usize| {
                if is_written { entry_of(numbers, self.row_bits, place) } else { place as u64 }
            };
            let numbers: Vec<u64> = places.map(row_of).collect();
            let known = numbers.iter().all(|&row| row < rows.len() as u64);
            require(known, "PRT-6", || format!("key {key} has rows {numbers:?}"))?;
            if !known {
                return Err(corrupt("PRT-7", "a row that there is not".to_owned()));
            }
            let is_under = numbers.iter().all(|&row| self.key(&rows[row as usize]) == key);
            let is_under = is_under || is(Wrong::RowsUnderAnyKey);
            let ascend = numbers.is_sorted_by(|a, b| a < b || is(Wrong::RowsInAnyOrder));
            require(is_under && ascend, "PRT-7", || format!("key {key} has rows {numbers:?}"))?;
            coincidences += (run.len() * run.len().saturating_sub(1)) as u64;
        }
        Ok(coincidences)
    }
}
