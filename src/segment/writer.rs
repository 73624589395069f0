//! Writes the files of a segment: how long the stages took, and files that belong to no store yet.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::source::{KeySource, RowSource, SourceOfIds, cut};
use crate::error::{Error, Result};
use crate::execution::{Meter, Metered, Phase};
use crate::files::Aligned;
use crate::fingerprint::Fingerprint;
use crate::format::{self, IdsEntry, IndexKind, MOST_ROWS, NamesEntry, SegmentEntry, TableEntry};
use crate::ids::{IdsOptions, write_ids};
use crate::multi_index::{BaseWriter, PartLayout, PartOptions, write_part};
use crate::names::{NameSource, write_names};
use crate::planning::{IndexLayout, TableLayout};
use crate::storage::Storage;
use crate::table::{TableOptions, TableStats, TableWriter, WriteError, WriteTimes, Written};

/// Writes one segment: of a set that comes in order the tables and the ids, synced, and what a
/// manifest says of them.
///
/// Memory, beside that of the source: blocks on their way, and with ids 4 bytes per block of a
/// table.
pub(crate) struct SegmentWriter<'a, S: Storage> {
    pub(crate) files: &'a mut NewFiles<S>,
    pub(crate) meter: &'a Meter,
    pub(crate) times: &'a mut PackTimes,
}

/// What was written.
pub(crate) struct WrittenSegment {
    pub(crate) entry: SegmentEntry,
    pub(crate) tables: Vec<TableStats>,
}

impl WrittenSegment {
    /// Bytes of the ids.
    pub(crate) fn id_bytes(&self) -> u64 {
        self.entry.ids.as_ref().map_or(0, |ids| ids.file_bytes)
    }

    /// Bytes of the names.
    pub(crate) fn name_bytes(&self) -> u64 {
        self.entry.names.as_ref().map_or(0, |names| names.file_bytes)
    }

    /// Bytes of all files.
    pub(crate) fn bytes(&self) -> u64 {
        let of_index = self.entry.tables.iter().map(|table| table.file_bytes).sum::<u64>();
        of_index + self.id_bytes() + self.name_bytes()
    }
}

impl<S: Storage> SegmentWriter<'_, S> {
    /// Writes segment `number`.
    ///
    /// # Errors
    ///
    /// As [`Self::write_tables`] and [`Self::write_parts`].
    pub(crate) fn write<F: Fingerprint>(
        &mut self,
        number: u64,
        layout: &IndexLayout,
        source: &mut (impl KeySource + RowSource<F>),
        ids: Option<SourceOfIds<'_>>,
    ) -> Result<WrittenSegment> {
        match layout {
            IndexLayout::Tables(layout) => self.write_tables(number, layout, source, ids),
            IndexLayout::Parts(parts) => self.write_parts(number, *parts, source, ids),
        }
    }

    /// Writes segment `number`, with tables.
    ///
    /// # Errors
    ///
    /// Those of the source and of the file system; [`Error::Cancelled`] and
    /// [`Error::DeadlineExceeded`].
    fn write_tables(
        &mut self,
        number: u64,
        layout: &TableLayout,
        source: &mut dyn KeySource,
        mut ids: Option<SourceOfIds<'_>>,
    ) -> Result<WrittenSegment> {
        let (count, set_sum) = (source.count(), source.set_sum());
        let (mut entries, mut tables) = (Vec::new(), Vec::new());
        let (mut id_entry, mut names) = (None, None);
        let tops = layout.design.tops();
        for (table, top) in tops.iter().enumerate() {
            let next = tops.get(table + 1).map(Vec::as_slice);
            let start = Instant::now();
            source.order(top, next)?;
            self.times.sort += start.elapsed();
            let start = Instant::now();
            let bits = layout.key_bits(table, count);
            let profile = source.profile(bits)?;
            self.times.count += start.elapsed();
            let cuts = (bits < layout.design.bits()).then_some(bits);
            let options = TableOptions {
                fingerprint_bits: layout.design.bits(),
                coding: layout.coding(table, &profile, bits)?,
                block_bytes: layout.block_bytes,
                count,
                set_sum,
                table_number: table as u16,
                top: top.clone(),
                count_keys: ids.is_some(),
            };
            let written = self.write_table(number, &options, |sink| {
                source.visit(next, &mut |keys| cut(keys, cuts, sink))
            })?;
            tables.push(TableStats::of_written(count, &written, &options));
            if let Some(ids) = ids.take() {
                let options = IdsOptions {
                    table_crc: written.entry.header_crc,
                    count,
                    key_counts: written.key_counts,
                    id_count: ids.count,
                    greatest: ids.greatest,
                };
                let written = self.write_ids(number, &options, ids)?;
                (id_entry, names) = (Some(written.0), written.1);
            }
            entries.push(written.entry);
        }
        let (index, ids) = (IndexKind::Tables, id_entry);
        let entry = SegmentEntry { number, count, set_sum, index, tables: entries, ids, names };
        Ok(WrittenSegment { entry, tables })
    }

    /// Writes segment `number`, with a base and part tables.
    ///
    /// # Errors
    ///
    /// Those of the source and of the file system; [`Error::Cancelled`] and
    /// [`Error::DeadlineExceeded`]; [`Error::TooManyRows`].
    pub(crate) fn write_parts<F: Fingerprint>(
        &mut self,
        number: u64,
        layout: PartLayout,
        source: &mut dyn RowSource<F>,
        ids: Option<SourceOfIds<'_>>,
    ) -> Result<WrittenSegment> {
        let (count, set_sum) = (source.count(), source.set_sum());
        if count > MOST_ROWS {
            return Err(Error::TooManyRows { count, most: MOST_ROWS });
        }
        let start = Instant::now();
        let parts = match layout.count {
            0 => Vec::new(),
            _ => source.sample()?.choose(layout),
        };
        self.times.count += start.elapsed();
        let part_count = parts.len() as u16;
        let base = self.write_file(&format::base_name(number), |out, meter| {
            let mut base = BaseWriter::<F>::new((count, set_sum, part_count), out)?;
            let mut failed = Ok(());
            let visited = source.visit_rows(&mut |rows| {
                if let Err(error) = base.push(rows) {
                    failed = Err(error);
                    // Passes through the source, and goes no further.
                    return Err(Error::Ended);
                }
                meter.advance(Phase::Encode, rows.len() as u64)
            });
            failed?;
            visited.map_err(WriteError::Other)?;
            base.finish()
        })?;
        let base_crc = base.header_crc;
        let (mut ids_entry, mut names) = (None, None);
        if let Some(ids) = ids {
            let options = IdsOptions {
                table_crc: base_crc,
                count,
                key_counts: Vec::new(),
                id_count: ids.count,
                greatest: ids.greatest,
            };
            let written = self.write_ids(number, &options, ids)?;
            (ids_entry, names) = (Some(written.0), written.1);
        }
        let mut tables = vec![base];
        for (part, bits) in (0..).zip(parts) {
            let part = PartOptions::new(part, bits, (count, base_crc));
            let start = Instant::now();
            source.order_entries(&part)?;
            self.times.sort += start.elapsed();
            let name = format::part_name(number, part.number.into());
            tables.push(self.write_file(&name, |out, meter| {
                let written = write_part::<F>(&part, source, out)?;
                meter.advance(Phase::Encode, count).map_err(WriteError::Other)?;
                Ok(written)
            })?);
        }
        let (index, ids) = (IndexKind::Parts, ids_entry);
        let entry = SegmentEntry { number, count, set_sum, index, tables, ids, names };
        Ok(WrittenSegment { entry, tables: Vec::new() })
    }

    /// Writes and syncs a file.
    fn write_file(
        &mut self,
        name: &str,
        write: impl FnOnce(&mut dyn Write, &Meter) -> Result<TableEntry, WriteError>,
    ) -> Result<TableEntry> {
        let mut file = self.files.create(name)?;
        let start = Instant::now();
        let mut metered = Metered { out: &mut file, meter: self.meter };
        let mut out = Aligned::new(&mut metered);
        let written = write(&mut out, self.meter);
        let written =
            written.and_then(|entry| out.finish().map(|()| entry).map_err(WriteError::Io));
        let fail = |error| written_or(error, self.files.error(name, "write the file"));
        let entry = written.map_err(fail)?;
        self.times.write += start.elapsed();
        let start = Instant::now();
        self.files.sync(&mut file, name, "sync the file")?;
        self.times.sync += start.elapsed();
        Ok(entry)
    }

    /// Writes and syncs a table whose keys `visit` gives, in pieces.
    fn write_table(
        &mut self,
        segment: u64,
        options: &TableOptions,
        visit: impl FnOnce(&mut dyn FnMut(&[u64]) -> Result<()>) -> Result<()>,
    ) -> Result<Written> {
        let name = format::table_name(segment, usize::from(options.table_number));
        let mut file = self.files.create(&name)?;
        let fail = |error| written_or(error, self.files.error(&name, "write the table"));
        let mut metered = Metered { out: &mut file, meter: self.meter };
        let mut out = Aligned::new(&mut metered);
        let mut table = TableWriter::new(options, &mut out).map_err(fail)?;
        let mut progress =
            |keys| self.meter.advance(Phase::Encode, keys).map_err(WriteError::Other);
        visit(&mut |keys| table.push(keys, &mut progress).map_err(fail))?;
        let (written, write_times) = table.finish().map_err(fail)?;
        out.finish().map_err(|error| fail(WriteError::Io(error)))?;
        self.times.add(write_times);
        let start = Instant::now();
        self.files.sync(&mut file, &name, "sync the table")?;
        self.times.sync += start.elapsed();
        Ok(written)
    }

    /// Writes and syncs the ids of a segment, and their names.
    fn write_ids(
        &mut self,
        segment: u64,
        options: &IdsOptions,
        source: SourceOfIds<'_>,
    ) -> Result<(IdsEntry, Option<NamesEntry>)> {
        let SourceOfIds { ids, names, .. } = source;
        let name = format::ids_name(segment);
        let mut file = self.files.create(&name)?;
        let mut out = Metered { out: &mut file, meter: self.meter };
        let start = Instant::now();
        let progress = |ids| self.meter.advance(Phase::Ids, ids);
        let written = write_ids(options, ids, &mut out, &progress);
        let fail = |error| written_or(error, self.files.error(&name, "write the ids"));
        let entry = written.map_err(fail)?;
        self.times.write += start.elapsed();
        let start = Instant::now();
        self.files.sync(&mut file, &name, "sync the ids")?;
        self.times.sync += start.elapsed();
        let names = names.map(|names| self.write_names(segment, names)).transpose()?;
        Ok((entry, names))
    }

    /// Writes and syncs the names of a segment.
    fn write_names(&mut self, segment: u64, source: &mut dyn NameSource) -> Result<NamesEntry> {
        let name = format::names_name(segment);
        let mut file = self.files.create(&name)?;
        let start = Instant::now();
        let mut metered = Metered { out: &mut file, meter: self.meter };
        let mut out = Aligned::new(&mut metered);
        let progress = |_| self.meter.check();
        let written = write_names(source, &mut out, &progress);
        let written =
            written.and_then(|entry| out.finish().map(|()| entry).map_err(WriteError::Io));
        let fail = |error| written_or(error, self.files.error(&name, "write the names"));
        let entry = written.map_err(fail)?;
        self.times.write += start.elapsed();
        let start = Instant::now();
        self.files.sync(&mut file, &name, "sync the names")?;
        self.times.sync += start.elapsed();
        Ok(entry)
    }
}

/// The error of the file system, wrapped, or the other one.
fn written_or(error: WriteError, wrap: impl FnOnce(std::io::Error) -> Error) -> Error {
    match error {
        WriteError::Io(source) => wrap(source),
        WriteError::Other(error) => error,
    }
}

/// How long the stages of a pack took, all tables together. Where there are several threads, blocks
/// are written while others are encoded, and the sum is more than the time that passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PackTimes {
    /// Bringing the set, and then every table, into order, with reading and writing what does not
    /// fit into memory.
    pub sort: Duration,
    /// Counting the classes of keys, from which the codes follow.
    pub count: Duration,
    /// Cutting keys into blocks.
    pub cut: Duration,
    /// Encoding blocks.
    pub encode: Duration,
    /// Handing blocks to the file system.
    pub write: Duration,
    /// Waiting until files are durable.
    pub sync: Duration,
}

impl PackTimes {
    pub(crate) fn add(&mut self, times: WriteTimes) {
        self.cut += times.cut;
        self.encode += times.encode;
        self.write += times.write;
    }
}

/// The files of a segment that is coming to be, or of several. Dropping them before they are
/// [kept](Self::keep) removes them, as far as the file system lets it.
pub(crate) struct NewFiles<S: Storage> {
    path: PathBuf,
    storage: Arc<S>,
    /// Names of files that do not belong to a store yet.
    created: Vec<String>,
}

impl<S: Storage> NewFiles<S> {
    /// None so far, in the directory `path`.
    pub(crate) fn new(path: &Path, storage: Arc<S>) -> Self {
        Self { path: path.to_path_buf(), storage, created: Vec::new() }
    }

    /// Where they are.
    pub(crate) fn storage(&self) -> &S {
        &self.storage
    }

    /// Creates a file that must not exist.
    pub(crate) fn create(&mut self, name: &str) -> Result<S::File> {
        let file = self.storage.create(name).map_err(self.error(name, "create the file"))?;
        self.created.push(name.to_string());
        Ok(file)
    }

    /// Removes unless [kept](Self::keep) also a file that somebody else has created.
    pub(crate) fn add(&mut self, name: &str) {
        self.created.push(name.to_string());
    }

    /// Makes the bytes of a file durable.
    pub(crate) fn sync(&self, file: &mut S::File, name: &str, action: &'static str) -> Result<()> {
        self.storage.sync(file).map_err(self.error(name, action))
    }

    /// Makes the names durable.
    pub(crate) fn sync_names(&self) -> Result<()> {
        self.storage.sync_directory().map_err(self.error("", "sync the directory of"))
    }

    /// The files belong to a store now.
    pub(crate) fn keep(&mut self) {
        self.created.clear();
    }

    /// Removes files, as far as the file system lets it.
    pub(crate) fn remove(&self, names: &[String]) {
        for name in names {
            let _ = self.storage.remove(name);
        }
    }

    /// Wraps an I/O error on a file.
    pub(crate) fn error(
        &self,
        name: &str,
        action: &'static str,
    ) -> impl FnOnce(io::Error) -> Error + use<S> {
        Error::io(self.path.join(name), action)
    }
}

impl<S: Storage> Drop for NewFiles<S> {
    fn drop(&mut self) {
        self.remove(&self.created);
    }
}
