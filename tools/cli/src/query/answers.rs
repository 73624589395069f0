//! Answers, as they are printed.

use std::io::Write;
use std::sync::Arc;

use fpstore::{Fingerprint, Match, Snapshot};
use fpstore_records::tsv::push_escaped;
use rayon::ThreadPool;
use rayon::prelude::*;

use super::args::{Args, Shape};
use super::ask::Found;
use crate::failure::Failure;
use crate::ids::{IdPrinter, IdShape, Parts};
use crate::output::Output;
use crate::table::{self, Form};
#[cfg(feature = "parquet")]
use crate::table::{Kind, ParquetTable};
use crate::target::{self, Target};

/// Queries whose answers are put together by one task.
const TASK: usize = 32;

/// Prints answers in the order of the queries.
pub struct Printer<'a, F: Fingerprint> {
    args: &'a Args,
    store: Snapshot<F>,
    /// Where answers are put together.
    pub pool: Arc<ThreadPool>,
    to: To,
    /// Whether something matched so far.
    pub matched: bool,
}

/// Where answers go.
enum To {
    Text(Output),
    #[cfg(feature = "parquet")]
    Parquet(Box<ParquetTable>),
}

/// A query, with its own id if it has one.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a, F> {
    /// What is looked for.
    pub fingerprint: F,
    /// What it is called.
    pub id: Option<&'a str>,
}

/// Matches that are put together at a time: what is printed of them takes some MiB.
const TOGETHER: usize = 1 << 16;

/// Queries and their matches, one query after the other.
#[derive(Default)]
pub struct Answers<F> {
    queries: Vec<Asked<F>>,
    /// The ids of the queries up to the last that has one.
    ids: Vec<Option<Box<str>>>,
    matches: Vec<Match<F>>,
}

/// What is printed of a query at a time.
#[derive(Clone, Copy)]
struct Asked<F> {
    fingerprint: F,
    /// Where its matches end, among those of all.
    end: usize,
    /// How many it has, whether they are printed or not.
    count: u64,
    /// Whether some of its matches came before, and whether some follow.
    goes_on: bool,
    more: bool,
}

impl<F: Fingerprint> Answers<F> {
    /// Appends an answer. Calls `print` where there are so many that they should be printed.
    pub fn push(
        &mut self,
        query: Query<'_, F>,
        answer: Found<'_, F>,
        mut print: impl FnMut(&mut Self) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let (mut rest, mut goes_on) = (answer.matches, false);
        loop {
            let some = rest.split_off(..rest.len().min(TOGETHER)).unwrap_or_default();
            self.matches.extend_from_slice(some);
            if let Some(id) = query.id {
                self.ids.resize(self.queries.len(), None);
                self.ids.push(Some(id.into()));
            }
            let more = !rest.is_empty();
            self.queries.push(Asked {
                fingerprint: query.fingerprint,
                end: self.matches.len(),
                count: answer.count,
                goes_on,
                more,
            });
            goes_on = true;
            if self.queries.len() >= 1 << 12 || self.matches.len() >= TOGETHER {
                print(self)?;
            }
            if !more {
                return Ok(());
            }
        }
    }

    /// What is printed of a query, the query, and its matches.
    fn get(&self, number: usize) -> (Asked<F>, Query<'_, F>, &[Match<F>]) {
        let asked = self.queries[number];
        let start = number.checked_sub(1).map_or(0, |before| self.queries[before].end);
        let id = self.ids.get(number).and_then(Option::as_deref);
        (asked, Query { fingerprint: asked.fingerprint, id }, &self.matches[start..asked.end])
    }

    fn clear(&mut self) {
        self.queries.clear();
        self.ids.clear();
        self.matches.clear();
    }
}

impl<'a, F: Fingerprint> Printer<'a, F> {
    /// Prints to the target or to standard output, `k` is noted in Parquet.
    pub fn new(
        args: &'a Args,
        k: u32,
        store: &Snapshot<F>,
        target: Option<&Target>,
    ) -> Result<Self, Failure> {
        let pool = args.globals.threads.start_pool()?;
        let to = To::new(args, k, store, target)?;
        Ok(Self { args, store: store.clone(), pool, to, matched: false })
    }

    /// From now on prints ids of another moment of the same store.
    pub fn turn_to(&mut self, store: &Snapshot<F>) {
        self.store = store.clone();
    }

    /// Prints answers, sooner or later, and empties them.
    pub fn print(&mut self, answers: &mut Answers<F>) -> Result<(), Failure> {
        self.matched |= answers.queries.iter().any(|asked| asked.count > 0);
        let (args, store) = (self.args, &self.store.clone());
        let printer = || has_ids(args, store).then(|| IdPrinter::new(store, &args.id_output));
        match &mut self.to {
            To::Text(output) => {
                let texts: Vec<Result<Parts<F>, Failure>> = self.pool.install(|| {
                    let tasks = (0..answers.queries.len().div_ceil(TASK)).into_par_iter();
                    let text = |printer: &mut Option<IdPrinter<'_, F>>, task: usize| {
                        let (parts, printer) = (Parts::default(), printer.as_mut());
                        let mut writer = AnswerWriter { args, parts, printer };
                        for number in task * TASK..answers.queries.len().min((task + 1) * TASK) {
                            let (asked, query, matches) = answers.get(number);
                            writer.answer(asked, query, matches)?;
                        }
                        Ok(writer.parts)
                    };
                    tasks.map_init(printer, text).collect()
                });
                let mut printer = printer();
                let printers = printer.as_mut().map_or(&mut [][..], std::slice::from_mut);
                let id_shape = match args.form.shape {
                    Shape::Json => IdShape::Json,
                    _ => IdShape::Tsv,
                };
                for parts in texts {
                    parts?.print(output, id_shape, printers)?;
                }
            }
            #[cfg(feature = "parquet")]
            To::Parquet(table) => {
                let mut printer = printer();
                for number in 0..answers.queries.len() {
                    let (asked, query, matches) = answers.get(number);
                    if args.form.any {
                        if args.query_id_column.is_some() {
                            table.text(query.id)?;
                        }
                        table.fingerprint(query.fingerprint)?;
                        table.flag(asked.count > 0)?;
                        table.end_row()?;
                    }
                    for found in matches {
                        if args.query_id_column.is_some() {
                            table.text(query.id)?;
                        }
                        table.fingerprint(query.fingerprint)?;
                        table.fingerprint(found.fingerprint)?;
                        table.distance(found.distance)?;
                        if let Some(printer) = &mut printer {
                            let mut ids = printer.ids_of(found.fingerprint)?;
                            table.ids(printer, &mut ids)?;
                        }
                        table.end_row()?;
                    }
                }
            }
        }
        answers.clear();
        Ok(())
    }

    /// Bytes that were printed so far.
    pub fn written(&self) -> u64 {
        match &self.to {
            To::Text(output) => output.written(),
            #[cfg(feature = "parquet")]
            To::Parquet(table) => table.written(),
        }
    }

    /// Passes on everything that was printed, where somebody may wait for it.
    pub fn flush(&mut self) -> Result<(), Failure> {
        match &mut self.to {
            To::Text(output) => output.flush(),
            #[cfg(feature = "parquet")]
            To::Parquet(_) => Ok(()),
        }
    }

    /// Writes what is left.
    pub fn finish(self) -> Result<(), Failure> {
        match self.to {
            To::Text(mut output) => output.flush(),
            #[cfg(feature = "parquet")]
            To::Parquet(table) => table.finish().map(drop),
        }
    }
}

/// Whether ids of matches are printed.
pub fn has_ids<F: Fingerprint>(args: &Args, store: &Snapshot<F>) -> bool {
    store.has_ids() && args.id_output.limit_ids != Some(0) && !args.form.any
}

impl To {
    fn new<F: Fingerprint>(
        args: &Args,
        k: u32,
        store: &Snapshot<F>,
        target: Option<&Target>,
    ) -> Result<Self, Failure> {
        let named = args.query_id_column.is_some();
        #[cfg(feature = "parquet")]
        if let (Shape::Parquet, Some(target)) = (args.form.shape, target) {
            let (form, distance) = Kind::of::<F>(args.form.table.parquet::<F>());
            let mut columns = Vec::new();
            columns.extend(named.then_some(("query_id", Kind::Text)));
            columns.push(("query", form));
            match args.form.any {
                true => columns.push(("any", Kind::Flag)),
                false => columns.extend([("match", form), ("distance", distance)]),
            }
            let kind = store.id_kind().filter(|_| has_ids(args, store));
            columns.extend(kind.map(|kind| ("ids", Kind::Ids(kind))));
            let notes = table::notes(args.store.display(), k, store.recipe());
            let table = ParquetTable::new(target.file(0)?, &columns, &notes)?;
            return Ok(To::Parquet(Box::new(table)));
        }
        let _ = k;
        let mut output = target::output(target)?;
        if args.form.table.header {
            let names: &[&str] = match args.form.shape {
                _ if args.form.any => &["query_id", "query", "any"],
                Shape::Count => &["query_id", "query", "matches"],
                _ if has_ids(args, store) => &["query_id", "query", "match", "distance", "ids"],
                _ => &["query_id", "query", "match", "distance"],
            };
            output.bytes(&table::header(&names[usize::from(!named)..]))?;
        }
        Ok(To::Text(output))
    }
}

/// Puts answers together as text.
struct AnswerWriter<'a, 'b, F: Fingerprint> {
    args: &'a Args,
    parts: Parts<F>,
    printer: Option<&'a mut IdPrinter<'b, F>>,
}

impl<F: Fingerprint> AnswerWriter<'_, '_, F> {
    fn answer(
        &mut self,
        asked: Asked<F>,
        query: Query<'_, F>,
        matches: &[Match<F>],
    ) -> Result<(), Failure> {
        match self.args.form.shape {
            _ if self.args.form.any => self.any(query, asked.count > 0),
            Shape::Json => self.json(asked, query, matches),
            Shape::Count if asked.more => Ok(()),
            Shape::Count => {
                self.query(query);
                writeln!(self.parts.text, "\t{}", asked.count).map_err(Failure::Output)
            }
            _ => self.tsv(query, matches),
        }
    }

    fn form(&self) -> Form {
        self.args.form.table.text()
    }

    /// Begins a row: the id of the query, if queries have some, and the query.
    fn query(&mut self, query: Query<'_, F>) {
        if self.args.query_id_column.is_some() {
            push_escaped(&mut self.parts.text, query.id.unwrap_or_default());
            self.parts.text.push(b'\t');
        }
        self.form().push(&mut self.parts.text, query.fingerprint);
    }

    /// Whether something matches.
    fn any(&mut self, query: Query<'_, F>, any: bool) -> Result<(), Failure> {
        let written = match self.args.form.shape {
            Shape::Json => {
                self.json_start(query)?;
                writeln!(self.parts.text, ",\"any\":{any}}}")
            }
            _ => {
                self.query(query);
                writeln!(self.parts.text, "\t{any}")
            }
        };
        written.map_err(Failure::Output)
    }

    fn tsv(&mut self, query: Query<'_, F>, matches: &[Match<F>]) -> Result<(), Failure> {
        for found in matches {
            self.query(query);
            self.parts.text.push(b'\t');
            self.form().push(&mut self.parts.text, found.fingerprint);
            write!(self.parts.text, "\t{}", found.distance).map_err(Failure::Output)?;
            self.ids(found.fingerprint, b"\t", IdShape::Tsv)?;
            self.parts.text.push(b'\n');
        }
        Ok(())
    }

    fn json(
        &mut self,
        asked: Asked<F>,
        query: Query<'_, F>,
        matches: &[Match<F>],
    ) -> Result<(), Failure> {
        let form = self.form();
        if !asked.goes_on {
            self.json_start(query)?;
            self.parts.text.extend_from_slice(b",\"matches\":[");
        }
        for (number, found) in matches.iter().enumerate() {
            let first = number == 0 && !asked.goes_on;
            self.parts.text.extend_from_slice(if first { b"" } else { b"," });
            self.parts.text.extend_from_slice(b"{\"fingerprint\":\"");
            form.push(&mut self.parts.text, found.fingerprint);
            write!(self.parts.text, "\",\"distance\":{}", found.distance)
                .map_err(Failure::Output)?;
            self.ids(found.fingerprint, b",", IdShape::Json)?;
            self.parts.text.push(b'}');
        }
        if !asked.more {
            self.parts.text.extend_from_slice(b"]}\n");
        }
        Ok(())
    }

    /// Begins an object: the query.
    fn json_start(&mut self, query: Query<'_, F>) -> Result<(), Failure> {
        let form = self.form();
        let text = &mut self.parts.text;
        text.extend_from_slice(b"{\"query\":\"");
        form.push(text, query.fingerprint);
        text.push(b'"');
        if self.args.query_id_column.is_some() {
            text.extend_from_slice(b",\"query_id\":");
            let written = serde_json::to_writer(&mut *text, &query.id);
            written.map_err(|error| Failure::Output(error.into()))?;
        }
        Ok(())
    }

    /// Writes the ids of a match, if they are wanted.
    fn ids(&mut self, fingerprint: F, before: &[u8], shape: IdShape) -> Result<(), Failure> {
        let Some(printer) = &mut self.printer else { return Ok(()) };
        self.parts.text.extend_from_slice(before);
        self.parts.ids(printer, 0, fingerprint, shape)
    }
}
