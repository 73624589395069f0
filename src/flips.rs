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

/// Number of ways to flip up to `flips` of so many bits, none among them.
pub(crate) fn ways(bits: u32, flips: u32) -> f64 {
    let (mut ways, mut sum) = (1.0, 1.0);
    for flipped in 0..flips.min(bits) {
        ways *= f64::from(bits - flipped) / f64::from(flipped + 1);
        sum += ways;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_are_counted_as_they_come() {
        for (bits, flips) in [(0, 0), (0, 4), (5, 2), (17, 2), (23, 3), (6, 6), (6, 9)] {
            let mut come = 0.0;
            assert!(up_to(bits, flips, |_| {
                come += 1.0;
                true
            }));
            assert!((ways(bits, flips) - come).abs() < 1e-6, "{bits} {flips}");
        }
    }

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
