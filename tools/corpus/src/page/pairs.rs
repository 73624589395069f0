//! Pairs that tell whether a threshold is right: the farthest ones that are taken for near
//! duplicates, and the nearest ones that are not.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};

use fpstore::{Execution, Fingerprint, JoinEvent, Layout, Packer, Store};
use fpstore_text::Rule;
use rayon::prelude::*;

use crate::error::{Error, failure};
use crate::fates::{Fates, Kept, Why};
use crate::ledger::{Notes, SIGNED};
use crate::near::{Index, KeyIndex, agree, pack};
use crate::width::for_width;

use super::Looking;

/// Pairs of each side of the threshold.
pub const SHOWN: usize = 10;
/// Pairs beyond it that are held, of which those are shown that have no document in common.
const HELD: usize = 1 << 12;

/// Two documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pair {
    /// By how much they differ.
    pub distance: u32,
    /// The first one, or the one that is kept.
    pub one: u32,
    pub other: u32,
}

/// Of the documents that are removed as near duplicates, those that differ the most from what they
/// are near to: of each cluster one, as far as there are enough clusters.
pub fn within(notes: &Notes, fates: &Fates) -> Vec<Pair> {
    let mut all: Vec<(Reverse<u32>, u32, u32, u32)> = Vec::new();
    for document in 0..notes.documents {
        if fates.why.get(document as usize) != Some(&Why::Near) {
            continue;
        }
        let Some(verdict) = fates.verdict(document) else { continue };
        if let Kept::Document(matched) = verdict.matched {
            all.push((Reverse(verdict.distance), document, matched, fates.root(document)));
        }
    }
    all.sort_unstable();
    let mut roots = HashSet::new();
    let (first, others): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|&(.., root)| roots.len() < SHOWN && roots.insert(root));
    let pair = |(Reverse(distance), other, one, _)| Pair { distance, one, other };
    let mut pairs: Vec<Pair> = first.into_iter().chain(others).take(SHOWN).map(pair).collect();
    pairs.sort_unstable_by_key(|pair| (Reverse(pair.distance), pair.other));
    pairs
}

/// What was found beyond the threshold.
pub struct Beyond {
    /// Pairs of documents that are kept, the nearest first, no document twice.
    pub pairs: Vec<Pair>,
    /// How far it was looked, in words; `None` where a method tells nothing of what is beyond.
    pub reach: Option<String>,
}

/// Looks for pairs of documents that are kept, a little beyond the threshold, and farther if there
/// are too few.
pub fn beyond(
    looking: &Looking<'_>,
    notes: &Notes,
    fates: &Fates,
    rule: Rule,
    bits: Option<u32>,
) -> Result<Beyond, Error> {
    let is_one = |&document: &u32| {
        fates.keeps(document as usize) && notes.kinds.get(document as usize) == Some(&SIGNED)
    };
    let kept: Vec<u32> = (0..notes.documents).filter(is_one).collect();
    match (rule, bits) {
        (Rule::Within { k }, Some(bits)) => for_width!(bits, of_bits(looking, notes, &kept, k)),
        (rule, _) => of_keys(looking, notes, &kept, rule),
    }
}

fn of_bits<F: Fingerprint>(
    looking: &Looking<'_>,
    notes: &Notes,
    kept: &[u32],
    k: u32,
) -> Result<Beyond, Error> {
    let directory = tempfile::Builder::new().prefix("fpstore-report-").tempdir();
    let directory = directory.map_err(failure(&std::env::temp_dir(), "create a directory in"))?;
    let path = directory.path().join("kept.fps");
    let packer = Packer::new().width::<F>().layout(Layout::new().parts(0));
    let packer = packer.execution(looking.execution());
    let store = pack(notes, kept.iter().copied(), packer, &path)?;
    let mut reach = k;
    let mut pairs = Vec::new();
    for more in [8, 4, 2] {
        reach = k.saturating_add((k / more).max(8 / more)).min(F::BITS);
        pairs = apart(nearest(looking, &store, k, reach)?);
        if pairs.len() >= SHOWN {
            break;
        }
    }
    Ok(Beyond { pairs, reach: Some(format!("{reach} bits")) })
}

/// The nearest pairs of a store that are beyond k.
fn nearest<F: Fingerprint>(
    looking: &Looking<'_>,
    store: &Store<F>,
    k: u32,
    reach: u32,
) -> Result<Vec<Pair>, Error> {
    let mut held: BinaryHeap<(u32, F, F)> = BinaryHeap::new();
    let joined = store.self_join(reach).execution(looking.execution()).run(|event| {
        let JoinEvent::Pairs(found) = event else { return };
        for pair in found.iter().filter(|pair| pair.distance > k) {
            let (a, b) = (pair.a.min(pair.b), pair.a.max(pair.b));
            // The farthest one goes.
            if held.len() < HELD || held.peek().is_some_and(|last| (pair.distance, a, b) < *last) {
                held.push((pair.distance, a, b));
            }
            if held.len() > HELD {
                held.pop();
            }
        }
    });
    joined?;
    let first = |fingerprint| -> Result<Option<u32>, Error> {
        let mut least = None;
        for id in store.ids::<u64>(fingerprint)? {
            let id = u32::try_from(id?).unwrap_or(u32::MAX);
            least = Some(least.map_or(id, |least: u32| least.min(id)));
        }
        Ok(least)
    };
    let mut pairs = Vec::new();
    for (distance, a, b) in held {
        if let (Some(a), Some(b)) = (first(a)?, first(b)?) {
            pairs.push(Pair { distance, one: a.min(b), other: a.max(b) });
        }
    }
    Ok(pairs)
}

/// The same for methods with several values, by a rule that asks for less.
fn of_keys(
    looking: &Looking<'_>,
    notes: &Notes,
    kept: &[u32],
    rule: Rule,
) -> Result<Beyond, Error> {
    /// Neighbours that are held of each document.
    const OF_EACH: usize = 4;
    let (wider, reach) = match rule {
        Rule::Equal { least, of } if least > 1 => {
            let fewer = least - (of / 16).clamp(1, least - 1);
            (Rule::Equal { least: fewer, of }, format!("{fewer} of {of} values equal"))
        }
        Rule::Common { least } if least > 1 => {
            (Rule::Common { least: least - 1 }, format!("{} values in common", least - 1))
        }
        Rule::Jaccard { threshold } => {
            let threshold = (threshold - 0.1).max(0.05);
            (Rule::Jaccard { threshold }, format!("a similarity of {threshold:.2}"))
        }
        _ => return Ok(Beyond { pairs: Vec::new(), reach: None }),
    };
    let directory = tempfile::Builder::new().prefix("fpstore-report-").tempdir();
    let directory = directory.map_err(failure(&std::env::temp_dir(), "create a directory in"))?;
    let path = directory.path().join("kept.fps");
    let (documents, execution) = (kept.iter().copied(), looking.execution());
    let index = KeyIndex::new(notes, documents, wider, &path, execution, looking.memory / 4)?;
    let found: Vec<Vec<Pair>> = looking.pool.install(|| {
        let found = kept.par_iter().map(|&document| {
            looking.monitor.check()?;
            let mut near = Vec::new();
            index.near(document, &mut near)?;
            near.retain(|near| near.document > document);
            near.sort_unstable_by_key(|near| (near.difference, near.document));
            let mut pairs = Vec::new();
            for near in near {
                if pairs.len() < OF_EACH && !agree(notes, rule, document, near.document)? {
                    let distance = near.difference.into();
                    pairs.push(Pair { distance, one: document, other: near.document });
                }
            }
            Ok(pairs)
        });
        found.collect::<Result<_, Error>>()
    })?;
    Ok(Beyond { pairs: apart(found.into_iter().flatten().collect()), reach: Some(reach) })
}

/// The nearest pairs, no document twice.
fn apart(mut pairs: Vec<Pair>) -> Vec<Pair> {
    pairs.sort_unstable();
    let mut seen = HashSet::new();
    pairs.retain(|pair| {
        let is_new = !seen.contains(&pair.one) && !seen.contains(&pair.other);
        if is_new {
            seen.extend([pair.one, pair.other]);
        }
        is_new
    });
    pairs.truncate(SHOWN);
    pairs
}

/// How it is looked: with which threads, in how much memory.
impl Looking<'_> {
    fn execution(&self) -> Execution {
        Execution::new()
            .threads(self.pool.current_num_threads())
            .memory((self.memory / 2).max(64 << 20))
            .cancel(self.monitor.cancelled())
    }
}
