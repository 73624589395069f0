//! The stores that are measured.

use std::path::Path;

use fpstore::{OpenOptions, PackSummary, Packer, Store};
use fpstore_cli::failure::Failure;

/// A store of so many uniform fingerprints, in memory. Its files are gone as soon as it is open.
pub(super) fn store(
    directory: &Path,
    packer: Packer,
    count: u64,
) -> Result<(Store, PackSummary), Failure> {
    let path = directory.join("calibration.fps");
    let summary = packer.replace(true).pack(&path, (0..count).map(fingerprint))?;
    let store = OpenOptions::new().in_memory(true).open(&path)?;
    remove(&path)?;
    // Checksums are verified here, and not later.
    store.verify()?;
    Ok((store, summary))
}

/// Removes a store.
pub(super) fn remove(path: &Path) -> Result<(), Failure> {
    let removed = std::fs::remove_dir_all(path);
    removed.map_err(|source| Failure::File { path: path.to_path_buf(), action: "remove", source })
}

/// Fingerprint number `i` of a uniform set (SplitMix64).
pub(super) fn fingerprint(i: u64) -> u64 {
    let x = i.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}
