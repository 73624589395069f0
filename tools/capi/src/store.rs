//! Stores that are open for reading.

use std::ffi::c_char;

use fpstore::{Store, width_of};

use crate::error::{done, fps_status};
use crate::input::{self, Out};
use crate::options::{Sized, fps_open_options};
use crate::snapshot::fps_snapshot;
use crate::width::{ByWidth, by_bits, for_width, map_width};

/// A store that is open for reading. Any number of threads may use one at once.
pub struct fps_store {
    any: ByWidth<Store<u32>, Store<u64>, Store<u128>, Store<[u64; 4]>>,
}

/// Opens the store in the directory `path`, of whatever width. `options` may be NULL. Takes no lock
/// and needs no permission to write. End it with `fps_store_close`.
///
/// FPS_NOT_FOUND, FPS_CORRUPT, FPS_UNSUPPORTED, FPS_IO.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fps_store_open(
    path: *const c_char,
    options: *const fps_open_options,
    store: *mut *mut fps_store,
) -> fps_status {
    done(|| {
        // SAFETY: C vouches for its pointers.
        let (out, path, options) = unsafe {
            let out = Out::handle(store, "store")?;
            (out, input::path(path, "path")?, fps_open_options::read(options)?.options())
        };
        let any = by_bits!(width_of(&path)?, F => options.width::<F>().open(&path)?)?;
        out.give(fps_store { any });
        Ok(())
    })
}

/// Ends a store; NULL does nothing. Its snapshots stay.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fps_store_close(store: *mut fps_store) {
    // SAFETY: C vouches for it.
    unsafe { input::end(store) }
}

/// Looks whether the store was written since, and if so shows what it holds now, to later
/// snapshots; `changed`, which may be NULL, tells whether. Takes 20 to 40 us where nothing was
/// written.
///
/// As `fps_store_open`; the store is as it was then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fps_store_refresh(
    store: *const fps_store,
    changed: *mut bool,
) -> fps_status {
    done(|| {
        // SAFETY: C vouches for its pointers.
        let store = unsafe { input::at(store, "store") }?;
        let has_changed = for_width!(&store.any, one => one.refresh()?);
        if !changed.is_null() {
            // SAFETY: C vouches for its pointers.
            unsafe { Out::new(changed, "changed") }?.set(has_changed);
        }
        Ok(())
    })
}

/// What the store holds now: as of opening it, or of the last refresh. Cheap. End it with
/// `fps_snapshot_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fps_store_snapshot(
    store: *const fps_store,
    snapshot: *mut *mut fps_snapshot,
) -> fps_status {
    done(|| {
        // SAFETY: C vouches for its pointers.
        let (out, store) =
            unsafe { (Out::handle(snapshot, "snapshot")?, input::at(store, "store")?) };
        out.give(fps_snapshot::new(map_width!(&store.any, one => one.snapshot())));
        Ok(())
    })
}
