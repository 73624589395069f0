//! Finds runs: looks up codes, and notes where their raw bits are.

use super::super::narrow::{NarrowRun, NarrowRunTable};
use super::super::runs::RUN_KEYS;
use super::super::stream::{LOADED_CODES, SymbolTable, load, used, window};

/// Loads of codes of a lane before gaps are cut out, at most. More would need more of the
/// first-level cache.
pub(super) const REFILLS: usize = 8;

/// SymbolRuns of a lane, in groups that one load of codes serves.
pub(super) struct Found {
    pub(super) runs: [[NarrowRun; LOADED_CODES]; REFILLS],
    /// The bits where the raw bits of each run start.
    pub(super) raws: [[u64; LOADED_CODES]; REFILLS],
}

impl Found {
    pub(super) const NONE: Self =
        Self { runs: [[NarrowRun(0); LOADED_CODES]; REFILLS], raws: [[0; LOADED_CODES]; REFILLS] };
}

/// Finds runs.
#[derive(Clone, Copy)]
pub(super) struct Finder<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) runs: NarrowRunTable<'a>,
    pub(super) symbols: SymbolTable<'a>,
}

/// A place in a stream.
#[derive(Clone, Copy)]
pub(super) struct State {
    pub(super) window: u64,
    pub(super) codes: usize,
    /// Where the next raw bits end, in bits.
    pub(super) raws: usize,
}

impl Finder<'_> {
    #[inline(always)]
    pub(super) fn refill(&self, state: &mut State) {
        state.window = window(self.bytes, state.codes);
    }

    #[inline(always)]
    pub(super) fn drain(&self, state: &mut State) {
        state.codes += used(state.window);
    }

    #[inline(always)]
    pub(super) fn look_up(&self, state: &mut State) -> NarrowRun {
        let (run, behind) = self.runs.find(state.window);
        state.window = behind;
        state.raws = state.raws.wrapping_sub(run.raw_bits());
        run
    }

    /// Finds one gap.
    #[inline(always)]
    pub(super) fn one(&self, state: &mut State) -> u16 {
        let symbol = self.symbols.find(state.window);
        state.window = symbol.skip_code(state.window);
        state.raws = state.raws.wrapping_sub(symbol.raw_bits());
        let raw = load(self.bytes, state.raws) & ((1 << symbol.raw_bits()) - 1);
        symbol.after_gap(0, raw) as u16
    }

    /// Finds runs of no more than `left` keys, some of them or up to the last 3 keys; takes these
    /// from `left`, and gives the number of runs.
    #[inline(always)]
    pub(super) fn find(&self, state: &mut State, found: &mut Found, left: &mut usize) -> usize {
        const ROOM: usize = REFILLS * LOADED_CODES;
        let mut runs = 0;
        while *left >= RUN_KEYS && runs < ROOM {
            self.refill(state);
            // Near the end a load serves fewer, so the room need not be a multiple of them.
            for _ in 0..LOADED_CODES.min(*left / RUN_KEYS).min(ROOM - runs) {
                let run = self.look_up(state);
                found.runs.as_flattened_mut()[runs] = run;
                found.raws.as_flattened_mut()[runs] = state.raws as u64;
                *left -= run.keys();
                runs += 1;
            }
            self.drain(state);
        }
        runs
    }
}
