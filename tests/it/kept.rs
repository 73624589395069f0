//! Stores of every released version, which every later one reads: `format-spec/kept`.
//!
//! `FPSTORE_BLESS=1 cargo test --test it kept` writes those of this version that are not there yet.
//! What is there is never written again.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use fpstore::{
    AsId, Codec, Design, Error, Fingerprint, Id, IdKind, Layout, OpenOptions, Packer, Snapshot,
    StoreOptions, Writer, WriterOptions,
};

use crate::sets::{Random, clustered};

/// Where the stores of this version stand.
const VERSION: &str = "0.1";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("format-spec/kept")
}

/// The content of a store, as text beside it.
fn text_file(store: &Path) -> PathBuf {
    let mut name = store.file_name().unwrap().to_owned();
    name.push(".txt");
    store.with_file_name(name)
}

/// For each fingerprint, in hexadecimal digits, its ids as texts.
type Content = BTreeMap<String, Vec<String>>;

fn hex<F: Fingerprint>(fingerprint: F) -> String {
    fingerprint.to_be_bytes().as_ref().iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// A row for each fingerprint, and behind it its ids, each after a tabulator.
fn text_of(content: &Content) -> String {
    content.iter().fold(String::new(), |mut text, (fingerprint, ids)| {
        text += fingerprint;
        ids.iter().for_each(|id| text.extend(["\t", id]));
        text + "\n"
    })
}

fn content_of(text: &str) -> Content {
    let row = |row: &str| {
        let mut cells = row.split('\t').map(str::to_owned);
        (cells.next().unwrap_or_default(), cells.collect())
    };
    text.lines().map(row).collect()
}

/// What a store holds, by going through it.
fn held<F: Fingerprint>(snapshot: &Snapshot<F>) -> Content {
    if !snapshot.has_ids() {
        return snapshot.iter().map(|found| (hex(found.unwrap()), Vec::new())).collect();
    }
    let pairs = snapshot.iter_with_ids::<Id>().map(|pair| {
        let (fingerprint, ids) = pair.unwrap();
        (hex(fingerprint), ids.map(|id| id.unwrap().to_string()).collect())
    });
    pairs.collect()
}

/// Reads a store of this width: its content, its searches, and all of its checksums.
fn read<F: Fingerprint>(store: &Path, expected: &Content) -> Result<(), Error> {
    let store = OpenOptions::new().width::<F>().open(store)?;
    assert_eq!(held(&store.snapshot()), *expected);
    store.verify()?;
    let all: Vec<F> = store.iter().collect::<Result<_, _>>()?;
    for &query in all.iter().step_by(7) {
        let found = store.search(query, 5)?;
        let mut found: Vec<F> = found.iter().map(|found| found.fingerprint).collect();
        found.sort_unstable();
        assert!(all.iter().filter(|one| one.distance(query) <= 5).eq(&found));
    }
    Ok(())
}

#[test]
fn every_store_of_every_version_is_read() {
    let versions = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let mut read_stores = 0;
    for version in versions.filter(|path| path.is_dir()) {
        let entries = fs::read_dir(&version).unwrap().map(|entry| entry.unwrap().path());
        for store in entries.filter(|path| path.is_dir()) {
            let content = fs::read_to_string(text_file(&store)).unwrap();
            let content = content_of(&content);
            let digits = content.keys().next().map_or(16, String::len);
            let result = match 4 * digits {
                32 => read::<u32>(&store, &content),
                64 => read::<u64>(&store, &content),
                128 => read::<u128>(&store, &content),
                _ => read::<[u64; 4]>(&store, &content),
            };
            result.unwrap_or_else(|error| panic!("{}: {error}", store.display()));
            read_stores += 1;
        }
    }
    assert!(read_stores >= 17, "{read_stores}");
}

/// Whether a store is wanted: with `FPSTORE_BLESS`, if it is not there.
fn wanted(name: &str) -> Option<PathBuf> {
    let store = folder().join(VERSION).join(name);
    let is_new = std::env::var_os("FPSTORE_BLESS").is_some() && !store.exists();
    is_new.then(|| {
        fs::create_dir_all(store.parent().unwrap()).unwrap();
        store
    })
}

/// Writes down what a store holds.
fn keep<F: Fingerprint>(store: &Path) {
    let opened = OpenOptions::new().width::<F>().open(store).unwrap();
    let text = text_of(&held(&opened.snapshot()));
    fs::write(text_file(store), text).unwrap();
    let _ = fs::remove_file(store.join("lock"));
}

/// Fingerprints of any width, some near each other.
fn set<F: Fingerprint>() -> Vec<F> {
    let mut random = Random(54);
    let of = |center: u64, random: &mut Random| {
        let mut bytes = vec![0; F::BITS as usize / 8];
        let mut of_center = Random(center);
        bytes.iter_mut().for_each(|byte| *byte = of_center.next() as u8);
        let bit = random.next() as usize % F::BITS as usize;
        bytes[bit / 8] ^= 1 << (bit % 8);
        F::from_be_slice(&bytes).unwrap()
    };
    (0..90).map(|i| of(i / 3, &mut random)).collect()
}

fn packed<F: Fingerprint>(name: &str, packer: &Packer<F>) {
    if let Some(store) = wanted(name) {
        packer.pack(&store, set::<F>()).unwrap();
        keep::<F>(&store);
    }
}

fn with_ids<I: AsId>(name: &str, kind: IdKind, id: impl Fn(u64) -> I) {
    if let Some(store) = wanted(name) {
        let pairs = clustered(60, 3).into_iter().cycle().zip((0..90).map(id));
        Packer::new().ids(kind).pack_with_ids(&store, pairs).unwrap();
        keep::<u64>(&store);
    }
}

/// Operations of every kind, some of them in segments, some merged, and some in the log.
fn living<I: AsId>(name: &str, options: StoreOptions, in_windows: bool, id: impl Fn(u64) -> I) {
    let Some(store) = wanted(name) else { return };
    let writer = WriterOptions::new().background(false);
    let writer: Writer = options.writer(writer).create(&store).unwrap();
    let day = |day: u64| UNIX_EPOCH + Duration::from_secs(86_400 * (20_000 + day));
    let set = clustered(120, 4);
    for (number, part) in (0..).zip(set.chunks(20)) {
        let pairs: Vec<_> = part.iter().zip(number * 20..).map(|(&one, i)| (one, id(i))).collect();
        match in_windows {
            true => writer.insert_batch_at(&pairs, day(number / 2)).unwrap(),
            false => writer.insert_batch(&pairs).unwrap(),
        }
        if number > 0 {
            writer.delete_fingerprint(set[number as usize * 20 - 1]).unwrap();
            writer.delete(set[number as usize * 20 - 2], id(number * 20 - 2)).unwrap();
        }
        match number {
            1 => writer.merge_all().unwrap(),
            5 => {}
            _ => writer.flush().unwrap(),
        }
    }
    writer.close().unwrap();
    keep::<u64>(&store);
}

#[test]
fn stores_of_this_version_are_written_once() {
    let tables = || {
        Packer::new()
            .layout(Layout::new().design(Design::named("halves").unwrap()).block_bytes(256))
    };
    packed("tables-xor", &tables().with_layout(|it| it.codec(Some(Codec::Xor)).low_bits(Some(16))));
    packed("tables-gap", &tables().with_layout(|it| it.codec(Some(Codec::Gap)).low_bits(Some(24))));
    packed("tables-short", &tables().with_layout(|it| it.short_tables(true)));
    packed("tables-32-bits", &Packer::new().width::<u32>());
    packed("large-blocks", &Packer::new().layout(Layout::new().block_bytes(8192)));
    packed("parts-64-bits", &Packer::new().layout(Layout::new().parts(4)));
    packed("parts-128-bits", &Packer::new().width::<u128>());
    packed("parts-256-bits", &Packer::new().width::<[u64; 4]>());
    packed("base-without-parts", &Packer::new().width::<[u64; 4]>().layout(Layout::new().parts(0)));
    packed("recipe", &Packer::new().recipe("made by hand"));
    with_ids("ids-numbers", IdKind::Number, |i| i * i);
    with_ids("ids-text", IdKind::Text, |i| format!("https://a.example/{i}"));
    with_ids("ids-uuids", IdKind::Uuid, |i| {
        fpstore::IdRef::Uuid((u128::from(i) << 70).to_be_bytes())
    });
    with_ids("ids-numbers-128", IdKind::Number128, |i| {
        fpstore::IdRef::Number128(u128::from(i) << 70)
    });
    with_ids("ids-keys", IdKind::Bytes(3), |i| Id::Bytes(vec![7, i as u8, 1]));
    living("living-ids", StoreOptions::new(), false, |i| i);
    living("living-names", StoreOptions::new().ids(IdKind::Text), false, |i| format!("page {i}"));
    let windows = StoreOptions::new().window(Some(Duration::from_secs(86_400)));
    living("living-windows", windows, true, |i| i);
    // What is kept is no less than what this test names.
    let kept = fs::read_dir(folder().join(VERSION)).unwrap().count();
    assert!(kept >= 2 * 17, "{kept}");
}
