//! Stores that are written.

use std::ffi::c_char;
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use fpstore::{Fingerprint, Verdict, Writer, width_of};

use crate::error::{Failure, Result, done, fps_status};
use crate::id::{self, fps_id};
use crate::input::{self, Given, Out};
use crate::matches::{Buffer, fps_match};
use crate::options::{self, Sized, fps_create_options, fps_writer_options};
use crate::pack::GivenIds;
use crate::snapshot::fps_snapshot;
use crate::width::{ByWidth, by_bits, for_width, map_width};

/// Writes a store, while any number of readers, in this process and others, search it. There is one
/// writer of a store at a time, over all processes; any number of threads may use it at once.
pub struct fps_writer {
    // None once it is closed.
    any: RwLock<Option<AnyWriter>>,
}

type AnyWriter = ByWidth<Writer<u32>, Writer<u64>, Writer<u128>, Writer<[u64; 4]>>;

impl fps_writer {
    fn open(&self) -> Result<Open<'_>> {
        let own = self.any.read().unwrap_or_else(PoisonError::into_inner);
        match own.is_some() {
            true => Ok(Open(own)),
            false => Err(Failure::input("the writer is closed; open another one")),
        }
    }
}

/// A writer that is not closed while this is there.
struct Open<'a>(RwLockReadGuard<'a, Option<AnyWriter>>);

/// Calls `$body` with the writer that C gives.
macro_rules! with_writer {
    ($writer:expr, $one:ident => $body:expr) => {{
        // SAFETY: C vouches for its pointers.
        let open = unsafe { input::at($writer, "writer") }?.open()?;
        match &*open.0 {
            Some(any) => for_width!(any, $one => $body),
            None => return Err(Failure::input("the writer is closed; open another one")),
        }
    }};
}

/// Creates an empty store in the directory `path`, which is created as well, and gives its writer.
/// Both options may be NULL. End it with `fps_writer_close` and `fps_writer_free`.
///
/// FPS_INVALID_INPUT for options; FPS_ALREADY_EXISTS if something stands at the path; FPS_BUSY
/// while another process writes there; FPS_IO.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fps_create(
    path: *const c_char,
    create_options: *const fps_create_options,
    writer_options: *const fps_writer_options,
    writer: *mut *mut fps_writer,
) -> fps_status {
    done(|| {
        // SAFETY: C vouches for its pointers.
        let (out, path, create, options) = unsafe {
            (
                Out::handle(writer, "writer")?,
                input::path(path, "path")?,
                fps_create_options::read(create_options)?,
                fps_writer_options::read(writer_options)?.options()?,
            )
        };
        // SAFETY: as above.
        let of_bits = || unsafe { create.options() };
        let any = by_bits!(create.bits, F => {
            of_bits()?.width::<F>().writer(options.clone()).create(&path)?
        })?;
        out.give(fps_writer { any: RwLock::new(Some(any)) });
        Ok(())
    })
}

/// Opens the store in the directory `path` for writing, also one that was packed. `options` may be
/// NULL. End it with `fps_writer_close` and `fps_writer_free`.
///
/// As `fps_store_open`; FPS_BUSY while another writer is open there, FPS_UNSUPPORTED where a
/// program must know more to write it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fps_writer_open(
    path: *const c_char,
    options: *const fps_writer_options,
    writer: *mut *mut fps_writer,
) -> fps_status {
    done(|| {
        // SAFETY: C vouches for its pointers.
        let (out, path, options) = unsafe {
            (
                Out::handle(writer, "writer")?,
                input::path(path, "path")?,
                fps_writer_options::read(options)?.options()?,
            )
        };
        let bits = width_of(&path)?;
        let any = by_bits!(bits, F => options.clone().width::<F>().open(&path)?)?;
        out.give(fps_writer { any: RwLock::new(Some(any)) });
        Ok(())
    })
}

/// Makes all durable and ends writing, after calls of other threads have returned; then others may
/// write the store. A writer that is closed already stays so. The handle is still to be freed.
///
/// FPS_IO: what was written is not known to be durable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fps_writer_close(writer: *const fps_writer) -> fps_status {
    done(|| {
        // SAFETY: C vouches for its pointers.
        let writer = unsafe { input::at(writer, "writer") }?;
        let own = writer.any.write().unwrap_or_else(PoisonError::into_inner).take();
        match own {
            Some(any) => for_width!(any, one => Ok(one.close()?)),
            None => Ok(()),
        }
    })
}

/// Frees a writer; NULL does nothing. One that was not closed hands all that was written to the
/// system, but tells no errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fps_writer_free(writer: *mut fps_writer) {
    // SAFETY: C vouches for it.
    unsafe { input::end(writer) }
}

/// Inserts `count` fingerprints, of `fingerprint_bytes` bytes each, one behind the other, with as
/// many ids; `ids` is NULL where the store has none. Nothing changes for pairs that are stored
/// already. Up to 32,768 are seen, and survive a crash, all or none; more are cut into such.
///
/// FPS_INVALID_INPUT for another width or kind of ids; FPS_IO and FPS_OUT_OF_RESOURCES if there is
/// no room in memory and a segment cannot be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fps_writer_insert(
    writer: *const fps_writer,
    fingerprints: *const u8,
    fingerprint_bytes: usize,
    count: usize,
    ids: *const fps_id,
) -> fps_status {
    fn insert<F: Fingerprint>(
        writer: &Writer<F>,
        given: Given<'_>,
        ids: Option<GivenIds<'_>>,
    ) -> Result<()> {
        match ids {
            Some(ids) => ids.pieces(given, PIECE, |pairs| Ok(writer.insert_batch(pairs)?)),
            None => Ok(writer.insert_fingerprints(&given.of::<F>()?.collect::<Vec<_>>())?),
        }
    }
    done(|| {
        // SAFETY: C vouches for its pointers.
        let (given, ids) = unsafe {
            (Given::new(fingerprints, fingerprint_bytes, count)?, GivenIds::new(ids, count)?)
        };
        with_writer!(writer, one => insert(one, given, ids))
    })
}

/// Pairs that are seen, and survive, together.
const PIECE: usize = 32_768;

/// Deletes `count` fingerprints with all their ids, or, with ids, these pairs alone: with its last
/// id a fingerprint goes. What is not stored is left out.
///
/// As `fps_writer_insert`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fps_writer_delete(
    writer: *const fps_writer,
    fingerprints: *const u8,
    fingerprint_bytes: usize,
    count: usize,
    ids: *const fps_id,
) -> fps_status {
    fn delete<F: Fingerprint>(
        writer: &Writer<F>,
        given: Given<'_>,
        ids: Option<GivenIds<'_>>,
    ) -> Result<()> {
        match ids {
            Some(ids) => ids.pieces(given, PIECE, |pairs| Ok(writer.delete_batch(pairs)?)),
            None => Ok(writer.delete_fingerprints(&given.of::<F>()?.collect::<Vec<_>>())?),
        }
    }
    done(|| {
        // SAFETY: C vouches for its pointers.
        let (given, ids) = unsafe {
            (Given::new(fingerprints, fingerprint_bytes, count)?, GivenIds::new(ids, count)?)
        };
        with_writer!(writer, one => delete(one, given, ids))
    })
}

/// Deletes an id wherever it is stored, and writes to `count`, which may be NULL, how many
/// fingerprints had it. Reads all fingerprints and ids, some 50 ns for each.
///
/// As `fps_writer_insert`; FPS_CORRUPT if a block is damaged: then nothing is deleted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fps_writer_delete_id(
    writer: *const fps_writer,
    id: *const fps_id,
    count: *mut usize,
) -> fps_status {
    done(|| {
        // SAFETY: C vouches for its pointers.
        let id = unsafe { input::at(id, "id")?.read() }?;
        let deleted = with_writer!(writer, one => one.delete_id(id)?.len());
        if !count.is_null() {
            // SAFETY: as above.
            unsafe { Out::new(count, "count") }?.set(deleted);
        }
        Ok(())
    })
}

/// Looks for fingerprints within Hamming distance `k`, and inserts this one only if there is none;
/// nobody writes in between. `count` is 0 if it was inserted. Otherwise it is the number of those
/// that are near, which are written as by `fps_snapshot_search`. `id` is NULL where the store has
/// none.
///
/// As `fps_writer_insert` and `fps_snapshot_search`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fps_writer_check_and_insert(
    writer: *const fps_writer,
    fingerprint: *const u8,
    fingerprint_bytes: usize,
    id: *const fps_id,
    k: u32,
    matches: *mut fps_match,
    capacity: usize,
    count: *mut usize,
) -> fps_status {
    done(|| {
        // SAFETY: C vouches for its pointers.
        let (buffer, id) = unsafe { (Buffer::new(matches, capacity, count)?, id::optional(id)?) };
        with_writer!(writer, one => {
            // SAFETY: as above.
            let fingerprint = unsafe { input::fingerprint(fingerprint, fingerprint_bytes) }?;
            match one.check_and_insert(fingerprint, id, of_width(one, k)?)? {
                Verdict::Inserted => buffer.fill::<u64>(&[]),
                Verdict::Near(near) => buffer.fill(&near),
            }
            Ok(())
        })
    })
}

/// Makes all that was written so far as durable as `durability` says, one of
/// `FPS_DURABILITY_GROUP`, `_IMMEDIATE` and `_EVENTUAL`, and visible to other processes at their
/// next `fps_store_refresh`.
///
/// FPS_IO: what was written is seen all the same, is not known to be durable, and is written again
/// with the next commit.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fps_writer_commit(
    writer: *const fps_writer,
    durability: u32,
) -> fps_status {
    done(|| {
        let durability = options::durability(durability)?;
        with_writer!(writer, one => Ok(one.commit(durability)?))
    })
}

/// Makes segments of all that was written so far, which is durable then.
///
/// FPS_IO: nothing is lost, and the next flush tries again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fps_writer_flush(writer: *const fps_writer) -> fps_status {
    done(|| with_writer!(writer, one => Ok(one.flush()?)))
}

/// Merges segments until there are few: what happens in the background by itself. With `all` not 0,
/// makes one of all: the smallest and fastest store, from which deleted records are gone. That
/// reads and writes the whole store.
///
/// FPS_IO, FPS_CORRUPT: the segments stay as they are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fps_writer_merge(writer: *const fps_writer, all: u8) -> fps_status {
    done(|| {
        with_writer!(writer, one => {
            match all {
                0 => one.merge()?,
                _ => one.merge_all()?,
            }
            Ok(())
        })
    })
}

/// What the store holds now, with all that was written so far. End it with `fps_snapshot_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fps_writer_snapshot(
    writer: *const fps_writer,
    snapshot: *mut *mut fps_snapshot,
) -> fps_status {
    done(|| {
        // SAFETY: C vouches for its pointers.
        let (out, writer) =
            unsafe { (Out::handle(snapshot, "snapshot")?, input::at(writer, "writer")?) };
        let open = writer.open()?;
        if let Some(any) = &*open.0 {
            out.give(fps_snapshot::new(map_width!(any, one => one.snapshot())));
        }
        Ok(())
    })
}

/// A radius, of queries of this width.
fn of_width<F: Fingerprint>(_: &Writer<F>, k: u32) -> Result<u32> {
    input::radius::<F>(k)
}
