//! The tables of a segment.

use std::sync::{Arc, OnceLock};

use super::filter_slot::FilterSlot;
use super::path::{AccessPath, ChosenPath, MayUse};
use crate::access::ReadFiles;
use crate::costs::{Costs, SearchCosts};
use crate::design::Design;
use crate::error::Result;
use crate::fingerprint::{Fingerprint, key_of};
use crate::format::SegmentEntry;
use crate::hot_index::{HotPlan, HotSlot};
use crate::planning::{self, Touched};
use crate::table::{Lead, Table};
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
    hot: HotSlot,
    filters: FilterSlot,
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
            hot: HotSlot::new(bits, entry.count),
            filters: FilterSlot::new(&tables),
            tables,
            tops: in_keys,
            count: entry.count,
            touched: (0..=u64::BITS).map(|_| OnceLock::new()).collect(),
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

    /// The numbers of all tables, as searches go through them: those that are short, then the
    /// others.
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

    /// Its hot index.
    #[inline]
    pub(crate) fn hot(&self) -> &HotSlot {
        &self.hot
    }

    /// Its prefix filters.
    pub(crate) fn filter_slot(&self) -> &FilterSlot {
        &self.filters
    }

    /// Bytes of heap.
    pub(super) fn heap_bytes(&self) -> u64 {
        self.hot.bytes()
            + self.filters.bytes()
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

    /// How a search within `k` goes through it, by what it may use of what is in memory.
    #[inline(always)]
    pub(crate) fn path(&self, k: u32, uses: MayUse) -> ChosenPath<'_> {
        if let Some(index) = self.hot.index().filter(|_| uses.hot_index) {
            return ChosenPath::HotIndex(index);
        }
        if self.thresholds(k).is_none() {
            return ChosenPath::Scan;
        }
        match self.filters.get().filter(|_| uses.filters) {
            Some(filters) => ChosenPath::Filters(filters),
            None => ChosenPath::Tables,
        }
    }

    /// The predicted time of a search within `k`, which is up to 64, with a match and all that it
    /// touches in memory, in nanoseconds of one thread.
    pub(crate) fn search_ns(&self, k: u32, costs: &SearchCosts) -> f64 {
        let uses = MayUse { hot_index: true, filters: false };
        self.path_ns(self.path(k, uses).into(), k, costs)
    }

    /// The same by this path.
    pub(crate) fn path_ns(&self, path: AccessPath, k: u32, costs: &SearchCosts) -> f64 {
        let ns = match path {
            AccessPath::HotIndex => {
                self.hot.index().and_then(|index| index.plan(k)).map(|plan| plan.search_ns(costs))
            }
            _ => self.touched(k).map(|touched| touched.warm_ns(costs)),
        };
        ns.unwrap_or(f64::INFINITY)
    }

    /// Whether such a search is predicted to take as long as a look at the identity table from its
    /// start to its end, or in the hot index half as long, which is better spent on a radius that
    /// narrows.
    pub(crate) fn takes_a_scan(&self, k: u32) -> bool {
        match self.hot.index() {
            Some(index) => index.plan(k).is_none_or(HotPlan::is_long),
            None => self.touched(k).is_none_or(|touched| touched.scans),
        }
    }

    /// What such a search takes on top if nothing is in memory but what searches have built.
    pub(crate) fn disk_ns(&self, k: u32, costs: &Costs) -> f64 {
        if self.hot.index().is_some() {
            return 0.0;
        }
        let on_top = |touched: &Touched| touched.cold_ns(costs) - touched.warm_ns(&costs.search);
        let touched = self.touched(k).copied();
        let touched = touched.map(|touched| touched.filtered(self.filtered_blocks(k)));
        touched.as_ref().map_or(0.0, on_top)
    }

    /// The blocks that filters leave to a search, on average, with a match; infinite where it does
    /// not go by them.
    fn filtered_blocks(&self, k: u32) -> f64 {
        let (Some(filters), Some(thresholds)) = (self.filters.get(), self.thresholds(k)) else {
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
            planning::search_touches(
                &self.design,
                self.count,
                codec,
                geometry,
                k,
                self.thresholds(k),
            )
        };
        self.touched.get(k as usize).map(|touched| touched.get_or_init(predict))
    }
}
