//! The results of a sweep, as `results.json` holds them.

use std::fs;
use std::path::Path;

use fpstore_cli::failure::Failure;
use serde::{Deserialize, Serialize};

use super::machine::{Build, Machine};
use super::terminal::number;
use super::{data, queries};

/// What the design of a store is called that has parts.
pub const PARTS: &str = "parts";
/// The version of the layout of `results.json`.
pub const VERSION: u32 = 2;

/// What the machine did beside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Noise {
    /// Processes that ran or wanted to, in the minute before, on average; null where the system
    /// does not tell.
    pub load_before: Option<f64>,
    pub cores: usize,
    /// By how much the other work took longer in the slowest tenth of the rounds than in the
    /// fastest tenth, as a share.
    pub spread: f64,
    /// Rounds that took a quarter longer than the median of their configuration, and all.
    pub long_rounds: usize,
    pub rounds: usize,
}

/// An engine beside the configurations of the sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Engine {
    pub name: String,
    pub bytes_per_fingerprint: f64,
    pub p50_ns: f64,
    /// The file that it comes from, and the number of fingerprints it was measured with.
    pub source: String,
    pub fingerprints: u64,
    pub radius: u32,
}

/// Everything that a sweep found.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Results {
    /// `fpstore-bench`.
    pub format: String,
    pub version: u32,
    /// When the sweep began, in UTC.
    pub date: String,
    pub seconds: f64,
    /// The command that made them.
    pub command: String,
    pub machine: Machine,
    pub build: Build,
    pub data: data::Origin,
    pub queries: queries::Origin,
    /// The radius of the latencies that are compared and recommended for.
    pub radius: u32,
    pub verified: Verified,
    /// How quiet the machine was.
    pub noise: Option<Noise>,
    pub configurations: Vec<Measured>,
    /// Configurations for which the time limit left nothing.
    pub skipped: Vec<String>,
    pub histograms: Vec<Histogram>,
    pub recommended: Vec<Recommended>,
    /// What `--quick` would have recommended, and how that turned out.
    pub quick: Vec<QuickCheck>,
    pub overlay: Vec<Engine>,
}

/// How answers were checked.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Verified {
    /// Queries that were answered by brute force as well.
    pub by_brute_force: u64,
    /// Matches of those at the radius.
    pub matches: u64,
    /// Answers that were compared, over all configurations and radii.
    pub comparisons: u64,
}

/// A configuration, and what was measured of it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Measured {
    /// `design-bytes-codec-L`, or `parts-number`, unique in a sweep.
    pub id: String,
    /// With `:short` behind it where its tables behind the first are short; [`PARTS`] where there
    /// is one copy, and tables of parts.
    pub design: String,
    /// Of parts, where it has these.
    pub tables: usize,
    /// 0 where it has parts.
    pub block_bytes: u32,
    /// Empty where it has parts.
    pub codec: String,
    /// As asked for: `auto` or a number; empty where it has parts.
    pub low_bits: String,
    /// Of each table, as chosen.
    pub low_bits_of_tables: Vec<u32>,
    pub size: Size,
    pub pack: Pack,
    pub warm: Warm,
    pub work: Work,
    pub cold: Option<Cold>,
    pub throughput: Vec<Throughput>,
    /// The same store at other radii, ascending; that of the sweep is among them.
    pub radii: Vec<AtRadius>,
    pub predicted: Predicted,
    /// Whether no other configuration of the sweep is smaller and faster.
    pub on_front: bool,
}

/// Bytes of a store.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Size {
    pub bytes: u64,
    pub bytes_per_fingerprint: f64,
    /// Blocks of tables, or the copy that stands beside parts.
    pub blocks: u64,
    /// Routers, or the tables of parts.
    pub router: u64,
    pub ids: u64,
    /// Headers, code lengths, histograms, footers and the manifest.
    pub headers: u64,
    /// Heap of the open store.
    pub heap: u64,
    /// Bits per fingerprint of the blocks of one table, and the least for uniform ones.
    pub bits_of_a_table: f64,
    pub bound_bits: f64,
}

/// How long packing took.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Pack {
    pub seconds: f64,
    pub fingerprints_per_second: f64,
    pub threads: usize,
}

/// Latencies in nanoseconds of a store in memory, on one thread, without the reading of the clock.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Warm {
    /// Queries of a round.
    pub queries: usize,
    /// Samples of all rounds.
    pub samples: usize,
    /// The median of the rounds.
    pub mean_ns: f64,
    pub p50_ns: f64,
    pub p90_ns: f64,
    pub p99_ns: f64,
    /// Of all samples, if there are 10,000 or more.
    pub p999_ns: Option<f64>,
    pub rounds: Vec<Round>,
}

/// One round over the queries.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Round {
    pub mean_ns: f64,
    pub p50_ns: f64,
    pub p90_ns: f64,
    pub p99_ns: f64,
    /// What a fixed piece of other work took just before.
    pub reference_ns: f64,
}

/// The steps of a search, on average: of tables or of parts.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Steps {
    pub blocks_scanned: f64,
    pub blocks_decoded: f64,
    /// Keys that were compared of those that searches keep of small segments.
    #[serde(default)]
    pub keys_compared: f64,
    /// Groups of 64 keys of part tables that were looked at.
    #[serde(default)]
    pub groups_probed: f64,
    /// Rows of the copy that were compared.
    #[serde(default)]
    pub rows_compared: f64,
}

/// What a search did, on average.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Work {
    #[serde(flatten)]
    pub steps: Steps,
    pub bytes_touched: f64,
    /// Searches that scanned a table whole.
    pub scans: f64,
    pub matches: f64,
}

/// Searches with files dropped from the page cache, in nanoseconds.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Cold {
    pub queries: usize,
    pub open_p50_ns: f64,
    pub search_p50_ns: f64,
    pub search_p99_ns: f64,
    /// A random read of 4096 bytes of the same files.
    pub read_p50_ns: f64,
}

/// Searches by several threads at once.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Throughput {
    pub threads: usize,
    pub queries_per_second: f64,
}

/// Latency at one radius.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct AtRadius {
    pub k: u32,
    pub queries: usize,
    pub p50_ns: f64,
    pub mean_ns: f64,
    #[serde(flatten)]
    pub steps: Steps,
}

/// What the planner says, with the set as its sample.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Predicted {
    pub bytes_per_fingerprint: f64,
    pub warm_ns: f64,
    /// 0 where nothing is said of it.
    pub cold_ns: f64,
    #[serde(flatten)]
    pub steps: Steps,
}

/// The classes of the steps of a table in the order of the set, and their code.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Histogram {
    pub codec: String,
    pub low_bits: u32,
    pub counts: Vec<u64>,
    pub code_lengths: Vec<u8>,
    pub entropy_bits: f64,
}

/// A configuration worth having.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Recommended {
    /// What `--prefer` would say: `size`, `balanced` or `speed`, or several of them.
    pub prefer: String,
    pub id: String,
    pub bytes_per_fingerprint: f64,
    /// Measured, or predicted where nothing was measured.
    pub p50_ns: f64,
    pub command: String,
}

/// A recommendation from a sample, and what the sweep says of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct QuickCheck {
    pub prefer: String,
    pub id: String,
    /// The share by which both its bytes and its latency would have to shrink until nothing is
    /// better in both; 0 on the front.
    pub from_front: f64,
    /// By how much its latency exceeds the least of those that are no larger, as a share.
    pub slower_than_best: f64,
}

impl Results {
    /// Reads `results.json`.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let wrong = |message: String| Failure::Usage(format!("{}: {message}", path.display()));
        let text = fs::read_to_string(path)
            .map_err(|error| wrong(format!("cannot read: {error}; check the path")))?;
        let results: Self = serde_json::from_str(&text).map_err(|error| {
            wrong(format!("is not what `fpstore bench` writes: {error}; give a results.json"))
        })?;
        if results.format != "fpstore-bench" || results.version != VERSION {
            let found = format!("{} version {}", results.format, results.version);
            let message = format!("holds {found}, and this is for fpstore-bench version {VERSION}");
            return Err(wrong(format!("{message}; measure again with this program")));
        }
        Ok(results)
    }

    /// The configuration with this id.
    pub fn find(&self, id: &str) -> Option<&Measured> {
        self.configurations.iter().find(|measured| measured.id == id)
    }
}

impl Steps {
    /// Blocks or groups that were looked at.
    pub fn looked_at(&self) -> f64 {
        self.blocks_scanned + self.groups_probed
    }

    /// Blocks that were decoded, or rows that were compared.
    pub fn taken(&self) -> f64 {
        self.blocks_decoded + self.rows_compared
    }
}

impl std::fmt::Display for Steps {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (looked_at, taken) = (number(self.looked_at()), number(self.taken()));
        match self.groups_probed + self.rows_compared > 0.0 {
            true => write!(f, "{looked_at} groups of keys looked up, {taken} rows compared")?,
            false => write!(f, "{looked_at} blocks scanned, {taken} decoded")?,
        }
        match self.keys_compared > 0.0 {
            true => write!(f, ", {} kept keys compared", number(self.keys_compared)),
            false => Ok(()),
        }
    }
}

impl Measured {
    /// As it is spoken of: design, bytes of a block, codec, and L where that was given.
    pub fn name(&self) -> String {
        if self.design == PARTS {
            return format!("{} parts", self.tables);
        }
        let low_bits = match self.low_bits.as_str() {
            "auto" => String::new(),
            width => format!(" L={width}"),
        };
        format!("{} {} {}{low_bits}", self.design, self.block_bytes, self.codec)
    }
}

/// As `results.csv` has it: a line for each configuration.
pub fn write_csv(results: &Results, to: impl std::io::Write) -> Result<(), csv::Error> {
    let mut csv = csv::Writer::from_writer(to);
    csv.write_record([
        "id",
        "design",
        "tables",
        "block_bytes",
        "codec",
        "low_bits",
        "k",
        "bytes",
        "bytes_per_fingerprint",
        "block_area_bytes",
        "router_bytes",
        "id_bytes",
        "header_bytes",
        "heap_bytes",
        "bits_of_a_table",
        "pack_seconds",
        "fingerprints_per_second",
        "samples",
        "mean_ns",
        "p50_ns",
        "p90_ns",
        "p99_ns",
        "p999_ns",
        "blocks_scanned",
        "blocks_decoded",
        "keys_compared",
        "groups_probed",
        "rows_compared",
        "bytes_touched",
        "cold_open_p50_ns",
        "cold_search_p50_ns",
        "cold_search_p99_ns",
        "threads",
        "queries_per_second",
        "predicted_bytes_per_fingerprint",
        "predicted_warm_ns",
        "on_front",
    ])?;
    for m in &results.configurations {
        let most = m.throughput.last();
        let optional = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
        let cold = |value: fn(&Cold) -> f64| optional(m.cold.as_ref().map(value));
        csv.write_record([
            m.id.clone(),
            m.design.clone(),
            m.tables.to_string(),
            m.block_bytes.to_string(),
            m.codec.clone(),
            m.low_bits.clone(),
            results.radius.to_string(),
            m.size.bytes.to_string(),
            m.size.bytes_per_fingerprint.to_string(),
            m.size.blocks.to_string(),
            m.size.router.to_string(),
            m.size.ids.to_string(),
            m.size.headers.to_string(),
            m.size.heap.to_string(),
            m.size.bits_of_a_table.to_string(),
            m.pack.seconds.to_string(),
            m.pack.fingerprints_per_second.to_string(),
            m.warm.samples.to_string(),
            m.warm.mean_ns.to_string(),
            m.warm.p50_ns.to_string(),
            m.warm.p90_ns.to_string(),
            m.warm.p99_ns.to_string(),
            optional(m.warm.p999_ns),
            m.work.steps.blocks_scanned.to_string(),
            m.work.steps.blocks_decoded.to_string(),
            m.work.steps.keys_compared.to_string(),
            m.work.steps.groups_probed.to_string(),
            m.work.steps.rows_compared.to_string(),
            m.work.bytes_touched.to_string(),
            cold(|cold| cold.open_p50_ns),
            cold(|cold| cold.search_p50_ns),
            cold(|cold| cold.search_p99_ns),
            most.map_or(String::new(), |most| most.threads.to_string()),
            optional(most.map(|most| most.queries_per_second)),
            m.predicted.bytes_per_fingerprint.to_string(),
            m.predicted.warm_ns.to_string(),
            m.on_front.to_string(),
        ])?;
    }
    csv.flush()?;
    Ok(())
}
