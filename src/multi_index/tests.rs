//! Compares with brute force.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::kernel::{Filled, Kernel, Pieces, Probe, Run};
use super::writer::{BaseWriter, PartBits, write_part};
use super::*;
use crate::access::InMemory;
use crate::execution::Stop;
use crate::format::{self, IndexKind, KeyBits};
use crate::set_sum;
use crate::simd::by_level;
use crate::table::WriteError;

fn sound<T>(written: Result<T, WriteError>) -> T {
    written.unwrap_or_else(|error| match error {
        WriteError::Io(error) => panic!("{error}"),
        WriteError::Other(error) => panic!("{error}"),
    })
}

/// The files of a segment of a sorted set, in memory.
pub(crate) fn built<F: Fingerprint>(set: &[F], part_count: u16) -> (InMemory, SegmentEntry) {
    let mut sampler = Sampler::new(set.len() as u64);
    sampler.pass(set);
    built_of(set, sampler.choose(PartLayout { count: part_count, radius: None }))
}

/// The same with keys of these bits.
fn built_of<F: Fingerprint>(set: &[F], parts: Vec<PartBits>) -> (InMemory, SegmentEntry) {
    let files = InMemory::default();
    let sum = set.iter().fold(0u128, |sum, &one| sum.wrapping_add(set_sum::term_of(one)));
    let count = set.len() as u64;
    let mut bytes = Vec::new();
    let mut base = sound(BaseWriter::new((count, sum, parts.len() as u16), &mut bytes));
    sound(base.push(set));
    let mut tables = vec![sound(base.finish())];
    files.insert(format::base_name(1), bytes);
    for (number, bits) in (0..).zip(parts) {
        let part = PartOptions::new(number, bits, (count, tables[0].header_crc));
        let mut entries = vec![0; set.len()];
        part.fill(0, set, &mut entries);
        entries.sort_unstable();
        let mut bytes = Vec::new();
        tables.push(sound(write_part::<F>(&part, &mut &entries[..], &mut bytes)));
        files.insert(format::part_name(1, part.number.into()), bytes);
    }
    (
        files,
        SegmentEntry {
            number: 1,
            count,
            set_sum: sum,
            index: IndexKind::Parts,
            tables,
            ids: None,
            names: None,
        },
    )
}

/// A fingerprint that begins with some of `bits` bits of a random one, and agrees with others in
/// the rest.
fn fingerprint<F: Fingerprint>(seed: u64, spread: u32) -> F {
    let mut bytes = F::Bytes::default();
    for (at, byte) in bytes.as_mut().iter_mut().enumerate() {
        let random = set_sum::term((seed << 8) | (at as u64 / 8)) as u64;
        *byte = random.to_be_bytes()[at % 8];
        let mask = set_sum::term(at as u64) as u64 % 8;
        if mask >= u64::from(spread) {
            *byte &= 0x11;
        }
    }
    F::from_be_bytes(bytes)
}

impl<F: Fingerprint> MultiIndex<F> {
    /// Has searches take part tables, whatever a scan costs.
    fn never_scan(&mut self, is_never: bool) {
        let headers: Vec<_> = self.parts.iter().map(|part| &part.header).collect();
        self.costs = PartCosts::new(&headers, F::BITS, self.base.count());
        if is_never {
            self.costs.scan_ns = f64::INFINITY;
        }
        let added = |part: usize, flips: u32| f64::from(part as u32 + 20 * flips);
        self.steps = if is_never { self.costs.allot(13, added) } else { self.costs.steps() };
    }
}

/// All within a distance.
struct Within {
    most: u32,
    found: BTreeMap<u32, u32>,
}

impl Widening for Within {
    fn bound(&self) -> u32 {
        self.most
    }

    fn take(&mut self, Near { row, distance }: Near) {
        if distance <= self.most {
            self.found.insert(row, distance);
        }
    }
}

/// The nearest one.
struct Nearest {
    least: u32,
    row: Option<u32>,
}

impl Widening for Nearest {
    fn bound(&self) -> u32 {
        self.least.saturating_sub(1)
    }

    fn take(&mut self, Near { row, distance }: Near) {
        if distance < self.least {
            (self.least, self.row) = (distance, Some(row));
        }
    }
}

/// The first so many by distance, then by row.
struct First {
    count: usize,
    found: BTreeSet<(u32, u32)>,
}

impl Widening for First {
    fn bound(&self) -> u32 {
        let last = self.found.last().filter(|_| self.found.len() >= self.count);
        last.map_or(256, |&(distance, _)| distance)
    }

    fn take(&mut self, Near { row, distance }: Near) {
        self.found.insert((distance, row));
        if self.found.len() > self.count {
            self.found.pop_last();
        }
    }
}

fn check<F: Fingerprint>(seed: u64, count: u64, spread: u32, part_count: u16, radii: &[u32]) {
    let mut set: Vec<F> = (0..count).map(|at| fingerprint(seed ^ at << 20, spread)).collect();
    // Some near others.
    for at in 0..set.len() / 3 {
        let mut bytes = set[at].to_be_bytes();
        let flips = set_sum::term(seed ^ at as u64) as u64;
        for flip in 0..flips % 9 {
            let bit = (flips >> (flip * 6)) as usize % F::BITS as usize;
            bytes.as_mut()[bit / 8] ^= 1 << (bit % 8);
        }
        set.push(F::from_be_bytes(bytes));
    }
    set.sort_unstable();
    set.dedup();
    compare(&set, &built(&set, part_count), seed, radii);
    compare(&set, &built_of(&set, random_masks::<F>(seed, part_count)), seed, radii);
}

/// Parts of random bits.
fn random_masks<F: Fingerprint>(seed: u64, parts: u16) -> Vec<PartBits> {
    let mut bits: Vec<usize> = (0..F::BITS as usize).collect();
    bits.sort_by_key(|&bit| set_sum::term(seed ^ (bit as u64) << 32));
    let mut bits = bits.into_iter();
    let part = |number: u16| {
        let room = bits.len() / usize::from(parts - number);
        let random = set_sum::term(seed ^ u64::from(number) << 50) as usize;
        let key_bits = 6 + random % (room.min(16) - 5);
        let mut mask = [0; 32];
        for bit in bits.by_ref().take(key_bits) {
            let weight = F::BITS as usize - 1 - bit;
            mask[weight / 8] |= 1 << (weight % 8);
        }
        PartBits { keys: KeyBits::Mask(mask), key_bits: key_bits as u32 }
    };
    (0..parts).map(part).collect()
}

/// Compares searches of a set with brute force.
fn compare<F: Fingerprint>(
    set: &[F],
    (files, entry): &(InMemory, SegmentEntry),
    seed: u64,
    radii: &[u32],
) {
    let mut index = MultiIndex::<F>::open(files, entry).unwrap();
    let mut probing = Probing::default();
    let queries = set.iter().step_by(set.len() / 5 + 1).copied();
    for query in queries.chain([fingerprint(seed + 1, 8), F::default()]) {
        for &k in radii {
            let near = |&(_, fingerprint): &(usize, &F)| fingerprint.distance(query) <= k;
            let expected = set.iter().enumerate().filter(near);
            let expected: Vec<Near> = expected
                .map(|(row, one)| Near { row: row as u32, distance: one.distance(query) })
                .collect();
            for level in Level::all() {
                index.level = level;
                // Where no scan is cheaper, part tables are searched, as far as that ends.
                index.never_scan(k <= 12);
                // Where pages may be on the disk they are asked for together.
                for (scans, is_cold) in [(false, false), (false, true), (true, false)] {
                    probing.is_cold = is_cold;
                    let mut found = Vec::new();
                    let mut take = |near| {
                        found.push(near);
                        true
                    };
                    let stop = Stop::default();
                    match scans {
                        false => probing.search(&index, (query, k), &stop, &mut take).unwrap(),
                        true => probing.scan(&index, (query, k), &stop, &mut take).unwrap(),
                    }
                    found.sort_unstable_by_key(|near| near.row);
                    found.dedup();
                    assert_eq!(found, expected, "{k} {level:?} {scans} {is_cold}");
                }
            }
            index.never_scan(false);
            let mut taker = Within { most: k, found: BTreeMap::new() };
            probing.widen(&index, query, &Stop::default(), &mut taker).unwrap();
            assert_eq!(taker.found.len(), expected.len());
            // What is wanted shrinks to the nearest.
            let mut taker = Nearest { least: k + 1, row: None };
            probing.widen(&index, query, &Stop::default(), &mut taker).unwrap();
            let nearest = expected.iter().map(|near| near.distance).min();
            assert_eq!(taker.row.map(|row| set[row as usize].distance(query)), nearest);
        }
        let row = index.base().find(query).unwrap();
        assert_eq!(row as usize, set.partition_point(|&one| one < query));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn searches_find_what_brute_force_finds(
        seed in any::<u64>(), count in 0u64..3000, spread in 0u32..9, parts in 0u16..12,
        k in 0u32..48,
    ) {
        let radii = [0, 1, 3, k];
        check::<u64>(seed, count, spread, parts.min(10), &radii);
        check::<u128>(seed, count, spread, parts, &radii);
        check::<[u64; 4]>(seed, count, spread, parts, &radii);
        check::<u32>(seed, count, spread, parts.min(5), &radii);
    }
}

#[test]
fn the_nearest_take_hardly_more_than_one_scan_however_far_they_are() {
    let uniform = (0..30_000).map(|at| fingerprint(at << 20, 8));
    // At every distance from the query many, so that ties decide.
    let query: [u64; 4] = fingerprint(1, 8);
    let around = (0..4_000u64).map(|at| {
        let mut one = query;
        for flip in 0..at % 120 {
            one[flip as usize % 4] ^= 1 << (set_sum::term(at << 8 | flip) as u64 % 64);
        }
        one
    });
    let mut set: Vec<[u64; 4]> = uniform.chain(around).collect();
    set.sort_unstable();
    set.dedup();
    let (files, entry) = built(&set, 12);
    let index = MultiIndex::<[u64; 4]>::open(&files, &entry).unwrap();
    let mut probing = Probing::default();
    let mut check = |query: [u64; 4], count: usize, is_scan: bool| {
        let mut taker = First { count, found: BTreeSet::new() };
        probing.widen(&index, query, &Stop::default(), &mut taker).unwrap();
        let distances = set.iter().enumerate().map(|(row, one)| (one.distance(query), row as u32));
        let mut expected: Vec<(u32, u32)> = distances.collect();
        expected.sort_unstable();
        expected.truncate(count);
        assert!(taker.found.iter().eq(&expected), "{count}");
        assert_eq!(probing.is_scan, is_scan, "{count}, the last at {:?}", expected.last());
        let rows = set.len() as u64;
        let most = if is_scan { rows + rows / 8 } else { rows / 4 };
        assert!(probing.compared <= most, "{count}: {} of {rows}", probing.compared);
    };
    for count in [1, 2, 10, 100] {
        check(query, count, false);
        check(query.map(|word| !word), count, true);
        check(fingerprint(2, 8), count, true);
    }
    check(query, 3_000, true);
    check(query, 100_000, true);
    let stored = set[set.len() / 2];
    check(stored, 1, false);
}

#[test]
fn radii_up_to_the_width_are_exact() {
    check::<u128>(7, 500, 8, 6, &[64, 127, 128]);
    check::<[u64; 4]>(7, 500, 8, 11, &[100, 255, 256]);
}

/// A part table of one group that has rows, its number, and how many rows each of its keys has.
struct OneGroup {
    starts: Vec<[u8; 4]>,
    marks: Vec<[u8; 8]>,
    group: usize,
    /// The first row of the group, and the number of all.
    first: usize,
    count: usize,
    lengths: Vec<usize>,
}

impl OneGroup {
    /// `longest` bounds how many rows a key has. Around the marks of the group there are any bits.
    fn new(seed: u64, longest: u64) -> Self {
        let random = |at: u64| set_sum::term(seed << 16 | at) as u64;
        let lengths = (0..64).map(|key| {
            let (length, is_long) = (random(key) % 3, random(key + 64) % 16 == 0);
            (if is_long { random(key) % longest } else { length }) as usize
        });
        let lengths: Vec<usize> = lengths.collect();
        let (group, first) = (random(200) as usize % 3, random(201) as usize % 130);
        let first = if group == 0 { 0 } else { first };
        let rows: usize = lengths.iter().sum();
        let from = first + 64 * group;
        // Sometimes nothing stands behind it.
        let words = (from + rows + 64).div_ceil(64) + random(202) as usize % 8;
        let mut marks: Vec<u64> = (0..words as u64).map(|at| random(300 + at)).collect();
        let ones = lengths.iter().flat_map(|&length| (0..=length).map(move |at| at < length));
        for (bit, is_one) in (from..).zip(ones) {
            marks[bit / 64] &= !(1 << (bit % 64));
            marks[bit / 64] |= u64::from(is_one) << (bit % 64);
        }
        let behind = random(203) as usize % 2;
        let starts = (0..=group + behind).map(|at| match at.cmp(&group) {
            Ordering::Less => 0,
            Ordering::Equal => first,
            Ordering::Greater => first + rows,
        });
        let starts = starts.map(|start| (start as u32).to_le_bytes()).collect();
        let marks = marks.into_iter().map(u64::to_le_bytes).collect();
        let count = first + rows + behind * 10;
        Self { starts, marks, group, first, count, lengths }
    }

    /// What each level finds of the keys.
    fn find(&self, keys: u64) -> Vec<(Result<usize, usize>, Vec<Run>)> {
        let (starts, marks, count) = (&self.starts[..], &self.marks[..], self.count);
        let pieces = Pieces { starts, marks, rows: &[], row_bits: 1, count };
        let probe = Probe { part: 0, group: self.group as u32, keys };
        let found = Level::all().map(|level| {
            let mut runs = Filled::default();
            runs.room(3)[0] = Run { first: 1, length: 2 };
            runs.keep(1);
            let rows = by_level!(level, kernel => kernel.find(pieces, &[probe], Some((pieces, &[probe])), &mut runs));
            assert_eq!(runs[0], Run { first: 1, length: 2 });
            runs.drop_first(1);
            (rows, runs.to_vec())
        });
        found.collect()
    }
}

#[test]
fn keys_have_the_rows_that_marks_say() {
    for seed in 0..4_000u64 {
        let group = OneGroup::new(seed, [3, 40, 90, 700][seed as usize % 4]);
        let random = set_sum::term(!seed) as u64;
        for keys in [u64::MAX, random, 1 << (random % 64), 1, 1 << 63, 0] {
            let mut place = group.first;
            let runs = (0..64).map(|key| {
                let length = group.lengths[key];
                place += length;
                (key, Run { first: (place - length) as u32, length: length as u32 })
            });
            let runs = runs.filter(|&(key, run)| run.length > 0 && keys >> key & 1 == 1);
            let expected: Vec<Run> = runs.map(|(_, run)| run).collect();
            let rows = group.lengths.iter().sum();
            for found in group.find(keys) {
                assert_eq!(found, (Ok(rows), expected.clone()), "{seed} {keys:b}");
            }
        }
    }
}

#[test]
fn whatever_the_marks_say_rows_are_those_of_their_group() {
    let mut refused = 0;
    for seed in 0..20_000u64 {
        let mut group = OneGroup::new(seed, [3, 40, 90, 700][seed as usize % 4]);
        let (from, rows) = (group.first + 64 * group.group, group.lengths.iter().sum::<usize>());
        for flip in 0..=seed % 5 {
            let random = set_sum::term(!seed << 8 | flip) as u64;
            let bit = from + random as usize % (rows + 64);
            group.marks[bit / 64][bit / 8 % 8] ^= 1 << (bit % 8);
        }
        let found = group.find(set_sum::term(!seed) as u64);
        assert!(found.windows(2).all(|pair| pair[0] == pair[1]), "{seed}");
        let (first, end) = (group.first as u32, (group.first + rows) as u32);
        assert!(found[0].1.iter().all(|run| run.first >= first && run.first + run.length <= end));
        refused += u32::from(found[0].0.is_err());
        // Starts that are no places are no reason to look at marks.
        let start = match seed % 3 {
            0 if group.group == 0 && rows > 0 => 1,
            1 => group.count as u32 + 1,
            _ => u32::MAX,
        };
        group.starts[group.group] = start.to_le_bytes();
        assert!(group.find(1).iter().all(|found| *found == (Err(0), Vec::new())));
    }
    assert!(refused > 1_000, "{refused}");
}

#[test]
fn rows_of_every_width_are_read() {
    for row_bits in 1..=32 {
        let count = 200;
        let mask = u32::MAX >> (32 - row_bits);
        let row =
            |place: usize| set_sum::term((place as u64) << 6 | u64::from(row_bits)) as u32 & mask;
        let mut bytes = vec![0u8; (count * row_bits as usize).div_ceil(8) + 8];
        for bit in 0..count * row_bits as usize {
            let value = row(bit / row_bits as usize) >> (bit % row_bits as usize) & 1;
            bytes[bit / 8] |= (value as u8) << (bit % 8);
        }
        let pieces = Pieces { starts: &[], marks: &[], rows: &bytes, row_bits, count };
        let runs = [(0, 1), (3, 2), (5, 40), (60, 1), (197, 3), (198, 2), (199, 1), (0, 200)];
        let runs = runs.map(|(first, length)| Run { first, length });
        let places = runs.iter().flat_map(|run| run.first..run.first + run.length);
        let expected: Vec<u32> =
            [7].into_iter().chain(places.map(|place| row(place as usize))).collect();
        for level in Level::all() {
            let mut rows = Filled::default();
            rows.room(1)[0] = 7;
            rows.keep(1);
            by_level!(level, kernel => kernel.rows::<u64>(pieces, &runs, &[], &mut rows));
            assert_eq!(rows[..], expected, "{row_bits} {level:?}");
        }
    }
}
