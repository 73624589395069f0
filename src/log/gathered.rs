//! The operations of all logs of a store, to be copied or compared.

use crate::access::ReadFiles;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::format::{LogHeader, LogSection, LogTag, LoggedOperation, RecordShape, Records, note};
use crate::log::follow::{Contents, Follower, Sequences};

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
