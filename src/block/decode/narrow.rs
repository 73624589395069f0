//! Several codes of few raw bits by one look-up.

use super::runs::RUN_KEYS;
use super::stream::{ENTRIES, LOAD_BITS, Symbols};
use crate::format::MAX_CODE_BITS;

/// Raw bits of a narrow key at most: with the bit in front of them they take 16 bits.
pub(super) const NARROW_BITS: usize = 15;

/// Finds all symbols, up to [`RUN_KEYS`], whose codes lie in 11 bits, by one look-up, where all
/// symbols have at most [`NARROW_BITS`] raw bits.
#[derive(Clone, Debug)]
pub(super) struct NarrowRuns(Box<Tables>);

#[derive(Clone, Debug)]
struct Tables {
    /// Bits of all codes: what the next look-up waits for, and so small that it stays in the
    /// first-level cache.
    code_bits: [u8; ENTRIES],
    runs: [NarrowRun; ENTRIES],
}

/// [`NarrowRuns`] in a loop.
#[derive(Clone, Copy)]
pub(super) struct NarrowRunTable<'a>(&'a Tables);

impl NarrowRunTable<'_> {
    /// The run whose first code starts at the least significant bit of `window`, and what is left
    /// of the window behind its codes, which are inside it.
    #[inline(always)]
    pub(super) fn find(self, window: u64) -> (NarrowRun, u64) {
        let at = window as usize % ENTRIES;
        (self.0.runs[at], window.wrapping_shr(self.0.code_bits[at].into()))
    }
}

/// The symbols of some adjacent keys, whose raw bits one load brings, in one word: from the least
/// significant bit on
///
/// * 8 bits: keys;
/// * 8 bits: raw bits of all keys;
/// * 6 bits for each key: raw bits of it and the keys behind it;
/// * 6 bits for each key: 4 bits for its raw bits, 1 if it is not of the class *equal*, and 1.
///
/// Where there is no key, its bits are 0.
#[derive(Clone, Copy, Debug, Default)]
#[repr(transparent)]
pub(super) struct NarrowRun(pub(super) u64);

impl NarrowRuns {
    /// The runs of complete `symbols`, if they have 2 keys or more on average and no symbol has
    /// more than [`NARROW_BITS`] raw bits.
    pub(super) fn new(symbols: &Symbols) -> Option<Self> {
        if !symbols.is_complete() {
            return None;
        }
        let tables = Tables { code_bits: [0; ENTRIES], runs: [NarrowRun::default(); ENTRIES] };
        let mut tables = Box::new(tables);
        for window in 0..ENTRIES {
            let (code_bits, run) = NarrowRun::new(symbols, window)?;
            (tables.code_bits[window], tables.runs[window]) = (code_bits, run);
        }
        let keys: usize = tables.runs.iter().map(|run| run.keys()).sum();
        (keys >= 2 * ENTRIES).then_some(Self(tables))
    }

    pub(super) fn table(&self) -> NarrowRunTable<'_> {
        NarrowRunTable(&self.0)
    }
}

impl NarrowRun {
    /// Where the raw bits of each key and those behind it stand, in 6 bits each.
    pub(super) const BEHIND: [u8; RUN_KEYS] = [16, 22, 28, 34];
    /// Where what is known of each key stands, in 6 bits each.
    pub(super) const KEY: [u8; RUN_KEYS] = [40, 46, 52, 58];
    /// In what is known of a key: whether it is not of the class *equal*.
    pub(super) const DIFFERS: u8 = 1 << 4;
    /// In what is known of a key: whether there is one.
    pub(super) const IS_KEY: u8 = 1 << 5;

    /// The bits of all codes, and the run; `None` if the first key is not narrow.
    fn new(symbols: &Symbols, window: usize) -> Option<(u8, Self)> {
        let (mut code_bits, mut raw_bits, mut keys) = (0, 0, 0);
        let mut word = 0;
        let mut before = [0; RUN_KEYS];
        while keys < RUN_KEYS {
            let symbol = symbols.find((window >> code_bits) as u64);
            let codes_end = code_bits + symbol.code_bits();
            let raw_end = raw_bits + symbol.raw_bits();
            if codes_end > MAX_CODE_BITS as usize
                || raw_end > LOAD_BITS
                || symbol.raw_bits() > NARROW_BITS
            {
                break;
            }
            let key = symbol.raw_bits() as u64 | symbol.differs() << 4 | u64::from(Self::IS_KEY);
            word |= key << Self::KEY[keys];
            before[keys] = raw_bits;
            (code_bits, raw_bits, keys) = (codes_end, raw_end, keys + 1);
        }
        if keys == 0 {
            return None;
        }
        for (before, at) in before.into_iter().zip(Self::BEHIND).take(keys) {
            word |= ((raw_bits - before) as u64) << at;
        }
        Some((code_bits as u8, Self(word | keys as u64 | (raw_bits as u64) << 8)))
    }

    /// Number of keys.
    #[inline(always)]
    pub(super) fn keys(self) -> usize {
        self.0 as usize & 0xFF
    }

    /// Raw bits of all keys.
    #[inline(always)]
    pub(super) fn raw_bits(self) -> usize {
        (self.0 >> 8) as usize & 0xFF
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::profile::Profile;
    use crate::format::Codec;

    /// Symbols of a uniform set of 2^`bits` keys with codec `gap` and the widest column.
    fn uniform(bits: u32) -> Symbols {
        let coding = Profile::uniform(64, 1 << bits).coding(Codec::Gap, 32);
        Symbols::new(&coding.code_lengths, 32)
    }

    #[test]
    fn a_narrow_run_is_the_symbols_that_its_bits_start_with() {
        for bits in [22, 24, 28, 31] {
            let symbols = uniform(bits);
            let runs = NarrowRuns::new(&symbols).unwrap();
            for window in 0..ENTRIES as u64 {
                let (run, behind) = runs.table().find(window);
                let (mut rest, mut raw_bits) = (window, 0);
                for key in 0..RUN_KEYS {
                    let known = run.0 >> NarrowRun::KEY[key] & 63;
                    if key >= run.keys() {
                        assert_eq!(known, 0);
                        continue;
                    }
                    let symbol = symbols.find(rest);
                    let flags = 16 * symbol.differs() + 32;
                    assert_eq!(known, symbol.raw_bits() as u64 + flags);
                    let from_here = run.0 >> NarrowRun::BEHIND[key] & 63;
                    assert_eq!(from_here as usize, run.raw_bits() - raw_bits);
                    rest = symbol.skip_code(rest);
                    raw_bits += symbol.raw_bits();
                }
                assert_eq!((run.raw_bits(), behind), (raw_bits, rest));
                assert!((1..=RUN_KEYS).contains(&run.keys()) && raw_bits <= LOAD_BITS);
            }
        }
    }

    #[test]
    fn sets_of_wide_gaps_have_no_narrow_runs() {
        assert!(NarrowRuns::new(&uniform(12)).is_none());
    }
}
