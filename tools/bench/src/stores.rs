//! A configuration as a store: packed, checked, and taken apart.

use std::path::{Path, PathBuf};
use std::time::Instant;

use fpstore::plan::information_bound_bits;
use fpstore::stats::{Stats, TableStats};
use fpstore::{Fingerprint, OpenOptions, Store};
use fpstore_cli::failure::Failure;

use super::data::Data;
use super::grid::Configuration;
use super::results::{Histogram, Pack, Size};

/// A store in a directory of its own.
pub struct Packed<F: Fingerprint> {
    pub configuration: Configuration,
    pub path: PathBuf,
    pub store: Store<F>,
    pub size: Size,
    pub pack: Pack,
    pub low_bits_of_tables: Vec<u32>,
    pub histogram: Option<Histogram>,
}

impl<F: Fingerprint> Packed<F> {
    /// Packs the set below `directory`, opens the store, and checks every byte of it, which also
    /// brings it into memory.
    pub fn new(
        configuration: Configuration,
        data: &Data<F>,
        radius: u32,
        directory: &Path,
    ) -> Result<Self, Failure> {
        let path = directory.join(configuration.id());
        let packer = configuration.packer::<F>(radius);
        let start = Instant::now();
        let summary = match &data.pairs {
            None => packer.pack(&path, data.set.iter().copied())?,
            Some(pairs) => packer.pack_with_ids(&path, pairs.iter().copied())?,
        };
        let seconds = start.elapsed().as_secs_f64();
        let store = OpenOptions::new().width().open(&path)?;
        store.verify()?;
        let stats = store.stats()?;
        let size = size_of::<F>(&stats, store.heap_bytes());
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
fn size_of<F: Fingerprint>(stats: &Stats, heap: u64) -> Size {
    let tables = || stats.segments.iter().flat_map(|segment| &segment.tables);
    let sum = |value: fn(&TableStats) -> u64| tables().map(value).sum::<u64>();
    let bases = || stats.segments.iter().filter_map(|segment| segment.base.as_ref());
    let of_bases: u64 = bases().map(|base| base.file_bytes).sum();
    let of_parts: u64 = bases().flat_map(|base| &base.parts).map(|part| part.file_bytes).sum();
    let blocks = sum(TableStats::block_area_bytes) + of_bases;
    let router = sum(|table| table.router_bytes) + of_parts;
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
        bits_of_a_table: tables().fold(0.0, |sum, table| sum + table.bits_per_fingerprint())
            / number,
        // That of 64 bits, and all others.
        bound_bits: information_bound_bits(stats.fingerprints) + f64::from(F::BITS) - 64.0,
    }
}
