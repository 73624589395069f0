//! The ids file (section 8).

use bitvec::prelude::*;

use super::manifest::{IdsEntry, SegmentEntry};
use super::{Checked, Fields, PlainTable, crc, require, require_crc, require_equal, support};

/// What the header says of the body.
struct Shape {
    id_count: u64,
    id_bits: u8,
}

/// Reads the ids of a segment whose table 0 is `table`: those of each of its fingerprints.
pub fn read_ids(
    file: &[u8],
    segment: &SegmentEntry,
    entry: &IdsEntry,
    table: &PlainTable,
) -> Checked<Vec<Vec<u64>>> {
    let Shape { id_count, id_bits } = read_header(file, segment, entry, table)?;
    let count = segment.count;
    let rank_bits = digits(count.saturating_sub(1));
    let marks = if id_count > count { id_count } else { 0 };
    let words = |entries: u64, bits: u32| (u128::from(entries) * u128::from(bits)).div_ceil(64) * 8;
    let blocks = table.blocks.len() as u64;
    let body = [words(blocks, rank_bits), words(marks, 1), words(id_count, id_bits.into())];
    let body_bytes: u128 = body.iter().sum();
    let groups = u128::from(marks.div_ceil(32768));
    let file_bytes = 48 + body_bytes + 8 * groups + 4 * body_bytes.div_ceil(4096) + 4;
    let is_right = id_bits <= 64
        && id_count >= count
        && (count > 0 || id_count == 0)
        && file_bytes == file.len() as u128;
    require(is_right, "IDS-10", || {
        format!("{id_count} ids of {id_bits} bits for {count}, in {} bytes", file.len())
    })?;

    let (file, crc_of_directory) = file.split_at(file.len() - 4);
    let (header, rest) = file.split_at(48);
    let header_crc = &header[44..];
    let (body_part, directory) = rest.split_at(body_bytes as usize);
    let found = Fields(crc_of_directory).u32();
    require_crc("IDS-11", "directory_crc", found, crc(&[header_crc, directory]))?;
    require_crc("IDS-12", "directory_crc", found, entry.directory_crc)?;
    let mut directory = Fields(directory);
    let mut mark_counts: Vec<u64> = (0..groups).map(|_| directory.u64()).collect();
    if marks > 0 {
        mark_counts.push(count);
        require_equal("IDS-13", "first of mark_counts", mark_counts[0], 0)?;
    }
    for (group, pair) in mark_counts.windows(2).enumerate() {
        let of_group = (marks - 32768 * group as u64).min(32768);
        let is_possible = pair[1].checked_sub(pair[0]).is_some_and(|ones| ones <= of_group);
        require(is_possible, "IDS-13", || format!("{pair:?} around group {group}"))?;
    }

    for (number, chunk) in body_part.chunks(4096).enumerate() {
        let expected = crc(&[header_crc, &(number as u64).to_le_bytes(), chunk]);
        require_crc("IDS-14", &format!("chunk {number}"), directory.u32(), expected)?;
    }
    let mut parts = Fields(body_part);
    let [ranks, mark_bits, ids] = body.map(|bytes| parts.bytes(bytes as usize).view_bits::<Lsb0>());

    let mut rank = 0;
    for (block, keys) in table.blocks.iter().enumerate() {
        require_equal("IDS-15", "rank", entry_of(ranks, rank_bits, block as u64), rank)?;
        rank += keys.len() as u64;
    }
    let (mark_bits, mark_padding) = mark_bits.split_at(marks as usize);
    require(mark_bits.first().is_none_or(|mark| *mark), "IDS-16", || "mark 0 is 0".to_owned())?;
    for (group, bits) in mark_bits.chunks(32768).enumerate() {
        let stated = mark_counts[group + 1] - mark_counts[group];
        let what = format!("marks of group {group}");
        require_equal("IDS-16", &what, bits.count_ones() as u64, stated)?;
    }
    let mut of_each: Vec<Vec<u64>> = Vec::new();
    for i in 0..id_count {
        let id = entry_of(ids, id_bits.into(), i);
        if marks == 0 || mark_bits[i as usize] {
            of_each.push(vec![id]);
        } else if let Some(of_one) = of_each.last_mut() {
            require(of_one.last() < Some(&id), "IDS-17", || format!("id {i} is {id}"))?;
            of_one.push(id);
        }
    }
    let rank_padding = &ranks[blocks as usize * rank_bits as usize..];
    let id_padding = &ids[id_count as usize * usize::from(id_bits)..];
    for padding in [rank_padding, mark_padding, id_padding] {
        require(padding.not_any(), "IDS-18", || format!("padding is {padding}"))?;
    }
    Ok(of_each)
}

/// Section 8.1, but for [IDS-10].
fn read_header(
    file: &[u8],
    segment: &SegmentEntry,
    entry: &IdsEntry,
    table: &PlainTable,
) -> Checked<Shape> {
    require_equal("IDS-3", "length of the file", file.len() as u64, entry.file_bytes)?;
    require(file.len() >= 52, "IDS-3", || format!("{} bytes are no ids", file.len()))?;
    let mut fields = Fields(file);
    let magic = fields.bytes(8);
    let (major, _minor, table_crc) = (fields.u16(), fields.u16(), fields.u32());
    let (count, block_count, id_count) = (fields.u64(), fields.u64(), fields.u64());
    let (id_bits, reserved, header_crc) = (fields.u8(), fields.bytes(3), fields.u32());
    require_equal("IDS-4", "magic", magic, b"\x89FPSI\r\n\x1A")?;
    require_crc("IDS-5", "header_crc", header_crc, crc(&[&file[..44]]))?;
    support(major == 1, "IDS-6", || format!("version_major is {major}"))?;
    require_crc("IDS-7", "header_crc", header_crc, entry.header_crc)?;
    support(reserved == [0; 3], "IDS-8", || format!("reserved is {reserved:x?}"))?;
    require_crc("IDS-9", "table_crc", table_crc, segment.tables[0].header_crc)?;
    require_equal("IDS-9", "count", count, segment.count)?;
    require_equal("IDS-9", "block_count", block_count, table.blocks.len() as u64)?;
    Ok(Shape { id_count, id_bits })
}

fn digits(x: u64) -> u32 {
    x.checked_ilog2().map_or(0, |log| log + 1)
}

/// Entry `number` of a stream of entries of `bits` bits.
fn entry_of(stream: &BitSlice<u8, Lsb0>, bits: u32, number: u64) -> u64 {
    let start = number as usize * bits as usize;
    let entry = &stream[start..start + bits as usize];
    entry.iter().rev().fold(0, |value, bit| value << 1 | u64::from(*bit))
}
