//! Builds a filter, of all keys of a table in their order.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use super::super::Table;
use super::Piece;
use super::group::{self, ENTRY_BITS};

/// Keys that are decoded together, at most, unless a single block has more.
const DECODED_KEYS: u64 = 1 << 16;
/// Bytes of blocks that the system is asked for ahead.
const AHEAD_BYTES: u64 = 4 << 20;

/// The piece with these of the groups that so many bits tell. All pieces of a table count its keys
/// in `counted`. `None` if a block is damaged, keys descend, or there are more than the table
/// states: only `verify` looks for these two.
pub(super) fn piece(
    table: &Table,
    group_bits: u32,
    groups: Range<u64>,
    counted: &AtomicU64,
) -> Option<Piece> {
    // The first key of the first group.
    let mut next = table.seek(groups.start.checked_shl(u64::BITS - group_bits).unwrap_or(0));
    let mut piece = Building::new(table, group_bits, groups);
    let ahead = AHEAD_BYTES / u64::from(table.geometry().block_bytes);
    let (end, mut asked) = (table.block_count(), next);
    let mut keys = Vec::new();
    while next < end {
        let wanted = next.saturating_add(ahead).min(end);
        // As much again at a time.
        if asked < wanted {
            let up_to = asked.saturating_add(ahead).min(end);
            table.will_need_blocks(asked..up_to);
            asked = up_to;
        }
        let (decoded, _) = table.blocks_within(next..wanted, DECODED_KEYS);
        table.decode_blocks(next..decoded, &mut keys).ok()?;
        next = decoded;
        let before = piece.counted;
        let goes_on = piece.push(&keys)?;
        let more = piece.counted - before;
        if counted.fetch_add(more, Ordering::Relaxed) + more > table.header().count {
            return None;
        }
        if !goes_on {
            break;
        }
    }
    piece.finish()
}

/// A piece on its way.
struct Building {
    group_bits: u32,
    groups: Range<u64>,
    starts: Vec<u32>,
    words: Vec<u64>,
    /// Of the group at hand.
    entries: Vec<u16>,
    /// The prefix of the last key that came.
    last: u64,
    /// Keys of the piece that came.
    counted: u64,
}

impl Building {
    fn new(table: &Table, group_bits: u32, groups: Range<u64>) -> Self {
        let count = (groups.end - groups.start) as usize;
        let mut starts = Vec::with_capacity(count + 1);
        starts.push(0);
        // Of uniform keys.
        let of_group = group::most_words((table.header().count >> group_bits) as usize);
        let words = Vec::with_capacity(count * of_group);
        Self { group_bits, groups, starts, words, entries: Vec::new(), last: 0, counted: 0 }
    }

    /// Takes the next keys; `false` behind the last of the piece, `None` if they descend, or it
    /// becomes too large.
    fn push(&mut self, keys: &[u64]) -> Option<bool> {
        let shift = u64::BITS - self.group_bits - ENTRY_BITS;
        for key in keys {
            let prefix = key >> shift;
            if prefix < self.last {
                return None;
            }
            self.last = prefix;
            let group = prefix >> ENTRY_BITS;
            if group < self.groups.start {
                continue;
            }
            if group >= self.groups.end {
                return Some(false);
            }
            self.counted += 1;
            while self.group() < group {
                self.end_group()?;
            }
            let entry = (prefix & ((1 << ENTRY_BITS) - 1)) as u16;
            if self.entries.last() != Some(&entry) {
                self.entries.push(entry);
            }
        }
        Some(true)
    }

    /// The group at hand.
    fn group(&self) -> u64 {
        self.groups.start + self.starts.len() as u64 - 1
    }

    fn end_group(&mut self) -> Option<()> {
        group::push(&self.entries, &mut self.words);
        self.entries.clear();
        self.starts.push(u32::try_from(self.words.len()).ok()?);
        Some(())
    }

    fn finish(mut self) -> Option<Piece> {
        while self.group() < self.groups.end {
            self.end_group()?;
        }
        self.words.shrink_to_fit();
        Some(Piece { starts: self.starts, words: self.words })
    }
}
