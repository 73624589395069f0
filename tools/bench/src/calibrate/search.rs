//! Measures the steps of searches, by searches in small stores.

use std::hint::black_box;
use std::ops::Range;
use std::path::Path;
use std::time::Instant;

use fpstore::internals::{SearchCosts, first_planes};
use fpstore::stats::AccessPath;
use fpstore::{Design, Layout, Packer, Store};
use fpstore_cli::failure::Failure;

use super::uniform::{self, fingerprint};

/// Fingerprints of a store that the caches hold.
const SMALL: u64 = 1 << 16;
/// Fingerprints of a store that they do not hold.
const LARGE: u64 = 1 << 24;
/// Width of the low column of all stores.
const LOW_BITS: u32 = 24;
/// Repetitions of which the fastest counts. They are short, so that one of them is left alone by
/// the other programs of the machine.
const ROUNDS: usize = 24;
/// Searches of a round.
const QUERIES: u64 = 1000;
/// Searches of a round in a store that is not in the cache, each round with others.
const LARGE_QUERIES: u64 = 30;

/// Measures all but the size of the cache, with stores in `directory`, which are removed again.
pub(super) fn measure(costs: &mut SearchCosts, directory: &Path) -> Result<(), Failure> {
    measure_cached(costs, directory)?;
    measure_memory(costs, directory)?;
    costs.crc_byte_ns = crc_byte_ns();
    Ok(())
}

fn measure_cached(costs: &mut SearchCosts, directory: &Path) -> Result<(), Failure> {
    let (fine, coarse) = (256, 4096);
    let fine = Bench::new(directory, "single", fine, SMALL)?;
    let coarse = Bench::new(directory, "single", coarse, SMALL)?;
    // Scans at k = 0 decode nothing: blocks and bytes of columns.
    let [fine_scan, coarse_scan] = [&fine, &coarse].map(|bench| bench.scan());
    let (fine_scan, coarse_scan) = (fine_scan?, coarse_scan?);
    let blocks = fine_scan.blocks - coarse_scan.blocks;
    // The columns have nearly as many bytes in both.
    let column = coarse.column_bytes(true);
    costs.block_ns = ((fine_scan.ns - coarse_scan.ns) / blocks).max(0.1);
    costs.column_byte_ns =
        ((coarse_scan.ns - coarse_scan.blocks * costs.block_ns) / column).max(0.001);
    // Descents at k = 0 in one table and in 20.
    let many = Bench::new(directory, "3of6", 256, SMALL)?;
    let [one, several] = [fine.search(0, Kind::Random)?, many.search(2, Kind::Random)?];
    let known = |this: &SearchCosts, bench: &Bench, work: &Work| {
        let per_block = bench.column_bytes(false) / bench.table_blocks();
        work.ns - work.blocks * (this.block_ns + per_block * this.column_byte_ns)
    };
    // Paths beyond the first of a table: many blocks in one table.
    let wide = fine.search(3, Kind::Random)?;
    costs.path_ns = ((known(costs, &fine, &wide) - known(costs, &fine, &one))
        / (wide.blocks - one.blocks))
        .max(0.1);
    let rest = |this: &SearchCosts, bench: &Bench, work: &Work| {
        known(this, bench, work) - (work.blocks - work.tables as f64) * this.path_ns
    };
    let (one_rest, several_rest) = (rest(costs, &fine, &one), rest(costs, &many, &several));
    let tables = several.tables as f64;
    costs.table_ns = ((several_rest - one_rest) / (tables - 1.0)).max(1.0);
    costs.query_ns = (one_rest - costs.table_ns).max(1.0);
    // A stored fingerprint decodes its block, up to its own place: half of the keys.
    let [fine_known, coarse_known] =
        [fine.search(0, Kind::Stored)?, coarse.search(0, Kind::Stored)?];
    let coarse_none = coarse.search(0, Kind::Random)?;
    let (fine_decode, coarse_decode) = (fine_known.ns - one.ns, coarse_known.ns - coarse_none.ns);
    let keys = |bench: &Bench| SMALL as f64 / bench.table_blocks() / 2.0;
    costs.decode_key_ns = ((coarse_decode - fine_decode) / (keys(&coarse) - keys(&fine))).max(0.1);
    costs.decode_block_ns = (fine_decode - keys(&fine) * costs.decode_key_ns).max(1.0);
    Ok(())
}

fn measure_memory(costs: &mut SearchCosts, directory: &Path) -> Result<(), Failure> {
    // As many queries as make every block cold again before it comes back.
    let mut measured = Vec::new();
    for block_bytes in [256, 2048] {
        let bench = Bench::new(directory, "single", block_bytes, LARGE)?;
        let (work, one) = (bench.search_once(3)?, bench.search_once(0)?);
        let column = bench.column_bytes(false) / bench.table_blocks();
        let cached = costs.query_ns
            + costs.table_ns
            + (work.blocks - 1.0) * costs.path_ns
            + work.blocks * (costs.block_ns + column * costs.column_byte_ns);
        let one = one.ns
            - costs.query_ns
            - costs.table_ns
            - costs.block_ns
            - column * costs.column_byte_ns;
        measured.push(((work.ns - cached) / work.blocks, column, one));
    }
    let [(fine, fine_column, one), (coarse, coarse_column, _)] = measured[..] else {
        return Ok(());
    };
    costs.column_byte_dram_ns = ((coarse - fine) / (coarse_column - fine_column)).max(0.0);
    costs.block_dram_ns = (fine - fine_column * costs.column_byte_dram_ns).max(0.0);
    costs.table_dram_ns = (one - fine).max(0.0);
    Ok(())
}

/// Which fingerprints are looked for.
#[derive(Clone, Copy)]
enum Kind {
    /// Random ones, without matches.
    Random,
    /// Stored ones.
    Stored,
}

/// The mean of some searches.
struct Work {
    ns: f64,
    blocks: f64,
    tables: usize,
}

/// A store of uniform fingerprints. Its files are gone as soon as it is open.
struct Bench {
    store: Store,
    design: Design,
    block_bytes: u32,
    count: u64,
    /// Blocks of a table.
    blocks: u64,
}

impl Bench {
    fn new(directory: &Path, design: &str, block_bytes: u32, count: u64) -> Result<Self, Failure> {
        let design: Design = design.parse()?;
        let packer = Packer::new().layout(
            Layout::new().design(design.clone()).block_bytes(block_bytes).low_bits(Some(LOW_BITS)),
        );
        let (store, summary) = uniform::store(directory, packer, count)?;
        let blocks = summary.tables[0].blocks;
        let bench = Self { store, design, block_bytes, count, blocks };
        bench.scan()?;
        Ok(bench)
    }

    fn table_blocks(&self) -> f64 {
        self.blocks as f64
    }

    /// Bytes of the columns of a table that a scan or a search compares: at k = 0, and at k = 3 in
    /// nearly all blocks, since most paths have spent a flip before they end.
    fn column_bytes(&self, whole: bool) -> f64 {
        let planes = first_planes(whole, 0, self.block_bytes).min(LOW_BITS as usize / 8);
        planes as f64 * (self.count as f64 - self.table_blocks())
    }

    fn query(&self, i: u64, kind: Kind) -> u64 {
        match kind {
            // Numbers behind those of the set.
            Kind::Random => fingerprint(self.count + i),
            Kind::Stored => fingerprint(i.wrapping_mul(0x9E37_79B1) % self.count),
        }
    }

    /// A scan of one table at k = 0.
    fn scan(&self) -> Result<Work, Failure> {
        let mut searcher = self.store.searcher();
        let mut least = f64::INFINITY;
        for i in 0..ROUNDS as u64 {
            let start = Instant::now();
            black_box(searcher.search_by_scan(self.query(i, Kind::Random), 0)?);
            least = least.min(start.elapsed().as_nanos() as f64);
        }
        Ok(Work { ns: least, blocks: self.table_blocks(), tables: 1 })
    }

    /// The fastest of some rounds of the same searches.
    fn search(&self, k: u32, kind: Kind) -> Result<Work, Failure> {
        let rounds = (0..ROUNDS).map(|_| self.round(k, kind, 0..QUERIES));
        Ok(fastest(rounds.collect::<Result<_, Failure>>()?, 0))
    }

    /// Searches that find most blocks out of the cache: one of the faster rounds.
    fn search_once(&self, k: u32) -> Result<Work, Failure> {
        let rounds = (0..ROUNDS as u64).map(|round| {
            self.round(k, Kind::Random, LARGE_QUERIES * round..LARGE_QUERIES * (round + 1))
        });
        Ok(fastest(rounds.collect::<Result<_, Failure>>()?, ROUNDS / 4))
    }

    fn round(&self, k: u32, kind: Kind, queries: Range<u64>) -> Result<Work, Failure> {
        let mut searcher = self.store.searcher();
        searcher.force(Some(AccessPath::Tables));
        searcher.search(self.query(queries.start, kind), k)?;
        let mut blocks = 0;
        let number = (queries.end - queries.start) as f64;
        let start = Instant::now();
        for i in queries {
            black_box(searcher.search(self.query(i, kind), k)?);
            blocks += searcher.work().blocks_scanned;
        }
        let ns = start.elapsed().as_nanos() as f64 / number;
        let thresholds = self.design.thresholds(k, self.blocks);
        let tables = thresholds.map_or(1, |taus| taus.iter().flatten().count());
        Ok(Work { ns, blocks: blocks as f64 / number, tables })
    }
}

/// The round that `faster` others beat, of more rounds than that.
fn fastest(mut rounds: Vec<Work>, faster: usize) -> Work {
    // By the time per block, as rounds of other searches have other blocks.
    rounds.sort_by(|a, b| (a.ns / a.blocks).total_cmp(&(b.ns / b.blocks)));
    rounds.swap_remove(faster)
}

fn crc_byte_ns() -> f64 {
    let bytes = vec![0xA5u8; 1 << 20];
    let hash = || {
        let start = Instant::now();
        bytes.chunks_exact(1024).for_each(|block| {
            black_box(crc32fast::hash(black_box(block)));
        });
        start.elapsed().as_nanos() as f64 / bytes.len() as f64
    };
    (0..ROUNDS).map(|_| hash()).fold(f64::INFINITY, f64::min)
}
