//! What is compared: each engine in a file of its own, behind one trait.

mod brute;
mod elias_fano;
mod fjall_blobs;
pub mod fpstore_design;
mod mih;
mod prefix_blobs;
mod raw;
mod redb_blobs;

use std::fmt;
use std::path::Path;

use fpstore_design::Tables;

use crate::Result;

/// The radius for which the engines are built.
pub const RADIUS: u32 = 3;

/// Tables, and quarters of 16 bits, of the engines that find candidates by equal quarters.
pub const QUARTERS: u32 = 4;

/// Replaces what a vector holds by the stored fingerprints within [`RADIUS`] of a query, each once,
/// in any order.
pub type Search<'a> = Box<dyn FnMut(u64, &mut Vec<u64>) + 'a>;

/// An engine that holds a set.
pub trait Engine {
    /// A search with buffers of its own.
    fn searcher(&self) -> Search<'_>;

    /// Bytes of its files.
    fn file_bytes(&self) -> u64;

    /// Touches all data, so that no later query is the first to do so.
    fn settle(&self) {}

    /// What the table should say about this engine.
    fn note(&self) -> Option<String> {
        None
    }
}

/// An engine and its options, before it is built.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// Four sorted arrays.
    Raw,
    /// Every fingerprint compared.
    Brute,
    /// `mih-rs` with this number of blocks, or its own choice.
    Mih(Option<usize>),
    /// Four Elias-Fano sequences of `sux`.
    EliasFano,
    /// `redb` with a blob per prefix.
    Redb,
    /// `fjall` with a blob per prefix.
    Fjall,
    /// A store.
    Fpstore {
        /// Its design.
        layout: Tables,
        /// Bytes per block.
        block_bytes: u32,
    },
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Raw => f.pad("raw arrays"),
            Self::Brute => f.pad("brute force"),
            Self::Mih(None) => f.pad("mih-rs, auto"),
            Self::Mih(Some(blocks)) => f.pad(&format!("mih-rs, {blocks} blocks")),
            Self::EliasFano => f.pad("Elias-Fano (sux)"),
            Self::Redb => f.pad("redb, blobs"),
            Self::Fjall => f.pad("fjall, blobs"),
            Self::Fpstore { layout, block_bytes } => {
                f.pad(&format!("fpstore {layout} {block_bytes}"))
            }
        }
    }
}

impl Kind {
    /// Builds the engine for a sorted set of distinct fingerprints, with its files in `directory`,
    /// which is empty.
    pub fn build(&self, set: &[u64], directory: &Path) -> Result<Box<dyn Engine>> {
        Ok(match self {
            Self::Raw => Box::new(raw::RawArrays::build(set, directory)?),
            Self::Brute => Box::new(brute::BruteForce::build(set)),
            Self::Mih(blocks) => Box::new(mih::MultiIndex::build(set, *blocks)?),
            Self::EliasFano => Box::new(elias_fano::Sequences::build(set)?),
            Self::Redb => Box::new(redb_blobs::RedbBlobs::build(set, directory)?),
            Self::Fjall => Box::new(fjall_blobs::FjallBlobs::build(set, directory)?),
            Self::Fpstore { layout, block_bytes } => {
                Box::new(fpstore_design::Packed::build(set, directory, layout, *block_bytes)?)
            }
        })
    }

    /// About how many bytes of memory it wants for `count` fingerprints: heap, caches, and files
    /// that should stay in memory. Only decides which engines are measured together.
    pub fn memory_estimate(&self, count: usize) -> u64 {
        let count = count as u64;
        match self {
            Self::Raw => 32 * count,
            Self::Brute => 8 * count,
            Self::Mih(blocks) => mih::memory_estimate(count, *blocks),
            Self::EliasFano => 24 * count,
            Self::Redb => 90 * count,
            Self::Fjall => 70 * count,
            Self::Fpstore { layout, .. } => 6 * layout.design.table_count() as u64 * count,
        }
    }
}

/// Keeps the first of engines that are the same for `count` fingerprints, such as `mih-rs` with its
/// own choice of blocks and with that number of blocks.
pub fn drop_repeated(kinds: &mut Vec<Kind>, count: usize) {
    let resolved = |kind: &Kind| match kind {
        Kind::Mih(None) => Kind::Mih(Some(mih::auto_blocks(count as u64))),
        other => other.clone(),
    };
    let mut seen = Vec::new();
    kinds.retain(|kind| {
        let resolved = resolved(kind);
        let fresh = !seen.contains(&resolved);
        seen.push(resolved);
        fresh
    });
}

/// `fingerprint` with the quarter of table `table` on top.
#[inline]
pub fn rotate(fingerprint: u64, table: u32) -> u64 {
    fingerprint.rotate_left(16 * table)
}

/// The fingerprint whose key in table `table` is `key`.
#[inline]
pub fn rotate_back(key: u64, table: u32) -> u64 {
    key.rotate_right(16 * table)
}

/// The set as table `table` has it: rotated and sorted.
pub fn table(set: &[u64], table: u32) -> Vec<u64> {
    use rayon::prelude::*;
    let mut keys: Vec<u64> =
        set.par_iter().map(|&fingerprint| rotate(fingerprint, table)).collect();
    keys.par_sort_unstable();
    keys
}

/// Removes what several tables have found.
#[inline]
pub fn unite(matches: &mut Vec<u64>) {
    if matches.len() > 1 {
        matches.sort_unstable();
        matches.dedup();
    }
}
