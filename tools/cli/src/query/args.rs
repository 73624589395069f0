//! The arguments of `query`.

use std::path::PathBuf;

use clap::ValueEnum;

use fpstore::Fingerprint;

use crate::failure::Failure;
use crate::global::Globals;
use crate::ids::IdOutputArgs;
use crate::input::InputArgs;
use crate::options::any_radius;
use crate::table::{self, As};
use crate::target::TargetArgs;
use crate::times::TimesArgs;
use crate::width::check_radius;

const AFTER_HELP: &str = "\
Examples:
  fpstore query photos.fps 8f3ac41e09b7d265 0x1f
  fpstore query photos.fps --from new.txt -k 6 > pairs.tsv
  hasher photo.jpg | fpstore query photos.fps --from - --as json
  fpstore query photos.fps 8f3ac41e09b7d265 -k 0 > /dev/null && echo known
  fpstore query photos.fps --from new.csv --query-id-column url --as tsv,header
  fpstore query photos.fps --from new.parquet --as parquet -o matches.parquet
  fpstore query photos.fps --from new.txt --nearest 10

Output, in the order of the queries:
  tsv      a row for each match: query, match, distance, and ids if there are
           any, separated by commas, `...` where there are more than --limit-ids
  json     a line for each query, such as
{\"query\":\"8f3ac41e09b7d265\",\"matches\":[{\"fingerprint\":\"8f3ac41e09b7d264\",\"distance\":1}]}
           with \"ids\":[\"0\",\"17\"] in each match, and \"more_ids\":true if cut
  count    a row for each query: query, number of matches
  parquet  a row for each match: query, match, distance, ids; needs -o
Words behind it: header; hex, u64 or i64 (how fingerprints are written); any
(only whether something matches, which takes the least time).

Matches are ordered by distance, then by value. Fingerprints among the
arguments are hexadecimal: 12 is 0x12; with --format dec they are decimal. In
tsv \\t, \\n, \\r, \\, and \\ stand in ids for tab, line ends, comma and backslash.

Queries of a pipe are answered as they come, and see what was committed 0.1
seconds before. Those of a file are answered together, in pieces that fit into
--memory.

Exit codes: 0 if something matched, 1 if nothing did, 2 on an error.";

/// Finds all stored fingerprints within a Hamming distance
#[derive(clap::Args)]
#[command(after_long_help = AFTER_HELP, allow_negative_numbers = true)]
pub struct Args {
    #[arg(skip)]
    pub globals: Globals,

    /// The directory that `fpstore pack` wrote
    pub(super) store: PathBuf,

    /// Fingerprints to look for: hexadecimal, all digits or 0x in front; or decimal with --format
    /// dec
    #[arg(value_name = "FP")]
    pub(super) fingerprints: Vec<String>,

    /// Read fingerprints to look for from a file; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub(super) from: Option<PathBuf>,

    /// The greatest distance of a match, 0 to the bits of a fingerprint [default: that which the
    /// store was packed for]
    #[arg(short = 'k', value_name = "K", value_parser = any_radius, allow_negative_numbers = true)]
    pub(super) radius: Option<u32>,

    /// The N nearest fingerprints, at any distance, or within that of -k
    #[arg(long, value_name = "N", conflicts_with = "limit")]
    pub(super) nearest: Option<usize>,

    /// At most N matches of each query, the nearest ones
    #[arg(long, value_name = "N")]
    pub(super) limit: Option<usize>,

    /// How each segment is searched: the way, its predicted time, what it took, and what was looked
    /// at
    #[arg(long, conflicts_with_all = ["from", "nearest", "limit", "form", "output"])]
    #[arg(hide_short_help = true)]
    pub(super) explain: bool,

    /// How rows are written: a format, and words such as header, any and u64, as in `tsv,header`
    #[arg(long = "as", default_value = "tsv", value_parser = As::<Shape>::parse)]
    #[arg(value_name = "tsv|json|count|parquet[,WORD]")]
    pub form: As<Shape>,

    #[command(flatten)]
    pub(super) target: TargetArgs,

    /// Column of the ids of the queries themselves, in tables and JSON; every output has them
    #[arg(long, value_name = "NAME", help_heading = "Ids", requires = "from")]
    #[arg(hide_short_help = true)]
    pub(super) query_id_column: Option<String>,

    #[command(flatten)]
    pub(super) times: TimesArgs,

    #[command(flatten)]
    pub(super) id_output: IdOutputArgs,

    #[command(flatten)]
    pub(super) reading: InputArgs,
}

/// What is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shape {
    Tsv,
    Json,
    Count,
    Parquet,
}

impl table::Shape for Shape {
    const WORDS: &'static [&'static str] = &["header", "hex", "u64", "i64", "any"];
    const JSON: Option<Self> = Some(Shape::Json);
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
        let limits = self.nearest.or(self.limit).is_some() || self.id_output.limit_ids.is_some();
        match (self.form.any, self.form.shape) {
            (true, Shape::Count) => {
                return fail("any gives no counts; give --as any, json,any or parquet,any");
            }
            (true, _) if limits => {
                return fail("any has no limits; leave --nearest, --limit and --limit-ids out");
            }
            _ => {}
        }
        let is_tsv = matches!(self.form.shape, Shape::Tsv | Shape::Count);
        self.form.table.check("query", is_tsv, None)?;
        match self.form.shape {
            Shape::Parquet => table::check_parquet("query", self.target.file().is_some()),
            _ => Ok(()),
        }
    }

    /// Finds options that do not go with the width of fingerprints.
    pub(super) fn check_width<F: Fingerprint>(&self) -> Result<(), Failure> {
        let bits = F::BITS;
        check_radius("query", self.radius, bits)?;
        self.form.table.check_width("query", bits)?;
        Ok(())
    }

    /// The most memory that the queries of a file take.
    pub(super) fn limit(&self) -> u64 {
        self.globals.memory_limit()
    }

    /// What is wanted of each query.
    pub(super) fn wanted(&self) -> Wanted {
        match (self.form.any, self.nearest, self.limit) {
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
