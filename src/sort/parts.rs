//! Makes a permuted table of a set that does not fit into memory: one stable distribution into
//! parts that fit, then a sort of each by its top.
//!
//! The set is in ascending order, and so is every part of it that a stable distribution makes.
//! Keys with equal tops are in order from the start, as [`sort_permuted`](super::sort_permuted)
//! proves; a part in which all tops are equal needs no memory to be sorted.

use super::memory::{partition_keys, sort_tops};
use super::spill::{self, Create, Extent, Spill};
use crate::error::Result;
use crate::permute::Permutation;
use crate::tasks;

/// Bits by which keys are counted.
const DIGIT_BITS: u32 = 12;
/// Most parts of one distribution.
const MAX_PARTS: u64 = 512;

/// Two buffers of equal length: so many keys are in memory, twice.
pub(crate) struct Buffers {
    pub(crate) keys: Vec<u64>,
    pub(crate) sorted: Vec<u64>,
}

impl Buffers {
    /// The most keys of a part.
    fn capacity(&self) -> usize {
        self.keys.len().min(self.sorted.len())
    }
}

/// How many keys begin with each digit.
pub(crate) struct Counts {
    counts: Vec<u64>,
    /// The least key of digit 0.
    base: u64,
    /// Bits of a key below the digit.
    shift: u32,
}

impl Counts {
    /// Nothing counted, for the keys of a table whose top has `top_bits` bits.
    pub(crate) fn new(top_bits: u32) -> Self {
        Self::of_range(0, u64::MAX, 64 - top_bits)
    }

    /// Nothing counted, for keys from `low` to `high`, by no bits below the `ordered` last ones.
    fn of_range(low: u64, high: u64, ordered: u32) -> Self {
        let width = 64 - (high - low).leading_zeros();
        let shift = width.saturating_sub(DIGIT_BITS).max(ordered).min(63);
        Self { counts: vec![0; ((high - low) >> shift) as usize + 1], base: low, shift }
    }

    /// Counts `records`, of which `key` makes keys.
    pub(crate) fn add(&mut self, records: &[u64], key: impl Fn(u64) -> u64 + Sync) {
        let (base, shift, digits) = (self.base, self.shift, self.counts.len());
        let count = |records: &[u64]| {
            let mut counts = vec![0u64; digits];
            records.iter().for_each(|&fp| counts[((key(fp) - base) >> shift) as usize] += 1);
            counts
        };
        let share = records.len().div_ceil(tasks::threads()).max(1 << 14);
        for counted in tasks::map(records.chunks(share), count) {
            self.counts.iter_mut().zip(counted).for_each(|(sum, n)| *sum += n);
        }
    }

    /// Groups digits into parts of at most `capacity` keys, or of one digit; and not too many.
    /// Gives for each digit the number of its part.
    fn parts(&self, capacity: usize, high: u64) -> (Vec<TablePart>, Vec<u16>) {
        let total: u64 = self.counts.iter().sum();
        let most = (capacity as u64).max(total.div_ceil(MAX_PARTS));
        let mut parts: Vec<TablePart> = Vec::new();
        let mut of_digit = Vec::with_capacity(self.counts.len());
        let mut at = 0;
        for (digit, &count) in self.counts.iter().enumerate() {
            let low = self.base + ((digit as u64) << self.shift);
            match parts.last_mut() {
                Some(part) if part.extent.len + count <= most => part.extent.len += count,
                _ => parts.push(TablePart {
                    extent: Extent { at, len: count },
                    low,
                    high,
                    done: false,
                }),
            }
            of_digit.push(parts.len() as u16 - 1);
            at += count;
        }
        for i in 1..parts.len() {
            parts[i - 1].high = parts[i].low - 1;
        }
        (parts, of_digit)
    }
}

/// Reads words from a record on.
pub(crate) type ReadKeys<'a> = &'a dyn Fn(&mut [u64], u64) -> Result<()>;

/// The keys of a range.
struct TablePart {
    extent: Extent,
    low: u64,
    high: u64,
    /// Whether the keys in the file are sorted.
    done: bool,
}

/// A permuted table: keys in a temporary file, distributed over parts that ascend.
pub(crate) struct TableParts<F> {
    file: F,
    parts: Vec<TablePart>,
    /// Low bits of keys that need no sorting.
    ordered: u32,
}

impl<F: Spill> TableParts<F> {
    /// Distributes the keys of a set, which `counts` has counted, and shows each piece of the set
    /// to `seen`. The set has an extent, and is read from a record on.
    pub(crate) fn new(
        set: (ReadKeys<'_>, Extent),
        permutation: &Permutation,
        counts: &Counts,
        buffers: &mut Buffers,
        create: Create<'_, F>,
        seen: &mut dyn FnMut(&[u64]) -> Result<()>,
    ) -> Result<Self> {
        let ordered = 64 - permutation.top_bits();
        let key = |fingerprint| permutation.key(fingerprint);
        Self::distribute(set, key, counts, u64::MAX, ordered, buffers, create, seen)
    }

    #[allow(clippy::too_many_arguments)]
    fn distribute(
        (read, extent): (ReadKeys<'_>, Extent),
        key: impl Fn(u64) -> u64 + Sync,
        counts: &Counts,
        high: u64,
        ordered: u32,
        buffers: &mut Buffers,
        create: Create<'_, F>,
        seen: &mut dyn FnMut(&[u64]) -> Result<()>,
    ) -> Result<Self> {
        let capacity = buffers.capacity();
        let (parts, of_digit) = counts.parts(capacity, high);
        let file = create()?;
        let mut next: Vec<u64> = parts.iter().map(|part| part.extent.at).collect();
        for piece in spill::pieces(extent, capacity) {
            let len = piece.len as usize;
            let (records, out) = (&mut buffers.keys[..len], &mut buffers.sorted[..len]);
            read(records, piece.at)?;
            let part =
                |key: &u64| usize::from(of_digit[((key - counts.base) >> counts.shift) as usize]);
            let lengths = partition_keys(records, parts.len(), &key, part, out);
            let mut start = 0;
            for (next, length) in next.iter_mut().zip(lengths) {
                if length > 0 {
                    spill::write(&file, &out[start..start + length], *next)?;
                }
                start += length;
                *next += length as u64;
            }
            seen(records)?;
        }
        Ok(Self { file, parts, ordered })
    }

    /// Gives all keys to `sink`, in pieces, in ascending order. The first time each part is sorted,
    /// and goes back to its place.
    pub(crate) fn visit(
        &mut self,
        buffers: &mut Buffers,
        create: Create<'_, F>,
        sink: &mut dyn FnMut(&[u64]) -> Result<()>,
    ) -> Result<()> {
        let capacity = buffers.capacity();
        for part in &mut self.parts {
            let Extent { at, len } = part.extent;
            let is_sorted =
                part.done || (part.high - part.low).checked_shr(self.ordered).unwrap_or(0) == 0;
            if is_sorted {
                for piece in spill::pieces(part.extent, capacity) {
                    let keys = &mut buffers.keys[..piece.len as usize];
                    spill::read(&self.file, keys, piece.at)?;
                    sink(keys)?;
                }
            } else if len <= capacity as u64 {
                let (keys, sorted) =
                    (&mut buffers.keys[..len as usize], &mut buffers.sorted[..len as usize]);
                spill::read(&self.file, keys, at)?;
                sort_tops(keys, self.ordered, sorted);
                spill::write(&self.file, sorted, at)?;
                part.done = true;
                sink(sorted)?;
            } else {
                // Few digits hold most keys: count these by further digits.
                let mut counts = Counts::of_range(part.low, part.high, self.ordered);
                for piece in spill::pieces(part.extent, capacity) {
                    let keys = &mut buffers.keys[..piece.len as usize];
                    spill::read(&self.file, keys, piece.at)?;
                    counts.add(keys, |key| key);
                }
                let read = |keys: &mut [u64], at| spill::read(&self.file, keys, at);
                let source = (&read as ReadKeys<'_>, part.extent);
                let mut smaller = Self::distribute(
                    source,
                    |key| key,
                    &counts,
                    part.high,
                    self.ordered,
                    buffers,
                    create,
                    &mut |_| Ok(()),
                )?;
                smaller.visit(buffers, create, sink)?;
            }
        }
        Ok(())
    }
}
