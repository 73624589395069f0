//! What a table takes, what a search in a store of some design touches, and how long that takes.

use super::sample::{Sample, SampledTables};
use super::short;
use crate::block::{Reading, share_within};
use crate::codec::profile::Profile;
use crate::costs::{Costs, SearchCosts};
use crate::design::Design;
use crate::error::Result;
use crate::format::{Codec, Geometry, top_bits};
use crate::router;
use crate::thresholds::descent::DescentModel;
use crate::thresholds::shared;
use crate::thresholds::solver::{self, Thresholds};

/// Bytes that a disk or the page cache gives at once.
const PAGE_BYTES: u32 = 4096;

/// A table of a [`Plan`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TablePlan {
    /// Bits of the top, the paper's p.
    pub top_bits: u32,
    /// How many of them may differ, τ; `None` where the table is not searched.
    pub threshold: Option<u32>,
    /// Fingerprints that share the top with a query on average: the paper's 2^(d - p).
    pub candidates: f64,
    /// Blocks that a search scans.
    pub blocks: f64,
}

/// A design with a size of blocks, and what is predicted of it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Plan {
    /// The tables.
    pub design: Design,
    /// Bytes per block.
    pub block_bytes: u32,
    /// How the keys are probably coded.
    pub codec: Codec,
    /// The probable width of the low column, in bits.
    pub low_bits: u32,
    /// Whether tables behind the first are [short](crate::Layout::short_tables).
    pub short_tables: bool,
    /// Whether a search scans a table whole, since descending would touch no fewer blocks.
    pub scans: bool,
    /// The tables, each with its threshold and the blocks that a search scans.
    pub tables: Vec<TablePlan>,
    /// Blocks that a search scans, in all tables.
    pub blocks: f64,
    /// Bytes of columns and streams that a search reads.
    pub bytes_touched: f64,
    /// Blocks that a search decodes: those in which something else came near enough, and one for
    /// each of the [`matches`](crate::plan::Planner::matches).
    pub blocks_decoded: f64,
    /// Reads of a search from a disk, of 4096 bytes or a larger block each.
    pub reads: f64,
    /// Bytes of all files.
    pub store_bytes: u64,
    /// Bytes of all files per fingerprint.
    pub bytes_per_fingerprint: f64,
    /// Bytes of memory that the routers of an open store take, mapped and on the heap.
    pub router_bytes: u64,
    /// Nanoseconds of a search in a store that is in memory, by a descent; less where it has a hot
    /// index.
    pub warm_ns: f64,
    /// Nanoseconds of a search in a store of which only the routers are in memory.
    pub cold_ns: f64,
    /// Whether the store is within the budget, if there is one.
    pub within_budget: bool,
}

/// Predicts for one size of blocks.
pub(super) struct Prediction {
    count: u64,
    radius: u32,
    coded: Coded,
    block_bytes: u32,
    size: TableSize,
    /// Blocks as the router sees them, and pages as the disk does.
    blocks: DescentModel,
    pages: Option<DescentModel>,
    /// Matches of a search.
    matches: f64,
}

/// What a search does in one table.
#[derive(Default)]
struct TableWork {
    blocks: f64,
    /// Planes of all these blocks that are read.
    planes: f64,
    decoded: f64,
    reads: f64,
}

impl Prediction {
    pub(super) fn new(
        count: u64,
        radius: u32,
        coded: Coded,
        block_bytes: u32,
        size: TableSize,
    ) -> Self {
        let pages = (size.blocks * u64::from(block_bytes)).div_ceil(u64::from(PAGE_BYTES));
        Self {
            count,
            radius,
            coded,
            block_bytes,
            blocks: DescentModel::new(size.blocks),
            pages: (block_bytes < PAGE_BYTES).then(|| DescentModel::new(pages)),
            size,
            matches: 0.0,
        }
    }

    /// The same for searches with so many matches.
    pub(super) fn with_matches(self, matches: f64) -> Self {
        Self { matches, ..self }
    }

    /// The descents of a table.
    pub(super) fn model(&self) -> &DescentModel {
        &self.blocks
    }

    /// The plan of a design. With a sample its descents replace those of uniform keys.
    pub(super) fn plan(
        &self,
        design: &Design,
        sampled: Option<&SampledTables<'_>>,
        costs: &Costs,
    ) -> Plan {
        let thresholds = solver::solve(design, self.radius, &self.blocks);
        let thresholds = thresholds.as_ref().map(|(thresholds, _)| thresholds);
        let tables = self.tables(design, thresholds, sampled);
        let touched = self.touched(thresholds.is_none(), &tables);
        self.sum(design, touched, tables, costs)
    }

    /// The work in each table of a design; `None` as thresholds means to scan.
    fn tables(
        &self,
        design: &Design,
        thresholds: Option<&Thresholds>,
        sampled: Option<&SampledTables<'_>>,
    ) -> Vec<(TablePlan, TableWork)> {
        let (k, blocks) = (self.radius, self.size.blocks);
        let sampled = thresholds.zip(sampled).map(|(thresholds, sampled)| {
            sampled.blocks_by_budget(thresholds, k, blocks, &self.blocks)
        });
        let table = |(number, top): (usize, &Vec<crate::format::BitRange>)| {
            let top_bits = top_bits(top);
            let threshold = match thresholds {
                Some(thresholds) => thresholds[number],
                None => (number == 0).then_some(k.min(top_bits)),
            };
            let work = match (thresholds, threshold, &sampled) {
                (_, None, _) => TableWork::default(),
                (None, Some(_), _) => self.scan(),
                (Some(_), Some(tau), None) => {
                    let by_budget = self.blocks.blocks_by_budget(top_bits, tau, k);
                    self.descend(top_bits, tau, &by_budget)
                }
                (Some(_), Some(tau), Some(sampled)) => {
                    self.descend(top_bits, tau, &sampled[number])
                }
            };
            let share = 2f64.powi(-(top_bits as i32));
            let candidates = self.count as f64 * share;
            (TablePlan { top_bits, threshold, candidates, blocks: work.blocks }, work)
        };
        design.tops().iter().enumerate().map(table).collect()
    }

    /// A scan of all columns of a table.
    fn scan(&self) -> TableWork {
        let blocks = self.size.blocks as f64;
        let decoded = blocks * self.survival(self.radius);
        TableWork {
            blocks,
            planes: blocks * self.planes_read(Reading::Whole, self.radius),
            decoded,
            reads: blocks * f64::from(self.block_bytes) / f64::from(PAGE_BYTES),
        }
    }

    fn descend(&self, top_bits: u32, threshold: u32, by_budget: &[f64]) -> TableWork {
        let blocks: f64 = by_budget.iter().sum();
        let survivors = by_budget.iter().zip(0..).map(|(n, budget)| n * self.survival(budget));
        let reads = self.pages.as_ref().map_or(1.0, |pages| {
            // The same descent over blocks of the size of a page.
            let expected =
                |model: &DescentModel| model.expected_blocks(top_bits, threshold, self.radius);
            (expected(pages) / expected(&self.blocks)).min(1.0)
        });
        let planes = by_budget
            .iter()
            .zip(0..)
            .map(|(n, budget)| n * self.planes_read(Reading::Parts, budget));
        TableWork { blocks, planes: planes.sum(), decoded: survivors.sum(), reads: blocks * reads }
    }

    /// Planes of a column that are compared of every key.
    fn planes_read(&self, reading: Reading, budget: u32) -> f64 {
        let planes = reading.first_planes(budget, self.block_bytes);
        planes.min(self.coded.low_bits as usize / 8) as f64
    }

    /// The probability that some random key of a block survives the scan of its column.
    fn survival(&self, budget: u32) -> f64 {
        let missed = (1.0 - share_within(self.coded.low_bits, budget)).max(0.0);
        let others = (self.size.keys_per_block - 1.0).max(0.0) as u32;
        // The power by squaring, which is the same on every machine.
        let (mut power, mut base) = (1.0, missed);
        for bit in 0..u32::BITS - others.leading_zeros() {
            if others >> bit & 1 == 1 {
                power *= base;
            }
            base *= base;
        }
        1.0 - power
    }

    /// What a search touches in all tables.
    fn touched(&self, scans: bool, tables: &[(TablePlan, TableWork)]) -> Touched {
        let (mut blocks, mut planes, mut decoded) = (0.0, 0.0, 0.0);
        let (mut reads, mut searched) = (0.0, 0.0);
        for (_, work) in tables {
            blocks += work.blocks;
            planes += work.planes;
            decoded += work.decoded;
            reads += work.reads;
            searched += if work.blocks > 0.0 { 1.0 } else { 0.0 };
        }
        let others = (self.size.keys_per_block - 1.0).max(0.0);
        let column_bytes = planes * others;
        // A search reads directories, headers and columns, so these are what the cache holds.
        let header = self.geometry().column_at() as f64;
        let directory = router::heap_bytes(self.size.blocks) as f64;
        let column = column_bytes / f64::max(blocks, 1.0);
        let hot = self.size.blocks as f64 * (column + header.max(64.0)) + directory;
        let number = tables.len() as f64;
        let hot = number * hot;
        Touched {
            scans,
            tables: searched,
            blocks,
            column_bytes,
            decoded_blocks: decoded + self.matches,
            decoded_keys: others / 2.0,
            hot_bytes: if scans { hot / number } else { hot },
            reads,
            read_bytes: reads * f64::from(self.block_bytes.max(PAGE_BYTES)),
            block_bytes: f64::from(self.block_bytes),
        }
    }

    fn sum(
        &self,
        design: &Design,
        touched: Touched,
        tables: Vec<(TablePlan, TableWork)>,
        costs: &Costs,
    ) -> Plan {
        let number = design.table_count() as u64;
        let Touched { scans, blocks, column_bytes, decoded_blocks, reads, .. } = touched;
        let geometry = self.geometry();
        let others = (self.size.keys_per_block - 1.0).max(0.0);
        let stream = f64::from(self.block_bytes) - others * geometry.planes() as f64;
        let header = geometry.column_at() as f64;
        let store_bytes = number * self.size.file_bytes + manifest_bytes(number);
        Plan {
            design: design.clone(),
            block_bytes: self.block_bytes,
            codec: self.coded.codec,
            low_bits: self.coded.low_bits,
            short_tables: false,
            scans,
            blocks,
            bytes_touched: column_bytes + blocks * header + decoded_blocks * stream / 2.0,
            blocks_decoded: decoded_blocks,
            reads,
            store_bytes,
            bytes_per_fingerprint: store_bytes as f64 / self.count.max(1) as f64,
            router_bytes: number * router_bytes(&geometry),
            warm_ns: touched.warm_ns(&costs.search),
            cold_ns: touched.cold_ns(costs),
            within_budget: true,
            tables: tables.into_iter().map(|(table, _)| table).collect(),
        }
    }

    /// Makes the tables behind the first short, with this codec and width of the column, where they
    /// are given.
    pub(super) fn shorten(
        &self,
        plan: &mut Plan,
        (codec, low_bits): (Option<Codec>, Option<u32>),
    ) -> Result<()> {
        let (bits, count) = (self.coded.bits, self.count);
        for top in &plan.design.tops()[1..] {
            let key_bits = short::key_bits(bits, count, top);
            if key_bits == bits {
                continue;
            }
            plan.short_tables = true;
            let low_bits = Some(short::low_bits(key_bits, top, low_bits));
            let given = (codec, low_bits);
            let coded = Coded::new((key_bits, count), given, None)?;
            let size = coded.table(count, self.block_bytes);
            let geometry = coded.geometry(self.block_bytes, size.blocks);
            plan.store_bytes = plan.store_bytes - self.size.file_bytes + size.file_bytes;
            plan.router_bytes =
                plan.router_bytes - router_bytes(&self.geometry()) + router_bytes(&geometry);
        }
        plan.bytes_per_fingerprint = plan.store_bytes as f64 / count.max(1) as f64;
        Ok(())
    }

    fn geometry(&self) -> Geometry {
        self.coded.geometry(self.block_bytes, self.size.blocks)
    }
}

/// What a search within `k`, whose thresholds are given, and which has a match, touches on average
/// where each table of `design` has `count` uniform keys and this geometry. How many of its reads
/// from a disk come to one page is left out.
///
/// The descents are those of tables of about as many blocks, so that they are computed once for all
/// of these: the blocks are up to 1.6% more or fewer.
pub(crate) fn search_touches(
    design: &Design,
    count: u64,
    codec: Codec,
    geometry: &Geometry,
    k: u32,
    thresholds: Option<&Thresholds>,
) -> Touched {
    let coded = Coded::of_table(count, codec, geometry);
    let size = TableSize::of_table(count, geometry);
    let search = Prediction {
        count,
        radius: k,
        coded,
        block_bytes: geometry.block_bytes,
        blocks: DescentModel::new(shared::class(size.blocks)),
        pages: None,
        size,
        matches: 1.0,
    };
    search.touched(thresholds.is_none(), &search.tables(design, thresholds, None))
}

/// Bytes of a manifest of one segment with so many tables.
fn manifest_bytes(tables: u64) -> u64 {
    use crate::format::{
        file_entry, manifest_header, section_header, segment_section, store_section,
    };
    let fixed =
        manifest_header::END + 2 * section_header::END + store_section::END + segment_section::END;
    fixed as u64 + tables * file_entry::END as u64
}

/// Bytes that the router of a table of so many blocks takes: the last keys, the directory, and
/// the bitmap of blocks that were checked.
fn router_bytes(geometry: &Geometry) -> u64 {
    let blocks = geometry.block_count;
    geometry.router().len() as u64 + router::heap_bytes(blocks) + blocks.div_ceil(8)
}

/// What a search touches on average.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Touched {
    /// Whether it scans one table whole.
    pub(crate) scans: bool,
    /// Tables in which it looks at some block.
    pub(super) tables: f64,
    pub(super) blocks: f64,
    /// Bytes of the columns of these blocks, as far as they are compared.
    pub(super) column_bytes: f64,
    pub(super) decoded_blocks: f64,
    /// Keys of a decoded block up to the one that is looked for.
    pub(super) decoded_keys: f64,
    /// Bytes that searches come back to, all together.
    pub(super) hot_bytes: f64,
    /// Reads from a disk, and bytes of them and of the blocks.
    pub(super) reads: f64,
    pub(super) read_bytes: f64,
    pub(super) block_bytes: f64,
}

impl Touched {
    /// Nanoseconds of one thread where all is in memory.
    pub(crate) fn warm_ns(&self, c: &SearchCosts) -> f64 {
        let missing = c.missing(self.hot_bytes);
        let paths = if self.scans { 0.0 } else { (self.blocks - self.tables).max(0.0) };
        let descents =
            if self.scans { 0.0 } else { self.tables * (c.table_ns + missing * c.table_dram_ns) };
        c.query_ns
            + descents
            + paths * c.path_ns
            + self.blocks * c.block_ns
            + if self.scans { 0.0 } else { self.blocks * missing * c.block_dram_ns }
            + self.column_bytes * (c.column_byte_ns + missing * c.column_byte_dram_ns)
            + self.decoded_blocks * (c.decode_block_ns + self.decoded_keys * c.decode_key_ns)
    }

    /// The same where filters leave so many blocks to a search.
    pub(crate) fn filtered(self, blocks: f64) -> Self {
        if blocks >= self.blocks {
            return self;
        }
        let share = blocks / self.blocks;
        // Those that are left are apart.
        let reads = self.reads.min(blocks);
        Self { blocks, reads, read_bytes: share * self.read_bytes, ..self }
    }

    /// The same where all blocks are on the disk.
    pub(crate) fn cold_ns(&self, costs: &Costs) -> f64 {
        let Costs { search, disk, .. } = costs;
        // A scan reads ahead, and waits once; the reads of a descent are in flight together.
        let waits = if self.scans { 1.0 } else { f64::max(self.reads / disk.reads_in_flight, 1.0) };
        self.warm_ns(search)
            + waits.min(self.reads) * disk.read_ns
            + self.read_bytes * disk.byte_ns
            + self.blocks * self.block_bytes * search.crc_byte_ns
    }
}

/// The coding that a table is expected to have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Coded {
    /// Bits of a key.
    pub(super) bits: u32,
    pub(super) codec: Codec,
    pub(super) low_bits: u32,
    bits_per_key: f64,
}

/// The expected size of a table.
#[derive(Clone, Copy, Debug)]
pub(super) struct TableSize {
    pub(super) blocks: u64,
    pub(super) keys_per_block: f64,
    pub(super) file_bytes: u64,
}

impl TableSize {
    /// The size of a table of `count` keys.
    pub(super) fn of_table(count: u64, geometry: &Geometry) -> Self {
        Self {
            blocks: geometry.block_count,
            keys_per_block: count as f64 / geometry.block_count.max(1) as f64,
            file_bytes: geometry.file_bytes(),
        }
    }
}

impl Coded {
    /// Chooses codec and column for `count` keys of so many bits as a pack would, from what uniform
    /// keys cost. A sample adds what it costs less than as many uniform keys.
    pub(super) fn new(
        (bits, count): (u32, u64),
        (codec, low_bits): (Option<Codec>, Option<u32>),
        sample: Option<&Sample>,
    ) -> Result<Self> {
        let uniform = Profile::uniform(bits, count).choose(codec, low_bits)?;
        let mut coded = Self {
            bits,
            codec: uniform.codec,
            low_bits: uniform.low_bits,
            bits_per_key: uniform.bits_per_key(),
        };
        if let Some(sample) = sample {
            let real = sample.profile.choose(codec, low_bits)?;
            let coding = |count| Profile::uniform(bits, count).coding(real.codec, real.low_bits);
            let as_uniform = coding(sample.count);
            let saved = as_uniform.bits_per_key() - real.bits_per_key();
            let uniform = coding(count);
            coded = Self {
                bits,
                codec: real.codec,
                low_bits: real.low_bits,
                bits_per_key: (uniform.bits_per_key() - saved).max(1.0),
            };
        }
        Ok(coded)
    }

    /// Chooses codec and column from runs of the set.
    pub(super) fn of_runs(
        runs: &Profile,
        (codec, low_bits): (Option<Codec>, Option<u32>),
    ) -> Result<Self> {
        let real = runs.choose(codec, low_bits)?;
        let bits_per_key = real.bits_per_key().max(1.0);
        Ok(Self { bits: real.bits, codec: real.codec, low_bits: real.low_bits, bits_per_key })
    }

    /// That of a table of `count` keys.
    pub(super) fn of_table(count: u64, codec: Codec, geometry: &Geometry) -> Self {
        let bits_per_key = 8.0 * geometry.file_bytes() as f64 / count.max(1) as f64;
        Self { bits: geometry.bits, codec, low_bits: geometry.low_bits, bits_per_key }
    }

    /// Where everything stands in a table with so many blocks.
    pub(super) fn geometry(&self, block_bytes: u32, block_count: u64) -> Geometry {
        Geometry { bits: self.bits, block_bytes, low_bits: self.low_bits, block_count }
    }

    /// The size of a table of `count` keys in blocks of `block_bytes`.
    pub(super) fn table(&self, count: u64, block_bytes: u32) -> TableSize {
        let geometry = |block_count| self.geometry(block_bytes, block_count);
        // The first key stands in the header. On average half a key more would have fitted.
        let room = f64::from(8 * (block_bytes - geometry(0).column_at() as u32));
        let full = 1.0 + (room / self.bits_per_key.max(1.0) - 0.5).max(0.0);
        let blocks = (count as f64 / full).ceil() as u64;
        TableSize {
            blocks,
            keys_per_block: full.min(count as f64),
            file_bytes: geometry(blocks).file_bytes(),
        }
    }
}
