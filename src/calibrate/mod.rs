//! Measures what the steps of the work cost on this machine.
//!
//! Each constant is the difference between two kinds of work that differ in it alone, so the code
//! that is measured is the code that will run. The order matters: what is known is subtracted from
//! what is measured next.

mod disk;
mod join;
mod pack;
mod search;
mod uniform;

use std::path::Path;

use crate::costs::{Costs, SearchCosts};
use crate::error::Result;

/// What [`Costs::measure`] could not measure, and took from the shipped constants.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CalibrationGap {
    /// Why the reads of the disk were not measured.
    pub disk: String,
}

impl Costs {
    /// Measures the constants of this machine, with files in `directory`, which are removed again.
    /// Those whose document says that they are not measured keep their shipped value. Also tells
    /// what could not be measured: reads past the page cache need Linux and a file system that has
    /// them.
    ///
    /// Takes some seconds, 200 MiB of memory and as much of the disk.
    ///
    /// # Errors
    ///
    /// [`Error::Io`](crate::Error::Io) where files cannot be written to `directory`.
    pub fn measure(directory: impl AsRef<Path>) -> Result<(Self, Option<CalibrationGap>)> {
        let directory = directory.as_ref();
        let mut costs = Self::default();
        costs.search.measure(directory)?;
        join::measure(directory, &mut costs)?;
        costs.pack.measure(directory)?;
        // A search has waited for the disk where it takes many times what it takes in memory. Who finds
        // that too early asks the system for pages that are there.
        let block_ns = |c: &SearchCosts| c.path_ns + c.block_ns + c.block_dram_ns;
        let slower = block_ns(&costs.search) / block_ns(&Self::shipped().search);
        let slower = slower.max(1.0);
        costs.disk.waited_ns *= slower;
        costs.disk.waited_block_ns *= slower;
        let path = directory.join("calibration.tmp");
        let result = disk::measure(&path, &mut costs.disk);
        let _ = std::fs::remove_file(&path);
        let gap = result.err().map(|error| CalibrationGap { disk: error.to_string() });
        Ok((costs, gap))
    }
}
