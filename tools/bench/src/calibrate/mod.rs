//! Measures what the steps of the work cost on this machine: `fpstore bench calibrate`.
//!
//! Each constant is the difference between two kinds of work that differ in it alone, so the code
//! that is measured is the code that will run. The order matters: what is known is subtracted from
//! what is measured next. Constants whose document says that they are not measured keep their
//! shipped value.

mod disk;
mod join;
mod pack;
mod search;
mod uniform;

use std::path::Path;

use fpstore::internals::{Costs, SearchCosts};
use fpstore_cli::apart::Used;
use fpstore_cli::failure::Failure;
use fpstore_cli::output::Output;
use fpstore_records::is_stdin;

use crate::args::CalibrateArgs;

/// Measures this machine, and writes what was found.
pub fn run(args: &CalibrateArgs) -> Result<(), Failure> {
    let to = args.output.as_deref().filter(|path| !is_stdin(path));
    if let Some(path) = to {
        Used::nothing().check(path)?;
    }
    let scratch = tempfile::Builder::new().prefix("fpstore-").tempdir().map_err(|error| {
        Failure::Usage(format!("calibrate: no directory for temporary files: {error}; set TMPDIR"))
    })?;
    let text = measure(scratch.path())?;
    match to {
        None => {
            let mut output = Output::stdout();
            output.bytes(text.as_bytes())?;
            output.flush()
        }
        Some(path) => fpstore::files::put(path, text.as_bytes()).map_err(|error| {
            Failure::Usage(format!("{}: cannot write: {error}; choose another", path.display()))
        }),
    }
}

/// The constants of this machine, measured with files in `directory`. Reads past the page cache
/// need Linux and a file system that has them.
fn measure(directory: &Path) -> Result<String, Failure> {
    let mut costs = Costs::default();
    search::measure(&mut costs.search, directory)?;
    join::measure(directory, &mut costs)?;
    pack::measure(&mut costs.pack, directory)?;
    // A search has waited for the disk where it takes many times what it takes in memory. Who finds
    // that too early asks the system for pages that are there.
    let block_ns = |c: &SearchCosts| c.path_ns + c.block_ns + c.block_dram_ns;
    let slower = block_ns(&costs.search) / block_ns(&Costs::default().search);
    let slower = slower.max(1.0);
    costs.disk.waited_ns *= slower;
    costs.disk.waited_block_ns *= slower;
    let disk = disk::measure(&directory.join("calibration.tmp"), &mut costs.disk);
    let mut text = costs.to_string();
    if let Err(error) = disk {
        text.push_str(&format!("# The disk was not measured ({error}).\n"));
    }
    Ok(text)
}
