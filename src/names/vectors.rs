//! The test vectors of `format-spec/names`, and files that are changed with their checksums mended.

use std::fs;
use std::path::{Path, PathBuf};

use byteorder::{ByteOrder, LittleEndian as LE};

use super::tests::{Name, all, open, write_listed};
use crate::error::{Error, Result};
use crate::format::{
    GroupEntry, NamesEntry, PageEntry, chunk_crc, directory_crc, names_group, names_header,
    names_page,
};
use crate::id::IdKind;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("format-spec/names")
}

/// Opens, verifies and lists a file.
fn read(file: Vec<u8>, entry: &NamesEntry, text: bool) -> Result<Vec<Name>> {
    let column = open(file, entry)?;
    column.verify(text.then_some(IdKind::Text))?;
    Ok(all(&column))
}

/// A name as the lists beside the vectors have it.
fn hex_line(name: &[u8]) -> String {
    let pieces = name.chunk_by(|a, b| a == b).map(|run| match run.len() {
        40.. => format!(" {:02x}*{} ", run[0], run.len()),
        _ => run.iter().map(|byte| format!("{byte:02x}")).collect(),
    });
    pieces.collect::<String>().trim().to_owned() + "\n"
}

fn rule_of(error: &Error) -> (&'static str, bool) {
    match error {
        Error::Corrupt { corruption, .. } => (corruption.rule(), false),
        Error::Unsupported { feature, .. } => (feature.rule(), true),
        other => panic!("not an error of the file: {other}"),
    }
}

#[test]
fn the_vectors_are_read_or_rejected_by_their_rules() {
    let entries = fs::read_to_string(root().join("entries.txt")).unwrap();
    assert!(entries.lines().count() > 60);
    for line in entries.lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        let [name, file_bytes, header_crc, directory_crc, kind] = fields[..] else {
            panic!("{line}")
        };
        let crc = |text: &str| u32::from_str_radix(text, 16).unwrap();
        let entry = NamesEntry {
            file_bytes: file_bytes.parse().unwrap(),
            header_crc: crc(header_crc),
            directory_crc: crc(directory_crc),
        };
        let file = fs::read(root().join(format!("{name}.fpn"))).unwrap();
        match read(file, &entry, kind == "text") {
            Ok(names) => {
                let list = fs::read_to_string(root().join(format!("{name}.hex")));
                let lines: String = names.iter().map(|name| hex_line(name)).collect();
                assert!(list.unwrap_or_else(|_| panic!("{name} is read")) == lines, "{name}");
                let column = open(fs::read(root().join(format!("{name}.fpn"))).unwrap(), &entry);
                super::tests::check(&column.unwrap(), &names, 1 + names.len() / 200);
            }
            Err(error) => {
                let (rule, is_unsupported) = rule_of(&error);
                let kind = if is_unsupported { "unsupported" } else { "bad" };
                let (group, number) = rule.split_once('-').unwrap();
                let start = format!("{kind}-{}-{number:0>2}-", group.to_lowercase());
                assert!(name.starts_with(&start), "{name}: {error}");
            }
        }
    }
}

/// Mends all CRCs of a file, as far as it has parts where its fields say; gives the entry.
fn mend(file: &mut [u8]) -> Option<NamesEntry> {
    let header_bytes = LE::read_u32(&file[12..]) as usize;
    let header = file.get_mut(..header_bytes).filter(|header| header.len() >= 24)?;
    let crc = crc32fast::hash(&header[..header_bytes - 4]);
    LE::write_u32(&mut header[header_bytes - 4..], crc);
    let end = file.len() - 4;
    let names = LE::read_u64(&file[names_header::NAME_COUNT]);
    let directory_bytes = LE::read_u64(&file[names_header::DIRECTORY_BYTES]) as usize;
    if let Some(directory) = end.checked_sub(directory_bytes) {
        mend_pages(file, directory, (header_bytes, crc, names));
        let directory_crc = directory_crc(crc, &file[directory..end]);
        LE::write_u32(&mut file[end..], directory_crc);
    }
    NamesEntry::describe(file)
}

fn mend_pages(file: &mut [u8], directory: usize, (mut start, crc, names): (usize, u32, u64)) {
    for page in 0..names.div_ceil(4096).min(3) {
        let at = directory + page as usize * PageEntry::BYTES;
        if at + PageEntry::BYTES > file.len() {
            return;
        }
        let entry = PageEntry::decode(&file[at..]);
        let groups = (names - 4096 * page).div_ceil(64).min(64);
        let front_end = start + entry.front_bytes as usize;
        let mut group_start = front_end;
        for group in 0..groups {
            let at = start + group as usize * GroupEntry::BYTES;
            if at + GroupEntry::BYTES > file.len() {
                return;
            }
            let end = start + GroupEntry::decode(&file[at..]).end as usize;
            if let Some(bytes) = file.get(group_start..end) {
                let crc = chunk_crc(crc, 64 * page + group, bytes);
                LE::write_u32(&mut file[at..][names_group::GROUP_CRC], crc);
            }
            group_start = end;
        }
        if let Some(front) = file.get(start..front_end) {
            let crc = chunk_crc(crc, page, front);
            LE::write_u32(&mut file[at..][names_page::FRONT_CRC], crc);
        }
        start = entry.end as usize;
        if start > file.len() {
            return;
        }
    }
}

/// Looks up and goes over all that a file says it has; whether all was sound.
fn use_all(file: Vec<u8>, entry: &NamesEntry, wanted: &[Name]) -> Result<()> {
    let column = open(file, entry)?;
    let verified = column.verify(Some(IdKind::Text));
    let mut name = Vec::new();
    let count = column.len();
    let mut failed = None;
    for number in (0..count.min(300)).chain(count.saturating_sub(9)..count) {
        failed = column.name(number, &mut name).err().or(failed);
        assert!(name.len() <= 65_536);
    }
    for name in wanted {
        failed = column.find(name).err().or(failed);
    }
    let mut cursor = column.cursor();
    while let Ok(Some(_)) = cursor.next() {}
    assert!(failed.is_none() || verified.is_err(), "{failed:?}");
    verified
}

#[test]
fn files_whose_bytes_were_changed_are_rejected_or_read_but_do_no_harm() {
    let mut names: Vec<Name> =
        (0..4170u32).map(|n| format!("https://{}/{n:05}", n / 90).into_bytes()).collect();
    names.sort();
    let few = &names[..150];
    let wanted: Vec<Name> = names.iter().step_by(97).cloned().collect();
    let (mut rejected, mut read) = (0, 0);
    let mut state = 7u64;
    let mut next = |below: usize| {
        state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        (state >> 33) as usize % below
    };
    for (names, rounds) in [(few, 4000), (&names[..], 100), (&[][..], 200), (&names[..1], 300)] {
        let (file, _) = write_listed(names);
        for round in 0..rounds {
            let mut changed = file.clone();
            for _ in 0..1 + next(3) {
                // Mostly where there is no text: header, front, directory.
                let places = [200, 700, file.len()][next(3)].min(file.len());
                let at = match next(4) {
                    0 => file.len() - 1 - next(80.min(file.len())),
                    _ => next(places),
                };
                changed[at] = [next(256) as u8, changed[at] ^ 1 << next(8), 0, 255][next(4)];
            }
            if round % 10 == 9 {
                changed.truncate(24 + next(file.len() - 24));
            }
            let Some(entry) = mend(&mut changed) else { continue };
            match use_all(changed, &entry, &wanted) {
                Ok(()) => read += 1,
                Err(error) => {
                    rule_of(&error);
                    rejected += 1;
                }
            }
        }
    }
    assert!(rejected > 1500 && read > 20, "{rejected} rejected, {read} read");
}
