//! Raw integers of 8 bytes.

use std::io::BufRead;

use crate::input::error::Problem;
use crate::input::reader::{ByteOrder, Reader, Sink};
use crate::input::stream::Stream;

/// Reads raw little-endian integers.
pub struct RawReader {
    stream: Stream,
    parser: RawParser,
    length: Option<u64>,
}

impl RawReader {
    /// A reader; `length` is that of the input, where it is known.
    ///
    /// # Errors
    /// A length that cuts a fingerprint, before any is used.
    pub fn new(stream: Stream, length: Option<u64>) -> Result<Self, Problem> {
        match length.filter(|bytes| bytes % 8 != 0) {
            Some(bytes) => Err(Problem::CutRaw(bytes)),
            None => Ok(Self { stream, parser: RawParser::new(ByteOrder::Little), length }),
        }
    }
}

impl Reader for RawReader {
    fn records(&self) -> Option<u64> {
        self.length.map(|bytes| bytes / 8)
    }

    fn read(&mut self, to: &mut Sink<'_>) -> Result<bool, Problem> {
        let piece = self.stream.piece()?;
        let bytes = piece.len();
        self.parser.feed(piece, &mut to.records.fingerprints);
        self.stream.consume(bytes);
        match (bytes, self.parser.cut()) {
            (0, Some(bytes)) => Err(Problem::CutRaw(bytes)),
            _ => Ok(bytes > 0),
        }
    }
}

/// Parses raw integers.
pub struct RawParser {
    order: ByteOrder,
    cut: [u8; 8],
    cut_bytes: usize,
    offset: u64,
}

impl RawParser {
    /// A parser of integers in this order.
    pub fn new(order: ByteOrder) -> Self {
        Self { order, cut: [0; 8], cut_bytes: 0, offset: 0 }
    }

    /// Appends the fingerprints that end in `bytes` to `to`.
    pub fn feed(&mut self, mut bytes: &[u8], to: &mut Vec<u64>) {
        self.offset += bytes.len() as u64;
        if self.cut_bytes > 0 {
            let taken = bytes.len().min(8 - self.cut_bytes);
            self.cut[self.cut_bytes..][..taken].copy_from_slice(&bytes[..taken]);
            self.cut_bytes += taken;
            bytes = &bytes[taken..];
            if self.cut_bytes < 8 {
                return;
            }
            to.push(self.order.fingerprint(self.cut));
        }
        let (whole, rest) = bytes.as_chunks::<8>();
        match self.order {
            ByteOrder::Little => to.extend(whole.iter().map(|&bytes| u64::from_le_bytes(bytes))),
            ByteOrder::Big => to.extend(whole.iter().map(|&bytes| u64::from_be_bytes(bytes))),
        }
        self.cut[..rest.len()].copy_from_slice(rest);
        self.cut_bytes = rest.len();
    }

    /// The bytes that were read, where they end inside a fingerprint.
    pub fn cut(&self) -> Option<u64> {
        (self.cut_bytes > 0).then_some(self.offset)
    }
}
