//! `fpstore query`: which stored fingerprints lie within distance k of each of these?

mod answers;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::ValueEnum;
use fpstore::{Batch, BatchPlan, Execution, Snapshot, Store};

use answers::{Answers, Printer, Query};

use crate::failure::Failure;
use crate::feed;
use crate::ids::IdOutputArgs;
use crate::input::{Id, IdKind, IdWish, InputArgs, Records, Skipped, Source};
use crate::interrupt::Stopper;
use crate::memory::{self, Size};
use crate::options::radius;
use crate::progress::{Finds, Mode, Progress, Step, Unit};
use crate::table::{self, TableArgs};
use crate::target::{self, Target, TargetArgs};
use crate::times::TimesArgs;

/// Queries from a pipe that are answered together: so few that none waits long for the others.
const LIVE_QUERIES: usize = 64;
/// Queries among the arguments that are answered together.
const CHUNK_QUERIES: usize = 4096;
/// Queries between two looks at the progress.
const TOLD: u64 = 1 << 12;
/// The share of memory that queries of a file take before they are answered.
const QUERY_SHARE: u64 = 16;

const AFTER_HELP: &str = "\
Examples:
  fpstore query photos.fps 8f3ac41e09b7d265 0x1f
  fpstore query photos.fps --from new.txt -k 6 > pairs.tsv
  hasher photo.jpg | fpstore query photos.fps --from - --output json
  fpstore query photos.fps --from new.parquet --fingerprint-column phash
  fpstore query photos.fps 8f3ac41e09b7d265 -k 0 > /dev/null && echo known
  fpstore query pages.fps 8f3ac41e09b7d265 --limit-ids 10 --id-map pages.ids
  fpstore query photos.fps --from millions.u64 --memory 1GiB --output count
  fpstore query photos.fps --from new.csv --query-id-column url --header
  fpstore query photos.fps --from new.parquet --output parquet --to matches.parquet

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
  parquet  a row for each match: columns query, match (UInt64), distance (UInt8),
         and where the store has ids ids: lists of UInt64, or of strings with
         --id-map; needs --to

With --query-id-column each query keeps its own id, as a string: in tsv and count
in a field before the query, in json as \"query_id\", in parquet as a column
query_id. Queries among the arguments have none.

With --id-map the strings are printed that `pack --id-map` kept; in tsv with
\\t, \\n, \\r, \\, and \\\\ for tab, line ends, comma and backslash.

Fingerprints are printed in 16 lower-case hexadecimal digits, or as --fingerprints
says. Those among the arguments are hexadecimal as well: 12 is 0x12, the decimal
18. With --format dec they are decimal. `fpstore --help` explains the formats of
FILE.

Queries from a pipe are answered line by line, as soon as each is there; auto
then judges the format from what the first read brings. Those of a file are
answered together, by the plan that is predicted to take the least time, or by
  single  one query after the other
  probe   each table is read once, with the queries in its order
  stream  the first table is read once, past tables of the queries in memory
The output is the same. What does not fit into SIZE is answered in several
pieces, one behind the other, so that nothing needs to be spilled.

Exit codes: 0 if something matched, 1 if nothing did, 2 on an error. If the
reader of the output goes away, query ends without a message, with the exit
code of what matched so far.";

/// Finds all stored fingerprints within a Hamming distance
#[derive(clap::Args)]
#[command(after_long_help = AFTER_HELP, allow_negative_numbers = true)]
pub struct Args {
    /// The directory that `fpstore pack` wrote
    store: PathBuf,

    /// Fingerprints to look for: hexadecimal, or decimal with --format dec
    #[arg(value_name = "FP")]
    fingerprints: Vec<String>,

    /// Read fingerprints to look for from a file; `-` is standard input
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,

    /// The greatest distance of a match, 0 to 64 [default: that which the store was packed for]
    #[arg(short = 'k', value_name = "K", value_parser = radius, allow_negative_numbers = true)]
    radius: Option<u32>,

    /// What to print
    #[arg(long, value_enum, default_value = "tsv", hide_possible_values = true)]
    #[arg(value_name = "tsv|json|count|parquet")]
    output: Shape,

    #[command(flatten)]
    target: TargetArgs,

    #[command(flatten)]
    table: TableArgs,

    /// Threads to use, up to 1024; 0 for all cores
    #[arg(short = 'j', long, default_value_t = 0, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u16).range(0..=1024))]
    threads: u16,

    /// How the queries of a file are answered
    #[arg(
        long,
        value_enum,
        default_value = "auto",
        hide_possible_values = true,
        requires = "from"
    )]
    #[arg(value_name = "auto|single|probe|stream")]
    plan: PlanArg,

    /// The most memory that the queries of a file take [default: a quarter of what there is]
    #[arg(long, value_name = "SIZE", requires = "from")]
    memory: Option<Size>,

    /// How progress is shown: as a bar on a terminal, or as lines of JSON on standard error
    #[arg(long, value_enum, value_name = "auto|json|none", hide_possible_values = true)]
    progress: Option<Mode>,

    /// Column of the ids of the queries themselves, in tables and JSON; every output has them
    #[arg(long, value_name = "NAME", help_heading = "Ids", requires = "from")]
    query_id_column: Option<String>,

    /// Print no ids
    #[arg(long, help_heading = "Ids", conflicts_with_all = ["limit_ids", "id_map"])]
    no_ids: bool,

    #[command(flatten)]
    times: TimesArgs,

    #[command(flatten)]
    id_output: IdOutputArgs,

    #[command(flatten)]
    reading: InputArgs,
}

/// What is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Shape {
    Tsv,
    Json,
    Count,
    Parquet,
}

/// How the queries of a file are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PlanArg {
    Auto,
    Single,
    Probe,
    Stream,
}

/// Answers all queries, and gives the exit code that says whether something matched.
pub fn run(args: Args) -> Result<ExitCode, Failure> {
    if args.fingerprints.is_empty() && args.from.is_none() {
        let message = "query: no fingerprints to look for; name some after STORE, or give --from \
                       FILE (--from - for standard input)";
        return Err(Failure::Usage(message.to_string()));
    }
    let is_tsv = matches!(args.output, Shape::Tsv | Shape::Count);
    args.table.check("query", is_tsv, None)?;
    if args.output == Shape::Parquet {
        table::check_parquet("query", args.target.to.is_some())?;
    }
    let queries = feed::of_arguments(&args.fingerprints, &args.reading)?;
    let opened = Store::open(&args.store)?;
    let store = args.times.of(opened.snapshot(), &args.store)?;
    let wish = args.query_id_column.as_ref().map(|name| IdWish::new(name, IdKind::Text));
    let reading = args.reading.with_ids(wish).with_memory(limit(&args));
    let source = match &args.from {
        Some(path) => Some(Source::follow(path, &reading)?),
        None => None,
    };
    if args.plan != PlanArg::Auto && source.as_ref().is_some_and(Source::is_live) {
        let message = "query: a pipe is answered line by line; leave --plan out, or give --from a \
                       file";
        return Err(Failure::Usage(message.to_string()));
    }
    let map = args.id_output.open_map(&opened)?;
    if args.output != Shape::Count && store.has_ids() && !args.no_ids {
        args.id_output.hint(&opened);
    }
    let target = args.target.claim()?;
    let progress = Progress::new(Mode::beside_rows(args.progress, false, target.is_some()));
    let stopper = Stopper::default();
    if target.is_some() {
        target::watch(&stopper, &progress, target.as_ref())?;
    }
    let radius = args.radius.unwrap_or(store.radius());
    let printer = Printer::new(&args, radius, &store, map.as_ref(), target.as_ref())?;
    let mut asker = Asker {
        store: &store,
        radius,
        args: &args,
        printer,
        progress,
        execution: Execution::new().threads(args.threads.into()),
        answered: 0,
        matches: 0,
    };
    let answered = asker.answer_all(queries, source);
    asker.progress.finish();
    let matched = asker.printer.matched;
    let written = answered.and_then(|()| {
        asker.printer.finish()?;
        stopper.commit(|| target.map_or(Ok(()), Target::commit))
    });
    match written {
        Ok(()) | Err(Failure::ClosedPipe) if matched => Ok(ExitCode::SUCCESS),
        Ok(()) | Err(Failure::ClosedPipe) => Ok(ExitCode::from(1)),
        Err(failure) => Err(failure),
    }
}

/// The most memory that the queries of a file take.
fn limit(args: &Args) -> u64 {
    args.memory.map_or_else(memory::default_limit, |size| size.0)
}

struct Asker<'a> {
    store: &'a Snapshot,
    radius: u32,
    args: &'a Args,
    printer: Printer<'a>,
    progress: Progress,
    /// The threads of all batches.
    execution: Execution,
    /// Queries of a file that are answered, and their matches.
    answered: u64,
    matches: u64,
}

/// Some queries of those that were read.
struct Asked<'a> {
    queries: &'a Records,
    fingerprints: &'a [u64],
    /// Number of the first one.
    first: usize,
}

impl Asker<'_> {
    fn answer_all(&mut self, arguments: Records, source: Option<Source>) -> Result<(), Failure> {
        self.answer(&arguments, false)?;
        match source {
            Some(source) if source.is_live() => self.answer_pipe(source),
            Some(source) => self.answer_file(source),
            None => Ok(()),
        }
    }

    fn answer_pipe(&mut self, mut source: Source) -> Result<(), Failure> {
        let (mut queries, mut skipped) = (Records::default(), Skipped::default());
        loop {
            queries.clear();
            let more = source.read(&mut queries);
            // What stands before a fault is answered.
            self.answer(&queries, true)?;
            skipped.tell(&mut queries);
            if !more? {
                skipped.tell_count(queries.next_number());
                return Ok(());
            }
        }
    }

    /// Answers queries one by one, some at a time.
    fn answer(&mut self, queries: &Records, live: bool) -> Result<(), Failure> {
        let together = if live { LIVE_QUERIES } else { CHUNK_QUERIES };
        let limit = limit(self.args);
        let mut first = 0;
        for fingerprints in queries.fingerprints.chunks(together) {
            let batch = self.store.batch(self.radius).plan(BatchPlan::Search);
            let asked = Asked { queries, fingerprints, first };
            self.answer_batch(batch, limit, asked, None)?;
            first += fingerprints.len();
        }
        Ok(())
    }

    /// Answers the queries of a file together, as many at once as the memory allows.
    fn answer_file(&mut self, mut source: Source) -> Result<(), Failure> {
        let limit = limit(self.args);
        let most = usize::try_from(limit / QUERY_SHARE / 8).unwrap_or(usize::MAX);
        let (mut queries, mut skipped) = (Records::default(), Skipped::default());
        self.progress.start_reading(source.length());
        loop {
            queries.clear();
            let more = loop {
                let more = source.read(&mut queries);
                self.progress.beside(|| skipped.tell(&mut queries));
                let read = queries.fingerprints.len();
                self.progress.read(source.bytes_read(), self.answered + read as u64);
                let bytes = 8 * read + queries.ids.bytes();
                if !matches!(more, Ok(true)) || bytes / 8 >= most {
                    break more;
                }
            };
            let total = match more {
                // What there is of it is all.
                Ok(false) | Err(_) => self.answered + queries.fingerprints.len() as u64,
                Ok(true) => 0,
            };
            // What stands before a fault is answered.
            self.answer_together(&queries, limit, total)?;
            if !more? {
                self.progress.beside(|| skipped.tell_count(queries.next_number()));
                return Ok(());
            }
        }
    }

    /// Answers a piece of a file of `total` queries, or 0 where there may be more.
    fn answer_together(
        &mut self,
        queries: &Records,
        limit: u64,
        total: u64,
    ) -> Result<(), Failure> {
        let rest = limit.saturating_sub(limit / QUERY_SHARE).max(limit.min(memory::LEAST));
        let batch = self.store.batch(self.radius);
        let batch = match self.args.plan {
            PlanArg::Auto => batch,
            PlanArg::Single => batch.plan(BatchPlan::Search),
            PlanArg::Probe => batch.plan(BatchPlan::Probe),
            PlanArg::Stream => batch.plan(BatchPlan::Stream),
        };
        let asked = Asked { queries, fingerprints: &queries.fingerprints, first: 0 };
        self.answer_batch(batch, rest, asked, Some(total))
    }

    /// Runs a batch and prints its answers. Tells how far it is where the queries are some of `total`.
    fn answer_batch(
        &mut self,
        batch: Batch,
        memory: u64,
        asked: Asked<'_>,
        total: Option<u64>,
    ) -> Result<(), Failure> {
        let Asked { queries, fingerprints, first } = asked;
        let mut batch = batch.execution(self.execution.clone().memory(memory));
        if let Shape::Count = self.args.output {
            batch = batch.limit(0);
        }
        let mut answers = Answers::default();
        let (printer, progress) = (&mut self.printer, &self.progress);
        let (answered, matched) = (&mut self.answered, &mut self.matches);
        let tell = |done, matches, bytes| {
            let Some(total) = total else { return };
            progress.found(matches, bytes);
            let (unit, finds) = (Unit::Queries, Finds::Matches);
            progress.step(Step { phase: "query", unit, done, total, finds });
        };
        // The first answers of a piece may take long.
        tell(*answered, *matched, printer.written());
        let ran = batch.run(fingerprints, |answer| -> Result<(), Failure> {
            let print = |answers: &mut Answers| printer.print(answers);
            answers.push(query(queries, first + answer.query), answer, print)?;
            if total.is_some() && !answer.more {
                *answered += 1;
                *matched += answer.count;
                if answered.is_multiple_of(TOLD) || Some(*answered) == total {
                    tell(*answered, *matched, printer.written());
                }
            }
            Ok(())
        });
        // What stands before a fault is answered.
        printer.print(&mut answers)?;
        // The flush finds out whether all of it could be written.
        printer.flush()?;
        ran?;
        Ok(())
    }
}

/// The query of this number.
fn query(queries: &Records, number: usize) -> Query<'_> {
    let id = match queries.ids.get(number) {
        Some(Id::Text(id)) => Some(id),
        _ => None,
    };
    Query { fingerprint: queries.fingerprints[number], id }
}
