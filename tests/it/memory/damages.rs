//! Random damage to stores of every kind whose checksums are right again: no panic, and no more
//! memory than the files account for.
//!
//! `FPSTORE_DAMAGES` says how many, from the seed `FPSTORE_SEED` on. Then the slowest is told, too.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use libtest_mimic::Trial;

use crate::mend::mend;
use crate::probe::{Seen, damage, load, probe, save};
use crate::sets::Random;
use crate::{MIB, trial, within};

/// As many as a few seconds allow.
const FEW: u64 = 1000;

pub fn trials() -> Vec<Trial> {
    vec![
        trial("what is mended without damage is the store itself", undamaged),
        trial("random damage is answered or refused within bounded memory", random),
    ]
}

/// The stores of the vectors, of all widths, living ones and others, with ids, names and without.
fn stores() -> Vec<PathBuf> {
    let vectors = Path::new(env!("CARGO_MANIFEST_DIR")).join("format-spec/vectors");
    let entries = std::fs::read_dir(vectors).unwrap().map(|entry| entry.unwrap().path());
    let name = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
    let mut stores: Vec<_> =
        entries.filter(|path| path.is_dir() && name(path).starts_with("good-")).collect();
    stores.sort();
    stores
}

fn undamaged() {
    for path in stores() {
        let good = load(&path);
        let mut mended = good.clone();
        mend(&mut mended);
        for (name, bytes) in &good {
            // Some vectors have broken records behind the last whole one, and checksums that nobody
            // reads.
            let is_loose = name.ends_with(".fpl") || name == "manifest.fps";
            let is_kept = mended[name] == *bytes || is_loose;
            assert!(is_kept, "{}: {name}", path.display());
        }
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("a number"))
}

fn random() {
    let (wanted, first) = (number("FPSTORE_DAMAGES"), number("FPSTORE_SEED").unwrap_or(1));
    let stores: Vec<_> = stores().iter().map(|path| (path.clone(), load(path))).collect();
    let directory = tempfile::tempdir().unwrap();
    let (path, repaired) = (directory.path().join("store"), directory.path().join("repaired"));
    let mut seen = [0u64; 3];
    let mut slowest = (Duration::ZERO, 0);
    for seed in first..first + wanted.unwrap_or(FEW) {
        let mut random = Random(seed);
        let (of, good) = &stores[random.next() as usize % stores.len()];
        let mut files = good.clone();
        for _ in 0..1 + random.next() % 4 {
            damage(&mut files, &mut || random.next());
        }
        if !random.next().is_multiple_of(8) {
            mend(&mut files);
        }
        save(&files, &path);
        let bytes: usize = files.values().map(Vec::len).sum();
        let what = format!("FPSTORE_SEED={seed} FPSTORE_DAMAGES=1, of {}", of.display());
        let (is_in_memory, is_repaired) =
            (random.next().is_multiple_of(2), random.next().is_multiple_of(8));
        let start = wanted.is_some().then(Instant::now);
        // Standing in the output of whoever panics.
        println!("{what}");
        let most = 16 * MIB + bytes as u64;
        let found =
            within(most, &what, || probe(&path, is_in_memory, is_repaired.then_some(&repaired)));
        if let Some(start) = start {
            slowest = slowest.max((start.elapsed(), seed));
        }
        seen[match found {
            Seen::RefusedAtOpen => 0,
            Seen::RefusedLater => 1,
            Seen::Whole => 2,
        }] += 1;
    }
    println!("refused at open, refused later, whole: {seen:?}");
    if wanted.is_some() {
        eprintln!("{seen:?}, slowest {slowest:?}");
    } else {
        assert!(seen.iter().all(|&count| count > FEW / 20), "{seen:?}");
    }
}
