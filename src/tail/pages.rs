//! A list of entries that grows by pages and never moves.

use std::ops::Range;
use std::sync::OnceLock;

/// Entries of a page.
const PAGE: usize = 1 << 10;

/// Entries of atomic words, at most as many as were said at first. All are 0 before they are
/// written.
pub(super) struct Pages<E> {
    pages: Box<[OnceLock<Box<[E]>>]>,
}

impl<E: Default> Pages<E> {
    /// Room for `capacity` entries, which is taken page by page.
    pub(super) fn new(capacity: usize) -> Self {
        Self { pages: (0..capacity.div_ceil(PAGE)).map(|_| OnceLock::new()).collect() }
    }

    /// Entry `number`, if its page is there.
    #[inline]
    pub(super) fn get(&self, number: usize) -> Option<&E> {
        self.pages.get(number / PAGE)?.get()?.get(number % PAGE)
    }

    /// Entry `number`, whose page comes to be; `None` behind the capacity.
    #[inline]
    pub(super) fn get_or_grow(&self, number: usize) -> Option<&E> {
        let page = self.pages.get(number / PAGE)?;
        let page = page.get_or_init(|| (0..PAGE).map(|_| E::default()).collect());
        page.get(number % PAGE)
    }

    /// Runs of entries that are there, of those with these numbers, each with the number of its
    /// first.
    pub(super) fn runs(&self, numbers: Range<usize>) -> impl Iterator<Item = (usize, &[E])> {
        let pages = numbers.start / PAGE..numbers.end.div_ceil(PAGE);
        pages.filter_map(move |number| {
            let first = number * PAGE;
            let page = self.pages.get(number)?.get()?;
            let of_page = numbers.start.max(first) - first..(numbers.end - first).min(PAGE);
            Some((first + of_page.start, page.get(of_page)?))
        })
    }

    /// Bytes of the pages that are there.
    pub(super) fn bytes(&self) -> u64 {
        let pages = self.pages.iter().filter(|page| page.get().is_some()).count();
        (pages * PAGE * size_of::<E>()) as u64
    }
}
