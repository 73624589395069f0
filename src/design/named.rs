//! The tops of the named designs.

use crate::format::BitRange;

/// The 14 blocks of the Steiner quadruple system SQS(8): the 4-subsets of eight points whose
/// numbers xor to zero. Any three points miss a whole block.
fn sqs8_blocks() -> impl Iterator<Item = Vec<usize>> {
    subsets(8, 4).filter(|block| block.iter().fold(0, |sum, point| sum ^ point) == 0)
}

/// The tops of the tables of a named design for fingerprints of so many bits.
pub(super) fn tops(bits: u32, name: &str) -> Option<Vec<Vec<BitRange>>> {
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
