//! Arrow IPC: files, which are also Feather of version 2, and streams.
//!
//! Both are read as a stream of messages, since a file is one with a mark before and a footer
//! behind. So both come through pipes, and no more than one message is in memory.

use std::io::{self, Read};

use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamDecoder;
use arrow_schema::ArrowError;

use crate::input::batch::BatchColumns;
use crate::input::error::Problem;
use crate::input::format::Container;
use crate::input::guard::guarded;
use crate::input::reader::{Reader, Sink, Wishes};
use crate::input::stream::Stream;

const FILE_MAGIC: &[u8] = b"ARROW1\0\0";
/// Ends a file, behind the length of the footer.
const FILE_END: &[u8] = b"ARROW1";
/// Stands before the length of a message, except in streams of the first versions.
const MARK: [u8; 4] = [0xff; 4];

/// Reads messages.
pub struct IpcReader {
    stream: Stream,
    decoder: StreamDecoder,
    wishes: Wishes,
    columns: Option<BatchColumns>,
    is_file: bool,
    /// Bytes of the messages so far.
    at: u64,
}

impl IpcReader {
    /// A reader at the first byte.
    pub fn new(mut stream: Stream, wishes: Wishes) -> Result<Self, Problem> {
        let is_file = stream.head().starts_with(FILE_MAGIC);
        if is_file {
            read_up_to(&mut stream, FILE_MAGIC.len() as u64, &mut Vec::new())?;
        }
        let at = if is_file { FILE_MAGIC.len() as u64 } else { 0 };
        Ok(Self { stream, decoder: StreamDecoder::new(), wishes, columns: None, is_file, at })
    }

    /// The parts of the next message: lengths and description, and the body. `None` at the end.
    fn next_message(&mut self) -> Result<Option<[Vec<u8>; 2]>, Problem> {
        let mut head = Vec::with_capacity(1024);
        let mut length = self.word(&mut head)?;
        // Some writers fill up what is behind the mark of a file.
        while self.is_file && self.decoder.schema().is_none() && length == Some(0) {
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
            _ => return self.finish().map(|()| None),
        };
        if length > u64::from(u32::MAX >> 1) {
            return Err(damaged(format!("byte {}: a message of {length} bytes", self.at)));
        }
        let start = head.len();
        if read_up_to(&mut self.stream, length, &mut head)? < length {
            return Err(cut(self.at));
        }
        let message = arrow_ipc::root_as_message(&head[start..])
            .map_err(|_| damaged(format!("byte {}: the message is none", self.at)))?;
        let bytes = u64::try_from(message.bodyLength())
            .map_err(|_| damaged(format!("byte {}: a message of negative length", self.at)))?;
        let mut body = Vec::new();
        if read_up_to(&mut self.stream, bytes, &mut body)? < bytes {
            return Err(cut(self.at));
        }
        self.at += head.len() as u64 + bytes;
        Ok(Some([head, body]))
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

    fn decode(&mut self, parts: [Vec<u8>; 2]) -> Result<Option<RecordBatch>, Problem> {
        let at = self.at;
        let decoder = &mut self.decoder;
        let batch = guarded(move || {
            let mut batch = None;
            for part in parts {
                if let Some(found) = decoder.decode(&mut part.into())? {
                    batch = Some(found);
                }
            }
            Ok::<_, ArrowError>(batch)
        });
        match batch {
            Ok(batch) => batch.map_err(|error| damaged(format!("before byte {at}: {error}"))),
            Err(cause) => Err(damaged(format!("before byte {at}: {cause}"))),
        }
    }

    fn choose(&mut self) -> Result<(), Problem> {
        if self.columns.is_none()
            && let Some(schema) = self.decoder.schema()
        {
            let columns = BatchColumns::new(&schema, &self.wishes).map_err(Problem::Column)?;
            self.columns = Some(columns);
        }
        Ok(())
    }
}

impl Reader for IpcReader {
    fn read(&mut self, to: &mut Sink<'_>) -> Result<bool, Problem> {
        let Some(parts) = self.next_message()? else {
            // A schema without a body waits for the byte behind it.
            let mut end = Vec::from(MARK);
            end.extend([0; 4]);
            self.decode([end, Vec::new()])?;
            self.choose()?;
            return match self.columns {
                Some(_) => Ok(false),
                None => Err(cut(self.at)),
            };
        };
        let batch = self.decode(parts)?;
        self.choose()?;
        if let (Some(columns), Some(batch)) = (&mut self.columns, batch) {
            match guarded(|| columns.append(&batch, to)) {
                Ok(appended) => appended?,
                Err(cause) => return Err(damaged(format!("before byte {}: {cause}", self.at))),
            }
        }
        Ok(true)
    }
}

/// Appends up to so many bytes. The memory grows with the bytes that come.
fn read_up_to(stream: &mut Stream, bytes: u64, to: &mut Vec<u8>) -> Result<u64, Problem> {
    let read = stream.take(bytes).read_to_end(to);
    read.map(|read| read as u64).map_err(|error| stream.problem(error))
}

fn cut(at: u64) -> Problem {
    damaged(format!("byte {at}: it ends inside of a message"))
}

fn damaged(cause: String) -> Problem {
    Problem::Damaged(Container::Arrow, cause)
}
