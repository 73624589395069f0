//! The loops of a search: which rows of a group have a key that is wanted, which of many rows are
//! near, and the keys of fingerprints.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;
mod scalar;

use std::ops::{Deref, DerefMut};

use super::mask::KeyMask;
use crate::fingerprint::{Fingerprint, bytes_of, file_bytes};
use crate::format::GROUP_KEYS;
use crate::mapped::{prefetch_lines, prefetch_one};

/// Words from the first marks of a group to those that are looked at last, of nearly all groups.
const MARK_WORDS: usize = 3;

/// A group of a part table that may have keys that are near enough.
#[derive(Clone, Copy)]
pub(super) struct Probe {
    pub(super) part: u32,
    pub(super) group: u32,
    /// A bit for each key that is near enough.
    pub(super) keys: u64,
}

/// Adjacent places of a part table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) first: u32,
    pub(super) length: u32,
}

/// A list that grows by pieces of which only the first items are kept. What it has had room for
/// stays in place, so that room costs nothing.
#[derive(Default)]
pub(super) struct Filled<T> {
    items: Vec<T>,
    used: usize,
}

impl<T: Copy + Default> Filled<T> {
    pub(super) fn clear(&mut self) {
        self.used = 0;
    }

    /// Room for so many items behind those that there are: they have any values.
    #[inline(always)]
    pub(super) fn room(&mut self, count: usize) -> &mut [T] {
        let end = self.used + count;
        if end > self.items.len() {
            self.items.resize(end, T::default());
        }
        &mut self.items[self.used..end]
    }

    /// Keeps the first items of the last room.
    #[inline(always)]
    pub(super) fn keep(&mut self, count: usize) {
        self.used += count;
    }

    /// Drops the first items.
    #[inline]
    pub(super) fn drop_first(&mut self, count: usize) {
        self.items.copy_within(count..self.used, 0);
        self.used -= count;
    }
}

impl<T> Deref for Filled<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        &self.items[..self.used]
    }
}

impl<T> DerefMut for Filled<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.items[..self.used]
    }
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

impl Span {
    /// Number of rows.
    #[inline(always)]
    pub(super) fn rows(self) -> usize {
        self.to - self.from - GROUP_KEYS as usize
    }
}

/// The pieces of a part table.
#[derive(Clone, Copy)]
pub(super) struct Pieces<'a> {
    /// One for each group.
    pub(super) starts: &'a [[u8; 4]],
    pub(super) marks: &'a [[u8; 8]],
    /// The numbers of the rows, of so many bits each, and eight bytes at least behind them.
    pub(super) rows: &'a [u8],
    pub(super) row_bits: u32,
    /// Number of rows.
    pub(super) count: usize,
}

impl Pieces<'_> {
    /// The word in which the marks of a group begin, which there is.
    #[inline(always)]
    pub(super) fn marks_of(self, group: usize) -> usize {
        u32::from_le_bytes(self.starts[group]) as usize / 64 + group
    }

    /// Asks for the marks of a group.
    #[inline(always)]
    pub(super) fn prefetch_marks(self, group: usize) {
        let word = self.marks_of(group);
        prefetch_one(self.marks, word);
        prefetch_one(self.marks, word + MARK_WORDS);
    }

    /// Asks for the number of the row at a place.
    #[inline(always)]
    fn prefetch_row(self, place: usize) {
        prefetch_lines(self.rows, place * self.row_bits as usize / 8, 1);
    }

    /// The marks of a group, `None` if its starts are not sound.
    #[inline(always)]
    pub(super) fn span(self, group: usize) -> Option<Span> {
        let start = |group| self.starts.get(group).map(|&start| u32::from_le_bytes(start) as usize);
        let (first, end) = (start(group)?, start(group + 1).unwrap_or(self.count));
        let is_sound = first <= end && end <= self.count && (group > 0 || first == 0);
        let keys = group * GROUP_KEYS as usize;
        let (from, to) = (first + keys, end + keys + GROUP_KEYS as usize);
        is_sound.then_some(Span { first, from, to })
    }

    /// The number of the row at a place: of the last place, or of one behind it, which is no row,
    /// as well.
    #[inline(always)]
    fn row(self, place: usize) -> u32 {
        let bit = place * self.row_bits as usize;
        let bytes = self.rows.get(bit / 8..).and_then(|rows| rows.first_chunk());
        let word = bytes.map_or(u64::MAX, |&bytes| u64::from_le_bytes(bytes));
        (word >> (bit % 8)) as u32 & (u32::MAX >> (32 - self.row_bits))
    }
}

/// What a level of instructions does for a search.
pub(super) trait Kernel: Copy {
    /// Adds the places of the keys of some groups that are wanted, unless they are empty, and gives
    /// the number of rows of these groups. `Err` with the number of a probe whose group does not
    /// have 64 zeros, or no sound starts. Between the groups asks for the marks of those that come
    /// next, not more than there are now, and for the rows of what was found.
    fn find(
        self,
        part: Pieces<'_>,
        probes: &[Probe],
        ahead: Option<(Pieces<'_>, &[Probe])>,
        runs: &mut Filled<Run>,
    ) -> Result<usize, usize>;

    /// Adds the numbers of the rows of some runs, of at least one bit each, and asks for what
    /// stands in the base.
    fn rows<F: Fingerprint>(
        self,
        part: Pieces<'_>,
        runs: &[Run],
        base: &[u8],
        rows: &mut Filled<u32>,
    );

    /// Calls `found` with the number, in the list, of those rows that are within `k` of the query,
    /// and their distances. The rows are there.
    fn compare<F: Fingerprint>(
        self,
        base: &[u8],
        rows: &[u32],
        query: (F, u32),
        found: impl FnMut(usize, u32),
    );

    /// As [`Self::compare`], of all rows of a piece of the base.
    fn scan<F: Fingerprint>(self, base: &[u8], query: (F, u32), found: impl FnMut(usize, u32));

    /// Calls `found` with the number of each fingerprint in the list, and its key: the bits of the
    /// mask, the first of them as the most significant.
    fn keys<F: Fingerprint>(
        self,
        mask: &KeyMask<F>,
        fingerprints: &[F],
        found: impl FnMut(usize, u64),
    );
}

/// Takes bits together. Whoever has a value can ask: it may need instructions that not every CPU
/// has.
trait Gather: Copy {
    /// The bits of a mask.
    fn gather<F: Fingerprint>(self, mask: &KeyMask<F>, fingerprint: F) -> u64;
}

/// Where ones stand. Whoever has a value can ask: it may need instructions that not every CPU has.
trait Select: Copy {
    /// The place of the one with number `rank` in a word that has more.
    fn select(self, word: u64, rank: u32) -> u32;
}

#[inline(always)]
fn keys<F: Fingerprint>(
    bits: impl Gather,
    mask: &KeyMask<F>,
    fingerprints: &[F],
    mut found: impl FnMut(usize, u64),
) {
    for (number, &fingerprint) in fingerprints.iter().enumerate() {
        found(number, bits.gather(mask, fingerprint));
    }
}

#[inline(always)]
fn word_at(marks: &[[u8; 8]], number: usize) -> Option<u64> {
    marks.get(number).map(|&word| u64::from_le_bytes(word))
}

#[inline(always)]
fn find(
    ones: impl Select,
    part: Pieces<'_>,
    probes: &[Probe],
    ahead: Option<(Pieces<'_>, &[Probe])>,
    runs: &mut Filled<Run>,
) -> Result<usize, usize> {
    let wanted: u32 = probes.iter().map(|probe| probe.keys.count_ones()).sum();
    let (mut found, mut rows) = (Found { room: runs.room(wanted as usize), used: 0 }, 0);
    let (next, ahead) = ahead.unwrap_or((part, &[]));
    let mut result = Ok(());
    for (number, probe) in probes.iter().enumerate() {
        if let Some(probe) = ahead.get(number) {
            next.prefetch_marks(probe.group as usize);
        }
        let Some(span) = part.span(probe.group as usize) else {
            result = Err(number);
            break;
        };
        rows += span.rows();
        let left = find_few(ones, part, span, probe.keys, &mut found);
        if left.and_then(|left| find_many(ones, part, span, left, &mut found)).is_none() {
            result = Err(number);
            break;
        }
    }
    let used = found.used;
    runs.keep(used);
    result.map(|()| rows)
}

/// Runs that were found, one for each key that was looked for at most.
struct Found<'a> {
    room: &'a mut [Run],
    used: usize,
}

impl Found<'_> {
    /// Adds the rows of a key, if it has any: which no branch can know before.
    #[inline(always)]
    fn add(&mut self, run: Run) {
        self.room[self.used] = run;
        self.used += usize::from(run.length > 0);
    }
}

/// Marks of a group that are looked at together, but one: three words, less the zero in front of
/// them.
const FEW_MARKS: usize = 191;
/// Words that may have them, and a word from any of their bytes on.
const WORDS: usize = 5;
/// Ones behind each other that a word from a bit on, which loses some bits, is sure to show.
const FEW_ROWS: u32 = 56;

/// Finds the keys of a group that has few rows, as nearly all have, with hardly a branch that
/// depends on the marks: half of them would be missed. Gives those that it leaves to [`find_many`].
#[inline(always)]
fn find_few(
    ones: impl Select,
    part: Pieces<'_>,
    span: Span,
    mut wanted: u64,
    found: &mut Found<'_>,
) -> Option<u64> {
    let Span { first, from, to } = span;
    // The bit before the group ends the last key of the group before it: all keys of this one then
    // lie between two zeros.
    let before = from.wrapping_sub(1);
    let number = before / 64;
    let words = part.marks.get(number..).and_then(|words| words.first_chunk::<WORDS>());
    let Some(words) = words.filter(|_| to - from <= FEW_MARKS) else {
        return Some(wanted);
    };
    let zeros = |at: usize| !u64::from_le_bytes(words[at]);
    let shift = before % 64;
    let from_bit = |at: usize| zeros(at) >> shift | zeros(at + 1) << 1 << (63 - shift);
    let three = [from_bit(0) | 1, from_bit(1), from_bit(2)];
    let up_to_first = three[0].count_ones();
    let up_to_second = up_to_first + three[1].count_ones();
    if up_to_second + three[2].count_ones() < GROUP_KEYS as u32 {
        return None;
    }
    while wanted != 0 {
        let key = wanted.trailing_zeros();
        let (mut at, mut word, mut rank) = (0, three[0], key);
        if key >= up_to_first {
            (at, word, rank) = (64, three[1], key - up_to_first);
        }
        if key >= up_to_second {
            (at, word, rank) = (128, three[2], key - up_to_second);
        }
        // Behind the zero that ends the key before it.
        let start = before + at + ones.select(word, rank) as usize + 1;
        let byte = start / 8 - number * 8;
        let word = u64::from_le_bytes(*words.as_flattened().get(byte..)?.first_chunk()?);
        let length = (!(word >> (start % 8))).trailing_zeros();
        if length > FEW_ROWS {
            break;
        }
        wanted &= wanted - 1;
        // The zero that ends this key, and those of the keys behind it, are in the group. So all
        // rows are of the group.
        if start + length as usize + (GROUP_KEYS as u32 - key) as usize > to {
            return None;
        }
        let place = first + (start - from) - key as usize;
        found.add(Run { first: place as u32, length });
        // Of a key without rows the same line again and again.
        part.prefetch_row(if length > 0 { place } else { 0 });
    }
    Some(wanted)
}

/// Finds the keys of a group, word by word.
#[inline(always)]
fn find_many(
    ones: impl Select,
    part: Pieces<'_>,
    span: Span,
    mut wanted: u64,
    found: &mut Found<'_>,
) -> Option<()> {
    let (Span { first, from, to }, marks) = (span, part.marks);
    if wanted == 0 {
        return Some(());
    }
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
        // As above.
        if start + length + 64 - key as usize > to {
            return None;
        }
        let place = first + (start - from) - key as usize;
        found.add(Run { first: place as u32, length: length as u32 });
        part.prefetch_row(place);
    }
    Some(())
}

#[inline(always)]
fn rows<F: Fingerprint>(part: Pieces<'_>, runs: &[Run], base: &[u8], rows: &mut Filled<u32>) {
    let mut used = 0;
    let length: usize = runs.iter().map(|run| run.length as usize).sum();
    // One more, which the last run of one row may write.
    let room = rows.room(length + 1);
    for run in runs {
        let (first, length) = (run.first as usize, run.length as usize);
        let of_run = &mut room[used..used + length + 1];
        // Two without a look at the length: most runs have no more.
        let two = [part.row(first), part.row(first + 1)];
        of_run[..2].copy_from_slice(&two);
        prefetch_row_of::<F>(base, two[0]);
        prefetch_row_of::<F>(base, two[usize::from(length > 1)]);
        for (at, row) in of_run[..length].iter_mut().enumerate().skip(2) {
            *row = part.row(first + at);
            prefetch_row_of::<F>(base, *row);
        }
        used += length;
    }
    rows.keep(used);
}

/// Asks for a row of the base.
#[inline(always)]
fn prefetch_row_of<F: Fingerprint>(base: &[u8], row: u32) {
    prefetch_lines(base, row as usize * bytes_of::<F>(), 1);
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

/// Rows whose distances are computed together: without branches in between, so that the compiler
/// takes vectors.
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
