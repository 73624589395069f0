//! The operations of all logs of a store, to be copied or compared.

use std::io;

use crate::access::ReadFiles;
use crate::error::{Corruption, Error, Result};
use crate::fingerprint::Fingerprint;
use crate::format::{
    Defect, LogHeader, LogRecord, LogSection, LogTag, Operation, RecordShape, log_name, note,
    push_record,
};
use crate::log::{FollowedLog, Follower};

/// What stands in the logs of a store, whatever their number and the size of their records.
pub(crate) struct GatheredLogs<F: Fingerprint> {
    /// The sequence of the first operation.
    first_sequence: u64,
    operations: Vec<Operation<F>>,
    /// Where records end: after a crash the operations of a record are there together, or none is.
    record_ends: Vec<usize>,
    /// The number of the last log that exists.
    last_number: u64,
}

impl<F: Fingerprint> GatheredLogs<F> {
    /// Reads the logs of a store. Takes some 32 bytes of memory for each operation of 64 bits.
    ///
    /// # Errors
    ///
    /// As [`Follower::open`].
    pub(crate) fn read(
        files: &dyn ReadFiles,
        section: &LogSection,
        store_id: u128,
    ) -> Result<Self> {
        Self::of(Follower::open(files, section, store_id)?, files, section, store_id)
    }

    /// As [`Self::read`], up to the first damage.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] where a log cannot be read.
    pub(crate) fn salvage(
        files: &dyn ReadFiles,
        section: &LogSection,
        store_id: u128,
    ) -> Result<Self> {
        Self::of(Follower::salvage(files, section, store_id).0, files, section, store_id)
    }

    fn of(
        follower: Follower<F>,
        files: &dyn ReadFiles,
        section: &LogSection,
        store_id: u128,
    ) -> Result<Self> {
        let mut gathered = Self {
            first_sequence: section.sequence + 1,
            operations: Vec::new(),
            record_ends: Vec::new(),
            last_number: section.first_log,
        };
        for log in follower.into_logs() {
            gathered.take(&log, files, section.shape, store_id)?;
        }
        Ok(gathered)
    }

    fn take(
        &mut self,
        log: &FollowedLog<F>,
        files: &dyn ReadFiles,
        shape: RecordShape,
        store_id: u128,
    ) -> Result<()> {
        let name = log_name(log.number());
        let mut bytes = match files.bytes_from(&name, 0) {
            // The last one may not exist.
            Err(error) if error.kind() == io::ErrorKind::NotFound && log.end() == 0 => {
                return Ok(());
            }
            read => read.map_err(Error::io(files.path(&name), "read the log"))?,
        };
        self.last_number = self.last_number.max(log.number());
        bytes.truncate(log.end() as usize);
        let tag = LogTag { store_id, number: log.number() };
        let mut at = log.start();
        while let Some(record) = LogRecord::at(tag, &bytes, at) {
            let sink = |operation| self.operations.push(operation);
            let read = record.operations(&bytes, shape, sink);
            read.map_err(|defect| defect.in_file(&files.path(&name)))?;
            if !record.is_seal {
                self.record_ends.push(self.operations.len());
            }
            at = record.end;
        }
        if at as u64 == log.end() {
            return Ok(());
        }
        // It was whole when it was read before.
        let sequence = self.first_sequence + self.operations.len() as u64;
        let defect = Defect::corrupt(at, Corruption::LogBroken { sequence });
        Err(defect.in_file(&files.path(&name)))
    }

    /// The number of the last log that exists.
    pub(crate) fn last_number(&self) -> u64 {
        self.last_number
    }

    /// The bytes of one log that holds all of it, is durable before anybody reads it, and says so.
    pub(crate) fn encode(&self, tag: LogTag, shape: RecordShape) -> Vec<u8> {
        let header = LogHeader { tag, sequence: self.first_sequence, shape };
        let next = self.first_sequence + self.operations.len() as u64;
        let mut bytes = header.encode().to_vec();
        bytes[LogHeader::BYTES..].copy_from_slice(&note(tag, next));
        let (mut start, mut payload) = (0, Vec::new());
        for &end in &self.record_ends {
            let operations = &self.operations[start..end];
            payload.clear();
            operations.iter().for_each(|operation| operation.encode(shape, &mut payload));
            let first = self.first_sequence + start as u64;
            let sequences = (first, first - 1);
            push_record(tag, sequences, operations.len() as u32, &payload, &mut bytes);
            start = end;
        }
        bytes
    }

    /// Whether this is what a store has held whose segments hold the operations up to `sequence` and
    /// whose logs hold `later`: what segments hold is not compared.
    pub(crate) fn is_beginning_of(&self, later: &Self) -> bool {
        let known = later.first_sequence.saturating_sub(self.first_sequence) as usize;
        match self.operations.get(known..) {
            Some(rest) => later.operations.starts_with(rest),
            // All of it is in segments.
            None => true,
        }
    }
}
