//! How many of many words have each bit set: counters that stand upright.
//!
//! Sixty-four counters beside each other would take sixty-four additions for each word. Here plane
//! `i` holds bit `i` of all counters, so that one operation on a plane works on all of them:
//!
//! ```text
//!              bit  63 62 61 ...  2  1  0
//! planes[2]          0  1  1      0  0  1     4s
//! planes[1]          1  1  0      1  0  1     2s
//! planes[0]          0  1  1      1  0  0     1s
//!                    |  |  |      |  |  |
//!   counts           2  7  5      3  0  6
//! ```
//!
//! Sixteen words at a time go through a tree of fifteen carry-save adders (Harley and Seal; Muła,
//! Kurz, Lemire 2018), of five operations each, and only its one carry ripples on: some six
//! operations for each word of 64 bits.

const TREE: usize = 16;
/// More than 2^56 features of one text do not fit into any memory.
const PLANES: usize = 64;

/// Counts, for each bit of `L` limbs, the words in which it is set.
#[derive(Clone, Debug)]
pub(crate) struct BitCounts<const L: usize> {
    planes: [[u64; L]; PLANES],
    // No plane from here on has a bit.
    used: usize,
    waiting: [[u64; L]; TREE],
    waits: usize,
    total: u64,
}

impl<const L: usize> BitCounts<L> {
    /// Nothing counted.
    pub(crate) fn new() -> BitCounts<L> {
        BitCounts { planes: [[0; L]; PLANES], used: 4, waiting: [[0; L]; TREE], waits: 0, total: 0 }
    }

    /// Forgets what was counted.
    pub(crate) fn clear(&mut self) {
        self.planes[..self.used].fill([0; L]);
        self.used = 4;
        self.waits = 0;
        self.total = 0;
    }

    /// Counts `word` once.
    #[inline]
    pub(crate) fn add(&mut self, word: [u64; L]) {
        // The mask says to the compiler what `waits` is always below.
        self.waiting[self.waits % TREE] = word;
        self.waits += 1;
        if self.waits == TREE {
            self.settle();
        }
    }

    /// Counts `word` `weight` times. The sum of all weights must stay below 2^63.
    pub(crate) fn add_weighted(&mut self, word: [u64; L], weight: u64) {
        self.total += weight;
        let mut left = weight;
        while left != 0 {
            self.ripple(word, left.trailing_zeros() as usize);
            left &= left - 1;
        }
    }

    /// In which bits more than half of all that was counted had a one, the half rounded down.
    pub(crate) fn majority(&mut self) -> [u64; L] {
        self.waiting[self.waits..].fill([0; L]);
        self.settle();
        let half = self.total / 2;
        std::array::from_fn(|limb| {
            // All counters are compared with `half` at once, from their highest bit on.
            let (mut greater, mut equal) = (0, u64::MAX);
            for (index, plane) in self.planes[..self.used].iter().enumerate().rev() {
                let half = if half >> index & 1 == 1 { u64::MAX } else { 0 };
                greater |= equal & plane[limb] & !half;
                equal &= !(plane[limb] ^ half);
            }
            if half >> self.used == 0 { greater } else { 0 }
        })
    }

    /// Adds up the words that wait.
    #[inline]
    fn settle(&mut self) {
        self.total += self.waits as u64;
        self.waits = 0;
        let mut carry = [0; L];
        for (limb, carry) in carry.iter_mut().enumerate() {
            let word = |index: usize| self.waiting[index][limb];
            let mut ones = self.planes[0][limb];
            let mut twos = self.planes[1][limb];
            let mut fours = self.planes[2][limb];
            let mut eights = self.planes[3][limb];
            let mut quarter = |at: usize| {
                let two_a = full_add(&mut ones, word(at), word(at + 1));
                let two_b = full_add(&mut ones, word(at + 2), word(at + 3));
                full_add(&mut twos, two_a, two_b)
            };
            let four_a = quarter(0);
            let four_b = quarter(4);
            let four_c = quarter(8);
            let four_d = quarter(12);
            let eight_a = full_add(&mut fours, four_a, four_b);
            let eight_b = full_add(&mut fours, four_c, four_d);
            *carry = full_add(&mut eights, eight_a, eight_b);
            self.planes[0][limb] = ones;
            self.planes[1][limb] = twos;
            self.planes[2][limb] = fours;
            self.planes[3][limb] = eights;
        }
        self.ripple(carry, 4);
    }

    /// Adds `word` to the counters at plane `from`.
    #[inline]
    fn ripple(&mut self, mut word: [u64; L], from: usize) {
        let mut plane = from;
        while word.iter().any(|limb| *limb != 0) && plane < PLANES {
            for (kept, limb) in self.planes[plane].iter_mut().zip(&mut word) {
                let carry = *kept & *limb;
                *kept ^= *limb;
                *limb = carry;
            }
            plane += 1;
        }
        self.used = self.used.max(plane);
    }
}

/// Adds two bits to `sum` in every position; gives the carries.
#[inline]
fn full_add(sum: &mut u64, a: u64, b: u64) -> u64 {
    let half = *sum ^ a;
    let carry = *sum & a | half & b;
    *sum = half ^ b;
    carry
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::Stream;

    /// One counter after the other.
    fn plain<const L: usize>(words: &[([u64; L], u64)]) -> [u64; L] {
        let total: u64 = words.iter().map(|(_, weight)| weight).sum();
        std::array::from_fn(|limb| {
            let counts = (0..64).map(|bit| {
                words.iter().map(|(word, weight)| (word[limb] >> bit & 1) * weight).sum::<u64>()
            });
            counts
                .enumerate()
                .fold(0, |bits, (bit, count)| bits | u64::from(count > total / 2) << bit)
        })
    }

    fn check<const L: usize>(count: usize, heavy: bool) {
        let mut stream = Stream::new(count as u64);
        let words: Vec<_> = (0..count)
            .map(|_| {
                // Bits of different probability, so that counters come near one half and far from
                // it.
                let word = std::array::from_fn(|_| stream.next() & (stream.next() | 0xffff_ffff));
                (word, if heavy { stream.next() >> 40 } else { 1 })
            })
            .collect();
        let mut counts = BitCounts::<L>::new();
        for round in 0..2 {
            counts.clear();
            for (word, weight) in &words {
                if heavy { counts.add_weighted(*word, *weight) } else { counts.add(*word) }
            }
            assert_eq!(counts.majority(), plain(&words), "{count} words, round {round}");
        }
    }

    #[test]
    fn the_majority_is_that_of_single_counters() {
        for count in (0..70).chain([127, 128, 129, 1000, 4097]) {
            check::<1>(count, false);
            check::<2>(count, false);
            check::<4>(count, false);
            check::<1>(count, true);
            check::<4>(count, true);
        }
    }

    #[test]
    fn a_tie_is_a_zero() {
        let mut counts = BitCounts::<1>::new();
        counts.add([0b01]);
        counts.add([0b11]);
        assert_eq!(counts.majority(), [0b01]);
    }
}
