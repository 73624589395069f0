//! Writes bases and part tables, front to back.

use std::io::Write;
use std::marker::PhantomData;
use std::ops::ControlFlow;

use super::keys::KeyOf;
use crate::chunked::{ChunkWriter, Packed};
use crate::error::{Error, Result};
use crate::fingerprint::{Fingerprint, file_bytes};
use crate::format::{
    BaseHeader, GROUP_BITS, GROUP_KEYS, KeyBits, MOST_KEY_BITS, PartHeader, TableEntry, digits,
    directory_crc,
};
use crate::simd::Level;
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

/// The bits that the keys of a part are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PartBits {
    pub(crate) keys: KeyBits,
    /// How many there are.
    pub(crate) key_bits: u32,
}

/// Cuts so many bits into ranges of nearly equal width, for so many fingerprints.
pub(crate) fn ranges(bits: u32, part_count: u16, count: u64) -> impl Iterator<Item = PartBits> {
    let parts = u32::from(part_count);
    let start = move |number: u32| (bits * number / parts) as u16;
    (0..parts).map(move |number| {
        let (start_bit, part_bits) = (start(number), start(number + 1) - start(number));
        // As many as tell the rows apart, and not more than the part has.
        let of_count = digits(count.saturating_sub(1));
        let key_bits = of_count.clamp(GROUP_BITS, MOST_KEY_BITS.min(part_bits.into()));
        PartBits { keys: KeyBits::Range { start_bit, part_bits }, key_bits }
    })
}

impl PartBits {
    /// The bits of a range.
    pub(super) fn range(&self) -> std::ops::Range<usize> {
        let start = match self.keys {
            KeyBits::Range { start_bit, .. } => usize::from(start_bit),
            KeyBits::Mask(_) => 0,
        };
        start..start + self.key_bits as usize
    }

    /// The header of part table `number` of so many fingerprints.
    pub(super) fn header(&self, fingerprint_bits: u32, number: u16, count: u64) -> PartHeader {
        PartHeader {
            header_bytes: PartHeader::written_bytes(self.keys, fingerprint_bits),
            fingerprint_bits: fingerprint_bits as u16,
            number,
            keys: self.keys,
            key_bits: self.key_bits as u8,
            count,
            coincidences: 0,
            base_crc: 0,
        }
    }
}

/// A part table that is written.
pub(crate) struct PartOptions<F> {
    pub(crate) number: u16,
    bits: PartBits,
    keys: KeyOf<F>,
    level: Level,
    /// Number of fingerprints.
    count: u64,
    /// The CRC of the header of the base.
    base_crc: u32,
}

impl<F: Fingerprint> PartOptions<F> {
    /// Part table `number` of so many fingerprints in a base with this CRC.
    pub(crate) fn new(number: u16, bits: PartBits, (count, base_crc): (u64, u32)) -> Self {
        let keys = KeyOf::new(bits.keys, bits.key_bits);
        Self { number, bits, keys, level: Level::best(), count, base_crc }
    }

    /// Bits of an entry below the key.
    pub(crate) fn row_bits(&self) -> u32 {
        u64::BITS - self.bits.key_bits
    }

    /// The entries of fingerprints in the rows from `first` on: the key of each in the highest
    /// bits, its row in the lowest.
    pub(crate) fn fill(&self, first: u32, fingerprints: &[F], entries: &mut [u64]) {
        let row_bits = self.row_bits();
        self.keys.each(self.level, fingerprints, |number, key| {
            if let Some(entry) = entries.get_mut(number) {
                *entry = key << row_bits | u64::from(first.wrapping_add(number as u32));
            }
        });
    }
}

/// Gives the [entries](PartOptions::fill) of all rows, in order, in pieces; the same each time.
pub(crate) trait EntrySource {
    fn visit(&mut self, sink: &mut dyn FnMut(&[u64]) -> Result<()>) -> Result<()>;
}

impl EntrySource for &[u64] {
    fn visit(&mut self, sink: &mut dyn FnMut(&[u64]) -> Result<()>) -> Result<()> {
        sink(self)
    }
}

/// Writes a part table. Goes over the entries four times. Memory: 1 MiB, and 4 bytes per 4096
/// bytes.
pub(crate) fn write_part<F: Fingerprint>(
    options: &PartOptions<F>,
    entries: &mut dyn EntrySource,
    out: &mut dyn Write,
) -> Result<TableEntry, WriteError> {
    let (key_bits, row_bits) = (options.bits.key_bits, options.row_bits());
    let key = |entry: u64| entry >> row_bits;
    let header = PartHeader {
        coincidences: coincidences(entries, key).map_err(WriteError::Other)?,
        base_crc: options.base_crc,
        ..options.bits.header(F::BITS, options.number, options.count)
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
