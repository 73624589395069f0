//! `fpstore merge-pairs`: the outputs of several joins as one, sorted, each pair once.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use fpstore::{Fingerprint, files};
use fpstore_records::is_stdin;

use crate::apart::Used;
use crate::failure::Failure;
use crate::global::Globals;
use crate::interrupt::Stopper;
use crate::memory;
use crate::options::bits;
use crate::output::say;
use crate::pairs::{PairFormat, PairReader, PairSource, PairWriter, Sorter};
use crate::progress::{Finds, Progress, Step, Unit};
use crate::recipes::Recipes;
use crate::table;
use crate::target::{self, Target, TargetArgs};
use crate::width::{check_raw, for_width};

/// Rows between two looks at the progress.
const TOLD: u64 = 1 << 12;

const AFTER_HELP: &str = "\
Examples:
  fpstore merge-pairs pairs-*.tsv -o pairs.tsv
  fpstore merge-pairs pairs-*.bin --format u64le -o pairs.bin --memory 1GiB
  fpstore merge-pairs pairs-*.parquet -o pairs.parquet
  fpstore merge-pairs <(zstdcat a.zst) <(zstdcat b.zst) | cut -f 1,2

Takes what `fpstore join` wrote, and gives its rows ascending by a, then by b,
each pair once; the same whichever files they come from. Ids are kept; a pair
that comes with different ones ends the merge, as does a row that is cut or no
pair. TSV and Parquet are recognised. Raw integers have no mark, so that any
file would pass for them: --format u64le (u32le) says that all files hold some,
of 64 (32) bits unless --bits says otherwise. All but Parquet may come from
pipes. A row of TSV may have 16 MiB.

Fingerprints have 32, 64, 128 or 256 bits, as the first row tells, and the same
in all files.

Memory: 24 bytes per pair of 64 bits (16, 48 or 72 of 32, 128 or 256), and its
ids. What does not fit into SIZE is sorted in temporary files of no more bytes,
in DIR, of which nothing is left even if the merge is killed. Any number of
pairs and files may be merged.

FILE appears when it is whole; until then it is a temporary file beside it.

Exit codes: 0 if it is done, 2 on an error; 129, 130 and 143 if SIGHUP, SIGINT
or SIGTERM stopped it. A reader of the output that goes away ends it with 0.";

/// Merges the pairs of several joins, sorted and each once
#[derive(clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct Args {
    #[arg(skip)]
    pub globals: Globals,

    /// Files of pairs; `-` reads standard input
    #[arg(required = true, value_name = "FILES")]
    input: Vec<PathBuf>,

    /// Format of the input; raw integers are never guessed [default: tsv or parquet, as each file
    /// begins]
    #[arg(long, value_enum, hide_possible_values = true, value_name = "tsv|u64le|u32le|parquet")]
    format: Option<PairFormat>,

    /// Bits of the fingerprints of raw integers: 32, 64, 128 or 256 [default: 64; TSV and Parquet
    /// tell them]
    #[arg(long, value_name = "BITS", value_parser = bits)]
    bits: Option<u32>,

    /// How rows are written [default: as in the first file]
    #[arg(long = "as", value_enum, hide_possible_values = true)]
    #[arg(value_name = "tsv|u64le|u32le|parquet")]
    form: Option<PairFormat>,

    #[command(flatten)]
    target: TargetArgs,
}

/// Merges, and writes the pairs.
pub fn run(args: &Args) -> Result<(), Failure> {
    let limit = args.globals.memory_limit();
    memory::check_least("a merge of pairs", limit)?;
    // A file that comes twice changes nothing: pairs that do are one.
    if args.input.iter().filter(|path| is_stdin(path)).count() > 1 {
        let message = "standard input: can be read only once; give `-` once";
        return Err(Failure::Usage(message.to_string()));
    }
    let first = First::open(args, limit)?;
    let bits = args.bits.or(first.source.bits()).unwrap_or(u64::BITS);
    check_raw("merge-pairs", args.form.unwrap_or(first.format).raw(), bits)?;
    for_width!(bits, merge(args, first, limit))
}

/// The first file that holds something, else the last one.
struct First<'a> {
    source: PairSource,
    behind: &'a [PathBuf],
    /// That of the very first.
    format: PairFormat,
}

impl<'a> First<'a> {
    fn open(args: &'a Args, limit: u64) -> Result<Self, Failure> {
        let (mut behind, mut format) = (&args.input[..], None);
        loop {
            let Some((path, others)) = behind.split_first() else {
                // The command line has one of them.
                return Err(Failure::Usage("merge-pairs: give files of pairs".to_string()));
            };
            behind = others;
            let source = PairSource::open(path, args.format, limit)?;
            let format = *format.get_or_insert(source.format());
            if !source.is_empty() || behind.is_empty() {
                return Ok(Self { source, behind, format });
            }
        }
    }
}

fn merge<F: Fingerprint>(args: &Args, first: First<'_>, limit: u64) -> Result<(), Failure> {
    let start = Instant::now();
    let format = args.form.unwrap_or(first.format);
    if format == PairFormat::Parquet {
        table::check_parquet("merge-pairs", args.target.file().is_some())?;
    }
    let reader = first.source.reader::<F>()?;
    let target = args.target.claim(&Used::nothing().files(&args.input))?;
    let mode =
        args.globals.progress.beside_rows(args.globals.quiet, target::is_terminal(target.as_ref()));
    let (progress, stopper) = (Progress::new(mode), Stopper::default());
    target::watch(&stopper, &progress, target.as_ref())?;
    let mut sorter = Sorter::new(limit, &temporary_directory(args, target.as_ref()));
    let recipes = Recipes::default();
    let mut merging = Merging { args, format, limit, progress: &progress, ids: None, recipes };
    let read = merging.read(reader, first.behind, &mut sorter);
    let merged = read.and_then(|rows| {
        let strings = merging.ids.and_then(|ids| ids.strings);
        let recipe = merging.recipes.line();
        let mut output = PairWriter::new::<F>(format, strings, recipe, target.as_ref())?;
        let mut count = 0u64;
        let pairs = sorter.finish(&mut |row| {
            output.push(row)?;
            count += 1;
            if count.is_multiple_of(TOLD) {
                progress.found(count, output.written());
                progress.step(step(count, rows));
            }
            Ok(())
        })?;
        progress.found(pairs, output.finish()?);
        progress.step(step(pairs, pairs));
        Ok((rows, pairs))
    });
    progress.finish();
    let (rows, pairs) = merged?;
    stopper.commit(|| target.map_or(Ok(()), |target| target.commit()))?;
    if !args.globals.quiet {
        say!(
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

/// What all files have in common.
struct Merging<'a> {
    args: &'a Args,
    /// That of the output.
    format: PairFormat,
    limit: u64,
    progress: &'a Progress,
    /// Those of the first file with rows.
    ids: Option<FileIds>,
    /// Those of the files that say it.
    recipes: Recipes,
}

/// The ids of a file.
struct FileIds {
    name: String,
    there: bool,
    /// Whether they are strings, if the file says so.
    strings: Option<bool>,
}

impl Merging<'_> {
    /// Reads all rows; gives their number.
    fn read<F: Fingerprint>(
        &mut self,
        first: PairReader<F>,
        behind: &[PathBuf],
        sorter: &mut Sorter<F>,
    ) -> Result<u64, Failure> {
        let bytes = self.args.input.iter().map(|path| {
            let data = fs::metadata(path).ok().filter(|data| data.is_file());
            data.filter(|_| !is_stdin(path)).map(|data| data.len())
        });
        self.progress.start_reading(bytes.sum());
        let (mut rows, mut bytes_before) = (0u64, 0);
        let (format, limit) = (self.args.format, self.limit);
        let open = |path: &PathBuf| PairSource::open(path, format, limit)?.reader();
        for reader in std::iter::once(Ok(first)).chain(behind.iter().map(open)) {
            let mut reader: PairReader<F> = reader?;
            self.recipes.take(reader.name(), reader.recipe().as_deref())?;
            let mut in_file = 0u64;
            while let Some(row) = reader.next()? {
                let has_ids = !row.rest.is_empty();
                sorter.push(row)?;
                if in_file == 0 {
                    self.check(&reader, has_ids)?;
                }
                in_file += 1;
                if in_file.is_multiple_of(TOLD) {
                    self.progress.read(bytes_before + reader.bytes_read(), rows + in_file);
                }
            }
            rows += in_file;
            bytes_before += reader.bytes_read();
            self.progress.read(bytes_before, rows);
        }
        Ok(rows)
    }

    /// Finds ids that do not go together, or have no room in the output.
    fn check<F: Fingerprint>(
        &mut self,
        reader: &PairReader<F>,
        there: bool,
    ) -> Result<(), Failure> {
        let fail = |what: String| Err(Failure::Usage(format!("merge-pairs: {what}")));
        let (name, strings) = (reader.name(), reader.id_strings());
        match (self.format, self.format.raw()) {
            (_, Some(raw)) if there => {
                return fail(format!("{raw} has no room for ids; give --as tsv"));
            }
            (PairFormat::Parquet, _) if there && strings.is_none() => {
                return fail(format!(
                    "{name}: ids in TSV may be numbers or strings; join with --as parquet, or \
                     give --as tsv"
                ));
            }
            _ => {}
        }
        let Some(first) = &self.ids else {
            self.ids = Some(FileIds { name: name.to_string(), there, strings });
            return Ok(());
        };
        if first.there != there {
            let names = (first.name.as_str(), name);
            let (with, without) = if there { (names.1, names.0) } else { names };
            return fail(format!(
                "{with} has ids and {without} has none; join all shards with ids (--as), or none"
            ));
        }
        if first.strings.zip(strings).is_some_and(|(first, strings)| first != strings) {
            return fail(format!(
                "the ids of {} and {name} are not of one kind; join all shards of one state of \
                 the stores",
                first.name
            ));
        }
        Ok(())
    }
}

fn temporary_directory(args: &Args, target: Option<&Target>) -> PathBuf {
    match (&args.globals.tmp_dir, target.and_then(Target::place)) {
        (Some(directory), _) => directory.clone(),
        (None, Some(place)) => files::parent(place).to_path_buf(),
        (None, None) => env::temp_dir(),
    }
}
