//! The bytes of a file: mapped, or read into memory.
//!
//! The only module, besides vector instructions, with `unsafe` code.

#![allow(unsafe_code)]

use std::fs::File;
use std::io::{self, Read};
use std::ops::{Deref, Range};

use memmap2::{Mmap, MmapMut};

/// Bytes of a line of the cache.
#[cfg_attr(not(any(target_arch = "x86_64", target_arch = "aarch64")), allow(dead_code))]
const LINE_BYTES: usize = 64;

/// Bytes of a large page of the system.
const LARGE_PAGE_BYTES: usize = 2 << 20;

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

    /// Asks the system to have these bytes read, and does not wait for them. Has no effect on bytes
    /// that are in memory, but for the time of a system call.
    pub(crate) fn will_need(&self, bytes: Range<usize>) {
        #[cfg(unix)]
        self.advise(memmap2::Advice::WillNeed, bytes);
        #[cfg(not(unix))]
        let _ = bytes;
    }

    /// Tells the system that of these bytes some here and there will be needed: where one is not in
    /// memory, it reads the page alone. Elsewhere it reads much around it, which takes
    /// milliseconds.
    pub(crate) fn are_random(&self, bytes: Range<usize>) {
        #[cfg(unix)]
        self.advise(memmap2::Advice::Random, bytes);
        #[cfg(not(unix))]
        let _ = bytes;
    }

    #[cfg(unix)]
    fn advise(&self, advice: memmap2::Advice, bytes: Range<usize>) {
        if let Self::Mapped(map) = self {
            // Advice that is not taken does no harm.
            let _ = map.advise_range(advice, bytes.start, bytes.len());
        }
    }

    /// Whether the page of this byte would have to be read first, as far as the system tells: it
    /// tells who may write the file. A system call.
    pub(crate) fn is_absent(&self, at: usize) -> bool {
        #[cfg(target_os = "linux")]
        if let Self::Mapped(map) = self
            && let Some(byte) = map.get(at)
        {
            let page = std::ptr::from_ref(byte).map_addr(|address| address & !(page_bytes() - 1));
            let mut is_here = 1u8;
            // SAFETY: the page begins at a multiple of its size and has a byte of the mapping, so
            // it is mapped, and for one page one byte is written. Nothing is written to the page.
            let failed = unsafe { libc::mincore(page.cast_mut().cast(), 1, &raw mut is_here) };
            return failed == 0 && is_here & 1 == 0;
        }
        let _ = at;
        false
    }

    /// Reads the whole of `file` into memory: a large one into large pages, where the system gives
    /// them. With pages of 4 KiB nearly every look of a search into a store of some hundred MiB
    /// waits for the place of its page first: 10% to 28% more time for a search of 256 bits within
    /// 31.
    pub(crate) fn read(mut file: &File) -> io::Result<Self> {
        let length = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
        if length >= LARGE_PAGE_BYTES {
            let mut map = MmapMut::map_anon(length)?;
            // Advice that is not taken does no harm.
            #[cfg(target_os = "linux")]
            let _ = map.advise(memmap2::Advice::HugePage);
            file.read_exact(&mut map)?;
            return map.make_read_only().map(Self::Mapped);
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(Self::Owned(bytes))
    }
}

/// Bytes of a page of the system.
#[cfg(target_os = "linux")]
fn page_bytes() -> usize {
    rustix::param::page_size()
}

/// Asks the CPU to bring `bytes` into its cache, or the first [`MAX_PREFETCH_BYTES`] of them: more
/// would drive out what it has. Has no other effect.
#[inline]
pub(crate) fn prefetch(bytes: &[u8]) {
    prefetch_into::<true>(bytes);
}

/// As [`prefetch`], into the second-level cache: for bytes that are needed so much later that in
/// the first level they would drive out what is needed before.
#[inline]
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
pub(crate) fn prefetch_early(bytes: &[u8]) {
    prefetch_into::<false>(bytes);
}

#[inline(always)]
fn prefetch_into<const FIRST_LEVEL: bool>(bytes: &[u8]) {
    let length = bytes.len().min(MAX_PREFETCH_BYTES);
    let start = bytes.as_ptr();
    // From the middle of a line on, the last byte may lie in one line more.
    let misaligned = start.addr() % LINE_BYTES;
    for offset in (0..length + misaligned).step_by(LINE_BYTES) {
        ask::<FIRST_LEVEL>(start.wrapping_add(offset));
    }
}

/// Asks the CPU to bring `length` bytes from offset `start` of `bytes` on, where a line begins,
/// into its cache. Has no other effect, even behind the end of `bytes`.
#[inline(always)]
pub(crate) fn prefetch_lines(bytes: &[u8], start: usize, length: usize) {
    let mut line = bytes.as_ptr().wrapping_add(start);
    let end = line.wrapping_add(length);
    while line < end {
        ask::<true>(line);
        line = line.wrapping_add(LINE_BYTES);
    }
}

/// Asks the CPU to bring `items[at]` into its cache, if there is one. Has no other effect.
#[inline(always)]
pub(crate) fn prefetch_one<T>(items: &[T], at: usize) {
    if let Some(item) = items.get(at) {
        ask::<true>(std::ptr::from_ref(item).cast());
    }
}

/// Asks the CPU to bring the line at any address into its first cache, or into its second one.
#[inline(always)]
fn ask<const FIRST_LEVEL: bool>(line: *const u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _MM_HINT_T1, _mm_prefetch};
        // SAFETY: every x86-64 CPU has the instruction, and it takes any address.
        unsafe {
            if FIRST_LEVEL {
                _mm_prefetch::<_MM_HINT_T0>(line.cast());
            } else {
                _mm_prefetch::<_MM_HINT_T1>(line.cast());
            }
        }
    }
    #[cfg(target_arch = "aarch64")]
    {
        use std::arch::asm;
        // SAFETY: every 64-bit ARM has the instruction, it takes any address, and changes nothing.
        unsafe {
            if FIRST_LEVEL {
                asm!("prfm pldl1keep, [{}]", in(reg) line, options(nostack, preserves_flags, readonly));
            } else {
                asm!("prfm pldl2keep, [{}]", in(reg) line, options(nostack, preserves_flags, readonly));
            }
        }
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = line;
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

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn what_was_read_is_not_absent_and_what_is_not_there_neither() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&vec![7; 3 * LARGE_PAGE_BYTES + 5]).unwrap();
        let bytes = Bytes::map(&file).unwrap();
        for at in [0, 1, LARGE_PAGE_BYTES - 1, 3 * LARGE_PAGE_BYTES + 4] {
            assert_eq!(bytes[at], 7);
            assert!(!bytes.is_absent(at), "{at}");
        }
        assert!(!bytes.is_absent(bytes.len()));
        assert!(!bytes.is_absent(usize::MAX));
        assert!(!Bytes::Owned(vec![1]).is_absent(0));
    }
}
