//! The ids of one fingerprint.

use std::ops::Range;
use std::sync::Arc;
use std::vec;

use super::reader::IdColumn;
use crate::error::Result;

/// The ids of a fingerprint, from [`Snapshot::ids`](crate::Snapshot::ids), ascending and each once; ends
/// after the first error.
///
/// Reads as it goes, so that ten million ids take no more memory than one.
#[derive(Default)]
pub struct Ids {
    runs: IdRuns,
}

/// The ids in each segment that has some.
#[derive(Default)]
enum IdRuns {
    #[default]
    None,
    /// Without an allocation.
    One(IdRun),
    Several(Vec<IdRun>),
}

/// The ids of a fingerprint in one segment, or in memory.
struct IdRun {
    from: IdSource,
    /// The id that was read last and not given yet; only where there are several runs.
    head: Option<u64>,
}

enum IdSource {
    Column {
        column: Arc<IdColumn>,
        /// Numbers of ids that were not read.
        left: Range<u64>,
        /// Those of them that are hidden, the last first.
        hidden: Vec<u64>,
    },
    Memory(vec::IntoIter<u64>),
}

impl IdRuns {
    fn as_mut_slice(&mut self) -> &mut [IdRun] {
        match self {
            Self::None => &mut [],
            Self::One(only) => std::slice::from_mut(only),
            Self::Several(runs) => runs,
        }
    }

    fn as_slice(&self) -> &[IdRun] {
        match self {
            Self::None => &[],
            Self::One(only) => std::slice::from_ref(only),
            Self::Several(runs) => runs,
        }
    }
}

impl Ids {
    /// Adds those ids of a column whose numbers are given, but for some that are hidden. Both ascend.
    pub(crate) fn add(
        &mut self,
        column: &Arc<IdColumn>,
        numbers: Range<u64>,
        mut hidden: Vec<u64>,
    ) {
        hidden.reverse();
        let column = Arc::clone(column);
        self.add_run(IdSource::Column { column, left: numbers, hidden });
    }

    /// Adds ids in any order.
    pub(crate) fn add_list(&mut self, mut ids: Vec<u64>) {
        if !ids.is_empty() {
            ids.sort_unstable();
            ids.dedup();
            self.add_run(IdSource::Memory(ids.into_iter()));
        }
    }

    fn add_run(&mut self, from: IdSource) {
        let run = IdRun { from, head: None };
        self.runs = match std::mem::take(&mut self.runs) {
            IdRuns::None => IdRuns::One(run),
            IdRuns::One(first) => IdRuns::Several(vec![first, run]),
            IdRuns::Several(mut runs) => {
                runs.push(run);
                IdRuns::Several(runs)
            }
        };
    }

    /// Number of ids that are left, in constant time. A store that [`Packer`](crate::Packer) wrote has
    /// one segment; an id that stands in several, or was inserted again, counts in each.
    pub fn len(&self) -> u64 {
        let left = |run: &IdRun| run.from.len() + u64::from(run.head.is_some());
        self.runs.as_slice().iter().map(left).sum()
    }

    /// Whether no id is left.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl IdSource {
    fn len(&self) -> u64 {
        match self {
            Self::Column { left, hidden, .. } => left.end - left.start - hidden.len() as u64,
            Self::Memory(ids) => ids.len() as u64,
        }
    }
}

impl IdRun {
    #[inline]
    fn read(&mut self) -> Result<Option<u64>> {
        match &mut self.from {
            IdSource::Column { column, left, hidden } => {
                while hidden.last().is_some_and(|&number| number == left.start) {
                    hidden.pop();
                    left.start += 1;
                }
                left.next().map(|number| column.id(number)).transpose()
            }
            IdSource::Memory(ids) => Ok(ids.next()),
        }
    }
}

/// The least of the next ids of all runs; takes it from each.
fn merge(runs: &mut [IdRun]) -> Result<Option<u64>> {
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

impl Iterator for Ids {
    type Item = Result<u64>;

    #[inline]
    fn next(&mut self) -> Option<Result<u64>> {
        let next = match self.runs.as_mut_slice() {
            [only] => only.read(),
            several => merge(several),
        };
        if next.is_err() {
            self.runs = IdRuns::None;
        }
        next.transpose()
    }
}

impl std::iter::FusedIterator for Ids {}

impl std::fmt::Debug for Ids {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ids").field("len", &self.len()).finish_non_exhaustive()
    }
}
