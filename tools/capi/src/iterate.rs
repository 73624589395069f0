//! Iterators over ids and fingerprints.

use fpstore::{Fingerprint, Id, Ids, Iter};

use crate::error::{Failure, Result, done, fps_status, guard};
use crate::id::{self, fps_id};
use crate::input::{self, Out};
use crate::snapshot::fps_snapshot;
use crate::width::{ByWidth, for_width, map_width};

/// The ids of a fingerprint, one after the other. One thread at a time may use one.
pub struct fps_ids {
    ids: Ids<Id>,
    /// The name that was given last.
    name: Vec<u8>,
}

/// The ids of a fingerprint in ascending order, each once; none if it is not stored, or the store
/// has no ids. `ids` reads as it goes. End it with `fps_ids_free`.
///
/// FPS_INVALID_INPUT if the fingerprint has another width; FPS_CORRUPT if a block that is needed is
/// damaged.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fps_snapshot_ids(
    snapshot: *const fps_snapshot,
    fingerprint: *const u8,
    fingerprint_bytes: usize,
    ids: *mut *mut fps_ids,
) -> fps_status {
    done(|| {
        // SAFETY: C vouches for its pointers.
        let (out, snapshot) =
            unsafe { (Out::handle(ids, "ids")?, input::at(snapshot, "snapshot")?) };
        let ids = for_width!(&snapshot.any, one => {
            // SAFETY: as above.
            one.ids(unsafe { input::fingerprint(fingerprint, fingerprint_bytes) }?)?
        });
        out.give(fps_ids { ids, name: Vec::new() });
        Ok(())
    })
}

/// Writes the next id to `id`, whose bytes stay until the next call with these ids. FPS_END when
/// all were given; `id` is as it was then.
///
/// FPS_CORRUPT if the ids are damaged; then FPS_END.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fps_ids_next(ids: *mut fps_ids, id: *mut fps_id) -> fps_status {
    guard(|| {
        // SAFETY: C vouches for its pointers.
        let (out, ids) = unsafe { (Out::new(id, "id")?, input::at_mut(ids, "ids")?) };
        let Some(next) = ids.ids.next() else { return Ok(fps_status::FPS_END) };
        out.set(id::write(next?, &mut ids.name));
        Ok(fps_status::FPS_OK)
    })
}

/// Ends ids; NULL does nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fps_ids_free(ids: *mut fps_ids) {
    // SAFETY: C vouches for it.
    unsafe { input::end(ids) }
}

/// The fingerprints of a snapshot, one after the other. One thread at a time may use one.
pub struct fps_cursor {
    any: ByWidth<Iter<u32>, Iter<u64>, Iter<u128>, Iter<[u64; 4]>>,
}

/// All fingerprints in ascending order, each once. End it with `fps_cursor_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fps_snapshot_fingerprints(
    snapshot: *const fps_snapshot,
    cursor: *mut *mut fps_cursor,
) -> fps_status {
    done(|| {
        // SAFETY: C vouches for its pointers.
        let (out, snapshot) =
            unsafe { (Out::handle(cursor, "cursor")?, input::at(snapshot, "snapshot")?) };
        out.give(fps_cursor { any: map_width!(&snapshot.any, one => one.iter()) });
        Ok(())
    })
}

/// Writes the next fingerprint to `fingerprint`, which has room for `fingerprint_bytes` bytes:
/// exactly those of the width. FPS_END when all were given.
///
/// FPS_INVALID_INPUT if there is room for another number of bytes; FPS_CORRUPT if a block is
/// damaged; then FPS_END.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fps_cursor_next(
    cursor: *mut fps_cursor,
    fingerprint: *mut u8,
    fingerprint_bytes: usize,
) -> fps_status {
    /// The next one, if it fits.
    fn next<F: Fingerprint>(iter: &mut Iter<F>, length: usize) -> Result<Option<F>> {
        let bytes = F::BITS as usize / 8;
        if length != bytes {
            return Err(Failure::input(format!(
                "there is room for {length} bytes, and fingerprints of this store have {bytes}"
            )));
        }
        Ok(iter.next().transpose()?)
    }
    guard(|| {
        // SAFETY: C vouches for its pointers.
        unsafe { Out::new(fingerprint, "fingerprint") }?;
        // SAFETY: as above.
        let cursor = unsafe { input::at_mut(cursor, "cursor") }?;
        for_width!(&mut cursor.any, iter => {
            let Some(next) = next(iter, fingerprint_bytes)? else { return Ok(fps_status::FPS_END) };
            let bytes = next.to_be_bytes();
            // SAFETY: as many bytes as there is room for, which was checked.
            unsafe { fingerprint.copy_from(bytes.as_ref().as_ptr(), fingerprint_bytes) };
        });
        Ok(fps_status::FPS_OK)
    })
}

/// Ends a cursor; NULL does nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fps_cursor_free(cursor: *mut fps_cursor) {
    // SAFETY: C vouches for it.
    unsafe { input::end(cursor) }
}
