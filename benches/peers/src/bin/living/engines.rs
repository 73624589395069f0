//! What takes check_and_insert: fpstore, and four prefix keys per fingerprint in redb and fjall.
//!
//! The others keep each fingerprint under four keys, rotated by 0, 16, 32 and 48 bits, with the id
//! as value, and look through all that share 16 bits: what a team without fpstore builds. They sync
//! as often as fpstore does by default.

use std::path::Path;
use std::time::{Duration, Instant};

use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};
use redb::{Durability, ReadableTable, TableDefinition};

use crate::names::Names;
use crate::{Common, RADIUS, Result};

const PARTS: u32 = 4;
const INTERVAL: Duration = Duration::from_millis(50);

/// Takes records one by one.
pub trait Engine {
    /// Whether nothing was near, so that the record is stored.
    fn check_and_insert(&mut self, fingerprint: u64, id: u64) -> Result<bool>;
    /// Makes all durable.
    fn finish(&mut self) -> Result<()>;
}

/// The engine with this name, in an empty directory.
pub fn open(name: &str, common: &Common, path: &Path) -> Result<Box<dyn Engine>> {
    Ok(match name {
        "fpstore" => Box::new(Fpstore(common.options().create(path)?)),
        "fpstore-urls" => {
            let urls = Names::of_urls(common.records);
            Box::new(FpstoreUrls(common.options().ids(fpstore::IdKind::Text).create(path)?, urls))
        }
        "redb" => Box::new(Redb::create(path)?),
        "fjall" => Box::new(Fjall::create(path)?),
        _ => {
            return Err(
                format!("no engine {name}: there are fpstore, fpstore-urls, redb, fjall").into()
            );
        }
    })
}

struct Fpstore(fpstore::Writer);

impl Engine for Fpstore {
    fn check_and_insert(&mut self, fingerprint: u64, id: u64) -> Result<bool> {
        let verdict = self.0.check_and_insert(fingerprint, id, RADIUS)?;
        Ok(verdict == fpstore::Verdict::Inserted)
    }

    fn finish(&mut self) -> Result<()> {
        Ok(self.0.commit(fpstore::Durability::Immediate)?)
    }
}

/// Takes the url of this number for the id. They are made before the clock starts.
struct FpstoreUrls(fpstore::Writer, Names);

impl Engine for FpstoreUrls {
    fn check_and_insert(&mut self, fingerprint: u64, id: u64) -> Result<bool> {
        let verdict = self.0.check_and_insert(fingerprint, self.1.get(id), RADIUS)?;
        Ok(verdict == fpstore::Verdict::Inserted)
    }

    fn finish(&mut self) -> Result<()> {
        Ok(self.0.commit(fpstore::Durability::Immediate)?)
    }
}

/// The keys of a fingerprint, and the range of those that share the first 16 bits.
fn key(fingerprint: u64, part: u32) -> (u64, std::ops::RangeInclusive<u64>) {
    let key = fingerprint.rotate_left(16 * part);
    (key, key & !0 << 48..=key | !0 >> 16)
}

const TABLES: [TableDefinition<'static, u64, u64>; PARTS as usize] = [
    TableDefinition::new("0"),
    TableDefinition::new("1"),
    TableDefinition::new("2"),
    TableDefinition::new("3"),
];
/// Records of a transaction of redb.
const TOGETHER: usize = 4096;

struct Redb {
    database: redb::Database,
    transaction: Option<redb::WriteTransaction>,
    records: usize,
    synced: Instant,
}

impl Redb {
    fn create(path: &Path) -> Result<Self> {
        std::fs::create_dir_all(path)?;
        let database =
            redb::Database::builder().set_cache_size(2 << 30).create(path.join("prefixes.redb"))?;
        Ok(Self { database, transaction: None, records: 0, synced: Instant::now() })
    }

    fn commit(&mut self, durable: bool) -> Result<()> {
        if let Some(mut transaction) = self.transaction.take() {
            let level = if durable { Durability::Immediate } else { Durability::None };
            transaction.set_durability(level)?;
            transaction.commit()?;
        }
        self.records = 0;
        Ok(())
    }
}

impl Engine for Redb {
    fn check_and_insert(&mut self, fingerprint: u64, id: u64) -> Result<bool> {
        if self.records >= TOGETHER {
            let durable = self.synced.elapsed() > INTERVAL;
            self.commit(durable)?;
            if durable {
                self.synced = Instant::now();
            }
        }
        if self.transaction.is_none() {
            self.transaction = Some(self.database.begin_write()?);
        }
        let Some(transaction) = &self.transaction else { return Ok(false) };
        for (part, table) in (0..).zip(TABLES) {
            let table = transaction.open_table(table)?;
            let (own, range) = key(fingerprint, part);
            for entry in table.range(range)? {
                if (entry?.0.value() ^ own).count_ones() <= RADIUS {
                    return Ok(false);
                }
            }
        }
        for (part, table) in (0..).zip(TABLES) {
            transaction.open_table(table)?.insert(key(fingerprint, part).0, id)?;
        }
        self.records += 1;
        Ok(true)
    }

    fn finish(&mut self) -> Result<()> {
        self.commit(true)
    }
}

struct Fjall {
    database: Database,
    tables: Vec<Keyspace>,
    synced: Instant,
    until_looked: u32,
}

impl Fjall {
    fn create(path: &Path) -> Result<Self> {
        let database = Database::builder(path).cache_size(2 << 30).open()?;
        let table =
            |part: u32| database.keyspace(&part.to_string(), KeyspaceCreateOptions::default);
        let tables = (0..PARTS).map(table).collect::<Result<_, _>>()?;
        Ok(Self { database, tables, synced: Instant::now(), until_looked: 0 })
    }
}

impl Engine for Fjall {
    fn check_and_insert(&mut self, fingerprint: u64, id: u64) -> Result<bool> {
        self.until_looked = self.until_looked.checked_sub(1).unwrap_or(255);
        if self.until_looked == 0 && self.synced.elapsed() > INTERVAL {
            self.database.persist(PersistMode::SyncData)?;
            self.synced = Instant::now();
        }
        for (part, table) in (0..).zip(&self.tables) {
            let (own, range) = key(fingerprint, part);
            let range = range.start().to_be_bytes()..=range.end().to_be_bytes();
            for entry in table.range(range) {
                let stored = entry.key()?;
                let stored = u64::from_be_bytes(stored[..].try_into()?);
                if (stored ^ own).count_ones() <= RADIUS {
                    return Ok(false);
                }
            }
        }
        for (part, table) in (0..).zip(&self.tables) {
            table.insert(key(fingerprint, part).0.to_be_bytes(), id.to_le_bytes())?;
        }
        Ok(true)
    }

    fn finish(&mut self) -> Result<()> {
        Ok(self.database.persist(PersistMode::SyncAll)?)
    }
}
