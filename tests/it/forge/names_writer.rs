//! Names files, by a plain writer.

use super::good_variants::made_up;
use crate::oracle::block::canonical_codes;
use crate::oracle::crc;
use crate::oracle::names::NamesEntry;

pub type Name = Vec<u8>;

/// A names file that is a vector.
pub struct NamesVector {
    pub name: &'static str,
    /// The rule that it breaks; empty for a good one.
    pub rule: &'static str,
    pub sentence: &'static str,
    pub file: Vec<u8>,
    pub entry: NamesEntry,
    /// The names, of a good one.
    pub names: Vec<Name>,
}

/// A part of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Header,
    /// The heads of page 0, 1, ...
    Heads(usize),
    /// The others of a group.
    Group(usize),
    Index(usize),
    Entries,
    Text,
    Directory,
}

/// A file to write, which may be wrong.
pub struct NamesSpec {
    pub lengths: Vec<u8>,
    pub names: Vec<Name>,
    pub name_count: u64,
}

impl NamesSpec {
    /// With codes of nearly the same length for all bytes of the names.
    pub fn new(names: &[Name]) -> Self {
        let mut is_used = [false; 256];
        names.iter().flatten().for_each(|&byte| is_used[usize::from(byte)] = true);
        let used = is_used.iter().filter(|&&used| used).count();
        let bits = used.next_power_of_two().trailing_zeros().max(1);
        let short = (1 << bits) - used;
        let mut lengths = vec![0; 256];
        let places = lengths.iter_mut().zip(is_used).filter(|(_, used)| *used);
        for (number, (length, _)) in places.enumerate() {
            *length = (bits - u32::from(number < short && used > 1)) as u8;
        }
        if names.len() < 2 {
            lengths.fill(0);
        }
        Self { lengths, names: names.to_vec(), name_count: names.len() as u64 }
    }

    /// The bits of the codes of a rest.
    pub fn bits(&self, rest: &[u8]) -> Vec<bool> {
        let codes = canonical_codes(&self.lengths);
        let mut of_byte = vec![None; 256];
        for ((length, code), byte) in codes {
            of_byte[byte] = Some((length, code));
        }
        let mut bits = Vec::new();
        for &byte in rest {
            let (length, code) = of_byte[usize::from(byte)].expect("each byte has a code");
            bits.extend((0..length).rev().map(|bit| code >> bit & 1 == 1));
        }
        bits
    }

    fn list<'a>(&self, mut before: &'a Name, names: &'a [Name]) -> Vec<u8> {
        let mut entries = Vec::new();
        for name in names {
            let shared = before.iter().zip(name).take_while(|(a, b)| a == b).count();
            entries.push((shared as u64, self.bits(&name[shared..])));
            before = name;
        }
        list(&entries)
    }

    /// The file, with all sums right.
    pub fn write(&self) -> Vec<u8> {
        self.write_with(|_, _| {})
    }

    /// The file; `damage` may change a part, which it is told, before what covers it is computed.
    pub fn write_with(&self, damage: impl Fn(Part, &mut Vec<u8>)) -> Vec<u8> {
        let damaged = |part, mut bytes: Vec<u8>| {
            damage(part, &mut bytes);
            bytes
        };
        let pages = self.names.chunks(4096).enumerate();
        let fronts: Vec<(Vec<u8>, Vec<Vec<u8>>)> = pages
            .map(|(page, names)| {
                let heads: Vec<Name> = names.iter().step_by(64).cloned().collect();
                let groups = names.chunks(64).enumerate().map(|(place, group)| {
                    damaged(Part::Group(64 * page + place), self.list(&group[0], &group[1..]))
                });
                let groups = groups.collect();
                (damaged(Part::Heads(page), self.list(&heads[0], &heads[1..])), groups)
            })
            .collect();
        let firsts: Vec<Name> = self.names.iter().step_by(4096).cloned().collect();
        let text = damaged(Part::Text, firsts.concat());

        let mut file = made_up(b'N', 1, 176);
        file.truncate(176);
        file[10..12].fill(0);
        file[16..].fill(0);
        file[16..24].copy_from_slice(&self.name_count.to_le_bytes());
        let name_bytes: usize = self.names.iter().map(Vec::len).sum();
        file[24..32].copy_from_slice(&(name_bytes as u64).to_le_bytes());
        let directory_bytes = 24 * fronts.len() + text.len();
        file[32..40].copy_from_slice(&(directory_bytes as u64).to_le_bytes());
        for (byte, pair) in file[40..168].iter_mut().zip(self.lengths.chunks(2)) {
            *byte = pair[0] | pair[1] << 4;
        }
        damage(Part::Header, &mut file);
        super::reseal_header(&mut file);
        let header_crc: [u8; 4] = *file.last_chunk().expect("a header has a CRC");

        let (mut entries, mut name_end, mut number) = (Vec::new(), 0u64, 0u64);
        for (page, ((heads, groups), first)) in fronts.into_iter().zip(&firsts).enumerate() {
            let front_bytes = 8 * groups.len() + heads.len();
            let (mut index, mut end) = (Vec::new(), front_bytes);
            for group in &groups {
                end += group.len();
                index.extend((end as u32).to_le_bytes());
                index.extend(crc(&[&header_crc, &number.to_le_bytes(), group]).to_le_bytes());
                number += 1;
            }
            let front = [damaged(Part::Index(page), index), heads].concat();
            file.extend(&front);
            file.extend(groups.concat());
            name_end += first.len() as u64;
            entries.extend((file.len() as u64).to_le_bytes());
            entries.extend(name_end.to_le_bytes());
            entries.extend((front.len() as u32).to_le_bytes());
            let front_crc = crc(&[&header_crc, &(page as u64).to_le_bytes(), &front]);
            entries.extend(front_crc.to_le_bytes());
        }
        let directory = [damaged(Part::Entries, entries), text].concat();
        let directory = damaged(Part::Directory, directory);
        let directory_crc = crc(&[&header_crc, &directory]);
        file.extend(directory);
        file.extend(directory_crc.to_le_bytes());
        file
    }
}

/// What a manifest would say of a file.
pub fn entry_of(file: &[u8], text: bool) -> NamesEntry {
    let word = |at: usize| {
        let bytes = file.get(at..at + 4).map_or([0; 4], |bytes| bytes.try_into().expect("4 bytes"));
        u32::from_le_bytes(bytes)
    };
    let header_bytes = word(12) as usize;
    NamesEntry {
        file_bytes: file.len() as u64,
        header_crc: word(header_bytes.saturating_sub(4)),
        directory_crc: word(file.len() - 4),
        text,
    }
}

/// A list: of each name what it shares, and the bits of its rest.
pub fn list(entries: &[(u64, Vec<bool>)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (shared, bits) in entries {
        bytes.extend(leb128(*shared));
        bytes.extend(leb128(bits.len() as u64));
    }
    let bits: Vec<bool> = entries.iter().flat_map(|(_, bits)| bits.clone()).collect();
    let byte = |bits: &[bool]| bits.iter().rev().fold(0, |byte, &bit| byte << 1 | u8::from(bit));
    bytes.extend(bits.chunks(8).map(byte));
    bytes
}

pub fn leb128(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number > 127 {
        bytes.push(number as u8 & 127 | 128);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}
