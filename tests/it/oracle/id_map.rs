//! The id map (`format-spec/ID-MAP.md`).

use std::str;

use super::mutation::{Wrong, is, or};
use super::prefix::{check_tail, read_header};
use super::{Checked, Fields, crc, require, require_crc, require_equal};

/// Reads a map and checks every rule but [IDM-3]: its strings.
///
/// # Errors
///
/// The first rule broken.
pub fn read_map(file: &[u8]) -> Checked<Vec<String>> {
    let (header, header_crc) = read_header(file, b'N', 24)?;
    check_tail(header, 16)?;
    let start = or(header.len(), Wrong::PagesAt24, 24);
    require(file.len() >= header.len() + 24, "IDM-1", || format!("{} bytes", file.len()))?;
    let (body, footer) = file.split_at(file.len() - 24);
    let mut fields = Fields(footer);
    let (string_count, text_bytes) = (fields.u64(), fields.u64());
    let (directory_crc, footer_crc) = (fields.u32(), fields.u32());
    let header_crc = header_crc.to_le_bytes();
    let bound = or(&header_crc[..], Wrong::MapFooterCrcAlone, &[]);
    require_crc("IDM-2", "footer_crc", footer_crc, crc(&[bound, &footer[..20]]))?;

    let groups = string_count.div_ceil(group_strings());
    let pages = groups.div_ceil(page_groups());
    let pages = or(pages, Wrong::PageOneOnly, pages.min(1));
    let directory_start = u128::from(pages)
        .checked_mul(12)
        .and_then(|bytes| (body.len() as u128).checked_sub(bytes))
        .filter(|&at| at >= start as u128);
    require(directory_start.is_some(), "IDM-4", || format!("{string_count} strings"))?;
    let directory_start = directory_start.map_or(body.len(), |at| at as usize);
    let directory = &body[directory_start..];
    require_crc("IDM-4", "directory_crc", directory_crc, crc(&[directory]))?;
    let directory: Vec<(u64, u32)> = entries(directory);
    let groups_of = |page: usize| (groups - page as u64 * page_groups()).min(page_groups());
    let mut page_start = start as u64;
    for (page, &(end, _)) in directory.iter().enumerate() {
        let index = 12 * groups_of(page);
        let fits = end <= directory_start as u64
            && end.checked_sub(page_start).is_some_and(|bytes| bytes > index);
        require(fits, "IDM-5", || format!("page {page} ends at {end}"))?;
        page_start = end;
    }
    require_equal("IDM-5", "end of the pages", page_start, directory_start as u64)?;

    let mut strings: Vec<String> = Vec::new();
    let mut page_start = start;
    for (page, &(end, index_crc)) in directory.iter().enumerate() {
        let bytes = &file[page_start..end as usize];
        let groups = groups_of(page);
        let first_group = page as u64 * page_groups();
        read_page(
            bytes,
            page,
            (first_group, groups),
            index_crc,
            page_start,
            string_count,
            &mut strings,
        )?;
        page_start = end as usize;
    }
    let sum: u64 = strings.iter().map(|string| string.len() as u64).sum();
    require_equal("IDM-11", "text_bytes", text_bytes, sum)?;
    Ok(strings)
}

fn group_strings() -> u64 {
    or(or(64, Wrong::GroupsOf32, 32), Wrong::GroupsOf128, 128)
}

fn page_groups() -> u64 {
    or(or(512, Wrong::PagesOf256, 256), Wrong::PagesOf1024, 1024)
}

fn entries(bytes: &[u8]) -> Vec<(u64, u32)> {
    let entry = |bytes| {
        let mut fields = Fields(bytes);
        (fields.u64(), fields.u32())
    };
    bytes.chunks(12).map(entry).collect()
}

/// Sections 1.4 and 1.5: the strings of a page, which holds `groups` groups from the first one on.
fn read_page(
    bytes: &[u8],
    page: usize,
    (first_group, groups): (u64, u64),
    index_crc: u32,
    page_start: usize,
    string_count: u64,
    strings: &mut Vec<String>,
) -> Checked<()> {
    let (bytes, index) = bytes.split_at(bytes.len() - 12 * groups as usize);
    let number = (page as u64).to_le_bytes();
    let number = or(&number[..], Wrong::IndexCrcAlone, &[]);
    require_crc("IDM-6", "index_crc", index_crc, crc(&[number, index]))?;
    let in_file = or(0, Wrong::GroupsEndInFile, page_start as u64);
    let index: Vec<(u64, u32)> =
        entries(index).into_iter().map(|(end, crc)| (end.wrapping_sub(in_file), crc)).collect();
    let mut before = 0;
    for &(end, _) in &index {
        let ascends = before < end && end <= bytes.len() as u64;
        require(ascends, "IDM-7", || format!("a group ends at {end}"))?;
        before = end;
    }
    require_equal("IDM-7", "end of the groups", before, bytes.len() as u64)?;
    let mut start = 0;
    for (place, &(end, group_crc)) in index.iter().enumerate() {
        let group = &bytes[start..end as usize];
        let number = first_group + place as u64;
        let counted = or(number, Wrong::GroupsInPage, place as u64).to_le_bytes();
        let counted = or(&counted[..], Wrong::GroupCrcAlone, &[]);
        require_crc("IDM-8", &format!("group {number}"), group_crc, crc(&[counted, group]))?;
        let count = (string_count - number * group_strings()).min(group_strings());
        read_group(group, count, strings)?;
        start = end as usize;
    }
    Ok(())
}

/// Section 1.5.
fn read_group(mut bytes: &[u8], count: u64, strings: &mut Vec<String>) -> Checked<()> {
    let mut before: Vec<u8> = Vec::new();
    if is(Wrong::SharedAcrossGroups) {
        before = strings.last().map_or(Vec::new(), |string| string.clone().into_bytes());
    }
    let mut first = None;
    for number in 0..count {
        let at = |what: &str| format!("string {number}: {what}");
        let mut length = || read_length(&mut bytes);
        let (shared, rest) = (length()?, length()?);
        require(shared <= before.len() as u64, "IDM-9", || at("too much is shared"))?;
        require(rest <= bytes.len() as u64, "IDM-9", || at("it is longer than its group"))?;
        let (taken, left) = bytes.split_at(rest as usize);
        bytes = left;
        let shared = shared.min(before.len() as u64) as usize;
        let whole = str::from_utf8(&before[..shared]).is_ok();
        require(whole || !is(Wrong::WholeCharacters), "IDM-10", || at("half a character"))?;
        before.truncate(shared);
        before.extend_from_slice(taken);
        let ascii = before.is_ascii() || !is(Wrong::TextOfAscii);
        let text = String::from_utf8(before.clone());
        require(text.is_ok() && ascii, "IDM-10", || at("it is no UTF-8"))?;
        strings.push(text.unwrap_or_default());
        if is(Wrong::SharedFromFirst) {
            before = first.get_or_insert_with(|| before.clone()).clone();
        }
    }
    let rest_is_fine = bytes.is_empty() || is(Wrong::RestOfGroup);
    require(rest_is_fine, "IDM-9", || format!("{} bytes follow the strings", bytes.len()))
}

/// An integer in LEB128.
fn read_length(bytes: &mut &[u8]) -> Checked<u64> {
    let (mut value, mut count) = (0u128, 0);
    let most = or(or(9, Wrong::Lengths10, 10), Wrong::LengthsOf2, 2);
    let most = or(most, Wrong::LengthsOf1, 1);
    loop {
        let byte = bytes.first().copied();
        require(byte.is_some() && count < most, "IDM-9", || "an integer is cut".to_owned())?;
        let byte = byte.unwrap_or_default();
        *bytes = &bytes[1..];
        let bits = u128::from(byte & 127);
        value = or(value | bits << (7 * count), Wrong::LengthsFromTheTop, value << 7 | bits);
        count += 1;
        if byte < 128 {
            let short = byte != 0 || count == 1 || is(Wrong::LongLengths) || is(Wrong::Lengths10);
            require(short, "IDM-9", || "an integer has more bytes than it needs".to_owned())?;
            return Ok(value as u64);
        }
    }
}
