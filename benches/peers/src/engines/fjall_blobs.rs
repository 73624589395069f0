//! `fjall`: a log-structured merge tree. A keyspace per quarter, a blob per prefix, loaded in order
//! in one go, uncompressed (uniform keys do not compress), a cache that can hold everything.

use std::path::Path;

use fjall::config::{CompressionPolicy, FilterPolicy};
use fjall::{Database, Keyspace, KeyspaceCreateOptions};

use super::prefix_blobs::{self, KEY_BYTES};
use super::{Engine, QUARTERS, Search, table};
use crate::Result;
use crate::scan::Scanner;

/// An open database.
pub struct FjallBlobs {
    tables: Vec<Keyspace>,
    _database: Database,
    scanner: Scanner,
}

impl FjallBlobs {
    pub fn build(set: &[u64], directory: &Path) -> Result<Self> {
        let cache_bytes = (2 * KEY_BYTES * set.len() as u64).max(1 << 26);
        let database =
            Database::builder(directory.join("blobs.fjall")).cache_size(cache_bytes).open()?;
        let options = || {
            KeyspaceCreateOptions::default()
                .data_block_compression_policy(CompressionPolicy::disabled())
                .filter_policy(FilterPolicy::disabled())
        };
        let fill = |number: u32| -> Result<Keyspace> {
            let keyspace = database.keyspace(&number.to_string(), options)?;
            let mut ingestion = keyspace.start_ingestion()?;
            for (prefix, blob) in prefix_blobs::blobs(&table(set, number)) {
                ingestion.write(prefix.to_be_bytes(), blob)?;
            }
            ingestion.finish()?;
            Ok(keyspace)
        };
        let tables = (0..QUARTERS).map(fill).collect::<Result<_>>()?;
        Ok(Self { tables, _database: database, scanner: Scanner::detect() })
    }
}

impl Engine for FjallBlobs {
    fn searcher(&self) -> Search<'_> {
        Box::new(|query, matches| {
            prefix_blobs::search(self.scanner, query, matches, |number, prefix, scan| {
                let blob = self.tables[number].get(prefix.to_be_bytes());
                if let Some(blob) = blob.expect("the database can be read") {
                    scan(&blob);
                }
            });
        })
    }

    /// The tables; the journal, which is empty but has its space reserved, is not counted.
    fn file_bytes(&self) -> u64 {
        self.tables.iter().map(Keyspace::disk_space).sum()
    }

    fn settle(&self) {
        for table in &self.tables {
            for prefix in 0..=u16::MAX {
                table.get(prefix.to_be_bytes()).expect("the database can be read");
            }
        }
    }
}
