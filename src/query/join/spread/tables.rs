//! The tables of a join that is spread over machines, and their cells.

use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::query::join::digit::Digit;
use crate::query::join::mask::Mask;
use crate::query::join::plan::Scope;

/// The most tables: so often each fingerprint is sent.
const MAX_TABLES: u64 = 256;
/// The most bits of the number of a cell.
const MAX_CELL_BITS: u32 = 16;

/// The tables by which a join is spread over machines.
///
/// The bits are cut into m parts of about equal width, and each choice of m - k of them is the top of a table. k differing bits lie
/// in at most k parts, so some table has none of them in its top. k + 1 parts give k + 1 tables; more parts give more tables
/// with wider tops: at k = 3 and 64 bits, 4 parts give 4 tables of 16 bits, 5 parts 10 tables of 25 or 26.
#[derive(Clone, Debug)]
pub struct JoinTables<F = u64> {
    k: u32,
    parts: u32,
    tops: Vec<Mask<F>>,
    cells: Vec<Digit<F>>,
}

impl<F: Fingerprint> JoinTables<F> {
    /// For pairs within `k`, of `parts` parts.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOption`] if there are not more parts than `k`, more than bits, or parts that make more than 256 tables.
    pub fn new(k: u32, parts: u32) -> Result<Self> {
        let count = binomial(parts, k);
        if parts <= k || parts > F::BITS || count > MAX_TABLES {
            let expected = format!(
                "there are more parts than k = {k}, at most {}, and they make {MAX_TABLES} tables at most: {} parts make {} tables",
                F::BITS,
                k.saturating_add(1),
                k.saturating_add(1)
            );
            return Err(Error::InvalidOption {
                option: "parts",
                value: parts.to_string(),
                expected,
            });
        }
        let mut rest = Mask::all();
        let parts_of: Vec<Mask<F>> = (0..parts)
            .map(|number| {
                let part = rest.first(F::BITS / parts + u32::from(number < F::BITS % parts));
                rest = rest & !part;
                part
            })
            .collect();
        let mut tops = Vec::with_capacity(count as usize);
        choose(&parts_of, (parts - k) as usize, Mask::default(), &mut tops);
        let cells = tops.iter().map(|&top| Digit::of(top, MAX_CELL_BITS)).collect();
        Ok(Self { k, parts, tops, cells })
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
        self.tops.iter().map(|top| top.count()).min().unwrap_or(0)
    }

    /// The number of cells of a table, a power of two.
    ///
    /// # Panics
    ///
    /// Of a table that there is not.
    pub fn cell_count(&self, table: usize) -> usize {
        1 << self.cells[table].bits()
    }

    /// The cell of a fingerprint in a table: the leading bits of its top.
    ///
    /// # Panics
    ///
    /// Of a table that there is not.
    #[inline]
    pub fn cell(&self, table: usize, fingerprint: F) -> usize {
        self.cells[table].get(fingerprint)
    }

    /// The top of a table.
    pub(super) fn top(&self, table: usize) -> Mask<F> {
        self.tops[table]
    }

    /// What is known of the pairs that a table hands on: they agree in its top, and in that of no table before.
    pub(super) fn scope(&self, table: usize) -> Scope<F> {
        let differ = self.tops[..table].iter().map(|&top| (top, 1)).collect();
        Scope { equal: self.tops[table], differ, weight: 0.0 }
    }
}

/// Appends the unions of each choice of `chosen` parts, in the order of the first ones.
fn choose<F: Fingerprint>(parts: &[Mask<F>], chosen: usize, top: Mask<F>, tops: &mut Vec<Mask<F>>) {
    if chosen == 0 {
        return tops.push(top);
    }
    for (number, &part) in parts.iter().enumerate().take(parts.len() + 1 - chosen) {
        choose(&parts[number + 1..], chosen - 1, top | part, tops);
    }
}

/// How many choices of k there are, or at least more than can be.
fn binomial(n: u32, k: u32) -> u64 {
    let least = k.min(n.saturating_sub(k));
    (0..u64::from(least))
        .try_fold(1u64, |count, i| count.checked_mul(u64::from(n) - i).map(|count| count / (i + 1)))
        .unwrap_or(u64::MAX)
}
