//! Which of what is stored is hidden, by deletions that came later.

use std::sync::Arc;

use bitvec::prelude::{BitVec, bitvec};

use crate::error::Result;
use crate::fingerprint::{Fingerprint, words};
use crate::format::{Deletion, Scope};
use crate::names::Naming;
use crate::tail::Hidden;

/// Places of the filter per deletion.
const FILTER_BITS: usize = 16;

/// The deletions of a snapshot that may hide something of its segments.
pub(crate) struct Hiding<F = u64> {
    /// For each segment the sequence up to which deletions were applied to it.
    sequences: Vec<u64>,
    /// Lists of deletions, each ascending, and what the numbers of their ids stand for.
    lists: Vec<(Arc<Vec<Deletion<F>>>, Naming)>,
    /// For a hash of each fingerprint of the lists a 1.
    filter: BitVec<usize>,
}

impl<F: Fingerprint> Hiding<F> {
    /// What `lists` hide in segments to which deletions up to these sequences were applied.
    pub(crate) fn new(sequences: Vec<u64>, lists: Vec<(Arc<Vec<Deletion<F>>>, Naming)>) -> Self {
        // What no segment needs to know any more hides nothing.
        let least = sequences.iter().copied().min().unwrap_or(u64::MAX);
        let needed = |list: &[Deletion<F>]| list.iter().any(|at| at.sequence > least);
        let lists: Vec<_> = lists.into_iter().filter(|(list, _)| needed(list)).collect();
        let count: usize = lists.iter().map(|(list, _)| list.len()).sum();
        let places = if count == 0 { 0 } else { (count * FILTER_BITS).next_power_of_two() };
        let mut filter = bitvec![0; places];
        for deletion in lists.iter().flat_map(|(list, _)| list.iter()) {
            filter.set(place(deletion.fingerprint, places), true);
        }
        Self { sequences, lists, filter }
    }

    /// Whether nothing is hidden.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.lists.is_empty()
    }

    /// Number of deletions, some of which may have nothing to hide.
    pub(crate) fn len(&self) -> u64 {
        self.lists.iter().map(|(list, _)| list.len() as u64).sum()
    }

    /// Up to which sequence deletions were applied to a segment.
    pub(crate) fn sequence(&self, segment: usize) -> u64 {
        self.sequences.get(segment).copied().unwrap_or(0)
    }

    /// The lists of deletions.
    pub(crate) fn lists(&self) -> &[(Arc<Vec<Deletion<F>>>, Naming)] {
        &self.lists
    }

    /// All deletions.
    pub(crate) fn deletions(&self) -> impl Iterator<Item = &Deletion<F>> {
        self.lists.iter().flat_map(|(list, _)| list.iter())
    }

    /// Whether something of `fingerprint` may be hidden somewhere.
    #[inline]
    pub(crate) fn touches(&self, fingerprint: F) -> bool {
        !self.is_empty() && self.filter[place(fingerprint, self.filter.len())]
    }

    /// What is hidden of `fingerprint` in a segment with this naming.
    pub(crate) fn of(&self, segment: usize, fingerprint: F, naming: &Naming) -> Result<Hidden> {
        if !self.touches(fingerprint) {
            return Ok(Hidden::Nothing);
        }
        let sequence = self.sequence(segment);
        let mut ids = Vec::new();
        for (list, of_list) in &self.lists {
            let start = list.partition_point(|deletion| deletion.fingerprint < fingerprint);
            let of_fingerprint = list[start..].iter();
            for deletion in of_fingerprint.take_while(|at| at.fingerprint == fingerprint) {
                match deletion.scope {
                    _ if deletion.sequence <= sequence => {}
                    Scope::Whole => return Ok(Hidden::Whole),
                    Scope::Id(id) => ids.push((id, of_list.clone())),
                }
            }
        }
        Hidden::of_ids(ids.into_iter(), naming)
    }

    /// Bytes of memory.
    pub(crate) fn heap_bytes(&self) -> u64 {
        self.len() * size_of::<Deletion<F>>() as u64 + self.filter.len() as u64 / 8
    }
}

/// The place of a fingerprint in a filter of so many, a power of two.
#[inline]
fn place<F: Fingerprint>(fingerprint: F, places: usize) -> usize {
    let hash = words(fingerprint).fold(0, |hash: u64, word| {
        (hash.rotate_left(32) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    });
    (hash >> 20) as usize & (places - 1)
}
