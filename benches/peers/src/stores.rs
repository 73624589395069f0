//! Stores of fpstore for the sections that are about them alone.

use std::path::Path;

use fpstore::Store;
use tempfile::TempDir;

use crate::Result;
use crate::engines::fpstore_design::{Tables, pack};

/// An open store in a directory that vanishes with it. Every block has been touched.
pub struct Packed {
    pub name: String,
    pub store: Store,
    _directory: TempDir,
}

/// Packs the set in every design with every size of blocks.
pub fn build(
    set: &[u64],
    designs: &[Tables],
    block_bytes: &[u32],
    directory: &Path,
) -> Result<Vec<Packed>> {
    let mut stores = Vec::new();
    for &block_bytes in block_bytes {
        for design in designs {
            let name = format!("fpstore {design} {block_bytes}");
            eprintln!("building {name}");
            let directory = tempfile::tempdir_in(directory)?;
            let (store, _) = pack(set, &directory.path().join("store"), design, block_bytes)?;
            store.verify()?;
            stores.push(Packed { name, store, _directory: directory });
        }
    }
    Ok(stores)
}
