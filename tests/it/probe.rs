//! Damage to stores whose checksums are right again, and what is done with them: nothing may panic,
//! and nothing may go on without end.

use std::fs;
use std::path::Path;

use fpstore::maintenance::Repair;
use fpstore::{Error, Fingerprint, Id, OpenOptions, Result, Store};

use crate::mend::Files;

/// Reads the files of a store.
pub fn load(directory: &Path) -> Files {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let files = entries.filter(|path| path.is_file());
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    files.map(|path| (name(&path), fs::read(&path).unwrap())).collect()
}

/// Writes the files of a store into a new directory.
pub fn save(files: &Files, directory: &Path) {
    let _ = fs::remove_dir_all(directory);
    fs::create_dir(directory).unwrap();
    files.iter().for_each(|(name, bytes)| fs::write(directory.join(name), bytes).unwrap());
}

/// Changes a file by what `next` gives: bits, bytes, numbers, pieces from elsewhere, or its length.
/// Half of all changes hit the first 128 bytes of a file or the last 64.
pub fn damage(files: &mut Files, next: &mut dyn FnMut() -> u64) {
    let number = next() as usize % files.len().max(1);
    let Some(file) = files.values_mut().nth(number) else { return };
    let length = file.len();
    if length == 0 {
        return;
    }
    let place = next() as usize;
    let at = match place % 8 {
        0..3 => place / 8 % length.min(128),
        3 => length - 1 - place / 8 % length.min(64),
        _ => place / 8 % length,
    };
    let value = next();
    let number = match value % 16 {
        0 => 0,
        1 => 1,
        2 => u64::MAX,
        3 => 1 << (value >> 8 & 63),
        4 => (1 << (value >> 8 & 63)) - 1,
        5 => length as u64,
        6 => i32::MAX as u64,
        7 => u64::from(u32::MAX),
        _ => value >> 4,
    };
    let write = |file: &mut [u8], bytes: &[u8]| {
        let room = file.len() - at;
        let count = bytes.len().min(room);
        file[at..at + count].copy_from_slice(&bytes[..count]);
    };
    match next() % 10 {
        0..3 => file[at] ^= 1 << (value & 7),
        3 => file[at] = value as u8,
        4 => write(file, &(number as u16).to_le_bytes()),
        5 => write(file, &(number as u32).to_le_bytes()),
        6 => write(file, &number.to_le_bytes()),
        7 => {
            let from = value as usize % length;
            let piece = file[from..length.min(from + 1 + (value >> 32) as usize % 32)].to_vec();
            write(file, &piece);
        }
        8 => {
            let end = length.min(at + 1 + value as usize % 64);
            file[at..end].fill(if value >> 63 == 0 { 0 } else { 0xFF });
        }
        // Shorter or longer, by any number or by words.
        _ if value.is_multiple_of(2) => file.truncate(at),
        _ => file.resize(length + (value >> 8) as usize % 600, (value >> 1) as u8),
    }
}

/// What a store was seen to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    RefusedAtOpen,
    RefusedLater,
    Whole,
}

/// Opens a store of any width, asks it everything, verifies it, and saves what is sound of it.
///
/// # Panics
///
/// Where an error is not about the files.
pub fn probe(directory: &Path, in_memory: bool, repaired: Option<&Path>) -> Seen {
    let seen = [
        probe_width::<u32>(directory, in_memory),
        probe_width::<u64>(directory, in_memory),
        probe_width::<u128>(directory, in_memory),
        probe_width::<[u64; 4]>(directory, in_memory),
    ];
    if let Some(to) = repaired {
        let _ = fs::remove_dir_all(to);
        match Repair::new().run(directory, to) {
            Ok(_) => {
                // What was saved is sound, whatever it was saved from.
                let whole = [
                    probe_width::<u32>(to, true),
                    probe_width::<u64>(to, true),
                    probe_width::<u128>(to, true),
                    probe_width::<[u64; 4]>(to, true),
                ];
                let is_sound = whole.iter().flatten().all(|&seen| seen == Seen::Whole);
                assert!(is_sound, "what a repair writes is sound");
            }
            Err(error) => is_of_files(&error),
        }
    }
    seen.into_iter().flatten().next().unwrap_or(Seen::RefusedAtOpen)
}

/// `None` if the store has another width.
fn probe_width<F: Fingerprint>(directory: &Path, in_memory: bool) -> Option<Seen> {
    let options = OpenOptions::new().in_memory(in_memory).width::<F>();
    match options.open(directory) {
        Err(Error::Width { .. }) => None,
        Err(error) => {
            is_of_files(&error);
            Some(Seen::RefusedAtOpen)
        }
        Ok(store) => Some(if ask(&store) { Seen::Whole } else { Seen::RefusedLater }),
    }
}

fn is_of_files(error: &Error) {
    let is_one = matches!(
        error,
        Error::Corrupt { .. }
            | Error::Unsupported { .. }
            | Error::NotAStore { .. }
            | Error::OutOfMemory { .. }
    );
    assert!(is_one, "{error:?}");
}

/// Whether nothing of the store was refused.
fn ask<F: Fingerprint>(store: &Store<F>) -> bool {
    let mut whole = true;
    let mut check = |result: Result<()>| {
        if let Err(error) = result {
            is_of_files(&error);
            whole = false;
        }
    };
    // Whatever is damaged, an iterator gives no more than the file has bits.
    let mut some = Vec::new();
    for item in store.iter().take(100) {
        match item {
            Ok(fingerprint) => some.push(fingerprint),
            Err(error) => {
                check(Err(error));
                break;
            }
        }
    }
    some.truncate(6);
    let bytes = F::BITS as usize / 8;
    some.extend([0, 0xFF, 0x5A].map(|byte| F::from_be_slice(&vec![byte; bytes]).unwrap()));
    let mut searcher = store.searcher();
    for &query in &some {
        for k in [0, 3, 9] {
            check(searcher.search(query, k).map(drop));
        }
        check(searcher.search_by_scan(query, 3).map(drop));
        check(searcher.nearest(query, 3, F::BITS).map(drop));
        check(store.contains(query).map(drop));
        match store.ids::<Id>(query) {
            Ok(mut ids) => check(ids.by_ref().take(50).try_for_each(|id| id.map(drop))),
            Err(error) => check(Err(error)),
        }
    }
    let mut with_ids = store.iter_with_ids::<Id>().take(200);
    check(with_ids.try_for_each(|pair| pair?.1.take(50).try_for_each(|id| id.map(drop))));
    check(store.count().map(drop));
    check(store.stats().map(drop));
    check(store.verify().map(drop));
    whole
}
