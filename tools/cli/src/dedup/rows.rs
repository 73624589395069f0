//! The rows of fingerprints or ids with their clusters.

use std::io::Write;

#[cfg(feature = "parquet")]
use fpstore::IdKind;
use fpstore::query::{Clustered, Clusters};
use fpstore::{Fingerprint, Id, Ids, Snapshot};

use super::{Args, Shape};
use crate::failure::Failure;
use crate::ids::{IdPrinter, IdShape};
use crate::output::Output;
use crate::progress::{Finds, Progress, Step, Unit};
use crate::table::{self, Form};
#[cfg(feature = "parquet")]
use crate::table::{Kind, ParquetTable};
use crate::target::{self, Target};

/// Fingerprints between two looks at the progress.
const TOLD: u64 = 1 << 12;
/// Bytes of rows that are passed on together.
const PASS_ON: usize = 1 << 15;

/// Writes all rows.
pub fn write<F: Fingerprint>(
    args: &Args,
    store: &Snapshot<F>,
    clusters: &Clusters<F>,
    target: Option<&Target>,
    progress: &Progress,
) -> Result<(), Failure> {
    let printer = IdPrinter::new(store, &args.id_output);
    let to = To::new(args, store, &printer, target)?;
    let mut writer = Writer { store, printer, to };
    let summary = clusters.summary();
    let total = summary.fingerprints;
    for (next, done) in store.iter_with_ids::<Id>().zip(1..) {
        let (fingerprint, ids) = next?;
        // The files of an open store do not change.
        let Some(at) = clusters.get(fingerprint) else { continue };
        match args.form.per_id {
            false => writer.fingerprint(at, ids)?,
            true => writer.ids(at, ids)?,
        }
        if done == total || done.is_multiple_of(TOLD) {
            progress.found(0, writer.to.written());
            let (unit, finds) = (Unit::Fingerprints, Finds::Nothing);
            progress.step(Step { phase: "write", unit, done, total, finds });
        }
    }
    writer.to.finish()
}

/// Where rows go.
enum To {
    Text(Text),
    #[cfg(feature = "parquet")]
    Parquet(Box<ParquetTable>, bool),
}

/// Rows as TSV or JSON.
struct Text {
    shape: IdShape,
    form: Form,
    text: Vec<u8>,
    output: Output,
}

impl To {
    fn new<F: Fingerprint>(
        args: &Args,
        store: &Snapshot<F>,
        printer: &IdPrinter<'_, F>,
        target: Option<&Target>,
    ) -> Result<Self, Failure> {
        let ids = if args.form.per_id { "id" } else { "ids" };
        #[cfg(feature = "parquet")]
        if let (Shape::Parquet, Some(target)) = (args.form.shape, target) {
            let kind = printer.kind().unwrap_or(IdKind::Number);
            let (fingerprint, _) = Kind::of::<F>(args.form.table.parquet::<F>());
            let (id, representative) = match args.form.per_id {
                false => (Kind::Ids(kind), fingerprint),
                true => (Kind::Id(kind), Kind::Id(kind)),
            };
            let mut columns = vec![("fingerprint", fingerprint)];
            columns.extend(store.has_ids().then_some((ids, id)));
            columns.push(("cluster", Kind::Number));
            columns.push(("representative", representative));
            columns.push(("keep", Kind::Flag));
            let k = super::distance(args, store);
            let notes = table::notes(args.store.display(), k, store.recipe());
            let table = ParquetTable::new(target.file(0)?, &columns, &notes)?;
            return Ok(To::Parquet(Box::new(table), store.has_ids()));
        }
        let _ = (store, printer);
        let mut output = target::output(target)?;
        if args.form.table.header {
            let names = ["fingerprint", ids, "cluster", "representative", "keep"];
            output.bytes(&table::header(&names))?;
        }
        let shape = if args.form.shape == Shape::Json { IdShape::Json } else { IdShape::Tsv };
        Ok(To::Text(Text { shape, form: args.form.table.text(), text: Vec::new(), output }))
    }

    fn written(&self) -> u64 {
        match self {
            To::Text(text) => text.output.written(),
            #[cfg(feature = "parquet")]
            To::Parquet(table, _) => table.written(),
        }
    }

    fn finish(self) -> Result<(), Failure> {
        match self {
            To::Text(mut rows) => {
                rows.output.take(&mut rows.text)?;
                rows.output.flush()
            }
            #[cfg(feature = "parquet")]
            To::Parquet(table, _) => table.finish().map(drop),
        }
    }
}

struct Writer<'a, F: Fingerprint> {
    store: &'a Snapshot<F>,
    printer: IdPrinter<'a, F>,
    to: To,
}

impl<F: Fingerprint> Writer<'_, F> {
    fn fingerprint(&mut self, at: Clustered<F>, mut ids: Ids<Id>) -> Result<(), Failure> {
        let printer = &mut self.printer;
        match &mut self.to {
            To::Text(rows) => {
                rows.start(at.fingerprint);
                if rows.shape == IdShape::Json || !ids.is_empty() {
                    let (text, output) = (&mut rows.text, &mut rows.output);
                    printer.print_ids(&mut ids, rows.shape, text, &mut |text| output.take(text))?;
                }
                let mut representative = Vec::new();
                let quote: &[u8] = if rows.shape == IdShape::Json { b"\"" } else { b"" };
                representative.extend_from_slice(quote);
                rows.form.push(&mut representative, at.representative);
                representative.extend_from_slice(quote);
                rows.end(at.cluster, &representative, at.kept())
            }
            #[cfg(feature = "parquet")]
            To::Parquet(table, has_ids) => {
                table.fingerprint(at.fingerprint)?;
                if *has_ids {
                    table.ids(printer, &mut ids)?;
                }
                table.number(at.cluster)?;
                table.fingerprint(at.representative)?;
                table.flag(at.kept())?;
                table.end_row()
            }
        }
    }

    /// A row for each id; the first of the representative is kept.
    fn ids(&mut self, at: Clustered<F>, ids: Ids<Id>) -> Result<(), Failure> {
        // The document that is kept instead: of the representative the first.
        let mut kept: Option<Id> = match at.kept() {
            true => None,
            false => self.store.ids(at.representative)?.next().transpose()?,
        };
        let mut is_first = true;
        let mut name = Vec::new();
        for id in ids {
            let id = id?;
            let kept = &*kept.get_or_insert_with(|| id.clone());
            let printer = &mut self.printer;
            match &mut self.to {
                To::Text(rows) => {
                    rows.start(at.fingerprint);
                    if is_first {
                        printer.print_one(kept, rows.shape, &mut name)?;
                    }
                    let list: [&[u8]; 2] =
                        if rows.shape == IdShape::Json { [b"\"ids\":[", b"]"] } else { [b"", b""] };
                    rows.text.extend_from_slice(list[0]);
                    printer.print_one(&id, rows.shape, &mut rows.text)?;
                    rows.text.extend_from_slice(list[1]);
                    rows.end(at.cluster, &name, at.kept() && is_first)?;
                }
                #[cfg(feature = "parquet")]
                To::Parquet(table, _) => {
                    table.fingerprint(at.fingerprint)?;
                    table.id(&id)?;
                    table.number(at.cluster)?;
                    table.id(kept)?;
                    table.flag(at.kept() && is_first)?;
                    table.end_row()?;
                }
            }
            is_first = false;
        }
        Ok(())
    }
}

impl Text {
    /// Starts a row, up to its ids.
    fn start<F: Fingerprint>(&mut self, fingerprint: F) {
        let (before, behind): (&[u8], &[u8]) = match self.shape {
            IdShape::Tsv => (b"", b"\t"),
            IdShape::Json => (b"{\"fingerprint\":\"", b"\","),
        };
        self.text.extend_from_slice(before);
        self.form.push(&mut self.text, fingerprint);
        self.text.extend_from_slice(behind);
    }

    /// Ends a row. In JSON `representative` has its quotes.
    fn end(&mut self, cluster: u64, representative: &[u8], keep: bool) -> Result<(), Failure> {
        let text = &mut self.text;
        let written = match self.shape {
            IdShape::Tsv => write!(text, "\t{cluster}\t"),
            IdShape::Json => write!(text, ",\"cluster\":{cluster},\"representative\":"),
        };
        written.map_err(Failure::Output)?;
        text.extend_from_slice(representative);
        let written = match self.shape {
            IdShape::Tsv => writeln!(text, "\t{}", if keep { "keep" } else { "drop" }),
            IdShape::Json => writeln!(text, ",\"keep\":{keep}}}"),
        };
        written.map_err(Failure::Output)?;
        if self.text.len() >= PASS_ON {
            self.output.take(&mut self.text)?;
        }
        Ok(())
    }
}
