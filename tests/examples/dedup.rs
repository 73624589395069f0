//! Removes near duplicates from a list of documents: one of each cluster is kept.
//!
//! ```sh
//! cargo run --release --example dedup
//! ```

use std::collections::BTreeSet;

use fpstore::query::Keep;
use fpstore::{Error, Packer, Store};

/// Documents as (fingerprint, number). Any 64-bit fingerprint of documents will do.
const DOCUMENTS: [(u64, u64); 6] = [
    (0xF0F0_1234_5678_9ABC, 0),
    (0x0123_4567_89AB_CDEF, 1),
    // Two bits from document 0, and the same as document 1.
    (0xF0F0_1234_5678_9ABF, 2),
    (0x0123_4567_89AB_CDEF, 3),
    (0xFFFF_0000_FFFF_0000, 4),
    // One bit from document 2, so in the cluster of document 0.
    (0xF0F0_1234_5678_9ABE, 5),
];

/// The numbers of the documents that are kept, of those within `k` bits of each other one.
fn kept(k: u32) -> Result<BTreeSet<u64>, Error> {
    let directory = std::env::temp_dir().join("fpstore-dedup.fps");
    Packer::new().replace(true).pack_with_ids(&directory, DOCUMENTS)?;
    let store = Store::open(&directory)?;
    let clusters = store.clusters(k).keep(Keep::SmallestId).run()?;
    let mut kept = BTreeSet::new();
    for at in clusters.iter().filter(|at| at.kept()) {
        // The first document of those with this very fingerprint.
        kept.extend(store.ids::<u64>(at.fingerprint)?.next().transpose()?);
    }
    let summary = clusters.summary();
    println!(
        "{} documents: {} exact and {} near duplicates, {} kept",
        summary.documents, summary.exact_duplicates, summary.near_duplicates, summary.clusters
    );
    let _ = std::fs::remove_dir_all(&directory);
    Ok(kept)
}

fn main() -> Result<(), Error> {
    println!("kept: {:?}", kept(3)?);
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn one_document_of_each_cluster_is_kept() {
        assert_eq!(super::kept(3).unwrap().into_iter().collect::<Vec<_>>(), [0, 1, 4]);
    }
}
