//! Predicts the time of a probe, and decides how the keys of a table are compared.

use std::sync::Arc;

use crate::costs::{BatchCosts, Costs};
use crate::fingerprint::Fingerprint;
use crate::segment::Segment;
use crate::simd::Level;
use crate::snapshot::Snapshot;

use super::super::low;
use super::probed::Probed;

/// Bytes of a page.
const PAGE_BYTES: f64 = 4096.0;

/// Predicted nanoseconds of one thread.
pub(super) struct ProbeTimes {
    /// Bringing the queries into order, and visiting prefixes.
    visits: f64,
    /// Comparing whole keys.
    whole: f64,
    /// Comparing low parts; infinite if there are none.
    low: f64,
}

impl ProbeTimes {
    /// Of so many queries in one of the `tables` of a segment.
    pub(super) fn new<F: Fingerprint>(
        segment: &Segment<F>,
        probed: &Probed<'_>,
        tables: usize,
        queries: f64,
        k: u32,
        costs: &Costs,
    ) -> Self {
        let c = &costs.batch;
        let count = segment.count() as f64;
        let blocks = (probed.table.block_count() as f64).max(1.0);
        let work = ProbeWork {
            visits: probed.visits() * queries,
            per_visit: count * f64::from(probed.prefix_bits).exp2().recip(),
            blocks,
            block_keys: count / blocks,
            // Each has a match, which one table hands on.
            matches: queries / tables as f64,
        };
        let block_bytes = f64::from(probed.table.geometry().block_bytes);
        Self {
            visits: work.jumps(block_bytes, c) + work.visits * (c.sort_ns + c.visit_ns),
            whole: work.whole(costs),
            low: if probed.table.geometry().low_bits > 0 {
                work.low(probed, k, c)
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
struct ProbeWork {
    visits: f64,
    /// Keys with the prefix that is visited.
    per_visit: f64,
    blocks: f64,
    /// Keys of a block.
    block_keys: f64,
    matches: f64,
}

impl ProbeWork {
    /// Blocks that are visited.
    fn touched(&self) -> f64 {
        self.blocks.min(self.visits * self.blocks_per_visit())
    }

    fn blocks_per_visit(&self) -> f64 {
        1.0 + self.per_visit / self.block_keys.max(1.0)
    }

    /// The more pages are visited, the fewer visits go to a page that does not follow the one before.
    fn jumps(&self, block_bytes: f64, c: &BatchCosts) -> f64 {
        let pages_per_visit = 1.0 + (self.blocks_per_visit() - 1.0) * block_bytes / PAGE_BYTES;
        let pages = (self.blocks * block_bytes / PAGE_BYTES).max(1.0);
        let per_page = 1.0 + self.visits * pages_per_visit / pages;
        let far = (per_page * per_page.sqrt()).recip();
        self.visits * far * (c.jump_ns + c.far_block_ns * self.blocks_per_visit())
    }

    /// All keys of these blocks are decoded, and pairs compared.
    fn whole(&self, costs: &Costs) -> f64 {
        let (c, pair_ns) = (&costs.batch, costs.join.pair_ns(Level::best()));
        c.decode_key_ns * self.touched() * self.block_keys
            + self.visits * (c.prefix_ns + pair_ns * self.per_visit)
    }

    /// All of these blocks are read, and pairs compared; matches, and pairs that look like one by
    /// chance, are decoded.
    fn low(&self, probed: &Probed<'_>, k: u32, c: &BatchCosts) -> f64 {
        // A block at each end of a prefix holds other keys as well.
        let pairs = self.visits * (self.per_visit + self.block_keys);
        // What the keys of a block have in common beyond the prefix is visible as well.
        let shared = self.blocks.log2() as u32;
        let visible = low::bits(probed.table) + shared.saturating_sub(probed.prefix_bits);
        let touched = self.touched().max(1.0);
        let seen = self.matches + pairs * within(visible, k);
        let decoded = touched * (1.0 - (-seen / touched).exp());
        (c.block_ns + c.load_key_ns * self.block_keys) * touched
            + low::pair_ns(probed.table, Level::best(), k, c) * pairs
            + (c.turn_ns + c.step_ns * self.block_keys / 2.0) * decoded
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
pub(in crate::query::batch) fn predicted_ns<F: Fingerprint>(
    snapshot: &Snapshot<F>,
    queries: u64,
    k: u32,
    costs: &Costs,
) -> Option<f64> {
    let of_segment = |segment: &Arc<Segment<F>>| of_segment_ns(segment, queries, k, costs);
    let mut times = snapshot.segments().iter().map(of_segment);
    times.try_fold(costs.batch.start_ns, |sum, time| Some(sum + time?))
}

/// The part of [`predicted_ns`] that a segment adds.
pub(in crate::query::batch) fn of_segment_ns<F: Fingerprint>(
    segment: &Segment<F>,
    queries: u64,
    k: u32,
    costs: &Costs,
) -> Option<f64> {
    let tables = Probed::of(segment, k)?;
    let of_table = |probed: &Probed<'_>| {
        let times = ProbeTimes::new(segment, probed, tables.len(), queries as f64, k, costs);
        times.visits + times.whole.min(times.low)
    };
    Some(tables.iter().map(of_table).sum())
}
