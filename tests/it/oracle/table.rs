//! A table file (section 6).

use byteorder::{ByteOrder, LittleEndian};

use super::block::{BlockShape, read_block};
use super::manifest::SegmentEntry;
use super::meaning::{bit_order, count_classes, permute, set_sum, unpermute};
use super::mutation::{Wrong, is, is_minimal, or};
use super::prefix::{check_length, check_reserved, read_header};
use super::{
    Checked, Fields, PlainTable, all_zero, crc, require, require_crc, require_equal, support,
};

/// A table whose header, footer, codes and router are checked.
pub struct OpenTable {
    file: Vec<u8>,
    header: TableHeader,
    histogram_crc: u32,
    code_lengths: Vec<u8>,
    router: Vec<u64>,
}

struct TableHeader {
    /// Those of a fingerprint, and those of a key.
    whole_bits: u8,
    bits: u8,
    codec: u8,
    low_bits: u8,
    block_bytes: u32,
    ranges: Vec<(u8, u8)>,
    header_bytes: usize,
    header_crc: u32,
}

impl TableHeader {
    /// Whether keys may be equal.
    fn repeats(&self) -> bool {
        self.bits < self.whole_bits && !is(Wrong::ShortKeysOnce)
    }
}

/// `[crc of the header, ...]`, or without it.
fn bound_crc(header_crc: u32, bytes: &[u8], alone: Wrong) -> u32 {
    if is(alone) { crc(&[bytes]) } else { crc(&[&header_crc.to_le_bytes(), bytes]) }
}

/// Checks all that applies when a table is opened.
pub fn open_table(file: Vec<u8>, segment: &SegmentEntry, number: usize) -> Checked<OpenTable> {
    let header = read_table_header(&file, segment, number)?;
    let (bits, low_bits, block_bytes) = (header.bits, header.low_bits, header.block_bytes);
    let (header_crc, count) = (header.header_crc, segment.count);

    let (body, footer) = file.split_at(file.len() - 24);
    let mut fields = Fields(footer);
    let block_count = fields.u64();
    let (router_crc, codes_crc, histogram_crc) = (fields.u32(), fields.u32(), fields.u32());
    let footer_crc = fields.u32();
    let expected = bound_crc(header_crc, &footer[..20], Wrong::FooterCrcAlone);
    require_crc("FIL-3", "footer_crc", footer_crc, expected)?;
    require_crc("FIL-4", "footer_crc", footer_crc, segment.tables[number].footer_crc)?;
    let of_codes = usize::from(or(bits, Wrong::ClassesOf64, 64));
    let classes = or(of_codes + 1, Wrong::NoEqualClass, of_codes) - usize::from(low_bits);
    let entry_bits = or(bits, Wrong::RouterOf8, 64);
    let entry_bytes = usize::from(entry_bits / 8);
    let codes_bytes = classes.next_multiple_of(or(8, Wrong::CodesPaddedTo16, 16));
    let expected_bytes = 4096
        + u128::from(block_count) * u128::from(block_bytes + entry_bytes as u32)
        + (codes_bytes + 8 * classes + 24) as u128;
    let before = 6 + u32::from(or(bits, Wrong::LargestOf64, 64) / 8);
    let largest_block = 1 + 8 * (block_bytes - before);
    let block_count_is_right = block_count < 1 << 32
        && (block_count == 0) == (count == 0)
        && block_count <= count
        && u128::from(count) <= u128::from(block_count) * u128::from(largest_block)
        && expected_bytes == file.len() as u128;
    require(block_count_is_right, "FTR-1", || {
        format!("block_count is {block_count}, with {count} keys in {} bytes", file.len())
    })?;

    let mut parts = Fields(&body[4096..]);
    let _blocks = parts.bytes(block_count as usize * block_bytes as usize);
    let router = parts.bytes(block_count as usize * entry_bytes);
    if is(Wrong::HistogramBeforeCodes) {
        parts.bytes(8 * classes);
    }
    let codes = parts.bytes(codes_bytes);
    let (code_lengths, padding) = codes.split_at(classes);
    let covered = or(codes, Wrong::CodesCrcWithoutPadding, code_lengths);
    let expected = bound_crc(header_crc, covered, Wrong::CodesCrcAlone);
    require_crc("COD-1", "codes_crc", codes_crc, expected)?;
    check_code_lengths(code_lengths, padding, count)?;
    let code_lengths = code_lengths.to_vec();

    let expected = bound_crc(header_crc, router, Wrong::RouterCrcAlone);
    require_crc("RTR-1", "router_crc", router_crc, expected)?;
    let router: Vec<u64> =
        router.chunks(entry_bytes).map(|key| Fields(key).key(entry_bits)).collect();
    let repeats = header.repeats() && !is(Wrong::ShortRouterOnce);
    let repeats = repeats || is(Wrong::RouterMayRepeat);
    let ascends = router.is_sorted_by(|a, b| a < b || repeats && a == b);
    require(ascends, "RTR-2", || "entries do not ascend".to_owned())?;
    Ok(OpenTable { file, header, histogram_crc, code_lengths, router })
}

impl OpenTable {
    pub fn block_count(&self) -> u64 {
        self.router.len() as u64
    }

    /// Checks all that applies to the contents, of a table behind the `first` one or of that.
    pub fn read(
        &self,
        segment: &SegmentEntry,
        number: usize,
        first: Option<&PlainTable>,
    ) -> Checked<PlainTable> {
        let Self { file, header, code_lengths, router, .. } = self;
        let TableHeader { whole_bits, bits, codec, low_bits, block_bytes, .. } = *header;
        let padding_is_zero = all_zero(&file[header.header_bytes..4096]);
        require(padding_is_zero, "TAB-10", || "padding is not zero".to_owned())?;

        let histogram = &file[file.len() - 24 - 8 * code_lengths.len()..file.len() - 24];
        let expected = crc(&[&header.header_crc.to_le_bytes(), histogram]);
        require_crc("HIS-1", "histogram_crc", self.histogram_crc, expected)?;
        let histogram: Vec<u64> = histogram.chunks(8).map(LittleEndian::read_u64).collect();
        let (sum, count) = (histogram.iter().map(|&keys| u128::from(keys)).sum(), segment.count);
        require_equal("HIS-2", "sum of the histogram", u128::from(count.saturating_sub(1)), sum)?;
        for (class, (&keys, &length)) in histogram.iter().zip(code_lengths).enumerate() {
            require((keys == 0) == (length == 0), "HIS-2", || {
                format!("class {class} has {keys} keys and a code of {length} bits")
            })?;
        }

        let repeats = header.repeats();
        let shape = BlockShape { bits, repeats, codec, low_bits, block_bytes, code_lengths };
        let bytes = &file[4096..4096 + router.len() * block_bytes as usize];
        let blocks = read_blocks(&shape, header.header_crc, bytes, router)?;
        let keys = blocks.concat();
        require_equal("SET-1", "number of keys", keys.len() as u64, count)?;
        let order = bit_order(whole_bits, &header.ranges);
        let back = or(unpermute as fn(u64, &[u8]) -> u64, Wrong::PermutesForUnpermutes, permute);
        let cut = whole_bits - bits;
        let mut fingerprints: Vec<u64> = keys.iter().map(|&key| back(key << cut, &order)).collect();
        fingerprints.sort_unstable();
        let summed = or(&fingerprints, Wrong::SumOfKeys, &keys);
        let (mut sum, mut stated) = (set_sum(summed), segment.set_sum);
        if is(Wrong::SumOf64Bits) {
            (sum, stated) = (sum & u128::from(u64::MAX), stated & u128::from(u64::MAX));
        }
        let is_whole = cut == 0 || is(Wrong::SumOfShort);
        if is_whole && (!is(Wrong::SumOfTable0) || number == 0) {
            require_equal("SET-2", "set_sum", sum, stated)?;
        }
        let firsts = blocks.iter().map(|block| block[0]).collect::<Vec<_>>();
        require_equal("SET-3", "histogram", &histogram, &count_classes(&shape, &keys, &firsts))?;
        if let Some(first) = first.filter(|_| cut > 0) {
            let mask = or(u64::MAX, Wrong::LastBitsKept, (1 << bits) - 1);
            let key = |&f: &u64| permute(f, &order) >> or(cut, Wrong::LastBitsKept, 0) & mask;
            let expected: Vec<u64> = first.fingerprints.iter().map(key).collect();
            require_equal("SET-4", "sum of the keys", set_sum(&keys), set_sum(&expected))?;
        }

        let (ranges, code_lengths) = (header.ranges.clone(), code_lengths.clone());
        let router = router.clone();
        Ok(PlainTable {
            whole_bits,
            bits,
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
}

/// Section 6.2.
fn read_table_header(file: &[u8], segment: &SegmentEntry, number: usize) -> Checked<TableHeader> {
    let entry = &segment.tables[number];
    require_equal("FIL-1", "length of the file", file.len() as u64, entry.file_bytes)?;
    let (header, header_crc) = read_header(file, b'T', 64)?;
    let header_bytes = header.len();
    let range_count = usize::from(Fields(&header[50..]).u16());
    check_length(header, (56 + 2 * range_count + 4).next_multiple_of(8))?;
    check_reserved(&header[53..56])?;
    check_reserved(&header[56 + 2 * range_count..header.len() - 4])?;
    let least = or(4208, Wrong::TablesFrom4280, 4280);
    require(file.len() >= least, "TAB-1", || format!("a file of {} bytes", file.len()))?;
    require_crc("FIL-2", "header_crc", header_crc, entry.header_crc)?;
    let mut fields = Fields(&header[16..]);
    let (fingerprint_bits, codec, low_bits) = (fields.u16(), fields.u8(), fields.u8());
    let (block_bytes, count, sum) = (fields.u32(), fields.u64(), fields.u128());
    let (table_number, _) = (usize::from(fields.u16()), fields.u16());
    let (cut_bits, _reserved) = (fields.u8(), fields.bytes(3));
    let is_known = fingerprint_bits == 32 || fingerprint_bits == 64;
    support(is_known, "TAB-2", || format!("fingerprint_bits is {fingerprint_bits}"))?;
    let whole_bits = fingerprint_bits as u8;
    let bits = whole_bits.saturating_sub(or(cut_bits, Wrong::CutIgnored, 0));
    let is_cut_well = [32, 40, 48, 56, 64].contains(&bits);
    let is_cut_well = is_cut_well && (cut_bits == 0 || !is_minimal());
    support(is_cut_well, "TAB-3", || format!("{cut_bits} bits are cut off"))?;
    support(codec == 1 || codec == 2, "TAB-4", || format!("codec is {codec}"))?;
    let is_less = low_bits < or(bits, Wrong::LowBitsToV, bits + 1) || is(Wrong::ColumnsOf32);
    let low_bits_fit = [0, 8, 16, 24, 32, 40, 48].contains(&low_bits) && is_less;
    support(low_bits_fit, "TAB-5", || format!("low_bits is {low_bits}"))?;
    let block_bytes_fit = block_bytes.is_power_of_two() && (256..=8192).contains(&block_bytes);
    require(block_bytes_fit, "TAB-6", || format!("block_bytes is {block_bytes}"))?;
    require_equal("TAB-7", "fingerprint_bits", fingerprint_bits, segment.bits)?;
    let table_number = or(table_number, Wrong::TableNumberOf8Bits, table_number % 256);
    require_equal("TAB-7", "table_number", table_number, number)?;
    require_equal("TAB-7", "count", count, segment.count)?;
    require_equal("TAB-7", "set_sum", sum, segment.set_sum)?;

    require(range_count >= 1, "TAB-8", || "range_count is 0".to_owned())?;
    let ranges = read_ranges(&mut fields, range_count, whole_bits)?;
    let top_bits = ranges.iter().map(|&(_, bits)| u32::from(bits)).sum::<u32>();
    let fits = top_bits <= u32::from(bits) || is(Wrong::LongTops);
    require(fits, "TAB-8", || format!("a top of {top_bits} bits of {bits}"))?;
    let is_identity = bit_order(whole_bits, &ranges).is_sorted();
    require(number > 0 || is_identity, "TAB-9", || format!("table 0 has the top {ranges:?}"))?;
    require(number > 0 || cut_bits == 0, "TAB-9", || "table 0 is short".to_owned())?;
    let codec = or(codec, Wrong::OtherCodec, 3 - codec);
    Ok(TableHeader {
        whole_bits,
        bits,
        codec,
        low_bits,
        block_bytes,
        ranges,
        header_bytes,
        header_crc,
    })
}

/// [TAB-8], but for the number of ranges.
fn read_ranges(fields: &mut Fields<'_>, range_count: usize, bits: u8) -> Checked<Vec<(u8, u8)>> {
    let mut ranges: Vec<(u8, u8)> = (0..range_count).map(|_| (fields.u8(), fields.u8())).collect();
    if is(Wrong::RangesAsEnds) {
        ranges.iter_mut().for_each(|(first, last)| *last = *last + 1 - *first);
    }
    let mut taken = vec![false; or(bits, Wrong::TopsIn64Bits, 64).into()];
    for &(first, bits) in &ranges {
        let end = usize::from(first) + usize::from(bits);
        let is_free =
            bits > 0 && end <= taken.len() && !taken[usize::from(first)..end].contains(&true);
        require(is_free, "TAB-8", || format!("range ({first}, {bits}) in {ranges:?}"))?;
        taken[usize::from(first)..end].fill(true);
    }
    Ok(ranges)
}

/// [COD-2] and [COD-3].
fn check_code_lengths(lengths: &[u8], padding: &[u8], count: u64) -> Checked<()> {
    require(all_zero(padding), "COD-2", || format!("padding is {padding:x?}"))?;
    let longest = lengths.iter().max();
    let most = or(or(or(11, Wrong::CodesTo10, 10), Wrong::CodesTo9, 9), Wrong::CodesTo12, 12);
    require(longest <= Some(&most), "COD-2", || format!("the longest code has {longest:?} bits"))?;
    let used: Vec<u8> = lengths.iter().copied().filter(|&length| length > 0).collect();
    let is_code = match used.as_slice() {
        lengths if count <= 1 => lengths.is_empty(),
        &[_] if is(Wrong::SingleCodeRefused) => false,
        &[length] => length == 1 || is(Wrong::SingleCodeOfAnyLength),
        lengths => {
            // A length of 0 bits of 16 makes no sum, and is no code either.
            let parts = lengths.iter().map(|&length| 1u64.checked_shl(16 - u32::from(length)));
            parts.map(|part| part.unwrap_or(0)).sum::<u64>() == 1 << 16
        }
    };
    require(is_code, "COD-3", || format!("code of lengths {used:?} for {count} keys"))
}

/// Section 6.4, for all blocks of a table.
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
        let first = block.keys.first();
        let touches = shape.repeats || is(Wrong::BlocksMayTouch);
        let is_free = shape.repeats && is(Wrong::ShortBlocksInAnyOrder);
        require(before < first || touches && before == first || is_free, "BLK-7", || {
            at("first key is not above the last block")
        })?;
        require_equal("BLK-8", &at("last key"), block.keys.last(), router.get(number))?;
        let is_zero =
            block.padding_is_zero || block.keys.len() == 1 && is(Wrong::PaddingBehindCodes);
        require(is_zero, "BLK-9", || at("padding is not zero"))?;
        blocks.push(block.keys);
    }
    Ok(blocks)
}
