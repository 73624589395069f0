//! Packs.

use std::ffi::c_char;
use std::mem;
use std::sync::{Mutex, PoisonError};

use fpstore::{Fingerprint, IdRef, PackSession, PackSummary};

use crate::error::{Failure, Result, done, fps_status};
use crate::id::fps_id;
use crate::input::{self, Given, Out};
use crate::options::{Sized, fps_pack_options, sized};
use crate::width::{ByWidth, by_bits, for_width};

/// Fingerprints that are handed on together.
const PIECE: usize = 1 << 13;

/// A pack that takes fingerprints piece by piece. Threads may share one; their calls wait for each
/// other.
pub struct fps_packer {
    session: Mutex<Option<AnySession>>,
}

type AnySession =
    ByWidth<PackSession<u32>, PackSession<u64>, PackSession<u128>, PackSession<[u64; 4]>>;

/// What a pack has written. Start from `FPS_PACK_SUMMARY_INIT`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fps_pack_summary {
    /// `sizeof(fps_pack_summary)`.
    pub size: usize,
    /// Fingerprints read, duplicates included.
    pub read: u64,
    /// Distinct fingerprints.
    pub distinct: u64,
    /// Distinct pairs of a fingerprint and an id; 0 without ids.
    pub ids: u64,
    /// Bytes of all files.
    pub bytes: u64,
}

sized!(fps_pack_summary {});

/// Starts to pack a set into a store in the directory `path`, which is created. `options` may be
/// NULL. There is no store, or still the old one, until `fps_packer_finish` returns. End it with
/// `fps_packer_free`.
///
/// FPS_INVALID_INPUT for options; FPS_ALREADY_EXISTS if something stands at the path; FPS_IO.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fps_packer_start(
    path: *const c_char,
    options: *const fps_pack_options,
    packer: *mut *mut fps_packer,
) -> fps_status {
    done(|| {
        // SAFETY: C vouches for its pointers.
        let (out, path, options) = unsafe {
            let out = Out::handle(packer, "packer")?;
            (out, input::path(path, "path")?, fps_pack_options::read(options)?)
        };
        // SAFETY: as above.
        let of_bits = || unsafe { options.packer() };
        let session = by_bits!(options.bits, F => of_bits()?.width::<F>().start(&path)?)?;
        out.give(fps_packer { session: Mutex::new(Some(session)) });
        Ok(())
    })
}

/// Takes `count` fingerprints, of `fingerprint_bytes` bytes each, one behind the other, in any
/// order and with any duplicates; and as many ids, or NULL. All fingerprints of a pack have ids, or
/// none has; a fingerprint may have any number of them.
///
/// FPS_INVALID_INPUT for another width, ids of several kinds, or ids of some only; FPS_IO and
/// FPS_OUT_OF_RESOURCES when temporary files are written. After a failure only `fps_packer_free` is
/// left.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fps_packer_add(
    packer: *const fps_packer,
    fingerprints: *const u8,
    fingerprint_bytes: usize,
    count: usize,
    ids: *const fps_id,
) -> fps_status {
    done(|| {
        // SAFETY: C vouches for its pointers.
        let (packer, given) = unsafe {
            let packer = input::at(packer, "packer")?;
            (packer, Given::new(fingerprints, fingerprint_bytes, count)?)
        };
        // SAFETY: as above.
        let ids = unsafe { GivenIds::new(ids, count) }?;
        packer.with(|session| for_width!(session, one => add(one, given, ids)))
    })
}

/// Writes the store and makes it visible, durably. `summary` may be NULL. What is called
/// afterwards, but for `fps_packer_free`, fails.
///
/// FPS_BUSY while another process writes there, FPS_IO, FPS_OUT_OF_RESOURCES: what was written is
/// removed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fps_packer_finish(
    packer: *const fps_packer,
    summary: *mut fps_pack_summary,
) -> fps_status {
    done(|| {
        // SAFETY: C vouches for its pointers.
        let packer = unsafe { input::at(packer, "packer") }?;
        let session =
            mem::take(&mut *packer.session.lock().unwrap_or_else(PoisonError::into_inner));
        let session = session.ok_or_else(ended)?;
        let own = for_width!(session, one => one.finish()?);
        // SAFETY: as above.
        unsafe { give(&own, summary) }
    })
}

/// Ends a pack; NULL does nothing. One that was not finished leaves what was there before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fps_packer_free(packer: *mut fps_packer) {
    // SAFETY: C vouches for it.
    unsafe { input::end(packer) }
}

/// Packs a set that is in memory: `fps_packer_start`, `fps_packer_add` and `fps_packer_finish` in
/// one.
///
/// As these.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fps_pack(
    path: *const c_char,
    options: *const fps_pack_options,
    fingerprints: *const u8,
    fingerprint_bytes: usize,
    count: usize,
    ids: *const fps_id,
    summary: *mut fps_pack_summary,
) -> fps_status {
    done(|| {
        // SAFETY: C vouches for its pointers.
        let (path, options, given, ids) = unsafe {
            (
                input::path(path, "path")?,
                fps_pack_options::read(options)?,
                Given::new(fingerprints, fingerprint_bytes, count)?,
                GivenIds::new(ids, count)?,
            )
        };
        // SAFETY: as above.
        let of_bits = || unsafe { options.packer() };
        let mut session: AnySession =
            by_bits!(options.bits, F => of_bits()?.width::<F>().start(&path)?)?;
        for_width!(&mut session, one => add(one, given, ids)?);
        let own = for_width!(session, one => one.finish()?);
        // SAFETY: as above.
        unsafe { give(&own, summary) }
    })
}

impl fps_packer {
    /// Runs a call on the session, which a failure ends.
    fn with(&self, call: impl FnOnce(&mut AnySession) -> Result<()>) -> Result<()> {
        let mut own = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        // A panic ends it, too.
        let mut session = own.take().ok_or_else(ended)?;
        call(&mut session)?;
        *own = Some(session);
        Ok(())
    }
}

fn ended() -> Failure {
    Failure::input("this pack was finished, or an earlier call of it has failed; start a new one")
}

/// Ids that C has given, with bytes that stay for `'a`.
#[derive(Clone, Copy)]
pub(crate) struct GivenIds<'a>(&'a [fps_id]);

impl<'a> GivenIds<'a> {
    /// The ids that come with so many fingerprints, if there are some.
    ///
    /// # Safety
    ///
    /// Where the pointer is not null, so many ids stand there, each as [`fps_id::read`] wants it,
    /// for `'a`.
    pub(crate) unsafe fn new(ids: *const fps_id, count: usize) -> Result<Option<Self>> {
        if ids.is_null() {
            return Ok(None);
        }
        // SAFETY: the caller vouches for it.
        unsafe { input::list(ids, count, "ids") }.map(|ids| Some(Self(ids)))
    }

    fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// Fingerprints with these ids, in pieces of up to `most`.
    pub(crate) fn pieces<F: Fingerprint>(
        self,
        given: Given<'_>,
        most: usize,
        mut take: impl FnMut(&[(F, IdRef<'a>)]) -> Result<()>,
    ) -> Result<()> {
        let mut fingerprints = given.of::<F>()?;
        let mut pairs = Vec::with_capacity(most.min(self.0.len()));
        for ids in self.0.chunks(most.max(1)) {
            pairs.clear();
            // In this order, so that no fingerprint is taken for which there is no id in this
            // piece.
            for (id, fingerprint) in ids.iter().zip(fingerprints.by_ref()) {
                // SAFETY: who made this vouched for the bytes of each.
                pairs.push((fingerprint, unsafe { id.read() }?));
            }
            take(&pairs)?;
        }
        Ok(())
    }
}

fn add<F: Fingerprint>(
    session: &mut PackSession<F>,
    given: Given<'_>,
    ids: Option<GivenIds<'_>>,
) -> Result<()> {
    match ids {
        // That there are ids is said even where there are none.
        Some(ids) if ids.is_empty() => {
            let _ = given.of::<F>()?;
            Ok(session.extend_with_ids::<IdRef<'_>>(&[])?)
        }
        Some(ids) => ids.pieces(given, PIECE, |pairs| Ok(session.extend_with_ids(pairs)?)),
        None => {
            let mut fingerprints = given.of::<F>()?;
            let mut piece = Vec::with_capacity(PIECE.min(given.count()));
            while fingerprints.len() > 0 {
                piece.clear();
                piece.extend(fingerprints.by_ref().take(PIECE));
                session.extend(&piece)?;
            }
            Ok(())
        }
    }
}

/// # Safety
///
/// Where the pointer is not null, as many bytes may be written there as its `size` says.
unsafe fn give(own: &PackSummary, summary: *mut fps_pack_summary) -> Result<()> {
    if summary.is_null() {
        return Ok(());
    }
    let PackSummary { read, distinct, ids, bytes, .. } = *own;
    let own = fps_pack_summary { read, distinct, ids: ids.unwrap_or(0), bytes, ..Sized::initial() };
    // SAFETY: the caller vouches for it.
    unsafe { own.write(summary) }
}
