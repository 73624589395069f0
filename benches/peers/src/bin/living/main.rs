//! Measures stores that are written while they are searched, beside other engines.
//!
//! `cargo run --release --manifest-path benches/peers/Cargo.toml --bin living -- COMMAND`, with
//! `load`, `durable`, `names`, `search` or `windows`; `--help` tells the options. All of a command
//! is measured in one run, on the same data: uniform fingerprints, a tenth of them within two flips
//! of an earlier one, or those of a file of 8 bytes each, little-endian, in its order.

mod durable;
mod engines;
mod load;
mod names;
mod search;
mod windows;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// Any failure.
pub type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

pub const RADIUS: u32 = 3;

#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// check_and_insert, one record after the other, from an empty store.
    Load(load::Options),
    /// Batches of a thousand, each durable when the call returns, beside the syncs of the disk
    /// alone.
    Durable(Common),
    /// Names as ids: bytes, packing, inserting, look-ups both ways, beside zstd and redb.
    Names(names::Options),
    /// Searches of a store that was built by insertions, beside the same set packed, and during a
    /// merge.
    Search(Common),
    /// A year of daily windows.
    Windows(Common),
}

#[derive(Args, Clone)]
pub struct Common {
    /// Records.
    #[arg(long, default_value_t = 10_000_000)]
    pub records: u64,
    /// Where stores are written; a temporary directory goes there.
    #[arg(long, default_value = ".")]
    pub directory: PathBuf,
    /// Fingerprints of a file instead of uniform ones.
    #[arg(long)]
    pub file: Option<PathBuf>,
    /// Records in memory until they become a segment.
    #[arg(long)]
    pub tail_records: Option<usize>,
    /// The tables.
    #[arg(long)]
    pub design: Option<fpstore::Design>,
    /// Bytes per block.
    #[arg(long)]
    pub block_bytes: Option<u32>,
}

impl Common {
    pub fn options(&self) -> fpstore::StoreOptions {
        let mut writer = fpstore::WriterOptions::new();
        if let Some(records) = self.tail_records {
            writer = writer.tail_records(records);
        }
        let mut options =
            fpstore::StoreOptions::new().layout(fpstore::Layout::new().k(RADIUS)).writer(writer);
        if let Some(design) = &self.design {
            options = options.with_layout(|it| it.design(design.clone()));
        }
        if let Some(bytes) = self.block_bytes {
            options = options.with_layout(|it| it.block_bytes(bytes));
        }
        options
    }

    pub fn set(&self) -> Result<Set> {
        let file = self.file.as_ref().map(std::fs::read).transpose()?;
        Ok(Set { file })
    }

    pub fn directory(&self) -> Result<tempfile::TempDir> {
        Ok(tempfile::tempdir_in(&self.directory)?)
    }
}

/// The fingerprints of a run.
pub struct Set {
    file: Option<Vec<u8>>,
}

/// SplitMix64's output number `i`.
pub fn uniform(i: u64) -> u64 {
    let mut x = i.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ x >> 31
}

impl Set {
    /// Fingerprint number `i`.
    pub fn fingerprint(&self, i: u64) -> u64 {
        if let Some(file) = &self.file {
            let at = 8 * (i as usize % (file.len() / 8));
            return u64::from_le_bytes(file[at..at + 8].try_into().expect("eight bytes"));
        }
        let own = uniform(i);
        if i % 10 != 9 {
            return own;
        }
        let earlier = own % i;
        let earlier = if earlier % 10 == 9 { earlier - 1 } else { earlier };
        uniform(earlier) ^ 1 << (own >> 58) ^ 1 << (own >> 52 & 63)
    }
}

/// The value below which this part of a sorted list lies, in microseconds of its nanoseconds.
pub fn percentile(sorted: &[u32], part: f64) -> f64 {
    let at = (sorted.len().saturating_sub(1)) as f64 * part;
    sorted.get(at as usize).map_or(0.0, |&ns| f64::from(ns) / 1e3)
}

fn main() -> Result<()> {
    match Arguments::parse().command {
        Command::Load(options) => load::run(&options),
        Command::Durable(common) => durable::run(&common),
        Command::Names(options) => names::run(&options),
        Command::Search(common) => search::run(&common),
        Command::Windows(common) => windows::run(&common),
    }
}
