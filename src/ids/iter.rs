//! The ids of one fingerprint.

use std::ops::Range;

use super::reader::IdColumn;
use crate::error::Result;

/// The ids of a fingerprint, from [`Store::ids`](crate::Store::ids), ascending and each once; ends
/// after the first error.
///
/// Reads as it goes, so that ten million ids take no more memory than one.
pub struct Ids<'a> {
    /// The ids in each segment that has some.
    runs: Vec<Run<'a>>,
}

/// The ids of a fingerprint in one segment.
struct Run<'a> {
    column: &'a IdColumn,
    /// Numbers of ids that were not read.
    left: Range<u64>,
    /// The id that was read last and not given yet; only where there are several runs.
    head: Option<u64>,
}

impl<'a> Ids<'a> {
    /// Those ids of each column whose numbers are given.
    pub(crate) fn new(runs: impl IntoIterator<Item = (&'a IdColumn, Range<u64>)>) -> Self {
        let run = |(column, left)| Run { column, left, head: None };
        Self { runs: runs.into_iter().map(run).collect() }
    }

    /// Number of ids that are left, in constant time. A store that [`Packer`](crate::Packer) wrote has
    /// one segment; an id that stands in several counts in each.
    pub fn len(&self) -> u64 {
        let left = |run: &Run<'_>| run.left.end - run.left.start + u64::from(run.head.is_some());
        self.runs.iter().map(left).sum()
    }

    /// Whether no id is left.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Run<'_> {
    fn read(&mut self) -> Result<Option<u64>> {
        self.left.next().map(|number| self.column.id(number)).transpose()
    }
}

/// The least of the next ids of all runs; takes it from each.
fn merge(runs: &mut [Run<'_>]) -> Result<Option<u64>> {
    let mut least = None;
    for run in runs.iter_mut() {
        if run.head.is_none() {
            run.head = run.read()?;
        }
        least = [least, run.head].into_iter().flatten().min();
    }
    runs.iter_mut().filter(|run| run.head == least).for_each(|run| run.head = None);
    Ok(least)
}

impl Iterator for Ids<'_> {
    type Item = Result<u64>;

    #[inline]
    fn next(&mut self) -> Option<Result<u64>> {
        let next = match &mut self.runs[..] {
            [only] => only.read(),
            several => merge(several),
        };
        if next.is_err() {
            self.runs.clear();
        }
        next.transpose()
    }
}

impl std::iter::FusedIterator for Ids<'_> {}

impl std::fmt::Debug for Ids<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ids").field("len", &self.len()).finish_non_exhaustive()
    }
}
