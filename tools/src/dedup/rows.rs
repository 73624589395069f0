//! The rows of fingerprints or ids with their clusters.

use std::io::Write;

use fpstore::{Clustered, Clusters, Ids, Store};

use super::{Args, Per, Shape};
use crate::failure::Failure;
use crate::id_map::IdMap;
use crate::ids::{IdPrinter, IdShape};
use crate::output::{Output, hex};
use crate::progress::{Finds, Progress, Step, Unit};

/// Fingerprints between two looks at the progress.
const TOLD: u64 = 1 << 12;
/// Bytes of rows that are passed on together.
const PASS_ON: usize = 1 << 15;

/// Writes all rows.
pub fn write(
    args: &Args,
    store: &Store,
    map: Option<&IdMap>,
    clusters: &Clusters,
    output: &mut Output,
    progress: &Progress,
) -> Result<(), Failure> {
    let printer = IdPrinter::new(store, map, &args.id_output);
    let mut writer = Writer { args, store, printer, text: Vec::new(), output };
    let summary = clusters.summary();
    let total = summary.fingerprints;
    for (next, done) in store.iter_with_ids().zip(1..) {
        let (fingerprint, ids) = next?;
        // The files of an open store do not change.
        let Some(at) = clusters.get(fingerprint) else { continue };
        match args.per {
            Per::Fingerprint => writer.fingerprint(at, ids)?,
            Per::Id => writer.ids(at, ids)?,
        }
        if writer.text.len() >= PASS_ON {
            writer.output.take(&mut writer.text)?;
        }
        if done == total || done.is_multiple_of(TOLD) {
            progress.found(summary.pairs, writer.output.written());
            let (unit, finds) = (Unit::Fingerprints, Finds::Pairs);
            progress.step(Step { phase: "write", unit, done, total, finds });
        }
    }
    writer.output.take(&mut writer.text)
}

struct Writer<'a> {
    args: &'a Args,
    store: &'a Store,
    printer: IdPrinter<'a>,
    text: Vec<u8>,
    output: &'a mut Output,
}

impl Writer<'_> {
    fn fingerprint(&mut self, at: Clustered, ids: Ids<'_>) -> Result<(), Failure> {
        let shape = self.start(at.fingerprint);
        let Self { printer, text, output, .. } = self;
        if shape == IdShape::Json || !ids.is_empty() {
            printer.print_ids(ids, shape, text, &mut |text| output.take(text))?;
        }
        let digits = hex(at.representative);
        let quote: &[u8] = if shape == IdShape::Json { b"\"" } else { b"" };
        self.end(at.cluster, &[quote, &digits, quote].concat(), at.kept())
    }

    /// A row for each id; the first of the representative is kept.
    fn ids(&mut self, at: Clustered, ids: Ids<'_>) -> Result<(), Failure> {
        let mut first = None;
        let representative = match at.kept() {
            true => None,
            false => self.store.ids(at.representative)?.next().transpose()?,
        };
        let mut name = Vec::new();
        for id in ids {
            let id = id?;
            let is_first = first.is_none();
            let first = *first.get_or_insert(id);
            let shape = self.start(at.fingerprint);
            if is_first {
                let kept = representative.unwrap_or(first);
                self.printer.print_one(kept, shape, &mut name)?;
            }
            if shape == IdShape::Json {
                self.text.extend_from_slice(b"\"ids\":[");
            }
            self.printer.print_one(id, shape, &mut self.text)?;
            if shape == IdShape::Json {
                self.text.push(b']');
            }
            self.end(at.cluster, &name, at.kept() && is_first)?;
            if self.text.len() >= PASS_ON {
                self.output.take(&mut self.text)?;
            }
        }
        Ok(())
    }

    /// Ends a row. In JSON `representative` has its quotes.
    fn end(&mut self, cluster: u64, representative: &[u8], keep: bool) -> Result<(), Failure> {
        let text = &mut self.text;
        let written = match self.args.output {
            Shape::Tsv => write!(text, "\t{cluster}\t"),
            Shape::Json => write!(text, ",\"cluster\":{cluster},\"representative\":"),
        };
        written.map_err(Failure::Output)?;
        text.extend_from_slice(representative);
        let written = match self.args.output {
            Shape::Tsv => writeln!(text, "\t{}", if keep { "keep" } else { "drop" }),
            Shape::Json => writeln!(text, ",\"keep\":{keep}}}"),
        };
        written.map_err(Failure::Output)
    }

    /// Starts a row; gives the shape of ids.
    fn start(&mut self, fingerprint: u64) -> IdShape {
        match self.args.output {
            Shape::Tsv => {
                self.text.extend_from_slice(&hex(fingerprint));
                self.text.push(b'\t');
                IdShape::Tsv
            }
            Shape::Json => {
                self.text.extend_from_slice(b"{\"fingerprint\":\"");
                self.text.extend_from_slice(&hex(fingerprint));
                self.text.extend_from_slice(b"\",");
                IdShape::Json
            }
        }
    }
}
