//! Compares queries with the low parts of keys, byte plane by byte plane.
//!
//! The planes are shared out among a few sums. Within a sum, the differences of its planes are laid
//! over each other by *or*, and the bits that are set are counted: they are no more than the bits
//! that differ, so no entry within the budget is lost. One sum takes the fewest instructions, one
//! per plane counts exactly. With 4 planes in one sum, random entries pass a budget of 3 with a
//! probability of 5e-5.
//!
//! Where it is known that a pair is handed on from elsewhere unless it differs in the last 16 bits,
//! entries that agree with a query in their first [`FIRST`] planes do not pass. Only comparisons of
//! more planes than these, in one sum, look at that.
//!
//! Each vector kernel stands beside the scalar one, its oracle; the fastest that the CPU has is
//! chosen when a batch starts.

#[cfg(target_arch = "x86_64")]
mod x86;

use crate::mapped;

/// Entries of a plane that stand together.
pub(super) const CHUNK: usize = 64;
/// Planes of the widest column.
pub(super) const MAX_PLANES: usize = 4;
/// The probability with which random entries may pass the comparison: then it takes more time to
/// compare them better than to look at those that pass.
const MAX_PASSED: f64 = 3e-4;

/// Planes in which pairs may have to differ.
pub(super) const FIRST: usize = 2;
/// Queries that are compared together.
const ROWS: usize = 4;
/// Chunks of a piece, after which it is looked what has passed.
const PIECE: usize = u64::BITS as usize;

/// Entries of one plane.
pub(super) type Chunk = [u8; CHUNK];

/// How low parts are compared.
#[derive(Clone, Copy, Debug)]
pub(in crate::query::batch) enum Kernel {
    Scalar,
    #[cfg(target_arch = "x86_64")]
    Avx2(x86::Avx2),
    #[cfg(target_arch = "x86_64")]
    Avx512(x86::Avx512),
}

/// A query and an entry that may be within the budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Near {
    pub(super) entry: u32,
    pub(super) query: u32,
}

/// How entries are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::query::batch) struct Shape {
    /// Planes that are compared, from the least significant on.
    planes: usize,
    /// The sums that they are shared out among.
    sums: usize,
    /// The most bits that may be set in the sums.
    budget: u8,
    /// Whether entries that agree in the [`FIRST`] planes do not pass.
    differs: bool,
}

impl Shape {
    /// With as few instructions as let hardly any random entry pass, of up to so many planes. Pairs
    /// that count differ in no more than `most(n)` bits of the first n planes, and if `differs` in
    /// some bit of the first [`FIRST`].
    pub(super) fn new(planes: usize, most: impl Fn(usize) -> u32, differs: bool) -> Self {
        let with = |planes, sums| {
            let budget = most(planes).min(u32::from(u8::MAX)) as u8;
            Self { planes, sums, budget, differs: differs && planes > FIRST && sums == 1 }
        };
        let all = (1..=planes).flat_map(|planes| (1..=planes).map(move |sums| with(planes, sums)));
        let mut all: Vec<Self> = all.collect();
        all.sort_by_key(|shape| shape.instructions());
        let mut enough = all.into_iter().filter(|shape| shape.passed() < MAX_PASSED);
        enough.next().unwrap_or(with(planes, planes))
    }

    /// Instructions for a comparison: those of a plane, and those of a sum.
    fn instructions(self) -> usize {
        self.planes + 2 * self.sums
    }

    /// The probability that a random entry passes.
    fn passed(self) -> f64 {
        passed(self.planes, self.sums, self.budget.into())
    }
}

/// The probability that a random entry passes.
fn passed(planes: usize, sums: usize, budget: u32) -> f64 {
    // The distribution of the number of bits that are set.
    let mut set = [0.0; 8 * MAX_PLANES + 1];
    set[0] = 1.0;
    for sum in 0..sums {
        let unset = 0.5f64.powi(planes_of(sum, planes, sums) as i32);
        for _bit in 0..8 {
            for count in (0..set.len()).rev() {
                let fewer = if count > 0 { set[count - 1] } else { 0.0 };
                set[count] = set[count] * unset + fewer * (1.0 - unset);
            }
        }
    }
    set.iter().take(budget as usize + 1).sum()
}

/// How many of the planes belong to a sum: plane i to sum i modulo the number of sums.
fn planes_of(sum: usize, planes: usize, sums: usize) -> usize {
    (planes + sums - 1 - sum) / sums
}

impl Kernel {
    /// The fastest kernel that the CPU has.
    pub(in crate::query::batch) fn best() -> Self {
        Self::all().pop().unwrap_or(Self::Scalar)
    }

    /// Every kernel that the CPU has, the fastest last.
    fn all() -> Vec<Self> {
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
    pub(super) fn pair_cost(self, shape: Shape) -> f64 {
        const PASSED_COST: f64 = 40.0;
        let of_instruction = match self {
            Self::Scalar => 0.09,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => 0.01,
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => 0.006,
        };
        of_instruction * shape.instructions() as f64 + PASSED_COST * shape.passed()
    }

    /// Appends to `near` each query, by its low bits, with each entry of `planes` that passes the
    /// budget. Planes have chunks of equal number.
    ///
    /// Stops, after some queries, once there are more than the task's limit.
    pub(super) fn compare(
        self,
        planes: &[&[Chunk]; MAX_PLANES],
        task: &Task<'_>,
        near: &mut Vec<Near>,
    ) {
        match (task.shape.planes, task.shape.sums, task.shape.differs) {
            (1, ..) => self.compare_by::<1, 1, false>(planes, task, near),
            (2, 1, _) => self.compare_by::<2, 1, false>(planes, task, near),
            (2, ..) => self.compare_by::<2, 2, false>(planes, task, near),
            (3, 1, false) => self.compare_by::<3, 1, false>(planes, task, near),
            (3, 1, true) => self.compare_by::<3, 1, true>(planes, task, near),
            (3, 2, _) => self.compare_by::<3, 2, false>(planes, task, near),
            (3, ..) => self.compare_by::<3, 3, false>(planes, task, near),
            (4, 1, false) => self.compare_by::<4, 1, false>(planes, task, near),
            (4, 1, true) => self.compare_by::<4, 1, true>(planes, task, near),
            (4, 2, _) => self.compare_by::<4, 2, false>(planes, task, near),
            (4, 3, _) => self.compare_by::<4, 3, false>(planes, task, near),
            _ => self.compare_by::<4, 4, false>(planes, task, near),
        }
    }

    fn compare_by<const PLANES: usize, const SUMS: usize, const DIFFERS: bool>(
        self,
        planes: &[&[Chunk]; MAX_PLANES],
        task: &Task<'_>,
        near: &mut Vec<Near>,
    ) {
        let planes: [&[Chunk]; PLANES] = std::array::from_fn(|plane| planes[plane]);
        let pieces = planes[0].len().div_ceil(PIECE);
        let mut ahead = task.ahead.chunks(task.ahead.len() / pieces.max(1) + 1);
        for start in (0..planes[0].len()).step_by(PIECE) {
            let piece = planes.map(|plane| &plane[start..plane.len().min(start + PIECE)]);
            let task = Task { ahead: ahead.next().unwrap_or_default(), ..*task };
            let found = near.len();
            match self {
                Self::Scalar => scalar::<PLANES, SUMS, DIFFERS>(&piece, &task, near),
                #[cfg(target_arch = "x86_64")]
                Self::Avx2(kernel) => kernel.compare::<PLANES, SUMS, DIFFERS>(&piece, &task, near),
                #[cfg(target_arch = "x86_64")]
                Self::Avx512(kernel) => {
                    kernel.compare::<PLANES, SUMS, DIFFERS>(&piece, &task, near)
                }
            }
            let before = (start * CHUNK) as u32;
            near[found..].iter_mut().for_each(|near| near.entry += before);
            if near.len() > task.limit {
                break;
            }
        }
    }
}

/// What is compared with the entries.
#[derive(Clone, Copy)]
pub(super) struct Task<'a> {
    /// The low bits of queries.
    pub(super) queries: &'a [u32],
    pub(super) shape: Shape,
    /// What is asked for meanwhile.
    pub(super) ahead: &'a [u8],
    /// Pairs that may pass before the comparison gives up.
    pub(super) limit: usize,
}

impl<'a> Task<'a> {
    /// Some queries at a time, with the number of the first. Asks for a part of what lies ahead with
    /// each.
    #[inline(always)]
    fn rows(&self) -> impl Iterator<Item = (usize, &'a [u32])> {
        let groups = self.queries.len().div_ceil(ROWS);
        let mut ahead = self.ahead.chunks(self.ahead.len() / groups.max(1) + 1);
        let rows = self.queries.chunks(ROWS).enumerate();
        rows.map(move |(number, rows)| {
            mapped::prefetch(ahead.next().unwrap_or_default());
            (number * ROWS, rows)
        })
    }
}

fn scalar<const PLANES: usize, const SUMS: usize, const DIFFERS: bool>(
    planes: &[&[Chunk]; PLANES],
    task: &Task<'_>,
    near: &mut Vec<Near>,
) {
    let chunks = planes.iter().fold(PIECE, |count, plane| count.min(plane.len()));
    for (first, rows) in task.rows() {
        for (query, row) in (first as u32..).zip(rows) {
            for number in 0..chunks {
                let counts = counts::<PLANES, SUMS, DIFFERS>(planes, number, *row);
                if counts.iter().fold(u8::MAX, |least, &count| least.min(count)) > task.shape.budget
                {
                    continue;
                }
                let passed =
                    counts.iter().enumerate().filter(|&(_, &count)| count <= task.shape.budget);
                for (at, _) in passed {
                    near.push(Near { entry: (number * CHUNK + at) as u32, query });
                }
            }
        }
        if near.len() > task.limit {
            break;
        }
    }
}

/// For each entry of a chunk, the number of bits that are set in the sums, or 255 if it agrees where it
/// has to differ. Of these loops a compiler makes what vector instructions there are.
fn counts<const PLANES: usize, const SUMS: usize, const DIFFERS: bool>(
    planes: &[&[Chunk]; PLANES],
    number: usize,
    row: u32,
) -> Chunk {
    let bytes = row.to_le_bytes();
    let mut counts = [0; CHUNK];
    for sum in 0..SUMS {
        let mut laid_over = [0; CHUNK];
        for plane in (sum..PLANES).step_by(SUMS) {
            for (all, bits) in laid_over.iter_mut().zip(&planes[plane][number]) {
                *all |= bits ^ bytes[plane];
            }
            if DIFFERS && plane + 1 == FIRST {
                for (count, all) in counts.iter_mut().zip(laid_over) {
                    *count = if all == 0 { u8::MAX } else { 0 };
                }
            }
        }
        for (count, all) in counts.iter_mut().zip(laid_over) {
            *count = count.saturating_add(all.count_ones() as u8);
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What the planes that belong together differ in.
    fn count(low: u32, query: u32, planes: usize, sums: usize) -> u32 {
        let bytes = (low ^ query).to_le_bytes();
        let laid_over = |sum: usize| bytes[..planes].iter().skip(sum).step_by(sums);
        (0..sums).map(|sum| laid_over(sum).fold(0, |all, byte| all | byte).count_ones()).sum()
    }

    proptest! {
        #[test]
        fn every_kernel_finds_what_the_definition_gives(
            seed in any::<u64>(), chunks in prop_oneof![9 => 0usize..5, 1 => 60usize..140], asked in 0usize..11, budget in 0u8..=33,
            planes in 1usize..=MAX_PLANES, spread in 0u32..=32,
        ) {
            // Low parts that differ in the bits of a mask.
            let mask = u32::MAX.checked_shr(32 - spread).unwrap_or(0);
            let mask = mask.rotate_left(seed as u32);
            let at = |i: usize| crate::set_sum::term(seed ^ (i as u64) << 7) as u32 & mask;
            let lows: Vec<u32> = (0..chunks * CHUNK).map(at).collect();
            let queries: Vec<u32> = (5000..5000 + asked).map(at).collect();
            let plane = |plane: usize| lows.iter().map(|low| low.to_le_bytes()[plane]).collect();
            let bytes: Vec<Vec<u8>> = (0..planes).map(plane).collect();
            let chunks = |plane: usize| -> &[Chunk] {
                bytes.get(plane).map_or(&[], |bytes| bytes.as_chunks().0)
            };
            let all = std::array::from_fn(chunks);
            for (sums, differs) in (1..=planes).map(|sums| (sums, false)).chain([(1, planes > FIRST)]) {
                let mut expected = Vec::new();
                for (entry, &low) in (0..).zip(&lows) {
                    for (number, &query) in (0..).zip(&queries) {
                        let is_other = (low ^ query) % (1 << (8 * FIRST)) != 0;
                        if count(low, query, planes, sums) <= u32::from(budget) && (is_other || !differs) {
                            expected.push(Near { entry, query: number });
                        }
                    }
                }
                for kernel in Kernel::all() {
                    let mut near = Vec::new();
                    let (ahead, limit) = (&bytes[0][..], usize::MAX);
                    let shape = Shape { planes, sums, budget, differs };
                    let task = Task { queries: &queries, shape, ahead, limit };
                    kernel.compare(&all, &task, &mut near);
                    near.sort_unstable();
                    prop_assert_eq!(&near, &expected, "{:?}, {} sums, {}", kernel, sums, differs);
                }
            }
        }

        #[test]
        fn no_entry_within_the_budget_is_lost(
            low in any::<u32>(), flips in prop::collection::vec(0u32..32, 0..9),
            planes in 1usize..=MAX_PLANES,
        ) {
            let query = flips.iter().fold(low, |query, flip| query ^ 1 << flip);
            for sums in 1..=planes {
                prop_assert!(count(low, query, planes, sums) <= (low ^ query).count_ones());
            }
        }
    }

    #[test]
    fn random_entries_pass_as_predicted() {
        let lows: Vec<u32> = (0..1 << 16).map(|i| crate::set_sum::term(i) as u32).collect();
        for planes in 1..=MAX_PLANES {
            for sums in 1..=planes {
                for budget in [0, 3, 5, 8] {
                    let within = lows.iter().filter(|&&low| count(low, 0, planes, sums) <= budget);
                    let (found, predicted) = (within.count() as f64, passed(planes, sums, budget));
                    let predicted = predicted * lows.len() as f64;
                    let spread = 6.0 * predicted.sqrt() + 3.0;
                    assert!((found - predicted).abs() < spread, "{found}, {predicted}");
                }
            }
        }
        let shape = |planes, most: fn(usize) -> u32| {
            let shape = Shape::new(planes, most, true);
            (shape.planes, shape.sums, shape.differs)
        };
        assert_eq!(shape(4, |_| 3), (4, 1, true));
        assert_eq!(shape(3, |_| 3), (3, 2, false));
        assert_eq!(shape(4, |_| 64), (4, 4, false));
        assert_eq!(shape(4, |planes| if planes < 3 { 1 } else { 2 }), (3, 1, true));
    }
}
