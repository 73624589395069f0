//! A configuration as a store: packed, checked, and taken apart.

use std::path::{Path, PathBuf};
use std::time::Instant;

use fpstore::{Stats, Store, TableStats, information_bound_bits};
use fpstore_cli::failure::Failure;

use super::data::Data;
use super::grid::Configuration;
use super::results::{Histogram, Pack, Size};

/// A store in a directory of its own.
pub struct Packed {
    pub configuration: Configuration,
    pub path: PathBuf,
    pub store: Store,
    pub size: Size,
    pub pack: Pack,
    pub low_bits_of_tables: Vec<u32>,
    pub histogram: Option<Histogram>,
}

impl Packed {
    /// Packs the set below `directory`, opens the store, and checks every byte of it, which also
    /// brings it into memory.
    pub fn new(
        configuration: Configuration,
        data: &Data,
        radius: u32,
        directory: &Path,
    ) -> Result<Self, Failure> {
        let path = directory.join(configuration.id());
        let packer = configuration.packer(radius);
        let start = Instant::now();
        let summary = match &data.pairs {
            None => packer.pack(&path, &data.set)?,
            Some(pairs) => packer.pack_with_ids(&path, pairs.iter().copied())?,
        };
        let seconds = start.elapsed().as_secs_f64();
        let store = Store::open(&path)?;
        store.verify()?;
        let stats = store.stats()?;
        let size = size_of(&stats, store.heap_bytes());
        let tables = &summary.tables;
        let histogram = tables.first().map(|table| Histogram {
            codec: table.codec.to_string(),
            low_bits: table.low_bits,
            counts: table.histogram.clone(),
            code_lengths: table.code_lengths.clone(),
            entropy_bits: table.entropy_bits(),
        });
        Ok(Self {
            configuration,
            path,
            store,
            size,
            pack: Pack {
                seconds,
                fingerprints_per_second: data.set.len() as f64 / seconds.max(1e-9),
                threads: super::machine::cores(),
            },
            low_bits_of_tables: tables.iter().map(|table| table.low_bits).collect(),
            histogram,
        })
    }
}

/// The parts of a store. They add up to its bytes.
fn size_of(stats: &Stats, heap: u64) -> Size {
    let tables = || stats.segments.iter().flat_map(|segment| &segment.tables);
    let sum = |value: fn(&TableStats) -> u64| tables().map(value).sum::<u64>();
    let (blocks, router) = (sum(TableStats::block_area_bytes), sum(|table| table.router_bytes));
    let ids: u64 =
        stats.segments.iter().filter_map(|segment| segment.ids).map(|i| i.file_bytes).sum();
    let number = tables().count().max(1) as f64;
    Size {
        bytes: stats.bytes,
        bytes_per_fingerprint: stats.bytes as f64 / stats.fingerprints.max(1) as f64,
        blocks,
        router,
        ids,
        headers: stats.bytes.saturating_sub(blocks + router + ids),
        heap,
        bits_of_a_table: tables().map(TableStats::bits_per_fingerprint).sum::<f64>() / number,
        bound_bits: information_bound_bits(stats.fingerprints),
    }
}
