//! The codes alone: the sorted set as one sequence, its size, and the time to go through it.

use std::path::Path;
use std::time::Instant;

use fpstore::{Codec, Design, Layout, Packer, Store};
use pco::ChunkConfig;
use pco::standalone::{DecompressorItem, FileDecompressor, simple_compress};
use sux::dict::{EliasFano, EliasFanoBuilder};

use crate::Result;
use crate::heap;
use crate::report::{Csv, Table, number};

const BLOCK_BYTES: u32 = 2048;

/// Fingerprints that `pco` decodes at a time: a multiple of its batches that stays in the caches.
const PCO_BUFFER: usize = 1 << 14;

/// A compressed sequence.
trait Sequence {
    /// Gives `each` every fingerprint in ascending order.
    fn for_each(&self, each: impl FnMut(u64));
}

/// Sum and xor of a sequence: little work, and all fingerprints count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Digest {
    sum: u64,
    xor: u64,
}

/// A [`Sequence`] of any type.
trait Decode {
    fn digest(&self) -> Digest;
    fn equals(&self, set: &[u64]) -> bool;
}

impl<S: Sequence> Decode for S {
    fn digest(&self) -> Digest {
        let mut digest = Digest::default();
        self.for_each(|fingerprint| {
            digest.sum = digest.sum.wrapping_add(fingerprint);
            digest.xor ^= fingerprint;
        });
        digest
    }

    fn equals(&self, set: &[u64]) -> bool {
        let mut rest = set.iter();
        let mut equal = true;
        self.for_each(|fingerprint| equal &= rest.next() == Some(&fingerprint));
        equal && rest.next().is_none()
    }
}

/// The set itself.
struct Raw(Vec<u64>);

impl Sequence for Raw {
    fn for_each(&self, each: impl FnMut(u64)) {
        self.0.iter().copied().for_each(each);
    }
}

/// The format of `pco`, whole.
struct Pco(Vec<u8>);

impl Sequence for Pco {
    fn for_each(&self, mut each: impl FnMut(u64)) {
        let (file, mut rest) = FileDecompressor::new(self.0.as_slice()).expect("a pco header");
        let mut buffer = vec![0; PCO_BUFFER];
        while let DecompressorItem::Chunk(mut chunk) =
            file.chunk_decompressor::<u64, _>(rest).expect("a pco chunk")
        {
            loop {
                let progress = chunk.read(&mut buffer).expect("a pco page");
                buffer[..progress.n_processed].iter().copied().for_each(&mut each);
                if progress.finished {
                    break;
                }
            }
            rest = chunk.into_src();
        }
    }
}

/// A sequence of `sux` without selection, which an iteration does not need.
struct Monotone(EliasFano<u64>);

impl Sequence for Monotone {
    fn for_each(&self, each: impl FnMut(u64)) {
        self.0.iter().for_each(each);
    }
}

impl Sequence for Store {
    /// The one place that decides how a store is read in order.
    fn for_each(&self, mut each: impl FnMut(u64)) {
        self.iter().for_each(|fingerprint| each(fingerprint.expect("the store is sound")));
    }
}

struct Contestant {
    name: String,
    bytes: usize,
    sequence: Box<dyn Decode>,
    least_seconds: f64,
}

fn contestant(name: &str, bytes: usize, sequence: impl Decode + 'static) -> Contestant {
    Contestant {
        name: name.to_string(),
        bytes,
        sequence: Box::new(sequence),
        least_seconds: f64::INFINITY,
    }
}

/// Encodes the set in every way, decodes in rounds, and prints the least time of each.
pub fn run(set: &[u64], directory: &Path, rounds: usize, csv: &mut Csv) -> Result<()> {
    println!("## Codes alone: the sorted set, decoded in order\n");
    let directory = tempfile::tempdir_in(directory)?;
    let mut contestants = encode(set, directory.path())?;
    let expected = Raw(set.to_vec()).digest();
    for contestant in &contestants {
        if !contestant.sequence.equals(set) {
            return Err(format!("{}: the sequence is not the set", contestant.name).into());
        }
    }
    for _ in 0..rounds {
        for contestant in &mut contestants {
            let start = Instant::now();
            let digest = contestant.sequence.digest();
            let seconds = start.elapsed().as_secs_f64();
            contestant.least_seconds = contestant.least_seconds.min(seconds);
            if digest != expected {
                return Err(format!("{}: the sequence is not the set", contestant.name).into());
            }
        }
    }
    print(set.len(), &contestants, csv)
}

fn encode(set: &[u64], directory: &Path) -> Result<Vec<Contestant>> {
    let mut contestants = vec![contestant("raw u64", size_of_val(set), Raw(set.to_vec()))];

    let compressed = simple_compress(set, &ChunkConfig::default())?;
    contestants.push(contestant("pco, auto", compressed.len(), Pco(compressed)));

    let heap_before = heap::live_bytes();
    let mut builder = EliasFanoBuilder::new(set.len(), set.last().copied().unwrap_or(0));
    builder.extend(set.iter().copied());
    let sequence = builder.build();
    let bytes = heap::live_bytes() - heap_before;
    contestants.push(contestant("Elias-Fano (sux)", bytes, Monotone(sequence)));

    let single = Design::named("single").expect("a named design");
    for (codec, codec_name) in [(Codec::Gap, "gap"), (Codec::Xor, "xor")] {
        for (low_bits, low_name) in [(Some(0), "L = 0"), (None, "L auto")] {
            let path = directory.join(format!("{codec_name}-{}", low_bits.is_some()));
            let packer = Packer::new().layout(
                Layout::new()
                    .design(single.clone())
                    .block_bytes(BLOCK_BYTES)
                    .codec(Some(codec))
                    .low_bits(low_bits),
            );
            let bytes = packer.pack(&path, set.iter().copied())?.bytes as usize;
            let name = format!("fpstore {codec_name}, {low_name}, {BLOCK_BYTES}");
            contestants.push(contestant(&name, bytes, Store::open(&path)?));
        }
    }
    Ok(contestants)
}

fn print(count: usize, contestants: &[Contestant], csv: &mut Csv) -> Result<()> {
    let bound = fpstore::plan::information_bound_bits(count as u64);
    println!("Information bound: {bound:.2} bits per fingerprint. Sizes are of all bytes.\n");
    let mut table = Table::new(&["code", "bits per fp", "over bound", "ns per fp"]);
    for contestant in contestants {
        let bits = 8.0 * contestant.bytes as f64 / count as f64;
        let nanoseconds = 1e9 * contestant.least_seconds / count as f64;
        csv.row("decode", 0, &contestant.name, "bits_per_fingerprint", bits)?;
        csv.row("decode", 0, &contestant.name, "ns_per_fingerprint", nanoseconds)?;
        table.row(vec![
            contestant.name.clone(),
            format!("{bits:.2}"),
            format!("{:+.2}", bits - bound),
            number(nanoseconds),
        ]);
    }
    table.print();
    Ok(())
}
