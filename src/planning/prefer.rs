//! What a plan is chosen for, and what one is worth then.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};

/// What a plan is chosen for. A plan's latency is what
/// [`Planner::search_ns`](crate::plan::Planner::search_ns) says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Prefer {
    /// Little space: a hundredth of it is worth a twelfth of the latency.
    Size,
    /// The least product of space and latency in at most [one and a half times](Self::most_bytes)
    /// the bytes of the fingerprints as plain integers, or in the
    /// [budget](crate::plan::Planner::budget). Where nothing is that small, as `Size`.
    #[default]
    Balanced,
    /// Little latency: a hundredth of it is worth an eighth of the space.
    Speed,
}

impl Prefer {
    /// What so many bytes and nanoseconds of a search are worth; less is better. Units do not
    /// matter, as long as all have the same.
    pub fn score(self, bytes: f64, latency: f64) -> f64 {
        let eighth = |x: f64| x.sqrt().sqrt().sqrt();
        match self {
            Prefer::Size => bytes * eighth(latency),
            Prefer::Balanced => bytes * latency,
            Prefer::Speed => eighth(bytes) * latency,
        }
    }

    /// The most bytes that it may take, where so many bytes hold the same uncompressed: 12 for a
    /// fingerprint of 64 bits if it is balanced.
    pub fn most_bytes(self, uncompressed: f64) -> f64 {
        match self {
            Prefer::Balanced => 1.5 * uncompressed,
            Prefer::Size | Prefer::Speed => f64::INFINITY,
        }
    }
}

impl fmt::Display for Prefer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Size => "size",
            Self::Balanced => "balanced",
            Self::Speed => "speed",
        })
    }
}

impl FromStr for Prefer {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "size" => Ok(Self::Size),
            "balanced" => Ok(Self::Balanced),
            "speed" => Ok(Self::Speed),
            _ => Err(Error::invalid_option("prefer", name, "it is size, balanced or speed")),
        }
    }
}
