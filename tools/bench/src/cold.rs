//! Searches in a store that is not in memory.

use std::path::Path;

use fpstore::Fingerprint;
use fpstore_cli::failure::Failure;

use super::results::Cold;

/// Before each of the queries drops the files of the store at `path` from the page cache, opens it,
/// and times one search. No mapping of its files may exist. `None` where the system cannot do that.
#[cfg(target_os = "linux")]
pub fn measure<F: Fingerprint>(
    path: &Path,
    queries: &[F],
    radius: u32,
) -> Result<Option<Cold>, Failure> {
    use std::ffi::OsStr;
    use std::fs::{self, File};
    use std::hint::black_box;
    use std::io;
    use std::os::unix::fs::FileExt;
    use std::path::PathBuf;
    use std::time::{Duration, Instant};

    use rustix::fs::{Advice, fadvise};

    use super::timing::percentile;

    const PAGE_BYTES: u64 = 4096;

    let failed = |error: io::Error| {
        Failure::System(format!(
            "{}: cannot drop it from the page cache: {error}; leave --cold out",
            path.display()
        ))
    };
    let files: Vec<PathBuf> = fs::read_dir(path)
        .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect())
        .map_err(failed)?;
    let drop_cache = || -> io::Result<()> {
        for file in &files {
            fadvise(File::open(file)?, 0, None, Advice::DontNeed)?;
        }
        Ok(())
    };
    // Tables; bases and part tables.
    let is_table = |end: &OsStr| ["fpt", "fpb", "fpp"].iter().any(|own| end == *own);
    let tables: Vec<&PathBuf> =
        files.iter().filter(|file| file.extension().is_some_and(is_table)).collect();
    let read_page = |number: u64| -> io::Result<Duration> {
        let Some(&path) = tables.get(number as usize % tables.len().max(1)) else {
            return Ok(Duration::ZERO);
        };
        let file = File::open(path)?;
        fadvise(&file, 0, None, Advice::Random)?;
        let pages = (file.metadata()?.len() / PAGE_BYTES).max(1);
        let at = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) % pages * PAGE_BYTES;
        let mut page = [0; PAGE_BYTES as usize];
        let start = Instant::now();
        file.read_at(&mut page, at)?;
        Ok(start.elapsed())
    };
    let ns = |time: Duration| u32::try_from(time.as_nanos()).unwrap_or(u32::MAX);
    let (mut opens, mut searches, mut reads) = (Vec::new(), Vec::new(), Vec::new());
    for (number, &query) in queries.iter().enumerate() {
        drop_cache().map_err(failed)?;
        let start = Instant::now();
        let store = fpstore::OpenOptions::new().width::<F>().open(path)?;
        opens.push(ns(start.elapsed()));
        let mut searcher = store.searcher();
        let start = Instant::now();
        black_box(searcher.search(query, radius)?);
        searches.push(ns(start.elapsed()));
        drop(searcher);
        drop(store);
        drop_cache().map_err(failed)?;
        reads.push(ns(read_page(number as u64).map_err(failed)?));
    }
    for times in [&mut opens, &mut searches, &mut reads] {
        times.sort_unstable();
    }
    Ok(Some(Cold {
        queries: queries.len(),
        open_p50_ns: percentile(&opens, 0.5),
        search_p50_ns: percentile(&searches, 0.5),
        search_p99_ns: percentile(&searches, 0.99),
        read_p50_ns: percentile(&reads, 0.5),
    }))
}

/// The page cache is dropped only on Linux.
#[cfg(not(target_os = "linux"))]
pub fn measure<F: Fingerprint>(
    _path: &Path,
    _queries: &[F],
    _radius: u32,
) -> Result<Option<Cold>, Failure> {
    Ok(None)
}
