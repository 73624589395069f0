//! How failures come to C.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use fpstore::ErrorKind;

/// What a function answers.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum fps_status {
    /// It was done.
    FPS_OK = 0,
    /// An iterator has given all. No error, and without a message.
    FPS_END = 1,
    /// An argument or an option is wrong: it will fail again.
    FPS_INVALID_INPUT = 2,
    /// Nothing stands at the path that was given, or no store.
    FPS_NOT_FOUND = 3,
    /// Bytes of a file are damaged: restore it from a copy.
    FPS_CORRUPT = 4,
    /// A newer version of fpstore has written it.
    FPS_UNSUPPORTED = 5,
    /// Something stands where the output was to go.
    FPS_ALREADY_EXISTS = 6,
    /// Another writer is open there, of this process or another: it may go later.
    FPS_BUSY = 7,
    /// The store is not at its path any more, or not locked: open it where it is now.
    FPS_DISPLACED = 8,
    /// Its time has passed.
    FPS_STOPPED = 9,
    /// It needs more memory, threads or space than there is or was allowed.
    FPS_OUT_OF_RESOURCES = 10,
    /// The operating system refused, for another reason.
    FPS_IO = 11,
    /// A defect of fpstore. Free the handles that were used; all others are sound.
    FPS_PANIC = 12,
}

use fps_status::*;

/// A failure on its way to C.
pub(crate) struct Failure {
    status: fps_status,
    message: String,
}

pub(crate) type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    /// An argument is wrong.
    pub(crate) fn input(message: impl Into<String>) -> Self {
        Self { status: FPS_INVALID_INPUT, message: message.into() }
    }
}

impl From<fpstore::Error> for Failure {
    fn from(error: fpstore::Error) -> Self {
        let status = match error.kind() {
            ErrorKind::InvalidInput => FPS_INVALID_INPUT,
            ErrorKind::NotFound => FPS_NOT_FOUND,
            ErrorKind::Corrupt => FPS_CORRUPT,
            ErrorKind::Unsupported => FPS_UNSUPPORTED,
            ErrorKind::AlreadyExists => FPS_ALREADY_EXISTS,
            ErrorKind::Busy => FPS_BUSY,
            ErrorKind::Displaced => FPS_DISPLACED,
            ErrorKind::Stopped => FPS_STOPPED,
            ErrorKind::OutOfResources => FPS_OUT_OF_RESOURCES,
            // There is no other kind now.
            _ => FPS_IO,
        };
        Self { status, message: error.to_string() }
    }
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// Keeps a message for the thread. A thread that ends keeps none.
#[cold]
fn keep(message: String) {
    let text: Vec<u8> = message.into_bytes().into_iter().filter(|&byte| byte != 0).collect();
    let _ = LAST.try_with(|last| last.replace(CString::new(text).unwrap_or_default()));
}

#[cold]
fn panicked(payload: &(dyn Any + Send)) -> fps_status {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("no message");
    keep(format!("fpstore has a defect, please report it: {text}"));
    FPS_PANIC
}

/// Runs what a function does. Nothing unwinds into C.
#[inline]
pub(crate) fn guard(call: impl FnOnce() -> Result<fps_status>) -> fps_status {
    // What a panic leaves half done is a handle, and its caller is told to free it.
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(status)) => status,
        Ok(Err(Failure { status, message })) => {
            keep(message);
            status
        }
        Err(payload) => panicked(&*payload),
    }
}

/// As [`guard`], of a call that succeeds with `FPS_OK`.
#[inline]
pub(crate) fn done(call: impl FnOnce() -> Result<()>) -> fps_status {
    guard(|| call().map(|()| FPS_OK))
}

/// What went wrong in the last call of this thread that failed: one line in UTF-8, which names the
/// file, what was found, and what to do. Empty if none has failed. Calls that succeed leave it as
/// it is, so look at it only where a status says so. The text belongs to the library and stays
/// until the next call of this thread that fails, `fps_clear_error`, or the end of the thread.
#[unsafe(no_mangle)]
pub extern "C" fn fps_last_error() -> *const c_char {
    LAST.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

/// Forgets the last error of this thread.
#[unsafe(no_mangle)]
pub extern "C" fn fps_clear_error() {
    let _ = LAST.try_with(RefCell::take);
}

/// The name of a status, such as `"FPS_CORRUPT"`; `"unknown"` of another number. The text is
/// static.
#[unsafe(no_mangle)]
pub extern "C" fn fps_status_name(status: i32) -> *const c_char {
    let names: [&'static CStr; 13] = [
        c"FPS_OK",
        c"FPS_END",
        c"FPS_INVALID_INPUT",
        c"FPS_NOT_FOUND",
        c"FPS_CORRUPT",
        c"FPS_UNSUPPORTED",
        c"FPS_ALREADY_EXISTS",
        c"FPS_BUSY",
        c"FPS_DISPLACED",
        c"FPS_STOPPED",
        c"FPS_OUT_OF_RESOURCES",
        c"FPS_IO",
        c"FPS_PANIC",
    ];
    let name = usize::try_from(status).ok().and_then(|status| names.get(status));
    name.copied().unwrap_or(c"unknown").as_ptr()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last() -> String {
        // SAFETY: the text of the library, which no call changes meanwhile.
        unsafe { CStr::from_ptr(fps_last_error()) }.to_string_lossy().into_owned()
    }

    #[test]
    fn a_panic_becomes_a_status_with_its_message() {
        fps_clear_error();
        assert_eq!(last(), "");
        let number = std::hint::black_box(7);
        assert_eq!(guard(|| panic!("seven is {number}")), FPS_PANIC);
        assert_eq!(last(), "fpstore has a defect, please report it: seven is 7");
        assert_eq!(done(|| Err(Failure::input("a\0b"))), FPS_INVALID_INPUT);
        assert_eq!(last(), "ab");
        assert_eq!(done(|| Ok(())), FPS_OK);
        assert_eq!(last(), "ab");
    }

    #[test]
    fn each_status_has_its_name() {
        for status in [FPS_OK, FPS_END, FPS_INVALID_INPUT, FPS_STOPPED, FPS_IO, FPS_PANIC] {
            // SAFETY: the text is static.
            let name = unsafe { CStr::from_ptr(fps_status_name(status as i32)) };
            assert_eq!(name.to_string_lossy(), format!("{status:?}"));
        }
        for other in [-1, 13, i32::MAX] {
            // SAFETY: the text is static.
            assert_eq!(unsafe { CStr::from_ptr(fps_status_name(other)) }, c"unknown");
        }
    }
}
