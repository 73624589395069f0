//! What is left of a segment.

use std::ops::Range;

use super::outcome::SegmentLoss;
use super::{base, tables};
use crate::access::ReadFiles;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::format::{IndexKind, SegmentEntry};
use crate::ids::IdColumn;

/// The fingerprints that can still be read, and their ids.
pub(super) struct Salvaged<F> {
    /// Ascending.
    pub(super) fingerprints: Vec<F>,
    /// Where the ranks of these are known: the first place among them, and its rank.
    ranks: Vec<(usize, u64)>,
    ids: Option<IdColumn>,
    pub(super) loss: SegmentLoss,
}

impl<F: Fingerprint> Salvaged<F> {
    /// Reads the files of a segment, as far as they are sound. Takes as many bytes of memory as its
    /// fingerprints have, and with tables twice as many where blocks are damaged.
    pub(super) fn read(files: &dyn ReadFiles, entry: &SegmentEntry) -> Self {
        let mut loss = SegmentLoss::of(entry);
        let open = |blocks| {
            let column = entry.ids.as_ref().map(|ids| IdColumn::open(files, entry, ids, blocks));
            column.transpose()
        };
        let (fingerprints, ranks, ids) = match entry.index {
            IndexKind::Tables => {
                let (fingerprints, runs) = tables::read::<F>(files, entry, &mut loss);
                let ids = open(tables::block_count(&runs));
                let ranks = match &ids {
                    Ok(Some(ids)) => tables::ranks(&fingerprints, entry.count, &runs, ids),
                    _ => Vec::new(),
                };
                (fingerprints, ranks, ids)
            }
            IndexKind::Parts => {
                let (fingerprints, rows) = base::read::<F>(files, entry, &mut loss);
                (fingerprints, rows, open(Some(0)))
            }
        };
        loss.fingerprints = entry.count.saturating_sub(fingerprints.len() as u64);
        let ids = ids.unwrap_or_else(|error| {
            loss.reasons.push(error.to_string());
            None
        });
        Self { fingerprints, ranks, ids, loss }
    }

    /// The number of ids that the segment held, where that can be told.
    pub(super) fn id_count(&self) -> Option<u64> {
        self.ids.as_ref().map(IdColumn::id_count)
    }

    /// The ids of the fingerprint at a place, as far as they can be read; `None` where nobody knows
    /// which they are.
    pub(super) fn ids(&self, place: usize) -> Option<Vec<u64>> {
        let column = self.ids.as_ref()?;
        let known = self.ranks.partition_point(|&(first, _)| first <= place).checked_sub(1)?;
        let (first, rank) = *self.ranks.get(known)?;
        let rank = rank.checked_add((place - first) as u64).filter(|_| rank < u64::MAX)?;
        let numbers: Result<Range<u64>> = column.of_rank(rank);
        Some(numbers.ok()?.filter_map(|number| column.id(number).ok()).collect())
    }
}
