//! Reads the fingerprints of a store past the queries, which stand in memory (section 3.3 of the paper).
//!
//! The paper builds the tables of a design over the queries. Here one part of the bits plays a table's role: those queries whose
//! part differs from that of a fingerprint in at most its threshold are compared with it. The first part are the leading
//! bits, in which the store is sorted: fingerprints with a common prefix meet the queries near this prefix, which are
//! found by going down bit by bit ([`walk`]). So a single part with threshold k needs no more than the queries and some
//! lists, and reads the store in order and once; the denser the store, the less of the time is spent on lists. Where the store is
//! less dense, more parts with lower thresholds take less time: for each further one, some millions of fingerprints at a time
//! are sorted by its bits ([`plan`](mod@plan)).
//!
//! Segments are read one after the other, and what several of them have or deletions hide is settled by whoever unites what
//! was found.

mod kernel;
mod part;
mod plan;
mod read;
mod steps;
#[cfg(test)]
mod tests;
mod turn;
mod walk;

use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::query::join::{Found, Output};
use crate::simd::{Level, by_level};
use crate::snapshot::Snapshot;
use crate::tasks;

use kernel::Kernel;
pub(crate) use kernel::vector_ns;
use part::Queries;
pub(super) use plan::StreamPlan;
use read::{TASK_KEYS, Tasks};
use turn::{COLLECTOR_BYTES, Collector, Turned};
use walk::{WALK_BYTES, Walk};

/// How many times as alike as uniform queries those may be that are streamed by several parts. Fingerprints of 34 bits took five times as long
/// by halves as by the engine of joins.
const MOST_SKEW: f64 = 8.0;

/// Hands on the pairs of `queries`, given by their keys, which ascend strictly, and the fingerprints of each segment; or gives false
/// before it has read any, if the queries are such as the plan is not made for. Runs in the current pool.
pub(super) fn stream<F: Fingerprint>(
    output: &Output<F>,
    queries: &[u64],
    snapshot: &Snapshot<F>,
    k: u32,
    plan: &StreamPlan,
) -> Result<bool> {
    let parts = plan.queries::<F>(queries);
    // A single part goes down as far as it takes. With several, lists may go on and on where many queries have equal bits.
    if parts.len() > 1 && parts.iter().any(|queries| queries.skew() > MOST_SKEW) {
        return Ok(false);
    }
    stream_at(Level::best(), output, &parts, snapshot, k, plan).map(|()| true)
}

/// [`stream`] with these instructions.
fn stream_at<F: Fingerprint>(
    level: Level,
    output: &Output<F>,
    parts: &[Queries],
    snapshot: &Snapshot<F>,
    k: u32,
    plan: &StreamPlan,
) -> Result<()> {
    let tasks = Tasks::new(snapshot.segments());
    by_level!(level, kernel => {
        let stream = Stream { kernel, output, parts, plan, tasks: &tasks, k };
        stream.run()
    })
}

/// Bytes that each thread takes.
pub(super) fn thread_bytes<F: Fingerprint>(snapshot: &Snapshot<F>) -> u64 {
    let tables = snapshot.segments().iter().filter_map(|segment| segment.tables().first());
    let keys = tables.map(|table| table.geometry().most_keys()).fold(TASK_KEYS, u64::max);
    WALK_BYTES + COLLECTOR_BYTES + 8 * keys
}

/// A stream that runs.
struct Stream<'a, K, F: Fingerprint> {
    kernel: K,
    output: &'a Output<F>,
    parts: &'a [Queries],
    plan: &'a StreamPlan,
    tasks: &'a Tasks<'a, F>,
    k: u32,
}

impl<'a, K: Kernel + Send + Sync, F: Fingerprint> Stream<'a, K, F> {
    fn run(&self) -> Result<()> {
        let [first, others @ ..] = self.parts else { return Ok(()) };
        while !self.tasks.are_done() && !self.output.stopped() {
            let room =
                AtomicU64::new(if others.is_empty() { u64::MAX } else { self.plan.together });
            let threads = 0..tasks::threads();
            let read = tasks::try_map(threads, |_| self.read(first, others, &room))?;
            let mut kept: Vec<Vec<Turned>> = others.iter().map(|_| Vec::new()).collect();
            for of_thread in read {
                kept.iter_mut().zip(of_thread).for_each(|(all, some)| all.extend(some));
            }
            for (number, (queries, kept)) in (1..).zip(others.iter().zip(&kept)) {
                self.join_turned(queries, number, kept);
            }
        }
        Ok(())
    }

    /// Reads keys as long as there is room for them, and joins them under the first part; gives them as each of the other parts
    /// needs them.
    fn read(
        &self,
        first: &'a Queries,
        others: &[Queries],
        room: &AtomicU64,
    ) -> Result<Vec<Vec<Turned>>> {
        let mut walk = self.walk(first, 0);
        let mut kept: Vec<Vec<Turned>> = others.iter().map(|_| Vec::new()).collect();
        let mut keys = Vec::new();
        while room.load(Ordering::Relaxed) > 0
            && let Some(task) = self.tasks.take()
        {
            let read = self.tasks.read(task, &mut keys, |keys| {
                walk.join(keys);
                for (kept, queries) in kept.iter_mut().zip(others) {
                    kept.push(Turned::new::<F>(keys, &queries.part));
                    let less = |room: u64| Some(room.saturating_sub(keys.len() as u64));
                    let _ = room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
                }
                room.load(Ordering::Relaxed) > 0
            });
            if read.is_err() || self.output.stopped() {
                // The other threads need not go on either.
                self.tasks.end();
            }
            read?;
        }
        Ok(kept)
    }

    /// Joins keys under a further part.
    fn join_turned(&self, queries: &'a Queries, number: usize, kept: &[Turned]) {
        let cut_bits = queries.part.cut_bits;
        tasks::map_with(
            0..turn::VALUES,
            || (self.walk(queries, number), Collector::default()),
            |(walk, collector), value| {
                if !self.output.stopped() {
                    collector.collect(kept, value, cut_bits, |keys| walk.join(keys));
                }
            },
        );
    }

    fn walk(&self, queries: &'a Queries, number: usize) -> Walk<'a, K, F> {
        let earlier = &self.plan.parts[..number];
        Walk::new(self.kernel, queries, self.k, earlier, Found::new(self.output))
    }
}
