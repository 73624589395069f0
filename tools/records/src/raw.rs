//! Raw integers.

use std::io::BufRead;
use std::marker::PhantomData;

use fpstore::Fingerprint;

use crate::error::Problem;
use crate::reader::{ByteOrder, Reader, Sink};
use crate::stream::Stream;

/// Reads raw integers of 8 bytes, or of 4 where fingerprints have no more, little-endian unless the
/// user says otherwise. Of several the first is the most significant one.
pub struct RawReader<F: Fingerprint> {
    stream: Stream,
    parser: RawParser<F>,
    length: Option<u64>,
}

/// Bytes of an integer: of a word of a fingerprint.
pub fn word_bytes<F: Fingerprint>() -> usize {
    (F::BITS.min(u64::BITS) / 8) as usize
}

impl<F: Fingerprint> RawReader<F> {
    /// A reader; `length` is that of the input, where it is known.
    ///
    /// # Errors
    /// A length that cuts a fingerprint, before any is used.
    pub fn new(
        stream: Stream,
        length: Option<u64>,
        byte_order: Option<ByteOrder>,
    ) -> Result<Self, Problem> {
        let swapped = if byte_order == Some(ByteOrder::Big) { 1 } else { word_bytes::<F>() };
        match length.filter(|bytes| bytes % u64::from(F::BITS / 8) != 0) {
            Some(bytes) => Err(cut::<F>(bytes)),
            None => Ok(Self { stream, parser: RawParser::new(swapped), length }),
        }
    }
}

/// An input of so many bytes ends inside of a fingerprint.
fn cut<F: Fingerprint>(bytes: u64) -> Problem {
    Problem::CutRaw { bytes, each: F::BITS / 8, word: word_bytes::<F>() as u32 }
}

impl<F: Fingerprint> Reader<F> for RawReader<F> {
    fn records(&self) -> Option<u64> {
        self.length.map(|bytes| bytes / u64::from(F::BITS / 8))
    }

    fn read(&mut self, to: &mut Sink<'_, F>) -> Result<bool, Problem> {
        let piece = self.stream.piece()?;
        let bytes = piece.len();
        self.parser.feed(piece, &mut to.records.fingerprints);
        self.stream.consume(bytes);
        match (bytes, self.parser.cut()) {
            (0, Some(bytes)) => Err(cut::<F>(bytes)),
            _ => Ok(bytes > 0),
        }
    }
}

/// Parses fingerprints that stand as words, the most significant one first.
pub struct RawParser<F: Fingerprint> {
    /// Bytes of a word with its least significant byte first; 1 where all bytes stand in order.
    swapped: usize,
    /// The beginning of a fingerprint that ends in the next bytes.
    cut: F::Bytes,
    cut_bytes: usize,
    offset: u64,
    width: PhantomData<F>,
}

impl<F: Fingerprint> RawParser<F> {
    /// A parser of words of so many bytes, the least significant one first; of 1 where all bytes
    /// stand in order.
    pub fn new(swapped: usize) -> Self {
        Self { swapped, cut: F::Bytes::default(), cut_bytes: 0, offset: 0, width: PhantomData }
    }

    /// A parser of words as raw integers have them.
    pub fn of_words() -> Self {
        Self::new(word_bytes::<F>())
    }

    /// Appends the fingerprints that end in `bytes` to `to`.
    pub fn feed(&mut self, mut bytes: &[u8], to: &mut Vec<F>) {
        self.offset += bytes.len() as u64;
        let each = (F::BITS / 8) as usize;
        if self.cut_bytes > 0 {
            let (taken, rest) = bytes.split_at(bytes.len().min(each - self.cut_bytes));
            self.cut.as_mut()[self.cut_bytes..][..taken.len()].copy_from_slice(taken);
            self.cut_bytes += taken.len();
            if self.cut_bytes < each {
                return;
            }
            bytes = rest;
            to.push(fingerprint(self.cut, self.swapped));
        }
        let whole = bytes.chunks_exact(each);
        let rest = whole.remainder();
        // Apart, so that each is a loop of its own: most fingerprints are one word.
        let all = |swapped| whole.map(move |bytes| fingerprint::<F>(own::<F>(bytes), swapped));
        match self.swapped {
            1 => to.extend(all(1)),
            swapped if swapped == each => to.extend(all(each)),
            swapped => to.extend(all(swapped)),
        }
        self.cut.as_mut()[..rest.len()].copy_from_slice(rest);
        self.cut_bytes = rest.len();
    }

    /// The bytes that were read, where they end inside a fingerprint.
    pub fn cut(&self) -> Option<u64> {
        (self.cut_bytes > 0).then_some(self.offset)
    }
}

/// As many bytes as a fingerprint has.
#[inline(always)]
fn own<F: Fingerprint>(bytes: &[u8]) -> F::Bytes {
    let mut own = F::Bytes::default();
    own.as_mut().copy_from_slice(bytes);
    own
}

#[inline(always)]
fn fingerprint<F: Fingerprint>(mut bytes: F::Bytes, swapped: usize) -> F {
    if swapped > 1 {
        bytes.as_mut().chunks_exact_mut(swapped).for_each(<[u8]>::reverse);
    }
    F::from_be_bytes(bytes)
}
