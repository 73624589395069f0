//! The names of a log, in memory: one writes, any number read.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use super::NameSource;
use super::sorter::{common_bytes, leading};
use crate::error::Result;

/// Bytes of a page of text, unless a name is longer.
const PAGE_BYTES: usize = 1 << 16;

/// Names and their numbers, in the order in which they came. A name that comes again keeps its
/// number.
#[derive(Default)]
pub(crate) struct LiveNames {
    names: RwLock<Names>,
    hasher: RandomState,
}

#[derive(Default)]
struct Names {
    pages: Vec<Vec<u8>>,
    /// Where each stands: page, start, and length.
    places: Vec<(u32, u32, u16)>,
    /// By hash the first name that has it.
    numbers: HashMap<u64, u32, Unhashed>,
    /// Names whose hash another name has.
    others: HashMap<Box<[u8]>, u32>,
    /// Of the names alone.
    name_bytes: usize,
}

/// Memory of a name beside its bytes: its place, and its entry in a table that is half full.
const BYTES_BESIDE: usize = size_of::<(u32, u32, u16)>() + 2 * size_of::<(u64, u32)>();

impl LiveNames {
    /// The number of a name, which has at most 65,535 bytes; a new one if it was not there.
    pub(crate) fn intern(&self, name: &[u8]) -> u64 {
        let hash = self.hasher.hash_one(name);
        if let Some(number) = self.read().find(hash, name) {
            return number.into();
        }
        // One writes: nobody has added it in between.
        let mut names = self.names.write().unwrap_or_else(PoisonError::into_inner);
        names.add(hash, name).into()
    }

    /// The number of a name, if it is there.
    pub(crate) fn find(&self, name: &[u8]) -> Option<u64> {
        self.read().find(self.hasher.hash_one(name), name).map(u64::from)
    }

    /// Calls `look` with the name of a number that was given.
    pub(crate) fn with<T>(&self, number: u64, look: impl FnOnce(&[u8]) -> T) -> T {
        look(self.read().get(number as usize))
    }

    /// The numbers that `numbers` has, in the order of their names.
    pub(crate) fn sort(&self, numbers: &mut [u64]) {
        if numbers.len() < 2 {
            return;
        }
        let names = self.read();
        let name = |number: u64| names.get(number as usize);
        let common = common_bytes(numbers.iter().map(|number| name(*number)));
        let lead = |&number: &u64| (leading(&name(number)[common..]), number);
        let mut sorted: Vec<(u64, u64)> = numbers.iter().map(lead).collect();
        sorted.sort_unstable_by(|a, b| match a.0.cmp(&b.0) {
            Ordering::Equal => name(a.1)[common..].cmp(&name(b.1)[common..]),
            order => order,
        });
        numbers.iter_mut().zip(sorted).for_each(|(number, (_, sorted))| *number = sorted);
    }

    /// Bytes of the names, each counted once.
    pub(crate) fn name_bytes(&self) -> u64 {
        self.read().name_bytes as u64
    }

    /// Bytes of memory.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let names = self.read();
        (names.name_bytes + names.places.len() * BYTES_BESIDE) as u64
    }

    fn read(&self) -> RwLockReadGuard<'_, Names> {
        self.names.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Names {
    fn get(&self, number: usize) -> &[u8] {
        let Some(&(page, start, length)) = self.places.get(number) else { return &[] };
        let (page, start) = (&self.pages[page as usize], start as usize);
        &page[start..start + usize::from(length)]
    }

    fn find(&self, hash: u64, name: &[u8]) -> Option<u32> {
        let first = *self.numbers.get(&hash)?;
        if self.get(first as usize) == name { Some(first) } else { self.others.get(name).copied() }
    }

    fn add(&mut self, hash: u64, name: &[u8]) -> u32 {
        let number = self.places.len() as u32;
        if self.pages.last().is_none_or(|page| page.len() + name.len() > page.capacity()) {
            self.pages.push(Vec::with_capacity(PAGE_BYTES.max(name.len())));
        }
        let page_number = self.pages.len() as u32 - 1;
        let page = &mut self.pages[page_number as usize];
        self.places.push((page_number, page.len() as u32, name.len() as u16));
        page.extend_from_slice(name);
        if let Some(other) = self.numbers.insert(hash, number) {
            self.numbers.insert(hash, other);
            self.others.insert(name.into(), number);
        }
        self.name_bytes += name.len();
        number
    }
}

/// Some names of a log in their order, as a segment will have them.
pub(crate) struct LiveList {
    names: Arc<LiveNames>,
    /// Their numbers in the log.
    sorted: Vec<u64>,
    /// For each number of the log that of the list.
    ranks: Vec<u32>,
}

impl LiveList {
    /// The names with these numbers, in any order and some several times.
    pub(crate) fn new(names: Arc<LiveNames>, mut numbers: Vec<u64>) -> Self {
        numbers.sort_unstable();
        numbers.dedup();
        let mut ranks = vec![0; numbers.last().map_or(0, |last| *last as usize + 1)];
        names.sort(&mut numbers);
        for (rank, &number) in (0..).zip(&numbers) {
            ranks[number as usize] = rank;
        }
        Self { names, sorted: numbers, ranks }
    }

    /// The place in the list of a name with this number in the log, which is one of the list.
    pub(crate) fn rank(&self, number: u64) -> u64 {
        self.ranks.get(number as usize).copied().unwrap_or(0).into()
    }
}

impl NameSource for LiveList {
    fn visit(&mut self, sink: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        self.sorted.iter().try_for_each(|&number| self.names.with(number, &mut *sink))
    }
}

/// Keys that are hashes already.
#[derive(Clone, Default)]
struct Unhashed(u64);

impl BuildHasher for Unhashed {
    type Hasher = Self;

    fn build_hasher(&self) -> Self {
        Self(0)
    }
}

impl std::hash::Hasher for Unhashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_its_number_also_where_hashes_are_equal() {
        let mut names = Names::default();
        for (number, name) in ["a", "b", "", "long long name"].iter().enumerate() {
            assert_eq!(names.find(7, name.as_bytes()), None);
            assert_eq!(names.add(7, name.as_bytes()) as usize, number);
            assert_eq!(names.get(number), name.as_bytes());
            assert_eq!(names.find(7, name.as_bytes()), Some(number as u32));
        }
        let live = LiveNames::default();
        for round in 0..2 {
            for i in 0..20_000u64 {
                let name = "x".repeat(i as usize % 50) + &i.to_string();
                assert_eq!(live.intern(name.as_bytes()), i, "{round}");
                assert!(live.with(i, |found| found == name.as_bytes()));
            }
        }
        assert_eq!(live.find(b"absent"), None);
        let mut numbers = vec![3, 1, 2, 0];
        live.sort(&mut numbers);
        // "0", "x1", "xx2", "xxx3".
        assert_eq!(numbers, [0, 1, 2, 3]);
        let long = vec![b'y'; 65_535];
        let number = live.intern(&long);
        assert!(live.with(number, |found| found == long));
    }
}
