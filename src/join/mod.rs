//! Joins: all pairs within Hamming distance k, of one set or of two.
//!
//! The fingerprints come from the identity tables, which are read once, in order, and joined in
//! memory ([`engine`]): split by parts of their bits, as the tables of a design split them (section
//! 3.1 of the paper), until what is left is compared pair by pair. A pair is handed on under the
//! first part in which its two fingerprints differ in no more bits than the threshold of that part,
//! so each comes once and none is remembered.
//!
//! What does not fit into memory is cut into *ranges* of the smaller fingerprint of each pair. A
//! range is joined with itself, and with all that follows it, piece by piece.

mod compare;
mod digit;
mod engine;
mod plan;
mod read;
#[cfg(test)]
mod tests;

use std::fmt;
use std::ops::{ControlFlow, RangeInclusive};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

pub(crate) use compare::Kernel;
pub(crate) use engine::{Found, Message, Output};
pub(crate) use plan::flips;
use rayon::ThreadPool;
pub(crate) use read::Scan;

use engine::{Engine, Group};

use crate::error::{Error, Result};
use crate::segment::Segment;

/// The largest number of threads.
const MAX_THREADS: usize = 1024;
/// The least memory that a join can be held to.
const MIN_MEMORY: u64 = 16 << 20;
/// Bytes that a join takes beside fingerprints: the process itself, and the buffers of each thread.
const FIXED_BYTES: u64 = 10 << 20;
const THREAD_BYTES: u64 = 1 << 20;
/// Bytes per fingerprint in memory: it stands there twice, and splits need some more.
const FINGERPRINT_BYTES: u64 = 18;
/// Nanoseconds for reading a fingerprint.
const READ_COST: f64 = 2.5;
/// How much longer a stream takes than its first splits are predicted to, as measured.
const STREAM_FACTOR: f64 = 2.2;
/// Fingerprints that are in memory in any case.
const LEAST_CAPACITY: usize = 1 << 14;

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
        let pool = pool(self.threads)?;
        let mut summary = JoinSummary::default();
        let work = |output: &Output| {
            let work = Work { join: self, output, reading: AtomicU64::new(0) };
            if let Some(range) = range {
                work.run(*range.start(), *range.end())?;
            }
            Ok(work.reading.into_inner())
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

    fn check_options(&self) -> Result<()> {
        let invalid = |option, value: u64, expected: &str| {
            Err(Error::InvalidOption {
                option,
                value: value.to_string(),
                expected: expected.to_string(),
            })
        };
        if let Some(memory) = self.memory.filter(|&memory| memory < MIN_MEMORY) {
            return invalid("memory", memory, "it is at least 16 MiB (16777216)");
        }
        let (index, count) = self.shard;
        if index >= count {
            let expected = format!("there are {count} shards, numbered from 0 on");
            return invalid("shard", index, &expected);
        }
        Ok(())
    }
}

/// A pool of so many threads; 0 stands for the number of cores.
pub(crate) fn pool(threads: usize) -> Result<ThreadPool> {
    check_threads(threads)?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map_err(|error| {
        invalid_threads(threads, &format!("the system cannot start them ({error})"))
    })
}

/// Refuses more threads than a pool has.
pub(crate) fn check_threads(threads: usize) -> Result<()> {
    if threads > MAX_THREADS {
        return Err(invalid_threads(threads, "there are at most 1024"));
    }
    Ok(())
}

fn invalid_threads(threads: usize, expected: &str) -> Error {
    let (value, expected) = (threads.to_string(), expected.to_string());
    Error::InvalidOption { option: "threads", value, expected }
}

/// A join that runs, in a pool of threads.
struct Work<'a> {
    join: &'a Join<'a>,
    output: &'a Output,
    reading: AtomicU64,
}

/// Joins `queries`, in any order, with all fingerprints of some segments from the first to the
/// last, which are read in pieces of `piece`; runs in the current pool. The pairs have the query
/// first.
pub(crate) fn stream(
    output: &Output,
    queries: Vec<u64>,
    segments: &[Segment],
    k: u32,
    piece: usize,
) -> Result<()> {
    let engine = Engine { k, kernel: Kernel::best(), one_set: false, output, progress: &|_| {} };
    let mut side = Side { room: vec![0; queries.len()], data: queries };
    let mut pieces = Side::default();
    let mut scan = Scan::new(segments, 0);
    loop {
        let more = pieces.read(&mut scan, u64::MAX, piece, segments_len(segments))?;
        let data: [&mut [u64]; 2] = [&mut side.data, &mut pieces.data];
        engine.join(Group { data, room: [&mut side.room, &mut pieces.room] });
        if !more || output.stopped() {
            return Ok(());
        }
    }
}

/// The predicted time of [`stream`] with so many queries and fingerprints, in nanoseconds of one
/// thread.
pub(crate) fn stream_cost(queries: u64, fingerprints: u64, piece: u64, k: u32) -> f64 {
    let pieces = fingerprints.div_ceil(piece.max(1)).max(1);
    let of_piece = fingerprints.div_ceil(pieces);
    let [queries, of_piece] = [queries, of_piece].map(|n| usize::try_from(n).unwrap_or(usize::MAX));
    let size = plan::Size::new([queries, of_piece]);
    let pair_cost = Kernel::best().pair_cost();
    let join = plan::predict(&plan::Scope::default(), k, u64::MAX, size, pair_cost);
    READ_COST * fingerprints as f64 + STREAM_FACTOR * pieces as f64 * join
}

/// Fingerprints in memory, and as much room.
#[derive(Default)]
struct Side {
    data: Vec<u64>,
    room: Vec<u64>,
}

impl Side {
    /// Reads up to `limit` fingerprints that are not above `last`; tells whether there are more.
    /// `expected` says for how many to make room at first.
    fn read(
        &mut self,
        scan: &mut Scan<'_>,
        last: u64,
        limit: usize,
        expected: u64,
    ) -> Result<bool> {
        self.data.clear();
        let expected = usize::try_from(expected).unwrap_or(limit).min(limit);
        self.data.reserve_exact(expected);
        let more = scan.read(last, limit, &mut self.data)?;
        if self.room.len() < self.data.len() {
            self.room.clear();
            self.room.reserve_exact(self.data.capacity());
        }
        self.room.resize(self.data.len(), 0);
        Ok(more)
    }

    fn len(&self) -> u64 {
        self.data.len() as u64
    }
}

impl Work<'_> {
    /// Joins those pairs whose `a` lies from `start` to `last`.
    fn run(&self, mut start: u64, last: u64) -> Result<()> {
        let Join { a, b, .. } = *self.join;
        let capacity = self.capacity();
        // Fingerprints at most, of the shard and of what may lie near it.
        let whole = read::estimate(a, start, last);
        let most = |segments, start, last| {
            // The first and the last block may be longer than others.
            let count = segments_len(segments);
            read::estimate(segments, start, last)
                .saturating_mul(2)
                .saturating_add(1 << 12)
                .min(count)
        };
        let other = b.map_or_else(|| most(a, start, u64::MAX), |b| most(b, 0, u64::MAX));
        let other = usize::try_from(other).unwrap_or(usize::MAX);
        let limit = match b {
            None if other <= capacity => capacity,
            Some(_) if other <= capacity / 2 => capacity - other,
            _ => capacity / 2,
        };
        let (mut side, mut pieces) = (Side::default(), Side::default());
        // Whether `pieces` holds all of the other store.
        let mut holds_all = false;
        let mut done = 0;
        loop {
            let mut scan = Scan::new(a, start);
            let more = side.read(&mut scan, last, limit, most(a, start, last))?;
            drop(scan);
            self.reading.fetch_add(side.len(), Ordering::Relaxed);
            let Some(&greatest) = side.data.last() else {
                self.finish(start..=last, 0, JoinProgress { done, total: done });
                return Ok(());
            };
            let end = if more { greatest } else { last };
            let mut steps = Steps {
                work: self,
                before: done,
                fingerprints: side.len(),
                total: whole.max(done + side.len()),
                all: 0,
                done: 0,
            };
            let behind = match b {
                None => end.checked_add(1).map(|behind| (a, behind)),
                Some(b) => Some((b, 0)),
            };
            let rest = behind.map_or(0, |(other, behind)| read::estimate(other, behind, u64::MAX));
            let piece = capacity.saturating_sub(side.data.len()).max(1);
            steps.all = side.len() * (rest / piece as u64 + 2) + rest;
            if b.is_none() {
                self.join_within(&mut side, &mut steps);
            }
            if let Some((other, behind)) = behind {
                if holds_all {
                    self.join_between(&mut side, &mut pieces, &mut steps);
                } else {
                    let mut scan = Scan::new(other, behind);
                    let mut first = true;
                    loop {
                        let expected = most(other, behind, u64::MAX);
                        let more = pieces.read(&mut scan, u64::MAX, piece, expected)?;
                        self.reading.fetch_add(pieces.len(), Ordering::Relaxed);
                        self.join_between(&mut side, &mut pieces, &mut steps);
                        holds_all = b.is_some() && first && !more;
                        first = false;
                        if !more || self.output.stopped() {
                            break;
                        }
                    }
                }
            }
            if self.output.stopped() {
                return Ok(());
            }
            done += side.len();
            let total = if more { whole.max(done) } else { done };
            self.finish(start..=end, side.len(), JoinProgress { done, total });
            match end.checked_add(1).filter(|_| more) {
                Some(next) => start = next,
                None => return Ok(()),
            }
        }
    }

    fn finish(&self, range: RangeInclusive<u64>, fingerprints: u64, progress: JoinProgress) {
        (self.join.progress)(progress);
        self.output.send(Message::Range { range, fingerprints });
    }

    fn join_within(&self, side: &mut Side, steps: &mut Steps<'_>) {
        let fingerprints = side.len();
        steps.run(fingerprints, |engine| {
            engine.join(Group { data: [&mut side.data], room: [&mut side.room] });
        });
    }

    fn join_between(&self, side: &mut Side, other: &mut Side, steps: &mut Steps<'_>) {
        steps.run(side.len() + other.len(), |engine| {
            let data: [&mut [u64]; 2] = [&mut side.data, &mut other.data];
            engine.join(Group { data, room: [&mut side.room, &mut other.room] });
        });
    }

    /// Fingerprints for which there is memory.
    fn capacity(&self) -> usize {
        if let Some(capacity) = self.join.capacity {
            return capacity;
        }
        let Some(memory) = self.join.memory else { return usize::MAX };
        let threads = rayon::current_num_threads() as u64;
        let fixed = FIXED_BYTES.saturating_add(THREAD_BYTES * threads);
        let fingerprints = memory.saturating_sub(fixed) / FINGERPRINT_BYTES;
        usize::try_from(fingerprints).unwrap_or(usize::MAX).max(LEAST_CAPACITY)
    }
}

fn segments_len(segments: &[Segment]) -> u64 {
    segments.iter().fold(0, |sum, segment| sum.saturating_add(segment.count()))
}

/// What is done of a range, for progress.
struct Steps<'a> {
    work: &'a Work<'a>,
    /// Fingerprints of earlier ranges, of this one, and of all.
    before: u64,
    fingerprints: u64,
    total: u64,
    /// Fingerprints of this range's joins, both sides counted, about; and those that are done.
    all: u64,
    done: u64,
}

impl Steps<'_> {
    /// Runs a join of so many fingerprints.
    fn run(&mut self, fingerprints: u64, join: impl FnOnce(&Engine<'_>)) {
        let Steps { work, before, total, done, all, .. } = *self;
        let thousandths = AtomicU64::new(0);
        let tell = |more: u64| {
            let joined = done + (thousandths.fetch_add(more, Ordering::Relaxed) + more) / 1000;
            let share = joined.min(all) as f64 / all.max(1) as f64;
            let done = before + (self.fingerprints as f64 * share) as u64;
            (work.join.progress)(JoinProgress { done, total });
        };
        let engine = Engine {
            k: work.join.k,
            kernel: Kernel::best(),
            one_set: work.join.b.is_none(),
            output: work.output,
            progress: &tell,
        };
        join(&engine);
        self.done += fingerprints;
    }
}
