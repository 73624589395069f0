//! `fpstore query`: which stored fingerprints lie within distance k of each of these?

mod answers;
mod args;
mod arrivals;
mod ask;
mod explain;

use std::process::ExitCode;
use std::sync::Arc;

use fpstore::{Bytes, Error, Execution, Fingerprint, Snapshot, Store, width_of};

use answers::{Answers, Printer, Query};
pub use args::Args;
use args::{Shape, Wanted};
use arrivals::Arrivals;
use ask::Ask;
use fpstore_records::{Id, IdWish, Records, Source};

use crate::apart::Used;
use crate::failure::Failure;
use crate::feed;
use crate::interrupt::Stopper;
use crate::memory;
use crate::paths::name_of;
use crate::progress::{Finds, Progress, Step, Unit};
use crate::recipes::Recipes;
use crate::skipped::Skipped;
use crate::target::{self, Target};
use crate::width::{self, for_width};

/// Queries of a pipe that are answered together at most, so that those of a program that never
/// stops are answered too.
const ARRIVED: usize = 1 << 20;
/// Queries between two looks at the progress.
const TOLD: u64 = 1 << 12;
/// The share of memory that queries of a file take before they are answered.
const QUERY_SHARE: u64 = 16;

/// Answers all queries, and gives the exit code that says whether something matched.
pub fn run(args: Args) -> Result<ExitCode, Failure> {
    args.check()?;
    // The store says how many digits its fingerprints have.
    for_width!(width_of(&args.store)?, query(args))
}

fn query<F: Fingerprint>(args: Args) -> Result<ExitCode, Failure> {
    let queries = feed::of_arguments::<F>(&args.fingerprints, &args.reading.options(None, None))?;
    args.check_width::<F>()?;
    let opened = width::open_within::<F>(&args.store, args.limit())?;
    let store = args.times.of(opened.snapshot(), &args.store)?;
    if args.explain {
        let radius = args.radius.unwrap_or(store.radius());
        let matched = explain::explain(&store, &queries.fingerprints, radius)?;
        return Ok(if matched { ExitCode::SUCCESS } else { ExitCode::from(1) });
    }
    let wish = args.query_id_column.as_ref().map(|name| IdWish::texts(name));
    let reading = args.reading.beside_store(wish, Some(args.limit()));
    let source = match &args.from {
        Some(path) => {
            let mut source = Source::<F>::follow(path, &reading)?;
            if !source.is_live() {
                let mut recipes = Recipes::default();
                recipes.take(args.store.display(), store.recipe())?;
                recipes.take(name_of(path), source.recipe()?.as_deref())?;
            }
            Some(source)
        }
        None => None,
    };
    let used = Used::nothing().stores([&args.store]).files(&args.from);
    let target = args.target.claim(&used)?;
    let progress = Progress::new(
        args.globals.progress.beside_rows(false, target::is_terminal(target.as_ref())),
    );
    let stopper = Stopper::default();
    if target.is_some() {
        target::watch(&stopper, &progress, target.as_ref())?;
    }
    let wanted = args.wanted();
    let radius = match wanted {
        Wanted::Nearest(_) => args.radius.unwrap_or(F::BITS),
        _ => args.radius.unwrap_or(store.radius()),
    };
    let printer = Printer::new(&args, radius, &store, target.as_ref())?;
    let mut asker = Asker {
        opened: &opened,
        store,
        radius,
        wanted,
        args: &args,
        printer,
        progress,
        execution: Execution::new().threads(args.globals.threads.count()),
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

struct Asker<'a, F: Fingerprint> {
    opened: &'a Store<F>,
    /// What is asked: what the store held when it was last looked at.
    store: Snapshot<F>,
    radius: u32,
    wanted: Wanted,
    args: &'a Args,
    printer: Printer<'a, F>,
    progress: Progress,
    /// The threads of all batches.
    execution: Execution,
    /// Queries of a file that are answered, and their matches.
    answered: u64,
    matches: u64,
}

impl<F: Fingerprint> Asker<'_, F> {
    fn answer_all(
        &mut self,
        arguments: Records<F>,
        source: Option<Source<F>>,
    ) -> Result<(), Failure> {
        self.answer_together(&arguments, None)?;
        match source {
            Some(source) if source.is_live() => self.answer_pipe(source),
            Some(source) => self.answer_file(source),
            None => Ok(()),
        }
    }

    /// Answers what has arrived together, and at once when nothing more is there.
    fn answer_pipe(&mut self, source: Source<F>) -> Result<(), Failure> {
        let mut arrivals = Arrivals::of(source, ARRIVED, self.most_bytes() / 2)?;
        let (mut queries, mut skipped) = (Records::default(), Skipped::default());
        loop {
            queries.clear();
            let more = arrivals.take(&mut queries);
            self.look_again()?;
            // What stands before a fault is answered.
            self.answer_together(&queries, None)?;
            skipped.tell(&mut queries);
            if !more? {
                skipped.tell_count(queries.next_number());
                return Ok(());
            }
        }
    }

    /// Sees what was committed meanwhile, if that was not looked for just now.
    fn look_again(&mut self) -> Result<(), Failure> {
        if !self.opened.refresh_if_due()? {
            return Ok(());
        }
        let store = self.args.times.of(self.opened.snapshot(), &self.args.store)?;
        // Columns are those of the store as it was opened.
        if store.id_kind() != self.store.id_kind() {
            return Err(Failure::Usage(format!(
                "{}: was packed again, and its ids are others now; start the queries again",
                self.args.store.display()
            )));
        }
        self.printer.turn_to(&store);
        self.store = store;
        Ok(())
    }

    /// Bytes that queries may take before they are answered.
    fn most_bytes(&self) -> usize {
        usize::try_from(self.args.limit() / QUERY_SHARE).unwrap_or(usize::MAX)
    }

    /// Answers the queries of a file together, as many at once as the memory allows.
    fn answer_file(&mut self, mut source: Source<F>) -> Result<(), Failure> {
        let most = self.most_bytes();
        let (mut queries, mut skipped) = (Records::default(), Skipped::default());
        self.progress.start_reading(source.length());
        loop {
            queries.clear();
            let more = loop {
                let more = source.read(&mut queries);
                self.progress.beside(|| skipped.tell(&mut queries));
                let read = queries.fingerprints.len();
                self.progress.read(source.bytes_read(), self.answered + read as u64);
                if !matches!(more, Ok(true)) || queries.bytes() >= most {
                    break more;
                }
            };
            let total = match more {
                // What there is of it is all.
                Ok(false) | Err(_) => self.answered + queries.fingerprints.len() as u64,
                Ok(true) => 0,
            };
            // What stands before a fault is answered.
            self.answer_together(&queries, Some(total))?;
            if !more? {
                self.progress.beside(|| skipped.tell_count(queries.next_number()));
                return Ok(());
            }
        }
    }

    /// Answers queries and prints the answers. Tells how far it is where they are a piece of a
    /// file, of `total` queries, or 0 where there may be more.
    fn answer_together(&mut self, queries: &Records<F>, total: Option<u64>) -> Result<(), Failure> {
        let limit = self.args.limit();
        let memory = limit.saturating_sub(limit / QUERY_SHARE).max(limit.min(memory::LEAST));
        let ask = Ask {
            store: &self.store,
            k: self.radius,
            wanted: self.wanted,
            counts: self.args.form.shape == Shape::Count,
            execution: self.execution.clone().memory(memory),
            memory,
            pool: Arc::clone(&self.printer.pool),
        };
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
        let ran = ask.run(&queries.fingerprints, &mut |found| {
            let print = |answers: &mut Answers<F>| printer.print(answers);
            let count = found.count;
            answers.push(query_of(queries, found.query), found, print)?;
            if total.is_some() {
                *answered += 1;
                *matched += count;
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
        ran.map_err(with_room_for_queries)
    }
}

/// The error of a batch. What it needs is asked of `--memory`, of which queries take a share.
fn with_room_for_queries(failure: Failure) -> Failure {
    match failure {
        Failure::Store(Error::TooManyMatches { query, matches, needed, .. }) => {
            let needed = needed + needed.div_ceil(QUERY_SHARE - 1);
            Failure::Usage(format!(
                "query {query} has {matches} matches, for which --memory is to be at least {}; allow \
                 more, take the nearest (--limit), or only count them (--as count)",
                Bytes(needed)
            ))
        }
        other => other,
    }
}

/// The query of this number.
fn query_of<F: Fingerprint>(queries: &Records<F>, number: usize) -> Query<'_, F> {
    let id = match queries.ids.get(number) {
        Some(Id::Text(id)) => Some(id),
        _ => None,
    };
    Query { fingerprint: queries.fingerprints[number], id }
}
