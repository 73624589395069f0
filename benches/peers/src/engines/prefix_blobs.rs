//! How a key-value store holds four tables: under each prefix of 16 bits, the sorted keys as one
//! blob of u64, which is scanned where it lies.

use super::{QUARTERS, RADIUS, rotate, rotate_back, unite};
use crate::scan::Scanner;

/// Bytes of keys per fingerprint, in all tables.
pub const KEY_BYTES: u64 = 8 * QUARTERS as u64;

/// The prefixes of a table of sorted keys, ascending, each with its blob.
pub fn blobs(keys: &[u64]) -> impl Iterator<Item = (u16, Vec<u8>)> {
    let prefix = |key: u64| (key >> 48) as u16;
    keys.chunk_by(move |&a, &b| prefix(a) == prefix(b)).map(move |run| {
        let blob = run.iter().flat_map(|key| key.to_le_bytes()).collect();
        (prefix(run[0]), blob)
    })
}

/// Searches by one `get` per table, which gives the blob of a prefix to a function.
pub fn search(
    scanner: Scanner,
    query: u64,
    matches: &mut Vec<u64>,
    mut get: impl FnMut(usize, u16, &mut dyn FnMut(&[u8])),
) {
    matches.clear();
    for number in 0..QUARTERS {
        let query = rotate(query, number);
        get(number as usize, (query >> 48) as u16, &mut |blob| {
            let (keys, _) = blob.as_chunks::<8>();
            scanner.scan(keys, query, RADIUS, |key| matches.push(rotate_back(key, number)));
        });
    }
    unite(matches);
}
