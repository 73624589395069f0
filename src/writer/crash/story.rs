//! What is done to a store, and what it may hold then.

use std::collections::BTreeSet;

use crate::format::{Change, Operation, RecordShape};
use crate::store::simulated::Random;

/// The length of a window.
pub(super) const WINDOW_SECONDS: u64 = 10;

/// Something that is done to a store.
#[derive(Clone, Debug)]
pub(super) enum Act {
    Write(Vec<Operation>),
    Log {
        durable: bool,
    },
    /// What a writer does at its end. It goes on all the same.
    Close,
    Flush,
    MergeStep,
    MergeAll,
    Expire {
        before: u64,
    },
}

/// What a store holds: fingerprints with an id and a window each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Model {
    records: BTreeSet<[u64; 3]>,
}

impl Model {
    pub(super) fn apply(&mut self, act: &Act) {
        match act {
            Act::Write(operations) => operations.iter().for_each(|at| self.operate(at)),
            Act::Expire { before } => {
                self.records.retain(|&[_, _, window]| window >= before / WINDOW_SECONDS);
            }
            Act::Log { .. } | Act::Close | Act::Flush | Act::MergeStep | Act::MergeAll => {}
        }
    }

    fn operate(&mut self, operation: &Operation) {
        let Operation { change, fingerprint, id, window } = *operation;
        match change {
            Change::Insert => drop(self.records.insert([fingerprint, id, window])),
            Change::Delete => self.records.retain(|at| at[..2] != [fingerprint, id]),
            Change::DeleteFingerprint => self.records.retain(|at| at[0] != fingerprint),
        }
    }

    /// Fingerprints and ids, ascending.
    pub(super) fn pairs(&self) -> Vec<[u64; 2]> {
        let mut pairs: Vec<_> = self.records.iter().map(|&[fp, id, _]| [fp, id]).collect();
        pairs.dedup();
        pairs
    }
}

/// The states of a store, and which of them it may be found in.
#[derive(Clone, Debug, Default)]
pub(super) struct Story {
    /// After each act that changes something; at first what was there before.
    models: Vec<Model>,
    /// The state that survives a crash of the machine at the least, that of the program, and the
    /// damage of a record.
    durable: usize,
    logged: usize,
    promised: usize,
}

impl Story {
    /// Begins with what a store holds.
    pub(super) fn new(model: Model) -> Self {
        Self { models: vec![model], ..Self::default() }
    }

    /// What was written.
    pub(super) fn now(&self) -> &Model {
        self.models.last().unwrap()
    }

    /// What would hold after an act.
    pub(super) fn after(&self, act: &Act) -> Model {
        let mut model = self.now().clone();
        model.apply(act);
        model
    }

    /// An act has succeeded.
    pub(super) fn done(&mut self, act: &Act) {
        let is_new = self.logged + 1 < self.models.len();
        match act {
            Act::Write(_) => self.models.push(self.after(act)),
            Act::Expire { .. } => {
                self.models.push(self.after(act));
                self.all_in_segments();
            }
            Act::Flush => self.all_in_segments(),
            Act::Log { .. } | Act::Close => {
                if is_new {
                    // What is written last says that what was durable by then was.
                    self.promised = self.promised.max(self.durable);
                }
                self.logged = self.models.len() - 1;
                let is_durable = !matches!(act, Act::Log { durable: false });
                self.durable = if is_durable { self.logged } else { self.durable };
            }
            Act::MergeStep | Act::MergeAll => {}
        }
    }

    fn all_in_segments(&mut self) {
        let now = self.models.len() - 1;
        (self.durable, self.logged, self.promised) = (now, now, now);
    }

    /// What a store may hold after a crash of the machine; while an act is under way.
    pub(super) fn after_crash(&self, act: Option<&Act>) -> Vec<Model> {
        let mut models = self.models[self.durable..].to_vec();
        models
            .extend(act.filter(|act| matches!(act, Act::Expire { .. })).map(|act| self.after(act)));
        models
    }

    /// What a store may hold after a crash of the program.
    pub(super) fn after_kill(&self, act: Option<&Act>) -> Vec<Model> {
        let mut models = self.after_crash(act);
        models.drain(..self.logged - self.durable);
        models
    }

    /// What a store may hold if a record of a log is damaged.
    pub(super) fn after_damage(&self) -> &[Model] {
        &self.models[self.promised..]
    }

    /// What a store has held at any time.
    pub(super) fn ever(&self) -> &[Model] {
        &self.models
    }
}

/// Makes acts.
pub(super) struct Author {
    pub(super) shape: RecordShape,
    pub(super) random: Random,
    /// Different fingerprints.
    pub(super) fingerprints: u64,
    /// Acts so far.
    written: u64,
    /// Whether the fingerprint says what the window is.
    fixed_windows: bool,
}

impl Author {
    pub(super) fn new(shape: RecordShape, seed: u64, fingerprints: u64, fixed: bool) -> Self {
        let random = Random::new(seed);
        Self { shape, random, fingerprints, written: 0, fixed_windows: fixed }
    }

    /// The next act.
    pub(super) fn act(&mut self) -> Act {
        self.written += 1;
        match self.random.below(100) {
            0..=8 => Act::Log { durable: false },
            9..=12 => Act::Log { durable: true },
            13 => Act::Close,
            14..=16 => Act::Flush,
            17..=19 => Act::MergeStep,
            20 => Act::MergeAll,
            21 if self.shape.windows => Act::Expire { before: self.expired() },
            _ => self.write(),
        }
    }

    fn expired(&mut self) -> u64 {
        let window =
            if self.fixed_windows { self.random.below(4) } else { (self.written / 50).max(2) - 2 };
        window * WINDOW_SECONDS + self.random.below(WINDOW_SECONDS)
    }

    /// The next operations that are written together.
    pub(super) fn write(&mut self) -> Act {
        let count = 1 + self.random.below(3);
        Act::Write((0..count).map(|_| self.operation()).collect())
    }

    fn operation(&mut self) -> Operation {
        let Self { random, shape, .. } = self;
        let number = random.below(self.fingerprints);
        // Some that are near each other, and some that are not.
        let fingerprint = Random::new(number / 4).next() ^ (1 << (number % 4));
        let change = match random.below(16) {
            0 | 1 if shape.ids => Change::Delete,
            0..=2 => Change::DeleteFingerprint,
            _ => Change::Insert,
        };
        let has_id = shape.ids && change != Change::DeleteFingerprint;
        let id = if has_id { random.below(3) } else { 0 };
        let window = match (shape.windows && change == Change::Insert, self.fixed_windows) {
            (false, _) => 0,
            (true, true) => number % 4,
            (true, false) => self.written / 50 + random.below(2),
        };
        Operation { change, fingerprint, id, window }
    }
}
