//! Pairs that tell whether a threshold is right: the farthest ones that are taken for near
//! duplicates, and the nearest ones that are not.

use std::cmp::Reverse;
use std::collections::HashSet;

use fpstore::{Execution, Fingerprint};
use fpstore_text::Rule;
use rayon::prelude::*;

use crate::error::{Error, failure};
use crate::fates::{Fates, Kept, Why};
use crate::ledger::{Notes, SIGNED};
use crate::near::{Index, KeyIndex, agree};
use crate::width::for_width;

use super::Looking;

/// Pairs of each side of the threshold.
pub const SHOWN: usize = 10;
/// Neighbours that are held of each document; of all those are shown that have no document in
/// common.
const OF_EACH: usize = 4;
/// Pairs of fingerprints that are compared, which takes some seconds at the most. Between more
/// documents than its root it is looked from some of them alone.
const COMPARISONS: usize = 1 << 28;

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
    /// From how many documents it was looked, and of how many, where not from all.
    pub sampled: Option<(u64, u64)>,
}

/// Looks for the nearest pairs of documents that are kept, beyond the threshold.
///
/// Complexity: for fingerprints a comparison of each pair, [`COMPARISONS`] at the most; for other
/// methods a lookup of the keys of each document.
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
    let (mut in_order, mut bytes) = (notes.in_order()?, Vec::new());
    let mut all: Vec<(F, u32)> = Vec::with_capacity(kept.len());
    for &document in kept {
        in_order.signature(document, &mut bytes)?;
        all.push((F::from_be_slice(&bytes).unwrap_or_default(), document));
    }
    let from = sample(&all);
    let found: Vec<Vec<Pair>> = looking.pool.install(|| {
        let found = from.par_iter().map(|&&(fingerprint, document)| {
            looking.monitor.check()?;
            let mut nearest: Vec<Pair> = Vec::with_capacity(OF_EACH + 1);
            // At first none is too far.
            let mut most = u32::MAX;
            for &(other, of) in &all {
                let distance = fingerprint.distance(other);
                if distance <= k || distance >= most || of == document {
                    continue;
                }
                nearest.push(Pair { distance, one: document.min(of), other: document.max(of) });
                nearest.sort_by_key(|pair| pair.distance);
                nearest.truncate(OF_EACH);
                if nearest.len() == OF_EACH {
                    most = nearest.last().map_or(u32::MAX, |pair| pair.distance);
                }
            }
            Ok(nearest)
        });
        found.collect::<Result<_, Error>>()
    })?;
    let sampled = (from.len() < all.len()).then_some((from.len() as u64, all.len() as u64));
    let pairs = apart(found.into_iter().flatten().collect());
    Ok(Beyond { pairs, reach: Some("any distance".to_string()), sampled })
}

/// Those from which it is looked: all, or so many, evenly spread, that the work is bounded.
fn sample<T>(all: &[T]) -> Vec<&T> {
    let count = (COMPARISONS / all.len().max(1)).clamp(1, all.len().max(1));
    let places = (0..count).map(|number| number * all.len() / count);
    places.filter_map(|place| all.get(place)).collect()
}

/// The same for methods with several values, by a rule that asks for less.
fn of_keys(
    looking: &Looking<'_>,
    notes: &Notes,
    kept: &[u32],
    rule: Rule,
) -> Result<Beyond, Error> {
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
        _ => return Ok(Beyond { pairs: Vec::new(), reach: None, sampled: None }),
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
    let pairs = apart(found.into_iter().flatten().collect());
    Ok(Beyond { pairs, reach: Some(reach), sampled: None })
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
