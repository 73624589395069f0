//! Random operations through the functions of C, and the same on a set in memory, agree.
//!
//! What is near is counted bit by bit here, and order is that of bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::{null, null_mut};

use fpstore_capi::fps_status::{FPS_END, FPS_OK};
use fpstore_capi::*;

/// An id as its bytes; of a number those of eight, the most significant first.
type Name = Vec<u8>;
type Set = BTreeMap<Vec<u8>, BTreeSet<Name>>;

const OPERATIONS: usize = 120;

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

fn ok(status: fps_status, what: &str) {
    // SAFETY: the text of the library, of this thread.
    let message = unsafe { CStr::from_ptr(fps_last_error()) };
    assert_eq!(status, FPS_OK, "{what}: {message:?}");
}

fn distance(one: &[u8], other: &[u8]) -> u32 {
    one.iter().zip(other).map(|(one, other)| (one ^ other).count_ones()).sum()
}

/// What is within `k`, in the order in which it is to come.
fn near(set: &Set, query: &[u8], k: u32) -> Vec<(u32, Vec<u8>)> {
    let all = set.keys().map(|stored| (distance(stored, query), stored.clone()));
    let mut near: Vec<_> = all.filter(|&(distance, _)| distance <= k).collect();
    near.sort();
    near
}

/// A store, its writer, and the same in memory.
struct Both {
    bytes: usize,
    kind: u32,
    path: CString,
    writer: *mut fps_writer,
    store: *mut fps_store,
    set: Set,
    random: Random,
}

impl Both {
    fn new(directory: &Path, bits: u32, kind: u32, seed: u64) -> Self {
        let path = CString::new(directory.join("store").as_os_str().as_bytes()).unwrap();
        let create = fps_create_options {
            size: size_of::<fps_create_options>(),
            bits,
            radius: 3,
            id_kind: kind,
            id_bytes: if kind == FPS_ID_BYTES { 5 } else { 0 },
            design: null(),
            parts: 0,
            short_tables: 0,
            recipe: null(),
        };
        let mut both = Self {
            bytes: bits as usize / 8,
            kind,
            path,
            writer: null_mut(),
            store: null_mut(),
            set: Set::new(),
            random: Random(seed),
        };
        let options = Self::writer_options();
        // SAFETY: all of them live.
        let status = unsafe { fps_create(both.path.as_ptr(), &create, &options, &mut both.writer) };
        ok(status, "create");
        // SAFETY: as above.
        ok(unsafe { fps_store_open(both.path.as_ptr(), null(), &mut both.store) }, "open");
        both
    }

    fn writer_options() -> fps_writer_options {
        fps_writer_options {
            size: size_of::<fps_writer_options>(),
            durability: FPS_DURABILITY_EVENTUAL,
            sync_interval_ms: 50,
            tail_records: 32,
            no_background: 1,
        }
    }

    /// A fingerprint that is stored, or near one, or not.
    fn fingerprint(&mut self) -> Vec<u8> {
        let stored = self.random.below(self.set.len() as u64 + 1) as usize;
        let mut own = match self.set.keys().nth(stored) {
            Some(stored) => stored.clone(),
            None => (0..self.bytes).map(|_| self.random.next() as u8).collect(),
        };
        for _ in 0..self.random.below(4) {
            let bit = self.random.below(self.bytes as u64 * 8) as usize;
            own[bit / 8] ^= 1 << (bit % 8);
        }
        own
    }

    /// One of a few ids.
    fn name(&mut self) -> Name {
        let number = self.random.below(40);
        match self.kind {
            FPS_ID_NONE => Name::new(),
            FPS_ID_NUMBER => (number << 33).to_be_bytes().to_vec(),
            FPS_ID_TEXT => format!("{}-{number}", "ab".repeat(number as usize)).into_bytes(),
            FPS_ID_BYTES => (number << 33).to_be_bytes()[1..6].to_vec(),
            _ => (u128::from(number) << 90).to_be_bytes().to_vec(),
        }
    }

    /// The id in C, which points into `name`.
    fn id(&self, name: &Name) -> fps_id {
        let number = u64::from_be_bytes(name[..].try_into().unwrap_or_default());
        match self.kind {
            FPS_ID_NUMBER => fps_id { kind: self.kind, number, bytes: null(), length: 0 },
            kind => fps_id { kind, number: 0, bytes: name.as_ptr(), length: name.len() },
        }
    }

    fn ids(&self, names: &[Name]) -> Vec<fps_id> {
        names.iter().map(|name| self.id(name)).collect()
    }

    /// NULL where the store has no ids.
    fn given(&self, ids: &[fps_id]) -> *const fps_id {
        if self.kind == FPS_ID_NONE { null() } else { ids.as_ptr() }
    }

    fn write(&mut self) {
        let count = 1 + self.random.below(12) as usize;
        let fingerprints: Vec<Vec<u8>> = (0..count).map(|_| self.fingerprint()).collect();
        let names: Vec<Name> = (0..count).map(|_| self.name()).collect();
        let (all, ids) = (fingerprints.concat(), self.ids(&names));
        let (writer, bytes) = (self.writer, self.bytes);
        match self.random.below(8) {
            0 => {
                // SAFETY: as many fingerprints live.
                let status =
                    unsafe { fps_writer_delete(writer, all.as_ptr(), bytes, count, null()) };
                ok(status, "delete fingerprints");
                fingerprints.iter().for_each(|one| drop(self.set.remove(one)));
            }
            1 if self.kind != FPS_ID_NONE => {
                // SAFETY: as many fingerprints and ids live.
                let status =
                    unsafe { fps_writer_delete(writer, all.as_ptr(), bytes, count, ids.as_ptr()) };
                ok(status, "delete pairs");
                for (fingerprint, name) in fingerprints.iter().zip(&names) {
                    if let Some(own) = self.set.get_mut(fingerprint) {
                        own.remove(name);
                    }
                }
                self.set.retain(|_, own| !own.is_empty());
            }
            2 if self.kind != FPS_ID_NONE => {
                let mut deleted = usize::MAX;
                // SAFETY: the id lives.
                ok(unsafe { fps_writer_delete_id(writer, &ids[0], &mut deleted) }, "delete id");
                let removed =
                    self.set.values_mut().filter_map(|own| own.remove(&names[0]).then_some(()));
                assert_eq!(deleted, removed.count());
                self.set.retain(|_, own| !own.is_empty());
            }
            3 | 4 => {
                let (k, mut found) = (self.random.below(4) as u32, vec![Self::EMPTY; 4]);
                let mut count = usize::MAX;
                // SAFETY: all of them live.
                let status = unsafe {
                    fps_writer_check_and_insert(
                        writer,
                        all.as_ptr(),
                        bytes,
                        self.given(&ids),
                        k,
                        found.as_mut_ptr(),
                        4,
                        &mut count,
                    )
                };
                ok(status, "check and insert");
                let near = near(&self.set, &fingerprints[0], k);
                self.compare(&found, count, &near);
                if near.is_empty() {
                    self.set.entry(fingerprints[0].clone()).or_default().insert(names[0].clone());
                }
            }
            _ => {
                // SAFETY: as many fingerprints and ids live.
                let status = unsafe {
                    fps_writer_insert(writer, all.as_ptr(), bytes, count, self.given(&ids))
                };
                ok(status, "insert");
                for (fingerprint, name) in fingerprints.into_iter().zip(names) {
                    self.set.entry(fingerprint).or_default().insert(name);
                }
            }
        }
    }

    const EMPTY: fps_match = fps_match { fingerprint: [0xee; 32], distance: 77 };

    /// Matches in a buffer are the first of those that are expected, and nothing else was written.
    fn compare(&self, found: &[fps_match], count: usize, near: &[(u32, Vec<u8>)]) {
        assert_eq!(count, near.len());
        for (found, (distance, fingerprint)) in found.iter().zip(near) {
            assert_eq!(
                (found.distance, &found.fingerprint[..self.bytes]),
                (*distance, &fingerprint[..])
            );
        }
        assert!(found.iter().skip(near.len()).all(|found| *found == Self::EMPTY));
    }

    /// All queries of a snapshot of the writer, or of a reader once all is committed.
    fn read(&mut self) {
        let mut snapshot = null_mut();
        if self.random.below(3) == 0 {
            let durability = self.random.below(3) as u32;
            // SAFETY: both live.
            unsafe {
                ok(fps_writer_commit(self.writer, durability), "commit");
                ok(fps_store_refresh(self.store, null_mut()), "refresh");
                ok(fps_store_snapshot(self.store, &mut snapshot), "snapshot");
            }
        } else {
            // SAFETY: the writer lives.
            ok(unsafe { fps_writer_snapshot(self.writer, &mut snapshot) }, "snapshot");
        }
        let set = self.set.clone();
        // It stays as it is, whatever is written.
        if self.random.below(2) == 0 {
            self.write();
        }
        let query = self.fingerprint();
        let bits = self.bytes as u64 * 8;
        let k = if self.random.below(4) == 0 {
            self.random.below(bits + 1)
        } else {
            self.random.below(9)
        };
        self.queries(snapshot, &set, &query, k as u32);
        self.contents(snapshot, &set, &query);
        // SAFETY: nobody uses it any more.
        unsafe { fps_snapshot_free(snapshot) };
    }

    fn queries(&mut self, snapshot: *mut fps_snapshot, set: &Set, query: &[u8], k: u32) {
        let near = near(set, query, k);
        let most = 1 + self.random.below(20) as usize;
        let nearest = &near[..near.len().min(most)];
        let mut searcher = null_mut();
        // SAFETY: the snapshot lives.
        ok(unsafe { fps_searcher_new(snapshot, &mut searcher) }, "searcher");
        let (pointer, bytes) = (query.as_ptr(), query.len());
        for round in 0..4 {
            let (mut found, mut count) = (vec![Self::EMPTY; most], usize::MAX);
            let to = found.as_mut_ptr();
            // SAFETY: all of them live, and there is room for so many.
            let status = unsafe {
                match round {
                    0 => fps_snapshot_search(snapshot, pointer, bytes, k, to, most, &mut count),
                    1 => fps_searcher_search(searcher, pointer, bytes, k, to, most, &mut count),
                    2 => fps_snapshot_nearest(snapshot, pointer, bytes, k, to, most, &mut count),
                    _ => fps_searcher_nearest(searcher, pointer, bytes, k, to, most, &mut count),
                }
            };
            ok(status, "search");
            self.compare(&found, count, if round < 2 { &near } else { nearest });
        }
        let (mut within, mut again) = (false, false);
        // SAFETY: all of them live.
        unsafe {
            ok(fps_snapshot_any_within(snapshot, pointer, bytes, k, &mut within), "any");
            ok(fps_searcher_any_within(searcher, pointer, bytes, k, &mut again), "any");
            fps_searcher_free(searcher);
        }
        assert_eq!((within, again), (!near.is_empty(), !near.is_empty()));
        self.batch(snapshot, set, k, most);
    }

    fn batch(&mut self, snapshot: *mut fps_snapshot, set: &Set, k: u32, most: usize) {
        let queries: Vec<Vec<u8>> = (0..3).map(|_| self.fingerprint()).collect();
        let options = fps_batch_options {
            size: size_of::<fps_batch_options>(),
            limit: most as u64,
            threads: 1,
            timeout_ms: 0,
            memory_bytes: 0,
        };
        let (all, mut answers) = (queries.concat(), null_mut());
        // SAFETY: all of them live.
        let status = unsafe {
            fps_snapshot_search_batch(
                snapshot,
                all.as_ptr(),
                self.bytes,
                3,
                k,
                &options,
                &mut answers,
            )
        };
        ok(status, "batch");
        for (place, query) in queries.iter().enumerate() {
            let (mut own, mut count, mut total) = (null(), 0, 0);
            // SAFETY: the answers live.
            let own = unsafe {
                ok(fps_answers_get(answers, place, &mut own, &mut count, &mut total), "answer");
                std::slice::from_raw_parts(own, count)
            };
            let near = near(set, query, k);
            assert_eq!(total, near.len() as u64);
            self.compare(own, count, &near[..near.len().min(most)]);
        }
        // SAFETY: nobody uses them any more.
        unsafe { fps_answers_free(answers) };
    }

    fn contents(&mut self, snapshot: *mut fps_snapshot, set: &Set, query: &[u8]) {
        let mut count = u64::MAX;
        // SAFETY: all of them live.
        ok(unsafe { fps_snapshot_count(snapshot, &mut count) }, "count");
        assert_eq!(count, set.len() as u64);
        let (mut cursor, mut next) = (null_mut(), vec![0; self.bytes]);
        let mut all = Vec::new();
        // SAFETY: as above, and there is room for so many bytes.
        unsafe {
            ok(fps_snapshot_fingerprints(snapshot, &mut cursor), "fingerprints");
            while fps_cursor_next(cursor, next.as_mut_ptr(), self.bytes) == FPS_OK {
                all.push(next.clone());
            }
            assert_eq!(fps_cursor_next(cursor, next.as_mut_ptr(), self.bytes), FPS_END);
            fps_cursor_free(cursor);
        }
        assert!(all.iter().eq(set.keys()));

        let (name, mut holds, mut holds_pair) = (self.name(), false, false);
        let own = set.get(query);
        let id = [self.id(&name)];
        // SAFETY: all of them live.
        unsafe {
            let (pointer, bytes) = (query.as_ptr(), query.len());
            ok(fps_snapshot_contains(snapshot, pointer, bytes, null(), &mut holds), "contains");
            let id = self.given(&id);
            ok(fps_snapshot_contains(snapshot, pointer, bytes, id, &mut holds_pair), "contains");
        }
        let expected = own.is_some_and(|own| self.kind == FPS_ID_NONE || own.contains(&name));
        assert_eq!((holds, holds_pair), (own.is_some(), expected));

        let stored = self.fingerprint();
        let (mut ids, mut names) = (null_mut(), Vec::new());
        let mut id = fps_id { kind: 0, number: 0, bytes: null(), length: 0 };
        // SAFETY: as above; the bytes of an id stay until the next one.
        unsafe {
            ok(fps_snapshot_ids(snapshot, stored.as_ptr(), stored.len(), &mut ids), "ids");
            while fps_ids_next(ids, &mut id) == FPS_OK {
                assert_eq!(id.kind, self.kind);
                names.push(match id.kind {
                    FPS_ID_NUMBER => id.number.to_be_bytes().to_vec(),
                    _ => std::slice::from_raw_parts(id.bytes, id.length).to_vec(),
                });
            }
            fps_ids_free(ids);
        }
        let expected = set.get(&stored).filter(|_| self.kind != FPS_ID_NONE);
        assert!(names.iter().eq(expected.into_iter().flatten()), "{names:?} {expected:?}");
    }

    fn operation(&mut self) {
        let writer = self.writer;
        match self.random.below(24) {
            0..3 => self.read(),
            // SAFETY: the writer lives.
            3 => ok(unsafe { fps_writer_flush(writer) }, "flush"),
            4 => {
                let all = self.random.below(2) as u8;
                // SAFETY: as above.
                ok(unsafe { fps_writer_merge(writer, all) }, "merge");
            }
            5 => {
                let options = Self::writer_options();
                // SAFETY: nobody uses the old writer any more.
                unsafe {
                    ok(fps_writer_close(writer), "close");
                    fps_writer_free(writer);
                    ok(fps_writer_open(self.path.as_ptr(), &options, &mut self.writer), "open");
                }
            }
            _ => self.write(),
        }
    }
}

impl Drop for Both {
    fn drop(&mut self) {
        // SAFETY: nobody uses them any more.
        unsafe {
            fps_store_close(self.store);
            fps_writer_free(self.writer);
        }
    }
}

#[test]
fn random_operations_agree_with_a_set_in_memory() {
    for (round, bits) in [32, 64, 128, 256].into_iter().enumerate() {
        for kind in FPS_ID_NONE..=FPS_ID_BYTES {
            // All kinds in one width, and two of them in each of the others.
            if bits != 64 && kind as usize % 3 != round % 3 {
                continue;
            }
            let seed = round as u64 * 100 + u64::from(kind);
            println!("{bits} bits, ids of kind {kind}, seed {seed}");
            let directory = tempfile::tempdir().unwrap();
            let mut both = Both::new(directory.path(), bits, kind, seed);
            (0..OPERATIONS).for_each(|_| both.operation());
            both.read();
            assert!(both.set.len() > 20, "{}", both.set.len());
        }
    }
}
