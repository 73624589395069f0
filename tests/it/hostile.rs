//! Damaged and hostile stores with bases and part tables: they answer right or refuse; nothing
//! else.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use fpstore::{Error, Fingerprint, Match, OpenOptions};

use crate::damage::overwrite;
use crate::forge::wide_writer::Wide;
use crate::forge::writer::Files;
use crate::forge::{changed_wide, wide_segment};
use crate::sets::Random;

/// What a damaged store was seen to do.
#[derive(Default, Debug)]
struct Seen {
    refused_at_open: usize,
    refused_later: usize,
    whole: usize,
}

/// A small store, its set with the ids of each, and queries with their answers.
struct Sample<F> {
    files: Files,
    ids: BTreeMap<F, Vec<u64>>,
    queries: Vec<(F, u32, Vec<Match<F>>)>,
}

const COUNT: u64 = 24;

impl<F: Fingerprint> Sample<F> {
    /// With so many bits in each part and its key.
    fn new(parts: &[(u16, u8)]) -> Self {
        let segment = wide_segment(F::BITS as u16, COUNT, parts);
        let files = changed_wide(&segment, |_| {}).assemble();
        let rows = segment.rows().into_iter().map(|row| F::from_be_slice(&row).unwrap());
        let (ids, _) = segment.ids.clone().unwrap();
        let ids: BTreeMap<F, Vec<u64>> = rows.zip(ids).collect();
        let mut random = Random(3);
        let queries = ids.keys().step_by(5).flat_map(|&one| {
            let mut bytes = one.to_be_bytes();
            let bit = random.next() as usize % F::BITS as usize;
            bytes.as_mut()[bit / 8] ^= 1 << (bit % 8);
            [(one, 0), (F::from_be_bytes(bytes), 2), (one, F::BITS / 2)]
        });
        let answer = |(query, k): (F, u32)| {
            let near =
                ids.keys().map(|&one| Match { fingerprint: one, distance: one.distance(query) });
            let mut near: Vec<_> = near.filter(|found| found.distance <= k).collect();
            near.sort_unstable_by_key(|found| (found.distance, found.fingerprint));
            (query, k, near)
        };
        let queries = queries.collect::<Vec<_>>().into_iter().map(answer).collect();
        Self { files, ids, queries }
    }

    fn save(&self, path: &Path) {
        save(&self.files, path);
    }
}

fn save(files: &Files, path: &Path) {
    let _ = fs::remove_dir_all(path);
    fs::create_dir(path).unwrap();
    files.iter().for_each(|(name, bytes)| fs::write(path.join(name), bytes).unwrap());
}

/// An error about the files; anything else is a fault.
fn typed(error: &Error, what: &str) {
    let typed = matches!(
        error,
        Error::Corrupt { .. } | Error::Unsupported { .. } | Error::NotAStore { .. }
    );
    assert!(typed, "{what}: {error}");
}

/// Opens, searches, lists and verifies. Where `expected` is given all is right or an error; where
/// it is not, the files have right checksums and hold something else, and nothing panics.
fn probe<F: Fingerprint>(
    path: &Path,
    queries: &[(F, u32, Vec<Match<F>>)],
    ids: &BTreeMap<F, Vec<u64>>,
    (is_forged, in_memory): (bool, bool),
    what: &str,
    seen: &mut Seen,
) {
    let store = match OpenOptions::new().in_memory(in_memory).width::<F>().open(path) {
        Ok(store) => store,
        // Its own check of the manifest, before this one.
        Err(Error::Width { .. }) if is_forged => return,
        Err(error) => {
            typed(&error, what);
            seen.refused_at_open += 1;
            return;
        }
    };
    let mut refused = false;
    let mut searcher = store.searcher();
    for (query, k, expected) in queries {
        let mut check = |found: Result<Vec<Match<F>>, Error>| match found {
            Ok(found) => assert!(is_forged || &found == expected, "{what}: wrong answer"),
            Err(error) => {
                typed(&error, what);
                refused = true;
            }
        };
        check(searcher.search(*query, *k).map(<[_]>::to_vec));
        check(searcher.search_by_scan(*query, *k).map(<[_]>::to_vec));
        let nearest = searcher.nearest(*query, 1 << 20, *k).map(|found| found.to_vec());
        check(nearest);
    }
    for (&fingerprint, expected) in ids {
        match store.ids::<u64>(fingerprint).and_then(|ids| ids.collect::<Result<Vec<_>, _>>()) {
            Ok(found) => assert!(is_forged || &found == expected, "{what}: wrong ids"),
            Err(error) => {
                typed(&error, what);
                refused = true;
            }
        }
    }
    match store.iter().collect::<Result<Vec<_>, _>>() {
        Ok(listed) => assert!(is_forged || listed.iter().eq(ids.keys()), "{what}: wrong list"),
        Err(error) => {
            typed(&error, what);
            refused = true;
        }
    }
    match store.verify() {
        Ok(_) => assert!(!refused, "{what}: verify passes where a search fails"),
        Err(error) => {
            typed(&error, what);
            refused = true;
        }
    }
    if refused { seen.refused_later += 1 } else { seen.whole += 1 }
}

fn flip_every_second_bit<F: Fingerprint>(parts: &[(u16, u8)]) {
    let sample = Sample::<F>::new(parts);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    sample.save(&path);
    let (mut seen, mut flipped) = (Seen::default(), 0);
    for (name, good) in &sample.files {
        let file = path.join(name);
        for at in 0..good.len() {
            for bit in (at % 2..8).step_by(2) {
                let mut bad = good.clone();
                bad[at] ^= 1 << bit;
                overwrite(&file, &bad);
                let what = format!("{name} byte {at} bit {bit}");
                probe(&path, &sample.queries, &sample.ids, (false, true), &what, &mut seen);
                flipped += 1;
            }
        }
        overwrite(&file, good);
    }
    println!("{flipped} bits of {} bits flipped: {seen:?}", F::BITS);
    assert!(flipped > 2_500 && seen.refused_at_open > 0 && seen.refused_later > 0);
    assert_eq!(seen.whole, 0, "verify looks at every bit");
}

#[test]
fn flipped_bits_of_a_wide_store_are_answered_rightly_or_refused() {
    flip_every_second_bit::<u32>(&[(16, 6), (16, 7)]);
    flip_every_second_bit::<u128>(&[(60, 6), (68, 7)]);
    flip_every_second_bit::<[u64; 4]>(&[]);
}

#[test]
fn every_truncation_of_a_wide_store_is_refused() {
    let sample = Sample::<u128>::new(&[(60, 6), (68, 7)]);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    sample.save(&path);
    let (mut seen, mut lengths) = (Seen::default(), 0);
    for (name, good) in &sample.files {
        let file = path.join(name);
        for length in 0..good.len() {
            overwrite(&file, &good[..length]);
            let what = format!("{name} cut to {length}");
            let how = (false, length % 2 == 0);
            probe(&path, &sample.queries, &sample.ids, how, &what, &mut seen);
            lengths += 1;
        }
        fs::remove_file(&file).unwrap();
        let what = format!("{name} removed");
        probe(&path, &sample.queries, &sample.ids, (false, false), &what, &mut seen);
        lengths += 1;
        overwrite(&file, good);
    }
    println!("{lengths} truncations: {seen:?}");
    assert_eq!(seen.refused_at_open, lengths, "lengths are checked when a store is opened");
}

/// Sets 4 bytes, or some bits.
fn scribble(bytes: &mut [u8], random: &mut Random) {
    let at = random.next() as usize % bytes.len();
    match random.next() % 4 {
        0 => bytes[at] ^= 1 << (random.next() % 8),
        1 => bytes[at] = 0xFF,
        2 => {
            let end = bytes.len().min(at + 8 + random.next() as usize % 30);
            let fill = [0, 0xFF][random.next() as usize % 2];
            bytes[at..end].fill(fill);
        }
        _ => {
            let end = bytes.len().min(at + 4);
            bytes[at..end].copy_from_slice(&(random.next() as u32).to_le_bytes()[..end - at]);
        }
    }
}

/// Stores whose checksums are right and which say anything: no search panics, or takes more than a
/// moment.
fn forge_at_random<F: Fingerprint>(seed: u64, parts: &[(u16, u8)]) {
    let sample = Sample::<F>::new(parts);
    let segment = wide_segment(F::BITS as u16, COUNT, parts);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let mut random = Random(seed);
    let mut seen = Seen::default();
    for round in 0..250 {
        let forged = changed_wide(&segment, |wide: &mut Wide| {
            for _ in 0..1 + random.next() % 3 {
                let files = 1 + wide.parts.len() as u64;
                let file = match random.next() % (2 * files) {
                    0 => &mut wide.base,
                    number => {
                        let number = number as usize % wide.parts.len().max(1);
                        wide.parts.get_mut(number).unwrap_or(&mut wide.base)
                    }
                };
                if !random.next().is_multiple_of(6) {
                    scribble(&mut file.body, &mut random);
                } else {
                    // Behind the prefix.
                    let end = file.header.len() - 4;
                    scribble(&mut file.header[16..end], &mut random);
                }
            }
        });
        save(&forged.assemble(), &path);
        let what = format!("seed {seed}, round {round}");
        probe(&path, &sample.queries, &sample.ids, (true, round % 2 == 0), &what, &mut seen);
    }
    println!("{} bits: {seen:?}", F::BITS);
    assert!(seen.refused_at_open > 5 && seen.refused_later > 100);
}

#[test]
fn forged_part_tables_make_no_search_panic() {
    forge_at_random::<u32>(1, &[(16, 7), (16, 8)]);
    forge_at_random::<u64>(2, &[(20, 6), (20, 8), (24, 9)]);
    forge_at_random::<u128>(3, &[(60, 6), (68, 7)]);
    forge_at_random::<[u64; 4]>(4, &[(128, 8), (128, 7)]);
}

/// The groups that a search looks at say that all rows are theirs: each by itself could be right.
#[test]
fn groups_that_overlap_are_refused_before_a_search_takes_the_square_of_its_time() {
    let count = 3000u32;
    let segment = wide_segment(128, count.into(), &[(64, 12), (64, 12)]);
    let forged = changed_wide(&segment, |wide| {
        for part in &mut wide.parts {
            let (starts, rest) = part.body.split_at_mut(256);
            for (group, start) in starts.chunks_mut(4).enumerate() {
                // Those that differ in one bit from group 0 begin with row 0, and end with the
                // last.
                let is_near = group == 1 || group > 2 && group.is_power_of_two();
                let is_first = group == 0 || is_near;
                start.copy_from_slice(&if is_first { 0 } else { count }.to_le_bytes());
            }
            let marks = &mut rest[..(count as usize + 4096) / 8];
            marks.fill(0);
            marks[..count as usize / 8].fill(0xFF);
        }
    });
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    save(&forged.assemble(), &path);
    let store = OpenOptions::new().width::<u128>().open(&path).unwrap();
    let mut searcher = store.searcher();
    let error = searcher.search(0, 3).map(<[_]>::len).unwrap_err();
    assert!(error.to_string().contains("PRT-5"), "{error}");
    assert!(searcher.work().rows_compared <= u64::from(count));
    assert!(store.verify().unwrap_err().to_string().contains("PRT-5"));
}
