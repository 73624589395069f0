//! Packs a set into a store, and commits it, in any storage.

use std::borrow::Borrow;
use std::path::Path;
use std::sync::Arc;
use std::{fs, io};

use super::intake::Intake;
use super::open::OpenOptions;
use super::options::{PackSummary, Packer};
use super::session::PackSession;
use super::standing::Standing;
use super::target::{self, Target};
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::id::AsId;
use crate::recipe;
use crate::storage::Storage;

/// Fingerprints that are taken from an iterator together.
const PIECE: usize = 1 << 13;

impl<F: Fingerprint> Packer<F> {
    /// Checks options and output without writing anything, so that a long input need not be read in
    /// vain.
    ///
    /// # Errors
    ///
    /// As [`Self::pack`].
    pub fn check_target(&self, path: impl AsRef<Path>) -> Result<()> {
        self.check_options()?;
        if let Some(directory) = self.execution.scratch() {
            let action = "create temporary files in this directory";
            let metadata = fs::metadata(directory).map_err(Error::io(directory, action))?;
            if !metadata.is_dir() {
                return Err(Error::io(directory, action)(io::ErrorKind::NotADirectory.into()));
            }
        }
        if self.append {
            // What is no store is not locked, and nothing is created there.
            let store = OpenOptions::new().width::<F>().open(path.as_ref())?;
            let stored = store.recipe();
            recipe::check_same(stored.as_deref(), self.recipe.as_deref(), Some(path.as_ref()))?;
        }
        target::check(path.as_ref(), self.replace || self.append)
    }

    /// Locks the output.
    pub(super) fn lock(&self, path: &Path) -> Result<Target> {
        Target::lock(path, self.replace || self.append)
    }

    /// Packs `fingerprints`, an iterator or a slice, in any order and with any duplicates, into a
    /// store in the directory `path`, which is created. The new store becomes visible whole, in one
    /// rename, when all of it is durable; if the pack fails or is killed, there is no store, or
    /// still the old one.
    ///
    /// Takes O(n log n) time for n fingerprints and each table.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOption`] before anything else; [`Error::Exists`] and [`Error::Foreign`]
    /// where the output is taken; where it is [appended](Packer::append) to a store those of
    /// [`Store::open`](crate::Store::open), [`Error::Unflushed`], [`Error::MixedIds`] and
    /// [`Error::Recipes`]; [`Error::Busy`] while another process writes there; [`Error::Io`] where
    /// the file system refuses, for instance on a full disk; [`Error::Cancelled`] if it was [asked
    /// to stop](crate::Execution::cancel). What was written is removed again.
    pub fn pack(
        &self,
        path: impl AsRef<Path>,
        fingerprints: impl IntoIterator<Item = impl Borrow<F>>,
    ) -> Result<PackSummary> {
        let mut session = self.start(path)?;
        let mut piece = Vec::with_capacity(PIECE);
        for fingerprint in fingerprints {
            piece.push(*fingerprint.borrow());
            if piece.len() == PIECE {
                session.extend(&piece)?;
                piece.clear();
            }
        }
        session.extend(&piece)?;
        session.finish()
    }

    /// As [`Self::pack`], of pairs of a fingerprint and an id. A fingerprint may have any number of
    /// ids; it is stored once, and each of its distinct ids once. Takes 32 bytes of memory per
    /// pair, or what [`Execution::memory`](crate::Execution::memory) allows, with up to 33 bytes
    /// per pair in temporary files.
    ///
    /// # Errors
    ///
    /// As [`Self::pack`].
    ///
    /// # Examples
    ///
    /// ```
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("store");
    /// let pages = [0xF00D, 0xBEEF, 0xF00D];
    /// let lines = pages.into_iter().zip(0u64..);
    /// let summary = fpstore::Packer::new().pack_with_ids(&path, lines)?;
    /// assert_eq!((summary.distinct, summary.ids), (2, Some(3)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// Ids may be names as well, which are stored once for each segment, sorted and compressed:
    ///
    /// ```
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("store");
    /// let pages = [(0xF00D, "https://a.example/"), (0xBEEF, "https://b.example/")];
    /// fpstore::Packer::new().pack_with_ids(&path, pages)?;
    ///
    /// let store = fpstore::Store::open(&path)?;
    /// for page in store.ids::<String>(0xBEEF)? {
    ///     assert_eq!(page?, "https://b.example/");
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pack_with_ids<I: AsId>(
        &self,
        path: impl AsRef<Path>,
        pairs: impl IntoIterator<Item = (F, I)>,
    ) -> Result<PackSummary> {
        let mut session = self.start(path)?;
        let mut piece = Vec::with_capacity(PIECE);
        for pair in pairs {
            piece.push(pair);
            if piece.len() == PIECE {
                session.extend_with_ids(&piece)?;
                piece.clear();
            }
        }
        session.extend_with_ids(&piece)?;
        session.finish()
    }

    /// Starts to pack fingerprints that are given piece by piece, into a store in the directory
    /// `path`.
    ///
    /// # Errors
    ///
    /// As [`Self::pack`], as far as options and output go. Nothing is created yet.
    pub fn start(&self, path: impl AsRef<Path>) -> Result<PackSession<F>> {
        self.check_target(path.as_ref())?;
        PackSession::new(self.clone(), path.as_ref())
    }
}

/// A pack into a directory that is locked. Dropping it leaves what was there before.
pub(crate) struct Packing<F: Fingerprint, S: Storage> {
    intake: Intake<F, S>,
    standing: Standing,
}

impl<F: Fingerprint, S: Storage> Packing<F, S> {
    /// Removes what a stopped writer left, and begins.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub(crate) fn start(packer: Packer<F>, path: &Path, storage: Arc<S>) -> Result<Self> {
        let capacity = packer.capacity(rayon::current_num_threads());
        Self::within(packer, path, storage, capacity)
    }

    /// As [`Self::start`], with room for so many words, twice.
    pub(super) fn within(
        packer: Packer<F>,
        path: &Path,
        storage: Arc<S>,
        capacity: usize,
    ) -> Result<Self> {
        let intake = Intake::new(packer, path, storage, capacity);
        let standing = intake.pack.clear()?;
        Ok(Self { intake, standing })
    }

    /// As [`PackSession::extend`](crate::PackSession::extend).
    pub(crate) fn extend(&mut self, fingerprints: &[F]) -> Result<()> {
        self.intake.pack.meter.check()?;
        self.intake.admit()?;
        let mut rest = self.intake.fill(fingerprints);
        while !rest.is_empty() {
            self.intake.spill(&self.standing)?;
            rest = self.intake.fill(rest);
        }
        Ok(())
    }

    /// As [`PackSession::extend_with_ids`](crate::PackSession::extend_with_ids).
    pub(crate) fn extend_with_ids<I: AsId>(&mut self, pairs: &[(F, I)]) -> Result<()> {
        self.intake.pack.meter.check()?;
        self.intake.admit_ids(pairs)?;
        let mut rest = self.intake.fill_ids(pairs)?;
        while !rest.is_empty() {
            self.intake.spill(&self.standing)?;
            rest = self.intake.fill_ids(rest)?;
        }
        Ok(())
    }

    /// Writes the store and makes it visible.
    ///
    /// # Errors
    ///
    /// As [`PackSession::finish`](crate::PackSession::finish).
    pub(crate) fn finish(self) -> Result<PackSummary> {
        self.intake.sort()?.write(self.standing)?.commit()
    }
}
