//! The arguments of `query`.

use std::path::PathBuf;

use clap::ValueEnum;

use fpstore::Fingerprint;

use crate::failure::Failure;
use crate::ids::IdOutputArgs;
use crate::input::InputArgs;
use crate::memory::{self, Size};
use crate::options::any_radius;
use crate::progress::ProgressArgs;
use crate::table::{self, TableArgs};
use crate::target::TargetArgs;
use crate::threads::ThreadArgs;
use crate::times::TimesArgs;
use crate::width::check_radius;

const AFTER_HELP: &str = "\
Examples:
  fpstore query photos.fps 8f3ac41e09b7d265 0x1f
  fpstore query photos.fps --from new.txt -k 6 > pairs.tsv
  hasher photo.jpg | fpstore query photos.fps --from - --output json
  fpstore query photos.fps --from new.parquet --fingerprint-column phash
  fpstore query photos.fps 8f3ac41e09b7d265 -k 0 > /dev/null && echo known
  fpstore query pages.fps 8f3ac41e09b7d265 --limit-ids 10
  fpstore query photos.fps --from millions.u64 --memory 1GiB --output count
  fpstore query photos.fps --from new.csv --query-id-column url --header
  fpstore query photos.fps --from new.parquet --output parquet --to matches.parquet
  fpstore query photos.fps --from new.txt --nearest 10
  fpstore query photos.fps --from new.txt --any | grep -c true

Output, in the order of the queries:
  tsv    a row for each match: query, match, distance, separated by tabs;
         ordered by distance, then by value; none for a query without a match;
         where the store has ids, a fourth field: those of the match,
         ascending, separated by commas, `...` at the end if there are more
         than --limit-ids
  count  a row for each query: query, number of matches
  json   an object for each query, on a line of its own:
{\"query\":\"8f3ac41e09b7d265\",\"matches\":[{\"fingerprint\":\"8f3ac41e09b7d264\",\"distance\":1}]}
         with ids each match has also \"ids\":[\"0\",\"17\"], which are strings,
         and \"more_ids\":true if there are more than --limit-ids
  parquet  a row for each match: columns query, match (UInt64; UInt32 of 32 bits,
         FixedSizeBinary of more than 64), distance (UInt8; UInt16 of 256 bits),
         and where the store has ids ids: lists of UInt64, or of strings where
         they are names; needs --to

--nearest N gives the N nearest fingerprints, whatever their distance; with -k
those within it. --limit N gives of the matches within the distance the N nearest.
Of those at the same distance the lesser values come first, and count counts what
is given. --any gives a row, an object (\"any\":true) or a row of Parquet (any) for
each query: whether something matches. That takes the least time.

With --query-id-column each query keeps its own id, as a string: in tsv and count
in a field before the query, in json as \"query_id\", in parquet as a column
query_id. Queries among the arguments have none.

Ids are printed as the store has them, numbers or names: names of text in tsv with
\\t, \\n, \\r, \\, and \\\\ for tab, line ends, comma and backslash.

Fingerprints are printed in all of their hexadecimal digits, lower-case (16 of 64
bits), or as --fingerprints says. Those among the arguments are hexadecimal as
well: 12 is 0x12, the decimal 18. With --format dec they are decimal; 0 and 1 as
often as they have bits are binary. `fpstore --help` explains the formats of FILE.

Queries from a pipe are answered as they come: those that are there together, and
at once when no more are; --format auto then judges from what the first read
brings. A query sees all that was committed 0.1 seconds or more before it came,
also by other processes; what `insert --durability group` writes is committed some
50 ms after it was read. A --since such as 7d counts from the start of the command.
Those of a file are answered together: one by one, or in one pass over the store, past
all queries, whichever is predicted to take less time (of 128 and 256 bits always one by
one). What does not fit into SIZE is answered in several
pieces, one behind the other, so that nothing needs to be spilled. A query whose own
matches do not fit is an error; --limit and --output count need no room for them.

--explain searches in one segment after the other, and prints a line for each. Paths are
  hot index  fingerprints in memory, which searches before have put there
  tables     blocks of sorted tables
  filters    the same, where something may match by the first bits of all keys,
             which searches that waited for the disk have put into memory
  parts      rows of a base, by tables of parts
  scan       all of it
blocks were scanned, and some decoded; runs and keys are those of a hot index, rows
those of a base. What was written last stands in no segment, and is left out.

Exit codes: 0 if something matched, 1 if nothing did, 2 on an error. If the
reader of the output goes away, query ends without a message, with the exit
code of what matched so far.";

/// Finds all stored fingerprints within a Hamming distance
#[derive(clap::Args)]
#[command(after_long_help = AFTER_HELP, allow_negative_numbers = true)]
pub struct Args {
    /// The directory that `fpstore pack` wrote
    pub(super) store: PathBuf,

    /// Fingerprints to look for: hexadecimal, all digits or 0x in front; or decimal with --format
    /// dec
    #[arg(value_name = "FP")]
    pub(super) fingerprints: Vec<String>,

    /// Read fingerprints to look for from a file; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub(super) from: Option<PathBuf>,

    /// The greatest distance of a match, 0 to the bits of a fingerprint [default: that which the store
    /// was packed for]
    #[arg(short = 'k', value_name = "K", value_parser = any_radius, allow_negative_numbers = true)]
    pub(super) radius: Option<u32>,

    /// The N nearest fingerprints, at any distance, or within that of -k
    #[arg(long, value_name = "N", conflicts_with_all = ["limit", "any"])]
    pub(super) nearest: Option<usize>,

    /// At most N matches of each query, the nearest ones
    #[arg(long, value_name = "N", conflicts_with = "any")]
    pub(super) limit: Option<usize>,

    /// Only whether anything matches
    #[arg(long, conflicts_with_all = ["no_ids", "limit_ids"])]
    pub(super) any: bool,

    /// How each segment is searched: the way, its predicted time, what it took, and what was looked
    /// at
    #[arg(long, conflicts_with_all = ["from", "nearest", "limit", "any", "output", "to"])]
    #[arg(hide_short_help = true)]
    pub(super) explain: bool,

    /// What to print
    #[arg(long, value_enum, default_value = "tsv", hide_possible_values = true)]
    #[arg(value_name = "tsv|json|count|parquet")]
    pub(super) output: Shape,

    #[command(flatten)]
    pub(super) target: TargetArgs,

    #[command(flatten)]
    pub(super) table: TableArgs,

    #[command(flatten)]
    pub(super) threads: ThreadArgs,

    /// The most memory that the queries of a file take [default: a quarter of what there is]
    #[arg(long, value_name = "SIZE", requires = "from")]
    #[arg(hide_short_help = true)]
    pub(super) memory: Option<Size>,

    #[command(flatten)]
    pub(super) progress: ProgressArgs,

    /// Column of the ids of the queries themselves, in tables and JSON; every output has them
    #[arg(long, value_name = "NAME", help_heading = "Ids", requires = "from")]
    #[arg(hide_short_help = true)]
    pub(super) query_id_column: Option<String>,

    /// Print no ids
    #[arg(long, help_heading = "Ids", conflicts_with_all = ["limit_ids"])]
    #[arg(hide_short_help = true)]
    pub(super) no_ids: bool,

    #[command(flatten)]
    pub(super) times: TimesArgs,

    #[command(flatten)]
    pub(super) id_output: IdOutputArgs,

    #[command(flatten)]
    pub(super) reading: InputArgs,
}

/// What is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Shape {
    Tsv,
    Json,
    Count,
    Parquet,
}

impl Args {
    /// Finds options that do not go together.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let fail = |message: &str| Err(Failure::Usage(format!("query: {message}")));
        if self.fingerprints.is_empty() && self.from.is_none() {
            return fail(
                "no fingerprints to look for; name some after STORE, or give --from FILE (--from - \
                 for standard input)",
            );
        }
        if self.any && self.output == Shape::Count {
            return fail("--any gives no counts; give --output tsv, json or parquet");
        }
        let is_tsv = matches!(self.output, Shape::Tsv | Shape::Count);
        self.table.check("query", is_tsv, None)?;
        match self.output {
            Shape::Parquet => table::check_parquet("query", self.target.file().is_some()),
            _ => Ok(()),
        }
    }

    /// Finds options that do not go with the width of fingerprints.
    pub(super) fn check_width<F: Fingerprint>(&self) -> Result<(), Failure> {
        let bits = F::BITS;
        check_radius("query", self.radius, bits)?;
        self.table.check_width("query", bits)?;
        Ok(())
    }

    /// The most memory that the queries of a file take.
    pub(super) fn limit(&self) -> u64 {
        self.memory.map_or_else(memory::default_limit, |size| size.0)
    }

    /// What is wanted of each query.
    pub(super) fn wanted(&self) -> Wanted {
        match (self.any, self.nearest, self.limit) {
            (true, ..) => Wanted::Any,
            (false, Some(count), _) => Wanted::Nearest(count),
            (false, None, Some(count)) => Wanted::Most(count),
            (false, None, None) => Wanted::All,
        }
    }
}

/// What is wanted of each query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// All matches.
    All,
    /// So many at most, the nearest.
    Most(usize),
    /// So many, at any distance.
    Nearest(usize),
    /// Whether there is one.
    Any,
}
