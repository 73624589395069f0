//! A pack that is fed piece by piece.

use std::mem;
use std::path::Path;
use std::sync::Arc;

use super::intake::{Intake, Pack};
use super::options::{PackSummary, Packer};
use super::standing::Standing;
use super::target::Target;
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::id::AsId;
use crate::storage::Directory;

/// Pairs that are handed on together.
const PIECE: usize = 1 << 13;

/// A pack that takes fingerprints piece by piece, from [`Packer::start`].
///
/// Nothing stands at the output before the memory is full, or the session is
/// [finished](Self::finish). A session that is dropped leaves what was there before.
///
/// # Examples
///
/// ```
/// let directory = tempfile::tempdir()?;
/// let mut session = fpstore::Packer::new().start(directory.path().join("store"))?;
/// session.extend(&[3, 1])?;
/// session.extend(&[2, 3])?;
/// let summary = session.finish()?;
/// assert_eq!((summary.read, summary.distinct), (4, 3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct PackSession<F: Fingerprint = u64> {
    state: State<F>,
}

/// Whether a session can go on.
enum State<F: Fingerprint> {
    Open(Box<Open<F>>),
    /// A call has failed, or a callback has panicked: all that was written is gone.
    Ended,
}

/// What a session has.
struct Open<F: Fingerprint> {
    // Goes first: the directory goes only if it is empty.
    intake: Intake<F, Directory>,
    /// Since something was written there.
    output: Option<Output>,
}

/// The output, locked and cleared of what a stopped pack left.
struct Output {
    standing: Standing,
    target: Target,
}

impl Output {
    fn take<F: Fingerprint>(pack: &Pack<F, Directory>) -> Result<Self> {
        let target = pack.packer.lock(&pack.path)?;
        pack.storage.enter(target.hold());
        Ok(Self { standing: pack.clear()?, target })
    }
}

impl<F: Fingerprint> Open<F> {
    /// Locks and clears the output, unless that is done.
    fn take_output(&mut self) -> Result<&Output> {
        if self.output.is_none() {
            let pack = &self.intake.pack;
            self.output = Some(Output::take(pack)?);
        }
        self.output.as_ref().ok_or(Error::Ended)
    }
}

impl<F: Fingerprint> PackSession<F> {
    /// A session whose output was checked.
    pub(super) fn new(packer: Packer<F>, path: &Path) -> Result<Self> {
        packer.execution.check_threads()?;
        let storage = Arc::new(Directory::new(path, packer.execution.scratch()));
        let capacity = packer.capacity(packer.execution.thread_count());
        let intake = Intake::new(packer, path, storage, capacity);
        Ok(Self { state: State::Open(Box::new(Open { intake, output: None })) })
    }

    /// Takes fingerprints, in any order and with any duplicates.
    ///
    /// # Errors
    ///
    /// As [`Packer::pack`]. After an error nothing more is taken, and
    /// [`finish`](Self::finish) fails.
    pub fn extend(&mut self, fingerprints: &[F]) -> Result<()> {
        let mut rest = fingerprints;
        self.take(&mut |intake| {
            intake.admit()?;
            rest = intake.fill(rest);
            Ok(rest.is_empty())
        })
    }

    /// Takes pairs of a fingerprint and an id, in any order; a fingerprint may have any number of
    /// ids, and a pair that comes again changes nothing. Each takes as much memory as two
    /// fingerprints.
    ///
    /// # Errors
    ///
    /// As [`Self::extend`]; [`Error::MixedIds`] where [`Self::extend`] was called before: all
    /// fingerprints of a pack have ids, or none; [`Error::IdKinds`] where an id is of another kind
    /// than the first.
    pub fn extend_with_ids<I: AsId>(&mut self, pairs: &[(F, I)]) -> Result<()> {
        // Once without any: that decides that there are ids.
        for pairs in pairs.chunks(PIECE).chain(pairs.is_empty().then_some(pairs)) {
            let mut rest = pairs;
            self.take(&mut |intake| {
                intake.admit_ids(rest)?;
                rest = intake.fill_ids(rest)?;
                Ok(rest.is_empty())
            })?;
        }
        Ok(())
    }

    /// Calls `fill` until it has given all, and makes room after each time that it has not.
    fn take(
        &mut self,
        fill: &mut dyn FnMut(&mut Intake<F, Directory>) -> Result<bool>,
    ) -> Result<()> {
        // Stays so after an error, or a panic of a callback: what was written goes with `open`.
        let State::Open(mut open) = mem::replace(&mut self.state, State::Ended) else {
            return Err(Error::Ended);
        };
        loop {
            open.intake.pack.meter.check()?;
            if fill(&mut open.intake)? {
                break;
            }
            open.take_output()?;
            let Open { intake, output } = &mut *open;
            if let Some(Output { standing, .. }) = output {
                let execution = intake.pack.packer.execution.clone();
                execution.install(|| intake.spill(standing))??;
            }
        }
        self.state = State::Open(open);
        Ok(())
    }

    /// Writes the store and makes it visible.
    ///
    /// # Errors
    ///
    /// As [`Packer::pack`]; [`Error::Ended`] after a call that has failed. There is no new store
    /// then.
    pub fn finish(self) -> Result<PackSummary> {
        let State::Open(open) = self.state else { return Err(Error::Ended) };
        let Open { intake, output } = *open;
        let execution = intake.pack.packer.execution.clone();
        execution.install_for(intake.pack.read(), || {
            // Sorted first: until it must, a pack does not touch the output.
            let (sorted, output) = match output {
                Some(output) => (intake.sort(), output),
                None => {
                    let sorted = intake.sort()?;
                    let output = Output::take(&sorted.pack)?;
                    (Ok(sorted), output)
                }
            };
            // The target goes last: its directory goes only if it is empty.
            let Output { standing, target: _target } = output;
            sorted.and_then(|sorted| sorted.write(standing))?.commit()
        })?
    }
}

impl<F: Fingerprint> std::fmt::Debug for PackSession<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PackSession").finish_non_exhaustive()
    }
}
