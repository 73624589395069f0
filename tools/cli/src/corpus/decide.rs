//! `fpstore corpus decide`: decides again about documents that were read.

use std::path::PathBuf;
use std::time::Duration;

use fpstore_corpus::{Dedup, Keep, Shape, Stored};

use super::{end, help, monitor, progress, running, stoppable};
use crate::by_recipe::RecipeArgs;
use crate::failure::Failure;
use crate::global::Globals;
use crate::options::any_radius;
use crate::output::check_summary;

/// Decides again about the documents of corpus dedup, without reading them
#[derive(clap::Args)]
#[command(after_long_help = help::DECIDE)]
pub struct DecideArgs {
    /// The results of corpus dedup, which are replaced
    #[arg(value_name = "DIR")]
    results: PathBuf,

    /// The greatest distance of near duplicates, in bits [default: as it was]
    #[arg(short = 'k', value_name = "K", value_parser = any_radius)]
    radius: Option<u32>,

    /// Which document of a cluster is kept [default: as it was]
    #[arg(
        long,
        value_name = "longest|first|smallest-id|central|max:COLUMN|priority:COLUMN[=A,B,...]"
    )]
    keep: Option<Keep>,

    /// What a cluster is [default: as it was]
    #[arg(long, value_name = "star|components|complete")]
    clusters: Option<Shape>,

    /// The table of document frequencies, for recipes that weigh by them
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    table: Option<PathBuf>,

    /// How long to wait for another process that works in DIR, such as 10s
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    #[arg(hide_short_help = true)]
    wait: Option<Duration>,
}

/// Decides.
pub fn decide(args: &DecideArgs, globals: &Globals) -> Result<(), Failure> {
    check_summary(globals.json)?;
    let settings = Stored::settings(&args.results)?;
    let recipe = RecipeArgs { recipe: None, table: args.table.clone() };
    let mut dedup = Dedup::stored(&settings, recipe.fingerprinter(&settings.recipe)?)?;
    if let Some(k) = args.radius {
        dedup = dedup.k(k)?;
    }
    if let Some(keep) = &args.keep {
        dedup = dedup.keep(keep.clone());
    }
    if let Some(shape) = args.clusters {
        dedup = dedup.clusters(shape);
    }
    if let Some(most) = args.wait {
        dedup = dedup.wait(most);
    }
    let progress = progress(globals);
    let monitor = monitor(&progress, globals.quiet, &args.results);
    stoppable(&progress)?;
    let report = running(dedup, globals).monitor(monitor).again(&args.results);
    end(&progress, report, globals)
}
