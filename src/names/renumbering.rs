//! How the numbers of names change when names of several files become those of one.
//!
//! The new numbers ascend as the old ones do. Those of 128 names are kept together: the first as it
//! is, and of each how much it is greater, as Elias and Fano do it (Elias, *Efficient storage and
//! retrieval by content and address of static files*, JACM 1974): the low bits packed, the others
//! as the places of ones among as many zeros as the number says. Where two files of n names become
//! one of 2n, that takes 4 bits a name; each doubling of the new file takes one bit more.

/// Names that stand together.
const TOGETHER: u64 = 128;

/// The new numbers of the names of one file.
#[derive(Default)]
pub(crate) struct Renumbering {
    len: u64,
    /// Of each 128 names.
    heads: Vec<Head>,
    words: Vec<u64>,
}

/// Of 128 names the new number of the first, and where the others stand.
#[derive(Clone, Copy)]
struct Head {
    base: u64,
    /// The first word, of which so many hold the high bits; the low bits follow.
    words_at: u64,
    high_words: u8,
    low_bits: u8,
}

impl Renumbering {
    /// Number of names.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Bytes of heap.
    #[cfg(test)]
    pub(crate) fn heap_bytes(&self) -> u64 {
        (size_of::<Head>() * self.heads.capacity() + 8 * self.words.capacity()) as u64
    }

    /// The new number of the name with the number `old`, of a name that was left out some number;
    /// `None` where there is no such name. Takes constant time.
    pub(crate) fn get(&self, old: u64) -> Option<u64> {
        if old >= self.len {
            return None;
        }
        let place = (old % TOGETHER) as u32;
        let Head { base, words_at, high_words, low_bits } = self.heads[(old / TOGETHER) as usize];
        let words = &self.words[words_at as usize..];
        let mut left = place;
        let mut high = 0;
        for (number, &word) in words[..usize::from(high_words)].iter().enumerate() {
            let ones = word.count_ones();
            if left < ones {
                // Without the ones before it, the lowest that is left is the one.
                let rest = (0..left).fold(word, |word, _| word & (word - 1));
                high = 64 * number as u64 + u64::from(rest.trailing_zeros());
                break;
            }
            left -= ones;
        }
        let low = low_of(&words[usize::from(high_words)..], low_bits.into(), place.into());
        Some(base + ((high - u64::from(place)) << low_bits | low))
    }
}

/// Entry `place` of entries of `bits` bits, fewer than 64.
fn low_of(words: &[u64], bits: u32, place: u64) -> u64 {
    if bits == 0 {
        return 0;
    }
    let at = place * u64::from(bits);
    let (word, shift) = ((at / 64) as usize, at % 64);
    let mut window = u128::from(words[word]);
    if shift + u64::from(bits) > 64 {
        window |= u128::from(words[word + 1]) << 64;
    }
    (window >> shift) as u64 & ((1 << bits) - 1)
}

/// Takes new numbers in the order of the old ones.
#[derive(Default)]
pub(super) struct RenumberingBuilder {
    done: Renumbering,
    /// New numbers that are not part of it yet.
    numbers: Vec<u64>,
    next: u64,
}

impl RenumberingBuilder {
    /// Says that the name with the number `old` gets the number `new`. Both ascend; names between
    /// were left out.
    pub(super) fn push(&mut self, old: u64, new: u64) {
        self.pass_over(old);
        self.add(new);
        self.next = new + 1;
    }

    /// Leaves out all names before number `old`.
    fn pass_over(&mut self, old: u64) {
        while self.done.len < old {
            self.add(self.next);
        }
    }

    fn add(&mut self, new: u64) {
        self.numbers.push(new);
        self.done.len += 1;
        if self.numbers.len() as u64 == TOGETHER {
            self.put_down();
        }
    }

    /// The whole, for a file of so many names.
    pub(super) fn finish(mut self, names: u64) -> Renumbering {
        self.pass_over(names);
        self.put_down();
        self.done
    }

    fn put_down(&mut self) {
        let (Some(&base), Some(&last)) = (self.numbers.first(), self.numbers.last()) else {
            return;
        };
        let count = self.numbers.len() as u64;
        let low_bits = ((last - base) / count).max(1).ilog2();
        let words = &mut self.done.words;
        let words_at = words.len();
        let high_words = (count + ((last - base) >> low_bits)).div_ceil(64) as usize;
        let low_words = (count * u64::from(low_bits)).div_ceil(64) as usize;
        words.resize(words_at + high_words + low_words, 0);
        let (high, low) = words[words_at..].split_at_mut(high_words);
        for (place, number) in self.numbers.drain(..).enumerate() {
            let (place, more) = (place as u64, number - base);
            let one = (more >> low_bits) + place;
            high[(one / 64) as usize] |= 1 << (one % 64);
            if low_bits > 0 {
                let (bits, at) = (more & ((1 << low_bits) - 1), place * u64::from(low_bits));
                let (word, shift) = ((at / 64) as usize, at % 64);
                low[word] |= bits << shift;
                if shift + u64::from(low_bits) > 64 {
                    low[word + 1] |= bits >> (64 - shift);
                }
            }
        }
        self.done.heads.push(Head {
            base,
            words_at: words_at as u64,
            high_words: high_words as u8,
            low_bits: low_bits as u8,
        });
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_come_back_as_they_were_given(
            gaps in prop::collection::vec(
                prop_oneof![6 => 1..4u64, 3 => 1..1000u64, 1 => 1..u64::MAX >> 12], 0..700),
            left_out in prop::collection::vec(any::<bool>(), 700),
            behind in 0..300u64,
        ) {
            let mut builder = RenumberingBuilder::default();
            let mut new = 0;
            let mut expected = Vec::new();
            for (old, gap) in gaps.iter().enumerate() {
                new += gap;
                if !left_out[old] {
                    builder.push(old as u64, new);
                    expected.push((old as u64, new));
                }
            }
            let names = gaps.len() as u64 + behind;
            let made = builder.finish(names);
            prop_assert_eq!(made.len(), names);
            for (old, new) in expected {
                prop_assert_eq!(made.get(old), Some(new));
            }
            let all: Vec<u64> = (0..names).map_while(|old| made.get(old)).collect();
            prop_assert!(all.is_sorted() && all.len() as u64 == names);
            prop_assert_eq!((made.get(names), made.get(u64::MAX)), (None, None));
        }
    }

    #[test]
    fn two_files_of_the_same_size_take_4_bits_a_name() {
        let mut builder = RenumberingBuilder::default();
        let mut state = 1u64;
        let mut new = 0;
        for old in 0..1 << 17 {
            builder.push(old, new);
            new += 1;
            loop {
                state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
                if state >> 63 == 0 {
                    break;
                }
                new += 1;
            }
        }
        let mut made = builder.finish(1 << 17);
        made.heads.shrink_to_fit();
        made.words.shrink_to_fit();
        let bits = 8.0 * made.heap_bytes() as f64 / f64::from(1 << 17);
        assert!((3.5..4.8).contains(&bits), "{bits}");
    }
}
