//! The second stage: decides which documents are kept.
//!
//! 1. Of documents with the same prepared text the best one stands for the others. This holds for those with too few features, too.
//! 2. What stands for its text and is near a document of the earlier corpus is removed.
//! 3. What is left is clustered.

use fpstore::{Execution, Packer};
use fpstore_text::{Fingerprinter, Rule};
use rayon::ThreadPool;

use super::against::Earlier;
use super::choice::{Keep, Shape, Verify};
use super::cluster::{self, Fate, Order};
use super::fates::{Fates, Why};
use super::ledger::{Notes, SIGNED, SKIPPED};
use super::near::{BitsIndex, Index, KeyIndex, PairIndex, pack};
use super::read::Reading;
use super::verify::{Features, Verified};
use super::work::Work;
use crate::failure::Failure;
use crate::progress::{Finds, Step, Unit};
use crate::width::{for_width, open};

/// Documents that are packed together.
const PIECE: usize = 1 << 13;
/// Bytes for each document that deciding takes beside its stores: fates, places, and the order.
const DOCUMENT_BYTES: u64 = 64;
/// What deciding takes beside that: a pack or a join, which sort no less at a time, and what the program is by
/// itself. 48,000 short documents take 31 MiB in all.
pub const BASE_BYTES: u64 = 32 << 20;
/// Bytes for each document that the earlier corpus knows: what it is called there.
const KNOWN_BYTES: u64 = 128;

/// How it is decided.
pub struct Deciding<'a> {
    pub work: &'a Work,
    pub notes: &'a Notes,
    pub reading: &'a Reading<'a>,
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
}

impl Deciding<'_> {
    /// Decides.
    pub fn run(&self) -> Result<Fates, Failure> {
        self.check_memory()?;
        let mut fates = Fates::new(self.notes.documents);
        let mut order = self.order()?;
        let places = places(&order, self.notes.documents);
        self.exact(&mut fates, &places)?;
        let signed = |document: &u32| self.notes.kinds[*document as usize] == SIGNED;
        order.retain(|document| fates.keeps(*document as usize) && signed(document));
        if let Some(earlier) = self.earlier {
            earlier.remove_near(&order, self.notes, &mut fates, self.pool)?;
            order.retain(|document| fates.keeps(*document as usize));
        }
        self.near(order, &mut fates)?;
        self.settle(&mut fates);
        Ok(fates)
    }

    fn check_memory(&self) -> Result<(), Failure> {
        let documents = u64::from(self.notes.documents);
        let ids = if *self.keep == Keep::SmallestId { self.notes.id_bytes()? } else { 0 };
        let known = if self.earlier.is_some() { KNOWN_BYTES * documents } else { 0 };
        let needed = DOCUMENT_BYTES * documents + ids.max(known) + BASE_BYTES;
        match needed > self.memory {
            true => Err(Failure::Usage(format!(
                "memory cannot be {}: to decide about {} documents takes {} at least; give more (--memory)",
                fpstore::Bytes(self.memory),
                self.notes.documents,
                fpstore::Bytes(needed)
            ))),
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
    }

    /// All documents, the best first.
    fn order(&self) -> Result<Vec<u32>, Failure> {
        let is_document = |document: &u32| self.notes.kinds[*document as usize] != SKIPPED;
        let mut order: Vec<u32> = (0..self.notes.documents).filter(is_document).collect();
        if self.keep.has_keys() {
            let keys = self.notes.keys()?;
            order.sort_by_key(|document| keys[*document as usize]);
        } else if *self.keep == Keep::SmallestId {
            let mut ids = Vec::with_capacity(order.len());
            for &document in &order {
                let id = self.notes.id(document)?;
                // Numbers by their value, before all other ids.
                let number = id.parse::<u64>().ok().filter(|number| number.to_string() == id);
                let text = if number.is_some() { String::new() } else { id };
                ids.push((number.is_none(), number, text, document));
            }
            ids.sort_unstable();
            order.clear();
            order.extend(ids.iter().map(|(.., document)| document));
        }
        Ok(order)
    }

    /// Removes all but the first of the documents with the same text.
    fn exact(&self, fates: &mut Fates, places: &[u32]) -> Result<(), Failure> {
        let path = self.work.path("exact.fps");
        let packer = Packer::new().width::<u128>().radius(0).parts(0).replace(true);
        let mut session = packer.execution(self.execution(2)).start(&path)?;
        let mut piece = Vec::with_capacity(PIECE);
        session.extend_with_ids(&[])?;
        let mut notes = self.notes.in_order()?;
        for document in 0..self.notes.documents {
            match self.notes.kinds[document as usize] {
                SKIPPED => fates.why[document as usize] = Why::Skipped,
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
        for next in open::<u128>(&path)?.iter_with_ids() {
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
    fn near(&self, order: Vec<u32>, fates: &mut Fates) -> Result<(), Failure> {
        let path = self.work.path("near.fps");
        let mut documents = order.clone();
        documents.sort_unstable();
        match (self.rule, self.bits) {
            (Rule::Within { k }, Some(bits)) => {
                for_width!(bits, of_bits(self, order, &documents, k, fates))
            }
            (rule, _) => {
                let (documents, execution) = (documents.into_iter(), self.execution(2));
                let index = KeyIndex::new(self.notes, documents, rule, &path, execution)?;
                self.verified(&index, order, fates)
            }
        }
    }

    /// Clusters by an index, whose pairs are checked first if that is wanted.
    fn verified(
        &self,
        index: &dyn Index,
        order: Vec<u32>,
        fates: &mut Fates,
    ) -> Result<(), Failure> {
        let Some(Verify { jaccard }) = self.verify else {
            return self.cluster(index, order, fates);
        };
        let documents = self.notes.documents;
        let (reading, work) = (self.reading, self.work);
        let (one, pool) = (self.fingerprinter, self.pool);
        let features = Features::note(index, &order, documents, reading, work, one, pool)?;
        self.cluster(&Verified { index, features: &features, least: jaccard }, order, fates)
    }

    fn cluster(
        &self,
        index: &dyn Index,
        mut order: Vec<u32>,
        fates: &mut Fates,
    ) -> Result<(), Failure> {
        let total = order.len() as u64;
        let tell = |phase: &'static str, done: usize| {
            let (unit, finds) = (Unit::Documents, Finds::Nothing);
            self.reading.progress.step(Step { phase, unit, done: done as u64, total, finds });
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

    /// Of exact duplicates, names the document that is kept in the end.
    fn settle(&self, fates: &mut Fates) {
        for document in 0..fates.fates.len() {
            if fates.why[document] == Why::Exact {
                fates.fates[document].instead = fates.root(document as u32);
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
) -> Result<(), Failure> {
    let (notes, documents) = (deciding.notes, documents.iter().copied());
    let path = deciding.work.path("near.fps");
    let packer = Packer::new().width::<F>().parts(0).execution(deciding.execution(2));
    let store = pack(notes, documents.clone(), packer, &path)?;
    let told = deciding.reading.progress.clone();
    let joining = deciding.execution(2).on_progress(move |at| {
        let (done, total) = (at.done, at.total);
        let (unit, finds) = (Unit::Fingerprints, Finds::Nothing);
        told.step(Step { phase: "join", unit, done, total, finds });
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
