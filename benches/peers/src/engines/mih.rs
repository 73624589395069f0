//! `mih-rs`: multi-index hashing in memory (Norouzi, Punjani, Fleet, *Fast Exact Search in Hamming
//! Space with Multi-Index Hashing*, 2014).

use mih_rs::Index;

use super::{Engine, RADIUS, Search};
use crate::Result;

/// An index over all fingerprints.
pub struct MultiIndex {
    index: Index<u64>,
    auto: bool,
}

impl MultiIndex {
    pub fn build(set: &[u64], blocks: Option<usize>) -> Result<Self> {
        let codes = set.to_vec();
        let index = match blocks {
            Some(blocks) => Index::with_blocks(codes, blocks),
            None => Index::new(codes),
        };
        Ok(Self { index: index.map_err(|error| error.to_string())?, auto: blocks.is_none() })
    }
}

impl Engine for MultiIndex {
    fn searcher(&self) -> Search<'_> {
        let codes = self.index.codes();
        let mut searcher = self.index.range_searcher();
        Box::new(move |query, matches| {
            matches.clear();
            let found = searcher.run(query, RADIUS as usize);
            matches.extend(found.iter().map(|&id| codes[id as usize]));
        })
    }

    fn file_bytes(&self) -> u64 {
        0
    }

    fn note(&self) -> Option<String> {
        self.auto.then(|| format!("{} blocks", self.index.num_blocks()))
    }
}

/// The number of blocks that `mih-rs` chooses by itself.
pub fn auto_blocks(count: u64) -> usize {
    ((64.0 / (count as f64).log2()).round() as usize).max(2)
}

/// The codes; for each block a table of groups of 64 chunks, each with an array of its own that
/// grew while it was filled.
pub fn memory_estimate(count: u64, blocks: Option<usize>) -> u64 {
    let blocks = blocks.unwrap_or(auto_blocks(count)).clamp(2, 64) as u64;
    let groups = (1u64 << 64u64.div_ceil(blocks)) / 64;
    8 * count + blocks * (32 * groups + 6 * count + 40 * groups.min(count))
}
