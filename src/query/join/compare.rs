//! Compares fingerprints with each other: all pairs of a list, or of two lists, within k bits.
//!
//! Each vector kernel stands beside the scalar one, its oracle; the fastest that the CPU has is
//! chosen when a join starts.

#[cfg(target_arch = "x86_64")]
mod x86;

/// Fingerprints of a list that are compared with all of another before the next are: they stay in
/// the first cache.
const TILE: usize = 1024;

/// How fingerprints are compared.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kernel {
    Scalar,
    #[cfg(target_arch = "x86_64")]
    Avx2(x86::Avx2),
    #[cfg(target_arch = "x86_64")]
    Avx512(x86::Avx512),
}

impl Kernel {
    /// The fastest kernel that the CPU has.
    pub(crate) fn best() -> Self {
        Self::all().pop().unwrap_or(Self::Scalar)
    }

    /// Every kernel that the CPU has, the fastest last.
    pub(super) fn all() -> Vec<Self> {
        #[allow(unused_mut)]
        let mut kernels = vec![Self::Scalar];
        #[cfg(target_arch = "x86_64")]
        {
            kernels.extend(x86::Avx2::new().map(Self::Avx2));
            kernels.extend(x86::Avx512::new().map(Self::Avx512));
        }
        kernels
    }

    /// Nanoseconds per pair that is compared, as measured on one machine.
    pub(crate) fn pair_cost(self) -> f64 {
        match self {
            Self::Scalar => 0.6,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => 0.3,
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => 0.07,
        }
    }

    /// Calls `found` with each pair of `list`, in either order, that differs in at most `k` bits.
    #[inline]
    pub(super) fn within(self, list: &[u64], k: u32, mut found: impl FnMut(u64, u64)) {
        for (number, tile) in list.chunks(TILE).enumerate() {
            match self {
                Self::Scalar => scalar_within(tile, k, &mut found),
                #[cfg(target_arch = "x86_64")]
                Self::Avx2(kernel) => kernel.within(tile, k, &mut found),
                #[cfg(target_arch = "x86_64")]
                Self::Avx512(kernel) => kernel.within(tile, k, &mut found),
            }
            let rest = &list[list.len().min((number + 1) * TILE)..];
            if !rest.is_empty() {
                self.between(tile, rest, k, &mut found);
            }
        }
    }

    /// Calls `found` with each fingerprint of `left` and each of `right` that differ in at most `k`
    /// bits.
    #[inline]
    pub(crate) fn between(
        self,
        left: &[u64],
        right: &[u64],
        k: u32,
        mut found: impl FnMut(u64, u64),
    ) {
        for right in right.chunks(TILE) {
            match self {
                Self::Scalar => scalar_between(left, right, k, &mut found),
                #[cfg(target_arch = "x86_64")]
                Self::Avx2(kernel) => kernel.between(left, right, k, &mut found),
                #[cfg(target_arch = "x86_64")]
                Self::Avx512(kernel) => kernel.between(left, right, k, &mut found),
            }
        }
    }
}

fn scalar_within(list: &[u64], k: u32, found: &mut impl FnMut(u64, u64)) {
    for (i, one) in list.iter().enumerate() {
        scalar_between(std::slice::from_ref(one), &list[i + 1..], k, found);
    }
}

#[inline(always)]
fn scalar_between(left: &[u64], right: &[u64], k: u32, found: &mut impl FnMut(u64, u64)) {
    for &one in left {
        for &other in right {
            if (one ^ other).count_ones() <= k {
                found(one, other);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sorted(mut pairs: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
        pairs.sort_unstable();
        pairs
    }

    proptest! {
        #[test]
        fn every_kernel_finds_what_the_definition_gives(
            seed in any::<u64>(), lengths in (0usize..90, 0usize..90), k in 0u32..=64,
            spread in 0u64..=64, long in prop::bool::weighted(0.02),
        ) {
            let long = if long { TILE + 30 } else { 0 };
            // Fingerprints that differ in the bits of a mask.
            let mask = u64::MAX.checked_shr(64 - spread as u32).unwrap_or(0);
            let at = |i: u64| crate::set_sum::term(seed ^ i << 7) as u64 & mask;
            let left: Vec<u64> = (0..(lengths.0 + long) as u64).map(at).collect();
            let right: Vec<u64> = (0..lengths.1 as u64).map(|i| at(i + 5000)).collect();
            let near = |&(a, b): &(u64, u64)| (a ^ b).count_ones() <= k;
            let ordered = |(a, b): (u64, u64)| (a.min(b), a.max(b));
            let within = left.iter().enumerate()
                .flat_map(|(i, &a)| left[i + 1..].iter().map(move |&b| (a, b)));
            let within = sorted(within.filter(near).map(ordered).collect());
            let between = left.iter().flat_map(|&a| right.iter().map(move |&b| (a, b)));
            let between = sorted(between.filter(near).collect());
            for kernel in Kernel::all() {
                let mut found = Vec::new();
                kernel.within(&left, k, |a, b| found.push(ordered((a, b))));
                prop_assert_eq!(&sorted(found), &within, "{:?}", kernel);
                let mut found = Vec::new();
                kernel.between(&left, &right, k, |a, b| found.push((a, b)));
                prop_assert_eq!(&sorted(found), &between, "{:?}", kernel);
            }
        }
    }
}
