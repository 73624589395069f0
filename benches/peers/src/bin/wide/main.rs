//! Measures stores of fingerprints of any width, beside a scan of the same store and, if a Python
//! with it is given, beside the binary indexes of FAISS.
//!
//! `cargo run --release --manifest-path benches/peers/Cargo.toml --bin wide -- --bits 256 --radius
//! 31`; `--help` tells the options. All is measured in one run, by one thread, on the same
//! fingerprints and queries, and all answers are compared.

mod data;
mod faiss;
mod measure;

use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use fpstore::Fingerprint;

/// Any failure.
pub type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

/// Measures stores of fingerprints of any width.
#[derive(Parser)]
pub struct Options {
    /// Bits of a fingerprint: 32, 64, 128 or 256.
    #[arg(long, default_value_t = 256)]
    pub bits: u32,
    /// Fingerprints.
    #[arg(long, default_value_t = 10_000_000)]
    pub records: usize,
    /// The radii of searches.
    #[arg(long, value_delimiter = ',', default_value = "31")]
    pub radius: Vec<u32>,
    /// The radius that the store is planned for; the first of the radii.
    #[arg(long)]
    pub planned: Option<u32>,
    /// The number of part tables, in place of the planned one.
    #[arg(long)]
    pub parts: Option<u16>,
    /// The design of tables, in blocks of 512 bytes, in place of parts; for 64 bits.
    #[arg(long, conflicts_with = "parts")]
    pub design: Option<fpstore::Design>,
    /// What the bits of the fingerprints are like.
    #[arg(long, value_enum, default_value = "uniform")]
    pub set: data::Kind,
    /// Real fingerprints in their place: a NumPy file of bytes, a fingerprint in a row.
    #[arg(long, conflicts_with_all = ["set", "records"])]
    pub hashes: Option<PathBuf>,
    /// Queries: half of them as far from a stored fingerprint as the radius, half anywhere.
    #[arg(long, default_value_t = 1000)]
    pub queries: usize,
    /// Also the nearest so many.
    #[arg(long)]
    pub nearest: Option<usize>,
    /// Also a self-join within the first radius, beside one that compares all with all.
    #[arg(long)]
    pub join: bool,
    /// Read the store into memory, in place of mapping its files.
    #[arg(long)]
    pub in_memory: bool,
    /// Also searches after the pages of the files were dropped from memory.
    #[arg(long)]
    pub cold: bool,
    /// A Python that has `faiss` and `numpy`.
    #[arg(long)]
    pub python: Option<PathBuf>,
    /// Where the store is written; a temporary directory goes there.
    #[arg(long, default_value = ".")]
    pub directory: PathBuf,
}

impl Options {
    /// What the fingerprints are, in a word.
    pub fn kind(&self) -> String {
        match &self.hashes {
            Some(path) => path.display().to_string(),
            None => {
                self.set.to_possible_value().map_or(String::new(), |kind| kind.get_name().into())
            }
        }
    }
}

fn main() -> Result<()> {
    let options = Options::parse();
    match options.bits {
        32 => run::<u32>(&options),
        64 => run::<u64>(&options),
        128 => run::<u128>(&options),
        256 => run::<[u64; 4]>(&options),
        bits => Err(format!("there are no fingerprints of {bits} bits").into()),
    }
}

fn run<F: Fingerprint>(options: &Options) -> Result<()> {
    let directory = tempfile::tempdir_in(&options.directory)?;
    let set = match &options.hashes {
        Some(path) => data::read::<F>(path)?,
        None => data::set::<F>(options.records, options.set),
    };
    let store = measure::pack(options, &set, &directory.path().join("store"))?;
    for &k in &options.radius {
        let queries = data::queries(&set, k, options.queries);
        let answers = measure::search(&store, &queries, k)?;
        if let Some(python) = &options.python {
            faiss::search(python, directory.path(), (&set, &queries), k, &answers)?;
        }
    }
    if let Some(count) = options.nearest {
        for near in [true, false] {
            let queries = data::queries_of(&set, 3, options.queries.min(200), |_| near);
            let answers = measure::nearest(&store, &queries, count, near)?;
            if let Some(python) = &options.python {
                faiss::nearest(python, directory.path(), (&set, &queries), count, &answers)?;
            }
        }
    }
    if options.join {
        measure::join(&store, &set, options.radius[0])?;
    }
    if options.cold {
        // Pages that somebody has mapped are not dropped.
        drop(store);
        for &k in &options.radius {
            let queries = data::queries(&set, k, options.queries);
            measure::cold(&directory.path().join("store"), &queries, k)?;
        }
    }
    Ok(())
}
