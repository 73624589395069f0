//! Whether standard output was closed when the process was started (`fpstore dump store >&-`).
//!
//! The runtime of Rust opens `/dev/null` under the numbers of standard streams that are closed,
//! before `main`: else the next file that is opened would be standard output. From then on nobody
//! can tell that from a caller who sends the output to `/dev/null` on purpose. (That the runtime
//! opens it for reading and writing, and a shell for writing, is no sign: Python's
//! `subprocess.DEVNULL` and Node's `'ignore'` open it for both as well.) So one look is taken
//! before the runtime starts.
#![cfg_attr(
    any(target_os = "linux", target_os = "android", target_vendor = "apple"),
    allow(unsafe_code, reason = "nothing else runs before `main`")
)]

use std::sync::atomic::{AtomicBool, Ordering};

/// What the look found.
static CLOSED: AtomicBool = AtomicBool::new(false);

/// Whether standard output was closed at the start; `false` where the system cannot be asked.
pub fn is_stdout() -> bool {
    CLOSED.load(Ordering::Relaxed)
}

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
mod look {
    use super::{CLOSED, Ordering};

    // SAFETY: the loader calls every function in this section once, on the only thread, before
    // `main`. `look` has the calling convention of C, takes none of the arguments that some loaders
    // hand over, which that convention allows, returns, and cannot panic: it makes one system call
    // and stores a flag.
    #[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
    #[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
    #[used]
    static BEFORE_MAIN: extern "C" fn() = look;

    extern "C" fn look() {
        let flags = rustix::io::fcntl_getfd(rustix::stdio::stdout());
        CLOSED.store(flags == Err(rustix::io::Errno::BADF), Ordering::Relaxed);
    }
}
