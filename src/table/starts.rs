//! Where runs start. A *run* is what a table holds of the keys that begin with the same bits: adjacent keys, like those of one
//! prefix in the paper's table.
//!
//! The router tells blocks, and a block holds keys of many prefixes. These places tell keys, 4 bytes for each prefix: the block,
//! and the number in it.

use std::ops::Range;

use super::Table;
use super::finding::{Finding, decode_next};
use crate::block::KeyPlace;
use crate::error::Result;
use crate::mapped;

/// For each prefix of some bits the place of the first key that does not come before it, and behind the last one the end of the
/// table. Once these are complete, all blocks of the table have been checked.
#[derive(Debug)]
pub(crate) struct Starts {
    prefix_bits: u32,
    /// Bits of a place that tell the number in the block; those above them tell the block.
    number_bits: u32,
    /// In the order of prefixes, as far as they are known.
    places: Vec<u32>,
    /// The blocks before this one have been looked at.
    next_block: u64,
}

impl Starts {
    /// None yet, for the prefixes of so many bits, 1 to 31, of the keys of `table`. `None` if places do not fit into 32 bits, or if
    /// the table has no column.
    pub(crate) fn none_of(table: &Table, prefix_bits: u32) -> Option<Self> {
        let geometry = table.geometry();
        let number_bits = u64::BITS - geometry.most_keys().leading_zeros();
        let end = table.block_count().checked_shl(number_bits)?;
        let fits = geometry.planes() > 0 && end >> number_bits == table.block_count();
        (fits && u32::try_from(end).is_ok()).then(|| Self {
            prefix_bits,
            number_bits,
            places: Vec::new(),
            next_block: 0,
        })
    }

    /// Adds the places of the prefixes up to that of the last of the `keys` of a block.
    fn add(&mut self, block: u32, keys: &[u64]) {
        for (number, &key) in (0..).zip(keys) {
            let known = self.prefix(key) + 1;
            if self.places.len() < known {
                self.places.resize(known, self.place(block, number));
            }
        }
    }

    /// Asks for the places of a run.
    #[inline(always)]
    pub(crate) fn prefetch(&self, key: u64) {
        mapped::prefetch_one(&self.places, self.prefix(key));
    }

    /// Where the run of a key starts and ends: it is the first behind it. Of complete starts.
    #[inline(always)]
    pub(crate) fn run(&self, key: u64) -> Range<KeyPlace> {
        let prefix = self.prefix(key);
        let place = |place: u32| KeyPlace {
            block: place >> self.number_bits,
            number: place & ((1 << self.number_bits) - 1),
        };
        place(self.places[prefix])..place(self.places[prefix + 1])
    }

    /// Bits of the prefixes.
    #[inline(always)]
    pub(crate) fn prefix_bits(&self) -> u32 {
        self.prefix_bits
    }

    #[inline(always)]
    fn prefix(&self, key: u64) -> usize {
        (key >> (u64::BITS - self.prefix_bits)) as usize
    }

    fn place(&self, block: u32, number: u32) -> u32 {
        block << self.number_bits | number
    }
}

impl Finding for Starts {
    fn find_some(&mut self, table: &Table, keys: &mut Vec<u64>) -> Result<u64> {
        let next = decode_next(table, self.next_block, keys)?;
        if next.is_empty() {
            return Ok(0);
        }
        let prefixes = 1 << self.prefix_bits;
        if self.places.is_empty() {
            self.places.reserve_exact(prefixes + 1);
        }
        let mut rest = &keys[..];
        for block in next.clone() {
            let of_block;
            (of_block, rest) = rest.split_at(rest.len().min(table.key_count(block)? as usize));
            self.add(block as u32, of_block);
        }
        self.next_block = next.end;
        if self.next_block == table.block_count() {
            self.places.resize(prefixes + 1, self.place(self.next_block as u32, 0));
        }
        Ok(keys.len() as u64)
    }

    fn is_complete(&self) -> bool {
        self.places.len() > 1 << self.prefix_bits
    }

    fn heap_bytes(&self) -> u64 {
        (self.places.capacity() * size_of::<u32>()) as u64
    }
}

/// Bytes of the places of prefixes of so many bits.
pub(crate) fn starts_bytes(prefix_bits: u32) -> u64 {
    size_of::<u32>() as u64 * ((1 << prefix_bits) + 1)
}

#[cfg(test)]
mod tests {
    use super::super::finding::DECODED_KEYS;
    use super::*;
    use crate::store::{Packer, Store};

    /// Uniform keys, and many that begin alike.
    fn set() -> Vec<u64> {
        let mut random = 7u64;
        let mut next = || {
            random = random.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
            random ^ random >> 32
        };
        let mut set: Vec<u64> = (0..20_000).map(|_| next()).collect();
        set.extend((0..3000).map(|_| 0x1234_5678 << 32 | next() >> 32));
        set.extend([0, 1, u64::MAX, u64::MAX - 1]);
        set.sort_unstable();
        set.dedup();
        set
    }

    #[test]
    fn a_run_is_what_begins_with_the_bits_of_a_key() {
        let set = set();
        let directory = tempfile::tempdir().unwrap();
        for (block_bytes, low_bits) in [(256, 32), (1024, 24), (65536, 8)] {
            let path = directory.path().join(format!("{block_bytes}"));
            let packer = Packer::new().block_bytes(block_bytes).low_bits(Some(low_bits));
            let packer = packer.design("single".parse().unwrap());
            packer.pack(&path, set.iter().copied()).unwrap();
            let store = Store::open(&path).unwrap();
            let snapshot = store.snapshot();
            let table = &snapshot.segments()[0].tables()[0];
            for prefix_bits in [1, 5, 13, 20] {
                let mut starts = Starts::none_of(table, prefix_bits).unwrap();
                let (mut keys, mut found) = (Vec::new(), 0);
                while !starts.is_complete() {
                    let some = starts.find_some(table, &mut keys).unwrap();
                    let is_one_block = some <= table.geometry().most_keys();
                    assert!(some > 0 && (some <= DECODED_KEYS || is_one_block), "{some}");
                    found += some;
                }
                assert_eq!(found, set.len() as u64);
                assert_eq!(starts.find_some(table, &mut keys).unwrap(), 0);
                assert_eq!(starts.heap_bytes(), starts_bytes(prefix_bits));
                // The number of keys before a place.
                let counts = (0..table.block_count()).map(|block| table.key_count(block).unwrap());
                let mut before = vec![0];
                before.extend(counts.scan(0, |sum, count| {
                    *sum += count as usize;
                    Some(*sum)
                }));
                let rank = |place: KeyPlace| {
                    let start = before[place.block as usize];
                    let is_there = place.block as usize == before.len() - 1
                        || start + (place.number as usize) < before[place.block as usize + 1];
                    assert!(is_there, "{place:?}");
                    start + place.number as usize
                };
                let probes = [0, u64::MAX, 0x1234_5678 << 32, 0x1234_5679 << 32, 1 << 63];
                for key in set.iter().step_by(97).copied().chain(probes) {
                    let prefix = |key: u64| key >> (64 - prefix_bits);
                    let start = set.partition_point(|one| prefix(*one) < prefix(key));
                    let end = set.partition_point(|one| prefix(*one) <= prefix(key));
                    let run = starts.run(key);
                    assert_eq!(rank(run.start)..rank(run.end), start..end, "{key:x}");
                }
            }
        }
    }

    #[test]
    fn tables_without_a_column_have_none() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store");
        Packer::new().low_bits(Some(0)).pack(&path, set()).unwrap();
        let store = Store::open(&path).unwrap();
        let snapshot = store.snapshot();
        let none = |table| Starts::none_of(table, 8).is_none();
        assert!(snapshot.segments()[0].tables().iter().all(none));
    }
}
