//! The names file (section 10).

use bitvec::order::Lsb0;
use bitvec::slice::BitSlice;
use std::collections::BTreeMap;

use super::block::canonical_codes;
use super::mutation::{Wrong, is, or};
use super::prefix::{check_reserved, read_header};
use super::{Checked, Fields, crc, require, require_crc, require_equal, text};

/// What the manifest says of a names file, and of names.
#[derive(Clone, Copy, Debug)]
pub struct NamesEntry {
    pub file_bytes: u64,
    pub header_crc: u32,
    pub directory_crc: u32,
    pub text: bool,
}

type Codes = BTreeMap<(u8, u32), usize>;

struct Names<'a> {
    file: &'a [u8],
    count: u64,
    header_crc: [u8; 4],
    codes: Codes,
    text: bool,
    found: Vec<Vec<u8>>,
}

/// An entry of the directory.
struct Page {
    end: u64,
    name_end: u64,
    front_bytes: u32,
    front_crc: u32,
}

fn group_names() -> u64 {
    or(or(64, Wrong::NameGroupsOf32, 32), Wrong::NameGroupsOf128, 128)
}

fn page_groups() -> u64 {
    or(or(64, Wrong::NamePagesOf32, 32), Wrong::NamePagesOf128, 128)
}

/// Reads a names file and checks every rule: its names.
///
/// # Errors
///
/// The first rule broken.
pub fn read_names(file: &[u8], entry: &NamesEntry) -> Checked<Vec<Vec<u8>>> {
    require_equal("FIL-1", "length", file.len() as u64, entry.file_bytes)?;
    let (header, header_crc) = read_header(file, b'N', 176)?;
    check_reserved(&header[168..172])?;
    require_equal("FIL-2", "header_crc", header_crc, entry.header_crc)?;
    let mut fields = Fields(&header[16..]);
    let (count, name_bytes, directory_bytes) = (fields.u64(), fields.u64(), fields.u64());
    let low_first = !is(Wrong::NibblesSwapped);
    let nibbles = header[40..168].iter().flat_map(|byte| match low_first {
        true => [byte & 15, byte >> 4],
        false => [byte >> 4, byte & 15],
    });
    let lengths: Vec<u8> = nibbles.collect();
    check_code(&lengths, count)?;

    let group_count = count.div_ceil(group_names());
    let page_count = group_count.div_ceil(page_groups());
    let end = file.len() - 4;
    let start = u128::from(end as u64).checked_sub(directory_bytes.into());
    let fits = start.is_some_and(|start| start >= header.len() as u128)
        && u128::from(directory_bytes) >= 24 * u128::from(page_count);
    require(fits, "NAM-2", || format!("{directory_bytes} bytes for {page_count} pages"))?;
    let start = start.unwrap_or_default() as usize;
    let directory = &file[start..end];
    let header_crc = header_crc.to_le_bytes();
    let bound = or(&header_crc[..], Wrong::NamesDirectoryCrcAlone, &[]);
    let directory_crc = Fields(&file[end..]).u32();
    require_crc("FIL-3", "directory_crc", directory_crc, crc(&[bound, directory]))?;
    require_equal("FIL-4", "directory_crc", directory_crc, entry.directory_crc)?;

    let (entries, text) = directory.split_at(24 * page_count as usize);
    let pages: Vec<Page> = entries.chunks(24).map(page_of).collect();
    let first_page = header.len() as u64;
    let (mut at, mut name_at) = (first_page, 0);
    for (page, Page { end, name_end, front_bytes, .. }) in pages.iter().enumerate() {
        let groups = (group_count - page as u64 * page_groups()).min(page_groups());
        let front = u64::from(*front_bytes);
        let fits = *end <= start as u64
            && end.checked_sub(at).is_some_and(|bytes| front >= 8 * groups && front <= bytes);
        require(fits, "NAM-3", || format!("page {page} ends at {end}, its front has {front}"))?;
        let fits = *name_end <= text.len() as u64
            && name_end.checked_sub(name_at).is_some_and(|bytes| bytes <= 65_535)
            && (page + 1 < pages.len() || *name_end == text.len() as u64);
        require(fits, "NAM-3", || format!("the name of page {page} ends at {name_end}"))?;
        (at, name_at) = (*end, *name_end);
    }
    require_equal("NAM-3", "end of the pages", at, start as u64)?;
    require(count > 0 || text.is_empty(), "NAM-3", || "text without names".to_owned())?;

    let codes = canonical_codes(&lengths);
    let found = Vec::new();
    let mut names = Names { file, count, header_crc, codes, text: entry.text, found };
    let (mut at, mut name_at) = (first_page as usize, 0);
    for (number, page) in pages.iter().enumerate() {
        let first = &text[name_at..page.name_end as usize];
        names.read_page(number as u64, at..page.end as usize, page, first)?;
        (at, name_at) = (page.end as usize, page.name_end as usize);
    }
    let sum = names.found.iter().map(|name| name.len() as u64).sum();
    require_equal("NAM-11", "name_bytes", name_bytes, sum)?;
    Ok(names.found)
}

fn page_of(bytes: &[u8]) -> Page {
    let mut fields = Fields(bytes);
    let (end, name_end) = (fields.u64(), fields.u64());
    Page { end, name_end, front_bytes: fields.u32(), front_crc: fields.u32() }
}

fn check_code(lengths: &[u8], count: u64) -> Checked<()> {
    let used: Vec<u8> = lengths.iter().copied().filter(|&length| length > 0).collect();
    let most = or(11, Wrong::NameCodesTo10, 10);
    require(used.iter().all(|&length| length <= most), "NAM-1", || "a long code".to_owned())?;
    let sum: u64 = used.iter().map(|&length| 1 << (15 - length)).sum();
    let sound = match (count, &used[..]) {
        (0 | 1, used) => used.is_empty() || is(Wrong::CodeOfOneName),
        (_, [only]) => *only == 1,
        _ => sum == 1 << 15,
    };
    require(sound, "NAM-1", || format!("{} codes for {count} names", used.len()))
}

impl Names<'_> {
    fn crc_of(&self, number: u64, bytes: &[u8], alone: Wrong) -> u32 {
        let number = or(number, Wrong::NamesNumberOf0, 0).to_le_bytes();
        let bound = or(&self.header_crc[..], alone, &[]);
        crc(&[bound, &number, bytes])
    }

    /// Sections 10.4 and 10.5: the names of a page.
    fn read_page(
        &mut self,
        number: u64,
        at: std::ops::Range<usize>,
        page: &Page,
        first: &[u8],
    ) -> Checked<()> {
        let bytes = &self.file[at.clone()];
        let front_bytes = page.front_bytes as usize;
        let (front, _) = bytes.split_at(front_bytes);
        let expected = self.crc_of(number, front, Wrong::FrontCrcAlone);
        require_crc("NAM-4", &format!("page {number}"), page.front_crc, expected)?;
        let groups = self.count.div_ceil(group_names()) - number * page_groups();
        let groups = groups.min(page_groups()) as usize;
        let (index, heads) = front.split_at(8 * groups);
        let ends: Vec<(usize, u32)> = index
            .chunks(8)
            .map(|entry| {
                let mut fields = Fields(entry);
                (fields.u32() as usize, fields.u32())
            })
            .map(|(end, crc)| (or(end, Wrong::NamesEndInFile, end.wrapping_sub(at.start)), crc))
            .map(|(end, crc)| (or(end, Wrong::NamesEndBehindFront, end + front_bytes), crc))
            .collect();
        let mut before = front_bytes;
        for &(end, _) in &ends {
            let fits = before <= end && end <= bytes.len();
            require(fits, "NAM-5", || format!("a group ends at {end}"))?;
            before = end;
        }
        require_equal("NAM-5", "end of the groups", before, bytes.len())?;
        let heads = self.read_lengths(heads, groups - 1)?;
        let mut start = front_bytes;
        let mut head = first.to_vec();
        for (place, &(end, group_crc)) in ends.iter().enumerate() {
            let group = &self.file[at.start + start..at.start + end];
            let group_number = number * page_groups() + place as u64;
            let counted = or(group_number, Wrong::NameGroupsInPage, place as u64);
            let expected = self.crc_of(counted, group, Wrong::NameGroupCrcAlone);
            require_crc("NAM-6", &format!("group {group_number}"), group_crc, expected)?;
            let first_name = group_number * group_names();
            let others = (self.count - first_name).min(group_names()) - 1;
            let list = self.read_lengths(group, others as usize)?;
            if place > 0 {
                let before = or(head.clone(), Wrong::HeadsFromFirst, first.to_vec());
                head = self.read_name(&before, &heads, place - 1, is(Wrong::HeadsShareLess))?;
            }
            self.add(head.clone())?;
            let mut name = head.clone();
            for other in 0..others as usize {
                let before = or(name.clone(), Wrong::NamesFromHead, head.clone());
                name = self.read_name(&before, &list, other, false)?;
                self.add(name.clone())?;
            }
            start = end;
        }
        Ok(())
    }

    /// Adds a name that follows all others.
    fn add(&mut self, name: Vec<u8>) -> Checked<()> {
        let number = self.found.len();
        let ascends = self.found.last().is_none_or(|before| *before < name);
        let ascends = ascends || (number as u64).is_multiple_of(64) && is(Wrong::HeadsInAnyOrder);
        require(ascends, "NAM-10", || format!("name {number} is not above the one before"))?;
        let is_text = text(&name).is_some() && (name.is_ascii() || !is(Wrong::NamesOfAscii));
        let is_text = is_text || !self.text && !is(Wrong::NamesAreText);
        require(is_text, "NAM-12", || format!("name {number} is no UTF-8"))?;
        self.found.push(name);
        Ok(())
    }

    /// The lengths of a list, and the bits of each rest.
    fn read_lengths<'a>(&self, bytes: &'a [u8], count: usize) -> Checked<List<'a>> {
        let (mut rest, mut lengths) = (bytes, Vec::new());
        for _ in 0..count {
            let (shared, bits) = (read_length(&mut rest)?, read_length(&mut rest)?);
            require(bits > 0, "NAM-7", || "a name without a rest".to_owned())?;
            lengths.push((shared, bits));
        }
        let bits = lengths.iter().map(|&(_, bits)| bits).sum::<usize>();
        let codes = BitSlice::<u8, Lsb0>::from_slice(rest);
        let fits = bits <= codes.len() && codes.len() - bits < 8;
        let fits = fits || bits <= codes.len() && is(Wrong::BytesBehindCodes);
        require(fits, "NAM-7", || format!("{bits} bits in {} bytes", rest.len()))?;
        let zeros = is(Wrong::NamePadding) || codes[bits..].not_any();
        require(zeros, "NAM-7", || "padding is not zero".to_owned())?;
        let mut left = codes;
        let name = |(shared, bits)| {
            let (codes, behind) = left.split_at(bits);
            left = behind;
            (shared, codes)
        };
        Ok(lengths.into_iter().map(name).collect())
    }

    /// A name of a list; `shares_less` of a wrong reader, which lets it share less than it can.
    fn read_name(
        &self,
        before: &[u8],
        list: &List<'_>,
        place: usize,
        shares_less: bool,
    ) -> Checked<Vec<u8>> {
        let (shared, bits) = list[place];
        require(shared <= before.len(), "NAM-8", || format!("{shared} bytes are shared"))?;
        let mut name = before[..shared.min(before.len())].to_vec();
        let (mut code, mut length) = (0u32, 0u8);
        for bit in bits {
            let bit = u32::from(*bit);
            code = or(code << 1 | bit, Wrong::NameCodesReversed, code | bit << length);
            length += 1;
            if let Some(&byte) = self.codes.get(&(length, code)) {
                name.push(byte as u8);
                (code, length) = (0, 0);
            }
            require(length <= 11, "NAM-7", || "bits without a code".to_owned())?;
        }
        let most = or(65_535, Wrong::NamesTo65534, 65_534);
        // Of a name that is too long nothing is read behind that.
        require(length == 0 || name.len() > most, "NAM-7", || "half a code".to_owned())?;
        require(name.len() <= most, "NAM-9", || format!("a name of {} bytes", name.len()))?;
        let first = name.get(shared);
        let shares_less = shares_less || is(Wrong::SharesLess);
        let order = first > before.get(shared) || shares_less && &name[..] > before;
        require(order, "NAM-10", || "the names of a list do not ascend".to_owned())?;
        Ok(name)
    }
}

/// Of each name of a list what it shares, and its codes.
type List<'a> = Vec<(usize, &'a BitSlice<u8, Lsb0>)>;

/// An integer in LEB128.
fn read_length(bytes: &mut &[u8]) -> Checked<usize> {
    let (mut value, mut count) = (0usize, 0);
    let most = or(or(3, Wrong::NameLengthsOf2, 2), Wrong::NameLengthsOf1, 1);
    let most = or(most, Wrong::NameLengthsOf4, 4);
    loop {
        let byte = bytes.first().copied();
        require(byte.is_some() && count < most, "NAM-7", || "an integer is cut".to_owned())?;
        let byte = byte.unwrap_or_default();
        *bytes = &bytes[1..];
        let bits = usize::from(byte & 127);
        value = or(value | bits << (7 * count), Wrong::NameLengthsFromTheTop, value << 7 | bits);
        count += 1;
        if byte < 128 {
            let short = byte != 0 || count == 1 || is(Wrong::LongNameLengths);
            require(short, "NAM-7", || "an integer has more bytes than it needs".to_owned())?;
            return Ok(value);
        }
    }
}
