//! What stands in the directory of a damaged store.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::outcome::RepairReport;
use crate::access::{Access, InDirectory, ReadFiles};
use crate::error::{Error, Result};
use crate::files::{self, DirectoryHandle};
use crate::fingerprint::Fingerprint;
use crate::format::{
    BaseHeader, IdsEntry, IndexKind, MANIFEST_NAME, MAX_MANIFEST_BYTES, Manifest, NamesEntry,
    PartHeader, SegmentEntry, TableHeader, base_name, ids_name, names_name, part_name,
    segment_number, table_name,
};
use crate::id::IdKind;
use crate::log::Follower;
use crate::names::{NameColumn, Naming};
use crate::snapshot::parts::{Base, Parts};
use crate::tail::{Hidden, TailRecord};

/// The radius of a store whose manifest is gone.
const RADIUS: u16 = 3;
/// More tables than a segment has.
const MOST_TABLES: usize = 64;

/// A directory, and what its manifest says, or its files where there is none.
pub(super) struct Directory {
    handle: DirectoryHandle,
    manifest: Manifest,
    /// Those of the manifest; none where that is gone.
    bytes: Vec<u8>,
}

impl Directory {
    /// Looks at a directory.
    ///
    /// # Errors
    ///
    /// [`Error::NotAStore`] if there are neither a manifest nor segments.
    pub(super) fn look(path: &Path) -> Result<(RepairReport, Self)> {
        let mut report = RepairReport::default();
        let handle = DirectoryHandle::open(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => none(path),
            _ => Error::io(path, "open the directory")(error),
        })?;
        let name = path.join(MANIFEST_NAME);
        let file = handle.open_regular(MANIFEST_NAME);
        let bytes = files::read_at_most_of(file, MAX_MANIFEST_BYTES);
        let bytes = bytes.map_err(Error::io(&name, "read the manifest"));
        let decoded = bytes.and_then(|bytes| {
            let manifest = Manifest::decode(&bytes);
            Ok((manifest.map_err(|defect| defect.in_file(&name))?, bytes))
        });
        let (manifest, bytes) = match decoded {
            Ok(decoded) => decoded,
            Err(error) => {
                report.manifest = Some(error.to_string());
                (without_manifest(&in_directory(&handle), &mut report)?, Vec::new())
            }
        };
        Ok((report, Self { handle, manifest, bytes }))
    }

    /// Bits of the fingerprints.
    pub(super) fn bits(&self) -> u16 {
        self.manifest.bits
    }
}

/// The segments, deletions and logs that are there, as far as they can be read.
pub(super) struct Found<F: Fingerprint> {
    handle: DirectoryHandle,
    pub(super) base: Arc<Base<F>>,
    parts: Parts<F>,
    pub(super) with_ids: bool,
    /// What the ids of each segment stand for, as far as its names can be read.
    namings: Vec<Naming>,
}

impl<F: Fingerprint> Found<F> {
    /// Reads deletions and logs of a directory whose fingerprints are such.
    pub(super) fn read(directory: Directory, report: &mut RepairReport) -> Self {
        let Directory { handle, manifest, bytes } = directory;
        let files = in_directory(&handle);
        let (lists, problems) = Base::salvage_deletions(&files, &manifest);
        report.problems.extend(problems.iter().map(ToString::to_string));
        let mut tails = Vec::new();
        if let Some(section) = &manifest.log {
            let (logs, problem): (Follower<F>, _) =
                Follower::salvage(&files, section, manifest.store_id);
            report.problems.extend(problem.iter().map(ToString::to_string));
            tails = logs.views();
        }
        let of_segments = manifest.segments.iter().any(|segment| segment.ids.is_some());
        let with_ids = manifest.log.map_or(of_segments, |log| log.shape.ids);
        let naming = |segment: &SegmentEntry| {
            let Some(entry) = &segment.names else { return Naming::Numbers };
            match NameColumn::open(&files, segment.number, entry) {
                Ok(names) => Naming::Column(Arc::new(names)),
                Err(error) => {
                    report.problems.push(error.to_string());
                    Naming::Numbers
                }
            }
        };
        let namings: Vec<_> = manifest.segments.iter().map(naming).collect();
        let base = Arc::new(Base::without_segments(bytes, manifest, lists, &namings));
        let parts = Parts { base: Arc::clone(&base), tails };
        Self { handle, base, parts, with_ids, namings }
    }

    /// What the ids of a segment stand for: numbers where its names are lost.
    pub(super) fn naming(&self, place: usize) -> &Naming {
        self.namings.get(place).unwrap_or(&Naming::Numbers)
    }

    /// Fingerprints that the store says that its segments hold, and insertions of its logs.
    pub(super) fn record_count(&self) -> u64 {
        let segments = self.base.manifest.segments.iter();
        let stored = segments.fold(0, |sum: u64, segment| sum.saturating_add(segment.count));
        let tails = self.parts.tails.iter().map(|tail| tail.len());
        stored.saturating_add(tails.sum())
    }

    /// The directory.
    pub(super) fn directory(&self) -> &DirectoryHandle {
        &self.handle
    }

    /// The files.
    pub(super) fn files(&self) -> InDirectory<'_> {
        in_directory(&self.handle)
    }

    /// The window of a segment.
    pub(super) fn window(&self, place: usize) -> u64 {
        self.base.manifest.window(place)
    }

    /// What is hidden of a fingerprint in a segment. What a deletion names cannot be told where the
    /// names are damaged: it hides nothing then.
    pub(super) fn hidden(&self, place: usize, fingerprint: F) -> Hidden {
        let hidden = self.parts.hidden_by(place, fingerprint, self.naming(place));
        hidden.unwrap_or(Hidden::Nothing)
    }

    /// What the logs hold, and what ids stand for there.
    pub(super) fn tail_records(&self) -> Vec<(Vec<TailRecord<F>>, Naming)> {
        self.parts.tail_records()
    }
}

fn in_directory(directory: &DirectoryHandle) -> InDirectory<'_> {
    InDirectory { directory, access: Access::Mapped }
}

/// Nothing can be saved.
fn none(path: &Path) -> Error {
    let found = "there is neither a sound manifest nor a segment";
    Error::NotAStore { path: path.to_path_buf(), found }
}

/// A manifest of all segment files that are there.
fn without_manifest(files: &InDirectory<'_>, report: &mut RepairReport) -> Result<Manifest> {
    let path = files.directory.path();
    let names = files.directory.names().map_err(Error::io(path, "list the directory"))?;
    let mut numbers: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for name in names {
        if let Some(number) = segment_number(&name) {
            numbers.entry(number).or_default().push(name);
        } else if name.starts_with("log-") {
            report.problems.push(format!("{name}: is not used, since the manifest is gone"));
        }
    }
    let (mut segments, mut bits) = (Vec::new(), None);
    for (number, names) in numbers {
        match entry_of_files(files, number, &names) {
            Some((own, entry)) if own == *bits.get_or_insert(own) => segments.push(entry),
            Some((own, _)) => report.problems.push(format!(
                "segment {number}: its fingerprints have {own} bits, those of another {}; it is lost",
                bits.unwrap_or(own)
            )),
            None => report.problems.push(format!(
                "segment {number}: none of its {} files tells what it is; it is lost",
                names.len()
            )),
        }
    }
    if segments.is_empty() {
        return Err(none(path));
    }
    // All have ids, or what has none would have to be left out.
    if segments.iter().any(|segment| segment.ids.is_none()) {
        segments.iter_mut().for_each(|segment| segment.ids = None);
    }
    let names = segments.iter().any(|segment| segment.names.is_some());
    let names = names.then(|| guessed_kind(files, &segments));
    let empty = Manifest::empty(bits.unwrap_or(64), RADIUS, 0);
    Ok(Manifest { next_segment: u64::MAX, names, segments, ..empty })
}

/// What the names of segments are, as they look: text, or keys of as many bytes each as the first.
fn guessed_kind(files: &InDirectory<'_>, segments: &[SegmentEntry]) -> IdKind {
    let open = |segment: &SegmentEntry| {
        NameColumn::open(files, segment.number, segment.names.as_ref()?).ok()
    };
    let mut width = None;
    for names in segments.iter().filter_map(open).map(Arc::new) {
        let mut names = names.cursor();
        while let Ok(Some(name)) = names.next() {
            width = width.or(u16::try_from(name.len()).ok().filter(|&bytes| bytes > 0));
            if !IdKind::Text.admits(name) {
                return width.map_or(IdKind::Text, IdKind::Bytes);
            }
        }
    }
    IdKind::Text
}

/// What a manifest would say of a segment, as its files tell, and the bits of its fingerprints.
fn entry_of_files(
    files: &InDirectory<'_>,
    number: u64,
    names: &[String],
) -> Option<(u16, SegmentEntry)> {
    let of_tables = entry_of_tables(files, number, names);
    let (bits, mut entry) = of_tables.or_else(|| entry_of_base(files, number))?;
    let ids = files.bytes(&ids_name(number)).ok();
    entry.ids = ids.and_then(|bytes| IdsEntry::describe(&bytes));
    let names = files.bytes(&names_name(number)).ok();
    entry.names = names.and_then(|bytes| NamesEntry::describe(&bytes));
    Some((bits, entry))
}

fn entry_of_tables(
    files: &InDirectory<'_>,
    number: u64,
    names: &[String],
) -> Option<(u16, SegmentEntry)> {
    let last = (0..MOST_TABLES).rfind(|&table| names.contains(&table_name(number, table)))?;
    let told: Vec<_> = (0..=last)
        .map(|table| {
            let bytes = files.bytes(&table_name(number, table)).ok()?;
            TableHeader::describe(&bytes)
        })
        .collect();
    let (bits, count, set_sum, any) = told.iter().flatten().next().copied()?;
    // A table that does not tell is one that cannot be read.
    let tables = told.iter().map(|told| told.map_or(any, |(_, _, _, entry)| entry)).collect();
    let index = IndexKind::Tables;
    Some((bits, SegmentEntry { number, count, set_sum, index, tables, ids: None, names: None }))
}

fn entry_of_base(files: &InDirectory<'_>, number: u64) -> Option<(u16, SegmentEntry)> {
    let (base, own) = BaseHeader::describe(&files.bytes(&base_name(number)).ok()?)?;
    let part = |part: u16| {
        let bytes = files.bytes(&part_name(number, part.into())).ok();
        // A part table that does not tell is one that cannot be read.
        bytes.and_then(|bytes| PartHeader::describe(&bytes)).unwrap_or(own)
    };
    let tables = std::iter::once(own).chain((0..base.part_count).map(part)).collect();
    let BaseHeader { count, set_sum, fingerprint_bits, .. } = base;
    let index = IndexKind::Parts;
    Some((
        fingerprint_bits,
        SegmentEntry { number, count, set_sum, index, tables, ids: None, names: None },
    ))
}
