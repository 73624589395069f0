//! How quiet the machine was while it measured, and what is not to be believed if it was not.
//!
//! Beside every round a fixed piece of other work is timed
//! ([`Reference`](super::timing::Reference)). On a quiet machine it always takes the same time;
//! where it does not, latencies vary as much. What else runs all the time shows only in the load.

use std::fs;

use super::results::{Measured, Noise, Results, Round};
use super::timing::median;

/// A round takes long from this multiple of the median of its configuration on.
const LONG: f64 = 1.25;
/// More noise than this makes a machine busy: the spread of the other work, the share of long
/// rounds, and the load per processor.
const MOST_SPREAD: f64 = 0.15;
const MOST_LONG: f64 = 0.05;
const MOST_LOAD: f64 = 0.5;
/// A prediction is far off from this multiple of the measured time on, or below its inverse.
pub const FAR_OFF: f64 = 1.5;

/// Processes that run or want to, of the last minute, as Linux tells them.
pub fn load() -> Option<f64> {
    fs::read_to_string("/proc/loadavg").ok()?.split_whitespace().next()?.parse().ok()
}

/// Whether a prediction is far off.
pub fn is_far_off(m: &Measured) -> bool {
    let factor = m.warm.p50_ns / m.predicted.warm_ns.max(1.0);
    !(1.0 / FAR_OFF..=FAR_OFF).contains(&factor)
}

/// How many times as long as predicted searches took, in the middle of all.
pub fn predicted_factor(configurations: &[Measured]) -> f64 {
    let factor = |m: &Measured| m.warm.p50_ns / m.predicted.warm_ns.max(1.0);
    median(configurations.iter().map(factor).collect())
}

impl Noise {
    /// The noise in these results.
    pub fn new(configurations: &[Measured], cores: usize, load_before: Option<f64>) -> Self {
        let rounds = || configurations.iter().flat_map(|m| &m.warm.rounds);
        let mut references: Vec<f64> = rounds().map(|round| round.reference_ns).collect();
        references.sort_by(f64::total_cmp);
        let tenth = references.len() / 10;
        let (first, last) = (references.get(tenth), references.iter().rev().nth(tenth));
        let spread = first.zip(last).map_or(0.0, |(first, last)| last / first.max(1.0) - 1.0);
        let long = |m: &Measured| {
            let usual = median(m.warm.rounds.iter().map(|round| round.p50_ns).collect());
            let is_long = |round: &&Round| round.p50_ns > LONG * usual;
            m.warm.rounds.iter().filter(is_long).count()
        };
        let long_rounds = configurations.iter().map(long).sum();
        Self { load_before, cores, spread, long_rounds, rounds: rounds().count() }
    }

    /// Whether what was measured should be measured again.
    pub fn is_busy(&self) -> bool {
        let load = self.load_before.unwrap_or(0.0) / self.cores.max(1) as f64;
        let long = self.long_rounds as f64 / self.rounds.max(1) as f64;
        load > MOST_LOAD || self.spread > MOST_SPREAD || long > MOST_LONG
    }

    /// What was seen, in words.
    pub fn text(&self) -> String {
        let Self { load_before, cores, spread, long_rounds, rounds } = self;
        let mut text = format!(
            "a fixed piece of other work beside the rounds took {:.0}% longer at times, and \
             {long_rounds} of {rounds} rounds a quarter longer than usual",
            100.0 * spread
        );
        if let Some(load) = load_before {
            text.push_str(&format!("; before the start {load:.1} processes ran on {cores} cores"));
        }
        text
    }

    /// What to tell who reads the results of a busy machine.
    pub fn warning(&self) -> Option<String> {
        let advice = "times may be too long: stop what else runs and measure again";
        self.is_busy().then(|| format!("the machine was busy: {}; {advice}", self.text()))
    }
}

impl Results {
    /// How quiet the machine was; for results that do not say so, from their rounds.
    pub fn noise(&self) -> Noise {
        let of_rounds = || Noise::new(&self.configurations, self.machine.cores, None);
        self.noise.unwrap_or_else(of_rounds)
    }
}

/// How the times are related to the predicted ones.
pub fn predictions(configurations: &[Measured]) -> String {
    let far_off = configurations.iter().filter(|m| is_far_off(m)).count();
    format!(
        "searches took {:.2} times as long as predicted, in the middle; {far_off} of {} predictions \
         are off by more than a factor of {FAR_OFF}",
        predicted_factor(configurations),
        configurations.len()
    )
}

#[cfg(test)]
mod tests {
    use super::super::results::Warm;
    use super::*;

    fn measured(rounds: &[(f64, f64)]) -> Measured {
        let round = |&(p50_ns, reference_ns)| Round { p50_ns, reference_ns, ..Round::default() };
        let rounds: Vec<Round> = rounds.iter().map(round).collect();
        Measured { warm: Warm { rounds, ..Warm::default() }, ..Measured::default() }
    }

    #[test]
    fn a_quiet_machine_is_not_called_busy_and_a_busy_one_is() {
        let quiet = [1000.0, 1020.0, 990.0, 1010.0].map(|p50| (p50, 500.0));
        let quiet = [measured(&quiet), measured(&quiet)];
        let noise = Noise::new(&quiet, 2, Some(0.3));
        assert_eq!((noise.spread, noise.long_rounds, noise.rounds), (0.0, 0, 8));
        assert_eq!(noise.warning(), None);
        assert!(!Noise::new(&quiet, 2, None).is_busy() && !Noise::new(&[], 2, None).is_busy());
        // Others that run all the time are seen in the load alone.
        let warning = Noise::new(&quiet, 2, Some(6.0)).warning().unwrap();
        assert!(warning.contains("6.0 processes ran on 2 cores"), "{warning}");
        // Those that come and go, in the other work, or in the rounds.
        let slow = [(1000.0, 500.0), (1000.0, 700.0), (1000.0, 500.0), (1000.0, 700.0)];
        let noise = Noise::new(&[measured(&slow)], 2, None);
        assert!((noise.spread - 0.4).abs() < 1e-9 && noise.is_busy(), "{noise:?}");
        let long = [(1000.0, 500.0), (1300.0, 500.0), (1000.0, 500.0), (1010.0, 500.0)];
        let noise = Noise::new(&[measured(&long)], 2, None);
        assert!(noise.long_rounds == 1 && noise.is_busy(), "{noise:?}");
    }

    #[test]
    fn predictions_far_off_are_told_either_way() {
        let one = |predicted: f64, p50_ns: f64| {
            let mut m = measured(&[]);
            (m.predicted.warm_ns, m.warm.p50_ns) = (predicted, p50_ns);
            m
        };
        let all = [one(1000.0, 1490.0), one(1000.0, 1510.0), one(1000.0, 600.0)];
        assert_eq!(all.each_ref().map(is_far_off), [false, true, true]);
        let text = predictions(&all);
        assert!(text.contains("1.49 times") && text.contains("2 of 3 predictions"), "{text}");
    }
}
