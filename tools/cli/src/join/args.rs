//! The options of `fpstore join`.

use std::path::PathBuf;
use std::str::FromStr;

use crate::ids::IdOutputArgs;
use crate::memory::Size;
use crate::options::any_radius;
use crate::pairs::PairFormat;
use crate::progress::ProgressArgs;
use crate::table::TableArgs;
use crate::target::TargetArgs;
use crate::threads::ThreadArgs;
use crate::times::TimesArgs;

const AFTER_HELP: &str = "\
Examples:
  fpstore join pages.fps > pairs.tsv             pairs within one store
  fpstore join pages.fps -k 6 --to pairs.tsv     another distance, into a file
  fpstore join new.fps pages.fps                 which new ones are known?
  fpstore join pages.fps --ids --id-map pages.ids
  fpstore join pages.fps --to pairs.tsv --resume --memory 1GiB
  for i in 0 1 2 3; do                           four machines, or processes
    fpstore join pages.fps --shard $i/4 --to pairs-$i.tsv &
  done; wait; fpstore merge-pairs pairs-?.tsv --to pairs.tsv

Output, a row for each pair of distinct fingerprints, each pair once. In a join
of one store with itself a < b; in a join of two, a is of the first store, b of
the second, and equal ones are pairs as well. The order of rows is left open;
`merge-pairs` sorts them.
  tsv      a, b, distance, separated by tabs; with --ids two more fields: the
           ids of a and those of b, written as `fpstore query --help` says
  u64le    a and b as raw little-endian integers of 8 bytes, without ids; of
           fingerprints of 128 and 256 bits 2 and 4, the most significant one first
  u32le    the same of 4 bytes, for fingerprints of 32 bits
  parquet  columns a, b (UInt64, of 32 bits UInt32, of 128 and 256 bytes), distance
           (UInt8, of 256 bits UInt16); with --ids lists a_ids and b_ids of
           UInt64, or of strings with --id-map; needs --to
`dedup --pairs` and `merge-pairs` read all of them; tsv as it is without
--fingerprints, with --header or without.

Memory: twice its own bytes for each fingerprint of both stores (16 of 64 bits),
and some 20 MiB. What does not fit into SIZE is joined range by range of a; with r ranges the store is read
some r / 2 times. No pair is held back.

Shards: --shard I/N gives those pairs whose a lies in the range with number I,
from 0 to N - 1, of N ranges. They depend on the store alone, so that any machine
with a copy of it can take one. The first has most work.

FILE appears when it is whole; until then it is a temporary file beside it, which
goes if the join is stopped or fails. With --resume it is FILE.part, which stays,
and FILE.resume notes each range that is done: the same command goes on behind
the last one, after SIGINT, SIGTERM, SIGHUP, kill -9 or a full disk. --memory decides how large ranges are, and may
differ from run to run; where all fits into it there is one range.

Exit codes: 0 if it is done, also where there are no pairs; 2 on an error; 129,
130 and 143 if SIGHUP, SIGINT or SIGTERM stopped it. A reader of the output that
goes away ends it with 0.";

/// Finds all pairs of fingerprints within a Hamming distance, of one store or of two
#[derive(clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct Args {
    /// The store whose fingerprints are paired
    #[arg(value_name = "A")]
    pub(super) store: PathBuf,

    /// The store that they are paired with [default: A itself]
    #[arg(value_name = "B")]
    pub(super) other: Option<PathBuf>,

    /// The greatest distance of a pair, 0 to the bits of a fingerprint [default: that which A was packed for]
    #[arg(short = 'k', value_name = "K", value_parser = any_radius, allow_negative_numbers = true)]
    pub(super) radius: Option<u32>,

    /// What to write
    #[arg(long, value_enum, default_value = "tsv", hide_possible_values = true)]
    #[arg(value_name = "tsv|u64le|u32le|parquet")]
    pub(super) output: PairFormat,

    #[command(flatten)]
    pub(super) target: TargetArgs,

    #[command(flatten)]
    pub(super) table: TableArgs,

    /// Note in FILE.resume what is done, and go on where this command was stopped
    #[arg(long, requires = "to")]
    pub(super) resume: bool,

    /// Join one of N shards only; I counts from 0
    #[arg(long, value_name = "I/N", default_value = "0/1", hide_default_value = true)]
    pub(super) shard: Shard,

    #[command(flatten)]
    pub(super) threads: ThreadArgs,

    /// The most memory to take, such as 4GiB [default: a quarter of what there is]
    #[arg(long, value_name = "SIZE")]
    pub(super) memory: Option<Size>,

    #[command(flatten)]
    pub(super) progress: ProgressArgs,

    /// No progress but that of --progress, and no summary on standard error
    #[arg(short, long)]
    pub(super) quiet: bool,

    /// Write the ids of both fingerprints as well
    #[arg(long, help_heading = "Ids")]
    pub(super) ids: bool,

    #[command(flatten)]
    pub(super) times: TimesArgs,

    #[command(flatten)]
    pub(super) id_output: IdOutputArgs,

    /// The same for store B
    #[arg(long, value_name = "FILE", help_heading = "Ids", requires = "other")]
    pub(super) id_map_b: Option<PathBuf>,
}

/// One of several shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shard {
    pub(super) index: u64,
    pub(super) count: u64,
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let shard = text.split_once('/').and_then(|(index, count)| {
            Some(Self { index: index.parse().ok()?, count: count.parse().ok()? })
        });
        match shard {
            Some(shard) if shard.index < shard.count => Ok(shard),
            Some(Shard { count: 0, .. }) => Err("there is at least one shard".to_string()),
            Some(Shard { count, .. }) => {
                Err(format!("{count} shards have the numbers 0 to {}", count - 1))
            }
            None => Err("a shard is its number and that of all, such as 0/4".to_string()),
        }
    }
}
