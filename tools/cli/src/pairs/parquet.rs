//! Pairs from Parquet.

use std::fs::File;
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType;
use fpstore::Fingerprint;
use fpstore_records::tsv::push_escaped;
use fpstore_records::{ParquetColumns, bits_of, integer, integer_fingerprint};

use super::NAMES;
use super::digits::{digits, told_bits};
use crate::failure::Failure;

const WANTED: &str = "give files that `join --output parquet` wrote";

/// Reads the rows of a file.
pub struct ParquetPairs {
    columns: ParquetColumns,
    name: String,
    has_ids: bool,
    /// Whether ids are strings.
    strings: bool,
    batch: Option<RecordBatch>,
    /// The next row of the batch, and the rows before it in the file.
    row: usize,
    rows: u64,
}

impl ParquetPairs {
    /// Opens a file with the columns of pairs, and with those of ids or without.
    pub fn open(path: &Path, file: File, memory: u64) -> Result<Self, Failure> {
        let columns = ParquetColumns::open(path, file, &NAMES, memory)?;
        let (schema, name) = (columns.schema(), path.display().to_string());
        let fail = |what: String| {
            let (name, place) = (name.clone(), "columns".to_string());
            Err(Failure::Pairs { name, place, what: format!("{what}; {WANTED}") })
        };
        let type_of = |name| schema.field_with_name(name).ok().map(|field| field.data_type());
        for name in &NAMES[..2] {
            match type_of(name) {
                Some(DataType::Utf8View) => {}
                Some(own) if matches!(bits_of(own), Some(Some(_))) => {}
                Some(other) => return fail(format!("\"{name}\" is of type {other}")),
                None => return fail(format!("there is no \"{name}\"")),
            }
        }
        if let Some(other) = type_of("distance").filter(|data_type| !data_type.is_integer()) {
            return fail(format!("\"distance\" is of type {other}"));
        }
        let mut ids = Vec::new();
        for name in &NAMES[3..] {
            match type_of(name) {
                None => {}
                Some(DataType::List(item)) if is_ids(item.data_type()) => {
                    ids.push(*item.data_type() == DataType::Utf8View);
                }
                Some(other) => return fail(format!("\"{name}\" is of type {other}")),
            }
        }
        let (has_ids, strings) = match ids[..] {
            [] => (false, false),
            [a, b] if a == b => (true, a),
            _ => return fail("the ids of a and b are not of one kind".to_string()),
        };
        Ok(Self { columns, name, has_ids, strings, batch: None, row: 0, rows: 0 })
    }

    /// Bits of the fingerprints, as the column of `a` tells, or else its first text.
    pub fn bits(&mut self) -> Result<Option<u32>, Failure> {
        let schema = self.columns.schema();
        let field = schema.field_with_name(NAMES[0]).ok();
        if let Some(Some(bits)) = field.and_then(|field| bits_of(field.data_type())) {
            return Ok(Some(bits));
        }
        self.fill()?;
        let first = self.batch.as_ref().and_then(|batch| batch.column_by_name(NAMES[0]));
        let texts = first.and_then(|column| column.as_string_view_opt());
        Ok(texts.and_then(|texts| told_bits(texts.iter().next()??.as_bytes())))
    }

    /// Whether ids are strings, if there are ids.
    pub fn id_strings(&self) -> Option<bool> {
        self.has_ids.then_some(self.strings)
    }

    /// What is noted in the file under a name.
    pub fn note(&self, name: &str) -> Option<String> {
        self.columns.note(name)
    }

    /// By which recipe the fingerprints were made, where the file says so.
    pub fn recipe(&self) -> Option<String> {
        self.columns.recipe()
    }

    /// The share of the rows that was read, from 0 to 1.
    pub fn share(&self) -> f64 {
        self.columns.share()
    }

    /// Gets the next row into the batch, unless there is none.
    fn fill(&mut self) -> Result<(), Failure> {
        while self.batch.as_ref().is_none_or(|batch| batch.num_rows() == self.row) {
            self.row = 0;
            self.batch = self.columns.next_batch()?;
            if self.batch.is_none() {
                break;
            }
        }
        Ok(())
    }

    /// The fingerprints of the next row, whose ids are put into `rest` as TSV has them; `None` at the
    /// end.
    pub fn next<F: Fingerprint>(&mut self, rest: &mut Vec<u8>) -> Result<Option<(F, F)>, Failure> {
        rest.clear();
        self.fill()?;
        let Some(batch) = &self.batch else { return Ok(None) };
        let pair = pair(batch, self.row).and_then(|pair| {
            if self.has_ids {
                push_ids(&batch[NAMES[3]], self.row, rest)?;
                push_ids(&batch[NAMES[4]], self.row, rest)?;
            }
            Ok(pair)
        });
        (self.row, self.rows) = (self.row + 1, self.rows + 1);
        pair.map(Some).map_err(|what| {
            let place = format!("row {}", self.rows);
            Failure::Pairs { name: self.name.clone(), place, what: format!("{what}; {WANTED}") }
        })
    }
}

fn is_ids(data_type: &DataType) -> bool {
    matches!(data_type, DataType::UInt64 | DataType::Int64 | DataType::Utf8View)
}

fn pair<F: Fingerprint>(batch: &RecordBatch, row: usize) -> Result<(F, F), String> {
    let [a, b] = [0, 1].map(|column| {
        let name = NAMES[column];
        fingerprint(&batch[name], row)
            .ok_or_else(|| format!("\"{name}\" is no fingerprint of {} bits", F::BITS))
    });
    let (a, b): (F, F) = (a?, b?);
    match batch.column_by_name(NAMES[2]).map(|column| integer(column, row)) {
        Some(stated) if stated != Some(a.distance(b).into()) => {
            Err("the distance is not that of these fingerprints".to_string())
        }
        _ => Ok((a, b)),
    }
}

fn fingerprint<F: Fingerprint>(column: &ArrayRef, row: usize) -> Option<F> {
    if column.is_null(row) {
        return None;
    }
    if let Some(texts) = column.as_string_view_opt() {
        return digits(texts.value(row).as_bytes());
    }
    match column.as_fixed_size_binary_opt() {
        Some(bytes) => F::from_be_slice(bytes.value(row)),
        None => integer_fingerprint(column, row),
    }
}

/// Appends a tab and the ids of a list.
fn push_ids(column: &ArrayRef, row: usize, to: &mut Vec<u8>) -> Result<(), String> {
    to.push(b'\t');
    if column.is_null(row) {
        return Ok(());
    }
    let ids = column.as_list::<i32>().value(row);
    for id in 0..ids.len() {
        if id > 0 {
            to.push(b',');
        }
        if ids.is_null(id) {
            return Err("an id is null".to_string());
        }
        match ids.as_string_view_opt() {
            Some(ids) => push_escaped(to, ids.value(id)),
            None => {
                let id = integer(&ids, id).and_then(|id| u64::try_from(id).ok());
                let id = id.ok_or_else(|| "an id is negative".to_string())?;
                to.extend_from_slice(id.to_string().as_bytes());
            }
        }
    }
    Ok(())
}
