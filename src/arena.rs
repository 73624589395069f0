//! Lists of numbers that stand one after the other in memory, in large pages of the system as far as they fill these.
//!
//! Where searches look here and there into some MiB, each look waits for the place of its page first: there are too many of 4 KiB.

#![allow(unsafe_code)]

use std::alloc::{Layout, alloc, dealloc};
use std::ops::Deref;
use std::ptr::NonNull;
use std::slice;
use std::sync::Arc;

use crate::error::{Error, Result};

/// Bytes of a line of the cache.
const LINE_BYTES: usize = 64;
/// Bytes of a large page of the system.
const LARGE_PAGE_BYTES: usize = 2 << 20;

/// A number of up to 64 bits.
pub(crate) trait Number: Copy + Default {}

impl Number for u32 {}
impl Number for u64 {}

/// Memory for some lists.
pub(crate) struct Arena {
    memory: Arc<Memory>,
    /// What no list has.
    rest: NonNull<u8>,
    rest_bytes: usize,
}

/// Memory of the heap.
#[derive(Debug)]
struct Memory {
    start: NonNull<u8>,
    layout: Layout,
}

/// Numbers in the memory of an arena, from the start of a line of the cache on.
#[derive(Debug)]
pub(crate) struct List<T> {
    /// Is there as long as the list; `None` of one without room.
    _memory: Option<Arc<Memory>>,
    start: NonNull<T>,
    /// Numbers that have been written: those of the list, and once it is full zeros up to the end of its last line.
    written: usize,
    length: usize,
    room: usize,
}

// SAFETY: this owns what it points to, and looks at none of it.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}
// SAFETY: the numbers belong to their list alone, as those of a vector do, and any thread may free memory.
unsafe impl<T: Number + Send> Send for List<T> {}
// SAFETY: who shares a list only reads it.
unsafe impl<T: Number + Sync> Sync for List<T> {}

impl Arena {
    /// For lists of so many bytes in all, by [`list_bytes`]. The system gives pages of it only where something is written.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub(crate) fn with_room(bytes: usize) -> Result<Self> {
        let is_large = bytes >= LARGE_PAGE_BYTES;
        let align = if is_large { LARGE_PAGE_BYTES } else { LINE_BYTES };
        let too_much = Error::OutOfMemory { bytes: bytes as u64 };
        let Ok(layout) = Layout::from_size_align(bytes.max(LINE_BYTES), align) else {
            return Err(too_much);
        };
        // SAFETY: there are some bytes.
        let Some(start) = NonNull::new(unsafe { alloc(layout) }) else { return Err(too_much) };
        // One more large page at the end would take memory that no list has.
        #[cfg(target_os = "linux")]
        if is_large {
            let whole = bytes / LARGE_PAGE_BYTES * LARGE_PAGE_BYTES;
            // SAFETY: these pages belong to the memory. Advice that is not taken does no harm.
            unsafe { libc::madvise(start.as_ptr().cast(), whole, libc::MADV_HUGEPAGE) };
        }
        let memory = Arc::new(Memory { start, layout });
        Ok(Self { memory, rest: start, rest_bytes: bytes })
    }

    /// An empty list with room for so many numbers; for none if that is more than is left.
    pub(crate) fn list<T: Number>(&mut self, room: usize) -> List<T> {
        let bytes = usize::try_from(list_bytes::<T>(room as u64)).unwrap_or(usize::MAX);
        if bytes > self.rest_bytes {
            return List::default();
        }
        let start = self.rest.cast();
        // SAFETY: the memory has so many bytes from there on.
        self.rest = unsafe { self.rest.add(bytes) };
        self.rest_bytes -= bytes;
        List { _memory: Some(self.memory.clone()), start, written: 0, length: 0, room }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: `alloc` gave it for this layout, and no list is left.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}

impl<T: Number> List<T> {
    /// Numbers of a line.
    const LINE: usize = LINE_BYTES / size_of::<T>();

    /// Adds numbers, as far as there is room.
    pub(crate) fn extend(&mut self, numbers: &[T]) {
        for number in numbers {
            self.fill_up(self.length + 1, *number);
        }
    }

    /// Adds a number until there are so many, as far as there is room.
    #[inline]
    pub(crate) fn fill_up(&mut self, length: usize, number: T) {
        if self.length >= length.min(self.room) {
            return;
        }
        while self.length < length.min(self.room) {
            self.write(number);
            self.length += 1;
        }
        while self.length == self.room && !self.written.is_multiple_of(Self::LINE) {
            self.write(T::default());
        }
    }

    /// Writes a number behind the others. Only where the last one of the room has not been written, or others of its line.
    #[inline]
    fn write(&mut self, number: T) {
        // SAFETY: room ends with a line, and no one else reads or writes it.
        unsafe { self.start.add(self.written).write(number) };
        self.written += 1;
    }

    /// The numbers of a full list, and zeros up to the end of its last line of the cache; of one that is not full the numbers alone.
    #[inline(always)]
    pub(crate) fn lines(&self) -> &[T] {
        // SAFETY: as for `deref`. Once a list is full, its last line is.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.written) }
    }

    /// Bytes that it takes once it is full.
    pub(crate) fn bytes(&self) -> u64 {
        list_bytes::<T>(self.room as u64)
    }
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self { _memory: None, start: NonNull::dangling(), written: 0, length: 0, room: 0 }
    }
}

impl<T: Number> Deref for List<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: so many numbers have been written from `start` on, which is a multiple of the size of a line, and `memory` is there as long as the list
        // is. Of a list without room there are none.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }
}

/// Bytes that a list with room for so many numbers takes: whole lines of the cache.
pub(crate) fn list_bytes<T: Number>(room: u64) -> u64 {
    let bytes = room.saturating_mul(size_of::<T>() as u64);
    bytes.checked_next_multiple_of(LINE_BYTES as u64).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_stand_in_lines_one_after_the_other_and_share_no_bytes() {
        let (keys, starts) = (100_001, 70_003);
        let bytes = 2 * (list_bytes::<u64>(keys) + list_bytes::<u32>(starts));
        assert_eq!(bytes, 2 * (12_501 * 64 + 4_376 * 64));
        let mut arena = Arena::with_room(bytes as usize).unwrap();
        let mut of_keys = [(); 2].map(|()| arena.list::<u64>(keys as usize));
        let mut of_starts = [(); 2].map(|()| arena.list::<u32>(starts as usize));
        assert_eq!(arena.list::<u32>(1).bytes(), 0, "nothing is left");
        for number in 0..keys {
            of_keys.iter_mut().for_each(|list| list.extend(&[u64::MAX - number]));
        }
        for (list, most) in of_starts.iter_mut().zip([u32::MAX, 7]) {
            list.fill_up(3, most);
            list.fill_up(2, 0);
            list.fill_up(starts as usize + 100, most - 1);
        }
        drop(arena);
        for list in &mut of_keys {
            assert_eq!(list.as_ptr().align_offset(LINE_BYTES), 0);
            assert!(list.iter().copied().eq((0..keys).map(|number| u64::MAX - number)));
            assert_eq!(
                (list.lines().len(), &list.lines()[keys as usize..]),
                (100_008, &[0; 7][..])
            );
            // There is no more room.
            list.extend(&[1]);
            assert_eq!(list.len() as u64, keys);
        }
        for (list, most) in of_starts.iter().zip([u32::MAX, 7]) {
            assert_eq!(list.len() as u64, starts);
            let (first, others) = list.split_at(3);
            assert!(first == [most; 3] && others.iter().all(|start| *start == most - 1));
        }
        let [first, second] = of_keys;
        drop(first);
        assert_eq!(second[7], u64::MAX - 7);
    }

    #[test]
    fn an_empty_list_has_no_room() {
        let mut list = Arena::with_room(0).unwrap().list::<u64>(1);
        list.extend(&[1, 2]);
        list.fill_up(3, 1);
        assert!(list.is_empty() && list.lines().is_empty());
        assert_eq!((list.bytes(), list_bytes::<u64>(0)), (0, 0));
        assert_eq!(list_bytes::<u64>(u64::MAX), u64::MAX);
        assert!(matches!(Arena::with_room(usize::MAX), Err(Error::OutOfMemory { .. })));
    }
}
