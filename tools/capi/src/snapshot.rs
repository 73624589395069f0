//! What a store holds at a moment, and what it can be asked.

use std::ffi::{CString, c_char};
use std::sync::OnceLock;

use fpstore::Snapshot;

use crate::error::{Result, done, fps_status};
use crate::id::{self, fps_id};
use crate::input::{self, Out};
use crate::matches::{Buffer, fps_match};
use crate::width::{ByWidth, for_width};

/// What a store holds at a moment. It never changes, and outlives the store or the writer that it
/// comes from. Any number of threads may use one at once.
pub struct fps_snapshot {
    pub(crate) any: AnySnapshot,
    recipe: OnceLock<Option<CString>>,
}

pub(crate) type AnySnapshot =
    ByWidth<Snapshot<u32>, Snapshot<u64>, Snapshot<u128>, Snapshot<[u64; 4]>>;

impl fps_snapshot {
    pub(crate) fn new(any: AnySnapshot) -> Self {
        Self { any, recipe: OnceLock::new() }
    }
}

/// Ends a snapshot; NULL does nothing. What was made from it stays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fps_snapshot_free(snapshot: *mut fps_snapshot) {
    // SAFETY: C vouches for it.
    unsafe { input::end(snapshot) }
}

/// All stored fingerprints within Hamming distance `k` of one, the nearest first, of equal distance
/// the lesser first. Writes up to `capacity` of them to `matches`, which may be NULL where that is
/// 0, and to `count` how many there are: where that is more, the nearest ones were written. Who
/// asks many times keeps an `fps_searcher`.
///
/// FPS_INVALID_INPUT if the fingerprint has another width, or `k` is greater; FPS_CORRUPT if a
/// block that is needed is damaged.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fps_snapshot_search(
    snapshot: *const fps_snapshot,
    fingerprint: *const u8,
    fingerprint_bytes: usize,
    k: u32,
    matches: *mut fps_match,
    capacity: usize,
    count: *mut usize,
) -> fps_status {
    done(|| {
        // SAFETY: C vouches for its pointers.
        let (buffer, snapshot) =
            unsafe { (Buffer::new(matches, capacity, count)?, input::at(snapshot, "snapshot")?) };
        for_width!(&snapshot.any, one => {
            // SAFETY: as above.
            let fingerprint = unsafe { input::fingerprint(fingerprint, fingerprint_bytes) }?;
            let mut searcher = one.searcher();
            let k = of_width(one, k)?;
            buffer.fill(searcher.search(fingerprint, k)?);
        });
        Ok(())
    })
}

/// The nearest stored fingerprints within Hamming distance `k`, `capacity` of them or as many as
/// there are: in the order of `fps_snapshot_search`. Writes them to `matches`, and their number to
/// `count`.
///
/// As `fps_snapshot_search`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fps_snapshot_nearest(
    snapshot: *const fps_snapshot,
    fingerprint: *const u8,
    fingerprint_bytes: usize,
    k: u32,
    matches: *mut fps_match,
    capacity: usize,
    count: *mut usize,
) -> fps_status {
    done(|| {
        // SAFETY: C vouches for its pointers.
        let (buffer, snapshot) =
            unsafe { (Buffer::new(matches, capacity, count)?, input::at(snapshot, "snapshot")?) };
        for_width!(&snapshot.any, one => {
            // SAFETY: as above.
            let fingerprint = unsafe { input::fingerprint(fingerprint, fingerprint_bytes) }?;
            let k = of_width(one, k)?;
            buffer.fill(&one.nearest(fingerprint, buffer.capacity(), k)?);
        });
        Ok(())
    })
}

/// Whether any stored fingerprint is within Hamming distance `k`, which takes less time than
/// `fps_snapshot_search`.
///
/// As `fps_snapshot_search`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fps_snapshot_any_within(
    snapshot: *const fps_snapshot,
    fingerprint: *const u8,
    fingerprint_bytes: usize,
    k: u32,
    found: *mut bool,
) -> fps_status {
    done(|| {
        // SAFETY: C vouches for its pointers.
        let (out, snapshot) =
            unsafe { (Out::new(found, "found")?, input::at(snapshot, "snapshot")?) };
        out.set(for_width!(&snapshot.any, one => {
            // SAFETY: as above.
            let fingerprint = unsafe { input::fingerprint(fingerprint, fingerprint_bytes) }?;
            one.any_within(fingerprint, of_width(one, k)?)?
        }));
        Ok(())
    })
}

/// Whether a fingerprint is stored; with an id that is not NULL, whether it is stored with this id.
///
/// As `fps_snapshot_search`; FPS_INVALID_INPUT if the ids of the store are of another kind.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fps_snapshot_contains(
    snapshot: *const fps_snapshot,
    fingerprint: *const u8,
    fingerprint_bytes: usize,
    id: *const fps_id,
    found: *mut bool,
) -> fps_status {
    done(|| {
        // SAFETY: C vouches for its pointers.
        let (out, snapshot, id) = unsafe {
            let out = Out::new(found, "found")?;
            (out, input::at(snapshot, "snapshot")?, id::optional(id)?)
        };
        out.set(for_width!(&snapshot.any, one => {
            // SAFETY: as above.
            let fingerprint = unsafe { input::fingerprint(fingerprint, fingerprint_bytes) }?;
            match id {
                Some(id) => one.contains_id(fingerprint, id)?,
                None => one.contains(fingerprint)?,
            }
        }));
        Ok(())
    })
}

/// The number of distinct fingerprints, exactly. Takes no time for a store that was packed; else it
/// may read all of them, some nanoseconds each.
///
/// FPS_CORRUPT if a block is damaged.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fps_snapshot_count(
    snapshot: *const fps_snapshot,
    count: *mut u64,
) -> fps_status {
    done(|| {
        // SAFETY: C vouches for its pointers.
        let (out, snapshot) =
            unsafe { (Out::new(count, "count")?, input::at(snapshot, "snapshot")?) };
        out.set(for_width!(&snapshot.any, one => one.count()?));
        Ok(())
    })
}

/// How the fingerprints were made, in the words of who made the store; NULL where that was not
/// said. The text belongs to the snapshot.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fps_snapshot_recipe(snapshot: *const fps_snapshot) -> *const c_char {
    let mut recipe = std::ptr::null();
    done(|| {
        // SAFETY: C vouches for its pointers.
        let snapshot = unsafe { input::at(snapshot, "snapshot") }?;
        let of_library = || for_width!(&snapshot.any, one => one.recipe().map(str::to_string));
        // A recipe has no control characters, so no zero.
        let own = snapshot.recipe.get_or_init(|| CString::new(of_library()?).ok());
        recipe = own.as_ref().map_or(recipe, |own| own.as_ptr());
        Ok(())
    });
    recipe
}

/// A radius, of queries of this width.
fn of_width<F: fpstore::Fingerprint>(_: &Snapshot<F>, k: u32) -> Result<u32> {
    input::radius::<F>(k)
}
