//! Cuts a batch into pieces that are answered one after the other.

use std::iter;
use std::ops::RangeInclusive;

use crate::fingerprint::{Fingerprint, Sealed, key_of};

/// Leading bits by which queries that are near each other come into one piece.
const BITS: u32 = 12;
/// Ranges that the queries are divided into, each of which takes a pass over all.
const RANGES: usize = 64;

/// A query and its number among all.
pub(super) type Query<F> = <F as Sealed>::WithId;

/// The queries with their numbers, in pieces of up to `size`, in their order.
pub(super) fn in_order<F: Fingerprint>(
    queries: &[F],
    size: usize,
) -> impl Iterator<Item = Vec<Query<F>>> {
    let pieces = queries.chunks(size).enumerate();
    pieces.map(move |(i, piece)| numbered(piece, i * size).collect())
}

/// The queries with their numbers, in pieces of up to `size`, in which those with like leading bits
/// stand together. Reads the queries once per range of these, in some 2 [`RANGES`] at most.
pub(super) fn by_leading_bits<F: Fingerprint>(
    queries: &[F],
    size: usize,
) -> impl Iterator<Item = Vec<Query<F>>> {
    ranges(queries, size).into_iter().flat_map(move |range| {
        let mut of_range =
            numbered(queries, 0).filter(move |query| range.contains(&key_of(F::of_pair(query).0)));
        // A range that is too long has several pieces.
        iter::from_fn(move || {
            let piece: Vec<Query<F>> = of_range.by_ref().take(size).collect();
            (!piece.is_empty()).then_some(piece)
        })
    })
}

fn numbered<F: Fingerprint>(queries: &[F], first: usize) -> impl Iterator<Item = Query<F>> {
    queries.iter().zip(first as u64..).map(|(&query, number)| query.with_id(number))
}

/// Ranges that ascend and hold all `queries`: each no more than `size`, or where that makes too
/// many of them than a share, unless they agree in the leading bits.
fn ranges<F: Fingerprint>(queries: &[F], size: usize) -> Vec<RangeInclusive<u64>> {
    let all = 0..=u64::MAX;
    if queries.len() <= size {
        return vec![all];
    }
    let most = size.max(queries.len() / RANGES);
    let mut counts = vec![0; 1 << BITS];
    for &query in queries {
        counts[(key_of(query) >> (64 - BITS)) as usize] += 1;
    }
    let (mut ranges, mut start, mut held) = (Vec::new(), 0, 0);
    for (bits, count) in (0u64..).zip(counts) {
        let first = bits << (64 - BITS);
        if held > 0 && held + count > most {
            ranges.push(start..=first - 1);
            (start, held) = (first, 0);
        }
        held += count;
    }
    ranges.push(start..=u64::MAX);
    ranges
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn pieces_hold_each_query_once(
            queries in prop::collection::vec(prop_oneof![any::<u64>(), 0..1u64 << 53], 0..300),
            size in prop_oneof![1..400usize, Just(usize::MAX)],
        ) {
            let all: Vec<Query<u64>> = numbered(&queries, 0).collect();
            let pieces: Vec<Vec<Query<u64>>> = in_order(&queries, size).collect();
            prop_assert!(pieces.iter().all(|piece| (1..=size).contains(&piece.len())));
            prop_assert_eq!(&pieces.concat(), &all);

            let pieces: Vec<Vec<Query<u64>>> = by_leading_bits(&queries, size).collect();
            prop_assert!(pieces.iter().all(|piece| (1..=size).contains(&piece.len())));
            // No piece reaches into another, but by leading bits, or where they are very many.
            let bits = |query: &Query<u64>| query[0] >> (64 - BITS);
            for two in pieces.windows(2).filter(|_| size >= queries.len() / RANGES) {
                prop_assert!(two[0].iter().map(bits).max() <= two[1].iter().map(bits).min());
            }
            prop_assert!(ranges(&queries, size).len() <= 2 * RANGES + 3);
            // Two ranges that follow one another hold more than one piece does.
            prop_assert!(pieces.len() <= 3 * queries.len().div_ceil(size) + 1);
            let mut found = pieces.concat();
            found.sort_unstable_by_key(|&[_, number]| number);
            prop_assert_eq!(found, all);
        }
    }
}
