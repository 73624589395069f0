//! The tables of a join that is spread over machines, and their cells.

use std::marker::PhantomData;
use std::ops::Range;

use fpstore::query::ListJoin;
use fpstore::{Error, Fingerprint, Result};

/// The most tables: so often each fingerprint is sent.
const MAX_TABLES: u64 = 256;
/// The most bits of the number of a cell.
const MAX_CELL_BITS: u32 = 16;

/// The tables by which a join is spread over machines.
///
/// The bits are cut into m parts of about equal width, and each choice of m - k of them is the top
/// of a table. k differing bits lie in at most k parts, so some table has none of them in its top.
/// k + 1 parts give k + 1 tables; more parts give more tables with wider tops: at k = 3 and 64
/// bits, 4 parts give 4 tables of 16 bits, 5 parts 10 tables of 25 or 26.
#[derive(Clone, Debug)]
pub struct JoinTables<F = u64> {
    k: u32,
    parts: u32,
    tops: Vec<Bits>,
    /// The leading bits of the tops.
    cells: Vec<Bits>,
    fingerprints: PhantomData<fn(F)>,
}

/// Some bits of a fingerprint: ranges that ascend.
type Bits = Vec<Range<u32>>;

impl<F: Fingerprint> JoinTables<F> {
    /// For pairs within `k`, of `parts` parts.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOption`] if there are not more parts than `k`, more than bits, or parts that
    /// make more than 256 tables.
    pub fn new(k: u32, parts: u32) -> Result<Self> {
        let count = binomial(parts, k);
        if parts <= k || parts > F::BITS || count > MAX_TABLES {
            let expected = format!(
                "there are more parts than k = {k}, at most {}, and they make {MAX_TABLES} tables at \
                 most: {least} parts make {least} tables",
                F::BITS,
                least = k.saturating_add(1),
            );
            return Err(Error::invalid_option("parts", parts, expected));
        }
        // Of about equal width, wider ones first.
        let (width, wider) = (F::BITS / parts, F::BITS % parts);
        let start = |number: u32| number * width + number.min(wider);
        let parts_of: Bits = (0..parts).map(|number| start(number)..start(number + 1)).collect();
        let mut tops = Vec::with_capacity(count as usize);
        choose(&parts_of, (parts - k) as usize, &[], &mut tops);
        let cells = tops.iter().map(|top| leading(top, MAX_CELL_BITS)).collect();
        Ok(Self { k, parts, tops, cells, fingerprints: PhantomData })
    }

    /// The distance of pairs, in bits.
    pub fn k(&self) -> u32 {
        self.k
    }

    /// The number of parts.
    pub fn parts(&self) -> u32 {
        self.parts
    }

    /// The number of tables.
    pub fn table_count(&self) -> usize {
        self.tops.len()
    }

    /// Bits of the top of a table, the least of all.
    pub fn top_bits(&self) -> u32 {
        self.tops.iter().map(|top| count(top)).min().unwrap_or(0)
    }

    /// The number of cells of a table, a power of two.
    ///
    /// # Panics
    ///
    /// Of a table that there is not.
    pub fn cell_count(&self, table: usize) -> usize {
        1 << count(&self.cells[table])
    }

    /// The cell of a fingerprint in a table: the leading bits of its top.
    ///
    /// # Panics
    ///
    /// Of a table that there is not.
    #[inline]
    pub fn cell(&self, table: usize, fingerprint: F) -> usize {
        self.cells[table].iter().fold(0, |cell, bits| {
            let width = bits.end - bits.start;
            cell << width | fingerprint.bits(bits.start, width) as usize
        })
    }

    /// The join of what a table brings together: of pairs that agree in its top, and in that of no
    /// table before.
    pub(crate) fn join(&self, table: usize) -> ListJoin<F> {
        let join = ListJoin::new(self.k).equal_in(mask(&self.tops[table]));
        self.tops[..table].iter().fold(join, |join, top| join.different_in(mask(top)))
    }
}

/// How many bits there are.
fn count(bits: &[Range<u32>]) -> u32 {
    bits.iter().map(|range| range.end - range.start).sum()
}

/// The first `most` of some bits, or all.
fn leading(bits: &[Range<u32>], most: u32) -> Bits {
    let mut left = most;
    let ranges = bits.iter().map(|range| {
        let width = left.min(range.end - range.start);
        left -= width;
        range.start..range.start + width
    });
    ranges.filter(|range| !range.is_empty()).collect()
}

/// The fingerprint that has ones in these bits and nowhere else.
fn mask<F: Fingerprint>(bits: &[Range<u32>]) -> F {
    let mut bytes = F::Bytes::default();
    for bit in bits.iter().cloned().flatten() {
        bytes.as_mut()[bit as usize / 8] |= 0x80 >> (bit % 8);
    }
    F::from_be_bytes(bytes)
}

/// Appends the unions of `top` and each choice of `chosen` parts, in the order of the first ones.
fn choose(parts: &[Range<u32>], chosen: usize, top: &[Range<u32>], tops: &mut Vec<Bits>) {
    if chosen == 0 {
        return tops.push(top.to_vec());
    }
    for (number, part) in parts.iter().enumerate().take(parts.len() + 1 - chosen) {
        // Neighbours are one range: fewer are read together.
        let mut top = top.to_vec();
        match top.last_mut().filter(|last| last.end == part.start) {
            Some(last) => last.end = part.end,
            None => top.push(part.clone()),
        }
        choose(&parts[number + 1..], chosen - 1, &top, tops);
    }
}

/// How many choices of k there are, or at least more than can be.
fn binomial(n: u32, k: u32) -> u64 {
    let least = k.min(n.saturating_sub(k));
    (0..u64::from(least))
        .try_fold(1u64, |count, i| count.checked_mul(u64::from(n) - i).map(|count| count / (i + 1)))
        .unwrap_or(u64::MAX)
}
