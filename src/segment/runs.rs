//! Searches by runs: where the top of every table must be equal, what can match in a table is a run of adjacent keys.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock, TryLockError};

use crate::arena::Arena;
use crate::block::{MAX_PLANES, bytes_of};
use crate::costs::SearchCosts;
use crate::error::Result;
use crate::table::{Finding, KeptKeys, Starts, Table, kept_bytes, starts_bytes};
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

/// What searches by runs go by, once searches have found it. Any number of threads may use it.
pub(crate) struct Runs {
    found: OnceLock<Found>,
    /// What is not yet complete.
    search: Mutex<Search>,
    /// Whether nothing is left to find.
    is_over: AtomicBool,
    /// Whether it is keys that are found.
    keeps_keys: AtomicBool,
}

/// What is known of the tables of a segment. All of their blocks have been checked.
pub(crate) enum Found {
    /// Where each run starts in the blocks.
    Starts(Vec<Starts>),
    /// All keys.
    Keys(Vec<KeptKeys>),
}

#[derive(Default)]
struct Search {
    found: Option<Found>,
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
        let found = starts_of(tables, count);
        Self {
            found: OnceLock::new(),
            is_over: AtomicBool::new(found.is_none()),
            keeps_keys: AtomicBool::new(false),
            search: Mutex::new(Search { found, ..Search::default() }),
        }
    }

    /// What searches go by, once it is complete.
    #[inline(always)]
    pub(crate) fn found(&self) -> Option<&Found> {
        self.found.get()
    }

    /// Finds all keys instead of starts, unless something has been found.
    pub(super) fn keep_keys(&self, tables: &[Table]) {
        self.start_over(Some(Found::Keys(tables.iter().map(KeptKeys::none_of).collect())));
    }

    /// Finds starts, also where there is room for all keys.
    #[cfg(test)]
    pub(super) fn keep_no_keys(&self, tables: &[Table], count: u64) {
        self.start_over(starts_of(tables, count));
    }

    fn start_over(&self, found: Option<Found>) {
        let Ok(mut search) = self.search.lock() else { return };
        if self.found.get().is_none() {
            self.keeps_keys.store(matches!(found, Some(Found::Keys(_))), Relaxed);
            self.is_over.store(found.is_none(), Relaxed);
            *search = Search { found, ..Search::default() };
        }
    }

    /// Whether keys are kept, or will be.
    pub(crate) fn keeps_keys(&self) -> bool {
        self.keeps_keys.load(Relaxed)
    }

    /// Looks at some more blocks, unless another thread does, or the system would have to read them first. Takes some
    /// microseconds: as a search hardly takes longer, to find what makes the next ones faster never takes much longer than the
    /// searches themselves. Where the system gives a large page for kept keys, one for each 2 MiB of them, it empties that first.
    #[inline]
    pub(crate) fn find_some(&self, tables: &[Table]) {
        if !self.is_over.load(Relaxed) {
            self.find_more(tables);
        }
    }

    #[cold]
    fn find_more(&self, tables: &[Table]) {
        let mut search = match self.search.try_lock() {
            Ok(search) => search,
            // What a panic has left may lack something.
            Err(TryLockError::Poisoned(_)) => return self.is_over.store(true, Relaxed),
            Err(TryLockError::WouldBlock) => return,
        };
        let Search { found, keys, patience } = &mut *search;
        if !patience.ends() {
            return;
        }
        match found.as_mut().and_then(|found| found.find_some(tables, keys)) {
            Some(Ok(0)) => return patience.grow(),
            Some(Ok(_)) => return *patience = Patience::default(),
            // Of damage those searches tell that it concerns.
            Some(Err(_)) => *found = None,
            None => {}
        }
        if let Some(found) = found.take() {
            let _ = self.found.set(found);
        }
        self.is_over.store(true, Relaxed);
        *search = Search::default();
    }

    /// Bytes of heap.
    pub(super) fn heap_bytes(&self) -> u64 {
        let unfinished = |search: &Search| search.found.as_ref().map_or(0, Found::heap_bytes);
        match self.found() {
            Some(found) => found.heap_bytes(),
            None => self.search.lock().map_or(0, |search| unfinished(&search)),
        }
    }
}

impl Found {
    /// Looks at more blocks of the first table of which not all is known; `None` if there is none.
    fn find_some(&mut self, tables: &[Table], keys: &mut Vec<u64>) -> Option<Result<u64>> {
        fn of<T: Finding>(
            all: &mut [T],
            tables: &[Table],
            keys: &mut Vec<u64>,
        ) -> Option<Result<u64>> {
            let mut of_tables = all.iter_mut().zip(tables);
            let (finding, table) = of_tables.find(|(finding, _)| !finding.is_complete())?;
            Some(finding.find_some(table, keys))
        }
        match self {
            Self::Starts(starts) => of(starts, tables, keys),
            Self::Keys(kept) => match take_room(kept, tables) {
                Ok(true) => {
                    // The identity table comes first, and is whole.
                    let (first, behind) = kept.split_first_mut()?;
                    let mut behind = behind.iter_mut().zip(&tables[1..]);
                    let next = behind.find(|(kept, _)| !kept.is_complete());
                    match next.filter(|(_, table)| table.is_short() && first.is_complete()) {
                        Some((kept, table)) => {
                            Some(Ok(kept.find_permuted(table, first.all(), keys)))
                        }
                        None => of(kept, tables, keys),
                    }
                }
                Ok(false) => Some(Ok(0)),
                Err(error) => Some(Err(error)),
            },
        }
    }

    fn heap_bytes(&self) -> u64 {
        match self {
            Self::Starts(starts) => starts.iter().map(Finding::heap_bytes).sum(),
            Self::Keys(kept) => kept.iter().map(Finding::heap_bytes).sum(),
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

/// Has the keys of the tables of a segment stand in one arena; `false` as long as the system would have to read the first of them.
fn take_room(kept: &mut [KeptKeys], tables: &[Table]) -> Result<bool> {
    if kept.iter().all(KeptKeys::has_room) {
        return Ok(true);
    }
    if tables.first().is_none_or(|table| table.is_absent(0)) {
        return Ok(false);
    }
    let bytes = tables.iter().filter_map(kept_bytes).sum::<u64>();
    let mut arena = Arena::with_room(usize::try_from(bytes).unwrap_or(usize::MAX))?;
    kept.iter_mut().zip(tables).for_each(|(keys, table)| keys.take_room(table, &mut arena));
    Ok(true)
}

/// No starts yet; `None` if runs would gain nothing, or cannot be told.
fn starts_of(tables: &[Table], count: u64) -> Option<Found> {
    let prefix_bits = prefix_bits(tables, count)?;
    let none_of = |table: &Table| Starts::none_of(table, prefix_bits);
    tables.iter().map(none_of).collect::<Option<_>>().map(Found::Starts)
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

/// The tables of a search with these thresholds, of all `tables`, which it goes through in this order; `None` if bits of a top may
/// differ. `tops` gives the tops of all tables as masks of keys of one of them.
pub(super) fn plan<'a>(
    (tables, order): (&[Table], &[usize]),
    thresholds: &Thresholds,
    tops: impl Fn(usize) -> &'a [u64],
) -> Option<Vec<RunTable>> {
    let is_equal = |threshold: &u32| *threshold == 0;
    if !thresholds.iter().flatten().all(is_equal) {
        return None;
    }
    let used = || order.iter().copied().filter(|number| thresholds[*number].is_some());
    let of_table = |(place, number): (usize, usize)| {
        let geometry = tables[number].geometry();
        let pad = geometry.pad_bits();
        let column = !(u64::MAX << geometry.low_bits) << pad;
        let behind = used().skip(place + 1).map(|other| tops(number)[other]);
        // Of a top of which a short key does not have all bits, nothing is known.
        let behind: Vec<u64> = behind.filter(|top| top & !tables[number].key_mask() == 0).collect();
        let in_column = behind.iter().filter(|top| *top & !column == 0);
        RunTable {
            number,
            behind_in_column: in_column.map(|top| bytes_of(top >> pad)).collect(),
            behind,
        }
    };
    Some(used().enumerate().map(of_table).collect())
}

/// The predicted time of a search in these tables of a segment with so many keys, with a match.
pub(super) fn search_ns(
    used: &[RunTable],
    (tables, starts): (&[Table], &[Starts]),
    count: u64,
    c: &SearchCosts,
) -> f64 {
    let (mut hot_bytes, mut run_keys) = (0.0, 0.0);
    for table in used {
        let starts = &starts[table.number];
        hot_bytes += (starts.heap_bytes() + tables[table.number].file_bytes()) as f64;
        run_keys += count as f64 / f64::from(starts.prefix_bits()).exp2();
    }
    let missing = c.missing(hot_bytes);
    let look_up_ns = c.run_ns + missing * c.run_dram_ns;
    c.query_ns + used.len() as f64 * look_up_ns + run_keys * c.run_key_ns + c.decode_block_ns
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
