//! What a commit changes in a manifest.

use std::collections::HashSet;
use std::path::Path;

use super::standing::{Standing, is_open_log, named};
use crate::error::{Error, Result};
use crate::format::{self, DeletionsEntry, Manifest, SegmentEntry};
use crate::set_sum;

/// Files that a store may have. Each is mapped by whoever opens it, and Linux maps 65,530 for a
/// process unless told otherwise.
const MOST_FILES: usize = 60_000;

/// A segment that comes.
pub(crate) struct Added {
    pub(crate) entry: SegmentEntry,
    /// What DELETIONS says of it, in a store that is written to.
    pub(crate) deletions: DeletionsEntry,
    /// Its window, in a store that has windows.
    pub(crate) window: u64,
}

/// A change of the segments of a store. All else of it stays.
#[derive(Default)]
pub(crate) struct Edit {
    /// The numbers of those that go.
    pub(crate) removed: Vec<u64>,
    /// Those that come.
    pub(crate) added: Vec<Added>,
    /// The first log behind one whose operations are in segments now, and the last sequence of
    /// these.
    pub(crate) log: Option<(u64, u64)>,
}

impl Edit {
    /// The manifest behind the change, of the store at `path`, whose next segment gets this number.
    ///
    /// # Errors
    ///
    /// [`Error::NoSegmentNumber`] if the numbers of generations are used up; [`Error::TooMany`] if
    /// there would be more files than a store may have.
    pub(crate) fn apply(
        self,
        before: &Manifest,
        next_segment: u64,
        path: &Path,
    ) -> Result<Manifest> {
        let mut manifest = before.clone();
        manifest.generation = next_generation(Some(before), path)?;
        manifest.next_segment = next_segment;
        let is_kept = |number: u64| !self.removed.contains(&number);
        let numbers = before.segments.iter().map(|segment| segment.number).enumerate();
        let windows = numbers.map(|(place, number)| (number, before.window(place)));
        let mut windows: Vec<_> = windows.filter(|(number, _)| is_kept(*number)).collect();
        manifest.segments.retain(|segment| is_kept(segment.number));
        manifest.deletions.retain(|entry| is_kept(entry.segment));
        for Added { entry, deletions, window } in self.added {
            windows.push((entry.number, window));
            manifest.segments.push(entry);
            manifest.deletions.extend(manifest.log.map(|_| deletions));
        }
        windows.sort_unstable();
        manifest.segments.sort_unstable_by_key(|segment| segment.number);
        manifest.deletions.sort_unstable_by_key(|entry| entry.segment);
        if let Some(section) = &mut manifest.windows {
            section.windows = windows.into_iter().map(|(_, window)| window).collect();
        }
        if let Some((log, (first_log, sequence))) = manifest.log.as_mut().zip(self.log) {
            (log.first_log, log.sequence) = (first_log, sequence);
        }
        let grows = manifest.segments.len() > before.segments.len();
        if grows && named(&manifest).count() > MOST_FILES {
            let (path, most) = (path.to_path_buf(), MOST_FILES as u64);
            return Err(Error::TooMany { path, what: "files", most });
        }
        Ok(manifest)
    }
}

/// The manifest of a store that is nothing but one segment, and what a manifest of none says
/// `of_pack`, in place of what stands at `path`: the same store, if there is one.
///
/// # Errors
///
/// [`Error::NoSegmentNumber`] if the numbers of segments or generations are used up.
pub(super) fn replacement(
    standing: &Standing,
    by: SegmentEntry,
    of_pack: Manifest,
    path: &Path,
) -> Result<Manifest> {
    let before = standing.manifest.as_ref();
    let store_id = before.map_or_else(|| first_store_id(&by), |manifest| manifest.store_id);
    Ok(Manifest {
        // The store may get logs again. They are numbered from here on, and no number comes twice.
        next_segment: behind(by.number, path)?.max(standing.next_segment).max(standing.next_log),
        generation: next_generation(before, path)?,
        segments: vec![by],
        store_id,
        ..of_pack
    })
}

/// The number behind that of a segment.
pub(super) fn behind(number: u64, path: &Path) -> Result<u64> {
    number.checked_add(1).ok_or_else(|| Error::NoSegmentNumber { path: path.to_path_buf() })
}

fn next_generation(before: Option<&Manifest>, path: &Path) -> Result<u64> {
    behind(before.map_or(0, |manifest| manifest.generation), path)
}

/// Those files of what stood there that a manifest does not need.
pub(crate) fn dropped(in_use: Vec<String>, by: &Manifest) -> Vec<String> {
    let needed: HashSet<String> = named(by).collect();
    let is_needed = |name: &String| {
        name == format::MANIFEST_NAME || needed.contains(name) || is_open_log(name, by)
    };
    in_use.into_iter().filter(|name| !is_needed(name)).collect()
}

/// The id of a new store. It comes from what is written, so that packing again gives the same
/// files.
fn first_store_id(segment: &SegmentEntry) -> u128 {
    let tables = segment.tables.iter().map(|table| (table.header_crc, table.footer_crc));
    let ids = segment.ids.iter().map(|ids| (ids.header_crc, ids.directory_crc));
    let crcs = tables.chain(ids).map(|(one, other)| u64::from(one) << 32 | u64::from(other));
    crcs.fold(segment.set_sum, |id, crcs| id.wrapping_add(set_sum::term(crcs)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{IndexKind, LogSection, RecordShape, WindowsSection};

    fn segment(number: u64) -> SegmentEntry {
        let (index, tables) = (IndexKind::Tables, Vec::new());
        SegmentEntry { number, count: number, set_sum: 7, index, tables, ids: None, names: None }
    }

    fn added(number: u64) -> Added {
        let deletions = DeletionsEntry {
            segment: number,
            sequence: 30,
            file_bytes: 0,
            header_crc: 0,
            footer_crc: 0,
        };
        Added { entry: segment(number), deletions, window: 100 + number }
    }

    fn living() -> Manifest {
        let log = LogSection {
            first_log: 4,
            sequence: 20,
            shape: RecordShape { ids: true, names: None, windows: true },
            written_bytes: 1,
            inserted_bytes: 2,
            next_id: 9,
        };
        Manifest {
            log: Some(log),
            windows: Some(WindowsSection { seconds: 60, windows: Vec::new() }),
            layout: Some("design=single".to_string()),
            recipe: Some("text/1 simhash".to_string()),
            ..Manifest::empty(64, 4, 77)
        }
    }

    #[test]
    fn an_edit_keeps_what_it_does_not_name_and_counts_on() {
        let path = Path::new("store");
        let (removed, log) = (Vec::new(), Some((5, 30)));
        let edit = Edit { removed, added: [5, 2, 3].map(added).into(), log };
        let before = edit.apply(&living(), 6, path).unwrap();
        let edit = Edit { removed: vec![2, 5], added: vec![added(6)], log: None };
        let after = edit.apply(&before, 7, path).unwrap();
        assert_eq!(after.segments, [segment(3), segment(6)]);
        assert_eq!(after.deletions, [added(3).deletions, added(6).deletions]);
        assert_eq!(after.windows.as_ref().unwrap().windows, [103, 106]);
        let log = after.log.unwrap();
        assert_eq!((log.first_log, log.sequence, log.written_bytes), (5, 30, 1));
        assert_eq!((after.next_segment, after.generation), (7, 3));
        assert_eq!((after.store_id, after.radius, &after.layout), (77, 4, &before.layout));
        assert_eq!(after.recipe.as_deref(), Some("text/1 simhash"));
        let packed = Manifest::empty(64, 3, 1);
        let edit = Edit { added: vec![added(1)], ..Edit::default() };
        let after = edit.apply(&packed, 2, path).unwrap();
        assert_eq!((after.deletions, after.windows, after.segments.len()), (Vec::new(), None, 1));
        let last = Manifest { generation: u64::MAX, ..packed };
        let error = Edit::default().apply(&last, 2, path).unwrap_err();
        assert!(matches!(error, Error::NoSegmentNumber { .. }), "{error}");
    }

    #[test]
    fn a_replacement_is_the_same_store_and_nothing_else_of_it_stays() {
        let path = Path::new("store");
        let pack = |radius| Manifest::empty(64, radius, 0);
        let first = replacement(&Standing::empty(), segment(1), pack(3), path).unwrap();
        assert_eq!((first.store_id, first.generation, first.next_segment), (7, 1, 2));
        let edit = Edit { added: [2, 5].map(added).into(), ..Edit::default() };
        let before = edit.apply(&living(), 9, path).unwrap();
        let manifest = Some(before);
        let standing = Standing { manifest, next_segment: 9, next_log: 12, ..Standing::empty() };
        let after = replacement(&standing, segment(8), pack(5), path).unwrap();
        let expected = Manifest {
            next_segment: 12,
            generation: 3,
            segments: vec![segment(8)],
            ..Manifest::empty(64, 5, 77)
        };
        assert_eq!(after, expected);
    }
}
