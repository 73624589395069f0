//! All pairs of documents whose fingerprints differ in few bits, found by one join.
//!
//! A join compares fingerprints that lie side by side, where a search for each document would
//! gather them from all over the store. But a large cluster has as many pairs as the square of its
//! documents, of which a star asks for few; so beyond a number of pairs they are given up, and
//! documents are searched for after all. What is near what is the same.

use std::ops::ControlFlow;
use std::path::Path;

use fpstore::query::JoinEvent;
use fpstore::{Execution, Fingerprint, Layout, PackSession, Packer, Store};

use super::index::{Index, Near};
use crate::error::Error;
use crate::width;

/// Pairs for each fingerprint beyond which searches are cheaper.
const MOST_PAIRS: u64 = 32;
/// Entries that are packed together.
const PIECE: usize = 1 << 13;
/// Bits of an entry that hold the difference; those above hold the other document.
const DIFFERENCE_BITS: u32 = 16;

/// A store in which each document has the documents near it as its ids.
pub struct PairIndex {
    store: Store<u64>,
    /// A bit for each document: whether there are any. Most have none, and to find that in the
    /// store takes some microseconds.
    paired: Vec<u64>,
}

impl PairIndex {
    /// Joins a store whose ids are documents, and packs what is near what at `path`, in place of
    /// what is there; `None` where there are too many pairs.
    pub fn join<F: Fingerprint>(
        of: &Store<F>,
        k: u32,
        path: &Path,
        joining: Execution,
        packing: Execution,
    ) -> Result<Option<Self>, Error> {
        let packer = Packer::new().layout(Layout::new().k(0)).execution(packing).replace(true);
        let session = packer.start(path)?;
        let left = MOST_PAIRS.saturating_mul(of.len());
        let piece = Vec::with_capacity(2 * PIECE);
        let mut entries = Entries { session, piece, paired: Vec::new(), left };
        entries.pass_on()?;
        // Documents with the same fingerprint are no pair of a join.
        for next in of.iter_with_ids::<u64>() {
            let (_, ids) = next?;
            if ids.len() < 2 {
                continue;
            }
            let same = ids.collect::<Result<Vec<u64>, _>>()?;
            for (at, &one) in same.iter().enumerate() {
                if entries.pairs(&[one], &same[at + 1..], 0)?.is_break() {
                    return Ok(None);
                }
            }
        }
        let (mut ones, mut others) = (Vec::new(), Vec::new());
        let joined = of.self_join(k).execution(joining).run(|event| {
            let JoinEvent::Pairs(pairs) = event else { return Ok(()) };
            for pair in pairs {
                documents_of(of, pair.a, &mut ones)?;
                documents_of(of, pair.b, &mut others)?;
                if entries.pairs(&ones, &others, pair.distance)?.is_break() {
                    return Err(Stopped::TooMany);
                }
            }
            Ok(())
        });
        match joined {
            Ok(_) => {}
            Err(Stopped::TooMany) => return Ok(None),
            Err(Stopped::Failed(failure)) => return Err(failure),
        }
        entries.pass_on()?;
        entries.session.finish()?;
        Ok(Some(Self { store: width::open::<u64>(path)?, paired: entries.paired }))
    }
}

/// Why a join ends early.
enum Stopped {
    TooMany,
    Failed(Error),
}

impl From<Error> for Stopped {
    fn from(failure: Error) -> Self {
        Self::Failed(failure)
    }
}

impl From<fpstore::Error> for Stopped {
    fn from(error: fpstore::Error) -> Self {
        Self::Failed(error.into())
    }
}

fn documents_of<F: Fingerprint>(
    of: &Store<F>,
    fingerprint: F,
    to: &mut Vec<u64>,
) -> Result<(), Error> {
    to.clear();
    for id in of.ids(fingerprint)? {
        to.push(id?);
    }
    Ok(())
}

/// What is packed.
struct Entries {
    session: PackSession<u64>,
    piece: Vec<(u64, u64)>,
    paired: Vec<u64>,
    /// Pairs that may come.
    left: u64,
}

impl Entries {
    /// Adds the pairs of each of some documents with each of others; breaks where that are too
    /// many.
    fn pairs(
        &mut self,
        ones: &[u64],
        others: &[u64],
        distance: u32,
    ) -> Result<ControlFlow<()>, Error> {
        let count = ones.len() as u64 * others.len() as u64;
        let Some(left) = self.left.checked_sub(count) else { return Ok(ControlFlow::Break(())) };
        self.left = left;
        let entry = |other: u64| other << DIFFERENCE_BITS | u64::from(distance);
        for document in ones.iter().chain(others) {
            let word = (document / 64) as usize;
            self.paired.resize(self.paired.len().max(word + 1), 0);
            self.paired[word] |= 1 << (document % 64);
        }
        for &one in ones {
            for &other in others {
                self.piece.extend([(one, entry(other)), (other, entry(one))]);
                if self.piece.len() >= PIECE {
                    self.pass_on()?;
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn pass_on(&mut self) -> Result<(), Error> {
        self.session.extend_with_ids(&self.piece)?;
        self.piece.clear();
        Ok(())
    }
}

impl Index for PairIndex {
    fn near(&self, document: u32, found: &mut Vec<Near>) -> Result<(), Error> {
        let word = self.paired.get(document as usize / 64).copied().unwrap_or_default();
        if word >> (document % 64) & 1 == 0 {
            return Ok(());
        }
        for entry in self.store.ids::<u64>(document.into())? {
            let entry = entry?;
            let other = u32::try_from(entry >> DIFFERENCE_BITS).unwrap_or(u32::MAX);
            found.push(Near { document: other, difference: entry as u16, jaccard: f32::NAN });
        }
        Ok(())
    }
}
