//! What a writer does at its end, while nothing is written, beside a merge, and at its limits.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::core::LONG_LOG;
use super::merging::IDLE_AMPLIFICATION;
use crate::format::{LogHeader, log_name};
use crate::planning::Layout;
use crate::store::simulated::Random;
use crate::{
    Design, Durability, Error, Execution, Packer, Prefer, Store, StoreOptions, Writer,
    WriterOptions,
};

fn options() -> WriterOptions {
    WriterOptions::new().background(false)
}

fn log_of(path: &Path) -> PathBuf {
    let entries = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    let mut logs = entries.filter(|path| path.extension().is_some_and(|end| end == "fpl"));
    let log = logs.next().unwrap();
    assert_eq!(logs.next(), None);
    log
}

/// A store whose log has two records.
fn closed(path: &Path, close: bool) {
    let writer = StoreOptions::new().writer(options()).create(path).unwrap();
    writer.insert_batch(&[(1, 10), (2, 20)]).unwrap();
    writer.commit(Durability::Immediate).unwrap();
    writer.insert_batch(&[(3, 30), (4, 40)]).unwrap();
    if close {
        writer.close().unwrap();
    }
}

fn count(path: &Path) -> crate::Result<usize> {
    Ok(Store::open(path)?.iter().count())
}

/// The files of the only segment of a store, by what their names say beside its number.
fn files_of_segment(path: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in fs::read_dir(path).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_string();
        if name.starts_with("segment-") {
            let (_, rest) = name.split_at("segment-0000000000000000-".len());
            files.push((rest.to_string(), fs::read(&path).unwrap()));
        }
    }
    files.sort();
    files
}

#[test]
fn a_full_merge_makes_the_files_of_a_pack() {
    let directory = tempfile::tempdir().unwrap();
    let mut random = Random::new(5);
    let uniform: Vec<u64> = (0..70_000).map(|_| random.next()).collect();
    let near: Vec<u64> = (0..30_000).map(|i| uniform[i / 20] ^ 1 << (i % 61)).collect();
    let numbers: Vec<u64> = (0..9000).map(|i| i * 3).collect();
    let layouts = [
        Layout::new(),
        Layout::new().k(8).prefer(Prefer::Size),
        Layout::new().prefer(Prefer::Speed),
        Layout::new().design("thirds".parse().unwrap()),
        Layout::new().block_bytes(512),
    ];
    let sets = [uniform.clone(), near, numbers, uniform[..5].to_vec()];
    for (number, (set, layout)) in sets.iter().zip(&layouts).enumerate() {
        for layout in [layout, &layouts[0]] {
            let path = directory.path().join(format!("{number}"));
            let _ = fs::remove_dir_all(&path);
            let packed = directory.path().join(format!("{number}-packed"));
            let records = set.iter().copied().zip(0u64..);
            let packer = Packer::new().layout(layout.clone()).replace(true);
            packer.pack_with_ids(&packed, records.clone()).unwrap();
            let create = StoreOptions::new().layout(layout.clone()).writer(options());
            let writer = create.create(&path).unwrap();
            // A segment that is alone already, or several.
            let pieces = [1, 3][number % 2];
            for piece in records.collect::<Vec<_>>().chunks(set.len().div_ceil(pieces)) {
                writer.insert_batch(piece).unwrap();
                writer.flush().unwrap();
            }
            writer.merge_all().unwrap();
            let (merged, packed) = (files_of_segment(&path), files_of_segment(&packed));
            let names = |files: &[(String, Vec<u8>)]| -> Vec<String> {
                files.iter().map(|(name, bytes)| format!("{name} {}", bytes.len())).collect()
            };
            assert_eq!(names(&merged), names(&packed), "{number} {layout:?}");
            assert!(merged == packed, "{number} {layout:?}");
            let generation = || Store::open(&path).unwrap().generation();
            let before = generation();
            writer.merge_all().unwrap();
            assert_eq!(generation(), before, "nothing is left to do");
        }
    }
}

#[test]
fn a_full_merge_gives_segments_the_parts_that_were_said() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let create = StoreOptions::new().width::<[u64; 4]>().layout(Layout::new().parts(11));
    let writer = create.ids(None).writer(options()).create(&path).unwrap();
    let set: Vec<[u64; 4]> = (0..100).map(|i| [i, i * i, 7, i << 40]).collect();
    writer.insert_fingerprints(&set).unwrap();
    writer.flush().unwrap();
    writer.merge_all().unwrap();
    let packed = directory.path().join("packed");
    let packer = Packer::new().width::<[u64; 4]>().layout(Layout::new().parts(11));
    packer.pack(&packed, set).unwrap();
    let merged = files_of_segment(&path);
    assert_eq!(merged.len(), 12);
    assert!(merged == files_of_segment(&packed));
}

#[test]
fn what_was_said_of_the_layout_of_a_pack_holds_for_what_is_inserted() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let designs = || -> Vec<String> {
        let stats = Store::open(&path).unwrap().stats().unwrap();
        let of_segment =
            |segment: &crate::snapshot::SegmentStats| segment.design.as_ref().unwrap().to_string();
        stats.segments.iter().map(of_segment).collect()
    };
    for (said, expected) in [(Some("quarters"), "quarters"), (None, "single")] {
        let mut packer = Packer::new().replace(true);
        if let Some(design) = said {
            packer = packer.with_layout(|it| it.design(design.parse().unwrap()));
        }
        packer.pack(&path, (0..5000u64).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15))).unwrap();
        let writer = options().open(&path).unwrap();
        writer.insert_fingerprints(&[1, 2, 3]).unwrap();
        writer.flush().unwrap();
        writer.merge_all().unwrap();
        assert_eq!(designs(), [expected]);
    }
}

#[test]
fn damage_to_the_end_of_a_log_that_was_closed_and_its_loss_are_told_from_a_crash() {
    for close in [true, false] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store");
        closed(&path, close);
        let log = log_of(&path);
        let bytes = fs::read(&log).unwrap();
        let (note, records) = (LogHeader::BYTES, LogHeader::RECORDS_START);
        // 32 bytes of header, two insertions of 17, padding and a CRC.
        let record = bytes.len() - 72;
        let rule = |bytes: &[u8]| {
            fs::write(&log, bytes).unwrap();
            let opened = options().open(&path).map(drop);
            let told = Store::open(&path).map(drop).err();
            assert_eq!(opened.err().map(|error| error.rule()), told.as_ref().map(|at| at.rule()));
            told.and_then(|error| error.rule())
        };
        for at in records..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << (at % 8);
            assert_eq!(rule(&damaged), Some("LOG-3"), "{at}");
        }
        for end in 0..bytes.len() {
            let expected = match end {
                0..24 => "PRE-1",
                24..56 => "PRE-3",
                56..88 => "LOG-8",
                _ => "LOG-3",
            };
            assert_eq!(rule(&bytes[..end]), Some(expected), "{end} bytes");
        }
        for at in note..records {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << (at % 8);
            fs::write(&log, &damaged).unwrap();
            assert_eq!(count(&path).unwrap(), 4, "nobody needs the note");
            fs::write(&log, &damaged[..record]).unwrap();
            assert_eq!(count(&path).unwrap(), 2, "without it this looks like a crash");
        }
    }
}

#[test]
fn a_log_that_is_missing_before_a_later_one_stops_a_writer() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    closed(&path, true);
    let log = |number| path.join(log_name(number));
    // No log of this store: nothing was written behind one without its end.
    fs::copy(log(1), log(3)).unwrap();
    options().open(&path).unwrap().close().unwrap();
    assert!(!log(3).exists());
    // The first log has its end, the second is lost, and a third is there.
    let bytes = fs::read(log(1)).unwrap();
    let writer = options().open(&path).unwrap();
    writer.insert(9, 9).unwrap();
    writer.core().front().seal();
    writer.core().write_log(true).unwrap();
    writer.close().unwrap();
    let _ = fs::remove_file(log(2));
    fs::write(log(3), &bytes).unwrap();
    let error = options().open(&path).unwrap_err();
    assert_eq!(error.rule(), Some("DIR-2"), "{error}");
    assert!(log(3).exists());
}

#[test]
fn a_log_does_not_grow_when_it_is_opened_and_closed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    closed(&path, true);
    let log = log_of(&path);
    let bytes = fs::read(&log).unwrap();
    let reader = Store::open(&path).unwrap();
    for _ in 0..3 {
        options().open(&path).unwrap().close().unwrap();
        assert_eq!(fs::read(&log).unwrap(), bytes);
        assert!(!reader.refresh().unwrap());
    }
    for next in 5..8 {
        let writer = options().open(&path).unwrap();
        writer.insert(next, next).unwrap();
        writer.close().unwrap();
        assert!(reader.refresh().unwrap());
        assert_eq!((reader.iter().count() as u64, count(&path).unwrap() as u64), (next, next));
    }
    assert_eq!(log_of(&path), log);
    let writer = options().open(&path).unwrap();
    writer.flush().unwrap();
    writer.close().unwrap();
    let length = fs::metadata(log_of(&path)).unwrap().len();
    assert_eq!(length, LogHeader::RECORDS_START as u64, "header and note");
}

/// Inserts pairs, and makes a segment of them.
fn flush(writer: &Writer, pairs: u64, random: &mut Random) {
    let pairs: Vec<_> = (0..pairs).map(|id| (random.next(), id)).collect();
    writer.insert_batch(&pairs).unwrap();
    writer.flush().unwrap();
}

fn segments(writer: &Writer) -> usize {
    writer.snapshot().stats().unwrap().segments.len()
}

/// How often each byte was written, as the manifest counts.
fn amplification(writer: &Writer) -> f64 {
    let log = writer.core().front().base.manifest.log.unwrap();
    log.written_bytes as f64 / log.inserted_bytes as f64
}

fn single(path: &Path, window: Option<Duration>) -> Writer {
    let design = Design::named("single").unwrap();
    let options =
        StoreOptions::new().layout(Layout::new().design(design).block_bytes(512)).window(window);
    options.writer(self::options()).create(path).unwrap()
}

#[test]
fn while_nothing_is_written_all_is_merged_as_long_as_that_writes_little() {
    let directory = tempfile::tempdir().unwrap();
    let writer = single(&directory.path().join("store"), None);
    let random = &mut Random::new(1);
    assert!(!writer.core().merge_idle().unwrap(), "there is nothing");
    flush(&writer, 50_000, random);
    assert!(!writer.core().merge_idle().unwrap(), "there is one segment");
    let (mut merges, mut records) = (0, 50_000);
    loop {
        flush(&writer, 100, random);
        records += 100;
        assert_eq!(segments(&writer), 2);
        assert!(!writer.core().merge_step().unwrap(), "no merge is needed");
        let before = amplification(&writer);
        let generation = writer.snapshot().generation();
        if !writer.core().merge_idle().unwrap() {
            // One more would have written all once again.
            let log = writer.core().front().base.manifest.log.unwrap();
            let bytes: u64 = writer.snapshot().stats().unwrap().bytes;
            let after = (log.written_bytes + bytes) as f64 / log.inserted_bytes as f64;
            assert!(after > IDLE_AMPLIFICATION, "{after}");
            assert_eq!(writer.snapshot().generation(), generation);
            break;
        }
        merges += 1;
        assert_eq!(segments(&writer), 1);
        let after = amplification(&writer);
        assert!(before < after && after <= IDLE_AMPLIFICATION * 1.01, "{before} to {after}");
    }
    assert!((3..100).contains(&merges), "{merges}");
    // What is inserted makes room for more.
    flush(&writer, 20_000, random);
    assert!(!writer.core().merge_step().unwrap(), "no merge is needed");
    assert!(writer.core().merge_idle().unwrap());
    assert_eq!(segments(&writer), 1);
    assert_eq!(writer.snapshot().iter().count(), records + 20_000);
}

#[test]
fn while_nothing_is_written_the_window_of_the_most_segments_comes_first() {
    let directory = tempfile::tempdir().unwrap();
    let writer = single(&directory.path().join("store"), Some(Duration::from_secs(10)));
    let random = &mut Random::new(2);
    let at = |window: u64| -> SystemTime { UNIX_EPOCH + Duration::from_secs(10 * window) };
    for (window, pairs) in [(1, 9000), (2, 9000), (2, 200), (1, 200), (2, 100), (3, 9000)] {
        let pairs: Vec<_> = (0..pairs).map(|id| (random.next(), id)).collect();
        writer.insert_batch_at(&pairs, at(window)).unwrap();
        writer.flush().unwrap();
    }
    assert!(!writer.core().merge_step().unwrap(), "no merge is needed");
    let windows = || writer.core().front().base.manifest.windows.clone().unwrap().windows;
    assert_eq!(windows(), [1, 2, 2, 1, 2, 3]);
    assert!(writer.core().merge_idle().unwrap());
    assert_eq!(windows(), [1, 1, 3, 2]);
    assert!(writer.core().merge_idle().unwrap());
    assert_eq!(windows(), [3, 2, 1]);
    assert!(!writer.core().merge_idle().unwrap());
    assert_eq!(writer.snapshot().iter().count(), 27_500);
}

#[test]
fn windows_expire_while_others_write_and_nothing_else_goes() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let day = Duration::from_secs(24 * 60 * 60);
    // With one thread for flushes, merges and what is expired.
    let options = WriterOptions::new().execution(Execution::new().threads(1));
    let options = StoreOptions::new().ids(None).window(Some(day)).writer(options);
    let writer = options.create(&path).unwrap();
    let at = |days: u64| UNIX_EPOCH + day * days as u32;
    let (threads, each) = (3, 300);
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..threads)
            .map(|thread| {
                let writer = &writer;
                scope.spawn(move || {
                    for number in 0..each {
                        writer.insert_fingerprints_at(&[thread << 32 | number], at(9999)).unwrap();
                        if number % 8 == 0 {
                            writer.commit(Durability::Immediate).unwrap();
                        }
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            for _ in 0..200 {
                writer.merge_all().unwrap();
            }
        });
        let mut expired = 0;
        while expired < 5 || !writers.iter().all(std::thread::ScopedJoinHandle::is_finished) {
            writer.insert_fingerprints_at(&[u64::MAX - expired], at(expired)).unwrap();
            // A deletion that outlives the window it came in.
            writer.delete_fingerprint(1 << 63).unwrap();
            assert!(writer.expire(at(expired + 1)).unwrap() > 0);
            expired += 1;
        }
    });
    writer.close().unwrap();
    let all: crate::Result<Vec<_>> = Store::open(&path).unwrap().iter().collect();
    let expected: Vec<_> =
        (0..threads).flat_map(|thread| (0..each).map(move |n| thread << 32 | n)).collect();
    assert_eq!(all.unwrap(), expected);
}

#[test]
fn no_merge_holds_up_what_makes_room_in_memory() {
    let directory = tempfile::tempdir().unwrap();
    let (merges, merging) = mpsc::channel();
    let (go_on, flushed) = mpsc::channel();
    let flushed = std::sync::Mutex::new(Some(flushed));
    let is_waited_for = Arc::new(AtomicBool::new(false));
    let waits = Arc::clone(&is_waited_for);
    // The first step of the merge waits for a flush. It is given up in the end, so that a failure
    // is one.
    let execution = Execution::new().threads(1).on_progress(move |_| {
        if waits.swap(false, Ordering::Relaxed) {
            let flushed: mpsc::Receiver<()> = flushed.lock().unwrap().take().unwrap();
            merges.send(flushed.recv_timeout(Duration::from_secs(60)).is_ok()).unwrap();
        }
    });
    let options = options().execution(execution).tail_records(100);
    let options = StoreOptions::new().ids(None).writer(options);
    let writer = options.create(directory.path().join("store")).unwrap();
    for first in [0, 50] {
        writer.insert_fingerprints(&(first..first + 50).collect::<Vec<_>>()).unwrap();
        writer.flush().unwrap();
    }
    is_waited_for.store(true, Ordering::Relaxed);
    std::thread::scope(|scope| {
        scope.spawn(|| writer.merge_all().unwrap());
        while is_waited_for.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
        // More than there is room for.
        for first in (1000..2000).step_by(50) {
            writer.insert_fingerprints(&(first..first + 50).collect::<Vec<_>>()).unwrap();
        }
        go_on.send(()).unwrap();
        assert!(merging.recv().unwrap(), "the merge went on first");
    });
    assert_eq!(writer.snapshot().iter().count(), 1100);
}

#[test]
fn whatever_the_interval_a_dropped_writer_hands_on_what_it_has() {
    for interval in [Duration::ZERO, Duration::from_secs(1 << 40), Duration::MAX] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store");
        let options = StoreOptions::new().writer(options().sync_interval(interval));
        let writer = options.create(&path).unwrap();
        writer.insert_batch(&[(1, 10), (2, 20)]).unwrap();
        drop(writer);
        assert_eq!(count(&path).unwrap(), 2);
    }
}

#[test]
fn where_numbers_are_used_up_a_packed_store_stays_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    Packer::new().pack(&path, [1u64, 2]).unwrap();
    // As if a stopped writer had left it.
    fs::write(path.join("segment-4000000000000000-ids.fpi"), "").unwrap();
    let refused = options().open(&path);
    assert!(matches!(refused, Err(Error::NoSegmentNumber { .. })), "{refused:?}");
    assert_eq!(count(&path).unwrap(), 2);
}

#[test]
fn no_number_of_a_log_comes_twice_when_a_packed_store_takes_the_place() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let writer = StoreOptions::new().writer(options()).create(&path).unwrap();
    for id in 0..5 {
        writer.insert(1, id).unwrap();
        writer.delete_fingerprint(1).unwrap();
        writer.flush().unwrap();
    }
    writer.insert(99, 99).unwrap();
    writer.close().unwrap();
    let number = |path: &Path| log_of(path).file_name().unwrap().to_owned();
    let before = number(&path);
    let reader = Store::open(&path).unwrap();
    Packer::new().replace(true).pack_with_ids(&path, [(5u64, 5)]).unwrap();
    let writer = options().open(&path).unwrap();
    assert!(number(&path) > before, "{before:?}");
    writer.insert(6, 6).unwrap();
    writer.commit(Durability::Immediate).unwrap();
    reader.refresh().unwrap();
    assert_eq!(reader.iter().collect::<crate::Result<Vec<_>>>().unwrap(), [5, 6]);
}

#[test]
fn windows_that_are_too_many_are_refused_before_anything_is_written() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let options = StoreOptions::new().window(Some(Duration::from_secs(1))).writer(options());
    let mut writer = options.create(&path).unwrap();
    let at = |second: u64| UNIX_EPOCH + Duration::from_secs(second);
    for second in 0..8191 {
        writer.insert_at(second, second, at(second)).unwrap();
    }
    // What is near takes no window.
    let near = writer.check_and_insert_at(7, 7, 0, at(10_000)).unwrap();
    assert!(matches!(near, super::Verdict::Near(_)), "{near:?}");
    writer.insert_at(8191, 8191, at(8191)).unwrap();
    for _ in 0..2 {
        let refused = writer.insert_at(1, 1, at(8192));
        assert!(matches!(refused, Err(Error::TooMany { most: 8192, .. })), "{refused:?}");
        writer.insert_at(1, 1, at(8191)).unwrap();
        writer.close().unwrap();
        writer = self::options().open(&path).unwrap();
    }
    assert_eq!(writer.snapshot().iter().count(), 8192);
}

#[test]
fn a_merge_sorts_what_short_tables_lack_in_temporary_files() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let mut random = Random::new(11);
    // Several times as many as are sorted in memory, in tests.
    let set: Vec<u64> = (0..6000).map(|_| random.next()).collect();
    let create =
        StoreOptions::new().ids(None).writer(options()).layout(Layout::new().short_tables(true));
    let writer = create
        .with_layout(|it| it.design(Design::named("quarters").unwrap()))
        .create(&path)
        .unwrap();
    for part in set.chunks(2500) {
        writer.insert_fingerprints(part).unwrap();
        writer.flush().unwrap();
    }
    writer.delete_fingerprints(&set[..100]).unwrap();
    writer.merge_all().unwrap();
    writer.close().unwrap();
    let store = Store::open(&path).unwrap();
    let stats = store.stats().unwrap();
    let [segment] = &stats.segments[..] else { panic!("{stats:?}") };
    assert!(segment.tables[1..].iter().all(|table| table.key_bits == 32));
    assert_eq!(store.verify().unwrap().fingerprints, 5900);
    for one in &set[100..200] {
        assert_eq!(store.search(one ^ 1 << 40, 1).unwrap()[0].fingerprint, *one);
    }
    let files = fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(files.into_iter().all(|name| !name.to_str().unwrap().starts_with(".tmp")));
}

#[test]
fn the_next_id_is_behind_all_that_were_ever_given() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let day = Duration::from_secs(24 * 60 * 60);
    let created = StoreOptions::new().window(Some(day)).writer(options()).create(&path).unwrap();
    let next = |writer: &Writer| writer.snapshot().next_id();
    assert_eq!(next(&created), Some(0));
    let then = UNIX_EPOCH + 100 * day;
    created.insert_batch_at(&[(1, 0), (2, 7)], then).unwrap();
    created.insert_at(3, 5, then + 50 * day).unwrap();
    assert_eq!(next(&created), Some(8));
    // The record with the greatest id goes: from the log, by expiry, and by a merge.
    created.delete(2, 7).unwrap();
    assert_eq!(next(&created), Some(8), "deleted in the log");
    created.close().unwrap();
    let reopened = || options().open(&path).unwrap();
    assert_eq!(next(&reopened()), Some(8));
    assert_eq!(Store::open(&path).unwrap().snapshot().next_id(), Some(8), "for readers as well");
    let writer = reopened();
    writer.flush().unwrap();
    assert_eq!(next(&writer), Some(8), "flushed, and stored nowhere");
    writer.insert_at(9, 20, then).unwrap();
    assert!(writer.expire(then + 10 * day).unwrap() > 0);
    assert_eq!(next(&writer), Some(21), "expired");
    writer.insert_at(9, 30, then + 50 * day).unwrap();
    writer.flush().unwrap();
    writer.delete_fingerprint(9).unwrap();
    writer.merge_all().unwrap();
    writer.close().unwrap();
    assert_eq!(next(&reopened()), Some(31), "merged away");
    Packer::new().append(true).pack_with_ids(&path, [(4, 40)]).unwrap();
    let writer = reopened();
    assert_eq!(next(&writer), Some(41), "appended");
    // Only what is kept counts, and lower ids change nothing.
    writer.insert_at(5, 2, then).unwrap();
    assert_eq!(next(&writer), Some(41));
    writer.insert_at(5, u64::MAX, then).unwrap();
    assert_eq!(next(&writer), None, "none is left");
    writer.flush().unwrap();
    writer.delete_id(u64::MAX).unwrap();
    writer.merge_all().unwrap();
    assert_eq!(next(&writer), None);
}

#[test]
fn the_next_id_of_a_packed_store_is_behind_its_ids() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    // Many, and not the last one the greatest.
    let pairs: Vec<_> = (0..5000).map(|i| (i * 77, (i * 7919) % 5003)).collect();
    Packer::new().pack_with_ids(&path, pairs.clone()).unwrap();
    let greatest = pairs.iter().map(|pair| pair.1).max().unwrap();
    assert_eq!(Store::open(&path).unwrap().snapshot().next_id(), Some(greatest + 1));
    let writer = options().open(&path).unwrap();
    writer.delete_id(greatest).unwrap();
    writer.merge_all().unwrap();
    writer.close().unwrap();
    assert_eq!(options().open(&path).unwrap().snapshot().next_id(), Some(greatest + 1));
    Packer::new().pack(directory.path().join("plain"), [1u64]).unwrap();
    assert_eq!(Store::open(directory.path().join("plain")).unwrap().snapshot().next_id(), None);
}

/// [FORMAT 3.7] of *names*: no number is given, and an id counts as the bytes of its name.
#[test]
fn the_log_section_of_a_store_of_names_has_no_next_id_and_counts_the_bytes_of_names() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    Packer::new().pack_with_ids(&path, [(1u64, "one"), (2, "two")]).unwrap();
    let writer = options().open(&path).unwrap();
    let log = |writer: &Writer| writer.core().front().base.manifest.log.unwrap();
    assert_eq!((log(&writer).next_id, log(&writer).inserted_bytes), (0, 0), "made living");
    writer.insert_batch(&[(3, "three"), (4, "a longer name")]).unwrap();
    writer.flush().unwrap();
    let flushed = 2 * 8 + ("three".len() + "a longer name".len()) as u64;
    assert_eq!((log(&writer).next_id, log(&writer).inserted_bytes), (0, flushed), "flushed");
    writer.close().unwrap();
    Packer::new().append(true).pack_with_ids(&path, [(5u64, "five"), (6, "six")]).unwrap();
    let writer = options().open(&path).unwrap();
    assert_eq!(log(&writer).next_id, 0, "appended");
    let appended = flushed + 2 * 8 + ("five".len() + "six".len()) as u64;
    assert_eq!(log(&writer).inserted_bytes, appended, "appended");
}

/// A store that is written by many short-lived writers: its log stays short, and so does the list
/// of its segments.
#[test]
fn writers_that_end_leave_a_short_log_and_few_segments() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    StoreOptions::new().create(&path).unwrap().close().unwrap();
    let mut random = Random::new(57);
    let (mut expected, mut most) = (Vec::new(), 0);
    for _ in 0..60 {
        let writer = Store::open_writer(&path).unwrap();
        let pairs: Vec<_> = (0..3000).map(|_| (random.next(), random.next())).collect();
        writer.insert_batch(&pairs).unwrap();
        writer.close().unwrap();
        expected.extend(pairs.iter().map(|pair| pair.0));
        let stats = Store::open(&path).unwrap().stats().unwrap();
        let living = stats.living.unwrap();
        assert!(living.log_operations < LONG_LOG, "{}", living.log_operations);
        most = most.max(stats.segments.len());
    }
    assert!(most <= 9, "{most} segments");
    let living = Store::open(&path).unwrap().stats().unwrap().living.unwrap();
    // Each record once to the log, once to a segment, and once per tier; the tables of small
    // segments take as much again.
    let amplification = living.write_amplification().unwrap();
    assert!(amplification < 20.0, "{amplification}");
    expected.sort_unstable();
    let store = Store::open(&path).unwrap();
    assert_eq!(store.iter().collect::<Result<Vec<_>, _>>().unwrap(), expected);
    // Nothing but what was asked for.
    let writer = options().open(&path).unwrap();
    let pairs: Vec<_> = (0..LONG_LOG).map(|at| (at, at)).collect();
    writer.insert_batch(&pairs).unwrap();
    writer.close().unwrap();
    let living = Store::open(&path).unwrap().stats().unwrap().living.unwrap();
    assert!(living.log_operations >= LONG_LOG);
    // A later one does it.
    Store::open_writer(&path).unwrap().close().unwrap();
    let living = Store::open(&path).unwrap().stats().unwrap().living.unwrap();
    assert_eq!(living.log_operations, 0);
}
