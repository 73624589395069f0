//! What is left of a segment.

use std::ops::Range;

use super::outcome::SegmentLoss;
use crate::access::ReadFiles;
use crate::error::Result;
use crate::format::SegmentEntry;
use crate::ids::IdColumn;
use crate::table::SalvageTable;

/// The fingerprints that some table still holds, and their ids.
pub(super) struct Salvaged {
    /// Ascending.
    pub(super) fingerprints: Vec<u64>,
    /// Where the ranks of these are known: the first place among them, and its rank.
    ranks: Vec<(usize, u64)>,
    ids: Option<IdColumn>,
    pub(super) loss: SegmentLoss,
}

/// Some blocks of the identity table, all sound or all damaged.
struct Run {
    blocks: Range<u64>,
    sound: bool,
    /// Fingerprints, if they are sound.
    fingerprints: Vec<u64>,
}

impl Salvaged {
    /// Reads all tables of a segment, as far as they are sound. Takes 8 bytes of memory for each fingerprint, and twice
    /// as much where blocks are damaged.
    pub(super) fn read(files: &dyn ReadFiles, entry: &SegmentEntry) -> Self {
        let mut loss = SegmentLoss::of(entry);
        let (mut runs, mut others) = (Vec::new(), Vec::new());
        for number in 0..entry.tables.len() {
            let table = match SalvageTable::open(files, entry, number) {
                Ok(table) => table,
                Err(error) => {
                    loss.tables += 1;
                    loss.reasons.push(error.to_string());
                    continue;
                }
            };
            let mut keys = Vec::new();
            for block in 0..table.block_count() {
                let sound = table.block(block, &mut keys).is_some();
                loss.blocks += u64::from(!sound);
                match number {
                    0 => push(&mut runs, block, sound, &keys),
                    // What the identity table holds needs no other.
                    _ if sound && !is_whole(&runs) => others.extend_from_slice(&keys),
                    _ => {}
                }
            }
        }
        let own: usize = runs.iter().map(|run| run.fingerprints.len()).sum();
        let mut fingerprints = Vec::with_capacity(own.max(others.len()));
        fingerprints.extend(runs.iter().flat_map(|run| &run.fingerprints));
        fingerprints.append(&mut others);
        fingerprints.sort_unstable();
        fingerprints.dedup();
        loss.fingerprints = entry.count.saturating_sub(fingerprints.len() as u64);
        let mut salvaged = Self { fingerprints, ranks: Vec::new(), ids: None, loss };
        if let Some(of_entry) = &entry.ids {
            match IdColumn::open(files, entry, of_entry, block_count(&runs)) {
                Ok(column) => {
                    salvaged.find_ranks(&runs, &column);
                    salvaged.ids = Some(column);
                }
                Err(error) => salvaged.loss.reasons.push(error.to_string()),
            }
        }
        salvaged
    }

    /// Finds which fingerprint of the segment each one is, where that can be told: in sound blocks of the identity
    /// table, and between them where no fingerprint is lost.
    fn find_ranks(&mut self, runs: &[Run], column: &IdColumn) {
        for (number, run) in runs.iter().enumerate() {
            let Ok(first) = column.rank(run.blocks.start) else { continue };
            let before = number.checked_sub(1).and_then(|number| runs.get(number));
            let last_before = before.and_then(|run| run.fingerprints.last());
            let next = runs.get(number + 1);
            let first_behind = next.and_then(|run| run.fingerprints.first());
            let place = match (run.fingerprints.first(), last_before) {
                (Some(first), _) => self.fingerprints.partition_point(|at| at < first),
                (None, Some(last)) => self.fingerprints.partition_point(|at| at <= last),
                (None, None) => 0,
            };
            let end = match (run.fingerprints.last(), first_behind) {
                (Some(last), _) => self.fingerprints.partition_point(|at| at <= last),
                (None, Some(first)) => self.fingerprints.partition_point(|at| at < first),
                (None, None) => self.fingerprints.len(),
            };
            let behind = match next {
                Some(next) => column.rank(next.blocks.start).ok(),
                None => Some(self.loss.count),
            };
            let is_whole = behind.and_then(|behind| behind.checked_sub(first))
                == Some(end.saturating_sub(place) as u64);
            // A marker of which the rank is unknown ends what is known before.
            self.ranks.push((place, if run.sound || is_whole { first } else { u64::MAX }));
        }
    }

    /// The ids of the fingerprint at a place, as far as they can be read, and how many cannot; `None` where nobody knows.
    pub(super) fn ids(&self, place: usize) -> Option<(Vec<u64>, u64)> {
        let column = self.ids.as_ref()?;
        let known = self.ranks.partition_point(|&(first, _)| first <= place).checked_sub(1)?;
        let (first, rank) = *self.ranks.get(known)?;
        let rank = rank.checked_add((place - first) as u64).filter(|_| rank < u64::MAX)?;
        let numbers: Result<Range<u64>> = column.of_rank(rank);
        let (mut ids, mut lost) = (Vec::new(), 0);
        for number in numbers.ok()? {
            match column.id(number) {
                Ok(id) => ids.push(id),
                Err(_) => lost += 1,
            }
        }
        Some((ids, lost))
    }
}

fn push(runs: &mut Vec<Run>, block: u64, sound: bool, keys: &[u64]) {
    match runs.last_mut().filter(|run| run.sound == sound) {
        Some(run) => run.blocks.end = block + 1,
        None => {
            runs.push(Run { blocks: block..block + 1, sound, fingerprints: Vec::new() });
        }
    }
    if let Some(run) = runs.last_mut().filter(|run| run.sound) {
        run.fingerprints.extend_from_slice(keys);
    }
}

/// Whether all blocks of the identity table are sound.
fn is_whole(runs: &[Run]) -> bool {
    !runs.is_empty() && runs.iter().all(|run| run.sound)
}

fn block_count(runs: &[Run]) -> u64 {
    runs.last().map_or(0, |run| run.blocks.end)
}
