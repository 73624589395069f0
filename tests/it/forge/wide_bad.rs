//! Bases and part tables that break a rule.

use super::WrittenVector;
use super::bases::scattered;
use super::living_writer::living_parts;
use super::wide_good::{changed, living_spec, masked, parts_of, wide};
use super::wide_writer::{BodyFile, Wide, widen};
use super::writer::{Files, Parts, SegmentSpec, entry_of_file, put};
use super::written::rejected;
use super::{end, read, write};

const BASE: &str = "segment-0000000000000001-base.fpb";
const PART_0: &str = "segment-0000000000000001-part-000.fpp";
const PART_1: &str = "segment-0000000000000001-part-001.fpp";
const IDS: &str = "segment-0000000000000001-ids.fpi";

/// 12 fingerprints of 128 bits in two parts with keys of 7 bits: two groups, and rows of 4 bits.
fn dozen() -> SegmentSpec {
    wide(128, scattered(12), vec![(60, 7), (68, 7)])
}

fn with_ids(segment: SegmentSpec) -> SegmentSpec {
    let ids = (0..segment.fingerprints.len() as u64).map(|id| vec![id]).collect();
    SegmentSpec { ids: Some((ids, 4)), ..segment }
}

/// 12 fingerprints of which the first three, and rows 5 and 6, have the same key in part 1.
fn paired() -> (SegmentSpec, Vec<Vec<u8>>) {
    let segment = wide(128, (0..12).collect(), vec![(64, 6), (64, 6)]);
    let lows = [9u64, 9, 9, 1, 8, 30, 30, 63, 62, 61, 2, 3];
    let row = |(number, low): (u64, u64)| {
        [(low << 58 | number).to_le_bytes(), (number << 59).to_le_bytes()].concat()
    };
    (segment, (0..).zip(lows).map(row).collect())
}

fn bad(
    name: &'static str,
    rule: &'static str,
    sentence: &'static str,
    change: impl FnOnce(&mut Wide),
) -> WrittenVector {
    rejected(name, rule, sentence, changed(&dozen(), change).assemble())
}

/// Of [`paired`] rows.
fn bad_pair(
    name: &'static str,
    rule: &'static str,
    sentence: &'static str,
    change: impl FnOnce(&mut Wide),
) -> WrittenVector {
    let (segment, rows) = paired();
    let mut wide = Wide::of_rows(segment.wide.as_ref().expect("it has a base"), &rows);
    change(&mut wide);
    rejected(name, rule, sentence, parts_of(&segment, wide).assemble())
}

/// Of files whose checksums were made before.
fn damaged(
    name: &'static str,
    rule: &'static str,
    sentence: &'static str,
    change: impl FnOnce(&mut Files),
) -> WrittenVector {
    let mut files = changed(&with_ids(dozen()), |_| {}).assemble();
    change(&mut files);
    rejected(name, rule, sentence, files)
}

/// Of a manifest that says something else.
fn named(
    name: &'static str,
    rule: &'static str,
    sentence: &'static str,
    change: impl FnOnce(&mut Parts),
) -> WrittenVector {
    let mut parts = changed(&dozen(), |_| {});
    change(&mut parts);
    rejected(name, rule, sentence, parts.assemble())
}

fn flip(files: &mut Files, name: &str, at: usize) {
    files.get_mut(name).expect("the file is there")[at] ^= 4;
}

/// Adds 1 to a field of an entry of the SEGMENT payload.
fn change_entry(parts: &mut Parts, table: usize, field: &str) {
    let at = end("segment-section") + table * end("file-entry");
    let entry = &mut parts.sections[1].2[at..][..end("file-entry")];
    let (offset, bytes) = crate::spec::offsets("file-entry")[field];
    let place = &mut entry[offset..offset + bytes.expect("a field has a length")];
    write(place, read(place).wrapping_add(1));
}

/// Makes a header shorter than its fields.
fn shorten(file: &mut BodyFile) {
    file.put("header_bytes", 56);
    file.header.truncate(56);
}

/// The first of the marks of a part table of 7-bit keys, or of 6-bit ones: they follow a word of
/// starts.
const MARKS: usize = 64;

fn bit(part: &BodyFile, at: usize) -> bool {
    part.body[at / 8] >> (at % 8) & 1 == 1
}

fn set_bit(part: &mut BodyFile, at: usize, value: bool) {
    part.body[at / 8] = part.body[at / 8] & !(1 << (at % 8)) | u8::from(value) << (at % 8);
}

/// The place of the first mark from `from` on that is as said.
fn find_mark(part: &BodyFile, from: usize, value: bool) -> usize {
    (MARKS + from..).find(|&at| bit(part, at) == value).expect("there is one")
}

/// Entry `place` of the rows, of 4 bits, behind so many bits of marks in whole words.
fn set_row(part: &mut BodyFile, keys: usize, place: usize, row: u64) {
    let start = MARKS + (12 + keys).next_multiple_of(64) + 4 * place;
    (0..4).for_each(|bit| set_bit(part, start + bit, row >> bit & 1 == 1));
}

pub fn vectors() -> Vec<WrittenVector> {
    let mut vectors = manifests();
    vectors.extend(bases());
    vectors.extend(part_headers());
    vectors.extend(part_masks());
    vectors.extend(part_bodies());
    vectors.extend(others());
    vectors.extend(pairs_of_defects());
    vectors
}

#[rustfmt::skip]
fn manifests() -> Vec<WrittenVector> {
    let segment = |parts: &mut Parts, field: &str, value| put(&mut parts.sections[1].2, "segment-section", field, value);
    vec![
        damaged("bad-dir-02-no-base", "DIR-2", "The base is missing.", |files| { files.remove(BASE); }),
        damaged("bad-dir-02-no-part", "DIR-2", "Part table 1 is missing.", |files| { files.remove(PART_1); }),
        named("unsupported-seg-01-index-2", "SEG-1", "index of the segment is 2.", |parts| segment(parts, "index", 2)),
        named("unsupported-seg-01-index-255", "SEG-1", "index of the segment is 255.", |parts| segment(parts, "index", 255)),
        named("unsupported-seg-03-tables", "SEG-3", "index of a segment of 128 bits is 0.", |parts| segment(parts, "index", 0)),
        named("unsupported-seg-03-before-seg-04", "SEG-3", "index of a segment of 128 bits is 0, and so is segment_number.", |parts| {
            segment(parts, "index", 0);
            segment(parts, "segment_number", 0);
        }),
        named("bad-sto-02-radius-129", "STO-2", "planned_radius of a store of 128 bits is 129.", |parts| put(&mut parts.sections[0].2, "store-section", "planned_radius", 129)),
        named("bad-fil-02-base-header-crc", "FIL-2", "header_crc of the base is not the one in the manifest.", |parts| change_entry(parts, 0, "header_crc")),
        named("bad-fil-02-base-part", "FIL-2", "header_crc of part table 1 is not the one in the manifest.", |parts| change_entry(parts, 2, "header_crc")),
        named("bad-fil-04-base-directory-crc", "FIL-4", "directory_crc of the base is not the one in the manifest.", |parts| change_entry(parts, 0, "end_crc")),
        named("bad-fil-04-base-part", "FIL-4", "directory_crc of part table 0 is not the one in the manifest.", |parts| change_entry(parts, 1, "end_crc")),
    ]
}

/// Rows of which the first two, which have the same key in part 0, do not ascend.
fn first_two_swapped() -> Parts {
    let segment = wide(128, vec![5, 6, 7, 1 << 60], vec![(50, 6), (78, 6)]);
    let spec = segment.wide.as_ref().expect("it has a base");
    let mut rows: Vec<Vec<u8>> = segment.fingerprints.iter().map(|&one| widen(one, 128)).collect();
    rows.swap(0, 1);
    let wide = Wide::of_rows(spec, &rows);
    parts_of(&segment, wide)
}

#[rustfmt::skip]
fn bases() -> Vec<WrittenVector> {
    let swapped = |rows: &mut Vec<u8>, one: usize, other: usize| (0..16).for_each(|at| rows.swap(16 * one + at, 16 * other + at));
    vec![
        damaged("bad-fil-01-base-cut", "FIL-1", "The base lacks its last byte.", |files| { files.get_mut(BASE).expect("it is there").pop(); }),
        damaged("bad-fil-01-base-longer", "FIL-1", "A byte follows part table 0.", |files| files.get_mut(PART_0).expect("it is there").push(0)),
        bad("bad-pre-02-base-magic", "PRE-2", "magic of the base is that of a table.", |wide| wide.base.header[4] = b'T'),
        bad("bad-pre-02-part-magic", "PRE-2", "magic of part table 1 is that of a base.", |wide| wide.parts[1].header[4] = b'B'),
        bad("unsupported-pre-05-base", "PRE-5", "The base is of version 2.", |wide| wide.base.put("version_major", 2)),
        bad("unsupported-pre-06-base", "PRE-6", "The header of the base has 56 bytes.", |wide| shorten(&mut wide.base)),
        bad("unsupported-pre-06-part", "PRE-6", "The header of part table 0 has 56 bytes.", |wide| shorten(&mut wide.parts[0])),
        bad("unsupported-pre-06-base-longer", "PRE-6", "The header of the base has 72 bytes.", |wide| wide.base.lengthen(8)),
        bad("unsupported-pre-06-part-longer", "PRE-6", "The header of part table 1 has 72 bytes.", |wide| wide.parts[1].lengthen(8)),
        bad("unsupported-pre-07-base", "PRE-7", "The first of the reserved bytes of the base is not zero.", |wide| wide.base.put("reserved", 1)),
        bad("unsupported-pre-07-base-last", "PRE-7", "The last of the reserved bytes of the base is not zero.", |wide| wide.base.put("reserved", 1 << 127)),
        bad("unsupported-pre-07-part", "PRE-7", "The first of the reserved bytes of part table 0 is not zero.", |wide| wide.parts[0].put("reserved", 1)),
        bad("unsupported-pre-07-part-last", "PRE-7", "The last of the reserved bytes of part table 1 is not zero.", |wide| wide.parts[1].put("reserved", 1 << 104)),
        bad("bad-bas-01-width", "BAS-1", "fingerprint_bits of the base is 256 in a store of 128 bits.", |wide| wide.base.put("fingerprint_bits", 256)),
        bad("bad-bas-01-part-count", "BAS-1", "part_count is 3, and the manifest has two part tables.", |wide| wide.base.put("part_count", 3)),
        bad("bad-bas-01-count", "BAS-1", "count of the base is 11, and 12 in the manifest.", |wide| wide.base.put("count", 11)),
        bad("bad-bas-01-set-sum", "BAS-1", "set_sum of the base is not that of the manifest.", |wide| wide.set_sum ^= 1 << 127),
        bad("bad-bas-02-one-more", "BAS-2", "Base and manifest have a count of 13, and there are 12 rows.", |wide| { wide.count = 13; wide.base.put("count", 13); }),
        bad("bad-bas-02-one-less", "BAS-2", "Base and manifest have a count of 11, and there are 12 rows.", |wide| { wide.count = 11; wide.base.put("count", 11); }),
        bad("bad-bas-02-wraps", "BAS-2", "Base and manifest have a count of 12 + 2^60: 2^64 bytes more than there are.", |wide| { wide.count += 1 << 60; wide.base.put("count", wide.count.into()); }),
        bad("bad-bas-02-huge", "BAS-2", "Base and manifest have a count of 2^64 - 1.", |wide| { wide.count = u64::MAX; wide.base.put("count", wide.count.into()); }),
        damaged("bad-fil-03-base-directory-crc", "FIL-3", "directory_crc of the base is wrong.", |files| { let last = files[BASE].len() - 1; flip(files, BASE, last); }),
        damaged("bad-fil-03-base-chunk-crc", "FIL-3", "An entry of chunk_crcs of part table 1 is wrong.", |files| { let at = files[PART_1].len() - 8; flip(files, PART_1, at); }),
        damaged("bad-fil-05-base-row", "FIL-5", "A row of the base is wrong.", |files| flip(files, BASE, 64 + 16 * 5)),
        damaged("bad-fil-05-base-starts", "FIL-5", "A start of part table 0 is wrong.", |files| flip(files, PART_0, 64)),
        damaged("bad-fil-05-base-last", "FIL-5", "The last byte of the rows of part table 1 is wrong.", |files| { let at = files[PART_1].len() - 9; flip(files, PART_1, at); }),
        bad("bad-bas-03-swapped", "BAS-3", "Rows 4 and 5 of the base stand the other way round.", |wide| swapped(&mut wide.base.body, 4, 5)),
        rejected("bad-bas-03-first-two", "BAS-3", "Rows 0 and 1 of the base stand the other way round, and all part tables are made for that.", first_two_swapped().assemble()),
        bad("bad-bas-03-most-significant-last", "BAS-3", "The rows would ascend if their bytes stood the other way round.", |wide| {
            let mut rows: Vec<Vec<u8>> = wide.base.body.chunks(16).map(<[u8]>::to_vec).collect();
            rows.sort_unstable();
            wide.base.body = rows.concat();
        }),
        rejected("bad-bas-03-twice", "BAS-3", "A row stands twice, and all sums, parts and counts are made for that.", changed(&wide(128, vec![5, 6, 6, 1 << 60], vec![(50, 6), (78, 6)]), |_| {}).assemble()),
        bad("bad-bas-04-upper-half", "BAS-4", "Base and manifest agree in a set_sum whose upper half is wrong.", |wide| { wide.set_sum ^= 1 << 100; wide.base.put("set_sum", wide.set_sum); }),
        bad("bad-bas-04-row", "BAS-4", "The last row of the base is another one.", |wide| *wide.base.body.last_mut().expect("there is a row") = 0xFF),
    ]
}

#[rustfmt::skip]
fn part_headers() -> Vec<WrittenVector> {
    let parts = |name, sentence, bits: Vec<(u16, u8)>| rejected(name, "PRT-3", sentence, changed(&wide(128, scattered(12), bits), |_| {}).assemble());
    vec![
        bad("bad-prt-02-width", "PRT-2", "fingerprint_bits of part table 0 is 64 in a store of 128 bits.", |wide| wide.parts[0].put("fingerprint_bits", 64)),
        bad("bad-prt-02-number", "PRT-2", "part_number of part table 0 is 1.", |wide| wide.parts[0].put("part_number", 1)),
        bad("bad-prt-02-swapped", "PRT-2", "The part tables have changed places.", |wide| wide.parts.swap(0, 1)),
        bad("bad-prt-02-count", "PRT-2", "count of part table 1 is 13.", |wide| wide.parts[1].put("count", 13)),
        bad("bad-prt-02-base-crc", "PRT-2", "base_crc is not header_crc of the base.", |wide| wide.base_crc_flips = 1),
        bad("bad-prt-03-start", "PRT-3", "Part 0 begins with bit 1.", |wide| { wide.parts[0].put("start_bit", 1); wide.parts[0].put("part_bits", 59); }),
        bad("bad-prt-03-gap", "PRT-3", "Part 1 begins a bit behind the end of part 0.", |wide| { wide.parts[1].put("start_bit", 61); wide.parts[1].put("part_bits", 67); }),
        bad("bad-prt-03-overlap", "PRT-3", "Part 1 begins with the last bit of part 0.", |wide| { wide.parts[1].put("start_bit", 59); wide.parts[1].put("part_bits", 69); }),
        bad("bad-prt-03-all-in-part-0", "PRT-3", "Part 0 has all bits, and there is a part 1.", |wide| wide.parts[0].put("part_bits", 128)),
        bad("bad-prt-03-beyond", "PRT-3", "Part 1 ends behind the last bit.", |wide| wide.parts[1].put("part_bits", 69)),
        bad("bad-prt-03-too-few-bits", "PRT-3", "Part 1 leaves the last bit.", |wide| wide.parts[1].put("part_bits", 67)),
        bad("bad-prt-03-wraps", "PRT-3", "start_bit and part_bits of part 0 are 2^16 together, with 60 more.", |wide| { wide.parts[0].put("start_bit", 65535); wide.parts[0].put("part_bits", 61); }),
        bad("bad-prt-03-5-bits", "PRT-3", "key_bits of part 0 is 5.", |wide| wide.parts[0].put("key_bits", 5)),
        bad("bad-prt-03-33-bits", "PRT-3", "key_bits of part 1 is 33.", |wide| wide.parts[1].put("key_bits", 33)),
        bad("bad-prt-03-255-bits", "PRT-3", "key_bits of part 1 is 255.", |wide| wide.parts[1].put("key_bits", 255)),
        parts("bad-prt-03-wider-than-part", "The key of part 0 has 7 bits, and the part has 6.", vec![(6, 7), (122, 7)]),
        bad("bad-prt-04-key-bits", "PRT-4", "key_bits of part 0 is 8, and the file is made for 7.", |wide| wide.parts[0].put("key_bits", 8)),
        bad("bad-prt-04-32-bits", "PRT-4", "key_bits of part 1 is 32, in a file of some hundred bytes.", |wide| wide.parts[1].put("key_bits", 32)),
        bad("bad-prt-04-cut", "PRT-4", "Part table 1 lacks its last word of rows, and the manifest says so.", |wide| { let part = &mut wide.parts[1].body; part.truncate(part.len() - 8); }),
        bad("bad-prt-04-rows-in-part-0", "PRT-4", "Part table 0 has rows.", |wide| wide.parts[0].body.extend([0x10, 0x32, 0x54, 0x76, 0x98, 0xBA, 0, 0])),
    ]
}

/// 12 fingerprints with keys of every 16th and of every 18th bit.
fn masked_dozen() -> SegmentSpec {
    let every = |step: usize| (0..7).map(|number| 1 + number * step).collect();
    let keys: [Vec<usize>; 2] =
        [every(16), every(18).into_iter().map(|bit: usize| bit + 1).collect()];
    masked(128, scattered(12), keys.to_vec())
}

#[rustfmt::skip]
fn part_masks() -> Vec<WrittenVector> {
    let bad = |name, rule, sentence, change: fn(&mut Wide)| rejected(name, rule, sentence, changed(&masked_dozen(), change).assemble());
    // Where the bit stands in a header, and the byte behind the mask.
    let flip = |part: &mut BodyFile, bit: usize| part.header[60 + (127 - bit) / 8] ^= 1 << ((127 - bit) % 8);
    vec![
        bad("unsupported-prt-01-key-form", "PRT-1", "key_form of part table 1 is 2.", |wide| wide.parts[1].put("key_form", 2)),
        rejected("bad-prt-03-mask-shares-a-bit", "PRT-3", "A bit of the key of part 0 is in that of part 1, in place of another one.", changed(&masked_dozen(), |wide| { flip(&mut wide.parts[1], 1); flip(&mut wide.parts[1], 2); }).assemble()),
        rejected("bad-prt-03-mask-has-more-bits", "PRT-3", "The mask of part 0 has a bit more than key_bits says.", changed(&masked_dozen(), |wide| flip(&mut wide.parts[0], 127)).assemble()),
        rejected("bad-prt-03-mask-has-fewer-bits", "PRT-3", "The mask of part 1 has a bit less than key_bits says.", changed(&masked_dozen(), |wide| flip(&mut wide.parts[1], 2)).assemble()),
        bad("bad-prt-03-mask-with-a-range", "PRT-3", "Part 0 has a mask, and start_bit is 1.", |wide| wide.parts[0].put("start_bit", 1)),
        bad("bad-prt-03-mask-with-part-bits", "PRT-3", "Part 1 has a mask, and part_bits is 128.", |wide| wide.parts[1].put("part_bits", 128)),
        bad("unsupported-prt-01-before-prt-02", "PRT-1", "key_form of part table 1 is 2, and part_number is 7.", |wide| { wide.parts[1].put("key_form", 2); wide.parts[1].put("part_number", 7); }),
        bad("bad-prt-03-range-behind-masks", "PRT-3", "Part 0 has a mask, and part 1 a range of all bits.", |wide| { let part = &mut wide.parts[1]; part.put("key_form", 0); part.put("part_bits", 128); part.header.truncate(64); part.header[60..].fill(0); part.put("header_bytes", 64); }),
        bad("unsupported-pre-06-mask-is-missing", "PRE-6", "key_form of part table 0 is 1, and its header ends where a mask would begin.", |wide| { let header = &mut wide.parts[0].header; header.truncate(64); header[60..].fill(0); wide.parts[0].put("header_bytes", 64); }),
        bad("unsupported-pre-06-behind-a-mask", "PRE-6", "The header of part table 0 is 8 bytes longer than its mask needs.", |wide| { let header = &mut wide.parts[0].header; header.resize(88, 0); header[76] = 0; wide.parts[0].put("header_bytes", 88); }),
        rejected("unsupported-pre-07-behind-a-mask", "PRE-7", "A byte behind the masks of 32 bits, which take 4 of 8 bytes, is not zero.", changed(&masked(32, scattered(12).into_iter().map(|one| one >> 32).collect(), vec![(0..6).collect(), (8..14).collect()]), |wide| wide.parts[0].header[64] = 1).assemble()),
        bad("bad-prt-07-mask", "PRT-7", "The first two rows of part table 0 stand the other way round.", |wide| { let rows = wide.parts[0].body.len() - 8; let two = wide.parts[0].body[rows]; wide.parts[0].body[rows] = two.rotate_left(4); }),
    ]
}

#[rustfmt::skip]
fn part_bodies() -> Vec<WrittenVector> {
    let start = |part: &mut BodyFile, group: usize, value: u64| write(&mut part.body[4 * group..4 * group + 4], value);
    let padded = wide(128, scattered(12), vec![(64, 6), (64, 7)]);
    let four_groups = wide(128, scattered(12), vec![(60, 8), (68, 8)]);
    let mut with_zero = scattered(12);
    with_zero[0] = 0;
    let with_zero = wide(128, with_zero, vec![(60, 7), (68, 7)]);
    let bit_behind_starts = |wide: &mut Wide| wide.parts[0].body[7] = 0x80;
    vec![
        bad("bad-prt-05-first-start", "PRT-5", "Entry 0 of the starts is 1.", |wide| start(&mut wide.parts[0], 0, 1)),
        rejected("bad-prt-05-first-start-of-a-row", "PRT-5", "Entry 0 of the starts is 1, and row 0 has the key 0: all zeros of group 0 stand behind that.", changed(&with_zero, |wide| start(&mut wide.parts[0], 0, 1)).assemble()),
        rejected("bad-prt-05-descends", "PRT-5", "The start of group 1 is 12, and greater than that of group 2.", changed(&four_groups, |wide| start(&mut wide.parts[1], 1, 12)).assemble()),
        bad("bad-prt-05-beyond", "PRT-5", "The start of group 1 is 13, of 12 rows.", |wide| start(&mut wide.parts[1], 1, 13)),
        bad("bad-prt-05-huge", "PRT-5", "The start of group 1 is 2^32 - 1.", |wide| start(&mut wide.parts[0], 1, u64::from(u32::MAX))),
        bad("bad-prt-05-start-too-low", "PRT-5", "The start of group 1 is one too low: group 0 has a zero too few.", |wide| { let now = read(&wide.parts[0].body[4..8]); start(&mut wide.parts[0], 1, now - 1); }),
        bad("bad-prt-05-start-too-high", "PRT-5", "The start of group 1 is one too high.", |wide| { let now = read(&wide.parts[1].body[4..8]); start(&mut wide.parts[1], 1, now + 1); }),
        bad("bad-prt-05-too-few-zeros", "PRT-5", "A mark is 1 that should be 0: group 0 has 63 zeros.", |wide| { let at = find_mark(&wide.parts[0], 0, false); set_bit(&mut wide.parts[0], at, true); }),
        bad("bad-prt-05-too-many-zeros", "PRT-5", "A mark is 0 that should be 1: group 0 has 65 zeros.", |wide| { let at = find_mark(&wide.parts[1], 0, true); set_bit(&mut wide.parts[1], at, false); }),
        bad("bad-prt-05-last-mark", "PRT-5", "The last mark is 1, and another one 0.", |wide| {
            let part = &mut wide.parts[1];
            let last = MARKS + 12 + 128 - 1;
            let one = (MARKS..last).rev().find(|&at| bit(part, at)).expect("there is one");
            set_bit(part, one, false);
            set_bit(part, last, true);
        }),
        bad("bad-prt-06-row-12", "PRT-6", "A row is 12, of 12.", |wide| set_row(&mut wide.parts[1], 128, 4, 12)),
        bad("bad-prt-06-last-row-15", "PRT-6", "The last row is 15, of 12.", |wide| set_row(&mut wide.parts[1], 128, 11, 15)),
        bad("bad-prt-07-other-key", "PRT-7", "Two rows of different keys stand the other way round.", |wide| {
            let part = &mut wide.parts[1];
            let start = MARKS + 192;
            for bit_of_row in 0..4 {
                let (one, other) = (bit(part, start + bit_of_row), bit(part, start + 4 + bit_of_row));
                set_bit(part, start + bit_of_row, other);
                set_bit(part, start + 4 + bit_of_row, one);
            }
        }),
        bad("bad-prt-07-part-0", "PRT-7", "In part table 0 the first row stands under another key.", |wide| {
            let part = &mut wide.parts[0];
            let one = find_mark(part, 0, true);
            let end = find_mark(part, one - MARKS, false);
            set_bit(part, one, false);
            set_bit(part, end, true);
        }),
        bad_pair("bad-prt-07-descends", "PRT-7", "The rows 5 and 6 of one key stand the other way round.", |wide| {
            // Behind the rows with the keys 1, 2, 3, 8, and three of 9.
            set_row(&mut wide.parts[1], 64, 7, 6);
            set_row(&mut wide.parts[1], 64, 8, 5);
        }),
        bad_pair("bad-prt-07-twice", "PRT-7", "Row 5 stands twice under its key, and row 6 not at all.", |wide| set_row(&mut wide.parts[1], 64, 8, 5)),
        bad_pair("bad-prt-08-one-more", "PRT-8", "coincidences is 9, and there are 8: 3 times 2, and 2 times 1.", |wide| wide.parts[1].put("coincidences", 9)),
        bad_pair("bad-prt-08-pairs-once", "PRT-8", "coincidences counts each pair once.", |wide| wide.parts[1].put("coincidences", 4)),
        bad("bad-prt-08-some", "PRT-8", "coincidences of part 0 is 2^64 - 1.", |wide| wide.parts[0].put("coincidences", u64::MAX.into())),
        rejected("bad-prt-09-starts", "PRT-9", "A bit behind the only start is 1.", changed(&padded, bit_behind_starts).assemble()),
        bad("bad-prt-09-marks", "PRT-9", "The first bit behind the marks is 1.", |wide| set_bit(&mut wide.parts[0], MARKS + 140, true)),
        bad("bad-prt-09-rows", "PRT-9", "The last bit behind the rows is 1.", |wide| *wide.parts[1].body.last_mut().expect("there are rows") |= 0x80),
    ]
}

/// Ids, logs and deletions of wide stores.
#[rustfmt::skip]
fn others() -> Vec<WrittenVector> {
    let ids = |field: &'static str, value: u128| move |files: &mut Files| {
        let file = files.get_mut(IDS).expect("it is there");
        put(file, "ids-header", field, value);
        let header_crc = crate::oracle::crc(&[&file[..52]]);
        write(&mut file[52..56], header_crc.into());
    };
    let with_entry = |name, sentence, field: &'static str, value| {
        let mut parts = changed(&with_ids(dozen()), |_| {});
        ids(field, value)(&mut parts.files);
        let crc = read(&parts.files[IDS][52..56]);
        put(parts.last_entry(0), "file-entry", "header_crc", crc.into());
        rejected(name, "IDS-1", sentence, parts.assemble())
    };
    // A log and deletions of 64 bits in a store of 128.
    let narrow = super::living_writer::LivingSpec { bits: 64, segments: vec![], deletions: vec![], ..living_spec() };
    let (narrow, mut log) = (living_parts(&narrow), living_parts(&living_spec()));
    let name = "log-0000000000000001.fpl";
    log.files.insert(name.to_owned(), narrow.files[name].clone());
    let mut deletions = living_parts(&living_spec());
    let deletions_name = "segment-0000000000000002-deletions.fpd";
    let file = deletions.files.get_mut(deletions_name).expect("it is there");
    // Two of 32 bytes each; as many bytes as there would be of two with 8 bytes less each.
    file.drain(40..56);
    super::living_writer::reseal_deletions_file(file);
    let entry = entry_of_file(file);
    deletions.last_entry(1).copy_from_slice(&entry);
    vec![
        with_entry("bad-ids-01-blocks-of-base", "block_count of ids is 1 in a segment with a base.", "block_count", 1),
        with_entry("bad-ids-01-other-base", "table_crc of ids is not header_crc of the base.", "table_crc", 7),
        rejected("bad-log-06-narrow", "LOG-6", "A log of fingerprints of 64 bits in a store of 128.", log.assemble()),
        rejected("bad-del-02-narrow", "DEL-2", "Deletions of 24 bytes in a store of 128 bits.", deletions.assemble()),
    ]
}

#[rustfmt::skip]
fn pairs_of_defects() -> Vec<WrittenVector> {
    let with = |change: fn(&mut Wide), damage: fn(&mut Files)| {
        let mut files = changed(&with_ids(dozen()), change).assemble();
        damage(&mut files);
        files
    };
    vec![
        rejected("unsupported-pre-07-before-bas-01", "PRE-7", "A reserved byte of the base is not zero, and part_count is wrong.", with(|wide| { wide.base.put("reserved", 1); wide.base.put("part_count", 9); }, |_| {})),
    ]
}
