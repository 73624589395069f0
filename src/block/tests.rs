//! Blocks against the keys that went into them, over all codecs, widths and block sizes.

use proptest::prelude::*;

use super::*;
use crate::error::Corruption;
use crate::format::{Codec, Geometry, LOW_BITS};
use crate::profile::{Coding, Profile};

const HEADER_CRC: u32 = 0xC0FF_EE00;

/// Keys of many shapes: uniform, dense runs, clusters, and the ends of the range.
pub(crate) fn keys() -> impl Strategy<Value = Vec<u64>> {
    let shaped = (any::<u64>(), 0u32..63, 0u32..64)
        .prop_map(|(seed, shift, rotation)| (seed >> shift).rotate_left(rotation));
    let run = (any::<u64>(), 1u64..40, 0u32..40).prop_map(|(start, length, step)| {
        (0..length).map(|i| start.wrapping_add(i << step)).collect::<Vec<_>>()
    });
    let parts = prop_oneof![
        3 => prop::collection::vec(any::<u64>(), 1..200),
        2 => prop::collection::vec(shaped, 1..200),
        2 => run,
        1 => Just(vec![0, u64::MAX]),
    ];
    prop::collection::vec(parts, 1..6).prop_map(|parts| {
        let mut keys = parts.concat();
        keys.sort_unstable();
        keys.dedup();
        keys
    })
}

fn geometry(block_bytes: u32, coding: &Coding) -> Geometry {
    Geometry { block_bytes, low_bits: coding.low_bits, block_count: 0 }
}

/// Encodes keys; gives the blocks, each with its overhang, and the number of keys of each.
fn encode(keys: &[u64], coding: &Coding, block_bytes: u32) -> Vec<(Vec<u8>, usize)> {
    let writer = BlockWriter::new(coding, geometry(block_bytes, coding), HEADER_CRC);
    let starts = writer.cut(keys);
    let ends = starts.iter().skip(1).copied().chain([keys.len()]);
    let blocks = starts.iter().zip(ends).enumerate().map(|(number, (&start, end))| {
        let mut bytes = vec![0; block_bytes as usize];
        writer.encode(number as u64, &keys[start..end], &mut bytes);
        // The bytes behind a block are not its own; a decoder must not mind them.
        bytes.extend([0xFF; OVERHANG]);
        (bytes, end - start)
    });
    blocks.collect()
}

fn reader(coding: &Coding, block_bytes: u32) -> BlockReader {
    BlockReader::new(coding.codec, geometry(block_bytes, coding), &coding.code_lengths)
}

fn codings(keys: &[u64]) -> Vec<Coding> {
    let profile = Profile::new(keys);
    let choose = |codec, low_bits| profile.choose(Some(codec), Some(low_bits)).unwrap();
    let all = Codec::ALL.into_iter().flat_map(|codec| LOW_BITS.map(|low_bits| (codec, low_bits)));
    all.map(|(codec, low_bits)| choose(codec, low_bits)).collect()
}

proptest! {
    #[test]
    fn keys_come_back_whole_and_in_part(
        keys in keys(), size in 8u32..=16, part in any::<prop::sample::Index>(),
    ) {
        for coding in codings(&keys) {
            let reader = reader(&coding, 1 << size);
            let mut rest = &keys[..];
            for (number, (bytes, count)) in encode(&keys, &coding, 1 << size).iter().enumerate() {
                let block = reader.view(number as u64, bytes).unwrap();
                let mut decoded = Vec::new();
                reader.decode_strictly(&block, &mut decoded).unwrap();
                let (expected, behind) = rest.split_at(*count);
                prop_assert_eq!(&decoded[..], expected, "{:?}", coding);
                let limit = part.index(count + 1);
                reader.decode(&block, limit as u32, &mut decoded).unwrap();
                prop_assert_eq!(&decoded[..], &expected[..limit]);
                rest = behind;
            }
            prop_assert!(rest.is_empty());
        }
    }

    #[test]
    fn a_block_is_full_when_the_next_key_begins_another(keys in keys(), size in 8u32..=12) {
        for coding in codings(&keys) {
            let blocks = encode(&keys, &coding, 1 << size);
            let geometry = geometry(1 << size, &coding);
            let mut start = 0;
            for (_, count) in &blocks[..blocks.len() - 1] {
                // The bits of this block's keys and of the next one, by the definition of the
                // classes.
                let bits: u64 = keys[start..=start + count].windows(2).map(|pair| {
                    let (u, v) = (pair[0] >> coding.low_bits, pair[1] >> coding.low_bits);
                    let delta = if coding.codec == Codec::Xor { u ^ v } else { v - u };
                    let length = 64 - delta.leading_zeros();
                    let class = (64 - coding.low_bits - length) as usize;
                    u64::from(coding.code_lengths[class]) + u64::from(length.saturating_sub(1))
                }).sum();
                let column = count * geometry.planes();
                let needed = geometry.column_at() + column + bits.div_ceil(8) as usize;
                prop_assert!(needed > 1 << size, "{} bytes needed", needed);
                start += count;
            }
        }
    }

    #[test]
    fn the_scan_finds_exactly_the_keys_whose_low_bits_are_near(
        keys in keys(), size in 8u32..=16, query in any::<u64>(), near in any::<prop::sample::Index>(),
        flips in prop::collection::vec(0u32..64, 0..6), k in 0u32..=64, spent in 0u32..=8,
    ) {
        let budget = k.saturating_sub(spent);
        let stored = flips.iter().fold(keys[near.index(keys.len())], |key, bit| key ^ 1 << bit);
        for coding in codings(&keys) {
            let low_mask = (1u64 << coding.low_bits) - 1;
            let reader = reader(&coding, 1 << size);
            let mut rest = &keys[..];
            for (number, (bytes, count)) in encode(&keys, &coding, 1 << size).iter().enumerate() {
                let block = reader.view(number as u64, bytes).unwrap();
                let (inside, behind) = rest.split_at(*count);
                rest = behind;
                for query in [query, stored] {
                    let mut survivors = Vec::new();
                    reader.scan(&block, query, k, budget, &mut survivors);
                    let expected: Vec<u32> = (0..inside.len()).filter(|&i| {
                        let (mask, most) = if i == 0 { (u64::MAX, k) } else { (low_mask, budget) };
                        ((inside[i] ^ query) & mask).count_ones() <= most
                    }).map(|i| i as u32).collect();
                    prop_assert_eq!(survivors, expected, "{:?}", coding);
                }
            }
        }
    }

    /// The decoder takes any bytes: a page may come back changed after its CRC was checked.
    #[test]
    fn damaged_blocks_give_keys_or_an_error_and_never_a_panic(
        keys in keys(), size in 8u32..=10,
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
    ) {
        for coding in codings(&keys) {
            let reader = reader(&coding, 1 << size);
            for (mut bytes, _) in encode(&keys, &coding, 1 << size) {
                let length = bytes.len();
                for (at, byte) in &damage {
                    bytes[at.index(length)] = *byte;
                }
                let (mut decoded, mut survivors) = (Vec::new(), Vec::new());
                if let Ok(block) = reader.view(0, &bytes) {
                    reader.scan(&block, 0, 3, 3, &mut survivors);
                    if reader.decode(&block, u32::MAX, &mut decoded).is_ok() {
                        prop_assert!(decoded.windows(2).all(|pair| pair[0] < pair[1]));
                        prop_assert!(survivors.iter().all(|&i| (i as usize) < decoded.len()));
                    }
                }
            }
        }
    }
}

#[test]
fn the_largest_block_holds_more_than_half_a_million_consecutive_keys() {
    let keys: Vec<u64> = (0..600_000).collect();
    let coding = Profile::new(&keys).choose(Some(Codec::Gap), Some(0)).unwrap();
    let blocks = encode(&keys, &coding, 65536);
    // A header of 16 bytes, the first key in it, one bit for each further one.
    assert_eq!(blocks[0].1, 8 * (65536 - 16) + 1);
    let reader = reader(&coding, 65536);
    let mut decoded = Vec::new();
    reader.decode(&reader.view(0, &blocks[0].0).unwrap(), u32::MAX, &mut decoded).unwrap();
    assert_eq!(decoded, keys[..blocks[0].1]);
}

#[test]
fn impossible_key_counts_are_refused() {
    let keys: Vec<u64> = (0..50).map(|i| i << 40).collect();
    let coding = Profile::new(&keys).choose(Some(Codec::Xor), Some(8)).unwrap();
    let (mut bytes, _) = encode(&keys, &coding, 256).remove(0);
    for count in [0u16, 256 - 14 + 2, u16::MAX] {
        bytes[4..6].copy_from_slice(&count.to_le_bytes());
        let expected = Corruption::KeyCount { block: 9, found: count.into() };
        assert_eq!(reader(&coding, 256).view(9, &bytes).unwrap_err(), expected);
    }
}
