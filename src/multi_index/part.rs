//! Reads part tables: which rows have a key in one part of their bits.

use byteorder::{ByteOrder, LittleEndian as LE};

use super::base::{BodyFile, Opened};
use super::kernel::{Kernel, Run, Span};
use crate::chunked::Chunks;
use crate::error::{Corruption, Error, Result};
use crate::fingerprint::Fingerprint;
use crate::format::{BaseHeader, GROUP_BITS, GROUP_KEYS, PartGeometry, PartHeader, SegmentEntry};
use crate::mapped::prefetch_lines;
use crate::simd::{Level, by_level};

/// An open part table. Any number of threads may use it.
pub(crate) struct PartTable {
    pub(super) file: BodyFile,
    pub(super) header: PartHeader,
    pub(super) geometry: PartGeometry,
}

impl PartTable {
    /// Opens part table `number`, which begins with bit `start_bit`.
    pub(super) fn open(
        (path, bytes): Opened,
        segment: &SegmentEntry,
        base: &BaseHeader,
        (number, start_bit): (u16, u16),
    ) -> Result<Self> {
        let mut entries = segment.tables.iter();
        let base_crc = entries.next().ok_or(Error::Ended)?.header_crc;
        let entry = entries.nth(number.into()).ok_or(Error::Ended)?;
        let header = PartHeader::decode(&bytes, entry, (base, base_crc), (number, start_bit));
        let header = header.and_then(|header| {
            header.geometry().body.check_directory(&bytes, entry)?;
            Ok(header)
        });
        let header = header.map_err(|defect| defect.in_file(&path))?;
        let geometry = header.geometry();
        let body = &geometry.body;
        let chunks = Chunks::new(body.body.clone(), body.chunk_crcs.start, entry.header_crc);
        Ok(Self { file: BodyFile::new(path, bytes, chunks), header, geometry })
    }

    /// The first bit behind the part.
    pub(crate) fn end_bit(&self) -> u16 {
        self.header.start_bit + self.header.part_bits
    }

    /// Bits of the number of a group.
    #[inline]
    pub(super) fn group_bits(&self) -> u32 {
        u32::from(self.header.key_bits) - GROUP_BITS
    }

    /// The key of a fingerprint.
    #[inline]
    pub(super) fn key<F: Fingerprint>(&self, fingerprint: F) -> u64 {
        fingerprint.bits(self.header.start_bit.into(), self.header.key_bits.into())
    }

    /// Asks for the start of a group.
    #[inline(always)]
    pub(super) fn prefetch_start(&self, group: usize) {
        prefetch_lines(&self.file.bytes, self.at_start(group), 1);
    }

    /// Asks for the marks of a group.
    #[inline(always)]
    pub(super) fn prefetch_marks(&self, group: usize) {
        prefetch_lines(&self.file.bytes, self.at_marks(group), 1);
    }

    /// Asks for the numbers of rows from a place on.
    #[inline(always)]
    pub(super) fn prefetch_rows(&self, place: usize) {
        if self.geometry.row_bits > 0 {
            prefetch_lines(&self.file.bytes, self.at_row(place), 1);
        }
    }

    /// Where the start of a group stands, its marks, and the number of the row at a place.
    #[inline(always)]
    pub(super) fn at_start(&self, group: usize) -> usize {
        self.geometry.starts.start + 4 * group
    }

    #[inline(always)]
    pub(super) fn at_marks(&self, group: usize) -> usize {
        let bit = self.start(group) + group * GROUP_KEYS as usize;
        self.geometry.marks.start + bit / 8
    }

    #[inline(always)]
    pub(super) fn at_row(&self, place: usize) -> usize {
        self.geometry.rows.start + place * self.geometry.row_bits as usize / 8
    }

    /// Rows before a group, which there is.
    #[inline(always)]
    fn start(&self, group: usize) -> usize {
        // [PRT-4]: all starts lie in the file.
        LE::read_u32(&self.file.bytes[self.geometry.starts.start + 4 * group..]) as usize
    }

    /// The marks of a group, checked.
    #[inline]
    pub(super) fn span(&self, group: usize) -> Result<Span> {
        let at = self.geometry.starts.start + 4 * group;
        let is_last = group + 1 == 1 << self.group_bits();
        let first = self.start(group);
        let end = if is_last { self.header.count as usize } else { self.start(group + 1) };
        if !self.file.chunks.are_verified() {
            self.file.check(at..at + if is_last { 4 } else { 8 })?;
        }
        let is_first = group == 0;
        if first > end || end > self.header.count as usize || is_first && first != 0 {
            return Err(self.group_error(group));
        }
        let keys = group * GROUP_KEYS as usize;
        let (from, to) = (first + keys, end + keys + GROUP_KEYS as usize);
        if !self.file.chunks.are_verified() {
            let marks = self.geometry.marks.start;
            self.file.check(marks + from / 8..marks + to.div_ceil(8))?;
        }
        Ok(Span { first, from, to })
    }

    /// The error for a group whose marks are not what its start says.
    #[cold]
    pub(super) fn group_error(&self, group: usize) -> Error {
        let at = self.geometry.starts.start + 4 * group;
        self.file.error(at, Corruption::PartGroup { group: group as u64 })
    }

    /// Whether the marks of a group are those of its keys and rows: they have a zero for each key, and end with one.
    pub(super) fn is_sound(&self, span: Span) -> bool {
        let words = span.from / 64..span.to.div_ceil(64);
        let zeros_of = |number: usize| {
            let behind = ((number + 1) * 64).saturating_sub(span.to);
            let before = span.from.saturating_sub(number * 64);
            // Neither is a whole word.
            let inside = (u64::MAX << before) & (u64::MAX >> behind);
            !u64::from_le_bytes(self.marks()[number]) & inside
        };
        let zeros: u32 = words.clone().map(|number| zeros_of(number).count_ones()).sum();
        let last = (span.to - 1) % 64;
        zeros == GROUP_KEYS as u32 && zeros_of(words.end - 1) >> last & 1 == 1
    }

    /// The marks, in words.
    #[inline(always)]
    pub(super) fn marks(&self) -> &[[u8; 8]] {
        // [PRT-4]: whole words in the file.
        self.file.bytes[self.geometry.marks.clone()].as_chunks().0
    }

    /// Adds the places of those keys of a group whose bit is set in `wanted`; `false` if its marks are not sound.
    #[inline]
    pub(super) fn find(&self, level: Level, span: Span, wanted: u64, runs: &mut Vec<Run>) -> bool {
        by_level!(level, kernel => kernel.find(self.marks(), span, wanted, runs))
    }

    /// Adds the numbers of the rows of a run.
    #[inline(always)]
    pub(super) fn rows(&self, run: Run, rows: &mut Vec<u32>) -> Result<()> {
        let bits = self.geometry.row_bits as usize;
        let places = run.first as usize..run.first as usize + run.length as usize;
        if bits == 0 {
            rows.extend(places.map(|place| if self.header.number == 0 { place as u32 } else { 0 }));
            return Ok(());
        }
        let start = self.geometry.rows.start;
        if !self.file.chunks.are_verified() {
            let (from, to) = (places.start * bits / 8, (places.end * bits).div_ceil(8));
            self.file.check(start + from..start + to)?;
        }
        let (mask, count) = (u32::MAX >> (32 - bits), self.header.count);
        for place in places {
            let bit = place * bits;
            // Behind the rows there are eight bytes of CRCs at least.
            let word = LE::read_u64(&self.file.bytes[start + bit / 8..]);
            let row = (word >> (bit % 8)) as u32 & mask;
            if u64::from(row) >= count {
                let corruption = Corruption::PartRow { row: row.into(), count };
                return Err(self.file.error(start + bit / 8, corruption));
            }
            rows.push(row);
        }
        Ok(())
    }
}
