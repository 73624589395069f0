//! Finds the blocks that can hold matches of a query, from the last key of every block.
//!
//! The sorted array of last keys is an implicit binary trie over the prefixes of keys. The search
//! descends it with the query and a budget of flips: the child that agrees with the query's bit is
//! free, the other one costs a flip. Inside the top of the table at most τ flips are allowed,
//! behind it what is left of k. A range of blocks is emitted when it is a single block, or when no
//! bit is left to decide; each block comes once, with the largest *residual budget*: k minus the
//! flips spent on the way to it.
//!
//! The descent ends where the low column begins. The scan of the column counts the bits of the
//! column, so a flip of such a bit must not be subtracted from the budget before.
//!
//! In memory stands a *directory*: for each of the 2^D prefixes of D bits a line of 64 bytes, which
//! a CPU fetches at once, with the first block that can hold the prefix, and for each block whose
//! last key begins with it the 15 bits of that key behind these D (its *tag*). D is such that 12.5
//! to 25 blocks of uniform keys share a line, which has room for 28; so a block takes 2.6 to 5.1
//! bytes. The tags of a prefix with more blocks stand elsewhere, and take 2 bytes each besides.
//! Last keys, in the file, are read only where tags are equal.
//!
//! A descent has two steps. [`Router::probe`] lists the prefixes that the budget reaches, and asks
//! for their lines ahead; [`Router::descend`] goes on below them. So a search has the lines of all
//! its tables on their way at once, where a walk from the root would wait for one after the other.
//!
//! The paper finds the block by interpolation search. Measured by `cargo bench --bench router` (AMD
//! EPYC, one core, last keys in the cache), per look-up of one key:
//!
//! | last keys | directory | interpolation | binary search |
//! | --- | --- | --- | --- |
//! | 86,038 (2^24 uniform fingerprints, 195 a block) | 8.0 ns | 11.7 ns | 25.5 ns |
//! | 327 (63,707 real ones) | 8.5 ns | 22.9 ns | 9.0 ns |
//!
//! So the directory stays: it is 1.5 times as fast on uniform keys, and does not suffer from skew.

mod last_keys;
mod line;
#[cfg(test)]
mod tests;

use crate::block::Candidate;
use crate::mapped;

pub(crate) use last_keys::LastKeys;
use line::{Crowded, Line, TAG_BITS, tag};

/// The directory of the last keys of a table. The keys themselves stay in the file.
#[derive(Debug)]
pub(crate) struct Router {
    blocks: u32,
    directory_bits: u32,
    /// For each prefix of `directory_bits` bits its blocks; then none from `blocks` on.
    directory: Vec<Line>,
    /// The tags of prefixes whose line has no room for them.
    crowded: Crowded,
}

/// How far a descent may stray from the query.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    /// Bits that may differ in all.
    pub(crate) k: u32,
    /// Bits that may differ inside the top, τ.
    pub(crate) threshold: u32,
    /// Bits of the top, p.
    pub(crate) top_bits: u32,
    /// Where the descent ends at the latest: the bits above the low column, M.
    pub(crate) middle_bits: u32,
}

/// A prefix that the budget reaches: the keys that begin with the first `depth` bits of `path` (its
/// other bits are zero) differ from the query in `spent` of these bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Probe {
    path: u64,
    depth: u32,
    spent: u32,
}

/// A [`Probe`], or a part of it, and its blocks.
#[derive(Clone, Copy, Debug)]
struct Branch {
    probe: Probe,
    /// The blocks `low..=high` can hold it.
    low: u32,
    high: u32,
}

impl Router {
    /// Builds the directory, of no more bits than stand in front of the low column, where descents
    /// end. Takes one pass.
    pub(crate) fn new(last_keys: LastKeys<'_>, middle_bits: u32) -> Self {
        let blocks = last_keys.len() as u32;
        let directory_bits = directory_bits(blocks.into()).min(middle_bits);
        let mut directory = Vec::with_capacity((1 << directory_bits) + 1);
        let mut crowded = Crowded::default();
        let mut first = 0;
        for of_line in 0..1u64 << directory_bits {
            let rest = (first..blocks as usize).map(|block| last_keys.get(block));
            let count = rest.take_while(|last| prefix(*last, directory_bits) == of_line).count();
            let here = first..first + count;
            let tags = here.map(|block| tag(last_keys.get(block), directory_bits));
            directory.push(Line::new(first as u32, tags, &mut crowded));
            first += count;
        }
        directory.push(Line::new(blocks, [].into_iter(), &mut crowded));
        Self { blocks, directory_bits, directory, crowded }
    }

    /// Bytes of heap.
    pub(crate) fn heap_bytes(&self) -> u64 {
        size_of_val(&self.directory[..]) as u64 + self.crowded.heap_bytes()
    }

    /// The first block whose last key is `key` or more: the only one that can hold `key`. `None` if
    /// all keys are less.
    pub(crate) fn find(&self, last_keys: LastKeys<'_>, key: u64) -> Option<u32> {
        let line = &self.directory[prefix(key, self.directory_bits) as usize];
        let block = self.first_not_below(line, last_keys, key, line.first, line.behind());
        (block < self.blocks).then_some(block)
    }

    /// The first block that can hold a key with this prefix of `bits` bits, at most those of the
    /// directory, and the first that can hold a key behind it; the number of blocks if there is
    /// none.
    #[inline(always)]
    fn slots(&self, prefix: u64, bits: u32) -> [u32; 2] {
        let rest = self.directory_bits - bits;
        [prefix, prefix + 1].map(|prefix| self.directory[(prefix << rest) as usize].first)
    }

    /// Appends the prefixes within `budget` of `query`, ascending, and asks for their lines of the
    /// directory: at most one prefix for each line.
    #[inline(always)]
    pub(crate) fn probe(&self, query: u64, budget: Budget, out: &mut Vec<Probe>) {
        let bits = self.directory_bits;
        if budget.left(0, 0) == 0 && budget.end_of_path(0, 0) >= bits {
            // One path leads there, as always where the top must be equal.
            let prefix = prefix(query, bits);
            mapped::prefetch_one(&self.directory, prefix as usize);
            return emit(out, bits, prefix, 0);
        }
        Prober { router: self, query, budget }.visit(out, 0, 0, 0);
    }

    /// The first block of `from..to` whose last key is `key` or more, else `to`. The key has the
    /// prefix of the line, and the blocks are among those of the line.
    #[inline(always)]
    fn first_not_below(
        &self,
        line: &Line,
        last_keys: LastKeys<'_>,
        key: u64,
        from: u32,
        to: u32,
    ) -> u32 {
        let tag = tag(key, self.directory_bits);
        let low = (line.first + line.below(tag, &self.crowded)).clamp(from, to);
        if low == to || line.tag(low, &self.crowded) != tag {
            return low;
        }
        let behind = line.first + line.up_to(tag, &self.crowded);
        low + last_keys.below(key, low..behind.min(to))
    }

    /// [`Self::probe`] and [`Self::descend`] at once, without a limit.
    pub(crate) fn candidates(
        &self,
        last_keys: LastKeys<'_>,
        query: u64,
        budget: Budget,
        out: &mut Vec<Candidate>,
    ) {
        let mut probes = Vec::new();
        self.probe(query, budget, &mut probes);
        self.descend(last_keys, (query, budget), &probes, usize::MAX, out);
    }

    /// Appends the blocks behind `probes` that can hold a key within `budget` of `query`,
    /// ascending. Stops early, and returns false, once there are more than `limit`.
    ///
    /// `probes` come from [`Self::probe`] with the same query and budget.
    #[inline(always)]
    pub(crate) fn descend(
        &self,
        last_keys: LastKeys<'_>,
        (query, budget): (u64, Budget),
        probes: &[Probe],
        limit: usize,
        out: &mut Vec<Candidate>,
    ) -> bool {
        let start = out.len();
        let limit = start.saturating_add(limit);
        for &probe in probes {
            let prefix = prefix(probe.path, probe.depth);
            let whole = probe.depth < self.directory_bits;
            let line = &self.directory[prefix as usize];
            let [low, behind] =
                if whole { self.slots(prefix, probe.depth) } else { [line.first, line.behind()] };
            if low < self.blocks {
                let high = behind.min(self.blocks - 1);
                let descent = Descent { router: self, last_keys, query, budget, line, start };
                if whole {
                    descent.emit(out, low, high, probe.spent);
                } else {
                    // Mostly there is nothing to split, and this is inlined, as a recursion is not.
                    if let Some(parts) = descent.split(out, Branch { probe, low, high }) {
                        descent.visit_both(out, parts);
                    }
                }
            }
            if out.len() > limit {
                return false;
            }
        }
        true
    }
}

/// Bytes of heap that the router of so many blocks of uniform keys takes.
pub(crate) fn heap_bytes(blocks: u64) -> u64 {
    size_of::<Line>() as u64 * ((1 << directory_bits(blocks)) + 1)
}

/// Bits of a prefix of the directory: 25 blocks have the same, or half of that.
fn directory_bits(blocks: u64) -> u32 {
    (2 * blocks / 25).max(1).ilog2()
}

/// The first `bits` bits of `key` as a number.
fn prefix(key: u64, bits: u32) -> u64 {
    key.checked_shr(64 - bits).unwrap_or(0)
}

impl Budget {
    /// Flips that are left at a depth in bits.
    #[inline(always)]
    fn left(&self, depth: u32, spent: u32) -> u32 {
        if depth < self.top_bits { self.threshold.min(self.k) - spent } else { self.k - spent }
    }

    /// Where a path ends that has no flip left at `depth`: at the end of the top, or at the column
    /// if no flip is left at all.
    #[inline(always)]
    fn end_of_path(&self, depth: u32, spent: u32) -> u32 {
        let in_top = depth < self.top_bits;
        if in_top && self.k > spent {
            self.top_bits.min(self.middle_bits)
        } else {
            self.middle_bits
        }
    }

    /// Whether to take all blocks of `low..=high`: hardly any pruning is left behind the top where
    /// there are no more blocks than ways to flip.
    #[inline(always)]
    fn takes_all(&self, depth: u32, spent: u32, low: u32, high: u32) -> bool {
        let left = self.left(depth, spent);
        depth >= self.top_bits && left > 0 && (high - low).checked_shr(left).unwrap_or(0) == 0
    }
}

/// A walk over the directory.
struct Prober<'a> {
    router: &'a Router,
    query: u64,
    budget: Budget,
}

impl Prober<'_> {
    /// Visits the keys whose first `depth` bits are the number `prefix`, which differs from the
    /// query in `spent` bits.
    fn visit(&self, out: &mut Vec<Probe>, depth: u32, prefix: u64, spent: u32) {
        let bits = self.router.directory_bits;
        if depth == bits {
            mapped::prefetch_one(&self.router.directory, prefix as usize);
            return emit(out, depth, prefix, spent);
        }
        if self.budget.left(depth, spent) == 0 {
            let end = self.budget.end_of_path(depth, spent).min(bits);
            let rest = self.query << depth >> (64 - (end - depth));
            return self.visit(out, end, prefix << (end - depth) | rest, spent);
        }
        if depth >= self.budget.top_bits {
            let [low, high] = self.router.slots(prefix, depth);
            if self.budget.takes_all(depth, spent, low, high) {
                return emit(out, depth, prefix, spent);
            }
        }
        let bit = self.query >> (63 - depth) & 1;
        self.visit(out, depth + 1, prefix << 1, spent + bit as u32);
        self.visit(out, depth + 1, prefix << 1 | 1, spent + 1 - bit as u32);
    }
}

#[inline(always)]
fn emit(out: &mut Vec<Probe>, depth: u32, prefix: u64, spent: u32) {
    out.push(Probe { path: prefix.checked_shl(64 - depth).unwrap_or(0), depth, spent });
}

/// Blocks of a branch at most that are looked at one by one: behind the top, where nearly all are
/// taken, and inside of it, where a walk soon leaves many out.
const MAX_EACH: u32 = 64;
const MAX_EACH_IN_TOP: u32 = 5;

/// A walk down the trie of last keys, below the directory.
struct Descent<'a> {
    router: &'a Router,
    last_keys: LastKeys<'a>,
    query: u64,
    budget: Budget,
    /// The line of the directory.
    line: &'a Line,
    /// Length of the output before the walk.
    start: usize,
}

impl Descent<'_> {
    /// Appends the blocks of the parts of a branch.
    fn visit_both(&self, out: &mut Vec<Candidate>, [zero, one]: [Branch; 2]) {
        if let Some(parts) = self.split(out, zero) {
            self.visit_both(out, parts);
        }
        if one.low <= one.high
            && let Some(parts) = self.split(out, one)
        {
            self.visit_both(out, parts);
        }
    }

    /// Appends the blocks of a branch; or gives its parts, where the next bit is 0 and where it is
    /// 1, which may have no block.
    #[inline(always)]
    fn split(&self, out: &mut Vec<Candidate>, mut branch: Branch) -> Option<[Branch; 2]> {
        let budget = self.budget;
        if branch.low < branch.high && budget.left(branch.probe.depth, branch.probe.spent) == 0 {
            // One path is left, up to where flips are, or the column begins.
            let Branch { probe: Probe { path, depth, spent }, low, high } = branch;
            let end = budget.end_of_path(depth, spent).max(depth);
            let rest = u64::MAX.checked_shr(depth).unwrap_or(0);
            let below = u64::MAX.checked_shr(end).unwrap_or(0);
            let path = path | (self.query & rest & !below);
            let low = self.first_not_below(path, low, high);
            if low > high {
                return None;
            }
            let high = self.first_not_below(path | below, low, high).min(high);
            branch = Branch { probe: Probe { path, depth: end, spent }, low, high };
        }
        let Branch { probe: Probe { path, depth, spent }, low, high } = branch;
        if low == high || depth >= budget.middle_bits {
            self.emit(out, low, high, spent);
            return None;
        }
        let most = if depth >= budget.top_bits {
            MAX_EACH
        } else if self.router.directory_bits + TAG_BITS <= budget.top_bits {
            MAX_EACH_IN_TOP
        } else {
            0
        };
        if high - low < most {
            self.emit_each(out, branch);
            return None;
        }
        let one = 1u64 << (63 - depth);
        // The first block with a key that has a 1 here. It may hold keys with a 0 as well.
        let split = self.first_not_below(path | one, low, high);
        let one_spent = u32::from(self.query & one == 0);
        let (depth, zero_spent) = (depth + 1, spent + 1 - one_spent);
        let zero = Probe { path, depth, spent: zero_spent };
        let zero = Branch { probe: zero, low, high: split.min(high) };
        let one = Probe { path: path | one, depth, spent: spent + one_spent };
        Some([zero, Branch { probe: one, low: split, high }])
    }

    /// The first block of `low..=high` whose last key is `key` or more, else `high + 1`.
    #[inline(always)]
    fn first_not_below(&self, key: u64, low: u32, high: u32) -> u32 {
        // The last key of the block behind the prefix is greater than all keys that begin with it.
        let to = (high + 1).min(self.line.behind());
        self.router.first_not_below(self.line, self.last_keys, key, low, to)
    }

    /// Appends those blocks of a branch that are within the budget, each with what is left by the
    /// bits that its tag and that of the block before it have in common, as all its keys do. These
    /// bits are all inside the top, or all behind it.
    #[inline(always)]
    fn emit_each(&self, out: &mut Vec<Candidate>, branch: Branch) {
        let Branch { probe: Probe { path, depth, spent }, low, high } = branch;
        let tag = |key| tag(key, self.router.directory_bits);
        // Of a tag, the bits behind the path and above the column.
        let open = u64::MAX >> depth & !u64::MAX.checked_shr(self.budget.middle_bits).unwrap_or(0);
        let (open, query) = (tag(open), tag(self.query));
        let left = self.budget.left(depth, spent);
        let (mut from, last) = (tag(path), tag(path | u64::MAX >> depth));
        for block in low..=high {
            let in_line = block < self.line.behind();
            let to =
                if in_line { last.min(self.line.tag(block, &self.router.crowded)) } else { last };
            // Ones from the first bit on that differs.
            let apart = u32::MAX.checked_shr((from ^ to).leading_zeros() + 16).unwrap_or(0) as u16;
            let flips = ((from ^ query) & open & !apart).count_ones();
            if flips <= left {
                self.emit(out, block, block, spent + flips);
            }
            from = to;
        }
    }

    /// Appends blocks. The walk goes from left to right, so only the last one can be there already.
    #[inline(always)]
    fn emit(&self, out: &mut Vec<Candidate>, low: u32, high: u32, spent: u32) {
        let budget = self.budget.k - spent;
        let mut block = low;
        if let Some(last) = out[self.start..].last_mut()
            && last.block == block
        {
            last.budget = last.budget.max(budget);
            block += 1;
        }
        out.extend((block..=high).map(|block| Candidate { block, budget }));
    }
}
