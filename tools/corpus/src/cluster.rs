//! Clusters: which documents are kept, and for each other one which is kept instead.
//!
//! Documents come in an *order*, the best first. What comes out is defined by the order and by what
//! is near what, so that neither threads nor memory change it:
//!
//! * **star**: a document is kept unless it is near one that is kept before it; else the nearest of
//!   all that are kept before it stays in its place, of several the first.
//! * **complete**: a document joins the first cluster all of whose documents are near it, in the
//!   order of their first documents; else it starts one.
//! * **components**: the documents that are linked are a cluster, and its first one is kept.
//!
//! Neighbours are searched for some documents ahead at the same time. A large cluster has many
//! neighbours, so that what was found is bounded: a search beyond that is put off until what was
//! found has been used. For a star most of them are decided by then.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use rayon::ThreadPool;
use rayon::prelude::*;

use crate::choice::Shape;
use crate::error::Error;
use crate::near::{Index, Near};

/// Documents whose neighbours are searched together.
const TOGETHER: usize = 1 << 12;
/// Neighbours from which on searches are put off.
const MOST_FOUND: usize = 1 << 22;
/// Stands for none.
pub const NONE: u32 = u32::MAX;

/// What is decided about a document.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fate {
    /// The document that is kept instead; [`NONE`] if this one is kept.
    pub instead: u32,
    /// The document that it is near; [`NONE`] if it is kept.
    pub matched: u32,
    /// By how much they differ.
    pub difference: u16,
    /// Their Jaccard similarity, where that was checked.
    pub jaccard: f32,
}

impl Fate {
    /// Is kept, as far as is known.
    pub const KEPT: Self = Self { instead: NONE, matched: NONE, difference: 0, jaccard: f32::NAN };

    fn near(instead: u32, near: Near) -> Self {
        let Near { document: matched, difference, jaccard } = near;
        Self { instead, matched, difference, jaccard }
    }
}

/// Documents in an order.
pub struct Order<'a> {
    /// The documents, the best first.
    pub documents: &'a [u32],
    /// For each document its place; of those that are in no order any number.
    pub places: &'a [u32],
}

impl Order<'_> {
    fn place(&self, document: u32) -> u32 {
        self.places.get(document as usize).copied().unwrap_or(NONE)
    }
}

/// What is told of the documents that are done; an error ends it.
pub type Told<'a> = &'a mut dyn FnMut(usize) -> Result<(), Error>;

/// Decides about the documents of an order; `fates` is by their numbers.
pub fn decide(
    shape: Shape,
    index: &dyn Index,
    order: &Order<'_>,
    fates: &mut [Fate],
    pool: &ThreadPool,
    told: Told<'_>,
) -> Result<(), Error> {
    let walk = Walk { index, order, pool };
    match shape {
        Shape::Star => star(&walk, fates, told),
        Shape::Complete => complete(&walk, fates, told),
        Shape::Components => components(&walk, fates, told),
    }
}

/// How documents are walked through.
struct Walk<'a> {
    index: &'a dyn Index,
    order: &'a Order<'a>,
    pool: &'a ThreadPool,
}

/// For each of some documents its neighbours, where they were searched: surely of the first one
/// that is `wanted`.
fn search(
    index: &dyn Index,
    documents: &[u32],
    wanted: impl Fn(u32) -> bool + Sync,
    takes: impl Fn(u32, &Near) -> bool + Sync,
    pool: &ThreadPool,
) -> Result<Vec<Option<Vec<Near>>>, Error> {
    let found = AtomicUsize::new(0);
    let first = documents.iter().position(|document| wanted(*document));
    pool.install(|| {
        documents
            .par_iter()
            .enumerate()
            .with_max_len(16)
            .map(|(at, &document)| {
                let is_put_off = found.load(Relaxed) > MOST_FOUND && first != Some(at);
                if !wanted(document) || is_put_off {
                    return Ok(None);
                }
                let mut near = Vec::new();
                index.near(document, &mut near)?;
                near.retain(|near| takes(document, near));
                near.shrink_to_fit();
                found.fetch_add(near.len(), Relaxed);
                Ok(Some(near))
            })
            .collect()
    })
}

impl Walk<'_> {
    /// Searches the neighbours of all documents of the order for which `wanted` holds when they are
    /// reached, and hands them on in that order.
    fn each(
        &self,
        fates: &mut [Fate],
        told: Told<'_>,
        wanted: impl Fn(&[Fate], u32) -> bool + Sync,
        takes: impl Fn(&[Fate], u32, &Near) -> bool + Sync,
        mut act: impl FnMut(&mut [Fate], u32, &[Near]),
    ) -> Result<(), Error> {
        let all = self.order.documents;
        let mut next = 0;
        while next < all.len() {
            let ahead = next..(next + TOGETHER).min(all.len());
            let (documents, now) = (&all[ahead.clone()], &*fates);
            let is_wanted = |document| wanted(now, document);
            let takes = |document, near: &Near| takes(now, document, near);
            let found = search(self.index, documents, is_wanted, takes, self.pool)?;
            next = use_all(documents, &found, ahead, |document, near| {
                match (wanted(fates, document), near) {
                    (true, None) => return false,
                    (true, Some(near)) => act(fates, document, near),
                    (false, _) => {}
                }
                true
            });
            told(next)?;
        }
        Ok(())
    }
}

/// Uses what was found of each document, up to the first that was put off; gives the place of that
/// one.
fn use_all(
    documents: &[u32],
    found: &[Option<Vec<Near>>],
    places: Range<usize>,
    mut act: impl FnMut(u32, Option<&[Near]>) -> bool,
) -> usize {
    for ((place, &document), near) in places.clone().zip(documents).zip(found) {
        if !act(document, near.as_deref()) {
            return place;
        }
    }
    places.end
}

fn star(walk: &Walk<'_>, fates: &mut [Fate], told: Told<'_>) -> Result<(), Error> {
    let order = walk.order;
    let is_open = |fates: &[Fate], document: u32| {
        fates.get(document as usize).is_some_and(|fate| fate.instead == NONE)
    };
    // What came before is kept, or is removed, and cannot be near this one if it is kept. What
    // comes behind is removed, and may be near one that was kept before, but nearer to this one.
    let takes =
        |_: &[Fate], document: u32, near: &Near| order.place(near.document) > order.place(document);
    walk.each(fates, told, is_open, takes, |fates, document, found| {
        for near in found {
            let fate = &mut fates[near.document as usize];
            if fate.instead == NONE || near.difference < fate.difference {
                *fate = Fate::near(document, Near { document, ..*near });
            }
        }
    })
}

fn complete(walk: &Walk<'_>, fates: &mut [Fate], told: Told<'_>) -> Result<(), Error> {
    let order = walk.order;
    // For each place of a first document the size of its cluster.
    let mut sizes = vec![0u32; order.documents.len()];
    let takes =
        |_: &[Fate], document: u32, near: &Near| order.place(near.document) < order.place(document);
    let mut clusters: Vec<(u32, Near)> = Vec::new();
    walk.each(
        fates,
        told,
        |_, _| true,
        takes,
        |fates, document, found| {
            clusters.clear();
            clusters.extend(found.iter().map(|near| {
                let first = fates[near.document as usize].instead;
                let first = if first == NONE { near.document } else { first };
                (order.place(first), *near)
            }));
            clusters.sort_unstable_by_key(|(first, near)| (*first, order.place(near.document)));
            let joined = clusters
                .chunk_by(|one, other| one.0 == other.0)
                .find(|members| members.len() == sizes[members[0].0 as usize] as usize);
            match joined.and_then(|members| members.first()) {
                Some(&(first, near)) => {
                    sizes[first as usize] += 1;
                    fates[document as usize] = Fate::near(near.document, near);
                }
                None => sizes[order.place(document) as usize] = 1,
            }
        },
    )
}

fn components(walk: &Walk<'_>, fates: &mut [Fate], told: Told<'_>) -> Result<(), Error> {
    let order = walk.order;
    // By places, so that the least one of a component is its first document.
    let mut parents: Vec<u32> = (0..order.documents.len() as u32).collect();
    let all = |_: &[Fate], _: u32| true;
    walk.each(
        fates,
        told,
        all,
        |_, _, _| true,
        |fates, document, found| {
            let place = order.place(document);
            for near in found {
                unite(&mut parents, place, order.place(near.document));
            }
            let nearest =
                found.iter().min_by_key(|near| (near.difference, order.place(near.document)));
            if let Some(near) = nearest {
                fates[document as usize] = Fate::near(NONE, *near);
            }
        },
    )?;
    for (place, &document) in order.documents.iter().enumerate() {
        let first = order.documents[root(&mut parents, place as u32) as usize];
        let fate = &mut fates[document as usize];
        *fate = if first == document { Fate::KEPT } else { Fate { instead: first, ..*fate } };
    }
    Ok(())
}

fn root(parents: &mut [u32], mut at: u32) -> u32 {
    while parents[at as usize] != at {
        parents[at as usize] = parents[parents[at as usize] as usize];
        at = parents[at as usize];
    }
    at
}

fn unite(parents: &mut [u32], one: u32, other: u32) {
    let (one, other) = (root(parents, one), root(parents, other));
    parents[one.max(other) as usize] = one.min(other);
}

/// How many documents are near each of an order.
pub fn degrees(
    index: &dyn Index,
    order: &Order<'_>,
    fates: &mut [Fate],
    pool: &ThreadPool,
    told: Told<'_>,
) -> Result<Vec<u32>, Error> {
    let walk = Walk { index, order, pool };
    let mut degrees = vec![0; fates.len()];
    let all = |_: &[Fate], _: u32| true;
    walk.each(
        fates,
        told,
        all,
        |_, _, _| true,
        |_, document, found| {
            degrees[document as usize] = found.len() as u32;
        },
    )?;
    Ok(degrees)
}

#[cfg(test)]
mod tests;
