//! Answers, as they are printed.

use std::io::Write;

use fpstore::{Match, Store};
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use super::Shape;
use crate::failure::Failure;
use crate::id_map::IdMap;
use crate::ids::{IdOutputArgs, IdPrinter, IdShape, Parts};
use crate::output::{Output, hex};

/// Queries whose answers are put together by one task.
const TASK: usize = 32;

/// Prints answers in the order of the queries.
pub struct Printer<'a> {
    store: &'a Store,
    map: Option<&'a IdMap>,
    /// Which ids are printed, if any.
    ids: Option<&'a IdOutputArgs>,
    shape: Shape,
    /// Where answers are put together.
    pub pool: ThreadPool,
    output: Output,
    /// Whether something matched so far.
    pub matched: bool,
}

/// Queries and their matches, one query after the other.
#[derive(Default)]
pub struct Answers {
    /// Each query, and where its matches end.
    queries: Vec<(u64, usize)>,
    matches: Vec<Match>,
}

impl Answers {
    /// Appends an answer.
    pub fn push(&mut self, query: u64, matches: &[Match]) {
        self.matches.extend_from_slice(matches);
        self.queries.push((query, self.matches.len()));
    }

    /// Whether there are so many that they should be printed.
    pub fn are_many(&self) -> bool {
        self.queries.len() >= 1 << 12 || self.matches.len() >= 1 << 16
    }

    fn clear(&mut self) {
        self.queries.clear();
        self.matches.clear();
    }
}

impl<'a> Printer<'a> {
    /// Prints to standard output, with the strings of `map`.
    pub fn new(
        store: &'a Store,
        map: Option<&'a IdMap>,
        ids: Option<&'a IdOutputArgs>,
        shape: Shape,
        threads: usize,
    ) -> Result<Self, Failure> {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = pool.map_err(|error| {
            Failure::Usage(format!("--threads: cannot start the threads: {error}; give fewer"))
        })?;
        let output = Output::stdout();
        Ok(Self { store, map, ids, shape, pool, output, matched: false })
    }

    /// Prints answers, sooner or later, and empties them.
    pub fn print(&mut self, answers: &mut Answers) -> Result<(), Failure> {
        let (store, map, ids, shape) = (self.store, self.map, self.ids, self.shape);
        let printer = || ids.map(|args| IdPrinter::new(store, map, args));
        let matches = &answers.matches;
        let starts = |first: usize| first.checked_sub(1).map_or(0, |at| answers.queries[at].1);
        let texts: Vec<Result<Parts, Failure>> = self.pool.install(|| {
            let tasks = answers.queries.par_chunks(TASK).enumerate();
            let text = |printer: &mut Option<IdPrinter<'_>>, (task, queries): (usize, &[_])| {
                let mut writer =
                    AnswerWriter { parts: Parts::default(), printer: printer.as_mut() };
                let mut start = starts(task * TASK);
                for &(query, end) in queries {
                    writer.answer(shape, query, &matches[start..end])?;
                    start = end;
                }
                Ok(writer.parts)
            };
            tasks.map_init(printer, text).collect()
        });
        self.matched |= !answers.matches.is_empty();
        let mut printer = printer();
        let printers = printer.as_mut().map_or(&mut [][..], std::slice::from_mut);
        let id_shape = if let Shape::Json = shape { IdShape::Json } else { IdShape::Tsv };
        for parts in texts {
            parts?.print(&mut self.output, id_shape, printers)?;
        }
        answers.clear();
        Ok(())
    }

    /// Bytes that were printed so far.
    pub fn written(&self) -> u64 {
        self.output.written()
    }

    /// Passes on everything that was printed.
    pub fn flush(&mut self) -> Result<(), Failure> {
        self.output.flush()
    }
}

/// Puts answers together.
struct AnswerWriter<'a, 'b> {
    parts: Parts,
    printer: Option<&'a mut IdPrinter<'b>>,
}

impl AnswerWriter<'_, '_> {
    fn answer(&mut self, shape: Shape, query: u64, matches: &[Match]) -> Result<(), Failure> {
        match shape {
            Shape::Tsv => self.tsv(query, matches),
            Shape::Json => self.json(query, matches),
            Shape::Count => {
                self.parts.text.extend(hex(query));
                writeln!(self.parts.text, "\t{}", matches.len()).map_err(Failure::Output)
            }
        }
    }

    fn tsv(&mut self, query: u64, matches: &[Match]) -> Result<(), Failure> {
        for found in matches {
            self.parts.text.extend(hex(query));
            self.parts.text.push(b'\t');
            self.parts.text.extend(hex(found.fingerprint));
            write!(self.parts.text, "\t{}", found.distance).map_err(Failure::Output)?;
            self.ids(found.fingerprint, b"\t", IdShape::Tsv)?;
            self.parts.text.push(b'\n');
        }
        Ok(())
    }

    fn json(&mut self, query: u64, matches: &[Match]) -> Result<(), Failure> {
        self.parts.text.extend_from_slice(b"{\"query\":\"");
        self.parts.text.extend(hex(query));
        self.parts.text.extend_from_slice(b"\",\"matches\":[");
        for (number, found) in matches.iter().enumerate() {
            self.parts.text.extend_from_slice(if number > 0 { b"," } else { b"" });
            self.parts.text.extend_from_slice(b"{\"fingerprint\":\"");
            self.parts.text.extend(hex(found.fingerprint));
            write!(self.parts.text, "\",\"distance\":{}", found.distance)
                .map_err(Failure::Output)?;
            self.ids(found.fingerprint, b",", IdShape::Json)?;
            self.parts.text.push(b'}');
        }
        self.parts.text.extend_from_slice(b"]}\n");
        Ok(())
    }

    /// Writes the ids of a match, if they are wanted.
    fn ids(&mut self, fingerprint: u64, before: &[u8], shape: IdShape) -> Result<(), Failure> {
        let Some(printer) = &mut self.printer else { return Ok(()) };
        self.parts.text.extend_from_slice(before);
        self.parts.ids(printer, 0, fingerprint, shape)
    }
}
