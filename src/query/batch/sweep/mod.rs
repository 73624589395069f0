//! Reads the fingerprints of a store past the queries, which stand in memory (section 3.3 of the
//! paper).
//!
//! The paper builds the tables of a design over the queries. Here a part of the bits plays a
//! table's role: those queries whose part differs from that of a fingerprint in at most its
//! threshold are compared with it. Fingerprints in the order of a part that have a common prefix
//! meet the queries near this prefix, which are found by going down bit by bit ([`walk`]).
//!
//! A sweep goes by several parts, which are the tops of tables of the design or ranges of equal
//! length, whichever is predicted to take less time ([`plan`](mod@plan)). A segment that has a
//! table in the order of a part is read in that order ([`read`]). Of other segments the
//! fingerprints are turned: some millions at a time are sorted by the bits of the part ([`turn`]).
//! A single part of the leading bits with threshold k needs no other table and no sort; the denser
//! the store, the less of the time goes into lists.
//!
//! Segments are read one after the other, and what several of them have or deletions hide is
//! settled by whoever unites what was found.

mod kernel;
mod part;
mod plan;
mod read;
mod steps;
#[cfg(test)]
mod tests;
mod turn;
mod walk;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::query::join::{Found, Output};
use crate::segment::{Rows, Segment};
use crate::simd::{Level, by_level};
use crate::snapshot::Snapshot;
use crate::tasks;

use kernel::Kernel;
#[cfg(feature = "internals")]
pub(crate) use kernel::vector_ns;
use part::{Part, Queries};
pub(super) use plan::SweepPlan;
use read::{TASK_KEYS, Tasks};
use turn::{COLLECTOR_BYTES, Collector, Turned};
use walk::{WALK_BYTES, Walk};

/// How many times as alike as uniform queries those may be whose keys are turned. Fingerprints of
/// 34 bits took five times as long by halves as by the engine of joins.
const MOST_SKEW: f64 = 8.0;

/// Hands on the pairs of `queries`, given by their keys, which ascend strictly, and the
/// fingerprints of each segment; or gives false before it has read any, if the queries are such as
/// the plan is not made for. Runs in the current pool.
pub(super) fn sweep<F: Fingerprint>(
    output: &Output<F>,
    queries: &[u64],
    snapshot: &Snapshot<F>,
    k: u32,
    plan: &SweepPlan,
) -> Result<bool> {
    sweep_at((Level::best(), MOST_SKEW), output, queries, snapshot, k, plan)
}

/// [`sweep`] with these instructions, of queries up to so much alike.
fn sweep_at<F: Fingerprint>(
    (level, most_skew): (Level, f64),
    output: &Output<F>,
    queries: &[u64],
    snapshot: &Snapshot<F>,
    k: u32,
    plan: &SweepPlan,
) -> Result<bool> {
    let segments = snapshot.segments();
    by_level!(level, kernel => {
        Sweep { kernel, level, output, segments, queries, plan, k }.run(most_skew)
    })
}

/// Bytes that each thread takes.
pub(super) fn thread_bytes<F: Fingerprint>(snapshot: &Snapshot<F>) -> u64 {
    let tables = snapshot.segments().iter().flat_map(|segment| segment.orders());
    let keys = tables.map(|table| table.geometry().most_keys()).fold(TASK_KEYS, u64::max);
    WALK_BYTES + COLLECTOR_BYTES + 8 * keys
}

/// A sweep that runs.
struct Sweep<'a, K, F: Fingerprint> {
    kernel: K,
    level: Level,
    output: &'a Output<F>,
    segments: &'a [Arc<Segment<F>>],
    queries: &'a [u64],
    plan: &'a SweepPlan,
    k: u32,
}

/// A part for which keys are turned.
struct TurnedPart {
    number: usize,
    queries: Queries,
    /// For each segment, whether its keys are.
    of_segments: Vec<bool>,
}

impl<'a, K: Kernel + Send + Sync, F: Fingerprint> Sweep<'a, K, F> {
    fn run(&self, most_skew: f64) -> Result<bool> {
        let parts = &self.plan.parts;
        let turned = (0..).zip(parts).filter_map(|(number, part)| {
            let lacks = |segment: &Arc<Segment<F>>| self.rows(segment, part).is_none();
            let of_segments: Vec<bool> = self.segments.iter().map(lacks).collect();
            let queries = of_segments.contains(&true).then(|| self.queries_of(number))?;
            Some(TurnedPart { number, queries, of_segments })
        });
        let turned: Vec<TurnedPart> = turned.collect();
        // Keys that are turned are in order by few bits: lists may go on and on where many queries
        // have equal bits.
        if turned.iter().any(|part| part.queries.skew() > most_skew) {
            return Ok(false);
        }
        let mut in_order: Vec<usize> = (0..parts.len()).collect();
        if !turned.is_empty() {
            // What is read to be turned is in the order of fingerprints already.
            let identity = parts.iter().position(Part::is_identity);
            self.read_and_turn(identity, &turned)?;
            in_order.retain(|number| Some(*number) != identity);
        }
        // Their queries take memory.
        drop(turned);
        in_order.into_iter().try_for_each(|number| self.read_in_order(number))?;
        Ok(true)
    }

    fn queries_of(&self, number: usize) -> Queries {
        Queries::new(self.queries, &self.plan.parts[number])
    }

    /// The keys of a segment in the order of a part, if it has them so.
    fn rows(&self, segment: &'a Segment<F>, part: &Part) -> Option<Rows<'a, F>> {
        if part.is_identity() {
            return Some(segment.rows());
        }
        let mut tables = segment.orders();
        tables.find(|table| part.is_order_of(table.permutation())).map(Rows::Table)
    }

    /// Joins the keys of all segments that have them in the order of a part.
    fn read_in_order(&self, number: usize) -> Result<()> {
        let part = &self.plan.parts[number];
        let source = |segment: &'a Arc<Segment<F>>| {
            self.rows(segment, part).map(|rows| (rows, segment.count()))
        };
        let mut sources = self.segments.iter().filter_map(source).peekable();
        if sources.peek().is_none() {
            return Ok(());
        }
        let (tasks, queries) = (Tasks::new(sources), self.queries_of(number));
        tasks::try_map(0..tasks::threads(), |_| {
            let (mut walk, mut keys) = (self.walk(&queries, number), Vec::new());
            while let Some(task) = tasks.take() {
                let read = tasks.read(task, &mut keys, |keys| {
                    walk.join(keys);
                    !self.output.stopped()
                });
                if read.is_err() || self.output.stopped() {
                    // The other threads need not go on either.
                    tasks.end();
                }
                read?;
            }
            Ok(())
        })?;
        Ok(())
    }

    /// Reads all segments in the order of their fingerprints, joins the keys under the part of that
    /// order, and turns them for others: as many at a time as may be in memory.
    fn read_and_turn(&self, identity: Option<usize>, turned: &[TurnedPart]) -> Result<()> {
        let tasks =
            Tasks::new(self.segments.iter().map(|segment| (segment.rows(), segment.count())));
        let first = identity.map(|number| (number, self.queries_of(number)));
        while !tasks.are_done() && !self.output.stopped() {
            let room = AtomicU64::new(self.plan.together);
            let threads = 0..tasks::threads();
            let read =
                tasks::try_map(threads, |_| self.read(&tasks, first.as_ref(), turned, &room))?;
            let mut kept: Vec<Vec<Turned>> = turned.iter().map(|_| Vec::new()).collect();
            for of_thread in read {
                kept.iter_mut().zip(of_thread).for_each(|(all, some)| all.extend(some));
            }
            for (part, kept) in turned.iter().zip(&kept) {
                self.join_turned(part, kept);
            }
        }
        Ok(())
    }

    /// Reads keys as long as there is room for them, and joins them under the first part; gives
    /// them as each of the other parts needs them.
    fn read(
        &self,
        tasks: &Tasks<'a, F>,
        first: Option<&(usize, Queries)>,
        turned: &[TurnedPart],
        room: &AtomicU64,
    ) -> Result<Vec<Vec<Turned>>> {
        let mut walk = first.map(|(number, queries)| self.walk(queries, *number));
        let mut kept: Vec<Vec<Turned>> = turned.iter().map(|_| Vec::new()).collect();
        let mut keys = Vec::new();
        while room.load(Ordering::Relaxed) > 0
            && let Some(task) = tasks.take()
        {
            let segment = task.shelf;
            let read = tasks.read(task, &mut keys, |keys| {
                if let Some(walk) = &mut walk {
                    walk.join(keys);
                }
                for (kept, part) in kept.iter_mut().zip(turned) {
                    if part.of_segments[segment] {
                        kept.push(Turned::new(keys, &part.queries.part));
                        let less = |room: u64| Some(room.saturating_sub(keys.len() as u64));
                        let _ = room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
                    }
                }
                room.load(Ordering::Relaxed) > 0
            });
            if read.is_err() || self.output.stopped() {
                // The other threads need not go on either.
                tasks.end();
            }
            read?;
        }
        Ok(kept)
    }

    /// Joins keys that were turned for a part.
    fn join_turned(&self, part: &TurnedPart, kept: &[Turned]) {
        let cut_bits = part.queries.part.cut_bits;
        tasks::map_with(
            0..turn::VALUES,
            || (self.walk(&part.queries, part.number), Collector::default()),
            |(walk, collector), value| {
                if !self.output.stopped() {
                    collector.collect(kept, value, cut_bits, |keys| walk.join(keys));
                }
            },
        );
    }

    fn walk<'w>(&'w self, queries: &'w Queries, number: usize) -> Walk<'w, K, F> {
        let earlier = &self.plan.parts[..number];
        Walk::new((self.kernel, self.level), queries, self.k, earlier, Found::new(self.output))
    }
}
