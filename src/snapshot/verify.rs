//! Checks every byte of what a snapshot sees.

use std::sync::atomic::{AtomicU64, Ordering};

use super::contents::Snapshot;
use crate::error::Result;
use crate::execution::{Execution, Phase, Progress};
use crate::fingerprint::Fingerprint;
use crate::format::Deletion;
use crate::segment::{Index, Segment};

/// What [`Snapshot::verify`] has checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifyReport {
    /// Number of segments.
    pub segments: u64,
    /// Number of tables, bases and part tables.
    pub tables: u64,
    /// Number of blocks of all tables.
    pub blocks: u64,
    /// Number of fingerprints of all segments.
    pub fingerprints: u64,
    /// Number of ids of all segments.
    pub ids: u64,
    /// Number of deletions. These were checked when the store was opened, but for names of ids.
    pub deletions: u64,
    /// Number of insertions and deletions in the logs, which were checked as far as they were seen.
    pub log_operations: u64,
    /// Bytes of all files but logs.
    pub bytes: u64,
}

/// Number of files of the index of a segment.
fn file_count<F: Fingerprint>(segment: &Segment<F>) -> u64 {
    match segment.index() {
        Index::Tables(tables) => tables.all().len() as u64,
        Index::Parts(index) => 1 + index.part_count() as u64,
    }
}

impl<F: Fingerprint> Snapshot<F> {
    /// Checks every byte: all checksums, padding, codes and the order of keys, that the router is
    /// what the blocks give, and that every table of a segment holds the same set, by a sum of 128
    /// bits over its fingerprints; and of the ids, that they belong to these fingerprints and
    /// ascend, and that there is a name for each, also of a deletion, in a store of names.
    ///
    /// Decodes all tables with the threads of `execution`, whose memory is no limit here: 8 bytes
    /// per block. It stops soon, and without a result, when that says so.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`](crate::Error::Corrupt) with the first rule of the specification that is
    /// broken; [`Error::Cancelled`](crate::Error::Cancelled) and
    /// [`Error::DeadlineExceeded`](crate::Error::DeadlineExceeded).
    pub fn verify_with(&self, execution: &Execution) -> Result<VerifyReport> {
        let total = self.segments().iter().fold(0u64, |total, segment| {
            let keys = segment.count().saturating_mul(file_count(segment));
            let ids = segment.id_column().map_or(0, |ids| ids.id_count());
            total.saturating_add(keys).saturating_add(ids)
        });
        let all_done = AtomicU64::new(0);
        let done = |more: u64| {
            if more > 0 {
                let done = all_done.fetch_add(more, Ordering::Relaxed).saturating_add(more);
                execution.tell(Progress::of(Phase::Verify, done, total));
            }
            execution.stop().check()
        };
        let check = || {
            let base = &self.parts().base;
            let lists = base.manifest.deletions.iter().map(|entry| entry.file_bytes);
            let seen = self.parts().tails.last().map_or(0, |tail| tail.next_sequence() - 1);
            let in_segments = base.manifest.log.map_or(0, |log| log.sequence);
            let mut report = VerifyReport {
                bytes: lists.fold(self.manifest().len() as u64, u64::saturating_add),
                deletions: base.lists().map(|(_, list)| list.len() as u64).sum(),
                log_operations: seen.saturating_sub(in_segments),
                ..VerifyReport::default()
            };
            for segment in self.segments() {
                if let Index::Parts(index) = segment.index() {
                    index.verify(&done)?;
                }
                let tables = segment.tables();
                let short: Vec<_> = tables.iter().filter(|table| table.is_short()).collect();
                let mut sums = Vec::new().into_iter();
                for (number, table) in tables.iter().enumerate() {
                    if table.is_short() {
                        table.verify_short(sums.next().unwrap_or_default(), &done)?;
                    } else if number == 0 {
                        sums = table.verify(&short, &done)?.into_iter();
                    } else {
                        table.verify(&[], &done)?;
                    }
                    report.blocks += table.block_count();
                }
                if let Some(ids) = segment.id_column() {
                    ids.verify(segment.tables().first(), segment.names())?;
                    done(ids.id_count())?;
                    report.ids = report.ids.saturating_add(ids.id_count());
                }
                if let Some(names) = segment.names() {
                    let own = base.lists().filter(|(at, _)| at.segment == segment.number());
                    let mut deleted =
                        own.flat_map(|(_, list)| list.iter().filter_map(Deletion::id));
                    deleted.try_for_each(|id| names.check_number(id))?;
                    names.verify(self.id_kind())?;
                }
                report.tables += file_count(segment);
                report.bytes += segment.file_bytes();
                report.segments += 1;
                report.fingerprints = report.fingerprints.saturating_add(segment.count());
            }
            Ok(report)
        };
        execution.install_for(total, check)?
    }

    /// As [`Self::verify_with`], with all cores.
    ///
    /// # Errors
    ///
    /// As [`Self::verify_with`].
    pub fn verify(&self) -> Result<VerifyReport> {
        self.verify_with(&Execution::new())
    }
}
