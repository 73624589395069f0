//! Searchers, which keep their buffers.

use fpstore::{Fingerprint, Searcher};
use std::time::{Duration, Instant};

use crate::error::{Result, done, fps_status};
use crate::input::{self, Out};
use crate::matches::{Buffer, fps_match};
use crate::snapshot::fps_snapshot;
use crate::width::{ByWidth, for_width, map_width};

/// Searches a snapshot again and again, and keeps its buffers from one query to the next: the
/// fastest way for many queries of one thread. One thread at a time may use one.
pub struct fps_searcher {
    any: ByWidth<Searcher<u32>, Searcher<u64>, Searcher<u128>, Searcher<[u64; 4]>>,
}

/// A searcher of a snapshot, which may be freed before it. End it with `fps_searcher_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fps_searcher_new(
    snapshot: *const fps_snapshot,
    searcher: *mut *mut fps_searcher,
) -> fps_status {
    done(|| {
        // SAFETY: C vouches for its pointers.
        let (out, snapshot) =
            unsafe { (Out::handle(searcher, "searcher")?, input::at(snapshot, "snapshot")?) };
        out.give(fps_searcher { any: map_width!(&snapshot.any, one => one.searcher()) });
        Ok(())
    })
}

/// Ends a searcher; NULL does nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fps_searcher_free(searcher: *mut fps_searcher) {
    // SAFETY: C vouches for it.
    unsafe { input::end(searcher) }
}

/// Lets queries that are not answered so many microseconds after this call end with FPS_STOPPED. 0
/// lets them take as long as they take, as at first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fps_searcher_set_timeout(
    searcher: *mut fps_searcher,
    microseconds: u64,
) -> fps_status {
    done(|| {
        // SAFETY: C vouches for its pointers.
        let searcher = unsafe { input::at_mut(searcher, "searcher") }?;
        let deadline = match microseconds {
            0 => None,
            _ => Instant::now().checked_add(Duration::from_micros(microseconds)),
        };
        for_width!(&mut searcher.any, one => one.deadline(deadline));
        Ok(())
    })
}

/// As `fps_snapshot_search`; FPS_STOPPED when its time has passed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fps_searcher_search(
    searcher: *mut fps_searcher,
    fingerprint: *const u8,
    fingerprint_bytes: usize,
    k: u32,
    matches: *mut fps_match,
    capacity: usize,
    count: *mut usize,
) -> fps_status {
    done(|| {
        // SAFETY: C vouches for its pointers.
        let (buffer, searcher) = unsafe {
            (Buffer::new(matches, capacity, count)?, input::at_mut(searcher, "searcher")?)
        };
        for_width!(&mut searcher.any, one => {
            // SAFETY: as above.
            let fingerprint = unsafe { input::fingerprint(fingerprint, fingerprint_bytes) }?;
            let k = of_width(one, k)?;
            buffer.fill(one.search(fingerprint, k)?);
        });
        Ok(())
    })
}

/// As `fps_snapshot_nearest`; FPS_STOPPED when its time has passed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fps_searcher_nearest(
    searcher: *mut fps_searcher,
    fingerprint: *const u8,
    fingerprint_bytes: usize,
    k: u32,
    matches: *mut fps_match,
    capacity: usize,
    count: *mut usize,
) -> fps_status {
    done(|| {
        // SAFETY: C vouches for its pointers.
        let (buffer, searcher) = unsafe {
            (Buffer::new(matches, capacity, count)?, input::at_mut(searcher, "searcher")?)
        };
        for_width!(&mut searcher.any, one => {
            // SAFETY: as above.
            let fingerprint = unsafe { input::fingerprint(fingerprint, fingerprint_bytes) }?;
            let k = of_width(one, k)?;
            buffer.fill(&one.nearest(fingerprint, buffer.capacity(), k)?);
        });
        Ok(())
    })
}

/// As `fps_snapshot_any_within`; FPS_STOPPED when its time has passed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fps_searcher_any_within(
    searcher: *mut fps_searcher,
    fingerprint: *const u8,
    fingerprint_bytes: usize,
    k: u32,
    found: *mut bool,
) -> fps_status {
    done(|| {
        // SAFETY: C vouches for its pointers.
        let (out, searcher) =
            unsafe { (Out::new(found, "found")?, input::at_mut(searcher, "searcher")?) };
        out.set(for_width!(&mut searcher.any, one => {
            // SAFETY: as above.
            let fingerprint = unsafe { input::fingerprint(fingerprint, fingerprint_bytes) }?;
            let k = of_width(one, k)?;
            one.any_within(fingerprint, k)?
        }));
        Ok(())
    })
}

/// A radius, of queries of this width.
#[inline]
fn of_width<F: Fingerprint>(_: &Searcher<F>, k: u32) -> Result<u32> {
    input::radius::<F>(k)
}
