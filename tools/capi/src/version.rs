//! The version of the library.

use std::ffi::{CStr, c_char};

/// The version of the library that runs, as `FPSTORE_VERSION` gives that of the header: `"0.1.0"`.
/// The text is static.
#[unsafe(no_mangle)]
pub extern "C" fn fps_version() -> *const c_char {
    const VERSION: &CStr =
        match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
            Ok(version) => version,
            Err(_) => c"",
        };
    VERSION.as_ptr()
}
