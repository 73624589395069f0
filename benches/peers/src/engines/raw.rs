//! The yardstick: four sorted arrays of u64 in a mapped file, each with another quarter of the bits
//! on top, and a directory over that quarter.
//!
//! What an expert writes who has the memory for four copies: a search is four look-ups in the
//! directories, four runs of consecutive keys, all of which are asked for ahead, and a vector scan.
//! It asks for the first lines of each run only: the CPU follows a run by itself once it is read,
//! and to ask for all lines takes longer, a quarter longer at 2^24 keys.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use memmap2::Mmap;

use super::{Engine, QUARTERS, RADIUS, Search, rotate, rotate_back, table, unite};
use crate::Result;
use crate::scan::{Key, Scanner};

/// Entries of a directory: the start of the run of every prefix, and the end of the last.
const ENTRIES: usize = (1 << 16) + 1;
const DIRECTORY_BYTES: usize = 4 * ENTRIES;
/// Where the keys start: behind the directories, on a page of its own.
const KEYS_START: usize = (QUARTERS as usize * DIRECTORY_BYTES).next_multiple_of(4096);

/// Keys at the start of each run that are asked for ahead.
const AHEAD: usize = 32;

/// Keys of a page.
const PAGE_KEYS: usize = 512;

/// Four arrays in one mapped file.
pub struct RawArrays {
    map: Mmap,
    count: usize,
    scanner: Scanner,
}

impl RawArrays {
    pub fn build(set: &[u64], directory: &Path) -> Result<Self> {
        if u32::try_from(set.len()).is_err() {
            return Err("the directories of the raw arrays hold less than 2^32 keys".into());
        }
        let path = directory.join("arrays");
        let mut file = BufWriter::with_capacity(1 << 20, File::create(&path)?);
        let tables: Vec<Vec<u64>> = (0..QUARTERS).map(|number| table(set, number)).collect();
        for keys in &tables {
            write_directory(&mut file, keys)?;
        }
        file.write_all(&vec![0; KEYS_START - QUARTERS as usize * DIRECTORY_BYTES])?;
        for keys in &tables {
            for key in keys {
                file.write_all(&key.to_le_bytes())?;
            }
        }
        file.into_inner()?.sync_all()?;
        // SAFETY: the file lies in a fresh directory of this process, and nobody writes into it
        // after this line.
        let map = unsafe { Mmap::map(&File::open(&path)?)? };
        Ok(Self { map, count: set.len(), scanner: Scanner::detect() })
    }

    /// The keys of a table whose top 16 bits are those of `query`.
    #[inline]
    fn run(&self, number: u32, query: u64) -> &[Key] {
        let (entries, _) = self.map[number as usize * DIRECTORY_BYTES..].as_chunks::<4>();
        let prefix = (query >> 48) as usize;
        let start = u32::from_le_bytes(entries[prefix]) as usize;
        let end = u32::from_le_bytes(entries[prefix + 1]) as usize;
        let (keys, _) = self.map[KEYS_START..].as_chunks::<8>();
        let base = number as usize * self.count;
        &keys[base + start..base + end]
    }

    fn search(&self, query: u64, matches: &mut Vec<u64>) {
        matches.clear();
        let runs: [_; QUARTERS as usize] =
            std::array::from_fn(|number| self.run(number as u32, rotate(query, number as u32)));
        // The pages of all runs first, so that the CPU looks up their addresses together.
        for run in runs {
            run.chunks(PAGE_KEYS).for_each(|page| prefetch(&page[..1]));
        }
        for run in runs {
            prefetch(&run[..run.len().min(AHEAD)]);
        }
        for (number, run) in (0..).zip(runs) {
            self.scanner.scan(run, rotate(query, number), RADIUS, |key| {
                matches.push(rotate_back(key, number));
            });
        }
        unite(matches);
    }
}

impl Engine for RawArrays {
    fn searcher(&self) -> Search<'_> {
        Box::new(|query, matches| self.search(query, matches))
    }

    fn file_bytes(&self) -> u64 {
        self.map.len() as u64
    }

    fn settle(&self) {
        let sum = self.map.iter().step_by(4096).fold(0u64, |sum, &byte| sum + u64::from(byte));
        std::hint::black_box(sum);
    }
}

/// Writes the start of the run of every prefix, and the end of the last.
fn write_directory(file: &mut impl Write, keys: &[u64]) -> Result<()> {
    let mut entries = vec![0u32; ENTRIES];
    for key in keys {
        entries[(key >> 48) as usize + 1] += 1;
    }
    let mut start = 0;
    for entry in entries {
        start += entry;
        file.write_all(&start.to_le_bytes())?;
    }
    Ok(())
}

/// Asks for the cache lines of consecutive keys.
#[inline]
fn prefetch(run: &[Key]) {
    #[cfg(target_arch = "x86_64")]
    for line in run.chunks(8) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: every x86-64 CPU has the instruction, it takes any address, and this one is that
        // of a slice.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = run;
}
