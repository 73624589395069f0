//! The tops of the named designs.

use crate::format::BitRange;

/// The 14 blocks of the Steiner quadruple system SQS(8): the 4-subsets of eight points whose
/// numbers xor to zero. Any three points miss a whole block.
fn sqs8_blocks() -> impl Iterator<Item = Vec<usize>> {
    subsets(8, 4).filter(|block| block.iter().fold(0, |sum, point| sum ^ point) == 0)
}

/// The tops of the tables of a named design.
pub(super) fn tops(name: &str) -> Option<Vec<Vec<BitRange>>> {
    let choose = |widths: &[u32], chosen: usize| {
        let parts = parts(widths);
        subsets(widths.len(), chosen).map(|subset| join(&parts, &subset)).collect()
    };
    Some(match name {
        "single" => choose(&[64], 1),
        "halves" => choose(&[32; 2], 1),
        "thirds" => choose(&[22, 21, 21], 1),
        "quarters" => choose(&[16; 4], 1),
        "2of5" => choose(&[13, 13, 13, 13, 12], 2),
        "sqs8" => {
            let parts = parts(&[8; 8]);
            sqs8_blocks().map(|block| join(&parts, &block)).collect()
        }
        "4x4" => (0..4).flat_map(quarter_then_quarter).collect(),
        "3of6" => choose(&[11, 11, 11, 11, 10, 10], 3),
        _ => return None,
    })
}

/// Adjacent parts of these widths, from bit 0 on.
pub(super) fn parts(widths: &[u32]) -> Vec<BitRange> {
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

/// A quarter of 16 bits, then each quarter of the remaining 48 bits.
fn quarter_then_quarter(quarter: u8) -> impl Iterator<Item = Vec<BitRange>> {
    let first = BitRange { start: 16 * quarter, bits: 16 };
    (0..4u8).map(move |part| {
        // The bits of the rest that lie before the first quarter keep their number.
        let bit = |i: u8| if i < first.start { i } else { i + 16 };
        let mut top = vec![first];
        for i in 12 * part..12 * (part + 1) {
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
