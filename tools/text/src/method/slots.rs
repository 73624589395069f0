//! Minima of hash functions over the set of features: two sets agree in a slot with the probability
//! of their Jaccard similarity (Broder 1997).
//!
//! Slots hold words of features. An empty slot holds the greatest number, which counts as no word.
//!
//! * `independent`: slot i holds the least word i of all features. As many words of each feature as
//!   there are slots.
//! * `one-permutation`: word 0 of a feature goes to slot `floor(word * t / 2^64)` of t, and each
//!   slot holds the least. One that is still empty copies slot `floor(w * t / 2^64)` if that was
//!   filled, with w = word 1, 2, 3 ... of its own number, the first that hits (Shrivastava,
//!   *Optimal densification for fast and accurate minwise hashing*, ICML 2017). Texts with fewer
//!   features than slots have copies that depend on each other.
//! * `rounds`: the same, and while a slot is empty there is another round: in round r, word r of
//!   each feature goes to a slot in the same way, and counts if the slot was empty when the round
//!   began. From round t on, all words of round r go to slot r - t, so that none stays empty
//!   (Dahlgaard, Knudsen, Thorup, *Fast similarity sketching*, FOCS 2017). The slots of short texts
//!   are as good as independent, those of long texts take one word of each feature.

use super::Sketch;
use crate::hash::{Stream, combine, word};
use crate::recipe::Scheme;

const EMPTY: u64 = u64::MAX;

/// How many features are kept before those that are there twice are looked for.
const CROWD: usize = 1 << 16;

/// The minima of a document.
#[derive(Clone, Debug)]
pub(crate) struct Slots {
    scheme: Scheme,
    best: Vec<u64>,
    empty: usize,
    // All features, while a slot is empty, for further rounds.
    kept: Vec<u64>,
    crowd: usize,
    open: Vec<u32>,
    values: Vec<u64>,
}

impl Slots {
    pub(crate) fn new(scheme: Scheme, count: u32) -> Slots {
        let count = count as usize;
        let best = vec![EMPTY; count];
        Slots {
            scheme,
            best,
            empty: count,
            kept: Vec::new(),
            crowd: CROWD,
            open: Vec::new(),
            values: Vec::new(),
        }
    }

    /// The slots of the features; there must be one.
    pub(crate) fn finish(&mut self) -> &[u64] {
        match self.scheme {
            Scheme::Independent => {}
            Scheme::OnePermutation => self.copy_into_empty(),
            Scheme::Rounds => self.further_rounds(),
        }
        &self.best
    }

    /// The lowest `bits` bits of each slot.
    pub(crate) fn finish_lowest(&mut self, bits: u32) -> &[u64] {
        self.finish();
        let mask = u64::MAX >> (64 - bits);
        self.values.clear();
        self.values.extend(self.best.iter().map(|slot| slot & mask));
        &self.values
    }

    /// Bit i is the lowest bit of slot i; 64 to a limb.
    pub(crate) fn finish_bits(&mut self) -> Option<crate::fingerprint::Fingerprint> {
        let limb = |slots: &[u64]| slots.iter().rev().fold(0, |bits, slot| bits << 1 | slot & 1);
        let limbs: Vec<u64> = self.finish().chunks(64).map(limb).collect();
        crate::fingerprint::Fingerprint::from_limbs(&limbs)
    }

    /// One value for each `rows` slots: word i of what the slots of band i combine to.
    pub(crate) fn finish_bands(&mut self, rows: u32) -> &[u64] {
        self.finish();
        self.values.clear();
        let bands = self.best.chunks(rows as usize).enumerate();
        self.values
            .extend(bands.map(|(band, slots)| word(combine(slots.iter().copied()), band as u64)));
        &self.values
    }

    #[inline]
    fn deal(&mut self, feature: u64) {
        let word = word(feature, 0);
        let slot = slot_of(word, self.best.len());
        let best = &mut self.best[slot];
        if word < *best {
            self.empty -= usize::from(*best == EMPTY);
            *best = word;
        }
        if self.empty > 0 && self.scheme == Scheme::Rounds {
            self.kept.push(feature);
            if self.kept.len() >= self.crowd {
                self.thin();
            }
        }
    }

    /// Keeps each feature once.
    #[cold]
    fn thin(&mut self) {
        self.kept.sort_unstable();
        self.kept.dedup();
        self.crowd = CROWD.max(2 * self.kept.len());
    }

    fn further_rounds(&mut self) {
        let count = self.best.len() as u64;
        // Slots that are filled get a zero, below which no word can come: this needs no branch.
        self.values.clear();
        self.values.extend(self.best.iter().map(|best| if *best == EMPTY { EMPTY } else { 0 }));
        self.open.clear();
        self.open.extend((0..count as u32).filter(|slot| self.best[*slot as usize] == EMPTY));
        for round in 1..2 * count {
            if self.open.is_empty() {
                return;
            }
            if round < count {
                for feature in &self.kept {
                    let word = word(*feature, round);
                    let slot = slot_of(word, self.values.len());
                    self.values[slot] = self.values[slot].min(word);
                }
            } else {
                let least =
                    self.kept.iter().map(|feature| word(*feature, round)).min().unwrap_or(EMPTY);
                let slot = &mut self.values[(round - count) as usize];
                *slot = least.min(*slot);
            }
            self.open.retain(|slot| {
                let slot = *slot as usize;
                let filled = self.values[slot] != EMPTY;
                if filled {
                    self.best[slot] = std::mem::take(&mut self.values[slot]);
                }
                !filled
            });
        }
    }

    fn copy_into_empty(&mut self) {
        if self.empty == 0 || self.empty == self.best.len() {
            return;
        }
        self.values.clear();
        self.values.extend_from_slice(&self.best);
        for slot in 0..self.best.len() {
            let mut stream = Stream::new(slot as u64);
            stream.next();
            while self.best[slot] == EMPTY {
                let from = slot_of(stream.next(), self.best.len());
                self.best[slot] = self.values[from];
            }
        }
    }
}

/// Where a word goes of `count` slots.
#[inline]
fn slot_of(word: u64, count: usize) -> usize {
    ((u128::from(word) * count as u128) >> 64) as usize
}

impl Sketch for Slots {
    fn clear(&mut self) {
        self.best.fill(EMPTY);
        self.empty = self.best.len();
        self.kept.clear();
        self.kept.shrink_to(4 * CROWD);
        self.crowd = CROWD;
    }

    #[inline]
    fn add(&mut self, feature: u64) {
        if self.scheme == Scheme::Independent {
            let mut stream = Stream::new(feature);
            for best in &mut self.best {
                *best = stream.next().min(*best);
            }
        } else {
            self.deal(feature);
        }
    }
}
