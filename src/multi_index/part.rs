//! Reads part tables: which rows have a key in one part of their bits.

use super::base::{Base, BodyFile, Opened};
use super::kernel::{Filled, Kernel, Pieces, Probe, Run, Span};
use super::keys::KeyOf;
use crate::chunked::Chunks;
use crate::error::{Corruption, Error, Result};
use crate::fingerprint::Fingerprint;
use crate::format::{
    BaseHeader, GROUP_BITS, GROUP_KEYS, PartGeometry, PartHeader, SegmentEntry, TakenBits,
};
use crate::mapped::prefetch_lines;
use crate::simd::{Level, by_level};

/// An open part table. Any number of threads may use it.
pub(crate) struct PartTable<F> {
    pub(super) file: BodyFile,
    pub(super) header: PartHeader,
    pub(super) geometry: PartGeometry,
    pub(super) keys: KeyOf<F>,
}

impl<F: Fingerprint> PartTable<F> {
    /// Opens part table `number`, behind those that have taken some bits.
    pub(super) fn open(
        (path, bytes): Opened,
        segment: &SegmentEntry,
        base: &BaseHeader,
        (number, taken): (u16, &TakenBits),
    ) -> Result<Self> {
        let mut entries = segment.tables.iter();
        let base_crc = entries.next().ok_or(Error::Ended)?.header_crc;
        let entry = entries.nth(number.into()).ok_or(Error::Ended)?;
        let header = PartHeader::decode(&bytes, entry, (base, base_crc), (number, taken));
        let header = header.and_then(|header| {
            header.geometry().body.check_directory(&bytes, entry)?;
            Ok(header)
        });
        let header = header.map_err(|defect| defect.in_file(&path))?;
        let geometry = header.geometry();
        let body = &geometry.body;
        let chunks = Chunks::new(body.body.clone(), body.chunk_crcs.start, entry.header_crc);
        let keys = KeyOf::new(header.keys, header.key_bits.into());
        Ok(Self { file: BodyFile::new(path, bytes, chunks), header, geometry, keys })
    }

    /// Bits of the number of a group.
    #[inline]
    pub(super) fn group_bits(&self) -> u32 {
        u32::from(self.header.key_bits) - GROUP_BITS
    }

    /// The pieces of the table.
    #[inline(always)]
    pub(super) fn pieces(&self) -> Pieces<'_> {
        let (bytes, geometry) = (&*self.file.bytes, &self.geometry);
        // [PRT-4]: all pieces lie in the file, in whole words.
        let starts = geometry.starts.start..geometry.starts.start + (4 << self.group_bits());
        Pieces {
            starts: bytes[starts].as_chunks().0,
            marks: bytes[geometry.marks.clone()].as_chunks().0,
            rows: &bytes[geometry.rows.start..],
            row_bits: geometry.row_bits,
            count: self.header.count as usize,
        }
    }

    /// Where the start of a group stands, its marks, and the number of the row at a place.
    pub(super) fn at_start(&self, group: usize) -> usize {
        self.geometry.starts.start + 4 * group
    }

    pub(super) fn at_marks(&self, group: usize) -> usize {
        self.geometry.marks.start + self.pieces().marks_of(group) * 8
    }

    pub(super) fn at_row(&self, place: usize) -> usize {
        self.geometry.rows.start + place * self.geometry.row_bits as usize / 8
    }

    /// The number of rows of a group, by starts that are checked.
    pub(super) fn group_rows(&self, group: usize) -> Result<u32> {
        self.check_starts(group)?;
        let span = self.pieces().span(group).ok_or_else(|| self.group_error(group))?;
        Ok(span.rows() as u32)
    }

    /// Checks what holds the starts of a group and of the next one.
    #[inline]
    pub(super) fn check_starts(&self, group: usize) -> Result<()> {
        if self.file.chunks.are_verified() {
            return Ok(());
        }
        let (at, end) =
            (self.at_start(group), self.geometry.starts.start + 4 * self.pieces().starts.len());
        self.file.check(at..end.min(at + 8))
    }

    /// The marks of a group, checked.
    pub(super) fn span(&self, group: usize) -> Result<Span> {
        let pieces = self.pieces();
        self.check_starts(group)?;
        let span = pieces.span(group).ok_or_else(|| self.group_error(group))?;
        if !self.file.chunks.are_verified() {
            let marks = self.geometry.marks.start;
            self.file.check(marks + span.from / 8..marks + span.to.div_ceil(8))?;
        }
        Ok(span)
    }

    /// The error for a group whose marks are not what its start says.
    #[cold]
    pub(super) fn group_error(&self, group: usize) -> Error {
        let at = self.geometry.starts.start + 4 * group;
        self.file.error(at, Corruption::PartGroup { group: group as u64 })
    }

    /// Whether the marks of a group are those of its keys and rows: they have a zero for each key,
    /// and end with one.
    pub(super) fn is_sound(&self, span: Span) -> bool {
        let (marks, words) = (self.pieces().marks, span.from / 64..span.to.div_ceil(64));
        let zeros_of = |number: usize| {
            let behind = ((number + 1) * 64).saturating_sub(span.to);
            let before = span.from.saturating_sub(number * 64);
            // Neither is a whole word.
            let inside = (u64::MAX << before) & (u64::MAX >> behind);
            !u64::from_le_bytes(marks[number]) & inside
        };
        let zeros: u32 = words.clone().map(|number| zeros_of(number).count_ones()).sum();
        let last = (span.to - 1) % 64;
        zeros == GROUP_KEYS as u32 && zeros_of(words.end - 1) >> last & 1 == 1
    }

    /// Adds the places of the keys of some groups that are wanted, and gives the number of rows of
    /// these groups. Asks for the marks of those that come next.
    #[inline]
    pub(super) fn find(
        &self,
        level: Level,
        (probes, ahead): (&[Probe], Option<(Pieces<'_>, &[Probe])>),
        runs: &mut Filled<Run>,
    ) -> Result<usize> {
        if !self.file.chunks.are_verified() {
            for probe in probes {
                self.span(probe.group as usize)?;
            }
        }
        let pieces = self.pieces();
        let found = by_level!(level, kernel => kernel.find(pieces, probes, ahead, runs));
        found.map_err(|at| self.group_error(probes[at].group as usize))
    }

    /// Adds the numbers of the rows of some runs, and asks for these in the base.
    #[inline]
    pub(super) fn rows(
        &self,
        level: Level,
        (runs, base): (&[Run], &Base<F>),
        rows: &mut Filled<u32>,
    ) -> Result<()> {
        if self.geometry.row_bits == 0 {
            for run in runs {
                let room = rows.room(run.length as usize);
                // Places are rows in the order of the base; in others there is one row at most.
                let in_order = self.header.is_in_base_order();
                for (row, place) in room.iter_mut().zip(run.first..) {
                    *row = if in_order { place } else { 0 };
                }
                rows.keep(run.length as usize);
                let length = run.length as usize * Base::<F>::ROW;
                prefetch_lines(&base.file.bytes, base.place(run.first.into()), length);
            }
            return Ok(());
        }
        let bits = self.geometry.row_bits as usize;
        if !self.file.chunks.are_verified() {
            let start = self.geometry.rows.start;
            for run in runs {
                let places = run.first as usize..run.first as usize + run.length as usize;
                let (from, to) = (places.start * bits / 8, (places.end * bits).div_ceil(8));
                self.file.check(start + from..start + to)?;
            }
        }
        let (before, pieces) = (rows.len(), self.pieces());
        by_level!(level, kernel => kernel.rows::<F>(pieces, runs, base.rows(), rows));
        let most = rows[before..].iter().fold(0, |most, &row| most.max(row));
        if u64::from(most) >= self.header.count {
            return Err(self.row_error(runs, &rows[before..]));
        }
        Ok(())
    }

    /// The error for the first of the rows of some runs that is none.
    #[cold]
    fn row_error(&self, runs: &[Run], rows: &[u32]) -> Error {
        let count = self.header.count;
        let places = runs.iter().flat_map(|run| run.first..run.first + run.length);
        let bad = places.zip(rows).find(|&(_, &row)| u64::from(row) >= count);
        let (place, &row) = bad.unwrap_or((0, &u32::MAX));
        let corruption = Corruption::PartRow { row: row.into(), count };
        self.file.error(self.at_row(place as usize), corruption)
    }
}
