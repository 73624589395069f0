//! Id maps, by a plain writer: good ones, and damaged ones.

use super::good_variants::made_up;
use super::names_writer::leb128;
use crate::oracle::crc;

/// An id map that is a vector.
pub struct MapVector {
    pub name: &'static str,
    /// The rule that it breaks; empty for a good one.
    pub rule: &'static str,
    pub sentence: &'static str,
    pub file: Vec<u8>,
    /// The strings, of a good one.
    pub strings: Vec<String>,
}

/// A map to write, which may be wrong.
struct MapSpec {
    header: Vec<u8>,
    string_count: u64,
    text_bytes: u64,
    groups: Vec<Vec<u8>>,
}

impl MapSpec {
    fn new(strings: &[String]) -> Self {
        let mut header = made_up(b'N', 1, 24);
        header.truncate(24);
        header[10..12].fill(0);
        header[16..].fill(0);
        Self {
            header,
            string_count: strings.len() as u64,
            text_bytes: strings.iter().map(|string| string.len() as u64).sum(),
            groups: strings.chunks(64).map(group).collect(),
        }
    }

    /// The file, with all sums right.
    fn write(&self) -> Vec<u8> {
        self.write_with(|_, _| {})
    }

    /// The file; `damage` may change an index or the directory, which it is told, before what covers
    /// it is computed.
    fn write_with(&self, damage: impl Fn(&str, &mut Vec<u8>)) -> Vec<u8> {
        let mut file = self.header.clone();
        super::reseal_header(&mut file);
        let header_crc: [u8; 4] = *file.last_chunk().expect("a header has a CRC");
        let (mut directory, mut number) = (Vec::new(), 0u64);
        for (page, groups) in self.groups.chunks(512).enumerate() {
            let (mut index, mut end) = (Vec::new(), 0);
            for group in groups {
                file.extend(group);
                end += group.len() as u64;
                index.extend(entry(end, crc(&[&number.to_le_bytes(), group])));
                number += 1;
            }
            damage("index", &mut index);
            file.extend(&index);
            let index_crc = crc(&[&(page as u64).to_le_bytes(), &index]);
            directory.extend(entry(file.len() as u64, index_crc));
        }
        damage("directory", &mut directory);
        file.extend(&directory);
        let mut footer = [self.string_count.to_le_bytes(), self.text_bytes.to_le_bytes()].concat();
        footer.extend(crc(&[&directory]).to_le_bytes());
        damage("footer", &mut footer);
        let footer_crc = crc(&[&header_crc, &footer]);
        file.extend(footer);
        file.extend(footer_crc.to_le_bytes());
        file
    }
}

fn entry(end: u64, crc: u32) -> Vec<u8> {
    [&end.to_le_bytes()[..], &crc.to_le_bytes()].concat()
}

/// The bytes of a group.
fn group(strings: &[String]) -> Vec<u8> {
    let (mut bytes, mut before) = (Vec::new(), "");
    for string in strings {
        let alike = before.bytes().zip(string.bytes()).take_while(|(a, b)| a == b).count();
        bytes.extend(text(alike as u64, &string.as_bytes()[alike..]));
        before = string;
    }
    bytes
}

/// A string of a group: what it shares, and the bytes that follow.
fn text(shared: u64, rest: &[u8]) -> Vec<u8> {
    [leb128(shared), leb128(rest.len() as u64), rest.to_vec()].concat()
}

/// The strings of `good.idmap`, which the store `good-ids-map` means.
fn hosts() -> Vec<String> {
    include_str!("../../../format-spec/id-map/good.txt").lines().map(str::to_owned).collect()
}

/// The bytes of `good.idmap`.
pub fn good_map() -> Vec<u8> {
    MapSpec::new(&hosts()).write()
}

/// Lengths around the borders of one, two and three bytes, for what is shared and for the rest; and
/// characters that are shared by half.
fn lengths() -> Vec<String> {
    let mut strings =
        vec![String::new(), String::new(), "a".into(), "\u{e9}".into(), "\u{ea}t\u{e9}".into()];
    for length in [127, 128, 129, 16_383, 16_384, 16_385] {
        strings.push("x".repeat(length));
        strings.push("y".repeat(length));
        strings.push(format!("{}\u{1F600}", "y".repeat(length)));
        strings.push(format!("{}\u{1F601}", "y".repeat(length)));
    }
    strings
}

/// All of them.
pub fn maps() -> Vec<MapVector> {
    let mut maps = good();
    maps.extend(ends());
    maps.extend(indexes());
    maps.extend(groups());
    maps
}

fn good() -> Vec<MapVector> {
    let good = |name, sentence, strings: Vec<String>| {
        let file = MapSpec::new(&strings).write();
        MapVector { name, rule: "", sentence, file, strings }
    };
    let pages = (0..32_900u32).map(|number| format!("{:x}", number / 7)).collect();
    let mut long = MapSpec::new(&hosts());
    long.header.resize(48, 0);
    long.header[12] = 48;
    let mut minor = MapSpec::new(&hosts());
    minor.header[10] = 7;
    let of_hosts = |name, sentence, map: MapSpec| {
        let (rule, file) = ("", map.write());
        MapVector { name, rule, sentence, file, strings: hosts() }
    };
    vec![
        good("good", "70 names of hosts: two groups. The store `good-ids-map` means it.", hosts()),
        good("good-empty", "No strings.", Vec::new()),
        good("good-one", "One string, which is empty.", vec![String::new()]),
        good(
            "good-lengths",
            "Lengths in one, two and three bytes; characters that are shared by half.",
            lengths(),
        ),
        good("good-pages", "32,900 strings: two pages, and a last group of four strings.", pages),
        of_hosts("good-long-header", "The header has a tail of zeros.", long),
        of_hosts("good-minor-7", "version_minor is 7.", minor),
    ]
}

fn bad(name: &'static str, rule: &'static str, sentence: &'static str, file: Vec<u8>) -> MapVector {
    MapVector { name, rule, sentence, file, strings: Vec::new() }
}

/// Header, footer and directory.
fn ends() -> Vec<MapVector> {
    let spec = |change: fn(&mut MapSpec)| {
        let mut spec = MapSpec::new(&hosts());
        change(&mut spec);
        spec.write()
    };
    let flipped = |from_end: usize| {
        let mut file = good_map();
        let at = file.len() - from_end;
        file[at] ^= 1;
        file
    };
    let mut no_strings = MapSpec::new(&hosts());
    no_strings.string_count = 0;
    let no_strings = no_strings.write_with(|part, bytes| {
        if part == "directory" {
            bytes.clear();
        }
    });
    let cut = |bytes: usize| good_map()[..bytes].to_vec();
    let damaged = |damage: fn(&str, &mut Vec<u8>)| MapSpec::new(&hosts()).write_with(damage);
    let mut magic = good_map();
    magic[4] = b'I';
    let mut header = good_map();
    header[10] = 1;
    let mut beyond = cut(24);
    beyond[12] = 32;
    vec![
        bad("bad-pre-01-cut", "PRE-1", "The file has 23 bytes.", cut(23)),
        bad("bad-pre-02-magic", "PRE-2", "magic is that of an ids file.", magic),
        bad("bad-pre-03-beyond-file", "PRE-3", "header_bytes is 32 in a file of 24 bytes.", beyond),
        bad(
            "bad-pre-04-header-crc",
            "PRE-4",
            "version_minor is 1, and header_crc was not made for it.",
            header,
        ),
        bad(
            "unsupported-pre-05-version-2",
            "PRE-5",
            "version_major is 2.",
            spec(|s| s.header[8] = 2),
        ),
        bad(
            "unsupported-pre-05-made-up",
            "PRE-5",
            "A file of a made-up version 2, with nothing but the prefix as in version 1.",
            made_up(b'N', 2, 24),
        ),
        bad(
            "unsupported-pre-07-tail",
            "PRE-7",
            "The tail of the header is not zero.",
            spec(|s| {
                s.header.resize(32, 0);
                (s.header[12], s.header[27]) = (32, 1);
            }),
        ),
        bad(
            "unsupported-pre-07-reserved",
            "PRE-7",
            "reserved is not 0.",
            spec(|s| s.header[16] = 1),
        ),
        bad("bad-idm-01-cut", "IDM-1", "The file has 47 bytes.", cut(47)),
        bad("bad-idm-02-footer-crc", "IDM-2", "footer_crc is wrong.", flipped(1)),
        bad("bad-idm-02-string-count", "IDM-2", "A bit of string_count is flipped.", flipped(24)),
        bad("bad-idm-04-directory-crc", "IDM-4", "A bit of the directory is flipped.", flipped(25)),
        bad(
            "bad-idm-04-too-many",
            "IDM-4",
            "string_count is 2^64 - 1: the file is too short for the directory.",
            spec(|s| s.string_count = u64::MAX),
        ),
        bad(
            "bad-idm-05-no-page",
            "IDM-5",
            "There are no strings and no directory, and bytes of a page.",
            no_strings,
        ),
        bad(
            "bad-idm-05-end",
            "IDM-5",
            "page_end is one less than where the directory starts.",
            damaged(|part, bytes| {
                if part == "directory" {
                    bytes[0] -= 1
                }
            }),
        ),
        bad(
            "bad-idm-05-short",
            "IDM-5",
            "A page of 512 groups is too short for its index.",
            spec(|s| s.string_count = 512 * 64),
        ),
    ]
}

/// Indexes of pages.
fn indexes() -> Vec<MapVector> {
    let damaged = |damage: fn(&str, &mut Vec<u8>)| MapSpec::new(&hosts()).write_with(damage);
    let mut flipped = good_map();
    let at = flipped.len() - 24 - 12 - 1;
    flipped[at] ^= 1;
    vec![
        bad("bad-idm-06-index-crc", "IDM-6", "A bit of an index is flipped.", flipped),
        bad(
            "bad-idm-07-equal",
            "IDM-7",
            "Both groups end at the end of the page.",
            damaged(|part, bytes| {
                if part == "index" {
                    bytes.copy_within(12..20, 0)
                }
            }),
        ),
        bad(
            "bad-idm-07-descends",
            "IDM-7",
            "The second group ends before the first one.",
            damaged(|part, bytes| {
                if part == "index" {
                    bytes[12..20].copy_from_slice(&1u64.to_le_bytes())
                }
            }),
        ),
        bad(
            "bad-idm-07-too-short",
            "IDM-7",
            "The last group ends a byte before the index.",
            damaged(|part, bytes| {
                if part == "index" {
                    bytes[12] -= 1
                }
            }),
        ),
        bad(
            "bad-idm-07-huge",
            "IDM-7",
            "The last group ends at 2^64 - 1.",
            damaged(|part, bytes| {
                if part == "index" {
                    bytes[12..20].fill(0xFF)
                }
            }),
        ),
    ]
}

/// A map of a single group, whose bytes are as given.
fn of_group(bytes: Vec<u8>, string_count: u64, text_bytes: u64) -> Vec<u8> {
    let mut spec = MapSpec::new(&[]);
    (spec.groups, spec.string_count, spec.text_bytes) = (vec![bytes], string_count, text_bytes);
    spec.write()
}

/// Groups.
fn groups() -> Vec<MapVector> {
    let mut flipped = good_map();
    // The last character of the last string, before the index of two groups.
    let at = flipped.len() - 24 - 12 - 24 - 1;
    flipped[at] ^= 1;
    let mut second = MapSpec::new(&hosts());
    second.groups[1] = hosts()[64..]
        .iter()
        .enumerate()
        .flat_map(|(place, string)| match place {
            0 => {
                let before = hosts()[63].clone();
                let alike = before.bytes().zip(string.bytes()).take_while(|(a, b)| a == b).count();
                assert!(alike > 0, "there is something to take over");
                text(alike as u64, &string.as_bytes()[alike..])
            }
            _ => text(0, string.as_bytes()),
        })
        .collect();
    let mut more_text = MapSpec::new(&hosts());
    more_text.text_bytes += 1;
    let two = |second: Vec<u8>| [text(0, b"ab"), second].concat();
    vec![
        bad("bad-idm-08-group", "IDM-8", "A bit of a string is flipped.", flipped),
        bad(
            "bad-idm-09-shared-by-first",
            "IDM-9",
            "The first string of a group takes bytes over.",
            of_group(text(1, b"b"), 1, 2),
        ),
        bad(
            "bad-idm-09-shared-across-groups",
            "IDM-9",
            "The first string of the second group takes bytes over from the last of the first.",
            second.write(),
        ),
        bad(
            "bad-idm-09-shared",
            "IDM-9",
            "A string takes over three bytes of one with two.",
            of_group(two(text(3, b"c")), 2, 6),
        ),
        bad(
            "bad-idm-09-rest",
            "IDM-9",
            "A string is longer than its group.",
            of_group([leb128(0), leb128(3), b"ab".to_vec()].concat(), 1, 2),
        ),
        bad(
            "bad-idm-09-rest-huge",
            "IDM-9",
            "rest is 2^63 - 1.",
            of_group([leb128(0), leb128(u64::MAX >> 1), b"ab".to_vec()].concat(), 1, 2),
        ),
        bad(
            "bad-idm-09-ten-bytes",
            "IDM-9",
            "rest has ten bytes.",
            of_group([vec![0, 0x82], vec![0x80; 8], vec![0], b"ab".to_vec()].concat(), 1, 2),
        ),
        bad(
            "bad-idm-09-long-integer",
            "IDM-9",
            "rest is 2 in two bytes, where one does.",
            of_group([vec![0, 0x82, 0], b"ab".to_vec()].concat(), 1, 2),
        ),
        bad(
            "bad-idm-09-cut-integer",
            "IDM-9",
            "An integer ends with the group.",
            of_group(vec![0, 0x82], 1, 2),
        ),
        bad(
            "bad-idm-09-bytes-after",
            "IDM-9",
            "A byte follows the last string of a group.",
            of_group(two(vec![7]), 1, 2),
        ),
        bad(
            "bad-idm-09-string-missing",
            "IDM-9",
            "A group has one string less than it should.",
            of_group(text(0, b"ab"), 2, 2),
        ),
        bad(
            "bad-idm-10-no-utf-8",
            "IDM-10",
            "A string is no UTF-8.",
            of_group(text(0, b"a\xFF"), 1, 2),
        ),
        bad(
            "bad-idm-10-half-a-character",
            "IDM-10",
            "A string ends inside a character.",
            of_group(text(0, b"a\xC3"), 1, 2),
        ),
        bad(
            "bad-idm-11-text-bytes",
            "IDM-11",
            "text_bytes is one more than the strings have.",
            more_text.write(),
        ),
    ]
}
