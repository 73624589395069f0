//! Sorts any number of records in bounded memory: sorted runs go to a temporary file and are
//! merged.
//!
//! The merge works on ranges: of each run the next records are loaded, those up to the least of the
//! last ones loaded are in no other place, and they are sorted together. That takes as long for two
//! runs as for a thousand, uses all threads, and is as fast as the sort in memory.

use super::memory::sort_lists;
use super::spill::{self, Create, Extent, Spill};
use crate::error::Result;
use crate::record::Record;

/// Records of a run that are loaded at once, at least, so that reads are not too short.
const LEAST_WINDOW: usize = 1 << 12;
/// SortedRuns that are not merged yet, however short their windows are.
const FEW_RUNS: usize = 4;
/// Windows of these runs and of one more hold a record.
const LEAST_CAPACITY: usize = 2 * FEW_RUNS;

/// Takes records, and gives them back sorted and without repeats.
pub(crate) struct Sorter<R, F> {
    /// The most records that are in memory, twice.
    capacity: usize,
    records: Vec<R>,
    spare: Vec<R>,
    runs: Vec<Extent>,
    /// Holds the runs.
    file: Option<F>,
    /// Most bytes of temporary files at any time.
    peak_bytes: u64,
}

/// All records, sorted.
pub(crate) enum Sorted<R, F> {
    /// They are few: the records, and a buffer that can be used again.
    Memory(Vec<R>, Vec<R>),
    /// They are in runs.
    Runs(SortedRuns<R, F>),
}

/// Sorted runs in a temporary file.
pub(crate) struct SortedRuns<R, F> {
    file: F,
    runs: Vec<Extent>,
    windows: Vec<R>,
    out: Vec<R>,
    /// Most bytes of temporary files so far.
    pub(crate) peak_bytes: u64,
}

impl<R: Record, F: Spill> Sorter<R, F> {
    /// A sorter that keeps at most twice `capacity` records in memory, and [`scratch_records`] of
    /// them while it sorts.
    ///
    /// [`scratch_records`]: super::scratch_records
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            capacity: capacity.max(LEAST_CAPACITY),
            records: Vec::new(),
            spare: Vec::new(),
            runs: Vec::new(),
            file: None,
            peak_bytes: 0,
        }
    }

    /// Takes as many of `records` as there is room for; gives the others. If there are any, a run
    /// has to be [spilled](Self::spill).
    pub(crate) fn fill<'a>(&mut self, records: &'a [R]) -> &'a [R] {
        let room = self.capacity - self.records.len();
        let (taken, others) = records.split_at(records.len().min(room));
        let needed = self.records.len() + taken.len();
        if needed > self.records.capacity() {
            let grown = needed.max(2 * self.records.capacity()).min(self.capacity);
            self.records.reserve_exact(grown - self.records.len());
        }
        self.records.extend_from_slice(taken);
        others
    }

    /// Sorts the records that are in memory and writes them to a temporary file. Gives the number
    /// of bytes written.
    pub(crate) fn spill(&mut self, create: Create<'_, F>) -> Result<u64> {
        self.spare.resize(self.records.len().max(self.spare.len()), R::zeroed());
        let len = sort_lists(&[&self.records], &mut self.spare[..self.records.len()]);
        self.records.clear();
        let file = match self.file.take() {
            Some(file) => file,
            None => create()?,
        };
        let at = self.runs.last().map_or(0, |run| run.at + run.len);
        spill::write(&file, &self.spare[..len], at)?;
        self.runs.push(Extent { at, len: len as u64 });
        let end = at + len as u64;
        self.peak_bytes = self.peak_bytes.max(end * R::BYTES as u64);
        let mut bytes = len as u64 * R::BYTES as u64;
        if self.runs.len() >= (self.capacity / LEAST_WINDOW).max(FEW_RUNS) {
            // So many that their windows would be short: one run takes their place.
            let merged = create()?;
            self.records.resize(self.capacity, R::zeroed());
            let mut len = 0;
            let mut sink = |records: &[R]| {
                spill::write(&merged, records, len)?;
                len += records.len() as u64;
                Ok(())
            };
            merge(&self.runs, &file, &mut self.records, &mut self.spare, &mut sink)?;
            self.records.clear();
            self.runs = vec![Extent { at: 0, len }];
            bytes += len * R::BYTES as u64;
            self.peak_bytes = self.peak_bytes.max((end + len) * R::BYTES as u64);
            self.file = Some(merged);
        } else {
            self.file = Some(file);
        }
        Ok(bytes)
    }

    /// Sorts what is there, in memory if no run was spilled.
    pub(crate) fn finish(mut self, create: Create<'_, F>) -> Result<Sorted<R, F>> {
        if self.file.is_some() {
            self.spill(create)?;
        }
        if let Some(file) = self.file {
            let (runs, peak_bytes) = (self.runs, self.peak_bytes);
            let (mut windows, mut out) = (self.records, self.spare);
            windows.resize(self.capacity, R::zeroed());
            out.resize(self.capacity, R::zeroed());
            return Ok(Sorted::Runs(SortedRuns { file, runs, windows, out, peak_bytes }));
        }
        let mut set = self.spare;
        set.resize(self.records.len(), R::zeroed());
        let distinct = sort_lists(&[&self.records], &mut set);
        set.truncate(distinct);
        Ok(Sorted::Memory(set, self.records))
    }
}

impl<R: Record, F: Spill> SortedRuns<R, F> {
    /// Number of records in all runs.
    pub(crate) fn len(&self) -> u64 {
        self.runs.iter().map(|run| run.len).sum()
    }

    /// Gives all records to `sink`, in pieces, sorted and without repeats. The runs are removed.
    /// Gives the two buffers, for use again.
    pub(crate) fn merge(
        mut self,
        sink: &mut dyn FnMut(&[R]) -> Result<()>,
    ) -> Result<(Vec<R>, Vec<R>)> {
        merge(&self.runs, &self.file, &mut self.windows, &mut self.out, sink)?;
        Ok((self.windows, self.out))
    }
}

/// The records of a run that are loaded: a part of its window.
struct Loaded {
    start: usize,
    end: usize,
    /// What is not loaded yet.
    rest: Extent,
}

/// Merges `runs` of a file. `windows` holds what is loaded, a part for each run.
fn merge<R: Record>(
    runs: &[Extent],
    file: &impl Spill,
    windows: &mut [R],
    out: &mut [R],
    sink: &mut dyn FnMut(&[R]) -> Result<()>,
) -> Result<()> {
    let window_records = (windows.len() / runs.len().max(1)).max(1);
    let mut windows: Vec<(&mut [R], Loaded)> = windows
        .chunks_mut(window_records)
        .zip(runs)
        .map(|(window, &rest)| (window, Loaded { start: 0, end: 0, rest }))
        .collect();
    loop {
        for (window, loaded) in &mut windows {
            load(file, window, loaded)?;
        }
        // Records up to this one are loaded from every run.
        let unfinished = windows.iter().filter(|(_, loaded)| loaded.rest.len > 0);
        let bound = unfinished.map(|(window, loaded)| window[loaded.end - 1]).min();
        let mut total = 0;
        let taken: Vec<usize> = windows
            .iter()
            .map(|(window, loaded)| {
                let records = &window[loaded.start..loaded.end];
                let taken = bound.map_or(records.len(), |bound| {
                    records.partition_point(|record| *record <= bound)
                });
                total += taken;
                taken
            })
            .collect();
        let lists: Vec<&[R]> = windows
            .iter()
            .zip(&taken)
            .map(|((window, loaded), taken)| &window[loaded.start..loaded.start + taken])
            .collect();
        let distinct = sort_lists(&lists, &mut out[..total]);
        if distinct > 0 {
            sink(&out[..distinct])?;
        }
        for ((_, loaded), taken) in windows.iter_mut().zip(taken) {
            loaded.start += taken;
        }
        if bound.is_none() {
            return Ok(());
        }
    }
}

/// Fills a window, unless nothing was taken from it.
fn load<R: Record>(file: &impl Spill, window: &mut [R], loaded: &mut Loaded) -> Result<()> {
    if loaded.rest.len == 0 || (loaded.start == 0 && loaded.end > 0) {
        return Ok(());
    }
    window.copy_within(loaded.start..loaded.end, 0);
    let kept = loaded.end - loaded.start;
    let more = loaded.rest.len.min((window.len() - kept) as u64);
    loaded.start = 0;
    loaded.end = kept + more as usize;
    spill::read(file, &mut window[kept..loaded.end], loaded.rest.at)?;
    loaded.rest.at += more;
    loaded.rest.len -= more;
    Ok(())
}
