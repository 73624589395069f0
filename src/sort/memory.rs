//! Sorts in memory: one stable distribution over buckets that fit a cache, with all threads of the
//! current pool, then a sort of each by its leading bits.
//!
//! A bucket that is far too long, as only very skewed sets have, is sorted by comparisons, so that
//! no set takes more memory, or more than O(n log n) time.

use crate::fingerprint::{Fingerprint, key_of};
use crate::permute::Permutation;
use crate::record::Record;
use crate::tasks;

/// Sets that are sorted by comparisons.
const SMALL: usize = 1 << 12;
/// Records of a bucket for which the number of buckets is chosen.
const BUCKET_RECORDS: usize = 1 << 13;
/// How much longer than the mean a bucket may be to be sorted by digits.
const SKEW: usize = 16;
/// Bits that are sorted beyond those that tell as many uniform records as there are apart.
const SPARE_BITS: u32 = 4;
/// Most bits of a digit within a bucket.
const DIGIT_BITS: u32 = 9;
/// Records from which the range of all is estimated.
const SAMPLE: usize = 1 << 10;

/// The most records that a sort of `len` records with so many threads takes beside its input and
/// output.
pub(crate) fn scratch_records(len: usize, threads: usize) -> usize {
    threads * (longest_bucket(len, bucket_count(len)) + 8 * MAX_BUCKETS)
}

/// Sorts the records of `lists` into `out`, which has their length, and drops repeated ones; gives
/// the number of those that are left, at the start of `out`.
///
/// Takes a few nanoseconds per uniform record. Memory: [`scratch_records`].
pub(crate) fn sort_lists<R: Record>(lists: &[&[R]], out: &mut [R]) -> usize {
    let lengths = distribute(Sources(lists), |record| record, out);
    let distinct = sort_buckets(out, &lengths, 0, |bucket| dedup(bucket));
    // Close the gaps that repeated records left.
    let (mut from, mut to) = (0, 0);
    for (length, distinct) in lengths.into_iter().zip(distinct) {
        if from != to {
            out.copy_within(from..from + distinct, to);
        }
        from += length;
        to += distinct;
    }
    to
}

/// Permutes the fingerprints of `set`, which ascend strictly, and sorts them into `keys`, which
/// has the same length.
///
/// Only the top is sorted. Take two fingerprints whose keys agree in the top. They agree in the
/// bits that the permutation moves to the top, so the first bit in which they differ is one of the
/// others. These keep their order under the permutation, so the first in which the keys differ is
/// the same bit, and it decides both orders: keys with equal tops ascend as their fingerprints do.
/// A stable sort of the tops of a set in ascending order is therefore a sort of whole keys.
///
/// Takes a few nanoseconds per uniform fingerprint. Memory: [`scratch_records`].
pub(crate) fn sort_permuted<F: Fingerprint>(
    set: &[F],
    permutation: &Permutation,
    keys: &mut [u64],
) {
    if permutation.is_identity() {
        keys.iter_mut().zip(set).for_each(|(key, one)| *key = key_of(*one));
        return;
    }
    let lengths = distribute(Sources(&[set]), |one| permutation.key(key_of(one)), keys);
    sort_buckets(keys, &lengths, 64 - permutation.top_bits(), |_| ());
}

/// Sorts `keys` into `sorted`, which has the same length. Keys that agree in all but the `ordered`
/// last bits ascend already.
pub(crate) fn sort_tops(keys: &[u64], ordered: u32, sorted: &mut [u64]) {
    let lengths = distribute(Sources(&[keys]), |key| key, sorted);
    sort_buckets(sorted, &lengths, ordered, |_| ());
}

/// Distributes the keys that `key` makes of `records` over `parts`, stably. Gives their lengths.
pub(crate) fn partition_keys<R: Record>(
    records: &[R],
    parts: usize,
    key: impl Fn(R) -> R + Sync,
    part: impl Fn(&R) -> usize + Sync,
    out: &mut [R],
) -> Vec<usize> {
    partition(Sources(&[records]), parts, key, part, out)
}

/// Distributes the records of `sources`, each as `map` gives it, over buckets that ascend, stably.
/// Gives the lengths of the buckets.
fn distribute<I: Record, R: Record>(
    sources: Sources<'_, I>,
    map: impl Fn(I) -> R + Sync,
    out: &mut [R],
) -> Vec<usize> {
    let len = sources.len();
    let samples = (0..len).step_by(len.div_ceil(SAMPLE).max(1));
    let sample = samples.filter_map(|at| Some(map(sources.get(at)?).leading()));
    let (least, most) = sample.fold((u64::MAX, 0), |(a, b), at| (a.min(at), b.max(at)));
    let buckets = bucket_count(len);
    let width = 64 - most.saturating_sub(least).leading_zeros();
    let shift = width.saturating_sub(buckets.ilog2()).min(63);
    // What lies outside the range of the sample goes to the first or the last bucket.
    let bucket = |record: &R| {
        let above = record.leading().saturating_sub(least);
        ((above >> shift) as usize).min(buckets - 1)
    };
    partition(sources, buckets, map, bucket, out)
}

fn bucket_count(len: usize) -> usize {
    (len / BUCKET_RECORDS).next_power_of_two().min(MAX_BUCKETS)
}

fn longest_bucket(len: usize, buckets: usize) -> usize {
    SMALL.max(len / buckets * SKEW)
}

/// Sorts every bucket of `records`, whose `lengths` are given and in which records stand in order
/// if they agree in all but the `ordered` last bits of their fingerprints. Gives what `then` makes
/// of each.
fn sort_buckets<R: Record, T: Send>(
    mut records: &mut [R],
    lengths: &[usize],
    ordered: u32,
    then: impl Fn(&mut [R]) -> T + Sync,
) -> Vec<T> {
    let longest = longest_bucket(records.len(), lengths.len());
    let mut buckets = Vec::with_capacity(lengths.len());
    for &length in lengths {
        let (bucket, rest) = std::mem::take(&mut records).split_at_mut(length);
        buckets.push(bucket);
        records = rest;
    }
    let sort = |scratch: &mut Vec<R>, bucket: &mut [R]| {
        if bucket.len() > longest {
            tasks::sort_unstable(bucket);
        } else {
            sort_bucket(bucket, scratch, ordered);
        }
        then(bucket)
    };
    tasks::map_with(buckets, Vec::new, sort)
}

/// Sorts `bucket` by as many leading bits as tell uniform records apart, from the least significant
/// digit on, and what these bits leave out of order by insertion.
fn sort_bucket<R: Record>(bucket: &mut [R], scratch: &mut Vec<R>, ordered: u32) {
    if bucket.len() < 64 {
        return bucket.sort_unstable();
    }
    let range = bucket.iter().map(Record::leading);
    let (least, most) = range.fold((u64::MAX, 0), |(a, b), at| (a.min(at), b.max(at)));
    // Subtracting it leaves the ordered bits as they are.
    let base = if ordered < 64 { least >> ordered << ordered } else { 0 };
    let width = 64 - (most - base).leading_zeros();
    let enough = bucket.len().ilog2() + SPARE_BITS;
    let low = ordered.max(width.saturating_sub(enough));
    if width > low {
        let passes = (width - low).div_ceil(DIGIT_BITS);
        let digit_bits = (width - low).div_ceil(passes);
        if scratch.len() < bucket.len() {
            scratch.resize(bucket.len(), R::zeroed());
        }
        let scratch = &mut scratch[..bucket.len()];
        for pass in 0..passes {
            let shift = low + pass * digit_bits;
            if pass % 2 == 0 {
                scatter(bucket, scratch, base, shift, digit_bits);
            } else {
                scatter(scratch, bucket, base, shift, digit_bits);
            }
        }
        if passes % 2 == 1 {
            bucket.copy_from_slice(scratch);
        }
    }
    if low > ordered || R::BYTES > size_of::<u64>() {
        finish_by_insertion(bucket);
    }
}

/// Sorts `from` into `to` by one digit, stably.
#[inline]
fn scatter<R: Record>(from: &[R], to: &mut [R], base: u64, shift: u32, digit_bits: u32) {
    const DIGITS: usize = 1 << DIGIT_BITS;
    let mask = (1 << digit_bits) - 1;
    let digit = |record: &R| ((record.leading() - base) >> shift & mask) as usize % DIGITS;
    let mut next = [0u32; DIGITS];
    from.iter().for_each(|record| next[digit(record)] += 1);
    let mut sum = 0;
    for next in &mut next {
        sum += std::mem::replace(next, sum);
    }
    for record in from {
        let next = &mut next[digit(record)];
        to[*next as usize] = *record;
        *next += 1;
    }
}

/// Sorts records of which few are out of place. Where many are, compares.
fn finish_by_insertion<R: Record>(records: &mut [R]) {
    let mut moves = 2 * records.len();
    for i in 1..records.len() {
        let record = records[i];
        if record >= records[i - 1] {
            continue;
        }
        let mut at = i;
        while at > 0 && record < records[at - 1] {
            records[at] = records[at - 1];
            at -= 1;
        }
        records[at] = record;
        moves = moves.saturating_sub(i - at);
        if moves == 0 {
            return records.sort_unstable();
        }
    }
}

/// Moves the first of each run of equal records to the front; gives their number.
pub(super) fn dedup<R: Record>(records: &mut [R]) -> usize {
    let is_repeated = |i: &usize| records[*i] == records[i - 1];
    let Some(first) = (1..records.len()).find(is_repeated) else {
        return records.len();
    };
    let mut kept = first;
    for i in first..records.len() {
        if records[i] != records[kept - 1] {
            records[kept] = records[i];
            kept += 1;
        }
    }
    kept
}

/// Records that are collected for a bucket before they are written to it, so that one write fills
/// a cache line or two.
const PIECE: usize = 8;
/// Most buckets to which records are written one by one: the lines that are written to, and their
/// pages, stay in the first-level caches.
const FEW_BUCKETS: usize = 1 << 7;
/// Most buckets: their collected pieces stay in the cache of a core.
pub(super) const MAX_BUCKETS: usize = 1 << 11;

/// Lists of records, one behind the other.
#[derive(Clone, Copy)]
pub(super) struct Sources<'a, R>(pub(super) &'a [&'a [R]]);

impl<R: Record> Sources<'_, R> {
    pub(super) fn len(&self) -> usize {
        self.0.iter().map(|list| list.len()).sum()
    }

    /// Record number `at`, which exists.
    pub(super) fn get(&self, mut at: usize) -> Option<R> {
        for list in self.0 {
            match list.get(at) {
                Some(record) => return Some(*record),
                None => at -= list.len(),
            }
        }
        None
    }

    /// The parts of the lists that make up the share `number` of `shares`.
    fn share(&self, number: usize, shares: usize) -> impl Iterator<Item = &[R]> {
        let (start, end) = bounds(self.len(), number, shares);
        let mut before = 0;
        self.0.iter().filter_map(move |list| {
            let (from, to) = (start.max(before), end.min(before + list.len()));
            let part = (from < to).then(|| &list[from - before..to - before]);
            before += list.len();
            part
        })
    }
}

fn bounds(len: usize, number: usize, shares: usize) -> (usize, usize) {
    let at = |number: usize| (len as u128 * number as u128 / shares as u128) as usize;
    (at(number), at(number + 1))
}

/// Writes the records of `sources`, each as `map` gives it, to `out`, which has the same length:
/// those of bucket 0 first, and so on; within a bucket they keep their order. `bucket` takes what
/// `map` gave, and gives a number below `buckets`. Returns the lengths of the buckets.
///
/// Two passes over the sources, one over `out`. Memory: 72 bytes and [`PIECE`] records per bucket
/// and thread.
pub(super) fn partition<I: Record, R: Record>(
    sources: Sources<'_, I>,
    buckets: usize,
    map: impl Fn(I) -> R + Sync,
    bucket: impl Fn(&R) -> usize + Sync,
    out: &mut [R],
) -> Vec<usize> {
    let shares = tasks::threads();
    let counts = tasks::map(0..shares, |number| {
        let mut counts = vec![0; buckets];
        for record in sources.share(number, shares).flatten() {
            counts[bucket(&map(*record))] += 1;
        }
        counts
    });
    let mut places: Vec<Vec<&mut [R]>> = (0..shares).map(|_| Vec::with_capacity(buckets)).collect();
    let mut rest = out;
    let mut lengths = vec![0; buckets];
    for (number, length) in lengths.iter_mut().enumerate() {
        for (counts, places) in counts.iter().zip(&mut places) {
            let (place, others) = rest.split_at_mut(counts[number]);
            places.push(place);
            rest = others;
            *length += counts[number];
        }
    }
    tasks::map(places.into_iter().enumerate(), |(number, mut places)| {
        if buckets <= FEW_BUCKETS {
            let mut filled = [0; FEW_BUCKETS];
            for record in sources.share(number, shares).flatten() {
                let record = map(*record);
                let number = bucket(&record);
                places[number][filled[number]] = record;
                filled[number] += 1;
            }
            return;
        }
        let mut pieces = vec![[R::zeroed(); PIECE]; buckets];
        let mut filled = vec![0u8; buckets];
        for record in sources.share(number, shares).flatten() {
            let record = map(*record);
            let number = bucket(&record);
            let (piece, filled) = (&mut pieces[number], &mut filled[number]);
            piece[*filled as usize % PIECE] = record;
            *filled += 1;
            if *filled as usize == PIECE {
                append(&mut places[number], piece);
                *filled = 0;
            }
        }
        for ((place, piece), &filled) in places.iter_mut().zip(&pieces).zip(&filled) {
            append(place, &piece[..filled as usize]);
        }
    });
    lengths
}

/// Writes `records` to the start of `place`, and leaves what is behind them.
#[inline(always)]
fn append<R: Record>(place: &mut &mut [R], records: &[R]) {
    let (head, tail) = std::mem::take(place).split_at_mut(records.len());
    head.copy_from_slice(records);
    *place = tail;
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::design::Design;

    fn uniform(count: usize, seed: u64) -> Vec<u64> {
        (0..count as u64).map(|i| crate::set_sum::term(seed ^ i << 20) as u64).collect()
    }

    fn sorted<R: Record>(mut records: Vec<R>) -> Vec<R> {
        records.sort_unstable();
        records.dedup();
        records
    }

    fn check_lists<R: Record + std::fmt::Debug>(records: &[R], parts: usize) {
        let lists: Vec<&[R]> = records.chunks(records.len().div_ceil(parts).max(1)).collect();
        let mut out = vec![R::zeroed(); records.len()];
        let distinct = sort_lists(&lists, &mut out);
        assert!(out[..distinct] == sorted(records.to_vec()));
    }

    /// Sets that are uniform, narrow, clustered at the ends of the range, or mostly repeated.
    fn sets(count: usize) -> Vec<Vec<u64>> {
        let uniform = uniform(count, 1);
        let clustered = |fp: &u64| match fp % 8 {
            0..4 => fp >> 40,
            4..7 => !(fp >> 44),
            _ => *fp,
        };
        vec![
            uniform.iter().map(|fp| fp >> 44).collect(),
            uniform.iter().map(|fp| fp % 7).collect(),
            uniform.iter().map(|fp| fp << 50 | 1 << 20).collect(),
            uniform.iter().map(clustered).collect(),
            (0..count as u64).collect(),
            (0..count as u64).rev().map(|i| i << 40).collect(),
            uniform,
        ]
    }

    #[test]
    fn lists_of_any_distribution_become_one_sorted_list_without_repeats() {
        for count in [0, 1, 2, 100, SMALL, 70_000, 300_000] {
            for set in sets(count) {
                for parts in [1, 5] {
                    check_lists(&set, parts);
                }
                let pairs: Vec<[u64; 2]> =
                    set.iter().enumerate().map(|(i, &fp)| [fp, i as u64 % 3]).collect();
                check_lists(&pairs, 3);
            }
        }
    }

    #[test]
    fn one_fingerprint_with_very_many_ids_is_sorted_by_them() {
        let pairs: Vec<[u64; 2]> = (0..300_000).map(|i| [42, i * 7919 % 300_007]).collect();
        check_lists(&pairs, 2);
    }

    #[test]
    fn permuted_sets_are_sorted_by_whole_keys_in_every_design() {
        for set in sets(40_000).into_iter().map(sorted) {
            for name in Design::NAMES {
                for top in Design::named(name).unwrap().tops() {
                    let permutation = Permutation::new(top);
                    let mut keys = vec![0; set.len()];
                    sort_permuted(&set, &permutation, &mut keys);
                    let expected = set.iter().map(|&fp| permutation.key(fp)).collect();
                    assert!(keys == sorted(expected), "{name} {top:?}");
                }
            }
        }
    }

    proptest! {
        /// The proof at `sort_permuted`, for any disjoint ranges in any order.
        #[test]
        fn keys_with_equal_tops_ascend_as_their_fingerprints(
            widths in prop::collection::vec(1u8..20, 1..6),
            chosen in prop::collection::vec(any::<prop::sample::Index>(), 1..4),
            set in prop::collection::btree_set(0u64..1 << 10, 2..200),
            spread in any::<u64>(),
        ) {
            // Fingerprints that differ in ten bits, anywhere.
            let spread = |bits: u64| {
                let places = (0..10).map(|i| (spread >> (6 * i)) % 64);
                places.enumerate().fold(0u64, |fp, (i, place)| fp | (bits >> i & 1) << place)
            };
            let set: std::collections::BTreeSet<u64> = set.into_iter().map(spread).collect();
            let set: Vec<u64> = set.into_iter().collect();
            let mut ranges = Vec::new();
            let mut start = 0;
            for bits in widths {
                if start + bits <= 64 {
                    ranges.push(crate::format::BitRange { start, bits });
                }
                start += bits;
            }
            let mut top: Vec<_> = chosen.iter().map(|index| *index.get(&ranges)).collect();
            let mut seen = std::collections::HashSet::new();
            top.retain(|range| seen.insert(range.start));
            let permutation = Permutation::new(&top);
            let low = 64 - permutation.top_bits();
            let mut stable: Vec<u64> = set.iter().map(|&fp| permutation.key(fp)).collect();
            let mut keys = stable.clone();
            stable.sort_by_key(|key| key.checked_shr(low).unwrap_or(0));
            keys.sort_unstable();
            prop_assert_eq!(&stable, &keys);
            let mut sorted = vec![0; set.len()];
            sort_permuted(&set, &permutation, &mut sorted);
            prop_assert_eq!(sorted, keys);
        }
    }
}
