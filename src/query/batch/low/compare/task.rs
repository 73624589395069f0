//! What is compared with what, and what a level of instructions does for it.

use super::shape::Shape;
use crate::mapped;
use crate::simd::ones;

/// Entries of a plane that stand together.
pub(in crate::query::batch::low) const CHUNK: usize = 64;
/// Queries that are compared together.
pub(super) const ROWS: usize = 4;
/// Chunks of a piece, after which it is looked what has passed.
pub(super) const PIECE: usize = u64::BITS as usize;

/// Entries of one plane.
pub(in crate::query::batch::low) type Chunk = [u8; CHUNK];

/// A query and an entry that may be within the budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::query::batch::low) struct Near {
    pub(in crate::query::batch::low) entry: u32,
    pub(in crate::query::batch::low) query: u32,
}

/// What is compared with the entries.
#[derive(Clone, Copy)]
pub(in crate::query::batch::low) struct Task<'a> {
    /// The low bits of queries.
    pub(in crate::query::batch::low) queries: &'a [u32],
    pub(in crate::query::batch::low) shape: Shape,
    /// What is asked for meanwhile.
    pub(in crate::query::batch::low) ahead: &'a [u8],
    /// Pairs that may pass before the comparison gives up.
    pub(in crate::query::batch::low) limit: usize,
}

impl<'a> Task<'a> {
    /// Some queries at a time, with the number of the first. Asks for a part of what lies ahead with
    /// each.
    #[inline(always)]
    pub(super) fn rows(&self) -> impl Iterator<Item = (usize, &'a [u32])> {
        let groups = self.queries.len().div_ceil(ROWS);
        let mut ahead = self.ahead.chunks(self.ahead.len() / groups.max(1) + 1);
        let rows = self.queries.chunks(ROWS).enumerate();
        rows.map(move |(number, rows)| {
            mapped::prefetch(ahead.next().unwrap_or_default());
            (number * ROWS, rows)
        })
    }
}

/// Appends the entries of the bits that are set in `mask`.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
#[cold]
#[inline(never)]
pub(super) fn report(mask: u64, start: usize, query: usize, near: &mut Vec<Near>) {
    let entries = ones(mask).map(|bit| start + bit);
    near.extend(entries.map(|entry| Near { entry: entry as u32, query: query as u32 }));
}

/// Compares a piece with the instructions of one level.
pub(super) trait Kernel: Copy {
    /// Appends to `near` each query with each entry that passes the budget of the task. The planes have
    /// [`PIECE`] chunks at most, all the same number, and are shared out among so many sums; with
    /// `DIFFERS`, entries that agree in the [`FIRST`](super::shape::FIRST) planes do not pass.
    ///
    /// Stops, after some queries, once there are more than the limit of the task.
    ///
    /// Without `DIFFERS` a batch of 2^15 to 2^18 queries in 2^20 fingerprints takes 13% to 34% more
    /// time.
    fn compare<const PLANES: usize, const SUMS: usize, const DIFFERS: bool>(
        self,
        planes: &[&[Chunk]; PLANES],
        task: &Task<'_>,
        near: &mut Vec<Near>,
    );
}
