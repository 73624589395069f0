//! The planner: the options that it takes, and the order of the plans.

use std::fmt::Display;
use std::sync::Arc;

use super::predict::{Coded, Plan, Prediction};
use super::prefer::Prefer;
use super::sample::Sample;
use super::{short, uneven};
use crate::codec::profile::Profile;
use crate::costs::Costs;
use crate::design::Design;
use crate::error::{Error, Result};
use crate::format::{self, Codec, MAX_BLOCKS};
use crate::hot_index;

/// Sizes of blocks that are tried where none is given.
const BLOCK_SIZES: [u32; 5] = [256, 512, 1024, 2048, 4096];

/// Tables that a pack chooses at most. More copies than four take more than three times the space
/// of the fingerprints themselves, for little time, and long to predict.
pub(super) const MOST_TABLES: usize = 4;

/// Memory that hot indexes get on every usual machine: a sixty-fourth of 4 GiB. What is chosen does
/// not depend on the machine.
const USUAL_MEMORY: u64 = 64 << 20;

/// The share of searches that come before the hot index is there.
const BEFORE_HOT: f64 = 1.0 / 1024.0;

/// Predicts size and latency of every design for a number of fingerprints.
///
/// The same input gives the same plans on every machine.
///
/// # Examples
///
/// ```
/// use fpstore::plan::Planner;
/// use fpstore::Prefer;
///
/// let planner = Planner::new(8_000_000_000).radius(3).budget(Some(10.0));
/// let plan = planner.prefer(Prefer::Speed).best()?.expect("a plan within the budget");
/// assert!(plan.bytes_per_fingerprint <= 10.0);
/// println!("{} in blocks of {}: {} us", plan.design, plan.block_bytes, plan.warm_ns / 1e3);
/// # Ok::<(), fpstore::Error>(())
/// ```
#[derive(Clone)]
pub struct Planner {
    bits: u32,
    count: u64,
    radius: u32,
    budget: Option<f64>,
    prefer: Prefer,
    block_sizes: Vec<u32>,
    /// `None` for the named ones.
    designs: Option<Vec<Design>>,
    /// Whether a small design with a short table is looked at as well.
    looks_at_small: bool,
    uneven: bool,
    codec: Option<Codec>,
    low_bits: Option<u32>,
    short_tables: bool,
    costs: Costs,
    sample: Option<Arc<Sample>>,
    runs: Option<Profile>,
    matches: f64,
}

impl std::fmt::Debug for Planner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Planner")
            .field("count", &self.count)
            .field("radius", &self.radius)
            .field("budget", &self.budget)
            .field("prefer", &self.prefer)
            .field("block_sizes", &self.block_sizes)
            .finish_non_exhaustive()
    }
}

impl Planner {
    /// A planner for `count` distinct fingerprints of 64 bits: radius 3, no budget, balanced, all
    /// named designs, blocks of 256 to 4096 bytes, the shipped constants.
    pub fn new(count: u64) -> Self {
        Self::for_bits(u64::BITS, count)
    }

    /// As [`Self::new`], for fingerprints of so many bits, 32 or 64.
    pub fn for_bits(bits: u32, count: u64) -> Self {
        Self {
            bits,
            count,
            radius: 3,
            budget: None,
            prefer: Prefer::default(),
            block_sizes: BLOCK_SIZES.to_vec(),
            designs: None,
            looks_at_small: true,
            uneven: false,
            codec: None,
            low_bits: None,
            short_tables: false,
            costs: Costs::default(),
            sample: None,
            runs: None,
            matches: 0.0,
        }
    }

    /// Bits of the fingerprints.
    pub(super) fn bits(&self) -> u32 {
        self.bits
    }

    /// The number of fingerprints.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// The Hamming radius of the queries, in bits.
    pub fn radius(mut self, radius: u32) -> Self {
        self.radius = radius;
        self
    }

    /// The most bytes of all files per fingerprint. Plans over it come last.
    pub fn budget(mut self, bytes_per_fingerprint: Option<f64>) -> Self {
        self.budget = bytes_per_fingerprint;
        self
    }

    /// What to choose for.
    pub fn prefer(mut self, prefer: Prefer) -> Self {
        self.prefer = prefer;
        self
    }

    /// The only size of blocks to look at; `None` stands for 256 to 4096 bytes.
    pub fn block_bytes(self, block_bytes: Option<u32>) -> Self {
        match block_bytes {
            Some(block_bytes) => self.block_sizes([block_bytes]),
            None => self.block_sizes(BLOCK_SIZES),
        }
    }

    /// The sizes of blocks to look at.
    pub fn block_sizes(mut self, block_sizes: impl IntoIterator<Item = u32>) -> Self {
        self.block_sizes = block_sizes.into_iter().collect();
        self
    }

    /// The designs to look at.
    pub fn designs(mut self, designs: impl IntoIterator<Item = Design>) -> Self {
        self.designs = Some(designs.into_iter().collect());
        self.looks_at_small = false;
        self
    }

    /// Whether to look at the [small design](short::small) as well.
    pub(crate) fn looking_at_small(mut self, looks: bool) -> Self {
        self.looks_at_small = looks;
        self
    }

    /// The designs that are given, or else named ones.
    fn designs_given(&self) -> Vec<Design> {
        self.designs.clone().unwrap_or_else(|| {
            let named = Design::NAMES.iter();
            let named = named.filter_map(|name| Design::named_for(self.bits, name)).collect();
            if self.short_tables { short::designs(self.bits, named) } else { named }
        })
    }

    /// Whether to look for designs of 2 to 8 parts of other widths as well. Those that beat the
    /// named designs of as many tables join the plans. Takes about a second.
    pub fn uneven(mut self, uneven: bool) -> Self {
        self.uneven = uneven;
        self
    }

    /// The codec; `None` takes the smaller one.
    pub fn codec(mut self, codec: Option<Codec>) -> Self {
        self.codec = codec;
        self
    }

    /// The width of the low column; `None` chooses it as a pack does.
    pub fn low_bits(mut self, low_bits: Option<u32>) -> Self {
        self.low_bits = low_bits;
        self
    }

    /// Whether the tables behind the first are short, as
    /// [`Layout::short_tables`](crate::Layout::short_tables) makes them. Their size is predicted as
    /// it will be, searches as those of whole tables, which take about as long. Unless designs are
    /// [given](Self::designs), these are the named ones with several tables, and `32,24`.
    pub fn short_tables(mut self, short: bool) -> Self {
        self.short_tables = short;
        self
    }

    /// The constants of the machine that will search.
    #[doc(hidden)]
    pub fn costs(mut self, costs: Costs) -> Self {
        self.costs = costs;
        self
    }

    /// How many matches a query has on average, which is 0 where nothing is given. The block of
    /// each is decoded, up to the match.
    pub fn matches(mut self, matches: f64) -> Self {
        self.matches = matches;
        self
    }

    /// Some fingerprints of the set, or all of them, in any order. They replace the assumption that
    /// fingerprints are uniform. They should be drawn at random, or be all: what a part that was
    /// taken from one end tells is not true of the rest. Those of 32 bits are the upper half of
    /// each number.
    ///
    /// Takes one pass over those that ascend strictly, and a sort of all others. Keeps at most
    /// 16384 of them. Fewer than 32 tell nothing, and are ignored.
    pub fn sample(mut self, fingerprints: &[u64]) -> Self {
        self.sample = Some(Sample::new(self.bits, fingerprints))
            .filter(|sample| !sample.is_small())
            .map(Arc::new);
        self
    }

    /// Some runs of the set: each ascends strictly, and leaves out nothing between its first and
    /// its last fingerprint. Codec, column and size are then predicted from these. A sample of
    /// single fingerprints cannot tell of clusters, whose members it tears apart.
    ///
    /// Fewer than 32 steps in all tell nothing, and are ignored.
    pub fn runs<'a>(mut self, runs: impl IntoIterator<Item = &'a [u64]>) -> Self {
        let profiles = runs.into_iter().map(|run| Profile::new(self.bits, run));
        let profile = profiles.fold(Profile::empty(self.bits), Profile::merge);
        self.runs = Some(profile).filter(|profile| profile.steps() >= 32);
        self
    }

    /// As [`Self::sample`] with all of a set of `count` fingerprints, of which only `profile` and
    /// the [evenly drawn](Self::sample_ranks) fingerprints are known.
    pub(crate) fn sample_of(mut self, count: u64, profile: Profile, kept: Vec<u64>) -> Self {
        let sample = Sample { bits: self.bits, count, profile, kept };
        self.sample = Some(sample).filter(|sample| !sample.is_small()).map(Arc::new);
        self
    }

    /// The ranks of the fingerprints that stand for a sorted set.
    pub(crate) fn sample_ranks(count: u64) -> impl Iterator<Item = u64> {
        let stride = Sample::stride(count);
        (0..count.div_ceil(stride)).map(move |i| i * stride)
    }

    /// All plans, the recommended one first, those over the budget last. Takes some milliseconds
    /// for small radii.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOption`] for a radius over the width, a design of another width, a budget
    /// that is no positive number, a number of matches below 0, and sizes of blocks or columns that
    /// the format does not know.
    pub fn plans(&self) -> Result<Vec<Plan>> {
        self.check()?;
        let predictions = self.predictions()?;
        let given = self.designs_given();
        let mut designs = given.clone();
        if self.uneven {
            for prediction in &predictions {
                let found = uneven::designs(self.bits, self.radius, prediction.model());
                designs.extend(
                    found.into_iter().filter(|found| !designs.contains(found)).collect::<Vec<_>>(),
                );
            }
        }
        let mut plans = Vec::new();
        for design in &designs {
            let sampled = self.sample.as_ref().map(|sample| sample.tables(design));
            for prediction in &predictions {
                let mut plan = prediction.plan(design, sampled.as_ref(), &self.costs);
                if self.short_tables {
                    prediction.shorten(&mut plan, (self.codec, self.low_bits))?;
                }
                plan.within_budget =
                    self.budget.is_none_or(|budget| plan.bytes_per_fingerprint <= budget);
                plans.push(plan);
            }
        }
        if self.uneven {
            self.drop_beaten(&given, &mut plans);
        }
        if let Some(small) = self.small() {
            plans.extend(small.plans()?);
        }
        let order =
            |plan: &Plan| (!plan.within_budget, !self.is_packed(plan), self.is_too_large(plan));
        let keyed = plans.into_iter().map(|plan| (order(&plan), self.rank(&plan), plan));
        let mut keyed: Vec<_> = keyed.collect();
        keyed.sort_by(|(a, x, _), (b, y, _)| a.cmp(b).then(x.total_cmp(y)));
        Ok(keyed.into_iter().map(|(_, _, plan)| plan).collect())
    }

    /// The time of a search that plans are compared by, in nanoseconds. Where a hot index takes up
    /// to 64 MiB it is the time of the index, and a 1024th of what the tables take beyond that: the
    /// first searches go by the tables. Else it is the time of the tables.
    pub fn search_ns(&self, plan: &Plan) -> f64 {
        match self.hot_ns_within(USUAL_MEMORY) {
            Some(hot_ns) if hot_ns < plan.warm_ns => hot_ns + BEFORE_HOT * (plan.warm_ns - hot_ns),
            _ => plan.warm_ns,
        }
    }

    /// The planner of the small design, if it is looked at.
    fn small(&self) -> Option<Self> {
        let is_open = self.looks_at_small && !self.short_tables && self.low_bits.is_none();
        let looks = is_open && self.prefer != Prefer::Size;
        let design = looks.then(|| short::small(self.bits))??;
        Some(self.clone().designs([design]).uneven(false).short_tables(true))
    }

    /// What is predicted for each size of blocks that is possible.
    fn predictions(&self) -> Result<Vec<Prediction>> {
        let given = (self.codec, self.low_bits);
        let coded = match &self.runs {
            Some(runs) => Coded::of_runs(runs, given)?,
            None => {
                let set = (self.bits, self.count);
                Coded::new(set, given, self.sample.as_deref())?
            }
        };
        let sizes = self.block_sizes.iter();
        let sizes = sizes.map(|bytes| (*bytes, coded.table(self.count, *bytes)));
        let possible = sizes.filter(|(_, size)| size.blocks <= MAX_BLOCKS);
        let predictions = possible.map(|(block_bytes, size)| {
            Prediction::new(self.count, self.radius, coded, block_bytes, size)
                .with_matches(self.matches)
        });
        Ok(predictions.collect())
    }

    /// The predicted time of a search in a hot index, in nanoseconds, as searches build one
    /// whatever the design; `None` where it would take more [memory](crate::OpenOptions::memory)
    /// than a store gets by default.
    pub fn hot_ns(&self) -> Option<f64> {
        self.hot_ns_within(hot_index::default_memory())
    }

    fn hot_ns_within(&self, memory: u64) -> Option<f64> {
        let fits = hot_index::index_bytes(self.bits, self.count)? <= memory;
        let radius = self.radius.min(self.bits);
        fits.then(|| hot_index::uniform_ns(self.bits, self.count, radius, &self.costs.search))?
    }

    /// The recommended plan; `None` if every one is over the budget.
    ///
    /// # Errors
    ///
    /// As [`Self::plans`].
    pub fn best(&self) -> Result<Option<Plan>> {
        Ok(self.plans()?.into_iter().next().filter(|plan| plan.within_budget))
    }

    /// Whether a pack may choose this by itself; true of all plans where something was given to
    /// choose from.
    fn is_packed(&self, plan: &Plan) -> bool {
        let is_open = self.designs.is_none() && self.budget.is_none() && !self.short_tables;
        let is_named = || {
            let named = Design::NAMES.iter().filter_map(|name| Design::named_for(self.bits, name));
            named.into_iter().any(|design| design == plan.design)
        };
        !is_open || plan.short_tables || plan.design.table_count() <= MOST_TABLES && is_named()
    }

    /// Whether a plan takes more than what is preferred allows where nobody gave a budget.
    fn is_too_large(&self, plan: &Plan) -> bool {
        let most_bytes = self.prefer.most_bytes(f64::from(self.bits) / 8.0);
        self.budget.is_none() && plan.bytes_per_fingerprint > most_bytes
    }

    fn rank(&self, plan: &Plan) -> f64 {
        let prefer = if self.is_too_large(plan) { Prefer::Size } else { self.prefer };
        prefer.score(plan.store_bytes as f64, self.search_ns(plan))
    }

    fn score(&self, plan: &Plan) -> f64 {
        self.prefer.score(plan.store_bytes as f64, self.search_ns(plan))
    }

    /// Drops the uneven designs that a named one of no more tables beats, or nearly reaches.
    fn drop_beaten(&self, given: &[Design], plans: &mut Vec<Plan>) {
        let named: Vec<(usize, f64)> = plans
            .iter()
            .filter(|plan| given.contains(&plan.design))
            .map(|plan| (plan.design.table_count(), self.score(plan)))
            .collect();
        let mut best: Vec<(Design, f64)> = Vec::new();
        for plan in plans.iter().filter(|plan| !given.contains(&plan.design)) {
            let score = self.score(plan);
            match best.iter_mut().find(|(design, _)| *design == plan.design) {
                Some((_, least)) => *least = least.min(score),
                None => best.push((plan.design.clone(), score)),
            }
        }
        let wins = |design: &Design, score: f64| {
            let tables = design.table_count();
            let rivals = best.iter().filter(|(rival, _)| rival.table_count() == tables);
            named.iter().all(|&(others, rival)| others > tables || score < 0.97 * rival)
                && rivals.clone().all(|(rival, least)| rival == design || score <= *least)
        };
        plans.retain(|plan| {
            given.contains(&plan.design)
                || best.iter().any(|(design, score)| *design == plan.design && wins(design, *score))
        });
    }

    fn check(&self) -> Result<()> {
        let invalid = |option, value: &dyn Display, expected: &str| {
            Err(Error::invalid_option(option, value, expected))
        };
        if !matches!(self.bits, 32 | 64) {
            return invalid("width", &self.bits, "tables have fingerprints of 32 or 64 bits");
        }
        if self.radius > self.bits {
            return invalid("radius", &self.radius, &format!("it is 0 to {} bits", self.bits));
        }
        let mut given = self.designs.iter().flatten();
        if let Some(design) = given.find(|design| design.bits() != self.bits) {
            let expected = format!("it is one for fingerprints of {} bits", self.bits);
            return invalid("design", &format!("{design}, for {} bits", design.bits()), &expected);
        }
        if !(self.matches.is_finite() && self.matches >= 0.0) {
            return invalid("matches", &self.matches, "they are a number of 0 or more");
        }
        if let Some(budget) = self.budget.filter(|budget| !(budget.is_finite() && *budget > 0.0)) {
            return invalid("budget", &budget, "it is a number of bytes over 0");
        }
        match self.block_sizes.iter().find(|size| !format::is_block_bytes(**size)) {
            Some(size) => invalid("block bytes", size, "they are a power of two from 256 to 8192"),
            None => Ok(()),
        }
    }
}
