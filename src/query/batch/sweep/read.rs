//! Reads the keys of tables of several segments, task by task, in the order of their files.
//!
//! Whoever has a thread takes the next task. So the threads read side by side in one place of the
//! store, and the disk in one direction: with each task the system is asked for the blocks of
//! another one some way ahead.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::segment::Rows;

/// Keys of a task, about, and of those of its blocks that are decoded together, at most, unless a
/// single block holds more: they stay in the second cache.
pub(super) const TASK_KEYS: u64 = 1 << 16;
/// How many tasks ahead the system is asked for: some 20 MB.
const AHEAD: u64 = 64;

/// The blocks of a table, or of a base, in tasks.
struct Shelf<'a, F: Fingerprint> {
    rows: Rows<'a, F>,
    /// Fingerprints of the segment.
    keys: u64,
    /// Number of its first task among those of all segments.
    first: u64,
    /// Blocks of a task.
    blocks: u64,
    /// Keys that were decoded.
    decoded: AtomicU64,
}

/// Blocks that are read by one thread.
pub(super) struct Task {
    /// The place of their source among those that are read.
    pub(super) shelf: usize,
    blocks: Range<u64>,
}

/// The keys of some tables, in tasks.
pub(super) struct Tasks<'a, F: Fingerprint> {
    shelves: Vec<Shelf<'a, F>>,
    count: u64,
    next: AtomicU64,
    /// What was left of tasks that were broken off.
    left: Mutex<Vec<Task>>,
}

impl<'a, F: Fingerprint> Tasks<'a, F> {
    /// All keys of some sources, which hold so many.
    pub(super) fn new(sources: impl IntoIterator<Item = (Rows<'a, F>, u64)>) -> Self {
        let (mut shelves, mut count) = (Vec::new(), 0);
        for (rows, keys) in sources {
            let all = rows.block_count();
            let of_block = (keys / all.max(1)).max(1);
            // Somewhat fewer, so that most are decoded at once.
            let blocks = (TASK_KEYS / 8 * 7 / of_block).max(1);
            let decoded = AtomicU64::new(0);
            shelves.push(Shelf { rows, keys, first: count, blocks, decoded });
            count += all.div_ceil(blocks);
        }
        Self { shelves, count, next: AtomicU64::new(0), left: Mutex::default() }
    }

    /// What is to be read next.
    pub(super) fn take(&self) -> Option<Task> {
        let left = self.left().pop();
        left.or_else(|| {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if let Some(Task { shelf, blocks }) = self.task(number.saturating_add(AHEAD)) {
                self.shelves[shelf].rows.will_need(blocks);
            }
            self.task(number)
        })
    }

    /// Whether all was read.
    pub(super) fn are_done(&self) -> bool {
        self.next.load(Ordering::Relaxed) >= self.count && self.left().is_empty()
    }

    /// Leaves nothing to be read.
    pub(super) fn end(&self) {
        self.next.fetch_max(self.count, Ordering::Relaxed);
        self.left().clear();
    }

    fn left(&self) -> MutexGuard<'_, Vec<Task>> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn task(&self, number: u64) -> Option<Task> {
        let behind = self.shelves.partition_point(|shelf| shelf.first <= number);
        let shelf = behind.checked_sub(1)?;
        let Shelf { rows, first, blocks, .. } = &self.shelves[shelf];
        let start = (number - first).saturating_mul(*blocks);
        let end = start.saturating_add(*blocks).min(rows.block_count());
        (start < end).then_some(Task { shelf, blocks: start..end })
    }

    /// Decodes the keys of a task into `keys`, some blocks at a time, and calls `found` for each
    /// time. Where this is false, the rest is left for another time.
    pub(super) fn read(
        &self,
        task: Task,
        keys: &mut Vec<u64>,
        mut found: impl FnMut(&mut Vec<u64>) -> bool,
    ) -> Result<()> {
        let Shelf { rows, keys: count, decoded, .. } = &self.shelves[task.shelf];
        let mut blocks = task.blocks;
        while !blocks.is_empty() {
            let (end, _) = rows.blocks_within(blocks.clone(), TASK_KEYS);
            rows.read_keys(blocks.start..end, keys)?;
            blocks.start = end;
            let read = keys.len() as u64;
            let all = decoded.fetch_add(read, Ordering::Relaxed).saturating_add(read);
            if let Rows::Table(table) = rows
                && all > *count
            {
                return Err(table.surplus_error(all));
            }
            if !found(keys) && !blocks.is_empty() {
                self.left().push(Task { shelf: task.shelf, blocks });
                break;
            }
        }
        Ok(())
    }
}
