//! `fpstore dump`: all fingerprints of a store, in ascending order.

use std::path::PathBuf;

use clap::ValueEnum;
use fpstore::Store;

use crate::failure::Failure;
use crate::output::{Output, hex};

const AFTER_HELP: &str = "\
Examples:
  fpstore dump photos.fps | head
  fpstore dump photos.fps --output u64le > sorted.bin
  fpstore dump a.fps | fpstore pack - b.txt -o both.fps";

/// Prints all fingerprints of a store, ascending
#[derive(clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct Args {
    /// The directory that `fpstore pack` wrote
    store: PathBuf,

    /// 16 hexadecimal digits per line, or raw little-endian integers of 8 bytes
    #[arg(long, value_enum, default_value = "hex", hide_possible_values = true)]
    #[arg(value_name = "hex|u64le")]
    output: Shape,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Shape {
    Hex,
    U64le,
}

/// Prints the fingerprints.
pub fn run(args: &Args) -> Result<(), Failure> {
    let store = Store::open(&args.store)?;
    let mut output = Output::stdout();
    for fingerprint in store.iter() {
        let fingerprint = fingerprint?;
        match args.output {
            Shape::Hex => {
                output.bytes(&hex(fingerprint))?;
                output.bytes(b"\n")?;
            }
            Shape::U64le => output.bytes(&fingerprint.to_le_bytes())?,
        }
    }
    output.flush()
}
