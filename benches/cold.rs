//! Searches in a store that is not in memory: before each query the files are dropped from the page
//! cache. Prints the latencies beside those of one random read of 4 KiB from the same files.
//!
//! `cargo bench --bench cold [-- EXPONENT [DIRECTORY]]`; without arguments 2^22 fingerprints in the
//! directory for temporary files. With `--test` a small set. Blocks have 1024 bytes.
//!
//! The cache is dropped by `posix_fadvise(POSIX_FADV_DONTNEED)` on every file of the store while no
//! mapping of them exists; then the store is opened, which reads headers, routers and footers, and
//! the time of one search is taken. Needs Linux.

#![allow(missing_docs)]

#[cfg(target_os = "linux")]
#[path = "../tests/it/sets.rs"]
#[allow(dead_code)]
mod sets;

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    linux::main()
}

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("the page cache is dropped only on Linux");
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::{self, File};
    use std::io;
    use std::os::unix::fs::FileExt;
    use std::path::{Path, PathBuf};
    use std::time::{Duration, Instant};

    use fpstore::{Design, Match, Packer, Store};
    use rustix::fs::{Advice, fadvise};

    use super::sets::Random;

    const QUERIES: usize = 200;
    const RADIUS: u32 = 3;
    const PAGE_BYTES: usize = 4096;

    pub fn main() -> Result<(), Box<dyn std::error::Error>> {
        let arguments: Vec<String> =
            std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
        let test = std::env::args().any(|argument| argument == "--test");
        let exponent: u32 = match arguments.first() {
            Some(exponent) => exponent.parse()?,
            None => {
                if test {
                    14
                } else {
                    22
                }
            }
        };
        let directory = match arguments.get(1) {
            Some(directory) => tempfile::tempdir_in(directory)?,
            None => tempfile::tempdir()?,
        };
        let mut random = Random(20_070_508);
        let set: Vec<u64> = (0..1usize << exponent).map(|_| random.next()).collect();
        let query = |i: usize| match i % 4 {
            0 => set[i * 7919 % set.len()],
            1 | 2 => random.flip(set[i * 104_729 % set.len()], i as u32 % 4),
            _ => random.next(),
        };
        let queries: Vec<u64> = (0..QUERIES).map(query).collect();
        println!("2^{exponent} uniform fingerprints, k = {RADIUS}, {QUERIES} queries\n");
        println!("| | open p50 ms | p50 us | p99 us | one read p50 us | p50 / read | p99 / read |");
        println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: |");
        let short = ["quarters", "32,24"].map(|design| (design, true));
        let whole = ["quarters", "halves", "single"].map(|design| (design, false));
        for (design, is_short) in whole.into_iter().chain(short) {
            let name = format!("{design}{}", if is_short { ", short tables" } else { "" });
            let path = directory.path().join(&name);
            let packer = Packer::new().design(design.parse::<Design>()?).block_bytes(1024);
            packer.short_tables(is_short).pack(&path, &set)?;
            let [opens, searches, reads] = measure(&path, &queries)?;
            let (read, p99_read) = (percentile(&reads, 50), percentile(&reads, 99));
            let (p50, p99) = (percentile(&searches, 50), percentile(&searches, 99));
            println!(
                "| {name} | {:.1} | {p50:.0} | {p99:.0} | {read:.0} (p99 {p99_read:.0}) | {:.2} | {:.2} |",
                percentile(&opens, 50) / 1000.0,
                p50 / read,
                p99 / p99_read,
            );
            fs::remove_dir_all(&path)?;
        }
        Ok(())
    }

    /// The times of opening, of a search, and of a read of one page, for each query.
    fn measure(
        path: &Path,
        queries: &[u64],
    ) -> Result<[Vec<Duration>; 3], Box<dyn std::error::Error>> {
        let tables: Vec<PathBuf> = fs::read_dir(path)?
            .map(|entry| Ok(entry?.path()))
            .filter(|path| path.as_ref().is_ok_and(|path| path.extension() == Some("fpt".as_ref())))
            .collect::<io::Result<_>>()?;
        let mut random = Random(3);
        let [mut opens, mut searches, mut reads] = [const { Vec::new() }; 3];
        let mut answers: Vec<Vec<Match>> = Vec::new();
        for &query in queries {
            drop_cache(&tables)?;
            let start = Instant::now();
            let store = Store::open(path)?;
            opens.push(start.elapsed());
            let mut searcher = store.searcher();
            let start = Instant::now();
            let found = searcher.search(query, RADIUS)?;
            searches.push(start.elapsed());
            answers.push(found.to_vec());
            drop(store);

            drop_cache(&tables)?;
            let file = File::open(&tables[random.next() as usize % tables.len()])?;
            fadvise(&file, 0, None, Advice::Random)?;
            let pages = file.metadata()?.len() / PAGE_BYTES as u64;
            let at = random.next() % pages * PAGE_BYTES as u64;
            let mut page = [0; PAGE_BYTES];
            let start = Instant::now();
            file.read_exact_at(&mut page, at)?;
            reads.push(start.elapsed());
        }
        // A scan of the identity table, which shares no descent with the searches.
        let store = Store::open(path)?;
        let mut searcher = store.searcher();
        for (query, answer) in queries.iter().zip(&answers) {
            assert_eq!(searcher.search_by_scan(*query, RADIUS)?, answer);
        }
        Ok([opens, searches, reads])
    }

    /// Drops the files from the page cache. No mapping of them may exist.
    fn drop_cache(files: &[PathBuf]) -> io::Result<()> {
        for file in files {
            fadvise(File::open(file)?, 0, None, Advice::DontNeed)?;
        }
        Ok(())
    }

    /// In microseconds.
    fn percentile(times: &[Duration], percent: usize) -> f64 {
        let mut times = times.to_vec();
        times.sort_unstable();
        times[(times.len() - 1) * percent / 100].as_nanos() as f64 / 1000.0
    }
}
