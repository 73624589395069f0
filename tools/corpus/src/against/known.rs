//! Which documents are near one of a store of keys.
//!
//! 1. The keys of all documents become a store, the *questions*, in the order of the earlier one.
//!    By a pass over both it is noted for each document which of its keys the earlier corpus has,
//!    and how often. Most documents have too few of them to agree with anything.
//! 2. Of f keys, c of which another document must have, it has one of any f - c + 1: the rarest of
//!    them are *searched*. A second pass copies who has these: the *candidates*.
//! 3. The other keys only *count*. A third pass copies which candidates have them, and the sizes of
//!    their sets.
//! 4. Each document is compared with its candidates by what was copied.
//!
//! Where one key decides, the first and the third pass are left out. A key that very many documents
//! have is copied once, whoever asks, and not at all where it only counts and there are no
//! candidates. All that is sorted is so by packs, within their memory; what was copied is small, so
//! that looking it up does not wait for the disk.

use std::cmp::Ordering;
use std::path::{Path, PathBuf};

use fpstore::{Id, IdKind, Ids, Layout, PackSession, Packer, Snapshot};
use fpstore_text::Rule;
use rayon::prelude::*;

use super::common::{Seen, each_common};
use super::keys::{By, Keys, SIZES, id_in};
use super::{PIECE, Searching};
use crate::error::Error;
use crate::fates::OldMatch;
use crate::monitor::Event;
use crate::width::open;

/// Bits of a number of an earlier document below that of its segment.
const SEGMENT_SHIFT: u32 = 40;
/// Bits of an entry below the document, or the number of those who have a key.
const INDEX_BITS: u32 = 32;
/// Candidates from which on a list of all who have a key is read as a whole.
const LONG: u64 = 16;
/// Documents that are compared together.
const TOGETHER: usize = 1 << 13;

/// Whether more than one key must be common.
fn counts(rule: Rule) -> bool {
    !matches!(rule, Rule::Equal { least: ..=1, .. })
}

/// For each document that agrees with some of the store at a path the nearest of these; of several,
/// that with the least name. Documents ascend.
pub fn near(
    (path, rule): (&Path, Rule),
    documents: &[u32],
    searching: &Searching<'_>,
) -> Result<Vec<(u32, OldMatch)>, Error> {
    let earlier = open::<u64>(path)?.snapshot().in_segments()?;
    if earlier.is_empty() || documents.is_empty() {
        return Ok(Vec::new());
    }
    let seen = Seen::new(searching.memory / 32, earlier.len());
    let search = Search { rule, earlier, searching };
    search.run(documents, seen)
}

struct Search<'a> {
    rule: Rule,
    earlier: Snapshot<u64>,
    searching: &'a Searching<'a>,
}

/// What was copied of the earlier corpus.
struct Copied {
    /// For each key who has it.
    lists: Snapshot<u64>,
    /// For each candidate the size of its set.
    sizes: Snapshot<u64>,
    /// For each document its keys that the corpus has, the rarest first, where values are counted.
    found: Option<Snapshot<u64>>,
}

impl Search<'_> {
    fn run(&self, documents: &[u32], mut seen: Seen) -> Result<Vec<(u32, OldMatch)>, Error> {
        let questions = self.questions(documents)?;
        let mut lists = Sorted::new(self, "known-lists.fps", 4)?;
        let mut open = Vec::new();
        let found = match counts(self.rule) {
            true => {
                let found = self.found(&questions)?;
                let [searched, counting] = self.divided(&found, &mut open)?;
                self.copy(&searched, &mut lists, |old| {
                    seen.add(old);
                    true
                })?;
                self.copy(&counting, &mut lists, |old| seen.may_have(old))?;
                Some(found)
            }
            false => {
                let mut asked = Seen::new(u64::MAX, documents.len() as u64);
                let monitor = self.searching.monitor;
                each_common(&questions, &self.earlier, monitor, |key, askers, olds| {
                    for document in askers {
                        asked.add(document?);
                    }
                    lists.take_each(olds, key, |_| true)
                })?;
                let is_asked = |document: &&u32| asked.may_have(u64::from(**document));
                open.extend(documents.iter().filter(is_asked));
                None
            }
        };
        let lists = lists.finish()?;
        let sizes = self.sizes(&seen)?;
        self.compare(&open, &Copied { lists, sizes, found })
    }

    /// The keys of all documents, each with those who have it; where values are counted, with the
    /// place of the key among those of the document.
    fn questions(&self, documents: &[u32]) -> Result<Snapshot<u64>, Error> {
        let notes = self.searching.notes;
        let mut questions = Sorted::new(self, "known-questions.fps", 2)?;
        let (mut in_order, mut bytes, of_places) =
            (notes.in_order()?, Vec::new(), counts(self.rule));
        for &document in documents {
            let keys = Keys::in_order(self.rule, document, notes, &mut in_order, &mut bytes)?;
            for (place, key) in (0u64..).zip(keys.into_iter().flat_map(|keys| keys.keys)) {
                let document = u64::from(document);
                let asker = if of_places { document << INDEX_BITS | place } else { document };
                questions.push(key, asker)?;
            }
        }
        questions.finish()
    }

    /// For each document its keys that the earlier corpus has: how many have each, and its place.
    fn found(&self, questions: &Snapshot<u64>) -> Result<Snapshot<u64>, Error> {
        let mut found = Sorted::new(self, "known-found.fps", 4)?;
        let monitor = self.searching.monitor;
        each_common(questions, &self.earlier, monitor, |_, askers, olds| {
            let count = olds.len().min(u64::from(u32::MAX));
            for asker in askers {
                let asker = asker?;
                let place = asker & u64::from(u32::MAX);
                found.push(asker >> INDEX_BITS, count << INDEX_BITS | place)?;
            }
            Ok(())
        })?;
        found.finish()
    }

    /// The keys of all documents that may agree with something, which `open` gets: those that are
    /// searched, and those that count.
    fn divided(
        &self,
        found: &Snapshot<u64>,
        open: &mut Vec<u32>,
    ) -> Result<[Snapshot<u64>; 2], Error> {
        let notes = self.searching.notes;
        let mut searched = Sorted::new(self, "known-searched.fps", 4)?;
        let mut counting = Sorted::new(self, "known-counting.fps", 4)?;
        let (mut in_order, mut bytes) = (notes.in_order()?, Vec::new());
        for of_document in found.iter_with_ids::<u64>() {
            let (document, entries) = of_document?;
            let document = u32::try_from(document).unwrap_or(u32::MAX);
            let keys = Keys::in_order(self.rule, document, notes, &mut in_order, &mut bytes)?;
            let Some(keys) = keys else { continue };
            let Some(rarest) = (entries.len() as usize + 1).checked_sub(keys.needed) else {
                continue;
            };
            if rarest == 0 {
                continue;
            }
            open.push(document);
            for (number, entry) in entries.enumerate() {
                let key = keys.keys.get(place(entry?)).copied().unwrap_or_default();
                let to = if number < rarest { &mut searched } else { &mut counting };
                to.push(key, 0)?;
            }
        }
        Ok([searched.finish()?, counting.finish()?])
    }

    /// Copies those who have each of some keys, if they are wanted.
    fn copy(
        &self,
        keys: &Snapshot<u64>,
        lists: &mut Sorted,
        mut is_wanted: impl FnMut(u64) -> bool,
    ) -> Result<(), Error> {
        each_common(keys, &self.earlier, self.searching.monitor, |key, _, olds| {
            lists.take_each(olds, key, &mut is_wanted)
        })
    }

    /// The sizes of the sets of the candidates, and of some others.
    fn sizes(&self, seen: &Seen) -> Result<Snapshot<u64>, Error> {
        let mut sizes = Sorted::new(self, "known-sizes.fps", 4)?;
        for key in self.earlier.iter_from(SIZES) {
            let (key, mut olds) = (key?, Vec::new());
            self.earlier.ids::<Id>(key)?.visit_numbers(|segment, number| {
                olds.extend(Some(old(segment, number)).filter(|old| seen.may_have(*old)));
            })?;
            self.searching.monitor.check()?;
            for old in olds {
                sizes.push(old, key - SIZES)?;
            }
        }
        sizes.finish()
    }

    /// Compares documents with their candidates.
    fn compare(&self, open: &[u32], copied: &Copied) -> Result<Vec<(u32, OldMatch)>, Error> {
        let Searching { pool, monitor, .. } = *self.searching;
        let mut all = Vec::new();
        for (number, documents) in open.chunks(TOGETHER).enumerate() {
            let found: Vec<Option<(u32, OldMatch)>> = pool.install(|| {
                let nearest = documents.par_iter().with_max_len(16).map(|&document| {
                    Ok(self.nearest(document, copied)?.map(|old| (document, old)))
                });
                nearest.collect::<Result<_, Error>>()
            })?;
            all.extend(found.into_iter().flatten());
            let (done, total) = ((number * TOGETHER + documents.len()) as u64, open.len() as u64);
            monitor.tell(Event::Step { phase: "known", done, total });
            monitor.check()?;
        }
        Ok(all)
    }

    /// The nearest of the candidates of a document that agree with it; of several, that with the
    /// least name.
    fn nearest(&self, document: u32, copied: &Copied) -> Result<Option<OldMatch>, Error> {
        let Keys { keys, needed, by } = Keys::look_up(self.rule, document, self.searching.notes)?;
        let (mut searched, mut counting) = (keys.clone(), Vec::new());
        if let Some(found) = &copied.found {
            searched.clear();
            for entry in found.ids::<u64>(document.into())? {
                searched.extend(keys.get(place(entry?)));
            }
            let rarest = (searched.len() + 1).saturating_sub(needed);
            counting = searched.split_off(rarest.min(searched.len()));
        }
        let mut olds = Vec::new();
        for key in searched {
            for old in copied.lists.ids::<u64>(key)? {
                olds.push(old?);
            }
        }
        olds.sort_unstable();
        let mut candidates: Vec<(u64, usize)> =
            olds.chunk_by(|a, b| a == b).map(|same| (same[0], same.len())).collect();
        for key in counting {
            count(&copied.lists, key, &mut candidates)?;
        }
        let mut nearest: Option<(u32, u64)> = None;
        let mut name: Option<String> = None;
        for (old, common) in candidates {
            let Some(distance) = self.difference(by, (keys.len(), old), common, copied)? else {
                continue;
            };
            match nearest.map_or(Ordering::Less, |(least, _)| distance.cmp(&least)) {
                Ordering::Less => (nearest, name) = (Some((distance, old)), None),
                Ordering::Equal => {
                    let (Some((_, first)), own) = (nearest, self.name(old)?) else { continue };
                    let first = name.take().map_or_else(|| self.name(first), Ok)?;
                    let is_less = own < first;
                    nearest = nearest.filter(|_| !is_less).or(Some((distance, old)));
                    name = Some(if is_less { own } else { first });
                }
                Ordering::Greater => {}
            }
        }
        let Some((distance, old)) = nearest else { return Ok(None) };
        let id = name.map_or_else(|| self.name(old), Ok)?;
        Ok(Some(OldMatch { id, distance }))
    }

    /// By how much a document with so many keys differs from an earlier one with which it has some
    /// in common, if they agree.
    fn difference(
        &self,
        by: By,
        (own, old): (usize, u64),
        common: usize,
        copied: &Copied,
    ) -> Result<Option<u32>, Error> {
        let size = || -> Result<usize, Error> {
            let size = copied.sizes.ids::<u64>(old)?.next().transpose()?;
            Ok(size.map_or(common, |size| size as usize).max(common))
        };
        let of_sets = |size: usize| (own + size - common).max(1);
        Ok(match (by, self.rule) {
            (By::Text, _) => Some(0),
            (By::Slots, Rule::Equal { least, .. }) => {
                (common >= least as usize).then(|| own.saturating_sub(common) as u32)
            }
            (By::Set, rule) => {
                let all = of_sets(size()?);
                let agrees = match rule {
                    Rule::Common { least } => common >= least as usize,
                    Rule::Jaccard { threshold } => common as f64 / all as f64 >= threshold,
                    _ => false,
                };
                agrees.then(|| 100 - (100 * common / all) as u32)
            }
            _ => None,
        })
    }

    /// What an earlier document is called.
    fn name(&self, old: u64) -> Result<String, Error> {
        let (segment, number) = (old >> SEGMENT_SHIFT, old & ((1 << SEGMENT_SHIFT) - 1));
        let id = self.earlier.id_by_number(segment as usize, number)?;
        let name = id.map(|id| id.to_string()).unwrap_or_default();
        Ok(id_in(&name).to_string())
    }
}

/// The number of an earlier document.
fn old(segment: usize, number: u64) -> u64 {
    (segment as u64) << SEGMENT_SHIFT | number
}

/// The place of a key among those of its document.
fn place(entry: u64) -> usize {
    (entry & u64::from(u32::MAX)) as usize
}

/// Counts a key for those candidates that have it.
fn count(lists: &Snapshot<u64>, key: u64, candidates: &mut [(u64, usize)]) -> Result<(), Error> {
    let list = lists.ids::<u64>(key)?;
    if list.len() > LONG * candidates.len() as u64 {
        for (old, common) in candidates {
            *common += usize::from(lists.contains_id(key, *old)?);
        }
        return Ok(());
    }
    for old in list {
        let old = old?;
        if let Ok(place) = candidates.binary_search_by_key(&old, |(old, _)| *old) {
            candidates[place].1 += 1;
        }
    }
    Ok(())
}

/// Pairs of numbers that are sorted into a store of the work.
struct Sorted {
    session: PackSession<u64>,
    piece: Vec<(u64, u64)>,
    path: PathBuf,
}

impl Sorted {
    fn new(search: &Search<'_>, name: &str, shares: u64) -> Result<Self, Error> {
        let path = search.searching.work.path(name);
        let execution = (search.searching.execution)(shares);
        let packer = Packer::new().layout(Layout::new().k(0)).ids(IdKind::Number).replace(true);
        let mut session = packer.execution(execution).start(&path)?;
        session.extend_with_ids::<u64>(&[])?;
        Ok(Self { session, piece: Vec::with_capacity(PIECE), path })
    }

    fn push(&mut self, one: u64, other: u64) -> Result<(), Error> {
        self.piece.push((one, other));
        if self.piece.len() >= PIECE {
            self.session.extend_with_ids(&self.piece)?;
            self.piece.clear();
        }
        Ok(())
    }

    /// Takes those who have a key, if they are wanted.
    fn take_each(
        &mut self,
        olds: &mut Ids<Id>,
        key: u64,
        mut is_wanted: impl FnMut(u64) -> bool,
    ) -> Result<(), Error> {
        let mut done = Ok(());
        olds.visit_numbers(|segment, number| {
            let old = old(segment, number);
            if done.is_ok() && is_wanted(old) {
                done = self.push(key, old);
            }
        })?;
        done
    }

    fn finish(mut self) -> Result<Snapshot<u64>, Error> {
        self.session.extend_with_ids(&self.piece)?;
        self.session.finish()?;
        Ok(open::<u64>(&self.path)?.snapshot())
    }
}
