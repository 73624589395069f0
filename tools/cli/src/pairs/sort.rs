//! Sorts pairs, each once, in memory and, where they are more, in temporary files.
//!
//! Pairs are collected until the memory is full, sorted, and written as a run. Where a level has as
//! many runs as may be read together, they are merged to one of the next level, so that any number
//! of pairs takes a bounded number of open files, and is written once per level. The files have no
//! names, so that nothing is left of a process that is killed.

use std::cell::OnceCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fpstore::Fingerprint;
use fpstore_records::write::hex;
use rayon::ThreadPool;
use rayon::prelude::*;

use super::Row;
use crate::failure::Failure;
use crate::target::failure;
use crate::threads;

/// What the process takes besides pairs.
const FIXED_BYTES: u64 = 10 << 20;
/// Bytes that are read or written together of each run.
const BUFFER_BYTES: usize = 1 << 16;
/// The most runs that are read together.
const MAX_RUNS: usize = 64;
/// Pairs from which on all threads sort them.
const TOGETHER: usize = 1 << 13;

/// Sorts pairs in bounded memory.
pub struct Sorter<F> {
    directory: PathBuf,
    /// Bytes of pairs in memory.
    limit: usize,
    /// Runs that are read together.
    together: usize,
    pairs: Vec<Entry<F>>,
    /// What follows the distances, each behind its length; the first byte stands for none.
    rests: Vec<u8>,
    /// The runs of each level.
    levels: Vec<Vec<File>>,
    /// Started when it is first needed; `None` where it cannot be.
    pool: OnceCell<Option<Arc<ThreadPool>>>,
}

/// A pair in memory.
#[derive(Clone, Copy)]
struct Entry<F> {
    a: F,
    b: F,
    /// Where its rest is; 0 for none.
    rest: usize,
}

impl<F: Fingerprint> Sorter<F> {
    /// With at most so much memory, and temporary files in `directory`.
    pub fn new(memory: u64, directory: &Path) -> Self {
        let memory = memory.saturating_sub(FIXED_BYTES).max(1 << 20);
        let memory = usize::try_from(memory).unwrap_or(usize::MAX);
        Self {
            directory: directory.to_path_buf(),
            limit: memory,
            together: (memory / (2 * BUFFER_BYTES)).clamp(4, MAX_RUNS),
            pairs: Vec::new(),
            rests: vec![0],
            levels: Vec::new(),
            pool: OnceCell::new(),
        }
    }

    /// Takes a pair.
    pub fn push(&mut self, row: Row<'_, F>) -> Result<(), Failure> {
        let bytes =
            (self.pairs.len() + 1) * size_of::<Entry<F>>() + self.rests.len() + row.rest.len();
        if bytes > self.limit {
            self.end_run()?;
        }
        let rest = match row.rest {
            [] => 0,
            rest => {
                let at = self.rests.len();
                self.rests.extend_from_slice(&rest.len().to_le_bytes());
                self.rests.extend_from_slice(rest);
                at
            }
        };
        self.pairs.push(Entry { a: row.a, b: row.b, rest });
        Ok(())
    }

    /// Gives all pairs in ascending order, each once, to `sink`; gives the number of them.
    ///
    /// # Errors
    /// Those of `sink` and of temporary files; a pair that came with different rests.
    pub fn finish(
        mut self,
        sink: &mut dyn FnMut(Row<'_, F>) -> Result<(), Failure>,
    ) -> Result<u64, Failure> {
        if self.levels.is_empty() {
            self.sort();
            let (pairs, rests) = (&self.pairs, &self.rests);
            let mut unique = Unique::new(sink);
            for pair in pairs {
                unique.take(Row { a: pair.a, b: pair.b, rest: rest(rests, pair.rest) })?;
            }
            return Ok(unique.count);
        }
        if !self.pairs.is_empty() {
            self.end_run()?;
        }
        (self.pairs, self.rests) = (Vec::new(), Vec::new());
        // The shortest runs stand at the end.
        let mut runs: Vec<File> = self.levels.drain(..).rev().flatten().collect();
        while runs.len() > self.together {
            let excess = (runs.len() - self.together + 1).min(self.together);
            let merged = self.merged(runs.split_off(runs.len() - excess))?;
            runs.insert(0, merged);
        }
        self.merge(runs, sink)
    }

    fn sort(&mut self) {
        let rests = &self.rests;
        let order = |one: &Entry<F>, other: &Entry<F>| {
            let key = |pair: &Entry<F>| (pair.a, pair.b);
            let rests = || rest(rests, one.rest).cmp(rest(rests, other.rest));
            key(one).cmp(&key(other)).then_with(rests)
        };
        let pairs = &mut self.pairs;
        // Few are sorted sooner than threads are started; and where none can be started, this one
        // sorts.
        let pool = (pairs.len() >= TOGETHER)
            .then(|| self.pool.get_or_init(|| threads::start_pool(0).ok()).as_deref());
        match pool.flatten() {
            Some(pool) => pool.install(|| pairs.par_sort_unstable_by(order)),
            None => pairs.sort_unstable_by(order),
        }
    }

    /// Writes what is in memory.
    fn end_run(&mut self) -> Result<(), Failure> {
        self.sort();
        let mut run = RunWriter::new(&self.directory)?;
        let mut write = |row: Row<'_, F>| run.push(row);
        let mut unique = Unique::new(&mut write);
        for pair in &self.pairs {
            unique.take(Row { a: pair.a, b: pair.b, rest: rest(&self.rests, pair.rest) })?;
        }
        let mut file = run.finish()?;
        self.pairs.clear();
        self.rests.truncate(1);
        for level in 0.. {
            if self.levels.len() == level {
                self.levels.push(Vec::new());
            }
            self.levels[level].push(file);
            if self.levels[level].len() < self.together {
                break;
            }
            let runs = std::mem::take(&mut self.levels[level]);
            file = self.merged(runs)?;
        }
        Ok(())
    }

    fn merged(&self, runs: Vec<File>) -> Result<File, Failure> {
        let mut writer = RunWriter::new(&self.directory)?;
        self.merge(runs, &mut |row| writer.push(row))?;
        writer.finish()
    }

    fn merge(
        &self,
        runs: Vec<File>,
        sink: &mut dyn FnMut(Row<'_, F>) -> Result<(), Failure>,
    ) -> Result<u64, Failure> {
        let fail = failure(&self.directory, "read temporary files in");
        let mut readers = Vec::with_capacity(runs.len());
        let mut heap = BinaryHeap::with_capacity(runs.len());
        for run in runs {
            let mut reader = BufReader::with_capacity(BUFFER_BYTES, run);
            if let Some(row) = read_row::<F>(&mut reader).map_err(&fail)? {
                heap.push(Reverse((row, readers.len())));
            }
            readers.push(reader);
        }
        let mut unique = Unique::new(sink);
        while let Some(Reverse(((a, b, rest), number))) = heap.pop() {
            unique.take(Row { a, b, rest: &rest })?;
            if let Some(row) = read_row(&mut readers[number]).map_err(&fail)? {
                heap.push(Reverse((row, number)));
            }
        }
        Ok(unique.count)
    }
}

/// What stands in `rests` at `at`.
fn rest(rests: &[u8], at: usize) -> &[u8] {
    let length = rests.get(at..).and_then(<[u8]>::first_chunk);
    match (at, length) {
        (0, _) | (_, None) => &[],
        (_, Some(length)) => &rests[at + 8..][..usize::from_le_bytes(*length)],
    }
}

/// Passes on each of ascending pairs once.
struct Unique<'a, F> {
    sink: &'a mut dyn FnMut(Row<'_, F>) -> Result<(), Failure>,
    last: Option<(F, F)>,
    rest: Vec<u8>,
    count: u64,
}

impl<'a, F: Fingerprint> Unique<'a, F> {
    fn new(sink: &'a mut dyn FnMut(Row<'_, F>) -> Result<(), Failure>) -> Self {
        Self { sink, last: None, rest: Vec::new(), count: 0 }
    }

    fn take(&mut self, row: Row<'_, F>) -> Result<(), Failure> {
        if self.last != Some((row.a, row.b)) {
            self.last = Some((row.a, row.b));
            self.rest.clear();
            self.rest.extend_from_slice(row.rest);
            self.count += 1;
            return (self.sink)(row);
        }
        if self.rest == row.rest {
            return Ok(());
        }
        let [a, b] = [row.a, row.b].map(hex);
        Err(Failure::Usage(format!(
            "merge-pairs: the pair {a} {b} comes with different ids; join all shards with the same \
             stores and the same options for ids"
        )))
    }
}

/// Writes a run.
struct RunWriter {
    directory: PathBuf,
    out: BufWriter<File>,
}

impl RunWriter {
    fn new(directory: &Path) -> Result<Self, Failure> {
        let file = tempfile::tempfile_in(directory);
        let file = file.map_err(failure(directory, "create temporary files in"))?;
        let out = BufWriter::with_capacity(BUFFER_BYTES, file);
        Ok(Self { directory: directory.to_path_buf(), out })
    }

    fn push<F: Fingerprint>(&mut self, row: Row<'_, F>) -> Result<(), Failure> {
        let [a, b] = [row.a, row.b].map(F::to_be_bytes);
        let parts = [a.as_ref(), b.as_ref(), &row.rest.len().to_le_bytes()];
        let mut written = parts.into_iter().try_for_each(|part| self.out.write_all(part));
        written = written.and_then(|()| self.out.write_all(row.rest));
        written.map_err(failure(&self.directory, "write temporary files in"))
    }

    fn finish(self) -> Result<File, Failure> {
        let fail = failure(&self.directory, "write temporary files in");
        let mut file = self.out.into_inner().map_err(|error| fail(error.into_error()))?;
        file.rewind().map_err(fail)?;
        Ok(file)
    }
}

/// The next row of a run.
fn read_row<F: Fingerprint>(run: &mut impl Read) -> io::Result<Option<(F, F, Vec<u8>)>> {
    let (mut a, mut b, mut length) = (F::Bytes::default(), F::Bytes::default(), [0; 8]);
    match run.read(&mut a.as_mut()[..1])? {
        0 => return Ok(None),
        _ => run.read_exact(&mut a.as_mut()[1..])?,
    }
    run.read_exact(b.as_mut())?;
    run.read_exact(&mut length)?;
    // The length is that of a row which was in memory before.
    let mut rest = vec![0; u64::from_le_bytes(length) as usize];
    run.read_exact(&mut rest)?;
    Ok(Some((F::from_be_bytes(a), F::from_be_bytes(b), rest)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Sorts `pairs` with so many bytes for them, and with their ids if `ids`.
    fn sorted(pairs: &[(u64, u64)], limit: usize, together: usize, ids: bool) -> Vec<(u64, u64)> {
        let directory = tempfile::tempdir().unwrap();
        let mut sorter = Sorter::new(0, directory.path());
        (sorter.limit, sorter.together) = (limit, together);
        let rest = |a: u64, b: u64| match ids {
            true => format!("\t{a}\t{b},{a}").into_bytes(),
            false => Vec::new(),
        };
        for &(a, b) in pairs {
            sorter.push(Row { a, b, rest: &rest(a, b) }).unwrap();
        }
        let mut out = Vec::new();
        let count = sorter
            .finish(&mut |row| {
                assert_eq!(row.rest, rest(row.a, row.b));
                out.push((row.a, row.b));
                Ok(())
            })
            .unwrap();
        assert_eq!(count, out.len() as u64);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
        out
    }

    #[test]
    fn pairs_come_in_order_and_once_however_many_runs_there_are() {
        let pairs: Vec<(u64, u64)> =
            (0..6000u64).map(|i| (i * 7919 % 53, (i * 104_729) % 97)).collect();
        let expected: Vec<_> = pairs.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
        assert!(expected.len() < pairs.len());
        for ids in [false, true] {
            for (limit, together) in [(1 << 20, 4), (20_000, 4), (2_000, 4), (2_000, 3), (1, 5)] {
                assert_eq!(sorted(&pairs, limit, together, ids), expected, "{limit}, {together}");
            }
        }
        assert_eq!(sorted(&[], 1, 4, false), []);
    }

    #[test]
    fn a_pair_with_different_ids_is_refused() {
        for limit in [1, 1 << 20] {
            let directory = tempfile::tempdir().unwrap();
            let mut sorter = Sorter::<u64>::new(0, directory.path());
            sorter.limit = limit;
            sorter.push(Row { a: 1, b: 3, rest: b"\t1\t2" }).unwrap();
            sorter.push(Row { a: 1, b: 3, rest: b"\t1\t3" }).unwrap();
            let error = sorter.finish(&mut |_| Ok(())).unwrap_err();
            assert!(error.to_string().contains("comes with different ids"), "{error}");
        }
    }
}
