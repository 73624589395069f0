//! All keys of a table, decoded. A search of a small table spends more on the headers of blocks and on the planes of their columns than on
//! comparisons, and that needs none of it: what begins as the query stands in a row, eight bytes each.

use std::ops::Range;

use super::Table;
use super::finding::{Finding, decode_next};
use crate::arena::{Arena, List, list_bytes};
use crate::error::Result;
use crate::mapped;

/// Keys of a run from which on those with another top are left out, by halving: to compare fewer takes less time.
const LONG: usize = 256;

/// So many times are all fingerprints looked at for the keys of a short table at most, and so many keys does each give at least: that takes a
/// millisecond or so with as many fingerprints as are kept at all.
const PASSES: u64 = 16;
const LEAST_OF_A_PASS: u64 = 4096;

/// The keys of a table in their order, and for each prefix of some bits the number of the first key that does not come before it; behind
/// the last one, the number of keys.
#[derive(Debug)]
pub(crate) struct KeptKeys {
    prefix_bits: u32,
    top_bits: u32,
    keys: List<u64>,
    /// In the order of prefixes, as far as they are known.
    starts: List<u32>,
    /// The blocks before this one have been looked at; of a short table the prefixes before this one are known.
    next: u64,
}

impl KeptKeys {
    /// None yet, of a table that [`kept_bytes`] has a number for, and no room.
    pub(crate) fn none_of(table: &Table) -> Self {
        let top_bits = table.permutation().top_bits();
        let prefix_bits = prefix_bits(top_bits, table.header().count);
        let (keys, starts) = (List::default(), List::default());
        Self { prefix_bits, top_bits, keys, starts, next: 0 }
    }

    /// Takes room for the keys of `table`.
    pub(crate) fn take_room(&mut self, table: &Table, arena: &mut Arena) {
        self.keys = arena.list(table.header().count as usize);
        self.starts = arena.list((1 << self.prefix_bits) + 1);
    }

    /// Whether it has taken room.
    pub(crate) fn has_room(&self) -> bool {
        self.starts.bytes() > 0
    }

    /// Bits of the prefixes.
    #[inline(always)]
    pub(crate) fn prefix_bits(&self) -> u32 {
        self.prefix_bits
    }

    /// The prefix of a key.
    #[inline(always)]
    pub(crate) fn prefix(&self, key: u64) -> usize {
        (key >> (u64::BITS - self.prefix_bits)) as usize
    }

    /// Asks for the start of a run.
    #[inline(always)]
    pub(crate) fn prefetch(&self, prefix: usize) {
        mapped::prefetch_one(&self.starts, prefix);
    }

    /// The numbers of the keys with a prefix. Asks for the first and the last of them.
    #[inline(always)]
    pub(crate) fn run(&self, prefix: usize) -> Range<u32> {
        let run = self.starts[prefix]..self.starts[prefix + 1];
        mapped::prefetch_one(self.keys.lines(), run.start as usize);
        mapped::prefetch_one(self.keys.lines(), (run.end as usize).wrapping_sub(1));
        run
    }

    /// Of a long run those that have the whole top of `query`, of a short one all.
    #[inline(always)]
    pub(crate) fn with_top(&self, run: Range<u32>, query: u64) -> Range<u32> {
        let is_short = run.len() < LONG || self.prefix_bits == self.top_bits;
        if is_short { run } else { self.with_top_of_many(run, query) }
    }

    #[cold]
    fn with_top_of_many(&self, run: Range<u32>, query: u64) -> Range<u32> {
        let top = |key: u64| key >> (u64::BITS - self.top_bits);
        let keys = &self.all()[run.start as usize..run.end as usize];
        let before = keys.partition_point(|key| top(*key) < top(query));
        let up_to = keys.partition_point(|key| top(*key) <= top(query));
        run.start + before as u32..run.start + up_to as u32
    }

    /// Adds the next keys.
    fn add(&mut self, keys: &[u64]) {
        for (number, &key) in (self.all().len() as u32..).zip(keys) {
            let known = self.prefix(key) + 1;
            self.starts.fill_up(known, number);
        }
        self.keys.extend(keys);
    }

    /// As [`find_some`](Finding::find_some), of a short table, which has less than whole keys: of all `fingerprints` of the segment. Looks at them [`PASSES`] times or so,
    /// until all is known. Gives the number of those looked at.
    pub(crate) fn find_permuted(
        &mut self,
        table: &Table,
        fingerprints: &[u64],
        keys: &mut Vec<u64>,
    ) -> u64 {
        let prefixes = 1u64 << self.prefix_bits;
        let passes = (fingerprints.len() as u64 / LEAST_OF_A_PASS).clamp(1, PASSES);
        let end = prefixes.min(self.next + prefixes.div_ceil(passes));
        let permutation = table.permutation();
        keys.clear();
        let all = fingerprints.iter().map(|&fingerprint| permutation.key(fingerprint));
        keys.extend(all.filter(|key| (self.next..end).contains(&(self.prefix(*key) as u64))));
        keys.sort_unstable();
        self.add(keys);
        self.next = end;
        if end == prefixes {
            self.starts.fill_up(prefixes as usize + 1, self.all().len() as u32);
        }
        fingerprints.len() as u64
    }

    /// All keys.
    #[inline(always)]
    pub(crate) fn all(&self) -> &[u64] {
        &self.keys
    }

    /// All keys, and what fills up the last line of the cache.
    #[inline(always)]
    pub(crate) fn lines(&self) -> &[u64] {
        self.keys.lines()
    }
}

impl Finding for KeptKeys {
    fn find_some(&mut self, table: &Table, keys: &mut Vec<u64>) -> Result<u64> {
        let next = decode_next(table, self.next, keys)?;
        if next.is_empty() {
            return Ok(0);
        }
        let (prefixes, count) = (1 << self.prefix_bits, table.header().count);
        let before = self.all().len();
        let found = (before + keys.len()) as u64;
        if found > count {
            return Err(table.surplus_error(found));
        }
        self.add(keys);
        self.next = next.end;
        if self.next == table.block_count() {
            self.starts.fill_up(prefixes + 1, found as u32);
        }
        Ok(keys.len() as u64)
    }

    fn is_complete(&self) -> bool {
        self.starts.len() > 1 << self.prefix_bits
    }

    fn heap_bytes(&self) -> u64 {
        self.keys.bytes() + self.starts.bytes()
    }
}

/// The bytes of an arena that all keys of a table take; `None` if there are none or too many, or runs cannot be told.
pub(crate) fn kept_bytes(table: &Table) -> Option<u64> {
    let top_bits = table.permutation().top_bits();
    let count = u32::try_from(table.header().count).ok();
    let count = u64::from(count.filter(|count| *count > 0 && top_bits > 0)?);
    let starts = (1 << prefix_bits(top_bits, count)) + 1;
    Some(list_bytes::<u64>(count) + list_bytes::<u32>(starts))
}

/// The bits of the prefixes of so many keys. One to two prefixes for each key: real keys begin alike, and half as many take a tenth longer
/// (imagehash).
fn prefix_bits(top_bits: u32, count: u64) -> u32 {
    top_bits.min(count.max(1).ilog2() + 1)
}

#[cfg(test)]
mod tests {
    use super::super::finding::DECODED_KEYS;
    use super::*;
    use crate::set_sum::term;
    use crate::store::{Packer, Store};

    #[test]
    fn a_run_is_what_begins_as_a_query_and_of_a_long_one_what_has_its_top() {
        let mut set: Vec<u64> = (0..20_000).map(|i| term(i) as u64).collect();
        // One prefix, several tops: more than are compared, and few.
        set.extend((0..3000).map(|i| 0x1234 << 48 | term(i) as u64 >> 16));
        set.extend((0..100).map(|i| 0x1235 << 48 | term(i) as u64 >> 16));
        set.extend([0, u64::MAX]);
        set.sort_unstable();
        set.dedup();
        let directory = tempfile::tempdir().unwrap();
        for (number, (design, block_bytes, low_bits, prefix_bits)) in
            [("quarters", 256, 48, 15), ("single", 1024, 24, 15), ("8,28,28", 65536, 0, 8)]
                .into_iter()
                .enumerate()
        {
            let path = directory.path().join(format!("{number}"));
            let packer = Packer::new().block_bytes(block_bytes).low_bits(Some(low_bits));
            packer.design(design.parse().unwrap()).pack(&path, set.iter().copied()).unwrap();
            let store = Store::open(&path).unwrap();
            let snapshot = store.snapshot();
            let table = &snapshot.segments()[0].tables()[0];
            let mut kept = KeptKeys::none_of(table);
            assert_eq!(kept.prefix_bits, prefix_bits);
            let mut arena = Arena::with_room(kept_bytes(table).unwrap() as usize).unwrap();
            kept.take_room(table, &mut arena);
            let mut keys = Vec::new();
            while !kept.is_complete() {
                let before = kept.all().len();
                let some = kept.find_some(table, &mut keys).unwrap();
                assert_eq!(kept.all().len(), before + some as usize);
                let is_one_block = some <= table.geometry().most_keys();
                assert!(some > 0 && (some <= DECODED_KEYS || is_one_block), "{some}");
            }
            assert_eq!(kept.find_some(table, &mut keys).unwrap(), 0);
            assert_eq!(kept.all(), set, "the first table has the order of the fingerprints");
            assert_eq!(Some(kept.heap_bytes()), kept_bytes(table));
            let top_bits = table.permutation().top_bits();
            let mut long = 0;
            for query in (0..1000).map(|i| term(7 * i) as u64).chain([
                0x1234 << 48,
                0x1235 << 48,
                0,
                u64::MAX,
                1 << 63,
            ]) {
                let begins = |bits: u32| {
                    let of = |key: u64| key >> (64 - bits);
                    let start = set.partition_point(|key| of(*key) < of(query));
                    start..set.partition_point(|key| of(*key) <= of(query))
                };
                let whole = begins(prefix_bits);
                let is_long = whole.len() >= LONG;
                let run = kept.run(kept.prefix(query));
                assert_eq!(run.start as usize..run.end as usize, whole, "{query:x}, {design}");
                let expected = if is_long { begins(top_bits) } else { whole };
                let run = kept.with_top(run, query);
                assert_eq!(run.start as usize..run.end as usize, expected, "{query:x}, {design}");

                long += usize::from(is_long);
            }
            assert!(long > 1, "{design}");
        }
    }
}
