//! What takes words.

/// Takes words.
pub(crate) trait Sink {
    /// A word, in UTF-8, and where it stands in the text.
    fn word(&mut self, word: &[u8], start: usize);
}

impl<F: FnMut(&[u8], usize)> Sink for F {
    #[inline]
    fn word(&mut self, word: &[u8], start: usize) {
        self(word, start);
    }
}
