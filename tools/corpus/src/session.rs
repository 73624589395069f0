//! Documents that come from wherever, and what is decided about them.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use fpstore_text::Fingerprinter;
use rayon::ThreadPool;
use rayon::prelude::*;
use tempfile::TempDir;

use crate::against::Earlier;
use crate::decide::Texts;
use crate::dedup::Dedup;
use crate::documents::Document;
use crate::error::Error;
use crate::fates::{Fates, Kept, Verdict};
use crate::ledger::{Batch, Ledger, Notes};
use crate::monitor::Event;
use crate::per_thread::PerThread;
use crate::read::Noting;
use crate::report::{Clusters, Report};
use crate::work::{Found, Stage, Work};

/// Documents that one task takes.
const TASK: usize = 64;
/// Documents that are in memory together, and bytes of their texts.
const TOGETHER: usize = 1 << 13;
const TOGETHER_BYTES: usize = 16 << 20;

/// Takes documents, in their order; then it is decided which are kept.
///
/// Of each document a note of some 100 bytes goes to files, and its text is not kept. Memory: 16
/// MiB of texts, and what [`Dedup::memory`] says.
pub struct Session {
    dedup: Dedup,
    earlier: Option<Earlier>,
    work: Work,
    ledger: Ledger,
    pool: Arc<ThreadPool>,
    fingerprinters: PerThread<Fingerprinter>,
    noted: Instant,
    /// Goes when all is done.
    temporary: Option<TempDir>,
}

impl Session {
    pub(crate) fn temporary(dedup: &Dedup) -> Result<Self, Error> {
        let directory = tempfile::Builder::new().prefix("fpstore-corpus-").tempdir();
        let directory = directory.map_err(|source| Error::File {
            path: std::env::temp_dir(),
            action: "create a directory in",
            source,
        })?;
        let mut session = Self::within(dedup, directory.path())?;
        session.temporary = Some(directory);
        Ok(session)
    }

    pub(crate) fn within(dedup: &Dedup, directory: &Path) -> Result<Self, Error> {
        dedup.check_memory()?;
        let mut earlier = dedup.earlier()?;
        let settings = dedup.settings_of_all(earlier.as_ref());
        let Found::Work(mut work) = Work::open(directory, &settings)? else {
            let what = "holds results of files; name another directory";
            return Err(Error::Setting(format!("{}: {what}", directory.display())));
        };
        if let Some(differ) = work.given_up() {
            dedup.monitor.tell(Event::StartsAgain(differ));
        }
        dedup.create_earlier(earlier.as_mut(), &mut work)?;
        let pool = dedup.pool()?;
        let threads = pool.current_num_threads();
        let fingerprinters = PerThread::new(threads, || dedup.fingerprinter.clone());
        Ok(Self {
            dedup: dedup.clone(),
            earlier,
            ledger: Ledger::open(&work, dedup.verify.is_some())?,
            work: *work,
            pool,
            fingerprinters,
            noted: Instant::now(),
            temporary: None,
        })
    }

    /// How many documents were taken. A session that goes on in a directory has those that were
    /// noted durably, and takes the ones behind them.
    pub fn documents(&self) -> u64 {
        self.ledger.mark.documents
    }

    /// Takes documents, behind those before.
    ///
    /// # Errors
    ///
    /// [`Error::Setting`] if a document cannot be compared by what [`Dedup::keep`] says, or not be
    /// added to the earlier corpus by its id, or if it was decided already; [`Error::File`];
    /// [`Error::Stopped`].
    pub fn add<'a>(
        &mut self,
        documents: impl IntoIterator<Item = Document<'a>>,
    ) -> Result<(), Error> {
        if self.work.state().stage != Stage::Read {
            let what = "has decided about its documents already, and takes no more";
            return Err(Error::Setting(format!("{}: {what}", self.work.to.display())));
        }
        let (mut some, mut bytes) = (Vec::new(), 0);
        for document in documents {
            bytes += document.text.len();
            some.push(document);
            if some.len() >= TOGETHER || bytes >= TOGETHER_BYTES {
                self.note(&some)?;
                some.clear();
                bytes = 0;
            }
        }
        self.note(&some)
    }

    fn note(&mut self, documents: &[Document<'_>]) -> Result<(), Error> {
        let noting = Noting {
            keep: &self.dedup.keep,
            added: self.earlier.as_ref().filter(|_| self.dedup.add).map(Earlier::kind),
            id: Some("id"),
            with_features: self.dedup.verify.is_some(),
        };
        let (before, fingerprinters) = (self.documents(), &self.fingerprinters);
        let batches: Vec<Result<Batch, Error>> = self.pool.install(|| {
            let tasks = documents.par_chunks(TASK).enumerate().map(|(task, documents)| {
                let mut batch = Batch::default();
                fingerprinters.with(|own| {
                    for (place, document) in documents.iter().enumerate() {
                        let number = before + (task * TASK + place) as u64;
                        noting.note(&mut batch, document, own).map_err(|problem| {
                            Error::Setting(format!("document {number}{problem}"))
                        })?;
                    }
                    Ok(batch)
                })
            });
            tasks.collect()
        });
        for batch in batches {
            self.ledger.append(&batch?)?;
        }
        let documents = self.documents();
        self.dedup.monitor.tell(Event::Read { bytes: 0, documents });
        if self.temporary.is_none() && self.noted.elapsed() >= self.dedup.checkpoint {
            self.sync(Stage::Read)?;
        }
        self.dedup.monitor.check()
    }

    fn sync(&mut self, stage: Stage) -> Result<(), Error> {
        let mark = self.ledger.sync()?;
        self.work.note(|state| (state.read, state.stage) = (mark, stage))?;
        self.noted = Instant::now();
        Ok(())
    }

    /// Decides which documents are kept, and adds these to the earlier corpus if that was asked
    /// for.
    ///
    /// Complexity: for Hamming methods one join, or searches where there are more pairs than 32 for
    /// each document; for others a lookup of each key.
    ///
    /// # Errors
    ///
    /// [`Error::Memory`]; [`Error::NoColumn`]; [`Error::File`]; [`Error::Stopped`].
    pub fn finish(mut self) -> Result<Decided, Error> {
        if self.work.state().stage == Stage::Read {
            self.check_column()?;
            self.sync(Stage::Decide)?;
        }
        let Self { dedup, earlier, mut work, pool, temporary, .. } = self;
        let (notes, earlier) = (Notes::open(&work)?, earlier.as_ref());
        dedup.decide(&mut work, &notes, Texts::Noted, earlier, &pool)?;
        let fates = Fates::read(&work)?;
        if matches!(work.state().stage, Stage::Write(_)) {
            work.note(|state| state.stage = Stage::Removed)?;
        }
        dedup.add_kept(earlier, &mut work, &notes, &fates, &pool)?;
        let clusters = Clusters::of(notes.documents, &fates);
        let report = Report::new(&work.state().settings, dedup.recipe(), &notes, &fates, &clusters);
        Ok(Decided { notes, fates, report, _temporary: temporary })
    }

    fn check_column(&self) -> Result<(), Error> {
        let mark = &self.ledger.mark;
        match self.dedup.keep.column() {
            Some(column) if mark.documents > 0 && mark.counts.with_column == 0 => {
                let (keep, documents) = (self.dedup.keep.to_string(), mark.documents);
                Err(Error::NoColumn { keep, column, documents })
            }
            _ => Ok(()),
        }
    }
}

/// What was decided about the documents of a session, which have numbers from 0 on, in their order.
pub struct Decided {
    notes: Notes,
    fates: Fates,
    report: Report,
    /// Behind the files in it.
    _temporary: Option<TempDir>,
}

impl Decided {
    /// How many documents there are.
    pub fn documents(&self) -> u32 {
        self.notes.documents
    }

    /// Whether a document is kept.
    pub fn keeps(&self, document: u32) -> bool {
        self.fates.keeps(document as usize)
    }

    /// Why a document is removed; `None` of one that is kept, and of one that there is not.
    pub fn verdict(&self, document: u32) -> Option<Verdict> {
        self.fates.verdict(document)
    }

    /// The id of a document.
    ///
    /// # Errors
    ///
    /// [`Error::File`].
    pub fn id(&self, document: u32) -> Result<String, Error> {
        self.notes.id(document)
    }

    /// What a document of a verdict is called.
    ///
    /// # Errors
    ///
    /// [`Error::File`].
    pub fn name(&self, kept: &Kept) -> Result<String, Error> {
        match kept {
            Kept::Document(document) => self.id(*document),
            Kept::Earlier(id) => Ok(id.clone()),
        }
    }

    /// Settings and counts.
    pub fn report(&self) -> &Report {
        &self.report
    }
}
