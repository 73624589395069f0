//! Checks every byte of an ids file.

use std::ops::Range;
use std::sync::Arc;

use byteorder::{ByteOrder, LittleEndian as LE};

use super::reader::IdColumn;
use crate::error::{Corruption, Result};
use crate::format::GROUP_MARKS;
use crate::names::NameColumn;
use crate::table::Table;
use crate::tasks;

impl IdColumn {
    /// Checks all that opening the file did not: every chunk, that the ranks are those of the
    /// blocks of `table`, if there is one, that there are as many marks as the directory says, that
    /// the ids of each fingerprint ascend, padding, and that there is one of `names` for each id.
    pub(crate) fn verify(
        &self,
        table: Option<&Table>,
        names: Option<&Arc<NameColumn>>,
    ) -> Result<()> {
        self.chunks.check_all(&self.bytes).map_err(|bad| self.chunk_error(bad))?;
        table.map_or(Ok(()), |table| self.verify_ranks(table))?;
        self.verify_marks()?;
        self.verify_order()?;
        self.verify_padding()?;
        names.map_or(Ok(()), |names| self.verify_numbers(names.len()))
    }

    fn verify_ranks(&self, table: &Table) -> Result<()> {
        let mut expected = 0;
        for block in 0..self.header.block_count {
            let found = self.rank(block)?;
            if found != expected {
                let corruption = Corruption::BlockRank { block, found, expected };
                return Err(self.error(self.geometry.ranks.start, corruption));
            }
            expected += u64::from(table.key_count(block)?);
        }
        Ok(())
    }

    fn verify_marks(&self) -> Result<()> {
        for group in 0..self.groups() {
            let fail = || self.error(self.group(group).start, Corruption::Marks { group });
            let mut words = self.bytes[self.group(group)].chunks_exact(8).map(LE::read_u64);
            if group == 0 && words.clone().next().is_none_or(|word| word & 1 == 0) {
                return Err(fail());
            }
            let mut found: u64 = words.clone().map(|word| u64::from(word.count_ones())).sum();
            let mut after = self.header.count;
            if group + 1 < self.groups() {
                after = self.marks_before(group + 1);
            } else if let (Some(last), behind @ 1..) =
                (words.next_back(), behind(self.header.id_count, 1))
            {
                // What stands behind the last mark is padding.
                found -= u64::from((last >> (64 - behind)).count_ones());
            }
            if Some(found) != after.checked_sub(self.marks_before(group)) {
                return Err(fail());
            }
        }
        Ok(())
    }

    fn verify_order(&self) -> Result<()> {
        if !self.header.has_marks() {
            return Ok(());
        }
        let marks = &self.bytes[self.geometry.marks.clone()];
        let verify_group = |group: u64| {
            let start = group * GROUP_MARKS;
            for number in start..(start + GROUP_MARKS).min(self.header.id_count) {
                let is_first = marks[number as usize / 8] >> (number % 8) & 1 == 1;
                if !is_first && number > 0 && self.id(number - 1)? >= self.id(number)? {
                    let corruption = Corruption::IdOrder { id: number };
                    return Err(self.error(self.geometry.ids.start, corruption));
                }
            }
            Ok(())
        };
        tasks::try_map(0..self.groups(), verify_group).map(drop)
    }

    /// Checks that all ids are numbers of one of so many names.
    fn verify_numbers(&self, names: u64) -> Result<()> {
        for number in 0..self.header.id_count {
            let id = self.id(number)?;
            if id >= names {
                let corruption = Corruption::NameNumber { id, names };
                return Err(self.error(self.geometry.ids.start, corruption));
            }
        }
        Ok(())
    }

    fn verify_padding(&self) -> Result<()> {
        let (header, geometry) = (&self.header, &self.geometry);
        let parts: [(&Range<usize>, u64, u32); 3] = [
            (&geometry.ranks, header.block_count, geometry.rank_bits),
            (&geometry.marks, header.id_count, 1),
            (&geometry.ids, header.id_count, header.id_bits.into()),
        ];
        for (part, entries, bits) in parts {
            let behind = behind(entries, bits);
            let last =
                self.bytes[part.clone()].last_chunk().map_or(0, |word| u64::from_le_bytes(*word));
            if behind > 0 && last >> (64 - behind) != 0 {
                return Err(self.error(part.end - 8, Corruption::IdsPadding));
            }
        }
        Ok(())
    }
}

/// Bits of the last word behind so many entries.
fn behind(entries: u64, bits: u32) -> u32 {
    let used = (u128::from(entries) * u128::from(bits)) % 64;
    (64 - used as u32) % 64
}
