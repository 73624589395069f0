//! The names of several files as those of one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::sync::Arc;

use bitvec::slice::BitSlice;
use bitvec::vec::BitVec;

use super::cursor::NameCursor;
use super::reader::NameColumn;
use super::renumbering::{Renumbering, RenumberingBuilder};
use super::writer::NameSource;
use crate::error::Result;

/// The names of several files in order, each once; of each file all, or those that are marked.
/// Going over them takes O(n log f) comparisons for n names of f files, and memory for two names
/// and two lists of each file.
pub(crate) struct MergedNames {
    inputs: Vec<(Arc<NameColumn>, Option<BitVec<usize>>)>,
}

/// A name of one of the files.
struct Merged<'a> {
    name: &'a [u8],
    input: usize,
    old: u64,
    new: u64,
    /// Whether no file before has it.
    is_first: bool,
}

/// The names of a file that are wanted.
struct Wanted<'a> {
    cursor: NameCursor,
    marks: Option<&'a BitSlice<usize>>,
    /// Number of the next name of the cursor.
    next: u64,
    /// Behind the last name that is wanted.
    end: u64,
}

impl Wanted<'_> {
    /// Puts the next name in the place of `name`; whether there is one.
    fn advance(&mut self, name: &mut Vec<u8>) -> Result<bool> {
        while self.next < self.end {
            let Some(next) = self.cursor.next()? else { return Ok(false) };
            let number = self.next as usize;
            self.next += 1;
            if self.marks.is_none_or(|marks| marks.get(number).is_some_and(|mark| *mark)) {
                name.clear();
                name.extend_from_slice(next);
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl MergedNames {
    /// The names of some files, and of each, where there are marks, those that have one: bit i is
    /// that of name i.
    pub(crate) fn new(inputs: Vec<(Arc<NameColumn>, Option<BitVec<usize>>)>) -> Self {
        Self { inputs }
    }

    /// How many names there are, and for each file the new number of each of its names. Goes over
    /// all names once.
    ///
    /// # Errors
    ///
    /// As [`NameCursor::next`].
    pub(crate) fn renumbered(&self) -> Result<(u64, Vec<Renumbering>)> {
        let mut builders: Vec<RenumberingBuilder> = Vec::new();
        builders.resize_with(self.inputs.len(), RenumberingBuilder::default);
        let mut names = 0;
        self.merge(&mut |merged| {
            builders[merged.input].push(merged.old, merged.new);
            names = merged.new + 1;
            Ok(())
        })?;
        let each = builders.into_iter().zip(&self.inputs);
        let made = each.map(|(builder, (column, _))| builder.finish(column.len()));
        Ok((names, made.collect()))
    }

    fn merge(&self, sink: &mut dyn FnMut(&Merged<'_>) -> Result<()>) -> Result<()> {
        let mut wanted: Vec<Wanted<'_>> = Vec::new();
        let mut heads = BinaryHeap::new();
        for (input, (column, marks)) in self.inputs.iter().enumerate() {
            let marks = marks.as_deref();
            let last = marks.map(|marks| marks.last_one().map_or(0, |last| last as u64 + 1));
            let end = last.map_or(column.len(), |end| end.min(column.len()));
            let mut of_file = Wanted { cursor: column.cursor(), marks, next: 0, end };
            let mut name = Vec::new();
            if of_file.advance(&mut name)? {
                heads.push(Reverse((name, input)));
            }
            wanted.push(of_file);
        }
        let (mut before, mut names) = (Vec::new(), 0u64);
        while let Some(mut head) = heads.peek_mut() {
            let Reverse((name, input)) = &mut *head;
            let is_first = names == 0 || before != *name;
            names += u64::from(is_first);
            let (old, new) = (wanted[*input].next - 1, names - 1);
            sink(&Merged { name, input: *input, old, new, is_first })?;
            if is_first {
                before.clone_from(name);
            }
            if !wanted[*input].advance(name)? {
                PeekMut::pop(head);
            }
        }
        Ok(())
    }
}

impl NameSource for MergedNames {
    fn visit(&mut self, sink: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        self.merge(&mut |merged| if merged.is_first { sink(merged.name) } else { Ok(()) })
    }
}
