//! Stores whose checksums are right and whose counts are not.

use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

use fpstore::query::BatchPlan;
use fpstore::{Codec, Corruption, Design, Error, Execution, Layout, Packer, Store};
use libtest_mimic::Trial;

use crate::forge::{Forge, Part, Place};
use crate::oracle::crc;
use crate::sets::Random;
use crate::{LIMIT, MIB, THREADS, allowed, trial, within};

pub fn trials() -> Vec<Trial> {
    vec![
        trial("blocks that hold more than the table claims are an error", blocks_of_too_many),
        trial("more keys than a small table claims come into no hot index", hot_index_of_too_many),
        trial("a claim of more than there is memory is an error", claim_of_too_many),
    ]
}

/// Bytes of the largest block.
const BLOCK_BYTES: usize = 8192;
/// Keys of such a block at most: one bit for each but the first.
const BLOCK_KEYS: u32 = 65_425;

fn pack(path: &Path, count: usize) {
    let mut random = Random(1);
    let set: Vec<u64> = (0..count).map(|_| random.next()).collect();
    let packer = Packer::new()
        .layout(Layout::new().design(Design::named("single").unwrap()).codec(Some(Codec::Gap)));
    packer
        .with_layout(|it| it.block_bytes(BLOCK_BYTES as u32).low_bits(Some(0)))
        .pack(path, &set)
        .unwrap();
}

fn save(forge: &Forge, path: &Path) {
    for (name, bytes) in &forge.files {
        fs::write(path.join(name), bytes).unwrap();
    }
}

/// Some blocks of the most keys, all equal to the first one of the block, in a table that claims
/// one key for each.
fn blocks_of_too_many() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    pack(&path, 40_000);
    let mut forge = Forge::load(&path).unwrap();
    let blocks = forge.get(Place::Footer(0), "block_count");
    assert!((20..=40).contains(&blocks), "{blocks}");
    for block in 0..blocks as usize {
        forge.set(Place::Block(0, block), "key_count", u64::from(BLOCK_KEYS));
        let column_at = forge.block(0, block).len() - (BLOCK_KEYS as usize - 1) / 8;
        forge.block(0, block)[column_at..].fill(0);
        let first = forge.get(Place::Block(0, block), "first_key");
        forge.set_entry(0, Part::Router, block, first);
    }
    // The only class: equal.
    let codes = forge.codes(0);
    codes.fill(0);
    codes[64] = 1;
    forge.set(Place::Table(0), "count", blocks);
    forge.set(Place::Segment, "count", blocks);
    forge.reseal(0);
    save(&forge, &path);

    let surplus = |error: Option<Error>, what: &str| match error {
        Some(Error::Corrupt { corruption: Corruption::SetCount { expected, .. }, .. }) => {
            assert_eq!(expected, blocks, "{what}");
        }
        other => panic!("{what}: {other:?}"),
    };
    let store = Store::open(&path).unwrap();
    for threads in THREADS {
        let join = store.self_join(3).execution(Execution::new().threads(threads).memory(LIMIT));
        let run = || join.run(|_| ());
        surplus(within(allowed(threads), "join", run).err(), "join");
        let queries = [0, 1 << 63];
        for plan in [BatchPlan::Search, BatchPlan::Sweep] {
            let batch = store
                .batch(64)
                .plan(plan)
                .execution(Execution::new().threads(threads).memory(LIMIT));
            let run = || batch.run(&queries, |_| ());
            let what = format!("batch, {plan:?}");
            surplus(within(allowed(threads), &what, run).err(), &what);
        }
    }
    let clustering = store.clusters(3).execution(Execution::new().memory(LIMIT + MIB));
    surplus(within(LIMIT + MIB, "clusters", || clustering.run()).err(), "clusters");
    surplus(within(LIMIT, "iteration", || store.iter().find_map(Result::err)), "iteration");
    // A search has all its matches in memory, and what a single block takes.
    let near = forge.get(Place::Block(0, 1), "first_key");
    let mut searcher = store.searcher();
    let found = within(LIMIT + 16 * MIB, "search", || searcher.search(near, 0).unwrap().len());
    assert_eq!(found, 1);
    within(LIMIT + 16 * MIB, "count", || store.any_within(near, 64).unwrap());
}

/// By its claim the table is so small that searches may keep all of its keys.
fn hot_index_of_too_many() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let mut random = Random(2);
    let set: Vec<u64> = (0..40_000).map(|_| random.next()).collect();
    let packer = Packer::new().layout(Layout::new().design(Design::named("single").unwrap()));
    packer.pack(&path, &set).unwrap();
    for (claim, kept) in [(100, 0..=0), (40_000, 2_300_000..=2_400_000)] {
        let mut forge = Forge::load(&path).unwrap();
        forge.set(Place::Table(0), "count", claim);
        forge.set(Place::Segment, "count", claim);
        forge.reseal(0);
        save(&forge, &path);
        let store = Store::open(&path).unwrap();
        let before = store.heap_bytes();
        let mut searcher = store.searcher();
        for &query in &set[..1000] {
            assert_eq!(searcher.search(query, 0).unwrap().len(), 1);
        }
        let heap_bytes = store.heap_bytes() - before;
        assert!(kept.contains(&heap_bytes), "{claim}: {heap_bytes}");
    }
}

/// A file with a hole of 8 GiB, whose header claims as many keys as could stand in it: over sixty
/// billion, which take half a terabyte.
fn claim_of_too_many() {
    const BLOCKS: u64 = 1 << 20;
    let count = BLOCKS * u64::from(BLOCK_KEYS);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    pack(&path, 3);
    let mut forge = Forge::load(&path).unwrap();
    forge.set(Place::Table(0), "count", count);
    forge.set(Place::Segment, "count", count);
    forge.set(Place::Footer(0), "block_count", BLOCKS);
    forge.reseal(0);
    let header_crc = (forge.get(Place::Entry(0), "header_crc") as u32).to_le_bytes();
    let router: Vec<u8> = (1..=BLOCKS).flat_map(|block| (block << 40).to_le_bytes()).collect();
    forge.set(Place::Footer(0), "router_crc", crc(&[&header_crc, &router]).into());
    forge.reseal_footer(0);
    let parts = [Part::Codes, Part::Histogram].map(|part| forge.part(0, part).to_vec());
    let name = forge.table_name(0);
    let table = forge.files.remove(&name).unwrap();
    let footer = &table[table.len() - 24..];
    let file_bytes = 4096 + BLOCKS * (BLOCK_BYTES as u64 + 8) + parts.concat().len() as u64 + 24;
    forge.set(Place::Entry(0), "file_bytes", file_bytes);
    forge.reseal_manifest();
    save(&forge, &path);
    let mut file = File::create(path.join(&name)).unwrap();
    file.write_all(&table[..4096]).unwrap();
    file.seek(SeekFrom::Start(4096 + BLOCKS * BLOCK_BYTES as u64)).unwrap();
    for part in [&router, &parts[0], &parts[1], footer] {
        file.write_all(part).unwrap();
    }

    let store = Store::open(&path).unwrap();
    assert_eq!(store.len(), count);
    // Where the system promises what it does not have, a block is found to be empty. Which one of
    // several threads comes to its own first is open.
    let check = |error: Option<Error>, what: &str| match error {
        Some(Error::OutOfMemory { bytes, .. }) => assert!(bytes >= 8 * count, "{what}: {bytes}"),
        Some(Error::Corrupt { corruption: Corruption::BlockChecksum { found: 0, .. }, .. }) => {}
        other => panic!("{what}: {other:?}"),
    };
    check(store.self_join(3).run(|_| ()).err(), "join");
    check(store.join(&store, 3).run(|_| ()).err(), "join of two");
    check(store.clusters(3).run().err(), "clusters");
    let batch = store.batch(3).plan(BatchPlan::Sweep);
    check(batch.run(&[1, 2], |_| ()).err(), "batch");
    for threads in THREADS {
        let join = store.self_join(3).execution(Execution::new().threads(threads).memory(LIMIT));
        let run = || join.run(|_| ());
        check(within(allowed(threads), "join", run).err(), "join within a limit");
    }
}
