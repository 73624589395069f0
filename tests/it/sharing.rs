//! Stores that are shared and replaced, queries that outlive them, callbacks that fail, deadlines.

use std::sync::Arc;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use fpstore::query::{BatchPlan, JoinEvent, Pair};
use fpstore::{Clustering, Error, ErrorKind, Execution, Join, Packer, Snapshot, Store};

use crate::sets::{Random, brute_force, clustered, sorted};

/// A set of its own for each seed, packed into a store.
fn store(seed: u64) -> (tempfile::TempDir, Store, Vec<u64>) {
    let directory = tempfile::tempdir().unwrap();
    let set = sorted(&clustered(4000, seed));
    Packer::new().pack(directory.path().join("store"), &set).unwrap();
    let store = Store::open(directory.path().join("store")).unwrap();
    (directory, store, set)
}

#[test]
fn what_is_asked_can_be_kept_and_sent_anywhere() {
    fn check<T: Send + Sync + Clone + 'static>() {}
    fn check_owned<T: Send + 'static>() {}
    check::<Store>();
    check::<Snapshot>();
    check::<Execution>();
    check::<fpstore::Batch>();
    check::<Join>();
    check_owned::<Clustering>();
    check_owned::<fpstore::Searcher>();
    check_owned::<fpstore::Iter>();
    check_owned::<fpstore::IterWithIds>();
    check_owned::<fpstore::Ids>();
    check_owned::<fpstore::query::Answers>();
    check_owned::<fpstore::query::Pairs>();
}

#[test]
fn queries_outlive_the_store_that_made_them_and_the_files_of_its_directory() {
    let (directory, store, set) = store(1);
    let (searcher, iter, batch) = (store.searcher(), store.iter(), store.batch(3));
    let (join, clusters) = (store.self_join(1), store.clusters(1));
    drop(store);
    // The files are mapped: a system that lets them go keeps their bytes.
    directory.close().unwrap();
    let queries = [set[7] ^ 2, set[9], 5];
    let expected: Vec<_> = queries.iter().map(|&query| brute_force(&set, query, 3)).collect();
    let mut searcher = searcher;
    let moved = std::thread::spawn(move || searcher.search(queries[0], 3).unwrap().to_vec());
    assert_eq!(moved.join().unwrap(), expected[0]);
    assert_eq!(iter.collect::<Result<Vec<_>, _>>().unwrap(), set);
    let answers: Vec<_> = batch.answers(queries).unwrap().map(Result::unwrap).collect();
    let matches: Vec<_> = answers.iter().map(|answer| answer.matches.clone()).collect();
    assert_eq!(matches, expected);
    let mut pairs: Vec<Pair> = join.clone().pairs().unwrap().collect::<Result<_, _>>().unwrap();
    pairs.sort_unstable();
    let mut expected = Vec::new();
    join.run(|event| {
        if let JoinEvent::Pairs(some) = event {
            expected.extend_from_slice(some);
        }
    })
    .unwrap();
    expected.sort_unstable();
    assert!(!pairs.is_empty() && pairs == expected);
    let summary = clusters.run().unwrap().summary().clone();
    assert!(0 < summary.clusters && summary.clusters < summary.fingerprints);
}

#[test]
fn a_store_sees_what_was_packed_when_it_is_refreshed_and_snapshots_do_not() {
    let (directory, store, set) = store(2);
    let (other, before) = (store.clone(), store.snapshot());
    assert!(!store.refresh().unwrap(), "nothing is new");
    let new = sorted(&clustered(3000, 3));
    Packer::new().replace(true).pack(directory.path().join("store"), &new).unwrap();
    assert_eq!(store.generation(), 1);
    assert!(store.refresh().unwrap());
    // Clones are one store.
    for store in [&store, &other] {
        assert_eq!(store.generation(), 2);
        assert_eq!(store.iter().collect::<Result<Vec<_>, _>>().unwrap(), new);
    }
    assert!(!other.refresh().unwrap());
    assert_eq!(before.generation(), 1);
    assert_eq!(before.iter().collect::<Result<Vec<_>, _>>().unwrap(), set);
    assert_eq!(before.id(), store.id());
    // An earlier state that is restored is what the store holds again.
    let path = directory.path().join("store");
    let copy = directory.path().join("copy");
    std::fs::create_dir(&copy).unwrap();
    for file in std::fs::read_dir(&path).unwrap().map(|file| file.unwrap()) {
        std::fs::copy(file.path(), copy.join(file.file_name())).unwrap();
    }
    Packer::new().replace(true).pack(&path, &set).unwrap();
    assert!(store.refresh().unwrap() && store.generation() == 3);
    std::fs::rename(&path, directory.path().join("gone")).unwrap();
    std::fs::rename(&copy, &path).unwrap();
    assert!(store.refresh().unwrap());
    assert_eq!((store.generation(), store.len() as usize), (2, new.len()));
    assert!(!store.refresh().unwrap());
    // What cannot be read leaves the store as it was.
    std::fs::write(directory.path().join("store/manifest.fps"), b"torn").unwrap();
    assert_eq!(store.refresh().unwrap_err().kind(), ErrorKind::Corrupt);
    assert_eq!(store.len() as usize, new.len());
}

#[test]
fn iterators_begin_at_any_fingerprint() {
    let (_directory, store, set) = store(4);
    let snapshot = store.snapshot();
    let starts = set.iter().step_by(97).flat_map(|&fp| [fp - 1, fp, fp + 1]);
    for start in starts.chain([0, u64::MAX]) {
        let expected: Vec<u64> = set.iter().copied().filter(|&fp| fp >= start).collect();
        let found: Vec<u64> = snapshot.iter_from(start).collect::<Result<_, _>>().unwrap();
        assert_eq!(found, expected, "{start:x}");
    }
}

/// An error of the caller.
#[derive(Debug)]
enum Mine {
    Full(u64),
    Store(Error),
}

impl From<Error> for Mine {
    fn from(error: Error) -> Self {
        Mine::Store(error)
    }
}

#[test]
fn callbacks_fail_with_the_error_of_their_caller() {
    let (_directory, store, set) = store(5);
    for plan in [BatchPlan::Search, BatchPlan::Sweep] {
        let mut answered = 0;
        let failed = store.batch(3).plan(plan).run(&set, |answer| {
            answered += 1;
            if answered == 10 { Err(Mine::Full(answer.query as u64)) } else { Ok(()) }
        });
        assert!(matches!(failed, Err(Mine::Full(9))), "{plan:?}: {failed:?}");
        assert_eq!(answered, 10);
        let refused = Execution::new().memory(1);
        let failed = store.batch(3).execution(refused).run(&set, |_| Ok::<(), Mine>(()));
        assert!(matches!(failed, Err(Mine::Store(Error::MemoryLimit { .. }))), "{failed:?}");
    }
    let failed = store.self_join(3).run(|event| match event {
        JoinEvent::Pairs(pairs) => Err(Mine::Full(pairs.len() as u64)),
        _ => Ok(()),
    });
    assert!(matches!(failed, Err(Mine::Full(1..))), "{failed:?}");
    let pairs = [Err(Mine::Full(3)), Ok(Pair { a: 0, b: 1, distance: 1 })];
    assert!(matches!(store.clusters(3).of_pairs(pairs), Err(Mine::Full(3))));
}

#[test]
fn iterators_that_are_dropped_stop_their_work() {
    let (_directory, store, set) = store(6);
    // All pairs, and more matches than are ever on their way.
    let (told, progress) = mpsc::channel();
    let execution = Execution::new().on_progress(move |_| {
        let _ = told.send(());
    });
    let mut pairs = store.self_join(64).execution(execution).pairs().unwrap();
    assert!(pairs.next().unwrap().is_ok());
    drop(pairs);
    // The join has the sender, which goes with it.
    while progress.recv().is_ok() {}
    let mut answers = store.batch(64).answers(set).unwrap();
    assert_eq!(answers.next().unwrap().unwrap().query, 0);
    drop(answers);
    let refused = store.self_join(3).execution(Execution::new().memory(1)).pairs();
    assert!(matches!(refused, Err(Error::MemoryLimit { .. })));
    let refused = store.batch(3).execution(Execution::new().threads(5000)).answers([1, 2]).unwrap();
    let all: Vec<_> = refused.collect();
    assert!(matches!(&all[..], [Err(Error::InvalidOption { option: "threads", .. })]), "{all:?}");
}

#[test]
fn nothing_goes_on_after_its_deadline() {
    let (directory, store, set) = store(7);
    let late = || Execution::new().deadline(Instant::now());
    let stopped = |error: Error| {
        assert!(matches!(error, Error::DeadlineExceeded), "{error}");
        assert_eq!(error.kind(), ErrorKind::Stopped);
    };
    for plan in [BatchPlan::Search, BatchPlan::Sweep] {
        let batch = store.batch(3).plan(plan).execution(late());
        stopped(batch.run(&set, |_| ()).unwrap_err());
    }
    stopped(store.self_join(3).execution(late()).run(|_| ()).unwrap_err());
    stopped(store.clusters(3).execution(late()).run().err().unwrap());
    stopped(store.verify_with(&late()).unwrap_err());
    let path = directory.path().join("other");
    stopped(Packer::new().execution(late()).pack(&path, &set).unwrap_err());
    assert!(!path.exists());
    let mut searcher = store.searcher();
    searcher.deadline(Some(Instant::now()));
    stopped(searcher.search(set[0], 3).unwrap_err());
    stopped(searcher.search_by_scan(set[0], 3).unwrap_err());
    searcher.deadline(Some(Instant::now() + Duration::from_secs(3600)));
    assert_eq!(searcher.search(set[0], 3).unwrap(), brute_force(&set, set[0], 3));
}

#[test]
fn work_may_be_started_from_a_thread_of_its_own_pool() {
    let (_directory, store, set) = store(8);
    let pool = Arc::new(rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap());
    let execution = Execution::new().pool(Arc::clone(&pool));
    let pairs = store.self_join(3).run(|_| ()).unwrap().pairs;
    let outside = store.self_join(3).execution(execution.clone()).run(|_| ()).unwrap().pairs;
    let (inside, answered) = pool.install(|| {
        let joined = store.self_join(3).execution(execution.clone()).run(|_| ()).unwrap().pairs;
        let batch = store.batch(3).plan(BatchPlan::Sweep).execution(execution.clone());
        (joined, batch.run(&set, |_| ()).unwrap().queries)
    });
    assert_eq!((outside, inside, answered as usize), (pairs, pairs, set.len()));
    let mut random = Random(9);
    assert!(store.search(random.next(), 0).unwrap().is_empty());
}
