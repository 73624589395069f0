//! What a store is made of.

use fpstore::{Fingerprint, Snapshot};

use crate::error::{Result, done, fps_status};
use crate::id;
use crate::input;
use crate::options::{Sized, sized};
use crate::snapshot::fps_snapshot;
use crate::width::for_width;

/// What a store is made of. Start from `FPS_STATS_INIT`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fps_stats {
    /// `sizeof(fps_stats)`.
    pub size: usize,
    /// Bits of a fingerprint.
    pub bits: u32,
    /// The distance that the store was planned for.
    pub radius: u32,
    /// What ids are, one of `FPS_ID_NONE` to `FPS_ID_BYTES`.
    pub id_kind: u32,
    /// Bytes of each id; 0 of texts, and where there are none.
    pub id_bytes: u32,
    /// Fingerprints; where several segments or the log hold the same one it counts in each, and a
    /// deleted one until segments are merged. `fps_snapshot_count` gives the exact number.
    pub fingerprints: u64,
    /// Bytes of all files but logs.
    pub bytes: u64,
    /// Bytes of memory that open files, and what searches have built, take.
    pub heap_bytes: u64,
    /// Segments.
    pub segments: u64,
    /// Insertions and deletions that stand in the log and in no segment yet.
    pub log_operations: u64,
    /// How often the store was written.
    pub generation: u64,
    /// Which store it is: the same in all its generations and copies.
    pub store_id: [u8; 16],
}

sized!(fps_stats {});

/// What a store is made of. `stats` says how large it is (`FPS_STATS_INIT`). Reads headers and
/// histograms only.
///
/// FPS_CORRUPT if one is damaged.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fps_snapshot_stats(
    snapshot: *const fps_snapshot,
    stats: *mut fps_stats,
) -> fps_status {
    fn of<F: Fingerprint>(snapshot: &Snapshot<F>) -> Result<fps_stats> {
        let stats = snapshot.stats()?;
        let (id_kind, id_bytes) = id::number_of(snapshot.id_kind());
        Ok(fps_stats {
            bits: stats.bits,
            radius: stats.radius,
            id_kind,
            id_bytes,
            fingerprints: stats.fingerprints,
            bytes: stats.bytes,
            heap_bytes: snapshot.heap_bytes(),
            segments: stats.segments.len() as u64,
            log_operations: stats.living.map_or(0, |living| living.log_operations),
            generation: snapshot.generation(),
            store_id: snapshot.id().to_be_bytes(),
            ..fps_stats::initial()
        })
    }
    done(|| {
        // SAFETY: C vouches for its pointers.
        let snapshot = unsafe { input::at(snapshot, "snapshot") }?;
        let own = for_width!(&snapshot.any, one => of(one)?);
        // SAFETY: as above.
        unsafe { own.write(stats) }
    })
}
