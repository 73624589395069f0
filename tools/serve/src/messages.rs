//! Requests and answers, as JSON has them.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use crate::ids::IdJson;

/// Reads a whole number, also one that is written as 3.0, as JSON Schema has it.
fn whole<'de, D: Deserializer<'de>, T: TryFrom<u64>>(from: D) -> Result<T, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Whole(u64),
        Floating(f64),
    }
    const EXACT: f64 = (1u64 << 53) as f64;
    let number = match Written::deserialize(from) {
        Ok(Written::Whole(number)) => Some(number),
        Ok(Written::Floating(number))
            if number.fract() == 0.0 && (0.0..EXACT).contains(&number) =>
        {
            Some(number as u64)
        }
        _ => None,
    };
    let number = number.and_then(|number| T::try_from(number).ok());
    number.ok_or_else(|| {
        D::Error::custom("a number that is whole, not negative and not too large is wanted")
    })
}

fn whole_if_any<'de, D: Deserializer<'de>, T: TryFrom<u64>>(
    from: D,
) -> Result<Option<T>, D::Error> {
    struct Whole<T>(T);
    impl<'de, T: TryFrom<u64>> Deserialize<'de> for Whole<T> {
        fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
            whole(from).map(Self)
        }
    }
    Ok(Option::<Whole<T>>::deserialize(from)?.map(|Whole(number)| number))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SearchRequest {
    pub fingerprint: String,
    #[serde(default, deserialize_with = "whole_if_any")]
    pub k: Option<u32>,
    #[serde(default, deserialize_with = "whole_if_any")]
    pub limit: Option<usize>,
    pub ids: Option<bool>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NearestRequest {
    pub fingerprint: String,
    #[serde(deserialize_with = "whole")]
    pub count: usize,
    #[serde(default, deserialize_with = "whole_if_any")]
    pub k: Option<u32>,
    pub ids: Option<bool>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BatchRequest {
    pub fingerprints: Vec<String>,
    #[serde(default, deserialize_with = "whole_if_any")]
    pub k: Option<u32>,
    #[serde(default, deserialize_with = "whole_if_any")]
    pub limit: Option<usize>,
    pub ids: Option<bool>,
}

/// When a write is acknowledged.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Durable {
    /// Once it is on the disk.
    #[default]
    Disk,
    /// Once the system has it: it survives the end of the server, but not yet a power failure.
    System,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckRequest {
    pub fingerprint: String,
    pub id: Option<IdJson>,
    #[serde(default, deserialize_with = "whole_if_any")]
    pub k: Option<u32>,
    #[serde(default, deserialize_with = "whole_if_any")]
    pub limit: Option<usize>,
    pub ids: Option<bool>,
    #[serde(default)]
    pub durable: Durable,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordJson {
    pub fingerprint: String,
    pub id: Option<IdJson>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WriteRequest {
    pub records: Vec<RecordJson>,
    #[serde(default)]
    pub durable: Durable,
}

#[derive(Debug, Serialize)]
pub struct MatchJson {
    pub fingerprint: String,
    pub distance: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ids: Option<Vec<String>>,
    /// Whether there are more ids than these.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub more_ids: bool,
}

#[derive(Debug, Serialize)]
pub struct SearchAnswer {
    pub matches: Vec<MatchJson>,
    /// Whether there are more matches than these.
    pub more: bool,
}

#[derive(Debug, Serialize)]
pub struct NearestAnswer {
    pub matches: Vec<MatchJson>,
}

#[derive(Debug, Serialize)]
pub struct BatchAnswer {
    pub answers: Vec<SearchAnswer>,
}

#[derive(Debug, Serialize)]
pub struct CheckAnswer {
    pub inserted: bool,
    pub matches: Vec<MatchJson>,
    pub more: bool,
}

#[derive(Debug, Serialize)]
pub struct WriteAnswer {
    pub records: usize,
}

/// A store, as the list of stores and its own statistics have it.
#[derive(Debug, Serialize)]
pub struct StoreJson {
    pub name: String,
    pub bits: u32,
    pub k: u32,
    pub most_k: u32,
    pub ids: &'static str,
    pub writable: bool,
    pub fingerprints: u64,
    pub segments: usize,
    pub log_operations: u64,
    pub bytes: u64,
    pub heap_bytes: u64,
    pub generation: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recipe: Option<String>,
    /// Why it could not be looked at anew, if the last look failed: what it held before is served.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stale: Option<String>,
}

#[derive(Debug, Serialize)]
pub struct StoresAnswer {
    pub stores: Vec<StoreJson>,
}

/// What the page shows of each operation.
#[derive(Debug, Serialize)]
pub struct LatencyJson {
    pub operation: &'static str,
    pub count: u64,
    pub p50_ms: Option<f64>,
    pub p99_ms: Option<f64>,
    pub p999_ms: Option<f64>,
}

#[derive(Debug, Serialize)]
pub struct StatusAnswer {
    pub version: &'static str,
    pub uptime_seconds: u64,
    pub connections: u64,
    pub waiting: usize,
    pub refused: u64,
    pub latencies: Vec<LatencyJson>,
}
