//! The write-ahead log: header and records (section 11 of the specification).

use std::ops::Range;

use byteorder::{ByteOrder, LittleEndian as LE};

use super::{CRC_BYTES, Defect, FileKind, log_header, log_record, pad8};
use crate::error::{Corruption, Unsupported};
use crate::fingerprint::{Fingerprint, bytes_of, file_bytes, of_file_bytes};
use crate::id::IdKind;

const FILE: FileKind = FileKind {
    name: "log",
    magic: *b"\x89FPSL\r\n\x1a",
    header_bytes: log_header::END,
    reserved: Some(0..0),
};
/// Most bytes of the payload of a record.
const MAX_PAYLOAD_BYTES: usize = 1 << 24;
/// Bytes of the note behind the header: those of the header of a record.
const NOTE_BYTES: usize = log_record::END;
/// Records begin at multiples of so many bytes.
const ALIGNMENT: usize = 8;
const FLAG_IDS: u32 = 1;
const FLAG_WINDOWS: u32 = 2;
const FLAG_NAMES: u32 = 4;
/// Bytes before a name: its length.
const NAME_LENGTH_BYTES: usize = 2;
const KIND_OPERATIONS: u8 = 1;
const KIND_SEAL: u8 = 2;
const TAG_INSERT: u8 = 1;
const TAG_DELETE: u8 = 2;
const TAG_DELETE_FINGERPRINT: u8 = 3;

/// What the records of a store hold besides a fingerprint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RecordShape {
    /// Every fingerprint has ids.
    pub(crate) ids: bool,
    /// These are names, of this kind.
    pub(crate) names: Option<IdKind>,
    /// Every insertion has a window of time.
    pub(crate) windows: bool,
}

impl RecordShape {
    /// As flags of the LOG section and of a log.
    pub(crate) fn flags(self) -> u32 {
        (u32::from(self.ids) * FLAG_IDS)
            | (u32::from(self.windows) * FLAG_WINDOWS)
            | (u32::from(self.names.is_some()) * FLAG_NAMES)
    }

    /// Whether these flags have a meaning.
    pub(crate) fn knows(flags: u32) -> bool {
        flags & !(FLAG_IDS | FLAG_WINDOWS | FLAG_NAMES) == 0
    }

    /// Whether flags say that every fingerprint has ids.
    pub(crate) fn has_ids(flags: u32) -> bool {
        flags & FLAG_IDS != 0
    }

    /// Of flags, in a store with names of this kind or without; `None` if they do not fit that.
    pub(crate) fn of_flags(flags: u32, names: Option<IdKind>) -> Option<Self> {
        let ids = Self::has_ids(flags);
        let windows = flags & FLAG_WINDOWS != 0;
        let shape = Self { ids, names: names.filter(|_| ids), windows };
        (shape.flags() == flags).then_some(shape)
    }
}

/// An id as a log holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoggedId<'a> {
    /// A number; 0 where there is none.
    Number(u64),
    /// A name of at most 65,535 bytes.
    Name(&'a [u8]),
}

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// Adds a fingerprint, with its id and window where the store has them.
    Insert,
    /// Takes one id from a fingerprint.
    Delete,
    /// Takes a fingerprint away with all its ids.
    DeleteFingerprint,
}

/// An operation of a log. What its store does not have is 0. In memory a name is a number, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Operation<F = u64, I = u64> {
    pub(crate) change: Change,
    pub(crate) fingerprint: F,
    pub(crate) id: I,
    pub(crate) window: u64,
}

/// An operation as a log holds it.
pub(crate) type LoggedOperation<'a, F = u64> = Operation<F, LoggedId<'a>>;

impl<F: Copy, I> Operation<F, I> {
    /// The same with another id.
    pub(crate) fn with_id<J>(&self, id: J) -> Operation<F, J> {
        let Self { change, fingerprint, window, .. } = *self;
        Operation { change, fingerprint, id, window }
    }
}

impl<'a, F: Fingerprint> LoggedOperation<'a, F> {
    /// Appends the bytes of the operation.
    pub(crate) fn encode(&self, shape: RecordShape, out: &mut Vec<u8>) {
        out.push(match self.change {
            Change::Insert => TAG_INSERT,
            Change::Delete => TAG_DELETE,
            Change::DeleteFingerprint => TAG_DELETE_FINGERPRINT,
        });
        out.extend(file_bytes(self.fingerprint).as_ref());
        match self.id {
            _ if !shape.ids || self.change == Change::DeleteFingerprint => {}
            LoggedId::Number(number) => out.extend(number.to_le_bytes()),
            LoggedId::Name(name) => {
                out.extend((name.len() as u16).to_le_bytes());
                out.extend(name);
            }
        }
        if shape.windows && self.change == Change::Insert {
            out.extend(self.window.to_le_bytes());
        }
    }

    /// Decodes the first operation of `bytes`, and what follows it.
    fn decode(bytes: &'a [u8], shape: RecordShape) -> Option<(Self, &'a [u8])> {
        let change = match *bytes.first()? {
            TAG_INSERT => Change::Insert,
            TAG_DELETE if shape.ids => Change::Delete,
            TAG_DELETE_FINGERPRINT => Change::DeleteFingerprint,
            _ => return None,
        };
        let (fingerprint, mut rest) = bytes[1..].split_at_checked(bytes_of::<F>())?;
        let fingerprint = of_file_bytes(fingerprint)?;
        let mut id = LoggedId::Number(0);
        if shape.ids && change != Change::DeleteFingerprint {
            if let Some(kind) = shape.names {
                let length = LE::read_u16(rest.get(..NAME_LENGTH_BYTES)?);
                let name = rest[NAME_LENGTH_BYTES..].split_at_checked(length.into())?;
                if !kind.admits(name.0) {
                    return None;
                }
                (id, rest) = (LoggedId::Name(name.0), name.1);
            } else {
                id = LoggedId::Number(take_word(&mut rest)?);
            }
        }
        let has_window = shape.windows && change == Change::Insert;
        let window = if has_window { take_word(&mut rest)? } else { 0 };
        Some((Self { change, fingerprint, id, window }, rest))
    }
}

/// Takes a word from the start of `bytes`.
fn take_word(bytes: &mut &[u8]) -> Option<u64> {
    let (word, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(u64::from_le_bytes(*word))
}

fn payload_bytes(record_header: &[u8]) -> usize {
    LE::read_u32(&record_header[log_record::PAYLOAD_BYTES]) as usize
}

/// The CRC of what follows the header of a record, up to this CRC itself.
fn payload_crc(record_header: &[u8], payload: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(&record_header[log_record::HEADER_CRC]);
    crc.update(payload);
    crc.finalize()
}

/// Which log of which store this is: the CRC of every record covers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogTag {
    pub(crate) store_id: u128,
    pub(crate) number: u64,
}

impl LogTag {
    /// The CRC of the header of a record of this log.
    fn header_crc(self, header: &[u8]) -> u32 {
        let mut crc = crc32fast::Hasher::new();
        crc.update(&self.store_id.to_le_bytes());
        crc.update(&self.number.to_le_bytes());
        crc.update(&header[log_record::HEADER_CRC.end..]);
        crc.finalize()
    }

    /// The header at `at`, if one of a record of this log stands there.
    fn record_header(self, file: &[u8], at: usize) -> Option<&[u8]> {
        let header = file.get(at..)?.get(..log_record::END)?;
        let is_whole = LE::read_u32(&header[log_record::HEADER_CRC]) == self.header_crc(header);
        (is_whole && payload_bytes(header) <= MAX_PAYLOAD_BYTES).then_some(header)
    }
}

/// What the header of a log says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogHeader {
    pub(crate) tag: LogTag,
    /// The sequence of its first operation.
    pub(crate) sequence: u64,
    pub(crate) shape: RecordShape,
}

impl LogHeader {
    /// Bytes of the header.
    pub(crate) const BYTES: usize = log_header::END;
    /// Where the first record of a log of this version begins: behind the header and the note.
    pub(crate) const RECORDS_START: usize = log_header::END + NOTE_BYTES;

    /// The bytes of a log without records: header and note.
    pub(crate) fn encode(&self) -> [u8; Self::RECORDS_START] {
        let mut bytes = [0; Self::RECORDS_START];
        bytes[..log_header::END].copy_from_slice(&self.encode_header());
        bytes
    }

    fn encode_header(&self) -> [u8; log_header::END] {
        let mut header = [0; log_header::END];
        LE::write_u128(&mut header[log_header::STORE_ID], self.tag.store_id);
        LE::write_u64(&mut header[log_header::LOG_NUMBER], self.tag.number);
        LE::write_u64(&mut header[log_header::SEQUENCE], self.sequence);
        LE::write_u32(&mut header[log_header::FLAGS], self.shape.flags());
        FILE.seal(&mut header);
        header
    }

    /// Checks that the header of `file` is this one; gives where the records begin.
    pub(crate) fn check(&self, file: &[u8]) -> Result<usize, Defect> {
        let (header, _) = FILE.header(file)?;
        let flags = LE::read_u32(&header[log_header::FLAGS]);
        if !RecordShape::knows(flags) {
            return Err(Defect::unsupported(
                log_header::FLAGS.start,
                Unsupported::LogFlags { flags },
            ));
        }
        let tag = LogTag {
            store_id: LE::read_u128(&header[log_header::STORE_ID]),
            number: LE::read_u64(&header[log_header::LOG_NUMBER]),
        };
        let sequence = LE::read_u64(&header[log_header::SEQUENCE]);
        if (tag, sequence, flags) != (self.tag, self.sequence, self.shape.flags()) {
            let corruption = Corruption::OtherLog {
                found: tag.number,
                sequence,
                expected: self.tag.number,
                expected_sequence: self.sequence,
            };
            return Err(Defect::corrupt(log_header::STORE_ID.start, corruption));
        }
        let start = header.len() + NOTE_BYTES;
        if file.len() < start {
            let (found, least) = (file.len() as u64, start as u64);
            return Err(Defect::corrupt(header.len(), Corruption::LogShort { found, least }));
        }
        Ok(start)
    }
}

/// The operation up to which the note of a log says that all are durable, if it says anything. The
/// records begin at `start`. A note that is half written says nothing.
pub(crate) fn noted(tag: LogTag, file: &[u8], start: usize) -> Option<u64> {
    let header = tag.record_header(file, start.checked_sub(NOTE_BYTES)?)?;
    let first = LE::read_u64(&header[log_record::FIRST_SEQUENCE]);
    let durable = LE::read_u64(&header[log_record::DURABLE_SEQUENCE]);
    let unreserved = header[log_record::RESERVED].iter().all(|&byte| byte == 0);
    (durable < first && unreserved).then_some(durable)
}

/// A whole record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogRecord<'a> {
    /// The sequence of its first operation.
    pub(crate) first_sequence: u64,
    pub(crate) operation_count: u32,
    /// Whether the log ends with it.
    pub(crate) is_seal: bool,
    payload: &'a [u8],
    padding: &'a [u8],
    at: usize,
    /// Where the next one begins.
    pub(crate) end: usize,
}

/// Appends a record to `out`, which ends where a record may begin. `payload` holds
/// `operation_count` operations.
pub(crate) fn push_record(
    tag: LogTag,
    (first_sequence, durable_sequence): (u64, u64),
    operation_count: u32,
    payload: &[u8],
    out: &mut Vec<u8>,
) {
    push(tag, (first_sequence, durable_sequence), operation_count, (KIND_OPERATIONS, payload), out);
}

/// Appends the record that a log ends with.
pub(crate) fn push_seal(
    tag: LogTag,
    (next_sequence, durable_sequence): (u64, u64),
    out: &mut Vec<u8>,
) {
    push(tag, (next_sequence, durable_sequence), 0, (KIND_SEAL, &[]), out);
}

/// The note of a log, which says that all operations before this sequence are durable.
pub(crate) fn note(tag: LogTag, next_sequence: u64) -> [u8; NOTE_BYTES] {
    header(tag, (next_sequence, next_sequence - 1), 0, (KIND_SEAL, &[]))
}

fn header(
    tag: LogTag,
    (first_sequence, durable_sequence): (u64, u64),
    operation_count: u32,
    (kind, payload): (u8, &[u8]),
) -> [u8; log_record::END] {
    let mut header = [0; log_record::END];
    LE::write_u32(&mut header[log_record::PAYLOAD_BYTES], payload.len() as u32);
    LE::write_u64(&mut header[log_record::FIRST_SEQUENCE], first_sequence);
    LE::write_u64(&mut header[log_record::DURABLE_SEQUENCE], durable_sequence);
    LE::write_u32(&mut header[log_record::OPERATION_COUNT], operation_count);
    header[log_record::KIND.start] = kind;
    let crc = tag.header_crc(&header);
    LE::write_u32(&mut header[log_record::HEADER_CRC], crc);
    header
}

fn push(
    tag: LogTag,
    sequences: (u64, u64),
    operation_count: u32,
    (kind, payload): (u8, &[u8]),
    out: &mut Vec<u8>,
) {
    let header = header(tag, sequences, operation_count, (kind, payload));
    out.extend(header);
    let start = out.len();
    out.extend(payload);
    out.resize(start + pad8(payload.len() + CRC_BYTES) - CRC_BYTES, 0);
    let crc = payload_crc(&header, &out[start..]);
    out.extend(crc.to_le_bytes());
}

/// Records that were read whole, one behind the other, without their log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Records(Vec<u8>);

impl Records {
    /// Adds the bytes of a record with operations, which a [`LogRecord`] was of.
    pub(crate) fn push(&mut self, record: &[u8]) {
        self.0.extend(record);
    }

    /// Adds others behind.
    pub(crate) fn append(&mut self, mut others: Self) {
        if self.0.is_empty() {
            *self = others;
        } else {
            self.0.append(&mut others.0);
        }
    }

    /// Where the payload of the record at `at` is, and the record ends.
    fn extent(&self, at: usize) -> (Range<usize>, usize) {
        let (start, bytes) = (at + log_record::END, payload_bytes(&self.0[at..]));
        (start..start + bytes, start + pad8(bytes + CRC_BYTES))
    }

    /// Makes them those of a log in which each was durable before the next was written, and gives
    /// their bytes.
    pub(crate) fn of_log(mut self, tag: LogTag) -> Vec<u8> {
        let mut at = 0;
        while at < self.0.len() {
            let (payload, end) = self.extent(at);
            let (header, body) = self.0[at..end].split_at_mut(payload.start - at);
            let first = LE::read_u64(&header[log_record::FIRST_SEQUENCE]);
            LE::write_u64(&mut header[log_record::DURABLE_SEQUENCE], first - 1);
            let crc = tag.header_crc(header);
            LE::write_u32(&mut header[log_record::HEADER_CRC], crc);
            let (padded, own) = body.split_at_mut(body.len() - CRC_BYTES);
            LE::write_u32(own, payload_crc(header, padded));
            at = end;
        }
        self.0
    }

    /// Their operations.
    pub(crate) fn operations<F: Fingerprint>(
        &self,
        shape: RecordShape,
    ) -> Vec<LoggedOperation<'_, F>> {
        let (mut operations, mut at) = (Vec::new(), 0);
        while at < self.0.len() {
            let (payload, end) = self.extent(at);
            let mut rest = &self.0[payload];
            while let Some((operation, behind)) = Operation::decode(rest, shape) {
                operations.push(operation);
                rest = behind;
            }
            at = end;
        }
        operations
    }
}

impl<'a> LogRecord<'a> {
    /// The record at `at`, if a whole one of this log stands there.
    pub(crate) fn at(tag: LogTag, file: &'a [u8], at: usize) -> Option<Self> {
        let header = tag.record_header(file, at)?;
        let (start, payload_bytes) = (at + log_record::END, payload_bytes(header));
        let body = file.get(start..)?.get(..pad8(payload_bytes + CRC_BYTES))?;
        let (padded, crc) = body.split_at(body.len() - CRC_BYTES);
        if LE::read_u32(crc) != payload_crc(header, padded) {
            return None;
        }
        let (payload, padding) = padded.split_at(payload_bytes);
        Some(Self {
            first_sequence: LE::read_u64(&header[log_record::FIRST_SEQUENCE]),
            operation_count: LE::read_u32(&header[log_record::OPERATION_COUNT]),
            is_seal: header[log_record::KIND.start] == KIND_SEAL,
            payload,
            padding,
            at,
            end: start + body.len(),
        })
    }

    /// Gives the operations to `sink`.
    pub(crate) fn operations<F: Fingerprint>(
        &self,
        file: &[u8],
        shape: RecordShape,
        mut sink: impl FnMut(LoggedOperation<'a, F>),
    ) -> Result<(), Defect> {
        let kind = file[self.at + log_record::KIND.start];
        let reserved = &file[self.at..][log_record::RESERVED];
        if ![KIND_OPERATIONS, KIND_SEAL].contains(&kind) || reserved.iter().any(|&b| b != 0) {
            let at = self.at + log_record::KIND.start;
            return Err(Defect::unsupported(at, Unsupported::LogRecordKind { found: kind }));
        }
        let malformed = || {
            let sequence = self.first_sequence;
            Defect::corrupt(self.at, Corruption::LogOperations { sequence })
        };
        let mut rest = self.payload;
        for _ in 0..self.operation_count {
            let (operation, behind) = Operation::decode(rest, shape).ok_or_else(malformed)?;
            rest = behind;
            sink(operation);
        }
        let is_filled = rest.is_empty() && self.padding.iter().all(|&byte| byte == 0);
        let fits_kind = self.is_seal == (self.operation_count == 0);
        let durable = LE::read_u64(&file[self.at..][log_record::DURABLE_SEQUENCE]);
        let is_sound = is_filled && fits_kind && durable < self.first_sequence;
        if is_sound { Ok(()) } else { Err(malformed()) }
    }
}

/// Whether, from `from` on, the header of some record says that the operation with this sequence
/// was durable: then what is broken before it was promised. With sequence 0, whether there is any
/// record. None begins before [`LogHeader::BYTES`].
///
/// The header is enough, and has a CRC of its own: to look for whole records would take time that
/// grows with the square of the length of the file, since a payload may begin at every place.
///
/// The [`note`] of a log looks like the header of a record, and is one of these.
pub(crate) fn promises(tag: LogTag, file: &[u8], from: usize, sequence: u64) -> bool {
    (from.next_multiple_of(ALIGNMENT)..file.len()).step_by(ALIGNMENT).any(|at| {
        // Looked at first: few places need a CRC then, and none of them is right by chance.
        let header = file.get(at..at + log_record::END);
        let may = header.is_some_and(|header| {
            let durable = LE::read_u64(&header[log_record::DURABLE_SEQUENCE]);
            let first = LE::read_u64(&header[log_record::FIRST_SEQUENCE]);
            let unreserved = header[log_record::RESERVED].iter().all(|&byte| byte == 0);
            durable >= sequence && first > durable && unreserved
        });
        may && tag.record_header(file, at).is_some()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAG: LogTag = LogTag { store_id: 7 << 100, number: 3 };
    const SHAPE: RecordShape = RecordShape { ids: true, names: None, windows: true };
    const NAMED: RecordShape = RecordShape { names: Some(IdKind::Text), ..SHAPE };

    fn operation(shape: RecordShape, change: Change, fingerprint: u64) -> LoggedOperation<'static> {
        // What an operation does not have is 0.
        let (number, name, window) = match change {
            Change::Insert => (fingerprint ^ 5, &b"https://a.example/"[..], 9),
            Change::Delete => (6, &b""[..], 0),
            Change::DeleteFingerprint => (0, &b""[..], 0),
        };
        let is_named = shape.names.is_some() && change != Change::DeleteFingerprint;
        let id = if is_named { LoggedId::Name(name) } else { LoggedId::Number(number) };
        Operation { change, fingerprint, id, window }
    }

    fn record(
        shape: RecordShape,
        first: u64,
        durable: u64,
        operations: &[LoggedOperation<'_>],
    ) -> Vec<u8> {
        let (mut payload, mut bytes) = (Vec::new(), Vec::new());
        operations.iter().for_each(|operation| operation.encode(shape, &mut payload));
        push_record(TAG, (first, durable), operations.len() as u32, &payload, &mut bytes);
        bytes
    }

    #[test]
    fn records_are_read_as_they_were_written_and_broken_by_every_flipped_bit() {
        let changes = [Change::Insert, Change::Delete, Change::DeleteFingerprint];
        for (shape, count) in
            [SHAPE, NAMED].into_iter().flat_map(|at| (1..=7).map(move |n| (at, n)))
        {
            let operation = |i| operation(shape, changes[i % 3], u64::MAX - i as u64);
            let operations: Vec<_> = (0..count).map(operation).collect();
            let mut bytes = record(shape, 41, 39, &operations);
            assert_eq!(bytes.len() % ALIGNMENT, 0);
            let whole = LogRecord::at(TAG, &bytes, 0).unwrap();
            assert_eq!((whole.first_sequence, whole.end), (41, bytes.len()));
            assert!(!whole.is_seal && whole.operation_count as usize == count);
            assert!(promises(TAG, &bytes, 0, 39) && !promises(TAG, &bytes, 0, 40));
            let mut read = Vec::new();
            whole.operations(&bytes, shape, |operation| read.push(operation)).unwrap();
            assert_eq!(read, operations);
            let other = LogTag { number: 4, ..TAG };
            assert!(LogRecord::at(other, &bytes, 0).is_none());
            assert!(LogRecord::at(TAG, &bytes[..bytes.len() - 1], 0).is_none());
            for bit in 0..8 * bytes.len() {
                bytes[bit / 8] ^= 1 << (bit % 8);
                assert!(LogRecord::at(TAG, &bytes, 0).is_none(), "bit {bit} of {count}");
                bytes[bit / 8] ^= 1 << (bit % 8);
            }
        }
    }

    #[test]
    fn records_of_several_logs_become_those_of_another() {
        let changes = [Change::Insert, Change::Delete, Change::DeleteFingerprint];
        let operation = |i: usize| operation(NAMED, changes[i % 3], 100 + i as u64);
        let all: Vec<_> = (0..9).map(operation).collect();
        let pieces = [(41, 2), (43, 1), (44, 6)];
        let (mut first, mut second) = (Records::default(), Records::default());
        for (number, (sequence, count)) in pieces.into_iter().enumerate() {
            let start = sequence as usize - 41;
            let bytes = record(NAMED, sequence, sequence - 2, &all[start..start + count]);
            if number < 2 { first.push(&bytes) } else { second.push(&bytes) }
        }
        first.append(second);
        assert_eq!(first.operations::<u64>(NAMED), all);
        let tag = LogTag { number: 9, ..TAG };
        let bytes = first.of_log(tag);
        let (mut at, mut read) = (0, Vec::new());
        for (sequence, count) in pieces {
            assert!(LogRecord::at(TAG, &bytes, at).is_none());
            let whole = LogRecord::at(tag, &bytes, at).unwrap();
            assert_eq!((whole.first_sequence, whole.operation_count as usize), (sequence, count));
            whole.operations(&bytes, NAMED, |operation| read.push(operation)).unwrap();
            assert!(promises(tag, &bytes, at, sequence - 1));
            at = whole.end;
        }
        assert_eq!((at, read), (bytes.len(), all));
    }

    #[test]
    fn a_seal_is_a_record_without_operations() {
        let mut bytes = Vec::new();
        push_seal(TAG, (8, 7), &mut bytes);
        let seal = LogRecord::at(TAG, &bytes, 0).unwrap();
        assert!(seal.is_seal && seal.operation_count == 0 && seal.end == bytes.len());
        seal.operations(&bytes, SHAPE, |_: LoggedOperation<'_>| panic!("it has none")).unwrap();
        assert!(promises(TAG, &bytes, 0, 7) && !promises(TAG, &bytes, 0, 8));
    }

    #[test]
    fn a_promise_is_kept_by_the_header_of_a_record_alone() {
        let mut file = vec![0xA5; 40];
        file.extend(record(SHAPE, 9, 6, &[operation(SHAPE, Change::Insert, 1)]));
        file.truncate(40 + log_record::END);
        assert!(promises(TAG, &file, 0, 6) && promises(TAG, &file, 40, 6));
        assert!(!promises(TAG, &file, 0, 7) && !promises(TAG, &file, 41, 0));
        assert!(!promises(LogTag { store_id: 7, ..TAG }, &file, 0, 0));
        file.insert(0, 0);
        assert!(!promises(TAG, &file, 0, 0), "at no multiple of 8");
    }

    /// Each place looks like the header of a record of 8 to 16 MiB; to read all of these would take
    /// hours.
    #[test]
    fn a_crafted_log_is_searched_in_one_pass() {
        let words = (0..3u64 << 20).map(|i| ((1 << 24) - 1 - i) << 32);
        let file: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
        let looks_right = |at: usize| {
            let word = |at: usize| LE::read_u64(&file[at..at + 8]);
            payload_bytes(&file[at..]) <= MAX_PAYLOAD_BYTES && word(at + 8) > word(at + 16)
        };
        assert!((0..file.len() - 32).step_by(8).take(1000).all(looks_right));
        let started = std::time::Instant::now();
        assert!(!promises(TAG, &file, 0, 1));
        let seconds = started.elapsed().as_secs();
        assert!(seconds < 60, "{seconds} s");
    }
}
