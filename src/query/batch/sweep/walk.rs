//! Goes down the bits of keys that ascend, with the list of the queries that may match below.
//!
//! A list begins with the queries whose leading bits are near those of the keys. Where keys and
//! queries of a list are many, the keys are cut by some more bits, and for each value of these the
//! list is sifted. What is left is compared. So work adapts itself to how keys and queries are
//! distributed, and nothing is stored for a query but the query.

use std::ops::Range;

use super::kernel::{Entries, Kernel, LANES, Near, Room, Within};
use super::part::{Part, Queries};
use super::steps::{self, Step};
use crate::block::within;
use crate::cover::{self, Differs};
use crate::fingerprint::{Fingerprint, of_key};
use crate::query::join::Found;
use crate::simd::{Level, Work};

/// Queries that a list begins with at most: with the lists below it, they stay in the second cache.
const LISTED: usize = 1 << 14;
/// Pairs that are compared before it is looked what was found, unless a list is longer; and the
/// fewest keys of them.
const COMPARED: usize = 1 << 14;
const FEWEST_KEYS: usize = 4;
/// Queries of a list at most, and keys at least, that are compared key by key instead of query by
/// query.
const FEW_QUERIES: usize = 5;
const MANY_KEYS: usize = 16;
/// Keys among which the end of a group is searched for at first.
const SEARCHED: usize = 1 << 5;

/// Entries of all lists together: a list has at most half as many as the one that it is sifted
/// from.
const ENTRIES: usize = 2 * LISTED + (u64::BITS as usize + 1) * LANES;
/// Bytes that a walk takes.
pub(super) const WALK_BYTES: u64 =
    (2 * size_of::<u32>() * ENTRIES + size_of::<Near>() * FEWEST_KEYS * LISTED) as u64;

/// Finds the pairs under one part.
pub(super) struct Walk<'a, K, F: Fingerprint> {
    kernel: K,
    level: Level,
    queries: &'a Queries,
    k: u32,
    /// Parts under which pairs are handed on instead.
    earlier: &'a [Part],
    /// The lists on the way down, each behind the one that it is sifted from.
    upper: Vec<u32>,
    lower: Vec<u32>,
    near: Vec<Near>,
    found: Found<'a, F>,
}

impl<'a, K: Kernel, F: Fingerprint> Walk<'a, K, F> {
    pub(super) fn new(
        (kernel, level): (K, Level),
        queries: &'a Queries,
        k: u32,
        earlier: &'a [Part],
        found: Found<'a, F>,
    ) -> Self {
        let (upper, lower) = (vec![0; ENTRIES], vec![0; ENTRIES]);
        Self { kernel, level, queries, k, earlier, upper, lower, near: Vec::new(), found }
    }

    /// Hands on the pairs of queries with `keys`, which have the bits of the part in front and are
    /// in the order of these.
    pub(super) fn join(&mut self, mut keys: &[u64]) {
        let depth = self.queries.part.listed_bits;
        while let Some(&first) = keys.first() {
            let (group, rest) = keys.split_at(group_len(keys, depth));
            keys = rest;
            let mut listed = 0;
            let queries = self.queries;
            for mut entries in queries.near(first) {
                while entries.len() > LISTED - listed {
                    let (fitting, others) = entries.split_at(LISTED - listed);
                    self.list(listed, fitting);
                    self.visit(group, depth, 0..LISTED);
                    (entries, listed) = (others, 0);
                }
                self.list(listed, entries);
                listed += entries.len();
            }
            self.visit(group, depth, 0..listed);
        }
    }

    /// Writes entries to the list that all begins with.
    #[inline]
    fn list(&mut self, at: usize, entries: Entries<'_>) {
        entries.copy_to(&mut self.upper[at..], &mut self.lower[at..]);
    }

    /// Hands on the pairs of keys, which agree in `depth` bits, with the queries of a list.
    fn visit(&mut self, mut keys: &[u64], depth: u32, list: Range<usize>) {
        let cut_bits = self.queries.part.cut_bits;
        let bits = match steps::step(keys.len(), list.len(), cut_bits - depth) {
            _ if list.is_empty() => return,
            Step::Compare => return self.compare(keys, list),
            Step::Split(bits) => bits,
        };
        // What all keys have in common is no reason to go down step by step.
        let common = match keys {
            [first, .., last] => (first ^ last).leading_zeros().min(cut_bits),
            _ => 0,
        };
        let next = common.max(depth + bits);
        while let Some(&first) = keys.first() {
            let (group, rest) = keys.split_at(group_len(keys, next));
            keys = rest;
            let sifted = self.sift(first, next, list.clone());
            self.visit(group, next, sifted);
        }
    }

    /// Those queries of a list that may match keys which agree with `key` in `depth` bits: a list
    /// behind it, or the same, where it would hardly be shorter.
    #[inline]
    fn sift(&mut self, key: u64, depth: u32, list: Range<usize>) -> Range<usize> {
        let (listed_upper, upper) = self.upper.split_at_mut(list.end);
        let (listed_lower, lower) = self.lower.split_at_mut(list.end);
        let entries = Entries::new(&listed_upper[list.clone()], &listed_lower[list.clone()]);
        let mask = !(u64::MAX.unbounded_shr(depth));
        // Behind the part any bits may differ.
        let part = &self.queries.part;
        let most = if depth <= part.bits { part.most } else { self.k };
        let within = Within { key, mask, most };
        let mut room = Room { upper, lower };
        let kept = if depth <= u32::BITS {
            self.kernel.sift::<true>(entries, within, &mut room)
        } else {
            self.kernel.sift::<false>(entries, within, &mut room)
        };
        if 2 * kept > list.len() { list } else { list.end..list.end + kept }
    }

    /// Hands on those pairs of keys and queries of a list that are within k.
    #[inline]
    fn compare(&mut self, keys: &[u64], list: Range<usize>) {
        if list.len() <= FEW_QUERIES && keys.len() >= MANY_KEYS {
            return self.compare_few(keys, list);
        }
        // So many at a time that the pairs of all of them have room.
        for keys in keys.chunks((COMPARED / list.len()).max(FEWEST_KEYS)) {
            let entries = Entries::new(&self.upper[list.clone()], &self.lower[list.clone()]);
            if F::BITS == u32::BITS {
                self.kernel.compare::<true>(entries, keys, self.k, &mut self.near);
            } else {
                self.kernel.compare::<false>(entries, keys, self.k, &mut self.near);
            }
            if !self.near.is_empty() {
                self.hand_on(keys, list.start);
            }
        }
    }

    /// As [`Self::compare`], of few queries with many keys: each with several keys at a time.
    #[inline]
    fn compare_few(&mut self, keys: &[u64], list: Range<usize>) {
        let entries = Entries::new(&self.upper[list.clone()], &self.lower[list.clone()]);
        self.level.run(Few { level: self.level, entries, keys, k: self.k, near: &mut self.near });
        if !self.near.is_empty() {
            self.hand_on(keys, list.start);
        }
    }

    /// Hands on the pairs that were found, but for those that are handed on under an earlier part,
    /// or a later one: a list may hold some queries that are not near enough in this.
    #[cold]
    fn hand_on(&mut self, keys: &[u64], start: usize) {
        let part = &self.queries.part;
        let entries = Entries::new(&self.upper[start..], &self.lower[start..]);
        for near in self.near.drain(..) {
            let query = part.turn_back(entries.get(near.entry as usize));
            let key = part.turn_back(keys[near.key as usize]);
            let differs = Differs::all(query ^ key);
            let earlier = self.earlier.iter().map(Part::claim);
            if part.claim().finds(differs) && cover::reports(earlier, differs) {
                self.found.push(of_key(query), of_key(key));
            }
        }
    }
}

/// A comparison of few queries with many keys.
struct Few<'a> {
    level: Level,
    entries: Entries<'a>,
    keys: &'a [u64],
    k: u32,
    near: &'a mut Vec<Near>,
}

impl Work for Few<'_> {
    type Output = ();

    #[inline(always)]
    fn work(self) {
        let Self { level, entries, keys, k, near } = self;
        for entry in 0..entries.len() {
            within(level, keys, (entries.get(entry), k), |key| {
                near.push(Near { entry: entry as u32, key: key as u32 });
            });
        }
    }
}

/// How many of `keys`, which ascend by so many bits, agree with the first in these. Takes time by
/// the logarithm of their number: the others may be many, and in no cache.
#[inline]
fn group_len(keys: &[u64], bits: u32) -> usize {
    let Some(&first) = keys.first() else { return 0 };
    let last = first | u64::MAX.unbounded_shr(bits);
    let is_within = |&key: &u64| key <= last;
    let (mut start, mut end) = (0, SEARCHED);
    while keys.get(end).is_some_and(is_within) {
        (start, end) = (end, 4 * end);
    }
    start + keys[start..end.min(keys.len())].partition_point(is_within)
}
