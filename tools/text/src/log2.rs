//! Logarithms in whole numbers, so that weights are the same on every machine.

/// floor(256 log2 n), as this computes it: `n`, with its highest bit at bit 63, is squared eight
/// times, each time without the lower half of the product; every square that reaches 2^127 adds a
/// one to the fraction. 0 for 0.
pub(crate) fn log2_256(n: u64) -> u64 {
    let Some(whole) = n.checked_ilog2() else { return 0 };
    let mut mantissa = n << (63 - whole);
    let mut log = u64::from(whole);
    for _ in 0..8 {
        let square = u128::from(mantissa) * u128::from(mantissa);
        let reaches = square >> 127;
        mantissa = if reaches == 1 { (square >> 64) as u64 } else { (square >> 63) as u64 };
        log = log << 1 | reaches as u64;
    }
    log
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_are_those_of_floating_point() {
        for n in (1..10_000u64).chain([1 << 40, (1 << 40) + 1]) {
            // Whole powers of two are exact in both; no other logarithm is near a 256th.
            assert_eq!(log2_256(n), ((n as f64).log2() * 256.0).floor() as u64, "{n}");
        }
        assert_eq!(log2_256(0), 0);
        assert_eq!(log2_256(u64::MAX), 64 * 256 - 1);
    }
}
