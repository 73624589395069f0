//! How much work cells are, and which of them are split.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A cell with many fingerprints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HeavyCell {
    /// The table, from 0 on.
    pub table: u32,
    /// The [cell](crate::JoinTables::cell).
    pub cell: u32,
    /// About how many fingerprints are sent there.
    pub rows: u64,
}

/// Comparisons, with the pairs that they find and hand out, that take as long as to receive a
/// fingerprint: 1.1 to 1.4 against 79 ns, in tasks of a cluster of 43,745 within 3 flips and in
/// those without. What makes a cell heavy is mostly a cluster, all of whose fingerprints are
/// compared with each other.
const COMPARISONS_PER_ROW: f64 = 64.0;
/// The most fingerprints with which one is compared: a larger cell is split by its other bits
/// before.
const MOST_COMPARED: f64 = 65536.0;
/// Share of a task that the work of a unit of a split cell may be.
const SHARE: f64 = 0.25;
/// The most shares of a cell.
const MAX_SALTS: u32 = 256;

/// The work of joining so many fingerprints of one cell, in fingerprints that are sent.
pub(crate) fn work_within(rows: f64) -> f64 {
    rows + rows * rows.min(MOST_COMPARED) / 2.0 / COMPARISONS_PER_ROW
}

/// The work of joining two shares of a cell of so many fingerprints each.
fn work_between(rows: f64) -> f64 {
    2.0 * rows + rows * rows.min(MOST_COMPARED) / COMPARISONS_PER_ROW
}

/// Into how many shares a cell is split where a task has so much work; 1 if it is not.
pub(crate) fn salts(rows: u64, task: f64) -> u32 {
    let (rows, most) = (rows as f64, task * SHARE);
    if work_within(rows) <= most {
        return 1;
    }
    (2..MAX_SALTS).find(|&salts| work_between(rows / f64::from(salts)) <= most).unwrap_or(MAX_SALTS)
}

/// The work of all cells that are split where a task has so much. Where it has more, they are split
/// less, and are less work.
pub(crate) fn work_of_split(heavy: &[HeavyCell], task: f64) -> f64 {
    let salts = heavy.iter().map(|cell| (cell.rows, salts(cell.rows, task)));
    let split = salts.filter(|&(_, salts)| salts > 1);
    split.map(|(rows, salts)| work_of_units(rows, salts).sum::<f64>()).sum()
}

/// The number of units of a cell in so many shares.
pub(crate) fn unit_count(salts: u32) -> usize {
    salts as usize * (salts as usize + 1) / 2
}

/// The work of each unit of a cell in so many shares, in the order of [`unit_of_shares`].
pub(crate) fn work_of_units(rows: u64, salts: u32) -> impl Iterator<Item = f64> {
    let share = rows as f64 / f64::from(salts);
    pairs_of(salts).map(
        move |(one, other)| if one == other { work_within(share) } else { work_between(share) },
    )
}

/// All pairs of shares, equal ones included.
pub(crate) fn pairs_of(salts: u32) -> impl Iterator<Item = (u32, u32)> {
    (0..salts).flat_map(move |one| (one..salts).map(move |other| (one, other)))
}

/// The number of a pair of shares among [`pairs_of`].
pub(crate) fn unit_of_shares(salts: u32, one: u32, other: u32) -> u32 {
    let (one, other) = (one.min(other), one.max(other));
    // Before those of `one` there are salts, salts - 1, ... of the shares before it.
    one * salts - one * one.saturating_sub(1) / 2 + (other - one)
}

/// Gives each unit a task from `first` on, the one with the least work so far, the units with most
/// work first. Each new task has work for about `task`, unless there would be more than `most`, or
/// than units. Gives the task of each unit, and the work of each task.
pub(crate) fn assign(works: &[f64], first: u32, task: f64, most: u32) -> (Vec<u32>, Vec<f64>) {
    let sum: f64 = works.iter().sum();
    let most = most.min(works.len() as u32);
    let count = (sum / task).ceil().min(f64::from(most)) as u32;
    let mut tasks: BinaryHeap<Reverse<(Work, u32)>> =
        (0..count).map(|number| Reverse((Work(0.0), number))).collect();
    let mut order: Vec<usize> = (0..works.len()).collect();
    order.sort_by(|&one, &other| works[other].total_cmp(&works[one]).then(one.cmp(&other)));
    let mut of_units = vec![first; works.len()];
    let mut loads = vec![0.0; count as usize];
    for unit in order {
        let Some(Reverse((Work(done), number))) = tasks.pop() else { continue };
        of_units[unit] = first + number;
        loads[number as usize] = done + works[unit];
        tasks.push(Reverse((Work(done + works[unit]), number)));
    }
    (of_units, loads)
}

/// Work that is ordered.
#[derive(Clone, Copy, PartialEq)]
struct Work(f64);

impl Eq for Work {}

impl PartialOrd for Work {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Work {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}
