//! A list of atomic words that grows by pages and never moves.

use std::sync::OnceLock;
use std::sync::atomic::AtomicU64;

/// Entries of a page.
const PAGE: usize = 1 << 10;

/// Entries of `N` words each, at most as many as were said at first. All are 0 before they are written.
pub(super) struct Pages<const N: usize> {
    pages: Box<[OnceLock<Box<[Entry<N>]>>]>,
}

/// Some words in a line of the cache, if they fill one.
#[repr(align(32))]
pub(super) struct Entry<const N: usize>(pub(super) [AtomicU64; N]);

impl<const N: usize> Pages<N> {
    /// Room for `capacity` entries, which is taken page by page.
    pub(super) fn new(capacity: usize) -> Self {
        Self { pages: (0..capacity.div_ceil(PAGE)).map(|_| OnceLock::new()).collect() }
    }

    /// Entry `number`, if its page is there.
    #[inline]
    pub(super) fn get(&self, number: usize) -> Option<&[AtomicU64; N]> {
        let page = self.pages.get(number / PAGE)?.get()?;
        page.get(number % PAGE).map(|entry| &entry.0)
    }

    /// Entry `number`, whose page comes to be; `None` behind the capacity.
    #[inline]
    pub(super) fn get_or_grow(&self, number: usize) -> Option<&[AtomicU64; N]> {
        let new_entry = |_| Entry([const { AtomicU64::new(0) }; N]);
        let page = self.pages.get(number / PAGE)?;
        let page = page.get_or_init(|| (0..PAGE).map(new_entry).collect());
        page.get(number % PAGE).map(|entry| &entry.0)
    }

    /// Bytes of the pages that are there.
    pub(super) fn bytes(&self) -> u64 {
        let pages = self.pages.iter().filter(|page| page.get().is_some()).count();
        (pages * PAGE * size_of::<Entry<N>>()) as u64
    }
}
