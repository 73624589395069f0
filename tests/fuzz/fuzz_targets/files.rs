//! An input names a file of a store of the vectors by its first two bytes; the others stand in its
//! place. So manifests, logs, tables, bases, part tables, ids, names and deletions are what the
//! fuzzer makes of them. Checksums are mended.
#![no_main]

use fpstore_fuzz::mend::{Files, mend};
use fpstore_fuzz::probe::{probe, save};
use fpstore_fuzz::{Numbers, directory, stores};
use libfuzzer_sys::fuzz_target;

/// Stores of different kinds, each with a file of every kind that it has.
const STORES: [&str; 12] = [
    "good-annotated-gap-l0-b256",
    "good-annotated-xor-l8-b256",
    "good-clustered-gap-l40-b256",
    "good-clustered-xor-l16-b256",
    "good-ids-several",
    "good-living-log-ids",
    "good-living-long",
    "good-living-segments",
    "good-living-wide-256",
    "good-living-wide-32",
    "good-names",
    "good-living-wide",
];

fn of(which: usize) -> Option<&'static Files> {
    let name = STORES[which % STORES.len()];
    stores().iter().find(|(store, _)| store == name).map(|(_, files)| files)
}

fuzz_target!(|input: &[u8]| {
    let mut numbers = Numbers(input);
    let Some(files) = of(numbers.byte().into()) else { return };
    let mut files = files.clone();
    let count = files.len();
    let Some(file) = files.values_mut().nth(usize::from(numbers.byte()) % count) else { return };
    *file = numbers.0.to_vec();
    mend(&mut files);
    let store = directory().join("store");
    save(&files, &store);
    probe(&store, true, None);
});
