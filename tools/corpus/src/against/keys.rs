//! The keys by which documents with several values are compared with those of an earlier corpus.
//!
//! A store of keys is one of 64-bit fingerprints, whose ids are the names of the documents. Of each
//! document it holds
//!
//! * for each slot a key that is a mix of slot and value, so that documents have as many keys in
//!   common as slots are equal;
//! * for each value of a set a key, which is the value;
//! * of a set also a key above all others that is the number of its values, which the similarity
//!   depends on;
//! * nothing of that where no rule can say that the document agrees with another one: too few
//!   features, or too few values. Then its only key is that of its text, so that it is compared
//!   exactly.
//!
//! Values are hashes of 64 bits. That two that differ become the same key is as improbable as that
//! two features have the same hash.

use fpstore::{Id, IdKind};
use fpstore_text::Rule;

use crate::error::Error;
use crate::ledger::{InOrder, Notes, SIGNED, TOO_FEW};
use crate::near::{least_common, numbers};

/// How what a store says of its keys begins; the recipe follows.
pub const START: &str = "keys/1 ";
/// Keys from here on are sizes of sets.
pub const SIZES: u64 = !(u32::MAX as u64);
/// Bits of a slot's key that the slot is mixed into; there are no more than 4096 of them.
const SLOT_SHIFT: u32 = 52;
/// Bytes of a tag, with the blank before it.
const TAG_BYTES: usize = 9;

/// The keys of a document.
#[derive(Debug, PartialEq, Eq)]
pub struct Keys {
    pub keys: Vec<u64>,
    /// How many of them another document has at least, if the two agree.
    pub needed: usize,
    /// What it is compared by.
    pub by: By,
}

/// What documents are compared by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    Slots,
    Set,
    /// The text.
    Text,
}

impl Keys {
    /// Those of a document with these values, or none, and with this hash of its text.
    fn of(rule: Rule, values: &[u64], exact: u128) -> Self {
        let (needed, by) = match rule {
            Rule::Equal { least, .. } => (least as usize, By::Slots),
            Rule::Common { least } => (least as usize, By::Set),
            Rule::Jaccard { threshold } => (least_common(threshold, values.len()), By::Set),
            _ => (usize::MAX, By::Text),
        };
        // Without a value nothing agrees; `needed` may be 0 then.
        if values.is_empty() || values.len() < needed {
            return Self { keys: vec![below_sizes(exact as u64)], needed: 1, by: By::Text };
        }
        let slots = 0u64..;
        let key = |(slot, value): (u64, &u64)| match by {
            By::Slots => below_sizes(value ^ slot << SLOT_SHIFT),
            _ => below_sizes(*value),
        };
        Self { keys: slots.zip(values).map(key).collect(), needed: needed.max(1), by }
    }

    /// Those of a document, unless it is compared with nothing.
    pub fn in_order(
        rule: Rule,
        document: u32,
        notes: &Notes,
        in_order: &mut InOrder,
        bytes: &mut Vec<u8>,
    ) -> Result<Option<Self>, Error> {
        bytes.clear();
        match notes.kinds[document as usize] {
            SIGNED => in_order.signature(document, bytes)?,
            TOO_FEW => {}
            _ => return Ok(None),
        }
        Ok(Some(Self::of(rule, &numbers(bytes), in_order.exact(document)?)))
    }

    /// As [`Self::in_order`], of any document.
    pub fn look_up(rule: Rule, document: u32, notes: &Notes) -> Result<Self, Error> {
        let mut bytes = Vec::new();
        if notes.kinds[document as usize] == SIGNED {
            notes.signature(document, &mut bytes)?;
        }
        Ok(Self::of(rule, &numbers(&bytes), notes.exact(document)?))
    }

    /// What the store gets: the keys, and behind them the size of a set.
    fn stored(&self) -> impl Iterator<Item = u64> + '_ {
        let size = u32::try_from(self.keys.len()).unwrap_or(u32::MAX);
        let size = (self.by == By::Set).then_some(SIZES | u64::from(size));
        self.keys.iter().copied().chain(size)
    }
}

/// A value as a key that is no size.
fn below_sizes(value: u64) -> u64 {
    if value >= SIZES { value & !SIZES } else { value }
}

/// The name of a document in a store: its id, a blank, and a tag of its text. For an id may come
/// again with another text, as a page that has changed does, and these are two documents.
fn name(id: &str, exact: u128) -> String {
    const DIGITS: &[u8; 64] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz-";
    let digit = |place: u32| char::from(DIGITS[(exact >> (80 + 6 * place)) as usize % 64]);
    let mut name = format!("{id} ");
    name.extend((0..TAG_BYTES as u32 - 1).map(digit));
    name
}

/// The id in a name.
pub fn id_in(name: &str) -> &str {
    let end = name.len().saturating_sub(TAG_BYTES);
    name.get(..end).unwrap_or(name)
}

/// The keys of documents that are added.
pub struct Records<'a> {
    pub notes: &'a Notes,
    pub rule: Rule,
    /// Whether a document is added, if it has a text.
    pub added: &'a dyn Fn(u32) -> bool,
}

impl super::Records<u64> for Records<'_> {
    fn each(&self, _: IdKind, take: super::Take<'_, u64>) -> Result<(), Error> {
        let (notes, rule) = (self.notes, self.rule);
        let (mut in_order, mut bytes, mut records) = (notes.in_order()?, Vec::new(), Vec::new());
        for document in (0..notes.documents).filter(|&document| (self.added)(document)) {
            let keys = Keys::in_order(rule, document, notes, &mut in_order, &mut bytes)?;
            let Some(keys) = keys else { continue };
            let name = name(&notes.id(document)?, in_order.exact(document)?);
            records.clear();
            records.extend(keys.stored().map(|key| (key, Id::Text(name.clone()))));
            if !take(&records)? {
                break;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_those_that_stores_have() {
        let exact = 0x0123_4567_89AB_CDEF_FEDC_BA98_7654_3210;
        let equal = Rule::Equal { least: 2, of: 3 };
        // The first one would be a size.
        let values = [u64::MAX, 7, 7];
        let keys = vec![0xFFFF_FFFF, 0x0010_0000_0000_0007, 0x0020_0000_0000_0007];
        assert_eq!(Keys::of(equal, &values, exact), Keys { keys, needed: 2, by: By::Slots });
        let set = Keys::of(Rule::Common { least: 2 }, &[3, u64::MAX - 1], exact);
        assert_eq!(set.keys, [3, 0xFFFF_FFFE]);
        assert_eq!(set.stored().collect::<Vec<_>>(), [3, 0xFFFF_FFFE, 0xFFFF_FFFF_0000_0002]);
        for (rule, values) in [(equal, &[][..]), (Rule::Common { least: 2 }, &[3][..])] {
            let text = Keys { keys: vec![0xFEDC_BA98_7654_3210], needed: 1, by: By::Text };
            assert_eq!(Keys::of(rule, values, exact), text);
        }
        let jaccard = Keys::of(Rule::Jaccard { threshold: 0.5 }, &[1, 2, 3], exact);
        assert_eq!((jaccard.needed, jaccard.by), (2, By::Set));
        assert_eq!(name("a b", exact), "a b gbtP5DI0");
        assert_eq!(id_in("a b gbtP5DI0"), "a b");
    }
}
