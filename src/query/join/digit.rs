//! Digits: a few bits of a fingerprint, from anywhere in it, as a number.

/// Some bits of a fingerprint, moved together.
#[derive(Clone, Debug)]
pub(super) struct Digit {
    /// For each run of bits how far it is rotated to the right, and where it is then.
    runs: Vec<(u32, u64)>,
    bits: u32,
}

impl Digit {
    /// The most significant `bits` of those in `mask`, or all.
    pub(super) fn of(mask: u64, bits: u32) -> Self {
        let bits = bits.min(mask.count_ones());
        let mut runs: Vec<(u32, u64)> = Vec::new();
        let mut rest = mask;
        for place in (0..bits).rev() {
            let from = 63 - rest.leading_zeros();
            rest &= !(1 << from);
            let rotation = (from + 64 - place) % 64;
            match runs.last_mut().filter(|run| run.0 == rotation) {
                Some(run) => run.1 |= 1 << place,
                None => runs.push((rotation, 1 << place)),
            }
        }
        Self { runs, bits }
    }

    /// Number of bits.
    pub(super) fn bits(&self) -> u32 {
        self.bits
    }

    /// The mask of its bits in a fingerprint.
    pub(super) fn mask(&self) -> u64 {
        self.runs.iter().fold(0, |mask, &(rotation, run)| mask | run.rotate_left(rotation))
    }

    /// The digit of a fingerprint.
    #[inline(always)]
    pub(super) fn get(&self, fingerprint: u64) -> usize {
        let run = |value, &(rotation, mask)| value | fingerprint.rotate_right(rotation) & mask;
        self.runs.iter().fold(0, run) as usize
    }

    /// The rotation and the mask of its only run, if there is just one.
    pub(super) fn only_run(&self) -> Option<(u32, u64)> {
        match self.runs[..] {
            [run] => Some(run),
            _ => None,
        }
    }
}

/// The first `bits` of those in `mask`, from the most significant on.
pub(super) fn first_bits(mask: u64, bits: u32) -> u64 {
    let mut rest = mask;
    for _ in 0..bits.min(mask.count_ones()) {
        rest &= !(1 << (63 - rest.leading_zeros()));
    }
    mask & !rest
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_digit_has_the_first_bits_of_a_mask_in_order(
            mask in any::<u64>(), other in any::<u64>(), bits in 0u32..=20, fp in any::<u64>(),
        ) {
            let mask = mask & other;
            let chosen: Vec<u32> = (0..64).rev().filter(|bit| mask >> bit & 1 == 1)
                .take(bits as usize).collect();
            let expected = chosen.iter().fold(0, |digit, bit| digit << 1 | (fp >> bit & 1));
            let digit = Digit::of(mask, bits);
            prop_assert_eq!(digit.get(fp), expected as usize);
            prop_assert_eq!(digit.bits() as usize, chosen.len());
            let taken = chosen.iter().fold(0u64, |taken, bit| taken | 1 << bit);
            prop_assert_eq!(digit.mask(), taken);
            prop_assert_eq!(first_bits(mask, bits), taken);
            if let Some((rotation, run)) = digit.only_run() {
                prop_assert_eq!((fp.rotate_right(rotation) & run) as usize, digit.get(fp));
            }
        }
    }
}
