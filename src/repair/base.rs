//! What the base of a segment still holds. Its part tables hold nothing else.

use super::outcome::SegmentLoss;
use crate::access::ReadFiles;
use crate::fingerprint::Fingerprint;
use crate::format::SegmentEntry;
use crate::multi_index::{Base, SalvageBase, damaged_chunks};

/// The fingerprints that stand in sound chunks, ascending, and where the numbers of their rows are
/// known: the first place among them, and its row.
pub(super) fn read<F: Fingerprint>(
    files: &dyn ReadFiles,
    entry: &SegmentEntry,
    loss: &mut SegmentLoss,
) -> (Vec<F>, Vec<(usize, u64)>) {
    let (mut fingerprints, mut rows) = (Vec::new(), Vec::new());
    match SalvageBase::<F>::open(files, entry) {
        Ok(base) => {
            // Damage of header or directory costs nothing, and is told.
            loss.reasons.extend(Base::<F>::open(files, entry).err().map(|error| error.to_string()));
            for chunk in 0..base.chunk_count() {
                let is_proven = base.is_proven(chunk);
                loss.blocks += u64::from(!is_proven);
                let Some(own) = base.chunk(chunk) else { continue };
                let before = fingerprints.len();
                fingerprints.extend(own);
                if fingerprints[before.saturating_sub(1)..].is_sorted_by(|one, next| one < next) {
                    rows.push((before, (chunk * SalvageBase::<F>::CHUNK_ROWS) as u64));
                } else {
                    // What does not ascend is no base, whatever its CRC says.
                    fingerprints.truncate(before);
                    loss.blocks += u64::from(is_proven);
                }
            }
        }
        Err(error) => {
            loss.tables += 1;
            loss.reasons.push(error.to_string());
        }
    }
    for part in 0..entry.tables.len().saturating_sub(1) {
        match damaged_chunks(files, entry, part) {
            Ok(chunks) => loss.blocks += chunks,
            Err(error) => {
                loss.tables += 1;
                loss.reasons.push(error.to_string());
            }
        }
    }
    (fingerprints, rows)
}
