//! Searches in a store that is not in memory: before each query the files are dropped from the page
//! cache. Prints the latencies beside those of one random read of 4 KiB from the same files.
//!
//! `cargo bench --bench cold [-- EXPONENT [DIRECTORY]]`; without arguments 2^22 fingerprints in the
//! directory for temporary files. With `--test` a small set. Blocks have 1024 bytes.
//!
//! The cache is dropped by `posix_fadvise(POSIX_FADV_DONTNEED)` on every file of the store while no
//! mapping of them exists; then the store is opened, which reads headers, routers and footers, and
//! the time of one search is taken. A store whose searches go by prefix filters is opened once, and
//! its pages are taken out of the mappings before they are dropped. Needs Linux.

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

    use fpstore::stats::AccessPath;
    use fpstore::{Design, Layout, Match, OpenOptions, Packer};
    use rustix::fs::{Advice, fadvise};
    use rustix::mm::{Advice as MapAdvice, madvise};

    use super::sets::Random;

    const QUERIES: usize = 200;
    const RADIUS: u32 = 3;
    const PAGE_BYTES: usize = 4096;

    /// How a store is packed and opened.
    #[derive(Clone, Copy, PartialEq)]
    enum How {
        Plain,
        ShortTables,
        Filtered,
    }

    /// What was measured of a store.
    struct Measured {
        opens: Vec<Duration>,
        searches: Vec<Duration>,
        reads: Vec<Duration>,
        heap_bytes: u64,
    }

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
        println!(
            "| | bytes | in memory | open p50 ms | p50 us | p99 us | one read p50 us | p50 / read | p99 / read |"
        );
        println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
        for (design, how) in [
            ("quarters", How::Plain),
            ("halves", How::Plain),
            ("single", How::Plain),
            ("quarters", How::ShortTables),
            ("32,24", How::ShortTables),
            ("quarters", How::Filtered),
            ("halves", How::Filtered),
            ("single", How::Filtered),
        ] {
            let name = match how {
                How::Plain => design.to_string(),
                How::ShortTables => format!("{design}, short tables"),
                How::Filtered => format!("{design}, filters"),
            };
            let path = directory.path().join(&name);
            let packer = Packer::new()
                .layout(Layout::new().design(design.parse::<Design>()?).block_bytes(1024));
            let packed = packer
                .with_layout(|it| it.short_tables(how == How::ShortTables))
                .pack(&path, &set)?;
            let Measured { opens, searches, reads, heap_bytes } = measure(&path, how, &queries)?;
            let (read, p99_read) = (percentile(&reads, 50), percentile(&reads, 99));
            let (p50, p99) = (percentile(&searches, 50), percentile(&searches, 99));
            let [bytes, in_memory] =
                [packed.bytes, heap_bytes].map(|bytes| bytes as f64 / set.len() as f64);
            println!(
                "| {name} | {bytes:.2} | {in_memory:.2} | {:.1} | {p50:.0} | {p99:.0} | {read:.0} (p99 {p99_read:.0}) | {:.2} | {:.2} |",
                percentile(&opens, 50) / 1000.0,
                p50 / read,
                p99 / p99_read,
            );
            fs::remove_dir_all(&path)?;
        }
        Ok(())
    }

    /// Opens, searches, and reads one page, for each query; a store with filters is opened once.
    fn measure(
        path: &Path,
        how: How,
        queries: &[u64],
    ) -> Result<Measured, Box<dyn std::error::Error>> {
        let tables: Vec<PathBuf> = fs::read_dir(path)?
            .map(|entry| Ok(entry?.path()))
            .filter(|path| path.as_ref().is_ok_and(|path| path.extension() == Some("fpt".as_ref())))
            .collect::<io::Result<_>>()?;
        let mut random = Random(3);
        let [mut opens, mut searches, mut reads] = [const { Vec::new() }; 3];
        let mut answers: Vec<Vec<Match>> = Vec::new();
        let options = OpenOptions::new().memory(0);
        let mut open = || {
            drop_cache(&tables)?;
            let start = Instant::now();
            let store = options.open(path)?;
            opens.push(start.elapsed());
            Ok::<_, Box<dyn std::error::Error>>(store)
        };
        let filtered = (how == How::Filtered).then(&mut open).transpose()?;
        if let Some(store) = &filtered {
            store.searcher().force(Some(AccessPath::Filters));
        }
        for &query in queries {
            let store = match &filtered {
                Some(store) => {
                    forget_mapped(path)?;
                    drop_cache(&tables)?;
                    store.clone()
                }
                None => open()?,
            };
            let mut searcher = store.searcher();
            searcher.force((how == How::Filtered).then_some(AccessPath::Filters));
            let start = Instant::now();
            let found = searcher.search(query, RADIUS)?;
            searches.push(start.elapsed());
            answers.push(found.to_vec());
            drop((searcher, store));

            forget_mapped(path)?;
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
        let store = match filtered {
            Some(store) => store,
            None => options.open(path)?,
        };
        let mut searcher = store.searcher();
        for (query, answer) in queries.iter().zip(&answers) {
            assert_eq!(searcher.search_by_scan(*query, RADIUS)?, answer);
        }
        Ok(Measured { opens, searches, reads, heap_bytes: store.heap_bytes() })
    }

    /// Takes the pages of all files of a directory that are mapped out of the mappings: only then
    /// they can be dropped from the page cache.
    fn forget_mapped(directory: &Path) -> Result<(), Box<dyn std::error::Error>> {
        let directory = fs::canonicalize(directory)?.display().to_string();
        for line in fs::read_to_string("/proc/self/maps")?.lines() {
            let addresses = line.split(' ').next().and_then(|addresses| addresses.split_once('-'));
            let Some((start, end)) = addresses.filter(|_| line.contains(&directory)) else {
                continue;
            };
            let start = usize::from_str_radix(start, 16)?;
            let length = usize::from_str_radix(end, 16)? - start;
            let start = std::ptr::with_exposed_provenance_mut(start);
            // SAFETY: this is a mapping of a file that nobody writes: what is read next comes from
            // the file again.
            unsafe { madvise(start, length, MapAdvice::LinuxDontNeed)? };
        }
        Ok(())
    }

    /// Drops the files from the page cache, but for pages that are in a mapping.
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
