//! Searches by runs: where the top of every table must be equal, what can match in a table is a run of adjacent keys.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock, TryLockError};

use crate::block::{MAX_PLANES, bytes_of};
use crate::table::{Starts, Table, starts_bytes};
use crate::thresholds::solver::Thresholds;

/// Keys of an average run where its prefix is the whole top. With twice as many a search takes 0.94 to 1.0 of the time of a descent, and
/// it takes long to find where runs start.
const MOST_KEYS: u64 = 128;
/// Keys of an average run where its prefix is a part of the top: with more, the router tells fewer blocks.
const MOST_KEYS_IN_TOP: u64 = 16;
/// A table has at least so many keys, as a power of two, for each run, and so a byte for the start of its run at most.
const LEAST_KEYS_BITS: u32 = 2;
/// There may be so many runs for each key instead, as a power of two, where then nothing is decoded: imagehash (37,895 fingerprints) 350 to
/// 232 ns.
const SHOWN_KEYS_BITS: u32 = 1;
/// Bytes of all starts of a segment at most.
const MOST_BYTES: u64 = 32 << 20;

/// The starts of the runs of all tables of a segment, once searches have found them. Any number of threads may use them.
pub(crate) struct Runs {
    starts: OnceLock<Vec<Starts>>,
    /// Those that are not yet complete.
    finding: Mutex<Finding>,
    /// Whether nothing is left to find.
    is_over: AtomicBool,
}

#[derive(Default)]
struct Finding {
    starts: Vec<Starts>,
    /// Keys of some blocks.
    keys: Vec<u64>,
    patience: Patience,
}

/// After how many searches to look again whether blocks are in memory: to ask takes as long as half a search, and those that
/// no search touches may never be.
#[derive(Default)]
struct Patience {
    /// Searches until then.
    left: u32,
    /// Searches of the last wait.
    last: u32,
}

/// A table of a search by runs.
pub(crate) struct RunTable {
    /// Its number in the segment.
    pub(crate) number: usize,
    /// The tops of the tables of the search that come behind, as masks of keys of this one.
    pub(crate) behind: Vec<u64>,
    /// Of these tops those that are inside the column of this table, as bits of its planes.
    pub(crate) behind_in_column: Vec<[u8; MAX_PLANES]>,
}

impl Runs {
    /// Of the tables of a segment with so many distinct fingerprints.
    pub(super) fn new(tables: &[Table], count: u64) -> Self {
        let none_of = |prefix_bits| {
            let none = |table: &Table| Starts::none_of(table, prefix_bits);
            tables.iter().map(none).collect::<Option<Vec<_>>>()
        };
        let starts = prefix_bits(tables, count).and_then(none_of);
        Self {
            starts: OnceLock::new(),
            is_over: AtomicBool::new(starts.is_none()),
            finding: Mutex::new(Finding {
                starts: starts.unwrap_or_default(),
                ..Finding::default()
            }),
        }
    }

    /// The starts of all tables, once they are complete: then all blocks have been checked.
    #[inline(always)]
    pub(crate) fn starts(&self) -> Option<&[Starts]> {
        self.starts.get().map(Vec::as_slice)
    }

    /// Looks at some more blocks, unless another thread does, or the system would have to read them first. Takes some
    /// microseconds: as a search hardly takes longer, to find what makes the next ones faster never takes much longer than the
    /// searches themselves.
    #[inline]
    pub(crate) fn find_some(&self, tables: &[Table]) {
        if !self.is_over.load(Relaxed) {
            self.find_more(tables);
        }
    }

    #[cold]
    fn find_more(&self, tables: &[Table]) {
        let mut finding = match self.finding.try_lock() {
            Ok(finding) => finding,
            // What a panic has left may lack something.
            Err(TryLockError::Poisoned(_)) => return self.is_over.store(true, Relaxed),
            Err(TryLockError::WouldBlock) => return,
        };
        let Finding { starts, keys, patience } = &mut *finding;
        if !patience.ends() {
            return;
        }
        let mut of_tables = starts.iter_mut().zip(tables);
        if let Some((starts, table)) = of_tables.find(|(starts, _)| !starts.are_complete()) {
            match starts.find_some(table, keys) {
                Ok(0) => patience.grow(),
                Ok(_) => *patience = Patience::default(),
                Err(_) => {
                    // Of damage those searches tell that it concerns.
                    self.is_over.store(true, Relaxed);
                    *finding = Finding::default();
                }
            }
            return;
        }
        let _ = self.starts.set(std::mem::take(starts));
        self.is_over.store(true, Relaxed);
        *finding = Finding::default();
    }

    /// Bytes of heap.
    pub(super) fn heap_bytes(&self) -> u64 {
        let bytes = |starts: &[Starts]| starts.iter().map(Starts::heap_bytes).sum::<u64>();
        match self.starts() {
            Some(starts) => bytes(starts),
            None => self.finding.lock().map_or(0, |finding| bytes(&finding.starts)),
        }
    }
}

impl Patience {
    const LEAST: u32 = 16;
    const MOST: u32 = 1 << 16;

    /// Whether no search is left to wait for; counts this one.
    fn ends(&mut self) -> bool {
        let ended = self.left == 0;
        self.left = self.left.saturating_sub(1);
        ended
    }

    /// Waits twice as long as the last time.
    fn grow(&mut self) {
        self.last = (2 * self.last).clamp(Self::LEAST, Self::MOST);
        self.left = self.last;
    }
}

/// The bits of the prefix that the keys of a run have in common; `None` if runs would gain nothing.
fn prefix_bits(tables: &[Table], count: u64) -> Option<u32> {
    let top_bits = tables.iter().map(|table| table.permutation().top_bits()).min()?;
    let count_bits = count.checked_ilog2()?;
    let most = count_bits.checked_sub(LEAST_KEYS_BITS)?.min(top_bits);
    // Where a prefix is all that a column does not show, nothing is decoded.
    let not_shown = tables.iter().map(|table| table.geometry().middle_bits());
    let not_shown = not_shown.filter(|bits| *bits <= top_bits.min(count_bits + SHOWN_KEYS_BITS));
    let most = not_shown.fold(most, u32::max);
    let fits = |bits: &u32| starts_bytes(*bits) * tables.len() as u64 <= MOST_BYTES;
    let bits = (1..=most).rev().find(fits)?;
    let most_keys = if bits == top_bits { MOST_KEYS } else { MOST_KEYS_IN_TOP };
    (count >> bits <= most_keys).then_some(bits)
}

/// The tables of a search with these thresholds, of all `tables`; `None` if bits of a top may differ. `tops` gives the tops of all
/// tables as masks of keys of one of them.
pub(super) fn plan<'a>(
    tables: &[Table],
    thresholds: &Thresholds,
    tops: impl Fn(usize) -> &'a [u64],
) -> Option<Vec<RunTable>> {
    let is_equal = |threshold: &u32| *threshold == 0;
    if !thresholds.iter().flatten().all(is_equal) {
        return None;
    }
    let used = || (0..tables.len()).filter(|number| thresholds[*number].is_some());
    let of_table = |number: usize| {
        let geometry = tables[number].geometry();
        let pad = geometry.pad_bits();
        let column = !(u64::MAX << geometry.low_bits) << pad;
        let behind = used().filter(|other| *other > number).map(|other| tops(number)[other]);
        let behind: Vec<u64> = behind.collect();
        let in_column = behind.iter().filter(|top| *top & !column == 0);
        RunTable {
            number,
            behind_in_column: in_column.map(|top| bytes_of(top >> pad)).collect(),
            behind,
        }
    };
    Some(used().map(of_table).collect())
}

#[cfg(test)]
mod tests {
    use super::{Patience, prefix_bits};
    use crate::set_sum::term;
    use crate::store::{Packer, Store};

    #[test]
    fn a_prefix_has_all_bits_that_a_column_does_not_show_where_there_are_keys_for_them() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store");
        for (design, low_bits, count, expected) in [
            ("quarters", 32, 40_000, Some(13)),
            ("quarters", 48, 40_000, Some(16)),
            ("quarters", 48, 30_000, Some(12)),
            ("quarters", 48, 150_000, Some(16)),
            // The column begins behind the shortest top.
            ("8,24,24,8", 48, 40_000, None),
            ("thirds", 48, 40_000, Some(16)),
            ("thirds", 40, 40_000, Some(13)),
        ] {
            let packer = Packer::new().design(design.parse().unwrap()).block_bytes(256);
            let packer = packer.low_bits(Some(low_bits)).replace(true);
            packer.pack(&path, (0..count).map(|i| term(i) as u64)).unwrap();
            let store = Store::open(&path).unwrap();
            let snapshot = store.snapshot();
            let found = prefix_bits(snapshot.segments()[0].tables(), count);
            assert_eq!(found, expected, "{design}, {low_bits}, {count}");
        }
    }

    #[test]
    fn where_blocks_stay_away_it_is_looked_for_them_less_and_less() {
        let mut patience = Patience::default();
        let mut waits = Vec::new();
        for _ in 0..16 {
            assert!(patience.ends());
            patience.grow();
            let mut wait = 0;
            while !patience.ends() {
                wait += 1;
            }
            waits.push(wait);
            // That look counted, too.
            patience.left = 0;
        }
        let expected: Vec<u32> = (0..16).map(|i| (16 << i).min(1 << 16)).collect();
        assert_eq!(waits, expected);
    }
}
