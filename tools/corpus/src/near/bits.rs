//! Documents whose fingerprints differ in few bits.

use std::path::Path;

use fpstore::{Execution, Fingerprint, Layout, Packer, Prefer, Searcher, Store};

use super::index::{Index, Near};
use crate::error::Error;
use crate::ledger::Notes;
use crate::per_thread::PerThread;
use crate::width;

/// Documents that are packed together.
const PIECE: usize = 1 << 13;

/// A store of the fingerprints of documents, with their numbers as ids.
pub struct BitsIndex<'a, F: Fingerprint> {
    notes: &'a Notes,
    store: Store<F>,
    k: u32,
    searchers: PerThread<(Searcher<F>, Vec<u8>)>,
}

impl<'a, F: Fingerprint> BitsIndex<'a, F> {
    /// Packs the fingerprints of `documents` into a store at `path`, in place of one that is there.
    pub fn new(
        notes: &'a Notes,
        documents: impl Iterator<Item = u32>,
        k: u32,
        path: &Path,
        execution: Execution,
        threads: usize,
    ) -> Result<Self, Error> {
        // Queries are as many as fingerprints.
        let packer = Packer::new().width::<F>().layout(Layout::new().k(k).prefer(Prefer::Speed));
        let store = pack(notes, documents, packer.execution(execution), path)?;
        let searchers = PerThread::new(threads, || (store.searcher(), Vec::new()));
        Ok(Self { notes, store, k, searchers })
    }
}

/// Packs the fingerprints of documents, with their numbers as ids, into a store at `path`, in place
/// of one that is there.
pub fn pack<F: Fingerprint>(
    notes: &Notes,
    documents: impl Iterator<Item = u32>,
    packer: Packer<F>,
    path: &Path,
) -> Result<Store<F>, Error> {
    let mut session = packer.replace(true).start(path)?;
    let (mut piece, mut bytes) = (Vec::with_capacity(PIECE), Vec::new());
    let mut notes = notes.in_order()?;
    session.extend_with_ids::<u64>(&[])?;
    for document in documents {
        notes.signature(document, &mut bytes)?;
        piece.push((F::from_be_slice(&bytes).unwrap_or_default(), u64::from(document)));
        if piece.len() == PIECE {
            session.extend_with_ids(&piece)?;
            piece.clear();
        }
    }
    session.extend_with_ids(&piece)?;
    session.finish()?;
    width::open::<F>(path)
}

impl<F: Fingerprint> Index for BitsIndex<'_, F> {
    fn near(&self, document: u32, found: &mut Vec<Near>) -> Result<(), Error> {
        self.searchers.with(|(searcher, bytes)| {
            self.notes.signature(document, bytes)?;
            let fingerprint = F::from_be_slice(bytes).unwrap_or_default();
            for near in searcher.search(fingerprint, self.k)? {
                for id in self.store.ids::<u64>(near.fingerprint)? {
                    let other = u32::try_from(id?).unwrap_or(u32::MAX);
                    if other != document {
                        let difference = near.distance as u16;
                        found.push(Near { document: other, difference, jaccard: f32::NAN });
                    }
                }
            }
            Ok(())
        })
    }
}
