//! Predicts the time of a probe, and decides how the keys of a table are compared.

use crate::query::join;
use crate::segment::Segment;
use crate::simd::Level;

use super::super::low;
use super::Probed;

/// Measured, in nanoseconds: what a probe takes in any case, bringing a query into order, visiting a
/// prefix, going on to pages that do not follow those before, and each block there.
const FIXED_COST: f64 = 250_000.0;
const SORT_COST: f64 = 20.0;
const VISIT_COST: f64 = 25.0;
const JUMP_COST: f64 = 700.0;
const FAR_BLOCK_COST: f64 = 150.0;
/// Bytes of a page.
const PAGE_BYTES: f64 = 4096.0;
/// Of whole keys: decoding one, and turning to those of a prefix.
const DECODE_COST: f64 = 2.2;
const PREFIX_COST: f64 = 20.0;
/// Of low parts: reading a block, and each of its keys; turning to a block in which a key may match,
/// and decoding each key up to that.
const READ_COST: f64 = 20.0;
const LOAD_COST: f64 = 0.15;
const TURN_COST: f64 = 60.0;
const STEP_COST: f64 = 1.0;

/// Predicted nanoseconds of one thread.
pub(super) struct Costs {
    /// Bringing the queries into order, and visiting prefixes.
    visits: f64,
    /// Comparing whole keys.
    whole: f64,
    /// Comparing low parts; infinite if there are none.
    low: f64,
}

impl Costs {
    /// Of so many queries in one of the `tables` of a segment.
    pub(super) fn new(
        segment: &Segment,
        probed: &Probed<'_>,
        tables: usize,
        queries: f64,
        k: u32,
    ) -> Self {
        let count = segment.count() as f64;
        let blocks = (probed.table.block_count() as f64).max(1.0);
        let work = Work {
            visits: probed.visits() * queries,
            per_visit: count * f64::from(probed.prefix_bits).exp2().recip(),
            blocks,
            block_keys: count / blocks,
            // Each has a match, which one table hands on.
            matches: queries / tables as f64,
        };
        let block_bytes = f64::from(probed.table.geometry().block_bytes);
        Self {
            visits: work.jumps(block_bytes) + work.visits * (SORT_COST + VISIT_COST),
            whole: work.whole(),
            low: if probed.table.geometry().low_bits > 0 {
                work.low(probed, k)
            } else {
                f64::INFINITY
            },
        }
    }

    /// Whether it takes less time to compare low parts.
    pub(super) fn by_low_parts(&self) -> bool {
        self.low < self.whole
    }
}

/// What queries have to do with a table.
struct Work {
    visits: f64,
    /// Keys with the prefix that is visited.
    per_visit: f64,
    blocks: f64,
    /// Keys of a block.
    block_keys: f64,
    matches: f64,
}

impl Work {
    /// Blocks that are visited.
    fn touched(&self) -> f64 {
        self.blocks.min(self.visits * self.blocks_per_visit())
    }

    fn blocks_per_visit(&self) -> f64 {
        1.0 + self.per_visit / self.block_keys.max(1.0)
    }

    /// The more pages are visited, the fewer visits go to a page that does not follow the one before.
    fn jumps(&self, block_bytes: f64) -> f64 {
        let pages_per_visit = 1.0 + (self.blocks_per_visit() - 1.0) * block_bytes / PAGE_BYTES;
        let pages = (self.blocks * block_bytes / PAGE_BYTES).max(1.0);
        let per_page = 1.0 + self.visits * pages_per_visit / pages;
        let far = (per_page * per_page.sqrt()).recip();
        self.visits * far * (JUMP_COST + FAR_BLOCK_COST * self.blocks_per_visit())
    }

    /// All keys of these blocks are decoded, and pairs compared.
    fn whole(&self) -> f64 {
        DECODE_COST * self.touched() * self.block_keys
            + self.visits * (PREFIX_COST + join::pair_cost(Level::best()) * self.per_visit)
    }

    /// All of these blocks are read, and pairs compared; matches, and pairs that look like one by
    /// chance, are decoded.
    fn low(&self, probed: &Probed<'_>, k: u32) -> f64 {
        // A block at each end of a prefix holds other keys as well.
        let pairs = self.visits * (self.per_visit + self.block_keys);
        // What the keys of a block have in common beyond the prefix is visible as well.
        let shared = self.blocks.log2() as u32;
        let low_bits = probed.table.geometry().low_bits;
        let visible = low_bits + shared.saturating_sub(probed.prefix_bits);
        let touched = self.touched().max(1.0);
        let seen = self.matches + pairs * within(visible, k);
        let decoded = touched * (1.0 - (-seen / touched).exp());
        (READ_COST + LOAD_COST * self.block_keys) * touched
            + low::pair_cost(probed.table, Level::best(), k) * pairs
            + (TURN_COST + STEP_COST * self.block_keys / 2.0) * decoded
    }
}

/// The share of bit strings with so many bits of which at most `k` are set.
fn within(bits: u32, k: u32) -> f64 {
    let mut share = f64::from(bits).exp2().recip();
    let mut sum = share;
    for set in 1..=k.min(bits) {
        share *= f64::from(bits + 1 - set) / f64::from(set);
        sum += share;
    }
    sum.min(1.0)
}

/// The predicted time of [`probe`](super::probe) in nanoseconds of one thread; `None` where tables
/// do not help.
pub(in crate::query::batch) fn cost(segments: &[Segment], queries: u64, k: u32) -> Option<f64> {
    let mut sum = FIXED_COST;
    for segment in segments {
        let tables = Probed::of(segment, k)?;
        for probed in &tables {
            let costs = Costs::new(segment, probed, tables.len(), queries as f64, k);
            sum += costs.visits + costs.whole.min(costs.low);
        }
    }
    Some(sum)
}
