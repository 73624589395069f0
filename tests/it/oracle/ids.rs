//! The ids file (section 9).

use bitvec::prelude::*;

use super::manifest::{IdsEntry, SegmentEntry};
use super::mutation::{Wrong, is, or};
use super::prefix::{check_reserved, read_header};
use super::{Checked, Fields, crc, require, require_crc, require_equal};

/// An ids file whose header and directory are checked.
pub struct OpenIds {
    file: Vec<u8>,
    id_count: u64,
    id_bits: u8,
    rank_bits: u32,
    marks: u64,
    /// Where the body begins.
    body_start: usize,
    /// Bytes of ranks, marks and ids.
    body: [u128; 3],
    /// Entry g, and the number of all behind the last.
    mark_counts: Vec<u64>,
    chunk_crcs: Vec<u32>,
    header_crc: u32,
    table_crc: u32,
}

/// Checks all that applies when the ids of a segment are opened, whose table 0 has so many blocks.
pub fn open_ids(
    file: Vec<u8>,
    segment: &SegmentEntry,
    entry: &IdsEntry,
    blocks: u64,
) -> Checked<OpenIds> {
    let mut ids = read_ids_header(file, segment, entry, blocks)?;
    let count = segment.count;
    let words = |entries: u64, bits: u32| {
        let bits = u128::from(entries) * u128::from(bits);
        let unit = or(or(64, Wrong::PartsOf4, 32), Wrong::PartsOf1, 8);
        bits.div_ceil(unit) * (unit / 8)
    };
    ids.rank_bits = digits(or(count.saturating_sub(1), Wrong::RanksOfCount, count));
    ids.marks = if ids.id_count > count || is(Wrong::MarksAlways) { ids.id_count } else { 0 };
    ids.body = [
        words(blocks, ids.rank_bits),
        words(ids.marks, 1),
        words(ids.id_count, ids.id_bits.into()),
    ];
    let body_bytes: u128 = ids.body.iter().sum();
    let groups = u128::from(ids.marks.div_ceil(group_marks()));
    let count_bytes = or(8, Wrong::MarkCountsOf4, 4);
    let chunks =
        (body_bytes + chunks_start(ids.body_start) as u128).div_ceil(chunk_bytes() as u128);
    let directory_bytes = count_bytes * groups + 4 * chunks;
    let file_bytes = ids.body_start as u128 + body_bytes + directory_bytes + 4;
    let is_right = ids.id_bits <= or(64, Wrong::IdsTo63Bits, 63)
        && (ids.id_bits > 0 || count == 0 || !is(Wrong::IdsNeedBits))
        && ids.id_count >= count
        && (count > 0 || ids.id_count == 0)
        && file_bytes == ids.file.len() as u128;
    require(is_right, "IDS-2", || {
        format!(
            "{} ids of {} bits for {count}, in {} bytes",
            ids.id_count,
            ids.id_bits,
            ids.file.len()
        )
    })?;

    let (rest, crc_of_directory) = ids.file.split_at(ids.file.len() - 4);
    let directory = &rest[ids.body_start + body_bytes as usize..];
    let header_crc = ids.header_crc.to_le_bytes();
    let found = Fields(crc_of_directory).u32();
    let bound = or(&header_crc[..], Wrong::DirectoryCrcAlone, &[]);
    require_crc("FIL-3", "directory_crc", found, crc(&[bound, directory]))?;
    require_crc("FIL-4", "directory_crc", found, entry.directory_crc)?;
    let mut directory = Fields(directory);
    let mut entry = || if count_bytes == 8 { directory.u64() } else { directory.u32().into() };
    ids.mark_counts = (0..groups).map(|_| entry()).collect();
    ids.chunk_crcs = (0..chunks).map(|_| directory.u32()).collect();
    if ids.marks > 0 {
        ids.mark_counts.push(count);
        require_equal("IDS-3", "first of mark_counts", ids.mark_counts[0], 0)?;
    }
    for (group, pair) in ids.mark_counts.windows(2).enumerate() {
        let of_group = (ids.marks - group_marks() * group as u64).min(group_marks());
        let is_possible = pair[1].checked_sub(pair[0]).is_some_and(|ones| ones <= of_group);
        let is_possible = is_possible || is(Wrong::LaterMarkCounts);
        let is_full = pair[0].checked_add(of_group) == Some(pair[1]);
        let is_possible = is_possible && !(is_full && is(Wrong::FullGroupsRefused));
        require(is_possible, "IDS-3", || format!("{pair:?} around group {group}"))?;
    }
    Ok(ids)
}

fn group_marks() -> u64 {
    or(or(32768, Wrong::Groups65536, 65536), Wrong::Groups16384, 16384)
}

fn chunk_bytes() -> usize {
    or(or(4096, Wrong::Chunks8192, 8192), Wrong::Chunks2048, 2048)
}

/// Bytes before the body that belong to the first chunk.
fn chunks_start(body_start: usize) -> usize {
    or(0, Wrong::ChunksFromStart, body_start)
}

impl OpenIds {
    /// Checks all that applies to the body, where the blocks of table 0 have so many keys each: the
    /// ids of each fingerprint.
    pub fn read(&self, segment: &SegmentEntry, blocks: &[u64]) -> Checked<Vec<Vec<u64>>> {
        let body_bytes: u128 = self.body.iter().sum();
        let body_part = &self.file[self.body_start..][..body_bytes as usize];
        let chunked = &self.file[self.body_start - chunks_start(self.body_start)..]
            [..body_bytes as usize + chunks_start(self.body_start)];
        for (number, chunk) in chunked.chunks(chunk_bytes()).enumerate() {
            require_crc("FIL-5", &format!("chunk {number}"), self.chunk_crcs[number], {
                self.chunk_crc(number as u64, chunk)
            })?;
        }
        let mut parts = Fields(body_part);
        let [ranks, mark_bits, ids] =
            self.body.map(|bytes| parts.bytes(bytes as usize).view_bits::<Lsb0>());

        let mut rank = 0;
        for (block, keys) in blocks.iter().enumerate() {
            let is_first = block == 0 && is(Wrong::RanksFromBlock1);
            if (!is(Wrong::TwoRanks) || block < 2) && !is_first {
                let found = entry_of(ranks, self.rank_bits, block as u64);
                require_equal("IDS-4", "rank", found, rank)?;
            }
            rank += keys;
        }
        let (mark_bits, mark_padding) = mark_bits.split_at(self.marks as usize);
        self.check_marks(mark_bits)?;
        let of_each = self.group_ids(mark_bits, ids, segment.count)?;
        let rank_padding = &ranks[blocks.len() * self.rank_bits as usize..];
        let id_padding = &ids[self.id_count as usize * usize::from(self.id_bits)..];
        let paddings = [id_padding, rank_padding, mark_padding];
        for padding in or(&paddings[..], Wrong::PaddingOfIdsOnly, &paddings[..1]) {
            require(padding.not_any(), "IDS-7", || format!("padding is {padding}"))?;
        }
        Ok(of_each)
    }

    fn chunk_crc(&self, number: u64, chunk: &[u8]) -> u32 {
        let bound = or(self.header_crc, Wrong::ChunkCrcOfTable, self.table_crc).to_le_bytes();
        let number = or(number, Wrong::ChunkNumberMod256, number % 256).to_le_bytes();
        let length = or(or(8, Wrong::ChunkCrcWithoutNumber, 0), Wrong::ChunkNumberOf4, 4);
        crc(&[&bound, &number[..length], chunk])
    }

    /// [IDS-5].
    fn check_marks(&self, mark_bits: &BitSlice<u8, Lsb0>) -> Checked<()> {
        let first = mark_bits.first().is_none_or(|mark| *mark) || is(Wrong::MarksAtLast);
        let first = or(first, Wrong::MarksAsZeros, mark_bits.first().is_none_or(|mark| !*mark));
        require(first, "IDS-5", || "mark 0 is 0".to_owned())?;
        for (group, bits) in mark_bits.chunks(group_marks() as usize).enumerate() {
            if is(Wrong::MarksOfGroup0) && group > 0 {
                break;
            }
            let before = if is(Wrong::MarkCountsThrough) { 0 } else { self.mark_counts[group] };
            let stated = self.mark_counts[group + or(1, Wrong::MarkCountsThrough, 0)] - before;
            let what = format!("marks of group {group}");
            require_equal("IDS-5", &what, bits.count_ones() as u64, stated)?;
        }
        Ok(())
    }

    /// The ids of each fingerprint, checked by [IDS-6].
    fn group_ids(
        &self,
        mark_bits: &BitSlice<u8, Lsb0>,
        ids: &BitSlice<u8, Lsb0>,
        count: u64,
    ) -> Checked<Vec<Vec<u64>>> {
        let mut of_each: Vec<Vec<u64>> = Vec::new();
        let mut starts = true;
        for i in 0..self.id_count {
            let id = entry_of(ids, self.id_bits.into(), i);
            let id = or(id, Wrong::EntriesOf32Bits, id & 0xFFFF_FFFF);
            // What a window of 8 bytes does not reach.
            let shift = i * u64::from(self.id_bits) % 8;
            let id = or(id, Wrong::EntriesOf57Bits, id << shift >> shift);
            let marked = self.marks > 0 && mark_bits[i as usize];
            let is_first = or(marked, Wrong::MarksAtLast, starts);
            let is_first = or(is_first, Wrong::MarksAsZeros, !marked);
            starts = marked;
            if self.marks == 0 || is_first {
                of_each.push(vec![id]);
            } else if let Some(of_one) = of_each.last_mut() {
                let follows = of_one.last() < Some(&id);
                let follows = follows || is(Wrong::IdsMayRepeat) && of_one.last() == Some(&id);
                require(follows, "IDS-6", || format!("id {i} is {id}"))?;
                of_one.push(id);
            }
        }
        assert!(of_each.len() as u64 == count || mark_bits.is_empty(), "[IDS-5] counts them");
        Ok(of_each)
    }
}

/// Section 9.1, but for [IDS-2].
fn read_ids_header(
    file: Vec<u8>,
    segment: &SegmentEntry,
    entry: &IdsEntry,
    blocks: u64,
) -> Checked<OpenIds> {
    require_equal("FIL-1", "length of the file", file.len() as u64, entry.file_bytes)?;
    let (header, header_crc) = read_header(&file, b'I', 56)?;
    check_reserved(&header[45..52])?;
    require_crc("FIL-2", "header_crc", header_crc, entry.header_crc)?;
    let mut fields = Fields(&header[16..]);
    let (count, block_count, id_count) = (fields.u64(), fields.u64(), fields.u64());
    let (table_crc, id_bits) = (fields.u32(), fields.u8());
    require_crc("IDS-1", "table_crc", table_crc, segment.tables[0].header_crc)?;
    require_equal("IDS-1", "count", count, segment.count)?;
    require_equal("IDS-1", "block_count", block_count, blocks)?;
    let body_start = header.len();
    Ok(OpenIds {
        id_count,
        id_bits,
        rank_bits: 0,
        marks: 0,
        body_start,
        body: [0; 3],
        mark_counts: Vec::new(),
        chunk_crcs: Vec::new(),
        header_crc,
        table_crc,
        file,
    })
}

fn digits(x: u64) -> u32 {
    x.checked_ilog2().map_or(0, |log| log + 1)
}

/// Entry `number` of a stream of entries of `bits` bits.
fn entry_of(stream: &BitSlice<u8, Lsb0>, bits: u32, number: u64) -> u64 {
    let start = number as usize * bits as usize;
    let entry = &stream[start..start + bits as usize];
    let turned = entry.iter().fold(0, |value, bit| value << 1 | u64::from(*bit));
    let value = entry.iter().rev().fold(0, |value, bit| value << 1 | u64::from(*bit));
    or(value, Wrong::EntriesFromTheTop, turned)
}
