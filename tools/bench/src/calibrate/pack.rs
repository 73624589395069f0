//! Measures packs, by packs of one thread.

use std::path::Path;
use std::time::Instant;

use fpstore::internals::PackCosts;
use fpstore::{Design, Execution, Layout, Packer};
use fpstore_cli::failure::Failure;

use super::uniform::{self, fingerprint};

/// Repetitions of which the fastest counts.
const ROUNDS: usize = 2;
/// Fingerprints of a pack, and its tables.
const COUNT: u64 = 1 << 21;
const DESIGN: &str = "halves";
const TABLES: f64 = 2.0;
/// The least memory, of which they take several times as much.
const LITTLE: u64 = 16 << 20;

/// Measures all but what threads do, with stores in `directory`, which are removed again.
pub(super) fn measure(costs: &mut PackCosts, directory: &Path) -> Result<(), Failure> {
    let design: Design = DESIGN.parse()?;
    let path = directory.join("calibration.fps");
    let alone = Execution::new().threads(1);
    let in_memory = Packer::new().layout(Layout::new().design(design).block_bytes(1024));
    let in_memory = in_memory.execution(alone.clone());
    let spilled = in_memory.clone().execution(alone.memory(LITTLE));
    let time = |packer: &Packer, with_ids: bool| -> Result<f64, Failure> {
        let mut least = f64::INFINITY;
        for _ in 0..ROUNDS {
            let start = Instant::now();
            match with_ids {
                true => packer.pack_with_ids(&path, (0..COUNT).map(|i| (fingerprint(i), i)))?,
                false => packer.pack(&path, (0..COUNT).map(fingerprint))?,
            };
            least = least.min(start.elapsed().as_nanos() as f64);
            uniform::remove(&path)?;
        }
        Ok(least / COUNT as f64)
    };
    let of_pack = |packer: &Packer| -> Result<(f64, f64), Failure> {
        let (without, with) = (time(packer, false)?, time(packer, true)?);
        Ok((without / TABLES, (with - without).max(1.0)))
    };
    (costs.memory_ns, costs.memory_id_ns) = of_pack(&in_memory)?;
    (costs.spilled_ns, costs.spilled_id_ns) = of_pack(&spilled)?;
    Ok(())
}
