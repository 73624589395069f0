//! The place of a hot index in a segment: wanted, under construction, or complete.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock, TryLockError};

use super::build::{HotBuild, LEAST_STEP, MOST_STEP, Outcome};
use super::{HotIndex, Layout};
use crate::costs::Costs;
use crate::execution::Stop;
use crate::table::Table;

/// Blocks that the system is asked for at a time.
const AHEAD_BLOCKS: u64 = 1 << 10;

/// The hot index of a segment, once searches have built it. Any number of threads may use it.
pub(crate) struct HotSlot {
    layout: Option<Layout>,
    index: OnceLock<HotIndex>,
    /// Whether searches are to go on building it.
    is_wanted: AtomicBool,
    build: Mutex<Build>,
}

#[derive(Default)]
struct Build {
    begun: Option<Box<HotBuild>>,
    /// The time of searches without an index that no step has spent yet, as predicted, in
    /// nanoseconds.
    earned_ns: f64,
    patience: Patience,
}

/// After how many searches to look again whether blocks are in memory: to ask takes as long as half
/// a search, and a slow disk may take thousands of them.
#[derive(Default)]
struct Patience {
    /// Searches until then.
    left: u32,
    /// Searches of the last wait.
    last: u32,
}

impl HotSlot {
    /// Of a segment with so many distinct fingerprints of so many bits; searches do not build it
    /// yet.
    pub(crate) fn new(bits: u32, count: u64) -> Self {
        Self {
            layout: Layout::new(bits, count),
            index: OnceLock::new(),
            is_wanted: AtomicBool::new(false),
            build: Mutex::default(),
        }
    }

    /// Has searches build it.
    pub(crate) fn want(&self) {
        if self.layout.is_some() && self.index.get().is_none() {
            self.is_wanted.store(true, Relaxed);
        }
    }

    /// Whether it is there, or will be.
    pub(crate) fn is_taken(&self) -> bool {
        self.is_wanted.load(Relaxed) || self.index.get().is_some()
    }

    /// The index, once it is complete.
    #[inline(always)]
    pub(crate) fn index(&self) -> Option<&HotIndex> {
        self.index.get()
    }

    /// Bytes that it takes, or would take; `None` if there can be none.
    pub(crate) fn most_bytes(&self) -> Option<u64> {
        self.layout.map(|layout| layout.bytes() as u64)
    }

    /// Builds some more of it from the identity table, unless another thread does, or the system
    /// has to read blocks first: it is asked for these, and nobody waits.
    ///
    /// Spends as much time on it as the search that calls takes without an index, `search_ns`. So
    /// however few searches there are, they take at most twice their time, and the index is there
    /// once they have taken the time that it costs. A search that is to stop builds no more.
    #[inline]
    pub(crate) fn build_some(
        &self,
        identity: &Table,
        search_ns: impl FnOnce() -> f64,
        stop: &Stop,
    ) {
        if self.is_wanted.load(Relaxed) {
            self.build_more(identity, search_ns(), stop);
        }
    }

    #[cold]
    fn build_more(&self, identity: &Table, search_ns: f64, stop: &Stop) {
        let mut build = match self.build.try_lock() {
            Ok(build) => build,
            // What a panic has left may lack something.
            Err(TryLockError::Poisoned(_)) => return self.is_wanted.store(false, Relaxed),
            Err(TryLockError::WouldBlock) => return,
        };
        let Build { begun, earned_ns, patience } = &mut *build;
        if !self.is_wanted.load(Relaxed) {
            return;
        }
        let of_begun = begun.as_ref().map_or(0.0, |begun| least_ns(begun));
        *earned_ns += search_ns;
        if *earned_ns < of_begun || !patience.ends() {
            // While blocks are waited for, nothing is saved up.
            *earned_ns = earned_ns.min(of_begun.max(search_ns));
            return;
        }
        loop {
            let next_block = begun.as_ref().map_or(Some(0), |begun| begun.next_block());
            if let Some(block) = next_block.filter(|block| identity.is_absent(*block)) {
                identity.will_need_blocks(block..identity.block_count().min(block + AHEAD_BLOCKS));
                return patience.grow();
            }
            *patience = Patience::default();
            match self.step(begun.take(), identity, earned_ns) {
                Some(Outcome::More(more)) => {
                    let goes_on = *earned_ns >= least_ns(&more) && stop.check().is_ok();
                    *begun = Some(more);
                    if !goes_on {
                        return;
                    }
                }
                Some(Outcome::Complete(index)) => {
                    let _ = self.index.set(index);
                    return self.is_wanted.store(false, Relaxed);
                }
                None => return self.is_wanted.store(false, Relaxed),
            }
        }
    }

    /// Takes a step of at most `earned_ns`, but for the least one, and takes off what it cost.
    /// `None` if there can be no index: of damage those searches tell that it concerns.
    fn step(
        &self,
        begun: Option<Box<HotBuild>>,
        identity: &Table,
        earned_ns: &mut f64,
    ) -> Option<Outcome> {
        let build = match begun {
            Some(begun) => begun,
            None => HotBuild::start(self.layout?).ok()?,
        };
        let (key_ns, done) = (key_ns(&build), build.keys_done());
        let keys = ((*earned_ns / key_ns) as usize).clamp(LEAST_STEP, MOST_STEP);
        let outcome = build.step(identity, keys).ok()??;
        if let Outcome::More(more) = &outcome {
            let keys = (more.keys_done() - done).max(LEAST_STEP as u64);
            *earned_ns = (*earned_ns - keys as f64 * key_ns).max(0.0);
        }
        Some(outcome)
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> u64 {
        match self.index() {
            Some(index) => index.bytes(),
            None => self
                .build
                .lock()
                .map_or(0, |build| build.begun.as_ref().map_or(0, |begun| begun.bytes())),
        }
    }
}

fn key_ns(begun: &HotBuild) -> f64 {
    begun.key_ns(&Costs::shipped().search)
}

/// The time of the least step.
fn least_ns(begun: &HotBuild) -> f64 {
    key_ns(begun) * LEAST_STEP as f64
}

impl Patience {
    const LEAST: u32 = 16;
    const MOST: u32 = 1 << 16;

    /// Whether no search is left to wait for; counts this one.
    fn ends(&mut self) -> bool {
        let ended = self.left == 0;
        self.left = self.left.saturating_sub(1);
        ended
    }

    /// Waits twice as long as the last time.
    fn grow(&mut self) {
        self.last = (2 * self.last).clamp(Self::LEAST, Self::MOST);
        self.left = self.last;
    }
}

#[cfg(test)]
mod tests {
    use super::Patience;

    #[test]
    fn where_blocks_stay_away_it_is_looked_for_them_less_and_less() {
        let mut patience = Patience::default();
        let mut waits = Vec::new();
        for _ in 0..16 {
            assert!(patience.ends());
            patience.grow();
            let mut wait = 0;
            while !patience.ends() {
                wait += 1;
            }
            waits.push(wait);
            // That look counted, too.
            patience.left = 0;
        }
        let expected: Vec<u32> = (0..16).map(|i| (16 << i).min(1 << 16)).collect();
        assert_eq!(waits, expected);
    }
}
