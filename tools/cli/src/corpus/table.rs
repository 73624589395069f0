//! The table of removed documents.

use std::fs::File;
use std::path::Path;

use serde::Serialize;

use super::choice::TableShape;
use crate::failure::Failure;
use crate::output::Output;
#[cfg(feature = "parquet")]
use crate::table::{Kind, ParquetTable};

/// A row.
#[derive(Serialize)]
pub struct Row<'a> {
    /// The number of the cluster, in the order of the first documents that are removed.
    pub cluster: u64,
    /// The document that is removed.
    pub id: &'a str,
    /// The one that is kept instead.
    pub kept: &'a str,
    /// The one that it is near.
    pub matched: &'a str,
    /// By how much it differs from that.
    pub distance: u32,
    /// `exact` or `near`.
    pub why: &'a str,
    /// Where the kept one is: in the `input`, or in the `store` of the earlier corpus.
    pub kept_in: &'a str,
    /// The Jaccard similarity to the matched one, where it was checked.
    pub jaccard: Option<f32>,
}

/// The table while it is written.
pub enum Table {
    Jsonl(Output),
    #[cfg(feature = "parquet")]
    Parquet(Box<ParquetTable>),
}

impl Table {
    /// Starts a table.
    pub fn new(
        shape: TableShape,
        file: File,
        path: &Path,
        k: Option<u32>,
        recipe: &str,
    ) -> Result<Self, Failure> {
        match shape {
            TableShape::Jsonl => Ok(Self::Jsonl(Output::file(file, path))),
            #[cfg(feature = "parquet")]
            TableShape::Parquet => {
                let columns = [
                    ("cluster", Kind::Number),
                    ("id", Kind::Text),
                    ("kept", Kind::Text),
                    ("matched", Kind::Text),
                    ("distance", Kind::WideDistance),
                    ("why", Kind::Text),
                    ("kept_in", Kind::Text),
                    ("jaccard", Kind::Similarity),
                ];
                let mut notes = vec![("recipe", recipe.to_string())];
                notes.extend(k.map(|k| ("k", k.to_string())));
                Ok(Self::Parquet(Box::new(ParquetTable::new(file, &columns, &notes)?)))
            }
            #[cfg(not(feature = "parquet"))]
            TableShape::Parquet => {
                let _ = (k, recipe);
                Err(Failure::Usage(
                    "--removed parquet: this fpstore was built without Parquet; give --removed jsonl".into(),
                ))
            }
        }
    }

    /// Writes a row.
    pub fn row(&mut self, row: &Row<'_>) -> Result<(), Failure> {
        match self {
            Self::Jsonl(output) => output.json(row),
            #[cfg(feature = "parquet")]
            Self::Parquet(table) => {
                table.number(row.cluster)?;
                table.text(Some(row.id))?;
                table.text(Some(row.kept))?;
                table.text(Some(row.matched))?;
                table.distance(row.distance)?;
                table.text(Some(row.why))?;
                table.text(Some(row.kept_in))?;
                table.similarity(row.jaccard)?;
                table.end_row()
            }
        }
    }

    /// Passes on what is left.
    pub fn finish(self) -> Result<(), Failure> {
        match self {
            Self::Jsonl(mut output) => output.flush(),
            #[cfg(feature = "parquet")]
            Self::Parquet(table) => table.finish().map(drop),
        }
    }
}
