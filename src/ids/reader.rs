//! Reads the file of the ids of a segment, one fingerprint after the other or by rank.

use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use byteorder::{ByteOrder, LittleEndian as LE};

use crate::access::ReadFiles;
use crate::chunked::{BadChunk, Chunks};
use crate::error::{Corruption, Error, Result};
use crate::format::{self, Defect, GROUP_MARKS, IdsEntry, IdsGeometry, IdsHeader, SegmentEntry};
use crate::id::{IdKind, IdRef, MOST_NAME_BYTES};
use crate::mapped::Bytes;

/// The open ids of a segment. Any number of threads may use it.
pub(crate) struct IdColumn {
    path: PathBuf,
    pub(super) bytes: Bytes,
    pub(super) header: IdsHeader,
    pub(super) geometry: IdsGeometry,
    pub(super) chunks: Chunks,
}

impl IdColumn {
    /// Opens the ids of a segment, whose identity table has so many blocks, if that is known. Reads
    /// and checks the header and the directory; chunks are read when they are needed.
    pub(crate) fn open(
        files: &dyn ReadFiles,
        segment: &SegmentEntry,
        entry: &IdsEntry,
        block_count: Option<u64>,
    ) -> Result<Self> {
        let name = format::ids_name(segment.number);
        let path = files.path(&name);
        let bytes = files.bytes(&name).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => Defect::corrupt(0, Corruption::IdsMissing).in_file(&path),
            _ => Error::io(&path, "open the ids")(source),
        })?;
        let table_crc = segment.tables.first().map_or(0, |table| table.header_crc);
        let of_table = (table_crc, segment.count, block_count);
        let header = IdsHeader::decode(&bytes, entry, of_table)
            .and_then(|header| header.check_directory(&bytes, entry).map(|()| header))
            .map_err(|defect| defect.in_file(&path))?;
        let geometry = header.geometry();
        let chunks = Chunks::new(geometry.body(), geometry.chunk_crcs.start, entry.header_crc);
        Ok(Self { path, bytes, header, geometry, chunks })
    }

    /// Number of ids.
    pub(crate) fn id_count(&self) -> u64 {
        self.header.id_count
    }

    /// Bytes of the file.
    pub(crate) fn file_bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Bytes in the heap, besides the file where it is in memory.
    pub(crate) fn heap_bytes(&self) -> u64 {
        self.chunks.heap_bytes()
    }

    /// The numbers of the ids of the fingerprint at a place of the identity table.
    pub(crate) fn of_position(&self, block: u64, key: u64) -> Result<Range<u64>> {
        let first = self.rank(block)?;
        let count = self.header.count;
        let Some(rank) = first.checked_add(key).filter(|&rank| rank < count) else {
            let corruption = Corruption::BlockRank { block, found: first, expected: count };
            return Err(self.error(self.geometry.ranks.start, corruption));
        };
        self.of_rank(rank)
    }

    /// The numbers of the ids of the fingerprint with so many less ones in the segment.
    pub(crate) fn of_rank(&self, rank: u64) -> Result<Range<u64>> {
        let count = self.header.count;
        if !self.header.has_marks() {
            return Ok(rank..rank + 1);
        }
        let start = self.marked(rank)?;
        let end = if rank + 1 < count { self.marked(rank + 1)? } else { self.header.id_count };
        if start >= end {
            let group = start / GROUP_MARKS;
            return Err(self.error(self.geometry.marks.start, Corruption::Marks { group }));
        }
        Ok(start..end)
    }

    /// The numbers, among those of one fingerprint, of the ids in a list; ids and list ascend.
    pub(crate) fn find(&self, numbers: Range<u64>, ids: &[u64]) -> Result<Vec<u64>> {
        let mut found = Vec::new();
        for &id in ids {
            let (mut start, mut end) = (numbers.start, numbers.end);
            while start < end {
                let middle = start + (end - start) / 2;
                if self.id(middle)? < id { start = middle + 1 } else { end = middle }
            }
            if start < numbers.end && self.id(start)? == id {
                found.push(start);
            }
        }
        Ok(found)
    }

    /// The number behind the ids of the fingerprint whose first id has number `start`.
    pub(super) fn next_start(&self, start: u64) -> Result<u64> {
        let count = self.header.id_count;
        let mut number = start.saturating_add(1);
        if start >= count {
            // There are more fingerprints than marks.
            let group = self.groups().saturating_sub(1);
            return Err(self.error(self.geometry.marks.start, Corruption::Marks { group }));
        }
        if !self.header.has_marks() {
            return Ok(number);
        }
        while number < count {
            // [IDS-2]: all marks lie in the file, in whole words.
            let at = self.geometry.marks.start + number as usize / 64 * 8;
            self.check(at..at + 8)?;
            let marks = LE::read_u64(&self.bytes[at..]) >> (number % 64);
            if marks != 0 {
                return Ok(count.min(number + u64::from(marks.trailing_zeros())));
            }
            number = (number / 64 + 1) * 64;
        }
        Ok(count)
    }

    /// The rank of the first fingerprint of a block of the identity table.
    pub(crate) fn rank(&self, block: u64) -> Result<u64> {
        self.entry(&self.geometry.ranks, self.geometry.rank_bits, block)
    }

    /// Id number `number`.
    #[inline]
    pub(crate) fn id(&self, number: u64) -> Result<u64> {
        self.entry(&self.geometry.ids, self.header.id_bits.into(), number)
    }

    /// Greater than all of its ids; 2^64 - 1 if one of them is. Reads all of them. Where they are
    /// damaged it is greater than what their bits hold.
    pub(crate) fn next_id(&self) -> u64 {
        let most = || u64::MAX.checked_shr(64 - u32::from(self.header.id_bits)).unwrap_or(0);
        let mut ids = (0..self.header.id_count).map(|number| self.id(number));
        let greatest = ids.try_fold(0, |greatest, id| Ok::<u64, Error>(id?.max(greatest)));
        greatest.unwrap_or_else(|_| most()).saturating_add(1)
    }

    /// Entry `number` of a part of entries of `bits` bits, from 0 to 64.
    #[inline]
    fn entry(&self, part: &Range<usize>, bits: u32, number: u64) -> Result<u64> {
        if bits == 0 {
            return Ok(0);
        }
        // [IDS-2]: all entries lie in the file.
        let bit = number as usize * bits as usize;
        let (first, last) = (part.start + bit / 8, part.start + (bit + bits as usize - 1) / 8);
        self.check(first..last + 1)?;
        let mut window = [0; 16];
        let bytes = &self.bytes[first..last + 1];
        window[..bytes.len()].copy_from_slice(bytes);
        let value = (u128::from_le_bytes(window) >> (bit % 8)) as u64;
        Ok(value & (u64::MAX >> (64 - bits)))
    }

    /// The number of the id with mark number `rank`, which is less than the number of all.
    fn marked(&self, rank: u64) -> Result<u64> {
        // The last group with no more marks before it; the first has none.
        let (mut group, mut end) = (0, self.groups());
        while end - group > 1 {
            let middle = group + (end - group) / 2;
            if self.marks_before(middle) <= rank { group = middle } else { end = middle }
        }
        let at = self.group(group);
        self.check(at.clone())?;
        let mut left = rank.saturating_sub(self.marks_before(group));
        for (number, word) in self.bytes[at].chunks_exact(8).map(LE::read_u64).enumerate() {
            let ones = u64::from(word.count_ones());
            if left < ones {
                // Without the marks before it, the lowest that is left is the one.
                let rest = (0..left).fold(word, |word, _| word & (word - 1));
                let id =
                    group * GROUP_MARKS + 64 * number as u64 + u64::from(rest.trailing_zeros());
                if id < self.header.id_count {
                    return Ok(id);
                }
                break;
            }
            left -= ones;
        }
        Err(self.error(self.geometry.marks.start, Corruption::Marks { group }))
    }

    /// Number of groups of marks.
    pub(super) fn groups(&self) -> u64 {
        (self.geometry.mark_counts.len() / 8) as u64
    }

    /// The bytes of a group of marks.
    pub(super) fn group(&self, group: u64) -> Range<usize> {
        let marks = &self.geometry.marks;
        let bytes = GROUP_MARKS as usize / 8;
        let start = marks.start + group as usize * bytes;
        start..(start + bytes).min(marks.end)
    }

    /// Number of marks before a group, by the directory.
    pub(super) fn marks_before(&self, group: u64) -> u64 {
        LE::read_u64(&self.bytes[self.geometry.mark_counts.start + 8 * group as usize..])
    }

    /// Checks the CRCs of the chunks that hold bytes of the file, unless some thread has done it
    /// since the file was opened.
    #[inline]
    fn check(&self, bytes: Range<usize>) -> Result<()> {
        self.chunks.check(&self.bytes, bytes).map_err(|bad| self.chunk_error(bad))
    }

    /// The error for a chunk whose CRC is wrong.
    #[cold]
    pub(super) fn chunk_error(&self, bad: BadChunk) -> Error {
        let BadChunk { chunk, offset, found, computed } = bad;
        self.error(offset, Corruption::ChunkChecksum { chunk, found, computed })
    }

    /// The error for a rule that the bytes at `offset` break.
    pub(super) fn error(&self, offset: usize, corruption: Corruption) -> Error {
        Defect::corrupt(offset, corruption).in_file(&self.path)
    }
}

/// A place among the ids of a segment, at first before the first fingerprint.
pub(crate) struct IdCursor {
    column: Arc<IdColumn>,
    /// The number of the first id of the next fingerprint.
    start: u64,
}

impl IdCursor {
    pub(crate) fn new(column: Arc<IdColumn>) -> Self {
        Self { column, start: 0 }
    }

    /// The numbers of the ids of the next fingerprint in the order of the identity table; goes on
    /// to the one after it. Reads the marks in order.
    pub(crate) fn advance(&mut self) -> Result<(&Arc<IdColumn>, Range<u64>)> {
        let start = self.start;
        self.start = self.column.next_start(start)?;
        Ok((&self.column, start..self.start))
    }
}

/// Checks that an id is of the kind of a store and can be stored.
///
/// # Errors
///
/// [`Error::IdKinds`], [`Error::Name`].
pub(crate) fn check_kind(kind: IdKind, id: IdRef<'_>) -> Result<()> {
    let name = |bytes: usize, fits: bool| {
        if fits { Ok(()) } else { Err(Error::Name { bytes, kind }) }
    };
    match (kind, id) {
        (IdKind::Number, IdRef::Number(_))
        | (IdKind::Uuid, IdRef::Uuid(_))
        | (IdKind::Number128, IdRef::Number128(_)) => Ok(()),
        (IdKind::Text, IdRef::Text(text)) => name(text.len(), text.len() <= MOST_NAME_BYTES),
        (IdKind::Bytes(width), IdRef::Bytes(bytes)) => {
            name(bytes.len(), bytes.len() == usize::from(width))
        }
        _ => Err(Error::IdKinds { stored: kind, other: id.kind() }),
    }
}

/// The size of the ids of a segment and what they are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IdStats {
    /// Number of pairs of a fingerprint and an id.
    pub ids: u64,
    /// Number of fingerprints.
    pub fingerprints: u64,
    /// Bits of each id: those of the greatest one.
    pub id_bits: u32,
    /// Bytes of the ids themselves.
    pub id_bytes: u64,
    /// Bytes that tell which ids belong to which fingerprint: 0 where each has one.
    pub multiplicity_bytes: u64,
    /// Bytes that tell which fingerprints stand in which block.
    pub rank_bytes: u64,
    /// Bytes of the file; with header and checksums.
    pub file_bytes: u64,
}

impl IdStats {
    /// Bits of the file per fingerprint; 0 if there is none.
    pub fn bits_per_fingerprint(&self) -> f64 {
        self.bits_per(self.file_bytes)
    }

    /// Bits per fingerprint of all but the ids themselves; 0 if there is no fingerprint.
    pub fn overhead_bits_per_fingerprint(&self) -> f64 {
        self.bits_per(self.file_bytes - self.id_bytes)
    }

    fn bits_per(&self, bytes: u64) -> f64 {
        if self.fingerprints == 0 { 0.0 } else { 8.0 * bytes as f64 / self.fingerprints as f64 }
    }
}

impl IdColumn {
    /// What the ids take.
    pub(crate) fn stats(&self) -> IdStats {
        let geometry = &self.geometry;
        IdStats {
            ids: self.header.id_count,
            fingerprints: self.header.count,
            id_bits: self.header.id_bits.into(),
            id_bytes: geometry.ids.len() as u64,
            multiplicity_bytes: (geometry.marks.len() + geometry.mark_counts.len()) as u64,
            rank_bytes: geometry.ranks.len() as u64,
            file_bytes: self.file_bytes(),
        }
    }
}
