//! What a writer does at its end, and while nothing is written.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::merging::IDLE_AMPLIFICATION;
use crate::store::simulated::Random;
use crate::{Design, Durability, Execution, Store, StoreOptions, Writer, WriterOptions};

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

#[test]
fn damage_to_the_last_record_of_a_log_that_was_closed_is_told_from_a_crash() {
    for close in [true, false] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store");
        closed(&path, close);
        let log = log_of(&path);
        let bytes = fs::read(&log).unwrap();
        // 32 bytes of header, two insertions of 17, padding and a CRC.
        let (mark, record) = (bytes.len() - 32, bytes.len() - 32 - 72);
        for at in record..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << (at % 8);
            fs::write(&log, &damaged).unwrap();
            if at >= mark {
                assert_eq!(count(&path).unwrap(), 4, "the mark is needed by nobody");
                continue;
            }
            for error in [Store::open(&path).unwrap_err(), options().open(&path).unwrap_err()] {
                assert_eq!(error.rule(), Some("LOG-3"), "{at}: {error}");
            }
        }
        for end in mark..bytes.len() {
            fs::write(&log, &bytes[..end]).unwrap();
            assert_eq!(count(&path).unwrap(), 4);
        }
        fs::write(&log, &bytes[..mark - 1]).unwrap();
        assert_eq!(count(&path).unwrap(), 2, "without the mark it looks like a crash");
    }
}

#[test]
fn a_log_does_not_grow_when_it_is_opened_and_closed_and_goes_on_over_its_mark() {
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
    assert_eq!(fs::metadata(log_of(&path)).unwrap().len(), 56, "nothing is left to be marked");
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
    let options = StoreOptions::new().design(design).block_bytes(512).window(window);
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
    let options = StoreOptions::new().ids(false).window(Some(day)).writer(options);
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
