//! Fingerprints of 32, 64, 128 and 256 bits: inputs, outputs and answers against brute force.
//!
//! A fingerprint is its bytes here, the most significant first: nothing is shared with what is
//! tested.

mod answers;
mod inputs;
mod pairs;
mod refused;
mod repaired;
mod written;

use serde_json::Value;

use crate::oracle::Random;
use crate::{Ran, Scratch};

const WIDTHS: [usize; 4] = [32, 64, 128, 256];

type Bytes = Vec<u8>;

fn digits(fingerprint: &Bytes) -> String {
    fingerprint.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn distance(one: &Bytes, other: &Bytes) -> u32 {
    one.iter().zip(other).map(|(a, b)| (a ^ b).count_ones()).sum()
}

fn random(random: &mut Random, bits: usize) -> Bytes {
    (0..bits / 8).map(|_| random.next() as u8).collect()
}

fn near(random: &mut Random, fingerprint: &Bytes, flips: u64) -> Bytes {
    let mut near = fingerprint.clone();
    for _ in 0..random.below(flips + 1) {
        let bit = random.below(8 * near.len() as u64) as usize;
        near[bit / 8] ^= 1 << (bit % 8);
    }
    near
}

/// Fingerprints, of which half are near another one.
fn set(seed: u64, bits: usize, count: usize) -> Vec<Bytes> {
    let mut source = Random(seed);
    let mut set: Vec<Bytes> = (0..count / 2).map(|_| random(&mut source, bits)).collect();
    while set.len() < count {
        let base = set[source.below(set.len() as u64) as usize].clone();
        set.push(near(&mut source, &base, bits as u64 / 8));
    }
    set
}

fn queries(seed: u64, set: &[Bytes], count: usize) -> Vec<Bytes> {
    let mut source = Random(seed);
    (0..count)
        .map(|number| match number % 3 {
            0 => random(&mut source, 8 * set[0].len()),
            _ => {
                let base = set[source.below(set.len() as u64) as usize].clone();
                near(&mut source, &base, set[0].len() as u64)
            }
        })
        .collect()
}

fn sorted(set: &[Bytes]) -> Vec<Bytes> {
    let mut set = set.to_vec();
    set.sort();
    set.dedup();
    set
}

/// All within `k`, by distance, then by value.
fn matches(set: &[Bytes], query: &Bytes, k: u32) -> Vec<(u32, Bytes)> {
    let distances = set.iter().map(|one| (distance(one, query), one));
    let near = distances.filter(|(distance, _)| *distance <= k);
    let mut found: Vec<_> = near.map(|(distance, one)| (distance, one.clone())).collect();
    found.sort();
    found.dedup();
    found
}

/// The rows of queries, of each at most so many.
fn tsv(set: &[Bytes], queries: &[Bytes], k: u32, most: usize) -> String {
    let rows = |query: &Bytes| -> String {
        let found = matches(set, query, k).into_iter().take(most);
        let row = |(distance, one): (u32, Bytes)| {
            format!("{}\t{}\t{distance}\n", digits(query), digits(&one))
        };
        found.map(row).collect()
    };
    queries.iter().map(rows).collect()
}

fn list(set: &[Bytes]) -> String {
    set.iter().map(|one| digits(one) + "\n").collect()
}

fn binary(fingerprint: &Bytes) -> String {
    fingerprint.iter().map(|byte| format!("{byte:08b}")).collect()
}

/// Bit by bit, by the definition of RFC 4648.
fn base64(fingerprint: &Bytes, pad: bool) -> String {
    let mut bits = binary(fingerprint);
    while !bits.len().is_multiple_of(6) {
        bits.push('0');
    }
    let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digit = |six: &[u8]| {
        let value = six.iter().fold(0, |value, bit| 2 * value + usize::from(bit - b'0'));
        char::from(digits[value])
    };
    let mut text: String = bits.as_bytes().chunks(6).map(digit).collect();
    while pad && !text.len().is_multiple_of(4) {
        text.push('=');
    }
    text
}

/// Words of 8 bytes, or of 4 where there are no more, the most significant first and each
/// little-endian.
fn raw(set: &[Bytes]) -> Vec<u8> {
    let words = set.iter().flat_map(|one| one.chunks(8));
    words.flat_map(|word| word.iter().rev().copied()).collect()
}

#[track_caller]
fn pack(scratch: &Scratch, store: &str, set: &[Bytes], options: &str) {
    let bits = 8 * set[0].len();
    scratch.write("list", list(set));
    scratch.run(&format!("pack list -o {store} -q --bits {bits} {options}")).succeeds();
}

#[track_caller]
fn holds(scratch: &Scratch, store: &str, set: &[Bytes], from: &str) {
    let dumped = scratch.run(&format!("dump {store}")).succeeds().stdout;
    assert_eq!(dumped, list(&sorted(set)), "{from}");
}

fn lines(ran: Ran) -> Vec<Value> {
    ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
