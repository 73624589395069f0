//! `redb`: a B-tree in one file. A table per quarter, a blob per prefix, one read transaction and
//! tables that stay open, a cache that can hold everything.

use std::path::{Path, PathBuf};

use redb::{Database, ReadOnlyTable, ReadableDatabase, TableDefinition};

use super::prefix_blobs::{self, KEY_BYTES};
use super::{Engine, QUARTERS, Search, table};
use crate::Result;
use crate::scan::Scanner;

const NAMES: [&str; QUARTERS as usize] = ["0", "1", "2", "3"];

type Definition = TableDefinition<'static, u16, &'static [u8]>;

/// An open database. The tables keep its read transaction alive.
pub struct RedbBlobs {
    tables: Vec<ReadOnlyTable<u16, &'static [u8]>>,
    _database: Database,
    path: PathBuf,
    scanner: Scanner,
}

impl RedbBlobs {
    pub fn build(set: &[u64], directory: &Path) -> Result<Self> {
        let path = directory.join("blobs.redb");
        let cache_bytes = (2 * KEY_BYTES as usize * set.len()).max(1 << 26);
        let mut database = Database::builder().set_cache_size(cache_bytes).create(&path)?;
        let transaction = database.begin_write()?;
        for (number, name) in (0..).zip(NAMES) {
            let mut tree = transaction.open_table(Definition::new(name))?;
            for (prefix, blob) in prefix_blobs::blobs(&table(set, number)) {
                tree.insert(prefix, blob.as_slice())?;
            }
        }
        transaction.commit()?;
        database.compact()?;
        drop(database);
        let database = Database::builder().set_cache_size(cache_bytes).open(&path)?;
        let transaction = database.begin_read()?;
        let open = |name| Ok(transaction.open_table(Definition::new(name))?);
        let tables = NAMES.into_iter().map(open).collect::<Result<_>>()?;
        Ok(Self { tables, _database: database, path, scanner: Scanner::detect() })
    }
}

impl Engine for RedbBlobs {
    fn searcher(&self) -> Search<'_> {
        Box::new(|query, matches| {
            prefix_blobs::search(self.scanner, query, matches, |number, prefix, scan| {
                let blob = self.tables[number].get(prefix).expect("the database can be read");
                if let Some(blob) = blob {
                    scan(blob.value());
                }
            });
        })
    }

    fn file_bytes(&self) -> u64 {
        self.path.metadata().map_or(0, |metadata| metadata.len())
    }

    fn settle(&self) {
        for table in &self.tables {
            for prefix in 0..=u16::MAX {
                table.get(prefix).expect("the database can be read");
            }
        }
    }
}
