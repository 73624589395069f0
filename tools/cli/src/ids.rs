//! How ids are printed.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;

use fpstore::{Fingerprint, IdMap, IdMapReader, Ids, Snapshot, Store};
use fpstore_records::tsv::push_escaped;

use crate::failure::Failure;
use crate::output::{Output, say};

/// Bytes of ids after which they are passed on.
const FLUSH_BYTES: usize = 1 << 16;
/// More ids of one fingerprint than these are read while they are printed, and not kept.
pub const KEPT_IDS: u64 = 256;

/// Which ids are printed, and as what.
#[derive(clap::Args)]
pub struct IdOutputArgs {
    /// Print at most N ids of each fingerprint
    #[arg(long, value_name = "N")]
    #[arg(help_heading = "Ids", hide_short_help = true)]
    pub limit_ids: Option<u64>,

    /// Print the strings that `pack` kept in this file, instead of their numbers
    #[arg(long, value_name = "FILE")]
    #[arg(help_heading = "Ids")]
    pub id_map: Option<PathBuf>,
}

impl IdOutputArgs {
    /// Opens the map, if one is given.
    pub fn open_map<F: Fingerprint>(&self, store: &Store<F>) -> Result<Option<IdMap>, Failure> {
        Ok(match &self.id_map {
            Some(path) => Some(IdMap::of_store(path, store)?),
            None => None,
        })
    }

    /// Tells whoever reads ids on a terminal that they are the numbers of strings, where these could
    /// be printed.
    pub fn hint<F: Fingerprint>(&self, store: &Store<F>) {
        if self.id_map.is_none() && store.id_map().is_some() && io::stderr().is_terminal() {
            say!(
                "fpstore: note: ids are the numbers of strings, which an id map keeps; give --id-map \
                 FILE to print these"
            );
        }
    }
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
    strings: Option<IdMapReader>,
    limit: u64,
}

impl<'a, F: Fingerprint> IdPrinter<'a, F> {
    /// A printer of the ids of `store`, with the strings of `map`.
    pub fn new(store: &'a Snapshot<F>, map: Option<&'a IdMap>, args: &IdOutputArgs) -> Self {
        let limit = args.limit_ids.unwrap_or(u64::MAX);
        Self { store, strings: map.map(IdMap::reader), limit }
    }

    /// Number of ids of a fingerprint that are printed.
    pub fn count(&self, fingerprint: F) -> Result<u64, Failure> {
        Ok(self.store.ids::<u64>(fingerprint)?.len().min(self.limit))
    }

    /// Whether strings are printed.
    #[cfg(feature = "parquet")]
    pub fn has_strings(&self) -> bool {
        self.strings.is_some()
    }

    /// The string of an id, if strings are printed.
    #[cfg(feature = "parquet")]
    pub fn string(&mut self, id: u64) -> Result<Option<&str>, Failure> {
        match &mut self.strings {
            Some(strings) => Ok(Some(strings.string(id)?)),
            None => Ok(None),
        }
    }

    /// The ids of a fingerprint, printed or not.
    #[cfg(feature = "parquet")]
    pub fn ids_of(&self, fingerprint: F) -> Result<Ids, Failure> {
        Ok(self.store.ids::<u64>(fingerprint)?)
    }

    /// Gives each of these ids that is to be printed, and its string.
    #[cfg(feature = "parquet")]
    pub fn each(
        &mut self,
        ids: &mut Ids,
        mut take: impl FnMut(u64, Option<&str>),
    ) -> Result<(), Failure> {
        let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        for id in ids.take(limit) {
            let id = id?;
            take(id, self.string(id)?);
        }
        Ok(())
    }

    /// Writes the ids of a fingerprint.
    pub fn print(
        &mut self,
        fingerprint: F,
        shape: IdShape,
        to: &mut Vec<u8>,
        pass_on: PassOn<'_>,
    ) -> Result<(), Failure> {
        let mut ids = self.store.ids::<u64>(fingerprint)?;
        self.print_ids(&mut ids, shape, to, pass_on)
    }

    /// Writes these ids, which are those of one fingerprint.
    pub fn print_ids(
        &mut self,
        ids: &mut Ids,
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
            self.print_one(id, shape, to)?;
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
    pub fn print_one(&mut self, id: u64, shape: IdShape, to: &mut Vec<u8>) -> Result<(), Failure> {
        match (&mut self.strings, shape) {
            (None, IdShape::Tsv) => write!(to, "{id}").map_err(Failure::Output),
            (None, IdShape::Json) => write!(to, "\"{id}\"").map_err(Failure::Output),
            (Some(strings), IdShape::Tsv) => {
                push_escaped(to, strings.string(id)?);
                Ok(())
            }
            (Some(strings), IdShape::Json) => {
                let text = strings.string(id)?;
                serde_json::to_writer(to, text).map_err(|error| Failure::Output(error.into()))
            }
        }
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
