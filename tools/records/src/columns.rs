//! Columns of a file of Parquet that is no list of fingerprints.

use std::fs::File;
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use crate::error::{InputError, Origin};
use crate::parquet::Table;
use crate::reader::RECIPE;

/// Columns of a file of Parquet that is no list of fingerprints.
pub struct ParquetColumns {
    origin: Origin,
    table: Table,
    names: Vec<String>,
}

impl ParquetColumns {
    /// Reads the footer, and those of these columns that are there. A page may take so much memory.
    pub fn open(path: &Path, file: File, names: &[&str], memory: u64) -> Result<Self, InputError> {
        let origin = Origin::File(path.to_path_buf());
        let mut all = Vec::new();
        let table = Table::open(file, memory, |schema| {
            all.extend(schema.fields().iter().map(|field| field.name().clone()));
            let places = names.iter().filter_map(|name| schema.index_of(name).ok());
            Ok(places.collect())
        });
        let table = table.map_err(|problem| origin.error(problem))?;
        Ok(Self { origin, table, names: all })
    }

    /// The names of all columns of the file.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The columns that are there, in the order of the file.
    pub fn schema(&self) -> SchemaRef {
        self.table.schema()
    }

    /// By which recipe the fingerprints were made, where the file says so.
    pub fn recipe(&self) -> Option<String> {
        self.note(RECIPE)
    }

    /// What is noted in the file under a name.
    pub fn note(&self, name: &str) -> Option<String> {
        self.table.note(name)
    }

    /// The next rows; `None` behind the last.
    pub fn next_batch(&mut self) -> Result<Option<RecordBatch>, InputError> {
        self.table.next().map_err(|problem| self.origin.error(problem))
    }

    /// The share of the rows that was read, from 0 to 1.
    pub fn share(&self) -> f64 {
        self.table.share()
    }
}
