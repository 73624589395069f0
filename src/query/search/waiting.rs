//! Whether searches wait for the disk, by the time that some of them take.

use std::time::Instant;

use crate::costs::DiskCosts;

/// Of so many searches that did not wait for the disk, one is timed: a clock takes as long as some
/// blocks.
const TIMED: u32 = 16;

/// Of so many searches by filters at least, and at most, one goes without.
const LEAST_FILTERED: u32 = 16;
const MOST_FILTERED: u32 = 1 << 10;

/// What the searches of a searcher have shown.
pub(super) struct Waiting {
    costs: DiskCosts,
    /// Whether the last search that was timed seems to have waited.
    is_cold: bool,
    /// Searches until one is timed.
    untimed: u32,
    /// Searches by filters until one goes without. How long one by filters takes does not say
    /// whether another one would wait.
    filtered: u32,
    /// Searches by filters in a row.
    in_a_row: u32,
}

impl Waiting {
    pub(super) fn new(costs: &DiskCosts) -> Self {
        let (filtered, in_a_row) = (0, LEAST_FILTERED / 2);
        Self { costs: *costs, is_cold: false, untimed: 0, filtered, in_a_row }
    }

    /// Whether the next search is expected to wait.
    pub(super) fn is_cold(&self) -> bool {
        self.is_cold
    }

    /// Whether the next search goes by filters, where there are some.
    pub(super) fn uses_filters(&self) -> bool {
        self.is_cold && self.filtered > 0
    }

    /// Before a search: when it begins, if it is timed.
    pub(super) fn begin(&mut self) -> Option<Instant> {
        let is_timed = self.is_cold || self.untimed == 0;
        self.untimed = self.untimed.checked_sub(1).unwrap_or(TIMED - 1);
        is_timed.then(Instant::now)
    }

    /// After a timed search without filters that looked into so many blocks: the time that it
    /// waited, in nanoseconds, if it did.
    pub(super) fn end(&mut self, begun: Instant, looks: u64) -> Option<f64> {
        let ns = begun.elapsed().as_nanos() as f64;
        self.ended(ns - self.costs.waited_ns - self.costs.waited_block_ns * looks as f64)
    }

    fn ended(&mut self, over_ns: f64) -> Option<f64> {
        self.is_cold = over_ns > 0.0;
        let in_a_row = if self.is_cold { 2 * self.in_a_row } else { LEAST_FILTERED / 2 };
        self.in_a_row = in_a_row.min(MOST_FILTERED);
        self.filtered = self.in_a_row;
        self.is_cold.then_some(over_ns + self.costs.waited_ns)
    }

    /// After a search by filters.
    pub(super) fn end_filtered(&mut self) {
        self.filtered = self.filtered.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::costs::Costs;

    #[test]
    fn filters_are_used_while_searches_without_them_wait() {
        let mut waiting = Waiting::new(&Costs::default().disk);
        assert!(waiting.begin().is_some() && !waiting.uses_filters());
        assert_eq!(waiting.ended(-1.0), None);
        // Of those that do not wait one of 16 is timed.
        let timed = (0..160).filter(|_| waiting.begin().is_some()).count();
        assert_eq!(timed, 10);
        // The first that waits, and then ever fewer of those by filters, are followed by one
        // without.
        let mut rows = Vec::new();
        for _ in 0..9 {
            assert_eq!(waiting.ended(1.0), Some(1.0 + waiting.costs.waited_ns));
            let mut row = 0;
            while waiting.uses_filters() {
                assert!(waiting.begin().is_some() && waiting.is_cold());
                waiting.end_filtered();
                row += 1;
            }
            rows.push(row);
        }
        assert_eq!(rows, [16, 32, 64, 128, 256, 512, 1024, 1024, 1024]);
        assert_eq!(waiting.ended(0.0), None);
        assert!(!waiting.is_cold() && !waiting.uses_filters());
        waiting.ended(1.0);
        assert_eq!(waiting.filtered, LEAST_FILTERED);
    }
}
