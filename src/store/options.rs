//! What a pack is to write.

use std::marker::PhantomData;
use std::time::SystemTime;

use crate::design::Design;
use crate::error::Result;
use crate::execution::{Execution, budget};
use crate::fingerprint::Fingerprint;
use crate::format::Codec;
use crate::id::IdKind;
use crate::plan::{IndexLayout, LayoutOptions, Objective, Planner};
use crate::recipe;

/// Writes a set of fingerprints as a compressed store.
///
/// Memory: twice that of the fingerprints, so 16 bytes for each of 64 bits (24 with [parts](Packer::parts)), 8 bytes per block
/// of a table, and some MiB; or what
/// [`Execution::memory`] allows, with up to as much in temporary files. The files
/// are the same, byte for byte, whatever the order of the input, its duplicates, the memory and the
/// number of threads.
///
/// # Examples
///
/// ```
/// use fpstore::{Codec, Design, Packer};
///
/// let directory = tempfile::tempdir()?;
/// let summary = Packer::new()
///     .design(Design::named("quarters").unwrap())
///     .block_bytes(512)
///     .codec(Some(Codec::Gap))
///     .pack(directory.path().join("store"), (0..10_000u64).map(|i| i * i * i))?;
/// assert_eq!((summary.distinct, summary.tables.len()), (10_000, 4));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Packer<F = u64> {
    pub(super) layout: LayoutOptions,
    pub(super) objective: Objective,
    pub(super) replace: bool,
    pub(super) append: bool,
    pub(super) append_at: Option<SystemTime>,
    pub(super) recipe: Option<String>,
    pub(super) ids: Option<IdKind>,
    pub(super) execution: Execution,
    pub(super) width: PhantomData<fn() -> F>,
}

impl Default for Packer {
    fn default() -> Self {
        Self::new()
    }
}

impl Packer {
    /// A packer with the design and the size of blocks that a [`Planner`] recommends for the set,
    /// codec and column chosen by size, for a radius of 3, with all cores, that refuses to replace
    /// a store.
    pub fn new() -> Self {
        Self {
            layout: LayoutOptions::new(3),
            objective: Objective::default(),
            replace: false,
            append: false,
            append_at: None,
            recipe: None,
            ids: None,
            execution: Execution::new(),
            width: PhantomData,
        }
    }

    /// The same options, for fingerprints of another width: `Packer::new().width::<[u64; 4]>()`. Only fingerprints of 32 and 64
    /// bits can have [tables](Self::design); others have a base and [parts](Self::parts).
    pub fn width<F: Fingerprint>(self) -> Packer<F> {
        let Self { layout, objective, replace, append, append_at, recipe, ids, execution, .. } =
            self;
        let width = PhantomData;
        Packer { layout, objective, replace, append, append_at, recipe, ids, execution, width }
    }
}

impl<F: Fingerprint> Packer<F> {
    /// The tables to write. Where none are given a [`Planner`] chooses one to four for the set and
    /// the radius, with the shipped constants: the same on every machine.
    pub fn design(mut self, design: Design) -> Self {
        self.layout.design = Some(design);
        self
    }

    /// In place of tables one *base*, which holds every fingerprint once, and so many tables of parts of their bits, with
    /// the number of a row for each: the index of Norouzi, Punjani and Fleet, *Fast search in Hamming space with multi-index
    /// hashing* (CVPR 2012). 0 writes the base alone, which searches scan. Up to one part for 6 bits. For fingerprints of
    /// more than 64 bits that is the only way, and the number is chosen for the radius where it is left open.
    pub fn parts(mut self, parts: u16) -> Self {
        self.layout.parts = Some(parts);
        self
    }

    /// What ids are, also where the input turns out to be empty. Without this the first one
    /// decides.
    pub fn ids(mut self, kind: IdKind) -> Self {
        self.ids = Some(kind);
        self
    }

    /// The Hamming radius, in bits, that queries will mostly ask for; 0 to the width. It is remembered,
    /// the planner chooses for it, and it limits nothing.
    pub fn radius(mut self, radius: u32) -> Self {
        self.layout.radius = radius;
        self
    }

    /// Bytes per block: a power of two from 256 to 8192. Smaller blocks answer faster and take
    /// more space. Where none are given a [`Planner`] chooses from 256 to 4096.
    pub fn block_bytes(mut self, block_bytes: u32) -> Self {
        self.layout.block_bytes = Some(block_bytes);
        self
    }

    /// The codec; `None` takes the smaller one for each table.
    pub fn codec(mut self, codec: Option<Codec>) -> Self {
        self.layout.codec = codec;
        self
    }

    /// Width of the low column in bits: 0, 8, 16, 24, 32, 40 or 48, less than that of a fingerprint. `None` takes, for each table, the
    /// largest whose payload is at most 1% larger than that of 0; or the widest of all at up to an eighth, if the tops of the design have 16 bits
    /// each and none in common (of 32 bits, 8), as those of `quarters`: there a search need not decode what the column shows.
    /// `Some(32)` makes such stores smaller, by 7% with 2^20 uniform fingerprints, and searches slower.
    pub fn low_bits(mut self, low_bits: Option<u32>) -> Self {
        self.layout.low_bits = low_bits;
        self
    }

    /// Whether the tables behind the first are *short*: they keep the first 32 to 56 bits of their keys, as many as it takes to find out where
    /// matches stand in the first table, which holds whole fingerprints. `quarters` of 2^26 uniform fingerprints take 14.8 bytes each in place of
    /// 20.5, the parts `32,24` 8.4 where `halves` take 10.3; `2of3+1of2` of 2^24 take 19.1 in place of 27.1.
    ///
    /// A search within the radius at which nothing in the tops of the design may differ takes 0.9 to 1.3 of the time (1.0 to 1.5 at its 99th percentile), within larger
    /// ones up to three times as long. Large batches go through the first table alone, which takes two to three times as long as to probe all where these are whole; joins
    /// do so anyway. A merge sorts each short table anew. Sets that are far from uniform, such as consecutive numbers, may gain nothing. If the first
    /// table is damaged, no other can mend it. Fingerprints of 32 bits keep whole tables, which are no larger.
    ///
    /// Where design and column are left open, packs of some millions and more that prefer balance choose the parts `32,16` with a short table by themselves.
    pub fn short_tables(mut self, short: bool) -> Self {
        self.layout.short_tables = short;
        self
    }

    /// What to choose for, where design or size of blocks are not given. By default the store takes no
    /// more than the fingerprints themselves, 4 or 8 bytes each, and is as fast as that allows.
    pub fn objective(mut self, objective: Objective) -> Self {
        self.objective = objective;
        self
    }

    /// How it runs. Held to an amount of memory, it sorts in temporary files of 8 bytes per fingerprint, at
    /// most 16 for a time; of pairs with ids, at most 33. The files of the store stay the same.
    pub fn execution(mut self, execution: Execution) -> Self {
        self.execution = execution;
        self
    }

    /// Whether a store that exists at the output is replaced. (A directory that holds table files
    /// or temporaries of fpstore, and no manifest, is what a stopped pack left: its files are
    /// removed in any case.) Until the new one is durable the old one stays; something that is not
    /// a store is never replaced.
    pub fn replace(mut self, replace: bool) -> Self {
        self.replace = replace;
        self
    }

    /// Whether what is packed becomes one more segment of the store that stands at the output, all of which stays: its
    /// other segments, deletions, windows of time, radius. It must have ids where that has, and none where that has none.
    /// What stands in the log of that store has to be [flushed](crate::Writer::flush) before.
    pub fn append(mut self, append: bool) -> Self {
        self.append = append;
        self
    }

    /// The time of what is [appended](Self::append) to a store with windows of time: now, if it is left open.
    pub fn append_at(mut self, time: Option<SystemTime>) -> Self {
        self.append_at = time;
        self
    }

    /// How the fingerprints were made: a line of text of 1 to 4096 bytes, without control characters, that whoever
    /// makes fingerprints can tell them by. The store keeps it ([`Store::recipe`](crate::Store::recipe)). What is
    /// [appended](Self::append) to a store that has another recipe is refused; where only one of the two has a recipe, the store
    /// stays as it is.
    pub fn recipe(mut self, line: &str) -> Self {
        self.recipe = Some(line.to_string());
        self
    }

    pub(super) fn check_options(&self) -> Result<()> {
        self.layout.check(F::BITS)?;
        recipe::check(self.recipe.as_deref())?;
        budget::check(self.execution.memory_limit(), "a pack needs")?;
        self.execution.check_threads()
    }

    /// The layout: as given, and what is not given as planned for a set of which `sample` tells the planner, who is
    /// given as well.
    pub(super) fn choose_layout(
        &self,
        count: u64,
        sample: impl FnOnce(Planner) -> Result<Planner>,
    ) -> Result<(IndexLayout, Planner)> {
        let planner =
            self.layout.planner(F::BITS, count, self.objective).costs(*self.execution.cost());
        if let Some(parts) = self.layout.parts(F::BITS, count) {
            return Ok((IndexLayout::Parts(parts), planner));
        }
        let planner = if self.layout.is_open() { sample(planner)? } else { planner };
        let layout = self.layout.choose(&planner)?;
        let planner = planner.short_tables(layout.short_tables).low_bits(layout.low_bits);
        Ok((IndexLayout::Tables(layout), planner))
    }
}
