//! The first bits of all keys of a table, in memory: a search tells by them in which blocks no key
//! can be near, and does not ask the disk for these.
//!
//! A router tells where a key stands if there is one. Most of the blocks that a search looks into
//! hold none that begins as near to the query as it would have to, which shows as soon as the block
//! is there. Where it has to be read first, that takes as long as a thousand comparisons. A *prefix
//! filter* has of each key the first bits, each once, log2 n and eight more: of the prefixes of
//! uniform keys that a search comes upon, one in 128 to 256 is there by chance. It takes 1.3 to
//! 1.45 bytes for a key: a list by Elias (*Efficient storage and retrieval by content and address
//! of static files*, J. ACM 1974) and Fano, in [groups](group) of some lines of the CPU's cache.
//!
//! A search lists the groups that its budget reaches, asks for their lines ahead, and compares the
//! last byte of all prefixes of a group at once; where it is near enough, the rest of the prefix
//! tells. What it finds are [leads](Lead) into its own table.

mod build;
mod group;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::{Lead, Table};
use crate::error::Result;
use crate::execution::Stop;
use crate::router::Budget;
use crate::{flips, mapped, tasks};
use group::{BUCKET_BITS, ENTRY_BITS, TailBudget};

/// Bits of the number of a piece, at most: each is built by one thread.
const PIECE_BITS: u32 = 6;
/// Bits of the number of a group, at most.
const MOST_GROUP_BITS: u32 = 31;
/// Groups that a search lists before it looks into them, and those that it looks into before it is
/// seen whether to stop.
const GROUPS: usize = 1 << 10;
const UNTIL_STOP: usize = 8;
/// Groups that are looked into in the time that it takes to read a block beside others.
const GROUPS_OF_A_BLOCK: f64 = 8.0;
/// How many groups ahead of the one that is looked into their places are asked for, and how many
/// ahead their words.
const PLACES_AHEAD: usize = 32;
const WORDS_AHEAD: usize = 16;

/// The prefixes of so many bits of all keys of a table.
#[derive(Debug)]
pub(crate) struct PrefixFilter {
    /// Bits that tell a group: it has the prefixes that begin with them.
    group_bits: u32,
    pieces: Vec<Piece>,
}

/// Groups that begin alike.
#[derive(Debug)]
struct Piece {
    /// For each group its first word, and behind the last one the end.
    starts: Vec<u32>,
    words: Vec<u64>,
}

/// A search in a filter.
struct Looking<'a> {
    filter: &'a PrefixFilter,
    /// The prefix of the query.
    query: u64,
    budget: Budget,
    /// Of a prefix, the bits of the top.
    top: u64,
    /// More are not wanted.
    most: usize,
    stop: &'a Stop,
    out: &'a mut Vec<Lead>,
}

impl PrefixFilter {
    /// Prefixes of a group, at most.
    pub(crate) const MOST_OF_GROUP: usize = 1 << ENTRY_BITS;

    /// Bytes of the filter of a table, at most.
    pub(crate) fn most_bytes(table: &Table) -> u64 {
        let groups = 1u64 << group_bits(table);
        // Of each group three words may not be full; of each piece there is one start more.
        let of_groups = groups * (size_of::<u32>() + 3 * size_of::<u64>()) as u64;
        let of_keys = (table.header().count / 8 + 1) * 9;
        of_keys + of_groups + (size_of::<u32>() << PIECE_BITS) as u64
    }

    /// That of a table, whose blocks it reads, with the threads of the current pool. Prefixes have
    /// log2 n bits, rounded down, and 8; at least 14, at most those of a key. `None` if `gives_up`
    /// comes true, if a block is damaged, which is for those searches to tell that it concerns, or
    /// if keys are not what the table states.
    pub(crate) fn of(table: &Table, gives_up: &(dyn Fn() -> bool + Sync)) -> Option<Self> {
        let group_bits = group_bits(table);
        let in_piece = in_piece_bits(group_bits);
        let (has_failed, counted) = (AtomicBool::new(false), AtomicU64::new(0));
        let build = |number: u64| {
            let groups = number << in_piece..(number + 1) << in_piece;
            let built = if has_failed.load(Ordering::Relaxed) || gives_up() {
                None
            } else {
                build::piece(table, group_bits, groups, &counted)
            };
            has_failed.fetch_or(built.is_none(), Ordering::Relaxed);
            built
        };
        let pieces = tasks::map(0..1 << (group_bits - in_piece), build);
        Some(Self { group_bits, pieces: pieces.into_iter().collect::<Option<_>>()? })
    }

    /// Bytes of heap.
    pub(crate) fn heap_bytes(&self) -> u64 {
        let bytes = |piece: &Piece| size_of_val(&piece.starts[..]) + size_of_val(&piece.words[..]);
        self.pieces.iter().map(bytes).sum::<usize>() as u64
    }

    /// Bits of a prefix.
    #[inline]
    pub(crate) fn bits(&self) -> u32 {
        self.group_bits + ENTRY_BITS
    }

    /// Whether a search looks into so few groups that it takes less time than to read all blocks,
    /// of which there are so many.
    pub(crate) fn is_quick(&self, budget: Budget, blocks: u64) -> bool {
        let in_top = budget.top_bits.min(self.group_bits);
        let behind = self.group_bits - in_top;
        let groups = flips::ways(in_top, budget.threshold) * flips::ways(behind, budget.k);
        groups <= GROUPS_OF_A_BLOCK * blocks as f64
    }

    /// The prefixes of a table of so many uniform keys that a search comes upon, on average.
    pub(crate) fn expected(&self, count: u64, budget: Budget) -> f64 {
        let in_top = budget.top_bits.min(self.bits());
        let behind = self.bits() - in_top;
        let exactly = |flips| match flips {
            0 => 1.0,
            _ => flips::ways(in_top, flips) - flips::ways(in_top, flips - 1),
        };
        let flips = 0..=budget.threshold.min(in_top);
        let ways = flips.map(|flips| exactly(flips) * flips::ways(behind, budget.k - flips));
        ways.sum::<f64>() * count as f64 / f64::from(self.bits()).exp2()
    }

    /// Appends the prefixes within `budget` of the key `query`, in no order; `false` if there are
    /// more than `most`: then it has appended up to a [group](Self::MOST_OF_GROUP) more. `groups`
    /// is there for what it holds of memory.
    #[inline(always)]
    pub(crate) fn near(
        &self,
        query: u64,
        budget: Budget,
        (most, stop): (usize, &Stop),
        groups: &mut Vec<u32>,
        out: &mut Vec<Lead>,
    ) -> Result<bool> {
        let query = query >> (u64::BITS - self.bits());
        let below_top = self.bits().saturating_sub(budget.top_bits);
        let top = ((1 << self.bits()) - 1) & !((1 << below_top) - 1);
        let most = out.len().saturating_add(most);
        let mut looking = Looking { filter: self, query, budget, top, most, stop, out };
        let in_top = budget.top_bits.min(self.group_bits);
        let behind = self.group_bits - in_top;
        let group = query >> ENTRY_BITS;
        groups.clear();
        let mut looked = Ok(true);
        flips::up_to(in_top, budget.threshold, |flipped| {
            let left = budget.k - flipped.count_ones();
            let flipped = (flipped as u64) << behind;
            flips::up_to(behind, left, |more| {
                groups.push((group ^ flipped ^ more as u64) as u32);
                if groups.len() == GROUPS {
                    looked = looking.look_into(groups);
                    groups.clear();
                }
                matches!(looked, Ok(true))
            })
        });
        if looked? { looking.look_into(groups) } else { Ok(false) }
    }
}

impl Looking<'_> {
    /// Looks into some groups; `false` once too much was found.
    #[inline(always)]
    fn look_into(&mut self, groups: &[u32]) -> Result<bool> {
        for at in 0..groups.len() + PLACES_AHEAD {
            if let Some(&group) = groups.get(at) {
                self.filter.prefetch_place(group);
            }
            let words = at.checked_sub(PLACES_AHEAD - WORDS_AHEAD);
            if let Some(&group) = words.and_then(|at| groups.get(at)) {
                self.filter.prefetch_words(group);
            }
            if let Some(&group) = at.checked_sub(PLACES_AHEAD).and_then(|at| groups.get(at)) {
                if at % UNTIL_STOP == 0 {
                    self.stop.check()?;
                }
                self.look_into_one(group);
                if self.out.len() > self.most {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    #[inline(always)]
    fn look_into_one(&mut self, group: u32) {
        let Self { filter, query, budget, top, .. } = *self;
        let flipped = (u64::from(group) ^ query >> ENTRY_BITS).count_ones();
        // All bits before a tail are in the top where some of the tail are.
        let tail = match top as u8 {
            0 => TailBudget { mask: u8::MAX, most: budget.k - flipped },
            mask => TailBudget { mask, most: budget.threshold - flipped },
        };
        let bits = filter.bits();
        let common = u64::from(group) << ENTRY_BITS;
        let in_group = (query & ((1 << ENTRY_BITS) - 1)) as u16;
        group::near(filter.words(group), in_group, tail, |entry| {
            let prefix = common | u64::from(entry);
            let differs = prefix ^ query;
            let is_near = differs.count_ones() <= budget.k
                && (differs & top).count_ones() <= budget.threshold;
            if is_near {
                self.out.push(Lead { prefix: prefix << (u64::BITS - bits), bits });
            }
        });
    }
}

impl PrefixFilter {
    /// The piece of a group, and the number in it.
    #[inline(always)]
    fn place(&self, group: u32) -> (&Piece, usize) {
        let in_piece = in_piece_bits(self.group_bits);
        let piece = &self.pieces[group.checked_shr(in_piece).unwrap_or(0) as usize];
        (piece, (group & ((1 << in_piece) - 1)) as usize)
    }

    #[inline(always)]
    fn words(&self, group: u32) -> &[u64] {
        let (piece, number) = self.place(group);
        &piece.words[piece.starts[number] as usize..piece.starts[number + 1] as usize]
    }

    #[inline(always)]
    fn prefetch_place(&self, group: u32) {
        let (piece, number) = self.place(group);
        mapped::prefetch_one(&piece.starts, number);
    }

    #[inline(always)]
    fn prefetch_words(&self, group: u32) {
        let (piece, number) = self.place(group);
        let start = piece.starts[number] as usize;
        // Words of a group of uniform keys, which is two or three lines.
        [0, 8, 16]
            .into_iter()
            .for_each(|behind| mapped::prefetch_one(&piece.words, start + behind));
    }
}

/// Of the bits of a group, those that tell its number in a piece.
fn in_piece_bits(group_bits: u32) -> u32 {
    group_bits.saturating_sub(PIECE_BITS)
}

/// Bits of the groups of the filter of a table.
fn group_bits(table: &Table) -> u32 {
    let count = table.header().count.max(1);
    let most = (table.geometry().bits - ENTRY_BITS).min(MOST_GROUP_BITS);
    count.ilog2().saturating_sub(BUCKET_BITS).min(most)
}
