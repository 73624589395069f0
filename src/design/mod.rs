//! Designs: which tables a store has, and what each must allow for so that a search is exact.
//!
//! A *design* is a list of tables, each with its *top*, the bit ranges that it puts in front. For a
//! query radius k each table gets a *threshold* τ, the number of bits that may differ inside its
//! top. The thresholds *cover* k when every way of spreading k differing bits over the 64 leaves
//! some table with at most τ of them in its top (the paper, section 3.1, with τ = 0 throughout).
//! The module [`thresholds`](crate::thresholds) finds them.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};
use crate::format::{BitRange, is_identity, is_top};

/// A list of tables, each with the bit ranges that it puts in front of its keys.
///
/// | name | tables | bits of a top | finds within k = 3 with |
/// | --- | --- | --- | --- |
/// | `single` | 1 | 64 | up to 3 flips |
/// | `halves` | 2 | 32 | one flip per table |
/// | `thirds` | 3 | 22, 21, 21 | one flip in one table |
/// | `quarters` | 4 | 16 | no flips (the paper's 4-table design) |
/// | `2of3+1of2` | 5 | 18, 19 | no flips: two of three parts of the first 27 bits, or one of two of the others |
/// | `2of5` | 10 | 25, 26 | no flips (the paper) |
/// | `sqs8` | 14 | 32 | no flips: a Steiner quadruple system, any 3 of 8 parts miss a block |
/// | `4x4` | 16 | 28 | no flips (the paper) |
/// | `3of6` | 20 | 31 to 33 | no flips (the paper) |
///
/// A larger radius raises the thresholds; every design answers every radius exactly.
///
/// Each table is a copy of the set; with [short tables](crate::Layout::short_tables) only the first
/// one is whole. For fingerprints of 32 bits ([`Design::named_for`]) parts have half as many bits.
///
/// # Examples
///
/// ```
/// use fpstore::Design;
///
/// let design: Design = "quarters".parse()?;
/// assert_eq!(design.table_count(), 4);
/// let custom: Design = "24,20,20".parse()?;
/// assert_eq!(custom.to_string(), "24,20,20");
/// # Ok::<(), fpstore::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Design {
    bits: u32,
    tops: Vec<Vec<BitRange>>,
}

impl Design {
    /// The names that [`Design::from_str`] knows, by number of tables.
    pub const NAMES: &'static [&'static str] =
        &["single", "halves", "thirds", "quarters", "2of3+1of2", "2of5", "sqs8", "4x4", "3of6"];

    /// The design of a name in [`Design::NAMES`], for fingerprints of 64 bits.
    pub fn named(name: &str) -> Option<Self> {
        Self::named_for(u64::BITS, name)
    }

    /// As [`Self::named`], for fingerprints of so many bits, 32 or 64: the same parts of fewer
    /// bits, such as 16 and 16 for `halves`.
    pub fn named_for(bits: u32, name: &str) -> Option<Self> {
        let tops = matches!(bits, 32 | 64).then(|| tops(bits, name))?;
        tops.map(|tops| Self { bits, tops })
    }

    /// A design of one table per width: the fingerprint is cut into adjacent parts of these widths,
    /// in bits, and each table has one of them as its top. Bits beyond the last part are in no top.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOption`] if there is no width or more than 64, one is 0, or they add up to
    /// more than 64.
    pub fn from_widths(widths: &[u32]) -> Result<Self> {
        Self::from_widths_for(u64::BITS, widths)
    }

    /// As [`Self::from_widths`], for fingerprints of so many bits, 32 or 64.
    ///
    /// # Errors
    ///
    /// As [`Self::from_widths`].
    pub fn from_widths_for(bits: u32, widths: &[u32]) -> Result<Self> {
        let sum = widths.iter().try_fold(0u32, |sum, &width| sum.checked_add(width));
        if widths.is_empty() || widths.contains(&0) || sum.is_none_or(|sum| sum > bits) {
            let expected =
                format!("the widths of its tables are 1 bit or more and at most {bits} together");
            return Err(Error::invalid_option("design", list(widths), expected));
        }
        Self::from_tops_for(bits, parts(widths).into_iter().map(|part| vec![part]).collect())
    }

    /// A design from the tops of its tables.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOption`] if there are no tables or more than 256, a top is empty, its ranges
    /// overlap or leave 64 bits, or the first top is not made of adjacent ranges from bit 0 on (the
    /// first table keeps the order of the fingerprints).
    pub fn from_tops(tops: Vec<Vec<BitRange>>) -> Result<Self> {
        Self::from_tops_for(u64::BITS, tops)
    }

    /// As [`Self::from_tops`], for fingerprints of so many bits, 32 or 64.
    ///
    /// # Errors
    ///
    /// As [`Self::from_tops`]; where there are no tables of such fingerprints.
    pub fn from_tops_for(bits: u32, tops: Vec<Vec<BitRange>>) -> Result<Self> {
        let has_tables = matches!(bits, 32 | 64);
        let sound = (1..=256).contains(&tops.len()) && tops.iter().all(|top| is_top(top, bits));
        if !has_tables || !sound || !is_identity(&tops[0]) {
            let expected = match has_tables {
                true => format!(
                    "1 to 256 tables; each top has disjoint ranges inside {bits} bits; those of \
                     the first are adjacent and start at bit 0"
                ),
                false => "tables are for fingerprints of 32 and 64 bits".into(),
            };
            return Err(Error::invalid_option(
                "design",
                format!("{} tables", tops.len()),
                expected,
            ));
        }
        Ok(Self { bits, tops })
    }

    /// Reads a design for fingerprints of so many bits, 32 or 64: a name, the widths of parts,
    /// separated by commas, or the bits of each top, as they are [shown](fmt::Display).
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOption`] with the reason.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpstore::Design;
    ///
    /// let design = Design::read(32, "halves")?;
    /// assert_eq!(design, Design::read(32, "16,16")?);
    /// # Ok::<(), fpstore::Error>(())
    /// ```
    pub fn read(bits: u32, text: &str) -> Result<Self> {
        if let Some(design) = Self::named_for(bits, text).or_else(|| tops_of(bits, text)) {
            return Ok(design);
        }
        let widths: std::result::Result<Vec<u32>, _> =
            text.split(',').map(|width| width.trim().parse()).collect();
        match widths {
            Ok(widths) => Self::from_widths_for(bits, &widths),
            Err(_) => {
                let widths = if bits == 32 { "11,11,10" } else { "22,21,21" };
                let names = Self::NAMES.join(", ");
                let expected = format!("it is one of {names}, or widths in bits such as {widths}");
                Err(Error::invalid_option("design", text, expected))
            }
        }
    }

    /// Bits of the fingerprints.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// The bit ranges of each table's top.
    pub fn tops(&self) -> &[Vec<BitRange>] {
        &self.tops
    }

    /// The number of tables.
    pub fn table_count(&self) -> usize {
        self.tops.len()
    }

    /// The name, if the design is one of [`Design::NAMES`].
    pub fn name(&self) -> Option<&'static str> {
        let is_it = |name: &&str| Self::named_for(self.bits, name).as_ref() == Some(self);
        Self::NAMES.iter().copied().find(is_it)
    }
}

impl fmt::Display for Design {
    /// The name, else the widths of the parts, both as [`Design::from_str`] reads them; else, for
    /// what only [`Design::from_tops`] makes, the bits of each top, as `0..16+32..40,16..32`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = self.name() {
            return f.pad(name);
        }
        let widths: Vec<u32> = self.tops.iter().map(|top| u32::from(top[0].bits)).collect();
        if Self::from_widths_for(self.bits, &widths).is_ok_and(|design| design == *self) {
            return f.pad(&list(&widths));
        }
        let range = |range: &BitRange| format!("{}..{}", range.start, range.start + range.bits);
        let top = |top: &Vec<BitRange>| top.iter().map(range).collect::<Vec<_>>().join("+");
        f.pad(&self.tops.iter().map(top).collect::<Vec<_>>().join(","))
    }
}

impl FromStr for Design {
    type Err = Error;

    /// [Reads](Design::read) a design for fingerprints of 64 bits.
    fn from_str(text: &str) -> Result<Self> {
        Self::read(u64::BITS, text)
    }
}

/// The design of tops such as `0..16+32..40,16..32`.
fn tops_of(bits: u32, text: &str) -> Option<Design> {
    let range = |text: &str| {
        let (start, end) = text.split_once("..")?;
        let (start, end): (u8, u8) = (start.parse().ok()?, end.parse().ok()?);
        Some(BitRange { start, bits: end.checked_sub(start)? })
    };
    let top = |text: &str| text.split('+').map(range).collect::<Option<Vec<_>>>();
    Design::from_tops_for(bits, text.split(',').map(top).collect::<Option<_>>()?).ok()
}

fn list(widths: &[u32]) -> String {
    widths.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
}

/// The 14 blocks of the Steiner quadruple system SQS(8): the 4-subsets of eight points whose
/// numbers xor to zero. Any three points miss a whole block.
fn sqs8_blocks() -> impl Iterator<Item = Vec<usize>> {
    subsets(8, 4).filter(|block| block.iter().fold(0, |sum, point| sum ^ point) == 0)
}

/// The tops of the tables of a named design for fingerprints of so many bits.
fn tops(bits: u32, name: &str) -> Option<Vec<Vec<BitRange>>> {
    let choose = |count: u32, chosen: usize| {
        let parts = parts(&even(bits, count));
        subsets(count as usize, chosen).map(|subset| join(&parts, &subset)).collect()
    };
    Some(match name {
        "single" => choose(1, 1),
        "halves" => choose(2, 1),
        "thirds" => choose(3, 1),
        "quarters" => choose(4, 1),
        "2of3+1of2" => two_of_three_and_one_of_two(bits),
        "2of5" => choose(5, 2),
        "sqs8" => {
            let parts = parts(&even(bits, 8));
            sqs8_blocks().map(|block| join(&parts, &block)).collect()
        }
        "4x4" => (0..4).flat_map(|quarter| quarter_then_quarter(bits as u8, quarter)).collect(),
        "3of6" => choose(6, 3),
        _ => return None,
    })
}

/// The widths of so many parts of so many bits together, the wider ones first.
fn even(bits: u32, parts: u32) -> Vec<u32> {
    (0..parts).map(|part| bits / parts + u32::from(part < bits % parts)).collect()
}

/// Adjacent parts of these widths, from bit 0 on.
fn parts(widths: &[u32]) -> Vec<BitRange> {
    let mut start = 0;
    widths
        .iter()
        .map(|&bits| {
            let part = BitRange { start, bits: bits as u8 };
            start += part.bits;
            part
        })
        .collect()
}

/// Of the first bits every two of three parts, of the others each of two. Of three errors, one side
/// has at most one, which leaves two of its three parts, or one of its two; the sides are as wide
/// as makes these tops alike.
fn two_of_three_and_one_of_two(bits: u32) -> Vec<Vec<BitRange>> {
    let first = (3 * bits + 3) / 7;
    let widths: Vec<u32> = [even(first, 3), even(bits - first, 2)].concat();
    let parts = parts(&widths);
    let chosen = subsets(3, 2).chain([vec![3], vec![4]]);
    chosen.map(|chosen| join(&parts, &chosen)).collect()
}

/// A quarter of the bits, then each quarter of the remaining ones.
fn quarter_then_quarter(bits: u8, quarter: u8) -> impl Iterator<Item = Vec<BitRange>> {
    let width = bits / 4;
    let (first, next) = (BitRange { start: width * quarter, bits: width }, 3 * width / 4);
    (0..4u8).map(move |part| {
        // The bits of the rest that lie before the first quarter keep their number.
        let bit = |i: u8| if i < first.start { i } else { i + width };
        let mut top = vec![first];
        for i in next * part..next * (part + 1) {
            push_bit(&mut top, bit(i));
        }
        top
    })
}

/// Adds one bit behind a top, to its last range where it is adjacent. The first range stays alone.
fn push_bit(top: &mut Vec<BitRange>, bit: u8) {
    match top.last_mut() {
        Some(last) if last.start + last.bits == bit => last.bits += 1,
        _ => top.push(BitRange { start: bit, bits: 1 }),
    }
}

/// The chosen parts, adjacent ones joined.
fn join(parts: &[BitRange], chosen: &[usize]) -> Vec<BitRange> {
    let mut top: Vec<BitRange> = Vec::new();
    for &part in chosen {
        match top.last_mut() {
            Some(last) if last.start + last.bits == parts[part].start => {
                last.bits += parts[part].bits
            }
            _ => top.push(parts[part]),
        }
    }
    top
}

/// The subsets of `chosen` out of `from` points, in lexicographic order.
fn subsets(from: usize, chosen: usize) -> impl Iterator<Item = Vec<usize>> {
    let mut sets: Vec<Vec<usize>> = (0u32..1 << from)
        .filter(|set| set.count_ones() as usize == chosen)
        .map(|set| (0..from).filter(|point| set >> point & 1 == 1).collect())
        .collect();
    sets.sort();
    sets.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_designs_are_valid_and_have_the_tables_that_they_promise() {
        let tables: Vec<usize> = Design::NAMES
            .iter()
            .map(|name| {
                let design = Design::named(name).unwrap();
                assert_eq!(design.name(), Some(*name));
                assert_eq!(design.to_string(), *name);
                assert!(Design::from_tops(design.tops().to_vec()).is_ok(), "{name}");
                design.table_count()
            })
            .collect();
        assert_eq!(tables, [1, 2, 3, 4, 5, 10, 14, 16, 20]);
    }

    #[test]
    fn the_paper_s_prefix_widths_hold() {
        let widths = |name: &str| -> Vec<u32> {
            let design = Design::named(name).unwrap();
            design.tops().iter().map(|top| top.iter().map(|r| u32::from(r.bits)).sum()).collect()
        };
        assert!(widths("quarters").iter().all(|&p| p == 16));
        assert_eq!(widths("2of3+1of2"), [18, 18, 18, 19, 18]);
        assert!(widths("2of5").iter().all(|&p| (25..=26).contains(&p)));
        assert!(widths("4x4").iter().all(|&p| p == 28));
        assert!(widths("3of6").iter().all(|&p| (31..=33).contains(&p)));
        assert!(widths("sqs8").iter().all(|&p| p == 32));
    }

    #[test]
    fn designs_are_shown_as_they_are_read_or_by_their_bits() {
        let by_bits = ["0..16,0..16", "0..4+4..20,60..64+0..2"];
        for text in ["thirds", "24,20,20", "5", "1,2,3"].into_iter().chain(by_bits) {
            assert_eq!(text.parse::<Design>().unwrap().to_string(), text);
        }
        let range = |start, bits| BitRange { start, bits };
        let twice = Design::from_tops(vec![vec![range(0, 16)], vec![range(0, 16)]]).unwrap();
        assert_eq!(twice.to_string(), "0..16,0..16");
        let split = vec![vec![range(0, 4), range(4, 16)], vec![range(60, 4), range(0, 2)]];
        assert_eq!(Design::from_tops(split).unwrap().to_string(), "0..4+4..20,60..64+0..2");
    }

    #[test]
    fn widths_that_make_no_design_are_refused_with_the_reason() {
        let by_bits =
            ["0..65", "1..64", "0..16,", "0..16,9..8", "0..16,0..9+8..16", "0..16,256..0"];
        for text in ["", "0,64", "33,32", "half", "4294967295,1"].into_iter().chain(by_bits) {
            let error = text.parse::<Design>().unwrap_err().to_string();
            assert!(error.starts_with("design cannot be"), "{error}");
        }
    }
}
