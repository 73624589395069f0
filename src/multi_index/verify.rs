//! Checks every byte of an index.

use super::MultiIndex;
use super::base::BodyFile;
use super::kernel::{Filled, Probe, Run};
use super::part::PartTable;
use crate::error::{Corruption, Result};
use crate::fingerprint::Fingerprint;
use crate::format::GROUP_KEYS;
use crate::set_sum;
use crate::tasks;

/// Rows, or groups of keys, that one task checks.
const TASK: u64 = 1 << 14;

impl BodyFile {
    /// Checks the CRCs of all chunks; the first of the errors is that of the first chunk.
    fn verify_chunks(&self) -> Result<()> {
        self.chunks.check_all(&self.bytes).map_err(|bad| self.chunk_error(bad))
    }
}

impl<F: Fingerprint> MultiIndex<F> {
    /// Checks all that opening the files did not: every chunk, that the rows ascend and have the
    /// set sum, and that each part table has every row once, under its key.
    pub(crate) fn verify(&self, done: &(dyn Fn(u64) -> Result<()> + Sync)) -> Result<()> {
        self.verify_base(done)?;
        self.parts.iter().try_for_each(|part| self.verify_part(part, done))
    }

    fn verify_base(&self, done: &(dyn Fn(u64) -> Result<()> + Sync)) -> Result<()> {
        let base = &self.base;
        base.file.verify_chunks()?;
        let count = base.count();
        let check = |task: u64| {
            let (start, end) = (task * TASK, count.min((task + 1) * TASK));
            let mut last = start.checked_sub(1).map(|before| base.row(before)).transpose()?;
            let mut sum = 0u128;
            for row in start..end {
                let fingerprint = base.row(row)?;
                if last.is_some_and(|last| last >= fingerprint) {
                    return Err(base.file.error(base.place(row), Corruption::BaseOrder { row }));
                }
                last = Some(fingerprint);
                sum = sum.wrapping_add(set_sum::term_of(fingerprint));
            }
            done(end - start)?;
            Ok(sum)
        };
        let sums = tasks::try_map(0..count.div_ceil(TASK), check)?;
        if sums.into_iter().fold(0, u128::wrapping_add) != base.header().set_sum {
            return Err(base.file.error(0, Corruption::BaseSetSum));
        }
        Ok(())
    }

    fn verify_part(
        &self,
        part: &PartTable<F>,
        done: &(dyn Fn(u64) -> Result<()> + Sync),
    ) -> Result<()> {
        part.file.verify_chunks()?;
        let groups = 1u64 << part.group_bits();
        let check = |task: u64| {
            let (start, end) = (task * TASK, groups.min((task + 1) * TASK));
            let (mut runs, mut rows, mut pairs) = (Filled::default(), Filled::default(), 0u64);
            for group in start..end {
                let span = part.span(group as usize)?;
                pairs = pairs.saturating_add(self.verify_group(part, group, &mut runs, &mut rows)?);
                done(span.rows() as u64)?;
            }
            Ok(pairs)
        };
        let pairs = tasks::try_map(0..groups.div_ceil(TASK), check)?;
        let computed = pairs.into_iter().fold(0, u64::saturating_add);
        let found = part.header.coincidences;
        if found != computed {
            return Err(part.file.error(0, Corruption::PartCoincidences { found, computed }));
        }
        part.verify_padding()
    }

    /// Checks the rows of a group; gives its coincidences.
    fn verify_group(
        &self,
        part: &PartTable<F>,
        group: u64,
        runs: &mut Filled<Run>,
        rows: &mut Filled<u32>,
    ) -> Result<u64> {
        let span = part.span(group as usize)?;
        if !part.is_sound(span) {
            return Err(part.group_error(group as usize));
        }
        let (mut place, mut pairs) = (span.first, 0u64);
        for key in 0..GROUP_KEYS {
            runs.clear();
            rows.clear();
            let probe = Probe { part: 0, group: group as u32, keys: 1 << key };
            part.find(self.level, (&[probe], None), runs)?;
            let Some(&run) = runs.first() else { continue };
            part.rows(self.level, (&[run], &self.base), rows)?;
            for (at, &row) in rows.iter().enumerate() {
                let is_under = part.keys.key(self.level, self.base.row(row.into())?)
                    == group * GROUP_KEYS + key;
                let ascends = at == 0 || rows[at - 1] < row;
                if !is_under || !ascends {
                    let place = (place + at) as u64;
                    return Err(part.file.error(0, Corruption::PartOrder { place }));
                }
            }
            let length = u64::from(run.length);
            pairs = pairs.saturating_add(length.saturating_mul(length - 1));
            place += run.length as usize;
        }
        Ok(pairs)
    }
}

impl<F: Fingerprint> PartTable<F> {
    /// Checks that what fills the last words is zero.
    fn verify_padding(&self) -> Result<()> {
        let (count, keys) = (self.header.count as usize, 1usize << self.header.key_bits);
        let used = [
            (&self.geometry.starts, keys / GROUP_KEYS as usize * 32),
            (&self.geometry.marks, count + keys),
            (&self.geometry.rows, count * self.geometry.row_bits as usize),
        ];
        for (piece, bits) in used {
            let bytes = &self.file.bytes[piece.clone()];
            let first = bytes.get(bits / 8).map_or(0, |byte| byte >> (bits % 8));
            let rest = bytes.get(bits / 8 + 1..).unwrap_or_default();
            if first != 0 || rest.iter().any(|&byte| byte != 0) {
                return Err(self.file.error(piece.start + bits / 8, Corruption::PartPadding));
            }
        }
        Ok(())
    }
}
