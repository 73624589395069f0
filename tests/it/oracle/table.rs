//! A table file (section 4).

use byteorder::{ByteOrder, LittleEndian};

use super::block::{BlockShape, read_block};
use super::manifest::SegmentEntry;
use super::meaning::{bit_order, count_classes, set_sum, unpermute};
use super::{
    Checked, Fields, PlainTable, all_zero, crc, require, require_crc, require_equal, support,
};

pub fn read_table(file: &[u8], segment: &SegmentEntry, number: usize) -> Checked<PlainTable> {
    let header = read_header(file, segment, number)?;
    let (codec, low_bits, block_bytes) = (header.codec, header.low_bits, header.block_bytes);
    let header_crc = header.header_crc.to_le_bytes();
    let count = segment.count;

    let (body, footer) = file.split_at(file.len() - 24);
    let mut fields = Fields(footer);
    let block_count = fields.u64();
    let (router_crc, codes_crc, histogram_crc) = (fields.u32(), fields.u32(), fields.u32());
    let footer_crc = fields.u32();
    require_crc("FTR-1", "footer_crc", footer_crc, crc(&[&header_crc, &footer[..20]]))?;
    require_crc("FTR-2", "footer_crc", footer_crc, segment.tables[number].footer_crc)?;
    let classes = 65 - usize::from(low_bits);
    let codes_bytes = classes.next_multiple_of(8);
    let expected_bytes = 4096
        + u128::from(block_count) * u128::from(block_bytes + 8)
        + (codes_bytes + 8 * classes + 24) as u128;
    let largest_block = 8 * block_bytes - if block_bytes <= 8192 { 111 } else { 127 };
    let block_count_is_right = block_count < 1 << 32
        && (block_count == 0) == (count == 0)
        && block_count <= count
        && u128::from(count) <= u128::from(block_count) * u128::from(largest_block)
        && expected_bytes == file.len() as u128;
    require(block_count_is_right, "FTR-3", || {
        format!("block_count is {block_count}, with {count} keys in {} bytes", file.len())
    })?;

    let mut parts = Fields(&body[4096..]);
    let blocks = parts.bytes(block_count as usize * block_bytes as usize);
    let router = parts.bytes(block_count as usize * 8);
    let codes = parts.bytes(codes_bytes);
    let histogram = parts.bytes(8 * classes);

    require_crc("COD-1", "codes_crc", codes_crc, crc(&[&header_crc, codes]))?;
    let (code_lengths, padding) = codes.split_at(classes);
    check_code_lengths(code_lengths, padding, count)?;

    require_crc("HIS-1", "histogram_crc", histogram_crc, crc(&[&header_crc, histogram]))?;
    let histogram: Vec<u64> = histogram.chunks(8).map(LittleEndian::read_u64).collect();
    let sum: u128 = histogram.iter().map(|&keys| u128::from(keys)).sum();
    require_equal("HIS-2", "sum of the histogram", sum, u128::from(count.saturating_sub(1)))?;
    for (class, (&keys, &length)) in histogram.iter().zip(code_lengths).enumerate() {
        require((keys == 0) == (length == 0), "HIS-2", || {
            format!("class {class} has {keys} keys and a code of {length} bits")
        })?;
    }

    require_crc("RTR-1", "router_crc", router_crc, crc(&[&header_crc, router]))?;
    let router: Vec<u64> = router.chunks(8).map(LittleEndian::read_u64).collect();
    require(router.is_sorted_by(|a, b| a < b), "RTR-2", || "entries do not ascend".to_owned())?;

    let shape = BlockShape { codec, low_bits, block_bytes, code_lengths };
    let blocks = read_blocks(&shape, header.header_crc, blocks, &router)?;
    let keys = blocks.concat();
    require_equal("SET-1", "number of keys", keys.len() as u64, count)?;
    let order = bit_order(&header.ranges);
    let mut fingerprints: Vec<u64> = keys.iter().map(|&key| unpermute(key, &order)).collect();
    fingerprints.sort_unstable();
    require_equal("SET-2", "set_sum", set_sum(&fingerprints), segment.set_sum)?;
    require_equal("SET-3", "histogram", &histogram, &count_classes(&shape, &keys))?;

    let (ranges, code_lengths) = (header.ranges, code_lengths.to_vec());
    Ok(PlainTable {
        codec,
        low_bits,
        block_bytes,
        ranges,
        code_lengths,
        histogram,
        router,
        blocks,
        fingerprints,
    })
}

struct TableHeader {
    codec: u8,
    low_bits: u8,
    block_bytes: u32,
    ranges: Vec<(u8, u8)>,
    header_crc: u32,
}

/// Section 4.1.
fn read_header(file: &[u8], segment: &SegmentEntry, number: usize) -> Checked<TableHeader> {
    let entry = &segment.tables[number];
    require_equal("TAB-1", "length of the file", file.len() as u64, entry.file_bytes)?;
    require(file.len() >= 4424, "TAB-1", || format!("{} bytes are no table", file.len()))?;
    let mut fields = Fields(file);
    let magic = fields.bytes(8);
    let (major, _minor) = (fields.u16(), fields.u16());
    let header_bytes = fields.u32() as usize;
    let (fingerprint_bits, codec, low_bits) = (fields.u16(), fields.u8(), fields.u8());
    let (block_bytes, count, sum) = (fields.u32(), fields.u64(), fields.u128());
    let (table_number, range_count) = (usize::from(fields.u16()), usize::from(fields.u16()));
    let reserved = fields.u32();
    require_equal("TAB-2", "magic", magic, b"\x89FPST\r\n\x1A")?;
    let header_bytes_fit = header_bytes.is_multiple_of(8) && (64..=4096).contains(&header_bytes);
    require(header_bytes_fit, "TAB-3", || format!("header_bytes is {header_bytes}"))?;
    let (covered, after) = file.split_at(header_bytes - 4);
    let header_crc = Fields(after).u32();
    require_crc("TAB-4", "header_crc", header_crc, crc(&[covered]))?;
    support(major == 1, "TAB-5", || format!("version_major is {major}"))?;
    require_crc("TAB-6", "header_crc", header_crc, entry.header_crc)?;
    support(fingerprint_bits == 64, "TAB-7", || format!("fingerprint_bits is {fingerprint_bits}"))?;
    support(codec == 1 || codec == 2, "TAB-8", || format!("codec is {codec}"))?;
    support([0, 8, 16, 24, 32].contains(&low_bits), "TAB-9", || format!("low_bits is {low_bits}"))?;
    let block_bytes_fit = block_bytes.is_power_of_two() && (256..=65536).contains(&block_bytes);
    require(block_bytes_fit, "TAB-10", || format!("block_bytes is {block_bytes}"))?;
    support(reserved == 0, "TAB-11", || format!("reserved is {reserved:#x}"))?;
    require_equal("TAB-12", "table_number", table_number, number)?;
    require_equal("TAB-13", "count", count, segment.count)?;
    require_equal("TAB-13", "set_sum", sum, segment.set_sum)?;

    require(range_count >= 1, "TAB-14", || "range_count is 0".to_owned())?;
    let expected_bytes = (56 + 2 * range_count + 4).next_multiple_of(8);
    require_equal("TAB-14", "header_bytes", header_bytes, expected_bytes)?;
    let ranges: Vec<(u8, u8)> = (0..range_count).map(|_| (fields.u8(), fields.u8())).collect();
    let mut taken = [false; 64];
    for &(first, bits) in &ranges {
        let end = usize::from(first) + usize::from(bits);
        let is_free = bits > 0 && end <= 64 && !taken[usize::from(first)..end].contains(&true);
        require(is_free, "TAB-14", || format!("range ({first}, {bits}) in {ranges:?}"))?;
        taken[usize::from(first)..end].fill(true);
    }
    let is_identity = bit_order(&ranges).is_sorted();
    require(number > 0 || is_identity, "TAB-15", || format!("table 0 has the top {ranges:?}"))?;
    let padding_is_zero = all_zero(&file[56 + 2 * range_count..header_bytes - 4])
        && all_zero(&file[header_bytes..4096]);
    require(padding_is_zero, "TAB-16", || "padding of the header is not zero".to_owned())?;
    Ok(TableHeader { codec, low_bits, block_bytes, ranges, header_crc })
}

/// [COD-2] and [COD-3].
fn check_code_lengths(lengths: &[u8], padding: &[u8], count: u64) -> Checked<()> {
    require(all_zero(padding), "COD-2", || format!("padding is {padding:x?}"))?;
    let longest = lengths.iter().max();
    require(longest <= Some(&11), "COD-2", || format!("the longest code has {longest:?} bits"))?;
    let used: Vec<u8> = lengths.iter().copied().filter(|&length| length > 0).collect();
    let is_code = match used.as_slice() {
        lengths if count <= 1 => lengths.is_empty(),
        &[length] => length == 1,
        lengths => lengths.iter().map(|&length| 1 << (11 - length)).sum::<u32>() == 1 << 11,
    };
    require(is_code, "COD-3", || format!("code of lengths {used:?} for {count} keys"))
}

/// Section 5, for all blocks of a table.
fn read_blocks(
    shape: &BlockShape<'_>,
    header_crc: u32,
    bytes: &[u8],
    router: &[u64],
) -> Checked<Vec<Vec<u64>>> {
    let mut blocks: Vec<Vec<u64>> = Vec::new();
    for (number, bytes) in bytes.chunks(shape.block_bytes as usize).enumerate() {
        let block = read_block(shape, header_crc, number as u64, bytes)?;
        let before = blocks.last().and_then(|keys| keys.last());
        let at = |what: &str| format!("block {number}: {what}");
        require(before < block.keys.first(), "BLK-7", || {
            at("first key is not above the last block")
        })?;
        require_equal("BLK-8", &at("last key"), block.keys.last(), router.get(number))?;
        require(block.padding_is_zero, "BLK-9", || at("padding is not zero"))?;
        blocks.push(block.keys);
    }
    Ok(blocks)
}
