//! What searches take with every number of parts, before anything is packed.

use super::thresholds::{file_bytes, headers, uniform_steps, work};
use crate::error::{Error, Result};
use crate::format::{GROUP_BITS, MOST_ROWS};

/// A number of part tables, and what searches within a radius would take with it; from
/// [`plan_parts`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PartsPlan {
    /// The number of part tables; 0 is the base alone.
    pub parts: u16,
    /// Bytes of all files.
    pub store_bytes: u64,
    /// The predicted time of a search in memory without matches, in nanoseconds.
    pub search_ns: f64,
    /// How many bits may differ in each part, so that together they find everything within the
    /// radius; `None` for a part that is not looked at. Empty where it takes less time to scan the
    /// base.
    pub thresholds: Vec<Option<u32>>,
    /// Looks into part tables, each at a group of 64 keys; 0 where the base is scanned.
    pub probes: f64,
    /// Fingerprints that are compared with the query.
    pub candidates: f64,
}

/// What searches within `k` of `count` uniform fingerprints of so many `bits` take, for each number
/// of parts from 0 on. Takes milliseconds.
///
/// [`Layout::parts`](crate::Layout::parts) takes one of these numbers; where it is left open a pack
/// takes the one that [`recommended_parts`] gives.
///
/// # Errors
///
/// [`Error::InvalidOption`] for other widths than 32, 64, 128 and 256 bits and for a radius over
/// the width, [`Error::TooManyRows`] for more fingerprints than a segment can have.
///
/// # Examples
///
/// ```
/// let plans = fpstore::plan::plan_parts(256, 10_000_000, 31)?;
/// let parts = fpstore::plan::recommended_parts(256, 10_000_000, 31)?;
/// let plan = plans.iter().find(|plan| plan.parts == parts).unwrap();
/// let thresholds: u32 = plan.thresholds.iter().flatten().map(|threshold| threshold + 1).sum();
/// assert_eq!(thresholds, 32);
/// assert!(plan.search_ns < plans[0].search_ns / 50.0, "as fast as a scan of the base");
/// # Ok::<(), fpstore::Error>(())
/// ```
pub fn plan_parts(bits: u32, count: u64, k: u32) -> Result<Vec<PartsPlan>> {
    check(bits, count, k)?;
    Ok((0..=(bits / GROUP_BITS) as u16)
        .map(|parts| PartsPlan::new(bits, parts, count, k))
        .collect())
}

/// The number of part tables that a pack chooses for `count` fingerprints and searches within `k`:
/// the least of those that take hardly more time than the fastest.
///
/// # Errors
///
/// As [`plan_parts`].
pub fn recommended_parts(bits: u32, count: u64, k: u32) -> Result<u16> {
    check(bits, count, k)?;
    Ok(super::plan(bits, count, k))
}

fn check(bits: u32, count: u64, k: u32) -> Result<()> {
    if !matches!(bits, 32 | 64 | 128 | 256) {
        return Err(Error::invalid_option("width", bits, "it is 32, 64, 128 or 256 bits"));
    }
    if k > bits {
        return Err(Error::invalid_option("radius", k, format!("it is 0 to {bits} bits")));
    }
    match count <= MOST_ROWS {
        true => Ok(()),
        false => Err(Error::TooManyRows { count, most: MOST_ROWS }),
    }
}

impl PartsPlan {
    fn new(bits: u32, parts: u16, count: u64, k: u32) -> Self {
        let headers: Vec<_> = headers(bits, parts, count).collect();
        let steps = uniform_steps(&headers, bits, count);
        let mut plan = Self {
            parts,
            store_bytes: file_bytes(bits, parts, count),
            search_ns: steps.search_ns(k),
            thresholds: Vec::new(),
            probes: 0.0,
            candidates: count as f64,
        };
        if let Some(steps) = steps.within(k) {
            plan.thresholds = vec![None; parts.into()];
            for step in steps {
                plan.thresholds[step.part] = Some(step.flips);
            }
            let works = headers.iter().zip(&plan.thresholds);
            let works = works.filter_map(|(part, threshold)| Some((part, (*threshold)?)));
            let works = works.map(|(part, threshold)| work(part, threshold));
            (plan.probes, plan.candidates) =
                works.fold((0.0, 0.0), |sum, work| (sum.0 + work.0, sum.1 + work.1));
        }
        plan
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_find_everything_within_the_radius_or_the_base_is_scanned() {
        for (bits, count, k) in
            [(32, 1 << 20, 3), (64, 1 << 24, 8), (128, 1 << 24, 16), (256, 10_000_000, 31)]
        {
            let plans = plan_parts(bits, count, k).unwrap();
            let recommended = recommended_parts(bits, count, k).unwrap();
            let fastest = plans.iter().map(|plan| plan.search_ns).fold(f64::INFINITY, f64::min);
            for plan in &plans {
                let thresholds = plan.thresholds.iter().flatten().map(|threshold| threshold + 1);
                match plan.thresholds.is_empty() {
                    true => assert_eq!((plan.probes, plan.candidates), (0.0, count as f64)),
                    false => assert_eq!(thresholds.sum::<u32>(), k + 1),
                }
                if plan.parts == recommended {
                    assert!(plan.search_ns <= 1.05 * fastest && plan.probes > 0.0, "{plan:?}");
                }
            }
            let parts: Vec<u16> = plans.iter().map(|plan| plan.parts).collect();
            assert_eq!(parts, (0..=(bits / GROUP_BITS) as u16).collect::<Vec<_>>());
        }
        // Part tables of no use are not recommended.
        assert_eq!(recommended_parts(256, 10_000_000, 128).unwrap(), 0);
    }

    #[test]
    fn what_cannot_be_is_not_planned() {
        for (bits, count, k) in [(48, 10, 3), (0, 10, 0), (32, 10, 33), (256, 10, 257)] {
            let error = plan_parts(bits, count, k).unwrap_err();
            assert!(matches!(error, Error::InvalidOption { .. }), "{error}");
        }
        let error = recommended_parts(128, MOST_ROWS + 1, 3).unwrap_err();
        assert!(matches!(error, Error::TooManyRows { .. }), "{error}");
        assert_eq!(plan_parts(256, 0, 3).unwrap()[0].candidates, 0.0);
    }
}
