//! The second stage: decides which documents are kept.
//!
//! 1. Of documents with the same prepared text the best one stands for the others. This holds for
//!    those with too few features, too.
//! 2. What stands for its text and is near a document of the earlier corpus is removed.
//! 3. What is left is clustered.

use std::cmp::Ordering;

use fpstore::{Execution, Layout, Packer};
use fpstore_text::{Fingerprinter, Rule};
use rayon::ThreadPool;

use crate::against::{Earlier, Searching};
use crate::choice::{Keep, Shape, Verify};
use crate::cluster::{self, Fate, Order};
use crate::error::Error;
use crate::fates::{Fates, Why};
use crate::ledger::{NO_TEXT, Notes, SIGNED, SKIPPED};
use crate::monitor::{Event, Monitor};
use crate::near::{BitsIndex, Index, KeyIndex, PairIndex, pack};
use crate::read::Reading;
use crate::verify::{Features, Verified};
use crate::width::{for_width, open};
use crate::work::Work;

/// Documents that are packed together.
const PIECE: usize = 1 << 13;
/// Bytes for each document that deciding takes beside its stores: fates, places, and the order.
const DOCUMENT_BYTES: u64 = 64;
/// What deciding takes beside that: a pack or a join, which sort no less at a time, and what the
/// program is by itself. 48,000 short documents take 31 MiB in all.
pub const BASE_BYTES: u64 = 32 << 20;
/// Bytes for each document that the earlier corpus knows: what it is called there.
const KNOWN_BYTES: u64 = 128;

/// How it is decided.
pub struct Deciding<'a> {
    pub work: &'a Work,
    pub notes: &'a Notes,
    pub texts: Texts<'a>,
    pub fingerprinter: &'a Fingerprinter,
    pub rule: Rule,
    /// Bits of a fingerprint, for methods that have one.
    pub bits: Option<u32>,
    pub shape: Shape,
    pub keep: &'a Keep,
    pub verify: Option<Verify>,
    pub earlier: Option<&'a Earlier>,
    pub memory: u64,
    pub pool: &'a ThreadPool,
    pub monitor: &'a Monitor,
}

/// Where features of documents come from, for checks of pairs.
pub enum Texts<'a> {
    /// The inputs are read once more.
    Files(&'a Reading<'a>),
    /// They were noted with the documents.
    Noted,
}

impl Deciding<'_> {
    /// Decides.
    pub fn run(&self) -> Result<Fates, Error> {
        self.check_memory()?;
        let mut fates = Fates::new(self.notes.documents);
        let mut order = self.order()?;
        let places = places(&order, self.notes.documents);
        self.exact(&mut fates, &places)?;
        let kind = |document: &u32| self.notes.kinds[*document as usize];
        order.retain(|document| fates.keeps(*document as usize) && kind(document) != NO_TEXT);
        if let Some(earlier) = self.earlier {
            let compared = |document: &u32| kind(document) == SIGNED || earlier.knows_all();
            let mut documents: Vec<u32> = order.iter().copied().filter(compared).collect();
            documents.sort_unstable();
            let searching = Searching {
                notes: self.notes,
                work: self.work,
                pool: self.pool,
                monitor: self.monitor,
                memory: self.memory,
                execution: &|shares| self.execution(shares),
            };
            earlier.remove_near(&documents, &searching, &mut fates)?;
        }
        order.retain(|document| fates.keeps(*document as usize) && kind(document) == SIGNED);
        self.near(order, &mut fates)?;
        self.settle(&mut fates);
        Ok(fates)
    }

    fn check_memory(&self) -> Result<(), Error> {
        let documents = u64::from(self.notes.documents);
        let ids = if *self.keep == Keep::SmallestId { self.notes.id_bytes()? } else { 0 };
        let known = if self.earlier.is_some() { KNOWN_BYTES * documents } else { 0 };
        let needed = DOCUMENT_BYTES * documents + ids.max(known) + BASE_BYTES;
        match needed > self.memory {
            true => {
                let documents = self.notes.documents.into();
                Err(Error::Memory { limit: self.memory, needed, documents })
            }
            false => Ok(()),
        }
    }

    /// With one of so many shares of the memory.
    fn execution(&self, shares: u64) -> Execution {
        let least = (64 << 20) / shares;
        let taken = DOCUMENT_BYTES * u64::from(self.notes.documents);
        Execution::new()
            .threads(self.pool.current_num_threads())
            .memory((self.memory.saturating_sub(taken) / shares).max(least))
            .scratch_directory(self.work.directory())
            .cancel(self.monitor.cancelled())
    }

    /// All documents, the best first.
    fn order(&self) -> Result<Vec<u32>, Error> {
        let is_document = |document: &u32| self.notes.kinds[*document as usize] != SKIPPED;
        let mut order: Vec<u32> = (0..self.notes.documents).filter(is_document).collect();
        if self.keep.has_keys() {
            let keys = self.notes.keys()?;
            order.sort_by_key(|document| keys[*document as usize]);
        } else if *self.keep == Keep::SmallestId {
            let mut ids = Vec::with_capacity(order.len());
            for &document in &order {
                ids.push((self.notes.id(document)?, document));
            }
            ids.sort_unstable_by(|(a, first), (b, second)| by_id(a, b).then(first.cmp(second)));
            order.clear();
            order.extend(ids.iter().map(|&(_, document)| document));
        }
        Ok(order)
    }

    /// Removes all but the first of the documents with the same text.
    fn exact(&self, fates: &mut Fates, places: &[u32]) -> Result<(), Error> {
        let path = self.work.path("exact.fps");
        let packer =
            Packer::new().width::<u128>().layout(Layout::new().k(0).parts(0)).replace(true);
        let mut session = packer.execution(self.execution(2)).start(&path)?;
        let mut piece = Vec::with_capacity(PIECE);
        session.extend_with_ids::<u64>(&[])?;
        let mut notes = self.notes.in_order()?;
        for document in 0..self.notes.documents {
            match self.notes.kinds[document as usize] {
                SKIPPED => fates.why[document as usize] = Why::Skipped,
                NO_TEXT => {}
                _ => piece.push((notes.exact(document)?, u64::from(document))),
            }
            if piece.len() == PIECE {
                session.extend_with_ids(&piece)?;
                piece.clear();
            }
        }
        session.extend_with_ids(&piece)?;
        session.finish()?;
        let of_equal = if self.verify.is_some() { 1.0 } else { f32::NAN };
        for next in open::<u128>(&path)?.iter_with_ids::<u64>() {
            let (_, ids) = next?;
            if ids.len() < 2 {
                continue;
            }
            let ids = ids.map(|id| Ok(u32::try_from(id?).unwrap_or(u32::MAX)));
            let documents = ids.collect::<Result<Vec<u32>, fpstore::Error>>()?;
            let place = |document: &u32| places.get(*document as usize).copied();
            let Some(&first) = documents.iter().min_by_key(|document| place(document)) else {
                continue;
            };
            for document in documents.into_iter().filter(|document| *document != first) {
                fates.why[document as usize] = Why::Exact;
                fates.fates[document as usize] =
                    Fate { instead: first, matched: first, difference: 0, jaccard: of_equal };
            }
        }
        Ok(())
    }

    /// Clusters what is left.
    fn near(&self, order: Vec<u32>, fates: &mut Fates) -> Result<(), Error> {
        let path = self.work.path("near.fps");
        let mut documents = order.clone();
        documents.sort_unstable();
        match (self.rule, self.bits) {
            (Rule::Within { k }, Some(bits)) => {
                for_width!(bits, of_bits(self, order, &documents, k, fates))
            }
            (rule, _) => {
                let (documents, execution) = (documents.into_iter(), self.execution(2));
                let memory = self.memory / 4;
                let index = KeyIndex::new(self.notes, documents, rule, &path, execution, memory)?;
                self.verified(&index, order, fates)
            }
        }
    }

    /// Clusters by an index, whose pairs are checked first if that is wanted.
    fn verified(&self, index: &dyn Index, order: Vec<u32>, fates: &mut Fates) -> Result<(), Error> {
        let Some(verify) = self.verify else {
            return self.cluster(index, order, fates);
        };
        let documents = self.notes.documents;
        let (one, pool) = (self.fingerprinter, self.pool);
        let features = match self.texts {
            Texts::Files(reading) => {
                Features::note(index, &order, documents, reading, self.work, one, pool)?
            }
            Texts::Noted => Features::noted(documents, self.work)?,
        };
        self.cluster(&Verified { index, features: &features, verify }, order, fates)
    }

    fn cluster(
        &self,
        index: &dyn Index,
        mut order: Vec<u32>,
        fates: &mut Fates,
    ) -> Result<(), Error> {
        let total = order.len() as u64;
        let tell = |phase: &'static str, done: usize| {
            self.monitor.tell(Event::Step { phase, done: done as u64, total });
            self.monitor.check()
        };
        let of = self.notes.documents;
        if *self.keep == Keep::Central {
            let places = places(&order, of);
            let first = Order { documents: &order, places: &places };
            let told = &mut |done| tell("neighbours", done);
            let degrees = cluster::degrees(index, &first, &mut fates.fates, self.pool, told)?;
            order.sort_by_key(|document| std::cmp::Reverse(degrees[*document as usize]));
        }
        let places = places(&order, of);
        let places = Order { documents: &order, places: &places };
        let told = &mut |done| tell("cluster", done);
        cluster::decide(self.shape, index, &places, &mut fates.fates, self.pool, told)?;
        for &document in &order {
            if fates.fates[document as usize].instead != cluster::NONE {
                fates.why[document as usize] = Why::Near;
            }
        }
        Ok(())
    }

    /// Of exact duplicates, names the document that is kept in the end: a twin of a document that
    /// is near another one is as near to that one. Of linked documents the twin is the nearest one.
    fn settle(&self, fates: &mut Fates) {
        for document in 0..fates.fates.len() {
            if fates.why[document] != Why::Exact {
                continue;
            }
            let first = fates.fates[document].matched;
            match fates.why[first as usize] {
                Why::Near if self.shape != Shape::Components => {
                    fates.fates[document] = fates.fates[first as usize];
                    fates.why[document] = Why::Near;
                }
                Why::Old => {
                    let old = fates.old.get(&first).cloned();
                    fates.old.extend(old.map(|old| (document as u32, old)));
                    fates.fates[document] = Fate::KEPT;
                    fates.why[document] = Why::Old;
                }
                _ => fates.fates[document].instead = fates.root(document as u32),
            }
        }
    }
}

/// Clusters what is left of `order` by pairs within k; `documents` are the same, ascending.
fn of_bits<F: fpstore::Fingerprint>(
    deciding: &Deciding<'_>,
    order: Vec<u32>,
    documents: &[u32],
    k: u32,
    fates: &mut Fates,
) -> Result<(), Error> {
    let (notes, documents) = (deciding.notes, documents.iter().copied());
    let path = deciding.work.path("near.fps");
    let packer =
        Packer::new().width::<F>().layout(Layout::new().parts(0)).execution(deciding.execution(2));
    let store = pack(notes, documents.clone(), packer, &path)?;
    let told = deciding.monitor.clone();
    let joining = deciding.execution(2).on_progress(move |at| {
        let (done, total) = (at.done, at.total);
        told.tell(Event::Step { phase: "join", done, total });
    });
    let pairs = deciding.work.path("pairs.fps");
    if let Some(index) = PairIndex::join(&store, k, &pairs, joining, deciding.execution(4))? {
        return deciding.verified(&index, order, fates);
    }
    drop(store);
    let threads = deciding.pool.current_num_threads();
    let index = BitsIndex::<F>::new(notes, documents, k, &path, deciding.execution(2), threads)?;
    deciding.verified(&index, order, fates)
}

/// For each document its place in an order.
fn places(order: &[u32], documents: u32) -> Vec<u32> {
    let mut places = vec![cluster::NONE; documents as usize];
    for (place, &document) in (0..).zip(order) {
        places[document as usize] = place;
    }
    places
}

/// Whole numbers by their value, of any length, before all other ids.
fn by_id(a: &str, b: &str) -> Ordering {
    match (whole(a), whole(b)) {
        (Some((a_negative, a)), Some((b_negative, b))) => {
            let magnitude = a.len().cmp(&b.len()).then_with(|| a.cmp(b));
            let magnitude = if a_negative { magnitude.reverse() } else { magnitude };
            b_negative.cmp(&a_negative).then(magnitude)
        }
        (a_number, b_number) => b_number.is_some().cmp(&a_number.is_some()).then_with(|| a.cmp(b)),
    }
}

/// Whether a whole number is negative, and its digits; `None` of what is written otherwise, with
/// zeros in front too.
fn whole(id: &str) -> Option<(bool, &str)> {
    let digits = id.strip_prefix('-').unwrap_or(id);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && (id == "0" || !digits.starts_with('0')))
        .then_some((digits.len() < id.len(), digits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_order_as_numbers_and_then_as_texts() {
        let ascending = [
            "-340282366920938463463374607431768211457",
            "-340282366920938463463374607431768211456",
            "-20",
            "-3",
            "0",
            "9",
            "10",
            "340282366920938463463374607431768211455",
            "340282366920938463463374607431768211456",
            "",
            "-0",
            "007",
            "7.0",
            "a",
        ];
        for (place, a) in ascending.iter().enumerate() {
            for (other, b) in ascending.iter().enumerate() {
                assert_eq!(by_id(a, b), place.cmp(&other), "{a} {b}");
            }
        }
    }
}
