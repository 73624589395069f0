//! Real fingerprints with answers that other programs computed.
//!
//! Every set `NAME.u64` with `NAME.queries.u64` and `NAME.truth.kK.tsv[.gz]` in a directory is
//! checked: the shipped one, or the one in the environment variable `FPSTORE_ANSWERS`.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use fpstore::stats::AccessPath;
use fpstore::{Codec, Design, Layout, Packer, Searcher, Store};

/// The answers to all queries within one radius.
struct Truth {
    k: u32,
    /// Query, and the matches as `fingerprint:distance`, ascending by fingerprint.
    lines: Vec<(u64, Expected)>,
}

enum Expected {
    Matches(Vec<(u64, u32)>),
    /// Number of matches and the SHA-256 of their list.
    Digest(usize, String),
}

pub fn directory() -> PathBuf {
    match std::env::var_os("FPSTORE_ANSWERS") {
        Some(path) => path.into(),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data"),
    }
}

pub fn read_u64s(path: &Path) -> Vec<u64> {
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    bytes.chunks_exact(8).map(|chunk| u64::from_le_bytes(chunk.try_into().unwrap())).collect()
}

fn read_truth(path: &Path, k: u32) -> Truth {
    let bytes = fs::read(path).unwrap();
    let mut text = String::new();
    if path.extension().is_some_and(|extension| extension == "gz") {
        GzDecoder::new(&bytes[..]).read_to_string(&mut text).unwrap();
    } else {
        text = String::from_utf8(bytes).unwrap();
    }
    let hex = |text: &str| u64::from_str_radix(text, 16).unwrap();
    let lines = text.lines().map(|line| {
        let [query, count, list] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{}: {line}", path.display());
        };
        let count: usize = count.parse().unwrap();
        let expected = if let Some(digest) = list.strip_prefix("sha256:") {
            Expected::Digest(count, digest.to_string())
        } else {
            let pairs = list.split(',').filter(|pair| *pair != "-").map(|pair| {
                let (fingerprint, distance) = pair.split_once(':').unwrap();
                (hex(fingerprint), distance.parse().unwrap())
            });
            let pairs: Vec<_> = pairs.collect();
            assert_eq!(pairs.len(), count);
            Expected::Matches(pairs)
        };
        (hex(query), expected)
    });
    Truth { k, lines: lines.collect() }
}

/// The names of all sets in a directory and the answers to their queries.
fn sets(directory: &Path) -> Vec<(String, Vec<Truth>)> {
    let mut sets: Vec<(String, Vec<Truth>)> = Vec::new();
    let mut names: Vec<String> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    for name in names {
        let Some((set, rest)) = name.split_once(".truth.k") else { continue };
        let k = rest.split('.').next().unwrap().parse().unwrap();
        let truth = read_truth(&directory.join(&name), k);
        match sets.iter_mut().find(|(known, _)| known == set) {
            Some((_, truths)) => truths.push(truth),
            None => sets.push((set.to_string(), vec![truth])),
        }
    }
    sets
}

fn sha256(lines: &str) -> String {
    use sha2::Digest;
    sha2::Sha256::digest(lines.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Checks all queries of a set; gives their number and that of the matches.
fn check(searcher: &mut Searcher, truths: &[Truth], what: &str) -> (usize, usize) {
    let (mut queries, mut matches) = (0, 0);
    for Truth { k, lines } in truths {
        for (query, expected) in lines {
            let found = searcher.search(*query, *k).unwrap();
            let mut pairs: Vec<_> = found.iter().map(|m| (m.fingerprint, m.distance)).collect();
            assert!(pairs.is_sorted_by_key(|&(fingerprint, distance)| (distance, fingerprint)));
            pairs.sort_unstable();
            matches += pairs.len();
            queries += 1;
            match expected {
                Expected::Matches(expected) => {
                    assert_eq!(&pairs, expected, "{what}: {query:016x} within {k}");
                }
                Expected::Digest(count, digest) => {
                    let list: Vec<_> = pairs.iter().map(|(fp, _)| format!("{fp:016x}")).collect();
                    assert_eq!(pairs.len(), *count, "{what}: {query:016x} within {k}");
                    assert_eq!(
                        &sha256(&list.join("\n")),
                        digest,
                        "{what}: {query:016x} within {k}"
                    );
                }
            }
        }
    }
    (queries, matches)
}

#[test]
fn given_answers_are_found_with_every_design_codec_and_block_size() {
    let directory = directory();
    let sets = sets(&directory);
    assert!(!sets.is_empty(), "{} holds no answers", directory.display());
    for (name, truths) in &sets {
        let fingerprints = read_u64s(&directory.join(format!("{name}.u64")));
        let queries = read_u64s(&directory.join(format!("{name}.queries.u64")));
        for Truth { lines, .. } in truths {
            assert!(
                lines.iter().map(|(query, _)| query).eq(&queries),
                "{name}: answers to other queries"
            );
        }
        let mut checked = (0, 0, 0);
        for design in Design::NAMES {
            for codec in Codec::ALL {
                for block_bytes in [256, 1024, 4096] {
                    let temporary = tempfile::tempdir().unwrap();
                    let path = temporary.path().join("store");
                    Packer::new()
                        .layout(
                            Layout::new()
                                .design(design.parse().unwrap())
                                .codec(Some(codec))
                                .block_bytes(block_bytes),
                        )
                        .pack(&path, fingerprints.iter().copied())
                        .unwrap();
                    let what = format!("{name}, {design}, {codec}, {block_bytes} bytes");
                    let store = Store::open(&path).unwrap();
                    let mut searcher = store.searcher();
                    searcher.force(match block_bytes {
                        256 => None,
                        1024 => Some(AccessPath::Tables),
                        _ => Some(AccessPath::Filters),
                    });
                    let (queries, matches) = check(&mut searcher, truths, &what);
                    checked = (checked.0 + 1, checked.1 + queries, checked.2 + matches);
                }
            }
        }
        let ks: Vec<_> = truths.iter().map(|truth| truth.k.to_string()).collect();
        println!(
            "{name}: {} fingerprints, {} stores, k = {}: {} answers with {} matches are equal",
            fingerprints.len(),
            checked.0,
            ks.join(", "),
            checked.1,
            checked.2,
        );
        assert!(checked.2 > 0, "no query of {name} has a match");
    }
}
