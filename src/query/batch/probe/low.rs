//! Compares queries with the low parts of keys, and decodes no more than those that may match.

use std::ops::Range;

use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::query::join::Found;

use super::super::low::{LowWindow, Shape, Sight, low_of};
use super::{Sweep, Visit, seek};

/// Visits that are compared together, which bounds the memory for what is seen.
const VISITS: usize = 1 << 10;

/// Compares the keys of queries with those of the table that begin like what they visit: their low
/// parts as `shape` says.
pub(super) fn visit<F: Fingerprint>(
    sweep: &Sweep<'_, F>,
    shape: Shape,
    visits: &[impl Visit],
    found: &mut Found<'_, F>,
) -> Result<()> {
    let table = sweep.probed.table;
    let mut reader = Reader {
        sweep,
        found,
        window: LowWindow::new(table, sweep.level, shape),
        lows: Vec::new(),
        seen: Vec::new(),
        numbers: Vec::new(),
        keys: Vec::new(),
    };
    // Prefixes whose keys lie in the same blocks are visited together.
    let (mut blocks, mut from, mut to) = (0..0u64, 0, 0);
    for group in sweep.by_prefix(visits) {
        if sweep.output.stopped() {
            return Ok(());
        }
        let (first, last) = sweep.range(group[0].visited());
        // All blocks before the last one of the group before end below this group.
        let start = seek(table, blocks.end.saturating_sub(1), first);
        let end = table.block_count().min(seek(table, start, last) + 1);
        if blocks != (start..end) {
            reader.compare(blocks, &visits[from..to])?;
            (blocks, from) = (start..end, to);
        }
        to += group.len();
    }
    reader.compare(blocks, &visits[from..to])
}

/// Reads the blocks of a table in order.
struct Reader<'a, 'f, F: Fingerprint> {
    sweep: &'a Sweep<'a, F>,
    found: &'a mut Found<'f, F>,
    window: LowWindow<'a>,
    /// The low bits of queries.
    lows: Vec<u32>,
    seen: Vec<Sight>,
    /// Numbers of keys in a block.
    numbers: Vec<u32>,
    /// The keys of a block, or of some, decoded.
    keys: Vec<u64>,
}

impl<F: Fingerprint> Reader<'_, '_, F> {
    /// Compares queries with the keys in some blocks that begin like what they visit.
    fn compare(&mut self, mut blocks: Range<u64>, visits: &[impl Visit]) -> Result<()> {
        while !blocks.is_empty() {
            let loaded = self.window.load(blocks.clone())?;
            blocks.start = loaded.end;
            for visits in visits.chunks(VISITS) {
                self.compare_loaded(loaded.clone(), visits)?;
            }
        }
        Ok(())
    }

    fn compare_loaded(&mut self, loaded: Range<u64>, visits: &[impl Visit]) -> Result<()> {
        let Self { sweep, ref mut lows, ref mut seen, .. } = *self;
        lows.clear();
        lows.extend(visits.iter().map(|visit| low_of(sweep.probed.table, visit.key())));
        seen.clear();
        let hardly_any = self.window.compare(loaded.clone(), lows, |sight| {
            if may_match(sweep, &sight, &visits[sight.query]) {
                seen.push(sight);
            }
        });
        if !hardly_any {
            return self.decode_all(loaded, visits);
        }
        seen.sort_unstable_by_key(|sight| (sight.block, sight.number));
        self.decode_seen(visits)
    }

    /// Decodes those keys that were seen, and compares them in full.
    fn decode_seen(&mut self, visits: &[impl Visit]) -> Result<()> {
        let Self { sweep, ref seen, ref mut numbers, .. } = *self;
        for of_block in seen.chunk_by(|one, other| one.block == other.block) {
            numbers.clear();
            numbers.extend(of_block.iter().map(|sight| sight.number));
            numbers.dedup();
            let table = sweep.probed.table;
            table.keys(of_block[0].block, numbers, &mut self.keys, |number, stored| {
                let start = of_block.partition_point(|sight| sight.number < number);
                let of_key = of_block[start..].iter().take_while(|sight| sight.number == number);
                for sight in of_key {
                    compare(sweep, &visits[sight.query], stored, self.found);
                }
            })?;
        }
        Ok(())
    }

    /// Decodes all keys of some blocks, and compares them in full.
    fn decode_all(&mut self, blocks: Range<u64>, visits: &[impl Visit]) -> Result<()> {
        let Self { sweep, .. } = *self;
        sweep.probed.table.decode_blocks(blocks, &mut self.keys)?;
        for of_prefix in sweep.by_prefix(visits) {
            let (first, last) = sweep.range(of_prefix[0].visited());
            let start = self.keys.partition_point(|&key| key < first);
            let end = self.keys.partition_point(|&key| key <= last);
            let keys: Vec<u64> = of_prefix.iter().map(Visit::key).collect();
            // The keys of a damaged block need not ascend.
            sweep.compare(&keys, self.keys.get(start..end).unwrap_or_default(), self.found);
        }
        Ok(())
    }
}

/// Whether a visit and a key may be a match that is handed on, by what is visible of the key.
#[inline]
fn may_match<F: Fingerprint>(sweep: &Sweep<'_, F>, sight: &Sight, visit: &impl Visit) -> bool {
    let difference = (sight.key ^ visit.key()) & sight.visible;
    difference.count_ones() <= sweep.k
        && sweep.prefix((sight.key ^ visit.visited()) & sight.visible) == 0
        && sweep.may_hand_on(difference, sight.visible)
}

/// Compares a visit with a stored key, and hands on what matches.
#[inline]
fn compare<F: Fingerprint>(
    sweep: &Sweep<'_, F>,
    visit: &impl Visit,
    stored: u64,
    found: &mut Found<'_, F>,
) {
    let sight = Sight { query: 0, block: 0, number: 0, key: stored, visible: u64::MAX };
    if may_match(sweep, &sight, visit) {
        sweep.push(visit.key(), stored, found);
    }
}
