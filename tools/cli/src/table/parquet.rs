//! Tables as Parquet.

use std::fs::File;
use std::io;
use std::sync::Arc;

use arrow_array::builder::{
    BooleanBuilder, FixedSizeBinaryBuilder, Int32Builder, Int64Builder, ListBuilder, StringBuilder,
    UInt8Builder, UInt16Builder, UInt32Builder, UInt64Builder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::extension::Uuid;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use fpstore::{Fingerprint, Id, IdKind, Ids};
use fpstore_records::write::hex;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;

use super::{Form, number, signed};
use crate::failure::Failure;
use crate::ids::IdPrinter;

/// Rows that are handed on together.
const BATCH_ROWS: usize = 1 << 13;
/// Values of ids at which that happens as well.
const BATCH_IDS: usize = 1 << 16;
/// Rows of a row group, which is in memory until it is whole, and bytes at which one ends before.
const GROUP_ROWS: usize = 1 << 17;
const GROUP_BYTES: usize = 8 << 20;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Fingerprints of 64 bits in their form.
    Fingerprint(Form),
    /// Fingerprints of so many other bits in their form.
    OtherFingerprint(Form, u32),
    /// Fingerprints of so many bits in their form, or none.
    FingerprintOrNull(Form, u32),
    /// Distances: UInt8.
    Distance,
    /// Distances of fingerprints of 256 bits: UInt16.
    WideDistance,
    /// Numbers: UInt64.
    Number,
    /// Yes or no.
    Flag,
    /// Ids of a kind: UInt64, FixedSizeBinary of UUIDs and of keys, or strings.
    Id(IdKind),
    /// Lists of such ids.
    Ids(IdKind),
    /// Strings, or nothing.
    Text,
}

/// Writes rows, cell by cell. Memory: a row group of at most some 8 MiB, and the longest row.
pub struct ParquetTable {
    writer: ArrowWriter<File>,
    schema: SchemaRef,
    cells: Vec<Cells>,
    /// The column of the next cell.
    at: usize,
    rows: usize,
    id_count: usize,
}

/// The cells of a column that were not handed on.
enum Cells {
    Unsigned(UInt64Builder),
    Signed(Int64Builder),
    Narrow(UInt32Builder),
    SignedNarrow(Int32Builder),
    Bytes(FixedSizeBinaryBuilder),
    Text(StringBuilder),
    Distance(UInt8Builder),
    WideDistance(UInt16Builder),
    Flag(BooleanBuilder),
    Numbers(ListBuilder<UInt64Builder>),
    Strings(ListBuilder<StringBuilder>),
    Keys(ListBuilder<FixedSizeBinaryBuilder>),
}

impl Kind {
    /// The columns of fingerprints of a width, in their form, and of their distances.
    pub fn of<F: Fingerprint>(form: Form) -> (Self, Self) {
        // A distance of 256 bits is no UInt8.
        match F::BITS {
            u64::BITS => (Kind::Fingerprint(form), Kind::Distance),
            bits @ 0..256 => (Kind::OtherFingerprint(form, bits), Kind::Distance),
            bits => (Kind::OtherFingerprint(form, bits), Kind::WideDistance),
        }
    }
}

impl Cells {
    fn new(kind: Kind) -> Self {
        match kind {
            Kind::FingerprintOrNull(form, u64::BITS) => Self::new(Kind::Fingerprint(form)),
            Kind::FingerprintOrNull(form, bits) => Self::new(Kind::OtherFingerprint(form, bits)),
            Kind::Fingerprint(Form::Hex) | Kind::OtherFingerprint(Form::Hex, _) | Kind::Text => {
                Cells::Text(StringBuilder::new())
            }
            Kind::OtherFingerprint(Form::U64, 32) => Cells::Narrow(UInt32Builder::new()),
            Kind::OtherFingerprint(Form::I64, 32) => Cells::SignedNarrow(Int32Builder::new()),
            Kind::OtherFingerprint(_, bits) => {
                Cells::Bytes(FixedSizeBinaryBuilder::new((bits / 8) as i32))
            }
            Kind::Fingerprint(Form::Bytes) => Cells::Bytes(FixedSizeBinaryBuilder::new(8)),
            Kind::WideDistance => Cells::WideDistance(UInt16Builder::new()),
            Kind::Fingerprint(Form::U64) | Kind::Number => Cells::Unsigned(UInt64Builder::new()),
            Kind::Fingerprint(Form::I64) => Cells::Signed(Int64Builder::new()),
            Kind::Distance => Cells::Distance(UInt8Builder::new()),
            Kind::Flag => Cells::Flag(BooleanBuilder::new()),
            Kind::Id(of) => match (of, key_bytes(of)) {
                (IdKind::Number, _) => Self::new(Kind::Number),
                (_, Some(bytes)) => Cells::Bytes(FixedSizeBinaryBuilder::new(bytes)),
                _ => Self::new(Kind::Text),
            },
            Kind::Ids(of) => match (of, key_bytes(of)) {
                (IdKind::Number, _) => Cells::Numbers(ListBuilder::new(UInt64Builder::new())),
                (_, Some(bytes)) => {
                    let list = ListBuilder::new(FixedSizeBinaryBuilder::new(bytes));
                    Cells::Keys(list.with_field(id_field("item", of, bytes)))
                }
                _ => Cells::Strings(ListBuilder::new(StringBuilder::new())),
            },
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Cells::Unsigned(cells) => Arc::new(cells.finish()),
            Cells::Signed(cells) => Arc::new(cells.finish()),
            Cells::Text(cells) => Arc::new(cells.finish()),
            Cells::Distance(cells) => Arc::new(cells.finish()),
            Cells::WideDistance(cells) => Arc::new(cells.finish()),
            Cells::Narrow(cells) => Arc::new(cells.finish()),
            Cells::SignedNarrow(cells) => Arc::new(cells.finish()),
            Cells::Bytes(cells) => Arc::new(cells.finish()),
            Cells::Flag(cells) => Arc::new(cells.finish()),
            Cells::Numbers(cells) => Arc::new(cells.finish()),
            Cells::Strings(cells) => Arc::new(cells.finish()),
            Cells::Keys(cells) => Arc::new(cells.finish()),
        }
    }
}

/// Bytes of each id of a kind whose ids are bytes in a table.
fn key_bytes(kind: IdKind) -> Option<i32> {
    match kind {
        IdKind::Uuid => Some(16),
        IdKind::Bytes(bytes) => Some(bytes.into()),
        // Their greatest have more digits than a decimal of 128 bits.
        _ => None,
    }
}

/// A column of such ids; of UUIDs it says that they are.
fn id_field(name: &str, kind: IdKind, bytes: i32) -> Field {
    let field = Field::new(name, DataType::FixedSizeBinary(bytes), true);
    if kind == IdKind::Uuid { field.with_extension_type(Uuid) } else { field }
}

impl ParquetTable {
    /// Starts the file with these columns, and with what is noted about all of it.
    pub fn new(
        file: File,
        columns: &[(&str, Kind)],
        notes: &[(&str, String)],
    ) -> Result<Self, Failure> {
        let mut cells: Vec<Cells> = columns.iter().map(|(_, kind)| Cells::new(*kind)).collect();
        let fields = columns.iter().zip(&mut cells).map(|((name, kind), cells)| {
            let is_nullable = matches!(kind, Kind::Text | Kind::FingerprintOrNull(..));
            match *kind {
                Kind::Id(of) if let Some(bytes) = key_bytes(of) => {
                    id_field(name, of, bytes).with_nullable(is_nullable)
                }
                _ => Field::new(*name, cells.finish().data_type().clone(), is_nullable),
            }
        });
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
        let notes = notes.iter().map(|(key, value)| (*key, value.clone()));
        let notes = notes.chain([("columns", names.join(","))]);
        let notes = notes.map(|(key, value)| KeyValue::new(format!("fpstore.{key}"), value));
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_max_row_group_row_count(Some(GROUP_ROWS))
            .set_key_value_metadata(Some(notes.collect()))
            .build();
        let writer =
            ArrowWriter::try_new(file, schema.clone(), Some(properties)).map_err(failed)?;
        Ok(Self { writer, schema, cells, at: 0, rows: 0, id_count: 0 })
    }

    /// Writes a fingerprint.
    pub fn fingerprint<F: Fingerprint>(&mut self, fingerprint: F) -> Result<(), Failure> {
        match (self.next()?, number(fingerprint)) {
            (Cells::Unsigned(cells), Some(number)) => cells.append_value(number),
            (Cells::Signed(cells), Some(number)) => cells.append_value(signed::<F>(number)),
            (Cells::Narrow(cells), Some(number)) => cells.append_value(number as u32),
            (Cells::SignedNarrow(cells), Some(number)) => cells.append_value(number as i32),
            (Cells::Text(cells), _) => cells.append_value(hex(fingerprint)),
            (Cells::Bytes(cells), _) => {
                let bytes = fingerprint.to_be_bytes();
                cells.append_value(bytes).map_err(|error| failed(error.into()))?;
            }
            _ => return Err(misplaced()),
        }
        Ok(())
    }

    /// Writes a fingerprint by its words, the most significant first; none without any.
    pub fn words(&mut self, words: &[u64]) -> Result<(), Failure> {
        match (self.next()?, words) {
            (Cells::Unsigned(cells), []) => cells.append_null(),
            (Cells::Unsigned(cells), [word]) => cells.append_value(*word),
            (Cells::Bytes(cells), []) => cells.append_null(),
            (Cells::Bytes(cells), _) => {
                let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
                cells.append_value(bytes).map_err(|error| failed(error.into()))?;
            }
            _ => return Err(misplaced()),
        }
        Ok(())
    }

    /// Writes a distance.
    pub fn distance(&mut self, distance: u32) -> Result<(), Failure> {
        match (self.next()?, u8::try_from(distance)) {
            (Cells::Distance(cells), Ok(distance)) => cells.append_value(distance),
            (Cells::WideDistance(cells), _) => cells.append_value(distance as u16),
            _ => return Err(misplaced()),
        }
        Ok(())
    }

    /// Writes a number.
    pub fn number(&mut self, number: u64) -> Result<(), Failure> {
        match self.next()? {
            Cells::Unsigned(cells) => cells.append_value(number),
            _ => return Err(misplaced()),
        }
        Ok(())
    }

    /// Writes yes or no.
    pub fn flag(&mut self, flag: bool) -> Result<(), Failure> {
        match self.next()? {
            Cells::Flag(cells) => cells.append_value(flag),
            _ => return Err(misplaced()),
        }
        Ok(())
    }

    /// Writes a string, or nothing.
    pub fn text(&mut self, text: Option<&str>) -> Result<(), Failure> {
        match self.next()? {
            Cells::Text(cells) => cells.append_option(text),
            _ => return Err(misplaced()),
        }
        Ok(())
    }

    /// Writes one id.
    pub fn id(&mut self, id: &Id) -> Result<(), Failure> {
        match (self.next()?, id) {
            (Cells::Unsigned(cells), Id::Number(number)) => cells.append_value(*number),
            (Cells::Text(cells), Id::Text(text)) => cells.append_value(text),
            (Cells::Text(cells), id) => cells.append_value(id.to_string()),
            (Cells::Bytes(cells), id) => append_key(cells, id)?,
            _ => return Err(misplaced()),
        }
        Ok(())
    }

    /// Writes the ids of one fingerprint.
    pub fn ids<F: Fingerprint>(
        &mut self,
        printer: &mut IdPrinter<'_, F>,
        ids: &mut Ids<Id>,
    ) -> Result<(), Failure> {
        let mut count = 0;
        match self.next()? {
            Cells::Numbers(lists) => {
                printer.each(ids, |id| {
                    if let Id::Number(id) = id {
                        count += 1;
                        lists.values().append_value(id);
                    }
                })?;
                lists.append(true);
            }
            Cells::Strings(lists) => {
                printer.each(ids, |id| {
                    count += 1;
                    match id {
                        Id::Text(text) => lists.values().append_value(text),
                        id => lists.values().append_value(id.to_string()),
                    }
                })?;
                lists.append(true);
            }
            Cells::Keys(lists) => {
                let mut appended = Ok(());
                printer.each(ids, |id| {
                    count += 1;
                    if appended.is_ok() {
                        appended = append_key(lists.values(), &id);
                    }
                })?;
                appended?;
                lists.append(true);
            }
            _ => return Err(misplaced()),
        }
        self.id_count += count;
        Ok(())
    }

    /// Writes ids that were read as strings.
    pub fn id_texts(&mut self, ids: impl Iterator<Item = String>) -> Result<(), Failure> {
        let mut count = 0;
        match self.next()? {
            Cells::Numbers(lists) => {
                for id in ids {
                    count += 1;
                    lists.values().append_value(id.parse().map_err(|_| misplaced())?);
                }
                lists.append(true);
            }
            Cells::Strings(lists) => {
                for id in ids {
                    count += 1;
                    lists.values().append_value(id);
                }
                lists.append(true);
            }
            _ => return Err(misplaced()),
        }
        self.id_count += count;
        Ok(())
    }

    /// Ends a row, once it has all of its cells.
    pub fn end_row(&mut self) -> Result<(), Failure> {
        if self.at != self.cells.len() {
            return Err(misplaced());
        }
        (self.at, self.rows) = (0, self.rows + 1);
        if self.rows >= BATCH_ROWS || self.id_count >= BATCH_IDS {
            return self.pass_on();
        }
        Ok(())
    }

    /// Bytes that were written to the file.
    pub fn written(&self) -> u64 {
        self.writer.bytes_written() as u64
    }

    /// Writes what is left, and the footer. Gives the bytes of the file.
    pub fn finish(mut self) -> Result<u64, Failure> {
        self.pass_on()?;
        self.writer.finish().map_err(failed)?;
        Ok(self.written())
    }

    fn next(&mut self) -> Result<&mut Cells, Failure> {
        self.at += 1;
        self.cells.get_mut(self.at - 1).ok_or_else(misplaced)
    }

    fn pass_on(&mut self) -> Result<(), Failure> {
        let columns = self.cells.iter_mut().map(Cells::finish).collect();
        let rows = RecordBatch::try_new(self.schema.clone(), columns);
        (self.rows, self.id_count) = (0, 0);
        self.writer.write(&rows.map_err(|error| failed(error.into()))?).map_err(failed)?;
        if self.writer.in_progress_size() > GROUP_BYTES {
            self.writer.flush().map_err(failed)?;
        }
        Ok(())
    }
}

/// Appends an id that is bytes.
fn append_key(cells: &mut FixedSizeBinaryBuilder, id: &Id) -> Result<(), Failure> {
    let appended = match id {
        Id::Uuid(bytes) => cells.append_value(bytes),
        Id::Bytes(bytes) => cells.append_value(bytes),
        _ => return Err(misplaced()),
    };
    appended.map_err(|error| failed(error.into()))
}

fn misplaced() -> Failure {
    failed(ParquetError::General("a cell is not of its column; report this as a bug".to_string()))
}

/// Only writing can fail, and a pipe whose reader has enough is no failure.
fn failed(error: ParquetError) -> Failure {
    if let ParquetError::External(source) = &error
        && let Some(source) = source.downcast_ref::<io::Error>()
        && source.kind() == io::ErrorKind::BrokenPipe
    {
        return Failure::ClosedPipe;
    }
    Failure::System(format!("--as parquet: cannot write: {error}; look at the disk"))
}
