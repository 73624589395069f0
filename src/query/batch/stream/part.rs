//! A part of the bits, and the queries in its order.

use super::kernel::Entries;
use crate::fingerprint::Fingerprint;
use crate::query::join::flips;
use crate::tasks;

/// Some bits that follow each other, and how many of them may differ: what the top of a table is in a design.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// The first bit, 0 for the most significant one, and how many there are.
    pub(super) start: u32,
    pub(super) bits: u32,
    /// How many of them may differ.
    pub(super) most: u32,
    /// Leading bits of the part by which queries are looked up, and by how many keys are cut at most: so far they are
    /// in order.
    pub(super) listed_bits: u32,
    pub(super) cut_bits: u32,
}

impl Part {
    /// A key, or the difference of two, with the bits of the part in front.
    #[inline(always)]
    pub(super) fn turn<F: Fingerprint>(&self, key: u64) -> u64 {
        turn::<F>(key, self.start)
    }

    /// The key of what [`Self::turn`] gave.
    #[inline(always)]
    pub(super) fn turn_back<F: Fingerprint>(&self, turned: u64) -> u64 {
        turn::<F>(turned, (F::BITS - self.start) % F::BITS)
    }

    /// Whether pairs with this difference of their keys are found under the part.
    #[inline(always)]
    pub(super) fn admits<F: Fingerprint>(&self, difference: u64) -> bool {
        let in_part = self.turn::<F>(difference) >> (64 - self.bits);
        in_part.count_ones() <= self.most
    }
}

/// Turns the bits of a key, which stand in front, to the left.
#[inline(always)]
fn turn<F: Fingerprint>(key: u64, by: u32) -> u64 {
    if F::BITS == u32::BITS {
        u64::from(((key >> 32) as u32).rotate_left(by)) << 32
    } else {
        key.rotate_left(by)
    }
}

/// Most queries that are listed: their places have 32 bits.
pub(super) const MOST_QUERIES: u64 = u32::MAX as u64;

/// The queries in the order of a part, and where those with equal leading bits stand.
pub(super) struct Queries {
    pub(super) part: Part,
    upper: Vec<u32>,
    lower: Vec<u32>,
    /// For each value of the leading bits where its queries start, and the end of all.
    starts: Vec<u32>,
    /// How leading bits may differ.
    flips: Vec<u32>,
}

impl Queries {
    /// The queries with these keys, which ascend strictly: no more than [`MOST_QUERIES`]. Runs in the current pool.
    pub(super) fn new<F: Fingerprint>(keys: &[u64], part: Part) -> Self {
        let mut turned = Vec::new();
        let sorted = if part.start == 0 {
            keys
        } else {
            turned.extend(keys.iter().map(|&key| part.turn::<F>(key)));
            tasks::sort_unstable(&mut turned);
            &turned
        };
        let values = 1usize << part.listed_bits;
        let mut starts = Vec::with_capacity(values + 1);
        for (at, &key) in sorted.iter().enumerate() {
            let value = leading(key, part.listed_bits);
            starts.resize(starts.len().max(value + 1), at as u32);
        }
        starts.resize(values + 1, sorted.len() as u32);
        Self {
            part,
            upper: sorted.iter().map(|key| (key >> 32) as u32).collect(),
            lower: sorted.iter().map(|&key| key as u32).collect(),
            starts,
            flips: flips(part.listed_bits, part.most),
        }
    }

    /// How many times as many queries as of uniform ones have the bits, as far as keys are cut by them, of an average query.
    pub(super) fn skew(&self) -> f64 {
        let cut_bits = self.part.cut_bits;
        let value = |upper: u32| leading(u64::from(upper) << 32, cut_bits);
        let alike = self.upper.chunk_by(|one, other| value(*one) == value(*other));
        let squares: f64 = alike.map(|queries| (queries.len() as f64).powi(2)).sum();
        let all = self.upper.len() as f64;
        squares / all.max(1.0) / (1.0 + all / f64::from(cut_bits).exp2())
    }

    /// The queries whose leading bits differ from those of `key` in no more than may, some after some.
    pub(super) fn near(&self, key: u64) -> impl Iterator<Item = Entries<'_>> {
        let value = leading(key, self.part.listed_bits);
        self.flips.iter().map(move |&flip| {
            let other = value ^ flip as usize;
            let range = self.starts[other] as usize..self.starts[other + 1] as usize;
            Entries::new(&self.upper[range.clone()], &self.lower[range])
        })
    }
}

/// The leading bits of a key.
#[inline(always)]
fn leading(key: u64, bits: u32) -> usize {
    key.unbounded_shr(64 - bits) as usize
}
