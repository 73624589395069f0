//! What the tables of a segment still hold.

use std::ops::Range;

use super::outcome::SegmentLoss;
use crate::access::ReadFiles;
use crate::fingerprint::{Fingerprint, of_key};
use crate::format::SegmentEntry;
use crate::ids::IdColumn;
use crate::table::SalvageTable;

/// Some blocks of the identity table, all sound or all damaged.
pub(super) struct Run<F> {
    blocks: Range<u64>,
    sound: bool,
    /// Fingerprints, if they are sound.
    fingerprints: Vec<F>,
}

/// The fingerprints that some table still holds, ascending, and the runs of blocks of the identity
/// table.
pub(super) fn read<F: Fingerprint>(
    files: &dyn ReadFiles,
    entry: &SegmentEntry,
    loss: &mut SegmentLoss,
) -> (Vec<F>, Vec<Run<F>>) {
    let (mut runs, mut others) = (Vec::new(), Vec::new());
    let (mut keys, mut own) = (Vec::new(), Vec::new());
    for number in 0..entry.tables.len() {
        let table = match SalvageTable::open(files, entry, number, F::BITS) {
            Ok(table) => table,
            Err(error) => {
                loss.tables += 1;
                loss.reasons.push(error.to_string());
                continue;
            }
        };
        for block in 0..table.block_count() {
            let sound = table.block(block, &mut keys).is_some();
            loss.blocks += u64::from(!sound);
            own.clear();
            own.extend(keys.iter().map(|&key| of_key::<F>(key)));
            match number {
                0 => push(&mut runs, block, sound, &own),
                // What the identity table holds needs no other, and of short keys nothing can be
                // made.
                _ if sound && !table.is_short() && !is_whole(&runs) => {
                    others.extend_from_slice(&own)
                }
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
    (fingerprints, runs)
}

fn push<F: Fingerprint>(runs: &mut Vec<Run<F>>, block: u64, sound: bool, fingerprints: &[F]) {
    match runs.last_mut().filter(|run| run.sound == sound) {
        Some(run) => run.blocks.end = block + 1,
        None => {
            runs.push(Run { blocks: block..block + 1, sound, fingerprints: Vec::new() });
        }
    }
    if let Some(run) = runs.last_mut().filter(|run| run.sound) {
        run.fingerprints.extend_from_slice(fingerprints);
    }
}

/// Whether all blocks of the identity table are sound.
fn is_whole<F>(runs: &[Run<F>]) -> bool {
    !runs.is_empty() && runs.iter().all(|run| run.sound)
}

/// Blocks of the identity table, if it can be read and has some.
pub(super) fn block_count<F>(runs: &[Run<F>]) -> Option<u64> {
    runs.last().map(|run| run.blocks.end)
}

/// Finds which fingerprint of a segment of `count` each one is, where that can be told: in sound
/// blocks of the identity table, between them where no fingerprint is lost, and everywhere if none
/// is. Gives places and ranks from there on; the greatest number where the rank is not known.
pub(super) fn ranks<F: Fingerprint>(
    fingerprints: &[F],
    count: u64,
    runs: &[Run<F>],
    column: &IdColumn,
) -> Vec<(usize, u64)> {
    if fingerprints.len() as u64 == count {
        return vec![(0, 0)];
    }
    let mut ranks = Vec::new();
    for (number, run) in runs.iter().enumerate() {
        let Ok(first) = column.rank(run.blocks.start) else { continue };
        let before = number.checked_sub(1).and_then(|number| runs.get(number));
        let last_before = before.and_then(|run| run.fingerprints.last());
        let next = runs.get(number + 1);
        let first_behind = next.and_then(|run| run.fingerprints.first());
        let place = match (run.fingerprints.first(), last_before) {
            (Some(first), _) => fingerprints.partition_point(|at| at < first),
            (None, Some(last)) => fingerprints.partition_point(|at| at <= last),
            (None, None) => 0,
        };
        let end = match (run.fingerprints.last(), first_behind) {
            (Some(last), _) => fingerprints.partition_point(|at| at <= last),
            (None, Some(first)) => fingerprints.partition_point(|at| at < first),
            (None, None) => fingerprints.len(),
        };
        let behind = match next {
            Some(next) => column.rank(next.blocks.start).ok(),
            None => Some(count),
        };
        let is_whole = behind.and_then(|behind| behind.checked_sub(first))
            == Some(end.saturating_sub(place) as u64);
        // A marker of which the rank is unknown ends what is known before.
        ranks.push((place, if run.sound || is_whole { first } else { u64::MAX }));
    }
    ranks
}
