//! The nearest fingerprints, whatever their distance: radius by radius.

use std::collections::BTreeSet;

use super::Searcher;
use super::work::Ask;
use crate::costs::Costs;
use crate::error::Result;
use crate::fingerprint::{Fingerprint, key_of, of_key};
use crate::multi_index::{MultiIndex, Near, Widening};
use crate::segment::{Index, Segment, Tables};
use crate::snapshot::parts::Parts;
use crate::snapshot::union::{self, Match};

/// How much more a search in tables takes than the one before it, at least: what is read twice is
/// less than half then.
const GROWTH: f64 = 2.0;

/// The nearest ones so far.
struct Best<F> {
    fingerprint: F,
    count: usize,
    /// Those that are wanted have no greater distance.
    most: u32,
    found: BTreeSet<(u32, F)>,
}

impl<F: Fingerprint> Best<F> {
    /// The distance from which on nothing is wanted any more, unless it is a smaller one.
    fn bound(&self) -> u32 {
        match self.found.last() {
            Some(&(distance, _)) if self.found.len() >= self.count => distance,
            _ => self.most,
        }
    }

    /// Whether one of this distance may be among the nearest.
    fn wants(&self, distance: u32) -> bool {
        self.count > 0 && distance <= self.bound()
    }

    /// Takes one that is visible.
    fn take(&mut self, distance: u32, fingerprint: F) {
        self.found.insert((distance, fingerprint));
        if self.found.len() > self.count {
            self.found.pop_last();
        }
    }

    /// Takes one of a segment, if that shows it.
    fn take_of(
        &mut self,
        (parts, place): (&Parts<F>, usize),
        distance: u32,
        fingerprint: F,
    ) -> Result<()> {
        let is_visible = !parts.hides() || union::visible_in(parts, place, fingerprint)?;
        if is_visible && self.wants(distance) {
            self.take(distance, fingerprint);
        }
        Ok(())
    }

    /// Whether all that is wanted is known, once all within `radius` is.
    fn is_complete(&self, radius: u32) -> bool {
        self.bound() <= radius
    }
}

/// Takes rows of a base.
struct OfParts<'a, F: Fingerprint> {
    index: &'a MultiIndex<F>,
    place: (&'a Parts<F>, usize),
    best: &'a mut Best<F>,
    fault: Result<()>,
}

impl<F: Fingerprint> Widening for OfParts<'_, F> {
    fn bound(&self) -> u32 {
        self.best.bound()
    }

    fn take(&mut self, Near { row, distance }: Near) {
        if self.best.wants(distance) && self.fault.is_ok() {
            let row = self.index.base().row(row.into());
            self.fault = row.and_then(|one| self.best.take_of(self.place, distance, one));
        }
    }
}

impl<F: Fingerprint> Searcher<F> {
    /// The `count` stored fingerprints that are nearest to `fingerprint`, of those within `max_k`:
    /// by distance, then by value; fewer if there are not so many. Exact: of those at the greatest
    /// distance the lesser values are taken.
    ///
    /// Looks at one radius after the other and stops with the first that has enough, so it takes as
    /// long as a search within the distance of the last one that it gives, and some more. Where the
    /// nearest are so far that a scan takes less, it scans once, within the distance of the last
    /// one so far: so it takes at most the time of some scans.
    ///
    /// # Errors
    ///
    /// As [`Self::search`].
    pub fn nearest(&mut self, fingerprint: F, count: usize, max_k: u32) -> Result<Vec<Match<F>>> {
        self.search.clear();
        self.stop.check()?;
        if count == 0 {
            return Ok(Vec::new());
        }
        let snapshot = self.snapshot.clone();
        let parts = snapshot.parts();
        let most = max_k.min(F::BITS);
        let mut best = Best { fingerprint, count, most, found: BTreeSet::new() };
        parts.search_tails(fingerprint, most, |record| {
            let distance = record.fingerprint.distance(fingerprint);
            if best.wants(distance) {
                best.take(distance, record.fingerprint);
            }
        });
        for (place, segment) in snapshot.segments().iter().enumerate() {
            match segment.index() {
                Index::Tables(tables) => {
                    self.nearest_in_tables(segment, tables, (parts, place), &mut best)?;
                }
                Index::Parts(index) => self.nearest_in_parts(index, (parts, place), &mut best)?,
            }
        }
        let found = best.found.into_iter().take(count);
        Ok(found.map(|(distance, fingerprint)| Match { fingerprint, distance }).collect())
    }

    fn nearest_in_parts(
        &mut self,
        index: &MultiIndex<F>,
        place: (&Parts<F>, usize),
        best: &mut Best<F>,
    ) -> Result<()> {
        let query = best.fingerprint;
        let mut taker = OfParts { index, place, best, fault: Ok(()) };
        self.search.probing.is_cold = self.waiting.is_cold();
        self.search.probing.widen(index, query, &self.stop, &mut taker)?;
        taker.fault?;
        self.search.count_probes();
        Ok(())
    }

    fn nearest_in_tables(
        &mut self,
        segment: &Segment<F>,
        tables: &Tables,
        place: (&Parts<F>, usize),
        best: &mut Best<F>,
    ) -> Result<()> {
        let costs = &Costs::shipped().search;
        let mut radius = 0;
        while !tables.takes_a_scan(radius) {
            self.search.matches.clear();
            let ask = Ask { fingerprint: best.fingerprint, k: radius, most: usize::MAX };
            self.search.search(segment, ask, self.waiting.is_cold(), &self.stop)?;
            for found in &self.search.matches {
                if best.wants(found.distance) {
                    best.take_of(place, found.distance, found.fingerprint)?;
                }
            }
            if best.is_complete(radius) {
                return Ok(());
            }
            let enough = GROWTH * tables.search_ns(radius, costs);
            let mut wider = radius + 1..best.bound();
            radius = wider.find(|&k| tables.search_ns(k, costs) >= enough).unwrap_or(best.bound());
        }
        let query = (key_of(best.fingerprint), best.bound());
        self.search.tables.scan_narrowing(tables, query, &self.stop, &mut |some| {
            for found in some {
                if best.wants(found.distance) {
                    best.take_of(place, found.distance, of_key(found.fingerprint))?;
                }
            }
            Ok(best.bound())
        })
    }
}
