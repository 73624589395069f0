//! The hash functions of recipes.
//!
//! * `xxh3`: XXH3-64 with a seed, as xxHash 0.8 specifies it, of the bytes of a token. Tokens are
//!   short, so the short cases are written out here, where the loops that use them can inline them
//!   (6% of SimHash on words of English); the tests compare them with the crate that has all.
//! * [`Stream`]: SplitMix64 (Steele, Lea, Flood 2014; `java.util.SplittableRandom`) seeded with a
//!   feature. Its outputs are the *words* of that feature, and each method takes as many of them as
//!   it needs.

use xxhash_rust::xxh3::xxh3_64_with_seed;

// From the secret of the specification: xor of its words at the offsets that the names tell.
const FLIP_0_4: u64 = 0x8727_5a9b;
const FLIP_8_16: u64 = 0xc73a_b174_c5ec_d5a2;
const FLIP_24_32: u64 = 0x6782_737b_ea42_39b9;
const FLIP_40_48: u64 = 0xaf56_bc3b_0996_523a;

/// XXH3-64 of `token`.
#[inline]
pub(crate) fn token_hash(token: &[u8], seed: u64) -> u64 {
    match token.len() {
        1..=3 => {
            let (first, middle, last) = (token[0], token[token.len() >> 1], token[token.len() - 1]);
            short_hash(first, middle, last, token.len(), seed)
        }
        4..=8 => {
            let seed = seed ^ u64::from((seed as u32).swap_bytes()) << 32;
            let input = u64::from(read32(token, token.len() - 4))
                .wrapping_add(u64::from(read32(token, 0)) << 32);
            rrmxmx(input ^ FLIP_8_16.wrapping_sub(seed), token.len() as u64)
        }
        9..=16 => {
            let low = read64(token, 0) ^ FLIP_24_32.wrapping_add(seed);
            let high = read64(token, token.len() - 8) ^ FLIP_40_48.wrapping_sub(seed);
            let product = u128::from(low) * u128::from(high);
            let folded = product as u64 ^ (product >> 64) as u64;
            let sum = (token.len() as u64)
                .wrapping_add(low.swap_bytes())
                .wrapping_add(high)
                .wrapping_add(folded);
            let mut hash = sum ^ sum >> 37;
            hash = hash.wrapping_mul(0x1656_6791_9e37_79f9);
            hash ^ hash >> 32
        }
        _ => xxh3_64_with_seed(token, seed),
    }
}

/// XXH3-64 of a character's UTF-8.
#[inline]
pub(crate) fn char_hash(character: char, seed: u64) -> u64 {
    let mut bytes = [0; 4];
    token_hash(character.encode_utf8(&mut bytes).as_bytes(), seed)
}

#[inline]
fn short_hash(first: u8, middle: u8, last: u8, len: usize, seed: u64) -> u64 {
    let input =
        u64::from(first) << 16 | u64::from(middle) << 24 | u64::from(last) | (len as u64) << 8;
    let mut hash = input ^ FLIP_0_4.wrapping_add(seed);
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
    hash ^= hash >> 29;
    hash = hash.wrapping_mul(0x1656_67b1_9e37_79f9);
    hash ^ hash >> 32
}

#[inline]
fn rrmxmx(mut hash: u64, len: u64) -> u64 {
    hash ^= hash.rotate_left(49) ^ hash.rotate_left(24);
    hash = hash.wrapping_mul(0x9fb2_1c65_1e98_df25);
    hash ^= (hash >> 35).wrapping_add(len);
    hash = hash.wrapping_mul(0x9fb2_1c65_1e98_df25);
    hash ^ hash >> 28
}

#[inline]
fn read32(bytes: &[u8], at: usize) -> u32 {
    bytes[at..].first_chunk().map_or(0, |chunk| u32::from_le_bytes(*chunk))
}

#[inline]
fn read64(bytes: &[u8], at: usize) -> u64 {
    bytes[at..].first_chunk().map_or(0, |chunk| u64::from_le_bytes(*chunk))
}

const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// Word `index` of `feature`: output `index` of SplitMix64 seeded with it, counted from zero.
#[inline]
pub(crate) fn word(feature: u64, index: u64) -> u64 {
    mix(feature.wrapping_add(GAMMA.wrapping_mul(index.wrapping_add(1))))
}

#[inline]
fn mix(mut state: u64) -> u64 {
    state = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    state = (state ^ state >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ state >> 31
}

/// The words of a feature, one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Stream(u64);

impl Stream {
    /// All words of `feature`, from the first.
    #[inline]
    pub(crate) fn new(feature: u64) -> Stream {
        Stream(feature)
    }

    /// The next word.
    #[inline]
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GAMMA);
        mix(self.0)
    }
}

/// One value for several, in which their order counts: the base of the polynomial over the tokens
/// of an n-gram.
///
/// It is 3 modulo 8, so that neither it nor its distance from one loses more than a bit.
pub(crate) const BASE: u64 = 0xd6e8_feb8_6659_fd93;

/// One feature of several values: the polynomial in [`BASE`] of which they are the coefficients,
/// the first that of the highest power.
#[inline]
pub(crate) fn combine(values: impl IntoIterator<Item = u64>) -> u64 {
    values.into_iter().fold(0, |sum: u64, value| sum.wrapping_mul(BASE).wrapping_add(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_tokens_hash_as_the_specification_says() {
        let text = "a sentence that is longer than any of the short cases, by far; ça où 中文 𐍈";
        for seed in [0, 1, 0x0123_4567_89ab_cdef, u64::MAX] {
            for start in 0..8 {
                for end in start..text.len() {
                    let token = &text.as_bytes()[start..end];
                    assert_eq!(
                        token_hash(token, seed),
                        xxh3_64_with_seed(token, seed),
                        "{token:?}"
                    );
                }
            }
            for character in text.chars() {
                let token = character.to_string();
                assert_eq!(char_hash(character, seed), xxh3_64_with_seed(token.as_bytes(), seed));
            }
        }
    }

    #[test]
    fn streams_are_splitmix64() {
        // The first outputs for the seed 1234567, as published with the generator's test of Rosetta
        // Code.
        let mut stream = Stream::new(1_234_567);
        let expected =
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        for (index, output) in expected.into_iter().enumerate() {
            assert_eq!(stream.next(), output);
            assert_eq!(word(1_234_567, index as u64), output);
        }
    }
}
