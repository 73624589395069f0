//! `fpstore merge-pairs`: the outputs of several joins as one, sorted, each pair once.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::failure::Failure;
use crate::input::is_stdin;
use crate::interrupt::Stopper;
use crate::memory::{self, Size};
use crate::pairs::{self, PairFormat, PairReader, Sorter};
use crate::progress::{Finds, Mode, Progress, Step, Unit};
use crate::target::{self, TargetArgs};

/// Rows between two looks at the progress.
const TOLD: u64 = 1 << 12;

const AFTER_HELP: &str = "\
Examples:
  fpstore merge-pairs pairs-*.tsv --to pairs.tsv
  fpstore merge-pairs pairs-*.bin --output u64le --to pairs.bin --memory 1GiB
  fpstore merge-pairs <(zstdcat a.zst) <(zstdcat b.zst) | cut -f 1,2

Takes what `fpstore join` wrote with --output tsv or u64le, in files or from
pipes, and gives its rows ascending by a, then by b, each pair once; the same
whichever files they come from. Ids in TSV are kept; a pair that comes with
different ones ends the merge, as does a row that is cut or no pair.

Memory: 24 bytes per pair, and its ids. What does not fit into SIZE is sorted in
temporary files of 24 bytes per pair and its ids, in DIR, of which nothing is
left even if the merge is killed. Any number of pairs and files may be merged.

FILE appears when it is whole; until then it is FILE.part.

Exit codes: 0 if it is done, 2 on an error, 130 and 143 if SIGINT or SIGTERM
stopped it. A reader of the output that goes away ends it with 0.";

/// Merges the pairs of several joins, sorted and each once
#[derive(clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct Args {
    /// Files of pairs; `-` reads standard input
    #[arg(required = true, value_name = "FILES")]
    input: Vec<PathBuf>,

    /// Format of the input [default: judged for each file from its first bytes]
    #[arg(long, value_enum, hide_possible_values = true, value_name = "tsv|u64le")]
    format: Option<PairFormat>,

    /// What to write [default: as the first file]
    #[arg(long, value_enum, hide_possible_values = true, value_name = "tsv|u64le")]
    output: Option<PairFormat>,

    #[command(flatten)]
    target: TargetArgs,

    /// The most memory to take, such as 4GiB [default: a quarter of what there is]
    #[arg(long, value_name = "SIZE")]
    memory: Option<Size>,

    /// Where temporary files go [default: where FILE is, or the system's place for them]
    #[arg(long, value_name = "DIR")]
    tmp_dir: Option<PathBuf>,

    /// How progress is shown: as a bar on a terminal, or as lines of JSON on standard error
    #[arg(long, value_enum, value_name = "auto|json|none", hide_possible_values = true)]
    progress: Option<Mode>,

    /// No progress but that of --progress, and no summary on standard error
    #[arg(short, long)]
    quiet: bool,
}

/// Merges, and writes the pairs.
pub fn run(args: &Args) -> Result<(), Failure> {
    let start = Instant::now();
    let limit = args.memory.map_or_else(memory::default_limit, |size| size.0);
    if limit < memory::LEAST {
        let message = "merge-pairs: memory is at least 16 MiB; give more (--memory)";
        return Err(Failure::Usage(message.to_string()));
    }
    if args.input.iter().filter(|path| is_stdin(path)).count() > 1 {
        let message = "standard input: can be read only once; give `-` once";
        return Err(Failure::Usage(message.to_string()));
    }
    let target = args.target.claim()?;
    let mode = Mode::beside_rows(args.progress, args.quiet, target.is_some());
    let (progress, stopper) = (Progress::new(mode), Stopper::default());
    target::watch(&stopper, &progress, target.as_ref())?;
    let mut sorter = Sorter::new(limit, &temporary_directory(args));
    let read = read(args, &mut sorter, &progress);
    let merged = read.and_then(|(rows, format)| {
        let mut output = target::output(target.as_ref())?;
        let (mut text, mut count) = (Vec::new(), 0u64);
        let pairs = sorter.finish(&mut |row| {
            pairs::push(&mut text, format, row.a, row.b);
            if format == PairFormat::Tsv {
                text.extend_from_slice(row.rest);
                text.push(b'\n');
            }
            output.take(&mut text)?;
            count += 1;
            if count.is_multiple_of(TOLD) {
                progress.found(count, output.written());
                progress.step(step(count, rows));
            }
            Ok(())
        })?;
        output.flush()?;
        progress.found(pairs, output.written());
        progress.step(step(pairs, pairs));
        Ok((rows, pairs))
    });
    progress.finish();
    let (rows, pairs) = merged?;
    stopper.commit(|| target.map_or(Ok(()), |target| target.commit()))?;
    if !args.quiet {
        eprintln!(
            "fpstore: {pairs} pairs of {rows} rows in {} file{}, {:.2} seconds",
            args.input.len(),
            if args.input.len() == 1 { "" } else { "s" },
            start.elapsed().as_secs_f64()
        );
    }
    Ok(())
}

fn step(done: u64, total: u64) -> Step {
    Step { phase: "merge", unit: Unit::Pairs, done, total, finds: Finds::Pairs }
}

/// Reads all rows; gives their number, and the format of the output.
fn read(
    args: &Args,
    sorter: &mut Sorter,
    progress: &Progress,
) -> Result<(u64, PairFormat), Failure> {
    let bytes = args.input.iter().map(|path| {
        let data = fs::metadata(path).ok().filter(|data| data.is_file());
        data.filter(|_| !is_stdin(path)).map(|data| data.len())
    });
    progress.start_reading(bytes.sum());
    let (mut rows, mut bytes_before, mut output) = (0u64, 0, args.output);
    // Whether rows have ids, and where that was seen.
    let mut first: Option<(bool, String)> = None;
    for path in &args.input {
        let mut reader = PairReader::open(path, args.format)?;
        let format = *output.get_or_insert(reader.format());
        let mut in_file = 0u64;
        while let Some(row) = reader.next()? {
            let has_ids = !row.rest.is_empty();
            if has_ids && format == PairFormat::U64le {
                let message = "merge-pairs: --output u64le has no room for ids; give --output tsv";
                return Err(Failure::Usage(message.to_string()));
            }
            sorter.push(row)?;
            if in_file == 0 {
                match &first {
                    Some((ids, name)) if *ids != has_ids => {
                        let (with, without) = match has_ids {
                            true => (reader.name(), name.as_str()),
                            false => (name.as_str(), reader.name()),
                        };
                        return Err(Failure::Usage(format!(
                            "merge-pairs: {with} has ids and {without} has none; join all shards \
                             with --ids, or none"
                        )));
                    }
                    Some(_) => {}
                    None => first = Some((has_ids, reader.name().to_string())),
                }
            }
            in_file += 1;
            if in_file.is_multiple_of(TOLD) {
                progress.read(bytes_before + reader.bytes_read(), rows + in_file);
            }
        }
        rows += in_file;
        bytes_before += reader.bytes_read();
        progress.read(bytes_before, rows);
    }
    Ok((rows, output.unwrap_or(PairFormat::Tsv)))
}

fn temporary_directory(args: &Args) -> PathBuf {
    let beside = args.target.to.as_ref().and_then(|path| path.parent());
    match (&args.tmp_dir, beside) {
        (Some(directory), _) => directory.clone(),
        (None, Some(directory)) if directory.as_os_str().is_empty() => Path::new(".").into(),
        (None, Some(directory)) => directory.to_path_buf(),
        (None, None) => env::temp_dir(),
    }
}
