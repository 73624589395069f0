//! Writes pairs as they were read.

use fpstore::Fingerprint;
#[cfg(feature = "parquet")]
use fpstore::IdKind;

use super::{PairFormat, Row, push_raw, push_tsv};
use crate::failure::Failure;
use crate::output::Output;
use crate::table::Form;
#[cfg(feature = "parquet")]
use crate::table::{Kind, ParquetTable, TableForm};
use crate::target::{self, Target};

/// Writes rows of pairs, with what follows their distance.
pub enum PairWriter {
    /// Rows, as TSV or raw integers.
    Rows(Output, PairFormat, Vec<u8>),
    /// As Parquet, with ids or without.
    #[cfg(feature = "parquet")]
    Parquet(Box<ParquetTable>, bool),
}

impl PairWriter {
    /// Writes to the target, or to standard output. In Parquet there are ids if `strings` says what
    /// they are, and the recipe is noted.
    // Only Parquet must know the width before the first row.
    #[cfg_attr(not(feature = "parquet"), allow(clippy::extra_unused_type_parameters))]
    pub fn new<F: Fingerprint>(
        format: PairFormat,
        strings: Option<bool>,
        recipe: Option<&str>,
        target: Option<&Target>,
    ) -> Result<Self, Failure> {
        #[cfg(not(feature = "parquet"))]
        let _ = (strings, recipe);
        match (format, target) {
            #[cfg(feature = "parquet")]
            (PairFormat::Parquet, Some(target)) => {
                let file = target.file(0)?;
                let form = TableForm::default().parquet::<F>();
                let columns = columns::<F>(form, [strings; 2]);
                let notes: Vec<_> = recipe
                    .map(|line| (fpstore_records::RECIPE, line.to_string()))
                    .into_iter()
                    .collect();
                let table = ParquetTable::new(file, &columns, &notes)?;
                Ok(PairWriter::Parquet(Box::new(table), strings.is_some()))
            }
            _ => Ok(PairWriter::Rows(target::output(target)?, format, Vec::new())),
        }
    }

    /// Writes a row, sooner or later.
    pub fn push<F: Fingerprint>(&mut self, row: Row<'_, F>) -> Result<(), Failure> {
        match self {
            PairWriter::Rows(output, format, bytes) if format.raw().is_some() => {
                push_raw(bytes, row.a, row.b);
                output.take(bytes)
            }
            PairWriter::Rows(output, _, text) => {
                push_tsv(text, Form::Hex, row.a, row.b);
                text.extend_from_slice(row.rest);
                text.push(b'\n');
                output.take(text)
            }
            #[cfg(feature = "parquet")]
            PairWriter::Parquet(table, has_ids) => {
                push_pair(table, row.a, row.b)?;
                let mut fields = row.rest.split(|&byte| byte == b'\t').skip(1);
                for _ in 0..if *has_ids { 2 } else { 0 } {
                    table.id_texts(fpstore_records::tsv::strings(
                        fields.next().unwrap_or_default(),
                    ))?;
                }
                table.end_row()
            }
        }
    }

    /// Bytes that were written.
    pub fn written(&self) -> u64 {
        match self {
            PairWriter::Rows(output, ..) => output.written(),
            #[cfg(feature = "parquet")]
            PairWriter::Parquet(table, _) => table.written(),
        }
    }

    /// Writes what is left, and gives the number of all bytes.
    pub fn finish(self) -> Result<u64, Failure> {
        match self {
            PairWriter::Rows(mut output, ..) => {
                output.flush()?;
                Ok(output.written())
            }
            #[cfg(feature = "parquet")]
            PairWriter::Parquet(table, _) => table.finish(),
        }
    }
}

/// The columns of pairs; on each side there are ids if it says whether they are strings. Names of
/// every kind are, as in every other form of pairs.
#[cfg(feature = "parquet")]
pub fn columns<F: Fingerprint>(
    form: Form,
    strings: [Option<bool>; 2],
) -> Vec<(&'static str, Kind)> {
    let [a, b, distance, ids @ ..] = super::NAMES;
    let ids = ids.into_iter().zip(strings);
    let ids = ids.filter_map(|(name, strings)| {
        Some((name, Kind::Ids(if strings? { IdKind::Text } else { IdKind::Number })))
    });
    let (key, of_distance) = Kind::of::<F>(form);
    [(a, key), (b, key), (distance, of_distance)].into_iter().chain(ids).collect()
}

/// Writes the first three cells of a row.
#[cfg(feature = "parquet")]
pub fn push_pair<F: Fingerprint>(table: &mut ParquetTable, a: F, b: F) -> Result<(), Failure> {
    table.fingerprint(a)?;
    table.fingerprint(b)?;
    table.distance(a.distance(b))
}
