//! Cases of section 6: everything in a table file but its blocks.
//!
//! One clause of [FTR-1] cannot be broken alone: a file of 2^32 blocks would be a terabyte.

use super::Base::{Blocks, Empty, Equal, Narrow, One, Tiny};
use super::Part::{Histogram, Router};
use super::good_variants::made_up;
use super::{Case, Forge, Place, case};

pub fn cases() -> Vec<Case> {
    let mut cases = file_and_header();
    cases.extend(identity());
    cases.extend(top_and_padding());
    cases.extend(footer());
    cases.extend(codes());
    cases.extend(histogram());
    cases.extend(router());
    cases
}

fn set_header(f: &mut Forge, field: &str, value: u64) {
    f.set(Place::Table(0), field, value);
    f.reseal(0);
}

fn set_footer(f: &mut Forge, field: &str, value: u64) {
    f.set(Place::Footer(0), field, value);
    f.reseal_footer(0);
}

/// Changes a field of the footer and reseals what lies above it.
fn flip_footer(f: &mut Forge, field: &str) {
    f.flip(Place::Footer(0), field);
    f.reseal_footer(0);
}

fn set_ranges(f: &mut Forge, table: usize, ranges: &[(u8, u8)]) {
    f.set_ranges(table, ranges);
    f.reseal(table);
}

fn set_code(f: &mut Forge, class: usize, length: u8) {
    f.codes(0)[class] = length;
    f.reseal(0);
}

/// Two classes with a code.
fn two_classes(f: &mut Forge) -> [usize; 2] {
    let codes = f.codes(0);
    let mut used = (0..codes.len()).filter(|&class| codes[class] > 0);
    [(); 2].map(|()| used.next().expect("the base has two classes"))
}

#[rustfmt::skip]
fn file_and_header() -> Vec<Case> {
    vec![
        case("bad-fil-01-table-cut", "FIL-1", One, "The table file lacks its last byte.", |f| {
            f.table(0).pop();
        }),
        case("bad-fil-01-table-longer", "FIL-1", One, "A byte follows the table file.", |f| f.table(0).push(0)),
        case("bad-fil-01-table-empty", "FIL-1", One, "The table file is empty.", |f| f.table(0).clear()),
        case("bad-tab-01-too-short", "TAB-1", One, "The table file has 4119 bytes, and the manifest says so.", |f| {
            f.table(0).truncate(4119);
            f.set(Place::Entry(0), "file_bytes", 4119);
            f.reseal_manifest();
        }),
        case("unsupported-pre-06-header-bytes-4104", "PRE-6", One, "header_bytes is 4104, with a right header_crc inside the first block.", |f| {
            f.set(Place::Table(0), "header_bytes", 4104);
            super::reseal_header(f.table(0));
            f.reseal_made_up(0);
        }),
        case("bad-pre-01-table-23-bytes", "PRE-1", One, "The table file has 23 bytes, and the manifest says so.", |f| {
            f.table(0).truncate(23);
            f.set(Place::Entry(0), "file_bytes", 23);
            f.reseal_manifest();
        }),
        case("bad-pre-02-table-magic", "PRE-2", One, "The carriage return of the table's magic is gone, as after a transfer as text.", |f| {
            f.field(Place::Table(0), "magic")[5] = 0x20;
            f.reseal(0);
        }),
        case("bad-pre-03-table-header-bytes-16", "PRE-3", One, "header_bytes is 16.", |f| f.set(Place::Table(0), "header_bytes", 16)),
        case("bad-pre-03-table-header-bytes-68", "PRE-3", One, "header_bytes is 68, no multiple of 8.", |f| set_header(f, "header_bytes", 68)),
        case("bad-pre-03-table-header-bytes-0", "PRE-3", One, "header_bytes is 0.", |f| f.set(Place::Table(0), "header_bytes", 0)),
        case("bad-pre-03-table-header-bytes-huge", "PRE-3", One, "header_bytes is 2^32 - 8.", |f| f.set(Place::Table(0), "header_bytes", 0xFFFF_FFF8)),
        case("unsupported-pre-06-table-header-bytes-56", "PRE-6", One, "header_bytes is 56, with a right header_crc.", |f| set_header(f, "header_bytes", 56)),
        case("bad-pre-04-table-header-flipped", "PRE-4", One, "A bit of count is flipped in the table's header.", |f| f.flip(Place::Table(0), "count")),
        case("bad-pre-04-table-version-flipped", "PRE-4", One, "A bit of the table's version_major is flipped: the checksum comes first, so this is corrupt.", |f| {
            f.flip(Place::Table(0), "version_major");
        }),
        case("bad-pre-04-table-header-bytes-4096", "PRE-4", One, "header_bytes is 4096, where the bytes before 4096 are no header_crc.", |f| {
            f.set(Place::Table(0), "header_bytes", 4096);
        }),
        case("unsupported-pre-05-table-version-2", "PRE-5", One, "version_major of the table is 2.", |f| set_header(f, "version_major", 2)),
        case("unsupported-pre-05-table-version-0", "PRE-5", One, "version_major of the table is 0.", |f| set_header(f, "version_major", 0)),
        case("unsupported-pre-05-table-made-up", "PRE-5", Tiny, "Table 1 is of a made-up version 2, and nothing in it is as in version 1.", |f| {
            *f.table(1) = made_up(b'T', 2, 200);
            f.reseal_made_up(1);
        }),
        case("bad-fil-02-table-manifest", "FIL-2", One, "The manifest gives another header_crc.", |f| {
            f.flip(Place::Entry(0), "header_crc");
            f.reseal_manifest();
        }),
        case("bad-fil-02-swapped-tables", "FIL-2", Tiny, "The two table files, of equal length, are exchanged.", |f| {
            let table = f.table(0).clone();
            *f.table(0) = std::mem::replace(f.table(1), table);
        }),
        case("bad-fil-02-stale-table", "FIL-2", One, "The table file is that of another set of one fingerprint.", |f| {
            let other = f.get(Place::Block(0, 0), "first_key") ^ 1;
            f.set(Place::Block(0, 0), "first_key", other);
            f.set_entry(0, Router, 0, other);
            f.flip(Place::Table(0), "set_sum");
            f.reseal_file(0);
        }),
        case("unsupported-tab-02-128-bits", "TAB-2", One, "fingerprint_bits of the table is 128.", |f| set_header(f, "fingerprint_bits", 128)),
        case("unsupported-tab-02-31-bits", "TAB-2", Narrow, "fingerprint_bits of the table is 31.", |f| set_header(f, "fingerprint_bits", 31)),
        case("unsupported-tab-05-low-bits-32-of-32", "TAB-5", Narrow, "low_bits is 32 in a table of 32 bits.", |f| set_header(f, "low_bits", 32)),
        case("bad-tab-07-32-bits", "TAB-7", One, "fingerprint_bits of the table is 32 in a store of 64 bits.", |f| set_header(f, "fingerprint_bits", 32)),
        case("bad-tab-07-64-bits", "TAB-7", Narrow, "fingerprint_bits of the table is 64 in a store of 32 bits.", |f| set_header(f, "fingerprint_bits", 64)),
        case("bad-tab-08-32-bits", "TAB-8", Narrow, "The second table has a range that ends at bit 33 of 32.", |f| set_ranges(f, 1, &[(16, 17)])),
        case("bad-tab-09-32-bits", "TAB-9", Narrow, "The top of table 0 begins with bit 16 of 32.", |f| set_ranges(f, 0, &[(16, 16)])),
        case("bad-rtr-02-32-bits", "RTR-2", Narrow, "Two entries of a router of 32 bits are equal.", |f| {
            let entry = f.part(0, Router)[..4].to_vec();
            f.part(0, Router)[4..8].copy_from_slice(&entry);
            f.reseal(0);
        }),
        case("unsupported-tab-03-more-than-all", "TAB-3", One, "fingerprint_bits is 32, and 224 bits are cut off.", |f| {
            f.set(Place::Table(0), "fingerprint_bits", 32);
            set_header(f, "cut_bits", 224);
        }),
        case("unsupported-tab-04-codec-0", "TAB-4", One, "codec is 0.", |f| set_header(f, "codec", 0)),
        case("unsupported-tab-04-codec-3", "TAB-4", One, "codec is 3.", |f| set_header(f, "codec", 3)),
        case("unsupported-tab-05-low-bits-12", "TAB-5", One, "low_bits is 12.", |f| set_header(f, "low_bits", 12)),
        case("unsupported-tab-05-low-bits-56", "TAB-5", One, "low_bits is 56.", |f| set_header(f, "low_bits", 56)),
        case("unsupported-tab-05-low-bits-255", "TAB-5", One, "low_bits is 255.", |f| set_header(f, "low_bits", 255)),
        case("bad-tab-06-block-bytes-0", "TAB-6", One, "block_bytes is 0.", |f| set_header(f, "block_bytes", 0)),
        case("bad-tab-06-block-bytes-128", "TAB-6", One, "block_bytes is 128.", |f| set_header(f, "block_bytes", 128)),
        case("bad-tab-06-block-bytes-384", "TAB-6", One, "block_bytes is 384, no power of two.", |f| set_header(f, "block_bytes", 384)),
        case("bad-tab-06-block-bytes-16384", "TAB-6", One, "block_bytes is 16384.", |f| set_header(f, "block_bytes", 16384)),
    ]
}

#[rustfmt::skip]
fn identity() -> Vec<Case> {
    vec![
        case("bad-tab-07-table-number", "TAB-7", One, "table_number of table 0 is 1.", |f| set_header(f, "table_number", 1)),
        case("bad-tab-07-table-number-256", "TAB-7", One, "table_number of table 0 is 256.", |f| set_header(f, "table_number", 256)),
        case("bad-tab-07-swapped-tables", "TAB-7", Tiny, "The two table files and their entries in the manifest are exchanged.", |f| {
            let table = f.table(0).clone();
            *f.table(0) = std::mem::replace(f.table(1), table);
            f.reseal_entry(0);
            f.reseal_entry(1);
        }),
        case("bad-tab-07-count-of-table", "TAB-7", One, "The header of the table says 2 keys, the manifest 1.", |f| set_header(f, "count", 2)),
        case("bad-tab-07-count-of-manifest", "TAB-7", One, "The manifest says 2^64 - 1 fingerprints, the header of the table 1.", |f| {
            f.set(Place::Segment, "count", u64::MAX);
            f.reseal_manifest();
        }),
        case("bad-tab-07-set-sum-of-table", "TAB-7", Tiny, "The highest bit of set_sum is flipped in the header of table 1.", |f| {
            f.field(Place::Table(1), "set_sum")[15] ^= 0x80;
            f.reseal(1);
        }),
        case("bad-tab-07-set-sum-of-manifest", "TAB-7", One, "set_sum is not the same in the manifest and in the table.", |f| {
            f.flip(Place::Segment, "set_sum");
            f.reseal_manifest();
        }),
    ]
}

#[rustfmt::skip]
fn top_and_padding() -> Vec<Case> {
    vec![
        case("bad-tab-08-no-range", "TAB-8", One, "range_count is 0.", |f| set_ranges(f, 0, &[])),
        case("bad-tab-08-range-empty", "TAB-8", One, "A range has no bits.", |f| set_ranges(f, 0, &[(0, 32), (32, 0)])),
        case("bad-tab-08-range-to-65", "TAB-8", One, "A range ends at bit 65.", |f| set_ranges(f, 0, &[(0, 65)])),
        case("bad-tab-08-range-at-64", "TAB-8", One, "A range starts at bit 64.", |f| set_ranges(f, 0, &[(0, 32), (64, 1)])),
        case("bad-tab-08-range-wraps", "TAB-8", One, "First bit and number of bits of a range add up to 256.", |f| set_ranges(f, 0, &[(0, 32), (128, 128)])),
        case("bad-tab-08-overlap", "TAB-8", Tiny, "Two ranges of table 1 have bit 47 in common.", |f| set_ranges(f, 1, &[(32, 16), (47, 17)])),
        case("bad-tab-08-overlap-inside", "TAB-8", Tiny, "A range of table 1 lies inside the other.", |f| set_ranges(f, 1, &[(32, 32), (40, 8)])),
        case("bad-tab-09-ranges-swapped", "TAB-9", One, "The ranges of table 0 are (8, 8), (0, 8).", |f| set_ranges(f, 0, &[(8, 8), (0, 8)])),
        case("bad-tab-09-ranges-apart", "TAB-9", One, "The ranges of table 0 are (0, 8), (16, 8).", |f| set_ranges(f, 0, &[(0, 8), (16, 8)])),
        case("bad-tab-09-starts-at-32", "TAB-9", One, "Table 0 has the range (32, 32).", |f| set_ranges(f, 0, &[(32, 32)])),
        case("unsupported-pre-07-table-reserved", "PRE-7", One, "The reserved bytes of the table's header are not zero.", |f| set_header(f, "reserved", 1 << 16)),
        case("unsupported-pre-06-range-count-3", "PRE-6", One, "range_count is 3, which takes 72 bytes, and header_bytes is 64.", |f| set_header(f, "range_count", 3)),
        case("unsupported-pre-06-range-count-65535", "PRE-6", One, "range_count is 65535.", |f| set_header(f, "range_count", 65535)),
        case("unsupported-pre-06-table-longer", "PRE-6", One, "The header of the table is 16 bytes longer than its ranges need.", |f| f.lengthen_table_header(0, 16)),
        case("unsupported-pre-07-table-tail", "PRE-7", One, "A byte between the ranges and header_crc is not zero.", |f| {
            set_ranges(f, 0, &[(0, 32)]);
            f.table(0)[super::end("table-header") + 2] = 1;
            f.reseal(0);
        }),
        case("bad-tab-10-first-byte-after-header", "TAB-10", One, "The first byte after the header, which no checksum covers, is not zero.", |f| {
            let header_bytes = f.get(Place::Table(0), "header_bytes") as usize;
            f.table(0)[header_bytes] = 1;
        }),
        case("bad-tab-10-last-byte-before-blocks", "TAB-10", One, "The last byte before the blocks, which no checksum covers, is not zero.", |f| {
            f.table(0)[super::BLOCKS_START - 1] = 0x80;
        }),
    ]
}

#[rustfmt::skip]
fn footer() -> Vec<Case> {
    vec![
        case("bad-fil-03-table-footer-crc", "FIL-3", One, "footer_crc is wrong, in the file and in the manifest.", |f| {
            f.flip(Place::Footer(0), "footer_crc");
            f.reseal_entry(0);
        }),
        case("bad-fil-03-table-block-count-flipped", "FIL-3", One, "A bit of block_count is flipped.", |f| f.flip(Place::Footer(0), "block_count")),
        case("bad-fil-03-footer-of-other-table", "FIL-3", Tiny, "Table 0 ends with the footer of table 1, and the manifest agrees.", |f| {
            for field in ["block_count", "router_crc", "codes_crc", "histogram_crc", "footer_crc"] {
                let value = f.get(Place::Footer(1), field);
                f.set(Place::Footer(0), field, value);
            }
            f.reseal_entry(0);
        }),
        case("bad-fil-04-table-manifest", "FIL-4", One, "The manifest gives another footer_crc.", |f| {
            f.flip(Place::Entry(0), "end_crc");
            f.reseal_manifest();
        }),
        case("bad-fil-04-table-other-router", "FIL-4", One, "Router and footer were written anew, the manifest was not.", |f| {
            let entry = f.entry(0, Router, 0);
            f.set_entry(0, Router, 0, entry ^ 1);
            f.reseal_file(0);
        }),
        case("bad-ftr-01-block-count-0", "FTR-1", One, "block_count is 0, count is 1, and there is a block.", |f| set_footer(f, "block_count", 0)),
        case("bad-ftr-01-no-block", "FTR-1", One, "A table of one key has no block and no router entry.", |f| {
            let at = super::BLOCKS_START;
            f.table(0).drain(at..at + 256 + 8);
            set_footer(f, "block_count", 0);
        }),
        case("bad-ftr-01-block-without-key", "FTR-1", Empty, "block_count is 1 and count is 0.", |f| set_footer(f, "block_count", 1)),
        case("bad-ftr-01-block-in-empty-table", "FTR-1", Empty, "A table of count 0 has a block and a router entry, both of zeros.", |f| {
            let at = super::BLOCKS_START;
            f.table(0).splice(at..at, [0; 256 + 8]);
            set_footer(f, "block_count", 1);
        }),
        case("bad-ftr-01-more-blocks-than-keys", "FTR-1", One, "A table of one key has room for two blocks and two router entries.", |f| {
            let at = super::BLOCKS_START + 256;
            f.table(0).splice(at..at, [0; 256 + 8]);
            set_footer(f, "block_count", 2);
        }),
        case("bad-ftr-01-length", "FTR-1", Blocks, "block_count is one less than the length of the file says.", |f| {
            let block_count = f.get(Place::Footer(0), "block_count");
            set_footer(f, "block_count", block_count - 1);
        }),
        case("bad-ftr-01-bytes-before-footer", "FTR-1", One, "Eight zero bytes stand between histogram and footer.", |f| {
            let at = f.table(0).len() - super::end("table-footer");
            f.table(0).splice(at..at, [0; 8]);
            f.reseal_entry(0);
        }),
        case("bad-ftr-01-more-keys-than-bits", "FTR-1", One, "count, in the manifest and in the table, is 1938: one more than a block of 256 bytes has room for.", |f| {
            f.set(Place::Segment, "count", 1938);
            f.set(Place::Table(0), "count", 1938);
            f.reseal(0);
        }),
        case("bad-ftr-01-block-count-huge", "FTR-1", One, "block_count is 2^32.", |f| set_footer(f, "block_count", 1 << 32)),
        case("bad-ftr-01-length-wraps", "FTR-1", One, "block_count is 2^61 + 1: modulo 2^64 the file has the right length.", |f| set_footer(f, "block_count", (1 << 61) + 1)),
    ]
}

#[rustfmt::skip]
fn codes() -> Vec<Case> {
    vec![
        case("bad-cod-01-codes-crc", "COD-1", One, "codes_crc is wrong.", |f| flip_footer(f, "codes_crc")),
        case("bad-cod-01-length-flipped", "COD-1", Equal, "A bit of a code length is flipped.", |f| f.codes(0)[0] ^= 1),
        case("bad-cod-02-padding", "COD-2", One, "The last byte of the padding of the codes is not zero.", |f| {
            *f.part(0, super::Part::Codes).last_mut().expect("codes are never empty") = 1;
            f.reseal(0);
        }),
        case("bad-cod-02-length-12", "COD-2", Blocks, "A code has 12 bits.", |f| {
            let class = f.longest_code(0);
            set_code(f, class, 12);
        }),
        case("bad-cod-02-length-255", "COD-2", Blocks, "A code has 255 bits.", |f| {
            let class = f.longest_code(0);
            set_code(f, class, 255);
        }),
        case("bad-cod-03-code-without-keys", "COD-3", One, "A table of one key has a code.", |f| set_code(f, 0, 1)),
        case("bad-cod-03-code-of-empty-table", "COD-3", Empty, "A table of no keys has a code.", |f| set_code(f, 64, 1)),
        case("bad-cod-03-no-code", "COD-3", Equal, "A table of many keys has no code.", |f| {
            f.codes(0).fill(0);
            f.reseal(0);
        }),
        case("bad-cod-03-single-code-of-2-bits", "COD-3", Equal, "The only code has 2 bits.", |f| {
            let class = f.longest_code(0);
            set_code(f, class, 2);
        }),
        case("bad-cod-03-incomplete", "COD-3", Blocks, "A longest code has one bit more: the code is incomplete.", |f| {
            let class = f.longest_code(0);
            let length = f.codes(0)[class];
            set_code(f, class, length + 1);
        }),
        case("bad-cod-03-oversubscribed", "COD-3", Blocks, "A longest code has one bit less: the code is oversubscribed.", |f| {
            let class = f.longest_code(0);
            let length = f.codes(0)[class];
            set_code(f, class, length - 1);
        }),
        case("bad-cod-03-all-1-bit", "COD-3", Blocks, "Every class has a code of 1 bit.", |f| {
            f.codes(0).fill(1);
            f.reseal(0);
        }),
    ]
}

#[rustfmt::skip]
fn histogram() -> Vec<Case> {
    vec![
        case("bad-his-01-histogram-crc", "HIS-1", One, "histogram_crc is wrong.", |f| flip_footer(f, "histogram_crc")),
        case("bad-his-01-entry-flipped", "HIS-1", Blocks, "A bit of the histogram is flipped.", |f| f.part(0, Histogram)[0] ^= 0x80),
        case("bad-his-02-sum", "HIS-2", Blocks, "The histogram adds up to one more than count - 1.", |f| {
            let [class, _] = two_classes(f);
            add_keys(f, class, 1);
            f.reseal(0);
        }),
        case("bad-his-02-sum-wraps", "HIS-2", Blocks, "The histogram adds up to count - 1 modulo 2^64 only.", |f| {
            for class in two_classes(f) {
                add_keys(f, class, 1 << 63);
            }
            f.reseal(0);
        }),
        case("bad-his-02-sum-of-empty-table", "HIS-2", Empty, "A table of no keys has a histogram that adds up to 2^64 - 1, which is 0 - 1 modulo 2^64.", |f| {
            f.set_entry(0, Histogram, 0, u64::MAX);
            f.reseal(0);
        }),
        case("bad-his-02-keys-without-code", "HIS-2", Equal, "The histogram has a key of a class without a code.", |f| {
            let class = f.longest_code(0);
            add_keys(f, class, u64::MAX);
            add_keys(f, 0, 1);
            f.reseal(0);
        }),
        case("bad-his-02-code-without-keys", "HIS-2", Blocks, "The histogram has no key of a class with a code.", |f| {
            let [one, other] = two_classes(f);
            let keys = f.entry(0, Histogram, one);
            f.set_entry(0, Histogram, one, 0);
            add_keys(f, other, keys);
            f.reseal(0);
        }),
        case("bad-set-03-moved", "SET-3", Blocks, "The histogram counts a key in another class.", |f| {
            let codes = f.codes(0).len();
            let most = (0..codes).max_by_key(|&class| f.entry(0, Histogram, class));
            let most = most.expect("there are classes");
            let classes = two_classes(f);
            let other = classes.into_iter().find(|&class| class != most).expect("two are different");
            add_keys(f, most, u64::MAX);
            add_keys(f, other, 1);
            f.reseal(0);
        }),
        case("bad-set-01-count", "SET-1", Equal, "count, in the manifest and in the table, and the histogram say one key more than there is.", |f| {
            let class = f.longest_code(0);
            add_keys(f, class, 1);
            f.increment(Place::Segment, "count");
            f.increment(Place::Table(0), "count");
            f.reseal(0);
        }),
    ]
}

/// Adds to an entry of the histogram, modulo 2^64.
fn add_keys(f: &mut Forge, class: usize, keys: u64) {
    let sum = f.entry(0, Histogram, class).wrapping_add(keys);
    f.set_entry(0, Histogram, class, sum);
}

#[rustfmt::skip]
fn router() -> Vec<Case> {
    vec![
        case("bad-rtr-01-router-crc", "RTR-1", One, "router_crc is wrong.", |f| flip_footer(f, "router_crc")),
        case("bad-rtr-01-entry-flipped", "RTR-1", One, "A bit of the router is flipped.", |f| f.part(0, Router)[7] ^= 0x80),
        case("bad-rtr-02-descending", "RTR-2", Blocks, "Two entries of the router are exchanged.", |f| {
            let entries = [0, 1].map(|block| f.entry(0, Router, block));
            f.set_entry(0, Router, 0, entries[1]);
            f.set_entry(0, Router, 1, entries[0]);
            f.reseal(0);
        }),
        case("bad-rtr-02-equal", "RTR-2", Blocks, "Two entries of the router are equal.", |f| {
            let entry = f.entry(0, Router, 1);
            f.set_entry(0, Router, 0, entry);
            f.reseal(0);
        }),
    ]
}
