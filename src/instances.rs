//! What is generic in the width of fingerprints, compiled for all widths once: builds at low levels
//! of optimization, those of tests, share what a crate has compiled with the crates that use it.
//! The tests in `tests/it` take less than half of the CPU's time to build with it.
//!
//! There only with the feature `internals`, which tests and benchmarks of this package switch on.

use std::path::Path;

use crate::{
    Durability, Execution, Fingerprint, OpenOptions, Packer, Result, Snapshot, StoreOptions,
    WriterOptions,
};

/// Nobody calls it.
pub fn all(path: &Path) -> Result<()> {
    of::<u32>(path)?;
    of::<u64>(path)?;
    of::<u128>(path)?;
    of::<[u64; 4]>(path)
}

fn of<F: Fingerprint>(path: &Path) -> Result<()> {
    let mut session = Packer::new().width::<F>().start(path)?;
    session.extend(&[])?;
    session.extend_with_ids::<u64>(&[])?;
    session.finish()?;
    let store = OpenOptions::new().width::<F>().open(path)?;
    store.refresh()?;
    queries(&store.snapshot())?;
    let writer = StoreOptions::new().width::<F>().create(path)?;
    writer.insert_batch::<u64>(&[])?;
    writer.delete_batch::<u64>(&[])?;
    writer.commit(Durability::Group)?;
    writer.merge_all()?;
    writer.close()?;
    WriterOptions::new().width::<F>().open(path)?.close()
}

fn queries<F: Fingerprint>(snapshot: &Snapshot<F>) -> Result<()> {
    snapshot.verify_with(&Execution::new())?;
    snapshot.stats()?;
    snapshot.nearest(F::default(), 1, 1)?;
    snapshot.any_within(F::default(), 1)?;
    snapshot.search(F::default(), 1)?;
    snapshot.iter().count();
    snapshot.iter_with_ids::<u64>().count();
    snapshot.batch(1).run(&[], |_| ())?;
    snapshot.self_join(1).run(|_| ())?;
    snapshot.clusters(1).run().map(drop)
}
