//! Compares fpstore with what one can use instead, in one process, on the same data and queries.
//!
//! ```text
//! RUSTFLAGS="-C target-feature=+bmi1,+bmi2,+lzcnt,+popcnt,+avx2" \
//!     cargo run --release --manifest-path benches/peers/Cargo.toml -- [OPTIONS]
//! ```
//!
//! `--help` lists the options. The flags are for `mih-rs`, `sux` and `pco`, which choose their
//! instructions when they are compiled; these are the features that `pco` recommends, and with
//! `target-cpu=native` on a CPU with AVX-512 it decodes slower. fpstore and the scans of this
//! program choose theirs when they run.
//!
//! # What it prints
//!
//! The answers of all engines are compared: those of the raw arrays with brute force, those of
//! every other engine with the raw arrays. The first difference ends the run.
//!
//! * **Engines.** For each: bytes per fingerprint (files, and heap after opening), what its caches
//!   took while it answered, seconds to build it (files synced), microseconds per query, and the
//!   ratios to four raw sorted arrays with the same mapping and with prefetch and vector
//!   instructions, measured in the same rounds. Every round goes over all engines; the time of a
//!   query is its least in all rounds, on which mean and percentiles are taken. *First pass* is the
//!   mean of the very first pass over the queries, right after the build and with the files in the
//!   page cache: page faults, the checksums of fpstore and the filling of caches are in it. Between
//!   it and the rounds every engine touches all of its data (fpstore by `verify`). A slow engine
//!   gets a prefix of the queries, and its ratios refer to the raw arrays on that prefix.
//! * **Codes alone** (`--decode`). Bits per fingerprint of the sorted set, and the time to decode
//!   it in order.
//! * **Threads** (`--threads 1,2`). Queries per second of readers that share one store.
//! * **Radii** (`--k 0,1,2,3,4`). Every design beside its own scan of one table and brute force.
//!
//! Progress goes to the standard error.

mod compare;
mod data;
mod decode;
mod engines;
mod heap;
mod latency;
mod radius;
mod report;
mod scan;
mod stores;
mod threads;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;

use crate::engines::fpstore_design::Tables;
use crate::engines::{Kind, RADIUS};
use crate::report::{Csv, Json};
use crate::scan::Scanner;

#[global_allocator]
static HEAP: heap::Counting = heap::Counting;

type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

/// The compiler flags with which the peers are at their best.
const PEER_FLAGS: &str = "-C target-feature=+bmi1,+bmi2,+lzcnt,+popcnt,+avx2";

/// Smaller sets say nothing about speed, and some engines do not take them.
const LEAST_COUNT: usize = 1000;

/// The engines of a plain run.
const ENGINES: &str = "brute,mih-auto,mih-3,mih-4,elias-fano,redb,fjall,fpstore";

/// Compares fpstore with other engines, on the same data and queries.
#[derive(Parser)]
struct Arguments {
    /// Number of uniform fingerprints, such as 1000000 or 2^26
    #[arg(long, default_value = "2^20", value_parser = data::parse_count)]
    n: usize,

    /// A file of little-endian u64 instead of uniform fingerprints
    #[arg(long, value_name = "FILE.u64", conflicts_with = "n")]
    input: Option<PathBuf>,

    /// Engines besides the raw arrays: brute, mih-auto, mih-BLOCKS, elias-fano, redb, fjall,
    /// fpstore; or none
    #[arg(long, value_delimiter = ',', default_value = ENGINES)]
    engines: Vec<String>,

    /// Designs of fpstore; parts of your own widths are joined by slashes, as in 24/20/20, and
    /// tables are short with `+short` behind it
    #[arg(long, value_delimiter = ',', default_value = "quarters,halves,single")]
    designs: Vec<Tables>,

    /// Bytes per block of fpstore
    #[arg(long, value_delimiter = ',', default_value = "512,1024")]
    block_bytes: Vec<u32>,

    /// Number of queries: a quarter stored, a half with up to three flips, a quarter uniform
    #[arg(long, default_value = "20000", value_parser = data::parse_count)]
    queries: usize,

    /// Ask in ascending order, as a batch may
    #[arg(long)]
    sorted: bool,

    /// Radii for which fpstore is compared with brute force, besides the comparison at 3
    #[arg(long, value_delimiter = ',', default_value = "3")]
    k: Vec<u32>,

    /// Rounds over all engines
    #[arg(long, default_value = "3", value_parser = data::parse_count)]
    rounds: usize,

    /// Seconds that an engine may take for a pass over the queries before it gets fewer of them
    #[arg(long, default_value = "3")]
    seconds: f64,

    /// Numbers of reader threads that share a store of fpstore
    #[arg(long, value_delimiter = ',', default_value = "1", value_parser = data::parse_count)]
    threads: Vec<usize>,

    /// Compare the codes alone
    #[arg(long)]
    decode: bool,

    /// Memory in GiB for the engines that are measured together
    #[arg(long, default_value = "14")]
    memory: f64,

    /// Where the files are built
    #[arg(long, value_name = "DIRECTORY", default_value_os_t = std::env::temp_dir())]
    directory: PathBuf,

    /// Also write every figure to this file
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,

    /// Also write size and latency of every engine to this file, for `fpstore bench --overlay`
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("peers: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &Arguments) -> Result<()> {
    let mut kinds = kinds(arguments)?;
    let set = match &arguments.input {
        Some(path) => data::read(path)?,
        None => data::uniform(arguments.n),
    };
    if set.len() < LEAST_COUNT {
        return Err(format!("the set needs {LEAST_COUNT} distinct fingerprints at least").into());
    }
    engines::drop_repeated(&mut kinds, set.len());
    let mut queries = data::queries(&set, arguments.queries);
    if arguments.sorted {
        queries.sort_unstable();
    }
    let directory = tempfile::tempdir_in(&arguments.directory)?;
    let mut csv = Csv::create(arguments.csv.as_deref(), set.len())?;
    let mut json =
        Json::new(arguments.json.as_deref(), &set_name(arguments), set.len(), queries.len());
    let pass_limit = Duration::try_from_secs_f64(arguments.seconds)?;
    describe(arguments, set.len());

    if arguments.engines != ["none"] {
        println!("## Engines, k = {RADIUS}\n");
        let options = compare::Options {
            set: &set,
            queries: &queries,
            directory: directory.path(),
            rounds: arguments.rounds,
            pass_limit,
            memory_bytes: (arguments.memory * f64::from(1 << 30)) as u64,
        };
        compare::run(&kinds, &options, &mut csv, &mut json)?;
        json.finish()?;
    }
    if arguments.decode {
        decode::run(&set, directory.path(), arguments.rounds, &mut csv)?;
    }
    let (more_threads, more_radii) = (arguments.threads != [1], arguments.k != [RADIUS]);
    if more_threads || more_radii {
        let (designs, block_bytes) = (&arguments.designs, &arguments.block_bytes);
        let stores = stores::build(&set, designs, block_bytes, directory.path())?;
        if more_threads {
            threads::run(&stores, &queries, &arguments.threads, arguments.rounds, &mut csv)?;
        }
        if more_radii {
            let options = radius::Options {
                set: &set,
                queries: &queries,
                radii: &arguments.k,
                rounds: arguments.rounds,
                pass_limit,
            };
            radius::run(&stores, &options, &mut csv)?;
        }
    }
    Ok(())
}

/// The engines of the arguments, `fpstore` as every design with every size of blocks.
fn kinds(arguments: &Arguments) -> Result<Vec<Kind>> {
    let mut kinds = Vec::new();
    for name in &arguments.engines {
        match name.as_str() {
            // The raw arrays are always there.
            "raw" | "none" => {}
            "brute" => kinds.push(Kind::Brute),
            "mih-auto" => kinds.push(Kind::Mih(None)),
            "elias-fano" => kinds.push(Kind::EliasFano),
            "redb" => kinds.push(Kind::Redb),
            "fjall" => kinds.push(Kind::Fjall),
            "fpstore" => {
                for &block_bytes in &arguments.block_bytes {
                    let designs = arguments.designs.iter().cloned();
                    kinds.extend(designs.map(|layout| Kind::Fpstore { layout, block_bytes }));
                }
            }
            other => match other.strip_prefix("mih-").map(str::parse) {
                Some(Ok(blocks)) => kinds.push(Kind::Mih(Some(blocks))),
                _ => return Err(format!("there is no engine {other:?}; see --help").into()),
            },
        }
    }
    Ok(kinds)
}

fn set_name(arguments: &Arguments) -> String {
    match &arguments.input {
        Some(path) => {
            let name = path.file_name().unwrap_or(path.as_os_str());
            format!("distinct fingerprints of {}", name.display())
        }
        None => "uniform fingerprints".to_string(),
    }
}

fn describe(arguments: &Arguments, count: usize) {
    println!("# fpstore and its peers: {count} {}\n", set_name(arguments));
    println!(
        "Rounds: {}, over all engines in turn; the time of a query is its least in all rounds, with \
         {} ns for reading the clock. A pass of an engine takes {} s at most. Raw keys are compared \
         with {}. One thread.\n",
        arguments.rounds,
        latency::clock_nanoseconds(),
        arguments.seconds,
        Scanner::detect().name(),
    );
    if cfg!(target_arch = "x86_64") && !cfg!(all(target_feature = "bmi2", target_feature = "avx2"))
    {
        println!(
            "Compiled without RUSTFLAGS=\"{PEER_FLAGS}\": mih-rs, sux and pco may be slower than they \
             could be.\n"
        );
    }
}
