//! `fpstore create`: an empty store that is written to.

use std::path::PathBuf;

use fpstore::{Design, StoreOptions, WriterOptions};

use crate::failure::Failure;
use crate::options::{Auto, CodecArg, radius};
use crate::output::Output;
use crate::times::{self, Length};

const AFTER_HELP: &str = "\
Examples:
  fpstore create pages.fps
  fpstore create news.fps --window 1d            forget them day by day
  fpstore create hashes.fps --no-ids -k 6 --design quarters

The store takes `insert`, `delete`, `merge` and `expire`, and may be queried at
any time meanwhile. One that `pack` wrote takes them as well.

With --window each record has a time, that of its insertion if none is given, and
of that the window is known: `query`, `join`, `dedup` and `dump` look only at
those of --since and --until, and `expire` drops old windows at once. A segment
holds one window, so that windows should be so long that there are not more than
some hundred.

`pack --help` tells of designs, blocks and codecs. Small segments have one table
whatever the design.";

/// Creates an empty store for insertions
#[derive(clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct Args {
    /// The store: a new or empty directory
    store: PathBuf,

    /// The distance that queries will mostly ask for, and their default
    #[arg(short = 'k', default_value_t = 3, value_name = "K")]
    #[arg(value_parser = radius, allow_negative_numbers = true)]
    radius: u32,

    /// Which tables segments have [auto: as planned for the distance]
    #[arg(long, default_value = "auto", value_name = "auto|NAME|W1,W2,...")]
    design: Auto<Design>,

    /// Bytes of a block: a power of two from 256 to 65536 [auto: as planned]
    #[arg(long, default_value = "auto", value_name = "auto|N")]
    block_bytes: Auto<u32>,

    /// How neighbours are told apart [auto: whichever is smaller]
    #[arg(long, default_value = "auto", value_enum, hide_possible_values = true)]
    #[arg(value_name = "auto|xor|gap")]
    codec: CodecArg,

    /// Low bits kept apart in a column: 0, 8, 16, 24 or 32 [auto: the most that cost at most 1%]
    #[arg(long, default_value = "auto", value_name = "auto|N")]
    low_bits: Auto<u32>,

    /// Fingerprints have no ids
    #[arg(long)]
    no_ids: bool,

    /// Keep records by windows of time of this length, such as 1d, 12h, 90m or 3600s
    #[arg(long, value_name = "LENGTH")]
    window: Option<Length>,

    /// Print nothing
    #[arg(short, long)]
    quiet: bool,
}

/// Creates the store.
pub fn run(args: &Args) -> Result<(), Failure> {
    let mut options = StoreOptions::new()
        .radius(args.radius)
        .codec(args.codec.given())
        .low_bits(args.low_bits.clone().given())
        .ids(!args.no_ids)
        .window(args.window.map(|window| window.0))
        .writer(WriterOptions::new().background(false));
    if let Some(design) = args.design.clone().given() {
        options = options.design(design);
    }
    if let Some(block_bytes) = args.block_bytes.clone().given() {
        options = options.block_bytes(block_bytes);
    }
    options.create(&args.store)?.close()?;
    let mut output = Output::stdout();
    if !args.quiet {
        let ids = if args.no_ids { "without ids" } else { "with ids" };
        let windows = match args.window {
            Some(window) => format!(", windows of {}", times::length(window.0)),
            None => String::new(),
        };
        output.line(&format!(
            "{}: created, empty, {ids}, for k = {}{windows}",
            args.store.display(),
            args.radius
        ))?;
    }
    output.flush()
}
