//! Sorts the entries of a part table in bounded memory.

use crate::error::Result;
use crate::execution::{Meter, Phase};
use crate::fingerprint::Fingerprint;
use crate::multi_index::PartOptions;
use crate::sort::{self, Create, Extent, Sorted, Sorter, Spill};

/// Gives fingerprints that ascend to a sink, in pieces.
pub(crate) type VisitRows<'a, F> =
    &'a mut dyn FnMut(&mut dyn FnMut(&[F]) -> Result<()>) -> Result<()>;

/// The entries of the part table in work, sorted, in memory or in a temporary file.
pub(crate) struct PartEntries<T> {
    /// Entries that are in memory at a time, twice.
    capacity: usize,
    sorted: Option<Entries<T>>,
    /// Most bytes of temporary files at any time.
    pub(crate) temporary_bytes: u64,
}

enum Entries<T> {
    Memory(Vec<u64>),
    File(T, Extent),
}

impl<T: Spill> PartEntries<T> {
    /// None so far.
    pub(crate) fn new(capacity: usize) -> Self {
        Self { capacity, sorted: None, temporary_bytes: 0 }
    }

    /// Sorts those of a part of fingerprints that `visit` gives.
    pub(crate) fn order<F: Fingerprint>(
        &mut self,
        part: &PartOptions<F>,
        visit: VisitRows<'_, F>,
        meter: &Meter,
        create: Create<'_, T>,
    ) -> Result<()> {
        let fill = |first, rows: &[F], entries: &mut [u64]| part.fill(first, rows, entries);
        self.order_by(fill, visit, meter, create)
    }

    /// Sorts what `fill` makes of the fingerprints that `visit` gives, from some row on: no two are
    /// the same.
    pub(crate) fn order_by<F: Fingerprint>(
        &mut self,
        fill: impl Fn(u32, &[F], &mut [u64]),
        visit: VisitRows<'_, F>,
        meter: &Meter,
        create: Create<'_, T>,
    ) -> Result<()> {
        // Those of the part before go first.
        self.sorted = None;
        let mut sorter: Sorter<u64, T> = Sorter::new(self.capacity);
        let (mut entries, mut row) = (Vec::new(), 0u32);
        visit(&mut |rows| {
            entries.resize(rows.len(), 0);
            fill(row, rows, &mut entries);
            row = row.wrapping_add(rows.len() as u32);
            let mut left = &entries[..];
            loop {
                left = sorter.fill(left);
                if left.is_empty() {
                    break;
                }
                meter.wrote(sorter.spill(create)?);
            }
            meter.advance(Phase::Distribute, rows.len() as u64)
        })?;
        self.sorted = Some(match sorter.finish(create)? {
            Sorted::Memory(entries, _) => Entries::Memory(entries),
            Sorted::Runs(runs) => {
                let file = create()?;
                let bytes = runs.peak_bytes + 8 * runs.len();
                self.temporary_bytes = self.temporary_bytes.max(bytes);
                let mut len = 0;
                runs.merge(&mut |entries| {
                    sort::write(&file, entries, len)?;
                    len += entries.len() as u64;
                    meter.wrote(8 * entries.len() as u64);
                    meter.check()
                })?;
                Entries::File(file, Extent { at: 0, len })
            }
        });
        Ok(())
    }

    /// Gives those that were sorted to `sink`, in pieces.
    pub(crate) fn visit(&self, sink: &mut dyn FnMut(&[u64]) -> Result<()>) -> Result<()> {
        match &self.sorted {
            None => Ok(()),
            Some(Entries::Memory(entries)) => sink(entries),
            Some(Entries::File(file, extent)) => {
                let length = (self.capacity as u64).min(extent.len) as usize;
                let mut room = vec![0; length];
                for piece in sort::pieces(*extent, length) {
                    let entries = &mut room[..piece.len as usize];
                    sort::read(file, entries, piece.at)?;
                    sink(entries)?;
                }
                Ok(())
            }
        }
    }
}
