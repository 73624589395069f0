//! What a search in a store of some design touches, and how long that takes.

use super::sample::SampledTables;
use super::short;
use super::size::{Coded, TableSize};
use super::touched::Touched;
use crate::block::{Reading, share_within};
use crate::costs::Costs;
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
