//! The ids of one fingerprint.

use std::cmp::Ordering;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;
use std::vec;

use super::reader::IdColumn;
use crate::error::{Corruption, Error, Result};
use crate::id::{FromId, IdKind, IdRef};
use crate::names::{Naming, Renumbering};

/// The ids of a fingerprint, from [`Snapshot::ids`](crate::Snapshot::ids), ascending and each once;
/// ends after the first error. Names ascend by their bytes.
///
/// Reads as it goes, so that ten million ids take no more memory than one.
pub struct Ids<I = u64> {
    runs: IdRuns,
    kind: IdKind,
    /// Room for a name.
    name: Vec<u8>,
    taken: PhantomData<fn() -> I>,
}

/// The ids of a fingerprint in each segment that has some.
#[derive(Default)]
pub(crate) struct IdRuns(Runs);

#[derive(Default)]
enum Runs {
    #[default]
    None,
    /// Without an allocation.
    One(IdRun),
    Several(Vec<IdRun>),
}

/// The ids of a fingerprint in one segment, or in memory.
struct IdRun {
    from: IdSource,
    numbering: Numbering,
    /// The place of the segment among all.
    segment: usize,
    /// The id that was read last and not given yet; only where there are several runs.
    head: Option<Head>,
}

/// What the numbers of a run are.
#[derive(Clone, Default)]
pub(crate) enum Numbering {
    /// Those of ids, or of names in a list of this run.
    Of(Naming),
    /// To be replaced by those of a list that all runs have in common.
    Renumbered(Arc<Renumbering>),
    /// Those of ids, or of a list that all runs have in common.
    #[default]
    Common,
}

/// An id: its number, and its name where runs have lists of their own.
struct Head {
    number: u64,
    name: Vec<u8>,
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
        match &mut self.0 {
            Runs::None => &mut [],
            Runs::One(only) => std::slice::from_mut(only),
            Runs::Several(runs) => runs,
        }
    }

    fn as_slice(&self) -> &[IdRun] {
        match &self.0 {
            Runs::None => &[],
            Runs::One(only) => std::slice::from_ref(only),
            Runs::Several(runs) => runs,
        }
    }

    /// Adds those ids of a column whose numbers are given, but for some that are hidden. Both
    /// ascend.
    pub(crate) fn add(
        &mut self,
        column: &Arc<IdColumn>,
        numbers: Range<u64>,
        mut hidden: Vec<u64>,
        (segment, numbering): (usize, Numbering),
    ) {
        hidden.reverse();
        let column = Arc::clone(column);
        self.add_run(IdSource::Column { column, left: numbers, hidden }, segment, numbering);
    }

    /// Adds ids, which ascend.
    pub(crate) fn add_list(&mut self, ids: Vec<u64>, naming: Naming) {
        if !ids.is_empty() {
            self.add_run(IdSource::Memory(ids.into_iter()), 0, Numbering::Of(naming));
        }
    }

    fn add_run(&mut self, from: IdSource, segment: usize, numbering: Numbering) {
        let run = IdRun { from, numbering, segment, head: None };
        self.0 = match std::mem::take(&mut self.0) {
            Runs::None => Runs::One(run),
            Runs::One(first) => Runs::Several(vec![first, run]),
            Runs::Several(mut runs) => {
                runs.push(run);
                Runs::Several(runs)
            }
        };
    }

    /// Number of ids that are left; one that stands in several runs counts in each.
    fn len(&self) -> u64 {
        let left = |run: &IdRun| run.from.len() + u64::from(run.head.is_some());
        self.as_slice().iter().map(left).sum()
    }

    /// The next number, of runs that have their numbers in common.
    pub(crate) fn next_number(&mut self) -> Result<Option<u64>> {
        let next = match self.as_mut_slice() {
            [only] => only.read(),
            several => merge_numbers(several),
        };
        if next.is_err() {
            self.0 = Runs::None;
        }
        next
    }

    /// How many numbers [`Self::next_number`] gives. Reads them where there are several runs, which
    /// may have some in common.
    pub(crate) fn count_numbers(mut self) -> Result<u64> {
        if let Runs::One(only) = &self.0 {
            return Ok(only.from.len());
        }
        let mut count = 0;
        while self.next_number()?.is_some() {
            count += 1;
        }
        Ok(count)
    }

    /// Gives all numbers of all runs, each with the place of its segment.
    pub(crate) fn visit_numbers(
        &mut self,
        mut visit: impl FnMut(usize, u64) -> Result<()>,
    ) -> Result<()> {
        for run in self.as_mut_slice() {
            while let Some(number) = run.read()? {
                visit(run.segment, number)?;
            }
        }
        Ok(())
    }

    /// Puts the next name, which is of this kind, in place of `name`; `false` at the end.
    fn next_name(&mut self, name: &mut Vec<u8>, kind: IdKind) -> Result<bool> {
        let next = match self.as_mut_slice() {
            [only] => only.read_name(name, kind),
            several => merge_names(several, name, kind),
        };
        if next.is_err() {
            self.0 = Runs::None;
        }
        next
    }
}

impl<I: FromId> Ids<I> {
    /// Those of some runs, in a store with ids of this kind.
    ///
    /// # Errors
    ///
    /// [`Error::IdKinds`] if the caller cannot take such.
    pub(crate) fn new(runs: IdRuns, kind: IdKind) -> Result<Self> {
        Self::check(kind)?;
        Ok(Self::unchecked(runs, kind))
    }

    /// As [`Self::new`], for who has checked the kind.
    pub(crate) fn unchecked(runs: IdRuns, kind: IdKind) -> Self {
        Self { runs, kind, name: Vec::new(), taken: PhantomData }
    }

    /// Checks that the caller can take ids of this kind.
    pub(crate) fn check(kind: IdKind) -> Result<()> {
        match I::takes(kind) {
            true => Ok(()),
            false => Err(Error::IdKinds { stored: kind, other: I::wanted() }),
        }
    }
}

impl<I> Ids<I> {
    /// Number of ids that are left, in constant time. A store that [`Packer`](crate::Packer) wrote
    /// has one segment; an id that stands in several, or was inserted again, counts in each.
    pub fn len(&self) -> u64 {
        self.runs.len()
    }

    /// Whether no id is left.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Gives each id that is left by the place of its segment and its number there, without a look
    /// at its name; `Snapshot::id_by_number` has it. What stands in a log has no segment: see
    /// `Snapshot::in_segments`.
    #[doc(hidden)]
    pub fn visit_numbers(&mut self, mut visit: impl FnMut(usize, u64)) -> Result<()> {
        self.runs.visit_numbers(|segment, number| {
            visit(segment, number);
            Ok(())
        })
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
        let number = match &mut self.from {
            IdSource::Column { column, left, hidden } => {
                while hidden.last().is_some_and(|&number| number == left.start) {
                    hidden.pop();
                    left.start += 1;
                }
                left.next().map(|number| column.id(number)).transpose()?
            }
            IdSource::Memory(ids) => ids.next(),
        };
        let (Some(id), Numbering::Renumbered(numbers)) = (number, &self.numbering) else {
            return Ok(number);
        };
        match (numbers.get(id), &self.from) {
            (None, IdSource::Column { column, .. }) => {
                let names = numbers.len();
                Err(column.error(0, Corruption::NameNumber { id, names }))
            }
            (number, _) => Ok(number),
        }
    }

    /// Puts the next name in place of `name`; `false` at the end.
    fn read_name(&mut self, name: &mut Vec<u8>, kind: IdKind) -> Result<bool> {
        let Some(number) = self.read()? else { return Ok(false) };
        if let Numbering::Of(naming) = &self.numbering {
            naming.name_of_kind(number, name, kind)?;
        }
        Ok(true)
    }
}

/// The least of the next numbers of all runs; takes it from each.
fn merge_numbers(runs: &mut [IdRun]) -> Result<Option<u64>> {
    let mut least = None;
    for run in runs.iter_mut() {
        if run.head.is_none() {
            run.head = run.read()?.map(|number| Head { number, name: Vec::new() });
        }
        let number = run.head.as_ref().map(|head| head.number);
        least = [least, number].into_iter().flatten().min();
    }
    let is_least = |run: &&mut IdRun| run.head.as_ref().map(|head| head.number) == least;
    runs.iter_mut().filter(is_least).for_each(|run| run.head = None);
    Ok(least)
}

/// Puts the least of the next names of all runs in place of `name`, and takes it from each; `false`
/// at the end.
fn merge_names(runs: &mut [IdRun], name: &mut Vec<u8>, kind: IdKind) -> Result<bool> {
    for run in runs.iter_mut().filter(|run| run.head.is_none()) {
        let mut next = Vec::new();
        if run.read_name(&mut next, kind)? {
            run.head = Some(Head { number: 0, name: next });
        }
    }
    let heads = || runs.iter().filter_map(|run| run.head.as_ref());
    let Some(least) = heads().map(|head| &head.name).min() else { return Ok(false) };
    name.clone_from(least);
    for run in runs {
        let is_least = |head: &Head| head.name.cmp(name) == Ordering::Equal;
        if run.head.as_ref().is_some_and(is_least) {
            run.head = None;
        }
    }
    Ok(true)
}

impl<I: FromId> Ids<I> {
    fn read(&mut self) -> Result<Option<I>> {
        if !self.kind.is_named() {
            let number = self.runs.next_number()?;
            return Ok(number.and_then(|number| I::from_id(IdRef::Number(number))));
        }
        let mut name = std::mem::take(&mut self.name);
        let is_there = self.runs.next_name(&mut name, self.kind)?;
        let id = is_there.then(|| self.kind.id_of(&name).and_then(I::from_id)).flatten();
        self.name = name;
        Ok(id)
    }
}

impl<I: FromId> Iterator for Ids<I> {
    type Item = Result<I>;

    #[inline]
    fn next(&mut self) -> Option<Result<I>> {
        let next = self.read();
        if next.is_err() {
            self.runs = IdRuns::default();
        }
        next.transpose()
    }
}

impl<I: FromId> std::iter::FusedIterator for Ids<I> {}

impl<I> std::fmt::Debug for Ids<I> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ids").field("len", &self.len()).finish_non_exhaustive()
    }
}
