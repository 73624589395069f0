//! Ways to flip some of several bits.

/// Calls `look` with all ways to flip up to `flips` of the lowest `bits` bits, each once, none first; stops, and
/// gives `false`, where it says no.
#[inline]
pub(crate) fn up_to(bits: u32, flips: u32, mut look: impl FnMut(usize) -> bool) -> bool {
    from(bits, flips, 0, 0, &mut look)
}

fn from(
    bits: u32,
    flips: u32,
    first: u32,
    flipped: usize,
    look: &mut impl FnMut(usize) -> bool,
) -> bool {
    look(flipped)
        && (flips == 0
            || (first..bits).all(|bit| from(bits, flips - 1, bit + 1, flipped | 1 << bit, look)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_comes_once() {
        for (bits, flips) in [(0, 0), (0, 3), (1, 1), (5, 0), (5, 2), (9, 4), (6, 9)] {
            let mut found = Vec::new();
            assert!(up_to(bits, flips, |flipped| {
                found.push(flipped);
                true
            }));
            assert_eq!(found[0], 0);
            found.sort_unstable();
            let expected = (0..1usize << bits).filter(|ways| ways.count_ones() <= flips);
            assert_eq!(found, expected.collect::<Vec<_>>());
        }
        let mut left = 3;
        assert!(!up_to(8, 2, |_| {
            left -= 1;
            left > 0
        }));
        assert_eq!(left, 0);
    }
}
