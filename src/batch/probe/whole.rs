//! Decodes all keys with the prefixes that are visited, and compares these in full.

use crate::error::Result;
use crate::join::Found;
use crate::table::Table;

use super::{Sweep, Visit, seek};

/// Blocks that are decoded side by side.
const SIDE_BY_SIDE: u64 = 8;
/// Keys that were used up before the others are moved.
const USED_UP: usize = 1 << 14;

/// Compares the keys of queries with those of the table that begin like what they visit.
pub(super) fn visit(sweep: &Sweep<'_>, visits: &[impl Visit], found: &mut Found<'_>) -> Result<()> {
    let mut window = Window::new(sweep.probed.table);
    let mut keys = Vec::new();
    for group in sweep.by_prefix(visits) {
        if sweep.output.stopped() {
            return Ok(());
        }
        let (first, last) = sweep.range(group[0].visited());
        let stored = window.read(first, last, group.len())?;
        if !stored.is_empty() {
            keys.clear();
            keys.extend(group.iter().map(Visit::key));
            sweep.compare(&keys, stored, found);
        }
    }
    Ok(())
}

/// The decoded keys of some blocks that follow each other.
struct Window<'a> {
    table: &'a Table,
    /// The blocks behind the keys.
    next_block: u64,
    keys: Vec<u64>,
    /// Keys that are used up.
    used: usize,
    decoded: Vec<u64>,
}

impl<'a> Window<'a> {
    fn new(table: &'a Table) -> Self {
        Self { table, next_block: 0, keys: Vec::new(), used: 0, decoded: Vec::new() }
    }

    /// The keys from `first` to `last`, neither of which is below that of an earlier call. Decodes
    /// each block at most once.
    fn read(&mut self, first: u64, last: u64, queries: usize) -> Result<&[u64]> {
        let blocks = self.table.block_count();
        if self.keys.last().is_none_or(|&greatest| greatest < first) {
            self.keys.clear();
            self.used = 0;
            self.next_block = seek(self.table, self.next_block, first);
        }
        while self.keys.last().is_none_or(|&greatest| greatest < last) && self.next_block < blocks {
            // As many as are needed; where queries are dense, the blocks behind are as well.
            let mut end = self.next_block + 1;
            let ahead = if queries > 1 { SIDE_BY_SIDE } else { 1 };
            let most = blocks.min(self.next_block + SIDE_BY_SIDE);
            while end < most
                && (self.table.last_key(end - 1) < last || end < self.next_block + ahead)
            {
                end += 1;
            }
            self.table.decode_blocks(self.next_block..end, &mut self.decoded)?;
            if self.used > USED_UP {
                self.keys.drain(..std::mem::take(&mut self.used));
            }
            self.keys.extend_from_slice(&self.decoded);
            self.next_block = end;
        }
        self.used += gallop(&self.keys[self.used..], |key| key < first);
        let behind = &self.keys[self.used..];
        Ok(&behind[..gallop(behind, |key| key <= last)])
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
