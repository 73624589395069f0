//! All pairs of sets with a Jaccard similarity, exactly.
//!
//! SpotSigs partitions documents by the length of their sets, and prunes its inverted index by the
//! rarest spots (Theobald, Siddharth, Paepcke, SIGIR 2008). Here this is done to the last document:
//! all sets have their values in one order, the rarest first, and
//!
//! * two sets of n and m values that agree to p percent have m between p n / 100 and 100 n / p: the
//!   postings of a value are sorted by length, and a search reads only that range;
//! * of n values they have at least ceil(p n / 100) in common, so that among the first n - ceil(p n
//!   / 100) + 1 of each is one that is in both: only these *prefixes* are in the index and looked
//!   up (Chaudhuri, Ganti, Kaushik 2006; Bayardo, Ma, Srikant 2007).
//!
//! What is left is compared value by value.

use std::collections::HashMap;

use crate::overlap::overlap;
use crate::table::Counts;

/// Sets in which those are found that are similar to one, or to each other.
///
/// Memory is that of the sets, at 4 bytes per value, and of the index: some 8 bytes for each value
/// of a prefix.
///
/// ```
/// use fpstore_text::JaccardIndex;
///
/// let index = JaccardIndex::new(&[vec![1, 2, 3], vec![2, 3, 4], vec![7, 8]], 50);
/// assert_eq!(index.search(&[1, 2, 3, 9]), [(0, 0.75)]);
/// let mut pairs = Vec::new();
/// index.pairs(|a, b, similarity| pairs.push((a, b, similarity)));
/// assert_eq!(pairs, [(0, 1, 0.5)]);
/// ```
#[derive(Clone, Debug)]
pub struct JaccardIndex {
    percent: u64,
    // The values by how rare they are, the rarest first.
    ranks: HashMap<u64, u32>,
    sets: Vec<Vec<u32>>,
    // For each rank, lengths and numbers of the sets that have it in their prefix, the shortest
    // first.
    postings: Vec<Vec<(u32, u32)>>,
}

impl JaccardIndex {
    /// An index of sets, each ascending and without repetition, for a similarity of at least
    /// `percent` (1 to 100) percent.
    ///
    /// Sets beyond the first 2^32 are not taken.
    #[must_use]
    pub fn new<S: AsRef<[u64]>>(sets: &[S], percent: u32) -> JaccardIndex {
        let percent = u64::from(percent.clamp(1, 100));
        let mut counts = Counts::default();
        for value in sets.iter().flat_map(|set| set.as_ref()) {
            *counts.entry(*value).or_default() += 1;
        }
        let mut rarest: Vec<(u64, u64)> =
            counts.into_iter().map(|(value, count)| (count, value)).collect();
        rarest.sort_unstable();
        let ranks: HashMap<u64, u32> =
            (0..u32::MAX).zip(&rarest).map(|(rank, (_, value))| (*value, rank)).collect();
        let ranked =
            sets.iter().take(u32::MAX as usize).map(|set| ranked(&ranks, set.as_ref()).0).collect();
        let mut index =
            JaccardIndex { percent, postings: vec![Vec::new(); ranks.len()], ranks, sets: ranked };
        for (number, set) in (0..u32::MAX).zip(&index.sets) {
            for rank in &set[..index.prefix(set.len())] {
                index.postings[*rank as usize].push((set.len() as u32, number));
            }
        }
        index.postings.iter_mut().for_each(|postings| postings.sort_unstable());
        index
    }

    /// The sets that are similar enough to `set`, which is ascending and without repetition: their
    /// numbers, ascending, and similarities.
    #[must_use]
    pub fn search(&self, set: &[u64]) -> Vec<(usize, f64)> {
        let (ranks, unknown) = ranked(&self.ranks, set);
        // Values that no set has are the rarest of all.
        let mut found = self.similar(
            &ranks,
            ranks.len() + unknown,
            self.prefix(set.len()).saturating_sub(unknown),
            0,
        );
        found.sort_unstable_by_key(|(number, _)| *number);
        found
    }

    /// Gives `each` every pair of similar sets once, the lesser number first, ordered by it.
    pub fn pairs(&self, mut each: impl FnMut(usize, usize, f64)) {
        for (number, set) in self.sets.iter().enumerate() {
            let mut found = self.similar(set, set.len(), self.prefix(set.len()), number + 1);
            found.sort_unstable_by_key(|(other, _)| *other);
            found.into_iter().for_each(|(other, similarity)| each(number, other, similarity));
        }
    }

    /// How many values of a set of `len` are looked up.
    fn prefix(&self, len: usize) -> usize {
        let len = len as u64;
        (len - (self.percent * len).div_ceil(100) + u64::from(len > 0)) as usize
    }

    /// The sets from number `from` on that are similar to one of `len` values, of which the index
    /// knows `ranks`.
    fn similar(&self, ranks: &[u32], len: usize, prefix: usize, from: usize) -> Vec<(usize, f64)> {
        let (least, most) =
            ((self.percent * len as u64).div_ceil(100), 100 * len as u64 / self.percent);
        let mut candidates: Vec<u32> = Vec::new();
        for rank in &ranks[..prefix.min(ranks.len())] {
            let postings = &self.postings[*rank as usize];
            let start = postings.partition_point(|(other, _)| u64::from(*other) < least);
            let of_length =
                postings[start..].iter().take_while(|(other, _)| u64::from(*other) <= most);
            candidates.extend(
                of_length.map(|(_, number)| *number).filter(|number| *number as usize >= from),
            );
        }
        candidates.sort_unstable();
        candidates.dedup();
        let compared = candidates.into_iter().filter_map(|number| {
            let other = &self.sets[number as usize];
            let common = overlap(ranks, other);
            let all = len + other.len() - common;
            (100 * common as u64 >= self.percent * all as u64)
                .then(|| (number as usize, common as f64 / all as f64))
        });
        compared.collect()
    }
}

/// The ranks of the values that have one, ascending, and how many have none.
fn ranked(ranks: &HashMap<u64, u32>, set: &[u64]) -> (Vec<u32>, usize) {
    let mut known: Vec<u32> = set.iter().filter_map(|value| ranks.get(value).copied()).collect();
    known.sort_unstable();
    let unknown = set.len() - known.len();
    (known, unknown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signature::jaccard;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_index_finds_what_comparing_all_finds(
            sets in prop::collection::vec(prop::collection::btree_set(0..40u64, 0..14), 0..30),
            set in prop::collection::btree_set(0..60u64, 0..14),
            percent in 1..=100u32,
        ) {
            let sets: Vec<Vec<u64>> = sets.into_iter().map(|set| set.into_iter().collect()).collect();
            let set: Vec<u64> = set.into_iter().collect();
            let threshold = f64::from(percent) / 100.0;
            let index = JaccardIndex::new(&sets, percent);

            let near = |a: &[u64], b: &[u64]| Some(jaccard(a, b)).filter(|similarity| *similarity >= threshold);
            let all = |set: &[u64], from: usize| -> Vec<(usize, f64)> {
                (from..sets.len()).filter_map(|number| Some((number, near(set, &sets[number])?))).collect()
            };
            prop_assert_eq!(index.search(&set), all(&set, 0));
            let mut pairs = Vec::new();
            index.pairs(|a, b, similarity| pairs.push((a, b, similarity)));
            let expected: Vec<(usize, usize, f64)> = (0..sets.len())
                .flat_map(|number| all(&sets[number], number + 1).into_iter().map(move |(other, similarity)| (number, other, similarity)))
                .collect();
            prop_assert_eq!(pairs, expected);
        }
    }
}
