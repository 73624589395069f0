//! Prefixes that begin alike, in the representation of Elias and Fano: of each the last bits as
//! they are, its *tail*, and those before them, its *bucket*, by how many there are of each.
//!
//! A group stands in some words. The first ones tell for each bucket as many ones as it has
//! prefixes, and a zero: behind the last zero there are ones up to the end of a word. Then come the
//! tails, a byte each.

/// Bits of the number of a bucket.
pub(super) const BUCKET_BITS: u32 = 6;
/// Bits of a tail.
pub(super) const TAIL_BITS: u32 = 8;
/// Bits of a prefix behind those that all of a group have in common.
pub(super) const ENTRY_BITS: u32 = BUCKET_BITS + TAIL_BITS;

/// Zeros of a group.
const BUCKETS: usize = 1 << BUCKET_BITS;
const WORD_BITS: usize = u64::BITS as usize;
const TAILS: usize = size_of::<u64>();
/// A byte of 1 in each place.
const ONES: u64 = u64::MAX / 0xFF;

/// How far a tail may be from that of a query.
#[derive(Clone, Copy, Debug)]
pub(super) struct TailBudget {
    /// The bits that count.
    pub(super) mask: u8,
    /// How many of these may differ.
    pub(super) most: u32,
}

/// Words of a group of so many prefixes, at most.
pub(super) fn most_words(prefixes: usize) -> usize {
    (BUCKETS + prefixes).div_ceil(WORD_BITS) + prefixes.div_ceil(TAILS)
}

/// Appends a group of prefixes: of each the last [`ENTRY_BITS`] bits, ascending, all different.
pub(super) fn push(entries: &[u16], words: &mut Vec<u64>) {
    let (start, bits) = (words.len(), BUCKETS + entries.len());
    // Ones behind the last zero.
    words.resize(start + bits.div_ceil(WORD_BITS), 0);
    let unary = &mut words[start..];
    let mut set = |at: usize| unary[at / WORD_BITS] |= 1 << (at % WORD_BITS);
    for (number, entry) in entries.iter().enumerate() {
        set(number + usize::from(entry >> TAIL_BITS));
    }
    (bits..bits.next_multiple_of(WORD_BITS)).for_each(set);
    for tails in entries.chunks(TAILS) {
        let mut bytes = [0; TAILS];
        bytes.iter_mut().zip(tails).for_each(|(byte, entry)| *byte = *entry as u8);
        words.push(u64::from_le_bytes(bytes));
    }
}

/// Calls `found` with the entries of a group whose tails are so near to that of `query`.
#[inline(always)]
pub(super) fn near(words: &[u64], query: u16, tail: TailBudget, mut found: impl FnMut(u16)) {
    let (mut zeros, mut end) = (0, 0);
    while zeros < BUCKETS {
        let Some(word) = words.get(end) else { return };
        zeros += word.count_zeros() as usize;
        end += 1;
    }
    let (unary, tails) = words.split_at(end);
    let behind = unary[end - 1].leading_ones() as usize;
    let count = end * WORD_BITS - behind - BUCKETS;
    let (query, mask) = (u64::from(query as u8) * ONES, u64::from(tail.mask) * ONES);
    // With these, the highest bit of a byte is set where more bits than may differ do.
    let over = u64::from(0x7F - tail.most.min(TAIL_BITS) as u8) * ONES;
    // The word of the unary numbers that was looked at last, and the ones before it.
    let (mut at, mut before) = (0, 0);
    for (place, &word) in tails.iter().enumerate() {
        let mut near = !(ones_of_bytes((word ^ query) & mask) + over) & (ONES << 7);
        while near != 0 {
            let in_word = near.trailing_zeros() as usize / 8;
            near &= near - 1;
            let number = place * TAILS + in_word;
            if number >= count {
                return;
            }
            let mut ones = unary[at].count_ones() as usize;
            while number - before >= ones {
                before += ones;
                at += 1;
                ones = unary[at].count_ones() as usize;
            }
            let bit = at * WORD_BITS + select(unary[at], (number - before) as u32) as usize;
            found(((bit - number) << TAIL_BITS) as u16 | u16::from(word.to_le_bytes()[in_word]));
        }
    }
}

/// For each byte the number of its ones.
#[inline(always)]
fn ones_of_bytes(word: u64) -> u64 {
    let pairs = word - (word >> 1 & 0x5555_5555_5555_5555);
    let fours = (pairs & 0x3333_3333_3333_3333) + (pairs >> 2 & 0x3333_3333_3333_3333);
    (fours + (fours >> 4)) & 0x0F0F_0F0F_0F0F_0F0F
}

/// The place of the one of a word which has so many others below it.
#[inline(always)]
fn select(mut word: u64, mut below: u32) -> u32 {
    let mut place = 0;
    for bits in [32, 16, 8, 4, 2, 1] {
        let low = (word & ((1 << bits) - 1)).count_ones();
        let skip = below >= low;
        below -= if skip { low } else { 0 };
        let shift = if skip { bits } else { 0 };
        word >>= shift;
        place += shift;
    }
    place
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Entries whose number is like that of a set, and those of some full buckets.
    fn entries() -> impl Strategy<Value = Vec<u16>> {
        let some = prop::collection::btree_set(0u16..1 << ENTRY_BITS, 0..300);
        let full = prop::collection::vec(0u16..1 << BUCKET_BITS, 0..3);
        (some, full).prop_map(|(mut entries, full)| {
            for bucket in full {
                entries.extend((0..1 << TAIL_BITS).map(|tail| bucket << TAIL_BITS | tail));
            }
            entries.into_iter().collect()
        })
    }

    proptest! {
        #[test]
        fn near_tails_are_found(
            entries in entries(), query in 0u16..1 << ENTRY_BITS, mask: u8, most in 0u32..10, behind: u64,
        ) {
            let mut words = vec![behind];
            push(&entries, &mut words);
            prop_assert!(words.len() <= 1 + most_words(entries.len()));
            let mut found = Vec::new();
            near(&words[1..], query, TailBudget { mask, most }, |entry| found.push(entry));
            let is_near = |entry: &u16| ((entry ^ query) as u8 & mask).count_ones() <= most;
            let expected: Vec<u16> = entries.iter().copied().filter(is_near).collect();
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn the_ones_of_a_word_are_told(word: u64) {
            let mut rest = word;
            for below in 0..word.count_ones() {
                prop_assert_eq!(select(word, below), rest.trailing_zeros());
                rest &= rest - 1;
            }
        }
    }

    #[test]
    fn all_prefixes_of_a_group_can_be_there() {
        let all: Vec<u16> = (0..1 << ENTRY_BITS).collect();
        for entries in [&all[..], &[]] {
            let mut words = Vec::new();
            push(entries, &mut words);
            let mut found = Vec::new();
            near(&words, 0, TailBudget { mask: 0xFF, most: 8 }, |entry| found.push(entry));
            assert_eq!(found, entries);
        }
    }
}
