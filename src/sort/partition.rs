//! Distributes records over buckets, stably, with all threads of the current pool.

use crate::record::Record;
use crate::tasks;

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
