//! The rows of `fpstore fingerprint`.

use std::convert::Infallible;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use fpstore_records::{InputError, is_stdin};
use fpstore_text::{Fingerprinter, Found, Recipe, Signature};
use serde::Serialize;

use super::TooFew;
use crate::documents::Piece;
use crate::failure::Failure;
use crate::output::not_written;
#[cfg(feature = "parquet")]
use crate::table::{self, Kind, ParquetTable};
use crate::target::Target;

/// How rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Sheet {
    /// Columns.
    Parquet,
    /// An object on each line.
    Jsonl,
    /// Words of 8 bytes.
    Raw,
}

impl Sheet {
    /// That which is given, or which the name of the output tells.
    pub fn of(given: Option<Self>, path: &Path) -> Result<Self, Failure> {
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        let form = given.or(match ending {
            "parquet" => Some(Self::Parquet),
            "jsonl" | "ndjson" | "json" => Some(Self::Jsonl),
            "u64" | "u64le" | "raw" | "bin" => Some(Self::Raw),
            _ if is_stdin(path) => Some(Self::Jsonl),
            _ => None,
        });
        match form {
            Some(Self::Parquet) if cfg!(not(feature = "parquet")) => Err(Failure::Usage(format!(
                "{}: this fpstore was built without Parquet; give --as jsonl, or build it with default features",
                path.display()
            ))),
            Some(form) => Ok(form),
            None => Err(Failure::Usage(format!(
                "{}: its name does not tell how it is written; give --as parquet, jsonl or raw",
                path.display()
            ))),
        }
    }
}

/// What was seen.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub documents: u64,
    pub too_few: u64,
    /// Documents without a text, null or empty.
    pub without_text: u64,
    /// Documents with bytes that were replaced.
    pub not_utf8: u64,
    pub skipped: u64,
    pub rows: u64,
    pub text_bytes: u64,
}

/// A row in JSON.
#[derive(Serialize)]
struct Line<'a> {
    id: &'a str,
    /// Null for documents with too few features.
    fingerprint: Option<String>,
    /// Of these, what equal texts have in common.
    #[serde(skip_serializing_if = "Option::is_none")]
    exact: Option<String>,
}

/// What a document got.
pub(super) enum Got {
    /// The words of its fingerprint, the most significant first.
    Bits(Vec<u64>),
    /// Values of 64 bits.
    Values(Vec<u64>),
    /// Nothing, since it has no text: null or an empty one. Its exact hash would be that of all
    /// such.
    Nothing,
    /// Its exact hash.
    TooFew(u128),
}

/// The documents of a piece.
#[derive(Default)]
pub(super) struct OfPiece {
    pub rows: Vec<(String, Got)>,
    pub counts: Counts,
    pub errors: Vec<InputError>,
}

/// Makes the fingerprints of a piece. What is wrong with a record goes into the list.
pub(super) fn of_piece(fingerprinter: &mut Fingerprinter, piece: &Piece) -> OfPiece {
    let mut of = OfPiece::default();
    let Ok(()) = piece.documents(|document| -> Result<(), Infallible> {
        let document = match document {
            Ok(document) => document,
            Err(error) => {
                of.counts.skipped += 1;
                of.errors.push(error);
                return Ok(());
            }
        };
        of.counts.documents += 1;
        if document.text.is_empty() {
            of.counts.without_text += 1;
            of.rows.push((document.id.into_owned(), Got::Nothing));
            return Ok(());
        }
        let outcome = fingerprinter.fingerprint(&document.text);
        of.counts.text_bytes += document.text.len() as u64;
        of.counts.not_utf8 += u64::from(outcome.invalid > 0);
        let got = match outcome.found {
            Found::Signature(Signature::Bits(fingerprint)) => {
                Got::Bits(fingerprint.limbs().iter().rev().copied().collect())
            }
            Found::Signature(signature) => Got::Values(signature.values().collect()),
            Found::TooFew { exact } => {
                of.counts.too_few += 1;
                Got::TooFew(exact)
            }
        };
        of.rows.push((document.id.into_owned(), got));
        Ok(())
    });
    of
}

/// Writes rows.
pub(super) struct Rows {
    to: To,
    too_few: TooFew,
    counts: Counts,
}

/// Lines, or words, of a file. (That of standard output stays on its thread.)
struct Lines {
    to: BufWriter<File>,
    path: PathBuf,
}

impl Lines {
    fn write(
        &mut self,
        write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
    ) -> Result<(), Failure> {
        write(&mut self.to).map_err(|error| not_written(&self.path, error))
    }
}

enum To {
    Lines(Lines, Sheet),
    #[cfg(feature = "parquet")]
    Parquet(Box<ParquetTable>),
}

impl Rows {
    pub fn new(
        form: Sheet,
        too_few: TooFew,
        recipe: &Recipe,
        target: &Target,
    ) -> Result<Self, Failure> {
        let to = match form {
            #[cfg(feature = "parquet")]
            Sheet::Parquet => To::Parquet(Box::new(Self::parquet(recipe, target)?)),
            _ => {
                let (to, path) = (BufWriter::new(target.file(0)?), target.path().to_path_buf());
                To::Lines(Lines { to, path }, form)
            }
        };
        #[cfg(not(feature = "parquet"))]
        let _ = recipe;
        // Raw words have no null.
        let too_few = if form == Sheet::Raw { TooFew::Skip } else { too_few };
        Ok(Self { to, too_few, counts: Counts::default() })
    }

    #[cfg(feature = "parquet")]
    fn parquet(recipe: &Recipe, target: &Target) -> Result<ParquetTable, Failure> {
        let form = if recipe.bits() == u64::BITS { table::Form::U64 } else { table::Form::Bytes };
        let columns = [
            ("id", Kind::Text),
            ("fingerprint", Kind::FingerprintOrNull(form, recipe.bits())),
            ("exact", Kind::Text),
        ];
        let notes =
            [(fpstore_records::RECIPE, recipe.to_string()), ("recipe-id", recipe.id().to_string())];
        ParquetTable::new(target.file(0)?, &columns, &notes)
    }

    /// Writes the rows of a piece, sooner or later.
    pub fn write(&mut self, rows: &[(String, Got)], counts: &Counts) -> Result<(), Failure> {
        let all = &mut self.counts;
        all.documents += counts.documents;
        all.too_few += counts.too_few;
        all.without_text += counts.without_text;
        all.not_utf8 += counts.not_utf8;
        all.skipped += counts.skipped;
        all.text_bytes += counts.text_bytes;
        for (id, got) in rows {
            match got {
                Got::Nothing | Got::TooFew(_) if self.too_few == TooFew::Skip => {}
                Got::Nothing => self.row(id, &[], None)?,
                Got::TooFew(exact) => self.row(id, &[], Some(*exact))?,
                Got::Bits(words) => self.row(id, words, None)?,
                Got::Values(values) => {
                    values.iter().try_for_each(|value| self.row(id, &[*value], None))?
                }
            }
        }
        Ok(())
    }

    fn row(&mut self, id: &str, words: &[u64], exact: Option<u128>) -> Result<(), Failure> {
        self.counts.rows += 1;
        match &mut self.to {
            #[cfg(feature = "parquet")]
            To::Parquet(table) => {
                table.text(Some(id))?;
                table.words(words)?;
                table.text(exact.map(|exact| format!("{exact:032x}")).as_deref())?;
                table.end_row()
            }
            To::Lines(lines, Sheet::Raw) => lines
                .write(|to| words.iter().try_for_each(|word| to.write_all(&word.to_le_bytes()))),
            To::Lines(lines, _) => {
                let digits: String = words.iter().map(|word| format!("{word:016x}")).collect();
                let exact = exact.map(|exact| format!("{exact:032x}"));
                let line = Line { id, fingerprint: (!words.is_empty()).then_some(digits), exact };
                lines.write(|to| {
                    serde_json::to_writer(&mut *to, &line)?;
                    to.write_all(b"\n")
                })
            }
        }
    }

    /// Writes what is left.
    pub fn finish(self) -> Result<Counts, Failure> {
        match self.to {
            To::Lines(mut lines, _) => lines.write(BufWriter::flush)?,
            #[cfg(feature = "parquet")]
            To::Parquet(table) => drop(table.finish()?),
        }
        Ok(self.counts)
    }
}
