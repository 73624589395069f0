//! The options of `fpstore insert`.

use std::path::PathBuf;

use clap::ValueEnum;

use crate::input::InputArgs;
use crate::options::any_radius;
use crate::progress::ProgressArgs;
use crate::recipes;
use crate::record_ids::RecordIdArgs;
use crate::table::TableArgs;
use crate::times::Moment;
use crate::writing::Durable;

const AFTER_HELP: &str = "\
Examples:
  fpstore insert pages.fps new.csv --id-column page_id
  fpstore insert hashes.fps a.txt b.bin
  hasher *.jpg | fpstore insert photos.fps - --ids line
  fpstore insert news.fps old.csv --id-column id --time 2026-11-20
  crawler | fpstore insert pages.fps - --format jsonl --id-column id \\
      -k 3 --unless-near > verdicts.tsv

Where the store has ids each record needs one, else none has. A record that is
stored already, with its id and in its window of time, is looked up, counted as
such, and not written again. With --ids line records are numbered. The numbers go on
behind the greatest id that the store ever had, so that none is given twice, also
when its record was deleted or expired. Skipped records count, and so do those that
--unless-near does not insert: of these the last ones of a command are free again.

--unless-near asks before it inserts: a record with a stored one within K, also
with one that the same command has inserted, is not inserted. For each record
there is a row, in the order of the records:
  tsv   id (where the store has ids), fingerprint, inserted or near, and of the
        nearest one fingerprint and distance, both empty where it was inserted;
        of several at that distance the least
  json  an object for each, on a line of its own:
{\"id\":\"7\",\"fingerprint\":\"8f3ac41e09b7d265\",\"verdict\":\"near\",
\"near\":\"8f3ac41e09b7d264\",\"distance\":1}
        which does not fit on one here; id, near and distance only where there
        are such
Records from a pipe are inserted as they come, and their rows are there at once.
All are inserted also where the reader of the rows goes away.

What was inserted is durable when the command ends, also where a bad record or
SIGHUP, SIGINT or SIGTERM ends it: then what came before stays. --durability says what a crash before that keeps:
  immediate  all of which a row was printed; else all but some 32,768 records
  group      all but the last 50 ms
  eventual   what segments hold
Other processes see a record after that as well. A crash never leaves a part of
what was inserted at once, nor a gap.

Readers are not disturbed. There is one writer at a time; a second one fails.
`fpstore --help` explains the formats of inputs.";

/// Inserts fingerprints into a store, all or those without a near one
#[derive(clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct Args {
    /// The store, which `create` or `pack` wrote
    pub(super) store: PathBuf,

    /// Files of fingerprints; `-` reads standard input
    #[arg(default_value = "-", hide_default_value = true)]
    pub(super) input: Vec<PathBuf>,

    /// Insert only what has no stored fingerprint within the distance, and print a row for each record
    #[arg(long)]
    pub(super) unless_near: bool,

    /// That distance, 0 to the bits of a fingerprint [default: that which the store was made for]
    #[arg(short = 'k', value_name = "K", value_parser = any_radius, allow_negative_numbers = true)]
    #[arg(requires = "unless_near")]
    pub(super) radius: Option<u32>,

    /// By which recipe the fingerprints were made; one of another store is refused [default: what the inputs say]
    #[arg(long, value_name = "LINE", value_parser = recipes::line)]
    #[arg(hide_short_help = true)]
    pub(super) recipe: Option<String>,

    /// How the rows of --unless-near are printed
    #[arg(long, value_enum, default_value = "tsv", hide_possible_values = true)]
    #[arg(value_name = "tsv|json", requires = "unless_near")]
    pub(super) output: Shape,

    #[command(flatten)]
    pub(super) table: TableArgs,

    /// What a crash keeps while the command runs
    #[arg(long, value_enum, default_value = "group", hide_possible_values = true)]
    #[arg(value_name = "immediate|group|eventual")]
    #[arg(hide_short_help = true)]
    pub(super) durability: Durable,

    /// The time of all records, where the store has windows: 2026-11-22, 2026-11-22T08:30:00Z,
    /// seconds since 1970, or how long ago: 7d; dates are those of UTC [default: now]
    #[arg(long, value_name = "TIME")]
    pub(super) time: Option<Moment>,

    #[command(flatten)]
    pub(super) progress: ProgressArgs,

    /// Print the summary as one JSON object
    #[arg(long, conflicts_with = "unless_near")]
    pub(super) json: bool,

    /// No progress but that of --progress, and no summary but that of --json
    #[arg(short, long)]
    pub(super) quiet: bool,

    #[command(flatten)]
    pub(super) ids: RecordIdArgs,

    /// The id of the first record with --ids line [default: the one behind the greatest that the
    /// store ever had]
    #[arg(long, value_name = "N", help_heading = "Ids")]
    #[arg(hide_short_help = true)]
    pub(super) first_id: Option<u64>,

    #[command(flatten)]
    pub(super) reading: InputArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Shape {
    Tsv,
    Json,
}
