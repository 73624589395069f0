//! The bits of a mask, as vector comparisons give them: one for each lane.

/// The numbers of the bits that are set in `mask`, ascending.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
#[inline(always)]
pub(crate) fn ones(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let one = (mask != 0).then(|| mask.trailing_zeros() as usize);
        // Clears the lowest bit that is set; leaves 0 as it is.
        mask &= mask.wrapping_sub(1);
        one
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bit_of_a_mask_comes_once_in_order() {
        for mask in [0, 1, 1 << 63, 0b1010_0110, u64::MAX, u64::MAX << 7] {
            let expected: Vec<usize> = (0..64).filter(|bit| mask >> bit & 1 == 1).collect();
            assert_eq!(ones(mask).collect::<Vec<_>>(), expected, "{mask:b}");
        }
    }
}
