//! Decodes all keys with the prefixes that are visited, and compares these in full.

use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::query::join::Found;
use crate::table::Table;

use super::{Sweep, Visit, seek};

/// Blocks that are decoded side by side, and their keys, unless a single block holds more.
const SIDE_BY_SIDE: u64 = 8;
pub(super) const MOST_KEYS: u64 = 1 << 16;

/// Compares the keys of queries with those of the table that begin like what they visit.
///
/// Memory: 8 bytes for each key of some blocks, [`MOST_KEYS`] or those of a single one, however many
/// begin alike.
pub(super) fn visit<F: Fingerprint>(
    sweep: &Sweep<'_, F>,
    visits: &[impl Visit],
    found: &mut Found<'_, F>,
) -> Result<()> {
    let mut window = KeyWindow::new(sweep.probed.table);
    let mut keys = Vec::new();
    for group in sweep.by_prefix(visits) {
        let (first, last) = sweep.range(group[0].visited());
        keys.clear();
        keys.extend(group.iter().map(Visit::key));
        window.turn_to(first);
        loop {
            if sweep.output.stopped() {
                return Ok(());
            }
            let stored = window.next(first, last, group.len())?;
            if stored.is_empty() {
                break;
            }
            sweep.compare(&keys, stored, found);
        }
    }
    Ok(())
}

/// The decoded keys of some blocks that follow each other.
struct KeyWindow<'a> {
    table: &'a Table,
    /// The blocks behind the keys.
    next_block: u64,
    keys: Vec<u64>,
    /// Keys that are used up.
    used: usize,
}

impl<'a> KeyWindow<'a> {
    fn new(table: &'a Table) -> Self {
        Self { table, next_block: 0, keys: Vec::new(), used: 0 }
    }

    /// Goes on to the keys from `first` on, which is not below that of an earlier call.
    fn turn_to(&mut self, first: u64) {
        if self.keys.last().is_none_or(|&greatest| greatest < first) {
            self.keys.clear();
            self.used = 0;
            self.next_block = seek(self.table, self.next_block, first);
        }
    }

    /// Some of the next keys from `first` to `last`; none where all of them were given. Decodes each
    /// block once, and no more than are needed, or where there are several `queries` than are needed
    /// soon.
    fn next(&mut self, first: u64, last: u64, queries: usize) -> Result<&[u64]> {
        let blocks = self.table.block_count();
        loop {
            self.used += gallop(&self.keys[self.used..], |key| key < first);
            let done = self.keys.last().is_some_and(|&greatest| greatest >= last);
            if self.used < self.keys.len() || done || self.next_block == blocks {
                break;
            }
            let mut end = self.next_block + 1;
            let ahead = if queries > 1 { SIDE_BY_SIDE } else { 1 };
            let most = blocks.min(self.next_block + SIDE_BY_SIDE);
            while end < most
                && (self.table.last_key(end - 1) < last || end < self.next_block + ahead)
            {
                end += 1;
            }
            let (end, _) = self.table.blocks_within(self.next_block..end, MOST_KEYS);
            self.used = 0;
            self.table.decode_blocks(self.next_block..end, &mut self.keys)?;
            self.next_block = end;
        }
        let start = self.used;
        self.used += gallop(&self.keys[start..], |key| key <= last);
        Ok(&self.keys[start..self.used])
    }
}

/// The number of leading keys for which `holds` does; none holds behind one that does not. Takes
/// time logarithmic in that number.
fn gallop(keys: &[u64], holds: impl Fn(u64) -> bool) -> usize {
    let mut end = 1;
    while end < keys.len() && holds(keys[end - 1]) {
        end *= 2;
    }
    let start = end / 2;
    let end = end.min(keys.len());
    start + keys[start..end].partition_point(|&key| holds(key))
}

#[cfg(test)]
mod tests {
    use super::gallop;

    #[test]
    fn galloping_finds_the_end_of_a_run() {
        for count in 0..70u64 {
            let keys: Vec<u64> = (0..count).collect();
            for end in 0..=count {
                assert_eq!(gallop(&keys, |key| key < end), end as usize, "{end} of {count}");
            }
        }
    }
}
