//! Where results come from: processor, memory, compiler and commit.

use std::fs;

use fpstore_cli::version;
use serde::{Deserialize, Serialize};

/// The machine that measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// As the processor calls itself.
    pub processor: String,
    /// Its features that matter to a search.
    pub features: Vec<String>,
    pub cores: usize,
    pub memory_bytes: Option<u64>,
    pub system: String,
}

/// The program that measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Build {
    pub version: String,
    pub compiler: String,
    /// The commit, with `-dirty` if files had changed; or unknown.
    pub commit: String,
    pub optimized: bool,
}

impl Machine {
    /// This machine.
    pub fn this() -> Self {
        let lines = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let info = lines("/proc/cpuinfo");
        let value = |name: &str| {
            let line = info.lines().find(|line| line.starts_with(name))?;
            line.split_once(':').map(|(_, value)| value.trim().to_string())
        };
        let flags = value("flags").unwrap_or_default();
        let features = ["avx2", "avx512f", "avx512bw", "avx512_vpopcntdq", "avx512_bitalg"];
        let features = features.iter().filter(|name| flags.split(' ').any(|flag| flag == **name));
        let memory = lines("/proc/meminfo");
        let memory = memory.lines().find_map(|line| line.strip_prefix("MemTotal:"));
        let kib = memory.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        Self {
            processor: value("model name").unwrap_or_else(|| std::env::consts::ARCH.to_string()),
            features: features.map(ToString::to_string).collect(),
            cores: cores(),
            memory_bytes: kib.map(|kib| kib * 1024),
            system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        }
    }
}

impl Build {
    /// This program.
    pub fn this() -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION").to_string(),
            compiler: version::COMPILER.to_string(),
            commit: version::COMMIT.to_string(),
            optimized: !cfg!(debug_assertions),
        }
    }
}

/// Processors that this process may use.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
