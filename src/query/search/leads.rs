//! Where keys of short tables lead to.

use super::work::Ask;
use crate::segment::Tables;
use crate::snapshot::union::Match;
use crate::table::Lead;

/// Leads among which it is not looked for equal ones yet.
const FEW: usize = 1 << 10;

/// The leads of a search in a segment, some of them several times: of many keys that are alike
/// there is one.
#[derive(Default)]
pub(super) struct Leads {
    list: Vec<Lead>,
    /// How many there may be before equal ones are removed.
    room: usize,
    /// How many different ones there may be.
    most: usize,
    is_exceeded: bool,
}

impl Leads {
    /// Forgets all. There may be `most` different ones.
    #[inline(always)]
    pub(super) fn start(&mut self, most: usize) {
        self.list.clear();
        (self.room, self.most, self.is_exceeded) = (FEW, most, false);
    }

    #[inline]
    pub(super) fn push(&mut self, lead: Lead) {
        // Equal keys stand side by side.
        if self.list.last() == Some(&lead) {
            return;
        }
        if self.list.len() == self.room {
            self.remove_equal();
        }
        if !self.is_exceeded {
            self.list.push(lead);
        }
    }

    /// Whether there are more different ones than there may be.
    #[inline]
    pub(super) fn is_exceeded(&self) -> bool {
        self.is_exceeded
    }

    #[cold]
    fn remove_equal(&mut self) {
        self.list.sort_unstable();
        self.list.dedup();
        self.room = FEW.max(2 * self.list.len());
        if self.list.len() > self.most {
            self.is_exceeded = true;
            self.list.clear();
        }
    }

    /// Unites equal ones. Gives how many there are; `None` if they are too many.
    #[inline(always)]
    pub(super) fn unite(&mut self) -> Option<usize> {
        if self.list.is_empty() && !self.is_exceeded { Some(0) } else { self.unite_some() }
    }

    #[inline(never)]
    fn unite_some(&mut self) -> Option<usize> {
        self.list.sort_unstable();
        self.list.dedup();
        let count = self.list.len();
        (!self.is_exceeded && count <= self.most).then_some(count)
    }

    /// All of them.
    pub(super) fn all(&self) -> &[Lead] {
        &self.list
    }
}

/// Adds a key of a table of a segment, which differs from the query in so many bits, to the
/// matches, or where it leads to.
#[inline(always)]
pub(super) fn tell(
    (segment, number): (&Tables, usize),
    (key, distance): (u64, u32),
    ask: Ask,
    (leads, matches): (&mut Leads, &mut Vec<Match>),
) {
    let table = &segment.all()[number];
    let fingerprint = table.permutation().fingerprint(key);
    match table.is_short() {
        true => leads.push(segment.lead(number, fingerprint)),
        false => ask.tell(matches, fingerprint, distance),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lead(number: u64) -> Lead {
        Lead { prefix: number << 40, bits: 24 }
    }

    #[test]
    fn each_comes_once_and_too_many_are_none() {
        let mut leads = Leads::default();
        leads.start(3000);
        for i in 0..1 << 16 {
            leads.push(lead(i % 3000));
        }
        assert!(leads.list.capacity() < 1 << 14);
        let expected: Vec<Lead> = (0..3000).map(lead).collect();
        assert_eq!((leads.unite(), leads.all()), (Some(3000), &expected[..]));
        for count in [3001, 1 << 16] {
            leads.start(3000);
            (0..count).for_each(|i| leads.push(lead(i)));
            assert_eq!(leads.unite(), None, "{count}");
        }
        assert!(leads.list.capacity() < 1 << 14);
        leads.start(0);
        assert_eq!((leads.unite(), leads.all()), (Some(0), &[][..]));
    }
}
