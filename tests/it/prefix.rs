//! The promise of section 1.4: a program that knows the prefix alone tells corrupt from
//! unsupported, today and in versions to come.

use crate::oracle::crc;
use crate::vectors::vectors;

/// What a program that knows nothing but the prefix says of a file.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Corrupt,
    /// The kind of file and its version, which a program may know or not.
    Sound {
        kind: u8,
        version_major: u16,
    },
}

/// The whole program.
fn look_at(file: &[u8]) -> Verdict {
    let pattern = [0x89, 0x46, 0x50, 0x53, 0, 0x0D, 0x0A, 0x1A];
    let int = |at: usize, bytes: usize| {
        file[at..at + bytes].iter().rev().fold(0, |n, &byte| n << 8 | usize::from(byte))
    };
    if file.len() < 24 || (0..8).any(|at| at != 4 && file[at] != pattern[at]) {
        return Verdict::Corrupt;
    }
    let end = int(12, 4);
    if !end.is_multiple_of(8) || !(24..=65536).contains(&end) || end > file.len() {
        return Verdict::Corrupt;
    }
    if int(end - 4, 4) != crc(&[&file[..end - 4]]) as usize {
        return Verdict::Corrupt;
    }
    Verdict::Sound { kind: file[4], version_major: int(8, 2) as u16 }
}

/// What it makes of all files of a vector: the rule of the prefix that one breaks.
fn broken<'a>(files: impl Iterator<Item = (u8, &'a Vec<u8>)>) -> &'static str {
    let mut found = "";
    for (expected, file) in files {
        match look_at(file) {
            Verdict::Corrupt => return "corrupt",
            Verdict::Sound { kind, .. } if kind != expected => return "corrupt",
            Verdict::Sound { version_major: 1, .. } => {}
            Verdict::Sound { .. } => found = "unsupported",
        }
    }
    found
}

/// What the rule in the name of a vector says.
fn promised(name: &str) -> &'static str {
    let is = |start: &str, numbers: &[u8]| {
        numbers.iter().any(|number| name.starts_with(&format!("{start}-pre-{number:02}-")))
    };
    match name {
        _ if is("bad", &[1, 2, 3, 4]) => "corrupt",
        _ if is("unsupported", &[5]) => "unsupported",
        _ => "",
    }
}

#[test]
fn a_program_that_knows_the_prefix_alone_tells_corrupt_from_unsupported() {
    let (mut corrupt, mut unsupported) = (0, 0);
    let mut check = |name: &str, found: &str| {
        assert_eq!(found, promised(name), "{name}");
        corrupt += u32::from(found == "corrupt");
        unsupported += u32::from(found == "unsupported");
    };
    for vector in vectors() {
        let kind = |name: &str| match name.rsplit_once('.').map(|(_, end)| end) {
            Some("fps") => Some(b'M'),
            Some("fpt") => Some(b'T'),
            Some("fpb") => Some(b'B'),
            Some("fpp") => Some(b'P'),
            Some("fpi") => Some(b'I'),
            Some("fpd") => Some(b'D'),
            Some("fpl") => Some(b'L'),
            _ => None,
        };
        // An empty table, which has another length than the manifest says, and stray files that
        // stand for such as a stopped writer left: they have no prefix.
        let without = ["bad-fil-01-table-empty", "good-other-files", "good-living-other-files"];
        if without.contains(&vector.name.as_str()) {
            continue;
        }
        // A log that the store does not lead to may hold anything.
        let whole = |name: &str, file: &[u8]| {
            !name.ends_with(".fpl")
                || promised(&vector.name) == "corrupt"
                || !matches!(look_at(file), Verdict::Corrupt)
        };
        let files = vector.files.iter().filter(|(name, file)| whole(name, file));
        let files = files.filter_map(|(name, file)| Some((kind(name)?, file)));
        check(&vector.name, broken(files));
    }
    println!("{corrupt} corrupt, {unsupported} unsupported by the prefix alone");
    assert!(corrupt >= 15 && unsupported >= 8);
}
