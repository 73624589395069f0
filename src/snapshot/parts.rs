//! What a snapshot is made of: segments, what is hidden of them, and what was written last.

use std::sync::Arc;

use super::hiding::Hiding;
use crate::access::ReadFiles;
use crate::error::{Corruption, Error, Result};
use crate::fingerprint::Fingerprint;
use crate::format::{
    Defect, Deletion, DeletionsEntry, MANIFEST_NAME, Manifest, decode_deletions, deletions_name,
};
use crate::id::IdKind;
use crate::names::Naming;
use crate::segment::{self, Segment};
use crate::tail::{Hidden, TailRecord, TailView};

/// The deletions that belong to a segment, shared by all who read them.
pub(crate) type DeletionList<F> = Arc<Vec<Deletion<F>>>;

/// The segments of one manifest, open.
pub(crate) struct Base<F: Fingerprint = u64> {
    /// The manifest, as it stands in its file.
    pub(crate) bytes: Vec<u8>,
    pub(crate) manifest: Manifest,
    pub(crate) segments: Vec<Arc<Segment<F>>>,
    pub(crate) hiding: Hiding<F>,
    /// The deletions of each entry of DELETIONS.
    deletions: Vec<DeletionList<F>>,
}

impl<F: Fingerprint> Base<F> {
    /// Opens what a manifest names. What is open already is taken from the `earlier` one, if it has
    /// it. In up to `memory` bytes searches build hot indexes of the smallest segments, and filters
    /// of others.
    pub(crate) fn open(
        files: &dyn ReadFiles,
        bytes: &[u8],
        earlier: Option<&Self>,
        memory: u64,
    ) -> Result<Self> {
        let manifest = Manifest::decode(bytes);
        let manifest = manifest.map_err(|defect| defect.in_file(&files.path(MANIFEST_NAME)))?;
        let (found, expected) = (u32::from(manifest.bits), F::BITS);
        if found != expected {
            return Err(Error::Width { path: files.path(""), found, expected });
        }
        let earlier = earlier.filter(|base| base.manifest.store_id == manifest.store_id);
        let open_segment = |entry| {
            let known = earlier.into_iter().flat_map(|base| &base.segments);
            match known.into_iter().find(|segment| segment.entry() == entry) {
                Some(segment) => Ok(Arc::clone(segment)),
                None => Segment::open(files, entry).map(Arc::new),
            }
        };
        let open_deletions = |entry: &DeletionsEntry| {
            let known = earlier.into_iter().flat_map(|base| base.lists());
            match known.into_iter().find(|(known, _)| *known == entry) {
                Some((_, list)) => Ok(Arc::clone(list)),
                None => read_deletions(files, entry).map(Arc::new),
            }
        };
        // In the order in which a reader meets them.
        let (mut segments, mut deletions) = (Vec::new(), Vec::new());
        let mut entries = manifest.deletions.iter().peekable();
        for segment in &manifest.segments {
            segments.push(open_segment(segment)?);
            if let Some(entry) = entries.next_if(|entry| entry.segment == segment.number) {
                deletions.push(open_deletions(entry)?);
            }
        }
        segment::share_memory(&segments, memory);
        let hiding = hiding(&manifest, &segments, &deletions);
        Ok(Self { bytes: bytes.to_vec(), manifest, segments, hiding, deletions })
    }

    /// The deletions files that can be read, or nothing for the others, and what is wrong with
    /// these.
    pub(crate) fn salvage_deletions(
        files: &dyn ReadFiles,
        manifest: &Manifest,
    ) -> (Vec<DeletionList<F>>, Vec<Error>) {
        let mut problems = Vec::new();
        let lists = manifest.deletions.iter().map(|entry| {
            let list = read_deletions(files, entry);
            Arc::new(list.unwrap_or_else(|error| {
                problems.push(error);
                Vec::new()
            }))
        });
        (lists.collect(), problems)
    }

    /// What a manifest says, with these deletions, for who reads the segments in another way.
    pub(crate) fn without_segments(
        bytes: Vec<u8>,
        manifest: Manifest,
        deletions: Vec<DeletionList<F>>,
        namings: &[Naming],
    ) -> Self {
        let naming = |entry: &DeletionsEntry| {
            let place = manifest.segments.iter().position(|at| at.number == entry.segment);
            place.and_then(|place| namings.get(place)).cloned().unwrap_or_default()
        };
        let entries = manifest.deletions.iter().zip(&deletions);
        let lists = entries.map(|(entry, list)| (Arc::clone(list), naming(entry))).collect();
        let hiding = Hiding::new(sequences(&manifest), lists);
        Self { bytes, manifest, segments: Vec::new(), hiding, deletions }
    }

    /// The entries of DELETIONS, each with its list.
    pub(crate) fn lists(&self) -> impl Iterator<Item = (&DeletionsEntry, &DeletionList<F>)> {
        self.manifest.deletions.iter().zip(&self.deletions)
    }

    /// What the ids of a segment stand for.
    pub(crate) fn naming(&self, segment: usize) -> Naming {
        self.segments.get(segment).map_or(Naming::Numbers, |segment| segment.naming())
    }

    /// What the ids of the store are, if it has some.
    pub(crate) fn id_kind(&self) -> IdKind {
        self.manifest.names.unwrap_or(IdKind::Number)
    }

    /// Greater than all ids that segments have held, as far as is known; 2^64 - 1 if none is left,
    /// and 0 where ids are names. Reads all ids of a store that has no log.
    pub(crate) fn next_id(&self) -> u64 {
        if let Some(log) = self.manifest.log {
            return log.next_id;
        }
        if self.manifest.names.is_some() {
            return 0;
        }
        let columns = self.segments.iter().filter_map(|segment| segment.id_column());
        columns.map(|column| column.next_id()).max().unwrap_or(0)
    }

    /// The same, of those segments that `keep` says.
    pub(crate) fn restricted(&self, keep: impl Fn(usize) -> bool) -> Self {
        let mut manifest = self.manifest.clone();
        let mut places = 0..;
        manifest.segments.retain(|_| places.next().is_some_and(&keep));
        if let Some(windows) = &mut manifest.windows {
            let mut places = 0..;
            windows.windows.retain(|_| places.next().is_some_and(&keep));
        }
        let kept = self.segments.iter().enumerate().filter(|(place, _)| keep(*place));
        let segments = kept.map(|(_, segment)| Arc::clone(segment)).collect();
        let all = sequences(&self.manifest).into_iter().enumerate();
        let sequences = all.filter(|(place, _)| keep(*place)).map(|(_, sequence)| sequence);
        let lists = lists(&self.manifest, &self.segments, &self.deletions);
        let hiding = Hiding::new(sequences.collect(), lists);
        let (bytes, deletions) = (self.bytes.clone(), self.deletions.clone());
        Self { bytes, manifest, segments, hiding, deletions }
    }

    /// The same with one more segment, to which all deletions were applied but those of `hiding`.
    pub(crate) fn extended(&self, segment: Segment<F>, hiding: Hiding<F>) -> Self {
        let mut segments = self.segments.clone();
        segments.push(Arc::new(segment));
        let (bytes, manifest) = (self.bytes.clone(), self.manifest.clone());
        Self { bytes, manifest, segments, hiding, deletions: self.deletions.clone() }
    }
}

/// What some deletions hide in segments.
fn hiding<F: Fingerprint>(
    manifest: &Manifest,
    segments: &[Arc<Segment<F>>],
    deletions: &[DeletionList<F>],
) -> Hiding<F> {
    Hiding::new(sequences(manifest), lists(manifest, segments, deletions))
}

/// The lists of deletions of segments, with what their ids stand for.
fn lists<F: Fingerprint>(
    manifest: &Manifest,
    segments: &[Arc<Segment<F>>],
    deletions: &[DeletionList<F>],
) -> Vec<(DeletionList<F>, Naming)> {
    let naming = |entry: &DeletionsEntry| {
        let segment = segments.iter().find(|segment| segment.number() == entry.segment);
        segment.map_or(Naming::Numbers, |segment| segment.naming())
    };
    let entries = manifest.deletions.iter().zip(deletions);
    entries.map(|(entry, list)| (Arc::clone(list), naming(entry))).collect()
}

/// For each segment the sequence up to which deletions were applied.
pub(crate) fn sequences(manifest: &Manifest) -> Vec<u64> {
    let of_segment = |number| {
        let entry = manifest.deletions.iter().find(|entry| entry.segment == number);
        entry.map_or(0, |entry| entry.sequence)
    };
    manifest.segments.iter().map(|segment| of_segment(segment.number)).collect()
}

/// Reads the deletions file of a segment, if it has one.
fn read_deletions<F: Fingerprint>(
    files: &dyn ReadFiles,
    entry: &DeletionsEntry,
) -> Result<Vec<Deletion<F>>> {
    if entry.file_bytes == 0 {
        return Ok(Vec::new());
    }
    let name = deletions_name(entry.segment);
    let path = files.path(&name);
    let bytes = files.bytes(&name).map_err(|source| match source.kind() {
        std::io::ErrorKind::NotFound => {
            Defect::corrupt(0, Corruption::DeletionsMissing).in_file(&path)
        }
        _ => Error::io(&path, "open the deletions")(source),
    })?;
    decode_deletions(&bytes, entry).map_err(|defect| defect.in_file(&path))
}

/// What a snapshot sees.
pub(crate) struct Parts<F: Fingerprint = u64> {
    pub(crate) base: Arc<Base<F>>,
    /// What was written since, the older first.
    pub(crate) tails: Vec<TailView<F>>,
}

impl<F: Fingerprint> Parts<F> {
    /// Whether something may be hidden.
    #[inline]
    pub(crate) fn hides(&self) -> bool {
        !self.base.hiding.is_empty() || self.tails.iter().any(TailView::has_deletions)
    }

    /// Whether something of `fingerprint` may be hidden somewhere.
    pub(crate) fn touches(&self, fingerprint: F) -> bool {
        self.base.hiding.touches(fingerprint)
            || self.tails.iter().any(|tail| tail.touches(fingerprint))
    }

    /// What is hidden of `fingerprint` in a segment.
    pub(crate) fn hidden(&self, segment: usize, fingerprint: F) -> Result<Hidden> {
        if !self.touches(fingerprint) {
            return Ok(Hidden::Nothing);
        }
        self.hidden_by(segment, fingerprint, &self.base.naming(segment))
    }

    /// As [`Self::hidden`], in a segment whose ids stand for this.
    pub(crate) fn hidden_by(
        &self,
        segment: usize,
        fingerprint: F,
        naming: &Naming,
    ) -> Result<Hidden> {
        let mut hidden = self.base.hiding.of(segment, fingerprint, naming)?;
        for tail in &self.tails {
            if tail.touches(fingerprint) {
                hidden = hidden.and(tail.hides(fingerprint, naming)?);
            }
        }
        Ok(hidden)
    }

    /// Calls `found` with the records of all tails that hold and are within `k` of `fingerprint`,
    /// some perhaps several times.
    pub(crate) fn search_tails(
        &self,
        fingerprint: F,
        k: u32,
        mut found: impl FnMut(TailRecord<F>),
    ) {
        for place in 0..self.tails.len() {
            self.search_tail(place, fingerprint, k, &mut found);
        }
    }

    /// As [`Self::search_tails`], of the tail at one place.
    pub(crate) fn search_tail(
        &self,
        place: usize,
        fingerprint: F,
        k: u32,
        mut found: impl FnMut(TailRecord<F>),
    ) {
        let (tail, later) = (&self.tails[place], &self.tails[place + 1..]);
        tail.search(fingerprint, k, &mut |record| {
            if !is_deleted(later, tail, &record) {
                found(record);
            }
        });
    }

    /// The records of each tail that hold, and what their ids stand for.
    pub(crate) fn tail_records(&self) -> Vec<(Vec<TailRecord<F>>, Naming)> {
        let of_tail = |(place, tail): (usize, &TailView<F>)| {
            let later = &self.tails[place + 1..];
            let held = tail.records().filter(|record| !is_deleted(later, tail, record));
            (held.collect(), tail.naming())
        };
        self.tails.iter().enumerate().map(of_tail).collect()
    }
}

/// Whether one of some later tails deletes a record.
fn is_deleted<F: Fingerprint>(
    later: &[TailView<F>],
    tail: &TailView<F>,
    record: &TailRecord<F>,
) -> bool {
    later.iter().any(|at| at.deletes(record, tail))
}
