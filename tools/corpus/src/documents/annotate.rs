//! Further columns behind those of a record, which stay byte for byte.

use fpstore_records::tsv::push_escaped;
use serde::Serialize;

use super::options::Kind;
use crate::error::Error;

/// What is said of a document. The order of the fields is that of the columns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Annotation {
    /// The number of its cluster.
    pub cluster: u64,
    /// The documents of the cluster, with the one that is kept.
    pub cluster_size: u64,
    /// The document that is kept: itself, or another one.
    pub kept: String,
    /// By how much it differs from that.
    pub distance: u32,
    /// Why it is removed, or that it is kept.
    pub why: &'static str,
}

/// Columns that documents get.
pub struct Further<'a> {
    /// Their names.
    pub names: &'a [String],
    /// Gives what stands in them of each document that is written, in order.
    pub next: &'a mut dyn FnMut() -> Result<Annotation, Error>,
}

/// Appends columns of these names to the records of a text.
pub struct Appender {
    names: Vec<String>,
    kind: Kind,
    delimiter: u8,
}

impl Appender {
    /// For records of a kind; `delimiter` separates the columns of CSV.
    pub fn new(names: &[String], kind: Kind, delimiter: Option<u8>) -> Self {
        Self { names: names.to_vec(), kind, delimiter: delimiter.unwrap_or(b',') }
    }

    /// The line of the names of columns.
    pub fn header(&self, header: &[u8], to: &mut Vec<u8>) -> Result<(), Error> {
        match self.kind {
            Kind::Csv | Kind::Tsv => self.fields(header, &self.names, to),
            _ => {
                to.extend_from_slice(header);
                Ok(())
            }
        }
    }

    /// A record.
    pub fn record(
        &self,
        record: &[u8],
        annotation: &Annotation,
        to: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let Annotation { cluster, cluster_size, kept, distance, why } = annotation;
        let (cluster, size) = (cluster.to_string(), cluster_size.to_string());
        let distance = distance.to_string();
        match self.kind {
            Kind::Csv | Kind::Tsv => {
                self.fields(record, &[&cluster, &size, kept, &distance, *why], to)
            }
            _ => {
                let (kept, why) = (quoted(kept)?, quoted(why)?);
                self.members(record, &[&cluster, &size, &kept, &distance, &why], to)
            }
        }
    }

    /// Members of an object, before the brace that closes it.
    fn members(&self, record: &[u8], values: &[&str], to: &mut Vec<u8>) -> Result<(), Error> {
        // A record that was no object was refused when it was read.
        let end = record.trim_ascii_end().len().saturating_sub(1);
        let (before, brace) = record.split_at(end);
        to.extend_from_slice(before);
        let mut is_first = before.trim_ascii_end().last() == Some(&b'{');
        for (name, value) in self.names.iter().zip(values) {
            if !std::mem::take(&mut is_first) {
                to.push(b',');
            }
            to.extend_from_slice(quoted(name)?.as_bytes());
            to.push(b':');
            to.extend_from_slice(value.as_bytes());
        }
        to.extend_from_slice(brace);
        Ok(())
    }

    /// Fields of a row, before its line end.
    fn fields<T: AsRef<str>>(
        &self,
        record: &[u8],
        values: &[T],
        to: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let row = record.strip_suffix(b"\n").unwrap_or(record);
        let row = row.strip_suffix(b"\r").unwrap_or(row);
        to.extend_from_slice(row);
        if self.kind == Kind::Tsv {
            for value in values {
                to.push(b'\t');
                push_escaped(to, value.as_ref());
            }
        } else {
            to.push(self.delimiter);
            let mut fields = csv::WriterBuilder::new();
            let fields = fields.delimiter(self.delimiter).buffer_capacity(256);
            let mut fields = fields.from_writer(Vec::new());
            let written = fields.write_record(values.iter().map(AsRef::as_ref));
            written.map_err(|error| Error::System(error.to_string()))?;
            let fields = fields.into_inner().map_err(|error| Error::System(error.to_string()))?;
            to.extend_from_slice(fields.strip_suffix(b"\n").unwrap_or(&fields));
        }
        to.extend_from_slice(&record[row.len()..]);
        Ok(())
    }
}

/// A string of JSON.
fn quoted(text: &str) -> Result<String, Error> {
    serde_json::to_string(text).map_err(|error| Error::System(error.to_string()))
}
