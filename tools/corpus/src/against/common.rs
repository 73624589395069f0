//! What two stores of keys have in common.

use fpstore::{Id, Ids, Snapshot};

use crate::error::Error;
use crate::monitor::Monitor;
use crate::near::mixed;

/// What a look-up takes of the time in which a pass goes by a key.
const LOOK_UP: u64 = 64;
/// Questions after which it is looked whether to stop.
const LOOKED: u64 = 1 << 12;

/// Gives `take` each key of `questions` that `earlier` has, ascending, with its ids in both. A pass
/// over both, or look-ups where the questions are few.
pub fn each_common(
    questions: &Snapshot<u64>,
    earlier: &Snapshot<u64>,
    monitor: &Monitor,
    mut take: impl FnMut(u64, &mut Ids<u64>, &mut Ids<Id>) -> Result<(), Error>,
) -> Result<(), Error> {
    let is_few = questions.len().saturating_mul(LOOK_UP) < earlier.len();
    let mut all = (!is_few).then(|| earlier.iter_with_ids::<Id>());
    let mut next = None;
    for (number, question) in (1u64..).zip(questions.iter_with_ids::<u64>()) {
        let (key, mut askers) = question?;
        if let Some(all) = &mut all {
            while next.as_ref().is_none_or(|(found, _)| *found < key) {
                match all.next() {
                    Some(entry) => next = Some(entry?),
                    None => return Ok(()),
                }
            }
            if let Some((_, ids)) = next.take_if(|(found, _)| *found == key).as_mut() {
                take(key, &mut askers, ids)?;
            }
        } else {
            let mut ids = earlier.ids::<Id>(key)?;
            if !ids.is_empty() {
                take(key, &mut askers, &mut ids)?;
            }
        }
        if number.is_multiple_of(LOOKED) {
            monitor.check()?;
        }
    }
    Ok(())
}

/// Numbers that were seen: all of them, and some others.
pub struct Seen {
    words: Vec<u64>,
}

impl Seen {
    /// Takes this much memory at the most, and less where fewer numbers are expected.
    pub fn new(memory: u64, most: u64) -> Self {
        let bits = most.saturating_mul(16).min(memory.saturating_mul(8)).max(64);
        // A power of two, so that a mask gives the place.
        let words = 1 << (bits / 64).ilog2();
        Self { words: vec![0; words] }
    }

    pub fn add(&mut self, number: u64) {
        let (word, bit) = self.place(number);
        self.words[word] |= bit;
    }

    pub fn may_have(&self, number: u64) -> bool {
        let (word, bit) = self.place(number);
        self.words[word] & bit != 0
    }

    fn place(&self, number: u64) -> (usize, u64) {
        let mixed = mixed(number);
        ((mixed >> 6) as usize & (self.words.len() - 1), 1 << (mixed % 64))
    }
}
