//! What a commit changes in a manifest.

use std::collections::HashSet;
use std::path::Path;

use super::standing::{Standing, is_open_log, named};
use crate::error::{Error, Result};
use crate::format::{self, IdMapTag, Manifest, SegmentEntry};
use crate::set_sum;

/// A change of the segments of a store.
pub(super) struct Edit {
    /// The numbers of those that go.
    pub(super) removed: Vec<u64>,
    /// Those that come.
    pub(super) added: Vec<SegmentEntry>,
    /// What the store is to be planned for.
    pub(super) radius: u16,
    /// The map of the ids of all segments then.
    pub(super) id_map: Option<IdMapTag>,
}

impl Edit {
    /// One segment in place of all that stand there.
    pub(super) fn replace_all(standing: &Standing, by: SegmentEntry) -> Self {
        let before = standing.manifest.iter().flat_map(|manifest| &manifest.segments);
        let removed = before.map(|segment| segment.number).collect();
        Self { removed, added: vec![by], radius: 0, id_map: None }
    }

    /// The manifest behind the change of what stands at `path`.
    ///
    /// # Errors
    ///
    /// [`Error::NoSegmentNumber`] if the numbers of segments or generations are used up.
    pub(super) fn apply(self, standing: &Standing, path: &Path) -> Result<Manifest> {
        let used_up = || Error::NoSegmentNumber { path: path.to_path_buf() };
        let before = standing.manifest.as_ref();
        let generation = before.map_or(0, |manifest| manifest.generation).checked_add(1);
        let generation = generation.ok_or_else(used_up)?;
        let greatest = self.added.iter().map(|segment| segment.number).max();
        let behind = greatest.map_or(Some(0), |number| number.checked_add(1));
        let next_segment = behind.ok_or_else(used_up)?.max(standing.next_segment);
        let kept = before.into_iter().flat_map(|manifest| &manifest.segments);
        let kept = kept.filter(|segment| !self.removed.contains(&segment.number)).cloned();
        let mut segments: Vec<SegmentEntry> = kept.chain(self.added).collect();
        segments.sort_unstable_by_key(|segment| segment.number);
        let store_id = match before {
            Some(manifest) => manifest.store_id,
            None => first_store_id(&segments),
        };
        Ok(Manifest {
            radius: self.radius,
            next_segment,
            store_id,
            generation,
            segments,
            id_map: self.id_map,
            log: None,
            deletions: Vec::new(),
            windows: None,
            layout: None,
            unknown: Vec::new(),
        })
    }
}

/// Those files of what stood there that a manifest does not need.
pub(crate) fn dropped(in_use: Vec<String>, by: &Manifest) -> Vec<String> {
    let needed: HashSet<String> = named(by).collect();
    let is_needed = |name: &String| {
        name == format::MANIFEST_NAME || needed.contains(name) || is_open_log(name, by)
    };
    in_use.into_iter().filter(|name| !is_needed(name)).collect()
}

/// The id of a new store. It comes from what is written, so that packing again gives the same files.
fn first_store_id(segments: &[SegmentEntry]) -> u128 {
    segments.iter().fold(0, |id: u128, segment| {
        let tables = segment.tables.iter().map(|table| (table.header_crc, table.footer_crc));
        let ids = segment.ids.iter().map(|ids| (ids.header_crc, ids.directory_crc));
        let crcs = tables.chain(ids).map(|(one, other)| u64::from(one) << 32 | u64::from(other));
        let id = id.wrapping_add(segment.set_sum);
        crcs.fold(id, |id, crcs| id.wrapping_add(set_sum::term(crcs)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(number: u64) -> SegmentEntry {
        SegmentEntry { number, count: number, set_sum: 7, tables: Vec::new(), ids: None }
    }

    fn standing(numbers: &[u64]) -> Standing {
        let segments: Vec<_> = numbers.iter().map(|&number| segment(number)).collect();
        let edit = Edit { removed: Vec::new(), added: segments, radius: 3, id_map: None };
        let manifest = edit.apply(&Standing::empty(), Path::new("store")).unwrap();
        let next_segment = manifest.next_segment;
        Standing { next_segment, manifest: Some(manifest), ..Standing::empty() }
    }

    #[test]
    fn an_edit_keeps_what_it_does_not_name_and_counts_on() {
        let before = standing(&[2, 5]);
        let edit = Edit { removed: vec![2], added: vec![segment(6)], radius: 4, id_map: None };
        let after = edit.apply(&before, Path::new("store")).unwrap();
        let numbers: Vec<u64> = after.segments.iter().map(|segment| segment.number).collect();
        assert_eq!((numbers, after.next_segment, after.generation), (vec![5, 6], 7, 2));
        assert_eq!(after.store_id, before.manifest.as_ref().unwrap().store_id);
        let all = Edit::replace_all(&before, segment(9));
        assert_eq!(all.removed, [2, 5]);
        assert_eq!(all.apply(&before, Path::new("store")).unwrap().segments, [segment(9)]);
    }
}
