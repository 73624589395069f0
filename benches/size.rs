//! Bits per fingerprint of one table, for each codec, on uniform and on real sets.
//!
//! `cargo bench --bench size [-- FILE.u64 ...]` prints a table in Markdown: 2^20 and 2^24 uniform
//! fingerprints, the shipped real ones, and further files of little-endian u64. With `--test` only
//! small sets are packed.

#![allow(missing_docs)]

#[path = "../tests/it/sets.rs"]
#[allow(dead_code)]
mod sets;

use fpstore::plan::information_bound_bits;
use fpstore::stats::TableStats;
use fpstore::{Codec, Design, Layout, Packer};
use sets::{Random, sorted};

fn table(set: &[u64], codec: Codec, low_bits: Option<u32>) -> TableStats {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let packer = Packer::new().layout(
        Layout::new()
            .design(Design::named("single").expect("a named design"))
            .block_bytes(1024)
            .codec(Some(codec))
            .low_bits(low_bits),
    );
    let path = temporary.path().join("store");
    let mut summary = packer.pack(&path, set.iter().copied()).expect("the set is packed");
    let store = fpstore::Store::open(&path).expect("the store opens");
    assert!(
        store.iter().map(|fp| fp.expect("a block")).eq(set.iter().copied()),
        "the set comes back"
    );
    summary.tables.remove(0)
}

fn report(name: &str, set: &[u64]) {
    let bound = information_bound_bits(set.len() as u64);
    for (label, codec, low_bits) in [
        ("xor, L = 0", Codec::Xor, Some(0)),
        ("xor, auto", Codec::Xor, None),
        ("gap, auto", Codec::Gap, None),
    ] {
        let table = table(set, codec, low_bits);
        let (blocks, router) = (table.bits_per_fingerprint(), table.bits_with_router());
        println!(
            "| {name} | {} | {label} | {} | {blocks:.2} | {router:.2} | {bound:.2} | {:+.2} |",
            set.len(),
            table.low_bits,
            blocks - bound,
        );
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let small = arguments.iter().any(|argument| argument == "--test");
    println!(
        "| set | distinct | codec | L | blocks | with router | bound, uniform | blocks over bound |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- |");
    for exponent in if small { [10, 14] } else { [20, 24] } {
        let mut random = Random(exponent);
        let set: Vec<u64> = (0..1u64 << exponent).map(|_| random.next()).collect();
        report(&format!("uniform 2^{exponent}"), &sorted(&set));
    }
    let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/devset-100k.u64").to_string();
    let files = arguments.into_iter().filter(|argument| !argument.starts_with('-'));
    for path in [shipped].into_iter().chain(files) {
        let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let set: Vec<u64> = bytes
            .chunks_exact(8)
            .map(|chunk| chunk.try_into().map(u64::from_le_bytes).expect("eight bytes"))
            .collect();
        let name = path.rsplit('/').next().unwrap_or(&path);
        report(name, &sorted(&set));
    }
}
