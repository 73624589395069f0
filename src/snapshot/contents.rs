//! The segments of one moment.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use super::union;
use crate::error::Result;
use crate::format::{IdMapTag, MANIFEST_NAME, Manifest, SkippedSection};
use crate::ids::Ids;
use crate::segment::Segment;
use crate::table::Access;

/// The fingerprints of a store at one moment, open for reading.
///
/// Comes from [`Store::snapshot`](crate::Store::snapshot). It is cheap to clone, `Send` and `Sync`, and owns
/// what it needs: so does each query that is made from it, which may be kept, sent to other threads,
/// and outlive the [`Store`](crate::Store). It holds the files of its moment open: their space is free again when
/// the last holder is gone.
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
#[derive(Clone)]
pub struct Snapshot {
    contents: Arc<Contents>,
}

struct Contents {
    radius: u32,
    manifest: Vec<u8>,
    segments: Vec<Arc<Segment>>,
    id_map: Option<IdMapTag>,
    store_id: u128,
    generation: u64,
    skipped: Vec<SkippedSection>,
}

impl Snapshot {
    /// Opens what a manifest names in the directory `path`. Segments that are open already are taken
    /// from the `earlier` snapshot, if it has them.
    pub(crate) fn open(
        path: &Path,
        manifest: &[u8],
        access: Access,
        earlier: Option<&Snapshot>,
    ) -> Result<Self> {
        let decoded = Manifest::decode(manifest);
        let decoded = decoded.map_err(|defect| defect.in_file(&path.join(MANIFEST_NAME)))?;
        let earlier = earlier.filter(|earlier| earlier.id() == decoded.store_id);
        let open = |entry| {
            let known = earlier.into_iter().flat_map(Snapshot::segments);
            match known.into_iter().find(|segment| segment.entry() == entry) {
                Some(segment) => Ok(Arc::clone(segment)),
                None => Segment::open(path, entry, access).map(Arc::new),
            }
        };
        let segments = decoded.segments.iter().map(open).collect::<Result<_>>()?;
        let contents = Contents {
            radius: u32::from(decoded.radius),
            manifest: manifest.to_vec(),
            segments,
            id_map: decoded.id_map,
            store_id: decoded.store_id,
            generation: decoded.generation,
            skipped: decoded.skipped,
        };
        Ok(Self { contents: Arc::new(contents) })
    }

    /// Whether this is the other one, or a clone of it.
    pub(crate) fn is_same(&self, other: &Snapshot) -> bool {
        Arc::ptr_eq(&self.contents, &other.contents)
    }

    /// The segments.
    pub(crate) fn segments(&self) -> &[Arc<Segment>] {
        &self.contents.segments
    }

    /// The manifest, as it stands in its file.
    pub(crate) fn manifest(&self) -> &[u8] {
        &self.contents.manifest
    }

    /// The Hamming radius that the store was planned for. Any other may be asked as well.
    pub fn radius(&self) -> u32 {
        self.contents.radius
    }

    /// Which store this is: the same in all its generations, and in copies of its directory. A first
    /// pack of the same fingerprints with the same options gives the same id.
    pub fn id(&self) -> u128 {
        self.contents.store_id
    }

    /// How often the store was written: 1 after the first pack, one more after each that replaced it.
    /// Of two copies with the same [`Self::id`], that with the lower generation is out of date.
    pub fn generation(&self) -> u64 {
        self.contents.generation
    }

    /// Parts of the store that this version of fpstore does not know, and does not need for any answer
    /// that it gives.
    pub fn skipped_sections(&self) -> &[SkippedSection] {
        &self.contents.skipped
    }

    /// The number of fingerprints in all segments. A store that [`Packer`](crate::Packer) wrote has one segment,
    /// so this is the size of the set; a fingerprint that stands in several segments counts in
    /// each.
    pub fn len(&self) -> u64 {
        self.segments().iter().fold(0, |sum, segment| sum.saturating_add(segment.count()))
    }

    /// Whether it holds no fingerprint.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether ids are stored with the fingerprints, in some segment.
    pub fn has_ids(&self) -> bool {
        self.segments().iter().any(|segment| segment.id_column().is_some())
    }

    /// Which id map belongs to the store; `None` where ids are just numbers, or there are none.
    ///
    /// The map is a file of its own, which the store neither reads nor checks.
    pub fn id_map(&self) -> Option<IdMapTag> {
        self.contents.id_map
    }

    /// Whether `fingerprint` is stored. Reads at most one block per segment.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`](crate::Error::Corrupt) if that block is damaged.
    pub fn contains(&self, fingerprint: u64) -> Result<bool> {
        union::holds(self.segments(), fingerprint)
    }

    /// The ids of `fingerprint`, ascending and each once; none if it is not stored, or stored without
    /// ids. They are the union over all segments.
    ///
    /// Decodes at most one block per segment and takes O(log n) time, however many ids there are; the
    /// ids themselves are read as the iterator goes. A search does not read them, so who searches
    /// asks for the ids of what was found:
    ///
    /// ```
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("store");
    /// fpstore::Packer::new().pack_with_ids(&path, [(0b1011, 7), (0b1011, 9), (u64::MAX, 8)])?;
    ///
    /// let store = fpstore::Store::open(&path)?;
    /// let near = store.search(0b1010, 2)?;
    /// let ids = store.ids(near[0].fingerprint)?;
    /// assert_eq!(ids.len(), 2);
    /// assert_eq!(ids.collect::<Result<Vec<u64>, _>>()?, [7, 9]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`](crate::Error::Corrupt) if the block, or what tells the number of ids, is damaged. The iterator gives
    /// that error where the ids themselves are.
    pub fn ids(&self, fingerprint: u64) -> Result<Ids> {
        union::ids_of(self.segments(), fingerprint)
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot")
            .field("store_id", &format_args!("{:032x}", self.id()))
            .field("generation", &self.generation())
            .field("fingerprints", &self.len())
            .finish_non_exhaustive()
    }
}
