//! What a store promises besides exact answers.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use fpstore::{
    Codec, Design, Error, Execution, Layout, Match, OpenOptions, Packer, Phase, Prefer, Progress,
    Store,
};

use crate::sets::{Random, brute_force, clustered, sorted};

/// All files of a store but the lock, by name.
fn files(path: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(path)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap()))
        .collect();
    files.sort();
    files
}

/// A packer of two tables.
fn halves() -> Packer {
    Packer::new().layout(Layout::new().design(Design::named("halves").unwrap()))
}

#[test]
fn files_do_not_depend_on_the_order_of_the_input_its_duplicates_or_the_threads() {
    let set = clustered(30_000, 1);
    let temporary = tempfile::tempdir().unwrap();
    let pack = |name: &str, threads: usize, input: Vec<u64>| {
        let path = temporary.path().join(name);
        let packer = Packer::new()
            .layout(Layout::new().design(Design::named("3of6").unwrap()).block_bytes(512));
        packer.execution(Execution::new().threads(threads)).pack(&path, input).unwrap();
        files(&path)
    };
    let first = pack("first", 1, set.clone());
    let mut random = Random(2);
    let mut shuffled = [&set[..], &set[..1000]].concat();
    for i in (1..shuffled.len()).rev() {
        shuffled.swap(i, random.next() as usize % (i + 1));
    }
    assert_eq!(first.len(), 22, "a manifest, a lock and 20 tables");
    assert!(first == pack("shuffled", 2, shuffled));
    assert!(first == pack("sorted", 5, sorted(&set)));
}

#[test]
fn results_are_ordered_by_distance_and_then_by_value() {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("store");
    Packer::new().pack(&path, [0b111, 0b001, 0b100, 0b010, 0b000]).unwrap();
    let found: Vec<_> = Store::open(&path).unwrap().search(0, 3).unwrap();
    let pairs: Vec<_> = found.iter().map(|m| (m.distance, m.fingerprint)).collect();
    assert_eq!(pairs, [(0, 0b000), (1, 0b001), (1, 0b010), (1, 0b100), (3, 0b111)]);
}

#[test]
fn a_radius_over_64_is_64() {
    let set = clustered(500, 3);
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("store");
    Packer::new().pack(&path, set.iter().copied()).unwrap();
    let store = Store::open(&path).unwrap();
    let all = brute_force(&set, 99, 64);
    assert_eq!(store.search(99, u32::MAX).unwrap(), all);
    assert_eq!(all.len(), sorted(&set).len());
}

#[test]
fn a_store_and_its_searchers_can_be_sent_and_shared() {
    fn check<T: Send + Sync>() {}
    check::<Store>();
    check::<fpstore::Searcher>();
    check::<Packer>();
    check::<Error>();
}

#[test]
fn a_slice_and_an_iterator_are_packed_alike() {
    let temporary = tempfile::tempdir().unwrap();
    let set = [7u64, 1, 7];
    let (slice, iterator) = (temporary.path().join("slice"), temporary.path().join("iterator"));
    Packer::new().pack(&slice, &set[..]).unwrap();
    Packer::new().pack(&iterator, set.iter().rev().copied()).unwrap();
    assert!(files(&slice) == files(&iterator));
}

#[test]
fn several_segments_are_searched_as_one_set() {
    let vector =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("format-spec/vectors/good-two-segments");
    let store = Store::open(&vector).unwrap();
    assert_eq!(store.stats().unwrap().segments.len(), 2);
    let set: Vec<u64> = store.iter().collect::<Result<_, _>>().unwrap();
    let mut random = Random(13);
    for &stored in set.iter().cycle().take(2000) {
        let (flips, k) = (random.next() as u32 % 4, random.next() as u32 % 8);
        let query = random.flip(stored, flips);
        assert_eq!(store.search(query, k).unwrap(), brute_force(&set, query, k));
    }
}

/// Keys that differ above the column only survive together, and one of them may be known.
#[test]
fn fingerprints_with_the_same_low_bits_are_told_apart() {
    let temporary = tempfile::tempdir().unwrap();
    let mut random = Random(14);
    // The parts of each are drawn from few values, so that many share one part or several.
    let parts: Vec<u64> = (0..6).map(|i| random.flip(0x1234, i % 3)).collect();
    let mut part = || parts[random.next() as usize % parts.len()];
    let set: Vec<u64> =
        (0..3000).map(|_| part() << 48 | part() << 32 | part() << 16 | part()).collect();
    for design in Design::NAMES {
        let path = temporary.path().join(design);
        let packer =
            Packer::new().layout(Layout::new().design(design.parse().unwrap()).low_bits(Some(16)));
        packer.with_layout(|it| it.block_bytes(8192)).pack(&path, &set[..]).unwrap();
        let store = Store::open(&path).unwrap();
        for &query in &set[..200] {
            for k in [0, 1, 2, 3, 5] {
                let found = store.search(query, k).unwrap();
                assert_eq!(found, brute_force(&set, query, k), "{design}, {query:016x}, {k}");
            }
        }
    }
}

/// `for_each` takes a way of its own through an iterator, from wherever it stands.
#[test]
fn folding_an_iterator_gives_what_its_steps_give() {
    let set = clustered(20_000, 5);
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("store");
    Packer::new().layout(Layout::new().block_bytes(256)).pack(&path, set.iter().copied()).unwrap();
    let table = path.join("segment-0000000000000001-table-000.fpt");
    let sound = fs::read(&table).unwrap();
    // Sound; with a damaged block in the middle; and in the first one.
    for damaged in [None, Some(sound.len() / 2), Some(4200)] {
        let mut bytes = sound.clone();
        if let Some(at) = damaged {
            bytes[at] ^= 1;
        }
        fs::write(&table, bytes).unwrap();
        for taken in [0, 1, 1000] {
            let store = Store::open(&path).unwrap();
            let by_steps = {
                let mut iter = store.iter().skip(taken);
                std::iter::from_fn(move || iter.next()).map(|next| next.map_err(|e| e.to_string()))
            };
            let by_steps: Vec<_> = by_steps.collect();
            let (mut iter, mut folded) = (store.iter(), Vec::new());
            iter.by_ref().take(taken).for_each(drop);
            iter.for_each(|next| folded.push(next.map_err(|error| error.to_string())));
            assert_eq!(folded, by_steps, "damage {damaged:?}, {taken} taken before");
            assert_eq!(
                by_steps.iter().any(Result::is_err),
                damaged == Some(sound.len() / 2) || (damaged.is_some() && taken == 0)
            );
        }
    }
}

#[test]
fn many_threads_search_one_store_at_once() {
    let set = clustered(20_000, 4);
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("store");
    Packer::new().layout(Layout::new().block_bytes(256)).pack(&path, set.iter().copied()).unwrap();
    // Freshly opened, so that the first touches of blocks race as well.
    let store = Store::open(&path).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (store, set) = (&store, &set);
            scope.spawn(move || {
                let mut random = Random(thread);
                let mut searcher = store.searcher();
                for _ in 0..100 {
                    let stored = set[random.next() as usize % set.len()];
                    let query = random.flip(stored, 2);
                    assert_eq!(searcher.search(query, 3).unwrap(), brute_force(set, query, 3));
                }
            });
        }
    });
}

#[test]
fn a_store_may_be_moved_copied_and_read_into_memory() {
    let set = clustered(3000, 5);
    let temporary = tempfile::tempdir().unwrap();
    let (old, new) = (temporary.path().join("old"), temporary.path().join("new"));
    Packer::new().pack(&old, set.iter().copied()).unwrap();
    fs::rename(&old, &new).unwrap();
    let store = OpenOptions::new().in_memory(true).open(&new).unwrap();
    // Nothing is read from the files any more.
    fs::remove_dir_all(&new).unwrap();
    assert_eq!(store.search(set[7], 3).unwrap(), brute_force(&set, set[7], 3));
    assert_eq!(store.verify().unwrap().fingerprints, sorted(&set).len() as u64);
}

#[test]
fn an_open_store_stays_as_it_was_when_it_is_replaced() {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("store");
    halves().pack(&path, [1, 2, 3]).unwrap();
    let old = Store::open(&path).unwrap();
    assert!(matches!(halves().pack(&path, [4]), Err(Error::Exists { .. })));
    halves().replace(true).with_layout(|it| it.k(5)).pack(&path, [4, 5]).unwrap();
    let listed = |store: &Store| store.iter().collect::<Result<Vec<_>, _>>().unwrap();
    assert_eq!(listed(&old), [1, 2, 3]);
    let new = Store::open(&path).unwrap();
    assert_eq!((listed(&new), new.radius()), (vec![4, 5], 5));
    let names: Vec<_> = files(&path).into_iter().map(|(name, _)| name).collect();
    let expected = [
        "lock",
        "manifest.fps",
        "segment-0000000000000002-table-000.fpt",
        "segment-0000000000000002-table-001.fpt",
    ];
    assert_eq!(names, expected, "files of the old store are gone");
}

#[test]
fn nothing_but_a_store_is_replaced_and_what_a_stopped_pack_left_goes() {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("photos");
    fs::create_dir(&path).unwrap();
    fs::write(path.join("holiday.jpg"), "x").unwrap();
    let error = Packer::new().replace(true).pack(&path, [1]).unwrap_err();
    assert!(matches!(&error, Error::Foreign { entry, .. } if entry == "holiday.jpg"), "{error}");
    fs::write(path.join("manifest.fps"), "not ours").unwrap();
    let error = Packer::new().replace(true).pack(&path, [1]).unwrap_err();
    assert!(matches!(&error, Error::Foreign { .. }), "{error}");
    assert_eq!(files(&path).len(), 2);

    let file = temporary.path().join("file");
    fs::write(&file, "x").unwrap();
    assert!(matches!(Packer::new().replace(true).pack(&file, [1]), Err(Error::Foreign { .. })));

    let stopped = temporary.path().join("stopped");
    fs::create_dir(&stopped).unwrap();
    for name in ["segment-0000000000000004-table-000.fpt", ".tmp-fpstore-manifest", "lock"] {
        fs::write(stopped.join(name), "").unwrap();
    }
    assert!(matches!(Store::open(&stopped), Err(Error::NotAStore { .. })));
    Packer::new()
        .layout(Layout::new().design(Design::named("single").unwrap()))
        .pack(&stopped, [1])
        .unwrap();
    let names: Vec<_> = files(&stopped).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["lock", "manifest.fps", "segment-0000000000000005-table-000.fpt"]);
}

#[test]
fn a_damaged_store_can_be_replaced() {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("store");
    halves().pack(&path, [1, 2, 3]).unwrap();
    let manifest = path.join("manifest.fps");
    let mut bytes = fs::read(&manifest).unwrap();
    bytes[20] ^= 1;
    fs::write(&manifest, bytes).unwrap();
    assert!(matches!(Store::open(&path), Err(Error::Corrupt { .. })));
    assert!(matches!(halves().pack(&path, [4]), Err(Error::Exists { .. })));
    halves().replace(true).pack(&path, [4]).unwrap();
    assert_eq!(Store::open(&path).unwrap().len(), 1);
    assert_eq!(files(&path).len(), 4, "files of the damaged store are gone");
}

#[test]
fn a_store_whose_segment_numbers_are_used_up_is_not_lost() {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("store");
    Packer::new().pack(&path, [1, 2, 3]).unwrap();
    let mut forge = crate::forge::Forge::load(&path).unwrap();
    forge.set(crate::forge::Place::Store, "next_segment", u64::MAX);
    forge.reseal_manifest();
    fs::write(path.join("manifest.fps"), forge.manifest()).unwrap();
    let error = Packer::new().replace(true).pack(&path, [4]).unwrap_err();
    assert!(matches!(error, Error::NoSegmentNumber { .. }), "{error}");
    assert_eq!(Store::open(&path).unwrap().len(), 3);
    // A file name alone does not use them up.
    let leftover = path.join("segment-ffffffffffffffff-table-000.fpt");
    forge.set(crate::forge::Place::Store, "next_segment", 2);
    forge.reseal_manifest();
    fs::write(path.join("manifest.fps"), forge.manifest()).unwrap();
    fs::write(&leftover, "").unwrap();
    Packer::new().replace(true).pack(&path, [4]).unwrap();
    assert_eq!(Store::open(&path).unwrap().len(), 1);
    assert!(!leftover.exists());
}

#[test]
fn a_store_keeps_its_id_and_counts_its_generations() {
    let temporary = tempfile::tempdir().unwrap();
    let [path, again] = ["store", "again"].map(|name| temporary.path().join(name));
    let identity = |path: &Path| {
        let store = Store::open(path).unwrap();
        (store.id(), store.generation())
    };
    Packer::new().pack(&path, [1, 2, 3]).unwrap();
    Packer::new().pack(&again, [3, 2, 1]).unwrap();
    let (id, generation) = identity(&path);
    assert_eq!(generation, 1);
    assert_eq!(identity(&again), (id, 1), "what is packed decides");
    Packer::new().replace(true).pack(&path, [4]).unwrap();
    assert_eq!(identity(&path), (id, 2));
    Packer::new().replace(true).pack(&path, [4]).unwrap();
    assert_eq!(identity(&path), (id, 3));
    Packer::new().replace(true).pack_with_ids(&again, [(3, 1), (2, 1), (1, 1)]).unwrap();
    assert_eq!(identity(&again), (id, 2), "of the same store");
    // Where the old manifest is damaged, nothing is known of the store.
    fs::write(path.join("manifest.fps"), b"\x89FPSM\r\n\x1a").unwrap();
    Packer::new().replace(true).pack(&path, [4]).unwrap();
    let (other, generation) = identity(&path);
    assert!(other != id && generation == 1);
}

#[test]
fn a_store_whose_generations_are_used_up_is_not_lost() {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("store");
    Packer::new().pack(&path, [1, 2, 3]).unwrap();
    let mut forge = crate::forge::Forge::load(&path).unwrap();
    forge.set(crate::forge::Place::Store, "generation", u64::MAX);
    forge.reseal_manifest();
    fs::write(path.join("manifest.fps"), forge.manifest()).unwrap();
    let error = Packer::new().replace(true).pack(&path, [4]).unwrap_err();
    assert!(matches!(error, Error::NoSegmentNumber { .. }), "{error}");
    assert_eq!(Store::open(&path).unwrap().len(), 3);
}

#[test]
fn files_of_further_kinds_stay_where_a_store_is_replaced() {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("store");
    let vectors = Path::new(env!("CARGO_MANIFEST_DIR")).join("format-spec/vectors");
    fs::create_dir(&path).unwrap();
    for entry in fs::read_dir(vectors.join("good-further-files")).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), path.join(entry.file_name())).unwrap();
    }
    assert_eq!(Store::open(&path).unwrap().skipped_sections().len(), 1);
    Packer::new().replace(true).pack(&path, [4]).unwrap();
    let store = Store::open(&path).unwrap();
    assert_eq!((store.len(), store.skipped_sections().len()), (1, 0));
    for name in ["segment-0000000000000001-extra-000.fpx", "words.fpw"] {
        assert!(path.join(name).exists(), "{name}");
    }
    assert!(!path.join("segment-0000000000000001-table-000.fpt").exists());
}

#[test]
fn a_second_writer_is_told_to_wait() {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("store");
    fs::create_dir(&path).unwrap();
    let lock = fs::File::create(path.join("lock")).unwrap();
    lock.lock().unwrap();
    assert!(matches!(Packer::new().pack(&path, [1]), Err(Error::Busy { .. })));
    drop(lock);
    Packer::new().pack(&path, [1]).unwrap();
}

#[test]
fn options_out_of_range_are_refused_before_anything_is_written() {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("store");
    for packer in [
        Packer::new().layout(Layout::new().k(65)),
        Packer::new().layout(Layout::new().block_bytes(128)),
        Packer::new().layout(Layout::new().block_bytes(1000)),
        Packer::new().layout(Layout::new().block_bytes(1 << 17)),
        Packer::new().layout(Layout::new().low_bits(Some(12))),
        Packer::new().execution(Execution::new().threads(1025)),
    ] {
        let error = packer.pack(&path, [1]).unwrap_err();
        assert!(matches!(error, Error::InvalidOption { .. }), "{error}");
        assert!(!path.exists());
    }
}

#[test]
fn a_place_that_cannot_be_created_is_refused_before_the_input_is_read() {
    let temporary = tempfile::tempdir().unwrap();
    let file = temporary.path().join("file");
    fs::write(&file, "x").unwrap();
    for path in [temporary.path().join("missing/store"), file.join("store")] {
        let input = std::iter::from_fn(|| -> Option<u64> { panic!("the input is read") });
        let error = Packer::new().pack(&path, input).unwrap_err();
        assert!(matches!(&error, Error::Io { .. }), "{error}");
        assert!(error.to_string().contains("; check the path"), "{error}");
    }
}

#[test]
fn progress_ends_where_it_should_in_every_phase() {
    use std::sync::{Arc, Mutex};
    let seen = Arc::new(Mutex::new(Vec::new()));
    let temporary = tempfile::tempdir().unwrap();
    let sink = Arc::clone(&seen);
    let packer = halves().execution(
        Execution::new().on_progress(move |progress| sink.lock().unwrap().push(progress)),
    );
    packer.pack(temporary.path().join("store"), (0..5000u64).map(|i| i << 30)).unwrap();
    let seen = seen.lock().unwrap();
    for (phase, total) in [(Phase::Sort, 5000), (Phase::Encode, 10_000), (Phase::Sync, 10_000)] {
        let of_phase: Vec<_> = seen.iter().filter(|progress| progress.phase == phase).collect();
        assert!(of_phase.is_sorted_by_key(|progress| progress.done));
        let last = of_phase.last().unwrap();
        assert_eq!((last.done, last.total), (total, total), "{phase}");
    }
}

#[test]
fn statistics_add_up_to_the_files() {
    let set = clustered(10_000, 6);
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("store");
    let packer = Packer::new().layout(Layout::new().codec(Some(Codec::Xor)).low_bits(Some(0)));
    let summary = packer.pack(&path, set.iter().copied()).unwrap();
    let stats = Store::open(&path).unwrap().stats().unwrap();
    // What is in `lock` means nothing.
    let of_store = files(&path).into_iter().filter(|(name, _)| name != "lock");
    let on_disk: u64 = of_store.map(|(_, bytes)| bytes.len() as u64).sum();
    assert_eq!((stats.bytes, summary.bytes), (on_disk, on_disk));
    assert_eq!(stats.segments[0].tables, summary.tables);
    // The paper's histogram, counted here from the sorted set.
    let sorted = sorted(&set);
    let mut histogram = vec![0; 65];
    for pair in sorted.windows(2) {
        histogram[(pair[0] ^ pair[1]).leading_zeros() as usize] += 1;
    }
    assert_eq!(summary.tables[0].histogram, histogram);
    let steps: u64 = histogram.iter().sum();
    assert_eq!(steps, stats.fingerprints - 1);
}

#[test]
fn a_path_without_a_store_is_named_with_what_is_there() {
    let temporary = tempfile::tempdir().unwrap();
    let file = temporary.path().join("file");
    fs::write(&file, "x").unwrap();
    for (path, found) in [
        (temporary.path().join("missing"), "there is nothing here"),
        (temporary.path().to_path_buf(), "the directory has no manifest.fps"),
        (file, "this is a file, not a directory"),
    ] {
        let error = Store::open(&path).unwrap_err().to_string();
        assert!(error.contains(found) && error.contains(path.to_str().unwrap()), "{error}");
    }
}

#[test]
fn matches_of_a_searcher_do_not_leak_into_the_next_query() {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("store");
    Packer::new().pack(&path, [0, u64::MAX]).unwrap();
    let store = Store::open(&path).unwrap();
    let mut searcher = store.searcher();
    assert_eq!(searcher.search(0, 0).unwrap(), [Match { fingerprint: 0, distance: 0 }]);
    assert_eq!(searcher.search(u64::MAX / 2, 0).unwrap(), []);
    let far = Match { fingerprint: u64::MAX, distance: 1 };
    assert_eq!(searcher.search(u64::MAX - 1, 1).unwrap(), [far]);
}

#[test]
fn verify_tells_each_key_of_each_table_and_each_id_once() {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("store");
    let mut random = Random(34);
    let pairs = (0..300_000u64).map(|i| (random.next(), i / 2));
    let packer = Packer::new()
        .layout(Layout::new().design(Design::named("thirds").unwrap()).block_bytes(256));
    let summary = packer.pack_with_ids(&path, pairs).unwrap();
    let told = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&told);
    let tell = move |at: Progress| sink.lock().unwrap().push((at.done, at.total));
    Store::open(&path).unwrap().verify_with(&Execution::new().on_progress(tell)).unwrap();
    let mut told = told.lock().unwrap().clone();
    let all = 3 * summary.distinct + summary.ids.unwrap();
    assert!(told.len() > 10 && told.iter().all(|&(_, total)| total == all), "{told:?}");
    told.sort_unstable();
    assert_eq!(told.last(), Some(&(all, all)));
    assert!(told.windows(2).all(|two| two[0] < two[1]), "each step counts");
}

#[test]
fn the_planner_of_a_summary_knows_the_set_and_what_was_left_to_choose() {
    let temporary = tempfile::tempdir().unwrap();
    let mut random = Random(35);
    let set: Vec<u64> = (0..30_000).map(|_| random.next()).collect();
    let pack = |name: &str, packer: Packer| packer.pack(temporary.path().join(name), &set).unwrap();
    let balanced = pack("balanced", Packer::new());
    assert!(balanced.bytes <= 8 * balanced.distinct, "{}", balanced.bytes);
    let best = balanced.planner.best().unwrap().unwrap();
    let chosen = (balanced.design(), balanced.block_bytes());
    assert_eq!((Some(&best.design), Some(best.block_bytes)), chosen);
    // What it predicts of another preference is what that gives.
    for prefer in [Prefer::Size, Prefer::Speed] {
        let plan = balanced.planner.clone().prefer(prefer).best().unwrap().unwrap();
        let other =
            pack(&format!("{prefer:?}"), Packer::new().layout(Layout::new().prefer(prefer)));
        let chosen = (other.design(), other.block_bytes());
        assert_eq!((Some(&plan.design), Some(plan.block_bytes)), chosen);
        let error = plan.store_bytes as f64 / other.bytes as f64 - 1.0;
        assert!(error.abs() < 0.01, "{prefer:?}: {error}");
    }
}
