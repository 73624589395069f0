//! The bytes of a file: mapped, or read into memory.
//!
//! The only module, besides vector instructions, with `unsafe` code.

#![allow(unsafe_code)]

use std::fs::File;
use std::io::{self, Read};
use std::ops::Deref;

use memmap2::Mmap;

/// What [`prefetch`] asks for at most.
const MAX_PREFETCH_BYTES: usize = 8192;

/// The bytes of a file that does not change while they are in use.
#[derive(Debug)]
pub(crate) enum Bytes {
    Mapped(Mmap),
    Owned(Vec<u8>),
}

impl Bytes {
    /// Maps `file`. Reading costs nothing until a page is touched.
    pub(crate) fn map(file: &File) -> io::Result<Self> {
        // SAFETY: a mapping is unsound if the file changes while a reference into it is alive.
        // Writers of this crate never change a file of a store: they create files under new names
        // and delete old ones, which leaves a mapping as it is. Another program that writes
        // into the file breaks the promise that the documents of `Store` ask of the user; all
        // that is read is checked before it is used as an index, so such bytes give wrong keys or
        // an error. A file that is cut short raises SIGBUS, as those documents say.
        unsafe { Mmap::map(file) }.map(Self::Mapped)
    }

    /// Reads the whole of `file` into memory.
    pub(crate) fn read(mut file: &File) -> io::Result<Self> {
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(Self::Owned(bytes))
    }
}

/// Asks the CPU to bring `bytes` into its cache, or the first [`MAX_PREFETCH_BYTES`] of them: more
/// would drive out what it has. Has no other effect.
#[inline]
pub(crate) fn prefetch(bytes: &[u8]) {
    const LINE_BYTES: usize = 64;
    #[cfg(target_arch = "x86_64")]
    for line in bytes[..bytes.len().min(MAX_PREFETCH_BYTES)].chunks(LINE_BYTES) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: every x86-64 CPU has the instruction, it takes any address, and this one is that
        // of a slice.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (bytes, LINE_BYTES, MAX_PREFETCH_BYTES);
}

impl Deref for Bytes {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Owned(bytes) => bytes,
        }
    }
}
