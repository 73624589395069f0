//! Joins, batches, clusters and searches keep to their memory, whatever the sets are like and
//! whatever the files claim.
//!
//! A test of its own beside `main.rs`, with modules of that. Each case runs in a process of its
//! own, since the allocator counts what is in use: what was asked for, touched or not, so never
//! less than what a process takes for it.

#![allow(missing_docs)]

#[path = "memory/damages.rs"]
mod damages;
#[allow(dead_code, unused_imports)]
mod forge;
#[path = "memory/hostile.rs"]
mod hostile;
mod mend;
#[allow(dead_code)]
mod oracle;
#[path = "memory/packs.rs"]
mod packs;
mod probe;
#[allow(dead_code)]
mod sets;
#[path = "memory/sound.rs"]
mod sound;
#[allow(dead_code)]
mod spec;

use std::process::Command;

use libtest_mimic::{Arguments, Trial};
use peak_alloc::PeakAlloc;

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

const MIB: u64 = 1 << 20;

/// The least memory that joins and batches take, which these cases give them.
const LIMIT: u64 = 16 * MIB;

/// Threads of joins and batches.
const THREADS: [usize; 2] = [1, 16];

/// Set for the process of one case.
const ALONE: &str = "FPSTORE_MEMORY_CASE";

fn main() {
    // The process of one case takes nothing but its name.
    let arguments = Arguments::from_args();
    let trials = [
        sound::trials(),
        sound::wide_trials(),
        hostile::trials(),
        packs::trials(),
        damages::trials(),
    ];
    let trials = trials.into_iter().flatten().collect();
    libtest_mimic::run(&arguments, trials).exit();
}

/// A case: in its own process it runs, elsewhere it starts that process.
fn trial(name: &str, run: impl FnOnce() + Send + 'static) -> Trial {
    let case = name.to_string();
    Trial::test(name, move || {
        if std::env::var_os(ALONE).is_some() {
            run();
            return Ok(());
        }
        let program = std::env::current_exe()?;
        let child = Command::new(program).args(["--exact", &case]).env(ALONE, "1").output()?;
        let said =
            [child.stdout, child.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        // A name that is not there would pass as no case at all.
        let has_run = said[0].contains("test result: ok. 1 passed");
        if child.status.success() && has_run { Ok(()) } else { Err(said.concat().into()) }
    })
}

/// What `work` gives; panics if it takes more than `most` bytes of heap at some time beside what
/// was in use before.
#[track_caller]
fn within<T>(most: u64, what: &str, work: impl FnOnce() -> T) -> T {
    let before = HEAP.current_usage();
    HEAP.reset_peak_usage();
    let done = work();
    let peak = (HEAP.peak_usage() - before) as u64;
    assert!(peak <= most, "{what}: {peak} bytes of heap, the limit is {most}");
    done
}

/// What a join or a batch within [`LIMIT`] may take with so many threads, by the documents.
fn allowed(threads: usize) -> u64 {
    LIMIT + MIB * (threads as u64).saturating_sub(6)
}
