//! Measures packs, by packs of one thread.

use std::path::Path;
use std::time::Instant;

use super::uniform::fingerprint;
use crate::costs::PackCosts;
use crate::design::Design;
use crate::error::{Error, Result};
use crate::execution::Execution;
use crate::execution::budget::LEAST_MEMORY;
use crate::store::Packer;

/// Repetitions of which the fastest counts.
const ROUNDS: usize = 2;
/// Fingerprints of a pack, and its tables.
const COUNT: u64 = 1 << 21;
const DESIGN: &str = "halves";
const TABLES: f64 = 2.0;
/// Memory of which they take several times as much.
const LITTLE: u64 = LEAST_MEMORY;

impl PackCosts {
    /// Measures all but what threads do, with stores in `directory`, which are removed again.
    pub(super) fn measure(&mut self, directory: &Path) -> Result<()> {
        let design: Design = DESIGN.parse()?;
        let path = directory.join("calibration.fps");
        let alone = Execution::new().threads(1);
        let in_memory = Packer::new().design(design).block_bytes(1024);
        let in_memory = in_memory.execution(alone.clone());
        let spilled = in_memory.clone().execution(alone.memory(LITTLE));
        let time = |packer: &Packer, with_ids: bool| -> Result<f64> {
            let mut least = f64::INFINITY;
            for _ in 0..ROUNDS {
                let start = Instant::now();
                match with_ids {
                    true => packer.pack_with_ids(&path, (0..COUNT).map(|i| (fingerprint(i), i)))?,
                    false => packer.pack(&path, (0..COUNT).map(fingerprint))?,
                };
                least = least.min(start.elapsed().as_nanos() as f64);
                std::fs::remove_dir_all(&path).map_err(Error::io(&path, "remove the store"))?;
            }
            Ok(least / COUNT as f64)
        };
        let of_pack = |packer: &Packer| -> Result<(f64, f64)> {
            let (without, with) = (time(packer, false)?, time(packer, true)?);
            Ok((without / TABLES, (with - without).max(1.0)))
        };
        (self.memory_ns, self.memory_id_ns) = of_pack(&in_memory)?;
        (self.spilled_ns, self.spilled_id_ns) = of_pack(&spilled)?;
        Ok(())
    }
}
