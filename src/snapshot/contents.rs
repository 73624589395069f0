//! The segments of one moment.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};

use super::parts::{Base, Parts};
use super::settle::settle;
use super::union;
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::format::SkippedSection;
use crate::id::{AsId, FromId, IdKind};
use crate::ids::{IdRuns, Ids, check_kind};
use crate::segment::Segment;
use crate::tail::TailView;

/// The fingerprints of a store at one moment, open for reading.
///
/// Comes from [`Store::snapshot`](crate::Store::snapshot). It is cheap to clone, `Send` and `Sync`,
/// and owns what it needs: so does each query that is made from it, which may be kept, sent to
/// other threads, and outlive the [`Store`](crate::Store). It holds the files of its moment open:
/// their space is free again when the last holder is gone.
///
/// # Examples
///
/// ```
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("store");
/// fpstore::Packer::new().pack(&path, [0b1011, 0b0011, u64::MAX])?;
///
/// let snapshot = fpstore::Store::open(&path)?.snapshot();
/// let found = std::thread::spawn(move || snapshot.search(0b1010, 1));
/// assert_eq!(found.join().unwrap()?.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Snapshot<F: Fingerprint = u64> {
    parts: Arc<Parts<F>>,
    /// The same without tails, once that was asked for.
    settled: Arc<OnceLock<Snapshot<F>>>,
}

impl<F: Fingerprint> Clone for Snapshot<F> {
    fn clone(&self) -> Self {
        Self { parts: Arc::clone(&self.parts), settled: Arc::clone(&self.settled) }
    }
}

impl<F: Fingerprint> Snapshot<F> {
    /// What these parts are.
    pub(crate) fn new(base: Arc<Base<F>>, tails: Vec<TailView<F>>) -> Self {
        Self { parts: Arc::new(Parts { base, tails }), settled: Arc::default() }
    }

    /// What it is made of.
    pub(crate) fn parts(&self) -> &Parts<F> {
        &self.parts
    }

    /// The same fingerprints in segments alone, for whoever reads these: what was written last
    /// becomes one in memory, the first time.
    pub(crate) fn settled(&self) -> Result<Self> {
        if self.parts.tails.is_empty() {
            return Ok(self.clone());
        }
        if let Some(settled) = self.settled.get() {
            return Ok(settled.clone());
        }
        let parts = settle(&self.parts)?;
        let settled = Snapshot { parts: Arc::new(parts), settled: Arc::default() };
        Ok(self.settled.get_or_init(|| settled).clone())
    }

    /// Whether it is about the same manifest as another one, and as much of the logs.
    pub(crate) fn sees_the_same_as(&self, other: &Self) -> bool {
        let end = |snapshot: &Self| snapshot.parts.tails.last().map(TailView::next_sequence);
        Arc::ptr_eq(&self.parts.base, &other.parts.base) && end(self) == end(other)
    }

    /// The segments.
    pub(crate) fn segments(&self) -> &[Arc<Segment<F>>] {
        &self.parts.base.segments
    }

    /// The manifest, as it stands in its file.
    pub(crate) fn manifest(&self) -> &[u8] {
        &self.parts.base.bytes
    }

    /// The Hamming radius that the store was planned for. Any other may be asked as well.
    pub fn radius(&self) -> u32 {
        u32::from(self.parts.base.manifest.radius)
    }

    /// Which store this is: the same in all its generations, and in copies of its directory. A
    /// first pack of the same fingerprints with the same options gives the same id.
    pub fn id(&self) -> u128 {
        self.parts.base.manifest.store_id
    }

    /// How often the store was written: 1 after the first pack, one more after each that replaced
    /// it. Of two copies with the same [`Self::id`], that with the lower generation is out of date.
    pub fn generation(&self) -> u64 {
        self.parts.base.manifest.generation
    }

    /// How the fingerprints were made, in the words of who has [packed](crate::Packer::recipe) or
    /// [created](crate::StoreOptions::recipe) the store; `None` where that was not said.
    pub fn recipe(&self) -> Option<&str> {
        self.parts.base.manifest.recipe.as_deref()
    }

    /// Parts of the store that this version of fpstore does not know, and does not need for any
    /// answer that it gives.
    pub fn skipped_sections(&self) -> Vec<SkippedSection> {
        let unknown = self.parts.base.manifest.unknown.iter();
        unknown.map(|section| section.skipped()).collect()
    }

    /// The number of fingerprints in all segments, and of insertions that no segment holds yet. A
    /// store that [`Packer`](crate::Packer) wrote has one segment, so this is the size of the set;
    /// a fingerprint that stands in several segments counts in each, and one that was deleted
    /// counts until segments are merged: never less than [`Self::count`].
    pub fn len(&self) -> u64 {
        let tails = self.parts.tails.iter().map(TailView::len).fold(0, u64::saturating_add);
        self.segments().iter().fold(tails, |sum, segment| sum.saturating_add(segment.count()))
    }

    /// The number of distinct fingerprints, exactly. Takes no time for one segment from which
    /// nothing is hidden; else it reads all fingerprints, some nanoseconds each.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`] if a block is damaged.
    pub fn count(&self) -> Result<u64> {
        match self.segments() {
            _ if !self.parts.tails.is_empty() || self.parts.hides() => {}
            [] => return Ok(0),
            [only] => return Ok(only.count()),
            _ => {}
        }
        self.iter().try_fold(0, |count, fingerprint| fingerprint.map(|_| count + 1))
    }

    /// Whether it holds no fingerprint.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether ids are stored with the fingerprints, in some segment.
    pub fn has_ids(&self) -> bool {
        let log = self.parts.base.manifest.log;
        log.is_some_and(|log| log.shape.ids)
            || self.segments().iter().any(|segment| segment.id_column().is_some())
    }

    /// An id that no record of the store has had since it is written to, also none that was deleted
    /// or expired, and greater than all that there were: whoever numbers records goes on from here.
    /// `None` where the store has no ids, or no greater one is left. Of a store that was only
    /// packed, or that a repair wrote, it is behind the ids that it holds, all of which are read.
    ///
    /// # Examples
    ///
    /// ```
    /// let directory = tempfile::tempdir()?;
    /// let writer = fpstore::Store::create(directory.path().join("pages"))?;
    /// writer.insert_batch(&[(0b1011, 0), (0b0011, 1)])?;
    /// writer.delete(0b0011, 1)?;
    /// assert_eq!(writer.snapshot().next_id(), Some(2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn next_id(&self) -> Option<u64> {
        let of_tails = self.parts.tails.iter().map(TailView::next_id);
        let next = of_tails.fold(self.parts.base.next_id(), u64::max);
        (self.id_kind() == Some(IdKind::Number) && next < u64::MAX).then_some(next)
    }

    /// What was inserted at these times: of a store that has windows of time all those windows that
    /// lie in the range or partly so, since of a record no more is known than its window. Reads
    /// only segments of these windows.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOption`] if the store has no windows.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::{Duration, SystemTime};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let day = Duration::from_secs(24 * 60 * 60);
    /// let options = fpstore::StoreOptions::new().window(Some(day));
    /// let writer = options.create(directory.path().join("news"))?;
    /// let now = SystemTime::now();
    /// writer.insert_at(0b1011, 1, now - 30 * day)?;
    /// writer.insert_at(0b1111, 2, now)?;
    ///
    /// let this_week = writer.snapshot().between(now - 7 * day..now + day)?;
    /// assert_eq!(this_week.search(0b1011, 3)?.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn between(&self, times: Range<SystemTime>) -> Result<Self> {
        let Some(windows) = &self.parts.base.manifest.windows else {
            let (times, expected) = (format!("{times:?}"), "the store has no windows of time");
            return Err(Error::invalid_option("time", times, expected));
        };
        let since = |time: SystemTime| time.duration_since(UNIX_EPOCH).unwrap_or_default();
        let first = since(times.start).as_secs() / windows.seconds;
        // The end is no part of the range.
        let end = since(times.end).as_nanos().div_ceil(u128::from(windows.seconds) * 1_000_000_000);
        let wanted = first..u64::try_from(end).unwrap_or(u64::MAX);
        let is_wanted =
            |place: usize| windows.windows.get(place).is_some_and(|at| wanted.contains(at));
        let base = self.parts.base.restricted(is_wanted);
        let tails = self.parts.tails.iter().map(|tail| tail.within(wanted.clone())).collect();
        Ok(Self::new(Arc::new(base), tails))
    }

    /// The number of windows of time with something in them: of segments, and of what stands in no
    /// segment. 0 if the store has no windows.
    pub fn window_count(&self) -> u64 {
        let Some(section) = &self.parts.base.manifest.windows else { return 0 };
        let of_tails = self.parts.tails.iter().flat_map(TailView::records).map(|at| at.window);
        let windows: BTreeSet<u64> = section.windows.iter().copied().chain(of_tails).collect();
        windows.len() as u64
    }

    /// Whether `fingerprint` is stored. Reads at most one block per segment.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`] if that block is damaged.
    pub fn contains(&self, fingerprint: F) -> Result<bool> {
        union::holds(&self.parts, fingerprint)
    }

    /// Whether `fingerprint` is stored with this id. Takes O(log n) time, however many ids it has;
    /// `false` where it has none.
    ///
    /// # Errors
    ///
    /// As [`Self::ids`].
    pub fn contains_id(&self, fingerprint: F, id: impl AsId) -> Result<bool> {
        let (Some(kind), Some(id)) = (self.id_kind(), id.as_id()) else { return Ok(false) };
        check_kind(kind, id)?;
        union::holds_id(&self.parts, fingerprint, id)
    }

    /// What the ids of the store are; `None` if it has none.
    pub fn id_kind(&self) -> Option<IdKind> {
        self.has_ids().then(|| self.parts.base.id_kind())
    }

    /// The ids of `fingerprint`, ascending and each once; none if it is not stored, or stored
    /// without ids. They are the union over all segments.
    ///
    /// Decodes at most one block per segment and takes O(log n) time, however many ids there are;
    /// the ids themselves are read as the iterator goes. A search does not read them, so who
    /// searches asks for the ids of what was found:
    ///
    /// ```
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("store");
    /// fpstore::Packer::new().pack_with_ids(&path, [(0b1011, 7), (0b1011, 9), (u64::MAX, 8)])?;
    ///
    /// let store = fpstore::Store::open(&path)?;
    /// let near = store.search(0b1010, 2)?;
    /// let ids = store.ids::<u64>(near[0].fingerprint)?;
    /// assert_eq!(ids.len(), 2);
    /// assert_eq!(ids.collect::<Result<Vec<u64>, _>>()?, [7, 9]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`] if the block, or what tells the number of ids, is
    /// damaged. The iterator gives that error where the ids themselves are.
    pub fn ids<I: FromId>(&self, fingerprint: F) -> Result<Ids<I>> {
        if let Some(kind) = self.id_kind() {
            return Ids::new(union::ids_of(&self.parts, fingerprint)?, kind);
        }
        Ok(Ids::unchecked(IdRuns::default(), IdKind::Number))
    }
}

impl<F: Fingerprint> fmt::Debug for Snapshot<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot")
            .field("store_id", &format_args!("{:032x}", self.id()))
            .field("generation", &self.generation())
            .field("fingerprints", &self.len())
            .finish_non_exhaustive()
    }
}
