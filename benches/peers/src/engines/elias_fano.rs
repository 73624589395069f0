//! Four Elias-Fano sequences of the package `sux`, in memory, with the keys of the raw arrays: a
//! search goes from the successor of the smallest key with its prefix to the last such key.

use sux::dict::{EfDict, EliasFanoBuilder};
use sux::traits::{SuccIter, TryIntoUnaligned};

use super::{Engine, QUARTERS, RADIUS, Search, rotate, rotate_back, table, unite};
use crate::Result;

/// A sequence with selection over its upper bits, and lower bits that are read unaligned, which is
/// the faster way.
type Sequence = <EfDict<u64> as TryIntoUnaligned>::Unaligned;

/// One sequence per quarter.
pub struct Sequences {
    tables: Vec<Sequence>,
}

impl Sequences {
    pub fn build(set: &[u64]) -> Result<Self> {
        let sequence = |number| -> Result<Sequence> {
            let keys = table(set, number);
            let mut builder = EliasFanoBuilder::new(keys.len(), keys.last().copied().unwrap_or(0));
            builder.extend(keys);
            Ok(builder.build_with_dict().try_into_unaligned()?)
        };
        Ok(Self { tables: (0..QUARTERS).map(sequence).collect::<Result<_>>()? })
    }
}

impl Engine for Sequences {
    fn searcher(&self) -> Search<'_> {
        Box::new(|query, matches| {
            matches.clear();
            let runs: [_; QUARTERS as usize] = std::array::from_fn(|number| {
                let first = rotate(query, number as u32) >> 48 << 48;
                self.tables[number].iter_from_succ(first)
            });
            for (number, run) in (0..).zip(runs) {
                let Some((_, keys)) = run else { continue };
                let query = rotate(query, number);
                for key in keys {
                    if (key ^ query) >> 48 != 0 {
                        break;
                    }
                    if (key ^ query).count_ones() <= RADIUS {
                        matches.push(rotate_back(key, number));
                    }
                }
            }
            unite(matches);
        })
    }

    fn file_bytes(&self) -> u64 {
        0
    }
}
