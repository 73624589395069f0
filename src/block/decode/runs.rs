//! Several codes by one look-up.

use super::stream::{ENTRIES, LOAD_BITS, Symbols};
use crate::format::MAX_CODE_BITS;

/// Keys of a [`SymbolRun`] at most.
pub(super) const RUN_KEYS: usize = 4;

/// Finds all symbols, up to [`RUN_KEYS`], whose codes lie in 11 bits, by one look-up.
#[derive(Clone, Debug)]
pub(super) struct SymbolRuns(Box<Tables>);

#[derive(Clone, Debug)]
struct Tables {
    /// Bits of all codes: what the next look-up waits for, and so small that it stays in the
    /// first-level cache.
    code_bits: [u8; ENTRIES],
    runs: [SymbolRun; ENTRIES],
}

/// [`SymbolRuns`] in a loop.
#[derive(Clone, Copy)]
pub(super) struct RunTable<'a>(&'a Tables);

impl RunTable<'_> {
    /// The run whose first code starts at the least significant bit of `window`, and what is left
    /// of the window behind its codes, which are inside it.
    #[inline(always)]
    pub(super) fn find(self, window: u64) -> (SymbolRun, u64) {
        let at = window as usize % ENTRIES;
        (self.0.runs[at], window.wrapping_shr(self.0.code_bits[at].into()))
    }
}

/// The symbols of some adjacent keys, whose raw bits one load brings, in one word: from the least
/// significant bit on
///
/// * 8 bits: bits of all codes;
/// * 8 bits: raw bits of all keys; [`SymbolRun::NONE`] where one load does not bring those of the
///   first;
/// * 6 bits for each key but the first: raw bits of the keys before it;
/// * 7 bits for each key: 63 less its raw bits; 64 for the class *equal*, and where there is no
///   key;
/// * 2 bits: keys, less 1.
///
/// 8 bytes leave room for other things in the first-level cache, of which all runs take a half.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SymbolRun(pub(super) u64);

impl SymbolRuns {
    /// The runs of complete `symbols`, if they have 2 keys or more on average: else it is not worth
    /// the while to look for runs.
    pub(super) fn new(symbols: &Symbols) -> Option<Self> {
        if !symbols.is_complete() {
            return None;
        }
        let tables = Tables::new(symbols);
        let keys: usize = tables.runs.iter().map(|run| run.keys()).sum();
        (keys >= 2 * ENTRIES).then_some(Self(tables))
    }

    pub(super) fn table(&self) -> RunTable<'_> {
        RunTable(&self.0)
    }
}

impl Tables {
    fn new(symbols: &Symbols) -> Box<Self> {
        let mut tables =
            Box::new(Self { code_bits: [0; ENTRIES], runs: [SymbolRun::default(); ENTRIES] });
        for window in 0..ENTRIES {
            let run = SymbolRun::new(symbols, window);
            (tables.code_bits[window], tables.runs[window]) = (run.code_bits(), run);
        }
        tables
    }
}

impl SymbolRun {
    /// Raw bits of a run that has none.
    const NONE: u64 = 0xFF;
    /// Where the raw bits before each key stand, in 6 bits each; there are none before the first.
    pub(super) const BEFORE: [i64; RUN_KEYS] = [64, 16, 22, 28];
    /// Where the shift of each key stands, in 7 bits each.
    pub(super) const SHIFT: [i64; RUN_KEYS] = [34, 41, 48, 55];

    fn new(symbols: &Symbols, window: usize) -> Self {
        let mut shifts = [64; RUN_KEYS];
        let (mut code_bits, mut raw_bits, mut keys) = (0, 0, 0);
        let mut word = 0;
        while keys < RUN_KEYS {
            let symbol = symbols.find((window >> code_bits) as u64);
            let codes_end = code_bits + symbol.code_bits();
            let raw_end = raw_bits + symbol.raw_bits();
            if codes_end > MAX_CODE_BITS as usize || raw_end > LOAD_BITS {
                break;
            }
            if keys > 0 {
                word |= (raw_bits as u64) << Self::BEFORE[keys];
            }
            if symbol.differs() > 0 {
                shifts[keys] = 63 - symbol.raw_bits() as u64;
            }
            (code_bits, raw_bits, keys) = (codes_end, raw_end, keys + 1);
        }
        for (shift, at) in shifts.into_iter().zip(Self::SHIFT) {
            word |= shift << at;
        }
        if keys == 0 {
            return Self(word | Self::NONE << 8);
        }
        Self(word | code_bits as u64 | (raw_bits as u64) << 8 | (keys as u64 - 1) << 62)
    }

    /// Whether one load does not bring the raw bits of the first key.
    #[inline(always)]
    pub(super) fn is_none(self) -> bool {
        self.raw_bits() == Self::NONE as usize
    }

    /// Number of keys; 1 if there is none.
    #[inline(always)]
    pub(super) fn keys(self) -> usize {
        (self.0 >> 62) as usize + 1
    }

    /// Bits of all codes.
    fn code_bits(self) -> u8 {
        self.0 as u8
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

    /// Code lengths of a complete code whose short codes are those of the classes from `first` on.
    fn code_lengths(first: usize) -> Vec<u8> {
        let mut lengths = vec![0; 65];
        let codes = [2, 2, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 11];
        for (class, length) in codes.into_iter().enumerate() {
            lengths[(first + class) % 65] = length;
        }
        lengths
    }

    /// As the notes of the specification say.
    #[test]
    fn a_look_up_finds_more_than_three_keys_of_a_large_uniform_set() {
        let profile = Profile::uniform(64, 1 << 24);
        let coding = profile.choose(Some(Codec::Gap), None).unwrap();
        let symbols = Symbols::new(&coding.code_lengths, 64 - coding.low_bits);
        let runs = SymbolRuns::new(&symbols).unwrap();
        let keys: usize = runs.0.runs.iter().map(|run| run.keys()).sum();
        let mean = keys as f64 / ENTRIES as f64;
        println!("{mean:.2} keys per look-up");
        assert!((mean - 3.6).abs() < 0.05, "{mean}");
    }

    #[test]
    fn a_run_is_the_symbols_that_its_bits_start_with() {
        for first in 0..65 {
            let symbols = Symbols::new(&code_lengths(first), 64);
            assert!(symbols.is_complete());
            let tables = Tables::new(&symbols);
            for window in 0..ENTRIES {
                let (run, behind) = RunTable(&tables).find(window as u64);
                let (mut rest, mut raw_bits) = (window as u64, 0);
                if run.is_none() {
                    assert!(symbols.find(rest).raw_bits() > LOAD_BITS);
                    continue;
                }
                for key in 0..RUN_KEYS {
                    let field = |at: [i64; RUN_KEYS], bits: u32| {
                        run.0.checked_shr(at[key] as u32).unwrap_or(0) % (1 << bits)
                    };
                    let (before, shift) = (field(SymbolRun::BEFORE, 6), field(SymbolRun::SHIFT, 7));
                    if key >= run.keys() {
                        assert_eq!(shift, 64);
                        continue;
                    }
                    let symbol = symbols.find(rest);
                    let expected = (raw_bits as u64, 63 - symbol.raw_bits() as u64);
                    match symbol.differs() {
                        0 => assert_eq!(shift, 64),
                        _ => assert_eq!((before, shift), expected),
                    }
                    rest = symbol.skip_code(rest);
                    raw_bits += symbol.raw_bits();
                }
                assert_eq!((run.raw_bits(), behind), (raw_bits, rest));
                assert!(raw_bits <= LOAD_BITS);
            }
        }
    }

    #[test]
    fn runs_are_looked_for_where_raw_bits_are_few() {
        let found =
            |first: usize| SymbolRuns::new(&Symbols::new(&code_lengths(first), 64)).is_some();
        assert!(found(50));
        assert!(!found(10));
        // The raw bits of the rarest class are more than one load brings.
        let mut lengths = code_lengths(50);
        lengths.swap(61, 0);
        let symbols = Symbols::new(&lengths, 64);
        assert!(symbols.are_long() && SymbolRuns::new(&symbols).is_some());
    }
}
