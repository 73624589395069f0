//! Merges segments, and drops what is too old.

use std::sync::Arc;

use super::core::{Core, LONG_LOG, locked};
use super::flush::{Records, united};
use crate::error::Result;
use crate::execution::Meter;
use crate::fingerprint::Fingerprint;
use crate::format::{Deletion, Manifest, log_name};
use crate::log::LogWriter;
use crate::merge::policy::{self, Candidate};
use crate::merge::{MergeIds, MergeSource, Merging, sample};
use crate::names::{LiveNames, NameSource, Naming};
use crate::segment::source::SourceOfIds;
use crate::segment::writer::SegmentWriter;
use crate::segment::{PackTimes, Segment};
use crate::snapshot::Snapshot;
use crate::snapshot::parts::Base;
use crate::storage::Storage;
use crate::store::edit::{Added, Edit};

/// Deletions that are kept until a merge has applied them, at least; and one for so many records of
/// the store.
const LEAST_DELETIONS: u64 = 1 << 14;
const RECORDS_PER_DELETION: u64 = 8;

/// How often each byte may be written so that segments are merged while nothing is written. Merges
/// that are needed are made whatever they write.
pub(super) const IDLE_AMPLIFICATION: f64 = 8.0;

/// How a merged segment is laid out.
#[derive(Clone, Copy)]
enum LaidOut {
    AsPack,
    /// As segments of a store that grows.
    AsUsual,
}

impl<F: Fingerprint, S: Storage> Core<F, S> {
    /// What a writer does at its end, so that the next one finds little to do: makes a segment of a
    /// long log, and merges what is to be merged.
    pub(super) fn tidy(&self) -> Result<()> {
        if self.front().operations() >= LONG_LOG {
            self.flush()?;
        }
        while self.merge_step()? {}
        Ok(())
    }

    /// Merges what the [policy] says, once; tells whether there was anything.
    pub(super) fn merge_step(&self) -> Result<bool> {
        let base = self.front().base.clone();
        let candidates = candidates(&base);
        let most = self.settings.most_fingerprints();
        let picked = policy::pick(&candidates, self.least_segment(), most);
        // Deletions take memory, and what they hide takes space, until a merge has applied them.
        let records = candidates.iter().map(|at| at.records).sum::<u64>();
        let is_too_much = base.hiding.len() > LEAST_DELETIONS.max(records / RECORDS_PER_DELETION);
        let groups = match picked {
            Some(numbers) => vec![numbers],
            None if is_too_much => {
                policy::all(&candidates, most, |number| is_touched(&base, number))
            }
            None => return Ok(false),
        };
        let mut merged = false;
        for numbers in groups {
            merged |= self.merge(&numbers)?;
        }
        Ok(merged)
    }

    /// Records of the smallest segments that a writer makes: a part of what it has room for, which
    /// keeps the tiers of those that come from full generations as they are.
    fn least_segment(&self) -> u64 {
        let mut records = self.capacity as u64;
        while records > LONG_LOG {
            records /= policy::FAN_IN as u64;
        }
        records
    }

    /// Merges segments while nothing is written, once, as long as that does not write too much;
    /// tells whether there was anything.
    pub(super) fn merge_idle(&self) -> Result<bool> {
        let base = self.front().base.clone();
        let candidates = candidates(&base);
        let Some((numbers, records)) =
            policy::pick_idle(&candidates, self.settings.most_fingerprints())
        else {
            return Ok(false);
        };
        let Some(log) = base.manifest.log else { return Ok(false) };
        let all = candidates.iter().map(|at| at.records).sum::<u64>().max(1);
        let bytes: u64 = base.segments.iter().map(|segment| segment.file_bytes()).sum();
        let written = bytes as f64 * records as f64 / all as f64;
        let after = (log.written_bytes as f64 + written) / log.inserted_bytes.max(1) as f64;
        if after > IDLE_AMPLIFICATION {
            return Ok(false);
        }
        drop(base);
        self.merge(&numbers)
    }

    /// Merges all segments of each window into one, or into as few as hold so many fingerprints,
    /// which no deletion concerns any more, and which have the layout that a pack of them has.
    pub(super) fn merge_all(&self) -> Result<()> {
        let _alone = locked(&self.merging);
        let most = self.settings.most_fingerprints();
        let groups = policy::all(&candidates(&self.front().base.clone()), most, |_| true);
        for numbers in groups {
            match numbers[..] {
                [only] if self.is_as_packed(only)? => {}
                _ => {
                    self.merge_locked(&numbers, LaidOut::AsPack)?;
                }
            }
        }
        Ok(())
    }

    /// Whether no deletion concerns a segment, and it has the tables that a pack of its
    /// fingerprints would choose. Reads the fingerprints, unless all is said of the layout.
    fn is_as_packed(&self, number: u64) -> Result<bool> {
        let base = self.front().base.clone();
        let Some(segment) = base.segments.iter().find(|segment| segment.number() == number) else {
            return Ok(true);
        };
        if is_touched(&base, number) {
            return Ok(false);
        }
        let alone = base.restricted(|place| base.segments[place].number() == number);
        let alone = Snapshot::new(Arc::new(alone), Vec::new());
        let (count, costs) = (segment.count(), self.execution.cost());
        let layout = self.execution.install(|| {
            self.settings.layout_of_pack((count, costs), |planner| {
                sample(&alone, planner, &self.execution.meter())
            })
        })??;
        Ok(segment.is_laid_out_as(&layout))
    }

    /// Makes one segment of some; tells whether they were there to the end.
    fn merge(&self, numbers: &[u64]) -> Result<bool> {
        let _alone = locked(&self.merging);
        self.merge_locked(numbers, LaidOut::AsUsual)
    }

    /// As [`Self::merge`], where nobody else merges meanwhile.
    fn merge_locked(&self, numbers: &[u64], laid_out: LaidOut) -> Result<bool> {
        let base = self.front().base.clone();
        if !has_all(&base.manifest, numbers) {
            return Ok(false);
        }
        // A merge may take minutes.
        self.storage.check_held()?;
        let sequence = base.manifest.log.map_or(0, |log| log.sequence);
        let merged: Vec<Candidate> =
            candidates(&base).into_iter().filter(|at| numbers.contains(&at.number)).collect();
        // All are in one window.
        let window = merged.first().map_or(0, |at| at.window);
        let records = merged.iter().map(|at| at.records).sum();
        let mut kept = deletions_to_keep(&base, numbers);
        let meter: Meter = self.execution.meter();
        let mut files = self.new_files();
        let written = self.execution.install_for(records, || {
            let mut merging = Merging::new(&base, numbers, &kept, &meter)?;
            if merging.count() == 0 {
                return Ok(None);
            }
            for (segment, deletion) in &mut kept {
                merging.renumber(*segment, deletion)?;
            }
            let mut names = merging.take_names();
            let number = self.back().take_number(&self.path)?;
            let (id_count, greatest) = merging.ids();
            let create = || self.storage.spill();
            let mut source = MergeSource::new(&merging, &meter, &create);
            let mut ids = MergeIds(&merging);
            let (count, costs) = (merging.count(), self.execution.cost());
            let layout = &match laid_out {
                LaidOut::AsPack => self.settings.layout_of_pack((count, costs), |planner| {
                    sample(merging.snapshot(), planner, &meter)
                })?,
                LaidOut::AsUsual => self.settings.layout(count)?,
            };
            let mut times = PackTimes::default();
            let files = &mut files;
            let mut writer = SegmentWriter { files, meter: &meter, times: &mut times };
            let names = names.as_mut().map(|names| names as &mut dyn NameSource);
            let ids = SourceOfIds { ids: &mut ids, count: id_count, greatest, names };
            writer.write(number, layout, &mut source, merging.has_ids().then_some(ids)).map(Some)
        })??;
        let mut back = self.back();
        let now = self.front().base.clone();
        if !has_all(&now.manifest, numbers) {
            return Ok(false);
        }
        // Segments that came meanwhile are later than all of these deletions.
        let mut added = Vec::new();
        match written {
            Some(written) => {
                self.wrote(written.bytes());
                let (entry, kept) = (written.entry, kept.into_iter().map(|(_, at)| at));
                let deletions = united(kept.collect());
                let deletions =
                    self.write_deletions(&mut files, entry.number, sequence, &deletions)?;
                added.push(Added { entry, deletions, window });
            }
            // The deletions need a segment to belong to.
            None if !kept.is_empty() => {
                let number = back.take_number(&self.path)?;
                let records = Records::of_deletions(&base, kept)?;
                let place = (number, sequence, window);
                added.push(self.write_records(&mut files, place, records)?);
            }
            None => {}
        }
        let edit = Edit { removed: numbers.to_vec(), added, log: None };
        self.commit(files, (edit, 0), &mut back)?;
        Ok(true)
    }

    /// Drops all windows that end at `before` or earlier, in seconds since 1970, without reading
    /// them. Gives the number of segments that are gone.
    pub(super) fn expire(&self, before: u64) -> Result<u64> {
        let Some(seconds) = self.window_seconds else { return Ok(0) };
        // What stands in the log goes by windows as well, once it is in segments.
        self.flush()?;
        let is_old = |at: &Candidate| at.window < before / seconds;
        let base = self.front().base.clone();
        if !candidates(&base).iter().any(is_old) {
            // An attempt that failed at last may have dropped them, and that is not durable yet.
            self.new_files().sync_names()?;
            return Ok(0);
        }
        drop(base);
        // A merge may need all threads for long, and the locks below in one of them.
        let _merging = locked(&self.merging);
        let _flushing = locked(&self.flushing);
        let mut log = self.log();
        self.empty_log(&mut log)?;
        let mut files = self.new_files();
        let mut back = self.back();
        let base = self.front().base.clone();
        let all = candidates(&base);
        let removed: Vec<u64> = all.iter().filter(|at| is_old(at)).map(|at| at.number).collect();
        let Some(section) = base.manifest.log else { return Ok(0) };
        let sequence = section.sequence;
        let kept = deletions_to_keep(&base, &removed);
        let mut added = Vec::new();
        if !kept.is_empty() {
            let number = back.take_number(&self.path)?;
            let window = all.iter().map(|at| at.window).max().unwrap_or(0);
            let records = Records::of_deletions(&base, kept)?;
            added.push(self.write_records(&mut files, (number, sequence, window), records)?);
        }
        let count = removed.len() as u64;
        // No log tells of this. So the log that the manifest before leads to is left as it is,
        // empty and without its end, and what is written from now on cannot be read without this
        // manifest: [LOG-5] misses it.
        files.add(&log.create_next()?);
        back.in_use.push(log_name(section.first_log));
        let edit = Edit { removed, added, log: Some((section.first_log + 1, sequence)) };
        let published = self.commit(files, (edit, 0), &mut back);
        let is_visible = self.front().base.manifest.generation > base.manifest.generation;
        if is_visible {
            self.front().forget_windows(before / seconds);
            log.leave();
        }
        published.map(|()| count)
    }

    /// Flushes until the log is empty. Nobody else flushes or writes to the log meanwhile.
    fn empty_log(&self, log: &mut LogWriter<S>) -> Result<()> {
        if !log.is_empty() {
            let mut front = self.front();
            if front.has_operations() {
                front.seal();
            }
        }
        while self.flush_next(|| &mut *log)? {}
        Ok(())
    }
}

impl<F: Fingerprint> Records<F> {
    /// No records, and deletions, each with the number of the segment that it belongs to.
    fn of_deletions(base: &Base<F>, kept: Vec<(u64, Deletion<F>)>) -> Result<Self> {
        let naming = |number: u64| {
            let segment = base.segments.iter().find(|segment| segment.number() == number);
            segment.map_or(Naming::Numbers, |segment| segment.naming())
        };
        let (mut names, mut name) = (None, Vec::new());
        let mut deletions = Vec::with_capacity(kept.len());
        for (segment, mut deletion) in kept {
            let naming = naming(segment);
            if let Some(id) = deletion.id().filter(|_| !naming.is_numbers()) {
                let names: &Arc<LiveNames> = names.get_or_insert_default();
                naming.name(id, &mut name)?;
                let number = names.intern(&name);
                deletion.renumber(|_| number);
            }
            deletions.push(deletion);
        }
        // Without names there is still a list of them.
        let is_named = base.manifest.names.is_some();
        let names = names.or_else(|| is_named.then(Arc::default));
        let naming = names.map_or(Naming::Numbers, Naming::Live);
        Ok(Self { records: Vec::new(), deletions, naming })
    }
}

/// The deletions of some segments that may hide something in another one, each with the number of
/// the segment that it belongs to.
fn deletions_to_keep<F: Fingerprint>(base: &Base<F>, numbers: &[u64]) -> Vec<(u64, Deletion<F>)> {
    let sequences = crate::snapshot::parts::sequences(&base.manifest);
    let segments = base.manifest.segments.iter().zip(sequences);
    let others = segments.filter(|(segment, _)| !numbers.contains(&segment.number));
    let Some(least) = others.map(|(_, sequence)| sequence).min() else { return Vec::new() };
    let of_these = base.lists().filter(|(entry, _)| numbers.contains(&entry.segment));
    let deletions =
        of_these.flat_map(|(entry, list)| list.iter().map(|&deletion| (entry.segment, deletion)));
    deletions.filter(|(_, deletion)| deletion.sequence > least).collect()
}

fn has_all(manifest: &Manifest, numbers: &[u64]) -> bool {
    let is_there = |number: &u64| manifest.segments.iter().any(|at| at.number == *number);
    numbers.iter().all(is_there)
}

/// What the policy looks at.
fn candidates<F: Fingerprint>(base: &Base<F>) -> Vec<Candidate> {
    let of_segment = |(place, segment): (usize, &Arc<Segment<F>>)| {
        let ids = segment.id_column().map_or(0, |ids| ids.id_count());
        let window = base.manifest.window(place);
        let (number, fingerprints) = (segment.number(), segment.count());
        Candidate { number, fingerprints, records: fingerprints.max(ids), window }
    };
    base.segments.iter().enumerate().map(of_segment).collect()
}

/// Whether deletions may hide something of a segment, or belong to it.
fn is_touched<F: Fingerprint>(base: &Base<F>, number: u64) -> bool {
    let place = base.segments.iter().position(|segment| segment.number() == number);
    let sequence = place.map_or(0, |place| base.hiding.sequence(place));
    let mut deletions = base.hiding.deletions();
    deletions.any(|deletion| deletion.sequence > sequence)
        || base.lists().any(|(entry, list)| entry.segment == number && !list.is_empty())
}
