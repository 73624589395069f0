//! Thresholds: how many bits may differ inside the top of each table, so that together the tables
//! find everything within k, with the least predicted work.
//!
//! An *error pattern* says how many of k differing bits fall into each group of bits. Thresholds τ
//! cover a pattern if some table has at most τ of them in its top. It is enough to cover the
//! patterns of exactly k errors, since fewer errors lie in the tops of no more tables.
//!
//! For tables whose tops are disjoint that is the general pigeonhole ([`cover::cheapest`]). For
//! overlapping tops no sum of thresholds tells whether they cover k, so the search branches over
//! the tables that can cover the hardest open pattern; it is exact unless it runs out of its
//! budget, and never worse than the best set of disjoint tops.

use super::descent::DescentModel;
use crate::cover;
use crate::design::Design;

/// From this radius on every search is a scan.
pub(crate) const SCAN_RADIUS: u32 = 33;

/// Patterns that the search over overlapping tops looks at, times tables.
const MAX_PATTERN_ENTRIES: usize = 400_000;
/// Comparisons of a pattern with thresholds that it may spend.
const MAX_COMPARISONS: usize = 2_000_000;
/// Sets of disjoint tops that are looked at.
const MAX_DISJOINT_SETS: usize = 2000;

/// τ per table; `None` where the table is not needed.
pub(crate) type Thresholds = Vec<Option<u32>>;

/// The thresholds of `design` for `k` with the least predicted work in tables with the blocks of
/// `model`, and how many blocks that is; `None` where reading every column of one table is less.
pub(crate) fn solve(design: &Design, k: u32, model: &DescentModel) -> Option<(Thresholds, f64)> {
    if k >= SCAN_RADIUS {
        return None;
    }
    let best = Solver::new(design, k, model).best();
    (best.work < model.blocks()).then_some((best.thresholds, best.work))
}

#[derive(Clone, Debug)]
struct Solution {
    work: f64,
    thresholds: Thresholds,
}

struct Solver {
    k: u32,
    /// The bits of each top.
    masks: Vec<u64>,
    /// `work[table][τ]`, for τ from 0 to the smaller of k and the bits of the top.
    work: Vec<Vec<f64>>,
}

impl Solver {
    fn new(design: &Design, k: u32, model: &DescentModel) -> Self {
        let masks: Vec<u64> = design
            .tops()
            .iter()
            .map(|top| top.iter().filter_map(|range| range.mask()).fold(0, |all, mask| all | mask))
            .collect();
        let work = masks
            .iter()
            .map(|mask| {
                let bits = mask.count_ones();
                (0..=k.min(bits)).map(|tau| model.expected_blocks(bits, tau, k)).collect()
            })
            .collect();
        Self { k, masks, work }
    }

    fn best(&self) -> Solution {
        let tables: Vec<usize> = (0..self.masks.len()).collect();
        let all_bits = self.masks.iter().map(|mask| mask.count_ones()).sum::<u32>();
        let union = self.masks.iter().fold(0, |all, mask| all | mask).count_ones();
        if all_bits == union {
            return self.over_disjoint(&tables);
        }
        let mut best = self.over_disjoint(&tables[..1]);
        self.try_disjoint(&mut Vec::new(), 0, 0, &mut { MAX_DISJOINT_SETS }, &mut best);
        if let Some(patterns) = self.patterns() {
            let mut search = Search { solver: self, patterns, budget: MAX_COMPARISONS, best };
            let mut caps = vec![self.k + 1; self.masks.len()];
            search.branch(&mut vec![None; self.masks.len()], &mut caps, 0.0);
            best = search.best;
        }
        best
    }

    /// Tries the sets of disjoint tops that extend `chosen` by tables from `next` on and to which
    /// no further table can be added, as far as the budget of sets goes.
    fn try_disjoint(
        &self,
        chosen: &mut Vec<usize>,
        taken: u64,
        next: usize,
        budget: &mut usize,
        best: &mut Solution,
    ) {
        if *budget == 0 {
            return;
        }
        *budget -= 1;
        if self.masks.iter().all(|mask| mask & taken != 0) {
            let solution = self.over_disjoint(chosen);
            if solution.work < best.work {
                *best = solution;
            }
        }
        for table in next..self.masks.len() {
            if self.masks[table] & taken == 0 {
                chosen.push(table);
                self.try_disjoint(chosen, taken | self.masks[table], table + 1, budget, best);
                chosen.pop();
            }
        }
    }

    /// The optimum over tables with disjoint tops.
    fn over_disjoint(&self, tables: &[usize]) -> Solution {
        let parts = tables.iter().map(|&at| (self.masks[at].count_ones(), &self.work[at]));
        let (work, flips) = cover::cheapest(self.k, parts);
        let mut thresholds = vec![None; self.masks.len()];
        tables.iter().zip(flips).for_each(|(&table, flips)| thresholds[table] = flips);
        Solution { work, thresholds }
    }

    /// For every error pattern of k errors, the errors in the top of each table; hardest first.
    /// `None` if there are too many.
    fn patterns(&self) -> Option<Vec<Vec<u8>>> {
        // Bits that lie in the tops of the same tables form one group.
        let mut groups: Vec<(Vec<bool>, u32)> = Vec::new();
        for bit in 0..64 {
            let member: Vec<bool> = self.masks.iter().map(|mask| mask >> bit & 1 == 1).collect();
            match groups.iter_mut().find(|(known, _)| *known == member) {
                Some((_, size)) => *size += 1,
                None => groups.push((member, 1)),
            }
        }
        let mut patterns = Vec::new();
        let mut errors = vec![0u8; self.masks.len()];
        spread(&groups, self.k, &mut errors, &mut patterns).then_some(())?;
        patterns.sort_unstable();
        patterns.dedup();
        let hardness = |pattern: &Vec<u8>| {
            let options =
                pattern.iter().zip(&self.work).filter_map(|(&e, work)| work.get(e as usize));
            options.fold(f64::INFINITY, |least, &work| least.min(work))
        };
        patterns.sort_by(|a, b| hardness(b).total_cmp(&hardness(a)));
        Some(patterns)
    }
}

/// Adds all ways of spreading `left` errors over `groups`; false if there are too many.
fn spread(
    groups: &[(Vec<bool>, u32)],
    left: u32,
    errors: &mut Vec<u8>,
    patterns: &mut Vec<Vec<u8>>,
) -> bool {
    let Some(((member, size), rest)) = groups.split_first() else {
        if left == 0 {
            patterns.push(errors.clone());
        }
        return patterns.len() * errors.len() <= MAX_PATTERN_ENTRIES;
    };
    let room: u32 = rest.iter().map(|(_, size)| size).sum();
    for here in left.saturating_sub(room)..=left.min(*size) {
        let shift = |errors: &mut Vec<u8>, sign: i32| {
            for (count, _) in errors.iter_mut().zip(member).filter(|(_, m)| **m) {
                *count = (i32::from(*count) + sign * here as i32) as u8;
            }
        };
        shift(errors, 1);
        let fits = spread(rest, left - here, errors, patterns);
        shift(errors, -1);
        if !fits {
            return false;
        }
    }
    true
}

/// Branch and bound over the patterns.
struct Search<'a> {
    solver: &'a Solver,
    patterns: Vec<Vec<u8>>,
    budget: usize,
    best: Solution,
}

impl Search<'_> {
    /// Explores all thresholds at or above `taus` in which table t stays below `caps[t]` wherever
    /// it is raised.
    fn branch(&mut self, taus: &mut Thresholds, caps: &mut Vec<u32>, work: f64) {
        let covers = |pattern: &Vec<u8>| {
            pattern
                .iter()
                .zip(taus.iter())
                .any(|(&e, tau)| tau.is_some_and(|tau| u32::from(e) <= tau))
        };
        let open = self.patterns.iter().position(|pattern| !covers(pattern));
        self.budget = self.budget.saturating_sub(open.unwrap_or(self.patterns.len()) + 1);
        let Some(open) = open else {
            self.best = Solution { work, thresholds: taus.clone() };
            return;
        };
        let mut options: Vec<(f64, usize, u32)> = Vec::new();
        for (table, &errors) in self.patterns[open].iter().enumerate() {
            let (errors, steps) = (u32::from(errors), &self.solver.work[table]);
            if errors >= caps[table] {
                continue;
            }
            if let Some(raised) = steps.get(errors as usize) {
                let paid = taus[table].map_or(0.0, |tau| steps[tau as usize]);
                options.push((work + raised - paid, table, errors));
            }
        }
        options.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let before: Vec<u32> = caps.clone();
        for (work, table, errors) in options {
            if work >= self.best.work || self.budget == 0 {
                break;
            }
            let known = taus[table].replace(errors);
            self.branch(taus, caps, work);
            taus[table] = known;
            // The other options are explored without raising this table that far.
            caps[table] = caps[table].min(errors);
        }
        *caps = before;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The smallest parts that the named designs are made of, in bits.
    fn parts(name: &str) -> Vec<u32> {
        match name {
            "single" => vec![64],
            "halves" => vec![32; 2],
            "thirds" => vec![22, 21, 21],
            "quarters" => vec![16; 4],
            "2of3+1of2" => vec![9, 9, 9, 19, 18],
            "2of5" => vec![13, 13, 13, 13, 12],
            "sqs8" => vec![8; 8],
            "4x4" => vec![4; 16],
            "3of6" => vec![11, 11, 11, 11, 10, 10],
            _ => unreachable!(),
        }
    }

    /// Calls `check` with every way of spreading at most `k` errors over parts of these widths.
    fn for_each_error_vector(
        widths: &[u32],
        k: u32,
        errors: &mut Vec<u32>,
        check: &mut impl FnMut(&[u32]),
    ) {
        if errors.len() == widths.len() {
            return check(errors);
        }
        for here in 0..=k.min(widths[errors.len()]) {
            errors.push(here);
            for_each_error_vector(widths, k - here, errors, check);
            errors.pop();
        }
    }

    /// For each table the parts that its top is made of.
    fn tops_in_parts(design: &Design, widths: &[u32]) -> Vec<Vec<usize>> {
        let in_top = |top: &[crate::format::BitRange], bit: u32| {
            top.iter().any(|r| (u32::from(r.start)..u32::from(r.start + r.bits)).contains(&bit))
        };
        design
            .tops()
            .iter()
            .map(|top| {
                let mut start = 0;
                let mut members = Vec::new();
                for (part, &width) in widths.iter().enumerate() {
                    let inside = (start..start + width).filter(|&bit| in_top(top, bit)).count();
                    assert!(inside == 0 || inside == width as usize, "parts are whole in a top");
                    if inside > 0 {
                        members.push(part);
                    }
                    start += width;
                }
                members
            })
            .collect()
    }

    #[test]
    fn thresholds_of_every_named_design_cover_every_error_vector() {
        for name in Design::NAMES {
            let (design, widths) = (Design::named(name).unwrap(), parts(name));
            let tops = tops_in_parts(&design, &widths);
            for k in 0..=if widths.len() <= 5 { 12 } else { 8 } {
                for blocks in [1u64 << 12, 1 << 19, 1 << 40] {
                    let Some(taus) = design.thresholds(k, blocks) else {
                        assert!(blocks == 1 << 12 || k > 3, "{name} should not scan for k={k}");
                        continue;
                    };
                    let mut vectors = 0u64;
                    for_each_error_vector(&widths, k, &mut Vec::new(), &mut |errors| {
                        vectors += 1;
                        let covered = tops.iter().zip(&taus).any(|(top, tau)| {
                            tau.is_some_and(|tau| {
                                top.iter().map(|&p| errors[p]).sum::<u32>() <= tau
                            })
                        });
                        assert!(covered, "{name}, k={k}: {taus:?} miss {errors:?}");
                    });
                    assert!(vectors >= 1 << widths.len().min(k as usize), "{vectors} vectors");
                }
            }
        }
    }

    #[test]
    fn the_designs_of_the_paper_need_no_flips_at_k_3() {
        for name in ["quarters", "2of3+1of2", "2of5", "sqs8", "4x4", "3of6"] {
            let design = Design::named(name).unwrap();
            let taus = design.thresholds(3, 1 << 26).unwrap();
            assert_eq!(taus, vec![Some(0); design.table_count()], "{name}");
        }
        let taus = |name: &str| Design::named(name).unwrap().thresholds(3, 1 << 18).unwrap();
        assert_eq!(taus("single"), [Some(3)]);
        assert_eq!(taus("halves"), [Some(1), Some(1)]);
        assert_eq!(taus("thirds").iter().map(|tau| tau.unwrap() + 1).sum::<u32>(), 4);
    }

    #[test]
    fn no_other_thresholds_that_cover_have_less_work() {
        // All vectors of thresholds, where there are few enough of them.
        for (name, most, k) in
            [("thirds", 9, 8), ("quarters", 7, 6), ("2of5", 2, 3), ("2of5", 2, 4)]
        {
            let (design, widths) = (Design::named(name).unwrap(), parts(name));
            let tops = tops_in_parts(&design, &widths);
            let solver = Solver::new(&design, k, &DescentModel::new(1 << 19));
            let mut vectors = Vec::new();
            for_each_error_vector(&widths, k, &mut Vec::new(), &mut |errors| {
                if errors.iter().sum::<u32>() == k {
                    let in_tops =
                        tops.iter().map(|top| top.iter().map(|&p| errors[p]).sum::<u32>());
                    vectors.push(in_tops.collect::<Vec<_>>());
                }
            });
            let mut least = f64::INFINITY;
            // Threshold - 1 as a digit to the base most + 1.
            for number in 0..(most as u64 + 1).pow(tops.len() as u32) {
                let digit = |table: usize| {
                    (number / (most as u64 + 1).pow(table as u32) % (most as u64 + 1)) as u32
                };
                let work: f64 = (0..tops.len())
                    .filter(|&table| digit(table) > 0)
                    .map(|table| solver.work[table][digit(table) as usize - 1])
                    .sum();
                let covers = |v: &Vec<u32>| (0..tops.len()).any(|t| v[t] < digit(t));
                if work < least && vectors.iter().all(covers) {
                    least = work;
                }
            }
            let found = solver.best().work;
            assert!(
                (found - least).abs() < 1e-6 * least,
                "{name}, k={k}: {found}, least is {least}"
            );
        }
    }
}
