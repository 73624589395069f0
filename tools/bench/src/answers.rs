//! The answers that every configuration must give.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use fpstore::{Fingerprint, Match};
use fpstore_cli::failure::Failure;
use fpstore_records::write::hex;
use rayon::prelude::*;

use super::results::Verified;

/// Queries that brute force answers, and the fingerprints it compares at most for all of them.
const BY_BRUTE_FORCE: usize = 100;
const COMPARISONS: usize = 1 << 31;

/// Answers by radius and query. The first ones come from brute force over the set, the others from
/// the configuration that was the first to answer.
pub struct Answers {
    of_radius: HashMap<u32, Vec<Option<u64>>>,
    /// Queries that matched something, of those by brute force.
    matched: u64,
    pub verified: Verified,
}

impl Answers {
    /// Answers some queries by brute force, at every one of `radii`.
    pub fn new<F: Fingerprint>(set: &[F], queries: &[F], radius: u32, radii: &[u32]) -> Self {
        let most = radii.iter().copied().max().unwrap_or(radius);
        let count = (COMPARISONS / set.len().max(1)).clamp(4, BY_BRUTE_FORCE);
        let mut of_radius: HashMap<u32, Vec<Option<u64>>> = HashMap::new();
        let (mut verified, mut matched) = (Verified::default(), 0);
        for &query in queries.iter().take(count) {
            let distance = |fingerprint: &F| fingerprint.distance(query);
            let near = set.par_iter().filter(|&fingerprint| distance(fingerprint) <= most);
            let pairs = near.map(|fp| Match { fingerprint: *fp, distance: distance(fp) });
            let mut found: Vec<Match<F>> = pairs.collect();
            found.sort_unstable_by_key(|found| (found.distance, found.fingerprint));
            for &k in radii {
                let within = found.partition_point(|found| found.distance <= k);
                of_radius.entry(k).or_default().push(Some(digest(&found[..within])));
                if k == radius {
                    verified.matches += within as u64;
                    matched += u64::from(within > 0);
                }
            }
            verified.by_brute_force += 1;
        }
        for answers in of_radius.values_mut() {
            answers.resize(queries.len(), None);
        }
        Self { of_radius, matched, verified }
    }

    /// The share of queries that match something.
    pub fn matching(&self) -> f64 {
        self.matched as f64 / self.verified.by_brute_force.max(1) as f64
    }

    /// Compares an answer with the known one, or makes it the known one. `who` gave it.
    pub fn check<F: Fingerprint>(
        &mut self,
        who: &str,
        k: u32,
        number: usize,
        query: F,
        found: &[Match<F>],
    ) -> Result<(), Failure> {
        let known = self.of_radius.get_mut(&k).and_then(|answers| answers.get_mut(number));
        let digest = digest(found);
        match known {
            Some(Some(known)) if *known != digest => Err(Failure::System(format!(
                "{who}: another answer for {} at k = {k} than {}, with {} matches; this is \
                 a defect of fpstore, or of this machine",
                hex(query),
                if number < self.verified.by_brute_force as usize {
                    "brute force"
                } else {
                    "the configurations before"
                },
                found.len()
            ))),
            Some(Some(_)) => {
                self.verified.comparisons += 1;
                Ok(())
            }
            Some(unknown) => {
                *unknown = Some(digest);
                Ok(())
            }
            None => Ok(()),
        }
    }
}

/// 64 bits that stand for an answer.
fn digest<F: Fingerprint>(found: &[Match<F>]) -> u64 {
    let mut hasher = DefaultHasher::new();
    found.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(pairs: &[(u64, u32)]) -> Vec<Match> {
        pairs.iter().map(|&(fingerprint, distance)| Match { fingerprint, distance }).collect()
    }

    #[test]
    fn a_wrong_answer_is_told_whoever_gave_the_right_one() {
        let queries: Vec<u64> = (0..200).collect();
        let mut answers = Answers::new::<u64>(&[0b1, 0b11, 1 << 40], &queries, 1, &[1, 3]);
        assert_eq!(answers.verified.by_brute_force, 100);
        // 0 has the neighbours 1 and 2^40 at 1, and 3 as well at 3.
        answers.check("a", 1, 0, 0, &found(&[(1, 1), (1 << 40, 1)])).unwrap();
        answers.check("a", 3, 0, 0, &found(&[(1, 1), (1 << 40, 1), (3, 2)])).unwrap();
        let error = answers.check("b", 3, 0, 0, &found(&[(1, 1), (3, 2)])).unwrap_err();
        assert!(error.to_string().contains("than brute force"), "{error}");
        // Beyond brute force the first answer counts.
        answers.check("a", 1, 150, 150, &found(&[(7, 1)])).unwrap();
        answers.check("b", 1, 150, 150, &found(&[(7, 1)])).unwrap();
        let error = answers.check("c", 1, 150, 150u64, &[]).unwrap_err();
        assert!(error.to_string().contains("c: another answer"), "{error}");
        assert_eq!(answers.verified.comparisons, 3);
    }
}
