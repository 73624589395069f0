//! Documents that agree by several values.
//!
//! * Of slots, `least` of `of` must be equal. Cut into `of - least + 1` groups, one of which must
//!   be equal as a whole: the others cannot hold all of the `of - least` slots that may differ. So
//!   each group is a key, and documents that share one are candidates.
//! * Sets must have some of their values in common: `least`, or for a Jaccard similarity of at
//!   least p a share p of the own ones. A document with s values, c of which another one must have,
//!   shares with it one of any s - c + 1: the rarest of them are looked up.
//!
//! Candidates are compared by the rule itself, so that the answer is exact.

use std::borrow::Cow;
use std::path::Path;

use fpstore::{Execution, Layout, Packer, Store};
use fpstore_text::{Rule, Signature};

use super::index::{Index, Near};
use crate::error::Error;
use crate::ledger::{Notes, Values};
use crate::width;

/// Keys that are packed together.
const PIECE: usize = 1 << 13;

/// A store of the keys of documents, with their numbers as ids.
pub struct KeyIndex<'a> {
    notes: &'a Notes,
    /// The values of all documents, where there is memory for them: to read those of each document
    /// and candidate from the file is most of what the kernel does.
    held: Option<Values>,
    rule: Rule,
    store: Store<u64>,
}

impl<'a> KeyIndex<'a> {
    /// Packs the keys of `documents` into a store at `path`, in place of one that is there. Then
    /// their values take so much memory at the most.
    pub fn new(
        notes: &'a Notes,
        documents: impl Iterator<Item = u32>,
        rule: Rule,
        path: &Path,
        execution: Execution,
        memory: u64,
    ) -> Result<Self, Error> {
        let packer = Packer::new().layout(Layout::new().k(0)).execution(execution).replace(true);
        let mut session = packer.start(path)?;
        let mut piece = Vec::with_capacity(2 * PIECE);
        session.extend_with_ids::<u64>(&[])?;
        let (mut in_order, mut bytes) = (notes.in_order()?, Vec::new());
        for document in documents {
            in_order.signature(document, &mut bytes)?;
            let values = numbers(&bytes);
            piece.extend(keys(rule, &values).iter().map(|key| (*key, u64::from(document))));
            if piece.len() >= PIECE {
                session.extend_with_ids(&piece)?;
                piece.clear();
            }
        }
        session.extend_with_ids(&piece)?;
        session.finish()?;
        let held = notes.values_within(memory)?;
        Ok(Self { notes, held, rule, store: width::open::<u64>(path)? })
    }

    fn values(&self, document: u32) -> Result<Cow<'_, [u64]>, Error> {
        if let Some(held) = &self.held {
            return Ok(Cow::Borrowed(held.of(document)));
        }
        let mut bytes = Vec::new();
        self.notes.signature(document, &mut bytes)?;
        Ok(Cow::Owned(numbers(&bytes)))
    }
}

/// The values in the bytes of a signature.
pub fn numbers(bytes: &[u8]) -> Vec<u64> {
    bytes.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect()
}

fn keys(rule: Rule, values: &[u64]) -> Cow<'_, [u64]> {
    let Rule::Equal { least, of } = rule else { return Cow::Borrowed(values) };
    let groups = (of - least.min(of)) as usize + 1;
    let bound = |group: usize| group * values.len() / groups;
    let key = |group: usize| {
        let slots = &values[bound(group)..bound(group + 1)];
        slots.iter().fold(mixed(group as u64), |key, slot| mixed(key ^ slot))
    };
    Cow::Owned((0..groups).map(key).collect())
}

/// SplitMix64's way to spread what differs over all bits.
pub fn mixed(number: u64) -> u64 {
    let mut x = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// How many values of a set of `own` another one has at least, if their Jaccard similarity is
/// `threshold` or more: the least whose share of the set is, divided as the rule divides, so that
/// rounding is the same.
pub fn least_common(threshold: f64, own: usize) -> usize {
    let from = ((threshold * own as f64) as usize).saturating_sub(1);
    (from..own).find(|&common| common as f64 / own as f64 >= threshold).unwrap_or(own)
}

fn signature(rule: Rule, values: &[u64]) -> Signature<'_> {
    match rule {
        Rule::Equal { .. } => Signature::Slots(values.into()),
        _ => Signature::Set(values.into()),
    }
}

/// By how much the signatures of two documents differ: in bits, or as the rule counts. None of
/// documents without one.
pub fn difference(notes: &Notes, rule: Rule, one: u32, other: u32) -> Result<u32, Error> {
    let (mut a, mut b) = (Vec::new(), Vec::new());
    notes.signature(one, &mut a)?;
    notes.signature(other, &mut b)?;
    if matches!(rule, Rule::Within { .. }) {
        return Ok(a.iter().zip(&b).map(|(a, b)| (a ^ b).count_ones()).sum());
    }
    let (a, b) = (numbers(&a), numbers(&b));
    Ok(signature(rule, &a).difference(&signature(rule, &b)).unwrap_or_default())
}

/// Whether two documents are near each other by a rule.
pub fn agree(notes: &Notes, rule: Rule, one: u32, other: u32) -> Result<bool, Error> {
    let values = |document: u32| -> Result<Vec<u64>, Error> {
        let mut bytes = Vec::new();
        notes.signature(document, &mut bytes)?;
        Ok(numbers(&bytes))
    };
    let (a, b) = (values(one)?, values(other)?);
    Ok(rule.agree(&signature(rule, &a), &signature(rule, &b)))
}

impl Index for KeyIndex<'_> {
    fn near(&self, document: u32, found: &mut Vec<Near>) -> Result<(), Error> {
        let own = self.values(document)?;
        let mut lists = Vec::new();
        for key in keys(self.rule, &own).iter() {
            lists.push(self.store.ids::<u64>(*key)?);
        }
        let needed = match self.rule {
            Rule::Common { least } => least as usize,
            Rule::Jaccard { threshold } => least_common(threshold, own.len()),
            _ => 1,
        };
        lists.sort_by_key(|list| list.len());
        lists.truncate((lists.len() + 1).saturating_sub(needed.max(1)));
        let mut candidates = Vec::new();
        for id in lists.into_iter().flatten() {
            candidates.push(u32::try_from(id?).unwrap_or(u32::MAX));
        }
        candidates.sort_unstable();
        candidates.dedup();
        let one = signature(self.rule, &own);
        for candidate in candidates.into_iter().filter(|candidate| *candidate != document) {
            let values = self.values(candidate)?;
            let other = signature(self.rule, &values);
            if self.rule.agree(&one, &other) {
                let difference = one.difference(&other).unwrap_or_default() as u16;
                found.push(Near { document: candidate, difference, jaccard: f32::NAN });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_much_is_in_common_as_the_rule_asks_for() {
        for percent in 1..=100 {
            let threshold = f64::from(percent) / 100.0;
            let rule = Rule::Jaccard { threshold };
            for own in 1..=200u64 {
                // The other set has nothing else.
                let set: Vec<u64> = (0..own).collect();
                let agrees = |common: &u64| {
                    rule.agree(&signature(rule, &set), &signature(rule, &set[..*common as usize]))
                };
                let least = (1..=own).find(agrees).unwrap();
                assert_eq!(least_common(threshold, own as usize) as u64, least, "{percent}, {own}");
            }
        }
    }

    #[test]
    fn what_agrees_in_enough_slots_shares_a_group() {
        let mut random = 7u64;
        let mut next = |below: u64| {
            random = mixed(random);
            random % below
        };
        for (least, of) in [(1, 6), (2, 6), (5, 6), (6, 6), (103, 128)] {
            let rule = Rule::Equal { least, of };
            for _ in 0..200 {
                let one: Vec<u64> = (0..of).map(|_| next(1 << 40)).collect();
                let mut other = one.clone();
                for _ in 0..next(u64::from(of - least) + 1) {
                    other[next(u64::from(of)) as usize] ^= 1;
                }
                let (a, b) = (keys(rule, &one), keys(rule, &other));
                assert!(a.iter().any(|key| b.contains(key)), "{rule:?}");
            }
        }
    }
}
