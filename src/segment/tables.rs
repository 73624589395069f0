//! The tables of a segment.

use std::sync::{Arc, OnceLock};

use super::kept_plan::KeptPlan;
use super::runs::{self, Found, RunTable, Runs};
use crate::access::ReadFiles;
use crate::costs::{Costs, SearchCosts};
use crate::design::Design;
use crate::error::Result;
use crate::fingerprint::{Fingerprint, key_of};
use crate::format::SegmentEntry;
use crate::plan::{self, Touched};
use crate::table::{KeptKeys, Lead, PrefixFilter, Table, kept_bytes};
use crate::thresholds::shared::Solved;
use crate::thresholds::solver::Thresholds;

/// The open tables of a segment. Any number of threads may use them.
pub(crate) struct Tables {
    design: Design,
    /// There is at least one.
    tables: Vec<Table>,
    /// The numbers of all tables: those that are short, then the others.
    order: Vec<usize>,
    /// Of each table, how many bits of a fingerprint, from the first on, its keys tell.
    lead_bits: Vec<u32>,
    /// Of each table, for each other one, its top in keys of this table: `tables.len()` masks each.
    tops: Vec<u64>,
    count: u64,
    solved: Arc<Solved>,
    /// For the tables that are not short alone.
    solved_whole: Arc<Solved>,
    /// For each radius what a search touches on average, once it was asked for.
    touched: Vec<OnceLock<Touched>>,
    runs: Runs,
    /// For each radius how a search goes by runs, if it can, once it was asked for.
    run_plans: Vec<OnceLock<Option<Vec<RunTable>>>>,
    /// For each radius how a search goes by kept keys, once it was asked for.
    kept_plans: Vec<OnceLock<KeptPlan>>,
    /// Of each table, where they are wanted; `None` if they cannot be built.
    filters: OnceLock<Option<Vec<PrefixFilter>>>,
}

impl Tables {
    /// Opens the tables of `entry`, of fingerprints of so many bits.
    pub(super) fn open(files: &dyn ReadFiles, entry: &SegmentEntry, bits: u32) -> Result<Self> {
        let tables = Table::open_all(files, entry, bits)?;
        let tops = tables.iter().map(|table| table.header().top.clone()).collect();
        // Of so many tables at most that each may know all others.
        let design = Design::from_tops_for(bits, tops)?;
        let top_of = |table: &Table| {
            let top_bits = table.permutation().top_bits();
            table.permutation().fingerprint(!u64::MAX.checked_shr(top_bits).unwrap_or(0))
        };
        let in_keys = |of: &Table| {
            let permutation = of.permutation().clone();
            tables.iter().map(top_of).map(move |top| permutation.key(top)).collect::<Vec<_>>()
        };
        let in_keys: Vec<u64> = tables.iter().flat_map(in_keys).collect();
        let (mut order, whole): (Vec<_>, Vec<_>) =
            (0..tables.len()).partition(|number| tables[*number].is_short());
        let of_whole = whole.iter().map(|number| tables[*number].header().top.clone());
        let of_whole = Design::from_tops_for(bits, of_whole.collect())?;
        order.extend(whole);
        Ok(Self {
            solved: Solved::of(&design, tables[0].block_count()),
            solved_whole: Solved::of(&of_whole, tables[0].block_count()),
            lead_bits: tables.iter().map(Table::lead_bits).collect(),
            order,
            design,
            runs: Runs::new(&tables, entry.count),
            tables,
            tops: in_keys,
            count: entry.count,
            touched: (0..=u64::BITS).map(|_| OnceLock::new()).collect(),
            run_plans: (0..=u64::BITS).map(|_| OnceLock::new()).collect(),
            kept_plans: (0..=u64::BITS).map(|_| OnceLock::new()).collect(),
            filters: OnceLock::new(),
        })
    }

    /// The design.
    pub(crate) fn design(&self) -> &Design {
        &self.design
    }

    /// The tables; there is at least one.
    pub(crate) fn all(&self) -> &[Table] {
        &self.tables
    }

    /// The numbers of all tables, as searches go through them: those that are short, then the others.
    #[inline]
    pub(crate) fn order(&self) -> &[usize] {
        &self.order
    }

    /// Whether some table is short.
    pub(crate) fn has_short(&self) -> bool {
        self.tables.iter().any(Table::is_short)
    }

    /// The tables that are not short.
    pub(crate) fn whole(&self) -> impl Iterator<Item = &Table> {
        self.tables.iter().filter(|table| !table.is_short())
    }

    /// Where in the identity table a fingerprint stands, of which table `number` tells these bits.
    #[inline]
    pub(crate) fn lead(&self, number: usize, fingerprint: u64) -> Lead {
        let bits = self.lead_bits[number];
        Lead { prefix: fingerprint & !u64::MAX.checked_shr(bits).unwrap_or(0), bits }
    }

    /// The table in the order of the fingerprints.
    pub(crate) fn identity(&self) -> &Table {
        // The manifest rule [SEG-2] gives every segment a table.
        &self.tables[0]
    }

    /// The tops of all tables, as masks of keys of table `number`.
    #[inline]
    pub(crate) fn tops(&self, number: usize) -> &[u64] {
        &self.tops[number * self.tables.len()..][..self.tables.len()]
    }

    /// What searches by runs go by.
    #[inline]
    pub(crate) fn runs(&self) -> &Runs {
        &self.runs
    }

    /// The bytes that all keys take, decoded and whole; `None` if there are too many, or runs cannot be told.
    pub(super) fn kept_bytes(&self) -> Option<u64> {
        self.tables.iter().map(kept_bytes).sum()
    }

    /// Has searches keep all keys; `false` if they go by something else already.
    pub(super) fn keep_keys(&self) -> bool {
        self.runs.keep_keys(&self.tables);
        self.runs.keeps_keys()
    }

    /// Bytes of the filters of all tables, at most.
    pub(super) fn most_filter_bytes(&self) -> u64 {
        self.tables.iter().map(PrefixFilter::most_bytes).sum()
    }

    /// Bytes of the filters of all tables, as far as there are some.
    pub(super) fn filter_bytes(&self) -> u64 {
        self.filters().unwrap_or_default().iter().map(PrefixFilter::heap_bytes).sum()
    }

    /// Has searches go by filters of all tables, which this reads with the threads of the current pool; not where a block is damaged.
    pub(super) fn build_filters(&self) {
        self.filters.get_or_init(|| self.tables.iter().map(PrefixFilter::of).collect());
    }

    /// Whether filters were built, or could not be.
    pub(super) fn tried_filters(&self) -> bool {
        self.filters.get().is_some()
    }

    /// The filters of all tables, if searches go by them.
    #[inline(always)]
    pub(crate) fn filters(&self) -> Option<&[PrefixFilter]> {
        self.filters.get()?.as_deref()
    }

    /// Has searches keep no keys, also where there is room for them.
    #[cfg(test)]
    pub(crate) fn keep_no_keys(&self) {
        self.runs.keep_no_keys(&self.tables, self.count);
    }

    /// The tables of a search by runs within `k`; `None` if it has to look at more than these.
    #[inline]
    pub(crate) fn run_plan(&self, k: u32) -> Option<&[RunTable]> {
        let plan = || {
            let thresholds = self.thresholds(k)?;
            runs::plan((&self.tables, &self.order), thresholds, |number| self.tops(number))
        };
        self.run_plans.get(k as usize)?.get_or_init(plan).as_deref()
    }

    /// How a search within `k` goes among the keys of all tables; `None` for a radius over 64.
    #[inline]
    pub(crate) fn kept_plan(&self, k: u32, keys: &[KeptKeys]) -> Option<&KeptPlan> {
        let plan = || {
            let prefixes = keys.iter().map(|keys| 1 << keys.prefix_bits()).max().unwrap_or(1);
            let solved = Solved::of(&self.design, prefixes);
            let level = self.identity().level();
            KeptPlan::new((keys, level), solved.thresholds(k), |number| self.tops(number))
        };
        Some(self.kept_plans.get(k as usize)?.get_or_init(plan))
    }

    /// Bytes of heap.
    pub(super) fn heap_bytes(&self) -> u64 {
        self.runs.heap_bytes()
            + self.filter_bytes()
            + self.tables.iter().map(Table::heap_bytes).sum::<u64>()
    }

    /// Where the identity table holds a fingerprint: number of the block, and number in it.
    pub(super) fn place<F: Fingerprint>(&self, fingerprint: F) -> Result<Option<(u64, u64)>> {
        self.identity().position(key_of(fingerprint))
    }

    /// How many bits may differ in the top of each table for a search within `k`; `None` where a
    /// scan of the identity table is less work.
    pub(crate) fn thresholds(&self, k: u32) -> Option<&Thresholds> {
        self.solved.thresholds(k)
    }

    /// As [`Self::thresholds`], with the tables that are not short alone, in their order.
    pub(crate) fn whole_thresholds(&self, k: u32) -> Option<&Thresholds> {
        self.solved_whole.thresholds(k)
    }

    /// The predicted time of a search within `k`, which is up to 64, with a match, in nanoseconds of
    /// one thread: of one by what searches have found, where it goes by that.
    pub(crate) fn search_ns(&self, k: u32, costs: &SearchCosts) -> f64 {
        let by_found = match self.runs.found() {
            Some(Found::Keys(keys)) => self.kept_plan(k, keys).map(|plan| plan.search_ns(costs)),
            Some(Found::Starts(starts)) => self
                .run_plan(k)
                .map(|tables| runs::search_ns(tables, (&self.tables, starts), self.count, costs)),
            None => None,
        };
        let by_descent = || self.touched(k).map(|touched| touched.warm_ns(costs));
        by_found.or_else(by_descent).unwrap_or(f64::INFINITY)
    }

    /// Whether such a search is predicted to take as long as a look at the identity table from its start to its end, or among kept keys half as long, which
    /// is better spent on a radius that narrows.
    pub(crate) fn takes_a_scan(&self, k: u32) -> bool {
        match self.runs.found() {
            Some(Found::Keys(keys)) => self.kept_plan(k, keys).is_none_or(KeptPlan::is_long),
            _ => self.touched(k).is_none_or(|touched| touched.scans),
        }
    }

    /// What such a search takes on top if nothing is in memory.
    pub(crate) fn disk_ns(&self, k: u32, costs: &Costs) -> f64 {
        if let Some(Found::Keys(_)) = self.runs.found() {
            return 0.0;
        }
        let on_top = |touched: &Touched| touched.cold_ns(costs) - touched.warm_ns(&costs.search);
        let touched = self.touched(k).copied();
        let touched = touched.map(|touched| touched.filtered(self.filtered_blocks(k)));
        touched.as_ref().map_or(0.0, on_top)
    }

    /// The blocks that filters leave to a search, on average, with a match; infinite where it does not go by them.
    fn filtered_blocks(&self, k: u32) -> f64 {
        let (Some(filters), Some(thresholds)) = (self.filters(), self.thresholds(k)) else {
            return f64::INFINITY;
        };
        let mut blocks = 1.0;
        for ((filter, table), threshold) in filters.iter().zip(&self.tables).zip(thresholds) {
            let Some(threshold) = *threshold else { continue };
            let budget = table.budget(k, threshold);
            let leads = filter.expected(self.count, budget);
            let is_told =
                filter.is_quick(budget, table.block_count()) && leads <= table.most_leads() as f64;
            blocks += if is_told { leads } else { f64::INFINITY };
        }
        blocks
    }

    /// What a search within `k` touches.
    fn touched(&self, k: u32) -> Option<&Touched> {
        let predict = || {
            let table = self.identity();
            let (codec, geometry) = (table.header().codec, table.geometry());
            plan::search_touches(&self.design, self.count, codec, geometry, k, self.thresholds(k))
        };
        self.touched.get(k as usize).map(|touched| touched.get_or_init(predict))
    }
}
