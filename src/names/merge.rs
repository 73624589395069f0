//! The names of several files as those of one.

use std::sync::Arc;

use bitvec::slice::BitSlice;
use bitvec::vec::BitVec;

use super::cursor::NameCursor;
use super::list::shared;
use super::reader::NameColumn;
use super::renumbering::{Renumbering, RenumberingBuilder};
use super::writer::{NameCounts, NameSource};
use crate::error::Result;
use crate::format::{NamesHeader, PAGE_NAMES};

/// The names of several files in order, each once; of each file all, or those that are marked.
/// Going over them takes O(n f) steps for n names of f files, few of which compare names, and
/// memory for two names and two lists of each file.
pub(crate) struct MergedNames {
    inputs: Vec<Input>,
    /// For each file the new number of each of its names.
    numbers: Vec<Arc<Renumbering>>,
    counts: NameCounts,
}

/// A file; and where not all of its names are wanted, a mark for each: bit i is that of name i.
type Input = (Arc<NameColumn>, Option<BitVec<usize>>);

/// The names of a file that are wanted.
struct Wanted<'a> {
    cursor: NameCursor,
    marks: Option<&'a BitSlice<usize>>,
    /// Number of the next name of the cursor.
    next: u64,
    /// Behind the last name that is wanted.
    end: u64,
}

/// The next name of a file.
struct Head<'a> {
    input: usize,
    names: Wanted<'a>,
    /// Length of its longest common prefix with the name that was taken last.
    same: usize,
}

impl<'a> Wanted<'a> {
    fn new((column, marks): &'a Input) -> Self {
        let marks = marks.as_deref();
        let last = marks.map(|marks| marks.last_one().map_or(0, |last| last as u64 + 1));
        let end = last.map_or(column.len(), |end| end.min(column.len()));
        Self { cursor: column.cursor(), marks, next: 0, end }
    }

    /// Goes to the next name that is wanted, if there is one; gives the length of its longest
    /// common prefix with the one that was wanted before it. Calls `check` now and then.
    fn advance(&mut self, check: &dyn Fn() -> Result<()>) -> Result<Option<usize>> {
        let mut same = usize::MAX;
        while self.next < self.end {
            if self.next.is_multiple_of(PAGE_NAMES) {
                check()?;
            }
            if self.cursor.next()?.is_none() {
                return Ok(None);
            }
            same = same.min(self.cursor.same());
            let number = self.next as usize;
            self.next += 1;
            if self.marks.is_none_or(|marks| marks.get(number).is_some_and(|mark| *mark)) {
                return Ok(Some(same));
            }
        }
        Ok(None)
    }

    fn name(&self) -> &[u8] {
        self.cursor.name()
    }

    fn number(&self) -> u64 {
        self.next - 1
    }
}

/// The place of the least name. All names are no less than the one that was taken last.
///
/// A name that has more bytes in common with that one is less than one that has fewer. So only
/// names that have equally many are compared, and only behind these (Ng and Kakehi, *Merging string
/// sequences by longest common prefixes*, IPSJ Digital Courier 2008).
fn least(heads: &mut [Head<'_>]) -> Option<usize> {
    let most = heads.iter().map(|head| head.same).max()?;
    let mut least = heads.iter().position(|head| head.same == most)?;
    let mut is_alone = true;
    for place in least + 1..heads.len() {
        if heads[place].same == most {
            is_alone = false;
            if heads[place].names.name()[most..] < heads[least].names.name()[most..] {
                least = place;
            }
        }
    }
    if !is_alone {
        for place in (0..heads.len()).filter(|place| *place != least) {
            if heads[place].same == most {
                let (a, b) = (heads[least].names.name(), heads[place].names.name());
                heads[place].same = most + shared(&a[most..], &b[most..]);
            }
        }
    }
    Some(least)
}

impl MergedNames {
    /// The names of some files, and of each, where there are marks, those that have one. Goes over
    /// all names once, and takes some bits of memory for each; see [`Renumbering`]. Calls `check`
    /// now and then, and stops with the error that it gives.
    ///
    /// # Errors
    ///
    /// As [`NameCursor::next`].
    pub(crate) fn new(inputs: Vec<Input>, check: &dyn Fn() -> Result<()>) -> Result<Self> {
        let mut builders: Vec<RenumberingBuilder> = Vec::new();
        builders.resize_with(inputs.len(), RenumberingBuilder::default);
        let mut heads = Vec::new();
        for (input, file) in inputs.iter().enumerate() {
            let mut names = Wanted::new(file);
            if names.advance(check)?.is_some() {
                heads.push(Head { input, names, same: 0 });
            }
        }
        let (mut counts, mut last_bytes) = (NameCounts::default(), None);
        while let Some(place) = least(&mut heads) {
            let Head { input, names, same } = &mut heads[place];
            let name = names.name();
            if last_bytes != Some(name.len()) || *same < name.len() {
                counts.add(name, *same);
                last_bytes = Some(name.len());
            }
            builders[*input].push(names.number(), counts.names - 1);
            match names.advance(check)? {
                Some(of_last) => *same = of_last,
                None => drop(heads.swap_remove(place)),
            }
        }
        let each = builders.into_iter().zip(&inputs);
        let numbers = each.map(|(made, (column, _))| Arc::new(made.finish(column.len()))).collect();
        Ok(Self { inputs, numbers, counts })
    }

    /// For each file the new number of each of its names.
    pub(crate) fn numbers(&self) -> &[Arc<Renumbering>] {
        &self.numbers
    }

    /// Number of names.
    #[cfg(test)]
    pub(crate) fn len(&self) -> u64 {
        self.counts.names
    }
}

impl NameSource for MergedNames {
    /// Compares numbers in place of names.
    fn visit(&mut self, sink: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        // Who writes the names looks at the clock.
        let unchecked = || Ok(());
        let mut heads = Vec::new();
        for (file, numbers) in self.inputs.iter().zip(&self.numbers) {
            let mut names = Wanted::new(file);
            if names.advance(&unchecked)?.is_some() {
                heads.push((numbers.get(names.number()), names, numbers));
            }
        }
        let mut given = None;
        // All names that are given have numbers: those were counted in the same files.
        while let Some(place) = (0..heads.len()).min_by_key(|&place| heads[place].0) {
            let (number, names, numbers) = &mut heads[place];
            if given != *number {
                given = *number;
                sink(names.name())?;
            }
            match names.advance(&unchecked)? {
                Some(_) => *number = numbers.get(names.number()),
                None => drop(heads.swap_remove(place)),
            }
        }
        Ok(())
    }

    fn header(&self) -> Option<NamesHeader> {
        Some(self.counts.header())
    }
}
