//! Makes written segments a store: by one rename of a manifest. Until then it is prepared, and
//! nobody sees it.

use std::io::{self, Write};
use std::time::Instant;

use super::edit;
use super::options::PackSummary;
use super::standing::ManifestTag;
use crate::error::{Displacement, Error, Result};
use crate::execution::{Meter, Phase};
use crate::format::{MANIFEST_NAME, MANIFEST_TEMPORARY, Manifest};
use crate::segment::{NewFiles, PackTimes};
use crate::storage::Storage;

/// A manifest that is written, durable, and not visible yet. Dropping it leaves what was there
/// before.
pub(crate) struct Commit<S: Storage> {
    files: NewFiles<S>,
    /// Files of the store that stands there, and not of the new one.
    dropped: Vec<String>,
    /// The manifest that stands there, if there is one, and the new one.
    before: Option<ManifestTag>,
    new: ManifestTag,
    /// Bytes of the manifest.
    pub(crate) manifest_bytes: u64,
}

impl<S: Storage> Commit<S> {
    /// Makes the names of `files` durable, and the manifest under its temporary name, which takes
    /// the place of `before`, if there is one, and of the files `in_use`.
    pub(crate) fn prepare(
        mut files: NewFiles<S>,
        (before, in_use): (Option<ManifestTag>, Vec<String>),
        manifest: &Manifest,
        times: &mut PackTimes,
    ) -> Result<Self> {
        let start = Instant::now();
        files.sync_names()?;
        let name = MANIFEST_TEMPORARY;
        let mut file = files.create(name)?;
        let bytes = manifest.encode();
        // Nobody could open the store, and what it was is gone.
        Manifest::decode(&bytes).map_err(|defect| defect.in_file(&files.storage().path(name)))?;
        file.write_all(&bytes).map_err(files.error(name, "write the manifest"))?;
        files.sync(&mut file, name, "sync the manifest")?;
        times.sync += start.elapsed();
        let dropped = edit::dropped(in_use, manifest);
        let (new, manifest_bytes) = (ManifestTag::of(&bytes), bytes.len() as u64);
        Ok(Self { files, dropped, before, new, manifest_bytes })
    }

    /// Makes the store visible, and that durable. What is not needed any more is removed, as far as
    /// the file system lets it; the rest goes with the next commit.
    pub(crate) fn publish(mut self) -> Result<()> {
        self.show()?;
        self.finish()
    }

    /// Makes the store visible, if what stands there is what it is to replace. After an error it is
    /// not.
    pub(crate) fn show(&mut self) -> Result<()> {
        self.files.storage().check_held()?;
        if self.standing()? != self.before {
            let path = self.files.storage().path("");
            return Err(Error::Displaced { path, by: Displacement::Rewritten });
        }
        let renamed = self.files.storage().rename(MANIFEST_TEMPORARY, MANIFEST_NAME);
        match renamed {
            // A file system on a network may do it, and lose the answer.
            Err(_) if self.standing().is_ok_and(|there| there == Some(self.new)) => {}
            renamed => {
                let error = self.files.error(MANIFEST_TEMPORARY, "rename the manifest");
                renamed.map_err(error)?;
            }
        }
        self.files.keep();
        Ok(())
    }

    /// The manifest that stands there.
    fn standing(&self) -> Result<Option<ManifestTag>> {
        match self.files.storage().read(MANIFEST_NAME) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.files.error(MANIFEST_NAME, "read the manifest")(error)),
            Ok(bytes) => Ok(Some(ManifestTag::of(&bytes))),
        }
    }

    /// Makes it durable that the store is visible, and removes what it does not need.
    pub(crate) fn finish(self) -> Result<()> {
        self.files.sync_names()?;
        // Who has lost the store leaves them to the next writer.
        if self.files.storage().check_held().is_ok() {
            self.files.remove(&self.dropped);
        }
        Ok(())
    }
}

/// A store whose files are written, and which its manifest would make visible.
pub(super) struct Prepared<S: Storage> {
    pub(super) commit: Commit<S>,
    pub(super) summary: PackSummary,
    pub(super) meter: Meter,
}

impl<S: Storage> Prepared<S> {
    /// Makes the store visible.
    pub(super) fn commit(self) -> Result<PackSummary> {
        let Self { commit, mut summary, meter } = self;
        let start = Instant::now();
        commit.publish()?;
        let keys = summary.distinct * summary.tables.len() as u64;
        meter.tell(Phase::Sync, keys);
        summary.times.sync += start.elapsed();
        Ok(summary)
    }
}
