//! Finds the records near a fingerprint: by one of four parts, of 16 bits where a fingerprint has
//! 64, that hardly differs.
//!
//! A list per part and prefix of it, in lines of the cache with five records each, so that adding a
//! record touches two lines per part, and a list of ten is read by three misses.
//! Lists grow by pages, and never move.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::fingerprint::{Fingerprint, first_word};
use crate::{cover, flips};

/// Parts of a fingerprint.
const PARTS: usize = 4;
/// Bits of a prefix of a part, at most.
const MOST_BITS: u32 = 20;
/// Records of a line.
const SLOTS: usize = 5;
/// Where the numbers of the records begin in a line, two in each word; the last one shares its word
/// with the number of the next line.
const NUMBERS: usize = SLOTS;

/// Lines of a list, and how many times those of an average one, from which on a search goes by
/// other parts, if it can.
const CROWDED: u32 = 16;

/// A line: the first words of fingerprints, the numbers of their records from 1 on, and that of the
/// line behind it, from 1 on. It fills a line of the cache.
#[derive(Default)]
#[repr(align(32))]
struct Line([AtomicU64; 8]);

/// The lists.
pub(super) struct Index<F> {
    /// Bits of the prefix of a part.
    bits: u32,
    /// For each part and prefix the number of the first line, from 1 on.
    heads: Box<[AtomicU64]>,
    lines: Pages<Line>,
    width: PhantomData<F>,
}

/// Where the next line goes; for the one who adds.
#[derive(Default)]
pub(super) struct IndexEnd {
    lines: usize,
}

impl<F: Fingerprint> Index<F> {
    const PART_BITS: u32 = F::BITS / PARTS as u32;

    /// An index of at most so many records.
    pub(super) fn new(capacity: usize) -> Self {
        let bits = capacity.max(4).ilog2().saturating_sub(2).min(Self::PART_BITS).min(MOST_BITS);
        let lists = PARTS << bits;
        // Each list begins a line, and all others are full.
        let lines = (PARTS * capacity).div_ceil(SLOTS) + lists.min(PARTS * capacity);
        let heads = (0..lists).map(|_| AtomicU64::new(0)).collect();
        Self { bits, heads, lines: Pages::new(lines), width: PhantomData }
    }

    /// The list of a part of a fingerprint.
    #[inline]
    fn list(&self, part: usize, fingerprint: F) -> usize {
        part << self.bits | fingerprint.bits(Self::PART_BITS * part as u32, self.bits) as usize
    }

    /// Adds a record; `false` if there is no room. Only one thread may do this at a time, the
    /// holder of the end.
    pub(super) fn add(&self, fingerprint: F, record: u32, end: &mut IndexEnd) -> bool {
        (0..PARTS).all(|part| self.add_to(self.list(part, fingerprint), fingerprint, record, end))
    }

    fn add_to(&self, list: usize, fingerprint: F, record: u32, end: &mut IndexEnd) -> bool {
        let head = self.heads[list].load(Ordering::Relaxed) as usize;
        if let Some(line) = head.checked_sub(1).and_then(|number| self.lines.get(number)) {
            let free = (0..SLOTS).find(|&slot| number_at(line, slot, Ordering::Relaxed) == 0);
            if let Some(slot) = free {
                put(line, slot, first_word(fingerprint), record);
                return true;
            }
        }
        let Some(line) = self.lines.get_or_grow(end.lines) else { return false };
        end.lines += 1;
        line.0[NUMBERS + 2].store((head as u64) << 32, Ordering::Relaxed);
        put(line, 0, first_word(fingerprint), record);
        self.heads[list].store(end.lines as u64, Ordering::Release);
        true
    }

    /// Gives the records whose first words are within `k` of that of `fingerprint`, and some part
    /// of which is near enough that they may be, to `found`, some perhaps several times; `false`,
    /// whatever was found, if looking at all of `records` is less work.
    #[inline(always)]
    pub(super) fn search(
        &self,
        fingerprint: F,
        k: u32,
        records: u32,
        mut found: impl FnMut(u32),
    ) -> bool {
        // A line takes as long as some records that are read in order.
        let mut lines_left = 8 + records / 8;
        let crowded = CROWDED + CROWDED * (records >> self.bits) / SLOTS as u32;
        // Where many records begin a part alike, the others have to do: that they are given again
        // does no harm.
        let mut parts: [usize; PARTS] = std::array::from_fn(|part| part);
        for count in (1..=PARTS).rev() {
            let mut search = Lists { index: self, fingerprint, k, crowded, lines_left };
            match search.parts(&parts[..count], &mut found) {
                Ended::Whole => return true,
                Ended::Crowded(at) => parts.copy_within(at + 1.., at),
                Ended::TooLong => return false,
            }
            lines_left = search.lines_left;
        }
        false
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> u64 {
        8 * self.heads.len() as u64 + self.lines.bytes()
    }
}

/// A search by some parts.
struct Lists<'a, F> {
    index: &'a Index<F>,
    fingerprint: F,
    k: u32,
    /// Lines of a list that are too many.
    crowded: u32,
    lines_left: u32,
}

/// How a search by some parts ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    Whole,
    /// A list of the part in this place was too long.
    Crowded(usize),
    /// No lines were left.
    TooLong,
}

impl<F: Fingerprint> Lists<'_, F> {
    /// Gives what is near by these parts.
    #[inline(always)]
    fn parts(&mut self, parts: &[usize], found: &mut impl FnMut(u32)) -> Ended {
        let thresholds = cover::evenly(parts.len() as u32, self.k);
        for ((at, &part), threshold) in parts.iter().enumerate().zip(thresholds) {
            let own = self.index.list(part, self.fingerprint);
            let mut ended = Ended::Whole;
            flips::up_to(self.index.bits, threshold, |flips| {
                ended = self.list(own ^ flips, at, found);
                ended == Ended::Whole
            });
            if ended != Ended::Whole {
                return ended;
            }
        }
        Ended::Whole
    }

    /// Gives what is near in a list of the part in this place.
    #[inline(always)]
    fn list(&mut self, list: usize, at: usize, found: &mut impl FnMut(u32)) -> Ended {
        let (word, lines) = (first_word(self.fingerprint), &self.index.lines);
        let mut next = self.index.heads[list].load(Ordering::Acquire) as usize;
        self.lines_left = self.lines_left.saturating_sub(1);
        let mut length = 0;
        while let Some(line) = next.checked_sub(1).and_then(|number| lines.get(number)) {
            for slot in 0..SLOTS {
                let number = number_at(line, slot, Ordering::Acquire);
                let Some(record) = number.checked_sub(1) else { break };
                let stored = line.0[slot].load(Ordering::Relaxed);
                if (stored ^ word).count_ones() <= self.k {
                    found(record);
                }
            }
            next = (line.0[NUMBERS + 2].load(Ordering::Relaxed) >> 32) as usize;
            self.lines_left = self.lines_left.saturating_sub(1);
            length += 1;
            if length > self.crowded {
                return Ended::Crowded(at);
            }
        }
        if self.lines_left > 0 { Ended::Whole } else { Ended::TooLong }
    }
}

/// The number of the record in a slot, from 1 on; 0 if there is none.
#[inline]
fn number_at(line: &Line, slot: usize, ordering: Ordering) -> u32 {
    (line.0[NUMBERS + slot / 2].load(ordering) >> (32 * (slot % 2))) as u32
}

/// Fills a slot. Who sees its number sees the fingerprint too.
#[inline]
fn put(line: &Line, slot: usize, first_word: u64, record: u32) {
    line.0[slot].store(first_word, Ordering::Relaxed);
    let word = &line.0[NUMBERS + slot / 2];
    let number = (u64::from(record) + 1) << (32 * (slot % 2));
    word.store(word.load(Ordering::Relaxed) | number, Ordering::Release);
}

/// Entries of a page.
const PAGE: usize = 1 << 10;

/// Entries of atomic words, at most as many as were said at first. All are 0 before they are
/// written.
pub(super) struct Pages<E> {
    pages: Box<[OnceLock<Box<[E]>>]>,
}

impl<E: Default> Pages<E> {
    /// Room for `capacity` entries, which is taken page by page.
    pub(super) fn new(capacity: usize) -> Self {
        Self { pages: (0..capacity.div_ceil(PAGE)).map(|_| OnceLock::new()).collect() }
    }

    /// Entry `number`, if its page is there.
    #[inline]
    pub(super) fn get(&self, number: usize) -> Option<&E> {
        self.pages.get(number / PAGE)?.get()?.get(number % PAGE)
    }

    /// Entry `number`, whose page comes to be; `None` behind the capacity.
    #[inline]
    pub(super) fn get_or_grow(&self, number: usize) -> Option<&E> {
        let page = self.pages.get(number / PAGE)?;
        let page = page.get_or_init(|| (0..PAGE).map(|_| E::default()).collect());
        page.get(number % PAGE)
    }

    /// Runs of entries that are there, of those with these numbers, each with the number of its
    /// first.
    pub(super) fn runs(&self, numbers: Range<usize>) -> impl Iterator<Item = (usize, &[E])> {
        let pages = numbers.start / PAGE..numbers.end.div_ceil(PAGE);
        pages.filter_map(move |number| {
            let first = number * PAGE;
            let page = self.pages.get(number)?.get()?;
            let of_page = numbers.start.max(first) - first..(numbers.end - first).min(PAGE);
            Some((first + of_page.start, page.get(of_page)?))
        })
    }

    /// Bytes of the pages that are there.
    pub(super) fn bytes(&self) -> u64 {
        let pages = self.pages.iter().filter(|page| page.get().is_some()).count();
        (pages * PAGE * size_of::<E>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::set_sum::term;

    #[test]
    fn where_all_begin_alike_other_parts_do() {
        let random = |i: u64| term(i) as u64;
        // Equal in one part, in two, and in all.
        let sets = [("first", !0 >> 16, true), ("third", !0xFFFF_0000, true)];
        let others = [("two", !0 >> 32, true), ("all", 0, false)];
        for (name, mask, ends) in sets.into_iter().chain(others) {
            let set: Vec<u64> = (0..40_000).map(|i| random(i) & mask).collect();
            let index = Index::<u64>::new(1 << 18);
            let mut end = IndexEnd::default();
            for (record, &fingerprint) in (0..).zip(&set) {
                assert!(index.add(fingerprint, record, &mut end));
            }
            for k in [0, 3, 6] {
                for i in 0..50 {
                    let flips = (0..u64::from(k)).map(|flip| 1 << (random(i + flip) % 64));
                    let query = flips.fold(set[i as usize * 700], |query, flip| query ^ flip);
                    let mut found = Vec::new();
                    let searched = index.search(query, k, 40_000, |record| found.push(record));
                    assert_eq!(searched, ends, "{name}, {k}");
                    if !searched {
                        continue;
                    }
                    found.sort_unstable();
                    found.dedup();
                    let near = |of: &(u32, u64)| (of.1 ^ query).count_ones() <= k;
                    let expected = (0..).zip(set.iter().copied()).filter(near).map(|of| of.0);
                    assert_eq!(found, expected.collect::<Vec<u32>>(), "{name}, {k}");
                }
            }
        }
    }
}
