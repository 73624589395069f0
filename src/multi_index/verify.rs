//! Checks every byte of an index, and says what can be read of a damaged one.

use std::marker::PhantomData;
use std::ops::Range;

use byteorder::{ByteOrder, LittleEndian as LE};

use super::MultiIndex;
use super::base::{Base, BodyFile};
use super::kernel::{Filled, Probe, Run};
use super::part::PartTable;
use crate::access::ReadFiles;
use crate::chunked::Chunks;
use crate::error::{Corruption, Error, Result};
use crate::fingerprint::{Fingerprint, of_file_bytes};
use crate::format::{
    self, BaseHeader, CHUNK_BYTES, GROUP_KEYS, PartHeader, SegmentEntry, chunk_crc,
};
use crate::mapped::Bytes;
use crate::{set_sum, tasks};

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

/// A base of which neither header nor directory need be sound: the manifest says what stands in the
/// one, and each CRC of the other proves its chunk. The file may be cut.
pub(crate) struct SalvageBase<F> {
    bytes: Bytes,
    header_crc: u32,
    /// Where rows and CRCs stand in the whole file.
    rows: Range<usize>,
    crcs_at: usize,
    /// Whether the rows are those of the set, whatever the CRCs say.
    is_whole: bool,
    width: PhantomData<F>,
}

impl<F: Fingerprint> SalvageBase<F> {
    /// Rows of a chunk; none is cut by its end.
    pub(crate) const CHUNK_ROWS: usize = CHUNK_BYTES / Base::<F>::ROW;

    /// Opens the base of a segment.
    ///
    /// # Errors
    ///
    /// Where the file is missing, or the manifest says what no base can be.
    pub(crate) fn open(files: &dyn ReadFiles, segment: &SegmentEntry) -> Result<Self> {
        let (path, bytes) = BodyFile::bytes(files, &format::base_name(segment.number))?;
        let entry = segment.tables.first().ok_or(Error::Ended)?;
        let body = BaseHeader::salvage_body(&bytes, entry, (F::BITS as u16, segment.count));
        let body = body.map_err(|defect| defect.in_file(&path))?;
        let (rows, crcs_at) = (body.body, body.chunk_crcs.start);
        let header_crc = entry.header_crc;
        let mut base =
            Self { bytes, header_crc, rows, crcs_at, is_whole: false, width: PhantomData };
        base.is_whole = base.has_sum(segment.set_sum);
        Ok(base)
    }

    /// Number of chunks.
    pub(crate) fn chunk_count(&self) -> usize {
        self.rows.len().div_ceil(CHUNK_BYTES)
    }

    /// The bytes of a chunk, if the file has them.
    fn bytes(&self, chunk: usize) -> Option<&[u8]> {
        let start = self.rows.start + chunk * CHUNK_BYTES;
        self.bytes.get(start..self.rows.end.min(start + CHUNK_BYTES))
    }

    /// Whether a chunk and its CRC agree.
    pub(crate) fn is_proven(&self, chunk: usize) -> bool {
        let crc_at = self.crcs_at + 4 * chunk;
        let found = self.bytes.get(crc_at..crc_at + 4).map(LE::read_u32);
        let computed =
            self.bytes(chunk).map(|bytes| chunk_crc(self.header_crc, chunk as u64, bytes));
        found.is_some() && found == computed
    }

    /// The rows of a chunk, if they are known to be those of the set.
    pub(crate) fn chunk(&self, chunk: usize) -> Option<impl Iterator<Item = F>> {
        let is_known = self.is_whole || self.is_proven(chunk);
        let bytes = self.bytes(chunk).filter(|_| is_known)?;
        Some(bytes.chunks_exact(Base::<F>::ROW).filter_map(of_file_bytes::<F>))
    }

    /// Whether the rows ascend, and have this sum: then they are those of the set.
    fn has_sum(&self, set_sum: u128) -> bool {
        let Some(rows) = self.bytes.get(self.rows.clone()) else { return false };
        let rows = || rows.chunks_exact(Base::<F>::ROW).filter_map(of_file_bytes::<F>);
        let sum = rows().map(set_sum::term_of).fold(0, u128::wrapping_add);
        sum == set_sum && rows().is_sorted_by(|one, next| one < next)
    }
}

/// The number of chunks of a part table that are damaged.
///
/// # Errors
///
/// Where header or directory are damaged, or the file is missing.
pub(crate) fn damaged_chunks(
    files: &dyn ReadFiles,
    segment: &SegmentEntry,
    part: usize,
) -> Result<u64> {
    let (path, bytes) = BodyFile::bytes(files, &format::part_name(segment.number, part))?;
    let entry = segment.tables.get(part + 1).ok_or(Error::Ended)?;
    let body = PartHeader::salvage_body(&bytes, entry).and_then(|body| {
        body.check_directory(&bytes, entry)?;
        Ok(body)
    });
    let body = body.map_err(|defect| defect.in_file(&path))?;
    let chunks = Chunks::new(body.body, body.chunk_crcs.start, entry.header_crc);
    let damaged = (0..chunks.count()).filter(|&chunk| chunks.check_chunk(&bytes, chunk).is_err());
    Ok(damaged.count() as u64)
}
