//! How stores are created and written.

use std::marker::PhantomData;
use std::time::Duration;

use super::create::random_id;
use super::settings::Settings;
use crate::error::{Error, Result};
use crate::execution::Execution;
use crate::fingerprint::Fingerprint;
use crate::format::{Manifest, RecordShape, WindowsSection};
use crate::id::IdKind;
use crate::planning::Layout;
use crate::recipe;

/// What is kept of what was written, once a call has returned.
///
/// After a crash, of the program or of the machine, a store holds what was written up to some call,
/// and nothing of what came later: never a part of a call, and no gap. These say which call that is
/// at the earliest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Durability {
    /// It is on disk when [`commit`](crate::Writer::commit) returns.
    Immediate,
    /// It is on disk within the [interval](WriterOptions::sync_interval), 50 ms by default,
    /// together with all else that was written meanwhile. When [`commit`](crate::Writer::commit)
    /// returns, it survives the end of the program, but not yet a power failure.
    #[default]
    Group,
    /// It is on disk with a later commit that asks for more, or once the store has made a segment
    /// of it. When [`commit`](crate::Writer::commit) returns, it survives the end of the program.
    Eventual,
}

/// How an empty store is created.
///
/// # Examples
///
/// ```
/// let directory = tempfile::tempdir()?;
/// let writer = fpstore::StoreOptions::new().create(directory.path().join("store"))?;
/// writer.insert(0b1011, 7)?;
/// assert_eq!(writer.snapshot().search(0b1010, 1)?.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct StoreOptions<F = u64> {
    pub(super) layout: Layout,
    pub(super) ids: Option<IdKind>,
    pub(super) window: Option<Duration>,
    pub(super) recipe: Option<String>,
    pub(super) writer: WriterOptions,
    pub(super) width: PhantomData<fn() -> F>,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl StoreOptions {
    /// For a radius of 3, with ids, and without windows of time. Segments have the tables that a
    /// [`Packer`](crate::Packer) would choose for ten million uniform fingerprints, or for more
    /// where a segment has more; very small ones have one table. Those of a [full
    /// merge](crate::Writer::merge_all) have the tables that it would choose for them.
    pub fn new() -> Self {
        Self {
            layout: Layout::new(),
            ids: Some(IdKind::Number),
            window: None,
            recipe: None,
            writer: WriterOptions::new(),
            width: PhantomData,
        }
    }

    /// The same options, for fingerprints of another width: `StoreOptions::new().width::<[u64;
    /// 4]>()`. Only those of 32 and 64 bits can have tables; others have bases and
    /// [parts](Layout::parts).
    pub fn width<F: Fingerprint>(self) -> StoreOptions<F> {
        let Self { layout, ids, window, recipe, writer, .. } = self;
        StoreOptions { layout, ids, window, recipe, writer, width: PhantomData }
    }
}

impl<F: Fingerprint> StoreOptions<F> {
    /// How segments are laid out. Those of few fingerprints have one table, or no part tables,
    /// whatever is said here.
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

    /// What ids are, which every fingerprint has then; `None` if none has some. Numbers of 64 bits,
    /// unless this is said.
    pub fn ids(mut self, kind: impl Into<Option<IdKind>>) -> Self {
        self.ids = kind.into();
        self
    }

    /// The length of windows of time, in whole seconds from 1 on. Then each record has the window
    /// in which it was inserted, can be [searched](crate::Snapshot::between) by it, and goes with
    /// it ([`Writer::expire`](crate::Writer::expire)).
    pub fn window(mut self, window: Option<Duration>) -> Self {
        self.window = window;
        self
    }

    /// How the fingerprints are made, as [`Packer::recipe`](crate::Packer::recipe). A writer does
    /// not look at it: who inserts compares it with [`Store::recipe`](crate::Store::recipe).
    pub fn recipe(mut self, line: &str) -> Self {
        self.recipe = Some(line.to_string());
        self
    }

    /// How the store is written once it is there.
    pub fn writer(mut self, writer: WriterOptions) -> Self {
        self.writer = writer;
        self
    }

    /// What is said of an empty store.
    pub(super) fn empty_store(&self) -> Result<(Settings, Manifest, RecordShape)> {
        let settings = Settings::new(F::BITS, &self.layout);
        let names = self.ids.filter(|kind| kind.is_named());
        let shape = RecordShape { ids: self.ids.is_some(), names, windows: self.window.is_some() };
        let seconds = self.window.map(|window| window.as_secs());
        let manifest = Manifest {
            names,
            windows: seconds.map(|seconds| WindowsSection { seconds, windows: Vec::new() }),
            recipe: self.recipe.clone(),
            ..Manifest::empty(F::BITS as u16, self.layout.radius as u16, random_id())
        };
        Ok((settings, manifest, shape))
    }

    pub(super) fn check(&self) -> Result<()> {
        self.layout.check(F::BITS)?;
        recipe::check(self.recipe.as_deref())?;
        if self.ids == Some(IdKind::Bytes(0)) {
            return Err(Error::InvalidOption {
                option: "ids",
                value: "keys of 0 bytes".to_string(),
                expected: "keys have 1 to 65535 bytes".to_string(),
            });
        }
        if let Some(window) = self.window.filter(|time| time.as_secs() == 0) {
            return Err(Error::InvalidOption {
                option: "window",
                value: format!("{window:?}"),
                expected: "it is a second or longer".to_string(),
            });
        }
        self.writer.check()
    }
}

/// Records in memory of fingerprints of up to 64 bits, and of more. These are asked for within
/// radii for which every record is compared: half a million of 256 bits take milliseconds.
const NARROW_TAIL_RECORDS: usize = 1 << 19;
const WIDE_TAIL_RECORDS: usize = 1 << 16;

/// How a store is written.
#[derive(Clone, Debug)]
pub struct WriterOptions<F = u64> {
    pub(super) durability: Durability,
    pub(super) sync_interval: Duration,
    pub(super) tail_records: Option<usize>,
    pub(super) background: bool,
    pub(super) execution: Option<Execution>,
    pub(super) width: PhantomData<fn() -> F>,
}

impl Default for WriterOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl WriterOptions {
    /// [`Durability::Group`] within 50 ms, up to half a million records in memory, and segments
    /// that are written and merged in the background by one thread.
    pub fn new() -> Self {
        Self {
            durability: Durability::default(),
            sync_interval: Duration::from_millis(50),
            tail_records: None,
            background: true,
            execution: None,
            width: PhantomData,
        }
    }
}

impl<F: Fingerprint> WriterOptions<F> {
    /// The same options, for a store of fingerprints of another width:
    /// `WriterOptions::new().width::<[u64; 4]>()`.
    pub fn width<G: Fingerprint>(self) -> WriterOptions<G> {
        let Self { durability, sync_interval, tail_records, background, execution, .. } = self;
        let width = PhantomData;
        WriterOptions { durability, sync_interval, tail_records, background, execution, width }
    }

    /// What is kept of what is written without a [`commit`](crate::Writer::commit).
    /// [`Durability::Immediate`] makes every call wait for the disk.
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// How long [`Durability::Group`] may take.
    pub fn sync_interval(mut self, interval: Duration) -> Self {
        self.sync_interval = interval;
        self
    }

    /// Records that are in memory until they become a segment: half a million of up to 64 bits,
    /// 2^16 of more, unless this says otherwise; at most 2^24. Each takes 100 to 150 bytes, 125 if
    /// there are half a million, and some 50 more while the segment is written; as many records
    /// again may come meanwhile. Fewer mean more small segments, and that records are written more
    /// often. More mean that searches within large radii, which compare them all, take longer.
    pub fn tail_records(mut self, records: usize) -> Self {
        self.tail_records = Some(records);
        self
    }

    /// Records that are in memory until they become a segment.
    pub(super) fn most_in_memory(&self) -> usize {
        let of_width = if F::BITS <= u64::BITS { NARROW_TAIL_RECORDS } else { WIDE_TAIL_RECORDS };
        self.tail_records.unwrap_or(of_width)
    }

    /// Whether segments are written and merged by themselves. If not,
    /// [`flush`](crate::Writer::flush) and [`merge`](crate::Writer::merge) do it; where there is no
    /// room for more records, a call that writes flushes.
    pub fn background(mut self, background: bool) -> Self {
        self.background = background;
        self
    }

    /// How segments are written and merged: with which threads (one, unless this says otherwise),
    /// where temporary files go, what stops it. What stands in memory becomes a segment with as
    /// many threads of its own, so that no merge holds it up.
    pub fn execution(mut self, execution: Execution) -> Self {
        self.execution = Some(execution);
        self
    }

    pub(super) fn check(&self) -> Result<()> {
        if !(1..=1 << 24).contains(&self.most_in_memory()) {
            return Err(Error::InvalidOption {
                option: "tail records",
                value: self.most_in_memory().to_string(),
                expected: "they are 1 to 16777216".to_string(),
            });
        }
        Ok(())
    }
}
