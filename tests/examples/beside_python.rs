//! The Rust side of `beside.py`: does what a line of standard input says, and prints how many
//! seconds that took.
//!
//! `pack NAME`, `batch STORE`, `search STORE`, `join STORE`; fingerprints and queries are raw
//! little-endian numbers of 64 bits.

use std::error::Error;
use std::fs;
use std::hint::black_box;
use std::io::{BufRead, Write};
use std::path::Path;
use std::time::Instant;

use fpstore::query::JoinEvent;
use fpstore::{Layout, Packer, Store};

fn numbers(path: &Path) -> Result<Vec<u64>, Box<dyn Error>> {
    let bytes = fs::read(path)?;
    Ok(bytes
        .chunks_exact(8)
        .map(|chunk| chunk.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)))
        .collect())
}

fn main() -> Result<(), Box<dyn Error>> {
    let directory =
        std::env::args_os().nth(1).ok_or("give the directory of hashes.u64 and queries.u64")?;
    let directory = Path::new(&directory);
    let (hashes, queries) =
        (numbers(&directory.join("hashes.u64"))?, numbers(&directory.join("queries.u64"))?);
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let (what, name) = line.split_once(' ').ok_or("a command and a name")?;
        let path = directory.join(name);
        let start = Instant::now();
        let seconds = match what {
            "pack" => {
                Packer::new().layout(Layout::new().k(3)).replace(true).pack(&path, &hashes)?;
                start.elapsed()
            }
            "batch" => {
                let store = Store::open(&path)?;
                let start = Instant::now();
                let (mut offsets, mut fingerprints, mut distances) =
                    (vec![0], Vec::new(), Vec::new());
                store.batch(3).run(&queries, |answer| {
                    fingerprints.extend(answer.matches.iter().map(|one| one.fingerprint));
                    distances.extend(answer.matches.iter().map(|one| one.distance as u16));
                    offsets.push(fingerprints.len());
                })?;
                black_box((offsets, fingerprints, distances));
                start.elapsed()
            }
            "search" => {
                let store = Store::open(&path)?;
                let mut searcher = store.searcher();
                let start = Instant::now();
                for &query in queries.iter().take(20_000) {
                    black_box(searcher.search(query, 3)?);
                }
                start.elapsed()
            }
            "join" => {
                let store = Store::open(&path)?;
                let start = Instant::now();
                let mut pairs = 0;
                store.self_join(6).run(|event| {
                    if let JoinEvent::Pairs(some) = event {
                        pairs += some.len();
                    }
                })?;
                black_box(pairs);
                start.elapsed()
            }
            other => return Err(format!("there is no {other}").into()),
        };
        println!("{}", seconds.as_secs_f64());
        std::io::stdout().flush()?;
    }
    Ok(())
}
