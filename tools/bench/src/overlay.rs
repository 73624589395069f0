//! Engines that something else measured, to stand in the same chart: what `benches/peers --json`
//! writes, and the results of another sweep.

use std::fs;
use std::path::Path;

use fpstore_cli::failure::Failure;
use serde::Deserialize;

use super::results::{Engine, Results};

/// What `benches/peers --json` writes; what is not needed here is left out.
#[derive(Deserialize)]
struct Peers {
    format: String,
    fingerprints: u64,
    radius: u32,
    engines: Vec<Peer>,
}

#[derive(Deserialize)]
struct Peer {
    name: String,
    bytes_per_fingerprint: f64,
    p50_us: f64,
}

/// Reads a file of either kind.
pub fn read(path: &Path) -> Result<Vec<Engine>, Failure> {
    let wrong = |message: String| Failure::Usage(format!("{}: {message}", path.display()));
    let text = fs::read_to_string(path)
        .map_err(|error| wrong(format!("cannot read: {error}; check the path")))?;
    let source = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let peers: Peers = match serde_json::from_str::<Peers>(&text) {
        Ok(peers) if peers.format == "fpstore-peers" => peers,
        _ => return read_results(path, &source),
    };
    let engine = |peer: &Peer| Engine {
        name: peer.name.clone(),
        bytes_per_fingerprint: peer.bytes_per_fingerprint,
        p50_ns: 1e3 * peer.p50_us,
        source: source.clone(),
        fingerprints: peers.fingerprints,
        radius: peers.radius,
    };
    let engines: Vec<Engine> = peers.engines.iter().map(engine).collect();
    let sound = |engine: &&Engine| engine.bytes_per_fingerprint > 0.0 && engine.p50_ns > 0.0;
    match engines.iter().find(|engine| !sound(engine)) {
        Some(engine) => Err(wrong(format!(
            "{:?} has no size or no latency over 0; measure it again",
            engine.name
        ))),
        None => Ok(engines),
    }
}

/// The front of another sweep.
fn read_results(path: &Path, source: &str) -> Result<Vec<Engine>, Failure> {
    let results = Results::read(path).map_err(|_| {
        Failure::Usage(format!(
            "{}: is neither what `benches/peers --json` nor what `fpstore bench` writes; give such a \
             file",
            path.display()
        ))
    })?;
    let on_front = results.configurations.iter().filter(|measured| measured.on_front);
    let engine = |measured: &super::results::Measured| Engine {
        name: measured.name(),
        bytes_per_fingerprint: measured.size.bytes_per_fingerprint,
        p50_ns: measured.warm.p50_ns,
        source: source.to_string(),
        fingerprints: results.data.distinct,
        radius: results.radius,
    };
    Ok(on_front.map(engine).collect())
}
