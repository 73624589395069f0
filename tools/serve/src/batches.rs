//! Many fingerprints at once: batches of queries, lists of records, in JSON and in Arrow.

use std::sync::Arc;
use std::time::Instant;

use arrow_array::builder::{
    FixedSizeBinaryBuilder, ListBuilder, StringBuilder, UInt32Builder, UInt64Builder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use bytes::Bytes;
use fpstore::{Fingerprint, Id, IdKind, Match, Snapshot};
use fpstore_records::{Container, IdWish, Options, Records, Source};

use crate::held::{Held, Wanted};
use crate::ids;
use crate::messages::{BatchAnswer, SearchAnswer};
use crate::refused::Refused;

/// Matches of all queries of a batch, at most so many times those of one search.
const MATCHES: usize = 100;
/// Rows of a batch of Arrow.
const ROWS: usize = 1 << 16;

/// Queries with their matches, one after the other.
struct Found<F> {
    matches: Vec<Match<F>>,
    /// Of each query where its matches end, and how many there are in all.
    ends: Vec<(usize, u64)>,
}

impl<F: Fingerprint> Held<F> {
    fn run(
        &self,
        snapshot: &Snapshot<F>,
        queries: &[F],
        wanted: Wanted,
        deadline: Instant,
    ) -> Result<Found<F>, Refused> {
        self.check_records(queries.len())?;
        let most = self.limits.matches.saturating_mul(MATCHES);
        let mut found = Found { matches: Vec::new(), ends: Vec::with_capacity(queries.len()) };
        let execution = self.execution.clone().deadline(deadline);
        let batch = snapshot.batch(wanted.k).limit(wanted.limit).execution(execution);
        batch.run(queries, |answer| {
            if found.matches.len() + answer.matches.len() > most {
                return Err(Refused::limit(
                    "matches",
                    format!("more than {most} matches; ask for a smaller limit or k, or for fewer"),
                ));
            }
            found.matches.extend_from_slice(answer.matches);
            found.ends.push((found.matches.len(), answer.count));
            Ok(())
        })?;
        Ok(found)
    }

    /// # Errors
    ///
    /// 422 if there are more than are allowed.
    pub fn check_records(&self, count: usize) -> Result<(), Refused> {
        let most = self.limits.records;
        match count > most {
            true => Err(Refused::limit("records", format!("{count} at once are more than {most}"))),
            false => Ok(()),
        }
    }

    /// Answers queries in their order.
    pub fn batch(
        &self,
        queries: &[F],
        wanted: Wanted,
        deadline: Instant,
    ) -> Result<BatchAnswer, Refused> {
        let snapshot = self.shared.snapshot();
        let found = self.run(&snapshot, queries, wanted, deadline)?;
        let mut room = self.limits.matches.saturating_mul(MATCHES);
        let (mut answers, mut start) = (Vec::with_capacity(found.ends.len()), 0);
        for (end, count) in found.ends {
            let matches = found.matches.get(start..end).unwrap_or_default();
            let more = count > matches.len() as u64;
            let matches = self.to_json(&snapshot, matches, wanted.ids, &mut room)?;
            answers.push(SearchAnswer { matches, more });
            start = end;
        }
        Ok(BatchAnswer { answers })
    }

    /// The same in Arrow: the column `fingerprint` of a stream of queries in, and out a row for
    /// each match: `query`, the number of the query; `fingerprint`; `distance`; and `ids`, if
    /// wanted.
    pub fn batch_of_arrow(
        &self,
        body: Bytes,
        wanted: Wanted,
        deadline: Instant,
    ) -> Result<Vec<u8>, Refused> {
        let queries = self.read(body, None)?.fingerprints;
        let snapshot = self.shared.snapshot();
        let found = self.run(&snapshot, &queries, wanted, deadline)?;
        self.write(&snapshot, &found, wanted.ids).map_err(|error| match error {
            ArrowError::ExternalError(error) => match error.downcast::<fpstore::Error>() {
                Ok(error) => Refused::from(*error),
                Err(_) => crate::pool::failed(),
            },
            _ => crate::pool::failed(),
        })
    }

    fn write(
        &self,
        snapshot: &Snapshot<F>,
        found: &Found<F>,
        with_ids: bool,
    ) -> Result<Vec<u8>, ArrowError> {
        let mut fields = vec![
            Field::new("query", DataType::UInt32, false),
            Field::new("fingerprint", DataType::FixedSizeBinary(F::BITS as i32 / 8), false),
            Field::new("distance", DataType::UInt32, false),
        ];
        let ids_type = match self.kind {
            Some(IdKind::Number) => DataType::UInt64,
            _ => DataType::Utf8,
        };
        if with_ids {
            let item = Field::new_list_field(ids_type.clone(), true);
            fields.push(Field::new("ids", DataType::List(Arc::new(item)), false));
        }
        let schema = Arc::new(Schema::new(fields));
        let mut writer = StreamWriter::try_new(Vec::new(), &schema)?;
        let mut room = self.limits.matches.saturating_mul(MATCHES);
        let (mut next, mut query) = (0, 0);
        while next < found.matches.len() {
            let rows = found.matches.get(next..found.matches.len().min(next + ROWS));
            let rows = rows.unwrap_or_default();
            let mut queries = UInt32Builder::with_capacity(rows.len());
            let mut distances = UInt32Builder::with_capacity(rows.len());
            let mut fingerprints =
                FixedSizeBinaryBuilder::with_capacity(rows.len(), F::BITS as i32 / 8);
            for (place, found_row) in rows.iter().enumerate() {
                while found.ends.get(query).is_some_and(|&(end, _)| end <= next + place) {
                    query += 1;
                }
                queries.append_value(query as u32);
                fingerprints.append_value(found_row.fingerprint.to_be_bytes())?;
                distances.append_value(found_row.distance);
            }
            let mut columns: Vec<ArrayRef> = vec![
                Arc::new(queries.finish()),
                Arc::new(fingerprints.finish()),
                Arc::new(distances.finish()),
            ];
            if with_ids {
                columns.push(ids_of(snapshot, rows, &ids_type, &mut room)?);
            }
            writer.write(&RecordBatch::try_new(Arc::clone(&schema), columns)?)?;
            next += rows.len();
        }
        writer.finish()?;
        writer.into_inner()
    }

    /// Reads records of a stream of Arrow: the columns `fingerprint` and, if wanted, `id`.
    ///
    /// # Errors
    ///
    /// 400 where it is none, 422 where there are too many.
    fn read(&self, body: Bytes, ids: Option<IdWish>) -> Result<Records<F>, Refused> {
        let options = Options {
            format: Some(Container::Arrow),
            compression: Some(None),
            column: Some("fingerprint".to_string()),
            ids,
            // What is compressed in there takes no more than this.
            memory: 4 * self.limits.body_bytes as u64,
            ..Options::default()
        };
        let mut source = Source::<F>::in_memory("the body", body, &options);
        let mut records = Records::default();
        loop {
            let more = source.read(&mut records);
            let more = more.map_err(|error| Refused::invalid(error.to_string()))?;
            self.check_records(records.fingerprints.len())?;
            if !more {
                return Ok(records);
            }
        }
    }

    /// Records to be written, of a stream of Arrow.
    pub fn records_of_arrow(&self, body: Bytes) -> Result<Vec<(F, Option<Id>)>, Refused> {
        let wish = self.kind.map(|kind| IdWish::of_store("id", kind));
        let records = self.read(body, wish)?;
        let of_record = |record: fpstore_records::Record<'_, F>| {
            (record.fingerprint, record.id.map(|id| id.to_id()))
        };
        Ok(records.iter().map(of_record).collect())
    }
}

/// The ids of matches, as a list for each.
fn ids_of<F: Fingerprint>(
    snapshot: &Snapshot<F>,
    rows: &[Match<F>],
    ids_type: &DataType,
    room: &mut usize,
) -> Result<ArrayRef, ArrowError> {
    let external = |error: fpstore::Error| ArrowError::ExternalError(Box::new(error));
    if *ids_type == DataType::UInt64 {
        let mut lists = ListBuilder::new(UInt64Builder::new());
        for found in rows {
            let ids = snapshot.ids::<u64>(found.fingerprint).map_err(external)?;
            for id in ids.take(*room) {
                lists.values().append_value(id.map_err(external)?);
                *room -= 1;
            }
            lists.append(true);
        }
        return Ok(Arc::new(lists.finish()));
    }
    let mut lists = ListBuilder::new(StringBuilder::new());
    for found in rows {
        let ids = snapshot.ids::<Id>(found.fingerprint).map_err(external)?;
        for id in ids.take(*room) {
            lists.values().append_value(ids::text_of(id.map_err(external)?.as_ref()));
            *room -= 1;
        }
        lists.append(true);
    }
    Ok(Arc::new(lists.finish()))
}
