//! What a pack is to write, and what it says of itself.

use std::marker::PhantomData;
use std::time::SystemTime;

use crate::design::Design;
use crate::error::Result;
use crate::execution::{Execution, budget};
use crate::fingerprint::Fingerprint;
use crate::id::IdKind;
use crate::planning::{IndexLayout, Layout, Planner};
use crate::recipe;
use crate::segment::PackTimes;
use crate::table::TableStats;

/// Writes a set of fingerprints as a compressed store.
///
/// Memory: twice that of the fingerprints, so 16 bytes for each of 64 bits (24 with
/// [parts](Layout::parts)), 8 bytes per block of a table, and some MiB; or what
/// [`Execution::memory`] allows, with up to as much in temporary files. The files are the same,
/// byte for byte, whatever the order of the input, its duplicates, the memory and the number of
/// threads.
///
/// # Examples
///
/// ```
/// use fpstore::{Layout, Packer};
///
/// let directory = tempfile::tempdir()?;
/// let squares = (0..10_000u64).map(|i| i * i * i);
/// let packer = Packer::new().layout(Layout::new().k(6));
/// let summary = packer.pack(directory.path().join("store"), squares)?;
/// assert_eq!(summary.distinct, 10_000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Packer<F = u64> {
    pub(super) layout: Layout,
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
            layout: Layout::new(),
            replace: false,
            append: false,
            append_at: None,
            recipe: None,
            ids: None,
            execution: Execution::new(),
            width: PhantomData,
        }
    }

    /// The same options, for fingerprints of another width: `Packer::new().width::<[u64; 4]>()`.
    /// Only fingerprints of 32 and 64 bits can have tables; others have a base and
    /// [parts](Layout::parts).
    pub fn width<F: Fingerprint>(self) -> Packer<F> {
        let Self { layout, replace, append, append_at, recipe, ids, execution, .. } = self;
        let width = PhantomData;
        Packer { layout, replace, append, append_at, recipe, ids, execution, width }
    }
}

impl<F: Fingerprint> Packer<F> {
    /// How the store is laid out.
    pub fn layout(mut self, layout: Layout) -> Self {
        self.layout = layout;
        self
    }

    /// The same with another layout, made of that which is there.
    #[cfg(any(test, feature = "internals"))]
    #[doc(hidden)]
    pub fn with_layout(mut self, change: impl FnOnce(Layout) -> Layout) -> Self {
        self.layout = change(self.layout);
        self
    }

    /// What ids are, also where the input turns out to be empty. Without this the first one
    /// decides.
    pub fn ids(mut self, kind: IdKind) -> Self {
        self.ids = Some(kind);
        self
    }

    /// How it runs. Held to an amount of memory, it sorts in temporary files of 8 bytes per
    /// fingerprint, at most 16 for a time; of pairs with ids, at most 33. The files of the store
    /// stay the same.
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

    /// Whether what is packed becomes one more segment of the store that stands at the output, all
    /// of which stays: its other segments, deletions, windows of time, radius. It must have ids
    /// where that has, and none where that has none. What stands in the log of that store has to be
    /// [flushed](crate::Writer::flush) before.
    pub fn append(mut self, append: bool) -> Self {
        self.append = append;
        self
    }

    /// The time of what is [appended](Self::append) to a store with windows of time: now, if it is
    /// left open.
    pub fn append_at(mut self, time: Option<SystemTime>) -> Self {
        self.append_at = time;
        self
    }

    /// How the fingerprints were made: a line of text of 1 to 4096 bytes, without control
    /// characters, that whoever makes fingerprints can tell them by. The store keeps it
    /// ([`Store::recipe`](crate::Store::recipe)). What is [appended](Self::append) to a store that
    /// has another recipe is refused; where only one of the two has a recipe, the store stays as it
    /// is.
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

    /// As [`Layout::for_set`], of so many fingerprints.
    pub(super) fn choose_layout(
        &self,
        count: u64,
        sample: impl FnOnce(Planner) -> Result<Planner>,
    ) -> Result<(IndexLayout, Planner)> {
        let planner = self.layout.planner(F::BITS, count).costs(*self.execution.cost());
        self.layout.for_set(planner, sample)
    }
}

/// What a pack has written.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PackSummary {
    /// Fingerprints read, duplicates included.
    pub read: u64,
    /// Distinct fingerprints.
    pub distinct: u64,
    /// Distinct pairs of a fingerprint and an id; `None` without ids.
    pub ids: Option<u64>,
    /// Bytes of the file of the ids; 0 without.
    pub id_bytes: u64,
    /// Bytes of the file of the names; 0 where ids are numbers.
    pub name_bytes: u64,
    /// Bytes of all files.
    pub bytes: u64,
    /// The tables; none where there is a base.
    pub tables: Vec<TableStats>,
    pub(super) layout: IndexLayout,
    /// Predicts what other designs would take for this set. It knows the options of the packer and,
    /// where something was left to choose, a sample of the set; it looks at those designs and sizes
    /// that the packer had to choose from.
    pub planner: Planner,
    /// Bytes of temporary files, at most at any time; 0 where everything was in memory.
    pub temporary_bytes: u64,
    /// What took how long.
    pub times: PackTimes,
}

impl PackSummary {
    /// The design of the tables, given or chosen; `None` where there is a base.
    pub fn design(&self) -> Option<&Design> {
        match &self.layout {
            IndexLayout::Tables(layout) => Some(&layout.design),
            IndexLayout::Parts(_) => None,
        }
    }

    /// Bytes per block, given or chosen; `None` where there is a base.
    pub fn block_bytes(&self) -> Option<u32> {
        match &self.layout {
            IndexLayout::Tables(layout) => Some(layout.block_bytes),
            IndexLayout::Parts(_) => None,
        }
    }

    /// The number of part tables, given or chosen; `None` where there are tables.
    pub fn parts(&self) -> Option<u16> {
        match self.layout {
            IndexLayout::Tables(_) => None,
            IndexLayout::Parts(parts) => Some(parts.count),
        }
    }
}
