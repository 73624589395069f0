//! fpstore: a store of one design, mapped, with the gap codec.

use std::path::Path;

use fpstore::{Codec, Design, Packer, Store};

use super::{Engine, RADIUS, Search};
use crate::Result;

/// An open store.
pub struct Packed {
    store: Store,
    file_bytes: u64,
}

impl Packed {
    pub fn build(set: &[u64], directory: &Path, design: &Design, block_bytes: u32) -> Result<Self> {
        let (store, file_bytes) = pack(set, &directory.join("store"), design, block_bytes)?;
        Ok(Self { store, file_bytes })
    }
}

/// Packs a set and opens the store; with the bytes of its files.
pub fn pack(set: &[u64], path: &Path, design: &Design, block_bytes: u32) -> Result<(Store, u64)> {
    let packer = Packer::new()
        .design(design.clone())
        .block_bytes(block_bytes)
        .radius(RADIUS)
        .codec(Some(Codec::Gap));
    let summary = packer.pack(path, set.iter().copied())?;
    Ok((Store::open(path)?, summary.bytes))
}

impl Engine for Packed {
    fn searcher(&self) -> Search<'_> {
        let mut searcher = self.store.searcher();
        Box::new(move |query, matches| {
            matches.clear();
            let found = searcher.search(query, RADIUS).expect("the blocks are sound");
            matches.extend(found.iter().map(|found| found.fingerprint));
        })
    }

    fn file_bytes(&self) -> u64 {
        self.file_bytes
    }

    fn settle(&self) {
        self.store.verify().expect("the store is sound");
    }
}
