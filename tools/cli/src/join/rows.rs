//! The rows of pairs, as they are written.

use std::collections::HashMap;
use std::sync::Arc;

#[cfg(feature = "parquet")]
use fpstore::IdKind;
use fpstore::query::Pair;
use fpstore::{Fingerprint, Snapshot};
use rayon::ThreadPool;
use rayon::prelude::*;

use super::Args;
use super::journal::Journal;
use crate::failure::Failure;
use crate::ids::{IdOutputArgs, IdPrinter, IdShape, KEPT_IDS};
use crate::output::Output;
#[cfg(feature = "parquet")]
use crate::pairs::PairFormat;
use crate::pairs::{self, NAMES};
use crate::recipes::Recipes;
#[cfg(feature = "parquet")]
use crate::table::ParquetTable;
use crate::table::{self, Form};
use crate::target::Target;

/// Pairs whose ids are read together, and the least that one task looks up.
const TOGETHER: usize = 512;
const TASK: usize = 32;
/// Bytes of ids after which they are forgotten, and those of an entry without its text.
const CACHE_BYTES: usize = 8 << 20;
const ENTRY_BYTES: usize = 64;

/// The stores of both fingerprints of a pair, and how their ids are printed.
pub struct Sides<'a, F: Fingerprint> {
    /// The stores.
    pub stores: [&'a Snapshot<F>; 2],
    /// Which ids are printed.
    pub args: &'a IdOutputArgs,
}

impl<F: Fingerprint> Clone for Sides<'_, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F: Fingerprint> Copy for Sides<'_, F> {}

impl<'a, F: Fingerprint> Sides<'a, F> {
    /// A printer of the ids of one side.
    fn printer(&self, side: usize) -> IdPrinter<'a, F> {
        IdPrinter::new(self.stores[side], self.args)
    }

    /// A printer for each side.
    fn printers(&self) -> [IdPrinter<'a, F>; 2] {
        [0, 1].map(|side| self.printer(side))
    }
}

/// Writes pairs.
pub enum Rows<'a, F: Fingerprint> {
    /// As rows of fixed fields: TSV in this form, or raw integers.
    Plain(Option<Form>, Output, Vec<u8>),
    /// As TSV with ids.
    Ids(Box<WithIds<'a, F>>),
    /// As Parquet.
    #[cfg(feature = "parquet")]
    Parquet(Box<ParquetTable>, Vec<IdPrinter<'a, F>>),
}

/// Writes rows with ids.
pub struct WithIds<'a, F: Fingerprint> {
    output: Output,
    form: Form,
    sides: Sides<'a, F>,
    printers: [IdPrinter<'a, F>; 2],
    caches: [Cache<F>; 2],
    pool: Arc<ThreadPool>,
}

impl<'a, F: Fingerprint> Rows<'a, F> {
    /// Goes on behind what is written already, to the target or to standard output. `k` and the
    /// recipe are noted in Parquet.
    pub fn new(
        args: &Args,
        (k, recipes): (u32, &Recipes),
        target: Option<&Target>,
        journal: &Journal,
        sides: Option<Sides<'a, F>>,
    ) -> Result<Self, Failure> {
        let (bytes, form) = (journal.done.bytes, args.form.table.text());
        #[cfg(not(feature = "parquet"))]
        let _ = (k, recipes);
        #[cfg(feature = "parquet")]
        if let (PairFormat::Parquet, Some(target)) = (args.form.shape, target) {
            let printers = sides.map_or(Vec::new(), |sides| sides.printers().into());
            let kinds = [0, 1].map(|side| printers.get(side).and_then(IdPrinter::kind));
            let strings = kinds.map(|kind| kind.map(IdKind::is_named));
            let columns = pairs::columns::<F>(args.form.table.parquet::<F>(), strings);
            let stores = [Some(&args.store), args.other.as_ref()].into_iter().flatten();
            let stores: Vec<String> = stores.map(|path| path.display().to_string()).collect();
            let mut notes = table::notes(stores.join(","), k, recipes.line());
            let super::Shard { index, count } = args.shard;
            notes.extend((count > 1).then(|| ("shard", format!("{index}/{count}"))));
            let table = ParquetTable::new(target.file(0)?, &columns, &notes)?;
            return Ok(Rows::Parquet(Box::new(table), printers));
        }
        let mut output = match target {
            Some(target) => Output::file(target.file(bytes)?, target.path()).behind(bytes),
            None => Output::stdout(),
        };
        if args.form.table.header && bytes == 0 {
            output.bytes(&table::header(&NAMES[..if sides.is_some() { 5 } else { 3 }]))?;
        }
        match sides {
            None => {
                let form = Some(form).filter(|_| args.form.shape.raw().is_none());
                Ok(Rows::Plain(form, output, Vec::new()))
            }
            Some(sides) => {
                let pool = args.globals.threads.start_pool()?;
                let (printers, caches) = (sides.printers(), Default::default());
                Ok(Rows::Ids(Box::new(WithIds { output, form, sides, printers, caches, pool })))
            }
        }
    }

    /// Writes pairs, sooner or later.
    pub fn push(&mut self, pairs: &[Pair<F>]) -> Result<(), Failure> {
        match self {
            Rows::Plain(form, output, text) => {
                for pair in pairs {
                    match form {
                        Some(form) => {
                            pairs::push_tsv(text, *form, pair.a, pair.b);
                            text.push(b'\n');
                        }
                        None => pairs::push_raw(text, pair.a, pair.b),
                    }
                }
                output.take(text)
            }
            Rows::Ids(rows) => pairs.chunks(TOGETHER).try_for_each(|pairs| rows.push(pairs)),
            #[cfg(feature = "parquet")]
            Rows::Parquet(table, printers) => pairs.iter().try_for_each(|pair| {
                pairs::push_pair(table, pair.a, pair.b)?;
                for (printer, fingerprint) in printers.iter_mut().zip([pair.a, pair.b]) {
                    let mut ids = printer.ids_of(fingerprint)?;
                    table.ids(printer, &mut ids)?;
                }
                table.end_row()
            }),
        }
    }

    /// Bytes that were written.
    pub fn written(&self) -> u64 {
        match self {
            Rows::Plain(_, output, _) => output.written(),
            Rows::Ids(rows) => rows.output.written(),
            #[cfg(feature = "parquet")]
            Rows::Parquet(table, _) => table.written(),
        }
    }

    /// Passes on everything that was written.
    pub fn flush(&mut self) -> Result<(), Failure> {
        match self {
            Rows::Plain(_, output, _) => output.flush(),
            Rows::Ids(rows) => rows.output.flush(),
            #[cfg(feature = "parquet")]
            Rows::Parquet(..) => Ok(()),
        }
    }

    /// Writes what is left, and gives the number of all bytes.
    pub fn finish(mut self) -> Result<u64, Failure> {
        self.flush()?;
        match self {
            #[cfg(feature = "parquet")]
            Rows::Parquet(table, _) => table.finish(),
            rows => Ok(rows.written()),
        }
    }
}

/// What is printed as the ids of fingerprints of a store. In a cluster each of them comes often.
struct Cache<F> {
    /// `None` for those that have more ids than are kept.
    texts: HashMap<F, Option<Vec<u8>>>,
    bytes: usize,
}

impl<F> Default for Cache<F> {
    fn default() -> Self {
        Self { texts: HashMap::new(), bytes: 0 }
    }
}

impl<F: Fingerprint> Cache<F> {
    fn get(&self, fingerprint: F) -> Option<&[u8]> {
        self.texts.get(&fingerprint)?.as_deref()
    }

    fn insert(&mut self, fingerprint: F, text: Option<Vec<u8>>) {
        self.bytes += ENTRY_BYTES + text.as_ref().map_or(0, Vec::len);
        self.texts.insert(fingerprint, text);
    }
}

impl<F: Fingerprint> WithIds<'_, F> {
    fn push(&mut self, pairs: &[Pair<F>]) -> Result<(), Failure> {
        let fingerprints = |of: fn(&Pair<F>) -> F| pairs.iter().map(of);
        if self.is_one_store() {
            self.look_up(0, fingerprints(|pair| pair.a).chain(fingerprints(|pair| pair.b)))?;
        } else {
            self.look_up(0, fingerprints(|pair| pair.a))?;
            self.look_up(1, fingerprints(|pair| pair.b))?;
        }
        let sides = if self.is_one_store() { [0, 0] } else { [0, 1] };
        let Self { output, form, printers, caches, .. } = self;
        let mut row = Vec::new();
        for pair in pairs {
            pairs::push_tsv(&mut row, *form, pair.a, pair.b);
            for (side, fingerprint) in sides.into_iter().zip([pair.a, pair.b]) {
                row.push(b'\t');
                match caches[side].get(fingerprint) {
                    Some(text) => row.extend_from_slice(text),
                    None => {
                        let mut pass_on = |text: &mut Vec<u8>| output.take(text);
                        let printer = &mut printers[side];
                        printer.print(fingerprint, IdShape::Tsv, &mut row, &mut pass_on)?;
                    }
                }
            }
            row.push(b'\n');
            output.take(&mut row)?;
        }
        Ok(())
    }

    fn is_one_store(&self) -> bool {
        let [a, b] = self.sides.stores;
        std::ptr::eq(a, b)
    }

    /// Puts the ids of those fingerprints into the cache that are not there.
    fn look_up(
        &mut self,
        side: usize,
        fingerprints: impl Iterator<Item = F>,
    ) -> Result<(), Failure> {
        let cache = &mut self.caches[side];
        if cache.bytes > CACHE_BYTES {
            *cache = Cache::default();
        }
        let mut missing: Vec<F> =
            fingerprints.filter(|fingerprint| !cache.texts.contains_key(fingerprint)).collect();
        missing.sort_unstable();
        missing.dedup();
        let sides = self.sides;
        let text = |printer: &mut IdPrinter<'_, F>, &fingerprint: &F| {
            if printer.count(fingerprint)? > KEPT_IDS {
                return Ok(None);
            }
            let mut text = Vec::new();
            printer.print(fingerprint, IdShape::Tsv, &mut text, &mut |_| Ok(()))?;
            Ok(Some(text))
        };
        let texts: Vec<Result<Option<Vec<u8>>, Failure>> = self.pool.install(|| {
            let missing = missing.par_iter().with_min_len(TASK);
            missing.map_init(|| sides.printer(side), text).collect()
        });
        for (fingerprint, text) in missing.into_iter().zip(texts) {
            cache.insert(fingerprint, text?);
        }
        Ok(())
    }
}
