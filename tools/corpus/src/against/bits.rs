//! Stores of fingerprints.

use std::path::Path;

use fpstore::{Fingerprint, Id, IdKind, Store};
use fpstore_records::write::hex;
use rayon::prelude::*;

use super::Searching;
use crate::cluster::NONE;
use crate::error::Error;
use crate::fates::OldMatch;
use crate::ledger::{Notes, SIGNED};
use crate::per_thread::PerThread;
use crate::width::open;

/// For each document that is near some of the store the nearest of these; of several, the least
/// fingerprint, and its least id.
pub fn near<F: Fingerprint>(
    (path, k): (&Path, u32),
    documents: &[u32],
    searching: &Searching<'_>,
) -> Result<Vec<(u32, OldMatch)>, Error> {
    let Searching { notes, pool, .. } = *searching;
    let store = open::<F>(path)?;
    let searchers = PerThread::new(pool.current_num_threads(), || store.searcher());
    let found: Vec<Option<(u32, OldMatch)>> = pool.install(|| {
        let found = documents.par_iter().map(|&document| {
            let mut bytes = Vec::new();
            notes.signature(document, &mut bytes)?;
            let fingerprint = F::from_be_slice(&bytes).unwrap_or_default();
            let nearest = searchers.with(|searcher| {
                let found = searcher.search(fingerprint, k)?;
                Ok::<_, Error>(found.first().map(|found| (found.fingerprint, found.distance)))
            })?;
            let Some((fingerprint, distance)) = nearest else { return Ok(None) };
            let id = name(&store, fingerprint)?;
            Ok(Some((document, OldMatch { id, distance })))
        });
        found.collect::<Result<_, Error>>()
    })?;
    Ok(found.into_iter().flatten().collect())
}

/// What the first document with a fingerprint is called.
fn name<F: Fingerprint>(store: &Store<F>, fingerprint: F) -> Result<String, Error> {
    let id = store.ids::<Id>(fingerprint)?.next().transpose()?;
    Ok(id.map_or_else(|| hex(fingerprint), |id| id.to_string()))
}

/// The fingerprints of documents that are added.
pub struct Records<'a> {
    pub notes: &'a Notes,
    /// Whether a document is added, if it has a fingerprint.
    pub added: &'a dyn Fn(u32) -> bool,
}

impl<F: Fingerprint> super::Records<F> for Records<'_> {
    fn each(&self, kind: IdKind, take: super::Take<'_, F>) -> Result<(), Error> {
        let (notes, mut bytes) = (self.notes, Vec::new());
        let mut in_order = notes.in_order()?;
        for document in 0..notes.documents {
            if !(self.added)(document) || notes.kinds[document as usize] != SIGNED {
                continue;
            }
            in_order.signature(document, &mut bytes)?;
            let fingerprint = F::from_be_slice(&bytes).unwrap_or_default();
            if !take(&[(fingerprint, id(document, notes, kind)?)])? {
                break;
            }
        }
        Ok(())
    }
}

/// The id of a document in a store with ids of this kind.
fn id(document: u32, notes: &Notes, kind: IdKind) -> Result<Id, Error> {
    let id = notes.id(document)?;
    Ok(match kind {
        // Ids were checked when they were read.
        IdKind::Number => Id::Number(id.parse().unwrap_or(u64::from(NONE))),
        _ => Id::Text(id),
    })
}
