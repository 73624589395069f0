//! Packs what an iterator gives into a store, in little memory, with progress; then searches it.
//!
//! ```sh
//! cargo run --release --example pack_iterator
//! ```

use fpstore::{Design, Error, Execution, Layout, Packer, Store};

/// Stands for whatever gives fingerprints: a file, a queue, another database.
fn fingerprints() -> impl Iterator<Item = u64> {
    (0..3_000_000u64).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

fn main() -> Result<(), Error> {
    let directory = std::env::temp_dir().join("fpstore-pack-iterator.fps");
    let execution = Execution::new().memory(32 << 20).on_progress(|at| {
        if at.done == at.total {
            println!("{}: {} done", at.phase, at.done);
        }
    });
    let summary = Packer::new()
        .layout(Layout::new().design("halves".parse::<Design>()?))
        .execution(execution)
        .replace(true)
        .pack(&directory, fingerprints())?;
    println!(
        "{} fingerprints in {} bytes, {:.2} each; {} bytes of temporary files",
        summary.distinct,
        summary.bytes,
        summary.bytes as f64 / summary.distinct as f64,
        summary.temporary_bytes,
    );

    let store = Store::open(&directory)?;
    let stored = fingerprints().nth(12_345).unwrap_or_default();
    assert_eq!(store.search(stored ^ 1 << 40, 1)?[0].fingerprint, stored);
    // Those from some value on, without reading what comes before.
    let behind: Vec<u64> = store.snapshot().iter_from(1 << 63).take(3).collect::<Result<_, _>>()?;
    println!("from 2^63 on: {behind:x?}");
    // Where the directory cannot be removed, the next run replaces it.
    let _ = std::fs::remove_dir_all(&directory);
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_iterator_is_packed_and_searched() {
        super::main().unwrap();
    }
}
