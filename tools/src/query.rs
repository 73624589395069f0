//! `fpstore query`: which stored fingerprints lie within distance k of each of these?

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::ValueEnum;
use fpstore::{Match, Store};
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::failure::Failure;
use crate::id_map::IdMap;
use crate::ids::{IdOutputArgs, IdPrinter, IdShape};
use crate::input::{InputArgs, Records, Skipped, Source};
use crate::output::{Output, hex};

/// Queries from a pipe that are answered together: so few that none waits long for the others.
const LIVE_QUERIES: usize = 64;
/// Queries from a file that are answered together.
const CHUNK_QUERIES: usize = 4096;
/// More ids of one fingerprint than these are read while they are printed, and not kept.
const KEPT_IDS: u64 = 256;

const AFTER_HELP: &str = "\
Examples:
  fpstore query photos.fps 8f3ac41e09b7d265 0x1f
  fpstore query photos.fps --from new.txt -k 6 > pairs.tsv
  hasher photo.jpg | fpstore query photos.fps --from - --output json
  fpstore query photos.fps --from new.parquet --fingerprint-column phash
  fpstore query photos.fps 8f3ac41e09b7d265 -k 0 > /dev/null && echo known
  fpstore query pages.fps 8f3ac41e09b7d265 --limit-ids 10 --id-map pages.ids

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

With --id-map the strings are printed that `pack --id-map` kept; in tsv with
\\t, \\n, \\r, \\, and \\\\ for tab, line ends, comma and backslash.

Fingerprints are printed in 16 lower-case hexadecimal digits. `fpstore --help`
explains the formats in which they are read.

Queries from a pipe are answered line by line, as soon as each is there; auto
then judges the format from what the first read brings.

Exit codes: 0 if something matched, 1 if nothing did, 2 on an error. If the
reader of the output goes away, query ends without a message, with the exit
code of what matched so far.";

/// Finds all stored fingerprints within a Hamming distance
#[derive(clap::Args)]
#[command(after_long_help = AFTER_HELP, allow_negative_numbers = true)]
pub struct Args {
    /// The directory that `fpstore pack` wrote
    store: PathBuf,

    /// Fingerprints to look for, hexadecimal or decimal
    #[arg(value_name = "FP")]
    fingerprints: Vec<String>,

    /// Read fingerprints to look for from a file; `-` is standard input
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,

    /// The greatest distance of a match; over 64 is 64 [default: the radius that the store was
    /// packed for]
    #[arg(short = 'k', value_name = "K")]
    radius: Option<u32>,

    /// What to print
    #[arg(long, value_enum, default_value = "tsv", hide_possible_values = true)]
    #[arg(value_name = "tsv|json|count")]
    output: Shape,

    /// Threads to use, up to 1024; 0 for all cores
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u16).range(0..=1024))]
    #[arg(value_name = "N")]
    threads: u16,

    /// Print no ids
    #[arg(long, help_heading = "Ids", conflicts_with_all = ["limit_ids", "id_map"])]
    no_ids: bool,

    #[command(flatten)]
    id_output: IdOutputArgs,

    #[command(flatten)]
    reading: InputArgs,
}

/// What is printed.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Shape {
    Tsv,
    Json,
    Count,
}

/// Answers all queries, and gives the exit code that says whether something matched.
pub fn run(args: Args) -> Result<ExitCode, Failure> {
    if args.fingerprints.is_empty() && args.from.is_none() {
        let message = "query: no fingerprints to look for; name some after STORE, or give --from \
                       FILE (--from - for standard input)";
        return Err(Failure::Usage(message.to_string()));
    }
    let queries = arguments(&args)?;
    let store = Store::open(&args.store)?;
    let source = match &args.from {
        Some(path) => Some(Source::follow(path, &args.reading)?),
        None => None,
    };
    let map = args.id_output.open_map(&store)?;
    let mut asker = Asker {
        store: &store,
        map: map.as_ref(),
        ids: Some(&args.id_output).filter(|_| store.has_ids() && !args.no_ids),
        radius: args.radius.unwrap_or(store.radius()),
        shape: args.output,
        pool: pool(args.threads.into())?,
        output: Output::stdout(),
        matched: false,
    };
    match asker.answer_all(queries, source) {
        Ok(()) | Err(Failure::ClosedPipe) if asker.matched => Ok(ExitCode::SUCCESS),
        Ok(()) | Err(Failure::ClosedPipe) => Ok(ExitCode::from(1)),
        Err(failure) => Err(failure),
    }
}

/// The fingerprints among the arguments, all of which must be sound.
fn arguments(args: &Args) -> Result<Vec<u64>, Failure> {
    if args.fingerprints.is_empty() {
        return Ok(Vec::new());
    }
    if args.reading.is_raw() {
        let message = "argument 1: --format u64le is for bytes in a file; give --from FILE, or \
                       --format hex or dec for arguments";
        return Err(Failure::Usage(message.to_string()));
    }
    let mut queries = Records::default();
    let mut source = Source::arguments(&args.fingerprints, &args.reading)?;
    while source.read(&mut queries)? {}
    Ok(queries.fingerprints)
}

fn pool(threads: usize) -> Result<ThreadPool, Failure> {
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map_err(|error| {
        Failure::Usage(format!("--threads: cannot start the threads: {error}; give fewer"))
    })
}

struct Asker<'a> {
    store: &'a Store,
    map: Option<&'a IdMap>,
    /// Which ids are printed, if any.
    ids: Option<&'a IdOutputArgs>,
    radius: u32,
    shape: Shape,
    pool: ThreadPool,
    output: Output,
    matched: bool,
}

impl Asker<'_> {
    fn answer_all(&mut self, arguments: Vec<u64>, source: Option<Source>) -> Result<(), Failure> {
        self.answer(&arguments, false)?;
        let Some(mut source) = source else { return Ok(()) };
        let (mut queries, mut skipped) = (Records::default(), Skipped::default());
        loop {
            queries.clear();
            let more = source.read(&mut queries);
            // What stands before a fault is answered.
            self.answer(&queries.fingerprints, source.is_live())?;
            skipped.tell(&mut queries);
            if !more? {
                skipped.tell_count(queries.next_number());
                return Ok(());
            }
        }
    }

    fn answer(&mut self, queries: &[u64], live: bool) -> Result<(), Failure> {
        let together = if live { LIVE_QUERIES } else { CHUNK_QUERIES };
        let (store, map, ids) = (self.store, self.map, self.ids);
        let (radius, shape) = (self.radius, self.shape);
        let printer = || ids.map(|args| IdPrinter::new(store, map, args));
        for queries in queries.chunks(together) {
            let answers: Vec<Result<Answer, Failure>> = self.pool.install(|| {
                queries
                    .par_iter()
                    .map_init(
                        || (store.searcher(), printer()),
                        |(searcher, printer), &query| {
                            let matches = searcher.search(query, radius)?;
                            Answer::new(query, matches, shape, printer.as_mut())
                        },
                    )
                    .collect()
            });
            let mut printer = printer();
            for answer in answers {
                let answer = answer?;
                self.matched |= answer.matched;
                answer.print(&mut self.output, shape, printer.as_mut())?;
            }
            if live {
                self.output.flush()?;
            }
        }
        // The last flush finds out whether all of it could be written.
        self.output.flush()
    }
}

/// The answer to one query, as it is printed.
struct Answer {
    matched: bool,
    parts: Vec<Part>,
}

enum Part {
    Text(Vec<u8>),
    /// The ids of a fingerprint, which are many.
    Ids(u64),
}

impl Answer {
    fn new(
        query: u64,
        matches: &[Match],
        shape: Shape,
        printer: Option<&mut IdPrinter<'_>>,
    ) -> Result<Self, Failure> {
        let mut writer = AnswerWriter { parts: Vec::new(), text: Vec::new(), printer };
        match shape {
            Shape::Tsv => writer.tsv(query, matches)?,
            Shape::Json => writer.json(query, matches)?,
            Shape::Count => {
                writer.text.extend(hex(query));
                writeln!(writer.text, "\t{}", matches.len()).map_err(Failure::Output)?;
            }
        }
        writer.parts.push(Part::Text(writer.text));
        Ok(Self { matched: !matches.is_empty(), parts: writer.parts })
    }

    fn print(
        self,
        output: &mut Output,
        shape: Shape,
        mut printer: Option<&mut IdPrinter<'_>>,
    ) -> Result<(), Failure> {
        let shape = if let Shape::Json = shape { IdShape::Json } else { IdShape::Tsv };
        for part in self.parts {
            match (part, &mut printer) {
                (Part::Text(text), _) => output.bytes(&text)?,
                (Part::Ids(fingerprint), Some(printer)) => {
                    let mut text = Vec::new();
                    printer.print(fingerprint, shape, &mut text, &mut |text| output.take(text))?;
                    output.bytes(&text)?;
                }
                (Part::Ids(_), None) => {}
            }
        }
        Ok(())
    }
}

/// Puts an answer together.
struct AnswerWriter<'a, 'b> {
    parts: Vec<Part>,
    text: Vec<u8>,
    printer: Option<&'a mut IdPrinter<'b>>,
}

impl AnswerWriter<'_, '_> {
    fn tsv(&mut self, query: u64, matches: &[Match]) -> Result<(), Failure> {
        for found in matches {
            self.text.extend(hex(query));
            self.text.push(b'\t');
            self.text.extend(hex(found.fingerprint));
            write!(self.text, "\t{}", found.distance).map_err(Failure::Output)?;
            self.ids(found.fingerprint, b"\t", IdShape::Tsv)?;
            self.text.push(b'\n');
        }
        Ok(())
    }

    fn json(&mut self, query: u64, matches: &[Match]) -> Result<(), Failure> {
        self.text.extend_from_slice(b"{\"query\":\"");
        self.text.extend(hex(query));
        self.text.extend_from_slice(b"\",\"matches\":[");
        for (number, found) in matches.iter().enumerate() {
            self.text.extend_from_slice(if number > 0 { b"," } else { b"" });
            self.text.extend_from_slice(b"{\"fingerprint\":\"");
            self.text.extend(hex(found.fingerprint));
            write!(self.text, "\",\"distance\":{}", found.distance).map_err(Failure::Output)?;
            self.ids(found.fingerprint, b",", IdShape::Json)?;
            self.text.push(b'}');
        }
        self.text.extend_from_slice(b"]}\n");
        Ok(())
    }

    /// Writes the ids of a match, if they are wanted.
    fn ids(&mut self, fingerprint: u64, before: &[u8], shape: IdShape) -> Result<(), Failure> {
        let Some(printer) = &mut self.printer else { return Ok(()) };
        self.text.extend_from_slice(before);
        if printer.count(fingerprint)? > KEPT_IDS {
            self.parts.push(Part::Text(std::mem::take(&mut self.text)));
            self.parts.push(Part::Ids(fingerprint));
            return Ok(());
        }
        let mut rest = std::mem::take(&mut self.text);
        let printed = printer.print(fingerprint, shape, &mut rest, &mut |_| Ok(()));
        self.text = rest;
        printed
    }
}
