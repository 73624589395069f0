use std::collections::BTreeSet;
use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::design::Design;
use crate::fingerprint::Fingerprint;
use crate::planning::Layout;
use crate::set_sum::term;
use crate::store::{OpenOptions, Packer, Store};

/// The next uniform word.
fn next(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_add(1);
    term(*seed) as u64
}

/// Uniform words, and near duplicates of some of them.
fn words(seed: u64, uniform: usize, near: usize) -> Vec<u64> {
    let mut seed = seed;
    let mut words: Vec<u64> = (0..uniform).map(|_| next(&mut seed)).collect();
    words.extend([0, u64::MAX, 1 << 63]);
    for i in 0..near {
        let of = words[i % (1 + uniform / 100)];
        let flip = |seed: &mut u64| 1 << (next(seed) % 64);
        words.push(of ^ flip(&mut seed) ^ flip(&mut seed) ^ flip(&mut seed));
    }
    words
}

fn store<F: Fingerprint>(path: &Path, set: &[F], how: (&str, u32, bool)) -> Store<F> {
    let (design, block_bytes, short) = how;
    let packer = Packer::new().width::<F>().layout(
        Layout::new().design(Design::read(F::BITS, design).unwrap()).block_bytes(block_bytes),
    );
    packer
        .replace(true)
        .with_layout(|it| it.short_tables(short))
        .pack(path, set.iter().copied())
        .unwrap();
    OpenOptions::new().width::<F>().open(path).unwrap()
}

/// All keys of a table, as its blocks have them.
fn keys_of(table: &Table) -> Vec<u64> {
    let mut keys = Vec::new();
    (0..table.block_count()).for_each(|block| {
        let mut some = Vec::new();
        table.decode_blocks(block..block + 1, &mut some).unwrap();
        keys.extend(some);
    });
    keys
}

/// Compares what a filter finds with the prefixes of all keys.
fn check<F: Fingerprint>(store: &Store<F>, queries: &[u64]) {
    let snapshot = store.snapshot();
    let Some(segment) = snapshot.segments().first() else { return };
    for table in segment.tables() {
        let filter = PrefixFilter::of(table, &|| false).unwrap();
        assert!(filter.heap_bytes() <= PrefixFilter::most_bytes(table));
        let bits = filter.bits();
        assert!(bits >= ENTRY_BITS && bits <= table.geometry().bits);
        let mask = u64::MAX << (64 - bits);
        let prefixes: BTreeSet<u64> = keys_of(table).iter().map(|key| key & mask).collect();
        let top = !u64::MAX.checked_shr(table.permutation().top_bits()).unwrap_or(0);
        for query in queries {
            let query = table.key(*query);
            for (k, threshold) in [(0, 0), (1, 0), (2, 1), (3, 0), (3, 1), (3, 3), (9, 2), (64, 64)]
            {
                let budget = table.budget(k, threshold);
                let is_near = |prefix: &&u64| {
                    let differs = (**prefix ^ query) & mask;
                    differs.count_ones() <= k && (differs & top).count_ones() <= threshold
                };
                let expected: Vec<u64> = prefixes.iter().filter(is_near).copied().collect();
                let near = |most| {
                    let mut found = Vec::new();
                    let all = filter.near(
                        query,
                        budget,
                        (most, &Stop::default()),
                        &mut vec![7],
                        &mut found,
                    );
                    assert!(found.iter().all(|lead| lead.bits == bits));
                    (all.unwrap(), found.iter().map(|lead| lead.prefix).collect::<Vec<_>>())
                };
                let (all, mut found) = near(expected.len());
                found.sort_unstable();
                assert!(all && found == expected, "{query:x} {k} {threshold}: {found:x?}");
                if let Some(fewer) = expected.len().checked_sub(1) {
                    let (all, found) = near(fewer);
                    assert!(!all && found.len() <= fewer + PrefixFilter::MOST_OF_GROUP);
                }
            }
        }
    }
}

#[test]
fn it_finds_the_prefixes_of_all_keys_that_are_near() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    for (design, block_bytes, short) in [
        ("single", 1024, false),
        ("halves", 256, true),
        ("2of5", 512, false),
        ("8,24,24,8", 256, true),
    ] {
        for (uniform, near) in [(0, 0), (1, 0), (63, 0), (3000, 3000), (20_000, 100)] {
            let words = words(uniform as u64, uniform, near);
            let queries: Vec<u64> = words.iter().step_by(1 + words.len() / 5).copied().collect();
            let queries = [&queries[..], &[0x1234_5678_9ABC_DEF0]].concat();
            check(&store(&path, &words, (design, block_bytes, short)), &queries);
            let narrow: Vec<u32> = words.iter().map(|word| *word as u32).collect();
            let design = if design == "8,24,24,8" { "8,12,4,8" } else { design };
            let queries: Vec<u64> = queries.iter().map(|word| word << 32).collect();
            check(&store(&path, &narrow, (design, block_bytes, false)), &queries);
        }
    }
}

#[test]
fn all_prefixes_that_begin_alike_can_be_there() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let set: Vec<u32> = (0..1 << 18).collect();
    check(&store(&path, &set, ("single", 4096, false)), &[0, 5 << 32, u64::MAX << 32]);
    // 2^12 groups, of which these keys fill one.
    let snapshot = OpenOptions::new().width::<u32>().open(&path).unwrap().snapshot();
    let filter = PrefixFilter::of(&snapshot.segments()[0].tables()[0], &|| false).unwrap();
    assert_eq!((filter.group_bits, filter.bits()), (12, 26));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn it_finds_them_in_any_set(seed: u64, uniform in 0usize..2000, near in 0usize..500, query: u64) {
        let directory = tempfile::tempdir().unwrap();
        let words = words(seed, uniform, near);
        let path = directory.path().join("store");
        let store = store(&path, &words, ("thirds", 256, seed % 2 == 0));
        check(&store, &[query, words[seed as usize % words.len()] ^ 1 << (seed % 64)]);
    }
}

#[test]
fn what_is_expected_of_uniform_keys_is_what_is_found() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let mut seed = 5;
    let set: Vec<u64> = (0..1 << 16).map(|_| next(&mut seed)).collect();
    let store = store(&path, &set, ("halves", 1024, false));
    let snapshot = store.snapshot();
    let table = &snapshot.segments()[0].tables()[0];
    let filter = PrefixFilter::of(table, &|| false).unwrap();
    for (k, threshold) in [(3, 1), (4, 4), (5, 2)] {
        let budget = table.budget(k, threshold);
        let (mut found, queries) = (Vec::new(), 300);
        for _ in 0..queries {
            let query = next(&mut seed);
            let room = (usize::MAX, &Stop::default());
            filter.near(query, budget, room, &mut Vec::new(), &mut found).unwrap();
        }
        let (found, expected) = (found.len() as f64, filter.expected(1 << 16, budget));
        let expected = expected * f64::from(queries);
        let spread = 5.0 * expected.sqrt();
        assert!((found - expected).abs() < spread, "{k} {threshold}: {found} of {expected}");
    }
}

#[test]
fn a_damaged_block_leaves_none() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let set = words(3, 5000, 0);
    store(&path, &set, ("single", 512, false));
    let mut files = std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path());
    let file = files.find(|path| path.extension() == Some("fpt".as_ref())).unwrap();
    let mut bytes = std::fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    let snapshot = Store::open(&path).unwrap().snapshot();
    assert!(PrefixFilter::of(&snapshot.segments()[0].tables()[0], &|| false).is_none());
}

#[test]
fn a_search_in_it_stops() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let store = store(&path, &words(3, 200_000, 0), ("single", 512, false));
    let snapshot = store.snapshot();
    let table = &snapshot.segments()[0].tables()[0];
    let filter = PrefixFilter::of(table, &|| false).unwrap();
    let due = Stop::at(Some(std::time::Instant::now()));
    let mut found = Vec::new();
    let room = (usize::MAX, &due);
    assert!(filter.near(0, table.budget(0, 0), room, &mut Vec::new(), &mut found).is_err());
    assert!(found.is_empty());
}
