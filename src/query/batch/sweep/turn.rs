//! Brings keys into the order of a further part, in two steps that stay in the second cache.
//!
//! What is read at a time is distributed by the first bits of the part at once, and kept so. Later,
//! the keys with the same first bits are collected from all that was kept, and distributed by the
//! bits that follow. One distribution of all over as many values takes two to four times as long,
//! since it writes to thousands of places in memory by turns.

use super::part::Part;

/// Bits of the first step.
const FIRST_BITS: u32 = 9;
/// Most bits of the second one: its counts stay in the first cache.
const MOST_SECOND_BITS: u32 = 12;
/// Bits by which keys are in order at most.
pub(super) const MOST_BITS: u32 = FIRST_BITS + MOST_SECOND_BITS;
/// Keys that are collected together at most, unless those of one piece are more.
const COLLECTED: usize = 1 << 16;
/// Bytes of a [`Collector`], where no piece has more keys.
pub(super) const COLLECTOR_BYTES: u64 = (2 * size_of::<u64>() * COLLECTED) as u64;
/// Values of the first step.
pub(super) const VALUES: usize = 1 << FIRST_BITS;

/// Some keys with the bits of a part in front, in the order of the first of them.
pub(super) struct Turned {
    keys: Vec<u64>,
    ends: Vec<u32>,
}

impl Turned {
    /// Of keys in any order, fewer than 2^32.
    pub(super) fn new(keys: &[u64], part: &Part) -> Self {
        let mut turned = vec![0; keys.len()];
        let ends = distribute(
            keys.iter().map(|&key| part.turn(key)),
            u64::BITS - FIRST_BITS,
            FIRST_BITS,
            &mut turned,
        );
        Self { keys: turned, ends }
    }

    fn of_value(&self, value: usize) -> &[u64] {
        let start = value.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.keys[start as usize..self.ends[value] as usize]
    }
}

/// Room for keys with the same first bits.
#[derive(Default)]
pub(super) struct Collector {
    collected: Vec<u64>,
    sorted: Vec<u64>,
}

impl Collector {
    /// Calls `found` with the keys of all `pieces` that begin with `value`, in the order of their
    /// first `bits` bits: some of them, and then others, where they are very many.
    pub(super) fn collect(
        &mut self,
        mut pieces: &[Turned],
        value: usize,
        bits: u32,
        mut found: impl FnMut(&[u64]),
    ) {
        while let Some((first, rest)) = pieces.split_first() {
            pieces = rest;
            self.collected.clear();
            self.collected.extend_from_slice(first.of_value(value));
            while let Some((next, rest)) = pieces.split_first()
                && self.collected.len() + next.of_value(value).len() <= COLLECTED
            {
                self.collected.extend_from_slice(next.of_value(value));
                pieces = rest;
            }
            let second_bits = bits.saturating_sub(FIRST_BITS).min(MOST_SECOND_BITS);
            if second_bits == 0 {
                found(&self.collected);
                continue;
            }
            self.sorted.resize(self.collected.len(), 0);
            let keys = self.collected.iter().copied();
            distribute(keys, u64::BITS - FIRST_BITS - second_bits, second_bits, &mut self.sorted);
            found(&self.sorted);
        }
    }
}

/// Writes keys to `to`, which has their number, in the order of so many bits from bit `shift` on.
/// Gives where each value ends.
#[inline(always)]
fn distribute(
    keys: impl Iterator<Item = u64> + Clone,
    shift: u32,
    bits: u32,
    to: &mut [u64],
) -> Vec<u32> {
    let mask = (1 << bits) - 1;
    let digit = |key: u64| (key >> shift) as usize & mask;
    let mut ends = vec![0u32; 1 << bits];
    keys.clone().for_each(|key| ends[digit(key)] += 1);
    let mut sum = 0;
    for end in &mut ends {
        sum += std::mem::replace(end, sum);
    }
    // What was the start of a value becomes its end.
    for key in keys {
        let at = &mut ends[digit(key)];
        to[*at as usize] = key;
        *at += 1;
    }
    ends
}

#[cfg(test)]
mod tests {
    use super::super::super::tests::set;
    use super::*;

    #[test]
    fn all_keys_of_a_value_come_in_order_some_at_a_time() {
        let part = Part::of_range::<u64>(32, 32, 1);
        for kind in 0..5 {
            for bits in [0, 5, FIRST_BITS, 15, MOST_BITS] {
                let keys = set(150_000, 7, kind);
                let pieces: Vec<Turned> =
                    keys.chunks(20_000).map(|keys| Turned::new(keys, &part)).collect();
                let (mut collector, mut all) = (Collector::default(), Vec::new());
                for value in 0..VALUES {
                    collector.collect(&pieces, value, bits, |keys| {
                        assert!(keys.len() <= COLLECTED);
                        assert!(
                            keys.iter().all(|key| (key >> (64 - FIRST_BITS)) as usize == value)
                        );
                        let first = |key: &u64| key.unbounded_shr(64 - bits);
                        assert!(keys.is_sorted_by_key(first));
                        all.extend_from_slice(keys);
                    });
                }
                let mut expected: Vec<u64> = keys.iter().map(|key| key.rotate_left(32)).collect();
                expected.sort_unstable();
                all.sort_unstable();
                assert!(all == expected, "{kind} {bits}");
            }
        }
    }
}
