//! `fpstore dump`: all fingerprints of a store, in ascending order, with their ids.

use std::path::PathBuf;

use clap::ValueEnum;
use fpstore::Store;

use crate::failure::Failure;
use crate::id_map::IdMap;
use crate::ids::{IdOutputArgs, IdPrinter, IdShape};
use crate::output::{Output, hex};
use crate::progress::{Finds, Mode, Progress, Step, Unit};

/// Fingerprints between two looks at the progress.
const TOLD: u64 = 1 << 16;

const AFTER_HELP: &str = "\
Examples:
  fpstore dump photos.fps | head
  fpstore dump photos.fps --output u64le > sorted.bin
  fpstore dump a.fps | fpstore pack - b.txt -o both.fps
  fpstore dump pages.fps --ids --id-map pages.ids

Output, ascending by fingerprint:
  hex    a row for each: 16 hexadecimal digits; with --ids a tab and the ids
         behind them, separated by commas, written as `fpstore query --help` says
  u64le  raw little-endian integers of 8 bytes, without ids
  json   an object on each line; ids are strings:
{\"fingerprint\":\"8f3ac41e09b7d264\",\"ids\":[\"0\",\"17\"]}";

/// Prints all fingerprints of a store, ascending
#[derive(clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct Args {
    /// The directory that `fpstore pack` wrote
    store: PathBuf,

    /// What to print
    #[arg(long, value_enum, default_value = "hex", hide_possible_values = true)]
    #[arg(value_name = "hex|u64le|json")]
    output: Shape,

    /// How progress is shown: as a bar on a terminal, or as lines of JSON on standard error
    #[arg(long, value_enum, value_name = "auto|json|none", hide_possible_values = true)]
    progress: Option<Mode>,

    /// Print the ids of each fingerprint as well
    #[arg(long)]
    ids: bool,

    #[command(flatten)]
    id_output: IdOutputArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Shape {
    Hex,
    U64le,
    Json,
}

/// Prints the fingerprints.
pub fn run(args: &Args) -> Result<(), Failure> {
    let ids = args.ids || args.id_output.id_map.is_some();
    if ids && args.output == Shape::U64le {
        let message = "dump: --output u64le has no room for ids; give --output hex or json";
        return Err(Failure::Usage(message.to_string()));
    }
    let store = Store::open(&args.store)?;
    if ids && !store.has_ids() {
        return Err(Failure::Usage(format!(
            "{}: has no ids; leave --ids out",
            args.store.display()
        )));
    }
    let map = args.id_output.open_map(&store)?;
    if ids {
        args.id_output.hint(&store);
    }
    let progress = Progress::new(Mode::beside_rows(args.progress, false, false));
    let result = print(args, &store, map.as_ref(), &progress);
    progress.finish();
    result
}

fn print(
    args: &Args,
    store: &Store,
    map: Option<&IdMap>,
    progress: &Progress,
) -> Result<(), Failure> {
    let ids = args.ids || map.is_some();
    let mut printer = ids.then(|| IdPrinter::new(store, map, &args.id_output));
    let (mut output, mut text) = (Output::stdout(), Vec::new());
    let (mut plain, mut with_ids) = match ids {
        true => (None, Some(store.iter_with_ids())),
        false => (Some(store.iter()), None),
    };
    let mut next = || match (&mut plain, &mut with_ids) {
        (Some(plain), _) => plain.next().map(|next| next.map(|fingerprint| (fingerprint, None))),
        (None, Some(with_ids)) => {
            with_ids.next().map(|next| next.map(|(fingerprint, ids)| (fingerprint, Some(ids))))
        }
        (None, None) => None,
    };
    let (mut done, total) = (0u64, store.len());
    while let Some(next) = next() {
        let (fingerprint, mut ids) = next?;
        done += 1;
        if done.is_multiple_of(TOLD) || done == total {
            progress.found(0, output.written());
            let (unit, finds) = (Unit::Fingerprints, Finds::Nothing);
            progress.step(Step { phase: "dump", unit, done, total, finds });
        }
        let digits = hex(fingerprint);
        let mut print_ids =
            |text: &mut Vec<u8>, before: &[u8], shape| match (&mut printer, ids.take()) {
                (Some(printer), Some(ids)) => {
                    text.extend_from_slice(before);
                    printer.print_ids(ids, shape, text, &mut |text| output.take(text))
                }
                _ => Ok(()),
            };
        match args.output {
            Shape::Hex => {
                text.extend_from_slice(&digits);
                print_ids(&mut text, b"\t", IdShape::Tsv)?;
                text.push(b'\n');
            }
            Shape::U64le => text.extend_from_slice(&fingerprint.to_le_bytes()),
            Shape::Json => {
                text.extend_from_slice(b"{\"fingerprint\":\"");
                text.extend_from_slice(&digits);
                text.push(b'"');
                print_ids(&mut text, b",", IdShape::Json)?;
                text.extend_from_slice(b"}\n");
            }
        }
        output.take(&mut text)?;
    }
    output.flush()
}
