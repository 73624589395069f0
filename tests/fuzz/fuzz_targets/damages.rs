//! An input is a store of the vectors and a list of changes to its files. Checksums are mended.
#![no_main]

use fpstore_fuzz::mend::mend;
use fpstore_fuzz::probe::{damage, probe, save};
use fpstore_fuzz::{Numbers, directory, stores};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let mut numbers = Numbers(input);
    let stores = stores();
    let which = usize::from(numbers.byte()) << 8 | usize::from(numbers.byte());
    let mut files = stores[which % stores.len()].1.clone();
    let how = numbers.byte();
    while !numbers.0.is_empty() {
        damage(&mut files, &mut || numbers.number());
    }
    mend(&mut files);
    let store = directory().join("store");
    save(&files, &store);
    let repaired = directory().join("repaired");
    probe(&store, how & 1 == 0, (how & 6 == 0).then_some(&repaired));
});
