//! Compares runs of raw keys with a query, by the best instructions that the CPU has.
//!
//! Shared by all engines that keep raw keys. A key is eight little-endian bytes without alignment,
//! so that arrays, mapped files and the values of a key-value store are scanned alike.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

/// A key as it lies in memory.
pub type Key = [u8; 8];

/// How runs of keys are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scanner(Level);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    /// `VPOPCNTQ`, eight keys at a time.
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// Counts by a look-up of nibbles, four keys at a time.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// `POPCNT`, one key at a time.
    #[cfg(target_arch = "x86_64")]
    Popcnt,
    Portable,
}

/// The keys of an array.
pub fn keys(words: &[u64]) -> &[Key] {
    const { assert!(cfg!(target_endian = "little"), "keys are little-endian in memory") };
    // SAFETY: a u64 is eight initialised bytes, and a `Key` needs no alignment.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), words.len()) }
}

impl Scanner {
    /// The best that this CPU has.
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vpopcntdq") {
                return Self(Level::Avx512);
            }
            if is_x86_feature_detected!("avx2") {
                return Self(Level::Avx2);
            }
            if is_x86_feature_detected!("popcnt") {
                return Self(Level::Popcnt);
            }
        }
        Self(Level::Portable)
    }

    /// What [`Self::detect`] has chosen.
    pub fn name(self) -> &'static str {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => "AVX-512 VPOPCNTQ",
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => "AVX2",
            #[cfg(target_arch = "x86_64")]
            Level::Popcnt => "POPCNT",
            Level::Portable => "portable code",
        }
    }

    /// Gives `found` the keys within `k` bits of `query`, in their order.
    #[inline]
    pub fn scan(self, keys: &[Key], query: u64, k: u32, found: impl FnMut(u64)) {
        match self.0 {
            // SAFETY: `detect` is the only source of this level and has seen these features.
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => unsafe { scan_avx512(keys, query, k, found) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => unsafe { scan_avx2(keys, query, k, found) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Level::Popcnt => unsafe { scan_popcnt(keys, query, k, found) },
            Level::Portable => scan_scalar(keys, query, k, found),
        }
    }
}

#[inline(always)]
fn scan_scalar(keys: &[Key], query: u64, k: u32, mut found: impl FnMut(u64)) {
    for &key in keys {
        let key = u64::from_le_bytes(key);
        if (key ^ query).count_ones() <= k {
            found(key);
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "popcnt")]
fn scan_popcnt(keys: &[Key], query: u64, k: u32, found: impl FnMut(u64)) {
    scan_scalar(keys, query, k, found);
}

/// The keys whose bits are set in `hits`.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn report(keys: &[Key], mut hits: u32, found: &mut impl FnMut(u64)) {
    while hits != 0 {
        found(u64::from_le_bytes(keys[hits.trailing_zeros() as usize]));
        hits &= hits - 1;
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vpopcntdq")]
fn scan_avx512(keys: &[Key], query: u64, k: u32, mut found: impl FnMut(u64)) {
    let wanted = _mm512_set1_epi64(query as i64);
    let limit = _mm512_set1_epi64(i64::from(k));
    let near = |keys: __m512i| {
        let distance = _mm512_popcnt_epi64(_mm512_xor_si512(keys, wanted));
        u32::from(_mm512_cmple_epu64_mask(distance, limit))
    };
    let (groups, rest) = keys.as_chunks::<32>();
    for group in groups {
        let start: *const Key = group.as_ptr();
        // SAFETY: each of the four loads of eight keys ends within the group of 32.
        let load = |i: usize| unsafe { _mm512_loadu_si512(start.add(8 * i).cast()) };
        let hits = near(load(0)) | near(load(1)) << 8 | near(load(2)) << 16 | near(load(3)) << 24;
        report(group, hits, &mut found);
    }
    for part in rest.chunks(8) {
        let lanes = (0xFF >> (8 - part.len())) as __mmask8;
        // SAFETY: a masked load touches the lanes of its mask only, one for each key of the part.
        let loaded = unsafe { _mm512_maskz_loadu_epi64(lanes, part.as_ptr().cast()) };
        report(part, near(loaded) & u32::from(lanes), &mut found);
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,popcnt")]
fn scan_avx2(keys: &[Key], query: u64, k: u32, mut found: impl FnMut(u64)) {
    let wanted = _mm256_set1_epi64x(query as i64);
    let above = _mm256_set1_epi64x(i64::from(k) + 1);
    let nibble = _mm256_set1_epi8(0x0F);
    let counts =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
    let near = |keys: __m256i| {
        let differing = _mm256_xor_si256(keys, wanted);
        let low = _mm256_and_si256(differing, nibble);
        let high = _mm256_and_si256(_mm256_srli_epi16::<4>(differing), nibble);
        let bytes =
            _mm256_add_epi8(_mm256_shuffle_epi8(counts, low), _mm256_shuffle_epi8(counts, high));
        let distance = _mm256_sad_epu8(bytes, _mm256_setzero_si256());
        let within = _mm256_cmpgt_epi64(above, distance);
        _mm256_movemask_pd(_mm256_castsi256_pd(within)) as u32
    };
    let (groups, rest) = keys.as_chunks::<16>();
    for group in groups {
        let start: *const Key = group.as_ptr();
        // SAFETY: each of the four loads of four keys ends within the group of 16.
        let load = |i: usize| unsafe { _mm256_loadu_si256(start.add(4 * i).cast()) };
        let hits = near(load(0)) | near(load(1)) << 4 | near(load(2)) << 8 | near(load(3)) << 12;
        report(group, hits, &mut found);
    }
    scan_scalar(rest, query, k, found);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Random;

    #[test]
    fn every_level_finds_what_the_scalar_scan_finds() {
        let mut random = Random(3);
        let best = Scanner::detect();
        let mut levels = vec![Scanner(Level::Portable), best];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("popcnt") {
                levels.extend([Scanner(Level::Avx2), Scanner(Level::Popcnt)]);
            }
        }
        for length in 0..200 {
            let query = random.next();
            let near = |random: &mut Random| query ^ random.next() & random.next() & random.next();
            let words: Vec<u64> = (0..length).map(|_| near(&mut random)).collect();
            for k in [0, 3, 6, 8, 64] {
                let expected: Vec<u64> =
                    words.iter().copied().filter(|key| (key ^ query).count_ones() <= k).collect();
                for &level in &levels {
                    let mut found = Vec::new();
                    level.scan(keys(&words), query, k, |key| found.push(key));
                    assert_eq!(found, expected, "{level:?}, {length} keys, k = {k}");
                }
            }
        }
    }
}
