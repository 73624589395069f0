//! Ids on their way to a segment: of sorted pairs, in memory or in temporary files.

use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::ids::IdSource;
use crate::sort::{self, Create, Extent, SortedRuns, Spill};

/// Ids that are handed on together.
const PIECE: usize = 1 << 13;

/// The ids of a pack, in the order of their fingerprints.
pub(crate) struct PackedIds<F: Fingerprint, T> {
    from: From<F, T>,
    pub(crate) count: u64,
    pub(crate) greatest: u64,
}

enum From<F: Fingerprint, T> {
    /// Sorted pairs.
    Memory(Vec<F::WithId>),
    /// The ids in one file, their marks in words in another.
    Spilled { ids: T, marks: T },
}

impl<F: Fingerprint, T: Spill> PackedIds<F, T> {
    /// Of sorted pairs without repeats; gives their fingerprints as well.
    pub(crate) fn of_pairs(pairs: Vec<F::WithId>) -> (Vec<F>, Self) {
        let of = |pair: &F::WithId| F::of_pair(pair).0;
        let starts = || pairs.chunk_by(|a, b| of(a) == of(b));
        let mut set = Vec::with_capacity(starts().count());
        set.extend(starts().map(|pairs| of(&pairs[0])));
        let count = pairs.len() as u64;
        let greatest = pairs.iter().map(|pair| F::of_pair(pair).1).max().unwrap_or(0);
        (set, Self { from: From::Memory(pairs), count, greatest })
    }

    /// Merges runs of pairs: the ids go to temporary files, the fingerprints to `sink`, in pieces.
    /// Gives also the number of bytes of these files.
    pub(crate) fn merge(
        runs: SortedRuns<F::WithId, T>,
        create: Create<'_, T>,
        sink: &mut dyn FnMut(&[F]) -> Result<()>,
    ) -> Result<(Self, u64)> {
        let (ids, marks) = (create()?, create()?);
        let (mut count, mut greatest, mut last) = (0u64, 0, None);
        let (mut fingerprints, mut piece) = (Vec::new(), Vec::new());
        let mut words = Marks { file: &marks, words: Vec::new(), written: 0, open: 0, filled: 0 };
        runs.merge(&mut |pairs| {
            for pairs in pairs.chunks(PIECE) {
                fingerprints.clear();
                piece.clear();
                for pair in pairs {
                    let (fingerprint, id) = F::of_pair(pair);
                    let is_first = last != Some(fingerprint);
                    last = Some(fingerprint);
                    if is_first {
                        fingerprints.push(fingerprint);
                    }
                    words.push(is_first)?;
                    piece.push(id);
                    greatest = id.max(greatest);
                }
                sort::write(&ids, &piece, count)?;
                count += piece.len() as u64;
                sink(&fingerprints)?;
            }
            Ok(())
        })?;
        let bytes = 8 * (count + words.finish()?);
        Ok((Self { from: From::Spilled { ids, marks }, count, greatest }, bytes))
    }
}

/// Marks on their way to a file.
struct Marks<'a, T> {
    file: &'a T,
    words: Vec<u64>,
    written: u64,
    open: u64,
    filled: u32,
}

impl<T: Spill> Marks<'_, T> {
    fn push(&mut self, mark: bool) -> Result<()> {
        self.open |= u64::from(mark) << self.filled;
        self.filled += 1;
        if self.filled < 64 {
            return Ok(());
        }
        self.words.push(std::mem::take(&mut self.open));
        self.filled = 0;
        if self.words.len() == PIECE { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> Result<()> {
        sort::write(self.file, &self.words, self.written)?;
        self.written += self.words.len() as u64;
        self.words.clear();
        Ok(())
    }

    /// Writes what is left; gives the number of words.
    fn finish(mut self) -> Result<u64> {
        if self.filled > 0 {
            self.words.push(self.open);
        }
        if !self.words.is_empty() {
            self.write()?;
        }
        Ok(self.written)
    }
}

impl<F: Fingerprint, T: Spill> IdSource for PackedIds<F, T> {
    fn visit_marks(&mut self, sink: &mut dyn FnMut(&[u64]) -> Result<()>) -> Result<()> {
        match &self.from {
            From::Memory(pairs) => {
                let mut last = None;
                let mut words = Vec::with_capacity(PIECE);
                for pairs in pairs.chunks(64 * PIECE) {
                    words.clear();
                    words.extend(pairs.chunks(64).map(|pairs| {
                        pairs.iter().zip(0..).fold(0u64, |word, (pair, bit)| {
                            let (fingerprint, _) = F::of_pair(pair);
                            let is_first = last != Some(fingerprint);
                            last = Some(fingerprint);
                            word | u64::from(is_first) << bit
                        })
                    }));
                    sink(&words)?;
                }
                Ok(())
            }
            From::Spilled { marks, .. } => read(marks, self.count.div_ceil(64), sink),
        }
    }

    fn visit_ids(&mut self, sink: &mut dyn FnMut(&[u64]) -> Result<()>) -> Result<()> {
        match &self.from {
            From::Memory(pairs) => {
                let mut ids = Vec::with_capacity(PIECE);
                for pairs in pairs.chunks(PIECE) {
                    ids.clear();
                    ids.extend(pairs.iter().map(|pair| F::of_pair(pair).1));
                    sink(&ids)?;
                }
                Ok(())
            }
            From::Spilled { ids, .. } => read(ids, self.count, sink),
        }
    }
}

/// Gives the first `len` words of a file to `sink`, in pieces.
fn read(file: &impl Spill, len: u64, sink: &mut dyn FnMut(&[u64]) -> Result<()>) -> Result<()> {
    let mut words = vec![0; PIECE];
    for piece in sort::pieces(Extent { at: 0, len }, PIECE) {
        let words = &mut words[..piece.len as usize];
        sort::read(file, words, piece.at)?;
        sink(words)?;
    }
    Ok(())
}
