//! The allocator of the program: a refusal of the system ends it with one line and the code of an
//! error.
//!
//! By default a refused allocation ends a Rust program by abort, with the code of a crash. Here it
//! ends at once too, and nothing is cleaned up: files are as after a kill, which all that is
//! written here survives. The program installs it (`main.rs`); who uses the library, or the package
//! for Python, keeps the allocator that they have.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    /// Whether this thread takes a refusal as an answer.
    static FALLIBLE: Cell<bool> = const { Cell::new(false) };
}

/// Does something of which a refused allocation is no end: it tries to reserve, and has its own
/// words for that.
pub fn fallibly<T>(reserve: impl FnOnce() -> T) -> T {
    FALLIBLE.set(true);
    let reserved = reserve();
    FALLIBLE.set(false);
    reserved
}

/// The allocator of the system, which ends the process where it gives nothing.
pub struct OrEnd;

// SAFETY: each call is passed to `System` as it is, which keeps the contract; what it gives is
// given on, and where that is null the process ends, or the caller is told so.
unsafe impl GlobalAlloc for OrEnd {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of this very function.
        given(unsafe { System.alloc(layout) }, layout.size())
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        given(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    #[inline]
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: as above.
        given(unsafe { System.realloc(at, layout, bytes) }, bytes)
    }

    #[inline]
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }
}

#[inline]
fn given(memory: *mut u8, bytes: usize) -> *mut u8 {
    if memory.is_null() {
        refused(bytes);
    }
    memory
}

/// Ends the process, unless this thread takes a refusal. Allocates nothing.
#[cold]
#[inline(never)]
fn refused(bytes: usize) {
    // A thread that ends has no such variable any more.
    if !FALLIBLE.try_with(Cell::get).unwrap_or(false) {
        end(bytes);
    }
}

#[cfg(unix)]
fn end(bytes: usize) -> ! {
    use std::sync::atomic::{AtomicBool, Ordering};

    static ENDING: AtomicBool = AtomicBool::new(false);
    // Others may be refused meanwhile: one line is enough.
    if ENDING.swap(true, Ordering::SeqCst) {
        loop {
            std::thread::sleep(std::time::Duration::from_secs(1));
        }
    }
    let mut line = Line { text: [0; 256], length: 0 };
    line.push(b"fpstore: out of memory: the system refuses ");
    line.push_number(bytes);
    line.push(b" bytes; allow more (`ulimit -v`, the limit of the container), or give a smaller --memory\n");
    // SAFETY: the bytes live until the call returns; nothing can be done where they cannot be
    // written.
    unsafe { libc::write(libc::STDERR_FILENO, line.text.as_ptr().cast(), line.length) };
    // SAFETY: ends the process without running anything, as a kill does.
    unsafe { libc::_exit(2) }
}

/// Where there are no such limits, memory ends otherwise.
#[cfg(not(unix))]
fn end(_bytes: usize) {}

/// A line in a fixed place.
#[cfg(unix)]
struct Line {
    text: [u8; 256],
    length: usize,
}

#[cfg(unix)]
impl Line {
    /// Appends what there is room for.
    fn push(&mut self, text: &[u8]) {
        for (to, &byte) in self.text[self.length..].iter_mut().zip(text) {
            *to = byte;
            self.length += 1;
        }
    }

    fn push_number(&mut self, number: usize) {
        let (mut digits, mut at, mut rest) = ([0; 20], 20, number);
        loop {
            at -= 1;
            digits[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        self.push(&digits[at..]);
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_without_memory() {
        for number in [0, 7, 10, 4096, usize::MAX] {
            let mut line = Line { text: [0; 256], length: 0 };
            line.push(b"<");
            line.push_number(number);
            line.push(b">");
            assert_eq!(&line.text[..line.length], format!("<{number}>").as_bytes());
        }
    }

    #[test]
    fn a_reservation_that_may_fail_does() {
        // What nobody looks at, the compiler need not ask the system for.
        let bytes = std::hint::black_box(isize::MAX as usize - 64);
        let reserve = || {
            // SAFETY: the layout has a size, and what is given is not used.
            std::hint::black_box(unsafe { OrEnd.alloc(Layout::from_size_align(bytes, 1).unwrap()) })
        };
        assert!(fallibly(reserve).is_null());
    }
}
