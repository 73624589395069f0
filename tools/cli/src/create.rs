//! `fpstore create`: an empty store that is written to.

use std::path::PathBuf;

use fpstore::{Error, Fingerprint, IdKind, StoreOptions, WriterOptions};

use crate::failure::Failure;
use crate::global::Globals;
use crate::options::{DEFAULT_K, LayoutArgs, bits};
use crate::output::{Output, check_summary};
use crate::recipes;
use crate::record_ids::id_kind;
use crate::times::{self, Length};
use crate::width::{check_radius, for_width};

const AFTER_HELP: &str = "\
Examples:
  fpstore create pages.fps --id-type text
  fpstore create news.fps --window 1d            forget them day by day
  fpstore create hashes.fps --id-type none -k 6 --design quarters
  fpstore create pdq.fps --bits 256 -k 31

The store takes `insert`, `delete`, `merge` and `expire`, and may be queried at
any time meanwhile. One that `pack` wrote takes them as well.

With --window each record has a time, that of its insertion if none is given,
and of that the window is known: `query`, `join`, `dedup` and `dump` look only
at those of --since and --until, and `expire` drops old windows at once. A
segment holds one window, so that windows should be so long that there are not
more than some hundred.

`pack --help` tells of designs and blocks. Small segments have one table
whatever the design.";

/// Creates an empty store for insertions
#[derive(clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct Args {
    #[arg(skip)]
    pub globals: Globals,

    /// The store: a new or empty directory
    store: PathBuf,

    /// Bits of a fingerprint: 32, 64, 128 or 256 [default: what the recipe tells, or 64]
    #[arg(long, value_name = "BITS", value_parser = bits)]
    bits: Option<u32>,

    #[command(flatten)]
    layout: LayoutArgs,

    /// By which recipe the fingerprints will be made: the name of a preset of `fpstore fingerprint
    /// --list`, its line, or a line of your own such as `pdq/1`
    #[arg(long, value_name = "LINE", value_parser = recipes::line)]
    recipe: Option<String>,

    /// What fingerprints have as ids: numbers of up to 64 or 128 bits, text such as URLs, UUIDs, or
    /// keys of so many bytes, such as key:20
    #[arg(long = "id-type", value_parser = Ids::parse, default_value = "number")]
    #[arg(value_name = "none|number|number128|text|uuid|key:BYTES")]
    ids: Ids,

    /// Keep records by windows of time of this length, such as 1d, 12h, 90m or 3600s
    #[arg(long, value_name = "LENGTH")]
    window: Option<Length>,
}

/// What fingerprints have as ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ids(Option<IdKind>);

impl Ids {
    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(Self(None)),
            _ => id_kind(text).map(|kind| Self(Some(kind))),
        }
    }
}

/// Creates the store.
pub fn run(args: &Args) -> Result<(), Failure> {
    let of_recipe = args.recipe.as_deref().and_then(recipes::bits);
    let bits = args.bits.or(of_recipe).unwrap_or(u64::BITS);
    recipes::check_bits(args.recipe.as_deref(), bits)?;
    check_radius("create", args.layout.radius, bits)?;
    for_width!(bits, create(args))
}

fn create<F: Fingerprint>(args: &Args) -> Result<(), Failure> {
    let k = args.recipe.as_deref().and_then(recipes::k).unwrap_or(DEFAULT_K);
    let k = args.layout.radius.unwrap_or(k);
    let options = StoreOptions::new()
        .width::<F>()
        .layout(args.layout.layout::<F>(k)?)
        .ids(args.ids.0)
        .window(args.window.map(|window| window.0))
        .writer(WriterOptions::new().background(false));
    let options = args.recipe.as_deref().into_iter().fold(options, StoreOptions::recipe);
    check_summary(!args.globals.quiet)?;
    let created = options.create(&args.store);
    let writer = created.map_err(|error| match error {
        Error::Exists { path, .. } => Failure::Usage(format!(
            "{}: a store exists here already; choose another place, or remove it",
            path.display()
        )),
        other => other.into(),
    })?;
    writer.close()?;
    let mut output = Output::stdout();
    if !args.globals.quiet {
        let ids = match args.ids.0 {
            None => "without ids".to_string(),
            Some(IdKind::Number) => "with ids".to_string(),
            Some(IdKind::Text) => "with names as ids".to_string(),
            Some(kind) => format!("with {kind} as ids"),
        };
        let windows = match args.window {
            Some(window) => format!(", windows of {}", times::length(window.0)),
            None => String::new(),
        };
        let width = match F::BITS {
            u64::BITS => String::new(),
            bits => format!(" fingerprints of {bits} bits,"),
        };
        output.line(&format!(
            "{}: created, empty,{width} {ids}, for k = {}{windows}",
            args.store.display(),
            k
        ))?;
    }
    output.flush()
}
