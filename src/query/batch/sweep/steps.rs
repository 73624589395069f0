//! When a list is sifted for fewer keys, and when it is compared: the rule of
//! [`walk`](super::walk), and what it comes to.

use super::part::Part;
use crate::costs::SweepCosts;
use crate::flips;

/// Queries of a list, and keys, from which cutting is worth while: about those of two vectors,
/// which are compared as fast as anything else could be done with them.
const MANY_QUERIES: usize = 32;
const MANY_KEYS: usize = 32;
/// Keys that are left of a group, about, and the most bits by which it is cut at a time.
const KEYS_LEFT: usize = 16;
const MOST_BITS: u32 = 4;
/// Queries that are handled together.
const LANES: f64 = super::kernel::LANES as f64;

/// What is done with some keys and a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Compare all with all.
    Compare,
    /// Cut the keys by so many bits.
    Split(u32),
}

/// The step for so many keys and queries, where so many bits of the part are left.
#[inline(always)]
pub(super) fn step(keys: usize, queries: usize, bits: u32) -> Step {
    if keys < MANY_KEYS || queries <= MANY_QUERIES || bits == 0 {
        return Step::Compare;
    }
    Step::Split((keys / KEYS_LEFT).ilog2().clamp(1, MOST_BITS).min(bits))
}

/// The predicted time to join `keys` uniform keys in the order of a part with as many `queries`, in
/// nanoseconds of one thread.
pub(super) fn join_ns(part: &Part, keys: f64, queries: f64, c: &SweepCosts, vector_ns: f64) -> f64 {
    let depth = part.listed_bits;
    let values = f64::from(depth).exp2();
    let flips = flips::ways(depth, part.most);
    let groups = nonempty(values, keys);
    let list = queries / values * flips;
    // Short ranges still take whole vectors.
    let gathered = flips * (c.range_ns + queries / values / LANES);
    groups * (gathered + visit_ns(part, depth, keys / groups, list, queries, c, vector_ns))
}

/// The part of [`join_ns`] below a value of so many bits.
fn visit_ns(
    part: &Part,
    depth: u32,
    keys: f64,
    list: f64,
    queries: f64,
    c: &SweepCosts,
    vector_ns: f64,
) -> f64 {
    let whole = |number: f64| number.min(1e15) as usize;
    match step(whole(keys), whole(list), part.cut_bits.min(part.bits) - depth) {
        // The last vector of a list is rarely full.
        Step::Compare => c.group_ns + keys * (list / LANES + list.min(1.0) / 2.0) * vector_ns,
        Step::Split(bits) => {
            let next = depth + bits;
            let groups = nonempty(f64::from(bits).exp2(), keys);
            let sifted = queries * flips::ways(next, part.most) / f64::from(next).exp2();
            let sift = c.group_ns + (list / LANES).max(1.0) * c.sift_factor * vector_ns;
            let below =
                visit_ns(part, next, keys / groups, sifted.min(list), queries, c, vector_ns);
            groups * (sift + below)
        }
    }
}

/// How many of so many values some of uniform keys have.
fn nonempty(values: f64, keys: f64) -> f64 {
    (values * -(-keys / values).exp_m1()).max(1.0)
}
