//! Stores that are written to, against a model: a map of pairs, and brute force.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fpstore::query::JoinEvent;
use fpstore::{
    Design, Durability, IdKind, Layout, Match, Packer, Snapshot, Store, StoreOptions, Verdict,
    Writer, WriterOptions,
};

use crate::sets;

/// Seconds of a window.
const WINDOW: u64 = 100;

/// What a store is to hold: of each fingerprint its ids, each with the windows it is in; or the id
/// 0 where there are none.
type Model = BTreeMap<u64, BTreeMap<u64, BTreeSet<u64>>>;

/// Numbers below a bound.
struct Random(sets::Random);

impl Random {
    fn next(&mut self) -> u64 {
        self.0.next()
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn chance(&mut self, one_of: u64) -> bool {
        self.below(one_of) == 0
    }
}

/// A store under test.
struct Trial {
    random: Random,
    path: PathBuf,
    has_ids: bool,
    has_windows: bool,
    /// Fingerprints come from around these.
    centres: Vec<u64>,
    model: Model,
    writer: Option<Writer>,
    reader: Option<Store>,
    options: WriterOptions,
    /// Windows before this one are gone.
    least_window: u64,
}

fn brute_force(model: &Model, query: u64, k: u32) -> Vec<Match> {
    sets::brute_force(&model.keys().copied().collect::<Vec<_>>(), query, k)
}

/// What of a model lies in some windows.
fn within(model: &Model, windows: std::ops::RangeInclusive<u64>) -> Model {
    let mut model = model.clone();
    for ids in model.values_mut() {
        for of_id in ids.values_mut() {
            of_id.retain(|window| windows.contains(window));
        }
        ids.retain(|_, of_id| !of_id.is_empty());
    }
    model.retain(|_, ids| !ids.is_empty());
    model
}

impl Trial {
    fn new(seed: u64, directory: &Path) -> Self {
        let mut random = Random(sets::Random(seed));
        let path = directory.join("store");
        let has_ids = !random.chance(4);
        let has_windows = random.chance(3);
        let centres = (0..1 + random.below(4)).map(|_| random.next()).collect();
        let options = WriterOptions::new()
            .tail_records(1 + random.below(12) as usize)
            .background(random.chance(4))
            .sync_interval(Duration::from_millis(random.below(3)));
        let design = Design::NAMES[random.below(4) as usize];
        let short = random.chance(2) && design != "single";
        let mut trial = Self {
            random,
            path,
            has_ids,
            has_windows,
            centres,
            model: Model::new(),
            writer: None,
            reader: None,
            options: options.clone(),
            least_window: 0,
        };
        let store = StoreOptions::new()
            .layout(
                Layout::new()
                    .design(Design::named(design).unwrap())
                    .block_bytes(256)
                    .short_tables(short),
            )
            .ids(has_ids.then_some(IdKind::Number))
            .window(has_windows.then_some(Duration::from_secs(WINDOW)))
            .writer(options);
        if !has_windows && trial.random.chance(4) {
            trial.pack();
            trial.writer = Some(trial.options.open(&trial.path).unwrap());
        } else {
            trial.writer = Some(store.create(&trial.path).unwrap());
        }
        trial
    }

    /// Begins with a store that was packed.
    fn pack(&mut self) {
        let pairs: Vec<(u64, u64)> = (0..self.random.below(30)).map(|_| self.pair()).collect();
        if self.has_ids {
            Packer::new().pack_with_ids(&self.path, pairs.iter().copied()).unwrap();
        } else {
            Packer::new().pack(&self.path, pairs.iter().map(|pair| pair.0)).unwrap();
        }
        for (fingerprint, id) in pairs {
            self.remember(fingerprint, id, 0);
        }
    }

    fn remember(&mut self, fingerprint: u64, id: u64, window: u64) {
        let id = if self.has_ids { id } else { 0 };
        self.model.entry(fingerprint).or_default().entry(id).or_default().insert(window);
    }

    fn forget(&mut self, fingerprint: u64, id: u64) {
        if let Some(ids) = self.model.get_mut(&fingerprint) {
            ids.remove(&id);
            if ids.is_empty() {
                self.model.remove(&fingerprint);
            }
        }
    }

    fn writer(&self) -> &Writer {
        self.writer.as_ref().unwrap()
    }

    fn pair(&mut self) -> (u64, u64) {
        let place = self.random.below(self.centres.len() as u64) as usize;
        let mut fingerprint = self.centres[place];
        for _ in 0..self.random.below(4) {
            fingerprint ^= 1 << self.random.below(64);
        }
        (fingerprint, self.random.below(5))
    }

    fn pairs(&mut self) -> Vec<(u64, u64)> {
        (0..self.random.below(8)).map(|_| self.pair()).collect()
    }

    /// Any operation.
    fn step(&mut self) {
        let (fingerprint, id) = self.pair();
        match self.random.below(20) {
            0..=5 if self.has_windows => {
                let window = self.least_window + self.random.below(4);
                let time =
                    UNIX_EPOCH + Duration::from_secs(window * WINDOW + self.random.below(WINDOW));
                let id_or_none = self.has_ids.then_some(id);
                self.writer().insert_at(fingerprint, id_or_none, time).unwrap();
                self.remember(fingerprint, id, window);
            }
            0..=5 => {
                self.writer().insert(fingerprint, self.has_ids.then_some(id)).unwrap();
                self.remember(fingerprint, id, 0);
            }
            6..=7 if !self.has_windows => {
                let pairs = self.pairs();
                if self.has_ids {
                    self.writer().insert_batch(&pairs).unwrap();
                } else {
                    let fingerprints: Vec<u64> = pairs.iter().map(|pair| pair.0).collect();
                    self.writer().insert_fingerprints(&fingerprints).unwrap();
                }
                pairs.into_iter().for_each(|(fingerprint, id)| self.remember(fingerprint, id, 0));
            }
            8..=9 if self.has_ids => {
                self.writer().delete(fingerprint, id).unwrap();
                self.forget(fingerprint, id);
            }
            8..=10 => {
                self.writer().delete_fingerprint(fingerprint).unwrap();
                self.model.remove(&fingerprint);
            }
            11 if self.has_ids && self.random.chance(3) => {
                let deleted = self.writer().delete_id(id).unwrap();
                let with_id = self.model.iter().filter(|(_, ids)| ids.contains_key(&id));
                let expected: Vec<u64> = with_id.map(|(&fingerprint, _)| fingerprint).collect();
                assert_eq!(deleted, expected);
                expected.into_iter().for_each(|fingerprint| self.forget(fingerprint, id));
            }
            12..=13 if !self.has_windows => {
                let k = self.random.below(6) as u32;
                let near = brute_force(&self.model, fingerprint, k);
                let id_or_none = self.has_ids.then_some(id);
                let verdict = self.writer().check_and_insert(fingerprint, id_or_none, k).unwrap();
                if near.is_empty() {
                    assert_eq!(verdict, Verdict::Inserted);
                    self.remember(fingerprint, id, 0);
                } else {
                    assert_eq!(verdict, Verdict::Near(near));
                }
            }
            14 => self.writer().flush().unwrap(),
            15 => self.writer().merge().unwrap(),
            16 if self.random.chance(2) => self.writer().merge_all().unwrap(),
            17 if self.has_windows && self.random.chance(2) => {
                self.least_window += self.random.below(3);
                let before = UNIX_EPOCH + Duration::from_secs(self.least_window * WINDOW + 7);
                self.writer().expire(before).unwrap();
                self.model = within(&self.model, self.least_window..=u64::MAX);
            }
            18 => self.reopen(),
            _ => self.look(),
        }
    }

    /// Closes the writer in one of several ways, and opens it again.
    fn reopen(&mut self) {
        let writer = self.writer.take().unwrap();
        if self.random.chance(2) {
            writer.close().unwrap();
        } else {
            drop(writer);
        }
        self.writer = Some(self.options.open(&self.path).unwrap());
    }

    /// Compares what a writer and a reader see with the model.
    fn look(&mut self) {
        let snapshot = if self.random.chance(2) {
            self.writer().snapshot()
        } else {
            let level = [Durability::Immediate, Durability::Group, Durability::Eventual];
            let level = level[self.random.below(3) as usize];
            self.writer().commit(level).unwrap();
            match &self.reader {
                Some(reader) if !self.random.chance(4) => {
                    reader.refresh().unwrap();
                }
                _ => self.reader = Some(Store::open(&self.path).unwrap()),
            }
            self.reader.as_ref().unwrap().snapshot()
        };
        self.compare(&snapshot, &self.model.clone());
        if self.has_windows {
            let first = self.least_window + self.random.below(4);
            let last = first + self.random.below(3);
            let time = |window| UNIX_EPOCH + Duration::from_secs(window * WINDOW);
            let some = snapshot.between(time(first)..time(last + 1)).unwrap();
            self.compare(&some, &within(&self.model, first..=last));
        }
        if self.random.chance(4) {
            snapshot.verify().unwrap();
        }
    }

    fn compare(&mut self, snapshot: &Snapshot, model: &Model) {
        let all: Vec<u64> = model.keys().copied().collect();
        let mut searcher = snapshot.searcher();
        for _ in 0..3 {
            let (query, _) = self.pair();
            let most = if self.random.chance(5) { 65 } else { 8 };
            let k = self.random.below(most) as u32;
            let near = brute_force(model, query, k);
            assert_eq!(searcher.search(query, k).unwrap(), near, "search {query:016x} within {k}");
            assert_eq!(searcher.any_within(query, k).unwrap(), !near.is_empty());
            assert_eq!(snapshot.contains(query).unwrap(), model.contains_key(&query));
            let ids: Vec<u64> = snapshot.ids::<u64>(query).unwrap().map(Result::unwrap).collect();
            assert_eq!(ids, self.ids_of(model, query));
        }
        match self.random.below(6) {
            0 => {
                let found: Vec<u64> = snapshot.iter().map(Result::unwrap).collect();
                assert_eq!(found, all);
                let start = self.pair().0;
                let found: Vec<u64> = snapshot.iter_from(start).map(Result::unwrap).collect();
                assert!(found.iter().eq(all.iter().filter(|&&fingerprint| fingerprint >= start)));
            }
            1 => {
                let found: Vec<(u64, Vec<u64>)> = snapshot
                    .iter_with_ids::<u64>()
                    .map(|entry| entry.unwrap())
                    .map(|(fingerprint, ids)| (fingerprint, ids.map(Result::unwrap).collect()))
                    .collect();
                let of = |&fingerprint: &u64| (fingerprint, self.ids_of(model, fingerprint));
                assert_eq!(found, all.iter().map(of).collect::<Vec<_>>());
            }
            2 => {
                let queries: Vec<u64> = (0..20).map(|_| self.pair().0).collect();
                let k = self.random.below(8) as u32;
                let plans = [fpstore::query::BatchPlan::Search, fpstore::query::BatchPlan::Sweep];
                let batch = snapshot.batch(k).plan(plans[self.random.below(2) as usize]);
                let mut answered = 0;
                batch
                    .run(&queries, |answer| {
                        let near = brute_force(model, queries[answer.query], k);
                        assert_eq!(answer.matches, near);
                        answered += 1;
                    })
                    .unwrap();
                assert_eq!(answered, queries.len());
            }
            3 => {
                let k = self.random.below(5) as u32;
                let mut found = Vec::new();
                let join = snapshot.self_join(k).run(|event| {
                    if let JoinEvent::Pairs(pairs) = event {
                        found.extend(pairs.iter().map(|pair| (pair.a, pair.b)));
                    }
                    ControlFlow::Continue(())
                });
                join.unwrap();
                found.sort_unstable();
                let pairs = all.iter().flat_map(|&a| all.iter().map(move |&b| (a, b)));
                let near = |&(a, b): &(u64, u64)| a < b && (a ^ b).count_ones() <= k;
                assert_eq!(found, pairs.filter(near).collect::<Vec<_>>());
            }
            4 => {
                let clusters = snapshot.clusters(2).run().unwrap();
                assert_eq!(clusters.summary().fingerprints, all.len() as u64);
            }
            _ => {}
        }
    }

    fn ids_of(&self, model: &Model, fingerprint: u64) -> Vec<u64> {
        let ids = model.get(&fingerprint).filter(|_| self.has_ids);
        ids.into_iter().flat_map(|ids| ids.keys().copied()).collect()
    }
}

fn run(seed: u64) {
    let directory = tempfile::tempdir().unwrap();
    let mut trial = Trial::new(seed, directory.path());
    for _ in 0..10 + trial.random.below(50) {
        trial.step();
    }
    trial.reopen();
    trial.look();
}

/// Of the sequences, `FPSTORE_SEQUENCES` or 200, from the seed `FPSTORE_SEED` or 1 on.
#[test]
fn any_sequence_of_operations_gives_what_the_model_holds() {
    let number = |name: &str, default| {
        std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
    };
    let first: u64 = number("FPSTORE_SEED", 1);
    let count: u64 = number("FPSTORE_SEQUENCES", 200);
    println!("seeds {first} to {}", first + count - 1);
    for seed in first..first + count {
        let ran = std::panic::catch_unwind(|| run(seed));
        if let Err(panic) = ran {
            eprintln!("FPSTORE_SEED={seed} FPSTORE_SEQUENCES=1 gives this again");
            std::panic::resume_unwind(panic);
        }
    }
}

#[test]
fn a_second_writer_is_refused_and_the_message_says_why() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let writer = Store::create(&path).unwrap();
    let refused = Store::open_writer(&path).unwrap_err();
    assert!(matches!(refused, fpstore::Error::Busy { .. }), "{refused}");
    assert!(refused.to_string().contains("another writer is open here"), "{refused}");
    drop(writer);
    Store::open_writer(&path).unwrap();
    let exists = Store::create(&path).unwrap_err();
    assert!(matches!(exists, fpstore::Error::Exists { .. }), "{exists}");
}

#[test]
fn now_is_the_window_of_a_record_unless_it_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let day = Duration::from_secs(24 * 60 * 60);
    let writer = StoreOptions::new().window(Some(day)).create(directory.path().join("store"));
    let writer = writer.unwrap();
    let now = SystemTime::now();
    writer.insert(1, 1).unwrap();
    writer.insert_at(2, 2, now - 3 * day).unwrap();
    let of = |from: SystemTime, to: SystemTime| {
        let some = writer.snapshot().between(from..to).unwrap();
        some.iter().map(Result::unwrap).collect::<Vec<_>>()
    };
    for _ in 0..2 {
        assert_eq!(of(now - day, now + day), [1]);
        assert_eq!(of(now - 4 * day, now - 2 * day), [2]);
        assert_eq!(of(now - 4 * day, now + day), [1, 2]);
        writer.flush().unwrap();
    }
    assert_eq!(writer.expire(now - 2 * day).unwrap(), 1);
    assert_eq!(of(now - 4 * day, now + day), [1]);
}

#[test]
fn shards_of_a_join_cover_what_stands_in_the_log_alone() {
    let directory = tempfile::tempdir().unwrap();
    let writer = Store::create(directory.path().join("store")).unwrap();
    let mut random = sets::Random(3);
    for id in 0..500 {
        let fingerprint = random.next();
        writer.insert(fingerprint, id).unwrap();
        writer.insert(fingerprint ^ 1 << (id % 64), id).unwrap();
    }
    let pairs = |shard, shards| {
        let join = writer.snapshot().self_join(1).shard(shard, shards);
        let found: Result<Vec<_>, _> = join.pairs().unwrap().collect();
        found.unwrap().len()
    };
    for shards in [1, 2, 3, 7] {
        assert_eq!((0..shards).map(|shard| pairs(shard, shards)).sum::<usize>(), 500);
        writer.snapshot().verify().unwrap();
    }
}
