//! Ways to flip some of several bits.

/// Calls `look` with all ways to flip up to `flips` of the lowest `bits` bits, fewer than a word
/// has, each once, the ways to flip few before those to flip more; stops, and gives `false`, where
/// it says no.
#[inline]
pub(crate) fn up_to(bits: u32, flips: u32, mut look: impl FnMut(usize) -> bool) -> bool {
    look(0) && (1..=flips.min(bits)).all(|flips| exactly(bits, flips, &mut look))
}

/// All ways to flip so many, at least one, as numbers in ascending order.
#[inline(always)]
fn exactly(bits: u32, flips: u32, look: &mut impl FnMut(usize) -> bool) -> bool {
    let mut flipped = (1usize << flips) - 1;
    let last = flipped << (bits - flips);
    loop {
        if !look(flipped) {
            return false;
        }
        if flipped == last {
            return true;
        }
        // The lowest run of ones gives its highest to the place above, and the others go down as
        // far as they can.
        let lowest = flipped & flipped.wrapping_neg();
        let carried = flipped + lowest;
        flipped = carried | ((flipped ^ carried) >> 2) >> lowest.trailing_zeros();
    }
}

/// All ways to flip up to `flips` of so many bits, as [`up_to`] gives them.
pub(crate) fn list(bits: u32, flips: u32) -> Vec<u32> {
    let mut list = Vec::new();
    up_to(bits, flips, |flipped| {
        list.push(flipped as u32);
        true
    });
    list
}

/// Number of ways to flip so many of some bits.
pub(crate) fn ways_of(bits: u32, flips: u32) -> f64 {
    (0..flips.min(bits + 1))
        .fold(1.0, |ways, flipped| ways * f64::from(bits - flipped) / f64::from(flipped + 1))
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
            let less = flips.checked_sub(1).map_or(0.0, |less| ways(bits, less));
            assert!((ways_of(bits, flips) - (come - less)).abs() < 1e-6, "{bits} {flips}");
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
            assert!(found.iter().map(|&flipped| flipped as u32).eq(list(bits, flips)));
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
