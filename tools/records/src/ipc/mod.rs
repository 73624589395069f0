//! Arrow IPC: files, which are also Feather of version 2, and streams.
//!
//! Both are read as a stream of messages, since a file is one with a mark before and a footer
//! behind. So both come through pipes, and no more than one message is in memory. Only the columns
//! that are asked for are decoded. What a message says of itself is checked before ([`check`]).

mod check;

use std::collections::HashMap;
use std::io::{self, Read};

use arrow_array::{ArrayRef, RecordBatch};
use arrow_buffer::Buffer;
use arrow_ipc::reader::{RecordBatchDecoder, read_dictionary};
use arrow_ipc::{Endianness, Message, MessageHeader};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use crate::error::Problem;
use crate::format::Container;
use crate::guard::guarded;
use crate::rows::Want;
use crate::rows::arrays::{Batches, Chosen};
use crate::stream::Stream;

const FILE_MAGIC: &[u8] = b"ARROW1\0\0";
/// Ends a file, behind the length of the footer.
const FILE_END: &[u8] = b"ARROW1";
/// Stands before the length of a message, except in streams of the first versions.
const MARK: [u8; 4] = [0xff; 4];

/// Reads messages.
pub struct IpcReader {
    stream: Stream,
    /// Bytes that a message may take.
    memory: u64,
    /// What is read of the schema, once the first message was.
    columns: Option<Columns>,
    is_file: bool,
    /// Whether it ended without the mark of an end.
    is_unmarked: bool,
    /// Bytes of the messages so far.
    at: u64,
}

struct Columns {
    schema: SchemaRef,
    /// The places of the columns in the schema, ascending.
    places: Vec<usize>,
    /// The dictionaries of these columns, and the schemas of their values.
    values: HashMap<i64, Schema>,
    dictionaries: HashMap<i64, ArrayRef>,
}

impl IpcReader {
    /// Reads up to the schema, and chooses the columns. A message may take so many bytes of memory.
    pub fn open(
        mut stream: Stream,
        memory: u64,
        wants: &[Want],
    ) -> Result<(Self, Chosen), Problem> {
        while stream.head().len() < FILE_MAGIC.len() && !stream.has_ended() {
            stream.grow().map_err(|error| stream.problem(error))?;
        }
        let is_file = stream.head().starts_with(FILE_MAGIC);
        if is_file {
            read_up_to(&mut stream, FILE_MAGIC.len() as u64, &mut Vec::new())?;
        }
        let at = if is_file { FILE_MAGIC.len() as u64 } else { 0 };
        let mut reader = Self { stream, memory, columns: None, is_file, is_unmarked: false, at };
        loop {
            let Some([head, _]) = reader.next_message()? else { return Err(cut(reader.at)) };
            let message = check::message(&head).ok_or("no message");
            let message = or_damaged(reader.at, message)?;
            match message.header_type() {
                MessageHeader::NONE => {}
                MessageHeader::Schema => {
                    let (columns, chosen) = Columns::new(&message, wants, reader.at)?;
                    reader.columns = Some(columns);
                    return Ok((reader, chosen));
                }
                header => return Err(misplaced(reader.at, header, "before")),
            }
        }
    }

    /// The parts of the next message: its description and the body. `None` at the end.
    fn next_message(&mut self) -> Result<Option<[Vec<u8>; 2]>, Problem> {
        let mut head = Vec::with_capacity(1024);
        let mut length = self.word(&mut head)?;
        // Some writers fill up what is behind the mark of a file.
        while self.is_file && self.columns.is_none() && length == Some(0) {
            self.at += 4;
            head.clear();
            length = self.word(&mut head)?;
        }
        if length == Some(u32::from_le_bytes(MARK)) {
            length = self.word(&mut head)?;
            if length.is_none() {
                return Err(cut(self.at));
            }
        }
        let length = match length {
            Some(length) if length > 0 => u64::from(length),
            // A stream may simply stop; a file says where it ends.
            None if self.is_file => return Err(cut(self.at)),
            None => {
                self.is_unmarked = true;
                return self.finish().map(|()| None);
            }
            _ => return self.finish().map(|()| None),
        };
        if length > check::MAX_HEAD_BYTES {
            let most = check::MAX_HEAD_BYTES;
            return Err(damaged(format!(
                "byte {}: a description of {length} bytes, where {most} are the most",
                self.at
            )));
        }
        let start = head.len();
        if read_up_to(&mut self.stream, length, &mut head)? < length {
            return Err(cut(self.at));
        }
        let message = check::message(&head[start..])
            .ok_or_else(|| damaged(format!("byte {}: the message is none", self.at)))?;
        let bytes = u64::try_from(message.bodyLength())
            .map_err(|_| damaged(format!("byte {}: a message of negative length", self.at)))?;
        self.check_limit(bytes)?;
        let mut body = Vec::new();
        if read_up_to(&mut self.stream, bytes, &mut body)? < bytes {
            return Err(cut(self.at));
        }
        self.at += head.len() as u64 + bytes;
        head.drain(..start);
        Ok(Some([head, body]))
    }

    /// Refuses what would take more memory than there may be.
    fn check_limit(&self, bytes: u64) -> Result<(), Problem> {
        check_limit(self.memory, self.at, bytes)
    }
    /// Reads 4 bytes, and appends them to `to`. `None` if there are none left.
    fn word(&mut self, to: &mut Vec<u8>) -> Result<Option<u32>, Problem> {
        let start = to.len();
        match read_up_to(&mut self.stream, 4, to)? {
            0 => Ok(None),
            4 => Ok(to[start..].first_chunk().map(|bytes| u32::from_le_bytes(*bytes))),
            _ => Err(cut(self.at)),
        }
    }

    /// Checks what stands behind the last message.
    fn finish(&mut self) -> Result<(), Problem> {
        let mut last = Vec::new();
        let mut bytes = 0;
        loop {
            let piece = self.stream.piece()?;
            if piece.is_empty() {
                break;
            }
            let piece_bytes = piece.len();
            bytes += piece_bytes;
            last.extend_from_slice(piece);
            let keep = last.len().saturating_sub(FILE_END.len());
            last.drain(..keep);
            io::BufRead::consume(&mut self.stream, piece_bytes);
        }
        match (self.is_file, bytes) {
            (true, _) if last == FILE_END => Ok(()),
            (true, _) => Err(cut(self.at)),
            (false, 0) => Ok(()),
            (false, _) => {
                Err(damaged(format!("byte {}: {bytes} bytes follow after its end", self.at)))
            }
        }
    }

    /// Takes the message that ends here; gives the batch that it is.
    fn decode(&mut self, head: &[u8], body: Vec<u8>) -> Result<Option<RecordBatch>, Problem> {
        let at = self.at;
        let message = or_damaged(at, check::message(head).ok_or("no message"))?;
        let limit = |bytes| check_limit(self.memory, at, bytes);
        let Some(columns) = &mut self.columns else { return Ok(None) };
        match message.header_type() {
            MessageHeader::RecordBatch => columns.batch(&message, body, at, limit),
            MessageHeader::DictionaryBatch => {
                columns.add_dictionary(&message, body, at, limit).map(|()| None)
            }
            MessageHeader::NONE => Ok(None),
            header => Err(misplaced(at, header, "behind")),
        }
    }
}

fn misplaced(at: u64, header: MessageHeader, place: &str) -> Problem {
    let name = header.variant_name().unwrap_or("unknown");
    damaged(format!("before byte {at}: a message of type {name} {place} the schema"))
}

impl Columns {
    fn new(message: &Message<'_>, wants: &[Want], at: u64) -> Result<(Self, Chosen), Problem> {
        let schema = or_damaged(at, message.header_as_schema().ok_or("no schema"))?;
        if schema.endianness() != Endianness::Little {
            let cause = "its integers are big-endian; write it on a little-endian machine";
            return Err(Problem::Header(Container::Arrow, cause.to_string()));
        }
        let schema = guarded(|| arrow_ipc::convert::try_fb_to_schema(schema));
        let schema = or_damaged(at, or_damaged(at, schema)?)?;
        let chosen = Chosen::new(&schema, wants).map_err(Problem::Column)?;
        let mut values = HashMap::new();
        for &column in &chosen.columns {
            let field = schema.field(column);
            #[expect(deprecated, reason = "the reader of the crate finds dictionaries by it")]
            let id = field.dict_id();
            if let (DataType::Dictionary(_, of), Some(id)) = (field.data_type(), id) {
                let of = Field::new("dictionary", of.as_ref().clone(), true);
                values.insert(id, Schema::new(vec![of]));
            }
        }
        let (schema, places) = (schema.into(), chosen.columns.clone());
        let columns = Self { schema, places, values, dictionaries: HashMap::new() };
        Ok((columns, chosen))
    }

    /// Decodes a batch of which `limit` allows the memory.
    fn batch(
        &self,
        message: &Message<'_>,
        body: Vec<u8>,
        at: u64,
        limit: impl Fn(u64) -> Result<(), Problem>,
    ) -> Result<Option<RecordBatch>, Problem> {
        let (places, version) = (&self.places, message.version());
        let batch = message.header_as_record_batch();
        let batch = or_damaged(at, batch.ok_or("no batch"))?;
        let decoded = check::decoded_bytes(batch, version, &self.schema, places, &body);
        limit(or_damaged(at, decoded)?.saturating_add(body.len() as u64))?;
        let body = Buffer::from_vec(body);
        let decode = || {
            let (schema, dictionaries) = (self.schema.clone(), &self.dictionaries);
            RecordBatchDecoder::try_new(&body, batch, schema, dictionaries, &version)?
                .with_projection(Some(places))
                .read_record_batch()
        };
        or_damaged(at, or_damaged(at, guarded(decode))?).map(Some)
    }

    /// Decodes a dictionary, if it is that of a column which is read.
    fn add_dictionary(
        &mut self,
        message: &Message<'_>,
        body: Vec<u8>,
        at: u64,
        limit: impl Fn(u64) -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        let version = message.version();
        let batch = message.header_as_dictionary_batch();
        let batch = or_damaged(at, batch.ok_or("no dictionary"))?;
        let Some(values) = self.values.get(&batch.id()) else { return Ok(()) };
        let data = or_damaged(at, batch.data().ok_or("no values"))?;
        let decoded = check::decoded_bytes(data, version, values, &[0], &body);
        let decoded = or_damaged(at, decoded)?.saturating_add(body.len() as u64);
        let before = self.dictionaries.get(&batch.id()).filter(|_| batch.isDelta());
        // All of it is copied where something is appended.
        let before = before.map_or(0, |values| 2 * values.get_array_memory_size() as u64);
        limit(decoded.saturating_add(before))?;
        let (schema, dictionaries) = (&self.schema, &mut self.dictionaries);
        let body = Buffer::from_vec(body);
        let decode = || read_dictionary(&body, batch, schema, dictionaries, &version);
        or_damaged(at, or_damaged(at, guarded(decode))?)
    }
}

impl Batches for IpcReader {
    fn next(&mut self) -> Result<Option<RecordBatch>, Problem> {
        while let Some([head, body]) = self.next_message()? {
            if let Some(batch) = self.decode(&head, body)? {
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }

    fn warning(&self) -> Option<&'static str> {
        self.is_unmarked.then_some("the stream of Arrow ends without its end mark, and may be cut")
    }
}

fn check_limit(limit: u64, at: u64, bytes: u64) -> Result<(), Problem> {
    if bytes <= limit {
        return Ok(());
    }
    let cause = format!(
        "byte {at}: a message takes {bytes} bytes, and --memory allows {limit}; give more, or write \
         smaller record batches"
    );
    Err(Problem::Header(Container::Arrow, cause))
}

/// Appends up to so many bytes. The memory grows with the bytes that come.
fn read_up_to(stream: &mut Stream, bytes: u64, to: &mut Vec<u8>) -> Result<u64, Problem> {
    let read = stream.take(bytes).read_to_end(to);
    read.map(|read| read as u64).map_err(|error| stream.problem(error))
}

/// What is wrong with the message that ends here.
fn or_damaged<T, E: std::fmt::Display>(at: u64, result: Result<T, E>) -> Result<T, Problem> {
    result.map_err(|error| damaged(format!("before byte {at}: {error}")))
}

fn cut(at: u64) -> Problem {
    damaged(format!("byte {at}: it ends inside of a message"))
}

fn damaged(cause: String) -> Problem {
    Problem::Damaged(Container::Arrow, cause)
}
