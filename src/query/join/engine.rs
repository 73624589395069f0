//! Finds all pairs within k of sets in memory: splits them by parts of their bits until groups are
//! small, and compares all of a group.
//!
//! A group has one side, whose fingerprints are compared with each other, or two. It stands in
//! memory twice: a split writes its fingerprints, part by part in new order, from one place to the
//! other, and groups of groups use the place that is free. So a join takes twice the bytes of its
//! fingerprints, however the set is distributed.

use std::sync::atomic::{AtomicBool, Ordering};

use super::compare;
use super::links::{self, Hub};
use super::mask::{Digit, Mask};
use super::output::{Found, Output};
use super::plan::{JoinStep, Prices, Scope, Size, SplitPart, plan};
use crate::fingerprint::Fingerprint;
use crate::simd::Level;
use crate::{flips, sort, tasks};

/// Fingerprints from which a group is split with all threads.
const PARALLEL_KEYS: usize = 1 << 16;
/// Most bits of a digit by which such a group is split, and by which others are.
const PARALLEL_BITS: u32 = 11;
const CACHED_BITS: u32 = 8;
/// Fingerprints of a group into which a large one is split, as a power of two.
const CACHED_KEYS: u32 = 11;
/// Comparisons from which all threads share in them.
const PARALLEL_PAIRS: f64 = 1e8;
/// Fingerprints of the left side that one task compares then.
const ROWS: usize = 1 << 10;
/// Groups whose neighbours one task visits.
const VISITED: usize = 1 << 8;

/// The fingerprints of the sides of a group, and as much room.
pub(super) struct JoinGroup<'a, F, const SIDES: usize> {
    pub(super) data: [&'a mut [F]; SIDES],
    pub(super) room: [&'a mut [F]; SIDES],
}

impl<F, const SIDES: usize> JoinGroup<'_, F, SIDES> {
    fn lengths(&self) -> [usize; SIDES] {
        self.data.each_ref().map(|side| side.len())
    }
}

/// Joins within one radius.
pub(super) struct Engine<'a, F: Fingerprint> {
    pub(super) k: u32,
    pub(super) level: Level,
    pub(super) prices: Prices,
    /// Whether both fingerprints of a pair are of one set: then the smaller one comes first.
    pub(super) one_set: bool,
    /// Whether links are enough, which connect what all pairs do.
    pub(super) links: bool,
    pub(super) output: &'a Output<F>,
    /// Is told of thousandths of fingerprints that are done.
    pub(super) progress: &'a (dyn Fn(u64) + Sync),
}

impl<F: Fingerprint> Engine<'_, F> {
    /// Hands on all pairs of a group within k: of its side, or of its two sides. Runs in the
    /// current pool of threads. The fingerprints of each side are left in `data`, in another order.
    pub(super) fn join<const SIDES: usize>(&self, mut group: JoinGroup<'_, F, SIDES>) {
        let scope = Scope { weight: 1.0, ..Scope::default() };
        self.visit(&scope, Mask::default(), &mut group, &mut Found::new(self.output));
    }

    /// As [`Self::join`], of those pairs of `scope` that agree in the bits of `part`.
    pub(super) fn join_part<const SIDES: usize>(
        &self,
        scope: &Scope<F>,
        part: Mask<F>,
        mut group: JoinGroup<'_, F, SIDES>,
    ) {
        if has_pairs(group.lengths()) {
            self.visit(scope, part, &mut group, &mut Found::new(self.output));
        }
    }

    fn done(&self, scope: &Scope<F>, keys: usize) {
        if scope.weight > 0.0 {
            (self.progress)((keys as f64 * scope.weight * 1000.0) as u64);
        }
    }

    /// Joins a group whose fingerprints agree in the part of its scope but for the bits `pending`.
    /// Tells whether it has written to its room; its fingerprints are left in `data`.
    fn visit<const SIDES: usize>(
        &self,
        scope: &Scope<F>,
        pending: Mask<F>,
        group: &mut JoinGroup<'_, F, SIDES>,
        found: &mut Found<'_, F>,
    ) -> bool {
        let size = Size::new(group.lengths());
        if self.output.stopped() {
            return false;
        }
        if self.prices.is_small(size) {
            self.compare(scope, group, found);
            return false;
        }
        if !pending.is_empty() {
            let JoinGroup { data, room } = group;
            if self.split(scope, pending, data, room, found) {
                copy(room, data);
            }
            return true;
        }
        let varying = varying(&group.data);
        match plan(scope, self.k, varying, size, &self.prices) {
            JoinStep::Nothing => {
                self.done(scope, size.keys as usize);
                false
            }
            JoinStep::Compare => {
                self.compare(scope, group, found);
                self.done(scope, size.keys as usize);
                false
            }
            JoinStep::Split(parts) => {
                self.split_by_parts(scope, &parts, group, found);
                true
            }
        }
    }

    fn split_by_parts<const SIDES: usize>(
        &self,
        scope: &Scope<F>,
        parts: &[SplitPart<F>],
        group: &mut JoinGroup<'_, F, SIDES>,
        found: &mut Found<'_, F>,
    ) {
        let JoinGroup { data, room } = group;
        let mut in_room = false;
        for (number, part) in parts.iter().enumerate() {
            let mut inner = scope.under(parts, number);
            inner.weight = scope.weight / parts.len() as f64;
            let (from, to) =
                if in_room { (&mut *room, &mut *data) } else { (&mut *data, &mut *room) };
            if part.flips == 0 {
                in_room ^= self.split(&inner, part.mask, from, to, found);
            } else {
                self.join_neighbours(&inner, *part, from, to);
            }
        }
        if in_room {
            copy(room, data);
        }
    }

    /// Splits a group by the next bits of a part into groups in `to`, and joins these. Tells
    /// whether that has written to `from`; then its fingerprints are left in `to` only.
    fn split<const SIDES: usize>(
        &self,
        scope: &Scope<F>,
        part: Mask<F>,
        from: &mut [&mut [F]; SIDES],
        to: &mut [&mut [F]; SIDES],
        found: &mut Found<'_, F>,
    ) -> bool {
        let longest = from.iter().map(|side| side.len()).max().unwrap_or(0);
        if longest >= PARALLEL_KEYS {
            return self.split_by_all(scope, part, from, to);
        }
        // Groups small enough to be compared, unless the part ends before.
        let keys = longest as f64 / self.prices.small_keys();
        let bits = (keys.log2() + 2.0).clamp(1.0, f64::from(CACHED_BITS)) as u32;
        let digit = Digit::of(part, bits);
        let pending = part & !digit.mask();
        let mut ends = [[0u32; 1 << CACHED_BITS]; SIDES];
        for ((from, to), ends) in from.iter().zip(to.iter_mut()).zip(&mut ends) {
            scatter(from, to, &digit, ends);
        }
        let (mut from, mut to) = (reborrow(from), reborrow(to));
        let mut starts = [0; SIDES];
        let mut written = false;
        for number in 0..1usize << digit.bits() {
            let ends = ends.each_ref().map(|ends| ends[number]);
            let starts = std::mem::replace(&mut starts, ends);
            let lengths = std::array::from_fn(|side| (ends[side] - starts[side]) as usize);
            let mut group =
                JoinGroup { data: take(&mut to, lengths), room: take(&mut from, lengths) };
            if has_pairs(lengths) {
                written |= self.visit(scope, pending, &mut group, found);
            }
        }
        written
    }

    /// As [`Self::split`], with all threads.
    fn split_by_all<const SIDES: usize>(
        &self,
        scope: &Scope<F>,
        part: Mask<F>,
        from: &mut [&mut [F]; SIDES],
        to: &mut [&mut [F]; SIDES],
    ) -> bool {
        let longest = from.iter().map(|side| side.len()).max().unwrap_or(0);
        let bits = longest.ilog2().saturating_sub(CACHED_KEYS).clamp(1, PARALLEL_BITS);
        let digit = Digit::of(part, bits);
        let pending = part & !digit.mask();
        let lengths: [Vec<usize>; SIDES] =
            std::array::from_fn(|side| distribute(from[side], to[side], &digit));
        let (mut from, mut to) = (reborrow(from), reborrow(to));
        let groups = (0..1usize << digit.bits()).map(|number| {
            let lengths = std::array::from_fn(|side| lengths[side][number]);
            JoinGroup { data: take(&mut to, lengths), room: take(&mut from, lengths) }
        });
        let inner = Scope { weight: 0.0, ..scope.clone() };
        let written = AtomicBool::new(false);
        let join = |mut group: JoinGroup<'_, F, SIDES>| {
            let found = &mut Found::new(self.output);
            let lengths = group.lengths();
            if has_pairs(lengths) && self.visit(&inner, pending, &mut group, found) {
                written.store(true, Ordering::Relaxed);
            }
            self.done(scope, lengths.iter().sum());
        };
        tasks::map(groups, join);
        written.into_inner()
    }

    /// Joins fingerprints that differ in at most as many bits of a part as its threshold says.
    /// Leaves those of the group in `from`.
    fn join_neighbours<const SIDES: usize>(
        &self,
        scope: &Scope<F>,
        part: SplitPart<F>,
        from: &mut [&mut [F]; SIDES],
        to: &mut [&mut [F]; SIDES],
    ) {
        let keys = from.iter().map(|side| side.len()).sum();
        let digit = Digit::of(part.mask, part.mask.count());
        let starts: [Vec<usize>; SIDES] =
            std::array::from_fn(|side| sort_by_digit(from[side], to[side], &digit));
        let sides: [&[F]; SIDES] = from.each_ref().map(|side| &**side);
        let of_value = |side: usize, value: usize| {
            sides[side].get(starts[side][value]..starts[side][value + 1]).unwrap_or_default()
        };
        let flips = flips::list(digit.bits(), part.flips);
        let visit = |values: std::ops::Range<usize>| {
            let found = &mut Found::new(self.output);
            for value in values {
                let left = of_value(0, value);
                if left.is_empty() || self.output.stopped() {
                    continue;
                }
                if SIDES == 1 {
                    self.compare_sides(scope, [left], found);
                }
                for flip in &flips {
                    let other = value ^ *flip as usize;
                    if SIDES == 2 || other > value {
                        let right = of_value(SIDES - 1, other);
                        if !right.is_empty() {
                            self.compare_sides(scope, [left, right], found);
                        }
                    }
                }
            }
        };
        let values = 1usize << digit.bits();
        let pieces = (0..values).step_by(VISITED).map(|start| start..values.min(start + VISITED));
        tasks::map(pieces, visit);
        self.done(scope, keys);
    }

    /// Compares all of a group.
    fn compare<const SIDES: usize>(
        &self,
        scope: &Scope<F>,
        group: &JoinGroup<'_, F, SIDES>,
        found: &mut Found<'_, F>,
    ) {
        let sides = group.data.each_ref().map(|side| &**side);
        if Size::new(group.lengths()).pairs < PARALLEL_PAIRS {
            return self.compare_sides(scope, sides, found);
        }
        let left = sides[0];
        let rows = |start: usize| {
            let found = &mut Found::new(self.output);
            let (end, mut rest) = (left.len().min(start + ROWS), sides[SIDES - 1]);
            let rows = &left[start..end];
            if SIDES == 1 {
                self.compare_sides(scope, [rows], found);
                rest = &left[end..];
            }
            if !self.output.stopped() {
                self.compare_sides(scope, [rows, rest], found);
            }
        };
        tasks::map((0..left.len()).step_by(ROWS), rows);
    }

    /// Compares all of one list, or of two with each other.
    #[inline]
    fn compare_sides<const SIDES: usize>(
        &self,
        scope: &Scope<F>,
        sides: [&[F]; SIDES],
        found: &mut Found<'_, F>,
    ) {
        if self.links && sides[SIDES - 1].len() >= links::LEAST {
            return self.link_sides(scope, sides, found);
        }
        self.compare_all(scope, sides, found);
    }

    #[inline]
    fn compare_all<const SIDES: usize>(
        &self,
        scope: &Scope<F>,
        sides: [&[F]; SIDES],
        found: &mut Found<'_, F>,
    ) {
        let push = |one: F, other: F| {
            if scope.admits(Mask::difference(one, other)) {
                self.push(one, other, found);
            }
        };
        match sides[..] {
            [only] => compare::within(self.level, only, self.k, push),
            [left, right] => compare::between(self.level, left, right, self.k, push),
            _ => {}
        }
    }

    #[inline]
    fn push(&self, one: F, other: F, found: &mut Found<'_, F>) {
        if self.one_set {
            found.push(one.min(other), one.max(other));
        } else {
            found.push(one, other);
        }
    }

    /// As [`Self::compare_sides`], with links around hubs in place of the pairs that these connect.
    fn link_sides<const SIDES: usize>(
        &self,
        scope: &Scope<F>,
        sides: [&[F]; SIDES],
        found: &mut Found<'_, F>,
    ) {
        let mut rest = sides[SIDES - 1];
        for some in sides[0].chunks(links::MOST) {
            if SIDES == 1 {
                self.link(scope, [some], found);
                rest = &rest[some.len()..];
            }
            for others in rest.chunks(links::MOST) {
                if !self.output.stopped() {
                    self.link(scope, [some, others], found);
                }
            }
        }
    }

    /// As [`Self::link_sides`], of lists that are copied.
    ///
    /// A link may belong to another part by the rule of the scope. It connects what is near all the
    /// same.
    fn link<const SIDES: usize>(
        &self,
        scope: &Scope<F>,
        sides: [&[F]; SIDES],
        found: &mut Found<'_, F>,
    ) {
        let Some(mut hub) = Hub::find(self.level, sides[0], sides[SIDES - 1], self.k) else {
            return self.compare_all(scope, sides, found);
        };
        let mut rest = sides.map(<[F]>::to_vec);
        loop {
            let Hub { place, near, far } = hub;
            let hub_itself = rest[0].swap_remove(place);
            for &other in near.iter().filter(|other| **other != hub_itself) {
                self.push(hub_itself, other, found);
            }
            rest[SIDES - 1] = far;
            let push = |one, other| self.push(one, other, found);
            links::attach(self.level, &near, &rest[0], self.k, push);
            match Hub::find(self.level, &rest[0], &rest[SIDES - 1], self.k) {
                Some(next) => hub = next,
                None => break,
            }
        }
        self.compare_all(scope, rest.each_ref().map(|side| &**side), found);
    }
}

fn has_pairs<const SIDES: usize>(lengths: [usize; SIDES]) -> bool {
    match lengths[..] {
        [only] => only > 1,
        _ => lengths.iter().all(|&length| length > 0),
    }
}

fn reborrow<'a, F, const SIDES: usize>(sides: &'a mut [&mut [F]; SIDES]) -> [&'a mut [F]; SIDES] {
    sides.each_mut().map(|side| &mut **side)
}

/// Takes so many fingerprints from the front of each side.
#[inline]
fn take<'a, F, const SIDES: usize>(
    sides: &mut [&'a mut [F]; SIDES],
    lengths: [usize; SIDES],
) -> [&'a mut [F]; SIDES] {
    let mut lengths = lengths.into_iter();
    sides.each_mut().map(|side| {
        let length = lengths.next().unwrap_or(0);
        let (front, rest) = std::mem::take(side).split_at_mut(length);
        *side = rest;
        front
    })
}

fn copy<F: Copy, const SIDES: usize>(from: &[&mut [F]; SIDES], to: &mut [&mut [F]; SIDES]) {
    for (from, to) in from.iter().zip(to) {
        to.copy_from_slice(from);
    }
}

/// The bits that are not the same in all fingerprints of all sides.
fn varying<F: Fingerprint, const SIDES: usize>(sides: &[&mut [F]; SIDES]) -> Mask<F> {
    let first = sides.iter().find_map(|side| side.first());
    let Some(&one) = first else { return Mask::default() };
    let all = sides.iter().flat_map(|side| side.iter());
    all.fold(Mask::default(), |varying, &other| varying | Mask::difference(one, other))
}

/// Writes `from` to `to` in the order of a digit, with one thread. Gives where each value ends.
fn scatter<F: Fingerprint>(
    from: &[F],
    to: &mut [F],
    digit: &Digit<F>,
    ends: &mut [u32; 1 << CACHED_BITS],
) {
    match digit.only_run() {
        Some(run) => scatter_by(from, to, |fp| run.get(fp), ends),
        None => scatter_by(from, to, |fp| digit.get(fp), ends),
    }
}

#[inline(always)]
fn scatter_by<F: Copy>(
    from: &[F],
    to: &mut [F],
    digit: impl Fn(F) -> usize,
    ends: &mut [u32; 1 << CACHED_BITS],
) {
    const VALUES: usize = 1 << CACHED_BITS;
    for &fingerprint in from {
        ends[digit(fingerprint) % VALUES] += 1;
    }
    let mut sum = 0;
    for end in ends.iter_mut() {
        sum += std::mem::replace(end, sum);
    }
    // What was the start of a value becomes its end.
    for &fingerprint in from {
        let at = &mut ends[digit(fingerprint) % VALUES];
        to[*at as usize] = fingerprint;
        *at += 1;
    }
}

/// Writes `from` to `to` in the order of a digit, with all threads. Gives the number of each value.
fn distribute<F: Fingerprint>(from: &[F], to: &mut [F], digit: &Digit<F>) -> Vec<usize> {
    let values = 1 << digit.bits();
    match digit.only_run() {
        Some(run) => sort::partition_keys(from, values, |fp| fp, |fp| run.get(*fp), to),
        None => sort::partition_keys(from, values, |fp| fp, |fp| digit.get(*fp), to),
    }
}

/// Sorts `data` by a digit, with the help of `room`. Gives where each value starts, and the end.
fn sort_by_digit<F: Fingerprint>(data: &mut [F], room: &mut [F], digit: &Digit<F>) -> Vec<usize> {
    let values = 1usize << digit.bits();
    let high = digit.bits().min(PARALLEL_BITS);
    let low = digit.bits() - high;
    let lengths = sort::partition_keys(data, 1 << high, |fp| fp, |fp| digit.get(*fp) >> low, room);
    let (mut data, mut room) = ([data], [room]);
    let mut parts = Vec::with_capacity(lengths.len());
    for &length in &lengths {
        parts.push((take(&mut room, [length]), take(&mut data, [length])));
    }
    let mask = (1 << low) - 1;
    let counts = tasks::map(parts, |([from], [to])| {
        let mut ends = vec![0usize; 1 << low];
        from.iter().for_each(|fp| ends[digit.get(*fp) & mask] += 1);
        let counts = ends.clone();
        let mut sum = 0;
        for end in &mut ends {
            sum += std::mem::replace(end, sum);
        }
        for &fingerprint in &*from {
            let at = &mut ends[digit.get(fingerprint) & mask];
            to[*at] = fingerprint;
            *at += 1;
        }
        counts
    });
    let mut starts = Vec::with_capacity(values + 1);
    let mut sum = 0;
    for count in counts.into_iter().flatten() {
        starts.push(sum);
        sum += count;
    }
    starts.push(sum);
    starts
}
