//! What stands in the directory of a damaged store.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::outcome::RepairReport;
use crate::access::{Access, InDirectory, ReadFiles};
use crate::error::{Error, Result};
use crate::files;
use crate::format::{
    IdsEntry, IndexKind, MANIFEST_NAME, MAX_MANIFEST_BYTES, Manifest, SegmentEntry, TableHeader,
    ids_name, segment_number, table_name,
};
use crate::log::Follower;
use crate::snapshot::parts::{Base, Parts};
use crate::tail::{Hidden, TailRecord};

/// The radius of a store whose manifest is gone.
const RADIUS: u16 = 3;
/// More tables than a segment has.
const MOST_TABLES: usize = 64;

/// The segments, deletions and logs that are there, as far as they can be read.
pub(super) struct Found {
    path: PathBuf,
    pub(super) base: Arc<Base>,
    parts: Parts,
    pub(super) with_ids: bool,
}

impl Found {
    /// Looks at a directory.
    ///
    /// # Errors
    ///
    /// [`Error::NotAStore`] if there are neither a manifest nor segments.
    pub(super) fn look(path: &Path) -> Result<(RepairReport, Self)> {
        let mut report = RepairReport::default();
        let name = path.join(MANIFEST_NAME);
        let bytes = files::read_at_most(&name, MAX_MANIFEST_BYTES);
        let bytes = bytes.map_err(Error::io(&name, "read the manifest"));
        let decoded = bytes.and_then(|bytes| {
            let manifest = Manifest::decode(&bytes);
            Ok((manifest.map_err(|defect| defect.in_file(&name))?, bytes))
        });
        let files = InDirectory { path, access: Access::Mapped };
        let (manifest, bytes) = match decoded {
            Ok(decoded) => decoded,
            Err(error) => {
                report.manifest = Some(error.to_string());
                (without_manifest(path, &files, &mut report)?, Vec::new())
            }
        };
        if manifest.bits != 64 || manifest.segments.iter().any(|at| at.index == IndexKind::Parts) {
            return Err(Error::InvalidOption {
                option: "store",
                value: format!("{}, of {} bits", path.display(), manifest.bits),
                expected: "only stores with tables are repaired; take a backup of this one"
                    .to_string(),
            });
        }
        let (lists, problems) = Base::salvage_deletions(&files, &manifest);
        report.problems.extend(problems.iter().map(ToString::to_string));
        let mut tails = Vec::new();
        if let Some(section) = &manifest.log {
            let (logs, problem) = Follower::salvage(&files, section, manifest.store_id);
            report.problems.extend(problem.iter().map(ToString::to_string));
            tails = logs.views();
        }
        let of_segments = manifest.segments.iter().any(|segment| segment.ids.is_some());
        let with_ids = manifest.log.map_or(of_segments, |log| log.shape.ids);
        let base = Arc::new(Base::without_segments(bytes, manifest, lists));
        let parts = Parts { base: Arc::clone(&base), tails };
        Ok((report, Self { path: path.to_path_buf(), base, parts, with_ids }))
    }

    /// The files.
    pub(super) fn files(&self) -> InDirectory<'_> {
        InDirectory { path: &self.path, access: Access::Mapped }
    }

    /// The window of a segment.
    pub(super) fn window(&self, place: usize) -> u64 {
        self.base.manifest.window(place)
    }

    /// What is hidden of a fingerprint in a segment.
    pub(super) fn hidden(&self, place: usize, fingerprint: u64) -> Hidden {
        self.parts.hidden(place, fingerprint)
    }

    /// What the logs hold.
    pub(super) fn tail_records(&self) -> Vec<TailRecord> {
        self.parts.tail_records()
    }
}

/// A manifest of all segment files that are there.
fn without_manifest(
    path: &Path,
    files: &InDirectory<'_>,
    report: &mut RepairReport,
) -> Result<Manifest> {
    let none = || Error::NotAStore {
        path: path.to_path_buf(),
        found: "there is neither a sound manifest nor a segment",
    };
    let entries = fs::read_dir(path).map_err(|_| none())?;
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut numbers: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for name in names {
        if let Some(number) = segment_number(&name) {
            numbers.entry(number).or_default().push(name);
        } else if name.starts_with("log-") {
            report.problems.push(format!("{name}: is not used, since the manifest is gone"));
        }
    }
    let mut segments = Vec::new();
    for (number, names) in numbers {
        match entry_of_files(files, number, &names) {
            Some(entry) => segments.push(entry),
            None => report.problems.push(format!(
                "segment {number}: none of its {} files tells what it is; it is lost",
                names.len()
            )),
        }
    }
    if segments.is_empty() {
        return Err(none());
    }
    // All have ids, or what has none would have to be left out.
    if segments.iter().any(|segment| segment.ids.is_none()) {
        segments.iter_mut().for_each(|segment| segment.ids = None);
    }
    Ok(Manifest { next_segment: u64::MAX, segments, ..Manifest::empty(64, RADIUS, 0) })
}

/// What a manifest would say of a segment, as its files tell.
fn entry_of_files(files: &InDirectory<'_>, number: u64, names: &[String]) -> Option<SegmentEntry> {
    let last = (0..MOST_TABLES).rfind(|&table| names.contains(&table_name(number, table)))?;
    let told: Vec<_> = (0..=last)
        .map(|table| {
            let bytes = files.bytes(&table_name(number, table)).ok()?;
            TableHeader::describe(&bytes)
        })
        .collect();
    let (count, set_sum, any) = told.iter().flatten().next().copied()?;
    // A table that does not tell is one that cannot be read.
    let tables = told.iter().map(|told| told.map_or(any, |(_, _, entry)| entry)).collect();
    let ids = files.bytes(&ids_name(number)).ok().and_then(|bytes| IdsEntry::describe(&bytes));
    let index = IndexKind::Tables;
    Some(SegmentEntry { number, count, set_sum, index, tables, ids })
}
