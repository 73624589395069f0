//! An input is a file of rows, and its first two bytes say how it is read: by one of the readers,
//! or by what its first bytes look like.
#![no_main]

use std::path::Path;

use fpstore::Fingerprint;
use fpstore_fuzz::{Numbers, directory};
use fpstore_records::{Container, IdWish, Options, Records, Source};
use libfuzzer_sys::fuzz_target;

/// Pieces after which reading ends: a compressed input may have any number.
const MOST_PIECES: usize = 64;

fuzz_target!(|input: &[u8]| {
    let mut numbers = Numbers(input);
    let (format, how) = (numbers.byte(), numbers.byte());
    let path = directory().join("rows");
    std::fs::write(&path, numbers.0).expect("there is room for a file");
    let format = Container::NAMES.get(usize::from(format)).map(|&(_, format)| format);
    let options = Options {
        format,
        compression: (how & 1 != 0).then_some(None),
        column: (how & 2 != 0).then(|| "fingerprint".to_owned()),
        ids: (how & 4 != 0).then(|| IdWish::texts("id")),
        header: how & 8 == 0,
        skip: how & 16 != 0,
        memory: 1 << 22,
        ..Options::default()
    };
    match how >> 6 {
        0 => read::<u32>(&path, &options),
        1 => read::<u64>(&path, &options),
        2 => read::<u128>(&path, &options),
        _ => read::<[u64; 4]>(&path, &options),
    }
});

fn read<F: Fingerprint>(path: &Path, options: &Options) {
    let Ok(mut source) = Source::<F>::open(path, options) else { return };
    let _ = source.recipe();
    let _ = source.records();
    let mut records = Records::default();
    for _ in 0..MOST_PIECES {
        match source.read(&mut records) {
            Ok(true) => {}
            Ok(false) => break,
            // As people read it.
            Err(error) => {
                let _ = error.to_string();
                break;
            }
        }
        records.iter().for_each(|record| drop(std::hint::black_box(record.fingerprint)));
        records.clear();
    }
}
