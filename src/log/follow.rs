//! Reads logs: also such as grow meanwhile, and all of a store, to be copied or compared.

use std::io;
use std::marker::PhantomData;
use std::path::PathBuf;

use crate::access::ReadFiles;
use crate::error::{Corruption, Error, Result};
use crate::fingerprint::Fingerprint;
use crate::format::{
    Defect, LogHeader, LogRecord, LogSection, LogTag, LoggedOperation, RecordShape, Records,
    log_name, note, noted, promises,
};
use crate::tail::{Generation, TailView};

/// Operations that are handed on together.
const PIECE: usize = 1 << 10;

/// What becomes of the operations of a log as it is read.
pub(crate) trait Contents<F> {
    /// Of no operations so far; the first will have this sequence, and all this shape.
    fn from_sequence(first_sequence: u64, shape: RecordShape) -> Self;

    /// The sequence of the first operation.
    fn first_sequence(&self) -> u64;

    /// The sequence of the next operation.
    fn next_sequence(&self) -> u64;

    /// Takes the next operations, all of one record.
    fn push(&mut self, operations: &[LoggedOperation<'_, F>]);

    /// Takes the bytes of a record whose operations have come, and with which the log does not end.
    fn end_record(&mut self, _: &[u8]) {}
}

impl<F: Fingerprint> Contents<F> for Generation<F> {
    fn from_sequence(first_sequence: u64, shape: RecordShape) -> Self {
        Self::new(first_sequence, 1, shape.names.is_some())
    }

    fn first_sequence(&self) -> u64 {
        self.first_sequence()
    }

    fn next_sequence(&self) -> u64 {
        self.next_sequence()
    }

    fn push(&mut self, operations: &[LoggedOperation<'_, F>]) {
        self.push(operations);
    }
}

/// The sequences of the operations alone, for who only checks a log.
pub(crate) struct Sequences {
    first: u64,
    next: u64,
}

impl<F> Contents<F> for Sequences {
    fn from_sequence(first: u64, _shape: RecordShape) -> Self {
        Self { first, next: first }
    }

    fn first_sequence(&self) -> u64 {
        self.first
    }

    fn next_sequence(&self) -> u64 {
        self.next
    }

    fn push(&mut self, operations: &[LoggedOperation<'_, F>]) {
        self.next += operations.len() as u64;
    }
}

/// The logs of a store, as far as they were read.
pub(crate) struct Follower<F: Fingerprint = u64, C: Contents<F> = Generation<F>> {
    store_id: u128,
    shape: RecordShape,
    /// The older first; all but the last are sealed.
    logs: Vec<FollowedLog<F, C>>,
}

/// A log, as far as it was read.
pub(crate) struct FollowedLog<F: Fingerprint = u64, C: Contents<F> = Generation<F>> {
    tag: LogTag,
    /// Where the whole records end; 0 if it does not exist.
    end: u64,
    /// Where the first record begins.
    start: usize,
    /// The operation up to which its note says that all are durable; 0 if it says nothing.
    noted: u64,
    is_sealed: bool,
    contents: C,
    width: PhantomData<F>,
}

impl<F: Fingerprint, C: Contents<F>> Follower<F, C> {
    /// Reads the logs of a store.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`] where what was durable is damaged, or the first log is missing.
    pub(crate) fn open(
        files: &dyn ReadFiles,
        section: &LogSection,
        store_id: u128,
    ) -> Result<Self> {
        match Self::salvage(files, section, store_id) {
            (follower, None) => Ok(follower),
            (_, Some(error)) => Err(error),
        }
    }

    /// Reads the logs of a store up to the first damage, and tells of that.
    pub(crate) fn salvage(
        files: &dyn ReadFiles,
        section: &LogSection,
        store_id: u128,
    ) -> (Self, Option<Error>) {
        let shape = section.shape;
        let first = FollowedLog::new(store_id, section.first_log, section.sequence + 1, shape);
        let mut follower = Self { store_id, shape, logs: vec![first] };
        let problem = follower.advance(files).err();
        (follower, problem)
    }

    /// Reads what was written since. Tells whether there was anything.
    ///
    /// # Errors
    ///
    /// As [`Self::open`].
    pub(crate) fn advance(&mut self, files: &dyn ReadFiles) -> Result<bool> {
        let mut advanced = false;
        loop {
            let is_first = self.logs.len() == 1;
            let Some(last) = self.logs.last_mut() else { return Ok(advanced) };
            let Some(more) = last.read(files, self.shape)? else {
                // Only the first one must exist.
                return if is_first { Err(last.missing(files)) } else { Ok(advanced) };
            };
            advanced |= more;
            let (number, sequence) = (last.tag.number, last.contents.next_sequence());
            let Some(next) = number.checked_add(1) else { return Ok(advanced) };
            let next = FollowedLog::new(self.store_id, next, sequence, self.shape);
            if !last.is_sealed {
                if next.holds_records(files)? {
                    // It may have been sealed since it was read.
                    last.read(files, self.shape)?;
                    if !last.is_sealed {
                        let corruption = Corruption::LogUnsealed { next: next.tag.number };
                        return Err(last.error(files, last.end, corruption));
                    }
                    continue;
                }
                return Ok(advanced);
            }
            self.logs.push(next);
        }
    }

    /// Whether the last log that exists has its end: then what follows may be in segments already.
    pub(crate) fn ends_with_seal(&self) -> bool {
        let [.., before, last] = &self.logs[..] else { return false };
        before.is_sealed && last.end == 0
    }

    /// Whether this is about the same store, and what it has read goes on behind these segments.
    pub(crate) fn goes_on(&self, section: &LogSection, store_id: u128) -> bool {
        let is_known = |log: &FollowedLog<F, C>| {
            let first_sequence = log.contents.first_sequence();
            (log.tag.number, first_sequence) == (section.first_log, section.sequence + 1)
        };
        (self.store_id, self.shape) == (store_id, section.shape) && self.logs.iter().any(is_known)
    }

    /// Forgets what segments hold by now.
    pub(crate) fn forget_before(&mut self, first_log: u64) {
        self.logs.retain(|log| log.tag.number >= first_log);
    }

    /// The logs, for who goes on writing them. The last may not exist.
    pub(crate) fn into_logs(self) -> Vec<FollowedLog<F, C>> {
        self.logs
    }
}

impl<F: Fingerprint> Follower<F> {
    /// What stands in the logs, the older first.
    pub(crate) fn views(&self) -> Vec<TailView<F>> {
        let views = self.logs.iter().flat_map(|log| log.contents.views());
        views.filter(|view| !view.is_empty()).collect()
    }
}

impl<F: Fingerprint, C: Contents<F>> FollowedLog<F, C> {
    fn new(store_id: u128, number: u64, sequence: u64, shape: RecordShape) -> Self {
        Self {
            tag: LogTag { store_id, number },
            end: 0,
            start: LogHeader::RECORDS_START,
            noted: 0,
            is_sealed: false,
            contents: C::from_sequence(sequence, shape),
            width: PhantomData,
        }
    }

    /// Its number.
    pub(crate) fn number(&self) -> u64 {
        self.tag.number
    }

    /// Where its whole records end.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// Where its first record begins.
    pub(crate) fn start(&self) -> usize {
        self.start
    }

    /// Whether all of it is known to be durable: it is as the writer left it that noted so at its
    /// end.
    pub(crate) fn is_durable(&self, files: &dyn ReadFiles) -> bool {
        let next = self.contents.next_sequence();
        let rest = files.bytes_from(&log_name(self.tag.number), self.end);
        self.noted >= next - 1 && rest.is_ok_and(|rest| rest.is_empty())
    }

    /// Its operations.
    pub(crate) fn into_contents(self) -> C {
        self.contents
    }

    fn path(&self, files: &dyn ReadFiles) -> PathBuf {
        files.path(&log_name(self.tag.number))
    }

    fn error(&self, files: &dyn ReadFiles, at: u64, corruption: Corruption) -> Error {
        Defect::corrupt(at as usize, corruption).in_file(&self.path(files))
    }

    fn missing(&self, files: &dyn ReadFiles) -> Error {
        self.error(files, 0, Corruption::LogMissing)
    }

    /// Its bytes from some place on; `None` if it does not exist.
    fn bytes_from(&self, files: &dyn ReadFiles, start: u64) -> Result<Option<Vec<u8>>> {
        match files.bytes_from(&log_name(self.tag.number), start) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::io(self.path(files), "read the log")(error)),
        }
    }

    /// Whether it holds a whole record, wherever that stands.
    fn holds_records(&self, files: &dyn ReadFiles) -> Result<bool> {
        let bytes = self.bytes_from(files, 0)?.unwrap_or_default();
        Ok(promises(self.tag, &bytes, LogHeader::BYTES, 0))
    }

    /// Reads what was written since; `None` if the log does not exist. Tells whether there was
    /// anything.
    fn read(&mut self, files: &dyn ReadFiles, shape: RecordShape) -> Result<Option<bool>> {
        if self.is_sealed {
            return Ok(Some(false));
        }
        let start = self.end;
        let Some(bytes) = self.bytes_from(files, start)? else { return Ok(None) };
        let read = self.read_records(&bytes, shape);
        read.map_err(|defect| defect.moved(start).in_file(&self.path(files)))?;
        Ok(Some(self.end > start))
    }

    /// Reads the records in `bytes`, which begin where the last one that was read ends.
    fn read_records(&mut self, bytes: &[u8], shape: RecordShape) -> Result<(), Defect> {
        let (tag, start) = (self.tag, self.end);
        let mut at = 0;
        if start == 0 {
            let sequence = self.contents.next_sequence();
            at = LogHeader { tag, sequence, shape }.check(bytes)?;
            self.noted = noted(tag, bytes, at).unwrap_or(0);
            (self.start, self.end) = (at, at as u64);
        }
        let mut piece = Vec::with_capacity(PIECE);
        loop {
            let sequence = self.contents.next_sequence();
            let record = LogRecord::at(tag, bytes, at);
            let Some(record) = record.filter(|record| record.first_sequence == sequence) else {
                if self.noted >= sequence || promises(tag, bytes, at, sequence) {
                    return Err(Defect::corrupt(at, Corruption::LogBroken { sequence }));
                }
                return Ok(());
            };
            // All of it is checked before some of it counts.
            record.operations(bytes, shape, |_: LoggedOperation<'_, F>| {})?;
            record.operations(bytes, shape, |operation: LoggedOperation<'_, F>| {
                piece.push(operation);
                if piece.len() == PIECE {
                    self.contents.push(&piece);
                    piece.clear();
                }
            })?;
            self.contents.push(&piece);
            piece.clear();
            if !record.is_seal {
                self.contents.end_record(&bytes[at..record.end]);
            }
            at = record.end;
            self.end = start + at as u64;
            if record.is_seal {
                self.is_sealed = true;
                let rest = at < bytes.len();
                return if rest {
                    Err(Defect::corrupt(at, Corruption::LogAfterSeal))
                } else {
                    Ok(())
                };
            }
        }
    }
}

/// What stands in the logs of a store, whatever their number and the size of their records.
pub(crate) struct GatheredLogs {
    shape: RecordShape,
    first_sequence: u64,
    next_sequence: u64,
    records: Records,
    /// The number of the last log that exists.
    last_number: u64,
}

/// The records of a log.
struct OfLog {
    sequences: Sequences,
    records: Records,
}

impl<F> Contents<F> for OfLog {
    fn from_sequence(first_sequence: u64, shape: RecordShape) -> Self {
        let sequences = <Sequences as Contents<F>>::from_sequence(first_sequence, shape);
        Self { sequences, records: Records::default() }
    }

    fn first_sequence(&self) -> u64 {
        Contents::<F>::first_sequence(&self.sequences)
    }

    fn next_sequence(&self) -> u64 {
        Contents::<F>::next_sequence(&self.sequences)
    }

    fn push(&mut self, operations: &[LoggedOperation<'_, F>]) {
        self.sequences.push(operations);
    }

    fn end_record(&mut self, record: &[u8]) {
        self.records.push(record);
    }
}

impl GatheredLogs {
    /// Reads the logs of a store of fingerprints of this width. Takes as much memory as the logs
    /// have bytes, and once more that of one of them.
    ///
    /// # Errors
    ///
    /// As [`Follower::open`].
    pub(crate) fn read<F: Fingerprint>(
        files: &dyn ReadFiles,
        section: &LogSection,
        store_id: u128,
    ) -> Result<Self> {
        Ok(Self::of::<F>(Follower::open(files, section, store_id)?, section))
    }

    /// As [`Self::read`], up to the first damage.
    pub(crate) fn salvage<F: Fingerprint>(
        files: &dyn ReadFiles,
        section: &LogSection,
        store_id: u128,
    ) -> Self {
        Self::of::<F>(Follower::salvage(files, section, store_id).0, section)
    }

    fn of<F: Fingerprint>(follower: Follower<F, OfLog>, section: &LogSection) -> Self {
        let first_sequence = section.sequence + 1;
        let mut gathered = Self {
            shape: section.shape,
            first_sequence,
            next_sequence: first_sequence,
            records: Records::default(),
            last_number: section.first_log,
        };
        for log in follower.into_logs() {
            // The last one may not exist.
            if log.end() > 0 {
                gathered.last_number = gathered.last_number.max(log.number());
            }
            let contents = log.into_contents();
            gathered.next_sequence = Contents::<F>::next_sequence(&contents);
            gathered.records.append(contents.records);
        }
        gathered
    }

    /// The number of the last log that exists.
    pub(crate) fn last_number(&self) -> u64 {
        self.last_number
    }

    /// One log that holds all of it, is durable before anybody reads it, and says so: what stands
    /// before its records, and these.
    pub(crate) fn into_log(self, tag: LogTag) -> (Vec<u8>, Vec<u8>) {
        let Self { shape, first_sequence, next_sequence, records, .. } = self;
        let mut start = LogHeader { tag, sequence: first_sequence, shape }.encode();
        start[LogHeader::BYTES..].copy_from_slice(&note(tag, next_sequence));
        (start.to_vec(), records.of_log(tag))
    }

    /// Whether this is what a store has held whose segments hold the operations up to `sequence`
    /// and whose logs hold `later`: what segments hold is not compared.
    pub(crate) fn is_beginning_of<F: Fingerprint>(&self, later: &Self) -> bool {
        let known = later.first_sequence.saturating_sub(self.first_sequence) as usize;
        match self.records.operations::<F>(self.shape).get(known..) {
            Some(rest) => later.records.operations(later.shape).starts_with(rest),
            // All of it is in segments.
            None => true,
        }
    }
}
