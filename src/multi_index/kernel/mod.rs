//! The loops of a search: which rows of a group have a key that is wanted, which of many rows are near.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod scalar;

use crate::fingerprint::{Fingerprint, bytes_of, file_bytes};

/// Adjacent places of a part table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) first: u32,
    pub(super) length: u32,
}

/// The marks of a group: bits of the marks, and the places of its rows.
#[derive(Clone, Copy)]
pub(super) struct Span {
    /// The place of its first row.
    pub(super) first: usize,
    /// Bits of the marks.
    pub(super) from: usize,
    pub(super) to: usize,
}

/// What a level of instructions does for a search.
pub(super) trait Kernel: Copy {
    /// Adds the places of those keys of a group whose bit is set in `wanted`, unless they are empty. `false` if the marks
    /// of the group are not 64 zeros.
    fn find(self, marks: &[[u8; 8]], span: Span, wanted: u64, runs: &mut Vec<Run>) -> bool;

    /// Calls `found` with the number, in the list, of those rows that are within `k` of the query, and their
    /// distances. The rows are there.
    fn compare<F: Fingerprint>(
        self,
        base: &[u8],
        rows: &[u32],
        query: (F, u32),
        found: impl FnMut(usize, u32),
    );

    /// As [`Self::compare`], of all rows of a piece of the base.
    fn scan<F: Fingerprint>(self, base: &[u8], query: (F, u32), found: impl FnMut(usize, u32));
}

/// Where ones stand. Whoever has a value can ask: it may need instructions that not every CPU has.
trait Select: Copy {
    /// The place of the one with number `rank` in a word that has more.
    fn select(self, word: u64, rank: u32) -> u32;
}

#[inline(always)]
fn word_at(marks: &[[u8; 8]], number: usize) -> Option<u64> {
    marks.get(number).map(|&word| u64::from_le_bytes(word))
}

#[inline(always)]
fn find(
    ones: impl Select,
    marks: &[[u8; 8]],
    span: Span,
    mut wanted: u64,
    runs: &mut Vec<Run>,
) -> Option<()> {
    let Span { first, from, to } = span;
    let mut number = from / 64;
    // Zeros of the group in the word at hand, and in those before it.
    let mut zeros = !word_at(marks, number)? & u64::MAX << (from % 64);
    let (mut of_word, mut before) = (zeros.count_ones(), 0);
    while wanted != 0 {
        let key = wanted.trailing_zeros();
        wanted &= wanted - 1;
        // Behind the zero that ends the key before it.
        let start = match key.checked_sub(1) {
            None => from,
            Some(rank) => {
                while before + of_word <= rank {
                    before += of_word;
                    number += 1;
                    if number * 64 >= to {
                        return None;
                    }
                    zeros = !word_at(marks, number)?;
                    of_word = zeros.count_ones();
                }
                number * 64 + ones.select(zeros, rank - before) as usize + 1
            }
        };
        let mut length = (!(word_at(marks, start / 64)? >> (start % 64))).trailing_zeros() as usize;
        let mut next = (start / 64 + 1) * 64;
        while start + length >= next && next < to {
            length = next - start + (!word_at(marks, next / 64)?).trailing_zeros() as usize;
            next += 64;
        }
        // The zero that ends this key, and those of the keys behind it, are in the group. So all rows are of the group.
        if start + length + 64 - key as usize > to {
            return None;
        }
        if length > 0 {
            let first = first + (start - from) - key as usize;
            runs.push(Run { first: first as u32, length: length as u32 });
        }
    }
    Some(())
}

/// The distance of a row from a query, as bytes.
#[inline(always)]
fn distance<F: Fingerprint>(row: &[u8], query: &F::Bytes) -> u32 {
    let (words, rest) = row.as_chunks::<8>();
    let (query_words, query_rest) = query.as_ref().as_chunks::<8>();
    let of_words = words.iter().zip(query_words);
    let of_words = of_words
        .map(|(&one, &other)| (u64::from_ne_bytes(one) ^ u64::from_ne_bytes(other)).count_ones());
    let of_rest = rest.iter().zip(query_rest).map(|(one, other)| (one ^ other).count_ones());
    of_words.sum::<u32>() + of_rest.sum::<u32>()
}

#[inline(always)]
fn compare<F: Fingerprint>(
    base: &[u8],
    rows: &[u32],
    (query, k): (F, u32),
    mut found: impl FnMut(usize, u32),
) {
    let width = bytes_of::<F>();
    let query = file_bytes(query);
    for (number, &row) in rows.iter().enumerate() {
        let start = row as usize * width;
        let distance = distance::<F>(&base[start..start + width], &query);
        if distance <= k {
            found(number, distance);
        }
    }
}

/// Rows whose distances are computed together: without branches in between, so that the compiler takes vectors.
const TOGETHER: usize = 16;

#[inline(always)]
fn scan<F: Fingerprint>(base: &[u8], (query, k): (F, u32), mut found: impl FnMut(usize, u32)) {
    let width = bytes_of::<F>();
    let query = file_bytes(query);
    for (number, rows) in base.chunks(TOGETHER * width).enumerate() {
        let mut distances = [u32::MAX; TOGETHER];
        for (distance_of, row) in distances.iter_mut().zip(rows.chunks_exact(width)) {
            *distance_of = distance::<F>(row, &query);
        }
        if distances.iter().any(|&distance| distance <= k) {
            for (at, distance) in distances.into_iter().enumerate() {
                if distance <= k {
                    found(number * TOGETHER + at, distance);
                }
            }
        }
    }
}
