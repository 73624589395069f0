//! fpstore: a store of one design, mapped, with the gap codec.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use fpstore::{Codec, Design, Error, Layout, Packer, Store};

use super::{Engine, RADIUS, Search};
use crate::Result;

/// A design, in whole tables or in short ones.
#[derive(Clone, Debug, PartialEq)]
pub struct Tables {
    pub design: Design,
    pub short_tables: bool,
}

impl FromStr for Tables {
    type Err = Error;

    /// A design, `+short` behind it for short tables; parts of own widths are joined by slashes.
    fn from_str(text: &str) -> std::result::Result<Self, Error> {
        let whole = text.strip_suffix("+short");
        let design = whole.unwrap_or(text).replace('/', ",").parse()?;
        Ok(Self { design, short_tables: whole.is_some() })
    }
}

impl fmt::Display for Tables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.design, if self.short_tables { "+short" } else { "" })
    }
}

/// An open store.
pub struct Packed {
    store: Store,
    file_bytes: u64,
}

impl Packed {
    pub fn build(set: &[u64], directory: &Path, tables: &Tables, block_bytes: u32) -> Result<Self> {
        let (store, file_bytes) = pack(set, &directory.join("store"), tables, block_bytes)?;
        Ok(Self { store, file_bytes })
    }
}

/// Packs a set and opens the store; with the bytes of its files.
pub fn pack(set: &[u64], path: &Path, tables: &Tables, block_bytes: u32) -> Result<(Store, u64)> {
    let packer = Packer::new().layout(
        Layout::new()
            .design(tables.design.clone())
            .short_tables(tables.short_tables)
            .block_bytes(block_bytes)
            .k(RADIUS)
            .codec(Some(Codec::Gap)),
    );
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
