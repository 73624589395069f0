//! A part of the bits, and the queries in its order.

use super::kernel::Entries;
use crate::cover::Claim;
use crate::fingerprint::Fingerprint;
use crate::flips;
use crate::format::BitRange;
use crate::permute::Permutation;
use crate::table::Table;
use crate::tasks;

/// Some bits, and how many of them may differ: what the top of a table is in a design.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Part {
    /// Brings its bits to the front of a key.
    pub(super) permutation: Permutation,
    /// How many there are.
    pub(super) bits: u32,
    /// How many of them may differ.
    pub(super) most: u32,
    /// Leading bits of the part by which queries are looked up, and by how many keys are cut at
    /// most: so far they are in order.
    pub(super) listed_bits: u32,
    pub(super) cut_bits: u32,
}

impl Part {
    /// So many bits of a fingerprint from `start` on. The others follow as they do in a ring.
    pub(super) fn of_range<F: Fingerprint>(start: u32, bits: u32, most: u32) -> Self {
        let (first, rest) = (start as u8, (F::BITS - start) as u8);
        let permutation = Permutation::new(&[BitRange { start: first, bits: rest }]);
        Self { permutation, bits, most, listed_bits: 0, cut_bits: bits }
    }

    /// The top of a table.
    pub(super) fn of_table(table: &Table, most: u32) -> Self {
        let (permutation, bits) = (table.permutation().clone(), table.permutation().top_bits());
        Self { permutation, bits, most, listed_bits: 0, cut_bits: bits }
    }

    /// Whether a table of fingerprints is in the order of the part.
    pub(super) fn is_order_of(&self, permutation: &Permutation) -> bool {
        self.permutation == *permutation || self.is_identity() && permutation.is_identity()
    }

    /// Whether fingerprints begin with the part.
    pub(super) fn is_identity(&self) -> bool {
        self.permutation.is_identity()
    }

    /// A key of the identity table, or the difference of two, with the bits of the part in front.
    #[inline(always)]
    pub(super) fn turn(&self, key: u64) -> u64 {
        self.permutation.key(key)
    }

    /// The key of what [`Self::turn`] gave.
    #[inline(always)]
    pub(super) fn turn_back(&self, turned: u64) -> u64 {
        self.permutation.fingerprint(turned)
    }

    /// What it finds, as bits of a key of the identity table.
    pub(super) fn claim(&self) -> Claim {
        let mask = self.turn_back(u64::MAX << (u64::BITS - self.bits));
        Claim { mask, flips: self.most }
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
    /// The queries with these keys, which ascend strictly: no more than [`MOST_QUERIES`]. Runs in
    /// the current pool.
    pub(super) fn new(keys: &[u64], part: &Part) -> Self {
        let mut turned = Vec::new();
        let sorted = if part.is_identity() {
            keys
        } else {
            turned.extend(keys.iter().map(|&key| part.turn(key)));
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
            part: part.clone(),
            upper: sorted.iter().map(|key| (key >> 32) as u32).collect(),
            lower: sorted.iter().map(|&key| key as u32).collect(),
            starts,
            flips: flips::list(part.listed_bits, part.most),
        }
    }

    /// How many times as many queries as of uniform ones have the bits, as far as keys are cut by
    /// them, of an average query.
    pub(super) fn skew(&self) -> f64 {
        let cut_bits = self.part.cut_bits;
        let value = |upper: u32| leading(u64::from(upper) << 32, cut_bits);
        let alike = self.upper.chunk_by(|one, other| value(*one) == value(*other));
        let squares: f64 = alike.map(|queries| (queries.len() as f64).powi(2)).sum();
        let all = self.upper.len() as f64;
        squares / all.max(1.0) / (1.0 + all / f64::from(cut_bits).exp2())
    }

    /// The queries whose leading bits differ from those of `key` in no more than may, some after
    /// some.
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
