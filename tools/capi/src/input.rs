//! What C hands over, checked.

use std::ffi::{CStr, c_char};
use std::path::PathBuf;

use fpstore::Fingerprint;

use crate::error::{Failure, Result};

/// The value that a pointer leads to.
///
/// # Safety
///
/// Where it is not null and aligned, it leads to a value that lives, and that nobody changes, for
/// `'a`.
#[inline]
pub(crate) unsafe fn at<'a, T>(pointer: *const T, name: &str) -> Result<&'a T> {
    check(pointer, name)?;
    // SAFETY: not null, aligned, and the caller vouches for the rest.
    Ok(unsafe { &*pointer })
}

/// As [`at`], of a value that the callee alone uses meanwhile.
///
/// # Safety
///
/// As [`at`], and nobody else looks at it for `'a`.
#[inline]
pub(crate) unsafe fn at_mut<'a, T>(pointer: *mut T, name: &str) -> Result<&'a mut T> {
    check(pointer, name)?;
    // SAFETY: not null, aligned, and the caller vouches for the rest.
    Ok(unsafe { &mut *pointer })
}

#[inline]
fn check<T>(pointer: *const T, name: &str) -> Result<()> {
    if pointer.is_null() || !pointer.is_aligned() {
        return Err(refused(pointer.is_null(), name));
    }
    Ok(())
}

#[cold]
fn refused(is_null: bool, name: &str) -> Failure {
    let what = if is_null { "NULL" } else { "not aligned for its type" };
    Failure::input(format!("{name} is {what}; give a pointer that the header's types allow"))
}

/// A place for an answer.
pub(crate) struct Out<T>(*mut T);

impl<T> Out<T> {
    /// The place that a pointer leads to.
    ///
    /// # Safety
    ///
    /// Where it is not null and aligned, a `T` may be written there.
    #[inline]
    pub(crate) unsafe fn new(pointer: *mut T, name: &str) -> Result<Self> {
        check(pointer, name)?;
        Ok(Self(pointer))
    }

    /// Writes the answer. What stood there needs no end.
    #[inline]
    pub(crate) fn set(&self, value: T) {
        // SAFETY: checked in `new`, whose caller vouches for the rest.
        unsafe { self.0.write(value) }
    }
}

impl<T> Out<*mut T> {
    /// A place for a handle, which holds none for now.
    ///
    /// # Safety
    ///
    /// As [`Self::new`].
    pub(crate) unsafe fn handle(pointer: *mut *mut T, name: &str) -> Result<Self> {
        // SAFETY: the caller vouches for it.
        let out = unsafe { Self::new(pointer, name) }?;
        out.set(std::ptr::null_mut());
        Ok(out)
    }

    /// Hands a value over, to be freed by the function for its type.
    pub(crate) fn give(&self, value: T) {
        self.set(Box::into_raw(Box::new(value)));
    }
}

/// Takes a handle back and ends it; NULL does nothing.
///
/// # Safety
///
/// It comes from [`Out::give`], and nobody uses it any more.
pub(crate) unsafe fn end<T>(handle: *mut T) {
    if handle.is_null() {
        return;
    }
    crate::error::done(|| {
        // SAFETY: the caller vouches for it.
        drop(unsafe { Box::from_raw(handle) });
        Ok(())
    });
}

/// So many values from a pointer on, which may be NULL where there are none.
///
/// # Safety
///
/// Where it is not null and aligned, so many values stand there that live, and that nobody changes,
/// for `'a`.
#[inline]
pub(crate) unsafe fn list<'a, T>(pointer: *const T, count: usize, name: &str) -> Result<&'a [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    check(pointer, name)?;
    check_size::<T>(count, name)?;
    // SAFETY: not null, aligned, not too large, and the caller vouches for the rest.
    Ok(unsafe { std::slice::from_raw_parts(pointer, count) })
}

/// Refuses what is larger than anything in memory can be.
#[inline]
pub(crate) fn check_size<T>(count: usize, name: &str) -> Result<()> {
    match count.checked_mul(size_of::<T>()) {
        Some(bytes) if isize::try_from(bytes).is_ok() => Ok(()),
        _ => Err(Failure::input(format!(
            "{name} cannot have {count} elements, which are more than memory can hold; check the number"
        ))),
    }
}

/// A fingerprint: its bytes, the most significant first.
///
/// # Safety
///
/// Where the pointer is not null, so many bytes stand there.
#[inline]
pub(crate) unsafe fn fingerprint<F: Fingerprint>(bytes: *const u8, length: usize) -> Result<F> {
    // SAFETY: the caller vouches for it.
    let bytes = unsafe { list(bytes, length, "fingerprint") }?;
    F::from_be_slice(bytes).ok_or_else(|| other_width::<F>(length))
}

#[cold]
fn other_width<F: Fingerprint>(length: usize) -> Failure {
    let (bytes, bits) = (F::BITS / 8, F::BITS);
    Failure::input(format!(
        "a fingerprint of {length} bytes, and those of this store have {bytes} ({bits} bits); give as many"
    ))
}

/// Fingerprints that stand one behind the other.
#[derive(Clone, Copy)]
pub(crate) struct Given<'a> {
    bytes: &'a [u8],
    width: usize,
    count: usize,
}

impl<'a> Given<'a> {
    /// So many fingerprints, of `width` bytes each.
    ///
    /// # Safety
    ///
    /// Where the pointer is not null, so many stand there that nobody changes for `'a`.
    pub(crate) unsafe fn new(bytes: *const u8, width: usize, count: usize) -> Result<Self> {
        let Some(all) = width.checked_mul(count) else {
            return Err(Failure::input(format!(
                "{count} fingerprints of {width} bytes are more than memory can hold; check the numbers"
            )));
        };
        // SAFETY: the caller vouches for it.
        let bytes = unsafe { list(bytes, all, "fingerprints") }?;
        Ok(Self { bytes, width, count })
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Them, of a store of this width.
    pub(crate) fn of<F: Fingerprint>(
        self,
    ) -> Result<impl ExactSizeIterator<Item = F> + use<'a, F>> {
        if self.width != F::BITS as usize / 8 {
            return Err(other_width::<F>(self.width));
        }
        // The width is right, so that no default comes up.
        Ok(self.bytes.chunks_exact(self.width).map(|one| F::from_be_slice(one).unwrap_or_default()))
    }
}

/// A text that ends with a zero, if there is one.
///
/// # Safety
///
/// Where the pointer is not null, such a text stands there that nobody changes for `'a`.
pub(crate) unsafe fn text<'a>(pointer: *const c_char, name: &str) -> Result<Option<&'a str>> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: not null, and the caller vouches for the rest.
    let text = unsafe { CStr::from_ptr(pointer) }.to_str();
    text.map(Some).map_err(|_| Failure::input(format!("{name} is not UTF-8")))
}

/// A path: its bytes where a path is bytes, elsewhere UTF-8.
///
/// # Safety
///
/// Where the pointer is not null, a text that ends with a zero stands there.
pub(crate) unsafe fn path(pointer: *const c_char, name: &str) -> Result<PathBuf> {
    check(pointer, name)?;
    // SAFETY: not null, and the caller vouches for the rest.
    let bytes = unsafe { CStr::from_ptr(pointer) };
    if bytes.is_empty() {
        return Err(Failure::input(format!("{name} is empty; give the directory of a store")));
    }
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt;
        Ok(std::ffi::OsStr::from_bytes(bytes.to_bytes()).into())
    }
    #[cfg(not(unix))]
    {
        let text = bytes.to_str();
        text.map(PathBuf::from).map_err(|_| Failure::input(format!("{name} is not UTF-8")))
    }
}

/// The radius of a query.
#[inline]
pub(crate) fn radius<F: Fingerprint>(k: u32) -> Result<u32> {
    if k > F::BITS {
        return Err(Failure::input(format!(
            "k cannot be {k}: it is a number of bits, from 0 to {}",
            F::BITS
        )));
    }
    Ok(k)
}
