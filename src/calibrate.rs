//! Measures the constants of a machine by searches in small stores.
//!
//! Each constant is the difference between two kinds of searches that differ in it alone, so the
//! code that is measured is the code that will run. The order matters: what is known is subtracted
//! from what is measured next.

use std::fs::{File, OpenOptions};
use std::hint::black_box;
use std::io::Write;
use std::ops::Range;
use std::path::Path;
use std::time::Instant;

use crate::block::Reading;
use crate::design::Design;
use crate::error::{Error, Result};
use crate::plan::Calibration;
use crate::store::{Packer, Store};

/// Fingerprints of a store that the caches hold.
const SMALL: u64 = 1 << 16;
/// Fingerprints of a store that they do not hold.
const LARGE: u64 = 1 << 24;
/// Width of the low column of all stores.
const LOW_BITS: u32 = 24;
/// Bytes of the file that is read from the disk.
const FILE_BYTES: usize = 64 << 20;
/// Reads of one page.
const PAGE_READS: usize = 200;
/// Repetitions of which the fastest counts. They are short, so that one of them is left alone by
/// the other programs of the machine.
const ROUNDS: usize = 24;
/// Searches of a round.
const QUERIES: u64 = 1000;
/// Searches of a round in a store that is not in the cache, each round with others.
const LARGE_QUERIES: u64 = 30;

/// What [`Calibration::measure`] could not measure, and took from the shipped constants.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CalibrationGap {
    /// Why the reads of the disk were not measured.
    pub disk: String,
}

impl Calibration {
    /// Measures the constants of this machine, with files in `directory`, which are removed again.
    /// Also tells what could not be measured: reads past the page cache need Linux and a file
    /// system that has them. The size of the cache is not measured.
    ///
    /// Takes some seconds, 200 MiB of memory and as much of the disk.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] where files cannot be written to `directory`.
    pub fn measure(directory: impl AsRef<Path>) -> Result<(Self, Option<CalibrationGap>)> {
        let directory = directory.as_ref();
        let mut calibration = Self::default();
        calibration.measure_cached(directory)?;
        calibration.measure_memory(directory)?;
        calibration.crc_byte_ns = crc_byte_ns();
        let path = directory.join("calibration.tmp");
        let result = measure_disk(&path);
        let _ = std::fs::remove_file(&path);
        Ok(match result {
            Ok((read, byte)) => {
                calibration.cold_read_ns = read;
                calibration.cold_byte_ns = byte;
                (calibration, None)
            }
            Err(error) => (calibration, Some(CalibrationGap { disk: error.to_string() })),
        })
    }

    fn measure_cached(&mut self, directory: &Path) -> Result<()> {
        let (fine, coarse) = (256, 4096);
        let fine = Bench::new(directory, "single", fine, SMALL)?;
        let coarse = Bench::new(directory, "single", coarse, SMALL)?;
        // Scans at k = 0 decode nothing: blocks and bytes of columns.
        let [fine_scan, coarse_scan] = [&fine, &coarse].map(|bench| bench.scan());
        let (fine_scan, coarse_scan) = (fine_scan?, coarse_scan?);
        let blocks = fine_scan.blocks - coarse_scan.blocks;
        // The columns have nearly as many bytes in both.
        let column = coarse.column_bytes(Reading::Whole);
        self.block_ns = ((fine_scan.ns - coarse_scan.ns) / blocks).max(0.1);
        self.column_byte_ns =
            ((coarse_scan.ns - coarse_scan.blocks * self.block_ns) / column).max(0.001);
        // Descents at k = 0 in one table and in 20.
        let many = Bench::new(directory, "3of6", 256, SMALL)?;
        let [one, several] = [fine.search(0, Kind::Random)?, many.search(2, Kind::Random)?];
        let known = |this: &Self, bench: &Bench, work: &Work| {
            let per_block = bench.column_bytes(Reading::Parts) / bench.table_blocks();
            work.ns - work.blocks * (this.block_ns + per_block * this.column_byte_ns)
        };
        // Paths beyond the first of a table: many blocks in one table.
        let wide = fine.search(3, Kind::Random)?;
        self.path_ns = ((known(self, &fine, &wide) - known(self, &fine, &one))
            / (wide.blocks - one.blocks))
            .max(0.1);
        let rest = |this: &Self, bench: &Bench, work: &Work| {
            known(this, bench, work) - (work.blocks - work.tables as f64) * this.path_ns
        };
        let (one_rest, several_rest) = (rest(self, &fine, &one), rest(self, &many, &several));
        let tables = several.tables as f64;
        self.table_ns = ((several_rest - one_rest) / (tables - 1.0)).max(1.0);
        self.query_ns = (one_rest - self.table_ns).max(1.0);
        // A stored fingerprint decodes its block, up to its own place: half of the keys.
        let [fine_known, coarse_known] =
            [fine.search(0, Kind::Stored)?, coarse.search(0, Kind::Stored)?];
        let coarse_none = coarse.search(0, Kind::Random)?;
        let (fine_decode, coarse_decode) =
            (fine_known.ns - one.ns, coarse_known.ns - coarse_none.ns);
        let keys = |bench: &Bench| SMALL as f64 / bench.table_blocks() / 2.0;
        self.decode_key_ns =
            ((coarse_decode - fine_decode) / (keys(&coarse) - keys(&fine))).max(0.1);
        self.decode_block_ns = (fine_decode - keys(&fine) * self.decode_key_ns).max(1.0);
        Ok(())
    }

    fn measure_memory(&mut self, directory: &Path) -> Result<()> {
        // As many queries as make every block cold again before it comes back.
        let mut costs = Vec::new();
        for block_bytes in [256, 2048] {
            let bench = Bench::new(directory, "single", block_bytes, LARGE)?;
            let (work, one) = (bench.search_once(3)?, bench.search_once(0)?);
            let column = bench.column_bytes(Reading::Parts) / bench.table_blocks();
            let cached = self.query_ns
                + self.table_ns
                + (work.blocks - 1.0) * self.path_ns
                + work.blocks * (self.block_ns + column * self.column_byte_ns);
            let one = one.ns
                - self.query_ns
                - self.table_ns
                - self.block_ns
                - column * self.column_byte_ns;
            costs.push(((work.ns - cached) / work.blocks, column, one));
        }
        let [(fine, fine_column, one), (coarse, coarse_column, _)] = costs[..] else {
            return Ok(());
        };
        self.column_byte_dram_ns = ((coarse - fine) / (coarse_column - fine_column)).max(0.0);
        self.block_dram_ns = (fine - fine_column * self.column_byte_dram_ns).max(0.0);
        self.table_dram_ns = (one - fine).max(0.0);
        Ok(())
    }
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
    fn new(directory: &Path, design: &str, block_bytes: u32, count: u64) -> Result<Self> {
        let path = directory.join("calibration.fps");
        let design: Design = design.parse()?;
        let packer =
            Packer::new().design(design.clone()).block_bytes(block_bytes).low_bits(Some(LOW_BITS));
        let packer = packer.replace(true);
        let summary = packer.pack(&path, (0..count).map(fingerprint))?;
        let blocks = summary.tables[0].blocks;
        let store = crate::store::OpenOptions::new().in_memory(true).open(&path)?;
        std::fs::remove_dir_all(&path).map_err(Error::io(&path, "remove the store"))?;
        // Checksums are verified here, and not later.
        store.verify()?;
        let bench = Self { store, design, block_bytes, count, blocks };
        bench.scan()?;
        Ok(bench)
    }

    fn table_blocks(&self) -> f64 {
        self.blocks as f64
    }

    /// Bytes of the columns of a table that a scan or a search compares: at k = 0, and at k = 3 in nearly all
    /// blocks, since most paths have spent a flip before they end.
    fn column_bytes(&self, reading: Reading) -> f64 {
        let planes = reading.first_planes(0, self.block_bytes).min(LOW_BITS as usize / 8);
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
    fn scan(&self) -> Result<Work> {
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
    fn search(&self, k: u32, kind: Kind) -> Result<Work> {
        let rounds = (0..ROUNDS).map(|_| self.round(k, kind, 0..QUERIES));
        Ok(fastest(rounds.collect::<Result<_>>()?, 0))
    }

    /// Searches that find most blocks out of the cache: one of the faster rounds.
    fn search_once(&self, k: u32) -> Result<Work> {
        let rounds = (0..ROUNDS as u64).map(|round| {
            self.round(k, Kind::Random, LARGE_QUERIES * round..LARGE_QUERIES * (round + 1))
        });
        Ok(fastest(rounds.collect::<Result<_>>()?, ROUNDS / 4))
    }

    fn round(&self, k: u32, kind: Kind, queries: Range<u64>) -> Result<Work> {
        let mut searcher = self.store.searcher();
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

/// Fingerprint number `i` of a uniform set (SplitMix64).
fn fingerprint(i: u64) -> u64 {
    let x = i.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
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

/// Nanoseconds of a read of one page from the disk, and of each byte of a long read.
fn measure_disk(path: &Path) -> std::io::Result<(f64, f64)> {
    let mut file = File::create(path)?;
    // Bytes that no disk compresses.
    let chunk: Vec<u8> = (0..1 << 17).flat_map(|i| fingerprint(i).to_le_bytes()).collect();
    (0..FILE_BYTES / chunk.len()).try_for_each(|_| file.write_all(&chunk))?;
    file.sync_all()?;
    drop(file);
    let mut reader = DirectReader::open(path, chunk.len())?;
    let start = Instant::now();
    for i in 0..PAGE_READS as u64 {
        let page = fingerprint(i) % (FILE_BYTES as u64 / 4096);
        reader.read(4096 * page, 4096)?;
    }
    let page = start.elapsed().as_nanos() as f64 / PAGE_READS as f64;
    let start = Instant::now();
    let long = FILE_BYTES / 2 / chunk.len();
    (0..long).try_for_each(|i| reader.read((i * chunk.len()) as u64, chunk.len()))?;
    let byte = start.elapsed().as_nanos() as f64 / (long * chunk.len()) as f64;
    Ok(((page - 4096.0 * byte).max(0.0), byte))
}

/// Reads a file past the page cache.
struct DirectReader {
    file: File,
    buffer: Vec<u8>,
    /// Where the aligned part of the buffer begins.
    aligned_at: usize,
}

impl DirectReader {
    fn open(path: &Path, longest: usize) -> std::io::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true);
        direct(&mut options)?;
        let buffer = vec![0u8; longest + 4096];
        let aligned_at = buffer.as_ptr().align_offset(4096);
        Ok(Self { file: options.open(path)?, buffer, aligned_at })
    }

    #[cfg(unix)]
    fn read(&mut self, at: u64, bytes: usize) -> std::io::Result<()> {
        use std::os::unix::fs::FileExt;
        let buffer = &mut self.buffer[self.aligned_at..][..bytes];
        self.file.read_exact_at(buffer, at)?;
        black_box(buffer);
        Ok(())
    }

    #[cfg(not(unix))]
    fn read(&mut self, _at: u64, _bytes: usize) -> std::io::Result<()> {
        let _ = (&self.file, &self.buffer, self.aligned_at);
        Err(std::io::ErrorKind::Unsupported.into())
    }
}

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "riscv64")))]
fn direct(options: &mut OpenOptions) -> std::io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    // O_DIRECT of these architectures.
    options.custom_flags(0o40_000);
    Ok(())
}

#[cfg(all(target_os = "linux", target_arch = "aarch64"))]
fn direct(options: &mut OpenOptions) -> std::io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    // O_DIRECT of this architecture.
    options.custom_flags(0o200_000);
    Ok(())
}

#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "riscv64", target_arch = "aarch64")
)))]
fn direct(_options: &mut OpenOptions) -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}
