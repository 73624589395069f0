//! Makes segments of what stands in logs.

use std::collections::BTreeMap;
use std::io::Write;
use std::ops::DerefMut;

use super::core::{Core, locked};
use crate::error::Result;
use crate::execution::Meter;
use crate::fingerprint::Fingerprint;
use crate::format::{Deletion, DeletionsEntry, deletions_name, encode_deletions, log_name};
use crate::log::LogWriter;
use crate::names::{LiveList, NameSource, Naming};
use crate::segment::source::SourceOfIds;
use crate::segment::writer::SegmentWriter;
use crate::segment::{NewFiles, PackTimes, PackedIds, Set, SetSource, sum_of};
use crate::snapshot::parts::Parts;
use crate::storage::Storage;
use crate::store::edit::{Added, Edit};
use crate::tail::TailView;

/// What becomes a segment.
pub(super) struct Records<F> {
    /// Fingerprints and ids in any order; some may stand there twice.
    pub(super) records: Vec<(F, u64)>,
    pub(super) deletions: Vec<Deletion<F>>,
    /// What the ids stand for, those of the deletions too: themselves, or names of a log.
    pub(super) naming: Naming,
}

impl<F: Fingerprint, S: Storage> Core<F, S> {
    /// Makes a segment of all that is written so far.
    pub(super) fn flush(&self) -> Result<()> {
        {
            let mut front = self.front();
            if front.has_operations() {
                front.seal();
            }
        }
        while self.flush_oldest()? {}
        Ok(())
    }

    /// Makes a segment, or one per window, of the oldest log that has its end; tells whether there
    /// was one.
    pub(super) fn flush_oldest(&self) -> Result<bool> {
        let _alone = locked(&self.flushing);
        self.flush_next(|| self.log())
    }

    /// As [`Self::flush_oldest`], for who sees to it that nobody else flushes; takes the log when
    /// it needs it.
    pub(super) fn flush_next<L: DerefMut<Target = LogWriter<S>>>(
        &self,
        log_writer: impl FnOnce() -> L,
    ) -> Result<bool> {
        let (views, base) = {
            let front = self.front();
            let Some(sealed) = front.sealed.front() else { return Ok(false) };
            let views: Vec<TailView<F>> = sealed.views().collect();
            (views, front.base.clone())
        };
        let Some(log) = base.manifest.log.map(|log| log.first_log) else { return Ok(false) };
        self.storage.check_held()?;
        let sequence = views.last().map_or(0, |view| view.next_sequence() - 1);
        let mut files = self.new_files();
        let mut added = Vec::new();
        let deletions = if base.segments.is_empty() { Vec::new() } else { last_deletions(&views) };
        let mut by_window: BTreeMap<u64, Vec<(F, u64)>> = BTreeMap::new();
        // All of one log, so their ids stand for the same.
        let naming = views.first().map_or(Naming::Numbers, TailView::naming);
        let parts = Parts { base, tails: views };
        for record in parts.tail_records().into_iter().flat_map(|(records, _)| records) {
            let of_window = by_window.entry(record.window).or_default();
            of_window.push((record.fingerprint, record.id));
        }
        if by_window.is_empty() && !deletions.is_empty() {
            // The deletions need a segment to belong to.
            let window = parts.base.manifest.windows.as_ref();
            let window = window.and_then(|windows| windows.windows.iter().max().copied());
            by_window.insert(window.unwrap_or(0), Vec::new());
        }
        let mut deletions = Some(deletions);
        // The newest segment is the last to expire.
        for (window, records) in by_window.into_iter().rev() {
            let number = self.back().take_number(&self.path)?;
            let of_segment = deletions.take().unwrap_or_default();
            let records = Records { records, deletions: of_segment, naming: naming.clone() };
            added.push(self.write_records(&mut files, (number, sequence, window), records)?);
        }
        // The next log exists before a manifest names it.
        {
            let mut writer = log_writer();
            let pending = self.front().take_ended();
            writer.enqueue(pending);
            writer.sync_and_begin()?;
        }
        let mut back = self.back();
        back.in_use.push(log_name(log));
        let log = Some((log + 1, sequence));
        self.commit(files, (Edit { added, log, ..Edit::default() }, 1), &mut back)?;
        Ok(true)
    }

    /// Writes a segment of records, and the deletions that belong to it.
    pub(super) fn write_records(
        &self,
        files: &mut NewFiles<S>,
        (number, sequence, window): (u64, u64, u64),
        records: Records<F>,
    ) -> Result<Added> {
        let Records { records, mut deletions, naming } = records;
        let mut names = match naming {
            Naming::Live(names) => {
                let of_records = records.iter().map(|&(_, id)| id);
                let of_deletions = deletions.iter().filter_map(Deletion::id);
                Some(LiveList::new(names, of_records.chain(of_deletions).collect()))
            }
            _ => None,
        };
        let rank = |id| names.as_ref().map_or(id, |names: &LiveList| names.rank(id));
        for deletion in &mut deletions {
            deletion.renumber(rank);
        }
        // Names have another order than the numbers that they had in the log.
        let deletions = united(deletions);
        let mut records: Vec<F::WithId> =
            records.into_iter().map(|(fingerprint, id)| fingerprint.with_id(rank(id))).collect();
        let written = self.flush_execution.install_for(records.len() as u64, || {
            records.sort_unstable();
            records.dedup();
            let (set, mut ids) = PackedIds::<F, S::Spill>::of_pairs(records);
            let count = set.len() as u64;
            let (id_count, greatest) = (ids.count, ids.greatest);
            let sum = sum_of(&set);
            let meter: Meter = self.flush_execution.meter();
            let create = || self.storage.spill();
            let set = Set::Memory { set, spare: Vec::new() };
            let mut source = SetSource { set, sum, meter: &meter, create: &create };
            let layout = &self.settings.layout(count)?;
            let mut times = PackTimes::default();
            let mut writer = SegmentWriter { files, meter: &meter, times: &mut times };
            let names = names.as_mut().map(|names| names as &mut dyn NameSource);
            let ids = SourceOfIds { ids: &mut ids, count: id_count, greatest, names };
            writer.write(number, layout, &mut source, self.shape.ids.then_some(ids))
        })??;
        self.wrote(written.bytes());
        let deletions = self.write_deletions(files, number, sequence, &deletions)?;
        Ok(Added { entry: written.entry, deletions, window })
    }

    /// Writes the deletions that belong to a segment, if there are some; gives what the manifest
    /// says of it.
    pub(super) fn write_deletions(
        &self,
        files: &mut NewFiles<S>,
        segment: u64,
        sequence: u64,
        deletions: &[Deletion<F>],
    ) -> Result<DeletionsEntry> {
        let mut entry = DeletionsEntry::without_file(segment, sequence);
        if deletions.is_empty() {
            return Ok(entry);
        }
        let name = deletions_name(segment);
        let (bytes, (file_bytes, header_crc, footer_crc)) = encode_deletions(segment, deletions);
        let mut file = files.create(&name)?;
        file.write_all(&bytes).map_err(files.error(&name, "write the deletions"))?;
        files.sync(&mut file, &name, "sync the deletions")?;
        self.wrote(file_bytes);
        (entry.file_bytes, entry.header_crc, entry.footer_crc) =
            (file_bytes, header_crc, footer_crc);
        Ok(entry)
    }
}

/// The deletions of some tails, ascending, of each fingerprint and scope the last.
fn last_deletions<F: Fingerprint>(views: &[TailView<F>]) -> Vec<Deletion<F>> {
    united(views.iter().flat_map(TailView::deletions).collect())
}

/// Deletions in their order, of each fingerprint and scope the last.
pub(super) fn united<F: Fingerprint>(mut deletions: Vec<Deletion<F>>) -> Vec<Deletion<F>> {
    deletions.sort_unstable_by_key(|at| (at.key(), std::cmp::Reverse(at.sequence)));
    deletions.dedup_by_key(|deletion| deletion.key());
    deletions
}
