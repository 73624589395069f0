//! Blocks against the keys that went into them, over all codecs, widths and block sizes.

use proptest::prelude::*;

use super::decode::LANES;
use super::*;
use crate::codec::profile::{Coding, Profile};
use crate::cover::Differs;
use crate::error::Corruption;
use crate::format::{Codec, Geometry, low_widths};
use crate::simd::Level;

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

/// Keys as dense that their gaps are narrow with some width of the column.
fn dense() -> impl Strategy<Value = Vec<u64>> {
    (any::<u64>(), 0u32..40, 100u64..2500).prop_map(|(seed, spread, count)| {
        let mut random = seed | 1;
        let mut next = move || {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random
        };
        let range = count << spread;
        let start = next() % (u64::MAX - range);
        let mut keys: Vec<u64> = (0..count).map(|_| start + next() % range).collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    })
}

fn geometry(block_bytes: u32, coding: &Coding) -> Geometry {
    Geometry { bits: coding.bits, block_bytes, low_bits: coding.low_bits, block_count: 0 }
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

/// A reader with these instructions.
fn reader_with(coding: &Coding, block_bytes: u32, level: Level) -> BlockReader {
    let geometry = geometry(block_bytes, coding);
    BlockReader::with(coding.codec, geometry, &coding.code_lengths, level)
}

fn codings(bits: u32, keys: &[u64]) -> Vec<Coding> {
    let profile = Profile::new(bits, keys);
    let codings = |codec| low_widths(bits).map(move |low_bits| (codec, low_bits));
    let all = Codec::ALL.into_iter().flat_map(codings);
    all.map(|(codec, low_bits)| profile.coding(codec, low_bits)).collect()
}

/// A width, and keys of that: the first or the last bits of each. Those of short tables may be
/// equal.
fn of_width() -> impl Strategy<Value = (u32, Vec<u64>)> {
    let bits = prop::sample::select(vec![64u32, 64, 56, 48, 40, 32, 32]);
    (bits, any::<bool>(), any::<bool>(), prop_oneof![keys(), dense()]).prop_map(
        |(bits, first, short, mut keys)| {
            let pad = 64 - bits;
            let shift = |key: u64| if first { key >> pad << pad } else { key << pad };
            keys.iter_mut().for_each(|key| *key = shift(*key));
            keys.sort_unstable();
            if !short {
                keys.dedup();
            }
            (bits, keys)
        },
    )
}

/// Whether some keys are equal.
fn repeat(keys: &[u64]) -> bool {
    !keys.is_sorted_by(|a, b| a < b)
}

/// What the block `bytes` lets through that stands first in a file.
fn sift(
    reader: &BlockReader,
    bytes: &[u8],
    query: u64,
    (k, budget): (u32, u32),
    reading: Reading,
) -> Result<Vec<u32>, Corruption> {
    let mut file = vec![0; reader.geometry.block(0).start];
    file.extend(bytes);
    let mut survivors = Vec::new();
    let candidates = [Candidate { block: 0, budget }];
    let sieve = reader.sieve(&file, (query, k), (3, &candidates), (reading, 100));
    super::sift(reader.level(), [sieve].into_iter(), std::iter::empty(), &mut survivors)
        .map_err(|(_, corruption)| corruption)?;
    assert!(survivors.iter().all(|survivor| survivor.candidate == 3));
    Ok(survivors.iter().map(|survivor| survivor.number).collect())
}

proptest! {
    #[test]
    fn keys_come_back((bits, keys) in of_width(), size in 8u32..=16) {
        for coding in codings(bits, &keys) {
            let encoded = encode(&keys, &coding, 1 << size);
            for level in Level::all() {
                let reader = reader_with(&coding, 1 << size, level);
                // As in a file: one block behind the other, and something behind the last.
                let mut file: Vec<u8> =
                    encoded.iter().flat_map(|(bytes, _)| &bytes[..1 << size]).copied().collect();
                file.extend([0xFF; OVERHANG]);
                let view = |number: usize| {
                    let offset = number << size;
                    let bytes = &file[offset..offset + (1 << size) + OVERHANG];
                    (offset, reader.view(number as u64, bytes).unwrap())
                };
                let blocks: Vec<_> = (0..encoded.len()).map(view).collect();
                // All together, and each by itself.
                let (mut decoded, mut each) = (vec![9; 5], Vec::new());
                reader.decode(&file, &blocks, &mut decoded).unwrap();
                prop_assert_eq!(&decoded, &keys, "{:?} {:?}", coding, level);
                let mut rest = &keys[..];
                for ((_, block), (_, count)) in blocks.iter().zip(&encoded) {
                    reader.decode_strictly(block, repeat(&keys), &mut each).unwrap();
                    let (expected, behind) = rest.split_at(*count);
                    prop_assert_eq!(&each[..], expected);
                    rest = behind;
                }
            }
        }
    }

    #[test]
    fn survivors_within_k_are_found(
        (bits, keys) in of_width(), size in 8u32..=16, query in any::<u64>(), k in 0u32..=64,
        step in 1usize..9,
    ) {
        for coding in codings(bits, &keys) {
            let reader = reader(&coding, 1 << size);
            let mut rest = &keys[..];
            for (number, (bytes, count)) in encode(&keys, &coding, 1 << size).iter().enumerate() {
                let block = reader.view(number as u64, bytes).unwrap();
                let (inside, behind) = rest.split_at(*count);
                rest = behind;
                let survivors: Vec<u32> = (0..*count as u32).step_by(step).collect();
                let near = |key: &u64| (key ^ query).count_ones() <= k;
                let expected: Vec<u64> = inside.iter().copied().step_by(step).filter(near).collect();
                let mut found = Vec::new();
                reader.matches(&block, (query, k), survivors.iter().copied(), &mut vec![7; 3], |_, key| found.push(key)).unwrap();
                prop_assert_eq!(found, expected, "{:?}", coding);
            }
        }
    }

    #[test]
    fn a_block_is_full_when_the_next_key_begins_another(
        (bits, keys) in of_width(), size in 8u32..=12,
    ) {
        for coding in codings(bits, &keys) {
            let blocks = encode(&keys, &coding, 1 << size);
            let geometry = geometry(1 << size, &coding);
            let mut start = 0;
            for (_, count) in &blocks[..blocks.len() - 1] {
                // The bits of this block's keys and of the next one, by the definition of the
                // classes.
                let bits: u64 = keys[start..=start + count].windows(2).map(|pair| {
                    let below = 64 - bits + coding.low_bits;
                    let (u, v) = (pair[0] >> below, pair[1] >> below);
                    let delta = match coding.codec {
                        Codec::Xor => u ^ v,
                        Codec::Gap => v - u,
                    };
                    let length = 64 - delta.leading_zeros();
                    let class = (bits - coding.low_bits - length) as usize;
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
        (bits, keys) in of_width(), size in 8u32..=16, query in any::<u64>(),
        near in any::<prop::sample::Index>(), flips in prop::collection::vec(0u32..64, 0..6),
        k in 0u32..=64, spent in 0u32..=8,
    ) {
        let budget = k.saturating_sub(spent);
        let stored = flips.iter().fold(keys[near.index(keys.len())], |key, bit| key ^ 1 << bit);
        // A query is a key, too.
        let key_mask = u64::MAX << (64 - bits);
        let (query, stored) = (query & key_mask, stored & key_mask);
        for coding in codings(bits, &keys) {
            let low_mask = ((1u64 << coding.low_bits) - 1) << (64 - bits);
            let reader = reader(&coding, 1 << size);
            let mut rest = &keys[..];
            for (number, (bytes, count)) in encode(&keys, &coding, 1 << size).iter().enumerate() {
                let block = reader.view(number as u64, bytes).unwrap();
                let (inside, behind) = rest.split_at(*count);
                rest = behind;
                for (query, reading) in [query, stored]
                    .into_iter()
                    .flat_map(|query| [(query, Reading::Parts), (query, Reading::Whole)])
                {
                    let mut survivors =
                        sift(&reader, bytes, query, (k, budget), reading).unwrap();
                    let planes = reading.first_planes(budget, 1 << size);
                    let first_bits = 8 * planes.min(reader.geometry.planes());
                    let first_mask = ((1u64 << first_bits) - 1) << (64 - bits);
                    let sifted: Vec<u32> = (0..inside.len()).filter(|&i| {
                        let (mask, most) = if i == 0 { (u64::MAX, k) } else { (first_mask, budget) };
                        ((inside[i] ^ query) & mask).count_ones() <= most
                    }).map(|i| i as u32).collect();
                    // Of dense keys those are left out that differ in too many bits of all planes.
                    prop_assert!(survivors.iter().all(|number| sifted.contains(number)), "{:?}", coding);
                    survivors.retain(|&number| {
                        let differs = reader.refiner(&block, query).differs(budget, number);
                        differs.is_some_and(|Differs { bits, seen }| {
                            let key = inside[number as usize] ^ query;
                            assert_eq!((bits, seen), (key & seen, if number == 0 { key_mask } else { low_mask }));
                            true
                        })
                    });
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
        (bits, keys) in of_width(), size in prop_oneof![8u32..=10, Just(14u32)],
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
    ) {
        for coding in codings(bits, &keys) {
            for (mut bytes, _) in encode(&keys, &coding, 1 << size) {
                let length = bytes.len();
                for (at, byte) in &damage {
                    bytes[at.index(length)] = *byte;
                }
                for level in Level::all() {
                    let reader = reader_with(&coding, 1 << size, level);
                    let Ok(block) = reader.view(0, &bytes) else { continue };
                    let (mut decoded, mut strict) = (Vec::new(), Vec::new());
                    let survivors = sift(&reader, &bytes, 0, (3, 3), Reading::Parts).unwrap();
                    // The page may change once more before the survivors are looked into.
                    for number in survivors.iter().copied().chain([block.keys, u32::MAX]) {
                        reader.refiner(&block, 0).differs(3, number);
                    }
                    let whole = reader.decode(&bytes, &[(0, block); 5], &mut decoded);
                    let all: Vec<u32> = (0..block.keys).collect();
                    let mut one_by_one = Vec::new();
                    let by_key = reader.matches(&block, (0, 64), all.iter().copied(), &mut Vec::new(), |_, key| one_by_one.push(key));
                    // Both ways to decode agree on keys and on errors.
                    prop_assert_eq!(&whole, &by_key);
                    // So does going on to one key.
                    for number in (0..block.keys).step_by(1 + block.keys as usize / 20) {
                        let mut found = None;
                        let result = reader.matches(&block, (0, 64), [number].into_iter(), &mut Vec::new(), |_, key| found = Some(key));
                        let expected = one_by_one.get(number as usize);
                        prop_assert_eq!(found.as_ref(), expected);
                        prop_assert_eq!(&result, if expected.is_some() { &Ok(()) } else { &by_key });
                    }
                    if whole.is_ok() {
                        prop_assert_eq!(decoded.len(), 5 * one_by_one.len());
                        prop_assert!(decoded.chunks(one_by_one.len()).all(|keys| keys == one_by_one));
                        prop_assert!(survivors.iter().all(|&i| i < block.keys));
                    }
                    if reader.decode_strictly(&block, false, &mut strict).is_ok() {
                        prop_assert!(strict.windows(2).all(|pair| pair[0] < pair[1]));
                        prop_assert_eq!(&strict, &one_by_one);
                    }
                }
            }
        }
    }
}

/// The property tests above go through every decoder, since each level has those for its CPUs.
#[test]
fn a_table_gets_the_decoder_for_its_codes_and_the_cpu() {
    // Gaps of some 52 bits, of which a column takes away what it has.
    let keys: Vec<u64> = (0..3000u64).map(|i| (i * i) << 40).collect();
    for coding in codings(64, &keys) {
        #[cfg_attr(not(target_arch = "x86_64"), allow(unused_variables))]
        let (has_runs, is_gap) = (coding.low_bits >= 32, coding.codec == Codec::Gap);
        for level in Level::all() {
            let expected = match level {
                Level::Scalar(_) => "Plain",
                #[cfg(target_arch = "aarch64")]
                Level::Neon(_) => "Plain",
                #[cfg(target_arch = "x86_64")]
                Level::Avx512(_) if is_gap && coding.low_bits >= 40 => "Deposit",
                #[cfg(target_arch = "x86_64")]
                _ if has_runs => "ByRuns",
                #[cfg(target_arch = "x86_64")]
                _ => "PlainAvx2",
            };
            let decoder = format!("{:?}", reader_with(&coding, 1024, level).decoder.unwrap());
            let found = decoder.split(|c: char| !c.is_alphanumeric()).next();
            assert_eq!(found, Some(expected), "{coding:?}, {level:?}");
        }
    }
}

/// Where the sums of gaps leave the bits of a middle, which are hardly more than those of a gap,
/// every decoder says so.
#[test]
fn middles_that_leave_their_bits_are_broken_in_the_widest_columns() {
    const BLOCK_BYTES: u32 = 2048;
    const STEP: u64 = 200;
    for low_bits in [32, 40, 48] {
        let key = |i: u64| {
            let random = crate::set_sum::term(i) as u64;
            (STEP * i + random % STEP) << low_bits | random >> (64 - low_bits)
        };
        let keys: Vec<u64> = (0..200).map(key).collect();
        let profile = Profile::new(64, &keys);
        let coding = profile.coding(Codec::Gap, low_bits);
        let (mut bytes, count) = encode(&keys, &coding, BLOCK_BYTES).remove(0);
        let place = geometry(BLOCK_BYTES, &coding);
        for (first, is_sound) in [(keys[0], true), (u64::MAX - (STEP << (low_bits + 4)), false)] {
            place.write_block_header(&mut bytes, count as u32, first);
            for level in Level::all() {
                let reader = reader_with(&coding, BLOCK_BYTES, level);
                let block = reader.view(0, &bytes).unwrap();
                let mut decoded = Vec::new();
                // So many that none is decoded by itself, which would tell.
                let whole = reader.decode(&bytes, &[(0, block); LANES], &mut decoded);
                assert_eq!(whole.is_ok(), is_sound, "{low_bits}, {level:?}: {whole:?}");
                let all = 0..count as u32;
                let by_key = reader.matches(&block, (0, 64), all, &mut Vec::new(), |_, _| ());
                assert_eq!(whole, by_key, "{low_bits}, {level:?}");
            }
        }
    }
}

/// Where one of the blocks that are decoded side by side is short, the others go on alone; and each
/// key is gone on to from the first.
#[test]
fn blocks_of_every_length_are_decoded_beside_a_short_one() {
    const BLOCK_BYTES: usize = 2048;
    for seed in 0..60u64 {
        // Gaps of very different widths, so that look-ups find few keys and many.
        let gap = |i: u64| {
            let random = crate::set_sum::term(seed << 32 | i) as u64;
            random << 32 >> 50 >> (random % 13)
        };
        let sum = |sum: &mut u64, i: u64| {
            *sum += gap(i);
            Some(*sum << 32 | i)
        };
        let keys: Vec<u64> = (0..300).scan(seed, sum).collect();
        let coding = Profile::new(64, &keys).coding(Codec::Gap, 32);
        let block = |count: usize| encode(&keys[..count], &coding, BLOCK_BYTES as u32).remove(0);
        let (short, _) = block(2);
        for level in Level::all() {
            let reader = reader_with(&coding, BLOCK_BYTES as u32, level);
            for count in 2..=keys.len() {
                let (long, encoded) = block(count);
                assert_eq!(encoded, count);
                // As in a file: a short block behind another.
                let mut file = [&long[..BLOCK_BYTES], &short[..BLOCK_BYTES]].concat();
                file.extend([0; OVERHANG]);
                let view = |number: usize| {
                    let offset = number * BLOCK_BYTES;
                    let bytes = &file[offset..offset + BLOCK_BYTES + OVERHANG];
                    (offset, reader.view(number as u64, bytes).unwrap())
                };
                let mut decoded = Vec::new();
                reader.decode(&file, &[view(0), view(1), view(0), view(0)], &mut decoded).unwrap();
                let (long, short) = (&keys[..count], &keys[..2]);
                assert!(decoded == [long, short, long, long].concat(), "{level:?}, {count} keys");
                let (last, mut found) = ([count as u32 - 1], Vec::new());
                let found_key = |number, key| found.push((number, key));
                reader
                    .matches(&view(0).1, (0, 64), last.into_iter(), &mut decoded, found_key)
                    .unwrap();
                assert_eq!(found, [(last[0], long[count - 1])], "{level:?}");
            }
        }
    }
}

#[test]
fn the_largest_block_holds_over_sixty_five_thousand_consecutive_keys() {
    let keys: Vec<u64> = (0..70_000).collect();
    let coding = Profile::new(64, &keys).coding(Codec::Gap, 0);
    let blocks = encode(&keys, &coding, 8192);
    // A header of 14 bytes, the first key in it, one bit for each further one.
    assert_eq!(blocks[0].1, 8 * (8192 - 14) + 1);
    let reader = reader(&coding, 8192);
    let mut decoded = Vec::new();
    let block = reader.view(0, &blocks[0].0).unwrap();
    reader.decode(&blocks[0].0, &[(0, block)], &mut decoded).unwrap();
    assert_eq!(decoded, keys[..blocks[0].1]);
}

/// Of 32 bits nothing wraps.
#[test]
fn gaps_that_leave_32_bits_are_refused() {
    let keys: Vec<u64> = (0..60).map(|i| i << 32).collect();
    for low_bits in low_widths(32) {
        let coding = Profile::new(32, &keys).coding(Codec::Gap, low_bits);
        for level in Level::all() {
            let reader = reader_with(&coding, 1024, level);
            let (mut bytes, count) = encode(&keys, &coding, 1024).remove(0);
            // The gap of 1 at key 10 or that of 256, ... in the middles of the last.
            let first = u32::MAX - 9;
            bytes[6..10].copy_from_slice(&first.to_le_bytes());
            let block = reader.view(5, &bytes).unwrap();
            let mut decoded = Vec::new();
            let all = reader.decode(&bytes, &[(0, block); LANES], &mut decoded);
            let last = [count as u32 - 1];
            let one = reader.matches(&block, (0, 64), last.into_iter(), &mut Vec::new(), |_, _| ());
            assert_eq!(all, one);
            let broken = Err(Corruption::ImpossibleClass { block: 5, key: 10 });
            assert_eq!(all, if low_bits == 0 { broken } else { Ok(()) }, "L = {low_bits}");
        }
    }
}

/// Sums of gaps that leave their bits, by 2^64 or less, and end where a sound one may.
#[test]
fn gaps_that_leave_their_bits_are_refused() {
    let long = [0, 3 << 62, (3 << 62) + 1];
    let short: Vec<u64> = (0..40).map(|i| i << 10).chain([1 << 40]).collect();
    let narrow: Vec<u64> = (0..40).map(|i| i << 34).collect();
    for (keys, low_bits, first, broken) in [
        (&long[..], 0, 3 << 62, 1),
        (&short, 0, u64::MAX - 9, 1),
        (&short, 8, u64::MAX, 1),
        (&narrow, 32, u64::MAX, 1),
        (&narrow, 32, u64::MAX - (9 << 32), 3),
    ] {
        let coding = Profile::new(64, keys).coding(Codec::Gap, low_bits);
        for level in Level::all() {
            let reader = reader_with(&coding, 1024, level);
            let (mut bytes, count) = encode(keys, &coding, 1024).remove(0);
            assert_eq!(count, keys.len());
            bytes[6..14].copy_from_slice(&u64::to_le_bytes(first));
            let block = reader.view(5, &bytes).unwrap();
            let expected = Err(Corruption::ImpossibleClass { block: 5, key: broken });
            let mut decoded = Vec::new();
            assert_eq!(reader.decode(&bytes, &[(0, block)], &mut decoded), expected);
            assert_eq!(reader.decode(&bytes, &[(0, block); LANES], &mut decoded), expected);
            let last = [count as u32 - 1];
            assert_eq!(
                reader.matches(&block, (0, 64), last.into_iter(), &mut Vec::new(), |_, _| ()),
                expected
            );
        }
    }
}

#[test]
fn impossible_key_counts_are_refused() {
    let keys: Vec<u64> = (0..50).map(|i| i << 40).collect();
    let coding = Profile::new(64, &keys).coding(Codec::Xor, 8);
    let (mut bytes, _) = encode(&keys, &coding, 256).remove(0);
    for count in [0u16, 256 - 14 + 2, u16::MAX] {
        bytes[4..6].copy_from_slice(&count.to_le_bytes());
        let expected = Corruption::KeyCount { block: 9, found: count.into() };
        assert_eq!(reader(&coding, 256).view(9, &bytes).unwrap_err(), expected);
    }
}
