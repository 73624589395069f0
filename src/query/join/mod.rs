//! Joins: all pairs within Hamming distance k, of one set or of two.
//!
//! The fingerprints come from the identity tables, which are read once, in order, and joined in
//! memory ([`engine`]): split by parts of their bits, as the tables of a design split them (section
//! 3.1 of the paper), until what is left is compared pair by pair. A pair is handed on under the
//! first part in which its two fingerprints differ in no more bits than the threshold of that part,
//! so each comes once and none is remembered.
//!
//! What does not fit into memory is cut into *ranges* of the smaller fingerprint of each pair. A
//! range is joined with itself, and with all that follows it, piece by piece ([`work`]). Batches of
//! queries are joined with a store as it is read ([`stream`](mod@stream)).

mod compare;
mod digit;
mod engine;
mod plan;
mod read;
mod side;
mod stream;
#[cfg(test)]
mod tests;
mod work;

use std::fmt;
use std::ops::{ControlFlow, RangeInclusive};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

pub(crate) use compare::between;
pub(crate) use engine::{Found, Message, Output};
pub(crate) use plan::flips;
pub(crate) use stream::{read_all, stream, stream_ns};

use work::Work;

use crate::costs::Costs;
use crate::error::{Error, Result};
use crate::segment::{self, Segment};
use crate::threads;

/// Two fingerprints near each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pair {
    /// The smaller fingerprint; in a join of two stores that of the first.
    pub a: u64,
    /// The greater fingerprint; in a join of two stores that of the second.
    pub b: u64,
    /// Their Hamming distance, in bits.
    pub distance: u32,
}

/// What a join hands on.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum JoinEvent<'a> {
    /// Some pairs, at least one, in any order.
    Pairs(&'a [Pair]),
    /// All pairs whose [`a`](Pair::a) lies in this range have been handed on.
    Range(RangeInclusive<u64>),
}

/// How far a join has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct JoinProgress {
    /// Fingerprints, as [`a`](Pair::a), whose pairs are found, about.
    pub done: u64,
    /// Fingerprints of the store or of its shard, about.
    pub total: u64,
}

/// What a join has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct JoinSummary {
    /// Pairs handed on.
    pub pairs: u64,
    /// Ranges done.
    pub ranges: u64,
    /// Distinct fingerprints of these ranges.
    pub fingerprints: u64,
    /// Fingerprints read from the stores; those that several ranges need count for each.
    pub read: u64,
    /// Whether the caller has stopped it.
    pub stopped: bool,
}

/// A join of a store with itself or with another, from
/// [`Store::self_join`](crate::Store::self_join) or [`Store::join`](crate::Store::join).
///
/// Gives each pair of distinct fingerprints within k bits once; in a join of two stores, each pair
/// of one of the first and one of the second, so equal ones too, with distance 0. Exact for every k
/// from 0 to 64, whatever the designs of the stores.
///
/// Time: uniform fingerprints at k = 3 take some 140 ns of a thread each at 2^24. The time grows
/// with the number of pairs, and at large k with the square of the set, as comparing all with all
/// does. Memory: 16 bytes per fingerprint of both sides (18 at most) and some MiB, however the set
/// is distributed; or what [`memory`](Self::memory) allows. No pair is held back.
///
/// # Examples
///
/// ```
/// use std::ops::ControlFlow;
/// use fpstore::{JoinEvent, Packer, Pair, Store};
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("store");
/// Packer::new().pack(&path, [0b1011, 0b0011, u64::MAX])?;
///
/// let store = Store::open(&path)?;
/// let mut pairs = Vec::new();
/// let summary = store.self_join(3).run(|event| {
///     if let JoinEvent::Pairs(some) = event {
///         pairs.extend_from_slice(some);
///     }
///     ControlFlow::Continue(())
/// })?;
/// assert_eq!(pairs, [Pair { a: 0b0011, b: 0b1011, distance: 1 }]);
/// assert_eq!(summary.pairs, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Join<'a> {
    a: &'a [Segment],
    b: Option<&'a [Segment]>,
    k: u32,
    threads: usize,
    memory: Option<u64>,
    shard: (u64, u64),
    start: u64,
    /// Fingerprints in memory, whatever the memory.
    capacity: Option<usize>,
    cancel: Option<Arc<AtomicBool>>,
    costs: Costs,
    progress: Arc<dyn Fn(JoinProgress) + Send + Sync>,
}

impl fmt::Debug for Join<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Join")
            .field("k", &self.k)
            .field("threads", &self.threads)
            .field("memory", &self.memory)
            .field("shard", &self.shard)
            .field("start", &self.start)
            .finish_non_exhaustive()
    }
}

impl<'a> Join<'a> {
    /// The least memory that a join can be held to.
    pub(crate) const LEAST_MEMORY: u64 = 16 << 20;

    pub(crate) fn new(a: &'a [Segment], b: Option<&'a [Segment]>, k: u32) -> Self {
        Self {
            a,
            b,
            k: k.min(64),
            threads: 0,
            memory: None,
            shard: (0, 1),
            start: 0,
            capacity: None,
            cancel: None,
            costs: Costs::default(),
            progress: Arc::new(|_| {}),
        }
    }

    /// Number of threads, up to 1024; 0 stands for the number of cores. The caller's own thread
    /// takes the pairs meanwhile.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// The most bytes of memory that the join takes, from 16 MiB on: its own and that of the
    /// process it runs in, as far as that is usual. Where not all fingerprints fit, it works range
    /// by range; a join in r ranges reads and splits the store about r / 2 times. Without it all
    /// are in memory.
    pub fn memory(mut self, bytes: u64) -> Self {
        self.memory = Some(bytes);
        self
    }

    /// Joins one shard only: of those pairs whose [`a`](Pair::a) lies in range number `index`, from
    /// 0 on, of `count` ranges of about equal numbers of fingerprints. Together the shards give
    /// each pair once. They depend on the files of the store and nothing else, so that several
    /// machines can divide the work.
    ///
    /// The first shard has most work, since each fingerprint is compared with those behind it.
    pub fn shard(mut self, index: u64, count: u64) -> Self {
        self.shard = (index, count);
        self
    }

    /// Leaves out all pairs whose [`a`](Pair::a) is below `fingerprint`. Who has noted the end of
    /// the last [range](JoinEvent::Range) goes on behind it, also with another amount of memory.
    pub fn start(mut self, fingerprint: u64) -> Self {
        self.start = fingerprint;
        self
    }

    /// A flag that stops the join with [`Error::Cancelled`] soon after it is set.
    pub fn cancel(mut self, cancel: Arc<AtomicBool>) -> Self {
        self.cancel = Some(cancel);
        self
    }

    /// The constants of the machine, by which it decides how to join. The pairs do not depend on them.
    pub fn costs(mut self, costs: Costs) -> Self {
        self.costs = costs;
        self
    }

    /// A function that is told how far the join has come, from any thread.
    pub fn on_progress(mut self, progress: impl Fn(JoinProgress) + Send + Sync + 'static) -> Self {
        self.progress = Arc::new(progress);
        self
    }

    /// The fingerprints that [`a`](Pair::a) may be, by [shard](Self::shard) and
    /// [start](Self::start); `None` if there are none.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOption`].
    pub fn range(&self) -> Result<Option<RangeInclusive<u64>>> {
        self.check_options()?;
        let shard = read::shard(self.a, self.shard.0, self.shard.1);
        let shard = shard.map(|(start, last)| (start.max(self.start), last));
        Ok(shard.filter(|(start, last)| start <= last).map(|(start, last)| start..=last))
    }

    /// Runs the join and hands all it finds to `sink`, on the thread of the caller: pairs in any
    /// order, and after all pairs of a range the [range](JoinEvent::Range). The ranges ascend, and
    /// follow each other without gaps. Where the sink breaks, the join ends soon and well.
    ///
    /// The order of pairs within a range may differ from run to run.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOption`] before anything else; [`Error::Corrupt`] if a block of an identity
    /// table is damaged; [`Error::Cancelled`] if it was [asked to stop](Self::cancel).
    pub fn run(
        &self,
        mut sink: impl FnMut(JoinEvent<'_>) -> ControlFlow<()>,
    ) -> Result<JoinSummary> {
        let range = self.range()?;
        let pool = threads::pool(self.threads)?;
        let mut summary = JoinSummary::default();
        let work = |output: &Output| {
            let work = Work::new(self, output);
            if let Some(range) = range {
                work.run(*range.start(), *range.end())?;
            }
            Ok(work.read())
        };
        let read = Output::run(&pool, self.cancel.clone(), work, |message| {
            let flow = match message {
                Message::Pairs(pairs) => {
                    summary.pairs += pairs.len() as u64;
                    sink(JoinEvent::Pairs(&pairs))
                }
                Message::Range { range, fingerprints } => {
                    summary.ranges += 1;
                    summary.fingerprints += fingerprints;
                    sink(JoinEvent::Range(range))
                }
            };
            summary.stopped |= flow.is_break();
            flow
        })?;
        Ok(JoinSummary { read, ..summary })
    }

    /// What this join takes at the least: less than [`Self::LEAST_MEMORY`] where there are few
    /// fingerprints.
    pub(crate) fn least_memory(&self) -> u64 {
        let count = segment::count(self.a) + self.b.map_or(0, segment::count);
        work::bytes_of(count, threads::number(self.threads)).min(Self::LEAST_MEMORY)
    }

    fn check_options(&self) -> Result<()> {
        let invalid = |option, value: u64, expected: &str| {
            Err(Error::InvalidOption {
                option,
                value: value.to_string(),
                expected: expected.to_string(),
            })
        };
        if let Some(memory) = self.memory.filter(|&memory| memory < Self::LEAST_MEMORY) {
            let what = "a join needs".to_string();
            return Err(Error::MemoryLimit { what, limit: memory, needed: Self::LEAST_MEMORY });
        }
        let (index, count) = self.shard;
        if index >= count {
            let expected = format!("there are {count} shards, numbered from 0 on");
            return invalid("shard", index, &expected);
        }
        Ok(())
    }
}
