//! Damaged stores: every byte flipped, every length cut. A store may answer right or refuse;
//! nothing else.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use fpstore::stats::AccessPath;
use fpstore::{Design, Error, Layout, OpenOptions, Packer, Store};

use crate::sets::{Random, brute_force, clustered, sorted};

/// Puts other bytes into a file. It is not emptied first: some file systems write what takes the
/// place of an emptied file to the disk at once.
pub fn overwrite(file: &Path, bytes: &[u8]) {
    let mut file =
        fs::OpenOptions::new().write(true).create(true).truncate(false).open(file).unwrap();
    file.write_all(bytes).unwrap();
    file.set_len(bytes.len() as u64).unwrap();
}

/// A small store, its set, and queries with their answers.
struct Sample {
    _temporary: tempfile::TempDir,
    path: PathBuf,
    set: Vec<u64>,
    queries: Vec<(u64, Vec<fpstore::Match>)>,
    /// The ids of each of the set.
    ids: Vec<Vec<u64>>,
}

fn sample(short: bool) -> Sample {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("store");
    let set = sorted(&clustered(80, 11));
    let packer = Packer::new()
        .layout(Layout::new().design(Design::named("halves").unwrap()).block_bytes(256));
    let packer = packer.with_layout(|it| it.short_tables(short));
    let ids: Vec<Vec<u64>> =
        (0..set.len() as u64).map(|i| (0..1 + i % 3).map(|id| 100 * i + id).collect()).collect();
    let each = set.iter().zip(&ids);
    let pairs = each.flat_map(|(&fp, ids)| ids.iter().map(move |&id| (fp, id)));
    packer.with_layout(|it| it.low_bits(Some(16))).pack_with_ids(&path, pairs).unwrap();
    let mut random = Random(12);
    let queries = (0..12)
        .map(|i| {
            let query = random.flip(set[i * 6], i as u32 % 4);
            (query, brute_force(&set, query, 3))
        })
        .collect();
    Sample { _temporary: temporary, path, set, queries, ids }
}

/// What a damaged store was seen to do.
#[derive(Default, Debug)]
struct Seen {
    refused_at_open: usize,
    refused_later: usize,
    whole: usize,
}

/// Opens, searches, lists and verifies. Everything gives the right answer or an error about the
/// file.
fn probe(sample: &Sample, in_memory: bool, what: &str, seen: &mut Seen) {
    let typed = |error: Error| {
        let typed = matches!(
            error,
            Error::Corrupt { .. } | Error::Unsupported { .. } | Error::NotAStore { .. }
        );
        assert!(typed, "{what}: {error}");
    };
    let options = OpenOptions::new().in_memory(in_memory).memory(0);
    let store = match options.open(&sample.path) {
        Ok(store) => store,
        Err(error) => {
            typed(error);
            seen.refused_at_open += 1;
            return;
        }
    };
    let mut refused = false;
    let mut searcher = store.searcher();
    // Of what is mapped, searches go by filters.
    searcher.force(Some(AccessPath::Filters));
    for (query, expected) in &sample.queries {
        match searcher.search(*query, 3) {
            Ok(found) => assert_eq!(found, expected, "{what}: wrong answer"),
            Err(error) => {
                typed(error);
                refused = true;
            }
        }
    }
    for (&fingerprint, expected) in sample.set.iter().zip(&sample.ids) {
        match store.ids::<u64>(fingerprint).and_then(|ids| ids.collect::<Result<Vec<_>, _>>()) {
            Ok(found) => assert_eq!(&found, expected, "{what}: wrong ids"),
            Err(error) => {
                typed(error);
                refused = true;
            }
        }
    }
    match store.iter().collect::<Result<Vec<_>, _>>() {
        Ok(listed) => assert_eq!(listed, sample.set, "{what}: wrong list"),
        Err(error) => {
            typed(error);
            refused = true;
        }
    }
    match store.verify() {
        Ok(report) => {
            assert!(!refused, "{what}: verify passes where a search fails");
            assert_eq!(report.fingerprints, sample.set.len() as u64);
        }
        Err(error) => {
            typed(error);
            refused = true;
        }
    }
    if refused { seen.refused_later += 1 } else { seen.whole += 1 }
}

/// All files of a store. What is in `lock` means nothing.
fn files(path: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = files.filter(|file| !file.ends_with("lock")).collect();
    files.sort();
    files
}

#[test]
fn every_flipped_byte_is_answered_rightly_or_refused() {
    [false, true].map(sample).iter().for_each(flip_every_byte);
}

fn flip_every_byte(sample: &Sample) {
    let mut seen = Seen::default();
    let mut bytes_flipped = 0;
    for file in files(&sample.path) {
        let good = fs::read(&file).unwrap();
        for at in 0..good.len() {
            // One bit, or all of them.
            let mask = if at % 2 == 0 { 1 << (at / 2 % 8) } else { 0xFF };
            let mut bad = good.clone();
            bad[at] ^= mask;
            overwrite(&file, &bad);
            probe(sample, at % 3 > 0, &format!("{} byte {at}", file.display()), &mut seen);
            bytes_flipped += 1;
        }
        overwrite(&file, &good);
    }
    println!("{bytes_flipped} bytes flipped: {seen:?}");
    assert!(bytes_flipped > 5_000 && seen.refused_at_open > 0 && seen.refused_later > 0);
    assert_eq!(seen.whole, 0, "verify looks at every byte");
    Store::open(&sample.path).unwrap().verify().unwrap();
}

#[test]
fn every_truncation_is_refused() {
    [false, true].map(sample).iter().for_each(truncate_everywhere);
}

fn truncate_everywhere(sample: &Sample) {
    let mut seen = Seen::default();
    let mut lengths = 0;
    for file in files(&sample.path) {
        let good = fs::read(&file).unwrap();
        for length in 0..good.len() {
            overwrite(&file, &good[..length]);
            // Mapped and in memory by turns.
            probe(
                sample,
                length % 2 == 0,
                &format!("{} cut to {length}", file.display()),
                &mut seen,
            );
            lengths += 1;
        }
        fs::remove_file(&file).unwrap();
        probe(sample, false, &format!("{} removed", file.display()), &mut seen);
        lengths += 1;
        fs::write(&file, &good).unwrap();
    }
    println!("{lengths} truncations: {seen:?}");
    assert_eq!(seen.refused_at_open, lengths, "lengths are checked when a store is opened");
}
