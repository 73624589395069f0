//! How ids are printed.

use std::io::Write;

#[cfg(feature = "parquet")]
use fpstore::IdKind;
use fpstore::{Fingerprint, Id, IdRef, Ids, Snapshot};
use fpstore_records::tsv::push_escaped;

use crate::failure::Failure;
use crate::output::Output;

/// Bytes of ids after which they are passed on.
const FLUSH_BYTES: usize = 1 << 16;
/// More ids of one fingerprint than these are read while they are printed, and not kept.
pub const KEPT_IDS: u64 = 256;

/// Which ids are printed, and as what.
#[derive(clap::Args)]
pub struct IdOutputArgs {
    /// Print at most N ids of each fingerprint; 0 leaves them out
    #[arg(long, value_name = "N")]
    #[arg(help_heading = "Ids", hide_short_help = true)]
    pub limit_ids: Option<u64>,
}

/// How a list of ids is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdShape {
    /// Separated by commas, and `...` at the end if there are more.
    Tsv,
    /// A field `ids` of an object, with strings, and a field `more_ids` if there are more.
    Json,
}

/// What is called when there is much to pass on; takes all of it.
pub type PassOn<'a> = &'a mut dyn FnMut(&mut Vec<u8>) -> Result<(), Failure>;

/// Prints ids, for one thread. Reads them as it goes, so that ten million take no more memory than
/// ten.
pub struct IdPrinter<'a, F: Fingerprint = u64> {
    store: &'a Snapshot<F>,
    limit: u64,
}

impl<'a, F: Fingerprint> IdPrinter<'a, F> {
    /// A printer of the ids of `store`.
    pub fn new(store: &'a Snapshot<F>, args: &IdOutputArgs) -> Self {
        Self { store, limit: args.limit_ids.unwrap_or(u64::MAX) }
    }

    /// Number of ids of a fingerprint that are printed.
    pub fn count(&self, fingerprint: F) -> Result<u64, Failure> {
        Ok(self.store.ids::<Id>(fingerprint)?.len().min(self.limit))
    }

    /// What the ids are, if there are any.
    #[cfg(feature = "parquet")]
    pub fn kind(&self) -> Option<IdKind> {
        self.store.id_kind()
    }

    /// The ids of a fingerprint, printed or not.
    #[cfg(feature = "parquet")]
    pub fn ids_of(&self, fingerprint: F) -> Result<Ids<Id>, Failure> {
        Ok(self.store.ids(fingerprint)?)
    }

    /// Gives each of these ids that is to be printed.
    #[cfg(feature = "parquet")]
    pub fn each(&self, ids: &mut Ids<Id>, mut take: impl FnMut(Id)) -> Result<(), Failure> {
        let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        ids.take(limit).try_for_each(|id| {
            take(id?);
            Ok(())
        })
    }

    /// Writes the ids of a fingerprint.
    pub fn print(
        &mut self,
        fingerprint: F,
        shape: IdShape,
        to: &mut Vec<u8>,
        pass_on: PassOn<'_>,
    ) -> Result<(), Failure> {
        let mut ids = self.store.ids(fingerprint)?;
        self.print_ids(&mut ids, shape, to, pass_on)
    }

    /// Writes these ids, which are those of one fingerprint.
    pub fn print_ids(
        &mut self,
        ids: &mut Ids<Id>,
        shape: IdShape,
        to: &mut Vec<u8>,
        pass_on: PassOn<'_>,
    ) -> Result<(), Failure> {
        if shape == IdShape::Json {
            to.extend_from_slice(b"\"ids\":[");
        }
        let mut number = 0;
        let more = loop {
            let Some(id) = ids.next() else { break false };
            let id = id?;
            if number == self.limit {
                break true;
            }
            if number > 0 {
                to.push(b',');
            }
            self.print_one(&id, shape, to)?;
            number += 1;
            if to.len() >= FLUSH_BYTES {
                pass_on(to)?;
            }
        };
        match (shape, more) {
            (IdShape::Tsv, false) => {}
            (IdShape::Tsv, true) if number > 0 => to.extend_from_slice(b",..."),
            (IdShape::Tsv, true) => to.extend_from_slice(b"..."),
            (IdShape::Json, false) => to.push(b']'),
            (IdShape::Json, true) => to.extend_from_slice(b"],\"more_ids\":true"),
        }
        Ok(())
    }

    /// Writes one id.
    pub fn print_one(&self, id: &Id, shape: IdShape, to: &mut Vec<u8>) -> Result<(), Failure> {
        push_id(id.as_ref(), shape, to)
    }
}

/// Writes one id.
pub fn push_id(id: IdRef<'_>, shape: IdShape, to: &mut Vec<u8>) -> Result<(), Failure> {
    match (id, shape) {
        (IdRef::Text(text), IdShape::Tsv) => {
            push_escaped(to, text);
            Ok(())
        }
        (IdRef::Text(text), IdShape::Json) => {
            serde_json::to_writer(to, text).map_err(|error| Failure::Output(error.into()))
        }
        (id, IdShape::Tsv) => write!(to, "{id}").map_err(Failure::Output),
        (id, IdShape::Json) => write!(to, "\"{id}\"").map_err(Failure::Output),
    }
}

/// Text with ids in it, of which those that are many are read only when it is printed.
pub struct Parts<F = u64> {
    parts: Vec<Part<F>>,
    /// What follows them.
    pub text: Vec<u8>,
}

enum Part<F> {
    Text(Vec<u8>),
    /// The ids of a fingerprint, by the printer of this number.
    Ids(usize, F),
}

impl<F> Default for Parts<F> {
    fn default() -> Self {
        Self { parts: Vec::new(), text: Vec::new() }
    }
}

impl<F: Fingerprint> Parts<F> {
    /// Appends the ids of a fingerprint by `printer`, which has this number among those that print.
    pub fn ids(
        &mut self,
        printer: &mut IdPrinter<'_, F>,
        number: usize,
        fingerprint: F,
        shape: IdShape,
    ) -> Result<(), Failure> {
        if printer.count(fingerprint)? > KEPT_IDS {
            self.parts.push(Part::Text(std::mem::take(&mut self.text)));
            self.parts.push(Part::Ids(number, fingerprint));
            return Ok(());
        }
        printer.print(fingerprint, shape, &mut self.text, &mut |_| Ok(()))
    }

    /// Prints all of it.
    pub fn print(
        self,
        output: &mut Output,
        shape: IdShape,
        printers: &mut [IdPrinter<'_, F>],
    ) -> Result<(), Failure> {
        for part in self.parts {
            match part {
                Part::Text(text) => output.bytes(&text)?,
                Part::Ids(number, fingerprint) => {
                    if let Some(printer) = printers.get_mut(number) {
                        let (mut text, mut pass_on) =
                            (Vec::new(), |text: &mut Vec<u8>| output.take(text));
                        printer.print(fingerprint, shape, &mut text, &mut pass_on)?;
                        output.bytes(&text)?;
                    }
                }
            }
        }
        output.bytes(&self.text)
    }
}
