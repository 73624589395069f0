//! Links: few pairs within k that connect whatever all pairs within k connect.
//!
//! Clusters need no more. Of n fingerprints that are all near each other there are n (n - 1) / 2
//! pairs, and n - 1 links are enough.
//!
//! ```text
//! hub          a fingerprint with many near ones in a list
//! near, far    what is within k of the hub, and the rest
//! links        the hub with each of `near`; each of `far` with one of `near`, if there is one;
//!              then those of `far`, in the same way
//! ```
//!
//! Pairs of `near` need not be looked at, since the hub connects them. A list without a hub has few
//! pairs, and all of them are taken.

use std::collections::HashSet;

use super::compare;
use crate::fingerprint::Fingerprint;
use crate::simd::Level;

/// Fingerprints of a list from which hubs are looked for, and of one that is copied for that.
pub(super) const LEAST: usize = if cfg!(test) { 32 } else { 256 };
pub(super) const MOST: usize = if cfg!(test) { 1 << 8 } else { 1 << 13 };
/// Candidates for a hub, spread over the list.
const CANDIDATES: usize = 8;
/// A hub has at least one in so many of the others near it.
const SHARE: usize = 16;
/// Fingerprints that are compared with the rest before what is linked leaves it: at first, and at
/// most.
const FIRST_ROWS: usize = 4;
const MOST_ROWS: usize = 1 << 8;

/// A hub of a list, by its place there, and others divided by whether they are near it.
pub(super) struct Hub<F> {
    pub(super) place: usize,
    pub(super) near: Vec<F>,
    pub(super) far: Vec<F>,
}

impl<F: Fingerprint> Hub<F> {
    /// Looks for a hub in `of` that has many of `others` near it. It is near itself.
    pub(super) fn find(level: Level, of: &[F], others: &[F], k: u32) -> Option<Self> {
        if of.is_empty() || others.len() < LEAST {
            return None;
        }
        let step = of.len().div_ceil(CANDIDATES);
        let candidates: Vec<F> = of.iter().copied().step_by(step).collect();
        let mut counts = [0usize; CANDIDATES];
        compare::between(level, &candidates, others, k, |one, _| {
            let is_one = |(candidate, _): &(&F, &mut usize)| **candidate == one;
            if let Some((_, count)) = candidates.iter().zip(&mut counts).find(is_one) {
                *count += 1;
            }
        });
        let number = counts.iter().position(|count| count * SHARE >= others.len())?;
        let hub = *candidates.get(number)?;
        let (near, far) = others.iter().partition(|other| hub.distance(**other) <= k);
        Some(Self { place: number * step, near, far })
    }
}

/// Calls `link` once for each of `others` that has one of `linked` within k, with that one.
pub(super) fn attach<F: Fingerprint>(
    level: Level,
    linked: &[F],
    others: &[F],
    k: u32,
    mut link: impl FnMut(F, F),
) {
    let mut others = others.to_vec();
    let (mut linked, mut rows) = (linked, FIRST_ROWS);
    let mut found = HashSet::new();
    while !linked.is_empty() && !others.is_empty() {
        let (some, rest) = linked.split_at(rows.min(linked.len()));
        compare::between(level, some, &others, k, |one, other| {
            if found.insert(other) {
                link(one, other);
            }
        });
        if !found.is_empty() {
            others.retain(|other| !found.contains(other));
            found.clear();
        }
        (linked, rows) = (rest, (2 * rows).min(MOST_ROWS));
    }
}
