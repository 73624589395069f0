//! The results of a command that is done, to be looked at.

use std::path::{Path, PathBuf};

use fpstore::Execution;
use fpstore_text::Recipe;

use crate::error::Error;
use crate::fates::Fates;
use crate::ledger::Notes;
use crate::monitor::Monitor;
use crate::page::{self, Looking};
use crate::recipe::rule;
use crate::report::Report;
use crate::settings::Settings;
use crate::work;

/// Results of [`Dedup::files`](crate::Dedup::files), with what was noted of all documents.
pub struct Stored {
    report: Report,
    /// The directory of the notes.
    notes: PathBuf,
    read: work::Mark,
}

impl Stored {
    /// Opens the results in a directory.
    ///
    /// # Errors
    ///
    /// [`Error::Setting`] if there are none, or they are not done; [`Error::Missing`] if the notes
    /// were deleted.
    pub fn open(directory: &Path) -> Result<Self, Error> {
        let (report, notes, read) = work::noted(directory)?;
        let report = serde_json::from_slice(&report)
            .map_err(|_| work::no_report(&directory.join(work::REPORT)))?;
        Ok(Self { report, notes, read })
    }

    /// The settings of the results in a directory, or of the work to decide again about them.
    ///
    /// # Errors
    ///
    /// [`Error::Setting`] if there are none; [`Error::Missing`] if the notes were deleted.
    pub fn settings(directory: &Path) -> Result<Settings, Error> {
        work::settings_in(directory)
    }

    pub(crate) fn into_report(self) -> Report {
        self.report
    }

    /// Settings and counts.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// A page of HTML, complete in itself, for people who want to see what was removed and whether
    /// the distance is right: how much and why, the pairs nearest to the distance on both sides
    /// with their differences, the distances, and the largest clusters. Nothing that stands in
    /// texts does anything there.
    ///
    /// Files are read once more, those of them that have such a pair or cluster; at most 1 MiB is
    /// looked at of each text. Memory: `memory` bytes, 72 for each document, and these texts.
    /// `threads` are to use; 0 for one per core. The page depends on neither.
    ///
    /// # Errors
    ///
    /// [`Error::Setting`] if the files have changed; [`Error::File`]; [`Error::Stopped`].
    pub fn page(&self, threads: usize, memory: u64, monitor: &Monitor) -> Result<String, Error> {
        let inputs = self.report.settings.find_inputs()?;
        let recipe: Recipe = self.report.settings.recipe.parse().map_err(|error| {
            Error::Setting(format!("recipe `{}`: {error}", self.report.settings.recipe))
        })?;
        let (rule, bits) = rule(&recipe, self.report.settings.k)?;
        let pool = Execution::new().threads(threads).start_pool()?;
        let notes = Notes::open_in(&self.notes, &self.read)?;
        let fates = Fates::read_in(&self.notes, self.read.documents)?;
        let looking = Looking { inputs: &inputs, pool: &pool, memory, monitor };
        page::page(&looking, &self.report, &notes, &fates, rule, bits)
    }
}
