//! Writes bases and part tables, front to back.

use std::io::Write;
use std::marker::PhantomData;
use std::ops::ControlFlow;

use crate::chunked::{ChunkWriter, Packed};
use crate::error::{Error, Result};
use crate::fingerprint::{Fingerprint, file_bytes};
use crate::format::{
    BaseHeader, GROUP_BITS, GROUP_KEYS, MOST_KEY_BITS, PartHeader, TableEntry, digits,
    directory_crc,
};
use crate::table::WriteError;

/// Writes a base of rows that come in order.
pub(crate) struct BaseWriter<'a, F> {
    header: BaseHeader,
    header_crc: u32,
    body: ChunkWriter<'a>,
    width: PhantomData<F>,
}

impl<'a, F: Fingerprint> BaseWriter<'a, F> {
    /// A base of so many fingerprints, with this set sum, and so many parts.
    pub(crate) fn new(
        (count, set_sum, part_count): (u64, u128, u16),
        out: &'a mut dyn Write,
    ) -> Result<Self, WriteError> {
        let header = BaseHeader {
            header_bytes: BaseHeader::HEADER_BYTES,
            fingerprint_bits: F::BITS as u16,
            part_count,
            count,
            set_sum,
        };
        let (bytes, header_crc) = header.encode();
        out.write_all(&bytes)?;
        let body = ChunkWriter::new(header_crc, out);
        Ok(Self { header, header_crc, body, width: PhantomData })
    }

    /// Adds the next rows.
    pub(crate) fn push(&mut self, rows: &[F]) -> Result<(), WriteError> {
        rows.iter().try_for_each(|&row| self.body.extend(file_bytes(row).as_ref()))
    }

    /// Writes the end.
    pub(crate) fn finish(self) -> Result<TableEntry, WriteError> {
        finish(self.body, self.header_crc, self.header.body().file_bytes())
    }
}

/// Writes what stands behind a body.
fn finish(
    mut body: ChunkWriter<'_>,
    header_crc: u32,
    file_bytes: u64,
) -> Result<TableEntry, WriteError> {
    let directory = body.finish()?;
    let footer_crc = directory_crc(header_crc, &directory);
    body.out.write_all(&directory)?;
    body.out.write_all(&footer_crc.to_le_bytes())?;
    Ok(TableEntry { file_bytes, header_crc, footer_crc })
}

/// A part of the bits of a fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PartOptions {
    pub(crate) number: u16,
    pub(crate) start_bit: u16,
    pub(crate) part_bits: u16,
    /// Number of fingerprints.
    pub(crate) count: u64,
    /// The CRC of the header of the base.
    pub(crate) base_crc: u32,
}

/// Cuts so many bits into parts of nearly equal width, for so many fingerprints.
pub(crate) fn parts(bits: u32, part_count: u16, count: u64) -> impl Iterator<Item = PartOptions> {
    let parts = u32::from(part_count);
    let start = move |number: u32| (bits * number / parts) as u16;
    (0..parts).map(move |number| PartOptions {
        number: number as u16,
        start_bit: start(number),
        part_bits: start(number + 1) - start(number),
        count,
        base_crc: 0,
    })
}

impl PartOptions {
    /// The bits of keys: as many as tell the rows apart, and not more than the part has.
    pub(crate) fn key_bits(&self) -> u32 {
        let of_count = digits(self.count.saturating_sub(1));
        of_count.clamp(GROUP_BITS, MOST_KEY_BITS.min(self.part_bits.into()))
    }

    /// Bits of an entry below the key.
    pub(crate) fn row_bits(&self) -> u32 {
        u64::BITS - self.key_bits()
    }

    /// The key of a row in the highest bits, its number in the lowest.
    #[inline]
    pub(crate) fn entry<F: Fingerprint>(&self, row: u32, fingerprint: F) -> u64 {
        let bits = self.key_bits();
        fingerprint.bits(self.start_bit.into(), bits) << (u64::BITS - bits) | u64::from(row)
    }
}

/// Gives the [entries](PartOptions::entry) of all rows, in order, in pieces; the same each time.
pub(crate) trait EntrySource {
    fn visit(&mut self, sink: &mut dyn FnMut(&[u64]) -> Result<()>) -> Result<()>;
}

impl EntrySource for &[u64] {
    fn visit(&mut self, sink: &mut dyn FnMut(&[u64]) -> Result<()>) -> Result<()> {
        sink(self)
    }
}

/// Writes a part table. Goes over the entries four times. Memory: 1 MiB, and 4 bytes per 4096 bytes.
pub(crate) fn write_part<F: Fingerprint>(
    options: &PartOptions,
    entries: &mut dyn EntrySource,
    out: &mut dyn Write,
) -> Result<TableEntry, WriteError> {
    let key_bits = options.key_bits();
    let key = |entry: u64| entry >> (u64::BITS - key_bits);
    let header = PartHeader {
        header_bytes: PartHeader::HEADER_BYTES,
        fingerprint_bits: F::BITS as u16,
        number: options.number,
        start_bit: options.start_bit,
        part_bits: options.part_bits,
        key_bits: key_bits as u8,
        count: options.count,
        coincidences: coincidences(entries, key).map_err(WriteError::Other)?,
        base_crc: options.base_crc,
    };
    let (bytes, header_crc) = header.encode();
    out.write_all(&bytes)?;
    let mut body = ChunkWriter::new(header_crc, out);

    // Starts.
    let mut starts = Packed::new(32);
    let (mut group, mut rows) = (0, 0);
    each(entries, &mut body, |body, entry| {
        while group <= key(entry) / GROUP_KEYS {
            starts.push(rows, body)?;
            group += 1;
        }
        rows += 1;
        Ok(())
    })?;
    for _ in group..(1u64 << key_bits) / GROUP_KEYS {
        starts.push(rows, &mut body)?;
    }
    starts.finish(&mut body)?;

    // Marks.
    let mut marks = Marks { word: 0, filled: 0 };
    let mut ended = 0;
    each(entries, &mut body, |body, entry| {
        marks.zeros(key(entry) - ended, body)?;
        ended = key(entry);
        marks.one(body)
    })?;
    marks.zeros((1u64 << key_bits) - ended, &mut body)?;
    marks.finish(&mut body)?;

    // Rows.
    let geometry = header.geometry();
    if geometry.row_bits > 0 {
        let mut numbers = Packed::new(geometry.row_bits);
        each(entries, &mut body, |body, entry| numbers.push(entry & u64::from(u32::MAX), body))?;
        numbers.finish(&mut body)?;
    }
    finish(body, header_crc, geometry.body.file_bytes())
}

/// Calls `write` with one entry after the other.
fn each<'a>(
    entries: &mut dyn EntrySource,
    body: &mut ChunkWriter<'a>,
    mut write: impl FnMut(&mut ChunkWriter<'a>, u64) -> Result<(), WriteError>,
) -> Result<(), WriteError> {
    let mut failed = ControlFlow::Continue(());
    let visited = entries.visit(&mut |piece| {
        for &entry in piece {
            if let Err(error) = write(body, entry) {
                failed = ControlFlow::Break(error);
                // Passes through the source, and goes no further.
                return Err(Error::Ended);
            }
        }
        Ok(())
    });
    match failed {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => visited.map_err(WriteError::Other),
    }
}

/// Ordered pairs of different rows with the same key.
fn coincidences(entries: &mut dyn EntrySource, key: impl Fn(u64) -> u64) -> Result<u64> {
    let (mut pairs, mut last, mut same) = (0u64, None, 0u64);
    entries.visit(&mut |piece| {
        for &entry in piece {
            same = if last == Some(key(entry)) { same + 1 } else { 0 };
            last = Some(key(entry));
            pairs = pairs.saturating_add(2 * same);
        }
        Ok(())
    })?;
    Ok(pairs)
}

/// Bits on their way to words, the lowest first.
struct Marks {
    word: u64,
    filled: u32,
}

impl Marks {
    #[inline]
    fn one(&mut self, body: &mut ChunkWriter<'_>) -> Result<(), WriteError> {
        self.word |= 1 << self.filled;
        self.zeros(1, body)
    }

    /// Goes on by so many bits.
    #[inline]
    fn zeros(&mut self, mut zeros: u64, body: &mut ChunkWriter<'_>) -> Result<(), WriteError> {
        while zeros >= u64::from(u64::BITS - self.filled) {
            zeros -= u64::from(u64::BITS - self.filled);
            body.push(self.word)?;
            (self.word, self.filled) = (0, 0);
        }
        self.filled += zeros as u32;
        Ok(())
    }

    fn finish(self, body: &mut ChunkWriter<'_>) -> Result<(), WriteError> {
        if self.filled > 0 { body.push(self.word) } else { Ok(()) }
    }
}
